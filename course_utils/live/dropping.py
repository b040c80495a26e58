"""Chapter 4: dropout on attention weights: its rate, its seed, two samplers, training and evaluation."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.live.base import LiveFigure, buttons, slider, whole_slider
from course_utils.live.colours import WEIGHTS
from course_utils.live.drawing import Drawing, Words
from course_utils.live.maps import READABLE, add_map, margins
from course_utils.randomness import keep_mask_a, keep_mask_b

SAMPLERS = {"mask A": keep_mask_a, "mask B": keep_mask_b}
TRAIN, EVAL = "train", "eval"
MOST_TOKENS, TITLE, SUMS = 48, 26, 52  # pixels, the last two


def show_dropout(weights: ArrayLike, tokens: Sequence[str], *, masked: ArrayLike | None = None) -> None:
    """Show weights after dropout with their row sums, with controls for rate, seed, sampler and mode.

    weights: (T, T), T up to 48. tokens: T names. masked: (T, T), True where a cell is hidden. Raises ValueError for
    other input.
    """
    dropout_figure(weights, tokens, masked).show()


def dropout_figure(weights, tokens, masked=None):
    """The LiveFigure that show_dropout shows."""
    maps = pictures.weight_panels(weights, tokens, tokens)
    if len(maps) > 1 or len(tokens) > MOST_TOKENS:
        raise ValueError(
            f"This figure has room for one map of up to {MOST_TOKENS} tokens; this has shape {maps.shape}."
        )
    names, hidden = pictures.numbered(tokens), pictures.hidden_cells(masked, tokens, tokens)

    def draw(mode, rate, seed, sampler):
        kept = np.ones_like(hidden) if mode == EVAL else SAMPLERS[sampler](hidden.shape, rate, seed).numpy()
        return draw_dropout(maps[0], kept, 0.0 if mode == EVAL else rate, names, hidden)

    controls = {
        "mode": buttons("", [TRAIN, EVAL], TRAIN),
        "rate": slider("rate p", 0.5, 0.0, 0.95, 0.05),
        "seed": whole_slider("seed", 123, 0, 1000),
        "sampler": buttons("", list(SAMPLERS), "mask A"),
    }
    return LiveFigure(
        draw, controls, f"Map of the attention weights of {len(names)} tokens after dropout, with row sums."
    )


def draw_dropout(weights, kept, rate, names, hidden):
    """The drawing: the weights that are kept, divided by 1 - rate, and zeros for the others."""
    dropped = weights * kept / (1 - rate)  # (T, T)
    size = len(names)
    cell = max(READABLE, min(46, 480 // size))
    left, top = margins(names, names, cell)
    drawing = Drawing(max(left + size * cell + SUMS, 420), TITLE + top + size * cell + 8)

    def words(query, key):
        pair = f'query "{names[query]}", key "{names[key]}": weight {weights[query, key]:.4f}'
        if hidden[query, key]:
            return f"{pair}, masked"
        return (
            f"{pair}, kept: times {1 / (1 - rate):.2f} = {dropped[query, key]:.4f}"
            if kept[query, key]
            else f"{pair}, dropped"
        )

    drawing.add(Words(left, TITLE / 2, f"weights, p = {rate:.2f}", bold=True))
    drawing.add(Words(left + size * cell + 8, TITLE / 2, "sum"))
    add_map(drawing, left, TITLE + top, dropped, names, names, cell=cell, scale=WEIGHTS, words=words, hidden=hidden)
    drawing.say = say(np.where(hidden, 0, dropped).sum(axis=1), kept & ~hidden, ~hidden, names)
    return drawing


def say(sums, kept, visible, names):
    """The drawing in words."""
    empty = [f'"{name}"' for name, total in zip(names, sums) if total == 0]
    nothing = f" {', '.join(empty)} {'attends' if len(empty) == 1 else 'attend'} to nothing." if empty else ""
    return (
        f"{int(kept.sum())} of {int(visible.sum())} weights are kept. The rows sum to between {sums.min():.2f} and "
        f"{sums.max():.2f}, on average {sums.mean():.2f}.{nothing}"
    )
