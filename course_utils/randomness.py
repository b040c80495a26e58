"""Dropout masks that come out the same on every machine.

`torch.nn.Dropout` draws differently in different torch versions and on different processors, so one seed gives several
masks. These are the two that our sources print; both are computed from draws that do not depend on the machine.

shape: of the mask. p: the probability of dropping an entry. seed: of the generator.
"""

from collections.abc import Sequence

import numpy as np
import torch

__all__ = ["keep_mask", "keep_mask_b"]

MODULUS = 2**31 - 1  # of the generator MCG31m1 in Intel's MKL
MULTIPLIER = 1132489760


def keep_mask(shape: Sequence[int], p: float, seed: int) -> torch.Tensor:
    """True where dropout keeps an entry; it drops each with probability p."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(shape, dtype=torch.float64, generator=generator) < 1 - p


def keep_mask_b(shape: Sequence[int], p: float, seed: int) -> torch.Tensor:
    """The mask as torch 2.6 and earlier drew it on Intel CPUs."""
    mt19937 = np.random.RandomState(seed)  # torch seeds its generator in the same way
    first = int(mt19937.randint(2**32, dtype=np.uint32))
    x = first % MODULUS or 1
    kept = []
    for _ in range(torch.Size(shape).numel()):
        kept.append(x / MODULUS < 1 - p)
        x = MULTIPLIER * x % MODULUS
    return torch.tensor(kept).view(shape)
