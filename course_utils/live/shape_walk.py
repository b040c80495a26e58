"""Chapter 5: a tensor passes through view, transpose, scores and merge, beside the same steps with a common mistake.

Each number has the colour of its head, and one number can be followed: everything that it changes is marked.
"""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.live.base import Figure
from course_utils.live.vectors import check_vectors
from course_utils.validation import check_heads

MOST_TOKENS, MOST_NUMBERS, MOST_HEADS = 8, 16, 8  # heads have a colour each


def show_shape_walk(x: ArrayLike, num_heads: int, tokens: Sequence[str]) -> None:
    """Show how a tensor is split into heads and merged, step by step, beside a split without transpose.

    x: (T, d_out), T up to 8 and d_out up to 16; it serves as queries, keys and values. num_heads divides d_out. tokens:
    T names. Raises ValueError for other input.
    """
    x, names = check_vectors("x", x, tokens, MOST_NUMBERS, MOST_TOKENS)
    check_heads(x.shape[1], num_heads)
    pictures.check_room(num_heads, MOST_HEADS, "heads")
    about = f"A tensor of {len(names)} tokens split into {num_heads} heads, with transpose and without:"
    Figure("shape_walk", about, names, x, x=x, heads=num_heads).show()
