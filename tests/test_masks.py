"""A wrong mask is described kind of key by kind, and drawn beside the expected one."""

import pytest
import torch

from course_utils.checking import commands
from course_utils.exercises import EXERCISES
from course_utils.judging.masks import Mask, difference


def future(T):
    return torch.ones(T, T).triu(1).bool()


def rows_hidden(is_padding):
    return (future(is_padding.shape[1]) | is_padding[:, :, None]) & ~torch.eye(is_padding.shape[1]).bool()


def itself_hidden(is_padding):
    return future(is_padding.shape[1]) | is_padding[:, None, :]


def every_key_kept(attention_mask):
    return torch.ones(len(attention_mask), 1, *attention_mask.shape[-1:] * 2).bool()


def future_kept(attention_mask):
    """As it should be, but for real queries that see real keys in the future."""
    real, size = attention_mask.bool(), attention_mask.shape[-1]
    return (real[:, None, None, :] & (~future(size) | real[:, None, :, None])).bool()


def nothing_beyond_the_future(num_new, num_tokens, window):
    return future(num_tokens)[num_tokens - num_new :]


@pytest.mark.parametrize(
    "id, answer, words",
    [
        ("3.4", rows_hidden, "Real keys in the past are hidden from padding queries; they should be visible."),
        ("3.4", itself_hidden, "Padding tokens are hidden from themselves; they should be visible."),
        ("6.2", every_key_kept, "Padding tokens are visible to themselves; they should be hidden."),
        ("6.2", future_kept, "Real keys in the future are visible to real queries; they should be hidden."),
        ("10.2", nothing_beyond_the_future, "Some keys in the past are visible to queries; they should be hidden."),
    ],
)
def test_what_a_mask_hides_is_told_kind_by_kind(id, answer, words):
    assert words in commands.judge_attempt(EXERCISES[id], answer).message


def test_rows_are_the_newest_tokens_and_what_holds_for_all_queries_is_told_once():
    padding = torch.tensor([[True, False, False, True]])
    expected, got = torch.zeros(1, 2, 4).bool(), torch.zeros(1, 2, 4).bool()
    got[0, 0, 3], got[0, :, 0] = True, True
    mask = Mask(true="hidden", padding=lambda arguments: arguments[0])
    assert difference(mask, [padding], expected.numpy(), got.numpy()) == (
        "Padding keys in the past are hidden from all queries; they should be visible."
        " Padding keys in the future are hidden from real queries; they should be visible."
    )


def test_the_first_map_that_differs_is_drawn_and_its_cells_that_differ_are_framed():
    def second_of_a_batch_is_wrong(scores):
        T = scores.shape[-1]
        weights = scores.masked_fill(future(T), -torch.inf).softmax(-1)
        if T > 1:
            weights[1:, 1] = torch.eye(T)[0]
        return weights

    page = commands.judge_attempt(EXERCISES["3.2"], second_of_a_batch_is_wrong).html()
    assert page.count("outline:") == 2 * 2, "two cells of row 1, in both maps"
