"""Answers by people who had not seen what judges them: right ones in forms unlike ours, wrong ones with their cause."""

import linecache
import tomllib

import pytest

from course_utils.exercises import CHAPTERS, EXERCISES
from course_utils.judging.calls import perform
from course_utils.judging.judge import judge
from course_utils.repository import ROOT
from tests.test_exercises import imports


def answers(chapter, kind):
    """The answers of one kind to a chapter's exercises, as dicts."""
    text = (ROOT / f"tests/blind_answers/chapter_{chapter}.toml").read_text(encoding="utf-8")
    return [answer for answer in tomllib.loads(text)["answer"] if answer["kind"] == kind]


def judged(answer):
    """The result of an answer, made as in a notebook's cell."""
    exercise, file = EXERCISES[answer["exercise"]], f"<{hash(answer['code'])}>"
    names = dict(imports(exercise))
    linecache.cache[file] = (0, None, answer["code"].splitlines(keepends=True), file)
    exec(compile(answer["code"], file, "exec"), names)
    return judge(exercise, perform(names[exercise.name], exercise.calls))


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_right_answers_are_accepted(chapter):
    for answer in answers(chapter, "right"):
        assert judged(answer).status == "right", f"{answer['code']}\n{judged(answer)}"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_wrong_answers_are_rejected(chapter):
    """`passes` marks those that no check notices yet: who mends one takes the mark away."""
    for answer in answers(chapter, "wrong"):
        wanted = "right" if answer.get("passes") else "not yet"
        assert judged(answer).status == wanted, f"{answer['cause']}\n{answer['code']}"
