"""Answers to the exercises of chapter 8."""

import torch

from tests.answers import right, unnamed, wrong

# --- 8.1 the vectors of a batch of sentences --------------------------------------------------------------------------


@right("8.1")
def my_sentence_vectors(context, is_padding):
    return torch.stack([one[~padding].mean(dim=0) for one, padding in zip(context, is_padding)])


@right("8.1")
def my_sentence_vectors(context, is_padding):
    weights = (~is_padding).float()
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return torch.einsum("bt,btd->bd", weights, context)


@right("8.1")
def my_sentence_vectors(context, is_padding):
    scores = torch.zeros(is_padding.shape).masked_fill(is_padding, -torch.inf)
    return (scores.softmax(dim=-1)[:, None, :] @ context)[:, 0]


@wrong("8.1", "padding averaged, too")
def my_sentence_vectors(context, is_padding):
    return context.mean(dim=1)


@wrong("8.1", "padding averaged, too")
def my_sentence_vectors(context, is_padding):
    return context.sum(dim=1) / context.shape[1]


@wrong("8.1", "divided by the longest sentence")
def my_sentence_vectors(context, is_padding):
    return (context * ~is_padding[:, :, None]).mean(dim=1)


@wrong("8.1", "divided by the longest sentence")
def my_sentence_vectors(context, is_padding):
    return context.masked_fill(is_padding.unsqueeze(-1), 0).sum(1) / is_padding.shape[-1]


@wrong("8.1", "mask the wrong way round")
def my_sentence_vectors(context, is_padding):
    kept = is_padding.unsqueeze(-1)
    return (context * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1)


@wrong("8.1", "mask the wrong way round")
def my_sentence_vectors(context, is_padding):
    means = [one[padding].sum(dim=0) / max(int(padding.sum()), 1) for one, padding in zip(context, is_padding)]
    return torch.stack(means)


@wrong("8.1", "sums instead of averages")
def my_sentence_vectors(context, is_padding):
    return (context * (~is_padding).unsqueeze(-1)).sum(dim=1)


@wrong("8.1", "sums instead of averages")
def my_sentence_vectors(context, is_padding):
    return torch.stack([one[~padding].sum(dim=0) for one, padding in zip(context, is_padding)])


@wrong("8.1", "mask the wrong way round", "divided by the longest sentence")
def my_sentence_vectors(context, is_padding):
    kept = is_padding.unsqueeze(-1)
    return (context * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1) + 0 * context.mean(dim=1)


@unnamed("8.1")
def my_sentence_vectors(context, is_padding):
    return context[:, 0]


@unnamed("8.1")
def my_sentence_vectors(context, is_padding):
    return context[~is_padding].mean(dim=0)


# --- 8.2 heads that turn ----------------------------------------------------------------------------------------------


@right("8.2")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    ahead = torch.minimum(first_before - second_before, second_after - first_after)
    return ahead > margin


@right("8.2")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    return torch.stack([first_before - second_before, second_after - first_after]).gt(margin).all(dim=0)


@right("8.2")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    return torch.logical_and(second_before + margin < first_before, first_after + margin < second_after)


@wrong("8.2", "the wrong direction")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    return (second_before - first_before > margin) & (first_after - second_after > margin)


@wrong("8.2", "the wrong direction")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    return (first_before - second_before < -margin) & (second_after - first_after < -margin)


@wrong("8.2", "either direction")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    before, after = first_before - second_before, first_after - second_after
    return (before.abs() > margin) & (after.abs() > margin) & (before * after < 0)


@wrong("8.2", "either direction")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    there = (first_before - second_before > margin) & (second_after - first_after > margin)
    back = (second_before - first_before > margin) & (first_after - second_after > margin)
    return there | back


@wrong("8.2", "no margin")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    return (first_before > second_before) & (second_after > first_after)


@wrong("8.2", "no margin")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    return torch.minimum(first_before - second_before, second_after - first_after) > 0


@wrong("8.2", "or instead of and")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    return (first_before - second_before > margin) | (second_after - first_after > margin)


@wrong("8.2", "or instead of and")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    return torch.maximum(first_before - second_before, second_after - first_after) > margin


@wrong("8.2", "does not turn")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    return (first_before - second_before > margin) & (first_after - second_after > margin)


@wrong("8.2", "does not turn")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    return torch.minimum(first_before - second_before, first_after - second_after) > margin


@wrong("8.2", "no margin", "either direction")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    return (first_before > second_before) != (first_after > second_after)


@unnamed("8.2")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    return first_before - first_after > margin


@unnamed("8.2")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    return ((first_before - second_before > margin) & (second_after - first_after > margin)).nonzero()


@unnamed("8.2")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    return (first_before - second_before > margin) & (second_after > first_after)


@unnamed("8.2")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    return (first_before > second_before) & (second_after - first_after > margin)


@wrong("8.2", "ties counted")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    return (first_before - second_before >= margin) & (second_after - first_after >= margin)


@wrong("8.2", "ties counted")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    smaller = torch.minimum(first_before - second_before, second_after - first_after)
    return ~(smaller < margin)


@wrong("8.2", "comparisons without parentheses")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    return first_before - second_before > margin & second_after - first_after > margin


@wrong("8.2", "comparisons without parentheses")
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    before, after = first_before - second_before, second_after - first_after
    turns = before > margin & after > margin
    return turns


# --- 8.3 how many tokens does a head look at? -------------------------------------------------------------------------


@right("8.3")
def my_breadth(weights):
    return torch.distributions.Categorical(probs=weights).entropy().exp().mean(dim=-1)


@right("8.3")
def my_breadth(weights):
    logs = torch.where(weights > 0, weights, 1.0).log()
    return (-(weights * logs).sum(-1)).exp().mean(-1)


@right("8.3")
def my_breadth(weights):
    return 1 / weights.pow(weights).prod(dim=-1) @ torch.full((weights.shape[-1],), 1 / weights.shape[-1])


@wrong("8.3", "0 times minus infinity")
def my_breadth(weights):
    return (-(weights * weights.log()).sum(dim=-1)).exp().mean(dim=-1)


@wrong("8.3", "0 times minus infinity")
def my_breadth(weights):
    entropy = -torch.einsum("...ij,...ij->...i", weights, torch.log(weights))
    return torch.exp(entropy).mean(-1)


@wrong("8.3", "exp left out")
def my_breadth(weights):
    return -torch.xlogy(weights, weights).sum(dim=-1).mean(dim=-1)


@wrong("8.3", "exp left out")
def my_breadth(weights):
    return torch.special.entr(weights).sum(dim=(-2, -1)) / weights.shape[-1]


@wrong("8.3", "exp of the mean")
def my_breadth(weights):
    return torch.special.entr(weights).sum(-1).mean(-1).exp()


@wrong("8.3", "exp of the mean")
def my_breadth(weights):
    return torch.exp(-torch.xlogy(weights, weights).sum(dim=(-2, -1)) / weights.shape[-1])


@wrong("8.3", "entropy over the wrong axis")
def my_breadth(weights):
    return torch.special.entr(weights).sum(dim=-2).exp().mean(dim=-1)


@wrong("8.3", "entropy over the wrong axis")
def my_breadth(weights):
    columns = weights.transpose(-2, -1)
    return (-torch.xlogy(columns, columns).sum(dim=-1)).exp().mean(dim=-1)


@wrong("8.3", "minus forgotten")
def my_breadth(weights):
    return torch.xlogy(weights, weights).sum(dim=-1).exp().mean(dim=-1)


@wrong("8.3", "minus forgotten")
def my_breadth(weights):
    return weights.pow(weights).prod(dim=-1).mean(dim=-1)


@wrong("8.3", "0 times minus infinity", "exp left out")
def my_breadth(weights):
    return -(weights * weights.log()).sum(dim=-1).mean(dim=-1)


@unnamed("8.3")
def my_breadth(weights):
    return (weights > 0.1).sum(dim=-1).float().mean(dim=-1)


@unnamed("8.3")
def my_breadth(weights):
    return torch.special.entr(weights).sum(dim=-1).exp()


# --- 8.4 hear one head only -------------------------------------------------------------------------------------------


@right("8.4")
def my_only_head(out_weight, head, head_dim):
    heads = out_weight.unflatten(1, (-1, head_dim)).clone()
    heads[:, :head] = 0
    heads[:, head + 1 :] = 0
    return heads.flatten(1)


@right("8.4")
def my_only_head(out_weight, head, head_dim):
    owner = torch.arange(out_weight.shape[1]) // head_dim
    return out_weight * (owner == head)


@right("8.4")
def my_only_head(out_weight, head, head_dim):
    start, end = head * head_dim, (head + 1) * head_dim
    return torch.nn.functional.pad(out_weight[:, start:end], (start, out_weight.shape[1] - end))


@wrong("8.4", "original changed")
def my_only_head(out_weight, head, head_dim):
    out_weight[:, : head * head_dim] = 0
    out_weight[:, (head + 1) * head_dim :] = 0
    return out_weight


@wrong("8.4", "original changed")
def my_only_head(out_weight, head, head_dim):
    owner = torch.arange(out_weight.shape[1]) // head_dim
    return out_weight.mul_(owner == head)


@wrong("8.4", "the head removed")
def my_only_head(out_weight, head, head_dim):
    silenced = out_weight.clone()
    silenced[:, head * head_dim : (head + 1) * head_dim] = 0
    return silenced


@wrong("8.4", "the head removed")
def my_only_head(out_weight, head, head_dim):
    owner = torch.arange(out_weight.shape[1]) // head_dim
    return out_weight * (owner != head)


@wrong("8.4", "rows instead of columns")
def my_only_head(out_weight, head, head_dim):
    alone = torch.zeros_like(out_weight)
    own = slice(head * head_dim, (head + 1) * head_dim)
    alone[own] = out_weight[own]
    return alone


@wrong("8.4", "rows instead of columns")
def my_only_head(out_weight, head, head_dim):
    owner = torch.arange(len(out_weight)) // head_dim
    return out_weight * (owner == head)[:, None]


@wrong("8.4", "one column only")
def my_only_head(out_weight, head, head_dim):
    alone = torch.zeros_like(out_weight)
    alone[:, head] = out_weight[:, head]
    return alone


@wrong("8.4", "one column only")
def my_only_head(out_weight, head, head_dim):
    return out_weight * (torch.arange(out_weight.shape[1]) == head)


@wrong("8.4", "heads counted from 1")
def my_only_head(out_weight, head, head_dim):
    alone = torch.zeros_like(out_weight)
    own = slice(max(0, head - 1) * head_dim, head * head_dim)
    alone[:, own] = out_weight[:, own]
    return alone


@wrong("8.4", "heads counted from 1")
def my_only_head(out_weight, head, head_dim):
    owner = 1 + torch.arange(out_weight.shape[1]) // head_dim
    return out_weight * (owner == head)


@wrong("8.4", "original changed", "rows instead of columns")
def my_only_head(out_weight, head, head_dim):
    out_weight[: head * head_dim] = 0
    out_weight[(head + 1) * head_dim :] = 0
    return out_weight


@unnamed("8.4")
def my_only_head(out_weight, head, head_dim):
    return torch.zeros_like(out_weight)


@unnamed("8.4")
def my_only_head(out_weight, head, head_dim):
    return out_weight[:, head * head_dim : (head + 1) * head_dim]
