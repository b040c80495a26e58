"""The language model that chapter 11 builds around `Attention`.

vocab_size, num_layers: numbers of tokens and blocks. d_model, d_inner: widths of a token and of the gated network.
num_heads, num_kv_heads: heads of queries and of keys. base: of rotary positions. eps: what RMSNorm adds under its root.
x: tokens, (B, T, d_model). ids: of tokens, (B, T). cache, mask: as in Attention; caches: None, then what the last call
returned. record: a list to which each block appends its weights, (B, num_heads, T, S). edit: changes heads' outputs.

Source: Llama, Touvron et al., 2023, in the form of SmolLM2-135M, Ben Allal et al., 2025.
"""

import functools
from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from course_utils.attention import Attention, Cache, repeat_groups, rotary_frequencies

__all__ = ["Block", "LanguageModel"]


class Block(nn.Module):
    """Attention, then a gated network for each token alone, each after a norm."""

    def __init__(
        self, d_model: int, num_heads: int, num_kv_heads: int, d_inner: int, base: float, eps: float
    ) -> None:
        super().__init__()
        frequencies = rotary_frequencies(d_model // num_heads, base)
        self.norm_1 = nn.RMSNorm(d_model, eps=eps)
        self.attention = Attention(d_model, num_heads, num_kv_heads, frequencies=frequencies)
        self.norm_2 = nn.RMSNorm(d_model, eps=eps)
        self.gate = nn.Linear(d_model, d_inner, bias=False)
        self.up = nn.Linear(d_model, d_inner, bias=False)
        self.down = nn.Linear(d_inner, d_model, bias=False)

    def forward(
        self, x: Tensor, cache: Cache | None = None, mask: Tensor | None = None,
        edit: Callable[[Tensor], Tensor] | None = None, record: list[Tensor] | None = None,
    ) -> tuple[Tensor, Cache]:
        """The new x, and the cache. edit: takes and returns the contexts, one per head."""
        attention = self.attention
        queries, cache = attention.project(self.norm_1(x), cache)
        weights = attention.weights(queries, cache.keys, mask)  # (B, num_heads, T, S)
        context = weights @ repeat_groups(cache.values, attention.num_heads)
        context = context if edit is None else edit(context)  # (B, num_heads, T, head_dim)
        if record is not None:
            record.append(weights)
        x = x + attention.out_proj(attention.merge(context))  # (B, T, d_model)
        h = self.norm_2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h)), cache


class LanguageModel(nn.Module):
    """From token numbers (B, T) to scores of the next token, (B, T, vocab_size)."""

    def __init__(
        self, vocab_size: int, num_layers: int, d_model: int, num_heads: int, num_kv_heads: int,
        d_inner: int, base: float = 100_000.0, eps: float = 1e-5,
    ) -> None:
        super().__init__()
        sizes = d_model, num_heads, num_kv_heads, d_inner, base, eps
        self.words = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(Block(*sizes) for _ in range(num_layers))
        self.norm = nn.RMSNorm(d_model, eps=eps)

    def forward(
        self, ids: Tensor, caches: list[Cache] | None = None,
        mask: Tensor | None = None, edit: Callable[[int, Tensor], Tensor] | None = None,
        record: list[Tensor] | None = None,
    ) -> tuple[Tensor, list[Cache]]:
        """The scores, and the caches. edit: takes a layer and its contexts, returns contexts."""
        x, new = self.words(ids), []  # (B, T, d_model)
        for layer, block in enumerate(self.blocks):
            cache = None if caches is None else caches[layer]
            change = None if edit is None else functools.partial(edit, layer)
            x, cache = block(x, cache, mask, change, record)
            new.append(cache)
        return self.scores(x), new

    def scores(self, x: Tensor) -> Tensor:
        """The scores of the next token from the last block's x: (..., vocab_size)."""
        return self.norm(x) @ self.words.weight.T
