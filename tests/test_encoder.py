"""The encoder of chapter 8: with the pretrained weights it computes what `transformers` computes."""

import copy

import pytest
import torch

from course_utils import pretrained
from tests.support.chapter_code import defined_in

CHAPTER = defined_in(8)
SENTENCES = ["The cat chased the mouse because it was hungry", "Attention!"]


@pytest.fixture(scope="module")
def ours():
    """The course's encoder with the pretrained weights."""
    return CHAPTER.load_encoder(pretrained.download() / "model.safetensors")


@pytest.fixture(scope="module")
def theirs():
    """The same weights in transformers' own class."""
    from safetensors.torch import load_file
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 6, "num_attention_heads": 12}
    model = BertModel(BertConfig(**sizes, attn_implementation="eager"))
    tensors = load_file(pretrained.download() / "model.safetensors")
    tensors.pop("embeddings.position_ids")  # 0 to 511, which BertModel makes itself
    model.load_state_dict(tensors, strict=True)
    return model.eval()


@pytest.fixture(scope="module")
def batch():
    """(numbers, padding) of two sentences of unequal length: (B, T) each, padding True where a token is none."""
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(str(pretrained.download() / "vocab.txt"), lowercase=True)
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(SENTENCES)
    return (
        torch.tensor([sentence.ids for sentence in encoded]),
        torch.tensor([sentence.attention_mask for sentence in encoded]) == 0,
    )


def difference(left, right):
    """The largest difference of any entry."""
    assert left.shape == right.shape
    return (left - right).abs().max()


@torch.no_grad()
@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.float64, 1e-12)], ids=str)
def test_every_layers_weights_and_hidden_states_agree_with_transformers(ours, theirs, batch, dtype, tolerance):
    ours, theirs = copy.deepcopy(ours).to(dtype), copy.deepcopy(theirs).to(dtype)
    numbers, padding = batch
    words = ~padding  # what a padding token itself gets is read by nobody
    reference = theirs(numbers, attention_mask=words.long(), output_attentions=True, output_hidden_states=True)
    mask = padding[:, None, :]  # (B, T) -> (B, 1, T)
    x = ours.embed(numbers)
    assert difference(x, reference.hidden_states[0]) < tolerance
    assert len(ours.layers) == len(reference.attentions) == 6
    for layer, weights, hidden in zip(ours.layers, reference.attentions, reference.hidden_states[1:]):
        rows = layer.attention.weights(x, x, mask).transpose(1, 2)  # (B, T, num_heads, T)
        assert difference(rows[words], weights.transpose(1, 2)[words]) < tolerance
        x = layer(x, mask)
        assert difference(x[words], hidden[words]) < tolerance
    assert torch.equal(ours(numbers, mask), x)


@torch.no_grad()
def test_all_weights_are_those_of_transformers_for_a_single_sequence(ours, theirs, batch):
    numbers = batch[0][0]
    reference = theirs(numbers[None], output_attentions=True).attentions
    assert difference(CHAPTER.all_weights(ours, numbers), torch.cat(reference)) < 1e-5


@torch.no_grad()
def test_padding_changes_nothing_for_the_other_tokens(ours, batch):
    numbers, padding = batch
    together = ours(numbers, padding[:, None, :])
    for row, hidden, states in zip(numbers, padding, together):
        assert difference(ours(row[~hidden]), states[~hidden]) < 1e-5


def test_a_file_that_lacks_a_tensor_is_refused(tmp_path):
    from safetensors.torch import load_file, save_file

    tensors = load_file(pretrained.download() / "model.safetensors")
    del tensors["encoder.layer.3.attention.self.key.bias"]
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(RuntimeError, match=r'Missing key.*"layers.3.attention.W_key.bias"'):
        CHAPTER.load_encoder(tmp_path / "model.safetensors")


@pytest.mark.parametrize(
    "numbers, sentence",
    [
        (torch.zeros(513, dtype=torch.long), "has 513 tokens, but the encoder has only 512 positions"),
        (torch.tensor([0, 30522]), "ranges from 0 to 30522, but the vocabulary from 0 to 30521"),
        (torch.tensor([-1, 5]), "ranges from -1 to 5"),
        (torch.tensor([0.5]), r"dtype torch.float32, but the encoder takes an integer tensor"),
        (torch.zeros(1, 1, 2, dtype=torch.long), r"has shape \(1, 1, 2\)"),
    ],
)
def test_numbers_that_stand_for_no_tokens_get_a_sentence(numbers, sentence):
    with pytest.raises(ValueError, match=sentence):
        CHAPTER.Encoder(num_layers=1)(numbers)
