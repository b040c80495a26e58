"""Chapter 10: tiles that travel over the score matrix: what is kept per row, beside a layer that keeps everything."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from course_utils.live.base import Figure
from course_utils.live.vectors import check_numbers, check_vectors

MOST_TOKENS = 12  # with a row each
MOST_NUMBERS = 2  # of a value, side by side in a row


def show_tiles(scores: ArrayLike, values: ArrayLike, tokens: Sequence[str], size: int = 2) -> None:
    """Show causal attention in tiles, with controls for the tile, its size, and forgetting to rescale.

    scores: (T, T), already divided by √d_k; scores of the future are not read. values: (T, d), d up to 2. tokens: T
    names, up to 12. size: rows and columns of a tile at first. Raises ValueError for other input.
    """
    values, names = check_vectors("values", values, tokens, MOST_NUMBERS, MOST_TOKENS)
    T = len(names)
    scores = check_numbers("scores", scores, "cover T queries and T keys", T, T)
    if not 1 <= size <= T:
        raise ValueError(f"size is the number of keys in a tile, from 1 to {T}, not {size}.")
    about = f"A matrix of {T} × {T} scores, with one tile in memory at a time; future tiles are not computed:"
    Figure("tiles", about, names, scores, names, scores=scores, values=values, size=size).show()
