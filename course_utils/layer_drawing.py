"""A drawing of the attention layer's data flow, which grows from chapter to chapter: `show_layer`.

Chapter 1 has scores and the weighted sum; each later chapter adds the part that it builds. Boxes are steps, in the
order of `forward`; arrows carry names and shapes. The drawing is narrow enough for a phone.
"""

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_utils.pictures import COLOURS, DOTS_PER_INCH, show

__all__ = ["show_layer"]

PARTS = ("scores", "projections", "mask", "dropout", "heads")  # what chapters 1 to 5 add
QUERIES, KEYS, VALUES = COLUMNS = range(3)
SCORED = COLUMNS[:VALUES]

LEFT, COLUMN, APART = 8, 118, 6  # pixels: the margin, a column's width, the space between two
HEIGHT, LINE, GAP = 23, 13, 10  # of a box, of a line of text on an arrow, of an arrow without text
FOOT = 14  # an arrow's distance from its column's left edge, which leaves room for its text
TEXT = 8.5  # points
# What fills a box, its frame, the width of the frame, and the weight of the words.
OLD, NEW = ("#f4f4f4", "#8a8f98", 1, "normal"), ("#fbe3d3", COLOURS[1], 2, "bold")


@dataclass(frozen=True)
class Step:
    """A box. columns: those that it covers. out: {column: the text at its arrow, or ""}."""

    part: str
    words: str
    columns: range
    out: dict[int, str]


def show_layer(upto: str) -> None:
    """Show the layer with all parts up to one, which is marked as new.

    upto: "scores", "projections", "mask", "dropout" or "heads". Raises ValueError for another name.
    """
    if upto not in PARTS:
        raise ValueError(f"The parts of the layer are {', '.join(PARTS)}, not {upto!r}.")
    show(drawing(upto))


# --- what is drawn ----------------------------------------------------------------------------------------------------


def rows_upto(part: str) -> list[list[Step]]:
    """The steps up to a part from top to bottom, those side by side in one list."""
    parts = PARTS[: PARTS.index(part) + 1]
    batch = "B, " if "mask" in parts else ""
    heads = "num_heads, " if "heads" in parts else ""
    d_v = "d_out" if "projections" in parts else "d_in"
    d_k = "d_k" if "projections" in parts and not heads else d_v
    widths = {"queries": d_k, "keys": d_k, "values": d_v}
    named = {column: f"{name}\n({batch}T, {width})" for column, (name, width) in enumerate(widths.items())}
    table, output = f"({batch}{heads}T, T)", f"({batch}T, {d_v})"
    mixed = "(B, num_heads, T, head_dim)" if heads else output

    first = dict.fromkeys(COLUMNS, "") if "projections" in parts else named
    names = ["query", "key", "value"]
    steps = [
        [Step("scores", f"inputs ({batch}T, d_in)", COLUMNS, first)],
        [Step("projections", f"times W_{name}", COLUMNS[c : c + 1], {c: named[c]}) for c, name in enumerate(names)],
        [Step("heads", "split into heads", COLUMNS, dict.fromkeys(COLUMNS, "(B, num_heads,\nT, head_dim)"))],
        [Step("scores", "queries times keys", SCORED, {QUERIES: f"scores {table}"})],
        [Step("mask", "hide the future: −∞", SCORED, {QUERIES: ""})],
        [Step("projections", f"divide by √{'head_dim' if heads else 'd_k'}", SCORED, {QUERIES: ""})],
        [Step("scores", "softmax", SCORED, {QUERIES: f"weights {table}"})],
        [Step("dropout", "dropout (in training)", SCORED, {QUERIES: ""})],
        [Step("scores", "weighted sum of the values", COLUMNS, {QUERIES: f"context {mixed}"})],
        [Step("heads", "merge the heads", COLUMNS, {QUERIES: output})],
        [Step("heads", "out_proj", COLUMNS, {QUERIES: output})],
    ]
    return [row for row in steps if row[0].part in parts]


# --- how it is drawn --------------------------------------------------------------------------------------------------


def edges(columns: range) -> tuple[int, int]:
    """The left and the right edge of a box, in pixels."""
    return LEFT + columns[0] * (COLUMN + APART), LEFT + columns[-1] * (COLUMN + APART) + COLUMN


def drawing(new: str) -> Figure:
    """The Figure of the layer up to a part, with the steps of this part marked as new."""
    rows = rows_upto(new)
    gaps = [GAP + LINE * max(len(text.splitlines()) for step in row for text in step.out.values()) for row in rows]
    wide, high = edges(COLUMNS)[1] + LEFT, HEIGHT * len(rows) + sum(gaps) + 2 * LEFT + 4
    figure = Figure(figsize=(wide / DOTS_PER_INCH, high / DOTS_PER_INCH), dpi=DOTS_PER_INCH, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, wide), ylim=(high, 0))
    axes.axis("off")
    tops = [LEFT + HEIGHT * k + sum(gaps[:k]) for k in range(len(rows))]
    for k, row in enumerate(rows):
        for step in row:
            box(axes, step, tops[k], step.part == new)
            for column, text in step.out.items():
                later = zip(tops[k + 1 :], rows[k + 1 :])
                below = (top for top, steps in later if any(column in each.columns for each in steps))
                end = next(below, tops[k] + HEIGHT + gaps[k])  # the last arrow leaves the drawing
                arrow(axes, edges(COLUMNS[column:])[0] + FOOT, tops[k] + HEIGHT, end, text)
    box(axes, Step(new, f"new in chapter {1 + PARTS.index(new)}", COLUMNS[VALUES:], {}), high - HEIGHT - 4, True)
    return figure


def box(axes: Axes, step: Step, top: float, new: bool) -> None:
    """A step as a box with its words inside."""
    left, right = edges(step.columns)
    fill, frame, width, weight = NEW if new else OLD
    axes.add_patch(Rectangle((left, top), right - left, HEIGHT, facecolor=fill, edgecolor=frame, linewidth=width))
    middle = (left + right) / 2, top + HEIGHT / 2
    axes.text(*middle, step.words, size=TEXT, ha="center", va="center_baseline", weight=weight)


def arrow(axes: Axes, x: float, start: float, end: float, text: str) -> None:
    """An arrow downwards, with its text to the right of it."""
    axes.annotate("", (x, end), (x, start), arrowprops=dict(arrowstyle="-|>", color="#444", shrinkA=0, shrinkB=0))
    for number, line in enumerate(text.splitlines(), start=1):
        axes.text(x + 7, start + LINE * number, line, size=TEXT, va="baseline")
