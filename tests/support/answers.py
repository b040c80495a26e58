"""Answers to exercises, by people who had not seen what judges them: right ones, and wrong ones with their cause.

Right ones stand with the exercises, since explanations need them; wrong ones in tests/wrong_answers. Each is a text.
"""

import linecache
import tomllib
from dataclasses import dataclass

from course_tools.repository import ROOT
from course_utils.exercises import CHAPTERS, EXERCISES, solutions


@dataclass(frozen=True)
class Answer:
    """An answer to an exercise. cause: what is wrong, None for a right one. place: the expression that is wrong.

    says: words that the reply must contain; for a puzzle, those that describe what its head does.
    """

    exercise: str
    code: str
    cause: str | None = None
    place: str | None = None
    says: str | None = None

    def object(self):
        """What the code makes, as in a notebook's cell: errors can tell its lines."""
        exercise, file = EXERCISES[self.exercise], f"<answer {hash(self.code)}>"
        linecache.cache[file] = (len(self.code), None, self.code.splitlines(keepends=True), file)
        names = solutions.imports(exercise.chapter)
        exec(compile(self.code, file, "exec"), names)
        return names[exercise.name]

    def lines(self):
        """The numbers of the lines at which its place stands."""
        before, _, _ = self.code.partition(self.place)
        first = before.count("\n") + 1
        return range(first, first + self.place.count("\n") + 1)


def right(id):
    """The right answers to an exercise, the worked one first."""
    return [Answer(id, code) for code in solutions.right_answers(id)]


def wrong(id):
    """The wrong answers to an exercise."""
    return [answer for answer in WRONG if answer.exercise == id]


def read(chapter):
    """The wrong answers to a chapter's exercises."""
    text = (ROOT / f"tests/wrong_answers/chapter_{chapter}.toml").read_text(encoding="utf-8")
    return [Answer(**entry) for entry in tomllib.loads(text)["answer"]]


WRONG = [answer for chapter in CHAPTERS for answer in read(chapter)]
