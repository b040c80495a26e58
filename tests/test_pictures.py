"""The figures: what they show, and what they say when the input is wrong."""

import pytest
import torch
from matplotlib import colormaps
from matplotlib.colors import to_rgba

from course_utils import pictures

MAPS = [value for name, value in vars(pictures).items() if name.endswith("_MAP")]
TWO = (torch.eye(2), ["a", "b"])
EXAMPLES = {  # what each of the functions takes
    "show_curves": lambda: pictures.show_curves({"line": [1, 2]}, x_label="x", y_label="y"),
    "show_dependencies": lambda: pictures.show_dependencies(*TWO),
    "show_weights": lambda: pictures.show_weights(*TWO),
}


@pytest.fixture
def shown(monkeypatch):
    """The displayed bundles, in order."""
    bundles = []
    monkeypatch.setattr(pictures, "display", lambda bundle, raw: bundles.append(bundle))
    return bundles


@pytest.fixture
def figures(monkeypatch):
    """The figures that would be displayed, in order."""
    made = []
    monkeypatch.setattr(pictures, "show", made.append)
    return made


@pytest.mark.parametrize("name", [name for name in pictures.__all__ if name != "show"])
def test_a_picture_is_the_same_bytes_again(name, shown):
    assert name in EXAMPLES, f"{name}: give it an example in tests/test_pictures.py"
    for _ in range(2):
        EXAMPLES[name]()
    assert shown[0] == shown[1] and set(shown[0]) == {"image/png", "text/plain"}


def test_tensors_with_gradients_are_drawn(shown):
    pictures.show_weights(torch.ones(2, 2, requires_grad=True), ["a", "b"])
    assert len(shown) == 1


@pytest.mark.parametrize("shape", [(2, 3), (2, 1, 2, 2), (2,)])
def test_what_is_no_map_gets_a_sentence(shape):
    with pytest.raises(ValueError, match=r"map of 2 tokens and 2 keys.* shape \(2, 2\); .*pick one first: weights"):
        pictures.show_weights(torch.ones(shape), ["a", "b"])


def test_maps_have_a_fixed_scale_and_row_0_on_top(figures):
    pictures.show_weights([[0.5, 2.0], [0.5, 0.5]], ["a", "b"])  # dropout makes weights above 1
    axes = figures[0].axes[0]
    assert axes.images[0].get_clim() == (0, 1)
    assert axes.yaxis_inverted()


def texts(axes):
    """The texts in the cells of a map."""
    return [text.get_text() for text in axes.texts]


def test_masked_is_not_zero(figures):
    pictures.show_weights([[1.0, 0.0], [1.0, 0.0]], ["a", "b"], masked=[[False, True], [False, False]])
    (axes,) = (figure.axes[0] for figure in figures)
    assert texts(axes) == ["1.00", "1.00", "0.00"]
    assert axes.images[0].get_array().mask.tolist() == [[False, True], [False, False]]


@pytest.mark.parametrize(
    "draw, sentence",
    [
        (
            lambda: pictures.show_dependencies(torch.ones(2, 2, 2), ["a", "b"]),
            "room for 1 dependency matrix, not 2: pass depends",
        ),
        (
            lambda: pictures.show_weights(torch.ones(2, 2), ["a", "b"], masked=torch.ones(3, 3)),
            "masked must be a map of 2 tokens",
        ),
        (lambda: pictures.show_curves({n: [1] for n in "abcde"}, x_label="", y_label=""), "room for 4 curves"),
    ],
)
def test_what_cannot_be_drawn_gets_a_sentence(draw, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw()


def test_the_axes_say_what_rows_and_columns_are(figures):
    pictures.show_weights(torch.eye(2), ["a", "b"])
    pictures.show_dependencies(torch.eye(2), ["a", "b"])
    labels = [(figure.axes[0].get_ylabel(), figure.axes[0].get_xlabel()) for figure in figures]
    assert labels == [("query (attends)", "key (attended to)"), ("output of", "input of")]


def test_the_keys_of_another_sequence_have_names_of_their_own(figures):
    hidden = [[False, False, True], [False, False, True]]
    pictures.show_weights([[0.5, 0.5, 0], [1, 0, 0]], ["a", "b"], key_tokens=["c", "d", "e"], masked=hidden)
    axes = figures[0].axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["c", "d", "e"]
    assert axes.images[0].get_array().mask.tolist() == hidden


def test_a_power_law_is_a_straight_line_on_doublings_and_powers_of_ten(figures):
    curves = {"square": [1, 4, 16]}
    pictures.show_curves(curves, x=[1, 2, 4], x_label="", y_label="", logarithmic=True, doublings=True)
    axes = figures[0].axes[0]
    (left, low), (middle, centre), (right, high) = axes.transData.transform([(1, 1), (2, 4), (4, 16)])
    assert (middle - left, centre - low) == pytest.approx((right - middle, high - centre))


def test_counts_are_points_and_no_line_joins_them(figures):
    pictures.show_curves({"heads": [1, 3], "coins": [2, 2]}, x_label="", y_label="", joined=False)
    lines = figures[0].axes[0].lines
    assert [(line.get_linestyle(), line.get_marker()) for line in lines] == [("None", "o"), ("None", "s")]


def test_every_head_gets_a_panel_on_one_scale(figures):
    pictures.show_weights([[[1.0, 0.0], [1.0, 0.0]], [[0.2, 0.8], [0.5, 0.5]]], ["a", "b"])
    maps = [axes for axes in figures[0].axes if axes.images]
    assert [axes.get_title() for axes in maps] == ["head 0", "head 1"]
    assert [axes.images[0].get_clim() for axes in maps] == [(0, 1), (0, 1)]


def contrast(one, other):
    """The contrast ratio of two relative luminances (WCAG 2)."""
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def test_the_contrast_of_a_colour_is_the_one_that_wcag_gives():
    assert contrast(1.0, pictures.luminance(to_rgba("#767676"))) == pytest.approx(4.54, abs=0.005)


@pytest.mark.parametrize("colours", MAPS)
def test_numbers_in_cells_are_readable_on_every_colour(colours):
    for step in range(101):
        colour = colormaps[colours](step / 100)
        luminance = pictures.luminance(colour)
        ink = {"black": 0.0, "white": 1.0}[pictures.readable_on(colour)]
        assert contrast(ink, luminance) >= 4.5


def test_repeated_tokens_are_told_apart():
    assert pictures.numbered(["the", "cat", "the"]) == ["the (0)", "cat", "the (2)"]
