"""Every number that a live figure prints in its picture for a state of its controls, as torch computes it.

Each takes what the figure was given, and the state: {name of a control: its value}.
"""

import torch

from course_utils.randomness import keep_mask

FUTURE = torch.ones(64, 64).triu(diagonal=1).bool()


def printed(values, digits=2):
    """Numbers as they are printed."""
    return [f"{value:.{digits}f}" for value in torch.as_tensor(values, dtype=torch.float64).flatten().tolist()]


def future(T):
    """What a causal mask hides, (T, T)."""
    return FUTURE[:T, :T]


def with_sums(*maps):
    """The weights that are not hidden, and the sum of each row; a digit more if printed weights would not add up to it.

    maps: (weights, what is hidden, what is in no sum) of each map.
    """
    counted = [weights.masked_fill(left_out[-1], 0) for weights, *left_out in maps]
    rows = torch.cat([each.flatten(end_dim=-2) for each in counted])
    adds = all(printed(row.sum()) == printed(sum(map(float, printed(row)))) for row in rows)
    return [
        text
        for (weights, hidden, *_), each in zip(maps, counted)
        for text in printed(weights[~hidden], 2 if adds else 3) + printed(each.sum(dim=-1))
    ]


def query_steps(x, tokens, *, query, step):
    x = x.double()
    scores = x @ x[query]
    weights = torch.softmax(scores, dim=0)
    context, length = weights @ x, x[query].norm()
    told = printed(x) + printed(scores) + printed(weights)  # these under the arcs
    if step == 2:
        mixed = printed(torch.cat([weights[:, None] * x, context[None]]), 3)
        return told + printed(weights) + ["1.00"] + mixed
    best = scores.argmax()
    told += printed([scores[best] / length, length, scores[best]])
    return told + (printed(weights) + ["1.00"] if step else [])


def scaling(q, keys, tokens, *, d_k, temperature):
    scores, root = keys[:, :d_k].double() @ q[:d_k].double(), d_k**0.5
    told = printed(scores) + printed([root])
    for divided in (scores, scores / root):
        weights = torch.softmax(divided / temperature, dim=0)
        told += printed([*weights, weights.max()])
    return told


def rotary(query, key, frequencies, *, m, n, shift):
    def complex_pairs(vector):  # a turn is a product with a number of length 1
        first, second = vector.double().chunk(2)
        return torch.complex(first, second)

    turned = torch.polar(torch.ones(len(frequencies), dtype=torch.float64), (m - n) * frequencies.double())
    products = (complex_pairs(query) * turned * complex_pairs(key).conj()).real
    return printed(frequencies, 3) + 2 * printed([*products, products.sum()])  # both farther on: the same


def causal_weights(layer, x, mask, when, renormalised):
    """Weights (T, T) of a sequence (T, d_in): masked or not, before (0) or after (1) softmax, renormalised or not."""
    queries, keys = layer.W_query(x), layer.W_key(x)
    hidden = future(len(x)) & mask
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    weights = torch.softmax(scores.masked_fill(hidden, -torch.inf) if when == 0 else scores, dim=-1)
    weights = weights.masked_fill(hidden, 0)
    return weights / weights.sum(dim=-1, keepdim=True) if renormalised else weights


def masking(layer, x, tokens, *, mask, when, renormalised):
    return with_sums((causal_weights(layer, x, mask, when, renormalised).detach(), future(len(x)) & mask))


def dropout(weights, tokens, masked=None, *, rate, seed):
    kept = keep_mask(weights.shape, rate, seed).bool()
    hidden = torch.zeros_like(weights).bool() if masked is None else masked
    weights, factor = weights.double(), 1 / (1 - rate)
    return printed([factor]) + with_sums((weights, hidden), (weights * kept * factor, hidden | ~kept))


def attention(weights, tokens, *, query, head=-1):
    weights = weights.double().view(-1, *weights.shape[-2:])
    chosen = weights if head < 0 else weights[head : head + 1]
    beside_arcs = printed(chosen[0, query]) if len(chosen) == 1 and len(weights) <= 4 else []  # -1: the last word asks
    return with_sums((chosen, torch.zeros_like(chosen).bool())) + beside_arcs


def padding(scores, tokens, key_tokens, *, length, mask):
    absent = torch.arange(len(key_tokens)) >= length
    maps = []
    for fill, hides in [(0, False), ([-torch.inf, -1e9, -torch.inf][mask], True)]:
        weights = torch.softmax(scores.double().masked_fill(absent, fill), dim=-1)
        weights = weights.masked_fill(absent, 0) if hides and mask == 2 else weights
        maps.append((weights, hides & absent & (weights == 0), absent.expand_as(weights)))
    return with_sums(*maps)


def shape_walk(x, num_heads, tokens, *, step, token, number, head):
    x, T = x.double(), len(x)
    owner = torch.arange(x.shape[1]).div(x.shape[1] // num_heads, rounding_mode="floor").expand(T, -1)
    told = []
    for right in (True, False):
        split = [
            part.reshape(T, num_heads, -1).transpose(0, 1) if right else part.reshape(num_heads, T, -1)
            for part in (x, owner)
        ]
        heads, owners = split
        scores = (heads @ heads.transpose(1, 2) / heads.shape[-1] ** 0.5).masked_fill(future(T), -torch.inf)
        mixed = torch.softmax(scores, dim=-1) @ heads
        stages = [(x, owner), split, split, (scores, owners[:, :, :1].expand(-1, -1, T)), (mixed, owners)]
        values, whose = stages[step]
        shown = values.isfinite() & ((whose == head) | (head < 0))
        told.append((values[shown], 1 if step == 3 else 2))
    return [text for values, digits in told for text in printed(values, digits)]


def all_heads(weights, tokens, *, layer, head, query):
    return printed(weights[layer, head])


def preferences(sentences, asks, *, sentence, layer, head):
    weights, tokens, *_ = list(sentences.values())[sentence]
    return printed([*weights[layer, head, tokens.index(asks)], 0.19])  # the last: what the legend says


def tiles(scores, values, tokens, size, *, tile, length, forgotten):
    scores, values, T = scores.double().masked_fill(future(len(scores)), -torch.inf), values.double(), len(scores)
    places = [(top, start) for top in range(0, T, length) for start in range(0, top + 1, length)]
    top, start = places[min(tile, len(places)) - 1]
    told = []
    for row in range(min(top + length, T)):
        largest, total, mixed = torch.tensor(-torch.inf).double(), 0.0, 0.0
        for first in range(0, (start if row >= top else row) + 1, length):
            some = slice(first, first + length)
            larger = torch.maximum(largest, scores[row, some].max())
            shrink = 1.0 if forgotten and first else torch.exp(largest - larger)
            shares, before = torch.exp(scores[row, some] - larger), [largest, total]
            total, mixed, largest = shrink * total + shares.sum(), shrink * mixed + shares @ values[some], larger
        now = scores[row, start : start + length]
        told += [*now[now.isfinite()], *(before if start else []), largest, total] if row >= top else []
        told += [*(mixed / total)]
    if start:  # the sums of the last row, once more as a sentence
        told += [*([1.0] if forgotten else [*before[:1], largest]), before[1], shares.sum(), total]
        return [*printed(told), *[f"{shrink:.3f}"] * (1 if forgotten else 2)]
    return printed(told)
