"""The pictures in a stored notebook: Chromium draws one for every live figure, for viewers that run no scripts."""

import base64
import html
import io
import re
import sys

from PIL import Image, ImageChops

from course_tools.build import chromium

CHROMIUM = chromium.find_browser()
CHROMIUM_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FIGURE_ROOT = re.compile(r'(?<=<div class="course-figure" data-figure=")(\w+)">')
STILL_PICTURE = re.compile(r'<figure class="still">.*?</figure>', re.DOTALL)
PIXEL_RATIO = 1.5  # picture pixels per CSS pixel
SCREEN = {"viewport": {"width": 760, "height": 1000}, "device_scale_factor": PIXEL_RATIO, "reduced_motion": "reduce"}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def add_still_pictures(notebook):
    """Put a still picture into every live figure of an executed notebook, in place."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    figures = [output.data for output in outputs if FIGURE_ROOT.search(output.get("data", {}).get("text/html", ""))]
    if not figures:
        return
    if not CHROMIUM:
        sys.exit(f"The stored pictures of live figures need Chromium; to install it: {chromium.install_command()}")
    from playwright.sync_api import sync_playwright  # only a build needs it

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_OPTIONS)
        page = browser.new_page(**SCREEN)
        for data in figures:
            data["text/html"] = with_still(data["text/html"], page)
        browser.close()


def with_still(figure, page):
    """The HTML of a live figure with its picture and sentence in it. page: one of Chromium's, of the size SCREEN."""
    page.set_content(f'<!doctype html><html lang="en"><body style="margin:0">{figure}')
    page.locator(".course-live .said:not(:empty)").wait_for()
    said = html.escape(page.locator(".course-live .said").inner_text())
    picture, width = cropped_png(page.locator(".course-live svg").screenshot())
    still = (
        f'<figure class="still"><img alt="{said}" width="{width}" style="max-width:100%;height:auto" '
        f'src="data:image/png;base64,{picture}"><figcaption>{said}</figcaption></figure>'
    )
    return FIGURE_ROOT.sub(lambda root: root[0] + still, figure)


def cropped_png(png):
    """(A picture without the white on its right and with 256 colours, as PNG in base64; its width in CSS pixels)."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    width = ImageChops.invert(image).getbbox()[2]
    return small_png(image.crop((0, 0, width, image.height))), round(width / PIXEL_RATIO)


def small_png(image):
    """A picture with 256 colours as PNG in base64."""
    buffer = io.BytesIO()
    fewer = image.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    fewer.save(buffer, format="png", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode()


def shrink_drawings(notebook):
    """Reduce the drawings of an executed notebook to 256 colours, in place: a third of the bytes."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                data["image/png"] = small_png(Image.open(io.BytesIO(base64.b64decode(data["image/png"]))))


def remove_widgets(notebook):
    """Remove the references to widgets from a notebook, in place, as no kernel will serve them."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if WIDGET_VIEW not in output.get("data", {})]
    notebook.metadata.pop("widgets", None)
