"""A head whose numbers a learner wrote: drawn for any sentence of its words, and refused in a sentence."""

import pytest
import torch

from course_utils.live.try_head import head_figure

WORDS = ["cat", "dog", "cat"]
NUMBERS = {"cat": 1.0, "dog": 2.0}


def weights_of(words):
    """Weights (T, T) by one number a word."""
    x = torch.tensor([[NUMBERS[word]] for word in words])
    return torch.softmax(x @ x.T, dim=-1)


def test_it_hands_over_what_torch_computes():
    figure = head_figure(weights_of, WORDS)
    assert figure.data["names"] == ["cat (0)", "dog", "cat (2)"]
    assert torch.allclose(torch.tensor(figure.data["weights"][0]).float(), weights_of(WORDS))


def test_a_single_query_and_several_heads_are_drawn():
    assert head_figure(lambda words: weights_of(words)[0], WORDS).data["names"] == ["your query"]
    assert len(head_figure(lambda words: weights_of(words).expand(4, 3, 3), WORDS).data["weights"]) == 4


@pytest.mark.parametrize(
    "head, words, sentence",
    [
        (weights_of, ["cat", "bird"], '"bird" has no numbers here. Words that have: cat, dog.'),
        (lambda words: torch.eye(3) @ None, WORDS, "fill in the exercise"),
        (lambda words: -weights_of(words), WORDS, "look like scores"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(head, words, sentence):
    with pytest.raises(ValueError, match=sentence):
        head_figure(head, words, WORDS)
