"""The exercises and questions of chapter 7, learning."""

import math

import numpy as np
import torch

from course_utils.exercises import mistakes, oracle
from course_utils.exercises.exercise import Exercise, Question
from course_utils.exercises.inputs import normal
from course_utils.exercises.mistakes import Mistake
from course_utils.judging.calls import FunctionCall


def close(got, wanted):
    """Whether two arrays have the same shape and, up to rounding, the same numbers."""
    return got is not None and got.shape == np.shape(wanted) and np.allclose(got, wanted, atol=mistakes.CLOSE)


# --- 7.1 the loss of the next token -----------------------------------------------------------------------------------


def calls_on_scores_and_tokens():
    return [
        FunctionCall([normal(5, 7, seed=1) * 2, torch.tensor([3, 0, 6, 6, 2])]),
        FunctionCall([normal(3, 4, seed=2), torch.tensor([1, 2, 0])]),
        FunctionCall([normal(2, 9, seed=3) * 5, torch.tensor([8, 4])]),
    ]


def losses(scores, tokens):
    """The loss of each of the tokens under the scores in the same row."""
    return np.array([-math.log(oracle.softmax(row)[token]) for row, token in zip(scores, tokens)])


def next_token_losses(call):
    scores, tokens = (argument.tolist() for argument in call.arguments)
    return [losses(scores[:-1], tokens[1:])]


def not_shifted(case):
    scores, tokens = (argument.tolist() for argument in case.arguments)
    same_row = losses(scores, tokens)
    if any(close(case.got, part) for part in (same_row, same_row[:-1], same_row[1:])):
        return (
            f"Your first loss is {case.got[0]:.4f}: row t of the scores was compared with token t, which the model has"
            " just read. Row t speaks about token t + 1: `scores[:-1]` and `tokens[1:]`."
        )


def shifted_backwards(case):
    scores, tokens = (argument.tolist() for argument in case.arguments)
    if close(case.got, losses(scores[1:], tokens[:-1])):
        return "Row t was compared with token t - 1, the past. Row t speaks about token t + 1."


def not_negated(case):
    if close(case.got, -case.want):
        return f"Your first loss is {case.got[0]:.4f}: a logarithm of a probability is negative. The loss is `-ln p`."


def without_softmax(case):
    scores, tokens = (argument.tolist() for argument in case.arguments)
    if close(case.got, np.array([-row[token] for row, token in zip(scores, tokens[1:])])):
        return (
            f"Your first loss is {case.got[0]:.4f}, minus the score itself. Scores are not probabilities yet:"
            " `log_softmax` comes first."
        )


def softmax_over_tokens(case):
    scores, tokens = (argument.tolist() for argument in case.arguments)
    for rows in (scores, scores[:-1]):  # cut before or after softmax
        columns = [oracle.softmax(column) for column in zip(*rows)]  # columns[token][t]
        if close(case.got, np.array([-math.log(columns[token][t]) for t, token in enumerate(tokens[1:])])):
            return (
                f"Your first loss is {case.got[0]:.4f}: softmax ran over the tokens of the sequence. A row holds the"
                " scores of all tokens that might come next, so use the last axis, dim=-1."
            )


def no_logarithm(case):
    if close(np.abs(case.got), np.exp(-case.want)):
        return (
            f"Your first number is {case.got[0]:.4f}: that is the probability of the token that came"
            f"{', with a minus' if case.got[0] < 0 else ''}. The loss is minus its logarithm, {case.want[0]:.4f}."
        )


def averaged(case):
    if case.got is not None and case.got.ndim == 0:
        return f"You return one number; {len(case.want)} losses were expected, one for each next token. Do not average."


NEXT_TOKEN_LOSSES = Exercise(
    id="7.1",
    title="The loss of the next token",
    name="my_next_token_losses",
    points=2,
    difficulty=2,
    minutes=6,
    why="T - 1 exercises from one sequence, as chapter 3 said: each row of scores is compared with the token after it.",
    hints=(
        "The last row of scores has no token to be compared with, and the first token no row that predicts it.",
        "torch.log_softmax(scores, dim=-1) gives the logarithms of all probabilities at once.",
        "logs.gather(1, tokens[1:, None]) picks one column per row; it has shape (T - 1, 1).",
    ),
    make_calls=calls_on_scores_and_tokens,
    oracle=next_token_losses,
    mistakes=(
        Mistake("losses averaged", averaged),
        Mistake("token not shifted", not_shifted),
        Mistake("token shifted the wrong way", shifted_backwards),
        Mistake("sign of the loss", not_negated),
        Mistake("scores taken for logarithms", without_softmax),
        Mistake("softmax over the wrong axis", softmax_over_tokens),
        Mistake("probability instead of loss", no_logarithm),
    ),
)

# --- 7.2 previous-token heads -----------------------------------------------------------------------------------------


def calls_on_weights():
    causal = torch.softmax(normal(2, 6, 6, seed=4).masked_fill(torch.ones(6, 6).triu(1).bool(), -torch.inf), dim=-1)
    return [
        FunctionCall([causal]),
        FunctionCall([torch.softmax(normal(3, 5, 5, seed=5) * 2, dim=-1)]),
        FunctionCall([torch.softmax(normal(1, 2, 2, seed=6), dim=-1)]),
    ]


def previous_token_shares(call):
    heads = call.arguments[0].tolist()
    return [np.array([math.fsum(head[t][t - 1] for t in range(1, len(head))) / (len(head) - 1) for head in heads])]


def diagonal(case, offset):
    """The mean of a diagonal of each head's weights."""
    return np.diagonal(case.arguments[0].numpy(), offset, axis1=-2, axis2=-1).mean(axis=-1)


def own_weight(case):
    if close(case.got, diagonal(case, 0)):
        return (
            f"Head 0 gets {case.got[0]:.4f}, the mean weight of each token on *itself*. The token before is one column"
            " to the left: offset -1."
        )


def next_token(case):
    if close(case.got, diagonal(case, 1)):
        return (
            f"Head 0 gets {case.got[0]:.4f}, the mean weight on the *next* token. Rows are queries: the token before is"
            " to the left of the diagonal, offset -1."
        )


def first_token_counted(case):
    size = case.arguments[0].shape[-1]  # of two tokens one weight is left, and half of it has other causes, too
    if size > 2 and close(case.got, case.want * (size - 1) / size):
        return (
            f"You divided by {size}, the number of tokens. The first token has nobody before it, so {size - 1} weights"
            " are left."
        )


def one_number_for_all_heads(case):
    if case.got is not None and case.got.ndim == 0:
        return f"You return one number for all heads; {len(case.want)} were expected, one per head."


PREVIOUS_TOKEN_SHARE = Exercise(
    id="7.2",
    title="Find a previous-token head",
    name="my_previous_token_share",
    points=1,
    difficulty=1,
    minutes=5,
    why="Numbers like this one find heads among hundreds, where nobody wants to look at every map.",
    hints=(
        "Where in a map stand the weights of token 1 on token 0, of token 2 on token 1, and so on?",
        "weights.diagonal(offset=..., dim1=-2, dim2=-1) gives such a line for each head.",
        "The line just below the main diagonal has offset -1; average it over its last dimension.",
    ),
    make_calls=calls_on_weights,
    oracle=previous_token_shares,
    mistakes=(
        Mistake("one number for all heads", one_number_for_all_heads),
        Mistake("own weight instead of the previous", own_weight),
        Mistake("next token instead of the previous", next_token),
        Mistake("first token counted", first_token_counted),
    ),
)

# --- 7.3 the floor ----------------------------------------------------------------------------------------------------


def calls_on_probabilities():
    return [
        FunctionCall([torch.tensor([0.5, 0.2, 0.2, 0.1])]),
        FunctionCall([torch.full((100,), 0.01)]),
        FunctionCall([torch.tensor([0.7, 0.0, 0.3])]),
        FunctionCall([torch.tensor([0.0, 1.0])]),
    ]


def floor(call):
    return [-math.fsum(p * math.log(p) for p in call.arguments[0].tolist() if p > 0)]


def number(case):
    """The answer as one number; TypeError for a tensor with dimensions, of however few numbers."""
    if isinstance(case.value, torch.Tensor) and case.value.ndim:
        raise TypeError("no single number")
    return float(case.value)


def logarithm_of_zero(case):
    if math.isnan(number(case)):
        return (
            "One of the probabilities is 0, and your floor is nan: 0 times ln 0 is 0 times minus infinity. Leave such"
            " tokens out; they never come."
        )


def negative_floor(case):
    if case.want > 0.1 and math.isclose(number(case), -case.want, rel_tol=1e-3):
        return f"Your floor is {number(case):.4f}. Logarithms of probabilities are negative; a minus makes them losses."


def in_bits(case):
    if case.want > 0.1 and math.isclose(number(case), case.want / math.log(2), rel_tol=1e-3):
        return f"Your floor is {number(case):.4f}: in bits, with the logarithm to base 2. Our losses use ln, torch.log."


def all_equally_likely(case):
    probabilities = case.arguments[0]
    if math.isclose(number(case), math.log(len(probabilities)), rel_tol=1e-3):
        return (
            f"Your floor is {number(case):.4f}, the logarithm of the number of tokens: right only if all are equally"
            " likely. Weigh each -ln p by its p."
        )


FLOOR = Exercise(
    id="7.3",
    title="The floor",
    name="my_floor",
    points=2,
    difficulty=2,
    minutes=6,
    why="Know the floor before you train. A loss below it is no success: something leaks, or was learned by heart.",
    hints=(
        "How often does token i come, and what does it cost each time?",
        "-(p * p.log()).sum() is the formula. What is 0 * log(0) for torch?",
        "possible = probabilities[probabilities > 0], and then the formula.",
    ),
    make_calls=calls_on_probabilities,
    oracle=floor,
    mistakes=(
        Mistake("logarithm of zero", logarithm_of_zero),
        Mistake("sign of the floor", negative_floor),
        Mistake("logarithm to base 2", in_bits),
        Mistake("all tokens taken as equally likely", all_equally_likely),
    ),
)

# --- 7.4 temperature --------------------------------------------------------------------------------------------------


def calls_on_scores_and_temperature():
    return [
        FunctionCall([normal(5, seed=7), 0.5], gradient=True),
        FunctionCall([normal(3, 4, seed=8) * 2, 2.0]),
        FunctionCall([normal(2, 6, seed=9), 0.8]),
    ]


def with_temperature(scores, temperature):
    """Probabilities, row by row, of scores divided by a temperature."""
    rows = scores.double().reshape(-1, scores.shape[-1]).tolist()
    return np.array([oracle.softmax([score / temperature for score in row]) for row in rows]).reshape(scores.shape)


def multiplied(case):
    scores, temperature = case.arguments
    if close(case.got, with_temperature(scores, 1 / temperature)):
        return (
            f"At temperature {temperature} your likeliest token has {case.got.max():.4f}, expected"
            f" {np.max(case.want):.4f}: the scores were multiplied. Divide them."
        )


def divided_afterwards(case):
    scores, temperature = case.arguments
    if close(case.got, with_temperature(scores, 1) / temperature):
        return (
            f"Your first row sums to {np.atleast_2d(case.got)[0].sum():.4f}: you divided the probabilities. Divide the"
            " scores, before softmax."
        )


def temperature_ignored(case):
    scores, temperature = case.arguments
    if close(case.got, with_temperature(scores, 1)):
        return f"These are the probabilities at temperature 1; {temperature} was asked for. Divide the scores by it."


TEMPERATURE = Exercise(
    id="7.4",
    title="Temperature",
    name="my_probabilities",
    points=1,
    difficulty=1,
    minutes=4,
    why="The order of the tokens never changes, only how much the first is ahead of the others.",
    hints=(
        "Softmax turns differences between scores into ratios. What happens to the differences?",
        "torch.softmax(..., dim=-1), with the scores divided first.",
    ),
    make_calls=calls_on_scores_and_temperature,
    oracle=lambda call: [with_temperature(*call.arguments)],
    mistakes=(
        Mistake("multiplied by the temperature", multiplied),
        Mistake("probabilities divided", divided_afterwards),
        Mistake("temperature ignored", temperature_ignored),
    ),
)

QUESTIONS = (
    Question(
        id="Q7.1",
        right="b",
        said={
            "a": (
                "Only on tokens that it has seen in training, and by heart. A fresh random token cannot be known,"
                " however long one trains."
            ),
            "b": "Yes. All 100 tokens are equally likely, so nothing beats the same probability for all of them.",
            "c": "It wins now and then, but it loses more: low probabilities cost a lot when their token comes.",
        },
    ),
    Question(
        id="Q7.2",
        right="b",
        said={
            "a": "Training can only find what the layer can compute. Think of what a key is made from.",
            "b": (
                "Yes. In one layer a key knows its own token and its place. Who came before must be written into it by"
                " a layer below."
            ),
            "c": "A head may spread its weights over many places. And one place would do, if only the key said enough.",
        },
    ),
    Question(
        id="Q7.3",
        right="b",
        said={
            "a": "Without the mask it *can* be known: the token to predict is one place to the right.",
            "b": "Yes. The answer stands in the input, and looking one place to the right is easily learned.",
            "c": "The future does not confuse it. It holds the answers.",
        },
    ),
)
