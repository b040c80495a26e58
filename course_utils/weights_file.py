"""The contents of a GGUF file, loaded into chapter 11's model.

reader: a GGUFReader of the file, which `pretrained` downloads. name: of a tensor in the file. model: a LanguageModel.
"""

import torch
from gguf import GGUFReader, dequantize
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from course_utils.language_model import LanguageModel

__all__ = ["load_language_model", "load_tokenizer", "place_of", "put_in_halves"]


def load_tokenizer(reader: GGUFReader) -> Tokenizer:
    """The tokenizer that splits text into the file's tokens."""
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    merges = reader.fields["tokenizer.ggml.merges"].contents()
    numbers = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(numbers, [tuple(pair.split(" ")) for pair in merges]))
    steps = [pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def place_of(name: str) -> str:
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


def load_language_model(reader: GGUFReader) -> LanguageModel:
    """SmolLM2-135M with the file's weights, in the file's order."""
    with torch.device("meta"):  # shapes alone: the weights come from the file
        model = LanguageModel(49152, 30, 576, 9, 3, 1536)
    tensors = {
        place_of(each.name): torch.tensor(dequantize(each.data, each.tensor_type))
        for each in reader.tensors
    }
    model.load_state_dict(tensors, assign=True)
    return model.eval().requires_grad_(False)


def put_in_halves(model: LanguageModel) -> None:
    """Move neighbouring pairs to matching positions in the two halves, for all queries and keys."""
    for block in model.blocks:
        for layer in [block.attention.W_query, block.attention.W_key]:
            pairs = layer.weight.unflatten(0, (-1, block.attention.head_dim // 2, 2))
            layer.weight.copy_(pairs.transpose(1, 2).flatten(0, 2))  # (heads * head_dim, d_model)
