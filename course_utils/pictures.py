"""The course's figures, all with one look: `show_weights`, `show_scores`, `show_curves`.

Each draws with matplotlib, displays a PNG that is the same on every run, and carries alt text. They take tensors,
arrays or nested lists.
"""

import base64
import io

import numpy as np
from IPython.display import display
from matplotlib.figure import Figure

DOTS_PER_INCH = 100
LARGEST_WITH_NUMBERS = 8  # tokens; larger maps have no room for numbers
EVEN_CONTRAST = 0.179  # relative luminance (WCAG) on which black and white text are equally readable
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"]  # Okabe and Ito's, told apart by colour-blind readers
STYLES = ["-", "--", ":", "-."]  # and without any colour


def show_weights(weights, tokens, *, alt, title=""):
    """Show attention weights of shape (T, T) as a map from 0 to 1, with row sums beside it.

    weights: row i is the query, column j the key. tokens: T names. alt: what the figure shows, in words.
    Raises ValueError when the shape and the number of names differ.
    """
    values = square(weights, tokens)
    figure, axes = grid(values, tokens, title, "attention weight", colours="viridis", lowest=0, highest=1)
    sums = axes.secondary_yaxis("right")
    sums.set_yticks(range(len(values)), [f"{total:.2f}" for total in values.sum(axis=1)])
    sums.set_ylabel("sum of the row", rotation=270, labelpad=14)
    sums.tick_params(length=0)
    show(figure, alt)


def show_scores(scores, tokens, *, alt, title=""):
    """Show attention scores of shape (T, T) as a map whose colours are symmetric around zero.

    scores: row i is the query, column j the key. tokens: T names. alt: what the figure shows, in words.
    Raises ValueError when the shape and the number of names differ.
    """
    values = square(scores, tokens)
    reach = abs(values).max()
    figure, _ = grid(values, tokens, title, "score", colours="PuOr_r", lowest=-reach, highest=reach)
    show(figure, alt)


def show_curves(curves, *, x_label, y_label, alt, logarithmic=False):
    """Show named curves, {name: T numbers}, over 0, 1, 2, ...

    logarithmic: draw the vertical axis in powers of ten. alt: what the figure shows, in words.
    """
    figure = Figure(figsize=(6.4, 3.6), dpi=DOTS_PER_INCH, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    for (name, values), colour, style in zip(curves.items(), COLOURS, STYLES):
        axes.plot(array(values), label=name, color=colour, linestyle=style, linewidth=2)
    if logarithmic:
        axes.set_yscale("log")
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    show(figure, alt)


def array(values):
    """A tensor (on any device, with or without a gradient), array or nested list as an array."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().double()
    return np.asarray(values, dtype=float)


def square(values, tokens):
    """The values as an array of shape (T, T), one row and column for each of the T tokens."""
    values = array(values)
    if values.shape != (len(tokens), len(tokens)):
        raise ValueError(
            f"A map of {len(tokens)} tokens needs a matrix of shape ({len(tokens)}, {len(tokens)}), "
            f"not {tuple(values.shape)}. For a batch or several heads, pick one first: weights[0]."
        )
    return values


def grid(values, tokens, title, unit, *, colours, lowest, highest):
    """A figure with one map of shape (T, T) and its axes: queries down, keys across, row 0 on top.

    unit: what a colour stands for.
    """
    figure = Figure(figsize=(6.4, 4.6), dpi=DOTS_PER_INCH, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(values, cmap=colours, vmin=lowest, vmax=highest)
    names = numbered(tokens)
    axes.set_xticks(range(len(names)), names, rotation=35, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="key (attended to)", ylabel="query (attends)", title=title)
    figure.colorbar(image, ax=axes, shrink=0.8, label=unit)
    if len(values) <= LARGEST_WITH_NUMBERS:
        for (row, column), value in np.ndenumerate(values):
            ink = readable_on(image.cmap(image.norm(value)))
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=9, color=ink)
    return figure, axes


def readable_on(colour):
    """"black" or "white", whichever has more contrast on an RGBA colour."""
    return "black" if luminance(colour) > EVEN_CONTRAST else "white"


def luminance(colour):
    """Relative luminance, 0 to 1, of an RGBA colour with parts from 0 to 1 (WCAG 2)."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3]]
    return np.dot([0.2126, 0.7152, 0.0722], linear)


def numbered(tokens):
    """Token names, with their position behind those that occur more than once."""
    tokens = list(tokens)
    return [f"{token} ({place})" if tokens.count(token) > 1 else token for place, token in enumerate(tokens, start=1)]


def show(figure, alt):
    """Display a figure as a PNG with alt text, which is also what readers without pictures get."""
    picture = io.BytesIO()
    # without the version of matplotlib, so that the bytes are the same again
    figure.savefig(picture, format="png", bbox_inches="tight", metadata={"Software": None})
    bundle = {"image/png": base64.b64encode(picture.getvalue()).decode(), "text/plain": f"Figure: {alt}"}
    display(bundle, raw=True, metadata={"image/png": {"alt": alt}})
