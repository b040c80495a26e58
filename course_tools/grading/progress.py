"""How far a run is, and the time left."""

import datetime
import sys
import time


class Progress:
    """Says on a terminal how far a run is; elsewhere, as in a log, it writes a line at every tenth."""

    def __init__(self, total):
        self.total, self.count, self.start = total, 0, time.monotonic()

    def step(self):
        """One more is done. The rest is taken to last as long as what is done."""
        self.count += 1
        seconds = (time.monotonic() - self.start) * (self.total / self.count - 1)
        line = f"{self.count} of {self.total} graded, {datetime.timedelta(seconds=round(seconds))} left"
        if sys.stderr.isatty():
            print(f"\r{line:<78}", end="\n" * (self.count == self.total), file=sys.stderr, flush=True)
        elif self.count * 10 // self.total > (self.count - 1) * 10 // self.total:
            print(line, file=sys.stderr, flush=True)
