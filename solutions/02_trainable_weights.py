# ---
# jupyter:
#   course:
#     summary: queries, keys and values from matrices; why scores are divided
# ---

# %% [markdown]
# # Chapter 2 · Trainable weights
#
# **After this chapter you can**
#
# * give queries, keys and values a matrix each, so that a word can look for one thing and take another;
# * explain why scores are divided by $\sqrt{d_k}$, and show what happens if they are not;
# * write attention as a PyTorch module that can be trained.
#
# **Time.** About 90 minutes, exercises included. **You need** chapter 1 and Python classes. A little calculus helps in
# two places.
#
# Run the cells from top to bottom (Shift + Enter). The first cell finds the course's helpers or installs them.

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
import torch
from torch import nn

from course_utils import live, pictures
from course_utils.checking import answer, check, hint, progress, quiz, review, solution
from course_utils.layer_drawing import show_layer
from course_utils.validation import check_input

# %% [markdown]
# ## From memory
#
# Answer three questions about chapter 1 without looking back: recalling something helps you remember it. Write a word
# or a number in place of each question mark. `review()` repeats the questions that you miss. (These are stored beside
# your notebooks; on Colab, mount your Drive first to keep them.)
#
# **From memory 2.1.** The vector that says what is looked for is called the ...

# %% name="memory-2-1"
answer("M2.1", "query")

# %% [markdown]
# **From memory 2.2.** All six scores of a query are 0. What is its largest weight?

# %% name="memory-2-2"
answer("M2.2", "1/6")

# %% [markdown]
# **From memory 2.3.** Every score of a query grows by 10. By how much does its largest weight grow?

# %% name="memory-2-3"
answer("M2.3", "0")

# %% name="review"
review()

# %% [markdown]
# ## One vector, three jobs
#
# *Tom gave Anna the bike because she liked it.* How old is she? To answer, "she" must find Anna and receive her age.

# %% name="people"
axes = ["female", "male", "thing", "pronoun", "age"]
people = dict.fromkeys(["gave", "liked", "because", "the"], [0, 0, 0, 0, 0])
people |= {"Anna": [1, 0, 0, 0, 9], "Eva": [1, 0, 0, 0, 4], "she": [1, 0, 0, 1, 0]}
people |= {"Tom": [0, 1, 0, 0, 7], "Paul": [0, 1, 0, 0, 5], "he": [0, 1, 0, 1, 0]}
people |= {"bike": [0, 0, 1, 0, 3], "book": [0, 0, 1, 0, 2], "it": [0, 0, 1, 1, 0]}


def embedded(words):
    """The embeddings of T words, shape (T, 5)."""
    return torch.tensor([people[word] for word in words]).float()


story = "Tom gave Anna the bike because she liked it".split()
x = embedded(story)  # (9, 5)
raw = torch.softmax(x @ x.T, dim=-1)
for word, weight in zip(story, raw[story.index("she")].tolist()):
    print(f"she -> {word:8} {weight:.2f}")

# %% [markdown]
# As in chapter 1, each embedding does three jobs here, and this time that goes wrong: "she" gives 0.39 to itself and
# only 0.14 to Anna, no more than to "it". "she" is female and a pronoun, so it best matches what is female and a
# pronoun: itself. What "she" *asks for* should not be what "she" *is*. And what "she" takes from Anna should be her
# age, which plays no part in finding her.
#
# The remedy is one matrix per job. A vector times a matrix is a new vector, and the numbers in the matrix decide what
# comes out. Such a product is called a **projection**. (The numbers in a matrix are often also called weights. Here
# they are **parameters**; weights are what softmax computes.)
#
# $$q^{(i)} = x^{(i)}\,W_q, \qquad k^{(i)} = x^{(i)}\,W_k, \qquad v^{(i)} = x^{(i)}\,W_v$$
#
# Before we choose matrices for "she", here is the arithmetic on a smaller example: "cat" with the embedding [1, 0.5].

# %% name="cat"
cat = torch.tensor([1.0, 0.5])
for_query = torch.tensor([[1.0, 0.2], [0.3, 0.7]])  # each (2, 2), row by row
for_key = torch.tensor([[0.7, 0.5], [0.2, 0.1]])
for_value = torch.tensor([[0.4, 0.6], [0.4, 0.2]])
for name, matrix in [("Query:", for_query), ("Key:", for_key), ("Value:", for_value)]:
    print(name, [round(number, 2) for number in (cat @ matrix).tolist()])

# %% [markdown]
# One embedding went in and three vectors came out. The first number of the query is the embedding times the first
# *column*: 1 · 1.0 + 0.5 · 0.3 = 1.15. Read by **rows**, the matrix says what each number of the embedding contributes:
# 0.5 adds half of row 2.
#
# ### One matrix for "she"
#
# Now we choose the numbers, first for one job. What should "she" ask for? Someone female, pronoun or not. So rows 4
# (pronoun) and 5 (age) of the query matrix are zero, and the query of "she" becomes "female". We leave the keys as they
# are. How will "she" divide its weight now?

# %% name="ask-for-female"
ask = torch.zeros(5, 5)
ask[:3, :3] = 10 * torch.eye(3)  # rows female, male, thing: ask for what you are, loudly
new_query = embedded(["she"]) @ ask  # (1, 5) @ (5, 5) -> (1, 5)
shares = torch.softmax(new_query @ x.T, dim=-1)[0]  # (9,)
print(ask)  # rows and columns: female, male, thing, pronoun, age
print(new_query, f"Anna {shares[2]:.2f}, she {shares[6]:.2f}")

# %% [markdown]
# Now "she" gives 0.50 to Anna and 0.50 to itself: both are female. Apart from age, they differ only in that "she" is a
# pronoun; telling them apart is a job for the *keys*. If the first column of the key matrix has 1 in row 1 and −1 in
# row 4, Anna's key begins with 1 and that of "she" with 1 − 1 = 0. The third matrix decides what is passed on.

# %% [markdown]
# ### Exercise 2.1 · How old is she?
# 3 points · ★★☆ · 10 minutes
#
# Write three matrices. In every sentence of up to twelve words from the thirteen above (repeats allowed),
#
# * "she" should divide at least nine tenths of its weight evenly among the girls, "he" among the boys, and "it" among
#   the things (pronouns do not count as girls, boys or things);
# * each of these pronouns should receive approximately the age (or mean age) of what it finds, and nothing else.
#
# Other words may do anything, as may a pronoun with nothing to find. Choose any width $d_k$. The check divides scores
# by $\sqrt{d_k}$, for a reason given below, so use large numbers.

# %% name="exercise-2-1"
def my_matrices():
    """W_query (5, d_k), W_key (5, d_k), W_value (5, 1). Rows: female, male, thing, pronoun, age."""
    ### BEGIN SOLUTION
    W_query = torch.zeros(5, 3)
    W_query[:3] = 20.0 * torch.eye(3)  # ask for what you are, but not for a pronoun
    W_key = torch.zeros(5, 3)
    W_key[:3] = torch.eye(3)  # be found by what you are,
    W_key[3] = -2.0  # and hardly at all if you are a pronoun
    W_value = torch.tensor([[0.0], [0.0], [0.0], [0.0], [1.0]])  # pass on the age
    return W_query, W_key, W_value
    ### END SOLUTION

# %% name="check-2-1"
### BEGIN HIDDEN TESTS
assert check("2.1", my_matrices).status == "right"
### END HIDDEN TESTS
check("2.1", my_matrices)

# %% [markdown] tags=["solution"]
# **Why it works.** The query of "she" is [20, 0, 0], the key of Anna is [1, 0, 0], and that of "she" is [−1, −2, −2]:
# Anna scores 20 and "she" −20. Many other matrices behave the same. Multiply both `W_query` and `W_key` by the same
# rotation, or double one and halve the other, and no score changes. `W_value` plays no part in who is found.

# %% name="play-2-1"
from course_utils.play import show_puzzle

show_puzzle("2.1")  # try out numbers here, then copy them into your answer

# %% name="try-2-1"
def my_weights(words):
    """Attention weights (T, T) from your matrices."""
    W_query, W_key, _ = my_matrices()
    scores = (embedded(words) @ W_query) @ (embedded(words) @ W_key).T  # (T, T)
    return torch.softmax(scores / W_key.shape[-1] ** 0.5, dim=-1)


live.try_head(my_weights, "Tom gave Anna the bike because she liked it")

# %% [markdown]
# Once your answer is right, read the rows of "she" and "it": each finds the word it stands for. Does Anna find "she" in
# return? (With our solution, no: Anna finds herself.)
#
# For thousands of words, training must find such matrices; the end of this chapter shows how.
#
# ## The four steps for "journey"
#
# Chapter 1 had three steps: score, softmax, mix. Now there are four, because we **project** first. We follow "journey",
# $x^{(2)}$, with matrices drawn at random from a fixed seed.

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
x_2 = inputs[1]
d_in, d_out = 3, 2  # numbers per embedding; numbers per query, key and value

torch.manual_seed(123)
W_query = torch.rand(d_in, d_out)
W_key = torch.rand(d_in, d_out)
W_value = torch.rand(d_in, d_out)
print(W_query)

# %% [markdown]
# `W_query` has three rows, because an embedding has three numbers, and two columns, because a query will have two.
#
# **Step 1: project.** Only "journey" asks, so we need one query, but all six keys and all six values.

# %% name="query-keys-values"
query_2 = x_2 @ W_query  # (3,) @ (3, 2) -> (2,)
print(query_2)
keys = inputs @ W_key  # (6, 3) @ (3, 2) -> (6, 2)
values = inputs @ W_value  # (6, 3) @ (3, 2) -> (6, 2)
print("keys.shape:", keys.shape)
print("values.shape:", values.shape)

# %% [markdown]
# **Step 2: score.** This is the dot product of chapter 1, but of a query $q^{(2)}$ and a key $k^{(j)}$ instead of two
# embeddings: $\omega_{2j} = q^{(2)} \cdot k^{(j)}$.

# %% name="one-score"
key_2 = keys[1]
omega_22 = torch.dot(query_2, key_2)
print(omega_22)
scores_2 = query_2 @ keys.T  # (2,) @ (2, 6) -> (6,)
print(scores_2)

# %% [markdown]
# "journey" again scores highest with itself, 1.8524.
#
# **Step 3: weights.** We use softmax again, but first divide each score by $\sqrt{d_k}$, where $d_k$ is the number of
# entries in a key (here `d_out`, which is 2). The section after next explains why.
#
# $$\alpha_{2j} = \frac{\exp(\omega_{2j} / \sqrt{d_k})}{\sum_{m} \exp(\omega_{2m} / \sqrt{d_k})}$$

# %% name="weights"
d_k = keys.shape[-1]
weights_2 = torch.softmax(scores_2 / d_k**0.5, dim=-1)
print("scaled:    ", weights_2)
print("not scaled:", torch.softmax(scores_2, dim=-1))

# %% [markdown]
# With the division, "journey" gives itself a weight of 0.2264; without it, 0.2507.
#
# **Step 4: mix.** The weights mix the six *values*.

# %% name="context"
print(values)
context_2 = weights_2 @ values  # (6,) @ (6, 2) -> (2,)
print(context_2)

# %% [markdown]
# The context vector of "journey" is 0.3061, 0.8210: a weighted average of the six rows above it.
#
# Steps 2 to 4, with the division, are **scaled dot-product attention**; step 1 comes before it. When queries, keys and
# values come from the same sequence, this is **self-attention**, as in chapter 1.

# %% name="layer-drawing" shows="The drawing of chapter 1 with four new boxes. Three matrices, W_query, W_key and W_value, make queries and keys of d_k numbers and values of d_out numbers from the inputs. Between scores and softmax a box divides by the square root of d_k. The context is T by d_out."
show_layer("projections")

# %% [markdown]
# The matrices at the top and the division in the middle are new.

# %% [markdown]
# ## All queries at once, and a broken symmetry
#
# In chapter 1, "journey" scored "one" exactly as "one" scored "journey". Is that still so?

# %% name="all-scores"
queries = inputs @ W_query  # (6, 3) @ (3, 2) -> (6, 2)
scores = queries @ keys.T  # (6, 2) @ (2, 6) -> (6, 6)
print(scores)

# %% [markdown]
# No: "journey" scores "one" 0.5577, and "one" scores "journey" 0.8819. The symmetry is broken.

# %% [markdown]
# **Question 2.1.** What broke it?
#
# * **a** Multiplying the embeddings by a matrix.
# * **b** Using *two* matrices, one for the queries and one for the keys.
# * **c** The random numbers in the matrices.

# %% name="question-2-1"
answer("Q2.1", "b")

# %% [markdown]
# Now we use one matrix for both jobs.

# %% name="one-matrix" tags=["answers-Q2.1"]
same_matrix = queries @ queries.T  # W_query for the queries and for the keys
print("symmetric with one matrix for both:", torch.allclose(same_matrix, same_matrix.T))
print("symmetric with two matrices:        ", torch.allclose(scores, scores.T))

# %% [markdown]
# With one random matrix for both, the scores are symmetric again. With two, a word can look for another without being
# looked for in return, as "she" looks for Anna.
#
# ## Why divide by the square root of $d_k$?
#
# First, what does softmax do to scores that lie far apart? We take three scores with gaps of 1 and widen the gaps.

# %% name="spread"
apart = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64)
for spread in [1, 4, 16]:
    shares = torch.softmax(apart * spread, dim=0)
    nudged = torch.softmax(apart * spread + torch.tensor([0, 0, 0.001]), dim=0)
    derivative = (nudged[2] - shares[2]) / 0.001  # of the largest weight with respect to its score
    print([round(share, 4) for share in shares.tolist()], f"derivative {derivative:.1e},"
          f" weight times (1 - weight) {shares[2] * (1 - shares[2]):.1e}")

# %% [markdown]
# With gaps of 4, the largest weight is 0.9817; with gaps of 16, it rounds to 1. The **derivative** says how strongly
# that weight reacts when we nudge its own score. Its formula is $\alpha(1-\alpha)$, as the last column confirms. The
# derivative is never above a quarter, and here it falls from 2.2e-01 to 1.1e-07. Training, at the end of this chapter,
# changes scores through such derivatives; with gaps of 16, it would change almost nothing. Such a softmax is called
# **saturated**.

# %% [markdown]
# Second, how far apart do scores lie? A score adds up $d_k$ products. Suppose that all numbers in queries and keys
# are random and independent, with mean 0 and **variance** 1. (The variance is the mean squared distance from the
# mean.) Then each product $qk$ has mean 0 and variance 1: the mean of $q^2 k^2$ is that of $q^2$ times that of $k^2$.
# And when independent numbers are added, their variances add up.

# %% [markdown]
# **Question 2.2.** What is the variance of a score that adds up 64 such products?
#
# * **a** 1
# * **b** 8
# * **c** 64

# %% name="question-2-2"
answer("Q2.2", "c")

# %% [markdown]
# We draw 10,000 queries and 10,000 keys of 64 numbers. `cumsum` keeps every subtotal, so it gives the scores for $d_k$
# from 1 to 64.

# %% name="variance" tags=["answers-Q2.2"]
torch.manual_seed(123)
many_queries = torch.randn(10_000, 64, dtype=torch.float64)
many_keys = torch.randn(10_000, 64, dtype=torch.float64)
subtotals = (many_queries * many_keys).cumsum(dim=-1)  # (10000, 64)
variances = subtotals.var(dim=0)  # (64,), for d_k = 1, 2, ..., 64
for size in [1, 4, 16, 64]:
    print(f"d_k = {size:2}: variance {variances[size - 1]:.2f}")

# %% [markdown]
# Up to random error, the variance is $d_k$ itself. Dividing numbers by $c$ divides their variance by $c^2$. Which
# divisor, then, brings the variance back to 1?

# %% name="divisors"
scores_64 = subtotals[:, -1]  # (10000,)
print(f"square root of 64: {64**0.5:g}")
print(f"variance, divided by 8:  {(scores_64 / 8).var():.4f}")
print(f"variance, divided by 64: {(scores_64 / 64).var():.4f}")

# %% [markdown]
# The square root, 8, brings the variance to 0.9830. Dividing by 64 goes too far: it leaves 0.0154.
#
# Third, we combine the two results, with a random query and six random keys. The **favourite** is the key that gets the
# largest weight, purely by chance. An even share would be one sixth. How much does the favourite get at $d_k = 64$?
# Guess first. We draw 4000 such queries and take the median: half of the favourites get more. (You need not read the
# code.)

# %% name="favourite-picture" shows="Two curves over d_k from 1 to 256. Without the division the weight of the favourite rises from about 0.3 to 1. With the division it rises to just below 0.4 at 16 and stays flat."
torch.manual_seed(123)
many_queries = torch.randn(4000, 1, 256, dtype=torch.float64)
many_keys = torch.randn(4000, 6, 256, dtype=torch.float64)
many_scores = (many_queries * many_keys).cumsum(dim=-1)  # (4000, 6, 256)
up_to_256 = torch.arange(1, 257)
curves = {}
for name, divisor in [("scores", 1), ("scores / √d_k", up_to_256.sqrt())]:
    largest = torch.softmax(many_scores / divisor, dim=1).amax(dim=1)  # (4000, 256)
    curves[name] = largest.median(dim=0).values  # (256,)
    print(f"{name:13} favourite at d_k = 16: {curves[name][15]:.2f},"
          f" at 64: {curves[name][63]:.2f}, at 256: {curves[name][255]:.4f}")
pictures.show_curves(
    curves, x=up_to_256,
    x_label="d_k, numbers in a query and in a key", y_label="weight of the favourite",
)

# %% [markdown]
# Without the division, softmax saturates as $d_k$ grows. At 64, the median favourite gets 0.97 of the weight, though
# chance alone chose it; at 256, it gets 0.9995, and training could hardly change that. With the division, it gets 0.39
# at 16, 64 and 256.
#
# Now try it with one query.

# %% name="scaling-live"
torch.manual_seed(18)
random_query = torch.randn(64, dtype=torch.float64)
random_keys = torch.randn(6, 64, dtype=torch.float64)
live.show_scaling(random_query, random_keys, tokens)

# %% [markdown]
# The division brings the scores closer together before softmax sees them. A single query may still find a key that
# matches it well: the curves above are medians.
#
# Try this: let $d_k$ grow from 1, and compare the weights with and without the division. Then change the
# **temperature**, a number by which all scores are divided once more. Below 1, it sharpens the weights; above 1, it
# evens them out.
#
# ## Self-attention as a module
#
# In PyTorch, a part of a network is an `nn.Module`. `__init__` makes its matrices once; `forward` holds the steps and
# runs when you call the module. `check_input` rejects invalid input with a readable message. `keys.transpose(-2, -1)`
# swaps the last two dimensions.

# %% name="self-attention-v1"
class SelfAttention_v1(nn.Module):
    """Scaled dot-product attention with three trainable matrices: (T, d_in) to (T, d_out)."""

    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        check_input(x, self.W_query.shape[0], self.W_query)
        queries = x @ self.W_query  # (T, d_in) @ (d_in, d_out) -> (T, d_out)
        keys = x @ self.W_key  # (T, d_out)
        values = x @ self.W_value  # (T, d_out)

        scores = queries @ keys.transpose(-2, -1)  # (T, d_out) @ (d_out, T) -> (T, T)
        d_k = keys.shape[-1]
        weights = torch.softmax(scores / d_k**0.5, dim=-1)  # (T, T), every row sums to 1
        return weights @ values  # (T, T) @ (T, d_out) -> (T, d_out)

# %% [markdown]
# With seed 123, the class draws the same three matrices as above.

# %% name="v1-output"
torch.manual_seed(123)
sa_v1 = SelfAttention_v1(d_in, d_out)
print(sa_v1(inputs))

# %% [markdown]
# Row 2 is our context vector of "journey", 0.3061, 0.8210. `grad_fn` at the end is new: PyTorch has recorded how this
# result was computed, so that it can compute derivatives later. `nn.Parameter` switches this recording on and adds the
# matrix to the module's parameters, which training changes.
#
# PyTorch also has a layer, `nn.Linear(d_in, d_out)`, that multiplies by a matrix, its `weight`. (It can also add a
# vector, the **bias**; we switch that off.)

# %% [markdown]
# **Question 2.3.** What shape is the `weight` of a layer that turns three numbers into two?
#
# * **a** (3, 2)
# * **b** (2, 3)
# * **c** (6,)

# %% name="question-2-3"
answer("Q2.3", "b")

# %% name="linear" tags=["answers-Q2.3"]
torch.manual_seed(123)
linear = nn.Linear(d_in, d_out, bias=False)
print(linear.weight.shape)

# %% [markdown]
# The stored matrix has the shape (2, 3), one row per output; ours have the shape (3, 2). With linear layers, our class
# becomes:

# %% name="self-attention-v2"
class SelfAttention_v2(nn.Module):
    """As v1, with linear layers, which start from better numbers: (T, d_in) to (T, d_out)."""

    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        check_input(x, self.W_query.in_features, self.W_query.weight)
        queries = self.W_query(x)  # (T, d_out)
        keys = self.W_key(x)  # (T, d_out)
        values = self.W_value(x)  # (T, d_out)

        scores = queries @ keys.transpose(-2, -1)  # (T, T)
        d_k = keys.shape[-1]
        weights = torch.softmax(scores / d_k**0.5, dim=-1)  # (T, T), every row sums to 1
        return weights @ values  # (T, d_out)

# %% [markdown]
# Now `nn.Linear` draws the matrices, with seed 789:

# %% name="v2-output"
torch.manual_seed(789)
sa_v2 = SelfAttention_v2(d_in, d_out)
print(sa_v2(inputs))

# %% [markdown]
# "journey" gets −0.0748, 0.0703, where the first class gave 0.3061, 0.8210. Do the classes differ only in their initial
# parameters? To find out, we must copy the matrices from one to the other.

# %% [markdown]
# ### Exercise 2.2 · From a linear layer to a matrix
# 1 point · ★☆☆ · 5 minutes
#
# Write a function that takes a linear layer without bias and returns the matrix $W$ for which `x @ W` equals the
# layer's result. The check also tries a square layer, where a common mistake raises no error.

# %% name="exercise-2-2"
def my_matrix(layer):
    """The matrix (d_in, d_out) for which x @ matrix equals layer(x); the layer has no bias."""
    ### BEGIN SOLUTION
    return layer.weight.T  # (d_out, d_in) -> (d_in, d_out)
    ### END SOLUTION

# %% name="check-2-2"
### BEGIN HIDDEN TESTS
assert check("2.2", my_matrix).status == "right"
### END HIDDEN TESTS
check("2.2", my_matrix)

# %% [markdown] tags=["solution"]
# **Why it works.** The layer stores its matrix transposed, as (d_out, d_in); `.T` makes it (d_in, d_out). Without `.T`,
# a square matrix raises no error but gives a wrong result. `reshape` instead of `.T` gives the right shape, but puts
# the numbers in the wrong places.

# %% [markdown]
# Now we copy the three matrices of `sa_v2`, transposed, into a `SelfAttention_v1`, and compare. (`torch.no_grad()`
# tells PyTorch not to record the copying.)

# %% name="copied-weights"
copied = SelfAttention_v1(d_in, d_out)
with torch.no_grad():
    copied.W_query.copy_(sa_v2.W_query.weight.T)  # (2, 3) -> (3, 2)
    copied.W_key.copy_(sa_v2.W_key.weight.T)
    copied.W_value.copy_(sa_v2.W_value.weight.T)
print(copied(inputs)[1])
print("all rows agree:", torch.allclose(copied(inputs), sa_v2(inputs)))

# %% [markdown]
# All rows agree, so only the initial parameters differed. Do they matter? `torch.rand` draws numbers between 0 and 1,
# whatever the size; `nn.Linear`, between $-1/\sqrt{d_\mathrm{in}}$ and $1/\sqrt{d_\mathrm{in}}$. We take 768 numbers
# per token.

# %% name="initial-weights"
def mean_largest_weight(x, W_query, W_key):
    """The largest attention weight in a row, averaged over the rows."""
    scores = (x @ W_query) @ (x @ W_key).T  # (T, T)
    return torch.softmax(scores / W_key.shape[-1]**0.5, dim=-1).amax(dim=-1).mean()


torch.manual_seed(123)
noise = torch.randn(100, 768, dtype=torch.float64)
from_rand = [torch.rand(768, 64, dtype=torch.float64) for _ in range(2)]
layers = [nn.Linear(768, 64, bias=False, dtype=torch.float64) for _ in range(2)]
from_linear = [layer.weight.T for layer in layers]
for name, matrices in [("torch.rand", from_rand), ("nn.Linear", from_linear)]:
    print(f"{name:10} largest number {matrices[0].max():.4f}, "
          f"mean largest weight {mean_largest_weight(noise, *matrices):.4f}")
    scaled = (noise @ matrices[0]) @ (noise @ matrices[1]).T / 64**0.5  # (100, 100)
    print(f"{'':10} standard deviation of the scaled scores {scaled.std():.2f}")

# %% [markdown]
# They do matter. With `torch.rand`, a token gives, on average, 0.9831 of its attention to one of 100 tokens. All
# parameters are positive, so a query's 64 numbers rise and fall together, and even the scaled scores have a standard
# deviation of 1655. With `nn.Linear`, queries and keys have a variance of about 1/3, so scaled scores have a variance
# of 1/9 and a standard deviation of 0.33; the largest weight is 0.0222 on average.
#
# Models read several sequences at once: a **batch** of shape $(B, T, d_\mathrm{in})$, with $B$ sequences. Does our
# class accept one?

# %% name="batch"
batch = inputs.unsqueeze(0)  # (6, 3) -> (1, 6, 3)
print(sa_v2(batch).shape)
print("same numbers:", torch.allclose(sa_v2(batch)[0], sa_v2(inputs)))

# %% [markdown]
# It does, because it swaps the *last two* dimensions of the keys and leaves the batch dimension in front.

# %% [markdown]
# The last two exercises put everything into a function and then into a layer. Two optional steps lead up to them.
#
# **Step 2.1.** Put these lines of a `forward` into an order that works (several do). Write the letters, as in `"a b c d
# e"`.
#
# ```
# a   scores = queries @ keys.transpose(-2, -1)
# b   queries, keys = self.W_query(x), self.W_key(x)
# c   return weights @ values
# d   values = self.W_value(x)
# e   weights = torch.softmax(scores / ..., dim=-1)
# ```

# %% name="step-2-1"
answer("S2.1", "b d a e c")

# %% [markdown]
# **Step 2.2.** What is the divisor in line e, for keys of shape (B, T, d_k)?

# %% name="step-2-2"
answer("S2.2", "keys.shape[-1] ** 0.5")

# %% [markdown]
# ### Exercise 2.3 · Self-attention in one function
# 2 points · ★★☆ · 10 minutes
#
# Write the four steps as one function of `x` and three matrices. In the check, T, d_in and d_out all differ, so that
# shape mistakes show up. From here on, checks also take derivatives of your result, so do not use `.detach()` or
# `.tolist()`.

# %% name="exercise-2-3"
def my_self_attention(x, W_query, W_key, W_value):
    """Context vectors (T, d_out) of x (T, d_in); each of the three matrices is (d_in, d_out)."""
    ### BEGIN SOLUTION
    queries = x @ W_query  # (T, d_in) @ (d_in, d_out) -> (T, d_out)
    keys = x @ W_key  # (T, d_out)
    values = x @ W_value  # (T, d_out)
    scores = queries @ keys.T  # (T, d_out) @ (d_out, T) -> (T, T)
    d_k = keys.shape[-1]
    weights = torch.softmax(scores / d_k**0.5, dim=-1)  # (T, T), every row sums to 1
    return weights @ values  # (T, T) @ (T, d_out) -> (T, d_out)
    ### END SOLUTION

# %% name="check-2-3"
### BEGIN HIDDEN TESTS
assert check("2.3", my_self_attention).status == "right"
### END HIDDEN TESTS
check("2.3", my_self_attention)

# %% [markdown] tags=["solution"]
# **Why it works.** $d_k$ is the number of entries of a key, so take it from the keys. Taking $d_\mathrm{in}$ gives a
# wrong result that looks much the same. Softmax must run along each row, `dim=-1`, because a row belongs to one query.

# %% [markdown]
# ### Exercise 2.4 · A layer whose values have a width of their own
# 3 points · ★★★ · 20 minutes
#
# Queries and keys are compared, so they need the same width, $d_k$. Values are only mixed, so their width,
# $d_\mathrm{out}$, may differ, as it did for the ages above. Write self-attention as a layer for batches, with three
# linear layers `W_query`, `W_key` and `W_value`, without bias. The check finds them by name and copies its own numbers
# into them. (Three `nn.Parameter`s also work.)

# %% name="exercise-2-4"
class MySelfAttention(nn.Module):
    """Scaled dot-product attention: x (B, T, d_in) to context vectors (B, T, d_out).

    W_query and W_key turn each token into d_k numbers, W_value into d_out.
    """

    def __init__(self, d_in, d_k, d_out):
        super().__init__()
        ### BEGIN SOLUTION
        self.W_query = nn.Linear(d_in, d_k, bias=False)
        self.W_key = nn.Linear(d_in, d_k, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        queries, keys = self.W_query(x), self.W_key(x)  # (B, T, d_k) each
        values = self.W_value(x)  # (B, T, d_out)
        scores = queries @ keys.transpose(-2, -1)  # (B, T, d_k) @ (B, d_k, T) -> (B, T, T)
        weights = torch.softmax(scores / keys.shape[-1]**0.5, dim=-1)  # (B, T, T)
        return weights @ values  # (B, T, T) @ (B, T, d_out) -> (B, T, d_out)
        ### END SOLUTION

# %% name="check-2-4"
### BEGIN HIDDEN TESTS
assert check("2.4", MySelfAttention).status == "right"
### END HIDDEN TESTS
check("2.4", MySelfAttention)

# %% [markdown] tags=["solution"]
# **Why it works.** Each score adds up $d_k$ products, so the divisor is $\sqrt{d_k}$, whatever the width of the values;
# `keys.shape[-1]` gives $d_k$. `transpose(-2, -1)` transposes each sequence's keys and leaves the batch dimension in
# front.

# %% [markdown]
# ## "she" learns to find Anna
#
# Can training find what you wrote in exercise 2.1? We specify only the result. In sixteen sentences, "she" should
# receive the girl's age, "he" the boy's. The four sentences with both Paul and Anna are left out of training. In the
# loop,
#
# * `received` is what the pronouns currently receive;
# * the **loss** is the mean squared difference between `received` and the ages;
# * `backward` computes the **gradient**, the derivative of the loss with respect to every number in every matrix;
# * `-=` takes a small step against the gradient, to lower the loss.
#
# After 1000 such steps, will "she" look at the girl and "he" at the boy?

# %% name="she-learns"
sentences = [f"{boy} gave {girl} the {thing} because {who} liked it".split()
             for who in ["she", "he"] for boy in ["Tom", "Paul"]
             for girl in ["Anna", "Eva"] for thing in ["bike", "book"]]
stories = torch.stack([embedded(words) for words in sentences]).double()  # (16, 9, 5)
ages = torch.cat([stories[:8, 2, 4], stories[8:, 0, 4]])  # (16,): the girl's, then the boy's
unseen = torch.tensor([{"Paul", "Anna"} <= set(words) for words in sentences])  # (16,): four True
torch.manual_seed(123)
trainable = SelfAttention_v2(5, 3).double()  # d_k is 3; we use only the first of three outputs
for step in range(1001):
    received = trainable(stories)[:, 6, 0]  # (16,): "she" or "he" is at index 6
    loss = (received - ages)[~unseen].pow(2).mean()
    if step in [0, 1000]:
        print(f"step {step:4}: loss {loss:.2f}, she: {received[0]:.1f}, he: {received[8]:.1f}")
    trainable.zero_grad()  # forget the gradient of the previous step
    loss.backward()
    with torch.no_grad():
        for parameter in trainable.parameters():
            parameter -= 0.02 * parameter.grad  # a small step

# %% [markdown]
# At first, both pronouns receive 1.5. After 1000 steps, "she" receives 9.0 for Anna and "he" 7.1 for Tom. Where do they
# look?

# %% name="she-learned-picture" shows="Heat map of four rows of weights over the words Tom gave Anna the bike because she/he liked it. Before training the rows of she and he look alike, with no weight above 0.21. After training she gives 0.97 to Anna, and he gives 0.90 to Tom."
def of_pronoun(layer, x):
    """The weights (B, 9) of "she" or "he" in x (B, 9, 5), and what the word receives (B,)."""
    scores = layer.W_query(x) @ layer.W_key(x).transpose(-2, -1)  # (B, 9, 9)
    return torch.softmax(scores / 3**0.5, dim=-1)[:, 6].detach(), layer(x)[:, 6, 0].detach()


torch.manual_seed(123)
untrained = SelfAttention_v2(5, 3).double()  # as `trainable` was before step 0
before, _ = of_pronoun(untrained, stories)
row, received = of_pronoun(trainable, stories)
pictures.show_weights(
    torch.stack([before[0], row[0], before[8], row[8]]),
    ["she, before", "she, after", "he, before", "he, after"],
    key_tokens="Tom gave Anna the bike because she/he liked it".split(),
)

# %% [markdown]
# Before training, the rows of "she" and "he" are nearly alike. Afterwards, "she" gives Anna 0.97 of its weight and "he"
# gives Tom 0.90, though nobody said where to look. What about Eva, and about Paul and Anna, who never met in training?

# %% name="she-learned"
print(f"she -> Anna {row[0, 2]:.2f}, he -> Tom {row[8, 0]:.2f},"
      f" he -> Paul (unseen) {row[12, 0]:.2f}")
passed_on = trainable.W_value(stories[2])[:, 0].detach()  # (9,): Tom gave Eva the bike ...
print(f"she -> Eva {row[2, 2]:.2f}, Eva's value {passed_on[2]:.2f}; weight times value, all nine:")
print([round(part, 2) for part in (row[2] * passed_on).tolist()], f"sum {received[2]:.2f}")
print(f"Paul and Anna: she receives {received[4]:.2f}, he {received[12]:.2f}")
squares = (received - ages).pow(2)
print(f"loss: seen {squares[~unseen].mean():.3f}, unseen {squares[unseen].mean():.3f}")

# %% [markdown]
# Training came close. The unseen pair is harder: for Paul, "he" receives 5.46 instead of 5, and the loss is 0.107,
# against 0.007 for the others. "she" gives Eva 0.75 of its weight; her value is 4.47, so this adds 3.36. Tom adds most
# of the rest, 0.50. The loss asks for ages, not for weights.
#
# ## What you can do now
#
# Answer three final questions without looking back.

# %% [markdown]
# **Question 2.4.** In chapter 1, four of the six words attend most to "journey". Why?
#
# * **a** Its meaning is closest to theirs.
# * **b** Its vector has the largest norm, which raises its scores with queries that point roughly its way.
# * **c** It stands near the beginning of the sentence.

# %% name="question-2-4"
answer("Q2.4", "b")

# %% [markdown]
# **Question 2.5.** Find the bug. Whatever numbers its matrices hold, the scores of this layer are symmetric. Which line
# is wrong?
#
# * **a** `queries = self.W_key(x)`
# * **b** `keys = self.W_key(x)`
# * **c** `scores = queries @ keys.transpose(-2, -1)`
# * **d** `return torch.softmax(scores / keys.shape[-1]**0.5, dim=-1) @ self.W_value(x)`

# %% name="question-2-5"
answer("Q2.5", "a")

# %% [markdown]
# **Question 2.6.** "she" finds Anna, but receives "female" instead of her age. Which matrix must you change?
#
# * **a** `W_query`
# * **b** `W_value`
# * **c** `W_key`

# %% name="question-2-6"
answer("Q2.6", "b")

# %% [markdown]
# Your exercises so far:

# %% name="progress"
progress(2)

# %% [markdown]
# ## Takeaways
#
# | step | formula | code | shape |
# | --- | --- | --- | --- |
# | project | $q^{(i)} = x^{(i)}\,W_q$, likewise $k$, $v$ | `queries = inputs @ W_query` | (T, d_out) |
# | scores | $\omega_{ij} = q^{(i)} \cdot k^{(j)}$ | `scores = queries @ keys.T` | (T, T) |
# | weights | softmax of $\omega_{ij} / \sqrt{d_k}$ over $j$ | `torch.softmax(scores / d_k**0.5, dim=-1)` | (T, T) |
# | context vectors | $z^{(i)} = \sum_j \alpha_{ij}\, v^{(j)}$ | `context = weights @ values` | (T, d_out) |
#
# `W_query` decides what a token asks for, `W_key` how it is found, and `W_value` what it passes on. Dividing by
# $\sqrt{d_k}$ keeps softmax from saturating when keys have many entries of variance about 1. `nn.Linear` stores its
# matrix **transposed**.
#
# **Next.** Every token still sees the whole sentence, including the words that come after it. [Chapter
# 3](03_hiding_the_future.ipynb) hides them. All chapters: [the course's contents](../README.md#chapters).
