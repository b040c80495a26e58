"""The exercises and questions of chapter 6, in practice."""

import math

import numpy as np
import torch

from course_utils.exercises import mistakes, oracle
from course_utils.exercises.exercise import Exercise, Question
from course_utils.exercises.inputs import non_contiguous, normal
from course_utils.exercises.mistakes import Mistake
from course_utils.judging.calls import FunctionCall


def seen_mask(case):
    """The learner's mask as True and False, whatever its shape; None for anything but a tensor."""
    return case.got.astype(bool) if case.got is not None else None


# --- 6.1 padding ------------------------------------------------------------------------------------------------------


def calls_on_lengths():
    return [
        FunctionCall([torch.tensor([1, 4, 2]), 4]),
        FunctionCall([torch.tensor([5, 3]), 6]),
        FunctionCall([torch.tensor([0, 2, 1, 3]), 3]),
    ]


def padding_mask(call):
    lengths, num_tokens = call.arguments
    return [np.array([[[s >= length for s in range(num_tokens)]] for length in lengths.tolist()])]


def real_tokens_hidden(case):
    if (seen_mask(case) == ~case.want).all():
        return "Your mask is True at the real tokens, and hides them. Here True means hidden: set it at padding."


def one_token_off(case):
    lengths = np.asarray(case.arguments[0])
    hidden = (~seen_mask(case)).sum(axis=-1)[:, 0]  # how many keys are visible
    for shift, words in [(1, "one key of padding stays visible"), (-1, "the last real token is hidden, too")]:
        if (hidden == np.clip(lengths + shift, 0, case.arguments[1])).all():
            return (
                f"For lengths {lengths.tolist()} your mask shows {hidden.tolist()} keys: {words}. Positions"
                " count from 0, so padding begins at position `length`."
            )


def rows_instead_of_columns(case):
    lengths, num_tokens = case.arguments
    if tuple(case.value.shape) == (len(lengths), num_tokens, 1):
        return (
            f"Your mask has shape {tuple(case.value.shape)}: it hides whole *queries*. Padding must not be seen, so it"
            " hides keys, the last dimension: [:, None, :]."
        )


def no_dimension_for_queries(case):
    lengths, num_tokens = case.arguments
    if tuple(case.value.shape) == (len(lengths), num_tokens):
        return (
            f"Your mask has shape {tuple(case.value.shape)}, (B, S). It needs a dimension of 1 for the queries, in the"
            " middle: [:, None, :]."
        )


PADDING_MASK = Exercise(
    id="6.1",
    title="A padding mask from lengths",
    name="my_padding_mask",
    points=1,
    difficulty=1,
    minutes=4,
    why="The dimension of 1 in the middle repeats the same row of keys for every query: (B, 1, S) fits (B, T, S).",
    hints=(
        "Compare every position, 0 to S - 1, with every length. Which positions are padding?",
        "torch.arange(num_tokens) >= lengths[:, None] is a table (B, S).",
        "Then [:, None, :] gives it a dimension for the queries.",
    ),
    make_calls=calls_on_lengths,
    oracle=padding_mask,
    mistakes=(
        Mistake("mask the wrong way round", real_tokens_hidden),
        Mistake("padding begins at the wrong place", one_token_off),
        Mistake("padding hides queries instead of keys", rows_instead_of_columns),
        Mistake("no dimension for the queries", no_dimension_for_queries),
    ),
)

# --- 6.2 a mask for the other camp ------------------------------------------------------------------------------------


def calls_on_attention_masks():
    return [
        FunctionCall([torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]])]),
        FunctionCall([torch.tensor([[1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 1, 1]])]),
    ]


def keep_mask(call):
    rows = call.arguments[0].tolist()
    return [np.array([[[[s <= t and row[s] == 1 for s in range(len(row))] for t in range(len(row))]] for row in rows])]


def says_what_to_hide(case):
    if (seen_mask(case) == ~case.want).all():
        return "Your mask is right for our camp, and here True means *keep*: turn it round with ~."


def heads_missing(case):
    B, _, S, _ = np.shape(case.want)
    if tuple(case.value.shape) == (B, S, S):
        return (
            f"Your mask has shape {tuple(case.value.shape)}. Without a 1 for the heads, PyTorch takes the first"
            " size for heads, not for sequences: (B, 1, S, S)."
        )


def future_kept(case):
    real = np.asarray(case.arguments[0]).astype(bool)
    if (seen_mask(case) == np.broadcast_to(real[:, None, None, :], case.want.shape)).all():
        return "Padding is out, but every query sees the future. A key needs both: to be real *and* not in the future."


def padding_kept(case):
    S = np.shape(case.want)[-1]
    if (seen_mask(case) == np.broadcast_to(np.tri(S, dtype=bool), case.want.shape)).all():
        return "The future is out, but padding takes part. A key takes part if it is real *and* not in the future."


def one_condition_enough(case):
    real = np.asarray(case.arguments[0]).astype(bool)
    S = np.shape(case.want)[-1]
    if (seen_mask(case) == (np.tri(S, dtype=bool) | real[:, None, None, :])).all():
        return "With |, a key takes part if it is real *or* not in the future. Both must hold: join them with &."


def token_itself_hidden(case):
    S = np.shape(case.want)[-1]
    if (seen_mask(case) == (case.want & ~np.eye(S, dtype=bool))).all():
        return "No token sees itself, and row 0 is empty. A token is not its own future: keep the diagonal, tril()."


KEEP_MASK = Exercise(
    id="6.2",
    title="One mask for the other camp",
    name="my_keep_mask",
    points=2,
    difficulty=2,
    minutes=6,
    why="Where True means keep, conditions are joined with &; where it means hide, the same rule is written with |.",
    hints=(
        "Two conditions: the key is real, and it is not in the future. Both must hold.",
        "torch.tril(torch.ones(S, S)).bool() is True where a key is not in the future.",
        "(attention_mask == 1)[:, None, None, :] has shape (B, 1, 1, S); & joins it with (S, S).",
    ),
    make_calls=calls_on_attention_masks,
    oracle=keep_mask,
    mistakes=(
        Mistake("mask the wrong way round", says_what_to_hide),
        Mistake("no dimension for the heads", heads_missing),
        Mistake("future not masked", future_kept),
        Mistake("padding not hidden", padding_kept),
        Mistake("or instead of and", one_condition_enough),
        Mistake("diagonal off by one", token_itself_hidden),
    ),
)

# --- 6.3 one step with a cache ----------------------------------------------------------------------------------------


def step_of(B, num_heads, T, head_dim, seed):
    """A call with T tokens in the cache."""
    new = normal(3, B, num_heads, 1, head_dim, seed=seed)
    old = normal(2, B, num_heads, T, head_dim, seed=seed + 1)
    return FunctionCall([*new, *old])


def calls_on_steps():
    return [step_of(2, 3, 5, 4, seed=61), step_of(1, 2, 6, 3, seed=63), step_of(3, 4, 2, 5, seed=65)]


def attended(call, chosen=None):
    """(context, keys, values) of a step, by loops. chosen: which keys are seen, or None for all."""
    query, key, value, keys, values = call.arguments
    all_keys, all_values = torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)
    chosen = slice(None) if chosen is None else chosen
    context = [
        [oracle.attend(*map(oracle.rows, (q, k[chosen], v[chosen])))[0] for q, k, v in zip(*heads)]
        for heads in zip(query, all_keys, all_values)
    ]
    return [np.array(context), all_keys.numpy(), all_values.numpy()]


def context_is(chosen):
    """case -> whether the learner's context is what these keys would give, and not the right one."""

    def found(case):
        tried = case.value[0].double().numpy()
        return np.allclose(tried, attended(case.call, chosen)[0], atol=mistakes.CLOSE) and not np.allclose(
            tried, case.want[0], atol=mistakes.CLOSE
        )

    return found


def only_the_first_key(case):
    if context_is(slice(0, 1))(case):
        return (
            "The new token sees the *first* token alone. With one query, is_causal=True and a triangle (1, T + 1) keep"
            " only the first key. The last row of a causal mask hides nothing: leave the mask out."
        )


def without_the_new_key(case):
    if context_is(slice(0, -1))(case):
        return "The new token does not see itself: its context is from the cache alone. Extend keys and values first."


def cache_not_longer(case):
    if not isinstance(case.value, list) or len(case.value) != 3:  # something is not returned at all
        return None
    T = case.arguments[3].shape[-2]
    lengths = [case.value[k].shape[-2] for k in (1, 2)]
    if min(lengths) < T + 1:
        return (
            f"The cache held {T} tokens. You return the keys of {lengths[0]} and the values of {lengths[1]}; expected"
            f" {T + 1}. The next token will need them all."
        )


def longer(case):
    """(keys, values) with the new token's, (B, num_heads, T + 1, head_dim) each, as expected."""
    return [part.astype(float) for part in case.want[1:]]


def step_scores(case):
    """The scores of the new token, (B, num_heads, 1, T + 1), not divided."""
    return case.arguments[0].double().numpy() @ np.swapaxes(longer(case)[0], -2, -1)


def step_context(case):
    """The context that was returned, (B, num_heads, 1, head_dim), or None."""
    context = case.value[0]
    right = isinstance(context, torch.Tensor) and context.shape == case.arguments[0].shape
    return context.double().numpy() if right else None


step_weights = mistakes.recovered(lambda case: longer(case)[1], step_context)


def keys_mixed(case):
    query, key, _, keys, _ = case.arguments
    mixed, *_ = attended(FunctionCall([query, key, key, keys, keys]))  # the keys in place of the values
    if np.allclose(step_context(case), mixed, atol=mistakes.CLOSE):
        return "Your context mixes the *keys*. The keys only make the weights; it is the values that are mixed."


def newest_first(case):
    query, key, value, keys, values = case.arguments
    if torch.allclose(case.value[1], torch.cat([key, keys], dim=-2)):
        return "Your new key stands before the old ones. The context is the same, but a cache keeps the order."


STEP = Exercise(
    id="6.3",
    title="One step with a cache",
    name="my_step",
    points=2,
    difficulty=2,
    minutes=6,
    why="The newest token may see everything there is, so its row of the causal mask hides nothing.",
    hints=(
        "First make the cache longer, then attend with one query.",
        "torch.cat([keys, key], dim=-2) puts the new key after the old ones.",
        "scores = query @ keys.transpose(-2, -1) / head_dim**0.5 has one row: softmax, then times values.",
    ),
    make_calls=calls_on_steps,
    oracle=lambda call: [attended(call)],
    mistakes=(
        Mistake("only the first key seen", only_the_first_key),
        Mistake("the new token does not see itself", without_the_new_key),
        Mistake("the cache does not grow", cache_not_longer),
        mistakes.softmax_over_queries(step_weights),
        Mistake("values forgotten", keys_mixed),
        *mistakes.wrong_divisor(
            step_weights,
            step_scores,
            right=lambda case: case.arguments[1].shape[-1] ** 0.5,
            others=lambda case: {
                "scaled by d_k, not its root": case.arguments[1].shape[-1],
                "scaled by √T": (case.arguments[3].shape[-2] + 1) ** 0.5,
            },
            names=("scaled by d_k, not its root", "scaled by √T", "no scale", "multiplied by the scale"),
        ),
        Mistake("the new key before the old", newest_first),
    ),
)

# --- 6.4 shared keys --------------------------------------------------------------------------------------------------


def calls_on_groups():
    return [
        FunctionCall([normal(1, 2, 3, 4, seed=67), 6]),
        FunctionCall([non_contiguous(normal(2, 3, 1, 5, seed=68)), 12]),
        FunctionCall([normal(2, 4, 3, 2, seed=69), 4]),
    ]


def shared_keys(call):
    keys, num_heads = call.arguments
    groups = keys.shape[1]
    return [np.array([[one[h * groups // num_heads] for h in range(num_heads)] for one in keys.tolist()])]


def taken_in_turn(case):
    keys, num_heads = case.arguments
    in_turn = np.array([[one[h % len(one)] for h in range(num_heads)] for one in keys.tolist()])
    if np.allclose(case.got, in_turn):
        return (
            f"Your heads take the {keys.shape[1]} groups in turn: 1, 2, ..., 1, 2, ... Neighbours must share,"
            " 1, 1, ..., 2, 2, ...: repeat_interleave instead of repeat."
        )


SHARED = Exercise(
    id="6.4",
    title="Share the keys",
    name="my_shared",
    points=1,
    difficulty=1,
    minutes=4,
    why="Which query head meets which keys is fixed in training, so the order counts although the shape is the same.",
    hints=(
        "Each head of keys is needed num_heads // groups times, and its copies stand side by side.",
        "tensor.repeat_interleave(times, dim=...) repeats each entry in its place.",
    ),
    make_calls=calls_on_groups,
    oracle=shared_keys,
    mistakes=(Mistake("heads taken in turn", taken_in_turn),),
)

# --- 6.5 three readings -----------------------------------------------------------------------------------------------


def head(size, seed, divisor, ahead=0, afterwards=False):
    """Scores and weights of a head. ahead: how many future tokens are seen. afterwards: masked after softmax only."""
    scores = normal(size, size, seed=seed)
    hidden = torch.ones(size, size).triu(1 + ahead).bool()
    if afterwards:
        return FunctionCall([scores, torch.softmax(scores / divisor, dim=-1).masked_fill(hidden, 0)])
    return FunctionCall([scores, torch.softmax(scores.masked_fill(hidden, -torch.inf) / divisor, dim=-1)])


def calls_on_heads():
    return [
        head(5, seed=70, divisor=2.0),
        head(4, seed=71, divisor=8**0.5),
        head(5, seed=72, divisor=2.0, ahead=1),
        head(6, seed=73, divisor=3.0, afterwards=True),
        head(2, seed=74, divisor=0.5),
        too_much_and_too_little(head(4, seed=75, divisor=1.5)),
        leaking(head(4, seed=76, divisor=2.5)),
    ]


def too_much_and_too_little(call):
    """The call with rows that sum to 1.1 and to 0.9: 1 on average, and wrong."""
    scores, weights = call.arguments
    return FunctionCall([scores, weights * torch.tensor([1.0, 1.1, 0.9, 1.0])[:, None]])


def leaking(call):
    """The call with a weight of 0.001 on the future, in a first row that still sums to 1."""
    scores, weights = (argument.clone() for argument in call.arguments)
    weights[0] = torch.tensor([0.999, 0.0, 0.001, 0.0])
    return FunctionCall([scores, weights])


def readings(call):
    scores, weights = map(oracle.rows, call.arguments)
    sums = all(abs(math.fsum(row) - 1) < 1e-4 for row in weights)
    hidden = not any(weight for t, row in enumerate(weights) for weight in row[t + 1 :])
    gap = math.log(weights[-1][0]) - math.log(weights[-1][1])
    return [[sums, hidden, (scores[-1][0] - scores[-1][1]) / gap]]


def said(case, place):
    """What the answer said in each of the calls, as True and False: place 0 for the sums, 1 for the future."""
    return [bool(other.value[place]) for other in case.beside]


def wanted(case, place):
    """What it should have said."""
    return [other.want[place] for other in case.beside]


def compared_exactly(case):
    exact = [bool((other.arguments[1].sum(dim=-1) == 1).all()) for other in case.beside]
    if said(case, 0) == exact != wanted(case, 0) and any(exact):
        return (
            "You compare sums with exactly 1. Rounding leaves 0.9999999 or 1.0000001 here and there: allow a difference"
            " of 1e-4."
        )


def columns_summed(case):
    weights = case.arguments[1].double().numpy()
    if not case.value[0] and case.want[0] and not mistakes.sums_to_one(weights, axis=-2):
        return "You say that rows do not sum to 1, and they do. Did you sum columns? A row runs along the keys, dim=-1."


def future_the_wrong_way_round(case):
    if said(case, 1) == [not hidden for hidden in wanted(case, 1)]:
        return "Your second reading is True where the future is *seen*. It should be True where all of it is hidden."


def diagonal_called_future(case):
    if not any(said(case, 1)) and case.want[1]:
        return (
            "You find a weight on the future where there is none. The diagonal is the token itself; the future begins"
            " with triu(diagonal=1)."
        )


def divisor_upside_down(case):
    if abs(case.value[2] - 1 / case.want[2]) < mistakes.CLOSE < abs(case.want[2] - 1 / case.want[2]):
        return (
            f"Your divisor is {case.value[2]:.4f}, and 1 divided by that is right: scores were *divided* by"
            f" {case.want[2]:.4f}. Put the difference of the scores above the logarithm."
        )


READINGS = Exercise(
    id="6.5",
    title="Three readings",
    name="my_readings",
    points=3,
    difficulty=3,
    minutes=10,
    why="Three questions, and no right numbers to compare with: most silent errors fail one of them.",
    hints=(
        "The first two readings are sums along a row, and weights above the diagonal.",
        "In weights[-1, 0] / weights[-1, 1] softmax's sum cancels. What is left is exp of a difference.",
        "divisor = (scores[-1, 0] - scores[-1, 1]) / (weights[-1, 0] / weights[-1, 1]).log()",
    ),
    make_calls=calls_on_heads,
    oracle=readings,
    mistakes=(
        Mistake("sums compared exactly", compared_exactly),
        Mistake("columns summed instead of rows", columns_summed),
        Mistake("answer the wrong way round", future_the_wrong_way_round),
        Mistake("diagonal off by one", diagonal_called_future),
        Mistake("divisor upside down", divisor_upside_down),
    ),
)

QUESTIONS = (
    Question(
        id="Q6.1",
        right="b",
        said={
            "a": "That hides whole rows: the queries of the padding. But padding must not be *seen*.",
            "b": "Yes. A size of 1 is repeated, so all T queries of a sequence share one row of hidden keys.",
            "c": "Then B stands where queries are. Each sequence needs a row of its own: B must stay in front.",
        },
    ),
    Question(
        id="Q6.2",
        right="b",
        said={
            "a": "Queries, keys and values double. A table has as many rows as columns, and both double.",
            "b": "Yes: twice as many rows, each twice as long.",
            "c": "The number of heads stays; only rows and columns double.",
        },
    ),
    Question(
        id="Q6.3",
        right="a",
        said={
            "a": "Yes. Nothing that belongs to older tokens changes, since they never look at the new one.",
            "b": "Keys and values of older tokens do not change: they are what the cache holds.",
            "c": "Only the last row of the table is needed: the older rows belong to tokens that are written already.",
        },
    ),
)
