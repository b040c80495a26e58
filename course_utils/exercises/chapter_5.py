"""The exercises of chapter 5, multi-head attention."""

import numpy as np
import torch

from course_utils.exercises import chapter_3, properties, puzzles
from course_utils.exercises.exercise import Exercise, Puzzle
from course_utils.exercises.inputs import normal
from course_utils.exercises.words import written
from course_utils.judging.calls import LayerCall

# --- 5.1 a head that looks back ---------------------------------------------------------------------------------------

LETTERS, POSITIONS = ("a", "b", "c", "d"), 8


def looking_back(words):
    """The Reading in which each token but the first finds the one before it, and gets its letter."""
    wanted = np.eye(len(words), k=-1)
    wanted[0] = np.nan
    output = wanted @ placed(words)[:, : len(LETTERS)]
    return puzzles.Reading(words, wanted, [f"position {position}" for position in range(len(words))], context=output)


def placed(words):
    """Vectors (T, 12): the letter, then the position."""
    return np.hstack([chapter_3.embedded(words, LETTERS), np.eye(POSITIONS)[: len(words)]])


heads = puzzles.head_of_matrices(placed, chapter_3.so_far)
looks_back = puzzles.behaves(heads, lambda: map(looking_back, puzzles.sentences(501, LETTERS, 4, POSITIONS)))
LOOK_BACK = Puzzle(**written("5.1"), properties=(looks_back,))

SPLIT = Exercise(
    **written("5.2"),
    make_calls=lambda: [
        [normal(2, 4, 15, seed=1), 3],
        [normal(5, 8, seed=2), 4],
        [normal(3, 2, 10, seed=3), 5],
        [normal(2, 3, 4, seed=4), 1],
        [normal(1, 4, 6, seed=5), 2],  # a batch of one
        [normal(2, 3, 8, seed=6).double() / 3, 4],  # more digits than 32 bits hold
    ],
)

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
    inputs = [[normal(B, T, d_in, seed=seed + 8)]] * calls
    arguments = [*sizes] + [True] * qkv_bias  # False is what nobody has to say
    return LayerCall(arguments, inputs, weights, seed=seed, training=training)


def apart(vectors, num_heads):
    """From (B, T, d_out) to heads (B, num_heads, T, head_dim)."""
    return vectors.reshape(*vectors.shape[:2], num_heads, -1).swapaxes(1, 2)


def projected(call, x):
    """Queries, keys and values of a call's heads for an input in 64 bits. No call that drops weights has biases."""
    return [apart(x @ call.weights[name].double().T, call.arguments[4]) for name in PROJECTIONS]


MULTI_HEAD = Exercise(
    **written("5.4"),
    make_calls=lambda: [
        # head_dim is at least T, so that weights can be worked out of context vectors; the mask must be cut
        layer_call(3, 5, [7, 12, 8, 0.5, 2], seed=1, calls=2),
        layer_call(1, 4, [3, 6, 4, 0.0, 3], seed=20, mixed=True),
        layer_call(3, 1, [5, 8, 6, 0.0, 2], seed=40),  # none hidden
        layer_call(2, 3, [4, 5, 7, 0.1, 1], seed=60, mixed=True, qkv_bias=True),
        layer_call(8, 4, [6, 15, 9, 0.25, 3], seed=80, training=True),
        layer_call(2, 3, [5, 8, 6, 0.0, 2], seed=100, training=True),
    ],
    # the learner's context vectors per head, (B, num_heads, T, head_dim): in training, out_proj does nothing
    properties=(properties.drops_weights_correctly(projected, lambda case: apart(case.got, case.call.arguments[4])),),
)
