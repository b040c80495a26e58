"""Other inputs for an exercise: small ones to show, and new ones to prove a change with.

An input counts only where all known right answers are right, since then the exercise's text allows it.
"""

import contextlib
import itertools
from dataclasses import replace

import torch

from course_utils.judging import differences, judge
from course_utils.judging.calls import LayerCall, is_decimal, run_calls, tensors_in
from course_utils.judging.result import RIGHT

MOST_RIGHT_ANSWERS = 3  # that have to be right on a new input
LARGEST_WHOLE = 3  # of the numbers to be worked with by hand
MOST_NEW = 3


def smallest_failing(exercise, call, fails):
    """The exercise that asks only for the smallest input like this call's on which an answer fails; None for none.

    fails: [calls] -> for each whether the answer is wrong in the same way.
    """
    if isinstance(call, LayerCall):  # nobody works through one by hand
        return None
    candidates = sorted(smaller(replace(call, check_contract=False)), key=size)
    failing = itertools.compress(candidates, fails(candidates))
    return next(filter(None, (allowing(exercise, each) for each in failing)), None)


def new_calls(exercise, call):
    """A few calls like this one, with other numbers and other sizes."""
    candidates = [mapped(call, reversed_numbers), *(resized(call, {old: old - 1}) for old in sizes_in(call) if old > 2)]
    allowed = (each for each in candidates if allowing(exercise, each))
    return list(itertools.islice(allowed, MOST_NEW))


def allowing(exercise, call):
    """The exercise that asks only for this call; None where a known right answer is not right there."""
    asked = exercise.asking(call)
    with contextlib.suppress(Exception):  # inputs that make no sense stop the worked answer and the properties, too
        answers = exercise.right_answers[:MOST_RIGHT_ANSWERS]
        if all(judge.judge(asked, run_calls(each, [call])).status == RIGHT for each in answers):
            return None if any(each.isnan().any() for each in tensors_in(asked.reference[0].values)) else asked


def smaller(call):
    """Calls like this one with fewer tokens or entries, without a batch, with whole numbers, or as they are shown."""
    sizes = [size for size in sizes_in(call) if size > 2]
    maps = [dict.fromkeys(sizes, 2), {old: 2 + k % 2 for k, old in enumerate(sizes)}]
    maps += [{old: 2} for old in sizes] + [{old: 3} for old in sizes if old > 3] + [{}]
    maps += [{old: new, old + 1: new + 1} for new in (2, 3) for old in sizes if old + 1 in sizes]
    maps = [sizes for sizes in maps if keeps_parts(call, sizes)]
    for sizes, one, whole in itertools.product(maps, (0, slice(1), None), (True, False)):
        found = resized(call, sizes)
        if one is not None:  # the first of a batch, or a batch of one
            found = mapped(found, lambda x, one=one: x[one] if isinstance(x, torch.Tensor) and x.ndim > 2 else x)
        yield mapped(found, whole_numbers if whole else as_shown)


def keeps_parts(call, sizes):
    """Whether a number, such as that of heads, still divides what it divided, into as many parts as are needed."""
    counts = [each for each in call.arguments if type(each) is int]
    tokens = [int(each.max()) for each in tensors_in(vars(call)) if each.dtype == torch.int64 and each.numel()]
    left = max((sizes.get(each, each) for each in sizes_in(call)), default=0)
    for old, new in sizes.items():
        alone = not {old - 1, old + 1} & {*sizes}
        if any(new <= each < old and (each >= left or alone) for each in tokens):
            return False  # it may count places that are no longer there
        for count in counts:
            if count > 1 and old % count == 0:
                parts, left = old // count, new // count
                if new % count or any(each >= left for each in counts if each < parts and each != count):
                    return False
    return True


def size(call):
    """How much there is to read: numbers and their digits."""
    tensors = tensors_in(call.arguments)
    return sum(each.numel() * (1 if torch.equal(each.double(), each.double().round()) else 3) for each in tensors)


def sizes_in(call):
    """The sizes of all axes, each once, as they come."""
    return list(dict.fromkeys(size for each in tensors_in(vars(call)) for size in each.shape))


def mapped(call, change):
    """A call in which every tensor and whole number of its arguments, inputs and weights is changed."""

    def part(value):
        if isinstance(value, dict):
            return {name: part(entry) for name, entry in value.items()}
        return [part(entry) for entry in value] if isinstance(value, list) else change(value)

    return replace(call, **{name: part(value) for name, value in vars(call).items() if isinstance(value, (list, dict))})


def resized(call, sizes):
    """A call in which every axis of one of these sizes has another, {old: new}, and so has a number that gives it."""

    def change(value):
        if isinstance(value, torch.Tensor):
            shares = is_shares(value)
            for axis, old in enumerate(value.shape):
                value = value.narrow(axis, 0, min(old, sizes.get(old, old)))
            value = value / value.sum(-1, keepdim=True) if shares else value
        return sizes.get(value, value) if type(value) is int else value

    return mapped(call, change) if sizes else call


def is_shares(tensor):
    """Whether the rows of a tensor sum to 1, as weights do: they still should once they are cut."""
    rows = is_decimal(tensor) and tensor.ndim and tensor.numel() and bool((tensor >= 0).all())
    return bool(rows and ((tensor.sum(-1) - 1).abs() < 1e-4).all())


def whole_numbers(value):
    """Small whole numbers in the place of decimals; what is large, infinite or a share of 1 stays."""
    if not is_decimal(value) or not bool((value < 0).any()):
        return as_shown(value)  # shares and the like
    rounded = value.sign() * value.mul(2).abs().round().clamp(1, LARGEST_WHOLE)  # no 0, which hides mistakes
    return torch.where(value.abs() > 2 * LARGEST_WHOLE, value.round(), rounded)


def as_shown(value):
    """Decimals as a message shows them. What is left of a row that sums to 1 goes to its largest number."""
    if not is_decimal(value):
        return value
    if not is_shares(value):
        return torch.tensor(differences.rounded(value.tolist()), dtype=value.dtype)
    shown = value.mul(100).round().div(100)
    place = shown.argmax(-1, keepdim=True)
    shown = shown.scatter(-1, place, 0.0)
    return shown.scatter(-1, place, 1 - shown.sum(-1, keepdim=True))


def reversed_numbers(value):
    """A tensor's decimals in reverse order."""
    return value.flip(list(range(value.ndim))) if is_decimal(value) else value
