"""Canvas: flat files named after login, number and submission; a gradebook with a column per assignment."""

import re

from course_utils.grading.platforms.gradebook import Gradebook, Unusable, folded

FILE = re.compile(r"(?P<name>[^_]+)(?P<late>_LATE)?_(?P<id>\d+)_(?P<attachment>\d+)_(?P<rest>.+)")
ASSIGNMENT = re.compile(r".+ \(\d+\)")  # how Canvas heads the column of an assignment
POINTS_POSSIBLE = "points possible"  # what Canvas's own row, with the highest points, says in its first column


class Canvas(Gradebook):
    name = "Canvas"
    option = "canvas"
    help = "also fill a copy of the gradebook from Canvas"
    ids = ("ID", "SIS User ID", "SIS Login ID", "Integration ID")
    names = "Student"
    needed = ("Student",)
    pages_go = 'in the assignment, "Re-Upload Submissions"; students find them beside the comments'

    def owner(self, name):
        found = FILE.fullmatch(name)
        return (found["name"], (found["id"],)) if found else None

    def feedback_name(self, student):
        found = FILE.fullmatch(student.file)  # Canvas attaches a page to the submission that has this file
        return f"{found['name']}_{found['id']}_{found['attachment']}_feedback.html" if found else None

    def is_late(self, name):
        found = FILE.fullmatch(name)
        return bool(found and found["late"])

    def add_options(self, parser):
        super().add_options(parser)
        parser.add_argument("--column", metavar="NAME", help="the assignment in Canvas's file, where there are several")

    def column(self, sheet, wanted):
        columns = [name for name in sheet.header if ASSIGNMENT.fullmatch(name)]
        chosen = [name for name in columns if wanted is None or wanted in (name, name.rpartition(" (")[0])]
        if len(chosen) != 1:
            names = ", ".join(map(repr, columns)) or "none"
            raise Unusable(f"name one of its assignments with --column; it has {names}")
        return sheet.header.index(chosen[0])

    def most_points(self, sheet, row, column):
        own = [k for k in range(1, len(sheet.rows)) if folded(self.name_in(sheet, k)) == POINTS_POSSIBLE]
        return sheet.value(own[0], column) if own else ""

    def is_student(self, sheet, row):
        return folded(self.name_in(sheet, row)) not in ("", POINTS_POSSIBLE)  # without a name: rows of settings
