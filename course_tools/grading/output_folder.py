"""Which files in the output folder are the grader's own; it replaces no others."""

import os

from course_tools.grading.reports import REPORTS_FOLDER
from course_tools.names_on_disk import on_disk
from course_utils import files

LIST_OF_CLAIMED_FILES = "written"  # beside the reports that are kept: a name a line


def claim_files(out, names):
    """Note that the files of these names in `out` are the grader's from now on.

    Returns existing files that no run has noted; if there are any, nothing is noted.
    """
    note = out / REPORTS_FOLDER / LIST_OF_CLAIMED_FILES
    own = set(note.read_text(encoding="utf-8", errors="replace").split("\n")) if note.exists() else set()
    others = sorted(name for name in names if name not in own and os.path.lexists(out / on_disk(name)))
    if not others:
        files.replace(note, "\n".join(sorted(own | set(names))).encode())
    return others
