"""What the attention layers refuse, with a sentence that says what was wrong and what to do."""


def check_input(x, d_in, weight, longest=None):
    """Refuse an input that a layer cannot take; return nothing otherwise.

    x: tokens of shape (T, d_in) or (B, T, d_in). weight: any weight of the layer, for its device and dtype.
    longest: the context length, if the layer has one. Raises ValueError.
    """
    if x.dim() not in (2, 3):
        raise ValueError(
            f"x has shape {tuple(x.shape)}, but attention takes (T, d_in) for one sequence or (B, T, d_in) for a batch."
        )
    if x.shape[-1] != d_in:
        raise ValueError(
            f"Each token of x has {x.shape[-1]} numbers, but this layer was made with d_in={d_in}: "
            f"make it with d_in={x.shape[-1]}, or pass tokens with {d_in} numbers."
        )
    if longest is not None and x.shape[-2] > longest:
        raise ValueError(
            f"x has {x.shape[-2]} tokens, but this layer was made with context_length={longest}: "
            "cut the sequence, or make the layer with a larger context_length."
        )
    if x.device != weight.device:
        raise ValueError(
            f"x is on {x.device} and the layer on {weight.device}: "
            f"move one of them, with x.to('{weight.device}') or layer.to('{x.device}')."
        )
    if not x.is_floating_point():
        raise ValueError(f"x holds {x.dtype}, but attention computes with decimal numbers: pass x.to({weight.dtype}).")
    if x.dtype != weight.dtype:
        raise ValueError(
            f"x holds {x.dtype} and the layer {weight.dtype}: "
            f"change one of them, with x.to({weight.dtype}) or layer.to({x.dtype})."
        )


def check_dropout(p):
    """Refuse a dropout rate outside [0, 1). Raises ValueError."""
    if not 0 <= p < 1:
        raise ValueError(f"dropout is {p}, but it is the share of weights to drop: at least 0 and less than 1.")


def check_heads(d_out, num_heads):
    """Refuse a number of heads that does not divide d_out. Raises ValueError."""
    if num_heads < 1 or d_out % num_heads != 0:
        raise ValueError(
            f"d_out={d_out} cannot be split into num_heads={num_heads} heads of equal size: d_out must be divisible "
            "by num_heads."
        )
