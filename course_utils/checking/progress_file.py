"""What a learner has done so far, in `progress.json` beside their notebooks; on Colab in their Drive, once mounted.

A check never fails because of this file: where it is missing, damaged or read-only, what is known is kept in memory.
"""

import json
import os
from pathlib import Path

from course_utils import files
from course_utils.judging.result import MARK, NOT_ATTEMPTED, NOT_YET, RIGHT

FILE = "COURSE_PROGRESS"  # the environment variable that names another file; "" keeps everything in memory
DRIVE = Path("/content/drive/MyDrive")  # Colab's, once it is mounted: it outlives the session
PATIENCE = 2  # seconds to wait for another notebook that is just writing

remembered: dict[
    str, dict
] = {}  # exercise -> {"status", "points", "hints"}: this kernel's, for where no file can be had


def file():
    """Where progress is kept, or None for nowhere."""
    name = os.environ.get(FILE, DRIVE / "progress.json" if DRIVE.is_dir() else "progress.json")
    return Path(name).absolute() if name else None


def read():
    """{exercise: {"status", "points", "hints"}} of the file, over what this kernel remembers."""
    stored = {}
    try:
        if file():
            stored = json.loads(file().read_text(encoding="utf-8"))
    except (OSError, ValueError):  # missing or damaged: start again
        pass
    sound = {id: entry for id, entry in stored.items() if isinstance(entry, dict)} if isinstance(stored, dict) else {}
    return remembered | sound


def change(id, **news):
    """Write news about an exercise, without losing what another kernel has just written."""
    remembered[id] = remembered.get(id, {}) | news
    if not file():
        return
    try:
        with files.locked(file().with_name(f".{file().name}.lock"), PATIENCE):
            known = read()
            known[id] = known.get(id, {}) | news
            files.replace(file(), json.dumps(known, indent=1, sort_keys=True).encode())
    except (OSError, ValueError):  # read-only or busy: it stays in memory
        pass


def note(id, status, points):
    """Keep the outcome of a check. Whoever has been right stays right."""
    before = read().get(id, {}).get("status")
    if status == NOT_ATTEMPTED and before or before == RIGHT:
        return
    change(id, status=status, points=points)


def attempted(id):
    """Whether the exercise was checked with something in it."""
    return read().get(id, {}).get("status") in (RIGHT, NOT_YET)


def next_hint(id):
    """How many hints were given before, counting one more."""
    given = read().get(id, {}).get("hints", 0)
    given = given if isinstance(given, int) else 0
    change(id, hints=given + 1)
    return given


class Overview:
    """Exercises with a mark for each, a line per chapter."""

    def __init__(self, exercises):
        known = read()
        self.chapters: dict[int, list] = {}
        for exercise in exercises:
            status = known.get(exercise.id, {}).get("status", NOT_ATTEMPTED)
            self.chapters.setdefault(exercise.chapter, []).append((exercise, status))

    def lines(self):
        """(chapter, its exercises with their marks, points in words) for each chapter."""
        for number, exercises in self.chapters.items():
            marked = [(MARK.get(status, MARK[NOT_ATTEMPTED]), exercise.id) for exercise, status in exercises]
            marks = " · ".join(f"{mark} {id}" for mark, id in marked)
            points = sum(exercise.points for exercise, status in exercises if status == RIGHT)
            yield f"Chapter {number}", marks, f"{points} of {sum(exercise.points for exercise, _ in exercises)} points"

    def __repr__(self):
        return "\n".join(f"{name}: {marks}  ({points})" for name, marks, points in self.lines())

    def _repr_html_(self):
        left = "style='text-align:left'"
        rows = "".join(
            f"<tr><td>{name}</td><td {left}>{marks}</td><td>{points}</td></tr>" for name, marks, points in self.lines()
        )
        return f"<table><tr><th></th><th {left}>✓ right, ✗ not yet, ○ not attempted</th><th></th></tr>{rows}</table>"
