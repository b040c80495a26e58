"""How near is near enough: what rounding does to an answer costs nothing, and whatever is larger is wrong."""

import pytest
import torch
from torch import nn

from course_utils.exercises import EXERCISES, solutions
from course_utils.judging import differences
from course_utils.judging.calls import run_calls
from course_utils.judging.judge import judge


def worked(id):
    """The worked answer to an exercise."""
    exercise = EXERCISES[id]
    return solutions.answer_from_code(exercise, solutions.worked_answer(id)[0])


def verdict(id, answer):
    """The result of an answer."""
    return judge(EXERCISES[id], run_calls(answer, EXERCISES[id].calls))


@pytest.mark.parametrize("number", [0.25, -3.0, 2000.0])
def test_a_number_may_be_off_by_rounding_and_not_in_its_fourth_digit(number):
    for expected in (number, torch.tensor([number])):
        for off in (5e-5, -5e-5):
            assert differences.difference(expected, expected * (1 + off)) is None
            assert differences.difference(expected, expected * (1 + 10 * off))


def test_what_should_be_zero_may_be_off_by_rounding_and_no_more():
    for expected, found in [(0.0, float), (torch.zeros(1), lambda number: torch.tensor([number]))]:
        assert differences.difference(expected, found(5e-6)) is None
        assert differences.difference(expected, found(5e-5))


def test_a_factor_of_one_percent_or_a_thousandth_is_wrong_in_an_exercise():
    right = worked("3.2")
    for factor, status in [(1 + 2e-5, "right"), (1.001, "not yet"), (1.01, "not yet")]:
        assert verdict("3.2", lambda scores, factor=factor: right(scores) * factor).status == status


@pytest.mark.parametrize("factor, status", [(1.005, "right"), (0.995, "right"), (1.05, "not yet"), (0.95, "not yet")])
def test_a_gradient_may_be_off_by_rounding_and_not_by_five_percent(factor, status):
    first, *others = run_calls(worked("3.2"), EXERCISES["3.2"].calls)
    first["gradients"] = {place: gradient * factor for place, gradient in first["gradients"].items()}
    assert judge(EXERCISES["3.2"], [first, *others]).status == status


def test_a_small_gradient_beside_large_ones_may_be_off_by_what_rounds_them():
    first, *others = run_calls(worked("3.2"), EXERCISES["3.2"].calls)
    gradient = first["gradients"]["0"]
    largest = gradient.abs().max()
    for share, status in [(0.01, "right"), (0.03, "not yet")]:  # a hundredth of the largest number
        moved = gradient.clone()
        moved.view(-1)[gradient.abs().argmin()] += share * largest
        assert judge(EXERCISES["3.2"], [first | {"gradients": {"0": moved}}, *others]).status == status


# --- dropout ----------------------------------------------------------------------------------------------------------


def dropping(more, drawn_before=0):
    """An answer to exercise 4.1 that drops the share p + more, and scales for p."""

    class MyDropout(nn.Module):
        def __init__(self, p):
            super().__init__()
            self.p = p

        def forward(self, x):
            if not self.training:
                return x
            torch.rand(5000 * drawn_before)  # more than a call draws, so all are new
            kept = torch.rand(x.shape) >= self.p + more * (self.p > 0)
            return x * kept / (1 - self.p)

    return MyDropout


def test_dropout_may_miss_its_share_by_chance():
    for drawn_before in range(40):
        assert verdict("4.1", dropping(0, drawn_before)).status == "right"


@pytest.mark.parametrize("more", [0.1, -0.1])
def test_dropout_may_not_miss_its_share_by_a_tenth(more):
    result = verdict("4.1", dropping(more))
    assert result.status == "not yet" and "You drop " in result.message
    assert "of 1200 numbers; expected about 20%." in result.message


@pytest.mark.parametrize("off, status", [(5e-4, "right"), (5e-3, "not yet")])
def test_what_dropout_keeps_may_be_off_by_less_than_a_thousandth(off, status):
    class MyDropout(dropping(0)):
        def forward(self, x):
            dropped = super().forward(x)
            return dropped + off * (dropped != 0) if self.training else dropped

    assert verdict("4.1", MyDropout).status == status


def test_dropout_that_drops_the_same_share_in_every_call_is_wrong_also_where_it_rounds():
    class MyDropout(dropping(0)):
        def forward(self, x):
            if not self.training:
                return x
            kept = (torch.randperm(x.numel()) >= round(self.p * x.numel())).view(x.shape)
            return x * kept / (1 - self.p)

    result = verdict("4.1", MyDropout)
    assert result.status == "not yet" and "the same share" in result.message


def test_dropout_that_drops_whole_rows_is_wrong_also_where_their_share_is_right():
    class MyDropout(dropping(0)):
        def forward(self, x):
            if not self.training:
                return x
            rows = torch.randperm(x.shape[-2]) >= round(self.p * x.shape[-2])
            return x * rows[:, None] / (1 - self.p)

    result = verdict("4.1", MyDropout)
    assert result.status == "not yet" and "always dropped together" in result.message


@pytest.mark.parametrize("copies, status", [(2, "not yet"), (3, "not yet"), (6, "right"), (16, "right")])
def test_the_heads_that_survive_dropout_are_as_many_as_one_case_in_twenty_asks_for(copies, status):
    W_query, W_key, W_value = worked("4.2")()
    few = [W_query[:1], W_key[:1], W_value[:1]]
    assert verdict("4.2", lambda: tuple(each.repeat(copies, 1, 1) for each in few)).status == status
