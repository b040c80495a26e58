"""Chapter 6: padding among the keys, hidden from every query in three ways or in none, until no key is left."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.live.base import LiveFigure, buttons, whole_slider
from course_utils.live.colours import WEIGHTS
from course_utils.live.drawing import Drawing, Words
from course_utils.live.inputs import check_count
from course_utils.live.maps import READABLE, add_map, margins

NONE, BILLION, INFINITY, SAFE = "no mask", "−10⁹", "−∞", "−∞, then 0"
PADDING = "(padding)"
TITLE, SUMS = 26, 48  # pixels
MOST_TOKENS = 40  # with names beside them


def show_padding(scores: ArrayLike, tokens: Sequence[str], key_tokens: Sequence[str]) -> None:
    """Show weights of T queries on S keys, the last of which are padding; controls say how many, and how it is hidden.

    scores: (T, S), already divided by √d_k; padding takes the place of a key and scores 0. tokens: T names of the
    queries. key_tokens: S names of the keys. Raises ValueError for other input.
    """
    padding_figure(scores, tokens, key_tokens).show()


def padding_figure(scores, tokens, key_tokens):
    """The LiveFigure that show_padding shows."""
    tables = pictures.score_panels(scores, tokens, key_tokens)  # (1, T, S)
    if len(tables) > 1:
        raise ValueError(f"This figure has room for one table of scores, not {len(tables)}: pick one head, scores[0].")
    if np.isinf(tables).any():
        raise ValueError("scores must be those before any mask: this figure hides padding itself.")
    check_count(max(tables.shape), MOST_TOKENS)
    names, keys = pictures.numbered(tokens), pictures.numbered(key_tokens)

    def draw(length, mask):
        weights = padded_weights(torch.from_numpy(tables[0]), length, mask).numpy()  # (T, S)
        return draw_padding(weights, names, keys, length, mask)

    controls = {
        "length": whole_slider("words that answer", max(1, len(keys) - 2), 0, len(keys)),
        "mask": buttons("hidden by", [NONE, BILLION, INFINITY, SAFE], NONE),
    }
    return LiveFigure(draw, controls, f"Attention weights of {len(names)} queries on {len(keys)} keys with padding.")


def padded_weights(scores, length, mask):
    """Weights (T, S) from scores (T, S) when only the first `length` keys are words, hidden in one of the four ways."""
    padding = torch.arange(scores.shape[-1]) >= length  # (S,)
    scores = scores.masked_fill(padding, 0)  # padding is a vector of zeros
    if mask != NONE:
        scores = scores.masked_fill(padding, -1e9 if mask == BILLION else -torch.inf)
    weights = torch.softmax(scores, dim=-1)  # (T, S)
    return weights.masked_fill(padding, 0) if mask == SAFE else weights


def draw_padding(weights, names, keys, length, mask):
    """The drawing: a map in which padding has its own name, and is grey once it weighs nothing."""
    queries, size = weights.shape
    cell = max(READABLE, min(46, 640 // size))
    left, top = margins(names, [*keys, PADDING], cell)
    drawing = Drawing(left + size * cell + SUMS, TITLE + top + queries * cell + 8)
    keys = keys[:length] + [PADDING] * (size - length)
    hidden = (weights == 0) & (np.arange(size) >= length)  # (T, S)

    def words(query, key):
        masked = "masked, " if key >= length and mask != NONE else ""
        return f'query "{names[query]}", key "{keys[key]}": {masked}weight {weights[query, key]:.4f}'

    drawing.add(Words(left, TITLE / 2, "weights", bold=True), Words(left + size * cell + 8, TITLE / 2, "sum"))
    add_map(drawing, left, TITLE + top, weights, names, keys, cell=cell, scale=WEIGHTS, words=words, hidden=hidden)
    drawing.say = say(weights, names, length, mask)
    return drawing


def say(weights, names, length, mask):
    """The drawing in words."""
    if length == weights.shape[1]:
        return "No padding: whatever the mask, every row sums to 1."
    if mask == NONE:
        shares = weights[:, length:].sum(axis=1)
        worst = shares.argmax()
        return f'No mask: "{names[worst]}" gives {shares[worst]:.2f} of its weight to padding.'
    if length > 0:
        return f"Hidden by {mask}: padding weighs nothing, and every row sums to 1."
    return {
        BILLION: "No word is left: all scores are −10⁹, and softmax shares evenly among the padding.",
        INFINITY: "No word is left: softmax of nothing but −∞ is nan.",
        SAFE: "No word is left: all weights are 0, so nothing is read.",
    }[mask]
