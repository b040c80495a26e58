"""Answers to the exercises of chapter 3."""

import torch
import torch.nn.functional as F

from tests.answers import right, unnamed, wrong

# --- 3.1 running averages ---------------------------------------------------------------------------------------------


@right("3.1")
def my_running_average(sequence):
    return torch.stack([sequence[: t + 1].mean(dim=0) for t in range(len(sequence))])


@right("3.1")
def my_running_average(sequence):
    return sequence.cumsum(dim=0) / torch.arange(1, len(sequence) + 1)[:, None]


@right("3.1")
def my_running_average(sequence):
    T = len(sequence)
    scores = torch.zeros(T, T).masked_fill(torch.ones(T, T).triu(1).bool(), float("-inf"))
    return torch.einsum("ts,sd->td", scores.softmax(-1), sequence)


@wrong("3.1", "sums instead of averages")
def my_running_average(sequence):
    return torch.tril(torch.ones(len(sequence), len(sequence))) @ sequence


@wrong("3.1", "sums instead of averages")
def my_running_average(sequence):
    return sequence.cumsum(dim=0)


@wrong("3.1", "softmax over the wrong axis")
def my_running_average(sequence):
    weights = torch.tril(torch.ones(len(sequence), len(sequence)))
    return weights / weights.sum(dim=0, keepdim=True) @ sequence


@wrong("3.1", "softmax over the wrong axis")
def my_running_average(sequence):
    T = len(sequence)
    scores = torch.zeros(T, T).masked_fill(torch.ones(T, T).triu(1).bool(), float("-inf"))
    return scores.softmax(dim=0) @ sequence


@wrong("3.1", "future not masked")
def my_running_average(sequence):
    return sequence.mean(dim=0, keepdim=True).expand(len(sequence), -1)


@wrong("3.1", "future not masked")
def my_running_average(sequence):
    return torch.full((len(sequence), len(sequence)), 1 / len(sequence)) @ sequence


@wrong("3.1", "mask the wrong way round")
def my_running_average(sequence):
    weights = torch.triu(torch.ones(len(sequence), len(sequence)))
    return weights / weights.sum(dim=-1, keepdim=True) @ sequence


@wrong("3.1", "mask the wrong way round")
def my_running_average(sequence):
    return torch.stack([sequence[t:].mean(dim=0) for t in range(len(sequence))])


@wrong("3.1", "diagonal off by one")
def my_running_average(sequence):
    return torch.stack([sequence[: t + 2].mean(dim=0) for t in range(len(sequence))])


@wrong("3.1", "diagonal off by one")
def my_running_average(sequence):
    weights = torch.tril(torch.ones(len(sequence), len(sequence)), diagonal=-1)
    return weights / weights.sum(dim=-1, keepdim=True) @ sequence


@wrong("3.1", "mask the wrong way round", "softmax over the wrong axis")
def my_running_average(sequence):
    weights = torch.triu(torch.ones(len(sequence), len(sequence)))
    return weights / weights.sum(dim=0, keepdim=True) @ sequence


@unnamed("3.1")
def my_running_average(sequence):
    return sequence


@unnamed("3.1")
def my_running_average(sequence):
    return sequence.cumsum(dim=0)[-1] / len(sequence)


# --- 3.2 causal weights -----------------------------------------------------------------------------------------------


@right("3.2")
def my_causal_weights(scores):
    exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True)).tril()
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@right("3.2")
def my_causal_weights(scores):
    result = torch.zeros(scores.shape, dtype=torch.float64)
    for b in range(len(scores)):
        for t in range(scores.shape[1]):
            result[b, t, : t + 1] = torch.softmax(scores[b, t, : t + 1].double(), dim=0)
    return result


@right("3.2")
def my_causal_weights(scores):
    T = scores.shape[-1]
    return F.softmax(scores + torch.full((T, T), -1e9).triu(1), dim=-1)


@wrong("3.2", "softmax over the wrong axis")
def my_causal_weights(scores):
    hidden = torch.ones(scores.shape[-2:]).triu(1).bool()
    return torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=1)


@wrong("3.2", "softmax over the wrong axis")
def my_causal_weights(scores):
    exponentials = torch.exp(scores).tril()
    return exponentials / exponentials.sum(dim=-2, keepdim=True)


@wrong("3.2", "softmax over the wrong axis")
def my_causal_weights(scores):
    hidden = torch.ones(scores.shape[-2:]).triu(1).bool()
    return torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=0)


@wrong("3.2", "mask the wrong way round")
def my_causal_weights(scores):
    visible = torch.ones(scores.shape[-2:]).tril(-1).bool()
    return torch.softmax(scores.masked_fill(visible, -torch.inf), dim=-1)


@wrong("3.2", "mask the wrong way round")
def my_causal_weights(scores):
    return torch.stack(
        [torch.stack([F.pad(row[t:].softmax(0), (t, 0)) for t, row in enumerate(one)]) for one in scores]
    )


@wrong("3.2", "diagonal off by one")
def my_causal_weights(scores):
    hidden = torch.ones(scores.shape[-2:]).triu(0).bool()
    return torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)


@wrong("3.2", "diagonal off by one")
def my_causal_weights(scores):
    hidden = torch.ones(scores.shape[-2:]).triu(2).bool()
    return torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)


@wrong("3.2", "hidden scores filled with a number")
def my_causal_weights(scores):
    return torch.softmax(scores.tril(), dim=-1)


@wrong("3.2", "hidden scores filled with a number")
def my_causal_weights(scores):
    hidden = torch.ones(scores.shape[-2:]).triu(1).bool()
    return torch.softmax(scores.masked_fill(hidden, 1e-9), dim=-1)


@wrong("3.2", "hidden scores filled with a number")
def my_causal_weights(scores):
    hidden = torch.ones(scores.shape[-2:]).triu(1).bool()
    return torch.softmax(scores.masked_fill(hidden, torch.inf), dim=-1)


@wrong("3.2", "masked after softmax, rows not renormalised")
def my_causal_weights(scores):
    return torch.softmax(scores, dim=-1).tril()


@wrong("3.2", "masked after softmax, rows not renormalised")
def my_causal_weights(scores):
    hidden = torch.ones(scores.shape[-2:]).triu(1).bool()
    return scores.softmax(-1).masked_fill(hidden, 0)


@wrong("3.2", "future not masked")
def my_causal_weights(scores):
    hidden = torch.ones(scores.shape[-2:]).triu(1).bool()
    scores.masked_fill(hidden, -torch.inf)
    return torch.softmax(scores, dim=-1)


@wrong("3.2", "future not masked")
def my_causal_weights(scores):
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@wrong("3.2", "changed in place")
def my_causal_weights(scores):
    weights = torch.softmax(scores, dim=-1)
    weights *= torch.ones(scores.shape[-2:]).tril()
    return weights / weights.sum(dim=-1, keepdim=True)


@wrong("3.2", "changed in place")
def my_causal_weights(scores):
    weights = torch.softmax(scores, dim=-1)
    weights.masked_fill_(torch.ones(scores.shape[-2:]).triu(1).bool(), 0)
    return weights / weights.sum(dim=-1, keepdim=True)


@wrong("3.2", "softmax over the wrong axis", "diagonal off by one")
def my_causal_weights(scores):
    hidden = torch.ones(scores.shape[-2:]).triu(2).bool()
    return torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-2)


@unnamed("3.2")
def my_causal_weights(scores):
    return scores


@unnamed("3.2")
def my_causal_weights(scores):
    hidden = torch.ones(scores.shape[-2:]).triu(1).bool()
    return torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)[0]


@unnamed("3.2")
def my_causal_weights(scores):
    hidden = torch.ones(scores.shape[-2:]).triu(1).bool()
    return torch.softmax(scores.masked_fill(hidden, -torch.inf) / 2, dim=-1)


@unnamed("3.2")
def my_causal_weights(scores):
    T = len(scores)  # the number of sequences: right by chance where it is that of the tokens
    return torch.softmax(scores.masked_fill(torch.ones(T, T).triu(1).bool(), -torch.inf), dim=-1)


@wrong("3.2", "hidden scores filled with a number")
def my_causal_weights(scores):
    return torch.softmax(scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -20), dim=-1)


@wrong("3.2", "hidden scores filled with a number")
def my_causal_weights(scores):
    return torch.softmax(torch.where(torch.ones_like(scores).tril() > 0, scores, -100), dim=-1)


# --- 3.3 mask after softmax -------------------------------------------------------------------------------------------


@right("3.3")
def my_masked_afterwards(weights):
    return F.normalize(torch.tril(weights), p=1, dim=-1)


@right("3.3")
def my_masked_afterwards(weights):
    kept = weights * torch.ones(weights.shape[-1], weights.shape[-1]).tril()
    return kept / kept.sum(-1)[..., None]


@right("3.3")
def my_masked_afterwards(weights):
    hidden = torch.ones(weights.shape[-2:]).triu(1).bool()
    return torch.softmax(weights.log().masked_fill(hidden, -torch.inf), dim=-1)


@wrong("3.3", "masked after softmax, rows not renormalised")
def my_masked_afterwards(weights):
    return torch.tril(weights)


@wrong("3.3", "masked after softmax, rows not renormalised")
def my_masked_afterwards(weights):
    hidden = torch.ones(weights.shape[-2:]).triu(1).bool()
    return weights.masked_fill(hidden, 0.0) / weights.sum(dim=-1, keepdim=True)


@wrong("3.3", "softmax over the wrong axis")
def my_masked_afterwards(weights):
    kept = torch.tril(weights)
    return kept / kept.sum(dim=-2, keepdim=True)


@wrong("3.3", "softmax over the wrong axis")
def my_masked_afterwards(weights):
    kept = torch.tril(weights).transpose(-2, -1)
    return (kept / kept.sum(dim=-1, keepdim=True)).transpose(-2, -1)


@wrong("3.3", "row sums laid down as a row")
def my_masked_afterwards(weights):
    kept = torch.tril(weights)
    return kept / kept.sum(dim=-1)[..., None, :]


@wrong("3.3", "row sums laid down as a row")
def my_masked_afterwards(weights):
    kept = torch.tril(weights)
    return torch.einsum("...ts,...s->...ts", kept, 1 / kept.sum(dim=-1))


@wrong("3.3", "mask the wrong way round")
def my_masked_afterwards(weights):
    kept = torch.triu(weights)
    return kept / kept.sum(dim=-1, keepdim=True)


@wrong("3.3", "mask the wrong way round")
def my_masked_afterwards(weights):
    kept = weights * torch.ones(weights.shape[-2:]).triu(1)
    return kept / kept.sum(dim=-1, keepdim=True).clamp(min=1e-9)


@wrong("3.3", "diagonal off by one")
def my_masked_afterwards(weights):
    kept = torch.tril(weights, diagonal=1)
    return kept / kept.sum(dim=-1, keepdim=True)


@wrong("3.3", "diagonal off by one")
def my_masked_afterwards(weights):
    kept = torch.tril(weights, diagonal=-1)
    return kept / kept.sum(dim=-1, keepdim=True)


@wrong("3.3", "softmax of weights")
def my_masked_afterwards(weights):
    hidden = torch.ones(weights.shape[-2:]).triu(1).bool()
    return torch.softmax(weights.masked_fill(hidden, -torch.inf), dim=-1)


@wrong("3.3", "softmax of weights")
def my_masked_afterwards(weights):
    kept = torch.exp(weights).tril()
    return kept / kept.sum(dim=-1, keepdim=True)


@wrong("3.3", "future not masked")
def my_masked_afterwards(weights):
    return weights / weights.sum(dim=-1, keepdim=True)


@wrong("3.3", "future not masked")
def my_masked_afterwards(weights):
    weights.tril()
    return weights


@wrong("3.3", "mask the wrong way round", "masked after softmax, rows not renormalised")
def my_masked_afterwards(weights):
    return torch.triu(weights)


@unnamed("3.3")
def my_masked_afterwards(weights):
    return torch.tril(weights).sum(dim=-1)


@unnamed("3.3")
def my_masked_afterwards(weights):
    kept = torch.tril(weights) ** 2
    return kept / kept.sum(dim=-1, keepdim=True)


# --- 3.4 padding ------------------------------------------------------------------------------------------------------


@right("3.4")
def my_mask(is_padding):
    B, T = is_padding.shape
    return torch.tensor(
        [[[s != t and (s > t or bool(is_padding[b, s])) for s in range(T)] for t in range(T)] for b in range(B)]
    )


@right("3.4")
def my_mask(is_padding):
    T = is_padding.shape[1]
    visible = torch.ones(T, T).tril().bool() & ~is_padding.unsqueeze(1)
    return ~(visible | torch.eye(T).bool())


@right("3.4")
def my_mask(is_padding):
    place = torch.arange(is_padding.shape[-1])
    hidden = (place[None, :] > place[:, None]) | is_padding[:, None]
    hidden[:, place, place] = False
    return hidden


@wrong("3.4", "mask the wrong way round")
def my_mask(is_padding):
    T = is_padding.shape[-1]
    return (torch.ones(T, T).tril().bool() & ~is_padding[:, None, :]) | torch.eye(T).bool()


@wrong("3.4", "mask the wrong way round")
def my_mask(is_padding):
    T = is_padding.shape[-1]
    hidden = torch.ones(T, T).triu(1).bool() | is_padding[:, None, :]
    hidden[:, range(T), range(T)] = False
    return torch.logical_not(hidden)


@wrong("3.4", "padding not hidden")
def my_mask(is_padding):
    T = is_padding.shape[-1]
    return torch.ones(T, T).triu(1).bool().expand(len(is_padding), T, T)


@wrong("3.4", "padding not hidden")
def my_mask(is_padding):
    T = is_padding.shape[-1]
    future = torch.ones(T, T).triu(1).bool()
    return torch.stack([future for _ in is_padding])


@wrong("3.4", "future not masked")
def my_mask(is_padding):
    T = is_padding.shape[-1]
    return is_padding[:, None, :].expand(-1, T, T) & ~torch.eye(T).bool()


@wrong("3.4", "future not masked")
def my_mask(is_padding):
    return is_padding[:, None, :].repeat(1, is_padding.shape[-1], 1)


@wrong("3.4", "padding hides queries instead of keys")
def my_mask(is_padding):
    T = is_padding.shape[-1]
    return (torch.ones(T, T).triu(1).bool() | is_padding[:, :, None]) & ~torch.eye(T).bool()


@wrong("3.4", "padding hides queries instead of keys")
def my_mask(is_padding):
    T = is_padding.shape[-1]
    return torch.ones(T, T).triu(1).bool() | is_padding.unsqueeze(-1)


@wrong("3.4", "a row with everything hidden")
def my_mask(is_padding):
    T = is_padding.shape[-1]
    return torch.ones(T, T).triu(1).bool() | is_padding[:, None, :]


@wrong("3.4", "a row with everything hidden")
def my_mask(is_padding):
    place = torch.arange(is_padding.shape[-1])
    return (place > place[:, None]).logical_or(is_padding.unsqueeze(1))


@wrong("3.4", "padding hides queries instead of keys", "a row with everything hidden")
def my_mask(is_padding):
    T = is_padding.shape[-1]
    return torch.ones(T, T).triu(1).bool() | is_padding[:, :, None]


@unnamed("3.4")
def my_mask(is_padding):
    return is_padding


@unnamed("3.4")
def my_mask(is_padding):
    T = is_padding.shape[-1]
    return ((torch.ones(T, T).triu(1).bool() | is_padding[:, None, :]) & ~torch.eye(T).bool()).float()


@unnamed("3.4")
def my_mask(is_padding):
    T = is_padding.shape[1]
    return torch.ones(T, T).triu(1).bool() & is_padding[:, None, :] & ~torch.eye(T).bool()


# --- 3.5 is it causal? ------------------------------------------------------------------------------------------------


@right("3.5")
def my_is_causal(influence):
    return all(influence[t, s] == 0 for t in range(len(influence)) for s in range(t + 1, len(influence)))


@right("3.5")
def my_is_causal(influence):
    return torch.equal(influence, influence.tril())


@right("3.5")
def my_is_causal(influence):
    return influence.triu(1).abs().max().item() < 1e-7


@wrong("3.5", "mask the wrong way round")
def my_is_causal(influence):
    return bool((influence.tril(-1) == 0).all())


@wrong("3.5", "mask the wrong way round")
def my_is_causal(influence):
    return torch.equal(influence, influence.triu())


@wrong("3.5", "diagonal off by one")
def my_is_causal(influence):
    return bool((influence.triu(2) == 0).all())


@wrong("3.5", "diagonal off by one")
def my_is_causal(influence):
    return all(influence[t, s] == 0 for t in range(len(influence)) for s in range(t + 2, len(influence)))


@wrong("3.5", "only one corner looked at")
def my_is_causal(influence):
    return bool((influence.diagonal(1) == 0).all())


@wrong("3.5", "only one corner looked at")
def my_is_causal(influence):
    return bool((influence[1:-1].triu(1 + 1) == 0).all()) and bool(influence[0, 1] == 0)


@wrong("3.5", "the past demanded")
def my_is_causal(influence):
    return torch.equal(influence > 0, torch.ones_like(influence).tril() > 0)


@wrong("3.5", "the past demanded")
def my_is_causal(influence):
    past = torch.ones_like(influence).tril().bool()
    return bool((influence[past] > 0).all() and (influence[~past] == 0).all())


@wrong("3.5", "a small leak overlooked")
def my_is_causal(influence):
    return bool((influence.triu(1) < 0.01).all())


@wrong("3.5", "a small leak overlooked")
def my_is_causal(influence):
    return torch.allclose(influence.triu(1), torch.zeros(1), atol=0.1)


@wrong("3.5", "diagonal off by one", "the past demanded")
def my_is_causal(influence):
    return bool((influence.triu(2) == 0).all() and (influence.diagonal() > 0).all())


@unnamed("3.5")
def my_is_causal(influence):
    return influence.triu(1) == 0


@unnamed("3.5")
def my_is_causal(influence):
    return "yes"


@right("3.5")
def my_is_causal(influence):
    return (influence.numpy() == influence.tril().numpy()).all()  # an np.bool_


@wrong("3.5", "diagonal off by one")
def my_is_causal(influence):
    return bool((influence.triu() == 0).all())


@wrong("3.5", "only one corner looked at")
def my_is_causal(influence):
    return bool(influence[0, -1] == 0)


@unnamed("3.5")
def my_is_causal(influence):
    return True


@unnamed("3.5")
def my_is_causal(influence):
    return False


@unnamed("3.5")
def my_is_causal(influence):
    return bool(influence.triu(1).any())
