"""The exercises and questions of chapter 3, hiding the future."""

import numpy as np
import torch

from course_utils.exercises import mistakes, oracle
from course_utils.exercises.exercise import Exercise, Question
from course_utils.exercises.inputs import non_contiguous, normal, uniform
from course_utils.exercises.mistakes import Mistake
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


averages = mistakes.recovered(lambda case: case.arguments[0].double().numpy())


def sums_instead_of_averages(case):
    seen = averages(case)
    sums = seen.sum(axis=-1)
    if np.abs(mistakes.upper(seen)).max() < 1e-6 and np.allclose(sums, np.arange(1, len(sums) + 1)):
        return (
            f"Your last row is the *sum* of all {len(sums)} tokens: its weights sum to {sums[-1]:.0f}. Divide each row"
            " by its own sum."
        )


def in_other_words(mistake, words):
    """The mistake with a sentence of this exercise's own, which has neither softmax nor masked_fill."""
    return Mistake(mistake.name, lambda case: mistake.symptom(case) and words)


RUNNING_AVERAGE = Exercise(
    id="3.1",
    title="Running averages by a matrix product",
    name="my_running_average",
    points=1,
    difficulty=1,
    minutes=4,
    why="Every causal attention is such a product: a lower triangle of weights whose rows sum to 1, times the tokens.",
    hints=(
        "Row t of the result mixes the rows 0 to t of the sequence. Which matrix holds the weights?",
        "Start from torch.tril(torch.ones(T, T)), and make each row sum to 1.",
        "weights = visible / visible.sum(dim=-1, keepdim=True), then weights @ sequence.",
    ),
    make_calls=calls_on_sequences,
    oracle=running_averages,
    mistakes=(
        Mistake("sums instead of averages", sums_instead_of_averages),
        in_other_words(
            mistakes.softmax_over_queries(averages),
            "Each *column* of your weights sums to 1, and your rows do not. Divide each row by its own sum:"
            " `visible.sum(dim=-1, keepdim=True)`.",
        ),
        in_other_words(
            mistakes.no_mask(averages),
            "No weight is 0: every row of yours mixes later tokens, too. Row t takes tokens 0 to t only, a lower"
            " triangle: torch.tril.",
        ),
        in_other_words(
            mistakes.mask_polarity(averages),
            "Your row t mixes token t with those that come *later*. Row t takes tokens 0 to t, a lower triangle:"
            " torch.tril.",
        ),
        in_other_words(
            mistakes.diagonal_off_by_one(averages),
            "Your triangle begins one token too early or too late. Row t takes tokens 0 to t, token t included:"
            " torch.tril without a diagonal argument.",
        ),
    ),
)

# --- 3.2 causal weights -----------------------------------------------------------------------------------------------


def calls_on_scores():
    return [
        FunctionCall([normal(2, 4, 4, seed=4)], gradient=True),
        FunctionCall([normal(3, 5, 5, seed=5) * 3]),
        FunctionCall([non_contiguous(normal(1, 3, 3, seed=6))]),
        FunctionCall([normal(2, 1, 1, seed=7)]),
        FunctionCall([normal(2, 4, 4, seed=14) - 200]),  # so low that no small number hides anything; -1e9 still does
    ]


def causal_weights(call):
    (scores,) = map(oracle.rows, call.arguments)
    return [
        np.array(
            [[oracle.softmax(row, [s <= t for s in range(len(row))]) for t, row in enumerate(one)] for one in scores]
        )
    ]


def given_scores(case):
    """The scores that the answer was given; scaled already."""
    return case.arguments[0].double().numpy()


def hidden_above_the_visible(case):
    seen, scores = mistakes.returned(case), given_scores(case)
    future = np.triu(np.ones(seen.shape[-2:]), k=1)[:-1]  # all rows but the last, (T - 1, T)
    if len(future) and np.allclose(seen[..., :-1, :], future / future.sum(axis=-1, keepdims=True), atol=1e-4):
        return (
            f"The visible scores lie near {scores.mean():.0f} here, and the future gets all of the weight: hidden"
            " scores were filled with a number that is larger than those. -inf is below every score."
        )


CAUSAL_WEIGHTS = Exercise(
    id="3.2",
    title="Causal weights for a batch",
    name="my_causal_weights",
    points=2,
    difficulty=2,
    minutes=6,
    why="exp(-inf) is exactly 0, so a hidden token has no share in the sum, and no row has to be repaired afterwards.",
    hints=(
        "Hide the future before softmax, so that each row still sums to 1.",
        "The number of tokens is scores.shape[-1]. torch.tril or torch.triu gives the mask.",
        "scores.masked_fill(hidden, -torch.inf) returns new scores; then torch.softmax(..., dim=-1).",
    ),
    make_calls=calls_on_scores,
    oracle=causal_weights,
    mistakes=(
        mistakes.CHANGED_IN_PLACE,
        mistakes.mask_polarity(mistakes.returned),
        mistakes.softmax_over_queries(mistakes.returned),
        mistakes.softmax_over_batch(mistakes.returned),
        mistakes.diagonal_off_by_one(mistakes.returned),
        mistakes.filled_with_a_number(mistakes.returned, given_scores),
        Mistake("hidden scores filled with a number", hidden_above_the_visible),
        mistakes.not_renormalised(mistakes.returned),
        mistakes.no_mask(mistakes.returned),
    ),
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


def softmax_again(case):
    seen, given = mistakes.returned(case), case.arguments[0].double().numpy()
    if mistakes.sums_to_one(seen, axis=-1) and abs(mistakes.divisor(seen, given) - 1) < 1e-3:
        return (
            "Your ratios are those of exp(weights): softmax ran a second time, over weights. Dividing each row by its"
            " sum is all that is needed."
        )


def columns_divided(case):
    seen = mistakes.returned(case)
    if mistakes.sums_to_one(seen, axis=-2) and not mistakes.sums_to_one(seen, axis=-1):
        return (
            f"Each *column* sums to 1, and your first row to {seen.sum(axis=-1).flat[0]:.4f}: you divided by the sums"
            " of columns. Sum over the keys, the last axis: dim=-1, keepdim=True."
        )


def divided_without_keepdim(case):
    seen, given = mistakes.returned(case), case.arguments[0].double().numpy()
    kept = np.tril(given)
    factors = np.divide(seen, kept, out=np.zeros_like(seen), where=kept > 0)
    last = factors[..., -1, :]
    if (
        np.allclose(factors, np.tril(np.broadcast_to(last[..., None, :], factors.shape)), atol=1e-4)
        and np.ptp(last) > 1e-3
    ):
        return (
            "Each *column* was divided by a number of its own: the sums of the rows lay down as one row. Keep them"
            " standing, sum(dim=-1, keepdim=True)."
        )


MASK_AFTERWARDS = Exercise(
    id="3.3",
    title="Mask after softmax, and repair the rows",
    name="my_masked_afterwards",
    points=2,
    difficulty=2,
    minutes=6,
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
    mistakes=(
        mistakes.not_renormalised(mistakes.returned),
        Mistake("softmax over the wrong axis", columns_divided),
        Mistake("row sums laid down as a row", divided_without_keepdim),
        mistakes.mask_polarity(mistakes.returned),
        mistakes.diagonal_off_by_one(mistakes.returned),
        Mistake("softmax of weights", softmax_again),
        mistakes.no_mask(mistakes.returned),
    ),
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


def hidden(case):
    """The learner's mask as True and False, if its shape is right."""
    got = mistakes.returned(case)
    return got.astype(bool)


def all_the_other_way_round(case):
    if (hidden(case) == ~case.want).all():
        return "True and False are exchanged everywhere: here True means hidden, as masked_fill wants it."


def whole_row_hidden(case):
    seen = hidden(case)
    if seen.all(axis=-1).any():
        place = [int(k) for k in np.argwhere(seen.all(axis=-1))[0]]
        return (
            f"Row {place} hides every key, so softmax would give nan. Every token may see itself: take the diagonal out"
            " of the mask."
        )


def padding_hides_rows(case):
    is_padding = case.arguments[0].numpy()
    seen = hidden(case)
    past = np.tril(np.ones(seen.shape[-2:], dtype=bool), k=-1)
    by_query, by_key = (
        np.broadcast_to(side, seen.shape)[:, past] for side in (is_padding[:, :, None], is_padding[:, None, :])
    )
    if (seen[:, past] == by_query).all() and (by_query != by_key).any():
        return (
            "Your mask hides the *rows* of padding tokens. Padding must not be seen: it hides columns, is_padding[:,"
            " None, :]."
        )


def future_visible(case):
    seen = hidden(case)
    others = ~np.eye(seen.shape[-1], dtype=bool)
    by_padding = np.broadcast_to(case.arguments[0].numpy()[:, None, :], seen.shape)
    if (seen[:, others] == by_padding[:, others]).all() and not by_padding.all():
        return "Padding is hidden, but the future is not. A key is hidden if it is in the future *or* is padding."


def padding_visible(case):
    seen = hidden(case)
    is_padding = case.arguments[0]
    if is_padding.all():  # hiding *only* padding of the future looks the same there
        return None
    if (seen == np.triu(np.ones(seen.shape[-2:], dtype=bool), k=1)).all() and is_padding.any():
        return "The future is hidden, but padding is not. A key is hidden if it is in the future *or* is padding."


PADDING = Exercise(
    id="3.4",
    title="A causal mask that survives padding",
    name="my_mask",
    points=3,
    difficulty=3,
    minutes=10,
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
    mistakes=(
        Mistake("mask the wrong way round", all_the_other_way_round),
        Mistake("padding not hidden", padding_visible),
        Mistake("future not masked", future_visible),
        Mistake("padding hides queries instead of keys", padding_hides_rows),
        Mistake("a row with everything hidden", whole_row_hidden),
    ),
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
        FunctionCall([dependencies(4)]),
        FunctionCall([dependencies(5, (0, 1, 0.3))]),  # one leak, to the next token
        FunctionCall([dependencies(4, (0, 3, 0.2))]),  # one leak, far away
        FunctionCall([dependencies(5, (4, 0, 0.0), (2, 2, 0.0))]),  # causal, though not all that is allowed is used
        FunctionCall([dependencies(3, (0, 2, 1e-3))]),  # a small leak is a leak
        FunctionCall([torch.rot90(dependencies(4), 2)]),  # everything sees the future and nothing the past
        FunctionCall([torch.zeros(3, 3)]),  # depends on nothing: nothing leaks
        FunctionCall([dependencies(5, (1, 3, 0.3))]),  # one leak, neither next to the diagonal nor in the corner
    ]


def is_causal(call):
    (matrix,) = map(oracle.rows, call.arguments)
    return [not any(value != 0 for t, row in enumerate(matrix) for value in row[t + 1 :])]


def wrong_verdicts(*sets, words):
    """A mistake's symptom: the wrong answers are those to exactly one of these sets of matrices."""

    def symptom(case):
        missed = {number for number, other in enumerate(case.beside) if other.problem}
        return words if missed in sets and not case.error else None

    return symptom


IS_CAUSAL = Exercise(
    id="3.5",
    title="Does anything leak?",
    name="my_is_causal",
    points=1,
    difficulty=1,
    minutes=4,
    why="It needs no right numbers to compare with: one matrix of influences proves a mask right or wrong.",
    hints=(
        "Which entries of the matrix say that an output depends on a *later* input?",
        "torch.triu(matrix, diagonal=1) keeps those above the diagonal.",
        "bool((torch.triu(matrix, diagonal=1) == 0).all())",
    ),
    make_calls=calls_on_dependencies,
    oracle=is_causal,
    mistakes=(
        Mistake(
            "mask the wrong way round",
            wrong_verdicts(
                {0, 3, 5},
                words="You call a matrix causal in which everything looks at the future and nothing at the past. Above"
                " the diagonal, the column (input) comes after the row (output).",
            ),
        ),
        Mistake(
            "diagonal off by one",
            wrong_verdicts(
                {1},
                {1, 3, 6},  # and the past demanded
                words="You miss a leak from input 1 to output 0, just above the diagonal. The future begins at"
                " diagonal=1.",
            ),
        ),
        Mistake(
            "diagonal off by one",
            wrong_verdicts(
                {0, 3},
                words="You reject a matrix in which nothing leaks: its diagonal is the influence of a token on itself,"
                " which is allowed. The future begins at diagonal=1.",
            ),
        ),
        Mistake(
            "only one corner looked at",
            wrong_verdicts(
                {2, 4},
                {2, 4, 7},
                words="You miss a leak from input 3 to output 0. Look at all entries above the diagonal, not at some.",
            ),
        ),
        Mistake(
            "only one corner looked at",
            wrong_verdicts(
                {1, 7},
                words="You miss a leak from input 3 to output 1. Look at all entries above the diagonal, not at some.",
            ),
        ),
        Mistake(
            "the past demanded",
            wrong_verdicts(
                {3, 6},
                words="You reject a matrix in which an output ignores part of its past. That is allowed; only the"
                " future must have no influence.",
            ),
        ),
        Mistake(
            "a small leak overlooked",
            wrong_verdicts({4}, words="You overlook an influence of 0.001 above the diagonal. A small leak is a leak."),
        ),
    ),
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
