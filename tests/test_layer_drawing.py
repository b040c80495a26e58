"""The drawing that grows: steps and shapes are those of the classes, each chapter marks its own, all can be read."""

import itertools
import re

import pytest
import torch

from course_utils import layer_drawing, pictures
from course_utils.attention import CausalAttention, MultiHeadAttention, SelfAttention_v2
from tests.support import stored

PARTS = layer_drawing.PARTS
SIZES = {"B": 2, "T": 5, "d_in": 3, "d_k": 8, "d_out": 8, "num_heads": 2, "head_dim": 4}
each_part = pytest.mark.parametrize("part", PARTS)


def steps(part):
    """The steps of the drawing up to a part, from top to bottom."""
    return list(itertools.chain(*layer_drawing.rows_upto(part)))


def sizes_in(words):
    """The shape that some words name, in numbers, or None."""
    found = re.search(r"\(([^)]*)\)", words)
    return found and tuple(SIZES[name] for name in re.findall(r"\w+", found[1]))


def test_each_chapter_adds_its_part_and_keeps_all_before():
    for before, part in itertools.pairwise(PARTS):
        old, new = [[(step.part, step.words.partition("√")[0]) for step in steps(name)] for name in (before, part)]
        without_shapes = [(name, words.partition(" (")[0]) for name, words in new if name != part]
        assert without_shapes == [(name, words.partition(" (")[0]) for name, words in old]
        assert any(name == part for name, _ in new)


@each_part
def test_the_new_part_is_marked_and_nothing_else(part):
    figure = layer_drawing.drawing(part)
    *boxes, key = figure.axes[0].patches
    marked = [box.get_facecolor() == key.get_facecolor() for box in boxes]
    assert marked == [step.part == part for step in steps(part)]
    assert figure.axes[0].texts[-1].get_text() == f"new in chapter {1 + PARTS.index(part)}"


@each_part
def test_every_arrow_leads_from_its_box_to_the_next_one_below_and_the_last_one_out_of_the_layer(part):
    axes = layer_drawing.drawing(part).axes[0]
    *boxes, key = [box.get_bbox() for box in axes.patches]
    arrows = [text for text in axes.texts if getattr(text, "arrow_patch", None)]
    assert len(arrows) == sum(len(step.out) for step in steps(part))
    left_over = []
    for (x, start), (_, end) in ((arrow.xyann, arrow.xy) for arrow in arrows):
        column = [box for box in boxes if box.x0 < x < box.x1]
        assert start in [box.y1 for box in column]
        below = [box.y0 for box in column if box.y0 >= start]
        left_over += [end] if not below else []
        assert end == min(below, default=end) > start
    bottom, _ = axes.get_ylim()
    assert len(left_over) == 1 and left_over[0] < bottom, "the layer's output, inside the picture"
    assert max(box.y1 for box in boxes) < key.y0 < key.y1 < bottom, "what explains the colour stands apart"


def test_the_chapter_that_a_part_names_shows_it():
    for path in stored.PATHS:
        shown = [cell.source for cell in stored.code_cells(stored.read(path)) if cell.id == "layer-drawing"]
        number = int(path.name[:2])
        assert shown == ([f'show_layer("{PARTS[number - 1]}")'] if number <= len(PARTS) else []), path.name


# --- the shapes are true ----------------------------------------------------------------------------------------------


def heard(layer, x):
    """The shapes of what enters and leaves the parts of a layer on its way: {part: shape}."""
    shapes = {"inputs": x.shape}
    for name, module in layer.named_children():
        module.register_forward_hook(
            lambda module, given, result, name=name: shapes.update({name: result.shape, f"to {name}": given[0].shape})
        )
    shapes["output"] = layer(x).shape
    return {name: tuple(shape) for name, shape in shapes.items()}


def drawn(part):
    """{words of a step: the shapes on its arrows, in numbers}, without those that carry no words."""
    return {step.words: {sizes_in(text) for text in step.out.values() if text} for step in steps(part)}


def test_the_shapes_of_the_projections_are_those_of_the_class():
    shapes, drawing = heard(SelfAttention_v2(3, 8), torch.rand(5, 3)), drawn("projections")
    assert sizes_in(next(iter(drawing))) == shapes["inputs"]
    for name in ("W_query", "W_key", "W_value"):
        assert drawing[f"times {name}"] == {shapes[name]}
    assert drawing["weighted sum of the values"] == {shapes["output"]}


@pytest.mark.parametrize("part", ["mask", "dropout"])
def test_the_shapes_of_a_batch_are_those_of_the_causal_class(part):
    shapes, drawing = heard(CausalAttention(3, 8, 5, 0.0), torch.rand(2, 5, 3)), drawn(part)
    assert sizes_in(next(iter(drawing))) == shapes["inputs"]
    assert drawing["queries times keys"] == drawing["softmax"] == {shapes["to dropout"]}
    assert drawing["weighted sum of the values"] == {shapes["output"]}


def test_the_shapes_of_the_heads_are_those_of_the_class():
    layer = MultiHeadAttention(3, 8, 5, 0.0, num_heads=2)
    shapes, drawing = heard(layer, torch.rand(2, 5, 3)), drawn("heads")
    assert drawing["times W_query"] == {shapes["W_query"]}
    split = layer.split(torch.rand(2, 5, 8))
    assert drawing["split into heads"] == drawing["weighted sum of the values"] == {tuple(split.shape)}
    assert drawing["queries times keys"] == drawing["softmax"] == {shapes["dropout"]}
    assert drawing["merge the heads"] == {shapes["to out_proj"]} and drawing["out_proj"] == {shapes["output"]}


# --- it can be read ---------------------------------------------------------------------------------------------------


@each_part
def test_no_words_leave_their_box_or_run_into_others(part):
    figure = layer_drawing.drawing(part)
    figure.draw_without_rendering()
    texts = [text for text in figure.axes[0].texts if text.get_text()]
    places = {text: text.get_window_extent().padded(-0.5) for text in texts}  # they may touch
    for one, other in itertools.combinations(texts, 2):
        assert not places[one].overlaps(places[other]), (one.get_text(), other.get_text())
    boxes = [box.get_window_extent() for box in figure.axes[0].patches]
    for text, place in places.items():
        inside = [box.x0 <= place.x0 and place.x1 <= box.x1 for box in boxes if box.overlaps(place)]
        assert all(inside), f"{text.get_text()} does not fit into its box"
        assert figure.bbox.x0 <= place.x0 and place.x1 <= figure.bbox.x1, text.get_text()


@each_part
def test_it_is_as_narrow_as_a_phone_with_letters_that_can_be_read_there(part):
    figure = layer_drawing.drawing(part)
    wide, high = figure.get_size_inches() * pictures.DOTS_PER_INCH
    assert wide <= 400 and high <= 520
    assert figure.get_facecolor() == (1, 1, 1, 1), "in a dark theme, too"
    smallest = min(text.get_size() for text in figure.axes[0].texts)
    assert smallest / 72 * pictures.DOTS_PER_INCH * 330 / wide >= 9, "pixels, in a column of 330"


def test_it_is_the_same_bytes_again_and_an_unknown_part_gets_a_sentence(monkeypatch):
    bundles = []
    monkeypatch.setattr(pictures, "display", lambda bundle, raw: bundles.append(bundle))
    for _ in range(2):
        layer_drawing.show_layer("heads")
    assert bundles[0] == bundles[1] and "image/png" in bundles[0]
    with pytest.raises(ValueError, match="scores, projections, mask, dropout, heads, not 'masks'"):
        layer_drawing.show_layer("masks")
