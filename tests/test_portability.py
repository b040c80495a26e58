"""What a chapter prints does not depend on a graphics card. (On versions, threads, vector instructions: test_colab.)"""

import pytest
import torch
from nbclient import NotebookClient

from tests.support import settings, stored
from tests.support.comparing import same_text

pytestmark = [
    pytest.mark.every_setting("with a graphics card hidden"),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine"),
]


CASES = [pytest.param(path, id=stored.name(path), marks=settings.marks_of(path)) for path in stored.SOLVED]


@pytest.mark.parametrize("path", CASES)
def test_a_chapter_prints_the_same_with_the_card_hidden(path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    notebook = stored.read(path)
    expected = {cell.id: stored.comparable(cell) for cell in stored.code_cells(notebook)}
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()
    for cell in stored.code_cells(notebook):
        assert same_text(stored.comparable(cell), expected[cell.id]), cell.id
