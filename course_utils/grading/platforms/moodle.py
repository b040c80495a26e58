"""Moodle: a folder or file a student, named after name and number; a grading worksheet."""

import re

from course_utils.grading.platforms.gradebook import Gradebook

FILE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(file|onlinetext)(_(?P<rest>.*))?")
GRADE, MOST = "Grade", "Maximum Grade"


class Moodle(Gradebook):
    name = "Moodle"
    option = "moodle"
    help = "also fill a copy of the worksheet from Moodle"
    ids = ("Identifier", "Email address", "ID number", "Username")
    names = "Full name"
    needed = ("Full name", GRADE)

    def owner(self, name):
        found = FILE.fullmatch(name)
        return (found["name"], (found["id"],)) if found else None

    def column(self, sheet, wanted):
        return sheet.header.index(GRADE)

    def most_points(self, sheet, row, column):
        return sheet.value(row, sheet.header.index(MOST)) if MOST in sheet.header else ""

    def feedback_name(self, student):
        return f"{student.name}_{student.ids[0]}_assignsubmission_file_/feedback.html" if student.ids else None

    def id_in_column(self, id):
        return f"Participant {id}"
