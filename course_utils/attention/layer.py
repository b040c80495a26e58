"""The layer for use: the attention of today's decoders, each by its arguments.

Chapter 9 shows it as it is here, with fewer types. Its steps are in `steps`, its cache in `cache`, its table of cosines
in `rotary_table`, and the version with PyTorch's kernels in `fused`. Shapes as in `teaching`: B
sequences, n new tokens in each, T with those before them. It takes a batch, (B, n, d_model), or a single sequence,
(n, d_model).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_utils.attention.cache import Cache
from course_utils.attention.fused import fused_attention
from course_utils.attention.rotary_table import RotaryTable
from course_utils.attention.steps import hidden_from, repeat_groups, turn_pairs
from course_utils.attention.teaching import masked_softmax
from course_utils.validation import (
    check_dropout,
    check_groups,
    check_heads,
    check_input,
    check_part,
    check_softcap,
    check_window,
    refuse_other_norms,
)

__all__ = ["Attention"]


class Attention(nn.Module):
    """A decoder's attention. Brackets name a family that needs the argument.

    * num_kv_heads (Llama 3): key/value heads, each shared by equally many query heads; None: one
      for each query head.
    * head_dim (Qwen3): None for d_model / num_heads.
    * frequencies (Llama 3): (rotary_dim / 2,) of rotary positions; None: positions are added to
      the tokens beforehand (GPT-2), or there are none (SmolLM3).
    * rotary_dim (Phi): only a head's first rotary_dim numbers are turned; None: all.
    * interleaved (Cohere): pairs are neighbours, not number k of each half.
    * bias, out_bias (Qwen2): whether the projections of x, and of the output, have a bias;
      out_bias None: as bias.
    * norm_eps (Qwen3): eps of an RMSNorm for the queries and keys of each head; None: no norm.
    * window (Mistral): how many tokens a token sees, including itself; None: all so far.
    * sinks (gpt-oss): a learned score for each head that takes part in softmax but has no value.
    * gate (Qwen3-Next): the heads' output is multiplied by a sigmoid of a projection of x.
    * scale (Gemma 3): factor of the scores; None: 1 / sqrt(head_dim).
    * softcap (Gemma 2): scores stay between -softcap and softcap; None: no bounds.
    * dropout (GPT-2): the share of weights dropped in training.
    """

    def __init__(
        self, d_model: int, num_heads: int, num_kv_heads: int | None = None,
        head_dim: int | None = None, frequencies: Tensor | None = None, bias: bool = False,
        norm_eps: float | None = None, window: int | None = None, sinks: bool = False,
        scale: float | None = None, *, rotary_dim: int | None = None, interleaved: bool = False,
        out_bias: bool | None = None, gate: bool = False, softcap: float | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_groups(num_heads, num_kv_heads)
        check_window(window)
        check_softcap(softcap)
        check_dropout(dropout)
        if head_dim is None:
            check_heads(d_model, num_heads, width="d_model")
            head_dim = d_model // num_heads
        self.num_heads, self.head_dim, self.window = num_heads, head_dim, window
        self.interleaved, self.softcap, self.dropout = interleaved, softcap, dropout
        check_part(rotary_dim, head_dim, frequencies)
        rotary_dim = head_dim if rotary_dim is None else rotary_dim
        self.rotary = None if frequencies is None else RotaryTable(frequencies, rotary_dim)
        self.scale = head_dim**-0.5 if scale is None else scale
        width = num_heads * head_dim
        self.W_query = nn.Linear(d_model, width, bias=bias)
        self.W_key = nn.Linear(d_model, num_kv_heads * head_dim, bias=bias)
        self.W_value = nn.Linear(d_model, num_kv_heads * head_dim, bias=bias)
        self.W_gate = nn.Linear(d_model, width, bias=bias) if gate else None
        self.out_proj = nn.Linear(width, d_model, bias=bias if out_bias is None else out_bias)
        normed = norm_eps is not None
        self.query_norm = nn.RMSNorm(head_dim, eps=norm_eps) if normed else nn.Identity()
        self.key_norm = nn.RMSNorm(head_dim, eps=norm_eps) if normed else nn.Identity()
        self.sinks = nn.Parameter(torch.zeros(num_heads)) if sinks else None
        self.register_load_state_dict_pre_hook(refuse_other_norms)

    def split(self, projected: Tensor) -> Tensor:
        """(B, n, heads * head_dim) becomes (B, heads, n, head_dim)."""
        return projected.unflatten(-1, (-1, self.head_dim)).transpose(-3, -2)

    def merge(self, context: Tensor) -> Tensor:
        """(B, num_heads, n, head_dim) becomes (B, n, num_heads * head_dim)."""
        return context.transpose(-3, -2).flatten(-2)

    def project(self, x: Tensor, cache: Cache | None = None) -> tuple[Tensor, Cache]:
        """Queries (B, num_heads, n, head_dim) of new tokens, and the cache with their keys."""
        check_input(x, self.W_query.in_features, self.W_query.weight, width="d_model")
        queries = self.query_norm(self.split(self.W_query(x)))  # (B, num_heads, n, head_dim)
        keys = self.key_norm(self.split(self.W_key(x)))  # (B, num_kv_heads, n, head_dim)
        values = self.split(self.W_value(x))  # (B, num_kv_heads, n, head_dim)
        past = Cache.length_of(cache)
        if self.rotary is not None:  # positions continue where the cache ends
            cos, sin = self.rotary(past, past + x.shape[-2], like=queries)  # (n, rotary_dim / 2)
            queries = turn_pairs(queries, cos, sin, self.interleaved)
            keys = turn_pairs(keys, cos, sin, self.interleaved)  # the cache keeps turned keys
        return queries, Cache.extended(cache, keys, values)

    def weights(self, queries: Tensor, keys: Tensor, mask: Tensor | None = None) -> Tensor:
        """Weights (B, num_heads, n, S): the newest n tokens' queries against S keys."""
        wide = torch.promote_types(queries.dtype, torch.float32)  # scores can overflow 16 bits
        keys = repeat_groups(keys, self.num_heads).to(wide)  # (B, num_heads, S, head_dim)
        scores = queries.to(wide) * self.scale @ keys.transpose(-2, -1)  # (B, num_heads, n, S)
        if self.softcap is not None:
            scores = self.softcap * torch.tanh(scores / self.softcap)
        hidden = hidden_from(queries, keys, mask, self.window)
        if self.sinks is not None:  # one more key
            sinks = self.sinks[:, None, None].to(scores).expand(*scores.shape[:-1], 1)
            scores, hidden = torch.cat([sinks, scores], dim=-1), F.pad(hidden, (1, 0))
        weights = masked_softmax(scores, hidden).to(queries)
        return weights if self.sinks is None else weights[..., 1:]  # rows sum to less than 1

    def finish(self, context: Tensor, x: Tensor) -> Tensor:
        """The output (B, n, d_model) from the heads' contexts, gated by x if there is a gate."""
        merged = self.merge(context)  # (B, n, num_heads * head_dim)
        if self.W_gate is not None:
            merged = merged * torch.sigmoid(self.W_gate(x))
        return self.out_proj(merged)

    def attend(
        self, x: Tensor, cache: Cache | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Cache]:
        """The output, the weights (B, num_heads, n, S) and the cache."""
        queries, cache = self.project(x, cache)
        weights = self.weights(queries, cache.keys, cache.cut(mask))  # (B, num_heads, n, S)
        weights = F.dropout(weights, self.dropout, self.training)
        context = weights @ repeat_groups(cache.values, self.num_heads)
        return self.finish(context, x), weights, cache.seen_next(self.window)

    def forward(
        self, x: Tensor, cache: Cache | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Cache]:
        """The output (B, n, d_model) for the n newest tokens x (B, n, d_model), and the cache.

        cache: None at first, then the one that the last call returned.
        mask: hides more keys, (B, n, T), or (n, T) for a single sequence; padding is (B, 1, T), on
        either side. T counts all tokens so far, even those outside the window.
        """
        if self.softcap is not None:  # PyTorch's kernels have no such bounds
            output, _, cache = self.attend(x, cache, mask)
            return output, cache
        queries, cache = self.project(x, cache)
        context = fused_attention(
            queries, cache.keys, cache.values, cache.cut(mask), self.window, self.sinks, self.scale,
            self.dropout if self.training else 0.0,
        )  # (B, num_heads, n, head_dim), as in attend, see fused_attention
        return self.finish(context, x), cache.seen_next(self.window)
