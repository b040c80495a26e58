"""Live figures in other Jupyters than the course's own: in a signed notebook they move as soon as it is opened."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time

import nbformat
import pytest

from course_utils.repository import ROOT
from tests.support import browser, colab_versions, environments, examples, page, server, stored
from tests.support.page import LIVE, by_keyboard, by_mouse, controls

pytestmark = [browser.needs_chromium, pytest.mark.every_setting("other Jupyters")]
OLD = ["notebook==6.5.7", "ipywidgets==7.7.1", "ipykernel==6.17.1", "ipython==7.34.0"]
JUPYTERS = {"notebook-6": OLD, "notebook-7": ["notebook==7.4.7", "ipywidgets==8.1.9"]}
KERNELS = {"notebook-6": colab_versions.python, "notebook-7": lambda: sys.executable}  # with torch and such ipywidgets
PATH = next(path for path in stored.PATHS if path.stem == "03_hiding_the_future")
SECONDS = 60


@contextlib.contextmanager
def opened(name, folder, notebook):
    """(page that shows a notebook, address of its server), as somebody who has signed the notebook sees it."""
    python, file = environments.python_with(name, *JUPYTERS[name]), folder / PATH.name
    nbformat.write(notebook, file)
    own = os.environ | {f"JUPYTER_{kind}_DIR": str(folder / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    subprocess.run([python, "-m", "nbformat.sign", file], cwd=folder, env=own, check=True, capture_output=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{probe.getsockname()[1]}"
    kind = "NotebookApp" if name == "notebook-6" else "ServerApp"
    options = {"port": address.rpartition(":")[2], "token": "", "password": "", "disable_check_xsrf": True}
    command = [python, "-m", "notebook", "--no-browser", "--allow-root"]
    command += [f"--{kind}.{option}={value}" for option, value in options.items()]
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(command, cwd=folder, env=own, stdout=log, stderr=log)
    try:
        end = time.monotonic() + SECONDS
        while not server.answers(address) and time.monotonic() < end:
            time.sleep(0.3)
        with page.chromium() as chromium:
            shown = chromium.new_page(viewport={"width": 1280, "height": 1000})
            dialog = shown.locator(".modal.in button.close")  # what the old notebook has to say about its kernel
            shown.add_locator_handler(dialog, lambda close: close.click())
            shown.goto(f"{address}/notebooks/{file.name}")
            yield shown, address
    finally:
        process.terminate()
        process.wait()


@pytest.mark.parametrize("name", JUPYTERS)
def test_figures_are_alive_and_hear_keys_that_the_notebook_wants_too(name, tmp_path):
    notebook = stored.read(PATH)
    notebook.cells = [cell for cell in notebook.cells if cell.id == "masking-live"]  # all of it is in sight
    with opened(name, tmp_path, notebook) as (shown, _):
        figure = shown.locator(LIVE)
        figure.wait_for(timeout=SECONDS * 1000)
        shown.wait_for_timeout(4000)  # both take the focus for a cell once their kernel is there
        for change in (by_keyboard, by_mouse):
            for kind, control in controls(figure):
                before = page.state(shown)
                change(shown, kind, control)
                assert change is by_mouse or page.state(shown) != before, f"{kind} does not hear the keyboard"
        figure.get_by_role("button", name="put everything back").click()
        board = figure.get_by_role("application", name="weights")
        board.focus()
        for key in ("Tab", "Shift+Tab", "Home", "ArrowDown", "ArrowRight"):
            shown.keyboard.press(key)
        assert 'Query "journey", key "journey": weight 0.4' in page.said(shown)


@pytest.mark.parametrize("name", JUPYTERS)
def test_a_layer_of_ones_own_answers_and_stays_readable_without_a_kernel(name, tmp_path):
    kernel = tmp_path / "DATA" / "kernels" / "course" / "kernel.json"
    kernel.parent.mkdir(parents=True)
    command = [str(KERNELS[name]()), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel.write_text(json.dumps({"argv": command, "display_name": "Course", "language": "python"}))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(examples.OWN_LAYER.format(course=str(ROOT)))])
    notebook.metadata.kernelspec = {"display_name": "Course", "language": "python", "name": "course"}
    with opened(name, tmp_path, notebook) as (shown, address):
        board = shown.get_by_role("application", name="dependency matrix")
        length = shown.get_by_label("length")
        run(shown, length)
        assert board.get_attribute("data-cells") == "4 4"
        length.fill("2")
        length.press("Enter")
        shown.locator('[role=application][data-cells="2 2"]').wait_for(timeout=SECONDS * 1000)
        shown.get_by_label("mask as you made it").uncheck()
        unmasked = shown.locator(f"{LIVE} .said", has_text="1 cells above")
        unmasked.wait_for(timeout=SECONDS * 1000)
        with shown.expect_response(lambda response: response.request.method == "PUT"):
            press(shown, "Control+s")
        for session in shown.request.get(f"{address}/api/sessions").json():
            shown.request.delete(f"{address}/api/sessions/{session['id']}")
        shown.reload()
        unmasked.wait_for(timeout=SECONDS * 1000)


def run(shown, result):
    """Run the first cell until it shows what it makes: before the kernel and its widgets are there, it shows none."""
    for second in range(SECONDS):
        if result.is_visible():
            return
        if second % 10 == 0:
            press(shown, "Control+Enter")
        shown.wait_for_timeout(1000)


def press(shown, key):
    """Press a key in the first cell: in a widget the notebook hears none."""
    shown.locator(".CodeMirror, .cm-content").first.click()
    shown.keyboard.press(key)
