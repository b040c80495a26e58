"""Every live figure: a piece of HTML with its numbers, a module that draws them, and a table.

Without scripts, readers see the sentence and the table. In the course's stored notebooks, the build adds a picture.
"""

import base64
import html
import json
import re
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from IPython.display import display

from course_utils.pictures import Numbers

HERE = Path(__file__).parent
LARGEST_TABLE = 6  # rows and columns in the table for readers without scripts
LARGEST_PLAIN = 6_000  # letters of a figure's numbers; more are packed
HOW_TO_START = "To use this figure, run its cell or trust the notebook."
Rows: TypeAlias = Sequence[Iterable[float]] | Numbers


class Figure:
    """A live figure.

    kind: the name of its module, a `.js` file beside this one. about: what it shows, in words. names, rows: of the
    table for readers without scripts. columns: their names, if any. data: plain values for the module, and names.
    """

    def __init__(
        self, kind: str, about: str, names: Sequence[str], rows: Rows, columns: Sequence[str] = (), /, **data: Any
    ) -> None:
        self.kind, self.about, self.table, self.data = kind, about, (names, rows, columns), {"names": names, **data}

    def html(self) -> str:
        """The figure as self-contained HTML, the same for the same numbers."""
        data = as_json(self.data).replace("<", "\\u003c")
        data = packed(data) if len(data) > LARGEST_PLAIN else data
        return (
            f'<div class="course-figure" data-figure="{self.kind}"><p>{html.escape(self.about)}</p>'
            f"{as_table(*self.table)}<p><em>{HOW_TO_START}</em></p>"
            f'<script type="application/json">{data}</script></div>\n<script>{script(self.kind)}</script>'
        )

    def bundle(self) -> dict[str, str]:
        """The figure in every form that a notebook stores."""
        return {"text/html": self.html(), "text/plain": f"Live figure: {self.about}"}

    def show(self) -> None:
        """Display the figure."""
        display(self.bundle(), raw=True)


def script(kind: str) -> str:
    """A figure's code as a script that unpacks and starts it; packed, it takes a third of the space in every output."""
    letters = packed(code(kind))
    return (
        f'(async()=>{{const s=document.createElement("script"),b=Uint8Array.from(atob("{letters}"),c=>c.charCodeAt()),'
        'p=new Blob([b]).stream().pipeThrough(new DecompressionStream("deflate"));'
        "s.textContent=await new Response(p).text();document.head.append(s);s.remove()})()"
    )


def packed(text: str) -> str:
    """A text, compressed, in base64."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def code(kind: str) -> str:
    """The files that a figure's module imports, then the module and its start in a separate block.

    Without imports (a page does not know them), exports, comments and spaces at the beginning of lines.
    """
    own = (HERE / f"{kind}.js").read_text(encoding="utf-8")
    imported = re.findall(r'(?m)^import [^;]* from "./(.*)";', own)
    shared = [(HERE / name).read_text(encoding="utf-8") for name in imported]
    module = own.replace("export default", "const module =")
    whole = f'(() => {{\n{"".join(shared)}{{\n{module}start(module, "{kind}");\n}}\n}})();'
    return re.sub(r"(?m)^import [^;]*;\n|^export |^ *//.*\n| +//.*$|^ */\*[^*]*\*/\n|^ +|(?<=[;,{}(\[])\n", "", whole)


def as_json(value: Any) -> str:
    """Plain values and arrays as JSON, with decimals few enough to hide last bits."""
    if isinstance(value, dict):
        return "{" + ",".join(f'"{name}":{as_json(part)}' for name, part in value.items()) + "}"
    if isinstance(value, (list, np.ndarray)):
        return "[" + ",".join(map(as_json, value)) + "]"
    if isinstance(value, (float, np.floating)):
        return f"{value:.6f}" if np.isfinite(value) else "null"  # figures print up to 4
    return json.dumps(value, ensure_ascii=False, default=int)  # int: of whole numbers and truths in arrays


def as_table(names: Sequence[str], rows: Rows, columns: Sequence[str]) -> str:
    """A table of numbers with two decimals; large ones show only the first rows and columns."""
    columns = columns or [f"number {place + 1}" for place, _ in enumerate(rows[0])]
    head = "".join(f"<th>{html.escape(name)}" for name in ["", *columns[:LARGEST_TABLE]])
    lines = [
        f"<tr><th>{html.escape(name)}{''.join(f'<td>{value:.2f}' for value in row[:LARGEST_TABLE])}"
        for name, row in zip(names[:LARGEST_TABLE], rows)
    ]
    return f"<table><tr>{head}{''.join(lines)}</table>"
