"""A drawing as SVG, in the colours of JupyterLab's theme or of a plain white page."""

import base64
import functools
import io
from html import escape

from PIL import Image

from course_utils.live.drawing import Box, Line, Pixels

# both come from the same theme, or both from here: text stays readable
INK, PAGE = "var(--jp-content-font-color0, #111)", "var(--jp-layout-color0, #fff)"
STYLE = f"background:{PAGE};color:{INK};font-family:var(--jp-ui-font-family, sans-serif)"


def to_html(drawing):
    """The drawing with its sentence below, as HTML."""
    label = escape(drawing.say)
    return (
        f'<div style="{STYLE};padding:8px;max-width:{drawing.width}px">'
        f'<svg role="img" aria-label="{label}" width="{drawing.width}" height="{drawing.height}" '
        f'viewBox="0 0 {drawing.width} {drawing.height}" style="max-width:100%;height:auto;display:block" '
        f'fill="currentColor" dominant-baseline="central">{"".join(map(shape, drawing.shapes))}</svg>'
        f'<p style="margin:6px 0 0;font-size:13px;line-height:1.4">{label}</p></div>'
    )


def shape(part):
    """One shape as SVG."""
    if not isinstance(part, Pixels):
        return plain_shape(part)
    rows, columns, _ = part.colours.shape
    return (
        f'<image x="{part.x}" y="{part.y}" width="{columns * part.cell}" height="{rows * part.cell}" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{png_of(part.colours)}"/>'
    )


@functools.lru_cache(20_000)  # from one picture to the next most shapes stay
def plain_shape(part):
    """A box, words or a line as SVG."""
    if isinstance(part, Box):
        border = f' stroke="{part.outline}" stroke-width="2"' if part.outline else ""
        place = f'x="{part.x}" y="{part.y}" width="{part.width}" height="{part.height}"'
        # "none" would let the pointer through, transparent does not
        colour = "transparent" if part.colour == "none" and part.hover else part.colour
        return f'<rect {place} fill="{colour}"{border}>{hover(part)}</rect>'
    if isinstance(part, Line):
        return f'<path d="M{part.x1} {part.y1}L{part.x2} {part.y2}" stroke="currentColor"/>'
    colour = f' fill="{part.colour}"' if part.colour else ""
    weight = ' font-weight="bold"' if part.bold else ""
    turn = f' transform="rotate({-part.rise} {part.x} {part.y})"' if part.rise else ""
    silent = "" if part.hover else ' pointer-events="none"'  # what lies below is pointed at
    return (
        f'<text x="{part.x}" y="{part.y}" text-anchor="{part.anchor}" font-size="{part.size}"'
        f"{colour}{weight}{turn}{silent}>{hover(part)}{escape(part.text)}</text>"
    )


def hover(part):
    """The words that appear on pointing at a shape."""
    return f"<title>{escape(part.hover)}</title>" if part.hover else ""


def png_of(colours):
    """An array of colours, a pixel each, as a PNG in base64."""
    buffer = io.BytesIO()
    Image.fromarray(colours).save(buffer, format="png", compress_level=1)
    return base64.b64encode(buffer.getvalue()).decode()
