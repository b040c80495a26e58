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
# * write causal attention for batches as one class, with its mask where it belongs;
# * say what dropout does to attention weights, in training and afterwards, and why kept weights are divided by $1-p$;
# * build heads whose answer survives dropout.
#
# **Time.** About 85 minutes, exercises included. **You need** chapters 2 and 3: scaled scores, the causal mask,
# `nn.Module`.
#
# Run the cells from top to bottom (Shift + Enter). The first one finds the course's helpers, or installs them.

# %% name="setup"
import importlib.util, os, sys

REPOSITORY = ""  # OWNER/REPO, written here by: python3 -m course_tools links OWNER/REPO
sys.path.insert(0, os.path.abspath(".."))  # in a clone, the helpers lie next door
if importlib.util.find_spec("course_utils") is None:
    assert REPOSITORY, "course_utils is not here: open this notebook inside a clone of the course."
    # %pip install -q --no-deps git+https://github.com/{REPOSITORY}
if "COLAB_RELEASE_TAG" in os.environ:
    print("On Colab, File > Save a copy in Drive keeps what you write.")

# %% name="imports"
import torch
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
# **From memory 4.1.** Which number does a score get so that softmax makes exactly 0 of it?

# %% name="memory-4-1"
answer("M4.1", "-inf")

# %% [markdown]
# **From memory 4.2.** A causal head with queries of zeros gives the fourth token what weight on the first?

# %% name="memory-4-2"
answer("M4.2", "1/4")

# %% [markdown]
# **From memory 4.3.** A head looks for an earlier copy and there is none. Its weights still sum to ...

# %% name="memory-4-3"
answer("M4.3", "1")

# %% name="review"
review()

# %% [markdown]
# ## The causal class
#
# You have all the parts of causal attention: three matrices, scores, a mask, softmax, a weighted sum. A model needs
# them as one layer, which reads many sentences at once, can be saved, and moves to a GPU. We write that layer now.
#
# Most lines you know from chapters 2 and 3. The new ones store the mask, cut it to the length of the sentence, and
# check, make and apply dropout. Find them.

# %% name="causal-attention"
class CausalAttention(nn.Module):
    """Self-attention in which no token sees its future: (B, T, d_in) to (B, T, d_out).

    T may be up to context_length. dropout: the chance to drop a weight in training, below 1.
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
# The mask is made once, for `context_length` tokens; a shorter sentence takes a corner of it. Dropout stays off for
# now. Run the class on a batch that holds the same six words twice. "Your" sees only itself: whose value must its
# context vector be?

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
# The two matrices are equal, as they might be even if the class mixed the sentences. So put it to five tests. Row 1,
# $-0.4519$ and 0.2216, should be the value of "Your". Beside a *different* sentence, ours should stay as it is. With a
# mask, the order of words should matter. Four words alone should give the first four rows. And, as in chapter 3,
# nothing should leak.

# %% name="neighbours"
print("row 1 is the value of Your:", torch.allclose(causal.W_value(inputs[0]), context[0, 0]))
mixed = torch.stack((inputs, inputs.flip(0)))  # (B, T, d_in): the second is backwards
print("our sentence is unchanged:", torch.allclose(causal(mixed)[0], context[0], atol=1e-6))
turned_back = causal(mixed)[1].flip(0)  # "Your" first again
print("order matters:", not torch.allclose(turned_back, context[0], atol=1e-6))
print("four words, first four rows:", torch.allclose(causal(inputs[:4]), context[0, :4], atol=1e-6))
depends = influences(causal, inputs) > 0  # (T, T)
print("nothing leaks:", torch.equal(depends, torch.ones(6, 6).tril().bool()))

# %% [markdown]
# All five hold. The order matters because the mask decides by position which words a word sees. Among those, order
# still plays no part.

# %% name="layer-drawing" shows="The drawing of chapter 3 with one new box: dropout in training, between softmax and the weighted sum of the values. No shape changes."
show_layer("dropout")

# %% [markdown]
# Only one step is new, dropout, just before the weights mix the values. What is it good for?
#
# ## Why drop anything?
#
# Imagine a team in which one person knows everything. On the day she is ill, nothing works. Now each morning a coin
# decides who stays at home. Soon no task depends on one person.
#
# **Dropout** tosses such coins in training. At every step it sets randomly chosen attention weights to 0: for this one
# step, a word's value does not reach another word. The hope is that the model then relies on no single weight. It helps
# most where a model reads little data many times: GPT-2 drops one attention weight in ten, Llama none. Still, most
# attention classes have a dropout layer, and putting it in the wrong place raises no error.
#
# The **rate** $p$ is the chance that a weight is dropped. For each entry of the matrix we draw a random number between 0
# and 1, and keep the entry if that number lies below $1-p$.

# %% [markdown]
# **Question 4.1.** Dropout with $p = 0.5$ strikes 36 entries. How many does it keep?
#
# * **a** Exactly 18.
# * **b** Always between 12 and 24.
# * **c** Any number may happen; 18 is the average.

# %% name="question-4-1"
answer("Q4.1", "c")

# %% name="dropout-ones" tags=["answers-Q4.1"]
def keep_mask(shape, p, seed):
    """True where dropout keeps an entry, which it drops with chance p."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(shape, dtype=torch.float64, generator=generator) < 1 - p


p = 0.5  # the chance to drop
kept = keep_mask((6, 6), p, seed=123)  # (6, 6), True: stays
print(torch.ones(6, 6) * kept / (1 - p))

# %% [markdown]
# Each entry has its own coin, and here 21 of 36 stayed. They became 2, because dropout also divides what it keeps by
# $1-p$; we ask why in a moment.
#
# Now the causal weights of chapter 3 meet the same 36 coins.

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
# **Question 4.2.** After dropout with $p = 0.5$ and the division, what does a single row sum to?
#
# * **a** To 1, as before.
# * **b** To some number from 0 to 2.
# * **c** To 1 or very nearly: half of it goes, and the rest is doubled.

# %% name="question-4-2"
answer("Q4.2", "b")

# %% name="dropout-weights" tags=["answers-Q4.2"]
dropped = weights * kept / (1 - p)  # (T, T)
print(dropped)

# %% [markdown]
# Row 3 keeps all three of its weights, doubled, and sums to 2. Row 2 is all zeros: "journey" lost both of its weights,
# and for this one step it hears nothing.
#
# Another seed tosses other coins. At a rate of 0.5, which row can only sum to 0 or 2? Try some seeds.

# %% name="dropout-live" tags=["answers-Q4.2"]
live.show_dropout(weights, tokens, masked=future)

# %% [markdown]
# The row sums change from draw to draw. "Your" has a single weight, so its row sums to 0 or to 2.
#
# ## Why divide by 1 − p?
#
# At $p = 0.5$ we doubled what was kept. But 2 is $1/p$ as well as $1/(1-p)$. Which of the two is it? At a rate of 0.2
# they differ: 5 and 1.25. The right one leaves the weight, averaged over many draws, as it was.

# %% name="factors"
stays = keep_mask((100_000,), p=0.2, seed=123)  # one weight of 1, drawn 100,000 times
for name, factor in [("1", 1), ("1 / p", 1 / 0.2), ("1 / (1 - p)", 1 / (1 - 0.2))]:
    average = (stays * factor).double().mean().item()
    near = abs(average - 1) < 0.01
    print(f"factor {name:11} = {factor:.2f}  average {average:.1f}  within 0.01 of 1: {near}")

# %% [markdown]
# Only $1/(1-p)$ leads back to 1: a weight is kept with probability $1-p$, so times $1/(1-p)$ it is the same on average.
#
# Should we also repair each row, dividing it by its sum? Try it on an uneven row, averaged over many draws. (Empty rows
# are left out.)

# %% name="renormalised"
uneven = torch.tensor([0.9, 0.05, 0.05])
draws = uneven * keep_mask((100_000, 3), p=0.5, seed=123) / (1 - 0.5)  # (100000, 3)
print("as they are:       ", [round(number, 2) for number in draws.mean(dim=0).tolist()])
draws = draws[draws.sum(dim=-1) > 0]  # without the empty rows
forced = draws / draws.sum(dim=-1, keepdim=True)
print("forced to sum to 1:", [round(number, 2) for number in forced.mean(dim=0).tolist()])

# %% [markdown]
# Left alone, the weights are right on average. Repaired, the large one falls to 0.54 and the small ones rise to 0.23.
# So do not repair rows.
#
# If we dropped *scores*, before softmax, every row would sum to 1 by itself. Would that be better?

# %% [markdown]
# **Question 4.3.** Both scores of "journey" are dropped, so they are 0. Which weights does softmax make of them?
#
# * **a** 0.5 and 0.5.
# * **b** 0 and 0.
# * **c** `nan` and `nan`.

# %% name="question-4-3"
answer("Q4.3", "a")

# %% [markdown]
# A score of 0 is not a weight of 0, so "journey" would still hear both words. (A score of $-\infty$ is: then the rows
# are the repaired ones from above, and `nan` where all are dropped.) Dropout belongs after softmax.
#
# ## In training, and afterwards
#
# A finished model should not miss words by chance. Every module of PyTorch carries a switch called `training` (inside
# the module, `self.training`): on at first, `.eval()` turns it off, `.train()` on again. Turn dropout on in our class
# and call it twice in each position of the switch. Which calls will agree?

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

# %% [markdown]
# In training every call drops other weights, and every sentence of a batch tosses coins of its own. After `.eval()` the
# class repeats itself and agrees with `causal`, since both drew their matrices with seed 123. `no_grad` stops the
# bookkeeping for derivatives, not the dropping.
#
# The function `F.dropout` sees no switch: it drops numbers unless it is told `training=False`.

# %% [markdown]
# ### Exercise 4.1 · Dropout as a layer
# 2 points · ★★☆ · 10 minutes
#
# Write this layer yourself, for a tensor of any shape. In training each number has a coin of its own, and each call
# tosses new ones. After `.eval()` the layer returns `x` unchanged. Draw with `torch.rand` and set no seed; p is below 1.
# Do without `nn.Dropout`, though `check` would let it pass.

# %% name="exercise-4-1"
class MyDropout(nn.Module):
    """In training: each number is 0 with chance p, or divided by 1 - p. Otherwise: x itself."""

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
# **Why it works.** A number drawn evenly between 0 and 1 lies below $1-p$ with probability $1-p$. A seed inside the
# function would drop the same entries at every step, and the model would simply be without them. `.train()` and
# `.eval()` only set `self.training`; `forward` has to look at it. `device=x.device` makes the layer work on a GPU, too.

# %% [markdown]
# ## What dropout does to a head with a job
#
# The head of exercise 3.3 tells whether a letter has occurred before (one solution is in the cell). It gives nearly
# all its weight to an earlier copy and receives a 1, or to `<s>` and receives a 0. More than one half counts as "yes".
# Now drop each weight with a chance of one half. How often will the second "a" say yes?

# %% name="one-head"
W_query = 30.0 * torch.eye(5)  # rows: <s>, a, b, c, d; each letter asks for itself
W_query[:, 0] = 15.0  # and, half as loudly, for <s>
W_key = torch.eye(5)
W_value = torch.tensor([[0.0], [1.0], [1.0], [1.0], [1.0]])  # 0 from <s>, 1 from a letter

x = torch.eye(5)[[0, 1, 2, 1, 3, 2]]  # (T, 5): <s> a b a c b
itself_or_later = torch.ones(6, 6).triu().bool()  # (T, T), True: hidden
itself_or_later[0, 0] = False  # <s> has nothing else to see
scores = (x @ W_query @ (x @ W_key).T / 5**0.5).masked_fill(itself_or_later, -torch.inf)
head_weights = torch.softmax(scores, dim=-1)  # (T, T)
coins = keep_mask((1000, 6, 6), p=0.5, seed=123)
received = (head_weights * coins / (1 - 0.5)) @ (x @ W_value)[:, 0]  # (1000, T)
for letter, yes in zip("<s> a b a c b".split(), (received > 0.5).double().mean(dim=0)):
    print(f"{letter:4} says yes in {yes:.2f} of the draws")

# %% [markdown]
# The second "a" and the second "b" should always say yes, and they do so half of the time: nearly all
# their weight lies on one token, and one coin decides.
#
# Now let eight such heads look at the same copy, each with a coin of its own, and add up what they receive: one number
# per head, its value. We train these values to bring the sum near 1, starting with the whole 1 on head 0, with zeros, or
# with random values. Which will training find, without dropout and with it?

# %% name="trained-values"
def trained_values(start, p):
    """The values of eight heads that look at the same copy, after training with dropout."""
    values = start.clone().requires_grad_()
    for step in range(300):
        received = keep_mask((1000, 8), p, seed=step) / (1 - p) @ values  # (1000,): one a draw
        (received - 1).pow(2).mean().backward()  # the loss: how far the sum is from 1
        with torch.no_grad():
            values -= 0.02 * values.grad  # a small step
        values.grad = None
    return values.detach()


coins = keep_mask((10_000, 8), p=0.5, seed=123)
uneven = torch.rand(8, generator=torch.Generator().manual_seed(1)) / 4
for name, start in [("head 0", torch.eye(8)[0]), ("zeros", torch.zeros(8)), ("random", uneven)]:
    for p in [0.0, 0.5]:
        values = trained_values(start, p)
        says_yes = (coins / (1 - 0.5) @ values > 0.5).double().mean()  # over 10,000 draws
        print(f"{name:6}  trained with p = {p}:", [round(value, 2) for value in values.tolist()])
        print(f"        sum {values.sum():.2f}, yes in {says_yes:.2f} of the draws at p = 0.5")

# %% [markdown]
# Without dropout, the start decides: head 0 stays alone, zeros become equal shares, random values stay uneven. Dropout
# spreads the values from *any* start, 0.11 each. They are not the best: 0.86 of the draws, where the uneven values reach
# 0.90. They sum to 0.89, because the loss also contains the variance of the coins, which smaller values reduce. "Yes"
# only needs more than one half, so you can do better by hand.

# %% [markdown]
# ### Exercise 4.2 · Heads that survive
# 3 points · ★★☆ · 10 minutes
#
# Write a stack of heads, as many as you need, whose *sum* says whether a letter has occurred before: above 0.5 if it
# has, and below 0.5 if it has not. Tokens, sequences and mask are those of exercise 3.3: no letter sees itself.
#
# * Without dropout, the sum must always be right.
# * With half of all weights dropped (and the others doubled), it must be right in 95 of 100 cases on average, both for
#   letters that have occurred and for letters that have not.
#
# Begin with the matrices above; `W_query.repeat(3, 1, 1)` stacks three copies of one. Small weights on other letters add
# up. If only one head keeps its weight on the copy, how large must its value be?

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
# **Why it works.** Each head goes blind with probability one half, and all eight with probability 1 in 256. So one that
# sees is enough, if its value alone lifts the sum above one half. With values of one eighth, three or more would have
# to see. The queries are loud (30) for the letters that are new: eight heads that each let a tenth of the weight stray
# to other letters would say yes together.

# %% name="play-4-2"
from course_utils.play import show_puzzle

show_puzzle("4.2")  # to play with; then copy your numbers into your answer

# %% [markdown]
# ### Exercise 4.3 · How often is a row empty?
# 1 point · ★☆☆ · 5 minutes
#
# The same coins empty whole rows. "Your" hears nothing in half of all draws, "journey" in fewer. Write the chance that
# dropout leaves a row of causal weights without any weight, for each of T rows.

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
# **Why it works.** Row $t$ has $t$ weights, and each has its own coin. At a rate of one half "Your" is silent in every
# second step, and "step", with six weights, in one of 64. The early words suffer most.

# %% [markdown]
# ## Where does the mask live?
#
# The mask is not learned, so it is no parameter. An ordinary attribute, `self.mask = ...`, seems to do. Why did we make
# it a **buffer**, with `register_buffer`? We ask a module that holds one of each: what does `.to(...)` change, which
# moves a module to a GPU or to another number type? And what is in `state_dict()`, the list of what is saved?

# %% [markdown]
# **Question 4.4.** What will the buffer do when the module is changed with `.to(...)` and trained?
#
# * **a** It stays as it is when the module is changed with `.to(...)`.
# * **b** It is trained with the parameters.
# * **c** It follows the module and is not trained.

# %% name="question-4-4"
answer("Q4.4", "c")

# %% name="three-tensors" tags=["answers-Q4.4"]
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
# Only the parameter is trained. Parameter and buffer are saved, and both became `float64`. The plain attribute is in
# neither list, and `.to()` does not know about it. On the way to a GPU it would stay behind on the CPU, where scores on
# the GPU cannot use it. So the mask is a buffer. It stays `bool`: `.to(torch.float64)` converts only floating-point
# tensors.
#
# ## A class of your own
#
# The last exercise asks for a causal class. If you like, begin with the order of its lines.
#
# **Step 4.1.** Bring these lines of a `forward` into their right order. Write the letters, as in `"a b c d e"`.
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
# Many models compute queries, keys and values with a single linear layer, three times as wide, and `chunk` cuts the
# result into three. Write such a causal class. The layer is called `W_qkv` and has no bias, dropout acts on the
# weights, and the mask is a buffer. The class must take sequences shorter than `context_length`, and one sequence
# without a batch.

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
# **Why it works.** A linear layer computes each of its outputs on its own, so three layers of `d_out` outputs are one
# layer of `3 * d_out`, and `chunk` cuts them apart again. The scale is the root of `keys.shape[-1]`, after the cut;
# before it, the width would be three times as large.

# %% [markdown]
# Your own class at work: which output depends on which input? (While 4.4 is empty, you see ours.) Turn dropout up and
# step through the seeds. Sometimes a whole row becomes empty, but never a single cell of a row. Why? Think of the layer
# of Question 3.3.

# %% name="try-layer-live"
def layer_to_try(length, dropout):
    """Your class; while exercise 4.4 is empty, ours."""
    yours = MyCausalAttention(3, 2, length, dropout)
    return yours if hasattr(yours, "W_qkv") else CausalAttention(3, 2, length, dropout)


live.try_layer(layer_to_try, inputs, tokens)

# %% [markdown]
# If all weights of a row were dropped, its output is 0, whatever goes in. If one is left, the row keeps all its cells:
# softmax divided that weight by a sum over *all* visible scores, so it depends even on words whose own weights were
# dropped.
#
# ## What you can do now
#
# Three last questions, without looking back. The second shows code with a bug, the third goes back to chapter 3.

# %% [markdown]
# **Question 4.5.** A head puts all its weight on one token. With $p = 0.5$ in training, what does it receive?
#
# * **a** Half of the value, always.
# * **b** Nothing in half of the steps, twice the value in the others.
# * **c** The value, since dropout keeps the average.

# %% name="question-4-5"
answer("Q4.5", "b")

# %% [markdown]
# **Question 4.6.** Find the bug. This `forward` trains well, but after `.eval()` it answers differently each time it is
# asked. Which line is wrong?
#
# * **a** `queries, keys, values = self.W_qkv(x).chunk(3, dim=-1)`
# * **b** `scores = (queries @ keys.transpose(-2, -1)).masked_fill(self.mask[:T, :T], -torch.inf)`
# * **c** `weights = F.dropout(torch.softmax(scores / keys.shape[-1]**0.5, dim=-1), 0.1)`
# * **d** `return weights @ values`

# %% name="question-4-6"
answer("Q4.6", "c")

# %% [markdown]
# **Question 4.7.** A layer sets all weights on the future to 0 *after* softmax and changes nothing else. Still, its first
# output moves when a later word changes. Which explanation is true?
#
# * **a** The weights were only nearly 0.
# * **b** Softmax divided the first weight by a sum that contains the later scores.
# * **c** A mask after softmax comes too late to set weights to 0.

# %% name="question-4-7"
answer("Q4.7", "b")

# %% [markdown]
# Your exercises so far:

# %% name="progress"
progress(4)

# %% [markdown]
# ## What to take with you
#
# The causal mask is a **buffer**: saved and moved with the module, and never trained.
#
# | dropout, rate $p$ | in training | after `.eval()` |
# | --- | --- | --- |
# | a weight $\alpha_{ij}$ | 0 with probability $p$, else $\alpha_{ij}/(1-p)$ | $\alpha_{ij}$ |
# | the sum of a row | between 0 and $1/(1-p)$, on average 1 | 1 |
# | two calls | each tosses its own coins | agree |
#
# Dropout comes **after** softmax, and rows are not repaired. At $p = 0.5$, a head that looks one thing up is heard half
# of the time; others with the same job make up for it.
#
# **Next.** This class has one set of weights per query. [Chapter 5](05_multi_head_attention.ipynb) runs several side by
# side. All chapters: [the course's contents](../README.md#chapters).
