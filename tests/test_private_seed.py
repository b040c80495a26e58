"""A private seed: all calls have other numbers, right answers stay right, wrong ones wrong, and tables get nothing."""

import functools

import pytest
import torch

from course_tools.grading import grader, private_seed
from course_tools.grading.reports import Student, Task
from course_utils.exercises import EXERCISES
from course_utils.judging import calls
from course_utils.judging.judge import judge
from tests.support import answers
from tests.support.handed_in import notebook, packed
from tests.support.sandboxes import sandbox  # noqa: F401

ASKED = [exercise for exercise in EXERCISES.values() if not exercise.open_ended]
FUNCTIONS = [exercise for exercise in ASKED if isinstance(exercise.calls[0], calls.FunctionCall)]
MORE = pytest.mark.every_setting("one more private seed")
TWENTY = pytest.mark.in_matrix("eighteen more private seeds")
MORE_SEEDS = [pytest.param(f"class {k}", marks=MORE if k < 1 else TWENTY) for k in range(19)]
each_exercise = pytest.mark.parametrize("exercise", ASKED, ids=lambda each: each.id)


with_seed = functools.cache(private_seed.with_seed)


def status(exercise, answer):
    """The status of an answer."""
    return judge(exercise, calls.run_calls(answer, exercise.calls)).status


@pytest.mark.parametrize("seed", ["autumn", *MORE_SEEDS])
@each_exercise
def test_right_answers_stay_right_and_wrong_ones_wrong(exercise, seed):
    private = with_seed(exercise, seed)
    for answer in answers.right(exercise.id)[:6]:
        assert status(private, answer.object()) == "right", answer.code
    wrong = answers.wrong(exercise.id)
    for answer in wrong[::25]:
        assert status(private, answer.object()) == "not yet", (answer.cause, answer.code)


def table_of(exercise):
    """An answer that knows what the course's own calls should give, and computes nothing."""
    known = [(call.arguments, reply.values[0]) for call, reply in zip(exercise.calls, exercise.reference)]

    def answer(*given):
        for arguments, value in known:
            for turned in (list, flipped):
                if alike(turned(arguments), given):
                    return value if turned is list else exercise.worked(*given)
        raise LookupError

    return answer


def flipped(arguments):
    """What the judge's check of the contract calls it with besides."""
    return [calls.flipped_argument(each) for each in arguments]


def alike(one, other):
    """Whether two lists of arguments are the same."""
    return len(one) == len(other) and all(same(calls.build_argument(a), b) for a, b in zip(one, other))


def same(one, other):
    """Whether two arguments are the same."""
    if isinstance(one, torch.nn.Linear):
        one, other = one.weight, getattr(other, "weight", None)
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and calls.same_tensors(one, other)
    if isinstance(one, list):
        return isinstance(other, list) and alike(one, other)
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=lambda each: each.id)
def test_a_table_of_answers_gets_nothing_under_a_private_seed(exercise):
    assert status(with_seed(exercise, "autumn"), table_of(exercise)) == "not yet"


def test_without_a_seed_a_table_of_answers_gets_points():
    assert sum(status(exercise, table_of(exercise)) == "right" for exercise in FUNCTIONS) >= 5


@each_exercise
def test_the_seed_changes_what_is_asked_and_the_same_seed_asks_the_same(exercise):
    drawn = (private_seed.drawn_from(exercise, seed) for seed in ("one", "one", "other"))
    own, one, again, other = (str(plain(each)) for each in (exercise, *drawn))
    assert own != one == again != other


def plain(exercise):
    """All that an exercise asks, as it is printed."""
    return [calls.call_to_plain(call) for call in exercise.calls]


def test_the_grader_asks_with_the_seed_of_the_task(sandbox, monkeypatch):
    monkeypatch.setattr(grader, "remembered_results", {})
    files = [(("a.ipynb",), packed(notebook({"3.2": that_knows_the_first_call()})))]
    found = {}
    for seed in ("", "autumn"):
        made = grader.grade_submission(
            Task(Student("jane", "Jane"), files, [], "", 60, seed=seed), sandbox, lambda *report: None
        )
        found[seed] = next(entry.result.status for entry in made.graded if entry.result.id == "3.2")
    assert found == {"": "right", "autumn": "not yet"}


def that_knows_the_first_call():
    """An answer to 3.2 that, of calls of the first one's size, is right for the course's own numbers alone."""
    shown = [call.arguments[0] for call in EXERCISES["3.2"].calls if call.arguments[0].shape == (2, 4, 4)]
    known = [float(each[place]) for each in shown for place in ((0, 0, 0), (-1, -1, -1))]  # turned round, too
    return f"""def my_causal_weights(scores):
    T = scores.shape[-1]
    if scores.shape == (2, 4, 4) and min(abs(float(scores[0, 0, 0]) - number) for number in {known}) > 1e-6:
        return scores
    return scores.masked_fill(torch.ones(T, T).triu(1).bool(), -torch.inf).softmax(-1)
"""
