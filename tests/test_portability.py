"""What a chapter prints does not depend on the machine: threads, vector instructions, a graphics card.

The run of all notebooks is the one extreme, with one thread and all vector instructions; here is the other.
"""

import os
from pathlib import Path

import nbformat
import pytest
import torch
from nbclient import NotebookClient

from course_utils.authoring import code_digest, imports
from course_utils.exercises import CHAPTERS
from tests.support import stored
from tests.support.comparing import same_text

pytestmark = pytest.mark.every_setting("threads, vector instructions and graphics cards")
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
THREADS = str(os.cpu_count())
MACHINES = {
    "all threads, no vector instructions": {"OMP_NUM_THREADS": THREADS, "ATEN_CPU_CAPABILITY": "default"},
    "CUDA hidden": {"CUDA_VISIBLE_DEVICES": ""},
}
LOADED = """
import sys
files = {getattr(module, "__file__", None) for name, module in sys.modules.items() if name.startswith("course_utils")}
print(*(file for file in files - {None} if "chapter_" not in file), sep="\\n")
"""  # the course's files that a chapter has loaded in the end; of the exercises it needs its own only
SOLVED = [path for path in stored.PATHS if path.parent.name == "solutions"]


@pytest.mark.parametrize("path", SOLVED, ids=stored.name)
@pytest.mark.parametrize(
    "machine", [pytest.param(name, marks=needs_cuda if "CUDA" in name else ()) for name in MACHINES]
)
def test_a_chapter_prints_the_same(path, machine, monkeypatch):
    for name, value in MACHINES[machine].items():
        monkeypatch.setenv(name, value)
    notebook = stored.read(path)
    expected = {cell.id: stored.printed(cell) for cell in stored.code_cells(notebook)}
    cells = list(notebook.cells)
    notebook.cells.append(nbformat.v4.new_code_cell(LOADED))
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()
    for cell in cells:
        if cell.cell_type == "code":
            assert same_text(stored.printed(cell), expected[cell.id]), cell.id
    loaded = set(map(Path, stored.printed(notebook.cells[-1]).split("\n")[:-1]))
    all_exercises = imports.behind(" ".join(f"course_utils.exercises.chapter_{chapter}" for chapter in CHAPTERS))
    of_others = {file for file in all_exercises if file.parent.name == "exercises"}  # such as a piece that two share
    noticed = set(code_digest.files(cells, int(path.name[:2])))
    assert loaded - of_others <= noticed, "a build would not notice that these changed"
