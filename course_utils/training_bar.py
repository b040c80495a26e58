"""A progress bar for cells that take seconds; it disappears when the work is done and leaves no output."""

import html
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

from IPython.display import clear_output, display

__all__ = ["with_bar"]

T = TypeVar("T")
MOVES = 50  # the most moves of the bar; each is a message to the browser


def with_bar(steps: Sequence[T], name: str = "training") -> Iterator[T]:
    """Yield the entries of `steps` one by one, below a bar that shows how many are done and how long the rest takes.

    After the last one, the cell's output is cleared, so print results only then. name: what is being done.
    """
    begin = time.monotonic()
    bar = display(bundle(name, 0, len(steps), 0.0), raw=True, display_id=True)
    every = max(1, len(steps) // MOVES)
    for done, step in enumerate(steps, start=1):
        yield step
        if done % every == 0:
            bar.update(bundle(name, done, len(steps), time.monotonic() - begin), raw=True)
    clear_output()


def bundle(name: str, done: int, count: int, seconds: float) -> dict[str, str]:
    """The bar in every form that a viewer may take. seconds: since the first step."""
    left = f", about {seconds / done * (count - done):.0f} s left" if done else ""
    said = f"{name}: {100 * done // count if count else 100}%, {seconds:.0f} s{left}"
    bar = f'<progress value="{done}" max="{count}" aria-label="{html.escape(name)}" style="width:16em"></progress>'
    return {"text/html": f"{bar} {html.escape(said)}", "text/plain": said}
