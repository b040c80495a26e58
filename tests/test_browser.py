"""Every chapter in JupyterLab in a real browser: it opens, runs from top to bottom and prints what is stored."""

import contextlib
import os
import re
import shutil
import sys
import time

import nbformat
import pytest

from tests import bare_clone, server, stored
from tests.comparing import same_text

NAMES = ["chromium", "chromium-browser", "google-chrome"]
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(
    not CHROMIUM and not (os.environ.get("CI") and sys.platform == "linux"), reason="no Chromium on this machine"
)
LEARNERS = [path for path in stored.PATHS if path.parent.name == "notebooks"]
SECONDS = 120  # for one chapter


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A clone whose chapters in work/ have no outputs, so that every output seen later is fresh."""
    clone = bare_clone.copy(tmp_path_factory.mktemp("clone"))
    (clone / "work").mkdir()
    for path in LEARNERS:
        notebook = stored.read(path)
        for cell in stored.code_cells(notebook):
            cell.outputs, cell.execution_count = [], None
        nbformat.write(notebook, clone / "work" / path.name)
    return clone


@pytest.fixture(scope="module")
def lab(clone):
    """(browser, address): Chromium, and the JupyterLab that the README's command starts."""
    from playwright.sync_api import sync_playwright

    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with server.lab(clone) as (_, address), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser, address
        browser.close()


@pytest.mark.parametrize("path", LEARNERS, ids=stored.name)
def test_a_chapter_runs_from_top_to_bottom(path, clone, lab):
    browser, address = lab
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.goto(re.sub(r"work/.*\?", f"work/{path.name}?reset&", address))  # alone, not beside the chapters before it
    page.get_by_role("heading", name="Chapter").first.wait_for(timeout=SECONDS * 1000)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()

    fresh, end = None, time.monotonic() + SECONDS
    expected = stored.code_cells(stored.read(path))
    while time.monotonic() < end and not (fresh and fresh[-1].execution_count):
        time.sleep(1)
        page.keyboard.press("Control+s")
        with contextlib.suppress(nbformat.reader.NotJSONError):  # JupyterLab is in the middle of saving
            fresh = stored.code_cells(stored.read(clone / "work" / path.name))
    page.close()
    for new, old in zip(fresh, expected, strict=True):
        assert new.execution_count, f"{old.id} was not run"
        assert not [output for output in new.outputs if output.output_type == "error"], old.id
        assert same_text(stored.printed(new), stored.printed(old)), old.id
        assert len(list(stored.pictures(new))) == len(list(stored.pictures(old)))
