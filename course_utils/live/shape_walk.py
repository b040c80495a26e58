"""Chapter 5: a tensor on its way through view, transpose, scores and merge, beside the same way with a common mistake.

Every number has the colour of its head, and one number can be followed: whatever it changes is marked.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.live.base import ALL, LiveFigure, buttons, choice, whole_slider
from course_utils.live.colours import HEADS, hex_ink
from course_utils.live.drawing import Box, Drawing, Words
from course_utils.live.inputs import check_vectors
from course_utils.live.maps import short
from course_utils.validation import check_heads

STEPS = ["1 projected", "2 view", "3 transpose", "4 scores", "5 mix and merge"]
CALLS = [  # what each step does, on the right way and with the mistake
    ("x: (T, d_out)", "x: (T, d_out)"),
    ("x.view(T, heads, head_dim)", "x.view(heads, T, head_dim)"),
    (".transpose(0, 1): (heads, T, head_dim)", "nothing: the shape is right already"),
    ("x @ x.T / √head_dim: (heads, T, T)", "x @ x.T / √head_dim: (heads, T, T)"),
    ("weights @ x, transposed, merged: (T, d_out)", "weights @ x, transposed, merged: (T, d_out)"),
]
SPLIT_AT, SCORES_AT = (1, 2, 3), 3
MOST_TOKENS, MOST_NUMBERS = 8, 16
CELL, SCORE_CELL, ROW = 31, 25, 22  # pixels: the width of a number and of a score, the height of both
TOP, TITLE, GAP, BETWEEN = 52, 20, 10, 24  # pixels: heading; a block's title; between blocks; between the two ways
CHANGE = 1.0  # added to the number that is followed, to see what moves with it
ROUNDING = 1e-9


class Stage(NamedTuple):
    """A tensor at one step. The three arrays have its shape, which is (blocks, rows, columns).

    tokens and heads: to which token and head, by position, each number belonged before the split; a score, its query.
    """

    values: np.ndarray
    tokens: np.ndarray
    heads: np.ndarray


def show_shape_walk(x: ArrayLike, num_heads: int, tokens: Sequence[str]) -> None:
    """Show how a tensor is split into heads and merged, step by step, beside a split without transpose.

    x: (T, d_out), T up to 8 and d_out up to 16; it serves as queries, keys and values. num_heads divides d_out. tokens:
    T names. Raises ValueError for other input.
    """
    shape_walk_figure(x, num_heads, tokens).show()


def shape_walk_figure(x, num_heads, tokens):
    """The LiveFigure that show_shape_walk shows."""
    x = check_vectors("x", x, tokens, MOST_NUMBERS)
    if len(x) > MOST_TOKENS:
        raise ValueError(
            f"This figure has room for {MOST_TOKENS} tokens, not {len(x)}: pass x[:{MOST_TOKENS}] and their names."
        )
    check_heads(x.shape[1], num_heads)
    if num_heads > len(HEADS):
        raise ValueError(
            f"This figure has {len(HEADS)} colours for heads, not {num_heads}: pass fewer numbers and heads."
        )
    names = pictures.numbered(tokens)

    def draw(step, token, number, head):
        changed = x.copy()
        changed[token, number - 1] += CHANGE
        ways = [
            (walk(x, num_heads, transposed)[step], moved(x, changed, num_heads, transposed, step))
            for transposed in (True, False)
        ]
        return draw_walk(ways, names, step, token, number, head, x)

    controls = {
        "step": buttons("", [(name, place) for place, name in enumerate(STEPS)], 2),
        "token": choice("follow a number of", names, min(2, len(names) - 1)),
        "number": whole_slider("which number", 1, 1, x.shape[1]),
        "head": choice("head", [str(head + 1) for head in range(num_heads)], ALL),
    }
    return LiveFigure(
        draw, controls, f"A tensor of {len(names)} tokens split into {num_heads} heads, with transpose and without."
    )


def walk(x, num_heads, transposed):
    """The five stages of x (T, d_out): each a Stage. transposed: split properly, or view straight to the end."""
    T, d_out = x.shape
    head_dim = d_out // num_heads
    tokens = np.repeat(np.arange(T)[:, None], d_out, axis=1)  # (T, d_out), whose number it is
    heads = np.repeat(np.arange(d_out)[None] // head_dim, T, axis=0)  # (T, d_out), of which head
    start = [x, tokens, heads]

    if transposed:
        viewed = [part.reshape(T, num_heads, head_dim) for part in start]  # (T, num_heads, head_dim)
        split = [part.swapaxes(0, 1) for part in viewed]  # (num_heads, T, head_dim)
    else:
        viewed = split = [part.reshape(num_heads, T, head_dim) for part in start]  # the same shape, no transpose
    values, tokens, heads = split

    scores = values @ values.swapaxes(1, 2) / head_dim**0.5  # (num_heads, T, T)
    scores = np.where(np.triu(np.ones((T, T), dtype=bool), k=1), -np.inf, scores)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    context = exponentials / exponentials.sum(axis=-1, keepdims=True) @ values  # (num_heads, T, head_dim)
    asks = [np.repeat(part[:, :, :1], T, axis=2) for part in (tokens, heads)]  # a row of scores is one query's
    merged = [part.swapaxes(0, 1).reshape(1, T, d_out) for part in (context, tokens, heads)]  # (1, T, d_out)
    return [Stage(*parts) for parts in ([part[None] for part in start], viewed, split, [scores, *asks], merged)]


def moved(x, changed, num_heads, transposed, step):
    """Which numbers of a stage move when x becomes `changed`: booleans (blocks, rows, columns)."""
    before, after = (walk(start, num_heads, transposed)[step].values for start in (x, changed))
    both = np.isfinite(before)
    return both & (np.abs(np.where(both, after, 0) - np.where(both, before, 0)) > ROUNDING)


def draw_walk(ways, names, step, token, number, head, x):
    """The drawing: both ways side by side. ways: (Stage, what moved) of each. head: the only one to show, or ALL."""
    width = side_width(names, x.shape[1])
    heights = [height(stage, names, step, width) for stage, _ in ways]
    drawing = Drawing(2 * width + BETWEEN, TOP + max(heights))
    for place, (stage, marked) in enumerate(ways):
        left = place * (width + BETWEEN)
        title = "with view and transpose" if place == 0 else "with view alone: the mistake"
        drawing.add(Words(left, 12, title, bold=True), Words(left, 32, CALLS[step][place]))
        for block, (x_block, y_block) in enumerate(places(stage, names, step, width)):
            parts = [part[block] for part in (*stage, marked)]
            add_block(
                drawing,
                left + x_block,
                TOP + y_block,
                parts,
                names,
                step,
                head,
                block_title(stage, names, step, place, block),
            )
    drawing.say = say(ways, names, step, token, number, x)
    return drawing


def side_width(names, d_out):
    """Pixels for one of the two ways: a token's name and all its numbers."""
    return label_width(names) + d_out * CELL


def label_width(names):
    """Pixels for the name of a row: a token, and perhaps a head."""
    return 26 + round(6 * max(len(short(name)) for name in names))


def places(stage, names, step, width):
    """Where the blocks of a stage stand: as many side by side as fit."""
    blocks, rows, columns = stage.values.shape
    wide = label_width(names) + columns * (SCORE_CELL if step == SCORES_AT else CELL) + GAP
    across, high = max(1, (width + GAP) // wide), TITLE + rows * ROW + GAP
    return [(block % across * wide, block // across * high) for block in range(blocks)]


def height(stage, names, step, width):
    """Pixels for all blocks of a stage."""
    return places(stage, names, step, width)[-1][1] + TITLE + stage.values.shape[1] * ROW + 4


def block_title(stage, names, step, place, block):
    """What a block is called: a token after the view, else a head."""
    if step not in SPLIT_AT:
        return ""
    return names[block] if (step, place) == (1, 0) else f"head {block + 1}"


def add_block(drawing, x, y, parts, names, step, head, title):
    """Draw one block of a stage: a row of numbers per token, or per head."""
    left, cell = x + label_width(names), SCORE_CELL if step == SCORES_AT else CELL
    text = "{:.1f}" if step == SCORES_AT else "{:.2f}"
    drawing.add(Words(left, y + TITLE / 2, title, bold=True))
    all_values, all_tokens, all_heads, all_marked = (part.tolist() for part in parts)
    asking = [f'"{names[tokens[0]]}", head {heads[0] + 1}' for tokens, heads in zip(all_tokens, all_heads)]
    for row, values in enumerate(all_values):
        top = y + TITLE + row * ROW
        whose = (
            f"{short(names[all_tokens[row][0]])} · {all_heads[row][0] + 1}" if step in SPLIT_AT else short(names[row])
        )
        drawing.add(Words(left - 6, top + ROW / 2, whose, "end", 11))
        for column, value in enumerate(values):
            its_head = all_heads[row][column]
            if head not in (ALL, its_head):
                continue
            at, hidden = left + column * cell, value == -np.inf
            colour = pictures.HIDDEN if hidden else HEADS[its_head]
            if step == SCORES_AT:
                hover = f"query {asking[row]}, key {asking[column]}: {'masked' if hidden else f'score {value:.4f}'}"
            else:
                hover = f'"{names[all_tokens[row][column]]}", head {its_head + 1}: {value:.4f}'
            drawing.add(Box(at, top, cell - 1, ROW - 1, colour, hover))
            if not hidden:
                ink = hex_ink(colour)
                drawing.add(Words(at + cell / 2, top + ROW / 2, text.format(value), "middle", 9, ink))
                if all_marked[row][column]:
                    drawing.add(Box(at + 1, top + 1, cell - 3, ROW - 3, outline=ink))


def say(ways, names, step, token, number, x):
    """The drawing in words."""
    what = f'Number {number} of "{names[token]}", {x[token, number - 1]:.2f}, is framed, and so is all that it changes'
    counts = [int(marked.sum()) for _, marked in ways]
    if step < SCORES_AT:
        return f"{what}. Every number has the colour of its head; a row names its numbers' token and head."
    if step == SCORES_AT:
        return f"{what}: {counts[0]} scores with transpose, {counts[1]} without."
    reached = np.flatnonzero(ways[1][1][0].any(axis=1))  # rows, without transpose
    early = ", ".join(names[row] for row in reached if row < token)
    early = f" Without transpose it reaches {early}, which must not see it." if early else ""
    return f"{what}: {counts[0]} numbers with transpose, {counts[1]} without.{early}"
