"""What figures of single numbers take, and what they refuse: each in one sentence that says what to do."""

import numpy as np

from course_utils import pictures


def check_vectors(name, vectors, tokens, most=np.inf, most_tokens=np.inf):
    """Vectors, one per token, as an array of shape (T, d) in 64 bits, and the tokens' names. Raises ValueError.

    name: what the caller calls them. most, most_tokens: how many numbers and tokens a figure has room for.
    """
    vectors = pictures.array(vectors)
    pictures.check_names(tokens)
    if vectors.ndim != 2 or len(vectors) != len(tokens) or vectors.shape[1] == 0:
        raise ValueError(
            f"{name} must have a row for each of the {len(tokens)} tokens, shape ({len(tokens)}, d); this has shape "
            f"{vectors.shape}. For a batch, pick one sequence first: {name}[0]."
        )
    check_finite(name, vectors)
    if vectors.shape[1] > most:
        raise ValueError(
            f"This figure has room for {most} numbers per token, and {name} has {vectors.shape[1]}: "
            f"pass {name}[:, :{most}]."
        )
    check_count(len(tokens), most_tokens)
    return vectors, pictures.numbered(tokens)


def check_numbers(name, values, count, wanted):
    """One row of so many numbers, as an array in 64 bits. Raises ValueError. wanted: what it must be, in words."""
    values = pictures.array(values)
    if values.shape != (count,):
        raise ValueError(
            f"{name} must {wanted}, shape ({count},); this has shape {values.shape}. Of a table, pick a row: {name}[0]."
        )
    check_finite(name, values)
    return values


def check_count(tokens, most):
    """Refuse more tokens than a figure has room for. Raises ValueError. tokens, most: how many."""
    if tokens > most:
        raise ValueError(f"This figure has room for {most} tokens, not {tokens}: pass fewer of them.")


def check_finite(name, values):
    """Refuse nan and infinity. Raises ValueError."""
    wrong = ~np.isfinite(values)
    if wrong.any():
        place = tuple((np.argwhere(wrong)[0] + 1).tolist())
        raise ValueError(
            f"{name} holds {values[wrong][0]} at {place}, counted from 1: only finite numbers can be drawn."
        )
