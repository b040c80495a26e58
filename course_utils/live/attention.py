"""Attention weights that you can walk through: one map per head, any number of heads, your own sentence."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.live.base import Figure
from course_utils.live.maps import packed

FEW = 1500  # the most numbers passed with all their decimals


def show_attention(
    weights: ArrayLike,
    tokens: Sequence[str],
    *,
    scores: ArrayLike | None = None,
    masked: ArrayLike | None = None,
    key_tokens: Sequence[str] | None = None,
    maps: str = "head",
    losses: Mapping[int, float] | None = None,
) -> None:
    """Show attention weights with controls for the query and the head.

    weights: (T, T), or (num_heads, T, T). tokens: T names. scores: the same shape, shown when you point at a cell;
    minus infinity is masked. masked: (T, T), True where a cell is hidden. key_tokens: the S names of the keys if they
    are another sequence; all shapes then end in (T, S). maps: the kind of each map, "head" or "layer"; arcs go
    from layer to layer, the last first. losses: {step: loss} of some steps of training; weights are then (len(losses),
    num_heads, T, T), and a control steps through them. Raises ValueError for what cannot be drawn.
    """
    attention_figure(weights, tokens, scores, masked, key_tokens, maps, losses).show()


def attention_figure(
    weights: ArrayLike,
    tokens: Sequence[str],
    scores: ArrayLike | None = None,
    masked: ArrayLike | None = None,
    key_tokens: Sequence[str] | None = None,
    maps: str = "head",
    losses: Mapping[int, float] | None = None,
) -> Figure:
    """The Figure that show_attention shows."""
    steps = list(losses or [0])
    if losses:
        weights = pictures.shaped("weights", weights, "hold the maps of each step", len(losses), "num_heads", "T", "S")
        weights = weights.reshape(-1, *weights.shape[2:])
    names, keys, heads, hidden = pictures.weight_maps(weights, tokens, masked, key_tokens)  # heads: (num_heads, T, S)
    if scores is not None:
        scores = pictures.panels("scores", scores, names, keys)
        wrong = np.isnan(scores) | np.isposinf(scores)
        pictures.refuse("scores", scores, wrong, "scores are numbers, or -inf where a cell is masked")
        if len(scores) != len(heads):
            counts = f"There are {len(heads)} maps of weights and {len(scores)} of scores"
            raise ValueError(f"{counts}: pass the same number of each.")
        hidden = hidden | np.isneginf(scores).any(axis=0)
    several = len(heads) // len(steps)
    count = f"{several} {maps}s" if several > 1 else f"one {maps}"
    count += f" at {len(steps)} steps of training" if losses else ""
    asking = "1 query" if len(names) == 1 else f"{len(names)} queries"
    size = f"{len(names)} tokens" if keys == names else f"{asking} {len(keys)}"
    about = f"Maps of attention weights, {count}, {size}: a row per query{f', {maps} 0:' if several > 1 else ':'}"
    numbers = {"weights": heads if heads.size <= FEW else packed(heads), "scores": scores, "masked": hidden}
    more = {"maps": maps, "steps": steps, "losses": losses and list(losses.values())}
    return Figure("attention", about, names, heads[-several], keys, keys=keys, **numbers, **more)
