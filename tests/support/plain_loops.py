"""Attention in plain loops over Python numbers: what worked answers must give. It looks nothing like them."""

import math

import numpy as np
import torch

from course_utils.exercises.chapter_5 import PROJECTIONS
from course_utils.judging.calls import build_argument


def nested(tensor):
    """A tensor as nested lists of Python floats."""
    return tensor.double().tolist()


def sequences(*tensors):
    """The tensors (B, T, d), or (T, d) for B = 1, as nested lists: one tuple of tables per sequence."""
    return list(zip(*[nested(tensor if tensor.ndim == 3 else tensor[None]) for tensor in tensors]))


def dot(a, b):
    """The dot product of two lists of numbers."""
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def softmax(scores, visible=None):
    """Weights of one row of scores; what is not visible gets 0."""
    visible = [True] * len(scores) if visible is None else visible
    largest = max(score for score, seen in zip(scores, visible) if seen)
    shares = [math.exp(score - largest) if seen else 0.0 for score, seen in zip(scores, visible)]
    total = math.fsum(shares)
    return [share / total for share in shares]


def mix(weights, values):
    """The sum of vectors, each times its weight."""
    return [math.fsum(w * value[k] for w, value in zip(weights, values)) for k in range(len(values[0]))]


def project(x, weight, bias=None):
    """What a linear layer makes of each row of x (T, d_in). weight: (d_out, d_in), as nn.Linear stores it."""
    return [[dot(row, line) + (bias[k] if bias else 0.0) for k, line in enumerate(weight)] for row in x]


def attend(queries, keys, values, causal=False, scale=None, visible=None):
    """(context vectors, weights) of one sequence and one head. scale: the divisor of the scores, √d_k when None.

    visible: whom each query sees, rows of True and False; None for everyone, or where causal for all so far.
    """
    scale = math.sqrt(len(keys[0])) if scale is None else scale
    visible = visible or [[s <= t or not causal for s in range(len(keys))] for t in range(len(queries))]
    weights = [softmax([dot(query, key) / scale for key in keys], seen) for query, seen in zip(queries, visible)]
    return [mix(row, values) for row in weights], weights


# --- chapter 1 --------------------------------------------------------------------------------------------------------


def softmax_of_one_row(scores):
    return np.array(softmax(nested(scores)))


def attention(*vectors):
    context, _ = attend(*map(nested, vectors), scale=1)
    return np.array(context)


# --- chapter 2 --------------------------------------------------------------------------------------------------------


def matrix_of(layer):
    return np.array(list(zip(*nested(layer["linear"]))))


def self_attention(x, *matrices):
    context, _ = attend(*(project(nested(x), nested(matrix.T)) for matrix in matrices))
    return np.array(context)


def layer_contexts(call, x):
    matrices = [nested(weight) for weight in call.weights.values()]
    return np.array([attend(*(project(one, W) for W in matrices))[0] for one in nested(x)])


# --- chapter 3 --------------------------------------------------------------------------------------------------------


def causal_weights(scores):
    tables = nested(scores)
    return np.array([[softmax(row, [s <= t for s in range(len(row))]) for t, row in enumerate(one)] for one in tables])


def causal_padding_mask(is_padding):
    rows, places = is_padding.tolist(), range(is_padding.shape[1])
    return np.array([[[s != t and (s > t or row[s]) for s in places] for t in places] for row in rows])


# --- chapter 4 --------------------------------------------------------------------------------------------------------


def unchanged(call, x):
    return np.array(nested(x))


def heads_of_one_matrix(call, x):
    """(context vectors, weights, values) of each sequence, by loops."""
    for (one,) in sequences(x):
        queries, keys, values = (project(one, nested(W)) for W in call.weights["W_qkv"].chunk(3))
        yield *attend(queries, keys, values, causal=True), values


def fused_attention(call, x):
    contexts = np.array([context for context, _, _ in heads_of_one_matrix(call, x)])
    return contexts.reshape(*x.shape[:-1], call.arguments[1])


# --- chapter 5 --------------------------------------------------------------------------------------------------------


def apart(vectors, num_heads):
    """From an array (..., T, d_out) to its heads (..., num_heads, T, head_dim), number by number."""
    *before, T, d_out = vectors.shape
    size = d_out // num_heads
    heads = np.empty((*before, num_heads, T, size))
    for h in range(num_heads):
        heads[..., h, :, :] = vectors[..., h * size : (h + 1) * size]
    return heads


def split_heads(projected, num_heads):
    return apart(projected.double().numpy(), num_heads)


def merged_heads(context):
    *before, num_heads, T, size = context.shape
    heads = nested(context.reshape(-1, num_heads, T, size))
    return np.array([[sum((head[t] for head in one), []) for t in range(T)] for one in heads]).reshape(*before, T, -1)


def heads_of(call, x):
    """(context vectors, weights, values) of each head, by loops, for one sequence x (T, d_in) as nested lists."""
    biases = [call.weights.get(f"{name}.bias") for name in PROJECTIONS]
    size = call.arguments[1] // call.arguments[4]
    for h in range(call.arguments[4]):
        own = slice(h * size, (h + 1) * size)
        queries, keys, values = (
            project(x, nested(call.weights[name][own]), None if bias is None else nested(bias[own]))
            for name, bias in zip(PROJECTIONS, biases)
        )
        yield *attend(queries, keys, values, causal=True), values


def multiple_heads(call, x):
    """The same of each sequence in a batch: (num_heads, T, ...) each."""
    return [list(zip(*heads_of(call, one))) for (one,) in sequences(x)]


def multi_head_attention(call, x):
    matrix, bias = nested(call.weights["out_proj"]), nested(call.weights["out_proj.bias"])
    together = [
        [sum(rows, []) for rows in zip(*contexts)] for contexts, _, _ in multiple_heads(call, x)
    ]  # (B, T, d_out)
    return np.array([project(one, matrix, bias) for one in together])


# --- chapter 6 --------------------------------------------------------------------------------------------------------


def padding_mask(lengths, num_tokens):
    return np.array([[[s >= length for s in range(num_tokens)]] for length in lengths.tolist()])


def keep_mask(attention_mask):
    rows, places = attention_mask.tolist(), range(attention_mask.shape[1])
    return np.array([[[[s <= t and row[s] == 1 for s in places] for t in places]] for row in rows])


def step_with_cache(query, key, value, keys, values):
    """(context, keys, values) of a step, by loops."""
    all_keys, all_values = torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)
    context = [
        [attend(*map(nested, (q, k, v)))[0] for q, k, v in zip(*heads)] for heads in zip(query, all_keys, all_values)
    ]
    return [np.array(context), all_keys.numpy(), all_values.numpy()]


def shared_keys(keys, num_heads):
    groups = keys.shape[1]
    return np.array([[one[h * groups // num_heads] for h in range(num_heads)] for one in keys.tolist()])


def readings(*tables):
    scores, weights = map(nested, tables)
    sums = all(abs(math.fsum(row) - 1) < 1e-4 for row in weights)
    hidden = not any(weight for t, row in enumerate(weights) for weight in row[t + 1 :])
    gap = math.log(weights[-1][0]) - math.log(weights[-1][1])
    return [sums, hidden, (scores[-1][0] - scores[-1][1]) / gap]


# --- chapter 7 --------------------------------------------------------------------------------------------------------


def next_token_losses(scores, tokens):
    pairs = zip(scores[:-1].tolist(), tokens[1:].tolist())
    return np.array([-math.log(softmax(row)[token]) for row, token in pairs])


def previous_token_shares(weights):
    heads = weights.tolist()
    return np.array([math.fsum(head[t][t - 1] for t in range(1, len(head))) / (len(head) - 1) for head in heads])


def floor(probabilities):
    return -math.fsum(p * math.log(p) for p in probabilities.tolist() if p > 0)


def with_temperature(scores, temperature):
    """Probabilities, row by row, of scores divided by a temperature."""
    rows = scores.double().reshape(-1, scores.shape[-1]).tolist()
    return np.array([softmax([score / temperature for score in row]) for row in rows]).reshape(scores.shape)


# --- chapter 8 --------------------------------------------------------------------------------------------------------


def sentence_vectors(contexts, is_padding):
    sentences = []
    for context, padding in zip(nested(contexts), is_padding.tolist()):
        real = [token for token, hidden in zip(context, padding) if not hidden]
        sentences.append(mix([1 / len(real)] * len(real), real))
    return np.array(sentences)


def turning(*tables_and_margin):
    *tables, margin = tables_and_margin
    rows = zip(*map(nested, tables))
    return np.array([[a - b > margin and d - c > margin for a, b, c, d in zip(*heads)] for heads in rows])


def entropy(row):
    """The entropy of a list of shares."""
    return -math.fsum(share * math.log(share) for share in row if share > 0)


def breadth(weights):
    heads = nested(weights.flatten(0, -3))
    means = [math.fsum(math.exp(entropy(row)) for row in head) / len(head) for head in heads]
    return np.array(means).reshape(weights.shape[:-2])


def only_head(weight, head, head_dim):
    own = range(head * head_dim, (head + 1) * head_dim)
    return np.array([[x if column in own else 0.0 for column, x in enumerate(row)] for row in nested(weight)])


# --- chapter 9 --------------------------------------------------------------------------------------------------------


def rotated_vector(vector, position, frequencies):
    """A vector, as a list, whose pairs (number k of each half) are turned by position times frequency."""
    half, result = len(vector) // 2, list(vector)
    for k, frequency in enumerate(frequencies):
        a, b, angle = vector[k], vector[k + half], position * frequency
        result[k] = a * math.cos(angle) - b * math.sin(angle)
        result[k + half] = a * math.sin(angle) + b * math.cos(angle)
    return result


def rotated_vectors(x, positions, frequencies):
    """An array (..., T, head_dim) of turned vectors, one by one."""
    x = x.double().numpy()
    result = np.empty_like(x)
    for place in np.ndindex(x.shape[:-1]):
        result[place] = rotated_vector(x[place].tolist(), positions[place[-1]], frequencies)
    return result


def rotated(x, positions, base):
    size = x.shape[-1]
    return rotated_vectors(x, positions.tolist(), [base ** (-2 * k / size) for k in range(size // 2)])


def partial(head_dim, rotary_dim, base):
    turning = [1 / base ** (2 * k / rotary_dim) for k in range(rotary_dim // 2)]
    return np.array(turning + [0.0] * ((head_dim - rotary_dim) // 2))


def grouped(queries, keys, values, hidden):
    """(context, weights) of every head, by loops."""
    B, num_heads, T, _ = queries.shape
    shared = num_heads // keys.shape[1]
    visible = (~hidden).expand(B, 1, T, keys.shape[2])[:, 0].tolist()
    found = []
    for b, h in np.ndindex(B, num_heads):
        head = queries[b, h], keys[b, h // shared], values[b, h // shared]
        found.append(attend(*map(nested, head), visible=visible[b]))
    return [np.array(each).reshape(B, num_heads, T, -1) for each in zip(*found)]


def normed(x, scale, eps):
    vectors = np.array(x.double().tolist())
    for place in np.ndindex(vectors.shape[:-1]):
        vector = vectors[place].tolist()
        length = math.sqrt(dot(vector, vector) / len(vector) + eps)
        vectors[place] = [number / length * by for number, by in zip(vector, scale.tolist())]
    return vectors


def continued(queries, keys, values, cache, frequencies):
    past = cache[0].shape[2] if cache else 0
    positions = list(range(past, past + keys.shape[2]))
    found = [rotated_vectors(queries, positions, frequencies.tolist())]
    found += [rotated_vectors(keys, positions, frequencies.tolist()), values.double().numpy()]
    if cache:
        found[1:] = [np.concatenate([old.double().numpy(), new], axis=2) for old, new in zip(cache, found[1:])]
    return found


# --- chapter 10 -------------------------------------------------------------------------------------------------------


def piece(scores, values):
    """(largest, total, mixed) of one query: a list of scores, -inf where hidden, and a list of values."""
    largest = max(scores)
    shares = [math.exp(score - largest) if score > -math.inf else 0.0 for score in scores]
    return largest, math.fsum(shares), mix(shares, values)


def merged(first, second):
    """The same three of two pieces of one query together."""
    (m, total, mixed), (n, other, others) = first, second
    top = max(m, n)
    one, two = (math.exp(each - top) if each > -math.inf else 0.0 for each in (m, n))
    return top, one * total + two * other, [one * a + two * b for a, b in zip(mixed, others)]


def stacked(pieces):
    """Pieces, one a query, as arrays (T,), (T,) and (T, d)."""
    return [np.array(each) for each in zip(*pieces)]


def merged_halves(*both):
    first, second = (zip(*[nested(each[half]) for each in both]) for half in range(2))
    return stacked(map(merged, first, second))


def window_mask(num_new, num_tokens, window):
    asking = range(num_tokens - num_new, num_tokens)
    return np.array([[s > t or s <= t - window for s in range(num_tokens)] for t in asking])


def after_the_tile(largest, total, mixed, scores, values):
    old = zip(*map(nested, (largest, total, mixed)))
    new = [piece(row, nested(values)) for row in nested(scores)]
    return stacked(map(merged, old, new))


def gated(context, x, W_gate):
    heads, tokens, rows = nested(context), nested(x), nested(W_gate)
    return np.array(
        [
            [
                [
                    number / (1 + math.exp(-dot(row, token)))
                    for number, row in zip(sum((head[t] for head in one), []), rows)
                ]
                for t, token in enumerate(sequence)
            ]
            for one, sequence in zip(heads, tokens)
        ]
    )


def picked(scores, k):
    hidden = np.ones(scores.shape, dtype=bool)
    for t, row in enumerate(nested(scores)):
        left = list(range(t + 1))
        for _ in range(min(k, t + 1)):
            best = max(left, key=lambda s: (row[s], -s))
            left.remove(best)
            hidden[t, best] = False
    return hidden


# --- chapter 11 -------------------------------------------------------------------------------------------------------

BASE, EPS = 100_000.0, 1e-5


def silu(number):
    return number / (1 + math.exp(-number))


def turned(head):
    """The rows of a head (T, head_dim), row t turned by t times each frequency."""
    frequencies = [BASE ** (-2 * k / len(head[0])) for k in range(len(head[0]) // 2)]
    return [rotated_vector(row, t, frequencies) for t, row in enumerate(head)]


def block(x, weights, num_heads, num_kv_heads, visible, silent=()):
    """What a block makes of x (T, d_model), rows of numbers. weights: {name: rows, or one row}. silent: heads."""
    h = [rms(row, weights["norm_1"]) for row in x]
    queries, keys, values = (project(h, weights[f"attention.W_{part}"]) for part in ("query", "key", "value"))
    head_dim = len(queries[0]) // num_heads
    part = lambda rows, head: [row[head * head_dim : (head + 1) * head_dim] for row in rows]
    said = []
    for head in range(num_heads):
        shared = head * num_kv_heads // num_heads
        query, key = turned(part(queries, head)), turned(part(keys, shared))
        context, _ = attend(query, key, part(values, shared), visible=visible)
        said.append([[0.0] * head_dim for _ in x] if head in silent else context)
    merged = [[number for head in said for number in head[t]] for t in range(len(x))]
    x = [add(row, more) for row, more in zip(x, project(merged, weights["attention.out_proj"]))]
    h = [rms(row, weights["norm_2"]) for row in x]
    gates, ups = project(h, weights["gate"]), project(h, weights["up"])
    inner = [[silu(g) * u for g, u in zip(*rows)] for rows in zip(gates, ups)]
    return [add(row, more) for row, more in zip(x, project(inner, weights["down"]))]


def add(row, more):
    return [a + b for a, b in zip(row, more, strict=True)]


def rms(row, scale):
    length = math.sqrt(dot(row, row) / len(row) + EPS)
    return [number / length * by for number, by in zip(row, scale, strict=True)]


def block_outputs(call, x):
    _, num_heads, num_kv_heads, _ = call.arguments
    weights = {name: nested(weight) for name, weight in call.weights.items()}
    causal = [[s <= t for s in range(x.shape[1])] for t in range(x.shape[1])]
    return np.array([block(rows, weights, num_heads, num_kv_heads, causal) for rows in nested(x)])


def scores_of(described, ids, hides=lambda t, s: False, off=None):
    """Scores (T, vocab_size) of a small model for a list of tokens. hides(t, s): more keys. off: (layer, head)."""
    (_, num_layers, _, num_heads, num_kv_heads, _), state = described["language_model"], {}
    for name, tensor in build_argument(described).state_dict().items():
        state[name.removesuffix(".weight")] = nested(tensor)
    visible = [[s <= t and not hides(t, s) for s in range(len(ids))] for t in range(len(ids))]
    x = [state["words"][number] for number in ids]
    for layer in range(num_layers):
        start = f"blocks.{layer}."
        weights = {name.removeprefix(start): rows for name, rows in state.items() if name.startswith(start)}
        silent = [off[1]] if off and off[0] == layer else []
        x = block(x, weights, num_heads, num_kv_heads, visible, silent)
    return project([rms(row, state["norm"]) for row in x], state["words"])


def continued_greedily(model, ids, count):
    found = ids.tolist()
    for row in found:
        for _ in range(count):
            scores = scores_of(model, row)[-1]
            row.append(scores.index(max(scores)))
    return np.array(found)


def windowed_loss(model, ids, window, sinks):
    (row,) = ids.tolist()
    scores = scores_of(model, row, lambda t, s: t - s >= window and s >= sinks)
    losses = [-math.log(softmax(each)[wanted]) for each, wanted in zip(scores, row[1:])]
    return math.fsum(losses) / len(losses)


def effect_of_head(model, ids, token, layer, head):
    (row,) = ids.tolist()
    with_it, without = (math.log(softmax(scores_of(model, row, off=off)[-1])[token]) for off in (None, (layer, head)))
    return with_it - without


def accepted(scores, guesses):
    new = []
    for row, guess in zip(nested(scores), [*guesses.tolist(), None]):
        new.append(row.index(max(row)))
        if new[-1] != guess:
            return np.array(new)


# exercise: what a right answer gives for a function's arguments, or for a layer's call and an input: an array, or a
# Python number where the answer is a single number
WANTED = {
    "1.2": softmax_of_one_row,
    "1.3": attention,
    "2.2": matrix_of,
    "2.3": self_attention,
    "2.4": layer_contexts,
    "3.2": causal_weights,
    "3.4": causal_padding_mask,
    "4.1": unchanged,
    "4.3": lambda p, T: np.array([p**t for t in range(1, T + 1)]),
    "4.4": fused_attention,
    "5.2": split_heads,
    "5.3": merged_heads,
    "5.4": multi_head_attention,
    "6.1": padding_mask,
    "6.2": keep_mask,
    "6.3": step_with_cache,
    "6.4": shared_keys,
    "6.5": readings,
    "7.1": next_token_losses,
    "7.2": previous_token_shares,
    "7.3": floor,
    "7.4": with_temperature,
    "8.1": sentence_vectors,
    "8.2": turning,
    "8.3": breadth,
    "8.4": only_head,
    "9.1": rotated,
    "9.2": partial,
    "9.3": grouped,
    "9.4": normed,
    "9.5": continued,
    "10.1": merged_halves,
    "10.2": window_mask,
    "10.3": after_the_tile,
    "10.4": gated,
    "10.5": picked,
    "11.1": block_outputs,
    "11.2": continued_greedily,
    "11.3": windowed_loss,
    "11.4": effect_of_head,
    "11.5": accepted,
}
