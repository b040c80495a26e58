"""Chapter 9: a query and a key that turn with their positions, pair by pair, and the same two moved on together."""

from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.live.base import Figure
from course_utils.live.vectors import check_numbers

MOST_PAIRS = 16  # fields of a size that can be read


def show_rotary(query: ArrayLike, key: ArrayLike, frequencies: ArrayLike) -> None:
    """Show a query and a key as arrows, a pair of numbers each, and the same two moved on together.

    query, key: (head_dim,), before they are turned; pair k is number k of each half. frequencies: (head_dim / 2,), up
    to 16. Raises ValueError for other input.
    """
    frequencies = check_numbers("frequencies", frequencies, "have one number for each pair", "pairs")
    pairs = len(frequencies)
    pictures.check_room(pairs, MOST_PAIRS, "pairs")
    both = f"have two numbers for each of the {pairs} frequencies"
    vectors = {name: check_numbers(name, each, both, 2 * pairs) for name, each in [("query", query), ("key", key)]}
    vectors["frequencies"] = frequencies
    about = "A query and a key whose pairs of numbers rotate with position:"
    Figure("rotary", about, list(vectors), list(vectors.values()), **vectors).show()
