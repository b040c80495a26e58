"""The exercises of chapter 6, in practice."""

import torch

from course_utils.exercises.exercise import Exercise
from course_utils.exercises.inputs import non_contiguous, normal
from course_utils.exercises.words import written
from course_utils.judging.masks import Mask

PADDING_MASK = Exercise(
    **written("6.1"),
    make_calls=lambda: [
        [torch.tensor([1, 4, 2]), 4],
        [torch.tensor([5, 3]), 6],
        [torch.tensor([0, 2, 1, 3]), 3],
        [torch.tensor([3, 3]), 3],
        [torch.tensor([2]), 3],  # a batch of one keeps its dimension
    ],
)

KEEP_MASK = Exercise(
    **written("6.2"),
    make_calls=lambda: [
        [torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]])],
        [torch.tensor([[1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 1, 1]])],
        [torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]])],  # of the first one's size
        [torch.ones(1, 3).long()],  # without padding, the future is hidden all the same
    ],
    maps=True,
    mask=Mask(true="visible", padding=lambda arguments: arguments[0] == 0),
)

# --- 6.3 one step with a cache ----------------------------------------------------------------------------------------


def step_of(B, num_heads, T, head_dim, seed):
    """A call with a new token's query, key and value, and a cache with the keys and values of T tokens."""
    return [*normal(3, B, num_heads, 1, head_dim, seed=seed), *normal(2, B, num_heads, T, head_dim, seed=seed + 1)]


STEP = Exercise(
    **written("6.3"),
    make_calls=lambda: [step_of(2, 3, 5, 4, seed=61), step_of(1, 2, 6, 3, seed=63), step_of(3, 4, 2, 5, seed=65)],
)

SHARED = Exercise(
    **written("6.4"),
    make_calls=lambda: [
        [normal(1, 2, 3, 4, seed=67), 6],
        [non_contiguous(normal(2, 3, 1, 5, seed=68)), 12],
        [normal(2, 4, 3, 2, seed=69), 4],
        [normal(3, 2, 2, 4, seed=80), 8],
    ],
)

# --- 6.5 three readings -----------------------------------------------------------------------------------------------


def head(size, seed, divisor, ahead=0, afterwards=False):
    """Scores and weights of a head. ahead: how many future tokens are seen. afterwards: masked after softmax only."""
    scores = normal(size, size, seed=seed)
    hidden = torch.ones(size, size).triu(1 + ahead).bool()
    if afterwards:
        return [scores, torch.softmax(scores / divisor, dim=-1).masked_fill(hidden, 0)]
    return [scores, torch.softmax(scores.masked_fill(hidden, -torch.inf) / divisor, dim=-1)]


def with_sums(call, *sums):
    """The call with rows that sum to these."""
    scores, weights = call
    return [scores, weights * torch.tensor(sums)[:, None]]


def leaking(call, leak, row=0):
    """The call with a weight on the future, in a row that still sums to 1."""
    scores, weights = (argument.clone() for argument in call)
    weights[row] = torch.tensor([1 - leak, 0.0, 0.0, leak])
    return [scores, weights]


def one_key_closed(call):
    """The call with a last token that does not see itself."""
    scores, weights = (argument.clone() for argument in call)
    weights[-1, -1] = 0
    return [scores, weights / weights.sum(dim=-1, keepdim=True)]


READINGS = Exercise(
    **written("6.5"),
    make_calls=lambda: [
        head(5, seed=70, divisor=2.0),
        head(4, seed=71, divisor=8**0.5),
        head(5, seed=72, divisor=2.0, ahead=1),
        head(6, seed=73, divisor=3.0, afterwards=True),
        head(2, seed=74, divisor=0.5),
        with_sums(head(4, seed=75, divisor=1.5), 1.0, 1.1, 0.9, 1.0),  # 1 on average, and wrong
        with_sums(head(4, seed=79, divisor=1.5), 1.0, 1.0, 1.1, 1.0),
        with_sums(head(4, seed=80, divisor=1.5), 1.0, 1.0, 1.0005, 1.0),
        with_sums(head(4, seed=82, divisor=1.5), 1.0, 1.0, 1.00005, 1.0),  # near enough
        leaking(head(4, seed=76, divisor=2.5), 1e-3),
        leaking(head(4, seed=77, divisor=2.0), 1e-5),
        leaking(head(4, seed=81, divisor=2.0), 1e-2, row=2),
        one_key_closed(head(4, seed=78, divisor=2.0)),
    ],
    gradient=False,
)
