"""The course's figures, all with one look: `show_weights`, `show_dependencies`, `show_curves`.

Each draws with matplotlib and displays a PNG that is the same in every run. They take tensors (on
any device, with or without gradients), arrays or nested lists. In every map, row 0 is on top and a row is one query.
"""

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from IPython.display import display
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

__all__ = ["show", "show_curves", "show_dependencies", "show_weights"]

DOTS_PER_INCH = 100
LARGEST_WITH_NUMBERS = 8  # tokens; larger maps have no room for numbers
LARGEST_WEIGHT = 1e6  # dropout gives weights above 1, but never this large
EVEN_CONTRAST = 0.179  # relative luminance (WCAG) on which black and white text are equally readable
WEIGHTS_MAP, DEPENDS_MAP = "viridis", "Blues"  # matplotlib's names
HIDDEN, HATCH = "#e2e2e2", "#6b6b6b"  # masked cells are hatched: masked is not zero, and grey is a middle score
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"]  # Okabe and Ito's, which colour-blind readers can distinguish
STYLES, MARKS = ["-", "--", ":", "-."], "os^D"  # and distinguishable without any colour
Numbers: TypeAlias = NDArray[np.float64]
Truths: TypeAlias = NDArray[np.bool_]


def show_weights(
    weights: ArrayLike,
    tokens: Sequence[str],
    *,
    title: str = "",
    masked: ArrayLike | None = None,
    key_tokens: Sequence[str] | None = None,
) -> None:
    """Show attention weights as a map from 0 to 1, with the sum of each row beside it.

    weights: shape (T, T), or (num_heads, T, T) for a panel per head. tokens: T names. masked: a boolean matrix of shape
    (T, T), True where a cell is hidden from its query; it is hatched. title: above the map.
    key_tokens: the S names of the keys if they are another sequence; weights and masked are then (T, S).
    Raises ValueError if shape and names do not fit, and for numbers that cannot be weights.
    """
    names, keys, heads, hidden = weight_maps(weights, tokens, masked, key_tokens)
    figure, all_axes = draw_maps(heads, names, keys, hidden, title)
    for axes, values in zip(all_axes, heads):
        sums = axes.secondary_yaxis("right")
        sums.set_yticks(range(len(names)), [f"{total:.2f}" for total in values.sum(axis=1)])
        sums.set_ylabel("sum of the row", rotation=270, labelpad=14)
        sums.tick_params(length=0)
    show(figure)


def show_dependencies(depends: ArrayLike, tokens: Sequence[str], *, title: str = "") -> None:
    """Show which output depends on which input. Raises ValueError for other input.

    depends: a boolean matrix (T, T), row t, column s for output t and input s. tokens: T names. title: above the map.
    """
    names = numbered(tokens)
    maps = panels("depends", depends, names, names)
    check_room(len(maps), 1, "dependency matrix", "pass depends[0]")
    figure, (axes,) = draw_maps(maps, names, names, np.zeros(maps.shape[1:], dtype=bool), title, depends=True)
    axes.set(xlabel="input of", ylabel="output of")
    show(figure)


def show_curves(
    curves: Mapping[str, ArrayLike],
    *,
    x_label: str,
    y_label: str,
    x: ArrayLike | None = None,
    title: str = "",
    logarithmic: bool = False,
    doublings: bool = False,
    joined: bool = True,
) -> None:
    """Show named curves over `x`, or over 0, 1, 2, ... without it.

    curves: {name: numbers}, up to four. x_label, y_label, title: the words at the axes and above. logarithmic: draw the
    vertical axis in powers of ten. doublings: draw the horizontal one in powers of two. joined: draw lines, not
    only points; use False for counts. Raises ValueError for more curves.
    """
    figure = Figure(figsize=(6.4, 3.6), dpi=DOTS_PER_INCH, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    check_room(len(curves), len(COLOURS), "curves", "draw two figures")
    for (name, values), colour, style in zip(curves.items(), COLOURS, STYLES if joined else MARKS):
        places = range(len(values)) if x is None else array(x)
        axes.plot(places, array(values), style, label=name, color=colour, linewidth=2)
    if doublings:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:.0f}")
    axes.set(xlabel=x_label, ylabel=y_label, title=title, yscale="log" if logarithmic else "linear")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    show(figure)


# --- parts of the figures ------------------------------------------------------------------------------------------


def array(values: Any) -> Numbers:
    """A tensor (on any device, with or without a gradient), array or nested list as an array of floats."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().double()
    return np.asarray(values, dtype=float)


def shaped(name: str, values: ArrayLike, wanted: str, *shape: str | int) -> Numbers:
    """Values as an array of floats of this shape, in which a word stands for any size from 1.

    name: the caller's name for them. wanted: what they must be, in words. Raises ValueError.
    """
    values = array(values)
    sizes = [found if isinstance(size, str) else size for size, found in zip(shape, values.shape)]
    if len(shape) != values.ndim or values.shape != tuple(sizes) or values.size == 0:
        written = str(shape).replace("'", "")
        unfit = f"{name} must {wanted}, with shape {written}; it has shape {values.shape}."
        raise ValueError(f"{unfit} If it is a batch of several, pick one first: {name}[0].")
    return values


def panels(name: str, values: ArrayLike, names: Sequence[str], keys: Sequence[str]) -> Numbers:
    """The values as an array of shape (panels, T, S), for T tokens and S keys: one map, or one per head."""
    size = (len(names), len(keys))
    heads = ["num_heads"] if np.ndim(values) == 3 else []
    wanted = f"be a map of {len(names)} tokens and {len(keys)} keys, or one per head"
    return shaped(name, values, wanted, *heads, *size).reshape(-1, *size)


def weight_maps(
    weights: ArrayLike, tokens: Sequence[str], masked: ArrayLike | None, key_tokens: Sequence[str] | None = None
) -> tuple[list[str], list[str], Numbers, Truths]:
    """The contents of maps of weights: names of tokens and keys, the weights as in `panels`, hidden cells."""
    names = numbered(tokens)
    keys = names if key_tokens is None else numbered(key_tokens)
    heads = panels("weights", weights, names, keys)
    check_weights(heads)
    hidden = np.zeros_like(heads[0]) if masked is None else panels("masked", masked, names, keys)[0]
    return names, keys, heads, hidden.astype(bool)


def check_weights(values: Numbers) -> None:
    """Refuse values that softmax and dropout cannot give; rows need not sum to 1. Raises ValueError."""
    refuse("weights", values, np.isnan(values), "a fully masked row gives nan; let every query see at least one key")
    refuse("weights", values, values < 0, "these look like scores; apply torch.softmax(scores, dim=-1) first")
    refuse("weights", values, values > LARGEST_WEIGHT, "softmax cannot give such a large weight")


def refuse(name: str, values: Numbers, wrong: Truths, reason: str) -> None:
    """Refuse wrong values: name the first one's place and the reason. Raises ValueError."""
    if wrong.any():
        *_, row, column = np.argwhere(np.atleast_2d(wrong))[0] + 1
        raise ValueError(f"The entry of {name} in row {row}, column {column} is {values[wrong][0]:.4g}: {reason}.")


def check_room(count: int, most: float, what: str, instead: str = "pass fewer of them") -> None:
    """Refuse more than a figure has room for. Raises ValueError. instead: what to do instead, in words."""
    if count > most:
        raise ValueError(f"This figure has room for {most} {what}, not {count}: {instead}.")


def draw_maps(
    maps: Numbers, names: Sequence[str], keys: Sequence[str], hidden: Truths, title: str, depends: bool = False
) -> tuple[Figure, NDArray[np.object_]]:
    """A figure with a map per panel on one colour scale, and its axes.

    hidden: a boolean array (T, S), True where a cell is hatched. depends: the cells are truths, 0 or 1, not weights.
    There is a colour bar for weights without numbers in their cells.
    """
    count = len(maps)
    figure = Figure(figsize=(0.9 + 5.5 * count, 4.6), dpi=DOTS_PER_INCH, facecolor="white", layout="constrained")
    all_axes = figure.subplots(1, count, squeeze=False)[0]
    numbers = max(len(names), len(keys)) <= LARGEST_WITH_NUMBERS
    for head, (axes, values) in enumerate(zip(all_axes, maps)):
        seen = np.ma.masked_where(hidden, values)
        image = axes.imshow(seen, cmap=DEPENDS_MAP if depends else WEIGHTS_MAP, vmin=0, vmax=1)
        axes.patch.set(facecolor=HIDDEN, edgecolor=HATCH, hatch="///")
        axes.xaxis.set(label_position="top", ticks_position="top")  # as in live maps
        axes.set_xticks(range(len(keys)), keys, rotation=35, ha="left", rotation_mode="anchor")
        axes.set_yticks(range(len(names)), names)
        axes.set(xlabel="key (attended to)", ylabel="query (attends)", title=f"head {head}" if count > 1 else title)
        for (row, column), value in np.ma.ndenumerate(seen) if numbers else ():
            text = ("·", "yes")[int(value)] if depends else f"{value:.2f}"
            ink = readable_on(image.cmap(image.norm(value)))
            axes.text(column, row, text, ha="center", va="center", fontsize=9, color=ink)
    if count > 1:
        figure.suptitle(title)
    if not depends and not numbers:
        figure.colorbar(image, ax=all_axes, shrink=0.8, label="attention weight")
    return figure, all_axes


def readable_on(colour: Sequence[float]) -> str:
    """ "black" or "white", whichever has more contrast on an RGBA colour."""
    return "black" if luminance(colour) > EVEN_CONTRAST else "white"


def luminance(colour: Sequence[float]) -> float:
    """Relative luminance, 0 to 1, of an RGBA colour with parts from 0 to 1 (WCAG 2)."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3]]
    return np.dot([0.2126, 0.7152, 0.0722], linear)


def numbered(tokens: Sequence[str], most: float = np.inf) -> list[str]:
    """Up to `most` token names, with a position after those that occur more than once. Raises ValueError."""
    if isinstance(tokens, str) or len(tokens) == 0:
        raise ValueError(f"tokens must be a list of one or more names, such as sentence.split(), not {tokens!r}.")
    check_room(len(tokens), most, "tokens")
    tokens = list(tokens)
    return [f"{token} ({position})" if tokens.count(token) > 1 else str(token) for position, token in enumerate(tokens)]


def show(figure: Figure) -> None:
    """Display a figure as a PNG. Its cell has the alt text, which a build adds to the stored output."""
    picture = io.BytesIO()
    # without the version of matplotlib, so that the bytes are the same again
    figure.savefig(picture, format="png", bbox_inches="tight", metadata={"Software": None})
    display({"image/png": base64.b64encode(picture.getvalue()).decode(), "text/plain": "Figure"}, raw=True)
