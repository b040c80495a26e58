"""Numbers for the calls of answers, the same in every check. Make all sizes different: square cases hide bugs."""

import hashlib

import torch

private_seed = ""  # of a class, while a grader draws its calls; "" for the course's own numbers


def private(seed):
    """The seed that replaces this one in a class with a private seed."""
    return int.from_bytes(hashlib.sha256(f"{private_seed} {seed}".encode()).digest()[:6]) if private_seed else seed


def generator(seed):
    """The generator of numbers for a seed."""
    return torch.Generator().manual_seed(private(seed))


def whole(least, most, *shape, seed):
    """Whole numbers from `least` to `most`: (shape), or one number."""
    found = torch.randint(least, most + 1, shape, generator=generator(seed))
    return found if shape else int(found)


def normal(*shape, seed):
    """Numbers around 0, (shape)."""
    return torch.randn(shape, generator=generator(seed))


def uniform(*shape, seed):
    """Numbers between 0 and 1, (shape)."""
    return torch.rand(shape, generator=generator(seed))


def causal_weights(*shape, seed):
    """Random attention weights, (..., T, T), in which no token sees its future."""
    scores = normal(*shape, seed=seed)
    return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf).softmax(dim=-1)


def non_contiguous(tensor):
    """The same numbers in another order in memory."""
    return tensor.transpose(-2, -1).contiguous().transpose(-2, -1)
