"""Every live figure in Chromium, from a file and without a network: its numbers are torch's, whatever is touched."""

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe

from course_tools.build import still_pictures
from course_utils import live
from course_utils.influence import influences
from tests.support import browser, comparing, examples, oracles, page
from tests.support.page import LIVE, by_keyboard, by_mouse, controls

pytestmark = browser.needs_chromium
each_figure = pytest.mark.parametrize("name", examples.FIGURES)


def few_figures(number, setting):
    """Run a test with so many figures, and with the others in this setting."""
    others = [pytest.param(name, marks=pytest.mark.every_setting(setting)) for name in examples.FIGURES[number:]]
    return pytest.mark.parametrize("name", [*examples.FIGURES[:number], *others])


# pairs of words in a picture of which more than a pixel or two lies on the other
OVERLAPS = """() => {
  const words = [...document.querySelectorAll(".course-live svg text")]
    .filter(text => text.textContent && !text.style.rotate)
    .map(text => [text.textContent, text.getBoundingClientRect()]);
  const shared = (p, q, low, high) => Math.min(p[high], q[high]) - Math.max(p[low], q[low]);
  return words.flatMap(([a, p], place) => words.slice(place + 1)
    .filter(([b, q]) => shared(p, q, "left", "right") > 2 && shared(p, q, "top", "bottom") > 5)
    .map(([b]) => `${a} / ${b}`));
}"""


def html(name):
    """The HTML of a figure's example."""
    return examples.figure(name).html()


def agrees(shown, name):
    """The picture prints torch's numbers for the state that the controls show, and no others."""
    arguments = examples.of_figures()[name][0]
    now = page.state(shown)
    wanted = sorted(getattr(oracles, name.removeprefix("show_"))(*arguments, **now))
    assert page.numbers(shown) == wanted, now


def by_touch(shown, kind, control):
    """Change a control with a finger."""
    if kind == "select-one":
        control.locator("select").select_option(index=0)
    elif kind == "range":
        place = control.locator("input").bounding_box()
        shown.touchscreen.tap(place["x"] + 0.8 * place["width"], place["y"] + place["height"] / 2)
    else:
        control.locator("input").first.tap()


@few_figures(5, "controls of other figures")
def test_every_control_works_by_keyboard_mouse_and_touch_and_all_numbers_are_torchs(name, chromium, tmp_path):
    shown = page.opened(chromium, tmp_path, html(name), has_touch=True)
    agrees(shown, name)
    start = page.state(shown), page.said(shown)
    for change in (by_keyboard, by_mouse, by_touch):
        for kind, control in controls(shown):
            before = page.state(shown)
            if control.locator(":disabled").count():
                continue  # it does nothing in this state
            change(shown, kind, control)
            agrees(shown, name)
            if change is by_keyboard:
                assert page.state(shown) != before, f"{name}: {kind} does not hear the keyboard"
            if kind == "range":
                slider, text = control.locator("input"), control.inner_text().replace("\n", " ")
                assert slider.get_attribute("aria-valuetext") == text
                assert float(text.split()[-1]) == float(slider.input_value())
    shown.get_by_role("button", name="Reset").click()
    assert (page.state(shown), page.said(shown)) == start
    agrees(shown, name)


@each_figure
def test_pointing_tapping_and_arrow_keys_read_the_same_cell_aloud(name, chromium, tmp_path):
    _, label, row, column, words = examples.of_figures()[name]
    shown = page.opened(chromium, tmp_path, html(name), has_touch=True)
    at_rest = page.said(shown)
    board = shown.get_by_role("application", name=f"{label}. Arrow keys", exact=False).first
    size = board.bounding_box()
    rows, columns = map(int, board.get_attribute("data-cells").split())
    x, y = (column + 0.5) * size["width"] / columns, (row + 0.5) * size["height"] / rows
    board.hover(position={"x": x, "y": y})
    assert words in page.said(shown)
    shown.mouse.move(0, 0)
    assert page.said(shown) == at_rest
    shown.keyboard.press("Tab")  # so that the focus is seen to come from keys
    board.focus()
    for key, times in [("ArrowUp", rows), ("Home", 1), ("ArrowDown", row), ("ArrowRight", column)]:
        for _ in range(times):
            shown.keyboard.press(key)
    assert words in page.said(shown)
    shown.keyboard.press("Escape")
    assert page.said(shown) == at_rest
    board.tap(position={"x": x, "y": y})
    assert words in page.said(shown)


def test_a_clicked_word_asks_and_a_dragged_or_typed_number_counts(chromium, tmp_path):
    x = examples.inputs().round(decimals=2)
    shown = page.opened(
        chromium, tmp_path, examples.made(live.show_query_steps, x, examples.TOKENS).html(), has_touch=True
    )
    shown.locator("svg").get_by_text("dog", exact=True).first.click()
    assert page.state(shown)["query"] == 3
    shown.locator("svg").get_by_text("the (2)", exact=True).last.tap()
    assert page.state(shown)["query"] == 2
    numbers = shown.get_by_role("application", name="embeddings. Arrow keys", exact=False)
    place = numbers.bounding_box()
    start = place["x"] + 0.375 * place["width"], place["y"] + 0.375 * place["height"]  # number 2 of cat
    shown.mouse.move(*start)
    shown.mouse.down()
    shown.mouse.move(start[0], start[1] - 50)
    shown.mouse.up()
    shown.mouse.move(*start)
    shown.keyboard.press("-")
    x[1, 1] += 0.48
    assert page.numbers(shown) == sorted(oracles.query_steps(x, examples.TOKENS, **page.state(shown)))
    assert page.said(shown).startswith(f'Number 2 of "cat": {x[1, 1]:.4f}.')


def test_a_number_follows_a_finger_and_no_button_that_was_pressed_elsewhere(chromium, tmp_path):
    shown = page.opened(chromium, tmp_path, html("show_query_steps"), has_touch=True)
    place = shown.get_by_role("application", name="embeddings. Arrow keys", exact=False).bounding_box()
    x, y = place["x"] + 0.375 * place["width"], place["y"] + 0.375 * place["height"]
    before = page.numbers(shown)
    shown.mouse.move(2, 700)
    shown.mouse.down()
    shown.mouse.move(x, y)
    shown.mouse.move(x, y - 9)
    shown.mouse.up()
    assert page.numbers(shown) == before
    finger = shown.context.new_cdp_session(shown)
    for kind, right in [("touchStart", 0), *(("touchMove", right) for right in range(5, 45, 5)), ("touchEnd", None)]:
        points = [] if right is None else [{"x": x + right, "y": y}]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    wanted = examples.inputs().double()
    wanted[1, 1] += 0.4
    assert f"{wanted[1, 1]:.2f}" in page.numbers(shown) and page.numbers(shown) != before


def test_what_a_number_was_made_from_lights_up(chromium, tmp_path):
    shown = page.opened(chromium, tmp_path, html("show_query_steps"))
    marks = shown.locator(f"{LIVE} svg rect[style*='rgb(17, 17, 17)']")
    assert marks.count() == 0
    shown.get_by_role("application", name="scores").hover(position={"x": 20, "y": 5})
    assert marks.count() == 2, "the key's numbers and the query's"


def test_each_moment_of_training_shows_its_own_weights_and_its_loss(chromium, tmp_path):
    weights = torch.softmax(torch.stack([k * examples.inputs() for k in range(3)]), dim=-1)  # (3 moments, T, T)
    losses = {0: 4.61, 10: 2.5, 200: 0.31}
    figure = examples.made(live.show_attention, weights[:, None], examples.TOKENS, losses=losses)
    shown = page.opened(chromium, tmp_path, figure.html())
    for moment, (step, loss) in reversed(list(enumerate(losses.items()))):
        assert page.state(shown)["moment"] == moment and page.said(shown).startswith(f"Step {step}: loss {loss:.2f}. ")
        told = oracles.attention(weights[moment], examples.TOKENS, query=-1)
        told += oracles.printed([loss, max(losses.values())])  # the second at the axis
        assert page.numbers(shown) == sorted(told)
        shown.locator("[name=moment]").press("ArrowLeft")


def test_a_map_that_was_hidden_and_comes_back_is_pointed_at_as_before(chromium, tmp_path):
    shown = page.opened(chromium, tmp_path, html("show_attention"))
    for head in ("0", "all"):
        shown.locator("select[name=head]").select_option(label=head)
    shown.get_by_role("application", name="head 1").hover()
    assert page.said(shown).startswith("Head 1, query")


def test_what_a_control_takes_away_is_no_longer_read_or_framed(chromium, tmp_path):
    shown = page.opened(chromium, tmp_path, html("show_attention"))
    shown.get_by_role("application", name="head 2").hover()
    shown.locator("select[name=head]").focus()
    shown.keyboard.press("ArrowDown")
    assert page.said(shown).startswith("Head 0: query")
    shown = page.opened(chromium, tmp_path, html("show_query_steps"))
    shown.get_by_role("application", name="weight times value").hover()
    shown.get_by_label("1 scores").focus()
    shown.keyboard.press("Space")
    assert page.said(shown).startswith("Query")
    assert shown.locator(f"{LIVE} svg [style*='rgb(17, 17, 17)']").count() == 0


def test_halves_are_rounded_as_torch_rounds_them_and_one_token_has_no_neighbours(chromium, tmp_path):
    even = examples.made(live.show_attention, torch.full((8, 8), 0.125), list("abcdefgh"))
    shown = page.opened(chromium, tmp_path, even.html(), width=1280)
    assert f"{0.125:.2f}" == "0.12" and set(page.numbers(shown)) == {"0.12", "0.125", "1.00"}, "beside its sum"
    alone = examples.made(live.show_all_heads, torch.ones(1, 1, 1, 1), ["a"])
    assert "nan" not in page.said(page.opened(chromium, tmp_path, alone.html()))


def test_an_output_is_called_wrong_where_rescaling_was_needed_and_only_there(chromium, tmp_path):
    shown = page.opened(chromium, tmp_path, html("show_tiles"))
    scores = examples.of_figures()["show_tiles"][0][0]
    shown.get_by_label("forget to rescale").check()
    shown.locator("input[name=tile]").fill("3")
    for row, name in enumerate(["the (0)", "cat", "the (2)", "dog"]):
        larger_later = scores[row, 2 : row + 1].max() > scores[row, :2].max() if row > 1 else False
        assert (f'"{name}"' in page.said(shown).partition("Wrong outputs: ")[2]) == larger_later
    shown.locator("input[name=length]").fill("4")
    assert "Wrong outputs" not in page.said(shown), "one tile holds all"


def test_a_tile_is_reached_by_a_click_and_no_other_scores_are_drawn(chromium, tmp_path):
    shown = page.opened(chromium, tmp_path, html("show_tiles"))
    board = shown.get_by_role("application", name="scores and shares")
    size = board.bounding_box()
    for tile, (row, column) in enumerate([(0, 0), (3, 1), (2, 2)], 1):
        board.click(position={"x": (column + 0.5) * size["width"] / 4, "y": (row + 0.5) * size["height"] / 4})
        assert page.state(shown)["tile"] == tile
        agrees(shown, "show_tiles")
        green = shown.locator(f"{LIVE} svg rect[style*='rgba(0, 133, 119']").count()
        assert green == 4 * 4 + 2 * 2, "as many as are said to be in memory: of the plain layer, and of the tile"
    board.hover(position={"x": size["width"] * 0.9, "y": 5})
    assert "masked if its tile is computed at all" in page.said(shown)


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("when", [0, 1])
@pytest.mark.parametrize("renormalised", [False, True])
def test_the_dependency_matrix_is_that_of_torchs_derivatives(mask, when, renormalised, chromium, tmp_path):
    layer, x, tokens = examples.of_figures()["show_masking"][0]
    shown = page.opened(chromium, tmp_path, html("show_masking"))
    shown.get_by_label(["before softmax", "after softmax"][when]).check()
    for name, value in [("renormalise", renormalised), ("mask on", mask)]:
        shown.get_by_label(name).set_checked(value)

    def context(sequence):
        return oracles.causal_weights(layer, sequence, mask, when, renormalised) @ layer.W_value(sequence)

    depends = influences(context, x) > 1e-12
    texts = shown.locator(f"{LIVE} svg text").all_text_contents()
    leaks = int(depends.triu(diagonal=1).sum())
    assert texts.count("leak") == leaks + bool(leaks) and texts.count("·") == int((~depends).sum())
    red = shown.locator(f"{LIVE} svg g:first-child rect[style*='rgb(197, 22, 34)']").count()
    assert red == leaks + bool(leaks), "each leak, and one in the legend"
    count = f"{leaks} red {'cell leaks' if leaks == 1 else 'cells leak'}"
    assert (count if leaks else "no output depends on a later") in page.said(shown)


def test_the_slider_over_tiles_has_a_step_for_each_tile_and_no_more(chromium, tmp_path):
    shown = page.opened(chromium, tmp_path, html("show_tiles"))
    tile, length = (shown.locator(f"input[name={name}]") for name in ("tile", "length"))
    for size, count in {1: 10, 2: 3, 3: 3, 4: 1}.items():  # those of the future are left out
        length.fill(str(size))
        assert tile.get_attribute("max") == str(count)
        tile.fill(str(count))
        assert f"Tile {count} of {count}" in page.said(shown)
    length.fill("1")
    assert page.said(shown).startswith("Tile 1 of")


# --- every screen, everyone -------------------------------------------------------------------------------------------


TWO_FRAMES = "() => new Promise(shown => requestAnimationFrame(() => requestAnimationFrame(shown)))"  # drawn anew


@few_figures(4, "the size of other figures")
@pytest.mark.parametrize(
    "widths", [[360, 1280], pytest.param([600, 820, 1440], marks=pytest.mark.every_setting("figures at other widths"))]
)
def test_it_fits_every_width_with_text_that_can_be_read_and_one_height_in_every_state(name, widths, chromium, tmp_path):
    shown = page.opened(chromium, tmp_path, html(name))
    for width in widths:
        shown.set_viewport_size({"width": width, "height": 720})
        shown.wait_for_function(f"innerWidth === {width}")
        shown.evaluate(TWO_FRAMES)
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        sizes = shown.evaluate(
            "() => [...document.querySelectorAll('.course-live *')].map(e => parseFloat(getComputedStyle(e).fontSize))"
        )
        assert min(sizes) >= 11
        height = shown.locator(LIVE).bounding_box()["height"]
        assert width != 1280 or height <= 640
        for kind, control in controls(shown):
            by_keyboard(shown, kind, control)
            assert shown.locator(LIVE).bounding_box()["height"] == height, f"{name} {kind} at {width}"


@pytest.mark.parametrize("show, sizes", [(live.show_attention, [12, 64, 64]), (live.show_all_heads, [24, 16, 44, 44])])
def test_the_largest_figures_fit_a_laptops_screen(show, sizes, chromium, tmp_path):
    figure = examples.made(show, torch.full(sizes, 1 / sizes[-1]), [str(place) for place in range(sizes[-1])])
    shown = page.opened(chromium, tmp_path, figure.html(), width=1280)
    assert shown.locator(LIVE).bounding_box()["height"] <= 640


OTHER_COLOURS = pytest.mark.every_setting("axe in dark and in forced colours")


@few_figures(4, "axe on other figures")
@pytest.mark.parametrize(
    "colours",
    [
        {"color_scheme": "light"},
        pytest.param({"color_scheme": "dark"}, marks=OTHER_COLOURS),
        pytest.param({"forced_colors": "active"}, marks=OTHER_COLOURS),
    ],
    ids=["light", "dark", "forced"],
)
def test_axe_finds_nothing_in_light_dark_and_forced_colours(name, colours, chromium, tmp_path):
    shown = page.opened(chromium, tmp_path, html(name))
    shown.emulate_media(**colours)
    found = Axe().run(shown).response["violations"]
    assert not found, [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found]


@each_figure
def test_words_that_lie_side_by_side_do_not_overlap(name, chromium, tmp_path):
    shown = page.opened(chromium, tmp_path, html(name), width=360)
    overlaps = shown.evaluate(OVERLAPS)
    assert overlaps == []


def test_changes_can_be_followed_unless_the_reader_wants_no_motion(chromium, tmp_path):
    for motion, seconds in [("no-preference", "0.2s"), ("reduce", "0s")]:
        shown = page.opened(chromium, tmp_path, html("show_query_steps"), reduced_motion=motion)
        shown.wait_for_timeout(100)
        rect = shown.locator(f"{LIVE} svg rect").first
        assert rect.evaluate("r => getComputedStyle(r).transitionDuration").split(",")[0] == seconds


# --- wherever it is shown ---------------------------------------------------------------------------------------------


def test_several_figures_on_a_page_move_each_for_itself(chromium, tmp_path):
    shown = page.opened(chromium, tmp_path, html("show_masking"), html("show_dropout"), html("show_masking"))
    assert shown.locator(LIVE).count() == 3
    first, _, twin = shown.locator(f"{LIVE} .said").all()
    shown.get_by_label("before softmax").first.check()
    assert "Masked before softmax" in first.inner_text() and "Masked after softmax" in twin.inner_text()


def test_a_group_of_buttons_is_its_figures_own_though_another_has_one_of_the_same_name(chromium, tmp_path):
    shown = page.opened(chromium, tmp_path, html("show_query_steps"), html("show_shape_walk"), html("show_query_steps"))
    assert [len(group.locator(":checked").all()) for group in shown.get_by_role("group").all()] == [1, 1, 1]


@pytest.fixture(scope="module")
def screen(chromium):
    """The page in which stills are drawn, one for all as in a build."""
    return chromium.new_page(**still_pictures.SCREEN)


@few_figures(2, "stills of other figures")
def test_without_scripts_there_is_a_still_with_its_words_and_a_table(name, screen, chromium, tmp_path):
    figure = examples.figure(name)
    stored = still_pictures.with_still(figure.html(), screen)
    assert comparing.same_page(figure.html(), stored), "a run's output is compared without the still"
    shown = page.opened(chromium, tmp_path, stored, java_script_enabled=False)
    assert len(shown.get_by_role("img").get_attribute("alt").split()) >= 6
    assert shown.get_by_role("img").evaluate("image => image.naturalWidth > 300")
    assert figure.about in shown.locator("main").inner_text() and shown.locator("td").count() > 1
    assert "run its cell" in shown.locator("main").inner_text()
    shown = page.opened(chromium, tmp_path, stored)
    assert shown.locator("img").count() == 0, "the moving figure takes its place"
