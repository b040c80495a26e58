# ---
# jupyter:
#   course:
#     summary: a causal class for batches; dropout and what survives it
# ---

# %% [markdown]
# # Chapter 4 · Dropout and the causal class
#
# **After this chapter you can**
#
# * write causal attention for batches as one class, and say where its mask must be stored;
# * say what dropout does to attention weights, in training and afterwards, and when it helps;
# * build heads whose answers survive dropout.
#
# **Time.** About 85 minutes, exercises included. **You need** chapters 2 and 3: scaled scores, the causal mask and
# `nn.Module`.
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
import torch.nn.functional as F
from torch import nn

from course_utils import live
from course_utils.attention import SelfAttention_v2
from course_utils.checking import answer, check, hint, progress, quiz, review, solution
from course_utils.layer_drawing import show_layer
from course_utils.validation import check_dropout, check_input
from course_utils.influence import influences

# %% [markdown]
# ## From memory
#
# Write a word or a number in place of each question mark, without looking back.
#
# **From memory 4.1.** For which score does softmax give a weight of exactly 0?

# %% name="memory-4-1"
answer("M4.1", "-inf")

# %% [markdown]
# **From memory 4.2.** All queries of a causal head are zero. What weight does its fourth token give to the first?

# %% name="memory-4-2"
answer("M4.2", "1/4")

# %% [markdown]
# **From memory 4.3.** A head looks for an earlier copy of a letter and finds none. What do its weights sum to?

# %% name="memory-4-3"
answer("M4.3", "1")

# %% name="review"
review()

# %% [markdown]
# ## The causal class
#
# You have all the parts of causal attention: three matrices, scores, a mask, softmax and a weighted sum. A model
# needs them as one layer that reads many sentences at once, can be saved, and can be moved to a GPU. A new step looks
# strange: in training, **dropout** drops weights at random. When does that help or hurt?
#
# You know most lines of the class below from chapters 2 and 3. The new ones make the mask once, for `context_length`
# tokens, and use its upper left corner for a shorter sentence. `check_dropout` refuses impossible rates; for now, ours
# is 0.

# %% name="causal-attention"
class CausalAttention(nn.Module):
    """Self-attention in which no token sees its future: (B, T, d_in) to (B, T, d_out).

    T may be up to context_length. dropout: the chance of dropping a weight in training, below 1.
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
# Our batch holds the same six words twice. "Your" comes first, so it sees only itself. What must its context vector be?

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

# %% name="causal-batch"
batch = torch.stack((inputs, inputs), dim=0)  # (B, T, d_in)
print(batch.shape)
torch.manual_seed(123)
causal = CausalAttention(d_in=3, d_out=2, context_length=6, dropout=0.0)
context = causal(batch).detach()  # without the bookkeeping for derivatives
print(context)
print(context.shape)

# %% [markdown]
# Row 1 is −0.4519 and 0.2216. This should be the value of "Your". What could still be wrong? The class might mix the
# sentences, fail on shorter ones, or leak. We test each, then swap the first two words: will row 3 change?

# %% name="neighbours"
print("row 1 is the value of Your:", torch.allclose(causal.W_value(inputs[0]), context[0, 0]))
mixed = torch.stack((inputs, inputs.flip(0)))  # (B, T, d_in): the second is reversed
print("our sentence is unchanged:", torch.allclose(causal(mixed)[0], context[0], atol=1e-6))
print("same rows for four words:", torch.allclose(causal(inputs[:4]), context[0, :4], atol=1e-6))
depends = influences(causal, inputs) > 1e-6  # (T, T), as in chapter 3
print("nothing leaks:", torch.equal(depends, torch.ones(6, 6).tril().bool()))
swapped = causal(inputs[[1, 0, 2]])  # "journey Your starts"
print("a swap keeps row 3:", torch.allclose(swapped[2], context[0, 2], atol=1e-6))

# %% [markdown]
# The mask decides by position which words a word sees; among those, order still plays no part.
#
# ## Where does the mask live?
#
# The mask is not learned, so it is not a parameter. So why not make it an ordinary attribute, `self.mask = ...`? Our
# class makes it a **buffer**, with `register_buffer`. We compare all three in a small module. `.to(...)` moves a module
# to a GPU or converts it to another number type, and `state_dict()` returns what is saved.

# %% [markdown]
# **Question 4.1.** A module is converted with `.to(torch.float64)` and then trained. What happens to a `float32`
# buffer?
#
# * **a** `.to(torch.float64)` leaves it as it is.
# * **b** It is trained with the parameters.
# * **c** `.to(torch.float64)` converts it, and training leaves it as it is.

# %% name="question-4-1"
answer("Q4.1", "c")

# %% name="three-tensors" tags=["answers-Q4.1"]
class ThreeTensors(nn.Module):
    """A plain attribute, a buffer and a parameter, each of shape (2, 2)."""

    def __init__(self):
        super().__init__()
        self.plain = torch.ones(2, 2)
        self.register_buffer("buffer", torch.ones(2, 2))
        self.parameter = nn.Parameter(torch.ones(2, 2))


module = ThreeTensors().to(torch.float64)
print("parameters():", [name for name, _ in module.named_parameters()])
print("state_dict():", sorted(module.state_dict()))
print(".to(float64):", module.plain.dtype, module.buffer.dtype, module.parameter.dtype)
print("our mask:    ", CausalAttention(3, 2, 6, 0.0).to(torch.float64).mask.dtype)

# %% [markdown]
# Only the parameter is listed for training. The parameter and the buffer are saved, and both became `float64`. The
# plain attribute is in neither list, and `.to()` does not touch it: when the module moves to a GPU, this tensor stays
# on the CPU, where the GPU cannot use it. So the mask is a buffer. It stays `bool`, because `.to(torch.float64)`
# converts only floating-point tensors.
#
# Now for dropout.

# %% name="layer-drawing" shows="The drawing of chapter 3 with one new box: dropout in training, between softmax and the weighted sum of the values. No shape changes."
show_layer("dropout")

# %% [markdown]
# Just before the values are mixed, dropout sets weights to 0 at random.
#
# ## What dropout does to a row
#
# The **rate** $p$ is the chance that a weight is dropped. For each entry, we draw a random number between 0 and 1 and
# keep the entry if the number is below $1-p$.

# %% name="keep-mask"
def keep_mask(shape, p, seed):
    """True where dropout keeps an entry; it drops each with probability p."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(shape, dtype=torch.float64, generator=generator) < 1 - p

# %% [markdown]
# **Question 4.2.** Dropout with $p = 0.5$ is applied to 36 entries. How many does it keep?
#
# * **a** Exactly 18.
# * **b** Always between 12 and 24.
# * **c** Any number from 0 to 36; the average is 18.

# %% name="question-4-2"
answer("Q4.2", "c")

# %% name="dropout-ones" tags=["answers-Q4.2"]
p = 0.5  # the chance of dropping an entry
kept = keep_mask((6, 6), p, seed=123)  # (6, 6), True where an entry stays
print(torch.ones(6, 6) * kept / (1 - p))

# %% [markdown]
# Each entry is drawn independently, and here 21 of 36 were kept. The kept ones became 2: dropout divides by $1-p$ to
# make up for what it drops. Next, we apply the same draws to the causal weights of chapter 3.

# %% name="causal-weights"
torch.manual_seed(789)
layer = SelfAttention_v2(d_in=3, d_out=2)
with torch.no_grad():
    queries, keys = layer.W_query(inputs), layer.W_key(inputs)  # (T, d_out) each
future = torch.triu(torch.ones(6, 6), diagonal=1).bool()  # (T, T), True above the diagonal
scores = (queries @ keys.T).masked_fill(future, -torch.inf)  # (T, T)
weights = torch.softmax(scores / keys.shape[-1]**0.5, dim=-1)  # (T, T), every row sums to 1
print(weights)

# %% [markdown]
# **Question 4.3.** Every weight that dropout keeps at $p = 0.5$ is doubled. What does a single row then sum to?
#
# * **a** 1, as before.
# * **b** Some number from 0 to 2.
# * **c** 1 or very nearly: half of the weight is dropped, and the rest is doubled.

# %% name="question-4-3"
answer("Q4.3", "b")

# %% name="dropout-weights" tags=["answers-Q4.3"]
dropped = weights * kept / (1 - p)  # (T, T)
print(dropped)

# %% [markdown]
# Row 3 keeps all three of its weights, doubled, and sums to 2. Row 2 is all zeros: "journey" has lost both weights and
# receives nothing.
#
# Step through the seeds. At a rate of 0.5, which row can only sum to 0 or 2?

# %% name="dropout-live" tags=["answers-Q4.3"]
live.show_dropout(weights, tokens, masked=future)

# %% [markdown]
# "Your" has a single weight, so its row sums to 0 or 2.
#
# ## Why divide by 1 − p?
#
# After training, nothing is dropped, and the rest of the layer must receive weights with the same average as in
# training. At $p = 0.5$, we doubled what was kept. But 2 is $1/p$ as well as $1/(1-p)$. Which is right? At a rate of
# 0.2, they differ: 5 and 1.25.

# %% name="factors"
stays = keep_mask((100_000,), p=0.2, seed=123)  # one weight of 1, drawn 100,000 times
for name, factor in [("1", 1), ("1 / p", 1 / 0.2), ("1 / (1 - p)", 1 / (1 - 0.2))]:
    average = (stays * factor).double().mean().item()
    near = abs(average - 1) < 0.01
    print(f"factor {name:11} = {factor:.2f}  average {average:.1f}  within 0.01 of 1: {near}")

# %% [markdown]
# Only $1/(1-p)$ brings the average back to 1, because the weight is kept with probability $1-p$.
#
# But individual rows no longer sum to 1. Should we divide each by its sum? We try this on an uneven row, averaged over
# many draws.

# %% name="renormalised"
uneven = torch.tensor([0.9, 0.05, 0.05])
draws = uneven * keep_mask((100_000, 3), p=0.5, seed=123) / (1 - 0.5)  # (100000, 3)
print("as they are:       ", [round(number, 2) for number in draws.mean(dim=0).tolist()])
draws = draws[draws.sum(dim=-1) > 0]  # without the empty rows
forced = draws / draws.sum(dim=-1, keepdim=True)
print("forced to sum to 1:", [round(number, 2) for number in forced.mean(dim=0).tolist()])

# %% [markdown]
# Without rescaling, each weight is right on average. In the rescaled rows (empty ones left out), the large weight falls
# to 0.54 and the small ones rise to 0.23. So dropout does not rescale rows.
#
# What if we dropped *scores* before softmax? Then every row would sum to 1 by itself.

# %% [markdown]
# **Question 4.4.** Both scores of "journey" are dropped, so they are 0. What weights does softmax turn them into?
#
# * **a** 0.5 and 0.5.
# * **b** 0 and 0.
# * **c** `nan` and `nan`.

# %% name="question-4-4"
answer("Q4.4", "a")

# %% [markdown]
# A score of 0 does not give a weight of 0: "journey" would still receive the values of both words. (Scores of $-\infty$
# would make its row `nan`.) Dropout belongs after softmax.
#
# ## Why drop anything?
#
# Two thermometers both read 1, and a row of weights mixes their readings. At $p = 0.5$, four draws are equally
# likely. Which mixture is noisier: all the weight on one reading, or half on each?

# %% name="two-thermometers"
four = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])  # 1: kept
for rate, reading in [(0.5, 1.0), (0.2, 3.0)]:
    chances = (four * (1 - rate) + (1 - four) * rate).prod(dim=-1)  # (4,), of each draw
    for weights in [torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5])]:
        mixtures = (weights * four / (1 - rate) * reading).sum(dim=-1)  # (4,)
        error = (chances * (mixtures - reading).pow(2)).sum()  # the mean squared error
        print(f"p = {rate}  reading {reading}  {weights.tolist()}  squared error {error:.3f}")
        print("   mixtures", [round(mixture, 3) for mixture in mixtures.tolist()])

# %% [markdown]
# At $p = 0.5$, both mixtures are 1 on average. With all the weight on one reading, every mixture is wrong by 1; with
# half on each, two of four are right. This noise enters the loss. A weight $w_i$ becomes $w_i/(1-p)$ with probability
# $1-p$, else 0, so its variance is $\frac{p}{1-p}w_i^2$. With values $v_i$, dropout adds, on average,
# $\frac{p}{1-p}\sum_i w_i^2v_i^2$ to the squared error: 1 and 0.5 for the two mixtures above ($p = 0.5$), and 2.25 and
# 1.125 for readings of 3 at $p = 0.2$. For values of equal size, this penalises large weights. Does that help?
#
# In each of many rooms, a head reads eight thermometers. Each has a key of 16 numbers: the first says whether it is
# precise (1) or not (0); the other 15 are random and mean nothing. (You need not read the functions.)

# %% name="rooms"
def rooms(n, precise, error, seed):
    """n rooms: keys (n, 8, 16), readings (n, 8) and true temperatures (n,).

    Precise thermometers err by up to `error`, the others by up to 2. The head cannot see that
    the precise ones come first: it has only the keys.
    """
    torch.manual_seed(seed)
    is_precise = torch.arange(8) < precise
    keys = 2 * torch.rand(n, 8, 16).double() - 1  # random numbers from -1 to 1
    keys[..., 0] = is_precise
    true = 2 * torch.rand(n).double() - 1
    errors = (2 * torch.rand(n, 8).double() - 1) * torch.where(is_precise, error, 2.0)
    return keys, true[:, None] + errors, true


_, readings, true = rooms(n=30, precise=4, error=0.6, seed=0)
print(f"true temperature: {true[0]:.2f}")
print("readings:", *[f"{reading:.2f}" for reading in readings[0]])

# %% [markdown]
# The head learns a single query. We train five such heads, each on its own rooms.

# %% name="trained-queries"
def attend(query, keys, p=0.0, seed=0):
    """The weights (5, n, 8), after dropout at rate p."""
    scores = (keys @ query).squeeze(-1)  # (5, n, 8, 16) @ (5, 1, 16, 1) -> (5, n, 8, 1)
    return torch.softmax(scores, dim=-1) * keep_mask(scores.shape, p, seed) / (1 - p)


def squared_errors(query, keys, readings, true, p=0.0, seed=0):
    """The mean squared error of each head's mixtures: (5,)."""
    return ((attend(query, keys, p, seed) * readings).sum(dim=-1) - true).pow(2).mean(dim=-1)


def trained_queries(seen, p, steps):
    """The queries (5, 1, 16, 1) after training with dropout at rate p."""
    query = torch.zeros(5, 1, 16, 1).double().requires_grad_()  # equal weights at first
    for step in range(steps):
        squared_errors(query, *seen, p, seed=step).sum().backward()  # new draws in each step
        query.data -= query.grad
        query.grad = None
    return query.detach()

# %% [markdown]
# Four thermometers err by up to 0.6, the others by up to 2. Each head learns from 30 rooms, and we test it on 1000
# new ones, without dropout. It may **overfit**: use the 15 meaningless numbers to fit the noise of 30 rooms. Will
# dropout lower the error on seen rooms, or on new ones?
#
# `rest` is the norm of the query without its first number; "lower in 5 of 5" counts the heads whose error on new rooms
# is lower than after 1500 steps without dropout. For comparison, the mean of the four precise thermometers has an error
# of $0.6^2/3/4 = 0.03$.

# %% name="four-precise"
def compare(n, precise, error):
    """Trains five heads on n rooms each, tests them on 1000 new ones, and prints averages."""
    sets = [(rooms(n, precise, error, i), rooms(1000, precise, error, 1000 + i)) for i in range(5)]
    seen, new = ([torch.stack(parts) for parts in zip(*each)] for each in zip(*sets))
    print(f"{n} rooms, {precise}", f"precise, with errors up to {error}" if error else "exact")
    print("squared error on:    seen    new  largest weight  rest")
    for steps, p in [(0, 0.0), (100, 0.0), (1500, 0.0), (1500, 0.1), (1500, 0.5)]:
        query = trained_queries(seen, p, steps)
        on_new = squared_errors(query, *new)  # (5,)
        row = f"{squared_errors(query, *seen).mean():.3f}  {on_new.mean():.3f}"
        row += f"  {attend(query, new[0]).max(dim=-1).values.mean():14.2f}"
        row += f"  {query[:, 0, 1:, 0].norm(dim=-1).mean():.2f}"
        if p == 0:
            without = on_new  # at the end, after 1500 steps
        else:
            row += f"  lower in {(on_new < without).sum()} of 5"
        print(f"{steps:4} steps, p = {p}  {row}")


compare(n=30, precise=4, error=0.6)

# %% [markdown]
# Without dropout, the error on new rooms falls to 0.039 in 100 steps, then rises to 0.088: the heads overfit. At $p =
# 0.5$, `rest` is 0.76 instead of 2.75, and the error on new rooms is only 0.033; on seen rooms it rises, but only to
# 0.028. Without dropout, stopping after 100 steps does nearly as well (0.039).
#
# Will dropout help more with 300 rooms or with six?

# %% name="more-and-fewer-rooms"
compare(n=300, precise=4, error=0.6)
print()
compare(n=6, precise=4, error=0.6)

# %% [markdown]
# With 300 rooms, there is little to gain. With six, $p = 0.5$ raises the error from 0.126 to 0.165 (two of five heads
# improve). The penalty is on $w_i^2v_i^2$, so weight also moves to readings near 0: with few rooms, the query uses the
# meaningless numbers to pick those out. Equal weights (0.091) do best.
#
# Try 30 rooms with one precise thermometer, first with errors up to 0.6, then without. When will dropout hurt?

# %% name="one-precise"
compare(n=30, precise=1, error=0.6)
print()
compare(n=30, precise=1, error=0.0)

# %% [markdown]
# With errors, dropout helps: 0.326 falls to 0.120, below equal weights (0.147). Without them, it hurts: 0.003 rises to
# 0.051.
#
# ## In training and afterwards
#
# A trained model should not skip words at random. So every PyTorch module has a switch called `training`: it is on at
# first; `.eval()` turns it off and `.train()` turns it back on. We call our class twice in each mode. Which calls will
# agree?

# %% name="class-train-eval"
torch.manual_seed(123)
noisy = CausalAttention(d_in=3, d_out=2, context_length=6, dropout=0.5)
once, again = noisy(batch), noisy(batch)
print("training, two calls agree:    ", torch.equal(once, again))
print("training, two sentences agree:", torch.equal(once[0], once[1]))
noisy.eval()
print("eval, two calls agree:        ", torch.equal(noisy(batch), noisy(batch)))
print("eval, as without dropout:     ", torch.allclose(noisy(batch), causal(batch), atol=1e-6))
noisy.train()
with torch.no_grad():
    print("no_grad, two calls agree:     ", torch.equal(noisy(batch), noisy(batch)))
print("F.dropout, two calls agree:   ", torch.equal(F.dropout(batch), F.dropout(batch)))

# %% [markdown]
# In training, dropout draws anew for each call and each sentence. After `.eval()`, two calls agree with each other and
# with `causal`, whose matrices come from the same seed. `no_grad` turns off derivative tracking, not dropout.
#
# The function `F.dropout` cannot see the switch: it drops unless you pass `training=False`.

# %% [markdown]
# ### Exercise 4.1 · Dropout as a layer
# 2 points · ★★☆ · 10 minutes
#
# Write dropout as a layer, for a tensor of any shape. In training, it drops each number independently with probability
# p, which is below 1, and draws anew in each call. After `.eval()`, it returns `x` unchanged; the switch is
# `self.training`. Use `torch.rand` without a seed, not `nn.Dropout`.

# %% name="exercise-4-1"
class MyDropout(nn.Module):
    """Dropout: in training, zeroes each number with probability p and divides the rest by 1 - p."""

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

# %% name="check-4-1"
### BEGIN HIDDEN TESTS
assert check("4.1", MyDropout).status == "right"
### END HIDDEN TESTS
check("4.1", MyDropout)

# %% [markdown] tags=["solution"]
# **Why it works.** A number drawn uniformly between 0 and 1 is below $1-p$ with probability $1-p$. With a fixed seed,
# the same entries would be dropped at every step, and training would never use them. `.train()` and `.eval()` only
# set `self.training`; `forward` has to check it. `device=x.device` makes the layer work on a GPU, too.

# %% [markdown]
# ## What dropout does to a head that looks something up
#
# The head of exercise 3.3 often relies on one token. To tell whether a letter has occurred before, the head gives
# nearly all its weight to an earlier copy (receiving a 1) or to `<s>` (receiving a 0). A result above one half counts
# as "yes". At $p = 0.5$, how often will the second "a" say yes?

# %% name="one-head"
W_query = 30.0 * torch.eye(5)  # rows: <s>, a, b, c, d; each letter asks for itself
W_query[:, 0] = 15.0  # and, half as strongly, for <s>
W_key = torch.eye(5)
W_value = torch.tensor([[0.0], [1.0], [1.0], [1.0], [1.0]])  # 0 from <s>, 1 from a letter

x = torch.eye(5)[[0, 1, 2, 1, 3, 2]]  # (T, 5): <s> a b a c b
itself_or_later = torch.ones(6, 6).triu().bool()  # (T, T), True: hidden
itself_or_later[0, 0] = False  # <s> has nothing else to see
scores = (x @ W_query @ (x @ W_key).T / 5**0.5).masked_fill(itself_or_later, -torch.inf)
head_weights = torch.softmax(scores, dim=-1)  # (T, T)
kept = keep_mask((1000, 6, 6), p=0.5, seed=123)
received = (head_weights * kept / (1 - 0.5)) @ (x @ W_value)[:, 0]  # (1000, T)
for letter, yes in zip("<s> a b a c b".split(), (received > 0.5).double().mean(dim=0)):
    print(f"{letter:4} says yes in {yes:.2f} of the draws")

# %% [markdown]
# The second "a" and the second "b" should always say yes, but do so in only about half of the draws: if the copy's
# weight is dropped, nothing arrives, however large its value. Could more heads help?

# %% [markdown]
# ### Exercise 4.2 · Heads that survive
# 3 points · ★★☆ · 10 minutes
#
# Write a stack of heads, as many as you need, whose *sum* says whether a letter has occurred before: above 0.5 if it
# has, and below 0.5 if it has not. The tokens, sequences and mask are those of exercise 3.3: no letter sees itself.
#
# * Without dropout, the sum must always be right.
# * With dropout at $p = 0.5$ (weights that stay are doubled), it must be right in at least 95 of 100 cases on
#   average, for repeated and for new letters separately.
#
# Begin with the matrices above. Each head has its own draws. How often do all H heads lose the copy?

# %% name="exercise-4-2"
def my_heads():
    """W_query (H, 5, d_k), W_key (H, 5, d_k), W_value (H, 5, 1). Rows: <s>, a, b, c, d."""
    ### BEGIN SOLUTION
    W_query = 30.0 * torch.eye(5)
    W_query[:, 0] = 15.0
    W_value = torch.tensor([[0.0], [1.0], [1.0], [1.0], [1.0]])
    return W_query.repeat(8, 1, 1), torch.eye(5).repeat(8, 1, 1), W_value.repeat(8, 1, 1)
    ### END SOLUTION

# %% name="check-4-2"
### BEGIN HIDDEN TESTS
assert check("4.2", my_heads).status == "right"
### END HIDDEN TESTS
check("4.2", my_heads)

# %% [markdown] tags=["solution"]
# **Why it works.** Each head loses the copy with probability one half, and all eight lose it with probability 1 in 256.
# One head that keeps the copy is enough if its value alone lifts the sum above one half; with values of one eighth, it
# takes at least three. New letters need large queries: eight heads, each giving a tenth of its weight to other letters,
# would together say yes.

# %% name="play-4-2"
from course_utils.play import show_puzzle

show_puzzle("4.2")  # try out numbers here, then copy them into your answer

# %% [markdown]
# ### Exercise 4.3 · How often is a row empty?
# 1 point · ★☆☆ · 5 minutes
#
# Dropout can empty whole rows, most often the first. For each of the T rows of causal weights, give the chance that it
# is left empty.

# %% name="exercise-4-3"
def my_chances(p, T):
    """The chance (T,) that all weights of row 1, 2, ..., T are dropped, each with probability p."""
    ### BEGIN SOLUTION
    return p ** torch.arange(1, T + 1)  # row t has t weights
    ### END SOLUTION

# %% name="check-4-3"
### BEGIN HIDDEN TESTS
assert check("4.3", my_chances).status == "right"
### END HIDDEN TESTS
check("4.3", my_chances)

# %% [markdown] tags=["solution"]
# **Why it works.** Row $t$ has $t$ weights, each dropped independently. At a rate of one half, "Your" receives nothing
# in half of the steps on average, and "step", with six weights, in one of 64.

# %% [markdown]
# ## So should you use it?
#
# With too few examples, dropout hurt; with plenty, it changed little; in between, it helped. But it takes weight from
# a single good token. A model may have heads that average and heads that look something up, so compare rates on new
# data. GPT-2 was trained at a rate of 0.1, Llama without dropout: it read most texts only once, so it could hardly
# overfit.
#
# ## A class of your own
#
# Now write a causal class yourself.
#
# **Step 4.1.** Put these lines of a `forward` into the right order. Write the letters, as in `"a b c d e"`.
#
# ```
# a   weights = self.dropout(torch.softmax(scores, dim=-1))
# b   scores = scores.masked_fill(self.mask[:T, :T], -torch.inf)
# c   queries, keys, values = self.W_qkv(x).chunk(3, dim=-1)
# d   return weights @ values
# e   scores = queries @ keys.transpose(-2, -1) / keys.shape[-1]**0.5
# ```

# %% name="step-4-1"
answer("S4.1", "c e b a d")

# %% [markdown]
# ### Exercise 4.4 · One matrix instead of three
# 4 points · ★★★ · 20 minutes
#
# Many models compute queries, keys and values with a single linear layer that is three times as wide; `chunk` cuts its
# result into three. Write such a causal class. Name the layer `W_qkv`, omit its bias, apply dropout to the weights, and
# make the mask a buffer. The class must accept sequences shorter than `context_length` and a single sequence without a
# batch.

# %% name="exercise-4-4"
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

# %% name="check-4-4"
### BEGIN HIDDEN TESTS
assert check("4.4", MyCausalAttention).status == "right"
### END HIDDEN TESTS
check("4.4", MyCausalAttention)

# %% [markdown] tags=["solution"]
# **Why it works.** A linear layer computes its outputs independently, so three layers of `d_out` outputs are one layer
# of `3 * d_out`, whose result `chunk` cuts apart. The divisor is the square root of `keys.shape[-1]`, after the cut;
# before the cut, the width would be three times as large.

# %% [markdown]
# Here is your class at work (or ours, while 4.4 is empty): which output depends on which input? Increase the dropout
# rate and step through the seeds. Sometimes a whole row becomes empty, but never part of one. Why?

# %% name="try-layer-live"
def layer_to_try(length, dropout):
    """Your class; while exercise 4.4 is empty, ours."""
    yours = MyCausalAttention(3, 2, length, dropout)
    return yours if hasattr(yours, "W_qkv") else CausalAttention(3, 2, length, dropout)


live.try_layer(layer_to_try, inputs, tokens)

# %% [markdown]
# If all weights of a row are dropped, its output is 0. If one is left, all cells stay: softmax computed it from *all*
# visible scores, even those of words whose own weights were dropped.
#
# ## What you can do now
#
# Answer three final questions without looking back; the third is about chapter 3.

# %% [markdown]
# **Question 4.5.** A head puts all its weight on one token. With $p = 0.2$ in training, what does it receive?
#
# * **a** 0.8 of the value, always.
# * **b** Nothing in one fifth of the steps, else 1.25 times the value.
# * **c** The value, since dropout keeps the average.

# %% name="question-4-5"
answer("Q4.5", "b")

# %% [markdown]
# **Question 4.6.** Find the bug. This layer trains well, but after `.eval()`, each call returns a different result.
# Which line is wrong?
#
# * **a** `queries, keys, values = self.W_qkv(x).chunk(3, dim=-1)`
# * **b** `scores = (queries @ keys.transpose(-2, -1)).masked_fill(self.mask[:T, :T], -torch.inf)`
# * **c** `weights = F.dropout(torch.softmax(scores / keys.shape[-1]**0.5, dim=-1), 0.1)`
# * **d** `return weights @ values`

# %% name="question-4-6"
answer("Q4.6", "c")

# %% [markdown]
# **Question 4.7.** A layer sets all weights on the future to 0 *after* softmax and changes nothing else. Still, its
# first output moves when a later word changes. Which explanation is true?
#
# * **a** The weights were only nearly 0.
# * **b** The sum that softmax divided by depends on the later scores.
# * **c** A mask after softmax comes too late to set weights to 0.

# %% name="question-4-7"
answer("Q4.7", "b")

# %% [markdown]
# Your exercises so far:

# %% name="progress"
progress(4)

# %% [markdown]
# ## Takeaways
#
# The causal mask is a **buffer**: saved and moved with the module, and never trained.
#
# | dropout, rate $p$ | in training | after `.eval()` |
# | --- | --- | --- |
# | a weight $\alpha_{ij}$ | 0 with probability $p$, else $\alpha_{ij}/(1-p)$ | $\alpha_{ij}$ |
# | the sum of a row | between 0 and $1/(1-p)$, on average 1 | 1 |
# | two calls | drop different weights | agree |
#
# For values of equal size, dropout penalises large weights. This can help where a head would **overfit**, but takes
# weight from a single good token: in training at $p = 0.5$, a head that looks up a single thing finds it only half
# the time. Dropout comes **after** softmax, and rows are not rescaled to sum to 1.
#
# **Next.** This class has one set of weights per query. [Chapter 5](05_multi_head_attention.ipynb) runs several sets
# side by side. All chapters: [the course's contents](../README.md#chapters).
