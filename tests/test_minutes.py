"""The one rule behind the minutes that chapters name, on a notebook small enough to count by hand; and its bounds."""

import pytest

from course_tools.build.minutes import minutes
from tests.support import stored

EXERCISE = "### Exercise 1.1 · One\n2 points · ★★☆ · 10 minutes\n\n"


def test_words_cells_and_exercises_add_up_to_the_next_five():
    words = {"cell_type": "markdown", "source": EXERCISE + "word " * (1300 - len(EXERCISE.split()))}  # 10 minutes
    code = {"cell_type": "code", "source": "1 point · ★☆☆ · 90 minutes"}
    assert minutes([words, *[code] * 20]) == 30
    assert minutes([words, *[code] * 22]) == 30 and minutes([words, *[code] * 30]) == 35


@pytest.mark.parametrize("path", stored.LEARNERS, ids=stored.name)
def test_no_chapter_takes_more_than_an_hour_and_a_half(path):
    minutes = stored.read(path).metadata.source.minutes
    assert minutes <= 90, (
        f"{path.name} takes {minutes} minutes, and 90 are the most: move what serves for looking up to the notes, or "
        "put what is new into a chapter that has room (the README's table has the minutes)"
    )


def test_the_notes_can_be_looked_through():
    (notes,) = [path for path in stored.LEARNERS if path.stem == "99_notes"]
    assert len(stored.prose(stored.read(notes)).split()) <= 2500
