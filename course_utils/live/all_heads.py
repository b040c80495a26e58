"""Chapter 8: all heads of a model as small maps, with one of them large, also for your own sentence."""

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.live import interactive
from course_utils.live.base import Figure
from course_utils.live.maps import packed

MOST_TOKENS = 44  # one pixel each in a small map


def show_all_heads(weights: ArrayLike, tokens: Sequence[str], *, layer: int = 0, head: int = 0) -> None:
    """Show every head of a model as a small map, and one as a large one, with controls for layer, head and query.

    weights: (num_layers, num_heads, T, T), T up to 44. tokens: T names. layer, head: the large one at first, from 0.
    Raises ValueError for other input.
    """
    all_heads_figure(weights, tokens, layer, head).show()


def all_heads_figure(
    weights: ArrayLike, tokens: Sequence[str], layer: int = 0, head: int = 0, beside: Sequence[Any] = ()
) -> Figure:
    """The Figure that show_all_heads shows. beside: weights and tokens of another sentence, for the same head."""
    names = pictures.numbered(tokens, MOST_TOKENS)
    wanted = "cover all heads of a model (for the heads of one layer, use show_attention)"
    weights = pictures.shaped("weights", weights, wanted, "num_layers", "num_heads", len(names), len(names))
    pictures.check_weights(weights)
    num_layers, num_heads = weights.shape[:2]
    if layer not in range(num_layers) or head not in range(num_heads):
        known = f"layers go from 0 to {num_layers - 1}, heads from 0 to {num_heads - 1}"
        raise ValueError(f"There is no layer {layer}, head {head}: {known}.")
    about = f"Maps for {num_layers} layers × {num_heads} heads on {len(names)} tokens. Layer {layer}, head {head}:"
    more = {"layer": layer, "head": head, "beside": all_heads_figure(*beside).data if beside else None}
    return Figure("all_heads", about, names, weights[layer, head], names, weights=packed(weights), **more)


def try_sentence(heads_of: Callable[[str], tuple[ArrayLike, Sequence[str]]], sentence: str, **more: Any) -> None:
    """Show all heads of a model on a sentence, with a box to type another one. If the model stops, the figure says so.

    heads_of: heads_of(sentence) returns weights (num_layers, num_heads, T, T) and T tokens, T up to 44. sentence: the
    first one. more: layer and head of the large one; beside: what heads_of gave for a sentence to compare with.
    """

    def figure(typed: str) -> Figure:
        try:
            weights, tokens = heads_of(typed)
        except Exception as error:  # a model may raise anything
            raise ValueError(f"The model stopped with {type(error).__name__}: {error}") from error
        return all_heads_figure(weights, tokens, **more)

    interactive.ask_for_sentence(sentence, figure)
