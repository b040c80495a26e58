"""Chapter 3: a causal mask, on or off, before or after softmax, renormalised or not, and what it lets through."""

import copy
import functools
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import nn

from course_utils import pictures
from course_utils.influence import influences
from course_utils.live.base import LiveFigure, buttons, tick
from course_utils.live.colours import WEIGHTS, Scale
from course_utils.live.drawing import Drawing, Words
from course_utils.live.inputs import check_count, check_vectors
from course_utils.live.maps import READABLE, add_map, margins
from course_utils.validation import check_input

DEPENDS = Scale(pictures.DEPENDS_MAP, 0, 1)
ROUNDING = 1e-12  # a derivative in 64 bits that should be 0 stays below
TITLE, SUMS, GAP = 26, 48, 24  # pixels
MOST_TOKENS = 24  # two maps with names side by side


def show_masking(layer: nn.Module, inputs: ArrayLike, tokens: Sequence[str]) -> None:
    """Show causal weights and the dependency matrix beside them, with controls for the mask.

    layer: has the linear layers W_query, W_key and W_value, as SelfAttention_v2. inputs: (T, d_in), T up to 24. tokens:
    T names. Raises ValueError for other input.
    """
    masking_figure(layer, inputs, tokens).show()


def masking_figure(layer, inputs, tokens):
    """The LiveFigure that show_masking shows."""
    inputs = torch.from_numpy(check_vectors("inputs", inputs, tokens))
    check_count(len(tokens), MOST_TOKENS)
    if not all(isinstance(getattr(layer, name, None), nn.Linear) for name in ("W_query", "W_key", "W_value")):
        raise ValueError(
            "layer must have linear layers W_query, W_key and W_value: pass a SelfAttention_v2, for example."
        )
    layer = copy.deepcopy(layer).cpu().double()  # in 64 bits rounding is told from dependence
    check_input(inputs, layer.W_query.in_features, layer.W_query.weight)
    names = pictures.numbered(tokens)

    @functools.cache
    def depends(mask, when, renormalised):
        def context(sequence):
            return causal_weights(layer, sequence, mask, when, renormalised) @ layer.W_value(sequence)

        return influences(context, inputs).numpy() > ROUNDING  # (T, T)

    def draw(mask, when, renormalised):
        with torch.no_grad():
            weights = causal_weights(layer, inputs, mask, when, renormalised).numpy()
        return draw_masking(weights, depends(mask, when, renormalised), names, mask, when)

    controls = {
        "mask": tick("mask on", True),
        "when": buttons("", [BEFORE, AFTER], BEFORE),
        "renormalised": tick("renormalise", False),
    }
    return LiveFigure(
        draw,
        controls,
        f"Attention weights of {len(names)} tokens under a mask, and which output depends on which input.",
    )


BEFORE, AFTER = "before softmax", "after softmax"


def causal_weights(layer, sequence, mask, when, renormalised):
    """Weights (T, T) of a sequence (T, d_in): masked or not, before or after softmax, renormalised or not."""
    keys = layer.W_key(sequence)  # (T, d_k)
    scores = layer.W_query(sequence) @ keys.T / keys.shape[-1] ** 0.5  # (T, T)
    future = torch.ones_like(scores).triu(diagonal=1).bool()
    if mask and when == BEFORE:
        scores = scores.masked_fill(future, -torch.inf)
    weights = torch.softmax(scores, dim=-1)  # (T, T), every row sums to 1
    if mask and when == AFTER:
        weights = weights.masked_fill(future, 0)
    return weights / weights.sum(dim=-1, keepdim=True) if renormalised else weights


def draw_masking(weights, depends, names, mask, when):
    """The drawing: weights with row sums on the left, the dependency matrix on the right."""
    size = len(names)
    cell = max(READABLE, min(40, 340 // size))
    left, top = margins(names, names, cell)
    wide = left + size * cell + SUMS
    drawing = Drawing(2 * wide + GAP, TITLE + top + size * cell + 8)
    future = np.triu(np.ones((size, size), dtype=bool), k=1)
    hidden = future if mask else np.zeros_like(future)

    def weight_words(query, key):
        masked = "masked, " if hidden[query, key] else ""
        return f'query "{names[query]}", key "{names[key]}": {masked}weight {weights[query, key]:.4f}'

    def depends_words(output, of_input):
        answer = "depends" if depends[output, of_input] else "does not depend"
        leak = ": a leak" if depends[output, of_input] and future[output, of_input] and mask else ""
        return f'output of "{names[output]}" {answer} on input "{names[of_input]}"{leak}'

    drawing.add(Words(left, TITLE / 2, "weights", bold=True), Words(left + size * cell + 8, TITLE / 2, "sum"))
    add_map(
        drawing,
        left,
        TITLE + top,
        weights,
        names,
        names,
        cell=cell,
        scale=WEIGHTS,
        words=weight_words,
        hidden=hidden,
    )
    right = wide + GAP + left
    drawing.add(Words(right, TITLE / 2, "dependency matrix", bold=True))
    add_map(
        drawing,
        right,
        TITLE + top,
        depends.astype(float),
        names,
        names,
        cell=cell,
        scale=DEPENDS,
        words=depends_words,
        numbers=("·", "yes"),
        hidden=np.zeros_like(future),
        sums=False,
    )
    drawing.say = say(weights, depends & future, mask, when)
    return drawing


def say(weights, leaks, mask, when):
    """The drawing in words."""
    sums = weights.sum(axis=1)
    whole = (
        "Every row sums to 1" if abs(sums - 1).max() < 1e-6 else f"The rows sum to {sums.min():.2f} to {sums.max():.2f}"
    )
    count = int(leaks.sum())
    future = (
        f"{count} cells above the diagonal say yes: outputs depend on later tokens"
        if count
        else "no output depends on a later token"
    )
    return f"{f'Masked {when}' if mask else 'No mask'}. {whole}; {future}."
