"""Chapter 4: dropout on attention weights: its rate and its seed, beside the weights without it."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.live.base import Figure
from course_utils.randomness import keep_mask

RATES = [step / 20 for step in range(20)]  # 0 to 0.95
FIRST_SEED, MOST_SEEDS, MOST_DRAWS = 123, 50, 4000  # the first as in the chapter
MOST_TOKENS = 48


def show_dropout(weights: ArrayLike, tokens: Sequence[str], *, masked: ArrayLike | None = None) -> None:
    """Show weights without dropout and after it, with their row sums and controls for rate and seed.

    weights: (T, T), T up to 48. tokens: T names. masked: (T, T), True where a cell is hidden. Raises ValueError for
    other input.
    """
    names, _, maps, hidden = pictures.weight_maps(weights, tokens, masked)
    pictures.check_room(len(maps), 1, "map", "pick one head, weights[0]")
    pictures.check_room(len(names), MOST_TOKENS, "tokens")
    seeds = range(FIRST_SEED, FIRST_SEED + min(MOST_SEEDS, MOST_DRAWS // hidden.size))
    about = f"Map of the attention weights of {len(names)} tokens after dropout, with row sums. Before dropout:"
    draws = {"seeds": [seeds[0], seeds[-1]], "draws": [draw(hidden.shape, seed) for seed in seeds]}
    Figure("dropout", about, names, maps[0], names, weights=maps[0], masked=hidden, **draws).show()


def draw(shape: Sequence[int], seed: int) -> str:
    """A letter for each entry of a map: at how many of the rates, from 0 upwards, it is kept, "b" for one.

    At a higher rate some of those are kept that are kept at a lower one.
    """
    kept = sum(keep_mask(shape, rate, seed).flatten().int() for rate in RATES)
    return "".join(chr(ord("a") + count) for count in kept.tolist())
