"""The exercises and questions of chapter 8, a real model."""

import math

import numpy as np
import torch

from course_utils.exercises import mistakes, oracle
from course_utils.exercises.exercise import Exercise, Question
from course_utils.exercises.inputs import normal, uniform
from course_utils.exercises.mistakes import CLOSE, Mistake
from course_utils.judging.calls import FunctionCall

# --- 8.1 the vectors of a batch of sentences --------------------------------------------------------------------------


def padding_after(*lengths):
    """True at padding: (B, T) for sentences of these lengths."""
    return torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None]  # (B, T)


def calls_on_contexts():
    return [
        FunctionCall([normal(2, 5, 3, seed=81), padding_after(5, 2)]),
        FunctionCall([normal(3, 4, 6, seed=82) + 1, padding_after(1, 4, 3)]),
        FunctionCall([normal(1, 5, 2, seed=83), torch.tensor([[True, True, False, False, False]])]),
    ]


def means_of(call, counted):
    """The mean of the tokens that are `counted`(is padding), for each sentence."""
    contexts, paddings = map(oracle.rows, call.arguments)
    sentences = []
    for context, padding in zip(contexts, paddings):
        kept = [token for token, hidden in zip(context, padding) if counted(bool(hidden))]
        sentences.append(oracle.mix([1 / max(len(kept), 1)] * len(kept), kept or [[0.0] * len(context[0])]))
    return np.array(sentences)


def sentence_vectors(call):
    return [means_of(call, lambda hidden: not hidden)]


def equals(case, wrong):
    """Whether the answer is this wrong result, and that is not the right one by chance."""
    got = mistakes.returned(case)
    return np.allclose(got, wrong, atol=CLOSE) and not np.allclose(wrong, case.want, atol=CLOSE)


def padding_averaged(case):
    if equals(case, means_of(case.call, lambda hidden: True)):
        return (
            "Your means are those of all tokens, padding too. Multiply the padding by 0, and divide each sum by the"
            " number of real tokens."
        )


def divided_by_longest(case):
    padding = case.arguments[1]
    tokens = (~padding).sum(dim=1, keepdim=True).numpy()  # (B, 1)
    if equals(case, case.want * tokens / padding.shape[1]):
        return (
            "The padding is left out of your sums, but not of the division: you divide by the length of the longest"
            " sentence. Each sentence has its own number of tokens."
        )


def padding_kept(case):
    if equals(case, means_of(case.call, lambda hidden: hidden)):
        return "Your means are those of the padding alone. True means padding here: keep ~is_padding."


def not_divided(case):
    tokens = (~case.arguments[1]).sum(dim=1, keepdim=True).numpy()  # (B, 1)
    if equals(case, case.want * tokens):
        return "These are sums: nothing was divided. A mean divides by the number of real tokens."


SENTENCE_VECTORS = Exercise(
    id="8.1",
    title="The vectors of a batch of sentences",
    name="my_sentence_vectors",
    points=2,
    difficulty=2,
    minutes=6,
    why="The mask is needed twice: in attention, so that nobody reads padding, and here, so that nobody averages it.",
    hints=(
        "A mean is a sum divided by a number. Padding belongs in neither.",
        "(~is_padding).unsqueeze(-1) has shape (B, T, 1): multiplied with the context vectors, it makes padding 0.",
        "(context * kept).sum(dim=1) / kept.sum(dim=1), where kept is that (B, T, 1).",
    ),
    make_calls=calls_on_contexts,
    oracle=sentence_vectors,
    mistakes=(
        Mistake("padding averaged, too", padding_averaged),
        Mistake("divided by the longest sentence", divided_by_longest),
        Mistake("mask the wrong way round", padding_kept),
        Mistake("sums instead of averages", not_divided),
    ),
)

# --- 8.2 heads that turn ----------------------------------------------------------------------------------------------


def calls_on_turns():
    tables = [uniform(3, 4, seed=84 + k) for k in range(4)]
    ahead, behind = torch.tensor([[0.51, 0.7, 0.3, 0.7, 0.51]]), torch.tensor([[0.5, 0.2, 0.6, 0.2, 0.5]])
    ahead_after, behind_after = torch.tensor([[0.51, 0.7, 0.3, 0.51, 0.7]]), torch.tensor([[0.5, 0.2, 0.6, 0.5, 0.2]])
    level = [  # head 0 turns, head 1 turns back, head 2 stays; 3 is undecided before, 4 after: by not more than 0
        torch.tensor([row])
        for row in (
            [0.5, 0.2, 0.5, 0.5, 0.5],
            [0.2, 0.5, 0.2, 0.5, 0.2],
            [0.2, 0.5, 0.5, 0.2, 0.5],
            [0.5, 0.2, 0.2, 0.5, 0.5],
        )
    ]
    return [
        FunctionCall([*tables, 0.1]),
        FunctionCall([*tables, 0.0]),
        FunctionCall([*level, 0.0]),
        # head 0 turns by too little, head 1 as it should, head 2 the wrong way; heads 3 and 4 by too little on one side
        FunctionCall([ahead, behind, behind_after, ahead_after, 0.05]),
    ]


def turning(call, toward=lambda a, b, c, d, margin: a - b > margin and d - c > margin):
    *tables, margin = call.arguments
    rows = zip(*map(oracle.rows, tables))
    return [np.array([[toward(*numbers, margin) for numbers in zip(*heads)] for heads in rows])]


def turned_as(sentence, toward, everywhere=False):
    """A symptom: the answer is that of another question, `toward`; everywhere: in each of the calls."""

    def symptom(case):
        compared = case.beside if everywhere else [case]
        same = all(np.array_equal(other.value.numpy(), *turning(other.call, toward)) for other in compared)
        if same and not np.array_equal(case.want, *turning(case.call, toward)):
            return sentence

    return symptom


def parentheses_missing(case):
    if '"bitwise_and' in case.error and "not implemented" in case.error:
        return (
            f"{mistakes.error_place(case)}`&` binds tighter than `>`, so it took a number on either side. Put each"
            " comparison in parentheses."
        )


TURNING_HEADS = Exercise(
    id="8.2",
    title="Heads that turn",
    name="my_turning_heads",
    points=2,
    difficulty=2,
    minutes=6,
    why="A margin keeps out heads that were undecided before and after: noise turns them, not the word.",
    hints=(
        "Two things must hold for a head. Which difference says that it preferred the first word before?",
        "first_before - second_before > margin is True for heads that preferred the first word before.",
        "& combines two tables of True and False; put each comparison in parentheses.",
    ),
    make_calls=calls_on_turns,
    oracle=turning,
    mistakes=(
        Mistake(
            "the wrong direction",
            turned_as(
                "You found the heads that turn from the second word to the first. Before, the first must be ahead.",
                lambda a, b, c, d, margin: b - a > margin and c - d > margin,
            ),
        ),
        Mistake(
            "either direction",
            turned_as(
                "You also found heads that turn from the second word to the first. Before, the first word must be"
                " ahead, and after, the second: absolute values do not tell which is.",
                lambda a, b, c, d, margin: (a - b > margin and d - c > margin) or (b - a > margin and c - d > margin),
            ),
        ),
        Mistake(
            "no margin",
            turned_as(
                "You found every head that turns, by whatever little. Both differences must be larger than margin.",
                lambda a, b, c, d, margin: a > b and d > c,
            ),
        ),
        Mistake(
            "ties counted",
            turned_as(
                "You also found heads that turn by exactly margin. More than margin is `>`, not `>=`.",
                lambda a, b, c, d, margin: a - b >= margin and d - c >= margin,
            ),
        ),
        Mistake("comparisons without parentheses", parentheses_missing),
        Mistake(
            "or instead of and",
            turned_as(
                "You found heads that prefer the first word before *or* the second after. Both must hold: use &.",
                lambda a, b, c, d, margin: a - b > margin or d - c > margin,
                everywhere=True,  # a margin on one side only looks like it, head by head
            ),
        ),
        Mistake(
            "does not turn",
            turned_as(
                "You found the heads that prefer the first word before *and* after. Those stay as they are.",
                lambda a, b, c, d, margin: a - b > margin and c - d > margin,
            ),
        ),
    ),
)

# --- 8.3 how many tokens does a head look at? -------------------------------------------------------------------------


def calls_on_rows():
    causal = torch.softmax(normal(2, 4, 4, seed=88).masked_fill(torch.ones(4, 4).triu(1).bool(), -torch.inf), dim=-1)
    return [
        FunctionCall([torch.softmax(3 * normal(2, 3, 5, 5, seed=89), dim=-1)]),
        FunctionCall([torch.stack([torch.eye(4), torch.full((4, 4), 0.25)])]),
        FunctionCall([causal]),
    ]


def entropy(row):
    """The entropy of a list of shares."""
    return -math.fsum(share * math.log(share) for share in row if share > 0)


def matrices(weights):
    """Weights (..., T, T) as a list of matrices, and the shape to bring a number for each back to."""
    return oracle.rows(weights.reshape(-1, *weights.shape[-2:])), weights.shape[:-2]


def per_head(call, number):
    """The number of each matrix of rows, (...)."""
    heads, shape = matrices(call.arguments[0])
    return np.array([number(head) for head in heads]).reshape(shape)


def breadth(call):
    return [per_head(call, lambda head: math.fsum(math.exp(entropy(row)) for row in head) / len(head))]


def measured_as(sentence, number):
    """A symptom: the answer is another number of each head."""

    def symptom(case):
        if equals(case, per_head(case.call, number)):
            return sentence

    return symptom


def nothing_times_infinity(case):
    got = mistakes.returned(case)
    if np.isnan(got).any() and (case.arguments[0] == 0).any():
        return (
            "You have nan where a weight is 0: its logarithm is -inf, and 0 times -inf is nan. torch.xlogy(w, w) is w"
            " times ln w, and 0 at 0."
        )


BREADTH = Exercise(
    id="8.3",
    title="How many tokens does a head look at?",
    name="my_breadth",
    points=3,
    difficulty=3,
    minutes=8,
    why="One number per head says how sharply it looks: near 1 for the token before, near T for an even average.",
    hints=(
        "First the entropy of each row, then exp, then the mean over rows. Over which axis does each step run?",
        "torch.xlogy(weights, weights) is weights * ln(weights), with 0 where a weight is 0.",
        "(-torch.xlogy(weights, weights).sum(dim=-1)).exp().mean(dim=-1)",
    ),
    make_calls=calls_on_rows,
    oracle=breadth,
    mistakes=(
        Mistake("0 times minus infinity", nothing_times_infinity),
        Mistake(
            "exp left out",
            measured_as(
                "That is the mean entropy itself, which is 0 for a head that looks at one token. Take exp of each row's"
                " entropy, then the mean.",
                lambda head: math.fsum(entropy(row) for row in head) / len(head),
            ),
        ),
        Mistake(
            "exp of the mean",
            measured_as(
                "You take the mean of the entropies, then exp. First exp of each row's entropy, then the mean.",
                lambda head: math.exp(math.fsum(entropy(row) for row in head) / len(head)),
            ),
        ),
        Mistake(
            "entropy over the wrong axis",
            measured_as(
                "Your sums run over the queries: columns. What one query gives away stands in a row: sum over the keys,"
                " dim=-1.",
                lambda head: math.fsum(math.exp(entropy(column)) for column in zip(*head)) / len(head),
            ),
        ),
        Mistake(
            "minus forgotten",
            measured_as(
                "Your numbers are below 1: the logarithm of a share is negative, so entropy needs the minus in front.",
                lambda head: math.fsum(math.exp(-entropy(row)) for row in head) / len(head),
            ),
        ),
    ),
)

# --- 8.4 hear one head only -------------------------------------------------------------------------------------------


def calls_on_matrices():
    return [
        FunctionCall([normal(6, 6, seed=90), 1, 2]),
        FunctionCall([normal(8, 8, seed=91), 3, 2]),
        FunctionCall([normal(9, 9, seed=92), 2, 3]),
    ]


def keeping(call, kept):
    """The matrix with 0 wherever not kept(row, column, head, head_dim)."""
    weight, head, head_dim = call.arguments
    rows = enumerate(oracle.rows(weight))
    return np.array([[x if kept(r, c, head, head_dim) else 0.0 for c, x in enumerate(row)] for r, row in rows])


def only_head(call):
    return [keeping(call, lambda row, column, head, size: head * size <= column < (head + 1) * size)]


def kept_as(sentence, kept):
    """A symptom: other entries were kept."""
    return lambda case: sentence if equals(case, keeping(case.call, kept)) else None


def model_changed(case):
    if 0 in case.reply.changed and np.allclose(mistakes.returned(case), case.want):
        return (
            "The result is right, but the original has changed, too: setting entries writes into the matrix that was"
            " given. Start with out_weight.clone(), or with torch.zeros_like(out_weight)."
        )


ONLY_HEAD = Exercise(
    id="8.4",
    title="Hear one head only",
    name="my_only_head",
    points=1,
    difficulty=1,
    minutes=4,
    why="To know what a part does, take it out, or leave it alone, and look. Weights show only where it looks.",
    hints=(
        "A head's numbers are inputs of out_proj. Does nn.Linear store an input as a row or as a column?",
        "Head h owns the columns from h * head_dim up to, not including, (h + 1) * head_dim.",
        "alone = torch.zeros_like(out_weight), then alone[:, start:end] = out_weight[:, start:end].",
    ),
    make_calls=calls_on_matrices,
    oracle=only_head,
    mistakes=(
        Mistake("original changed", model_changed),
        Mistake(
            "the head removed",
            kept_as(
                "You removed this head and kept all others. Here only this head's columns stay; the others become 0.",
                lambda row, column, head, size: not head * size <= column < (head + 1) * size,
            ),
        ),
        Mistake(
            "rows instead of columns",
            kept_as(
                "You kept *rows*: these are outputs, to which all heads contribute. A head's numbers are inputs of"
                " out_proj, its columns.",
                lambda row, column, head, size: head * size <= row < (head + 1) * size,
            ),
        ),
        Mistake(
            "one column only",
            kept_as(
                "You kept one column. A head has head_dim of them, from head * head_dim on.",
                lambda row, column, head, size: column == head,
            ),
        ),
        Mistake(
            "heads counted from 1",
            kept_as(
                "You kept the head before. Heads are counted from 0: head h begins at column h * head_dim.",
                lambda row, column, head, size: (head - 1) * size <= column < head * size,
            ),
        ),
    ),
)

QUESTIONS = (
    Question(
        id="Q8.1",
        right="b",
        said={
            "a": 'The sentence is nearly the same, but its meaning is not: one word decides what "it" stands for.',
            "b": "Yes. The right noun changes, so a head that finds it must change its mind.",
            "c": "That would be a head that does not know. One that finds the right noun prefers it.",
        },
    ),
    Question(
        id="Q8.2",
        right="b",
        said={
            "a": "Seventy-two is more than it seems: each coin is right six times with a chance of 1 in 64.",
            "b": "Yes: 72 times 1/64. So even one head with six right answers would prove nothing.",
            "c": "That would be 72/6. The chance for six in a row is 1/2 six times over, 1/64.",
        },
    ),
    Question(
        id="Q8.3",
        right="c",
        said={
            "a": "The weight is nine tenths, but a weight multiplies a value. If that value is short, little is left.",
            "b": "It may be, if the value of [CLS] is short. The weight alone does not tell: look at the value.",
            "c": "Yes. What is mixed is weight times value, and a value can be short or long.",
        },
    ),
)
