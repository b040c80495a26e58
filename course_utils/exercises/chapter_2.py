"""The exercises and questions of chapter 2, trainable weights."""

import numpy as np

from course_utils.exercises import oracle
from course_utils.exercises.exercise import Exercise, Question
from course_utils.exercises.inputs import non_contiguous, normal
from course_utils.judging.calls import FunctionCall, LayerCall


def turned(matrix):
    """A matrix (d_in, d_out) as nested lists, as nn.Linear would store it: (d_out, d_in)."""
    return oracle.rows(matrix.T)


# --- 2.1 project, then score ------------------------------------------------------------------------------------------


def calls_on_projections():
    return [
        FunctionCall([normal(4, seed=201), normal(5, 4, seed=202), normal(4, 3, seed=203), normal(4, 3, seed=204)]),
        # square matrices: what is not projected has the right shape
        FunctionCall([normal(3, seed=205), normal(6, 3, seed=206), normal(3, 3, seed=207), normal(3, 3, seed=208)]),
        FunctionCall([normal(2, seed=209), normal(1, 2, seed=210), normal(2, 5, seed=211), normal(2, 5, seed=212)]),
    ]


def projected_scores(call):
    x, inputs, W_query, W_key = call.arguments
    (query,) = oracle.project([oracle.rows(x)], turned(W_query))
    keys = oracle.project(oracle.rows(inputs), turned(W_key))
    return [np.array([oracle.dot(query, key) for key in keys])]


PROJECTED_SCORES = Exercise(
    id="2.1",
    title="Project, then score",
    name="my_projected_scores",
    points=1,
    difficulty=1,
    why=(
        "A token asks with one vector and is asked with another: that is what lets a score differ in the two"
        " directions."
    ),
    hints=(
        "Two projections come first. Which matrix belongs to the token that asks, which one to those asked?",
        "`query = x @ W_query` is one vector, `keys = inputs @ W_key` is a table with a row per token.",
        "With query and keys it is the scoring of chapter 1: `keys @ query`.",
    ),
    make_calls=calls_on_projections,
    oracle=projected_scores,
)

# --- 2.2 scaled weights -----------------------------------------------------------------------------------------------


def calls_on_queries_and_keys():
    return [
        FunctionCall([normal(3, 5, seed=213), normal(3, 5, seed=214)]),
        FunctionCall([normal(6, 3, seed=215), non_contiguous(normal(6, 3, seed=216))]),
        FunctionCall([normal(1, 4, seed=217), normal(1, 4, seed=218)]),
        FunctionCall([normal(5, 7, seed=219) * 30, normal(5, 7, seed=220) * 30]),  # too large for exp by itself
    ]


def scaled_weights(call):
    queries, keys = map(oracle.rows, call.arguments)
    _, weights = oracle.attend(queries, keys, keys)
    return [np.array(weights)]


SCALED_WEIGHTS = Exercise(
    id="2.2",
    title="Divide, then softmax",
    name="my_scaled_weights",
    points=2,
    difficulty=1,
    why="A score adds up d_k products, so its spread grows like √d_k; divided by that, softmax gets scores of size 1.",
    hints=(
        "Scores of all pairs first: a row per query. What is divided, the scores or the weights?",
        "d_k is how many numbers a key has, `keys.shape[-1]`. Divide the scores by its square root.",
        "`torch.softmax(queries @ keys.T / keys.shape[-1]**0.5, dim=-1)`",
    ),
    make_calls=calls_on_queries_and_keys,
    oracle=scaled_weights,
    map=lambda weights: weights,
)

# --- 2.3 from a linear layer to a matrix ------------------------------------------------------------------------------


def calls_on_layers():
    return [
        FunctionCall([{"linear": normal(2, 5, seed=221)}]),
        FunctionCall([{"linear": normal(4, 4, seed=222)}]),  # square: without transposing, the shape is right
        FunctionCall([{"linear": normal(6, 3, seed=223)}]),
        FunctionCall([{"linear": normal(1, 2, seed=224)}]),
    ]


def matrix_of(call):
    (layer,) = call.arguments
    return [np.array(list(zip(*oracle.rows(layer["linear"]))))]


MATRIX = Exercise(
    id="2.3",
    title="From a linear layer to a matrix",
    name="my_matrix",
    points=1,
    difficulty=2,
    why=(
        "`nn.Linear` stores its matrix transposed. Knowing that, you can move weights between any two ways of writing a"
        " layer."
    ),
    hints=(
        "Print `layer.weight.shape` for a layer from 3 numbers to 2. Which shape must your matrix have?",
        "The layer computes `x @ layer.weight.T`.",
        "`return layer.weight.T`",
    ),
    make_calls=calls_on_layers,
    oracle=matrix_of,
)

# --- 2.4 self-attention in one function -------------------------------------------------------------------------------


def calls_on_attention():
    def call(T, d_in, d_out, seed, **more):
        matrices = [normal(d_in, d_out, seed=seed + k) * 0.5 for k in range(1, 4)]
        return FunctionCall([normal(T, d_in, seed=seed), *matrices], **more)

    return [
        call(3, 4, 6, seed=230),  # T < d_out: the weights can be worked out
        call(4, 7, 5, seed=240),
        call(6, 2, 3, seed=250),
        call(1, 3, 2, seed=260),
    ]


def self_attention(call):
    x, *matrices = call.arguments
    context, _ = oracle.attend(*(oracle.project(oracle.rows(x), turned(matrix)) for matrix in matrices))
    return [np.array(context)]


SELF_ATTENTION = Exercise(
    id="2.4",
    title="Scaled dot-product attention in one function",
    name="my_self_attention",
    points=2,
    difficulty=2,
    why=(
        "Project, score, weigh with scaling, mix: these four steps, with one more idea per chapter, are all of"
        " attention."
    ),
    hints=(
        "Four steps. The first makes three tables from x, with a matrix each.",
        "Scores are `queries @ keys.T`, weights the softmax of scores / √d_k along each row; `d_k = keys.shape[-1]`.",
        "The last line is `weights @ values`.",
    ),
    make_calls=calls_on_attention,
    oracle=self_attention,
)

# --- 2.5 self-attention as a layer ------------------------------------------------------------------------------------


def layer_calls():
    def call(d_in, d_k, d_out, seed, sizes, **more):
        weights = {
            name: normal(width, d_in, seed=seed + k) * 0.5
            for k, (name, width) in enumerate([("W_query", d_k), ("W_key", d_k), ("W_value", d_out)])
        }
        inputs = [[normal(B, T, d_in, seed=seed + B * 10 + T)] for B, T in sizes]
        return LayerCall([d_in, d_k, d_out], inputs, weights, **more)

    return [
        call(5, 3, 6, seed=300, sizes=[(2, 4)]),
        call(3, 2, 7, seed=400, sizes=[(4, 5), (1, 1)]),
        call(6, 7, 5, seed=500, sizes=[(2, 3), (3, 8)]),
        call(4, 5, 3, seed=600, sizes=[(2, 3)], training=True),
    ]


def layer_contexts(call):
    results = []
    for (x,) in call.inputs:
        matrices = [oracle.rows(weight) for weight in call.weights.values()]
        contexts = [oracle.attend(*(oracle.project(one, matrix) for matrix in matrices))[0] for one in oracle.rows(x)]
        results.append(np.array(contexts))
    return results


MY_SELF_ATTENTION = Exercise(
    id="2.5",
    title="A layer whose values have a width of their own",
    name="MySelfAttention",
    points=3,
    difficulty=3,
    why=(
        "Queries and keys need a common width, since they are compared; values may have any other. Only d_k enters the"
        " scale, whatever comes out at the end."
    ),
    hints=(
        "`__init__` begins with `super().__init__()` and makes three layers, without bias. How wide is each of them?",
        "`W_query` and `W_key` go from d_in to d_k, `W_value` from d_in to d_out: `nn.Linear(d_in, d_k, bias=False)`.",
        "A batch comes in: `queries @ keys.transpose(-2, -1)`, and the divisor is `keys.shape[-1]**0.5`.",
    ),
    make_calls=layer_calls,
    oracle=layer_contexts,
)

QUESTIONS = (
    Question(
        id="Q2.1",
        right="b",
        said={
            "a": (
                "With one matrix for both jobs, a word's query is also its key, and a · b = b · a holds again. A matrix"
                " alone breaks nothing."
            ),
            "b": "Yes. A word asks with one vector and is asked with another, so the two directions differ.",
            "c": "The symmetry does not depend on which numbers the embeddings hold, random or not.",
        },
    ),
    Question(
        id="Q2.2",
        right="c",
        said={
            "a": "That is the variance of a single product. A score adds up 64 of them.",
            "b": "8 is the root of 64: the typical *distance* from the mean. The variance is that distance, squared.",
            "c": "Yes. Each product has variance 1, and variances of independent numbers add up.",
        },
    ),
    Question(
        id="Q2.3",
        right="b",
        said={
            "a": "That is the shape of our own matrices, for `x @ W`. `nn.Linear` stores it the other way round.",
            "b": "Yes: one row for each number that comes out. The layer transposes it when it multiplies.",
            "c": "There are six numbers, but they form a matrix: each of the two results needs three of its own.",
        },
    ),
)
