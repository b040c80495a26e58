"""The exercises of chapter 1, dot-product attention."""

import numpy as np
import torch

from course_utils.exercises import puzzles
from course_utils.exercises.exercise import Exercise, Puzzle
from course_utils.exercises.inputs import non_contiguous, normal
from course_utils.exercises.words import written

# --- 1.1 a query ------------------------------------------------------------------------------------------------------

HUNTED = "the hunted"
KINDS = {  # kind: its words, and the numbers of each: (animal, hunts, action, feeling)
    "hunters": (("cat", "fox"), (1, 1, 0, 0)),
    HUNTED: (("mouse", "hen"), (1, -1, 0, 0)),
    "actions": (("chased", "slept"), (0, 0, 1, 0)),
    "feelings": (("hungry", "afraid"), (0, 0, 0, 1)),
    "other words": (("the", "because", "it", "was"), (0, 0, 0, 0)),
}
KIND = {word: kind for kind, (words, _) in KINDS.items() for word in words}
MEANING = {word: meaning for words, meaning in KINDS.values() for word in words}


def sentences_with_a_hunted():
    """Readings of random sentences with a hunted animal or more: the query should find them and nothing else."""
    return [hunt(words) for words in puzzles.sentences(101, list(MEANING), 6, 10) if {"mouse", "hen"} & set(words)]


def one_hunted_among_nine():
    """Readings of the hardest sentences: nine times the same word beside a hunted animal."""
    return [hunt(["hen", *[word] * 9]) for word in MEANING]


def hunt(words):
    """The Reading in which the query finds the hunted."""
    wanted = puzzles.shared(np.array([[KIND[word] == HUNTED for word in words]]))
    return puzzles.Reading(words, wanted, [KIND[word] for word in words], askers=["your query"])


def embedded(words):
    """Embeddings (T, 4)."""
    return np.array([MEANING[word] for word in words], dtype=float)


def heads_of_query(value, readings):
    query = puzzles.numbers(value, "Your query", 4)
    return [puzzles.Head((embedded(reading.words) @ query)[None]) for reading in readings]


finds = puzzles.behaves(heads_of_query, sentences_with_a_hunted, one_hunted_among_nine)
QUERY = Puzzle(**written("1.1"), properties=(finds,))


def hides_exactly(case):
    """A sentence on a score of minus infinity that got a weight, or None."""
    found = case.got[case.arguments[0].numpy() == -np.inf]
    return f"A score of -inf gets a weight of {found.max():.1g}; it should be exactly 0." if found.any() else None


STABLE_SOFTMAX = Exercise(
    **written("1.2"),
    make_calls=lambda: [
        [normal(5, seed=109)],
        [torch.tensor([1000.0, 1001.0, 1002.0])],
        [torch.tensor([0.5, 0.0, 1000.0])],
        [torch.tensor([0.5, 1000.0, 0.0])],
        [torch.tensor([1000.0, 1002.0, 3.0])],  # a limit makes the first two equal
        [torch.tensor([-1000.0, -1001.0])],
        [torch.tensor([1e4, -1e4, 9000.0, 0.0])],
        [torch.tensor([-1e4])],
        [torch.tensor([-torch.inf, 0.3, -1.2, -torch.inf, 0.8, 0.1])],
    ],
    gradient=False,
    properties=(hides_exactly,),
)

ATTENTION = Exercise(
    **written("1.3"),
    make_calls=lambda: [
        [normal(3, 4, seed=110), normal(5, 4, seed=111), normal(5, 6, seed=118)],
        [normal(4, 3, seed=112), non_contiguous(normal(4, 3, seed=113)), normal(4, 3, seed=119)],  # square: a swap fits
        [normal(1, 2, seed=114), normal(3, 2, seed=115), normal(3, 4, seed=120)],
        [normal(2, 5, seed=116), normal(1, 5, seed=117), normal(1, 3, seed=121)],
        [normal(3, 4, seed=122) * 20, normal(2, 4, seed=123) * 20, normal(2, 5, seed=124)],  # exp of such scores is inf
    ],
    gradient=False,
)

# --- 1.4 embeddings ---------------------------------------------------------------------------------------------------

ANIMALS, FOODS, FILLERS = "animals", "foods", '"the" and "and"'
GROUPS = {"cat": ANIMALS, "mouse": ANIMALS, "bread": FOODS, "cheese": FOODS, "the": FILLERS, "and": FILLERS}


def sentences_of_two_groups():
    """Readings of random sentences: animals ask animals, foods ask foods, the others ask all equally."""
    return map(grouped, puzzles.sentences(102, list(GROUPS), 0, 4, "cat", "mouse", "bread", "cheese"))


def one_against_six():
    """Readings of the hardest sentences: six times the same word beside an animal and a food."""
    pairs = (("cat", "bread"), ("cat", "cheese"), ("mouse", "bread"), ("mouse", "cheese"))
    return [grouped([*pair, *[word] * 6]) for pair in pairs for word in GROUPS]


def grouped(words):
    """The Reading in which each group attends to itself, and the other words to all."""
    kinds = [GROUPS[word] for word in words]
    wanted = puzzles.shared(np.array([[kind in (other, FILLERS) for other in kinds] for kind in kinds]))
    return puzzles.Reading(words, wanted, kinds)


def heads_of_embeddings(value, readings):
    table = puzzles.numbers(value, "Your table of embeddings", len(GROUPS), None)
    inputs = [table[[list(GROUPS).index(word) for word in reading.words]] for reading in readings]
    return [puzzles.Head(x @ x.T) for x in inputs]


groups = puzzles.behaves(heads_of_embeddings, sentences_of_two_groups, one_against_six)
EMBEDDINGS = Puzzle(**written("1.4"), properties=(groups,))
