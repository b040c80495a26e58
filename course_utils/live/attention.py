"""Attention weights that you can walk through: one map per head, any number of heads, your own sentence."""

import functools

import numpy as np

from course_utils import pictures
from course_utils.live.base import ALL, LiveFigure, choice
from course_utils.live.colours import OUTLINE, WEIGHTS
from course_utils.live.drawing import Box, Drawing, Words
from course_utils.live.maps import MANY, add_map, add_pixel_map, margins

ACROSS = 4  # maps side by side
SAID = 3  # keys and heads that the sentence names
SUMS = 44  # pixels for a column of row sums
TITLE = 24  # pixels


def show_attention(weights, tokens, *, scores=None, masked=None):
    """Show attention weights with controls for the query and the head.

    weights: (T, T), or (num_heads, T, T). tokens: T names. scores: the same shape, to be read when you point at a cell;
    minus infinity is masked. masked: (T, T), True where a cell is hidden. Raises ValueError for what cannot be drawn.
    """
    attention_figure(weights, tokens, scores, masked).show()


def attention_figure(weights, tokens, scores=None, masked=None):
    """The LiveFigure that show_attention shows."""
    heads = pictures.weight_panels(weights, tokens, tokens)  # (num_heads, T, T)
    names = pictures.numbered(tokens)
    hidden = pictures.hidden_cells(masked, tokens, tokens)
    if scores is not None:
        scores = pictures.score_panels(scores, tokens, tokens)
        if scores.shape != heads.shape:
            raise ValueError(f"There are {len(heads)} maps of weights and {len(scores)} of scores: pass one for one.")
        hidden = hidden | np.isneginf(scores).any(axis=0)

    @functools.cache  # the maps stay as they are while the query moves
    def maps(*chosen):
        return draw_maps(heads, scores, names, hidden, chosen)

    def draw(query, head=ALL):
        chosen = range(len(heads)) if head == ALL else [head]
        return draw_query(maps(*chosen), heads, names, chosen, None if query == ALL else query)

    controls = {"query": choice("query", names, ALL)}
    if len(heads) > 1:
        controls["head"] = choice("head", [str(head + 1) for head in range(len(heads))], ALL)
    count = f"{len(heads)} heads" if len(heads) > 1 else "one head"
    return LiveFigure(draw, controls, f"Maps of attention weights, {count}, {len(names)} tokens: a row per query.")


def draw_query(maps, heads, names, chosen, query):
    """The drawing: the maps of the chosen heads with the row of the query (a position or None) outlined, in words."""
    drawing = Drawing(maps.width, maps.height, say(heads, names, chosen, query))
    drawing.add(*maps.shapes)
    if query is not None:
        cell, corners = layout(names, len(chosen))[:2]
        drawing.add(*(Box(x, y + query * cell, len(names) * cell, cell, outline=OUTLINE) for x, y in corners))
    return drawing


def layout(names, maps):
    """(pixels per cell, the corner of each map, width and height of the drawing) for this many maps."""
    size, across = len(names), min(ACROSS, maps)
    cell = cell_size(size, maps)
    left, top = margins(names, cell)
    wide, high = left + size * cell + SUMS, TITLE + top + size * cell + 10
    corners = [(place % across * wide + left, place // across * high + TITLE + top) for place in range(maps)]
    return cell, corners, across * wide, -(-maps // across) * high


def draw_maps(heads, scores, names, hidden, chosen):
    """A drawing with a map for each chosen head."""
    cell, corners, width, height = layout(names, len(chosen))
    drawing = Drawing(width, height)
    top = margins(names, cell)[1]
    pixels = len(names) ** 2 * len(chosen) > MANY
    for (x, y), head in zip(corners, chosen):
        if len(heads) > 1:
            drawing.add(Words(x, y - top - TITLE / 2, f"head {head + 1}", bold=True))
        look = {"cell": cell, "scale": WEIGHTS, "hidden": hidden}
        if pixels:
            add_pixel_map(drawing, x, y, heads[head], row_words=favourites(heads[head], names), **look)
        else:
            words = words_of(heads[head], None if scores is None else scores[head], names, hidden)
            add_map(drawing, x, y, heads[head], names, words=words, **look)
    return drawing


def cell_size(size, maps):
    """Pixels per cell, so that a map is as large as it may be beside the others."""
    room = {1: 640, 2: 380, 3: 260}.get(maps, 210)
    largest = 46 if maps == 1 else 36
    return max(3, min(largest, room // size))


def words_of(weights, scores, names, hidden):
    """What pointing at a cell says, as a function of the positions of query and key."""
    weights, hidden = weights.tolist(), hidden.tolist()  # quicker to read one by one
    scores = scores if scores is None else scores.tolist()

    def words(query, key):
        pair = f'query "{names[query]}", key "{names[key]}": '
        if hidden[query][key]:
            return f"{pair}masked"
        score = "" if scores is None else f"score {scores[query][key]:.4f}, "
        return f"{pair}{score}weight {weights[query][key]:.4f}"

    return words


def favourites(weights, names):
    """A sentence per query: the keys that it attends to most."""
    best = np.argsort(-weights, axis=1, kind="stable")[:, :SAID]  # (T, SAID)
    shares = np.take_along_axis(weights, best, axis=1).tolist()
    return [
        f'query "{name}" attends most to ' + ", ".join(f'"{names[key]}" ({share:.2f})' for key, share in zip(keys, row))
        for name, keys, row in zip(names, best.tolist(), shares)
    ]


def say(heads, names, chosen, query):
    """The drawing in words."""
    if query is None:
        apart = "; each map is a head" if len(chosen) > 1 else ""
        return (
            f"Each row is a query, each column a key, and a row's sum stands beside it{apart}. Pick a query to read it."
        )
    said = [favourites(heads[head], names)[query] for head in chosen[:SAID]]
    if len(heads) > 1:
        said = [f"head {head + 1}: {sentence}" for head, sentence in zip(chosen, said)]
    more = " Pick a head to read the others." if len(chosen) > SAID else ""
    return "; ".join(said)[0].upper() + "; ".join(said)[1:] + "." + more
