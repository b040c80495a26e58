"""What an exercise is: data, and a plain-loop oracle that knows the right results."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Exercise:
    """One exercise of a chapter.

    id: "3.2". name: what the learner's function or class must be called. why: said to a right answer. hints: from
    gentle to oracle. make_calls: () -> the calls put to an answer, the same each time. oracle: call -> what each value
    in the reply should be (None where only `properties` decide). properties: each case -> None, or a sentence on what
    is wrong; each is asked only of an answer that has those before it. mistakes: the known ones, most telling first.
    map: value -> a matrix of weights to draw, or None.
    """

    id: str
    title: str
    name: str
    points: int
    difficulty: int
    minutes: int
    why: str
    hints: tuple[str, ...]
    make_calls: Callable
    oracle: Callable
    mistakes: tuple = ()
    properties: tuple[Callable, ...] = ()
    map: Callable | None = None

    @property
    def chapter(self):
        """The number of its chapter."""
        return int(self.id.split(".")[0])

    @cached_property
    def calls(self):
        """The calls put to an answer."""
        return self.make_calls()

    @cached_property
    def expected(self):
        """For each call, what each value in the reply should be."""
        return [self.oracle(call) for call in self.calls]


@dataclass(frozen=True)
class Question:
    """A short question with choices. Its words stand in the chapter; here is what is said to each choice.

    id: "Q3.1". right: the letter of the right choice. said: {letter: the explanation}, for every choice.
    """

    id: str
    right: str
    said: dict[str, str]
