"""The layer for use: the attention of today's decoders, each by its arguments, and its steps.

Chapter 9 shows it as it stands here. Shapes as in `teaching`: B sequences, n new tokens in each, T with
those in the cache. It takes a batch, (B, n, d_model), or a single sequence, (n, d_model).
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from course_utils.attention.teaching import masked_softmax
from course_utils.validation import check_groups, check_heads, check_input, check_mask

__all__ = ["Attention", "hidden_from", "hidden_keys", "repeat_groups", "rescaled", "rotary_frequencies", "rotate"]


def rotary_frequencies(head_dim, base=10_000.0):
    """By how many radians each pair turns from one position to the next: (head_dim / 2,)."""
    pairs = torch.arange(head_dim // 2, dtype=torch.float64)
    return base ** (-2 * pairs / head_dim)


def rescaled(frequencies, factor, length, low=1.0, high=4.0):
    """Frequencies for texts `factor` times as long as `length`, as Llama 3.1 has them.

    A pair with fewer than `low` turns in `length` positions becomes `factor` times slower, one with
    more than `high` stays, and between the two the change is gradual.
    """
    turns = length * frequencies / (2 * math.pi)  # (head_dim / 2,)
    kept = ((turns - low) / (high - low)).clamp(0, 1)  # 1: stays, 0: becomes slower
    return frequencies * (kept + (1 - kept) / factor)


def rotate(x, positions, frequencies):
    """x (..., T, head_dim) with each pair turned by position times frequency.

    Pair k is number k of each half. positions: (T,). frequencies: (head_dim / 2,).
    """
    angles = positions[:, None] * frequencies  # (T, head_dim / 2)
    cos, sin = angles.cos().to(x), angles.sin().to(x)  # in 64 bits until here, whatever x has
    first, second = x.chunk(2, dim=-1)  # (..., T, head_dim / 2) each
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def repeat_groups(heads, num_heads):
    """Keys or values (..., num_kv_heads, T, head_dim), each head repeated for its query heads."""
    shared = num_heads // heads.shape[-3]
    return heads.repeat_interleave(shared, dim=-3)  # (..., num_heads, T, head_dim)


def hidden_keys(num_new, num_tokens, window=None):
    """Which keys the newest tokens must not see, (num_new, num_tokens): True for those ahead of
    a token, and for those out of its window.
    """
    places = torch.arange(num_tokens)
    behind = places[num_tokens - num_new:, None] - places  # how far back each key lies
    return (behind < 0) if window is None else (behind < 0) | (behind >= window)


def hidden_from(queries, keys, mask=None, window=None):
    """Where queries (..., n, d) must not see keys (..., T, d): (n, T), with a mask (B, 1, n, T).

    mask: hides more keys, as in CrossAttention.
    """
    num_new, num_tokens = queries.shape[-2], keys.shape[-2]
    hidden = hidden_keys(num_new, num_tokens, window).to(queries.device)  # (n, T)
    if mask is None:
        return hidden
    scores = queries[..., :1].expand(*queries.shape[:-1], num_tokens)  # of their size, that is all
    check_mask(mask, scores)
    return hidden | mask.unsqueeze(-3)  # (n, T) | (B, 1, n, T)


class Attention(nn.Module):
    """The attention of GPT-2, Llama, Mistral, Qwen, Gemma and gpt-oss, by its arguments.

    num_kv_heads: heads of keys and values, each shared by equally many query heads; None: one for
    each. head_dim: None for d_model / num_heads. frequencies: (head_dim / 2,) of rotary positions;
    None: the tokens bring their positions. bias: of all four linear layers. norm_eps: RMSNorm with
    this eps for the queries and keys of each head; None: no norm. window: how many tokens a token
    sees, itself among them; None: all so far. sinks: a learned score for each head that takes part
    in softmax and hands on nothing. scale: of the scores; None: 1 / sqrt(head_dim).
    """

    def __init__(
        self, d_model, num_heads, num_kv_heads=None, head_dim=None, frequencies=None,
        bias=False, norm_eps=None, window=None, sinks=False, scale=None,
    ):
        super().__init__()
        num_kv_heads = num_kv_heads or num_heads
        check_groups(num_heads, num_kv_heads)
        if head_dim is None:
            check_heads(d_model, num_heads, width="d_model")
            head_dim = d_model // num_heads
        self.num_heads, self.head_dim, self.window = num_heads, head_dim, window
        self.frequencies = frequencies  # no buffer: layer.to(torch.bfloat16) would round it
        self.scale = head_dim**-0.5 if scale is None else scale
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=bias)
        self.W_key = nn.Linear(d_model, num_kv_heads * head_dim, bias=bias)
        self.W_value = nn.Linear(d_model, num_kv_heads * head_dim, bias=bias)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=bias)
        normed = norm_eps is not None
        self.query_norm = nn.RMSNorm(head_dim, eps=norm_eps) if normed else nn.Identity()
        self.key_norm = nn.RMSNorm(head_dim, eps=norm_eps) if normed else nn.Identity()
        self.sinks = nn.Parameter(torch.zeros(num_heads)) if sinks else None

    def split(self, projected):
        """(B, n, heads * head_dim) becomes (B, heads, n, head_dim)."""
        return projected.unflatten(-1, (-1, self.head_dim)).transpose(-3, -2)

    def merge(self, context):
        """(B, num_heads, n, head_dim) becomes (B, n, d_model)."""
        return self.out_proj(context.transpose(-3, -2).flatten(-2))

    def project(self, x, cache=None):
        """Queries (B, num_heads, n, head_dim) of new tokens, keys and values of all T tokens."""
        check_input(x, self.W_query.in_features, self.W_query.weight, width="d_model")
        queries = self.query_norm(self.split(self.W_query(x)))  # (B, num_heads, n, head_dim)
        keys = self.key_norm(self.split(self.W_key(x)))  # (B, num_kv_heads, n, head_dim)
        values = self.split(self.W_value(x))  # (B, num_kv_heads, n, head_dim)

        if self.frequencies is not None:
            past = 0 if cache is None else cache[0].shape[-2]
            positions = torch.arange(past, past + x.shape[-2])  # they go on where the cache ends
            queries = rotate(queries, positions, self.frequencies)
            keys = rotate(keys, positions, self.frequencies)  # then kept: each key turns once
        if cache is not None:
            keys = torch.cat([cache[0], keys], dim=-2)  # (B, num_kv_heads, T, head_dim)
            values = torch.cat([cache[1], values], dim=-2)  # (B, num_kv_heads, T, head_dim)
        return queries, keys, values

    def weights(self, queries, keys, mask=None):
        """Weights (B, num_heads, n, T): the newest n tokens' queries against all keys."""
        keys = repeat_groups(keys, self.num_heads)  # (B, num_heads, T, head_dim)
        scores = queries @ keys.transpose(-2, -1) * self.scale  # (B, num_heads, n, T)
        hidden = hidden_from(queries, keys, mask, self.window)
        if self.sinks is None:
            return masked_softmax(scores, hidden)
        sinks = self.sinks[:, None, None].to(scores).expand(*scores.shape[:-1], 1)  # one more key
        weights = masked_softmax(torch.cat([sinks, scores], dim=-1), F.pad(hidden, (1, 0)))
        return weights[..., 1:]  # the sink's share is gone: rows sum to less than 1

    def fused(self, queries, keys, values, mask=None):
        """The context (B, num_heads, n, head_dim) by PyTorch's kernels: no weights are stored."""
        num_new, num_tokens = queries.shape[-2], keys.shape[-2]
        keep, whole = None, num_new == num_tokens and mask is None and self.window is None
        if not whole:
            hidden = hidden_from(queries, keys, mask, self.window)
            empty = hidden.all(dim=-1, keepdim=True)  # (n, 1) or (B, 1, n, 1)
            keep = ~hidden | empty  # a row without a key is nan in some kernels
        context = F.scaled_dot_product_attention(
            *(each.view(-1, *each.shape[-3:]) for each in (queries, keys, values)),  # a batch
            attn_mask=keep, is_causal=whole, scale=self.scale,
            enable_gqa=keys.shape[-3] < self.num_heads,
        ).view(queries.shape)
        return context if whole else context.masked_fill(empty, 0.0)

    def attend(self, x, cache=None, mask=None):
        """What forward returns, with the weights (B, num_heads, n, T) in the middle."""
        queries, keys, values = self.project(x, cache)
        weights = self.weights(queries, keys, mask)  # (B, num_heads, n, T)
        context = weights @ repeat_groups(values, self.num_heads)  # (B, num_heads, n, head_dim)
        return self.merge(context), weights, (keys, values)

    def forward(self, x, cache=None, mask=None):
        """The output (B, n, d_model) for the n newest tokens x (B, n, d_model), and the cache.

        cache: None at first, then what the last call returned: keys and values of all T tokens.
        mask: hides more keys, as in CachedMultiHeadAttention; padding is (B, 1, T), on either side.
        """
        if self.sinks is not None:  # which PyTorch's kernels do not know
            output, _, cache = self.attend(x, cache, mask)
            return output, cache
        queries, keys, values = self.project(x, cache)
        return self.merge(self.fused(queries, keys, values, mask)), (keys, values)
