"""A wrong answer hears the smallest input that shows it, the place and a question, then hints; all of it is true."""

import ast
import re
import time
from dataclasses import replace

import pytest
import torch

from course_utils.checking import commands
from course_utils.exercises import CHAPTERS, EXERCISES
from course_utils.exercises.solutions import PACKAGE
from course_utils.explaining import program, search, sentences
from course_utils.explaining.fixes import fixes_at
from course_utils.explaining.program import LoopLimit, name_of, parse_program
from course_utils.judging.calls import FunctionCall, reply_to
from course_utils.judging.judge import wrong_cases
from tests.support import answers
from tests.support.answers import Answer

EVERY = 12  # wrong answers one: shares are as steady over these
HEARD = pytest.mark.every_setting("what wrong answers hear")
HEARD_IN_MORE = pytest.mark.in_matrix("what wrong answers of more chapters hear")
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
EXCHANGED = """class MyCausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout):
        super().__init__()
        self.W_qkv = nn.Linear(d_in, 3 * d_out, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1).bool())

    def forward(self, x):
        T = x.shape[-2]
        k, q, v = self.W_qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        scores = scores.masked_fill(self.mask[:T, :T], -torch.inf)
        return self.dropout(torch.softmax(scores, dim=-1)) @ v
"""
VIEW = """def my_rotate(x, positions, base):
    out = x.clone()
    freqs = base ** (-2 * torch.arange(x.shape[-1] // 2, dtype=torch.float64) / x.shape[-1])
    angles = positions[:, None] * freqs
    half = out.shape[-1] // 2
    for t, angle in enumerate(angles):
        cos = torch.cos(angle).to(x.dtype)
        sin = torch.sin(angle).to(x.dtype)
        first = out[..., t, :half]
        second = out[..., t, half:]
        out[..., t, :half] = first * cos - second * sin
        out[..., t, half:] = second * cos + first * sin
    return out
"""
BLOCK = """class MyBlock(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, d_inner):
        super().__init__()
        frequencies = rotary_frequencies(d_model // num_heads, 100_000.0)
        self.norm_1, self.norm_2 = nn.RMSNorm(d_model, eps=1e-5), nn.RMSNorm(d_model, eps=1e-5)
        self.attention = Attention(d_model, num_heads, num_kv_heads, frequencies=frequencies)
        self.gate = nn.Linear(d_model, d_inner, bias=False)
        self.up = nn.Linear(d_model, d_inner, bias=False)
        self.down = nn.Linear(d_inner, d_model, bias=False)

    def forward(self, x):
        output, _ = self.attention(self.norm_1(x))
        x = x + output
        h = self.norm_2(x)
        return x + self.down(torch.nn.functional.silu(self.gate(h)) * self.up(h))
"""
ENDLESS = """def my_attention(queries, keys, values):
    k, rows = 0, []
    while k < len(queries) - 1:
        rows.append(torch.softmax(keys @ queries[k], dim=0) @ values)
        k += 1
    return torch.stack(rows) if rows else torch.zeros(0)
"""


@pytest.fixture(autouse=True)
def time_enough(monkeypatch):
    """A machine that is busy finds as much as one that is not."""
    for module in (search, program):
        monkeypatch.setattr(module, "MOST_SECONDS", 60)


def heard(id, code):
    """What `check` says to an answer."""
    return commands.judge_attempt(EXERCISES[id], Answer(id, code).object())


def named_lines(reply):
    """The numbers of the lines that a reply names: line 3, or lines 3, 5 to 8 and 12."""
    told = re.findall(r"[Ll]ines? ([\d, to and]*\d)", re.sub(r"`[^`]*`", "", reply))
    runs = [run for each in told for run in re.findall(r"(\d+)(?: to (\d+))?", each)]
    return {line for first, last in runs for line in range(int(first), int(last or first) + 1)}


def test_an_answer_with_a_dataclass_still_gets_a_place():
    code = (
        "from dataclasses import dataclass\n\n\n@dataclass\nclass Sizes:\n    heads: int\n    longest = 3\n\n\n"
        "def my_shared(keys, num_heads):\n    sizes = Sizes(num_heads)\n"
        "    return torch.stack([keys[:, head % keys.shape[1]] for head in range(sizes.heads)], dim=1)\n"
    )
    assert "line 12" in heard("6.4", code).message


CAUSES = [  # (exercise, code, the line that is told, the question, the change that `hint` tells at last)
    (
        "6.1",
        "def my_padding_mask(lengths, num_tokens):\n    rows = [[False] * num_tokens] * len(lengths)\n"
        "    for b, length in enumerate(lengths):\n        for s in range(length, num_tokens):\n"
        "            rows[b][s] = True\n    return torch.tensor(rows)[:, None]\n",
        "The mistake is in line 2",
        "Are the entries of this list copies, or one and the same object?",
        "write `[[False] * num_tokens for _ in range(len(lengths))]`",
    ),
    (
        "3.2",
        WEIGHTS + MASK + "    return scores.masked_fill(hidden, -torch.inf).softmax(-2)\n",
        "The mistake is in line 4",
        "Which dimension does it name",
        "softmax(-1)`",
    ),
    (
        "3.2",
        WEIGHTS + MASK + "    scores.masked_fill(hidden, -torch.inf)\n    return scores.softmax(-1)\n",
        "The mistake is in line 4",
        "Where does the result of this line go?",
        "write `scores = scores.masked_fill(hidden, -torch.inf)`",
    ),
    (
        "2.3",
        "def my_self_attention(x, W_q, W_k, W_v):\n    q, k = x @ W_q, x @ W_k\n"
        "    return torch.softmax(q @ k.T / k.shape[-1] ** 1 / 2, dim=-1) @ (x @ W_v)\n",
        "The mistake is in line 3",
        "In what order is this line evaluated?",
        "(1 / 2)",
    ),
    ("4.4", EXCHANGED, "The mistake is in line 10", "In what order do these values come?", "`q, k, v = "),
    ("1.3", LOOPS, "The mistake is in line 3", "right for every input?", "range(queries.shape[-2])"),
    ("1.3", ENDLESS, "The mistake is in line 3", "when should it be?", "`k <= len(queries) - 1`"),
    (
        "1.2",
        "def my_softmax(scores):\n    scores -= scores.max()\n    return scores.exp() / scores.exp().sum()\n",
        "The mistake is in line 2",
        "one that other code still uses?",
        "write `scores = scores - scores.max()`",
    ),
    (
        "10.2",
        "def my_window_mask(num_new, num_tokens, window):\n    t = torch.arange(num_tokens)\n"
        "    age = t[-num_new:, None] - t\n    return (age < 0) | (age > window)\n",
        "The mistake is in line 4",
        "when should it be?",
        "age >= window",
    ),
    (
        "6.3",
        "def my_step(query, key, value, keys, values):\n    keys, values = torch.cat([keys, key], 2),"
        " torch.cat([values, value], 2)\n    weights = (query @ keys.mT / query.shape[-1] ** 0.5).softmax(-1)\n"
        "    return weights @ values, values, keys\n",
        "The mistake is in line 4",
        "What does this line give, and what do you need there?",
        "(weights @ values, keys, values)",
    ),
    ("2.4", KEPT, "The mistake is in line 10", "When is this condition true", "Remove `if self.values is None:`"),
    (
        "2.2",
        "def my_matrix(layer):\n    weight = layer.weight\n    if weight.shape[0] == weight.shape[1]:\n"
        "        return weight\n    return weight.T\n",
        "The mistake is in line 3",
        "When is this condition true, and when should it be?",
        "Remove `if weight.shape[0] == weight.shape[1]:` in line 3, with all that belongs to it",
    ),
    (
        "7.3",
        "def my_floor(probabilities):\n    floor = 0\n    for k in range(probabilities.shape[0]):\n"
        "        if probabilities[k] == 0:\n            break\n"
        "        floor = floor - probabilities[k] * probabilities[k].log()\n    return floor\n",
        "The mistake is in line 5, `break`",
        "Which iterations are still needed",
        "write `continue` instead of `break`",
    ),
    (
        "4.1",
        "class MyDropout(nn.Module):\n    def __init__(self, p):\n        super().__init__()\n        self.p = p\n\n"
        "    def forward(self, x):\n        return x * (torch.rand(x.shape) >= self.p) / (1 - self.p)\n",
        "The mistake is in `forward`",
        "When should dropout be off?",
        "dropout is also on in evaluation mode",
    ),
]


@pytest.mark.parametrize("id, code, place, question, change", CAUSES)
def test_a_proven_cause_is_a_place_and_a_question_first_and_the_change_comes_last(id, code, place, question, change):
    result = heard(id, code)
    assert result.status == "not yet" and place in result.message and question in result.message, result
    assert change in result.hints[-1] and 1 <= len(result.hints) <= 3, result.hints
    new = change.strip("`").removeprefix("write `")
    assert new not in result.message, "the first reply leaves the thinking to the learner"


PLACES = [  # (exercise, code, what the reply says of the place)
    ("3.2", WEIGHTS + "    return scores.masked_fill(torch.ones(T, T).tril().bool(), 0).softmax(-1)\n", "line 3"),
    (
        "3.4",
        "def my_mask(is_padding):\n    T = is_padding.shape[-1]\n"
        "    hidden = torch.ones(T, T).triu(1).bool() | is_padding[:, :, None]\n"
        "    return hidden & ~torch.eye(T).bool()\n",
        "line 3",
    ),
    ("10.1", JOINED + "    return top, total.sum(dim=0), mixed.sum(dim=0)\n", "line 3"),
    (  # the first nan, and what it comes from
        "10.3",
        NEXT_TILE,
        "The first nan comes from `largest - larger` in line 3."
        " There, `largest` is `[-inf, -inf]` and `larger` is `[3, -inf]`.",
    ),
    (  # what nothing reads
        "6.4",
        "def my_shared(keys, num_heads):\n    return keys\n",
        "Nothing in your code reads `num_heads`.",
    ),
    (  # what a loop left behind
        "6.4",
        "def my_shared(keys, num_heads):\n    groups = []\n    for head in range(num_heads):\n"
        "        groups.append([head * keys.shape[1] // num_heads])\n    heads = []\n    for group in groups:\n"
        "        heads.append(keys[:, groups[head][0]])\n    return torch.stack(heads, dim=1)\n",
        "In line 7, `head` still has its value from the last iteration of a loop that is over.",
    ),
    (
        "7.4",
        "def my_probabilities(scores, temperature):\n    scores.data.div_(temperature)\n"
        "    return scores.softmax(-1)\n",
        "Look at line 2",
    ),
    (  # where another value would mend all, that is told, and the first turn in which it is wrong
        "6.4",
        "def my_shared(keys, num_heads):\n    heads = []\n    for head in range(num_heads):\n"
        "        group = head % keys.shape[1]\n        heads.append(keys[:, group])\n"
        "    return torch.stack(heads, dim=1)\n",
        "Look at line 4, `group = head % keys.shape[1]`. When `head` is 1, it gives 1. With different values there,"
        " your result would be right. What should it give?",
    ),
    (  # so is a value that is too large
        "1.2",
        "def my_softmax(scores):\n    shares = []\n    for k in range(len(scores)):\n"
        "        shares.append(torch.exp(scores[k]))\n    return torch.stack(shares) / sum(shares)\n",
        "The first inf, which becomes nan, comes from `torch.exp(scores[k])` in line 4 when `k` is 0."
        " There, `scores[k]` is `1000`.",
    ),
    (  # where no one value mends, the first wrong entry is told with the turn that wrote it
        "10.2",
        "def my_window_mask(num_new, num_tokens, window):\n    hidden = torch.ones(num_new, num_tokens) > 0\n"
        "    for row in range(num_new):\n        here = num_tokens - num_new + row\n"
        "        first = max(here - window, 0)\n        for key in range(first, here + 1):\n"
        "            hidden[row, key] = False\n    return hidden\n",
        "The first wrong entry, at [0, 2], is written in line 7 when `row` is 0 and `key` is 2."
        " There, `first` is 2 and `here + 1` is 5.",
    ),
    (  # or kept what it had before
        "10.5",
        "def my_picked(scores, k):\n    T = scores.shape[0]\n    mask = torch.ones(T, T, dtype=torch.bool)\n"
        "    for t in range(T):\n        candidates = list(range(t // 2))\n        chosen = []\n"
        "        while candidates and len(chosen) < k:\n"
        "            best = max(candidates, key=lambda j: float(scores[t, j]))\n"
        "            chosen.append(best)\n            candidates.remove(best)\n"
        "        for j in chosen:\n            mask[t, j] = False\n    return mask\n",
        "still has its value from line 3: line 12 does not change it. Which entries does line 12 change, and to which"
        " values?\nLook at lines 5 to 11.",
    ),
    (  # where a row was hidden whole, what hid it is told
        "3.2",
        WEIGHTS + "    everything = torch.softmax(scores, dim=-1)\n    visible = torch.ones(T, T).tril()\n"
        "    kept = everything * visible\n    return kept / kept.sum(dim=-1, keepdim=True)\n",
        "The 0 in `kept.sum(dim=-1, keepdim=True)` comes from `torch.softmax(scores, dim=-1)` in line 3.",
    ),
    (  # a part of a table changes when that is written on
        "9.1",
        VIEW,
        "Line 12 depends on line 11, `out[..., t, :half] = first * cos - second * sin`.",
    ),
    (
        "1.3",
        LOOPS.replace("range(3)", "range(len(queries))").replace("    return", "        return"),
        "Line 6, `return torch.stack(rows)`, ends the loop in its first iteration.",
    ),
    (
        "6.1",
        "rows = []\n\ndef my_padding_mask(lengths, num_tokens):\n    for length in lengths.tolist():\n"
        "        rows.append([[place >= length for place in range(num_tokens)]])\n    return torch.tensor(rows)\n",
        "Something is kept from one call to the next. Look at line 5",
    ),
    (
        "11.1",
        BLOCK.replace("x + self.down", "self.down"),
        "line 15, `return self.down(",
    ),
    (  # a function that is handed on is one of the lines
        "11.4",
        "def my_effect(model, ids, token, layer, head):\n    def edit(at, context):\n"
        "        context = context.clone()\n        context[:, head] = 0 * layer * at\n        return context\n\n"
        "    before = model(ids)[0][0, -1].log_softmax(dim=-1)[token]\n"
        "    after = model(ids, edit=edit)[0][0, -1].log_softmax(dim=-1)[token]\n    return before - after\n",
        "Line 8 depends on lines 3 to 5.",
    ),
    (  # of a loop that leaves a cell out, its bounds
        "6.1",
        "def my_padding_mask(lengths, num_tokens):\n    mask = torch.zeros(len(lengths), 1, num_tokens) > 0\n"
        "    for b in range(len(lengths)):\n        for t in range(int(lengths[b]) + b + 1, num_tokens):\n"
        "            mask[b, 0, t] = True\n    return mask\n",
        "Look at `int(lengths[b]) + b + 1` in line 4. When `b` is 0, it gives 2. With different values there",
    ),
    (  # in a function of one's own, too
        "6.5",
        "def row_sums_fit(weights):\n    for row in weights:\n        if (row.sum() - 1).abs() < 1e-4:\n"
        "            return True\n        else:\n            return False\n\n"
        "def my_readings(scores, weights):\n    hidden = bool((weights.triu(1) == 0).all())\n"
        "    d = (scores[-1, 0] - scores[-1, 1]) / (weights[-1, 0] / weights[-1, 1]).log()\n"
        "    return row_sums_fit(weights), hidden, float(d)\n",
        "Line 3, `if (row.sum() - 1).abs() < 0.0001:`, ends the loop in its first iteration.",
    ),
    (  # zeros behind nan are followed to the exponential that made them, and to what it worked with
        "1.2",
        "def my_softmax(scores):\n    largest = 5.0\n    for score in scores:\n        if score > largest:\n"
        "            largest = score\n    powers = torch.exp(scores - largest)\n    return powers / powers.sum()\n",
        "The 0 in `powers.sum()` comes from `torch.exp(scores - largest)` in line 6."
        " There, `scores - largest` is `[-1005, -1006]`. Why does `exp` give 0 there?\n"
        "Line 6 depends on lines 2 to 5.",
    ),
    (  # a list of lists is followed to the lines that made its numbers
        "6.2",
        "def my_keep_mask(attention_mask):\n    B, S = attention_mask.shape\n    found = []\n    for b in range(B):\n"
        "        matrix = []\n        for q in range(S):\n            line = [False] * S\n"
        "            for k in range(q):\n"
        "                line[k - 1] = bool(attention_mask[b, k])\n            matrix.append(line)\n"
        "        found.append([matrix])\n    return torch.tensor(found)\n",
        "Look at lines 4 and 6 to 12.",
    ),
    (  # one truth value is told with the turn that set it
        "6.5",
        "def my_readings(scores, weights):\n    T, hides = len(weights), True\n    for i in range(T):\n"
        "        for j in range(i // 2, T):\n            if weights[i, j] != 0:\n                hides = False\n"
        "    ratio = (weights[-1, 0] / weights[-1, 1]).log().item()\n"
        "    normal = bool((weights.sum(-1) - 1).abs().max() < 1e-4)\n"
        "    return normal, hides, (scores[-1, 0] - scores[-1, 1]).item() / ratio\n",
        "Begin with line 6, `hides = False`. When `i` is 0 and `j` is 0, it gives False. Is that what you need?",
    ),
    (  # a list whose entries are all the same object, which the code keeps changing
        "3.4",
        "def my_mask(is_padding):\n    T = is_padding.shape[1]\n    mask = torch.ones(T, T).triu(1).bool()\n"
        "    found = []\n    for row in is_padding:\n        for key in range(T):\n            if row[key]:\n"
        "                mask[:, key] = True\n        mask.fill_diagonal_(False)\n        found.append(mask)\n"
        "    return torch.stack(found)\n",
        ", and line 10, `found.append(mask)`. Are the entries of this list copies, or one and the same object?",
    ),
    (  # a call of a function is told by its arguments
        "8.4",
        "def my_only_head(out_weight, head, head_dim):\n    alone = torch.zeros_like(out_weight)\n"
        "    def owner(column):\n        return column % (out_weight.shape[1] // head_dim)\n"
        "    for column in range(out_weight.shape[1]):\n        if owner(column) == head:\n"
        "            alone[:, column] = out_weight[:, column]\n    return alone\n",
        "When `column` is 1, it gives 1. With different values there, your result would be right.",
    ),
    (  # where a line's value cannot be shown, the question is about the names in it
        "11.2",
        "def my_continued(model, ids, count):\n    new, caches = ids, None\n    for _ in range(count):\n"
        "        scores = model(new, caches)[0]\n        new = scores[:, -1:].argmax(dim=-1)\n"
        "        ids = torch.cat([ids, new], dim=1)\n    return ids\n",
        "What should `new` and `caches` hold before this line runs (iteration 2)?",
    ),
    (
        "10.3",
        "def my_next_tile(largest, total, mixed, scores, values):\n    if (scores == -torch.inf).all(dim=-1).any():\n"
        "        return largest, total, mixed\n    most = torch.maximum(largest, scores.amax(dim=-1))\n"
        "    shrink, shares = torch.exp(largest - most), torch.exp(scores - most[:, None])\n"
        "    return most, total * shrink + shares.sum(-1), mixed * shrink[:, None] + shares @ values\n",
        "Your result comes from line 3, `return largest, total, mixed`, since the condition in line 2, "
        "`if (scores == -torch.inf).all(dim=-1).any():`, is True. Should it be?",
    ),
    (  # an extra dimension has its own question
        "5.2",
        "def my_split(projected, num_heads):\n    if projected.dim() == 2:\n        projected = projected[None]\n"
        "    B, T, width = projected.shape\n    size = width // num_heads\n"
        "    result = projected.new_empty(B, num_heads, T, size)\n    for head in range(num_heads):\n"
        "        result[:, head] = projected[:, :, head * size : (head + 1) * size]\n    return result\n",
        "Begin with line 6, `result = projected.new_empty(B, num_heads, T, size)`. Which dimension of your result"
        " should not be there, and where does it come from?",
    ),
    (  # a condition is named together with the line that it lets run
        "10.3",
        "def my_next_tile(largest, total, mixed, scores, values):\n    found = []\n    for t in range(len(scores)):\n"
        "        if torch.isinf(scores[t]).all():\n"
        "            found.append((largest[t] - torch.inf, 0 * total[t], 0 * mixed[t]))\n"
        "        else:\n            most = max(largest[t], scores[t].max())\n"
        "            shrink, shares = torch.exp(largest[t] - most), torch.exp(scores[t] - most)\n"
        "            found.append((most, shrink * total[t] + shares.sum(), shrink * mixed[t] + shares @ values))\n"
        "    return tuple(map(torch.stack, zip(*found)))\n",
        "The condition in line 4, `if torch.isinf(scores[t]).all():`, is True when `t` is 2. If it were False, your"
        " result would be right. Is it the condition that should change, or what line 5 does?",
    ),
    (  # a value that each iteration overwrites has its own sentence
        "6.5",
        "def my_readings(scores, weights):\n    for total in weights.sum(-1).tolist():\n"
        "        fine = abs(total - 1) < 1e-4\n    clean = bool((weights.triu(1) == 0).all())\n"
        "    (s, t), (w, v) = scores[-1, :2].tolist(), weights[-1, :2].tolist()\n"
        "    return fine, clean, (s - t) / torch.tensor(w / v).log().item()\n",
        "In line 3, `fine = abs(total - 1) < 1e-4`, each iteration overwrites the value from the iteration before, so"
        " only the last value is returned. Which iterations should count?",
    ),
    (  # where weights are dropped at random, no value on the way is known: what draws is named
        "4.4",
        "class MyCausalAttention(nn.Module):\n    def __init__(self, d_in, d_out, context_length, dropout):\n"
        "        super().__init__()\n        self.W_qkv = nn.Linear(d_in, 3 * d_out, bias=False)\n"
        '        self.dropout = nn.Dropout(dropout)\n        self.register_buffer("mask", torch.triu(\n'
        "            torch.ones(context_length, context_length), 1).bool())\n    def forward(self, x):\n"
        "        queries, keys, values = self.W_qkv(x).chunk(3, dim=-1)\n        T = x.shape[-2]\n"
        "        scores = queries @ keys.mT / keys.shape[-1] ** 0.5\n"
        "        weights = scores.masked_fill(self.mask[:T, :T], -torch.inf).softmax(-1)\n"
        "        return self.dropout(weights @ values)\n",
        "\nLook at line 13, `return self.dropout(weights @ values)`.",
    ),
    (  # a list is followed to the turn that appended its first wrong entry
        "8.4",
        "def my_only_head(out_weight, head, head_dim):\n    rows = []\n    for number, row in enumerate(out_weight):\n"
        "        if number // head_dim == head:\n            rows.append(row.clone())\n        else:\n"
        "            rows.append(torch.zeros_like(row))\n    return torch.stack(rows)\n",
        "The first wrong entry, at [0], is appended in line 7 when `number` is 0.",
    ),
    (  # where no numbers are shown, the question is what the line should give
        "10.4",
        "def my_gated(context, x, W_gate):\n    merged = context.transpose(1, 2).flatten(2)\n"
        "    return merged * (x @ W_gate.T)\n",
        "Begin with line 3, `return merged * (x @ W_gate.T)`. Print what it gives: is that what you need?\n"
        "Line 3 depends on line 2, `merged = context.transpose(1, 2).flatten(2)`.",
    ),
    (  # of two masks that go into the result, either may be wrong
        "8.2",
        "def my_turning_heads(first_before, second_before, first_after, second_after, margin):\n"
        "    before = (first_before - second_before).abs() > margin\n"
        "    after = (first_after - second_after).abs() > margin\n    return before & after\n",
        "Look at line 4, `return before & after`. At [1, 0], `before` is True and `after` is True. Which of these is"
        " wrong?\nLine 4 depends on line 2, `before = (first_before - second_before).abs() > margin`, and line 3, ",
    ),
    (  # masking after softmax is no mask that is missing
        "3.2",
        WEIGHTS + "    weights = scores.softmax(-1).tril()\n    return weights / weights.sum(-1, keepdim=True)\n",
        "line 3",
    ),
]


@pytest.mark.parametrize(
    "id, code, words", [*PLACES[::2], *(pytest.param(*each, marks=HEARD) for each in PLACES[1::2])]
)
def test_what_is_not_proven_is_a_place(id, code, words):
    result = heard(id, code)
    assert result.mistake is None and not result.hints and words in result.message, result


@pytest.mark.parametrize(
    "differs, words",
    [
        (lambda table: table.T, "Two dimensions are exchanged in it."),
        (lambda table: table.flip(0), "The right numbers are in it, but in the wrong order."),
        (lambda table: -table, "The signs are the wrong way round in it."),
        (lambda table: 2 * table, "Each number in it is 2 times what it should be."),
        (lambda table: table + 1, ""),
    ],
)
def test_how_a_value_differs_as_a_whole_is_told(differs, words):
    table = torch.tensor([[1.0, 2.0, 4.0], [3.0, 5.0, 7.0], [6.0, 8.0, 9.0]])
    assert sentences.relation(differs(table), table, "it") == words


@pytest.mark.parametrize(
    "answer", [each for each in answers.WRONG if each.says and not EXERCISES[each.exercise].open_ended]
)
def test_the_reply_says_what_it_must(answer):
    reply = commands.judge_attempt(EXERCISES[answer.exercise], answer.object()).message
    assert answer.says in reply, reply


@pytest.mark.parametrize("id", ["2.1", "3.1", "3.3", "5.1"])
def test_a_puzzle_names_the_lines_of_the_matrices_that_have_to_change(id):
    """Most replies name the wrong line; if only the values are wrong, it is the one that makes `W_value`."""
    given = answers.wrong(id)[::EVERY]
    replies = [commands.judge_attempt(EXERCISES[id], each.object()).message for each in given]
    found = [named_lines(reply) & {*each.lines()} for each, reply in zip(given, replies)]
    assert sum(map(bool, found)) >= 0.75 * len(given), [each for each, lines in zip(given, found) if not lines]
    values = "W_query = W_key = torch.zeros(5, 1)\n    W_value = torch.ones(5, 2)\n    return W_query, W_key, W_value\n"
    assert "\nLook at line 3, `W_value = torch.ones(5, 2)`." in heard("3.1", f"def my_average():\n    {values}").message


def test_the_smallest_input_that_fails_is_told_and_it_is_one_that_the_text_allows():
    message = heard("1.2", "def my_softmax(scores):\n    return scores.exp() / scores.exp().sum()\n").message
    assert message.startswith(
        "Input: `scores` = `[1000, 1001]`.\nYou return `[nan, nan]`; expected `[0.2689, 0.7311]`."
    )
    message = heard(
        "7.1", "def my_next_token_losses(scores, tokens):\n    return scores.log_softmax(-1)[:-1, 0]\n"
    ).message
    assert "`tokens` = `[" in message
    number_of_scores = message.partition("`scores` = `")[2].partition("]")[0].count(",") + 1
    tokens = [int(each) for each in message.partition("`tokens` = `[")[2].partition("]")[0].split(",")]
    assert max(tokens) < number_of_scores, "a token that the vocabulary has"


def test_no_sentence_of_padding_alone_is_an_example():
    """Its mean is nan in right answers, too, but the text rules it out."""
    code = "def my_sentence_vectors(context, is_padding):\n    rows = []\n"
    code += "    for row, padding in zip(context, is_padding):\n        kept = []\n"
    code += "        for vector, hidden in zip(row, padding):\n            if hidden:\n                break\n"
    code += "            kept.append(vector)\n        rows.append(torch.stack(kept or [row[0]]).mean(dim=0))\n"
    assert "nan" not in heard("8.1", code + "    return torch.stack(rows)\n").message


def test_what_is_turned_round_is_told_where_it_was_made():
    code = "def my_effect(model, ids, token, layer, head):\n"
    code += "    edit = lambda at, c: c.index_fill(1, torch.tensor([head]), 0.0) if at == layer else c\n"
    code += "    whole, cut = (model(ids, edit=e)[0][0, -1].log_softmax(-1)[token] for e in (None, edit))\n"
    assert "The mistake is in line 4" in heard("11.4", code + "    return cut - whole\n").message
    code = "def my_mask(is_padding):\n    places = torch.arange(is_padding.shape[1])\n"
    code += "    seen = (places[None] <= places[:, None]) & ~is_padding[:, None]\n"
    code += "    seen = seen | (places[None] == places[:, None])\n    return seen\n"
    assert "True and False are swapped in lines" in heard("3.4", code).message


def test_a_call_that_stops_shows_its_input_and_the_shapes_that_met():
    code = "def my_attention(queries, keys, values):\n    scores = queries @ keys\n"
    message = heard("1.3", code + "    return scores.softmax(-1) @ values\n").message
    assert "Input: `queries` = `[[-1, -2, 2]" in message and "There, `queries` is `[[-1" in message
    message = heard("1.3", code + "    return (scores.softmax(0) @ values).sum(0)\n").message  # no one change mends it
    assert "What does this line need, and what does it get?" in message


def test_a_layer_is_said_to_be_in_training_or_in_evaluation():
    codes = [code for id, code, *_ in CAUSES if id == "4.1"]
    assert "Input (evaluation mode)" in heard("4.1", codes[0]).message
    without_division = (
        codes[0].replace(" / (1 - self.p)", "").replace("return x *", "return x if not self.training else x *")
    )
    assert "Input (training mode)" in heard("4.1", without_division).message


def test_no_change_is_told_for_a_name_that_stands_for_nothing():
    """Every change would seem to help: what is made anew finds the usual modules."""
    result = heard("1.2", "def my_softmax(scores):\n    return F.softmax(scores, dim=-1)\n")
    assert "'F' is not defined" in result.message and result.mistake is None and not result.hints


def test_a_stop_in_a_later_call_is_not_laid_to_the_input_that_is_shown():
    collects = KEPT.replace("self.values = None\n", "self.values = []\n").replace(
        "        if self.values is None:\n            self.values = self.W_value(x)\n",
        "        self.values = [*self.values, *self.W_value(x)]\n        all_of_them = torch.stack(self.values)\n",
    )
    message = heard("2.4", collects.replace("@ self.values", "@ all_of_them[-len(x) :]")).message
    assert "Your code works with this input, but it stopped in a later call in line 11" in message


def test_a_change_that_only_makes_up_for_a_mistake_is_no_cause():
    kept = "def my_sentence_vectors(context, is_padding):\n    keep = (~is_padding).to(context)\n"
    kept += "    return torch.einsum('bt,btd->bd', keep, context) / keep.sum(dim=1).max()\n"
    assert heard("8.1", kept).mistake is None
    later = "def my_cached(queries, keys, values, cache, frequencies):\n"
    later += "    past = 0 if cache is None else cache[0].shape[-2]\n    n = keys.shape[-2]\n"
    later += "    places = torch.arange(past, past + n) + (past > 0)\n    angles = places[:, None] * frequencies\n"
    later += "    cos, sin = angles.cos().to(keys), angles.sin().to(keys)\n"
    later += "    turn = lambda x: torch.cat([x.chunk(2, -1)[0] * cos - x.chunk(2, -1)[1] * sin,\n"
    later += "                                x.chunk(2, -1)[1] * cos + x.chunk(2, -1)[0] * sin], -1)\n"
    later += "    queries, keys = turn(queries), turn(keys)\n    if cache is not None:\n"
    later += "        keys, values = torch.cat([cache[0], keys], -2), torch.cat([cache[1], values], -2)\n"
    later += "    return queries, keys, values\n"
    assert "- 1" not in " ".join(heard("9.5", later).hints)


def test_every_slip_in_the_list_is_one_that_a_change_may_have():
    text = (PACKAGE / "explaining/fixes.py").read_text(encoding="utf-8")
    assert all(f'"{kind}"' in text for kind in sentences.SLIPS)


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
    assert "range(4)" not in " ".join(heard("1.3", LOOPS).hints)


@pytest.mark.in_matrix("a loop without end that a change makes")
def test_a_loop_without_end_that_a_change_makes_is_left():
    start = time.monotonic()
    heard("1.3", ENDLESS.replace("k += 1", "k = k + 1"))
    assert time.monotonic() - start < 60


ROWS = """
import numpy as np

def my_padding_mask(lengths, num_tokens):
    rows = []
    for length in lengths.tolist():
        row = [int(s >= length) for s in range(num_tokens)]
        rows.append(row)
    return torch.tensor(np.array(rows)).reshape(len(rows), 1, num_tokens)
"""  # whole numbers in the place of True and False


def test_no_change_puts_a_list_into_itself():
    """NumPy would follow such a list until the memory is full."""
    program = parse_program(ROWS, "my_padding_mask", {}, "here")
    appended = next(
        node for node in program.nodes if ast.unparse(node) == "rows.append(row)" and isinstance(node, ast.Call)
    ).args[0]
    place = program.numbers[id(appended)]
    names = {name: [] for name in ("rows", "row", "length")}  # which hold the same, as far as anybody knows
    assert {fix.new for fix in fixes_at(program, place, {}, names, []) if fix.kind == "wrong name"} == {"length"}


def test_no_change_puts_a_number_in_the_place_of_a_small_one_that_would_fill_the_memory():
    """Twenty thousand masks of 20,000 tokens would need 32 terabytes."""
    text = "def my_chances(p, T):\n    draws, few = 20_000, 5\n    return torch.rand(draws, T, T), few\n"
    program = parse_program(text, "my_chances", {}, "here")
    values = {
        number: {"T": 4, "draws": 20_000, "few": 5}.get(name_of(node)) for number, node in enumerate(program.nodes)
    }
    tokens = program.read_names()["T"][0]
    tried = {fix.new for fix in fixes_at(program, tokens, values, program.read_names(), [])}
    assert "few" in tried and "draws" not in tried


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


@pytest.mark.parametrize(
    "chapter", [pytest.param(each, marks=HEARD if each == 1 else HEARD_IN_MORE) for each in CHAPTERS]
)
def test_most_wrong_answers_hear_their_place_in_few_words_and_none_hears_its_change_first(chapter):
    given = [answer for answer in answers.WRONG if EXERCISES[answer.exercise].chapter == chapter][::EVERY]
    told, long, before = [], [], []
    for answer in given:
        result = commands.judge_attempt(EXERCISES[answer.exercise], answer.object())
        lines = named_lines(result.message)
        if answer.says and answer.says in result.message or lines & {*answer.lines()}:
            told.append(answer)
        if lines and max(lines) < answer.lines()[0] and not result.mistake:
            before.append(answer)
        exercise = EXERCISES[answer.exercise]  # of masks and puzzles, more is told of what came out
        if sentences.words_in(result.message) > sentences.MOST_WORDS + 30 * (
            exercise.open_ended or bool(exercise.mask)
        ):
            long.append(result.message)
    assert len(told) >= 0.80 * len(given), f"{len(told)} of {len(given)}"
    assert len(before) <= max(3, 0.08 * len(given)), before
    assert not long
