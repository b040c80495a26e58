"""Attention with PyTorch's kernels, for everything that `Attention` can hide, without a matrix of weights.

`F.scaled_dot_product_attention` stores T² numbers for a window, and for causal attention with padding. So windows are
computed in blocks of queries, which share one small mask, and padding and sinks become one more number in each vector.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from course_utils.attention.steps import hidden_keys, repeat_groups
from course_utils.validation import check_mask

__all__ = ["fused_attention"]

BLOCK, NUMBERS = 128, 2**17  # the most queries in a block, and about as many numbers in its mask
FAR = 2.0**15  # fits into float16; a score of -FAR² is below any other but one of such numbers


def fused_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
    window: int | None = None,
    sinks: Tensor | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """The context (B, num_heads, n, head_dim) for the queries of the n newest tokens.

    keys, values: of T tokens, (B, num_kv_heads, T, head_dim). A single sequence has no B. mask, window, sinks, scale:
    as in Attention. dropout: for this call; above 0, a CPU does store the weights. values may have another width, which
    the context then has. A mask (B, n, T) takes memory of its size, but padding, (B, 1, T), nearly none. Raises
    ValueError for a mask that does not fit, and RuntimeError if a kernel is asked for second derivatives.
    """
    if mask is not None:
        check_mask(mask, queries, keys)
    if queries.dim() == 3:  # the fast kernels need a batch
        mask = None if mask is None else mask[None]
        return fused_attention(queries[None], keys[None], values[None], mask, window, sinks, scale, dropout)[0]
    num_new, num_tokens, width = queries.shape[-2], keys.shape[-2], values.shape[-1]
    if num_new == 0:
        return queries[..., :1].expand(*queries.shape[:-1], width)
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    window = num_tokens if window is None else min(window, num_tokens)
    queries, keys = queries.to(values), keys.to(values)  # under autocast, a norm leaves them in 32 bits

    empty = None
    if mask is not None and mask.shape[-2] == 1 < num_new:  # keys that nobody sees
        empty = rows_without_keys(mask.expand(-1, -1, num_tokens), num_new, window)  # (B, 1, n, 1)
        queries, keys = longer(queries, -FAR), longer(keys, FAR * mask.unsqueeze(-1))
        mask = None
    if sinks is not None:  # the sink becomes key 0: zeros and a 1, multiplied by an extra number in each query
        queries, keys = longer(queries, sinks[:, None, None] / scale), F.pad(keys, (0, 1, 1, 0))
        keys[..., 0, -1] = 1.0
        values = F.pad(values, (0, 0, 1, 0))
    queries, keys, values = same_width(queries, keys, values)

    how = {"scale": scale, "dropout_p": dropout}  # of the kernel
    if mask is None and num_new == num_tokens == window:
        context = causal(queries, keys, values, **how)
    else:
        context = in_blocks(queries, keys, values, num_tokens, window, mask, **how)
    context = context[..., :width]
    return context if empty is None else context.masked_fill(empty, 0.0)


def longer(vectors: Tensor, number: Tensor | float) -> Tensor:
    """Vectors (..., d) with one more number: (..., d + 1)."""
    more = torch.as_tensor(number, dtype=vectors.dtype, device=vectors.device)
    return torch.cat([vectors, more.expand(*vectors.shape[:-1], 1)], dim=-1)


def rows_without_keys(mask: Tensor, num_new: int, window: int) -> Tensor:
    """Which of the newest tokens see no key (B, 1, n, 1), where mask (B, 1, T) hides keys from all tokens."""
    so_far = (~mask).cumsum(dim=-1)  # (B, 1, T), visible keys up to each token
    before = F.pad(so_far, (window, 0))[..., : mask.shape[-1]]  # (B, 1, T), those that its window has left behind
    return (so_far == before)[..., -num_new:].unsqueeze(-1)


def same_width(queries: Tensor, keys: Tensor, values: Tensor) -> list[Tensor]:
    """All three padded with zeros to the longest width; unequal ones, on a graphics card, to a multiple of 8."""
    width = max(queries.shape[-1], values.shape[-1])
    if queries.shape[-1] != values.shape[-1] and queries.device.type != "cpu":
        width += -width % 8  # other widths get a slow kernel there
    missing = [(vectors, width - vectors.shape[-1]) for vectors in (queries, keys, values)]
    return [F.pad(vectors, (0, zeros)) if zeros else vectors for vectors, zeros in missing]


def causal(queries: Tensor, keys: Tensor, values: Tensor, **how: Any) -> Tensor:
    """The context if each of T tokens sees itself and all before it, and the sink if there is one more key."""
    sinks = keys.shape[-2] - queries.shape[-2]  # 0 or 1
    if sinks:
        queries = F.pad(queries, (0, 0, 1, 0))  # one more query, whose result is not used
    return kernel(queries, keys, values, is_causal=True, **how)[..., sinks:, :]


def in_blocks(
    queries: Tensor, keys: Tensor, values: Tensor, num_tokens: int, window: int, mask: Tensor | None, **how: Any
) -> Tensor:
    """The context of the n newest tokens, in blocks of queries, each with only the keys that it can see.

    keys, values: of num_tokens tokens, after the sink if any. mask: None or (B, n, T), hides more keys. how: of kernel.
    """
    num_new, sinks = queries.shape[-2], keys.shape[-2] - num_tokens
    size = min(num_new, BLOCK, max(1, NUMBERS // window))
    hidden = hidden_keys(size, size + window - 1, window, queries.device)  # from a block's queries
    shared = additive(F.pad(hidden, (0, sinks)), queries.dtype)  # once for all blocks, unlike a boolean mask
    contexts = []
    for stop in range(num_new, 0, -size):  # from the end, where all blocks are alike
        rows, last = min(size, stop), num_tokens - num_new + stop
        first = max(0, last - rows - window + 1)
        seen, theirs = (each[..., sinks + first : sinks + last, :] for each in (keys, values))
        if sinks:
            seen = torch.cat([seen, keys[..., :1, :]], dim=-2)
            theirs = torch.cat([theirs, values[..., :1, :]], dim=-2)
        bias = None if num_new == 1 else shared[-rows:, first - last - sinks :]  # a single token sees all keys
        if mask is not None:
            more = mask.expand(-1, num_new, num_tokens)[:, None, stop - rows : stop, first:last]
            invisible = hidden[-rows:, first - last :] | more  # (B, 1, rows, last - first)
            empty = invisible.all(dim=-1, keepdim=True)  # a row without a key is nan in some kernels
            bias = additive(F.pad(invisible & ~empty, (0, sinks)), queries.dtype)
        context = kernel(queries[..., stop - rows : stop, :], seen, theirs, bias, **how)
        contexts.append(context if mask is None else context.masked_fill(empty, 0.0))
    return torch.cat(contexts[::-1], dim=-2)


def additive(hidden: Tensor, dtype: torch.dtype) -> Tensor:
    """The bias to add to scores: -inf where they are hidden, 0 elsewhere."""
    return torch.zeros(hidden.shape, dtype=dtype, device=hidden.device).masked_fill(hidden, -torch.inf)


def kernel(queries: Tensor, keys: Tensor, values: Tensor, attn_mask: Tensor | None = None, **how: Any) -> Tensor:
    """F.scaled_dot_product_attention for grouped keys; raises RuntimeError in second derivatives."""
    num_heads, shared = queries.shape[-3], keys.shape[-3] < queries.shape[-3]
    if shared and attn_mask is not None and queries.device.type != "cpu":
        # a graphics card's fast kernel for masks does not support groups, and its slow one stores weights
        keys, values, shared = repeat_groups(keys, num_heads), repeat_groups(values, num_heads), False
    context = F.scaled_dot_product_attention(queries, keys, values, attn_mask=attn_mask, enable_gqa=shared, **how)
    if context.requires_grad and not torch.compiler.is_compiling() and "ScaledDotProduct" in context.grad_fn.name():
        context.register_hook(refuse_second_derivatives)
    return context


def refuse_second_derivatives(gradient: Tensor) -> None:
    """Refuse a backward pass for second derivatives (create_graph=True). Raises RuntimeError."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            "PyTorch's fast kernels lack second derivatives (create_graph=True): use the output of attend, which "
            "computes the same result from its weights, or run forward under sdpa_kernel(SDPBackend.MATH)."
        )
