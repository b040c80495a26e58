# ---
# jupyter:
#   course:
#     summary: GPT-2 counted part by part, messages of errors, two tables
#     title: Notes
# ---

# %% [markdown]
# # Chapter 9 · Notes
#
# What serves for looking things up, rather than for learning in order: the sizes of GPT-2, counted part by part, the
# messages of common errors, and two tables.
#
# **Time.** About 15 minutes, if you read all of it. **You need** chapter 5.

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
import torch
from torch import nn

from course_utils.attention import MultiHeadAttention

# %% name="count"
def count(module):
    """How many numbers a module learns."""
    return sum(parameter.numel() for parameter in module.parameters())

# %% [markdown]
# ## At the size of GPT-2
#
# GPT-2 is a language model of 2019, built around the layer of chapter 5. In its smallest version every token has 768
# numbers, there are 12 heads, and sequences have up to 1024 tokens. Pascal Burume's guide makes a layer of this size
# and sends two sequences of 100 random tokens through it.

# %% name="gpt2-small-layer"
torch.manual_seed(123)
layer = MultiHeadAttention(d_in=768, d_out=768, context_length=1024, dropout=0.1, num_heads=12)
output = layer(torch.rand(2, 100, 768))
print(output.shape)
print("head_dim:", layer.head_dim, "and for a width of 512 with 8 heads:", 512 // 8)

# %% [markdown]
# The shape is (B, T, d_out). Each of the 12 heads has 64 numbers. An article on BERT takes a width of 512 and 8 heads
# as its example, and gets 64 as well. How many numbers does this layer learn? The guide counts four matrices, 2,359,296
# in total.

# %% name="parameters"
for name, parameter in layer.named_parameters():
    print(f"{name:15} {parameter.numel():>9,}")
print(f"{'total':15} {count(layer):>9,}")

# %% [markdown]
# Four matrices of 768 × 768 = 589,824 each, as the guide says. But `out_proj` also has a bias, 768 numbers that are
# easy to forget: 2,360,064. The number of heads plays no part, since heads only share out the width, and the mask is a
# buffer, stored and not learned.
#
# GPT-2 comes in four sizes. Each is a stack of equal **layers**, and each layer has an attention layer with biases, a
# small network of two linear layers (four times as wide in the middle), and two **LayerNorms**, which rescale each
# token with a learned scale and shift. Before the stack, two tables give each of 50,257 tokens and each of 1024
# positions a vector. After it stands one more LayerNorm. The last step, from vectors back to tokens, uses the token
# table again.

# %% name="count-gpt2"
def count_gpt2(layers, width, vocabulary=50_257, positions=1024):
    """How many numbers a GPT-2 with this many layers and numbers per token learns."""
    attention = 4 * (width * width + width)  # queries, keys, values, out_proj
    network = (width * 4 * width + 4 * width) + (4 * width * width + width)
    layer_norm = 2 * width  # a scale and a shift for every number
    tables = (vocabulary + positions) * width
    return tables + layers * (attention + network + 2 * layer_norm) + layer_norm


print(f"{count_gpt2(layers=12, width=768):,}")

# %% [markdown]
# Is the formula right? Build its parts in the width of the next size, 1024. What one layer adds is the difference
# between two layers and one; what remains without layers are the tables.

# %% name="check-the-formula"
attention = MultiHeadAttention(1024, 1024, 1024, dropout=0.1, num_heads=16, qkv_bias=True)
network = nn.Sequential(nn.Linear(1024, 4 * 1024), nn.Linear(4 * 1024, 1024))
layer_norm = nn.LayerNorm(1024)
one_layer = count(attention) + count(network) + 2 * count(layer_norm)
print(f"{one_layer:,}", one_layer == count_gpt2(2, 1024) - count_gpt2(1, 1024))
tables = count(nn.Embedding(50_257, 1024)) + count(nn.Embedding(1024, 1024)) + count(layer_norm)
print(f"{tables:,}", tables == count_gpt2(0, 1024))

# %% [markdown]
# Built or calculated, the same. Now all four sizes, with layers, width and heads from GPT-2's published configurations.

# %% name="gpt2-sizes"
configurations = {
    "small": (12, 768, 12), "medium": (24, 1024, 16),  # layers, width, heads
    "large": (36, 1280, 20), "XL": (48, 1600, 25),
}
for size, (layers, width, num_heads) in configurations.items():
    heads_of = f"{num_heads} heads of {width // num_heads}"
    print(f"{size}: {layers} layers, width {width}, {heads_of}, {count_gpt2(layers, width):,}")

# %% [markdown]
# From 124,439,808 to 1,557,611,200. Every head has 64 numbers, in all four sizes: a wider model has more heads, not
# wider ones.
#
# Burume's guide lists 117M, 345M, 762M and 1.5B. The first three stand in the GPT-2 paper; OpenAI later noted in its
# repository that its original counts were wrong. His table also gives medium 24 heads of "~43" and large 36 heads of
# "~36". 24 and 36 are numbers of *layers*, an easy slip in a table where both stand side by side and agree for small.
# Could they be heads?

# %% name="layers-are-not-heads"
for width, num_heads in [(1024, 24), (1280, 36)]:
    try:
        MultiHeadAttention(width, width, 1024, dropout=0.1, num_heads=num_heads)
    except ValueError as error:
        print(error)

# %% [markdown]
# 24 does not divide 1024, nor 36 divide 1280: a vector has a whole number of entries.
#
# One more line of that table: `qkv_bias=False`. GPT-2 does have biases for queries, keys and values. How much would the
# small one lack without them?

# %% name="without-biases"
biases = 12 * 3 * 768  # layers, three matrices, one bias for each of their outputs
print(f"{biases:,} of {count_gpt2(12, 768):,}, which leaves {count_gpt2(12, 768) - biases:,}")

# %% [markdown]
# 27,648 numbers, few among 124,439,808. But whoever loads GPT-2's trained weights into a model without these biases has
# no place for them, and computes something else.
#
# ## Messages you will meet
#
# Burume's guide ends with five common errors. The sequence that is too long was in chapter 4, `view` after `transpose`
# in chapter 5. Here are the other three. First: a width of 768 and 7 heads.

# %% name="seven-heads-checked"
d_out, num_heads = 768, 7
try:
    message = f"d_out ({d_out}) must be divisible by num_heads ({num_heads})"
    assert d_out % num_heads == 0, message
except AssertionError as error:
    print(type(error).__name__, error)
try:
    MultiHeadAttention(d_in=768, d_out=768, context_length=1024, dropout=0.1, num_heads=7)
except ValueError as error:
    print(type(error).__name__, error)

# %% [markdown]
# Both name the two numbers that do not fit. Next: forget `super().__init__()`. The guide expects a RuntimeError.

# %% name="forgotten-super"
class Forgetful(nn.Module):
    """A module that does not let nn.Module set itself up."""

    def __init__(self):
        self.W_query = nn.Linear(3, 2)


try:
    Forgetful()
except AttributeError as error:
    print(type(error).__name__, error)

# %% [markdown]
# It is an AttributeError, and its words are clear. Third: tokens of 512 numbers for a layer made for 768. A bare
# `nn.Linear` first, then the class.

# %% name="wrong-width"
tokens_of_512 = torch.rand(2, 100, 512)
try:
    nn.Linear(768, 768)(tokens_of_512)
except RuntimeError as error:
    print(type(error).__name__, error)
try:
    MultiHeadAttention(768, 768, 1024, dropout=0.1, num_heads=12)(tokens_of_512)
except ValueError as error:
    print(type(error).__name__, error)

# %% [markdown]
# "mat1 and mat2" are the two factors of a matrix product. Their inner sizes, 512 and 768, should be equal. The 200 is
# the batch laid flat, 2 × 100 tokens.

# %% [markdown]
# ## Tables

# %% [markdown]
# | operation | what it does |
# | --- | --- |
# | `a @ b` | matrix product over the last two dimensions, repeated for all others |
# | `a.view(sizes)` | the same numbers in the same order, other sizes; dimensions that it joins must lie together in memory |
# | `a.transpose(i, j)` | two dimensions change places; no number moves in memory |
# | `a.contiguous()` | copies the numbers into the order of the dimensions, if they are not |
# | `a.masked_fill(mask, v)` | `v` wherever `mask` is True; a new tensor |
# | `register_buffer(name, a)` | a tensor that moves and is stored with the layer, not learned |
# | `nn.ModuleList(layers)` | a list whose layers are found, moved and trained |
#
# | mistake | how it shows |
# | --- | --- |
# | view straight to (B, num_heads, T, head_dim) | no error; outputs depend on later tokens |
# | merge without transpose | no error; the right numbers in the wrong places |
# | `view` after `transpose` without `contiguous` | RuntimeError, view size is not compatible |
# | dividing by √d_out | no error; weights flatter than they should be |
# | heads in a plain list | optimizer: empty parameter list; beside other layers no error, and they stay untrained |
# | more tokens than `context_length` | size of tensor a must match; our class says it in a sentence |
# | `d_out` not divisible by `num_heads` | refused, with both numbers |
# | layers taken for heads | GPT-2 medium would need 24 heads of 42⅔ numbers |
# | `super().__init__()` forgotten | AttributeError, before Module.__init__() call |
# | tokens of the wrong width | mat1 and mat2 shapes cannot be multiplied |
# | mask as a plain attribute | it stays on the CPU when the layer moves |
#
# All chapters: [the course's contents](../README.md#chapters).
