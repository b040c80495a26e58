"""An instructor who uses nbgrader can take the solved notebooks as they are: it makes the assignment and grades it."""

import csv
import os
import shutil
import subprocess
import sys

import nbformat
import pytest

from course_tools.repository import ROOT
from course_utils.exercises import EXERCISES
from tests.support import answers, environments

pytestmark = pytest.mark.in_matrix("nbgrader")
CHAPTER = "03_hiding_the_future.ipynb"
MINE = [exercise for exercise in EXERCISES.values() if exercise.chapter == 3]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """(folder, command): a course folder of nbgrader in which an assignment was generated from all solved notebooks."""
    python = environments.python_with("nbgrader", "nbgrader==0.9.6")
    course = tmp_path_factory.mktemp("course")
    environments.kernel(course / "jupyter", "python3", sys.executable)  # that of the tests runs the notebooks
    (course / "source/attention").mkdir(parents=True)
    for path in (ROOT / "solutions").glob("*.ipynb"):
        shutil.copy(path, course / "source/attention")

    def nbgrader(*arguments):
        """Run an nbgrader command in the course folder."""
        environment = os.environ | {
            "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",  # nbgrader calls alembic
            "JUPYTER_PATH": str(course / "jupyter"),
            "PYTHONPATH": str(ROOT),
            "COURSE_PROGRESS": "",
        }
        command = [python, "-m", "nbgrader", *arguments]
        done = subprocess.run(command, cwd=course, env=environment, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stdout + done.stderr

    nbgrader("generate_assignment", "attention")
    return course, nbgrader


def hand_in(course, student, fill_in):
    """Hand in the released chapter with each exercise's cell changed: fill_in(exercise, stub) -> source."""
    notebook = nbformat.read(course / "release/attention" / CHAPTER, as_version=4)
    for exercise in MINE:
        (cell,) = [cell for cell in notebook.cells if cell.id == f"exercise-{exercise.id.replace('.', '-')}"]
        cell.source = fill_in(exercise, cell.source)
    place = course / "submitted" / student / "attention"
    place.mkdir(parents=True)
    nbformat.write(notebook, place / CHAPTER)


def test_right_answers_get_full_points_and_wrong_ones_and_stubs_none(course):
    noisy = "import sys, warnings\nwarnings.warn('careful')\nprint('careful', file=sys.stderr)\n"
    students = {
        "right": lambda exercise, stub: noisy + answers.right(exercise.id)[1].code,
        "wrong": lambda exercise, stub: answers.wrong(exercise.id)[0].code,
        "stub": lambda exercise, stub: stub,
    }
    folder, nbgrader = course
    for student, fill_in in students.items():
        hand_in(folder, student, fill_in)
    nbgrader("autograde", "attention")
    nbgrader("export")
    with open(folder / "grades.csv", newline="", encoding="utf-8") as file:
        scores = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    full = sum(exercise.points for exercise in MINE)
    assert scores == {"right": full, "wrong": 0, "stub": 0}


def test_the_released_notebooks_hold_no_solution_and_no_hidden_test(course):
    for path in (course[0] / "release/attention").glob("*.ipynb"):
        words = path.read_text(encoding="utf-8")
        assert "SOLUTION" not in words and "HIDDEN TESTS" not in words
        assert ("NotImplementedError" in words) == ("exercise-" in words)
