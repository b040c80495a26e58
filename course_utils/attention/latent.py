"""Latent attention, as in DeepSeek-V2 and V3: one short vector per token gives the keys and values of all heads."""

import torch
from torch import Tensor, nn

from course_utils.attention.fused import fused_attention
from course_utils.attention.rotary_table import RotaryTable
from course_utils.attention.steps import hidden_from, turn_pairs
from course_utils.attention.teaching import masked_softmax
from course_utils.validation import check_cache, check_input

__all__ = ["LatentAttention"]


class LatentAttention(nn.Module):
    """Attention whose cache has one latent and one rotary key per token: (B, n, d_model) to (B, n, d_model).

    A query has content_dim numbers for a key made from the latent, and rotary_dim numbers for the rotary key, which all
    num_heads heads share. value_dim: the size of a head's values. query_rank, latent_dim: the width through which
    queries are made (None: directly from x, as in DeepSeek-V2-Lite), and that of the latent.
    norm_eps: of the RMSNorm of both. interleaved: as in Attention, and as in DeepSeek's own files.
    frequencies: (rotary_dim / 2,). scale: of the scores; None: 1 / sqrt(content_dim + rotary_dim).
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        content_dim: int,
        rotary_dim: int,
        value_dim: int,
        query_rank: int | None,
        latent_dim: int,
        frequencies: Tensor,
        norm_eps: float = 1e-6,
        scale: float | None = None,
        interleaved: bool = False,
    ) -> None:
        super().__init__()
        self.num_heads, self.content_dim, self.value_dim = num_heads, content_dim, value_dim
        self.rotary = RotaryTable(frequencies, rotary_dim)
        self.scale = (content_dim + rotary_dim) ** -0.5 if scale is None else scale
        self.interleaved, direct = interleaved, query_rank is None
        self.to_query_latent = nn.Identity() if direct else nn.Linear(d_model, query_rank, bias=False)
        self.query_norm = nn.Identity() if direct else nn.RMSNorm(query_rank, eps=norm_eps)
        self.W_query = nn.Linear(d_model if direct else query_rank, num_heads * (content_dim + rotary_dim), bias=False)
        self.to_latent = nn.Linear(d_model, latent_dim, bias=False)
        self.latent_norm = nn.RMSNorm(latent_dim, eps=norm_eps)
        self.to_rotary_key = nn.Linear(d_model, rotary_dim, bias=False)
        self.W_key = nn.Linear(latent_dim, num_heads * content_dim, bias=False)
        self.W_value = nn.Linear(latent_dim, num_heads * value_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * value_dim, d_model, bias=False)

    def project(
        self, x: Tensor, cache: tuple[Tensor, Tensor] | None, absorbed: bool
    ) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, Tensor]]:
        """Queries (B, num_heads, n, d), scaled; keys (B, heads, T, d) and values; the cache. Absorbed, heads is 1."""
        check_input(x, self.to_latent.in_features, self.to_latent.weight, width="d_model")
        past = 0 if cache is None else cache[0].shape[-2]

        queries = self.W_query(self.query_norm(self.to_query_latent(x)))
        queries = queries.unflatten(-1, (self.num_heads, -1)).transpose(-3, -2)  # (B, num_heads, n, both dims)
        queries = queries * self.scale  # before the product, which float16 might not hold
        content_queries, rotary_queries = queries.tensor_split([self.content_dim], dim=-1)
        cos, sin = self.rotary(past, past + x.shape[-2], like=queries)  # (n, rotary_dim / 2)
        rotary_queries = turn_pairs(rotary_queries, cos, sin, self.interleaved)  # (B, num_heads, n, rotary_dim)
        latents = self.latent_norm(self.to_latent(x))  # (B, n, latent_dim)
        rotary_keys = turn_pairs(self.to_rotary_key(x), cos, sin, self.interleaved)  # (B, n, rotary_dim)
        check_cache(cache, latents, rotary_keys)
        if cache is not None:
            latents = torch.cat([cache[0], latents], dim=-2)  # (B, T, latent_dim)
            rotary_keys = torch.cat([cache[1], rotary_keys], dim=-2)  # (B, T, rotary_dim)

        keys = values = latents.unsqueeze(-3)  # (B, 1, T, latent_dim)
        W_key, W_value = self.by_head(self.W_key), self.by_head(self.W_value)
        if absorbed:  # queries are mapped to the latents' space; no head ever makes a key or a value
            content_queries = content_queries @ W_key  # (B, num_heads, n, latent_dim)
        else:
            keys = keys @ W_key.transpose(-2, -1)  # (B, num_heads, T, content_dim)
            values = values @ W_value.transpose(-2, -1)  # (B, num_heads, T, value_dim)
        shared = rotary_keys.unsqueeze(-3).expand(*keys.shape[:-1], -1)  # (B, heads, T, rotary_dim)
        queries = torch.cat([content_queries, rotary_queries], dim=-1)
        return queries, torch.cat([keys, shared], dim=-1), values, (latents, rotary_keys)

    def by_head(self, linear: nn.Linear) -> Tensor:
        """A linear layer's weight as (num_heads, rows of a head, latent_dim)."""
        return linear.weight.unflatten(0, (self.num_heads, -1))

    def finish(self, context: Tensor, absorbed: bool) -> Tensor:
        """The output (B, n, d_model) of the heads' mixtures, of values or, absorbed, of latents."""
        if absorbed:
            context = context @ self.by_head(self.W_value).transpose(-2, -1)  # (B, num_heads, n, value_dim)
        return self.out_proj(context.transpose(-3, -2).flatten(-2))

    def attend(
        self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None, mask: Tensor | None = None, absorbed: bool = False
    ) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """What forward returns, with the weights (B, num_heads, n, T) in the middle."""
        queries, keys, values, cache = self.project(x, cache, absorbed)
        weights = masked_softmax(queries @ keys.transpose(-2, -1), hidden_from(queries, keys, mask))
        return self.finish(weights @ values, absorbed), weights, cache

    def forward(
        self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None, mask: Tensor | None = None, absorbed: bool = False
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The output for the n newest tokens x, and the cache: (B, T, latent_dim) and (B, T, rotary_dim).

        absorbed: the same numbers with another order of products, which never makes a head's keys and values.
        cache, mask: as in Attention; DeepSeek-V3.2 hides all keys but those that its indexer picks.
        """
        queries, keys, values, cache = self.project(x, cache, absorbed)
        context = fused_attention(queries, keys, values, mask, scale=1.0)  # no weights are stored
        return self.finish(context, absorbed), cache
