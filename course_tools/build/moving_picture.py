"""The README's moving picture: the site's first figure, with a slider moving to an answer."""

import hashlib
import io
import sys

from PIL import Image

from course_tools import first_figure
from course_tools.build import chromium
from course_tools.build.still_pictures import CHROMIUM, CHROMIUM_OPTIONS
from course_tools.repository import ROOT
from course_utils import files

PICTURE = ROOT / ".github" / "make_it_find_the_mouse.gif"
SLIDER, FIRST_VALUE, STEP, FRAMES = "number1", 1.5, -0.3, 21  # "hunts"
SHOWN, FIRST, LAST = 150, 800, 900  # milliseconds per frame, and for the first and last; under 5 seconds in all
SCREEN = {"viewport": {"width": 700, "height": 400}, "reduced_motion": "reduce"}


def update():
    """Redraw the picture if the figure has changed since."""
    figure = first_figure.html()
    if not PICTURE.exists() or digest_of(figure) not in PICTURE.read_bytes():
        files.replace(PICTURE, as_gif(frames(figure), digest_of(figure)))


def digest_of(figure):
    """The remark in the picture that identifies its figure."""
    return hashlib.sha256(figure.encode()).hexdigest().encode()


def frames(figure):
    """Pictures of the figure as it moves to an answer."""
    if not CHROMIUM:
        sys.exit(f"The README's picture needs Chromium; to install it: {chromium.install_command()}")
    from playwright.sync_api import sync_playwright  # only a build needs it

    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_OPTIONS).new_page(**SCREEN)
        page.set_content(f'<!doctype html><html lang="en"><body style="margin:0">{figure}')
        page.locator(".course-live .said:not(:empty)").wait_for()
        for frame in range(FRAMES):
            page.locator(f"[name={SLIDER}]").fill(f"{FIRST_VALUE + frame * STEP:.1f}")
            yield Image.open(io.BytesIO(page.locator(".course-live").screenshot())).convert("RGB")


def as_gif(pictures, remark):
    """Pictures in order as a GIF that plays once, with a remark in it."""
    first, *others = [each.quantize(32, dither=Image.Dither.NONE) for each in pictures]
    durations = [FIRST, *[SHOWN] * (len(others) - 1), LAST]
    buffer = io.BytesIO()
    first.save(buffer, "gif", save_all=True, append_images=others, duration=durations, comment=remark, optimize=True)
    return buffer.getvalue()
