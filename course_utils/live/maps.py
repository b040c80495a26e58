"""The data of figures with maps: many weights in few letters."""

import string
from typing import Any

import numpy as np

from course_utils.pictures import Numbers

PACKED = 10_000  # packed weights are counted in ten thousandths
LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"


def packed(weights: Numbers) -> dict[str, Any]:
    """Weights, numbers from 0 of any shape, in few letters: {"shape": ..., "letters": ...}.

    Figures print up to 3 of their decimals. Each is cut after four decimals, and a cut that ends in 0 or 5 is raised by
    one, so that rounding it again gives the same as rounding the weight itself. A letter has five bits, the first bits
    first; all letters of a number but the last carry 32 more.
    """
    exact = np.round(weights.ravel() * PACKED, 6)
    cut = np.floor(exact).astype(int)
    cut += (cut % 5 == 0) & (exact > cut)
    return {"shape": list(weights.shape), "letters": "".join(map(letters_of, cut.tolist()))}


def letters_of(number: int) -> str:
    """One number from 0 in letters of five bits."""
    letters = LETTERS[number % 32]
    while number := number // 32:
        letters = LETTERS[32 + number % 32] + letters
    return letters
