"""Chapter 10: one query's scores read tile by tile: the largest, the total and the output so far, merged or not."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from course_utils.live.base import Figure
from course_utils.live.vectors import check_numbers, check_vectors

MOST_TOKENS = 12  # with a row each
MOST_NUMBERS = 2  # of a value, side by side in a column


def show_tiles(scores: ArrayLike, values: ArrayLike, tokens: Sequence[str], size: int = 2) -> None:
    """Show online softmax of one query, with controls for the tile, its size, and a factor that is forgotten.

    scores: (S,), already divided by √d_k; values: (S, d), d up to 2. tokens: S names of the keys, up to 12.
    size: keys in a tile at first. Raises ValueError for other input.
    """
    values, names = check_vectors("values", values, tokens, MOST_NUMBERS, MOST_TOKENS)
    scores = check_numbers("scores", scores, "be those of one query", len(names))
    if not 1 <= size <= len(names):
        raise ValueError(f"size is how many of the {len(names)} keys a tile has, from 1; this is {size}.")
    shares = np.exp(scores - scores.max())
    rows = np.stack([scores, shares / shares.sum()], axis=1)  # (S, 2)
    about = f"Scores of one query on {len(names)} keys, read in tiles, with the weights that all of them give together:"
    Figure("tiles", about, names, rows, ["score", "weight"], scores=scores, values=values, size=size).show()
