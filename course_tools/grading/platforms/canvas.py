"""Canvas: flat files named after student, number and attachment; a gradebook with a column per assignment.

Students choose two parts of a file's name: their own name, of which Canvas keeps letters, digits and _ (in
content_zipper.rb of its source), and the name of their file. Numbers in these can look like Canvas's own, so a name
is read in every way in which Canvas may have written it.
"""

import functools
import re

from course_tools import repository
from course_tools.grading.platforms.gradebook import Gradebook, UnusableGradebook, normalized
from course_tools.grading.platforms.platform import Owner

# the part after a student's name; older versions wrote it in lower case
ENTERED = r"(text|link)\.html$"  # Canvas's file for a text or an address that was entered
NUMBERS = re.compile(rf"(?=(?P<late>_LATE|_late)?_(?P<id>[1-9][0-9]*)_((?P<attachment>[1-9][0-9]*)_|{ENTERED}))")
NAME = re.compile(r"[0-9A-Za-z_\x80-\U0010ffff]*")  # not \w, which lacks the vowel signs of Hindi
ANONYMOUS = re.compile(
    rf"(?P<late>LATE_|late_)?(?P<name>anon_[0-9A-Za-z]{{5}})_((?P<attachment>[1-9][0-9]*)_|{ENTERED})"
)
ASSIGNMENT = re.compile(r".+ \(\d+\)")  # Canvas's heading for the column of an assignment
POINTS_POSSIBLE = "points possible"  # the first column of Canvas's own row, with the highest points


class Canvas(Gradebook):
    name = "Canvas"
    option = "canvas"
    help = "also fill a copy of the gradebook from Canvas"
    id_columns = ("ID", "SIS User ID", "SIS Login ID", "Integration ID")
    name_column = "Student"
    required_columns = ("Student",)
    split_names = ("LastName", "FirstName")  # instead of it, in a gradebook with separate columns
    upload_pages_at = 'in the assignment, "Re-Upload Submissions"; students find the pages beside the comments'

    def owner(self, name):
        if anonymous := ANONYMOUS.match(name):
            return Owner(anonymous["name"], (), self.name)
        found = possible_numbers(name)
        numbers = tuple(dict.fromkeys(numbers["id"] for numbers in found))
        return Owner(name[: found[0].start()] or numbers[0], numbers, self.name) if found else None

    def feedback_name(self, student):
        name = student.file  # Canvas attaches a page to the submission with this file
        if anonymous := ANONYMOUS.match(name):
            attachment = anonymous["attachment"]
            return f"{anonymous['name']}_{attachment}_feedback.html" if attachment else None
        numbers = next((numbers for numbers in possible_numbers(name) if numbers["attachment"]), None)
        return f"{student.name_there}_{numbers['id']}_{numbers['attachment']}_feedback.html" if numbers else None

    def is_late(self, name):
        matches = possible_numbers(name)
        if anonymous := ANONYMOUS.match(name):
            matches.append(anonymous)
        return any(match["late"] for match in matches)

    def add_options(self, parser):
        super().add_options(parser)
        parser.add_argument("--column", metavar="NAME", help="which assignment, if Canvas's file has several")

    def columns_by_form(self, sheet):
        last = sheet.column(self.split_names[0])
        return {} if last is None else {normalized(self.name_column): last}

    def full_name(self, sheet, row):
        first = sheet.field(row, self.split_names[1])
        return f"{super().full_name(sheet, row)}, {first}" if first else super().full_name(sheet, row)

    def column(self, sheet, wanted):
        columns = [name for name in sheet.header if ASSIGNMENT.fullmatch(name)]
        chosen = [name for name in columns if wanted is None or wanted in (name, name.rpartition(" (")[0])]
        if len(chosen) != 1:
            names = ", ".join(map(repr, columns)) or "none"
            raise UnusableGradebook(f"choose one of its assignments with --column; it has {names}")
        return sheet.header.index(chosen[0])

    def most_points(self, sheet, row, column):
        own = [k for k in range(1, len(sheet.rows)) if normalized(sheet.field(k, self.name_column)) == POINTS_POSSIBLE]
        return sheet.value(own[0], column) if own else ""

    def is_student(self, sheet, row):
        return normalized(sheet.field(row, self.name_column)) not in (
            "",
            POINTS_POSSIBLE,
        )  # rows without a name are settings


def possible_numbers(name):
    """The possible places of the student's and attachment's numbers in a file's name, the shortest name first."""
    longest = NAME.match(name).end()
    return [
        numbers
        for numbers in NUMBERS.finditer(name)
        if numbers.start() <= longest and not name.startswith(chapters(), numbers.start("attachment"))
    ]


@functools.cache
def chapters():
    """The names of the course's own notebooks, which begin with a number."""
    return tuple(source.stem for source in repository.sources())
