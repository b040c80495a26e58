"""Answers to the exercises of chapter 5."""

import torch

from tests.answers import right, unnamed, written, wrong

# --- 5.1 heads side by side -------------------------------------------------------------------------------------------

LISTED = """
class MyHeads(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads):
        super().__init__()
        heads = [CausalAttention(d_in, d_out, context_length, dropout) for _ in range(num_heads)]
        self.parts = nn.ModuleList(heads)

    def forward(self, x):
        return torch.concat([part(x) for part in self.parts], dim=2)
"""

NUMBERED = """
class MyHeads(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads):
        super().__init__()
        self.n, self.d_out = num_heads, d_out
        for k in range(num_heads):
            setattr(self, f"head_{k}", CausalAttention(d_in, d_out, context_length, dropout))

    def forward(self, x):
        result = torch.empty(*x.shape[:-1], self.n * self.d_out)
        for k in range(self.n):
            result[..., k * self.d_out : (k + 1) * self.d_out] = getattr(self, f"head_{k}")(x)
        return result
"""

STACKED = """
class MyHeads(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads):
        super().__init__()
        self.heads = nn.ModuleDict()
        for k in range(num_heads):
            self.heads[str(k)] = CausalAttention(d_in, d_out, context_length, dropout)

    def forward(self, x):
        return torch.stack([head(x) for head in self.heads.values()], dim=-2).flatten(-2)
"""

for text in (LISTED, NUMBERED, STACKED):
    written("5.1", None, text)

for name, text, *changes in [
    ("heads in a Python list", LISTED, ("nn.ModuleList(heads)", "heads")),
    (
        "heads in a Python list",
        STACKED,
        ("nn.ModuleDict()", "[]"),
        (
            "self.heads[str(k)] = CausalAttention(d_in, d_out, context_length, dropout)",
            "self.heads.append(CausalAttention(d_in, d_out, context_length, dropout))",
        ),
        (".values()", ""),
    ),
    (
        "one head for all",
        LISTED,
        (
            "heads = [CausalAttention(d_in, d_out, context_length, dropout) for _ in range(num_heads)]",
            "heads = [CausalAttention(d_in, d_out, context_length, dropout)] * num_heads",
        ),
    ),
    ("one head for all", STACKED, ("self.heads[str(k)] = CausalAttention", 'self.heads["0"] = CausalAttention')),
    ("heads in a dimension of their own", STACKED, (".flatten(-2)", "")),
    ("heads in a dimension of their own", LISTED, ("concat(", "stack("), ("dim=2", "dim=1")),
    ("concatenated along the wrong dimension", LISTED, ("dim=2", "dim=1")),
    ("concatenated along the wrong dimension", LISTED, (", dim=2", "")),
    ("concatenated along the wrong dimension", STACKED, ("dim=-2).flatten(-2)", "dim=1).flatten(1, 2)")),
    ("heads averaged, not concatenated", STACKED, (".flatten(-2)", ".mean(-2)")),
    (
        "heads averaged, not concatenated",
        LISTED,
        (
            "torch.concat([part(x) for part in self.parts], dim=2)",
            "sum(part(x) for part in self.parts) / len(self.parts)",
        ),
    ),
    (
        "heads averaged, not concatenated",
        LISTED,
        ("torch.concat([part(x) for part in self.parts], dim=2)", "sum(part(x) for part in self.parts)"),
    ),
    ("nothing dropped", LISTED, (", dropout)", ", 0.0)")),
    ("nothing dropped", NUMBERED, ("context_length, dropout))", "context_length, dropout=0))")),
]:
    written("5.1", (name,), text, changes)

written(
    "5.1",
    ("heads in a Python list", "heads averaged, not concatenated"),
    LISTED,
    [
        ("nn.ModuleList(heads)", "heads"),
        ("torch.concat([part(x) for part in self.parts], dim=2)", "sum(part(x) for part in self.parts)"),
    ],
)
written("5.1", (), LISTED, [("in self.parts]", "in reversed(self.parts)]")])
written("5.1", (), NUMBERED, [("return result", "return result * self.n")])
written("5.1", (), LISTED, [("nn.Module)", "list)"), ("super().__init__()", "pass"), ("nn.ModuleList(heads)", "heads")])

# --- 5.2 Raschka's exercise: heads of one number ----------------------------------------------------------------------


@right("5.2")
def my_narrow_wrapper(Wrapper, d_in, context_length, num_heads, width):
    return Wrapper(d_in, width // num_heads, context_length, 0.0, num_heads)


@right("5.2")
def my_narrow_wrapper(Wrapper, d_in, context_length, num_heads, width):
    head_width = int(width / num_heads)
    return Wrapper(d_in=d_in, d_out=head_width, context_length=context_length, dropout=0, num_heads=num_heads)


@right("5.2")
def my_narrow_wrapper(Wrapper, d_in, context_length, num_heads, width):
    (d_out,) = [size for size in range(1, width + 1) if size * num_heads == width]
    return Wrapper(d_in, d_out, context_length, num_heads=num_heads, dropout=0.0, qkv_bias=True).eval()


@wrong("5.2", "d_out taken for all heads together")
def my_narrow_wrapper(Wrapper, d_in, context_length, num_heads, width):
    return Wrapper(d_in, width, context_length, 0.0, num_heads)


@wrong("5.2", "d_out taken for all heads together")
def my_narrow_wrapper(Wrapper, d_in, context_length, num_heads, width):
    settings = dict(d_in=d_in, d_out=width, context_length=context_length, dropout=0.0)
    return Wrapper(num_heads=num_heads, **settings)


@wrong("5.2", "width multiplied instead of shared")
def my_narrow_wrapper(Wrapper, d_in, context_length, num_heads, width):
    return Wrapper(d_in, width * num_heads, context_length, 0.0, num_heads)


@wrong("5.2", "width multiplied instead of shared")
def my_narrow_wrapper(Wrapper, d_in, context_length, num_heads, width):
    d_out = sum(width for _ in range(num_heads))
    return Wrapper(d_in=d_in, d_out=d_out, context_length=context_length, dropout=0.0, num_heads=num_heads)


@wrong("5.2", "another number of heads")
def my_narrow_wrapper(Wrapper, d_in, context_length, num_heads, width):
    return Wrapper(d_in, width, context_length, 0.0, num_heads=1)


@wrong("5.2", "another number of heads")
def my_narrow_wrapper(Wrapper, d_in, context_length, num_heads, width):
    return Wrapper(d_in, 1, context_length, 0.0, width)


@wrong("5.2", "another number of heads", "d_out taken for all heads together")
def my_narrow_wrapper(Wrapper, d_in, context_length, num_heads, width):
    return Wrapper(d_in, width, context_length, 0.0, width)


@unnamed("5.2")
def my_narrow_wrapper(Wrapper, d_in, context_length, num_heads, width):
    return Wrapper(context_length, width // num_heads, d_in, 0.0, num_heads)


@unnamed("5.2")
def my_narrow_wrapper(Wrapper, d_in, context_length, num_heads, width):
    return Wrapper


@unnamed("5.2")
def my_narrow_wrapper(Wrapper, d_in, context_length, num_heads, width):
    return Wrapper(d_in, width // num_heads, context_length, 0.5, num_heads)


# --- 5.3 split --------------------------------------------------------------------------------------------------------


@right("5.3")
def my_split(projected, num_heads):
    return torch.stack(projected.chunk(num_heads, dim=-1), dim=-3)


@right("5.3")
def my_split(projected, num_heads):
    size = projected.shape[-1] // num_heads
    return torch.stack([projected[..., h * size : (h + 1) * size] for h in range(num_heads)]).movedim(0, -3)


@right("5.3")
def my_split(projected, num_heads):
    return projected.unflatten(-1, (num_heads, -1)).swapaxes(-3, -2).contiguous()


@wrong("5.3", "heads split without transpose")
def my_split(projected, num_heads):
    *before, T, d_out = projected.shape
    return projected.reshape(*before, num_heads, T, d_out // num_heads)


@wrong("5.3", "heads split without transpose")
def my_split(projected, num_heads):
    *before, d_out = projected.shape
    return projected.view(*before, num_heads, d_out // num_heads)


@wrong("5.3", "heads split without transpose")
def my_split(projected, num_heads):
    return projected.unflatten(-1, (num_heads, -1))


@wrong("5.3", "view after transpose")
def my_split(projected, num_heads):
    *before, T, d_out = projected.shape
    turned = projected.transpose(-2, -1)
    return turned.view(*before, num_heads, T, d_out // num_heads)


@wrong("5.3", "view after transpose")
def my_split(projected, num_heads):
    *before, T, d_out = projected.shape
    heads = projected.view(*before, T, num_heads, d_out // num_heads).transpose(-3, -2)
    return heads.view(-1, T, d_out // num_heads).reshape(*before, num_heads, T, d_out // num_heads)


@wrong("5.3", "made for a batch only")
def my_split(projected, num_heads):
    B, T, d_out = projected.shape
    return projected.view(B, T, num_heads, d_out // num_heads).transpose(1, 2)


@wrong("5.3", "made for a batch only")
def my_split(projected, num_heads):
    return projected.unflatten(-1, (num_heads, -1)).permute(0, 2, 1, 3)


@wrong("5.3", "num_heads and head_dim exchanged")
def my_split(projected, num_heads):
    *before, d_out = projected.shape
    return projected.view(*before, d_out // num_heads, num_heads).transpose(-3, -2)


@wrong("5.3", "num_heads and head_dim exchanged")
def my_split(projected, num_heads):
    return torch.stack(projected.split(num_heads, dim=-1), dim=-3)


@wrong("5.3", "columns dealt out in turn")
def my_split(projected, num_heads):
    return torch.stack([projected[..., h::num_heads] for h in range(num_heads)], dim=-3)


@wrong("5.3", "columns dealt out in turn")
def my_split(projected, num_heads):
    return projected.unflatten(-1, (-1, num_heads)).transpose(-3, -1).transpose(-2, -1)


@wrong("5.3", "heads split without transpose", "num_heads and head_dim exchanged")
def my_split(projected, num_heads):
    *before, T, d_out = projected.shape
    return projected.reshape(*before, d_out // num_heads, T, num_heads)


@unnamed("5.3")
def my_split(projected, num_heads):
    return torch.stack(projected.chunk(num_heads, dim=-1), dim=-3).flip(-3)


@unnamed("5.3")
def my_split(projected, num_heads):
    return list(projected.chunk(num_heads, dim=-1))


@unnamed("5.3")
def my_split(projected, num_heads):
    return torch.stack(projected.chunk(num_heads, dim=-1), dim=-3).flip(-2)


@wrong("5.3", "heads split without transpose")
def my_split(projected, num_heads):
    *before, T, d_out = projected.shape
    return projected.view(*before, num_heads, T, d_out // num_heads)


# --- 5.4 merge --------------------------------------------------------------------------------------------------------


@right("5.4")
def my_merge(context):
    return torch.cat(context.unbind(-3), dim=-1)


@right("5.4")
def my_merge(context):
    return context.transpose(-3, -2).flatten(-2)


@right("5.4")
def my_merge(context):
    num_heads, T, head_dim = context.shape[-3:]
    result = torch.zeros(*context.shape[:-3], T, num_heads * head_dim, dtype=torch.float64)
    for h in range(num_heads):
        result[..., h * head_dim : (h + 1) * head_dim] = context[..., h, :, :]
    return result


@wrong("5.4", "view after transpose")
def my_merge(context):
    *before, num_heads, T, head_dim = context.shape
    return context.transpose(-3, -2).view(*before, T, num_heads * head_dim)


@wrong("5.4", "view after transpose")
def my_merge(context):
    together = context.swapaxes(-3, -2)
    return together.view(*together.shape[:-2], -1)


@wrong("5.4", "made for a batch only")
def my_merge(context):
    B, num_heads, T, head_dim = context.shape
    return context.transpose(1, 2).reshape(B, T, num_heads * head_dim)


@wrong("5.4", "made for a batch only")
def my_merge(context):
    return context.permute(0, 2, 1, 3).flatten(2)


@wrong("5.4", "heads averaged, not concatenated")
def my_merge(context):
    return context.mean(dim=-3)


@wrong("5.4", "heads averaged, not concatenated")
def my_merge(context):
    return sum(context.unbind(-3))


@wrong("5.4", "heads merged without transpose")
def my_merge(context):
    *before, num_heads, T, head_dim = context.shape
    return context.reshape(*before, T, num_heads * head_dim)


@wrong("5.4", "heads merged without transpose")
def my_merge(context):
    pieces = context.flatten(-3, -2).split(1, dim=-2)
    rows = [torch.cat(pieces[k : k + context.shape[-3]], dim=-1) for k in range(0, len(pieces), context.shape[-3])]
    return torch.cat(rows, dim=-2)


@wrong("5.4", "numbers of heads interleaved")
def my_merge(context):
    return context.movedim(-3, -1).flatten(-2)


@wrong("5.4", "numbers of heads interleaved")
def my_merge(context):
    return torch.stack(context.unbind(-3), dim=-1).flatten(start_dim=-2)


@wrong("5.4", "heads merged without transpose", "made for a batch only")
def my_merge(context):
    B, num_heads, T, head_dim = context.shape
    return context.reshape(B, T, num_heads * head_dim)


@unnamed("5.4")
def my_merge(context):
    return context.transpose(-3, -2)


@unnamed("5.4")
def my_merge(context):
    return torch.cat(context.unbind(-3), dim=-2)


@unnamed("5.4")
def my_merge(context):
    return torch.cat(context.flip(-2).unbind(-3), dim=-1)


# --- 5.5 multi-head attention from a blank page -----------------------------------------------------------------------

VIEWS = """
class MyMultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("visible", torch.tril(torch.ones(context_length, context_length)) == 1)

    def split(self, x):
        B, T, d_out = x.shape
        return x.view(B, T, self.num_heads, d_out // self.num_heads).transpose(1, 2)

    def forward(self, x):
        B, T, d_in = x.shape
        Q, K, V = self.split(self.W_query(x)), self.split(self.W_key(x)), self.split(self.W_value(x))
        d_k = K.shape[-1]
        scores = (Q * d_k**-0.5) @ K.mT
        scores = torch.where(self.visible[:T, :T], scores, -torch.inf)
        weights = self.drop(scores.softmax(dim=-1))
        context = (weights @ V).transpose(1, 2).reshape(B, T, -1)
        return self.out_proj(context)
"""

EINSUM = """
class MyMultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, qkv_bias) for _ in range(3))
        self.out_proj = nn.Linear(d_out, d_out)
        self.n, self.p = num_heads, dropout

    def forward(self, x):
        layers = self.W_query, self.W_key, self.W_value
        queries, keys, values = (layer(x).unflatten(-1, (self.n, -1)) for layer in layers)
        scores = torch.einsum("bthd,bshd->bhts", queries, keys) / keys.shape[-1] ** 0.5
        place = torch.arange(x.shape[1], device=x.device)
        shares = torch.exp(scores)
        shares = shares * (place[:, None] >= place)
        weights = shares / shares.sum(dim=-1, keepdim=True)
        weights = F.dropout(weights, self.p, self.training)
        context = torch.einsum("bhts,bshd->bthd", weights, values).flatten(2)
        return self.out_proj(context)
"""

LOOP = """
class MyMultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.size, self.dropout = d_out // num_heads, dropout
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        p = self.dropout if self.training else 0.0
        parts = zip(*[layer(x).split(self.size, dim=-1) for layer in (self.W_query, self.W_key, self.W_value)])
        heads = [F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=p) for q, k, v in parts]
        return self.out_proj(torch.cat(heads, dim=-1))
"""

for text in (VIEWS, EINSUM, LOOP):
    written("5.5", None, text)

BUFFER = 'self.register_buffer("visible", torch.tril(torch.ones(context_length, context_length)) == 1)'
for name, text, *changes in [
    (
        "heads in a Python list",
        EINSUM,
        (
            "self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, qkv_bias) for _ in range(3))",
            "self.layers = [nn.Linear(d_in, d_out, qkv_bias) for _ in range(3)]",
        ),
        ("layers = self.W_query, self.W_key, self.W_value", "layers = self.layers"),
    ),
    (
        "heads in a Python list",
        LOOP,
        (
            "        self.W_key = nn.Linear(d_in, d_out, qkv_bias)\n",
            "        self.projections = (nn.Linear(d_in, d_out, qkv_bias), nn.Linear(d_in, d_out, qkv_bias))\n",
        ),
        ("        self.W_value = nn.Linear(d_in, d_out, qkv_bias)\n", ""),
        ("(self.W_query, self.W_key, self.W_value)", "(self.W_query, *self.projections)"),
    ),
    ("view after transpose", VIEWS, (".reshape(B, T, -1)", ".view(B, T, -1)")),
    (
        "view after transpose",
        EINSUM,
        (
            'torch.einsum("bhts,bshd->bthd", weights, values).flatten(2)',
            "(weights @ values.transpose(1, 2)).permute(0, 2, 1, 3).view(*x.shape[:2], -1)",
        ),
    ),
    ("mask not cut to the tokens", VIEWS, ("self.visible[:T, :T]", "self.visible")),
    (
        "mask not cut to the tokens",
        EINSUM,
        ("torch.arange(x.shape[1], device=x.device)", "torch.arange(self.length)"),
        ("self.n, self.p = num_heads, dropout", "self.n, self.p, self.length = num_heads, dropout, context_length"),
    ),
    (
        "changed in place",
        VIEWS,
        (
            "self.drop(scores.softmax(dim=-1))",
            "scores.softmax(dim=-1)\n        weights *= self.visible[:T, :T]\n        weights = self.drop(weights)",
        ),
    ),
    ("changed in place", EINSUM, ("shares = shares * (place[:, None] >= place)", "shares.tril_()")),
    ("dropout in evaluation", EINSUM, (", self.training)", ")")),
    ("dropout in evaluation", LOOP, (" if self.training else 0.0", "")),
    ("heads merged without transpose", VIEWS, (".transpose(1, 2).reshape(B, T, -1)", ".reshape(B, T, -1)")),
    ("heads merged without transpose", EINSUM, ("->bthd", "->bhtd"), (".flatten(2)", ".reshape(*x.shape[:2], -1)")),
    (
        "heads split without transpose",
        VIEWS,
        (
            "x.view(B, T, self.num_heads, d_out // self.num_heads).transpose(1, 2)",
            "x.view(B, self.num_heads, T, d_out // self.num_heads)",
        ),
    ),
    (
        "heads split without transpose",
        VIEWS,
        (
            "x.view(B, T, self.num_heads, d_out // self.num_heads).transpose(1, 2)",
            "x.view(B, self.num_heads, T, d_out // self.num_heads)",
        ),
        (".transpose(1, 2).reshape(B, T, -1)", ".reshape(B, T, -1)"),
    ),
    (
        "heads split without transpose",
        LOOP,
        (".split(self.size, dim=-1)", ".view(len(x), -1, x.shape[1], self.size).unbind(1)"),
    ),
    ("softmax over the wrong axis", VIEWS, ("softmax(dim=-1)", "softmax(dim=-2)")),
    ("softmax over the wrong axis", VIEWS, ("softmax(dim=-1)", "softmax(dim=1)")),
    ("softmax over the wrong axis", EINSUM, ("shares.sum(dim=-1,", "shares.sum(dim=2,")),
    (
        "softmax over the wrong axis",
        EINSUM,
        ("shares / shares.sum(dim=-1, keepdim=True)", "(scores + (place[:, None] >= place).log()).softmax(0)"),
    ),
    ("mask the wrong way round", VIEWS, ("scores, -torch.inf", "-torch.inf, scores")),
    (
        "mask the wrong way round",
        LOOP,
        ("is_causal=True", "attn_mask=torch.ones(x.shape[1], x.shape[1]).triu(1).bool()"),
    ),
    ("mask the wrong way round", EINSUM, (" >= place", " <= place")),
    ("diagonal off by one", VIEWS, ("context_length)) == 1", "context_length), diagonal=1) == 1")),
    ("diagonal off by one", EINSUM, (" >= place", " > place")),
    ("hidden scores filled with a number", VIEWS, ("-torch.inf)", "0.0)")),
    ("hidden scores filled with a number", VIEWS, ("-torch.inf)", "torch.inf)")),
    (
        "hidden scores filled with a number",
        EINSUM,
        ("torch.exp(scores)", "torch.exp(scores.tril())"),
        ("shares = shares * (place[:, None] >= place)", "pass"),
    ),
    ("query and key swapped", VIEWS, ("(Q * d_k**-0.5) @ K.mT", "(K * d_k**-0.5) @ Q.mT")),
    ("query and key swapped", LOOP, ("attention(q, k, v", "attention(k, q, v")),
    ("scaled by √d_out", VIEWS, ("d_k = K.shape[-1]", "d_k = self.W_key.out_features")),
    ("scaled by √d_out", EINSUM, ("keys.shape[-1] ** 0.5", "(keys.shape[-1] * self.n) ** 0.5")),
    ("scaled by d_k, not its root", VIEWS, ("**-0.5", "**-1")),
    ("scaled by d_k, not its root", LOOP, ("dropout_p=p", "dropout_p=p, scale=1 / self.size")),
    ("scaled by √d_in", VIEWS, ("d_k = K.shape[-1]", "d_k = d_in")),
    ("scaled by √d_in", EINSUM, ("keys.shape[-1] **", "x.shape[-1] **")),
    ("scaled by √T", VIEWS, ("d_k = K.shape[-1]", "d_k = K.shape[-2]")),
    ("scaled by √T", EINSUM, ("keys.shape[-1] **", "keys.shape[1] **")),
    ("no scale", VIEWS, ("(Q * d_k**-0.5)", "Q")),
    ("no scale", LOOP, ("dropout_p=p", "dropout_p=p, scale=1.0")),
    ("multiplied by the scale", VIEWS, ("**-0.5", "**0.5")),
    ("multiplied by the scale", EINSUM, ("/ keys.shape", "* keys.shape")),
    (
        "masked after softmax, rows not renormalised",
        VIEWS,
        ("        scores = torch.where(self.visible[:T, :T], scores, -torch.inf)\n", ""),
        ("scores.softmax(dim=-1)", "scores.softmax(dim=-1) * self.visible[:T, :T]"),
    ),
    ("masked after softmax, rows not renormalised", EINSUM, ("shares / shares.sum", "shares / torch.exp(scores).sum")),
    ("future not masked", VIEWS, ("scores = torch.where", "torch.where")),
    ("future not masked", LOOP, ("is_causal=True, ", "")),
    ("out_proj not used", VIEWS, ("self.out_proj(context)", "context")),
    ("out_proj not used", LOOP, ("self.out_proj(torch.cat(heads, dim=-1))", "torch.cat(heads, dim=-1)")),
    (
        "one coin for several numbers",
        VIEWS,
        ("self.drop(scores.softmax(dim=-1))", "scores.softmax(dim=-1) * self.drop(torch.ones(B, 1, T, T))"),
    ),
    (
        "one coin for several numbers",
        EINSUM,
        (
            "F.dropout(weights, self.p, self.training)",
            "weights * F.dropout(torch.ones_like(weights[0]), self.p, self.training)",
        ),
    ),
    ("nothing dropped", VIEWS, ("self.drop(scores.softmax(dim=-1))", "scores.softmax(dim=-1)")),
    ("nothing dropped", EINSUM, ("weights = F.dropout", "F.dropout")),
    (
        "dropout on scores, or rows rescaled",
        VIEWS,
        ("@ K.mT", "@ K.mT\n        scores = self.drop(scores)"),
        ("self.drop(scores.softmax(dim=-1))", "scores.softmax(dim=-1)"),
    ),
    (
        "dropout on scores, or rows rescaled",
        VIEWS,
        ("self.drop(scores.softmax(dim=-1))", "self.drop(scores).softmax(dim=-1)"),
    ),
    (
        "dropout on scores, or rows rescaled",
        EINSUM,
        (
            "self.p, self.training)",
            "self.p, self.training)\n        weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)",
        ),
    ),
    (
        "wrong dropout factor",
        EINSUM,
        (
            "F.dropout(weights, self.p, self.training)",
            "weights * (torch.rand(weights.shape) < 1 - self.p) if self.training else weights",
        ),
    ),
    (
        "wrong dropout factor",
        VIEWS,
        (
            "self.drop(scores.softmax(dim=-1))",
            "self.drop(scores.softmax(dim=-1)) * (1 - self.drop.p if self.training else 1)",
        ),
    ),
    ("mask not a buffer", VIEWS, (BUFFER, "self.visible = torch.ones(context_length, context_length).tril().bool()")),
    (
        "mask not a buffer",
        EINSUM,
        ("self.n, self.p =", "self.place = torch.arange(context_length)\n        self.n, self.p ="),
        ("torch.arange(x.shape[1], device=x.device)", "self.place[: x.shape[1]]"),
    ),
]:
    written("5.5", (name,), text, changes)

written(
    "5.5",
    ("scaled by √d_out", "diagonal off by one"),
    VIEWS,
    [
        ("d_k = K.shape[-1]", "d_k = self.W_key.out_features"),
        ("context_length)) == 1", "context_length), diagonal=1) == 1"),
    ],
)
written(
    "5.5", ("no scale", "out_proj not used"), VIEWS, [("(Q * d_k**-0.5)", "Q"), ("self.out_proj(context)", "context")]
)
written(
    "5.5",
    ("mask not a buffer", "dropout in evaluation"),
    VIEWS,
    [
        (BUFFER, "self.visible = torch.ones(context_length, context_length).tril().bool()"),
        ("self.drop(scores.softmax(dim=-1))", "nn.Dropout(self.drop.p)(scores.softmax(dim=-1))"),
    ],
)
written("5.5", (), VIEWS, [("nn.Linear(d_out, d_out)", "nn.Linear(d_out, d_out, bias=False)")])
written("5.5", (), VIEWS, [("self.out_proj(context)", "self.out_proj(context) + x.sum()")])
written("5.5", (), LOOP, [("torch.cat(heads", "torch.cat(heads[::-1]")])
written("5.5", (), LOOP, [("torch.cat(heads, dim=-1)", "torch.cat(heads, dim=-1).flip(1)")])

# --- 5.6 counting parameters ------------------------------------------------------------------------------------------


@right("5.6")
def my_count(d_in, d_out, num_heads, qkv_bias):
    projection = d_in * d_out + (d_out if qkv_bias else 0)
    return 3 * projection + d_out**2 + d_out


@right("5.6")
def my_count(d_in, d_out, num_heads, qkv_bias):
    layers = [torch.nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3)] + [torch.nn.Linear(d_out, d_out)]
    return sum(parameter.numel() for layer in layers for parameter in layer.parameters())


@right("5.6")
def my_count(d_in, d_out, num_heads, qkv_bias):
    head_dim = d_out // num_heads
    total = sum(3 * head_dim * (d_in + int(qkv_bias)) for _ in range(num_heads))
    return torch.tensor(total + d_out * (d_out + 1))


@wrong("5.6", "bias of out_proj forgotten")
def my_count(d_in, d_out, num_heads, qkv_bias):
    return 3 * (d_in + qkv_bias) * d_out + d_out * d_out


@wrong("5.6", "bias of out_proj forgotten")
def my_count(d_in, d_out, num_heads, qkv_bias):
    layers = [torch.nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3)]
    layers += [torch.nn.Linear(d_out, d_out, bias=False)]
    return sum(parameter.numel() for layer in layers for parameter in layer.parameters())


@wrong("5.6", "biases of queries, keys and values forgotten")
def my_count(d_in, d_out, num_heads, qkv_bias):
    return 3 * d_in * d_out + d_out * d_out + d_out


@wrong("5.6", "biases of queries, keys and values forgotten")
def my_count(d_in, d_out, num_heads, qkv_bias):
    return d_out * (3 * d_in + d_out + 1)


@wrong("5.6", "biases counted that are not there")
def my_count(d_in, d_out, num_heads, qkv_bias):
    return 3 * (d_in * d_out + d_out) + d_out * d_out + d_out


@wrong("5.6", "biases counted that are not there")
def my_count(d_in, d_out, num_heads, qkv_bias):
    layers = [torch.nn.Linear(size, d_out) for size in (d_in, d_in, d_in, d_out)]
    return sum(parameter.numel() for layer in layers for parameter in layer.parameters())


@wrong("5.6", "out_proj forgotten")
def my_count(d_in, d_out, num_heads, qkv_bias):
    return 3 * (d_in + qkv_bias) * d_out


@wrong("5.6", "out_proj forgotten")
def my_count(d_in, d_out, num_heads, qkv_bias):
    layer = torch.nn.Linear(d_in, 3 * d_out, bias=qkv_bias)
    return sum(parameter.numel() for parameter in layer.parameters())


@wrong("5.6", "heads counted again")
def my_count(d_in, d_out, num_heads, qkv_bias):
    return num_heads * 3 * (d_in + qkv_bias) * d_out + d_out * d_out + d_out


@wrong("5.6", "heads counted again")
def my_count(d_in, d_out, num_heads, qkv_bias):
    one = 3 * (d_in + qkv_bias) * d_out + d_out * d_out + d_out
    return sum(one for _ in range(num_heads))


@wrong("5.6", "out_proj as wide as the inputs")
def my_count(d_in, d_out, num_heads, qkv_bias):
    return 3 * (d_in + qkv_bias) * d_out + d_in * d_out + d_out


@wrong("5.6", "out_proj as wide as the inputs")
def my_count(d_in, d_out, num_heads, qkv_bias):
    return 4 * d_in * d_out + (4 if qkv_bias else 1) * d_out


@wrong("5.6", "bias of out_proj forgotten", "biases of queries, keys and values forgotten")
def my_count(d_in, d_out, num_heads, qkv_bias):
    return 3 * d_in * d_out + d_out * d_out


@unnamed("5.6")
def my_count(d_in, d_out, num_heads, qkv_bias):
    return 124_439_808


@unnamed("5.6")
def my_count(d_in, d_out, num_heads, qkv_bias):
    return 3 * (d_in + qkv_bias) * d_out + d_out * d_out + d_out + 1


@unnamed("5.6")
def my_count(d_in, d_out, num_heads, qkv_bias):
    return f"{3 * (d_in + qkv_bias) * d_out + d_out * d_out + d_out:,}"


# --- 5.7 the attention of GPT-2 small ---------------------------------------------------------------------------------


@right("5.7")
def my_gpt2_attention(MultiHeadAttention):
    return MultiHeadAttention(768, 768, 1024, 0.1, 12, True)


@right("5.7")
def my_gpt2_attention(MultiHeadAttention):
    width, num_heads = 12 * 64, 12
    return MultiHeadAttention(width, width, 2**10, num_heads=num_heads, dropout=0.1, qkv_bias=True).eval()


@right("5.7")
def my_gpt2_attention(MultiHeadAttention):
    settings = {"d_in": 768, "d_out": 768, "context_length": 1024}
    layer = MultiHeadAttention(**settings, dropout=1 / 10, num_heads=12, qkv_bias=True)
    return layer


@wrong("5.7", "biases left out")
def my_gpt2_attention(MultiHeadAttention):
    return MultiHeadAttention(768, 768, 1024, 0.1, 12)


@wrong("5.7", "biases left out")
def my_gpt2_attention(MultiHeadAttention):
    return MultiHeadAttention(768, 768, context_length=1024, dropout=0.1, num_heads=12, qkv_bias=False)


@wrong("5.7", "width of one head for all")
def my_gpt2_attention(MultiHeadAttention):
    return MultiHeadAttention(768, 64, 1024, 0.1, 12, qkv_bias=True)


@wrong("5.7", "width of one head for all")
def my_gpt2_attention(MultiHeadAttention):
    return MultiHeadAttention(768, d_out=768 // 12, context_length=1024, dropout=0.1, num_heads=12, qkv_bias=True)


@wrong("5.7", "head_dim taken for the number of heads")
def my_gpt2_attention(MultiHeadAttention):
    return MultiHeadAttention(768, 768, 1024, 0.1, 64, qkv_bias=True)


@wrong("5.7", "head_dim taken for the number of heads")
def my_gpt2_attention(MultiHeadAttention):
    return MultiHeadAttention(768, 768, 1024, dropout=0.1, num_heads=768 // 12, qkv_bias=True)


@wrong("5.7", "width and context length exchanged")
def my_gpt2_attention(MultiHeadAttention):
    return MultiHeadAttention(1024, 1024, 768, 0.1, 12, qkv_bias=True)


@wrong("5.7", "width and context length exchanged")
def my_gpt2_attention(MultiHeadAttention):
    return MultiHeadAttention(768, 1024, context_length=768, dropout=0.1, num_heads=12, qkv_bias=True)


@wrong("5.7", "another size of GPT-2")
def my_gpt2_attention(MultiHeadAttention):
    return MultiHeadAttention(1024, 1024, 1024, 0.1, 16, qkv_bias=True)


@wrong("5.7", "another size of GPT-2")
def my_gpt2_attention(MultiHeadAttention):
    return MultiHeadAttention(d_in=1280, d_out=1280, context_length=1024, dropout=0.1, num_heads=20, qkv_bias=True)


@wrong("5.7", "head_dim taken for the number of heads", "biases left out")
def my_gpt2_attention(MultiHeadAttention):
    return MultiHeadAttention(768, 768, 1024, 0.1, 64)


@unnamed("5.7")
def my_gpt2_attention(MultiHeadAttention):
    return MultiHeadAttention(768, 768, 1024, 0.0, 12, qkv_bias=True)


@unnamed("5.7")
def my_gpt2_attention(MultiHeadAttention):
    return MultiHeadAttention


@unnamed("5.7")
def my_gpt2_attention(MultiHeadAttention):
    return MultiHeadAttention(768, 768, 512, 0.1, 12, qkv_bias=True)
