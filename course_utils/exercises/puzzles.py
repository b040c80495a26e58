"""Puzzles: the answer is the numbers of a head, and all numbers that behave as required are right.

A head is tested on many sentences. Its weights are compared with those wanted, row by row, then its output. If it
fails, its own weights and scores show what it does instead; nothing here depends on an exercise.
"""

import functools
import random
import re
from dataclasses import dataclass, field

import numpy as np
import torch

SENTENCES = 40  # for each head
MISPLACED = 0.1  # the share of a row's weight that may be elsewhere
CLEARLY = 0.105  # with two digits, what is misplaced by more looks it
FARTHER = (3, 10, 30)  # factors that show whether only the distances between scores are wrong
LARGEST = 1e9  # products of such numbers are still far from the largest of float32

TOO_CLOSE = "The right words score highest, but not by enough. How far apart must the scores be?"
TOO_FAR = "The scores are too far apart. How close must they be?"
OTHER_WAY = "The words that should have the highest scores have the lowest. Which sign is wrong?"
SWAPPED = (
    "If W_query and W_key changed places, the weights would be right. Which of them belongs to the token that attends?"
)


@dataclass(frozen=True)
class Reading:
    """A sentence, and how a head should read it.

    words: the T keys. weights: those wanted, (rows, T); a row of nan where anything goes. kinds: of each word.
    askers: a name for each row, the words themselves if there are none. context: the output wanted, (rows, d).
    quantities: {name: a number for each word, (T,)}: what a head could pass on.
    """

    words: list[str]
    weights: np.ndarray
    kinds: list[str]
    askers: list[str] | None = None
    context: np.ndarray | None = None
    quantities: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Head:
    """What a head does with a sentence. scores: (rows, T). value: what each word passes on, (T, d), or None.

    visible: whom each row may look at, (rows, T), or True for everyone.
    """

    scores: np.ndarray
    visible: np.ndarray | bool = True
    value: np.ndarray | None = None

    @functools.cached_property
    def weights(self):
        """(rows, T)."""
        return self.weights_with(self.scores)

    @property
    def context(self):
        """(rows, d), or None."""
        return None if self.value is None else self.weights @ self.value

    def weights_with(self, scores):
        """The weights that the head would have with these scores."""
        return torch.from_numpy(np.where(self.visible, scores, -np.inf)).softmax(dim=-1).numpy()


def head_of(x, W_query, W_key, W_value, visible=True):
    """The Head that three matrices make of the embeddings x (T, d_in). visible: as in Head."""
    scores = (x @ W_query) @ (x @ W_key).T / np.sqrt(W_key.shape[-1])  # (T, T)
    return Head(scores, visible, x @ W_value)


def head_of_matrices(embed, visible=lambda words: True):
    """How three matrices, which are an answer, make a head, as `behaves` needs it.

    embed: words -> embeddings (T, d_in). visible: words -> whom each may look at, as in Head.
    """

    def heads(value, readings):
        xs = [embed(reading.words) for reading in readings]
        matrices = three_matrices(value, xs[0].shape[-1], readings[0].context.shape[-1])
        return [head_of(x, *matrices, visible(reading.words)) for x, reading in zip(xs, readings)]

    return heads


def sentences(seed, words, least, most, *always):
    """Random sentences: some words that are always there, and `least` to `most` others, in any order."""
    draw = random.Random(seed)
    for _ in range(SENTENCES):
        found = [*always, *draw.choices(words, k=draw.randint(least, most))]
        draw.shuffle(found)
        yield found


def behaves(heads, *readings):
    """A property: an answer's head reads every sentence as wanted.

    heads: (value, [Reading]) -> a Head each; ValueError in words for a value that makes none. readings: () -> Readings,
    tried in turn.
    """
    made = [functools.cache(lambda make=make: list(make())) for make in readings]

    def sentence(case):
        for readings_of in made:
            try:
                tried = list(zip(readings_of(), heads(case.value, readings_of())))
            except ValueError as refused:
                return str(refused)
            if wrong := wrong_attention(tried) or wrong_output(tried):
                return re.sub(r" at position \d+", r"\g<0> (counted from 0)", wrong, count=1)

    sentence.readings = readings  # for judging on the page
    return sentence


def follows(embeddings, plan):
    """`behaves` for three matrices. embeddings: {word: numbers}. plan: [words, weights, output] for each sentence."""
    readings = [Reading(words, np.array(weights), words, context=np.array(output)) for words, weights, output in plan]
    return behaves(head_of_matrices(lambda words: np.array([embeddings[word] for word in words])), lambda: readings)


def numbers(value, name, *sizes):
    """An answer's numbers as an array of these sizes, None for any. ValueError, in words, for anything else."""
    if value is None:
        raise ValueError("It returned None. Is a `return` missing?")
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        raise ValueError(f"{name} should be a tensor of floating-point numbers, as embeddings are.")
    found = value.double().numpy()
    if found.ndim != len(sizes) or any(size not in (None, have) for size, have in zip(sizes, found.shape)):
        wanted = str(tuple("any" if size is None else size for size in sizes)).replace("'", "")
        raise ValueError(f"{name} has shape {found.shape}; expected {wanted}.")
    if np.isnan(found).any():
        raise ValueError(f"{name} contains nan, which is not a number. Which of your steps gives nan?")
    if not found.size or np.abs(found).max() > LARGEST:
        raise ValueError(f"{name} should hold numbers between {-LARGEST:.0f} and {LARGEST:.0f}.")
    return found


def three_matrices(value, d_in, d_out, *heads):
    """W_query, W_key and W_value as arrays: (d_in, d) twice, for any d, and (d_in, d_out). ValueError, in words.

    heads: None where each of the three is a stack of any number of matrices.
    """
    if not isinstance(value, list) or len(value) != 3:
        raise ValueError(f"Return three {'stacks of ' if heads else ''}matrices: W_query, W_key, W_value.")
    W_query, W_key = (numbers(each, name, *heads, d_in, None) for each, name in zip(value, ("W_query", "W_key")))
    if W_query.shape != W_key.shape:
        raise ValueError(f"W_query has shape {W_query.shape} and W_key {W_key.shape}: their shapes must match.")
    return W_query, W_key, numbers(value[2], "W_value", *heads, d_in, d_out)


# --- where a head looks -----------------------------------------------------------------------------------------------


def near(values):
    """Numbers without their last bits, so that these decide no verdict, no digit and no choice of a sentence."""
    return np.round(values, 9) + 0.0  # no -0


def misplaced(found, wanted):
    """For each row, the share of its weight that is not where it is wanted; 0 where anything goes."""
    return np.where(np.isnan(wanted).any(axis=-1), 0, near(np.abs(found - wanted).sum(axis=-1) / 2))


def wrong_attention(tried):
    """A sentence on where a head looks instead, or None. tried: (Reading, Head) of each sentence."""
    off = [misplaced(head.weights, reading.weights) for reading, head in tried]
    if max(rows.max() for rows in off) <= MISPLACED:
        return None
    wrong = [rows > MISPLACED for rows in off]
    worst = max(range(len(off)), key=lambda number: off[number].max())
    row = int(off[worst].argmax())
    what = habit(tried, wrong, habits) or change_of_scores(tried)
    if not what:  # last, since nearly equal scores come close to it
        what = habit(tried, wrong, lambda _, head: {"all equally": head.weights_with(np.zeros_like(head.scores))})
    return f"{example(*tried[worst], row, bool(what))} {what or question_on_scores(*tried[worst], row)}"


def example(reading, head, row, brief):
    """What one row of a sentence does, and what was wanted. brief: leave out a word with nearly the weight wanted."""
    names = [f'"{word}"' for word in reading.words]
    for each in (names, [f"{name} at position {place}" for place, name in enumerate(names)]):
        found, wanted = (by_name(each, side.weights[row]) for side in (head, reading))
        over = {name: near(found[name] - wanted[name]) for name in found}
        most, lack = max(over, key=over.get), min(over, key=over.get)
        if max(over[most], -over[lack]) > MISPLACED:  # otherwise words of the same name make up for each other
            break
    told = [name for name in (most, lack) if not brief or abs(over[name]) > CLEARLY] or [most, lack]
    gives = " and ".join(f"{near(found[name]):.2f} to {name}" for name in told).replace(" to ", " of its weight to ", 1)
    given = " and ".join(f"{near(wanted[name]):.2f}" for name in told)
    asker = f'In "{" ".join(reading.words)}", {quoted(reading, row)}'
    return f"{asker} gives {gives}. It should give {given}, to within {MISPLACED:.2f}."


def by_name(names, weights):
    """{name: the weight of all that have it}."""
    return {name: sum(weight for each, weight in zip(names, weights) if each == name) for name in names}


def quoted(reading, row):
    """The name of a row: a word in quotes, with its position if it repeats, or the asker's name."""
    if reading.askers is not None:
        return reading.askers[row]
    word = reading.words[row]
    return f'"{word}" at position {row}' if reading.words.count(word) > 1 else f'"{word}"'


def habits(reading, head):
    """{what a head may do, whatever it reads: its weights, (rows, T), or (1, T) where all rows have the same}."""
    count = head.scores.shape[1]
    own = {}
    if reading.askers is None:
        same = np.array([[a == b for b in reading.words] for a in reading.words])
        own = {
            "itself alone": np.eye(count),
            "occurrences of its own word only": shared(same & head.visible),
            "the token before it": np.eye(count, k=-1),
            "the token after it": np.eye(count, k=1),
            "the second token before it": np.eye(count, k=-2),
        }
    return own | {"the first token alone": np.eye(1, count), "the last token alone": np.eye(1, count, count - 1)}


def shared(visible):
    """Even weights for what is visible, a row per query."""
    return visible / np.maximum(visible.sum(axis=-1, keepdims=True), 1)


def habit(tried, wrong, ways_of):
    """A sentence on what all wrong rows have in common, or None. Rows to which a habit does not apply are skipped.

    ways_of: (Reading, Head) -> {what a head may do: its weights}.
    """
    known = [(ways_of(reading, head), head.weights, rows) for (reading, head), rows in zip(tried, wrong) if rows.any()]
    for name in known[0][0]:
        off = [misplaced(weights, ways[name])[rows & ways[name].any(axis=-1)] for ways, weights, rows in known]
        if any(map(len, off)) and all((rows <= MISPLACED).all() for rows in off):
            return f"Wherever your head is wrong, a token attends to {name}. Why?"


def change_of_scores(tried):
    """A sentence on the one change of the scores after which all would be right, or None."""
    changes = [
        *[(TOO_CLOSE, lambda scores, times=times: scores * times) for times in FARTHER],
        *[(TOO_FAR, lambda scores, times=times: scores / times) for times in FARTHER],
        (OTHER_WAY, np.negative),
    ]
    if all(head.scores.shape[0] == head.scores.shape[1] for _, head in tried):
        changes.append((SWAPPED, np.transpose))
    for words, change in changes:
        changed = [(head.weights_with(change(head.scores)), reading.weights) for reading, head in tried]
        if all((misplaced(found, wanted) <= MISPLACED).all() for found, wanted in changed):
            return words


def question_on_scores(reading, head, row):
    """The question on the score that makes a row wrong: that of a kind of word, or of one word."""
    for names in (reading.kinds, reading.words):
        found, wanted = (by_name(names, each.weights[row]) for each in (head, reading))
        most = max(found, key=lambda name: near(found[name] - wanted[name]))
        if found[most] - wanted[most] > MISPLACED / 2:
            break
    own = {word for word, name in zip(reading.words, names) if name == most}
    score = f'"{own.pop()}"' if len(own) == 1 else most
    return f"Which of your numbers make {quoted(reading, row)} attend so much to {score}?"


# --- the output of a head ---------------------------------------------------------------------------------------------


def wrong_output(tried):
    """A sentence on the output that a head gives instead, or None."""
    pairs = [(reading, head) for reading, head in tried if reading.context is not None]
    wrong = [(reading, head) for reading, head in pairs if not fits(head.context, reading.context)]
    if not wrong:
        return None
    reading, head = wrong[0]
    row = int(np.argmax(near(np.nan_to_num(np.abs(head.context - reading.context)).max(axis=-1))))
    sides = head.context[row], reading.context[row]
    shown, wanted = (" and ".join(f"{near(value):.2f}" for value in values) for values in sides)
    return (
        f"Your weights are right, but not the values: for {quoted(reading, row)} in the sentence"
        f' "{" ".join(reading.words)}", the output is {shown}. It should be {wanted}.{describe_output(pairs)}'
    )


def fits(found, wanted):
    """Whether the output is the one wanted, up to the weight that may lie elsewhere."""
    counted = ~np.isnan(wanted)
    reach = np.abs(wanted[counted]).max(initial=1)
    return bool((np.abs(found - wanted)[counted] <= 2 * MISPLACED * reach).all())


def describe_output(pairs):
    """A sentence on the output: another quantity of the words, a multiple of the right one, or a question."""
    found = np.concatenate([head.context[~np.isnan(reading.context)] for reading, head in pairs])
    wanted = np.concatenate([reading.context[~np.isnan(reading.context)] for reading, _ in pairs])
    if not np.abs(found).max() > 1e-6:
        return " Every output is 0."
    for name in pairs[0][0].quantities:
        if all(outputs_quantity(reading, head, name) for reading, head in pairs):
            return f" The value passes on {name}. Should it?"
    factor = near(found @ wanted / max(wanted @ wanted, 1e-9))
    least = np.abs(wanted[wanted != 0]).min(initial=1)
    close = (np.abs(found - factor * wanted) <= MISPLACED * np.abs(factor) * np.maximum(np.abs(wanted), least)).all()
    return f" Your output is {factor:.1f} times the right one." if close else " Which value does each word pass on?"


def outputs_quantity(reading, head, name):
    """Whether a head passes on this quantity of the words that it looks at."""
    output = (head.weights @ reading.quantities[name])[:, None]
    return fits(head.context, np.where(np.isnan(reading.context), np.nan, output))
