"""Every chapter in JupyterLab in a real browser: it opens, runs from top to bottom and prints what is stored."""

import contextlib
import time

import nbformat
import pytest

from tests import bare_clone, browser, stored
from tests.comparing import same_text

pytestmark = browser.needs_chromium
LEARNERS = [path for path in stored.PATHS if path.parent.name == "notebooks"]


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
    """(browser, address) of a JupyterLab in the clone."""
    with browser.lab(clone) as running:
        yield running


@pytest.mark.parametrize("path", LEARNERS, ids=stored.name)
def test_a_chapter_runs_from_top_to_bottom(path, clone, lab):
    page = browser.open_notebook(*lab, path.name)
    browser.choose(page, "Run", "Run All Cells")

    fresh, end = None, time.monotonic() + browser.SECONDS
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
