"""Numbers for the calls put to answers, the same on every check. Let no two sizes be equal: square cases hide bugs."""

import torch


def normal(*shape, seed):
    """Numbers around 0, (shape)."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def uniform(*shape, seed):
    """Numbers between 0 and 1, (shape)."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed))


def causal_weights(*shape, seed):
    """Random attention weights, (..., T, T), in which no token sees its future."""
    scores = normal(*shape, seed=seed)
    return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf).softmax(dim=-1)


def non_contiguous(tensor):
    """The same numbers in another order in memory."""
    return tensor.transpose(-2, -1).contiguous().transpose(-2, -1)
