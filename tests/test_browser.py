"""Chapters in JupyterLab in a real browser: one as it comes, run from top to bottom, saved, and opened again.

Each time its live figures answer; in the end, without a kernel, to every control, by keyboard and by mouse. So do those
of every chapter, as it comes.
"""

import json
import time
import urllib.parse
import urllib.request
from functools import partial

import nbformat
import pytest

from course_tools.repository import ROOT
from tests.support import bare_clone, browser, examples, stored
from tests.support.comparing import same_text
from tests.support.page import CHOSEN, LIVE, by_keyboard, by_mouse, controls

pytestmark = browser.needs_chromium
ONCE = "03_hiding_the_future"  # its figure has controls of several kinds
CHAPTERS = [path for path in stored.LEARNERS if list(stored.live_figures(stored.read(path)))]
SCREENSHOTS = ROOT / "tests/screenshots"
SECONDS = 20  # for a picture to follow its control on a busy machine
CONNECTED = """() => {
    const context = window.jupyterapp.shell.currentWidget.sessionContext;
    return context.isReady && context.session?.kernel?.connectionStatus === "connected";
}"""
ALL_RUN = """() => window.jupyterapp.shell.currentWidget.content.widgets
    .every(cell => cell.model.type !== "code" || cell.model.executionCount !== null)"""


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A clone as it comes: its notebooks hold outputs that JupyterLab does not trust."""
    return bare_clone.copy(tmp_path_factory.mktemp("clone"))


@pytest.fixture(scope="module")
def lab(clone):
    """(page, address) of a JupyterLab in the clone: one for all, since it takes long to load."""
    with browser.lab(clone, f"{ONCE}.ipynb") as running:
        yield running


def figures(path):
    """The numbers of the cells that show live figures. Puzzles are played in tests/test_play.py."""
    return [place for place, cell in enumerate(stored.read(path).cells) if cell.id.endswith("-live")]


def wait_until(condition, message):
    """Wait for something to become true."""
    end = time.monotonic() + SECONDS
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.1)
    assert found, message


@pytest.mark.every_setting("chapters in JupyterLab")
@pytest.mark.parametrize(
    "path",
    [
        CHAPTERS[0],
        *(pytest.param(path, marks=pytest.mark.in_matrix("every chapter in JupyterLab")) for path in CHAPTERS[1:]),
    ],
    ids=lambda path: path.stem,
)
def test_a_chapters_figures_are_alive_before_it_runs(path, lab):
    numbers = figures(path)
    shown = [page for page, _ in stored.live_figures(stored.read(path)) if 'data-figure="puzzle"' not in page]
    assert len(numbers) == len(shown), "cells of live figures are named ...-live"
    page, _ = lab
    browser.open_in(page, path.name)  # `lab` has signed the copy, nothing was run
    see_alive(page, numbers, every_control=True)
    take_pictures(page, path, numbers)


@pytest.mark.every_setting("a chapter run, saved and opened again in JupyterLab")
def test_figures_are_alive_when_their_chapter_ran_and_when_it_is_opened_again(clone, lab):
    (path,) = [path for path in stored.LEARNERS if path.stem == ONCE]
    numbers, saved = figures(path), clone / "work" / path.name
    page, address = lab
    browser.open_in(page, path.name)
    see_alive(page, numbers)
    run_all(page)
    save(page, saved)
    see_outputs(saved, path)
    see_alive(page, numbers)

    save(page, saved)
    end_kernels(address)
    browser.load(page, address, path.name)
    see_alive(page, numbers, every_control=True)


@pytest.mark.every_setting("a notebook that is not trusted")
@pytest.mark.any_chapter
def test_a_notebook_that_is_not_trusted_shows_stills_with_their_words(clone, lab):
    path = next(path for path in stored.PATHS if path.stem == ONCE)
    changed = path.read_text(encoding="utf-8").replace("# Chapter 3", "# Chapter 3, changed")
    (clone / "work" / "changed.ipynb").write_text(changed, encoding="utf-8")
    page, _ = lab
    browser.open_in(page, "changed.ipynb")
    (number,) = figures(path)
    shown = cell_of(page, number)
    picture = shown.locator(".jp-OutputArea-output img")
    picture.wait_for(timeout=SECONDS * 1000)
    assert picture.evaluate("image => image.naturalWidth > 100")
    assert len(picture.get_attribute("alt").split()) >= 6
    assert shown.locator(LIVE).count() == 0 and shown.get_by_text("trust the notebook").is_visible()


@pytest.mark.every_setting("other Jupyters")
def test_a_layer_of_ones_own_answers_and_stays_readable_without_a_kernel(clone, lab):
    cells = [
        nbformat.v4.new_markdown_cell("# Chapter of tests"),
        nbformat.v4.new_code_cell(examples.OWN_LAYER.format(course="..")),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata.kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    saved = clone / "work" / "try.ipynb"
    nbformat.write(notebook, saved)
    page, address = lab
    browser.open_in(page, saved.name)
    run_all(page)
    shown = cell_of(page, 1)
    board = shown.get_by_role("application", name="your layer")
    board.wait_for(timeout=3 * SECONDS * 1000)
    assert board.get_attribute("data-cells") == "4 4"
    length = shown.get_by_label("length")
    length.fill("2")
    length.press("Enter")
    wait_until(lambda: board.get_attribute("data-cells") == "2 2", "the figure does not follow its control")
    assert "Without the mask, 1 red cell leaks" in shown.locator(f"{LIVE} .said").inner_text()
    shown.locator(f"{LIVE} .said").click()  # a number field keeps Ctrl+S for itself
    save(page, saved)
    assert "Run this cell for controls" in saved.read_text(encoding="utf-8")
    end_kernels(address)
    browser.load(page, address, saved.name)
    board.wait_for(timeout=3 * SECONDS * 1000)
    assert "1 red cell leaks" in shown.locator(f"{LIVE} .said").inner_text(), "what was saved last is there, and alive"


def run_all(page):
    """Run the notebook in a page. Without a kernel JupyterLab runs nothing and says nothing, so that comes first."""
    page.wait_for_function(CONNECTED, timeout=browser.SECONDS * 1000)
    browser.choose(page, "Run", "Run All Cells")
    page.wait_for_function(ALL_RUN, timeout=browser.SECONDS * 1000)


def see_alive(page, numbers, every_control=False):
    """The live figures in these cells hear the keyboard, though a notebook wants keys itself, and the mouse."""
    for number in numbers:
        shown = cell_of(page, number)
        shown.locator(f"{LIVE} .said:not(:empty)").wait_for(timeout=SECONDS * 1000)
        moved = controls(shown) if every_control else controls(shown)[:1]
        for kind, control in moved:
            wait_until(partial(heard, page, shown, kind, control), f"cell {number}: {kind} does not hear keys")
            shown.get_by_role("button", name="Reset").click()  # what one control takes away, the next may need
        for kind, control in moved:
            by_mouse(page, kind, control)
            shown.get_by_role("button", name="Reset").click()
        assert shown.locator(f"{LIVE} svg text").count() > 10


def heard(page, shown, kind, control):
    """Whether a key changes a control. JupyterLab may still be taking the focus away to where it opens the notebook."""
    before = shown.locator(LIVE).evaluate(CHOSEN)
    by_keyboard(page, kind, control)
    return shown.locator(LIVE).evaluate(CHOSEN) != before


def cell_of(page, number):
    """A cell of the notebook, scrolled into sight: JupyterLab draws only those."""
    page.evaluate("number => window.jupyterapp.shell.currentWidget.content.scrollToItem(number)", number)
    cell = page.locator(f'.jp-Notebook-cell[data-windowed-list-index="{number}"]')
    cell.wait_for(timeout=SECONDS * 1000)
    return cell


def save(page, path):
    """Save the notebook in a page."""
    before = path.stat().st_mtime_ns
    page.keyboard.press("Control+s")
    wait_until(lambda: path.stat().st_mtime_ns != before, "not saved")
    time.sleep(1)  # JupyterLab writes in steps


def see_outputs(saved, path):
    """Every cell was run once, in order, without an error, and says what is stored."""
    fresh, expected = (stored.code_cells(stored.read(file)) for file in (saved, path))
    assert [cell.execution_count for cell in fresh] == list(range(1, len(expected) + 1))
    for new, old in zip(fresh, expected, strict=True):
        assert not [output for output in new.outputs if output.output_type == "error"], old.id
        assert same_text(stored.comparable(new), stored.comparable(old)), old.id
        assert len(list(stored.pictures(new))) == len(list(stored.pictures(old))), old.id


def take_pictures(page, path, numbers):
    """Screenshots of the figures in both themes, to look at."""
    SCREENSHOTS.mkdir(exist_ok=True)
    for theme in ("Light", "Dark"):
        page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", f"JupyterLab {theme}"
        )
        wait_until(lambda theme=theme: is_theme(page, theme), f"the theme is not {theme}")
        for place, number in enumerate(numbers, start=1):
            shown = cell_of(page, number)
            shown.screenshot(path=SCREENSHOTS / f"{path.stem}-{place}-{theme.lower()}.png")


def is_theme(page, theme):
    """Whether JupyterLab has put on this theme."""
    return page.evaluate("document.body.dataset.jpThemeName") == f"JupyterLab {theme}"


def end_kernels(address):
    """End all kernels of a JupyterLab, as closing it does."""
    parts = urllib.parse.urlsplit(address)
    token = urllib.parse.parse_qs(parts.query)["token"][0]

    def ask(method, what):
        request = urllib.request.Request(f"http://{parts.netloc}/api/{what}", method=method)
        request.add_header("Authorization", f"token {token}")
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read() or "null")

    for session in ask("GET", "sessions"):
        ask("DELETE", f"sessions/{session['id']}")
