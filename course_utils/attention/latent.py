"""Latent attention, as in DeepSeek-V2 and V3: keys and values of all heads come from one short vector a token."""

import torch
from torch import Tensor, nn

from course_utils.attention.rotary_table import RotaryTable
from course_utils.attention.steps import hidden_from, turn_pairs
from course_utils.attention.teaching import masked_softmax
from course_utils.validation import check_cache, check_input

__all__ = ["LatentAttention"]


class LatentAttention(nn.Module):
    """Attention whose cache holds a latent and one rotary key a token: (B, n, d_model) to (B, n, d_model).

    A query has content_dim numbers that meet a key made of the latent, and rotary_dim numbers that meet the rotary key,
    which each of the num_heads heads shares. value_dim: the size of a head's values. query_rank, latent_dim: the width
    through which queries are made, and that of the latent. norm_eps: of the RMSNorm of both.
    frequencies: (rotary_dim / 2,). scale: of the scores; None: 1 / sqrt(content_dim + rotary_dim).
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        content_dim: int,
        rotary_dim: int,
        value_dim: int,
        query_rank: int,
        latent_dim: int,
        frequencies: Tensor,
        norm_eps: float = 1e-6,
        scale: float | None = None,
    ) -> None:
        super().__init__()
        self.num_heads, self.content_dim, self.value_dim = num_heads, content_dim, value_dim
        self.rotary = RotaryTable(frequencies, rotary_dim)
        self.scale = (content_dim + rotary_dim) ** -0.5 if scale is None else scale
        self.to_query_latent = nn.Linear(d_model, query_rank, bias=False)
        self.query_norm = nn.RMSNorm(query_rank, eps=norm_eps)
        self.W_query = nn.Linear(query_rank, num_heads * (content_dim + rotary_dim), bias=False)
        self.to_latent = nn.Linear(d_model, latent_dim, bias=False)
        self.latent_norm = nn.RMSNorm(latent_dim, eps=norm_eps)
        self.to_rotary_key = nn.Linear(d_model, rotary_dim, bias=False)
        self.W_key = nn.Linear(latent_dim, num_heads * content_dim, bias=False)
        self.W_value = nn.Linear(latent_dim, num_heads * value_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * value_dim, d_model, bias=False)

    def attend(
        self,
        x: Tensor,
        cache: tuple[Tensor, Tensor] | None = None,
        mask: Tensor | None = None,
        absorbed: bool = False,
    ) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """What forward returns, with the weights (B, num_heads, n, T) in the middle."""
        check_input(x, self.to_latent.in_features, self.to_latent.weight, width="d_model")
        past = 0 if cache is None else cache[0].shape[-2]

        queries = self.W_query(self.query_norm(self.to_query_latent(x)))
        queries = queries.unflatten(-1, (self.num_heads, -1)).transpose(-3, -2)  # (B, num_heads, n, both dims)
        queries = queries * self.scale  # before the product, which float16 might not hold
        content_queries, rotary_queries = queries.tensor_split([self.content_dim], dim=-1)
        cos, sin = self.rotary(past, past + x.shape[-2], like=queries)  # (n, rotary_dim / 2)
        rotary_queries = turn_pairs(rotary_queries, cos, sin)  # (B, num_heads, n, rotary_dim)
        latents = self.latent_norm(self.to_latent(x))  # (B, n, latent_dim)
        rotary_keys = turn_pairs(self.to_rotary_key(x), cos, sin)  # (B, n, rotary_dim)
        check_cache(cache, latents, rotary_keys)
        if cache is not None:
            latents = torch.cat([cache[0], latents], dim=-2)  # (B, T, latent_dim)
            rotary_keys = torch.cat([cache[1], rotary_keys], dim=-2)  # (B, T, rotary_dim)

        W_key = self.W_key.weight.unflatten(0, (self.num_heads, -1))  # (num_heads, content_dim, latent_dim)
        W_value = self.W_value.weight.unflatten(0, (self.num_heads, -1))  # (num_heads, value_dim, latent_dim)
        shared = latents.unsqueeze(-3)  # (B, 1, T, latent_dim)
        if absorbed:  # queries move to where the latents are; no head ever makes a key or a value
            content_queries = content_queries @ W_key  # (B, num_heads, n, latent_dim)
            keys = values = shared
        else:
            keys = shared @ W_key.transpose(-2, -1)  # (B, num_heads, T, content_dim)
            values = shared @ W_value.transpose(-2, -1)  # (B, num_heads, T, value_dim)

        by_content = content_queries @ keys.transpose(-2, -1)  # (B, num_heads, n, T)
        by_position = rotary_queries @ rotary_keys.unsqueeze(-3).transpose(-2, -1)  # (B, num_heads, n, T)
        weights = masked_softmax(by_content + by_position, hidden_from(queries, keys, mask))  # (B, num_heads, n, T)
        context = weights @ values  # (B, num_heads, n, value_dim), or latent_dim where absorbed
        if absorbed:
            context = context @ W_value.transpose(-2, -1)  # (B, num_heads, n, value_dim)
        return self.out_proj(context.transpose(-3, -2).flatten(-2)), weights, (latents, rotary_keys)

    def forward(
        self,
        x: Tensor,
        cache: tuple[Tensor, Tensor] | None = None,
        mask: Tensor | None = None,
        absorbed: bool = False,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The output for the n newest tokens x, and the cache: (B, T, latent_dim) and (B, T, rotary_dim).

        absorbed: the same numbers by another order of products, which never makes a head's keys and values.
        cache, mask: as in Attention.
        """
        output, _, cache = self.attend(x, cache, mask, absorbed)
        return output, cache
