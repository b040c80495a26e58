"""The cosines and sines of rotary positions, computed once, not at every step; and YaRN's frequencies."""

import math

import torch
from torch import Tensor

from course_utils.attention.steps import rotary_frequencies
from course_utils.validation import check_frequencies

__all__ = ["RotaryTable", "yarn"]


def yarn(
    head_dim: int,
    base: float,
    factor: float,
    length: int,
    fast: float = 32.0,
    slow: float = 1.0,
    truncate: bool = True,
    mscale: float = 1.0,
) -> tuple[Tensor, float]:
    """Frequencies (head_dim / 2,) for texts `factor` times as long as `length`, and a factor for the scores.

    Of rotary_frequencies(head_dim, base), a pair with fewer than `slow` turns in `length` positions becomes `factor`
    times slower, and one with more than `fast` does not change; in between, the change is linear from pair to pair.
    truncate: start and end at whole pairs. mscale: how much scores grow, as named in DeepSeek's files.
    """
    # the pairs that turn so often
    borders = [head_dim * math.log(length / (2 * math.pi * turns)) / (2 * math.log(base)) for turns in (fast, slow)]
    first, last = (math.floor(borders[0]), math.ceil(borders[1])) if truncate else borders
    first, last = max(first, 0), min(last, head_dim - 1)
    pairs = torch.arange(head_dim // 2, dtype=torch.float64, device="cpu")
    slower = ((pairs - first) / (last - first if last != first else 0.001)).clamp(0, 1)
    frequencies = rotary_frequencies(head_dim, base) * (1 - slower + slower / factor)
    return frequencies, (0.1 * mscale * math.log(factor) + 1) ** 2


class RotaryTable:
    """Cosines and sines of position times frequency, kept from call to call.

    frequencies: (rotary_dim / 2,), kept in 64 bits: at position 100,000, a 32-bit angle can be off by 0.008.
    It is neither a module nor a buffer, since layer.to(torch.bfloat16) would round it. Raises ValueError.
    """

    def __init__(self, frequencies: Tensor, rotary_dim: int) -> None:
        check_frequencies(frequencies, rotary_dim)
        self.frequencies = frequencies.to(torch.float64)
        self.made = torch.empty(2, 0, rotary_dim // 2)  # cosines and sines of the positions from 0 on

    def __call__(self, first: int, last: int, like: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines (last - first, rotary_dim / 2) of these positions, with the device and dtype of `like`."""
        if torch.compiler.is_compiling():  # a compiled layer computes them in its own kernels
            cos, sin = self.computed(first, last, like)
            return cos, sin
        if self.made.shape[1] < last or (self.made.device, self.made.dtype) != (like.device, like.dtype):
            with torch.inference_mode(False):  # otherwise, later training could not use them
                self.made = self.computed(0, 2 * last, like)  # twice as many, for the next tokens
        cos, sin = self.made[:, first:last]
        return cos, sin

    def computed(self, first: int, last: int, like: Tensor) -> Tensor:
        """Cosines and sines (2, last - first, rotary_dim / 2), rounded only at the end."""
        positions = torch.arange(first, last, device=self.frequencies.device)
        angles = positions[:, None] * self.frequencies  # (last - first, rotary_dim / 2)
        return torch.stack([angles.cos(), angles.sin()]).to(like)
