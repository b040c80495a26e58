# ---
# jupyter:
#   course:
#     minutes: 50
#     summary: scores, softmax, context vectors; no trainable weights yet
#     title: Dot-product attention
# ---

# %% [markdown]
# # Chapter 1 · Dot-product attention
#
# **Goal.** By the end you can turn six word vectors into six *context vectors* by hand: score every pair of
# words with a dot product, turn the scores into weights with softmax, and mix the words by those weights.
#
# **Time.** About 50 minutes, exercises included. **You need** Python and a little PyTorch: tensors, `@`, shapes.
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
from torch.autograd.functional import jacobian

from course_utils import pictures

# %% [markdown]
# ## Six words, six vectors
#
# We follow one sentence through the whole course: *Your journey starts with one step*. A model never sees words.
# It sees one vector per **token**, its **embedding**. Ours have three numbers each, few enough to check by hand.

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
# Six tokens, three numbers each. In formulas we count tokens from 1, so $x^{(2)}$ is "journey".
# Python counts from 0, so the same vector is `inputs[1]`.

# %% [markdown]
# ## Why long sequences are hard for a recurrent network
#
# Before attention, a recurrent network read a sentence token by token and kept what it had read in one **state**
# vector $h$. Each new state is made from the new token and the old state:
#
# $$h_t = \tanh(x_t\,U + h_{t-1}\,W)$$
#
# Here is one in full, with small random matrices $U$ and $W$.

# %% name="recurrent-network"
torch.manual_seed(123)
U = torch.rand(3, 3) - 0.5  # from the token to the state
W = torch.rand(3, 3) - 0.5  # from the old state to the new one


def last_state(x):
    """The state after the last token, shape (3,), of a sequence x of shape (T, 3)."""
    h = torch.zeros(3)
    for x_t in x:
        h = torch.tanh(x_t @ U + h @ W)
    return h


print(last_state(inputs))

# %% [markdown]
# Three numbers now have to stand for the whole sentence. How much of the *first* word is still in them?
#
# We can measure that. Move one token a little; by how much does the result move? That ratio is a derivative.
# The function below collects all of them (the **Jacobian**) and gives one size per token.

# %% name="influence"
def influence(function, x):
    """How strongly each token of x, shape (T, 3), moves function(x), shape (3,). Result: shape (T,)."""
    change = jacobian(function, x)  # (3, T, 3): every output by every input
    return change.pow(2).sum(dim=(0, 2)).sqrt()  # (T,)


print(influence(last_state, inputs))

# %% [markdown]
# Read it from the right. The last word, "step", moves the state with strength 0.8414. One word earlier it is
# 0.4406, and the first word arrives with 0.0218. Every step back costs about half.
#
# Six words are a short sentence. What will happen with 12, 24 and 48? Guess, then run the next cell. It repeats
# the sentence and asks each time for the influence of the very first word.

# %% name="recurrent-lengths"
for copies in [1, 2, 4, 8]:
    x = inputs.repeat(copies, 1)  # (6 * copies, 3)
    print(f"{len(x):2} tokens: {influence(last_state, x)[0]:.1e}")

# %% [markdown]
# With 48 tokens the first word moves the last state by 6.1e-15, a 6 with fourteen zeros in front of it. The
# network has forgotten how its sentence began, and no training signal can reach that far back either: it would
# travel the same path and shrink by the same factors.
#
# The path is the problem. From the first word to the last state it passes through $W$ once per token. Is there a
# path with **one** step, however long the sentence? That is what attention builds. We come back to this measure
# at the end of the chapter.

# %% [markdown]
# ## Scores: how well do two vectors match?
#
# Take "journey" and ask the sentence: which of you matters to me? The token that asks is the **query**. Every token
# that is asked shows a **key**. In this chapter query and key are simply the embeddings themselves.
#
# To compare two vectors we multiply them number by number and add up. That is the **dot product**.

# %% name="dot-product"
query = inputs[1]  # journey
products = inputs[0] * query  # Your, journey: number by number
print(products)
print(products.sum())

# %% [markdown]
# The three products add up to 0.9544. The result is large when both vectors are large in the same places, and it
# would be negative if they pointed in opposite directions. Such a result is called a **score**. The score of query
# $i$ against key $j$ is written $\omega_{ij}$:
#
# $$\omega_{2j} = q \cdot x^{(j)}, \qquad q = x^{(2)}$$
#
# Now the same for all six tokens, first with a plain loop.

# %% name="scores-loop"
scores_2 = torch.empty(6)
for j, x_j in enumerate(inputs):
    scores_2[j] = torch.dot(query, x_j)
print(scores_2)

# %% [markdown]
# "journey" scores highest with itself, 1.4950, closely followed by "starts", 1.4754. Look at their rows in `inputs`:
# they are nearly the same vector. "one" points elsewhere and scores lowest, 0.7070.
#
# A loop over dot products has a shorter name: a matrix product. `@` does all six at once.

# %% name="scores-matmul"
scores_2 = inputs @ query  # (6, 3) @ (3,) -> (6,)
print(scores_2)

# %% [markdown]
# The same six numbers, without a loop.

# %% [markdown]
# ### Exercise 1.1 · Score every token
# ★☆☆ · 3 minutes
#
# Write a function that scores one query against every row of `inputs`. The cell then uses it for "one",
# `inputs[4]`. Two of the six scores you know already: against "journey" it must be 0.7070, as above, because
# $a \cdot b = b \cdot a$. Until you fill it in, the cell prints `None`.

# %% name="exercise-1-1"
def my_scores(query, inputs):
    """Scores of shape (T,): the dot product of query, shape (d,), with each row of inputs, shape (T, d)."""
    ### BEGIN SOLUTION
    return inputs @ query  # (T, d) @ (d,) -> (T,)
    ### END SOLUTION


print(my_scores(inputs[4], inputs))

# %% [markdown] tags=["solution"]
# **Why it works.** `inputs @ query` takes the dot product of the query with each row, which is what the loop did.
# The second number, 0.7070, is the pair "one" and "journey" again.

# %% [markdown]
# ## Weights: from scores to shares
#
# Scores can be any size. To mix six vectors we want **shares**: numbers that are not negative and sum to 1. Once
# scores have become shares we call them **attention weights** and write $\alpha_{ij}$.
#
# The first idea is to divide by the sum.

# %% name="weights-by-sum"
weights_by_sum = scores_2 / scores_2.sum()
print("Attention weights:", weights_by_sum)
print("Sum:", weights_by_sum.sum())

# %% [markdown]
# "journey" gives itself a share of 0.2278, and the shares sum to 1. (It prints `1.0000` and not `1.` because the sum
# misses 1 by a hair: the computer rounds every step.)
#
# This worked because all six scores happened to be positive. What if some are not?

# %% name="negative-scores"
mixed = torch.tensor([2.0, -1.0, -0.5])
print(mixed / mixed.sum())

# %% [markdown]
# A share of 400 %, and two negative ones. They sum to 1, but they are not shares of anything. Had the scores summed
# to zero, we would have divided by zero.
#
# The cure is to make every number positive first. The exponential function does that, and it keeps the order: a
# larger score stays larger. Exponentiate, then divide by the sum. That is **softmax**:
#
# $$\alpha_{2j} = \frac{\exp(\omega_{2j})}{\sum_{k} \exp(\omega_{2k})}$$

# %% name="softmax-by-hand"
print(torch.exp(mixed) / torch.exp(mixed).sum())
print(torch.softmax(mixed, dim=0))

# %% [markdown]
# The score 2 now has a share of 0.8835, and the negative scores have small positive ones. PyTorch's own
# `torch.softmax` agrees. So we use it for "journey".

# %% name="weights-softmax"
weights_2 = torch.softmax(scores_2, dim=0)
print("Attention weights:", weights_2)
print("Sum:", weights_2.sum())

# %% [markdown]
# 0.2379 of the attention of "journey" goes to itself, 0.2333 to "starts", and the least, 0.1082, to "one". With
# dividing it was 0.2278 for itself: softmax favours large scores a little more.

# %% [markdown]
# ### Is softmax also better to train with?
#
# A model learns by asking: if this score grew a little, how would the weights change? When positive and negative
# scores nearly cancel, dividing gives an alarming answer. Which of the two functions below reacts more strongly?

# %% name="softmax-gradient"
def divide(scores):
    return scores / scores.sum()


def softmax(scores):
    return torch.softmax(scores, dim=0)


nearly_cancel = torch.tensor([1.0, -0.9, 0.1])
print("divide: ", jacobian(divide, nearly_cancel).abs().max())
print("softmax:", jacobian(softmax, nearly_cancel).abs().max())

# %% [markdown]
# Raise one score a little, and after dividing a weight jumps by 27.5 times as much. Softmax answers with 0.2297 times
# as much. It can never be more than a quarter: the derivative is $\alpha(1-\alpha)$ or a product of two
# weights, and neither exceeds 1/4. Steps of training stay small and predictable.

# %% [markdown]
# ### What about very large scores?
#
# Our formula has one weak spot. `exp(1000)` is larger than any number the computer can hold, so it becomes
# infinity, and infinity divided by infinity is "not a number".

# %% name="large-scores"
large = torch.tensor([1000.0, 1001.0, 1002.0])
print(torch.exp(large) / torch.exp(large).sum())
print(torch.softmax(large, dim=0))

# %% [markdown]
# The formula as written gives three `nan`. `torch.softmax` gives sensible weights, 0.6652 for the largest. How?
#
# Softmax only looks at *differences*: add 10 to every score, and each exponential grows by the same factor, which the
# division cancels. So we may subtract the largest score first. Then no exponent is above zero.

# %% name="shifted-softmax"
print(torch.softmax(scores_2 + 10, dim=0))
print(torch.softmax(scores_2, dim=0))

# %% [markdown]
# Ten more for every score, and the weights are the same to the last printed digit.

# %% [markdown]
# ### Exercise 1.2 · A softmax that survives large scores
# ★★☆ · 6 minutes
#
# Write softmax from scratch with `torch.exp` and sums, without calling `torch.softmax`. It must survive `large`:
# the cell should print what `torch.softmax` printed above, with 0.6652 at the end.

# %% name="exercise-1-2"
def my_softmax(scores):
    """Weights of shape (T,) that sum to 1, from scores of shape (T,) of any size."""
    ### BEGIN SOLUTION
    exponentials = torch.exp(scores - scores.max())  # the largest exponent is 0
    return exponentials / exponentials.sum()
    ### END SOLUTION


print(my_softmax(large))

# %% [markdown] tags=["solution"]
# **Why it works.** After subtracting the largest score the exponents are -2, -1 and 0, so nothing overflows.
# Subtracting the same number from every score does not change the weights, as the cell before this exercise showed.

# %% [markdown]
# ## The context vector: a mix of all tokens
#
# We have a weight for every token. Now we use them: multiply each token's vector by its weight and add up. The result
# is the **context vector** of "journey", written $z^{(2)}$:
#
# $$z^{(2)} = \sum_{j} \alpha_{2j}\, x^{(j)}$$

# %% name="context-loop"
context_2 = torch.zeros(3)
for j, x_j in enumerate(inputs):
    context_2 += weights_2[j] * x_j
print(context_2)

# %% [markdown]
# "journey" came in as 0.55, 0.87, 0.66. It leaves as 0.4419, 0.6515, 0.5683: still itself, but with a little of every
# other word mixed in, most of all of "starts". Since the weights are shares, each number stays between the smallest
# and the largest of its column.
#
# This loop, too, is a matrix product.

# %% name="context-matmul"
print(weights_2 @ inputs)  # (6,) @ (6, 3) -> (3,)

# %% [markdown]
# The same vector. Three lines of code made it: score, softmax, mix.

# %% [markdown]
# ## All six tokens at once
#
# "journey" was one query. Every token may ask. For six queries we need $6 \times 6$ scores, and again one matrix
# product has them all: row $i$ holds the scores of query $i$.

# %% name="all-scores"
scores = inputs @ inputs.T  # (6, 3) @ (3, 6) -> (6, 6)
print(scores)

# %% [markdown]
# Row 2 is the row we computed for "journey": 0.9544, 1.4950 and so on. Column 2 holds the same numbers, because
# $a \cdot b = b \cdot a$: the table is its own mirror image. Chapter 2 will break that symmetry, on purpose.
#
# Next, softmax. Which way should it run: along each row, or down each column? A row belongs to one query, and its
# shares must sum to 1. So it runs along the last dimension, `dim=-1`.

# %% name="all-weights"
weights = torch.softmax(scores, dim=-1)  # (6, 6), every row sums to 1
print(weights)

# %% [markdown]
# Row 2 is 0.1385, 0.2379, 0.2333 and so on, the weights of "journey". Row 5 says that "one" attends most to "starts",
# with 0.1975, and less to itself, with 0.1879. A matrix of weights need not be symmetric: row 1, column 2 holds
# 0.2006, row 2, column 1 holds 0.1385.
#
# Do the rows really sum to 1? Check it twice: with the four printed digits of row 2, and with the tensor itself.

# %% name="row-sums"
print("Row 2 sum:", sum(round(weight, 4) for weight in weights[1].tolist()))
print("All row sums:", weights.sum(dim=-1))

# %% [markdown]
# Every row sums to 1. The picture below shows the same matrix; read it row by row.

# %% name="weights-picture"
pictures.show_weights(weights, tokens, title="Attention weights without training",
    alt="Heat map of the six by six attention weights. All cells lie between 0.10 and 0.24, so the map is almost "
        "evenly dark; the columns journey and starts are a little brighter in every row. Every row sums to 1.00.")

# %% [markdown]
# The message: nothing has been learned yet, so attention is almost even. No weight is above 0.24, where a perfectly
# even share would be one sixth. Still, two columns are a little brighter than the others. Who gets the most attention
# in each row?

# %% name="favourites"
for token, favourite in zip(tokens, weights.argmax(dim=-1)):
    print(f"{token:8} attends most to {tokens[favourite]}")

# %% [markdown]
# Four of six rows choose "journey". Not because they mean the same: its vector is simply the longest, and a long
# vector scores well with everyone. Raw embeddings make poor queries and keys, and the next chapter will learn better
# ones.

# %% [markdown]
# ### A rounding slip in one of our sources
#
# One of the texts behind this course (S1 in the README) quotes the weights of "journey" with two digits, as 0.14, 0.24,
# 0.23, **0.13**, 0.11, 0.16. Let us round them ourselves.

# %% name="rounding"
print([round(weight, 2) for weight in weights_2.tolist()])
print("sum as quoted: ", f"{0.14 + 0.24 + 0.23 + 0.13 + 0.11 + 0.16:.2f}")
print("sum as rounded:", f"{0.14 + 0.24 + 0.23 + 0.12 + 0.11 + 0.16:.2f}")

# %% [markdown]
# The fourth weight is 0.1240, so it rounds to 0.12. A slip of one hundredth, easily made, and the row sum gives it
# away: as quoted the shares sum to 1.01. Summing a row is the cheapest test there is. You will use it often.

# %% [markdown]
# ### All context vectors
#
# Last step: every row of weights mixes the same six vectors. One more matrix product.

# %% name="all-context"
context = weights @ inputs  # (6, 6) @ (6, 3) -> (6, 3)
print(context)
print("Previous 2nd context vector:", context_2)

# %% [markdown]
# Row 2 is the context vector of "journey" that the loop made: 0.4419, 0.6515, 0.5683. All six rows look alike, since
# all six rows of weights did.

# %% [markdown]
# ### Exercise 1.3 · Attention in one function
# ★★☆ · 6 minutes
#
# Put the three steps together: scores, softmax along each row, mix. The cell tries it on the first four tokens only,
# so that a $6 \times 6$ written by habit would show. You are done when you see four rows of three numbers, the first
# of them 0.4651, 0.6093, 0.6645.

# %% name="exercise-1-3"
def my_context_vectors(inputs):
    """Context vectors of shape (T, d) from inputs of shape (T, d): dot-product attention without weights to train."""
    ### BEGIN SOLUTION
    scores = inputs @ inputs.T  # (T, d) @ (d, T) -> (T, T)
    weights = torch.softmax(scores, dim=-1)  # (T, T), every row sums to 1
    return weights @ inputs  # (T, T) @ (T, d) -> (T, d)
    ### END SOLUTION


print(my_context_vectors(inputs[:4]))

# %% [markdown] tags=["solution"]
# **Why it works.** Nothing in it depends on the number of tokens: the shapes follow from `inputs`. With `dim=0` instead
# of `dim=-1` each *column* would sum to 1, and the first row would no longer be a mix in shares.

# %% [markdown]
# ## Back to the long sentence
#
# Does attention forget its first word? We use the same measure as for the recurrent network: how far does the context
# vector of the *last* token move when the *first* token moves?

# %% name="attention-lengths"
def last_context(x):
    """The context vector of the last token, shape (3,), of a sequence x of shape (T, 3)."""
    weights = torch.softmax(x @ x[-1], dim=0)  # (T, 3) @ (3,) -> (T,)
    return weights @ x  # (T,) @ (T, 3) -> (3,)


for copies in [1, 2, 4, 8]:
    x = inputs.repeat(copies, 1)  # (6 * copies, 3)
    print(f"{len(x):2} tokens: {influence(last_context, x)[0]:.4f}")

# %% [markdown]
# 0.2356, 0.1178, 0.0589, 0.0295. Twice the tokens, half the influence: with more words to share between, each gets a
# smaller share. That is a fair division and not forgetting. The recurrent network had 6.1e-15 left at 48 tokens.
#
# The picture shows all 48 tokens. Note the vertical axis: each line of the grid is a factor of a hundred.

# %% name="influence-picture"
x = inputs.repeat(8, 1)  # (48, 3)
pictures.show_curves(
    {"recurrent network": influence(last_state, x).flip(0), "attention": influence(last_context, x).flip(0)},
    x_label="tokens back from the last one", y_label="influence on the last result", logarithmic=True,
    alt="Two curves over the distance from the last token, on a logarithmic axis. The recurrent network falls in a "
        "straight line from about 1 to 6e-15 at 47 tokens back; attention stays between 0.01 and 0.1 all the way.")

# %% [markdown]
# The message: with distance, the recurrent network's influence falls in a straight line on a logarithmic axis, by half
# at each token. Attention's does not fall at all. Its ups and downs depend on *which* word stands there, not on how
# far away it is: the path from any token to any other is one step long.
#
# This has a price. Six tokens need 36 scores and 48 tokens need 2304, the square of the length.

# %% [markdown]
# ## What to take with you
#
# | step | formula | code | shape |
# | --- | --- | --- | --- |
# | scores | $\omega_{ij} = x^{(i)} \cdot x^{(j)}$ | `inputs @ inputs.T` | (T, T) |
# | weights | $\alpha_{ij} = \mathrm{softmax}_j(\omega_{ij})$ | `torch.softmax(scores, dim=-1)` | (T, T) |
# | context vectors | $z^{(i)} = \sum_j \alpha_{ij}\, x^{(j)}$ | `weights @ inputs` | (T, d) |
#
# * A **query** asks, **keys** are compared with it, and the dot product is the **score**.
# * **Softmax** turns scores into shares: never negative, sum 1, small gradients, large scores allowed.
# * The **context vector** is the mix of all tokens in those shares.
# * Any two tokens are one step apart, and no distance makes the signal fade.
#
# **Next.** There is nothing to train here: the embeddings fix every weight. Chapter 2 gives queries, keys and values
# matrices of their own. All chapters: [the course's contents](../README.md#chapters).
