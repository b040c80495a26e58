"""Questions from memory: a missed one is repeated until it was right on several days."""

import math
from datetime import date

from course_utils.checking import progress_file
from course_utils.exercises import FILL_INS

DAYS_UNTIL_DUE = (0, 1, 3, 7)  # until a missed question is due again, by how often it was right since
MOST_AT_ONCE = 3  # questions


def record(id, right):
    """Record today's answer to a question or quiz. Only one that was ever missed is repeated."""
    known = progress_file.entry(id)
    if not right or known.get("missed"):
        progress_file.update(id, missed=True, times=times_right(known) + 1 if right else 0, on=date.today().isoformat())


def due():
    """The questions that are due today, the longest waiting first."""
    missed = {id: entry for id, entry in progress_file.read().items() if id in FILL_INS and entry.get("missed")}
    days = {id: days_until_due(entry) for id, entry in missed.items() if FILL_INS[id].from_memory}
    ready = sorted((id for id in days if days[id] <= 0), key=lambda id: days[id])
    return [FILL_INS[id] for id in ready[:MOST_AT_ONCE]]


def days_until_due(entry):
    """The days until a question is due, 0 or less when it is; endless when it was right often enough."""
    times = times_right(entry)
    try:
        since = (date.today() - date.fromisoformat(entry["on"])).days
    except (KeyError, TypeError, ValueError):  # a damaged file
        return 0
    return DAYS_UNTIL_DUE[times] - since if times < len(DAYS_UNTIL_DUE) else math.inf


def times_right(entry):
    """How often a question was right since it was missed."""
    times = entry.get("times", 0)
    return times if isinstance(times, int) and times >= 0 else 0
