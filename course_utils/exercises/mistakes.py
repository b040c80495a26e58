"""The mistakes that learners make, each recognised by its symptoms in the learner's own numbers.

A mistake here is a function that gives a `Mistake` for one exercise. Many take `weights`, a function that finds the
attention weights in a case: `returned` where the answer returns them, `recovered(...)` where they have to be worked out
from context vectors. `scores` finds the unscaled scores in a case. Both give arrays (..., T, T) of float64, or None.

A symptom gets a `Case` (see `checking.judging`) and gives the sentence that the learner reads, or None. Where it cannot
be measured it may raise what indexing and arithmetic raise.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

CLOSE = 1e-3  # how exactly a recovered number must fit: wrong answers miss it by far


@dataclass(frozen=True)
class Mistake:
    """A mistake's name, as reports count it, and its symptom: Case -> the sentence for the learner, or None."""

    name: str
    symptom: Callable


# --- finding the weights in a case ------------------------------------------------------------------------------------


def returned(case):
    """The weights, where the answer returns them: the value itself, if its shape is right."""
    return case.got if case.got is not None and case.got.shape == np.shape(case.want) else None


def recovered(values):
    """The weights behind context vectors = weights @ values, for a case whose tokens number at most a value's width.

    values: case -> the value vectors (..., T, d), with T <= d so that each context vector has one explanation only.
    """

    def weights(case):
        context, known = returned(case), values(case)
        if context is None or known.shape[-2] > known.shape[-1] or not np.isfinite(context).all():
            return None
        found = context @ np.linalg.pinv(known)  # (..., T, d) @ (..., d, T) -> (..., T, T)
        return found if np.allclose(found @ known, context, atol=CLOSE) else None

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


def wrong_divisor(weights, scores, right, others):
    """1 and 10: scores divided by the wrong number. right: case -> the divisor wanted. others: case -> {name: divisor}.

    Gives one mistake per name; "no scale" and "scale multiplied" are always among them.
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

    return tuple(Mistake(name, symptom(name)) for name in ADVICE)


ADVICE = {
    "scaled by √d_out": (
        "That is √d_out, the width of all heads together; each head's scores are sums over head_dim products."
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
        seen = weights(case)
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
        if sums_to_one(seen, axis=-2) and not sums_to_one(seen, axis=-1):
            return (
                f"Each *column* sums to 1, and your first row to {seen.sum(axis=-1).flat[0]:.4f}: softmax ran over the"
                " queries. Use the last axis, dim=-1."
            )

    return Mistake("softmax over the wrong axis", symptom)


def softmax_over_batch(weights):
    """3: softmax along the first axis of several."""

    def symptom(case):
        seen = weights(case)
        if seen.ndim > 2 and sums_to_one(seen, axis=0) and not sums_to_one(seen, axis=-1):
            return (
                "Your weights sum to 1 across the batch (axis 0), and your first row to"
                f" {seen.sum(axis=-1).flat[0]:.4f}. Use the last axis, dim=-1."
            )

    return Mistake("softmax over the wrong axis", symptom)


def dropout_in_evaluation(case):
    """4: dropout still on after `eval()`; two calls with the same input differ."""
    values = case.reply["values"]
    if not case.call.training and len(values) > 1 and values[0].shape == values[1].shape:
        first, second = (value.double().numpy() for value in values[:2])
        if not np.allclose(first, second, atol=1e-6):
            return (
                f"In evaluation mode, the same input gave {first.flat[0]:.4f} and then {second.flat[0]:.4f}: dropout is"
                " still on. Use nn.Dropout as a layer of the module, which `eval()` switches off."
            )


DROPOUT_IN_EVALUATION = Mistake("dropout in evaluation", dropout_in_evaluation)


def future_through_view(case):
    """5: heads split by `view` alone; in a layer, tokens then mix in a pattern that is not the causal one."""
    influence = case.reply["influence"].double().numpy()
    allowed = np.tril(np.ones(influence.shape, dtype=bool))
    leaks = np.argwhere(moved(influence) & ~allowed)
    gaps = np.argwhere(~moved(influence) & allowed)
    if len(leaks) and len(gaps):
        (token, source), (deaf, missing) = leaks[0], gaps[0]
        return (
            f"Output {token} depends on input {source}, and output {deaf} does not on input {missing}: your heads hold"
            " pieces of several tokens. After view(B, T, num_heads, head_dim), transpose(1, 2)."
        )


HEADS_BY_VIEW_IN_LAYER = Mistake("heads split without transpose", future_through_view)


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


def leaks_in_layer(case):
    """20, in a layer whose weights cannot be seen: every output depends on every input."""
    influence = case.reply["influence"].double().numpy()
    if moved(influence).all():
        return (
            "Output 0 depends on every input, those of the future too. Is there a mask, and was the result of"
            " masked_fill kept? It changes nothing itself: `scores = scores.masked_fill(...)`."
        )


NO_MASK_IN_LAYER = Mistake("future not masked", leaks_in_layer)


def empty_row(case):
    """7: a row without any visible key became nan."""
    if case.got is not None and case.got.shape == np.shape(case.want):
        lost = np.isnan(case.got).all(axis=-1) & np.isfinite(case.want).all(axis=-1)
        if lost.any() and not lost.all():
            place = [int(k) for k in np.argwhere(lost)[0]]
            return (
                f"Row {place} is nan: all of its keys are hidden, and softmax of nothing but -inf is 0/0. Leave every"
                " row at least one key."
            )


FULLY_MASKED_ROW = Mistake("a row with everything hidden", empty_row)


def diagonal_off_by_one(weights):
    """8: `triu` with the wrong diagonal: tokens do not see themselves, or see one token of the future."""

    def symptom(case):
        got = returned(case)
        if got is not None and got.shape[-2] > 1 and np.isnan(got[..., 0, :]).all() and np.isfinite(got[..., 1:, :]).all():
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
    """9: hidden scores replaced by 0, a tiny number or +inf instead of -inf. scaled_scores: those that enter softmax."""

    def symptom(case):
        got = returned(case)
        if got is not None and got.shape[-2] > 1 and np.isnan(got[..., :-1, :]).all() and np.isfinite(got[..., -1, :]).all():
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
                f" {round(fills.mean(), 4) + 0:.4g}. exp of that is not 0; use -inf."
            )

    return Mistake("hidden scores filled with a number", symptom)


def heads_in_a_list(case):
    """11: heads in a Python list, which PyTorch does not look into."""
    names = case.reply["parameters"]
    if case.reply["unplaced"] and not any(name.startswith("heads.") for name in names):
        return (
            f"Your layer has {len(names)} parameters: PyTorch does not find those of the heads. It does not look into a"
            " Python list; use nn.ModuleList."
        )


HEADS_IN_A_LIST = Mistake("heads in a Python list", heads_in_a_list)


def dropped_scores(weights, p):
    """12: dropout applied to the scores, before softmax: rows still sum to 1 in training. p: case -> the dropout rate."""

    def symptom(case):
        seen = weights(case)
        if case.call.training and p(case) > 0 and sums_to_one(seen, axis=-1):
            return (
                "In training, every row of your weights still sums to 1. Dropout belongs after softmax, on the weights,"
                " and the rows are left as they are: no second softmax, no new division."
            )

    return Mistake("dropout on scores, or rows rescaled", symptom)


def dropout_factor(p):
    """13: what dropout keeps is scaled by the wrong factor. p: case -> the dropout rate."""

    def symptom(case):
        x, rate = np.asarray(case.arguments[0], dtype=float), p(case)
        kept = case.got != 0
        factors = case.got[kept] / x[kept]
        factor, wanted = factors.mean(), 1 / (1 - rate)
        if np.ptp(factors) < CLOSE and abs(factor - wanted) > CLOSE:
            names = {
                1.0: "nothing was scaled",
                1 / rate: "that is 1/p",
                1 - rate: "that is 1 - p, a product instead of a quotient",
            }
            (near,) = [words for number, words in names.items() if abs(factor - number) < CLOSE] or [
                "a factor of its own"
            ]
            return f"What you keep is multiplied by {factor:.4f} ({near}); expected {wanted:.4f} = 1 / (1 - p)."

    return Mistake("wrong dropout factor", symptom)


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


def weight_not_transposed(case):
    """15: a matrix of `nn.Linear`, stored (d_out, d_in), copied as it is."""
    flipped = np.asarray(case.want).T
    if case.got is not None and case.got.shape == flipped.shape and np.allclose(case.got, flipped, atol=CLOSE):
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
    error = case.reply["error"]
    return f"Line {error['line']}, `{error['code']}`: " if error["line"] else ""


def not_renormalised(weights):
    """17: masked after softmax, and the rows not divided by their new sums."""

    def symptom(case):
        seen = weights(case)
        sums = seen.sum(axis=-1)
        if np.abs(upper(seen)).max() < 1e-6 and sums.min() < 1 - CLOSE and sums.max() < 1 + CLOSE and seen.min() >= 0:
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
                "Your row i holds what belongs in column i: the keys ask, and the queries are asked. It is "
                "queries @ keys.transpose(-2, -1), in this order."
            )

    return Mistake("query and key swapped", symptom)


def mask_is_no_buffer(case):
    """19: a mask kept as a plain attribute, which does not move with the layer. A property: the numbers are right."""
    if case.reply.get("loose"):
        name = case.reply["loose"][0]
        return (
            f"`self.{name}` is a plain tensor: `.to(device)` leaves it behind, and on a GPU the layer fails. "
            f"Use self.register_buffer({name!r}, ...)."
        )


MASK_NO_BUFFER = Mistake("mask not a buffer", mask_is_no_buffer)


def overwritten(case):
    """20: softmax's result changed in place, which gradients need."""
    gradient = case.reply.get("gradient")
    if gradient and "modified by an inplace operation" in gradient["message"]:
        return (
            "Backward stops: a tensor that gradients need was changed in place. Use masked_fill instead of masked_fill_"
            " (and x = x * mask instead of x *= mask)."
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
