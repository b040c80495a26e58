"""Chapter 8: which of two nouns each head of a model prefers, and which heads change when a word changes."""

from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.live.base import Figure
from course_utils.live.maps import packed

MOST_TOKENS = 16  # below each other on a narrow screen


def show_preferences(
    sentences: Mapping[str, tuple[ArrayLike, Sequence[str], str, str]], asks: str, *, layer: int = 0, head: int = 0
) -> None:
    """Show to which of two nouns a word gives more weight, in each head, for several sentences.

    sentences: {its change: (weights (num_layers, num_heads, T, T), T tokens, up to 16, one noun, the other)}.
    asks: the word that asks. layer, head: of the weights drawn at first. Raises ValueError for other input.
    """
    cases, tables = [], []
    for name, (weights, tokens, *nouns) in sentences.items():
        pictures.check_room(len(tokens), MOST_TOKENS, "tokens")
        if missing := {asks, *nouns} - set(tokens):
            raise ValueError(f"The sentence {' '.join(tokens)!r} has no token {min(missing)!r}.")
        shape = "num_layers", "num_heads", len(tokens), len(tokens)
        rows = pictures.shaped("weights", weights, "cover all heads of a model", *shape)[:, :, tokens.index(asks)]
        first, second = sorted(map(tokens.index, nouns))  # the first noun has the first colour
        ahead, nouns = rows[:, :, first] - rows[:, :, second], [tokens[first], tokens[second]]
        whole = (ahead * 1e5).round().astype(int)  # shorter
        cases.append({"name": name, "tokens": tokens, "nouns": nouns, "rows": packed(rows), "ahead": whole})
        tables.append(ahead)
    about = f'How strongly "{asks}" prefers the first noun, in each head, in "{" ".join(cases[0]["tokens"])}":'
    names, columns = ([f"{what} {k}" for k in range(size)] for what, size in zip(["layer", "head"], tables[0].shape))
    Figure("preferences", about, names, tables[0], columns, cases=cases, asks=asks, layer=layer, head=head).show()
