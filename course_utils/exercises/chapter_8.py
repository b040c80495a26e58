"""The exercises of chapter 8, a real model."""

import math

import numpy as np
import torch

from course_utils.exercises import oracle
from course_utils.exercises.exercise import Exercise
from course_utils.exercises.inputs import called_with, called_without_gradient, causal_weights, normal, uniform

# --- 8.1 the vectors of a batch of sentences --------------------------------------------------------------------------


def padding_after(*lengths):
    """True at padding: (B, T) for sentences of these lengths."""
    return torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None]  # (B, T)


def sentence_vectors(contexts, is_padding):
    sentences = []
    for context, padding in zip(oracle.rows(contexts), is_padding.tolist()):
        real = [token for token, hidden in zip(context, padding) if not hidden]
        sentences.append(oracle.mix([1 / len(real)] * len(real), real))
    return np.array(sentences)


SENTENCE_VECTORS = Exercise(
    id="8.1",
    title="The vectors of a batch of sentences",
    name="my_sentence_vectors",
    points=2,
    difficulty=2,
    success_message=(
        "The mask is needed twice: in attention, so that nobody reads padding, and here, so that nobody averages it."
    ),
    hints=(
        "A mean is a sum divided by a number. Padding belongs in neither.",
        "(~is_padding).unsqueeze(-1) has shape (B, T, 1): multiplied with the context vectors, it makes padding 0.",
        "(context * kept).sum(dim=1) / kept.sum(dim=1), where kept is that (B, T, 1).",
    ),
    make_calls=lambda: [
        called_with(normal(2, 5, 3, seed=81), padding_after(5, 2)),
        called_with(normal(3, 4, 6, seed=82) + 1, padding_after(1, 4, 3)),
        called_with(normal(1, 5, 2, seed=83), torch.tensor([[True, True, False, False, False]])),
        called_with(normal(2, 4, 3, seed=93).relu(), padding_after(4, 2)),  # a 0 in a real token is a number, too
    ],
    oracle=sentence_vectors,
)

# --- 8.2 heads that turn ----------------------------------------------------------------------------------------------


def tables():
    """What four calls share."""
    return [uniform(3, 4, seed=84 + k) for k in range(4)]


# head 0 turns, head 1 turns back, head 2 stays; 3 is undecided before, 4 after: by not more than 0
LEVEL = [
    [0.5, 0.2, 0.5, 0.5, 0.5],
    [0.2, 0.5, 0.2, 0.5, 0.2],
    [0.2, 0.5, 0.5, 0.2, 0.5],
    [0.5, 0.2, 0.2, 0.5, 0.5],
]
# head 0 turns by too little, head 1 as it should, head 2 the wrong way; heads 3 and 4 by too little on one side
NARROW = [
    [0.51, 0.7, 0.3, 0.7, 0.51],
    [0.5, 0.2, 0.6, 0.2, 0.5],
    [0.5, 0.2, 0.6, 0.5, 0.2],
    [0.51, 0.7, 0.3, 0.51, 0.7],
]


def turning(*tables_and_margin):
    *tables, margin = tables_and_margin
    rows = zip(*map(oracle.rows, tables))
    return np.array([[a - b > margin and d - c > margin for a, b, c, d in zip(*heads)] for heads in rows])


TURNING_HEADS = Exercise(
    id="8.2",
    title="Heads that turn",
    name="my_turning_heads",
    points=2,
    difficulty=2,
    success_message="A margin keeps out heads that were undecided before and after: noise turns them, not the word.",
    hints=(
        "Two things must hold for a head. Which difference says that it preferred the first word before?",
        "first_before - second_before > margin is True for heads that preferred the first word before.",
        "& combines two tables of True and False; put each comparison in parentheses.",
    ),
    make_calls=lambda: [
        called_without_gradient(*tables(), 0.1),
        called_without_gradient(*tables(), 0.0),
        called_without_gradient(*normal(4, 5, 7, seed=820), 0.4),
        called_without_gradient(*tables(), 0.3),
        called_without_gradient(*(table.softmax(dim=-1) for table in tables()), 0.02),
        called_without_gradient(*(torch.tensor([row]) for row in LEVEL), 0.0),
        called_without_gradient(*(torch.tensor([row]) for row in NARROW), 0.05),
    ],
    oracle=turning,
)

# --- 8.3 how many tokens does a head look at? -------------------------------------------------------------------------


def entropy(row):
    """The entropy of a list of shares."""
    return -math.fsum(share * math.log(share) for share in row if share > 0)


def breadth(weights):
    heads = oracle.rows(weights.flatten(0, -3))
    means = [math.fsum(math.exp(entropy(row)) for row in head) / len(head) for head in heads]
    return np.array(means).reshape(weights.shape[:-2])


BREADTH = Exercise(
    id="8.3",
    title="How many tokens does a head look at?",
    name="my_breadth",
    points=3,
    difficulty=3,
    success_message=(
        "One number per head says how sharply it looks: near 1 for the token before, near T for an even average."
    ),
    hints=(
        "First the entropy of each row, then exp, then the mean over rows. Over which axis does each step run?",
        "torch.xlogy(weights, weights) is weights * ln(weights), with 0 where a weight is 0.",
        "(-torch.xlogy(weights, weights).sum(dim=-1)).exp().mean(dim=-1)",
    ),
    make_calls=lambda: [
        called_without_gradient(torch.softmax(3 * normal(2, 3, 5, 5, seed=89), dim=-1)),
        called_without_gradient(torch.stack([torch.eye(4), torch.full((4, 4), 0.25)])),
        called_without_gradient(causal_weights(2, 4, 4, seed=88)),
    ],
    oracle=breadth,
)

# --- 8.4 hear one head only -------------------------------------------------------------------------------------------


def only_head(weight, head, head_dim):
    own = range(head * head_dim, (head + 1) * head_dim)
    return np.array([[x if column in own else 0.0 for column, x in enumerate(row)] for row in oracle.rows(weight)])


ONLY_HEAD = Exercise(
    id="8.4",
    title="Hear one head only",
    name="my_only_head",
    points=1,
    difficulty=1,
    success_message=(
        "To know what a part does, take it out, or leave it alone, and look. Weights show only where it looks."
    ),
    hints=(
        "A head's numbers are inputs of out_proj. Does nn.Linear store an input as a row or as a column?",
        "Head h owns the columns from h * head_dim up to, not including, (h + 1) * head_dim.",
        "alone = torch.zeros_like(out_weight), then alone[:, start:end] = out_weight[:, start:end].",
    ),
    make_calls=lambda: [
        called_without_gradient(normal(6, 6, seed=90), 1, 2),
        called_without_gradient(normal(8, 8, seed=91), 3, 2),
        called_without_gradient(normal(9, 9, seed=92), 2, 3),
        called_without_gradient(normal(4, 6, seed=94), 0, 2),  # 6 inputs, which are 3 heads of 2
        called_without_gradient(normal(4, 4, seed=95).double() / 3, 1, 2),  # more digits than 32 bits hold
    ],
    oracle=only_head,
)
