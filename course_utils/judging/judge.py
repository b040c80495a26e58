"""From an exercise and an answer's replies to a result: right, or what was wrong.

Replies may come from a stranger's process: `untrusted_replies` validates them, and unreadable ones are a wrong answer.
"""

from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np
import torch

from course_utils.judging import contract, differences, errors, masks, untrusted_replies
from course_utils.judging.calls import LayerCall
from course_utils.judging.result import LARGEST_MAP, NOT_ATTEMPTED, NOT_YET, RIGHT, Result

UNREADABLE = "Your result could not be read."


@dataclass
class Case:
    """One value of an answer: the call, the value returned, the value expected.

    reference: the worked answer's reply. arguments: of the function, or of the layer's forward. problem: words or None.
    all_cases: all cases of the same answer, this one included, for properties that no single one shows.
    """

    call: object
    reply: untrusted_replies.Reply
    reference: untrusted_replies.Reply
    arguments: list
    value: object
    want: object
    problem: str | None
    all_cases: list = field(default_factory=list, repr=False)

    @property
    def got(self):
        """The value as a float64 array; None for anything but a tensor of the expected kind of numbers."""
        if not isinstance(self.value, torch.Tensor):
            return None
        found = differences.to_array(self.value)
        wanted = np.asarray(self.want).dtype if self.want is not None else found.dtype
        same_kind = differences.KINDS[found.dtype.kind] == differences.KINDS.get(wanted.kind)
        return np.asarray(found, dtype=float) if same_kind else None

    @property
    def error(self):
        """The message of the error that the answer raised; "" when there was none."""
        return self.reply.error.message if self.reply.error else ""


def judge(exercise, data):
    """The result of an answer's replies to an exercise's calls, as they came back."""
    if untrusted_replies.reports_stub(data):
        return result(exercise, NOT_ATTEMPTED, f"Fill in `{exercise.name}`, then run this cell again.")
    try:
        wrong = wrong_cases(exercise, range(len(exercise.calls)), data)
    except untrusted_replies.Unreadable:
        return result(exercise, NOT_YET, UNREADABLE)
    if not wrong:
        return result(exercise, RIGHT, exercise.success_message)
    message = describe_wrong_case(exercise, told_case(wrong))
    return result(exercise, NOT_YET, message, maps=maps_to_draw(exercise, wrong[0]))


def told_case(wrong):
    """The wrong case to report: the first that stopped, or else the first."""
    return next((case for case in wrong if case.error), wrong[0])


def result(exercise, status, message, **more):
    """A result of this exercise."""
    return Result(exercise.id, exercise.title, status, errors.presentable(message), exercise.points, **more)


def wrong_cases(exercise, numbers, data, check_contract=True):
    """The cases, in the calls of these numbers, that are wrong for the first reason there is; [] where all is right.

    First come values, then what the exercise asks of them (`properties`), then the contract (if `check_contract`), but
    before all that, whether arguments were changed.
    data: one reply a call, as it came back. Raises untrusted_replies.Unreadable.
    """
    found = untrusted_replies.read(data, [exercise.calls[number] for number in numbers])
    cases = [case for number, reply in zip(numbers, found) for case in cases_of(exercise, number, reply)]
    for case in cases:
        case.all_cases = cases
    before, after = ([changed_arguments], [broken_contract]) if check_contract else ([], [])
    for check in (attrgetter("problem"), *before, *exercise.properties, *after):
        for case in cases:
            case.problem = check(case)
        if wrong := [case for case in cases if case.problem]:
            return wrong
    return []


def cases_of(exercise, number, reply):
    """The cases of one call. An answer that gave no values gets one case with the reason."""
    call, expected, reference = exercise.calls[number], exercise.expected[number], exercise.reference[number]
    asked = getattr(call, "inputs", None) or [call.arguments]
    if general := why_no_values(call, reply):
        return [Case(call, reply, reference, asked[0], None, expected[0], general)]
    rows = zip(asked, reply.values, expected, strict=True)
    return [Case(call, reply, reference, given, got, want, differences.problem(want, got)) for given, got, want in rows]


def why_no_values(call, reply):
    """Why an answer gave no values, or None."""
    if reply.error:
        later = "Your code works with this input, but it stopped in a later call"  # in another mode, or of another size
        return errors.sentence(later if reply.values else "Your code stopped", reply.error)
    if not reply.is_layer:
        return "Your class is not a layer: it must inherit from `nn.Module`."
    if reply.unplaced_weights and reply.in_plain_list:
        unseen = f"PyTorch finds no parameters in `self.{reply.in_plain_list[0]}`"
        return f"{unseen}, since it does not search plain lists or dicts. Use nn.ModuleList or nn.ModuleDict."
    if reply.unplaced_weights:
        weights = getattr(call, "weights", {})  # none for a function
        described = {name: f"`{name}` of shape {tuple(weight.shape)}" for name, weight in weights.items()}
        missing = " and ".join(described.get(name, name) for name in reply.unplaced_weights)
        there = ", ".join(f"`{name}` {tuple(shape)}" for name, shape in list(reply.parameters.items())[:8])
        has = f"Your layer's parameters are {there}." if there else "Your layer has no parameters."
        return f"The check sets the weights of your layer, and needs {missing}. {has}"


def changed_arguments(case):
    """A sentence on a changed argument, or None; a violated property may be its result."""
    return contract.check_arguments(case.call, case.reply, case.reference)


def broken_contract(case):
    """A sentence on what breaks the contract although the values of a call are right, or None."""
    return next(filter(None, (rule(case.call, case.reply, case.reference) for rule in contract.RULES)), None)


def describe_wrong_case(exercise, case):
    """The message on a wrong case: with which input, and what is wrong."""
    if not case.arguments:
        return case.problem
    mode = ""
    if isinstance(case.call, LayerCall) and exercise.chapter > 3:  # chapter 4 brings the modes
        mode = " (training mode)" if case.call.training else " (evaluation mode)"
    given = differences.describe_arguments(case.arguments, exercise.parameter_names)
    return f"Input{mode}: {given}.\n{case.problem} {mask_words(exercise, case)}".rstrip()


def mask_words(exercise, case):
    """Sentences on what a wrong mask hides or fails to hide; "" for anything else."""
    comparable = exercise.mask and same_shape(case)
    return masks.difference(exercise.mask, case.arguments, case.want, case.got) if comparable else ""


def same_shape(case):
    """Whether a value can be compared with the expected one, number by number."""
    return case.got is not None and case.want is not None and case.got.shape == np.shape(case.want)


def maps_to_draw(exercise, case):
    """(the learner's map, the expected one), the first that differ, as lists of rows; or None."""
    if not exercise.maps or not same_shape(case):
        return None
    got, want = (np.reshape(each, (-1, *np.shape(each)[-2:])).astype(float) for each in (case.got, case.want))
    first = int(np.argmax([not np.allclose(one, other) for one, other in zip(got, want)]))
    return (got[first].tolist(), want[first].tolist()) if max(got.shape[1:]) <= LARGEST_MAP else None
