"""Chapter 11's live figure: all heads of a language model, the next word, and heads that are switched off."""

import pytest
import torch

from course_utils import live
from course_utils.live import interactive, language_model
from tests.support import browser, comparing, page

TOKENS = ["When", " Mary", " came", ",", " Mary"]
VOCABULARY = ["a", " b", " c", "d", " e", " f", " <g>"]


def run(text, heads):
    """Two layers of three heads, in which each head that is off moves a tenth from the likeliest token to the next."""
    if text == "stop":
        raise KeyError("stop")
    weights = torch.ones(2, 3, 5, 5).tril()
    weights = weights / weights.sum(dim=-1, keepdim=True)
    weights[1, 2] = torch.eye(5)
    chances = torch.tensor([0.5, 0.2, 0.1, 0.08, 0.06, 0.04, 0.02])
    for _ in heads:
        chances[:2] += torch.tensor([-0.1, 0.1])
    return TOKENS, weights, chances


def each_off(text, numbers):
    """As if head 1.2 alone were needed."""
    chances = run(text, [])[2][numbers].repeat(2, 3, 1)
    chances[1, 2, 0] = 0.125
    return chances


def word_of(numbers):
    """The text of tokens."""
    return "".join(VOCABULARY[number] for number in numbers)


def shown_figure():
    """The stored figure of two sentences."""
    runs = [language_model.stored_run(run, each_off, word_of, text) for text in ("one", "two")]
    return language_model.language_model_figure(runs, 1, 2)


@browser.needs_chromium
def test_a_stored_figure_shows_each_head_and_the_next_word_without_it(chromium, tmp_path):
    shown = page.opened(chromium, tmp_path, shown_figure().html())
    said = page.said(shown)
    assert said.startswith('Layer 1, head 2: query "Mary (4)" attends most to "Mary (4)" (1.00).'), said
    assert 'next word is "a", 0.500; without layer 1, head 2, it gets 0.125, and "b" is likeliest' in said
    bars = ["0.500", "0.125", "0.200", "0.200", "0.100", "0.100"]
    assert sorted(n for n in page.numbers(shown) if len(n) == 5) == sorted([*bars, "0.125"]), "and in the title"
    board = shown.get_by_role("application", name="All heads")
    size = board.bounding_box()
    board.click(position={"x": size["width"] / 6, "y": size["height"] / 4})
    shown.mouse.move(0, 0)
    assert page.state(shown)["layer"] == page.state(shown)["head"] == 0
    said = page.said(shown)
    assert 'attends most to "When" (0.20)' in said and "without layer 0, head 0, it gets 0.500." in said


@browser.needs_chromium
def test_the_head_that_the_next_word_needs_has_a_colour_of_its_own(chromium, tmp_path):
    shown = page.opened(chromium, tmp_path, shown_figure().html())
    green = shown.locator(".course-live svg g:first-child rect[style*='rgb(0, 133, 119)']")
    assert green.count() == 1 + 1, "head 1.2, and no head that changes nothing; and the colour explained"


@browser.needs_chromium
@pytest.mark.parametrize("chance", [0.19, 0.5])
def test_a_head_is_said_to_hold_back_the_word_that_it_reads_only_if_that_is_likelier_without_it(
    chance, chromium, tmp_path
):
    def off(text, numbers):
        chances = each_off(text, numbers)
        chances[1, 2, 1] = chance
        return chances

    run_once = language_model.stored_run(run, off, lambda numbers: [" a", " Mary", " c"][numbers[0]], "one")
    shown = page.opened(chromium, tmp_path, language_model.language_model_figure([run_once], 1, 2).html())
    texts = shown.locator(".course-live svg text").all_text_contents()
    assert ("layer 1, head 2 reads “Mary” and makes it less likely" in texts) == (chance > 2 * 0.2)
    assert (f"“Mary” gets {chance:.3f} without layer 1, head 2" in texts) == (chance <= 2 * 0.2)
    factor = max(chance / 0.2, 0.2 / chance)
    assert {
        "each head makes “Mary”",
        "less likely",
        "more likely",
        f"full colour: {factor:.1f}-fold (log scale)",
    } <= set(texts)
    assert [text for text in texts if text.startswith('"')] == ['"a"', '"Mary"', '"c"']


@browser.needs_chromium
def test_a_click_on_a_head_puts_it_into_the_box_and_a_second_one_takes_it_out(chromium, tmp_path):
    live_run = language_model.live_run(run, word_of, "one", [(0, 1)])
    own = '<div class="own-sentence"><input></div>'
    box = f'<div class="cell">{own}<div class="heads-off"><input value="0.1"></div>{{}}</div>'
    shown = page.opened(chromium, tmp_path, box.format(language_model.language_model_figure([live_run], 0, 1).html()))
    assert "without 0.1, it gets 0.400." in page.said(shown)
    board, entry = shown.get_by_role("application", name="All heads"), shown.locator(".heads-off input")
    size = board.bounding_box()
    places = [{"x": size["width"] * 5 / 6, "y": size["height"] * 3 / 4}, {"x": size["width"] / 2, "y": 5}]
    board.click(position=places[0])
    assert entry.input_value() == "0.1 1.2" and shown.locator(".own-sentence input").input_value() == "one"
    board.click(position=places[1])
    assert entry.input_value() == "1.2"


def test_boxes_ask_the_model_and_what_it_cannot_run_is_refused_in_a_sentence(monkeypatch):
    boxes, bundles = [], []
    monkeypatch.setattr(interactive.widgets, "Box", lambda controls, **more: boxes.extend(controls) or controls[0])

    class Output:
        update = staticmethod(lambda bundle, raw: bundles.append(bundle))

    monkeypatch.setattr(interactive, "display", lambda bundle, raw, **more: Output)
    live.try_language_model(run, each_off, word_of, ["one", "two"], layer=1, head=2)
    sentence, off = boxes
    assert [box.description for box in boxes] == ["your sentence", "heads off, such as 23.3 18.6"]
    assert [box._dom_classes for box in boxes] == [("own-sentence",), ("heads-off",)], "as a click looks for them"
    sentence.value = "stop"
    off.value = "1.2 x"
    sentence.value = "mine"
    off.value = "1.2, 0.0"
    said = [bundle["text/plain"] for bundle in bundles]
    assert "The model stopped with KeyError: 'stop'" in said[0]
    assert "x is not a head: write layer.head, such as 23.3" in said[2]
    assert said[3].startswith("Live figure: All 6 heads of a model, and the next word after") and len(said) == 4
    assert '"layer":0,"head":0' in bundles[3]["text/html"], "the head that was named last is the large one"


def test_a_large_figure_is_handed_over_packed_and_drawn_all_the_same(monkeypatch):
    monkeypatch.setattr("course_utils.live.base.LARGEST_PLAIN", 10)
    assert '"runs"' not in shown_figure().html()


@browser.needs_chromium
def test_a_packed_figure_moves_like_any_other(chromium, tmp_path, monkeypatch):
    plain = shown_figure().html()
    monkeypatch.setattr("course_utils.live.base.LARGEST_PLAIN", 10)
    shown = page.opened(chromium, tmp_path, shown_figure().html(), plain)
    shown.locator(".course-live .said:not(:empty)").nth(1).wait_for()
    first, second = shown.locator(".course-live .said").all_inner_texts()
    assert first == second != ""


@pytest.mark.parametrize("length", [25, 30])
def test_a_sentence_that_is_too_long_gets_a_sentence(length):
    def long(text, heads):
        return ["a"] * length, torch.ones(1, 1, length, length), torch.ones(7)

    with pytest.raises(ValueError, match=f"room for 24 tokens, not {length}"):
        language_model.live_run(long, word_of, "long", [])


def test_a_chance_may_differ_by_a_thousandth_between_machines_and_no_more():
    stored = shown_figure().html()
    assert stored.count('"each":[[[500,') == 2

    def moved(steps):
        return stored.replace('"each":[[[500,', f'"each":[[[{500 + steps},')

    assert comparing.same_page(moved(1), stored) and not comparing.same_page(moved(2), stored)


def test_a_share_may_differ_by_a_hundredth_between_machines_and_no_more():
    stored = shown_figure().html()
    first = stored.index('"shares":"') + len('"shares":"')

    def moved(steps):
        return stored[:first] + chr(ord(stored[first]) + steps) + stored[first + 1 :]

    assert comparing.same_page(moved(1), stored) and not comparing.same_page(moved(3), stored)
