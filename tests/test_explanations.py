"""A wrong answer hears what would make it right, or where it leaves the path; and that is true."""

import re
import time
from dataclasses import replace

import pytest
import torch

from course_utils.checking import commands
from course_utils.exercises import CHAPTERS, EXERCISES
from course_utils.explaining.program import LoopLimit
from course_utils.judging.calls import FunctionCall, reply_to, run_calls
from course_utils.judging.judge import judge, wrong_cases
from tests.benchmarks import explanations
from tests.support import answers
from tests.support.answers import Answer

EVERY = 12  # wrong answers one: shares are as steady over these
WEIGHTS = "def my_causal_weights(scores):\n    T = scores.shape[-1]\n"
MASK = "    hidden = torch.ones(T, T).triu(1).bool()\n"
LOOPS = """def my_attention(queries, keys, values):
    rows = []
    for i in range(3):
        weights = torch.softmax(queries[i] @ keys.T, dim=0)
        rows.append(weights @ values)
    return torch.stack(rows)
"""
JOINED = "def my_joined(largest, total, mixed):\n    top = largest.amax(dim=0)\n"
NEXT_TILE = """def my_next_tile(largest, total, mixed, scores, values):
    larger = torch.maximum(largest, scores.amax(dim=-1))
    shrink = torch.exp(largest - larger)
    shares = torch.exp(scores - larger[:, None])
    return larger, shrink * total + shares.sum(dim=-1), shrink[:, None] * mixed + shares @ values
"""
KEPT = """class MySelfAttention(nn.Module):
    def __init__(self, d_in, d_k, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_k, bias=False)
        self.W_key = nn.Linear(d_in, d_k, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.values = None

    def forward(self, x):
        if self.values is None:
            self.values = self.W_value(x)
        scores = self.W_query(x) @ self.W_key(x).mT
        return (scores / self.W_key.out_features**0.5).softmax(dim=-1) @ self.values
"""
ENDLESS = """def my_attention(queries, keys, values):
    k, rows = 0, []
    while k < len(queries) - 1:
        rows.append(torch.softmax(keys @ queries[k], dim=0) @ values)
        k += 1
    return torch.stack(rows) if rows else torch.zeros(0)
"""


def heard(id, code):
    """What `check` says to an answer."""
    return commands.judge_attempt(EXERCISES[id], Answer(id, code).object())


@pytest.mark.parametrize(
    "id, code, words",
    [
        (
            "3.2",
            WEIGHTS + MASK + "    return scores.masked_fill(hidden, -torch.inf).softmax(-2)\n",
            "Line 4: with `-1`",
        ),
        ("3.2", WEIGHTS + "    return scores.masked_fill(torch.ones(T, T).tril().bool(), 0).softmax(-1)\n", "Line 3"),
        (
            "3.2",
            WEIGHTS + MASK + "    scores.masked_fill(hidden, -torch.inf)\n    return scores.softmax(-1)\n",
            "Line 4",
        ),
        (
            "2.3",
            "def my_self_attention(x, W_q, W_k, W_v):\n    q, k = x @ W_q, x @ W_k\n"
            "    return torch.softmax(q @ k.T / k.shape[-1] ** 1 / 2, dim=-1) @ (x @ W_v)\n",
            "1 / 2",
        ),
        ("1.3", LOOPS, "Line 3"),
        ("1.3", ENDLESS, "Line 3: with `k <= len(queries) - 1`"),
        (
            "3.4",
            "def my_mask(is_padding):\n    T = is_padding.shape[-1]\n"
            "    hidden = torch.ones(T, T).triu(1).bool() | is_padding[:, :, None]\n"
            "    return hidden & ~torch.eye(T).bool()\n",
            "Line 3",
        ),
        (
            "1.2",
            "def my_softmax(scores):\n    scores -= scores.max()\n    return scores.exp() / scores.exp().sum()\n",
            "Line 2",
        ),
        ("10.1", JOINED + "    return top, total.sum(dim=0), mixed.sum(dim=0)\n", "Line 3, `total.sum(dim=0)`"),
        (
            "10.2",
            "def my_window_mask(num_new, num_tokens, window):\n    t = torch.arange(num_tokens)\n"
            "    age = t[-num_new:, None] - t\n    return (age < 0) | (age > window)\n",
            "Line 4: with `(age < 0) | (age >= window)`",
        ),
        (
            "6.3",
            "def my_step(query, key, value, keys, values):\n    keys, values = torch.cat([keys, key], 2),"
            " torch.cat([values, value], 2)\n"
            "    return keys, values, F.scaled_dot_product_attention(query, keys, values)\n",
            "Line 3: with `(F.scaled_dot_product_attention(query, keys, values), keys, values)`",
        ),
        ("10.3", NEXT_TILE, "at [1] you have nan"),
        ("10.3", NEXT_TILE, "Line 3, `largest - larger`"),
    ],
)
def test_a_slip_is_found_with_its_line(id, code, words):
    result = heard(id, code)
    assert result.status == "not yet" and words in result.message, result


def test_no_change_is_told_for_a_name_that_stands_for_nothing():
    """Every change would seem to help: what is made anew finds the usual modules."""
    result = heard("1.2", "def my_softmax(scores):\n    return F.softmax(scores, dim=-1)\n")
    assert "'F' is not defined" in result.message and result.mistake is None and "comes out right" not in result.message


def test_of_several_changes_the_one_that_adds_least_is_told():
    swapped = (
        "def my_step(query, key, value, keys, values):\n    keys, values = torch.cat([keys, key], 2),"
        " torch.cat([values, value], 2)\n    weights = (query @ keys.mT / query.shape[-1] ** 0.5).softmax(-1)\n"
        "    return weights @ values, values, keys\n"
    )
    assert "`(weights @ values, keys, values)`" in heard("6.3", swapped).message


@pytest.mark.parametrize(
    "id, code, words",
    [
        ("6.4", "def my_shared(keys, num_heads):\n    return keys\n", "Line 2 returns `keys` as it was given."),
        (
            "7.4",
            "def my_probabilities(scores, temperature):\n    scores.data.div_(temperature)\n"
            "    return scores.softmax(-1)\n",
            "Look at line 2",
        ),
        (
            "9.2",
            "def my_to_halves(weight, num_heads):\n    size = len(weight) // num_heads\n"
            "    firsts = list(range(size - 2, -1, -2))\n    order = firsts + [i + 1 for i in firsts]\n"
            "    return torch.cat([head[order] for head in weight.chunk(num_heads)])\n",
            "line 3, `list(range(size - 2, -1, -2))`",
        ),
        ("2.4", KEPT, "line 11, `self.values = self.W_value(x)`"),
        (  # every line is doubtful: one of them makes all right once it has a value of right solutions
            "8.1",
            "def my_sentence_vectors(context, is_padding):\n    mask = is_padding[:, :, None].float()\n"
            "    summed = (context * mask).sum(1)\n    return summed / mask.sum(1).clamp(min=1e-9)\n",
            "Line 2: with a value that solutions known here make in the place of `is_padding`",
        ),
        (  # what a loop fills belongs to the loop
            "6.4",
            "def my_shared(keys, num_heads):\n    out = []\n    for g in range(keys.shape[1]):\n"
            "        for _ in range(num_heads):\n            out.append(keys[:, g:g + 1])\n"
            "    return torch.cat(out, dim=1)\n",
            "line 4, `range(num_heads)`",
        ),
        (  # right solutions make this value, too, but for something else
            "10.1",
            "def my_joined(largest, total, mixed):\n    unit = largest[1]\n    factor = torch.exp(largest - unit)\n"
            "    return largest.amax(0), (factor * total).sum(0), (factor[..., None] * mixed).sum(0)\n",
            "line 2, `largest[1]`",
        ),
    ],
)
def test_where_no_change_helps_the_lines_are_told_that_may_be_wrong(id, code, words):
    result = heard(id, code)
    assert result.mistake is None and words in result.message, result
    verdict = judge(EXERCISES[id], run_calls(Answer(id, code).object(), EXERCISES[id].calls)).message
    assert explanations.kind_of_explanation(result, verdict) != "only what was seen"


@pytest.mark.parametrize(
    "id", [id for id, each in EXERCISES.items() if not each.open_ended and not id.startswith("2.2")]
)
def test_what_is_remembered_by_size_is_no_answer(id):
    exercise = EXERCISES[id]
    if not isinstance(exercise.calls[0], FunctionCall):
        return
    worked, kept = answers.right(id)[0].object(), {}

    def remembering(*arguments):
        sizes = tuple(getattr(each, "shape", None) for each in arguments)
        if sizes not in kept:
            kept[sizes] = worked(*arguments)
        return kept[sizes]

    data = [reply_to(remembering, replace(call, gradient=False)) for call in exercise.calls]
    assert wrong_cases(exercise, range(len(data)), data)


def test_a_change_is_tried_out_with_every_call_before_it_is_told():
    """4 in the place of 3 would make the call that stops right, and only that."""
    assert "with `4`" not in heard("1.3", LOOPS).message


def test_a_loop_without_end_that_a_change_makes_is_left():
    start = time.monotonic()
    heard("1.3", ENDLESS.replace("k += 1", "k = k + 1"))
    assert time.monotonic() - start < 60


def test_a_value_that_a_change_lets_grow_in_each_turn_ends_the_loop():
    grown = torch.zeros(1)
    with pytest.raises(RuntimeError, match="without end"):
        for _ in LoopLimit().limited(range(20)):
            grown = grown[..., None]


def test_a_right_answer_in_a_form_that_nobody_knows_is_right():
    unheard = (
        "def my_softmax(scores):\n    top = scores.max()\n    return 2 ** ((scores - top) / 0.6931471805599453 - 0.0)"
    )
    unheard += " / (2 ** ((scores - top) / 0.6931471805599453)).flip(0).sum()\n"
    assert heard("1.2", unheard).status == "right"


def test_what_has_no_text_still_gets_its_result():
    names = {}
    exec("def my_softmax(scores):\n    return scores", names)
    assert commands.judge_attempt(EXERCISES["1.2"], names["my_softmax"]).status == "not yet"


@pytest.mark.every_setting("what every wrong answer hears")
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_most_wrong_answers_hear_the_cause_or_the_place_and_few_a_place_before_it(chapter):
    given = [answer for answer in answers.WRONG if EXERCISES[answer.exercise].chapter == chapter][::EVERY]
    told, before = [], []
    for answer in given:
        result = commands.judge_attempt(EXERCISES[answer.exercise], answer.object())
        lines = [int(number) for number in re.findall(r"[Ll]ine (\d+)", result.message)]
        if result.mistake or answer.says and answer.says in result.message or set(lines) & set(answer.lines()):
            told.append(answer)
        elif lines and max(lines) < answer.lines()[0]:
            before.append(answer)
    assert len(told) >= 0.8 * len(given), f"{len(told)} of {len(given)}"
    assert len(before) <= max(2, 0.08 * len(given)), before
