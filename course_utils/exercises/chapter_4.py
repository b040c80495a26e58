"""The exercises of chapter 4, dropout and the causal class."""

import numpy as np

from course_utils.exercises import chapter_3, properties, puzzles
from course_utils.exercises.exercise import Exercise, Puzzle
from course_utils.exercises.inputs import normal
from course_utils.exercises.words import written
from course_utils.judging.calls import LayerCall

# --- 4.1 dropout as a layer -------------------------------------------------------------------------------------------


def far_from_zero(*shape, seed):
    """Numbers of both signs, none near 0, so that a 0 in the result is one that was dropped."""
    numbers = normal(*shape, seed=seed)
    return numbers + numbers.sign()


def dropped_in_training(case):
    """(x, the result, p) of a call in training."""
    x, p = case.arguments[0].double().numpy(), case.call.arguments[0]
    return (x, case.got, p) if case.call.training and case.got.shape == x.shape else None


DROPOUT_LAYER = Exercise(
    **written("4.1"),
    make_calls=lambda: [
        LayerCall([0.2], inputs=[[far_from_zero(30, 40, seed=9)]] * 2, training=True, seed=1),
        LayerCall([0.75], inputs=[[far_from_zero(2, 20, 30, seed=10)]], training=True, seed=3),
        LayerCall([0.2], inputs=[[far_from_zero(30, 40, seed=9)]] * 2, seed=5),
        LayerCall([0.0], inputs=[[far_from_zero(1, 4, seed=11)]], training=True, seed=7),
    ],
    properties=(properties.drops_correctly(dropped_in_training), properties.drops_independently(dropped_in_training)),
)

# --- 4.2 heads that survive dropout -----------------------------------------------------------------------------------

DROPPED = 0.5  # the chance of each weight
DRAWS = 200  # of coins, for each sequence
SURVIVES = 0.95  # the share of cases that must be right
MOST_HEADS = 256
SEED = 401  # of the coins


def stack_of(value):
    """W_query, W_key (H, 5, d_k) and W_value (H, 5, 1) of an answer. ValueError, in words, for anything else."""
    stacks = puzzles.three_matrices(value, 5, 1, None)
    count, other = len(stacks[0]), len(stacks[2])
    if count != other:
        raise ValueError(f"All three need the same number of heads: W_query has {count}, W_value {other}.")
    if count > MOST_HEADS:
        raise ValueError(f"You have {count} heads; use at most {MOST_HEADS}.")
    return stacks


def survives(case):
    """Whether the sum of all heads says which letters have occurred, without dropout and with it."""
    try:
        heads = stack_of(case.value)
    except ValueError as refused:
        return str(refused)
    tried = []
    for reading in chapter_3.sequences_of_letters():
        x, visible = chapter_3.embedded(reading.words), chapter_3.before(reading.words)
        tried.append((reading, [puzzles.head_of(x, *matrices, visible) for matrices in zip(*heads)]))
    if wrong := wrong_without_dropout(tried):
        return wrong + what_heads_do(heads, tried)
    return wrong_with_dropout(tried)


def what_heads_do(heads, tried):
    """A sentence on where the first head that does not find copies looks instead, or else on the output of all."""
    for number in range(len(tried[0][1])):
        if wrong := puzzles.wrong_attention([(reading, heads[number]) for reading, heads in tried]):
            return f" Head {number} alone: {wrong[0].lower()}{wrong[1:]}"
    values = zip(chapter_3.TOKENS, heads[2].sum(axis=0)[:, 0])
    outputs = ", ".join(f'"{token}" {puzzles.near(value):.2f}' for token, value in values)
    return f" Each head looks where it should. Summed over heads, the values are {outputs}."


def wrong_without_dropout(tried):
    """A sentence on the first letter that all heads together misjudge, or None."""
    for reading, heads in tried:
        output = sum(head.context for head in heads)[1:, 0]
        again = reading.context[1:, 0] == 1
        if (wrong := (output > 0.5) != again).any():
            row = int(np.argmax(wrong))
            return (
                f'Even without dropout, in "{" ".join(reading.words)}", "{reading.words[row + 1]}"'
                f" at position {row + 1} gets {puzzles.near(output[row]):.2f} from all heads together. It has"
                f" {'' if again[row] else 'not '}occurred before, so the sum should be"
                f" {'above' if again[row] else 'below'} 0.50."
            )


def wrong_with_dropout(tried):
    """A sentence on how often a sum is wrong when weights are dropped, or None."""
    coins = np.random.default_rng(SEED)
    right = {True: [], False: []}
    for reading, heads in tried:
        weights = np.stack([head.weights for head in heads])  # (H, T, T)
        values = np.stack([head.value for head in heads])  # (H, T, 1)
        kept = coins.random((DRAWS, *weights.shape)) < 1 - DROPPED
        output = (weights * kept / (1 - DROPPED) @ values).sum(axis=1)[:, 1:, 0]  # (DRAWS, T - 1)
        for row, again in enumerate(reading.context[1:, 0] == 1):
            right[bool(again)] += list((output[:, row] > 0.5) == again)
    for again, found in right.items():
        if np.mean(found) < SURVIVES:
            what = "have" if again else "have not"
            finding = f" {heads_finding_a_copy(tried)} How many heads can lose the copy" if again else ""
            return (
                f"With half of the weights dropped, letters that {what} occurred before are judged correctly in"
                f" {just_below(SURVIVES, np.mean(found))} of all cases. The goal is at least"
                f" {SURVIVES}.{finding or ' How many weights may be dropped'} before the sum of all heads is wrong?"
            )


def just_below(limit, share):
    """A share below a limit, with two digits, or as many as it takes to look below it."""
    return next(told for digits in range(2, 10) if float(told := f"{puzzles.near(share):.{digits}f}") < limit)


def heads_finding_a_copy(tried):
    """A sentence on how many heads find a copy."""
    reading, heads = next(each for each in tried if (each[0].context == 1).any())
    output = np.stack([head.context for head in heads])[:, int(np.argmax(reading.context[:, 0] == 1)), 0]
    finding = int((output > output.max() / 2).sum())
    return f"{finding} of your {len(output)} heads {'finds' if finding == 1 else 'find'} the copy."


SURVIVING = Puzzle(**written("4.2"), properties=(survives,))

EMPTY = Exercise(**written("4.3"), make_calls=lambda: [[0.5, 6], [0.2, 3], [0.9, 1], [0.0, 4]])

# --- 4.4 one matrix instead of three ----------------------------------------------------------------------------------


def fused(*batch, T, d_in, d_out, context_length, dropout, seed, calls=1, **more):
    """A call of a layer with one matrix for queries, keys and values."""
    x, weight = normal(*batch, T, d_in, seed=seed), normal(3 * d_out, d_in, seed=seed + 1) * 0.5
    return LayerCall([d_in, d_out, context_length, dropout], [[x]] * calls, {"W_qkv": weight}, seed=seed, **more)


def projected(call, x):
    """Queries, keys and values of a call's layer for an input in 64 bits."""
    return (x @ call.weights["W_qkv"].double().T).chunk(3, dim=-1)


FUSED = Exercise(
    **written("4.4"),
    make_calls=lambda: [
        # as wide as its tokens are many, so that weights can be worked out of context vectors; the mask must be cut
        fused(2, T=4, d_in=6, d_out=5, context_length=7, dropout=0.5, seed=70, calls=2),
        fused(1, T=5, d_in=4, d_out=2, context_length=5, dropout=0.0, seed=80),
        fused(3, T=1, d_in=2, d_out=4, context_length=8, dropout=0.0, seed=90),  # one token: nothing is hidden
        fused(T=3, d_in=7, d_out=6, context_length=8, dropout=0.1, seed=100),  # one sequence without a batch
        fused(20, T=4, d_in=6, d_out=5, context_length=4, dropout=0.25, seed=110, training=True),
        fused(2, T=3, d_in=4, d_out=5, context_length=6, dropout=0.0, seed=120, training=True),
    ],
    properties=(properties.drops_weights_correctly(projected),),
)
