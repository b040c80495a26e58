"""Input that the attention layers refuse, with a sentence on what is wrong and what to do."""

import torch
from torch import Tensor, nn

__all__ = [
    "check_cache", "check_dropout", "check_frequencies", "check_groups", "check_heads", "check_input", "check_mask",
    "check_numbers", "check_pair", "check_part", "check_room", "check_softcap", "check_values", "check_window",
    "refuse_other_norms",
]  # fmt: skip


def check_input(
    x: Tensor, d_in: int, weight: Tensor, longest: int | None = None, name: str = "x", width: str = "d_in"
) -> None:
    """Refuse an input that a layer cannot take; return nothing otherwise.

    x: tokens of shape (T, d_in) or (B, T, d_in). weight: any weight of the layer, for its device and dtype.
    longest: the context length, if the layer has one. name, width: what the layer calls x and d_in. Raises ValueError.
    """
    if x.dim() not in (2, 3):
        raise ValueError(
            f"{name} has shape {tuple(x.shape)}, but attention takes (T, {width}) for one sequence "
            f"or (B, T, {width}) for a batch."
        )
    if x.shape[-1] != d_in:
        raise ValueError(
            f"Each token of {name} has {x.shape[-1]} numbers, but this layer was made with {width}={d_in}: "
            f"make it with {width}={x.shape[-1]}, or pass tokens with {d_in} numbers."
        )
    if longest is not None and x.shape[-2] > longest:
        raise ValueError(
            f"{name} has {x.shape[-2]} tokens, but this layer was made with context_length={longest}: "
            "cut the sequence, or make the layer with a larger context_length."
        )
    if x.device != weight.device:
        raise ValueError(
            f"{name} is on {x.device} and the layer on {weight.device}: "
            f"move one of them, with {name}.to('{weight.device}') or layer.to('{x.device}')."
        )
    if not x.is_floating_point():
        raise ValueError(
            f"{name} has dtype {x.dtype}, but attention needs floating-point numbers: pass {name}.to({weight.dtype})."
        )
    # autocast converts both to one dtype when they meet, except float64
    if x.dtype != weight.dtype and not (
        torch.is_autocast_enabled(x.device.type) and torch.float64 not in (x.dtype, weight.dtype)
    ):
        raise ValueError(
            f"{name} has dtype {x.dtype} and the layer {weight.dtype}: "
            f"change one of them, with {name}.to({weight.dtype}) or layer.to({x.dtype})."
        )


def check_dropout(p: float) -> None:
    """Refuse a dropout rate p outside [0, 1). Raises ValueError."""
    if not 0 <= p < 1:
        raise ValueError(f"dropout is {p}, but it must be a probability of at least 0 and less than 1.")


def check_heads(d_out: int, num_heads: int, width: str = "d_out") -> None:
    """Refuse num_heads that do not divide d_out. width: what the layer calls d_out. Raises ValueError."""
    if num_heads < 1 or d_out % num_heads != 0:
        raise ValueError(
            f"{width}={d_out} cannot be split into num_heads={num_heads} heads of equal size: "
            f"{width} must be divisible by num_heads."
        )


def check_groups(num_heads: int, num_kv_heads: int) -> None:
    """Refuse num_kv_heads heads of keys that num_heads heads of queries cannot share evenly. Raises ValueError."""
    if num_kv_heads < 1 or num_heads % num_kv_heads != 0:
        raise ValueError(
            f"num_heads={num_heads} query heads cannot share num_kv_heads={num_kv_heads} heads of keys evenly: "
            "num_heads must be divisible by num_kv_heads."
        )


def check_pair(query_input: Tensor, key_input: Tensor) -> None:
    """Refuse query_input (B, T, d) and key_input (B, S, d) with different numbers of sequences. Raises ValueError."""
    if query_input.shape[:-2] != key_input.shape[:-2]:
        raise ValueError(
            f"query_input has shape {tuple(query_input.shape)} and key_input {tuple(key_input.shape)}: "
            "each sequence of queries needs a sequence of keys, so pass the same number of sequences."
        )


def check_values(key_input: Tensor, value_input: Tensor) -> None:
    """Refuse key_input (B, S, d) and value_input (B, S, d) that do not come in pairs. Raises ValueError."""
    if key_input.shape[:-1] != value_input.shape[:-1]:
        raise ValueError(
            f"key_input has shape {tuple(key_input.shape)} and value_input {tuple(value_input.shape)}: "
            "each key needs a value, so pass the same number of tokens for both."
        )


def check_mask(mask: Tensor, queries: Tensor, keys: Tensor) -> None:
    """Refuse a mask that is not boolean, is elsewhere, or does not fit; raises ValueError.

    queries: (B, num_heads, T, head_dim), or (num_heads, T, head_dim) for one sequence; keys: the same with S for T.
    mask: as in CrossAttention. For a batch, (T, S) is refused: if B = T, padding (B, S) would look the same.
    """
    if mask.dtype != torch.bool:
        raise ValueError(
            f"mask has dtype {mask.dtype}, but it must be boolean, True where a key is hidden: "
            "if 1 means keep and 0 means hide, pass mask == 0."
        )
    if mask.device != queries.device:
        raise ValueError(
            f"mask is on {mask.device} and the layer on {queries.device}: pass mask.to('{queries.device}')."
        )
    full = (*queries.shape[:-3], queries.shape[-2], keys.shape[-2])  # (B, T, S) or (T, S)
    if mask.dim() != len(full) or any(size not in (1, wanted) for size, wanted in zip(mask.shape, full)):
        wanted, hints = "(T, S)", "For padding of shape (S,), pass padding[None]."
        if len(full) == 3:
            wanted = "(B, T, S)"
            hints = "For padding of shape (B, S), pass padding[:, None, :]; for a shared mask (T, S), mask[None]."
        raise ValueError(
            f"mask has shape {tuple(mask.shape)}, but it must be {wanted} = {full}; "
            f"a shared dimension may have size 1. {hints}"
        )


def check_window(window: int | None) -> None:
    """Refuse a window in which a token does not see itself. Raises ValueError."""
    if window is not None and window < 1:
        raise ValueError(f"window is {window}, but every token sees itself: pass at least 1, or None for no window.")


def check_softcap(softcap: float | None) -> None:
    """Refuse a softcap that leaves no room for scores. Raises ValueError."""
    if softcap is not None and softcap <= 0:
        raise ValueError(
            f"softcap is {softcap}, but scores stay between minus and plus softcap: pass a positive number, or None."
        )


def refuse_other_norms(layer: nn.Module, state: dict[str, Tensor], prefix: str, *rest: object) -> None:
    """Refuse a state for a layer of `Attention` whose norms, under prefix, are of another kind. Raises ValueError.

    rest: further arguments that PyTorch passes to such a hook.
    """
    for name in ("query_norm", "key_norm"):
        scale = state.get(f"{prefix}{name}.weight")
        if f"{prefix}{name}.bias" in state or scale is not None and scale.shape != (layer.head_dim,):
            raise ValueError(
                f"{name} has shapes {[tuple(each.shape) for key, each in state.items() if name in key]}, but this "
                f"layer has one RMSNorm of {layer.head_dim} numbers for all heads. It supports neither norms before "
                "heads are split (OLMo-2, OLMo-3) nor a LayerNorm (Cohere, StableLM, Phi)."
            )


def check_part(rotary_dim: int | None, head_dim: int, frequencies: Tensor | None) -> None:
    """Refuse a rotary_dim above head_dim, or without frequencies. Raises ValueError."""
    if rotary_dim is not None and (frequencies is None or rotary_dim > head_dim):
        raise ValueError(
            f"rotary_dim is {rotary_dim}, but at most {head_dim} numbers can rotate, and only with frequencies."
        )


def check_frequencies(frequencies: Tensor, rotary_dim: int) -> None:
    """Refuse frequencies, shape (rotary_dim / 2,), that are not one for each pair. Raises ValueError."""
    if rotary_dim % 2:
        raise ValueError(f"{rotary_dim} numbers cannot be rotated in pairs: rotary positions need an even number.")
    if frequencies.shape != (rotary_dim // 2,):
        raise ValueError(
            f"frequencies has shape {tuple(frequencies.shape)}, but {rotary_dim} numbers are {rotary_dim // 2} pairs, "
            f"each with one frequency: pass shape ({rotary_dim // 2},), as from rotary_frequencies({rotary_dim})."
        )


def check_cache(cache: tuple[Tensor, Tensor] | None, *new: Tensor) -> None:
    """Refuse a cache to which two new tensors, (..., n, d) each, cannot be appended. Raises ValueError.

    If both have the same shape, as keys and values do, an exchange cannot be noticed.
    """
    for number, (kept, more) in enumerate(zip(cache or (), new)):
        if kept.shape[:-2] != more.shape[:-2] or kept.shape[-1] != more.shape[-1]:
            raise ValueError(
                f"cache[{number}] has shape {tuple(kept.shape)} and the new tensor {tuple(more.shape)}: only the "
                "number of tokens (second to last) may differ. Pass the cache from the last call of this layer."
            )
        if (kept.dtype, kept.device) != (more.dtype, more.device):
            raise ValueError(
                f"cache[{number}] is {kept.dtype} on {kept.device} and the new tensor {more.dtype} on {more.device}: "
                "after changing the layer, start without a cache, or convert the cache, too."
            )
    if cache is not None and cache[0].shape[-2] != cache[1].shape[-2]:
        raise ValueError(
            f"The cache tensors have {cache[0].shape[-2]} and {cache[1].shape[-2]} tokens: pass the last call's cache."
        )


def check_room(num_new: int, num_tokens: int, longest: int) -> None:
    """Refuse num_new tokens that bring num_tokens, all so far, above `longest`. Raises ValueError."""
    if num_tokens > longest:
        raise ValueError(
            f"The cache would grow by {num_new} to {num_tokens} tokens, but this layer was made with "
            f"context_length={longest}: stop here, or make the layer with a larger context_length."
        )


def check_numbers(numbers: Tensor, words: nn.Embedding, positions: nn.Embedding) -> None:
    """Refuse token numbers that an encoder has no vectors for. words, positions: its embeddings. Raises ValueError."""
    if numbers.dim() not in (1, 2) or numbers.dtype != torch.long:
        raise ValueError(
            f"numbers has shape {tuple(numbers.shape)} and dtype {numbers.dtype}, but the encoder takes an integer "
            "tensor of shape (T,) or (B, T): torch.tensor(tokenizer.encode(sentence).ids)."
        )
    if numbers.shape[-1] > positions.num_embeddings:
        raise ValueError(
            f"The sequence has {numbers.shape[-1]} tokens, but the encoder has only {positions.num_embeddings} "
            "positions: shorten the text."
        )
    if numbers.numel() and not 0 <= numbers.min() <= numbers.max() < words.num_embeddings:
        raise ValueError(
            f"numbers ranges from {numbers.min()} to {numbers.max()}, but the vocabulary from 0 to "
            f"{words.num_embeddings - 1}: use the model's own tokenizer."
        )
