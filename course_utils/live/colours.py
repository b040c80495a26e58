"""Colours of live figures: the same maps as in still ones, and one colour per head."""

import functools

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex, to_rgb

from course_utils import pictures

HEADS = [*pictures.COLOURS, "#56b4e9", "#e69f00", "#8c6bb1", "#999999"]  # one per head
BAR, SECOND_BAR = pictures.COLOURS[:2]  # both at least 3 : 1 on white and on black pages
OUTLINE = "#d55e00"  # what the reader picked, seen on every colour of the maps
STEPS = 256


class Scale:
    """Colours for numbers from `lowest` to `highest`; what lies outside has the colour of the end."""

    def __init__(self, name, lowest, highest):
        self.lowest, self.reach = lowest, highest - lowest
        self.rgb, self.colours, self.inks = table(name)

    def steps(self, values):
        """The place of each number in the table, an array of integers of the same shape."""
        return np.clip((values - self.lowest) / self.reach * STEPS, 0, STEPS - 1).astype(int)

    def pair(self, value):
        """(colour, colour of the text on it) for one number."""
        step = int(self.steps(value))
        return self.colours[step], self.inks[step]


@functools.cache
def table(name):
    """(array (256, 3) of colours from 0 to 255, the same as "#rrggbb", the colours of text on them) of a colour map."""
    colours = colormaps[name](np.linspace(0, 1, STEPS))[:, :3]  # (256, 3)
    names = [to_hex(colour) for colour in colours]
    return np.round(colours * 255).astype(np.uint8), names, [hex_ink(name) for name in names]


def hex_ink(colour):
    """Black or white, whichever has more contrast on a colour."""
    return {"black": "#000000", "white": "#ffffff"}[pictures.readable_on(to_rgb(colour))]


WEIGHTS = Scale(pictures.WEIGHTS_MAP, 0, 1)


def signed(values):
    """A scale for numbers of both signs, symmetric around zero and wide enough for all of `values`."""
    reach = float(np.abs(values[np.isfinite(values)]).max(initial=0)) or 1.0
    return Scale(pictures.SCORES_MAP, -reach, reach)
