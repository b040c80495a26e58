"""Every chapter in JupyterLab in a real browser: as it comes, run from top to bottom, saved, and opened again.

In each, every control of its live figures is moved, by keyboard and by mouse.
"""

import contextlib
import html
import io
import json
import re
import time
import urllib.parse
import urllib.request

import ipywidgets as widgets
import pytest

from course_utils import stills
from course_utils.live import base
from course_utils.repository import ROOT
from tests.support import bare_clone, browser, stored
from tests.support.comparing import same_text

pytestmark = browser.needs_chromium
ONCE = "03_hiding_the_future"  # its figure has controls of several kinds
CHAPTERS = [
    pytest.param(
        path, id=path.stem, marks=() if path.stem == ONCE else pytest.mark.every_setting("every chapter in the browser")
    )
    for path in stored.PATHS
    if path.parent.name == "notebooks"
]
SCREENSHOTS = ROOT / "tests/screenshots"
SECONDS = 20  # for a picture to follow its control on a busy machine
LIVE = "svg[role=img]"
ALL_RUN = """() => window.jupyterapp.shell.currentWidget.content.widgets
    .every(cell => cell.model.type !== "code" || cell.model.executionCount !== null)"""


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A clone as it comes: its notebooks hold outputs that JupyterLab does not trust."""
    return bare_clone.copy(tmp_path_factory.mktemp("clone"))


@pytest.fixture(scope="module")
def lab(clone):
    """(browser, address) of a JupyterLab in the clone that lets scripts steer it."""
    with browser.lab(clone, "--LabApp.expose_app_in_browser=True") as running:
        yield running


def figures(path, monkeypatch):
    """{number of its cell: LiveFigure}, made in this process by a chapter's own cells: what the browser must show."""
    made, space = {}, {"__name__": "__main__"}
    monkeypatch.setattr(base.LiveFigure, "show", lambda figure: made.setdefault(place, figure))
    monkeypatch.chdir(path.parent)
    for place, cell in enumerate(stored.read(path).cells):  # noqa: B007 (used by what a cell calls)
        if cell.cell_type == "code" and cell.id not in ("setup", "packages"):  # what those install is here already
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(cell.source, cell.id, "exec"), space)
    return made


def words(markup):
    """All words in HTML, those that appear on pointing included."""
    return html.unescape(re.sub("<[^>]+>", "", markup))


def wait_until(condition, message):
    """Wait for something to become true."""
    end = time.monotonic() + SECONDS
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.1)
    assert found, message


def agrees(shown, figure, message):
    """Wait until the picture in the browser says what the figure says."""
    wanted = words(figure.picture.value)
    wait_until(lambda: words(shown.locator(LIVE).evaluate("svg => svg.parentNode.innerHTML")) == wanted, message)


def listed(control):
    """Whether this is a slider over a list and not over numbers."""
    return isinstance(control, widgets.SelectionSlider)


def by_keyboard(page, control, place):
    """Change a control with keys alone, and its twin in this process in the same way."""
    if isinstance(control, widgets.Checkbox):
        place.locator("input").focus()
        page.keyboard.press("Space")
        control.value = not control.value
    elif isinstance(control, widgets.ToggleButtons):
        place.locator("button").first.focus()
        for _ in range(len(control.options) - 1):
            page.keyboard.press("Tab")
        page.keyboard.press("Space")
        control.index = len(control.options) - 1
    else:
        highest = len(control.options) - 1 if listed(control) else control.max
        number, step = ("index", 1) if listed(control) else ("value", control.step)
        back = getattr(control, number) >= highest
        place.locator(".noUi-handle").focus()
        page.keyboard.press("ArrowLeft" if back else "ArrowRight")
        setattr(control, number, getattr(control, number) + (-step if back else step))


def by_mouse(page, control, place):
    """Change a control with the mouse, and its twin in this process in the same way."""
    if isinstance(control, widgets.Checkbox):
        place.locator("input").click()
        control.value = not control.value
    elif isinstance(control, widgets.ToggleButtons):
        place.locator("button").first.click()
        control.index = 0
    else:
        track = place.locator(".noUi-target").bounding_box()
        readout = place.locator(".widget-readout")
        before = readout.inner_text()
        lowest, highest = (0, len(control.options) - 1) if listed(control) else (control.min, control.max)
        now = (control.index if listed(control) else control.value) - lowest
        share = 0.1 if now > (highest - lowest) / 2 else 0.9  # far from where it is
        page.mouse.click(track["x"] + share * track["width"], track["y"] + track["height"] / 2)
        wait_until(lambda: readout.inner_text() != before, f"{control.description} did not follow the mouse")
        if listed(control):
            control.label = readout.inner_text()
        else:
            control.value = type(control.value)(readout.inner_text().replace("−", "-"))


@pytest.mark.parametrize("path", CHAPTERS)
def test_a_chapter_runs_and_its_live_figures_answer(path, clone, lab, monkeypatch):
    expected = figures(path, monkeypatch)
    assert expected, "every chapter has a live figure"
    page = browser.open_notebook(*lab, path.name)
    see_stills(page, path, expected)  # not trusted, not run

    saved = clone / "work" / path.name
    browser.choose(page, "Run", "Run All Cells")
    page.wait_for_function(ALL_RUN, timeout=browser.SECONDS * 1000)  # before that, a kernel answers no control
    save(page, saved)
    see_outputs(saved, path)
    for number, figure in expected.items():
        shown = cell_of(page, number)
        shown.locator(LIVE).wait_for(timeout=browser.SECONDS * 1000)
        agrees(shown, figure, "the picture at first")
        places = shown.locator(".widget-hslider, .widget-checkbox, .widget-toggle-buttons")
        assert places.count() == len(figure.controls)
        for change in (by_keyboard, by_mouse):
            for place, (name, control) in enumerate(figure.controls.items()):
                change(page, control, places.nth(place))
                agrees(shown, figure, f"{name} {change.__name__}")
    take_pictures(page, path, expected)

    save(page, saved)
    assert stills.WIDGET_VIEW not in saved.read_text(encoding="utf-8")
    end_kernels(lab[1])
    browser.open_in(page, lab[1], path.name)
    see_stills(page, saved, expected)  # trusted, saved and opened again
    page.close()


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
        assert same_text(stored.printed(new), stored.printed(old)), old.id
        assert len(list(stored.pictures(new))) == len(list(stored.pictures(old))), old.id


def see_stills(page, path, expected):
    """Without a kernel, every live figure is a picture with alt text in the file, and nothing is an error."""
    cells = stored.read(path).cells
    for number in expected:
        ((_, alt),) = stored.pictures(cells[number])
        assert len(alt.split()) >= 10
        shown = cell_of(page, number)
        picture = shown.locator(".jp-OutputArea-output img")  # JupyterLab itself leaves the alt text in the file
        picture.wait_for(timeout=SECONDS * 1000)
        assert picture.evaluate("image => image.naturalWidth > 100")
        assert shown.locator(LIVE).count() == 0
        assert shown.get_by_text(re.compile("model not found|error displaying", re.IGNORECASE)).count() == 0


def take_pictures(page, path, expected):
    """Screenshots of the figures in both themes, to look at."""
    SCREENSHOTS.mkdir(exist_ok=True)
    for theme in ("Light", "Dark"):
        page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", f"JupyterLab {theme}"
        )
        wait_until(lambda theme=theme: is_theme(page, theme), f"the theme is not {theme}")
        for place, number in enumerate(expected, start=1):
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
