"""What runs of a submission: the cell of an exercise, what it needs of the cells before, and nothing else."""

import ast
import json
import symtable
import sys
from unittest.mock import Mock

import pytest

from course_tools.grading import notebook_reading as reading
from course_utils.exercises import EXERCISES
from tests.support.handed_in import NAME, RIGHT, notebook, packed

EXERCISE = EXERCISES["3.2"]


def read(*texts, name="x.ipynb", **more):
    """A notebook of code cells with these texts."""
    listed = [{"cell_type": "code", "source": text} for text in texts]
    return reading.read_notebook(name, packed({"cells": listed, **more}))


def needed(*texts, name="my_causal_weights"):
    """What runs of these cells, without empty lines."""
    found = read(*texts)
    ran, _ = found.texts_needed(found.cells_defining(EXERCISE)[-1], name)
    return [[line for line in text.split("\n") if line] for text in ran]


def test_only_what_the_answer_needs_runs():
    assert needed(
        "from somewhere import *",
        "import torch\nimport matplotlib.pyplot as plt\nprint('hello')",
        "for step in range(10**9): train()",
        "def helper(x):\n    return torch.tril(x) * FACTOR\n\n\ndef other(): pass",
        "FACTOR = 2; UNUSED = 3\nplt.plot([1])\nimage = plt.figure()",
        "torch.manual_seed(1)\n@torch.no_grad()\ndef my_causal_weights(scores):\n    return helper(scores)\nprint(1)",
        "helper = None",
    ) == [
        ["from somewhere import *"],
        ["import torch"],
        ["def helper(x):", "    return torch.tril(x) * FACTOR"],
        ["FACTOR = 2; UNUSED = 3"],
        ["@torch.no_grad()", "def my_causal_weights(scores):", "    return helper(scores)"],
    ]


def test_what_a_name_needs_comes_along_however_it_is_set():
    answer = "def my_causal_weights(scores):\n    return box.size, device, table, K.a"
    assert [
        lines[0]
        for lines in needed(
            "try:\n    from there import box\nexcept ImportError:\n    box = None",
            "if True:\n    device = 'cpu'",
            "table = {}",
            "for k in range(3):\n    table[k] = k",
            "class K(Base): pass",
            "Base = object",
            "K.a = 3",
            "with open('x') as table: pass",
            answer,
        )
    ] == [
        "try:",
        "if True:",
        "table = {}",
        "for k in range(3):",
        "class K(Base): pass",
        "Base = object",
        "K.a = 3",
        "with open('x') as table: pass",
        answer.split("\n")[0],
    ]


def test_lines_keep_their_numbers():
    found = read("x = 1\n\nprint(x)\ndef my_causal_weights(s):\n    return s")
    ((text,), _) = found.texts_needed(0, "my_causal_weights")
    assert text.split("\n").index("    return s") == 4


@pytest.mark.parametrize(
    "text",
    [
        "%matplotlib inline\n!pip install x\nfiles = !ls\nhelp?\n" + RIGHT,
        "%%time\n" + RIGHT,
        RIGHT.replace("\n", "\r\n"),
        "\n" + RIGHT,
    ],
    ids=["magics", "a cell magic", "Windows line ends", "empty lines"],
)
def test_an_answer_is_found_among(text):
    assert needed(text)[-1] == RIGHT.strip().split("\n")


def test_a_percent_sign_in_python_is_no_magic():
    text = "def my_causal_weights(s):\n    x = (7\n% 2)\n    return '''\n%time\n!ls'''"
    assert needed(text) == [text.split("\n")]


@pytest.mark.parametrize(
    "text",
    [
        "%%bash\nrm -rf /",
        "def broken(:",
        "(" * 10**5,
        "-" * 10**5 + "1",
        "a" + ".b" * 10**5,
        "x = '\0'",
        "x = 1\n" * 200_000,
    ],
    ids=["bash", "no Python", "brackets", "signs", "dots", "a null", "too long"],
)
def test_a_cell_that_is_no_python_costs_no_other(text):
    assert needed(text, RIGHT) == [RIGHT.strip().split("\n")]


@pytest.mark.parametrize("text", ["\n\ndef broken(:", "x = 1\n\nnonlocal x", "x = 1\n@f\ndef f(a): nonlocal x"])
def test_what_is_no_python_is_named_with_its_line_and_with_the_python_that_another_one_may_be_newer_than(text):
    problem = str(reading.Cell(text).problem)
    assert "(line 3 of the cell)" in problem
    assert problem.startswith("cannot be read by Python {}.{}, the grader's version: ".format(*sys.version_info))


def test_what_has_no_words_is_named_by_its_kind(monkeypatch):
    with monkeypatch.context() as patched:  # pytest itself reads Python where a test fails
        patched.setattr(reading.ast, "parse", Mock(side_effect=KeyError))
        problem = reading.Cell("read_by_no_other_test = 1").problem
    assert problem == "cannot be read by Python (KeyError)"


def test_a_statement_that_python_refuses_costs_no_other():
    cell = reading.Cell("x = 1\nnonlocal x\ny = 2")
    assert cell.binds == {"x", "y"} and "nonlocal" in cell.problem


@pytest.mark.parametrize(
    "text",
    [
        "'''one\ntwo'''; my_causal_weights = lambda s: s",
        "print(1,\n2); my_causal_weights = lambda s: s; print(3)",
        "'é'; my_causal_weights = lambda s: s; \\\nx = 1",
        "x = [\n1]; y = [x,\n2]; my_causal_weights = lambda s: (s, y,\nx)",
        "@(\nprint)\ndef my_causal_weights(s): return s",
    ],
)
def test_an_answer_that_begins_or_ends_beside_another_statement_is_python(text):
    (lines,) = needed(text)
    assert ast.parse("\n".join(lines)) and "my_causal_weights" in str(lines)


def test_statements_that_share_a_line_stay_together_and_in_their_lines():
    first, second = reading.Cell("x = [\n1]; y = 2\nz = [\n3]  # three").statements
    assert reading.text_of_statements([first]) == "x = [\n1]; y = 2" and first.binds == {"x", "y"}
    assert reading.text_of_statements([second]) == "\n\nz = [\n3]  # three"


@pytest.mark.parametrize("text", ["x=1;" * 2000, "x = 1\n" * 2000, "@d\ndef f(): pass\n" * 500])
def test_every_part_of_a_cell_is_read_once(text, monkeypatch):
    read, whole = [], symtable.symtable
    monkeypatch.setattr(symtable, "symtable", lambda own, *more: read.append(len(own)) or whole(own, *more))
    assert reading.Cell(text).statements and sum(read) <= len(text)


def test_a_chain_of_names_against_the_order_of_the_cells_is_followed_to_its_end():
    chain = "\n".join(f"a{k} = a{k + 1}" for k in range(300))
    assert len(needed(chain, "def my_causal_weights(s): return a0")[0]) == 300


def test_a_very_long_cell_is_refused():
    assert "too long" in str(reading.Cell("#" * (reading.LONGEST_CELL + 1)).problem)


def test_short_cells_are_kept_for_the_next_student_and_only_some_of_them():
    for k in range(1100):
        reading.Cell(f"x = {k}")
    kept = reading.parsed_cell_cached.cache_info()
    assert 900 < kept.currsize <= 1000
    for text, more in (("x = 1099", 1), ("#" * 10_000, 0), ("#" * 10_000, 0)):
        before = reading.parsed_cell_cached.cache_info().hits
        reading.Cell(text)
        assert reading.parsed_cell_cached.cache_info().hits == before + more


# --- which cell is whose? ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("marks", [True, False])
@pytest.mark.parametrize("name", [NAME, "homework.ipynb"])
def test_an_exercise_is_found_with_and_without_its_marks_and_name(marks, name):
    found = reading.read_notebook(name, packed(notebook({"3.2": RIGHT}, marks)))
    assert [found.cells[place].text for place in found.cells_defining(EXERCISE)] == [RIGHT]


def test_what_stands_in_words_is_no_answer():
    assert reading.read_notebook("x", packed({"cells": [{"cell_type": "markdown", "source": RIGHT}]})).cells == []


def test_nbgraders_mark_is_enough():
    cell = {"cell_type": "code", "source": "x = 1", "metadata": {"nbgrader": {"grade_id": "exercise-3-2"}}}
    assert reading.read_notebook("x", packed({"cells": [cell]})).cells_marked(EXERCISE)


@pytest.mark.parametrize(
    "made",
    [
        {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": RIGHT.splitlines(keepends=True)}]}]},
        {"cells": [{"cell_type": "code", "source": RIGHT}], "metadata": {"kernelspec": {"name": "conda-env-ünï"}}},
    ],
    ids=["version 3", "another kernel"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_other_tools_notebooks_are_read(made, encoding):
    found = reading.read_notebook("x.ipynb", json.dumps(made).encode(encoding))
    assert found.cells_defining(EXERCISE) == [0]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"  \n",
        b"not json",
        b"[]",
        b"3",
        b'{"cells": 3}',
        b'{"cells": [3]}',
        b'{"cells": [{"cell_type": "code", "source": 3}]}',
        b"[" * 10**5,
        b"\xff\xfe\xff",
        b'{"cells": [{"cell_type": "code", "source": [1, 2]}]}',
    ],
)
def test_what_is_no_notebook_is_named_as_such(content):
    with pytest.raises(reading.NotANotebook, match="^is (empty|damaged)"):
        reading.read_notebook("x.ipynb", content)


def test_fifty_megabytes_of_stored_output_are_read():
    made = {"cells": [{"cell_type": "code", "source": RIGHT, "outputs": [{"text": '0.12, [3] "a\\b" \n' * 2_500_000}]}]}
    content = packed(made)
    assert len(content) > 50_000_000
    assert reading.read_notebook("x.ipynb", content).cells_defining(EXERCISE) == [0]


def test_quotes_that_never_close_come_to_an_end():
    with pytest.raises(reading.NotANotebook, match="damaged"):
        reading.read_notebook("x.ipynb", b'"\\' * 10**7)
