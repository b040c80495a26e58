"""The mistakes that learners make, each recognised by its symptoms in the learner's own numbers.

A mistake here is a function that gives a `Mistake` for one exercise. Many take `weights`, a function that finds the
attention weights in a case: `returned` where the answer returns them, `recovered(...)` where they have to be worked out
from context vectors. `scores` finds the unscaled scores in a case. Both give arrays (..., T, T) of float64, or None.

A symptom gets a `Case` (see `judging.judge`) and gives the sentence that the learner reads, or None. Where it cannot
be measured it may raise what indexing and arithmetic raise.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

CLOSE = 1e-3  # how exactly a recovered number must fit: wrong answers miss it by far
ROUNDING = 1e-5  # what is left of a weight of 0 once it was recovered


@dataclass(frozen=True)
class Mistake:
    """A mistake's name, as reports count it (or None), and its symptom: Case -> the sentence for the learner, or None.

    despite_errors: the symptom is so exact that it holds even where other calls of the same answer stop with an error.
    """

    name: str
    symptom: Callable
    despite_errors: bool = False


# --- finding the weights in a case ------------------------------------------------------------------------------------


def returned(case):
    """The weights, where the answer returns them: the value itself, if its shape is right (or left to properties)."""
    got = case.got
    return got if got is not None and (case.want is None or got.shape == np.shape(case.want)) else None


def recovered(values, context=returned):
    """The weights behind context vectors = weights @ values, for a case whose tokens number at most a value's width.

    values: case -> the value vectors (..., T, d), with T <= d so that each context vector has one explanation only.
    context: case -> the context vectors (..., T, d). Where one is nan, so are its weights.
    """

    def weights(case):
        seen, known = context(case), values(case)
        if seen is None or known.shape[-2] > known.shape[-1] or np.isnan(seen).all():
            return None
        found = seen @ np.linalg.pinv(known)  # (..., T, d) @ (..., d, T) -> (..., T, T)
        found[np.abs(found) < ROUNDING] = 0
        return found if np.allclose(found @ known, seen, atol=CLOSE, equal_nan=True) else None

    return weights


# --- measures ---------------------------------------------------------------------------------------------------------


def upper(weights):
    """The weights above the diagonal, those on the future: one row of numbers."""
    return weights[..., np.triu(np.ones(weights.shape[-2:], dtype=bool), k=1)]


def lower(weights):
    """The weights below the diagonal, those on the past."""
    return weights[..., np.tril(np.ones(weights.shape[-2:], dtype=bool), k=-1)]


def sums_to_one(weights, axis):
    """Whether the weights sum to 1 along an axis, everywhere."""
    return np.allclose(weights.sum(axis=axis), 1, atol=CLOSE)


def divisor(weights, scores):
    """The number by which scores were divided before softmax made these weights; None when no one number fits."""
    visible = (weights > 1e-6).all(axis=tuple(range(weights.ndim - 2)))
    logs, raw = [], []
    for row, seen in enumerate(visible):
        if seen.sum() > 1:
            differences = np.log(weights[..., row, seen])
            logs.append((differences - differences[..., :1]).ravel())
            raw.append((scores[..., row, seen] - scores[..., row, seen][..., :1]).ravel())
    logs, raw = np.concatenate(logs), np.concatenate(raw)
    slope = (logs @ raw) / (raw @ raw)  # of the straight line through the origin
    if abs(slope) < 1e-6 or not np.allclose(slope * raw, logs, atol=1e-2 * np.abs(logs).max()):
        return None
    return 1 / slope


def moved(matrix):
    """A T x T matrix of influences as True and False, by size against its largest entry."""
    return matrix > 1e-7 * matrix.max()


# --- the mistakes -----------------------------------------------------------------------------------------------------
# The numbers are ranks: how often each is reported, most often first.


def wrong_divisor(weights, scores, right, others, names=None):
    """1 and 10: scores divided by the wrong number. right: case -> the divisor wanted. others: case -> {name: divisor}.

    Gives one mistake for each of the names, which stand in `ADVICE`: those that the exercise can meet, or all. The last
    one has no name: it says which number it was.
    """

    def symptom(name):
        def found(case):
            number, wanted = divisor(weights(case), scores(case)), right(case)
            known = {"no scale": 1.0, "multiplied by the scale": 1 / wanted} | others(case)
            if (
                name not in known
                or abs(number - wanted) < CLOSE * wanted
                or abs(number - known[name]) > 1e-2 * known[name]
            ):
                return None
            return f"Your weights come from scores divided by {number:.4f}; expected {wanted:.4f}. {ADVICE[name]}"

        return found

    def unknown(case):
        number, wanted = divisor(weights(case), scores(case)), right(case)
        if number is not None and abs(number - wanted) > 1e-2 * wanted:
            return f"Your weights come from scores divided by {number:.4f}; expected {wanted:.4f}."

    return *(Mistake(name, symptom(name)) for name in names or ADVICE), Mistake(None, unknown)


ADVICE = {
    "scaled by √d_out": (
        "That is √d_out, the width of the result; a score is a sum over the numbers of one key (head_dim of them in a"
        " head)."
    ),
    "scaled by d_k, not its root": "That is d_k itself; take its square root.",
    "scaled by √d_in": "That is √d_in, the width of the inputs; the scores are sums over d_k products.",
    "scaled by √T": "That is √T, the number of tokens; it is d_k that counts.",
    "no scale": "They were not scaled at all: divide by √d_k before softmax.",
    "multiplied by the scale": "They were multiplied by √d_k; divide.",
}


def mask_polarity(weights):
    """2: True and False exchanged in the mask."""

    def symptom(case):
        seen = np.nan_to_num(weights(case))  # the last token may see nothing then: nan
        if upper(seen).max() > CLOSE and np.abs(lower(seen)).max() < 1e-6:
            return (
                f"The first token looks at the future with {upper(seen)[..., 0].max():.4f}, and the past gets 0: your"
                " mask is the wrong way round. For masked_fill, True means hide; for scaled_dot_product_attention it"
                " means keep."
            )

    return Mistake("mask the wrong way round", symptom)


def softmax_over_queries(weights):
    """3: softmax along the wrong axis."""

    def symptom(case):
        seen = weights(case)
        several = seen.shape[-1] > 1  # a single column sums to 1 after a softmax over the whole table, too
        if several and sums_to_one(seen, axis=-2) and not sums_to_one(seen, axis=-1):
            return (
                f"Each *column* sums to 1, and your first row to {seen.sum(axis=-1).flat[0]:.4f}: softmax ran over the"
                " queries. Use the last axis, dim=-1."
            )

    return Mistake("softmax over the wrong axis", symptom)


def softmax_over_batch(weights):
    """3: softmax along an axis in front of queries and keys: the sequences of a batch, or the heads."""

    def symptom(case):
        seen = weights(case)
        for axis in range(seen.ndim - 2):
            if sums_to_one(seen, axis=axis) and not sums_to_one(seen, axis=-1):
                across = ("the batch", "the heads")[axis]
                return (
                    f"Your weights sum to 1 across {across} (axis {axis}), and your first row to"
                    f" {seen.sum(axis=-1).flat[0]:.4f}. Use the last axis, dim=-1."
                )

    return Mistake("softmax over the wrong axis", symptom)


def softmax_over_all(weights):
    """3: softmax over all weights of a table at once."""

    def symptom(case):
        seen = weights(case)
        rows = seen.sum(axis=-1)
        if np.allclose(rows.sum(axis=-1), 1, atol=CLOSE) and rows.shape[-1] > 1 and np.ptp(rows) > CLOSE:
            return (
                f"All weights of your table together sum to 1, and the first row to {rows.flat[0]:.4f}:"
                " softmax ran over everything. A row belongs to one query and needs a sum of its own: the last axis,"
                " dim=-1."
            )

    return Mistake("softmax over the wrong axis", symptom)


def no_softmax(weights, scores):
    """Scores used as weights: as they are, or divided by their sum. Each row is then a multiple of its scores."""

    def symptom(case):
        seen, raw = weights(case), scores(case)
        factors = (seen * raw).sum(axis=-1, keepdims=True) / (raw * raw).sum(axis=-1, keepdims=True)
        if seen.shape[-1] < 3 or not np.allclose(seen, factors * raw, atol=CLOSE * np.abs(seen).max()):
            return None
        if sums_to_one(seen, axis=-1):
            return (
                "Your weights are the scores, divided by the sum of their row; the smallest weight is"
                f" {seen.min():.4f}. Take the exponential before you divide: softmax."
            )
        return (
            f"Your weights are multiples of the scores: the first row sums to {seen.sum(axis=-1).flat[0]:.4f}. Softmax"
            " makes shares of them, which are positive and sum to 1."
        )

    return Mistake("no softmax", symptom)


def scaled_after_softmax(weights, scores):
    """Softmax's weights divided or multiplied by a number. Comes before `wrong_divisor`, which would also find them."""

    def symptom(case):
        seen = weights(case)
        sums = seen.sum(axis=-1)
        if np.ptp(sums) < CLOSE and abs(sums.flat[0] - 1) > CLOSE and divisor(seen, scores(case)) is not None:
            return (
                f"Each of your rows sums to {sums.flat[0]:.4f}: weights were scaled after softmax. Divide the *scores*"
                " by √d_k, and leave the weights as softmax makes them."
            )

    return Mistake("scaled after softmax", symptom)


def exponentials_not_divided(weights, scores):
    """Exponentials of scores used as weights. Comes after the softmax over wrong axes, which would also be found."""

    def symptom(case):
        seen = weights(case)
        sums = seen.sum(axis=-1)
        if sums.size > 1 and np.ptp(sums) > CLOSE and divisor(seen, scores(case)) is not None:
            return (
                f"Your first row sums to {sums.flat[0]:.4f} and another one to {sums.flat[-1]:.4f}, while the ratios"
                " inside a row are those of exponentials. Divide each row by its own sum."
            )

    return Mistake("exponentials not divided by their sum", symptom)


def exp_overflows(weights, scaled_scores):
    """Softmax by hand without subtracting the largest score: nan where scores are large."""

    def symptom(case):
        seen, largest = weights(case), scaled_scores(case).max()
        if largest > 88 and np.isnan(seen).any():  # exp of more than 88 is inf in 32 bits
            return (
                f"Scores go up to {largest:.0f} here, exp of that is inf, and inf/inf is nan. Subtract the largest"
                " score of each row first, or use `torch.softmax`, which does it for you."
            )

    return Mistake("exp overflows", symptom)


def weights_instead(case):
    """Softmax applied where scores were asked for."""
    seen = returned(case)
    if seen.shape[-1] > 2 and seen.min() >= 0 and sums_to_one(seen, axis=-1):
        return "Your numbers are positive and sum to 1: these are weights already. Return the scores, without softmax."


WEIGHTS_INSTEAD_OF_SCORES = Mistake("weights instead of scores", weights_instead)


def scores_scaled(case):
    """Scores divided by a number where the plain ones were asked for."""
    ratio = case.want / returned(case)
    if ratio.size > 2 and ratio.min() > 0 and np.ptp(ratio) < CLOSE and abs(ratio[0] - 1) > CLOSE:
        return (
            f"Your scores are the right ones, all divided by {ratio[0]:.4f}. A score is the dot product itself; nothing"
            " is divided here."
        )


SCORES_SCALED = Mistake("scaled, though nothing asks for it", scores_scaled)


def values_forgotten(others):
    """The weights returned, or other vectors mixed than the values. others: case -> {name: vectors (..., T, d)}."""

    def symptom(case):
        got, wanted = case.got, np.shape(case.want)
        if got.shape == (*wanted[:-1], wanted[-2]) != wanted and sums_to_one(got, axis=-1):
            return (
                f"Your result has shape {got.shape} and its rows sum to 1: these are the weights. Mix the values with"
                " them, `weights @ values`."
            )
        for name, vectors in others(case).items():
            if got.shape != vectors.shape or got.shape[-2] >= got.shape[-1]:
                continue
            mix = got @ np.linalg.pinv(vectors)  # (..., T, d) @ (..., d, T) -> (..., T, T)
            if np.allclose(mix @ vectors, got, atol=CLOSE) and (sums_to_one(mix, -1) or sums_to_one(mix, -2)):
                return (
                    f"Your result mixes the {name}: its first row takes {mix.flat[0]:.4f} of the first one. It is the"
                    " values that are mixed: `weights @ values`."
                )

    return Mistake("values forgotten", symptom)


def dropout_in_evaluation(case):
    """4: dropout still on after `eval()`; two calls with the same input differ."""
    values = case.reply.values
    if not case.call.training and len(values) > 1 and values[0].shape == values[1].shape:
        first, second = (value.double().numpy() for value in values[:2])
        differ = ~np.isclose(first, second, atol=1e-5, equal_nan=True)
        if differ.any():
            return (
                f"In evaluation mode, the same input gave {first[differ][0]:.4f} and then {second[differ][0]:.4f}:"
                " dropout is still on. It must be off after `eval()`, when self.training is False."
            )


DROPOUT_IN_EVALUATION = Mistake("dropout in evaluation", dropout_in_evaluation)


def heads_by_view(num_heads):
    """5: heads split by `view` alone; in a layer, tokens then mix in a pattern of their own. num_heads: of a case."""

    def symptom(case):
        seen = moved(case.reply.influence.double().numpy())
        T, heads = len(seen), num_heads(case)
        if heads == 1 or not any((seen == pattern).all() for pattern in mixed_by_view(T, heads)):
            return None
        output, source = np.argwhere(seen != np.tril(np.ones((T, T), dtype=bool)))[0]
        says = "depends on input" if seen[output, source] else "does not depend on input"
        return (
            f"Output {output} {says} {source}: your heads hold pieces of several tokens. After view(B, T, num_heads,"
            " head_dim), heads and tokens must change places: `transpose(1, 2)`."
        )

    return Mistake("heads split without transpose", symptom)


def mixed_by_view(T, num_heads):
    """What output depends on which input, (T, T), if heads are split by `view` alone: merged rightly, and merged so."""
    token = np.arange(T * num_heads).reshape(num_heads, T) // num_heads  # whose piece is in row r of head h
    reads = [[np.isin(np.arange(T), row[: r + 1]) for r in range(T)] for row in token]
    by_transpose = np.array(reads).any(axis=0)
    by_view = np.reshape(reads, (T, num_heads, T)).any(axis=1)
    return by_transpose, by_view


def heads_merged_without_transpose(size, context=returned):
    """6: the right numbers in the wrong places: one row holds pieces of several tokens. size: case -> head_dim."""

    def symptom(case):
        seen, width = context(case), size(case)
        pieces, right = (np.reshape(part, (-1, width)) for part in (seen, case.want))  # one piece per token and head
        where = [np.flatnonzero(np.isclose(right, piece, atol=1e-5).all(axis=-1)) for piece in pieces]
        if not all(len(found) == 1 for found in where):
            return None
        heads = seen.shape[-1] // width
        tokens = np.concatenate(where).reshape(-1, heads) // heads  # (rows, heads): whose piece stands here?
        mixed = np.flatnonzero(np.ptp(tokens, axis=-1))
        if len(mixed):
            row = tokens[mixed[0]] % seen.shape[-2]
            return (
                "The numbers are right and stand in the wrong places: one row holds pieces of tokens"
                f" {', '.join(map(str, row))}. Before view or reshape, bring the heads of a token together:"
                " `transpose(-3, -2)`."
            )

    return Mistake("heads merged without transpose", symptom)


def no_mask(weights):
    """20: the future is not masked at all; most often the result of `masked_fill` was thrown away."""

    def symptom(case):
        seen = weights(case)
        if sums_to_one(seen, axis=-1) and (seen > 1e-6).all():
            return (
                f"No weight is 0: the first token looks at the future with {upper(seen).flat[0]:.4f}. Was the result of"
                " masked_fill thrown away? It changes nothing itself: `scores = scores.masked_fill(...)`."
            )

    return Mistake("future not masked", symptom)


def diagonal_off_by_one(weights):
    """8: `triu` with the wrong diagonal: tokens do not see themselves, or see one token of the future."""

    def symptom(case):
        got = returned(case)
        if (
            got is not None
            and got.shape[-2] > 1
            and np.isnan(got[..., 0, :]).all()
            and np.isfinite(got[..., 1:, :]).all()
        ):
            return (
                "Row 0 is nan: the first token may see nothing, not even itself. The mask's diagonal is off by one: "
                "triu(..., diagonal=1)."
            )
        seen = weights(case)
        if seen.shape[-1] > 2:
            size = seen.shape[-1]
            beyond = seen[..., np.triu(np.ones((size, size), dtype=bool), k=2)]
            next_token = np.diagonal(seen, offset=1, axis1=-2, axis2=-1)
            if (
                np.abs(beyond).max() < 1e-6
                and next_token.min() > 1e-6
                and np.allclose(seen.sum(axis=-1), 1, atol=CLOSE)
            ):
                return (
                    f"Each token sees the next one: the first looks at token 1 with {next_token.flat[0]:.4f}. The"
                    " mask's diagonal is off by one: triu(..., diagonal=1)."
                )

    return Mistake("diagonal off by one", symptom)


def filled_with_a_number(weights, scaled_scores):
    """9: hidden scores replaced by 0, a tiny number or +inf, not by -inf. scaled_scores: those that enter softmax."""

    def symptom(case):
        got = returned(case)
        if (
            got is not None
            and got.shape[-2] > 1
            and np.isnan(got[..., :-1, :]).all()
            and np.isfinite(got[..., -1, :]).all()
        ):
            return "All rows but the last are nan: hidden scores were filled with +inf. Use -inf, with exp(-inf) = 0."
        seen, scores = weights(case), scaled_scores(case)
        if upper(seen).min() <= 1e-9 or not sums_to_one(seen, axis=-1):
            return None
        # w_hidden / w_visible = exp(fill - score): the same `fill` must come out for every hidden entry
        fills = np.log(seen) - np.log(np.diagonal(seen, axis1=-2, axis2=-1)[..., None])
        fills = fills + np.diagonal(scores, axis1=-2, axis2=-1)[..., None]
        fills = upper(fills)
        if fills.size > 1 and np.ptp(fills) < 1e-2 * max(1, np.abs(fills).max()):
            return (
                f"The future still gets weights, {upper(seen).flat[0]:.4f} for one: hidden scores were filled with"
                f" about {round(fills.mean(), 4) + 0:.4g}. exp of that is not 0; use -inf."
            )

    return Mistake("hidden scores filled with a number", symptom)


def heads_in_a_list(case):
    """11: heads in a Python list, which PyTorch does not look into."""
    if case.reply.unplaced and case.reply.listed:
        count, name = len(case.reply.parameters), case.reply.listed[0]
        return (
            f"PyTorch finds {count} parameters in your layer, and none of those in `self.{name}`: it does not look into"
            " a Python list, so they would never be trained. Use `nn.ModuleList([...])`."
        )


HEADS_IN_A_LIST = Mistake("heads in a Python list", heads_in_a_list)


# The next ones take `dropping`: case -> (numbers before dropout, after it, the rate p); None without dropout.


def kept_share(before, after):
    """The share of numbers (those that were not 0) that dropout has left."""
    return (np.abs(after[before != 0]) > ROUNDING).mean()


def rows_rescaled(dropping):
    """12: dropout on the scores, before softmax, or rows forced to their old sum: they sum to what they summed to."""

    def symptom(case):
        before, after, p = dropping(case)
        if p > 0 and np.isnan(after).any():  # with p = 0 nothing is dropped: a nan is 0/0 then
            return (
                "With dropout, rows become nan, and without it none is. That is 0 times -inf: scores were dropped after"
                " they were masked. Dropout belongs after softmax, on the weights."
            )
        sums, vanished = after.sum(axis=-1), (np.abs(after) < ROUNDING).all(axis=-1)
        lost = 1 - kept_share(before, after)  # about p if weights were dropped, hardly any if scores were
        if p == 0 or lost > 0.05 and abs(lost - p) > margin(before, p):
            return None
        if np.allclose(sums[~vanished], before.sum(axis=-1)[~vanished], atol=CLOSE) and not vanished.all():
            return (
                f"With dropout, your rows still have their old sums, {sums[~vanished][0]:.4f} in the first. Dropout"
                " comes last, after softmax, and the rows are left as they are: no softmax and no division afterwards."
            )

    return Mistake("dropout on scores, or rows rescaled", symptom)


def dropout_factor(dropping):
    """13: what dropout keeps is scaled by the wrong factor."""

    def symptom(case):
        before, after, p = dropping(case)
        kept = (np.abs(after) > CLOSE) & (before != 0)
        factors = after[kept] / before[kept]
        factor, wanted = np.median(factors), 1 / (1 - p)
        if np.ptp(factors) < 1e-2 * factor and abs(factor - wanted) > 1e-2:
            names = {"nothing was scaled": 1.0, "that is 1 - p": 1 - p} | ({"that is 1 / p": 1 / p} if p else {})
            near = [f" ({words})" for words, number in names.items() if abs(factor - number) < 1e-2]
            return (
                f"What you keep is multiplied by {factor:.4f}{''.join(near[:1])}; expected {wanted:.4f} = 1 / (1 - p),"
                " so that the average stays the same."
            )

    return Mistake("wrong dropout factor", symptom)


def nothing_dropped(dropping):
    """No dropout where there should be some."""

    def symptom(case):
        before, after, p = dropping(case)
        there = before != 0
        factor = np.median(after[there] / before[there])
        if p > 0 and factor > CLOSE and np.allclose(after[there], factor * before[there], atol=CLOSE):
            return (
                f"With p = {p}, none of {(before != 0).sum()} numbers became 0. Is the result of dropout thrown away,"
                " or is it off in training?"
            )

    return Mistake("nothing dropped", symptom)


def kept_and_dropped_exchanged(dropping):
    """The share p kept instead of dropped."""

    def symptom(case):
        before, after, p = dropping(case)
        share = kept_share(before, after)
        if abs(share - p) < margin(before, p) < abs(p - (1 - p)) / 2:
            return (
                f"You keep {share:.1%} of the numbers; p = {p} is the share to *drop*. Keep where the draw is < 1 - p."
            )

    return Mistake("kept and dropped exchanged", symptom)


def dropped_together(before, after):
    """The axis along which numbers are kept or dropped as a whole; None where each goes its own way."""
    there, gone = before != 0, np.abs(after) < ROUNDING
    for axis in range(gone.ndim):
        all_gone, some_gone = (gone | ~there).all(axis=axis), (gone & there).any(axis=axis)
        if gone.shape[axis] > 1 and there.sum() > 20 and some_gone.any() and (all_gone | ~some_gone).all():
            return axis
    return None


def shared_coins(dropping):
    """Whole rows dropped, or the same places in every sequence."""

    def symptom(case):
        before, after, p = dropping(case)
        axis = dropped_together(before, after)
        if axis is not None:
            return (
                f"Numbers that differ only in axis {axis} (counted from 0) are always kept or dropped together. Each"
                f" number needs a coin of its own: {before.size} of them for this shape, {before.shape}."
            )

    return Mistake("one coin for several numbers", symptom)


def margin(before, p):
    """How far the share of what dropout drops may lie from p by chance: five standard deviations."""
    return 5 * np.sqrt(p * (1 - p) / (before != 0).sum())


def dropped_rightly(dropping, shape):
    """A property: every number is either 0 or what it was, times 1 / (1 - p), and about the share p is 0.

    shape: case -> that of the result.
    """

    def sentence(case):
        if case.want is not None:
            return None
        if case.got is None or case.got.shape != shape(case):
            return (
                f"With dropout, a tensor of shape {shape(case)} is expected; you have {np.shape(case.got) or 'none'}."
            )
        found = dropping(case)
        if found is None:
            return (
                "With dropout, your context vectors are no sums of values, each times its weight. Drop weights, and"
                " nothing before or after them."
            )
        before, after, p = found
        wanted = before / (1 - p)
        wrong = ~(np.isclose(after, wanted, atol=CLOSE) | (np.abs(after) < ROUNDING))
        if wrong.any():
            place = tuple(int(k) for k in np.argwhere(wrong)[0])
            return (
                f"With p = {p}, place {list(place)} holds {after[place]:.4f}: expected 0 or {wanted[place]:.4f}, which"
                " is what it was, divided by 1 - p."
            )
        share = 1 - kept_share(before, after)
        if abs(share - p) > margin(before, p):
            return f"You drop {share:.1%} of {(before != 0).sum()} numbers; expected about {p:.0%}."
        if dropped_together(before, after) is not None:
            return "Numbers are dropped together that should each have a coin of their own."

    return sentence


def mask_not_cut(case):
    """14: a mask of context_length used for fewer tokens."""
    error = case.error
    if "must match the size of tensor" in error or "is not broadcastable" in error or "expanded size" in error:
        tokens, longest = case.arguments[0].shape[-2], case.call.arguments[2]
        if tokens < longest and str(tokens) in error and str(longest) in error:
            return (
                f"The input has {tokens} tokens, and your mask is for {longest}: cut it to the tokens that are there, "
                "mask[:T, :T]."
            )


MASK_NOT_CUT = Mistake("mask not cut to the tokens", mask_not_cut)


def turned(case):
    """Whether the answer is the right matrix with rows and columns exchanged."""
    wanted = np.asarray(case.want).T
    return case.got is not None and case.got.shape == wanted.shape and np.allclose(case.got, wanted, atol=CLOSE)


def weight_not_transposed(case):
    """15: a matrix of `nn.Linear`, stored (d_out, d_in), copied as it is."""
    if turned(case):
        return (
            f"Your matrix has shape {case.got.shape}, with the right numbers in rows instead of columns: nn.Linear"
            " stores its weight as (d_out, d_in). Transpose it."
        )


WEIGHT_NOT_TRANSPOSED = Mistake("weight not transposed", weight_not_transposed)


def view_after_transpose(case):
    """16: `.view` on a tensor whose numbers do not lie in order."""
    if "view size is not compatible" in case.error:
        return (
            f"{error_place(case)}`view` needs the numbers in order in memory, and after transpose they are not. Put"
            " `.contiguous()` between the two, or use reshape."
        )


VIEW_AFTER_TRANSPOSE = Mistake("view after transpose", view_after_transpose)


def error_place(case):
    """ "Line 3, `...`: ", where the reply says so."""
    error = case.reply.error
    return f"Line {error.line}, `{error.code}`: " if error.line else ""


def not_renormalised(weights):
    """17: masked after softmax, and the rows not divided by their new sums."""

    def symptom(case):
        seen = weights(case)
        sums = seen.sum(axis=-1)
        nothing_hidden = np.allclose(sums[..., -1], 1, atol=CLOSE)  # in the last row
        if np.abs(upper(seen)).max() < 1e-6 and nothing_hidden and sums.min() < 1 - CLOSE and seen.min() >= 0:
            return (
                f"The future gets 0, but one of your rows sums to {sums.min():.4f}: softmax had counted the hidden"
                " scores. Mask before softmax, or divide each row by its sum."
            )

    return Mistake("masked after softmax, rows not renormalised", symptom)


def query_and_key_swapped(weights, scores):
    """18: keys ask, and queries are asked: the scores are transposed."""

    def symptom(case):
        seen, raw = weights(case), scores(case)
        if divisor(seen, raw) is None and divisor(seen, np.swapaxes(raw, -2, -1)) is not None:
            return (
                "Your row i holds what belongs in column i: the keys ask, and the queries are asked. The queries come"
                " first: `queries @ keys.T`, or with a batch `queries @ keys.transpose(-2, -1)`."
            )

    return Mistake("query and key swapped", symptom)


def table_transposed(case):
    """18: the right weights with rows and columns exchanged, softmax included."""
    if turned(case):
        return (
            f"Your table, shape {case.got.shape}, is the right one with rows and columns exchanged: a row belongs to a"
            " query, a column to a key. `queries @ keys.T`, then softmax along the last axis, dim=-1."
        )


TABLE_TRANSPOSED = Mistake("query and key swapped", table_transposed)


def mask_is_no_buffer(case):
    """19: a mask kept as a plain attribute, which does not move with the layer. A property: the numbers are right."""
    if case.reply.loose:
        name = case.reply.loose[0]
        return (
            f"`self.{name}` is a plain tensor: `.to(device)` leaves it behind, and on a GPU the layer fails. "
            f"Use self.register_buffer({name!r}, ...)."
        )


MASK_NO_BUFFER = Mistake("mask not a buffer", mask_is_no_buffer)


def overwritten(case):
    """20: softmax's result changed in place, which gradients need."""
    gradient = case.reply.gradient
    if gradient and "modified by an inplace operation" in gradient.message:
        return (
            "Backward stops: a tensor that gradients need was changed in place. Use masked_fill instead of"
            " masked_fill_, x = x * mask instead of x *= mask, x = x / s instead of x /= s."
        )


CHANGED_IN_PLACE = Mistake("changed in place", overwritten)


def heads_averaged(case):
    """21: the heads' outputs averaged or added instead of laid side by side."""
    if case.got is not None and case.got.shape[:-1] == np.shape(case.want)[:-1]:
        width, wanted = case.got.shape[-1], np.shape(case.want)[-1]
        if width < wanted and wanted % width == 0:
            return (
                f"Each token has {width} numbers; expected {wanted}: the heads were added or averaged. Lay their"
                " outputs side by side: torch.cat(..., dim=-1)."
            )


HEADS_AVERAGED = Mistake("heads averaged, not concatenated", heads_averaged)
