"""The exercises of chapter 11, a model that speaks: on small models of its classes, with random weights."""

import torch

from course_utils.exercises.exercise import Exercise
from course_utils.exercises.inputs import normal, uniform
from course_utils.exercises.words import written
from course_utils.judging.calls import LayerCall

# --- 11.1 a block -----------------------------------------------------------------------------------------------------


def block_call(d_model, num_heads, num_kv_heads, d_inner, *shapes, seed):
    """A call of a block with inputs (..., d_model) of these shapes."""
    narrow = d_model // num_heads * num_kv_heads
    shapes_of = {
        "attention.W_query": (d_model, d_model),
        "attention.W_key": (narrow, d_model),
        "attention.W_value": (narrow, d_model),
        "attention.out_proj": (d_model, d_model),
        "gate": (d_inner, d_model),
        "up": (d_inner, d_model),
        "down": (d_model, d_inner),
    }
    weights = {name: normal(*shape, seed=seed + k) / 2 for k, (name, shape) in enumerate(shapes_of.items())}
    weights |= {f"norm_{k}": 0.5 + uniform(d_model, seed=seed + 10 + k) for k in (1, 2)}
    inputs = [[normal(*shape, d_model, seed=seed + 20 + k)] for k, shape in enumerate(shapes)]
    return LayerCall([d_model, num_heads, num_kv_heads, d_inner], inputs, weights)


BLOCK = Exercise(
    **written("11.1"),
    make_calls=lambda: [
        block_call(8, 2, 1, 10, (2, 5), (1, 3), seed=1100),
        block_call(12, 3, 3, 7, (3, 4), seed=1130),
        block_call(24, 6, 2, 15, (2, 6), seed=1160),
    ],
)

# --- what small models write, lose and need ---------------------------------------------------------------------------


def model(*sizes, seed, most_read=10_000):
    """A small model: vocab_size, num_layers, d_model, num_heads, num_kv_heads, d_inner."""
    return {"language_model": [*sizes], "seed": seed, "most_read": most_read}


def tokens(*shape, vocab_size, seed):
    """Random token numbers, (shape)."""
    return torch.randint(vocab_size, shape, generator=torch.Generator().manual_seed(seed))


def continuing(B, T, count, *sizes, seed):
    """A call that asks for so many tokens more; the model reads every token once, and the last one need not be read."""
    return [
        model(*sizes, seed=seed, most_read=B * (T + count)),
        tokens(B, T, vocab_size=sizes[0], seed=seed + 1),
        count,
    ]


CONTINUED = Exercise(
    **written("11.2"),
    make_calls=lambda: [
        continuing(1, 4, 6, 23, 2, 16, 4, 2, 12, seed=1202),
        continuing(3, 5, 4, 31, 2, 12, 3, 1, 20, seed=1204),
        continuing(2, 1, 7, 19, 3, 8, 2, 2, 10, seed=1206),
    ],
    gradient=False,
)

WINDOWED_LOSS = Exercise(
    **written("11.3"),
    make_calls=lambda: [
        [model(23, 2, 16, 4, 2, 12, seed=1301), tokens(1, 9, vocab_size=23, seed=1302), 3, 1],
        [model(31, 2, 12, 3, 1, 20, seed=1303), tokens(1, 12, vocab_size=31, seed=1304), 4, 2],
        [model(19, 1, 8, 2, 2, 10, seed=1305), tokens(1, 7, vocab_size=19, seed=1306), 2, 0],
        [model(19, 2, 8, 2, 1, 10, seed=1307), tokens(1, 6, vocab_size=19, seed=1308), 1, 3],
    ],
    gradient=False,
)

EFFECT = Exercise(
    **written("11.4"),
    make_calls=lambda: [
        [model(23, 3, 16, 4, 2, 12, seed=1401), tokens(1, 7, vocab_size=23, seed=1402), 5, 1, 3],
        [model(31, 2, 12, 3, 1, 20, seed=1403), tokens(1, 5, vocab_size=31, seed=1404), 17, 0, 2],
        [model(19, 4, 8, 2, 2, 10, seed=1405), tokens(1, 6, vocab_size=19, seed=1406), 0, 3, 0],
    ],
    gradient=False,
)

# --- 11.5 accept guesses ----------------------------------------------------------------------------------------------


def guessed(n, vocab_size, wrong, seed):
    """A call with n guesses, of which those at these places are wrong."""
    scores = normal(n + 1, vocab_size, seed=seed)
    guesses = scores.argmax(dim=-1)[:-1].clone()
    guesses[wrong] = (guesses[wrong] + 1) % vocab_size
    return [scores, guesses]


ACCEPTED = Exercise(
    **written("11.5"),
    make_calls=lambda: [
        guessed(5, 7, [2], seed=1501),
        guessed(4, 9, [], seed=1502),
        guessed(6, 5, [0], seed=1503),
        guessed(6, 8, [3, 4], seed=1504),  # right again after a wrong one
        guessed(3, 6, [2], seed=1505),
    ],
    gradient=False,
)
