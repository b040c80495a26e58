"""A map in a live figure: a cell per query and key, token names, row sums, and words on pointing at any of them."""

import numpy as np
from matplotlib.colors import to_rgb

from course_utils import pictures
from course_utils.live.drawing import Box, Pixels, Words

READABLE = 10  # pixels: token names fit beside cells of at least this size
NUMBERED = 32  # pixels: two decimals fit into cells of at least this size
LONGEST = 12  # letters of a token's name that are shown; pointing at it shows all
MANY = 5000  # cells: beyond, a browser is slow with one shape per cell, and a map becomes pixels


def short(name):
    """A token's name as it fits beside a map."""
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def margins(names, keys, cell):
    """(left, top): the room that the names of queries and keys need beside cells of that size."""
    if cell < READABLE:
        return 4, 4
    left, top = (max(len(short(name)) for name in some) for some in (names, keys))
    return 12 + round(7.5 * left), 18 + round((4.6 if cell >= 20 else 6.5) * top)


def add_map(drawing, x, y, values, names, keys, *, cell, scale, words, numbers="{:.2f}", hidden, sums=True):
    """Draw a map, cell by cell, whose first cell is at (x, y).

    values: (T, S). names: of the T queries; keys: of the S keys. words: words(query, key) for pointing at a cell.
    numbers: a format, or two texts for 0 and 1. hidden: (T, S) booleans, drawn grey. sums: write each row's sum
    beside it.
    """
    if cell >= READABLE:
        add_names(drawing, x, y, names, keys, cell)
        if sums:
            add_sums(drawing, x + len(keys) * cell + 8, y, np.where(hidden, 0, values).sum(axis=1), cell)
    gap = 1 if cell >= 6 else 0
    font = 12 if cell >= 40 else 10
    steps = scale.steps(np.where(hidden | np.isnan(values), 0, values)).tolist()
    values, hidden = values.tolist(), hidden.tolist()  # quicker to read one by one
    for row in range(len(names)):
        top = y + row * cell
        for column, (step, masked) in enumerate(zip(steps[row], hidden[row])):
            left = x + column * cell
            colour = pictures.HIDDEN if masked else scale.colours[step]
            drawing.add(Box(left, top, cell - gap, cell - gap, colour, words(row, column)))
            if cell >= NUMBERED and not masked:
                value = values[row][column]
                text = numbers.format(value) if isinstance(numbers, str) else numbers[int(value)]
                drawing.add(Words(left + cell / 2, top + cell / 2, text, "middle", font, scale.inks[step]))


def add_pixel_map(drawing, x, y, values, *, cell, scale, row_words, hidden):
    """Draw a large map as one picture; pointing at a row shows row_words[row]. The rest is as in add_map."""
    width = values.shape[1] * cell
    colours = scale.rgb[scale.steps(np.where(hidden, 0, values))]  # (T, S, 3)
    colours[hidden] = np.array(to_rgb(pictures.HIDDEN)) * 255
    drawing.add(Pixels(x, y, cell, colours))
    drawing.add(*(Box(x, y + row * cell, width, cell, hover=text) for row, text in enumerate(row_words)))


def add_names(drawing, x, y, names, keys, cell):
    """Write the names of queries on the left and those of keys above."""
    rise = 35 if cell >= 20 else 90  # slanted names of narrow columns would cross
    size = min(12, cell)
    for place, name in enumerate(names):
        middle = y + (place + 0.5) * cell
        drawing.add(Words(x - 6, middle, short(name), "end", size, hover=f"{name}: query, row {place + 1}"))
    for place, name in enumerate(keys):
        middle = x + (place + 0.5) * cell
        drawing.add(Words(middle, y - 8, short(name), size=size, rise=rise, hover=f"{name}: key, column {place + 1}"))


def add_sums(drawing, x, y, totals, cell):
    """Write the sum of each row; one that is not 1 in bold."""
    for row, total in enumerate(totals):
        off = abs(total - 1) > 0.005  # two decimals show it
        drawing.add(Words(x, y + (row + 0.5) * cell, f"{total:.2f}", size=min(12, cell), bold=off))
