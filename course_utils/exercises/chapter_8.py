"""The exercises of chapter 8, a real model."""

import torch

from course_utils.exercises.exercise import Exercise
from course_utils.exercises.inputs import causal_weights, normal, uniform
from course_utils.exercises.words import written

# --- 8.1 the vectors of a batch of sentences --------------------------------------------------------------------------


def padding_after(*lengths):
    """True at padding: (B, T) for sentences of these lengths."""
    return torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None]  # (B, T)


SENTENCE_VECTORS = Exercise(
    **written("8.1"),
    make_calls=lambda: [
        [normal(2, 5, 3, seed=81), padding_after(5, 2)],
        [normal(3, 4, 6, seed=82) + 1, padding_after(1, 4, 3)],
        [normal(1, 5, 2, seed=83), torch.tensor([[True, True, False, False, False]])],
        [normal(2, 4, 3, seed=93).relu(), padding_after(4, 2)],  # a 0 in a real token is a number, too
        [normal(2, 3, 4, seed=94), padding_after(3, 3)],
    ],
)

# --- 8.2 heads that turn ----------------------------------------------------------------------------------------------


def tables():
    """What four calls share."""
    return [uniform(3, 4, seed=84 + k) for k in range(4)]


# head 0 turns, head 1 turns back, head 2 stays; 3 is undecided before, 4 after: by not more than 0
LEVEL = [[0.5, 0.2, 0.5, 0.5, 0.5], [0.2, 0.5, 0.2, 0.5, 0.2], [0.2, 0.5, 0.5, 0.2, 0.5], [0.5, 0.2, 0.2, 0.5, 0.5]]
# head 0 turns by too little, head 1 as it should, head 2 the wrong way; heads 3 and 4 by too little on one side
NARROW = [
    [0.51, 0.7, 0.3, 0.7, 0.51],
    [0.5, 0.2, 0.6, 0.2, 0.5],
    [0.5, 0.2, 0.6, 0.5, 0.2],
    [0.51, 0.7, 0.3, 0.51, 0.7],
]

TURNING_HEADS = Exercise(
    **written("8.2"),
    make_calls=lambda: [
        [*tables(), 0.1],
        [*tables(), 0.0],
        [*normal(4, 5, 7, seed=820), 0.4],
        [*tables(), 0.3],
        [*(table.softmax(dim=-1) for table in tables()), 0.02],
        [*(torch.tensor([row]) for row in LEVEL), 0.0],
        [*(torch.tensor([row]) for row in NARROW), 0.05],
    ],
    gradient=False,
)

BREADTH = Exercise(
    **written("8.3"),
    make_calls=lambda: [
        [torch.softmax(3 * normal(2, 3, 5, 5, seed=89), dim=-1)],
        [torch.stack([torch.eye(4), torch.full((4, 4), 0.25)])],
        [causal_weights(1, 2, 4, 4, seed=88)],
        [torch.tensor([[[0.5, 0, 0.5], [0, 0.25, 0.75], [0, 0, 1]]])],  # a 0 may stand anywhere
    ],
    gradient=False,
)

ONLY_HEAD = Exercise(
    **written("8.4"),
    make_calls=lambda: [
        [normal(6, 6, seed=90), 1, 2],
        [normal(8, 8, seed=91), 3, 2],
        [normal(9, 9, seed=92), 2, 3],
        [normal(4, 6, seed=94), 0, 2],  # 6 inputs, which are 3 heads of 2
        [normal(4, 4, seed=95).double() / 3, 1, 2],  # more digits than 32 bits hold
    ],
    gradient=False,
)
