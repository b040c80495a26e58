"""The attention layers: those that chapters 1 to 8 teach, one idea each, and one for use.

For use is `Attention`: the layer of GPT-2, Llama 3, Mistral, Qwen3, Gemma 3 and gpt-oss, by its arguments. What
DeepSeek does instead, with a cache of its own, is `LatentAttention`. Both are held to the library `transformers`,
family by family. All others are for teaching: each adds one idea to the one before, and stays as its chapter shows it.

What may come in: layers, the steps that they share, and the numbers that they are held to. Not: whole models, training.
"""

from course_utils.attention.fused import fused_attention
from course_utils.attention.latent import LatentAttention
from course_utils.attention.layer import Attention
from course_utils.attention.rotary_table import RotaryTable
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
    CachedMultiHeadAttention,
    CausalAttention,
    CrossAttention,
    FusedMultiHeadAttention,
    MultiHeadAttention,
    MultiHeadAttentionWrapper,
    SelfAttention_v1,
    SelfAttention_v2,
    masked_softmax,
)

__all__ = [
    "Attention",
    "CachedMultiHeadAttention",
    "CausalAttention",
    "CrossAttention",
    "FusedMultiHeadAttention",
    "LatentAttention",
    "MultiHeadAttention",
    "MultiHeadAttentionWrapper",
    "RotaryTable",
    "SelfAttention_v1",
    "SelfAttention_v2",
    "fused_attention",
    "hidden_from",
    "hidden_keys",
    "masked_softmax",
    "repeat_groups",
    "rescaled",
    "rotary_frequencies",
    "rotate",
    "turn_pairs",
]
