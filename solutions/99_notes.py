# ---
# jupyter:
#   course:
#     summary: 26 errors to look up, masks, later changes, GPT-2 counted
# ---

# %% [markdown]
# # Notes
#
# These notes are for reference: a clinic of 26 errors, common masks side by side, newer techniques, GPT-2 counted part
# by part, and slips in the sources.
#
# **Time.** About 45 minutes, if you read everything. **You need** chapters 5 and 6; for the newer techniques, 9 and 10.

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
import warnings
from contextlib import contextmanager
from textwrap import shorten

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.flex_attention import flex_attention

from course_utils.attention import Attention, MultiHeadAttention, fused_attention
from course_utils.randomness import keep_mask

# %% [markdown]
# ## The error clinic
#
# Here are 26 errors: five from the end of Pascal Burume's guide, and others that people often report or ask about. Each
# has a broken cell to run, with symptom, reason and fix. First we compute correct attention with mostly unequal sizes,
# so that slips show up, and define a helper that prints an error's last line.

# %% name="clinic"
@contextmanager
def fails():
    """Run lines that should fail; print the error like the last line of a traceback."""
    try:
        yield
    except Exception as error:
        message = str(error).removeprefix("addmm: ")  # in PyTorch 2.15 and newer
        print(shorten(f"{type(error).__name__}: {message}", width=170))
    else:
        print("no error")


torch.manual_seed(123)
B, T, d_in, d_out, num_heads, head_dim = 2, 5, 6, 8, 2, 4
queries, keys, values = torch.randn(3, B, num_heads, T, head_dim)
future = torch.ones(T, T).triu(diagonal=1).bool()
scores = queries @ keys.transpose(-2, -1)  # (B, num_heads, T, T)
weights = torch.softmax(scores.masked_fill(future, -torch.inf) / head_dim**0.5, dim=-1)
print(weights.shape)

# %% [markdown]
# ### Errors that raise an exception
#
# Read the last line first: it names what did not fit.
#
# #### 1 · Heads that do not divide the width
#
# We split 768 numbers into 7 heads.

# %% name="clinic-1"
with fails():
    torch.rand(2, 5, 768).view(2, 5, 7, 768 // 7)
with fails():
    assert 768 % 7 == 0, f"d_out ({768}) must be divisible by num_heads ({7})"
print("fixed:", torch.rand(2, 5, 768).view(2, 5, 12, 768 // 12).shape)

# %% [markdown]
# `768 // 7` is 109, and 7 × 109 is 763. **Fix:** choose a number of heads that divides the width. A class should check
# this itself, as in the second message.

# %% [markdown]
# #### 2 · `super().__init__()` forgotten
#
# This module assigns a layer before `nn.Module` is ready.

# %% name="clinic-2"
class Hasty(nn.Module):
    def __init__(self):
        self.W_query = nn.Linear(6, 8)


class Patient(nn.Module):
    def __init__(self):
        super().__init__()
        self.W_query = nn.Linear(6, 8)


with fails():
    Hasty()
print("fixed:", Patient())

# %% [markdown]
# This raises an AttributeError (the guide expects a RuntimeError). **Fix:** in `__init__`, call `super().__init__()`
# first.

# %% [markdown]
# #### 3 · Tokens of the wrong width
#
# A layer made for 768 numbers gets 512.

# %% name="clinic-3"
with fails():
    nn.Linear(768, 768)(torch.rand(2, 100, 512))
print("fixed:", nn.Linear(512, 768)(torch.rand(2, 100, 512)).shape)

# %% [markdown]
# 200 is 2 × 100, the flattened batch. The inner numbers, 512 and 768, must be equal. PyTorch 2.15 and newer name the
# operation first: `addmm: mat1 and mat2 ...`, or `mm:` for a layer without bias. **Fix:** make the layer with `d_in` =
# `x.shape[-1]`.

# %% [markdown]
# #### 4 · `view` after `transpose`
#
# We want to merge the heads.

# %% name="clinic-4"
context = weights @ values  # (B, num_heads, T, T) @ (B, num_heads, T, head_dim)
with fails():
    context.transpose(1, 2).view(B, T, d_out)
merged = context.transpose(1, 2).contiguous().view(B, T, d_out)
print("fixed:", merged.shape)

# %% [markdown]
# After a transpose, the numbers no longer lie in memory in the order of the dimensions. **Fix:** `.contiguous()` before
# `.view`, or `.flatten(-2)`.

# %% [markdown]
# #### 5 · More tokens than the mask allows
#
# The mask is made for 512 tokens; the text has 1024.

# %% name="clinic-5"
with fails():
    too_small = torch.ones(512, 512).triu(1).bool()
    torch.rand(1024, 1024).masked_fill_(too_small[:1024, :1024], -torch.inf)
with fails():
    MultiHeadAttention(d_in, d_out, 512, 0.0, num_heads)(torch.rand(B, 1024, d_in))

# %% [markdown]
# This raises a RuntimeError, not the guide's IndexError: in Python, a slice may reach beyond the end. Our class
# explains the problem. **Fix:** use a larger `context_length`, or a shorter text.

# %% [markdown]
# #### 6 · A mask larger than the sentence
#
# Now the mask is too large: made for 8 tokens, used for 5.

# %% name="clinic-6"
future_8 = torch.ones(8, 8).triu(diagonal=1).bool()
with fails():
    scores.masked_fill(future_8, -torch.inf)
print("fixed:", scores.masked_fill(future_8[:T, :T], -torch.inf).shape)

# %% [markdown]
# The message is like the previous one. **Fix:** `mask[:T, :T]`.

# %% [markdown]
# #### 7 · Changing softmax's result in place
#
# The forward pass runs, but `backward` fails.

# %% name="clinic-7"
learned = scores.clone().requires_grad_()
with fails():
    torch.softmax(learned, dim=-1).mul_(~future).sum().backward()
(torch.softmax(learned, dim=-1) * ~future).sum().backward()
print("fixed:", learned.grad.shape)

# %% [markdown]
# Softmax's derivative needs softmax's result, which `mul_` has overwritten. **Fix:** drop the underscore to make a new
# tensor.

# %% [markdown]
# #### 8 · A mask that does not move with the layer
#
# The mask is a plain attribute. The device `meta` stands in for a GPU.

# %% name="clinic-8"
class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.mask = future


moved = Plain().to("meta")
with fails():
    scores.to("meta").masked_fill(moved.mask, -torch.inf)
print("fixed:", MultiHeadAttention(d_in, d_out, T, 0.0, num_heads).to("meta").mask.device)

# %% [markdown]
# `.to` moves only parameters and buffers, and the message names both devices. **Fix:** `register_buffer("mask", ...)`.
# The mask is then also stored in the `state_dict`.

# %% [markdown]
# #### 9 · A matrix copied without transposing
#
# `nn.Linear` stores its weight as (d_out, d_in), and computes `x @ weight.T`.

# %% name="clinic-9"
with fails(), torch.no_grad():
    nn.Linear(d_in, d_out).weight.copy_(torch.rand(d_in, d_out))
square, tokens = torch.rand(8, 8), torch.rand(T, 8)
for name, matrix in [("as it is", square), ("fixed", square.T)]:
    print(f"{name}:", torch.allclose(F.linear(tokens, matrix), tokens @ square))

# %% [markdown]
# With unequal sizes this fails; with a square matrix it is silently wrong. **Fix:** `.T`. Test with `d_in` different
# from `d_out`.

# %% [markdown]
# ### The result becomes nan
#
# One `nan` spreads to everything it touches. Look for the *first* tensor with `isnan().any()`.
#
# #### 10 · A row in which everything is hidden
#
# With a causal mask and padding at the start, the first row is empty.

# %% name="clinic-10"
hidden = future.clone()
hidden[:, 0] = True  # the first token is padding
empty = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
print("broken:", empty[0, 0, 0])
print("fixed: ", empty.masked_fill(hidden, 0.0)[0, 0, 0])

# %% [markdown]
# Softmax begins with $-\infty - (-\infty)$. **Fix:** hide again after softmax. Chapter 6's `masked_softmax` also fills
# with a finite number first, so that `set_detect_anomaly`, PyTorch's search for the origin of a `nan`, does not stop
# here.
#
# In `F.scaled_dot_product_attention` such a row is 0 on some devices and versions, `nan` on others (on all devices
# before PyTorch 2.5). To be safe everywhere, let an empty row see all keys, then zero it.

# %% name="safe-everywhere"
empty_row = hidden.all(dim=-1, keepdim=True)  # (T, 1)
safe = F.scaled_dot_product_attention(queries, keys, values, attn_mask=~hidden | empty_row)
print(safe.masked_fill(empty_row, 0.0)[0, 0, :2])

# %% [markdown]
# #### 11 · The triangle is off by one
#
# We try `triu` with `diagonal` 0, 1 and 2.

# %% name="clinic-11"
for diagonal in [0, 1, 2]:
    hidden = torch.ones(T, T).triu(diagonal).bool()
    tried = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
    sees = bool((tried.triu(1) > 0).any())
    print(diagonal, "nan:", bool(tried.isnan().any()), "| sees the future:", sees)

# %% [markdown]
# With 0, a token is hidden from itself, and row 0 is `nan`. With 2, it sees its successor, and no error is raised.
# **Fix:** `diagonal=1`. If only row 0 is `nan`, look here first.

# %% [markdown]
# ### The code runs but is wrong
#
# Shapes fit and no error is raised. A question reveals each mistake.
#
# #### 12 · The mask means the opposite
#
# Ask: how much weight falls on the future? With an identity matrix as values, the output equals the weights.

# %% name="clinic-12"
unit = torch.eye(T).expand(B, num_heads, T, T)
for name, mask in [("broken", future), ("fixed", ~future)]:
    shown = F.scaled_dot_product_attention(queries, keys, unit, attn_mask=mask)
    print(f"{name}: {shown.triu(1).sum():.1f} of {shown.sum():.1f}")

# %% [markdown]
# The future gets all the weight instead of none: in this function `True` means keep. (It gets 16, not 20, since the
# last row of each head has no future and is 0 from PyTorch 2.5 on.) **Fix:** `~`.

# %% [markdown]
# #### 13 · Hidden cells filled with the wrong number
#
# Ask: what is row 0? It must be 1, 0, 0, 0, 0.

# %% name="clinic-13"
for filler in [0.0, 1e-9, torch.inf, -torch.inf]:
    filled = torch.softmax(scores.masked_fill(future, filler), dim=-1)
    print(filler, filled[0, 0, 0])

# %% [markdown]
# A score of 0, or nearly 0, is a score like any other, and gives 0.2200 to each future token; with $+\infty$ the row is
# `nan`. **Fix:** `-torch.inf`, or the type's lowest number. 1e-9 is neither, and -1e9 does not fit every type:

# %% name="smallest-numbers"
for dtype in [torch.float32, torch.bfloat16, torch.float16]:
    try:
        stored = torch.zeros(1, dtype=dtype).masked_fill(future[0, 1], -1e9)[0]
        print(f"{dtype}: stored as {stored:.0f}")
    except RuntimeError:
        print(f"{dtype}: rejected; the lowest is {torch.finfo(dtype).min:.0f}")

# %% [markdown]
# #### 14 · Softmax over the wrong axis
#
# Ask: do rows sum to 1?

# %% name="clinic-14"
for name, dim in [("broken", -2), ("fixed", -1)]:
    tried = torch.softmax(scores, dim=dim)
    print(f"{name}: rows   ", tried.sum(dim=-1)[0, 0])
    print(f"{name}: columns", tried.sum(dim=-2)[0, 0])

# %% [markdown]
# In the broken version, columns sum to 1: each key's weight is divided among the queries. **Fix:** `dim=-1`, the keys.
# Count from the end, so that batch or head dimensions in front do not matter.

# %% [markdown]
# #### 15 · √d_out instead of √head_dim
#
# Ask: what were the scores divided by? A ratio of weights shows it.

# %% name="clinic-15"
for name, size in [("broken", d_out), ("fixed", head_dim)]:
    tried = torch.softmax(scores / size**0.5, dim=-1)[0, 0, 0]  # a row, (T,)
    divisor = (scores[0, 0, 0, 0] - scores[0, 0, 0, 1]) / (tried[0] / tried[1]).log()
    print(f"{name}: {divisor:.3f}")

# %% [markdown]
# In a ratio of two weights, softmax's sum cancels, so the ratio's logarithm is the difference between the scaled
# scores. 2.828 is the square root of 8; a head has 4 numbers: the divisor must be 2.000. **Fix:** `head_dim**0.5`.

# %% [markdown]
# #### 16 · No division, or a multiplication instead
#
# Ask: with vectors of 64 numbers, how large is the largest weight of a row, on average?

# %% name="clinic-16"
torch.manual_seed(123)
long_scores = torch.randn(100, 64) @ torch.randn(64, 100)
for name, factor in [("none", 1), ("times", 64**0.5), ("divided", 64**-0.5)]:
    print(f"{name:8}{torch.softmax(long_scores * factor, dim=-1).amax(dim=-1).mean():.3f}")

# %% [markdown]
# Without division one key takes most of a row, 0.767; with multiplication nearly all, 0.969; with division 0.080. Where
# one key takes all, little is learned (chapter 2). **Fix:** divide, once. (`F.scaled_dot_product_attention` already
# divides: do not divide again.)

# %% [markdown]
# #### 17 · Dropout that never stops
#
# Ask: do two calls agree in evaluation mode?

# %% name="clinic-17"
dropout = nn.Dropout(0.5).eval()
print("broken:", torch.equal(F.dropout(weights, 0.5), F.dropout(weights, 0.5)))
print("fixed: ", torch.equal(dropout(weights), dropout(weights)))

# %% [markdown]
# `F.dropout` does not know the layer's mode, nor does `dropout_p` in PyTorch's attention. **Fix:** `nn.Dropout`, or
# `training=self.training`, and `model.eval()` before you use the model.

# %% [markdown]
# #### 18 · Dropout in the wrong place
#
# Ask: is any visible cell exactly 0? And are row sums 1 on average, but not always?

# %% name="clinic-18"
def dropped_cells(tried):
    return int((tried[..., ~future] == 0).sum()) > 0


on_scores = torch.softmax(F.dropout(scores, 0.5).masked_fill(future, -torch.inf), dim=-1)
print("broken, on scores: ", dropped_cells(on_scores))
print("fixed, on weights: ", dropped_cells(F.dropout(weights, 0.5)))

# %% [markdown]
# A dropped score is 0 and still gets a share. Rescaling rows to sum to 1 afterwards is another form of this mistake
# (chapter 4). **Fix:** drop weights after softmax, and do not rescale rows.

# %% [markdown]
# #### 19 · Dropout with the wrong factor
#
# Ask: does the average stay the same? We drop a weight of 1 with $p$ = 0.2.

# %% name="clinic-19"
kept = torch.rand(100_000) < 0.8
for name, factor in [("none", 1), ("1 / p", 1 / 0.2), ("1 / (1 - p)", 1 / 0.8)]:
    print(f"{name:12} {(kept * factor).double().mean():.1f}")

# %% [markdown]
# Only the last gives 1.0; the others give 0.8 and 4.0. **Fix:** divide by $1-p$, in training. At $p$ = 0.5 the second
# looks right, so test with another rate.

# %% [markdown]
# #### 20 · Heads split by `view` alone
#
# Ask: which rows change when token 1 does? There are two heads of five rows each.

# %% name="clinic-20"
def moved_rows(split):
    return (split(tokens) != split(tokens + torch.eye(T)[:, [1]])).any(dim=-1).int().tolist()


print("broken:", moved_rows(lambda x: x.view(2, T, 4)))
print("fixed: ", moved_rows(lambda x: x.view(T, 2, 4).transpose(0, 1)))

# %% [markdown]
# Only row 1 of each head should change. In the broken split, token 1 is in rows 2 and 3 of head 0. **Fix:** `view`,
# then `transpose`.

# %% [markdown]
# #### 21 · Heads merged without transpose
#
# Ask: are the numbers where they should be?

# %% name="clinic-21"
piled = context.reshape(B, T, d_out)
print("same numbers:", torch.equal(piled.flatten().sort()[0], merged.flatten().sort()[0]))
print("same order:  ", torch.equal(piled, merged))

# %% [markdown]
# `reshape` works with any memory order, copying if necessary. So it hides this mistake. **Fix:** `transpose(1, 2)`
# first.

# %% [markdown]
# #### 22 · Heads in a Python list
#
# Ask: how many parameters does the module have?

# %% name="clinic-22"
heads = [nn.Linear(d_in, head_dim) for _ in range(num_heads)]
holder = nn.Module()
holder.heads = heads
print("broken:", sum(parameter.numel() for parameter in holder.parameters()))
holder.heads = nn.ModuleList(heads)
print("fixed: ", sum(parameter.numel() for parameter in holder.parameters()))

# %% [markdown]
# 0 instead of 56: PyTorch does not look into a plain list. Its layers are not trained, moved or stored. **Fix:**
# `nn.ModuleList`.

# %% [markdown]
# #### 23 · Masking after softmax without renormalising
#
# Ask: do rows still sum to 1?

# %% name="clinic-23"
after = torch.softmax(scores / head_dim**0.5, dim=-1) * ~future
print("broken:", after.sum(dim=-1)[0, 0])
print("fixed: ", torch.allclose(after / after.sum(dim=-1, keepdim=True), weights))

# %% [markdown]
# Only the last row, which has no future, still does. In the others, the future leaks in through softmax's sum (chapter
# 3). **Fix:** $-\infty$ before softmax. Dividing by the new sum is also correct if scores are moderate.

# %% [markdown]
# #### 24 · Queries and keys swapped
#
# Test with unequal lengths: two tokens ask, five answer.

# %% name="clinic-24"
swapped = keys @ queries.transpose(-2, -1)
print("square:", swapped.shape, torch.allclose(swapped, scores.transpose(-2, -1)))
print("broken:", (keys @ queries[:, :, :2].transpose(-2, -1)).shape)
print("fixed: ", (queries[:, :, :2] @ keys.transpose(-2, -1)).shape)

# %% [markdown]
# In self-attention both products are square, and each is the other's transpose: rows are now keys, but mask and softmax
# treat them as queries. **Fix:** `queries @ keys.transpose(-2, -1)`.

# %% [markdown]
# #### 25 · Heads averaged instead of concatenated
#
# Ask: how wide is the result?

# %% name="clinic-25"
print("broken:", context.mean(dim=1).shape)
print("fixed: ", merged.shape)

# %% [markdown]
# The average has `head_dim` numbers, 4 instead of 8, and mixes up the heads. **Fix:** concatenate, so that `out_proj`
# can tell heads apart.

# %% [markdown]
# #### 26 · The result of `masked_fill` discarded
#
# Ask: is anything hidden?

# %% name="clinic-26"
broken = scores.clone()
broken.masked_fill(future, -torch.inf)
print("broken:", bool(broken.isinf().any()))
fixed = scores.masked_fill(future, -torch.inf)
print("fixed: ", bool(fixed.isinf().any()))

# %% [markdown]
# Without an underscore, `masked_fill` returns a new tensor and leaves the old one unchanged. **Fix:** `scores =
# scores.masked_fill(...)`.

# %% [markdown]
# ## Masks side by side
#
# | used by | argument | shape for padding | hides where |
# | --- | --- | --- | --- |
# | this course | `mask` | (B, 1, S) | `True` |
# | `tensor.masked_fill` | `mask` | any that broadcasts | `True` |
# | `nn.MultiheadAttention` | `key_padding_mask` | (B, S) | `True` |
# | `nn.MultiheadAttention` | `attn_mask` | (T, S) for all sequences, or (B · heads, T, S) | `True` |
# | `F.scaled_dot_product_attention` | `attn_mask` | (B, 1, 1, S) | `False` |
# | `flex_attention` | `mask_mod`, `block_mask` | a function of sequence, head, query, key | `False` |
# | the article's class | `mask` | (B, 1, 1, S) | 0 |
# | Hugging Face tokenizers | `attention_mask` | (B, S) | 0 |
#
# `nn.MultiheadAttention` has several code paths. What do they give for a sequence that is all padding?

# %% name="need-weights"
built_in, x = nn.MultiheadAttention(12, 3, batch_first=True), torch.randn(2, 5, 12)
nobody = torch.tensor([[False] * 5, [True] * 5])  # (B, S): the second sequence is empty
for need_weights in [True, False]:
    output, _ = built_in(x, x, x, key_padding_mask=nobody, need_weights=need_weights)
    print("need_weights:", need_weights, "| nan:", output.isnan().any(dim=-1).any(dim=-1).tolist())

# %% [markdown]
# The result is `nan` if weights are returned, and otherwise only in `eval()`, without derivatives, with `batch_first`
# and an even number of heads (PyTorch 2.11 to 2.15).

# %% [markdown]
# ## Newer techniques
#
# These go beyond chapters 9 and 10.
#
# **Pages** (Kwon et al., 2023). Two texts grow in turn, and each gets a new 4-token page when its last page is full:

# %% name="page-tables"
free, tables, lengths = list(range(6)), {"A": [], "B": []}, {"A": 0, "B": 0}
for name in "ABABABABABA":  # whose turn it is to get a token
    if lengths[name] % 4 == 0:
        tables[name].append(free.pop(0))
    lengths[name] += 1
print("tables:", tables, "lengths:", lengths, "free:", free)

# %% [markdown]
# Token 5 of A is the second on its second page: page 2, slot 1.
#
# **Soft-capping** (Gemma 2, 2024). A tanh keeps scores between -50 and 50 before softmax:

# %% name="softcap"
print(50 * torch.tanh(torch.tensor([-500.0, -50.0, -5.0, 5.0, 50.0, 500.0]) / 50))

# %% [markdown]
# A score of 5 hardly changes, 50 becomes 38, and 500 becomes 50. `Attention(softcap=50)` does this. PyTorch's fused
# function cannot (FlashAttention's library can), but **FlexAttention** builds a kernel from a function of a score and
# its position (with `torch.compile`; without it, as here, it is slow):

# %% name="flex-attention"
layer, tokens = Attention(8, 2, softcap=0.5), torch.randn(1, 5, 8)


def bounded(score, sequence, head, t, s):
    return torch.where(s <= t, 0.5 * torch.tanh(score / 0.5), -torch.inf)


with torch.no_grad(), warnings.catch_warnings(action="ignore"):  # PyTorch advises compiling
    asking, (keys, values, _) = layer.project(tokens)
    flexible = flex_attention(asking, keys, values, bounded)
    exact = layer.weights(asking, keys) @ values
print("the same:", torch.allclose(flexible, exact, atol=1e-6))

# %% [markdown]
# **Keys shared across layers** (Gemma 3n, 2025). In the larger size, the last 15 of 35 layers compute only queries, and
# read a lower layer's keys and values:

# %% name="shared-across-layers"
lower, upper = Attention(8, 2), Attention(8, 2)
lower_input, upper_input = torch.randn(2, 1, 5, 8)
_, kept = lower(lower_input)
asking, _ = upper.project(upper_input)
print(upper.merge(fused_attention(asking, kept.keys, kept.values)).shape)
for layers in [35, 20]:
    print(layers, "layers keep", f"{2 * layers * 2 * 256 * 2:,} bytes per token")  # 2 heads of 256

# %% [markdown]
# For texts of up to 512 tokens, the cache shrinks from 71,680 to 40,960 bytes per token. (Four layers in five have a
# window of 512.)
#
# **Gated DeltaNet** (Yang et al., 2024; three in four layers of Qwen3-Next). Besides the delta rule's rate (how
# strongly to write), each head has one more number per token: how much of the state stays. We write 512 old pairs, then
# 64 new ones, and query the latter:

# %% name="gated-delta"
def gated_delta(keys, values, stays, writes):
    """The state (d, d) from keys (n, d) of length 1 and values (n, d); stays and writes: (n,)."""
    state = keys.new_zeros(values.shape[-1], keys.shape[-1])
    for key, value, stay, write in zip(keys, values, stays, writes):
        state = stay * state
        state = state + write * torch.outer(value - state @ key, key)
    return state


torch.manual_seed(123)
keys, values = F.normalize(torch.randn(2, 5, 576, 64, dtype=torch.float64), dim=-1)
one, cleared = torch.ones(576), torch.ones(576)
cleared[512] = 0.0  # nothing stays when the new pairs begin
ways = {"delta rule": (one, one), "cleared": (cleared, one)}
for name, how in (ways | {"writes 0.5": (one, one / 2), "both": (cleared, one / 2)}).items():
    answers = [k[512:] @ gated_delta(k, v, *how).T @ v[512:].T for k, v in zip(keys, values)]
    right = [(each.argmax(dim=-1) == torch.arange(64)).double().mean() for each in answers]
    print(f"{name:11}{sum(right) / 5:.2f}")

# %% [markdown]
# The delta rule finds 88% of the new pairs. Clearing the state first changes little: 87%. Halving the strength of
# writing disturbs other pairs less: 98%; with both 99%.

# %% [markdown]
# ## At the size of GPT-2
#
# GPT-2 is a language model from 2019, built around a layer like chapter 5's. Its smallest version has 768 numbers per
# token, 12 heads, and sequences of up to 1024 tokens. Pascal Burume's guide makes a layer of this size and sends two
# sequences of 100 random tokens through it.

# %% name="gpt2-small-layer"
torch.manual_seed(123)
layer = MultiHeadAttention(d_in=768, d_out=768, context_length=1024, dropout=0.1, num_heads=12)
output = layer(torch.rand(2, 100, 768))
print(output.shape)
print("head_dim:", layer.head_dim, "and for a width of 512 with 8 heads:", 512 // 8)

# %% [markdown]
# Each of the 12 heads has 64 numbers. An article on BERT uses a width of 512 and 8 heads, and also gets 64. How many
# parameters does this layer have? The guide counts 2,359,296, in four matrices.

# %% name="parameters"
def count(module):
    """How many parameters a module has."""
    return sum(parameter.numel() for parameter in module.parameters())


for name, parameter in layer.named_parameters():
    print(f"{name:15} {parameter.numel():>9,}")
print(f"{'total':15} {count(layer):>9,}")

# %% [markdown]
# There are four matrices of 768 × 768 = 589,824 each, as the guide says. But `out_proj` also has a bias, 768 numbers
# that are easy to forget, which makes 2,360,064. The number of heads does not matter, since heads only divide the
# width; the mask is a buffer, stored but not learned.
#
# GPT-2 comes in four sizes. Each stacks identical **layers**: attention with biases, a small network of two linear
# layers (four times as wide in the middle), and two **LayerNorms**, which rescale each token with a learned scale and
# shift. Before the stack, two tables give each of 50,257 tokens and each of 1024 positions a vector. After it comes one
# more LayerNorm. The last step, from vectors back to tokens, uses the token table again.

# %% name="count-gpt2"
def count_gpt2(layers, width, vocabulary=50_257, positions=1024):
    """How many parameters a GPT-2 with this many layers and numbers per token has."""
    attention = 4 * (width * width + width)  # queries, keys, values, out_proj
    network = (width * 4 * width + 4 * width) + (4 * width * width + width)
    layer_norm = 2 * width  # a scale and a shift for every number
    tables = (vocabulary + positions) * width
    return tables + layers * (attention + network + 2 * layer_norm) + layer_norm


print(f"{count_gpt2(layers=12, width=768):,}")

# %% [markdown]
# Here are all four sizes, from GPT-2's published configurations.

# %% name="gpt2-sizes"
configurations = {
    "small": (12, 768, 12), "medium": (24, 1024, 16),  # layers, width, heads
    "large": (36, 1280, 20), "XL": (48, 1600, 25),
}
for size, (layers, width, num_heads) in configurations.items():
    heads_of = f"{num_heads} heads of {width // num_heads}"
    print(f"{size}: {layers} layers, width {width}, {heads_of}, {count_gpt2(layers, width):,}")

# %% [markdown]
# They range from 124,439,808 to 1,557,611,200. In all four sizes every head has 64 numbers: a wider model has more
# heads, not wider ones.
#
# Burume's guide lists 117M, 345M, 762M and 1.5B. The first three are in the GPT-2 paper; OpenAI later noted in its
# repository that its original counts were wrong. His table also has 24 heads of "~43" for medium and 36 heads of "~36"
# for large. 24 and 36 count *layers*: an easy slip, since the small model has 12 of each. Could they be heads?

# %% name="layers-are-not-heads"
for width, num_heads in [(1024, 24), (1280, 36)]:
    try:
        MultiHeadAttention(width, width, 1024, dropout=0.1, num_heads=num_heads)
    except ValueError as error:
        print(error)

# %% [markdown]
# 24 does not divide 1024, nor does 36 divide 1280, and a vector has a whole number of entries.
#
# That table also says `qkv_bias=False`. GPT-2 does have biases for queries, keys and values, 27,648 numbers (12 × 3 ×
# 768), which that setting leaves out.

# %% [markdown]
# ## Slips in the sources
#
# The course reproduces every number that the five sources print, or says why not. Here are some slips, then long
# tables.

# %% name="inputs"
inputs = torch.tensor([
    [0.43, 0.15, 0.89],  # Your
    [0.55, 0.87, 0.66],  # journey
    [0.57, 0.85, 0.64],  # starts
    [0.22, 0.58, 0.33],  # with
    [0.77, 0.25, 0.10],  # one
    [0.05, 0.80, 0.55],  # step
])
future_6 = torch.ones(6, 6).triu(diagonal=1).bool()

# %% [markdown]
# Burume's guide gives the weights of "journey" as 0.14, 0.24, 0.23, **0.13**, 0.11, 0.16, and their sum as 1. Trent's
# post splits its sentence into pieces and counts 8 different ones.

# %% name="rounding"
weights_of_journey = torch.softmax(inputs @ inputs[1], dim=0)  # (6, 3) @ (3,) -> (6,)
print(f"quoted:  sum {sum([0.14, 0.24, 0.23, 0.13, 0.11, 0.16]):.2f}")
print("rounded:", [round(weight, 2) for weight in weights_of_journey.tolist()])
print(len({"But", "they", "were", "all", "of", "them", "dece", "ived", "."}))

# %% [markdown]
# The quoted weights sum to 1.01; the fourth should be 0.12. Summing a row is the cheapest check. With the full stop,
# Trent's sentence has 9 different pieces.
#
# A condensed notebook sets no seed before it draws its matrices. So its scores cannot be reproduced, but its weights
# follow from them, digit for digit. Further on, it masks the scores of raw embeddings, then divides them by the root of
# the width of its `keys`:

# %% name="raw-scores"
unseeded = torch.tensor([1.2005, 1.6979, 1.6871, 0.9065, 1.0177, 1.0741])
print(torch.softmax(unseeded / 2**0.5, dim=-1))
raw_scores = (inputs @ inputs.T).masked_fill(future_6, -torch.inf)  # (6, 3) @ (3, 6) -> (6, 6)
print(raw_scores)
raw_weights = torch.softmax(raw_scores / 2**0.5, dim=-1)  # (6, 6)
print(raw_weights)

# %% [markdown]
# Its `keys` are left over from another section and have two numbers each; the vectors compared here have three. In a
# notebook, names persist: take the width from the tensor in the product.
#
# That notebook and Yu's page both apply dropout at a rate of 0.5 after `torch.manual_seed(123)`, yet print different
# masks. Neither is wrong. The seed fixes where a generator starts, not how its numbers are used. PyTorch 2.7 and later
# draw as in chapter 4; PyTorch 2.6 and earlier, on Intel CPUs, take one number as the seed of another generator.

# %% name="keep-mask-b"
MODULUS = 2**31 - 1  # of the generator MCG31m1 in Intel's MKL
MULTIPLIER = 1132489760


def keep_mask_b(shape, p, seed):
    """The mask as torch 2.6 and earlier drew it on Intel CPUs."""
    mt19937 = np.random.RandomState(seed)  # torch seeds its generator in the same way
    first = int(mt19937.randint(2**32, dtype=np.uint32))
    x = first % MODULUS or 1
    kept = []
    for _ in range(torch.Size(shape).numel()):
        kept.append(x / MODULUS < 1 - p)
        x = MULTIPLIER * x % MODULUS
    return torch.tensor(kept).view(shape)

# %% name="dropout-raw-weights"
for draw in [keep_mask, keep_mask_b]:
    print(raw_weights * draw((6, 6), p=0.5, seed=123) / (1 - 0.5))

# %% [markdown]
# The condensed notebook prints the second result, with 1.1888 in the row of "journey", where the first has only zeros.
#
# Here are the long tables. Yu's page multiplies four-dimensional tensors and runs the class of chapter 5; Trent's post
# averages and masks random numbers.

# %% name="four-dimensions"
a = torch.tensor([[[[0.2745, 0.6584, 0.2775, 0.8573],
                    [0.8993, 0.0390, 0.9268, 0.7388],
                    [0.7179, 0.7058, 0.9156, 0.4340]],
                   [[0.0772, 0.3565, 0.1479, 0.5331],
                    [0.4066, 0.2318, 0.4545, 0.9737],
                    [0.4606, 0.5159, 0.4220, 0.5786]]]])  # (1, 2, 3, 4)
print(a @ a.transpose(2, 3))  # (1, 2, 3, 4) @ (1, 2, 4, 3) -> (1, 2, 3, 3)
print("First head:\n", a[0, 0] @ a[0, 0].T)  # (3, 4) @ (4, 3) -> (3, 3)
print("\nSecond head:\n", a[0, 1] @ a[0, 1].T)
torch.manual_seed(123)
context_vecs = MultiHeadAttention(3, 2, 6, 0.0, num_heads=2)(torch.stack((inputs, inputs)))
print(context_vecs.detach())
print("context_vecs.shape:", context_vecs.shape)

# %% name="averages"
visible = torch.ones(8, 8).tril()
torch.manual_seed(123)
batch = torch.rand(4, 8, 32)  # (B, T, C)
even, so_far = torch.ones(8, 8) / 8, visible / visible.sum(dim=-1, keepdim=True)
for table in [visible[:6, :6], batch, even, even @ batch, so_far @ batch]:
    print(table)
torch.manual_seed(123)
batch = torch.randn(4, 8, 32)
key_layer, query_layer, value_layer = (nn.Linear(32, 16, bias=False) for _ in range(3))
scores = query_layer(batch) @ key_layer(batch).transpose(-2, -1)  # (4, 8, 8), not divided
weights = torch.softmax(scores.masked_fill(visible == 0, -torch.inf), dim=-1)
print(weights[0])
print((weights @ batch).shape, (weights @ value_layer(batch)).shape)

# %% [markdown]
# All chapters: [the course's contents](../README.md#chapters).
