"""Chapters 1 and 2: a head whose numbers you wrote, on any sentence of its words."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.live import interactive
from course_utils.live.attention import attention_figure
from course_utils.live.base import Figure
from course_utils.pictures import Numbers, Truths


def try_head(weights_of: Callable[[list[str]], ArrayLike], sentence: str) -> None:
    """Show the weights of your own head on a sentence, with a box to type another one.

    weights_of: weights_of(words), for a list of T words, gives weights (T, T), or (T,) for a single query.
    sentence: the first one. If the head cannot be run on the words, a sentence says why.
    """
    known = sentence.split()
    interactive.ask_for_sentence(sentence, lambda typed: head_figure(weights_of, typed.split(), known))


def head_figure(weights_of: Callable[[list[str]], ArrayLike], words: list[str], known: Iterable[str] = ()) -> Figure:
    """The Figure of a head's weights on a list of words. Raises ValueError, in words, if there are none.

    known: words that have numbers, to be named where another has none.
    """
    try:
        weights = pictures.array(weights_of(words))
    except (KeyError, ValueError) as missing:
        word = next((word for word in words if word in str(missing)), None)
        words_known = f'"{word}" has no numbers here. Words with numbers: {", ".join(dict.fromkeys(known))}.'
        raise ValueError(words_known if word else str(missing)) from missing
    except Exception as error:  # whatever a learner's code does
        raise ValueError("Nothing to show yet: fill in the exercise. (If it is not empty, run its check.)") from error
    if weights.ndim == 1:
        return attention_figure(weights[None], ["your query"], key_tokens=words)
    return attention_figure(weights, words, masked=hidden_in(weights, weights_of, words), key_tokens=words)


def hidden_in(weights: Numbers, weights_of: Callable[[list[str]], ArrayLike], words: list[str]) -> Truths | None:
    """Which keys a causal mask hides from which query, (T, T), as far as a head's weights tell; None for nothing."""
    # a weight may be 0 because scores lie far apart; of one word again and again, they do not
    again = pictures.array(weights_of(words[:1] * len(words)))
    future: Truths = np.triu(np.ones((len(words), len(words)), bool), 1)
    before: Truths = future | np.eye(len(words), dtype=bool)
    before[0, 0] = False  # the first token sees itself even where the others do not
    if np.array_equal(again == 0, before):
        return before
    return None if weights[..., future].any() or again[..., future].any() else future
