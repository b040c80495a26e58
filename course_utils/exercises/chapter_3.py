"""The exercises of chapter 3, hiding the future."""

import numpy as np
import torch

from course_utils.exercises import puzzles
from course_utils.exercises.exercise import Exercise, Puzzle
from course_utils.exercises.inputs import non_contiguous, normal, uniform
from course_utils.exercises.words import written
from course_utils.judging.masks import Mask

# --- 3.1 a share and a count ------------------------------------------------------------------------------------------

START, LETTERS = "<s>", ("a", "b", "c", "d")
TOKENS = (START, *LETTERS)


def sequences(seed):
    """Random sequences of four to eight letters behind a start token."""
    return [[START, *letters] for letters in puzzles.sentences(seed, LETTERS, 4, 8)]


def embedded(words, names=TOKENS):
    """Embeddings (T, len(names)), an axis for each name."""
    return np.eye(len(names))[[names.index(word) for word in words]]


def so_far(words):
    """Which tokens each token may see, (T, T): all so far, itself included."""
    return np.tri(len(words), dtype=bool)


def averaged(words):
    """The Reading in which each token averages all so far: the share of a, and 1 / their number."""
    weights = puzzles.shared(so_far(words))
    return puzzles.Reading(words, weights, words, context=weights @ [[word == "a", word == START] for word in words])


averages = puzzles.behaves(puzzles.head_of_matrices(embedded, so_far), lambda: map(averaged, sequences(seed=302)))
AVERAGE = Puzzle(**written("3.1"), properties=(averages,))

CAUSAL_WEIGHTS = Exercise(
    **written("3.2"),
    make_calls=lambda: [
        [normal(2, 4, 4, seed=4)],
        [normal(3, 5, 5, seed=5) * 3],
        [non_contiguous(normal(1, 3, 3, seed=6))],
        [normal(2, 1, 1, seed=7)],
        [normal(2, 3, 3, seed=15).round()],  # some scores are exactly 0
        # visible scores so low that nothing but minus infinity hides for sure, and hidden ones too large for softmax
        [normal(2, 4, 4, seed=14) - 1000 * torch.ones(4, 4).tril()],
        [normal(2, 3, 3, seed=16).double() - 2e9 * torch.ones(3, 3).tril()],
        [normal(2, 3, 3, seed=17) + 1000 * torch.arange(3.0)[:, None]],  # one largest score for all rows empties some
    ],
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
    return puzzles.Reading(words, wanted, kinds, context=np.where(np.isnan(wanted[:, :1]), np.nan, again[:, None]))


def before(words):
    """Which tokens each token may see, (T, T): all before it, and `<s>` itself."""
    visible = so_far(words) & ~np.eye(len(words), dtype=bool)
    visible[0, 0] = True
    return visible


remembers = puzzles.behaves(puzzles.head_of_matrices(embedded, before), sequences_of_letters, one_among_six)
MEMORY = Puzzle(**written("3.3"), properties=(remembers,))

PADDING = Exercise(
    **written("3.4"),
    make_calls=lambda: [
        [torch.tensor([[True, True, False, False], [False, False, False, True]])],
        [uniform(3, 5, seed=8) < 0.4],
        [torch.ones(2, 3).bool()],
        [torch.zeros(1, 3).bool()],  # a batch of one keeps its dimension
    ],
    maps=True,
    mask=Mask(true="hidden", padding=lambda arguments: arguments[0]),
)
