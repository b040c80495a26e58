"""Chapter 1: one query, step by step: scores, weights, context vector. Every number of an embedding can be changed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.live.base import LiveFigure, buttons, choice, slider
from course_utils.live.colours import BAR, OUTLINE, SECOND_BAR, signed
from course_utils.live.drawing import Box, Drawing, Line, Words
from course_utils.live.inputs import check_vectors
from course_utils.live.maps import short

STEPS = ["1 scores", "2 weights", "3 context vector"]
MOST_NUMBERS = 6  # of an embedding: each has a slider and two columns
CELL, ROW, TOP = 44, 30, 46  # pixels: width of a number, height of a token's row, of the heading
BARS = 150  # pixels: a column of bars with their numbers


def show_query_steps(inputs: ArrayLike, tokens: Sequence[str]) -> None:
    """Show how one query attends, with controls for the query, the step and the embeddings.

    inputs: embeddings of shape (T, d_in), d_in up to 6. tokens: T names. Raises ValueError for other input.
    """
    query_steps_figure(inputs, tokens).show()


def query_steps_figure(inputs, tokens):
    """The LiveFigure that show_query_steps shows."""
    inputs = check_vectors("inputs", inputs, tokens, MOST_NUMBERS)
    names = pictures.numbered(tokens)
    reach = max(1.0, float(np.abs(inputs).max())) * 2
    first = min(1, len(names) - 1)  # the second token, as in the chapter

    controls = {"query": choice("query", names, first), "step": buttons("", STEPS, STEPS[-1])}
    controls["edited"] = choice("change the embedding of", names, first)
    numbers = [
        slider(f"number {place + 1}", value, -reach, reach, 0.01) for place, value in enumerate(inputs[first].tolist())
    ]
    controls |= {f"number_{place + 1}": control for place, control in enumerate(numbers)}

    def back_to_its_own_numbers(change):
        with figure.hold():
            for control, value in zip(numbers, inputs[change.new].tolist()):
                control.value = value

    controls["edited"].observe(back_to_its_own_numbers, "value")  # before the figure's own

    def draw(query, step, edited, **numbers):
        changed = inputs.copy()
        changed[edited] = list(numbers.values())
        return draw_steps(changed, names, query, STEPS.index(step) + 1)

    figure = LiveFigure(draw, controls, f"Scores, weights and context vector of one query among {len(names)} tokens.")
    return figure


def attend(query, inputs):
    """(scores, weights, context): dot-product attention of one query (d_in,) over inputs (T, d_in)."""
    scores = inputs @ query  # (T, d_in) @ (d_in,) -> (T,)
    exponentials = np.exp(scores - scores.max())
    weights = exponentials / exponentials.sum()  # (T,), sums to 1
    return scores, weights, weights @ inputs  # (T,) @ (T, d_in) -> (d_in,)


def draw_steps(inputs, names, query, step):
    """The drawing: a row per token, with columns up to this step (1, 2 or 3)."""
    scores, weights, context = attend(inputs[query], inputs)
    size, width = inputs.shape
    left = 14 + round(7.5 * max(len(short(name)) for name in names))
    columns = {"embedding": left, "score": left + width * CELL + 24}
    columns["weight"] = columns["score"] + BARS
    columns["mixed"] = columns["weight"] + BARS
    drawing = Drawing(round(columns["mixed"] + width * CELL + 4), TOP + ROW * (size + 1) + 14)

    add_headings(drawing, columns, step, names[query])
    for row, name in enumerate(names):
        middle = TOP + ROW * (row + 0.5)
        drawing.add(Words(left - 8, middle, short(name), "end", bold=row == query, hover=name))
    add_numbers(
        drawing, columns["embedding"], inputs, lambda row, n: f'number {n + 1} of "{names[row]}": {inputs[row, n]:.4f}'
    )
    drawing.add(Box(left - 1, TOP + ROW * query, width * CELL + 1, ROW, outline=OUTLINE))

    pairs = [f'query "{names[query]}", key "{name}": ' for name in names]
    products = [" + ".join(f"{a:.2f} · {b:.2f}" for a, b in zip(inputs[query], row)) for row in inputs]
    hovers = [f"{pair}score {product} = {score:.4f}" for pair, product, score in zip(pairs, products, scores)]
    add_bars(drawing, columns["score"], scores, abs(scores).max() or 1, BAR, hovers)
    if step >= 2:
        hovers = [
            f"{pair}score {score:.4f}, weight {weight:.4f}" for pair, score, weight in zip(pairs, scores, weights)
        ]
        add_bars(drawing, columns["weight"], weights, 1, SECOND_BAR, hovers)
        add_total(drawing, columns["weight"], size, f"sum {weights.sum():.2f}")
    if step >= 3:
        mixed = weights[:, None] * inputs  # (T, d_in)

        def words(row, number):
            value, product = inputs[row, number], mixed[row, number]
            return f'weight {weights[row]:.4f} · {value:.4f} of "{names[row]}" = {product:.4f}'

        add_numbers(drawing, columns["mixed"], mixed, words)
        add_context(drawing, columns["mixed"], size, context)
    drawing.say = say(names, query, scores, weights, context, step)
    return drawing


def add_headings(drawing, columns, step, query):
    """Name the columns that are drawn."""
    titles = [
        ("embedding", "embedding", "key = value"),
        ("score", "score ω", f"dot product with “{short(query)}”"),
        ("weight", "weight α", "softmax"),
        ("mixed", "weight · value", "added up: z"),
    ]
    for column, title, below in titles[: step + 1]:
        drawing.add(Words(columns[column], 12, title, bold=True), Words(columns[column], 30, below, size=11))


def add_numbers(drawing, x, values, words):
    """Draw a table of numbers (T, d_in), coloured around zero. words: words(row, number) for pointing at one."""
    scale = signed(values)
    for (row, number), value in np.ndenumerate(values):
        colour, ink = scale.pair(value)
        left, top = x + number * CELL, TOP + row * ROW
        drawing.add(
            Box(left, top + 1, CELL - 1, ROW - 2, colour, words(row, number)),
            Words(left + CELL / 2, top + ROW / 2, f"{value:.2f}", "middle", colour=ink),
        )


def add_bars(drawing, x, values, longest, colour, hovers):
    """Draw a bar with its number per token; `longest` is the value of a full bar. Negative bars are hollow."""
    room = BARS - 70
    for row, (value, hover) in enumerate(zip(values, hovers)):
        length, top = round(room * abs(value) / longest), TOP + row * ROW
        look = {"colour": colour} if value >= 0 else {"outline": colour}
        drawing.add(
            Box(x, top + 5, max(length, 1), ROW - 10, hover=hover, **look),
            Words(x + length + 6, top + ROW / 2, f"{value:.2f}", hover=hover),
        )


def add_total(drawing, x, size, text):
    """Write what a column adds up to below it."""
    drawing.add(Words(x, TOP + ROW * (size + 0.7), text, bold=True))


def add_context(drawing, x, size, context):
    """Write the context vector below the columns that it sums."""
    y = TOP + ROW * size + 4
    drawing.add(Line(x, y, x + CELL * len(context), y))
    for number, value in enumerate(context):
        text = f"context vector, number {number + 1}: {value:.4f}"
        drawing.add(Words(x + (number + 0.5) * CELL, y + 17, f"{value:.2f}", "middle", bold=True, hover=text))


def say(names, query, scores, weights, context, step):
    """The drawing in words."""
    best = int(scores.argmax())
    said = f'Query "{names[query]}" scores highest with "{names[best]}", {scores[best]:.2f}.'
    if step >= 2:
        said += f" Softmax turns that into a weight of {weights[best]:.2f}."
    if step >= 3:
        said += f" The context vector is {', '.join(f'{value:.2f}' for value in context)}."
    return said
