"""Live figures in other Jupyters than the course's own: in a signed notebook they move as soon as it is opened."""

import contextlib
import functools
import os
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from course_tools.repository import ROOT
from tests.support import browser, colab_versions, environments, examples, page, server, stored
from tests.support.page import LIVE, by_keyboard, by_mouse, controls

pytestmark = [browser.needs_chromium, pytest.mark.in_matrix("Notebook 7 and 6.5")]
OLD = ["notebook==6.5.7", "ipywidgets==7.7.1", "ipykernel==6.17.1", "ipython==7.34.0"]
JUPYTERS = {"notebook-6": OLD, "notebook-7": ["notebook==7.4.7", "ipywidgets==8.1.9"]}
KERNELS = {"notebook-6": colab_versions.python, "notebook-7": lambda: sys.executable}  # with torch and such ipywidgets
PATH = next(path for path in stored.PATHS if path.stem == "03_hiding_the_future")
SECONDS = 60
# a kernel is there, and what shows its widgets
READY = {
    "notebook-6": "() => window.Jupyter?.notebook?.kernel?.widget_manager && Jupyter.notebook.kernel.is_connected()",
    "notebook-7": "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.connectionStatus"
    " === 'connected'",
}


@pytest.fixture(scope="module")
def jupyters(tmp_path_factory):
    """A function that starts one of the Jupyters, once: (its folder, its address, its environment's variables)."""
    with contextlib.ExitStack() as running:
        yield functools.cache(lambda name: running.enter_context(started(name, tmp_path_factory.mktemp(name))))


@contextlib.contextmanager
def started(name, folder):
    """(folder, address, variables) of a Jupyter that has the kernel "course" and shows what lies in a folder."""
    python = environments.python_with(name, *JUPYTERS[name])
    own = os.environ | {f"JUPYTER_{kind}_DIR": str(folder / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    if name == "notebook-7":  # what shows widgets there belongs to the packages of the tests
        own["JUPYTER_PATH"] = str(Path(sys.prefix, "share", "jupyter"))
    environments.kernel(folder / "DATA", "course", KERNELS[name]())
    port = server.free_port()
    kind = "NotebookApp" if name == "notebook-6" else "ServerApp"
    options = {"port": port, "token": "", "password": "", "disable_check_xsrf": True}
    command = [python, "-m", "notebook", "--no-browser", "--allow-root"]
    command += [f"--{kind}.{option}={value}" for option, value in options.items()]
    if name == "notebook-7":
        command.append("--JupyterNotebookApp.expose_app_in_browser=True")
    with open(folder / "log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(command, cwd=folder, env=own, stdout=log, stderr=log)
    try:
        end = time.monotonic() + SECONDS
        address = f"http://127.0.0.1:{port}"
        while not server.answers(address) and time.monotonic() < end:
            time.sleep(0.3)
        yield folder, address, own
    finally:
        process.kill()  # asked to end, it may wait for ever for a kernel that has just been started
        process.wait()


@pytest.fixture
def opened(jupyters, chromium):
    """A function: the page on which a Jupyter shows a notebook, as somebody who has signed the notebook sees it."""
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})

    def show(name, cells):
        folder, address, own = jupyters(name)
        notebook = nbformat.v4.new_notebook(cells=cells)
        notebook.metadata.kernelspec = {"display_name": "course", "language": "python", "name": "course"}
        nbformat.write(notebook, folder / "shown.ipynb")
        sign = [environments.python_with(name, *JUPYTERS[name]), "-m", "nbformat.sign", "shown.ipynb"]
        subprocess.run(sign, cwd=folder, env=own, check=True, capture_output=True)
        shown = context.new_page()
        dialog = shown.locator(".modal.in button.close")  # what the old notebook has to say about its kernel
        shown.add_locator_handler(dialog, lambda close: close.click())
        shown.goto(f"{address}/notebooks/shown.ipynb")
        shown.wait_for_function(READY[name], timeout=SECONDS * 1000)
        return shown

    yield show
    context.close()


@pytest.mark.parametrize("name", JUPYTERS)
def test_figures_are_alive_and_hear_keys_that_the_notebook_wants_too(name, opened):
    (cell,) = [cell for cell in stored.read(PATH).cells if cell.id == "masking-live"]
    shown = opened(name, [cell])  # all of it is in sight
    figure = shown.locator(LIVE)
    figure.wait_for(timeout=SECONDS * 1000)
    shown.wait_for_timeout(2000)  # both take the focus for a cell once their kernel is there
    for change in (by_keyboard, by_mouse):
        for kind, control in controls(figure):
            before = page.state(shown)
            change(shown, kind, control)
            assert change is by_mouse or page.state(shown) != before, f"{kind} does not hear the keyboard"
            figure.get_by_role("button", name="Reset").click()  # what one control takes away, the next may need
    board = figure.get_by_role("application", name="weights")
    board.focus()
    for key in ("Tab", "Shift+Tab", "Home", "ArrowDown", "ArrowRight"):
        shown.keyboard.press(key)
    assert 'Query "journey", key "journey": weight 0.4' in page.said(shown)


@pytest.mark.parametrize("name", JUPYTERS)
def test_a_layer_of_ones_own_answers_and_stays_readable_without_a_kernel(name, opened, jupyters):
    shown = opened(name, [nbformat.v4.new_code_cell(examples.OWN_LAYER.format(course=str(ROOT)))])
    press(shown, "Control+Enter")
    board = shown.get_by_role("application", name="your layer")
    length = shown.get_by_label("length")
    length.wait_for(timeout=SECONDS * 1000)
    assert board.get_attribute("data-cells") == "4 4"
    length.fill("2")
    length.press("Enter")
    shown.locator('[role=application][data-cells="2 2"]').first.wait_for(timeout=SECONDS * 1000)
    unmasked = shown.locator(f"{LIVE} .said", has_text="Without the mask, 1 red cell leaks")
    unmasked.wait_for(timeout=SECONDS * 1000)
    with shown.expect_response(lambda response: response.request.method == "PUT"):
        press(shown, "Control+s")
    _, address, _ = jupyters(name)
    for session in shown.request.get(f"{address}/api/sessions").json():
        shown.request.delete(f"{address}/api/sessions/{session['id']}")
    shown.reload()
    unmasked.wait_for(timeout=SECONDS * 1000)


def press(shown, key):
    """Press a key in the first cell: in a widget the notebook hears none."""
    shown.locator(".CodeMirror, .cm-content").first.click()
    shown.keyboard.press(key)
