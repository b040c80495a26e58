"""Moodle: a folder or file a student, named after name and number; a grading worksheet."""

import re

from course_utils.grading.platforms.gradebook import Gradebook

FILE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(file|onlinetext)(_(?P<rest>.*))?")
GRADE, MOST = "Grade", "Maximum grade"
ANONYMOUS = "Participant"  # the name of all where students are anonymous; only the numbers tell them apart


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
        return name, (found["id"],)

    def column(self, sheet, wanted):
        return sheet.place(GRADE)

    def most_points(self, sheet, row, column):
        return sheet.value(row, sheet.place(MOST))

    def feedback_name(self, student):
        if not student.ids:
            return None
        name = ANONYMOUS if student.name == self.id_in_column(student.ids[0]) else student.name
        return f"{name}_{student.ids[0]}_assignsubmission_file_/feedback.html"

    def id_in_column(self, id):
        return f"{ANONYMOUS} {id}"
