"""The exercises of chapter 10, what a long text costs."""

import torch

from course_utils.exercises.exercise import Exercise
from course_utils.exercises.inputs import normal
from course_utils.exercises.words import written
from course_utils.judging.masks import Mask

# --- softmax in pieces ------------------------------------------------------------------------------------------------


def pieces(scores, values):
    """(largest, total, mixed) for each row of scores (T, S), -inf where hidden, with values (S, d)."""
    largest, exact = scores.amax(dim=-1), scores.double()
    shares = (exact - largest[:, None]).exp().nan_to_num()  # a row without a key has shares of 0
    return [largest, shares.sum(dim=-1).float(), (shares @ values.double()).float()]


def hiding(scores, *places):
    """The scores with these places hidden: cells, (row, column), or whole rows, by their numbers."""
    for place in places:
        scores[place] = -torch.inf
    return scores


# --- 10.1 merge two halves --------------------------------------------------------------------------------------------


def halves(*scores, d, seed):
    """A call with two halves of some scores (T, S) each."""
    pairs = [pieces(some, normal(some.shape[1], d, seed=seed + k)) for k, some in enumerate(scores)]
    return [*map(torch.stack, zip(*pairs))]


MERGE = Exercise(
    **written("10.1"),
    make_calls=lambda: [
        halves(normal(4, 3, seed=1) * 3, normal(4, 3, seed=2) * 3, d=5, seed=3),
        halves(normal(3, 2, seed=5) - 4, normal(3, 5, seed=6) + 4, d=2, seed=7),
        halves(normal(5, 4, seed=9) * 90, normal(5, 4, seed=10) * 90, d=3, seed=11),  # no exponential may overflow
        halves(hiding(normal(4, 3, seed=13), 1), hiding(normal(4, 2, seed=14), 3), d=6, seed=15),
        halves(normal(1, 3, seed=17), normal(1, 3, seed=18), d=4, seed=19),
        halves(normal(2, 3, seed=21), normal(2, 3, seed=21).flip(-1), d=3, seed=22),  # equal largest scores
    ],
    gradient=False,
)

WINDOW = Exercise(
    **written("10.2"),
    make_calls=lambda: [[3, 7, 2], [5, 5, 3], [1, 6, 4], [2, 14, 1], [4, 6, 8], [3, 7, 4]],
    maps=True,
    mask=Mask(true="hidden"),
)

# --- 10.3 one more tile -----------------------------------------------------------------------------------------------


def next_tile(before, scores, d, seed):
    """A call with what is known after some scores (T, S), or None at first, and with the scores of the next tile."""
    T = len(scores)
    nothing = [torch.full((T,), -torch.inf), torch.zeros(T), torch.zeros(T, d)]
    known = nothing if before is None else pieces(before, normal(before.shape[1], d, seed=seed))
    return [*known, scores, normal(scores.shape[1], d, seed=seed + 1)]


NEXT_TILE = Exercise(
    **written("10.3"),
    make_calls=lambda: [
        next_tile(normal(4, 6, seed=31) * 2, normal(4, 3, seed=32) * 2, d=5, seed=33),
        next_tile(None, hiding(normal(5, 3, seed=35), (0, 1), (2, 2)), d=2, seed=36),
        next_tile(None, hiding(normal(4, 3, seed=38), 1, 3), d=6, seed=39),  # nothing seen yet
        # all scores below 0
        next_tile(hiding(normal(5, 4, seed=41) - 4, 0, 1), hiding(normal(5, 2, seed=42) - 4, 1, 2), d=3, seed=43),
        next_tile(normal(3, 2, seed=45) * 90, normal(3, 4, seed=46) * 90, d=2, seed=47),
    ],
    gradient=False,
)

GATED = Exercise(
    **written("10.4"),
    make_calls=lambda: [
        [normal(2, 3, 4, 5, seed=51), normal(2, 4, 7, seed=52), normal(15, 7, seed=53)],
        [normal(3, 1, 2, 6, seed=54), normal(3, 2, 4, seed=55), normal(6, 4, seed=56)],
        [normal(1, 4, 5, 2, seed=57), normal(1, 5, 3, seed=58), normal(8, 3, seed=59)],
        [normal(2, 2, 1, 3, seed=60), 9 * normal(2, 1, 5, seed=61), normal(6, 5, seed=62)],  # gates shut or wide open
    ],
)

# --- 10.5 keys that an indexer picks ----------------------------------------------------------------------------------


def tied(T, seed):
    """Scores (T, T) with many ties, as relu makes them; some are below 0."""
    return normal(T, T, seed=seed).mul(2).round().clamp(min=-1)


PICKED = Exercise(
    **written("10.5"),
    make_calls=lambda: [
        [normal(5, 5, seed=71), 2],
        [tied(6, seed=72), 3],
        [tied(8, seed=73), 1],
        [tied(4, seed=74), 7],  # more than there are
        [torch.zeros(5, 5), 2],
    ],
    gradient=False,
    maps=True,
    mask=Mask(true="hidden"),
)
