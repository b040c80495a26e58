"""Chapters 3 to 5: your own layer under controls, and which of its outputs depends on which input."""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np
import torch
from numpy.typing import ArrayLike

from course_utils.influence import influences
from course_utils.live import interactive
from course_utils.live.base import Figure
from course_utils.live.vectors import check_vectors
from course_utils.pictures import Numbers

MOST_TOKENS = 24  # with names beside them
Make = Callable[[int, float], Callable[[torch.Tensor], torch.Tensor]]
ROUNDING = 1e-9  # of the largest influence: what is less comes from rounding


def try_layer(make: Make, inputs: ArrayLike, tokens: Sequence[str], without: Any = None) -> None:
    """Show which output of your layer depends on which input, with controls for length, dropout and seed.

    Beside it is the layer `without` its mask, or the same layer with its buffers, such as a mask, emptied. make:
    make(context_length, dropout) gives the layer, which maps (B, T, d_in) to (B, T, d_out). inputs: (T, d_in), T up to
    24. tokens: T names. If the layer cannot be run, a sentence says why. Raises ValueError for other inputs.
    """
    vectors, names = check_vectors("inputs", inputs, tokens, most_tokens=MOST_TOKENS)
    length = widgets.BoundedIntText(len(tokens), 1, len(tokens), description="length", **interactive.FULL_LABELS)
    dropout = widgets.BoundedFloatText(0, max=0.9, step=0.1, description="dropout", **interactive.FULL_LABELS)
    seed = widgets.BoundedIntText(123, 0, 1000, description="seed", **interactive.FULL_LABELS)
    controls = [length, dropout, seed]
    with contextlib.suppress(Exception):  # of a learner's code, which the figure tells
        if not isinstance(make(len(names), 0.0), torch.nn.Module):  # a function: nothing else would change it
            controls = [length]
    x = torch.from_numpy(vectors)
    interactive.show(controls, lambda: layer_figure(make, x, names, length.value, dropout.value, seed.value, without))


def layer_figure(
    make: Make, inputs: torch.Tensor, names: Sequence[str], length: int, dropout: float, seed: int, without: Any = None
) -> Figure:
    """The Figure for a setting of the controls. Raises ValueError, in words, when the layer does not run."""
    names = names[:length]
    moved, has_mask = moves(make, inputs, names, dropout, seed)
    other = (lambda *_: without) if without else make if has_mask else None
    bare = other and moves(other, inputs, names, dropout, seed, emptied=True)[0]
    about = "How much does each input change each output of your layer? Run this cell for controls."
    return Figure("try_layer", about, names, np.nan_to_num(moved), names, moved=moved, bare=bare)


def moves(
    make: Make, inputs: torch.Tensor, names: Sequence[str], dropout: float, seed: int, emptied: bool = False
) -> tuple[Numbers, bool]:
    """How far each output moves with each input, (T, T), nan where not at all; whether there are buffers."""
    T = len(names)
    torch.manual_seed(seed)
    try:
        layer, buffers = make(len(inputs), dropout), []
        if isinstance(layer, torch.nn.Module):
            buffers = list(layer.double().train(dropout > 0).buffers())
            for buffer in buffers if emptied else ():
                buffer.zero_()
        output = layer(inputs[None, :T])
        if not isinstance(output, torch.Tensor):
            raise ValueError(f"Your layer returns {output!r}: fill in the exercise and rerun this cell.")
        if output.shape[:2] != (1, T):
            raise ValueError(f"Your layer turns (1, {T}, d_in) into {tuple(output.shape)}, not (1, {T}, d_out).")
        moved = influences(lambda sequence: layer(sequence[None])[0], inputs[:T])  # (T, T)
        if not moved.isfinite().all():
            raise ValueError("Your layer gives nan or infinity: let every query see at least one key.")
    except ValueError:
        raise
    except Exception as error:  # whatever a learner's code does
        stopped = f"Your layer stopped with {type(error).__name__}: {error}."
        raise ValueError(f"{stopped} Is the exercise still empty? Then fill it in.") from error
    return moved.where(moved > ROUNDING * moved.max(), torch.nan).numpy(), bool(buffers)
