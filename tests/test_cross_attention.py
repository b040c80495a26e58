"""CrossAttention against plain loops, against torch's kernel, and against what people pass by mistake.

All sizes differ from one another: sequences, asking and answering tokens, width, heads.
"""

import pytest
import torch
from torch.nn import functional as F

from course_utils.attention import CrossAttention
from tests.test_attention import by_loops

B, T, S, WIDTH, HEADS = 2, 4, 5, 12, 3
LENGTHS = [3, 5]  # of the S tokens, how many are no padding
PADDING = torch.arange(S) >= torch.tensor(LENGTHS)[:, None]  # (B, S)
MASKS = {
    "no mask": None,
    "padding": PADDING[:, None, :],  # (B, 1, S)
    "a mask for all": torch.ones(1, T, S, dtype=torch.bool).triu(diagonal=1),  # (1, T, S)
    "a mask each": torch.arange(B * T * S).view(B, T, S) % 3 == 1,
}
every_mask = pytest.mark.parametrize("name", MASKS)


def make(dtype=torch.float64, **options):
    """(layer, query_input, key_input, value_input), random, the same on every call."""
    torch.manual_seed(7)
    layer = CrossAttention(WIDTH, HEADS, **options).to(dtype)
    return layer, *(torch.randn(B, tokens, WIDTH, dtype=torch.float64).to(dtype) for tokens in (T, S, S))


def by_kernel(layer, query_input, key_input, value_input, mask):
    """The same by torch's own function, whose boolean mask says which keys to keep."""
    parts = [
        linear(tokens).unflatten(-1, (HEADS, -1)).transpose(1, 2)
        for linear, tokens in [(layer.W_query, query_input), (layer.W_key, key_input), (layer.W_value, value_input)]
    ]
    keep = None if mask is None else ~mask.expand(B, T, S)[:, None]
    return layer.out_proj(F.scaled_dot_product_attention(*parts, attn_mask=keep).transpose(1, 2).flatten(2))


@pytest.mark.parametrize("bias", [True, False])
def test_it_computes_what_plain_loops_compute(bias):
    layer, *inputs = make(bias=bias)
    expected = torch.tensor([by_loops(layer, *sequences) for sequences in zip(*inputs)], dtype=torch.float64)
    assert torch.allclose(layer(*inputs), expected, rtol=0, atol=1e-12)


@every_mask
def test_it_agrees_with_torchs_own_kernel_and_so_do_its_gradients(name):
    layer, *inputs = make()
    inputs[0].requires_grad_()
    ours, theirs = layer(*inputs, MASKS[name]), by_kernel(layer, *inputs, MASKS[name])
    assert torch.allclose(ours, theirs, rtol=0, atol=1e-12)
    learned = [inputs[0], *layer.parameters()]
    gradients = [torch.autograd.grad(out.pow(2).sum(), learned) for out in (ours, theirs)]
    assert all(torch.allclose(one, other, rtol=0, atol=1e-10) for one, other in zip(*gradients))


@every_mask
def test_a_hidden_key_and_its_value_change_nothing(name):
    layer, query_input, key_input, value_input = make()
    before = layer(query_input, key_input, value_input, MASKS[name])
    hidden = torch.zeros(B, T, S, dtype=torch.bool) if MASKS[name] is None else MASKS[name].expand(B, T, S)
    for s in range(S):
        changed = [tokens.clone() for tokens in (key_input, value_input)]
        for tokens in changed:
            tokens[:, s] += 1
        moved = (layer(query_input, *changed, MASKS[name]) != before).any(dim=-1)  # (B, T)
        assert torch.equal(moved, ~hidden[..., s])


def test_the_weights_of_a_row_sum_to_1_and_hidden_keys_get_0():
    layer, query_input, key_input, _ = make()
    weights = layer.weights(query_input, key_input, MASKS["padding"])
    assert weights.shape == (B, HEADS, T, S)
    assert torch.allclose(weights.sum(dim=-1), torch.ones(B, HEADS, T, dtype=torch.float64))
    assert torch.equal(weights == 0, PADDING[:, None, None, :].expand(B, HEADS, T, S))


def test_a_row_without_any_visible_key_gives_the_bias_alone_and_finite_gradients():
    layer, *inputs = make()
    mask = torch.zeros(B, T, S, dtype=torch.bool)
    mask[1, 2] = True
    output = layer(*inputs, mask)
    assert torch.equal(output[1, 2], layer.out_proj.bias)
    assert torch.allclose(output, by_kernel(layer, *inputs, mask), rtol=0, atol=1e-12)
    output.pow(2).sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())


def test_an_empty_row_is_safe_at_every_step_of_the_derivatives():
    layer, *inputs = make()
    with torch.autograd.set_detect_anomaly(True):
        layer(*inputs, torch.ones(1, T, S, dtype=torch.bool)).sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())


@pytest.mark.parametrize("dtype, tolerance", [(torch.bfloat16, 3e-2), (torch.float16, 4e-3)])
@every_mask
def test_under_autocast_it_takes_what_other_layers_hand_it(name, dtype, tolerance):
    layer, *inputs = make(torch.float32)
    expected = layer(layer(*inputs, MASKS[name]), *inputs[1:], MASKS[name])
    with torch.autocast("cpu", dtype):
        output = layer(layer(*inputs, MASKS[name]), *inputs[1:], MASKS[name])
    assert output.dtype == dtype
    assert torch.allclose(output.float(), expected, rtol=0, atol=tolerance)


def test_one_sequence_alone_gives_the_same_as_in_a_batch():
    layer, *inputs = make()
    alone = [layer(*(tokens[b] for tokens in inputs), PADDING[b][None]) for b in range(B)]
    assert torch.allclose(torch.stack(alone), layer(*inputs, MASKS["padding"]), rtol=0, atol=1e-12)


def test_dropout_is_a_layer_only_where_a_rate_is_given_and_drops_in_training_only():
    assert not any(isinstance(module, torch.nn.Dropout) for module in make()[0].modules())
    layer, *inputs = make(dropout=0.5)
    assert not torch.equal(layer(*inputs), layer(*inputs))
    assert torch.equal(layer.eval()(*inputs), make()[0](*inputs))


def test_bias_false_leaves_four_matrices():
    assert [tuple(p.shape) for p in make(bias=False)[0].parameters()] == [(WIDTH, WIDTH)] * 4
    assert len(list(make()[0].parameters())) == 8


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.bfloat16, 3e-2)])
def test_other_dtypes_stay_what_they_are(dtype, tolerance):
    layer, *inputs = make(dtype)
    exact, *originals = make()
    output = layer(*inputs, MASKS["padding"])
    assert output.dtype == dtype
    assert torch.allclose(output.double(), exact(*originals, MASKS["padding"]), rtol=0, atol=tolerance)


# --- what it refuses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query, key, value, sentence",
    [
        ((WIDTH,), (B, S, WIDTH), (B, S, WIDTH), r"query_input has shape \(12,\), but attention takes \(T, d_model\)"),
        ((B, T, WIDTH), (B, S, 3), (B, S, WIDTH), "token of key_input has 3 numbers.* made with d_model=12"),
        ((B, T, WIDTH), (B, S, WIDTH), (B, S, 3), "token of value_input has 3 numbers"),
        ((B, T, WIDTH), (3, S, WIDTH), (3, S, WIDTH), "key_input .3, 5, 12.: each sequence of queries needs a"),
        ((B, T, WIDTH), (S, WIDTH), (S, WIDTH), "each sequence of queries needs a sequence of keys"),
        ((B, T, WIDTH), (B, S, WIDTH), (B, T, WIDTH), "value_input .2, 4, 12.: each key needs a value"),
    ],
)
def test_inputs_that_do_not_fit_get_a_sentence(query, key, value, sentence):
    layer, *_ = make()
    with pytest.raises(ValueError, match=sentence):
        layer(*(torch.rand(shape, dtype=torch.float64) for shape in (query, key, value)))


@pytest.mark.parametrize(
    "mask, sentence",
    [
        (PADDING, r"mask has shape \(2, 5\), but it must be \(B, T, S\) = \(2, 4, 5\).*padding\[:, None, :\]"),
        (
            torch.zeros(T, S, dtype=torch.bool),
            r"mask has shape \(4, 5\), but .* for a shared mask \(T, S\), mask\[None\]",
        ),
        (PADDING[:, :, None], r"mask has shape \(2, 5, 1\), but it must be"),
        (torch.zeros(S, dtype=torch.bool), r"mask has shape \(5,\)"),
        (torch.zeros(B, HEADS, T, S, dtype=torch.bool), r"mask has shape \(2, 3, 4, 5\)"),
        (
            torch.ones(T, S),
            "mask has dtype torch.float32, but it must be boolean, True where a key is hidden.*mask == 0",
        ),
        (torch.zeros(T, S, dtype=torch.bool, device="meta"), r"mask is on meta and the layer on cpu: pass mask.to"),
    ],
)
def test_a_mask_that_does_not_fit_gets_a_sentence(mask, sentence):
    layer, *inputs = make()
    with pytest.raises(ValueError, match=sentence):
        layer(*inputs, mask)


def test_heads_and_dropout_are_checked_when_the_layer_is_made():
    with pytest.raises(ValueError, match="d_model=12 cannot be split into num_heads=5 heads"):
        CrossAttention(12, 5)
    with pytest.raises(ValueError, match="dropout is 1.0"):
        CrossAttention(12, 3, dropout=1.0)
