"""Attention weights that you can walk through: one map per head, any number of heads, your own sentence."""

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from course_utils import pictures
from course_utils.live.base import ALL, LiveFigure, choice
from course_utils.live.colours import OUTLINE, WEIGHTS
from course_utils.live.drawing import Box, Drawing, Words
from course_utils.live.maps import MANY, add_map, add_pixel_map, margins

ACROSS = 4  # maps side by side
SAID = 3  # keys and heads that the sentence names
SUMS = 44  # pixels for a column of row sums
TITLE = 24  # pixels


def show_attention(
    weights: ArrayLike,
    tokens: Sequence[str],
    *,
    scores: ArrayLike | None = None,
    masked: ArrayLike | None = None,
    key_tokens: Sequence[str] | None = None,
) -> None:
    """Show attention weights with controls for the query and the head.

    weights: (T, T), or (num_heads, T, T). tokens: T names. scores: the same shape, to be read when you point at a cell;
    minus infinity is masked. masked: (T, T), True where a cell is hidden. key_tokens: the S names of the keys where
    they are another sequence; all shapes then end in (T, S). Raises ValueError for what cannot be drawn.
    """
    attention_figure(weights, tokens, scores, masked, key_tokens).show()


def attention_figure(weights, tokens, scores=None, masked=None, key_tokens=None):
    """The LiveFigure that show_attention shows."""
    key_tokens = tokens if key_tokens is None else key_tokens
    heads = pictures.weight_panels(weights, tokens, key_tokens)  # (num_heads, T, S)
    names, keys = pictures.numbered(tokens), pictures.numbered(key_tokens)
    hidden = pictures.hidden_cells(masked, tokens, key_tokens)
    if scores is not None:
        scores = pictures.score_panels(scores, tokens, key_tokens)
        if scores.shape != heads.shape:
            raise ValueError(f"There are {len(heads)} maps of weights and {len(scores)} of scores: pass one for one.")
        hidden = hidden | np.isneginf(scores).any(axis=0)

    @functools.cache  # the maps stay as they are while the query moves
    def maps(*chosen):
        return draw_maps(heads, scores, names, keys, hidden, chosen)

    def draw(query, head=ALL):
        chosen = range(len(heads)) if head == ALL else [head]
        return draw_query(maps(*chosen), heads, names, keys, chosen, None if query == ALL else query)

    controls = {"query": choice("query", names, ALL)}
    if len(heads) > 1:
        controls["head"] = choice("head", [str(head + 1) for head in range(len(heads))], ALL)
    count = f"{len(heads)} heads" if len(heads) > 1 else "one head"
    size = f"{len(names)} tokens" if keys == names else f"{len(names)} tokens that ask {len(keys)}"
    return LiveFigure(draw, controls, f"Maps of attention weights, {count}, {size}: a row per query.")


def draw_query(maps, heads, names, keys, chosen, query):
    """The drawing: the maps of the chosen heads with the row of the query (a position or None) outlined, in words."""
    drawing = Drawing(maps.width, maps.height, say(heads, names, keys, chosen, query))
    drawing.add(*maps.shapes)
    if query is not None:
        cell, corners = layout(names, keys, len(chosen))[:2]
        drawing.add(*(Box(x, y + query * cell, len(keys) * cell, cell, outline=OUTLINE) for x, y in corners))
    return drawing


def layout(names, keys, maps):
    """(pixels per cell, the corner of each map, width and height of the drawing) for this many maps."""
    across = min(ACROSS, maps)
    cell = cell_size(max(len(names), len(keys)), maps)
    left, top = margins(names, keys, cell)
    wide, high = left + len(keys) * cell + SUMS, TITLE + top + len(names) * cell + 10
    corners = [(place % across * wide + left, place // across * high + TITLE + top) for place in range(maps)]
    return cell, corners, across * wide, -(-maps // across) * high


def draw_maps(heads, scores, names, keys, hidden, chosen):
    """A drawing with a map for each chosen head."""
    cell, corners, width, height = layout(names, keys, len(chosen))
    drawing = Drawing(width, height)
    top = margins(names, keys, cell)[1]
    pixels = len(names) * len(keys) * len(chosen) > MANY
    for (x, y), head in zip(corners, chosen):
        if len(heads) > 1:
            drawing.add(Words(x, y - top - TITLE / 2, f"head {head + 1}", bold=True))
        look = {"cell": cell, "scale": WEIGHTS, "hidden": hidden}
        if pixels:
            add_pixel_map(drawing, x, y, heads[head], row_words=favourites(heads[head], names, keys), **look)
        else:
            words = words_of(heads[head], None if scores is None else scores[head], names, keys, hidden)
            add_map(drawing, x, y, heads[head], names, keys, words=words, **look)
    return drawing


def cell_size(size, maps):
    """Pixels per cell, so that a map is as large as it may be beside the others."""
    room = {1: 640, 2: 380, 3: 260}.get(maps, 210)
    largest = 46 if maps == 1 else 36
    return max(3, min(largest, room // size))


def words_of(weights, scores, names, keys, hidden):
    """What pointing at a cell says, as a function of the positions of query and key."""
    weights, hidden = weights.tolist(), hidden.tolist()  # quicker to read one by one
    scores = scores if scores is None else scores.tolist()

    def words(query, key):
        pair = f'query "{names[query]}", key "{keys[key]}": '
        if hidden[query][key]:
            return f"{pair}masked"
        score = "" if scores is None else f"score {scores[query][key]:.4f}, "
        return f"{pair}{score}weight {weights[query][key]:.4f}"

    return words


def favourites(weights, names, keys):
    """A sentence per query: the keys that it attends to most."""
    best = np.argsort(-weights, axis=1, kind="stable")[:, :SAID]  # (T, SAID)
    shares = np.take_along_axis(weights, best, axis=1).tolist()
    return [
        f'query "{name}" attends most to '
        + ", ".join(f'"{keys[key]}" ({share:.2f})' for key, share in zip(places, row))
        for name, places, row in zip(names, best.tolist(), shares)
    ]


def say(heads, names, keys, chosen, query):
    """The drawing in words."""
    if query is None:
        apart = "; each map is a head" if len(chosen) > 1 else ""
        return (
            f"Each row is a query, each column a key, and a row's sum stands beside it{apart}. Pick a query to read it."
        )
    said = [favourites(heads[head], names, keys)[query] for head in chosen[:SAID]]
    if len(heads) > 1:
        said = [f"head {head + 1}: {sentence}" for head, sentence in zip(chosen, said)]
    more = " Pick a head to read the others." if len(chosen) > SAID else ""
    return "; ".join(said)[0].upper() + "; ".join(said)[1:] + "." + more
