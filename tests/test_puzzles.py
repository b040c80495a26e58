"""Puzzles: any head that behaves is right, and what a wrong one does instead is measured and named."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from course_utils.exercises import EXERCISES, chapter_4, puzzles
from course_utils.judging import calls, judge
from tests.support import answers

PUZZLES = {id: exercise for id, exercise in EXERCISES.items() if exercise.open_ended}
each_puzzle = pytest.mark.parametrize("exercise", PUZZLES.values(), ids=list(PUZZLES))


@each_puzzle
def test_five_designs_or_more_beside_the_worked_one_are_right(exercise):
    assert len(answers.right(exercise.id)) > 5  # that they are right: test_exercises


@each_puzzle
def test_what_most_wrong_designs_do_is_named_in_a_reply_short_enough_to_be_read(exercise):
    given, unnamed = answers.wrong(exercise.id), []
    for answer in given:
        assert answer.says, "say which words of the reply name what it does"
        message = judge.judge(exercise, calls.run_calls(answer.object(), exercise.calls)).message
        assert len(message) <= 400, answer
        unnamed += [answer] * (answer.says not in message)
    assert len(unnamed) <= 0.1 * len(given), unnamed


# --- a head that looks back one token, asked with other heads ---------------------------------------------------------

WORDS = ["one", "two", "three", "four", "five", "six"]
COUNT = len(WORDS)
BACK = np.eye(COUNT, k=-1)
BACK[0] = np.nan  # the first token has nobody before it
AGES = np.arange(10.0, 70.0, 10)


@dataclass
class Asked:
    """What stands for a case: only its value is looked at."""

    value: object


def reply(scores, value=None, kinds=WORDS, wanted=BACK, visible=True):
    """What is said to a head with these scores on one sentence; value: as in Head."""
    head = puzzles.Head(scores, visible, value)
    reading = puzzles.Reading(WORDS, wanted, kinds, context=None if value is None else wanted @ AGES[:, None])
    reading.quantities["the age"], reading.quantities["the place"] = AGES, np.arange(COUNT) * 1.0
    sentence = puzzles.behaves(lambda value, readings: [head], lambda: [reading])
    return sentence(Asked(None))


def pointing(k):
    """Scores of a head that looks k tokens ahead."""
    return 20.0 * np.eye(COUNT, k=k)


@pytest.mark.parametrize(
    "scores, words",
    [
        (pointing(0), "attends to itself alone"),
        (pointing(1), "the token after it"),
        (pointing(-2), "the second token before it"),
        (np.zeros((COUNT, COUNT)), "all equally"),
        (20.0 * np.eye(1, COUNT).repeat(COUNT, axis=0), "the first token alone"),
        (20.0 * np.eye(1, COUNT, COUNT - 1).repeat(COUNT, axis=0), "the last token alone"),
        (-pointing(-1), "should have the highest scores have the lowest"),
        (pointing(-1) / 10, "not by enough"),
    ],
)
def test_what_a_head_does_instead_is_named(scores, words):
    assert words in reply(scores)


def test_a_head_with_query_and_key_swapped_hears_so():
    wanted = np.eye(COUNT)[[3, 5, 1, 0, 2, 4]]
    assert reply(20 * wanted, wanted=wanted) is None
    assert "If W_query and W_key changed places" in reply(20 * wanted.T, wanted=wanted)


def test_what_is_hidden_is_never_part_of_a_cure():
    visible = np.tril(np.ones((COUNT, COUNT))) > 0
    wanted = np.eye(COUNT)
    scores = 20 * np.eye(COUNT)[[0, 0, 1, 2, 3, 4]]
    assert "the token before it" in reply(scores, wanted=wanted, visible=visible)
    assert "should have the highest scores have the lowest" in reply(
        -20 * np.eye(COUNT), wanted=wanted, visible=visible
    )


def test_a_question_to_the_hidden_future_that_is_right_when_turned_hears_so():
    visible = np.tril(np.ones((COUNT, COUNT))) > 0
    assert "If W_query and W_key changed places" in reply(pointing(1), visible=visible)


def test_a_head_that_does_it_hears_nothing_and_nan_rows_are_free():
    assert reply(pointing(-1)) is None
    other = pointing(-1)
    other[0, 3] = 100
    assert reply(other) is None


def test_what_has_no_name_is_asked_by_kind_and_where_kinds_are_right_by_word():
    kinds = ["odd", "even"] * 3
    found = reply(pointing(2) + pointing(-2), kinds=kinds)
    assert found.endswith('Which of your numbers make "three" attend so much to odd?')
    one_of_the_last = 20.0 * np.eye(COUNT)[[4, 4, 4, 5, 5, 4]]
    assert 'make "two" attend so much to "five"?' in reply(one_of_the_last, kinds=["number"] * COUNT)


def test_a_head_that_is_too_strict_for_an_average_hears_so():
    even = np.full((COUNT, COUNT), 1 / COUNT)
    scores = np.linspace(0, 1, COUNT)[None].repeat(COUNT, axis=0)
    assert "too far apart" in reply(scores * 3, wanted=even)


@pytest.mark.parametrize(
    "handed, words",
    [
        (np.arange(COUNT)[:, None] * 1.0, "The value passes on the place. Should it?"),
        (AGES[:, None] * 2, "Your output is 2.0 times the right one."),
        (np.array([[3.0], [-9], [40], [0], [7], [77]]), "It should be 50.00. Which value does each word pass on?"),
    ],
)
def test_what_is_handed_on_instead_is_named(handed, words):
    found = reply(pointing(-1), handed)
    assert found.startswith("Your weights are right") and found.endswith(words)
    assert reply(pointing(-1), AGES[:, None]) is None


@pytest.mark.parametrize(
    "value, words",
    [
        (None, "returned None"),
        ("text", "tensor of floating-point numbers"),
        (
            [1.0, 2.0, 3.0],
            "tensor of floating-point numbers",
        ),  # the chapter's next cell could not multiply it, nor the next one
        (torch.tensor([1, 2, 3]), "tensor of floating-point numbers"),
        (torch.tensor([1.0, torch.nan, 2.0]), "contains nan"),
        (torch.tensor([1.0, 2.0, -1e10]), "numbers between"),
        (torch.tensor([1.0, 2.0]), r"shape \(2,\); expected \(3,\)"),
        (torch.ones(3, 1), r"shape \(3, 1\); expected \(3,\)"),
        ({"dict": []}, "tensor of floating-point numbers"),
    ],
)
def test_what_makes_no_head_is_refused_in_a_sentence(value, words):
    with pytest.raises(ValueError, match=words):
        puzzles.numbers(value, "Your query", 3)


@pytest.mark.parametrize(
    "value, words",
    [
        (torch.ones(2, 5, 3), "three stacks"),
        ([torch.ones(2, 5, 3)] * 2, "three stacks"),
        ([torch.ones(2, 5, 3), torch.ones(2, 5, 3), torch.ones(1, 5, 1)], "the same number of heads"),
        ([torch.ones(2, 5, 3), torch.ones(2, 5, 4), torch.ones(2, 5, 1)], "shapes must match"),
        ([torch.ones(257, 5, 3), torch.ones(257, 5, 3), torch.ones(257, 5, 1)], "at most 256"),
    ],
)
def test_what_makes_no_stack_of_heads_is_refused_in_a_sentence(value, words):
    with pytest.raises(ValueError, match=words):
        chapter_4.stack_of(value)


def test_a_tenth_of_a_rows_weight_may_lie_elsewhere_and_no_more():
    def astray(share):
        weights = np.where(np.isnan(BACK), 1 / COUNT, BACK)
        weights = weights * (1 - share) + share * np.eye(COUNT)
        with np.errstate(divide="ignore"):
            return np.log(weights)

    assert reply(astray(0.09)) is None
    assert "gives 0.11 of its weight" in reply(astray(0.11))


def test_what_is_handed_on_may_be_off_by_what_the_weights_may_and_no_more():
    assert reply(pointing(-1), AGES[:, None] + 9) is None  # a fifth of the largest that is wanted, which is 50
    assert "should be" in reply(pointing(-1), AGES[:, None] + 11)


def test_the_largest_number_that_a_head_may_hold_is_taken():
    found = puzzles.numbers(torch.tensor([1.0, 1e9, -1e9]), "Your query", 3)
    assert found.tolist() == [1, 1e9, -1e9]


def test_a_head_whose_scores_are_three_times_too_large_hears_so_and_an_even_one_does_not():
    scores = np.linspace(0, 2, COUNT)[None].repeat(COUNT, axis=0)
    wanted = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert "too far apart" in reply(scores * 3, wanted=wanted)
    assert "too far apart" not in reply(scores * 0, wanted=wanted)
