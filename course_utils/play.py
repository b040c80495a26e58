"""Puzzles to play on the page: a figure that takes a head's numbers, and says of them what `check` says.

What belongs here: how a puzzle gets onto the page. Not: what it asks, which is with the exercises, or how the page
judges it, which is in `live/judge.js`.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_utils.exercises import EXERCISES, chapter_1, chapter_2, chapter_3, chapter_4, chapter_5, puzzles
from course_utils.live.base import Figure

__all__ = ["show_puzzle"]

PIECES = 65536  # a number of 128 bits travels in 8 of them
OF_MATRICES = "[\n    torch.tensor({}),\n    torch.tensor({}),\n    torch.tensor({}),\n]"


@dataclass(frozen=True)
class Board:
    """How a puzzle is played.

    kind: what its numbers are: a "query", a "table" of embeddings, "matrices", or a "stack" of matrices for each head.
    words: the vocabulary. axes: the names of the rows that are filled in. sentence: the first one that is shown.
    embed: words -> embeddings (T, d). read: words -> how they should be read. python: the answer around the numbers.
    columns: of W_query at first. horizon: how far a token sees after itself. places: positions that tell words apart.
    opening: a mistake to begin with: of each matrix, the rows that are not 0.
    """

    kind: str
    words: Sequence[str]
    axes: Sequence[str]
    sentence: str
    embed: Callable[[list[str]], Any]
    read: Callable[[list[str]], puzzles.Reading]
    python: str = OF_MATRICES
    columns: int = 2
    horizon: int | None = None
    places: int = 1
    opening: Sequence[Mapping[str, Sequence[float]]] = ()


GROUPS = list(chapter_1.GROUPS)
OCCURRENCE = functools.partial(chapter_3.embedded, names=GROUPS)  # the embeddings are what is looked for
HUNT, GIFT = "the cat chased the mouse because it was afraid", "Tom gave Anna the bike because she liked it"
PLACES = chapter_5.POSITIONS
PLACED = [*chapter_5.LETTERS, *(f"position {place}" for place in range(PLACES))]
HUNTING = ("animal", "hunts", "action", "feeling"), HUNT, chapter_1.embedded, chapter_1.hunt, "torch.tensor({})"
PAIRING = "bread and cheese and the mouse and cat", OCCURRENCE, chapter_1.grouped, "torch.tensor({})"
OF_PEOPLE = "matrices", list(chapter_2.PEOPLE), chapter_2.AXES, GIFT, chapter_2.embedded, chapter_2.meant_by_pronouns
OF_PLACES = "matrices", chapter_5.LETTERS, PLACED, "c a d a b", chapter_5.placed, chapter_5.looking_back
OF_LETTERS = "matrices", chapter_3.TOKENS, chapter_3.TOKENS, "<s> a b a c b", chapter_3.embedded
ASKS = {token: [15, *[0] * (k - 1), *[30][:k]] for k, token in enumerate(chapter_3.TOKENS)}  # as in chapter 4
KEYS, VALUES = {token: [*[0] * k, 1] for k, token in enumerate(ASKS)}, dict.fromkeys(chapter_3.LETTERS, [0.25])
BOARDS = {
    "1.1": Board("query", list(chapter_1.MEANING), *HUNTING, opening=[{"animal": [2], "hunts": [2]}]),
    "1.4": Board("table", GROUPS, GROUPS, *PAIRING, opening=[dict(cat=[2], mouse=[2], bread=[3], cheese=[3])]),
    "2.1": Board(*OF_PEOPLE, columns=2, opening=[{"thing": [5]}, {"thing": [1]}]),
    "3.1": Board(*OF_LETTERS, chapter_3.averaged, columns=1, horizon=0, opening=[{"b": [1]}, {"a": [2]}, {"a": [1]}]),
    "3.3": Board(*OF_LETTERS, chapter_3.remembered, columns=2, horizon=-1, opening=[{"b": [5]}, {"a": [1]}]),
    "4.2": Board("stack", *OF_LETTERS[1:], chapter_3.remembered, columns=5, horizon=-1, opening=[ASKS, KEYS, VALUES]),
    "5.1": Board(*OF_PLACES, columns=2, horizon=0, places=PLACES, opening=[{"position 4": [9]}, {"position 2": [1]}]),
}
OUTPUTS = {"2.1": ["age"], "3.1": ["a", "<s>"], "3.3": ["seen before"], "5.1": chapter_5.LETTERS}  # what outputs mean


def show_puzzle(id: str, design: Sequence[Any] = ()) -> None:
    """Show the puzzle of the exercise with this id, such as "1.1", to be played. design: the matrices at first."""
    puzzle_figure(id, design).show()


def puzzle_figure(id: str, design: Sequence[Any] = (), **more: Any) -> Figure:
    """The Figure that show_puzzle shows. more: what else its module takes."""
    board, puzzle = BOARDS[id], EXERCISES[id]
    (judged,) = puzzle.properties
    makers = getattr(judged, "readings", (chapter_3.sequences_of_letters,))  # those of a stack are chapter 3's
    groups = [list(make()) for make in makers]
    readings = [reading for group in groups for reading in group]
    measured = readings[0].quantities
    rows = np.stack([board.embed([word] * board.places) for word in board.words], axis=1)  # (places, words, d)
    plain = {name: getattr(board, name) for name in ("words", "axes", "kind", "horizon", "columns", "python")}
    opening = [[numbers.get(axis, []) for axis in board.axes] for numbers in board.opening]
    return Figure(
        "puzzle",
        f"Exercise {id} ({puzzle.title}): fill in the numbers; `check` judges them as this figure does.",
        board.axes,
        np.zeros((len(board.axes), max(1, board.columns))),
        **plain | {"columns": np.shape(design[0])[-1] if len(design) else board.columns},
        rows=rows.reshape(-1, rows.shape[-1]).astype(int).tolist(),
        outputs=OUTPUTS.get(id, []),
        kinds=by_row(board, readings, [each.kinds for each in readings]),
        askers=readings[0].askers,
        goal=goal_of(board, readings),
        quantities={what: by_row(board, readings, [each.quantities[what] for each in readings]) for what in measured},
        groups=[[packed(board, reading) for reading in group] for group in groups],
        first=packed(board, board.read(board.sentence.split())),
        survive=coins() if board.kind == "stack" else None,
        sentence=board.sentence.split(),
        right=puzzle.success_message,
        design=[np.asarray(matrix).tolist() for matrix in design] or opening,
        own=not len(design),
        **more,
    )


def places(board: Board, words: Sequence[str]) -> list[int]:
    """Where the words of a sentence stand in the table: all words at the first position, all at the second, ..."""
    return [board.words.index(word) + place % board.places * len(board.words) for place, word in enumerate(words)]


def packed(board: Board, reading: puzzles.Reading) -> list[list[int]]:
    """A reading in two lists: its words, and for each row a bit for each key to be found; -1 where anything goes."""
    sets = (reading.weights != 0) @ (1 << np.arange(len(reading.words)))
    return [places(board, reading.words), np.where(np.isnan(reading.weights).any(axis=1), -1, sets).tolist()]


def by_row(board: Board, readings: list[puzzles.Reading], values: list[Any]) -> list[Any]:
    """What rows of the table have, such as kinds, from what each reading's words have; None for one in no reading."""
    found = dict(pair for reading, own in zip(readings, values) for pair in zip(places(board, reading.words), own))
    return [found.get(place) for place in range(len(board.words) * board.places)]


def goal_of(board: Board, readings: list[puzzles.Reading]) -> list[list[float]] | None:
    """What each row of the table should pass on, (rows, d_out): mixed by the weights wanted, the outputs wanted."""
    if readings[0].context is None:
        return None
    rows = np.eye(len(board.words) * board.places)
    mix = np.concatenate([each.weights @ rows[places(board, each.words)] for each in readings])  # (askers, rows)
    asked = ~np.isnan(mix).any(axis=-1)
    mix, output = mix[asked], np.concatenate([each.context for each in readings])[asked]
    goal: Any = np.round(np.linalg.lstsq(mix, output, rcond=None)[0], 6)  # (rows, d_out)
    assert np.allclose(mix @ goal, output), "the target outputs are not weighted sums of one vector per word"
    return (goal + 0.0).tolist()  # no -0


def coins() -> dict[str, Any]:
    """The random numbers of exercise 4.2, before the first is drawn, and how they count."""
    start = np.random.default_rng(chapter_4.SEED).bit_generator.state["state"]
    state, step = ([int(start[key]) >> 16 * place & PIECES - 1 for place in range(8)] for key in ("state", "inc"))
    return {"state": state, "step": step, "draws": chapter_4.DRAWS, "need": chapter_4.SURVIVES}
