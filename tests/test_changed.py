"""What `test` leaves out and says so, and what `test --changed` chooses: what an edit can touch, and in doubt more."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from course_tools.commands import test as launch_test
from course_tools.repository import ROOT
from tests.support import bare_clone, choose_tests
from tests.support.readers import readers

pytestmark = pytest.mark.any_chapter
PLAYED = {"01", "02", "03", "04", "05"}  # their figures share the puzzles of all of them
CHOOSE = "import json; from tests.support import choose_tests; print(json.dumps(choose_tests.choose()))"
SOLVED, LEARNERS = "solutions/03_hiding_the_future.ipynb", "notebooks/03_hiding_the_future.ipynb"

MORE_FILES = pytest.mark.every_setting("more files that anything may depend on")
NOBODYS = ["a_page" + ".md"]  # in two pieces, or this file would name it


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    """A clone in which everything is committed."""
    clone = bare_clone.copy(tmp_path_factory.mktemp("clone"))
    assert bare_clone.stamp(clone)
    bare_clone.commit(clone)
    return clone


@pytest.fixture
def clone(committed):
    """The same, put back as it was afterwards."""
    yield committed
    bare_clone.git(committed, "reset", "-q", "--hard")
    bare_clone.git(committed, "clean", "-qfd")


def chosen(clone):
    """(notebooks, test files and tests, options) that an edit asks for; the notebooks may also be `everything`."""
    answer = bare_clone.python(clone, "-c", CHOOSE)
    assert answer.returncode == 0, answer
    reasons, options = json.loads(answer.stdout)
    tests = {name for name in reasons if ".py" in name}
    return set(reasons) - tests, {name.removeprefix("tests/") for name in tests}, options


def append(clone, name, text):
    """Write something at the end of a file."""
    with open(clone / name, "a", encoding="utf-8") as file:
        file.write(text)


def edit(clone, kind, change, *names):
    """Change the text of the one cell of a kind in some notebooks."""
    for name in names:
        notebook = json.loads((clone / name).read_text(encoding="utf-8"))
        (cell,) = [cell for cell in notebook["cells"] if kind(cell)]
        cell["source"] = change("".join(cell["source"]))
        (clone / name).write_text(json.dumps(notebook), encoding="utf-8")


def about_3_2(cell):
    """Whether a cell is the words of exercise 3.2."""
    return "### Exercise 3.2" in "".join(cell["source"])


def exercise_3_2(cell):
    """Whether a cell is the one to fill in."""
    return cell["id"] == "exercise-3-2"


def test_without_a_change_there_is_nothing_to_test(clone):
    answer = bare_clone.python(clone, "-c", CHOOSE)
    assert answer.returncode == 1 and answer.stderr.startswith("Nothing changed since the last commit")


def test_a_folder_from_a_zip_is_one_sentence_even_inside_somebodys_repository(clone, tmp_path):
    (tmp_path / "notes.txt").write_text("of somebody", encoding="utf-8")
    bare_clone.commit(tmp_path)
    inside = shutil.copytree(clone, tmp_path / "inside", ignore=shutil.ignore_patterns(".git"))
    answer = bare_clone.python(inside, "-c", CHOOSE)
    assert answer.returncode == 1 and answer.stderr.count("\n") == 1 and "clone made with git" in answer.stderr, answer


def test_what_changed_is_found_out_before_anything_is_installed(monkeypatch):
    monkeypatch.setattr(launch_test.environment, "python_with", lambda *files: pytest.fail("installs"))
    monkeypatch.setattr(choose_tests, "choose", lambda: sys.exit("Nothing changed"))
    with pytest.raises(SystemExit, match="Nothing changed"):
        launch_test.main(["--changed"])


@pytest.mark.parametrize(
    "arguments, chosen, command, threads",
    [
        (["-x"], None, ["-m", "pytest", "-n", "4", "-x"], "1"),
        (["--matrix", "-k", "torch"], None, ["-m", "tests.support.matrix", "-n", "4", "-k", "torch"], "1"),
        (["--coverage", "-x"], None, ["-m", "tests.support.covered", "-n", "4", "-x"], "1"),
        (["--changed", "-x"], ["a", "b"], ["-m", "pytest", "--chapters=03", "a", "b", "-x"], None),
        (["--changed"], ["a", "b", "c"], ["-m", "pytest", "-n", "4", "--chapters=03", "a", "b", "c"], "1"),
        (["--changed"], [choose_tests.EVERYTHING], ["-m", "pytest", "-n", "4"], "1"),
    ],
)
def test_it_becomes_pytest_in_the_clone_with_workers_where_there_is_enough_to_do(
    arguments, chosen, command, threads, monkeypatch, tmp_path
):
    commands = []
    monkeypatch.setattr(launch_test.environment, "python_with", lambda *files: "python")
    monkeypatch.setattr(launch_test.environment, "replace_process", commands.append)
    monkeypatch.setattr(choose_tests, "choose", lambda: (dict.fromkeys(chosen, "why"), ["--chapters=03"]))
    monkeypatch.setattr(launch_test.os, "cpu_count", lambda: 3)
    monkeypatch.setenv("OMP_NUM_THREADS", "")  # so that it is put back
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.chdir(tmp_path)
    launch_test.main(arguments)
    assert commands == [["python", *command]]
    assert os.environ.get("OMP_NUM_THREADS") == threads and os.getcwd() == str(ROOT)


def test_a_clone_without_a_commit_is_told_what_git_says(tmp_path):
    bare_clone.git(bare_clone.copy(tmp_path), "init", "-q")
    answer = bare_clone.python(tmp_path, "-c", CHOOSE)
    assert answer.returncode == 1 and answer.stderr.startswith("This command needs a clone with a commit; git says: ")


def test_a_sentence_asks_for_what_holds_for_words_and_runs_nothing(clone):
    append(clone, "solutions/03_hiding_the_future.py", "\n# More.\n")
    edit(clone, about_3_2, lambda text: text + " More.", SOLVED, LEARNERS)
    assert chosen(clone) == (set(), {"test_notebooks.py"}, ["--chapters=03"])


def test_words_that_stand_with_an_exercise_too_are_compared_with_it(clone):
    edit(clone, about_3_2, lambda text: text.replace("points", "marks"), SOLVED, LEARNERS)
    assert chosen(clone) == (set(), {"test_notebooks.py", "test_exercises.py"}, ["--chapters=03"])


def test_changed_code_runs_its_notebook_and_no_other(clone):
    edit(clone, exercise_3_2, lambda text: text + "\n", SOLVED)
    notebooks, tests, options = chosen(clone)
    assert notebooks == {SOLVED} and options == ["--chapters=03"]
    assert {
        "test_notebooks.py",  # pictures without words, a learner's name used again
        "test_ledger.py::test_the_stored_output_shows_what_the_source_prints",
        "test_exercises.py::test_the_stub_is_not_attempted_in_any_of_its_forms",
        "test_exercises.py::test_the_solution_earns_all_points",
        "test_grader.py::test_stored_notebooks_get_all_points_or_none",
        "test_sandbox.py::test_all_that_a_chapter_imports_is_there_for_its_answers",
        "test_site.py::test_every_picture_has_its_words_and_no_chapter_is_too_large",
    } <= tests
    files = {name.partition("::")[0] for name in tests}
    sampling = {f"test_{topic}.py" for topic in ("batch", "honest_work", "lab", "platforms", "publish", "submissions")}
    assert not files & (sampling | {"test_attention.py", "test_pictures.py", "test_stored_outputs.py"})


def test_a_file_that_is_chosen_whole_is_chosen_once(clone):
    edit(clone, exercise_3_2, lambda text: text + "\n", SOLVED)
    append(clone, "tests/ledger.toml", "\n# changed\n")
    assert {name for name in chosen(clone)[1] if "ledger" in name} == {"test_ledger.py"}


READING = """
from tests.support import handed_in, stored

PATHS = stored.PATHS

@pytest.fixture
def cells():
    return [stored.read(path) for path in PATHS]

def test_of_chapters(cells): pass

@pytest.mark.parametrize("path", PATHS)
def test_of_each(path): pass

@pytest.mark.any_chapter
def test_that_takes_one(cells): pass

def test_of_grading():
    PATHS_OF_MINE = [path for path in handed_in.lay()]
"""


@pytest.mark.parametrize(
    "more, found",
    [
        ("", ["test_of_chapters", "test_of_each"]),
        ("def test_of_answers():\n    answers.right('3.2')\n", ["test_of_chapters", "test_of_each", "test_of_answers"]),
        ("pytestmark = pytest.mark.any_chapter\n", []),
    ],
)
def test_whose_subject_chapters_are_reads_them_and_does_not_say_that_any_would_do(more, found):
    assert readers(READING + more) == (found, False)


def test_where_all_tests_read_chapters_the_file_is_taken_whole():
    assert readers("def test_it():\n    stored.PATHS\n") == (["test_it"], True)


def test_other_chapters_tests_are_left_out_only_where_nothing_else_changed(clone):
    append(clone, "solutions/03_hiding_the_future.py", "\n# More.\n")
    append(clone, "tests/ledger.toml", "\n# changed\n")
    assert chosen(clone)[2] == []


@pytest.mark.parametrize(
    "name, chapters, some, others",
    [
        (
            "course_utils/training_bar.py",
            {"07", "08", "09", "10", "11"},
            {"test_training_bar.py"},
            {"test_attention.py"},
        ),
        ("course_utils/exercises/chapter_2.py", PLAYED, {"test_exercises.py", "test_grader.py"}, {"test_live.py"}),
        ("course_utils/exercises/chapter_2.toml", PLAYED, {"test_exercises.py", "test_grader.py"}, {"test_live.py"}),
        ("course_tools/grading/platforms/canvas.py", set(), {"test_platforms.py"}, {"test_exercises.py"}),
        ("course_tools/grading/sandbox/inside/server.py", set(), {"test_sandbox_hostile.py"}, {"test_ledger.py"}),
        ("tests/test_pictures.py", set(), {"test_pictures.py"}, {"test_attention.py"}),
        ("tests/wrong_answers/chapter_2.toml", set(), {"test_exercises.py", "test_nbgrader.py"}, {"test_live.py"}),
        ("tests/support/plain_loops.py", set(), {"test_exercises.py", "test_attention.py"}, {"test_live.py"}),
        ("tests/ledger.toml", set(), {"test_ledger.py"}, {"test_live.py"}),
    ],
)
def test_a_file_asks_for_what_imports_or_names_it(clone, name, chapters, some, others):
    append(clone, name, "\n# changed\n")
    notebooks, tests, _ = chosen(clone)
    assert {notebook.partition("/")[2][:2] for notebook in notebooks} == chapters
    assert some <= tests and not others & tests


@pytest.mark.parametrize(
    "name",
    [
        "pyproject.toml",
        pytest.param("requirements.txt", marks=MORE_FILES),
        pytest.param("course_tools/locked/requirements.txt", marks=MORE_FILES),
        pytest.param("tests/support/comparing.py", marks=MORE_FILES),  # the plugin for notebooks compares with it
        "tests/conftest.py",
        *NOBODYS,
    ],
)
def test_what_anything_may_depend_on_asks_for_everything(clone, name):
    append(clone, name, "\n")
    assert chosen(clone)[0] == {"everything"}


def test_a_removed_file_asks_for_everything(clone):
    (clone / "course_utils/training_bar.py").unlink()
    assert chosen(clone)[0] == {"everything"}


# --- other settings and other chapters --------------------------------------------------------------------------------

TESTS = """
from types import SimpleNamespace
import pytest

@pytest.mark.parametrize("case", [SimpleNamespace(chapter=3), SimpleNamespace(exercise="4.1")], ids=["of3", "of4"])
def test_once(case): pass

@pytest.mark.parametrize("id", ["3.2", "3 and more"])
def test_of_id(id): pass

@pytest.mark.every_setting("other weather")
def test_again(): pass
"""
LEFT_OUT = "Left out, and proved with --all: other weather (1)."
OTHER_OPTIONS = pytest.mark.every_setting("other options of test")


@pytest.mark.parametrize(
    "options, outcome, said",
    [
        ([], "4 passed, 1 deselected", True),
        pytest.param(["-n", "1"], "4 passed", True, marks=OTHER_OPTIONS),
        pytest.param(["--all"], "5 passed", False, marks=OTHER_OPTIONS),
        (["-k", "again"], "1 passed, 4 deselected", False),  # asked for by its name
        pytest.param(["--chapters=04"], "2 passed, 3 deselected", True, marks=OTHER_OPTIONS),
    ],
)
def test_what_is_left_out_is_said(tmp_path, options, outcome, said):
    (tmp_path / "test_tiny.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = every_setting(setting): x\n", encoding="utf-8")
    names = ("tests.support.settings", "tests.support.summary", "no:nbval", "no:nbmake")
    plugins = [part for name in names for part in ("-p", name)]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    answer = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8")
    assert f"{outcome} in" in answer.stdout and (LEFT_OUT in answer.stdout) == said, answer.stdout
