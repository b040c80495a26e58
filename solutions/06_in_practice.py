# ---
# jupyter:
#   course:
#     summary: padding, two sequences, one layer three ways, cost, a cache
# ---

# %% [markdown]
# # Chapter 6 · In practice
#
# **After this chapter you can**
#
# * use attention between two sequences, with padding, in your own class or PyTorch's;
# * say what a layer costs in memory and time, and when a fast kernel is used;
# * generate text one token at a time with a cache, and examine someone else's attention code.
#
# **Time.** About 90 minutes, exercises included. **You need** chapters 3 to 5: masks, dropout, `MultiHeadAttention`.
#
# Run the cells from top to bottom (Shift + Enter). The first one finds the course's helper package, or installs it.

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
import logging, warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from course_utils import live, pictures
from course_utils.attention import MultiHeadAttention, MultiHeadAttentionWrapper
from course_utils.checking import answer, check, hint, progress, quiz, solution
from course_utils.validation import (
    check_cache, check_dropout, check_heads, check_input, check_mask, check_pair, check_room,
    check_values,
)

# importing Timer warns on machines that have the CUDA compiler but no GPU
logging.getLogger("torch.utils.cpp_extension").setLevel("ERROR")
from torch.utils.benchmark import Timer

# %% [markdown]
# ## Who asks, and who answers?
#
# So far, one sequence has both asked and answered: its queries have met its own keys. That is **self-attention**.
# Translation needs more: every German word written should look at the English sentence. (The paper that gave attention
# this form was about translation: Vaswani et al., 2017.)
#
# We write some vectors by hand. Each word's vector points in one of four directions, one per meaning.

# %% name="two-sequences"
english = ["the", "cat", "chased", "the", "mouse"]
german = ["Katze", "jagte", "Maus"]  # cat, chased, mouse
meaning = torch.eye(4)  # one direction each: cat, chase, mouse, the
asking = meaning[[0, 1, 2]]  # (3, 4), the German words
answering = meaning[[3, 0, 1, 3, 2]]  # (5, 4), the English words
print(asking @ answering.T)  # (3, 4) @ (4, 5) -> (3, 5)

# %% [markdown]
# The first row is "Katze": it scores 1 with "cat" and 0 with the other words. The matrix need not be square. We write
# $T$ for the number of tokens that ask, here 3, and $S$ for those that answer, here 5. Attention between two sequences
# is called **cross-attention**.
#
# The formula stays the same. Only the inputs differ: queries come from the first sequence, keys and values from the
# second.
#
# $$Z = \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V, \qquad
# Q: T \times d_k, \quad K, V: S \times d_k, \quad Z: T \times d_k$$

# %% [markdown]
# ## A layer with four inputs
#
# One source, an article, defines a layer that takes queries, keys, values and a mask separately. Ours has heads as in
# chapter 5, but no mask of its own, since what must be hidden depends on the sequences. A separate function does the
# hiding; we return to it below. (`finfo` gives the lowest number that a type can hold.)

# %% name="masked-softmax"
def masked_softmax(scores, hidden):
    """Weights (..., T, S): finite rows sum to 1, or to 0 where all keys are hidden (True)."""
    wide = scores.to(torch.promote_types(scores.dtype, torch.float32))  # 16 bits become 32
    lowest = torch.finfo(wide.dtype).min  # finite: a row of only -inf would give nan
    weights = torch.softmax(wide.masked_fill(hidden, lowest), dim=-1)
    return weights.masked_fill(hidden, 0.0).to(scores.dtype)

# %% name="cross-class"
class CrossAttention(nn.Module):
    """Multi-head self-attention or cross-attention: T tokens ask, S tokens answer.

    query_input: (B, T, d_model). key_input and value_input: (B, S, d_model). Output: (B, T,
    d_model). mask: True where a key is hidden, (B, T, S), or (T, S) for a single sequence; a size
    of 1 is repeated, so padding is (B, 1, S). num_heads must divide d_model. dropout: as in
    CausalAttention, or None for no dropout layer. bias: whether the linear layers have one.
    """

    def __init__(self, d_model, num_heads, dropout=None, bias=True):
        super().__init__()
        check_heads(d_model, num_heads, width="d_model")
        if dropout is not None:
            check_dropout(dropout)
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=bias)
        self.W_key = nn.Linear(d_model, d_model, bias=bias)
        self.W_value = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = None if dropout is None else nn.Dropout(dropout)

    def split(self, linear, tokens, name):
        """Tokens (B, T, d_model), projected and split: (B, num_heads, T, head_dim)."""
        check_input(tokens, linear.in_features, linear.weight, name=name, width="d_model")
        return linear(tokens).unflatten(-1, (self.num_heads, self.head_dim)).transpose(-3, -2)

    def weights(self, query_input, key_input, mask=None):
        """Weights (B, num_heads, T, S): rows sum to 1, or to 0 where no key is visible."""
        # (B, num_heads, T, head_dim) and (B, num_heads, S, head_dim)
        queries = self.split(self.W_query, query_input, "query_input")
        keys = self.split(self.W_key, key_input, "key_input")
        check_pair(query_input, key_input)
        queries = queries / self.head_dim**0.5  # before the product, which float16 might not hold
        scores = queries @ keys.transpose(-2, -1)  # (B, num_heads, T, S)
        if mask is None:
            return masked_softmax(scores, scores.new_zeros(1, dtype=torch.bool))  # hides nothing

        check_mask(mask, queries, keys)
        return masked_softmax(scores, mask.unsqueeze(-3))  # (B, 1, T, S), the same for every head

    def forward(self, query_input, key_input, value_input, mask=None):
        weights = self.weights(query_input, key_input, mask)  # (B, num_heads, T, S)
        check_values(key_input, value_input)
        if self.dropout is not None:
            weights = self.dropout(weights)
        values = self.split(self.W_value, value_input, "value_input")  # (B, num_heads, S, head_dim)
        context = (weights @ values).transpose(-3, -2)  # (B, T, num_heads, head_dim)
        return self.out_proj(context.flatten(-2))  # (B, T, d_model)

# %% [markdown]
# `unflatten` splits the last dimension in two, as `view` did in chapter 5. `flatten(-2)` joins the last two, copying if
# necessary. The weights have their own method, so that you can look at them. (Functions from `validation` only reject
# invalid input.)
#
# Now for our two sentences. We use identity matrices, but `W_query` makes queries eight times longer, which spreads out
# the scores. What will "Katze" read?

# %% name="translate"
layer = CrossAttention(d_model=4, num_heads=1, bias=False)
with torch.no_grad():
    for linear in [layer.W_query, layer.W_key, layer.W_value, layer.out_proj]:
        linear.weight.copy_(torch.eye(4))
    layer.W_query.weight.mul_(8)
print(layer(asking, answering, answering).detach())  # (3, 4), (5, 4), (5, 4) -> (3, 4)

# %% [markdown]
# It reads mostly "cat": 0.9317 in the first column. Two of the English words are "the", so the last column holds twice
# as much as the "chase" column, 0.0341 against 0.0171. Which weights produce this?

# %% name="cross-picture" shows="Map of attention weights with three rows, Katze, jagte and Maus, and five columns, the, cat, chased, the and mouse. Each row has one bright cell of 0.93, at cat, chased and mouse; all others hold 0.02. Every row sums to 1.00."
pictures.show_weights(
    layer.weights(asking, answering), german, key_tokens=english,
    title="Three words ask, five answer",
)

# %% [markdown]
# Each row belongs to one asking word and sums to 1; each column belongs to one answering word. We chose vectors that
# make this work. A real model has to learn its own.
#
# The article's example sends 64 sequences of 10 tokens through 8 heads, without biases.

# %% name="article-shape"
torch.manual_seed(123)
mha = CrossAttention(d_model=512, num_heads=8, dropout=0.1, bias=False)
queries, keys, values = torch.randn(3, 64, 10, 512)
print(mha(queries, keys, values).shape)

# %% [markdown]
# The output has the queries' shape, `torch.Size([64, 10, 512])`.
#
# In self-attention all three inputs are the same sequence. With chapter 5's mask and parameters, our class must give
# chapter 5's output.

# %% name="self-is-a-special-case"
torch.manual_seed(123)
causal = MultiHeadAttention(12, 12, context_length=6, dropout=0.0, num_heads=3, qkv_bias=True)
general = CrossAttention(12, 3)
general.load_state_dict(causal.state_dict(), strict=False)  # all but the mask
x = torch.randn(2, 6, 12)
print(torch.allclose(general(x, x, x, causal.mask[None]), causal(x), atol=1e-6))  # (1, T, T)

# %% [markdown]
# It does: one class serves both uses.

# %% [markdown]
# ## Sentences of unequal length
#
# A batch is one ordinary tensor, so all its sentences must have the same length. Shorter ones are extended with
# **padding**, which no token should attend to. To hide it, we need only each sentence's real length.

# %% name="padding"
lengths = torch.tensor([5, 2])  # "the cat chased the mouse", "the mouse"
padding = torch.arange(5) >= lengths[:, None]  # (5,) >= (2, 1) -> (2, 5)
print(padding)

# %% [markdown]
# Positions 0 to 4 are compared with each length. The second sentence has two words, then three padding positions,
# marked `True`.
#
# What happens if we forget the mask? The same three German words ask both sentences.

# %% name="without-padding-mask"
short = F.pad(meaning[[3, 2]], (0, 0, 0, 3))  # (2, 4) -> (5, 4): the, mouse, three zero rows
answers = torch.stack([answering, short])  # (2, 5, 4)
asks = asking.expand(2, 3, 4)  # (3, 4) -> (2, 3, 4), the same for both
print(layer.weights(asks, answers)[1, 0].detach())  # the second sentence, (3, 5)

# %% [markdown]
# "Katze" finds nothing in "the mouse", so all five scores are 0. Its weight is spread evenly, 0.2000 each, and three
# fifths of it goes to padding. Even "Maus", which finds its word, gives 0.0171 to each padding position.

# %% [markdown]
# **Question 6.1.** The mask must hide *keys*, the columns of the scores $(B, T, S)$. Our `padding` has shape $(B, S)$.
# Where does the new dimension go?
#
# * **a** At the end: $(B, S, 1)$.
# * **b** In the middle: $(B, 1, S)$.
# * **c** In front: $(1, B, S)$.

# %% name="question-6-1"
answer("Q6.1", "b")

# %% [markdown]
# Now we use that mask.

# %% name="with-padding-mask"
mask = padding[:, None, :]  # (2, 5) -> (2, 1, 5): the same for every query
print(layer.weights(asks, answers, mask)[1, 0].detach())

# %% [markdown]
# "Katze" now gives 0.5000 to each real word, and "Maus" 0.9820 to "mouse". Does the padding still have any influence?
# We write something else there and compare the outputs.

# %% name="padding-has-no-influence"
changed = answers.clone()
changed[1, 2:] = 100.0
before, after = (layer(asks, tokens, tokens, mask) for tokens in [answers, changed])
print("same output:", torch.equal(before, after))

# %% [markdown]
# It has none. (Padding must be finite: 0 times `nan` is `nan`.) What if we forget the middle dimension? The layer
# raises an error: for a batch, a mask must have three dimensions. Otherwise a mask $(B, S)$ would be taken for $(T, S)$
# whenever $B = T$.

# %% [markdown]
# ### Exercise 6.1 · A padding mask from lengths
# 1 point · ★☆☆ · 5 minutes
#
# Write a function that makes this mask from the sentence lengths and the padded length: `True` where a key is padding,
# with shape $(B, 1, S)$. Padding comes at the end.

# %% name="exercise-6-1"
def my_padding_mask(lengths, num_tokens):
    """True where a key is padding: (B, 1, S), from lengths (B,) and num_tokens = S."""
    ### BEGIN SOLUTION
    padding = torch.arange(num_tokens) >= lengths[:, None]  # (S,) >= (B, 1) -> (B, S)
    return padding[:, None, :]  # (B, S) -> (B, 1, S)
    ### END SOLUTION

# %% name="check-6-1"
### BEGIN HIDDEN TESTS
assert check("6.1", my_padding_mask).status == "right"
### END HIDDEN TESTS
check("6.1", my_padding_mask)

# %% [markdown] tags=["solution"]
# **Why it works.** Positions are counted from 0, so a sentence of length 2 has words at 0 and 1, and everything from 2
# on is padding: hence `>=`, not `>`. `lengths[:, None]` is a column, and comparing a row with a column gives a matrix.

# %% [markdown]
# ## A row with nothing left, again
#
# In chapter 3 we met a row with everything hidden. With padding this happens when a sentence is empty, and in a causal
# layer when padding comes first. What should the weights of such a row be? Here are three ways to compute them.

# %% name="empty-row"
scores = torch.tensor([1.0, 2.0, 3.0])
hidden = torch.tensor([True, True, True])
by_infinity = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
by_billion = torch.softmax(scores.masked_fill(hidden, -1e9), dim=-1)
for weights in [by_infinity, by_billion, masked_softmax(scores, hidden)]:
    print(weights)

# %% [markdown]
# With $-\infty$ the row is `nan`. With the article's $-10^9$ it is uniform, 0.3333 each: the token reads padding as
# if it were text. Our way, the third, hides twice: with a finite number before softmax, so that an empty row is not
# `nan`, and with 0 after it. A token that may see nothing then reads nothing.
#
# The next figure shows all of this for the German words and the English sentence. The slider sets how many of the five
# positions hold words; the rest is padding, whose scores are 0. On the left nothing hides it; on the right one of the
# three ways does. Which ways work at 2 words but not at 0?

# %% name="padding-live"
live.show_padding(4 * asking @ answering.T, german, english)  # 4 = 8 (in W_query) / √4 (head_dim)

# %% [markdown]
# As long as one word is left, the three ways agree: the words get all of the weight. At 0 words they differ: $-\infty$
# alone makes the weights `nan`, $-10^9$ gives 0.20 to every position, and only the last way makes all weights 0.

# %% [markdown]
# ## The same layer three ways
#
# It should not matter who wrote the layer. With the same parameters we compute one result in three ways: our class,
# PyTorch's function, and PyTorch's class. Two sequences of three tokens ask; two sequences of five answer, the second
# padded.

# %% name="first-way"
torch.manual_seed(123)
layer = CrossAttention(d_model=12, num_heads=3)
asks, answers = torch.randn(2, 3, 12), torch.randn(2, 5, 12)
ours = layer(asks, answers, answers, padding[:, None, :])  # (2, 3, 12)
print(ours.shape)

# %% [markdown]
# **The function** `F.scaled_dot_product_attention` begins after the projections and ends before `out_proj`. It expects
# heads before tokens. Its boolean mask says which keys to *keep*, hence the `~`.

# %% name="second-way"
parts = [(layer.W_query, asks), (layer.W_key, answers), (layer.W_value, answers)]
queries, keys, values = (
    linear(tokens).unflatten(-1, (3, 4)).transpose(1, 2)  # (2, 3, T or S, 4)
    for linear, tokens in parts
)
keep = ~padding[:, None, None, :]  # (2, 5) -> (2, 1, 1, 5): every head, every query
context = F.scaled_dot_product_attention(queries, keys, values, attn_mask=keep)  # (2, 3, 3, 4)
by_function = layer.out_proj(context.transpose(1, 2).flatten(2))  # (2, 3, 12)

# %% [markdown]
# **The class** `nn.MultiheadAttention` stacks its three matrices in `in_proj_weight` if they have the same shape. Its
# padding mask, of shape $(B, S)$, says which keys to *hide*.

# %% name="third-way"
built_in = nn.MultiheadAttention(12, 3, batch_first=True)
linears = [layer.W_query, layer.W_key, layer.W_value]
with torch.no_grad():
    built_in.in_proj_weight.copy_(torch.cat([linear.weight for linear in linears]))  # (36, 12)
    built_in.in_proj_bias.copy_(torch.cat([linear.bias for linear in linears]))  # (36,)
built_in.out_proj.load_state_dict(layer.out_proj.state_dict())
by_class, _ = built_in(asks, answers, answers, key_padding_mask=padding)

for name, output in [("function", by_function), ("class", by_class)]:
    print(f"{name:8} at most 1e-6 away:", bool((output - ours).abs().max() < 1e-6))

# %% [markdown]
# All three agree. (Unless you set `need_weights=False`, PyTorch's class also returns the weights, here `_`, averaged
# over heads by default. Returning them costs memory, as you will see.) The three differ in what you must pass, above
# all in what `True` means: even within one library, the function takes `~padding` and the class `padding`. What if we
# pass the wrong one?

# %% name="wrong-camp"
wrong = F.scaled_dot_product_attention(queries, keys, values, attn_mask=~keep)
print(wrong.shape, "same:", torch.allclose(wrong, context))
print("first sequence, largest number:", wrong[0].abs().max().item())

# %% [markdown]
# There is no error. The first sequence has no padding, so everything is hidden, and the function returns only zeros.
# (Before PyTorch 2.5, and on some devices even later, it returns `nan`. The [notes](99_notes.ipynb) compare all masks.)
# In the second sequence only padding is read. So when you change libraries, test the mask: change a token that should
# be hidden, and see whether the output changes.

# %% [markdown]
# ### Exercise 6.2 · A mask in which True means keep
# 2 points · ★★☆ · 10 minutes
#
# A tokenizer returns `attention_mask` with a 1 for every real token and a 0 for padding. Turn it into the mask that
# `F.scaled_dot_product_attention` needs for training a language model: a key is kept if it is real *and* not in the
# future. The shape is $(B, 1, S, S)$, with a 1 for the heads. Padding comes at the end and no sentence is empty, so
# even a padding query sees a real token.

# %% name="exercise-6-2"
def my_keep_mask(attention_mask):
    """True where a key is kept: (B, 1, S, S), from 1 for real and 0 for padding (B, S)."""
    ### BEGIN SOLUTION
    S = attention_mask.shape[-1]
    past = torch.tril(torch.ones(S, S)).bool()  # (S, S), the token itself included
    real = attention_mask == 1  # (B, S)
    return past & real[:, None, None, :]  # (S, S) & (B, 1, 1, S) -> (B, 1, S, S)
    ### END SOLUTION

# %% name="check-6-2"
### BEGIN HIDDEN TESTS
assert check("6.2", my_keep_mask).status == "right"
### END HIDDEN TESTS
check("6.2", my_keep_mask)

# %% [markdown] tags=["solution"]
# **Why it works.** Here `True` means keep, so both conditions must hold: `&`. In our classes, where `True` means hide,
# either condition is enough: `|`. The 1 for the heads is needed: a mask $(B, S, S)$ would be taken for one mask per
# *head*.

# %% [markdown]
# ## How the cost grows
#
# Every token asks every token: with $T$ tokens there are $T^2$ scores. In GPT-2 small, with 12 heads, 1024 tokens and 4
# bytes per number, that is 48 MiB for one sequence in one layer, and would be 3 GiB for 8192 tokens. (1 MiB is $2^{20}$
# bytes, 1 GiB is $2^{30}$.) Do we need the whole matrix at once? Each row is needed only until the values have been
# mixed.
#
# We do not even need a whole row: softmax divides by a sum, and a sum can be computed in pieces (chapter 10 does so). A
# **kernel** is a function that a processor runs in a single call. A **fused** kernel combines several steps, here
# scores, softmax and mixing. Fused attention kernels go through the keys block by block and never store the matrix. The
# best known is FlashAttention (Dao et al., 2022). `F.scaled_dot_product_attention` uses such a kernel when it can.

# %% [markdown]
# ### The fused class
#
# We subclass chapter 5's class and rewrite the middle of `forward`: scores, mask, softmax, dropout and mixing become
# one call.

# %% name="fused-class"
class FusedMultiHeadAttention(MultiHeadAttention):
    """MultiHeadAttention with PyTorch's own kernels.

    The fast ones store no (T, T) matrix of weights. In training with dropout, a CPU uses the
    slow one.
    """

    def forward(self, x):
        check_input(x, self.W_query.in_features, self.W_query.weight, longest=len(self.mask))
        if x.dim() == 2:  # before PyTorch 2.14 the fast kernels need a batch
            return self.forward(x[None])[0]  # (1, T, d_in) -> (T, d_out)
        queries = self.split(self.W_query(x))  # (B, num_heads, T, head_dim)
        keys = self.split(self.W_key(x))  # (B, num_heads, T, head_dim)
        values = self.split(self.W_value(x))  # (B, num_heads, T, head_dim)

        rate = self.dropout.p if self.training else 0.0  # the function has no training mode
        context = F.scaled_dot_product_attention(
            queries, keys, values, dropout_p=rate, is_causal=True
        )
        return self.out_proj(self.merge(context))  # (B, T, d_out)

# %% [markdown]
# The function has no training mode, so outside training we pass a dropout rate of 0.0. Are the results the same? The
# classes have the same parameters, so one can load the other's.

# %% name="fused-agrees"
torch.manual_seed(123)
textbook = MultiHeadAttention(768, 768, context_length=1024, dropout=0.0, num_heads=12)
fused = FusedMultiHeadAttention(768, 768, context_length=1024, dropout=0.0, num_heads=12)
fused.load_state_dict(textbook.state_dict())
x = torch.rand(1, 256, 768)
with torch.no_grad():
    print("at most 1e-6 away:", bool((fused(x) - textbook(x)).abs().max() < 1e-6))

# %% [markdown]
# They agree, up to rounding. But the weights are no longer stored, so we cannot look at them.
#
# When is a fast kernel used? Where none fits, the function silently uses a slow one. With `sdpa_kernel` we *demand*
# FlashAttention, and get an error if it cannot do what we want.

# %% name="fast-kernel"
def fast(x, rate=0.0):
    """Does FlashAttention accept queries, keys and values like x, with this dropout rate?"""
    try:
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # hides many lines of reasons
            F.scaled_dot_product_attention(x, x, x, dropout_p=rate, is_causal=True)
    except RuntimeError:
        return False
    return True


heads = torch.rand(1, 4, 6, 8)  # (B, num_heads, T, head_dim)
print("without dropout:", fast(heads), "| with dropout:", fast(heads, 0.1))

# %% [markdown]
# On a CPU, FlashAttention does not support dropout. (On a GPU it does, but only in 16 bits.) Before PyTorch 2.14 it
# also needs a batch dimension, so `fast(heads[0])` is `False`. Our class gives a single sequence a batch dimension,
# and is fast in every version. What do we gain?

# %% [markdown]
# ### Memory
#
# In training, a layer must keep what its derivatives will need. `saved_tensors_hooks` calls a function for every tensor
# kept. We add up the bytes, counting each piece of memory once and leaving out the parameters and the mask.

# %% name="kept-bytes"
def kept_mib(layer, *inputs, **options):
    """How many MiB a forward pass keeps for the derivatives."""
    kept = {}

    def note(tensor):
        memory = tensor.untyped_storage()
        kept[memory.data_ptr()] = memory.nbytes()
        return tensor

    with saved_tensors_hooks(note, lambda tensor: tensor):
        output = layer(*inputs, **options)  # holds on to every kept tensor until we have counted
    own = {tensor.untyped_storage().data_ptr() for tensor in layer.state_dict().values()}
    return sum(size for address, size in kept.items() if address not in own) / 2**20

# %% [markdown]
# **Question 6.2.** From 1024 to 2048 tokens, with four heads throughout, by what factor do the matrices of attention
# weights grow?
#
# * **a** 2
# * **b** 4
# * **c** 8

# %% name="question-6-2"
answer("Q6.2", "b")

# %% [markdown]
# Each layer also keeps other things, such as queries and keys. How fast does the total grow for chapter 5's split
# class, the fused one, and PyTorch's own, all of width 256 with four heads?

# %% name="memory" tags=["answers-Q6.2"]
sizes = {"d_in": 256, "d_out": 256, "context_length": 2048, "num_heads": 4}
built_in = nn.MultiheadAttention(256, 4, batch_first=True)
ways = {
    "split": lambda x: kept_mib(MultiHeadAttention(**sizes, dropout=0.0), x),
    "split, dropout 0.1": lambda x: kept_mib(MultiHeadAttention(**sizes, dropout=0.1), x),
    "fused": lambda x: kept_mib(FusedMultiHeadAttention(**sizes, dropout=0.0), x),
    "fused, one sequence": lambda x: kept_mib(FusedMultiHeadAttention(**sizes, dropout=0.0), x[0]),
    "fused, dropout 0.1": lambda x: kept_mib(FusedMultiHeadAttention(**sizes, dropout=0.1), x),
    "built in": lambda x: kept_mib(built_in, x, x, x),
    "built in, need_weights=False": lambda x: kept_mib(built_in, x, x, x, need_weights=False),
}
for name, way in ways.items():
    half, whole = (way(torch.rand(1, T, 256)) for T in [1024, 2048])
    print(f"{name:30}{half:6.1f} MiB, {whole:6.1f} MiB, x {whole / half:.1f}")

# %% [markdown]
# At 2048 tokens the split class keeps 3.5 times as much as at 1024, close to the factor of 4 for its attention weights,
# which take 64 of the 74.0 MiB. With dropout, two more matrices per head make it 202.0. The fused class only doubles,
# to 10.0. But in training with dropout it uses the slow kernel and is back at 202.0. PyTorch's class keeps 76.0, unless
# you tell it not to return the weights.

# %% [markdown]
# ### Time
#
# PyTorch's `Timer` warms up, repeats, waits for a GPU to finish, and uses one CPU core. We take the shortest time:
# slower runs shared the machine with other work.

# %% name="milliseconds"
def milliseconds(layer, x):
    """The shortest time of a forward pass without derivatives."""
    timer = Timer("layer(x)", globals={"layer": layer, "x": x})
    with torch.no_grad():
        return min(timer.blocked_autorange(min_run_time=0.1).times) * 1000

# %% [markdown]
# The next cell measures times on *your* machine, on the CPU and on a GPU if there is one.

# %% name="time-picture" shows="Three measured curves and T squared over the number of tokens, 128 to 2048, both axes logarithmic. At the right, the wrapper and the split class rise at least as steeply as T squared; the fused class stays below." tags=["nbval-ignore-output"]
# the course's tests run this cell but do not compare its picture: times differ
lengths = [128, 256, 512, 1024, 2048]
for device in ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]:
    layers = {
        "wrapper": MultiHeadAttentionWrapper(256, 64, 2048, 0.0, num_heads=4).to(device),
        "split": MultiHeadAttention(**sizes, dropout=0.0).to(device),
        "fused": FusedMultiHeadAttention(**sizes, dropout=0.0).to(device),
    }
    times = {name: [milliseconds(layer, torch.rand(1, T, 256, device=device)) for T in lengths]
             for name, layer in layers.items()}
    pictures.show_curves(
        times | {"T²": [times["split"][-1] * (T / 2048)**2 for T in lengths]}, x=lengths,
        x_label="tokens T", y_label="ms per forward pass", logarithmic=True, doublings=True,
        title=f"Time on {device}, width 256, 4 heads",
    )

# %% [markdown]
# On a CPU, with few tokens, the three are about equally fast: the projections dominate, and their cost grows only
# like $T$. With many tokens the matrices of scores and weights cost most, and time grows like $T^2$ or faster. The
# fused class skips blocks that lie wholly in the future and moves far less data. Yet its time, too, eventually grows
# like $T^2$. (At GPT-2 small's size, on two cores, it was about 3 times as fast as chapter 5's class, and 6 to 8
# times as fast without the linear layers.)

# %% [markdown]
# ### Half the bits
#
# Large models compute with 16 bits per number, or fewer. With everything in 16 bits, the split class keeps half as
# much, 37.0 MiB. There are two 16-bit types: **float16** has more digits, **bfloat16** a wider range. How do they
# represent four scores and a product?

# %% name="half-scores"
scores = torch.tensor([10.00, 10.02, 10.04, 12.00])
dtypes = [torch.float32, torch.bfloat16, torch.float16]
for dtype in dtypes:
    rounded = scores.to(dtype)
    product = torch.tensor(300.0, dtype=dtype)**2
    print(f"{str(dtype):15}", rounded.float(), f"300² = {product:.0f}")
    print(" " * 15, torch.softmax(rounded.float(), dim=-1))

# %% [markdown]
# bfloat16 cannot tell 10.02 from 10.00: both get the weight 0.0957, and the third score gets 0.1018 instead of 0.0996.
# float16 keeps them apart, but its largest number is 65504: 300 times 300 overflows to infinity. Scores can get that
# large. Below, the last of four keys is hidden. Does it matter whether we divide by $\sqrt{64}$ before or after the
# product?

# %% name="half-overflow"
query = torch.full((1, 64), 100.0)
keys = torch.tensor([-11.0, -11.0, -12.0, -9.0])[:, None].expand(4, 64)  # scores from -57,600 down
hidden = torch.tensor([False, False, False, True])
for dtype in [torch.float32, torch.float16]:
    q, k = query.to(dtype), keys.to(dtype)
    print(f"{str(dtype):14} after: ", masked_softmax(q @ k.T / 8, hidden).float())
    print(f"{str(dtype):14} before:", masked_softmax(q / 8 @ k.T, hidden).float())

# %% [markdown]
# If we divide after the product, the query in float16 silently reads **nothing**. The visible scores are $-\infty$, so
# softmax gives all weight to the hidden key, whose weight is then set to 0. ($+\infty$ would give `nan`; Qwen2-7B's
# scores also overflow in float16.) If we divide before the product, the scores fit. So `CrossAttention` and our later
# layers divide the queries (chapter 5's layer would give `nan`), and `masked_softmax` works in 32 bits.
#
# Training mixes 16 and 32 bits: `torch.autocast` computes matrix products in 16 bits, while the parameters stay in 32.
# This saves less: on a CPU the split class keeps 39.1 MiB. If softmax runs in 32 bits, as on a GPU, its weights are
# kept in both types: 103.1 MiB, *more* than without autocast.

# %% name="autocast"
torch.manual_seed(123)
layer, x = CrossAttention(d_model=12, num_heads=3), torch.rand(2, 6, 12)
exact = layer(x, x, x)
with torch.autocast("cpu", torch.bfloat16):
    queries, output = layer.W_query(x), layer(x, x, x)
print("parameters", layer.W_query.weight.dtype)
print("queries", queries.dtype, "| output", output.dtype)
print("at most 0.01 away:", bool((output.float() - exact).abs().max() < 0.01))

# %% [markdown]
# (Autocast runs PyTorch's softmax in 32 bits on a GPU, but not on a CPU.)

# %% [markdown]
# ## Writing one token at a time
#
# A model that writes text appends a token, reads everything again, appends the next one, and so on. Must it read
# everything again? In causal attention an old token never looks at a new one, so its key and value stay the same. We
# keep them in a **key/value cache**. The new token brings one query, and adds one key and one value.

# %% name="cached-class"
class CachedMultiHeadAttention(MultiHeadAttention):
    """MultiHeadAttention for generation: each call takes only the new tokens.

    x: the n newest tokens, (B, n, d_in). cache: None at first, then what the last call returned.
    mask: what to hide besides the future, as in CrossAttention; padding is (B, 1, T).
    Returns the output for the new tokens, (B, n, d_out), and the cache: keys and values of all T
    tokens so far, (B, num_heads, T, head_dim) each. T may be up to context_length.
    """

    def forward(self, x, cache=None, mask=None):
        check_input(x, self.W_query.in_features, self.W_query.weight)
        queries = self.split(self.W_query(x))  # (B, num_heads, n, head_dim)
        keys = self.split(self.W_key(x))  # (B, num_heads, n, head_dim)
        values = self.split(self.W_value(x))  # (B, num_heads, n, head_dim)
        check_cache(cache, keys, values)
        if cache is not None:
            keys = torch.cat([cache[0], keys], dim=-2)  # (B, num_heads, T, head_dim)
            values = torch.cat([cache[1], values], dim=-2)  # (B, num_heads, T, head_dim)
        num_new, num_tokens = x.shape[-2], keys.shape[-2]
        check_room(num_new, num_tokens, len(self.mask))

        queries = queries / self.head_dim**0.5  # before the product, which float16 might not hold
        scores = queries @ keys.transpose(-2, -1)  # (B, num_heads, n, T)
        hidden = self.mask[num_tokens - num_new : num_tokens, :num_tokens]  # the new rows
        if mask is not None:
            check_mask(mask, queries, keys)
            hidden = hidden | mask.unsqueeze(-3)  # (n, T) | (B, 1, n, T)
        weights = self.dropout(masked_softmax(scores, hidden))  # (B, num_heads, n, T)
        return self.out_proj(self.merge(weights @ values)), (keys, values)

# %% [markdown]
# Two things are new. `torch.cat` puts the old keys and values before the new ones, and the causal mask is cut to the
# rows of the new tokens. (PyTorch's `is_causal=True` is no substitute: with one query and $T$ keys it silently shows
# only key 0.) To test our class, we need a model that writes. Here is one with two such layers; untrained, it writes
# nonsense.

# %% name="tiny-model"
class TinyModel(nn.Module):
    """From token numbers to scores for the next token, with two causal layers."""

    def __init__(self, vocabulary, width, context_length, num_heads):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context_length, width)
        self.layers = nn.ModuleList(
            CachedMultiHeadAttention(width, width, context_length, 0.0, num_heads) for _ in range(2)
        )
        self.to_scores = nn.Linear(width, vocabulary)

    def forward(self, numbers, caches=(None, None), padding=None):
        """Scores (..., n, vocabulary) for n new numbers (..., n), and the caches of both layers.

        padding: True where a token is padding, for all T tokens so far, (..., T).
        """
        start = 0 if caches[0] is None else caches[0][0].shape[-2]  # tokens read so far
        if padding is None:
            *before, n = numbers.shape
            padding = torch.zeros(*before, start + n, dtype=torch.bool)  # (..., T)
        positions = (~padding).cumsum(dim=-1)[..., start:] - 1  # (..., n): text begins at 0
        x = self.tokens(numbers) + self.positions(positions.clamp(min=0))  # (..., n, width)
        kept = []
        for layer, cache in zip(self.layers, caches):
            change, cache = layer(x, cache, padding.unsqueeze(-2))  # (..., 1, T)
            x = x + change  # (..., n, width)
            kept.append(cache)
        return self.to_scores(x), kept

# %% [markdown]
# Without a cache the model reads all tokens at every step. With a cache it reads them all at the first step, then only
# the newest. Either way it appends the token with the largest score.

# %% name="generate"
@torch.no_grad()
def generate(model, numbers, count, cached, padding=None):
    """The numbers (..., T), then `count` more, each the most likely one. padding: (..., T)."""
    caches, new = (None, None), numbers
    for _ in range(count):
        if cached:
            scores, caches = model(new, caches, padding)  # reads only what is new
        else:
            scores, _ = model(numbers, padding=padding)  # reads everything
        new = scores[..., -1:, :].argmax(dim=-1)  # (..., 1)
        numbers = torch.cat([numbers, new], dim=-1)  # (..., T + 1)
        padding = None if padding is None else F.pad(padding, (0, 1))  # new tokens are not padding
    return numbers

# %% [markdown]
# We begin with chapter 3's sentence (19 different characters).

# %% name="same-tokens"
text = "But they were all of them deceived."
characters = sorted(set(text))
start = torch.tensor([characters.index(character) for character in text])  # (35,)
torch.manual_seed(123)
model = TinyModel(vocabulary=19, width=64, context_length=1024, num_heads=4)
for cached in [False, True]:
    numbers = generate(model, start, 40, cached)
    print("".join(characters[number] for number in numbers[35:]))

# %% [markdown]
# Both lines are the same nonsense. The cache changes only the amount of work.
#
# Now we give the model two prompts at once, of 35 and 8 characters. New tokens are appended on the right, so we put
# the padding on the **left**: the last position of every row is then its newest token. Padding matters twice at every
# step: the mask hides its keys, and positions start at the first real token.

# %% name="left-padding"
prompts = torch.stack([start, F.pad(start[:8], (27, 0))])  # (2, 35): padding before "But they"
padding = torch.arange(35) < torch.tensor([[0], [27]])  # (2, 35)
alone = [generate(model, prompt, 40, cached=True)[-40:] for prompt in [start, start[:8]]]
for name, given in [("with padding=", padding), ("without it", None)]:
    together = generate(model, prompts, 40, cached=True, padding=given)[:, 35:]  # (2, 40)
    print(f"{name:13} same as alone:", [torch.equal(*pair) for pair in zip(together, alone)])

# %% [markdown]
# Each prompt is continued as if alone, unless padding is taken for text: then the short one silently gets a different
# continuation.

# %% [markdown]
# **Question 6.3.** A new token arrives, and the earlier ones are cached. What must each layer compute?
#
# * **a** The new query, key and value, and one row of scores.
# * **b** The new query, and all keys and values.
# * **c** The new query, key and value, and the whole score matrix.

# %% name="question-6-3"
answer("Q6.3", "a")

# %% [markdown]
# `FlopCounterMode` counts **FLOPs**, the additions and multiplications in our matrix products. What does the $T$-th
# token cost?

# %% name="flops"
def flops_of_next(model, T, cached):
    """How many FLOPs the T-th token costs."""
    numbers, caches = torch.zeros(T, dtype=torch.long), (None, None)
    with torch.no_grad():
        if cached:
            _, caches = model(numbers[:-1])  # done before, so not counted
            numbers = numbers[-1:]
        with FlopCounterMode(display=False) as counter:
            model(numbers, caches)
    return counter.get_total_flops()


positions = [16, 32, 64, 128, 256, 512, 1024]
work = {cached: [flops_of_next(model, T, cached) for T in positions] for cached in [False, True]}
for cached, flops in work.items():
    growth = flops[-1] / flops[-2]
    print("cached:", cached, f"{flops[-2]:,} {flops[-1]:,}", f"last doubling: x {growth:.1f}")
print("factor saved at 1024:", work[False][-1] / work[True][-1])

# %% [markdown]
# Without a cache the work for one more token grows almost like $T^2$: the last doubling multiplies it by 3.6. With a
# cache it grows almost like $T$: the factor is 1.8. At 1024 tokens the cache saves a factor of 1024. Is a step 1024
# times faster?

# %% name="time-cached-picture" shows="Two measured curves over the number of tokens, 16 to 1024, both axes logarithmic. Without a cache the time for one more token rises steeply at the right end. With a cache it stays nearly flat, at the right end at least 100 times lower." tags=["nbval-ignore-output"]
def milliseconds_of_next(T, cached):
    """The time that the T-th token takes."""
    numbers, caches = torch.zeros(T, dtype=torch.long), (None, None)
    if cached:
        with torch.no_grad():
            _, caches = model(numbers[:-1])
        numbers = numbers[-1:]
    return milliseconds(lambda new: model(new, caches), numbers)


times = {name: [milliseconds_of_next(T, cached) for T in positions]
         for name, cached in [("without cache", False), ("with cache", True)]}
ratio = times["without cache"][-1] / times["with cache"][-1]
pictures.show_curves(
    times, x=positions, x_label="tokens T", y_label="ms for one more token", logarithmic=True,
    doublings=True, title=f"One more token: at 1024 tokens {ratio:.0f} times faster",
)

# %% [markdown]
# It is much faster, but not 1024 times; the title gives the factor. With a cache the time hardly depends on $T$, since
# a step this small is mostly function calls.
#
# A large model spends its time differently. Reading the whole prompt at once (**prefill**) uses each fetched
# parameter for many tokens. Writing a single text (**decoding**) fetches the parameters again for each token. So
# arithmetic limits prefill, and **memory bandwidth**, the speed of fetching, limits decoding.
#
# The cache is not free. How much memory does it take in GPT-2 small, with 12 layers, 1024 tokens, width 768, and 4
# bytes per number?

# %% name="cache-bytes"
cache_bytes = 2 * 12 * 1024 * 768 * 4  # keys and values, layers, tokens, numbers, bytes
print(f"{cache_bytes:,} bytes, {cache_bytes / 2**20:.0f} MiB for one sequence")
copied = sum(cache_bytes * T // 1024 for T in range(1024))
print(f"copied by torch.cat in all: {copied / 2**30:.0f} GiB")

# %% [markdown]
# It takes 72 MiB for each sequence being written. `torch.cat` makes a new tensor, so each step copies the whole cache
# to add one token: 36 GiB in all for 1024 tokens. Model servers add pages instead (chapter 10).

# %% [markdown]
# ### Exercise 6.3 · One step with a cache
# 2 points · ★★☆ · 10 minutes
#
# Write one generation step without the class. A new token comes with its query, key and value; the cache holds the
# earlier keys and values. Return the new token's context vector and the extended keys and values. You need no mask. Why
# not?

# %% name="exercise-6-3"
def my_step(query, key, value, keys, values):
    """Context (B, num_heads, 1, head_dim) of a new token, and the extended keys and values.

    query, key, value: (B, num_heads, 1, head_dim); keys, values: (B, num_heads, T, head_dim).
    """
    ### BEGIN SOLUTION
    keys = torch.cat([keys, key], dim=-2)  # (B, num_heads, T + 1, head_dim)
    values = torch.cat([values, value], dim=-2)  # (B, num_heads, T + 1, head_dim)
    scores = query @ keys.transpose(-2, -1) / query.shape[-1]**0.5  # (B, num_heads, 1, T + 1)
    return torch.softmax(scores, dim=-1) @ values, keys, values
    ### END SOLUTION

# %% name="check-6-3"
### BEGIN HIDDEN TESTS
assert check("6.3", my_step).status == "right"
### END HIDDEN TESTS
check("6.3", my_step)

# %% [markdown] tags=["solution"]
# **Why it works.** The new token is the last one, and the last row of a causal mask hides nothing. `is_causal=True`
# would be wrong here: for one query and five keys, PyTorch takes the *first* row of the triangle, and the query would
# see only one key.

# %% [markdown]
# ### Fewer keys than queries
#
# A model that writes long texts for many users soon needs more memory for caches than for its parameters. Do all heads
# need keys and values of their own? In **grouped-query attention** (Ainslie et al., 2023) several query heads share one
# head of keys and values. With 12 query and 4 key/value heads, three query heads share each key/value head.

# %% name="grouped-queries"
torch.manual_seed(123)
queries = torch.randn(1, 12, 6, 64)  # (B, num_heads, T, head_dim)
keys, values = torch.randn(2, 1, 4, 6, 64)  # (B, groups, T, head_dim) each
shared_keys = keys.repeat_interleave(3, dim=1)  # (1, 4, 6, 64) -> (1, 12, 6, 64)
shared_values = values.repeat_interleave(3, dim=1)
by_hand = F.scaled_dot_product_attention(queries, shared_keys, shared_values, is_causal=True)
grouped = F.scaled_dot_product_attention(queries, keys, values, is_causal=True, enable_gqa=True)
print(torch.allclose(by_hand, grouped, atol=1e-6), f"{cache_bytes / 3 / 2**20:.0f} MiB")

# %% [markdown]
# PyTorch's option for this, `enable_gqa`, gives the same result. The cache shrinks to a third, 24 MiB.

# %% [markdown]
# ### Exercise 6.4 · Share the keys
# 1 point · ★☆☆ · 5 minutes
#
# Repeat the key heads so that neighbouring query heads share a key head: with 2 groups and 6 heads, the first three get
# the first group's keys and the last three the second's.

# %% name="exercise-6-4"
def my_shared(keys, num_heads):
    """(B, groups, T, head_dim) to (B, num_heads, T, head_dim); groups divides num_heads."""
    ### BEGIN SOLUTION
    return keys.repeat_interleave(num_heads // keys.shape[1], dim=1)
    ### END SOLUTION

# %% name="check-6-4"
### BEGIN HIDDEN TESTS
assert check("6.4", my_shared).status == "right"
### END HIDDEN TESTS
check("6.4", my_shared)

# %% [markdown] tags=["solution"]
# **Why it works.** `repeat_interleave` repeats each head in its place. `keys.repeat(1, 3, 1, 1)` would give heads 0, 1,
# 0, 1, 0, 1: the shape is right, but two of the six heads meet the other group's keys. A trained model would fail.

# %% [markdown]
# ## When it goes wrong
#
# Some mistakes raise an error. Most are silent: the shapes fit, and training even works to some extent. So ask of every
# layer you write or borrow:
#
# | question | if no, see these errors in the notes |
# | --- | --- |
# | do rows sum to 1? | 14, 23; with dropout on they should not: 18 |
# | is the weight on the future 0? | 11, 12, 13, 26 |
# | are all values free of `nan`? | 10, 11, 13 |
# | is the divisor $\sqrt{\mathrm{head\_dim}}$? | 15, 16 |
# | do two calls after `eval()` agree? | 17 |
# | is a weight's average the same with and without dropout? | 19 |
# | does output $t$ depend on all inputs 0 to $t$, and no others? | 20, 21, 23 |
# | does it have as many parameters as you expect? | 22 |
# | does it still work with unequal sizes, or on another device? | 1, 5, 6, 8, 9, 24, 25 |
#
# The [notes](99_notes.ipynb) contain a clinic of 26 errors: each is a broken cell that you can run, with its symptom,
# reason and fix.

# %% [markdown]
# ### Exercise 6.5 · Three readings
# 3 points · ★★☆ · 10 minutes
#
# Examine an attention head: from its scores and weights, find out whether all rows sum to 1 (within 1e-4), whether all
# weights on the future are 0, and what the scores were divided by. For the divisor, take the first two entries of the
# last row, which are never masked (there are at least two tokens). In the ratio of their weights, softmax's sum
# cancels: what is left?

# %% name="exercise-6-5"
def my_readings(scores, weights):
    """(rows sum to 1, future hidden, divisor) of weights (T, T) made from scores (T, T)."""
    ### BEGIN SOLUTION
    sums = bool(((weights.sum(dim=-1) - 1).abs() < 1e-4).all())
    hidden = bool((weights.triu(diagonal=1) == 0).all())
    divisor = (scores[-1, 0] - scores[-1, 1]) / (weights[-1, 0] / weights[-1, 1]).log()
    return sums, hidden, divisor.item()
    ### END SOLUTION

# %% name="check-6-5"
### BEGIN HIDDEN TESTS
assert check("6.5", my_readings).status == "right"
### END HIDDEN TESTS
check("6.5", my_readings)

# %% [markdown] tags=["solution"]
# **Why it works.** In the ratio of two weights of one row, softmax's sum cancels, so the ratio's logarithm is the
# difference of the two scaled scores. A mask after softmax, with rows that do not sum to 1, does not change this.
# These cheap checks reveal about half of the clinic's silent errors: a wrong divisor, a mask that shows the future,
# or a mask after softmax fails a check.

# %% [markdown]
# Your exercises so far:

# %% name="progress"
progress(6)

# %% [markdown]
# ## Takeaways
#
# * **Cross-attention** takes queries from one sequence, and keys and values from another: the score matrix is $T \times
#   S$.
# * A **padding mask** hides keys, so its new dimension goes in the middle: $(B, 1, S)$. Know whether `True` hides or
#   keeps.
# * A token that sees nothing should read nothing: hide with a finite number before softmax, and with 0 after it.
# * Memory for the weights grows like $T^2$. A **fast** kernel never stores them. PyTorch does not warn when it uses a
#   slow one: check with `sdpa_kernel`.
# * In 16 bits scores lose digits, and in float16 they can overflow.
# * With a **key/value cache** the work for one more token grows like $T$ instead of $T^2$. The cache takes memory;
#   **grouped-query** heads make it smaller. Prompts of unequal length are padded on the left.
# * Most errors are silent. Row sums, the weight on the future, and the divisor reveal about half of the clinic's silent
#   ones.
#
# **Next.** So far, nearly all the matrices have been random or written by hand. In [chapter 7](07_learning.ipynb) they
# are trained. All chapters: [the course's contents](../README.md#chapters).
