"""The exercises and questions of chapter 4, dropout and the causal class."""

import functools

import numpy as np
import torch

from course_utils.exercises import oracle, properties
from course_utils.exercises.exercise import Exercise, Question
from course_utils.exercises.inputs import non_contiguous, normal, uniform
from course_utils.judging.calls import FunctionCall, LayerCall

# --- 4.1 dropout from a given generator -------------------------------------------------------------------------------


def far_from_zero(*shape, seed):
    """Numbers of both signs, none near 0, so that a 0 in the result is one that was dropped."""
    numbers = normal(*shape, seed=seed)
    return numbers + numbers.sign()


def calls_on_numbers():
    return [
        FunctionCall([far_from_zero(30, 40, seed=1), 0.2, {"generator": 11}], repeat=2),
        FunctionCall([non_contiguous(far_from_zero(2, 30, 20, seed=2)), 0.75, {"generator": 12}]),
        FunctionCall([far_from_zero(500, seed=3), 0.5, {"generator": 13}]),
        FunctionCall([far_from_zero(3, 4, seed=4), 0.0, {"generator": 14}]),
    ]


def judged_by_properties(call):
    """Chance decides what is dropped."""
    return [None] * call.repeat


def dropped_numbers(case):
    """(x, the result, p) of a call."""
    x, p, _ = case.arguments
    return (x.double().numpy(), case.got, p) if case.got.shape == x.shape else None


def same_coins_each_time(case):
    values = [value for value in case.reply.values if isinstance(value, torch.Tensor)]
    if case.want is None and len(values) > 1 and torch.equal(*values):
        return (
            "Two calls in a row dropped the same numbers: a generator was seeded anew, or coins were kept from the"
            " first call. Draw in each call, and seed nothing."
        )


DROPOUT = Exercise(
    id="4.1",
    title="Dropout from a given generator",
    name="my_dropout",
    points=2,
    difficulty=2,
    why=(
        "On average, what 1 / (1 - p) adds to the numbers that stay makes up for those that go, so nothing needs"
        " mending."
    ),
    hints=(
        "Each number has a coin of its own. How many random numbers do you need, and which of them mean keep?",
        "`torch.rand(x.shape, generator=generator)` lies below `1 - p` with probability 1 - p.",
        "`x * kept / (1 - p)`, where `kept` is a mask of True and False.",
    ),
    make_calls=calls_on_numbers,
    oracle=judged_by_properties,
    properties=(
        properties.dropped_rightly(dropped_numbers, lambda case: tuple(case.arguments[0].shape)),
        same_coins_each_time,
        properties.each_with_a_coin(dropped_numbers),
    ),
)

# --- 4.2 which tokens attend to nothing? ------------------------------------------------------------------------------


def dropped_weights(*shape, p, seed):
    """Causal weights (..., T, T) after dropout."""
    scores = normal(*shape, seed=seed).masked_fill(torch.ones(shape[-2:]).triu(1).bool(), -torch.inf)
    return torch.softmax(scores, dim=-1) * (uniform(*shape, seed=seed + 50) < 1 - p) / (1 - p)


def calls_on_dropped():
    full = torch.softmax(normal(3, 3, seed=5), dim=-1)
    unseen_key, tiny = full.clone(), full.clone()
    unseen_key[:, 1] = 0  # nobody attends to token 1; every token attends to something
    tiny[2] = torch.tensor([0.0, 1e-5, 0.0])  # little is not nothing
    undropped = dropped_weights(4, 4, p=0.0, seed=5)  # hidden weights are 0, and every row sums to 1
    return [
        FunctionCall([dropped_weights(5, 5, p=0.5, seed=6)]),
        FunctionCall([dropped_weights(3, 4, 4, p=0.6, seed=7)]),
        FunctionCall([dropped_weights(2, 3, 6, 6, p=0.5, seed=8)]),
        FunctionCall([dropped_weights(1, 4, 4, p=0.6, seed=9)]),  # a batch of one
        FunctionCall([unseen_key]),
        FunctionCall([tiny]),
        FunctionCall([undropped]),
        FunctionCall([full * torch.tensor([[1.0], [2.0], [2.0]])]),  # two rows that have kept everything
    ]


def empty_rows(call):
    (weights,) = call.arguments
    rows = oracle.rows(weights.reshape(-1, weights.shape[-1]))
    return [np.array([not any(row) for row in rows]).reshape(weights.shape[:-1])]


VANISHED = Exercise(
    id="4.2",
    title="Which tokens attend to nothing?",
    name="my_vanished",
    points=1,
    difficulty=1,
    why="A row that vanished is no fault of your code: it is one of the draws over which dropout is right on average.",
    hints=(
        "Which dimension do you go along, if you want a verdict on each query?",
        "`dropped == 0` is True where a weight is 0. What must hold for all of a row?",
        "`(dropped == 0).all(dim=-1)`",
    ),
    make_calls=calls_on_dropped,
    oracle=empty_rows,
)

# --- 4.3 where dropout stands -----------------------------------------------------------------------------------------


def calls_on_attention():
    return [
        attention_call(T=3, d_k=6, d_v=5, p=0.0, seed=20),
        attention_call(2, T=4, d_k=3, d_v=6, p=0.0, seed=30),
        attention_call(3, T=1, d_k=2, d_v=4, p=0.0, seed=40),  # one token: nothing is hidden
        attention_call(2, T=5, d_k=3, d_v=7, p=0.2, seed=50),
        attention_call(6, T=4, d_k=7, d_v=5, p=0.25, seed=60),
    ]


def attention_call(*batch, T, d_k, d_v, p, seed):
    """Queries, keys, values, a mask of what to keep, and the rate p."""
    queries, keys = (normal(*batch, T, d_k, seed=seed + k) * 1.5 for k in range(2))
    kept = uniform(*batch, T, T, seed=seed + 3) < 1 - p
    return FunctionCall([queries, keys, normal(*batch, T, d_v, seed=seed + 2), kept, p])


def attention_weights(call):
    """Causal weights before dropout, shaped like the mask of what to keep."""
    queries, keys, values, kept, _ = call.arguments
    found = [oracle.attend(*one, causal=True)[1] for one in oracle.sequences(queries, keys, values)]
    return np.array(found).reshape(kept.shape)


def attention_with_dropout(call):
    queries, keys, values, kept, p = call.arguments
    weights = torch.from_numpy(attention_weights(call))
    contexts = []
    for table, coins, vectors in oracle.sequences(weights, kept, values):
        dropped = [[w / (1 - p) if coin else 0.0 for w, coin in zip(*pair)] for pair in zip(table, coins)]
        contexts.append([oracle.mix(row, vectors) for row in dropped])
    return [np.array(contexts).reshape(*queries.shape[:-1], values.shape[-1])]


def given(place):
    """The argument at a place, as float64: case -> array."""
    return lambda case: case.arguments[place].double().numpy()


DROPPED_ATTENTION = Exercise(
    id="4.3",
    title="Where dropout stands",
    name="my_dropped_attention",
    points=2,
    difficulty=2,
    why="Scores, hide, softmax, drop, mix: in this order the future stays at 0, and a dropped weight really is 0.",
    hints=(
        "Five steps: scores, hide the future, softmax, dropout, mix. Which comes just before the mix?",
        "Until softmax it is chapter 3. Then: `weights * kept / (1 - p)`.",
        "`keys.transpose(-2, -1)` turns the keys over with and without a batch.",
    ),
    make_calls=calls_on_attention,
    oracle=attention_with_dropout,
)

# --- 4.4 dropout as a layer -------------------------------------------------------------------------------------------


def calls_on_dropout_layers():
    x = far_from_zero(30, 40, seed=9)
    return [
        LayerCall([0.2], inputs=[[x], [x]], training=True, seed=1),
        LayerCall([0.75], inputs=[[far_from_zero(2, 20, 30, seed=10)]], training=True, seed=3),
        LayerCall([0.2], inputs=[[x], [x]], seed=5),
        LayerCall([0.0], inputs=[[far_from_zero(3, 4, seed=11)]], training=True, seed=7),
    ]


def unchanged_in_evaluation(call):
    return [None if call.training else np.array(oracle.rows(x)) for (x,) in call.inputs]


def dropped_in_training(case):
    """(x, the result, p) of a call in training."""
    x, p = case.arguments[0].double().numpy(), case.call.arguments[0]
    return (x, case.got, p) if case.call.training and case.got.shape == x.shape else None


DROPOUT_LAYER = Exercise(
    id="4.4",
    title="Dropout as a layer",
    name="MyDropout",
    points=2,
    difficulty=2,
    why="`eval()` reaches every layer inside a model because each asks the same switch, `self.training`.",
    hints=(
        "The layer has nothing to learn: it keeps p, and forward looks at a switch.",
        "`self.training` is True after `.train()` and False after `.eval()`.",
        "`if not self.training: return x`. Otherwise as in exercise 4.1, without a generator.",
    ),
    make_calls=calls_on_dropout_layers,
    oracle=unchanged_in_evaluation,
    properties=(
        properties.dropped_rightly(dropped_in_training, lambda case: tuple(case.arguments[0].shape)),
        properties.each_with_a_coin(dropped_in_training),
    ),
)

# --- 4.5 one matrix instead of three ----------------------------------------------------------------------------------


def calls_on_layers():
    return [
        # as wide as its tokens are many, so that weights can be worked out of context vectors; the mask must be cut
        fused(2, T=4, d_in=6, d_out=5, context_length=7, dropout=0.5, seed=70, calls=2),
        fused(3, T=5, d_in=4, d_out=2, context_length=5, dropout=0.0, seed=80),
        fused(3, T=1, d_in=2, d_out=4, context_length=8, dropout=0.0, seed=90),  # one token: nothing is hidden
        fused(T=3, d_in=7, d_out=6, context_length=8, dropout=0.1, seed=100),  # one sequence without a batch
        fused(20, T=4, d_in=6, d_out=5, context_length=4, dropout=0.25, seed=110, training=True),
        fused(2, T=3, d_in=4, d_out=5, context_length=6, dropout=0.0, seed=120, training=True),
    ]


def fused(*batch, T, d_in, d_out, context_length, dropout, seed, calls=1, **more):
    """A call of a layer with one matrix for queries, keys and values."""
    x, weight = normal(*batch, T, d_in, seed=seed), normal(3 * d_out, d_in, seed=seed + 1) * 0.5
    arguments = [d_in, d_out, context_length, dropout]
    return LayerCall(arguments, inputs=[[x]] * calls, weights={"W_qkv": weight}, seed=seed, **more)


def projections(call):
    """The query, key and value matrices of a call, (d_out, d_in) each, as nested lists."""
    return [oracle.rows(part) for part in call.weights["W_qkv"].chunk(3)]


def fused_attention(call):
    if call.training:
        return [None] * len(call.inputs)
    contexts = []
    for (x,) in call.inputs:
        found = [oracle.multi_head(one, *projections(call), num_heads=1) for (one,) in oracle.sequences(x)]
        contexts.append(np.array(found).reshape(*x.shape[:-1], call.arguments[1]))
    return contexts


@functools.cache
def layer_weights(call):
    """The weights before dropout that the first input of this call should have, (..., T, T)."""
    (x,), (W_query, W_key, W_value) = call.inputs[0], projections(call)
    tables = []
    for (one,) in oracle.sequences(x):
        vectors = [oracle.project(one, matrix) for matrix in (W_query, W_key, W_value)]
        tables.append(oracle.attend(*vectors, causal=True)[1])
    return np.array(tables).reshape(*x.shape[:-1], x.shape[-2])


def projected(part):
    """The queries (0), keys (1) or values (2) of a call of the layer: case -> array (..., T, d_out)."""
    return lambda case: given(0)(case) @ case.call.weights["W_qkv"].chunk(3)[part].double().numpy().T


behind_layer = properties.recovered(projected(2))


def dropped_layer_weights(case):
    """(weights before dropout, weights behind the context vectors, p) of a call in training."""
    if not case.call.training:
        return None
    after = behind_layer(case)
    return None if after is None else (layer_weights(case.call), after, case.call.arguments[3])


FUSED = Exercise(
    id="4.5",
    title="One matrix instead of three",
    name="MyCausalAttention",
    points=4,
    difficulty=3,
    why="This is how large models store it: one product instead of three, and the same numbers.",
    hints=(
        "`self.W_qkv = nn.Linear(d_in, 3 * d_out, bias=False)`; in `forward`, cut its result into three parts.",
        "`self.W_qkv(x).chunk(3, dim=-1)` gives queries, keys and values, (..., T, d_out) each.",
        "The mask is a buffer for `context_length` tokens: cut it, `self.mask[:T, :T]`, with `T = x.shape[-2]`.",
        "`nn.Dropout(dropout)` is a layer: make it in `__init__` and call it on the weights, after softmax.",
    ),
    make_calls=calls_on_layers,
    oracle=fused_attention,
    properties=(
        properties.dropped_rightly(
            dropped_layer_weights, lambda case: (*case.arguments[0].shape[:-1], case.call.arguments[1])
        ),
    ),
)

QUESTIONS = (
    Question(
        id="Q4.1",
        right="c",
        said={
            "a": "Half of 36 is 18, but nobody counts: each entry has a coin of its own.",
            "b": "It may be any number from 0 to 36, though numbers far from the middle are rare.",
            "c": "Yes. Each entry is kept or not on its own, so 18 is only the average.",
        },
    ),
    Question(
        id="Q4.2",
        right="b",
        said={
            "a": (
                "That happens only if softmax comes after dropout, or if you divide by the sums. Neither is done here."
            ),
            "b": (
                "Yes. What stays is doubled, whatever goes. A row may keep all and sum to 2, or lose all and sum to 0."
            ),
            "c": "On average, yes; a single row keeps more or less than half of its weights.",
        },
    ),
    Question(
        id="Q4.3",
        right="a",
        said={
            "a": "Yes. exp(0) is 1: a score of 0 is a score like any other, and equal scores get equal weights.",
            "b": "A weight of 0 needs a score of minus infinity. A dropped score is 0, a number like any other.",
            "c": "That needs a score of minus infinity in the whole row. A score of 0 leaves something to divide by.",
        },
    ),
    Question(
        id="Q4.4",
        right="c",
        said={
            "a": "The buffer moves. It is the plain attribute that stays, and on a GPU the two no longer go together.",
            "b": "A buffer is not trained. Only parameters are.",
            "c": "Yes: `.to()` moves parameters and buffers, and `parameters()` lists only what is learned.",
        },
    ),
)
