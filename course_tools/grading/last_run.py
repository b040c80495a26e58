"""The results of the last complete run, to show whose points the next one changes, and why."""

from course_tools.grading.reports import load_with_checksum, save_with_checksum

LAST_RUN_FILE = "last_run"  # beside the reports that are kept
MOST_SHOWN = 20  # rows on the terminal
REASONS = (
    "submission changed",
    "course or torch updated",
    "--seconds or --unsandboxed changed",
    "seed or one of your exercises changed",
)
DAMAGED = "{} is damaged or from an older version of the course, so only the next run can list changed points."


class LastRun:
    """The last complete run into a folder.

    students: {key: [points, highest possible points, digest]}, with points None if excused. filled:
    {platform: {key: points there}}. problem: a sentence if the file with all this cannot be read.
    """

    def __init__(self, store):
        self.path = store.folder / LAST_RUN_FILE
        found = load_with_checksum(self.path)
        self.problem = DAMAGED.format(self.path) if self.path.exists() and not found else ""
        self.students, self.filled = (found["students"], found["filled"]) if found else ({}, {})

    def changes(self, entries):
        """[(student's name, before, after, why)]. entries: {key: (name, points, highest, digest)} of this run."""
        found = []
        for key, (name, got, most, digest) in entries.items():
            before = self.students.get(key)
            if before and before[:2] != [got, most]:
                why = reason_for_change(before[2], digest)
                found.append((name, points_in_words(*before[:2]), points_in_words(got, most), why))
            elif self.students and not before:
                found.append((name, "", points_in_words(got, most), "new student"))
        gone = sorted(self.students.keys() - entries.keys())
        return [*found, *((key, points_in_words(*self.students[key][:2]), "", "no longer here") for key in gone)]

    def write(self, entries, filled):
        """Keep this run for the next one."""
        students = {key: list(entry[1:]) for key, entry in entries.items()}
        save_with_checksum(self.path, {"students": students, "filled": self.filled | filled})


def points_in_words(got, most):
    """Points and their maximum, as in a table of changes."""
    return "excused" if got is None else f"{got} of {most}"


def reason_for_change(before, after):
    """Why points changed, from the digests of two reports, which have one word for each of REASONS."""
    found = [reason for old, new, reason in zip(before.split(), after.split(), REASONS) if old != new]
    return " and ".join(found) or "assignment or adjustment changed"


def table_of_changes(changes):
    """The lines that show changes on a terminal."""
    if changes:
        yield f"Changed points ({len(changes)}):"
    for name, before, after, reason in changes[:MOST_SHOWN]:
        yield f"  {name}: {before or 'nothing'} -> {after or 'nothing'}, {reason}"
    if len(changes) > MOST_SHOWN:
        yield f"  and {len(changes) - MOST_SHOWN} more"
