"""The exercises of chapter 3, hiding the future."""

import numpy as np
import torch

from course_utils.exercises import oracle, puzzles
from course_utils.exercises.exercise import Exercise, Puzzle
from course_utils.exercises.inputs import called_with, non_contiguous, normal, uniform
from course_utils.judging.masks import Mask

# --- 3.1 a share and a count ------------------------------------------------------------------------------------------

START, LETTERS = "<s>", ("a", "b", "c", "d")
TOKENS = (START, *LETTERS)


def sequences(seed):
    """Random sequences of four to eight letters behind a start token."""
    return [[START, *letters] for letters in puzzles.sentences(seed, LETTERS, 4, 8)]


def embedded(words):
    """Embeddings (T, 5), an axis for each token."""
    return np.eye(len(TOKENS))[[TOKENS.index(word) for word in words]]


def so_far(words):
    """Whom each token may look at, (T, T): all so far, itself included."""
    return np.tril(np.ones((len(words), len(words)), dtype=bool))


def sequences_with_an_average():
    """Readings of random sequences: each token should look at all so far, and get the share of a, and 1 / how many."""
    for words in sequences(seed=302):
        weights = puzzles.shared(so_far(words))
        named = np.array([[word == "a", word == START] for word in words])
        yield puzzles.Reading(words, weights, words, context=weights @ named)


AVERAGE = Puzzle(
    id="3.1",
    title="A share and a count",
    name="my_average",
    points=1,
    difficulty=1,
    success_message="Equal scores and a mask average all that came so far. What is averaged is for the values to say.",
    hints=(
        "An average treats all tokens alike. With which queries are all scores equal?",
        "W_value has a row for each token: what it hands over to the share, and what to the count.",
        "W_query and W_key can be zeros. In W_value the row of a is `[1, 0]`, that of `<s>` `[0, 1]`.",
    ),
    properties=(puzzles.behaves(puzzles.head_of_matrices(embedded, so_far), sequences_with_an_average),),
)

# --- 3.2 causal weights -----------------------------------------------------------------------------------------------


def causal_weights(scores):
    tables = oracle.rows(scores)
    return np.array(
        [[oracle.softmax(row, [s <= t for s in range(len(row))]) for t, row in enumerate(one)] for one in tables]
    )


CAUSAL_WEIGHTS = Exercise(
    id="3.2",
    title="Causal weights for a batch",
    name="my_causal_weights",
    points=2,
    difficulty=2,
    success_message=(
        "exp(-inf) is exactly 0, so a hidden token has no share in the sum, and no row has to be repaired afterwards."
    ),
    hints=(
        "Hide the future before softmax, so that each row still sums to 1.",
        "The number of tokens is scores.shape[-1]. torch.tril or torch.triu gives the mask.",
        "scores.masked_fill(hidden, -torch.inf) returns new scores; then torch.softmax(..., dim=-1).",
    ),
    make_calls=lambda: [
        called_with(normal(2, 4, 4, seed=4)),
        called_with(normal(3, 5, 5, seed=5) * 3),
        called_with(non_contiguous(normal(1, 3, 3, seed=6))),
        called_with(normal(2, 1, 1, seed=7)),
        called_with(normal(2, 3, 3, seed=15).round()),  # some scores are exactly 0
        # visible scores so low that no small number hides anything (-1e9 does), and hidden ones too large for softmax
        called_with(normal(2, 4, 4, seed=14) - 1000 * torch.ones(4, 4).tril()),
    ],
    oracle=causal_weights,
    maps=True,
)

# --- 3.3 a head that remembers ----------------------------------------------------------------------------------------


def sequences_of_letters():
    """Readings of random sequences: a letter should find its earlier copies, or else the start."""
    return [remembered(words) for words in sequences(seed=301)]


def one_among_six():
    """Readings of the hardest sequences: six times one letter between two copies of another."""
    return [remembered([START, first, *[other] * 6, first]) for first in LETTERS for other in LETTERS]


def remembered(words):
    """The Reading in which a letter finds its earlier copies, or else the start."""
    copies = np.tril([[a == b for b in words] for a in words], k=-1)
    again = copies.any(axis=1)
    wanted = puzzles.shared(np.where(again[:, None], copies, np.eye(1, len(words)) > 0))
    wanted[0] = np.nan
    kinds = [START if word == START else "letters" for word in words]
    output = np.where(np.isnan(wanted[:, :1]), np.nan, again[:, None])
    return puzzles.Reading(words, wanted, kinds, context=output)


def before(words):
    """Whom each token may look at, (T, T): all before it, and `<s>` at itself."""
    visible = np.tril(np.ones((len(words), len(words))), k=-1) > 0
    visible[0, 0] = True
    return visible


MEMORY = Puzzle(
    id="3.3",
    title="Has it occurred before?",
    name="my_memory",
    points=3,
    difficulty=2,
    success_message=(
        "Weights always sum to 1, so a head that finds nothing must look somewhere. Given a place for that, what it is"
        " handed says whether it found something."
    ),
    hints=(
        "What should score highest with an a, what second, what lowest? Three levels are enough.",
        "A unit matrix for both W_query and W_key finds earlier copies. Add to each row of W_query something that"
        " scores with `<s>`, but less.",
        "`W_query = 30 * torch.eye(5)`, then `W_query[:, 0] = 15`; W_key is a unit matrix; W_value is 0 for `<s>`.",
    ),
    properties=(puzzles.behaves(puzzles.head_of_matrices(embedded, before), sequences_of_letters, one_among_six),),
)

# --- 3.4 padding ------------------------------------------------------------------------------------------------------


def padding_mask(is_padding):
    rows, places = is_padding.tolist(), range(is_padding.shape[1])
    return np.array([[[s != t and (s > t or row[s]) for s in places] for t in places] for row in rows])


PADDING = Exercise(
    id="3.4",
    title="A causal mask that survives padding",
    name="my_mask",
    points=3,
    difficulty=3,
    success_message=(
        "Padding hides columns, since keys are what is seen; the diagonal stays open, so no row is empty and none"
        " becomes nan."
    ),
    hints=(
        "Two reasons can hide a key: it lies in the future, or it is padding. And there is one exception.",
        "is_padding[:, None, :] has shape (B, 1, T): one row of keys per sequence, for all queries.",
        "(future | is_padding[:, None, :]) & ~torch.eye(T).bool()",
    ),
    make_calls=lambda: [
        called_with(torch.tensor([[True, True, False, False], [False, False, False, True]])),
        called_with(uniform(3, 5, seed=8) < 0.4),
        called_with(torch.ones(2, 3).bool()),
    ],
    oracle=padding_mask,
    maps=True,
    mask=Mask(true="hidden", padding=lambda arguments: arguments[0]),
)
