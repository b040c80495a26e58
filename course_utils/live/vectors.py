"""The input that figures of single numbers take and refuse."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.pictures import Numbers


def check_vectors(
    name: str, vectors: ArrayLike, tokens: Sequence[str], most: float = np.inf, most_tokens: float = np.inf
) -> tuple[Numbers, list[str]]:
    """Vectors, one per token, as an array of shape (T, d) in 64 bits, and the tokens' names. Raises ValueError.

    name: the caller's name for them. most, most_tokens: the most numbers and tokens for which a figure has room.
    """
    names = pictures.numbered(tokens, most_tokens)
    vectors = check_numbers(name, vectors, f"have a row for each of the {len(names)} tokens", len(names), "d")
    pictures.check_room(vectors.shape[1], most, "numbers per token", f"pass {name}[:, :{most}]")
    return vectors, names


def check_numbers(name: str, values: ArrayLike, wanted: str, *shape: str | int) -> Numbers:
    """Finite numbers as an array in 64 bits; the rest as in `pictures.shaped`. Raises ValueError."""
    values = pictures.shaped(name, values, wanted, *shape)
    pictures.refuse(name, values, ~np.isfinite(values), "only finite numbers can be drawn")
    return values
