"""What every live figure has: controls, a picture that follows them, and a still one for where no kernel runs."""

import base64
import contextlib

import ipywidgets as widgets
from IPython.display import display

from course_utils import stills
from course_utils.live.png import to_png
from course_utils.live.svg import to_html

ALL = -1  # what `choice` gives when nothing is singled out
LOOK = {"style": {"description_width": "initial"}, "layout": {"width": "300px", "margin": "2px 16px 2px 2px"}}


class LiveFigure:
    """A picture that is drawn again whenever a control changes.

    draw: makes a Drawing from the controls' values, draw(**values). controls: {name: widget with a value}. about: what
    the figure is, in words; with the drawing's own sentence it makes the alt text.
    """

    def __init__(self, draw, controls, about):
        self.draw, self.controls, self.about = draw, controls, about
        self.held = False
        self.picture = widgets.HTML()
        row = widgets.Box(list(controls.values()), layout={"display": "flex", "flex_flow": "row wrap"})
        self.box = widgets.VBox([row, self.picture])
        self.redraw()
        for control in controls.values():
            control.observe(self.redraw, "value")

    def drawing(self):
        """The drawing for the controls as they are."""
        return self.draw(**{name: exact(control.value) for name, control in self.controls.items()})

    def redraw(self, change=None):
        """Let the picture follow the controls."""
        if not self.held:
            self.picture.value = to_html(self.drawing())

    @contextlib.contextmanager
    def hold(self):
        """Change several controls without drawing each time."""
        self.held = True
        try:
            yield
        finally:
            self.held = False

    def show(self):
        """Display the figure. The same output holds a still picture, for readers without a kernel."""
        drawing = self.drawing()
        png, width, height = to_png(drawing)
        alt = f"{self.about} {drawing.say}"
        view = {"version_major": 2, "version_minor": 0, "model_id": self.box.model_id}
        bundle = {
            stills.WIDGET_VIEW: view,
            "image/png": base64.b64encode(png).decode(),
            "text/plain": f"Live figure: {alt} (Run the cell to use its controls.)",
        }
        display(bundle, raw=True, metadata={"image/png": {"alt": alt, "width": width, "height": height}})


def exact(value):
    """The value of a control as its step meant it: browsers send 1.0000000000000002 for 1."""
    return round(value, 6) if isinstance(value, float) else value


def choice(description, names, place):
    """A slider over names; its value is the position of one, or ALL for "all", which comes first if place is ALL.

    A drop-down list would lose the arrow keys up and down, which JupyterLab keeps for itself.
    """
    options = [("all", ALL)] * (place == ALL) + [(name, position) for position, name in enumerate(names)]
    return widgets.SelectionSlider(options=options, value=place, description=description, **LOOK)


def buttons(description, options, value):
    """A row of buttons of which one is down, for a handful of options."""
    style, layout = {"description_width": "initial", "button_width": "auto"}, {"margin": "2px 16px 2px 2px"}
    return widgets.ToggleButtons(options=options, value=value, description=description, style=style, layout=layout)


def tick(description, value):
    """A box to tick."""
    return widgets.Checkbox(
        description=description, value=value, indent=False, layout={"width": "auto", "margin": "2px 16px 2px 2px"}
    )


def slider(description, value, lowest, highest, step):
    """A slider for decimal numbers."""
    return widgets.FloatSlider(
        description=description, value=value, min=lowest, max=highest, step=step, readout_format=".2f", **LOOK
    )


def whole_slider(description, value, lowest, highest):
    """A slider for whole numbers."""
    return widgets.IntSlider(description=description, value=value, min=lowest, max=highest, **LOOK)
