"""Chapter 8: a sentence of your own, and all heads of a model on it."""

from collections.abc import Callable, Sequence

from numpy.typing import ArrayLike

from course_utils.live import interactive
from course_utils.live.all_heads import all_heads_figure
from course_utils.live.base import Figure


def try_sentence(heads_of: Callable[[str], tuple[ArrayLike, Sequence[str]]], sentence: str) -> None:
    """Show all heads of a model on a sentence, with a box to type another one.

    heads_of: heads_of(sentence) gives weights (num_layers, num_heads, T, T) and T tokens, T up to 44. sentence: the
    first one. A sentence on which the model stops is refused in a sentence.
    """

    def figure(typed: str) -> Figure:
        try:
            weights, tokens = heads_of(typed)
        except Exception as error:  # whatever a model makes of a sentence
            raise ValueError(f"The model stopped with {type(error).__name__}: {error}") from error
        return all_heads_figure(weights, tokens)

    interactive.ask_for_sentence(sentence, figure)
