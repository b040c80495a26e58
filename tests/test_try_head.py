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


def hiding(k, scores):
    """Weights (T, T) of a head that sees keys up to the one k after itself, and the first token itself."""

    def weights_of(words):
        T = len(words)
        hidden = torch.ones(T, T).triu(diagonal=k + 1).bool()
        hidden[0, 0] = False
        return torch.softmax(scores(words).masked_fill(hidden, -torch.inf), dim=-1)

    return weights_of


def by_word(words):
    """Scores (T, T) so far apart that 32 bits hold no small weights."""
    return 200 * torch.tensor([[float(a == b) for b in words] for a in words])


def by_place(words):
    """Scores (T, T) that find the token before, so far from the others that they get exactly 0."""
    return 200 * torch.eye(len(words)).roll(-1, dims=1)


@pytest.mark.parametrize(
    "head, hidden",
    [
        (hiding(-1, by_word), torch.ones(4, 4).triu() - torch.diag(torch.eye(4)[0])),  # the first sees itself
        (hiding(0, by_word), torch.ones(4, 4).triu(diagonal=1)),
        (hiding(0, by_place), torch.ones(4, 4).triu(diagonal=1)),
        (lambda words: torch.softmax(by_word(words), dim=-1), torch.zeros(4, 4)),
        (lambda words: torch.softmax(by_place(words), dim=-1), torch.zeros(4, 4)),
        (lambda words: torch.eye(4) if words == list("abac") else torch.full((4, 4), 0.25), torch.zeros(4, 4)),
    ],
)
def test_a_mask_is_told_from_weights_that_are_only_small(head, hidden):
    masked = head_figure(head, list("abac")).data["masked"]
    assert (torch.as_tensor(masked) == hidden.bool()).all()


@pytest.mark.parametrize(
    "head, words, sentence",
    [
        (weights_of, ["cat", "bird"], '"bird" has no numbers here. Words with numbers: cat, dog.'),
        (lambda words: torch.eye(3) @ None, WORDS, "fill in the exercise"),
        (lambda words: -weights_of(words), WORDS, "look like scores"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(head, words, sentence):
    with pytest.raises(ValueError, match=sentence):
        head_figure(head, words, WORDS)
