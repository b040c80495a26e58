"""Moodle: a folder or file a student, named after name and number; a grading worksheet.

The worksheet's columns are headed in the language of whoever downloads it. Their order is the same everywhere
(mod/assign/gradingtable.php in Moodle's source): first a word with the student's number, somewhere the grade, beside it
the highest grade. So they are told by their form, where only one reading is possible.
"""

import re

from course_tools.grading.platforms.gradebook import NOTHING, Gradebook, decimal, folded
from course_tools.grading.platforms.platform import Owner

# Moodle writes a space for each _ in a name, so nobody's name can end with a number of its own
FILE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(file|onlinetext)(_(?P<rest>.*))?")
GRADE, MOST = "Grade", "Maximum grade"
ANONYMOUS = "Participant"  # the name of all where students are anonymous; only the numbers tell them apart
NUMBERED = re.compile(r"\D*?(\d+)")  # a student: "Participant 77", "Teilnehmer/in77"
WITH_DECIMALS = re.compile(r"[\d.,]*\d[.,]\d+")  # a highest grade; an ID number, which all might share, is none


class Moodle(Gradebook):
    name = "Moodle"
    option = "moodle"
    help = "also fill a copy of the worksheet from Moodle"
    ids = ("Identifier", "Email address", "ID number", "Username")
    names = "Full name"
    pages_go = 'above the table of submissions, "Upload multiple feedback files in a zip"'
    needed = ("Identifier", GRADE, MOST)  # no names where students are anonymous

    def owner(self, name):
        found = FILE.fullmatch(name)
        if not found:
            return None
        name = self.id_in_column(found["id"]) if found["name"] == ANONYMOUS else found["name"]
        return Owner(name, (found["id"],), self.name)

    def told_by_form(self, sheet):
        if sheet.place(self.ids[0]) is not None:
            return {}
        columns = [[sheet.value(row, place) for row in range(1, len(sheet.rows))] for place in range(len(sheet.header))]
        pairs = [place for place in range(1, len(columns) - 1) if is_grade(columns[place], columns[place + 1])]
        if len(pairs) != 1 or not all(map(NUMBERED.fullmatch, columns[0])):
            return {}
        return {folded(self.ids[0]): 0, folded(GRADE): pairs[0], folded(MOST): pairs[0] + 1}

    def column(self, sheet, wanted):
        return sheet.place(GRADE)

    def most_points(self, sheet, row, column):
        return sheet.value(row, sheet.place(MOST))

    def feedback_name(self, student):
        name = ANONYMOUS if student.name == self.id_in_column(student.ids[0]) else student.name
        return f"{name}_{student.ids[0]}_assignsubmission_file_/feedback.html"

    def id_in_column(self, id):
        return f"{ANONYMOUS} {id}"

    def own_key(self, value):
        found = NUMBERED.fullmatch(value)
        return folded(self.id_in_column(found[1]) if found else value)


def is_grade(grades, highest):
    """Whether a column may be that of the grades, and the next one that of the highest."""
    same = len(set(highest)) == 1 and WITH_DECIMALS.fullmatch(highest[0])
    return same and all(grade in NOTHING or decimal(grade) is not None for grade in grades)
