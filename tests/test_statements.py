"""Statements of chapters 6 to 10 and the notes on which a number decides, and that no cell of theirs shows."""

import importlib
import inspect
import math
import re
from functools import partial

import pytest
import torch
import torch.nn.functional as F
import transformers
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from course_utils.attention import Attention, MultiHeadAttention, rescaled, rotary_frequencies, rotate
from course_utils.exercises import QUESTIONS
from course_utils.families import load
from tests.support import families, stored
from tests.test_attention import kept_bytes

PARTS = {"PhiConfig": 0.5, "GPTNeoXConfig": 0.25, "Qwen3NextConfig": 0.25}


def words(chapter):
    """The words of a stored chapter, in one line."""
    return " ".join(stored.prose(stored.read(stored.of_chapter(chapter))).split())


# --- chapter 6 --------------------------------------------------------------------------------------------------------


def kept_mib(layer, x):
    return round((kept_bytes(layer, x) - layer.mask.nbytes) / 2**20, 1)  # as the chapter counts: without the mask


def test_16_bits_halve_what_the_split_class_keeps_and_autocast_keeps_more_where_softmax_has_32(monkeypatch):
    split, x = MultiHeadAttention(256, 256, 2048, dropout=0.0, num_heads=4), torch.rand(1, 2048, 256)
    assert kept_mib(split, x) == 74.0
    with torch.autocast("cpu", torch.bfloat16):
        assert kept_mib(split, x) == 39.1
        softmax = torch.softmax
        monkeypatch.setattr(torch, "softmax", lambda scores, dim: softmax(scores.float(), dim))  # as CUDA's autocast
        assert kept_mib(split, x) == 103.1
    monkeypatch.undo()
    assert kept_mib(split.bfloat16(), x.bfloat16()) == 37.0


def causal(x, error=None, T=5, heads=2):
    """Causal attention over x (T, 8) with an error of the notes' clinic."""
    keys = x.view(heads, T, 4) if error == 20 else x.view(T, heads, 4).transpose(0, 1)
    queries, future = keys + 1, torch.ones(T, T).triu(1).bool()
    scores = keys @ queries.transpose(-2, -1) if error == 24 else queries @ keys.transpose(-2, -1)
    seen = scores if error == 23 else scores.masked_fill(future, -torch.inf)
    context = (torch.softmax(seen, dim=-1) * ~future) @ keys
    return context.reshape(T, 8) if error == 21 else context.transpose(0, 1).reshape(T, 8)


def test_the_errors_that_show_in_what_an_output_depends_on_are_those_that_the_table_names():
    found = []
    for error in [None, 20, 21, 23, 24]:
        derivatives = torch.autograd.functional.jacobian(partial(causal, error=error), torch.randn(5, 8).double())
        if not derivatives.ne(0).any(dim=3).any(dim=1).equal(torch.ones(5, 5).tril().bool()):
            found.append(str(error))
    assert f"and no others? | {', '.join(found)} |" in words(6)


# --- chapter 9 --------------------------------------------------------------------------------------------------------


def test_shared_keys_take_as_many_multiplications():
    query, flops = torch.randn(1, 32, 1, 64), set()
    for num_kv_heads in [32, 8, 1]:
        keys, values = torch.randn(2, 1, num_kv_heads, 100, 64)
        rows = query.view(1, num_kv_heads, -1, 64)  # query heads that share are rows of one product
        with FlopCounterMode(display=False) as counter:
            torch.softmax(rows @ keys.transpose(-2, -1), dim=-1) @ values
        flops.add(counter.get_total_flops())
    assert len(flops) == 1


def off_by(family, change):
    """How far our layer is off the library's after a change to its arguments."""
    theirs = load(family)
    layer = Attention(**change(theirs.arguments)).double()
    layer.load_state_dict(theirs.parameters)
    return (layer(theirs.x)[0] - theirs.output).abs().max().item()


def test_yarn_scales_queries_and_keys_and_a_layer_without_that_is_far_off():
    factor = families.configurations()["gpt-oss"].rope_parameters["factor"]
    scale = load("gpt-oss").arguments["scale"] * load("gpt-oss").arguments["head_dim"] ** 0.5
    assert factor == 32 and scale == pytest.approx((0.1 * math.log(factor) + 1) ** 2)
    assert round(scale, 2) == 1.81
    assert off_by("gpt-oss", lambda arguments: arguments) < 1e-5
    assert off_by("gpt-oss", lambda arguments: {**arguments, "scale": None}) > 0.1


def test_llama_3_1_slows_pairs_with_fewer_than_4_turns_and_yarn_those_with_fewer_than_32():
    yarn = transformers.GptOssConfig()
    parameters = yarn.rope_parameters
    before = [rotary_frequencies(64, 500_000.0), rotary_frequencies(yarn.head_dim, parameters["rope_theta"])]
    after = [rescaled(before[0], factor=32, length=8192), ROPE_INIT_FUNCTIONS["yarn"](yarn, None)[0]]
    lengths = [8192, parameters["original_max_position_embeddings"]]
    for border, old, new, length in zip([4, 32], before, after, lengths):
        assert (old / new > 1.001).equal(length * old / (2 * math.pi) < border)
    assert "fewer than four turns" in words(9) and "fewer than 32 turns" in words(9)


@pytest.mark.parametrize("name, neighbours", [("cohere", True), ("glm4", True), ("glm4_moe", False), ("qwen3", False)])
def test_some_models_of_the_library_turn_neighbours(name, neighbours):
    turned = importlib.import_module(f"transformers.models.{name}.modeling_{name}").rotate_half(torch.arange(8.0))
    assert turned.tolist() == ([-1, 0, -3, 2, -5, 4, -7, 6] if neighbours else [-4, -5, -6, -7, 0, 1, 2, 3])


def test_norm_and_turn_may_be_exchanged_only_where_both_numbers_of_a_pair_have_one_scale():
    x, positions = torch.randn(5, 8, generator=torch.Generator().manual_seed(0)), torch.arange(5)
    norm, turn = nn.RMSNorm(8), lambda each: rotate(each, positions, rotary_frequencies(8))
    for scale, alike in [(torch.tensor([1.0, 2, 3, 4, 1, 2, 3, 4]), True), (torch.arange(1.0, 9), False)]:
        norm.weight.data = scale
        assert torch.allclose(norm(turn(x)), turn(norm(x)), atol=1e-5) == alike


def test_around_position_100000_the_librarys_angles_of_32_bits_move_scores_by_several_thousandths():
    llama = transformers.models.llama.modeling_llama
    rotary = llama.LlamaRotaryEmbedding(transformers.LlamaConfig(head_dim=128, hidden_size=128, num_attention_heads=1))
    queries, keys = torch.randn(2, 1, 1, 500, 128, generator=torch.Generator().manual_seed(0))
    for start, least, most in [(0, 0, 2e-4), (100_000, 2e-3, 2e-2)]:
        positions = torch.arange(start, start + 500)
        theirs = llama.apply_rotary_pos_emb(queries, keys, *rotary(queries, positions[None]))
        ours = [rotate(each, positions, rotary_frequencies(128)) for each in (queries, keys)]
        scores = [q @ k.transpose(-2, -1) / 128**0.5 for q, k in (theirs, ours)]
        assert least <= (scores[0] - scores[1]).abs().max() < most


@pytest.mark.parametrize("name", ["SmolLM3Config", "Llama4TextConfig"])
def test_smollm3_and_llama_4_turn_nothing_in_every_fourth_layer(name):
    turned = getattr(transformers, name)(num_hidden_layers=8).no_rope_layers  # 1 where a layer turns
    assert turned == [1, 1, 1, 0, 1, 1, 1, 0]


def test_families_turn_what_the_chapter_says():
    part = {name: getattr(transformers, name)().rope_parameters["partial_rotary_factor"] for name in PARTS}
    assert part == PARTS


def test_qwen3_next_has_a_gate_in_every_fourth_layer_and_qwen3_5_too():
    for config in (transformers.Qwen3NextConfig(), transformers.Qwen3_5TextConfig()):
        assert config.layer_types[:4] == ["linear_attention"] * 3 + ["full_attention"]
    for family in ("qwen3_next.modeling_qwen3_next", "qwen3_5.modeling_qwen3_5"):
        library = importlib.import_module(f"transformers.models.{family}")
        assert "attn_output * torch.sigmoid(gate)" in inspect.getsource(library)


# --- chapter 10 and the notes -----------------------------------------------------------------------------------------


def test_opt_has_positions_for_2048_tokens():
    assert transformers.OPTConfig().max_position_embeddings == 2048


def test_a_book_in_opt_13b_all_but_fills_a_card_of_80_gb():
    printed = stored.printed(stored.cell(stored.of_chapter(10), "cache-bytes"))
    book = float(re.search(r"OPT-13B .* a book (\S+) GB", printed)[1]) * 1e9
    assert "almost fill a graphics card of 80 GB" in words(10)
    assert 0.9 < book / (79.15 * 2**30) < 1  # what PyTorch reports of an A100 of 80 GB


def reach(gaps):
    """How many tokens back the last token sees through layers whose 3 keys lie so far apart."""
    seen = {0}
    for gap in gaps:
        seen = {back + gap * key for back in seen for key in range(3)}
    return max(seen)


def test_windows_multiply_only_where_the_gaps_between_keys_do():
    explanation = QUESTIONS["Q10.2"].explanations["c"]
    assert "multiply only if the gaps between keys also multiplied" in explanation
    assert reach([1] * 4) == 4 * reach([1]) and reach([2] * 4) == 4 * reach([2])
    assert reach([1, 3, 9, 27]) + 1 == (reach([1]) + 1) ** 4


def test_a_state_of_64_by_64_finds_hardly_any_of_100000_names():
    keys, values = F.normalize(torch.randn(2, 100_000, 64, generator=torch.Generator().manual_seed(0)), dim=-1)
    answers = keys[:200] @ (keys.T @ values)
    assert ((answers @ values.T).argmax(dim=-1) == torch.arange(200)).float().mean() < 0.01
    assert "A delta-rule model with a 64 x 64 state reads a book" in words(10)


def test_the_gated_delta_rule_of_the_notes_is_the_librarys():
    from_notes = {"torch": torch}
    exec(stored.cell(stored.of_chapter(99), "gated-delta").source.split("\n\n\n")[0], from_notes)
    numbers = torch.Generator().manual_seed(0)
    keys, values = F.normalize(torch.randn(2, 20, 8, generator=numbers), dim=-1)
    stays, writes = torch.rand(2, 20, generator=numbers)
    library = importlib.import_module("transformers.models.qwen3_next.modeling_qwen3_next")
    _, state = library.torch_recurrent_gated_delta_rule(
        *(each[None, :, None] for each in (keys, keys, values, stays.log(), writes)), output_final_state=True
    )
    ours = from_notes["gated_delta"](keys, values, stays, writes)
    assert torch.allclose(ours, state[0, 0].T, rtol=0, atol=1e-6)


def test_gemma_3n_shares_the_keys_of_15_of_its_35_layers():
    config = transformers.Gemma3nTextConfig()
    sizes = config.num_hidden_layers, config.num_kv_shared_layers, config.num_key_value_heads, config.head_dim
    assert sizes == (35, 15, 2, 256)
    assert transformers.Gemma2Config().attn_logit_softcapping == 50


def test_attn_mask_of_pytorchs_class_may_differ_from_head_to_head():
    built_in, x = nn.MultiheadAttention(12, 3, batch_first=True), torch.randn(2, 5, 12)
    mask = torch.zeros(2, 3, 5, 5, dtype=torch.bool)
    mask[1, 2, :, 4] = True  # the last key, hidden in one head of one sequence
    _, weights = built_in(x, x, x, attn_mask=mask.flatten(0, 1), average_attn_weights=False)
    assert (weights == 0).equal(mask)
