"""What live figures say and draw in states that a first touch does not reach: masked cells, edges, odd numbers."""

import itertools
import re

import pytest
import torch

from course_utils import live
from course_utils.attention import CausalAttention
from course_utils.live.all_heads import all_heads_figure
from course_utils.live.try_layer import layer_figure
from tests.support import browser, examples, oracles, page
from tests.support.examples import TOKENS
from tests.support.page import LIVE

pytestmark = browser.needs_chromium
MASKED = "rgba(128, 128, 128, 0.3)"
PICKED, POINTED = "rgb(0, 0, 0)", "rgb(17, 17, 17)"  # the colours of frames
LOOKS = """() => {
  const texts = new Map([...document.querySelectorAll(`${live} svg g:nth-child(2) text`)].map(text => [
    text.style.translate, text]));
  return [...document.querySelectorAll(`${live} svg g:first-child rect`)].map(rect => {
    const box = rect.getBoundingClientRect();
    const text = [...texts.values()].find(text => {
      const other = text.getBoundingClientRect(), x = other.x + other.width / 2, y = other.y + other.height / 2;
      return other.width && x > box.left && x < box.right && y > box.top && y < box.bottom;
    });
    return [rect.style.fill, text ? text.style.fill : null];
  });
}""".replace("${live}", LIVE)  # of every cell: its colour, and that of the number in it
INSIDE = """() => {
  const whole = document.querySelector(`${live} svg`).getBoundingClientRect();
  return [...document.querySelectorAll(`${live} svg rect, ${live} svg path`)].every(part => {
    const box = part.getBoundingClientRect();
    return box.left >= whole.left - 3 && box.right <= whole.right + 3
      && box.top >= whole.top - 3 && box.bottom <= whole.bottom + 3;
  });
}""".replace("${live}", LIVE)
PIXELS = """async place => {
  const image = new Image();
  image.src = document.querySelectorAll(`${live} svg image`)[place].getAttribute("href");
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), {width: image.width, height: image.height});
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const bytes = context.getImageData(0, 0, image.width, image.height).data;
  return [...Array(image.width * image.height).keys()].map(n => [...bytes.slice(4 * n, 4 * n + 3)].join());
}""".replace("${live}", LIVE)


@pytest.fixture
def see(chromium, tmp_path):
    """A function that opens the figure that a function of `live` shows, or a Figure."""

    def opened(show, *arguments, width=900, **more):
        figure = examples.made(show, *arguments, **more) if callable(show) else show
        return page.opened(chromium, tmp_path, figure.html(), width=width)

    return opened


def board(shown, name):
    """A board, by the beginning of its name."""
    return shown.get_by_role("application", name=f"{name}. Arrow keys", exact=False).first


def cell(board, row, column=0):
    """Where a cell of a board is, from the board's corner."""
    rows, columns = map(int, board.get_attribute("data-cells").split())
    size = board.bounding_box()
    return {"x": (column + 0.5) * size["width"] / columns, "y": (row + 0.5) * size["height"] / rows}


def said_at(shown, name, row, column=0):
    """What a figure says while a cell is pointed at."""
    place = board(shown, name)
    place.hover(position=cell(place, row, column))
    return page.said(shown)


def said_at_rest(shown):
    """What a figure says while nothing is pointed at."""
    shown.mouse.move(0, 0)
    return page.said(shown)


def frames(shown, colour):
    """How many frames of a colour there are."""
    return shown.locator(f"{LIVE} svg rect[style*='stroke: {colour}']").count()


def choose(shown, **values):
    """Put controls on these values; of radio buttons and lists, a place."""
    for name, value in values.items():
        control = shown.locator(f"{LIVE} [name={name}]")
        kind = control.first.evaluate("control => control.type")
        if control.first.is_disabled():
            continue  # it does nothing in this state
        if kind == "checkbox":
            control.set_checked(value)
        elif kind == "radio":
            control.nth(value).check()
        elif kind == "select-one":
            control.select_option(str(value))
        else:
            control.fill(str(value))


def weights():
    """Weights (T, T) of the four tokens."""
    x = examples.inputs()
    return torch.softmax(x @ x.T, dim=-1)


FUTURE = oracles.future(4)
MORE_HEADS = pytest.mark.every_setting("more heads than are read")


# --- masked cells -----------------------------------------------------------------------------------------------------


def test_masked_cells_count_in_no_sum_and_are_read_as_masked(see):
    scores = examples.inputs() @ examples.inputs().T
    shown = see(live.show_attention, weights(), TOKENS, scores=scores.masked_fill(FUTURE, -torch.inf))
    assert page.numbers(shown) == sorted(oracles.with_sums((weights(), FUTURE)) + oracles.printed(weights()[3]))
    masked, open_cell = said_at(shown, "weights", 0, 3), said_at(shown, "weights", 3, 0)
    assert masked == f'Query "the (0)", key "dog": masked, weight {weights()[0, 3]:.4f}.'
    assert open_cell == f'Query "dog", key "the (0)": weight {weights()[3, 0]:.4f}, score {scores[3, 0]:.4f}.'
    looks = [fill for fill, _ in shown.evaluate(LOOKS)]
    assert [fill == MASKED for fill in looks[:16]] == FUTURE.flatten().tolist()
    (hatch,) = [
        path
        for path in shown.locator(f"{LIVE} svg path").all()
        if "128, 128, 128" in path.get_attribute("style") and path.get_attribute("d").count("L") > 1
    ]
    assert hatch.get_attribute("d").count("L") == int(FUTURE.sum())


@pytest.mark.every_setting("large maps")
def test_masked_cells_of_a_large_map_are_grey(see):
    shown = see(
        live.show_attention, torch.full((17, 17), 1 / 17), [str(n) for n in range(17)], masked=oracles.future(17)
    )
    grey = [pixel in ("128,128,128", "129,129,129", "127,127,127") for pixel in shown.evaluate(PIXELS, 0)]
    assert grey == oracles.future(17).flatten().tolist()


def test_dropout_counts_no_masked_weight(see):
    shown = see(live.show_dropout, weights(), TOKENS, masked=FUTURE)
    for seed, rate in [(123, 0.5), (124, 0.95)]:
        choose(shown, seed=seed, rate=rate)
        assert page.numbers(shown) == sorted(oracles.dropout(weights(), TOKENS, FUTURE, **page.state(shown)))
        assert shown.locator(f"{LIVE} svg").get_by_text("✕", exact=True).count() == int(
            (~oracles.keep_mask((4, 4), rate, seed).bool() & ~FUTURE).sum()
        )
        kept = oracles.keep_mask((4, 4), rate, seed).bool() & ~FUTURE
        sums = (weights() * kept / (1 - rate)).sum(dim=-1)
        empty = [name for name, total in zip(["the (0)", "cat", "the (2)", "dog"], sums) if total == 0]
        nothing = " Nothing is left for {}.".format(", ".join(f'"{name}"' for name in empty)) if empty else ""
        assert said_at_rest(shown) == (
            f"{int(kept.sum())} of 10 weights are kept. The row sums range from {sums.min():.2f} to {sums.max():.2f}, "
            f"with mean {sums.mean():.2f}.{nothing}"
        )
    assert empty, "a seed and a rate that leave a row nothing"
    assert said_at(shown, "in training: ✕ dropped, the rest × 20.00", 0, 3).endswith(
        f"masked, weight {weights()[0, 3]:.4f}."
    )


@pytest.mark.every_setting("padding of every length")
def test_every_way_to_hide_padding_says_what_it_does_for_any_number_of_words(see):
    scores = 5 * examples.inputs() @ examples.inputs().T
    shown = see(live.show_padding, scores, TOKENS, TOKENS)
    names = ["the (0)", "cat", "the (2)", "dog"]
    for length, mask in itertools.product([0, 1, 3, 4], range(3)):
        choose(shown, length=length, mask=mask)
        legend = ["nan"] if (length, mask) == (0, 0) else []
        assert page.numbers(shown) == sorted(oracles.padding(scores, TOKENS, TOKENS, length=length, mask=mask) + legend)
        fill = torch.arange(4) >= length
        to_padding = torch.softmax(scores.masked_fill(fill, 0), dim=-1)[:, length:].sum(dim=-1)
        way = ["−∞", "−10⁹", "−∞, then 0"][mask]
        if length == 4:
            wanted = "No padding: whatever the mask, every row sums to 1."
        elif length:
            worst = to_padding.argmax()
            wanted = (
                f'Without a mask, "{names[worst]}" gives {to_padding[worst]:.2f} of its weight to padding. '
                f"Hidden by {way}, padding gets no weight."
            )
        else:
            wanted = ["is nan.", "divides all weight evenly among the padding.", "so nothing is read."][mask]
        assert page.said(shown).endswith(wanted), (length, mask)
        looks = [fill for fill, _ in shown.evaluate(LOOKS)]
        red = ["197, 22, 34" in look for look in looks[:16]]
        assert MASKED not in looks[:16] and red == [key >= length for _ in names for key in range(4)]
        hidden = [look == MASKED for look in looks[16:32]]
        assert hidden == [length <= key and bool(length or mask == 2) for _ in names for key in range(4)]


def test_a_weight_that_is_too_small_for_a_number_is_not_called_padding(see):
    shown = see(live.show_padding, torch.tensor([[0.0, 2000.0, 5.0]]), ["a"], ["a", "b", "c"])
    choose(shown, length=2, mask=0)
    assert [key for key in range(6) if shown.evaluate(LOOKS)[key][0] == MASKED] == [5], "of the second map the last"


def test_the_causal_mask_says_what_rows_sum_to_and_which_cells_leak(see):
    layer, x, tokens = examples.of_figures()["show_masking"][0]
    shown = see(live.show_masking, layer, x, tokens)
    for mask, when, renormalised in itertools.product([True, False], [0, 1], [False, True]):
        choose(shown, mask=mask, when=when, renormalised=renormalised)
        sums = oracles.causal_weights(layer, x, mask, when, renormalised).sum(dim=-1)
        whole = (sums - 1).abs().max() < 1e-6
        wanted = "Every row sums to 1;" if whole else f"The row sums range from {sums.min():.2f} to {sums.max():.2f};"
        assert wanted in said_at_rest(shown)
    choose(shown, mask=True, when=1, renormalised=False)
    told = {place: said_at(shown, "dependency matrix", *place) for place in [(0, 3), (3, 0)]}
    assert told[0, 3] == 'The output of "the (0)" leaks: it depends on the input "dog".'
    assert told[3, 0] == 'The output of "dog" depends on the input "the (0)".'
    choose(shown, when=0)
    assert said_at(shown, "dependency matrix", 0, 3) == 'The output of "the (0)" does not depend on the input "dog".'


# --- what is picked and pointed at ------------------------------------------------------------------------------------


def test_a_query_is_read_from_its_largest_key_down_and_a_second_click_lets_go(see):
    table = torch.tensor([[0.1, 0.2, 0.4, 0.3], [0, 0.75, 0, 0.25], [0, 0, 0, 0], [0.25, 0.25, 0.25, 0.25]])
    shown = see(live.show_attention, table, TOKENS)
    at_rest = page.said(shown)
    assert at_rest == (
        'Query "dog" attends most to "the (0)" (0.25), "cat" (0.25), "the (2)" (0.25).'
        " Pick another token to see what it reads."
    )
    choose(shown, query=0)
    assert page.said(shown) == 'Query "the (0)" attends most to "the (2)" (0.40), "dog" (0.30), "cat" (0.20).'
    choose(shown, query=1)
    assert page.said(shown) == 'Query "cat" attends most to "cat" (0.75), "dog" (0.25).'
    choose(shown, query=2)
    assert page.said(shown) == 'Query "the (2)" attends to nothing.'
    name = shown.locator(f"{LIVE} svg g:last-child").get_by_text("the (2)", exact=True).last  # beside the map
    name.click()
    assert page.state(shown)["query"] == 3 and said_at_rest(shown) == at_rest and frames(shown, PICKED) == 1
    name.click()
    assert page.state(shown)["query"] == 2 and frames(shown, PICKED) == 1


@pytest.mark.parametrize("heads, more", [(3, False), pytest.param(4, True, marks=MORE_HEADS)])
def test_of_many_heads_three_are_read_and_one_that_is_picked_alone(heads, more, see):
    table = weights() ** torch.arange(1, heads + 1)[:, None, None]
    shown = see(live.show_attention, table, TOKENS)
    choose(shown, query=1)
    assert page.said(shown).count("attends most") == 3
    assert page.said(shown).endswith("Pick a head to read the others.") == more
    told = said_at(shown, "head 1", 1, 3)
    assert told == f'Head 1, query "cat", key "dog": weight {table[1, 1, 3]:.4f}.'
    assert frames(shown, POINTED) == 2 * heads, "the row and the column, in each head"
    shown.mouse.move(0, 0)
    choose(shown, head=2)
    assert page.numbers(shown) == sorted(oracles.attention(table, TOKENS, query=1, head=2))
    assert page.said(shown).startswith('Head 2: query "cat" attends most to "')


def test_keys_walk_to_both_ends_and_no_farther_and_the_page_stays_where_it_is(see):
    shown = see(live.show_attention, weights(), TOKENS)
    names = ["the (0)", "cat", "the (2)", "dog"]
    shown.keyboard.press("Tab")
    board(shown, "weights").focus()
    shown.evaluate("window.heard = []; document.addEventListener('keydown', ({key}) => window.heard.push(key))")
    for keys, row, column in [
        (["ArrowLeft", "ArrowUp"], 0, 0),
        (["End"], 0, 3),
        (["ArrowRight"], 0, 3),
        (["ArrowDown"] * 5, 3, 3),
        (["Home"], 3, 0),
        (["ArrowRight"] * 2 + ["ArrowUp"], 2, 2),
    ]:
        for key in keys:
            shown.keyboard.press(key)
        assert page.said(shown).startswith(f'Query "{names[row]}", key "{names[column]}": '), keys
    pressed = "new KeyboardEvent('keydown', {key: 'ArrowDown', cancelable: true})"
    kept = board(shown, "weights").evaluate(f"board => board.dispatchEvent({pressed})")
    assert not kept, "an arrow key moves no page"
    assert shown.evaluate("window.heard") == [], "what the figure uses, the notebook around it does not hear"
    shown.keyboard.press("a")
    assert shown.evaluate("window.heard") == ["a"]


def test_the_focus_is_read_again_when_the_pointer_leaves_and_no_more_when_it_moves_on(see):
    shown = see(live.show_attention, weights(), TOKENS)
    at_rest = page.said(shown)
    shown.keyboard.press("Tab")
    board(shown, "weights").focus()
    shown.keyboard.press("ArrowRight")
    focused = page.said(shown)
    assert said_at(shown, "weights", 3, 3) != focused
    assert said_at_rest(shown) == focused != at_rest
    shown.keyboard.press("Shift+Tab")
    assert page.said(shown) == at_rest
    board(shown, "weights").click(position=cell(board(shown, "weights"), 1, 1))
    assert said_at_rest(shown) == at_rest, "a click leaves no reading behind"


def test_a_finger_reads_a_cell_as_soon_as_it_touches(chromium, tmp_path):
    shown = page.opened(
        chromium, tmp_path, examples.made(live.show_attention, weights(), TOKENS).html(), has_touch=True
    )
    corner, place = board(shown, "weights").bounding_box(), cell(board(shown, "weights"), 3, 0)
    touch = {"x": corner["x"] + place["x"], "y": corner["y"] + place["y"]}
    finger = shown.context.new_cdp_session(shown)
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [touch]})
    assert page.said(shown).startswith('Query "dog", key "the (0)": ')
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_jupyterlab_gets_control_keys_while_a_figure_has_the_focus(see):
    shown = see(live.show_attention, weights(), TOKENS)
    shown.locator("select").focus()
    held = "document.activeElement.hasAttribute('data-lm-suppress-shortcuts')"
    assert shown.evaluate(held)
    shown.keyboard.down("Control")
    assert not shown.evaluate(held)
    shown.keyboard.up("Control")
    assert shown.evaluate(held)


def test_enter_and_space_press_what_a_click_would(see):
    shown = see(live.show_query_steps, examples.inputs(), TOKENS)
    shown.keyboard.press("Tab")
    board(shown, "scores").focus()
    for key, row in [("Enter", 1), (" ", 2)]:
        shown.keyboard.press("ArrowDown")
        shown.keyboard.press(key)
        assert page.state(shown)["query"] == row


def habit(map, names):
    """What a head reads most, whatever the words are, and how much of the weight goes there on average."""
    shares = {names[0]: map[:, 0], names[-1]: map[:, -1]}
    shares |= {
        "the token before": map.diagonal(-1),
        "the token itself": map.diagonal(0),
        "the token after": map.diagonal(1),
    }
    return max(((name, part.mean()) for name, part in shares.items()), key=lambda pair: pair[1])


def test_a_small_map_is_read_while_the_large_one_stays(see):
    table = torch.rand(2, 3, 4, 4, generator=torch.Generator().manual_seed(3)).softmax(dim=-1)
    shown = see(all_heads_figure(table, ["[CLS]", "a", "b", "[SEP]"]))

    def most(map):
        name, share = habit(map, ["[CLS]", "a", "b", "[SEP]"])
        means, names = map.mean(dim=0), ["[CLS]", "a", "b", "[SEP]"]
        best = [key for key in range(4) if means[key] > 0.7 * means.max()]
        if share > 0.5:
            said = f"gives the most weight to {name} ({share:.2f})"
        elif len(best) > 2:
            said = "gives many tokens about equal weight"
        else:
            said = "gives the most weight to " + " and ".join(f'"{names[key]}" ({means[key]:.2f})' for key in best)
        return f"an average token {said}."

    assert page.said(shown) == f"Layer 0, head 0: {most(table[0, 0])}"
    assert frames(shown, PICKED) == 1
    assert said_at(shown, "All heads: a row for each layer, a column for each head", 1, 2) == (
        f"Layer 1, head 2: {most(table[1, 2])} Press to enlarge it."
    )
    assert frames(shown, POINTED) == 1
    choose(shown, query=0)
    assert said_at_rest(shown).startswith('Layer 0, head 0: query "[CLS]" attends most to ')


def test_a_large_map_that_is_an_image_follows_its_control(see):
    table = torch.eye(17).repeat(1, 2, 1, 1)
    table[0, 1] = torch.full((17, 17), 1 / 17)
    shown = see(all_heads_figure(table, [str(n) for n in range(17)]))
    assert len(set(shown.evaluate(PIXELS, 2))) == 2
    choose(shown, head=1)
    assert len(set(shown.evaluate(PIXELS, 2))) == 1


def test_the_same_head_is_drawn_beside_on_another_sentence_and_follows_the_controls(see):
    own, other = (torch.rand(2, 3, T, T, generator=torch.Generator().manual_seed(T)).softmax(dim=-1) for T in (3, 2))
    shown = see(all_heads_figure(own, ["a", "b", "c"], 1, 2, beside=(other, ["x", "y"])))
    for layer, head in [(1, 2), (0, 1)]:
        choose(shown, layer=layer, head=head)
        assert page.numbers(shown) == sorted(oracles.printed(own[layer, head]) + oracles.printed(other[layer, head]))
        told = f'Layer {layer}, head {head}, query "y", key "x": weight {other[layer, head, 1, 0]:.3f}.'
        got = other[layer, head].sum(dim=0)
        names = " and ".join(f"“{name}”" for name, much in zip("xy", got) if much > 0.7 * got.max())
        name, share = habit(other[layer, head], "xy")
        both, there = (f"mostly reads {name}", f"mostly {name}") if share > 0.5 else (f"reads {names}", names)
        texts = shown.locator(f"{LIVE} svg text").all_text_contents()
        (headline,) = [text for text in texts if text.startswith(f"layer {layer}, head {head} ")]
        assert headline.endswith((f"{both} in both sentences", f", {there} in the other"))
        assert said_at(shown, "x y", 1, 0) == told
    assert frames(shown, POINTED) == 2, "a row and a column of that sentence alone"


def test_weights_in_few_letters_are_what_they_were(see):
    table = torch.full((1, 1, 2, 2), 60.0)
    assert set(page.numbers(see(all_heads_figure(table, ["a", "b"])))) == {"60.00"}


def test_small_cells_have_no_number_and_no_word_lies_on_another(see):
    tokens = [f"word {n}" for n in range(12)]
    shown = see(live.show_attention, torch.full((6, 12, 12), 1 / 12), tokens, width=1000)
    assert "0.08" not in page.numbers(shown)
    shown = see(live.show_attention, torch.full((12, 64, 64), 1 / 64), [f"word {n}" for n in range(64)], width=1280)
    assert not shown.locator(f"{LIVE} svg").get_by_text("word").count(), "the sentence names what has no room"


# --- numbers, names and colours ---------------------------------------------------------------------------------------


def test_a_number_reads_well_on_the_colour_of_its_cell(see):
    table = torch.linspace(0, 1, 16).view(4, 4)
    shown = see(live.show_attention, table, TOKENS)
    looks = [(fill, text) for fill, text in shown.evaluate(LOOKS) if text]
    assert len(looks) == 16

    def light(colour):
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)]
        return sum(
            share * (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
            for share, part in zip([0.2126, 0.7152, 0.0722], parts)
        )

    for fill, text in looks:
        darker, lighter = sorted([light(fill), light(text)])
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (fill, text)


def test_weights_above_1_and_no_numbers_have_colours_of_their_own_and_halves_end_in_an_even_digit(see):
    shown = see(live.show_attention, torch.tensor([[1.0, 2.0], [0.375, 0.625]]), ["a", "b"])
    looks = shown.evaluate(LOOKS)
    assert page.numbers(shown) == sorted(["1.00", "2.00", "3.00", "0.38", "0.62", "1.00"] + ["0.38", "0.62"])
    assert looks[0][0] == "rgb(253, 231, 37)" and looks[1][0] not in {fill for fill, _ in looks[:1] + looks[2:4]}
    legend = "g:nth-child(2)"
    assert shown.locator(f"{LIVE} svg {legend}").get_by_text("above 1").count() == 1
    assert shown.locator(f"{LIVE} svg {legend}").get_by_text("masked").count() == 0, "nothing is"
    shown = see(live.show_padding, examples.inputs(), TOKENS, TOKENS)
    choose(shown, length=0, mask=0)
    assert {fill for fill, _ in shown.evaluate(LOOKS)[16:32]} == {"rgb(204, 0, 102)"}, "nan is not the colour of 0"


def test_a_long_name_is_cut_in_the_picture_and_whole_in_the_sentence(see):
    long = "Donaudampfschifffahrt"
    shown = see(live.show_attention, torch.eye(2), [long, "twelve chars"])
    texts = shown.locator(f"{LIVE} svg text").all_text_contents()
    assert {"Donaudampfs…", "twelve chars"} <= set(texts) and long not in texts
    assert said_at(shown, "weights", 0, 0).startswith(f'Query "{long}"')


@pytest.mark.parametrize("rows", [[[30.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]], [[3.0, 4.0], [6.0, 1.0]]])
def test_large_equal_and_positive_vectors_are_drawn_within_the_picture(rows, see):
    x = torch.tensor(rows).double()
    shown = see(live.show_query_steps, x, ["a", "b"])
    for step, query in itertools.product(range(3), range(2)):
        choose(shown, step=step, query=query)
        assert "NaN" not in shown.locator(f"{LIVE} svg").inner_html()
        assert shown.evaluate(INSIDE), (step, query)
        if x.any():
            assert page.numbers(shown) == sorted(oracles.query_steps(x, ["a", "b"], **page.state(shown)))
        assert page.said(shown).count(".", 0) and ("Softmax" in page.said(shown)) == (step > 0)
        assert ("context vector" in page.said(shown)) == (step > 1)


@pytest.mark.parametrize("name", ["show_query_steps", "show_shape_walk", "show_all_heads"])
def test_blocks_that_have_no_room_side_by_side_stand_below_each_other(name, see):
    shown = see(examples.figure(name))
    for width in range(340, 900, 40):
        shown.set_viewport_size({"width": width, "height": 720})
        shown.wait_for_timeout(50)
        assert shown.evaluate(INSIDE), width


def test_a_figure_that_is_hidden_at_first_is_drawn_once_it_is_seen(chromium, tmp_path):
    hidden = examples.made(live.show_scaling, torch.ones(2), torch.ones(2, 2), ["a", "b"]).html()
    shown = page.opened(
        chromium, tmp_path, examples.figure("show_attention").html(), f"<div id=later hidden>{hidden}</div>"
    )
    errors = []
    shown.on("pageerror", lambda error: errors.append(error))
    shown.reload()
    shown.locator(f"{LIVE} .said:not(:empty)").first.wait_for()
    shown.evaluate("document.querySelector('#later').hidden = false")
    shown.locator(f"#later {LIVE} .said:not(:empty)").wait_for()
    assert errors == []


# --- one figure each --------------------------------------------------------------------------------------------------


def test_a_number_stays_within_its_bounds_and_no_other_button_drags_it(see):
    shown = see(live.show_query_steps, torch.ones(2, 2), ["a", "b"])
    numbers = board(shown, "embeddings")

    def now():
        return float(said_at(shown, "embeddings", 0).split(": ")[1].split(". ")[0])

    numbers.focus()
    for key, value in [("PageUp", 1.2), ("+", 1.22), ("PageDown", 1.02), ("-", 1.0)]:
        shown.keyboard.press(key)
        assert now() == pytest.approx(value), key
    for key, end in [("PageUp", 2), ("PageDown", -2)]:
        for _ in range(22):
            shown.keyboard.press(key)
        assert now() == end
    place = numbers.bounding_box()
    shown.mouse.move(place["x"] + 5, place["y"] + 5)
    shown.mouse.down(button="right")
    shown.mouse.move(place["x"] + 5, place["y"] - 40)
    shown.mouse.up(button="right")
    assert now() == -2


def test_the_pointed_key_is_the_one_whose_arrow_and_shadow_are_described(see):
    x = examples.inputs()
    shown = see(live.show_query_steps, x, TOKENS)
    for step, caption in [(0, "projection of “{}”"), (1, "projection of “{}”")]:
        choose(shown, step=step)
        best = ["the (0)", "cat", "the (2)", "dog"][(x @ x[1]).argmax()]
        for row, name in [(None, best), (0, "the (0)"), (3, "dog")]:
            shown.mouse.move(0, 0) if row is None else said_at(shown, "scores", row)
            texts = shown.locator(f"{LIVE} svg text").all_text_contents()
            assert any(text.startswith(caption.format(name)) for text in texts), (step, row)


def test_negative_scores_have_hollow_bars_to_the_left_of_zero(see):
    shown = see(live.show_query_steps, torch.tensor([[1.0], [-1.0]]), ["a", "b"])
    choose(shown, query=0, step=0)
    bars = [bar for bar in shown.locator(f"{LIVE} svg rect").all() if "fill-opacity" in bar.get_attribute("style")]
    filled, hollow = bars
    assert "fill-opacity: 1" in filled.get_attribute("style") and "fill-opacity: 0" in hollow.get_attribute("style")
    left, right = hollow.bounding_box(), filled.bounding_box()
    assert left["x"] + left["width"] <= right["x"] + 2 and left["width"] == pytest.approx(right["width"], abs=2)


def test_turned_pairs_point_where_their_numbers_do_and_the_place_behind_the_last_pair_says_nothing(see):
    shown = see(live.show_rotary, torch.tensor([0.0] + 9 * [1.0]), torch.ones(10), torch.ones(5), width=400)
    choose(shown, m=0, n=4)
    at_rest = page.said(shown)
    assert at_rest.startswith("The distance is -4 both times, so the score is ")
    arrow = shown.locator(f"{LIVE} svg path[style*='194, 65, 12']").first.get_attribute("d")
    x, y, to_x, to_y = map(float, re.match(r"M(\S+) (\S+)L([^M ]+) ([^M]+)M", arrow).groups())
    assert to_x == pytest.approx(x) and to_y < y, "the pair 0, 1 points up"
    assert said_at(shown, "pairs", 1, 0).startswith("Pair 4:") and said_at(shown, "pairs", 3, 0).startswith("Pair 4:")
    assert said_at(shown, "pairs", 1, 1) == at_rest


def test_scores_say_their_range_and_bars_end_where_their_column_does(see):
    q, keys = torch.ones(128), torch.linspace(-1, 1, 512).view(4, 128)
    shown = see(live.show_scaling, q, keys, TOKENS, width=360)
    choose(shown, temperature=0.1)
    assert shown.evaluate(INSIDE)
    choose(shown, d_k=3, temperature=1)
    scores = keys[:, :3].sum(dim=-1)
    most = torch.softmax(scores / 3**0.5, dim=0).max()
    plain = torch.softmax(scores, dim=0).max()
    wanted = f'Largest weight without the division: {plain:.2f} for "dog"; with it: {most:.2f} for "dog".'
    assert said_at_rest(shown) == wanted
    said_at(shown, "scores and weights", 2)
    assert frames(shown, POINTED) == 1


def changed_numbers(heads, right):
    """How many scores, and how many numbers after merging, a change in number 1 of token 1 reaches; and whose."""
    before = examples.inputs()
    after = before.clone()
    after[1, 0] += 1
    found = []
    for x in (before, after):
        split = x.reshape(4, heads, -1).transpose(0, 1) if right else x.reshape(heads, 4, -1)
        scores = (split @ split.transpose(1, 2) / split.shape[-1] ** 0.5).masked_fill(FUTURE, -torch.inf)
        merged = (torch.softmax(scores, dim=-1) @ split).transpose(0, 1).reshape(4, -1)
        found.append((scores.masked_fill(FUTURE, 0), merged))
    (scores, merged), (other_scores, other_merged) = found
    moved = (merged - other_merged).abs() > 1e-9
    return int(((scores - other_scores).abs() > 1e-9).sum()), int(moved.sum()), moved.any(dim=-1).tolist()


def test_what_a_changed_number_reaches_is_counted_with_and_without_transpose(see):
    shown = see(live.show_shape_walk, examples.inputs(), 2, TOKENS)
    choose(shown, token=1, number=1)
    right, wrong = changed_numbers(2, True), changed_numbers(2, False)
    frame = f"{LIVE} svg path[style*='stroke-width: 2']"
    choose(shown, step=3)
    assert f": {right[0]} scores with transpose, {wrong[0]} without." in page.said(shown)
    assert shown.locator(frame).count() == right[0] + wrong[0]
    choose(shown, step=4)
    told = page.said(shown)
    assert f": {right[1]} numbers with transpose, {wrong[1]} without." in told
    assert told.endswith("Without transpose, it reaches the (0), which must not see it.") == wrong[2][0]
    choose(shown, step=3)
    assert said_at(shown, "with transpose, block 0", 0, 1) == 'Query "the (0)", head 0, key "cat", head 0: masked.'
    choose(shown, step=0)
    said_at(shown, "with transpose, all numbers", 2, 3)
    assert frames(shown, POINTED) == 4, "the token's two numbers of that head, on both ways"
    place = board(shown, "with transpose, all numbers")
    place.click(position=cell(place, 2, 3))
    assert (page.state(shown)["token"], page.state(shown)["number"]) == (2, 4)


def test_a_tile_that_holds_fewer_keys_is_framed_alone_and_what_is_not_there_says_so(see):
    shown = see(live.show_tiles, torch.arange(16.0).view(4, 4), torch.ones(4, 2), TOKENS, 3)
    for tile, (row, column), wanted in [
        (1, (3, 0), "this score has not been computed yet."),
        (2, (3, 3), "this score has not been computed yet."),
        (2, (0, 0), "this score was computed and forgotten."),
        (3, (3, 1), "this score was computed and forgotten."),
        (3, (0, 3), "a future key, masked if its tile is computed at all."),
    ]:
        choose(shown, tile=tile)
        assert said_at(shown, "scores and shares", row, column).endswith(wanted)
    assert "1 of 16 scores in memory, plus m and ℓ for 1 of 4 rows and 4 outputs;" in said_at_rest(shown)
    keys = board(shown, "scores and shares").bounding_box()
    (frame,) = shown.locator(f"{LIVE} svg g:nth-child(3) rect[style*='{PICKED}']").all()
    assert frame.bounding_box()["y"] + frame.bounding_box()["height"] <= keys["y"] + keys["height"] + 3


def test_a_layers_leaks_are_counted_above_the_diagonal_and_small_ones_called_small(see):
    def leaking(x):
        return x + 1e-6 * x.flip(1)

    makers = [
        (
            lambda length, dropout: CausalAttention(4, 2, length, dropout),
            "No output depends on a later token. Without the mask, 6 red cells leak.",
        ),
        (lambda length, dropout: leaking, "2 red cells leak: outputs depend"),
    ]
    for make, wanted in makers:
        shown = see(layer_figure(make, examples.inputs(), TOKENS, 4, 0.0, 1))
        assert page.said(shown).startswith(wanted)
        if wanted.startswith("No"):
            assert said_at(shown, "your layer", 0, 3) == 'The output of "the" does not depend on the input "dog".'
            assert shown.locator(f"{LIVE} svg").get_by_text("·", exact=True).count() == 6
    assert "moves by less than 0.0001 times a step in" in said_at(shown, "your layer", 0, 3)
    assert re.search(r"moves by up to \d\.\d{4} times", said_at(shown, "your layer", 0, 0))


def test_scales_stay_while_a_number_is_dragged_and_say_so_when_one_has_to_grow(see):
    shown = see(live.show_query_steps, torch.tensor([[1.0, 0.5], [0.5, 1.0], [0.2, 0.1]]), ["a", "b", "c"])
    choose(shown, query=0, step=0)
    bars = f"{LIVE} svg rect[style*='fill-opacity']"

    def lengths():
        return [bar.bounding_box()["width"] for bar in shown.locator(bars).all()]

    before = lengths()
    board(shown, "embeddings").focus()
    for key in ("ArrowDown", "ArrowRight", "PageUp"):
        shown.keyboard.press(key)
    assert [round(now - then, 1) for now, then in zip(lengths(), before)][::2] == [0, 0], "their scores did not change"
    assert lengths()[1] > before[1] and "now end at" not in page.said(shown)
    for _ in range(3):
        shown.keyboard.press("PageUp")
    shown.keyboard.press("Escape")
    assert lengths()[0] == pytest.approx(before[0] / 2, abs=2) and "now end at 2.50" in page.said(shown)


def test_words_written_from_right_to_left_turn_nothing_around_them(see):
    shown = see(live.show_attention, torch.tensor([[0.9, 0.1], [0.5, 0.5]]), ["قط", "كلب"])
    choose(shown, query=0)
    assert (
        page.said(shown) == 'Query "\u2068قط\u2069" attends most to "\u2068قط\u2069" (0.90), "\u2068كلب\u2069" (0.10).'
    )


def test_a_key_that_shows_0_is_none_that_gets_most(see):
    shown = see(live.show_attention, torch.tensor([[0.999, 0.001], [0.5, 0.5]]), ["a", "b"])
    choose(shown, query=0)
    assert page.said(shown) == 'Query "a" attends most to "a" (1.00).'


def test_the_arc_of_a_layer_goes_on_where_that_of_the_next_layer_ended(see):
    back, copies = torch.eye(4)[[0, 0, 1, 2]], torch.eye(4)[[0, 0, 0, 2]]  # layer 0 looks one back, layer 1 farther
    shown = see(live.show_attention, torch.stack([back, copies]), TOKENS, maps="layer")
    assert page.said(shown) == (
        'Layer 1: query "dog" attends most to "the (2)" (1.00); layer 0: query "the (2)" attends most to "cat" (1.00).'
        " Pick another token to see what it reads."
    )
    assert shown.locator("select[name=head]").locator("..").inner_text().startswith("layer")
