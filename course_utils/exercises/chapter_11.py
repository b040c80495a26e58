"""The exercises of chapter 11, a model that speaks: on small models of its classes, with random weights."""

from course_utils.exercises.exercise import Exercise
from course_utils.exercises.inputs import normal, private, uniform, whole
from course_utils.exercises.words import written
from course_utils.judging.calls import LayerCall


def block_call(d_model, num_heads, num_kv_heads, d_inner, *shapes, seed):
    """A call of a block with inputs (..., d_model) of these shapes."""
    square, narrow = (d_model, d_model), (d_model // num_heads * num_kv_heads, d_model)
    rows = {"W_query": square, "W_key": narrow, "W_value": narrow, "out_proj": square}
    rows = {f"attention.{name}": shape for name, shape in rows.items()}
    rows |= {"gate": (d_inner, d_model), "up": (d_inner, d_model), "down": (d_model, d_inner)}
    weights = {name: normal(*shape, seed=seed + k) / 2 for k, (name, shape) in enumerate(rows.items())}
    weights |= {f"norm_{k}": 0.5 + uniform(d_model, seed=seed + 10 + k) for k in (1, 2)}
    inputs = [[normal(*shape, d_model, seed=seed + 20 + k)] for k, shape in enumerate(shapes)]
    return LayerCall([d_model, num_heads, num_kv_heads, d_inner], inputs, weights)


def text_for(sizes, B, T, *more, seed, most_read=10_000):
    """A call with a small model of these sizes, as LanguageModel takes them, random tokens (B, T), and more."""
    tokens = whole(0, sizes[0] - 1, B, T, seed=seed + 1)
    return [{"language_model": list(sizes), "seed": private(seed), "most_read": most_read}, tokens, *more]


def guessed(n, vocab_size, wrong, seed):
    """A call with n guesses, of which those at these places are wrong."""
    scores = normal(n + 1, vocab_size, seed=seed)
    guesses = scores.argmax(dim=-1)[:-1].clone()
    guesses[wrong] = (guesses[wrong] + 1) % vocab_size
    return [scores, guesses]


A, B, C = (23, 2, 16, 4, 2, 12), (31, 2, 12, 3, 1, 20), (19, 4, 8, 2, 2, 10)  # sizes of models

BLOCK = Exercise(
    **written("11.1"),
    make_calls=lambda: [
        block_call(8, 2, 1, 10, (2, 5), (1, 3), seed=1100),
        block_call(12, 3, 3, 7, (3, 4), seed=1130),
        block_call(24, 6, 2, 15, (2, 6), seed=1160),
    ],
)
CONTINUED = Exercise(
    **written("11.2"),
    make_calls=lambda: [  # B * (T + count) tokens are enough to read; the last ones need not be
        text_for(A, 1, 4, 6, seed=1202, most_read=10),
        text_for(A, 1, 4, 6, seed=1270, most_read=10),  # of the same size; it must not end at token 2
        text_for(B, 3, 5, 4, seed=1204, most_read=27),
        text_for(C, 2, 1, 7, seed=1206, most_read=16),
    ],
    gradient=False,
)
WINDOWED_LOSS = Exercise(
    **written("11.3"),
    make_calls=lambda: [
        text_for(A, 1, 9, 3, 1, seed=1301),
        text_for(B, 1, 12, 4, 2, seed=1303),
        text_for(C, 1, 7, 2, 0, seed=1305),
        text_for(A, 1, 9, 1, 3, seed=1307),
    ],
    gradient=False,
)
EFFECT = Exercise(
    **written("11.4"),
    make_calls=lambda: [
        text_for(A, 1, 7, 5, 1, 3, seed=1401),
        text_for(A, 1, 7, 5, 0, 1, seed=1407),
        text_for(B, 1, 5, 17, 0, 2, seed=1403),
        text_for(C, 1, 6, 0, 3, 0, seed=1405),
    ],
    gradient=False,
)
ACCEPTED = Exercise(
    **written("11.5"),
    make_calls=lambda: [
        guessed(5, 7, [2], seed=1501),
        guessed(5, 7, [], seed=1502),
        guessed(6, 5, [0], seed=1503),
        guessed(6, 8, [3, 4], seed=1504),  # right again after a wrong one
        guessed(3, 6, [2], seed=1505),
    ],
    gradient=False,
)
