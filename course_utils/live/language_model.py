"""Chapter 11: all heads of a language model on a sentence, and the next word when some of them are off."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np
from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.live import interactive
from course_utils.live.base import Figure

MOST_TOKENS = 24  # in a large map beside all heads
WORDS, STORED_WORDS = 5, 3  # the likeliest next ones; fewer in stored runs, which are many


def try_language_model(
    run: Callable[[str, list[tuple[int, int]]], tuple[Sequence[str], ArrayLike, ArrayLike]],
    each_off: Callable[[str, list[int]], ArrayLike],
    word_of: Callable[[list[int]], str],
    sentences: Sequence[str],
    *,
    layer: int = 0,
    head: int = 0,
) -> None:
    """Show all heads of a language model and the next word, with boxes for a sentence and for heads to switch off.

    run: run(sentence, [(layer, head), ...]) returns T tokens, T up to 24, weights (num_layers, num_heads, T, T), and
    the probability of each token of the vocabulary as the next one, with these heads off. each_off: each_off(sentence,
    numbers) returns (num_layers, num_heads, len(numbers)), the probabilities of these tokens with only one head off.
    word_of: the text of a list of token numbers. sentences: those that are run at once and stored, to be viewed without
    a kernel. layer, head: the large one at first. If the model stops, the figure says so.
    """
    sentence = widgets.Text(description="your sentence", continuous_update=False, **interactive.FULL_LABELS)
    off = widgets.Text(description="heads off, such as 23.3 18.6", continuous_update=False, **interactive.FULL_LABELS)
    sentence.add_class("own-sentence")  # where clicks in the figure find them
    off.add_class("heads-off")
    stored = language_model_figure([stored_run(run, each_off, word_of, each) for each in sentences], layer, head)

    def figure() -> Figure:
        if not sentence.value and not off.value:
            return stored
        try:
            heads = heads_in(off.value)
            live = live_run(run, word_of, sentence.value or sentences[0], heads)
        except Exception as error:  # a model may raise anything
            raise ValueError(f"The model stopped with {type(error).__name__}: {error}") from error
        return language_model_figure([live], *(heads[-1] if heads else (layer, head)))

    interactive.show([sentence, off], figure)


def heads_in(text: str) -> list[tuple[int, int]]:
    """The heads that a text such as "23.3 18.6" names. Raises ValueError for anything else."""
    names = text.replace(",", " ").split()
    if wrong := [name for name in names if not re.fullmatch(r"\d+\.\d+", name)]:
        raise ValueError(f"{wrong[0]} is not a head: write layer.head, such as 23.3")
    return [(int(layer), int(head)) for layer, _, head in (name.partition(".") for name in names)]


def stored_run(run: Any, each_off: Any, word_of: Any, sentence: str) -> Any:
    """The data for a sentence with any one head off."""
    shown = live_run(run, word_of, sentence, [], STORED_WORDS)
    chances = pictures.array(each_off(sentence, shown["numbers"]))
    return shown | {"each": np.rint(1000 * chances).astype(int)}  # as many digits as are printed


def live_run(run: Any, word_of: Any, sentence: str, heads: Sequence[tuple[int, int]], count: int = WORDS) -> Any:
    """The data for a sentence with these heads off, and for `count` next words."""
    tokens, weights, before = run(sentence, [])
    names = pictures.numbered([token.strip() or repr(token) for token in tokens], MOST_TOKENS)
    numbers = np.argsort(-pictures.array(before), kind="stable")[:count].tolist()
    _, weights, after = run(sentence, list(heads)) if heads else (tokens, weights, before)
    weights = pictures.shaped("weights", weights, "cover all heads", "num_layers", "num_heads", len(names), len(names))
    seen: Any = np.tril(np.ones((len(names), len(names)), bool))
    seen[0] = False  # the first token sees only itself
    shares = np.rint(100 * weights[:, :, seen]).astype(int)  # (num_layers, num_heads, all that is seen)
    return {
        "text": sentence,
        "names": names,
        "shape": list(weights.shape[:2]),
        "shares": "".join(chr(35 + share) for share in shares.ravel().tolist()),
        "numbers": numbers,
        "words": [word_of([number]).strip() or repr(word_of([number])) for number in numbers],
        "before": pictures.array(before)[numbers],
        "after": pictures.array(after)[numbers],
        "off": [f"{layer}.{head}" for layer, head in heads],
    }


def language_model_figure(runs: Sequence[Any], layer: int, head: int) -> Figure:
    """The Figure of some runs."""
    first = runs[0]
    about = f'All {np.prod(first["shape"])} heads of a model, and the next word after "{" ".join(first["names"])}":'
    rows = np.stack([first["before"], first["after"]], axis=1)
    columns = ["all heads", "only heads that are on"]
    return Figure("language_model", about, first["words"], rows, columns, runs=list(runs), layer=layer, head=head)
