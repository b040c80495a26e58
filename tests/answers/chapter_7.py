"""Answers to the exercises of chapter 7."""

import math

import torch
import torch.nn.functional as F

from tests.answers import right, unnamed, wrong

# --- 7.1 the loss of the next token -----------------------------------------------------------------------------------


@right("7.1")
def my_next_token_losses(scores, tokens):
    return F.cross_entropy(scores[:-1], tokens[1:], reduction="none")


@right("7.1")
def my_next_token_losses(scores, tokens):
    return torch.stack([-torch.softmax(scores[t], dim=0)[tokens[t + 1]].log() for t in range(len(tokens) - 1)])


@right("7.1")
def my_next_token_losses(scores, tokens):
    rows = torch.arange(len(tokens) - 1)
    return scores[:-1].logsumexp(-1) - scores[rows, tokens[1:]]


@wrong("7.1", "losses averaged")
def my_next_token_losses(scores, tokens):
    return F.cross_entropy(scores[:-1], tokens[1:])


@wrong("7.1", "losses averaged")
def my_next_token_losses(scores, tokens):
    logs = scores[:-1].log_softmax(-1)
    return -logs.gather(1, tokens[1:, None]).sum()


@wrong("7.1", "token not shifted")
def my_next_token_losses(scores, tokens):
    return F.cross_entropy(scores, tokens, reduction="none")


@wrong("7.1", "token not shifted")
def my_next_token_losses(scores, tokens):
    return F.cross_entropy(scores[1:], tokens[1:], reduction="none")


@wrong("7.1", "token shifted the wrong way")
def my_next_token_losses(scores, tokens):
    return F.cross_entropy(scores[1:], tokens[:-1], reduction="none")


@wrong("7.1", "token shifted the wrong way")
def my_next_token_losses(scores, tokens):
    logs = scores.log_softmax(-1)
    return torch.stack([-logs[t, tokens[t - 1]] for t in range(1, len(tokens))])


@wrong("7.1", "sign of the loss")
def my_next_token_losses(scores, tokens):
    return scores[:-1].log_softmax(-1).gather(1, tokens[1:, None])[:, 0]


@wrong("7.1", "sign of the loss")
def my_next_token_losses(scores, tokens):
    return torch.stack([torch.softmax(scores[t], dim=0)[tokens[t + 1]].log() for t in range(len(tokens) - 1)])


@wrong("7.1", "scores taken for logarithms")
def my_next_token_losses(scores, tokens):
    return -scores[:-1].gather(1, tokens[1:, None])[:, 0]


@wrong("7.1", "scores taken for logarithms")
def my_next_token_losses(scores, tokens):
    return F.nll_loss(scores[:-1], tokens[1:], reduction="none")


@wrong("7.1", "losses averaged", "token not shifted")
def my_next_token_losses(scores, tokens):
    return F.cross_entropy(scores, tokens)


@wrong("7.1", "softmax over the wrong axis")
def my_next_token_losses(scores, tokens):
    return scores[:-1].log_softmax(0).gather(1, tokens[1:, None])[:, 0].neg()


@wrong("7.1", "softmax over the wrong axis")
def my_next_token_losses(scores, tokens):
    probabilities = torch.softmax(scores, dim=0)
    return torch.stack([-torch.log(probabilities[t, tokens[t + 1]]) for t in range(len(tokens) - 1)])


@wrong("7.1", "probability instead of loss")
def my_next_token_losses(scores, tokens):
    return scores[:-1].softmax(-1).gather(1, tokens[1:, None])[:, 0]


@wrong("7.1", "probability instead of loss")
def my_next_token_losses(scores, tokens):
    return F.nll_loss(scores[:-1].softmax(-1), tokens[1:], reduction="none")


@unnamed("7.1")
def my_next_token_losses(scores, tokens):
    return F.cross_entropy(scores[:-1], tokens[1:], reduction="none", label_smoothing=0.1)


@unnamed("7.1")
def my_next_token_losses(scores, tokens):
    return F.cross_entropy(scores[:-1], tokens[1:], reduction="none").flip(0)


# --- 7.2 previous-token heads -----------------------------------------------------------------------------------------


@right("7.2")
def my_previous_token_share(weights):
    return torch.stack([head.diagonal(-1).mean() for head in weights])


@right("7.2")
def my_previous_token_share(weights):
    return weights[:, 1:, :-1].diagonal(dim1=1, dim2=2).mean(1)


@right("7.2")
def my_previous_token_share(weights):
    later = torch.arange(1, weights.shape[-1])
    return weights[:, later, later - 1].sum(dim=-1) / len(later)


@wrong("7.2", "one number for all heads")
def my_previous_token_share(weights):
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).mean()


@wrong("7.2", "one number for all heads")
def my_previous_token_share(weights):
    later = torch.arange(1, weights.shape[-1])
    return weights[:, later, later - 1].sum() / weights[:, later, later - 1].numel()


@wrong("7.2", "own weight instead of the previous")
def my_previous_token_share(weights):
    return weights.diagonal(dim1=-2, dim2=-1).mean(dim=-1)


@wrong("7.2", "own weight instead of the previous")
def my_previous_token_share(weights):
    return torch.stack([head.trace() / len(head) for head in weights])


@wrong("7.2", "next token instead of the previous")
def my_previous_token_share(weights):
    return weights.diagonal(offset=1, dim1=-2, dim2=-1).mean(dim=-1)


@wrong("7.2", "next token instead of the previous")
def my_previous_token_share(weights):
    earlier = torch.arange(weights.shape[-1] - 1)
    return weights[:, earlier, earlier + 1].mean(dim=-1)


@wrong("7.2", "first token counted")
def my_previous_token_share(weights):
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).sum(dim=-1) / weights.shape[-1]


@wrong("7.2", "first token counted")
def my_previous_token_share(weights):
    T = weights.shape[-1]
    return (weights * torch.eye(T).roll(1, 0).tril()).sum(dim=(1, 2)) / T


@wrong("7.2", "one number for all heads", "own weight instead of the previous")
def my_previous_token_share(weights):
    return weights.diagonal(dim1=-2, dim2=-1).mean()


@unnamed("7.2")
def my_previous_token_share(weights):
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1)


@unnamed("7.2")
def my_previous_token_share(weights):
    return weights[:, 1:, :-1].mean(dim=(1, 2))


@unnamed("7.2")
def my_previous_token_share(weights):
    return weights.tril(diagonal=-1).sum(dim=-1).mean(dim=-1)  # all of the past, and the first row counted


# --- 7.3 the floor ----------------------------------------------------------------------------------------------------


@right("7.3")
def my_floor(probabilities):
    return torch.special.entr(probabilities).sum()


@right("7.3")
def my_floor(probabilities):
    return -sum(p * math.log(p) for p in probabilities.tolist() if p > 0)


@right("7.3")
def my_floor(probabilities):
    return torch.distributions.Categorical(probs=probabilities).entropy()


@wrong("7.3", "logarithm of zero")
def my_floor(probabilities):
    return -(probabilities * probabilities.log()).sum()


@wrong("7.3", "logarithm of zero")
def my_floor(probabilities):
    return (probabilities @ (1 / probabilities).log()).sum()


@wrong("7.3", "sign of the floor")
def my_floor(probabilities):
    return (probabilities * probabilities.clamp(min=1e-12).log()).sum()


@wrong("7.3", "sign of the floor")
def my_floor(probabilities):
    return sum(p * math.log(p) for p in probabilities.tolist() if p > 0)


@wrong("7.3", "logarithm to base 2")
def my_floor(probabilities):
    return torch.special.entr(probabilities).sum() / math.log(2)


@wrong("7.3", "logarithm to base 2")
def my_floor(probabilities):
    possible = probabilities[probabilities > 0]
    return -(possible * possible.log2()).sum()


@wrong("7.3", "all tokens taken as equally likely")
def my_floor(probabilities):
    return torch.tensor(float(len(probabilities))).log()


@wrong("7.3", "all tokens taken as equally likely")
def my_floor(probabilities):
    return -math.log(1 / probabilities.numel())


@wrong("7.3", "logarithm to base 2", "logarithm of zero")
def my_floor(probabilities):
    return -(probabilities * probabilities.log2()).sum()


@unnamed("7.3")
def my_floor(probabilities):
    possible = probabilities[probabilities > 0]
    return -possible.log().sum()


@unnamed("7.3")
def my_floor(probabilities):
    return -probabilities.max().log()


@unnamed("7.3")
def my_floor(probabilities):
    return -torch.xlogy(probabilities, probabilities).sum(dim=0, keepdim=True)


@right("7.3")
def my_floor(probabilities):
    return torch.special.entr(probabilities).numpy().sum()  # an np.float32


# --- 7.4 temperature --------------------------------------------------------------------------------------------------


@right("7.4")
def my_probabilities(scores, temperature):
    return F.softmax(scores * (1 / temperature), dim=-1)


@right("7.4")
def my_probabilities(scores, temperature):
    exponentials = torch.exp(scores / temperature)
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@right("7.4")
def my_probabilities(scores, temperature):
    powers = scores.softmax(-1) ** (1 / temperature)
    return powers / powers.sum(-1, keepdim=True)


@wrong("7.4", "multiplied by the temperature")
def my_probabilities(scores, temperature):
    return torch.softmax(scores * temperature, dim=-1)


@wrong("7.4", "multiplied by the temperature")
def my_probabilities(scores, temperature):
    powers = scores.softmax(-1) ** temperature
    return powers / powers.sum(-1, keepdim=True)


@wrong("7.4", "probabilities divided")
def my_probabilities(scores, temperature):
    return torch.softmax(scores, dim=-1) / temperature


@wrong("7.4", "probabilities divided")
def my_probabilities(scores, temperature):
    exponentials = torch.exp(scores)
    return exponentials / (temperature * exponentials.sum(dim=-1, keepdim=True))


@wrong("7.4", "temperature ignored")
def my_probabilities(scores, temperature):
    return torch.softmax(scores, dim=-1)


@wrong("7.4", "temperature ignored")
def my_probabilities(scores, temperature):
    probabilities = torch.softmax(scores, dim=-1) / temperature
    return probabilities / probabilities.sum(dim=-1, keepdim=True)


@wrong("7.4", "multiplied by the temperature", "probabilities divided")
def my_probabilities(scores, temperature):
    return torch.softmax(scores, dim=-1) / temperature if scores.ndim == 1 else (scores * temperature).softmax(-1)


@unnamed("7.4")
def my_probabilities(scores, temperature):
    return torch.softmax(scores / temperature, dim=0)


@unnamed("7.4")
def my_probabilities(scores, temperature):
    return torch.exp(scores / temperature)
