"""What learners have in work/ from before the tools moved out of `course_utils` goes on as it was."""

import json

import nbformat
import pytest
from nbclient import NotebookClient

from course_tools.commands import lab
from tests.support import bare_clone

SETUP = """\
import importlib.util, os, sys

REPOSITORY = ""  # OWNER/REPO, written here by: python3 -m course_utils links OWNER/REPO
sys.path.insert(0, os.path.abspath(".."))  # in a clone, the helpers lie next door
if importlib.util.find_spec("course_utils") is None:
    assert REPOSITORY, "course_utils is not here: open this notebook inside a clone of the course."
"""
IMPORTS = """\
import torch
from course_utils import families, live, pictures, pretrained
from course_utils.attention import CausalAttention, CrossAttention, MultiHeadAttention, MultiHeadAttentionWrapper
from course_utils.attention import SelfAttention_v2, masked_softmax
from course_utils.checking import answer, check, hint, progress, review, solution
from course_utils.influence import influences
from course_utils.layer_drawing import show_layer
from course_utils.randomness import keep_mask
from course_utils.training_bar import with_bar
from course_utils.validation import check_dropout, check_groups, check_heads, check_input, check_mask, check_numbers
from course_utils.validation import check_pair, check_room, check_values
"""
ANSWER = """\
def my_softmax(scores):
    scores = scores - scores.max(dim=-1, keepdim=True).values
    return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)
"""
PROGRESS = {
    "1.1": {"status": "right", "points": 1},
    "1.2": {"status": "not yet", "points": 0, "hints": 2},
}


@pytest.mark.every_setting("notebooks of an earlier version")
def test_a_notebook_and_its_progress_go_on(tmp_path, monkeypatch):
    clone = bare_clone.copy(tmp_path / "clone")
    monkeypatch.setattr(lab, "WORK", clone / "work")
    monkeypatch.delenv("COURSE_PROGRESS", raising=False)
    (clone / "work").mkdir()
    cells = [SETUP, IMPORTS, ANSWER, 'check("1.2", my_softmax)', 'hint("1.2")', "progress(1)"]
    old = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    path = clone / "work/01_dot_product_attention.ipynb"
    nbformat.write(old, path)
    (clone / "work/progress.json").write_text(json.dumps(PROGRESS), encoding="utf-8")
    before = path.read_bytes()
    lab.copy_chapters()
    assert path.read_bytes() == before, "the learner's own file was touched"
    NotebookClient(old, resources={"metadata": {"path": str(path.parent)}}).execute()
    after = json.loads((clone / "work/progress.json").read_text(encoding="utf-8"))
    assert after["1.1"] == PROGRESS["1.1"] and after["1.2"]["status"] == "right"
    said = [str(output["data"]) for cell in old.cells for output in cell.outputs if "data" in output]
    assert "1.2 right" in said[0] and "Hint 3 of 3" in said[1], said
