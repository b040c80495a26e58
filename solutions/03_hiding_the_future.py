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
# * hide the future from every token, for one sentence and for a batch, and say why $-\infty$ goes in before softmax;
# * design a head that reads only what came before: an average so far, a share, "has this occurred already?";
# * test whether a layer that you did not write leaks.
#
# **Time.** About 90 minutes, exercises included. **You need** chapters 1 and 2: scores, softmax, queries, keys, values,
# and what a derivative is.
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
import torch.nn.functional as F
from torch import nn
from torch.autograd.functional import jacobian

from course_utils import live, pictures
from course_utils.attention import SelfAttention_v2
from course_utils.checking import answer, check, hint, progress, review, solution
from course_utils.layer_drawing import show_layer

# %% [markdown]
# ## From memory
#
# Write a word or a number in place of each question mark, without looking back.
#
# **From memory 3.1.** A query and a key have 16 numbers each. By what is their score divided?

# %% name="memory-3-1"
answer("M3.1", "4")

# %% [markdown]
# **From memory 3.2.** Which of the three matrices decides what a token hands over?

# %% name="memory-3-2"
answer("M3.2", "W_value")

# %% [markdown]
# **From memory 3.3.** Scores of the shape (5, 7), a row per query: softmax along which `dim`?

# %% name="memory-3-3"
answer("M3.3", "-1")

# %% name="review"
review()

# %% [markdown]
# ## Why hide anything?
#
# Think of a model that *writes*: it reads tokens and predicts the next one. In the simplest case a token is one
# character. The list of all different ones is the **vocabulary**, and a token's number is its place in that list. What
# does a model learn from "But they"? After each token it has to say what comes next.

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
# 35 characters, 19 different ones.
#
# Eight tokens make eight exercises, and all can be done at once. The trouble: all answers but the last stand among these
# tokens, each one position to the right of its question. A model that may look there learns to copy, as we shall see.
#
# ## The plainest mix: an average
#
# Training takes several sequences at once, a batch $(B, T, d_\mathrm{in})$: $B$ sequences of $T$ tokens, each an
# embedding of $d_\mathrm{in}$ numbers. Ours are the first four pieces of the sentence, of eight characters each. Two
# numbers per character say what we can read ourselves: is it a vowel, and is it a space?

# %% name="batch"
B, T, d_in = 4, 8, 2
pieces = [text[T * b:T * (b + 1)] for b in range(B)]
batch = torch.tensor([[[letter in "aeiou", letter == " "] for letter in piece] for piece in pieces])
batch = batch.float()  # (B, T, d_in): 1 for yes, 0 for no
print(pieces)
print(batch[0])  # of "But they"

# %% [markdown]
# Now give every pair of characters the same score, 0. Softmax makes even shares of them, one eighth each, and we mix.

# %% name="uniform-weights"
weights = torch.softmax(torch.zeros(T, T), dim=-1)  # (T, T), every row sums to 1
print(weights[0])
mixed = weights @ batch  # (T, T) @ (B, T, d_in) -> (B, T, d_in)
print(mixed[0, :, 0])  # "But they", vowels

# %% [markdown]
# `@` multiplies the last two dimensions and repeats that for every sequence. In "But they" two of eight characters are
# vowels, so all eight rows say 0.2500, the average of all eight. The first character, "B", too, has averaged over the
# seven that come after it. It has read the answers.
#
# ## Only what came before
#
# Token 1 may use itself only, token 2 the first two, and so on. `torch.tril` ("triangle, lower") makes that matrix, a
# **mask**. Attention that obeys it is **causal**.

# %% name="tril"
visible = torch.tril(torch.ones(T, T))
print(visible)

# %% [markdown]
# How do we give a score the message "no weight at all"? A score of 0 will not do: $\exp(0) = 1$, a share like any
# other. But $\exp(-\infty)$ is exactly 0. So we write $-\infty$ wherever the mask has a 0: `masked_fill` returns
# a new tensor, with its second argument where the first is `True`.

# %% name="minus-infinity"
scores = torch.zeros(T, T).masked_fill(visible == 0, -torch.inf)
print(scores)
weights = torch.softmax(scores, dim=-1)  # (T, T), every row sums to 1
print(weights)

# %% [markdown]
# Row 3 shares among three tokens, 0.3333 each, and the future gets 0.0000. What becomes of
# the vowels of "But they" with these weights?

# %% name="causal-uniform-mix"
running = weights @ batch  # (T, T) @ (B, T, d_in) -> (B, T, d_in)
print(batch[0, :, 0])
print(running[0, :, 0])

# %% [markdown]
# "B" has read only itself, no vowel. At "u" one of two characters is a vowel, 0.5000. The share falls to 0.1667, rises
# to 0.2857 at "e", two of seven, and ends at 0.2500, the average of all eight as before. So equal scores and a mask
# compute the **average so far**.
#
# One attention, with its own scores and values, is called a **head**. This was our simplest one; chapter 5 puts several
# side by side.
#
# Does the mask matter? We train scores, from equal ones on, so that each character's mix comes near the *next* one,
# first with nothing hidden. (You need not read the code. Each character is a row of a unit matrix: ones on the diagonal,
# else zeros.)

# %% name="peeking"
places = torch.tensor([[number_of[letter] for letter in piece] for piece in pieces])
letters = torch.eye(19)[places]  # (4, 8, 19)
for hidden in [torch.zeros(T, T).bool(), visible == 0]:
    learned = torch.zeros(T, T, requires_grad=True)  # scores
    for step in range(300):
        weights = torch.softmax(learned.masked_fill(hidden, -torch.inf), dim=-1)  # (T, T)
        errors = (weights @ letters)[:, :-1] - letters[:, 1:]  # (4, 7, 19)
        loss = errors.pow(2).sum(dim=-1).mean()
        loss.backward()
        with torch.no_grad():
            learned -= 10 * learned.grad
        learned.grad = None
    print(f"loss {loss.item():.4f}, weights of token 2:\n{weights[1].detach()}")

# %% [markdown]
# With nothing hidden the loss is nearly 0: token 2 gives 0.9756 of its weight to token 3, the answer. It copies, and
# when the model writes there is nothing to copy. With the mask it cannot: token 2 has only itself and token 1 to mix,
# and the loss ends at 1.2696.

# %% [markdown]
# ## What is an average good for?
#
# Is a bracket still open? Let "(" hand over 1, ")" −1, and all else 0: while one is open, the average so far is above 0.
#
# To design heads we take an alphabet small enough to hold in mind. Its tokens are `<s>`, a, b, c, d, and their
# embeddings are the rows of a unit matrix: each has an axis of its own. Every sequence begins with the start token
# `<s>`, which appears nowhere else.

# %% [markdown]
# ### Exercise 3.1 · A share and a count
# 1 point · ★☆☆ · 5 minutes
#
# Write three matrices for a causal head. It gives each token two numbers about all tokens so far, itself and `<s>`
# included:
#
# * the **share** of "a" among them;
# * 1 divided by how many they are, from which the **count** can be read.
#
# All tokens so far count alike.

# %% name="exercise-3-1"
def my_average():
    """W_query (5, d_k), W_key (5, d_k) and W_value (5, 2). Rows: <s>, a, b, c, d."""
    ### BEGIN SOLUTION
    W_query = torch.zeros(5, 1)  # ask for nothing: all scores are 0
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
# **Why it works.** Equal scores and the mask average all that came so far. The first value is 1 for "a" and 0 for all
# others, so its average is a share. The second is 1 for `<s>` alone. There is always exactly one of those, so its
# average is 1 divided by the number of tokens.

# %% name="play-3-1"
from course_utils.play import show_puzzle

show_puzzle("3.1")  # to play with; then copy your numbers into your answer

# %% [markdown]
# ### Exercise 3.2 · Causal weights for a batch
# 2 points · ★★☆ · 10 minutes
#
# Write a function from scores (already divided by $\sqrt{d_k}$; some are very large) to causal weights. The check tries
# batches of several sizes, so take every size from `scores`. `masked_fill` repeats a (T, T) mask for every sequence.

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
# ### Has it been here before?
#
# With queries and keys a head can ask for more: *has this letter occurred before?* It looks for an earlier copy of
# itself. Two things are in the way.
#
# First, a letter would find itself. So this head hides the diagonal, too: a token sees only what comes *before* it. But
# then the first token sees nothing, and a row without any weight is no use. We let `<s>` see itself.

# %% name="strict-mask"
strict = torch.tril(torch.ones(4, 4), diagonal=-1)  # the diagonal is hidden, too
strict[0, 0] = 1  # except for <s>
print(strict)

# %% [markdown]
# Second, weights sum to 1: where does a letter look that has *not* occurred? It needs something else to look at, and
# the start token serves. Two questions before you write matrices. How high must `<s>` score, beside a letter that fits
# and one that differs? And by how much must a score win? (One that lies 5 above eight others, after the division, gets
# $e^5 / (e^5 + 8)$ of the weight: about 95 %.)

# %% [markdown]
# ### Exercise 3.3 · Has it occurred before?
# 3 points · ★★☆ · 10 minutes
#
# With the tokens of exercise 3.1, write three matrices for a head with this strict mask. (What `<s>` receives does not
# matter.) In every sequence of `<s>` and up to eight letters
#
# * a letter that has occurred gives at least nine tenths of its weight to its earlier copies, evenly, and receives a 1,
#   as closely as the weights allow;
# * a letter that has not gives nine tenths to `<s>`, and receives a 0.

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
# **Why it works.** Three levels of scores: an earlier copy, then `<s>`, then all others. Where there is a copy it wins;
# where there is none, `<s>` wins over the others. The value only says which of the two it was. `<s>` must score below a
# copy and above the rest, each time by enough for softmax.

# %% name="play-3-3"
from course_utils.play import show_puzzle

show_puzzle("3.3")  # to play with; then copy your numbers into your answer

# %% name="try-3-3"
def my_strict_weights(words):
    """Weights (T, T) of your head, each token seeing only those before it."""
    x = torch.eye(5)[[["<s>", "a", "b", "c", "d"].index(word) for word in words]]  # (T, 5)
    W_query, W_key, _ = my_memory()
    visible = torch.tril(torch.ones(len(words), len(words)), diagonal=-1)
    visible[0, 0] = 1  # <s> sees itself
    scores = (x @ W_query) @ (x @ W_key).T / W_key.shape[-1] ** 0.5
    return torch.softmax(scores.masked_fill(visible == 0, -torch.inf), dim=-1)


live.try_head(my_strict_weights, "<s> a b a c b a")

# %% [markdown]
# ## Back to six words
#
# So far we hid the future before softmax. Would it do to set weights to 0 after it, as some code does? We return from
# letters to *Your journey starts with one step*, with chapter 2's layer and seed. First with nothing hidden.

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
# **Question 3.1.** Suppose we now set all weights on the future to 0 and change nothing else. Which rows will sum to
# less than 1, and why?
#
# * **a** All rows: each loses a part of its weight.
# * **b** All rows but the last, which has no future to lose.
# * **c** None: softmax has made every row sum to 1.

# %% name="question-3-1"
answer("Q3.1", "b")

# %% [markdown]
# Mask *after* softmax: multiply the weights by a mask of ones and zeros, and sum the rows.

# %% name="visible-mask" tags=["answers-Q3.1"]
visible_6 = torch.tril(torch.ones(6, 6))  # ones and zeros, as above
masked_after = weights * visible_6
print(masked_after)
row_sums = masked_after.sum(dim=-1, keepdim=True)  # (6, 1)
print(row_sums.T)

# %% [markdown]
# Row 1 sums to 0.1921 and row 2 to 0.3700: no shares any more. So divide each row by its sum. That is called
# **renormalising**.

# %% name="renormalised"
renormalised = masked_after / row_sums  # (6, 6), every row sums to 1 again
print(renormalised)

# %% [markdown]
# "journey" now shares between the two words it may see: 0.5517 for "Your" and 0.4483 for itself.
#
# The other way you know: hide the *scores*. From now on our masks are `True` where a cell is hidden: `torch.triu` with
# `diagonal=1` keeps what lies above the diagonal.

# %% name="masked-before"
future = torch.triu(torch.ones(6, 6), diagonal=1).bool()
masked_scores = scores.masked_fill(future, -torch.inf)
print(masked_scores)
causal_weights = torch.softmax(masked_scores / d_k**0.5, dim=-1)  # (6, 6), every row sums to 1
print(causal_weights)

# %% [markdown]
# Row 2 is 0.5517 and 0.4483 again, and softmax did the dividing.

# %% name="weights-picture" shows="Heat map of the six by six causal weights. Everything above the diagonal is hatched, that is hidden. The first row has one cell of 1.00; each further row has one cell more and lower weights, down to about 0.15 to 0.19 in the last row. Every row sums to 1.00."
pictures.show_weights(
    causal_weights, tokens, title="Causal attention weights", masked=future,
)

# %% [markdown]
# The message: a hatched cell is not a small weight, it is no weight. Each row spreads the same total, 1.00, over one
# word more than the row above. And where the mask stands in the whole layer:

# %% name="layer-drawing" shows="The drawing of chapter 2, now for a batch of B sequences, with one new box: between the scores and the division, hide the future by minus infinity. No shape changes."
show_layer("mask")

# %% [markdown]
# The message: it stands between the scores and softmax, and changes no shape. (Dividing before or after it is the same:
# $-\infty$ divided by $\sqrt{d_k}$ is $-\infty$.) The $B$ in front says that each sequence of a batch goes through the
# same steps.
#
# The two ways agree, and they are one formula. With $s_{ij} = \omega_{ij} / \sqrt{d_k}$, softmax divides every
# $\exp(s_{ij})$ of row $i$ by the same sum $Z_i$, and renormalising cancels it:
#
# $$\frac{\exp(s_{ij}) / Z_i}{\sum_{m \le i} \exp(s_{im}) / Z_i} = \frac{\exp(s_{ij})}{\sum_{m \le i} \exp(s_{im})}$$
#
# But masking after softmax is not always safe. Softmax subtracts the largest score of the row, as in exercise 1.2, and
# that may be a hidden one. A row with the visible scores 0 and 1, and a hidden one that grows:

# %% name="large-hidden-score"
last = torch.tensor([False, False, True])
for hidden_score in [10.0, 103.0, 200.0]:
    row = torch.tensor([0.0, 1.0, hidden_score])
    kept = torch.softmax(row, dim=-1).masked_fill(last, 0)
    before = torch.softmax(row.masked_fill(last, -torch.inf), dim=-1)
    print(f"{hidden_score:5}  sum {kept.sum():.0e}, after: {(kept / kept.sum())[:2]}"
          f"  before: {before[:2]}")

# %% [markdown]
# At 103 the visible weights sum to 7e-45, so little that a 32-bit float rounds them: 0.2000 is wrong, and nothing says
# so. At 200 they become 0, and 0 divided by 0 is `nan`. Masking before softmax never looks at the hidden score: 0.2689,
# three times.
#
# ## A test for leaks
#
# How can we test a mask without knowing the right numbers? A mask is a promise about *outputs*: output $t$ must not
# depend on input $s$ if $s$ comes later. So test the promise: change one word a little, and see which outputs move.
# Here is our layer as a function. We nudge "with", the fourth word. Which rows should move?

# %% name="causal-context"
def causal_context(sequence, diagonal=1):
    """Context vectors (T, d_out) of a sequence (T, d_in); hidden: this diagonal and above."""
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
# Rows 1 to 3 stay as they were, to the last bit. "with" itself and the words after it move: that is what became of
# *one* nudge. The function below does this for every word, with derivatives in place of nudges. In the table that it
# returns, row $t$, column $s$ says how strongly input $s$ moves output $t$; 0 means not at all. (You need not read it.)

# %% name="influences"
def influences(function, sequence):
    """How strongly input s moves output t of function(sequence): (T, T), row t, column s."""
    derivatives = jacobian(function, sequence)  # (T, d_out, T, d_in)
    return derivatives.abs().amax(dim=(1, 3))  # (T, T)

# %% [markdown]
# **Question 3.2.** In how many of the 36 cells does the output of `causal_context` depend on that input?
#
# * **a** 15
# * **b** 21
# * **c** 6

# %% name="question-3-2"
answer("Q3.2", "b")

# %% name="causal-dependencies" shows="Table of six by six cells, rows for outputs and columns for inputs. The lower triangle with the diagonal says yes, 21 cells; all 15 cells above the diagonal hold a dot for no." tags=["answers-Q3.2"]
depends = influences(causal_context, inputs) > 0
pictures.show_dependencies(
    depends, tokens, title="Causal attention",
)

# %% [markdown]
# The message: 21, exactly the lower triangle, and the zeros above it are exact. This table is the **dependency matrix**.
# It speaks of one sentence only, so we try more of them, and a mask with a slip of one.

# %% name="many-sentences"
torch.manual_seed(123)
sentences = [torch.rand(6, 3) for _ in range(20)]
for diagonal in [1, 2]:
    tables = [influences(lambda x: causal_context(x, diagonal), sentence) for sentence in sentences]
    leaks = sum(bool((table.triu(1) > 0).any()) for table in tables)
    print(f"diagonal={diagonal}: leaks in {leaks} of 20")

# %% [markdown]
# With `diagonal=2` every row sums to 1 and nothing fails, and yet each word but the last sees the very one it has to
# predict, in all 20 sentences. That the right mask leaks in *no* sentence has a reason: a hidden score is overwritten
# before softmax reads it.
#
# Now a layer that you did not write. Its author says: "I set the weights on the future to 0, after softmax. So nothing
# can leak."

# %% name="not-ours"
def masked_after_context(sequence, divide=False):
    """Context vectors (T, d_out): softmax, then mask, and no division unless you ask for it."""
    queries, keys = attention.W_query(sequence), attention.W_key(sequence)  # (T, d_out) each
    weights = torch.softmax(queries @ keys.T / keys.shape[-1]**0.5, dim=-1).tril()  # (T, T)
    if divide:
        weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ attention.W_value(sequence)  # (T, T) @ (T, d_out) -> (T, d_out)

# %% [markdown]
# Test it: which call do you make, and which of its 36 numbers decide?

# %% name="your-test"
# your call:

# %% [markdown]
# **Question 3.3.** Does this layer leak?
#
# * **a** No: what has no weight has no influence.
# * **b** Yes: every output but the last depends on words that come after it.
# * **c** Only its first output does: its row of weights lost most.

# %% name="question-3-3"
answer("Q3.3", "b")

# %% name="leak-without-division" tags=["answers-Q3.3"]
print(influences(masked_after_context, inputs))
divided = influences(lambda x: masked_after_context(x, divide=True), inputs)
print("with divide=True, below 1e-8 above the diagonal:", bool((divided.triu(1) < 1e-8).all()))

# %% [markdown]
# It leaks: the numbers above the diagonal decide, and none of the 15 is 0. In row 1 they are about 0.0005, beside
# 0.1008 on the diagonal. The future's weights are 0, but its scores are still in the sum $Z_i$ that softmax divided by.
# With `divide=True` the sum cancels, and what is left, below 1e-8, is rounding: `> 0` would report it, so compare with
# the diagonal, not with 0. The next figure has all four ways. Which of them do you expect to leak?

# %% name="masking-live"
live.show_masking(attention, inputs, tokens)

# %% [markdown]
# The message: the triangle on the right is what counts. A hatched cell on the left has no weight, but the word can have
# an influence all the same: mask after softmax, and every output depends on everything. Renormalise, and the triangle
# is back, up to rounding. Turn the mask off: every row sums to 1, and all 36 cells say yes. Row sums alone prove
# nothing.
#
# ## A row with nothing left
#
# Sequences of unequal length are filled up with empty tokens, **padding**, which nobody should attend to. Suppose
# "Your" were padding: hide its column, too, once with $-\infty$ and once, as some code does, with $-10^9$.

# %% name="padding-at-the-start"
hidden = future.clone()
hidden[:, 0] = True  # nobody may see the first token
for filling in [-torch.inf, -1e9]:
    print(torch.softmax(scores.masked_fill(hidden, filling) / d_k**0.5, dim=-1)[:2])  # (2, 6)

# %% [markdown]
# Row 1 is hidden altogether: 0 divided by 0, `nan`. It spreads, since 0 times `nan` is `nan`: in the next layer every row
# has it. With $-10^9$ all six scores are equal, so softmax makes them even, 0.1667, and the row attends to everything
# that was forbidden. `nan` shows itself, $-10^9$ does not. Better is a mask that leaves something to see in every row.
#
# The last exercise makes one, with three tools. `None` in an index inserts a dimension of size 1. Where one size is 1
# and the other is not, PyTorch repeats along it (**broadcasting**). And masks combine: `|` is or, `&` is and, `~` is
# not.

# %% name="combining-masks"
is_vowel = torch.tensor([[False, True, False], [True, False, False]])  # (2, 3): two sequences
print(is_vowel[:, :, None].shape)
diagonal = torch.eye(3).bool()  # (3, 3)
print((diagonal | is_vowel[:, :, None])[0].int())  # (3, 3) | (2, 3, 1) -> (2, 3, 3)

# %% [markdown]
# In the first sequence the second token is a vowel. Its `True` stands in *row* 2, repeated along that row. If you like,
# come to the exercise in two steps.
#
# **Step 3.1.** `is_padding` has the shape (B, T). Padding hides *keys*, the columns of a table (B, T, T). Which index
# gives it the shape that fits? Fill in: `is_padding[...]`

# %% name="step-3-1"
answer("S3.1", ":, None, :")

# %% [markdown]
# **Step 3.2.** However you made `hidden`, every token must stay visible to itself. Fill in, with `torch.eye(T)`:
# `hidden & ...`

# %% name="step-3-2"
answer("S3.2", "~torch.eye(T).bool()")

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
# Your mask at work, with "Your" as padding: which outputs depend on it?

# %% name="try-layer"
def my_padded_layer(x):
    """Context vectors (1, T, 3) of x (1, T, 3), whose first token is padding."""
    is_padding = torch.arange(x.shape[1])[None] == 0  # (1, T)
    scores = (x @ x.transpose(-2, -1)).masked_fill(my_mask(is_padding), -torch.inf)
    return torch.softmax(scores, dim=-1) @ x


live.try_layer(lambda length, dropout: my_padded_layer, inputs, tokens)

# %% [markdown]
# Its own, and no other: without the first column, this is the triangle of a causal mask.

# %% [markdown]
# ## What you can do now
#
# Two last questions, without looking back.

# %% [markdown]
# **Question 3.4.** Queries and keys of 64 random numbers, all of variance 1, give in most rows nearly all weight to one
# token. Which explanation is true?
#
# * **a** Softmax always picks one winner.
# * **b** Nobody divided: a score adds up 64 products, so scores lie far apart.
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
# ## What to take with you
#
# | way | rows sum to 1 | future | large hidden score |
# | --- | --- | --- | --- |
# | mask after softmax | no | leaks through the sum | rows become 0 |
# | the same, renormalised | yes | hidden, up to rounding errors | `nan`, or silently wrong |
# | $-\infty$ before softmax | yes | hidden, exactly | no effect |
#
# One row of $T$ tokens is $T$ exercises at once; the **causal mask** hides the answers. Behind it, a head can average,
# count, or look for what came before, given a default token to attend to.
#
# **Next.** [Chapter 4](04_dropout_and_the_causal_class.ipynb) puts the mask into a class of its own and adds dropout.
# All chapters: [the course's contents](../README.md#chapters).
