"""The exercises and questions of chapter 3, hiding the future."""

import numpy as np
import torch

from course_utils.exercises import oracle
from course_utils.exercises.exercise import Exercise, Question
from course_utils.exercises.inputs import measured, non_contiguous, normal, uniform
from course_utils.judging.calls import FunctionCall

# --- 3.1 running averages ---------------------------------------------------------------------------------------------


def calls_on_sequences():
    return [
        FunctionCall([normal(3, 5, seed=1)]),
        FunctionCall([non_contiguous(normal(6, 2, seed=2))]),
        FunctionCall([normal(1, 4, seed=3)]),
    ]


def running_averages(call):
    (sequence,) = map(oracle.rows, call.arguments)
    return [np.array([oracle.mix([1 / (t + 1)] * (t + 1), sequence[: t + 1]) for t in range(len(sequence))])]


RUNNING_AVERAGE = Exercise(
    id="3.1",
    title="Running averages by a matrix product",
    name="my_running_average",
    points=1,
    difficulty=1,
    why="Every causal attention is such a product: a lower triangle of weights whose rows sum to 1, times the tokens.",
    hints=(
        "Row t of the result mixes the rows 0 to t of the sequence. Which matrix holds the weights?",
        "Start from torch.tril(torch.ones(T, T)), and make each row sum to 1.",
        "weights = visible / visible.sum(dim=-1, keepdim=True), then weights @ sequence.",
    ),
    make_calls=calls_on_sequences,
    oracle=running_averages,
)

# --- 3.2 causal weights -----------------------------------------------------------------------------------------------


def calls_on_scores():
    return [
        FunctionCall([normal(2, 4, 4, seed=4)]),
        FunctionCall([normal(3, 5, 5, seed=5) * 3]),
        FunctionCall([non_contiguous(normal(1, 3, 3, seed=6))]),
        FunctionCall([normal(2, 1, 1, seed=7)]),
        FunctionCall([normal(2, 3, 3, seed=15).round()]),  # some scores are exactly 0
        FunctionCall([normal(2, 4, 4, seed=14) - 200]),  # so low that no small number hides anything; -1e9 still does
    ]


def causal_weights(call):
    (scores,) = map(oracle.rows, call.arguments)
    return [
        np.array(
            [[oracle.softmax(row, [s <= t for s in range(len(row))]) for t, row in enumerate(one)] for one in scores]
        )
    ]


CAUSAL_WEIGHTS = Exercise(
    id="3.2",
    title="Causal weights for a batch",
    name="my_causal_weights",
    points=2,
    difficulty=2,
    why="exp(-inf) is exactly 0, so a hidden token has no share in the sum, and no row has to be repaired afterwards.",
    hints=(
        "Hide the future before softmax, so that each row still sums to 1.",
        "The number of tokens is scores.shape[-1]. torch.tril or torch.triu gives the mask.",
        "scores.masked_fill(hidden, -torch.inf) returns new scores; then torch.softmax(..., dim=-1).",
    ),
    make_calls=calls_on_scores,
    oracle=causal_weights,
    map=lambda weights: weights[0],
)

# --- 3.3 masking after softmax ----------------------------------------------------------------------------------------


def calls_on_weights():
    return [
        FunctionCall([torch.softmax(normal(2, 4, 4, seed=9), dim=-1)]),
        FunctionCall([torch.softmax(normal(5, 5, seed=10) * 2, dim=-1)]),
        FunctionCall([torch.softmax(normal(3, 2, 3, 3, seed=11), dim=-1)]),
    ]


def masked_afterwards(call):
    (weights,) = call.arguments
    rows = oracle.rows(weights.reshape(-1, *weights.shape[-2:]))
    kept = [
        [[w / sum(row[: t + 1]) if s <= t else 0.0 for s, w in enumerate(row)] for t, row in enumerate(one)]
        for one in rows
    ]
    return [np.array(kept).reshape(weights.shape)]


MASK_AFTERWARDS = Exercise(
    id="3.3",
    title="Mask after softmax, and repair the rows",
    name="my_masked_afterwards",
    points=2,
    difficulty=2,
    why=(
        "Softmax divides by a sum, and dividing again by the sum of what is left cancels the first: both ways agree"
        " exactly."
    ),
    hints=(
        "First set the future to 0. What do the rows sum to then?",
        "Divide each row by its own sum; keepdim=True keeps the sums as a column.",
        "kept = torch.tril(weights), then kept / kept.sum(dim=-1, keepdim=True).",
    ),
    make_calls=calls_on_weights,
    oracle=masked_afterwards,
    map=lambda weights: weights.reshape(-1, *weights.shape[-2:])[0],
)

# --- 3.4 padding ------------------------------------------------------------------------------------------------------


def calls_on_padding():
    left = torch.tensor([[True, True, False, False], [False, False, False, True]])
    return [FunctionCall([left]), FunctionCall([uniform(3, 5, seed=8) < 0.4]), FunctionCall([torch.ones(2, 3).bool()])]


def padding_mask(call):
    (is_padding,) = call.arguments
    rows = is_padding.tolist()
    return [
        np.array([[[s != t and (s > t or row[s]) for s in range(len(row))] for t in range(len(row))] for row in rows])
    ]


PADDING = Exercise(
    id="3.4",
    title="A causal mask that survives padding",
    name="my_mask",
    points=3,
    difficulty=3,
    why=(
        "Padding hides columns, since keys are what is seen; the diagonal stays open, so no row is empty and none"
        " becomes nan."
    ),
    hints=(
        "Two reasons can hide a key: it lies in the future, or it is padding. And there is one exception.",
        "is_padding[:, None, :] has shape (B, 1, T): one row of keys per sequence, for all queries.",
        "(future | is_padding[:, None, :]) & ~torch.eye(T).bool()",
    ),
    make_calls=calls_on_padding,
    oracle=padding_mask,
)

# --- 3.5 is it causal? ------------------------------------------------------------------------------------------------

CAUSAL, NOT_CAUSAL = True, False


def dependencies(size, *changes):
    """A lower triangle of influences, (size, size), with some entries set: (row, column, value)."""
    matrix = torch.tril(uniform(size, size, seed=12) + 0.1)
    for row, column, value in changes:
        matrix[row, column] = value
    return matrix


def calls_on_dependencies():
    return [
        measured([dependencies(4)]),
        measured([dependencies(5, (0, 1, 0.3))]),  # one leak, to the next token
        measured([dependencies(4, (0, 3, 0.2))]),  # one leak, far away
        measured([dependencies(5, (4, 0, 0.0), (2, 2, 0.0))]),  # causal, though not all that is allowed is used
        measured([dependencies(3, (0, 2, 1e-5))]),  # a small leak is a leak
        measured([torch.rot90(dependencies(4), 2)]),  # everything sees the future and nothing the past
        measured([torch.zeros(3, 3)]),  # depends on nothing: nothing leaks
        measured([dependencies(5, (1, 3, 0.3))]),  # one leak, neither next to the diagonal nor in the corner
        measured([dependencies(4, (1, 2, torch.nan))]),  # nan proves nothing
    ]


def is_causal(call):
    (matrix,) = map(oracle.rows, call.arguments)
    return [not any(value != 0 for t, row in enumerate(matrix) for value in row[t + 1 :])]


IS_CAUSAL = Exercise(
    id="3.5",
    title="Does anything leak?",
    name="my_is_causal",
    points=1,
    difficulty=1,
    why="It needs no right numbers to compare with: one matrix of influences proves a mask right or wrong.",
    hints=(
        "Which entries of the matrix say that an output depends on a *later* input?",
        "torch.triu(matrix, diagonal=1) keeps those above the diagonal.",
        "bool((torch.triu(matrix, diagonal=1) == 0).all())",
    ),
    make_calls=calls_on_dependencies,
    oracle=is_causal,
)

QUESTIONS = (
    Question(
        id="Q3.1",
        right="b",
        said={
            "a": "Almost: the last row loses nothing, since no token comes after it.",
            "b": "Yes. Every other row loses the weights on its future, and the first row loses most.",
            "c": "Softmax did, but before the zeros came. What is set to 0 afterwards is missing from the sum.",
        },
    ),
    Question(
        id="Q3.2",
        right="c",
        said={
            "a": (
                "That is what -inf gives: exp(-inf) is 0 everywhere, and 0/0 is nan. A large negative number is still a"
                " number."
            ),
            "b": "Softmax divides by the sum, so a row always sums to 1, whatever its scores.",
            "c": (
                "Yes. All scores are equal, so all weights are. Nothing fails, and the row attends to what was"
                " forbidden."
            ),
        },
    ),
    Question(
        id="Q3.3",
        right="b",
        said={
            "a": "15 cells lie above the diagonal. Those are the ones that must say no.",
            "b": "Yes: 1 + 2 + 3 + 4 + 5 + 6, the lower triangle with its diagonal.",
            "c": "That would be the diagonal alone: every output would depend on its own input and on no earlier one.",
        },
    ),
)
