# ---
# jupyter:
#   course:
#     summary: the causal mask, heads that count, a test for leaks
# ---

# %% [markdown]
# # Chapter 3 · Hiding the future
#
# **After this chapter you can**
#
# * hide the future from every token, for one sentence and for a batch, and explain why hidden scores become $-\infty$
#   before softmax;
# * design a head that averages, counts or recognises what came before;
# * test somebody else's layer for leaks.
#
# **Time.** About 90 minutes, exercises included. **You need** chapters 1 and 2 and an idea of what a derivative is.
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
from torch.autograd.functional import jacobian

from course_utils import live, pictures
from course_utils.attention import SelfAttention_v2
from course_utils.checking import answer, check, hint, progress, quiz, review, solution
from course_utils.layer_drawing import show_layer

# %% [markdown]
# ## From memory
#
# Write a word or a number in place of each question mark, without looking back.
#
# **From memory 3.1.** A query and a key have 16 numbers each. What is their score divided by?

# %% name="memory-3-1"
answer("M3.1", "4")

# %% [markdown]
# **From memory 3.2.** Which of the three matrices decides what a token passes on?

# %% name="memory-3-2"
answer("M3.2", "W_value")

# %% [markdown]
# **From memory 3.3.** Scores have the shape (5, 7), with a row per query. Along which `dim` does softmax run?

# %% name="memory-3-3"
answer("M3.3", "-1")

# %% name="review"
review()

# %% [markdown]
# ## Why hide anything?
#
# Think of a model that *writes*: it reads tokens and predicts the next one. In the simplest case, a token is one
# character. The list of all distinct characters is the **vocabulary**, and a token's number is its place in that list.
# What does a model learn from "But they"? After each token, it must predict the next.

# %% name="characters"
text = "But they were all of them deceived."
print(text)
characters = sorted(set(text))
print("".join(characters), len(characters))
number_of = {character: number for number, character in enumerate(characters)}
numbers = [number_of[character] for character in text]
print(numbers)
for t in range(8):
    print(f"{text[:t + 1]!r:10} -> {text[t + 1]!r}")

# %% [markdown]
# The text has 35 characters, 19 of them distinct.
#
# Eight tokens make eight training examples, and a model can work on all of them at once. The trouble is that every
# answer but the last is also in the input, one place to the right of its question. A model that may look there learns
# to copy.
#
# ## The simplest mixture: an average
#
# To see which token reads which, we first let every token attend to all tokens equally. Our batch, of shape $(B, T,
# d_\mathrm{in})$, holds the first four pieces of the text, of eight characters each. A character's embedding is a row
# of an identity matrix: 19 numbers, all 0 except for a 1 at its place in the vocabulary. Where does "e" occur in the
# last piece?

# %% name="batch"
B, T = 4, 8
pieces = [text[T * b:T * (b + 1)] for b in range(B)]
places = torch.tensor([[number_of[letter] for letter in piece] for piece in pieces])  # (B, T)
batch = torch.eye(19)[places]  # (B, T, d_in), d_in is 19
e = number_of["e"]
print(pieces)
print(batch[3, :, e])

# %% [markdown]
# We give every pair of characters the same score, 0. Softmax makes every weight one eighth, and we mix the embeddings.
# How large is the share of "e" in each row of the mixture?

# %% name="uniform-weights"
weights = torch.softmax(torch.zeros(T, T), dim=-1)  # (T, T), every row sums to 1
print(weights[0])
mixed = weights @ batch  # (T, T) @ (B, T, d_in) -> (B, T, d_in)
print(mixed[3, :, e])

# %% [markdown]
# `@` multiplies along the last two dimensions, for every sequence. Two of the eight characters in "m deceiv" are "e",
# so all rows say 0.2500. Even the first token, "m", has averaged over the seven after it: it has read the answers.
#
# ## Only what came before
#
# Token 1 may use only itself, token 2 the first two tokens, and so on. `torch.tril` ("triangle, lower") makes a
# **mask**, a matrix with a 1 for each visible cell. With this mask, attention is **causal**.

# %% name="tril"
visible = torch.tril(torch.ones(T, T))
print(visible)

# %% [markdown]
# How do we tell softmax "no weight at all"? A score of 0 will not do: $\exp(0) = 1$ gives a share like any other. But
# $\exp(-\infty)$ is exactly 0. So we write $-\infty$ wherever a cell is hidden; from here on, our masks are `True`
# there. `masked_fill(mask, value)` returns a new tensor with `value` wherever `mask` is `True`.

# %% name="minus-infinity"
hidden = visible == 0  # True where a cell is hidden
scores = torch.zeros(T, T).masked_fill(hidden, -torch.inf)
print(scores)
weights = torch.softmax(scores, dim=-1)  # (T, T), every row sums to 1
print(weights)

# %% [markdown]
# Row 3 divides its weight among three tokens, 0.3333 each, and the future gets 0.0000. How large is the share of "e" if
# we mix with these weights?

# %% name="causal-uniform-mix"
running = weights @ batch  # (T, T) @ (B, T, d_in) -> (B, T, d_in)
print(batch[3, :, e])
print(running[3, :, e])

# %% [markdown]
# "m" has read only itself: its share of "e" is 0. At the first "e", one of four characters is an "e" (0.2500); at the
# second, two of six (0.3333); at the end, two of eight (0.2500, as before). So equal scores and a mask give the
# **running average**.
#
# Chapter 5 puts several such mixtures side by side. Each, with its own scores and values, is called a **head**.
#
# Does the mask matter? We train one matrix of scores for all four pieces, so that each character's mixture comes close
# to the *next* character's embedding, first with nothing hidden, then with the mask. How far will each loss fall? (You
# need not read the code.)

# %% name="peeking"
for name, mask in [("nothing hidden", torch.zeros(T, T).bool()), ("mask", hidden)]:
    learned = torch.zeros(T, T, requires_grad=True)  # scores
    losses = []
    for step in range(300):
        weights = torch.softmax(learned.masked_fill(mask, -torch.inf), dim=-1)  # (T, T)
        errors = (weights @ batch)[:, :-1] - batch[:, 1:]  # (4, 7, 19)
        loss = errors.pow(2).sum(dim=-1).mean()
        losses.append(loss.item())
        loss.backward()
        with torch.no_grad():
            learned -= 10 * learned.grad
        learned.grad = None
    print(f"{name}: loss {losses[0]:.4f} with equal weights, {losses[-1]:.4f} at the end")
    print(f"weights of tokens 2 and 4:\n{weights[[1, 3]].detach()}")

# %% [markdown]
# With nothing hidden, the loss falls nearly to 0: token 2 gives 0.9756 of its weight to token 3, the answer. The model
# copies. But when the model writes, token 3 is not there yet, and tokens 1 and 2 get only 0.0031 each. With the mask,
# token 2 still gives each of the first two tokens 0.5000: neither equals token 3 in any piece. Token 4 now gives 0.5625
# to token 3, which equals token 5 in two pieces. The loss falls only from 1.3140 to 1.2696, because 23 of the 28 next
# characters have not occurred before: no mixture contains them.

# %% [markdown]
# ## What is an average good for?
#
# Is a bracket still open? Let "(" pass on 1 and ")" pass on −1, and mix with the weights of the running average.

# %% name="brackets"
brackets = "(())()()"
values = torch.tensor([1.0 if bracket == "(" else -1.0 for bracket in brackets])  # (8,)
print(torch.softmax(scores, dim=-1) @ values)  # (8, 8) @ (8,) -> (8,)

# %% [markdown]
# The average is 0 after four, six and eight characters, when all brackets are closed, and otherwise above 0.
#
# Now you design such heads. The tokens are `<s>`, a, b, c and d, and their embeddings are again the rows of an identity
# matrix. Every sequence begins with the start token `<s>`, which appears nowhere else.

# %% [markdown]
# ### Exercise 3.1 · A share and a count
# 1 point · ★☆☆ · 5 minutes
#
# Write three matrices for a causal head that gives each token two numbers about all tokens so far, including itself and
# `<s>`:
#
# * the **share** of "a" among them;
# * 1 divided by their **count**.
#
# All tokens so far must get the same weight.

# %% name="exercise-3-1"
def my_average():
    """W_query (5, d_k), W_key (5, d_k) and W_value (5, 2). Rows: <s>, a, b, c, d."""
    ### BEGIN SOLUTION
    W_query = torch.zeros(5, 1)  # asks for nothing: all scores are 0
    W_key = torch.zeros(5, 1)
    W_value = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    return W_query, W_key, W_value
    ### END SOLUTION

# %% name="check-3-1"
### BEGIN HIDDEN TESTS
assert check("3.1", my_average).status == "right"
### END HIDDEN TESTS
check("3.1", my_average)

# %% [markdown] tags=["solution"]
# **Why it works.** Equal scores and the mask average all tokens so far. The first value is 1 for "a" and 0 for all
# others, so its average is the share of "a". The second is 1 for `<s>` alone. There is always exactly one `<s>`, so
# this average is 1 divided by the count.

# %% name="play-3-1"
from course_utils.play import show_puzzle

show_puzzle("3.1")  # try out numbers here, then copy them into your answer

# %% [markdown]
# ### Exercise 3.2 · Causal weights for a batch
# 2 points · ★★☆ · 10 minutes
#
# Write a function that turns scores (already divided by $\sqrt{d_k}$, some very large) into causal weights. The check
# tries batches of several sizes, so take every size from `scores`. `masked_fill` applies a (T, T) mask to every
# sequence.

# %% name="exercise-3-2"
def my_causal_weights(scores):
    """Causal weights (B, T, T), whose rows sum to 1, from scores (B, T, T)."""
    ### BEGIN SOLUTION
    T = scores.shape[-1]
    hidden = torch.tril(torch.ones(T, T)) == 0  # (T, T), the same for every sequence
    return torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)  # (B, T, T)
    ### END SOLUTION

# %% name="check-3-2"
### BEGIN HIDDEN TESTS
assert check("3.2", my_causal_weights).status == "right"
### END HIDDEN TESTS
check("3.2", my_causal_weights)

# %% [markdown] tags=["solution"]
# **Why it works.** The number of tokens is the size of the *last* dimension. `len(scores)` is the number of sequences,
# and a mask of that size does not fit. With three sequences of three tokens, nobody would notice, so try new code with
# unequal sizes.

# %% [markdown]
# ### Has a letter occurred before?
#
# With queries and keys, a head can do more than average. To learn whether it has occurred before, each letter looks for
# an earlier copy of itself. There are two obstacles.
#
# First, a letter would find itself. So this head hides the diagonal, too: a token sees only what comes *before* it. The
# first token would then see nothing, so `<s>` may see itself. (This strict mask is only for exercises: language models
# let a token see itself.)

# %% name="strict-mask"
strict = torch.tril(torch.ones(4, 4), diagonal=-1) == 0  # the diagonal is hidden, too,
strict[0, 0] = False  # except for <s>
print(strict.int())  # 1 where hidden

# %% [markdown]
# Second, weights sum to 1, so where does a letter look if it has *not* occurred before? It needs a default, and the
# start token serves as one. So three kinds of keys compete. Before you write matrices, choose a score for each:
#
# * an earlier copy: ?
# * `<s>`: ?
# * another letter: ?
#
# How wide must the gaps between them be? With only two levels, `<s>` at 5 (after the division) and seven letters at 0,
# `<s>` gets $e^5 / (e^5 + 7) \approx 148 / 155$: about 95%.

# %% [markdown]
# ### Exercise 3.3 · Has it occurred before?
# 3 points · ★★☆ · 10 minutes
#
# With the tokens of exercise 3.1, write three matrices for a head with this strict mask. In every sequence of `<s>`
# followed by up to eight letters,
#
# * a letter that has occurred before must divide at least nine tenths of its weight evenly among its earlier copies and
#   receive approximately 1;
# * any other letter must give at least nine tenths of its weight to `<s>` and receive approximately 0.
#
# What `<s>` receives does not matter.

# %% name="exercise-3-3"
def my_memory():
    """W_query (5, d_k), W_key (5, d_k) and W_value (5, 1). Rows: <s>, a, b, c, d."""
    ### BEGIN SOLUTION
    W_query = 30.0 * torch.eye(5)  # ask for yourself, loudly,
    W_query[:, 0] = 15.0  # and for <s>, half as loudly
    W_key = torch.eye(5)
    W_value = torch.tensor([[0.0], [1.0], [1.0], [1.0], [1.0]])
    return W_query, W_key, W_value
    ### END SOLUTION

# %% name="check-3-3"
### BEGIN HIDDEN TESTS
assert check("3.3", my_memory).status == "right"
### END HIDDEN TESTS
check("3.3", my_memory)

# %% [markdown] tags=["solution"]
# **Why it works.** There are three levels of scores: an earlier copy, then `<s>`, then all others. If there is a copy,
# it wins; if there is none, `<s>` wins over the others. The value only says which of the two won. `<s>` must score
# below a copy and above the rest, by wide enough margins.

# %% name="play-3-3"
from course_utils.play import show_puzzle

show_puzzle("3.3")  # try out numbers here, then copy them into your answer

# %% [markdown]
# Try your head on three copies of "a". Where does the last one look, and how does it divide its weight? (Trained models
# also use their first token as such a default: see [chapter 10](10_what_a_long_text_costs.ipynb).)

# %% name="try-3-3"
def my_strict_weights(words):
    """Weights (T, T) of your head; each token sees only those before it."""
    x = torch.eye(5)[[["<s>", "a", "b", "c", "d"].index(word) for word in words]]  # (T, 5)
    W_query, W_key, _ = my_memory()
    hidden = torch.tril(torch.ones(len(words), len(words)), diagonal=-1) == 0
    hidden[0, 0] = False  # <s> sees itself
    scores = (x @ W_query) @ (x @ W_key).T / W_key.shape[-1] ** 0.5
    return torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)


live.try_head(my_strict_weights, "<s> a b a c b a")

# %% [markdown]
# ## The mask in a layer
#
# We return from letters to *Your journey starts with one step*, with chapter 2's layer and seed. At first, nothing is
# hidden.

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
queries = attention.W_query(inputs)  # (6, 3) -> (6, 2)
keys = attention.W_key(inputs)  # (6, 2)
scores = queries @ keys.T  # (6, 2) @ (2, 6) -> (6, 6)
d_k = keys.shape[-1]
weights = torch.softmax(scores / d_k**0.5, dim=-1)  # (6, 6), every row sums to 1
print(weights)

# %% [markdown]
# In row 2, "journey" gives 0.2041 to "Your" and 0.1659 to itself; the rest goes to the future, which we now hide.
# `torch.triu` with `diagonal=1` keeps what lies above the diagonal.

# %% name="masked-before"
future = torch.triu(torch.ones(6, 6), diagonal=1).bool()
masked_scores = scores.masked_fill(future, -torch.inf)
print(masked_scores)
causal_weights = torch.softmax(masked_scores / d_k**0.5, dim=-1)  # (6, 6), every row sums to 1
print(causal_weights)

# %% [markdown]
# "journey" now divides its weight between the two words it may see: 0.5517 for "Your" and 0.4483 for itself.

# %% name="weights-picture" shows="Heat map of the six by six causal weights. Everything above the diagonal is hatched, which means hidden. The first row has one cell of 1.00; each further row has one cell more and lower weights, down to about 0.15 to 0.19 in the last row. Every row sums to 1.00."
pictures.show_weights(
    causal_weights, tokens, title="Causal attention weights", masked=future,
)

# %% [markdown]
# A hatched cell has no weight at all. Row $t$ divides a total of 1 among $t$ words. Here is the whole layer:

# %% name="layer-drawing" shows="The drawing of chapter 2, now for a batch of B sequences, with one new box: between the scores and the division, hide the future by minus infinity. No shape changes."
show_layer("mask")

# %% [markdown]
# The mask comes between the scores and softmax and changes no shape. (The division may also come first.)
#
# ## A test for leaks
#
# How can we test a mask without knowing the right numbers? A mask is a promise about *outputs*: output $t$ must not
# depend on input $s$ if $s$ comes after $t$. So we change one word a little and see which outputs move. If we nudge
# "with", the fourth word, which rows should move?

# %% name="causal-context"
def causal_context(sequence, diagonal=1):
    """Context vectors (T, d_out) of a sequence (T, d_in); hides `diagonal` and all above it."""
    queries, keys = attention.W_query(sequence), attention.W_key(sequence)  # (T, d_out) each
    scores = queries @ keys.T / keys.shape[-1]**0.5  # (T, T)
    hidden = torch.triu(torch.ones_like(scores), diagonal=diagonal).bool()
    weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)  # (T, T)
    return weights @ attention.W_value(sequence)  # (T, T) @ (T, d_out) -> (T, d_out)


nudged = inputs.clone()
nudged[3] += 0.01  # "with"
with torch.no_grad():
    moved = (causal_context(nudged) - causal_context(inputs)).abs().amax(dim=1)  # (6,)
print(moved)
print("not at all:", moved == 0)

# %% [markdown]
# Rows 1 to 3 do not move; those of "with" and the words after it do. The next function tests every word, with
# derivatives instead of nudges, and returns a matrix in which row $t$, column $s$ says how strongly input $s$ moves
# output $t$. Anything below 1e-6 counts as a rounding error. (`jacobian` differentiates every output number with
# respect to every input number; `amax` keeps the largest derivative for each pair of tokens.) All you need is
# `influences(causal_context, inputs)`.

# %% name="influences"
rounding = 1e-6  # anything less counts as no influence


def influences(function, sequence):
    """How strongly input s moves output t of function(sequence): (T, T), row t, column s."""
    derivatives = jacobian(function, sequence)  # (T, d_out, T, d_in)
    return derivatives.abs().amax(dim=(1, 3))  # (T, T)

# %% [markdown]
# **Question 3.1.** How many of the 36 cells say that an output of `causal_context` depends on an input?
#
# * **a** 15
# * **b** 21
# * **c** 6

# %% name="question-3-1"
answer("Q3.1", "b")

# %% name="causal-dependencies" shows="Table of six by six cells, rows for outputs and columns for inputs. The lower triangle with the diagonal says yes, 21 cells; all 15 cells above the diagonal hold a dot for no." tags=["answers-Q3.1"]
depends = influences(causal_context, inputs) > rounding
pictures.show_dependencies(
    depends, tokens, title="Causal attention",
)

# %% [markdown]
# There are 21: exactly the lower triangle. This yes/no matrix is the **dependency matrix**. It covers only one
# sentence, so we try 20, and also a mask that is off by one.

# %% name="many-sentences"
torch.manual_seed(123)
sentences = [torch.rand(6, 3) for _ in range(20)]
for diagonal in [1, 2]:
    tables = [influences(lambda x: causal_context(x, diagonal), sentence) for sentence in sentences]
    tight = sum(bool((table.triu(1) <= rounding).all()) for table in tables)  # nan is a leak
    print(f"diagonal={diagonal}: leaks in {20 - tight} of 20")

# %% [markdown]
# With `diagonal=2`, every row sums to 1 and nothing fails, yet all 20 sentences leak: each word but the last may see
# the word it must predict. Finding a leak is proof; finding none is not: where softmax saturates, derivatives are too
# small to show a leak. With the right mask, there is nothing to find: a hidden score is overwritten before softmax
# reads it.
#
# ## Zeros after softmax
#
# Now consider a layer that you did not write. Its author says: "I set the weights on the future to 0 after softmax, so
# nothing can leak." We look at its weights first.

# %% [markdown]
# **Question 3.2.** The weights on the future are set to 0, and nothing else changes. Which rows will sum to less than
# 1?
#
# * **a** All rows: each loses a part of its weight.
# * **b** All rows but the last, which has no future to lose.
# * **c** None: softmax made every row sum to 1.

# %% name="question-3-2"
answer("Q3.2", "b")

# %% name="visible-mask" tags=["answers-Q3.2"]
masked_after = weights * torch.tril(torch.ones(6, 6))
print(masked_after)
row_sums = masked_after.sum(dim=-1, keepdim=True)  # (6, 1)
print(row_sums.T)

# %% [markdown]
# Row 1 sums to 0.1921 and row 2 to 0.3700: these are no longer shares. Dividing each row by its sum (**renormalising**)
# repairs that. Is this as good as $-\infty$?

# %% name="renormalised"
renormalised = masked_after / row_sums  # (6, 6), every row sums to 1 again
print(renormalised)
print("as with -inf before softmax:", torch.allclose(renormalised, causal_weights))

# %% [markdown]
# The weights are the same: row 2 has 0.5517 and 0.4483 again. Here is the author's layer, with optional renormalising.

# %% name="not-ours"
def masked_after_context(sequence, divide=False):
    """Context vectors (T, d_out): softmax, then mask, then the division if divide=True."""
    queries, keys = attention.W_query(sequence), attention.W_key(sequence)  # (T, d_out) each
    weights = torch.softmax(queries @ keys.T / keys.shape[-1]**0.5, dim=-1).tril()  # (T, T)
    if divide:
        weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ attention.W_value(sequence)  # (T, T) @ (T, d_out) -> (T, d_out)

# %% [markdown]
# Test this layer, first without the division. What must you call, and where in the matrix would a leak show?

# %% name="your-test"
# your call:

# %% [markdown]
# **Question 3.3.** Does this layer leak?
#
# * **a** No: a word without weight has no influence.
# * **b** Yes: every output but the last depends on words that come after it.
# * **c** Only in its first output: that row lost the most weight.

# %% name="question-3-3"
answer("Q3.3", "b")

# %% name="leak-without-division" tags=["answers-Q3.3"]
print(influences(masked_after_context, inputs))
divided = influences(lambda x: masked_after_context(x, divide=True), inputs)
print("leaks with the division:", not (divided.triu(1) <= rounding).all())

# %% [markdown]
# It leaks: none of the 15 numbers above the diagonal is 0. In row 1, they are about 0.0005, compared with 0.1008 on the
# diagonal. That is small, but training may use the leak, which is gone when the model writes. The future's weights are
# 0, but its scores are still in the sum that softmax divided by. With $s_{ij} = \omega_{ij} / \sqrt{d_k}$, softmax
# divides every $\exp(s_{ij})$ of row $i$ by the same sum $Z_i$, and renormalising cancels this sum:
#
# $$\frac{\exp(s_{ij}) / Z_i}{\sum_{m \le i} \exp(s_{im}) / Z_i} = \frac{\exp(s_{ij})}{\sum_{m \le i} \exp(s_{im})}$$
#
# So the layer with the division does not leak, but it is not always safe. As in exercise 1.2, softmax subtracts the
# row's largest score, which may be a hidden one. Take a row with visible scores 0 and 1 and a hidden score that grows:

# %% name="large-hidden-score"
last = torch.tensor([False, False, True])
for hidden_score in [10.0, 103.0, 200.0]:
    row = torch.tensor([0.0, 1.0, hidden_score])
    kept = torch.softmax(row, dim=-1).masked_fill(last, 0)
    before = torch.softmax(row.masked_fill(last, -torch.inf), dim=-1)
    print(f"{hidden_score:5}  sum {kept.sum():.0e}, after: {(kept / kept.sum())[:2]}"
          f"  before: {before[:2]}")

# %% [markdown]
# At 103, the visible weights sum to 7e-45, too small for 32-bit precision: the first weight, 0.2000, is silently wrong.
# At 200, they become 0, and 0 divided by 0 is `nan`. Masking before softmax never uses the hidden score, so the first
# weight stays 0.2689.
#
# The next figure has four layers: no mask, $-\infty$ before softmax, zeros after softmax, and the same weights,
# renormalised. Which will leak?

# %% name="masking-live"
live.show_masking(attention, inputs, tokens)

# %% [markdown]
# What counts is the triangle on the right. With zeros after softmax, a hatched cell on the left has no weight, but its
# word still has an influence: every output depends on every input. Renormalise, and the triangle is back. Turn the mask
# off: every row sums to 1, yet 15 cells leak. So rows that sum to 1 prove nothing.
#
# ## A row with nothing left
#
# Shorter sequences in a batch are extended with empty tokens (**padding**), which no token should attend to. At the end
# of a sequence, the causal mask hides padding from every real token; at the beginning, it does not. Suppose "Your" were
# padding. We hide its column, once with $-\infty$ and once, as some code does, with $-10^9$. What will be left in row
# 1?

# %% name="padding-at-the-start"
hidden = future.clone()
hidden[:, 0] = True  # no token may see the first one
for filling in [-torch.inf, -1e9]:
    padded = torch.softmax(scores.masked_fill(hidden, filling) / d_k**0.5, dim=-1)  # (6, 6)
    print(padded[:2])
    mixed = padded @ inputs  # (6, 6) @ (6, 3) -> (6, 3)
    for layers, rows in [("one layer", mixed), ("two layers", padded @ mixed)]:
        print(f"nan in each row, after {layers}:", rows.isnan().any(dim=1).tolist())

# %% [markdown]
# In row 1, everything is hidden: its largest score is $-\infty$, and $-\infty - (-\infty)$ is `nan`. The next layer
# spreads this `nan` to every row, since 0 times `nan` is `nan`. With $-10^9$, all six scores of row 1 are equal, so
# every weight is 0.1667, and the row attends to everything that should be hidden. A loss that includes its output is
# silently wrong. A better mask leaves every row something to see.
#
# The last exercise builds such a mask with three tools. `None` in an index inserts a dimension of size 1. PyTorch
# repeats a dimension of size 1 to match the other tensor (**broadcasting**). And masks combine: `|` is "or", `&` is
# "and", `~` is "not".

# %% name="combining-masks"
is_e = torch.tensor([[letter == "e" for letter in word] for word in ["her", "era"]])  # (2, 3)
print(is_e[:, :, None].shape)
diagonal = torch.eye(3).bool()  # (3, 3)
print((diagonal | is_e[:, :, None])[0].int())  # (3, 3) | (2, 3, 1) -> (2, 3, 3)

# %% [markdown]
# In "her", the second token is an "e". Its `True` is repeated along *row* 2. Two optional steps lead up to the
# exercise.
#
# **Step 3.1.** `is_padding` has the shape (B, T). Padding must be hidden as *keys*, the columns of a (B, T, T) matrix.
# Which index gives `is_padding` a shape that fits? Fill in: `is_padding[...]`

# %% name="step-3-1"
answer("S3.1", ":, None, :")

# %% [markdown]
# **Step 3.2.** Whatever is in `hidden`, every token must stay visible to itself. Fill in, using `torch.eye(T)`: `hidden
# & ...`

# %% name="step-3-2"
answer("S3.2", "~torch.eye(T).bool()")

# %% [markdown]
# ### Exercise 3.4 · A causal mask that survives padding
# 3 points · ★★★ · 20 minutes
#
# Build the mask for a batch in which some tokens are padding. A token may see neither the future nor padding, with one
# exception: it sees itself, so that no row is empty. That holds for padding, too: its outputs are never used, but must
# not be `nan`. `True` means hidden.

# %% name="exercise-3-4"
def my_mask(is_padding):
    """True where a key is hidden: (B, T, T), from is_padding (B, T), True at padding."""
    ### BEGIN SOLUTION
    T = is_padding.shape[-1]
    future = torch.triu(torch.ones(T, T), diagonal=1).bool()  # (T, T)
    hidden = future | is_padding[:, None, :]  # (T, T) | (B, 1, T) -> (B, T, T)
    return hidden & ~torch.eye(T).bool()  # but every token sees itself
    ### END SOLUTION

# %% name="check-3-4"
### BEGIN HIDDEN TESTS
assert check("3.4", my_mask).status == "right"
### END HIDDEN TESTS
check("3.4", my_mask)

# %% [markdown] tags=["solution"]
# **Why it works.** Padding is hidden as *columns*, the keys, so the new dimension goes in the middle; `is_padding[:, :,
# None]` would hide rows. The diagonal comes last because it is an exception to both rules. The output of a padding
# token is meaningless but finite, and no other token sees it.

# %% [markdown]
# Suppose "Your" is padding, hidden by your mask. Which outputs depend on it?

# %% name="try-layer"
def my_padded_layer(x, mask=my_mask):
    """Context vectors (1, T, 3) of x (1, T, 3), whose first token is padding."""
    is_padding = torch.arange(x.shape[1])[None] == 0  # (1, T)
    hidden = mask(is_padding)
    if hidden is None:  # not written yet
        return None
    scores = (x @ x.transpose(-2, -1)).masked_fill(hidden, -torch.inf)
    return torch.softmax(scores, dim=-1) @ x


def my_layer_without(x):
    """The same, but nothing is hidden."""
    return my_padded_layer(x, mask=torch.zeros_like)


names = ["(padding)", *tokens[1:]]
live.try_layer(lambda length, dropout: my_padded_layer, inputs, names, without=my_layer_without)

# %% [markdown]
# With a correct mask, only row 1 depends on the padding: the rest of column 1 is empty.

# %% [markdown]
# ## What you can do now
#
# Answer two final questions without looking back.

# %% [markdown]
# **Question 3.4.** Six queries and six keys each have 64 random numbers of variance 1. Most rows of weights give over
# 90% to one token. Why?
#
# * **a** Softmax always picks one winner.
# * **b** The scores were not divided: each adds up 64 products, so they lie far apart.
# * **c** Random keys point in nearly the same direction.

# %% name="question-3-4"
answer("Q3.4", "b")

# %% [markdown]
# **Question 3.5.** Find the bug. Nothing fails and every row of weights sums to 1, but each output depends on all
# inputs. Which line is wrong?
#
# * **a** `hidden = torch.triu(torch.ones(T, T), diagonal=1).bool()`
# * **b** `scores.masked_fill(hidden, -torch.inf)`
# * **c** `weights = torch.softmax(scores / d_k**0.5, dim=-1)`
# * **d** `return weights @ values`

# %% name="question-3-5"
answer("Q3.5", "b")

# %% [markdown]
# Your exercises so far:

# %% name="progress"
progress(3)

# %% [markdown]
# ## Takeaways
#
# | way | rows sum to 1 | future | large hidden score |
# | --- | --- | --- | --- |
# | mask after softmax | no | leaks through the sum | rows become 0 |
# | the same, renormalised | yes | hidden, up to rounding errors | `nan`, or silently wrong |
# | $-\infty$ before softmax | yes | hidden, exactly | no effect |
#
# A sequence of $T$ tokens gives $T$ training examples at once, and the **causal mask** hides their answers. With this
# mask, a head can average or count; with a default token and a hidden diagonal, it can find an earlier copy.
#
# **Next.** [Chapter 4](04_dropout_and_the_causal_class.ipynb) builds the mask into a class and adds dropout. All
# chapters: [the course's contents](../README.md#chapters).
