"""One submission to one report: each gets the score that it honestly deserves, with the reason."""

import itertools
import json
import math
import random
import re
import statistics
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest

from course_tools.grading import class_summary, grader, grades_and_pages, notebook_reading, reports
from course_tools.grading.assignment import Assignment
from course_tools.grading.platforms.gradescope import results_of
from course_tools.grading.reports import ReportStore, Student, Task
from course_tools.grading.sandbox.sandbox import Outcome
from course_utils.checking import commands
from course_utils.exercises import CHAPTERS, EXERCISES
from course_utils.explaining import search
from course_utils.judging import serialize
from course_utils.judging.result import NOT_ATTEMPTED, NOT_YET, RIGHT, Result
from tests.support import answers as collected
from tests.support import handed_in, stored
from tests.support.handed_in import notebook, packed
from tests.support.sandboxes import BEST, OTHERS, graders_sandbox, other_way, sandbox  # noqa: F401

IMPORTS = """import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.functional import jacobian

"""
WHO = Student("jane", "Jane Doe")
FEW_TRIED = 24
CHECKED = [id for id, exercise in EXERCISES.items() if exercise.chapter == 3]


@pytest.fixture
def graded(sandbox, monkeypatch):
    """Grade notebooks (bytes, or names and bytes) as one submission: {id: GradedExercise} and the Report."""
    monkeypatch.setattr(grader, "remembered_results", {})  # nothing is known of what another test has handed in
    return lambda *contents: grade_in(sandbox, *contents)


def grade_in(sandbox, *contents):
    """What `graded` gives, in this sandbox."""
    files = [
        content if isinstance(content, tuple) else ((f"{k}.ipynb",), content) for k, content in enumerate(contents)
    ]
    made = grader.grade_submission(Task(WHO, files, [], "", 300), sandbox, print)
    return {entry.result.id: entry for entry in made.graded}, made


def answers(found):
    """{id: status} of chapter 3's exercises."""
    return {id: found[id].result.status for id in CHECKED}


def only(id, status):
    """What `answers` gives when one exercise alone was attempted."""
    return {other: status if other == id else NOT_ATTEMPTED for other in CHECKED}


@pytest.mark.parametrize("path", stored.PATHS, ids=stored.name)
def test_stored_notebooks_get_all_points_or_none(path, graded):
    found, _ = graded(path.read_bytes())
    status = RIGHT if path.parent.name == "solutions" else NOT_ATTEMPTED
    chapters = {id: f"{EXERCISES[id].chapter:02}" for id in found}
    own = [entry for id, entry in found.items() if path.name.startswith(chapters[id])]
    assert {entry.result.status for entry in own} <= {status} and not any(entry.remarks for entry in own)
    others = [entry for id, entry in found.items() if not path.name.startswith(chapters[id])]
    assert all(entry.result.status == NOT_ATTEMPTED for entry in others)


@pytest.mark.parametrize("marks", [True, False], ids=["with marks", "marks stripped"])
def test_right_and_wrong_answers_are_told_apart_with_the_mistakes_name(marks, graded):
    assert answers(graded(packed(notebook({"3.2": handed_in.RIGHT}, marks)))[0]) == only("3.2", RIGHT)
    found, _ = graded(packed(notebook({"3.2": handed_in.WRONG}, marks)))
    assert answers(found) == only("3.2", NOT_YET)
    assert found["3.2"].result.mistake == "missing mask"
    assert found["3.1"].result.message == "`my_average` is still the original stub."


def rounds(every):
    """A right answer and some wrong ones of each exercise in few notebooks: [(chapter, {exercise: Answer})]."""
    given = {id: [*collected.right(id)[1:2], *collected.wrong(id)[::every]] for id in EXERCISES}
    for chapter in CHAPTERS:
        columns = [given[id] for id in given if EXERCISES[id].chapter == chapter]
        for row in itertools.zip_longest(*columns):
            yield chapter, {answer.exercise: answer for answer in row if answer}


more_answers = pytest.mark.every_setting("more answers, graded and checked")
many_answers = pytest.mark.in_matrix("many answers, graded and checked")
ONCE, MORE = {(1, 2), (1, 8)}, {(1, 5)}  # (which notebook of a chapter, chapter)


def agreements():
    """(protection, chapter, {exercise: Answer}, changes that explanations try) of each notebook to grade.

    By default, two chapters have one notebook of wrong answers each; --all adds one for three others and for the other
    protection, and the matrix many more. Explanations try all changes in one notebook of a chapter and a few in
    the others, since these trials take most of the time.
    """
    seen = Counter()
    for chapter, row in rounds(every=20):
        place = seen[chapter]
        tried = search.MOST_TRIED if place == 2 else FEW_TRIED
        marks = () if (place, chapter) in ONCE else more_answers if (place, chapter) in MORE else many_answers
        yield pytest.param(BEST, chapter, row, tried, id=f"{chapter}-{place}", marks=marks)
        for way in OTHERS if not place else []:
            yield pytest.param(way, chapter, row, tried, id=f"{chapter}-{place}-{way.name.lower()}", marks=other_way)
        seen[chapter] += 1


@pytest.mark.parametrize(
    "graders_sandbox, chapter, row, tried", list(agreements()), indirect=["graders_sandbox"], scope="module"
)
def test_grading_says_what_check_says(chapter, row, tried, graders_sandbox, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", "")
    monkeypatch.setattr(grader, "remembered_results", {})
    for most in ("MOST_TRIED", "MOST_TRIED_LAYERS"):
        monkeypatch.setattr(search, most, min(tried, getattr(search, most)))
    texts = {id: IMPORTS + answer.code for id, answer in row.items()}
    found, _ = grade_in(graders_sandbox, packed(notebook(texts, chapter=chapter)))
    for id, answer in row.items():
        said = commands.judge_attempt(EXERCISES[id], collected.Answer(id, IMPORTS + answer.code).object())
        if "NameError" not in str(said):  # here there is only the cell, there the whole notebook
            assert str(found[id].result) == str(said), answer
            assert found[id].result.hints == said.hints, answer


WRONG_IN_EVERY_FORM = {  # {what it is: (exercise, answer, words on its place, how many hints on it)}
    "function": (
        "1.3",
        "def my_attention(queries, keys, values):\n    weights = torch.softmax(queries @ keys.T, dim=0)\n"
        "    return weights @ values\n",
        "The mistake is in line 9,",
        2,
    ),
    "layer": (
        "4.1",
        "class MyDropout(nn.Module):\n    def __init__(self, p):\n        super().__init__()\n        self.p = p\n\n"
        "    def forward(self, x):\n        if not self.training:\n            return x\n"
        "        return x * (torch.rand(x.shape) > self.p)\n",
        "The mistake is in line 16,",
        2,
    ),
    "loop": (
        "3.2",
        "def my_causal_weights(scores):\n    weights = torch.zeros_like(scores)\n"
        "    for t in range(scores.shape[-1]):\n"
        "        weights[..., t, :t] = torch.softmax(scores[..., t, :t], dim=-1)\n    return weights\n",
        "still has its value from line 9: line 11 does not change it.",
        0,
    ),
    "crash": (
        "3.2",
        "def my_causal_weights(scores):\n    T = len(scores)\n    later = torch.ones(T, T).triu(1).bool()\n"
        "    return scores.masked_fill(later, -torch.inf).softmax(-1)\n",
        "Your code stopped in line 11,",
        2,
    ),
}


@pytest.mark.parametrize("kind", WRONG_IN_EVERY_FORM)
def test_a_wrong_answer_gets_the_first_reply_and_the_hints_that_it_gets_in_the_notebook(kind, graded, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", "")
    id, code, words, hints = WRONG_IN_EVERY_FORM[kind]
    said = commands.judge_attempt(EXERCISES[id], collected.Answer(id, IMPORTS + code).object())
    found, _ = graded(packed(notebook({id: IMPORTS + code}, chapter=EXERCISES[id].chapter)))
    assert found[id].result == said
    assert words in said.message and len(said.hints) == hints


def test_the_last_definition_counts_and_the_report_says_so(graded):
    made = notebook({"3.2": f"{handed_in.RIGHT}\n{handed_in.WRONG}"})
    found, _ = graded(packed(made))
    assert answers(found) == only("3.2", NOT_YET)
    (remark,) = found["3.2"].remarks
    assert (
        "is defined 2 times in the notebook; the last definition or the last one checked counts, whichever is better."
        in remark
    )


def test_an_old_attempt_below_the_check_costs_nothing(graded):
    made = notebook({"3.2": handed_in.RIGHT})
    made["cells"].append({"cell_type": "code", "source": handed_in.WRONG, "metadata": {}, "outputs": []})
    found, _ = graded(packed(made))
    assert answers(found) == only("3.2", RIGHT) and "up to the check" in found["3.2"].remarks[1]


def test_an_answer_that_other_cells_do_not_mend_gets_no_remark_on_them(graded):
    made = notebook({"3.2": handed_in.WRONG})
    made["cells"].insert(0, {"cell_type": "code", "source": "for k in range(2):\n    print(k)", "metadata": {}})
    found, _ = graded(packed(made))
    assert answers(found) == only("3.2", NOT_YET) and found["3.2"].remarks == []


def test_an_answer_in_another_exercises_cell_counts_where_there_is_no_other(graded):
    made = notebook({"3.1": f"x = 1\n{handed_in.RIGHT}"})
    made["cells"] = [cell for cell in made["cells"] if cell["id"] != "exercise-3-2"]
    assert answers(graded(packed(made))[0])["3.2"] == RIGHT


def test_a_duplicated_exercise_cell_is_the_same_case(graded):
    made = notebook({"3.2": handed_in.WRONG})
    (copy,) = [dict(cell) for cell in made["cells"] if cell["id"] == "exercise-3-2"]
    made["cells"].append(copy | {"source": handed_in.RIGHT})
    found, _ = graded(packed(made))
    assert answers(found) == only("3.2", RIGHT) and "whichever is better" in found["3.2"].remarks[0]


def test_deleted_cells_cost_their_own_points_only(graded):
    made = notebook({"3.2": handed_in.RIGHT})
    made["cells"] = [cell for cell in made["cells"] if cell["id"] in ("imports", "exercise-3-2")]
    found, _ = graded(packed(made))
    assert answers(found) == only("3.2", RIGHT)
    assert "not found" in found["3.1"].result.message


def test_a_cell_that_is_no_python_is_said_to_be_none(graded):
    found, _ = graded(packed(notebook({"3.2": "def my_causal_weights(scores:\n    pass"})))
    assert answers(found) == only("3.2", NOT_YET)
    assert (
        "Your cell cannot be read by Python" in found["3.2"].result.message and "line 1" in found["3.2"].result.message
    )


def test_another_name_is_said_to_be_another(graded):
    found, _ = graded(packed(notebook({"3.2": handed_in.RIGHT.replace("my_causal", "causal")})))
    assert answers(found) == only("3.2", NOT_YET)
    assert "does not define `my_causal_weights`" in found["3.2"].result.message


def test_an_answer_that_hangs_or_dies_costs_its_own_points_only(graded):
    for body, words in [("while True: pass", "was stopped"), ("import os; os._exit(0)", "Your code")]:
        code = f"def my_average():\n    {body}"
        found, _ = graded(packed(notebook({"3.1": code, "3.2": handed_in.RIGHT})))
        assert answers(found) == only("3.2", RIGHT) | {"3.1": NOT_YET}
        assert words in found["3.1"].result.message


def test_an_answer_gets_what_its_equal_got_only_where_all_is_equal_that_it_runs_with(graded):
    for code, status in [(handed_in.RIGHT, RIGHT), (handed_in.WRONG, NOT_YET), (handed_in.RIGHT, RIGHT)]:
        above = packed(notebook({"3.1": code.replace("my_", "own_"), "3.2": "my_causal_weights = own_causal_weights"}))
        assert graded(above)[0]["3.2"].result.status == status
        imports = packed(notebook({"3.2": "from mine import my_causal_weights"}))
        module = (("mine.py",), b"import torch\n" + code.encode())
        assert graded((("a.ipynb",), imports), module)[0]["3.2"].result.status == status


def test_what_was_handed_in_before_is_not_run_again(graded, sandbox, monkeypatch):
    handed, explained = packed(notebook({"3.1": "def my_average():\n    return 1", "3.2": handed_in.RIGHT})), []
    monkeypatch.setattr(grader, "explain_result", lambda exercise, *what: explained.append(exercise.id) or what[-1])
    first, _ = graded(handed, handed)
    assert answers(first) == only("3.2", RIGHT) | {"3.1": NOT_YET} and explained == ["3.1"]
    monkeypatch.setattr(type(sandbox), "run_together", None)
    assert answers(graded(handed)[0]) == answers(first)


def test_time_that_ran_out_for_one_is_nobody_elses_trouble(graded, sandbox, monkeypatch):
    with monkeypatch.context() as busy:
        slow = Outcome(trouble="took longer than 1 s and was stopped")
        busy.setattr(type(sandbox), "run_together", lambda self, answers, *what, **how: [slow] * len(answers))
        assert graded(packed(notebook({"3.2": handed_in.RIGHT})))[0]["3.2"].result.status == NOT_YET
    assert graded(packed(notebook({"3.2": handed_in.RIGHT})))[0]["3.2"].result.status == RIGHT


def test_new_answers_that_only_compute_run_in_one_process_and_once(graded, sandbox, monkeypatch):
    ran, together = [], type(sandbox).run_together
    monkeypatch.setattr(
        type(sandbox),
        "run_together",
        lambda self, asked, *what, **more: (
            ran.append([name for _, name, _ in asked]) or together(self, asked, *what, **more)
        ),
    )
    padding = "def my_mask(is_padding):\n    return is_padding[:, None, :] | False"
    found, _ = graded(packed(notebook({"3.2": handed_in.RIGHT, "3.4": padding})))
    assert answers(found) == only("3.2", RIGHT) | {"3.4": NOT_YET}
    assert {"my_causal_weights", "my_mask"} <= set(ran[0])  # and the stubs
    assert sum(names.count("my_causal_weights") for names in ran) == 1


def test_only_answers_that_may_import_the_same_run_in_one_process(graded, sandbox, monkeypatch):
    """Those that are given the model of chapter 11 may import its module, and no other answer may."""
    model, ran, together = "course_utils.language_model", [], type(sandbox).ask
    monkeypatch.setattr(
        type(sandbox),
        "ask",
        lambda self, request, *more: ran.append(serialize.unpack(request)) or together(self, request, *more),
    )
    graded(stored.of_chapter(11, stored.LEARNERS).read_bytes())
    given = [["language_model" in str(each["calls"]) for each in request["answers"]] for request in ran]
    assert {len({*each}) for each in given} == {1} and max(map(len, given)) > 1
    assert [model in request["course"] for request in ran] == [each[0] for each in given]


SOFTMAX = "def my_causal_weights(scores):\n    future = torch.ones(scores.shape[-2:]).triu(1).bool()\n"
SOFTMAX += "    return {}(scores.masked_fill(future, -torch.inf), -1)"


@pytest.mark.parametrize(
    "other",
    [
        "import os\n\n\ndef my_average():\n    os._exit(0)",
        "def my_average():\n    while True:\n        pass",
        "def my_average():\n    torch.softmax = lambda scores, dim: scores",
        "import sys\n\n\ndef my_average():\n    sys.modules.clear()",
    ],
    ids=["ends its process", "never ends", "changes torch", "empties the modules"],
)
def test_an_answer_costs_no_other_its_points(other, graded):
    """They run in one process first."""
    found, _ = graded(packed(notebook({"3.1": other, "3.2": SOFTMAX.format("torch.softmax")})))
    assert answers(found) == only("3.2", RIGHT) | {"3.1": NOT_YET}


def test_an_answer_that_lives_on_what_another_left_behind_is_not_right(graded):
    """Backwards, it runs before the other."""
    leaves = "def my_average():\n    torch.left = torch.softmax"
    found, _ = graded(packed(notebook({"3.1": leaves, "3.2": SOFTMAX.format("torch.left")})))
    assert answers(found) == only("3.1", NOT_YET) | {"3.2": NOT_YET}


def test_a_wrong_helper_of_an_earlier_exercise_does_not_cost_twice(graded):
    """A later answer that is right with the reference helper counts as right, with a remark."""
    uses = """def my_causal_weights(scores):
    W_query, _, _ = my_average()  # zeros
    hidden = torch.ones(scores.shape[-2:]).triu(1).bool()
    return (scores + scores * W_query.sum()).masked_fill(hidden, -torch.inf).softmax(-1)
"""
    found, _ = graded(packed(notebook({"3.1": "def my_average():\n    return torch.ones(3, 5, 2)", "3.2": uses})))
    assert answers(found) == only("3.2", RIGHT) | {"3.1": NOT_YET}
    (remark,) = found["3.2"].remarks
    assert "`my_average` (exercise 3.1)" in remark

    found, _ = graded(
        packed(notebook({"3.1": "def my_average():\n    return torch.ones(3, 5, 2)", "3.2": handed_in.WRONG}))
    )
    assert answers(found) == only("3.1", NOT_YET) | {"3.2": NOT_YET} and not found["3.2"].remarks


def test_of_two_notebooks_the_better_answer_counts(graded):
    found, _ = graded(packed(notebook({"3.2": handed_in.WRONG})), packed(notebook({"3.2": handed_in.RIGHT})))
    assert answers(found) == only("3.2", RIGHT)
    assert found["3.2"].remarks == ["2 notebooks contain this exercise; the answer in 1.ipynb counts."]


def versions(right, many, name="v{}.ipynb"):
    """So many notebooks, numbered, with different answers; that of the number `right` is right."""
    guesses = {k: handed_in.WRONG.replace("scores.", f"(scores + {k}).") for k in range(1, many + 1)}
    answers = guesses | {right: handed_in.RIGHT}
    return [((name.format(k),), packed(notebook({"3.2": answer}))) for k, answer in answers.items()]


def test_what_was_graded_is_sent_before_another_notebook_is_read(sandbox, monkeypatch):
    """It might take more time or memory than there is."""
    sent, graded_before, read_notebook = [], {}, notebook_reading.read_notebook
    last = CHECKED[-1]  # whatever comes after an answer would send it

    def read(name, content):
        graded_before[name] = [entry.result.id for entry in sent[-1].graded if entry.result.status == NOT_YET]
        return read_notebook(name, content)

    monkeypatch.setattr(notebook_reading, "read_notebook", read)
    content = packed(notebook({last: f"{EXERCISES[last].name} = len"}))
    files = [(("a.ipynb",), content), (("b.ipynb",), b"{}")]
    grader.grade_submission(Task(WHO, files, [], "", 300), sandbox, sent.append)
    assert (graded_before["a.ipynb"], graded_before["b.ipynb"]) == ([], [last])


@pytest.mark.parametrize("right", [1, 2, 3])
def test_the_best_of_three_versions_counts_whatever_they_are_called(right, graded):
    found, _ = graded(*versions(right, 3))
    assert answers(found) == only("3.2", RIGHT) and f"v{right}.ipynb counts" in found["3.2"].remarks[0]


@more_answers
@pytest.mark.parametrize(  # 10 is the first of the last three by name
    "right, status", [pytest.param(9, NOT_YET, marks=many_answers), (10, RIGHT)]
)
def test_of_many_different_answers_only_the_last_three_by_name_are_compared(right, status, graded):
    found, _ = graded(*versions(right, 12))
    assert answers(found) == only("3.2", status)
    (remark,) = found["3.2"].remarks
    assert remark.startswith("12 notebooks contain this exercise, with 12 different answers. Only the last 3 by name")


def test_copies_and_untouched_notebooks_are_no_further_answers(graded):
    copies = [((f"copy {k}.ipynb",), packed(notebook({"3.2": handed_in.WRONG}))) for k in range(9)]
    fresh = [((f"fresh {k}.ipynb",), packed(notebook({}))) for k in range(9)]
    found, made = graded(*versions(1, 1, "a {}.ipynb"), *copies, *fresh)
    assert answers(found) == only("3.2", RIGHT)
    assert found["3.2"].remarks == ["19 notebooks contain this exercise; the answer in a 1.ipynb counts."]
    assert made.lines["3.2"] == grader.own_lines(handed_in.RIGHT)


COIN = "import os\nheads = os.urandom(1)[0] < 128\n" + handed_in.RIGHT.replace("triu(1", "triu(1 if heads else 0")


def test_an_answer_that_is_right_by_chance_is_not_right(graded, sandbox, monkeypatch):
    """Nor are its copies: each of them would get the same."""
    ran, run = [], type(sandbox).run_together

    def by_turns(self, answers, *what, **more):
        ran.append("urandom" in str(answers))
        heads = str(sum(ran) % 2 == 1)
        tossed = [
            ([text.replace("os.urandom(1)[0] < 128", heads) for text in texts], *rest) for texts, *rest in answers
        ]
        return run(self, tossed, *what, **more)

    monkeypatch.setattr(type(sandbox), "run_together", by_turns)
    for _ in range(2):
        found, _ = graded(packed(notebook({"3.2": COIN})))
        assert answers(found) == only("3.2", NOT_YET) and "depends on chance" in found["3.2"].result.message
    assert sum(ran) == 4  # twice with the stubs, and twice alone


def test_seeds_that_the_grader_chooses_make_nothing_right(graded):
    """As the sandbox begins, these numbers are the same each time."""
    lucky = "heads = torch.rand(1).item() > {}\n" + COIN.split("128\n")[1]
    for answer in (lucky.format(0.5), "import random\nheads = random.random() > 0.5\n" + COIN.split("128\n")[1]):
        flipped = answer.replace("> 0.5", "< 0.5")
        found = [graded(packed(notebook({"3.2": each})))[0]["3.2"].result.message for each in (answer, flipped)]
        assert any("depends on chance" in message for message in found)


def test_a_right_answer_whose_second_run_finds_no_time_is_right(graded, sandbox, monkeypatch):
    run, slow = type(sandbox).run_together, Outcome(trouble="took longer than 1 s and was stopped")
    monkeypatch.setattr(
        type(sandbox),
        "run_together",
        lambda self, answers, *what, **more: (
            [slow] * len(answers) if more.get("seed") else run(self, answers, *what, **more)
        ),
    )
    may_draw = handed_in.RIGHT.replace("scores.shape[-1]", "eval('scores.shape[-1]')")
    assert answers(graded(packed(notebook({"3.2": may_draw})))[0]) == only("3.2", RIGHT)
    assert RIGHT not in [known["status"] for known in grader.remembered_results.values()]


@pytest.mark.any_chapter
def test_a_clone_of_the_course_handed_in_whole_earns_nothing_with_its_solutions(graded):
    solved = stored.of_chapter(3)
    clone = [stored.of_chapter(3, stored.LEARNERS), solved, solved.with_suffix(".py")]
    found, made = graded(*((("course", path.parent.name, path.name), path.read_bytes()) for path in clone))
    assert answers(found) == only(None, None)
    assert f"skipped: 1 in all, including course/solutions/{handed_in.NAME}. If" in made.remarks[0]
    assert answers(graded((("solutions", solved.name), solved.read_bytes()))[0])["3.2"] == RIGHT  # in no clone


@pytest.mark.parametrize(
    "content, words",
    [
        (b"", "0.ipynb is empty."),
        (b"{", "0.ipynb is damaged or not a notebook"),
        (b'{"cells": []}', "0.ipynb contains no exercise"),
    ],
)
def test_what_holds_nothing_gets_no_points_and_a_reason(content, words, graded):
    found, made = graded(content)
    assert answers(found) == only(None, None) and words in made.remarks[0]


def test_of_very_many_remarks_the_first_are_kept():
    task = Task(WHO, [], [f"remark {k}" for k in range(30)], "", 60)
    made = grader.SubmissionGrader(task, SimpleNamespace(protection=""), print).report("")
    assert made.remarks == [f"remark {k}" for k in range(10)] + ["Remarks not shown: 20."]


def test_of_very_many_results_the_first_are_kept(monkeypatch):
    monkeypatch.setattr(grader, "remembered_results", {})
    for k in range(3000):
        grader.remember(str(k), grader.plain_result(EXERCISES["3.2"], NOT_YET, ""))
    assert list(grader.remembered_results) == list(map(str, range(2000)))


def test_a_report_survives_the_disk(graded):
    _, made = graded(packed(notebook({"3.2": handed_in.WRONG})))
    kept = json.loads(json.dumps(reports.report_to_json(made)))
    again = reports.report_from_json(kept)
    assert [e.result.html() for e in again.graded] == [e.result.html() for e in made.graded]
    assert again.student == made.student
    hints = [e.result.hints for e in again.graded]
    assert any(hints) and hints == [e.result.hints for e in made.graded]


def test_a_result_that_another_process_has_found_is_the_same_with_its_hints(graded):
    handed = packed(notebook({"3.2": handed_in.WRONG}))
    first = graded(handed)[0]["3.2"].result
    heard = json.loads(json.dumps(grader.remembered_results))
    grader.remembered_results.clear()
    grader.remembered_results |= heard
    again = graded(handed)[0]["3.2"].result
    assert again.hints == first.hints != () and again.html() == first.html()


def written_for(out, *made):
    """Write what is written of a class with these reports."""
    book = grades_and_pages.GradesAndPages(ReportStore(out), Assignment([3]))
    for report in made:
        book.add(report)
    book.close()


def test_a_preview_writes_nothing_however_it_ends(tmp_path):
    grades_and_pages.GradesAndPages(ReportStore(tmp_path), Assignment([3]), preview=True).close()
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


# --- what is written --------------------------------------------------------------------------------------------------


@pytest.fixture
def written(graded, tmp_path):
    """The folder with the pages of a class of one whose names and code are hostile."""
    _, made = graded(packed(notebook({"3.1": "def my_average():\n    raise ValueError('<script>alert(1)</script>')"})))
    made = reports.Report(
        Student("jane", "=cmd|<script>x</script>"), made.graded, ["<img src=//x>"], made.protection, ""
    )
    written_for(tmp_path, made)
    return tmp_path, made


def test_pages_need_no_network_and_run_no_script_whatever_students_write(written):
    out, _ = written
    for page in [out / "summary.html", out / "feedback/jane.html"]:
        text = page.read_text(encoding="utf-8")
        assert "default-src 'none'" in text
        assert "<script" not in text and "<img" not in text and "&lt;script&gt;" in text
        assert "http://" not in text and "https://" not in text


def test_no_field_of_the_table_is_a_formula(written):
    import csv

    out, _ = written
    with open(out / "grades.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["exercise"] for row in rows] == CHECKED
    assert not [field for row in rows for field in row.values() if field.startswith(("=", "+", "-", "@"))]


@pytest.mark.parametrize("text", ["=1", " =1", "x;=1", 'x;"=1', "x\t+1", "x\n@a", "x\r-1", "';=1"])
def test_no_text_is_a_formula_behind_any_separator(text):
    fields = re.split(r"[;\t\r\n]", grades_and_pages.without_formulas(text))
    assert not [field for field in fields if field.strip(' "').startswith(("=", "+", "-", "@"))]


def test_nothing_that_code_says_steers_a_terminal(graded):
    code = "def my_causal_weights(s):\n    raise ValueError('\\x1b[2J\\x9b31m \\u202e \\x07 Ünï')"
    _, made = graded(packed(notebook({"3.2": code})))
    made.graded[0] = reports.GradedExercise(Result("1.1", "", NOT_YET, "", 1, hints=("\x1b[2J\u202e",)))
    again = reports.report_from_json(json.loads(json.dumps(reports.report_to_json(made))))
    kept = "".join(text for e in again.graded for text in (e.result.message, *e.result.hints))
    assert "Ünï" in kept and not set("\x1b\x9b\u202e\x07") & set(kept)


def test_the_summary_finds_the_order_of_difficulty_and_the_exercises_that_do_not_fit():
    """A simulated class: for most exercises the able are right more often, for three it is chance."""
    draw = random.Random(0)
    difficulty = {id: -2 + 4 * k / len(EXERCISES) for k, id in enumerate(EXERCISES)}
    odd = set(list(EXERCISES)[10:32:10])
    graded_class = []
    for _ in range(300):
        able = draw.gauss(0, 1)
        chance = {id: 1 / (1 + math.exp(2 * (hard - able * (id not in odd)))) for id, hard in difficulty.items()}
        graded = [
            reports.GradedExercise(Result(id, id, RIGHT if draw.random() < chance[id] else NOT_YET, "", 1))
            for id in EXERCISES
        ]
        made = reports.Report(WHO, graded, [], "", "a b")
        graded_class.append((made, Assignment(CHAPTERS).grade_of(made)))
    hardest = class_summary.ClassSummary(graded_class).hardest
    found = [id for id, *_ in hardest]
    places = [found.index(id) for id in EXERCISES]
    assert -statistics.correlation(places, range(len(places))) > 0.95
    assert {row[0] for row in hardest if row[-1]} == odd


def test_the_summary_shows_how_many_have_which_share_of_the_points():
    graded_class = []
    for right in (4, 4, 3, 0):
        statuses = [RIGHT] * right + [NOT_YET] * (4 - right)
        graded = [reports.GradedExercise(Result(id, id, status, "", 1)) for id, status in zip(CHECKED, statuses)]
        made = reports.Report(WHO, graded, [], "", "a b")
        graded_class.append((made, Assignment([3]).grade_of(made)))
    distribution = class_summary.ClassSummary(graded_class).distribution
    assert [bar for bar in distribution if bar[-1]] == [(0, 10, 1), (70, 80, 1), (90, 100, 2)]


def test_the_page_of_a_student_says_what_check_says(written):
    out, made = written
    page = (out / "feedback/jane.html").read_text(encoding="utf-8")
    for entry in made.in_chapters([3]):
        assert entry.result.html() in page


def test_the_summary_counts_mistakes(graded, tmp_path):
    _, made = graded(packed(notebook({"3.2": handed_in.WRONG})))
    written_for(tmp_path, made, replace(made, student=Student("roe", "John Roe")))
    text = " ".join((tmp_path / "summary.html").read_text(encoding="utf-8").split())
    assert '<td>missing mask</td><td>3.2 Causal weights for a batch</td><td class="number">2</td>' in text


def test_gradescope_gets_what_it_reads(written):
    _, made = written
    results = results_of(made, Assignment([3]).grade_of(made))
    assert results["score"] == 0 and [test["max_score"] for test in results["tests"]] == [
        EXERCISES[id].points for id in CHECKED
    ]
    assert {"name", "score", "max_score", "output", "visibility"} == set(results["tests"][0])
