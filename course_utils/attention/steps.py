"""The steps that `Attention` and `LatentAttention` share: rotary positions, grouped keys, hidden keys.

Chapter 9 shows each as it is here, without its types. Shapes as in `teaching`: B sequences, n new
tokens in each, T with those in the cache.
"""

import math

import torch
from torch import Tensor

from course_utils.validation import check_mask

__all__ = ["hidden_from", "hidden_keys", "repeat_groups", "rescaled", "rotary_frequencies", "rotate", "turn_pairs"]


def rotary_frequencies(head_dim: int, base: float = 10_000.0) -> Tensor:
    """By how many radians each pair turns per position: (head_dim / 2,)."""
    pairs = torch.arange(head_dim // 2, dtype=torch.float64, device="cpu")
    return base ** (-2 * pairs / head_dim)


def rescaled(
    frequencies: Tensor, factor: float, length: int, low: float = 1.0, high: float = 4.0
) -> Tensor:
    """Frequencies for texts `factor` times as long as `length`, as in Llama 3.1.

    A pair with fewer than `low` turns in `length` positions becomes `factor` times slower, one with
    more than `high` stays the same, and in between the change is gradual.
    """
    turns = length * frequencies / (2 * math.pi)  # (head_dim / 2,)
    kept = ((turns - low) / (high - low)).clamp(0, 1)  # 1: unchanged, 0: slowed fully
    return frequencies * (kept + (1 - kept) / factor)


def turn_pairs(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False) -> Tensor:
    """x (..., T, head_dim) with pair k of token t turned by the angle with cos[t, k] and sin[t, k].

    cos, sin: (T, rotary_dim / 2). In the first rotary_dim numbers, pair k is number k of each half;
    if interleaved, it is numbers 2k and 2k + 1, and is returned as number k of each half.
    """
    x, rest = x.tensor_split([2 * cos.shape[-1]], dim=-1)  # rest: numbers that are not turned
    first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin, rest], dim=-1)


def rotate(x: Tensor, positions: Tensor, frequencies: Tensor) -> Tensor:
    """x (..., T, head_dim) with each pair turned by position times frequency.

    positions: (T,). frequencies: (head_dim / 2,).
    """
    angles = positions[:, None] * frequencies  # (T, head_dim / 2), as precise as frequencies
    return turn_pairs(x, angles.cos().to(x), angles.sin().to(x))


def repeat_groups(heads: Tensor, num_heads: int) -> Tensor:
    """Keys or values (..., num_kv_heads, T, head_dim), each head repeated for its query heads."""
    shared = num_heads // heads.shape[-3]
    return heads.repeat_interleave(shared, dim=-3)  # (..., num_heads, T, head_dim)


def hidden_keys(
    num_new: int, num_tokens: int, window: int | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Which keys the newest tokens must not see, (num_new, num_tokens): True where a key is ahead
    of a token or outside its window.
    """
    places = torch.arange(num_tokens, device=device)
    behind = places[num_tokens - num_new:, None] - places  # how far back each key lies
    return (behind < 0) if window is None else (behind < 0) | (behind >= window)


def hidden_from(
    queries: Tensor, keys: Tensor, mask: Tensor | None = None, window: int | None = None
) -> Tensor:
    """Where queries (..., n, d) must not see keys (..., T, d): (n, T), or (B, 1, n, T) with a mask.

    mask: hides more keys: (B, n, T) for a batch, (n, T) for a single sequence.
    """
    hidden = hidden_keys(queries.shape[-2], keys.shape[-2], window, queries.device)  # (n, T)
    if mask is None:
        return hidden
    check_mask(mask, queries, keys)
    return hidden | mask.unsqueeze(-3)  # (n, T) | (B, 1, n, T)
