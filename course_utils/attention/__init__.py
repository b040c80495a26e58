"""The attention layers: those of earlier chapters that later ones import, one idea each, and one for use.

`Attention` is for use. Its arguments make it the layer of GPT-2, Llama 1 to 3, Mistral, Qwen 2 and 3, Gemma 1 to 3,
gpt-oss, SmolLM3, Phi, GPT-NeoX, and Cohere without norms, or the attention of Qwen3-Next. `LatentAttention` is the
layer of DeepSeek, with its own kind of cache. Tests compare both with the library `transformers`, family by family. The
norms of OLMo-2 and Cohere are refused by name. All other layers are for teaching: each adds one idea to the one before,
and equals the one in its chapter, but has types.

Names with the same meaning everywhere:

* x: the tokens, (B, T, d_in) for a batch of B sequences, or (T, d_in) for one. If the output is as wide as x, both
  widths are called d_model; otherwise the output's width is d_out.
* num_heads, num_kv_heads, head_dim: the numbers of query heads and of key heads, and the width of each.
* context_length: the most tokens that a layer takes. dropout: the probability of dropping a weight, below 1.
* qkv_bias, bias: whether linear layers have a bias: those of queries, keys and values, or all four.
* scores, hidden: (..., T, S), scores of T queries on S keys, and a boolean tensor that is True where a key is hidden.
* mask, window, cache: as in Attention. positions, frequencies, base: of rotary positions; frequency k is
  base^(-2k / head_dim). device: of a new tensor. name: of an input in messages.
* projected, context, heads: the results of a linear layer, of weights times values, and of a split.

For x or a mask of a shape, kind or device that it cannot take, a layer raises ValueError and says what to do.

Sources: scaled dot products and heads, Vaswani et al., 2017; rotary positions, Su et al., 2021; shared keys, Ainslie et
al., 2023; norms of queries and keys, Henry et al., 2020; windows, Jiang et al., 2023; sinks, OpenAI's gpt-oss, 2025;
latent attention, DeepSeek-V2, 2024; rescaled frequencies, Meta's Llama 3.1, 2024, and YaRN, Peng et al., 2023;
soft-capping, Gemma 2, 2024; gates after attention, Qiu et al., 2025.

What belongs here: layers and the steps that they share. Not: whole models, training.
"""

from course_utils.attention.cache import Cache
from course_utils.attention.fused import fused_attention
from course_utils.attention.latent import LatentAttention
from course_utils.attention.layer import Attention
from course_utils.attention.rotary_table import RotaryTable, yarn
from course_utils.attention.steps import (
    hidden_from,
    hidden_keys,
    repeat_groups,
    rescaled,
    rotary_frequencies,
    rotate,
    turn_pairs,
)
from course_utils.attention.teaching import (
    CausalAttention,
    CrossAttention,
    MultiHeadAttention,
    MultiHeadAttentionWrapper,
    SelfAttention_v2,
    masked_softmax,
)

__all__ = [
    "Attention", "Cache", "CausalAttention", "CrossAttention", "LatentAttention", "MultiHeadAttention",
    "MultiHeadAttentionWrapper", "RotaryTable", "SelfAttention_v2", "fused_attention", "hidden_from", "hidden_keys",
    "masked_softmax", "repeat_groups", "rescaled", "rotary_frequencies", "rotate", "turn_pairs", "yarn",
]  # fmt: skip
