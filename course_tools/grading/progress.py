"""The progress of a run, and the time left."""

import datetime
import sys
import time


class Progress:
    """Shows the progress of a run in a terminal; elsewhere, as in a log, it writes at most ten lines."""

    def __init__(self, total):
        self.total, self.count, self.start = total, 0, time.monotonic()

    def step(self):
        """Count one more. The estimate assumes that the rest takes as long per submission."""
        self.count += 1
        seconds = (time.monotonic() - self.start) * (self.total / self.count - 1)
        line = f"{self.count} of {self.total} graded, {datetime.timedelta(seconds=round(seconds))} left"
        if sys.stderr.isatty():
            print(f"\r{line:<78}", end="\n" * (self.count == self.total), file=sys.stderr, flush=True)
        elif self.count * 10 // self.total > (self.count - 1) * 10 // self.total:
            print(line, file=sys.stderr, flush=True)
