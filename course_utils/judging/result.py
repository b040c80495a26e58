"""The result of a check, with a plain form for terminals and a rich one for notebooks."""

import html
import re
from dataclasses import dataclass, field

RIGHT, NOT_YET, NOT_ATTEMPTED = "right", "not yet", "not attempted"
MARK = {RIGHT: "✓", NOT_YET: "✗", NOT_ATTEMPTED: "○"}
COLOUR = {RIGHT: "#1a7f37", NOT_YET: "#bc4c00", NOT_ATTEMPTED: "#6e7781"}  # each readable on black and on white
LARGEST_MAP = 8  # tokens
CLOSE = 1e-4  # two weights that look the same
# viridis, from 0 to 1, as in the course's figures
VIRIDIS = ("440154", "482878", "3e4989", "31688e", "26828e", "1f9e89", "35b779", "6ece58", "b5de2b", "fde725")


@dataclass(frozen=True)
class Result:
    """The result of a check.

    status: "right", "not yet" or "not attempted". mistake: the kind of slip that is proven, or None. hints: on this
    answer, from the kind of slip to the change. maps: the learner's map of weights and the expected one, to be drawn
    side by side, or None.
    """

    id: str
    title: str
    status: str
    message: str
    max_points: int
    mistake: str | None = None
    hints: tuple[str, ...] = ()
    maps: tuple | None = field(default=None, repr=False)

    @property
    def points(self):
        """All points for a right answer, otherwise none."""
        return self.max_points if self.status == RIGHT else 0

    def __str__(self):
        points = f"{self.points} of {self.max_points} point{'s' * (self.max_points != 1)}"
        return f"{MARK[self.status]} {self.id} {self.status}, {points}. {self.message}".replace("\n", " ")

    __repr__ = __str__

    def html(self):
        """The result as a small block of HTML that needs no style sheet and no script."""
        head = f"{MARK[self.status]} {self.id} {html.escape(self.title)} · {self.status}"
        points = f"{self.points} of {self.max_points} point{'s' * (self.max_points != 1)}"
        text = f"<b>{head}</b> ({points})<br>{rich(self.message)}{side_by_side(*self.maps) if self.maps else ''}"
        bar = f"border-left:4px solid {COLOUR[self.status]};padding:0.3em 0.8em;max-width:44em"
        return f'<div style="{bar}">{text}</div>'

    _repr_html_ = html


def rich(text):
    """A sentence as HTML: `code` and *emphasis* as in Markdown, everything else as it stands."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text)).replace("\n", "<br>")
    return re.sub(r"(?<![\w*])\*(\w[^*<>]*)\*(?![\w*])", r"<em>\1</em>", text)


def side_by_side(yours, expected):
    """Two maps of weights, or masks, as tables next to each other; cells that differ have a frame."""
    maps = ""
    for title, rows, others in [("yours", yours, expected), ("expected", expected, yours)]:
        lines = "".join(f"<tr>{''.join(map(cell, row, other))}</tr>" for row, other in zip(rows, others))
        table = f'<table style="border-collapse:collapse">{lines}</table>'
        maps += f'<div style="display:inline-block;margin:0.5em 1.5em 0 0">{title}{table}</div>'
    return f"<div>{maps}framed cells differ</div>"


def cell(weight, other):
    """One weight as a table cell in the colour of its size, framed where the other one differs."""
    share = min(max(weight, 0.0), 1.0) if weight == weight else 0.0
    ink = "#000" if share > 0.5 else "#fff"
    style = f"background:#{VIRIDIS[round(share * (len(VIRIDIS) - 1))]};color:{ink};padding:2px 5px;text-align:right"
    frame = "" if abs(weight - other) < CLOSE else f";outline:3px solid {COLOUR[NOT_YET]};outline-offset:-3px"
    return f'<td style="{style}{frame}">{weight:.2f}</td>'
