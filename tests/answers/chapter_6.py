"""Answers to the exercises of chapter 6."""

import torch
import torch.nn.functional as F

from tests.answers import right, unnamed, written, wrong

# --- 6.1 padding ------------------------------------------------------------------------------------------------------


@right("6.1")
def my_padding_mask(lengths, num_tokens):
    mask = torch.ones(len(lengths), 1, num_tokens, dtype=torch.bool)
    for b, length in enumerate(lengths):
        mask[b, 0, :length] = False
    return mask


@right("6.1")
def my_padding_mask(lengths, num_tokens):
    return ~(torch.arange(num_tokens).view(1, 1, -1) < lengths.view(-1, 1, 1))


@right("6.1")
def my_padding_mask(lengths, num_tokens):
    rows = [[s >= length for s in range(num_tokens)] for length in lengths.tolist()]
    return torch.tensor(rows).unsqueeze(1)


@wrong("6.1", "mask the wrong way round")
def my_padding_mask(lengths, num_tokens):
    return (torch.arange(num_tokens) < lengths[:, None])[:, None, :]


@wrong("6.1", "mask the wrong way round")
def my_padding_mask(lengths, num_tokens):
    mask = torch.zeros(len(lengths), 1, num_tokens, dtype=torch.bool)
    for b, length in enumerate(lengths):
        mask[b, :, :length] = True
    return mask


@wrong("6.1", "padding begins at the wrong place")
def my_padding_mask(lengths, num_tokens):
    return (torch.arange(num_tokens) > lengths[:, None])[:, None, :]


@wrong("6.1", "padding begins at the wrong place")
def my_padding_mask(lengths, num_tokens):
    return (torch.arange(1, num_tokens + 1) >= lengths[:, None]).unsqueeze(1)


@wrong("6.1", "padding hides queries instead of keys")
def my_padding_mask(lengths, num_tokens):
    return (torch.arange(num_tokens) >= lengths[:, None])[:, :, None]


@wrong("6.1", "padding hides queries instead of keys")
def my_padding_mask(lengths, num_tokens):
    return torch.arange(num_tokens).view(1, -1, 1) >= lengths.view(-1, 1, 1)


@wrong("6.1", "no dimension for the queries")
def my_padding_mask(lengths, num_tokens):
    return torch.arange(num_tokens) >= lengths[:, None]


@wrong("6.1", "no dimension for the queries")
def my_padding_mask(lengths, num_tokens):
    return torch.stack([torch.arange(num_tokens) >= length for length in lengths])


@wrong("6.1", "mask the wrong way round", "padding hides queries instead of keys")
def my_padding_mask(lengths, num_tokens):
    return (torch.arange(num_tokens) < lengths[:, None]).unsqueeze(-1)


@unnamed("6.1")
def my_padding_mask(lengths, num_tokens):
    return (torch.arange(num_tokens) >= lengths[:, None])[:, None, :].float()


@unnamed("6.1")
def my_padding_mask(lengths, num_tokens):
    return (torch.arange(num_tokens) == lengths[:, None])[:, None, :]


# --- 6.2 a mask for the other camp ------------------------------------------------------------------------------------


@right("6.2")
def my_keep_mask(attention_mask):
    S = attention_mask.shape[1]
    future = torch.ones(S, S).triu(diagonal=1).bool()
    return ~(future | (attention_mask == 0)[:, None, None])


@right("6.2")
def my_keep_mask(attention_mask):
    positions = torch.arange(attention_mask.shape[1])
    past = positions <= positions[:, None]
    return (attention_mask.bool()[:, None, :] & past).unsqueeze(1)


@right("6.2")
def my_keep_mask(attention_mask):
    B, S = attention_mask.shape
    keep = torch.zeros(B, 1, S, S, dtype=torch.bool)
    for t in range(S):
        keep[:, 0, t, : t + 1] = attention_mask[:, : t + 1].bool()
    return keep


@wrong("6.2", "mask the wrong way round")
def my_keep_mask(attention_mask):
    S = attention_mask.shape[1]
    return torch.ones(S, S).triu(1).bool() | (attention_mask == 0)[:, None, None, :]


@wrong("6.2", "mask the wrong way round")
def my_keep_mask(attention_mask):
    S = attention_mask.shape[1]
    past = torch.tril(torch.ones(S, S)).bool()
    return (past & attention_mask.bool()[:, None, None, :]) == False  # noqa: E712


@wrong("6.2", "no dimension for the heads")
def my_keep_mask(attention_mask):
    S = attention_mask.shape[1]
    return torch.ones(S, S).tril().bool() & attention_mask.bool()[:, None, :]


@wrong("6.2", "no dimension for the heads")
def my_keep_mask(attention_mask):
    S = attention_mask.shape[1]
    return torch.stack([torch.tril(one.expand(S, S)) == 1 for one in attention_mask])


@wrong("6.2", "future not masked")
def my_keep_mask(attention_mask):
    B, S = attention_mask.shape
    return attention_mask.bool()[:, None, None, :].expand(B, 1, S, S)


@wrong("6.2", "future not masked")
def my_keep_mask(attention_mask):
    S = attention_mask.shape[1]
    return (attention_mask[:, None, None, :] == 1) & torch.ones(S, S).bool()


@wrong("6.2", "padding not hidden")
def my_keep_mask(attention_mask):
    B, S = attention_mask.shape
    return torch.ones(S, S).tril().bool().expand(B, 1, S, S)


@wrong("6.2", "padding not hidden")
def my_keep_mask(attention_mask):
    past = torch.ones(attention_mask.shape[1], attention_mask.shape[1]).triu(1) == 0
    return past | (attention_mask == 2)[:, None, None, :]


@wrong("6.2", "mask the wrong way round", "no dimension for the heads")
def my_keep_mask(attention_mask):
    S = attention_mask.shape[1]
    return torch.ones(S, S).triu(1).bool() | (attention_mask == 0)[:, None, :]


@unnamed("6.2")
def my_keep_mask(attention_mask):
    S = attention_mask.shape[1]
    return torch.ones(S, S).tril().bool() & attention_mask.bool()[:, None, :, None]  # hides queries, not keys


@unnamed("6.2")
def my_keep_mask(attention_mask):
    real = attention_mask.bool()
    S = attention_mask.shape[1]
    return torch.ones(S, S).tril().bool() & real[:, None, None, :] & real[:, None, :, None]  # hides queries, too


@wrong("6.2", "or instead of and")
def my_keep_mask(attention_mask):
    S = attention_mask.shape[1]
    return torch.ones(S, S).tril().bool() | attention_mask.bool()[:, None, None, :]


@wrong("6.2", "or instead of and")
def my_keep_mask(attention_mask):
    places = torch.arange(attention_mask.shape[1])
    return torch.logical_or(places <= places[:, None], (attention_mask == 1)[:, None, None])


@wrong("6.2", "diagonal off by one")
def my_keep_mask(attention_mask):
    S = attention_mask.shape[1]
    return torch.ones(S, S).tril(diagonal=-1).bool() & (attention_mask == 1)[:, None, None, :]


@wrong("6.2", "diagonal off by one")
def my_keep_mask(attention_mask):
    places = torch.arange(attention_mask.shape[1])
    return (places < places[:, None]) & attention_mask.bool()[:, None, None]


# --- 6.3 one step with a cache ----------------------------------------------------------------------------------------


@right("6.3")
def my_step(query, key, value, keys, values):
    keys, values = torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)
    return F.scaled_dot_product_attention(query, keys, values), keys, values


@right("6.3")
def my_step(query, key, value, keys, values):
    B, num_heads, T, head_dim = keys.shape
    keys, values = (torch.cat(pair, dim=-2) for pair in [(keys, key), (values, value)])
    scores = torch.einsum("bhqd,bhkd->bhqk", query, keys) / head_dim**0.5
    return [torch.einsum("bhqk,bhkd->bhqd", scores.softmax(dim=-1), values), keys, values]


@right("6.3")
def my_step(query, key, value, keys, values):
    old = (query * keys).sum(dim=-1)  # (B, num_heads, T)
    new = (query * key).sum(dim=-1)
    weights = (torch.cat([old, new], dim=-1) / query.shape[-1] ** 0.5).softmax(dim=-1)[..., None]
    all_values = torch.cat([values, value], dim=2)
    return (weights * all_values).sum(dim=2, keepdim=True), torch.cat([keys, key], dim=2), all_values


@wrong("6.3", "only the first key seen")
def my_step(query, key, value, keys, values):
    keys, values = torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)
    return F.scaled_dot_product_attention(query, keys, values, is_causal=True), keys, values


@wrong("6.3", "only the first key seen")
def my_step(query, key, value, keys, values):
    keys, values = torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)
    scores = query @ keys.transpose(-2, -1) / query.shape[-1] ** 0.5
    hidden = torch.ones(scores.shape[-2:]).triu(1).bool()
    return torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1) @ values, keys, values


@wrong("6.3", "the new token does not see itself")
def my_step(query, key, value, keys, values):
    context = F.scaled_dot_product_attention(query, keys, values)
    return context, torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)


@wrong("6.3", "the new token does not see itself")
def my_step(query, key, value, keys, values):
    weights = torch.softmax(query @ keys.mT / query.shape[-1] ** 0.5, dim=-1)
    return weights @ values, torch.cat([keys, key], dim=-2), torch.cat([values, value], dim=-2)


@wrong("6.3", "the cache does not grow")
def my_step(query, key, value, keys, values):
    longer = torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)
    return F.scaled_dot_product_attention(query, *longer), keys, values


@wrong("6.3", "the cache does not grow")
def my_step(query, key, value, keys, values):
    scores = torch.cat([query @ keys.mT, query @ key.mT], dim=-1) / query.shape[-1] ** 0.5
    return scores.softmax(-1) @ torch.cat([values, value], dim=2), key, value


@wrong("6.3", "the new token does not see itself", "the cache does not grow")
def my_step(query, key, value, keys, values):
    return F.scaled_dot_product_attention(query, keys, values), keys, values


BY_HAND = """
def my_step(query, key, value, keys, values):
    keys, values = torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)
    return torch.softmax(query @ keys.mT / keys.shape[-1] ** 0.5, dim=-1) @ values, keys, values
"""
BY_FUNCTION = """
def my_step(query, key, value, keys, values):
    keys, values = torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)
    return F.scaled_dot_product_attention(query, keys, values, scale=query.size(-1) ** -0.5), keys, values
"""
BY_EINSUM = """
def my_step(query, key, value, keys, values):
    keys, values = torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)
    scores = torch.einsum("bhqd,bhkd->bhqk", query, keys) / keys.shape[-1] ** 0.5
    return torch.einsum("bhqk,bhkd->bhqd", F.softmax(scores, dim=-1), values), keys, values
"""

NEWEST_FIRST = [("[keys, key]", "[key, keys]"), ("[values, value]", "[value, values]")]

for name, text, *changes in [
    ("no scale", BY_HAND, (" / keys.shape[-1] ** 0.5", "")),
    ("no scale", BY_FUNCTION, ("query.size(-1) ** -0.5", "1.0")),
    ("the new key before the old", BY_FUNCTION, *NEWEST_FIRST),
    ("the new key before the old", BY_HAND, *NEWEST_FIRST),
    ("scaled by √T", BY_HAND, ("keys.shape[-1]", "keys.shape[-2]")),
    ("scaled by √T", BY_FUNCTION, ("query.size(-1)", "keys.size(2)")),
    ("scaled by d_k, not its root", BY_HAND, (" ** 0.5", "")),
    ("scaled by d_k, not its root", BY_FUNCTION, ("** -0.5", "** -1")),
    ("multiplied by the scale", BY_HAND, ("/ keys.shape", "* keys.shape")),
    ("multiplied by the scale", BY_FUNCTION, ("** -0.5", "** 0.5")),
    ("softmax over the wrong axis", BY_HAND, ("dim=-1", "dim=-2")),
    ("softmax over the wrong axis", BY_EINSUM, ("F.softmax(scores, dim=-1)", "F.softmax(scores, dim=2)")),
    ("values forgotten", BY_HAND, ("@ values", "@ keys")),
    ("values forgotten", BY_FUNCTION, ("(query, keys, values, ", "(query, keys, keys, ")),
]:
    written("6.3", (name,), text, changes)


@unnamed("6.3")
def my_step(query, key, value, keys, values):
    keys, values = torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)
    return F.scaled_dot_product_attention(query, values, keys), keys, values  # the two exchanged


@unnamed("6.3")
def my_step(query, key, value, keys, values):
    return F.scaled_dot_product_attention(query, torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2))


# --- 6.4 shared keys --------------------------------------------------------------------------------------------------


@right("6.4")
def my_shared(keys, num_heads):
    groups = keys.shape[1]
    return keys[:, [h // (num_heads // groups) for h in range(num_heads)]]


@right("6.4")
def my_shared(keys, num_heads):
    B, groups, T, head_dim = keys.shape
    return keys[:, :, None].expand(B, groups, num_heads // groups, T, head_dim).reshape(B, num_heads, T, head_dim)


@right("6.4")
def my_shared(keys, num_heads):
    times = num_heads // keys.shape[1]
    return torch.cat([head for head in keys.split(1, dim=1) for _ in range(times)], dim=1)


@wrong("6.4", "heads taken in turn")
def my_shared(keys, num_heads):
    return keys.repeat(1, num_heads // keys.shape[1], 1, 1)


@wrong("6.4", "heads taken in turn")
def my_shared(keys, num_heads):
    return torch.cat([keys] * (num_heads // keys.shape[1]), dim=1)


@unnamed("6.4")
def my_shared(keys, num_heads):
    return keys.repeat_interleave(num_heads // keys.shape[1], dim=0)


@unnamed("6.4")
def my_shared(keys, num_heads):
    return keys[:, :1].expand(-1, num_heads, -1, -1)


# --- 6.5 three readings -----------------------------------------------------------------------------------------------


@right("6.5")
def my_readings(scores, weights):
    T = len(weights)
    sums = torch.allclose(weights.sum(dim=1), torch.ones(T), atol=1e-4)
    hidden = not weights[torch.triu(torch.ones(T, T), 1).bool()].any()
    ratio = weights[T - 1, 0] / weights[T - 1, 1]
    return sums, bool(hidden), float((scores[T - 1, 0] - scores[T - 1, 1]) / torch.log(ratio))


@right("6.5")
def my_readings(scores, weights):
    sums = all(abs(float(row.sum()) - 1) < 1e-4 for row in weights)
    hidden = torch.equal(weights, weights.tril())
    logs = weights[-1, :2].log()
    return [sums, hidden, (scores[-1, :2].diff() / logs.diff()).item()]


@right("6.5")
def my_readings(scores, weights):
    last, row = scores[-1].double(), weights[-1].double()
    hidden = bool((weights * torch.ones_like(weights).triu(1)).sum() == 0)
    divisor = (last[1] - last[0]) / (row[1] / row[0]).log()
    return bool(((weights.sum(-1) - 1).abs() < 1e-4).all()), hidden, divisor.item()


@wrong("6.5", "columns summed instead of rows")
def my_readings(scores, weights):
    sums = bool(((weights.sum(dim=0) - 1).abs() < 1e-4).all())
    hidden = bool((weights.triu(diagonal=1) == 0).all())
    return sums, hidden, ((scores[-1, 0] - scores[-1, 1]) / (weights[-1, 0] / weights[-1, 1]).log()).item()


@wrong("6.5", "columns summed instead of rows")
def my_readings(scores, weights):
    sums = all(abs(float(column.sum()) - 1) < 1e-4 for column in weights.T)
    logs = weights[-1, :2].log()
    return sums, torch.equal(weights, weights.tril()), (scores[-1, :2].diff() / logs.diff()).item()


@wrong("6.5", "diagonal off by one")
def my_readings(scores, weights):
    sums = bool(((weights.sum(dim=-1) - 1).abs() < 1e-4).all())
    hidden = bool((weights.triu() == 0).all())
    return sums, hidden, ((scores[-1, 0] - scores[-1, 1]) / (weights[-1, 0] / weights[-1, 1]).log()).item()


@wrong("6.5", "diagonal off by one")
def my_readings(scores, weights):
    sums = all(abs(float(row.sum()) - 1) < 1e-4 for row in weights)
    logs = weights[-1, :2].log()
    return sums, torch.equal(weights, weights.tril(-1)), (scores[-1, :2].diff() / logs.diff()).item()


@wrong("6.5", "divisor upside down")
def my_readings(scores, weights):
    sums = bool(((weights.sum(dim=-1) - 1).abs() < 1e-4).all())
    hidden = bool((weights.triu(diagonal=1) == 0).all())
    return sums, hidden, ((weights[-1, 0] / weights[-1, 1]).log() / (scores[-1, 0] - scores[-1, 1])).item()


@wrong("6.5", "divisor upside down")
def my_readings(scores, weights):
    sums = all(abs(float(row.sum()) - 1) < 1e-4 for row in weights)
    logs = weights[-1, :2].log()
    return sums, torch.equal(weights, weights.tril()), (logs.diff() / scores[-1, :2].diff()).item()


@wrong("6.5", "columns summed instead of rows", "divisor upside down")
def my_readings(scores, weights):
    logs = weights[-1, :2].log()
    sums = bool(((weights.sum(dim=0) - 1).abs() < 1e-4).all())
    return sums, torch.equal(weights, weights.tril()), (logs.diff() / scores[-1, :2].diff()).item()


@unnamed("6.5")
def my_readings(scores, weights):
    sums = bool(((weights.sum(dim=-1) - 1).abs() < 1e-4).all())
    hidden = bool((weights.triu(diagonal=1) == 0).all())
    return sums, hidden, ((scores[-1, 0] - scores[-1, 1]) / (weights[-1, 0] - weights[-1, 1])).item()  # no logarithm


@unnamed("6.5")
def my_readings(scores, weights):
    sums = bool(((weights.sum(dim=-1) - 1).abs() < 1e-4).all())
    return sums, True, ((scores[-1, 0] - scores[-1, 1]) / (weights[-1, 0] / weights[-1, 1]).log()).item()


@unnamed("6.5")
def my_readings(scores, weights):
    divisor = (scores[-1, 0] - scores[-1, 1]) / (weights[-1, 0] / weights[-1, 1]).log()
    return bool((weights.sum() - len(weights)).abs() < 1e-4), bool((weights.triu(1) == 0).all()), divisor.item()


@unnamed("6.5")
def my_readings(scores, weights):
    divisor = (scores[-1, 0] - scores[-1, 1]) / (weights[-1, 0] / weights[-1, 1]).log()
    return torch.allclose(weights.sum(-1), torch.ones(1)), bool((weights.triu(1) < 0.01).all()), divisor.item()


@wrong("6.5", "sums compared exactly")
def my_readings(scores, weights):
    divisor = (scores[-1, 0] - scores[-1, 1]) / (weights[-1, 0] / weights[-1, 1]).log()
    return bool((weights.sum(dim=-1) == 1).all()), bool((weights.triu(1) == 0).all()), divisor.item()


@wrong("6.5", "sums compared exactly")
def my_readings(scores, weights):
    sums = torch.equal(weights.sum(dim=1), torch.ones(len(weights)))
    gap = weights[-1, 0].log() - weights[-1, 1].log()
    return sums, torch.equal(weights, weights.tril()), (-scores[-1, :2].diff() / gap).item()


@wrong("6.5", "answer the wrong way round")
def my_readings(scores, weights):
    sums = bool(((weights.sum(dim=-1) - 1).abs() < 1e-4).all())
    divisor = (scores[-1, 0] - scores[-1, 1]) / (weights[-1, 0] / weights[-1, 1]).log()
    return sums, bool((weights.triu(diagonal=1) > 0).any()), divisor.item()


@wrong("6.5", "answer the wrong way round")
def my_readings(scores, weights):
    sums = torch.allclose(weights.sum(dim=-1), torch.ones(len(weights)), atol=1e-4)
    seen = not torch.equal(weights, weights.tril())
    return sums, seen, (scores[-1, :2].diff() / weights[-1, :2].log().diff()).item()
