"""The layer for use: the attention of today's decoders, each by its arguments.

Chapter 9 shows it as it stands here, with fewer types. Beside it stand its steps (`steps`), its table of cosines
(`rotary_table`) and what goes through PyTorch's kernels (`fused`). Shapes as in `teaching`: B sequences, n new tokens
in each, T with those in the cache. It takes a batch, (B, n, d_model), or a single sequence, (n, d_model).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_utils.attention.fused import fused_attention
from course_utils.attention.rotary_table import RotaryTable
from course_utils.attention.steps import hidden_from, repeat_groups, turn_pairs
from course_utils.attention.teaching import masked_softmax
from course_utils.validation import check_cache, check_groups, check_heads, check_input, check_window

__all__ = ["Attention"]


class Attention(nn.Module):
    """The attention of GPT-2, Llama 3, Mistral, Qwen3, Gemma 3 and gpt-oss, by its arguments.

    * num_kv_heads: heads of keys and values, each shared by equally many query heads; None: one
      for each query head.
    * head_dim: None for d_model / num_heads.
    * frequencies: (head_dim / 2,) of rotary positions; None: the tokens bring their positions.
    * bias: of all four linear layers.
    * norm_eps: RMSNorm with this eps for the queries and keys of each head; None: no norm.
    * window: how many tokens a token sees, itself among them; None: all so far.
    * sinks: a learned score for each head that takes part in softmax and passes on nothing.
    * scale: of the scores; None: 1 / sqrt(head_dim).
    """

    def __init__(
        self, d_model: int, num_heads: int, num_kv_heads: int | None = None,
        head_dim: int | None = None, frequencies: Tensor | None = None, bias: bool = False,
        norm_eps: float | None = None, window: int | None = None, sinks: bool = False,
        scale: float | None = None,
    ) -> None:
        super().__init__()
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_groups(num_heads, num_kv_heads)
        check_window(window)
        if head_dim is None:
            check_heads(d_model, num_heads, width="d_model")
            head_dim = d_model // num_heads
        self.num_heads, self.head_dim, self.window = num_heads, head_dim, window
        self.rotary = None if frequencies is None else RotaryTable(frequencies, head_dim)
        self.scale = head_dim**-0.5 if scale is None else scale
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=bias)
        self.W_key = nn.Linear(d_model, num_kv_heads * head_dim, bias=bias)
        self.W_value = nn.Linear(d_model, num_kv_heads * head_dim, bias=bias)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=bias)
        normed = norm_eps is not None
        self.query_norm = nn.RMSNorm(head_dim, eps=norm_eps) if normed else nn.Identity()
        self.key_norm = nn.RMSNorm(head_dim, eps=norm_eps) if normed else nn.Identity()
        self.sinks = nn.Parameter(torch.zeros(num_heads)) if sinks else None

    def split(self, projected: Tensor) -> Tensor:
        """(B, n, heads * head_dim) becomes (B, heads, n, head_dim)."""
        return projected.unflatten(-1, (-1, self.head_dim)).transpose(-3, -2)

    def merge(self, context: Tensor) -> Tensor:
        """(B, num_heads, n, head_dim) becomes (B, n, num_heads * head_dim)."""
        return context.transpose(-3, -2).flatten(-2)

    def project(
        self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (B, num_heads, n, head_dim) of new tokens, keys and values of all T tokens."""
        check_input(x, self.W_query.in_features, self.W_query.weight, width="d_model")
        queries = self.query_norm(self.split(self.W_query(x)))  # (B, num_heads, n, head_dim)
        keys = self.key_norm(self.split(self.W_key(x)))  # (B, num_kv_heads, n, head_dim)
        values = self.split(self.W_value(x))  # (B, num_kv_heads, n, head_dim)
        check_cache(cache, keys, values)

        if self.rotary is not None:
            past = 0 if cache is None else cache[0].shape[-2]  # positions go on where it ends
            cos, sin = self.rotary(past, past + x.shape[-2], like=queries)  # (n, head_dim / 2)
            queries = turn_pairs(queries, cos, sin)
            keys = turn_pairs(keys, cos, sin)  # then kept: each key turns once
        if cache is not None:
            keys = torch.cat([cache[0], keys], dim=-2)  # (B, num_kv_heads, T, head_dim)
            values = torch.cat([cache[1], values], dim=-2)  # (B, num_kv_heads, T, head_dim)
        return queries, keys, values

    def weights(self, queries: Tensor, keys: Tensor, mask: Tensor | None = None) -> Tensor:
        """Weights (B, num_heads, n, T): the newest n tokens' queries against all keys."""
        wide = torch.promote_types(queries.dtype, torch.float32)  # scores are too large for 16 bits
        keys = repeat_groups(keys, self.num_heads).to(wide)  # (B, num_heads, T, head_dim)
        scores = queries.to(wide) * self.scale @ keys.transpose(-2, -1)  # (B, num_heads, n, T)
        hidden = hidden_from(queries, keys, mask, self.window)
        if self.sinks is not None:  # one more key
            sinks = self.sinks[:, None, None].to(scores).expand(*scores.shape[:-1], 1)
            scores, hidden = torch.cat([sinks, scores], dim=-1), F.pad(hidden, (1, 0))
        weights = masked_softmax(scores, hidden).to(queries)
        return weights if self.sinks is None else weights[..., 1:]  # rows sum to less than 1

    def attend(
        self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """What forward returns, with the weights (B, num_heads, n, T) in the middle."""
        queries, keys, values = self.project(x, cache)
        weights = self.weights(queries, keys, mask)  # (B, num_heads, n, T)
        context = weights @ repeat_groups(values, self.num_heads)  # (B, num_heads, n, head_dim)
        return self.out_proj(self.merge(context)), weights, (keys, values)

    def forward(
        self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The output (B, n, d_model) for the n newest tokens x (B, n, d_model), and the cache.

        cache: None at first, then what the last call returned: keys and values of all T tokens.
        mask: hides more keys, (B, n, T), or (n, T) for a single sequence; padding is (B, 1, T), on
        either side.
        """
        queries, keys, values = self.project(x, cache)
        context = fused_attention(
            queries, keys, values, mask, self.window, self.sinks, self.scale
        )  # (B, num_heads, n, head_dim), as in attend, and no weights are stored
        return self.out_proj(self.merge(context)), (keys, values)
