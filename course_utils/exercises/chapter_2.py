"""The exercises and questions of chapter 2, trainable weights."""

import re

import numpy as np

from course_utils.exercises import mistakes, oracle
from course_utils.exercises.exercise import Exercise, Question
from course_utils.exercises.inputs import non_contiguous, normal
from course_utils.exercises.mistakes import CLOSE, Mistake
from course_utils.judging.calls import FunctionCall, LayerCall

ALL_BUT_HEADS = (
    "scaled by d_k, not its root",
    "scaled by √d_in",
    "scaled by √T",
    "no scale",
    "multiplied by the scale",
)


def arrays(case):
    """The arguments of a case as float64 arrays."""
    return [argument.double().numpy() for argument in case.arguments]


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


def made_from(what, name, words, despite_errors=False):
    """A mistake: the scores are, up to a factor, those of other vectors. what: the arguments -> such pairs."""

    def symptom(case):
        got = mistakes.returned(case)
        for asking, asked in what(*arrays(case)):
            other = asked @ asking
            # in the same direction, and not by chance: with fewer than three tokens it could be
            if len(got) > 2 and np.allclose(got / np.linalg.norm(got), other / np.linalg.norm(other), atol=CLOSE):
                return words.format(got[0])

    return Mistake(name, symptom, despite_errors)


PROJECTED_SCORES = Exercise(
    id="2.1",
    title="Project, then score",
    name="my_projected_scores",
    points=1,
    difficulty=1,
    minutes=4,
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
    mistakes=(
        made_from(
            lambda x, inputs, W_query, W_key: [(x @ W_key, inputs @ W_query)],
            "query and key swapped",
            "Your first score, {:.4f}, is that of x being asked, not asking: x went through `W_key` and inputs through"
            " `W_query`. The token that asks takes `W_query`.",
        ),
        made_from(
            lambda x, inputs, W_query, W_key: [(x @ W_query, inputs @ W_query), (x @ W_key, inputs @ W_key)],
            "one matrix for queries and keys",
            "Your scores (first {:.4f}) come from one matrix for both sides. The token that asks goes through"
            " `W_query`, the tokens that are asked go through `W_key`.",
        ),
        made_from(
            lambda x, inputs, W_query, W_key: [(x, inputs), (x @ W_query, inputs), (x, inputs @ W_key)],
            "projection forgotten",
            "With square matrices your first score is {:.4f}: at least one side was not projected. Both are: `x @"
            " W_query` and `inputs @ W_key`.",
            despite_errors=True,  # without a projection only square matrices fit
        ),
        mistakes.WEIGHTS_INSTEAD_OF_SCORES,
        mistakes.SCORES_SCALED,
    ),
)

# --- 2.2 scaled weights -----------------------------------------------------------------------------------------------


def calls_on_queries_and_keys():
    return [
        FunctionCall([normal(3, 5, seed=213), normal(3, 5, seed=214)], gradient=True),
        FunctionCall([normal(6, 3, seed=215), non_contiguous(normal(6, 3, seed=216))]),
        FunctionCall([normal(1, 4, seed=217), normal(1, 4, seed=218)]),
        FunctionCall([normal(5, 7, seed=219) * 30, normal(5, 7, seed=220) * 30]),  # too large for exp by itself
    ]


def scaled_weights(call):
    queries, keys = map(oracle.rows, call.arguments)
    _, weights = oracle.attend(queries, keys, keys)
    return [np.array(weights)]


def given_scores(case):
    """The unscaled scores of the queries and keys that the answer was given, (T, T)."""
    queries, keys = arrays(case)
    return queries @ keys.T


def root_of_width(case):
    """√d_k, for queries and keys given."""
    return case.arguments[1].shape[-1] ** 0.5


SCALED_WEIGHTS = Exercise(
    id="2.2",
    title="Divide, then softmax",
    name="my_scaled_weights",
    points=2,
    difficulty=1,
    minutes=5,
    why="A score adds up d_k products, so its spread grows like √d_k; divided by that, softmax gets scores of size 1.",
    hints=(
        "Scores of all pairs first: a row per query. What is divided, the scores or the weights?",
        "d_k is how many numbers a key has, `keys.shape[-1]`. Divide the scores by its square root.",
        "`torch.softmax(queries @ keys.T / keys.shape[-1]**0.5, dim=-1)`",
    ),
    make_calls=calls_on_queries_and_keys,
    oracle=scaled_weights,
    mistakes=(
        mistakes.CHANGED_IN_PLACE,
        mistakes.TABLE_TRANSPOSED,
        mistakes.softmax_over_queries(mistakes.returned),
        mistakes.softmax_over_all(mistakes.returned),
        mistakes.query_and_key_swapped(mistakes.returned, given_scores),
        mistakes.no_softmax(mistakes.returned, given_scores),
        mistakes.scaled_after_softmax(mistakes.returned, given_scores),
        mistakes.exponentials_not_divided(mistakes.returned, given_scores),
        *mistakes.wrong_divisor(
            mistakes.returned,
            given_scores,
            right=root_of_width,
            others=lambda case: {
                "scaled by d_k, not its root": case.arguments[1].shape[-1],
                "scaled by √T": case.arguments[1].shape[-2] ** 0.5,
            },
            names=("scaled by d_k, not its root", "scaled by √T", "no scale", "multiplied by the scale"),
        ),
        mistakes.exp_overflows(mistakes.returned, lambda case: given_scores(case) / root_of_width(case)),
    ),
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


def stored(case):
    """The matrix as the layer stores it, (d_out, d_in)."""
    return case.arguments[0]["linear"].double().numpy()


def reshaped(case):
    got, weight = mistakes.returned(case), stored(case)
    if min(got.shape) > 1 and got.shape != weight.shape and np.allclose(got.ravel(), weight.ravel(), atol=CLOSE):
        return (
            f"The shape {got.shape} is right, but your first row, {got[0, 0]:.4f} and {got[0, 1]:.4f}, is the beginning"
            " of the layer's first row: reshape keeps the numbers in order. Rows must become columns: transpose."
        )


def inverted(case):
    got, weight = mistakes.returned(case), stored(case)
    for product in (weight @ got, got @ weight):
        if len(product) > 1 and np.allclose(product, np.eye(len(product)), atol=CLOSE):
            return (
                "Your matrix times the layer's gives 1 on the diagonal and 0 elsewhere: it is an inverse, which would"
                " undo the layer. You want the same matrix, with rows and columns exchanged."
            )


MATRIX = Exercise(
    id="2.3",
    title="From a linear layer to a matrix",
    name="my_matrix",
    points=1,
    difficulty=2,
    minutes=4,
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
    mistakes=(
        Mistake("reshaped instead of transposed", reshaped),
        mistakes.WEIGHT_NOT_TRANSPOSED,
        Mistake("inverse instead of transpose", inverted),
    ),
)

# --- 2.4 self-attention in one function -------------------------------------------------------------------------------


def calls_on_attention():
    def call(T, d_in, d_out, seed, **more):
        matrices = [normal(d_in, d_out, seed=seed + k) * 0.5 for k in range(1, 4)]
        return FunctionCall([normal(T, d_in, seed=seed), *matrices], **more)

    return [
        call(3, 4, 6, seed=230, gradient=True),  # T < d_out: the weights can be worked out
        call(4, 7, 5, seed=240),
        call(6, 2, 3, seed=250),
        call(1, 3, 2, seed=260),
    ]


def self_attention(call):
    x, *matrices = call.arguments
    context, _ = oracle.attend(*(oracle.project(oracle.rows(x), turned(matrix)) for matrix in matrices))
    return [np.array(context)]


def projected(case):
    """The queries, keys and values, (T, d_out) each."""
    x, *matrices = arrays(case)
    return [x @ matrix for matrix in matrices]


def projected_pairs(case):
    """The unscaled scores of all queries against all keys, (T, T)."""
    queries, keys, _ = projected(case)
    return queries @ keys.T


mixing = mistakes.recovered(lambda case: projected(case)[2])


SELF_ATTENTION = Exercise(
    id="2.4",
    title="Scaled dot-product attention in one function",
    name="my_self_attention",
    points=2,
    difficulty=2,
    minutes=7,
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
    mistakes=(
        mistakes.CHANGED_IN_PLACE,
        mistakes.values_forgotten(
            lambda case: {"inputs": arrays(case)[0], "queries": projected(case)[0], "keys": projected(case)[1]}
        ),
        mistakes.softmax_over_queries(mixing),
        mistakes.softmax_over_all(mixing),
        mistakes.query_and_key_swapped(mixing, projected_pairs),
        mistakes.no_softmax(mixing, projected_pairs),
        mistakes.scaled_after_softmax(mixing, projected_pairs),
        mistakes.exponentials_not_divided(mixing, projected_pairs),
        *mistakes.wrong_divisor(
            mixing,
            projected_pairs,
            right=lambda case: case.arguments[2].shape[-1] ** 0.5,
            others=lambda case: {
                "scaled by d_k, not its root": case.arguments[2].shape[-1],
                "scaled by √d_in": case.arguments[0].shape[-1] ** 0.5,
                "scaled by √T": case.arguments[0].shape[-2] ** 0.5,
            },
            names=ALL_BUT_HEADS,
        ),
    ),
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
        call(5, 3, 6, seed=300, sizes=[(2, 4)], gradient=True),
        call(3, 2, 7, seed=400, sizes=[(4, 5), (1, 1)]),
        call(6, 7, 5, seed=500, sizes=[(2, 3), (3, 8)]),
    ]


def layer_contexts(call):
    results = []
    for (x,) in call.inputs:
        matrices = [oracle.rows(weight) for weight in call.weights.values()]
        contexts = [oracle.attend(*(oracle.project(one, matrix) for matrix in matrices))[0] for one in oracle.rows(x)]
        results.append(np.array(contexts))
    return results


def layer_parts(case):
    """The queries, keys and values, (B, T, d_k), (B, T, d_k) and (B, T, d_out)."""
    (x,) = arrays(case)
    return [x @ weight.double().numpy().T for weight in case.call.weights.values()]


def layer_scores(case):
    """The unscaled scores, (B, T, T)."""
    queries, keys, _ = layer_parts(case)
    return queries @ np.swapaxes(keys, -2, -1)


layer_mixing = mistakes.recovered(lambda case: layer_parts(case)[2])


def super_forgotten(case):
    if "before Module.__init__() call" in case.error:
        return (
            f"{mistakes.error_place(case)}a module has to be set up before it takes layers or parameters. Begin"
            " `__init__` with `super().__init__()`."
        )


def hidden_in_a_list(case):
    if case.reply.unplaced and not case.reply.parameters and case.reply.listed:
        return (
            "PyTorch finds 0 parameters in your layer, so nothing of it would be trained. It does not look into"
            f" `self.{case.reply.listed[0]}`, a Python list, tuple or dict: give each matrix a name of its own,"
            " `self.W_query = ...`."
        )


def plain_tensors(case):
    loose = [name for name in case.reply.loose if name in case.reply.unplaced]
    if loose:
        return (
            f"`self.{loose[0]}` is a plain tensor: training would not touch it. Wrap the finished tensor in"
            " `nn.Parameter`, as the last step, or use `nn.Linear`."
        )


def bias_left_on(case):
    biases = [name for name in case.reply.parameters if name.endswith(".bias")]
    if biases:
        return (
            f"Your layer has the parameter {biases[0]}: `nn.Linear` adds a bias of its own unless told otherwise. Use"
            " `bias=False`."
        )


def widths_mixed_up(case):
    d_in, d_k, d_out = case.call.arguments
    shapes = {name.removesuffix(".weight"): sorted(shape) for name, shape in case.reply.parameters.items()}
    for name, wrong, right in [("W_query", d_out, d_k), ("W_key", d_out, d_k), ("W_value", d_k, d_out)]:
        if shapes[name] == sorted([d_in, wrong]):
            return (
                f"Your {name} makes {wrong} numbers of {d_in}; expected {right}. Queries and keys have d_k = {d_k}"
                f" numbers, because they are compared with each other; values have d_out = {d_out}."
            )


def weight_as_stored(case):
    found = re.search(r"cannot be multiplied \(\d+x(\d+) and \d+x(\d+)\)", case.error)
    if found and int(found[1]) == int(found[2]) == case.call.arguments[0]:
        return (
            f"{mistakes.error_place(case)}the last size of the matrix is d_in = {found[2]}, so it is stored as"
            " (d_out, d_in), like the weight of `nn.Linear`. For `x @ matrix` it must be transposed, or call the layer."
        )


def keys_not_turned(case):
    (B, T, _), d_k = case.arguments[0].shape, case.call.arguments[1]
    as_they_are = f"[{B}, {d_k}] but got: [{B}, {T}]" in case.error and "key" in case.reply.error.code
    all_turned = f"tensor a ({B}) must match the size of tensor b ({d_k})" in case.error  # by .T
    if as_they_are or all_turned:
        return (
            f"{mistakes.error_place(case)}each sequence needs queries (T, d_k) times keys (d_k, T). Swap the last two"
            " dimensions of the keys only: `keys.transpose(-2, -1)`. `.T` would turn the batch, too."
        )


MY_SELF_ATTENTION = Exercise(
    id="2.5",
    title="A layer whose values have a width of their own",
    name="MySelfAttention",
    points=3,
    difficulty=3,
    minutes=12,
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
    mistakes=(
        Mistake("super().__init__() forgotten", super_forgotten),
        Mistake("a plain tensor instead of a parameter", plain_tensors),
        Mistake("parameters in a Python list", hidden_in_a_list),
        Mistake("widths of keys and values mixed up", widths_mixed_up),
        Mistake("bias left on", bias_left_on),
        Mistake("weight not transposed", weight_as_stored),
        Mistake("keys not transposed", keys_not_turned),
        mistakes.CHANGED_IN_PLACE,
        mistakes.values_forgotten(lambda case: {"inputs": arrays(case)[0]}),
        mistakes.softmax_over_batch(layer_mixing),
        mistakes.softmax_over_queries(layer_mixing),
        mistakes.softmax_over_all(layer_mixing),
        mistakes.query_and_key_swapped(layer_mixing, layer_scores),
        mistakes.no_softmax(layer_mixing, layer_scores),
        mistakes.scaled_after_softmax(layer_mixing, layer_scores),
        mistakes.exponentials_not_divided(layer_mixing, layer_scores),
        *mistakes.wrong_divisor(
            layer_mixing,
            layer_scores,
            right=lambda case: case.call.arguments[1] ** 0.5,
            others=lambda case: {
                "scaled by √d_out": case.call.arguments[2] ** 0.5,
                "scaled by d_k, not its root": case.call.arguments[1],
                "scaled by √d_in": case.call.arguments[0] ** 0.5,
                "scaled by √T": case.arguments[0].shape[-2] ** 0.5,
            },
        ),
    ),
    properties=(bias_left_on,),
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
