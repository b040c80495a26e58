"""The first figure that a visitor sees: on the site's start page, and moving in the README."""

from course_utils import play


def html():
    """Four sliders, and a sentence in which "it" finds the cat and not yet the mouse."""
    return play.puzzle_figure("1.1", [[[1.5], [1.5], [0.0], [0.0]]], target="mouse").html()
