"""Nothing that comes back from a stranger's process stops the judge, or earns what it does not deserve."""

import copy
import random
from collections import OrderedDict

import pytest
import torch

from course_utils.exercises import EXERCISES, solutions
from course_utils.judging import serialize
from course_utils.judging.calls import LARGEST_TENSOR, LONGEST_LIST, LONGEST_TEXT, run_calls
from course_utils.judging.judge import UNREADABLE, judge
from course_utils.judging.untrusted_replies import FIELD_READERS

pytestmark = pytest.mark.any_chapter
EXERCISE = EXERCISES["3.2"]
ROUNDS = 3000


def honest(exercise):
    """The replies of the worked answer."""
    code, _ = solutions.worked_answer(exercise.id)
    return run_calls(solutions.answer_from_code(exercise, code), exercise.calls)


class Trap:
    """Raises for whatever it is asked."""

    def refuse(self, *arguments):
        raise RuntimeError("asked")

    __eq__ = __hash__ = __len__ = __iter__ = __bool__ = __str__ = __repr__ = __getitem__ = __contains__ = refuse


class TrappedText(str):
    __eq__ = __hash__ = __len__ = Trap.refuse


def deep(levels):
    """A list in a list in a list."""
    return [deep(levels - 1)] if levels else []


FOREIGN = {
    "a trap": Trap(),
    "a text that is none": TrappedText("x"),
    "a dict of a kind of its own": OrderedDict(other="x"),
    "a tuple": (1.0, 2.0),
    "bytes": b"1",
    "a number of 400 digits": 10**400,
    "a number that NumPy does not hold": 2**63,
    "a text without end": "x" * 10**7,
    "lists without end": deep(200),
    "too many entries": [0] * (LONGEST_LIST + 1),
    "a parameter": torch.nn.Parameter(torch.ones(2)),
    "a sparse tensor": torch.eye(3).to_sparse(),
    "a tensor without numbers": torch.ones(2, device="meta"),
    "a complex tensor": torch.ones(2, dtype=torch.complex64),
    "a tensor of an unknown kind": torch.ones(2, dtype=torch.uint16),
    "a tensor too large": torch.zeros(1).expand(LARGEST_TENSOR + 1),
    "a dict of an unknown kind": {"layer": {}},
    "a dict of another form": {"other": "", "more": ""},
    "a key that is no name": {1: 2},
}
PLAIN = {
    "None": None,
    "True": True,
    "False": False,
    "nan": float("nan"),
    "inf": float("inf"),
    "a number": 3,
    "a negative number": -1,
    "the largest number": 2**63 - 1,
    "half a letter": "\ud800",
    "no list": [],
    "a list": [1.0, None, "x"],
    "a list of names": ["W_query", "x"],
    "a tensor": torch.ones(3, 2),
    "a truth tensor": torch.ones(2, 4, 4) > 0,
    "a tensor of halves": torch.full((2, 4, 4), torch.nan, dtype=torch.bfloat16),
    "an empty tensor": torch.ones(0, 4, 4),
    "a scalar": torch.tensor(torch.inf),
    "another thing": {"other": ""},
}


def right_except(**parts):
    """Right replies to exercise 3.2 but for these parts of the second one."""
    replies = honest(EXERCISE)
    replies[1] |= parts
    return replies


def test_the_replies_that_are_forged_here_are_right_before():
    assert judge(EXERCISE, right_except()).status == "right"


@pytest.mark.parametrize("thing", FOREIGN.values(), ids=FOREIGN)
def test_what_no_answer_can_send_is_not_read_wherever_it_stands(thing):
    for forged in (
        thing,
        [thing] * len(EXERCISE.calls),
        right_except(values=thing),
        right_except(values=[thing]),
        right_except(values=[[1.0, [thing]]]),
        right_except(second_call=thing),
        right_except(arguments=[thing]),
        right_except(gradients={"0": thing}),
        right_except(backward=thing),
        right_except(error={"type": thing, "message": "", "line": 0, "code": ""}),
        right_except(parameters={"weight": thing}),
        right_except(unregistered=[thing]),
    ):
        result = judge(EXERCISE, forged)
        assert (result.status, result.message, result.points) == ("not yet", UNREADABLE, 0)


ONE = {"values": [torch.ones(2, 4, 4)]}
FORGED = {
    "nothing": None,
    "a number": 3,
    "no replies": [],
    "replies without values": [{}] * len(EXERCISE.calls),
    "one reply too few": honest(EXERCISE)[1:],
    "one reply too many": [*honest(EXERCISE), ONE],
    "one value too many": right_except(values=[torch.ones(3, 5, 5)] * 2),
    "values that are none": right_except(values=3),
    "a part that nobody asked for": right_except(status="right"),
    "an error that is none": right_except(error=3),
    "an error without words": right_except(error={"type": "E"}),
    "a line that is none": right_except(error={"type": "E", "message": "", "line": float("nan"), "code": ""}),
    "a message too long": right_except(error={"type": "E", "message": "x" * (LONGEST_TEXT + 1), "line": 0, "code": ""}),
    "gradients without names": right_except(gradients=[torch.ones(3, 5, 5)]),
    "too many gradients": right_except(gradients={str(k): None for k in range(LONGEST_LIST + 1)}),
    "a parameter without a name": right_except(layer=True, parameters={1: [2]}),
    "a shape of nan": right_except(layer=True, parameters={"weight": [float("nan"), 2]}),
    "a shape below zero": right_except(unplaced_weights=["W"], parameters={"weight": [-1, 2]}),
    "a truth value that is a tensor": right_except(layer=torch.tensor(False)),
    "untouched and more": [{"is_stub": True}, *honest(EXERCISE)[1:]],
    "untouched, says a tensor": [{"is_stub": torch.tensor(True)}],
    "untouched, says a number": [{"is_stub": 1}],
    "a tensor for replies": torch.ones(len(EXERCISE.calls)),
    "a tensor for a reply": [torch.ones(3)],
}


@pytest.mark.parametrize("replies", FORGED.values(), ids=FORGED)
def test_forged_replies_cannot_be_read_and_no_more(replies):
    result = judge(EXERCISE, replies)
    assert (result.status, result.message) == ("not yet", UNREADABLE)


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
def test_values_of_every_kind_are_judged_in_every_exercise(exercise):
    replies = honest_once(exercise)
    for name, odd in PLAIN.items():
        forged = [reply | {"values": [odd] * len(reply["values"])} for reply in replies]
        result = judge(exercise, forged)
        assert result.status == "not yet" and result.message != UNREADABLE and result.html(), name


kept = {}


def honest_once(exercise):
    """The same, worked out once; a copy that may be changed."""
    if exercise.id not in kept:
        kept[exercise.id] = honest(exercise)
    return copy.deepcopy(kept[exercise.id])


def places(data):
    """(the list or dict that holds it, where) for everything in nested lists and dicts."""
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [found for at, entry in entries for found in [(data, at), *places(entry)]]


@pytest.mark.every_setting("every change of a reply")
def test_no_change_of_replies_stops_the_judge():
    chance = random.Random(0)
    things = [*FOREIGN.values(), *PLAIN.values()]
    for _ in range(ROUNDS):
        exercise = chance.choice(list(EXERCISES.values()))
        replies = honest_once(exercise)
        for _ in range(chance.choice([1, 1, 2, 5])):
            holder, at = chance.choice(places(replies) or [([None], 0)])
            if chance.random() < 0.2:
                del holder[at]
            else:
                holder[at] = copy.deepcopy(chance.choice(things))
        result = judge(exercise, replies)
        assert result.status in ("right", "not yet") and result.html().encode() and str(result).encode()


@pytest.mark.parametrize("id", ["3.2", "2.4"], ids=["a function", "a layer"])
def test_a_part_that_such_an_answer_never_has_stops_no_judge(id):
    for name, odd in [(name, odd) for name in FIELD_READERS for odd in PLAIN.values()]:
        first, *others = honest_once(EXERCISES[id])
        assert judge(EXERCISES[id], [first | {name: odd}, *others]).status in ("right", "not yet"), name


def test_layers_in_a_plain_list_are_named_where_weights_find_no_place():
    first, *others = honest_once(EXERCISES["2.4"])
    result = judge(EXERCISES["2.4"], [first | {"unplaced_weights": ["W_query"], "in_plain_list": ["heads"]}, *others])
    assert "`self.heads`" in result.message and "nn.ModuleList" in result.message


STOPPED = {"type": "RuntimeError", "message": "in place", "line": 0, "code": ""}


@pytest.mark.parametrize(
    "id, part, odd, words",
    [
        ("2.4", "extra_parameters", ["spare.weight"], "extra parameter, `spare.weight`"),
        ("2.4", "same_initialization", ["W_query", "W_key"], "start with the same numbers"),
        ("2.4", "unregistered", ["mask"], "does not move"),
        ("2.4", "backward_error", STOPPED, "but computing gradients failed"),
        ("3.2", "flipped", honest(EXERCISE)[0]["values"], "keeps something from the first call"),
    ],
)
def test_what_shows_later_only_makes_right_numbers_wrong(id, part, odd, words):
    first, *others = honest_once(EXERCISES[id])
    assert judge(EXERCISES[id], [first, *others]).status == "right"
    result = judge(EXERCISES[id], [first | {part: odd}, *others])
    assert result.status == "not yet" and words in result.message


def test_what_any_answer_can_send_can_be_read():
    for odd in PLAIN.values():
        replies = run_calls(lambda scores, odd=odd: odd, EXERCISE.calls)
        assert judge(EXERCISE, serialize.unpack(serialize.pack(replies))).message != UNREADABLE


def test_a_message_is_read_in_a_moment_whatever_was_raised_or_sent():
    def my_causal_weights(scores):
        raise type("E" * 9999, (Exception,), {})("x" * 9999)

    raised = judge(EXERCISE, run_calls(my_causal_weights, EXERCISE.calls)).message
    assert "EEE: xxx" in raised and len(raised) < 800
    sent = judge(EXERCISE, right_except(unplaced_weights=["x" * LONGEST_TEXT] * LONGEST_LIST)).message
    assert "xxx" in sent and len(sent) <= 1000
