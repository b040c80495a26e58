"""How a value differs from the expected one: in kind, rank, shape, dtype or numbers. Nothing is broadcast."""

import functools
import itertools
import numbers

import numpy as np
import torch

RELATIVE, ABSOLUTE = 1e-4, 1e-5  # float32 with another order of summation stays far below these
LOW_PRECISION = (torch.bfloat16, torch.float16)  # no exercise has input with so few digits, so no result may have them
ORDINALS = ["The first", "The second", "The third", "A later"]
LARGEST_IN_FULL = 1e6  # largest number that is written in full
MOST_SHOWN = 36  # most numbers of an input in a sentence
MOST_COMPARED = 12  # most numbers of a result shown beside the expected ones
KINDS = {"f": "decimal numbers", "i": "whole numbers", "u": "whole numbers", "b": "True and False"}
is_close = functools.partial(np.isclose, rtol=RELATIVE, atol=ABSOLUTE)


def difference(expected, got):
    """A sentence on the first difference between `got` and `expected`, or None."""
    if got is None:
        return "It returned None. Is a `return` missing?"
    if isinstance(expected, (np.ndarray, torch.Tensor)):
        return tensor_difference(np.asarray(expected), got)
    if isinstance(expected, (list, tuple)):
        return list_difference(expected, got)
    if isinstance(got, torch.Tensor) and got.ndim == 0 and not isinstance(expected, bool):
        got = got.item()
    return plain_difference(expected, got)


def problem(expected, got):
    """The same; None also if no value is expected."""
    return None if expected is None else difference(expected, got)


def tensor_difference(expected, got):
    """The same for a tensor."""
    if not isinstance(got, torch.Tensor):
        advice = " `torch.tensor` or `torch.stack` converts a list." if shape_of(got) == expected.shape else ""
        return f"It returned {describe_kind(got)}; a tensor of shape {expected.shape} was expected.{advice}"
    shape = tuple(got.shape)
    if got.ndim != expected.ndim:
        dimensions = f"{got.ndim} dimension{'' if got.ndim == 1 else 's'}"
        return f"Your result has {dimensions}, shape {shape}; expected {expected.ndim}, shape {expected.shape}."
    if shape != expected.shape:
        return f"Your result has shape {shape}; expected {expected.shape}."
    found = to_array(got)
    if kind_of(found) != kind_of(expected):
        return f"Your result contains {kind_of(found)} ({got.dtype}); expected {kind_of(expected)}."
    if got.dtype in LOW_PRECISION:
        return f"Your result is in {got.dtype}, which rounds to two or three digits. Keep the dtype of the input."
    wrong = ~is_close(found, expected, equal_nan=True) if found.dtype.kind == "f" else found != expected
    if not wrong.any():
        return None
    if wrong.size <= MOST_COMPARED:
        return f"You return `{rounded(found.tolist(), 4)}`; expected `{rounded(expected.tolist(), 4)}`."
    place = tuple(int(k) for k in np.argwhere(wrong)[0])
    what = "cells" if found.dtype.kind == "b" else "numbers"
    count = f"{wrong.sum()} of {wrong.size} {what} {'is' if wrong.sum() == 1 else 'are'} wrong"
    count = f"all {wrong.size} {what} are wrong" if wrong.all() else count
    have, want = format_value(found[place]), format_value(expected[place])
    return f"The shape is right, but {count}. At {list(place)} you return {have}; expected {want}."


def kind_of(array):
    """The kind of numbers in an array or tensor, in words."""
    return KINDS[np.asarray(array).dtype.kind]


def shape_of(value):
    """The shape that a list of numbers or tensors would have as one tensor; None for anything else."""
    if isinstance(value, torch.Tensor):
        return tuple(value.shape)
    if isinstance(value, (bool, int, float)):
        return ()
    shapes = {shape_of(entry) for entry in value} if isinstance(value, list) and value else {None}
    inner = shapes.pop()
    return None if shapes or inner is None else (len(value), *inner)


def to_array(tensor):
    """A tensor as an array; float64 for all decimal numbers."""
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


def list_difference(expected, got):
    """The same for a list, entry by entry."""
    if not isinstance(got, list):
        return f"It returned {describe_kind(got)}; {len(expected)} values were expected."
    if len(got) != len(expected):
        return f"It returned {len(got)} values; {len(expected)} were expected."
    for place, (wanted, found) in enumerate(zip(expected, got)):
        if wanted is not None and (problem := difference(wanted, found)):
            one = f"{ORDINALS[min(place, len(ORDINALS) - 1)]} value that you return"
            told = problem.removeprefix("You return ").removeprefix("You have ")
            return f"{one}: {problem}" if told == problem else f"{one} is {told.replace(', expected', '; expected')}"


def plain_difference(expected, got):
    """The same for a decimal number or a truth value."""
    is_number = isinstance(got, numbers.Real) and not isinstance(got, bool)
    if not is_number and not isinstance(expected, bool):
        return f"It returned {describe_kind(got)}; a number was expected."
    same = got is expected if isinstance(expected, bool) else is_close(got, expected)
    return None if same else f"You have {format_value(got)}, expected {format_value(expected)}."


def describe_kind(value):
    """The kind of a value, in words."""
    if isinstance(value, dict):
        return value["other"]
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, list):  # replies hold tuples as lists
        return f"a list or tuple of length {len(value)}"
    return {bool: "True or False", int: "a number", float: "a number", str: "a text"}[type(value)]


def format_value(value):
    """A value as a message shows it: decimal numbers with 4 decimals."""
    if isinstance(value, (bool, np.bool_, str)):
        return str(value)
    if isinstance(value, (int, np.integer)):
        return f"{value:,}" if abs(value) > 9999 else str(value)
    if isinstance(value, (float, np.floating)):
        return f"{round(value, 4) + 0:.4f}" if abs(value) < 1e4 else f"{value:.4g}"  # + 0: no "-0.0000"
    return describe_kind(value)


def describe_arguments(arguments, names):
    """A short description of a call's arguments: few numbers in full, many by their shape. names: of the arguments."""
    few = shows_numbers(arguments)
    described = [describe_argument(argument, few) for argument in arguments]
    named = [f"`{name}` {'of' if words.startswith('shape') else '='} {words}" for name, words in zip(names, described)]
    return ", ".join(named or described)


def shows_numbers(arguments):
    """Whether there is room for all numbers of the arguments."""
    flat = itertools.chain(*(each if isinstance(each, list) else [each] for each in arguments))
    return sum(each.numel() for each in flat if isinstance(each, torch.Tensor)) <= MOST_SHOWN


def describe_argument(argument, few):
    """One of them. few: whether there is room for all numbers."""
    if isinstance(argument, dict):
        if "language_model" in argument:
            return "a small random model"
        return f"a linear layer with the weight `{rounded(argument['linear'].tolist())}`" if few else "a linear layer"
    if isinstance(argument, torch.Tensor):
        return f"`{rounded(argument.tolist())}`" if few else f"shape {tuple(argument.shape)}"
    if isinstance(argument, list) and any(isinstance(each, torch.Tensor) for each in argument):
        return f"[{', '.join(describe_argument(each, few) for each in argument)}]"
    return f"`{rounded(argument)}`"


def rounded(value, digits=2):
    """Numbers, in lists or alone, with few decimals, whole ones without; two digits of small and huge ones."""
    if isinstance(value, list):
        return [rounded(entry, digits) for entry in value]
    if not isinstance(value, float):
        return value
    if value.is_integer() and abs(value) < LARGEST_IN_FULL:
        return int(value)
    return round(value, digits) if 10 ** (1 - digits) <= abs(value) < LARGEST_IN_FULL else float(f"{value:.2g}")
