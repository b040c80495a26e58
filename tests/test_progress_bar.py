"""The progress bar is there while a cell works, and nothing of it is stored or compared."""

import os
import subprocess
import sys

import nbformat
from nbclient import NotebookClient

from course_utils import progress_bar
from tests import stored

CELL = """\
from course_utils.progress_bar import with_progress
print(sum(with_progress(range(7))))
"""


def notebook():
    """A notebook whose only cell counts with a progress bar and then prints the sum."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    made.metadata.kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return made


def run(made):
    """Run a notebook as a build does."""
    NotebookClient(made, resources={"metadata": {"path": str(stored.ROOT)}}, coalesce_streams=True).execute()
    return made


def test_only_what_is_printed_afterwards_is_stored():
    (output,) = run(notebook()).cells[0].outputs
    assert output.text == "21\n"


def test_the_bar_shows_how_far_the_work_is(monkeypatch):
    shown, cleared = [], []
    monkeypatch.setattr(progress_bar.ProgressBar, "display", lambda bar: shown.append(bar.progress))
    monkeypatch.setattr(progress_bar.ProgressBar, "update", lambda bar: shown.append(bar.progress))
    monkeypatch.setattr(progress_bar, "clear_output", lambda: cleared.append(len(shown)))
    assert list(progress_bar.with_progress("abcd")) == list("abcd")
    assert shown == [0, 1, 2, 3, 4] and cleared == [5]
    list(progress_bar.with_progress(range(5000)))
    assert len(shown) <= 5 + 1 + progress_bar.MOVES, "a long run does not flood the browser"


def test_a_fresh_run_compares_only_what_the_cell_leaves(tmp_path):
    good, bad = run(notebook()), run(notebook())
    bad.cells[0].outputs[0].text = "22\n"
    for name, made in [("good", good), ("bad", bad)]:
        nbformat.write(made, tmp_path / f"{name}.ipynb")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", stored.ROOT / "pyproject.toml"]
    command += [f"--rootdir={stored.ROOT}", "--nbval-cell-timeout=60", "--nbval-current-env"]
    environment = os.environ | {"PYTHONPATH": str(stored.ROOT)}
    done = subprocess.run([*command, tmp_path], cwd=stored.ROOT, env=environment, capture_output=True, text=True)
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "Cell outputs differ" in done.stdout and "22" in done.stdout, "the changed output, and nothing else"
