"""A learner's progress, in `progress.json` beside the notebooks; on Colab in the learner's Drive, once mounted.

A check never fails because of this file: if it is missing, damaged or read-only, progress is kept in memory.
"""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from course_utils import files
from course_utils.judging.result import MARK, NOT_ATTEMPTED, RIGHT

PATH_VARIABLE = "COURSE_PROGRESS"  # the environment variable that names another file; "" keeps everything in memory
COLAB_DRIVE = Path("/content/drive/MyDrive")  # once it is mounted: it outlives the session
ATTEMPTS_TO_OPEN = 3  # different ones, after which the worked answer may be shown
MOST_SECONDS_TO_WAIT = 2  # for another notebook that is just writing

# {exercise: {"status", "points", "hints", "attempts", "solution"}} of this kernel, for where no file can be had
in_memory: dict[str, dict] = {}


def progress_path():
    """The file that holds the progress; None where it is kept in memory only."""
    name = os.environ.get(PATH_VARIABLE, COLAB_DRIVE / "progress.json" if COLAB_DRIVE.is_dir() else "progress.json")
    return Path(name).absolute() if name else None


def read():
    """{exercise: {"status", "points", "hints", "attempts", "solution"}} of the file, over what this kernel knows."""
    stored = {}
    with suppress(OSError, ValueError):  # missing or damaged: start again
        if progress_path():
            stored = json.loads(progress_path().read_text(encoding="utf-8"))
    sound = {id: entry for id, entry in stored.items() if isinstance(entry, dict)} if isinstance(stored, dict) else {}
    return in_memory | sound


def update(id, **changes):
    """Write changes to an exercise's entry, without losing what another kernel has just written."""
    in_memory[id] = in_memory.get(id, {}) | changes
    if not (path := progress_path()):
        return
    # read-only or busy: it stays in memory
    with suppress(OSError, ValueError), files.locked(path.with_name(f".{path.name}.lock"), MOST_SECONDS_TO_WAIT):
        known = read()
        known[id] = known.get(id, {}) | changes
        files.replace(path, json.dumps(known, indent=1, sort_keys=True).encode())


def record(id, status, points):
    """Record the outcome of a check. Whoever has been right stays right."""
    before = entry(id).get("status")
    if before != RIGHT and not (before and status == NOT_ATTEMPTED):
        update(id, status=status, points=points)


def record_attempt(id, text):
    """Count an attempt that differs from those before. text: tells attempts apart."""
    before, digest = attempts(id), hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]
    if digest not in before and len(before) < ATTEMPTS_TO_OPEN:
        update(id, attempts=[*before, digest])


def attempts(id):
    """The keys of the different attempts, as far as they count."""
    found = entry(id).get("attempts")
    return found if isinstance(found, list) else []


def solution_is_open(id):
    """Whether the worked answer may be shown: after a right answer, all hints, or enough attempts."""
    known = entry(id)
    return known.get("status") == RIGHT or known.get("solution") is True or len(attempts(id)) >= ATTEMPTS_TO_OPEN


def entry(id):
    """The entry of an exercise."""
    return read().get(id, {})


def next_hint(id):
    """How many general hints were given before, counting one more."""
    given = entry(id).get("hints", 0)
    given = given if isinstance(given, int) else 0
    update(id, hints=given + 1)
    return given


class Overview:
    """Exercises with a mark for each, a line per chapter."""

    def __init__(self, exercises):
        known = read()
        self.chapters: dict[int, list] = {}
        for exercise in exercises:
            self.chapters.setdefault(exercise.chapter, []).append((exercise, known.get(exercise.id, {}).get("status")))

    def lines(self):
        """(chapter, its exercises with their marks, points in words) for each chapter."""
        for number, exercises in self.chapters.items():
            marks = " · ".join(f"{MARK.get(status, MARK[NOT_ATTEMPTED])} {each.id}" for each, status in exercises)
            points = sum(exercise.points for exercise, status in exercises if status == RIGHT)
            yield f"Chapter {number}", marks, f"{points} of {sum(exercise.points for exercise, _ in exercises)} points"

    def __repr__(self):
        return "\n".join(f"{name}: {marks}  ({points})" for name, marks, points in self.lines())

    def _repr_html_(self):
        left = "style='text-align:left'"
        cells = (f"<td>{name}</td><td {left}>{marks}</td><td>{points}</td>" for name, marks, points in self.lines())
        rows = "".join(f"<tr>{row}</tr>" for row in cells)
        return f"<table><tr><th></th><th {left}>✓ right, ✗ not yet, ○ not attempted</th><th></th></tr>{rows}</table>"
