"""Answers to the exercises of chapter 2."""

import torch
import torch.nn.functional as F
from torch import nn

from course_utils.repository import ROOT
from tests.answers import right, unnamed, written, wrong

# --- 2.1 project, then score ------------------------------------------------------------------------------------------


@right("2.1")
def my_projected_scores(x, inputs, W_query, W_key):
    return (x @ W_query) @ (inputs @ W_key).T


@right("2.1")
def my_projected_scores(x, inputs, W_query, W_key):
    return torch.einsum("a,ad,bd,tb->t", x, W_query, W_key, inputs)


@right("2.1")
def my_projected_scores(x, inputs, W_query, W_key):
    return torch.stack([torch.dot(x @ W_query, token @ W_key) for token in inputs]).double()


@wrong("2.1", "query and key swapped")
def my_projected_scores(x, inputs, W_query, W_key):
    return (inputs @ W_query) @ (x @ W_key)


@wrong("2.1", "query and key swapped")
def my_projected_scores(x, inputs, W_query, W_key):
    key = x @ W_key
    return torch.stack([torch.dot(token @ W_query, key) for token in inputs])


@wrong("2.1", "one matrix for queries and keys")
def my_projected_scores(x, inputs, W_query, W_key):
    return inputs @ W_query @ (x @ W_query)


@wrong("2.1", "one matrix for queries and keys")
def my_projected_scores(x, inputs, W_query, W_key):
    return torch.einsum("a,ad,bd,tb->t", x, W_key, W_key, inputs)


@wrong("2.1", "projection forgotten")
def my_projected_scores(x, inputs, W_query, W_key):
    return inputs @ x


@wrong("2.1", "projection forgotten")
def my_projected_scores(x, inputs, W_query, W_key):
    return inputs @ (x @ W_query)


@wrong("2.1", "projection forgotten")
def my_projected_scores(x, inputs, W_query, W_key):
    return (inputs @ W_key) @ x


@wrong("2.1", "weights instead of scores")
def my_projected_scores(x, inputs, W_query, W_key):
    keys = inputs @ W_key
    return torch.softmax(keys @ (x @ W_query) / keys.shape[-1] ** 0.5, dim=-1)


@wrong("2.1", "weights instead of scores")
def my_projected_scores(x, inputs, W_query, W_key):
    return F.softmax((x @ W_query) @ (inputs @ W_key).T, dim=0)


@wrong("2.1", "scaled, though nothing asks for it")
def my_projected_scores(x, inputs, W_query, W_key):
    return (inputs @ W_key) @ (x @ W_query) / W_key.shape[-1] ** 0.5


@wrong("2.1", "scaled, though nothing asks for it")
def my_projected_scores(x, inputs, W_query, W_key):
    return ((x @ W_query) * (inputs @ W_key)).mean(dim=-1)


@wrong("2.1", "query and key swapped", "scaled, though nothing asks for it")
def my_projected_scores(x, inputs, W_query, W_key):
    return (inputs @ W_query) @ (x @ W_key) / 2


@unnamed("2.1")
def my_projected_scores(x, inputs, W_query, W_key):
    return inputs @ W_key


@unnamed("2.1")
def my_projected_scores(x, inputs, W_query, W_key):
    return (inputs @ W_key - x @ W_query).norm(dim=-1)


# --- 2.2 scaled weights -----------------------------------------------------------------------------------------------


@right("2.2")
def my_scaled_weights(queries, keys):
    return F.scaled_dot_product_attention(queries, keys, torch.eye(len(keys)))


@right("2.2")
def my_scaled_weights(queries, keys):
    return torch.stack([torch.softmax(keys @ (query * len(query) ** -0.5), dim=0) for query in queries])


@right("2.2")
def my_scaled_weights(queries, keys):
    scores = (queries @ keys.mT).double() / keys.size(1) ** 0.5
    exponentials = torch.exp(scores - scores.amax(dim=1, keepdim=True))
    return exponentials / exponentials.sum(dim=1, keepdim=True)


@right("2.2")
def my_scaled_weights(queries, keys):
    scores = torch.einsum("qd,kd->kq", queries, keys)
    scores /= keys.shape[-1] ** 0.5
    return scores.softmax(dim=0).T


@wrong("2.2", "changed in place")
def my_scaled_weights(queries, keys):
    weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
    weights /= weights.sum(dim=-1, keepdim=True)
    return weights


@wrong("2.2", "changed in place")
def my_scaled_weights(queries, keys):
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return exponentials.div_(exponentials.sum(dim=-1, keepdim=True))


@wrong("2.2", "softmax over the wrong axis")
def my_scaled_weights(queries, keys):
    return torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=0)


@wrong("2.2", "softmax over the wrong axis")
def my_scaled_weights(queries, keys):
    return torch.stack([torch.softmax(queries @ key / len(key) ** 0.5, dim=0) for key in keys], dim=1)


@wrong("2.2", "softmax over the wrong axis")
def my_scaled_weights(queries, keys):
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    return torch.softmax(scores.flatten(), dim=0).view(scores.shape)


@wrong("2.2", "query and key swapped")
def my_scaled_weights(queries, keys):
    return torch.softmax(keys @ queries.T / keys.shape[-1] ** 0.5, dim=-1)


@wrong("2.2", "query and key swapped")
def my_scaled_weights(queries, keys):
    return F.scaled_dot_product_attention(keys, queries, torch.eye(len(keys)))


@wrong("2.2", "no softmax")
def my_scaled_weights(queries, keys):
    return queries @ keys.T / keys.shape[-1] ** 0.5


@wrong("2.2", "no softmax")
def my_scaled_weights(queries, keys):
    scores = queries @ keys.T
    return scores / scores.sum(dim=-1, keepdim=True)


@wrong("2.2", "scaled after softmax")
def my_scaled_weights(queries, keys):
    return torch.softmax(queries @ keys.T, dim=-1) / keys.shape[-1] ** 0.5


@wrong("2.2", "scaled after softmax")
def my_scaled_weights(queries, keys):
    return (queries @ keys.T).softmax(dim=-1).mul(keys.shape[-1] ** -0.5)


@wrong("2.2", "exponentials not divided by their sum")
def my_scaled_weights(queries, keys):
    return torch.exp(queries @ keys.T / keys.shape[-1] ** 0.5)


@wrong("2.2", "exponentials not divided by their sum")
def my_scaled_weights(queries, keys):
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    return (scores - scores.amax(dim=-1, keepdim=True)).exp()


@wrong("2.2", "no scale")
def my_scaled_weights(queries, keys):
    return torch.softmax(queries @ keys.T, dim=-1)


@wrong("2.2", "no scale")
def my_scaled_weights(queries, keys):
    return F.scaled_dot_product_attention(queries, keys, torch.eye(len(keys)), scale=1.0)


@wrong("2.2", "multiplied by the scale")
def my_scaled_weights(queries, keys):
    return torch.softmax(queries @ keys.T * keys.shape[-1] ** 0.5, dim=-1)


@wrong("2.2", "multiplied by the scale")
def my_scaled_weights(queries, keys):
    return torch.softmax(queries @ keys.T / keys.shape[-1] ** -0.5, dim=-1)


@wrong("2.2", "scaled by d_k, not its root")
def my_scaled_weights(queries, keys):
    return torch.softmax(queries @ keys.T / keys.shape[-1], dim=-1)


@wrong("2.2", "scaled by d_k, not its root")
def my_scaled_weights(queries, keys):
    return torch.stack([torch.softmax((keys * query).mean(dim=-1), dim=0) for query in queries])


@wrong("2.2", "scaled by √T")
def my_scaled_weights(queries, keys):
    return torch.softmax(queries @ keys.T / len(keys) ** 0.5, dim=-1)


@wrong("2.2", "scaled by √T")
def my_scaled_weights(queries, keys):
    scores = queries @ keys.T
    return torch.softmax(scores / scores.shape[-1] ** 0.5, dim=-1)


@wrong("2.2", "exp overflows")
def my_scaled_weights(queries, keys):
    exponentials = torch.exp(queries @ keys.T / keys.shape[-1] ** 0.5)
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@wrong("2.2", "exp overflows")
def my_scaled_weights(queries, keys):
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    return torch.stack([row.exp() / row.exp().sum() for row in scores])


@wrong("2.2", "no scale", "softmax over the wrong axis")
def my_scaled_weights(queries, keys):
    return torch.softmax(queries @ keys.T, dim=0)


@wrong("2.2", "query and key swapped", "multiplied by the scale")
def my_scaled_weights(queries, keys):
    return torch.softmax(keys @ queries.T * keys.shape[-1] ** 0.5, dim=-1)


@unnamed("2.2")
def my_scaled_weights(queries, keys):
    return torch.softmax(queries @ keys.T / 1.5, dim=-1)


@unnamed("2.2")
def my_scaled_weights(queries, keys):
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    return torch.softmax(scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf), dim=-1)


@unnamed("2.2")
def my_scaled_weights(queries, keys):
    return torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1).detach()


@unnamed("2.2")
def my_scaled_weights(queries, keys):
    return torch.softmax(F.normalize(queries, dim=-1) @ F.normalize(keys, dim=-1).T, dim=-1)


@wrong("2.2", "query and key swapped")
def my_scaled_weights(queries, keys):
    return torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1).T


# --- 2.3 from a linear layer to a matrix ------------------------------------------------------------------------------


@right("2.3")
def my_matrix(layer):
    return layer(torch.eye(layer.in_features))


@right("2.3")
def my_matrix(layer):
    return layer.weight.detach().clone().permute(1, 0)


@right("2.3")
def my_matrix(layer):
    matrix = torch.empty(layer.in_features, layer.out_features)
    for i in range(layer.in_features):
        for j in range(layer.out_features):
            matrix[i, j] = layer.weight[j, i].item()
    return nn.Parameter(matrix)


@wrong("2.3", "weight not transposed")
def my_matrix(layer):
    return layer.weight


@wrong("2.3", "weight not transposed")
def my_matrix(layer):
    return layer.state_dict()["weight"].clone()


@wrong("2.3", "weight not transposed")
def my_matrix(layer):
    fits = layer.weight.shape == (layer.in_features, layer.out_features)  # so does a square one, in the wrong order
    return layer.weight if fits else layer.weight.T


@wrong("2.3", "reshaped instead of transposed")
def my_matrix(layer):
    return layer.weight.reshape(layer.in_features, layer.out_features)


@wrong("2.3", "reshaped instead of transposed")
def my_matrix(layer):
    return torch.stack(layer.weight.flatten().chunk(layer.in_features))


@wrong("2.3", "inverse instead of transpose")
def my_matrix(layer):
    return torch.linalg.pinv(layer.weight)


@wrong("2.3", "inverse instead of transpose")
def my_matrix(layer):
    return torch.linalg.lstsq(layer.weight, torch.eye(layer.out_features), driver="gelsd").solution


@wrong("2.3", "reshaped instead of transposed", "weight not transposed")
def my_matrix(layer):
    rows, columns = layer.weight.shape
    return layer.weight if rows < columns else layer.weight.view(columns, rows)


@unnamed("2.3")
def my_matrix(layer):
    return nn.Linear(layer.out_features, layer.in_features, bias=False).weight


@unnamed("2.3")
def my_matrix(layer):
    return layer.weight.T.flip(0)


@unnamed("2.3")
def my_matrix(layer):
    return layer


# --- 2.4 self-attention in one function -------------------------------------------------------------------------------


@right("2.4")
def my_self_attention(x, W_query, W_key, W_value):
    return F.scaled_dot_product_attention(x @ W_query, x @ W_key, x @ W_value)


@right("2.4")
def my_self_attention(x, W_query, W_key, W_value):
    keys, values, contexts = x @ W_key, x @ W_value, []
    for token in x:
        scores = torch.stack([torch.dot(token @ W_query, key) for key in keys]) / len(keys[0]) ** 0.5
        contexts.append(scores.softmax(dim=0) @ values)
    return torch.stack(contexts)


@right("2.4")
def my_self_attention(x, W_query, W_key, W_value):
    scores = torch.einsum("ta,ad,bd,sb->st", x, W_query, W_key, x) / W_key.shape[1] ** 0.5
    return torch.einsum("st,sa,ad->td", scores.softmax(dim=0), x, W_value)


@wrong("2.4", "changed in place")
def my_self_attention(x, W_query, W_key, W_value):
    weights = torch.softmax(x @ W_query @ (x @ W_key).T / W_key.shape[-1] ** 0.5, dim=-1)
    weights /= weights.sum(dim=-1, keepdim=True)
    return weights @ (x @ W_value)


@wrong("2.4", "changed in place")
def my_self_attention(x, W_query, W_key, W_value):
    weights = torch.exp(x @ W_query @ (x @ W_key).T / W_key.shape[-1] ** 0.5)
    weights.div_(weights.sum(dim=-1, keepdim=True))
    return weights @ (x @ W_value)


@wrong("2.4", "values forgotten")
def my_self_attention(x, W_query, W_key, W_value):
    return torch.softmax(x @ W_query @ (x @ W_key).T / W_key.shape[-1] ** 0.5, dim=-1)


@wrong("2.4", "values forgotten")
def my_self_attention(x, W_query, W_key, W_value):
    queries, keys = x @ W_query, x @ W_key
    weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
    return weights @ x


@wrong("2.4", "values forgotten")
def my_self_attention(x, W_query, W_key, W_value):
    return F.scaled_dot_product_attention(x @ W_query, x @ W_key, x @ W_key)


@wrong("2.4", "softmax over the wrong axis")
def my_self_attention(x, W_query, W_key, W_value):
    weights = torch.softmax(x @ W_query @ (x @ W_key).T / W_key.shape[-1] ** 0.5, dim=0)
    return weights @ (x @ W_value)


@wrong("2.4", "softmax over the wrong axis")
def my_self_attention(x, W_query, W_key, W_value):
    exponentials = torch.exp(x @ W_query @ (x @ W_key).T / W_key.shape[-1] ** 0.5)
    return exponentials / exponentials.sum(dim=-2, keepdim=True) @ (x @ W_value)


@wrong("2.4", "softmax over the wrong axis")
def my_self_attention(x, W_query, W_key, W_value):
    exponentials = torch.exp(x @ W_query @ (x @ W_key).T / W_key.shape[-1] ** 0.5)
    return exponentials / exponentials.sum() @ (x @ W_value)


@wrong("2.4", "query and key swapped")
def my_self_attention(x, W_query, W_key, W_value):
    return F.scaled_dot_product_attention(x @ W_key, x @ W_query, x @ W_value)


@wrong("2.4", "query and key swapped")
def my_self_attention(x, W_query, W_key, W_value):
    scores = (x @ W_key) @ (x @ W_query).T
    return torch.softmax(scores / W_key.shape[-1] ** 0.5, dim=-1) @ (x @ W_value)


@wrong("2.4", "no softmax")
def my_self_attention(x, W_query, W_key, W_value):
    return x @ W_query @ (x @ W_key).T / W_key.shape[-1] ** 0.5 @ (x @ W_value)


@wrong("2.4", "no softmax")
def my_self_attention(x, W_query, W_key, W_value):
    scores = x @ W_query @ (x @ W_key).T
    return scores / scores.sum(dim=-1, keepdim=True) @ (x @ W_value)


@wrong("2.4", "scaled after softmax")
def my_self_attention(x, W_query, W_key, W_value):
    weights = torch.softmax(x @ W_query @ (x @ W_key).T, dim=-1) / W_key.shape[-1] ** 0.5
    return weights @ (x @ W_value)


@wrong("2.4", "scaled after softmax")
def my_self_attention(x, W_query, W_key, W_value):
    return F.scaled_dot_product_attention(x @ W_query, x @ W_key, x @ W_value, scale=1) / W_key.shape[-1] ** 0.5


@wrong("2.4", "exponentials not divided by their sum")
def my_self_attention(x, W_query, W_key, W_value):
    return torch.exp(x @ W_query @ (x @ W_key).T / W_key.shape[-1] ** 0.5) @ (x @ W_value)


@wrong("2.4", "exponentials not divided by their sum")
def my_self_attention(x, W_query, W_key, W_value):
    scores = x @ W_query @ (x @ W_key).T / W_key.shape[-1] ** 0.5
    return (scores - scores.amax(dim=-1, keepdim=True)).exp() @ (x @ W_value)


@wrong("2.4", "no scale")
def my_self_attention(x, W_query, W_key, W_value):
    return torch.softmax(x @ W_query @ (x @ W_key).T, dim=-1) @ (x @ W_value)


@wrong("2.4", "no scale")
def my_self_attention(x, W_query, W_key, W_value):
    return F.scaled_dot_product_attention(x @ W_query, x @ W_key, x @ W_value, scale=1)


@wrong("2.4", "multiplied by the scale")
def my_self_attention(x, W_query, W_key, W_value):
    return torch.softmax(x @ W_query @ (x @ W_key).T * W_key.shape[-1] ** 0.5, dim=-1) @ (x @ W_value)


@wrong("2.4", "multiplied by the scale")
def my_self_attention(x, W_query, W_key, W_value):
    d_k = W_key.shape[-1]
    return F.scaled_dot_product_attention(x @ W_query, x @ W_key, x @ W_value, scale=d_k**0.5)


@wrong("2.4", "scaled by d_k, not its root")
def my_self_attention(x, W_query, W_key, W_value):
    return torch.softmax(x @ W_query @ (x @ W_key).T / W_key.shape[-1], dim=-1) @ (x @ W_value)


@wrong("2.4", "scaled by d_k, not its root")
def my_self_attention(x, W_query, W_key, W_value):
    return F.scaled_dot_product_attention(x @ W_query, x @ W_key, x @ W_value, scale=1 / W_key.shape[1])


@wrong("2.4", "scaled by √d_in")
def my_self_attention(x, W_query, W_key, W_value):
    return torch.softmax(x @ W_query @ (x @ W_key).T / x.shape[-1] ** 0.5, dim=-1) @ (x @ W_value)


@wrong("2.4", "scaled by √d_in")
def my_self_attention(x, W_query, W_key, W_value):
    return F.scaled_dot_product_attention(x @ W_query, x @ W_key, x @ W_value, scale=len(W_key) ** -0.5)


@wrong("2.4", "scaled by √T")
def my_self_attention(x, W_query, W_key, W_value):
    keys = x @ W_key
    return torch.softmax(x @ W_query @ keys.T / keys.shape[0] ** 0.5, dim=-1) @ (x @ W_value)


@wrong("2.4", "scaled by √T")
def my_self_attention(x, W_query, W_key, W_value):
    return F.scaled_dot_product_attention(x @ W_query, x @ W_key, x @ W_value, scale=len(x) ** -0.5)


@wrong("2.4", "no scale", "softmax over the wrong axis")
def my_self_attention(x, W_query, W_key, W_value):
    return torch.softmax(x @ W_query @ (x @ W_key).T, dim=0) @ (x @ W_value)


@wrong("2.4", "query and key swapped", "no scale")
def my_self_attention(x, W_query, W_key, W_value):
    return torch.softmax(x @ W_key @ (x @ W_query).T, dim=-1) @ (x @ W_value)


@wrong("2.4", "values forgotten", "scaled by √d_in")
def my_self_attention(x, W_query, W_key, W_value):
    return torch.softmax(x @ W_query @ (x @ W_key).T / x.shape[-1] ** 0.5, dim=-1) @ x


@unnamed("2.4")
def my_self_attention(x, W_query, W_key, W_value):
    return F.scaled_dot_product_attention(x @ W_query, x @ W_key, x @ W_value, is_causal=True)


@unnamed("2.4")
def my_self_attention(x, W_query, W_key, W_value):
    return x @ W_value


@unnamed("2.4")
def my_self_attention(x, W_query, W_key, W_value):
    weights = torch.softmax(x @ W_query @ (x @ W_key) / W_key.shape[-1] ** 0.5, dim=-1)
    return weights @ (x @ W_value)


@unnamed("2.4")
def my_self_attention(x, W_query, W_key, W_value):
    return F.scaled_dot_product_attention(x @ W_query, x @ W_query, x @ W_value)


# --- 2.5 self-attention as a layer ------------------------------------------------------------------------------------

LAYERS = """\
class MySelfAttention(nn.Module):
    def __init__(self, d_in, d_k, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_k, bias=False)
        self.W_key = nn.Linear(d_in, d_k, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x):
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        scores = queries @ keys.transpose(1, 2)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=2)
        return torch.bmm(weights, values)
"""

MATRICES = """\
class MySelfAttention(nn.Module):
    def __init__(self, d_in, d_k, d_out):
        super().__init__()
        self.scale = d_k**-0.5
        self.W_query = nn.Parameter(torch.rand(d_in, d_k))
        self.W_key = nn.Parameter(torch.rand(d_in, d_k))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        B, T, d_in = x.shape
        queries, keys, values = (x @ matrix for matrix in (self.W_query, self.W_key, self.W_value))
        return F.scaled_dot_product_attention(queries, keys, values, scale=self.scale)
"""

LOOPS = """\
class MySelfAttention(nn.Module):
    def __init__(self, d_in, d_k, d_out):
        super().__init__()
        self.d_k = d_k
        self.W_query = nn.Parameter(torch.randn(d_k, d_in))
        self.W_key = nn.Parameter(torch.randn(d_k, d_in))
        self.W_value = nn.Parameter(torch.randn(d_out, d_in))

    def one(self, x):
        queries, keys, values = x @ self.W_query.T, x @ self.W_key.T, x @ self.W_value.T
        return torch.stack([torch.softmax(keys @ query / self.d_k**0.5, dim=0) @ values for query in queries])

    def forward(self, x):
        return torch.stack([self.one(sequence) for sequence in x])
"""

BY_HAND = """\
class MySelfAttention(nn.Module):
    def __init__(self, d_in, d_k, d_out):
        super().__init__()
        for name, width in {"W_query": d_k, "W_key": d_k, "W_value": d_out}.items():
            self.add_module(name, nn.Linear(d_in, width, bias=False))

    def forward(self, x):
        scores = torch.einsum("btd,bsd->bts", self.W_query(x), self.W_key(x)) / self.W_key.out_features**0.5
        shares = torch.exp(scores)
        shares = shares / shares.sum(dim=2, keepdim=True)
        return torch.einsum("bts,bsd->btd", shares, self.W_value(x))
"""

for text in (LAYERS, MATRICES, LOOPS, BY_HAND):
    written("2.5", None, text)

ROOT = "scores / keys.shape[-1] ** 0.5"
DIVIDED = "shares = shares / shares.sum(dim=2, keepdim=True)"
WRONG = [
    ("super().__init__() forgotten", LAYERS, [("        super().__init__()\n", "")]),
    ("super().__init__() forgotten", MATRICES, [("        super().__init__()\n", "")]),
    (
        "a plain tensor instead of a parameter",
        LAYERS,
        [
            ("W_key = nn.Linear(d_in, d_k, bias=False)", "W_key = torch.rand(d_in, d_k)"),
            ("self.W_key(x)", "x @ self.W_key"),
        ],
    ),
    (
        "a plain tensor instead of a parameter",
        MATRICES,
        [
            ("W_query = nn.Parameter(torch.rand(d_in, d_k))", "W_query = nn.Parameter(torch.rand(d_in, d_k)) * 0.1"),
        ],
    ),
    (
        "parameters in a Python list",
        MATRICES,
        [
            (
                "self.W_query = nn.Parameter(torch.rand(d_in, d_k))",
                "self.matrices = [nn.Parameter(torch.rand(d_in, d_k))]",
            ),
            (
                "self.W_key = nn.Parameter(torch.rand(d_in, d_k))",
                "self.matrices += [nn.Parameter(torch.rand(d_in, d_k))]",
            ),
            (
                "self.W_value = nn.Parameter(torch.rand(d_in, d_out))",
                "self.matrices += [nn.Parameter(torch.rand(d_in, d_out))]",
            ),
            ("(self.W_query, self.W_key, self.W_value)", "self.matrices"),
        ],
    ),
    (
        "parameters in a Python list",
        LAYERS,
        [
            ("self.W_query = nn.Linear(d_in, d_k, bias=False)", "self.layers = {}"),
            (
                "self.W_key = nn.Linear(d_in, d_k, bias=False)",
                "self.layers['query'] = nn.Linear(d_in, d_k, bias=False)",
            ),
            (
                "self.W_value = nn.Linear(",
                "self.layers['key'] = nn.Linear(d_in, d_k, bias=False)\n        self.layers['value'] = nn.Linear(",
            ),
            ("self.W_query(x)", "self.layers['query'](x)"),
            ("self.W_key(x)", "self.layers['key'](x)"),
            ("self.W_value(x)", "self.layers['value'](x)"),
        ],
    ),
    (
        "widths of keys and values mixed up",
        LAYERS,
        [
            ("W_query = nn.Linear(d_in, d_k", "W_query = nn.Linear(d_in, d_out"),
            ("W_key = nn.Linear(d_in, d_k", "W_key = nn.Linear(d_in, d_out"),
        ],
    ),
    ("widths of keys and values mixed up", MATRICES, [("torch.rand(d_in, d_out)", "torch.rand(d_in, d_k)")]),
    ("bias left on", LAYERS, [("d_out, bias=False", "d_out")]),
    # a bias of the keys adds the same to all scores of a row, and softmax does not see it
    ("bias left on", LAYERS, [("W_key = nn.Linear(d_in, d_k, bias=False)", "W_key = nn.Linear(d_in, d_k)")]),
    ("bias left on", BY_HAND, [("bias=False", "bias=True")]),
    (
        "weight not transposed",
        LOOPS,
        [(f"x @ self.{name}.T", f"x @ self.{name}") for name in ("W_query", "W_key", "W_value")],
    ),
    (
        "weight not transposed",
        LAYERS,
        [(f"self.{name}(x)", f"torch.matmul(x, self.{name}.weight)") for name in ("W_query", "W_key", "W_value")],
    ),
    ("keys not transposed", LAYERS, [("keys.transpose(1, 2)", "keys")]),
    ("keys not transposed", LAYERS, [("keys.transpose(1, 2)", "keys.T")]),
    ("changed in place", BY_HAND, [(DIVIDED, "shares /= shares.sum(dim=2, keepdim=True)")]),
    (
        "changed in place",
        LAYERS,
        [("torch.bmm(weights, values)", "torch.bmm(weights.div_(weights.sum(dim=2, keepdim=True)), values)")],
    ),
    ("values forgotten", LAYERS, [("torch.bmm(weights, values)", "weights")]),
    ("values forgotten", LAYERS, [("torch.bmm(weights, values)", "weights @ x")]),
    ("values forgotten", MATRICES, [("keys, values, scale", "keys, x, scale")]),
    ("softmax over the wrong axis", LAYERS, [("dim=2", "dim=1")]),
    ("softmax over the wrong axis", LAYERS, [("dim=2", "dim=0")]),
    ("softmax over the wrong axis", BY_HAND, [("dim=2", "dim=1")]),
    ("softmax over the wrong axis", BY_HAND, [("dim=2", "dim=(1, 2)")]),
    ("query and key swapped", LAYERS, [("queries @ keys.transpose(1, 2)", "keys @ queries.transpose(1, 2)")]),
    ("query and key swapped", MATRICES, [("(queries, keys, values, ", "(keys, queries, values, ")]),
    ("no softmax", LAYERS, [(f"torch.softmax({ROOT}, dim=2)", ROOT)]),
    ("no softmax", BY_HAND, [("torch.exp(scores)", "scores")]),
    ("scaled after softmax", LAYERS, [(f"{ROOT}, dim=2)", "scores, dim=2) / keys.shape[-1] ** 0.5")]),
    ("scaled after softmax", MATRICES, [("scale=self.scale)", "scale=1) * self.scale")]),
    ("exponentials not divided by their sum", BY_HAND, [(f"        {DIVIDED}\n", "")]),
    ("exponentials not divided by their sum", LAYERS, [(f"torch.softmax({ROOT}, dim=2)", f"({ROOT}).exp()")]),
    ("scaled by √d_out", LAYERS, [(ROOT, "scores / values.shape[-1] ** 0.5")]),
    ("scaled by √d_out", MATRICES, [("d_k**-0.5", "d_out**-0.5")]),
    ("scaled by d_k, not its root", LAYERS, [(ROOT, "scores / keys.shape[-1]")]),
    ("scaled by d_k, not its root", MATRICES, [("d_k**-0.5", "1 / d_k")]),
    ("scaled by √d_in", LAYERS, [(ROOT, "scores / x.shape[-1] ** 0.5")]),
    ("scaled by √d_in", MATRICES, [("d_k**-0.5", "d_in**-0.5")]),
    ("scaled by √T", LAYERS, [(ROOT, "scores / keys.shape[1] ** 0.5")]),
    ("scaled by √T", MATRICES, [("scale=self.scale", "scale=T**-0.5")]),
    ("no scale", LAYERS, [(ROOT, "scores")]),
    ("no scale", MATRICES, [("scale=self.scale", "scale=1.0")]),
    ("multiplied by the scale", LAYERS, [(ROOT, "scores * keys.shape[-1] ** 0.5")]),
    ("multiplied by the scale", MATRICES, [("d_k**-0.5", "d_k**0.5")]),
]

for name, text, changes in WRONG:
    written("2.5", (name,), text, changes)

written(
    "2.5",
    ("no scale", "query and key swapped"),
    MATRICES,
    [("(queries, keys, values, scale=self.scale)", "(keys, queries, values, scale=1)")],
)
written(
    "2.5", ("bias left on", "softmax over the wrong axis"), BY_HAND, [("bias=False", "bias=True"), ("dim=2", "dim=1")]
)
written(
    "2.5", ("values forgotten", "no scale"), LAYERS, [(ROOT, "scores"), ("torch.bmm(weights, values)", "weights @ x")]
)

UNNAMED = [
    (LAYERS, [("self.W_query = ", "self.query = "), ("self.W_query(x)", "self.query(x)")]),
    (MATRICES, [("scale=self.scale", "is_causal=True")]),
    (LAYERS, [("torch.bmm(weights, values)", "torch.bmm(weights, values).mean(dim=1)")]),
    (LAYERS, [("torch.bmm(weights, values)", "torch.bmm(weights, values).detach()")]),
    (LAYERS, [(f"self.{name} = ", f"{name} = ") for name in ("W_query", "W_key", "W_value")]),  # kept nowhere
    (MATRICES, [("nn.Module", "object"), ("        super().__init__()\n", "")]),
]
for text, changes in UNNAMED:
    written("2.5", (), text, changes)
