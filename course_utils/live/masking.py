"""Chapter 3: a causal mask, on or off, before or after softmax, renormalised or not, and its leaks."""

import copy
from collections.abc import Sequence

import torch
from numpy.typing import ArrayLike
from torch import nn

from course_utils.live.base import Figure
from course_utils.live.vectors import check_numbers, check_vectors
from course_utils.validation import check_input

MOST_TOKENS = 24  # two maps with names side by side


def show_masking(layer: nn.Module, inputs: ArrayLike, tokens: Sequence[str]) -> None:
    """Show causal weights and the dependency matrix beside them, with controls for the mask.

    layer: has linear layers W_query, W_key and W_value, such as SelfAttention_v2. inputs: (T, d_in), T up to 24.
    tokens: T names. Raises ValueError for other input.
    """
    vectors, names = check_vectors("inputs", inputs, tokens, most_tokens=MOST_TOKENS)
    if not all(isinstance(getattr(layer, name, None), nn.Linear) for name in ("W_query", "W_key", "W_value")):
        raise ValueError("layer must have linear layers W_query, W_key and W_value: pass a SelfAttention_v2.")
    layer = copy.deepcopy(layer).cpu().double()  # in 64 bits, whatever the layer's dtype
    inputs = torch.from_numpy(vectors)
    check_input(inputs, layer.W_query.in_features, layer.W_query.weight)
    queries, keys = layer.W_query(inputs), layer.W_key(inputs)  # (T, d_out) each
    scores = (queries @ keys.T / keys.shape[1] ** 0.5).detach().numpy()
    scores = check_numbers("scores", scores, "be finite", *scores.shape)  # a layer's numbers may be nan
    about = f"Weights of {len(names)} tokens under a mask, and which output depends on which input. The scores:"
    Figure("masking", about, names, scores, names, scores=scores).show()
