"""The live figures: the HTML that they are, and what they refuse. What they show, tests/test_live_figures.py sees."""

import base64
import html
import json
import re
import zlib

import numpy as np
import pytest
import torch

from course_utils import live
from course_utils.attention import SelfAttention_v2
from course_utils.live import base, dropout, maps
from course_utils.randomness import keep_mask
from tests.support import comparing, examples, stored
from tests.support.examples import TOKENS

MOST = 30_000  # letters of a stored figure beside its still
MOST_SNAPSHOTS = 80_000  # where it holds what every head of a model does, or a head at many steps of training


@pytest.fixture
def x():
    """Four tokens with four numbers each."""
    return examples.inputs()


@pytest.fixture
def weights(x):
    """Three heads of weights over four tokens, the same each."""
    return torch.softmax(x @ x.T, dim=-1).repeat(3, 1, 1)


# --- the output -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", examples.FIGURES)
def test_a_figure_is_the_same_html_again_with_its_words_and_its_numbers(name, monkeypatch):
    shown = []
    monkeypatch.setattr(base, "display", lambda bundle, raw: shown.append(bundle))
    for _ in range(2):
        examples.figure(name).show()
    assert shown[0] == shown[1]
    page, about = shown[0]["text/html"], examples.figure(name).about
    assert html.escape(about) in page and about in shown[0]["text/plain"] and "<td>" in page
    assert "http" not in page and " id=" not in page


@pytest.mark.parametrize("name", examples.FIGURES)
def test_a_figures_code_is_in_it_packed(name):
    figure = examples.figure(name)
    letters = re.search(r'atob\("([^"]*)"\)', figure.html())[1]
    assert zlib.decompress(base64.b64decode(letters)).decode() == base.code(figure.kind)


def test_names_cannot_break_out_of_the_page(x):
    page = examples.made(live.show_query_steps, x, ["</script><b>", "a&b", "c", "d"]).html()
    assert "</script><b>" not in page and "<b>" not in page
    data = re.search(r'<script type="application/json">(.*?)</script>', page)[1]
    assert json.loads(data)["names"][0] == "</script><b>"


@pytest.mark.parametrize("path", stored.PATHS, ids=stored.name)
def test_every_stored_figure_has_its_still_and_is_small_enough(path):
    notebook = stored.read(path)
    figures = list(stored.live_figures(notebook))
    exercises = [cell for cell in notebook.cells if cell.id.startswith("exercise-")]
    assert figures or not exercises, "every chapter with exercises has a live figure"
    for page, still in figures:
        assert still, "build again: the still picture is missing"
        assert len(re.search('alt="([^"]*)"', still)[1].split()) >= 6
        kind = re.search('data-figure="([^"]*)"', page)[1]
        many = kind in ("all_heads", "language_model", "preferences") or "steps of training" in page
        most = MOST_SNAPSHOTS if many else MOST
        assert len(page.replace(still, "").encode()) <= most


def test_numbers_are_handed_over_rounded_and_what_is_none_as_nothing():
    data = {"a": [0.1 + 0.2, [1, np.nan]], "b": np.array([-np.inf]), "c": np.array([True]), "d": np.float32([0.5])}
    assert base.as_json(data) == '{"a":[0.300000,[1,null]],"b":[null],"c":[1],"d":[0.500000]}'


def test_packed_weights_come_back_and_round_as_they_would_have():
    exact = np.concatenate([np.random.default_rng(0).random(20_000) ** 4, [0, 0.12496, 0.125001, 1, 1.9999, 0.00504]])
    back = comparing.unpacked(maps.packed(exact)["letters"]).split()
    for value, text in zip(exact, back, strict=True):
        assert text == f"{value:.3f}"


def test_the_draws_that_a_figure_carries_are_those_of_the_chapter(weights):
    data = examples.made(live.show_dropout, weights[0], TOKENS).data
    for place, seed in enumerate(range(data["seeds"][0], data["seeds"][1] + 1)):
        for step, rate in enumerate(dropout.RATES):
            kept = [ord(letter) - ord("a") > step for letter in data["draws"][place]]
            assert kept == keep_mask((4, 4), rate, seed).flatten().tolist()


# --- what cannot be drawn ---------------------------------------------------------------------------------------------


NAN, INFINITE = torch.full((4, 4), torch.nan), torch.full((4, 4), torch.inf)


@pytest.mark.parametrize(
    "make, sentence",
    [
        (
            lambda x, w: live.show_attention(w[:, :3], TOKENS),
            "must be a map of 4 tokens and 4 keys, or one per",
        ),
        (lambda x, w: live.show_attention(w[:0], TOKENS), "(num_heads, 4, 4); it has shape (0, 4, 4)"),
        (lambda x, w: live.show_attention(w, TOKENS[:3]), "weights must be a map of 3 tokens and 3 keys"),
        (lambda x, w: live.show_attention(w, "word"), "tokens must be a list"),
        (lambda x, w: live.show_attention(torch.zeros(0, 0), []), "tokens must be a list of one or more"),
        (
            lambda x, w: live.show_attention(NAN, TOKENS),
            "row 1, column 1 is nan: a fully masked row",
        ),
        (lambda x, w: live.show_attention(x - 9, TOKENS), "these look like scores; apply torch.softmax"),
        (lambda x, w: live.show_attention(INFINITE, TOKENS), "softmax cannot give such a large weight"),
        (lambda x, w: live.show_attention(w, TOKENS, scores=x), "3 maps of weights and 1 of scores"),
        (lambda x, w: live.show_attention(w, TOKENS, scores=NAN), "scores are numbers, or -inf where"),
        (lambda x, w: live.show_attention(w, TOKENS, losses={0: 1.0}), "weights must hold the maps of each step"),
        (
            lambda x, w: live.show_query_steps(x[None], TOKENS),
            "If it is a batch of several, pick one first: inputs[0]",
        ),
        (lambda x, w: live.show_query_steps(x, "word"), "tokens must be a list"),
        (lambda x, w: live.show_query_steps(x[:0], []), "tokens must be a list of one or more"),
        (lambda x, w: live.show_query_steps(x, TOKENS[:3]), "a row for each of the 3 tokens"),
        (lambda x, w: live.show_query_steps(x[:, :0], TOKENS), "a row for each of the 4 tokens"),
        (lambda x, w: live.show_query_steps(torch.ones(4, 9), TOKENS), "room for 6 numbers per token"),
        (lambda x, w: live.show_query_steps(NAN, TOKENS), "only finite numbers can be drawn"),
        (lambda x, w: live.show_scaling(x[0, :3], x, TOKENS), "query must have as many numbers as a key"),
        (
            lambda x, w: live.show_scaling(NAN[0], x, TOKENS),
            "entry of query in row 1, column 1 is nan: only",
        ),
        (lambda x, w: live.show_scaling(*torch.ones(2, 1, 129), ["a"]), "room for 128 numbers per token"),
        (lambda x, w: live.show_masking(torch.nn.Linear(4, 2), x, TOKENS), "pass a SelfAttention_v2"),
        (lambda x, w: live.show_masking(SelfAttention_v2(4, 2), 1e200 * x, TOKENS), "entry of scores in row 1"),
        (lambda x, w: live.show_attention(1e16 * torch.ones(50, 50), ["a"] * 50), "cannot give such a large weight"),
        (
            lambda x, w: live.show_masking(SelfAttention_v2(3, 2), x, TOKENS),
            "Each token of x has 4 numbers, but this layer was made with d_in=3",
        ),
        (
            lambda x, w: live.show_masking(SelfAttention_v2(4, 2), torch.ones(25, 4), ["a"] * 25),
            "room for 24 tokens, not 25",
        ),
        (lambda x, w: live.show_dropout(w, TOKENS), "room for 1 map, not 3: pick one head, weights[0]"),
        (lambda x, w: live.show_dropout(torch.eye(49), ["a"] * 49), "room for 48 tokens, not 49"),
        (
            lambda x, w: live.show_padding(w, TOKENS, TOKENS),
            "1 table of scores, not 3: pick one head, scores[0]",
        ),
        (lambda x, w: live.show_padding(x.log(), TOKENS, TOKENS), "is nan: pass finite, unmasked scores"),
        (lambda x, w: live.show_padding(-INFINITE, TOKENS, TOKENS), "is -inf: pass finite, unmasked scores"),
        (lambda x, w: live.show_padding(torch.ones(2, 41), "ab", TOKENS), "tokens must be a list"),
        (lambda x, w: live.show_padding(torch.ones(4, 41), TOKENS, ["a"] * 41), "room for 40 tokens, not 41"),
        (lambda x, w: live.show_shape_walk(x, 3, TOKENS), "cannot be split into num_heads=3"),
        (lambda x, w: live.show_shape_walk(torch.ones(4, 16), 16, TOKENS), "room for 8 heads, not 16"),
        (lambda x, w: live.show_shape_walk(torch.ones(9, 4), 2, list("abcdefghi")), "room for 8 tokens"),
        (lambda x, w: live.show_rotary(*torch.ones(2, 34), torch.ones(17)), "room for 16 pairs, not 17"),
        (lambda x, w: live.show_rotary(x[0], x[1, :3], x[0, :2]), "key must have two numbers for each of the 2"),
        (lambda x, w: live.show_rotary(x[0], x[1], NAN[0, :2]), "The entry of frequencies in row 1, column 1 is nan"),
        (lambda x, w: live.show_tiles(torch.ones(13, 13), torch.ones(13, 2), ["a"] * 13), "room for 12 tokens, not 13"),
        (lambda x, w: live.show_tiles(x[0], x[:, :2], TOKENS), "scores must cover T queries"),
        (lambda x, w: live.show_tiles(NAN, x[:, :2], TOKENS), "The entry of scores in row 1, column 1 is nan"),
        (lambda x, w: live.show_tiles(x, x, TOKENS), "room for 2 numbers per token"),
        (lambda x, w: live.show_tiles(x, x[:, :2], TOKENS, 5), "size is the number of keys in a tile"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(make, sentence, x, weights):
    with pytest.raises(ValueError, match=re.escape(sentence)) as refused:
        make(x, weights)
    assert "\n" not in str(refused.value)


def test_gradients_half_precision_and_rows_that_do_not_sum_to_1_are_drawn(weights):
    for values in [weights.clone().requires_grad_(), weights.to(torch.bfloat16), 2 * weights * torch.eye(4)]:
        examples.made(live.show_attention, values, TOKENS)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
@pytest.mark.parametrize("name", examples.FIGURES)
def test_tensors_on_a_gpu_are_drawn_as_on_the_cpu(name):
    assert examples.figure(name, "cuda").html() == examples.figure(name).html()
