"""The encoder that chapter 8 builds around `CrossAttention`, and the loading of pretrained weights.

num_layers, num_heads, d_model, d_inner: numbers of layers and heads, and the width of a token outside and inside the
small network. x: the tokens, (B, T, d_model). numbers: of tokens in the vocabulary, (B, T); the encoder raises
ValueError for others. encoder: an Encoder. path: of a file with pretrained weights; `pretrained` downloads it.

Source: BERT, Devlin et al., 2019, in the sizes of all-MiniLM-L6-v2.
"""

import os

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from course_utils.attention import CrossAttention
from course_utils.validation import check_numbers

__all__ = ["Encoder", "EncoderLayer", "all_weights", "load_encoder", "our_name"]


class EncoderLayer(nn.Module):
    """Attention, then a small network on each token alone: (B, T, d_model) to (B, T, d_model).

    mask: as in CrossAttention.
    """

    def __init__(self, d_model: int, num_heads: int, d_inner: int) -> None:
        super().__init__()
        self.attention = CrossAttention(d_model, num_heads)
        self.norm_1 = nn.LayerNorm(d_model, eps=1e-12)
        self.network = nn.Sequential(
            nn.Linear(d_model, d_inner), nn.GELU(), nn.Linear(d_inner, d_model)
        )
        self.norm_2 = nn.LayerNorm(d_model, eps=1e-12)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.norm_1(x + self.attention(x, x, x, mask))  # (B, T, d_model)
        return self.norm_2(x + self.network(x))  # (B, T, d_model)


class Encoder(nn.Module):
    """From token numbers (B, T) to context vectors (B, T, d_model); a single sequence is (T,).

    The sizes are those of all-MiniLM-L6-v2. mask: as in CrossAttention; for padding (B, 1, T).
    """

    def __init__(
        self, num_layers: int = 6, num_heads: int = 12, d_model: int = 384, d_inner: int = 1536
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(30522, d_model)
        self.positions = nn.Embedding(512, d_model)
        self.segments = nn.Embedding(2, d_model)
        self.norm = nn.LayerNorm(d_model, eps=1e-12)
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, num_heads, d_inner) for _ in range(num_layers)
        )

    def embed(self, numbers: Tensor) -> Tensor:
        """The vectors that enter the first layer: word + position + segment, (B, T, d_model)."""
        check_numbers(numbers, self.words, self.positions)
        positions = self.positions.weight[:numbers.shape[-1]]  # (T, d_model)
        x = self.words(numbers) + positions + self.segments.weight[0]  # all in the first segment
        return self.norm(x)  # (B, T, d_model)

    def forward(self, numbers: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.embed(numbers)  # (B, T, d_model)
        for layer in self.layers:
            x = layer(x, mask)  # (B, T, d_model)
        return x


def our_name(name: str) -> str:
    """What Encoder calls the tensor that the file calls `name`."""
    parts = {  # theirs and ours; of two names that match, the longer one comes first
        "encoder.layer.": "layers.",
        "embeddings.word_embeddings": "words",
        "embeddings.position_embeddings": "positions",
        "embeddings.token_type_embeddings": "segments",
        "embeddings.LayerNorm": "norm",
        "attention.self.query": "attention.W_query",
        "attention.self.key": "attention.W_key",
        "attention.self.value": "attention.W_value",
        "attention.output.dense": "attention.out_proj",
        "attention.output.LayerNorm": "norm_1",
        "intermediate.dense": "network.0",
        "output.dense": "network.2",
        "output.LayerNorm": "norm_2",
    }
    for theirs, ours in parts.items():
        name = name.replace(theirs, ours)
    return name


def load_encoder(path: str | os.PathLike[str]) -> Encoder:
    """The pretrained encoder, ready to use, from a file in the safetensors format."""
    unused = ["embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias"]
    tensors = load_file(path)
    encoder = Encoder()
    encoder.load_state_dict({our_name(name): tensors[name] for name in tensors.keys() - unused})
    return encoder.eval().requires_grad_(False)


def all_weights(encoder: Encoder, numbers: Tensor) -> Tensor:
    """The weights of every head for one sequence (T,): (num_layers, num_heads, T, T)."""
    x, weights = encoder.embed(numbers), []
    for layer in encoder.layers:
        weights.append(layer.attention.weights(x, x))  # (num_heads, T, T)
        x = layer(x)  # (T, d_model)
    return torch.stack(weights)
