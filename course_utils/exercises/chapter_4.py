"""The exercises and questions of chapter 4, dropout and the causal class."""

import numpy as np

from course_utils.exercises import chapter_3, oracle, properties, puzzles
from course_utils.exercises.exercise import Exercise, FillIn, Puzzle, Question
from course_utils.exercises.inputs import called_with, normal
from course_utils.judging.calls import LayerCall

# --- 4.1 dropout as a layer -------------------------------------------------------------------------------------------


def far_from_zero(*shape, seed):
    """Numbers of both signs, none near 0, so that a 0 in the result is one that was dropped."""
    numbers = normal(*shape, seed=seed)
    return numbers + numbers.sign()


def unchanged_in_evaluation(call, x):
    return None if call.training else np.array(oracle.rows(x))


def dropped_in_training(case):
    """(x, the result, p) of a call in training."""
    x, p = case.arguments[0].double().numpy(), case.call.arguments[0]
    return (x, case.got, p) if case.call.training and case.got.shape == x.shape else None


DROPOUT_LAYER = Exercise(
    id="4.1",
    title="Dropout as a layer",
    name="MyDropout",
    points=2,
    difficulty=2,
    success_message="`eval()` reaches every layer inside a model because each asks the same switch, `self.training`.",
    hints=(
        "The layer has nothing to learn: it keeps p, and forward looks at a switch.",
        "`torch.rand(x.shape)` lies below `1 - p` with probability 1 - p. `self.training` is False after `.eval()`.",
        "`if not self.training: return x`. Otherwise `x * (torch.rand(x.shape) < 1 - self.p) / (1 - self.p)`.",
    ),
    make_calls=lambda: [
        LayerCall([0.2], inputs=[[far_from_zero(30, 40, seed=9)]] * 2, training=True, seed=1),
        LayerCall([0.75], inputs=[[far_from_zero(2, 20, 30, seed=10)]], training=True, seed=3),
        LayerCall([0.2], inputs=[[far_from_zero(30, 40, seed=9)]] * 2, seed=5),
        LayerCall([0.0], inputs=[[far_from_zero(3, 4, seed=11)]], training=True, seed=7),
    ],
    oracle=unchanged_in_evaluation,
    properties=(
        properties.drops_correctly(dropped_in_training),
        properties.drops_independently(dropped_in_training),
    ),
)

# --- 4.2 heads that survive dropout -----------------------------------------------------------------------------------

DROPPED = 0.5  # the share of weights
DRAWS = 200  # of coins, for each sequence
SURVIVES = 0.95  # the share of cases that must be right
MOST_HEADS = 64


def stack_of(value):
    """W_query, W_key (H, 5, d_k) and W_value (H, 5, 1) of an answer. ValueError, in words, for anything else."""
    stacks = puzzles.three_matrices(value, 5, 1, None)
    count, other = len(stacks[0]), len(stacks[2])
    if count != other or count > MOST_HEADS:
        raise ValueError(
            f"All need the same number of heads, up to {MOST_HEADS}: W_query has {count}, W_value {other}."
        )
    return stacks


def read_by(heads, reading):
    """What each of a stack of heads does with a sequence: a puzzles.Head each."""
    x, visible = chapter_3.embedded(reading.words), chapter_3.before(reading.words)
    return [puzzles.head_of(x, *matrices, visible) for matrices in zip(*heads)]


def survives(case):
    """Whether the sum of all heads says which letters have occurred, without dropout and with it."""
    try:
        heads = stack_of(case.value)
    except ValueError as refused:
        return str(refused)
    tried = [(reading, read_by(heads, reading)) for reading in chapter_3.sequences_of_letters()]
    if wrong := wrong_without_dropout(tried):
        return wrong + (wrong_attention_of_one_head(tried) or output_of_all_heads(heads))
    return wrong_with_dropout([(reading, *stacked(stack)) for reading, stack in tried])


def stacked(heads):
    """(weights (H, T, T), the value of each token (H, T, 1)) of all heads."""
    return np.stack([head.weights for head in heads]), np.stack([head.value for head in heads])


def wrong_attention_of_one_head(tried):
    """A sentence on where the first head that does not find copies looks instead, or ""."""
    for number in range(len(tried[0][1])):
        if wrong := puzzles.wrong_attention([(reading, heads[number]) for reading, heads in tried]):
            return f" Head {number} alone: {wrong[0].lower()}{wrong[1:]}"
    return ""


def output_of_all_heads(heads):
    """A sentence on the output of a stack of heads that all look where they should."""
    values = zip(chapter_3.TOKENS, heads[2].sum(axis=0)[:, 0])
    outputs = ", ".join(f'"{token}" {value:.2f}' for token, value in values)
    return f" Each head looks where it should. What they hand on for each token, added up: {outputs}."


def wrong_without_dropout(tried):
    """A sentence on the first letter that all heads together misjudge, or None."""
    for reading, heads in tried:
        output = sum(head.context for head in heads)[1:, 0]
        again = reading.context[1:, 0] == 1
        if (wrong := (output > 0.5) != again).any():
            row = int(np.argmax(wrong))
            return (
                f'Even without dropout: in "{" ".join(reading.words)}", "{reading.words[row + 1]}"'
                f" at position {row + 1} is handed {output[row]:.2f} by all heads together. It has"
                f" {'' if again[row] else 'not '}occurred before, so that should be"
                f" {'above' if again[row] else 'below'} 0.50."
            )


def wrong_with_dropout(read):
    """A sentence on how often a sum is wrong when weights are dropped, or None."""
    coins = np.random.default_rng(401)
    right = {True: [], False: []}
    for reading, weights, values in read:
        kept = coins.random((DRAWS, *weights.shape)) < 1 - DROPPED
        output = (weights * kept / (1 - DROPPED) @ values).sum(axis=1)[:, 1:, 0]  # (DRAWS, T - 1)
        for row, again in enumerate(reading.context[1:, 0] == 1):
            right[bool(again)] += list((output[:, row] > 0.5) == again)
    for again, found in right.items():
        if np.mean(found) < SURVIVES:
            what = "have" if again else "have not"
            needed = f" {heads_needed_for_yes(read)}" if again else ""
            return (
                f"With half of the weights dropped, letters that {what} occurred before are judged rightly in"
                f" {np.mean(found):.2f} of all cases; wanted: {SURVIVES}.{needed}"
            )


def heads_needed_for_yes(read):
    """A sentence on how many heads find a copy, and how many of them must survive dropout for a yes."""
    reading, weights, values = next(each for each in read if (each[0].context == 1).any())
    row = int(np.argmax(reading.context[:, 0] == 1))
    output = np.sort((weights @ values)[:, row, 0])[::-1]
    finding = int((output > output.max() / 2).sum())
    needed = int(np.argmax(output.cumsum() / (1 - DROPPED) > 0.5)) + 1
    return f"Heads that find a copy and say yes: {finding} of {len(output)}; how many must be left for a yes: {needed}."


SURVIVING = Puzzle(
    id="4.2",
    title="Heads that survive",
    name="my_heads",
    points=3,
    difficulty=2,
    success_message=(
        "A weight on one token hangs on one coin. Heads that do the same job have coins of their own, and all of them"
        " seldom fall alike."
    ),
    hints=(
        "Begin with the head of exercise 3.3 as a stack of one, `W_query[None]`. How often is it left with nothing?",
        "H heads are all blind with probability 0.5 to the power of H. How many do you need for one case in twenty?",
        "`W_query.repeat(8, 1, 1)` stacks eight copies. What must one head's value be, so that it alone says yes?",
    ),
    properties=(survives,),
)

# --- 4.3 the chance that a row is empty -------------------------------------------------------------------------------

EMPTY = Exercise(
    id="4.3",
    title="How often is a row empty?",
    name="my_chances",
    points=1,
    difficulty=1,
    success_message="A row of t weights is empty if t coins fall alike, so dropout silences the early words.",
    hints=(
        "How many weights has the first row of a causal matrix? And row t?",
        "Coins are independent: the chance that all t weights are dropped is p · p · ... · p, t times.",
        "`p ** torch.arange(1, T + 1)`",
    ),
    make_calls=lambda: [called_with(0.5, 6), called_with(0.2, 3), called_with(0.9, 1), called_with(0.0, 4)],
    oracle=lambda p, T: np.array([p**t for t in range(1, T + 1)]),
)

# --- 4.4 one matrix instead of three ----------------------------------------------------------------------------------


def fused(*batch, T, d_in, d_out, context_length, dropout, seed, calls=1, **more):
    """A call of a layer with one matrix for queries, keys and values."""
    x, weight = normal(*batch, T, d_in, seed=seed), normal(3 * d_out, d_in, seed=seed + 1) * 0.5
    arguments = [d_in, d_out, context_length, dropout]
    return LayerCall(arguments, inputs=[[x]] * calls, weights={"W_qkv": weight}, seed=seed, **more)


def attended(call, x):
    """(context vectors, weights, values) of each sequence, by loops."""
    for (one,) in oracle.sequences(x):
        queries, keys, values = (oracle.project(one, oracle.rows(W)) for W in call.weights["W_qkv"].chunk(3))
        yield *oracle.attend(queries, keys, values, causal=True), values


def fused_attention(call, x):
    contexts = np.array([context for context, _, _ in attended(call, x)])
    return None if call.training else contexts.reshape(*x.shape[:-1], call.arguments[1])


FUSED = Exercise(
    id="4.4",
    title="One matrix instead of three",
    name="MyCausalAttention",
    points=4,
    difficulty=3,
    success_message="This is how large models store it: one product instead of three, and the same numbers.",
    hints=(
        "`self.W_qkv = nn.Linear(d_in, 3 * d_out, bias=False)`; in `forward`, cut its result into three parts.",
        "`self.W_qkv(x).chunk(3, dim=-1)` gives queries, keys and values, (..., T, d_out) each.",
        "The mask is a buffer for `context_length` tokens: cut it, `self.mask[:T, :T]`, with `T = x.shape[-2]`.",
        "`nn.Dropout(dropout)` is a layer: make it in `__init__` and call it on the weights, after softmax.",
    ),
    make_calls=lambda: [
        # as wide as its tokens are many, so that weights can be worked out of context vectors; the mask must be cut
        fused(2, T=4, d_in=6, d_out=5, context_length=7, dropout=0.5, seed=70, calls=2),
        fused(3, T=5, d_in=4, d_out=2, context_length=5, dropout=0.0, seed=80),
        fused(3, T=1, d_in=2, d_out=4, context_length=8, dropout=0.0, seed=90),  # one token: nothing is hidden
        fused(T=3, d_in=7, d_out=6, context_length=8, dropout=0.1, seed=100),  # one sequence without a batch
        fused(20, T=4, d_in=6, d_out=5, context_length=4, dropout=0.25, seed=110, training=True),
        fused(2, T=3, d_in=4, d_out=5, context_length=6, dropout=0.0, seed=120, training=True),
    ],
    oracle=fused_attention,
    properties=(properties.drops_weights_correctly(attended),),
)

QUESTIONS = (
    Question(
        id="Q4.1",
        right="c",
        explanations={
            "a": "Half of 36 is 18, but nobody counts: each entry has a coin of its own.",
            "b": "It may be any number from 0 to 36, though numbers far from the middle are rare.",
            "c": "Yes. Each entry is kept or not on its own, so 18 is only the average.",
        },
    ),
    Question(
        id="Q4.2",
        right="b",
        explanations={
            "a": (
                "That happens only if softmax comes after dropout, or if you divide by the sums. Neither is done here."
            ),
            "b": (
                "Yes. What stays is doubled, whatever goes. A row may keep all and sum to 2, or lose all and sum to 0."
            ),
            "c": "On average, yes; a single row keeps more or less than half of its weights.",
        },
    ),
    Question(
        id="Q4.3",
        right="a",
        explanations={
            "a": "Yes. exp(0) is 1: a score of 0 is a score like any other, and equal scores get equal weights.",
            "b": "A weight of 0 needs a score of minus infinity. A dropped score is 0, a number like any other.",
            "c": "That needs a score of minus infinity in the whole row. A score of 0 leaves something to divide by.",
        },
    ),
    Question(
        id="Q4.4",
        right="c",
        explanations={
            "a": "The buffer moves. It is the plain attribute that stays behind, and a GPU cannot use it there.",
            "b": "A buffer is not trained. Only parameters are.",
            "c": "Yes: `.to()` moves parameters and buffers, and `parameters()` lists only what is learned.",
        },
    ),
    Question(
        id="Q4.5",
        right="b",
        explanations={
            "a": "One half is how often the weight is kept. In each single step it is there as a whole, or gone.",
            "b": "Yes: one coin decides, and the kept weight is divided by one half.",
            "c": "On average, yes. In each step it is one or the other.",
        },
    ),
    Question(
        id="Q4.6",
        right="c",
        explanations={
            "a": "One wide layer makes all three, and `chunk` cuts them apart: exercise 4.4 does the same.",
            "b": "The mask is cut to T, and the scores it hides become minus infinity. Hiding draws nothing at random.",
            "c": (
                "Yes. `F.dropout` is a function and cannot see the layer's switch. It drops unless it is told"
                " `training=self.training`. `nn.Dropout` looks at the switch itself."
            ),
            "d": "Mixing draws nothing at random. Look for the line that tosses coins.",
        },
    ),
    Question(
        id="Q4.7",
        right="b",
        explanations={
            "a": "They are exactly 0. What they leave behind is in the weights that are kept.",
            "b": "Yes. The later scores are still in the sum by which the first weight was divided.",
            "c": "It does set them to 0. The weights that are kept have been divided by the whole sum before.",
        },
    ),
)

FILL_INS = (
    FillIn(
        id="M4.1",
        prompt="Which number does a score get so that softmax makes exactly 0 of it?",
        right=r"(-|−|minus )(torch\.|float\([\"']?)?(inf|infinity|∞)[\"']?\)?",
        explanation="Minus infinity: its exponential is exactly 0.",
        section=(3, "Only what came before"),
    ),
    FillIn(
        id="M4.2",
        prompt="A causal head with queries of zeros gives the fourth token what weight on the first?",
        right=r"1 ?/ ?4|0?\.25|(one|a) (quarter|fourth)|25 ?%",
        explanation="One quarter: equal scores, and four tokens to see.",
        section=(3, "Only what came before"),
    ),
    FillIn(
        id="M4.3",
        prompt="A head looks for an earlier copy and there is none. Its weights still sum to ...",
        right=r"1|1\.0|one",
        explanation="1. So it needs something to look at when it finds nothing.",
        section=(3, "What is an average good for?"),
    ),
    FillIn(
        id="S4.1",
        prompt="The lines a to e of a forward in their right order",
        right="c ?,? ?e ?,? ?b ?,? ?a ?,? ?d",
        explanation="c e b a d: project, score, hide, softmax and drop, mix.",
        section=(4, "The causal class"),
    ),
    FillIn(
        id="S4.2",
        prompt="How wide is the result of W_qkv, in terms of d_out?",
        right=r"3 ?\*? ?d_out|d_out ?\* ?3|three times d_out",
        explanation="`3 * d_out`: queries, keys and values side by side.",
        section=(4, "The causal class"),
    ),
)
