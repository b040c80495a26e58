"""Chapter 8's live figure: every head as a small map, one of them large."""

import pytest
import torch

from course_utils.live import show_preferences
from course_utils.live.all_heads import all_heads_figure
from tests.support import browser, comparing, examples, page

TOKENS = ["[CLS]", "a", "b", "[SEP]"]


def weights():
    """Two layers of three heads; layer 1, head 2 looks at the token before."""
    before = torch.zeros(4, 4)
    before[[0, 1, 2, 3], [0, 0, 1, 2]] = 1
    even = torch.full((2, 3, 4, 4), 0.25)
    even[1, 2] = before
    return even


@browser.needs_chromium
def test_every_head_has_its_small_map_and_a_pressed_one_becomes_large(chromium, tmp_path):
    shown = page.opened(chromium, tmp_path, all_heads_figure(weights(), TOKENS).html())
    assert shown.locator(".course-live svg image").count() == 6 + 1, "and the scale of colours"
    assert page.said(shown).startswith("Layer 0, head 0: an average token gives many tokens about equal weight")
    small = shown.get_by_role("application", name="All heads")
    size = small.bounding_box()
    small.click(position={"x": size["width"] * 5 / 6, "y": size["height"] * 3 / 4})
    shown.mouse.move(0, 0)
    assert page.state(shown) == {"layer": 1, "head": 2, "query": -1}
    assert page.said(shown).endswith("gives the most weight to the token before (1.00).")
    texts = shown.locator(".course-live svg text").all_text_contents()
    assert {"heads that give over half of their weight to", "the token before: 1", "none of these: 5"} <= set(texts)
    shown.locator("svg").get_by_text("b", exact=True).last.click()
    assert page.said(shown).startswith('Layer 1, head 2: query "b" attends most to "a" (1.00)')


@browser.needs_chromium
def test_two_sentences_stand_beside_each_other_each_with_all_heads(chromium, tmp_path):
    first = torch.zeros(2, 3, 4, 4)
    first[..., 0] = 1  # all heads read [CLS]
    other = weights(), ["[CLS]", "c", "d", "[SEP]"]
    shown = page.opened(chromium, tmp_path, all_heads_figure(first, TOKENS, 1, 2, beside=other).html())
    assert shown.locator(".course-live svg image").count() == 2 * 6 + 1, "and the scale of colours"
    texts = set(shown.locator(".course-live svg text").all_text_contents())
    headline = "layer 1, head 2 mostly reads [CLS] in your sentence, mostly the token before in the other"
    assert {
        headline,
        "your sentence: 6 of 6 give over half to [CLS]",
        "the other: 0 of 6 give over half to [CLS]",
    } <= texts
    assert {"a b", "c d"} <= texts, "the words of each"
    small = shown.get_by_role("application", name="All heads in the other sentence")
    size = small.bounding_box()
    small.click(position={"x": size["width"] / 6, "y": size["height"] / 4})
    assert page.state(shown) == {"layer": 0, "head": 0, "query": -1}
    assert page.said(shown).startswith("Layer 0, head 0: an average token gives many tokens about equal weight")


@pytest.mark.parametrize(
    "shape, more, sentence",
    [
        ((3, 4, 4), {}, r"use show_attention\), with shape \(num_layers, num_heads, 4, 4\); it has shape \(3, 4, 4\)"),
        ((2, 3, 5, 5), {}, r"shape \(num_layers, num_heads, 4, 4\); it has shape \(2, 3, 5, 5\)"),
        ((2, 3, 4, 4), {"layer": 2}, "no layer 2, head 0: layers go from 0 to 1, heads from 0 to 2"),
        ((2, 3, 4, 4), {"head": -1}, "no layer 0, head -1"),
    ],
)
def test_what_cannot_be_drawn_gets_a_sentence(shape, more, sentence):
    with pytest.raises(ValueError, match=sentence):
        all_heads_figure(torch.full(shape, 1 / shape[-1]), TOKENS, **more)


def test_a_sentence_that_is_too_long_gets_a_sentence():
    with pytest.raises(ValueError, match="room for 44 tokens, not 45"):
        all_heads_figure(torch.full((1, 1, 45, 45), 1 / 45), [str(k) for k in range(45)])


def sentences(*changes):
    """Sentences that differ in the last word; in the second one head (1, 2) prefers the dog, and all others the cat."""
    weights = torch.tensor([0.1, 0.5, 0.2, 0.2]).expand(len(changes), 2, 3, 4, 4).clone()
    weights[1:, 1, 2, 0] = torch.tensor([0.1, 0.2, 0.5, 0.2])
    return {change: (table, ["it", "cat", "dog", change], "dog", "cat") for change, table in zip(changes, weights)}


@browser.needs_chromium
def test_a_click_on_the_word_that_changes_shows_which_heads_turn(chromium, tmp_path):
    shown = page.opened(chromium, tmp_path, examples.made(show_preferences, sentences("ran", "sat"), "it").html())
    picture = shown.locator(".course-live svg")
    for word, other, cat, dog in [("ran", "sat", 6, 0), ("sat", "ran", 5, 1)]:
        texts = picture.locator("text").all_text_contents()
        assert {f'prefer "cat": {cat}', f'prefer "dog": {dog}', f'⇄ "{other}": 1 changes sides'} <= set(texts)
        assert "5 of 6 heads prefer the same noun" in page.said(shown)
        picture.get_by_text(f"{word} ⇄ {other}").click()
    assert page.state(shown)["sentence"] == 0
    alone = page.opened(chromium, tmp_path, examples.made(show_preferences, sentences("ran"), "it").html())
    assert "instead" not in page.said(alone)


def test_a_preference_may_differ_by_a_hundred_thousandth_between_machines_and_no_more():
    stored = examples.made(show_preferences, sentences("ran"), "it").html()
    assert stored.count('"ahead":[[30000,') == 1

    def moved(steps):
        return stored.replace('"ahead":[[30000,', f'"ahead":[[{30000 + steps},')

    assert comparing.same_page(moved(1), stored) and not comparing.same_page(moved(2), stored)


def test_a_sentence_without_its_noun_gets_a_sentence():
    with pytest.raises(ValueError, match="The sentence 'it cat dog ran' has no token 'he'"):
        show_preferences(sentences("ran", "sat"), "he")
