"""Figures that Python computes: native controls with names, and an output that follows them.

The output is a figure like all others, so that a saved notebook is readable without a kernel.
"""

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets
from IPython.display import display

from course_utils.live.base import Figure

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
FULL_LABELS: dict[str, Any] = {"style": {"description_width": "initial"}, "layout": {"width": "auto"}}
WHOLE_LINE = FULL_LABELS | {"layout": {"width": "100%", "max_width": "640px"}}  # so that a whole sentence is visible


def ask_for_sentence(sentence: str, figure_of: Callable[[str], Figure]) -> None:
    """Show the result of figure_of(sentence), as `show` does, with a box to type another sentence."""
    box = widgets.Text(sentence, description="your sentence", continuous_update=False, **WHOLE_LINE)

    def figure() -> Figure:
        shown = figure_of(box.value)
        shown.about += " Run this cell to type your own sentence."
        return shown

    show([box], figure)


def show(controls: Sequence[widgets.Widget], figure: Callable[[], Figure]) -> None:
    """Show controls, a list of widgets, and below them the result of figure(): a Figure, or a sentence.

    If figure() first raises ValueError, there is nothing to control, and only its sentence is shown.
    """

    def bundle() -> dict[str, str]:
        try:
            return figure().bundle()
        except ValueError as refused:
            return {"text/plain": str(refused)}

    first = bundle()
    if "text/html" not in first:
        print(first["text/plain"])
        return
    box = widgets.Box(controls, layout={"display": "flex", "flex_flow": "row wrap"})
    display({WIDGET_VIEW: {"version_major": 2, "version_minor": 0, "model_id": box.model_id}}, raw=True)
    output = display(first, raw=True, display_id=True)
    for control in controls:
        control.observe(lambda change: output.update(bundle(), raw=True), "value")
