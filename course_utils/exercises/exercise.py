"""An exercise: its words, the calls of an answer, and the right results."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from course_utils.exercises import solutions
from course_utils.judging import differences, untrusted_replies
from course_utils.judging.calls import FunctionCall, run_calls
from course_utils.judging.masks import Mask


@dataclass(frozen=True)
class Exercise:
    """One exercise of a chapter. Its words and numbers, from id to hints, are in `chapter_N.toml`.

    id: "3.2". name: of the learner's function or class. success_message: shown for a right answer.
    hints: from a first question to almost the answer. make_calls: () -> the calls that an answer has to take, the same
    each time: LayerCalls, or a list of arguments for each call of a function. properties: each case -> None, or a
    sentence on what is wrong; each is checked only for an answer that has those before it. gradient: as in
    FunctionCall. maps: whether the results are maps of weights, or masks, to be drawn. mask: how to read them, if they
    are masks. open_ended: whether any numbers with these properties are right. seed: the calls' private one, or "".
    """

    id: str
    title: str
    name: str
    points: int
    difficulty: int
    success_message: str
    hints: tuple[str, ...]
    make_calls: Callable
    properties: tuple[Callable, ...] = ()
    gradient: bool = True
    maps: bool = False
    mask: Mask | None = None
    seed: str = ""

    open_ended = False

    @property
    def chapter(self):
        """The number of its chapter."""
        return int(self.id.split(".")[0])

    @cached_property
    def calls(self):
        """The calls of an answer; made when needed, since an import should not wait for numbers."""
        return [FunctionCall(each, self.gradient) if isinstance(each, list) else each for each in self.make_calls()]

    @cached_property
    def expected(self):
        """For each call, the expected values of the reply: those of the worked answer, which tests compute again.

        None if only `properties` decide: for puzzles, and for layers in training, which may draw at random.
        """
        return [
            [None] * len(reply.values)
            if self.properties and getattr(call, "training", self.open_ended)
            else list(map(as_expected, reply.values))
            for call, reply in zip(self.calls, self.reference)
        ]

    @cached_property
    def reference(self):
        """The worked answer's Reply to each call, with which answers are compared."""
        found = untrusted_replies.read(run_calls(self.worked, self.calls), self.calls)
        return [replace(reply, argument_names=self.parameter_names) for reply in found]

    def asking(self, call):
        """The same exercise, which asks only for this call."""
        found = replace(self, make_calls=lambda: [call])
        vars(found)["worked"] = self.worked  # read from the sources once, not for each call
        return found

    @cached_property
    def worked(self):
        """The function or class of the worked answer."""
        return solutions.answer_from_code(self, solutions.worked_answer(self.id)[0])

    @cached_property
    def right_answers(self):
        """The functions or classes of all right answers that are known, the worked one first."""
        return [solutions.answer_from_code(self, code) for code in solutions.right_answers(self.id)]

    @cached_property
    def parameter_names(self):
        """The names of the worked answer's arguments; for a layer, those of `forward`."""
        called = getattr(self.worked, "forward", self.worked)
        return list(inspect.signature(called).parameters)[isinstance(self.worked, type) :]

    # Both return the intermediate values of right answers in a call, by its number; `known_values` caches them.
    known_values, values_on_the_way = solutions.known_values, solutions.values_on_the_way


def as_expected(value):
    """A value of a reply for comparison: arrays, and plain numbers instead of single entries."""
    if isinstance(value, list):
        return list(map(as_expected, value))
    if isinstance(value, torch.Tensor):
        return differences.to_array(value) if value.ndim else value.item()
    return value


@dataclass(frozen=True)
class Puzzle(Exercise):
    """An exercise on a head's numbers. Any that have the properties are right, so no answer is compared with others."""

    make_calls: Callable = lambda: [FunctionCall([], check_contract=False)]

    open_ended = True
