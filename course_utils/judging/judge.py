"""From an exercise and the replies of an answer to a result: right, or what was seen and the name of the mistake.

Replies may come from a stranger's process, so they are read first (`replies`): what cannot be read is a wrong answer,
and no more.
"""

import warnings
from dataclasses import dataclass, field

import numpy as np
import torch

from course_utils.judging import comparing, errors, replies
from course_utils.judging.result import LARGEST_MAP, NOT_ATTEMPTED, NOT_YET, RIGHT, Result

UNREADABLE = "What came back could not be read."


@dataclass
class Case:
    """One value of an answer: what was asked, what came back, what was expected.

    arguments: those of the function, or of the layer's forward. problem: a sentence on how it differs, or None.
    beside: all cases of the same answer, this one included, for what no single one tells.
    """

    call: object
    reply: replies.Reply
    arguments: list
    value: object
    want: object
    problem: str | None
    beside: list = field(default_factory=list, repr=False)

    @property
    def got(self):
        """The value as a float64 array; None for anything but a tensor of the expected kind of numbers."""
        if not isinstance(self.value, torch.Tensor):
            return None
        found = comparing.array(self.value)
        wanted = np.asarray(self.want).dtype if self.want is not None else found.dtype
        same_kind = comparing.KINDS[found.dtype.kind] == comparing.KINDS.get(wanted.kind)
        return np.asarray(found, dtype=float) if same_kind else None

    @property
    def error(self):
        """The message of the error that the answer raised; "" when there was none."""
        return self.reply.error.message if self.reply.error else ""


def judge(exercise, data):
    """The result of an answer's replies to an exercise's calls, as they came back."""
    if replies.untouched(data):
        return result(exercise, NOT_ATTEMPTED, f"Fill in `{exercise.name}`, then run this cell again.")
    try:
        seen = cases(exercise, replies.read(data, exercise.calls))
    except replies.Unreadable:
        return result(exercise, NOT_YET, UNREADABLE)
    wrong = [case for case in seen if case.problem] or with_unmet_properties(exercise, seen)
    if not wrong:
        return result(exercise, RIGHT, exercise.why)
    name, message = diagnosis(exercise, wrong)
    return result(exercise, NOT_YET, message, mistake=name, maps=maps(exercise, wrong[0]))


def result(exercise, status, message, **more):
    """A result of this exercise."""
    return Result(exercise.id, exercise.title, status, errors.presentable(message), exercise.points, **more)


def cases(exercise, found):
    """Every value of the replies beside what was expected."""
    seen = [
        case
        for call, reply, expected in zip(exercise.calls, found, exercise.expected)
        for case in cases_of(call, reply, expected)
    ]
    for case in seen:
        case.beside = seen
    return seen


def cases_of(call, reply, expected):
    """The cases of one call. An answer that gave no values gets one case with the reason."""
    asked = getattr(call, "inputs", None) or [call.arguments]
    general = without_values(reply)
    if general:
        return [Case(call, reply, asked[0], None, expected[0], general)]
    found = []
    for k, (value, want) in enumerate(zip(reply.values, expected, strict=True)):
        problem = comparing.difference(want, value) if want is not None else None
        found.append(Case(call, reply, asked[min(k, len(asked) - 1)], value, want, problem))
    aftermath = after(reply)
    if aftermath and not any(case.problem for case in found):
        found[-1].problem = aftermath
    return found


def without_values(reply):
    """Why an answer gave no values, or None."""
    if reply.error:
        return error_sentence("Your code stopped", reply.error)
    if not reply.layer:
        return "Your class makes no layer: it must inherit from `nn.Module`."
    if reply.unplaced:
        there = ", ".join(f"{name} {shape}" for name, shape in list(reply.parameters.items())[:8]) or "nothing to learn"
        return (
            f"The check copies weights into your layer and found no place for {', '.join(reply.unplaced)}. Yours"
            f" has: {there}."
        )
    return None


def after(reply):
    """What is wrong although the values are right: arguments changed, or no gradient."""
    if reply.changed:
        return (
            "The result is right, but your code changed what it was given. Work on a new tensor (`x = x + 1`, not `x +="
            " 1`)."
        )
    if reply.gradient:
        return error_sentence("The numbers are right, but no gradient comes back", reply.gradient)
    return None


def error_sentence(opening, error):
    """An error in the learner's code, in one line."""
    code = f", `{error.code}`" if error.code else ""  # of a function made by exec there is none to show
    where = f" in line {error.line}{code}" if error.line else ""
    name = f"{error.type}: " if error.type else ""
    return f"{opening}{where}: {name}{error.message}"


def with_unmet_properties(exercise, seen):
    """The cases that break the first broken property of the exercise, with the sentence as their problem."""
    for check in exercise.properties:
        for case in seen:
            case.problem = check(case)
        if broken := [case for case in seen if case.problem]:
            return broken
    return []


def diagnosis(exercise, wrong):
    """(name of the mistake or None, message) for the wrong cases of an answer.

    Where the answer stopped with an error, that error is what there is to explain: a case that went through only did so
    because its sizes happened to fit, and its numbers would suggest another mistake.
    """
    telling = [case for case in wrong if case.error] or wrong
    for mistake in exercise.mistakes:
        for case in wrong if mistake.despite_errors else telling:
            if sentence := quietly(mistake.symptom, case):
                return mistake.name, sentence
    return None, telling[0].problem


def quietly(symptom, case):
    """A symptom's sentence; None where it cannot be measured, as on results of another kind or shape."""
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        try:
            return symptom(case)
        except Exception:  # torch alone has a dozen kinds of errors for values that nobody expected
            return None


def maps(exercise, case):
    """(the learner's map of weights, the expected one) as lists of rows, or None where there is nothing to draw."""
    if exercise.map is None or case.got is None or case.want is None or case.got.shape != np.shape(case.want):
        return None
    pair = [np.asarray(exercise.map(value), dtype=float) for value in (case.got, np.asarray(case.want))]
    return tuple(drawn.tolist() for drawn in pair) if all(max(drawn.shape) <= LARGEST_MAP for drawn in pair) else None
