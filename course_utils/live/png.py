"""A drawing as a PNG on white: what is seen without a kernel. The same bytes on every run."""

import functools
import io
import textwrap
from pathlib import Path

import matplotlib
from PIL import Image, ImageDraw, ImageFont

from course_utils.live.drawing import Box, Line, Words

SCALE = 1.5  # picture pixels per drawing pixel: sharp on most screens, and small
INK, PAGE = "#111111", "#ffffff"
ANCHORS = {"start": "lm", "middle": "mm", "end": "rm"}
MARGIN, LINE_HEIGHT, SENTENCE_SIZE = 8, 18, 12  # drawing pixels
FONTS = Path(matplotlib.get_data_path()) / "fonts/ttf"


def to_png(drawing):
    """(PNG as bytes, width, height): the picture with its sentence, to be shown in that many pixels."""
    lines = textwrap.wrap(drawing.say, width=int(drawing.width / 6.8))
    width, height = drawing.width + 2 * MARGIN, drawing.height + 2 * MARGIN + LINE_HEIGHT * len(lines)
    image = Image.new("RGB", tuple(round(SCALE * length) for length in (width, height)), PAGE)
    pen = ImageDraw.Draw(image)
    for part in drawing.shapes:
        put(image, pen, part)
    for number, line in enumerate(lines):
        put(image, pen, Words(0, drawing.height + LINE_HEIGHT * (number + 0.7), line, size=SENTENCE_SIZE))
    buffer = io.BytesIO()
    image.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(buffer, format="png", optimize=True)
    return buffer.getvalue(), width, height


def place(*numbers):
    """Lengths of the drawing as pixels of the picture."""
    return [round(SCALE * (number + MARGIN)) for number in numbers]


def put(image, pen, part):
    """Draw one shape."""
    if isinstance(part, Box):
        left, top, right, bottom = place(part.x, part.y, part.x + part.width, part.y + part.height)
        fill = None if part.colour == "none" else INK if part.colour == "currentColor" else part.colour
        border = INK if part.outline == "currentColor" else part.outline or None
        if right > left and bottom > top:
            pen.rectangle([left, top, right - 1, bottom - 1], fill=fill, outline=border, width=round(2 * SCALE))
    elif isinstance(part, Words):
        x, y = place(part.x, part.y)
        if part.rise:
            put_rising(image, x, y, part)
        else:
            pen.text((x, y), part.text, font=font(part), fill=part.colour or INK, anchor=ANCHORS[part.anchor])
    elif isinstance(part, Line):
        pen.line(place(part.x1, part.y1, part.x2, part.y2), fill=INK, width=round(SCALE))
    else:
        rows, columns, _ = part.colours.shape
        left, top, right, bottom = place(part.x, part.y, part.x + part.cell * columns, part.y + part.cell * rows)
        scaled = Image.fromarray(part.colours).resize((right - left, bottom - top), Image.Resampling.NEAREST)
        image.paste(scaled, (left, top))


def put_rising(image, x, y, part):
    """Write words that rise to the right from (x, y)."""
    reach = int(font(part).getlength(part.text)) + 2 * part.size
    ink = Image.new("L", (2 * reach, 2 * reach))
    ImageDraw.Draw(ink).text((reach, reach), part.text, font=font(part), fill=255, anchor="lm")
    turned = ink.rotate(part.rise, resample=Image.Resampling.BICUBIC)
    image.paste(part.colour or INK, (x - reach, y - reach), turned)


def font(part):
    """The font for some words, which comes with matplotlib."""
    return load_font("DejaVuSans-Bold.ttf" if part.bold else "DejaVuSans.ttf", round(SCALE * part.size))


@functools.cache
def load_font(name, size):
    """A font at a size in pixels of the picture."""
    return ImageFont.truetype(FONTS / name, size, layout_engine=ImageFont.Layout.BASIC)
