"""The layers for teaching: those that chapters 2 to 7 build and later ones import, in chapter order.

A chapter that builds a class shows it as it is here, without its types (a test compares them). Shapes: B sequences in
a batch, T tokens in a sequence. Every layer takes a batch, (B, T, d_in), or a single sequence, (T, d_in).
CrossAttention takes two: T tokens that ask and S that answer.
"""

import torch
from torch import Tensor, nn

from course_utils.validation import check_dropout, check_heads, check_input, check_mask, check_pair, check_values

__all__ = [
    "CausalAttention",
    "CrossAttention",
    "MultiHeadAttention",
    "MultiHeadAttentionWrapper",
    "SelfAttention_v2",
    "masked_softmax",
]


class SelfAttention_v2(nn.Module):
    """As v1, with linear layers, which start from better numbers: (T, d_in) to (T, d_out)."""

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        check_input(x, self.W_query.in_features, self.W_query.weight)
        queries = self.W_query(x)  # (T, d_out)
        keys = self.W_key(x)  # (T, d_out)
        values = self.W_value(x)  # (T, d_out)

        scores = queries @ keys.transpose(-2, -1)  # (T, T)
        d_k = keys.shape[-1]
        weights = torch.softmax(scores / d_k**0.5, dim=-1)  # (T, T), every row sums to 1
        return weights @ values  # (T, d_out)


class CausalAttention(nn.Module):
    """Self-attention in which no token sees its future: (B, T, d_in) to (B, T, d_out).

    T may be up to context_length. dropout: the chance of dropping a weight in training, below 1.
    """

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        check_dropout(dropout)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        future = torch.triu(torch.ones(context_length, context_length), diagonal=1).bool()
        self.register_buffer("mask", future)  # True above the diagonal: hidden

    def forward(self, x: Tensor) -> Tensor:
        check_input(x, self.W_query.in_features, self.W_query.weight, longest=len(self.mask))
        num_tokens = x.shape[-2]
        queries = self.W_query(x)  # (B, T, d_out)
        keys = self.W_key(x)  # (B, T, d_out)
        values = self.W_value(x)  # (B, T, d_out)

        scores = queries @ keys.transpose(-2, -1)  # (B, T, d_out) @ (B, d_out, T) -> (B, T, T)
        scores = scores.masked_fill(self.mask[:num_tokens, :num_tokens], -torch.inf)
        d_k = keys.shape[-1]
        weights = torch.softmax(scores / d_k**0.5, dim=-1)  # (B, T, T), every row sums to 1
        weights = self.dropout(weights)
        return weights @ values  # (B, T, T) @ (B, T, d_out) -> (B, T, d_out)


class MultiHeadAttentionWrapper(nn.Module):
    """Causal heads, their outputs concatenated: (B, T, d_in) to (B, T, num_heads * d_out)."""

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
            for _ in range(num_heads)
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([head(x) for head in self.heads], dim=-1)  # (B, T, num_heads * d_out)


class MultiHeadAttention(nn.Module):
    """Causal attention with its width split into heads: (B, T, d_in) to (B, T, d_out).

    T may be up to context_length; num_heads must divide d_out. dropout: as in CausalAttention.
    """

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__()
        check_heads(d_out, num_heads)
        check_dropout(dropout)
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        future = torch.triu(torch.ones(context_length, context_length), diagonal=1).bool()
        self.register_buffer("mask", future)  # True above the diagonal: hidden

    def split(self, projected: Tensor) -> Tensor:
        """From one width for all heads, (B, T, d_out), to (B, num_heads, T, head_dim)."""
        *before, _ = projected.shape
        # (B, T, d_out) -> (B, T, num_heads, head_dim)
        apart = projected.view(*before, self.num_heads, self.head_dim)
        return apart.transpose(-3, -2)  # (B, num_heads, T, head_dim)

    def merge(self, context: Tensor) -> Tensor:
        """The way back: (B, num_heads, T, head_dim) becomes (B, T, d_out)."""
        together = context.transpose(-3, -2).contiguous()  # (B, T, num_heads, head_dim)
        *before, num_heads, head_dim = together.shape
        return together.view(*before, num_heads * head_dim)  # (B, T, d_out)

    def forward(self, x: Tensor) -> Tensor:
        check_input(x, self.W_query.in_features, self.W_query.weight, longest=len(self.mask))
        num_tokens = x.shape[-2]
        queries = self.split(self.W_query(x))  # (B, num_heads, T, head_dim)
        keys = self.split(self.W_key(x))  # (B, num_heads, T, head_dim)
        values = self.split(self.W_value(x))  # (B, num_heads, T, head_dim)

        scores = queries @ keys.transpose(-2, -1)  # (B, num_heads, T, T)
        scores = scores.masked_fill(self.mask[:num_tokens, :num_tokens], -torch.inf)
        weights = torch.softmax(scores / self.head_dim**0.5, dim=-1)  # (B, num_heads, T, T)
        weights = self.dropout(weights)
        return self.out_proj(self.merge(weights @ values))  # (B, T, d_out)


def masked_softmax(scores: Tensor, hidden: Tensor) -> Tensor:
    """Weights (..., T, S): finite rows sum to 1, or to 0 where all keys are hidden (True)."""
    wide = scores.to(torch.promote_types(scores.dtype, torch.float32))  # 16 bits become 32
    lowest = torch.finfo(wide.dtype).min  # finite: a row of only -inf would give nan
    weights = torch.softmax(wide.masked_fill(hidden, lowest), dim=-1)
    return weights.masked_fill(hidden, 0.0).to(scores.dtype)


class CrossAttention(nn.Module):
    """Multi-head self-attention or cross-attention: T tokens ask, S tokens answer.

    query_input: (B, T, d_model). key_input and value_input: (B, S, d_model). Output: (B, T,
    d_model). mask: True where a key is hidden, (B, T, S), or (T, S) for a single sequence; a size
    of 1 is repeated, so padding is (B, 1, S). num_heads must divide d_model. dropout: as in
    CausalAttention, or None for no dropout layer. bias: whether the linear layers have one.
    """

    def __init__(
        self, d_model: int, num_heads: int, dropout: float | None = None, bias: bool = True
    ) -> None:
        super().__init__()
        check_heads(d_model, num_heads, width="d_model")
        if dropout is not None:
            check_dropout(dropout)
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=bias)
        self.W_key = nn.Linear(d_model, d_model, bias=bias)
        self.W_value = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = None if dropout is None else nn.Dropout(dropout)

    def split(self, linear: nn.Linear, tokens: Tensor, name: str) -> Tensor:
        """Tokens (B, T, d_model), projected and split: (B, num_heads, T, head_dim)."""
        check_input(tokens, linear.in_features, linear.weight, name=name, width="d_model")
        return linear(tokens).unflatten(-1, (self.num_heads, self.head_dim)).transpose(-3, -2)

    def weights(
        self, query_input: Tensor, key_input: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Weights (B, num_heads, T, S): rows sum to 1, or to 0 where no key is visible."""
        # (B, num_heads, T, head_dim) and (B, num_heads, S, head_dim)
        queries = self.split(self.W_query, query_input, "query_input")
        keys = self.split(self.W_key, key_input, "key_input")
        check_pair(query_input, key_input)
        queries = queries / self.head_dim**0.5  # before the product, which float16 might not hold
        scores = queries @ keys.transpose(-2, -1)  # (B, num_heads, T, S)
        if mask is None:
            return masked_softmax(scores, scores.new_zeros(1, dtype=torch.bool))  # hides nothing

        check_mask(mask, queries, keys)
        return masked_softmax(scores, mask.unsqueeze(-3))  # (B, 1, T, S), the same for every head

    def forward(
        self, query_input: Tensor, key_input: Tensor, value_input: Tensor,
        mask: Tensor | None = None,
    ) -> Tensor:
        weights = self.weights(query_input, key_input, mask)  # (B, num_heads, T, S)
        check_values(key_input, value_input)
        if self.dropout is not None:
            weights = self.dropout(weights)
        values = self.split(self.W_value, value_input, "value_input")  # (B, num_heads, S, head_dim)
        context = (weights @ values).transpose(-3, -2)  # (B, T, num_heads, head_dim)
        return self.out_proj(context.flatten(-2))  # (B, T, d_model)
