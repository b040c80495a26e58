"""What a chapter prints does not depend on the machine: threads, vector instructions, a graphics card."""

import pytest
import torch
from nbclient import NotebookClient

from tests.support import stored
from tests.support.comparing import same_text

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
MACHINES = {
    "one thread": {"OMP_NUM_THREADS": "1"},
    "two threads": {"OMP_NUM_THREADS": "2"},
    "no vector instructions": {"ATEN_CPU_CAPABILITY": "default"},
    "CUDA hidden": {"CUDA_VISIBLE_DEVICES": ""},
}
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
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()
    for cell in stored.code_cells(notebook):
        assert same_text(stored.printed(cell), expected[cell.id]), cell.id
