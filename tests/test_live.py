"""The live figures: the numbers they show are torch's, what they say in words, and what they refuse."""

import html
import re

import pytest
import torch

from course_utils import live, stills
from course_utils.attention import SelfAttention_v2
from course_utils.live import attention, base, colours, dropping, masking, padding, query_steps, scaling, shape_walk
from course_utils.live.png import to_png
from course_utils.randomness import keep_mask_a, keep_mask_b
from tests.support import examples
from tests.support.examples import TOKENS
from tests.test_pictures import contrast

FUTURE = torch.ones(4, 4).triu(diagonal=1).bool()


@pytest.fixture
def x():
    """Four tokens with four numbers each."""
    return examples.inputs()


@pytest.fixture
def weights(x):
    """Three heads of weights over four tokens, the same each."""
    return torch.softmax(x @ x.T, dim=-1).repeat(3, 1, 1)


def hovers(figure):
    """What appears on pointing at the figure's parts."""
    return [html.unescape(text) for text in re.findall("<title>(.*?)</title>", figure.picture.value)]


@pytest.mark.parametrize("name", live.__all__)
def test_every_figure_shows_the_numbers_that_torch_computes(name):
    figure = examples.figure(name)
    assert examples.of_figures()[name][1] in hovers(figure)


def test_pointing_at_a_cell_says_query_key_score_and_weight(x, weights):
    figure = attention.attention_figure(weights, TOKENS, scores=(x @ x.T).repeat(3, 1, 1))
    wanted = f'query "cat", key "dog": score {(x[1] @ x[3]).item():.4f}, weight {weights[0, 1, 3].item():.4f}'
    assert hovers(figure).count(wanted) == 3, "once per head"
    figure.controls["head"].value = 1
    assert hovers(figure).count(wanted) == 1


def test_a_step_shows_scores_then_weights_then_the_context_vector(x):
    figure = query_steps.query_steps_figure(x, TOKENS)
    figure.controls["query"].value = 3
    scores = x @ x[3]
    weights = torch.softmax(scores, dim=0)
    shown = []
    for step in query_steps.STEPS:
        figure.controls["step"].value = step
        shown.append(figure.picture.value)
    assert f"score {scores[1]:.4f}, weight {weights[1]:.4f}" not in shown[0]
    assert f"score {scores[1]:.4f}, weight {weights[1]:.4f}" in shown[1]
    assert "context vector, number 1" not in shown[1]
    assert f"context vector, number 1: {(weights @ x)[0]:.4f}" in shown[2]


def test_everything_follows_a_changed_embedding_and_going_back_restores_it(x):
    figure = query_steps.query_steps_figure(x, TOKENS)
    before = figure.picture.value
    figure.controls["number_2"].value = 1.5
    changed = x.clone()
    changed[1, 1] = 1.5
    context = torch.softmax(changed @ changed[1], dim=0) @ changed
    assert f"context vector, number 1: {context[0]:.4f}" in figure.picture.value
    figure.controls["edited"].value = 3
    figure.controls["edited"].value = 1
    assert figure.picture.value == before


@pytest.mark.parametrize("d_k, scaled, temperature", [(4, True, 1.0), (2, True, 1.0), (3, False, 1.0), (4, True, 0.5)])
def test_scaling_and_temperature_divide_the_scores_of_the_first_d_k_numbers(d_k, scaled, temperature, x):
    figure = scaling.scaling_figure(x[0], x, TOKENS)
    figure.controls["d_k"].value, figure.controls["scaled"].value = d_k, scaled
    figure.controls["temperature"].value = temperature
    scores = x[:, :d_k].double() @ x[0, :d_k].double()
    divided = scores / (d_k**0.5 if scaled else 1) / temperature
    wanted = (
        f'key "cat": score {scores[1]:.4f}, divided {divided[1]:.4f}, weight {torch.softmax(divided, dim=0)[1]:.4f}'
    )
    assert wanted in hovers(figure)
    assert sum(text.startswith("number ") for text in hovers(figure)) == d_k, "one product each"


def test_a_slider_that_misses_its_step_by_rounding_is_taken_as_meant(x):
    figure = scaling.scaling_figure(x[0], x, TOKENS)
    before = figure.picture.value
    figure.controls["temperature"].value = 1.0000000000000002
    assert figure.picture.value == before


@pytest.mark.parametrize(
    "mask, when, renormalised, leaks, whole",
    [
        (True, masking.BEFORE, False, False, True),
        (True, masking.BEFORE, True, False, True),
        (True, masking.AFTER, False, True, False),
        (True, masking.AFTER, True, False, True),
        (False, masking.BEFORE, False, True, True),
        (False, masking.AFTER, True, True, True),
    ],
)
def test_what_a_mask_lets_through(mask, when, renormalised, leaks, whole, x):
    torch.manual_seed(1)
    figure = masking.masking_figure(SelfAttention_v2(4, 2), x, TOKENS)
    for name, value in {"mask": mask, "when": when, "renormalised": renormalised}.items():
        figure.controls[name].value = value
    assert ("depend on later tokens" in figure.drawing().say) == leaks
    assert ("Every row sums to 1" in figure.drawing().say) == whole
    assert ('output of "the (1)" depends on input "dog"' in " ".join(hovers(figure))) == leaks


@pytest.mark.parametrize("mask", [padding.NONE, padding.BILLION, padding.INFINITY, padding.SAFE])
def test_padding_weighs_nothing_once_hidden_and_the_ways_differ_only_without_words(mask, x):
    figure = padding.padding_figure(x[:2] @ x.T, TOKENS[:2], TOKENS)
    figure.controls["mask"].value = mask
    figure.controls["length"].value = 3
    alone = torch.softmax(x[:2] @ x[:3].T, dim=-1)  # (2, 3), as if there had been no padding
    if mask == padding.NONE:
        alone = torch.softmax(x[:2] @ torch.cat([x[:3], torch.zeros(1, 4)]).T, dim=-1)[:, :3]  # a vector of zeros
    said = f'query "cat", key "the (1)": weight {alone[1, 0].item():.4f}'
    assert said in hovers(figure)
    figure.controls["length"].value = 0
    shown, times = {
        padding.NONE: ("0.25", 8),
        padding.BILLION: ("0.25", 8),
        padding.INFINITY: ("nan", 10),
        padding.SAFE: ("0.00", 2),
    }[mask]  # in cells and row sums; hidden cells hold no number
    assert figure.picture.value.count(f">{shown}<") == times


def test_queries_and_keys_may_be_two_sequences(x):
    weights = torch.softmax(x[:2] @ x.T, dim=-1)  # (2, 4)
    figure = attention.attention_figure(weights, ["a", "b"], key_tokens=TOKENS)
    assert f'query "b", key "dog": weight {weights[1, 3].item():.4f}' in hovers(figure)
    figure.controls["query"].value = 1
    favourite = ["the (1)", "cat", "the (3)", "dog"][int(weights[1].argmax())]
    assert f'attends most to "{favourite}" ({weights[1].max():.2f})' in figure.drawing().say


def test_dropout_keeps_what_its_sampler_keeps_and_eval_changes_nothing(weights):
    figure = dropping.dropout_figure(weights[0], TOKENS, FUTURE)
    figure.controls["rate"].value = 0.25
    for sampler, keep in {"mask A": keep_mask_a, "mask B": keep_mask_b}.items():
        figure.controls["sampler"].value = sampler
        for seed in (1, 2):
            figure.controls["seed"].value = seed
            kept = keep((4, 4), 0.25, seed) & ~FUTURE
            assert figure.drawing().say.startswith(f"{int(kept.sum())} of 10 weights are kept.")
            assert sum("kept: times 1.33" in text for text in hovers(figure)) == int(kept.sum())
    figure.controls["mode"].value = dropping.EVAL
    assert figure.drawing().say.startswith("10 of 10 weights are kept.")
    assert f"kept: times 1.00 = {weights[0, 3, 1]:.4f}" in figure.picture.value


def test_the_walk_ends_where_torch_ends_and_the_mistake_reaches_earlier_tokens(x):
    heads = x.double().view(4, 2, 2).transpose(0, 1)  # (num_heads, T, head_dim)
    context = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
    merged = context.transpose(0, 1).reshape(4, 4)
    assert torch.allclose(
        torch.from_numpy(shape_walk.walk(x.double().numpy(), 2, transposed=True)[-1].values[0]), merged
    )
    wrong = x.double().view(2, 4, 2)
    context = torch.nn.functional.scaled_dot_product_attention(wrong, wrong, wrong, is_causal=True)
    merged = context.transpose(0, 1).reshape(4, 4)
    assert torch.allclose(
        torch.from_numpy(shape_walk.walk(x.double().numpy(), 2, transposed=False)[-1].values[0]), merged
    )

    figure = shape_walk.shape_walk_figure(x, 2, TOKENS)
    figure.controls["step"].value = len(shape_walk.STEPS) - 1
    assert "Without transpose it reaches the (1)" in figure.drawing().say


def test_one_head_alone_shows_its_numbers_only(x):
    figure = shape_walk.shape_walk_figure(x, 2, TOKENS)
    figure.controls["head"].value = 1
    assert not [text for text in hovers(figure) if "head 1:" in text] and [
        text for text in hovers(figure) if "head 2:" in text
    ]


@pytest.mark.parametrize("size, heads", [(1, 1), (6, 1), (6, 12), (64, 1), (64, 12)])
def test_any_number_of_heads_and_tokens_is_drawn(size, heads):
    figure = attention.attention_figure(torch.full((heads, size, size), 1 / size), [f"t{n}" for n in range(size)])
    figure.controls["query"].value = 0
    assert 'query "t0" attends most to "t0"' in html.unescape(figure.picture.value).lower()
    assert len(figure.picture.value) < 1_000_000, "a browser can take it"


def test_a_still_picture_is_the_same_bytes_again_and_the_output_holds_it_with_alt_text(monkeypatch):
    shown = []
    monkeypatch.setattr(base, "display", lambda bundle, raw, metadata: shown.append((bundle, metadata)))
    for figure in examples.every_figure():
        assert to_png(figure.drawing()) == to_png(figure.drawing())
        figure.show()
    for bundle, metadata in shown:
        assert set(bundle) == {stills.WIDGET_VIEW, "image/png", "text/plain"}
        assert metadata["image/png"]["alt"] in bundle["text/plain"]
        assert len(metadata["image/png"]["alt"].split()) >= 10


def test_what_is_stored_of_a_live_figure_is_the_still_picture():
    output = {"data": {stills.WIDGET_VIEW: {"model_id": "1"}, "image/png": "x", "text/plain": "y"}}
    alone = {"data": {stills.WIDGET_VIEW: {"model_id": "2"}, "text/plain": "IntSlider(...)"}}
    content = {"metadata": {"widgets": {}}, "cells": [{"outputs": [output, alone]}, {"source": "words"}]}
    stills.before_saving({"type": "notebook", "content": content}, path="x", contents_manager=None)
    assert set(output["data"]) == {"image/png", "text/plain"} and "widgets" not in content["metadata"]
    assert stills.WIDGET_VIEW in alone["data"], "another widget of the learner's is left alone"


def test_figures_take_their_ink_and_page_from_one_theme():
    for figure in examples.every_figure():
        assert (
            "background:var(--jp-layout-color0, #fff);color:var(--jp-content-font-color0, #111)" in figure.picture.value
        )
        assert "http" not in figure.picture.value and "<script" not in figure.picture.value


def test_numbers_are_readable_on_the_colours_of_heads():
    for colour in colours.HEADS:
        ink = {"#000000": 0.0, "#ffffff": 1.0}[colours.hex_ink(colour)]
        luminance = colours.pictures.luminance(colours.to_rgb(colour))
        assert contrast(ink, luminance) >= 4.5


NAN, INFINITE = torch.full((4, 4), torch.nan), torch.full((4, 4), torch.inf)


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda x, w: attention.attention_figure(w[:, :3], TOKENS), "A map of 4 tokens needs a matrix of shape"),
        (lambda x, w: attention.attention_figure(w, TOKENS[:3]), "A map of 3 tokens needs"),
        (lambda x, w: attention.attention_figure(w, "word"), "tokens must be a list"),
        (lambda x, w: attention.attention_figure(torch.zeros(0, 0), []), "tokens must be a list of one or more"),
        (
            lambda x, w: attention.attention_figure(NAN, TOKENS),
            "row 1, column 1 is nan: a row that is hidden altogether",
        ),
        (lambda x, w: attention.attention_figure(x - 9, TOKENS), "these look like scores: take torch.softmax"),
        (lambda x, w: attention.attention_figure(INFINITE, TOKENS), "softmax gives no weight of that size"),
        (lambda x, w: attention.attention_figure(w, TOKENS, scores=x), "3 maps of weights and 1 of scores"),
        (lambda x, w: attention.attention_figure(w, TOKENS, scores=NAN), "scores are numbers, or -inf where"),
        (lambda x, w: query_steps.query_steps_figure(x[None], TOKENS), "For a batch, pick one sequence first: inputs"),
        (lambda x, w: query_steps.query_steps_figure(torch.ones(4, 9), TOKENS), "room for 6 numbers per token"),
        (lambda x, w: query_steps.query_steps_figure(NAN, TOKENS), "only finite numbers can be drawn"),
        (lambda x, w: scaling.scaling_figure(x[0, :3], x, TOKENS), "query must have as many numbers as a key"),
        (lambda x, w: scaling.scaling_figure(NAN[0], x, TOKENS), "query holds nan"),
        (lambda x, w: masking.masking_figure(torch.nn.Linear(4, 2), x, TOKENS), "pass a SelfAttention_v2"),
        (
            lambda x, w: masking.masking_figure(SelfAttention_v2(3, 2), x, TOKENS),
            "Each token of x has 4 numbers, but this layer was made with d_in=3",
        ),
        (lambda x, w: dropping.dropout_figure(w, TOKENS), "room for one map"),
        (lambda x, w: padding.padding_figure(w, TOKENS, TOKENS), "room for one table of scores, not 3"),
        (lambda x, w: padding.padding_figure(x.log(), TOKENS, TOKENS), "scores are numbers, or -inf where"),
        (lambda x, w: padding.padding_figure(-INFINITE, TOKENS, TOKENS), "scores must be those before any mask"),
        (lambda x, w: padding.padding_figure(torch.ones(2, 41), "ab", TOKENS), "tokens must be a list"),
        (lambda x, w: padding.padding_figure(torch.ones(4, 41), TOKENS, ["a"] * 41), "room for 40 tokens, not 41"),
        (lambda x, w: shape_walk.shape_walk_figure(x, 3, TOKENS), "cannot be split into num_heads=3"),
        (lambda x, w: shape_walk.shape_walk_figure(torch.ones(9, 4), 2, list("abcdefghi")), "room for 8 tokens"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(make, sentence, x, weights):
    with pytest.raises(ValueError, match=re.escape(sentence)) as refused:
        make(x, weights)
    assert "\n" not in str(refused.value)


def test_gradients_half_precision_and_rows_that_do_not_sum_to_1_are_drawn(weights):
    for values in [weights.clone().requires_grad_(), weights.to(torch.bfloat16), 2 * weights * torch.eye(4)]:
        attention.attention_figure(values, TOKENS)
    assert ">2.00<" in attention.attention_figure(2 * torch.eye(4), TOKENS).picture.value, "the row's sum"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
def test_tensors_on_a_gpu_are_drawn_as_on_the_cpu():
    there = [figure.picture.value for figure in examples.every_figure("cuda")]
    assert there == [figure.picture.value for figure in examples.every_figure()]
