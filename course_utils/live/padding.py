"""Chapter 6: padding among the keys, seen beside hidden from every query, until no key is left."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.live.base import Figure

MOST_TOKENS = 40  # with names beside them


def show_padding(scores: ArrayLike, tokens: Sequence[str], key_tokens: Sequence[str]) -> None:
    """Show weights of T queries on S keys, the last of which are padding, seen and hidden, with controls for both.

    scores: (T, S), already divided by √d_k; padding takes the place of a key and scores 0. tokens: T names of the
    queries. key_tokens: S names of the keys. Raises ValueError for other input.
    """
    names, keys = pictures.numbered(tokens, MOST_TOKENS), pictures.numbered(key_tokens, MOST_TOKENS)
    tables = pictures.panels("scores", scores, names, keys)  # (1, T, S)
    pictures.check_room(len(tables), 1, "table of scores", "pick one head, scores[0]")
    early = "pass finite, unmasked scores; this figure hides the padding"
    pictures.refuse("scores", tables, ~np.isfinite(tables), early)
    about = f"Attention weights of {len(names)} queries on {len(keys)} keys with padding, from their scores:"
    Figure("padding", about, names, tables[0], keys, keys=keys, scores=tables[0]).show()
