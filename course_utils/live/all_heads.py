"""Chapter 8: all heads of a model as small maps, and one of them large: layers and heads counted from 0."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.live.base import Figure
from course_utils.live.maps import packed
from course_utils.live.vectors import check_count

MOST_TOKENS = 44  # one pixel each in a small map


def show_all_heads(weights: ArrayLike, tokens: Sequence[str], *, layer: int = 0, head: int = 0) -> None:
    """Show every head of a model as a small map, and one as a large one, with controls for layer, head and query.

    weights: (num_layers, num_heads, T, T), T up to 44. tokens: T names. layer, head: the large one at first, from 0.
    Raises ValueError for other input.
    """
    all_heads_figure(weights, tokens, layer, head).show()


def all_heads_figure(weights, tokens, layer=0, head=0):
    """The Figure that show_all_heads shows."""
    weights = pictures.array(weights)
    if weights.ndim != 4:
        raise ValueError(
            f"All heads of a model are (num_layers, num_heads, T, T); this has shape {weights.shape}. "
            "For the heads of one layer take show_attention."
        )
    check_count(len(tokens), MOST_TOKENS)
    num_layers, num_heads = weights.shape[:2]
    if not (0 <= layer < num_layers and 0 <= head < num_heads):
        raise ValueError(
            f"There is no layer {layer}, head {head}: layers go from 0 to {num_layers - 1}, "
            f"heads from 0 to {num_heads - 1}."
        )
    for heads in weights:
        pictures.weight_panels(heads, tokens, tokens)  # refuses what are no weights
    names = pictures.numbered(tokens)

    about = (
        f"Small maps of {num_layers} layers with {num_heads} heads each, one of them large, {len(names)} tokens. "
        f"Layer {layer}, head {head}:"
    )
    large = weights[layer, head]
    return Figure("all_heads", about, names, large, names, weights=packed(weights), layer=layer, head=head)
