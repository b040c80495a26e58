"""Answers to the exercises of chapter 4."""

import torch
import torch.nn.functional as F

from tests.answers import right, unnamed, written, wrong

# --- 4.1 dropout from a given generator -------------------------------------------------------------------------------


@right("4.1")
def my_dropout(x, p, generator):
    kept = torch.empty_like(x).bernoulli_(1 - p, generator=generator)
    return kept * x / (1 - p)


@right("4.1")
def my_dropout(x, p, generator):
    gone = torch.rand(x.numel(), dtype=torch.float64, generator=generator).view(x.shape) < p
    return (x / (1 - p)).masked_fill(gone, 0)


@right("4.1")
def my_dropout(x, p, generator):
    result = []
    for number in x.flatten().tolist():
        coin = torch.rand((), generator=generator).item()
        result.append(0.0 if coin < p else number / (1 - p))
    return torch.tensor(result).reshape(x.shape)


@wrong("4.1", "changed in place")
def my_dropout(x, p, generator):
    x *= torch.rand(x.shape, generator=generator) < 1 - p
    x /= 1 - p
    return x


@wrong("4.1", "changed in place")
def my_dropout(x, p, generator):
    x[torch.rand(x.shape, generator=generator) < p] = 0
    return x / (1 - p)


@wrong("4.1", "one coin for several numbers")
def my_dropout(x, p, generator):
    kept = torch.rand(len(x), generator=generator).view(-1, *[1] * (x.ndim - 1)) < 1 - p
    return x * kept / (1 - p)


@wrong("4.1", "one coin for several numbers")
def my_dropout(x, p, generator):
    kept = torch.rand(x.shape[-1], generator=generator) < 1 - p
    return x * kept / (1 - p)


@wrong("4.1", "nothing dropped")
def my_dropout(x, p, generator):
    gone = torch.rand(x.shape, generator=generator) < p
    x.masked_fill(gone, 0)
    return x / (1 - p)


@wrong("4.1", "nothing dropped")
def my_dropout(x, p, generator):
    torch.bernoulli(torch.full_like(x, p), generator=generator)
    return x


@wrong("4.1", "dropout on scores, or rows rescaled")
def my_dropout(x, p, generator):
    kept = x * (torch.rand(x.shape, generator=generator) < 1 - p)
    return kept * x.sum(dim=-1, keepdim=True) / kept.sum(dim=-1, keepdim=True)


@wrong("4.1", "dropout on scores, or rows rescaled")
def my_dropout(x, p, generator):
    kept = torch.empty_like(x).bernoulli_(1 - p, generator=generator) * x
    return kept / (kept.sum(-1) / x.sum(-1)).unsqueeze(-1)


@wrong("4.1", "wrong dropout factor")
def my_dropout(x, p, generator):
    return x * (torch.rand(x.shape, generator=generator) < 1 - p)


@wrong("4.1", "wrong dropout factor")
def my_dropout(x, p, generator):
    gone = torch.rand(x.shape, generator=generator) < p
    return x.masked_fill(gone, 0) * (1 - p)


@wrong("4.1", "wrong dropout factor")
def my_dropout(x, p, generator):
    return torch.where(torch.rand(x.shape, generator=generator) >= p, x / p, 0)


@wrong("4.1", "kept and dropped exchanged")
def my_dropout(x, p, generator):
    return x * (torch.rand(x.shape, generator=generator) < p) / (1 - p)


@wrong("4.1", "kept and dropped exchanged")
def my_dropout(x, p, generator):
    gone = torch.empty_like(x).bernoulli_(1 - p, generator=generator).bool()
    return (x / (1 - p)).masked_fill(gone, 0)


@wrong("4.1", "the same coins in every call")
def my_dropout(x, p, generator):
    generator.manual_seed(123)
    return x * (torch.rand(x.shape, generator=generator) < 1 - p) / (1 - p)


@wrong("4.1", "the same coins in every call")
def my_dropout(x, p, generator):
    torch.manual_seed(123)
    return x * torch.empty_like(x).bernoulli_(1 - p) / (1 - p)


@wrong("4.1", "coins from elsewhere")
def my_dropout(x, p, generator):
    return x * (torch.rand(x.shape) < 1 - p) / (1 - p)


@wrong("4.1", "coins from elsewhere")
def my_dropout(x, p, generator):
    return torch.nn.functional.dropout(x, p, training=True)


@wrong("4.1", "wrong dropout factor", "coins from elsewhere")
def my_dropout(x, p, generator):
    return x * (torch.rand(x.shape) < 1 - p)


@unnamed("4.1")
def my_dropout(x, p, generator):
    return (torch.rand(x.shape, generator=generator) < 1 - p) / (1 - p)


@unnamed("4.1")
def my_dropout(x, p, generator):
    kept = torch.rand(x.shape, generator=generator) < 1 - p
    return (x * kept / (1 - p)).flatten()


@unnamed("4.1")
def my_dropout(x, p, generator):
    return "half of it"


@wrong("4.1", "wrong dropout factor", "kept and dropped exchanged")
def my_dropout(x, p, generator):
    return x * (torch.rand(x.shape, generator=generator) < p) / p


@unnamed("4.1")
def my_dropout(x, p, generator):
    kept = torch.ones(x.numel())
    kept[torch.randperm(x.numel(), generator=generator)[: round(p * x.numel())]] = 0  # exactly the share p
    return x * kept.view(x.shape) / (1 - p)


# --- 4.2 which tokens attend to nothing? ------------------------------------------------------------------------------


@right("4.2")
def my_vanished(dropped):
    return dropped.sum(dim=-1) == 0


@right("4.2")
def my_vanished(dropped):
    return ~dropped.bool().any(dim=-1)


@right("4.2")
def my_vanished(dropped):
    rows = dropped.reshape(-1, dropped.shape[-1]).tolist()
    return torch.tensor([not any(row) for row in rows]).reshape(dropped.shape[:-1])


@wrong("4.2", "True and False exchanged")
def my_vanished(dropped):
    return (dropped != 0).any(dim=-1)


@wrong("4.2", "True and False exchanged")
def my_vanished(dropped):
    return dropped.sum(dim=-1) > 0


@wrong("4.2", "columns instead of rows")
def my_vanished(dropped):
    return (dropped == 0).all(dim=-2)


@wrong("4.2", "columns instead of rows")
def my_vanished(dropped):
    return dropped.transpose(-2, -1).sum(dim=-1) == 0


@wrong("4.2", "one zero taken for an empty row")
def my_vanished(dropped):
    return (dropped == 0).any(dim=-1)


@wrong("4.2", "one zero taken for an empty row")
def my_vanished(dropped):
    return dropped.amin(dim=-1) == 0


@wrong("4.2", "sums other than 1 reported")
def my_vanished(dropped):
    return ~torch.isclose(dropped.sum(dim=-1), torch.tensor(1.0))


@wrong("4.2", "sums other than 1 reported")
def my_vanished(dropped):
    return (dropped.sum(dim=-1) - 1).abs() > 0.001


@wrong("4.2", "little taken for nothing")
def my_vanished(dropped):
    return dropped.sum(dim=-1) < 0.001


@wrong("4.2", "little taken for nothing")
def my_vanished(dropped):
    return torch.isclose(dropped, torch.zeros(1), atol=1e-4).all(dim=-1)


@wrong("4.2", "columns instead of rows", "one zero taken for an empty row")
def my_vanished(dropped):
    return (dropped == 0).any(dim=-2)


@unnamed("4.2")
def my_vanished(dropped):
    return dropped == 0


@unnamed("4.2")
def my_vanished(dropped):
    return (dropped == 0).all(dim=-1).float()


@unnamed("4.2")
def my_vanished(dropped):
    return torch.zeros(dropped.shape[:-1]).bool()


# --- 4.3 where dropout stands -----------------------------------------------------------------------------------------

STEPS = """
def my_dropped_attention(queries, keys, values, kept, p):
    T = queries.shape[-2]
    future = torch.ones(T, T).triu(1).bool()
    scores = torch.einsum("...td,...sd->...ts", queries, keys) / keys.shape[-1] ** 0.5
    scores = scores.masked_fill(future, float("-inf"))
    weights = F.softmax(scores, dim=-1)
    weights = torch.where(kept, weights / (1 - p), 0)
    return torch.einsum("...ts,...sd->...td", weights, values)
"""

EXPONENTIALS = """
def my_dropped_attention(queries, keys, values, kept, p):
    scores = queries.div(keys.size(-1) ** 0.5) @ keys.mT
    shares = scores.exp()
    shares = shares.tril()
    weights = shares / shares.sum(-1, keepdim=True)
    weights = weights * kept.float()
    return weights @ values / (1 - p)
"""

LOOPS = """
def my_dropped_attention(queries, keys, values, kept, p):
    if queries.ndim == 3:
        return torch.stack([my_dropped_attention(*one, p) for one in zip(queries, keys, values, kept)])
    rows = []
    for t in range(len(queries)):
        weights = torch.softmax(keys[: t + 1] @ queries[t] / keys.shape[1] ** 0.5, dim=0)
        rows.append((weights * kept[t, : t + 1] / (1 - p)) @ values[: t + 1])
    return torch.stack(rows)
"""

for text in (STEPS, EXPONENTIALS, LOOPS):
    written("4.3", None, text)

for names, text, *changes in [
    ("softmax over the wrong axis", STEPS, ("F.softmax(scores, dim=-1)", "F.softmax(scores, dim=-2)")),
    ("softmax over the wrong axis", EXPONENTIALS, ("shares.sum(-1, keepdim=True)", "shares.sum(-2, keepdim=True)")),
    ("softmax over the wrong axis", STEPS, ("F.softmax(scores, dim=-1)", "F.softmax(scores, dim=0)")),
    ("mask the wrong way round", STEPS, ("future, float", "~future, float")),
    ("mask the wrong way round", EXPONENTIALS, (".tril()", ".triu()")),
    ("mask the wrong way round", STEPS, (".triu(1)", ".tril(-1)")),
    ("diagonal off by one", STEPS, (".triu(1)", ".triu(2)")),
    ("diagonal off by one", STEPS, (".triu(1)", ".triu()")),
    ("diagonal off by one", EXPONENTIALS, (".tril()", ".tril(1)")),
    ("hidden scores filled with a number", STEPS, ('float("-inf")', "0")),
    ("hidden scores filled with a number", STEPS, ('float("-inf")', 'float("inf")')),
    (
        "hidden scores filled with a number",
        EXPONENTIALS,
        ("scores.exp()", "scores.tril().exp()"),
        ("shares.tril()", "+shares"),
    ),
    ("query and key swapped", STEPS, ("queries, keys) /", "keys, queries) /")),
    ("query and key swapped", EXPONENTIALS, ("@ keys.mT", "@ keys.mT\n    scores = scores.mT")),
    ("no scale", STEPS, (" / keys.shape[-1] ** 0.5", "")),
    ("no scale", EXPONENTIALS, (".div(keys.size(-1) ** 0.5)", "")),
    ("multiplied by the scale", STEPS, ("/ keys.shape[-1]", "* keys.shape[-1]")),
    ("multiplied by the scale", EXPONENTIALS, (".div(", ".mul(")),
    ("scaled by √T", STEPS, ("keys.shape[-1] **", "keys.shape[-2] **")),
    ("scaled by √T", EXPONENTIALS, ("keys.size(-1) **", "queries.size(-2) **")),
    ("scaled by d_k, not its root", STEPS, ("[-1] ** 0.5", "[-1]")),
    ("scaled by d_k, not its root", EXPONENTIALS, ("keys.size(-1) ** 0.5", "keys.size(-1)")),
    (
        "masked after softmax, rows not renormalised",
        STEPS,
        ("    scores = scores.masked_fill", "    weights = weights.masked_fill"),
        ('float("-inf")', "0"),
        ("    weights = F.softmax(scores, dim=-1)\n", ""),
        (" ** 0.5\n", " ** 0.5\n    weights = F.softmax(scores, dim=-1)\n"),
    ),
    (
        "masked after softmax, rows not renormalised",
        EXPONENTIALS,
        ("    shares = shares.tril()\n", ""),
        ("kept.float()", "kept.float().tril()"),
    ),
    ("future not masked", STEPS, ("    scores = scores.masked", "    scores.masked")),
    ("future not masked", EXPONENTIALS, ("shares = shares.tril()", "shares.tril()")),
    ("changed in place", STEPS, ("weights = torch.where(kept, weights / (1 - p), 0)", "weights *= kept / (1 - p)")),
    ("changed in place", EXPONENTIALS, ("shares = shares.tril()", "shares.tril_()")),
    (
        "nothing dropped",
        STEPS,
        ("weights = torch.where(kept, weights / (1 - p), 0)", "torch.where(kept, weights / (1 - p), 0)"),
    ),
    ("nothing dropped", EXPONENTIALS, ("weights = weights * kept.float()", "weights * kept.float()")),
    ("kept and dropped exchanged", STEPS, ("where(kept, weights / (1 - p), 0)", "where(kept, 0, weights / (1 - p))")),
    ("kept and dropped exchanged", EXPONENTIALS, ("kept.float()", "kept.logical_not()")),
    (
        "dropout on scores, or rows rescaled",
        STEPS,
        (" / keys.shape[-1] ** 0.5", " / keys.shape[-1] ** 0.5 * kept / (1 - p)"),
        ("    weights = torch.where(kept, weights / (1 - p), 0)\n", ""),
    ),
    (
        "dropout on scores, or rows rescaled",
        STEPS,
        (
            'scores = scores.masked_fill(future, float("-inf"))',
            'scores = scores.masked_fill(future, float("-inf")) * kept / (1 - p)',
        ),
        ("    weights = torch.where(kept, weights / (1 - p), 0)\n", ""),
    ),
    (
        "dropout on scores, or rows rescaled",
        EXPONENTIALS,
        (" / (1 - p)", ""),
        ("kept.float()", "kept.float()\n    weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)"),
    ),
    ("wrong dropout factor", STEPS, ("weights / (1 - p)", "weights")),
    ("wrong dropout factor", EXPONENTIALS, (" / (1 - p)", " * (1 - p)")),
    ("wrong dropout factor", LOOPS, (" / (1 - p)", " / (p or 1)")),
]:
    written("4.3", (names,), text, changes)

written(
    "4.3",
    ("no scale", "wrong dropout factor"),
    STEPS,
    [(" / keys.shape[-1] ** 0.5", ""), ("weights / (1 - p)", "weights")],
)
written(
    "4.3", ("softmax over the wrong axis", "diagonal off by one"), STEPS, [("dim=-1", "dim=-2"), ("triu(1)", "triu(2)")]
)
written("4.3", (), STEPS, [("weights, values)", "weights, values)[..., :1]")])
written("4.3", (), EXPONENTIALS, [("@ values", "@ values.flip(-2)")])
written("4.3", (), STEPS, [("** 0.5", "** 0.25")])

# --- 4.4 dropout as a layer -------------------------------------------------------------------------------------------

SWITCH = """
class MyDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.rate = p

    def forward(self, x):
        if not self.training:
            return x
        kept = torch.rand_like(x) < 1 - self.rate
        return x * kept / (1 - self.rate)
"""

BERNOULLI = """
class MyDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.keep = 1 - p

    def forward(self, x):
        if self.training:
            coins = torch.empty(x.shape).bernoulli_(self.keep)
            x = torch.where(coins > 0, x / self.keep, 0)
        return x
"""

BUILT_IN = """
class MyDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return F.dropout(x, self.p, self.training)
"""

for text in (SWITCH, BERNOULLI, BUILT_IN):
    written("4.4", None, text)

for name, text, *changes in [
    ("dropout in evaluation", SWITCH, ("        if not self.training:\n            return x\n", "")),
    ("dropout in evaluation", BUILT_IN, (", self.training", "")),
    ("dropout in evaluation", BERNOULLI, ("if self.training", "if not self.training")),
    (
        "scaled in evaluation",
        SWITCH,
        ("return x\n", "return x * (1 - self.rate)\n"),
        ("x * kept / (1 - self.rate)", "x * kept"),
    ),
    (
        "scaled in evaluation",
        BERNOULLI,
        ("x = torch.where(coins > 0, x / self.keep, 0)", "x = torch.where(coins > 0, x, 0)"),
        ("return x", "return x if self.training else x * self.keep"),
    ),
    ("one coin for several numbers", SWITCH, ("torch.rand_like(x)", "torch.rand(*x.shape[:-1], 1)")),
    ("one coin for several numbers", BERNOULLI, ("torch.empty(x.shape)", "torch.empty(x.shape[-1])")),
    ("nothing dropped", SWITCH, ("x * kept", "x")),
    ("nothing dropped", BERNOULLI, ("x = torch.where(", "torch.where(")),
    (
        "dropout on scores, or rows rescaled",
        SWITCH,
        ("x * kept / (1 - self.rate)", "x * kept * x.sum(-1, keepdim=True) / (x * kept).sum(-1, keepdim=True)"),
    ),
    (
        "dropout on scores, or rows rescaled",
        BERNOULLI,
        ("x / self.keep, 0)", "x * (x.sum(-1) / (x * coins).sum(-1)).unsqueeze(-1), 0)"),
    ),
    ("wrong dropout factor", SWITCH, (" / (1 - self.rate)", "")),
    ("wrong dropout factor", BERNOULLI, ("x / self.keep", "x * self.keep")),
    ("kept and dropped exchanged", SWITCH, ("< 1 - self.rate", "< self.rate")),
    ("kept and dropped exchanged", BERNOULLI, ("bernoulli_(self.keep)", "bernoulli_(1 - self.keep)")),
    ("the same coins in every call", SWITCH, ("        kept =", "        torch.manual_seed(0)\n        kept =")),
    (
        "the same coins in every call",
        BERNOULLI,
        ("bernoulli_(self.keep)", "bernoulli_(self.keep, generator=torch.Generator().manual_seed(1))"),
    ),
    (
        "the same coins in every call",
        SWITCH,
        ("        kept =", "        self.coins = getattr(self, 'coins', torch.rand_like(x))\n        kept ="),
        ("torch.rand_like(x) <", "self.coins <"),
    ),
]:
    written("4.4", (name,), text, changes)

written(
    "4.4",
    ("dropout in evaluation", "wrong dropout factor"),
    SWITCH,
    [("        if not self.training:\n            return x\n", ""), (" / (1 - self.rate)", "")],
)
written("4.4", (), SWITCH, [("x * kept", "kept")])
written("4.4", (), BERNOULLI, [("return x", "return x.sum()")])
written("4.4", (), SWITCH, [("return x\n", "return x + 1\n")])

# --- 4.5 one matrix instead of three ----------------------------------------------------------------------------------

CHUNKS = """
class MyCausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout):
        super().__init__()
        self.W_qkv = nn.Linear(d_in, 3 * d_out, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("visible", torch.ones(context_length, context_length).tril().bool())

    def forward(self, x):
        T, d_out = x.shape[-2], self.W_qkv.out_features // 3
        queries, keys, values = self.W_qkv(x).split(d_out, dim=-1)
        scores = (queries * d_out**-0.5) @ keys.mT
        scores = torch.where(self.visible[:T, :T], scores, -torch.inf)
        weights = self.dropout(scores.softmax(dim=-1))
        return weights @ values
"""

PARAMETER = """
class MyCausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout):
        super().__init__()
        self.W_qkv = nn.Parameter(torch.rand(d_in, 3 * d_out))
        self.d_out, self.p = d_out, dropout

    def forward(self, x):
        queries, keys, values = (x @ self.W_qkv).unflatten(-1, (3, self.d_out)).unbind(-2)
        place = torch.arange(x.shape[-2], device=x.device)
        scores = torch.einsum("...td,...sd->...ts", queries, keys) / self.d_out**0.5
        shares = torch.exp(scores)
        shares = shares * (place[:, None] >= place)
        weights = shares / shares.sum(dim=-1, keepdim=True)
        weights = F.dropout(weights, self.p, self.training)
        return torch.einsum("...ts,...sd->...td", weights, values)
"""

BUILT_IN = """
class MyCausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout):
        super().__init__()
        self.d_out, self.p = d_out, dropout
        self.W_qkv = nn.Linear(d_in, 3 * d_out, bias=False)

    def forward(self, x):
        parts = self.W_qkv(x)
        d = self.d_out
        queries, keys, values = parts[..., :d], parts[..., d:-d], parts[..., -d:]
        p = self.p if self.training else 0.0
        return F.scaled_dot_product_attention(queries, keys, values, dropout_p=p, is_causal=True)
"""

for text in (CHUNKS, PARAMETER, BUILT_IN):
    written("4.5", None, text)

OWN_COINS = "weights = weights * (torch.rand(weights.shape) < 1 - self.p) / (1 - self.p) if self.training else weights"
for name, text, *changes in [
    ("a bias too many", CHUNKS, (", bias=False", "")),
    (
        "a bias too many",
        PARAMETER,
        ("        self.d_out,", "        self.b_qkv = nn.Parameter(torch.rand(3 * d_out))\n        self.d_out,"),
        ("(x @ self.W_qkv)", "(x @ self.W_qkv + self.b_qkv)"),
    ),
    ("mask not cut to the tokens", CHUNKS, ("self.visible[:T, :T]", "self.visible")),
    (
        "mask not cut to the tokens",
        BUILT_IN,
        (
            "self.d_out, self.p = d_out, dropout",
            (
                'self.d_out, self.p = d_out, dropout\n        self.register_buffer("mask", torch.ones(context_length,'
                " context_length).tril().bool())"
            ),
        ),
        ("is_causal=True", "attn_mask=self.mask"),
    ),
    (
        "changed in place",
        CHUNKS,
        (
            "self.dropout(scores.softmax(dim=-1))",
            "scores.softmax(dim=-1)\n        weights *= self.visible[:T, :T]\n        weights = self.dropout(weights)",
        ),
    ),
    ("changed in place", PARAMETER, ("shares = shares * (place", "shares *= (place")),
    ("dropout in evaluation", PARAMETER, (", self.training)", ")")),
    ("dropout in evaluation", BUILT_IN, (" if self.training else 0.0", "")),
    (
        "dropout in evaluation",
        CHUNKS,
        ("self.dropout(scores.softmax(dim=-1))", "nn.Dropout(self.dropout.p)(scores.softmax(dim=-1))"),
    ),
    ("softmax over the wrong axis", CHUNKS, ("softmax(dim=-1)", "softmax(dim=-2)")),
    ("softmax over the wrong axis", CHUNKS, ("softmax(dim=-1)", "softmax(dim=0)")),
    ("softmax over the wrong axis", PARAMETER, ("sum(dim=-1,", "sum(dim=-2,")),
    ("mask the wrong way round", CHUNKS, ("scores, -torch.inf", "-torch.inf, scores")),
    ("mask the wrong way round", PARAMETER, (" >= place", " <= place")),
    (
        "mask the wrong way round",
        BUILT_IN,
        ("is_causal=True", "attn_mask=torch.ones(x.shape[-2], x.shape[-2]).triu(1).bool()"),
    ),
    ("diagonal off by one", CHUNKS, (".tril()", ".tril(-1)")),
    ("diagonal off by one", PARAMETER, (" >= place", " >= place - 1")),
    ("hidden scores filled with a number", CHUNKS, ("-torch.inf)", "0.0)")),
    ("hidden scores filled with a number", CHUNKS, ("-torch.inf)", "torch.inf)")),
    (
        "hidden scores filled with a number",
        PARAMETER,
        ("exp(scores)", "exp(scores * (place[:, None] >= place))"),
        ("shares = shares * (place[:, None] >= place)", "pass"),
    ),
    ("query and key swapped", CHUNKS, ("queries, keys, values =", "keys, queries, values =")),
    ("query and key swapped", PARAMETER, ("queries, keys) /", "keys, queries) /")),
    ("scaled by the width of all three", CHUNKS, ("d_out**-0.5", "self.W_qkv.out_features**-0.5")),
    ("scaled by the width of all three", PARAMETER, ("self.d_out**0.5", "self.W_qkv.shape[1]**0.5")),
    ("no scale", CHUNKS, ("(queries * d_out**-0.5)", "queries")),
    ("no scale", BUILT_IN, ("is_causal=True", "is_causal=True, scale=1.0")),
    ("multiplied by the scale", CHUNKS, ("**-0.5", "**0.5")),
    ("multiplied by the scale", PARAMETER, ("/ self.d_out**0.5", "* self.d_out**0.5")),
    ("scaled by √T", CHUNKS, ("d_out**-0.5", "T**-0.5")),
    ("scaled by √T", PARAMETER, ("/ self.d_out**0.5", "/ len(place) ** 0.5")),
    ("scaled by d_k, not its root", CHUNKS, ("**-0.5", "**-1")),
    ("scaled by d_k, not its root", PARAMETER, ("d_out**0.5", "d_out")),
    (
        "masked after softmax, rows not renormalised",
        CHUNKS,
        ("        scores = torch.where(self.visible[:T, :T], scores, -torch.inf)\n", ""),
        ("scores.softmax(dim=-1)", "scores.softmax(dim=-1) * self.visible[:T, :T]"),
    ),
    (
        "masked after softmax, rows not renormalised",
        PARAMETER,
        ("weights = shares / shares.sum", "weights = shares / torch.exp(scores).sum"),
    ),
    ("future not masked", CHUNKS, ("scores = torch.where", "torch.where")),
    ("future not masked", BUILT_IN, (", is_causal=True", "")),
    (
        "one coin for several numbers",
        CHUNKS,
        ("self.dropout(scores.softmax(dim=-1))", "scores.softmax(dim=-1) * self.dropout(torch.ones(T, T))"),
    ),
    (
        "one coin for several numbers",
        PARAMETER,
        (
            "F.dropout(weights, self.p, self.training)",
            "weights * F.dropout(torch.ones(*x.shape[:-1], 1), self.p, self.training)",
        ),
    ),
    (
        "nothing dropped",
        CHUNKS,
        (
            "weights = self.dropout(scores.softmax(dim=-1))",
            "weights = scores.softmax(dim=-1)\n        self.dropout(weights)",
        ),
    ),
    ("nothing dropped", PARAMETER, ("self.training)", "not self.training and self.p > 1)")),
    (
        "dropout on scores, or rows rescaled",
        CHUNKS,
        ("@ keys.mT", "@ keys.mT\n        scores = self.dropout(scores)"),
        ("self.dropout(scores.softmax(dim=-1))", "scores.softmax(dim=-1)"),
    ),
    (
        "dropout on scores, or rows rescaled",
        CHUNKS,
        ("self.dropout(scores.softmax(dim=-1))", "self.dropout(scores).softmax(dim=-1)"),
    ),
    (
        "dropout on scores, or rows rescaled",
        PARAMETER,
        (
            "self.p, self.training)",
            "self.p, self.training)\n        weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)",
        ),
    ),
    (
        "wrong dropout factor",
        PARAMETER,
        ("weights = F.dropout(weights, self.p, self.training)", OWN_COINS.replace(" / (1 - self.p)", "")),
    ),
    ("wrong dropout factor", BUILT_IN, ("dropout_p=p, is_causal=True)", "dropout_p=p, is_causal=True) * (1 - p)")),
    (
        "kept and dropped exchanged",
        PARAMETER,
        ("weights = F.dropout(weights, self.p, self.training)", OWN_COINS.replace("< 1 - self.p", "< self.p")),
    ),
    (
        "kept and dropped exchanged",
        CHUNKS,
        (
            "self.dropout(scores.softmax(dim=-1))",
            (
                "self.dropout(scores.softmax(dim=-1))\n        if self.training:\n            coins"
                " = torch.rand(scores.shape) >= 1 - self.dropout.p\n            weights = scores.softmax(dim=-1) *"
                " coins / (1 - self.dropout.p)"
            ),
        ),
    ),
    (
        "mask not a buffer",
        CHUNKS,
        (
            'self.register_buffer("visible", torch.ones(context_length, context_length).tril().bool())',
            "self.visible = torch.ones(context_length, context_length).tril().bool()",
        ),
    ),
    (
        "mask not a buffer",
        PARAMETER,
        ("self.d_out, self.p =", "self.place = torch.arange(context_length)\n        self.d_out, self.p ="),
        ("torch.arange(x.shape[-2], device=x.device)", "self.place[: x.shape[-2]]"),
    ),
]:
    written("4.5", (name,), text, changes)

written(
    "4.5",
    ("no scale", "diagonal off by one"),
    CHUNKS,
    [("(queries * d_out**-0.5)", "queries"), (".tril()", ".tril(1)")],
)
written(
    "4.5",
    ("dropout in evaluation", "mask not a buffer"),
    CHUNKS,
    [
        (
            'self.register_buffer("visible", torch.ones(context_length, context_length).tril().bool())',
            "self.visible = torch.ones(context_length, context_length).tril().bool()",
        ),
        ("self.dropout(scores.softmax(dim=-1))", "nn.Dropout(self.dropout.p)(scores.softmax(dim=-1))"),
    ],
)
written("4.5", (), CHUNKS, [("queries, keys, values =", "values, keys, queries =")])
written(
    "4.5",
    (),
    CHUNKS,
    [
        ("return weights @ values", "return self.dropout(scores.softmax(dim=-1) @ values)"),
        ("self.dropout(scores.softmax(dim=-1))\n", "scores.softmax(dim=-1)\n"),
    ],
)
written("4.5", (), PARAMETER, [("(3, self.d_out)).unbind(-2)", "(self.d_out, 3)).unbind(-1)")])
written("4.5", (), CHUNKS, [("weights @ values", "weights")])
