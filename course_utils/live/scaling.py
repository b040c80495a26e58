"""Chapter 2: from products to scores to weights, while d_k grows, with and without scaling, at any temperature."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.live.base import LiveFigure, choice, slider, tick, whole_slider
from course_utils.live.colours import BAR, OUTLINE, SECOND_BAR, signed
from course_utils.live.drawing import Box, Drawing, Line, Words
from course_utils.live.inputs import check_finite, check_vectors
from course_utils.live.maps import short

LARGEST = 128  # numbers of a query that can be opened and still be read
ACROSS, CELL, ROW = 16, 42, 26  # products per line; pixels
TOP, BARS, NUMBER = 44, 200, 56  # pixels: headings; a column of bars; room for the number beside a bar


def show_scaling(query: ArrayLike, keys: ArrayLike, tokens: Sequence[str]) -> None:
    """Show one query's scores and weights, with controls for d_k, scaling, temperature and the key to open.

    query: (d,); keys: (T, d), d up to 128. d_k takes the first numbers of both. tokens: T names of the keys. Raises
    ValueError for other input.
    """
    scaling_figure(query, keys, tokens).show()


def scaling_figure(query, keys, tokens):
    """The LiveFigure that show_scaling shows."""
    keys = check_vectors("keys", keys, tokens, LARGEST)
    query = pictures.array(query)
    if query.shape != keys.shape[1:]:
        raise ValueError(
            f"query must have as many numbers as a key, shape {keys.shape[1:]}; this has shape {query.shape}."
        )
    check_finite("query", query)
    names = pictures.numbered(tokens)
    products = query * keys  # (T, d)
    subtotals = products.cumsum(axis=1)  # (T, d): the scores for every d_k

    controls = {
        "d_k": whole_slider("d_k", keys.shape[1], 1, keys.shape[1]),
        "scaled": tick("divide by √d_k", True),
        "temperature": slider("temperature", 1.0, 0.1, 4.0, 0.1),
        "opened": choice("open the score of", names, 0),
    }

    def draw(d_k, scaled, temperature, opened):
        return draw_scaling(products, subtotals, query, keys, names, d_k, scaled, temperature, opened)

    return LiveFigure(
        draw, controls, f"Scores and weights of one query against {len(names)} keys, and one score's products."
    )


def weigh(scores, d_k, scaled, temperature):
    """(divided scores, weights), each (T,): softmax of scores / √d_k / temperature."""
    divided = scores / (d_k**0.5 if scaled else 1) / temperature
    exponentials = np.exp(divided - divided.max())
    return divided, exponentials / exponentials.sum()


def draw_scaling(products, subtotals, query, keys, names, d_k, scaled, temperature, opened):
    """The drawing: a row per key with its score, what softmax gets, and its weight; below, one score's products."""
    scores = subtotals[:, d_k - 1]
    divided, weights = weigh(scores, d_k, scaled, temperature)
    size = len(names)
    left = 14 + round(7.5 * max(len(short(name)) for name in names))
    columns = [left + number * (BARS + NUMBER) for number in range(3)]
    below = TOP + ROW * size + 40
    lines = -(-d_k // ACROSS)
    drawing = Drawing(max(columns[2] + BARS + NUMBER, 2 * left + ACROSS * CELL), below + 14 + ROW * lines)

    by = ("√d_k" if scaled else "") + (" and " if scaled and temperature != 1 else "")
    by += f"temperature {temperature:.1f}" if temperature != 1 else ""
    headings = [
        ("score q · k", f"d_k = {d_k}"),
        ("softmax gets", f"score / {by}" if by else "the score"),
        ("weight", ""),
    ]
    for x, (title, more) in zip(columns, headings):
        drawing.add(Words(x, 12, title, bold=True), Words(x, 29, more, size=11))
    reach = abs(subtotals).max() or 1  # one scale for all d_k, so that the bars grow as they do
    for row, name in enumerate(names):
        y = TOP + ROW * row
        drawing.add(Words(left - 8, y + ROW / 2, short(name), "end", bold=row == opened, hover=name))
        hover = f'key "{name}": score {scores[row]:.4f}, divided {divided[row]:.4f}, weight {weights[row]:.4f}'
        add_signed_bar(drawing, columns[0], y, scores[row] / reach, f"{scores[row]:.2f}", BAR, hover)
        add_signed_bar(drawing, columns[1], y, divided[row] / reach, f"{divided[row]:.2f}", BAR, hover)
        length = round((BARS - 10) * weights[row])
        drawing.add(
            Box(columns[2], y + 4, max(length, 1), ROW - 8, SECOND_BAR, hover),
            Words(columns[2] + length + 6, y + ROW / 2, f"{weights[row]:.4f}", hover=hover),
        )
    for x in columns[:2]:
        drawing.add(Line(x + BARS / 2, TOP, x + BARS / 2, TOP + ROW * size))
    drawing.add(Box(2, TOP + ROW * opened, columns[2] + BARS + NUMBER - 4, ROW, outline=OUTLINE))
    add_products(drawing, left, below, products[opened, :d_k], query, keys[opened], names[opened])
    drawing.say = say(names, scores, weights, d_k, opened)
    return drawing


def add_signed_bar(drawing, x, y, share, text, colour, hover):
    """Draw a bar from the middle of its column, to the right if positive. share: -1 to 1."""
    middle, length = x + BARS / 2, round(abs(share) * BARS / 2)
    drawing.add(
        Box(middle if share >= 0 else middle - length, y + 4, max(length, 1), ROW - 8, colour, hover),
        Words(x + BARS + 4, y + ROW / 2, text, hover=hover),
    )


def add_products(drawing, x, y, products, query, key, name):
    """Draw the products that add up to one score, a cell each."""
    drawing.add(Words(x, y - 8, f"The products q · k that add up to the score of “{short(name)}”", bold=True))
    scale = signed(products)
    for number, product in enumerate(products):
        left, top = x + number % ACROSS * CELL, y + 8 + number // ACROSS * ROW
        colour, ink = scale.pair(product)
        hover = f"number {number + 1}: q {query[number]:.4f} times k {key[number]:.4f} = {product:.4f}"
        drawing.add(
            Box(left, top, CELL - 1, ROW - 1, colour, hover),
            Words(left + CELL / 2, top + ROW / 2, f"{product:.2f}", "middle", 11, ink),
        )


def say(names, scores, weights, d_k, opened):
    """The drawing in words."""
    best = int(weights.argmax())
    return (
        f"With d_k = {d_k} the scores lie between {scores.min():.2f} and {scores.max():.2f}, and the largest weight is "
        f'{weights[best]:.2f}, for "{names[best]}". '
        f'The score of "{names[opened]}" is the sum of {d_k} products, {scores[opened]:.2f}.'
    )
