"""Chapter 4: dropout on attention weights: its rate, its seed, two samplers, training and evaluation."""

from collections.abc import Callable, Sequence

from numpy.typing import ArrayLike
from torch import Tensor

from course_utils import pictures
from course_utils.live.base import Figure
from course_utils.randomness import keep_mask, keep_mask_b

RATES = [step / 20 for step in range(20)]  # 0 to 0.95
FIRST_SEED, MOST_SEEDS, MOST_DRAWS = 123, 50, 4000  # the first as in the chapter
MOST_TOKENS = 48


def show_dropout(weights: ArrayLike, tokens: Sequence[str], *, masked: ArrayLike | None = None) -> None:
    """Show weights after dropout with their row sums, with controls for rate, seed, sampler and mode.

    weights: (T, T), T up to 48. tokens: T names. masked: (T, T), True where a cell is hidden. Raises ValueError for
    other input.
    """
    names, _, maps, hidden = pictures.weight_maps(weights, tokens, masked)
    pictures.check_room(len(maps), 1, "map", "pick one head, weights[0]")
    pictures.check_room(len(names), MOST_TOKENS, "tokens")
    seeds = range(FIRST_SEED, FIRST_SEED + min(MOST_SEEDS, MOST_DRAWS // hidden.size))
    about = f"Map of the attention weights of {len(names)} tokens after dropout, with row sums. Before dropout:"
    Figure(
        "dropout",
        about,
        names,
        maps[0],
        names,
        weights=maps[0],
        masked=hidden,
        seeds=[seeds[0], seeds[-1]],
        draws=[[draw(sampler, hidden.shape, seed) for seed in seeds] for sampler in (keep_mask, keep_mask_b)],
    ).show()


def draw(sampler: Callable[[Sequence[int], float, int], Tensor], shape: Sequence[int], seed: int) -> str:
    """A letter for each entry of a map: at how many of the rates, from 0 upwards, this sampler keeps it, "b" for one.

    At a higher rate a sampler keeps some of those that it keeps at a lower one.
    """
    kept = sum(sampler(shape, rate, seed).flatten().int() for rate in RATES)
    return "".join(chr(ord("a") + count) for count in kept.tolist())
