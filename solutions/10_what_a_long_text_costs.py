# ---
# jupyter:
#   course:
#     summary: softmax in pieces, windows, gates, picked keys, a fixed state
# ---

# %% [markdown]
# # Chapter 10 · What a long text costs
#
# **After this chapter you can**
#
# * compute softmax piece by piece, as FlashAttention does, and say what that saves and what it costs;
# * say what a token sees through a sliding window, why models lean on their first token, and how a gate makes that
#   unnecessary;
# * let a cheap scorer pick the keys that a token sees;
# * work out the size of a model's cache from its configuration, and name four ways to shrink it.
#
# **Time.** About 90 minutes, exercises included. **You need** chapters 5 to 7. We use chapter 9's layer, but its rotary
# positions in only one cell.
#
# Run the cells from top to bottom (Shift + Enter). The first cell finds or installs the course's helper package.

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
from torch.autograd.graph import saved_tensors_hooks

from course_utils import families, live, pictures
from course_utils.attention import Attention, LatentAttention, turn_pairs
from course_utils.checking import answer, check, hint, progress, quiz, review, solution
from course_utils.training_bar import with_bar

# %% [markdown]
# ## From memory
#
# Write a word or a number in place of each question mark, without looking back.
#
# **From memory 10.1.** With twice as many tokens, by what factor does the attention weight matrix grow?

# %% name="memory-10-1"
answer("M10.1", "4")

# %% [markdown]
# **From memory 10.2.** What does softmax first subtract from the scores, so that no exponential overflows?

# %% name="memory-10-2"
answer("M10.2", "the largest score")

# %% [markdown]
# **From memory 10.3.** While text is generated token by token, what is stored for each earlier token besides its key?

# %% name="memory-10-3"
answer("M10.3", "its value")

# %% name="review"
review()

# %% [markdown]
# ## Softmax in two halves
#
# A book has some 100,000 tokens. How large is one head's attention weight matrix, at 2 bytes per weight? Guess before
# you run the cell.

# %% name="table-bytes"
for T in [1_000, 10_000, 100_000]:
    print(f"{T:>7,} tokens: {2 * T * T / 1e9:>6.3f} GB")

# %% [markdown]
# That is 20 GB for one head of one layer, and large models have thousands of heads. Nobody stores that, and nobody has
# to: we want context vectors, and the matrix is only an intermediate step. Could we process the keys a few at a time?
#
# Here are one query's scores for six keys, and its context vector.

# %% name="whole-row"
scores = torch.tensor([1.0, 3.0, 2.0, 5.0, 0.0, 4.0], dtype=torch.float64)  # (6,)
values = torch.tensor([[1, 0], [0, 1], [1, 1], [2, 0], [0, 2], [1, 2]]).double()  # (6, 2)
print(torch.softmax(scores, dim=-1) @ values)

# %% [markdown]
# Now we split the keys into two halves of three, apply softmax to each, and average the two context vectors.

# %% name="average-of-halves"
halves = [(scores[:3], values[:3]), (scores[3:], values[3:])]
contexts = [torch.softmax(some, dim=-1) @ theirs for some, theirs in halves]  # 2 times (2,)
print((contexts[0] + contexts[1]) / 2)

# %% [markdown]
# The result is wrong: 1.0287 instead of 1.5437. Each softmax divides by the sum of *its* half, which hides that the two
# largest scores are in the second half. So we do not divide yet, but keep three things for each half: its largest score
# $m$, its total $\ell$, and its mixed values $o$:
#
# $$m = \max_j \omega_j, \qquad \ell = \sum_j e^{\omega_j - m}, \qquad o = \sum_j e^{\omega_j - m}\, v_j$$
#
# At the very end we divide: $o / \ell$ is the context vector.

# %% name="summaries"
def summary(scores, values):
    """Largest score (), total () and mixed values (d,), from scores (S,) and values (S, d)."""
    largest = scores.max()
    shares = torch.exp(scores - largest)  # (S,), 1 for the largest
    return largest, shares.sum(), shares @ values


for some, theirs in halves:
    largest, total, mixed = summary(some, theirs)
    print(f"largest {largest:.0f}, total {total:.4f}, mixed {mixed}")

# %% [markdown]
# The totals are similar, 1.5032 and 1.3746. Can we simply add them?

# %% [markdown]
# **Question 10.1.** The first half counts in units of $e^3$, the second in units of $e^5$. To join them, we count
# everything in units of $e^5$. What must we multiply the first total by?
#
# * **a** 1: it is already a total.
# * **b** $e^{5-3}$, about 7.
# * **c** $e^{3-5}$, about 1/7.

# %% name="question-10-1"
answer("Q10.1", "c")

# %% [markdown]
# ### Exercise 10.1 · Merge two halves
# 2 points · ★★☆ · 10 minutes
#
# Merge the results of two halves, for T queries at once. Return the same three things for both together: `largest`,
# `total`, `mixed`. For any query, one half (never both) may be entirely hidden: `largest` is then $-\infty$, and
# `total` and `mixed` are 0.

# %% name="exercise-10-1"
def my_joined(largest, total, mixed):
    """From largest, total (2, T) and mixed (2, T, d) of two halves: (T,), (T,), (T, d) for both."""
    ### BEGIN SOLUTION
    larger = largest.amax(dim=0)  # (2, T) -> (T,)
    shrink = torch.exp(largest - larger)  # (2, T), 1 where the largest score is
    return larger, (shrink * total).sum(dim=0), (shrink[..., None] * mixed).sum(dim=0)
    ### END SOLUTION

# %% name="check-10-1"
### BEGIN HIDDEN TESTS
assert check("10.1", my_joined).status == "right"
### END HIDDEN TESTS
check("10.1", my_joined)

# %% [markdown] tags=["solution"]
# **Why it works.** $e^{\omega - m}$ times $e^{m - m'}$ is $e^{\omega - m'}$: one factor per half rescales all its
# exponentials from its own largest score to the common one. The half with the larger maximum stays unchanged. A hidden
# half has the factor $e^{-\infty} = 0$. Without the factors every shape is right, but small scores count like large
# ones.

# %% [markdown]
# ## Tile by tile
#
# If two pieces can be merged, so can any number, one after another. A piece is called a **tile**, and softmax computed
# this way is **online softmax** (Milakov and Gimelshein, 2018). Below, `largest`, `total` and `mixed` cover all keys so
# far, at first none. A score is computed when its tile is reached, then discarded.
#
# No mask is stored to hide the future: each tile compares positions.

# %% name="in-tiles"
def in_tiles(queries, keys, values, size, window):
    """Causal attention (T, d), `size` keys at a time. A query sees the last `window` keys."""
    positions = torch.arange(len(keys))
    largest = queries.new_full((len(queries),), -torch.inf)  # (T,), nothing seen yet
    total = mixed = 0.0
    for start in range(0, len(keys), size):
        tile = slice(start, start + size)
        age = positions[:, None] - positions[tile]  # (T, size), below 0 for the future
        scores = queries @ keys[tile].T / keys.shape[-1] ** 0.5  # (T, size)
        scores = scores.masked_fill((age < 0) | (age >= window), -torch.inf)

        larger = torch.maximum(largest, scores.amax(dim=-1))  # (T,)
        shrink = torch.exp(largest - larger)  # (T,)
        shares = torch.exp(scores - larger[:, None])  # (T, size)
        total = shrink * total + shares.sum(dim=-1)  # (T,)
        mixed = shrink[:, None] * mixed + shares @ values[tile]  # (T, d)
        largest = larger
    return mixed / total[:, None]

# %% [markdown]
# The window comes later; for now it is as long as the text. Does this match attention with the whole matrix, whatever
# the tile size?

# %% name="tiles-agree"
def whole(queries, keys, values):
    """Causal attention (T, d) with the whole matrix (T, T)."""
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    future = torch.ones(len(keys), len(keys)).triu(diagonal=1).bool()
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1) @ values


torch.manual_seed(123)
queries, keys, some_values = torch.randn(3, 50, 8, dtype=torch.float64)
for size in [1, 7, 50]:
    tiled = in_tiles(queries, keys, some_values, size, window=50)
    away = (tiled - whole(queries, keys, some_values)).abs().max()
    print(f"tiles of {size:2}: at most 1e-12 away: {bool(away < 1e-12)}")

# %% [markdown]
# It does, for tiles of 1, 7 and all 50. Nothing here is an approximation.
#
# Queries, too, can be processed a few at a time. Here our row of scores is the last of six. How many of the 36 scores
# exist at any moment?

# %% name="tiles-live"
words = "Your journey starts with one step".split()
table = torch.stack([scores.roll(k + 1) for k in range(6)])  # (6, 6), the last row as above
live.show_tiles(table, values, words, size=2)

# %% [markdown]
# The matrix of all scores never exists, only one tile of it at a time. In the last row the largest score rises from 3
# to 5, and what was kept shrinks to about a seventh, $e^{3-5}$. Go to the last tile and tick "forget to rescale".
# Every intermediate number looks fine, but two of the outputs are wrong.

# %% [markdown]
# ## What that saves, and what it costs
#
# A forward pass now needs only matrices of shape (T, size). What about training? PyTorch keeps what the derivatives
# need from each step of every tile. Instead, we can keep only queries, keys and values, and *recompute* the rest when
# derivatives are needed. In PyTorch, a function with its own backward pass does this.

# %% name="again"
class Again(torch.autograd.Function):
    """in_tiles, but it keeps only its inputs and recomputes the rest in the backward pass."""

    @staticmethod
    def forward(ctx, queries, keys, values, size, window):
        ctx.save_for_backward(queries, keys, values)
        ctx.sizes = size, window
        return in_tiles(queries, keys, values, size, window)

    @staticmethod
    def backward(ctx, gradient):
        inputs = [each.detach().requires_grad_() for each in ctx.saved_tensors]
        with torch.enable_grad():
            context = in_tiles(*inputs, *ctx.sizes)
        return *torch.autograd.grad(context, inputs, gradient), None, None


inputs = [torch.randn(50, 8, dtype=torch.float64, requires_grad=True) for _ in range(3)]
contexts = [whole(*inputs), Again.apply(*inputs, 7, 50)]
gradients = [torch.autograd.grad(context.square().sum(), inputs) for context in contexts]
print("same derivatives:", all(torch.allclose(a, b) for a, b in zip(*gradients)))

# %% [markdown]
# How much is kept for the backward pass? We count as in chapter 6.

# %% name="kept-bytes"
def kept_mib(attend, *inputs):
    """How many MiB a forward pass keeps for the derivatives."""
    kept = {}

    def note(tensor):
        memory = tensor.untyped_storage()
        kept[memory.data_ptr()] = memory.nbytes()
        return tensor

    with saved_tensors_hooks(note, lambda tensor: tensor):
        output = attend(*inputs)  # holds all stored tensors until we have counted
    return sum(kept.values()) / 2**20


for T in [512, 1024]:
    inputs = [torch.randn(T, 64, requires_grad=True) for _ in range(3)]
    print(f"{T:4} tokens: whole matrix {kept_mib(whole, *inputs):.2f} MiB,"
          f" in tiles {kept_mib(in_tiles, *inputs, 64, T):.2f},"
          f" recomputed {kept_mib(Again.apply, *inputs, 64, T):.2f}")

# %% [markdown]
# With the whole matrix, twice the tokens take 3.5 times the memory. Tiles alone are *worse*, since everything in every
# tile is kept. With recomputation, 0.75 MiB remains: the queries, keys and values themselves. This only doubles with
# twice the tokens.
#
# The price is arithmetic: a forward pass has two matrix products, its backward pass four. That makes 6, or 8 with the
# forward pass repeated.
#
# **FlashAttention** (Dao et al., 2022) does this with queries in tiles as well, inside the fast memory of a graphics
# card. It also keeps the output and each query's $m + \ln \ell$ (Dao, 2023), so that the backward pass recomputes only
# the scores: 7 products. It does more arithmetic but is faster, since memory traffic takes most of the time.

# %% [markdown]
# ## Windows
#
# The work still grows as $T^2$. Must every token look at *all* earlier ones? In a **sliding window** of size $w$, a
# token sees the last $w$ keys, including its own. With twelve tokens, a window of 3, and three layers, which tokens can
# affect token 11?

# %% name="window-layers" shows="Map of which output depends on which input, twelve tokens by twelve, after three layers with a window of 3. In each row the cell of its own token and those of up to six tokens before it are dark: a band seven cells wide along the diagonal. All other cells are light."
T, window = 12, 3
age = torch.arange(T)[:, None] - torch.arange(T)  # (T, T)
sees = (age >= 0) & (age < window)  # (T, T), True = sees
reaches = torch.linalg.matrix_power(sees.float(), 3)  # number of paths through 3 layers
names = [str(t) for t in range(T)]
pictures.show_dependencies(reaches > 0, names, title="Window 3, after 3 layers")

# %% [markdown]
# After one layer the band would be 3 wide; after three it is 7: token 11 depends on tokens 5 to 11. Each layer reaches
# $w - 1$ tokens further back. During generation, keys and values that are $w$ steps old can be dropped from the cache.

# %% [markdown]
# **Question 10.2.** Mistral 7B (Jiang et al., 2023) has 32 layers and a window of 4,096, counted as here. How many
# tokens back can its last layer reach?
#
# * **a** 4,095
# * **b** 32 times 4,095
# * **c** $4{,}095^{32}$

# %% name="question-10-2"
answer("Q10.2", "b")

# %% [markdown]
# ### Exercise 10.2 · A window with a cache
# 2 points · ★★☆ · 10 minutes
#
# During generation only the newest tokens have queries, but all tokens have keys. Write the mask for that, True where a
# key is *hidden*, as in chapters 3 to 6. Each of the `num_new` newest tokens sees `window` keys, including its own, or
# fewer near the start of the text. (`check` looks only at results, so calling chapter 9's `hidden_keys` would pass. Try
# without it.)

# %% name="exercise-10-2"
def my_window_mask(num_new, num_tokens, window):
    """True where a key is hidden from one of the newest tokens, (num_new, num_tokens)."""
    ### BEGIN SOLUTION
    positions = torch.arange(num_tokens)
    age = positions[num_tokens - num_new :, None] - positions  # (num_new, num_tokens)
    return (age < 0) | (age >= window)
    ### END SOLUTION

# %% name="check-10-2"
### BEGIN HIDDEN TESTS
assert check("10.2", my_window_mask).status == "right"
### END HIDDEN TESTS
check("10.2", my_window_mask)

# %% [markdown] tags=["solution"]
# **Why it works.** The newest tokens are not the first: of 7 tokens the newest 3 are at positions 4, 5 and 6. A key
# is hidden if it lies ahead, or is at least `window` steps old. With `>` instead of `>=`, queries from position
# `window` on see one key too many. If positions start again at 0, queries look at the beginning. Neither raises an
# error.

# %% [markdown]
# ### When the first tile is hidden
#
# We try fifty tokens, tiles of 7, and a window of 5:

# %% name="window-in-tiles"
context = in_tiles(queries, keys, some_values, 7, window=5)
print("first row with nan:", int(context.isnan().any(dim=-1).int().argmax()))
print("rows with nan:", int(context.isnan().any(dim=-1).sum()), "of 50")

# %% [markdown]
# The window of row 11 begins at key 7, so its first tile, keys 0 to 6, is entirely hidden. The largest score is then
# $-\infty$, and $-\infty - (-\infty)$ is `nan`. Without a window this could not happen: in a causal mask every row sees
# key 0.

# %% [markdown]
# ### Exercise 10.3 · One more tile
# 3 points · ★★☆ · 10 minutes
#
# Write a step that handles this case. It receives the results for all earlier tiles (at first $-\infty$, 0 and 0), and
# the next tile's scores ($-\infty$ where hidden) and values. It returns the updated results. For a query that has seen
# nothing yet, these are still $-\infty$, 0 and 0.

# %% name="exercise-10-3"
def my_next_tile(largest, total, mixed, scores, values):
    """Update (T,), (T,) and (T, d) with scores (T, size) and values (size, d); return all three."""
    ### BEGIN SOLUTION
    larger = torch.maximum(largest, scores.amax(dim=-1))  # (T,)
    base = larger.masked_fill(larger == -torch.inf, 0.0)  # finite in every row
    shrink = torch.exp(largest - base)  # (T,)
    shares = torch.exp(scores - base[:, None])  # (T, size)
    total = shrink * total + shares.sum(dim=-1)  # (T,)
    return larger, total, shrink[:, None] * mixed + shares @ values  # (T,), (T,), (T, d)
    ### END SOLUTION

# %% name="check-10-3"
### BEGIN HIDDEN TESTS
assert check("10.3", my_next_tile).status == "right"
### END HIDDEN TESTS
check("10.3", my_next_tile)

# %% [markdown] tags=["solution"]
# **Why it works.** We need not subtract the largest score: any number near it gives the same weights in the end; with
# one far away, exponentials overflow or round to 0. Where nothing has been seen, we may subtract 0. Then `shrink` and
# `shares` are both $e^{-\infty - 0} = 0$: nothing is added, and there was nothing to shrink. Once a tile has a visible
# score, the true maximum takes over.

# %% [markdown]
# ## The first token takes unneeded weight
#
# With a window, the first token goes out of sight. Does the model miss it? In chapter 7, layer 1 put its weight on
# token 0 wherever it had nothing to look up. We train that model again, on the same batches, with chapter 9's layer.

# %% name="chapter-7-task"
torch.set_num_threads(1)  # as in chapter 7: the same results on any number of cores
vocabulary, first, repeated = 100, 12, 8


def repeats(count):
    """Sequences (count, 20): 12 random tokens, then a random run of 8 of them again."""
    tokens = torch.randint(vocabulary, (count, first))
    start = torch.randint(first - repeated + 1, (count, 1))
    return torch.cat([tokens, tokens.gather(1, start + torch.arange(repeated))], dim=1)


class AttentionOnly(nn.Module):
    """Chapter 7's model, with or without gates: scores (B, T, vocabulary) from tokens (B, T)."""

    def __init__(self, gate, width=64):
        super().__init__()
        self.token_vectors = nn.Embedding(vocabulary, width)
        self.position_vectors = nn.Embedding(first + repeated, width)
        for table in [self.token_vectors, self.position_vectors]:
            nn.init.normal_(table.weight, std=0.3)
        self.layers = nn.ModuleList(
            Attention(width, 1, out_bias=True, gate=gate) for _ in range(2)
        )
        self.to_scores = nn.Linear(width, vocabulary)

    def before_layer_1(self, tokens):
        """What enters layer 1: (B, T, width)."""
        positions = torch.arange(tokens.shape[-1])  # (T,)
        x = self.token_vectors(tokens) + self.position_vectors(positions)  # (B, T, width)
        return x + self.layers[0](x)[0]

    def forward(self, tokens, mask=None):
        x = self.before_layer_1(tokens)
        return self.to_scores(x + self.layers[1](x, mask=mask)[0])  # the mask is for layer 1


def next_token_losses(model, tokens, mask=None):
    """The loss of each next token: (B, T - 1) for tokens (B, T)."""
    scores = model(tokens[:, :-1], mask)  # (B, T - 1, vocabulary)
    return F.cross_entropy(scores.transpose(1, 2), tokens[:, 1:], reduction="none")

# %% name="chapter-7-training"
def trained(gate):
    torch.set_default_dtype(torch.float64)  # so that you see the numbers that we saw
    torch.manual_seed(123)
    model = AttentionOnly(gate)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    shrinking = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=250)
    torch.manual_seed(2)
    for batch in with_bar(repeats(250 * 64).view(250, 64, -1)):
        optimizer.zero_grad()
        next_token_losses(model, batch).mean().backward()
        optimizer.step()
        shrinking.step()
    torch.set_default_dtype(torch.float32)
    return model


plain = trained(gate=False)

# %% [markdown]
# Now we hide one key from all later queries of layer 1: key 0 or, for comparison, key 1. What will happen to the losses
# on the random part and on the repeat?

# %% name="hide-a-key"
torch.manual_seed(1)
fresh = repeats(512)


@torch.no_grad()
def hide_keys(model):
    """Print the losses with one key hidden, and the weight on token 0 with none hidden."""
    for key in [None, 0, 1]:
        mask = torch.zeros(1, 19, 19, dtype=torch.bool)
        if key is not None:
            mask[:, key + 1 :, key] = True
        losses = next_token_losses(model, fresh, mask)  # (512, 19)
        random_part, repeat = losses[:, : first - 1].mean(), losses[:, first:].mean()
        print(f"hidden: {key}, random part {random_part:.2f}, repeat {repeat:.2f}")
    _, weights, _ = model.layers[1].attend(model.before_layer_1(fresh))  # (512, 1, 20, 20)
    print(f"weight on token 0, random part: {weights[:, 0, 1 : first - 1, 0].mean():.2f}")


hide_keys(plain)

# %% [markdown]
# Without key 0, the loss on the random part rises from 4.75 to 7.25, far above pure guessing, $\ln 100 \approx 4.6$.
# Random tokens cannot be looked up, so layer 1 does best there by contributing nothing. But its weights must sum to 1.
# The layer has learned to put nearly all its weight, 0.94, on token 0, where it does little harm: an **attention
# sink**. Without the sink, the weight goes to tokens whose values do contribute. The repeat's loss stays at 0.32, since
# its queries have something to look up. Key 1 is no sink: hiding it mainly hurts the repeat (0.47), where some queries
# need it.
#
# So a model given a window after training loses its sink once the text outgrows the window. If the first few tokens
# stay visible along with the newest, the model can go on writing (Xiao et al., 2023). Or train a sink that is not a
# token: for each head, a score that joins softmax's total but has no value vector, as in gpt-oss.

# %% [markdown]
# ## A gate instead of a sink
#
# A head that could be silent in another way would need no sink. Multiply each number of the heads' output by a **gate**
# between 0 and 1, computed from the token that asks: $\sigma(x W_g)$ with $\sigma(a) = 1 / (1 + e^{-a})$. Qwen3-Next
# and Qwen3.5 have such gates in each attention layer (Qiu et al., 2025).

# %% [markdown]
# ### Exercise 10.4 · A gate
# 1 point · ★☆☆ · 5 minutes
#
# Merge the heads, as in chapter 5, and multiply each number by its gate. `W_gate` has the layout of an `nn.Linear`
# weight.

# %% name="exercise-10-4"
def my_gated(context, x, W_gate):
    """context (B, num_heads, T, head_dim), x (B, T, d), W_gate (num_heads * head_dim, d).

    Returns the gated heads, merged: (B, T, num_heads * head_dim).
    """
    ### BEGIN SOLUTION
    merged = context.transpose(1, 2).flatten(-2)  # (B, T, num_heads * head_dim)
    return merged * torch.sigmoid(x @ W_gate.T)
    ### END SOLUTION

# %% name="check-10-4"
### BEGIN HIDDEN TESTS
assert check("10.4", my_gated).status == "right"
### END HIDDEN TESTS
check("10.4", my_gated)

# %% [markdown] tags=["solution"]
# **Why it works.** Weights say where to look, and sum to 1. The gate says how much of the result is passed on, and may
# be near 0 everywhere. It sees the token itself, so it can depend on whether there is anything to look up.

# %% [markdown]
# `gate=True` adds this step to our layer; chapter 9 compared it with Qwen3-Next's own. Here is the same model with
# gates, trained on the same batches:

# %% name="gated"
gated = trained(gate=True)
hide_keys(gated)

# %% [markdown]
# Hiding key 0 no longer changes the losses: 4.66 and 0.11 before and after. The weight on token 0 has halved, to 0.46:
# where gates are nearly closed, weights do not matter. And the repeat is learned better, 0.11 instead of 0.32. (The
# gates add 8,192 parameters, so size may explain part of that.)

# %% [markdown]
# ## The size of a cache
#
# Tiles and windows avoid large matrices. But a model that generates text also keeps a key/value cache (chapter 6),
# and for long texts it fills the memory. Per token and layer it holds a key and a value of `head_dim` numbers for
# each key/value head. Here are four published models, at 2 bytes per number:

# %% name="cache-bytes"
models = {  # layers, numbers per token and layer, bytes per token as published
    "OPT-13B": (40, 2 * 40 * 128, 800 * 1024),
    "Llama-3.1-405B": (126, 2 * 8 * 128, 516_096),
    "Qwen2.5-72B": (80, 2 * 8 * 128, 327_680),
    "DeepSeek-V3": (61, 512 + 64, 70_272),
}
for name, (layers, numbers, published) in models.items():
    size = layers * numbers * 2
    book = size * 100_000 / 1e9
    print(f"{name:14} {layers:3} layers of {numbers:6,}: {size:7,} bytes, a book {book:4.1f} GB,"
          f" as published: {size == published}")

# %% [markdown]
# All four match the published sizes, the first from Kwon et al. (2023, section 3), the others from Zhao et al. (2025,
# Table 1).
#
# One book's cache in OPT-13B would almost fill a graphics card of 80 GB ($80 \cdot 2^{30}$ bytes), before a single
# parameter is loaded. (OPT could not read a book: it has positions for only 2,048 tokens.) DeepSeek-V3, with fifty
# times as many parameters, needs 7.0 GB. As we shall see, it does not keep keys and values for each head.
#
# During generation the cache can grow in **pages** of, say, 16 tokens; a **page table** says where each page lies (Kwon
# et al., 2023; see the notes).

# %% [markdown]
# ## Keep something smaller
#
# Grouped-query attention keeps fewer heads. **Latent attention** (DeepSeek-AI, 2024) keeps *none*: for each token it
# keeps one short vector, the **latent**, and computes all heads' keys and values from it. Four heads of 8 would keep 2
# × 32 = 64 numbers per token. Here they keep 12.

# %% name="latent"
torch.manual_seed(123)
x = torch.randn(6, 32, dtype=torch.float64)  # (T, width)
W_latent = torch.randn(32, 12, dtype=torch.float64)
W_query = torch.randn(4, 32, 8, dtype=torch.float64)  # per head: (width, head_dim)
W_key, W_value = torch.randn(2, 4, 12, 8, dtype=torch.float64)  # per head: (12, head_dim)

latent = x @ W_latent  # (6, 32) @ (32, 12) -> (6, 12), all that the cache keeps
queries = x @ W_query  # (4, 6, 8)
keys, values = latent @ W_key, latent @ W_value  # (4, 6, 8) each
weights = torch.softmax(queries @ keys.transpose(1, 2) / 8**0.5, dim=-1)  # (4, 6, 6)
explicit = weights @ values  # (4, 6, 8)
print("kept per token:", 2 * 4 * 8, "->", latent.shape[-1])

# %% [markdown]
# But if all keys must be recomputed from the latents at each step, a long text costs time instead of memory. Must they
# be? Before scaling, a score is $q\,(c W_k)^\top$, where $c$ is a token's latent. That equals $(q W_k^\top)\,c^\top$.
# So apply $W_k$ to the *query*, of which each head has only one per step, and compare the result with the latents
# themselves. The same holds for values: mix latents first, then apply $W_v$ to the mixture.

# %% name="absorbed"
moved = queries @ W_key.transpose(1, 2)  # (4, 6, 8) @ (4, 8, 12) -> (4, 6, 12)
weights = torch.softmax(moved @ latent.T / 8**0.5, dim=-1)  # (4, 6, 6), without making keys
absorbed = weights @ latent @ W_value  # (4, 6, 12) @ (4, 12, 8) -> (4, 6, 8), without values
print("absorbed equals explicit:", torch.allclose(absorbed, explicit))

# %% [markdown]
# The matrices are said to be **absorbed**. Compared with cached keys, this costs arithmetic: a score now sums 12
# products instead of 8; in DeepSeek-V3, 512 instead of 128, plus 64 for the position either way. This reordering works
# only if nothing comes between query and $W_k$. Chapter 9's rotation would, so 64 extra numbers carry the position:
# $512{+}64$ in all.

# %% [markdown]
# ## Look at only a few keys
#
# A window shows the newest keys, needed or not. Could a token see only those that it needs? To find them, something
# cheap must score *all* keys. DeepSeek-V3.2 (2025) adds an **indexer** with its own small queries and keys. Their
# products, with negative ones set to 0, rank the keys. The $k$ best take part in attention; all others are hidden.

# %% [markdown]
# ### Exercise 10.5 · Pick the best keys
# 2 points · ★★☆ · 10 minutes
#
# Compute the mask: True where a key is *hidden*. Each token sees the `k` keys with the largest scores among those up to
# its own, or all of them if there are fewer. If scores are equal, such as two zeros, pick the earlier key.

# %% name="exercise-10-5"
def my_picked(scores, k):
    """The mask (T, T) for scores (T, T), queries by keys."""
    ### BEGIN SOLUTION
    future = torch.ones_like(scores).triu(diagonal=1).bool()
    seen = scores.masked_fill(future, -torch.inf)
    order = seen.argsort(dim=-1, descending=True, stable=True)  # (T, T), places of keys
    hidden = torch.ones_like(future).scatter(-1, order[:, :k], False)
    return hidden | future
    ### END SOLUTION

# %% name="check-10-5"
### BEGIN HIDDEN TESTS
assert check("10.5", my_picked).status == "right"
### END HIDDEN TESTS
check("10.5", my_picked)

# %% [markdown] tags=["solution"]
# **Why it works.** The future is hidden twice: before the choice, so that it displaces no visible key, and after it,
# since the first rows see fewer than $k$ keys and so pick some that lie ahead. Without ties, a threshold would suffice.

# %% [markdown]
# An indexer must learn to rank keys as the attention weights do. Ours has keys of 8 numbers; the keys in layer 1 of our
# model have 64. It learns from that layer's weights; the model stays unchanged.

# %% name="indexer"
future = torch.ones(19, 19).triu(diagonal=1).bool()
torch.manual_seed(3)
W_query, W_key = (nn.Linear(64, 8, bias=False, dtype=torch.float64) for _ in range(2))
optimizer = torch.optim.AdamW([W_query.weight, W_key.weight], lr=0.02)
for batch in with_bar(repeats(250 * 64).view(250, 64, -1)):
    with torch.no_grad():
        x = plain.before_layer_1(batch[:, :-1])  # (64, 19, 64)
        _, weights, _ = plain.layers[1].attend(x)  # (64, 1, 19, 19)
    ranks = torch.relu(W_query(x) @ W_key(x).transpose(1, 2))  # (64, 19, 19)
    told = torch.log_softmax(ranks.masked_fill(future, -1e9), dim=-1)
    optimizer.zero_grad()
    (-weights[:, 0] * told).sum(dim=-1).mean().backward()
    optimizer.step()

# %% name="few-keys"
def picked(scores, k):
    """As in the exercise, but among equal scores any may be picked."""
    future = torch.ones(scores.shape[-2:]).triu(diagonal=1).bool()
    best = scores.masked_fill(future, -torch.inf).topk(k).indices  # (B, T, k)
    return torch.ones(scores.shape).bool().scatter(-1, best, False) | future


sizes, curves = [1, 2, 4, 8, 12, 19], {}
print("keys    ", *(f"{k:5}" for k in sizes))
with torch.no_grad():
    x = plain.before_layer_1(fresh[:, :-1])  # (512, 19, 64)
    ranks = torch.relu(W_query(x) @ W_key(x).transpose(1, 2))
    newest = torch.arange(19.0).expand(512, 19, 19)
    for name, scores in [("indexer", ranks), ("newest", newest)]:
        losses = [next_token_losses(plain, fresh, picked(scores, k))[:, first:] for k in sizes]
        curves[name] = [each.mean().item() for each in losses]
        print(f"{name:8}", *(f"{loss:5.2f}" for loss in curves[name]))

# %% name="few-keys-picture" shows="Two curves over the number of keys that a token sees, 1 to 19. That of the indexer starts at 0.83 with one key and lies at 0.33 or 0.32 from two on. That of the newest keys starts at 8.63, is still 6.29 at eight keys, and lies at 0.32 from twelve on."
pictures.show_curves(
    curves, x=sizes, x_label="keys a token sees", y_label="loss on the repeat", doublings=True,
    title="A few keys are enough if they are the right ones",
)

# %% [markdown]
# Two of up to 19 keys are enough if they are the right ones: the loss is 0.33, or 0.32 with all. The newest two are not
# enough. The needed key lies 7 to 11 tokens back, so with the newest 8 the loss is 6.29; the newest 12 always include
# it. The indexer still scores all keys, in $T^2$ dot products of length 8; attention needs only $T \cdot k$.

# %% [markdown]
# Does this match V3.2? We compare our `LatentAttention` with the library's own layer, again with random parameters.
# Ours has no indexer but takes a mask. The library's indexer has three small heads, weighted differently for each
# token, and picks 4 keys.

# %% name="deepseek"
theirs = families.load("DeepSeek-V3.2")
index = {name: each for name, each in theirs.parameters.items() if name.startswith("indexer")}
layer = LatentAttention(**theirs.arguments).double()
layer.load_state_dict({name: theirs.parameters[name] for name in layer.state_dict()})
with torch.no_grad():
    latents = layer.query_norm(layer.to_query_latent(theirs.x))  # (2, 11, query_rank)
    queries = (latents @ index["indexer.wq_b.weight"].T).unflatten(-1, (3, 6)).transpose(1, 2)
    scale, shift = index["indexer.k_norm.weight"], index["indexer.k_norm.bias"]
    keys = F.layer_norm(theirs.x @ index["indexer.wk.weight"].T, (6,), scale, shift, eps=1e-6)
    cos, sin = layer.rotary(0, 11, like=keys)
    products = turn_pairs(queries, cos, sin) @ turn_pairs(keys, cos, sin)[:, None].transpose(2, 3)
    shares = theirs.x @ index["indexer.weights_proj.weight"].T  # (2, 11, 3), one per head
    ranks = torch.einsum("bth,bhts->bts", shares, torch.relu(products))  # (2, 11, 11)
    for name, mask in [("all keys", None), ("4 keys", picked(ranks, 4))]:
        off = (layer(theirs.x, mask=mask)[0] - theirs.output).abs().max()
        print(f"{name}: off by {off:.2f}, within 1e-5: {bool(off < 1e-5)}")

# %% [markdown]
# With the mask, ours matches the library's layer, off by 0.00; without the mask, it is off by 1.23. This choice of keys
# is all that V3.2 adds to V3's attention.

# %% [markdown]
# ## A state of fixed size
#
# Latents make the cache smaller, but it still grows with every token. Could a model keep the same amount at any length?
# **Linear attention** (Katharopoulos et al., 2020) has $\phi(q) \cdot \phi(k_j)$ where softmax has $e^{q \cdot k_j}$.
# The feature map $\phi$ makes all numbers positive: $x + 1$ above 0, $e^x$ below. Now the sums can be reordered, and
# the past fits into one matrix, the state $M$, and one vector, the normaliser $n$:
#
# $$z = \frac{\sum_j (\phi(q) \cdot \phi(k_j))\, v_j}{\sum_j \phi(q) \cdot \phi(k_j)}
# = \frac{M\, \phi(q)}{n \cdot \phi(q)}, \qquad M = \sum_j v_j\, \phi(k_j)^\top, \quad n = \sum_j \phi(k_j)$$

# %% name="linear-attention"
query, keys, values = torch.randn(4), torch.randn(9, 4), torch.randn(9, 3)
query, keys = F.elu(query) + 1, F.elu(keys) + 1  # the feature map
weights = keys @ query / (keys @ query).sum()  # (9,), one for each token
state, normaliser = values.T @ keys, keys.sum(dim=0)  # (3, 4) and (4,), for any number of tokens
print("same:", torch.allclose(weights @ values, state @ query / (normaliser @ query), atol=1e-6))

# %% [markdown]
# Some later models drop $\phi$ and $n$, leaving $z = M q$ (RetNet, Sun et al., 2023, whose $M$ also decays). From here
# on, we drop them too.
#
# The **delta rule** (Schlag et al., 2021) writes only what is new: before writing a value, it computes what the state
# already returns for the key, then writes the difference (times a learned rate; ours is 1). One function handles linear
# attention and the delta rule:

# %% name="state"
def written(keys, values, delta):
    """The state (d, d) after writing keys (n, d), each of length 1, and values (n, d)."""
    state = keys.new_zeros(keys.shape[-1], keys.shape[-1])
    for key, value in zip(keys, values):
        known = state @ key if delta else 0.0  # what the state returns so far
        state = state + torch.outer(value - known, key)
    return state

# %% [markdown]
# To test this memory, we write n random pairs, then query each key. An answer is right if the value nearest to it
# belongs to its key. In a second test every key is written twice, with two values, and only the *newer* is right.
# (Softmax is left out there: two equal keys get equal weights, so it would need positions to tell old from new.)

# %% name="recall"
def recall(n, times, way, draws=5):
    """The share of n keys, each written `times` times, whose newest value is found."""
    found = 0.0
    for _ in range(draws):
        keys = F.normalize(torch.randn(n, 64, dtype=torch.float64), dim=-1)
        values = F.normalize(torch.randn(times * n, 64, dtype=torch.float64), dim=-1)
        asked, all_keys = keys, keys.repeat(times, 1)  # (times * n, 64)
        if way == "softmax":
            answers = torch.softmax(32 * asked @ all_keys.T, dim=-1) @ values  # (n, 64)
        else:
            answers = asked @ written(all_keys, values, delta=way == "delta").T  # (n, 64)
        newest = torch.arange(n) + (times - 1) * n
        found += ((answers @ values.T).argmax(dim=-1) == newest).double().mean().item()
    return found / draws

# %% name="recall-table"
torch.manual_seed(123)
pairs = [8, 16, 32, 64, 128, 256, 512]
tests = [(1, "softmax"), (1, "linear"), (1, "delta"), (2, "linear"), (2, "delta")]
shares = {test: [recall(n, *test) for n in pairs] for test in tests}
print("keys                ", *(f"{n:5}" for n in pairs))
for (times, way), values in shares.items():
    print(f"written {times} x, {way:8}", *(f"{share:5.2f}" for share in values))
print("cache, written 1 x: ", *(f"{2 * 64 * n:5}" for n in pairs), "(state: 4096)")

# %% name="recall-picture" shows="Four curves over the number of keys, 8 to 512: the share of values found. Linear attention, each key written once, stays near 1 up to 128 keys and falls to 0.33 at 512. Above 32 keys, the delta rule's falls from 1 to 0.12. Where every key was written twice, linear attention starts at about a half and falls to 0.08, while the delta rule does nearly as well as before."
pictures.show_curves(
    {f"{way}, written {times} x": shares[times, way]
     for times in [1, 2] for way in ["linear", "delta"]},
    x=pairs, x_label="keys", y_label="share found", doublings=True,
    title="What a state of 64 x 64 remembers",
)

# %% [markdown]
# A state of fixed size fills up at some point. Linear attention finds 99% of 128 values, but only a third of 512. And
# it cannot replace a value: for a key with two values it returns their sum, and finds the newer one by chance, about
# half the time while there is room. The delta rule can replace values: it finds 99% of 32 values whose keys were
# written twice. But of 64 values, each written once, it loses a tenth.
#
# Softmax, with queries made 32 times longer, finds everything but also keeps everything: 65,536 numbers for 512 keys,
# where the state has 4,096. Every state of fixed size here loses part of a long text. Many of today's models mix
# methods: a few layers cache all tokens; the others use a window or a state.

# %% [markdown]
# **Question 10.3.** A delta-rule model with a 64 x 64 state reads a book. What can it not do?
#
# * **a** Process tokens as fast at the end as at the beginning.
# * **b** Recall any one of 100,000 names, each mentioned once.
# * **c** Forget a value that was replaced.

# %% name="question-10-3"
answer("Q10.3", "b")

# %% [markdown]
# ## Your exercises
#
# Here is your progress:

# %% name="progress"
progress(10)

# %% [markdown]
# ## Takeaways
#
# | problem | what helps | what it costs |
# | --- | --- | --- |
# | the weight matrix, $T^2$ | tiles: keep $m$, $\ell$ and $o$ | in training, scores are recomputed |
# | the work, $T^2$ | a window: $T \cdot w$ | distant tokens count only through several layers; keep the sink |
# | the cache, layers × heads × numbers | fewer key/value heads; a latent; a window | heads share what they read; more arithmetic |
# | the work, $T^2$ | an indexer's $k$ best keys: $T \cdot k$ | the indexer still scores all keys, with few numbers |
# | weight on token 0 | a gate | as many parameters as for the queries |
# | all of it | a state of fixed size | it forgets |
#
# To merge two pieces, or to add a tile, with $m' = \max(m_1, m_2)$:
#
# $$\ell = e^{m_1 - m'}\, \ell_1 + e^{m_2 - m'}\, \ell_2, \qquad o = e^{m_1 - m'}\, o_1 + e^{m_2 - m'}\, o_2, \qquad
# z = \frac{o}{\ell}$$
#
# * Forgetting to rescale in a merge changes no shape and raises no error. Compare with the whole matrix's result once.
# * A row that has seen nothing yet has $m = -\infty$: subtract something finite.
#
# **Next.** [Chapter 11](11_a_model_that_speaks.ipynb) lets a language model speak through your layer, and measures its
# sinks and windows. The [notes](99_notes.ipynb) count GPT-2's parameters and collect errors. All chapters: [the
# course's contents](../README.md#chapters).
