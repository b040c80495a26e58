"""What an exercise is: data, and a plain-loop oracle that knows the right results."""

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
    """One exercise of a chapter. Its words and numbers, id to hints, stand in `chapter_N.toml`.

    id: "3.2". name: what the learner's function or class must be called. success_message: shown for a right answer.
    hints: from a first question to almost the answer. make_calls: () -> the calls that an answer has to take, the same
    each time: LayerCalls, or a list of arguments for each call of a function. oracle: takes a function's arguments, for
    a layer its call and an input, and gives the right result, or None where only `properties` decide. properties: each
    case -> None, or a sentence on what is wrong; each is checked only for an answer that has those before it. gradient:
    as in FunctionCall. maps: whether the results are maps of weights, or masks, to be drawn. mask: how to read them, if
    they are masks. open_ended: whether any numbers that have the properties are right.
    """

    id: str
    title: str
    name: str
    points: int
    difficulty: int
    success_message: str
    hints: tuple[str, ...]
    make_calls: Callable
    oracle: Callable
    properties: tuple[Callable, ...] = ()
    gradient: bool = True
    maps: bool = False
    mask: Mask | None = None

    open_ended = False

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
        return [FunctionCall(each, self.gradient) if isinstance(each, list) else each for each in self.make_calls()]

    @cached_property
    def expected(self):
        """For each call, what each value in the reply should be."""
        return [self.results_of(call) for call in self.calls]

    def results_of(self, call):
        """What each value in the reply to a call should be."""
        if isinstance(call, LayerCall):
            return [self.oracle(call, *given) for given in call.inputs]
        return [self.oracle(*call.arguments)]

    @cached_property
    def reference(self):
        """The worked answer's Reply to each call: what is neither value nor property is compared with these."""
        worked = solutions.answer_from_code(self, solutions.worked_answer(self.id)[0])
        return replies.read(run_calls(worked, self.calls), self.calls)

    def known_values(self, number):
        """The values that right answers make on their way through one call."""
        return solutions.known_values(self, number)


@dataclass(frozen=True)
class Puzzle(Exercise):
    """An exercise that asks for the numbers of a head, however they were found.

    Any that have the properties are right, so an answer is not held against others to explain it.
    """

    make_calls: Callable = lambda: [FunctionCall([], check_contract=False)]
    oracle: Callable = lambda: None

    open_ended = True
