"""What holds for every exercise of the course: right answers earn all points, wrong ones are named and never misnamed.

A new exercise is tested by being there, with its answers in tests/answers/.
"""

import ast
import itertools
import re
import tomllib

import pytest

from course_utils.checking import solutions
from course_utils.exercises import EXERCISES, QUESTIONS
from course_utils.judging import calls
from course_utils.judging import judge as judging
from course_utils.repository import ROOT
from tests.answers import ANSWERS
from tests.support import mutants, stored

each_exercise = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
LONGEST_MESSAGE = 400  # characters; a phone shows about ten lines of forty
EQUIVALENT = tomllib.loads((ROOT / "tests/equivalent_mutants.toml").read_text(encoding="utf-8"))


def judged(exercise, answer):
    """The result of an answer, by the same two steps as in `check` and in the grader."""
    return judging.judge(exercise, calls.perform(answer, exercise.calls))


def imports(exercise):
    """The names that the imports cell of an exercise's chapter makes."""
    source = solutions.source_of(exercise.chapter)
    cell = re.search(r'# %% name="imports"\n(.*?)\n# %%', source, re.DOTALL)[1]
    names = {}
    exec(cell, names)
    return names


def defined(exercise, code):
    """The learner's object that some code makes in the exercise's chapter."""
    names = imports(exercise)
    exec(compile(code, "<answer>", "exec"), names)
    return names[exercise.name]


@each_exercise
def test_the_solution_earns_all_points(exercise):
    code, explanation = solutions.answer_to(exercise.id)
    result = judged(exercise, defined(exercise, code))
    assert result.status == "right", result
    assert result.points == exercise.points > 0 and result.message == exercise.why
    assert len(explanation.split()) >= 15


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_an_answer_gets_the_outcome_that_it_deserves(answer):
    result = judged(EXERCISES[answer.exercise], answer.object)
    assert len(result.message) <= LONGEST_MESSAGE
    if answer.mistakes is None:
        assert result.status == "right", result
    else:
        assert result.status == "not yet" and result.points == 0, result
        assert result.mistake in (answer.mistakes or (None,)), result


@each_exercise
def test_every_exercise_has_answers_of_each_kind(exercise):
    given = [answer.mistakes for answer in ANSWERS if answer.exercise == exercise.id]
    assert given.count(None) >= 3, "three right answers, written differently"
    assert given.count(()) >= 2, "two wrong answers without a name"
    for name in {mistake.name for mistake in exercise.mistakes if mistake.name}:
        assert given.count((name,)) >= 2, f"two differently written answers with: {name}"
    if len(exercise.mistakes) > 1:
        assert any(names and len(names) > 1 for names in given), "an answer with two mistakes"


@each_exercise
def test_no_two_answers_to_an_exercise_are_written_the_same(exercise):
    texts = [ast.dump(ast.parse(answer.source)) for answer in ANSWERS if answer.exercise == exercise.id]
    assert len(texts) == len(set(texts))


@each_exercise
def test_the_stub_is_not_attempted_in_any_of_its_forms(exercise):
    cell = next(
        cell for cell in learners_cells(exercise.chapter) if cell.id == f"exercise-{exercise.id.replace('.', '-')}"
    )
    for body in ("...", "pass", "return None", "raise NotImplementedError()"):
        code = re.sub(r"(?m)^( +)\.\.\.$", rf"\1{body}", cell.source)
        assert code != cell.source or body == "..."
        result = judged(exercise, defined(exercise, code))
        assert (result.status, result.points) == ("not attempted", 0), (body, result)


@each_exercise
def test_no_mutant_of_the_solution_passes(exercise):
    code, _ = solutions.answer_to(exercise.id)
    excused = EQUIVALENT.get(exercise.id, {})
    survivors = {}
    for name, mutant in mutants.of(code):
        try:
            answer = defined(exercise, mutant)
        except Exception:  # it does not even define the answer
            continue
        if judged(exercise, answer).status == "right":
            survivors[name] = excused.get(name, "passes and is not listed as equivalent")
    assert survivors == excused


@each_exercise
def test_hints_are_several_and_short(exercise):
    assert len(exercise.hints) >= 2 and all(len(hint) <= LONGEST_MESSAGE for hint in exercise.hints)


# --- the chapters -----------------------------------------------------------------------------------------------------


def learners_cells(chapter):
    """The cells of a chapter's notebook for learners."""
    (path,) = (ROOT / "notebooks").glob(f"{chapter:02}_*.ipynb")
    return stored.read(path).cells


@pytest.mark.parametrize("chapter", sorted({exercise.chapter for exercise in EXERCISES.values()}))
def test_a_chapter_shows_the_exercises_that_its_file_holds(chapter):
    mine = [exercise for exercise in EXERCISES.values() if exercise.chapter == chapter]
    words = "\n".join(cell.source for cell in learners_cells(chapter) if cell.cell_type == "markdown")
    shown = re.findall(r"^### Exercise (\S+) · (.*)\n(.*)$", words, re.MULTILINE)
    assert shown == [(exercise.id, exercise.title, label(exercise)) for exercise in mine]
    assert len(mine) >= 4


def label(exercise):
    """The line under an exercise's heading."""
    stars = "★" * exercise.difficulty + "☆" * (3 - exercise.difficulty)
    return f"{exercise.points} point{'s' * (exercise.points > 1)} · {stars} · {exercise.minutes} minutes"


@pytest.mark.parametrize("chapter", sorted({exercise.chapter for exercise in EXERCISES.values()}))
def test_a_chapter_asks_the_questions_that_its_file_answers(chapter):
    cells = learners_cells(chapter)
    mine = {id: question for id, question in QUESTIONS.items() if id.startswith(f"Q{chapter}.")}
    asked = {}
    for before, cell in itertools.pairwise(cells):
        if cell.id.startswith("question-"):
            id = f"Q{cell.id.removeprefix('question-').replace('-', '.')}"
            assert cell.source == f'answer("{id}", "?")'
            assert f"**Question {id[1:]}.**" in before.source
            asked[id] = re.findall(r"^\* \*\*(\w)\*\*", before.source, re.MULTILINE)
    assert asked == {id: list(question.said) for id, question in mine.items()}
    assert len(asked) >= 3
    for question in mine.values():
        assert question.right in question.said and len(question.said) == len(set(question.said.values())) >= 2


def test_there_are_enough_exercises_and_their_names_are_their_own():
    names = [exercise.name for exercise in EXERCISES.values()]
    assert len(names) == len(set(names))
    assert sum(exercise.chapter <= 5 for exercise in EXERCISES.values()) >= 22


# The 21 mistakes that are reported most often, in this order; a line may have several names.
REPORTED = [
    {"scaled by √d_out"},
    {"mask the wrong way round"},
    {"softmax over the wrong axis"},
    {"dropout in evaluation"},
    {"heads split without transpose"},
    {"heads merged without transpose"},
    {"a row with everything hidden"},
    {"diagonal off by one"},
    {"hidden scores filled with a number"},
    {"no scale", "multiplied by the scale"},
    {"heads in a Python list"},
    {"dropout on scores, or rows rescaled"},
    {"wrong dropout factor"},
    {"mask not cut to the tokens"},
    {"weight not transposed"},
    {"view after transpose"},
    {"masked after softmax, rows not renormalised"},
    {"query and key swapped"},
    {"mask not a buffer"},
    {"future not masked", "changed in place"},
    {"heads averaged, not concatenated"},
]


def test_every_mistake_that_is_often_reported_is_named_somewhere():
    named = {mistake.name for exercise in EXERCISES.values() for mistake in exercise.mistakes}
    assert len(REPORTED) == 21
    assert set.union(*REPORTED) <= named
