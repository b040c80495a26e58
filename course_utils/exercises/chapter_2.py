"""The exercises of chapter 2, trainable weights."""

import numpy as np

from course_utils.exercises import puzzles
from course_utils.exercises.exercise import Exercise, Puzzle
from course_utils.exercises.inputs import normal
from course_utils.exercises.words import written
from course_utils.judging.calls import LayerCall

# --- 2.1 a head made by hand ------------------------------------------------------------------------------------------

AXES = ("female", "male", "thing", "pronoun", "age")
PEOPLE = {  # word: its numbers, in the order of AXES
    "Anna": (1, 0, 0, 0, 9),
    "Eva": (1, 0, 0, 0, 4),
    "Tom": (0, 1, 0, 0, 7),
    "Paul": (0, 1, 0, 0, 5),
    "book": (0, 0, 1, 0, 2),
    "bike": (0, 0, 1, 0, 3),
    "she": (1, 0, 0, 1, 0),
    "he": (0, 1, 0, 1, 0),
    "it": (0, 0, 1, 1, 0),
    **dict.fromkeys(("gave", "because", "liked", "the"), (0, 0, 0, 0, 0)),
}
PRONOUNS = {"she": "girls", "he": "boys", "it": "things"}
KIND = {"Anna": "girls", "Eva": "girls", "Tom": "boys", "Paul": "boys", "book": "things", "bike": "things"}
KIND = dict.fromkeys(PEOPLE, "other words") | dict.fromkeys(PRONOUNS, "pronouns") | KIND


def sentences_with_pronouns():
    """Readings of random sentences: each pronoun should find those it may mean, and receive their age."""
    return map(meant_by_pronouns, puzzles.sentences(201, list(KIND), 4, 8, *PRONOUNS))


def one_among_ten():
    """Readings of the hardest sentences: ten times the same word beside a pronoun and the one that it means."""
    pairs = (("she", "Eva"), ("he", "Paul"), ("it", "book"))
    return [meant_by_pronouns([*pair, *[word] * 10]) for pair in pairs for word in PEOPLE]


def meant_by_pronouns(words):
    """The Reading in which pronouns find those whom they may mean."""
    kinds = [KIND[word] for word in words]
    meant = np.array([[PRONOUNS.get(word) == kind for kind in kinds] for word in words])
    wanted = np.where(meant.any(axis=1, keepdims=True), puzzles.shared(meant), np.nan)
    x = embedded(words)
    quantities = dict(zip(AXES, x.T, strict=True))
    return puzzles.Reading(words, wanted, kinds, context=wanted @ x[:, -1:], quantities=quantities)


def embedded(words):
    """Embeddings (T, 5)."""
    return np.array([PEOPLE[word] for word in words], dtype=float)


looks_up = puzzles.behaves(puzzles.head_of_matrices(embedded), sentences_with_pronouns, one_among_ten)
LOOKUP = Puzzle(**written("2.1"), properties=(looks_up,))

MATRIX = Exercise(
    **written("2.2"),
    make_calls=lambda: [
        [{"linear": normal(*shape, seed=seed)}]  # one is square: without transposing, the shape is right
        for shape, seed in [((2, 5), 221), ((4, 4), 222), ((6, 3), 223), ((1, 2), 224)]
    ],
)

# --- 2.3 self-attention in one function -------------------------------------------------------------------------------


def attention_call(T, d_in, d_out, seed):
    """A call with T tokens and three matrices."""
    return [normal(T, d_in, seed=seed), *(normal(d_in, d_out, seed=seed + k) * 0.5 for k in range(1, 4))]


SELF_ATTENTION = Exercise(
    **written("2.3"),
    make_calls=lambda: [
        attention_call(*sizes, seed=seed)
        for sizes, seed in [((3, 4, 6), 230), ((4, 7, 5), 240), ((6, 2, 3), 250), ((1, 3, 2), 260)]
    ],
)

# --- 2.4 self-attention as a layer ------------------------------------------------------------------------------------


def layer_call(d_in, d_k, d_out, *sizes, seed, training=False):
    """A call of a layer with an input (B, T, d_in) of each of the sizes (B, T)."""
    widths = {"W_query": d_k, "W_key": d_k, "W_value": d_out}
    weights = {name: normal(width, d_in, seed=seed + k) * 0.5 for k, (name, width) in enumerate(widths.items())}
    inputs = [[normal(B, T, d_in, seed=seed + B * 10 + T)] for B, T in sizes]
    return LayerCall([d_in, d_k, d_out], inputs, weights, training)


MY_SELF_ATTENTION = Exercise(
    **written("2.4"),
    make_calls=lambda: [
        layer_call(5, 3, 6, (2, 4), seed=300),
        layer_call(3, 2, 7, (4, 5), (1, 1), seed=400),
        layer_call(6, 7, 5, (2, 3), (3, 8), seed=500),
        layer_call(4, 5, 3, (2, 3), seed=600, training=True),
    ],
)
