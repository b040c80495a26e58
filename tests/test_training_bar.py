"""The progress bar is there while a cell works, and nothing of it is stored or compared."""

import os
import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient

from course_tools.repository import ROOT
from course_utils import training_bar

CELL = """\
from course_utils.training_bar import with_bar
print(sum(with_bar(range(7))))
"""


def notebook():
    """A notebook whose only cell counts with a progress bar and then prints the sum."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    made.metadata.kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return made


def run(made):
    """Run a notebook as a build does."""
    NotebookClient(made, resources={"metadata": {"path": str(ROOT)}}, coalesce_streams=True).execute()
    return made


def test_only_what_is_printed_afterwards_is_stored():
    (output,) = run(notebook()).cells[0].outputs
    assert output.text == "21\n"


def test_the_bar_shows_what_is_done_how_far_it_is_and_for_how_long(monkeypatch):
    shown, cleared = [], []

    class Bar:
        update = staticmethod(lambda bundle, raw: shown.append(bundle))

    monkeypatch.setattr(training_bar, "display", lambda bundle, raw, display_id: shown.append(bundle) or Bar)
    monkeypatch.setattr(training_bar, "clear_output", lambda: cleared.append(len(shown)))
    clock = iter(range(100))
    monkeypatch.setattr(training_bar.time, "monotonic", lambda: next(clock))
    assert list(training_bar.with_bar("abcd", "reading")) == list("abcd")
    assert [bundle["text/plain"] for bundle in shown] == [
        "reading: 0%, 0 s",
        "reading: 25%, 1 s, about 3 s left",
        "reading: 50%, 2 s, about 2 s left",
        "reading: 75%, 3 s, about 1 s left",
        "reading: 100%, 4 s, about 0 s left",
    ]
    assert 'aria-label="reading"' in shown[0]["text/html"] and cleared == [5]
    monkeypatch.undo()


def test_a_long_run_does_not_flood_the_browser(monkeypatch):
    shown = []
    monkeypatch.setattr(
        training_bar,
        "display",
        lambda *bundle, **more: type("Bar", (), {"update": lambda *new, **more: shown.append(1)}),
    )
    list(training_bar.with_bar(range(5000)))
    assert len(shown) <= 100


@pytest.mark.every_setting("cells run afresh, with their bar")
def test_a_fresh_run_compares_only_what_the_cell_leaves(tmp_path):
    good, bad = run(notebook()), run(notebook())
    bad.cells[0].outputs[0].text = "22\n"
    for name, made in [("good", good), ("bad", bad)]:
        nbformat.write(made, tmp_path / f"{name}.ipynb")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml"]
    command += [f"--rootdir={ROOT}", "--nbval-cell-timeout=60", "--nbval-current-env"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([*command, tmp_path], cwd=ROOT, env=environment, capture_output=True, encoding="utf-8")
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "Cell outputs differ" in done.stdout and "22" in done.stdout, "the changed output, and nothing else"
