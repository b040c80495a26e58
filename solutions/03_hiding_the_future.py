# ---
# jupyter:
#   course:
#     summary: tokens in batches, the causal mask, a proof that nothing leaks
#     title: Hiding the future
# ---

# %% [markdown]
# # Chapter 3 · Hiding the future
#
# **Goal.** By the end you can build *causal* attention, in which no token sees the tokens after it: with `tril`, with
# $-\infty$ before softmax, for one sentence and for a batch. And you can prove that nothing leaks.
#
# **Time.** About 110 minutes, exercises included. **You need** chapters 1 and 2: scores, softmax, queries, keys, values.
#
# Run the cells from top to bottom (Shift + Enter). The first one finds the course's helper package, or installs it.

# %% name="setup"
import importlib.util, os, sys

REPOSITORY = ""  # OWNER/REPO, written here by: python3 -m course_utils links OWNER/REPO
sys.path.insert(0, os.path.abspath(".."))  # in a clone, the helpers lie next door
if importlib.util.find_spec("course_utils") is None:
    assert REPOSITORY, "course_utils is not here: open this notebook inside a clone of the course."
    # %pip install -q --no-deps git+https://github.com/{REPOSITORY}
if "COLAB_RELEASE_TAG" in os.environ:
    print("On Colab, File > Save a copy in Drive keeps what you write.")

# %% name="imports"
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.functional import jacobian

from course_utils import live, pictures
from course_utils.attention import SelfAttention_v2
from course_utils.checking import answer, check, hint, progress, solution

# %% [markdown]
# ## A sentence becomes numbers
#
# The first half of this chapter follows a blog post by Trent, who builds attention for a model that *writes*. Such a
# model reads tokens and predicts the next one. What is a token? The simplest answer: one character.

# %% name="characters"
text = "But they were all of them deceived."
characters = sorted(set(text))
print("".join(characters))
print(len(characters))

# %% [markdown]
# The text has 35 characters, but only 19 different ones, the space included: it sorts first. This list of possible
# tokens is the **vocabulary**. Each token's number is its place in the list, counted from 0.

# %% name="encode"
number_of = {character: number for number, character in enumerate(characters)}


def encode(text):
    """The numbers of the characters in a text, as a list."""
    return [number_of[character] for character in text]


print(encode(text))

# %% [markdown]
# "B" is number 2, after the space and the full stop. Every space has become a 0. Can we get the sentence back?

# %% name="decode"
def decode(numbers):
    """The text that a list of numbers stands for."""
    return "".join(characters[number] for number in numbers)


print(decode(encode(text)))

# %% [markdown]
# We can, letter for letter: nothing was lost. Large models use longer tokens, words and pieces of words. The post cuts
# the same sentence into such pieces and gives the size of their vocabulary as 8. Let us count.

# %% name="word-pieces"
pieces = ["But", "they", "were", "all", "of", "them", "dece", "ived", "."]
print(len(set(pieces)))

# %% [markdown]
# There are 9: eight words and pieces of words, and the full stop. The post's point stands: the sentence is 9 tokens
# long instead of 35. We stay with characters for now.

# %% [markdown]
# ### Eight questions in eight tokens
#
# What does a model learn from the first eight tokens, "But they"? After each of them it has to say what comes next.

# %% name="next-tokens"
for t in range(8):
    print(f"{text[:t + 1]!r:10} -> {text[t + 1]!r}")

# %% [markdown]
# One row of eight tokens holds eight exercises. All eight can be done at once, and here is the trouble: the answer to
# the first exercise, "u", stands in the same row, one place to the right. So do the answers to the next six. A model
# that may look there learns to copy, not to predict. This chapter is about closing its eyes.

# %% [markdown]
# ## Batches
#
# Chapter 2's batch held one sequence; training takes several. The shape is $(B, T, C)$: $B$ sequences of $T$ tokens,
# each an embedding of $C$ numbers ("channels"; so far $d_\mathrm{in}$).
#
# A model would look up such an embedding for each number that `encode` gives, in a table that is trained, too. That
# table is not our subject, so our embeddings are random.

# %% name="batch"
B, T, C = 4, 8, 32
torch.manual_seed(123)
batch = torch.rand(B, T, C)
print(batch)

# %% [markdown]
# Four tables, one per sequence. PyTorch shortens large tensors: it prints three rows, dots, three rows. The first token
# of the first sequence starts with 0.2961, 0.5166, 0.2517.

# %% [markdown]
# ## The plainest mix: an average
#
# Chapter 1 mixed tokens by weights. Which weights treat all tokens alike? Give every pair the same score, 0, and let
# softmax turn scores into shares.

# %% name="uniform-weights"
weights = torch.softmax(torch.zeros(T, T), dim=-1)  # (T, T), every row sums to 1
print(weights)

# %% [markdown]
# One eighth, 0.1250, for everyone. Now mix. The weights are $(8, 8)$ and the batch is $(4, 8, 32)$: will `@` accept
# that?

# %% name="uniform-mix"
print(weights @ batch)  # (T, T) @ (B, T, C) -> (B, T, C)

# %% [markdown]
# It will. `@` multiplies the last two dimensions and repeats that for every sequence, so a batch costs us no loop.
# Sequences never mix with each other.
#
# Within a sequence all eight rows are the same: 0.6291, 0.6708 and so on is the average of all eight tokens. The first
# token, too, has averaged over the seven that come after it. It has read the answers.

# %% [markdown]
# ## Only what came before
#
# Token 1 may use itself only, token 2 the first two, and so on. As a table of ones and zeros, that is a lower
# triangle. `torch.tril` ("triangle, lower") keeps that half of a matrix and sets the rest to 0.

# %% name="tril"
visible = torch.tril(torch.ones(T, T))
print(visible)

# %% [markdown]
# Row 3 begins with 1, 1, 1: the third token sees three tokens. Such a table is a **mask**, and attention that obeys
# this one is **causal**. How do we give a score the message "no weight at all"? What does softmax make of a score
# before it divides?

# %% name="exp-of-minus-infinity"
print(torch.exp(torch.tensor([0.0, -1.0, -torch.inf])))

# %% [markdown]
# The exponential of 0 is 1, so filling in 0 will not do: such a token would get a share like any other. Even with -1 it
# would enter the sum with 0.3679. But $\exp(-\infty)$ is exactly 0. So we write $-\infty$ wherever the mask has a 0.

# %% name="minus-infinity"
scores = torch.zeros(T, T).masked_fill(visible == 0, -torch.inf)
print(scores)

# %% [markdown]
# Row 1 has one 0 and seven times $-\infty$. `masked_fill` returns a new tensor: where its first argument is `True` it
# puts the second, elsewhere it copies. Now softmax.

# %% name="causal-uniform-weights"
weights = torch.softmax(scores, dim=-1)  # (T, T), every row sums to 1
print(weights)

# %% [markdown]
# Every row still sums to 1. Row 3 shares among three tokens, 0.3333 each, and the future gets 0.0000. Mixed with these
# weights, the batch becomes:

# %% name="causal-uniform-mix"
running = weights @ batch  # (T, T) @ (B, T, C) -> (B, T, C)
print(running)

# %% [markdown]
# The first row is the first token unchanged, 0.2961. The second, 0.5070, lies halfway between 0.2961 and 0.7179, the
# first two tokens. The last row is the average of all eight, 0.6291 as before. Is this simply a running mean?

# %% name="running-mean"
counts = torch.arange(1, T + 1).view(T, 1)  # 1, 2, ... 8, one per row
print(torch.allclose(running, batch.cumsum(dim=1) / counts))

# %% [markdown]
# It is: `cumsum` adds up the tokens so far, and we divide by how many there are.

# %% [markdown]
# ### Exercise 3.1 · Running averages by a matrix product
# 1 point · ★☆☆ · 5 minutes
#
# Compute the running averages of one sequence with a single matrix product, from `torch.tril`. Try it without softmax,
# infinity or a loop.

# %% name="exercise-3-1"
def my_running_average(sequence):
    """Row t is the mean of tokens 0 to t: (T, d) from a sequence (T, d)."""
    ### BEGIN SOLUTION
    visible = torch.tril(torch.ones(len(sequence), len(sequence)))  # (T, T)
    weights = visible / visible.sum(dim=-1, keepdim=True)  # (T, T), every row sums to 1
    return weights @ sequence  # (T, T) @ (T, d) -> (T, d)
    ### END SOLUTION

# %% name="check-3-1"
### BEGIN HIDDEN TESTS
assert check("3.1", my_running_average).status == "right"
### END HIDDEN TESTS
check("3.1", my_running_average)

# %% [markdown] tags=["solution"]
# **Why it works.** Row $t$ of the triangle has $t$ ones, so dividing it by its sum gives each visible token the weight
# $1/t$. Multiplying by the sequence then mixes its rows with these weights. `keepdim=True` keeps the sums as a column,
# so that each row is divided by its own sum.

# %% [markdown]
# ## A head that chooses
#
# An average treats all earlier tokens alike. With queries and keys, as in chapter 2, every token chooses for itself. A
# set of query, key and value layers is called a **head**. The size of its vectors, `head_dim`, is what chapter 2 called
# $d_\mathrm{out}$ and, for queries and keys, $d_k$.
#
# Here are the first two layers, for a fresh random batch. They take each token from 32 numbers to 16.

# %% name="head"
torch.manual_seed(123)
batch = torch.randn(B, T, C)
head_dim = 16
key_layer = nn.Linear(C, head_dim, bias=False)
query_layer = nn.Linear(C, head_dim, bias=False)
keys = key_layer(batch)  # (B, T, head_dim)
queries = query_layer(batch)  # (B, T, head_dim)

# %% [markdown]
# For the scores, each sequence needs its own queries times its own keys, transposed. `keys.T` was made for matrices; a
# batch must keep its first dimension where it is. So we say which two to swap: the last two.

# %% name="head-weights"
scores = queries @ keys.transpose(-2, -1)  # (B, T, head_dim) @ (B, head_dim, T) -> (B, T, T)
scores = scores.masked_fill(visible == 0, -torch.inf)
weights = torch.softmax(scores, dim=-1)  # (B, T, T), every row sums to 1
print(weights[0])

# %% [markdown]
# One mask of shape $(T, T)$ served all four sequences; this is the first. The upper half is 0.0000, and the rest is no
# longer even: row 4 gives 0.9663 to the third token. (`grad_fn` at the end only says that PyTorch keeps track of how
# the numbers were made, because layers with weights took part.)
#
# 0.9663 is nearly everything. So far these scores are not scaled: the post comes to that later. Does it matter here?
# Each line below holds the largest weight of each row, first without and then with chapter 2's division.

# %% name="unscaled-or-scaled"
scaled_weights = torch.softmax(scores / head_dim**0.5, dim=-1)  # (B, T, T)
print(weights[0].amax(dim=-1))
print(scaled_weights[0].amax(dim=-1))

# %% [markdown]
# In row 4 the largest weight falls from 0.9663 to 0.5192, in row 7 from 0.6506 to 0.2430. Divided by $\sqrt{16} = 4$,
# the scores lie closer together. Only the first token still gives everything to one token: it has no choice. (We masked
# first and divided afterwards. The order is free: $-\infty$ divided by 4 is still $-\infty$.)
#
# What do we mix? If it is the tokens themselves, the result is as wide as they are.

# %% name="mix-tokens"
print((weights @ batch).shape)

# %% [markdown]
# 32 numbers per token, although the head works with 16. A value layer, as in chapter 2, brings them down.

# %% name="mix-values"
value_layer = nn.Linear(C, head_dim, bias=False)
context = scaled_weights @ value_layer(batch)  # (B, T, T) @ (B, T, head_dim) -> (B, T, head_dim)
print(context.shape)

# %% [markdown]
# That is one complete causal head on a batch of four sequences: $(4, 8, 32)$ in, $(4, 8, 16)$ out.

# %% [markdown]
# ### Exercise 3.2 · Causal weights for a batch
# 2 points · ★★☆ · 10 minutes
#
# Write the middle of that head: from scores (already scaled) to causal weights. The check tries batches of other sizes
# than ours, so take every size from `scores`.

# %% name="exercise-3-2"
def my_causal_weights(scores):
    """Causal weights (B, T, T), every row sums to 1, from scores (B, T, T)."""
    ### BEGIN SOLUTION
    T = scores.shape[-1]
    visible = torch.tril(torch.ones(T, T))  # (T, T), the same for every sequence
    return torch.softmax(scores.masked_fill(visible == 0, -torch.inf), dim=-1)  # (B, T, T)
    ### END SOLUTION

# %% name="check-3-2"
### BEGIN HIDDEN TESTS
assert check("3.2", my_causal_weights).status == "right"
### END HIDDEN TESTS
check("3.2", my_causal_weights)

# %% [markdown] tags=["solution"]
# **Why it works.** The number of tokens is the *last* dimension. `len(scores)` is the number of sequences: a mask of
# that size does not fit. With three sequences of three tokens nobody would notice: try new code with unequal sizes.

# %% [markdown]
# ## Back to six words
#
# Random batches have no meaning to read, so we return to *Your journey starts with one step*. The layers are those of
# chapter 2: the same class, the same seed.

# %% name="inputs"
tokens = ["Your", "journey", "starts", "with", "one", "step"]
inputs = torch.tensor([
    [0.43, 0.15, 0.89],  # Your     x(1)
    [0.55, 0.87, 0.66],  # journey  x(2)
    [0.57, 0.85, 0.64],  # starts   x(3)
    [0.22, 0.58, 0.33],  # with     x(4)
    [0.77, 0.25, 0.10],  # one      x(5)
    [0.05, 0.80, 0.55],  # step     x(6)
])
torch.manual_seed(789)
attention = SelfAttention_v2(3, 2)

# %% [markdown]
# From here to the mask we walk with Chung-En Johnny Yu's page. First the weights of every token, with nothing hidden.

# %% name="all-weights"
queries = attention.W_query(inputs)  # (6, 3) -> (6, 2)
keys = attention.W_key(inputs)  # (6, 2)
scores = queries @ keys.T  # (6, 2) @ (2, 6) -> (6, 6)
d_k = keys.shape[-1]
weights = torch.softmax(scores / d_k**0.5, dim=-1)  # (6, 6), every row sums to 1
print(weights)

# %% [markdown]
# Row 2: "journey" gives 0.2041 to "Your" and 0.1659 to itself. The rest of its attention goes to four words that a
# writer has not written yet.

# %% [markdown]
# **Question 3.1.** Suppose we now set all weights on the future to 0 and change nothing else. Which rows will sum to
# less than 1, and why? Choose before you run on.
#
# * **a** All rows: each loses a part of its weight.
# * **b** All rows but the last, which has no future to lose.
# * **c** None: softmax has made every row sum to 1.

# %% name="question-3-1"
answer("Q3.1", "b")

# %% [markdown]
# ### What if we mask after softmax?
#
# The obvious way: compute the weights, then multiply them by a mask of ones and zeros.

# %% name="visible-mask"
visible_6 = torch.tril(torch.ones(6, 6))
print(visible_6)

# %% [markdown]
# The same triangle as before, six by six: row 2 begins 1, 1. Multiply, and every weight on the future becomes 0.

# %% name="masked-after"
masked_after = weights * visible_6
print(masked_after)

# %% [markdown]
# The first row has 0.1921 left, and nothing else. Are these still shares?

# %% name="row-sums"
row_sums = masked_after.sum(dim=-1, keepdim=True)  # (6, 1)
print(row_sums.T)

# %% [markdown]
# No: row 1 sums to 0.1921 and row 2 to 0.3700. Only the last row, which sees everything, still sums to 1. So divide
# each row by its sum. That is called **renormalising**.

# %% name="renormalised"
renormalised = masked_after / row_sums  # (6, 6), every row sums to 1 again
print(renormalised)

# %% [markdown]
# "journey" now shares between the two words it may see: 0.5517 for "Your" and 0.4483 for itself.

# %% [markdown]
# ### Minus infinity before softmax
#
# The other way you know already: hide the *scores*. This time we write the mask the other way round, `True` where a
# cell is hidden: `torch.triu` with `diagonal=1` keeps what lies above the diagonal.

# %% name="masked-before"
future = torch.triu(torch.ones(6, 6), diagonal=1).bool()
masked_scores = scores.masked_fill(future, -torch.inf)
print(masked_scores)

# %% [markdown]
# "journey" has the scores 0.4656 and 0.1723, and four times $-\infty$. Scale, then softmax.

# %% name="causal-weights"
causal_weights = torch.softmax(masked_scores / d_k**0.5, dim=-1)  # (6, 6), every row sums to 1
print(causal_weights)

# %% [markdown]
# Row 2 is 0.5517 and 0.4483 again, and no division was needed afterwards: softmax did it. Here they are as a picture.

# %% name="weights-picture" shows="Heat map of the six by six causal weights. Everything above the diagonal is hatched, that is hidden. The first row has one cell of 1.00; each further row has one cell more and lower weights, down to about 0.15 to 0.19 in the last row. Every row sums to 1.00."
pictures.show_weights(
    causal_weights, tokens, title="Causal attention weights", masked=future,
)

# %% [markdown]
# The message: a hatched cell is not a small weight, it is no weight. Each row spreads the same total, 1.00, over one word more
# than the row above. So the rows differ mostly in how many words they may see: "Your" must give itself everything, and
# "step" gives no word more than 0.1935.

# %% [markdown]
# ### Are both ways the same?
#
# The two tables agree in all printed digits. Yu's page calls renormalising a complication that might have unintended
# effects. Has it? Compare the tables themselves, then a thousand random ones, in 64-bit floats.

# %% name="same-weights"
def masked_then_divided(scores):
    """Causal weights (T, T): softmax, then mask, then divide every row by its sum."""
    kept = torch.softmax(scores, dim=-1).tril()
    return kept / kept.sum(dim=-1, keepdim=True)


print("six words, at most 1e-6:", bool((renormalised - causal_weights).abs().max() < 1e-6))
torch.manual_seed(123)
many = torch.rand(1000, 6, 6, dtype=torch.float64) * 20 - 10  # scores from -10 to 10
masked_first = torch.softmax(many.masked_fill(future, -torch.inf), dim=-1)
difference = (masked_then_divided(many) - masked_first).abs().max()
print("a thousand tables, at most 1e-14:", bool(difference < 1e-14))

# %% [markdown]
# Neither differs by more than rounding: one in a million with the 32-bit floats of our six words, 1e-14 with 64 bits.
# They are one formula. Write $s_{ij} = \omega_{ij} / \sqrt{d_k}$ for the scaled score. In row $i$, softmax divides
# every $\exp(s_{ij})$ by the same sum $Z_i$, and renormalising cancels it:
#
# $$\frac{\exp(s_{ij}) / Z_i}{\sum_{m \le i} \exp(s_{im}) / Z_i}
# = \frac{\exp(s_{ij})}{\sum_{m \le i} \exp(s_{im})}$$
#
# The hidden scores stood in $Z_i$ only, and $Z_i$ is gone. So renormalising is correct. It is not always safe, though.

# %% [markdown]
# ### Where they stop agreeing
#
# To avoid overflow, softmax subtracts the largest score of the row. What if the largest score is a hidden one? Take a
# row with two visible scores, 0 and 1, and a hidden one that grows.

# %% name="large-hidden-score"
last = torch.tensor([False, False, True])
for hidden_score in [10.0, 80.0, 200.0]:
    row = torch.tensor([0.0, 1.0, hidden_score])
    kept = torch.softmax(row, dim=-1).masked_fill(last, 0)
    before = torch.softmax(row.masked_fill(last, -torch.inf), dim=-1)
    print(f"{hidden_score:5} after: {kept / kept.sum()}   before: {before}")

# %% [markdown]
# Up to 80 both say 0.2689 and 0.7311. At 200, masking afterwards gives `nan`. Why? Look at the two visible weights
# before the division.

# %% name="underflow"
print(torch.softmax(torch.tensor([0.0, 1.0, 200.0]), dim=-1))

# %% [markdown]
# They should be about $e^{-200}$ and $e^{-199}$, too small for a 32-bit float, and become 0. Renormalising then divides
# 0 by 0. (Shortly before that point it is worse: near 103 the visible weights have lost nearly all their digits, and
# the result is wrong without any `nan`.) Masking before softmax never looks at the hidden score and has no such
# trouble. It is also one step instead of three (multiply, sum, divide). All five texts behind this course end up
# masking the scores.

# %% [markdown]
# ### Exercise 3.3 · Mask after softmax, and repair the rows
# 2 points · ★★☆ · 10 minutes
#
# Write the second half of the first way: from weights in which nothing is hidden to causal weights. It should take a
# single table, a batch, or a batch with several heads: `...` stands for any dimensions in front.

# %% name="exercise-3-3"
def my_masked_afterwards(weights):
    """Causal weights (..., T, T), every row sums to 1, from full weights (..., T, T)."""
    ### BEGIN SOLUTION
    kept = torch.tril(weights)  # (..., T, T), the future is 0
    return kept / kept.sum(dim=-1, keepdim=True)  # (..., T, T) / (..., T, 1)
    ### END SOLUTION

# %% name="check-3-3"
### BEGIN HIDDEN TESTS
assert check("3.3", my_masked_afterwards).status == "right"
### END HIDDEN TESTS
check("3.3", my_masked_afterwards)

# %% [markdown] tags=["solution"]
# **Why it works.** `torch.tril` works on the last two dimensions, whatever stands in front. The sums run over the keys,
# the last dimension, and `keepdim=True` leaves them standing as a column, one sum for each row.

# %% [markdown]
# ### A left-over in one of our sources
#
# A condensed notebook among our sources also masks before softmax. Its table of scores looks like this.

# %% name="raw-masked-scores"
raw_scores = (inputs @ inputs.T).masked_fill(future, -torch.inf)  # (6, 3) @ (3, 6) -> (6, 6)
print(raw_scores)

# %% [markdown]
# "journey" scores 1.4950 with itself: that is the number of chapter 1. These are scores of the raw embeddings, without
# query or key layers. Then the notebook divides by the square root of the size of its keys, `keys.shape[-1]**0.5`. We
# do the same: `keys` still holds what we computed above.

# %% name="raw-divided-by-root-2"
print(torch.softmax(raw_scores / keys.shape[-1]**0.5, dim=-1))

# %% [markdown]
# Row 2 is 0.4056 and 0.5944, as in that notebook, and the mask works as it should. But what have `keys` to do with
# these scores? Nothing: they are left over from another section, and have two numbers each. The vectors compared here
# have three. In a notebook every name lives on, so this is easily done.
#
# There are two ways to put it right: use the projected scores with $\sqrt{2}$, as in the table further up, or the raw
# ones with $\sqrt{3}$. Here is "journey" in the second way.

# %% name="raw-divided-by-root-3"
print(torch.softmax(raw_scores / inputs.shape[-1]**0.5, dim=-1)[1])

# %% [markdown]
# 0.4226 and 0.5774 instead of 0.4056 and 0.5944: a little more even. A safe habit is to take the size from the tensor
# that entered the product.

# %% [markdown]
# ## A row with nothing left
#
# The causal mask leaves each token at least itself. Other masks may not. Sequences of unequal length are filled up with
# empty tokens, called **padding**, which nobody should attend to. Suppose "Your" were padding: hide its column, too.

# %% name="padding-at-the-start"
hidden = future.clone()
hidden[:, 0] = True  # nobody may see the first token
broken = torch.softmax(scores.masked_fill(hidden, -torch.inf) / d_k**0.5, dim=-1)  # (6, 6)
print(broken[:2])

# %% [markdown]
# Row 1 is hidden altogether. By softmax's formula that is 0 divided by 0: `nan`. Row 2 is fine: "journey" gives itself
# a weight of 1. One bad row of six, and of a padding token at that. Can we ignore it? Mix twice with these weights, as
# if two layers had them, and count the rows with a `nan`.

# %% name="nan-spreads"
first = broken @ inputs  # (6, 6) @ (6, 3) -> (6, 3)
second = broken @ first
for mixed in [first, second]:
    print("rows with a nan:", int(mixed.isnan().any(dim=-1).sum()))

# %% [markdown]
# From 1 row to 6. The other rows give the first token a weight of 0, but 0 times `nan` is `nan`.
#
# An article on BERT among our sources fills with $-10^9$ instead of $-\infty$. Does that help?

# %% name="minus-a-billion"
scaled_scores = scores / d_k**0.5
print("bit for bit the same:", torch.equal(
    torch.softmax(scaled_scores.masked_fill(future, -1e9), dim=-1),
    torch.softmax(scaled_scores.masked_fill(future, -torch.inf), dim=-1),
))
print(torch.softmax(scaled_scores.masked_fill(hidden, -1e9), dim=-1)[:2])

# %% [markdown]
# With the causal mask both fillings give the same weights, bit for bit: next to a visible score, $\exp$ of minus a
# billion is 0. In the hidden row they differ. All six scores are now equal, so softmax makes them even: 0.1667 for
# everyone.
#
# That is no `nan`, but look where it attends: to five future words and to the padding, everything that was forbidden.
# `nan` fails loudly, $-10^9$ silently. Better than either is a mask that leaves something to see in every row.

# %% [markdown]
# **Question 3.2.** All keys of one row are hidden with $-10^9$. What does softmax give in that row?
#
# * **a** `nan` everywhere.
# * **b** 0 everywhere.
# * **c** The same weight everywhere, hidden tokens included.

# %% name="question-3-2"
answer("Q3.2", "c")

# %% [markdown]
# ### Exercise 3.4 · A causal mask that survives padding
# 3 points · ★★★ · 20 minutes
#
# Build the mask for a batch in which some tokens are padding. A token may not see the future, and it may not see
# padding, with one exception: every token may see itself, so that no row is empty. `True` means hidden.

# %% name="exercise-3-4"
def my_mask(is_padding):
    """True where a key is hidden: (B, T, T), from is_padding (B, T), True at padding."""
    ### BEGIN SOLUTION
    T = is_padding.shape[-1]
    future = torch.triu(torch.ones(T, T), diagonal=1).bool()  # (T, T)
    hidden = future | is_padding[:, None, :]  # (T, T) | (B, 1, T) -> (B, T, T)
    return hidden & ~torch.eye(T).bool()  # except oneself
    ### END SOLUTION

# %% name="check-3-4"
### BEGIN HIDDEN TESTS
assert check("3.4", my_mask).status == "right"
### END HIDDEN TESTS
check("3.4", my_mask)

# %% [markdown] tags=["solution"]
# **Why it works.** Padding hides *columns*, the keys, so its new dimension goes in the middle; `is_padding[:, :, None]`
# would hide rows. The diagonal comes last because it is an exception to both rules. What a padding token puts out is
# meaningless, but finite, and no other token sees it.

# %% [markdown]
# ## When True means keep
#
# PyTorch has all of this in one function, `F.scaled_dot_product_attention`. It takes a boolean mask, and we have one:
# `future`. If we pass a unit matrix for the values, its result is the weights themselves. Which row do we get for
# "journey"?

# %% name="wrong-polarity"
unit = torch.eye(6)  # weights @ unit = weights
print(F.scaled_dot_product_attention(queries, keys, unit, attn_mask=future)[1])

# %% [markdown]
# "journey" sees nothing but its future: 0.2638 for "starts", and 0 for "Your" and itself. In this function a boolean
# mask says which cells *take part*: `True` means keep. `masked_fill` asks the opposite question, which cells to
# overwrite. Each name fits its job: `attn_mask` lists who attends, `masked_fill` lists what is filled. `~` turns a mask
# round.

# %% name="right-polarity"
kept = F.scaled_dot_product_attention(queries, keys, unit, attn_mask=~future)
built_in = F.scaled_dot_product_attention(queries, keys, unit, is_causal=True)
print(kept[1])
print(torch.allclose(kept, causal_weights), torch.allclose(built_in, causal_weights))

# %% [markdown]
# 0.5517 and 0.4483: our causal weights. With `is_causal=True` the function makes that mask itself. The first call
# raised no error, though. How can we test a mask without knowing the right numbers?

# %% [markdown]
# ## The proof that nothing leaks
#
# A mask is a promise about *outputs*: output $t$ must not depend on input $s$ if $s$ comes later. So test the promise
# and not the mask. Chapter 1 measured how strongly each token moves one result, by derivatives. Now we measure all
# outputs at once: a $T \times T$ table. Its entry in row $t$ and column $s$ is the largest derivative of any number of
# output $t$ with respect to any number of input $s$. (Chapter 1 took the root of a sum of squares; to tell zero from
# not zero, the largest is enough.)

# %% name="influences"
def influences(function, sequence):
    """How strongly input s moves output t of function(sequence): (T, T), row t, column s."""
    derivatives = jacobian(function, sequence)  # (T, d_out, T, d_in)
    return derivatives.abs().amax(dim=(1, 3))  # (T, T)


print(influences(attention, inputs)[0])

# %% [markdown]
# The first row belongs to the output of "Your", without a mask. It depends on every word: the derivative is 0.0995 for
# its own and still 0.0730 for the last. We only ask whether an entry is zero or not. The table of these answers is the
# **dependency matrix**.

# %% name="full-dependencies" shows="Table of six by six cells, rows for outputs and columns for inputs. All 36 cells say yes: every output depends on every input, those of later words included."
depends = influences(attention, inputs) > 0
pictures.show_dependencies(
    depends, tokens, title="Full attention",
)

# %% [markdown]
# The message: without a mask every output depends on every input, 36 times yes. Now the causal version. Its mask is
# built from a `diagonal` that we can also set wrong.

# %% name="causal-context"
def causal_context(sequence, diagonal=1):
    """Context vectors (T, d_out) of a sequence (T, d_in); hidden: this diagonal and above."""
    queries, keys = attention.W_query(sequence), attention.W_key(sequence)  # (T, d_out) each
    scores = queries @ keys.T / keys.shape[-1]**0.5  # (T, T)
    hidden = torch.triu(torch.ones_like(scores), diagonal=diagonal).bool()
    weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)  # (T, T)
    return weights @ attention.W_value(sequence)  # (T, T) @ (T, d_out) -> (T, d_out)

# %% [markdown]
# **Question 3.3.** In how many of the 36 cells should the dependency matrix say yes now?
#
# * **a** 15
# * **b** 21
# * **c** 6

# %% name="question-3-3"
answer("Q3.3", "b")

# %% [markdown]
# Let us count.

# %% name="causal-dependencies" shows="Table of six by six cells, rows for outputs and columns for inputs. The lower triangle with the diagonal says yes, 21 cells; all 15 cells above the diagonal hold a dot for no."
depends = influences(causal_context, inputs) > 0
pictures.show_dependencies(
    depends, tokens, title="Causal attention",
)

# %% [markdown]
# The message: 21, exactly the lower triangle. Each output depends on its own word and on all earlier ones, and on
# nothing later. The zeros above the diagonal are not small numbers but exact zeros.
#
# A derivative speaks of one sentence only. Is it the same for others?

# %% name="many-sentences"
torch.manual_seed(123)
triangle = torch.ones(6, 6).tril().bool()
tables = [influences(causal_context, torch.rand(6, 3)) > 0 for _ in range(20)]
print("all 20 are the triangle:", all(torch.equal(table, triangle) for table in tables))

# %% [markdown]
# Twenty random sentences give the same triangle. There is a reason: a hidden score is overwritten before softmax reads
# it. So it can reach no weight of its row, and its own weight is exactly 0.
#
# Now a slip of one: `diagonal=2` instead of 1. The code runs and every row sums to 1.

# %% name="wrong-diagonal" shows="Table of six by six cells, rows for outputs and columns for inputs. The lower triangle says yes and so do the five cells just above the diagonal: each output but the last also depends on the next word."
depends = influences(lambda sequence: causal_context(sequence, diagonal=2), inputs) > 0
pictures.show_dependencies(
    depends, tokens, title="Causal attention with the wrong diagonal",
)

# %% [markdown]
# The message: one stripe of yes above the diagonal. "Your" depends on "journey", the very word it has to predict. In
# training such a model could copy its answers. When it has to write, there is nothing to copy yet.
#
# And a slip the other way, `diagonal=0`?

# %% name="diagonal-zero"
print(causal_context(inputs, diagonal=0)[:2])

# %% [markdown]
# Each token is hidden from itself, so "Your" has nothing left to see: `nan`. The second row, "journey", is the value of
# "Your" alone. If the first row is `nan`, look at the diagonal. And what would the dependency matrix say?

# %% name="nan-dependencies"
table = influences(lambda sequence: causal_context(sequence, diagonal=0), inputs)
print("nan:", int(table.isnan().sum()), "yes:", int((table > 0).sum()), "of", table.numel())

# %% [markdown]
# Nothing: derivatives do not survive the empty row, and `nan > 0` is `False`, so all 36 cells would show a dot, as if
# nothing depended on anything. A cell that holds `nan` proves nothing, neither a leak nor that there is none.

# %% [markdown]
# ### Masking after softmax, once more
#
# What did the first way do, masking after softmax, *before* we renormalised it? The future's weights were 0 there, too.
# So nothing leaks?

# %% name="leak-without-division"
def masked_after_context(sequence, divide):
    """Context vectors (T, d_out): softmax, mask, and if divide, every row by its sum."""
    queries, keys = attention.W_query(sequence), attention.W_key(sequence)  # (T, d_out) each
    weights = torch.softmax(queries @ keys.T / keys.shape[-1]**0.5, dim=-1).tril()  # (T, T)
    if divide:
        weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ attention.W_value(sequence)  # (T, T) @ (T, d_out) -> (T, d_out)


leak = influences(lambda sequence: masked_after_context(sequence, divide=False), inputs)
print(leak[0])

# %% [markdown]
# It leaks. "Your" moves with all six words. The future's weights are 0, but its scores are still in the sum $Z_i$ that
# softmax divided by, and so they change the weights that are left. And after renormalising, when $Z_i$ cancels?

# %% name="no-leak-after-division"
rest = influences(lambda sequence: masked_after_context(sequence, divide=True), inputs)
print(f"without division, above the diagonal: at most {leak.triu(diagonal=1).max():.4f}")
print("with division, at most 1e-8:", bool(rest.triu(diagonal=1).max() < 1e-8))

# %% [markdown]
# Without the division the largest derivative with respect to a future word is 0.0028. With it, less than 1e-8 is left,
# which is rounding: $Z_i$ cancels, but not to the last bit. So the page's warning has a point after all. Forget to
# renormalise, and the future leaks although every forbidden weight is 0: it leaks through the sizes of the weights that
# are left. With $-\infty$ before softmax there is nothing to forget.
#
# All these ways in one figure, computed in 64-bit floats: weights on the left, dependency matrix on the right. Which
# settings do you expect to leak?

# %% name="masking-live"
live.show_masking(attention, inputs, tokens)

# %% [markdown]
# The message: the triangle on the right is what counts, and hatched cells on the left do not guarantee it. Mask after
# softmax, and every output depends on everything; the row sums give it away. Renormalise, and the triangle is back.
#
# Now turn the mask off. Every row sums to 1 again, and all 36 cells say yes. Row sums alone prove nothing, either.

# %% [markdown]
# ### Exercise 3.5 · Does anything leak?
# 1 point · ★☆☆ · 5 minutes
#
# Turn the proof into a function: from a table of influences to a verdict. Return Python's `True` or `False`. Only what
# lies above the diagonal counts: a causal layer need not use all that it may see. A `nan` there is no proof, so the
# verdict is `False`.

# %% name="exercise-3-5"
def my_is_causal(influence):
    """True if no output depends on a later input, from influence (T, T), row t, column s."""
    ### BEGIN SOLUTION
    future = torch.triu(influence, diagonal=1)  # (T, T), the past and the present are 0
    return bool((future == 0).all())
    ### END SOLUTION

# %% name="check-3-5"
### BEGIN HIDDEN TESTS
assert check("3.5", my_is_causal).status == "right"
### END HIDDEN TESTS
check("3.5", my_is_causal)

# %% [markdown] tags=["solution"]
# **Why it works.** Above the diagonal the input comes after the output, and there only zeros are allowed. What stands
# on the diagonal or below may be anything: a causal layer need not use all that it may see.

# %% [markdown]
# ### Your own weights at work
#
# The next cell puts your function of exercise 3.2 into a small layer without weights of its own, and asks of its outputs
# what we asked of ours. Once the exercise passes, run it again: you can change the number of words and see which output
# depends on which input. (Until then it says what is missing.)

# %% name="try-layer"
live.try_layer(
    lambda length, dropout: lambda x: my_causal_weights(x @ x.transpose(-2, -1)) @ x, inputs, tokens
)

# %% [markdown]
# ## Your exercises
#
# `hint("3.2")` gives a hint, the next one each time. `solution("3.2")` shows a worked answer once you have tried. And
# here is how far you are:

# %% name="progress"
progress(3)

# %% [markdown]
# ## What to take with you
#
# | way | rows sum to 1 | future | large hidden score |
# | --- | --- | --- | --- |
# | mask after softmax | no | leaks through the sum | rows vanish |
# | the same, renormalised | yes | hidden, up to rounding | `nan`, or silently wrong |
# | $-\infty$ before softmax | yes | hidden, exactly | no effect |
#
# * One row of $T$ tokens is $T$ exercises at once; the **causal mask** hides the answers.
# * One mask $(T, T)$ serves every sequence of a batch $(B, T, C)$.
# * A row with nothing to see gives `nan` with $-\infty$, and silently attends to everything with $-10^9$.
# * `masked_fill` overwrites where the mask is `True`; `F.scaled_dot_product_attention` keeps where it is `True`.
# * The **dependency matrix** tests the promise itself. A yes above the diagonal is a leak (or, if it is tiny, rounding); a
#   missing yes below it is a `nan` or a mask that hides too much.
#
# **Next.** [Chapter 4](04_dropout_and_the_causal_class.ipynb) puts the mask into a class of its own and adds dropout.
# All chapters: [the course's contents](../README.md#chapters).
