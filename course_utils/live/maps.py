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


def margins(names, cell):
    """(left, top): the room that token names need beside cells of that size."""
    if cell < READABLE:
        return 4, 4
    longest = max(len(short(name)) for name in names)
    return 12 + round(7.5 * longest), 18 + round((4.6 if cell >= 20 else 6.5) * longest)


def add_map(drawing, x, y, values, names, *, cell, scale, words, numbers="{:.2f}", hidden, sums=True):
    """Draw a map, cell by cell, whose first cell is at (x, y).

    values: (T, T). words: words(query, key) for pointing at a cell. numbers: a format, or two texts for 0 and 1.
    hidden: (T, T) booleans, drawn grey. sums: write each row's sum beside it.
    """
    size = len(names)
    if cell >= READABLE:
        add_names(drawing, x, y, names, cell)
        if sums:
            add_sums(drawing, x + size * cell + 8, y, np.where(hidden, 0, values).sum(axis=1), cell)
    gap = 1 if cell >= 6 else 0
    font = 12 if cell >= 40 else 10
    steps = scale.steps(np.where(hidden, 0, values)).tolist()
    values, hidden = values.tolist(), hidden.tolist()  # quicker to read one by one
    for row in range(size):
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
    size = len(values)
    colours = scale.rgb[scale.steps(np.where(hidden, 0, values))]  # (T, T, 3)
    colours[hidden] = np.array(to_rgb(pictures.HIDDEN)) * 255
    drawing.add(Pixels(x, y, cell, colours))
    drawing.add(*(Box(x, y + row * cell, size * cell, cell, hover=text) for row, text in enumerate(row_words)))


def add_names(drawing, x, y, names, cell):
    """Write token names on the left (queries) and above (keys)."""
    rise = 35 if cell >= 20 else 90  # slanted names of narrow columns would cross
    for place, name in enumerate(names):
        middle, size = (place + 0.5) * cell, min(12, cell)
        drawing.add(
            Words(x - 6, y + middle, short(name), "end", size, hover=f"{name}: query, row {place + 1}"),
            Words(x + middle, y - 8, short(name), size=size, rise=rise, hover=f"{name}: key, column {place + 1}"),
        )


def add_sums(drawing, x, y, totals, cell):
    """Write the sum of each row; one that is not 1 in bold."""
    for row, total in enumerate(totals):
        off = abs(total - 1) > 0.005  # two decimals show it
        drawing.add(Words(x, y + (row + 0.5) * cell, f"{total:.2f}", size=min(12, cell), bold=off))
