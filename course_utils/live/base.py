"""What every live figure is: a piece of HTML with its numbers, a module that draws them, and a table for the rest.

Where no script runs, the sentence and the table are read. In the course's stored notebooks a picture of the figure
stands above them, which the build adds.
"""

import base64
import functools
import html
import json
import re
import string
import zlib
from pathlib import Path

import numpy as np
from IPython.display import display

HERE = Path(__file__).parent
DECIMALS = 6  # of the numbers handed over; figures print up to 4
PACKED = 10_000  # packed weights are counted in ten thousandths
LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
LARGEST_TABLE = 6  # rows and columns that the table without scripts shows
ALIVE = "This figure moves when you run its cell, or trust the notebook."


class Figure:
    """A live figure.

    kind: the name of its module, a `.js` file beside this one. about: what it shows, in words. rows: {name: numbers}, a
    table for where no script runs. columns: their names, where they have any. data: plain values for the module.
    """

    def __init__(self, kind, about, rows, columns=None, **data):
        self.kind, self.about, self.rows, self.columns, self.data = kind, about, rows, columns, data

    def html(self):
        """The figure as HTML that carries all that it needs: the same for the same numbers."""
        data = as_json(self.data).replace("<", "\\u003c")
        return (
            f'<div class="course-figure" data-figure="{self.kind}"><p>{html.escape(self.about)}</p>'
            f"{as_table(self.rows, self.columns)}<p><em>{ALIVE}</em></p>"
            f'<script type="application/json">{data}</script></div>\n<script>{script(self.kind)}</script>'
        )

    def bundle(self):
        """The figure in every form that a notebook keeps of it."""
        return {"text/html": self.html(), "text/plain": f"Live figure: {self.about}"}

    def show(self):
        """Display the figure."""
        display(self.bundle(), raw=True)


def script(kind):
    """A figure's code as a script that unpacks and starts it; packed, it takes a third of the room in every output."""
    letters = base64.b64encode(zlib.compress(code(kind).encode(), 9)).decode()
    return (
        f'(async()=>{{const s=document.createElement("script"),b=Uint8Array.from(atob("{letters}"),c=>c.charCodeAt()),'
        'p=new Blob([b]).stream().pipeThrough(new DecompressionStream("deflate"));'
        "s.textContent=await new Response(p).text();document.head.append(s);s.remove()})()"
    )


@functools.cache
def code(kind):
    """What all figures share, and in a block of its own a figure's module and its start; a page knows no imports."""
    shared, own = (
        re.sub(
            r"(?m)^import .*\n|^export |^ *//.*\n|  //.*$|^ */\*[^*]*\*/\n|^ +|(?<=[;{,])\n",
            "",
            (HERE / f"{name}.js").read_text(encoding="utf-8").replace("export default", "const module ="),
        )
        for name in ("base", kind)
    )
    return f'(() => {{\n{shared}{{\n{own}start(module, "{kind}");\n}}\n}})();'


def as_json(value):
    """Plain values as JSON, decimal numbers with so many decimals that a last bit does not show."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{as_json(part)}" for name, part in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(as_json, value)) + "]"
    if isinstance(value, float):
        return f"{value:.{DECIMALS}f}" if np.isfinite(value) else "null"
    return json.dumps(value, ensure_ascii=False)


def packed(weights):
    """Weights, numbers from 0 of any shape, in few letters: {"shape": ..., "letters": ...}.

    Figures print up to 3 of their decimals.
    Each is cut after four decimals, and a cut that ends in 0 or 5 is raised by one, so that rounding it once more gives
    what rounding the weight itself gives. A letter holds five bits, the first bits first; all but the last letter of a
    number carry 32 more.
    """
    exact = weights.ravel() * PACKED
    cut = np.floor(np.round(exact, 6)).astype(int)
    cut += (cut % 5 == 0) & (np.round(exact, 6) > cut)
    return {"shape": list(weights.shape), "letters": "".join(map(letters_of, cut.tolist()))}


def letters_of(number):
    """One number from 0 in letters of five bits."""
    letters = LETTERS[number % 32]
    while number := number // 32:
        letters = LETTERS[32 + number % 32] + letters
    return letters


def as_table(rows, columns):
    """A table of numbers with two decimals; of large ones the first rows and columns."""
    columns = columns or [f"number {place + 1}" for place, _ in enumerate(next(iter(rows.values())))]
    head = "".join(f"<th>{html.escape(name)}" for name in ["", *columns[:LARGEST_TABLE]])
    lines = [
        f"<tr><th>{html.escape(name)}{''.join(f'<td>{value:.2f}' for value in values[:LARGEST_TABLE])}"
        for name, values in list(rows.items())[:LARGEST_TABLE]
    ]
    return f"<table><tr>{head}{''.join(lines)}</table>"
