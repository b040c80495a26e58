"""From an exercise and the replies of an answer to a result: right, or what was seen.

Replies may come from a stranger's process, so they are read first (`replies`): what cannot be read is a wrong answer,
and no more.
"""

from dataclasses import dataclass, field

import numpy as np
import torch

from course_utils.judging import comparing, errors, life, masks, replies
from course_utils.judging.result import LARGEST_MAP, NOT_ATTEMPTED, NOT_YET, RIGHT, Result

UNREADABLE = "What came back could not be read."


@dataclass
class Case:
    """One value of an answer: what was asked, what came back, what was expected.

    reference: the worked answer's reply. arguments: those of the function, or of the layer's forward. problem: a
    sentence on how it differs, or None.
    beside: all cases of the same answer, this one included, for what no single one tells.
    """

    call: object
    reply: replies.Reply
    reference: replies.Reply
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
        wrong = wrong_cases(exercise, range(len(exercise.calls)), data)
    except replies.Unreadable:
        return result(exercise, NOT_YET, UNREADABLE)
    if not wrong:
        return result(exercise, RIGHT, exercise.why)
    telling = next((case for case in wrong if case.error), wrong[0])
    return result(exercise, NOT_YET, seen(exercise, telling), maps=maps(exercise, wrong[0]))


def result(exercise, status, message, **more):
    """A result of this exercise."""
    return Result(exercise.id, exercise.title, status, errors.presentable(message), exercise.points, **more)


def wrong_cases(exercise, numbers, data, later=True):
    """The cases, in the calls of these numbers, that are wrong for the first reason there is; [] where all is right.

    First come values, then what the exercise asks of them (`properties`), then an answer's later life (if `later`),
    but before all that, whether arguments are as they were.
    data: one reply a call, as it came back. Raises replies.Unreadable.
    """
    found = replies.read(data, [exercise.calls[number] for number in numbers])
    cases = [case for number, reply in zip(numbers, found) for case in cases_of(exercise, number, reply)]
    for case in cases:
        case.beside = cases
    if wrong := [case for case in cases if case.problem]:
        return wrong
    for check in (*[changed_arguments] * later, *exercise.properties, *[later_trouble] * later):
        for case in cases:
            case.problem = check(case)
        if wrong := [case for case in cases if case.problem]:
            return wrong
    return []


def cases_of(exercise, number, reply):
    """The cases of one call. An answer that gave no values gets one case with the reason."""
    call, expected, reference = exercise.calls[number], exercise.expected[number], exercise.reference[number]
    asked = getattr(call, "inputs", None) or [call.arguments]
    if general := without_values(call, reply):
        return [Case(call, reply, reference, asked[0], None, expected[0], general)]
    return [
        Case(call, reply, reference, asked[min(k, len(asked) - 1)], value, want, comparing.problem(want, value))
        for k, (value, want) in enumerate(zip(reply.values, expected, strict=True))
    ]


def without_values(call, reply):
    """Why an answer gave no values, or None."""
    if reply.error:
        return errors.sentence("Your code stopped", reply.error)
    if not reply.layer:
        return "Your class makes no layer: it must inherit from `nn.Module`."
    if reply.unplaced and reply.listed:
        return (
            f"PyTorch finds nothing to learn in `self.{reply.listed[0]}`: it looks into no plain list or dict. Use"
            " nn.ModuleList or nn.ModuleDict."
        )
    if reply.unplaced:
        weights = getattr(call, "weights", {})  # none for a function; a list where they go by shape
        missing = ", ".join(
            f"{name} {list(weights[name].shape)}" if isinstance(weights, dict) and name in weights else name
            for name in reply.unplaced
        )
        there = ", ".join(f"{name} {shape}" for name, shape in list(reply.parameters.items())[:8]) or "nothing to learn"
        return f"The check copies weights into your layer and found no place for {missing}. Yours has: {there}."
    return None


def changed_arguments(case):
    """Whether something that was handed in was changed: what properties see may come from that."""
    return life.arguments(case.call, case.reply, case.reference)


def later_trouble(case):
    """What shows later only, although the values of a call are right."""
    return life.trouble(case.call, case.reply, case.reference)


def seen(exercise, case):
    """What was seen in a case, and which input showed it."""
    if case.value is None or not case.arguments:
        return case.problem
    told = [case.problem, f"(Input: {comparing.described(case.arguments)}.)"]
    if exercise.mask and alike(case) and (what := masks.difference(exercise.mask, case.arguments, case.want, case.got)):
        told.insert(1, what)
    return " ".join(told)


def alike(case):
    """Whether a value can be held against the expected one, number by number."""
    return case.got is not None and case.want is not None and case.got.shape == np.shape(case.want)


def maps(exercise, case):
    """(the learner's map, the expected one), the first that differ, as lists of rows; or None."""
    if not exercise.maps or not alike(case):
        return None
    got, want = (np.reshape(each, (-1, *np.shape(each)[-2:])).astype(float) for each in (case.got, case.want))
    first = int(np.argmax([not np.allclose(one, other) for one, other in zip(got, want)]))
    return (got[first].tolist(), want[first].tolist()) if max(got.shape[1:]) <= LARGEST_MAP else None
