"""Attention in plain loops over Python numbers: the oracle of the checks. It looks nothing like the answers."""

import math


def rows(tensor):
    """A tensor as nested lists of Python floats."""
    return tensor.double().tolist()


def sequences(*tensors):
    """The tensors (B, T, d), or (T, d) for B = 1, as nested lists: one tuple of tables per sequence."""
    return list(zip(*[rows(tensor if tensor.ndim == 3 else tensor[None]) for tensor in tensors]))


def dot(a, b):
    """The dot product of two lists of numbers."""
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def softmax(scores, visible=None):
    """Weights of one row of scores; what is not visible gets 0."""
    visible = [True] * len(scores) if visible is None else visible
    largest = max(score for score, seen in zip(scores, visible) if seen)
    shares = [math.exp(score - largest) if seen else 0.0 for score, seen in zip(scores, visible)]
    total = math.fsum(shares)
    return [share / total for share in shares]


def mix(weights, values):
    """The sum of vectors, each times its weight."""
    return [math.fsum(w * value[k] for w, value in zip(weights, values)) for k in range(len(values[0]))]


def project(x, weight, bias=None):
    """What a linear layer makes of each row of x (T, d_in). weight: (d_out, d_in), as nn.Linear stores it."""
    return [[dot(row, line) + (bias[k] if bias else 0.0) for k, line in enumerate(weight)] for row in x]


def attend(queries, keys, values, causal=False, scale=None, visible=None):
    """(context vectors, weights) of one sequence and one head. scale: the divisor of the scores, √d_k when None.

    visible: whom each query sees, rows of True and False; None for everyone, or where causal for all so far.
    """
    scale = math.sqrt(len(keys[0])) if scale is None else scale
    visible = visible or [[s <= t or not causal for s in range(len(keys))] for t in range(len(queries))]
    weights = [softmax([dot(query, key) / scale for key in keys], seen) for query, seen in zip(queries, visible)]
    return [mix(row, values) for row in weights], weights
