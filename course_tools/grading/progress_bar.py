"""A bar with a count and the time left."""

import sys
import time

WIDTH = 30  # characters


class ProgressBar:
    """Shows on a terminal how far a run is; elsewhere, as in a log, it writes a line at every tenth."""

    def __init__(self, total, stream=None):
        self.total, self.count = total, 0
        self.start = time.monotonic()
        self.stream = stream or sys.stderr

    def step(self):
        """One more is done."""
        self.count += 1
        terminal = self.stream.isatty()
        tenth = self.count * 10 // self.total > (self.count - 1) * 10 // self.total
        if terminal or tenth:
            full = WIDTH * self.count // self.total
            line = f"[{'#' * full}{'.' * (WIDTH - full)}] {self.count} of {self.total}, {self.left()}"
            end = "\n" if self.count == self.total or not terminal else ""
            self.stream.write(f"\r{line:<78}{end}" if terminal else line + end)
            self.stream.flush()

    def left(self):
        """The time left, in words, if the rest takes as long as what is done."""
        elapsed = time.monotonic() - self.start
        if self.count == self.total:
            return f"done in {words(elapsed)}"
        return f"{words(elapsed / self.count * (self.total - self.count))} left"


def words(seconds):
    """A duration as people say it."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
