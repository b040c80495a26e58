"""Honest work counts: what `check` says right in the student's own notebook is right for the grader."""

import codecs
import json

import pytest

from course_tools.grading import grader
from course_tools.grading.reports import Student, Task
from course_tools.grading.unpacking import unpack_submission
from course_tools.repository import sources
from course_utils.checking import commands
from course_utils.judging.result import NOT_ATTEMPTED, NOT_YET, RIGHT
from tests.support import handed_in
from tests.support.handed_in import NAME, notebook, packed, zipped
from tests.support.sandboxes import best, sandbox
from tests.support.students import Book, checked

__all__ = ["best", "sandbox"]  # fixtures; pytest finds them by their names
more = pytest.mark.every_setting("more notebooks with edits")
many = pytest.mark.in_matrix("many notebooks with edits")

ANSWER = "def my_causal_weights(scores):\n    T = scores.shape[-1]\n"
SOFTMAX = "scores.masked_fill({}, -torch.inf).softmax(-1)"
MASK = f"{ANSWER}    return {SOFTMAX.format('mask[:T, :T].bool()')}"


@pytest.fixture(autouse=True)
def unknown(monkeypatch):
    """Nothing is known of what another test has handed in."""
    monkeypatch.setattr(grader, "remembered_results", {})


def status(sandbox, *files):
    """(status of exercise 3.2, its remarks) in a submission of [(parts of the name, bytes)]."""
    made = grader.grade_submission(Task(Student("jane", "Jane"), list(files), [], "", 60), sandbox, print)
    entry = next(entry for entry in made.graded if entry.result.id == "3.2")
    return entry.result.status, entry.remarks


def around(answer, before=(), after=(), below=()):
    """A notebook with an answer to 3.2 and cells around it: before it, between it and its check, and below that."""
    made = notebook({"3.2": answer})
    place = next(k for k, cell in enumerate(made["cells"]) if cell["id"] == "exercise-3-2")
    cell = lambda text: {"cell_type": "code", "source": text, "metadata": {}, "outputs": []}
    parts = [made["cells"][:place], map(cell, before), made["cells"][place : place + 1], map(cell, after)]
    check = next(k for k, cell in enumerate(made["cells"]) if cell["id"] == "check-3-2")
    parts += [made["cells"][place + 1 : check + 1], map(cell, below), made["cells"][check + 1 :]]
    made["cells"] = [cell for part in parts for cell in part]
    return [((NAME,), packed(made))]


def without_imports(files):
    """The same without the cell of imports."""
    ((name, content),) = files
    made = json.loads(content)
    return [(name, packed({**made, "cells": [cell for cell in made["cells"] if cell.get("id") != "imports"]}))]


def script(files, above):
    """The notebook as a Python file, with a line above each cell's code."""
    cells = json.loads(files[0][1])["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return [(("work.py",), "\n".join(f"{above.format(k)}\n{text}\n" for k, text in enumerate(texts)).encode())]


BY_STATE = {
    "changed in place": around(MASK, ["mask = torch.ones(99, 99)", "mask.triu_(1)"]),
    "appended": around(
        f"{ANSWER}    for step in steps: scores = step(scores)\n    return scores",
        ["steps = []", "def hide(s): return " + SOFTMAX.format("torch.ones(s.shape[-1], s.shape[-1]).triu(1).bool()")
         .replace("scores", "s"), "steps.append(hide)"],
    ),
    "setattr": around(
        MASK.replace("mask[", "Box.mask["), ["class Box: pass", "setattr(Box, 'mask', torch.ones(99, 99).triu(1))"]
    ),
    "a dict that is updated": around(
        MASK.replace("mask[", "kept['mask']["), ["kept = dict()", "kept.update(mask=torch.ones(99, 99).triu(1))"]
    ),
    "a loop": around(
        MASK, ["mask = torch.zeros(99, 99)\nrows = [mask]", "for t in range(99):\n    rows[0][t, t + 1 :].fill_(1)"]
    ),
    "a helper below": around(
        f"{ANSWER}    return helper(scores, T)",
        after=["def helper(s, T): return s.masked_fill(torch.ones(T, T).triu(1).bool(), -torch.inf).softmax(-1)"],
    ),
    "a helper below the check": around(
        f"{ANSWER}    return helper(scores, T)",
        below=["SIGN = -1", "def helper(s, T): return s.masked_fill(torch.ones(T, T).triu(1).bool(), SIGN * torch.inf)"
               ".softmax(-1)"],
    ),
    "a helper below the check, used at once": around(
        "import functools\nmy_causal_weights = functools.partial(helper, hidden=1)",
        below=[handed_in.RIGHT.replace("my_causal_weights(scores", "helper(scores, hidden").replace("(1)", "(hidden)")],
    ),
}  # fmt: skip
COMPLETED = {
    "imports deleted": without_imports(around(handed_in.RIGHT)),
    "imports in a later cell": without_imports(around(handed_in.RIGHT, below=["import torch"])),
    "only the answer": [((NAME,), packed({"cells": [{"cell_type": "code", "source": handed_in.RIGHT}]}))],
}
AS_BEFORE = {
    "a GPU": around(
        f"{ANSWER}    scores = scores.cuda()\n    return {SOFTMAX.format('torch.ones(T, T).cuda(0).triu(1).bool()')}"
    ),
    "a device": around(
        f"{ANSWER}    hidden = torch.ones(T, T, device=device).triu(1).bool()\n"
        f"    return {SOFTMAX.format('hidden')}.to('cuda:0')",
        ["device = torch.device('cuda')"],
    ),
    "types that nothing defines": around(
        handed_in.RIGHT.replace("(scores)", "(scores: Unknown)"), ["x = 1\nfrom __future__ import annotations"]
    ),
    "await at the top": around(
        MASK,
        [
            "import asyncio\nasync def made(): return torch.ones(99, 99)",
            "mask = (await made()).triu(1)\nawait asyncio.sleep(0)\n[n async for n in made()]",
        ],
    ),
    "2,100 cells in front": around(handed_in.RIGHT, [f"x = {k}" for k in range(2100)]),
    "a script alone": script(around(handed_in.RIGHT), "# In[{}]:\n"),
    "a script of one piece": script(around(f"{handed_in.RIGHT}\nget_ipython().run_line_magic('time', '3')"), ""),
    "a script with broken cells": script(around(handed_in.RIGHT, ["broken("], ["!ls"]), "# %%"),
    "a script in a zip": [(("work.zip",), zipped({"hw/x.py": script(around(handed_in.RIGHT), "#%% cell")[0][1]}))],
    "a script with a byte order mark": [(("work.py",), codecs.BOM_UTF8 + script(around(handed_in.RIGHT), "")[0][1])],
    "magics in a function": around(
        handed_in.RIGHT.replace("    T =", "    !nvidia-smi\n    %matplotlib inline\n    T =")
    ),
    "a count of its calls": around(
        handed_in.RIGHT.replace("    T =", "    global calls\n    calls += 1\n    T ="), ["calls = 0"]
    ),
    "a folder of my solutions": [(("my_solutions", NAME), around(handed_in.RIGHT)[0][1])],
    "a folder called solutions": [(("solutions", NAME), around(handed_in.RIGHT)[0][1])],
    "a zip as tar writes it": [(("work.zip",), zipped({"./": b"", f"./hw/{NAME}": around(handed_in.RIGHT)[0][1]}))],
    "compiled": around("@torch.compile\n" + handed_in.RIGHT),
    "compiled with settings": around("@torch.compile(dynamic=True)\n" + handed_in.RIGHT),
    "much data": around(handed_in.RIGHT, ["data = [" + "1.25, " * 50_000 + "]"]),
    "a module beside": [
        *around(f"from mine import hidden\n{ANSWER}    return {SOFTMAX.format('hidden(T)')}"),
        (
            ("mine.py",),
            codecs.BOM_UTF8
            + b"import torch\nfrom sizes import one\ndef hidden(T): return torch.ones(T, T).triu(one).bool()",
        ),
        (("sizes.py",), b"one = 1"),
    ],
    "a package beside": [
        *around(f"from pkg.inner.mine import hidden\n{ANSWER}    return {SOFTMAX.format('hidden(T)')}"),
        (("pkg", "inner", "__init__.py"), b"import torch"),
        (
            ("pkg", "inner", "mine.py"),
            b"import sizes\nfrom . import torch\nfrom ..sizes import one\n"
            b"def hidden(T): return torch.ones(T, T).triu(one + sizes.none).bool()",
        ),
        (("sizes.py",), b"none = 0"),
        (("pkg", "sizes.py"), b"one = 1"),
    ],
    "a zip with an environment": [
        (
            ("work.zip",),
            zipped(
                {f"hw/venv/lib/python3/site-packages/p{k}/x.py": b"" for k in range(3000)}
                | {f"hw/env/lib/python3.12/{k}.ipynb": b"{}" for k in range(50)}
                | {f"hw/{NAME}": packed(notebook({"3.2": handed_in.RIGHT}))}
            ),
        )
    ],
}


@pytest.mark.parametrize("case", [*BY_STATE, *COMPLETED, *AS_BEFORE])
def test_honest_work_counts(case, sandbox):
    found, remarks = status(sandbox, *(BY_STATE | COMPLETED | AS_BEFORE)[case])
    assert found == RIGHT
    assert bool(remarks) == (case not in AS_BEFORE)


@pytest.mark.parametrize("case", COMPLETED)
def test_names_that_the_chapter_has_lent_are_told(case, sandbox):
    assert "`torch`" in status(sandbox, *COMPLETED[case])[1][0]


@pytest.mark.parametrize("case", BY_STATE)
def test_by_names_alone_it_would_not(case, sandbox, monkeypatch):
    monkeypatch.setattr(grader, "result_with_all_cells", lambda *what: None)
    assert status(sandbox, *BY_STATE[case])[0] == NOT_YET


@pytest.mark.parametrize(
    "number", [*range(10), *(pytest.param(k, marks=more if k < 60 else many) for k in range(10, 200))]
)
def test_check_and_the_grade_agree_whatever_students_do_to_their_notebooks(number, best, monkeypatch):
    book = Book(number)
    monkeypatch.setenv("COURSE_PROGRESS", "")
    monkeypatch.setattr(commands, "explain_locally", lambda exercise, answer, data, result: result)
    monkeypatch.setattr(grader, "with_explanation", lambda exercise, texts, replies, result, sandbox: result)
    said = checked(book)
    made = grader.grade_submission(Task(Student("a", "A"), [((NAME,), packed(book.whole))], [], "", 600), best, print)
    for entry in made.graded:
        if entry.result.id in said:
            helped = any("which is not right yet" in remark for remark in entry.remarks)
            assert helped or (entry.result.status == RIGHT) == (said[entry.result.id] == RIGHT), (entry, book.edits)


def test_what_stands_below_the_check_does_not_count(sandbox):
    assert status(sandbox, *around(MASK, ["mask = torch.ones(99, 99)"], below=["mask.triu_(1)"]))[0] == NOT_YET


def test_a_cell_of_another_chapter_costs_nothing_where_marks_are_lost(sandbox):
    made = notebook({"3.2": handed_in.RIGHT}, marks=False)
    made["cells"].append({"cell_type": "code", "id": "exercise-5-1", "source": "x = 1", "metadata": {}})
    assert status(sandbox, ((NAME,), packed(made)))[0] == RIGHT


def test_the_chapters_own_cells_do_not_run_without_need(sandbox):
    """Training and figures of the course cost no answer its time."""
    made = json.loads(around(MASK, ["mask = torch.ones(99, 99)", "mask.triu_(1)"])[0][1])
    texts = grader.notebook_reading.read_notebook(NAME, packed(made)).texts_up_to_check(
        grader.EXERCISES["3.2"], grader.provided_texts()
    )
    ran = "\n".join(texts)
    assert "mask.triu_(1)" in ran and "import torch" in ran and "show_" not in ran and len(ran) < 2000


def test_of_an_environment_nothing_is_read():
    handed = unpack_submission(AS_BEFORE["a zip with an environment"])
    assert len(handed.notebooks) == 1 and not handed.modules and not handed.remarks


# --- cells that trip up whatever reads them ---------------------------------------------------------------------------

STRANGE = {  # IPython runs each, so what stands below in the same cell counts
    "global at the top": "best = 0\nglobal best\nbest += 1",
    "global on one line": "best = 0; global best; best += 1",
    "await": "import asyncio\nawait asyncio.sleep(0)",
    "an asynchronous loop": "async def numbers():\n    yield 1\nasync for number in numbers(): print(number)",
    "an asynchronous comprehension": "async def numbers():\n    yield 1\nfound = [n async for n in numbers()]",
    "a late future": "first = 1\nfrom __future__ import annotations\ndef typed(x: Unknown): return x",
    "a decorator in brackets": "@(\n    lambda made: made\n)\ndef decorated(): return 1",
    "an unknown encoding": "# -*- coding: nothing -*-\n@staticmethod\ndef decorated(): return 'é'",
    "a form feed": "\x0cx = 1\n\x0cdef f(): pass",
    "a text that ends beside a name": "'''one\ntwo'''; other = 1",
    "lambdas in lambdas": "deep = " + "lambda: " * 700 + "1",
    "names in names": "deep = (1)" + ".real" * 700,
    "a cell that is indented": "  x = 1\n  y = x",
}
REFUSED = {  # Python refuses a statement of each, and what stands below in the same cell never ran
    "a walrus in what a comprehension reads": "[i for i in (j := [1])]",
    "a walrus for a comprehension's own name": "[j := 1 for j in range(3)]",
    "a walrus in a class": "class A:\n    x = [y := 1 for _ in range(3)]",
    "nonlocal": "nonlocal best",
    "nonlocal in a function": "def f():\n    nonlocal best",
    "nonlocal and global": "def f():\n    x = 1\n    def g():\n        global x\n        nonlocal x",
    "global for an argument": "def f(a):\n    global a",
    "global after the name": "def f():\n    a = 1\n    global a",
    "global in a class": "class A:\n    x = 1\n    global x",
    "a star import in a function": "def f():\n    from math import *",
    "an argument twice": "def f(a, a): pass",
    "return": "return 3",
    "yield": "yield 3",
    "break": "break",
    "two stars": "*a, *b = 1, 2",
    "a name of Python's": "__debug__ = 3",
    "a future that never came": "from __future__ import nothing",
    "await in a function": "def f():\n    await best",
    "a cell of a class": "class A:\n    def f(self): return __class__\n    nonlocal __class__",
}
UNREADABLE = {  # nothing of these ever ran
    "a null": "x = '\0'",
    "half a sign": "x = '\ud800'",
    "half a sign beside a magic": "%time x = 3\nx = '\udfff'",
    "a sum without end": "x = " + "+".join("1" * 5000),
    "brackets without end": "(" * 5000,
    "a number without end": "x = " + "9" * 5000,
    "magics of nothing": "%\n!\n?\n%%\n$",
    "a text that never closes": "%time x\n'''abc",
}


beside_others = pytest.mark.in_matrix("strange cells beside others")


@pytest.mark.parametrize(
    "case", [*(pytest.param(each, marks=beside_others) for each in STRANGE | REFUSED), *UNREADABLE]
)
def test_a_strange_cell_costs_no_other_cell_anything(case, sandbox):
    odd = (STRANGE | REFUSED | UNREADABLE)[case]
    assert status(sandbox, *around(handed_in.RIGHT, [odd], below=[odd]))[0] == RIGHT
    assert status(sandbox, *around(MASK, ["mask = torch.ones(99, 99)", odd, "mask.triu_(1)"], [odd]))[0] == RIGHT


@pytest.mark.parametrize("case", STRANGE)
def test_what_a_strange_cell_defines_counts(case, sandbox):
    margin = "  " * STRANGE[case].startswith("  ")
    defining = f"{STRANGE[case]}\n{margin}mask = torch.ones(99, 99).triu(1)"
    assert status(sandbox, *around(MASK, [defining]))[0] == RIGHT


more_refused = pytest.mark.in_matrix("more statements that Python refuses")


@pytest.mark.parametrize(
    "case", [case if place < 6 else pytest.param(case, marks=more_refused) for place, case in enumerate(REFUSED)]
)
def test_what_stands_above_a_statement_that_python_refuses_counts(case, sandbox):
    assert status(sandbox, *around(MASK, ["mask = torch.ones(99, 99).triu(1)\n" + REFUSED[case]]))[0] == RIGHT


# --- without a notebook -----------------------------------------------------------------------------------------------


def test_that_a_script_was_graded_is_told():
    handed = unpack_submission(AS_BEFORE["a script alone"])
    assert handed.remarks == ["No notebook was found in this submission, so its Python files were graded."]


def test_beside_a_notebook_a_script_is_no_answer(sandbox):
    files = around(handed_in.WRONG) + AS_BEFORE["a script alone"]
    assert status(sandbox, *files)[0] == NOT_YET


@pytest.mark.parametrize("name", ["essay.pdf", "essay.docx"])
def test_who_hands_in_something_else_hears_what_to_hand_in(name):
    (remark,) = unpack_submission([((name,), b"")]).remarks
    assert remark.endswith(f"It contains {name}. Hand in the file that ends in .ipynb.")


def test_the_scripts_of_solved_chapters_are_passed_over(sandbox):
    (source,) = [path for path in sources() if path.name.startswith("03")]
    assert status(sandbox, (("course", "solutions", source.name), source.read_bytes()))[0] == NOT_ATTEMPTED
    assert status(sandbox, (("mine.py",), source.read_bytes()))[0] == RIGHT
