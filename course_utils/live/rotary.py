"""Chapter 9: a query and a key that turn with their positions, pair by pair, and what each pair adds to the score."""

from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.live.base import Figure
from course_utils.live.inputs import check_finite

MOST_PAIRS = 16  # fields of a size that can be read


def show_rotary(query: ArrayLike, key: ArrayLike, frequencies: ArrayLike) -> None:
    """Show a query and a key as arrows, a pair of numbers each, with controls for the positions of the two.

    query, key: (head_dim,), before they are turned; pair k is number k of each half. frequencies: (head_dim / 2,), up
    to 16. Raises ValueError for other input.
    """
    rotary_figure(query, key, frequencies).show()


def rotary_figure(query, key, frequencies):
    """The Figure that show_rotary shows."""
    vectors = {"query": pictures.array(query), "key": pictures.array(key), "frequencies": pictures.array(frequencies)}
    pairs = vectors["frequencies"].size
    if vectors["frequencies"].shape != (pairs,) or not 1 <= pairs <= MOST_PAIRS:
        raise ValueError(
            f"frequencies must be 1 to {MOST_PAIRS} numbers, one for each pair; this has shape "
            f"{vectors['frequencies'].shape}."
        )
    for name in ("query", "key"):
        if vectors[name].shape != (2 * pairs,):
            raise ValueError(
                f"{name} must have two numbers for each of the {pairs} frequencies, shape ({2 * pairs},); this has "
                f"shape {vectors[name].shape}. Pick one token of one head first."
            )
    for name, numbers in vectors.items():
        check_finite(name, numbers)
    table = [f"number {place}" for place in range(2 * pairs)], vectors
    return Figure("rotary", "A query and a key whose pairs of numbers turn with their positions:", table, **vectors)
