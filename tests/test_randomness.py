"""Dropout masks that are the same on every machine: the two that the sources print."""

import pytest
import torch

from course_utils.randomness import keep_mask, keep_mask_b
from tests.support.ledger import tensor

MASKS = [keep_mask, keep_mask_b]


def test_mask_a_is_what_the_first_source_prints():
    assert torch.equal(keep_mask((6, 6), 0.5, seed=123) * 2.0, tensor("S0", 417))


def test_mask_b_is_what_the_third_source_prints():
    weights = torch.softmax(tensor("S3", 226).log(), dim=-1)
    dropped = weights * keep_mask_b((6, 6), 0.5, seed=123) / 0.5
    assert torch.allclose(dropped, tensor("S3", 246), atol=0.0002)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
def test_a_mask_drops_the_share_it_is_told_to(mask, p):
    kept = mask((100, 200), p, seed=1)
    assert kept.dtype == torch.bool and kept.shape == (100, 200)
    assert abs(kept.double().mean() - (1 - p)) < 0.02


@pytest.mark.parametrize("mask", MASKS)
def test_drawing_a_mask_leaves_the_global_random_state_alone(mask):
    before = torch.get_rng_state()
    assert not torch.equal(mask((6, 6), 0.5, seed=1), mask((6, 6), 0.5, seed=2))
    assert torch.equal(torch.get_rng_state(), before)
