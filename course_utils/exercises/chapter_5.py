"""The exercises of chapter 5, multi-head attention."""

import numpy as np
import torch

from course_utils.exercises import chapter_3, oracle, properties, puzzles
from course_utils.exercises.exercise import Exercise, Puzzle
from course_utils.exercises.inputs import non_contiguous, normal
from course_utils.exercises.words import written
from course_utils.judging.calls import LayerCall


def apart(vectors, num_heads):
    """From an array (..., T, d_out) to its heads (..., num_heads, T, head_dim), number by number."""
    *before, T, d_out = vectors.shape
    size = d_out // num_heads
    heads = np.empty((*before, num_heads, T, size))
    for h in range(num_heads):
        heads[..., h, :, :] = vectors[..., h * size : (h + 1) * size]
    return heads


# --- 5.1 a head that looks back ---------------------------------------------------------------------------------------

LETTERS, POSITIONS = ("a", "b", "c", "d"), 8


def sequences_of_places():
    """Readings of random sequences: each token but the first should find the one before it, and get its letter."""
    for words in puzzles.sentences(501, LETTERS, 4, POSITIONS):
        wanted = np.eye(len(words), k=-1)
        wanted[0] = np.nan
        output = wanted @ placed(words)[:, : len(LETTERS)]
        yield puzzles.Reading(words, wanted, [f"position {position}" for position in range(len(words))], context=output)


def placed(words):
    """Vectors (T, 12): the letter, then the position."""
    return np.hstack([np.eye(len(LETTERS))[[LETTERS.index(word) for word in words]], np.eye(POSITIONS)[: len(words)]])


LOOK_BACK = Puzzle(
    **written("5.1"),
    properties=(puzzles.behaves(puzzles.head_of_matrices(placed, chapter_3.so_far), sequences_of_places),),
)

# --- 5.2 split --------------------------------------------------------------------------------------------------------


def split_heads(projected, num_heads):
    return apart(projected.double().numpy(), num_heads)


SPLIT = Exercise(
    **written("5.2"),
    make_calls=lambda: [
        [normal(2, 4, 15, seed=1), 3],
        [normal(5, 8, seed=2), 4],
        [non_contiguous(normal(3, 2, 10, seed=3)), 5],
        [normal(2, 3, 4, seed=4), 1],
        [normal(1, 4, 6, seed=5), 2],  # a batch of one
        [normal(2, 3, 8, seed=6).double() / 3, 4],  # more digits than 32 bits hold
    ],
    oracle=split_heads,
)

# --- 5.3 merge --------------------------------------------------------------------------------------------------------


def merged_heads(context):
    *before, num_heads, T, size = context.shape
    heads = oracle.rows(context.reshape(-1, num_heads, T, size))
    return np.array([[sum((head[t] for head in one), []) for t in range(T)] for one in heads]).reshape(*before, T, -1)


MERGE = Exercise(
    **written("5.3"),
    make_calls=lambda: [
        [normal(2, 3, 4, 5, seed=5)],
        [normal(2, 5, 3, seed=6)],
        [normal(3, 5, 4, 2, seed=7).transpose(1, 2)],  # not in order in memory
        [normal(2, 1, 3, 4, seed=8)],
        [normal(1, 2, 3, 4, seed=9)],  # a batch of one
        [normal(2, 3, 1, 4, seed=10)],  # one token
    ],
    oracle=merged_heads,
)

# --- 5.4 multi-head attention from a blank page -----------------------------------------------------------------------


PROJECTIONS = ["W_query", "W_key", "W_value"]


def layer_call(B, T, sizes, seed, mixed=False, qkv_bias=False, calls=1, training=False):
    """A call of a multi-head layer. mixed: with a random out_proj; otherwise it hands on what it gets.

    sizes: its arguments: d_in, d_out, context_length, dropout, num_heads.
    """
    d_in, d_out, *_ = sizes
    weights = {name: normal(d_out, d_in, seed=seed + k) * 0.3 for k, name in enumerate(PROJECTIONS)}
    if qkv_bias:
        weights |= {f"{name}.bias": normal(d_out, seed=seed + 3 + k) for k, name in enumerate(PROJECTIONS)}
    weights["out_proj"] = normal(d_out, d_out, seed=seed + 6) if mixed else torch.eye(d_out)
    weights["out_proj.bias"] = normal(d_out, seed=seed + 7) if mixed else torch.zeros(d_out)
    x = normal(B, T, d_in, seed=seed + 8)
    arguments = [*sizes] + [True] * qkv_bias  # False is what nobody has to say
    return LayerCall(arguments, inputs=[[x]] * calls, weights=weights, seed=seed, training=training)


def heads_of(call, x):
    """(context vectors, weights, values) of each head, by loops, for one sequence x (T, d_in) as nested lists."""
    biases = [call.weights.get(f"{name}.bias") for name in PROJECTIONS]
    size = call.arguments[1] // call.arguments[4]
    for h in range(call.arguments[4]):
        own = slice(h * size, (h + 1) * size)
        queries, keys, values = (
            oracle.project(x, oracle.rows(call.weights[name][own]), None if bias is None else oracle.rows(bias[own]))
            for name, bias in zip(PROJECTIONS, biases)
        )
        yield *oracle.attend(queries, keys, values, causal=True), values


def attended(call, x):
    """The same of each sequence in a batch: (num_heads, T, ...) each."""
    return [list(zip(*heads_of(call, one))) for (one,) in oracle.sequences(x)]


def multi_head_attention(call, x):
    if call.training:
        return None
    matrix, bias = oracle.rows(call.weights["out_proj"]), oracle.rows(call.weights["out_proj.bias"])
    together = [[sum(rows, []) for rows in zip(*contexts)] for contexts, _, _ in attended(call, x)]  # (B, T, d_out)
    return np.array([oracle.project(one, matrix, bias) for one in together])


def head_contexts(case):
    """The learner's context vectors per head, (B, num_heads, T, head_dim): in training, out_proj does nothing."""
    return apart(case.got, case.call.arguments[4])


MULTI_HEAD = Exercise(
    **written("5.4"),
    make_calls=lambda: [
        # head_dim is at least T, so that weights can be worked out of context vectors; the mask must be cut
        layer_call(3, 5, [7, 12, 8, 0.5, 2], seed=1, calls=2),
        layer_call(2, 4, [3, 6, 4, 0.0, 3], seed=20, mixed=True),
        layer_call(3, 1, [5, 8, 6, 0.0, 2], seed=40),  # none hidden
        layer_call(2, 3, [4, 5, 7, 0.1, 1], seed=60, mixed=True, qkv_bias=True),
        layer_call(8, 4, [6, 15, 9, 0.25, 3], seed=80, training=True),
        layer_call(2, 3, [5, 8, 6, 0.0, 2], seed=100, training=True),
    ],
    oracle=multi_head_attention,
    properties=(properties.drops_weights_correctly(attended, head_contexts),),
)
