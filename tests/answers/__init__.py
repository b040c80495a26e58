"""Answers that learners might give, one file a chapter: right ones, wrong ones with the name of their mistake, and others.

The tests put every answer to its exercise, in `check` and in the grader.
"""

import ast
import importlib
import inspect
import linecache
import pkgutil
import re
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from course_utils.attention import CausalAttention

ANSWERS = []


@dataclass(frozen=True)
class Answer:
    """One answer to an exercise. mistakes: None for a right one; otherwise the names of which one must be given.

    text: its source, where that is not the text of the object in a file.
    """

    exercise: str
    mistakes: tuple[str, ...] | None
    object: object
    text: str | None = None

    @property
    def source(self):
        """Its text, as a learner would write it into the notebook."""
        return self.text or re.sub(r"(?m)\A(@.*\n)+", "", inspect.getsource(self.object))

    def __str__(self):
        place = self.object.__code__.co_firstlineno if hasattr(self.object, "__code__") else self.source[:40]
        return f"{self.exercise} {'right' if self.mistakes is None else '+'.join(self.mistakes) or 'unnamed'} {place}"


def collect(exercise, mistakes):
    """A decorator that collects an answer."""

    def keep(answer):
        ANSWERS.append(Answer(exercise, mistakes, answer))
        return answer

    return keep


def right(exercise):
    """A right answer, written in another way than the solution."""
    return collect(exercise, None)


def wrong(exercise, *mistakes):
    """A wrong answer with a known mistake, or with several, one of which must be named."""
    assert mistakes
    return collect(exercise, mistakes)


def unnamed(exercise):
    """A wrong answer whose mistake has no name: it must be rejected, and no name given."""
    return collect(exercise, ())


def written(exercise, mistakes, text, changes=()):
    """Collect an answer given as a text with one definition; changes: (old, new) pieces of it, each found once.

    Classes are given like this, and wrong ones as a right one with changes: nobody could find the slip otherwise.
    """
    for old, new in changes:
        assert text.count(old) == 1, f"{exercise}: {old!r} stands {text.count(old)} times in the text"
        text = text.replace(old, new)
    names = {"__name__": __name__, "torch": torch, "nn": nn, "F": F, "CausalAttention": CausalAttention}
    file = f"<answer {len(ANSWERS)}>"
    exec(compile(text, file, "exec"), names)
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    (name,) = [node.name for node in ast.parse(text).body]
    ANSWERS.append(Answer(exercise, mistakes, names[name], text))


for module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{module.name}")
