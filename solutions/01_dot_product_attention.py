# ---
# jupyter:
#   course:
#     summary: a word that needs the others; queries, keys, values and softmax
# ---

# %% [markdown]
# # Chapter 1 · Dot-product attention
#
# **After this chapter you can**
#
# * explain what a query, a key and a value are for, and tell from a context vector what a word took from the others;
# * say when attention picks out one word, and when it averages all words;
# * write attention in three lines of PyTorch, and design embeddings so that chosen words attend to each other.
#
# **Time.** About 85 minutes, exercises included (all times are estimates). **You need** Python, a little PyTorch
# (making a tensor, reading its shape, picking rows, `@` and `.T`), and a little mathematics (vectors, sums, the
# exponential function).
#
# Run the cells from top to bottom (Shift + Enter). The first cell finds the course's helper package or installs it.

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
from matplotlib.figure import Figure

from course_utils import live, pictures
from course_utils.checking import answer, check, hint, progress, quiz, solution
from course_utils.layer_drawing import show_layer

# %% [markdown]
# ## A word that cannot be understood alone
#
# *The cat chased the mouse because it was hungry.* Who was hungry?
#
# The cat, of course. The word "it" did not tell you; the words around it did. A model faces the same problem. For each
# **token** (here, each word), it sees one vector, the token's **embedding**, and the embedding of "it" is the same in
# every sentence. To understand "it", the model must use the other words. In **attention**, each word gets a new vector,
# a mixture of the vectors of all words.
#
# Here are embeddings whose numbers have names. We made these embeddings up; a real model learns hundreds of unnamed
# numbers per token.

# %% name="meaning"
axes = ["animal", "hunts", "action", "feeling"]
# on their own, these words carry no information:
meaning = dict.fromkeys(["the", "because", "it", "was"], [0.0, 0.0, 0.0, 0.0])
meaning |= dict.fromkeys(["cat", "fox"], [1.0, 1.0, 0.0, 0.0])  # an animal that hunts
meaning |= dict.fromkeys(["mouse", "hen"], [1.0, -1.0, 0.0, 0.0])  # an animal that is hunted
meaning |= dict.fromkeys(["chased", "slept"], [0.0, 0.0, 1.0, 0.0])
meaning |= dict.fromkeys(["hungry", "afraid"], [0.0, 0.0, 0.0, 1.0])


def embedded(words):
    """The embeddings of T words, shape (T, 4)."""
    return torch.tensor([meaning[word] for word in words])


story = "the cat chased the mouse because it was hungry".split()
print(embedded(story).shape)

# %% [markdown]
# There are nine words with four numbers each. The row for "it" is all zeros: on its own, the word says nothing.
#
# ## Looking something up
#
# What must "it" find? Hungry animals hunt, so "it" should look for an animal that hunts. In Python, you look things up
# in a `dict`.

# %% name="dictionary"
animals = {"hunts": "cat", "is hunted": "mouse"}
print(animals["hunts"])
print(animals.get("hunts a little"))

# %% [markdown]
# A dict compares your request with its keys. If a key matches exactly, you get its value; otherwise you get nothing.
# Attention is a *soft* lookup: it compares your request with all keys and returns a mixture of all values, mostly those
# whose keys match best.
#
# * The **query** says what is looked for.
# * Each token's **key** says how the token can be found.
# * Each token's **value** is what the token passes on.
#
# In this chapter, a token's key and its value are both simply its embedding. We write the query ourselves: "an animal,
# and one that hunts". In chapter 2, each word will make its own.
#
# How well does a query match a key? Multiply the two vectors number by number and add up the products: this sum is the
# **dot product**. Where the signs agree, the product raises the sum; where they differ, it lowers the sum; a zero
# contributes nothing. So the sum is large when the two vectors point the same way, and the longer they are, the larger
# it is. In attention, the dot product is called a **score**, and `@` computes all nine scores at once.

# %% name="story-scores"
query = torch.tensor([2.0, 2.0, 0.0, 0.0])  # an animal, and one that hunts
story_scores = embedded(story) @ query  # (9, 4) @ (4,) -> (9,)
for word, score in zip(story, story_scores.tolist()):
    print(f"{word:8} {score:4.1f}")

# %% [markdown]
# "cat" scores 2 · 1 + 2 · 1 = 4. "mouse" scores 2 · 1 + 2 · (−1) = 0: it is an animal, but it does not hunt. The other
# words have nothing in common with the query and also score 0. Here are the query, "cat" and "mouse" as arrows (you
# need not read the code):

# %% name="arrows-picture" shows="Three arrows from the origin of a plane with the axes animal and hunts. The query goes to (2, 2). The arrow of cat, to (1, 1), points the same way. The arrow of mouse, to (1, -1), is at a right angle to both, which a small square marks."
figure = Figure(figsize=(5.2, 3.4), layout="constrained")
plane = figure.subplots()
plane.set(xlim=(0, 4.2), ylim=(-1.3, 2.3), xlabel="animal", ylabel="hunts", aspect="equal")
arrows = {"query": ("#0072b2", (2, 2)), "cat": ("#d55e00", (1, 1)), "mouse": ("#009e73", (1, -1))}
for name, (colour, tip) in arrows.items():
    wide, alpha = (7, 0.4) if name == "query" else (2, 1)
    look = {"color": colour, "width": wide, "headwidth": 7 + wide, "alpha": alpha}
    plane.annotate("", tip, (0, 0), arrowprops=look)
    score = "" if name == "query" else f": query · {name} = {2 * tip[0] + 2 * tip[1]}"
    plane.annotate(name + score, tip, (8, -4), textcoords="offset points")
plane.plot([0.2, 0.4, 0.2], [0.2, 0, -0.2], color="black", linewidth=1)  # a right angle
pictures.show(figure)

# %% [markdown]
# The cat's arrow points the same way as the query. The mouse's arrow is at right angles to the query; its score is 0.
#
# Next, **softmax** turns the scores into **weights**, positive shares that sum to 1. The larger a score, the larger its
# weight. (The formula comes later; you do not need it yet.) With these weights we mix the values. "it" went in as four
# zeros. What will "it" become?

# %% name="story-context"
story_weights = torch.softmax(story_scores, dim=0)
print("cat", story_weights[1], "mouse", story_weights[4])
it_in_context = story_weights @ embedded(story)  # (9,) @ (9, 4) -> (4,)
for axis, number in zip(axes, it_in_context.tolist()):
    print(f"{axis:8} {number:.4f}")

# %% [markdown]
# "cat" gets a weight of 0.8722 and every other word 0.0160: even a score of 0 gets a share. In the mixture, "it" has
# become animal 0.8882, hunts 0.8562, and very little else: *an animal that hunts*. "it" took this from "cat".
#
# This new vector, the **context vector** of "it", holds what the word has taken from the sentence.
#
# ### Between two limits
#
# What if we ask more softly, or more loudly? We multiply the query by a number; with 0, it asks for nothing.

# %% [markdown]
# **Question 1.1.** What context vector does a query of zeros give? Before you run the next cell, replace its question
# mark with a letter.
#
# * **a** Four zeros: asking for nothing returns nothing.
# * **b** The average of all nine embeddings.
# * **c** The embedding of "it".

# %% name="question-1-1"
answer("Q1.1", "b")

# %% name="limits" tags=["answers-Q1.1"]
for loudness in [0, 0.5, 1, 5]:
    weights = torch.softmax(embedded(story) @ (loudness * query), dim=0)  # (9,)
    animal, hunts, *_ = (weights @ embedded(story)).tolist()
    print(f"times {loudness:3}: cat gets {weights[1]:.4f}; animal {animal:.4f}, hunts {hunts:.4f}")

# %% [markdown]
# With 0, all scores are equal, so each weight is one ninth, and the context vector is the plain **average** of the
# sentence. ("hunts" is 0.0000 because "cat" and "mouse" cancel out.) With 5, "cat" gets all the weight, to four digits:
# this is a **lookup**, as in a dict. Attention lies between these limits. Where it lies depends on the gaps between the
# scores: here "cat" leads by 0, 2, 4 and 20 in turn.
#
# What if several words match? We now ask only for "an animal".

# %% name="both-animals"
any_animal = torch.tensor([2.0, 0.0, 0.0, 0.0])
weights = torch.softmax(embedded(story) @ any_animal, dim=0)
print("cat", weights[1], "mouse", weights[4])
print(weights @ embedded(story))

# %% [markdown]
# "cat" and "mouse" get 0.3393 each, so "it" takes equally from both. Its "animal" entry is 0.6786, but its "hunts"
# entry is 0.0000: whether "it" hunts remains open.
#
# ### If you get stuck
#
# When an answer is wrong, `check` says what it found and asks you a question. After that, `hint("1.1")` says more
# each time you run it. `solution("1.1")` becomes available after a right answer, all hints, or three different
# attempts. If `check` offers you a quiz, `quiz("1.2")` asks about your own code. Type these calls into any cell.

# %% [markdown]
# ### Exercise 1.1 · A query that finds the hunted
# 1 point · ★☆☆ · 5 minutes
#
# *The cat chased the hen because it was afraid.* Now "it" must find the hen. Write a query that gives at least nine
# tenths of the weight to the hunted animals combined. This must hold in every sentence that contains a hunted animal
# (up to ten words, from the twelve above; repeats allowed). Many queries work. Replace the dots, run the cell, then run
# the check. (The two cells after the check let you try out queries.)

# %% name="exercise-1-1"
def my_query():
    """A query (4,) for hunted animals. Its numbers: animal, hunts, action, feeling."""
    ### BEGIN SOLUTION
    return torch.tensor([3.0, -3.0, 0.0, 0.0])  # mouse and hen score 6, all others 0
    ### END SOLUTION

# %% name="check-1-1"
### BEGIN HIDDEN TESTS
assert check("1.1", my_query).status == "right"
### END HIDDEN TESTS
check("1.1", my_query)

# %% [markdown] tags=["solution"]
# **Why it works.** The query's direction says what to look for: animals, with a minus sign to keep hunters out. Its
# **norm**, the length of its arrow, decides how sharp the weights are: `[1, -1, 0, 0]` points the same way, but gives
# the mouse a score of only 2, and then eight words with score 0 get about half of the weight.

# %% name="play-1-1"
from course_utils.play import show_puzzle

show_puzzle("1.1")  # try out numbers here, then copy them into your answer

# %% name="try-1-1"
live.try_head(
    lambda words: torch.softmax(embedded(words) @ my_query(), dim=0),
    "the cat chased the hen because it was afraid",
)

# %% [markdown]
# ## The same steps, number by number
#
# Where does the query come from if nobody writes it? And what if all words ask at once? We take six words with three
# numbers each, few enough to check every step by hand: *Your journey starts with one step*. They come from the texts
# this course builds on, and we use them until chapter 5. The numbers are arbitrary; what counts is that you can
# recompute every result.

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
# The shape is $(T, d_\mathrm{in})$: $T$ tokens with $d_\mathrm{in}$ numbers each. Formulas count tokens from 1, so
# "journey" is $x^{(2)}$. Python counts from 0, so the same vector is `inputs[1]`.
#
# So far, we have written the query ourselves, because we knew what to look for. In **self-attention**, the sentence
# queries itself: each query comes from one of its words. In the simplest form, the query of "journey" is the embedding
# of "journey": each word looks for words like itself. That is seldom what a word needs ("it", all zeros, would get only
# an average), so in chapter 2, pronouns are no longer zero, and a matrix turns each embedding into a query. The other
# steps stay the same, and we practise them here.
#
# The score of query $i$ against key $j$ is written $\omega_{ij}$ (omega). We compute the scores of "journey" one by
# one.
#
# $$\omega_{2j} = q \cdot x^{(j)}, \qquad q = x^{(2)}$$

# %% name="scores-loop"
query = inputs[1]  # q, the vector of "journey"
scores_2 = torch.empty(6)
for j, x_j in enumerate(inputs):
    scores_2[j] = torch.dot(query, x_j)
print(scores_2)  # the same as inputs @ query

# %% [markdown]
# "journey" scores highest with itself, 1.4950, closely followed by "starts", 1.4754: their two vectors are nearly the
# same. "one" has small numbers where "journey" has large ones, and scores lowest, 0.7070.
#
# ### From scores to shares
#
# The weights, written $\alpha_{ij}$ (alpha), must be **shares**: not negative, with a sum of 1. A first idea is to
# divide the scores by their sum.

# %% name="weights-by-sum"
weights_by_sum = scores_2 / scores_2.sum()
print("Attention weights:", weights_by_sum)
print("Sum:", weights_by_sum.sum())

# %% [markdown]
# These are shares, but only because all six scores are positive. What if some are negative?

# %% name="negative-scores"
signed = torch.tensor([2.0, -1.0, -0.5])
print(signed / signed.sum())

# %% [markdown]
# One share is 400%, and two are negative. So we first make every score positive with the exponential function, which
# keeps the order: a score larger by 1 always gives a number $e$ ≈ 2.7 times as large. Then we divide by the sum. This
# is **softmax**.
#
# $$\alpha_{2j} = \frac{\exp(\omega_{2j})}{\sum_{k} \exp(\omega_{2k})}$$

# %% name="softmax-by-hand"
print(torch.exp(signed) / torch.exp(signed).sum())
print(torch.softmax(signed, dim=0))

# %% [markdown]
# The score 2 now has a share of 0.8835, the negative scores have small positive shares, and `torch.softmax` agrees.
# (`dim=0` is the dimension along which the weights sum to 1.) Now we compute the weights of "journey":

# %% name="weights-softmax"
weights_2 = torch.softmax(scores_2, dim=0)
print("Attention weights:", weights_2)
print("Sum:", weights_2.sum())

# %% [markdown]
# "journey" gives 0.2379 of its attention to itself, 0.2333 to "starts", and the least, 0.1082, to "one".

# %% [markdown]
# ### The context vector
#
# Multiply each value by its weight and add up the products. The context vector of "journey" is written $z^{(2)}$:
#
# $$z^{(2)} = \sum_{j} \alpha_{2j}\, x^{(j)}$$

# %% name="context-loop"
context_2 = torch.zeros(3)
for j, x_j in enumerate(inputs):
    context_2 += weights_2[j] * x_j
print(context_2)
print(weights_2 @ inputs)  # (6,) @ (6, 3) -> (3,)

# %% [markdown]
# "journey" went in as 0.55, 0.87, 0.66 and came out as 0.4419, 0.6515, 0.5683. Its own vector has a weight of only
# 0.2379; the rest goes to the other five. Since the weights are shares, each number of the result lies between the
# smallest and the largest of its column in `inputs`.
#
# Score, softmax, mix: these three steps are **dot-product attention**. The next figure shows them side by side, and you
# can change its numbers. Predict first: if you choose "one" as the query, which word will get the *smallest* weight?
# (Hint: where "one" has its largest number, which word has the smallest?)

# %% name="query-steps-live"
live.show_query_steps(inputs, tokens)

# %% [markdown]
# Read each word's row from left to right: the score becomes a weight, and the weight says how much of the word goes
# into the context vector at the bottom. Steps 1 and 2 show the words as arrows. (Click a word to make it the query.
# Drag a number, or select it and press + or −.) For "one", the smallest weight goes to "step", which has only 0.05
# where "one" has 0.77.
#
# Try this: make "journey" the query, and raise its second number. Which score grows fastest? (That of "journey" itself:
# the number is multiplied by itself.) Then lower this number below 0. Is a weight ever negative? (No: an exponential is
# always positive.)

# %% [markdown]
# ### Very large scores
#
# The formula has a weakness. `exp(1000)` is larger than any number that a 32-bit float can hold, so it becomes
# infinity, and infinity divided by infinity is `nan`, "not a number".

# %% name="large-scores"
large = torch.tensor([1000.0, 1001.0, 1002.0])
print(torch.exp(large) / torch.exp(large).sum())
print(torch.softmax(large, dim=0))

# %% [markdown]
# Our formula gives `nan` three times; `torch.softmax` does not. How does it avoid `nan`? As a clue, suppose that every
# score of "journey" were 10 higher.

# %% [markdown]
# **Question 1.2.** What would happen to the six weights?
#
# * **a** They would all grow.
# * **b** They would stay the same.
# * **c** The largest would grow and the others would shrink.

# %% name="question-1-2"
answer("Q1.2", "b")

# %% name="shifted-softmax" tags=["answers-Q1.2"]
print(torch.softmax(scores_2 + 10, dim=0))
print(torch.softmax(scores_2, dim=0))

# %% [markdown]
# The weights are the same: every exponential grows by the same factor, and the division cancels it. Softmax depends
# only on the *differences* between scores. So we may subtract the same number from all scores. Which number would make
# `large` harmless?

# %% [markdown]
# ### Exercise 1.2 · A softmax that survives large scores
# 2 points · ★★☆ · 10 minutes
#
# Write softmax from scratch with `torch.exp` and sums. It must survive scores of any size: very large ones, very
# negative ones, and both at once. A score of $-\infty$ must get the weight 0. (In exercises like this one, `check`
# looks only at results, so it would accept `torch.softmax` here, but then you would not learn how softmax survives.)
#
# In every exercise of the course, never modify a function's arguments: return something new.

# %% name="exercise-1-2"
def my_softmax(scores):
    """Weights (T,) that are positive or zero and sum to 1, from scores (T,) of any size."""
    ### BEGIN SOLUTION
    exponentials = torch.exp(scores - scores.max())  # the largest exponent is 0
    return exponentials / exponentials.sum()
    ### END SOLUTION

# %% name="check-1-2"
### BEGIN HIDDEN TESTS
assert check("1.2", my_softmax).status == "right"
### END HIDDEN TESTS
check("1.2", my_softmax)

# %% [markdown] tags=["solution"]
# **Why it works.** After the *largest* score is subtracted, no exponent is above 0, so nothing overflows; and one
# exponent is exactly 0, so the sum is at least 1. Subtracting the mean, the first score or a fixed 1000 works for
# `large`, but fails when scores lie far apart or are very negative.

# %% [markdown]
# ## All six tokens at once
#
# Every token can ask. For six queries we need $6 \times 6$ scores, and one matrix product gives them all: row $i$ holds
# the scores of query $i$.

# %% name="all-scores"
scores = inputs @ inputs.T  # queries @ keys.T: (6, 3) @ (3, 6) -> (6, 6)
print(scores)

# %% [markdown]
# Row 2 belongs to "journey": 0.9544, 1.4950 and so on. Column 2 holds the same numbers, because $a \cdot b = b \cdot
# a$. The matrix is its own mirror image: it is **symmetric**.
#
# Should softmax run along each row or down each column? A row belongs to one query, and its shares must sum to 1. So
# softmax runs along the last dimension, `dim=-1`.

# %% name="all-weights"
weights = torch.softmax(scores, dim=-1)  # (6, 6), every row sums to 1
print(weights)

# %% [markdown]
# We check that the rows sum to 1, first with the printed digits of row 2, then with the tensor itself.

# %% name="row-sums"
print("Row 2 sum:", sum(round(weight, 4) for weight in weights[1].tolist()))
print("All row sums:", weights.sum(dim=-1))

# %% [markdown]
# Every row sums to 1. Here is the same matrix as a picture. (In all chapters, the colour scale runs from 0 to 1.)

# %% name="weights-picture" shows="Heat map of the six by six attention weights. All cells lie between 0.09 and 0.24, so the map is nearly one dark colour; in most rows the columns journey and starts are the brightest. Every row sums to 1.00."
pictures.show_weights(
    weights, tokens, title="Attention weights of the raw embeddings",
)

# %% [markdown]
# These weights lie between 0.0988 and 0.2379: nobody has trained these embeddings to look for anything. Still, the
# columns of "journey" and "starts" are a little brighter. If each word looks for words like itself, does each find
# itself? We print what each word attends to most, and the **norm** of each vector, its length.

# %% name="favourites"
for token, favourite in zip(tokens, weights.argmax(dim=-1)):
    print(f"{token:8} attends most to {tokens[favourite]}")
norms = inputs.norm(dim=-1, keepdim=True)  # (6, 1)
print("norms:", norms.T)
same_norm = inputs / norms  # (6, 3), every row of norm 1
print("with norm 1:", torch.softmax(same_norm @ same_norm.T, dim=-1).argmax(dim=-1))

# %% [markdown]
# No: four of the six rows choose "journey", and three of those prefer it to their own word. The reason is its norm, the
# largest at 1.2227: a vector of large norm scores high with every query that points roughly the same way. ("one"
# chooses "starts", whose norm is slightly smaller but whose direction is closer.) When all norms are 1, as in the last
# line, every row chooses itself (indices 0 to 5): at equal norms, the dot product is largest for the same direction.
#
# In the last step, every row of weights mixes the same six vectors.

# %% name="all-context"
context = weights @ inputs  # weights @ values: (6, 6) @ (6, 3) -> (6, 3)
print(context)
print("Previous 2nd context vector:", context_2)

# %% [markdown]
# Row 2 is the context vector that the loop computed. In each column, the rows differ by less than 0.1, because their
# weights are so similar.

# %% name="layer-drawing" shows="Drawing of the data flow, from top to bottom. The inputs, T tokens of d_in numbers, serve as queries, keys and values. Queries times keys are scores, T by T; softmax turns them into weights, T by T; a weighted sum of the values gives the context, T by d_in."
show_layer("scores")

# %% [markdown]
# Scores say which words match, softmax turns scores into shares, and the shares set how the values are mixed. This
# drawing grows with each chapter until chapter 5.

# %% [markdown]
# The next exercise puts the three steps into one function. Two optional steps lead up to it.
#
# **Step 1.1.** Three of these five lines make up attention. Write their letters in the right order, as in `"a b c"`.
#
# ```
# a   softmax along each row
# b   values times weights
# c   queries times ...
# d   weights times values
# e   softmax down each column
# ```

# %% name="step-1-1"
answer("S1.1", "c a d")

# %% [markdown]
# **Step 1.2.** What does line c multiply the queries by, for `queries` (T_q, d) and `keys` (T_k, d)?

# %% name="step-1-2"
answer("S1.2", "keys.T")

# %% [markdown]
# ### Exercise 1.3 · Attention in one function
# 2 points · ★★☆ · 10 minutes
#
# So far, each sentence has attended only to itself. But when a model translates, the translation attends to the
# original. Write attention for queries from one sentence, $T_q$ words long, and keys and values from another, $T_k$
# words long. The values have their own width, $d_v$. Scores may be very large.

# %% name="exercise-1-3"
def my_attention(queries, keys, values):
    """Context vectors (T_q, d_v) of queries (T_q, d), keys (T_k, d) and values (T_k, d_v)."""
    ### BEGIN SOLUTION
    scores = queries @ keys.T  # (T_q, d) @ (d, T_k) -> (T_q, T_k)
    weights = torch.softmax(scores, dim=-1)  # (T_q, T_k), every row sums to 1
    return weights @ values  # (T_q, T_k) @ (T_k, d_v) -> (T_q, d_v)
    ### END SOLUTION

# %% name="check-1-3"
### BEGIN HIDDEN TESTS
assert check("1.3", my_attention).status == "right"
### END HIDDEN TESTS
check("1.3", my_attention)

# %% [markdown] tags=["solution"]
# **Why it works.** Row $i$ of `queries @ keys.T` holds the scores of query $i$ against all keys, so softmax runs
# along the last dimension. No number of tokens is hard-coded: the shapes follow from the arguments.

# %% [markdown]
# ### Exercise 1.4 · Two groups that keep to themselves
# 2 points · ★★☆ · 10 minutes
#
# Now you design the embeddings, so that each group of words attends to itself. Each word's embedding serves as query,
# key and value: the scores are `table @ table.T`, as for the six words. Write a table with a row for each of the words
# below: two animals, two foods, "the" and "and". In every sentence that contains an animal and a food (up to eight
# words, repeats allowed),
#
# * an animal must divide its attention evenly among the animals and give at most a tenth to all other words combined;
# * a food must do the same among the foods;
# * "the" and "and" must attend to all words equally.
#
# Choose any number of columns.

# %% name="exercise-1-4"
words = ["cat", "mouse", "bread", "cheese", "the", "and"]


def my_embeddings():
    """A table (6, d) with the embeddings of `words`, in that order, for any d."""
    ### BEGIN SOLUTION
    animal, food, filler = [3.0, 0.0], [0.0, 3.0], [0.0, 0.0]
    return torch.tensor([animal, animal, food, food, filler, filler])  # (6, 2)
    ### END SOLUTION

# %% name="check-1-4"
### BEGIN HIDDEN TESTS
assert check("1.4", my_embeddings).status == "right"
### END HIDDEN TESTS
check("1.4", my_embeddings)

# %% [markdown] tags=["solution"]
# **Why it works.** All words of a group have the same vector, so they score the same with each other and get equal
# weights. The two groups' vectors are at right angles, so they score 0 with each other. With a norm of 3, scores within
# a group are 9, far enough above 0. A vector of zeros scores 0 with every word. (One number per word is enough: 3, 3,
# −3, −3, 0, 0.)

# %% name="play-1-4"
from course_utils.play import show_puzzle

show_puzzle("1.4")  # try out numbers here, then copy them into your answer

# %% name="try-1-4"
def my_weights(sentence):
    """Weights (T, T) of a sentence of T words, each embedded as its row of my_embeddings()."""
    inputs = my_embeddings()[[words.index(word) for word in sentence]]  # (T, d)
    return torch.softmax(inputs @ inputs.T, dim=-1)


live.try_head(my_weights, "the cat and the mouse bread and cheese")

# %% [markdown]
# No table can make "cat" score "bread" high but "bread" score "cat" low: the scores are symmetric. Chapter 2 breaks the
# symmetry.
#
# ## Does attention know the order of words?
#
# We shuffle the sentence and compute the context vector of "journey" again.

# %% [markdown]
# **Question 1.3.** What happens to the context vector?
#
# * **a** It stays the same.
# * **b** Its three numbers change, because the weights come in a different order.
# * **c** It becomes another word's context vector, because "journey" has moved.

# %% name="question-1-3"
answer("Q1.3", "a")

# %% name="shuffled" tags=["answers-Q1.3"]
shuffled = inputs[[5, 0, 3, 1, 4, 2]]  # step Your with journey one starts
print(torch.softmax(shuffled @ query, dim=0) @ shuffled)

# %% [markdown]
# It is the same vector, because a sum does not depend on the order of its terms. To this kind of attention, a sentence
# is a bag of words. Chapter 5 adds positions.
#
# ## How far back does attention reach?
#
# Before attention, many language models were recurrent networks: they read token by token and kept all they had read in
# one vector, the **state**. How much of the *first* word is left in the state at the end? We change that word a little
# and measure how far the result moves: this is the word's **influence**. Which will keep more of this influence over
# 120 tokens, the state or attention? (You need not read the code.)

# %% name="influence"
torch.manual_seed(123)
U, W = (torch.rand(2, 3, 3) - 0.5).double()  # from token to state; from state to state


def last_state(sequence, times=1):
    """The last state (3,) of a recurrent network that reads a sequence (T, 3)."""
    h = torch.zeros(3, dtype=torch.float64)
    for x_t in sequence:
        h = torch.tanh(x_t @ U + h @ (times * W))
    return h


def last_context(sequence):
    """The context vector (3,) of the last token of a sequence (T, 3)."""
    return torch.softmax(sequence @ sequence[-1], dim=0) @ sequence

# %% name="lengths"
for copies in [1, 4, 20]:
    sequence = inputs.double().repeat(copies, 1)  # (6 * copies, 3)
    changed = sequence.clone()
    changed[0] += 0.01  # each number of the first word
    state = (last_state(changed) - last_state(sequence)).norm()
    louder = (last_state(changed, times=3) - last_state(sequence, times=3)).norm()
    context_vector = (last_context(changed) - last_context(sequence)).norm()
    print(f"{len(sequence):3} tokens: recurrent network {state:.1e},"
          f" with 3W: {louder:.1e}, attention {context_vector:.1e}")

# %% [markdown]
# In this recurrent network, the first word fades: its influence is 1.0e-04 over 6 tokens, 3.8e-11 over 24, and 0.0e+00
# over 120, lost in rounding. A larger $W$ keeps more of the state: with $3W$, the word has more influence over 6 and 24
# tokens than in attention, but only 3.3e-08 over 120. In attention, every word is one step away, however far back. Its
# influence falls only because more words share the weight: over 120 tokens, 1.3e-04 is left. The price is the number of
# scores, which is the square of the length: 36 for 6 tokens, 14,400 for 120.

# %% [markdown]
# ## What you can do now
#
# Answer three final questions without looking back.

# %% [markdown]
# **Question 1.4.** In *The cat chased the mouse because it was hungry*, "it" has the context vector animal 0.1, hunts
# 0.0, feeling 0.9. What did "it" do?
#
# * **a** It asked for an animal and found two.
# * **b** It gave most of its weight to "hungry".
# * **c** It gave the same weight to all words.

# %% name="question-1-4"
answer("Q1.4", "b")

# %% [markdown]
# **Question 1.5.** "journey" attends to the six words of *Your journey starts with one step*. Then all six embeddings
# are multiplied by 10, and so is the query. What happens to the weights of "journey"?
#
# * **a** They stay the same, since softmax depends only on differences.
# * **b** They come closer to an average over all words.
# * **c** They come closer to a lookup of one word.

# %% name="question-1-5"
answer("Q1.5", "c")

# %% [markdown]
# **Question 1.6.** With 5 queries and 7 keys, which way does softmax run?
#
# * **a** Along each row of the (5, 7) matrix, so that each query's weights sum to 1.
# * **b** Down each column, so that each key's weights sum to 1.
# * **c** Over all 35 scores, so that the whole matrix sums to 1.

# %% name="question-1-6"
answer("Q1.6", "a")

# %% [markdown]
# Your exercises so far:

# %% name="progress"
progress(1)

# %% [markdown]
# ## Takeaways
#
# | step | formula | code | shape |
# | --- | --- | --- | --- |
# | scores | $\omega_{ij} = x^{(i)} \cdot x^{(j)}$ | `scores = inputs @ inputs.T` | (T, T) |
# | weights | $\alpha_{ij} = \exp(\omega_{ij}) / \sum_k \exp(\omega_{ik})$ | `weights = torch.softmax(scores, dim=-1)` | (T, T) |
# | context vectors | $z^{(i)} = \sum_j \alpha_{ij}\, x^{(j)}$ | `context = weights @ inputs` | (T, d_in) |
#
# A **query** says what is looked for, a **key** how a token can be found, and a **value** what the token passes on.
# Equal scores give an average; one score far above the rest gives a lookup. Any two tokens are one step apart, and
# their order makes no difference.
#
# **Next.** Here, one vector had to be query, key and value, and there was nothing to train. [Chapter
# 2](02_trainable_weights.ipynb) gives each of the three a matrix of its own. All chapters: [the course's
# contents](../README.md#chapters).
