"""Who shares more than an exercise dictates is named for a person to judge; who wrote alike by chance is not."""

import pytest

from course_tools.grading import (
    doctor,
    grader,
    grades_and_pages,
    grading_process,
    notebook_reading,
    reports,
    similar_answers,
)
from course_tools.grading.assignment import Assignment
from course_tools.grading.reports import ReportStore, Student
from course_utils.exercises import EXERCISES, solutions
from tests.support import answers as collected

OF_CHAPTER = [id for id in EXERCISES if id.startswith("3.")]


def honest(number):
    """The answers of one student to chapter 3: {id: own lines}, by people who had not seen each other's."""
    given = {id: [*collected.right(id)[1:], *collected.wrong(id)] for id in OF_CHAPTER}
    return {id: grader.own_lines(given[id][number % len(given[id])].code) for id in OF_CHAPTER}


CLASS = {f"student {number}": honest(number) for number in range(12)}


def test_answers_of_people_who_wrote_alone_are_no_pairs():
    assert similar_answers.similar_pairs(CLASS) == []


@pytest.mark.parametrize("others", [0, 200], ids=["a small class", "a large class"])
def test_a_copy_with_some_changed_lines_is_a_pair_with_what_both_share(others):
    copied = {id: lines[: max(1, len(lines) - 1)] for id, lines in CLASS["student 3"].items()}
    more = {f"other {number}": {"3.1": [f"own = {number}", "line()"]} for number in range(others)}
    ((one, other, ids, number, lines),) = similar_answers.similar_pairs(CLASS | more | {"copy": copied})
    assert (one, other) == ("student 3", "copy") and set(ids) <= set(OF_CHAPTER)
    assert (
        number >= similar_answers.FEWEST_SHARED_LINES
        and len(lines) <= 3
        and set(lines) <= {line for own in copied.values() for line in own}
    )


def test_what_many_of_a_class_wrote_tells_nothing():
    same = {id: [f"line {k} of {id}" for k in range(4)] for id in OF_CHAPTER}
    assert similar_answers.similar_pairs({f"student {number}": same for number in range(4)}) == []
    assert len(similar_answers.similar_pairs({f"student {number}": same for number in range(3)})) == 3


def test_what_was_handed_out_is_nobodys_own():
    (stub,) = [text for text in grader.provided_texts() if text.startswith("def my_causal_weights")]
    assert grader.own_lines(stub) == []
    assert grader.own_lines(stub + "\n    # my own words\n    )") == ["# my own words"]


def test_of_a_very_long_answer_a_part_is_compared():
    lines = similar_answers.own_lines("\n".join(f"line_{k} = {'x' * 1000}" for k in range(1000)), set())
    assert len(lines) == 60 and {len(line) for line in lines} == {120}


def test_the_published_answer_is_named_and_another_one_is_not():
    exercise = EXERCISES["3.4"]
    assert grader.is_published(exercise, grader.own_lines(solutions.worked_answer("3.4")[0]))  # as `solution` shows it
    for answer in collected.right("3.4")[1:]:
        assert not grader.is_published(exercise, grader.own_lines(answer.code)), answer


def test_the_summary_names_both_and_runs_nothing_of_it(tmp_path):
    book = grades_and_pages.GradesAndPages(ReportStore(tmp_path), Assignment([3]))
    lines = {"3.4": [f"<b>{k}</b> = hidden" for k in range(similar_answers.FEWEST_SHARED_LINES)]}
    for name in ("ada", "bo"):
        graded = [reports.GradedExercise(grader.plain_result(EXERCISES[id], "right", "")) for id in EXERCISES]
        report = reports.Report(Student(name, name), graded, [], "", "a b", lines=lines, published=["3.4"])
        book.add(reports.report_from_json(reports.report_to_json(report)))
    book.close()
    page = (tmp_path / "summary.html").read_text(encoding="utf-8")
    assert "<td>ada</td><td>bo</td><td>3.4</td>" in page and "<td>ada</td><td>the published answers</td>" in page
    assert "&lt;b&gt;0&lt;/b&gt; = hidden" in page and "<b>0" not in page


def test_no_answer_whose_grading_is_timed_was_seen_before(monkeypatch):
    """What was seen before is not run again, and would take no time."""
    tasks, nothing = [], reports.Report(Student("k", "K"), [], [], "", "")
    monkeypatch.setattr(doctor, "grade_in_own_process", lambda task, limits: tasks.append(task) or (nothing, {}))
    for _ in range(2):
        doctor.graded_copy("solutions", grading_process.Limits())
    one, other = (notebook_reading.read_notebook("03.ipynb", content) for task in tasks for _, content in task.files)
    for exercise in (EXERCISES[id] for id in OF_CHAPTER):
        texts, again = (made.texts_needed(made.cells_defining(exercise)[-1], exercise.name)[0] for made in (one, other))
        assert texts[-1] != again[-1] and exercise.name in texts[-1]
