"""The attention layers against plain loops, against torch's own kernel, and against what people do wrong.

All sizes differ from one another (batch, tokens, widths, heads): equal ones hide mistakes.
"""

import pytest
import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_utils.attention import (
    CausalAttention,
    MultiHeadAttention,
    MultiHeadAttentionWrapper,
    SelfAttention_v2,
)
from tests.support import plain_loops
from tests.support.chapter_code import defined_in

SelfAttention_v1, FusedMultiHeadAttention = defined_in(2).SelfAttention_v1, defined_in(6).FusedMultiHeadAttention

B, T, D_IN, D_OUT, HEADS, LONGEST = 2, 5, 3, 8, 4, 7
LAYERS = {
    "SelfAttention_v1": lambda: SelfAttention_v1(D_IN, D_OUT),
    "SelfAttention_v2": lambda: SelfAttention_v2(D_IN, D_OUT),
    "SelfAttention_v2 with bias": lambda: SelfAttention_v2(D_IN, D_OUT, qkv_bias=True),
    "CausalAttention": lambda: CausalAttention(D_IN, D_OUT, LONGEST, 0.0),
    "MultiHeadAttentionWrapper": lambda: MultiHeadAttentionWrapper(D_IN, D_OUT, LONGEST, 0.0, HEADS),
    "MultiHeadAttention": lambda: MultiHeadAttention(D_IN, D_OUT, LONGEST, 0.0, HEADS),
    "MultiHeadAttention with bias": lambda: MultiHeadAttention(D_IN, D_OUT, LONGEST, 0.0, HEADS, qkv_bias=True),
    "FusedMultiHeadAttention": lambda: FusedMultiHeadAttention(D_IN, D_OUT, LONGEST, 0.0, HEADS),
}
CAUSAL = [name for name in LAYERS if "Self" not in name]
every_layer = pytest.mark.parametrize("name", LAYERS)


def make(name, dtype=torch.float64):
    """(layer, batch of shape (B, T, D_IN)), both random, the same on every call."""
    torch.manual_seed(7)
    return LAYERS[name]().to(dtype), torch.randn(B, T, D_IN, dtype=torch.float64).to(dtype)


# --- what the layers compute ----------------------------------------------------------------------------------------


def projected(linear, x):
    """A sequence (T, d_in), as lists, through a layer's matrix, by loops."""
    if isinstance(linear, torch.nn.Parameter):  # (d_in, d_out); nn.Linear keeps (d_out, d_in)
        return plain_loops.project(x, linear.T.tolist())
    return plain_loops.project(x, linear.weight.tolist(), None if linear.bias is None else linear.bias.tolist())


def by_loops(layer, *inputs):
    """The output for the sequences (T, d_in) that give queries, keys and values, as T vectors, by plain loops."""
    if isinstance(layer, MultiHeadAttentionWrapper):
        return side_by_side(by_loops(head, *inputs) for head in layer.heads)
    linears = layer.W_query, layer.W_key, layer.W_value
    vectors = [projected(linear, x.tolist()) for linear, x in zip(linears, inputs)]
    num_heads, causal = getattr(layer, "num_heads", 1), hasattr(layer, "mask")
    size = len(vectors[0][0]) // num_heads
    parts = [[[vector[h * size :][:size] for vector in part] for part in vectors] for h in range(num_heads)]
    context = side_by_side(plain_loops.attend(*part, causal)[0] for part in parts)
    return projected(layer.out_proj, context) if hasattr(layer, "out_proj") else context


def side_by_side(heads):
    """The vectors of some heads, token by token behind each other."""
    return [sum(vectors, []) for vectors in zip(*heads)]


@every_layer
def test_it_computes_what_plain_loops_compute(name):
    layer, x = make(name)
    expected = torch.tensor([by_loops(layer, *[sequence] * 3) for sequence in x], dtype=torch.float64)
    assert torch.allclose(layer(x), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["CausalAttention", "MultiHeadAttention", "SelfAttention_v2"])
def test_it_agrees_with_torchs_own_kernel_and_so_do_its_gradients(name):
    layer, x = make(name)
    heads = getattr(layer, "num_heads", 1)
    x.requires_grad_()
    q, k, v = (w(x).unflatten(-1, (heads, -1)).transpose(1, 2) for w in (layer.W_query, layer.W_key, layer.W_value))
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=hasattr(layer, "mask")).transpose(1, 2).flatten(2)
    if hasattr(layer, "out_proj"):
        expected = layer.out_proj(expected)
    assert torch.allclose(layer(x), expected, rtol=0, atol=1e-12)
    inputs = [x, *layer.parameters()]
    ours, theirs = (torch.autograd.grad(out.pow(2).sum(), inputs) for out in (layer(x), expected))
    assert all(torch.allclose(one, other, rtol=0, atol=1e-10) for one, other in zip(ours, theirs))


@every_layer
def test_gradients_are_those_of_the_function(name):
    layer, x = make(name)
    assert torch.autograd.gradcheck(layer, x[:1].requires_grad_())


@every_layer
def test_every_parameter_learns(name):
    layer, x = make(name)
    layer(x).pow(2).sum().backward()
    for parameter, value in layer.named_parameters():
        if parameter != "W_key.bias" and not parameter.endswith("W_key.bias"):  # softmax cancels a bias on all keys
            assert value.grad.abs().max() > 1e-6, parameter


@every_layer
def test_which_output_depends_on_which_input(name):
    layer, x = make(name)
    change = torch.autograd.functional.jacobian(layer, x[0])  # (T, d_out, T, d_in)
    depends = change.abs().sum(dim=(1, 3)) > 0  # (T, T)
    everything = torch.ones(T, T, dtype=torch.bool)
    assert torch.equal(depends, everything.tril() if name in CAUSAL else everything)


@every_layer
def test_sequences_in_a_batch_do_not_mix_and_one_alone_gives_the_same(name):
    layer, x = make(name)
    assert torch.allclose(torch.stack([layer(sequence) for sequence in x]), layer(x), rtol=0, atol=1e-12)


@every_layer
def test_the_layout_in_memory_does_not_matter_and_the_input_is_not_changed(name):
    layer, x = make(name)
    strided = x.transpose(0, 1).contiguous().transpose(0, 1)
    before = x.clone()
    assert not strided.is_contiguous() and torch.equal(layer(strided), layer(x))
    assert torch.equal(x, before)


@every_layer
@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.bfloat16, 3e-2)])
def test_other_dtypes_stay_what_they_are(name, dtype, tolerance):
    exact, x = make(name)
    layer, small = make(name, dtype)
    assert layer(small).dtype == dtype
    assert torch.allclose(layer(small).double(), exact(x), rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", CAUSAL)
def test_the_mask_moves_with_the_layer_but_is_not_learned(name):
    layer, _ = make(name)
    masks = {key: value for key, value in layer.state_dict().items() if key.endswith("mask")}
    assert masks and not any(key.endswith("mask") for key, _ in layer.named_parameters())
    moved = layer.to("meta")
    assert all(value.device.type == "meta" for value in moved.state_dict().values())


@pytest.mark.parametrize(
    "layer_class, heads", [(CausalAttention, []), (MultiHeadAttention, [HEADS]), (FusedMultiHeadAttention, [HEADS])]
)
def test_dropout_drops_weights_in_training_only(layer_class, heads):
    torch.manual_seed(7)
    layer = layer_class(D_IN, D_OUT, LONGEST, 0.5, *heads)
    x = torch.rand(B, T, D_IN)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))


def test_the_wrapper_and_the_split_class_are_the_same_function():
    torch.manual_seed(7)
    wrapper = MultiHeadAttentionWrapper(D_IN, D_OUT // HEADS, LONGEST, 0.0, HEADS)
    split = MultiHeadAttention(D_IN, D_OUT, LONGEST, 0.0, HEADS)
    with torch.no_grad():
        for part in ("W_query", "W_key", "W_value"):
            getattr(split, part).weight.copy_(torch.cat([getattr(head, part).weight for head in wrapper.heads]))
        split.out_proj.weight.copy_(torch.eye(D_OUT))
        split.out_proj.bias.zero_()
    x = torch.rand(B, T, D_IN)
    assert torch.allclose(wrapper(x), split(x), rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_the_fused_class_takes_the_textbook_class_weights_and_gives_the_same(dtype, tolerance):
    textbook, x = make("MultiHeadAttention with bias", dtype)
    fused = FusedMultiHeadAttention(D_IN, D_OUT, LONGEST, 0.0, HEADS, qkv_bias=True).to(dtype)
    fused.load_state_dict(textbook.state_dict())
    assert torch.allclose(fused(x), textbook(x), rtol=0, atol=tolerance)
    gradients = [torch.autograd.grad(layer(x).pow(2).sum(), list(layer.parameters())) for layer in (fused, textbook)]
    assert all(torch.allclose(one, other, rtol=0, atol=10 * tolerance) for one, other in zip(*gradients))


def kept_bytes(layer, x):
    """How much a forward pass puts aside for the derivatives, each piece of memory once, parameters aside."""
    kept, own = {}, {parameter.untyped_storage().data_ptr() for parameter in layer.parameters()}

    def note(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        output = layer(x)  # as long as this lives, so does what is kept
    del output
    return sum(size for address, size in kept.items() if address not in own)


@pytest.mark.parametrize("shape", [(1, 512, 16), (512, 16)], ids=["batch", "one sequence"])
def test_the_fused_class_stores_no_table_of_weights(shape):
    def heads_cost(layer_class):
        one, four = (layer_class(16, 16, 512, 0.0, heads) for heads in (1, 4))
        x = torch.rand(shape)
        return kept_bytes(four, x) - kept_bytes(one, x)

    three_tables = 3 * 512 * 512 * 4
    assert heads_cost(MultiHeadAttention) >= three_tables  # so the measure would show them
    assert heads_cost(FusedMultiHeadAttention) < three_tables / 50


needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
on_each_device = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_cuda)])


@on_each_device
@pytest.mark.parametrize("pick", [slice(None), 0], ids=["batch", "one sequence"])
def test_a_fast_kernel_takes_the_fused_class(device, pick):
    torch.manual_seed(7)
    fused = FusedMultiHeadAttention(D_IN, 64, LONGEST, 0.0, HEADS).to(device).bfloat16()  # a kernel wants head_dim 8 n
    textbook = MultiHeadAttention(D_IN, 64, LONGEST, 0.0, HEADS).to(device).bfloat16()
    textbook.load_state_dict(fused.state_dict())
    x = torch.randn(B, T, D_IN, device=device, dtype=torch.bfloat16)[pick]
    kernels = {
        "cpu": [SDPBackend.FLASH_ATTENTION],
        "cuda": [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION],
    }
    for kernel in kernels[device]:
        with sdpa_kernel(kernel):  # there is an error where it cannot take it
            assert torch.allclose(fused(x), textbook(x), rtol=0, atol=3e-2)


@every_layer
@on_each_device
@pytest.mark.parametrize("dtype, tolerance", [(torch.bfloat16, 3e-2), (torch.float16, 4e-3)])
def test_under_autocast_it_takes_what_other_layers_hand_it(name, device, dtype, tolerance):
    layer, x = make(name, torch.float32)
    between = torch.nn.Linear(layer(x).shape[-1], D_IN)
    model, x = torch.nn.Sequential(torch.nn.Linear(D_IN, D_IN), layer, between, layer).to(device), x.to(device)
    expected = model(x)
    with torch.autocast(device, dtype):
        output = model(x)
    assert output.dtype == dtype
    assert torch.allclose(output.float(), expected, rtol=0, atol=tolerance)
    output.float().pow(2).sum().backward()
    assert all(value.grad.isfinite().all() and value.grad.dtype == torch.float32 for value in model.parameters())


def test_autocast_leaves_float64_alone_and_so_it_is_refused_as_ever():
    layer, _ = make("MultiHeadAttention", torch.float32)
    with (
        torch.autocast("cpu", torch.bfloat16),
        pytest.raises(ValueError, match="x has dtype torch.float64 and the layer"),
    ):
        layer(torch.rand(B, T, D_IN, dtype=torch.float64))


@needs_cuda
@every_layer
def test_cuda_gives_the_same(name):
    layer, x = make(name)
    expected = layer(x)
    assert torch.allclose(layer.to("cuda")(x.to("cuda")).cpu(), expected, rtol=0, atol=1e-10)


# --- what the layers refuse ------------------------------------------------------------------------------------------


@every_layer
@pytest.mark.parametrize(
    "change, sentence",
    [
        (lambda x: x[0, 0], r"shape \(3,\), but attention takes \(T, d_in\).*\(B, T, d_in\)"),
        (lambda x: x[None], r"shape \(1, 2, 5, 3\), but attention takes"),
        (lambda x: x[..., :2], "has 2 numbers, but this layer was made with d_in=3: make it with d_in=2"),
        (lambda x: x.to("meta"), r"x is on meta and the layer on cpu: move one of them, with x.to\('cpu'\)"),
        (
            lambda x: x.long(),
            r"x has dtype torch.int64, but attention needs floating-point numbers: pass x.to\(torch.float64\)",
        ),
        (lambda x: x.half(), r"x has dtype torch.float16 and the layer torch.float64: change one of them"),
    ],
    ids=["one token", "four dimensions", "another width", "another device", "integers", "another dtype"],
)
def test_an_impossible_input_gets_a_sentence(name, change, sentence):
    layer, x = make(name)
    with pytest.raises(ValueError, match=sentence):
        layer(change(x))


@pytest.mark.parametrize("name", CAUSAL)
def test_a_sequence_longer_than_the_context_gets_a_sentence(name):
    layer, _ = make(name)
    layer(torch.rand(B, LONGEST, D_IN, dtype=torch.float64))
    with pytest.raises(ValueError, match="x has 8 tokens, but this layer was made with context_length=7: cut"):
        layer(torch.rand(B, LONGEST + 1, D_IN, dtype=torch.float64))


@pytest.mark.parametrize("layer_class, heads", [(CausalAttention, []), (MultiHeadAttention, [HEADS])])
@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5, float("nan")])
def test_an_impossible_dropout_gets_a_sentence(layer_class, heads, p):
    with pytest.raises(ValueError, match=f"dropout is {p}, .*at least 0 and less than 1"):
        layer_class(D_IN, D_OUT, LONGEST, p, *heads)


@pytest.mark.parametrize("heads", [0, -2, 3])
def test_heads_that_do_not_divide_the_width_get_a_sentence(heads):
    with pytest.raises(ValueError, match=f"d_out=8 cannot be split into num_heads={heads} heads"):
        MultiHeadAttention(D_IN, D_OUT, LONGEST, 0.0, heads)
