"""The calls of exercises with numbers from a private seed, which only those who know the seed can predict."""

import contextlib
from dataclasses import replace

import torch

from course_utils.exercises import inputs
from course_utils.exercises.inputs import whole
from course_utils.judging.calls import run_calls
from course_utils.judging.judge import judge
from course_utils.judging.result import RIGHT

MOST_TRIED = 4  # right answers that must be right under a private seed
MOST_DRAWS = 10  # of numbers from a private seed, until right answers are right


def with_seed(exercise, seed):
    """The exercise with calls whose numbers are drawn from a private seed; "" for the course's own."""
    if not seed or exercise.open_ended:
        return exercise
    draws = (drawn_from(exercise, f"{seed}, {number}") for number in range(MOST_DRAWS))
    return next(filter(takes_right_answers, draws), drawn_from(exercise, seed))  # rounding can make an answer wrong


def drawn_from(exercise, seed):
    """The exercise with calls drawn from a private seed."""

    def make_calls():
        with private_numbers(seed):
            return [*exercise.make_calls(), *MORE_CALLS.get(exercise.id, list)()]

    found = replace(exercise, make_calls=make_calls, seed=seed)
    vars(found)["worked"] = exercise.worked
    return found


def takes_right_answers(exercise):
    """Whether the first few right answers are right."""
    replies = (run_calls(answer, exercise.calls) for answer in exercise.right_answers[:MOST_TRIED])
    return all(judge(exercise, found).status == RIGHT for found in replies)


@contextlib.contextmanager
def private_numbers(seed):
    """Draw the numbers of inputs from a private seed in this context."""
    inputs.private_seed = seed
    try:
        yield
    finally:
        inputs.private_seed = ""


def turned_in_part(seed):
    """Sizes of a partly rotated head, and the base."""
    half = whole(2, 9, seed=seed)
    return [2 * half, 2 * whole(1, half, seed=seed + 10), float(whole(5, 5000, seed=seed + 20))]


MORE_CALLS = {  # for exercises that otherwise draw nothing, or do not always draw numbers that show a mistake
    # exp of such scores is inf
    "1.3": lambda: [[*(5 + inputs.uniform(rows, 4, seed=rows) for rows in (3, 2)), inputs.normal(2, 5, seed=1)]],
    "4.3": lambda: [[whole(1, 99, seed=k) / 100, whole(2, 9, seed=10 + k)] for k in range(3)],
    "6.1": lambda: [[whole(0, 5, 4, seed=10 + k), whole(5, 9, seed=k)] for k in range(3)],
    "6.2": lambda: [[(torch.arange(7) < whole(1, 7, 3, 1, seed=k)).long()] for k in range(3)],
    "7.3": lambda: [[inputs.normal(6, seed=k).softmax(dim=-1)] for k in range(2)],
    "8.2": lambda: [[*inputs.uniform(4, 12, 9, seed=30 + k), k / 10] for k in (1, 2, 3)],
    "9.2": lambda: [turned_in_part(seed) for seed in range(3)],
    "10.2": lambda: [[*whole(1, 6, 2, seed=k).cumsum(dim=0).tolist(), whole(1, 9, seed=9 + k)] for k in range(4)],
}
