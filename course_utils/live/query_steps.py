"""Chapter 1: one query, step by step: scores, weights, context vector. Every number of an embedding can be changed."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from course_utils.live.base import Figure
from course_utils.live.vectors import check_vectors

MOST_NUMBERS = 6  # of an embedding: each has two columns


def show_query_steps(inputs: ArrayLike, tokens: Sequence[str]) -> None:
    """Show how one query attends, with controls for the query, the step and the embeddings.

    inputs: embeddings of shape (T, d_in), d_in up to 6. tokens: T names. Raises ValueError for other input.
    """
    inputs, names = check_vectors("inputs", inputs, tokens, MOST_NUMBERS)
    about = f"Scores, weights and context vector of one query among {len(names)} tokens, from their embeddings:"
    Figure("query_steps", about, names, inputs, inputs=inputs).show()
