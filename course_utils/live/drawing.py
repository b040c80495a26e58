"""A drawing: boxes, words, lines and pixel maps, with the sentence that reads it aloud.

The same drawing becomes the live SVG (`svg.py`) and the still PNG (`png.py`). Lengths are pixels, y points down, and a
word's y is its vertical middle. Colours are "#rrggbb"; without one, shapes take the colour of the page's text.
"""

from typing import NamedTuple

import numpy as np


class Box(NamedTuple):
    """A filled rectangle. hover: what the reader sees on pointing at it. outline: the colour of its border."""

    x: float
    y: float
    width: float
    height: float
    colour: str = "none"
    hover: str = ""
    outline: str = ""


class Words(NamedTuple):
    """One line of text. anchor: "start", "middle" or "end". rise: degrees by which it rises to the right."""

    x: float
    y: float
    text: str
    anchor: str = "start"
    size: int = 12
    colour: str = ""
    bold: bool = False
    hover: str = ""
    rise: int = 0


class Line(NamedTuple):
    """A straight line in the colour of the page's text."""

    x1: float
    y1: float
    x2: float
    y2: float


class Pixels(NamedTuple):
    """A map with a square of `cell` pixels per entry; colours: (rows, columns, 3), 0 to 255."""

    x: float
    y: float
    cell: int
    colours: np.ndarray


class Drawing:
    """Shapes on a page of some size. say: the picture in words, shown below it."""

    def __init__(self, width, height, say=""):
        self.width, self.height, self.say = width, height, say
        self.shapes = []

    def add(self, *shapes):
        """Put shapes on top of those already there."""
        self.shapes.extend(shapes)
