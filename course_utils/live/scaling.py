"""Chapter 2: one query's scores, and their weights without and with the division, while d_k grows."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from course_utils.live.base import Figure
from course_utils.live.vectors import check_numbers, check_vectors

LARGEST = 128  # numbers of a query that can be opened and still be read


def show_scaling(query: ArrayLike, keys: ArrayLike, tokens: Sequence[str]) -> None:
    """Show one query's scores, and their weights with and without scaling, with controls for d_k and temperature.

    query: (d,); keys: (T, d), d up to 128. d_k takes the first numbers of both. tokens: T names of the keys. Raises
    ValueError for other input.
    """
    keys, names = check_vectors("keys", keys, tokens, LARGEST)
    query = check_numbers("query", query, "have as many numbers as a key", keys.shape[1])
    about = f"Scores and weights of one query against {len(names)} keys, from these numbers:"
    Figure("scaling", about, ["query", *names], [query, *keys], names=names, query=query, keys=keys).show()
