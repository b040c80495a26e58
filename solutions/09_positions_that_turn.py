# ---
# jupyter:
#   course:
#     summary: rotary positions, keys shared in groups, one layer for ten families
# ---

# %% [markdown]
# # Chapter 9 · Positions that turn, and fewer keys
#
# **After this chapter you can**
#
# * turn queries and keys so that positions affect a score only through their distance;
# * recognise four slips that raise no error: mixed layouts, keys turned twice, positions that start again at 0, groups
#   repeated in the wrong order;
# * turn only part of a head, or none of it, and say what then conveys order;
# * write one class whose arguments make it the layer of GPT-2, Llama 3, Gemma 3 or Phi, and verify that it matches.
#
# **Time.** About 90 minutes, exercises included; training near the end takes about 15 seconds. **You need** chapters 5
# to 7: the split into heads, the cache, the model that copies.
#
# Run the cells from top to bottom (Shift + Enter). The first cell finds or installs the course's helper package.

# %% name="setup"
import importlib.util, os, sys

REPOSITORY = ""  # OWNER/REPO, written here by: python3 -m course_tools links OWNER/REPO
sys.path.insert(0, os.path.abspath(".."))  # in a clone, the helpers are one folder up
if importlib.util.find_spec("course_utils") is None:
    assert REPOSITORY, "course_utils is not here: open this notebook inside a clone of the course."
    # %pip install -q --no-deps git+https://github.com/{REPOSITORY}
if "COLAB_RELEASE_TAG" in os.environ:
    print("On Colab, File > Save a copy in Drive keeps what you write.")

# %% name="imports"
import math
import timeit

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_utils import families, live, pictures
from course_utils.attention import Cache, RotaryTable, fused_attention, masked_softmax
from course_utils.checking import answer, check, hint, progress, quiz, review, solution
from course_utils.training_bar import with_bar
from course_utils.validation import (
    check_dropout, check_groups, check_heads, check_input, check_mask, check_part, check_softcap,
    check_window, refuse_other_norms,
)

# %% [markdown]
# ## From memory
#
# Write a word or a number in place of each question mark, without looking back.
#
# **From memory 9.1.** A layer of width 768 has 12 heads. What is each score divided by?

# %% name="memory-9-1"
answer("M9.1", "8")

# %% [markdown]
# **From memory 9.2.** When a model generates text, which two tensors does it keep for every token so far?

# %% name="memory-9-2"
answer("M9.2", "keys and values")

# %% [markdown]
# **From memory 9.3.** In chapter 7's model, what is added to each token's vector so that attention knows the order of
# tokens?

# %% name="memory-9-3"
answer("M9.3", "a position vector")

# %% name="review"
review()

# %% [markdown]
# ## What a learned position says
#
# Attention without a mask sees a bag of words. Does a causal mask change that? We shuffle the first four of six tokens
# and look at the last one. There are no position vectors or weight matrices here.

# %% name="mask-tells-order"
torch.manual_seed(123)
tokens = torch.randn(1, 6, 8, dtype=torch.float64)  # (B, T, d)
shuffled = tokens[:, [2, 0, 3, 1, 4, 5]]
for is_causal in [False, True]:
    x, y = tokens, shuffled
    for num_layers in [1, 2]:
        x, y = (F.scaled_dot_product_attention(z, z, z, is_causal=is_causal) for z in [x, y])
        same = torch.allclose(x[:, -1], y[:, -1])
        print(f"causal: {is_causal}, layers: {num_layers}, last token unchanged: {same}")

# %% [markdown]
# After one causal layer, the last token has still seen only a bag of words. After two it has seen more, because in
# layer 0 each token mixed only what *it* could see: the first only itself, the second only two tokens. So a causal mask
# alone **carries** position information (Haviv et al., 2022). But a model must extract it, layer by layer. Near the end
# we train a model with only this mask.
#
# GPT-2 and chapter 7's model encode positions directly: to each token they *add* a learned vector, a row of a position
# table. What does a score then contain? Each query and key is the sum of a part for *what* the token is and one for
# *where* it is, so their dot product has four parts.

# %% name="four-parts"
torch.manual_seed(123)
what_q, where_q, what_k, where_k = torch.randn(4, 8, dtype=torch.float64)
print(f"{(what_q + where_q) @ (what_k + where_k):.4f}")
parts = [what_q @ what_k, what_q @ where_k, where_q @ what_k, where_q @ where_k]
print(" ".join(f"{part:.4f}" for part in parts), f"together {sum(parts):.4f}")

# %% [markdown]
# Only the last part depends on positions alone (only roughly in GPT-2, which normalises the sum first). It is a
# separate number for every *pair* of positions: only training can make 7 and 3 score like 14 and 10. And a table that
# ends at row 1023 has nothing for position 1024.
#
# What matters in a text is often "the word before" or "three words back". Can we make positions affect a score only
# through their **distance**?

# %% [markdown]
# ## Two numbers are an arrow
#
# Take a query and a key of two numbers each: two arrows in a plane. **Turn** each by an angle that grows with its
# position, say 0.3 radians per position.

# %% [markdown]
# **Question 9.1.** Two arrows are turned by the same angle. What stays the same?
#
# * **a** Nothing: both now point elsewhere.
# * **b** Only their lengths.
# * **c** Their lengths and their dot product.

# %% name="question-9-1"
answer("Q9.1", "c")

# %% name="turn-one-pair" tags=["answers-Q9.1"]
def turn(arrow, angle):
    """The arrow (2,), turned by an angle in radians."""
    first, second = arrow
    cos, sin = math.cos(angle), math.sin(angle)
    return torch.stack([first * cos - second * sin, second * cos + first * sin])


query, key = torch.tensor([[1.0, 0.5], [0.2, 1.5]], dtype=torch.float64)
for m, n in [(7, 3), (14, 10), (1004, 1000), (7, 4)]:
    print(f"query at {m:4}, key at {n:4}: score {turn(query, 0.3 * m) @ turn(key, 0.3 * n):.10f}")

# %% [markdown]
# The three pairs of positions 4 apart give the same score, to the last printed digit. Distance 3 gives a different one.
# Turning both arrows further by the same angle changes nothing: only the difference between their turns matters. Write
# $R_m$ for the turn at position $m$:
#
# $$(R_m q) \cdot (R_n k) = q \cdot (R_{n-m} k)$$
#
# That is the idea of **rotary positions** (RoPE, Su et al., 2021): nothing is added to a token; its query and key are
# turned instead. Values are not turned, since they are passed on, not compared.

# %% [markdown]
# ## Many pairs, many speeds
#
# An arrow that turns by 0.3 per position points almost the same way again after 21 positions. As on a clock, one hand
# is not enough. A head's head_dim numbers form head_dim / 2 pairs, and each pair $k$ turns at its own **frequency**,
# from fast to slow:
#
# $$\theta_k = \mathrm{base}^{-2k / \mathrm{head\_dim}}$$

# %% name="frequencies"
def rotary_frequencies(head_dim, base=10_000.0):
    """By how many radians each pair turns per position: (head_dim / 2,)."""
    pairs = torch.arange(head_dim // 2, dtype=torch.float64, device="cpu")
    return base ** (-2 * pairs / head_dim)


print(rotary_frequencies(8))

# %% [markdown]
# Pair 0 turns by 1 radian per position, pair 3 by a thousandth. After how many positions does a pair point the same way
# again? That is its **wavelength**, $2\pi / \theta_k$.

# %% name="wavelengths"
for base in [10_000.0, 500_000.0]:
    wavelengths = 2 * math.pi / rotary_frequencies(128, base)
    print(f"base {base:>9,.0f}: from {wavelengths[0]:.2f} to {wavelengths[-1]:>9,.0f} positions")

# %% [markdown]
# With 128 numbers per head, one turn of the slowest pair takes 54,410 positions with the paper's base, and 2,559,196
# with that of Llama 3 and 3.1. A larger base hardly changes the fast hands but slows the slow ones, leaving room for
# longer texts.

# %% name="hands-picture" shows="Four curves over distances from 0 to 40. That of pair 0 goes down and up again about every six positions. That of pair 1 falls to -1 by 31 and then rises. That of pair 2 falls slowly, and that of pair 3 stays near 1."
distances = torch.linspace(0, 40, 401)
hands = (distances[:, None] * rotary_frequencies(8)).cos()  # (401, 4)
pictures.show_curves(
    {f"pair {k}": hands[:, k] for k in range(4)},
    x=distances, x_label="distance", y_label="cosine of the turn",
    title="Four pairs, base 10,000",
)

# %% [markdown]
# A fast pair distinguishes neighbours but soon repeats itself. A slow pair hardly changes over a sentence, so it can
# compare *what* two tokens are, wherever they occur.

# %% [markdown]
# **Question 9.2.** A head should look exactly one token back. Which pairs best distinguish distance 1 from distance 2?
#
# * **a** The last, which turn most slowly.
# * **b** The first, which turn fastest.
# * **c** All equally well.

# %% name="question-9-2"
answer("Q9.2", "b")

# %% [markdown]
# ### Exercise 9.1 · Turn by position
# 3 points · ★★☆ · 10 minutes
#
# Turn every vector of `x` by its position. Pair $k$ consists of number $k$ of the first half and number $k$ of the
# second. The positions need not start at 0 or be in order.

# %% name="exercise-9-1"
def my_rotate(x, positions, base):
    """x (..., T, head_dim), each vector turned by its entry in positions (T,): the same shape."""
    ### BEGIN SOLUTION
    head_dim = x.shape[-1]
    frequencies = base ** (-2 * torch.arange(head_dim // 2) / head_dim)  # (head_dim / 2,)
    angles = positions[:, None] * frequencies  # (T, head_dim / 2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)  # (..., T, head_dim / 2) each
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    ### END SOLUTION

# %% name="check-9-1"
### BEGIN HIDDEN TESTS
assert check("9.1", my_rotate).status == "right"
### END HIDDEN TESTS
check("9.1", my_rotate)

# %% [markdown] tags=["solution"]
# **Why it works.** Each pair is an arrow that turns by its own angle: position times frequency. The angles have shape
# (T, head_dim / 2), so they broadcast over batch and heads. Turning leaves the vector's length unchanged.

# %% [markdown]
# The course's own version takes frequencies instead of a base, so that we can change them later. It has two steps, so
# that cosines and sines can be kept between calls.

# %% name="rotate"
def turn_pairs(x, cos, sin, interleaved=False):
    """x (..., T, head_dim) with pair k of token t turned by the angle with cos[t, k] and sin[t, k].

    cos, sin: (T, rotary_dim / 2). In the first rotary_dim numbers, pair k is number k of each half;
    if interleaved, it is numbers 2k and 2k + 1, and is returned as number k of each half.
    """
    x, rest = x.tensor_split([2 * cos.shape[-1]], dim=-1)  # rest: numbers that are not turned
    first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin, rest], dim=-1)


def rotate(x, positions, frequencies):
    """x (..., T, head_dim) with each pair turned by position times frequency.

    positions: (T,). frequencies: (head_dim / 2,).
    """
    angles = positions[:, None] * frequencies  # (T, head_dim / 2), as precise as frequencies
    return turn_pairs(x, angles.cos().to(x), angles.sin().to(x))

# %% name="three-pairs"
torch.manual_seed(123)
query, key = torch.randn(2, 1, 8, dtype=torch.float64)  # one token each
frequencies = rotary_frequencies(8)


def score(m, n, turned=rotate):
    """The score of the query at position m and the key at position n."""
    q = turned(query, torch.tensor([m]), frequencies)
    k = turned(key, torch.tensor([n]), frequencies)
    return (q @ k.T).item()


print([f"{score(m, n):.10f}" for m, n in [(7, 3), (14, 10), (1004, 1000)]], f"{score(7, 4):.4f}")

# %% name="rotary-live"
live.show_rotary(query[0], key[0], frequencies)

# %% [markdown]
# In the lower row, query and key have moved by the same number of positions: every arrow has turned, but no product or
# score has changed. Move only one, and pair 0 reacts at once, while pair 3 hardly moves.

# %% [markdown]
# ## Two layouts
#
# Which two numbers form a pair? Like most models in the `transformers` library, we took number $k$ of each half:
# **halves**. The paper, Llama's original code, and some models in the library (Cohere's, GLM-4, Llama 4) pair
# neighbours, 0 with 1, then 2 with 3: **interleaved** pairs. Neither layout is better.

# %% name="interleaved"
def rotate_interleaved(x, positions, frequencies):
    """As rotate, but pairs are neighbours: numbers 0 and 1, 2 and 3, ..."""
    angles = positions[:, None] * frequencies  # (T, head_dim / 2)
    first, second = x[..., 0::2], x[..., 1::2]  # (..., T, head_dim / 2) each
    cos, sin = angles.cos(), angles.sin()
    turned = [first * cos - second * sin, second * cos + first * sin]
    return torch.stack(turned, dim=-1).flatten(-2)  # (..., T, head_dim / 2, 2), then joined


print(f"halves {score(7, 3):.4f}, interleaved {score(7, 3, rotate_interleaved):.4f}")

# %% [markdown]
# The same query and key get different scores. In both layouts, positions matter only through their distance, but the
# two cannot be mixed.

# %% [markdown]
# **Question 9.3.** You load weights that were trained with interleaved pairs into a layer that uses halves. What
# happens?
#
# * **a** The layer loads and runs, but its output is wrong.
# * **b** `load_state_dict` raises an error.
# * **c** Nothing changes: the order of a query's numbers does not matter.

# %% name="question-9-3"
answer("Q9.3", "a")

# %% [markdown]
# That is the first silent slip, **mixed layouts**. The fix is simple: reorder the numbers of queries *and* keys, so
# that the first numbers of all pairs come before the second numbers.

# %% name="permuted"
order = torch.cat([torch.arange(0, 8, 2), torch.arange(1, 8, 2)])
print(order.tolist())
query, key = query[:, order], key[:, order]
print(f"halves, after the permutation {score(7, 3):.4f}")

# %% [markdown]
# Halves now give the interleaved score. A query's numbers come from the rows of `W_query`, so a file's rows can be
# reordered once, head by head. Or the layer can take the pairs as they are: `turn_pairs` has an argument for that.
# [Chapter 11](11_a_model_that_speaks.ipynb) finds interleaved pairs in a real file.

# %% [markdown]
# ## Turn a part, or nothing
#
# A slow pair says little about position, so why turn it? Phi-1 turns half of each head's numbers, GPT-NeoX and
# Qwen3-Next a quarter (**partial rotary**). A pair of frequency 0 never turns, so our own head needs no new function,
# only different frequencies. (Those models' files need more: they pair the two halves of the *turned part*. Appending
# zero frequencies would pair other numbers, mixing layouts again. For such files `turn_pairs` leaves the rest of the
# head unchanged.)

# %% [markdown]
# ### Exercise 9.2 · Turn a part
# 1 point · ★☆☆ · 5 minutes
#
# Compute the frequencies for a head in which only some numbers turn. The first `rotary_dim / 2` pairs turn as fast as
# those of a head with only `rotary_dim` numbers. The others do not turn.

# %% name="exercise-9-2"
def my_partial(head_dim, rotary_dim, base):
    """By how many radians each pair turns per position: (head_dim / 2,)."""
    ### BEGIN SOLUTION
    turned = base ** (-2 * torch.arange(rotary_dim // 2) / rotary_dim)  # (rotary_dim / 2,)
    return torch.cat([turned, torch.zeros((head_dim - rotary_dim) // 2)])  # (head_dim / 2,)
    ### END SOLUTION

# %% name="check-9-2"
### BEGIN HIDDEN TESTS
assert check("9.2", my_partial).status == "right"
### END HIDDEN TESTS
check("9.2", my_partial)

# %% [markdown] tags=["solution"]
# **Why it works.** An angle of 0 leaves a pair unchanged: its cosine is 1, its sine 0. The turned part is like a
# smaller head, with fast and slow hands; dividing by `head_dim` instead would omit the slow ones.

# %% [markdown]
# How do scores now depend on distance? We place one query and one key 0, 1, 10 and 100 positions apart:

# %% name="turned-parts"
half = torch.cat([rotary_frequencies(4), torch.zeros(2)])  # pairs 0 and 1 turn
for name, some in {"all": rotary_frequencies(8), "half": half, "none": torch.zeros(4)}.items():
    turned = [rotate(query, torch.tensor([m]), some) @ key.T for m in [0, 1, 10, 100]]
    print(f"{name:5}", *(f"{each.item():8.4f}" for each in turned))

# %% [markdown]
# With nothing turned, every distance gives the same score. Such layers have **no position encoding** (NoPE); in SmolLM3
# and Llama 4, every fourth layer is of this kind. By themselves, those in SmolLM3 see order only through the causal
# mask.

# %% [markdown]
# ## Longer texts
#
# A model trained on texts of 8,192 tokens gets a text of 100,000. Its slow pairs have never turned that far. If we
# divide all positions by 32 (position interpolation, Chen et al., 2023), no angle is larger than in training, but
# neighbours are 32 times closer. Llama 3.1 slows only the pairs that need it: those that made fewer than four turns
# in training.

# %% name="rescaled"
def rescaled(frequencies, factor, length, low=1.0, high=4.0):
    """Frequencies for texts `factor` times as long as `length`, as in Llama 3.1.

    A pair with fewer than `low` turns in `length` positions becomes `factor` times slower, one with
    more than `high` stays the same, and in between the change is gradual.
    """
    turns = length * frequencies / (2 * math.pi)  # (head_dim / 2,)
    kept = ((turns - low) / (high - low)).clamp(0, 1)  # 1: unchanged, 0: slowed fully
    return frequencies * (kept + (1 - kept) / factor)

# %% name="llama-wavelengths"
before = rotary_frequencies(64, base=500_000.0)
after = rescaled(before, factor=32, length=8192)  # as in Llama-3.2-1B
for k in [0, 12, 16, 18, 20, 31]:
    turns, slower = 8192 * before[k] / (2 * math.pi), before[k] / after[k]
    print(f"pair {k:2}: {turns:8.2f} turns in 8192, frequency divided by {slower:5.2f}")

# %% [markdown]
# The fast pairs, which distinguish neighbours, are unchanged. The slow ones are 32 times slower, and in between the
# change is gradual. (YaRN, Peng et al., 2023, slows all pairs with fewer than 32 turns, and multiplies queries and keys
# by $0.1 \ln(\mathrm{factor}) + 1$. gpt-oss uses it with a factor of 32, which almost doubles its scores. The course's
# `yarn` computes the frequencies and the scale.) Whether a model *reads* such texts well is another matter: that takes
# further training.

# %% [markdown]
# ## Fewer keys
#
# A long text also needs memory for the cache. Llama-3.2-1B has 16 layers, each with 32 query heads of 64 numbers. As in
# chapter 6, query heads share keys and values (**grouped-query attention**): the model has 8 key/value heads, each
# shared by four query heads. (If all share one, this is **multi-query attention**, Shazeer, 2019.)

# %% name="cache-bytes"
def cache_bytes(num_layers, num_kv_heads, head_dim, bytes_each=2):
    """Bytes that a cache keeps per token: a key and a value for each key/value head and layer."""
    return 2 * num_layers * num_kv_heads * head_dim * bytes_each


for num_kv_heads in [32, 8, 1]:
    size = cache_bytes(16, num_kv_heads, 64)
    print(f"{num_kv_heads:2} key/value heads: {size:>7,} bytes per token")

# %% [markdown]
# **Question 9.4.** A layer now has 32 query heads but only 8 key/value heads. What shrinks to a quarter?
#
# * **a** The multiplications for scores and context vectors.
# * **b** The cache, and the number of rows of `W_key` and `W_value`.
# * **c** The number of attention weight matrices.

# %% name="question-9-4"
answer("Q9.4", "b")

# %% [markdown]
# Does sharing also save time? To generate a token, a model reads the whole cache. Queries that share keys become rows
# of one matrix.

# %% name="time-fewer-keys" tags=["nbval-ignore-output"]
def step(query, keys, values):
    """Context (num_kv_heads, shared, head_dim) for one token's queries (num_heads, head_dim)."""
    rows = query.unflatten(0, (len(keys), -1))  # (num_kv_heads, shared, head_dim)
    return torch.softmax(rows @ keys.transpose(1, 2) / 8, dim=-1) @ values


for num_kv_heads in [32, 8, 1]:
    keys, values = torch.randn(2, num_kv_heads, 8192, 64)  # the cache of one layer, 8192 tokens
    timer = timeit.Timer(lambda: step(torch.ones(32, 64), keys, values))
    print(f"{num_kv_heads:2} key/value heads: {min(timer.repeat(15, number=1)) * 1000:4.1f} ms")

# %% [markdown]
# Sharing saves a lot of time, though the number of multiplications stays the same. Fewer keys and values are fetched
# from memory, and fetching takes most of the time (chapter 6).

# %% [markdown]
# Which heads share? **Neighbours**: with six query heads and two key heads, heads 0, 1 and 2 share key head 0. The
# second silent slip is **groups repeated in the wrong order**: `repeat` places whole copies one after another.

# %% name="group-order"
heads_of_keys = torch.tensor([0, 1])
print("repeat_interleave:", heads_of_keys.repeat_interleave(3).tolist())
print("repeat:           ", heads_of_keys.repeat(3).tolist())

# %% [markdown]
# ### Exercise 9.3 · Grouped attention
# 3 points · ★★☆ · 10 minutes
#
# Write attention for any number of key/value heads that divides the number of query heads. `hidden` is True where a key
# must not be seen; it has shape (T, S) or (B, 1, T, S). Every token sees at least one key.

# %% name="exercise-9-3"
def my_grouped(queries, keys, values, hidden):
    """Queries (B, num_heads, T, head_dim); keys, values (B, num_kv_heads, S, head_dim).

    Returns context (B, num_heads, T, head_dim) and weights (B, num_heads, T, S).
    """
    ### BEGIN SOLUTION
    shared = queries.shape[1] // keys.shape[1]
    keys = keys.repeat_interleave(shared, dim=1)  # (B, num_heads, S, head_dim)
    values = values.repeat_interleave(shared, dim=1)  # (B, num_heads, S, head_dim)
    scores = queries @ keys.transpose(-2, -1) / queries.shape[-1] ** 0.5  # (B, num_heads, T, S)
    weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
    return weights @ values, weights
    ### END SOLUTION

# %% name="check-9-3"
### BEGIN HIDDEN TESTS
assert check("9.3", my_grouped).status == "right"
### END HIDDEN TESTS
check("9.3", my_grouped)

# %% [markdown] tags=["solution"]
# **Why it works.** `repeat_interleave` keeps the copies of a head together, so that query head `h` meets key head
# `h // shared`. The rest is chapter 5's attention. Only the cache has fewer heads; the repeated copies are temporary.

# %% [markdown]
# ## Queries and keys of equal length
#
# A dot product is the product of two lengths and a cosine. In training, the lengths can grow, and scores with them,
# until softmax saturates (chapter 2). Qwen3 and Gemma 3 first remove the lengths: in each head they divide every query
# and key by its root mean square, then multiply it by learned numbers. That is **QK-norm** (Henry et al., 2020, who
# used a different norm).

# %% [markdown]
# ### Exercise 9.4 · The norm of queries and keys
# 1 point · ★☆☆ · 5 minutes
#
# Divide each vector by its root mean square, and multiply it by `scale`. Before taking the root, add the small number
# `eps`, so that nothing is divided by 0.

# %% name="exercise-9-4"
def my_norm(x, scale, eps):
    """x (..., head_dim) with a root mean square of 1, times scale (head_dim,)."""
    ### BEGIN SOLUTION
    mean_square = x.pow(2).mean(dim=-1, keepdim=True)  # (..., 1)
    return x / (mean_square + eps).sqrt() * scale
    ### END SOLUTION

# %% name="check-9-4"
### BEGIN HIDDEN TESTS
assert check("9.4", my_norm).status == "right"
### END HIDDEN TESTS
check("9.4", my_norm)

# %% [markdown] tags=["solution"]
# **Why it works.** A root mean square of 1 means a length of $\sqrt{d_k}$. Before `scale` is applied, two such vectors
# have a dot product of at most $d_k$, so their score, divided by $\sqrt{d_k}$, is at most $\sqrt{d_k}$. The norm comes
# *before* the turn. A turn changes no length, but it mixes the two numbers of a pair, each of which has its own
# `scale`: unless the two scales are equal, the other order gives a different result.

# %% [markdown]
# ## Positions and a cache
#
# Suppose the cache holds 1000 tokens and one more arrives. Within its call, the new token is number 0. The third slip
# is **positions that start again at 0**.

# %% [markdown]
# **Question 9.5.** With that slip, what is wrong from the second call on?
#
# * **a** Nothing, until the text gets too long.
# * **b** Nothing: distances between new tokens are right.
# * **c** Distances between new tokens and those in the cache.

# %% name="question-9-5"
answer("Q9.5", "c")

# %% [markdown]
# The fourth is **keys turned twice**. A cache may hold turned keys, as ours does. But turning the *whole* cache at
# every step would then turn old keys again and again.

# %% [markdown]
# ### Exercise 9.5 · Positions that continue
# 3 points · ★★☆ · 10 minutes
#
# Turn new queries and keys by their true positions, and extend the cache. Return three tensors, and do not modify the
# list `cache`. You may call `rotate`.

# %% name="exercise-9-5"
def my_cached(queries, keys, values, cache, frequencies):
    """New queries (B, num_heads, n, head_dim), keys and values (B, num_kv_heads, n, head_dim).

    cache: None, or [keys, values] of all earlier tokens, the keys already turned.
    Returns the turned queries, and the keys and values of all tokens so far.
    """
    ### BEGIN SOLUTION
    past = 0 if cache is None else cache[0].shape[-2]
    angles = torch.arange(past, past + keys.shape[-2])[:, None] * frequencies  # (n, head_dim / 2)
    cos, sin = angles.cos().to(keys.dtype), angles.sin().to(keys.dtype)
    def turned(x):  # or rotate(x, positions, frequencies)
        first, second = x.chunk(2, dim=-1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)

    queries, keys = turned(queries), turned(keys)
    if cache is not None:
        keys = torch.cat([cache[0], keys], dim=-2)  # (B, num_kv_heads, T, head_dim)
        values = torch.cat([cache[1], values], dim=-2)  # (B, num_kv_heads, T, head_dim)
    return queries, keys, values
    ### END SOLUTION

# %% name="check-9-5"
### BEGIN HIDDEN TESTS
assert check("9.5", my_cached).status == "right"
### END HIDDEN TESTS
check("9.5", my_cached)

# %% [markdown] tags=["solution"]
# **Why it works.** A key's angle depends only on its token's position, which never changes, so the key can be turned
# once and kept. Queries are not kept. Padding on the left shifts all positions of a text equally, so no score changes;
# learned positions would all be wrong.

# %% [markdown]
# ## One layer
#
# You now have nearly all the parts of attention in ten model families. Two parts appear elsewhere: Gemma 2 keeps
# scores within bounds (the notes), and Qwen3-Next has a gate after attention (chapter 10). Three functions are still
# missing. The second also supports a **sliding window**: a token sees only the last few tokens, including itself.
# (Chapter 10 explains why.)

# %% name="shared-steps"
def repeat_groups(heads, num_heads):
    """Keys or values (..., num_kv_heads, T, head_dim), each head repeated for its query heads."""
    shared = num_heads // heads.shape[-3]
    return heads.repeat_interleave(shared, dim=-3)  # (..., num_heads, T, head_dim)


def hidden_keys(num_new, num_tokens, window=None, device=None):
    """Which keys the newest tokens must not see, (num_new, num_tokens): True where a key is ahead
    of a token or outside its window.
    """
    places = torch.arange(num_tokens, device=device)
    behind = places[num_tokens - num_new:, None] - places  # how far back each key lies
    return (behind < 0) if window is None else (behind < 0) | (behind >= window)


print(hidden_keys(5, 5, window=3).int())

# %% [markdown]
# Row 4 sees keys 2, 3 and 4. The third function adds the caller's mask, such as padding.

# %% name="hidden-from"
def hidden_from(queries, keys, mask=None, window=None):
    """Where queries (..., n, d) must not see keys (..., T, d): (n, T), or (B, 1, n, T) with a mask.

    mask: hides more keys: (B, n, T) for a batch, (n, T) for a single sequence.
    """
    hidden = hidden_keys(queries.shape[-2], keys.shape[-2], window, queries.device)  # (n, T)
    if mask is None:
        return hidden
    check_mask(mask, queries, keys)
    return hidden | mask.unsqueeze(-3)  # (n, T) | (B, 1, n, T)

# %% [markdown]
# Here is the class. Its other steps are those of chapters 5 and 6: `attend` computes and returns the weights; `forward`
# does not, so it can use PyTorch's fast kernels, which never store them. One step is new: gpt-oss gives each head a
# **sink**, a learned score that takes part in softmax but has no value, so a head can ignore all keys.
#
# The class uses three helpers. `RotaryTable` keeps the cosines and sines. `Cache` is a named tuple of keys, values and
# the number of tokens so far; it rejects what does not fit, and drops tokens that have left the window.
# `fused_attention` calls the kernel, which officially needs a full mask to hide more than the future. So a window is
# processed in blocks of queries that share a small mask, and padding and sinks are encoded as one more number in each
# query and key. With just one of these (a window, padding or sinks), a layer of width 256 or more keeps at most about
# 1.5 times as much for its derivatives as with none (PyTorch 2.11 to 2.15). If the window is wide, narrower layers and
# those with sinks or few key heads can keep more. On a CPU, three things still need a stored matrix: a mask with an
# entry for each pair of tokens, $(B, T, T)$; scores kept within bounds (soft-capped); and dropout.

# %% name="attention-class"
class Attention(nn.Module):
    """A decoder's attention. Brackets name a family that needs the argument.

    * num_kv_heads (Llama 3): key/value heads, each shared by equally many query heads; None: one
      for each query head.
    * head_dim (Qwen3): None for d_model / num_heads.
    * frequencies (Llama 3): (rotary_dim / 2,) of rotary positions; None: positions are added to
      the tokens beforehand (GPT-2), or there are none (SmolLM3).
    * rotary_dim (Phi): only a head's first rotary_dim numbers are turned; None: all.
    * interleaved (Cohere): pairs are neighbours, not number k of each half.
    * bias, out_bias (Qwen2): whether the projections of x, and of the output, have a bias;
      out_bias None: as bias.
    * norm_eps (Qwen3): eps of an RMSNorm for the queries and keys of each head; None: no norm.
    * window (Mistral): how many tokens a token sees, including itself; None: all so far.
    * sinks (gpt-oss): a learned score for each head that takes part in softmax but has no value.
    * gate (Qwen3-Next): the heads' output is multiplied by a sigmoid of a projection of x.
    * scale (Gemma 3): factor of the scores; None: 1 / sqrt(head_dim).
    * softcap (Gemma 2): scores stay between -softcap and softcap; None: no bounds.
    * dropout (GPT-2): the share of weights dropped in training.
    """

    def __init__(
        self, d_model: int, num_heads: int, num_kv_heads: int | None = None,
        head_dim: int | None = None, frequencies: Tensor | None = None, bias: bool = False,
        norm_eps: float | None = None, window: int | None = None, sinks: bool = False,
        scale: float | None = None, *, rotary_dim: int | None = None, interleaved: bool = False,
        out_bias: bool | None = None, gate: bool = False, softcap: float | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_groups(num_heads, num_kv_heads)
        check_window(window)
        check_softcap(softcap)
        check_dropout(dropout)
        if head_dim is None:
            check_heads(d_model, num_heads, width="d_model")
            head_dim = d_model // num_heads
        self.num_heads, self.head_dim, self.window = num_heads, head_dim, window
        self.interleaved, self.softcap, self.dropout = interleaved, softcap, dropout
        check_part(rotary_dim, head_dim, frequencies)
        rotary_dim = head_dim if rotary_dim is None else rotary_dim
        self.rotary = None if frequencies is None else RotaryTable(frequencies, rotary_dim)
        self.scale = head_dim**-0.5 if scale is None else scale
        width = num_heads * head_dim
        self.W_query = nn.Linear(d_model, width, bias=bias)
        self.W_key = nn.Linear(d_model, num_kv_heads * head_dim, bias=bias)
        self.W_value = nn.Linear(d_model, num_kv_heads * head_dim, bias=bias)
        self.W_gate = nn.Linear(d_model, width, bias=bias) if gate else None
        self.out_proj = nn.Linear(width, d_model, bias=bias if out_bias is None else out_bias)
        normed = norm_eps is not None
        self.query_norm = nn.RMSNorm(head_dim, eps=norm_eps) if normed else nn.Identity()
        self.key_norm = nn.RMSNorm(head_dim, eps=norm_eps) if normed else nn.Identity()
        self.sinks = nn.Parameter(torch.zeros(num_heads)) if sinks else None
        self.register_load_state_dict_pre_hook(refuse_other_norms)

    def split(self, projected):
        """(B, n, heads * head_dim) becomes (B, heads, n, head_dim)."""
        return projected.unflatten(-1, (-1, self.head_dim)).transpose(-3, -2)

    def merge(self, context):
        """(B, num_heads, n, head_dim) becomes (B, n, num_heads * head_dim)."""
        return context.transpose(-3, -2).flatten(-2)

    def project(self, x, cache=None):
        """Queries (B, num_heads, n, head_dim) of new tokens, and the cache with their keys."""
        check_input(x, self.W_query.in_features, self.W_query.weight, width="d_model")
        queries = self.query_norm(self.split(self.W_query(x)))  # (B, num_heads, n, head_dim)
        keys = self.key_norm(self.split(self.W_key(x)))  # (B, num_kv_heads, n, head_dim)
        values = self.split(self.W_value(x))  # (B, num_kv_heads, n, head_dim)
        past = Cache.length_of(cache)
        if self.rotary is not None:  # positions continue where the cache ends
            cos, sin = self.rotary(past, past + x.shape[-2], like=queries)  # (n, rotary_dim / 2)
            queries = turn_pairs(queries, cos, sin, self.interleaved)
            keys = turn_pairs(keys, cos, sin, self.interleaved)  # the cache keeps turned keys
        return queries, Cache.extended(cache, keys, values)

    def weights(self, queries, keys, mask=None):
        """Weights (B, num_heads, n, S): the newest n tokens' queries against S keys."""
        wide = torch.promote_types(queries.dtype, torch.float32)  # scores can overflow 16 bits
        keys = repeat_groups(keys, self.num_heads).to(wide)  # (B, num_heads, S, head_dim)
        scores = queries.to(wide) * self.scale @ keys.transpose(-2, -1)  # (B, num_heads, n, S)
        if self.softcap is not None:
            scores = self.softcap * torch.tanh(scores / self.softcap)
        hidden = hidden_from(queries, keys, mask, self.window)
        if self.sinks is not None:  # one more key
            sinks = self.sinks[:, None, None].to(scores).expand(*scores.shape[:-1], 1)
            scores, hidden = torch.cat([sinks, scores], dim=-1), F.pad(hidden, (1, 0))
        weights = masked_softmax(scores, hidden).to(queries)
        return weights if self.sinks is None else weights[..., 1:]  # rows sum to less than 1

    def finish(self, context, x):
        """The output (B, n, d_model) from the heads' contexts, gated by x if there is a gate."""
        merged = self.merge(context)  # (B, n, num_heads * head_dim)
        if self.W_gate is not None:
            merged = merged * torch.sigmoid(self.W_gate(x))
        return self.out_proj(merged)

    def attend(self, x, cache=None, mask=None):
        """The output, the weights (B, num_heads, n, S) and the cache."""
        queries, cache = self.project(x, cache)
        weights = self.weights(queries, cache.keys, cache.cut(mask))  # (B, num_heads, n, S)
        weights = F.dropout(weights, self.dropout, self.training)
        context = weights @ repeat_groups(cache.values, self.num_heads)
        return self.finish(context, x), weights, cache.seen_next(self.window)

    def forward(self, x, cache=None, mask=None):
        """The output (B, n, d_model) for the n newest tokens x (B, n, d_model), and the cache.

        cache: None at first, then the one that the last call returned.
        mask: hides more keys, (B, n, T), or (n, T) for a single sequence; padding is (B, 1, T), on
        either side. T counts all tokens so far, even those outside the window.
        """
        if self.softcap is not None:  # PyTorch's kernels have no such bounds
            output, _, cache = self.attend(x, cache, mask)
            return output, cache
        queries, cache = self.project(x, cache)
        context = fused_attention(
            queries, cache.keys, cache.values, cache.cut(mask), self.window, self.sinks, self.scale,
            self.dropout if self.training else 0.0,
        )  # (B, num_heads, n, head_dim), as in attend, see fused_attention
        return self.finish(context, x), cache.seen_next(self.window)

# %% [markdown]
# Does our class compute what the models do? With `transformers` we made a tiny model of each family, with random
# parameters. We stored the input, output and parameters of its first attention module, and the arguments that reproduce
# it here.

# %% name="same-as-the-library"
for family in [name for name in families.FAMILIES if "DeepSeek" not in name]:
    theirs = families.load(family)
    layer = Attention(**theirs.arguments).double().eval()
    layer.load_state_dict(theirs.parameters)
    with torch.no_grad():
        output, weights, _ = layer.attend(theirs.x)
    far = max((output - theirs.output).abs().max(), (weights - theirs.weights).abs().max())
    named = [name for name in theirs.arguments if name not in ("d_model", "num_heads", "head_dim")]
    print(f"{family:10} within 1e-5: {bool(far < 1e-5)}   {' '.join(named)}")

# %% [markdown]
# One class matches ten families on texts of 11 tokens. (For SmolLM3 we compared a layer without positions. Around
# position 100,000, scores differ by up to several thousandths, since we compute angles in 64 bits and the library in
# 32.) The families' files differ in other ways too: GPT-2 stores its matrices transposed, with queries, keys and
# values in one; Gemma 1 to 3 and Qwen3-Next store the norm's scale minus 1. Each difference takes one line of loading
# code. Forgetting to transpose or to add 1 can be a silent error. DeepSeek follows in chapter 10. Our class rejects
# some other families' weights: OLMo-2 normalises before the heads are split, and Cohere, where it normalises, uses
# LayerNorm.
#
# Does this comparison reveal slips? We reorder the pairs of Llama's queries and keys, as in a file converted once too
# often, then group its query heads as `repeat` does.

# %% name="slips-show"
def off_by(change):
    """How far Llama's layer is off after a change to its parameters."""
    theirs = families.load("Llama")  # 6 query heads of 8 numbers, 2 key/value heads
    layer = Attention(**theirs.arguments).double()
    layer.load_state_dict(theirs.parameters | change(theirs.parameters))
    return (layer(theirs.x)[0] - theirs.output).abs().max().item()


def layouts_mixed(given):
    names = ["W_query.weight", "W_key.weight"]
    pairs = {name: given[name].unflatten(0, (-1, 4, 2)) for name in names}
    return {name: weight.transpose(1, 2).flatten(0, 2) for name, weight in pairs.items()}


def groups_in_the_wrong_order(given):
    queries, out = given["W_query.weight"].view(6, 8, 24), given["out_proj.weight"].view(24, 6, 8)
    order = [0, 2, 4, 1, 3, 5]  # the first three slots share the first key head
    queries, out = queries[order].view(48, 24), out[:, order].view(24, 48)
    return {"W_query.weight": queries, "out_proj.weight": out}

# %% name="how-far-off"
def no_slip(given):
    return {}


for slip in [no_slip, layouts_mixed, groups_in_the_wrong_order]:
    print(f"{slip.__name__:26} off by {off_by(slip):.2f}")

# %% [markdown]
# No error was raised. Without a slip the layer is off by 0.00; only these numbers reveal slips.

# %% [markdown]
# ## Counting a real model
#
# Real models stack such layers, with a network after each. Their sizes are in the file `config.json`, published with
# the weights. We take those of `meta-llama/Llama-3.2-1B` and `Qwen/Qwen3-0.6B`. Their **gated** networks have three
# matrices instead of two; every norm has a scale but no shift; the last step reuses the token table.

# %% name="count-model"
def count_model(layers, width, heads, kv_heads, head_dim, inner, vocabulary, qk_norm=False):
    """How many parameters a Llama or Qwen3 of these sizes has; its token table is used twice."""
    attention = 2 * width * head_dim * (heads + kv_heads)  # query and out, key and value
    attention += 2 * head_dim * qk_norm
    network, norms = 3 * width * inner, 2 * width
    return vocabulary * width + layers * (attention + network + norms) + width


print(f"Llama-3.2-1B {count_model(16, 2048, 32, 8, 64, 8192, 128_256):>13,}")
print(f"Qwen3-0.6B   {count_model(28, 1024, 16, 8, 128, 3072, 151_936, qk_norm=True):>13,}")

# %% [markdown]
# The totals, 1,235,814,400 and 596,049,920, match those of the library's models. Turning adds no parameters.

# %% [markdown]
# ## Do longer texts come free?
#
# Rotary scores exist at every distance. Can a model then read texts longer than any in training? We train models on a
# small version of chapter 7's task: 7 of 16 possible tokens, then 6 of these again. One adds learned positions, one
# turns whole heads, one turns half of each head, and one has only its causal mask. The longer test has 14 tokens, then
# 12 of these again. (No token occurs twice in the first part, so the repeat is predictable.)

# %% name="long-task"
def repeats(count, first, repeated):
    """Random sequences (count, first + repeated) of numbers below 16 that end with a repeat."""
    tokens = torch.rand(count, 16).argsort(dim=-1)[:, :first]  # (count, first), no number twice
    start = torch.randint(first - repeated + 1, (count, 1))
    return torch.cat([tokens, tokens.gather(1, start + torch.arange(repeated))], dim=-1)

# %% name="long-model"
class TinyModel(nn.Module):
    """Three attention layers and one kind of position: tokens (B, T) to scores (B, T, 16)."""

    def __init__(self, kind, width=32):
        super().__init__()
        self.tokens, self.to_scores = nn.Embedding(16, width), nn.Linear(width, 16)
        self.positions = nn.Embedding(26, width) if kind == "learned" else None
        nn.init.normal_(self.tokens.weight, std=0.5)
        if self.positions is not None:
            nn.init.normal_(self.positions.weight, std=0.5)
        half = torch.cat([rotary_frequencies(width // 2), torch.zeros(width // 4)])
        frequencies = {"rotary": rotary_frequencies(width), "half": half}.get(kind)
        self.layers = nn.ModuleList(
            Attention(width, 1, frequencies=frequencies, bias=True) for _ in range(3)
        )

    def forward(self, tokens):
        x = self.tokens(tokens)  # (B, T, width)
        if self.positions is not None:
            x = x + self.positions.weight[:tokens.shape[-1]]  # in training, rows 0 to 11
        for layer in self.layers:
            x = x + layer(x)[0]
        return self.to_scores(x)

# %% name="long-training"
def losses(model, tokens):
    """The loss of each next token: (B, T - 1)."""
    return F.cross_entropy(model(tokens[:, :-1]).transpose(1, 2), tokens[:, 1:], reduction="none")


def trained(kind, steps):
    """A model with this kind of position, trained on texts of 13 tokens."""
    torch.manual_seed(123)
    model, batches = TinyModel(kind), repeats(steps * 64, 7, 6).view(steps, 64, 13)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    shrink = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
    for batch in with_bar(batches):
        optimizer.zero_grad()
        losses(model, batch).mean().backward()
        optimizer.step()
        shrink.step()
    return model

# %% name="long-losses"
torch.set_num_threads(1)  # small matrices are fastest on one thread
torch.set_default_dtype(torch.float64)  # so that you see the numbers that we saw
runs = [("none", 100), *((kind, 300) for kind in ["none", "learned", "rotary", "half"])]
models = [trained(*run) for run in runs]
torch.set_default_dtype(torch.float32)
torch.manual_seed(1)
short, long = repeats(512, 7, 6), repeats(512, 14, 12)
for (kind, steps), model in zip(runs, models):
    with torch.no_grad():
        at_13, at_26 = losses(model, short)[:, 7:].mean(), losses(model, long)[:, 14:].mean()
    print(f"{kind:7} {steps} steps: repeat in 13 tokens {at_13:.1f}, in 26 tokens {at_26:.1f}")
print(f"guessing {math.log(16):.1f}")

# %% [markdown]
# After only 100 steps, the model without positions seems to have learned nothing: 2.5 is hardly better than guessing,
# which costs $\ln 16$, or 2.8. With 300 steps it copies: its loss is 0.4. It learns more slowly than the others, which
# are at 0.0.
#
# At twice the length it is ahead, at 1.0, while the others do *worse* than guessing, at 6.0 or more. They are
# confident but wrong: training never used the learned table's later rows, and let the rotary model (loss 10.6) copy
# only from 5 or 6 tokens back; here, it must copy from 11 to 13 back. Turning only half does not help: 10.2. Scores
# exist at every distance, but were not trained at every distance. Nor do longer texts come free without positions:
# 1.0 is more than 0.4.
#
# Real models handle this in several ways. Many rescale, as above, and train on long texts. SmolLM3 and Llama 4 skip
# turning in every fourth layer (Kazemnejad et al., 2023, study models without position encodings).
#
# Your exercises so far:

# %% name="progress"
progress(9)

# %% [markdown]
# ## Takeaways
#
# $$(R_m q) \cdot (R_n k) = q \cdot (R_{n-m} k), \qquad \theta_k = \mathrm{base}^{-2k / \mathrm{head\_dim}}$$
#
# | family | its attention |
# | --- | --- |
# | GPT-2 | learned positions, added outside; biases |
# | all others | rotary positions in halves; grouped keys in most sizes, except in Phi |
# | Llama 3.1 | ... and rescaled frequencies |
# | Mistral | ... and a window, in its first version |
# | Qwen3 | ... and QK-norm |
# | Gemma 3 | ... and QK-norm, windows in most layers; its largest size has its own scale |
# | gpt-oss | ... and biases, YaRN's frequencies and scale, windows in every other layer, sinks |
# | Gemma 2 | ... and soft-capped scores, windows in every other layer; its largest size has its own scale |
# | Phi-1 and 2 | ... and biases; only part of each head is turned |
# | SmolLM3 | ... but every fourth layer turns nothing |
# | Qwen3-Next | ... and QK-norm, a gate, a quarter turned; attention in every fourth layer only |
#
# | silent slip | how to find it |
# | --- | --- |
# | mixed layouts | compare one layer's output with the original's |
# | keys turned twice | compare outputs with and without a cache |
# | positions that start again at 0 | as above, from the second call on |
# | groups repeated in the wrong order | compare with the original again; shapes never show it |
#
# * Order of steps here: project, split, norm, turn, cache. Values skip norm and turn.
# * Query heads share keys and values to shrink the cache. That saves memory, and time if the heads are not copied.
# * From a causal mask alone, a model of two or more layers can work out the order of tokens. With position encodings,
#   our models learned faster, but failed at new distances.
#
# **Next.** [Chapter 10](10_what_a_long_text_costs.ipynb) asks what a long text costs and how to reduce the cost, with
# windows, softmax in pieces, and a cache without heads. All chapters: [the course's contents](../README.md#chapters).
