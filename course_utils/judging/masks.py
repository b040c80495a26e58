"""Sentences on a wrong mask: which keys are wrongly hidden from, or visible to, which queries."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

PLACES = {"in the past": -1, "themselves": 0, "in the future": 1}  # a key's place relative to its query
MOST_TOLD = 2


@dataclass(frozen=True)
class Mask:
    """How to read an exercise's mask, whose last queries and keys belong together.

    true: what True means for a key, "hidden" or "visible". padding: arguments -> (B, T), True at padding; None if all
    tokens are real.
    """

    true: str
    padding: Callable | None = None


def difference(mask, arguments, expected, got):
    """Sentences on how a mask differs from the expected one of the same shape, for each kind of key; or ""."""
    wanted, found = (
        np.reshape(each, (-1, *np.shape(each)[-2:])) == (mask.true == "hidden") for each in (expected, got)
    )
    count, rows, size = wanted.shape
    padded = np.zeros((count, size), dtype=bool) if mask.padding is None else np.asarray(mask.padding(arguments))
    place = np.sign(np.arange(size) - np.arange(size - rows, size)[:, None])  # (rows, size)
    found_sentences = []
    for name, sign in PLACES.items():
        for keys, key in kinds(padded[:, None, :]):
            for queries, query in kinds(padded[:, size - rows :, None]):
                cells = np.broadcast_to((place == sign) & key & query, wanted.shape)
                found_sentences += sentences(name, keys, queries, wanted[cells], found[cells])
    return " ".join(merged(found_sentences)[:MOST_TOLD])


def kinds(padded):
    """(what tokens are called, which they are) for real ones and for padding."""
    if not padded.any():
        return [("", ~padded)]
    return [("real ", ~padded), ("padding ", padded)]


def sentences(place, keys, queries, wanted, found):
    """(what is said of the keys, of which queries, what it should be) for the cells of one kind that differ."""
    for hidden in (True, False):
        wrong = (found == hidden) & (wanted != hidden)
        if wrong.any():
            some = "" if wrong.all() else "some "
            words = ("hidden", "visible") if hidden else ("visible", "hidden")
            yield f"{some}{keys}keys {place}", queries, words


def merged(found_sentences):
    """Sentences, one for what is said of both kinds of queries."""
    queries_of = {}
    for keys, queries, words in found_sentences:
        queries_of.setdefault((keys, words), []).append(queries)
    result = []
    for (keys, (found, wanted)), queries in queries_of.items():
        who, whom = keys, f"{'all ' if len(queries) > 1 else queries[0]}queries"
        if keys.endswith("keys themselves"):
            who, whom = keys.replace("keys themselves", "tokens"), "themselves"
        sentence = f"{who} are {found} {'from' if found == 'hidden' else 'to'} {whom}; they should be {wanted}."
        result.append(sentence[0].upper() + sentence[1:])
    return result
