"""Answers to the exercises of chapter 1."""

import math

import torch
import torch.nn.functional as F
from torch.autograd.functional import jacobian

from tests.answers import right, unnamed, wrong

# --- 1.1 scores -------------------------------------------------------------------------------------------------------


@right("1.1")
def my_scores(query, inputs):
    return torch.stack([torch.dot(query, row) for row in inputs])


@right("1.1")
def my_scores(query, inputs):
    return (inputs * query).sum(dim=-1)


@right("1.1")
def my_scores(query, inputs):
    scores = torch.zeros(len(inputs), dtype=torch.float64)
    for j, row in enumerate(inputs):
        for k, number in enumerate(row):
            scores[j] += query[k] * number
    return scores


@right("1.1")
def my_scores(query, inputs):
    return torch.einsum("d,td->t", query, inputs)


@wrong("1.1", "products not added up")
def my_scores(query, inputs):
    return inputs * query


@wrong("1.1", "products not added up")
def my_scores(query, inputs):
    return torch.stack([torch.mul(query, row) for row in inputs])


@wrong("1.1", "added up over the wrong axis")
def my_scores(query, inputs):
    return (inputs * query).sum(dim=0)


@wrong("1.1", "added up over the wrong axis")
def my_scores(query, inputs):
    return (inputs * query).sum()


@wrong("1.1", "added up over the wrong axis")
def my_scores(query, inputs):
    return sum(row * query for row in inputs)


@wrong("1.1", "vectors made the same length")
def my_scores(query, inputs):
    return F.cosine_similarity(inputs, query, dim=-1)


@wrong("1.1", "vectors made the same length")
def my_scores(query, inputs):
    return inputs @ query / inputs.norm(dim=-1)


@wrong("1.1", "weights instead of scores")
def my_scores(query, inputs):
    return torch.softmax(inputs @ query, dim=0)


@wrong("1.1", "weights instead of scores")
def my_scores(query, inputs):
    exponentials = (inputs @ query).exp()
    return exponentials / exponentials.sum()


@wrong("1.1", "scaled, though nothing asks for it")
def my_scores(query, inputs):
    return inputs @ query / len(query) ** 0.5


@wrong("1.1", "scaled, though nothing asks for it")
def my_scores(query, inputs):
    return (inputs * query).mean(dim=-1)


@wrong("1.1", "vectors made the same length", "weights instead of scores")
def my_scores(query, inputs):
    return torch.softmax(F.cosine_similarity(inputs, query, dim=-1), dim=0)


@unnamed("1.1")
def my_scores(query, inputs):
    return -inputs @ query


@unnamed("1.1")
def my_scores(query, inputs):
    return torch.cdist(inputs, query[None]).squeeze(-1)


@unnamed("1.1")
def my_scores(query, inputs):
    return (inputs @ query).unsqueeze(0)


# --- 1.2 how softmax reacts -------------------------------------------------------------------------------------------


@right("1.2")
def my_reactions(weights):
    return weights[:, None] * (torch.eye(len(weights)) - weights)


@right("1.2")
def my_reactions(weights):
    T = len(weights)
    table = torch.empty(T, T)
    for i in range(T):
        for j in range(T):
            table[i, j] = weights[i] * (1 - weights[i]) if i == j else -weights[i] * weights[j]
    return table


@right("1.2")
def my_reactions(weights):
    return jacobian(lambda scores: torch.softmax(scores, dim=0), weights.log())


@wrong("1.2", "only own scores")
def my_reactions(weights):
    return torch.diag(weights * (1 - weights))


@wrong("1.2", "only own scores")
def my_reactions(weights):
    return torch.eye(len(weights)) * (weights - weights**2)


@wrong("1.2", "sign of the other scores")
def my_reactions(weights):
    return torch.diag(weights) + torch.outer(weights, weights)


@wrong("1.2", "sign of the other scores")
def my_reactions(weights):
    table = weights[:, None] * weights
    table.fill_diagonal_(0)
    return table + torch.diag(weights * (1 - weights))


@wrong("1.2", "reaction to the own score")
def my_reactions(weights):
    return -torch.outer(weights, weights)


@wrong("1.2", "reaction to the own score")
def my_reactions(weights):
    table = -weights[:, None] * weights
    for i in range(len(weights)):
        table[i, i] = weights[i] ** 2
    return table


@wrong("1.2", "reaction to the own score")
def my_reactions(weights):
    return torch.eye(len(weights)) - torch.outer(weights, weights)


@wrong("1.2", "softmax of weights")
def my_reactions(weights):
    return jacobian(lambda scores: torch.softmax(scores, dim=0), weights)


@wrong("1.2", "softmax of weights")
def my_reactions(weights):
    weights = weights.exp() / weights.exp().sum()
    return torch.diag(weights) - torch.outer(weights, weights)


@wrong("1.2", "sign of the other scores", "softmax of weights")
def my_reactions(weights):
    weights = torch.softmax(weights, dim=0)
    return torch.diag(weights) + torch.outer(weights, weights)


@unnamed("1.2")
def my_reactions(weights):
    return weights * (1 - weights)


@unnamed("1.2")
def my_reactions(weights):
    return torch.outer(1 - weights, weights) - 2 * torch.diag(weights)


@unnamed("1.2")
def my_reactions(weights):
    return torch.outer(weights, weights) - torch.diag(weights)


@unnamed("1.2")
def my_reactions(weights):
    return torch.diag(weights) - weights


# --- 1.3 a stable softmax ---------------------------------------------------------------------------------------------


@right("1.3")
def my_softmax(scores):
    return torch.exp(scores - torch.logsumexp(scores, dim=0))


@right("1.3")
def my_softmax(scores):
    largest = max(scores.tolist())
    exponentials = [math.exp(score - largest) for score in scores.tolist()]
    return torch.tensor([exponential / sum(exponentials) for exponential in exponentials])


@right("1.3")
def my_softmax(scores):
    shifted = (scores - scores.amax(dim=-1, keepdim=True)).double()
    return F.normalize(2 ** (shifted / math.log(2)), p=1, dim=-1)


@wrong("1.3", "exp overflows")
def my_softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum()


@wrong("1.3", "exp overflows")
def my_softmax(scores):
    exponentials = torch.stack([score.exp() for score in scores])
    return exponentials / exponentials.sum(dim=0)


@wrong("1.3", "another number than the largest subtracted")
def my_softmax(scores):
    exponentials = torch.exp(scores - scores.mean())
    return exponentials / exponentials.sum()


@wrong("1.3", "another number than the largest subtracted")
def my_softmax(scores):
    exponentials = torch.exp(scores - scores[0])
    return exponentials / exponentials.sum()


@wrong("1.3", "another number than the largest subtracted")
def my_softmax(scores):
    exponentials = torch.exp(scores - 1000)
    return exponentials / exponentials.sum()


@wrong("1.3", "another number than the largest subtracted")
def my_softmax(scores):
    exponentials = torch.exp(scores - scores.min())
    return exponentials / exponentials.sum()


@wrong("1.3", "another number than the largest subtracted")
def my_softmax(scores):
    exponentials = torch.exp(scores - scores.abs().max())
    return exponentials / exponentials.sum()


@wrong("1.3", "-inf not survived")
def my_softmax(scores):
    differences = scores[None, :] - scores[:, None]
    return 1 / torch.exp(differences).sum(dim=1)


@wrong("1.3", "-inf not survived")
def my_softmax(scores):
    weights = []
    for score in scores:
        weights.append(1 / sum(torch.exp(other - score) for other in scores))
    return torch.stack(weights)


@wrong("1.3", "exponentials not divided by their sum")
def my_softmax(scores):
    return torch.exp(scores - scores.max())


@wrong("1.3", "exponentials not divided by their sum")
def my_softmax(scores):
    return scores.exp()


@wrong("1.3", "no softmax")
def my_softmax(scores):
    return scores / scores.sum()


@wrong("1.3", "no softmax")
def my_softmax(scores):
    shifted = scores - scores.min() + 1
    return shifted / shifted.sum()


@wrong("1.3", "scaled, though nothing asks for it")
def my_softmax(scores):
    return torch.softmax(scores / 100, dim=-1)


@wrong("1.3", "scaled, though nothing asks for it")
def my_softmax(scores):
    exponentials = torch.exp((scores - scores.max()) / len(scores) ** 0.5)
    return exponentials / exponentials.sum()


@wrong("1.3", "scores cut to a limit")
def my_softmax(scores):
    exponentials = torch.exp(scores.clamp(max=80))
    return exponentials / exponentials.sum()


@wrong("1.3", "scores cut to a limit")
def my_softmax(scores):
    cut = torch.minimum(scores, torch.tensor(50.0)).maximum(torch.tensor(-50.0))
    return torch.softmax(cut, dim=0)


@wrong("1.3", "another number than the largest subtracted", "exponentials not divided by their sum")
def my_softmax(scores):
    return torch.exp(scores - scores.mean())


@wrong("1.3", "powers of another number than e")
def my_softmax(scores):
    exponentials = 2 ** (scores - scores.max())
    return exponentials / exponentials.sum()


@wrong("1.3", "powers of another number than e")
def my_softmax(scores):
    powers = torch.pow(10.0, scores - torch.max(scores))
    return powers / torch.sum(powers)


@unnamed("1.3")
def my_softmax(scores):
    return (scores == scores.max()).float()


@unnamed("1.3")
def my_softmax(scores):
    return torch.full(scores.shape, 1 / len(scores))


@unnamed("1.3")
def my_softmax(scores):
    exponentials = torch.exp(-(scores - scores.max()))
    return exponentials / exponentials.sum()


@unnamed("1.3")
def my_softmax(scores):
    scores -= scores.max()
    return torch.exp(scores) / torch.exp(scores).sum()


# --- 1.4 one sentence asks another ------------------------------------------------------------------------------------


@right("1.4")
def my_cross_weights(queries, keys):
    return torch.stack([torch.softmax(keys @ query, dim=0) for query in queries])


@right("1.4")
def my_cross_weights(queries, keys):
    return F.scaled_dot_product_attention(queries, keys, torch.eye(len(keys)), scale=1.0)


@right("1.4")
def my_cross_weights(queries, keys):
    return torch.softmax(torch.einsum("qd,kd->kq", queries, keys), dim=0).T


@wrong("1.4", "softmax over the wrong axis")
def my_cross_weights(queries, keys):
    return torch.softmax(queries @ keys.T, dim=0)


@wrong("1.4", "softmax over the wrong axis")
def my_cross_weights(queries, keys):
    return torch.stack([torch.softmax(queries @ key, dim=0) for key in keys], dim=1)


@wrong("1.4", "softmax over the wrong axis")
def my_cross_weights(queries, keys):
    exponentials = torch.exp(queries @ keys.T)
    return exponentials / exponentials.sum()


@wrong("1.4", "query and key swapped")
def my_cross_weights(queries, keys):
    return torch.softmax(keys @ queries.T, dim=-1)


@wrong("1.4", "query and key swapped")
def my_cross_weights(queries, keys):
    return torch.stack([torch.softmax(queries @ key, dim=0) for key in keys])


@wrong("1.4", "no softmax")
def my_cross_weights(queries, keys):
    return queries @ keys.T


@wrong("1.4", "no softmax")
def my_cross_weights(queries, keys):
    scores = queries @ keys.T
    return scores / scores.sum(dim=-1, keepdim=True)


@wrong("1.4", "exponentials not divided by their sum")
def my_cross_weights(queries, keys):
    return torch.exp(queries @ keys.T)


@wrong("1.4", "exponentials not divided by their sum")
def my_cross_weights(queries, keys):
    scores = queries @ keys.T
    return torch.exp(scores - scores.amax(dim=-1, keepdim=True))


@wrong("1.4", "scaled, though nothing asks for it")
def my_cross_weights(queries, keys):
    return torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)


@wrong("1.4", "scaled, though nothing asks for it")
def my_cross_weights(queries, keys):
    return F.scaled_dot_product_attention(queries, keys, torch.eye(len(keys)))


@wrong("1.4", "query and key swapped", "softmax over the wrong axis")
def my_cross_weights(queries, keys):
    return torch.softmax(keys @ queries.T, dim=0)


@unnamed("1.4")
def my_cross_weights(queries, keys):
    return torch.softmax(-torch.cdist(queries, keys), dim=-1)


@unnamed("1.4")
def my_cross_weights(queries, keys):
    return torch.full((len(queries), len(keys)), 1 / len(keys))


@wrong("1.4", "query and key swapped")
def my_cross_weights(queries, keys):
    return torch.softmax(queries @ keys.T, dim=-1).T


# --- 1.5 attention in one function ------------------------------------------------------------------------------------


@right("1.5")
def my_context_vectors(inputs):
    return torch.stack([torch.softmax(inputs @ query, dim=0) @ inputs for query in inputs])


@right("1.5")
def my_context_vectors(inputs):
    return F.scaled_dot_product_attention(inputs, inputs, inputs, scale=1)


@right("1.5")
def my_context_vectors(inputs):
    weights = torch.softmax(inputs @ inputs.mT, dim=0)  # the scores are symmetric, so this is the table, transposed
    return torch.einsum("st,sd->td", weights, inputs)


@wrong("1.5", "softmax over the wrong axis")
def my_context_vectors(inputs):
    return torch.softmax(inputs @ inputs.T, dim=0) @ inputs


@wrong("1.5", "softmax over the wrong axis")
def my_context_vectors(inputs):
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    return weights.T @ inputs


@wrong("1.5", "softmax over the wrong axis")
def my_context_vectors(inputs):
    exponentials = torch.exp(inputs @ inputs.T)
    return exponentials / exponentials.sum() @ inputs


@wrong("1.5", "values forgotten")
def my_context_vectors(inputs):
    return torch.softmax(inputs @ inputs.T, dim=-1)


@wrong("1.5", "values forgotten")
def my_context_vectors(inputs):
    return torch.stack([torch.softmax(inputs @ query, dim=0) for query in inputs])


@wrong("1.5", "no softmax")
def my_context_vectors(inputs):
    return inputs @ inputs.T @ inputs


@wrong("1.5", "no softmax")
def my_context_vectors(inputs):
    scores = inputs @ inputs.T
    return (scores / scores.sum(dim=-1, keepdim=True)) @ inputs


@wrong("1.5", "exponentials not divided by their sum")
def my_context_vectors(inputs):
    return torch.exp(inputs @ inputs.T) @ inputs


@wrong("1.5", "exponentials not divided by their sum")
def my_context_vectors(inputs):
    context = torch.zeros(inputs.shape)
    for i, query in enumerate(inputs):
        for other in inputs:
            context[i] += torch.dot(query, other).exp() * other
    return context


@wrong("1.5", "scaled, though nothing asks for it")
def my_context_vectors(inputs):
    return F.scaled_dot_product_attention(inputs, inputs, inputs)


@wrong("1.5", "scaled, though nothing asks for it")
def my_context_vectors(inputs):
    weights = torch.softmax(inputs @ inputs.T / inputs.shape[-1], dim=-1)
    return weights @ inputs


@wrong("1.5", "scaled, though nothing asks for it", "softmax over the wrong axis")
def my_context_vectors(inputs):
    return torch.softmax(inputs @ inputs.T / inputs.shape[-1] ** 0.5, dim=0) @ inputs


@unnamed("1.5")
def my_context_vectors(inputs):
    return inputs


@unnamed("1.5")
def my_context_vectors(inputs):
    return torch.softmax(inputs @ inputs.T, dim=-1).sum(dim=-1, keepdim=True) * inputs


@unnamed("1.5")
def my_context_vectors(inputs):
    return torch.softmax(inputs @ inputs.T, dim=-1) @ inputs / len(inputs)
