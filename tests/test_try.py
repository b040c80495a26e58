"""Figures that run the learner's own code: what they compute, what they say, and what is left without a kernel."""

import pytest
import torch

from course_utils.attention import CausalAttention
from course_utils.influence import influences
from course_utils.live import interactive, try_layer, try_sentence
from course_utils.live.try_layer import layer_figure
from tests.support.examples import TOKENS, inputs

SETTING = {"length": 4, "dropout": 0.0, "seed": 1}


def causal(length, dropout):
    """The course's own class, as a learner would pass theirs."""
    return CausalAttention(4, 2, length, dropout)


@pytest.fixture
def shown(monkeypatch):
    """What is displayed: bundles, and the bundles by which the last one is replaced."""
    bundles = []

    class Handle:
        update = staticmethod(lambda bundle, raw: bundles.append(bundle))

    monkeypatch.setattr(interactive, "display", lambda bundle, raw, display_id=None: bundles.append(bundle) or Handle)
    return bundles


@pytest.fixture
def controls(monkeypatch):
    """{name: control} of the figure that is shown."""
    made = {}
    show = interactive.show

    def keep(listed, figure):
        made.update({control.description: control for control in listed})
        show(listed, figure)

    monkeypatch.setattr(interactive, "show", keep)
    return made


def moved(**setting):
    """What the figure of our own class hands over."""
    return torch.from_numpy(layer_figure(causal, inputs(), TOKENS, **SETTING | setting).data["moved"])


def test_it_shows_what_torch_computes_for_every_setting():
    torch.manual_seed(1)
    layer = causal(4, 0.0).double()
    expected = influences(lambda x: layer(x[None])[0], inputs())
    assert torch.equal(moved().nan_to_num(), expected) and torch.equal(moved() > 0, torch.ones(4, 4).tril().bool())
    assert moved(length=2).shape == (2, 2)
    assert (layer_figure(causal, inputs(), TOKENS, **SETTING).data["bare"] > 0).all(), "an emptied mask hides nothing"
    dropped = [moved(dropout=0.5, seed=seed) > 0 for seed in (1, 2)]
    assert not torch.equal(*dropped) and torch.equal(moved(dropout=0.5) > 0, dropped[0])


def test_a_function_is_drawn_beside_the_one_without_its_mask():
    def shares(x, hidden):
        return torch.softmax((x @ x.transpose(1, 2)).masked_fill(hidden, -torch.inf), dim=-1) @ x

    hidden = torch.tensor([[0, 1, 1, 1], [1, 0, 1, 1], [1, 0, 0, 1], [1, 0, 0, 0]]).bool()  # the first is padding

    def without(x):
        return shares(x, torch.zeros(4, 4).bool())

    told = layer_figure(lambda *_: lambda x: shares(x, hidden), inputs(), TOKENS, **SETTING, without=without).data
    assert ((torch.from_numpy(told["moved"]) > 0) == ~hidden).all() and (told["bare"] > 0).all()


def test_a_leak_that_is_small_is_no_less_a_leak():
    def leaking(x):  # masked after softmax: rows sum to less than 1
        return torch.softmax(1e-3 * x @ x.transpose(1, 2), dim=-1).tril() @ (1e-4 * x)

    told = layer_figure(lambda length, dropout: leaking, inputs(), TOKENS, **SETTING).data["moved"]
    assert (told > 0).all() and told[0, 3] < 1e-6


def test_controls_have_names_and_the_output_follows_them(shown, controls):
    try_layer(causal, inputs(), TOKENS)
    assert list(controls) == ["length", "dropout", "seed"]
    widget, figure = shown
    assert set(widget) == {interactive.WIDGET_VIEW}, "what is left of it later has no text of its own to be wrong"
    assert "Run this cell" in figure["text/html"] and "Run this cell" in figure["text/plain"]
    controls["length"].value = 2
    assert (
        shown[-1]["text/html"]
        == layer_figure(causal, inputs(), ["the (0)", "cat", "the (2)", "dog"], 2, 0.0, 123).html()
    )


@pytest.mark.parametrize(
    "make, left",
    [
        (lambda length, dropout: lambda x: x.cumsum(dim=1), ["length"]),
    ],
)
def test_controls_that_would_do_nothing_are_not_there(make, left, shown, controls):
    try_layer(make, inputs(), TOKENS)
    assert list(controls) == left


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda length, dropout: lambda x: None, "^Your layer returns None: fill in the exercise"),
        (lambda length, dropout: lambda x: x[0], r"^Your layer turns \(1, 4, d_in\) into \(4, 4\)"),
        (lambda length, dropout: lambda x: x @ torch.ones(3, 3).double(), "stopped with RuntimeError"),
        (lambda length, dropout: lambda x: x * torch.nan, "^Your layer gives nan or infinity"),
    ],
)
def test_a_layer_that_does_not_run_is_refused_in_a_sentence(make, sentence, shown, capsys):
    try_layer(make, inputs(), TOKENS)
    with pytest.raises(ValueError, match=sentence) as refused:
        layer_figure(make, inputs(), TOKENS, **SETTING)
    assert capsys.readouterr().out == f"{refused.value}\n" and not shown


def test_more_tokens_than_it_has_room_for_are_refused():
    with pytest.raises(ValueError, match="room for 24 tokens, not 25"):
        try_layer(causal, torch.ones(25, 4), ["a"] * 25)


def test_a_typed_sentence_is_drawn_and_one_that_cannot_be_gets_a_sentence(shown, controls):
    def heads_of(sentence):
        tokens = sentence.split()
        return torch.full((2, 3, len(tokens), len(tokens)), 1 / len(tokens)), tokens

    try_sentence(heads_of, "two words")
    controls["your sentence"].value = "now three words"
    assert "now" in shown[-1]["text/html"]
    controls["your sentence"].value = "word " * 45
    assert "room for 44 tokens, not 45" in shown[-1]["text/plain"]
    controls["your sentence"].value = ""
    assert "The model stopped with ZeroDivisionError: division by zero" in shown[-1]["text/plain"]
