# ---
# jupyter:
#   course:
#     summary: queries, keys and values; why scores are divided
#     title: Trainable weights
# ---

# %% [markdown]
# # Chapter 2 · Trainable weights
#
# **Goal.** By the end you can give queries, keys and values a matrix each, say why scores are divided by
# $\sqrt{d_k}$, and pack it all into a PyTorch module whose matrices can be trained.
#
# **Time.** About 105 minutes, exercises included. **You need** chapter 1: scores, softmax, context vectors.
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
from torch import nn
from torch.autograd.functional import jacobian

from course_utils import live, pictures
from course_utils.checking import answer, check, hint, progress, solution
from course_utils.validation import check_input

# %% [markdown]
# ## One vector, three jobs
#
# In chapter 1 the vector of "journey" did three jobs. It asked (query), it was compared with (key), and it was mixed in
# (value). A vector that is good at one job need not be good at the others. How can one embedding give three different
# vectors?

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
print(inputs.shape)

# %% [markdown]
# The same sentence as before: six tokens, three numbers each.
#
# The answer is a matrix per job. A vector times a matrix is a new vector, and the numbers in the matrix decide what
# comes out:
#
# $$q^{(i)} = x^{(i)}\,W_q, \qquad k^{(i)} = x^{(i)}\,W_k, \qquad v^{(i)} = x^{(i)}\,W_v$$
#
# This is called a **projection**. First comes one that you can check in your head.

# %% [markdown]
# ### A word with two numbers
#
# One of our sources, an article on BERT, gives the word "cat" the embedding [1, 0.5], and prints its query, key and
# value. The matrices below are our own choice; many others would give the same three vectors.

# %% name="cat"
cat = torch.tensor([1.0, 0.5])
for_query = torch.tensor([[1.0, 0.2], [0.3, 0.7]])  # each (2, 2), row by row
for_key = torch.tensor([[0.7, 0.5], [0.2, 0.1]])
for_value = torch.tensor([[0.4, 0.6], [0.4, 0.2]])
for name, matrix in [("Query:", for_query), ("Key:", for_key), ("Value:", for_value)]:
    print(name, [round(number, 2) for number in (cat @ matrix).tolist()])

# %% [markdown]
# The first number of the query is the embedding times the first *column*: 1 · 1.0 + 0.5 · 0.3 = 1.15. One embedding
# went in, and three different vectors came out, the ones that the article prints.
#
# The article then does the same to a whole sentence, with random matrices and no seed. Nobody can print those tables
# again, so we stay with our six words.

# %% [markdown]
# ## The four steps for "journey"
#
# Chapter 1 had three steps: score, softmax, mix. Now there are four, because we **project** first. We follow "journey",
# $x^{(2)}$, as before.
#
# What do the matrices hold at the start? Random numbers. They are drawn in a fixed order with a fixed seed, so that
# yours are the same as ours. In code $W_q$, $W_k$ and $W_v$ are `W_query`, `W_key` and `W_value`.

# %% name="matrices"
x_2 = inputs[1]
d_in, d_out = 3, 2  # numbers per embedding; numbers per query, key and value

torch.manual_seed(123)
W_query = torch.rand(d_in, d_out)
W_key = torch.rand(d_in, d_out)
W_value = torch.rand(d_in, d_out)
print(W_query)

# %% [markdown]
# Three rows, because an embedding has three numbers; two columns, because we want two. `torch.rand` draws between 0 and
# 1: the first number here is 0.2961. In large models $d_\mathrm{in}$ and $d_\mathrm{out}$ are often equal. Ours differ,
# so that you can always tell which is which.
#
# **Step 1: project.** The query of "journey":

# %% name="query"
query_2 = x_2 @ W_query  # (3,) @ (3, 2) -> (2,)
print(query_2)

# %% [markdown]
# Three numbers became two, 0.4306 and 1.4551. How about keys and values? "journey" is going to be compared with
# *all* tokens, so we need all six keys, and later all six values.

# %% name="keys-values"
keys = inputs @ W_key  # (6, 3) @ (3, 2) -> (6, 2)
values = inputs @ W_value  # (6, 3) @ (3, 2) -> (6, 2)
print("keys.shape:", keys.shape)
print("values.shape:", values.shape)

# %% [markdown]
# Still six rows, one per token, but now with two numbers each.
#
# **Step 2: score.** As in chapter 1, by the dot product. What has changed is who takes part: the query $q^{(2)}$ meets
# the key $k^{(j)}$, no longer an embedding.
#
# $$\omega_{2j} = q^{(2)} \cdot k^{(j)}$$

# %% name="one-score"
key_2 = keys[1]
omega_22 = torch.dot(query_2, key_2)
print(omega_22)

# %% [markdown]
# "journey" scores 1.8524 with itself. Query and key of the same word are two different vectors here, so nothing says
# that this must be its best match. Is it? All six scores are one matrix product.

# %% name="scores"
scores_2 = query_2 @ keys.T  # (2,) @ (2, 6) -> (6,)
print(scores_2)

# %% [markdown]
# It is: 1.8524 is the largest, with "starts" close behind at 1.8111. "one" again scores lowest, 0.5577.
#
# **Step 3: weights.** Softmax, with one novelty. Let $d_k$ be the number of entries of a key, here 2. Each score is
# first divided by the square root of $d_k$:
#
# $$\alpha_{2j} = \frac{\exp(\omega_{2j} / \sqrt{d_k})}{\sum_{m} \exp(\omega_{2m} / \sqrt{d_k})}$$

# %% name="weights"
d_k = keys.shape[-1]
weights_2 = torch.softmax(scores_2 / d_k**0.5, dim=-1)
print("scaled:    ", weights_2)
print("not scaled:", torch.softmax(scores_2, dim=-1))

# %% [markdown]
# Scaled, "journey" gives itself a weight of 0.2264; without the division it would be 0.2507. So dividing makes the
# weights more even, and with $d_k = 2$ by little. Why would anyone want that? A later section of this chapter answers
# by experiment.
#
# **Step 4: mix.** The weights mix the six *values*.

# %% name="context"
print(values)
context_2 = weights_2 @ values  # (6,) @ (6, 2) -> (2,)
print(context_2)

# %% [markdown]
# The context vector of "journey" is 0.3061 and 0.8210. It is an average of the rows above it, so its first number must
# lie between 0.1492 and 0.3951, the smallest and the largest of the first column. Checks like this one catch many
# mistakes.
#
# Project, score, weigh with scaling, mix: this is **scaled dot-product attention**. When queries, keys and
# values all come from the same sequence, as here, it is called **self-attention**.

# %% [markdown]
# ### The same steps, other numbers
#
# Another of our sources, a condensed notebook, takes these four steps and prints other scores: 1.2005 first, where we
# have 1.2705. Who is wrong? Nobody. It sets no seed before it draws the matrices. What does a seed do?

# %% name="seeds"
torch.manual_seed(123)
print(torch.rand(2))
print(torch.rand(2))  # goes on from there
torch.manual_seed(123)
print(torch.rand(2))  # starts again

# %% [markdown]
# With the seed set again, the draw is the first one again, 0.2961 and 0.5166. Without it you get whatever comes next,
# as in the second line. So those scores cannot be drawn again. But the *weights* follow from the scores without any
# randomness, and that we can check. We type in the six scores as the notebook prints them.

# %% name="unseeded"
given_scores = torch.tensor([1.2005, 1.6979, 1.6871, 0.9065, 1.0177, 1.0741])
print(torch.softmax(given_scores / 2**0.5, dim=-1))

# %% [markdown]
# 0.1553, 0.2208, 0.2191 and so on: digit for digit the weights that the notebook prints. Its matrices are lost, but
# the step from scores to weights is right.

# %% [markdown]
# ## All queries at once, and a broken symmetry
#
# Chapter 1 found a table of scores that was its own mirror image: "journey" scored against "one" exactly as "one" did
# against "journey". What happens to that table now?

# %% name="all-scores"
queries = inputs @ W_query  # (6, 3) @ (3, 2) -> (6, 2)
scores = queries @ keys.T  # (6, 2) @ (2, 6) -> (6, 6)
print(scores)

# %% [markdown]
# Row 2 holds the scores of "journey", 1.2705, 1.8524 and so on. Now compare two cells. Row 2, column 5, where "journey"
# asks "one": 0.5577. Row 5, column 2, where "one" asks "journey": 0.8819. The mirror is broken.

# %% name="scores-picture" shows="Heat map of the six by six scores, all positive, from 0.27 to 1.85. The row one and the column one differ: the row reads 0.61, 0.88, 0.86, 0.51, 0.27, 0.73, the column 0.40, 0.56, 0.55, 0.31, 0.27, 0.39."
pictures.show_scores(
    scores, tokens, title="Scores of queries against keys",
)

# %% [markdown]
# The message: a row and a column of the same word no longer agree. (A darker orange is a higher score; purple would be
# a negative one.) Compare row "one" with column "one": in every pair, "one" scores higher when it asks than when it is
# asked, 0.88 against 0.56 with "journey".
#
# Something broke the symmetry.

# %% [markdown]
# **Question 2.1.** What was it? Choose before you run on.
#
# * **a** That the embeddings are multiplied by a matrix at all.
# * **b** That there are *two* matrices, one for the queries and another for the keys.
# * **c** That the matrices hold random numbers.

# %% name="question-2-1"
answer("Q2.1", "b")

# %% [markdown]
# Try one matrix for both jobs.

# %% name="one-matrix"
same_matrix = queries @ queries.T  # W_query for the queries and for the keys
print("one matrix for both is a mirror image:", torch.allclose(same_matrix, same_matrix.T))
print("two matrices are a mirror image:      ", torch.allclose(scores, scores.T))

# %% [markdown]
# With one matrix for both jobs the table is a mirror image again, as it must be: then a word's query and its key are
# the same vector. With two matrices a word can look for another without being looked for in return.

# %% [markdown]
# ### Exercise 2.1 · Project, then score
# 1 point · ★☆☆ · 5 minutes
#
# Write a function that takes one token's embedding `x` and scores it against every token of `inputs`. It must project
# both sides first. Return plain scores: no division yet, no softmax.

# %% name="exercise-2-1"
def my_projected_scores(x, inputs, W_query, W_key):
    """Scores (T,) of x (d_in,), the one that asks, against inputs (T, d_in), those asked.

    W_query, W_key: (d_in, d_out).
    """
    ### BEGIN SOLUTION
    query = x @ W_query  # (d_in,) @ (d_in, d_out) -> (d_out,)
    keys = inputs @ W_key  # (T, d_in) @ (d_in, d_out) -> (T, d_out)
    return keys @ query  # (T, d_out) @ (d_out,) -> (T,)
    ### END SOLUTION

# %% name="check-2-1"
### BEGIN HIDDEN TESTS
assert check("2.1", my_projected_scores).status == "right"
### END HIDDEN TESTS
check("2.1", my_projected_scores)

# %% [markdown] tags=["solution"]
# **Why it works.** The token that asks goes through `W_query`, the tokens that are asked go through `W_key`. After that
# it is the scoring of chapter 1. `query @ keys.T` gives the same numbers as `keys @ query`.

# %% [markdown]
# ## Why divide by the square root of $d_k$?
#
# The division has waited long enough. It takes three small experiments: what softmax does to scores that lie far
# apart, how far apart scores lie, and what dividing changes.
#
# Chapter 1 left two questions on softmax. How does its sharpness depend on the distance between scores? And can its
# derivatives become too small? Take three scores, one apart, and spread them.

# %% name="spread"
apart = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64)
for spread in [1, 4, 16]:
    shares = torch.softmax(apart * spread, dim=0).tolist()
    reaction = jacobian(lambda scores: torch.softmax(scores, dim=0), apart * spread)  # (3, 3)
    print([round(share, 4) for share in shares], f"reaction {reaction.abs().max():.1e}")

# %% [markdown]
# One apart, the largest weight is 0.6652. Four apart it is 0.9817, and 16 apart it rounds to 1: one token takes all.
#
# The last number is the measure of chapter 1, the strongest reaction of any weight to any score. It falls from 2.2e-01
# to 1.1e-07. So yes, it can become too small: training would change a score and see next to nothing happen. Softmax
# is then called **saturated**.
#
# There is even a rule for the sharpness. What is the ratio of two weights?

# %% name="ratio"
scaled_2 = scores_2 / d_k**0.5
print(weights_2[1] / weights_2[4])  # "journey" to "one"
print(torch.exp(scaled_2[1] - scaled_2[4]))

# %% [markdown]
# "journey" has 2.4979 times the weight of "one", and that is the exponential of the difference between their scaled
# scores. (In the ratio of two softmax fractions the sums below the line cancel.) So what counts is how far two scores
# lie apart, and it counts exponentially.

# %% [markdown]
# ### How far apart do scores lie?
#
# A score adds up $d_k$ products. Suppose that every number in queries and keys is random, independent of the others,
# with mean 0 and **variance** 1 (the mean squared distance from the mean).

# %% [markdown]
# **Question 2.2.** What is the variance of a score that adds up 64 such products?
#
# * **a** 1
# * **b** 8
# * **c** 64

# %% name="question-2-2"
answer("Q2.2", "c")

# %% [markdown]
# We draw 10,000 queries and keys of 64 numbers. `cumsum` adds up the products from left to right and keeps each
# subtotal, so it gives the scores for 1 number, for 2 numbers, up to 64.

# %% name="variance"
torch.manual_seed(123)
many_queries = torch.randn(10_000, 64, dtype=torch.float64)
many_keys = torch.randn(10_000, 64, dtype=torch.float64)
subtotals = (many_queries * many_keys).cumsum(dim=-1)  # (10000, 64)
variances = subtotals.var(dim=0)  # (64,), for d_k = 1, 2, ..., 64
for size in [1, 4, 16, 64]:
    print(f"d_k = {size:2}: variance {variances[size - 1]:.2f}")

# %% [markdown]
# The variance is 0.98, 4.00, 15.69 and 62.91: apart from chance (we drew only 10,000), it is $d_k$ itself. That is no
# accident. Each product of two such numbers has variance 1, the products are independent, and the variances of
# independent numbers add up. With $d_k$ products that makes $d_k$.

# %% name="variance-picture" shows="Two curves over d_k from 1 to 64. The variance of the scores climbs along a nearly straight line from 1 to about 63. The variance of the scores divided by the square root of d_k stays flat at about 1."
sizes = torch.arange(1, 65)
pictures.show_curves(
    {"scores": variances, "scores / √d_k": variances / sizes}, x=sizes,
    x_label="d_k, numbers in a query and in a key", y_label="variance of the scores",
)

# %% [markdown]
# The message: the variance of the scores grows in step with $d_k$. Scores divided by $\sqrt{d_k}$ keep a variance of
# about 1 at every size. (Dividing numbers by $c$ divides their variance by $c^2$. Hence the root.)
#
# Would dividing by $d_k$ itself not do as well? Try both on the scores of 64 numbers.

# %% name="divisors"
scores_64 = subtotals[:, -1]  # (10000,)
print(f"square root of 64: {64**0.5:g}")
print(f"variance, divided by 8:  {(scores_64 / 8).var():.4f}")
print(f"variance, divided by 64: {(scores_64 / 64).var():.4f}")

# %% [markdown]
# The root of 64 is 8, the divisor that Pascal Burume's guide names for 64 numbers. It brings the variance to 0.9830,
# close to 1. Dividing by 64 overdoes it and leaves 0.0154: scores would differ by little, and so, by the rule of the
# exponential, would the weights.

# %% [markdown]
# ### What does dividing change?
#
# Now softmax joins in. We draw 4000 queries with six keys each, for every $d_k$ from 1 to 256, and keep the largest
# weight of each query, without the division and with it.

# %% name="largest-weights"
torch.manual_seed(123)
many_queries = torch.randn(4000, 1, 256, dtype=torch.float64)
many_keys = torch.randn(4000, 6, 256, dtype=torch.float64)
many_scores = (many_queries * many_keys).cumsum(dim=-1)  # (4000, 6, 256)
up_to_256 = torch.arange(1, 257)
roots = up_to_256.sqrt()  # (256,)
largest = torch.softmax(many_scores, dim=1).amax(dim=1)  # (4000, 256)
largest_scaled = torch.softmax(many_scores / roots, dim=1).amax(dim=1)  # (4000, 256)

# %% [markdown]
# Six keys share the attention, so an even share would be one sixth. What does the favourite get? We print the
# **median** over the queries: half of them lie below it, half above.

# %% name="largest-table"
for size in [1, 4, 16, 64, 256]:
    raw, scaled = largest[:, size - 1].median(), largest_scaled[:, size - 1].median()
    print(f"d_k = {size:3}: largest weight {raw:.4f}, scaled {scaled:.4f}")

# %% [markdown]
# Without the division half of the queries give more than 0.9728 of their attention to one key at $d_k = 64$, and more
# than 0.9995 at 256. Chance alone has chosen that key; nothing was trained. With the division the median stays
# below 0.4.
#
# And the reaction, the strongest of any weight to any score? It is always that of the largest weight to its own score,
# which by chapter 1 is $\alpha(1-\alpha)$.

# %% name="reaction-picture" shows="Two curves over d_k from 1 to 256, on a logarithmic axis. Without the division the reaction of the largest weight falls from 0.2 to about 0.0004. With the division it stays flat at about 0.23."
reaction = (largest * (1 - largest)).median(dim=0).values  # (256,)
reaction_scaled = (largest_scaled * (1 - largest_scaled)).median(dim=0).values
pictures.show_curves(
    {"scores": reaction, "scores / √d_k": reaction_scaled}, x=up_to_256, logarithmic=True,
    x_label="d_k, numbers in a query and in a key", y_label="reaction of the largest weight",
)

# %% [markdown]
# The message: without the division the reaction of the largest weight falls once $d_k$ exceeds a handful, to less than
# a thousandth at 256. With it the curve stays flat, near the quarter that no reaction can exceed. (Both are medians
# over the queries; the small wiggles are chance.)
#
# Now move it yourself. Six random keys and a query have 64 numbers each, and $d_k$ says how many of them take part.
# Before you start: with all 64 and without the division, how much will the favourite get?

# %% name="scaling-live"
torch.manual_seed(3)
random_query = torch.randn(64, dtype=torch.float64)
random_keys = torch.randn(6, 64, dtype=torch.float64)
live.show_scaling(random_query, random_keys, tokens)

# %% [markdown]
# The message: scores of many products lie far apart, and the division draws them together again before softmax sees
# them. At the bottom one score is opened: each cell is one product, and their sum is the score.
#
# Three things to try. Take the division away and let $d_k$ grow from 1. Open the score of another word: do a few large
# products decide it, or many small ones? And move the **temperature**, a number by which all scores are divided once
# more: below 1 it sharpens the weights, above 1 it evens them out. Dividing by $\sqrt{d_k}$ is a temperature, too, chosen
# to fit the size of a key.

# %% [markdown]
# One objection is fair. Dividing a score by $\sqrt{d_k}$ also divides the effect that a change of the *undivided* score
# $\omega$ has. Does that eat up the gain?

# %% name="fair-comparison"
def reactions(largest_weights):
    """Median and mean over the queries of the reaction of the largest weight."""
    reaction = largest_weights * (1 - largest_weights)
    return reaction.median(), reaction.mean()


for size in [16, 64, 256]:
    raw, raw_mean = reactions(largest[:, size - 1])
    scaled, scaled_mean = (part / size**0.5 for part in reactions(largest_scaled[:, size - 1]))
    print(f"d_k = {size:3}: median {raw:.4f} without division, {scaled:.4f} with it")
    print(f"           mean   {raw_mean:.4f} without division, {scaled_mean:.4f} with it")

# %% [markdown]
# For small $d_k$ it does: at $d_k = 16$ the median is 0.1453 without the division and 0.0582 with it. At 64 the two
# are about even. At 256 the typical query gains: 0.0146 instead of 0.0004.
#
# It is the median that gains. A few queries whose two best keys happen to tie react strongly even without the division,
# and they lift the mean: 0.0384 against 0.0142. So the division does not make every reaction stronger. It lets the
# typical query learn at every $d_k$, and not only the lucky ones.
#
# We measured this on random vectors with six keys each. Our own six words, with $d_k = 2$, hardly need it: in step 3
# the weights changed by little.

# %% [markdown]
# ### Exercise 2.2 · Divide, then softmax
# 2 points · ★☆☆ · 5 minutes
#
# Turn queries and keys into weights, for all tokens at once. Take $d_k$ from the keys, since the check tries several
# sizes. Some scores are too large for `torch.exp` alone. And stay with tensors all the way: training will need the
# derivatives of your result.

# %% name="exercise-2-2"
def my_scaled_weights(queries, keys):
    """Weights (T, T), every row sums to 1, from queries and keys, (T, d_k) each."""
    ### BEGIN SOLUTION
    scores = queries @ keys.T  # (T, d_k) @ (d_k, T) -> (T, T)
    return torch.softmax(scores / keys.shape[-1]**0.5, dim=-1)  # (T, T)
    ### END SOLUTION

# %% name="check-2-2"
### BEGIN HIDDEN TESTS
assert check("2.2", my_scaled_weights).status == "right"
### END HIDDEN TESTS
check("2.2", my_scaled_weights)

# %% [markdown] tags=["solution"]
# **Why it works.** The *scores* are divided, before softmax: divided weights would no longer sum to 1. And the number
# under the root is the width of a key, because that is how many products each score adds up.

# %% [markdown]
# ## Self-attention as a module
#
# Four steps, three matrices: time to put them into a class. In PyTorch a part of a network is an `nn.Module`. Its
# matrices are made once, in `__init__`; the steps stand in `forward`, which runs when you call the module.
#
# `check_input` only refuses impossible input with a readable message; you can ignore it when you read the class.
# `keys.transpose(-2, -1)` swaps the last two dimensions, for one sequence the same as `keys.T`.

# %% name="self-attention-v1"
class SelfAttention_v1(nn.Module):
    """Scaled dot-product attention with three matrices to learn: (T, d_in) to (T, d_out)."""

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
# Does it do what we did by hand? With seed 123 it draws the same three matrices in the same order.

# %% name="v1-output"
torch.manual_seed(123)
sa_v1 = SelfAttention_v1(d_in, d_out)
print(sa_v1(inputs))

# %% [markdown]
# Row 2 is our context vector of "journey", 0.3061 and 0.8210. The other five rows took no extra work.
#
# New at the end is `grad_fn`: PyTorch has noted how this result was made, so that it can compute derivatives later. It
# did not do that for our own `W_query`. Why here? An `nn.Parameter` does two things: it asks PyTorch to keep such a
# note, and it puts the matrix on the module's list of parameters. What is on that list without it?

# %% name="parameters"
class WithoutParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.W_query = torch.rand(d_in, d_out)


print("plain tensor:", [name for name, _ in WithoutParameter().named_parameters()])
print("nn.Parameter:", [name for name, _ in sa_v1.named_parameters()])

# %% [markdown]
# A module does not count a plain tensor among its parameters: the list is empty. Training asks a module for its
# parameters, so this matrix would stay as it is. `sa_v1` has three, 18 numbers in all.
#
# And what does `check_input` do for us? Give the layer tokens with four numbers instead of three, first without the
# check, then with it.

# %% name="wrong-input"
four_numbers = torch.rand(6, 4)
for attempt in [lambda: four_numbers @ sa_v1.W_query, lambda: sa_v1(four_numbers)]:
    try:
        attempt()
    except (RuntimeError, ValueError) as error:
        print(type(error).__name__, error)

# %% [markdown]
# Both refuse. PyTorch speaks of matrices, the class speaks of tokens and says what to do.

# %% [markdown]
# ## The same with linear layers
#
# PyTorch has a layer for "times a matrix": `nn.Linear(d_in, d_out)`. It can also add a vector to the result, called
# **bias**; we switch that off. The layer keeps its matrix as `weight`.

# %% [markdown]
# **Question 2.3.** Which shape has the `weight` of a layer that takes three numbers to two? Guess before you run on.
#
# * **a** (3, 2)
# * **b** (2, 3)
# * **c** (6,)

# %% name="question-2-3"
answer("Q2.3", "b")

# %% [markdown]
# Here is such a layer.

# %% name="linear"
torch.manual_seed(123)
linear = nn.Linear(d_in, d_out, bias=False)
print(linear(x_2).detach())
print(linear.weight.shape)

# %% [markdown]
# (`detach()` leaves out the note on how the numbers were made; its name differs between versions of PyTorch.) Three
# numbers went in and two came out, -0.3021 first. Yet the stored matrix has the shape (2, 3), where ours have
# (3, 2). Remember that for the next exercise. The layer itself takes care of it. Our class becomes:

# %% name="self-attention-v2"
class SelfAttention_v2(nn.Module):
    """The same with linear layers, which start from better numbers: (T, d_in) to (T, d_out)."""

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
# Two of our sources, Chung-En Johnny Yu's course page and the condensed notebook, print the output of such a class for
# seed 789. So do we.

# %% name="v2-output"
torch.manual_seed(789)
sa_v2 = SelfAttention_v2(d_in, d_out)
print(sa_v2(inputs))

# %% [markdown]
# The same digits: "journey" gets -0.0748 and 0.0703. The first class gave 0.3061 and 0.8210. The course page says that
# the two differ because they start from different weights. Is that the *only* difference? To find out we must move
# the weights from one class into the other. One part of that is yours.

# %% [markdown]
# ### Exercise 2.3 · From a linear layer to a matrix
# 1 point · ★★☆ · 10 minutes
#
# Write a function that takes a linear layer without bias and returns the matrix $W$ for which `x @ W` is what the layer
# computes. The check tries layers of several sizes. One is square, and with it a common mistake raises no error.

# %% name="exercise-2-3"
def my_matrix(layer):
    """The matrix (d_in, d_out) with which x @ matrix is layer(x), a layer without bias."""
    ### BEGIN SOLUTION
    return layer.weight.T  # (d_out, d_in) -> (d_in, d_out)
    ### END SOLUTION

# %% name="check-2-3"
### BEGIN HIDDEN TESTS
assert check("2.3", my_matrix).status == "right"
### END HIDDEN TESTS
check("2.3", my_matrix)

# %% [markdown] tags=["solution"]
# **Why it works.** The layer stores its matrix transposed, as (d_out, d_in); `.T` makes it (d_in, d_out). Without `.T`
# a square matrix raises no error: it computes something else. `reshape` instead of `.T` gives the right shape, with the
# numbers in the wrong places.

# %% [markdown]
# ### Do both classes agree?
#
# For a product $x\,W$, `nn.Linear` stores the **transposed** matrix: `layer.weight` is $W^\top$, and the layer computes
# `x @ layer.weight.T`. So we make a `SelfAttention_v1`, copy the three matrices of `sa_v2` into it, transposed back,
# and compare. (`torch.no_grad()` tells PyTorch not to note the copying as part of a computation.)

# %% name="copied-weights"
copied = SelfAttention_v1(d_in, d_out)
with torch.no_grad():
    copied.W_query.copy_(sa_v2.W_query.weight.T)  # (2, 3) -> (3, 2)
    copied.W_key.copy_(sa_v2.W_key.weight.T)
    copied.W_value.copy_(sa_v2.W_value.weight.T)
print(copied(inputs)[1])
print("all rows agree:", torch.allclose(copied(inputs), sa_v2(inputs)))

# %% [markdown]
# -0.0748 and 0.0703 for "journey", now from the first class, and all rows agree. So the weights were the only
# difference.

# %% [markdown]
# ### Then why use linear layers?
#
# Because of the random numbers they start from. `torch.rand` draws between 0 and 1, whatever the size. `nn.Linear`
# draws between $-1/\sqrt{d_\mathrm{in}}$ and $1/\sqrt{d_\mathrm{in}}$. What difference does that make to the attention
# weights? We try 100 random tokens of 768 numbers, the size of an embedding in the article on BERT.

# %% name="initial-weights"
def mean_largest_weight(x, W_query, W_key):
    """The largest attention weight of a row, averaged over the rows."""
    scores = (x @ W_query) @ (x @ W_key).T  # (T, T)
    return torch.softmax(scores / W_key.shape[-1]**0.5, dim=-1).amax(dim=-1).mean()


torch.manual_seed(123)
x = torch.randn(100, 768, dtype=torch.float64)
from_rand = [torch.rand(768, 64, dtype=torch.float64) for _ in range(2)]
layers = [nn.Linear(768, 64, bias=False, dtype=torch.float64) for _ in range(2)]
from_linear = [layer.weight.T for layer in layers]
for name, matrices in [("torch.rand", from_rand), ("nn.Linear", from_linear)]:
    print(f"{name:10} largest number {matrices[0].max():.4f}, "
          f"mean largest weight {mean_largest_weight(x, *matrices):.4f}")

# %% [markdown]
# From `torch.rand`, a token gives on average 0.9831 of its attention to one token out of 100: softmax starts out
# saturated, in spite of the division. From `nn.Linear`, where no number is above 0.0361, it gives 0.0222 to its
# favourite, and an even share would be 0.01. The division alone does not help when queries and keys start out too
# large.

# %% [markdown]
# ### A batch of one
#
# Models read several sequences at once, stacked into a **batch** of shape $(B, T, d_\mathrm{in})$, with $B$ the number
# of sequences. Pascal Burume's guide feeds such a class a batch with a single sequence. Does ours take it?

# %% name="batch"
batch = inputs.unsqueeze(0)  # (6, 3) -> (1, 6, 3)
print(sa_v2(batch).shape)
print("same numbers:", torch.allclose(sa_v2(batch)[0], sa_v2(inputs)))

# %% [markdown]
# One sequence, six tokens, two numbers each. This is why the classes swap the *last two* dimensions of the keys: the
# batch dimension in front must stay where it is.

# %% [markdown]
# ### Exercise 2.4 · Scaled dot-product attention in one function
# 2 points · ★★☆ · 10 minutes
#
# Write the four steps as one function of `x` and three matrices. The check tries it on sizes of which no two are equal,
# so that a mixed-up shape shows. It also takes derivatives of your result, since the matrices are going to be trained.

# %% name="exercise-2-4"
def my_self_attention(x, W_query, W_key, W_value):
    """Context vectors (T, d_out) of x (T, d_in); each of the three matrices: (d_in, d_out)."""
    ### BEGIN SOLUTION
    queries = x @ W_query  # (T, d_in) @ (d_in, d_out) -> (T, d_out)
    keys = x @ W_key  # (T, d_out)
    values = x @ W_value  # (T, d_out)
    scores = queries @ keys.T  # (T, d_out) @ (d_out, T) -> (T, T)
    d_k = keys.shape[-1]
    weights = torch.softmax(scores / d_k**0.5, dim=-1)  # (T, T), every row sums to 1
    return weights @ values  # (T, T) @ (T, d_out) -> (T, d_out)
    ### END SOLUTION

# %% name="check-2-4"
### BEGIN HIDDEN TESTS
assert check("2.4", my_self_attention).status == "right"
### END HIDDEN TESTS
check("2.4", my_self_attention)

# %% [markdown] tags=["solution"]
# **Why it works.** $d_k$ is the number of entries of a key, so it is taken from the keys. Taking $d_\mathrm{in}$ gives
# a result that looks much the same and is wrong. And the softmax must run along each row, `dim=-1`: a row belongs to
# one query.

# %% [markdown]
# ### Exercise 2.5 · A layer whose values have a width of their own
# 3 points · ★★★ · 20 minutes
#
# Queries and keys are compared, so they need the same width, $d_k$. Values are only mixed: their width,
# $d_\mathrm{out}$, may be another. Write self-attention as a layer for batches, with three linear layers `W_query`,
# `W_key` and `W_value`, without bias. The check copies its own weights into them, by these names. (Three `nn.Parameter`
# with these names do, too.)

# %% name="exercise-2-5"
class MySelfAttention(nn.Module):
    """Scaled dot-product attention: x (B, T, d_in) to context vectors (B, T, d_out).

    W_query and W_key make d_k numbers of each token, W_value makes d_out.
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
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)  # (B, T, d_k or d_out)
        scores = queries @ keys.transpose(-2, -1)  # (B, T, d_k) @ (B, d_k, T) -> (B, T, T)
        weights = torch.softmax(scores / keys.shape[-1]**0.5, dim=-1)  # (B, T, T)
        return weights @ values  # (B, T, T) @ (B, T, d_out) -> (B, T, d_out)
        ### END SOLUTION

# %% name="check-2-5"
### BEGIN HIDDEN TESTS
assert check("2.5", MySelfAttention).status == "right"
### END HIDDEN TESTS
check("2.5", MySelfAttention)

# %% [markdown] tags=["solution"]
# **Why it works.** The scores add up $d_k$ products, so $\sqrt{d_k}$ is the divisor, whatever the width of the values:
# `keys.shape[-1]` finds it by itself. `transpose(-2, -1)` turns each sequence's keys and leaves the batch in front.

# %% [markdown]
# ## Nothing is trained yet
#
# So far the matrices are random numbers. Whatever "journey" attends to in this chapter
# follows from a seed and means nothing. What makes the matrices *trainable*?
#
# Let us ask for something, made up for this purpose: the context vector of "journey" should be 0 and 1. The **loss**
# says how far away it is, as the sum of the squared differences. `backward` then computes the **gradient**: the
# derivative of the loss with respect to every number in every matrix.

# %% name="gradients"
torch.manual_seed(123)
trainable = SelfAttention_v1(d_in, d_out)
wanted = torch.tensor([0.0, 1.0])
loss = (trainable(inputs)[1] - wanted).pow(2).sum()
loss.backward()
print(trainable.W_query.grad)
print(trainable.W_value.grad)

# %% [markdown]
# Each matrix now has a `.grad` of its own shape. Take 0.3983, in row 2 of the second one: raise that number of
# `W_value` by 0.01, and the loss grows by about 0.3983 times 0.01. For `W_query` no entry is larger in size than
# 0.0028. It can only shift shares from one value to another, and here that matters less than moving the values
# themselves.
#
# To lower the loss, go a small step *against* the gradient.

# %% name="one-step"
with torch.no_grad():
    for parameter in trainable.parameters():
        parameter -= 0.1 * parameter.grad
print(f"loss before: {loss:.4f}")
print(f"loss after:  {(trainable(inputs)[1] - wanted).pow(2).sum():.4f}")

# %% [markdown]
# One step lowers the loss from 0.1257 to 0.0832. That is not yet training: it was a single step, towards a goal that we
# made up. Training repeats such steps many times, with a loss that stands for the model's real task. Only then do the
# matrices begin to mean something.

# %% [markdown]
# ## Your exercises
#
# `hint("2.4")` gives a hint, the next one each time. `solution("2.4")` shows a worked answer once you have tried. And
# here is how far you are:

# %% name="progress"
progress(2)

# %% [markdown]
# ## What to take with you
#
# | step | formula | code | shape |
# | --- | --- | --- | --- |
# | project | $q^{(i)} = x^{(i)}\,W_q$, likewise $k$, $v$ | `queries = inputs @ W_query` | (T, d_out) |
# | scores | $\omega_{ij} = q^{(i)} \cdot k^{(j)}$ | `scores = queries @ keys.T` | (T, T) |
# | weights | softmax of $\omega_{ij} / \sqrt{d_k}$ over $j$ | `torch.softmax(scores / d_k**0.5, dim=-1)` | (T, T) |
# | context vectors | $z^{(i)} = \sum_j \alpha_{ij}\, v^{(j)}$ | `context = weights @ values` | (T, d_out) |
#
# * With a matrix each for **queries** and **keys**, the table of scores need not be its own mirror image.
# * For random vectors the variance of a score grows with $d_k$. Dividing by $\sqrt{d_k}$ keeps softmax from saturating.
# * `nn.Parameter` makes a matrix trainable. So does `nn.Linear`, which starts from smaller numbers and stores its
#   matrix **transposed**. With the same weights both classes compute the same.
#
# **Next.** Every token still sees the whole sentence, also the words that come after it.
# [Chapter 3](03_hiding_the_future.ipynb) hides them. All chapters: [the course's contents](../README.md#chapters).
