"""The exercises and questions of chapter 1, dot-product attention."""

import numpy as np
import torch

from course_utils.exercises import mistakes, oracle
from course_utils.exercises.exercise import Exercise, Question
from course_utils.exercises.inputs import non_contiguous, normal
from course_utils.exercises.mistakes import CLOSE, Mistake
from course_utils.judging.calls import FunctionCall


def arrays(case):
    """The arguments of a case as float64 arrays."""
    return [argument.double().numpy() for argument in case.arguments]


# --- 1.1 scores -------------------------------------------------------------------------------------------------------


def calls_on_query_and_inputs():
    return [
        FunctionCall([normal(3, seed=101), normal(5, 3, seed=102)]),
        FunctionCall([normal(6, seed=103), non_contiguous(normal(4, 6, seed=104))]),
        FunctionCall([normal(2, seed=105), normal(1, 2, seed=106)]),
    ]


def scores_of_one(call):
    query, inputs = map(oracle.rows, call.arguments)
    return [np.array([oracle.dot(query, row) for row in inputs])]


def products_not_added(case):
    _, inputs = arrays(case)
    if case.got.shape == inputs.shape:
        return (
            f"Your result has shape {case.got.shape}: these are the products, number by number. Add up those of each"
            f" token, and {len(inputs)} scores are left."
        )


def added_over_tokens(case):
    query, _ = arrays(case)
    if (
        case.got.size in (1, len(query))
        and np.isclose(case.got.sum(), case.want.sum(), atol=CLOSE)
        and len(case.want) > 1
    ):
        return (
            f"You have {case.got.size} number{'s' * (case.got.size > 1)} for {len(case.want)} tokens, and the total is"
            " right: products of different tokens were added up. Add within a row only, over the last axis."
        )


def unit_length(case):
    _, inputs = arrays(case)
    shrunk = case.want / mistakes.returned(case)
    lengths = np.linalg.norm(inputs, axis=-1)
    if len(inputs) > 2 and np.ptp(lengths) > CLOSE and np.ptp(shrunk / lengths) < CLOSE:
        return (
            f"Your first score is {case.got[0]:.4f}: you divided by the lengths of the vectors. That is the cosine of"
            f" their angle; the dot product keeps the lengths, {case.want[0]:.4f}."
        )


SCORES = Exercise(
    id="1.1",
    title="Score every token",
    name="my_scores",
    points=1,
    difficulty=1,
    minutes=3,
    why="A matrix times a vector is one dot product per row: all tokens are scored at once, however many there are.",
    hints=(
        "One number per row of inputs: multiply the row and the query number by number, and add up.",
        "A matrix product does that for all rows at once. Which of the two comes first, so that the shapes fit?",
        "`inputs @ query`: (T, d_in) @ (d_in,) -> (T,).",
    ),
    make_calls=calls_on_query_and_inputs,
    oracle=scores_of_one,
    mistakes=(
        Mistake("products not added up", products_not_added),
        Mistake("added up over the wrong axis", added_over_tokens),
        Mistake("vectors made the same length", unit_length),
        mistakes.WEIGHTS_INSTEAD_OF_SCORES,
        mistakes.SCORES_SCALED,
    ),
)

# --- 1.2 how softmax reacts -------------------------------------------------------------------------------------------


def calls_on_softmax_weights():
    return [
        FunctionCall([torch.softmax(normal(4, seed=107), dim=0)]),
        FunctionCall([torch.softmax(normal(6, seed=108), dim=0)]),
        FunctionCall([torch.tensor([0.0, 1.0, 0.0])]),  # saturated: nothing reacts
        FunctionCall([torch.tensor([1.0])]),
    ]


def reactions(call):
    (weights,) = map(oracle.rows, call.arguments)
    return [np.array([[a * ((i == j) - b) for j, b in enumerate(weights)] for i, a in enumerate(weights)])]


def off_diagonal(matrix):
    """The entries of a square matrix off its diagonal."""
    return matrix[~np.eye(len(matrix), dtype=bool)]


def own_scores_only(case):
    seen = mistakes.returned(case)
    if len(seen) > 1 and np.abs(off_diagonal(seen)).max() < 1e-9 and off_diagonal(case.want).min() < -CLOSE:
        return (
            f"All entries off your diagonal are 0, so your first row sums to {seen[0].sum():.4f}. What one weight gains"
            " the others must lose: weight i reacts to score j with minus the product of both weights."
        )


def sign_of_the_others(case):
    seen = mistakes.returned(case)
    if len(seen) > 1 and seen.min() >= 0 and off_diagonal(seen).max() > CLOSE:
        return (
            f"Row 0, column 1 of your table holds {seen[0, 1]:.4f}, which is positive: if score 1 rises, weight 0 would"
            " rise, too. It must fall, so the products off the diagonal need a minus."
        )


def diagonal_wrong(case):
    seen = mistakes.returned(case)
    if off_diagonal(case.want).min() < -CLOSE and np.allclose(off_diagonal(seen), off_diagonal(case.want), atol=CLOSE):
        return (
            f"Off the diagonal all is right. Row 0, column 0 holds {seen[0, 0]:.4f}, and your first row sums to"
            f" {seen[0].sum():.4f} instead of 0. A weight α reacts to its own score with α(1 - α)."
        )


def weights_taken_for_scores(case):
    (given,), seen = arrays(case), mistakes.returned(case)
    if len(seen) > 2 and np.abs(seen.sum(axis=-1)).max() < CLOSE and off_diagonal(seen).max() < 0:
        alpha = np.sqrt(seen[0, 1:] * seen[1:, 0])  # each the weight behind the column, times the first one
        if abs(mistakes.divisor(alpha[None], given[None, 1:]) - 1) < 1e-2:
            return (
                f"Row 0, column 1 of your table holds {seen[0, 1]:.4f}, and the weights behind it are a softmax of what"
                " you were given. That was weights already: softmax must not run over them again."
            )


REACTIONS = Exercise(
    id="1.2",
    title="How every weight reacts to every score",
    name="my_reactions",
    points=2,
    difficulty=2,
    minutes=6,
    why=(
        "Each row sums to 0, because the weights always sum to 1: what one of them gains, the others lose. Training"
        " sends its gradients through this table."
    ),
    hints=(
        "Two cases: a weight and its own score, a weight and another score. Which entries of the table are which?",
        "Start with minus the product of every pair of weights. What is missing on the diagonal?",
        "`torch.outer` makes the table of all products, `torch.diag` puts a vector on a diagonal: α(1 - α) = α - α·α.",
    ),
    make_calls=calls_on_softmax_weights,
    oracle=reactions,
    mistakes=(
        Mistake("only own scores", own_scores_only),
        Mistake("sign of the other scores", sign_of_the_others),
        Mistake("reaction to the own score", diagonal_wrong),
        Mistake("softmax of weights", weights_taken_for_scores),
    ),
)

# --- 1.3 a stable softmax ---------------------------------------------------------------------------------------------

LARGEST_EXPONENT = 88  # exp of more is inf in 32 bits


def calls_on_hard_scores():
    infinite = -torch.inf
    return [
        FunctionCall([normal(5, seed=109)]),
        FunctionCall([torch.tensor([1000.0, 1001.0, 1002.0])]),
        FunctionCall([torch.tensor([0.5, 0.0, 1000.0])]),
        FunctionCall([torch.tensor([1000.0, 1002.0, 3.0])]),  # a limit makes the first two equal
        FunctionCall([torch.tensor([-1000.0, -1001.0])]),
        FunctionCall([torch.tensor([1e4, -1e4, 9000.0, 0.0])]),
        FunctionCall([torch.tensor([-1e4])]),
        FunctionCall([torch.tensor([infinite, 0.3, -1.2, infinite, 0.8, 0.1])]),
    ]


def softmax_by_loop(call):
    (scores,) = map(oracle.rows, call.arguments)
    return [np.array(oracle.softmax(scores))]


def overflow(case):
    (scores,) = arrays(case)
    seen = mistakes.returned(case)
    if scores.max() > LARGEST_EXPONENT and np.ptp(scores) < LARGEST_EXPONENT and np.isnan(seen).any():
        return (
            f"For scores up to {scores.max():g} you give nan: exp({scores.max():g}) is inf in 32 bits, and inf/inf is"
            " nan. Softmax looks at differences only, so a number may be subtracted from all scores first."
        )


def wrong_number_subtracted(case):
    (scores,) = arrays(case)
    seen = mistakes.returned(case)
    lost = np.isnan(seen)
    if np.isfinite(scores).all() and lost.any() and (lost.all() or scores[lost].min() > scores[~lost].max()):
        what = "0/0" if scores.max() < -LARGEST_EXPONENT else "inf/inf"
        return (
            f"Scores from {scores.min():.4g} to {scores.max():.4g} give nan: after your subtraction there is {what}."
            " Only the *largest* score leaves exponents that are never above 0, one of them exactly 0."
        )


def infinity_not_survived(case):
    (scores,) = arrays(case)
    seen = mistakes.returned(case)
    lost = np.isnan(seen)
    if np.isneginf(scores).any() and lost.any() and np.allclose(seen[~lost], case.want[~lost], atol=CLOSE):
        place = int(np.argwhere(lost)[0, 0])
        return (
            f"A score of -inf must get the weight 0; your weight {place} is nan. Something took the difference of two"
            " infinities, or 0 times one. exp(-inf - largest) is exactly 0."
        )


def one_row(case):
    """The weights as a table of one row."""
    return mistakes.returned(case)[None]


def scores_in_one_row(case):
    """The scores as a table of one row."""
    return arrays(case)[0][None]


def not_divided(case):
    seen = mistakes.returned(case)
    ratios_fit = abs(mistakes.divisor(one_row(case), scores_in_one_row(case)) - 1) < 1e-2
    if ratios_fit and np.isfinite(seen).all() and abs(seen.sum() - 1) > CLOSE:
        return f"Your weights sum to {seen.sum():.4f}: these are the exponentials. Divide them by their sum."


def without_exponential(case):
    (scores,) = arrays(case)
    seen = mistakes.returned(case)
    if len(scores) > 3 and np.isfinite(scores).all() and np.isclose(seen.sum(), 1, atol=CLOSE) and np.ptp(seen) > CLOSE:
        slope, start = np.polyfit(scores, seen, 1)
        if np.allclose(slope * scores + start, seen, rtol=0, atol=1e-5 * np.ptp(seen)):
            return (
                f"Your weights lie on a straight line over the scores, the smallest is {seen.min():.4f}: there is no"
                " exponential in them. Take `torch.exp` before you divide by the sum."
            )


def another_base(case):
    number = mistakes.divisor(one_row(case), scores_in_one_row(case))
    for base in (2, 10):
        if abs(number * np.log(base) - 1) < 1e-2:
            return (
                f"Your weights are shares of powers of {base}: a score larger by 1 gets {base} times the weight."
                " Softmax takes powers of e, `torch.exp`, so there it is 2.7183 times."
            )


def scores_clipped(case):
    (scores,) = arrays(case)
    seen = mistakes.returned(case)
    large = scores > LARGEST_EXPONENT
    if np.ptp(scores[large]) > CLOSE > np.ptp(seen[large]) and seen[~large].max() < CLOSE < seen[large].min():
        return (
            f"The scores {scores[0]:g} and {scores[1]:g} get the same weight, {seen[0]:.4f}: they were cut to a limit."
            " Subtract the largest score instead; that keeps all differences."
        )


def divided_scores(weights, scores):
    """Scores divided by a number, where this chapter divides by none."""

    def symptom(case):
        number = mistakes.divisor(weights(case), scores(case))
        if number > 0 and abs(number - 1) > 1e-2:
            return (
                f"Your weights come from scores divided by {number:.4f}. In this chapter scores go into softmax as they"
                " are; dividing them has its reasons, and they are the subject of chapter 2."
            )

    return Mistake("scaled, though nothing asks for it", symptom)


STABLE_SOFTMAX = Exercise(
    id="1.3",
    title="A softmax that survives large scores",
    name="my_softmax",
    points=2,
    difficulty=2,
    minutes=6,
    why=(
        "After subtracting the largest score no exponent is above 0, so nothing overflows; and one is exactly 0, so the"
        " sum is never 0."
    ),
    hints=(
        "The weights stay the same when one number is subtracted from all scores. Which number makes exp harmless?",
        "exp overflows when an exponent is large, and the sum is 0 when all of them are very negative. Avoid both.",
        "`exponentials = torch.exp(scores - scores.max())`, then divide them by their sum.",
    ),
    make_calls=calls_on_hard_scores,
    oracle=softmax_by_loop,
    mistakes=(
        Mistake("exponentials not divided by their sum", not_divided),
        Mistake("no softmax", without_exponential),
        Mistake("powers of another number than e", another_base),
        divided_scores(one_row, scores_in_one_row),
        Mistake("scores cut to a limit", scores_clipped),
        Mistake("exp overflows", overflow),
        Mistake("another number than the largest subtracted", wrong_number_subtracted),
        Mistake("-inf not survived", infinity_not_survived),
    ),
)

# --- 1.4 one sentence asks another ------------------------------------------------------------------------------------


def calls_on_two_sentences():
    return [
        FunctionCall([normal(3, 4, seed=110), normal(5, 4, seed=111)]),
        FunctionCall([normal(4, 3, seed=112), non_contiguous(normal(4, 3, seed=113))]),  # square: a swap has the shape
        FunctionCall([normal(1, 2, seed=114), normal(3, 2, seed=115)]),
        FunctionCall([normal(2, 5, seed=116), normal(1, 5, seed=117)]),
    ]


def cross_weights(call):
    queries, keys = map(oracle.rows, call.arguments)
    return [np.array([oracle.softmax([oracle.dot(query, key) for key in keys]) for query in queries])]


def cross_scores(case):
    """All scores: (number of queries, number of keys)."""
    queries, keys = arrays(case)
    return queries @ keys.T


CROSS_WEIGHTS = Exercise(
    id="1.4",
    title="One sentence asks another",
    name="my_cross_weights",
    points=2,
    difficulty=2,
    minutes=5,
    why=(
        "One row per query, one column per key. Translation models attend like this: the sentence being written asks"
        " the one being translated."
    ),
    hints=(
        "First the table of scores: row i belongs to query i, column j to key j. Which shape is that?",
        "`queries @ keys.T` has shape (number of queries, number of keys). A row must sum to 1.",
        "`torch.softmax(queries @ keys.T, dim=-1)`",
    ),
    make_calls=calls_on_two_sentences,
    oracle=cross_weights,
    mistakes=(
        mistakes.TABLE_TRANSPOSED,
        mistakes.softmax_over_queries(mistakes.returned),
        mistakes.softmax_over_all(mistakes.returned),
        mistakes.query_and_key_swapped(mistakes.returned, cross_scores),
        mistakes.no_softmax(mistakes.returned, cross_scores),
        mistakes.exponentials_not_divided(mistakes.returned, cross_scores),
        divided_scores(mistakes.returned, cross_scores),
    ),
    map=lambda weights: weights,
)

# --- 1.5 attention in one function ------------------------------------------------------------------------------------


def calls_on_inputs():
    return [
        FunctionCall([normal(3, 5, seed=118) * 0.5]),  # fewer tokens than numbers: the weights can be worked out
        FunctionCall([non_contiguous(normal(4, 6, seed=119)) * 0.6]),
        FunctionCall([normal(7, 2, seed=120)]),
        FunctionCall([normal(1, 4, seed=121)]),
    ]


def context_vectors(call):
    (inputs,) = map(oracle.rows, call.arguments)
    context, _ = oracle.attend(inputs, inputs, inputs, scale=1)
    return [np.array(context)]


def own_scores(case):
    """All scores of the tokens among each other, (T, T)."""
    (inputs,) = arrays(case)
    return inputs @ inputs.T


mixing = mistakes.recovered(lambda case: arrays(case)[0])


CONTEXT_VECTORS = Exercise(
    id="1.5",
    title="Attention in one function",
    name="my_context_vectors",
    points=2,
    difficulty=2,
    minutes=6,
    why="Score, softmax, mix: nothing in it depends on how many tokens there are, or on how many numbers each has.",
    hints=(
        "Three steps, one line each. Write down the shape after each of them.",
        "Scores of all pairs are (T, T). Softmax runs along each row. Then the weights mix the rows of inputs.",
        "`weights = torch.softmax(inputs @ inputs.T, dim=-1)`, then `weights @ inputs`.",
    ),
    make_calls=calls_on_inputs,
    oracle=context_vectors,
    mistakes=(
        mistakes.values_forgotten(lambda case: {}),
        mistakes.softmax_over_queries(mixing),
        mistakes.softmax_over_all(mixing),
        mistakes.no_softmax(mixing, own_scores),
        mistakes.exponentials_not_divided(mixing, own_scores),
        divided_scores(mixing, own_scores),
    ),
)

QUESTIONS = (
    Question(
        id="Q1.1",
        right="c",
        said={
            "a": "That would be no loss at all. But the word is now 47 steps away instead of 5, and each step costs.",
            "b": (
                "It would be an eighth if eight times as far cost eight times as much. But the losses multiply: every"
                " single step costs about half."
            ),
            "c": "Yes. Half, and half again, 42 times more: about one part in four million millions is left.",
        },
    ),
    Question(
        id="Q1.2",
        right="b",
        said={
            "a": "All exponentials grow, and so does their sum, by the same factor. It cancels.",
            "b": "Yes. exp(ω + 10) is exp(ω) times exp(10), and the division cancels that factor.",
            "c": (
                "The largest weight does not grow: every exponential is multiplied by the same exp(10), its rivals"
                " included."
            ),
        },
    ),
    Question(
        id="Q1.3",
        right="a",
        said={
            "a": "Yes. The same six products are added up, only in another order.",
            "b": (
                "Their order changes, but each word keeps its score, and so its weight. And a sum does not care in"
                " which order it is added up."
            ),
            "c": (
                "The query is still the vector of journey, wherever it stands. Where a word stands appears in none of"
                " the three steps."
            ),
        },
    ),
)
