"""What an exercise is: data, and a plain-loop oracle that knows the right results."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from course_utils.exercises import solutions
from course_utils.judging import replies
from course_utils.judging.calls import FunctionCall, LayerCall, run_calls
from course_utils.judging.masks import Mask

MINUTES = {1: 5, 2: 10, 3: 20}  # that an exercise takes, by its difficulty


@dataclass(frozen=True)
class Exercise:
    """One exercise of a chapter.

    id: "3.2". name: what the learner's function or class must be called. why: said to a right answer. hints: from
    gentle to oracle. make_calls: () -> the calls put to an answer, the same each time. oracle: takes what a function is
    given, for a layer its call and an input, and gives the right result, or None where only `properties` decide.
    properties: each case -> None, or a sentence on what is wrong; each is asked only of an answer that has those before
    it. free: whether any numbers that have the properties are right.
    maps: whether the results are maps of weights, or masks, to be drawn. mask: how to read them, if they are masks.
    """

    id: str
    title: str
    name: str
    points: int
    difficulty: int
    why: str
    hints: tuple[str, ...]
    make_calls: Callable
    oracle: Callable
    properties: tuple[Callable, ...] = ()
    maps: bool = False
    mask: Mask | None = None

    free = False

    @property
    def chapter(self):
        """The number of its chapter."""
        return int(self.id.split(".")[0])

    @property
    def minutes(self):
        """How long it takes."""
        return MINUTES[self.difficulty]

    @cached_property
    def calls(self):
        """The calls put to an answer; made when they are needed, since an import should not wait for numbers."""
        return self.make_calls()

    @cached_property
    def expected(self):
        """For each call, what each value in the reply should be."""
        return [self.results_of(call) for call in self.calls]

    def results_of(self, call):
        """What each value in the reply to a call should be."""
        if isinstance(call, LayerCall):
            return [self.oracle(call, *given) for given in call.inputs]
        return [self.oracle(*call.arguments)] * call.repeat

    @cached_property
    def reference(self):
        """The worked answer's Reply to each call: what is neither value nor property is compared with these."""
        worked = solutions.defined(self, solutions.answer_to(self.id)[0])
        return replies.read(run_calls(worked, self.calls), self.calls)

    def known(self, number):
        """The values that right answers make on their way through one call."""
        return solutions.known_values(self, number)


@dataclass(frozen=True)
class Puzzle(Exercise):
    """An exercise that asks for the numbers of a head, however they were found.

    Any that have the properties are right, so an answer is not held against others to explain it.
    """

    make_calls: Callable = lambda: [FunctionCall([], check_contract=False)]
    oracle: Callable = lambda: None

    free = True


@dataclass(frozen=True)
class Question:
    """A short question with choices. Its words stand in the chapter; here is what is said to each choice.

    id: "Q3.1". right: the letter of the right choice. said: {letter: the explanation}, for every choice.
    """

    id: str
    right: str
    said: dict[str, str]


@dataclass(frozen=True)
class FillIn:
    """A question to answer with a word, a number or a line of code.

    id: "M2.1" where it asks from memory for what an earlier chapter taught, "S2.1" where it is a step on the way to an
    exercise. asks: its words. right: a pattern for all right answers, in small letters. said: what there is to say,
    with the answer in it. back: (chapter, heading) where it is found.
    """

    id: str
    asks: str
    right: str
    said: str
    back: tuple[int, str]

    @property
    def from_memory(self):
        """Whether it comes up again (`review`)."""
        return self.id.startswith("M")

    def accepts(self, text):
        """Whether an answer is right, however it is written."""
        plain = re.sub(r"\s+", " ", text.strip().lower()).removeprefix("the ").rstrip(".!")
        return re.fullmatch(self.right, plain) is not None
