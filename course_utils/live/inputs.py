"""What live figures refuse, each in one sentence that says what to do."""

import numpy as np

from course_utils import pictures


def check_vectors(name, vectors, tokens, most=None):
    """Vectors, one per token, as an array of shape (T, d) in 64 bits. Raises ValueError.

    name: what the caller calls them. most: how many numbers a vector may have, or None.
    """
    vectors = pictures.array(vectors)
    if isinstance(tokens, str) or len(tokens) == 0:
        raise ValueError(f"tokens must be a list of one or more names, such as sentence.split(); this is {tokens!r}.")
    if vectors.ndim != 2 or len(vectors) != len(tokens) or vectors.shape[1] == 0:
        raise ValueError(
            f"{name} must have a row for each of the {len(tokens)} tokens, shape ({len(tokens)}, d); this has shape "
            f"{vectors.shape}. For a batch, pick one sequence first: {name}[0]."
        )
    check_finite(name, vectors)
    if most is not None and vectors.shape[1] > most:
        raise ValueError(
            f"This figure has room for {most} numbers per token, and {name} has {vectors.shape[1]}: "
            f"pass {name}[:, :{most}]."
        )
    return vectors


def check_count(tokens, most):
    """Refuse more tokens than a figure has room for. Raises ValueError. tokens, most: how many."""
    if tokens > most:
        raise ValueError(f"This figure has room for {most} tokens, not {tokens}: pass fewer of them.")


def check_finite(name, values):
    """Refuse nan and infinity. Raises ValueError."""
    if not np.isfinite(values).all():
        place = tuple((np.argwhere(~np.isfinite(values))[0] + 1).tolist())
        raise ValueError(
            f"{name} holds {values[~np.isfinite(values)][0]} at {place}, counted from 1: "
            "only finite numbers can be drawn."
        )
