"""The numbers that the library `transformers` computes in tiny models of twelve families, for comparison in chapters.

The models have random weights and are made from a configuration alone; nobody has to install the library.

What belongs here: numbers that a test compares with the library, and code to load them. Not: its code, trained weights.
"""

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

__all__ = ["AttentionModule", "FAMILIES", "load"]

NUMBERS = Path(__file__).with_name("numbers.pt")  # written by python -m tests.support.families
FAMILIES = ["GPT-2", "Llama", "Mistral", "Qwen3", "Gemma 3", "gpt-oss", "DeepSeek-V3"]
FAMILIES += ["SmolLM3", "Phi", "Qwen3-Next", "Gemma 2", "DeepSeek-V3.2"]


class AttentionModule(NamedTuple):
    """An attention module of the library and what it did with two sequences of 11 tokens, in 64 bits.

    arguments: of our equivalent layer: Attention, or LatentAttention for DeepSeek's. parameters: by our names; those of
    DeepSeek-V3.2's indexer have the library's names and begin with indexer. x: the input, (2, 11, d_model). output: of
    the module. weights: (2, num_heads, 11, 11).
    """

    arguments: dict[str, Any]
    parameters: dict[str, Tensor]
    x: Tensor
    output: Tensor
    weights: Tensor


def load(family: str) -> AttentionModule:
    """The first attention module of the tiny model of a family. Raises ValueError for another family."""
    if family not in FAMILIES:
        raise ValueError(f"There are no numbers for {family!r}, only for {', '.join(FAMILIES)}.")
    return AttentionModule(**torch.load(NUMBERS, weights_only=True)[family])
