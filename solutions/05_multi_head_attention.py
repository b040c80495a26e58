# ---
# jupyter:
#   course:
#     summary: a head with positions, a head that learned, several heads in one matrix
# ---

# %% [markdown]
# # Chapter 5 · Multi-head attention
#
# **After this chapter you can**
#
# * build a head that looks one token back, and train one that learns to do so by itself;
# * say what two heads can report that one head cannot;
# * write a layer like GPT-2's, with one matrix for all heads.
#
# **Time.** About 90 minutes, exercises included. **You need** chapters 2 to 4: queries, keys, values, the causal mask,
# the causal class.
#
# Run the cells from top to bottom (Shift + Enter). The first one finds the course's helpers, or installs them.

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
from course_utils.attention import CausalAttention
from course_utils.checking import answer, check, hint, progress, quiz, review, solution
from course_utils.layer_drawing import show_layer
from course_utils.validation import check_dropout, check_heads, check_input

# %% [markdown]
# ## From memory
#
# Write a word or a number in place of each question mark, without looking back.
#
# **From memory 5.1.** Without a mask, does a word's context vector change when the words are shuffled? (yes or no)

# %% name="memory-5-1"
answer("M5.1", "no")

# %% [markdown]
# **From memory 5.2.** How many cells are marked in the dependency matrix of a causal layer for six tokens?

# %% name="memory-5-2"
answer("M5.2", "21")

# %% [markdown]
# **From memory 5.3.** In training, dropout at a rate of 0.5 keeps a weight. By what number does it multiply that
# weight?

# %% name="memory-5-3"
answer("M5.3", "2")

# %% name="review"
review()

# %% [markdown]
# ## Tokens that know where they are
#
# So far, every head has asked *what* a token is. None could ask *where* it stands, or what comes just before it. So
# we give each token its position. Here a token's vector has four numbers for the letter, then eight for the position,
# each part with a single 1. (GPT-2 adds a position vector instead.)

# %% name="positions"
def placed(words):
    """The vectors (T, 12) of up to 8 letters from a to d: which letter, then which position."""
    letters = torch.eye(4)[["abcd".index(word) for word in words]]  # (T, 4)
    return torch.cat([letters, torch.eye(8)[:len(words)]], dim=-1)  # (T, 4 + 8)


print(placed("ba"))

# %% [markdown]
# Row 0 is a "b" at position 0, row 1 an "a" at position 1. (We now count from 0, as Python does.) With positions, a
# head can look **one token back** and fetch the letter there.

# %% [markdown]
# ### Exercise 5.1 · One token back
# 3 points · ★★☆ · 10 minutes
#
# Write three matrices for a causal head that reads up to eight letters. Every token but the first should give at
# least nine tenths of its weight to the token before it, whatever the letters are, and receive that token's letter:
# four numbers, about 1 in the letter's place and about 0 elsewhere. What the first token receives does not matter.
# Choose any width $d_k$; scores are divided by $\sqrt{d_k}$.

# %% name="exercise-5-1"
def my_look_back():
    """W_query (12, d_k), W_key (12, d_k), W_value (12, 4). Rows: a, b, c, d, positions 0 to 7."""
    ### BEGIN SOLUTION
    W_query = torch.zeros(12, 8)
    W_query[5:, :7] = 30.0 * torch.eye(7)  # position 1 asks for 0, position 2 for 1, ...
    W_key = torch.zeros(12, 8)
    W_key[4:] = torch.eye(8)  # a token is found by its position
    W_value = torch.eye(12)[:, :4]  # and passes on its letter
    return W_query, W_key, W_value
    ### END SOLUTION

# %% name="check-5-1"
### BEGIN HIDDEN TESTS
assert check("5.1", my_look_back).status == "right"
### END HIDDEN TESTS
check("5.1", my_look_back)

# %% [markdown] tags=["solution"]
# **Why it works.** Key $t$ points along axis $t$ and query $t$ along axis $t-1$, so each query but the first matches
# the key one position before it. Letters have zero rows in `W_query` and `W_key`, so they do not affect where the head
# looks. Only letters are passed on.

# %% name="play-5-1"
from course_utils.play import show_puzzle

show_puzzle("5.1")  # try out numbers here, then copy them into your answer

# %% name="try-5-1"
def my_weights_back(words):
    """Causal weights (T, T) of the head that your three matrices make."""
    W_query, W_key, _ = my_look_back()
    x = placed(words)
    scores = (x @ W_query) @ (x @ W_key).T / W_key.shape[-1] ** 0.5
    future = torch.triu(torch.ones(len(words), len(words)), diagonal=1).bool()
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)


live.try_head(my_weights_back, "c a d a b")

# %% [markdown]
# ## A head that learns
#
# Can a head *learn* this job? We show it random letters and ask only for the result: the letter one token back.
#
# In the second cell, only the line with the loss matters. It compares the result at position $t$ with the letter at
# $t-1$. (Adam chooses a step size for each parameter.) Guess first: will training find your matrices?

# %% name="learned-head"
torch.manual_seed(123)
words = torch.randint(4, (64, 8))  # 64 sequences of 8 letters
positions = torch.eye(8).repeat(64, 1, 1)  # (64, 8, 8), the same in every sequence
x = torch.cat([torch.eye(4)[words], positions], dim=-1).double()  # (64, 8, 12)
W_query, W_key, W_value = (
    (torch.rand(12, d, dtype=torch.float64) - 0.5).requires_grad_() for d in (8, 8, 4)
)  # requires_grad_: these numbers are learned
print(x.shape)

# %% name="learned-head-training"
optimizer = torch.optim.Adam([W_query, W_key, W_value], lr=0.1)
hidden = torch.triu(torch.ones(8, 8), diagonal=1).bool()
for step in range(101):
    scores = (x @ W_query) @ (x @ W_key).transpose(-2, -1) / 8**0.5
    weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)  # (64, 8, 8)
    result = weights @ (x @ W_value)  # (64, 8, 4)
    loss = (result[:, 1:] - x[:, :-1, :4]).square().mean()  # the target at t: the letter at t - 1
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        back = weights[:, range(1, 8), range(7)].mean()  # row t, column t - 1
        print(f"step {step:3}: loss {loss:.3f}, weight one token back {back:.2f}")

# %% name="learned-picture" shows="Heat map of eight by eight causal weights of a trained head. Nearly all weight lies on the cells just below the diagonal: every token but the first attends to the token before it."
pictures.show_weights(
    weights[0].detach(), ["abcd"[letter] for letter in words[0]], masked=hidden,
    title="A head that learned to look back",
)

# %% [markdown]
# The stripe below the diagonal shows that the head looks back. We asked only for the letter, not for this. (At step 0,
# the weight one token back is 0.24; equal weights would average 0.25.) Did the head find your matrices?

# %% name="learned-matrices"
print(W_query[5].detach().round(decimals=1))  # the row of position 1: yours?
together = (W_query @ W_key.T)[4:, 4:].detach()  # (8, 8): positions against positions
best = [int(row[:t + 1].argmax()) for t, row in enumerate(together)]  # of the visible keys
print("best key for positions 1 to 7:", best[1:])
new = torch.eye(4)[torch.randint(4, (1000, 8))]  # 1000 new sequences
new = torch.cat([new, torch.eye(8).expand(1000, 8, 8)], dim=-1).double()  # (1000, 8, 12)
scores = (new @ W_query) @ (new @ W_key).transpose(-2, -1) / 8**0.5
received = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1) @ (new @ W_value)
right = received[:, 1:].argmax(dim=-1) == new[:, :-1, :4].argmax(dim=-1)
print(f"right letters in new sequences: {right.double().mean():.4f}")

# %% [markdown]
# No: the printed row has no pattern. But a score is $x^{(i)} W_q W_k^\top x^{(j)\top}$, so only the product
# $W_q W_k^\top$ matters. With that product, each position but the first gives the key just before it the highest of all
# visible scores. In new sequences, too, every letter is right. To understand a head, look at what it does, not at one
# of its matrices.

# %% [markdown]
# ## One head, one set of weights
#
# Chapter 1 began with *The cat chased the mouse because it was hungry*. Now let "it" find out who chases and who is
# chased. We write the sentence for every ordered pair of four animals: twelve sentences.

# %% name="sentences"
animals = ["cat", "fox", "mouse", "hen"]
vocabulary = animals + ["chased", "hungry", "the", "because", "it", "was"]  # 10 words


def vectors(words):
    """The vectors (9, 19) of nine words: which of ten words, then which position."""
    which = torch.eye(10)[[vocabulary.index(word) for word in words]]  # (9, 10)
    return torch.cat([which, torch.eye(9)], dim=-1).double()


pairs = [(a, b) for a in animals for b in animals if a != b]  # who chases, who is chased
sentences = [f"the {a} chased the {b} because it was hungry".split() for a, b in pairs]
x = torch.stack([vectors(sentence) for sentence in sentences])  # (12, 9, 19)
print(x.shape)

# %% [markdown]
# The animals are at positions 1 and 4. Suppose that "it" gives half of its weight to each. Now the cat and the mouse
# change places. Does "it" notice?

# %% name="two-heads-tell"
cat_mouse, mouse_cat = x[pairs.index(("cat", "mouse"))], x[pairs.index(("mouse", "cat"))]
even = torch.zeros(9).double()  # the weights of "it"
even[1] = even[4] = 0.5
print("one head, both positions, same mixture:",
      torch.equal(even @ cat_mouse, even @ mouse_cat))
print("two heads, one position each, same result:",
      torch.equal(torch.cat([cat_mouse[1], cat_mouse[4]]), torch.cat([mouse_cat[1], mouse_cat[4]])))

# %% [markdown]
# No, the mixture is the same: "it" receives a cat and a mouse, but not their roles. Each vector contains its
# position, but a value is a word part plus a position part: the mixture contains cat, mouse, 1 and 4, but not how
# they pair up. With two heads, one for each position, and their results side by side, "it" can tell: the animals have
# swapped halves.
#
# That is **multi-head attention**. The simplest version **concatenates** the context vectors of several heads along the
# last dimension, here for chapter 4's batch.

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

# %% name="wrapper"
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
torch.manual_seed(123)
wrapper = MultiHeadAttentionWrapper(3, 2, context_length=6, dropout=0.0, num_heads=2)
context_vecs = wrapper(batch)  # (2, 6, 3) -> (2, 6, 4)
print(context_vecs)
print("context_vecs.shape:", context_vecs.shape)

# %% [markdown]
# In the row of "Your", −0.4519 and 0.2216 come from head 0, as in chapter 4; the other two come from head 1. The heads
# are in an `nn.ModuleList`. A plain list is easier to type. Would it work?

# %% [markdown]
# **Question 5.1.** A module keeps two heads, of 18 parameters each, in a plain Python list. How many parameters does
# PyTorch find in it?
#
# * **a** 36
# * **b** 18
# * **c** 0

# %% name="question-5-1"
answer("Q5.1", "c")

# %% name="module-list" tags=["answers-Q5.1"]
class TwoLists(nn.Module):
    """One layer in a plain list, and one in an nn.ModuleList."""

    def __init__(self):
        super().__init__()
        self.plain = [nn.Linear(3, 2)]
        self.found = nn.ModuleList([nn.Linear(3, 2)])


print([name for name, _ in TwoLists().named_parameters()])

# %% [markdown]
# PyTorch finds only the layer in the `nn.ModuleList`. Heads in a plain list are never trained, and there is no error if
# the model has another layer to train.
#
# ## Two heads, two jobs
#
# We return to the chase. From the second animal on, every word should name both animals: the chaser in the first half
# of its result, the chased in the second. Each half has ten numbers, one per vocabulary word. We train one head of 20
# numbers on all twelve sentences, then two heads of 10, which have as many parameters in all. In how many sentences
# will "it" name both animals correctly?

# %% name="two-jobs"
chasing, chased = x[:, 1:2, :10], x[:, 4:5, :10]  # (12, 1, 10) each: who chases, who is chased
wanted = torch.cat([chasing, chased], dim=-1)  # (12, 1, 20)


def trained(num_heads):
    """The wrapper with 20 outputs in all, after 100 training steps."""
    torch.manual_seed(0)
    model = MultiHeadAttentionWrapper(19, 20 // num_heads, 9, 0.0, num_heads).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(100):
        loss = (model(x)[:, 4:] - wanted).square().mean()  # results from position 4 on
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model

# %% name="two-jobs-named"
one, two = trained(1), trained(2)
for name, model in [("one head", one), ("two heads", two)]:
    result = model(x)[:, 6]  # (12, 20): what "it" receives in each sentence
    right = [result[:, :10].argmax(dim=-1) == chasing[:, 0].argmax(dim=-1),
             result[:, 10:].argmax(dim=-1) == chased[:, 0].argmax(dim=-1)]
    print(f"{name:9}: who chases {right[0].sum():2} of 12, who is chased {right[1].sum():2} of 12")

# %% [markdown]
# One head gets the chaser right in all twelve sentences, but the chased in only seven. Two heads of half the size get
# both right in all twelve. (With other seeds, one head may miss the chaser instead; even 400 steps do not help.) What
# goes wrong with one head? Look at its weights in four sentences.

# %% name="two-jobs-weights"
def weights_of(head, x):
    """The causal weights (B, T, T) of one head, for x (B, T, d_in)."""
    scores = head.W_query(x) @ head.W_key(x).transpose(-2, -1)  # (B, T, T)
    scores = scores / head.W_key.out_features**0.5
    return torch.softmax(scores.masked_fill(head.mask, -torch.inf), dim=-1).detach()


it = weights_of(one.heads[0], x)[:, 6]  # (12, 9): the row of "it" in each sentence
named = one(x)[:, 6, 10:].argmax(dim=-1)  # (12,): who is chased, according to the one head
for a, b in [("cat", "mouse"), ("cat", "hen"), ("mouse", "cat"), ("mouse", "fox")]:
    s = pairs.index((a, b))
    print(f"{a:5} chased {b:5}: weights {it[s, 1]:.1f} and {it[s, 4]:.1f},"
          f" named as chased: {vocabulary[named[s]]}")

# %% [markdown]
# In these four, the chaser gets more weight than the chased; other words get the rest. When the mouse is the chaser,
# almost nothing is left for the other animal: "it" names the cat both times and is right once. When the cat chases
# the hen, "it" even names a mouse. To tell two animals apart, a single head must favour one; the other is then faint.
# (A later layer can amplify it; two heads deliver both at full strength.)
#
# Guess for each of the two heads: which column will be bright, and from which word on?

# %% name="trained-heads-live"
two_weights = torch.cat([weights_of(head, cat_mouse[None]) for head in two.heads])  # (2, 9, 9)
words = sentences[pairs.index(("cat", "mouse"))]
live.show_attention(two_weights, words, masked=two.heads[0].mask)

# %% [markdown]
# From "mouse" on, every word looks at position 1 (the cat) in head 0 and at position 4 in head 1. We decided which head
# has which job, since head 0 makes the first ten numbers. But each learned by itself where to look.
#
# ## One matrix for all heads
#
# One large matrix product keeps a processor busier than several small ones (chapter 6 measures this). Can one matrix
# compute all heads' queries? `nn.Linear` stores one *row* per output, so we stack the matrices of 3 heads with 4
# outputs each, and apply the tall matrix to the whole batch. Dividing the result's columns among the heads is called
# a **weight split**.

# %% name="three-heads"
torch.manual_seed(123)
three_heads = MultiHeadAttentionWrapper(
    d_in=3, d_out=4, context_length=6, dropout=0.0, num_heads=3
)
for head in three_heads.heads:
    print(head.W_query(inputs[1]).detach())  # the query of "journey" in each head, (4,)


def stacked(wrapper, name):
    """All heads' matrices of this name, stacked: (num_heads * head_dim, d_in)."""
    return torch.cat([getattr(head, name).weight.detach() for head in wrapper.heads])


queries = batch @ stacked(three_heads, "W_query").T  # (2, 6, 3) @ (3, 12) -> (2, 6, 12)
print(queries.shape)
print(queries[0, 1])

# %% [markdown]
# These are the same twelve numbers, head after head. The width of one head, here 4, is called **head_dim**. But `@`
# needs a (T, head_dim) matrix for each head. There are four steps: view; transpose; scores, head by head; mix and
# merge.
#
# **Step 1: view.** `view` keeps the numbers and their order but changes the sizes: 12 becomes 3 heads of 4. **Step 2:
# transpose.** Heads and tokens change places, so that `@` treats the heads as another batch dimension.

# %% name="view"
apart = queries.view(2, 6, 3, 4)  # (2, 6, 12) -> (2, 6, 3, 4)
queries = apart.transpose(1, 2)  # (2, 6, 3, 4) -> (2, 3, 6, 4)
print(queries.shape)
print(queries[0, :, 1])  # "journey" in each head

# %% [markdown]
# **Question 5.2.** What if we skip step 2 and use `view(2, 3, 6, 4)` in step 1?
#
# * **a** The same split, in one step.
# * **b** No error, but each head gets pieces of a few tokens instead of all six.
# * **c** An error: the sizes do not fit.

# %% name="question-5-2"
answer("Q5.2", "b")

# %% [markdown]
# Whose numbers go where? We replace each number by its token's position, 0 to 5, and split both ways.

# %% name="whose-number" tags=["answers-Q5.2"]
owners = torch.arange(6).view(1, 6, 1).expand(1, 6, 12)  # (1, 6, 12), row t holds t
right = owners.reshape(1, 6, 3, 4).transpose(1, 2)  # (1, 3, 6, 4)
wrong = owners.reshape(1, 3, 6, 4)  # the same shape
print(right[0, :, :, 0])  # (3, 6): in each head's row t, whose numbers?
print(wrong[0, :, :, 0])

# %% [markdown]
# Without the transpose, head 0 has three pieces of "Your" and three of "journey", and nothing else.

# %% [markdown]
# ### Exercise 5.2 · Split into heads
# 2 points · ★★☆ · 10 minutes
#
# Write the split for any sizes, with or without a batch. Count dimensions from the end: `transpose(-3, -2)`. `*before,
# width = x.shape` collects all leading sizes, and `x.view(*before, 3, 4)` puts them back; `x.view(*before, 3, -1)` lets
# PyTorch work out the 4.

# %% name="exercise-5-2"
def my_split(projected, num_heads):
    """(..., T, d_out) becomes (..., num_heads, T, head_dim), with or without a batch."""
    ### BEGIN SOLUTION
    *before, d_out = projected.shape
    head_dim = d_out // num_heads
    apart = projected.view(*before, num_heads, head_dim)  # (..., T, num_heads, head_dim)
    return apart.transpose(-3, -2)  # (..., num_heads, T, head_dim)
    ### END SOLUTION

# %% name="check-5-2"
### BEGIN HIDDEN TESTS
assert check("5.2", my_split).status == "right"
### END HIDDEN TESTS
check("5.2", my_split)

# %% [markdown] tags=["solution"]
# **Why it works.** `view` cuts only the last dimension, so each token keeps its own numbers. The transpose puts heads
# before tokens. With three heads of 2 numbers, head 1 gets the third and fourth numbers of each token.

# %% [markdown]
# **Step 3: scores, head by head.** Keys and values are split like the queries.

# %% [markdown]
# **Question 5.3.** With six tokens and three heads of four numbers each, scores are divided by $\sqrt{d_k}$. What is
# $d_k$?
#
# * **a** 4
# * **b** 12
# * **c** 6

# %% name="question-5-3"
answer("Q5.3", "a")

# %% name="weights-per-head"
keys = (batch @ stacked(three_heads, "W_key").T).view(2, 6, 3, 4).transpose(1, 2)
values = (batch @ stacked(three_heads, "W_value").T).view(2, 6, 3, 4).transpose(1, 2)
future = torch.triu(torch.ones(6, 6), diagonal=1).bool()  # True above the diagonal: hidden
scores = queries @ keys.transpose(2, 3)  # (2, 3, 6, 4) @ (2, 3, 4, 6) -> (2, 3, 6, 6)
print("head 1 alone:", torch.allclose(queries[0, 1] @ keys[0, 1].T, scores[0, 1]))
scores = scores.masked_fill(future, -torch.inf)
weights = torch.softmax(scores / 4**0.5, dim=-1)  # (2, 3, 6, 6), every row sums to 1
print(weights.shape)

# %% [markdown]
# `@` keeps the heads apart: head 1 alone gives the same scores. PyTorch repeats the (6, 6) mask for every head.
#
# **Step 4: mix and merge.** Mix the values in each head. Then undo the split: transpose, and join the last two
# dimensions.

# %% name="merge-fails"
context = weights @ values  # (2, 3, 6, 6) @ (2, 3, 6, 4) -> (2, 3, 6, 4)
together = context.transpose(1, 2)  # (2, 3, 6, 4) -> (2, 6, 3, 4)
try:
    together.view(2, 6, 12)
except RuntimeError as error:
    print(type(error).__name__, error)

# %% [markdown]
# Why does `view` refuse? In memory, a tensor is one long line of numbers. `transpose` does not move them; it changes
# only the order in which they are read. Now a token's 12 numbers lie in three places, and `view` cannot join them.
# `contiguous()` copies the numbers into the new order. (`reshape`, which the message suggests, copies and joins.
# Neither way notices a forgotten transpose.)

# %% name="merge"
together = together.contiguous()  # (2, 6, 3, 4), copied
context = together.view(2, 6, 12)  # (2, 6, 3, 4) -> (2, 6, 12)
print(context.shape)
print("agrees with the wrapper:", torch.allclose(context, three_heads(batch), atol=1e-6))

# %% [markdown]
# This matches three separate heads. The figure shows all steps for one sentence, with a colour for each head: first
# with the transpose, then without. Which colours will each head have without it?

# %% name="shape-walk-live"
torch.manual_seed(123)
numbers = torch.randn(6, 12, dtype=torch.float64)  # (T, d_out), larger than above
live.show_shape_walk(numbers, num_heads=3, tokens=tokens)

# %% [markdown]
# With the transpose, every head has one colour and all six words. Without it, a head has three colours and two words,
# in the same shape. Follow "starts" to the last step: without the transpose it reaches "Your", which must not see it.

# %% [markdown]
# ### Exercise 5.3 · Merge the heads
# 2 points · ★★☆ · 10 minutes
#
# Write the inverse of the split, again for any sizes, with or without a batch. The input need not be contiguous.

# %% name="exercise-5-3"
def my_merge(context):
    """(..., num_heads, T, head_dim) becomes (..., T, d_out), with or without a batch."""
    ### BEGIN SOLUTION
    together = context.transpose(-3, -2).contiguous()  # (..., T, num_heads, head_dim)
    *before, num_heads, head_dim = together.shape
    return together.view(*before, num_heads * head_dim)  # (..., T, d_out)
    ### END SOLUTION

# %% name="check-5-3"
### BEGIN HIDDEN TESTS
assert check("5.3", my_merge).status == "right"
### END HIDDEN TESTS
check("5.3", my_merge)

# %% [markdown] tags=["solution"]
# **Why it works.** The transpose puts the heads of one token next to each other, `contiguous` copies them into that
# order, and `view` joins them. Without the transpose, a row could hold pieces of several tokens from one head.

# %% [markdown]
# ## The class
#
# So far, each output number comes from one head. But in exercise 4.2 several heads worked on one answer: their results
# were *added*. One more layer, `out_proj`, makes this possible. For two heads with the results $Z_0$ and $Z_1$, let
# $W^{(0)}$ be the upper half of the layer's matrix $W_\mathrm{out}$, and $W^{(1)}$ the lower half:
#
# $$[Z_0, Z_1]\,W_\mathrm{out} = Z_0 W^{(0)} + Z_1 W^{(1)}$$
#
# `d_out` is now the width of *all* heads together. In the smallest GPT-2, 12 heads of 64 numbers each make 768.

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
        # (B, T, d_out) -> (B, T, num_heads, head_dim)
        apart = projected.view(*before, self.num_heads, self.head_dim)
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

# %% name="layer-drawing" shows="The whole layer, with three new boxes. After the three matrices, split into heads makes the shape B, num_heads, T, head_dim. Scores and weights are B, num_heads, T, T. After the weighted sum, merge the heads gives B, T, d_out again, and out_proj follows."
show_layer("heads")

# %% [markdown]
# Between split and merge everything is as before, once for each head. Scores are now divided by
# $\sqrt{\mathrm{head\_dim}}$.
#
# Does the class compute what separate heads compute? We copy the two trained heads into one layer and make `out_proj`
# the identity. Then we give `out_proj` random numbers: is the result the sum over the heads?

# %% name="copy-the-weights"
same = MultiHeadAttention(d_in=19, d_out=20, context_length=9, dropout=0.0, num_heads=2).double()
with torch.no_grad():
    for name in ["W_query", "W_key", "W_value"]:
        getattr(same, name).weight.copy_(stacked(two, name))  # (20, 19)
    same.out_proj.weight.copy_(torch.eye(20))
    same.out_proj.bias.zero_()
print("same output:", torch.allclose(same(x), two(x)))
W_out = torch.randn(20, 20, dtype=torch.float64)
with torch.no_grad():
    same.out_proj.weight.copy_(W_out.T)  # nn.Linear stores one row per output
added = two.heads[0](x) @ W_out[:10] + two.heads[1](x) @ W_out[10:]  # (12, 9, 20)
print("out_proj adds up the heads:", torch.allclose(same(x), added))

# %% [markdown]
# Yes to both. Each head contributes to all 20 numbers. Now write the whole layer.
#
# **Step 5.1.** Put these lines of a `forward` into the right order. Write the letters, as in `"a b c d e"`.
#
# ```
# a   context = self.dropout(weights) @ values
# b   queries, keys, values = (each.view(B, T, heads, head_dim).transpose(1, 2) for each in projected)
# c   return self.out_proj(context.transpose(1, 2).contiguous().view(B, T, -1))
# d   weights = torch.softmax(scores.masked_fill(hidden, -torch.inf) / head_dim**0.5, dim=-1)
# e   scores = queries @ keys.transpose(-2, -1)
# ```

# %% name="step-5-1"
answer("S5.1", "b e d a c")

# %% [markdown]
# ### Exercise 5.4 · Multi-head attention from a blank page
# 5 points · ★★★ · 20 minutes
#
# Write the class yourself. Call the layers `W_query`, `W_key`, `W_value` and `out_proj`, since the check copies
# numbers into them. `qkv_bias` says whether the first three have a bias; `out_proj` always has one. The class need
# only accept batches, and T may be smaller than `context_length`.

# %% name="exercise-5-4"
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

# %% name="check-5-4"
### BEGIN HIDDEN TESTS
assert check("5.4", MyMultiHeadAttention).status == "right"
### END HIDDEN TESTS
check("5.4", MyMultiHeadAttention)

# %% [markdown] tags=["solution"]
# **Why it works.** These are the four steps in a row, with sizes taken from `x` and the mask cut to T. Dividing after
# masking works, too, since minus infinity stays minus infinity. In the check, heads and tokens always differ in number:
# otherwise a forgotten transpose could go unnoticed.

# %% [markdown]
# Train your layer on nine of the twelve sentences. (While 5.4 is empty, our layer is used.) Will "it" also name both
# animals in the other three?

# %% name="try-5-4"
torch.manual_seed(0)
yours = MyMultiHeadAttention(19, 20, 9, 0.0, num_heads=2)
layer = yours if hasattr(yours, "out_proj") else MultiHeadAttention(19, 20, 9, 0.0, num_heads=2)
held_out = [0, 4, 8]  # not trained on; in the rest, each animal stands in both places
seen = [s for s in range(12) if s not in held_out]
optimizer = torch.optim.Adam(layer.double().parameters(), lr=0.05)
for _ in range(100):
    loss = (layer(x[seen])[:, 4:] - wanted[seen]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for s in held_out:
    who, whom = layer(x)[s, 6].split(10)  # what "it" receives
    print(" ".join(sentences[s][:5]), "->", vocabulary[who.argmax()], vocabulary[whom.argmax()])

# %% [markdown]
# With our layer, all three are right: the heads learned positions, not pairs.
#
# ## What you can do now
#
# Answer three final questions without looking back. The third goes back to chapter 4.

# %% [markdown]
# **Question 5.4.** A single head reads embeddings without positions. Can it look one token back?
#
# * **a** Yes, with the right matrices.
# * **b** No: its scores depend on what two tokens are, not on where they stand.
# * **c** Yes, if the mask hides the future.

# %% name="question-5-4"
answer("Q5.4", "b")

# %% [markdown]
# **Question 5.5.** Find the bug. With three heads and six words, this `forward` returns the right shape, but the output
# of the first word changes when the third word does. Which line is wrong?
#
# * **a** `queries, keys, values = (each.view(B, T, 3, -1).transpose(1, 2) for each in projected)`
# * **b** `scores = (queries @ keys.transpose(-2, -1)).masked_fill(hidden, -torch.inf)`
# * **c** `context = torch.softmax(scores / head_dim**0.5, dim=-1) @ values`
# * **d** `return self.out_proj(context.reshape(B, T, -1))`

# %% name="question-5-5"
answer("Q5.5", "d")

# %% [markdown]
# **Question 5.6.** With dropout at 0.5, a head that looks one token back fails in about half of the training steps. The
# result of a head that averages over 20 tokens changes much less. Why?
#
# * **a** Dropout drops only large weights.
# * **b** A single draw keeps or drops all of the first head's weight; the second's depends on 20 draws.
# * **c** The weights of the second head are divided by 0.5; those of the first are not.

# %% name="question-5-6"
answer("Q5.6", "b")

# %% [markdown]
# Your exercises so far:

# %% name="progress"
progress(5)

# %% [markdown]
# ## Takeaways
#
# There are $n$ = num_heads heads, counted from 0. Head $h$ has its own queries $Q_h$, keys $K_h$ and values $V_h$, with
# $d_k$ = head_dim columns each. (The mask is left out.)
#
# $$Z_h = \mathrm{softmax}\left(\frac{Q_h K_h^\top}{\sqrt{d_k}}\right) V_h, \qquad
# \mathrm{output} = \mathrm{concat}(Z_0, \dots, Z_{n-1})\, W_\mathrm{out} + b_\mathrm{out}$$
#
# | step | code | shape |
# | --- | --- | --- |
# | project | `W_query(x)`, `W_key(x)`, `W_value(x)` | (B, T, d_out) |
# | view, transpose | `.view(B, T, num_heads, head_dim).transpose(1, 2)` | (B, num_heads, T, head_dim) |
# | score, hide, scale, softmax, dropout | as in chapter 4 | (B, num_heads, T, T) |
# | mix | `weights @ values` | (B, num_heads, T, head_dim) |
# | transpose, merge | `.transpose(1, 2).contiguous().view(B, T, d_out)` | (B, T, d_out) |
# | add up the heads | `out_proj(context)` | (B, T, d_out) |
#
# **Next.** In [chapter 6](06_in_practice.ipynb) the layer is put to use: two sequences, padding, speed, and what can go
# wrong. All chapters: [the course's contents](../README.md#chapters).
