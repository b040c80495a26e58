# ---
# jupyter:
#   course:
#     summary: several heads, one matrix for all of them, the sizes of GPT-2
#     title: Multi-head attention
# ---

# %% [markdown]
# # Chapter 5 · Multi-head attention
#
# **Goal.** By the end you can write the attention layer of GPT-2: several causal heads that work side by side, computed
# with one matrix product each for queries, keys and values. You can also say how many numbers such a layer learns.
#
# **Time.** About 135 minutes, exercises included. **You need** chapters 1 to 4: scores, weights, context vectors, the
# causal mask, dropout, and `CausalAttention`.
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

from course_utils import live, pictures
from course_utils.attention import CausalAttention
from course_utils.checking import answer, check, hint, progress, solution
from course_utils.validation import check_dropout, check_heads, check_input
from course_utils.influence import influences

# %% [markdown]
# The class `CausalAttention` is the one that chapter 4 built. The three functions from `validation` compute nothing. They
# only refuse impossible input, with a sentence that says what was wrong.
#
# Here are the six words again, and a batch of two sequences. Both are the same sentence.

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
batch = torch.stack((inputs, inputs))  # (2, 6, 3)
print(batch.shape)

# %% [markdown]
# The shape is $(B, T, d_\mathrm{in})$: 2 sequences, 6 tokens each, 3 numbers per token.

# %% [markdown]
# ## One head, one set of weights
#
# A layer such as `CausalAttention` is called a **head**. For each token it computes one set of weights and mixes all
# values by them. Is one set enough?
#
# Suppose "step" wants to hear from two words, "Your" and "with". Let us write its weights by hand, half and half. Then
# we let the two words exchange their vectors. Does "step" notice?

# %% name="one-set-of-weights"
one_set = torch.tensor([0.5, 0.0, 0.0, 0.5, 0.0, 0.0])  # half "Your", half "with"
exchanged = inputs[[3, 1, 2, 0, 4, 5]]  # "Your" and "with" have each other's vector
print(one_set @ inputs)  # (6,) @ (6, 3) -> (3,)
print(one_set @ exchanged)

# %% [markdown]
# Twice 0.3250, 0.3650, 0.6100: "step" does not notice. It heard both, but not which of them said what. (Uneven weights
# would tell these two cases apart, but then one of the words is heard less.)
#
# Now two sets of weights, each with one word. We lay the two context vectors side by side.

# %% name="two-sets-of-weights"
two_sets = torch.tensor([
    [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # the first head hears "Your"
    [0.0, 0.0, 0.0, 1.0, 0.0, 0.0],  # the second head hears "with"
])
print((two_sets @ inputs).flatten())  # (2, 6) @ (6, 3) -> (2, 3) -> (6,)
print((two_sets @ exchanged).flatten())

# %% [markdown]
# The first line begins with the vector of "Your", 0.4300, 0.1500, 0.8900, and ends with that of "with". In the second
# line they have changed places. Nothing is lost.
#
# But is that fair? There are now six numbers instead of three. What if each head may use only a part of every vector,
# here one column?

# %% name="two-narrow-heads"
for sentence in [inputs, exchanged]:
    heard = [two_sets[head] @ sentence[:, head] for head in range(2)]  # (6,) @ (6,) -> ()
    print(torch.stack(heard))  # (2,)

# %% [markdown]
# Two numbers, fewer than the single head's three, and the exchange still shows: 0.4300 and 0.5800 become 0.2200 and
# 0.1500. So several sets of weights cost no width, as long as each head hands on only a few numbers. (We cut out a
# column by hand. A real head reads the whole vector, and its own matrix brings it down to a few numbers.) That is the
# idea of **multi-head attention**. Here the weights were written by hand; from now on heads compute them.

# %% [markdown]
# ## Heads side by side
#
# The simplest way to have two heads is to make two. Each draws random matrices of its own, so each computes its own
# weights. Their context vectors are **concatenated**: laid side by side, along the last dimension.

# %% name="concatenate"
torch.manual_seed(123)
first = CausalAttention(d_in=3, d_out=2, context_length=6, dropout=0.0)
second = CausalAttention(d_in=3, d_out=2, context_length=6, dropout=0.0)
print(torch.cat([first(inputs), second(inputs)], dim=-1))  # (6, 2) and (6, 2) -> (6, 4)

# %% [markdown]
# In row 1, the first head contributes -0.4519 and 0.2216, the second 0.4772 and 0.1063. Two numbers and two numbers
# make four.
#
# For any number of heads we put them in a list, and the list in a class.

# %% name="wrapper-class"
class MultiHeadAttentionWrapper(nn.Module):
    """Causal heads, their outputs concatenated: (B, T, d_in) to (B, T, num_heads * d_out)."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
            for _ in range(num_heads)
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)  # (B, T, num_heads * d_out)

# %% [markdown]
# The class has no mathematics of its own: it makes heads, calls them one after the other, and concatenates. With the
# same seed it must give the same four columns, for both sequences of the batch.

# %% name="wrapper"
torch.manual_seed(123)
wrapper = MultiHeadAttentionWrapper(3, 2, context_length=6, dropout=0.0, num_heads=2)
context_vecs = wrapper(batch)  # (2, 6, 3) -> (2, 6, 4)
print(context_vecs)
print("context_vecs.shape:", context_vecs.shape)

# %% [markdown]
# Row 1 is -0.4519, 0.2216, 0.4772, 0.1063 as before, and the second sequence repeats the first. In this class `d_out`
# counts the numbers of *one* head, so the result is `num_heads * d_out` = 4 numbers wide.
#
# How different are the two heads? For a look at their weights we need the first half of `CausalAttention.forward`.

# %% name="head-weights"
def head_weights(head, x):
    """The weights (T, T) of one CausalAttention for T tokens x, T its context length."""
    scores = head.W_query(x) @ head.W_key(x).T  # (T, d_out) @ (d_out, T) -> (T, T)
    d_k = head.W_key.out_features
    return torch.softmax(scores.masked_fill(head.mask, -torch.inf) / d_k**0.5, dim=-1)


weights = torch.stack([head_weights(head, inputs) for head in wrapper.heads])  # (2, 6, 6)
print(weights[:, 1].detach())  # the row of "journey", once per head

# %% [markdown]
# "journey" sees only "Your" and itself. The first head gives them 0.4833 and 0.5167, the second 0.4400 and 0.5600: two
# sets of weights for one token. Here are both matrices in full.

# %% name="heads-picture" shows="Two heat maps side by side, one per head, each a lower triangle of attention weights with the future hatched. The rows are nearly even in both. In the row of journey, head 1 has 0.48 and 0.52, head 2 has 0.44 and 0.56. Every row sums to 1.00."
pictures.show_weights(
    weights, tokens, masked=wrapper.heads[0].mask, title="Two untrained heads, one sentence",
)

# %% [markdown]
# The message: each head has a matrix of weights of its own. Only the first row, where "Your" can attend to nothing but
# itself, is the same in both. The others differ by little, since both heads are untrained and their weights nearly even.
# What each head looks for is up to training.

# %% [markdown]
# ### Why not a plain Python list?
#
# The class stores its heads in an `nn.ModuleList`. A plain list also holds two heads and is easier to type. What
# would it cost?

# %% [markdown]
# **Question 5.1.** Two heads with 18 numbers each stand in a plain Python list. How many numbers to learn does PyTorch
# find in that module?
#
# * **a** 36
# * **b** 18
# * **c** 0

# %% name="question-5-1"
answer("Q5.1", "c")

# %% [markdown]
# Let us count what both modules have to learn.

# %% name="plain-list"
class PlainList(nn.Module):
    """Two such heads in a plain list."""

    def __init__(self):
        super().__init__()
        self.heads = [CausalAttention(3, 2, 6, 0.0) for _ in range(2)]


def count(module):
    """How many numbers a module learns."""
    return sum(parameter.numel() for parameter in module.parameters())


print("plain list:", count(PlainList()), "ModuleList:", count(wrapper))

# %% [markdown]
# The wrapper has 36 numbers to learn: 2 heads with 3 matrices of 3 × 2 each. With the plain list PyTorch finds none,
# since it looks only at attributes that are parameters or modules, and a list is neither. What does an optimizer say?

# %% name="nothing-to-train"
try:
    torch.optim.SGD(PlainList().parameters(), lr=0.1)
except ValueError as error:
    print(type(error).__name__, error)

# %% [markdown]
# Here we are lucky to get an error. What if another layer stands beside the heads, and does have parameters?

# %% name="silently-untrained"
model = nn.Sequential(PlainList(), nn.Linear(4, 1))
torch.optim.SGD(model.parameters(), lr=0.1)
print(count(model))

# %% [markdown]
# No error. The optimizer takes the 5 numbers of the linear layer, 4 weights and a bias. The heads would never be
# trained, and nothing would say so.

# %% [markdown]
# ### Exercise 5.1 · Heads side by side
# 2 points · ★★☆ · 10 minutes
#
# Close the cells above and write such a class yourself. Its heads are layers of the class `CausalAttention`; keep them
# under any name you like, but so that PyTorch finds them. Biases for queries, keys and values are not needed.

# %% name="exercise-5-1"
class MyHeads(nn.Module):
    """Causal heads, their outputs concatenated: (B, T, d_in) to (B, T, num_heads * d_out)."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads):
        super().__init__()
        ### BEGIN SOLUTION
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout) for _ in range(num_heads)
        )
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        return torch.cat([head(x) for head in self.heads], dim=-1)  # (B, T, num_heads * d_out)
        ### END SOLUTION

# %% name="check-5-1"
### BEGIN HIDDEN TESTS
assert check("5.1", MyHeads).status == "right"
### END HIDDEN TESTS
check("5.1", MyHeads)

# %% [markdown] tags=["solution"]
# **Why it works.** `nn.ModuleList` is a list that PyTorch looks into, so that each head is found, moved and trained.
# Concatenating along the last dimension gives every token the numbers of all heads, one head after the other. An
# average would be as wide as one head and could not tell who has heard what.

# %% [markdown]
# ### Exercise 5.2 · Two heads, two numbers
# 1 point · ★☆☆ · 5 minutes
#
# This is an exercise of Raschka's book, a little more general. His wrapper with two heads gave four numbers per token;
# how do you get two, with both heads? Your function gets the wrapper's class and should make one in which all heads
# together give `width` numbers. The class takes the same arguments as `MultiHeadAttentionWrapper`. Use no dropout.

# %% name="exercise-5-2"
def my_narrow_wrapper(Wrapper, d_in, context_length, num_heads, width):
    """A wrapper with num_heads heads: (B, T, d_in) to (B, T, width). num_heads divides width."""
    ### BEGIN SOLUTION
    return Wrapper(d_in, width // num_heads, context_length, dropout=0.0, num_heads=num_heads)
    ### END SOLUTION

# %% name="check-5-2"
### BEGIN HIDDEN TESTS
assert check("5.2", my_narrow_wrapper).status == "right"
### END HIDDEN TESTS
check("5.2", my_narrow_wrapper)

# %% [markdown] tags=["solution"]
# **Why it works.** In the wrapper `d_out` counts the numbers of one head, and concatenation adds them up. For two
# numbers from two heads each head gets `d_out=1`. With fewer heads the width would fit as well, but then the token
# would have one set of weights only.

# %% [markdown]
# ## One matrix for all heads
#
# With many heads the wrapper calls many small layers, one after the other. Can one large matrix do the work of many
# small ones? To tell the dimensions apart we now take 3 heads with 4 numbers each, so that 2 sequences, 3 heads, 4
# numbers and 6 tokens are all different.

# %% name="three-heads"
torch.manual_seed(123)
three_heads = MultiHeadAttentionWrapper(
    d_in=3, d_out=4, context_length=6, dropout=0.0, num_heads=3
)
for head in three_heads.heads:
    print(head.W_query(inputs[1]).detach())  # the query of "journey" in each head, (4,)

# %% [markdown]
# Three heads, three queries for "journey". The first begins with -0.3021, the second with -0.6810. Each came from a
# matrix of its own.
#
# `nn.Linear` stores its matrix with one *row* per output. So we stack the three matrices on top of each other, and
# apply the tall one to the whole batch at once.

# %% name="one-matrix"
def stacked(wrapper, name):
    """The matrices of this name of all heads, stacked: (num_heads * head_dim, d_in)."""
    return torch.cat([getattr(head, name).weight.detach() for head in wrapper.heads])


queries = batch @ stacked(three_heads, "W_query").T  # (2, 6, 3) @ (3, 12) -> (2, 6, 12)
print(queries.shape)
print(queries[0, 1])

# %% [markdown]
# The same twelve numbers, in one row: the first head's four, then the second head's, then the third's. One product
# instead of three, and all queries are there. The number of columns that belong to one head, here 4, is called
# **head_dim**.
#
# What remains is to take them apart again. This is called the **weight split**: one large matrix whose results are
# shared out among the heads.

# %% [markdown]
# ### Step 1: view
#
# `view` reads the same numbers, in the same order, with other sizes. We cut the last dimension, 12, into 3 heads of 4.

# %% name="view"
apart = queries.view(2, 6, 3, 4)  # (2, 6, 12) -> (2, 6, 3, 4)
print(apart[0, 1])

# %% [markdown]
# "journey" in the first sequence: row 1 is the first head's query, -0.3021 and so on, row 2 the second head's. The
# axes are now (B, T, num_heads, head_dim).
#
# Could we compute scores right away? `@` multiplies over the last two dimensions and repeats that for all others.

# %% name="scores-without-transpose"
print((apart @ apart.transpose(2, 3)).shape)  # (2, 6, 3, 4) @ (2, 6, 4, 3)

# %% [markdown]
# For each of the 6 tokens a 3 × 3 table: heads scored against heads, within one token. No token meets another. For
# attention the last two dimensions must be tokens and numbers.

# %% [markdown]
# ### Step 2: transpose
#
# So heads and tokens change places. Then every head has a matrix (T, head_dim) of its own, and the heads stand where
# the batch stands: among the dimensions over which `@` repeats.

# %% name="transpose"
queries = apart.transpose(1, 2)  # (2, 6, 3, 4) -> (2, 3, 6, 4)
print(queries.shape)
print(queries[0, 2])

# %% [markdown]
# This is the third head in the first sequence: six tokens with four numbers each. Its row 2, "journey", begins with
# -0.4715, as the third head's query did above.
#
# A reader may object: `view(2, 3, 6, 4)` gives the same shape in one step.

# %% [markdown]
# **Question 5.2.** What happens if we view the queries straight to (2, 3, 6, 4), without a transpose?
#
# * **a** The same split, in one step.
# * **b** No error, but each head gets pieces of a few tokens instead of all six.
# * **c** An error: the sizes do not fit.

# %% name="question-5-2"
answer("Q5.2", "b")

# %% [markdown]
# To see who goes where, we replace every number by the position of its token, 1 to 6, and split both ways.

# %% name="whose-number"
positions = torch.arange(1, 7).view(1, 6, 1).expand(1, 6, 12)  # (1, 6, 12), row t holds t
right = positions.reshape(1, 6, 3, 4).transpose(1, 2)  # (1, 3, 6, 4)
wrong = positions.reshape(1, 3, 6, 4)  # the same shape
print(right[0, :, :, 0])  # (3, 6): in each head's row t, whose numbers?
print(wrong[0, :, :, 0])

# %% [markdown]
# Split properly, each of the three heads has the six tokens in order, 1 to 6. Viewed straight to the final shape, the
# first head has 1, 1, 1, 2, 2, 2: three pieces of "Your" and three of "journey", and no other word. The shape is right
# and the contents are wrong, so no error will tell you.

# %% [markdown]
# ### Exercise 5.3 · Split into heads
# 2 points · ★★☆ · 10 minutes
#
# Write the split so that it works with any sizes, and for a single sequence (T, d_out) as well as for a batch. Counting
# dimensions from the end helps: `transpose(-3, -2)`.

# %% name="exercise-5-3"
def my_split(projected, num_heads):
    """(..., T, d_out) becomes (..., num_heads, T, head_dim), with or without a batch."""
    ### BEGIN SOLUTION
    *before, d_out = projected.shape
    head_dim = d_out // num_heads
    apart = projected.view(*before, num_heads, head_dim)  # (..., T, num_heads, head_dim)
    return apart.transpose(-3, -2)  # (..., num_heads, T, head_dim)
    ### END SOLUTION

# %% name="check-5-3"
### BEGIN HIDDEN TESTS
assert check("5.3", my_split).status == "right"
### END HIDDEN TESTS
check("5.3", my_split)

# %% [markdown] tags=["solution"]
# **Why it works.** `view` cuts only the last dimension, so each token keeps its own numbers, and the transpose brings
# the heads before the tokens. With three heads of 2 numbers, the second head gets the third and fourth number of each
# token.

# %% [markdown]
# ### Step 3: scores, head by head
#
# Does `@` really keep the heads apart? Take a small tensor with two heads, three tokens and four numbers each, and
# multiply it by its own transpose, as for scores of queries that are also keys. The numbers come from Chung-En Johnny
# Yu's course page, one of the texts behind this course.

# %% name="four-dimensions"
a = torch.tensor([[[[0.2745, 0.6584, 0.2775, 0.8573],
                    [0.8993, 0.0390, 0.9268, 0.7388],
                    [0.7179, 0.7058, 0.9156, 0.4340]],
                   [[0.0772, 0.3565, 0.1479, 0.5331],
                    [0.4066, 0.2318, 0.4545, 0.9737],
                    [0.4606, 0.5159, 0.4220, 0.5786]]]])  # (1, 2, 3, 4)
print(a @ a.transpose(2, 3))  # (1, 2, 3, 4) @ (1, 2, 4, 3) -> (1, 2, 3, 3)

# %% [markdown]
# Two tables of 3 × 3, one below the other. Compare them with each head on its own.

# %% name="each-head-alone"
print("First head:\n", a[0, 0] @ a[0, 0].T)  # (3, 4) @ (4, 3) -> (3, 3)
print("\nSecond head:\n", a[0, 1] @ a[0, 1].T)

# %% [markdown]
# The first head's table begins with 1.3208 and the second's with 0.4391, as above. So one 4-D product is the list of
# all 2-D products, head by head. Back to our sentence: keys and values are split like the queries.

# %% name="scores-per-head"
keys = (batch @ stacked(three_heads, "W_key").T).view(2, 6, 3, 4).transpose(1, 2)
values = (batch @ stacked(three_heads, "W_value").T).view(2, 6, 3, 4).transpose(1, 2)
scores = queries @ keys.transpose(2, 3)  # (2, 3, 6, 4) @ (2, 3, 4, 6) -> (2, 3, 6, 6)
print(scores.shape)

# %% [markdown]
# A 6 × 6 table of scores for each of 3 heads in each of 2 sequences. Before softmax they are divided by $\sqrt{d_k}$.

# %% [markdown]
# **Question 5.3.** Three heads of four numbers each, six tokens. Which $d_k$ is it now?
#
# * **a** 4
# * **b** 12
# * **c** 6

# %% name="question-5-3"
answer("Q5.3", "a")

# %% [markdown]
# Measure how widely dot products of random vectors spread, over all 12 numbers and over the first four.

# %% name="which-d-k"
torch.manual_seed(0)
left, right = torch.randn(2, 10_000, 12, dtype=torch.float64)  # 10,000 pairs of vectors
print(f"12 numbers: {(left * right).sum(dim=-1).std():.2f}, the root of 12 is {12**0.5:.2f}")
narrow = (left[:, :4] * right[:, :4]).sum(dim=-1)
print(f" 4 numbers: {narrow.std():.2f}, the root of  4 is {4**0.5:.2f}")

# %% [markdown]
# Sums of 12 products spread by 3.43, sums of 4 by 2.00. A score adds up only the products of its own head, so dividing
# by $\sqrt{4}$ brings its spread to 1: $d_k$ is head_dim. Dividing by $\sqrt{12}$ would make the scores too small, and
# the weights flatter than intended.

# %% name="weights-per-head"
future = torch.triu(torch.ones(6, 6), diagonal=1).bool()  # True above the diagonal: hidden
scores = scores.masked_fill(future, -torch.inf)  # the same mask in every head
weights = torch.softmax(scores / 4**0.5, dim=-1)  # (2, 3, 6, 6), every row sums to 1
print(weights[0, :, 5])  # the row of "step" in each head, (3, 6)
print(torch.softmax(scores / 12**0.5, dim=-1)[0, :, 5])

# %% [markdown]
# The (6, 6) mask fits all heads and sequences, since PyTorch repeats it over the first two dimensions. "step" now has
# three sets of weights. Its favourite is "one" in the first and second head, with 0.1820 and 0.1797, and "step" itself
# in the third, with 0.1759. Below stand the same rows divided by $\sqrt{12}$. They are flatter: 0.1754 for "one" in the
# first head.
#
# Three 6 × 6 matrices are a lot of numbers to read as a table. The next figure takes weights of any number of heads,
# yours as well. (The scores go along so that you can read them, too.)

# %% name="heads-live"
live.show_attention(weights[0], tokens, scores=scores[0])

# %% [markdown]
# The message: one sentence, three matrices of weights, and the last row of each is the row of "step" that we printed.
# Choose a head to see it alone, and a query to read its favourites in words. Point at a cell for query, key, score and
# weight.

# %% [markdown]
# ### Step 4: merge
#
# Mixing the values works head by head too. Then everything runs backwards: heads and tokens change places again, and
# the last two dimensions become one.

# %% name="merge-fails"
context = weights @ values  # (2, 3, 6, 6) @ (2, 3, 6, 4) -> (2, 3, 6, 4)
together = context.transpose(1, 2)  # (2, 3, 6, 4) -> (2, 6, 3, 4)
try:
    together.view(2, 6, 12)
except RuntimeError as error:
    print(type(error).__name__, error)

# %% [markdown]
# Step 1 allowed a `view`, this step does not. Why? In memory a tensor is one long line of numbers. `transpose` moves
# none of them. It only changes the **stride**, the distance in memory from one entry to the next, per dimension.

# %% name="strides"
print(context.shape, context.stride(), context.is_contiguous())
print(together.shape, together.stride(), together.is_contiguous())

# %% [markdown]
# Before the transpose, tokens lie 4 numbers apart and heads 24. Afterwards the order of the dimensions no longer
# agrees with the order in memory: the tensor is not **contiguous**. A token's 12 numbers lie in three places, 24
# apart, and a `view` cannot join them. `contiguous()` copies the numbers into the new order.

# %% name="merge"
together = together.contiguous()  # (2, 6, 3, 4), copied
context = together.view(2, 6, 12)  # (2, 6, 3, 4) -> (2, 6, 12)
print(context.shape)
print("as the wrapper:", torch.allclose(context, three_heads(batch), atol=1e-6))

# %% [markdown]
# View, transpose, scores, softmax, mix, transpose, contiguous, view. The result is what three separate heads compute,
# with one product each for queries, keys and values instead of three.
#
# (The message recommends `reshape`, which copies when it has to. We write `contiguous().view(...)` because then one can
# see where the copy happens.)
#
# Here is the whole walk for the queries of one sentence, a colour for each head. To keep it short, the same numbers also
# serve as keys and values. On the left stands the split as it should be. On the right is the shortcut from step 2, one
# `view` straight to the final shape. What will the colours look like there?

# %% name="shape-walk-live"
torch.manual_seed(123)
x = torch.randn(6, 12, dtype=torch.float64)  # (T, d_out), larger numbers than our queries
live.show_shape_walk(x, num_heads=3, tokens=tokens)

# %% [markdown]
# The message: with the transpose every head has one colour and all six words. Without it each head gets all three
# colours and two of the six words, in the same shape.
#
# Now follow a number. Choose "starts" and go on to the last step. On the left it changes its own row and the rows below
# it, in the columns of its own head. On the right it reaches the row of "Your", which comes first and must not see it.
# Choose a head to see only its numbers.

# %% [markdown]
# ### Exercise 5.4 · Merge the heads
# 2 points · ★★☆ · 10 minutes
#
# Write the way back, again for any sizes, with and without a batch. What is merged need not be contiguous.

# %% name="exercise-5-4"
def my_merge(context):
    """(..., num_heads, T, head_dim) becomes (..., T, d_out), with or without a batch."""
    ### BEGIN SOLUTION
    together = context.transpose(-3, -2).contiguous()  # (..., T, num_heads, head_dim)
    *before, num_heads, head_dim = together.shape
    return together.view(*before, num_heads * head_dim)  # (..., T, d_out)
    ### END SOLUTION

# %% name="check-5-4"
### BEGIN HIDDEN TESTS
assert check("5.4", my_merge).status == "right"
### END HIDDEN TESTS
check("5.4", my_merge)

# %% [markdown] tags=["solution"]
# **Why it works.** The transpose puts the heads of one token next to each other, `contiguous` lays them out that way
# in memory, and `view` drops the border between them. Without the transpose, a row would hold pieces of several tokens,
# all from one head.

# %% [markdown]
# ## The class
#
# The four steps become a class. It has two methods for the two reshapes, `split` and `merge`, and one layer more than
# the steps had: `out_proj`, which mixes the concatenated heads. Note that `d_out` now is the width of *all* heads
# together, so each gets `d_out // num_heads` numbers.

# %% name="split-class"
class MultiHeadAttention(nn.Module):
    """Causal attention with its width split into heads: (B, T, d_in) to (B, T, d_out).

    T may be up to context_length; num_heads must divide d_out. dropout: as in CausalAttention.
    """

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        check_heads(d_out, num_heads)
        check_dropout(dropout)
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        future = torch.triu(torch.ones(context_length, context_length), diagonal=1).bool()
        self.register_buffer("mask", future)  # True above the diagonal: hidden

    def split(self, projected):
        """From one width for all heads, (B, T, d_out), to (B, num_heads, T, head_dim)."""
        *before, _ = projected.shape
        apart = projected.view(*before, self.num_heads, self.head_dim)  # (B, T, num_heads, head_dim)
        return apart.transpose(-3, -2)  # (B, num_heads, T, head_dim)

    def merge(self, context):
        """The way back: (B, num_heads, T, head_dim) becomes (B, T, d_out)."""
        together = context.transpose(-3, -2).contiguous()  # (B, T, num_heads, head_dim)
        *before, num_heads, head_dim = together.shape
        return together.view(*before, num_heads * head_dim)  # (B, T, d_out)

    def forward(self, x):
        check_input(x, self.W_query.in_features, self.W_query.weight, longest=len(self.mask))
        num_tokens = x.shape[-2]
        queries = self.split(self.W_query(x))  # (B, num_heads, T, head_dim)
        keys = self.split(self.W_key(x))  # (B, num_heads, T, head_dim)
        values = self.split(self.W_value(x))  # (B, num_heads, T, head_dim)

        scores = queries @ keys.transpose(-2, -1)  # (B, num_heads, T, T)
        scores = scores.masked_fill(self.mask[:num_tokens, :num_tokens], -torch.inf)
        weights = torch.softmax(scores / self.head_dim**0.5, dim=-1)  # (B, num_heads, T, T)
        weights = self.dropout(weights)
        return self.out_proj(self.merge(weights @ values))  # (B, T, d_out)

# %% [markdown]
# We run it with the numbers of Yu's page, which another source, a condensed notebook, shares: width 2, two heads, and
# therefore a single number per head.

# %% name="split-class-output"
torch.manual_seed(123)
mha = MultiHeadAttention(d_in=3, d_out=2, context_length=6, dropout=0.0, num_heads=2)
context_vecs = mha(batch)  # (2, 6, 3) -> (2, 6, 2)
print(context_vecs)
print("context_vecs.shape:", context_vecs.shape)

# %% [markdown]
# "Your" comes out as 0.3190, 0.4858, twice, as the batch holds the sentence twice. The result has `d_out` = 2 numbers
# per token, not 4: the heads share the width.
#
# What does `out_proj` do here? Its matrix has one row per number that comes out and one column per number that goes in,
# and here each column is one head.

# %% name="out-proj"
print(mha.out_proj.weight.detach())  # (2, 2)
print(mha.out_proj.bias.detach())  # (2,)

# %% [markdown]
# Row 1 says: the first number is -0.1668 times the first head's, plus 0.2270 times the second head's, plus the bias
# 0.1934. Row 2 does the same with 0.5000, 0.1317 and 0.6825. Before `out_proj` each column belonged to one head. After
# it, each number draws on both.
#
# "Your" lets us check that by hand: it sees only itself, so its context vector is its own value.

# %% name="out-proj-by-hand"
value_1 = mha.W_value(inputs[0]).detach()  # (2,), one number per head
print(value_1)
print(mha.out_proj(value_1).detach())

# %% [markdown]
# -0.4519 and 0.2216 become 0.3190 and 0.4858, the first row of the output above.

# %% [markdown]
# ### The same output, once the weights are the same
#
# The wrapper began with -0.4519 and this class with 0.3190. Yu's page notes that the results differ because the random
# weights do. Is that so? Both were made with seed 123. Compare the class's matrices with those of the wrapper's first
# head.

# %% name="same-matrices"
for name in ["W_query", "W_key", "W_value"]:
    print(name, torch.equal(getattr(mha, name).weight, getattr(wrapper.heads[0], name).weight))

# %% [markdown]
# They are the same numbers: one seed drew both. So here the random weights of the projections are not the reason. This
# class cuts those two columns into two heads of one number each, and `out_proj` mixes them.
#
# To compare like with like, make the class as wide as the wrapper, copy all the wrapper's weights, and let `out_proj`
# do nothing. Will the outputs agree?
#
# A matrix that does nothing is the identity, with ones on the diagonal. With a bias of zero it hands on what it gets.

# %% name="copy-the-weights"
same = MultiHeadAttention(d_in=3, d_out=4, context_length=6, dropout=0.0, num_heads=2)
with torch.no_grad():
    for name in ["W_query", "W_key", "W_value"]:
        getattr(same, name).weight.copy_(stacked(wrapper, name))  # (4, 3)
    same.out_proj.weight.copy_(torch.eye(4))
    same.out_proj.bias.zero_()
print(same(inputs).detach())
print("same output:", torch.allclose(same(batch), wrapper(batch), atol=1e-6))

# %% [markdown]
# Row 1 is -0.4519, 0.2216, 0.4772, 0.1063, the wrapper's numbers, and so are all others. With the same weights the
# split computes what separate heads compute, in fewer and larger products. What the wrapper lacks is `out_proj`.

# %% [markdown]
# ### What a forgotten transpose does
#
# Step 2 showed whose numbers go where without the transpose. What does it do to a whole layer? We take the class, spoil
# its `split`, and ask the question of chapter 3: which output depends on which input? Its function `influences` takes
# the derivatives, and where they are all zero, the output does not depend on the token.
#
# First the class as it should be, with three heads of four numbers.

# %% name="right-picture" shows="Six by six map of which output depends on which input. Every cell on and below the diagonal says yes, every cell above it has a dot: no output depends on later tokens."
torch.manual_seed(123)
layer = MultiHeadAttention(d_in=3, d_out=12, context_length=6, dropout=0.0, num_heads=3)
pictures.show_dependencies(
    influences(layer, inputs) > 0, tokens, title="With transpose",
)

# %% [markdown]
# The message: each output depends on its own token and on those before it, and on nothing else. And now the mistake, in
# a class that inherits everything but `split`. It has the same mask.

# %% name="wrong-picture" shows="Six by six map of which output depends on which input. In the first three rows the columns Your, starts and one say yes and the others have a dot. In the last three rows all six columns say yes. There is no triangle."
class ViewOnly(MultiHeadAttention):
    """MultiHeadAttention with a mistake: it views straight to the final shape."""

    def split(self, projected):
        *before, T, _ = projected.shape
        return projected.view(*before, self.num_heads, T, self.head_dim)  # no transpose


torch.manual_seed(123)
spoilt = ViewOnly(d_in=3, d_out=12, context_length=6, dropout=0.0, num_heads=3)
pictures.show_dependencies(
    influences(spoilt, inputs) > 0, tokens, title="Without transpose",
)

# %% [markdown]
# The message: the triangle is gone. The output of "Your", the first token, depends on "starts" and "one", which it must
# not see. The output of "journey" does not depend on "journey". The mask still hides row from later row in each head,
# but the rows no longer are tokens.

# %% [markdown]
# ### Exercise 5.5 · Multi-head attention from a blank page
# 5 points · ★★★ · 20 minutes
#
# Write the class yourself, without looking up. Call the layers `W_query`, `W_key`, `W_value` and `out_proj`, since the
# check copies weights into them. `qkv_bias` says whether the first three have a bias. You need no checks of the input.
# A batch is all the class has to take, and T may be smaller than `context_length`.

# %% name="exercise-5-5"
class MyMultiHeadAttention(nn.Module):
    """Causal attention with its width split into heads: (B, T, d_in) to (B, T, d_out)."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        ### BEGIN SOLUTION
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        future = torch.triu(torch.ones(context_length, context_length), diagonal=1).bool()
        self.register_buffer("mask", future)  # True above the diagonal: hidden
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        B, T, _ = x.shape
        sizes = B, T, self.num_heads, self.head_dim
        queries = self.W_query(x).view(sizes).transpose(1, 2)  # (B, num_heads, T, head_dim)
        keys = self.W_key(x).view(sizes).transpose(1, 2)  # (B, num_heads, T, head_dim)
        values = self.W_value(x).view(sizes).transpose(1, 2)  # (B, num_heads, T, head_dim)
        scores = queries @ keys.transpose(2, 3) / self.head_dim**0.5  # (B, num_heads, T, T)
        weights = torch.softmax(scores.masked_fill(self.mask[:T, :T], -torch.inf), dim=-1)
        context = self.dropout(weights) @ values  # (B, num_heads, T, head_dim)
        context = context.transpose(1, 2).contiguous().view(B, T, -1)  # (B, T, d_out)
        return self.out_proj(context)  # (B, T, d_out)
        ### END SOLUTION

# %% name="check-5-5"
### BEGIN HIDDEN TESTS
assert check("5.5", MyMultiHeadAttention).status == "right"
### END HIDDEN TESTS
check("5.5", MyMultiHeadAttention)

# %% [markdown] tags=["solution"]
# **Why it works.** It is the four steps in a row, with a fresh `view` for any B and T and the mask cut to T. Dividing
# before masking is fine as well, since minus infinity stays minus infinity. The check uses sizes of which no two are
# equal: with as many heads as tokens, a forgotten transpose could hide.

# %% [markdown]
# ## At the size of GPT-2
#
# GPT-2 is a language model of 2019, built around this layer. In its smallest version every token has 768 numbers, there
# are 12 heads, and sequences have up to 1024 tokens. Pascal Burume's guide makes a layer of this size and sends two
# sequences of 100 random tokens through it.

# %% name="gpt2-small-layer"
torch.manual_seed(123)
layer = MultiHeadAttention(d_in=768, d_out=768, context_length=1024, dropout=0.1, num_heads=12)
output = layer(torch.rand(2, 100, 768))
print(output.shape)
print("head_dim:", layer.head_dim, "and for a width of 512 with 8 heads:", 512 // 8)

# %% [markdown]
# The shape is (B, T, d_out). Each of the 12 heads has 64 numbers. An article on BERT among our sources takes a
# width of 512 and 8 heads as its example, and gets 64 as well.
#
# How many numbers does this layer learn? The guide counts four matrices, 2,359,296 in total. Is that all?

# %% name="parameters"
for name, parameter in layer.named_parameters():
    print(f"{name:15} {parameter.numel():>9,}")
print(f"{'total':15} {count(layer):>9,}")

# %% [markdown]
# Four matrices of 768 × 768 = 589,824 each, as the guide says. But `out_proj` also has a bias, 768 numbers that are
# easy to forget. The total is 2,360,064. The mask is not in the list: a buffer is stored, not learned.

# %% [markdown]
# **Question 5.4.** The same layer, but with 24 heads of 32 numbers instead of 12 heads of 64. How much does it learn?
#
# * **a** Twice as many numbers.
# * **b** Half as many.
# * **c** As many as before.

# %% name="question-5-4"
answer("Q5.4", "c")

# %% [markdown]
# ### Exercise 5.6 · Count what the layer learns
# 1 point · ★☆☆ · 5 minutes
#
# Write the count as a formula, for a `MultiHeadAttention` of any size.

# %% name="exercise-5-6"
def my_count(d_in, d_out, num_heads, qkv_bias):
    """How many numbers MultiHeadAttention(d_in, d_out, ..., num_heads, qkv_bias) learns: an int."""
    ### BEGIN SOLUTION
    projections = 3 * (d_in * d_out + qkv_bias * d_out)  # True counts as 1
    return projections + d_out * d_out + d_out
    ### END SOLUTION

# %% name="check-5-6"
### BEGIN HIDDEN TESTS
assert check("5.6", my_count).status == "right"
### END HIDDEN TESTS
check("5.6", my_count)

# %% [markdown] tags=["solution"]
# **Why it works.** Queries, keys and values need a matrix of $d_\mathrm{out} \times d_\mathrm{in}$ each, with a bias
# only if it is asked for. `out_proj` goes from `d_out` to `d_out` and always has one. `num_heads` does not occur: heads
# share out the rows of matrices that are there anyway.

# %% [markdown]
# ### The four sizes, counted
#
# GPT-2 comes in four sizes. Each is a stack of equal **layers**, and each layer has an attention layer with biases, a
# small network of two linear layers (four times as wide in the middle), and two **LayerNorms**, which rescale each
# token with a learned scale and shift.
#
# Before the stack, two tables give each of 50,257 tokens and each of 1024 positions a vector. After it stands one more
# LayerNorm. The last step, from vectors back to tokens, uses the token table again and adds nothing.

# %% name="count-gpt2"
def count_gpt2(layers, width, vocabulary=50_257, positions=1024):
    """How many numbers a GPT-2 with this many layers and numbers per token learns."""
    attention = 4 * (width * width + width)  # queries, keys, values, out_proj
    network = (width * 4 * width + 4 * width) + (4 * width * width + width)
    layer_norm = 2 * width  # a scale and a shift for every number
    tables = (vocabulary + positions) * width
    return tables + layers * (attention + network + 2 * layer_norm) + layer_norm


print(f"{count_gpt2(layers=12, width=768):,}")

# %% [markdown]
# GPT-2 small learns 124,439,808 numbers. Is the formula right? Build its parts in the width of the next size, 1024.
# What one layer adds is the difference between two layers and one; what remains without layers are the tables.

# %% name="check-the-formula"
attention = MultiHeadAttention(1024, 1024, 1024, dropout=0.1, num_heads=16, qkv_bias=True)
network = nn.Sequential(nn.Linear(1024, 4 * 1024), nn.Linear(4 * 1024, 1024))
layer_norm = nn.LayerNorm(1024)
one_layer = count(attention) + count(network) + 2 * count(layer_norm)
print(f"{one_layer:,}", one_layer == count_gpt2(2, 1024) - count_gpt2(1, 1024))
tables = count(nn.Embedding(50_257, 1024)) + count(nn.Embedding(1024, 1024)) + count(layer_norm)
print(f"{tables:,}", tables == count_gpt2(0, 1024))

# %% [markdown]
# One layer of that width has 12,596,224 numbers, and the rest 52,513,792, built or calculated. Now all four sizes, with
# layers, width and heads from GPT-2's published configurations.

# %% name="gpt2-sizes"
configurations = {
    "small": (12, 768, 12), "medium": (24, 1024, 16),  # layers, width, heads
    "large": (36, 1280, 20), "XL": (48, 1600, 25),
}
for size, (layers, width, num_heads) in configurations.items():
    heads_of = f"{num_heads} heads of {width // num_heads}"
    print(f"{size}: {layers} layers, width {width}, {heads_of}, {count_gpt2(layers, width):,}")

# %% [markdown]
# From 124,439,808 to 1,557,611,200. Every head has 64 numbers, in all four sizes: a wider model has more heads, not
# wider ones.
#
# Burume's guide lists 117M, 345M, 762M and 1.5B. The first three stand in the GPT-2 paper, so he is in good company;
# OpenAI later noted in its repository that its original counts were wrong. 1.5B is OpenAI's name for XL, and its
# row has the right heads, 25 of 64.
#
# His table also gives medium 24 heads of "~43" and large 36 heads of "~36". Compare with the lines above: 24 and 36 are
# numbers of *layers*, an easy slip in a table where both stand side by side and agree for small. Could they be heads?

# %% name="layers-are-not-heads"
for width, num_heads in [(1024, 24), (1280, 36)]:
    try:
        MultiHeadAttention(width, width, 1024, dropout=0.1, num_heads=num_heads)
    except ValueError as error:
        print(error)

# %% [markdown]
# The class refuses both, because 24 does not divide 1024, nor 36 divide 1280. A head_dim of "~43" cannot be: a
# vector has a whole number of entries.
#
# One more line of that table: `qkv_bias=False`. GPT-2 does have biases for queries, keys and values. How much would the
# small one lack without them?

# %% name="without-biases"
biases = 12 * 3 * 768  # layers, three matrices, one bias for each of their outputs
print(f"{biases:,} of {count_gpt2(12, 768):,}, which leaves {count_gpt2(12, 768) - biases:,}")

# %% [markdown]
# 27,648 numbers, few among 124,439,808: 124,412,160 would be left. But whoever loads GPT-2's trained weights into a
# model without these biases has no place for them, and computes something else. So for GPT-2 it must be
# `qkv_bias=True`.

# %% [markdown]
# ### Exercise 5.7 · The attention of GPT-2 small
# 1 point · ★☆☆ · 5 minutes
#
# An exercise of Raschka's book: build the attention layer of GPT-2 small as GPT-2 has it, with its width, its heads and
# its context length, dropout 0.1, and biases for queries, keys and values. Your function gets the class.

# %% name="exercise-5-7"
def my_gpt2_attention(MultiHeadAttention):
    """One attention layer of GPT-2 small: (B, T, 768) to (B, T, 768), T up to 1024."""
    ### BEGIN SOLUTION
    return MultiHeadAttention(768, 768, 1024, dropout=0.1, num_heads=12, qkv_bias=True)
    ### END SOLUTION

# %% name="check-5-7"
### BEGIN HIDDEN TESTS
assert check("5.7", my_gpt2_attention).status == "right"
### END HIDDEN TESTS
check("5.7", my_gpt2_attention)

# %% [markdown] tags=["solution"]
# **Why it works.** Four matrices of 768 × 768 and four biases of 768 are 2,362,368 numbers, 3 × 768 more than Burume's
# layer. Neither the number of heads nor the context length changes that: heads only share out the width, and the mask
# is not learned.

# %% [markdown]
# ## Messages you will meet
#
# Burume's guide ends with five common errors, a good idea. One, the sequence that is too long, you met in chapter 4.
# Another, `view` after `transpose`, was step 4: a RuntimeError, as the guide says. Here are the other three. First: a
# width of 768 and 7 heads. What happens if nobody checks?

# %% name="seven-heads-unchecked"
try:
    torch.rand(2, 6, 768).view(2, 6, 7, 768 // 7)
except RuntimeError as error:
    print(type(error).__name__, error)

# %% [markdown]
# `768 // 7` is 109, and 7 times 109 is only 763. True, but the message speaks of sizes and not of heads. So the guide
# checks before, with an `assert`, and our class with a sentence.

# %% name="seven-heads-checked"
d_out, num_heads = 768, 7
try:
    message = f"d_out ({d_out}) must be divisible by num_heads ({num_heads})"
    assert d_out % num_heads == 0, message
except AssertionError as error:
    print(type(error).__name__, error)
try:
    MultiHeadAttention(d_in=768, d_out=768, context_length=1024, dropout=0.1, num_heads=7)
except ValueError as error:
    print(type(error).__name__, error)

# %% [markdown]
# Both name the two numbers that do not fit, 768 and 7. Next: forget `super().__init__()`. The guide expects a
# RuntimeError.

# %% name="forgotten-super"
class Forgetful(nn.Module):
    """A module that does not let nn.Module set itself up."""

    def __init__(self):
        self.W_query = nn.Linear(3, 2)


try:
    Forgetful()
except AttributeError as error:
    print(type(error).__name__, error)

# %% [markdown]
# It is an AttributeError, and its words are clear: call `Module.__init__()` first. Third: tokens of 512 numbers for a
# layer made for 768. A bare `nn.Linear` first, then the class.

# %% name="wrong-width"
tokens_of_512 = torch.rand(2, 100, 512)
try:
    nn.Linear(768, 768)(tokens_of_512)
except RuntimeError as error:
    print(type(error).__name__, error)
try:
    MultiHeadAttention(768, 768, 1024, dropout=0.1, num_heads=12)(tokens_of_512)
except ValueError as error:
    print(type(error).__name__, error)

# %% [markdown]
# "mat1 and mat2" are the two factors of a matrix product. Their inner sizes, 512 and 768, should be equal. The 200 is
# the batch laid flat, 2 × 100 tokens. The fourth error you have seen in step 4: `view` after `transpose`, a
# RuntimeError, as the guide says.

# %% [markdown]
# ## Moving to a GPU
#
# `.to(device)` moves a layer to the GPU if there is one. Its parameters move. Does the mask, which is not a parameter?

# %% name="to-device"
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
mha = mha.to(device)
output = mha(batch.to(device))
print("same device:", output.device == mha.mask.device == mha.W_query.weight.device)

# %% [markdown]
# It does, wherever you run this. That is what `register_buffer` is for. On a machine without a GPU this test is weak,
# though: everything was on the CPU anyway.
#
# Chapter 4 moved a plain attribute and a buffer to the device `meta`, which every machine has. Now the real layer.

# %% name="to-meta"
moved = MultiHeadAttention(3, 2, context_length=6, dropout=0.0, num_heads=2).to("meta")
print("mask:", moved.mask.device, "| weights:", moved.out_proj.weight.device)

# %% [markdown]
# Mask and weights have moved together. And if you move the layer and forget its input?

# %% name="forgotten-input"
try:
    moved(batch)
except ValueError as error:
    print(error)

# %% [markdown]
# The class says who is where, and what to do about it.

# %% [markdown]
# ### Your own class at work
#
# Once your class of exercise 5.5 passes, run the next cell again: it shows which output of *your* layer depends on which
# input. Shorten the sentence, empty the mask, and let dropout draw with other seeds. With two heads, does a dropped
# weight still cut a dependency?

# %% name="try-layer"
live.try_layer(
    lambda length, dropout: MyMultiHeadAttention(3, 4, length, dropout, num_heads=2), inputs, tokens
)

# %% [markdown]
# ## Your exercises
#
# `hint("5.5")` gives a hint, the next one each time. `solution("5.5")` shows a worked answer once you have tried. And
# here is how far you are:

# %% name="progress"
progress(5)

# %% [markdown]
# ## What to take with you
#
# * One **head** has one set of weights per token. Several heads have several; each reads the whole token and returns
#   `d_out / num_heads` numbers.
# * The **weight split** computes all heads with one product each for queries, keys and values. With the same weights it
#   gives what separate heads give; `out_proj` then mixes them.
# * Split is view, then transpose. Merge is transpose, contiguous, then view. The shape alone does not tell you whether
#   it was done right; a dependency matrix does.
# * GPT-2 has heads of 64 numbers in all four sizes. Layers and heads are counted apart.

# %% [markdown]
# ### Cheat sheet: multi-head attention on one page
#
# There are $n$ = num_heads heads. Head $h$ has queries $Q_h$, keys $K_h$ and values $V_h$ of its own, with
# $d_k$ = head_dim columns each. Scores of later tokens are set to $-\infty$ before softmax.
# ($W_\mathrm{out}$ is `out_proj.weight.T`, and $b_\mathrm{out}$ is `out_proj.bias`.)
#
# $$Z_h = \mathrm{softmax}\left(\frac{Q_h K_h^\top}{\sqrt{d_k}}\right) V_h, \qquad
# \mathrm{output} = \mathrm{concat}(Z_1, \dots, Z_n)\, W_\mathrm{out} + b_\mathrm{out}$$
#
# | step | code | shape |
# | --- | --- | --- |
# | input | `x` | (B, T, d_in) |
# | project | `W_query(x)`, `W_key(x)`, `W_value(x)` | (B, T, d_out) |
# | view | `.view(B, T, num_heads, head_dim)` | (B, T, num_heads, head_dim) |
# | transpose | `.transpose(1, 2)` | (B, num_heads, T, head_dim) |
# | scores | `queries @ keys.transpose(2, 3)` | (B, num_heads, T, T) |
# | hide the future | `.masked_fill(mask[:T, :T], -torch.inf)` | (B, num_heads, T, T) |
# | weights | `torch.softmax(scores / head_dim**0.5, dim=-1)` | (B, num_heads, T, T) |
# | drop some in training | `dropout(weights)` | (B, num_heads, T, T) |
# | mix | `weights @ values` | (B, num_heads, T, head_dim) |
# | transpose, merge | `.transpose(1, 2).contiguous().view(B, T, d_out)` | (B, T, d_out) |
# | mix the heads | `out_proj(context)` | (B, T, d_out) |
#
# | operation | what it does |
# | --- | --- |
# | `a @ b` | matrix product over the last two dimensions, repeated for all others |
# | `a.view(sizes)` | the same numbers in the same order, other sizes; dimensions that it joins must lie together in memory |
# | `a.transpose(i, j)` | two dimensions change places; no number moves in memory |
# | `a.contiguous()` | copies the numbers into the order of the dimensions, if they are not |
# | `a.masked_fill(mask, v)` | `v` wherever `mask` is True; a new tensor |
# | `register_buffer(name, a)` | a tensor that moves and is stored with the layer, not learned |
# | `nn.ModuleList(layers)` | a list whose layers are found, moved and trained |
#
# | mistake | how it shows |
# | --- | --- |
# | view straight to (B, num_heads, T, head_dim) | no error; outputs depend on later tokens |
# | merge without transpose | no error; the right numbers in the wrong places |
# | `view` after `transpose` without `contiguous` | RuntimeError, view size is not compatible |
# | dividing by √d_out | no error; weights flatter than they should be |
# | heads in a plain list | optimizer: empty parameter list; beside other layers no error, and they stay untrained |
# | more tokens than `context_length` | size of tensor a must match; our class says it in a sentence |
# | `d_out` not divisible by `num_heads` | refused, with both numbers |
# | layers taken for heads | GPT-2 medium would need 24 heads of 42⅔ numbers |
# | `super().__init__()` forgotten | AttributeError, before Module.__init__() call |
# | tokens of the wrong width | mat1 and mat2 shapes cannot be multiplied |
# | mask as a plain attribute | it stays on the CPU when the layer moves |
#
# **Next.** This was the last step on the way from a dot product to the attention of GPT-2. In
# [chapter 6](06_in_practice.ipynb) the layer goes to work: two sequences, padding, speed, and what can go wrong. All
# chapters: [the course's contents](../README.md#chapters).
