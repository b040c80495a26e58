"""A progress bar for cells that take seconds: it goes away when the work is done and leaves no output behind."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from IPython.display import ProgressBar, clear_output

__all__ = ["with_bar"]

T = TypeVar("T")
MOVES = 50  # how often the bar moves at most; every move is a message to the browser


def with_bar(steps: Sequence[T]) -> Iterator[T]:
    """Yield the entries of a sequence one by one, below a bar that shows how many are done.

    After the last one the cell's output is cleared, so print results only then.
    """
    bar = ProgressBar(len(steps))
    bar.display()
    every = max(1, len(steps) // MOVES)
    for done, step in enumerate(steps, start=1):
        yield step
        if done % every == 0:
            bar.progress = done
    clear_output()
