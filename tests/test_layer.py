"""`Attention` for use: every type of numbers, every length, what it keeps, compiles, copies, and what it refuses."""

import copy
import io
import itertools
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_tools.repository import ROOT
from course_utils.attention import (
    Attention,
    Cache,
    CrossAttention,
    LatentAttention,
    rotary_frequencies,
    rotate,
)
from tests.support.chapter_code import defined_in
from tests.test_attention import kept_bytes

CachedMultiHeadAttention = defined_in(6).CachedMultiHeadAttention

B, T, WIDTH, HEADS = 2, 7, 24, 6
PADDED = torch.arange(T) < torch.tensor([[0], [3]])  # on the left, (B, T)
ROTARY = {"frequencies": rotary_frequencies(4)}
KINDS = {
    "plain": {},
    "rotary": ROTARY,
    "grouped": {"num_kv_heads": 2} | ROTARY,
    "window": {"window": 3},
    "norm": {"norm_eps": 1e-6},
    "sinks": {"sinks": True, "bias": True},
    "partial": {"frequencies": torch.ones(1), "rotary_dim": 2},
    "interleaved": {"interleaved": True} | ROTARY,
    "biased in part": {"bias": True, "out_bias": False},
    "gate": {"gate": True},
    "softcap": {"softcap": 0.1},
    "all": {"num_kv_heads": 2, "window": 3, "norm_eps": 1e-6, "sinks": True, "bias": True, "gate": True} | ROTARY,
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def make(kind="plain", **more):
    """(layer, batch (B, T, WIDTH)) in 64 bits, random, the same on every call."""
    torch.manual_seed(7)
    layer = Attention(WIDTH, HEADS, **KINDS[kind] | more)
    if layer.sinks is not None:
        torch.nn.init.normal_(layer.sinks)
    return layer.double(), torch.randn(B, T, WIDTH, dtype=torch.float64)


def latent(frequencies=ROTARY["frequencies"], rotary_dim=4):
    """A latent layer of 64 bits."""
    torch.manual_seed(7)
    return LatentAttention(WIDTH, HEADS, 3, rotary_dim, 5, 10, 8, frequencies).double()


# --- numbers of 16 bits -----------------------------------------------------------------------------------------------


def loud(layer):
    """The layer with queries and keys whose products no 16 bits hold: beyond 65,504, before they are scaled."""
    with torch.no_grad():
        for linear in (layer.W_query, layer.W_key):
            linear.bias.copy_(240 * torch.randn(linear.bias.shape).sign())
    return layer


@pytest.mark.parametrize("kind", ["plain", "grouped", "window", "sinks"])
@torch.no_grad()
def test_attention_in_float16_reads_what_64_bits_read_in_the_same_queries_and_keys(kind):
    torch.manual_seed(3)
    arguments = {"head_dim": 8, "num_kv_heads": 1} | KINDS[kind] | {"bias": True, "frequencies": None}
    layer, x = loud(Attention(WIDTH, 4, **arguments)).half(), torch.randn(B, T, WIDTH).half()
    queries, cache = layer.project(x)
    queries, keys, values = (each.double() for each in (queries, *cache[:2]))
    exact = copy.deepcopy(layer).double()
    wanted = exact.weights(queries, keys)  # (B, num_heads, T, T)
    wanted_output = exact.out_proj(exact.merge(wanted @ values.repeat_interleave(4 // values.shape[1], dim=1)))
    assert (queries @ keys.repeat_interleave(4 // keys.shape[1], dim=1).transpose(-2, -1)).abs().max() > 65_504
    output, weights, _ = layer.attend(x)
    assert torch.allclose(weights.double(), wanted, rtol=0, atol=1e-2)
    for given in (output, layer(x)[0]):
        assert given.dtype == torch.float16 and torch.allclose(given.double(), wanted_output, rtol=0, atol=1e-2)


def products_beyond_float16(layer):
    """The layer with weights that make large queries and keys of inputs of ones."""
    with torch.no_grad():
        for linear, size in [(layer.W_query, 200.0), (layer.W_key, 200.0)]:
            linear.weight.copy_(torch.eye(*linear.weight.shape) * size)
            if linear.bias is not None:
                linear.bias.zero_()
    return layer


def signs(tokens):
    """Vectors (1, tokens, 4) whose products are -160,000 to 160,000 before they are scaled by 1 / 2."""
    return torch.tensor([[1.0, -1.0], [-1.0, 1.0]])[torch.arange(tokens) % 2].repeat(1, 2)[None]


def test_cross_attention_in_float16_reads_what_it_reads_in_64_bits():
    layer = products_beyond_float16(CrossAttention(4, 1)).half()
    x = (signs(4) * torch.tensor([0.7, 0.7, 0.7, 0.6])[:, None]).half()
    mask = torch.zeros(1, 1, 4, dtype=torch.bool)
    mask[..., 1] = True
    weights = layer.weights(-x[:, :1], x, mask)  # a visible key scores -78,400 before, -39,200 after scaling
    exact = copy.deepcopy(layer).double().weights(-x[:, :1].double(), x.double(), mask)
    assert torch.allclose(weights.double(), exact, rtol=0, atol=1e-2)
    assert torch.equal(weights.sum(-1), torch.ones_like(weights.sum(-1)))


def test_cached_attention_in_float16_reads_what_it_reads_in_64_bits():
    layer = products_beyond_float16(CachedMultiHeadAttention(4, 4, 5, 0.0, 1)).half()
    x = (signs(4) * torch.tensor([0.7, 0.7, 0.7, 0.6])[:, None]).half()
    output, _ = layer(x)
    exact, _ = copy.deepcopy(layer).double()(x.double())
    assert torch.allclose(output.double(), exact, rtol=0.01, atol=0.1)


@each_kind
@pytest.mark.parametrize("dtype, tolerance", [(torch.bfloat16, 3e-2), (torch.float16, 4e-3)])
@pytest.mark.parametrize("padded", [False, True])
def test_16_bits_stay_16_bits_and_lose_little(kind, dtype, tolerance, padded):
    exact, x = make(kind)
    layer, mask = copy.deepcopy(exact).to(dtype), PADDED[:, None] if padded else None
    for make_output in (lambda: layer(x.to(dtype), mask=mask), lambda: layer.attend(x.to(dtype), mask=mask)):
        output = make_output()[0]
        assert output.dtype == dtype
        assert torch.allclose(output.double(), exact(x, mask=mask)[0], rtol=0, atol=tolerance)


@each_kind
@pytest.mark.parametrize("dtype, tolerance", [(torch.bfloat16, 3e-2), (torch.float16, 4e-3)])
@pytest.mark.parametrize("padded", [False, True])
def test_under_autocast_it_gives_nearly_the_same_with_a_cache_too(kind, dtype, tolerance, padded):
    exact, x = make(kind)
    layer, x, mask = copy.deepcopy(exact).float(), x.float(), PADDED[:, None] if padded else None
    with torch.autocast("cpu", dtype):
        whole, _ = layer(x, mask=mask)
        _, cache = layer(x[:, :5], mask=None if mask is None else mask[..., :5])
        rest, _ = layer(x[:, 5:], cache, mask)
    expected = exact(x.double(), mask=mask)[0]
    assert whole.dtype == rest.dtype == dtype
    assert torch.allclose(whole.double(), expected, rtol=0, atol=tolerance)
    assert torch.allclose(rest.double(), expected[:, 5:], rtol=0, atol=tolerance)


# --- lengths and masks ------------------------------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("tokens", [0, 1])
@pytest.mark.parametrize("pick", [slice(None), 0], ids=["batch", "one sequence"])
def test_no_token_and_one_token_are_sequences_too(kind, tokens, pick):
    layer, x = make(kind)
    x = x[:, :tokens][pick].requires_grad_()
    (output, (keys, *_)), (by_weights, weights, _) = layer(x), layer.attend(x)
    assert output.shape == by_weights.shape == x.shape and keys.shape[-2] == tokens
    assert weights.shape[-2:] == (tokens, tokens)
    assert torch.allclose(output, by_weights, rtol=0, atol=1e-12)
    output.sum().backward()
    assert x.grad.isfinite().all()


@each_kind
def test_no_new_token_leaves_a_cache_as_it_is(kind):
    layer, x = make(kind)
    _, cache = layer(x)
    output, longer = layer(x[:, :0], cache)
    assert output.shape == (B, 0, WIDTH) and cache.length == longer.length
    assert all(torch.equal(*pair) for pair in zip(cache[:2], longer))


LONG = 300  # tokens: several blocks of queries, and no multiple of their size
MASKS = {
    "no mask": None,
    "padding on the right": torch.arange(LONG) >= torch.tensor([LONG, LONG // 2])[:, None, None],
    "padding on the left": torch.arange(LONG) < torch.tensor([0, LONG // 2])[:, None, None],
    "all hidden": torch.ones(1, 1, LONG, dtype=torch.bool),
    "a mask each": torch.arange(B * LONG * LONG).view(B, LONG, LONG) % 3 == 1,
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("window", [None, 1, 3, 64, 200, 5000])
@pytest.mark.parametrize("sinks", [False, True])
@torch.no_grad()
def test_the_kernels_give_what_the_weights_give_at_once_and_by_pieces(mask, window, sinks):
    layer, _ = make("sinks" if sinks else "plain", num_kv_heads=2, window=window)
    x = torch.randn(B, LONG, WIDTH, dtype=torch.float64)
    expected = layer.attend(x, mask=mask)[0]
    outputs, cache, place = [], None, 0
    for piece in [150, 149, 1]:
        rows = slice(place, place + piece)
        place += piece
        part = None if mask is None else mask[:, rows if mask.shape[1] > 1 else slice(None), :place]
        output, cache = layer(x[:, rows], cache, part)
        outputs.append(output)
    for given in (layer(x, mask=mask)[0], torch.cat(outputs, dim=1)):
        assert torch.allclose(given, expected, rtol=0, atol=1e-12)


@each_kind
@pytest.mark.parametrize("hidden", [(slice(None), 0), (slice(None), slice(None))], ids=["one row", "all rows"])
def test_rows_without_a_key_give_the_bias_alone_and_gradients_without_nan(kind, hidden):
    layer, x = make(kind)
    mask = torch.zeros(B, T, T, dtype=torch.bool)
    mask[hidden] = True
    rows = mask.all(-1)
    for given in (mask, PADDED[:, None]):
        rows = (given | ~torch.ones(T, T).tril().bool()).all(-1)  # (B, T)
        for call in (layer, layer.attend):
            output = call(x.requires_grad_(), mask=given)[0]
            bias = torch.zeros(()) if layer.out_proj.bias is None else layer.out_proj.bias
            assert rows.any() and (output[rows] == bias).all()
            gradients = torch.autograd.grad(output.pow(2).sum(), [x, *layer.parameters()], allow_unused=True)
            assert all(each is None or each.isfinite().all() for each in gradients)


@pytest.mark.parametrize("kind", ["grouped", "window", "sinks", "all"])
@pytest.mark.parametrize("padded", [False, True])
def test_gradients_are_those_of_the_weights(kind, padded):
    layer, x = make(kind)
    mask, inputs = PADDED[:, None] if padded else None, [x.requires_grad_(), *layer.parameters()]
    ours, theirs = (torch.autograd.grad(call(x, mask=mask)[0].pow(2).sum(), inputs) for call in (layer, layer.attend))
    assert all(torch.allclose(*pair, rtol=0, atol=1e-10) for pair in zip(ours, theirs))


# --- memory -----------------------------------------------------------------------------------------------------------


def kept(mask=None, **arguments):
    """How much a layer of width 64 keeps of 4096 tokens for the derivatives, in bytes."""
    layer = Attention(64, 4, **arguments)
    calls = torch.nn.Module()
    calls.layer, calls.forward = layer, lambda x: layer(x, mask=mask)[0]
    return kept_bytes(calls, torch.rand(1, 4096, 64))


RIGHT = (torch.arange(4096) >= 3000)[None, None]


@pytest.mark.parametrize(
    "more",
    [*({"window": window} for window in (1, 64, 1000, 3000, 5000)), {"mask": RIGHT}, {"mask": ~RIGHT}, {"sinks": True}]
    + [{"mask": RIGHT, "window": 64}, {"sinks": True, "window": 64}],
    ids=str,
)
def test_windows_padding_and_sinks_keep_little_more_than_a_plain_layer(more):
    assert kept(**more) <= 1.5 * kept()


@pytest.mark.parametrize("absorbed", [False, True])
def test_a_latent_layer_keeps_memory_for_tokens_and_its_weights_for_pairs_of_them(absorbed):
    layer, calls, kept_by = latent().float(), torch.nn.Module(), []
    calls.layer = layer
    for call in (layer.forward, layer.attend):
        calls.forward = lambda x: call(x, absorbed=absorbed)[0]  # noqa: B023  # called within this round
        kept_by.append([kept_bytes(calls, torch.rand(1, tokens, WIDTH)) for tokens in (256, 512)])
    (short, long), (short_by_weights, long_by_weights) = kept_by
    assert long < 2.1 * short and long_by_weights > 3 * short_by_weights


def test_a_mask_for_each_pair_of_tokens_keeps_a_table():  # so the measure would show one
    assert kept(mask=torch.zeros(1, 4096, 4096, dtype=torch.bool)) > 4 * 4096**2 / 2


@pytest.mark.parametrize("kind", ["plain", "window", "grouped"])
def test_a_single_new_token_needs_no_mask(kind, monkeypatch):
    layer, x = make(kind)
    _, cache = layer(x)
    given, kernel = [], F.scaled_dot_product_attention
    monkeypatch.setattr(F, "scaled_dot_product_attention", lambda *a, **k: given.append((a, k)) or kernel(*a, **k))
    layer(x[:, :1], cache)
    (((_, keys, _), named),) = given
    assert named.get("attn_mask") is None and not named.get("is_causal")
    assert keys.shape[-2] == (layer.window or T + 1)


@pytest.mark.parametrize("device", ["cpu", "meta"])  # meta stands for all that is no CPU
def test_grouped_keys_with_a_mask_are_repeated_where_the_kernel_for_masks_knows_no_groups(device, monkeypatch):
    layer, x = make("all")
    shapes, kernel = [], F.scaled_dot_product_attention
    monkeypatch.setattr(F, "scaled_dot_product_attention", lambda *a, **k: shapes.append((a, k)) or kernel(*a, **k))
    layer.to(device)(x.to(device))
    for (_, keys, values), named in shapes:
        assert keys.shape[1] == values.shape[1] == (2 if device == "cpu" else HEADS)
        assert named["enable_gqa"] == (device == "cpu")


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_unequal_widths_are_a_multiple_of_8_where_another_gets_a_slow_kernel_and_equal_ones_stay(device, monkeypatch):
    widths, kernel = [], F.scaled_dot_product_attention
    monkeypatch.setattr(
        F,
        "scaled_dot_product_attention",
        lambda *a, **k: widths.append([each.shape[-1] for each in a[:3]]) or kernel(*a, **k),
    )
    for layer in (latent(), make()[0]):
        layer.to(device)(make()[1].to(device))
    assert widths == [[3 + 4 if device == "cpu" else 8] * 3, [WIDTH // HEADS] * 3]


# --- compiled, moved, copied, saved -----------------------------------------------------------------------------------


@torch.no_grad()
def compile_every_kind():
    """Print which kinds of layer give the same compiled as one graph, with a cache that grows."""
    for kind in KINDS:
        torch.compiler.reset()
        layer, x = make(kind)
        compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")  # which needs no compiler of C++
        cache, same = None, True
        for piece in x.split([3, 1, 1, 1, 1], dim=1):
            expected, _ = layer(piece, cache)
            output, cache = compiled(piece, cache)
            same = same and torch.allclose(output, expected, rtol=0, atol=1e-12)
        print(kind if same else f"not {kind}")


@pytest.mark.in_matrix("compiled layers")
def test_it_compiles_as_one_graph_with_a_cache_that_grows():
    """In a process of its own: PyTorch's compiler looks at what other tests have put in the place of functions."""
    code = "from tests.test_layer import compile_every_kind; compile_every_kind()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.stdout.split("\n")[:-1] == list(KINDS), done.stderr


@each_kind
def test_it_can_be_made_on_the_meta_device_and_filled_later(kind):
    layer, x = make(kind)
    arguments = dict(KINDS[kind])
    with torch.device("meta"):
        if "frequencies" in arguments:
            arguments["frequencies"] = rotary_frequencies(arguments.get("rotary_dim", 4))
        empty = Attention(WIDTH, HEADS, **arguments).double()
        assert empty(torch.empty(B, T, WIDTH, dtype=torch.float64))[0].shape == (B, T, WIDTH)
    assert empty(x.to("meta"))[0].device.type == empty.attend(x.to("meta"))[0].device.type == "meta"
    filled = empty.to_empty(device="cpu")
    filled.load_state_dict(layer.state_dict())
    assert torch.equal(filled(x)[0], layer(x)[0])


@each_kind
def test_a_copy_and_a_saved_one_give_the_same_and_only_parameters_are_saved(kind):
    layer, x = make(kind)
    expected, _ = layer(x)
    assert layer.state_dict().keys() == dict(layer.named_parameters()).keys()
    file = io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    other, _ = make(kind)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    other.load_state_dict(layer.state_dict())
    for same in (copy.deepcopy(layer), torch.load(file, weights_only=False), other):
        assert torch.equal(same(x)[0], expected)


def test_cosines_are_made_once_for_many_calls_and_as_exact_as_without_a_table(monkeypatch):
    layer, x = make("rotary")
    made, computed = [], layer.rotary.computed
    monkeypatch.setattr(layer.rotary, "computed", lambda *given: made.append(given) or computed(*given))
    cache = None
    for piece in torch.cat([x] * 4, dim=1).split(1, dim=1):  # 28 steps
        output, cache = layer(piece, cache)
    assert len(made) <= 5  # the table doubles
    queries = torch.randn(1, 100_000, 4, dtype=torch.float64)
    cos, sin = layer.rotary(99_990, 100_000, queries)
    angles = torch.arange(99_990, 100_000)[:, None] * ROTARY["frequencies"]
    assert torch.equal(cos, angles.cos()) and torch.equal(sin, angles.sin())
    assert rotate(queries[:, :10], torch.arange(10), ROTARY["frequencies"]).shape == (1, 10, 4)


def test_neither_half_precision_nor_inference_leaves_a_trace_in_the_table():
    layer, x = make("rotary")
    expected, _ = layer(x)
    rounded = copy.deepcopy(layer).bfloat16()
    rounded(x.bfloat16())
    rounded.double().load_state_dict(layer.state_dict())
    assert torch.equal(rounded(x)[0], expected)
    fresh, _ = make("rotary")
    with torch.inference_mode():
        fresh(x)
    fresh(x)[0].sum().backward()
    assert fresh.W_query.weight.grad.isfinite().all()


@each_kind
def test_second_derivatives_are_refused_in_a_sentence_and_had_by_weights_or_by_the_slow_kernel(kind):
    layer, x = make(kind)

    def second(call):
        """The derivative of a derivative's sum of squares."""
        given = x[:1, :4].clone().requires_grad_()
        (first,) = torch.autograd.grad(call(given)[0].pow(2).sum(), given, create_graph=True)
        return torch.autograd.grad(first.pow(2).sum(), given)[0]

    if layer.softcap is None:  # which no kernel computes
        with pytest.raises(RuntimeError, match="lack second derivatives .create_graph=True.: use the output of attend"):
            second(layer)
    by_weights = second(layer.attend)
    with sdpa_kernel(SDPBackend.MATH):
        assert torch.allclose(second(layer), by_weights, rtol=0, atol=1e-10)


# --- what it refuses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (
            {"frequencies": torch.ones(1)},
            r"has shape \(1,\), but 4 numbers are 2 pairs.*rotary_frequencies\(4\)",
        ),
        ({"frequencies": torch.tensor(1.0)}, r"frequencies has shape \(\), but 4 numbers are 2 pairs"),
        ({"frequencies": torch.ones(4)}, r"frequencies has shape \(4,\), but"),
        ({"frequencies": torch.ones(1), "head_dim": 3}, "3 numbers cannot be rotated in pairs"),
        ({"window": 0}, "window is 0, but every token sees itself"),
        ({"window": -2}, "window is -2, but every token sees itself"),
        ({"num_kv_heads": 0}, "cannot share num_kv_heads=0"),
        ({"softcap": 0.0}, "softcap is 0.0, but scores stay between"),
        ({"frequencies": torch.ones(2), "rotary_dim": 2}, "but 2 numbers are 1 pairs"),
        ({"frequencies": torch.ones(3), "rotary_dim": 6}, "rotary_dim is 6, but at most 4 numbers can rotate"),
        ({"rotary_dim": 2}, "only with frequencies"),
    ],
)
def test_arguments_that_cannot_be_get_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        Attention(WIDTH, HEADS, **arguments)


@pytest.mark.parametrize("frequencies, rotary_dim", [(torch.ones(1), 4), (torch.ones(1), 3), (torch.ones(2), 3)])
def test_a_latent_layer_refuses_them_too(frequencies, rotary_dim):
    with pytest.raises(ValueError, match="pairs"):
        latent(frequencies, rotary_dim)


LAYERS = {
    "Attention": lambda: make("grouped")[0],
    "LatentAttention": latent,
    "CachedMultiHeadAttention": lambda: CachedMultiHeadAttention(WIDTH, WIDTH, 20, 0.0, HEADS).double(),
}
each_layer = pytest.mark.parametrize("name", LAYERS)


@each_layer
def test_a_mask_of_two_dimensions_is_refused_for_a_batch_even_where_it_would_fit(name):
    layer, x = LAYERS[name](), torch.randn(3, 3, WIDTH, dtype=torch.float64)  # B = T
    padding = torch.arange(3) >= torch.tensor([3, 2, 1])[:, None]  # (B, T)
    with pytest.raises(ValueError, match=r"mask has shape \(3, 3\), but it must be \(B, T, S\).*padding\[:, None, :\]"):
        layer(x, mask=padding)
    alone = layer(x[1], mask=padding[1][None])[0]
    assert torch.allclose(layer(x, mask=padding[:, None])[0][1], alone, rtol=0, atol=1e-12)


def changes(cache):
    """Caches that do not fit, with the sentence for each."""
    first, second, *length = cache
    for sentence, *two in [
        ("cache.0. is torch.float32", first.float(), second),
        ("cache.1. is torch.float16", first, second.half()),
        ("cache.0. has shape", first[:1], second[:1]),
        ("cache.0. has shape", first[..., :-1], second),
        ("have 4 and 3 tokens", first, second[..., 1:, :]),
        ("on meta", first.to("meta"), second),
    ]:
        yield Cache(*two, *length) if length else tuple(two), sentence


@each_layer
def test_a_cache_that_does_not_fit_gets_a_sentence(name):
    layer, x = LAYERS[name](), torch.randn(B, T, WIDTH, dtype=torch.float64)
    _, cache = layer(x[:, :4])
    for wrong, sentence in changes(cache):
        with pytest.raises(ValueError, match=sentence):
            layer(x[:, 4:], wrong)
    layer(x[:, 4:], cache)


def test_an_exchanged_cache_is_noticed_where_its_parts_differ_in_width():
    layer, x = latent(), torch.randn(B, T, WIDTH, dtype=torch.float64)
    _, cache = layer(x[:, :4])
    with pytest.raises(ValueError, match=r"cache\[0\] has shape \(2, 4, 4\) and the new tensor \(2, 3, 8\)"):
        layer(x[:, 4:], cache[::-1])


@pytest.mark.parametrize(
    "change", [lambda cache: cache[:2], lambda cache: cache[1::-1], list], ids=["cut", "exchanged", "list"]
)
def test_what_is_no_cache_of_the_layer_is_refused_and_so_are_exchanged_keys_and_values(change):
    layer, x = make("rotary")
    _, cache = layer(x[:, :4])
    with pytest.raises(ValueError, match="pass the whole cache that this layer.s last call returned"):
        layer(x[:, 4:], change(cache))


@pytest.mark.parametrize("pieces", [[7], [3, 1, 1, 1, 1], [1] * 7, [5, 2], [2, 0, 5]], ids=str)
@pytest.mark.parametrize("window", [1, 2, 3, 9])
def test_a_window_trims_the_cache_and_nothing_else_changes(pieces, window):
    layer, x = make("all", window=window)
    for call in (layer, lambda *given, mask: layer.attend(*given, mask=mask)[::2]):
        outputs, cache, place = [], None, 0
        for piece in x.split(pieces, dim=1):
            place += piece.shape[1]
            output, cache = call(piece, cache, mask=PADDED[:, None, :place])
            outputs.append(output)
            assert cache.length == place and cache.keys.shape == cache.values.shape == (B, 2, min(place, window - 1), 4)
        wanted, _, _ = layer.attend(x, mask=PADDED[:, None])
        assert torch.allclose(torch.cat(outputs, dim=1), wanted, rtol=0, atol=1e-12)


def test_a_mask_of_another_length_is_refused_with_a_trimmed_cache_too():
    layer, x = make("window")
    _, cache = layer(x[:, :6])
    for width in (2, 6, 8):
        with pytest.raises(ValueError, match="mask has shape"):
            layer(x[:, 6:], cache, torch.zeros(B, 1, width, dtype=torch.bool))


@pytest.mark.parametrize(
    "state, families",
    [
        ({"query_norm.weight": torch.ones(24)}, "neither norms before heads are split .OLMo-2, OLMo-3"),
        ({"key_norm.weight": torch.ones(6, 4)}, "Cohere, StableLM, Phi"),
        ({"query_norm.weight": torch.ones(4), "query_norm.bias": torch.ones(4)}, "Cohere, StableLM, Phi"),
    ],
)
def test_norms_of_other_families_are_refused_by_name(state, families):
    layer, _ = make("norm")
    with pytest.raises(ValueError, match=families):
        layer.load_state_dict(layer.state_dict() | state)
    with pytest.raises(ValueError, match=families):  # in a model, too
        torch.nn.ModuleList([layer]).load_state_dict({f"0.{name}": each for name, each in state.items()})


# --- dropout ----------------------------------------------------------------------------------------------------------


@each_kind
@torch.no_grad()
def test_dropout_drops_weights_in_training_alone_and_leaves_the_average(kind):
    layer, x = make(kind, dropout=0.25)
    many, mask = x.repeat(200, 1, 1), PADDED[:, None].repeat(200, 1, 1)
    exact, weights, _ = layer.eval().attend(many, mask=mask)
    for call in (layer, layer.attend):
        assert torch.allclose(call(many, mask=mask)[0], exact, rtol=0, atol=1e-12)
    layer.train()
    torch.manual_seed(0)
    _, dropped, _ = layer.attend(many, mask=mask)
    assert torch.allclose(dropped, (dropped != 0) * weights / 0.75, rtol=0, atol=1e-12)
    assert 0.24 < (dropped[weights > 0] == 0).double().mean() < 0.26
    for call in (layer, layer.attend):
        off = call(many, mask=mask)[0] - exact
        assert off.abs().max() > 10 * off.unflatten(0, (200, B)).mean(dim=0).abs().max() > 0


def test_dropout_is_refused_where_it_leaves_nothing():
    with pytest.raises(ValueError, match="dropout is 1.0"):
        make(dropout=1.0)


def test_each_kind_differs_from_each_other():  # so that none of the kinds above is another one by accident
    outputs = [layer(x)[0] for layer, x in map(make, KINDS)]
    assert all((one - other).abs().max() > 1e-3 for one, other in itertools.combinations(outputs, 2))
