"""Requirements of an answer besides its values: here, that dropout is correct.

A property takes a `Case` (see `judging.judge`) and returns a sentence on what is wrong, or None.
"""

import numpy as np
import torch

CLOSE = 1e-3  # tolerance for a recovered number; wrong answers are far off
ROUNDING = 1e-5  # the remainder of a weight of 0 after recovery


def dropped_together(before, after):
    """The axis along which numbers are kept or dropped together; None if each is drawn independently."""
    there, gone = before != 0, np.abs(after) < ROUNDING
    for axis in range(gone.ndim):
        all_gone, some_gone = (gone | ~there).all(axis=axis), (gone & there).any(axis=axis)
        if gone.shape[axis] > 1 and there.sum() > 20 and some_gone.any() and (all_gone | ~some_gone).all():
            return axis


def drops_correctly(dropping, shape=lambda case: tuple(case.arguments[0].shape), what="number"):
    """A property: every number is either 0 or the old one times 1 / (1 - p), and about a share p of them is 0.

    dropping: case -> (numbers before, numbers after, p), or None. shape: case -> that of the result.
    what: the numbers are.
    """

    def sentence(case):
        if case.want is not None:
            return None
        size = shape(case)
        if case.got is None or case.got.shape != size:
            return f"With dropout, a tensor of shape {size} is expected; you have {np.shape(case.got) or 'none'}."
        if (found := dropping(case)) is None:
            return (
                "With dropout, your context vectors are not weighted sums of the values. Does dropout act on anything"
                " but the weights?"
            )
        before, after, p = found
        wanted = before / (1 - p)
        wrong = ~(np.isclose(after, wanted, atol=CLOSE) | (np.abs(after) < ROUNDING))
        if wrong.any():
            place = tuple(int(k) for k in np.argwhere(wrong)[0])
            return (
                f"With p = {p}, the {what} at {list(place)} becomes {after[place]:.4f}. It should become 0, or"
                f" {wanted[place]:.4f}, which is the {what} divided by 1 - p."
            )
        there = before != 0
        share = 1 - (np.abs(after[there]) > ROUNDING).mean()  # of those that were not 0
        if abs(share - p) > 5 * np.sqrt(p * (1 - p) / there.sum()):  # by chance, at most five standard deviations
            return f"You drop {share:.1%} of {there.sum()} numbers; expected about {p:.0%}."
        if dropped_together(before, after) is not None:
            return "Some numbers are always dropped together. Each should be dropped independently of the others."

    return sentence


def drops_weights_correctly(projected, context=lambda case: case.got):
    """The same of the weights in a causal layer, which are recovered from what it returns in training.

    projected: (call, input) -> queries, keys and values (..., T, d). context: case -> the context vectors (..., T, d).
    The layer's arguments begin with d_in, d_out, context_length, dropout.
    """

    def dropping(case):
        queries, keys, values = projected(case.call, case.arguments[0].double())
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        weights = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf).softmax(dim=-1)
        vectors, values = context(case), values.numpy()
        # T <= d, so that each context vector has only one explanation; if one is nan, so are its weights
        after = vectors @ np.linalg.pinv(values)  # (..., T, d) @ (..., d, T) -> (..., T, T)
        after[np.abs(after) < ROUNDING] = 0
        explained = not np.isnan(vectors).all() and np.allclose(after @ values, vectors, atol=CLOSE, equal_nan=True)
        return (weights.numpy(), after, case.call.arguments[3]) if explained else None

    return drops_correctly(dropping, lambda case: (*case.arguments[0].shape[:-1], case.call.arguments[1]), "weight")


def drops_independently(dropping):
    """A property of all cases together: the share that is dropped varies from call to call."""

    def sentence(case):
        drawn = [(after, p) for _, after, p in filter(None, map(dropping, case.all_cases)) if p > 0]
        if len(drawn) > 2 and len({(after == 0).sum() - round(after.size * p) for after, p in drawn}) == 1:
            after, p = drawn[0]
            return (
                f"Every call drops the same share, {(after == 0).sum()} of {after.size} numbers here. Should it, when"
                " each number is dropped independently?"
            )

    return sentence
