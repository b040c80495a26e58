"""Chapter 8: a sentence of your own, and all heads of a model on it."""

from collections.abc import Callable

from course_utils.live import interactive
from course_utils.live.all_heads import all_heads_figure


def try_sentence(heads_of: Callable, sentence: str) -> None:
    """Show all heads of a model on a sentence, with a box to type another one.

    heads_of(sentence) gives weights (num_layers, num_heads, T, T) and T tokens, T up to 44.
    """

    def figure(typed):
        try:
            weights, tokens = heads_of(typed)
        except Exception as error:  # whatever a model makes of a sentence
            raise ValueError(f"The model stopped with {type(error).__name__}: {error}") from error
        return all_heads_figure(weights, tokens)

    interactive.ask_for_sentence(sentence, figure)
