"""Replies from a stranger's process, validated once for the judge: nothing in them is trusted before that.

`read` returns a `Reply` for each call. Its values are None, truth values, numbers, texts, tensors, lists of these, and
{"other": words}, by which `calls.plain_value` represents all else. Anything else, anywhere, is Unreadable.

Values and gradients are compared with those of the worked answer. Nobody outside can check a reply's claims about the
inside of a layer (unregistered, in_plain_list, extra_parameters, same_initialization), nor that its values came from
calls (arguments, second_call, other_seed): there, an answer that rewrites the course in its own process is believed.
Without the right values, this earns it nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial

import torch

from course_utils.judging import serialize
from course_utils.judging.calls import LARGEST_TENSOR, LONGEST_LIST, LONGEST_TEXT, FunctionCall

DEEPEST = 20  # lists in lists
LARGEST_NUMBER = 2**63  # NumPy has no larger whole numbers
PLAIN = (type(None), bool, int, float, str)


class Unreadable(ValueError):
    """Data that are no replies to these calls."""


@dataclass(frozen=True)
class Error:
    """An error in an answer's code: its type and message, and the line of the answer, or 0."""

    type: str
    message: str
    line: int
    code: str


@dataclass(frozen=True)
class Reply:
    """What an answer did with one call, as `calls.call_function` and `calls.call_layer` recorded it.

    For the contract: arguments, as they were afterwards. second_call, other_seed: the values of another round (for a
    layer, after one in the other mode), with the same random numbers and with others. flipped: those for tensors with
    their numbers in reverse order. other_sizes: those for other lengths and batches.
    gradients: {place of an argument or name of a parameter: its gradient}. backward_error: from the backward pass.
    argument_names: of the worked answer alone, for messages.
    Of a layer: unplaced_weights: weights for which there is no parameter; extra_parameters: parameters for which there
    are no weights; same_initialization: two matrices that start from the same numbers; unregistered: tensors that are
    neither parameters nor buffers; in_plain_list: modules or tensors that a plain list or dict hides from PyTorch.
    """

    values: list = field(default_factory=list)
    error: Error | None = None
    arguments: list = field(default_factory=list)
    second_call: list = field(default_factory=list)
    other_seed: list = field(default_factory=list)
    flipped: list = field(default_factory=list)
    other_sizes: list = field(default_factory=list)
    gradients: dict[str, object] = field(default_factory=dict)
    backward_error: Error | None = None
    is_layer: bool = True
    extra_parameters: list[str] = field(default_factory=list)
    same_initialization: list[str] = field(default_factory=list)
    parameters: dict[str, list[int]] = field(default_factory=dict)
    unregistered: list[str] = field(default_factory=list)
    in_plain_list: list[str] = field(default_factory=list)
    unplaced_weights: list[str] = field(default_factory=list)
    argument_names: list[str] = field(default_factory=list)

    @property
    def cut_short(self):
        """Whether the answer has no result."""
        return bool(self.error or self.unplaced_weights or not self.is_layer)


def reports_stub(data):
    """Whether this says that the answer is still the stub."""
    return type(data) is list and len(data) == 1 and is_record(data[0], {"is_stub"}) and data[0]["is_stub"] is True


def read(data, calls):
    """One Reply per call, from the data for all calls. Raises Unreadable for anything else."""
    require(type(data) is list and len(data) == len(calls))
    return [reply(entry, call) for entry, call in zip(data, calls)]


def reply(data, call):
    """The Reply to one call. It has all values that the call asks for, unless the answer stopped earlier."""
    require(type(data) is dict and all(type(name) is str and name in FIELD_READERS for name in data))
    found = Reply(**{name: FIELD_READERS[name](part) for name, part in data.items()})
    asked = 1 if isinstance(call, FunctionCall) else len(call.inputs)
    require(found.cut_short or len(found.values) == asked)
    return found


def steps(data, nodes):
    """The steps of a watched call, as `program.watched` gives them for a program of so many nodes.

    Raises for anything else, not always Unreadable: callers can do without these steps.
    """
    return [(whole_number(number), value(found)) for number, found in data if number < nodes]


def require(condition, data=None):
    """The data if a condition holds. Raises Unreadable otherwise."""
    if not condition:
        raise Unreadable
    return data


def is_record(data, names):
    """Whether this is a dict with exactly these names."""
    return type(data) is dict and all(type(name) is str for name in data) and data.keys() == names


def value(data, depth=0):
    """A value, as the module's docstring lists them, however deep its lists."""
    require(depth < DEEPEST)
    if isinstance(data, torch.Tensor):
        return tensor(data)
    if type(data) is list:
        return list_of(partial(value, depth=depth + 1), data)
    if type(data) is dict:
        require(is_record(data, {"other"}))
        return {"other": text(data["other"])}
    require(type(data) in PLAIN and (type(data) is not int or abs(data) < LARGEST_NUMBER))
    return text(data) if type(data) is str else data


def tensor(data):
    """A tensor with numbers of a known kind."""
    require(type(data) is torch.Tensor and data.layout == torch.strided and data.device.type == "cpu")
    require(data.dtype in serialize.DTYPES.values() and data.numel() <= LARGEST_TENSOR)
    return data.detach()


def text(data):
    """A text."""
    return require(type(data) is str and len(data) <= LONGEST_TEXT, data)


def whole_number(data):
    """A size, a place or a line: a non-negative whole number."""
    return require(type(data) is int and 0 <= data < LARGEST_NUMBER, data)


def list_of(kind, data):
    """A list, with a reader for its entries."""
    require(type(data) is list and len(data) <= LONGEST_LIST)
    return [kind(entry) for entry in data]


def dict_of(kind, data):
    """A dict from names to entries, with a reader for these."""
    require(type(data) is dict and len(data) <= LONGEST_LIST)
    return {text(name): kind(entry) for name, entry in data.items()}


def error(data):
    """An error as `errors.describe` gives it."""
    require(is_record(data, {"type", "message", "line", "code"}))
    return Error(text(data["type"]), text(data["message"]), whole_number(data["line"]), text(data["code"]))


TYPE_READERS: dict[object, Callable] = {
    list: partial(list_of, value),
    list[str]: partial(list_of, text),
    dict[str, object]: partial(dict_of, value),
    dict[str, list[int]]: partial(dict_of, partial(list_of, whole_number)),
    Error | None: error,
    bool: lambda data: require(type(data) is bool, data),
}
FIELD_READERS = {part.name: TYPE_READERS[part.type] for part in fields(Reply)}
