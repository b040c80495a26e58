"""Sentences on a wrong mask: which keys are wrongly hidden from, or visible to, which queries."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

PLACES = {"in the past": -1, "themselves": 0, "in the future": 1}  # a key's place relative to its query
MOST_TOLD = 2


@dataclass(frozen=True)
class Mask:
    """How to read an exercise's mask, whose last queries and keys belong together.

    true: what True means for a key, "hidden" or "visible". padding: arguments -> (B, T), True at padding, or None.
    """

    true: str
    padding: Callable | None = None


def difference(mask, arguments, expected, got):
    """Sentences on how a mask differs from the expected one of the same shape, for each kind of key; or ""."""
    hidden = mask.true == "hidden"
    wanted, found = (np.reshape(each, (-1, *np.shape(each)[-2:])) == hidden for each in (expected, got))
    count, rows, size = wanted.shape
    padded = np.zeros((count, size), dtype=bool) if mask.padding is None else np.asarray(mask.padding(arguments))
    place = np.sign(np.arange(size) - np.arange(size - rows, size)[:, None])  # (rows, size)
    of_keys, of_queries = kinds(padded[:, None, :]), kinds(padded[:, size - rows :, None])
    parts = []
    for (name, sign), (keys, key), (queries, query) in itertools.product(PLACES.items(), of_keys, of_queries):
        cells = np.broadcast_to((place == sign) & key & query, wanted.shape)
        parts += parts_of_sentences(name, keys, queries, wanted[cells], found[cells])
    return " ".join(itertools.islice(merged(parts), MOST_TOLD))


def kinds(padded):
    """(what tokens are called, which they are) for real ones and for padding."""
    return [("real ", ~padded), ("padding ", padded)] if padded.any() else [("", ~padded)]


def parts_of_sentences(place, keys, queries, wanted, found):
    """(what is said of the keys, of which queries, what it should be) for the cells of one kind that differ."""
    for hidden, words in ((True, ("hidden", "visible")), (False, ("visible", "hidden"))):
        wrong = (found == hidden) & (wanted != hidden)
        if wrong.any():
            yield f"{'' if wrong.all() else 'some '}{keys}keys {place}", queries, words


def merged(parts):
    """Sentences, one for what is said of both kinds of queries."""
    queries_of = {}
    for keys, queries, words in parts:
        queries_of.setdefault((keys, words), []).append(queries)
    for (keys, (found, wanted)), queries in queries_of.items():
        who, whom = keys, f"{'all ' if len(queries) > 1 else queries[0]}queries"
        if keys.endswith("keys themselves"):
            who, whom = keys.replace("keys themselves", "tokens"), "themselves"
        sentence = f"{who} are {found} {'from' if found == 'hidden' else 'to'} {whom}; they should be {wanted}."
        yield sentence[0].upper() + sentence[1:]
