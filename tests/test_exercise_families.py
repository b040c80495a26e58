"""Families of different problems: what is drawn holds as an exercise, and no answer to another problem gets points."""

import functools

import pytest

from course_tools.grading import exercise_families, own_exercises
from course_utils.exercises import EXERCISES
from course_utils.judging import calls
from course_utils.judging.calls import FunctionCall
from course_utils.judging.judge import judge
from course_utils.judging.result import RIGHT

MORE = pytest.mark.every_setting("nine more seeds of each family of problems")
FIFTY = pytest.mark.in_matrix("fifty seeds of each family of problems")
SEEDS = [pytest.param(seed, marks=FIFTY if seed > 9 else MORE if seed else ()) for seed in range(50)]
PUBLISHED = [each for each in EXERCISES.values() if isinstance(each.calls[0], FunctionCall)]


@functools.cache
def exercise(text):
    """The exercise in a text; one that several seeds draw is made once."""
    return own_exercises.exercise_of("100.1", "drawn.py", text)


@functools.cache
def problems(text):
    """What does not hold of it."""
    return list(own_exercises.problems(exercise(text)))


@functools.cache
def published_that_are_right(text):
    """The ids of the course's exercises whose worked answer would be right here."""
    return [each.id for each in PUBLISHED if is_right(each.worked, exercise(text))]


def is_right(answer, asked):
    """Whether an answer is right; tried with one call first, which most do not survive."""
    parts = asked.asking(asked.calls[0]), asked
    return all(judge(part, calls.run_calls(answer, part.calls)).status == RIGHT for part in parts)


@pytest.mark.any_chapter
@pytest.mark.parametrize("family", exercise_families.FAMILIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_seed_draws_holds_as_an_exercise_and_no_published_answer_gets_points(seed, family):
    text = exercise_families.drawn(f"class {seed}")[f"{family}.py"]
    assert problems(text) == [] and "$" not in text
    assert published_that_are_right(text) == []


class InTurn:
    """Draws the ways to fill a gap in turn, from the one of this number on."""

    def __init__(self, number):
        self.number = number

    def sample(self, ways, count):
        return [ways[(self.number + k) % len(ways)] for k in range(count)]


@pytest.mark.parametrize("family", exercise_families.FAMILIES)
def test_every_way_to_fill_a_gap_holds(family):
    made = exercise_families.FAMILIES[family]
    for number in range(max(map(len, made["gaps"].values()))):
        assert problems(exercise_families.filled(made, InTurn(number))) == []


def test_seven_families_give_different_problems_and_the_same_seed_the_same():
    assert len(exercise_families.FAMILIES) == 7
    drawn = [exercise_families.drawn(f"class {seed}") for seed in range(50)]
    assert exercise_families.drawn("class 7") == drawn[7]
    for name in drawn[0]:
        different = {each[name] for each in drawn}
        assert len(different) >= 20, name


@pytest.mark.parametrize("family", exercise_families.FAMILIES)
def test_an_answer_to_one_problem_of_a_family_gets_nothing_for_another(family):
    texts = dict.fromkeys(exercise_families.drawn(f"pair {seed}")[f"{family}.py"] for seed in range(8))
    asked = {exercise(text).words: exercise(text) for text in texts}  # wrong answers do not make another problem
    assert len(asked) >= 4
    for words, one in asked.items():
        for other in asked.values():
            assert is_right(other.worked, one) == (other.words == words)
