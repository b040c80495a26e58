"""Generating with a cache of keys and values gives what the whole sequence at once gives."""

import pytest
import torch

from course_utils.attention import MultiHeadAttention
from tests.support.chapter_code import defined_in

CachedMultiHeadAttention = defined_in(6).CachedMultiHeadAttention

B, T, D_IN, D_OUT, HEADS, LONGEST = 2, 5, 3, 8, 4, 7


def make():
    """(a cached layer, its textbook twin with the same weights, a batch), the same on every call."""
    torch.manual_seed(7)
    sizes = D_IN, D_OUT, LONGEST, 0.0, HEADS
    cached, textbook = CachedMultiHeadAttention(*sizes).double(), MultiHeadAttention(*sizes).double()
    textbook.load_state_dict(cached.state_dict())
    return cached, textbook, torch.randn(B, T, D_IN, dtype=torch.float64)


@pytest.mark.parametrize("pieces", [[5], [1, 1, 1, 1, 1], [3, 1, 1], [1, 4], [2, 3]], ids=str)
@pytest.mark.parametrize("pick", [slice(None), 0], ids=["batch", "one sequence"])
def test_pieces_of_any_size_give_what_the_whole_sequence_gives(pieces, pick):
    cached, textbook, x = make()
    outputs, cache = [], None
    for piece in x[pick].split(pieces, dim=-2):
        output, cache = cached(piece, cache)
        outputs.append(output)
    assert torch.allclose(torch.cat(outputs, dim=-2), textbook(x[pick]), rtol=0, atol=1e-12)


def test_the_cache_holds_the_keys_and_values_of_all_tokens_so_far():
    cached, _, x = make()
    _, cache = cached(x[:, :3])
    _, (keys, values) = cached(x[:, 3:], cache)
    assert torch.allclose(keys, cached.split(cached.W_key(x)), rtol=0, atol=1e-12)
    assert torch.allclose(values, cached.split(cached.W_value(x)), rtol=0, atol=1e-12)


def test_one_cache_can_be_continued_in_two_ways():
    cached, _, x = make()
    _, cache = cached(x[:, :4])
    first, _ = cached(x[:, 4:], cache)
    cached(2 * x[:, 4:], cache)
    assert torch.equal(cached(x[:, 4:], cache)[0], first)


def test_the_context_may_be_filled_and_not_more():
    cached, _, _ = make()
    _, cache = cached(torch.rand(B, LONGEST - 1, D_IN, dtype=torch.float64))
    token = torch.rand(B, 1, D_IN, dtype=torch.float64)
    _, cache = cached(token, cache)
    with pytest.raises(ValueError, match="The cache would grow by 1 to 8 tokens, .*context_length=7"):
        cached(token, cache)


PADDED = torch.tensor([[True, True, False, False, False], [False] * 5])  # on the left, (B, T)


@pytest.mark.parametrize("pieces", [[5], [3, 1, 1], [1, 1, 1, 1, 1]], ids=str)
def test_padding_on_the_left_changes_nothing_for_the_other_tokens(pieces):
    cached, textbook, x = make()
    outputs, cache, read = [], None, 0
    for piece in x.masked_fill(PADDED[..., None], 9.0).split(pieces, dim=1):
        read += piece.shape[1]
        output, cache = cached(piece, cache, PADDED[:, None, :read])
        outputs.append(output)
    together = torch.cat(outputs, dim=1)
    assert together.isfinite().all()
    for sequence, padding, output in zip(x, PADDED, together):
        assert torch.allclose(output[~padding], textbook(sequence[~padding]), rtol=0, atol=1e-12)


def test_an_input_or_a_mask_that_does_not_fit_gets_a_sentence():
    cached, _, x = make()
    with pytest.raises(ValueError, match="Each token of x has 2 numbers, but this layer was made with d_in=3"):
        cached(x[..., :2])
    with pytest.raises(ValueError, match=r"mask has shape \(2, 5\), but it must be .*padding\[:, None, :\]"):
        cached(x[:, :3], None, PADDED)


def test_under_autocast_a_cache_can_be_continued():
    cached, textbook, x = make()
    cached, textbook, x = cached.float(), textbook.float(), x.float()
    with torch.autocast("cpu", torch.bfloat16):
        _, cache = cached(x[:, :4])
        output, _ = cached(x[:, 4:], cache)
    assert output.dtype == torch.bfloat16
    assert torch.allclose(output.float(), textbook(x)[:, 4:], rtol=0, atol=3e-2)
