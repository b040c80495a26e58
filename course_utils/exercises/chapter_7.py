"""The exercises of chapter 7, learning."""

import torch

from course_utils.exercises.exercise import Exercise
from course_utils.exercises.inputs import causal_weights, normal
from course_utils.exercises.words import written
from course_utils.judging.calls import FunctionCall

NEXT_TOKEN_LOSSES = Exercise(
    **written("7.1"),
    make_calls=lambda: [
        [normal(5, 7, seed=1) * 2, torch.tensor([3, 0, 6, 6, 2])],
        [normal(3, 4, seed=2), torch.tensor([1, 2, 0])],
        [normal(2, 9, seed=3) * 5, torch.tensor([8, 4])],
        # exp of 500 is inf, and beside it every number of the other row counts as nothing
        [torch.tensor([[0.0, 500.0], [3.0, 1.0], [0.0, 0.0]]), torch.tensor([1, 0, 1])],
    ],
)

PREVIOUS_TOKEN_SHARE = Exercise(
    **written("7.2"),
    make_calls=lambda: [
        [causal_weights(2, 6, 6, seed=4)],
        [torch.softmax(normal(3, 5, 5, seed=5) * 2, dim=-1)],
        [torch.softmax(normal(1, 2, 2, seed=6), dim=-1)],
        [torch.stack([torch.eye(4), torch.eye(4).roll(-1, dims=-1).tril(-1) + torch.eye(4)[0]])],  # zeros
    ],
    gradient=False,
)

FLOOR = Exercise(
    **written("7.3"),
    make_calls=lambda: [
        [torch.tensor([0.5, 0.2, 0.2, 0.1])],
        [torch.full((100,), 0.01)],
        [torch.tensor([0.7, 0.0, 0.3])],
        [torch.tensor([0.0, 1.0])],
        [torch.tensor([0.7, 0.1, 0.1995, 0.0005])],  # of another one's size; small, and not 0
    ],
    gradient=False,
)

TEMPERATURE = Exercise(
    **written("7.4"),
    make_calls=lambda: [
        [normal(5, seed=7), 0.5],
        [normal(3, 4, seed=8) * 2, 2.0],
        [normal(1, 6, seed=9), 0.8],
        [torch.tensor([10.0, 12.0, 9.0]), 0.05],  # exp of 12 / 0.05 is inf
        # no probability of 100 is large: their powers are 0; the gradient is rounding alone
        FunctionCall([normal(100, seed=10) / 2, 0.01], gradient=False),
        [normal(2, 3, 4, seed=11), 1.0],
        [normal(4, 3, seed=12) + torch.tensor([[0.0], [300.0], [-300.0], [600.0]]), 1.5],  # rows far apart
    ],
)
