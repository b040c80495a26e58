"""no_points.csv: students without points, and why."""

from course_tools.grading.platforms.gradebook import normalized_name
from course_tools.grading.reports import printable
from course_utils.judging.result import NOT_ATTEMPTED

FILE = "no_points.csv"
COLUMNS = ["student", "ids", "why"]
NOTHING = "No submission was found for this student."
NOT_ANSWERED = "None of the exercises that count was answered."
NOT_RIGHT = "No answer is right yet."
NOT_GRADED = "The submission could not be graded: {}."


def rows_of(students, graded, failed, roster, exports):
    """A row for each student without points. graded: {key: (report, its Grade)}. failed: {key: why}, of the others."""
    for student in students:
        if student.key in failed:
            yield [student.name, " ".join(student.ids), NOT_GRADED.format(failed[student.key])]
        elif (both := graded[student.key])[1].excused or not both[1].points[0]:
            yield [student.name, " ".join(student.ids), " ".join(reasons(*both))]
    here = {(student.name, student.accounts) for student in students if student.called}
    for person in roster.people:
        if (person.name, person.accounts) not in here:
            yield [person.name, " ".join(id for _, id in person.accounts), NOTHING]
    listed = {normalized_name(person.name) for person in roster.people}
    others = dict.fromkeys(printable(name) for export in exports for name in export.without_points)
    yield from ([name, "", NOTHING] for name in others if normalized_name(name) not in listed)


def reasons(report, grade):
    """Sentences on why a student with a submission has no points."""
    yield from [*report.remarks, *grade.remarks]
    if not grade.excused:
        tried = any(entry.result.status != NOT_ATTEMPTED for entry in grade.graded)
        yield NOT_RIGHT if tried else NOT_ANSWERED
