"""Moodle: a folder or file per student, with name and number; a grading worksheet.

The worksheet's headings are in the language of whoever downloads it, but the columns' order is always the same
(mod/assign/gradingtable.php in Moodle's source): first a word with the student's number, somewhere the grade, and next
to it the highest grade. So columns are recognised by their content, if only one reading is possible.
"""

import re

from course_tools.grading.platforms.gradebook import EMPTY_FIELDS, Gradebook, normalized, parsed_number
from course_tools.grading.platforms.platform import Owner

# Moodle replaces each _ in a name by a space, so nobody's name can end with _ and a number
FILE_NAME = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(file|onlinetext)(_(?P<rest>.*))?")
GRADE, MAXIMUM_GRADE = "Grade", "Maximum grade"
STATUS, LATE = "Status", re.compile(r"\blate\b", re.IGNORECASE)  # "Submitted for grading - 2 hours late", in English
ANONYMOUS = "Participant"  # everybody's name if students are anonymous; only the numbers differ
PARTICIPANT_NUMBER = re.compile(r"\D*?(\d+)")  # a student: "Participant 77", "Teilnehmer/in77"
WITH_DECIMALS = re.compile(r"[\d.,]*\d[.,]\d+")  # a highest grade, but not an ID number, which all might share


class Moodle(Gradebook):
    name = "Moodle"
    option = "moodle"
    help = "also fill a copy of the worksheet from Moodle"
    id_columns = ("Identifier", "Email address", "ID number", "Username")
    name_column = "Full name"
    upload_pages_at = 'above the table of submissions, "Upload multiple feedback files in a zip"'
    required_columns = ("Identifier", GRADE, MAXIMUM_GRADE)  # no names, since students may be anonymous

    def owner(self, name):
        found = FILE_NAME.fullmatch(name)
        if not found:
            return None
        name = self.id_in_column(found["id"]) if found["name"] == ANONYMOUS else found["name"]
        return Owner(name, (found["id"],), self.name)

    def columns_by_form(self, sheet):
        if sheet.column(self.id_columns[0]) is not None:
            return {}
        columns = [[sheet.value(row, place) for row in range(1, len(sheet.rows))] for place in range(len(sheet.header))]
        pairs = [place for place in range(1, len(columns) - 1) if is_grade_column(columns[place], columns[place + 1])]
        if len(pairs) != 1 or not all(map(PARTICIPANT_NUMBER.fullmatch, columns[0])):
            return {}
        return {normalized(self.id_columns[0]): 0, normalized(GRADE): pairs[0], normalized(MAXIMUM_GRADE): pairs[0] + 1}

    def says_late(self, sheet, row):
        return bool(LATE.search(sheet.field(row, STATUS)))

    def column(self, sheet, wanted):
        return sheet.column(GRADE)

    def most_points(self, sheet, row, column):
        return sheet.field(row, MAXIMUM_GRADE)

    def feedback_name(self, student):
        there = student.name_there
        name = ANONYMOUS if there == self.id_in_column(student.ids[0]) else there
        return f"{name}_{student.ids[0]}_assignsubmission_file_/feedback.html"

    def id_in_column(self, id):
        return f"{ANONYMOUS} {id}"

    def own_id_key(self, value):
        found = PARTICIPANT_NUMBER.fullmatch(value)
        return normalized(self.id_in_column(found[1]) if found else value)


def is_grade_column(grades, highest):
    """Whether a column may have the grades, and the next one the highest grades."""
    same = len(set(highest)) == 1 and WITH_DECIMALS.fullmatch(highest[0])
    return same and all(grade in EMPTY_FIELDS or parsed_number(grade) is not None for grade in grades)
