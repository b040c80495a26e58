"""How long a chapter takes: the rule behind the minutes in the README and in the chapters."""

import re

WORDS = 130  # read in a minute, with formulas and code
CELL = 0.5  # minutes to read a cell of code, run it, and look at its output
OF_EXERCISE = {1: 5, 2: 10, 3: 20}  # minutes, by its difficulty
EXERCISE = re.compile(r"^\d+ points? · ★+☆* · (\d+) minutes$", re.MULTILINE)


def minutes(cells):
    """The minutes that the cells of a learner's notebook take, rounded to 5."""
    words = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")
    code = sum(cell["cell_type"] == "code" for cell in cells)
    return 5 * round((len(words.split()) / WORDS + CELL * code + sum(map(int, EXERCISE.findall(words)))) / 5)
