# ---
# jupyter:
#   course:
#     summary: softmax in pieces, windows, sinks, caches, a state of fixed size
# ---

# %% [markdown]
# # Chapter 10 · What a long text costs
#
# **After this chapter you can**
#
# * compute softmax piece by piece, as FlashAttention does, and say what that saves and what it costs;
# * say who sees whom through a sliding window, and why models lean on their first token;
# * work out the bytes of a model's cache from its configuration, and name four ways to make it smaller.
#
# **Time.** About 85 minutes, exercises included. **You need** chapters 5 to 7. Chapter 9's turned
# positions are needed in one sentence only.
#
# Run the cells from top to bottom (Shift + Enter). The first one finds the course's helper package, or installs it.

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
import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.graph import saved_tensors_hooks

from course_utils import live, pictures
from course_utils.attention import MultiHeadAttention
from course_utils.checking import answer, check, hint, progress, review, solution
from course_utils.training_bar import with_bar

# %% [markdown]
# ## From memory
#
# Write a word or a number in place of each question mark, without looking back.
#
# **From memory 10.1.** Twice as many tokens: by what factor does the table of attention weights grow?

# %% name="memory-10-1"
answer("M10.1", "4")

# %% [markdown]
# **From memory 10.2.** What does softmax subtract from its scores first, so that no exponential overflows?

# %% name="memory-10-2"
answer("M10.2", "the largest score")

# %% [markdown]
# **From memory 10.3.** While a text is written token by token, what is kept of each old token beside its key?

# %% name="memory-10-3"
answer("M10.3", "its value")

# %% name="review"
review()

# %% [markdown]
# ## Softmax in two halves
#
# A book has some 100,000 tokens. How large is its table of attention weights, for one head, at 2 bytes a weight? Guess
# before you run the cell.

# %% name="table-bytes"
for T in [1_000, 10_000, 100_000]:
    print(f"{T:>7,} tokens: {2 * T * T / 1e9:>6.3f} GB")

# %% [markdown]
# 20 GB, for one head of one layer, and large models have thousands of heads. Nobody stores that, and nobody has to:
# what we want are context vectors, and the table is only a step on the way. Could we go through the keys a few at a
# time?
#
# One query, six keys. Here are its scores, and what attention makes of them.

# %% name="whole-row"
scores = torch.tensor([1.0, 3.0, 2.0, 5.0, 0.0, 4.0], dtype=torch.float64)  # (6,)
values = torch.tensor([[1, 0], [0, 1], [1, 1], [2, 0], [0, 2], [1, 2]]).double()  # (6, 2)
print(torch.softmax(scores, dim=-1) @ values)

# %% [markdown]
# Now in two halves of three keys. Each half gets a softmax of its own, and we take the average of the two.

# %% name="average-of-halves"
halves = [(scores[:3], values[:3]), (scores[3:], values[3:])]
contexts = [torch.softmax(some, dim=-1) @ theirs for some, theirs in halves]  # 2 times (2,)
print((contexts[0] + contexts[1]) / 2)

# %% [markdown]
# Wrong: 1.0287 where 1.5437 should be. Each softmax divides by the sum of *its* half, and then nobody knows any more
# that the second half has far larger scores. So do not divide yet. Keep three things of each half: its largest score
# $m$, its total $\ell$, and its mixed values $o$:
#
# $$m = \max_j \omega_j, \qquad \ell = \sum_j e^{\omega_j - m}, \qquad o = \sum_j e^{\omega_j - m}\, v_j$$
#
# Divided at the very end, $o / \ell$ is the context vector.

# %% name="summaries"
def summary(scores, values):
    """The largest (), total () and mixed (d,) of scores (S,) and values (S, d)."""
    largest = scores.max()
    shares = torch.exp(scores - largest)  # (S,), 1 for the largest
    return largest, shares.sum(), shares @ values


for some, theirs in halves:
    largest, total, mixed = summary(some, theirs)
    print(f"largest {largest:.0f}, total {total:.4f}, mixed {mixed}")

# %% [markdown]
# The totals are nearly equal, 1.5032 and 1.3746. May we add them up?

# %% [markdown]
# **Question 10.1.** The first half counts in units of $e^3$, the second in units of $e^5$. To join them we count
# everything in units of $e^5$. By what is the first total multiplied?
#
# * **a** by 1: it is a total already
# * **b** by $e^{5-3}$, about 7
# * **c** by $e^{3-5}$, about 1/7

# %% name="question-10-1"
answer("Q10.1", "c")

# %% [markdown]
# ### Exercise 10.1 · Merge two halves
# 2 points · ★★☆ · 10 minutes
#
# Join what is kept of two halves, for T queries at once. Return the same three of both together: largest, total, mixed.
# A half may be hidden altogether: then its largest is $-\infty$, and its total and mixed are 0. That is never so for
# both.

# %% name="exercise-10-1"
def my_joined(largest, total, mixed):
    """largest (2, T), total (2, T), mixed (2, T, d) of two halves: those of both, without the 2."""
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
# **Why it works.** $e^{\omega - m}$ times $e^{m - m'}$ is $e^{\omega - m'}$: one factor per half moves all of its
# exponentials from its own largest score to the common one. The half that holds the largest score keeps what it has. A
# hidden half has the factor $e^{-\infty} = 0$. Without the factor every shape is right, and small scores count like
# large ones.

# %% [markdown]
# ## Tile by tile
#
# If two pieces can be merged, so can any number, one after the other. A piece is called a **tile**, and softmax
# computed so is called **online softmax** (Milakov and Gimelshein, 2018). Below, `largest`, `total` and `mixed` are
# those of all keys so far; before the first tile that is nothing. A score is made when its tile is reached and
# forgotten after it.
#
# For the future there is no stored mask: each tile compares positions.

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
# The window comes later; for now it is as long as the text. Is this what the whole table gives, whatever the size of a
# tile? (The last tile may be shorter.)

# %% name="tiles-agree"
def whole(queries, keys, values):
    """Causal attention (T, d) with the whole table (T, T)."""
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
# The same, in tiles of 1, of 7 and of all 50. Nothing here is an approximation.
#
# Walk through our six keys, tile by tile. What happens to the shares of the first tile when the second one brings a
# larger score?

# %% name="tiles-live"
words = "Your journey starts with one step".split()
live.show_tiles(scores, values, words, size=2)

# %% [markdown]
# The message: when the largest score rises from 3 to 5, all shares so far shrink to a seventh, $e^{3-5}$, and with them
# the total and what is mixed. To try: go to the last tile and tick "forget to rescale". Every number on the way looks
# fine, and the output is wrong.

# %% [markdown]
# ## What that saves, and what it costs
#
# A pass forward now needs tables of T × size. But training? For the derivatives PyTorch keeps what each step has made,
# and that is every tile. The way out: keep only queries, keys and values, and make the rest *again* when the
# derivatives are due. In PyTorch that is a function with a way back of its own.

# %% name="again"
class Again(torch.autograd.Function):
    """in_tiles, but it keeps its inputs alone and computes once more on the way back."""

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

# %% name="same-derivatives"
inputs = [torch.randn(50, 8, dtype=torch.float64, requires_grad=True) for _ in range(3)]
contexts = [whole(*inputs), Again.apply(*inputs, 7, 50)]
gradients = [torch.autograd.grad(context.square().sum(), inputs) for context in contexts]
print("same derivatives:", all(torch.allclose(a, b) for a, b in zip(*gradients)))

# %% [markdown]
# The derivatives are the same. How much is kept from the way forward to the way back? We count as in chapter 6.

# %% name="kept-bytes"
def kept_mib(attend, *inputs):
    """How many MiB a forward pass puts aside for the derivatives."""
    kept = {}

    def note(tensor):
        memory = tensor.untyped_storage()
        kept[memory.data_ptr()] = memory.nbytes()
        return tensor

    with saved_tensors_hooks(note, lambda tensor: tensor):
        output = attend(*inputs)  # as long as this lives, so does all that is kept
    return sum(kept.values()) / 2**20


for T in [512, 1024]:
    inputs = [torch.randn(T, 64, requires_grad=True) for _ in range(3)]
    print(f"{T:4} tokens: whole table {kept_mib(whole, *inputs):.2f} MiB,"
          f" in tiles {kept_mib(in_tiles, *inputs, 64, T):.2f},"
          f" computed again {kept_mib(Again.apply, *inputs, 64, T):.2f}")

# %% [markdown]
# The whole table: memory times 3.5 for twice the tokens. Tiles alone are *worse*, since everything in every tile is
# kept. Computed again, 0.75 MiB are left, the queries, keys and values themselves, and that doubles with the tokens.
# (On the way back ours holds all tiles for a moment; FlashAttention does not.)
#
# The price is counted quickly. Forwards there are two products of matrices, `queries @ keys.T` and `shares @ values`;
# the derivatives of each take two more. That makes 6, and with the way forward done again 8.
#
# That is what **FlashAttention** does (Dao et al., 2022), for queries in tiles as well, inside the fast memory of a
# graphics card. It keeps $m + \ln \ell$ of each query (Dao, 2023), so that on the way back only the scores are made
# again: 7 products. More arithmetic, less traffic; and it is faster, since the traffic is what takes the time.

# %% [markdown]
# ## Windows
#
# The work is still $T^2$. Must every token look at *all* before it? In a **sliding window** of $w$ a token sees the
# last $w$ keys, its own among them. (Some texts leave the own key out of the count: read how a model counts before you
# copy its number.) Twelve tokens, a window of 3, and three layers, one after the other: whose input can reach token 11?

# %% name="window-layers" shows="Map of which output depends on which input, twelve tokens by twelve, after three layers with a window of 3. In each row the cell of its own token and those of up to six tokens before it are dark: a band seven cells wide along the diagonal. All other cells are light."
T, window = 12, 3
age = torch.arange(T)[:, None] - torch.arange(T)  # (T, T)
sees = (age >= 0) & (age < window)  # (T, T), True = sees
reaches = torch.eye(T)
for layer in range(3):
    reaches = sees.float() @ reaches  # how many ways lead there
names = [str(t) for t in range(T)]
pictures.show_dependencies(reaches > 0, names, title="Window 3, after 3 layers")

# %% [markdown]
# The message: after one layer the band would be 3 wide, after three it is 7: token 11 depends on tokens 5 to 11. Each
# layer reaches $w - 1$ further back. What a token handed on, the next layer passes along. And while a text is written,
# what is $w$ steps old may leave the cache.

# %% [markdown]
# **Question 10.2.** Mistral 7B (Jiang et al., 2023) has 32 layers and a window of 4,096, counted as here.
# How many tokens back can what it writes depend on?
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
# While a text is written, only the newest tokens ask, and all tokens answer. Write the mask for that, as chapters 3 to
# 6 write masks: True where a key is *hidden*. Each of the `num_new` newest tokens sees `window` keys, its own among
# them, and fewer only where the text begins. (`check` looks at results only, so a call of chapter 9's
# `hidden_keys` would pass. Try it without.)

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
# **Why it works.** The newest tokens are not the first: of 7 tokens the newest 3 stand at positions 4, 5 and 6. A key
# is hidden for two reasons, it lies ahead, or it is `window` steps old or older. With `>` instead of `>=` each query
# sees one too many. With positions that start again at 0 it looks at the beginning. Neither raises an error.

# %% [markdown]
# ### A first tile with nothing in it
#
# Our function takes a window. (It still computes the hidden tiles; a real kernel skips them.) Fifty tokens, tiles of 7,
# a window of 5:

# %% name="window-in-tiles"
context = in_tiles(queries, keys, some_values, 7, window=5)
print("first row with nan:", int(context.isnan().any(dim=-1).int().argmax()))
print("rows with nan:", int(context.isnan().any(dim=-1).sum()), "of 50")

# %% [markdown]
# Rows 0 to 10 are fine. The window of row 11 begins at key 7, so its first tile, keys 0 to 6, is hidden altogether. The
# largest score is then $-\infty$, and $-\infty - (-\infty)$ is `nan`. One `nan` in a total is never made good. Without
# a window it could not happen: in a causal mask every row sees key 0.

# %% [markdown]
# ### Exercise 10.3 · One more tile
# 3 points · ★★☆ · 10 minutes
#
# Write the step so that it survives. It gets what is known of all tiles before (at first: $-\infty$, 0 and 0) and the
# scores of the next tile, with $-\infty$ where hidden. It returns what is known then. Where a query has seen nothing
# yet, that still is $-\infty$, 0 and 0.

# %% name="exercise-10-3"
def my_next_tile(largest, total, mixed, scores, values):
    """(T,), (T,) and (T, d) so far; scores (T, size), values (size, d): the three afterwards."""
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
# **Why it works.** What is subtracted need not be the largest score: any number gives the same weights in the end, unless
# an exponential overflows or all of them round to 0. So where nothing has been seen it may be 0. Then $e^{-\infty - 0}$ is 0, twice: nothing
# is added, and nothing was there to shrink. As soon as a tile shows a score, the true maximum takes over.

# %% [markdown]
# ## The first token holds what nobody needs
#
# With a window the first token falls out of sight. Does anybody miss it? In chapter 7, layer 1 put its weight on token
# 0 wherever it had nothing to look up. We train that model again, with the same batches.

# %% name="chapter-7-task"
torch.set_num_threads(1)  # as there: the same results on any number of cores
vocabulary, first, repeated = 100, 12, 8


def repeats(count):
    """Sequences (count, 20): 12 random tokens, then 8 of them again, from a random one on."""
    tokens = torch.randint(vocabulary, (count, first))
    start = torch.randint(first - repeated + 1, (count, 1))
    return torch.cat([tokens, tokens.gather(1, start + torch.arange(repeated))], dim=1)

# %% name="chapter-7-model"
class AttentionOnly(nn.Module):
    """Chapter 7's model: scores (B, T, vocabulary) for the next token from tokens (B, T)."""

    def __init__(self, context_length, width=64):
        super().__init__()
        self.token_vectors = nn.Embedding(vocabulary, width)
        self.position_vectors = nn.Embedding(context_length, width)
        for table in [self.token_vectors, self.position_vectors]:
            nn.init.normal_(table.weight, std=0.3)
        self.layers = nn.ModuleList(
            MultiHeadAttention(width, width, context_length, dropout=0.0, num_heads=1)
            for _ in range(2)
        )
        self.to_scores = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[-1])  # (T,)
        x = self.token_vectors(tokens) + self.position_vectors(positions)  # (B, T, width)
        for layer in self.layers:
            x = x + layer(x)  # (B, T, width)
        return self.to_scores(x)  # (B, T, vocabulary)


def next_token_losses(model, tokens):
    """The loss of each next token: (B, T - 1) for tokens (B, T)."""
    scores = model(tokens[:, :-1])  # (B, T - 1, vocabulary)
    return F.cross_entropy(scores.transpose(1, 2), tokens[:, 1:], reduction="none")

# %% name="chapter-7-training"
torch.manual_seed(123)
model = AttentionOnly(first + repeated)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
shrinking = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=250)
torch.manual_seed(2)
for batch in with_bar(repeats(250 * 64).view(250, 64, -1)):
    optimizer.zero_grad()
    next_token_losses(model, batch).mean().backward()
    optimizer.step()
    shrinking.step()

# %% [markdown]
# Now hide one key from all later queries of layer 1: key 0, and for comparison key 1. What will become of the
# loss on the random part, and of that on the repeat?

# %% name="hide-a-key"
torch.manual_seed(1)
fresh = repeats(512)
for key in [None, 0, 1]:
    blind = copy.deepcopy(model)
    if key is not None:
        blind.layers[1].mask[key + 1 :, key] = True
    with torch.no_grad():
        losses = next_token_losses(blind, fresh)  # (512, 19)
    random_part, repeat = losses[:, : first - 1].mean(), losses[:, first:].mean()
    print(f"hidden: {key}, random part {random_part:.1f}, repeat {repeat:.2f}")

# %% [markdown]
# Without key 0 the random part rises from 4.7 to 8.1, far above 4.6, which is $\ln 100$: pure guessing. Nothing random
# can be looked up, so the best this layer can do there is to stay silent. But its weights must sum to 1. It has learned
# to lay them on token 0, where they do no harm: an **attention sink**. Take the sink away, and the weights go to tokens
# that speak up.
#
# The repeat keeps its 0.30: those queries have something to look up. And key 1 is no sink. Hiding it leaves the random
# part at 4.7, and costs the repeat a little, 0.45, where key 1 was the one to find.
#
# So a model that gets its window after training loses its sink once the text is longer than that. Keep the first few
# tokens in sight beside the newest ones, and it goes on writing (Xiao et al., 2023). Or train a sink that is no token:
# a number for each head that joins the total of softmax and has no value, as in gpt-oss.

# %% [markdown]
# ## The bytes of a cache
#
# Computing in tiles and looking through windows saves tables. But a model that writes also keeps a key/value cache
# (chapter 6), and on long texts that is what fills the memory. Per token it holds, in each layer, a key and a value of
# `head_dim` numbers for each head that has keys of its own. Four published models, 2 bytes a number:

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
# As published, all four: the first by Kwon et al. (2023, section 3), the others by Zhao et al. (2025, Table 1). The
# first text says KB for 1,024 bytes, the second for 1,000: ask, wherever you read it.
#
# One book in OPT-13B would all but fill a graphics card of 80 GB ($80 \cdot 2^{30}$ bytes), before a single parameter
# is in it. (Would: OPT has positions for 2,048 tokens only.) DeepSeek-V3, fifty times as large, needs 7.0 GB. It does
# not keep keys and values of each head; we come to that.

# %% [markdown]
# **Question 10.3.** Llama-3.1-405B is thirty times as large as OPT-13B, and needs less cache. Both have heads of 128
# numbers. What makes the difference?
#
# * **a** It has fewer layers.
# * **b** Its 128 query heads share 8 heads of keys and values.
# * **c** It keeps fewer bytes for each number.

# %% name="question-10-3"
answer("Q10.3", "b")

# %% [markdown]
# ## Pages
#
# How much memory do you reserve for a text that is still being written? Four conversations, at most 2,048 tokens each:
# either all 2,048 at once, or **pages** of 16 tokens, one more whenever the last one is full.

# %% name="reserved"
lengths = [37, 210, 5, 96]
pages = sum(-(-length // 16) for length in lengths)  # rounded up
for name, reserved in [("2,048 each", 2048 * len(lengths)), ("pages of 16", 16 * pages)]:
    print(f"{name:12}{reserved:6,} slots reserved, {sum(lengths) / reserved:.0%} used")

# %% [markdown]
# 4% of the reserved slots are used, or 91%: with pages only the last one of each conversation has empty slots.
#
# The pages of one text need not lie side by side. A **page table** says where each of them is. Two texts, A and B, take
# turns; pages of 4 tokens.

# %% name="page-tables"
free, tables, lengths = list(range(6)), {"A": [], "B": []}, {"A": 0, "B": 0}
for name in "ABABABABABA":  # whose turn it is to get a token
    if lengths[name] % 4 == 0:  # the last page is full, or there is none yet
        tables[name].append(free.pop(0))
    lengths[name] += 1
print("tables:", tables, "lengths:", lengths, "free:", free)

# %% [markdown]
# A has pages 0 and 2, B has 1 and 3. So token 5 of A, its second on its second page, lies in page 2, slot 1. When a
# text is finished its pages are free again; texts that begin alike can share the pages of their beginning. This is
# PagedAttention (Kwon et al., 2023).

# %% [markdown]
# ### Exercise 10.4 · Look up in pages
# 2 points · ★★☆ · 10 minutes
#
# Fetch the keys of some tokens of one text. `pages` is the memory that all texts share; `table` says, in order, which
# pages this text has.

# %% name="exercise-10-4"
def my_lookup(pages, table, positions):
    """Keys (n, d) at positions (n,); pages (num_pages, size, d), table (pages of this text,)."""
    ### BEGIN SOLUTION
    size = pages.shape[1]
    return pages[table[positions // size], positions % size]  # (n, d)
    ### END SOLUTION

# %% name="check-10-4"
### BEGIN HIDDEN TESTS
assert check("10.4", my_lookup).status == "right"
### END HIDDEN TESTS
check("10.4", my_lookup)

# %% [markdown] tags=["solution"]
# **Why it works.** Divide a position by the size of a page: the quotient says which of the text's pages it is, the
# remainder which slot. The table turns "which of the text's" into "where in memory". Forget the table and you read,
# without any error, what another text has written.

# %% [markdown]
# ## Keep something smaller
#
# Grouped queries keep fewer heads. **Latent attention** (DeepSeek-AI, 2024) keeps *none*: of each token it keeps one
# short vector, the **latent**, and makes all heads' keys and values from it. Four heads of 8 numbers would keep 64
# numbers a token. Here they keep 12.

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
# But if all keys must be made anew from the latents at each step, the long text costs time instead of memory. Must
# they? A score is $q\,(c W_k)^\top$, with $c$ for a token's latent. That is the same as $(q W_k^\top)\,c^\top$. So move
# $W_k$ to the *query*, of which there is only one at each step, and compare it with the latents themselves. The values
# wait likewise: mix latents first, and apply $W_v$ to the mixture.

# %% name="absorbed"
moved = queries @ W_key.transpose(1, 2)  # (4, 6, 8) @ (4, 8, 12) -> (4, 6, 12)
weights = torch.softmax(moved @ latent.T / 8**0.5, dim=-1)  # (4, 6, 6), no key was made
absorbed = weights @ latent @ W_value  # (4, 6, 12) @ (4, 12, 8) -> (4, 6, 8), no value
print("absorbed equals explicit:", torch.allclose(absorbed, explicit))

# %% [markdown]
# The matrices are said to be **absorbed**. It costs arithmetic: a score now is a sum of 12 products instead of 8. In
# DeepSeek-V3 it is 512 instead of 128. What stands between query and key must allow the move, and chapter 9's rotation
# does not: that is why 64 more numbers carry the position apart, $512 + 64$ in all.

# %% [markdown]
# ## A state of fixed size
#
# All this makes the cache smaller, and still it grows with every token. Could a model keep the same amount whatever the
# length? **Linear attention** (Katharopoulos et al., 2020) puts $\phi(q) \cdot \phi(k_j)$ where softmax has
# $e^{q \cdot k_j}$. The feature map $\phi$ makes all numbers positive: $x + 1$ above 0, $e^x$ below. Then the sums can be
# taken in another order, and the past fits into one table, the state $M$, and one vector, the normaliser $n$:
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
# Some later models drop $\phi$ and $n$, which leaves $z = M q$ (RetNet: Sun et al., 2023). So do we from here on.
#
# The **delta rule** (Schlag et al., 2021) adds only what is new: before it writes a value, it asks the state what it
# would answer, and writes the difference (times a learned rate, for us 1). Both in one function:

# %% name="state"
def written(keys, values, delta):
    """A state (d, d) into which keys (n, d), each of length 1, and values (n, d) were written."""
    state = keys.new_zeros(keys.shape[-1], keys.shape[-1])
    for key, value in zip(keys, values):
        known = state @ key if delta else 0.0  # what it would answer so far
        state = state + torch.outer(value - known, key)
    return state

# %% [markdown]
# A test of memory: write n random pairs, then ask for each key. An answer is right if the value that belongs to it is
# the nearest one. In a second test every key is written twice, with two values, and only the *newer* one is right.
# (Softmax is left out there: two equal keys get equal weights, so it needs positions to tell old from new.)

# %% name="recall"
def recall(n, times, way, draws=5):
    """The share of n keys, each written so many times, whose newest value is found."""
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
print("cache, numbers kept ", *(f"{2 * 64 * n:5}" for n in pairs), "(state: 4096)")

# %% name="recall-picture" shows="Four curves over the number of keys, 8 to 512: the share of values found. Linear attention, each key written once, stays at 1 until 128 keys and falls to 0.33 at 512. The delta rule leaves 1 after 32 keys and falls to 0.12. Where every key was written twice, linear attention starts at about a half and falls to 0.08, while the delta rule runs nearly as before."
pictures.show_curves(
    {f"{way}, written {times} x": shares[times, way]
     for times in [1, 2] for way in ["linear", "delta"]},
    x=pairs, x_label="keys", y_label="share found", doublings=True,
    title="What a state of 64 x 64 remembers",
)

# %% [markdown]
# The message: a state of fixed size is full at some point. Linear attention finds nearly all of 128 keys, 0.99, and a
# third of 512. It cannot replace, though: of two values for one key it gives back the sum, and finds the newer one by
# chance, about half the time. The delta rule replaces: 0.99 of 32 keys that were written twice. For that it pays
# elsewhere: each correction disturbs what lies near, and of 64 keys it has lost a tenth, though each was written only
# once.
#
# Softmax, with queries made 32 times longer, finds everything and keeps everything, 65,536 numbers for 512 keys, where
# the state has 4,096. No way keeps little and loses nothing. Models of today mix them: a few layers with a cache, many
# with a window or a state.

# %% [markdown]
# **Question 10.4.** A model with a state of 64 x 64 reads a book. Which of these can it not do?
#
# * **a** Write as fast at the end as at the beginning.
# * **b** Find again any one of 100,000 names, each written once.
# * **c** Forget what was replaced.

# %% name="question-10-4"
answer("Q10.4", "b")

# %% [markdown]
# ## Your exercises
#
# `hint("10.2")` says more each time. `solution("10.2")` opens once your answer is right, or after all hints, or after
# three different attempts. And here is how far you are:

# %% name="progress"
progress(10)

# %% [markdown]
# ## What to take with you
#
# | what grows | what helps | what it costs |
# | --- | --- | --- |
# | the table of weights, $T^2$ | tiles: keep $m$, $\ell$ and $o$ | in training, scores are computed again |
# | the work, $T^2$ | a window: $T \cdot w$ | far tokens count only through layers; keep the sink |
# | the cache, layers × heads × numbers | fewer heads of keys; a latent; a window | heads share what they read; more arithmetic |
# | what is reserved of it | pages and their table | a lookup |
# | all of it | a state of fixed size | it forgets |
#
# To merge two pieces, or to add a tile, with $m' = \max(m_1, m_2)$:
#
# $$\ell = e^{m_1 - m'}\, \ell_1 + e^{m_2 - m'}\, \ell_2, \qquad o = e^{m_1 - m'}\, o_1 + e^{m_2 - m'}\, o_2, \qquad
# z = \frac{o}{\ell}$$
#
# * A maximum that is forgotten in a merge changes no shape and raises no error. Compare with the whole, once.
# * A row that has seen nothing yet has $m = -\infty$: subtract something finite.
# * A window of $w$ holds $w$ keys. Say whether the own one counts, and at which position the newest token stands.
#
# **Next.** This was the last chapter to learn from. The [notes](99_notes.ipynb) count the parts of GPT-2 and collect
# the messages of errors. How to keep little and forget little is an open question, and you can now read those who work
# on it. All chapters: [the course's contents](../README.md#chapters).
