"""Every value that the sources print: shown by a stored output, digit for digit, or accounted for."""

import hashlib
import re
from collections import Counter

import pytest
import torch

from course_tools.repository import ROOT
from tests.support import stored
from tests.support.ledger import PAPERS, PUBLISHED, VALUES, tensor, text

QUOTED = "74363aecba72f55d06579880f6a3ff740c6a1f0efb80e3e3b4b9998dfadda1cf"  # of all that the ledger quotes
CHAPTERS = {int(path.name[:2]) for path in stored.PATHS}


def place(value):
    """How a report calls a value: S0:98."""
    return f"{value['source']}:{value['line']}"


def bare(text):
    """A printed text without white space and without the gradient function, which is not part of the value."""
    return re.sub(r"\s+", "", re.sub(r",\s*grad_fn=<\w+>", "", text))


def shows(output, value):
    """Whether an output shows the value that the ledger says it shows."""
    expected = value.get("shows", value["text"])
    if value["kind"] == "tensor":
        return bare(expected) in bare(output)
    return re.search(rf"(?<![\w.]){re.escape(expected)}(?![\w.])", output) is not None


@pytest.mark.parametrize("value", [value for value in VALUES if "cell" in value], ids=place)
@pytest.mark.parametrize("paths", [stored.LEARNERS, stored.SOLVED], ids=["notebooks", "solutions"])
def test_the_stored_output_shows_what_the_source_prints(value, paths):
    path = stored.of_chapter(value["chapter"], paths)
    cells = {cell.id: cell for cell in stored.code_cells(stored.read(path))}
    assert value["cell"] in cells, f"{stored.name(path)} has no cell {value['cell']!r}"
    output = stored.printed(cells[value["cell"]])
    assert shows(output, value), f"{place(value)} prints\n{value['text']}\nbut the cell prints\n{output}"


def test_a_changed_digit_would_be_noticed():
    value = {"kind": "tensor", "text": "tensor([[0.1385, 0.2379],\n        [0.1390, 0.2369]], grad_fn=<X>)"}
    assert shows("weights: tensor([[0.1385, 0.2379], [0.1390, 0.2369]])", value)
    assert not shows("weights: tensor([[0.1385, 0.2379], [0.1390, 0.2368]])", value)
    assert not shows("19.5", {"kind": "number", "text": "19"})


def test_what_the_sources_print_does_not_change():
    quoted = "\n".join(f"{place(value)} {value['kind']} {value['text']}" for value in VALUES)
    assert hashlib.sha256(quoted.encode()).hexdigest() == QUOTED, "the sources print what they print; see git diff"


def test_the_ledger_is_complete():
    tensors = [value for value in VALUES if value["kind"] == "tensor"]
    assert Counter(value["source"] for value in tensors) == {"S0": 32, "S1": 3, "S2": 5, "S3": 16, "S4": 8}
    assert sum("cannot" in value for value in tensors) == 9


def test_the_readme_counts_the_values_and_those_that_nobody_can_reproduce():
    words = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    count = sum("cannot" in value for value in VALUES)
    assert f"Of the {len(VALUES)} values that this course's five source texts print, {count} are wrong or" in words
    assert max(Counter(map(place, VALUES)).values()) == 1


@pytest.mark.parametrize("value", VALUES, ids=place)
def test_every_value_is_shown_or_announced_or_explained(value):
    if "cannot" in value:
        assert value["instead"]
        assert "shows" in value or "cell" not in value, "say what the cell shows instead"
    elif "cell" not in value:
        assert value["chapter"] not in CHAPTERS, "its chapter is here: name the cell"


# --- figures from papers and configurations ---------------------------------------------------------------------------


@pytest.mark.parametrize("value", PUBLISHED, ids=lambda value: f"{value['paper']}:{value['text']}")
def test_a_cell_computes_what_a_paper_or_a_configuration_says(value):
    """In the ledger stands where; the cell compares the number with what it has computed, and prints it."""
    assert value["place"] and PAPERS[value["paper"]].keys() == {"author", "title", "read"}
    output = stored.printed(stored.cell(stored.of_chapter(value["chapter"]), value["cell"]))
    assert re.search(rf"(?<![\d.,]){re.escape(value['shows'])}(?![\d]|[.,]\d)", output), output
    assert "False" not in output


def test_every_paper_has_a_figure_in_the_ledger():
    assert {value["paper"] for value in PUBLISHED} == PAPERS.keys()


# --- what is checked of the tensors that cannot be reproduced -------------------------------------------------------


def test_the_weights_of_the_bert_example_are_eleven_shares_a_row():
    weights = tensor("S2", 88)
    assert weights.shape == (1, 11, 11)
    assert torch.allclose(weights.sum(dim=-1), torch.ones(11), atol=11 * 0.00005)


def test_the_context_vectors_of_the_bert_example_lie_nearer_together_than_its_values():
    values, context = (
        torch.tensor([float(number) for number in re.findall(r"-?\d\.\d{4}", text("S2", line))]) for line in (62, 116)
    )
    assert len(values) == len(context) == 36
    assert context.abs().max() < values.abs().max()


def test_the_unseeded_query_and_context_have_two_numbers():
    assert tensor("S3", 139).shape == tensor("S3", 163).shape == (2,)


def test_the_unseeded_weights_follow_from_the_unseeded_scores():
    weights = torch.softmax(tensor("S3", 149) / 2**0.5, dim=-1)
    assert torch.allclose(weights, tensor("S3", 162), atol=0.0001)
