"""Our layers beside the library's: families of models, every attention module of each, on the same numbers."""

import copy
import functools
import random

import pytest
import torch
import transformers
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_utils.attention import Attention, LatentAttention
from course_utils.exercises import EXERCISES, solutions
from course_utils.families import NUMBERS, load
from tests.support import families, stored
from tests.test_attention import kept_bytes, needs_cuda, on_each_device

each_family = pytest.mark.parametrize("family", families.FAMILIES)
B, T, LAYERS = 3, 11, 2
LENGTHS = [T, 7, 4]  # of the sequences that are padded
close = functools.partial(torch.testing.assert_close, rtol=0, atol=1e-5)


def numbers(device="cpu"):
    """Random token numbers (B, T)."""
    return torch.randint(50, (B, T), generator=torch.Generator().manual_seed(0)).to(device)


def kept(side):
    """(B, T): 1 for tokens, 0 for padding on one side, as the library's models take it."""
    tokens = (torch.arange(T) < torch.tensor(LENGTHS)[:, None]).long()
    return tokens.flip(1) if side == "left" else tokens


def run(made, all_numbers, pieces, attention_mask=None):
    """The library's model on tokens in pieces: for each piece, [(input, output, weights)] of its attention modules."""
    past, records, place = None, [], 0
    for piece in pieces:
        more = {} if attention_mask is None else {"attention_mask": attention_mask[:, : place + piece]}
        new = all_numbers[:, place : place + piece]
        returned, heard = families.heard(made, new, past_key_values=past, use_cache=True, **more)
        past = returned.past_key_values
        records.append(heard)
        place += piece
    return records


def agree(family, pieces, device="cpu", side=None, attend=lambda layer, *given: layer.attend(*given)):
    """Our layers, fed piece by piece with what entered the library's, give what left those: outputs and weights."""
    attention_mask = kept(side).to(device) if side else None
    compare(families.model(family).to(device), numbers(device), pieces, attention_mask, attend)


@torch.no_grad()
def compare(made, all_numbers, pieces, attention_mask, attend):
    """The same for any model and token numbers (B, T). attention_mask: as the library takes it, or None."""
    records = run(made, all_numbers, pieces, attention_mask)
    assert len(families.attention_modules(made)) == LAYERS
    for number in range(LAYERS):
        layer, cache, place = families.ours(made, number), None, 0
        for piece, heard in zip(pieces, records):
            x, wanted, wanted_weights = heard[number]
            place += piece
            mask = None if attention_mask is None else attention_mask[:, None, :place] == 0  # (B, 1, T)
            real = torch.ones(x.shape[:2]).bool() if mask is None else ~mask[:, 0, place - piece :]
            if hasattr(families.attention_modules(made)[number], "indexer"):
                unpicked = wanted_weights.eq(0).all(dim=1)  # (B, n, T)
                mask = unpicked if mask is None else mask | unpicked
            output, weights, cache = attend(layer, x, cache, mask)
            seen = min(weights.shape[-1], wanted_weights.shape[-1])  # with a window, caches forget what is out of it
            close(output[real], wanted[real])
            close(weights[..., -seen:].transpose(1, 2)[real], wanted_weights[..., -seen:].transpose(1, 2)[real])
            for kept in (weights, wanted_weights):
                assert kept[..., :-seen].transpose(1, 2)[real].eq(0).all()


@on_each_device
@each_family
def test_a_layer_gives_what_the_librarys_gives(family, device):
    agree(family, [T], device)


@on_each_device
@each_family
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing_about_that_wherever_it_stands(family, side, device):
    agree(family, [T], device, side)


@on_each_device
@each_family
@pytest.mark.parametrize("pieces", [[6, 5], [6] + [1] * 5, [1] * T], ids=["two", "prompt and steps", "steps"])
def test_nor_does_a_cache_in_one_step_or_in_many(family, pieces, device):
    agree(family, pieces, device)


@each_family
def test_nor_do_both_together(family):
    agree(family, [6, 2, 1, 1, 1], side="left")


def by_kernels(layer, x, cache, mask):
    """What attend returns, with the output of forward, which makes no weights."""
    _, weights, _ = layer.attend(x, cache, mask)
    output, cache = layer(x, cache, mask)
    return output, weights, cache


@on_each_device
@each_family
@pytest.mark.parametrize("pieces, side", [([T], None), ([T], "left"), ([T], "right"), ([6, 2, 1, 1, 1], "left")])
def test_pytorchs_kernels_give_that_too_where_no_weights_are_asked_for(family, pieces, side, device):
    agree(family, pieces, device, side, attend=by_kernels)


@pytest.mark.parametrize("pieces", [[T], [6, 2, 1, 1, 1]])
def test_latent_attention_absorbed_is_the_same(pieces):
    agree("DeepSeek-V3", pieces, attend=lambda layer, *given: layer.attend(*given, absorbed=True))


@on_each_device
@each_family
@torch.no_grad()
def test_half_precision_loses_no_more_than_the_librarys(family, device):
    made = copy.deepcopy(families.model(family)).to(device, torch.bfloat16)
    _, heard = families.heard(made, numbers(device))
    for number, (x, theirs, weights) in enumerate(heard):
        layer = families.ours(made, number)
        mask = weights.eq(0).all(dim=1) if family == "DeepSeek-V3.2" else None  # what its indexer has not picked
        output, _ = layer(x, mask=mask)
        exact, _ = layer.double()(x.double(), mask=mask)
        assert output.dtype == theirs.dtype == torch.bfloat16
        lost, lost_there = ((each - exact).abs().mean() for each in (output, theirs))
        assert 0 < lost < 1.2 * lost_there < 0.01 * exact.abs().mean()


# --- configurations that nobody chose ---------------------------------------------------------------------------------


def agree_as_drawn(family, seed):
    """A model, lengths, padding and pieces, all drawn from a seed: our layers give what the library's give."""
    print(f"{family}, drawn from {seed!r}")
    chance = random.Random(f"{family} and its text {seed}")
    made = families.made(families.drawn(family, seed), seed=chance.randrange(1000))
    batch, length = chance.randint(2, 4), chance.randint(12, 40)  # windows are 8 at most
    text = torch.tensor([[chance.randrange(50) for _ in range(length)] for _ in range(batch)])
    side = chance.choice([None, "left", "right"])
    first = length if side == "right" else chance.randint(1, length)
    pieces = [first]
    while sum(pieces) < length:
        pieces.append(chance.choice([1, 1, chance.randint(1, length - sum(pieces))]))
    real = (
        torch.arange(length) < torch.tensor([length, *(chance.randint(1, length) for _ in range(batch - 1))])[:, None]
    )
    attention_mask = None if side is None else (real if side == "right" else real.flip(1)).long()
    print(f"{made.config}\n{batch} texts of {length} tokens in {pieces}, padding {side}")
    compare(made, text, pieces, attention_mask, by_kernels)


@pytest.mark.parametrize("draw", range(3))
@pytest.mark.parametrize("family", families.DRAWN)
def test_a_configuration_drawn_once_and_for_all_gives_the_same(family, draw):
    agree_as_drawn(family, draw)


@pytest.mark.every_setting("fresh configurations")
@pytest.mark.parametrize("draw", range(3))
@pytest.mark.parametrize("family", families.DRAWN)
def test_a_configuration_drawn_anew_gives_the_same(family, draw, request):
    agree_as_drawn(family, f"{request.config.option.seed} {draw}")


@torch.no_grad()
def test_with_a_window_of_1_the_library_step_by_step_is_not_what_it_is_at_once():  # so no such window is drawn
    config = transformers.MistralConfig(**families.SIZES, sliding_window=1)
    made = families.made(config, seed=0)
    (whole,), steps = run(made, numbers(), [T]), run(made, numbers(), [1] * T)
    together = torch.cat([heard[0][1] for heard in steps], dim=1)
    assert (together - whole[0][1]).abs().max() > 1
    layer, x = families.ours(made, 0), whole[0][0]
    close(layer(x)[0], whole[0][1])
    outputs, cache = [], None
    for token in x.split(1, dim=1):
        output, cache = layer(token, cache)
        outputs.append(output)
    close(torch.cat(outputs, dim=1), whole[0][1])


@pytest.mark.parametrize(
    "config, sentence",
    [
        (transformers.Olmo2Config(**families.SIZES), "norms before heads are split .OLMo-2, OLMo-3"),
        (transformers.CohereConfig(**families.NO_HEAD_DIM, use_qk_norm=True), "LayerNorm .Cohere, StableLM, Phi"),
        (transformers.PhiConfig(**families.NO_HEAD_DIM, qk_layernorm=True), "LayerNorm .Cohere, StableLM, Phi"),
    ],
    ids=["OLMo-2", "Cohere with norms", "Phi with norms"],
)
def test_families_with_other_norms_are_refused_by_name(config, sentence):
    with pytest.raises(ValueError, match=sentence):
        families.ours(families.made(config, 0), 0)


def test_gpt_2_in_training_drops_what_the_library_drops():
    config = transformers.GPT2Config(
        vocab_size=50, n_embd=24, n_layer=2, n_head=6, n_positions=64, attn_pdrop=0.3, resid_pdrop=0.0, embd_pdrop=0.0
    )
    made = families.made(config, 0).train()
    layer = families.ours(made, 0).train()
    x = torch.randn(B, T, 24, dtype=torch.float64)
    outputs = []
    for attention in (families.attention_modules(made)[0], layer.attend):
        torch.manual_seed(1)
        mask = (
            {} if attention == layer.attend else {"attention_mask": torch.full((T, T), -torch.inf).triu(1)[None, None]}
        )
        outputs.append(attention(x, **mask)[0])
    close(*outputs)
    assert (outputs[0] - layer.eval()(x)[0]).abs().max() > 0.01


# --- the worked exercises of chapter 9, put together as a learner would -----------------------------------------------


@functools.cache
def worked(id):
    """The worked answer to an exercise."""
    return solutions.answer_from_code(EXERCISES[id], solutions.worked_answer(id)[0])


def assembled(layer, x, cache, mask):
    """(output, weights, cache) of attention made of the worked exercises, with the parameters of our layer."""
    split, size = worked("5.2"), layer.head_dim
    queries, keys, values = (
        split(linear(x), linear.out_features // size) for linear in (layer.W_query, layer.W_key, layer.W_value)
    )
    if isinstance(layer.query_norm, torch.nn.RMSNorm):
        queries, keys = (
            worked("9.4")(vectors, norm.weight, norm.eps)
            for vectors, norm in [(queries, layer.query_norm), (keys, layer.key_norm)]
        )
    frequencies = torch.zeros(size // 2) if layer.rotary is None else layer.rotary.frequencies  # 0: nothing turns
    queries, keys, values = worked("9.5")(queries, keys, values, cache, frequencies)
    T, S = queries.shape[2], keys.shape[2]
    hidden = torch.ones(T, S).triu(1 + S - T).bool()
    if mask is not None:
        hidden = hidden | mask.unsqueeze(1)
        hidden = hidden & ~hidden.all(dim=-1, keepdim=True)  # rows of padding see all, and nobody reads them
    context, weights = worked("9.3")(queries, keys, values, hidden)
    return layer.out_proj(worked("5.3")(context)), weights, [keys, values]


@pytest.mark.parametrize("family", ["GPT-2", "Llama", "Qwen3"])
@pytest.mark.parametrize(
    "pieces, side",
    [([T], None), ([T], "left"), ([T], "right"), ([6, 5], None), ([6, 2, 1, 1, 1], "left"), ([1] * T, None)],
)
def test_the_worked_exercises_together_give_what_the_librarys_layers_give(family, pieces, side):
    agree(family, pieces, side=side, attend=assembled)


def test_frequencies_of_zero_turn_what_rotary_dim_turns():
    """The pairs of a whole head lie half a head apart, those of the turned part half of that part."""
    torch.manual_seed(3)
    frequencies = worked("9.2")(8, 4, 500.0)
    part = Attention(24, 6, head_dim=8, frequencies=frequencies[:2], rotary_dim=4).double()
    whole = Attention(24, 6, head_dim=8, frequencies=frequencies).double()
    order = torch.tensor([0, 1, 4, 5, 2, 3, 6, 7])
    weights = part.state_dict()
    for name in ("W_query.weight", "W_key.weight"):
        weights[name] = weights[name].unflatten(0, (6, 8))[:, order].flatten(0, 1)
    whole.load_state_dict(weights)
    x = torch.randn(2, 5, 24, dtype=torch.float64)
    close(whole(x)[0], part(x)[0])
    assert (Attention(24, 6, head_dim=8).double()(x)[0] - part(x)[0]).abs().max() > 1e-3


# --- the sizes that chapter 9 counts ----------------------------------------------------------------------------------


def test_the_library_counts_what_the_chapter_counts():
    shared = {"tie_word_embeddings": True}
    llama = transformers.LlamaConfig(
        hidden_size=2048, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8, head_dim=64,
        intermediate_size=8192, vocab_size=128_256, **shared,
    )  # fmt: skip
    qwen = transformers.Qwen3Config(
        hidden_size=1024, num_hidden_layers=28, num_attention_heads=16, num_key_value_heads=8, head_dim=128,
        intermediate_size=3072, vocab_size=151_936, **shared,
    )  # fmt: skip
    printed = stored.printed(stored.cell(stored.of_chapter(9), "count-model"))
    for config in (llama, qwen):
        with torch.device("meta"):  # sizes only
            made = transformers.AutoModelForCausalLM.from_config(config)
        assert f"{made.num_parameters():,}" in printed


# --- the numbers that chapters compare with ---------------------------------------------------------------------------


@each_family
def test_what_is_stored_of_a_family_is_what_the_library_computes(family):
    kept, computed = load(family), families.stored(family)
    assert kept.arguments.keys() == computed["arguments"].keys()
    for name, value in computed["arguments"].items():
        close(torch.as_tensor(kept.arguments[name]), torch.as_tensor(value))
    assert kept.parameters.keys() == computed["parameters"].keys()
    for name, parameter in computed["parameters"].items():
        close(kept.parameters[name], parameter)
    for name in ("x", "output", "weights"):
        close(getattr(kept, name), computed[name])


def test_it_is_small_and_another_family_is_refused():
    assert NUMBERS.stat().st_size < 1_000_000
    with pytest.raises(ValueError, match="no numbers for 'llama'"):
        load("llama")


# --- what the comparison would miss if the tiny models were too tame --------------------------------------------------


@pytest.mark.parametrize(
    "family, change",
    [
        ("Llama", {"frequencies": None}),
        ("Mistral", {"window": None}),
        ("Mistral", {"window": 5}),
        ("Qwen3", {"norm_eps": None}),
        ("Gemma 3", {"scale": None}),
        ("gpt-oss", {"sinks": False}),
        ("gpt-oss", {"window": None}),
        ("gpt-oss", {"scale": None}),
        ("Phi", {"frequencies": torch.tensor([1.0, 0.0]), "rotary_dim": 4}),
        ("Qwen3-Next", {"gate": False}),
        ("Gemma 2", {"softcap": None}),
        ("Cohere", {"interleaved": False}),
        ("Qwen2", {"out_bias": None}),
    ],
)
@torch.no_grad()
def test_without_any_one_of_its_arguments_a_family_is_another(family, change):
    made = families.model(family) if family in families.FAMILIES else families.made(families.drawn(family, 0), 0)
    (heard,) = run(made, numbers(), [T])
    arguments, weights = families.parts(made.config, families.attention_modules(made)[0], made)
    assert change.keys() <= arguments.keys()
    other = Attention(**arguments | change).double()
    other.load_state_dict(weights, strict=False)
    x, wanted, _ = heard[0]
    assert (other(x)[0] - wanted).abs().max() > 1e-2


# --- what the layers promise by themselves ----------------------------------------------------------------------------


@pytest.fixture
def layer():
    """A layer with everything that a layer can have."""
    torch.manual_seed(1)
    frequencies = torch.tensor([1.0, 0.1, 0.01], dtype=torch.float64)
    return Attention(10, 4, 2, 6, frequencies, bias=True, norm_eps=1e-6, window=5, sinks=True).double()


@pytest.fixture
def x():
    """Two sequences of seven tokens."""
    return torch.randn(2, 7, 10, dtype=torch.float64, generator=torch.Generator().manual_seed(2))


def test_a_single_sequence_is_a_batch_of_one(layer, x):
    output, (keys, values, _) = layer(x[0])
    close(output, layer(x)[0][0])
    assert keys.shape == values.shape == (2, 4, 6)  # the window leaves 4 for the next token


def test_a_sequence_padded_on_the_left_comes_out_as_alone(layer, x):
    padded = torch.cat([torch.full((2, 3, 10), 9.0, dtype=torch.float64), x], dim=1)  # (2, 10, 10)
    mask = (torch.arange(10) < 3).expand(2, 1, 10)
    close(layer(padded, mask=mask)[0][:, 3:], layer(x)[0])


def test_a_row_without_a_visible_key_gives_the_bias_alone_and_gradients_without_nan(x):
    layer = Attention(10, 5, num_kv_heads=1, bias=True).double()
    mask = (torch.arange(7) < 3).expand(2, 1, 7)
    by_weights, weights, _ = layer.attend(x.requires_grad_(), mask=mask)
    assert weights[:, :, :3].eq(0).all() and weights[:, :, 3:].sum(-1).allclose(torch.ones(1).double())
    output, _ = layer(x, mask=mask)
    close(output, by_weights)
    assert output[:, :3].eq(layer.out_proj.bias).all()
    for each in (output, by_weights):
        assert torch.autograd.grad(each.sum(), x)[0].isfinite().all()


@pytest.mark.parametrize("more", [{}, {"num_kv_heads": 1}, {"frequencies": torch.ones(8)}, {"sinks": True}])
def test_a_layer_keeps_memory_for_tokens_and_not_for_pairs_of_them(more):
    short, long = torch.rand(1, 256, 64), torch.rand(1, 512, 64)
    layer = Attention(64, 4, **more)
    assert kept_bytes(layer, long) < 2.1 * kept_bytes(layer, short)


@needs_cuda  # a CPU has one fast kernel, which is tested above
@pytest.mark.parametrize("backend", ["FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH"])
def test_each_kernel_of_a_graphics_card_gives_what_attend_gives(backend):
    torch.manual_seed(1)
    layer, x = Attention(64, 4).to("cuda", torch.bfloat16), torch.rand(2, 32, 64).to("cuda", torch.bfloat16)
    with sdpa_kernel(getattr(SDPBackend, backend)):
        output, _ = layer(x)
    exact = copy.deepcopy(layer).double().attend(x.double())[0]
    assert (output - exact).abs().mean() < 0.01 * exact.abs().mean()


def test_rounding_a_layer_leaves_its_frequencies_exact(layer):
    exact = layer.rotary.frequencies.clone()
    assert layer.to(torch.bfloat16).rotary.frequencies.equal(exact)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("sinks", [True, False])
def test_a_layer_works_under_autocast(layer, x, dtype, sinks):
    layer = layer.float()
    if not sinks:
        layer.sinks = None
    with torch.autocast("cpu", dtype):
        output, _ = layer(torch.nn.Linear(10, 10)(x.float()))
    assert output.dtype == dtype and output.isfinite().all()


def test_what_cannot_be_is_refused_in_words():
    for number in (4, -1):
        with pytest.raises(ValueError, match="num_heads must be divisible by num_kv_heads"):
            Attention(12, 6, num_kv_heads=number)
    with pytest.raises(ValueError, match="d_model must be divisible by num_heads"):
        Attention(10, 4)
    with pytest.raises(ValueError, match="d_model=8"):
        Attention(8, 4)(torch.zeros(1, 3, 9))


def test_the_cache_of_latent_attention_has_no_heads():
    made = families.model("DeepSeek-V3")
    layer = families.ours(made, 0)
    assert isinstance(layer, LatentAttention)
    _, (latents, rotary_keys) = layer(torch.zeros(2, 5, 24).double())
    assert latents.shape == (2, 5, 8) and rotary_keys.shape == (2, 5, 4)
