"""The one rule behind the minutes that chapters name, on a notebook small enough to count by hand."""

from course_utils.authoring.minutes import minutes

EXERCISE = "### Exercise 1.1 · One\n2 points · ★★☆ · 10 minutes\n\n"


def test_words_cells_and_exercises_add_up_to_the_next_five():
    words = {"cell_type": "markdown", "source": EXERCISE + "word " * (1300 - len(EXERCISE.split()))}  # 10 minutes
    code = {"cell_type": "code", "source": "1 point · ★☆☆ · 90 minutes"}
    assert minutes([words, *[code] * 20]) == 30
    assert minutes([words, *[code] * 22]) == 30 and minutes([words, *[code] * 30]) == 35
