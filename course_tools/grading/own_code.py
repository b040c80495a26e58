"""Questions about a student's own code, drawn from all answers of a submission. The answers run in the sandbox."""

import functools
import itertools
import random
import tomllib
from pathlib import Path

from course_tools.grading.more_questions import MoreEvidence, kinds_for
from course_utils.explaining.program import parse_program
from course_utils.quizzing.questions import in_turn, questions_on

LONGEST_CODE = 2500  # characters of an answer on a printed page; longer ones are not asked about


def draw(answers, count, seed):
    """Up to `count` questions as plain data, from different answers if possible.

    answers: [(exercise, text of the answer's cell, what runs it)]. A question has "exercise", "title", "code", "call",
    "prompt", "options", "right" (a place among them), "kind", "good" and "memorised".
    """
    waiting = [about(*answer, f"{seed} {answer[0].id}") for answer in answers]
    random.Random(seed).shuffle(waiting)
    found = itertools.islice(in_turn(waiting), count)
    return sorted(found, key=lambda question: tuple(map(int, question["exercise"].split("."))))


def about(exercise, text, runner, seed):
    """The questions on one answer as plain data, one by one."""
    program = parse_program(text, exercise.name, {}, "<your cell>")
    if program and len(text) <= LONGEST_CODE:
        for question in questions_on(program, exercise.calls, runner, seed, kinds_for(exercise.calls), MoreEvidence):
            yield as_plain(question, exercise, text)


def as_plain(question, exercise, text):
    """A CodeQuestion as plain data."""
    key, words = question.options[question.right], describe_kind(question.kind)
    return {
        "exercise": exercise.id,
        "title": exercise.title,
        "code": text.expandtabs(4).strip("\n"),
        "call": question.call,
        "prompt": question.prompt,
        "options": list(question.options),
        "right": question.right,
        "kind": question.kind,
        "good": words["good"].format(key=key),
        "memorised": words["memorised"],
    }


@functools.cache
def describe_kind(kind):
    """{"purpose", "good", "memorised"}: the purpose of a kind of question, and typical answers in a talk."""
    return tomllib.loads(Path(__file__).with_name("question_kinds.toml").read_text(encoding="utf-8"))[kind]
