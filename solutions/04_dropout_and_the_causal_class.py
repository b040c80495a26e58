# ---
# jupyter:
#   course:
#     summary: dropout, its factor and its masks; a causal class for batches
#     title: Dropout and the causal class
# ---

# %% [markdown]
# # Chapter 4 · Dropout and the causal class
#
# **Goal.** By the end you can say what dropout does to attention weights, in training and afterwards, and you have one
# class that takes a batch of sentences, hides the future and drops weights: the layer that chapter 5 builds on.
#
# **Time.** About 115 minutes, exercises included. **You need** chapters 2 and 3: scaled scores and the
# mask of $-\infty$.
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
import numpy as np
import torch
from torch import nn

from course_utils import live, pictures
from course_utils.attention import SelfAttention_v2
from course_utils.checking import answer, check, hint, progress, solution
from course_utils.validation import check_dropout, check_input
from course_utils.influence import influences

# %% [markdown]
# ## The weights we start from
#
# The same six words, the same six vectors.

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
# Chapter 2's layer turns them into queries, keys and values. With seed 789 it starts from the same random matrices as
# there. (`torch.no_grad()` leaves out the bookkeeping for derivatives; we do not train here.)

# %% name="queries-keys-values"
torch.manual_seed(789)
layer = SelfAttention_v2(d_in=3, d_out=2)
with torch.no_grad():
    queries = layer.W_query(inputs)  # (T, d_out)
    keys = layer.W_key(inputs)  # (T, d_out)
    values = layer.W_value(inputs)  # (T, d_out)
print(queries.shape, keys.shape, values.shape)

# %% [markdown]
# Three matrices of six rows and two columns. Chapter 3 hides the future: the scores above the diagonal become
# $-\infty$, and softmax turns those into weights of exactly 0. Which row can you write down without computing anything?

# %% name="causal-weights"
scores = queries @ keys.T  # (T, d_out) @ (d_out, T) -> (T, T)
future = torch.triu(torch.ones(6, 6), diagonal=1).bool()  # (T, T), True above the diagonal
scores = scores.masked_fill(future, -torch.inf)
weights = torch.softmax(scores / keys.shape[-1]**0.5, dim=-1)  # (T, T), every row sums to 1
print(weights)

# %% [markdown]
# Row 1: "Your" has nobody before it, so it gives itself a weight of 1. Row 2 shares between "Your", 0.5517, and
# "journey", 0.4483. Only in row 6 does a query see all six keys. This matrix is what dropout is about to work on.

# %% [markdown]
# ## Why drop anything?
#
# A model with many parameters may learn its training text by heart and do worse on new text. That is **overfitting**.
# **Dropout** is a remedy that is often tried: at every training step, set randomly chosen numbers inside the model to
# zero, so that nothing can rely on one of them always being there.
#
# Does it help? That depends on model and data, and only training can tell. This chapter trains nothing. It shows what
# dropout does to a matrix of attention weights, which is easier to get wrong than it looks.

# %% [markdown]
# ## Dropout on a matrix of ones
#
# `torch.nn.Dropout` is one line. But what it draws depends on the PyTorch version and on the processor, even with the
# same seed; we come to that below. To show you the same numbers everywhere, we draw with a helper of this course.
#
# It draws one number between 0 and 1 for each entry and keeps the entry if its number lies below $1-p$. The **rate**
# $p$ is the share to drop. (A generator is a source of random numbers, and the seed says where it starts.)

# %% name="keep-mask-a"
def keep_mask_a(shape, p, seed):
    """True where dropout keeps an entry, as torch 2.7 and later draw it. p: the share to drop."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(shape, dtype=torch.float64, generator=generator) < 1 - p

# %% [markdown]
# (64-bit numbers, because that is how `nn.Dropout` draws. In 32 bits the same seed would give another mask.)
#
# Mind the meaning: here True says *keep*, while in `future` True says *hide*. Both kinds of mask are in use.
#
# Now drop half of 36 ones. Dropout also divides what is left by $1-p$, a step that we question further down. What will
# the matrix look like?

# %% name="dropout-ones"
p = 0.5  # the share to drop
mask_a = keep_mask_a((6, 6), p, seed=123)  # (6, 6), True: stays
print(torch.ones(6, 6) * mask_a / (1 - p))

# %% [markdown]
# Every entry is 0 or 2, because 1 divided by 0.5 is 2. It is the matrix on Chung-En Johnny Yu's course page.
#
# Row 2 keeps only two of its six entries, row 3 keeps five. And all rows together?

# %% [markdown]
# **Question 4.1.** Dropout with $p = 0.5$ strikes 36 entries. How many does it keep?
#
# * **a** Exactly 18.
# * **b** Always between 12 and 24.
# * **c** Any number may happen; 18 is the average.

# %% name="question-4-1"
answer("Q4.1", "c")

# %% [markdown]
# Did our mask keep exactly half?

# %% name="count-kept"
print(mask_a.sum(), "of", mask_a.numel())

# %% [markdown]
# No: 21 of 36 stay, not 18. Each entry has its own coin, so $p$ is the share that is dropped *on average*.

# %% [markdown]
# ## Dropout on attention weights
#
# Now the same 36 coins for the causal weights. In their matrix 15 of 36 entries are 0 already, since the future is
# hidden. Look at row 2 above before you run the cell: what will "journey" be left with?

# %% name="dropout-weights"
dropped = weights * mask_a / (1 - p)  # (T, T)
print(dropped)

# %% [markdown]
# Row 3 keeps all three of its weights, doubled: 0.7599 is twice 0.3800, up to rounding. Row 4 keeps two of four. And
# row 2 is all zeros: both weights that "journey" had were dropped. Yu's page prints this matrix, too, and passes over
# that row.
#
# Here is the step as two pictures, before and after. The first one shows the weights as softmax made them.

# %% name="before-picture" shows="Heat map of the causal attention weights, hatched above the diagonal. Row Your holds a single 1.00, row journey 0.55 and 0.45; the further down, the smaller the weights, between 0.15 and 0.19 in row step. Every row sums to 1.00."
pictures.show_weights(
    weights, tokens, masked=future, title="Attention weights before dropout",
)

# %% [markdown]
# The message: hatched cells are hidden for good, the others share 1 in every row.

# %% [markdown]
# **Question 4.2.** After dropout with $p = 0.5$ and the division, what does a single row sum to?
#
# * **a** To 1, as before.
# * **b** To some number from 0 to 2.
# * **c** To 1 or very nearly: half of it goes, and the rest is doubled.

# %% name="question-4-2"
answer("Q4.2", "b")

# %% [markdown]
# Now the same map after dropout. Look at the sums on the right-hand side.

# %% name="after-picture" shows="The same heat map after dropout. Of 21 cells that are not hatched, 9 are now 0.00 and 12 are doubled. Row Your holds 2.00, row journey only zeros. The rows sum to 2.00, 0.00, 2.00, 0.98, 0.77 and 1.31."
pictures.show_weights(
    dropped, tokens, masked=future, title="The same weights after dropout, p = 0.5",
)

# %% [markdown]
# The message: a dropped cell is a dark 0.00 and not hatched. It was open, and at the next training step it may be open
# again. The rows no longer sum to 1. (The colours end at 1, so 2.00 is as yellow as a weight of 1 would be.)

# %% [markdown]
# ## Why divide by 1 − p?
#
# Take one weight $\alpha$ and multiply it by some factor $f$ if it is kept. It is kept with probability $1-p$ and is 0
# otherwise, so on average it is
#
# $$(1-p) \cdot f \cdot \alpha$$
#
# This is $\alpha$ itself if $f = 1/(1-p)$. The average is what we want to keep: the rest of the model was built for
# weights of that size. At $p = 0.5$ the factor is 2, and so is $1/p$. Which of the two is it? Try 0.2.

# %% name="factors"
kept = keep_mask_a((100_000,), p=0.2, seed=123)  # one weight of 1, drawn 100,000 times
for name, factor in [("1", 1), ("1 / p", 1 / 0.2), ("1 / (1 - p)", 1 / (1 - 0.2))]:
    average = (kept * factor).double().mean().item()
    near = abs(average - 1) < 0.01
    print(f"factor {name:11}  average {average:.1f}  within 0.01 of 1: {near}")

# %% [markdown]
# Without a factor the average is 0.8, and with $1/p$ it is 4.0. Only $1/(1-p)$ leads back to 1.
#
# And the whole matrix, at our rate of 0.5? We draw 10,000 masks, average the 10,000 results and compare with `weights`,
# once with the factor and once without. The margin of 0.05 is ours: chance moves the average of the largest weight, 1,
# by about 0.01.

# %% name="average-matrix"
p = 0.5
many_masks = keep_mask_a((10_000, 6, 6), p, seed=123)
average = (weights * many_masks / (1 - p)).mean(dim=0)  # (10000, T, T) -> (T, T)
print("with the factor:   ", bool((average - weights).abs().max() < 0.05))
print("without the factor:", bool((average * (1 - p) - weights).abs().max() < 0.05))

# %% [markdown]
# With the factor, all 36 averages lie within 0.05 of the weights. Without it, at least one does not.

# %% [markdown]
# ### Exercise 4.1 · Dropout from a given generator
# 2 points · ★★☆ · 10 minutes
#
# Write dropout for a tensor of any shape. Each number has a coin of its own, and the coins come from the generator that
# is given. Do not seed it: each call goes on where the last one stopped. Two calls in a row must not drop the same
# numbers, and a generator that was put back to the same start must. Gradients have to get through.

# %% name="exercise-4-1"
def my_dropout(x, p, generator):
    """x with a share p of its numbers dropped and the others divided by 1 - p; shape as x."""
    ### BEGIN SOLUTION
    kept = torch.rand(x.shape, generator=generator) < 1 - p
    return x * kept / (1 - p)
    ### END SOLUTION

# %% name="check-4-1"
### BEGIN HIDDEN TESTS
assert check("4.1", my_dropout).status == "right"
### END HIDDEN TESTS
check("4.1", my_dropout)

# %% [markdown] tags=["solution"]
# **Why it works.** A number drawn evenly between 0 and 1 lies below $1-p$ with probability $1-p$. If the function made
# a new generator from a fixed seed, it would drop the same entries at every step, and the model would simply be without
# them.

# %% [markdown]
# ## Rows that vanish
#
# Row 2 of `dropped` is empty. What does "journey" get to read then, and what do the rows sum to?

# %% name="vanished-row"
print(dropped.sum(dim=-1))
print((dropped @ values)[1])  # (T, T) @ (T, d_out) -> (T, d_out), row 2 of it

# %% [markdown]
# The sums run from 0.0000 to 2.0000, and the context vector of "journey" is zero: for this one step it attends to
# nothing.
#
# Is this a fault? It would be easy to repair: divide each row by its sum, as chapter 3 does after hiding. An empty row
# has nothing to divide by; leave those out. What does that do to an uneven row, on average over many draws?

# %% name="renormalised"
uneven = torch.tensor([0.9, 0.05, 0.05])
draws = uneven * keep_mask_a((100_000, 3), p, seed=123) / (1 - p)  # (100000, 3)
print("as they are:       ", [round(number, 2) for number in draws.mean(dim=0).tolist()])
draws = draws[draws.sum(dim=-1) > 0]  # without the empty rows
forced = draws / draws.sum(dim=-1, keepdim=True)
print("forced to sum to 1:", [round(number, 1) for number in forced.mean(dim=0).tolist()])

# %% [markdown]
# Left as they are, the weights are right on average, 0.9 and twice 0.05. Forced to sum to 1, the large weight falls to
# 0.5 and the small ones rise to 0.2: whenever the large one is dropped, a small one becomes everything. So the sums of
# 2 and of 0 are right. It is their average that must be 1.
#
# How often does a row vanish? Row $t$ has $t$ open weights, and each is dropped with probability $p$, so the answer
# should be $p^t$. Count in our 10,000 draws.

# %% name="how-often"
many_dropped = weights * many_masks / (1 - p)  # (10000, T, T)
vanished = (many_dropped == 0).all(dim=-1)  # (10000, T), True: attends to nothing
print(vanished.double().mean(dim=0))
print(0.5 ** torch.arange(1, 7), "expected")

# %% [markdown]
# "Your" is left with nothing in 0.4975 of all draws, "journey" in 0.2546, "step" in 0.0147. Early tokens suffer most,
# since they have the fewest keys. At a rate of 0.1, which Yu's page names beside 0.2 for training, the first row would
# still vanish one time in ten, the second one time in a hundred.

# %% [markdown]
# ### Exercise 4.2 · Which tokens attend to nothing?
# 1 point · ★☆☆ · 5 minutes
#
# Write a function that names the rows that vanished, so that they need not surprise you. It must work for one matrix of
# weights, for a batch of them, and for a batch with several matrices each.

# %% name="exercise-4-2"
def my_vanished(dropped):
    """True for each query that attends to nothing: (..., T) from weights after dropout (..., T, T)."""
    ### BEGIN SOLUTION
    return (dropped == 0).all(dim=-1)  # (..., T, T) -> (..., T)
    ### END SOLUTION

# %% name="check-4-2"
### BEGIN HIDDEN TESTS
assert check("4.2", my_vanished).status == "right"
### END HIDDEN TESTS
check("4.2", my_vanished)

# %% [markdown] tags=["solution"]
# **Why it works.** A row belongs to one query, and `dim=-1` runs along it. With `dim=-2` the function would look at
# columns and name the keys that nobody attends to. Comparing the row's sum with 0 works as well here, because weights
# are never negative.

# %% [markdown]
# ## What if we drop scores instead?
#
# Dropout could also strike one step earlier, before softmax. Softmax would then make every row sum to 1, and no row
# could vanish. Would that not be nicer? First on the scores with their $-\infty$.

# %% name="drop-masked-scores"
print("nan anywhere:", bool((scores * mask_a / (1 - p)).isnan().any()))

# %% [markdown]
# It is already broken, because $0 \cdot (-\infty)$ is not a number. So drop first and hide afterwards. Remember that
# our mask drops both weights of "journey".

# %% [markdown]
# **Question 4.3.** Both scores of "journey" are dropped, so they are 0. Which weights does softmax make of them?
#
# * **a** 0.5 and 0.5.
# * **b** 0 and 0.
# * **c** `nan` and `nan`.

# %% name="question-4-3"
answer("Q4.3", "a")

# %% [markdown]
# Let us see row 2.

# %% name="drop-scores"
dropped_scores = queries @ keys.T * mask_a / (1 - p)
dropped_scores = dropped_scores.masked_fill(future, -torch.inf)
print(torch.softmax(dropped_scores / keys.shape[-1]**0.5, dim=-1)[1])

# %% [markdown]
# 0.5000 and 0.5000: both scores were dropped, and "journey" still attends to both. A score of 0 is not a weight of 0:
# softmax takes its exponential, which is 1. Dropout belongs after softmax.

# %% [markdown]
# ### Exercise 4.3 · Where dropout stands
# 2 points · ★★☆ · 10 minutes
#
# Put everything in order: from queries, keys and values to the context vectors of causal attention, with dropout. The
# coins are tossed already: `kept` is `True` where a weight stays. It should take one sequence or a batch of them.

# %% name="exercise-4-3"
def my_dropped_attention(queries, keys, values, kept, p):
    """Context vectors (..., T, d_v) of causal attention with dropout.

    queries, keys: (..., T, d_k). values: (..., T, d_v). kept: (..., T, T), True: the weight stays.
    """
    ### BEGIN SOLUTION
    T, d_k = keys.shape[-2:]
    scores = queries @ keys.transpose(-2, -1) / d_k**0.5  # (..., T, T)
    future = torch.triu(torch.ones(T, T), diagonal=1).bool()  # (T, T)
    weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)  # (..., T, T)
    weights = weights * kept / (1 - p)
    return weights @ values  # (..., T, T) @ (..., T, d_v) -> (..., T, d_v)
    ### END SOLUTION

# %% name="check-4-3"
### BEGIN HIDDEN TESTS
assert check("4.3", my_dropped_attention).status == "right"
### END HIDDEN TESTS
check("4.3", my_dropped_attention)

# %% [markdown] tags=["solution"]
# **Why it works.** Softmax turns the hidden scores into 0 and shares out 1 among the others. Only then do coins fall,
# so that a dropped weight is 0 and stays 0. The rows keep whatever sum is left to them, and the factor $1/(1-p)$ makes
# up for it on average.

# %% [markdown]
# ## In training, and afterwards
#
# Dropout is for training. A finished model should answer the same question in the same way. How does the layer know?
# Every module of PyTorch carries a switch called `training`. It is on at first; `.eval()` turns it off and `.train()`
# on again.

# %% name="train-and-eval"
torch.manual_seed(123)
dropout = nn.Dropout(0.5)
print("training:", dropout.training, "| two calls agree:",
      torch.equal(dropout(weights), dropout(weights)))
dropout.eval()
print("training:", dropout.training, "| changes nothing:",
      torch.equal(dropout(weights), weights))

# %% [markdown]
# In training the two calls differ, because each draws anew. After `.eval()` the weights pass through untouched, without
# any factor. This is why the factor is applied in training: the average is right there already, and nothing has to be
# corrected later.

# %% [markdown]
# ### Exercise 4.4 · Dropout as a layer
# 2 points · ★★☆ · 10 minutes
#
# Write such a layer yourself; try it without `nn.Dropout`. In training it drops, with new coins in each call. After
# `.eval()` it returns `x` as it is. `self.training` is the switch that every `nn.Module` has.

# %% name="exercise-4-4"
class MyDropout(nn.Module):
    """In training: a share p of x becomes 0, the rest is divided by 1 - p. In evaluation: x itself."""

    def __init__(self, p):
        super().__init__()
        ### BEGIN SOLUTION
        self.p = p
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        if not self.training:
            return x
        kept = torch.rand(x.shape, device=x.device) < 1 - self.p
        return x * kept / (1 - self.p)
        ### END SOLUTION

# %% name="check-4-4"
### BEGIN HIDDEN TESTS
assert check("4.4", MyDropout).status == "right"
### END HIDDEN TESTS
check("4.4", MyDropout)

# %% [markdown] tags=["solution"]
# **Why it works.** `.train()` and `.eval()` only set `self.training`; it is `forward` that has to look at it. `p` is
# kept in the constructor, since `forward` gets nothing but `x`. The coins are tossed where `x` lives, so that the layer
# also works on a GPU.

# %% [markdown]
# ## One seed, two masks
#
# Two of the texts behind this course, Yu's page and a condensed notebook, drop at a rate of 0.5 after
# `torch.manual_seed(123)`. The condensed notebook starts from other weights: the raw scores of chapter 1, hidden and
# divided by $\sqrt{2}$, which chapter 3 met. If the seed alone decided, our mask would give its result.

# %% name="raw-weights"
raw_scores = (inputs @ inputs.T).masked_fill(future, -torch.inf)  # (T, T)
raw_weights = torch.softmax(raw_scores / 2**0.5, dim=-1)  # (T, T)
print(raw_weights * mask_a / (1 - p))

# %% [markdown]
# The condensed notebook prints 1.1888 in row 2, where we have only zeros. Where we have 0.5132 in row 3, it prints 0.
# Same seed, same rate, another mask. Neither text is wrong. So what differs?
#
# The seed fixes where a generator starts, not how its numbers become coins. PyTorch's generator on the CPU is called
# MT19937, and NumPy has the same one. Is its first number the same? `torch.rand` makes its numbers from the lowest 24
# bits, so we can compare those.

# %% name="first-number"
first = int(np.random.RandomState(123).randint(2**32, dtype=np.uint32))
print(first)
torch.manual_seed(123)
print(f"{first % 2**24 / 2**24:.4f}", torch.rand(1))

# %% [markdown]
# The generator begins with 2991312382, and PyTorch makes 0.2961 of it. So NumPy can stand in for it. (A 64-bit number
# uses two such draws, so the first coin of mask A is another number.)
#
# PyTorch 2.7 and later draw every coin from this generator, as `keep_mask_a` does, on every CPU that we tried. PyTorch
# 2.6 and earlier, on Intel CPUs, took only the *first* number from it and handed it to a second generator, from Intel's
# library MKL. That one, MCG31m1, starts at $x_1$, the first number mod $2^{31} - 1$ (or 1, if that is 0: a start of 0
# would stay 0 for ever). Then it multiplies and takes the remainder:
#
# $$x_{n+1} = 1132489760 \cdot x_n \bmod (2^{31} - 1), \qquad u_n = \frac{x_n}{2^{31} - 1}$$
#
# An entry is kept if its $u_n$ lies below $1-p$. This can be computed on any machine. Below, `numel()` is the number of
# entries.

# %% name="keep-mask-b"
MODULUS = 2**31 - 1  # of the generator MCG31m1 in Intel's MKL
MULTIPLIER = 1132489760


def keep_mask_b(shape, p, seed):
    """The same as torch 2.6 and earlier drew it on Intel CPUs."""
    mt19937 = np.random.RandomState(seed)  # torch seeds its generator in the same way
    first = int(mt19937.randint(2**32, dtype=np.uint32))
    x = first % MODULUS or 1
    kept = []
    for _ in range(torch.Size(shape).numel()):
        kept.append(x / MODULUS < 1 - p)
        x = MULTIPLIER * x % MODULUS
    return torch.tensor(kept).view(shape)

# %% [markdown]
# Both masks, side by side: columns 1 to 6 are mask A, columns 7 to 12 mask B. How many of the 36 entries will agree?

# %% name="two-masks"
mask_b = keep_mask_b((6, 6), p, seed=123)
print(torch.cat((mask_a, mask_b), dim=1).int())
print("agree:", int((mask_a == mask_b).sum()), "of", mask_a.numel())

# %% [markdown]
# 18 of 36 agree, as many as one expects of two people who toss coins without looking at each other. Mask B keeps all of
# row 1; mask A drops two entries there. Does mask B give what the condensed notebook prints?

# %% name="dropout-raw-weights"
print(raw_weights * mask_b / (1 - p))

# %% [markdown]
# It does, entry by entry: 1.1888 in row 2, 0.7386 in row 3, and 0.4065 in row 6. Newer PyTorch draws mask A, older
# PyTorch on an Intel CPU drew mask B: the two texts were run on different installations. Yu's page rightly warns that
# dropout may look different elsewhere, and names the operating system. The version of PyTorch and the make of the
# processor matter, too.
#
# Which of them does `nn.Dropout` draw on your machine?

# %% name="this-machine"
torch.manual_seed(123)
drawn = nn.Dropout(0.5)(torch.ones(6, 6)) != 0
print("mask A or mask B:", any(torch.equal(drawn, mask) for mask in [mask_a, mask_b]))

# %% [markdown]
# One of the two. With PyTorch 2.7 or later it should be mask A; `torch.equal(drawn, mask_a)` tells. An NVIDIA GPU has a
# generator of its own, and draws a third mask. So whatever a reader should see again is best drawn on the CPU.
#
# Here are rate, seed, both masks and the switch between training and evaluation in one figure, on the causal weights.
# Which of the six row sums can never be anything but 0 or 2 at a rate of 0.5?

# %% name="dropout-live"
live.show_dropout(weights, tokens, masked=future)

# %% [markdown]
# The message: every draw gives other row sums, and only their average over many draws is 1. The first row holds a single
# weight, so at a rate of 0.5 it is either doubled or gone.
#
# Three things to try. Step through the seeds and watch how often "Your" attends to nothing. Switch between mask A and
# mask B with seed 123. And choose eval: whatever rate and seed say, the weights stay as they are.

# %% [markdown]
# ## Batches
#
# Chapter 3 worked on random sequences in a batch, $(B, T, C)$; we write $d_\mathrm{in}$ for $C$ again. Our batch holds
# the same sentence twice.

# %% name="batch"
batch = torch.stack((inputs, inputs), dim=0)  # (B, T, d_in)
print(batch.shape)

# %% [markdown]
# $B = 2$ sentences of $T = 6$ tokens with 3 numbers each. What must change in our lines? A linear layer works on the
# last dimension, so queries and keys simply gain the 2 in front. And as in chapter 3, `transpose(-2, -1)` takes the
# place of `.T`.

# %% name="batch-scores"
batch_queries, batch_keys = layer.W_query(batch), layer.W_key(batch)  # (B, T, d_out) each
batch_scores = batch_queries @ batch_keys.transpose(-2, -1)
print(batch_scores.shape)  # (B, T, d_out) @ (B, d_out, T) -> (B, T, T)

# %% [markdown]
# One $6 \times 6$ matrix of scores per sentence. `@` multiplied the first sentence's queries with the first sentence's
# keys, the second's with the second's.

# %% [markdown]
# ## Where does the mask live?
#
# A class needs to keep its causal mask somewhere. The mask is not learned, so it is no parameter. An ordinary
# attribute, `self.mask = ...`, seems to do. PyTorch also offers a **buffer**: a tensor that belongs to the module but
# is not trained. What is the difference? A small module holds one of each.

# %% name="three-tensors"
class ThreeTensors(nn.Module):
    """A plain attribute, a buffer and a parameter, each of shape (2, 2)."""

    def __init__(self):
        super().__init__()
        self.plain = torch.ones(2, 2)
        self.register_buffer("buffer", torch.ones(2, 2))
        self.parameter = nn.Parameter(torch.ones(2, 2))

# %% [markdown]
# Three things to find out. Which of them are trained? Which are saved with the model, in its `state_dict()`? And which
# follow when the model is changed with `.to(...)`, here to 64-bit numbers?

# %% [markdown]
# **Question 4.4.** What will the buffer do?
#
# * **a** It stays as it is when the module is changed with `.to(...)`.
# * **b** It is trained with the parameters.
# * **c** It follows the module and is not trained.

# %% name="question-4-4"
answer("Q4.4", "c")

# %% [markdown]
# Ask the module.

# %% name="ask-three-tensors"
module = ThreeTensors().to(torch.float64)
print("parameters():", [name for name, _ in module.named_parameters()])
print("state_dict():", sorted(module.state_dict()))
print(".to(float64):", module.plain.dtype, module.buffer.dtype, module.parameter.dtype)

# %% [markdown]
# Only the parameter is trained. Parameter and buffer are saved, and both became `float64`. The plain attribute is in
# neither list and is still `float32`: `.to()` does not know about it.
#
# The same happens on the way to a GPU, and there it hurts. Without one we can still try: PyTorch's `meta` device stands
# for "somewhere else" on every machine. It computes shapes and no numbers.

# %% name="somewhere-else"
module = ThreeTensors().to("meta")
print("plain moved:", module.plain.is_meta, "| buffer moved:", module.buffer.is_meta)
try:
    module.parameter.masked_fill(module.plain.bool(), -torch.inf)
except RuntimeError as error:
    print(type(error).__name__)
print(module.parameter.masked_fill(module.buffer.bool(), -torch.inf).shape)

# %% [markdown]
# The plain mask stayed behind, and PyTorch refuses to combine tensors from two devices. The buffer went along and
# works. So the mask becomes a buffer.

# %% [markdown]
# ## The causal class
#
# Now everything in one class: three linear layers, the mask as a buffer, the scale, softmax, and dropout after it.
# Before you read on, look for the line that cuts the mask. What for?
#
# (The two functions whose names begin with `check_` come from the course's helpers. They only refuse impossible input
# with a readable message.)

# %% name="causal-attention"
class CausalAttention(nn.Module):
    """Self-attention in which no token sees its future: (B, T, d_in) to (B, T, d_out).

    T may be up to context_length. dropout: the share of weights dropped in training, below 1.
    """

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        check_dropout(dropout)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        future = torch.triu(torch.ones(context_length, context_length), diagonal=1).bool()
        self.register_buffer("mask", future)  # True above the diagonal: hidden

    def forward(self, x):
        check_input(x, self.W_query.in_features, self.W_query.weight, longest=len(self.mask))
        num_tokens = x.shape[-2]
        queries = self.W_query(x)  # (B, T, d_out)
        keys = self.W_key(x)  # (B, T, d_out)
        values = self.W_value(x)  # (B, T, d_out)

        scores = queries @ keys.transpose(-2, -1)  # (B, T, d_out) @ (B, d_out, T) -> (B, T, T)
        scores = scores.masked_fill(self.mask[:num_tokens, :num_tokens], -torch.inf)
        d_k = keys.shape[-1]
        weights = torch.softmax(scores / d_k**0.5, dim=-1)  # (B, T, T), every row sums to 1
        weights = self.dropout(weights)
        return weights @ values  # (B, T, T) @ (B, T, d_out) -> (B, T, d_out)

# %% [markdown]
# The mask is made once, for `context_length` tokens, and cut to the sentence at hand, `[:num_tokens, :num_tokens]`. Run
# the class on the batch, without dropout for now. What should row 1 be, given that "Your" sees only itself?

# %% name="causal-batch"
torch.manual_seed(123)
causal = CausalAttention(d_in=3, d_out=2, context_length=6, dropout=0.0)
context = causal(batch).detach()  # without the bookkeeping for derivatives
print(context)
print(context.shape)

# %% [markdown]
# This is what both texts print, to the last digit: the shape $(2, 6, 2)$, and $-0.4519$ and 0.2216 in row 1. The same
# sentence twice gives the same matrix twice. And row 1 should be the value of "Your" itself:

# %% name="first-value"
print(causal.W_value(inputs[0]).detach())

# %% [markdown]
# The same two numbers, $-0.4519$ and 0.2216: a mix of one.
#
# And what does the class hold?

# %% name="what-causal-holds"
print(sorted(causal.state_dict()))
print(sum(parameter.numel() for parameter in causal.parameters()), "numbers to learn")

# %% [markdown]
# Three matrices of $2 \times 3$, 18 numbers to learn. The mask is saved with them and is not among the 18.
#
# Do the two sentences of a batch really keep to themselves? Put another one beside ours, the six words backwards. Our
# sentence should not notice. And does the order of words make a difference? In chapter 1 it made none.

# %% name="other-neighbour"
mixed = torch.stack((inputs, inputs.flip(0)))  # (B, T, d_in)
print("our sentence is unchanged:", torch.allclose(causal(mixed)[0], context[0], atol=1e-6))
turned_back = causal(mixed)[1].flip(0)  # "Your" first again
print("order makes no difference:", torch.allclose(turned_back, context[0], atol=1e-6))

# %% [markdown]
# Our sentence is unchanged. The one beside it has the same six words and gets other context vectors: now the order
# counts, because each word sees only those before it.

# %% [markdown]
# ### A shorter sentence
#
# `context_length` is a limit, not a demand. Give the class the first four words, as a single sentence without a batch
# dimension. How will the four rows compare with those of the full sentence?

# %% name="shorter"
print(causal(inputs[:4]).detach())

# %% [markdown]
# They are the first four rows from above, down to $-0.5675$ and $-0.0843$. Words that come later change nothing for
# those before them. That is what causal means.

# %% [markdown]
# ### A sentence that is too long
#
# And with *more* tokens than `context_length`? Pascal Burume's guide warns of this case, rightly, and says that an
# `IndexError` comes. His example: 1024 tokens, a mask for 512. Let us run the lines without our guard.

# %% name="too-long-unguarded"
x = torch.rand(2, 1024, 768)  # (B, T, d_in)
mask = torch.triu(torch.ones(512, 512), diagonal=1).bool()
print(mask[:1024, :1024].shape)
try:
    (x @ x.transpose(-2, -1)).masked_fill_(mask[:1024, :1024], -torch.inf)
except (IndexError, RuntimeError) as error:
    print(f"{type(error).__name__}: {error}")

# %% [markdown]
# It is a `RuntimeError`. A slice that reaches beyond the end is no error in Python: the cut mask still has 512 rows and
# columns, as the first line of output shows. The clash comes one step later, when scores of 1024 meet a mask of 512.
#
# The message is true but speaks of "tensor a" and "tensor b". What does our class say?

# %% name="too-long-guarded"
small = CausalAttention(d_in=768, d_out=64, context_length=512, dropout=0.0)
try:
    small(x)
except ValueError as error:
    print(f"{type(error).__name__}: {error}")

# %% [markdown]
# 1024 tokens, a limit of 512, and two ways out.

# %% [markdown]
# ## Does the class leak?
#
# Chapter 3 asks which output depends on which input: its function `influences` takes the derivative of every output by
# every input, and where that is not zero, there is a dependency. We ask our class in the same way.
#
# For comparison we also ask `layer`, the one from chapter 2 that hides nothing. How many of 36 dependencies do you
# expect from each?

# %% name="count-dependencies"
depends = influences(causal, inputs) > 0  # (T, T)
print("without a mask:", int((influences(layer, inputs) > 0).sum()), "of 36")
print("causal:        ", int(depends.sum()), "of 36")
print("exactly the lower triangle:", torch.equal(depends, ~future))

# %% [markdown]
# 36 without a mask, 21 with it, and these 21 are exactly the lower triangle.

# %% name="dependencies-picture" shows="Dependency matrix of the causal class, six by six. The 21 cells on and below the diagonal say yes, the 15 cells above it hold a dot, which means no dependency."
pictures.show_dependencies(
    depends, tokens, title="Which output depends on which input",
)

# %% [markdown]
# The message: no output depends on a later input; each depends on its own and on all earlier ones. The
# derivatives above the diagonal are exactly zero, not merely small, because the hidden weights are exactly 0. We
# measured one sentence with one set of parameters, but softmax makes that 0 of $-\infty$ for any other, too.

# %% [markdown]
# ## Dropout inside the class
#
# At last, turn dropout on. With the same seed the class gets the same three matrices as `causal`. Four questions: do
# two calls in training agree? Do the two equal sentences of a batch? Two calls in eval? And does eval give what the
# layer without dropout gives?

# %% name="class-train-eval"
torch.manual_seed(123)
noisy = CausalAttention(d_in=3, d_out=2, context_length=6, dropout=0.5)
once, again = noisy(batch), noisy(batch)
print("training, two calls agree:    ", torch.equal(once, again))
print("training, two sentences agree:", torch.equal(once[0], once[1]))
noisy.eval()
print("eval, two calls agree:        ", torch.equal(noisy(batch), noisy(batch)))
print("eval, as without dropout:     ", torch.allclose(noisy(batch), causal(batch), atol=1e-6))

# %% [markdown]
# In training every call drops other weights, and every sentence of a batch has a mask of its own. After `.eval()` the
# class repeats itself and agrees with `causal`. One call of `.eval()` reached the dropout inside, because `nn.Module`
# passes the switch on to its parts.
#
# A common slip: does `torch.no_grad()` turn dropout off, too?

# %% name="no-grad-is-not-eval"
noisy.train()
with torch.no_grad():
    print("two calls agree:", torch.equal(noisy(batch), noisy(batch)))

# %% [markdown]
# No. `no_grad` stops the bookkeeping for derivatives, `eval` stops the dropping. To use a finished model, you want
# both.

# %% [markdown]
# ### Exercise 4.5 · One matrix instead of three
# 4 points · ★★★ · 20 minutes
#
# Many models compute queries, keys and values with a single linear layer, three times as wide, and cut the result into
# three. Write such a causal class: the layer is called `W_qkv` and has no bias, dropout works on the weights, and the
# mask is where this chapter put it. T may be smaller than `context_length`, and one sequence without a batch must do.

# %% name="exercise-4-5"
class MyCausalAttention(nn.Module):
    """Causal attention from one linear layer W_qkv: (B, T, d_in) to (B, T, d_out), or without B.

    W_qkv.weight, (3 * d_out, d_in), has the query's rows first, then the key's, then the value's.
    """

    def __init__(self, d_in, d_out, context_length, dropout):
        super().__init__()
        ### BEGIN SOLUTION
        self.W_qkv = nn.Linear(d_in, 3 * d_out, bias=False)
        self.dropout = nn.Dropout(dropout)
        future = torch.triu(torch.ones(context_length, context_length), diagonal=1).bool()
        self.register_buffer("mask", future)  # True above the diagonal: hidden
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        T = x.shape[-2]
        queries, keys, values = self.W_qkv(x).chunk(3, dim=-1)  # (B, T, d_out) each
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1]**0.5  # (B, T, T)
        scores = scores.masked_fill(self.mask[:T, :T], -torch.inf)
        weights = self.dropout(torch.softmax(scores, dim=-1))  # (B, T, T)
        return weights @ values  # (B, T, d_out)
        ### END SOLUTION

# %% name="check-4-5"
### BEGIN HIDDEN TESTS
assert check("4.5", MyCausalAttention).status == "right"
### END HIDDEN TESTS
check("4.5", MyCausalAttention)

# %% [markdown] tags=["solution"]
# **Why it works.** A linear layer computes each of its outputs on its own, so three layers of `d_out` outputs are one
# layer of `3 * d_out`, and `chunk` cuts them apart again. The scale is the root of `keys.shape[-1]`, after the cut;
# before it, the width would be three times as large.

# %% [markdown]
# ### Your own class at work
#
# Once your class passes, run the next cell again: it shows which output of *your* layer depends on which input. Shorten
# the sentence, empty the mask, let dropout draw with other seeds. Which cells does dropout empty, and which never?

# %% name="try-layer"
live.try_layer(lambda length, dropout: MyCausalAttention(3, 2, length, dropout), inputs, tokens)

# %% [markdown]
# ## Your exercises
#
# `hint("4.1")` gives a hint, the next one each time. `solution("4.1")` shows a worked answer once you have tried. And
# here is how far you are:

# %% name="progress"
progress(4)

# %% [markdown]
# ## What to take with you
#
# | where | in training | after `.eval()` |
# | --- | --- | --- |
# | a weight $\alpha_{ij}$ | 0 with probability $p$, else $\alpha_{ij}/(1-p)$ | $\alpha_{ij}$ |
# | the sum of a row | anything from 0 to $1/(1-p)$, on average 1 | 1 |
# | two calls | each draws its own mask | agree |
#
# * Dropout comes **after** softmax. A row may vanish; do not renormalise it.
# * A seed fixes a mask only together with the PyTorch version, the processor and the device.
# * A tensor that belongs to a module but is not learned is a **buffer**: saved, moved, not trained.
# * `CausalAttention` takes $(B, T, d_\mathrm{in})$ with $T$ up to `context_length`, and no token sees its future.
#
# **Next.** This class has one view of the sentence: one set of weights per query. [Chapter
# 5](05_multi_head_attention.ipynb) runs several side by side. All chapters: [the course's
# contents](../README.md#chapters).
