"""A live figure alone on a page in Chromium, opened from a file, without a network."""

import contextlib
import functools
import re

from course_tools.build.still_pictures import CHROMIUM, CHROMIUM_OPTIONS

LIVE = ".course-live"
NUMBER = re.compile(r"(?<![\w.])(?:-?\d+\.\d+|nan)(?![\w.])")
STATE = """() => Object.fromEntries([...document.querySelectorAll(".course-live [name]")].map(
  ({name, form}) => [name, form[name].type === "checkbox" ? form[name].checked : +form[name].value]))"""
CHOSEN = """live => [...live.querySelectorAll("select, input")]
    .map(input => ["radio", "checkbox"].includes(input.type) ? input.checked : input.value).join()"""
PICTURE = '() => [...document.querySelectorAll(".course-live svg text")].map(text => text.textContent).join(" | ")'


@contextlib.contextmanager
def chromium():
    """Chromium, driven by the tests."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_OPTIONS)
        yield browser
        browser.close()


def opened(browser, folder, *figures, width=900, height=720, **more):
    """A page that shows these pieces of HTML, below each other, once the figures in them move. more: its context's.

    It is the one that was opened last with such a context, as fresh as a new one, which takes Chromium far longer.
    """
    file = folder / "figure.html"
    head = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A figure</title>'
    head += '<meta name="viewport" content="width=device-width"></head>'
    file.write_text(f"{head}<body><main><h1>Figures</h1>{''.join(figures)}", encoding="utf-8")
    page = page_like(browser, frozenset(({"reduced_motion": "reduce"} | more).items()))
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme="light", forced_colors="none")
    page.goto(file.as_uri())
    if more.get("java_script_enabled", True):
        page.locator(f"{LIVE} .said:not(:empty)").first.wait_for()
    return page


@functools.cache
def page_like(browser, options):
    """A page without a network, whose context has these options."""
    context = browser.new_context(**dict(options))
    context.set_offline(True)
    return context.new_page()


def state(page):
    """{name: value} of the controls."""
    return page.evaluate(STATE)


def numbers(page):
    """Every decimal number that the picture prints, sorted."""
    return sorted(NUMBER.findall(page.evaluate(PICTURE)))


def said(page):
    """The sentence below the picture."""
    return page.locator(f"{LIVE} .said").first.inner_text()


def controls(place):
    """[(kind, locator)] of the controls, in order, below a place; a group of radio buttons counts once."""
    found = place.locator(".controls > :not(button)").all()
    kinds = [
        control.evaluate("c => c.matches('fieldset') ? 'radio' : c.querySelector('select,input').type")
        for control in found
    ]
    return list(zip(kinds, found))


def by_keyboard(shown, kind, control):
    """Change a control with keys alone."""
    control.locator("select, input:checked" if kind == "radio" else "select, input").first.focus()
    last = control.evaluate(
        "c => { const i = c.querySelector('[type=range], select');"
        " return i && (i.options ? i.selectedIndex === i.options.length - 1 : i.value === i.max) }"
    )
    key = {
        "radio": "ArrowRight",
        "checkbox": "Space",
        "select-one": "ArrowUp" if last else "ArrowDown",
        "range": "ArrowLeft" if last else "ArrowRight",
        "text": "a",
        "number": "7",
    }
    shown.keyboard.press(key[kind])


def by_mouse(shown, kind, control):
    """Change a control with the mouse; a list of names opens outside the page, so the name is chosen in it."""
    if kind == "select-one":
        control.locator("select").select_option(index=control.locator("option").count() - 1)
    elif kind == "range":
        place = control.locator("input").bounding_box()
        shown.mouse.click(place["x"] + 0.3 * place["width"], place["y"] + place["height"] / 2)
    else:
        control.locator("input").last.click()
