"""The exercises and questions of chapter 5, multi-head attention."""

import functools

import numpy as np
import torch

from course_utils.exercises import oracle, properties
from course_utils.exercises.exercise import Exercise, Question
from course_utils.exercises.inputs import non_contiguous, normal
from course_utils.judging.calls import FunctionCall, LayerCall

THE_CLASS = {"layer class": True}  # as an argument: a stand-in for the chapter's class, which notes its arguments


def apart(vectors, num_heads):
    """From an array (..., T, d_out) to its heads (..., num_heads, T, head_dim), number by number."""
    *before, T, d_out = vectors.shape
    size = d_out // num_heads
    heads = np.empty((*before, num_heads, T, size))
    for h in range(num_heads):
        heads[..., h, :, :] = vectors[..., h * size : (h + 1) * size]
    return heads


# --- 5.1 heads side by side -------------------------------------------------------------------------------------------


def calls_on_heads():
    return [
        heads_call(2, T=4, d_in=6, d_out=5, context_length=7, dropout=0.5, num_heads=3, seed=1),
        heads_call(3, T=5, d_in=2, d_out=4, context_length=5, dropout=0.0, num_heads=2, seed=20),
        heads_call(3, T=9, d_in=2, d_out=5, context_length=9, dropout=0.0, num_heads=1, seed=40),  # longer than wide
        heads_call(8, T=4, d_in=6, d_out=5, context_length=4, dropout=0.25, num_heads=2, seed=60, training=True),
    ]


def heads_call(B, T, d_in, d_out, context_length, dropout, num_heads, seed, **more):
    """A call of a layer with heads of three matrices each, (d_out, d_in), given head by head."""
    matrices = [normal(d_out, d_in, seed=seed + k) * 0.5 for k in range(3 * num_heads)]
    arguments = [d_in, d_out, context_length, dropout, num_heads]
    x = normal(B, T, d_in, seed=seed + 100)
    return LayerCall(arguments, inputs=[[x]], weights=matrices, seed=seed, **more)


def of_each_head(call, x):
    """(context vectors (T, d_out), weights (T, T)) of each head, for one sequence x (T, d_in) as nested lists."""
    matrices = [oracle.rows(matrix) for matrix in call.weights]
    for h in range(call.arguments[4]):
        vectors = [oracle.project(x, matrix) for matrix in matrices[3 * h : 3 * h + 3]]
        yield oracle.attend(*vectors, causal=True)


def side_by_side(call):
    if call.training:
        return [None]
    contexts = []
    for (x,) in oracle.sequences(call.inputs[0][0]):
        heads = [context for context, _ in of_each_head(call, x)]
        contexts.append([sum(rows, []) for rows in zip(*heads)])
    return [np.array(contexts)]


@functools.cache
def weights_before(heads, call):
    """The weights before dropout of each head, (B, num_heads, T, T), for a call's first input."""
    return np.array([[weights for _, weights in heads(call, x)] for (x,) in oracle.sequences(call.inputs[0][0])])


def dropped_in_heads(case):
    """(weights before dropout, weights behind the context vectors, p) of a call in training: (B, num_heads, T, T)."""
    if not case.call.training:
        return None
    x = case.arguments[0].double().numpy()
    values = np.stack([x @ matrix.double().numpy().T for matrix in case.call.weights[2::3]], axis=1)  # (B, H, T, d_out)
    context = apart(case.got, case.call.arguments[4])
    after = properties.recovered(lambda case: values, lambda case: context)(case)
    return None if after is None else (weights_before(of_each_head, case.call), after, case.call.arguments[3])


HEADS = Exercise(
    id="5.1",
    title="Heads side by side",
    name="MyHeads",
    points=2,
    difficulty=2,
    why="Each head has its own weights per token, and concatenation keeps apart what each has heard.",
    hints=(
        "The class needs no mathematics: it makes heads, calls them, and lays their results side by side.",
        "`nn.ModuleList([CausalAttention(...) for _ in range(num_heads)])` keeps heads where PyTorch finds them.",
        "`torch.cat([head(x) for head in self.heads], dim=-1)`",
    ),
    make_calls=calls_on_heads,
    oracle=side_by_side,
    properties=(
        properties.dropped_rightly(
            dropped_in_heads,
            lambda case: (*case.arguments[0].shape[:-1], case.call.arguments[1] * case.call.arguments[4]),
        ),
    ),
)

# --- 5.2 Raschka's exercise: heads of one number ----------------------------------------------------------------------


def calls_on_widths():
    return [
        FunctionCall([THE_CLASS, 3, 6, 2, 2]),  # as in the book: two heads, two numbers
        FunctionCall([THE_CLASS, 5, 7, 4, 12]),
        FunctionCall([THE_CLASS, 9, 4, 3, 6]),
        FunctionCall([THE_CLASS, 4, 8, 1, 5]),
    ]


def judged_by_properties(call):
    return [None]


def asked(case):
    """What the learner asked of the class, by name; {} if they made nothing with it."""
    return case.value.get("layer", {}) if isinstance(case.value, dict) else {}


def made_with(wanted):
    """A property: a layer was made with these arguments. wanted: case -> {name: number}."""

    def sentence(case):
        if not asked(case):
            return (
                "Your function gave back no layer of the class that it is given. Call the class once, and return what"
                " it makes."
            )
        for name, number in wanted(case).items():
            found = asked(case).get(name)
            if found != number:
                return f"You made the layer with {name}={found}; expected {number}."

    return sentence


def narrow(case):
    """The arguments that the wrapper should get."""
    _, d_in, context_length, num_heads, width = case.arguments
    d_out = width // num_heads
    return {"num_heads": num_heads, "d_out": d_out, "d_in": d_in, "context_length": context_length, "dropout": 0}


NARROW = Exercise(
    id="5.2",
    title="Two heads, two numbers",
    name="my_narrow_wrapper",
    points=1,
    difficulty=1,
    why="Heads cost no width: several narrow ones fill the same vector as a single wide one.",
    hints=(
        "Two heads of two numbers each make four. How wide may each head be?",
        "`d_out` of the wrapper is the width of one head: `width // num_heads`.",
    ),
    make_calls=calls_on_widths,
    oracle=judged_by_properties,
    properties=(made_with(narrow),),
)

# --- 5.3 split --------------------------------------------------------------------------------------------------------


def calls_on_projected():
    return [
        FunctionCall([normal(2, 4, 15, seed=1), 3]),
        FunctionCall([normal(5, 8, seed=2), 4]),
        FunctionCall([non_contiguous(normal(3, 2, 10, seed=3)), 5]),
        FunctionCall([normal(2, 3, 4, seed=4), 1]),
        FunctionCall([normal(1, 4, 6, seed=5), 2]),  # a batch of one
        FunctionCall([normal(2, 3, 8, seed=6).double(), 4]),
    ]


def split_heads(call):
    projected, num_heads = call.arguments
    return [apart(projected.double().numpy(), num_heads)]


SPLIT = Exercise(
    id="5.3",
    title="Split into heads",
    name="my_split",
    points=2,
    difficulty=2,
    why="Now the last two dimensions are tokens and numbers, so `@` computes the scores of every head on its own.",
    hints=(
        "Two steps: cut the last dimension in two, then let heads and tokens change places.",
        "`*before, d_out = projected.shape` takes any dimensions in front; `head_dim` is `d_out // num_heads`.",
        "`projected.view(*before, num_heads, head_dim).transpose(-3, -2)`",
    ),
    make_calls=calls_on_projected,
    oracle=split_heads,
)

# --- 5.4 merge --------------------------------------------------------------------------------------------------------


def calls_on_contexts():
    return [
        FunctionCall([normal(2, 3, 4, 5, seed=5)]),
        FunctionCall([normal(2, 5, 3, seed=6)]),
        FunctionCall([normal(3, 5, 4, 2, seed=7).transpose(1, 2)]),  # not in order in memory
        FunctionCall([normal(2, 1, 3, 4, seed=8)]),
        FunctionCall([normal(1, 2, 3, 4, seed=9)]),  # a batch of one
        FunctionCall([normal(2, 3, 1, 4, seed=10)]),  # one token
    ]


def merged_heads(call):
    (context,) = call.arguments
    *before, num_heads, T, size = context.shape
    heads = oracle.rows(context.reshape(-1, num_heads, T, size))
    return [np.array([[sum((head[t] for head in one), []) for t in range(T)] for one in heads]).reshape(*before, T, -1)]


MERGE = Exercise(
    id="5.4",
    title="Merge the heads",
    name="my_merge",
    points=2,
    difficulty=2,
    why="Each token's vector holds head after head again, as if the heads had been concatenated.",
    hints=(
        "The split backwards: heads and tokens change places, then two dimensions become one.",
        "After `transpose`, `view` needs the numbers in order in memory: `contiguous()` in between.",
        "`together = context.transpose(-3, -2).contiguous()`, then `together.view(*before, num_heads * head_dim)`.",
    ),
    make_calls=calls_on_contexts,
    oracle=merged_heads,
)

# --- 5.5 multi-head attention from a blank page -----------------------------------------------------------------------


def calls_on_layers():
    unit = {"mixed": False}
    return [
        # head_dim is at least T, so that weights can be worked out of context vectors; the mask must be cut
        layer_call(
            3,
            5,
            d_in=7,
            d_out=12,
            context_length=8,
            dropout=0.5,
            num_heads=2,
            seed=1,
            calls=2,
            **unit,
        ),
        layer_call(2, 4, d_in=3, d_out=6, context_length=4, dropout=0.0, num_heads=3, seed=20),
        layer_call(3, 1, d_in=5, d_out=8, context_length=6, dropout=0.0, num_heads=2, seed=40, **unit),  # none hidden
        layer_call(2, 3, d_in=4, d_out=5, context_length=7, dropout=0.1, num_heads=1, seed=60, qkv_bias=True),
        layer_call(8, 4, d_in=6, d_out=15, context_length=9, dropout=0.25, num_heads=3, seed=80, training=True, **unit),
        layer_call(2, 3, d_in=5, d_out=8, context_length=6, dropout=0.0, num_heads=2, seed=100, training=True, **unit),
    ]


def layer_call(
    B, T, d_in, d_out, context_length, dropout, num_heads, seed, mixed=True, qkv_bias=False, calls=1, **more
):
    """A call of a multi-head layer. mixed: with a random out_proj; otherwise it hands on what it gets."""
    names = ["W_query", "W_key", "W_value"]
    weights = {name: normal(d_out, d_in, seed=seed + k) * 0.3 for k, name in enumerate(names)}
    if qkv_bias:
        weights |= {f"{name}.bias": normal(d_out, seed=seed + 3 + k) for k, name in enumerate(names)}
    weights["out_proj"] = normal(d_out, d_out, seed=seed + 6) if mixed else torch.eye(d_out)
    weights["out_proj.bias"] = normal(d_out, seed=seed + 7) if mixed else torch.zeros(d_out)
    x = normal(B, T, d_in, seed=seed + 8)
    arguments = [d_in, d_out, context_length, dropout, num_heads] + [True] * qkv_bias  # False is what nobody has to say
    return LayerCall(arguments, inputs=[[x]] * calls, weights=weights, seed=seed, **more)


def heads_of(call, x):
    """(context vectors (T, head_dim), weights (T, T)) of each head, for one sequence x (T, d_in) as nested lists."""
    names = ["W_query", "W_key", "W_value"]
    biases = [call.weights.get(f"{name}.bias") for name in names]
    size = call.arguments[1] // call.arguments[4]
    for h in range(call.arguments[4]):
        own = slice(h * size, (h + 1) * size)
        vectors = [
            oracle.project(x, oracle.rows(call.weights[name][own]), None if bias is None else oracle.rows(bias[own]))
            for name, bias in zip(names, biases)
        ]
        yield oracle.attend(*vectors, causal=True)


def concatenated(call, x):
    """The heads' context vectors side by side, before out_proj, for a batch x: nested lists (B, T, d_out)."""
    batch = [[context for context, _ in heads_of(call, one)] for (one,) in oracle.sequences(x)]
    return [[sum(rows, []) for rows in zip(*heads)] for heads in batch]


def multi_head_attention(call):
    if call.training:
        return [None] * len(call.inputs)
    matrix, bias = oracle.rows(call.weights["out_proj"]), oracle.rows(call.weights["out_proj.bias"])
    return [np.array([oracle.project(one, matrix, bias) for one in concatenated(call, x)]) for (x,) in call.inputs]


def hands_on(case):
    """Whether out_proj of this call does nothing, so that the result is the heads' context vectors."""
    weight = case.call.weights["out_proj"]
    return torch.equal(weight, torch.eye(len(weight)))


def head_contexts(case):
    """The learner's context vectors per head, (B, num_heads, T, head_dim), where out_proj does nothing."""
    context = properties.returned(case)
    return apart(context, case.call.arguments[4]) if context is not None and hands_on(case) else None


def projected(name):
    """The queries, keys or values of each head: case -> array (B, num_heads, T, head_dim)."""

    def vectors(case):
        x, weight = case.arguments[0].double().numpy(), case.call.weights[name].double().numpy()
        return apart(x @ weight.T, case.call.arguments[4])

    return vectors


behind_heads = properties.recovered(projected("W_value"), head_contexts)


def dropped_weights(case):
    """(weights before dropout, weights behind the context vectors, p) of a call in training."""
    if not case.call.training:
        return None
    after = behind_heads(case)
    return None if after is None else (weights_before(heads_of, case.call), after, case.call.arguments[3])


MULTI_HEAD = Exercise(
    id="5.5",
    title="Multi-head attention from a blank page",
    name="MyMultiHeadAttention",
    points=5,
    difficulty=3,
    why="You have written the attention layer of GPT-2.",
    hints=(
        (
            "Four layers, a dropout and a mask in __init__; in forward: project, split, scores, hide, softmax, drop,"
            " mix, merge, out_proj."
        ),
        "`self.W_query(x).view(B, T, num_heads, head_dim).transpose(1, 2)`, the same for keys and values.",
        "Scores are divided by the root of head_dim, and the mask is cut to the tokens: `self.mask[:T, :T]`.",
        "Merge: `context.transpose(1, 2).contiguous().view(B, T, d_out)`, and then `self.out_proj`.",
    ),
    make_calls=calls_on_layers,
    oracle=multi_head_attention,
    properties=(
        properties.dropped_rightly(
            dropped_weights, lambda case: (*case.arguments[0].shape[:-1], case.call.arguments[1])
        ),
    ),
)

# --- 5.6 counting parameters ------------------------------------------------------------------------------------------


def calls_on_sizes():
    return [
        FunctionCall([2, 10, 5, True]),
        FunctionCall([768, 768, 12, False]),
        FunctionCall([7, 9, 3, False]),
        FunctionCall([768, 768, 12, True]),
        FunctionCall([6, 4, 1, False]),
    ]


def matrices(call):
    """(rows, columns, has a bias) of W_query, W_key, W_value and out_proj."""
    d_in, d_out, _, qkv_bias = call.arguments
    return [(d_out, d_in, qkv_bias)] * 3 + [(d_out, d_out, True)]


def parameters(call):
    return [sum(rows * columns + (rows if bias else 0) for rows, columns, bias in matrices(call))]


COUNT = Exercise(
    id="5.6",
    title="Count what the layer learns",
    name="my_count",
    points=1,
    difficulty=1,
    why="The number of heads does not appear in the count: heads share out a width and add nothing.",
    hints=(
        "Four linear layers. How many numbers has a linear layer from 3 to 8, without and with a bias?",
        "Queries, keys and values: `d_in * d_out` each, and `d_out` more where `qkv_bias` is True.",
        "`out_proj` goes from `d_out` to `d_out` and always has a bias.",
    ),
    make_calls=calls_on_sizes,
    oracle=parameters,
)

# --- 5.7 the attention of GPT-2 small ---------------------------------------------------------------------------------

GPT2_SMALL = {
    "d_in": 768,
    "d_out": 768,
    "num_heads": 12,
    "context_length": 1024,
    "qkv_bias": True,
    "dropout": 0.1,
}


GPT2 = Exercise(
    id="5.7",
    title="The attention of GPT-2 small",
    name="my_gpt2_attention",
    points=1,
    difficulty=1,
    why="With these six numbers the layer has 2,362,368 parameters, and GPT-2's trained weights fit into it.",
    hints=(
        "Width, heads and longest sequence stand at the beginning of this section. What about dropout and biases?",
        "GPT-2 uses biases for queries, keys and values: `qkv_bias=True`.",
    ),
    make_calls=lambda: [FunctionCall([THE_CLASS])],
    oracle=judged_by_properties,
    properties=(made_with(lambda case: GPT2_SMALL),),
)

QUESTIONS = (
    Question(
        id="Q5.1",
        right="c",
        said={
            "a": "There are 36 numbers, but PyTorch finds only what is an attribute of the module. A list hides it.",
            "b": "One head has 18. PyTorch finds neither the first nor the second: it does not look into lists at all.",
            "c": "Yes: 0. The heads compute as they should, and would never be trained.",
        },
    ),
    Question(
        id="Q5.2",
        right="b",
        said={
            "a": (
                "Then nobody would need the transpose. The shape is right, but look whose numbers lie next to each"
                " other."
            ),
            "b": (
                "Yes. In memory, all numbers of one token stand next to each other, and view cuts that line into heads."
            ),
            "c": "It would, if the sizes did not multiply to the same number. They do, so nothing complains.",
        },
    ),
    Question(
        id="Q5.3",
        right="a",
        said={
            "a": "Yes: a score adds up the products of one head only, so d_k is 4.",
            "b": "12 is the width of all heads together. No score is a sum over 12 products.",
            "c": "6 is the number of tokens. It says how many scores a row has, not how large they are.",
        },
    ),
    Question(
        id="Q5.4",
        right="c",
        said={
            "a": "Each head would be half as wide, so twice as many of them have the same number of columns together.",
            "b": "Half the width per head, but twice the heads: the two cancel.",
            "c": "Yes. Heads share out the columns of matrices that stay as they are.",
        },
    ),
)
