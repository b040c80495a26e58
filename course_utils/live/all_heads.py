"""Chapter 8: all heads of a model as small maps, and one of them large: layers and heads counted from 0."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.live.attention import favourites, words_of
from course_utils.live.base import ALL, LiveFigure, choice, whole_slider
from course_utils.live.colours import OUTLINE, WEIGHTS
from course_utils.live.drawing import Box, Drawing, Pixels, Words
from course_utils.live.maps import READABLE, add_map, margins

THUMBNAIL, GAP, LABELS, TITLE, SUMS = 44, 6, 60, 40, 44  # pixels
MOST_TOKENS = 44  # one pixel each in a small map


def show_all_heads(weights: ArrayLike, tokens: Sequence[str], *, layer: int = 0, head: int = 0) -> None:
    """Show every head of a model as a small map, and one as a large one, with controls for layer, head and query.

    weights: (num_layers, num_heads, T, T), T up to 44. tokens: T names. layer, head: the large one at first, from 0.
    Raises ValueError for other input.
    """
    all_heads_figure(weights, tokens, layer, head).show()


def all_heads_figure(weights, tokens, layer=0, head=0):
    """The LiveFigure that show_all_heads shows."""
    weights = pictures.array(weights)
    if weights.ndim != 4:
        raise ValueError(
            f"All heads of a model are (num_layers, num_heads, T, T); this has shape {weights.shape}. "
            "For the heads of one layer take show_attention."
        )
    if len(tokens) > MOST_TOKENS:
        raise ValueError(f"This figure has room for {MOST_TOKENS} tokens, not {len(tokens)}: take a shorter sentence.")
    num_layers, num_heads = weights.shape[:2]
    if not (0 <= layer < num_layers and 0 <= head < num_heads):
        raise ValueError(
            f"There is no layer {layer}, head {head}: layers go from 0 to {num_layers - 1}, "
            f"heads from 0 to {num_heads - 1}."
        )
    weights = np.stack([pictures.weight_panels(heads, tokens, tokens) for heads in weights])  # checks each layer
    names = pictures.numbered(tokens)

    def draw(layer, head, query):
        return draw_all_heads(weights, names, layer, head, None if query == ALL else query)

    controls = {
        "layer": whole_slider("layer", layer, 0, num_layers - 1),
        "head": whole_slider("head", head, 0, num_heads - 1),
        "query": choice("query", names, ALL),
    }
    about = f"Small maps of {num_layers} layers with {num_heads} heads each, one of them large, {len(names)} tokens."
    return LiveFigure(draw, controls, about)


def draw_all_heads(weights, names, layer, head, query):
    """The drawing: the small maps, the chosen one outlined, and below them the large one."""
    num_layers, num_heads, size, _ = weights.shape
    pixel = max(1, THUMBNAIL // size)
    step = size * pixel + GAP
    cell = max(READABLE, min(34, 400 // size))
    left, top = margins(names, names, cell)
    below = TITLE + num_layers * step  # where the part with the large map begins
    wide = max(LABELS + num_heads * step, left + size * cell + SUMS)
    drawing = Drawing(wide, below + TITLE + top + size * cell + 10)

    middle = size * pixel / 2
    for number in range(num_heads):
        label = f"head {number}" if number == 0 else str(number)
        drawing.add(Words(LABELS + number * step + middle, TITLE / 2, label, "middle", bold=number == head))
    for number in range(num_layers):
        label = f"layer {number}" if number == 0 else str(number)
        drawing.add(Words(LABELS - 8, TITLE + number * step + middle, label, "end", bold=number == layer))
    for place in np.ndindex(num_layers, num_heads):
        x, y = LABELS + place[1] * step, TITLE + place[0] * step
        drawing.add(Pixels(x, y, pixel, WEIGHTS.rgb[WEIGHTS.steps(weights[place])]))
        drawing.add(Box(x, y, size * pixel, size * pixel, hover="layer {}, head {}".format(*place)))
    x, y = LABELS + head * step - 2, TITLE + layer * step - 2
    drawing.add(Box(x, y, size * pixel + 4, size * pixel + 4, outline=OUTLINE))

    chosen, hidden = weights[layer, head], np.zeros((size, size), dtype=bool)
    drawing.add(Words(left, below + TITLE / 2, f"layer {layer}, head {head}", bold=True))
    words = words_of(chosen, None, names, names, hidden)
    look = {"cell": cell, "scale": WEIGHTS, "hidden": hidden}
    add_map(drawing, left, below + TITLE + top, chosen, names, names, words=words, **look)
    if query is not None:
        drawing.add(Box(left, below + TITLE + top + query * cell, size * cell, cell, outline=OUTLINE))
    said = habits(chosen, names) if query is None else favourites(chosen, names, names)[query]
    drawing.say = f"Layer {layer}, head {head}: {said}."
    return drawing


def habits(weights, names):
    """What an average token gives to its neighbours, itself, and the first and last token, in words."""
    before, itself, after = (np.diagonal(weights, offset).mean() for offset in (-1, 0, 1))
    first, last = weights[:, 0].mean(), weights[:, -1].mean()
    return (
        f"an average token gives {before:.2f} to the one before it, {itself:.2f} to itself, {after:.2f} to the one "
        f"after it, {first:.2f} to {names[0]} and {last:.2f} to {names[-1]}"
    )
