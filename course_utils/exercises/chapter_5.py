"""The exercises and questions of chapter 5, multi-head attention."""

import numpy as np
import torch

from course_utils.exercises import chapter_3, oracle, properties, puzzles
from course_utils.exercises.exercise import Exercise, FillIn, Puzzle, Question
from course_utils.exercises.inputs import called_with, non_contiguous, normal
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
    id="5.1",
    title="One token back",
    name="my_look_back",
    points=3,
    difficulty=2,
    success_message="Positions alone decide where it looks, and letters alone decide what it passes on.",
    hints=(
        "The query of position 5 must meet the key of position 4. Let keys be what they are; what must a query become?",
        "A token is found by its position: `W_key[4:] = torch.eye(8)`. A query is the position, shifted by one axis.",
        "`W_query[5:, :7] = 30 * torch.eye(7)` in zeros; `W_value = torch.eye(12)[:, :4]`, 0 for positions.",
    ),
    properties=(puzzles.behaves(puzzles.head_of_matrices(placed, chapter_3.so_far), sequences_of_places),),
)

# --- 5.2 split --------------------------------------------------------------------------------------------------------


def split_heads(projected, num_heads):
    return apart(projected.double().numpy(), num_heads)


SPLIT = Exercise(
    id="5.2",
    title="Split into heads",
    name="my_split",
    points=2,
    difficulty=2,
    success_message=(
        "Now the last two dimensions are tokens and numbers, so `@` computes the scores of every head on its own."
    ),
    hints=(
        "Two steps: cut the last dimension in two, then let heads and tokens change places.",
        "`*before, d_out = projected.shape` takes any dimensions in front; `head_dim` is `d_out // num_heads`.",
        "`projected.view(*before, num_heads, head_dim).transpose(-3, -2)`",
    ),
    make_calls=lambda: [
        called_with(normal(2, 4, 15, seed=1), 3),
        called_with(normal(5, 8, seed=2), 4),
        called_with(non_contiguous(normal(3, 2, 10, seed=3)), 5),
        called_with(normal(2, 3, 4, seed=4), 1),
        called_with(normal(1, 4, 6, seed=5), 2),  # a batch of one
        called_with(normal(2, 3, 8, seed=6).double() / 3, 4),  # more digits than 32 bits hold
    ],
    oracle=split_heads,
)

# --- 5.3 merge --------------------------------------------------------------------------------------------------------


def merged_heads(context):
    *before, num_heads, T, size = context.shape
    heads = oracle.rows(context.reshape(-1, num_heads, T, size))
    return np.array([[sum((head[t] for head in one), []) for t in range(T)] for one in heads]).reshape(*before, T, -1)


MERGE = Exercise(
    id="5.3",
    title="Merge the heads",
    name="my_merge",
    points=2,
    difficulty=2,
    success_message="Each token's vector holds head after head again, as if the heads had been concatenated.",
    hints=(
        "The split backwards: heads and tokens change places, then two dimensions become one.",
        "After `transpose`, `view` needs the numbers in order in memory: `contiguous()` in between.",
        "`together = context.transpose(-3, -2).contiguous()`, then `together.view(*before, num_heads * head_dim)`.",
    ),
    make_calls=lambda: [
        called_with(normal(2, 3, 4, 5, seed=5)),
        called_with(normal(2, 5, 3, seed=6)),
        called_with(normal(3, 5, 4, 2, seed=7).transpose(1, 2)),  # not in order in memory
        called_with(normal(2, 1, 3, 4, seed=8)),
        called_with(normal(1, 2, 3, 4, seed=9)),  # a batch of one
        called_with(normal(2, 3, 1, 4, seed=10)),  # one token
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
    id="5.4",
    title="Multi-head attention from a blank page",
    name="MyMultiHeadAttention",
    points=5,
    difficulty=3,
    success_message="You have written the attention layer of GPT-2.",
    hints=(
        (
            "Four layers, a dropout and a mask in __init__; in forward: project, split, scores, hide, softmax, drop,"
            " mix, merge, out_proj."
        ),
        "`self.W_query(x).view(B, T, num_heads, head_dim).transpose(1, 2)`, the same for keys and values.",
        "Scores are divided by the root of head_dim, and the mask is cut to the tokens: `self.mask[:T, :T]`.",
        "Merge: `context.transpose(1, 2).contiguous().view(B, T, d_out)`, and then `self.out_proj`.",
    ),
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

QUESTIONS = (
    Question(
        id="Q5.1",
        right="c",
        explanations={
            "a": "There are 36 numbers, but PyTorch finds only what is an attribute of the module. A list hides it.",
            "b": "One head has 18. PyTorch finds neither the first nor the second: it does not look into lists at all.",
            "c": "Yes: 0. The heads compute as they should, and would never be trained.",
        },
    ),
    Question(
        id="Q5.2",
        right="b",
        explanations={
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
        explanations={
            "a": "Yes: a score adds up the products of one head only, so d_k is 4.",
            "b": "12 is the width of all heads together. No score is a sum over 12 products.",
            "c": "6 is the number of tokens. It says how many scores a row has, not how large they are.",
        },
    ),
    Question(
        id="Q5.4",
        right="b",
        explanations={
            "a": "Matrices change what a token says of itself. Its position is not among it.",
            "b": "Yes. Two equal letters have equal keys, wherever they stand. (A layer further up is another matter.)",
            "c": "A mask that leaves one cell open needs no scores at all, and no head.",
        },
    ),
    Question(
        id="Q5.5",
        right="d",
        explanations={
            "a": "View, then transpose: each head gets its own numbers of all words.",
            "b": "In each head, row 1 sees only word 1. Up to here, nothing from the third word gets into it.",
            "c": "Each head mixes its own values. The shape is (B, 3, T, head_dim). What comes next?",
            "d": (
                "Yes. Without `context.transpose(1, 2)` the first row holds head 0's results for the words 1, 2 and 3,"
                " and nothing of the other heads."
            ),
        },
    ),
    Question(
        id="Q5.6",
        right="b",
        explanations={
            "a": "Each weight has the same chance, large or small.",
            "b": "Yes. Of 20 small weights about ten are left, doubled. Of one large weight, all or nothing.",
            "c": "Every weight that is kept is divided by 1 - p, in every head.",
        },
    ),
)

FILL_INS = (
    FillIn(
        id="M5.1",
        prompt="After shuffling the words, does a context vector of attention without a mask change? (yes or no)",
        right=r"no|nothing|it (stays|remains) the same|same|no change|it does not change|unchanged|stays the same",
        explanation="No. A sum does not care about the order of its terms.",
        section=(1, "Does attention know the order of words?"),
    ),
    FillIn(
        id="M5.2",
        prompt="In the dependency matrix of six tokens in a causal layer, how many cells say yes?",
        right=r"21|twenty[- ]?one",
        explanation="21: the lower triangle with its diagonal, 1 + 2 + 3 + 4 + 5 + 6.",
        section=(3, "A test for leaks"),
    ),
    FillIn(
        id="M5.3",
        prompt="In training, a weight that dropout keeps at the rate 0.5 is multiplied by ...",
        right=r"2|2\.0|two|1 ?/ ?\(1 ?- ?p\)|1 ?/ ?0?\.5",
        explanation="2, which is 1 divided by 1 - p. So the average stays what it was.",
        section=(4, "Why divide by 1 − p?"),
    ),
    FillIn(
        id="S5.1",
        prompt="The lines a to e of a forward in their right order",
        right="b ?,? ?e ?,? ?d ?,? ?a ?,? ?c",
        explanation="b e d a c: split, score, softmax, mix, then merge and `out_proj`.",
        section=(5, "The class"),
    ),
)
