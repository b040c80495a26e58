"""What people read after grading: a table of all exercises, a page for each student, a page on the class."""

import csv
import functools
import io
import re
from hashlib import sha256
from itertools import count

import jinja2

from course_tools.grading.assignment import ADJUSTMENTS_FILE
from course_tools.grading.class_summary import ClassSummary
from course_tools.grading.reports import REPORTS_FOLDER
from course_tools.names_on_disk import on_disk
from course_utils import files
from course_utils.judging.result import rich

TOTALS_COLUMNS = ["student", "ids", "points", "max_points", "late", "excused", "page"]
GRADES_COLUMNS = [
    "student",
    "ids",
    "exercise",
    "title",
    "status",
    "points",
    "max_points",
    "mistake",
    "message",
    "remarks",
]
TABLES_AND_SUMMARY = ("grades.csv", "totals.csv", "summary.html")
STUDENT_PAGE = "feedback/{}.html"  # of the student with this key
SPREADSHEET_FORMULA = re.compile(r"(^|[;\t\r\n])(\s*[\"']*\s*[=+\-@＝＋－＠])")  # also as full-width signs


class GradesAndPages:
    """The tables and pages about a class, as far as graded; `close` writes them.

    store: the ReportStore in the folder to write to. preview: write nothing. names: {key: a student's name in a
    platform's gradebook}, for the page's heading.
    """

    def __init__(self, store, assignment, preview=False, names=None):
        self.out, self.assignment, self.preview, self.names = store.out, assignment, preview, names or {}
        self.graded = {}  # {key of a student: (report, its Grade)}

    def add(self, report):
        """Take in a student's report."""
        self.graded[report.student.key] = report, self.assignment.grade_of(report)

    def page(self, key):
        """The path of a student's page."""
        return self.out / on_disk(STUDENT_PAGE.format(key))

    @property
    def entries(self):
        """{key: (name, points, highest possible points, digest)}, with points None if excused."""
        return {
            key: (report.student.name, None if grade.excused else grade.points[0], grade.points[1], report.digest)
            for key, (report, grade) in self.graded.items()
        }

    @property
    def scores(self):
        """[(student, points, highest possible points)] of all who are not excused."""
        return [(report.student, *grade.points) for report, grade in self.graded.values() if not grade.excused]

    def close(self):
        """Write each student's page, grades.csv, totals.csv and summary.html."""
        if self.preview:
            return
        graded = [self.graded[key] for key in sorted(self.graded)]
        (self.out / "feedback").mkdir(exist_ok=True)
        for report, grade in graded:  # first, so that everybody in the tables has a page even if this is interrupted
            name = self.names.get(report.student.key, report.student.name)
            page = template("student_page.html").render(name=name, report=report, grade=grade)
            files.replace(self.page(report.student.key), page.encode())
        self.write_grades(csv_table(GRADES_COLUMNS, (row for both in graded for row in exercise_rows(*both))))
        files.replace(self.out / "totals.csv", csv_table(TOTALS_COLUMNS, (totals_row(*both) for both in graded)))
        summary = template("class_summary.html").render(summary=ClassSummary(graded))
        files.replace(self.out / "summary.html", summary.encode())

    def write_grades(self, content):
        """Write grades.csv. If somebody has changed the old one by hand, it is first renamed."""
        path, mark = self.out / "grades.csv", self.out / REPORTS_FOLDER / "grades.sha256"
        ours = mark.read_bytes() if mark.exists() else b""
        if path.exists() and ours != sha256(path.read_bytes()).hexdigest().encode():
            aside = next(name for k in count(1) if not (name := self.out / f"grades changed by hand {k}.csv").exists())
            path.rename(aside)
            print(f"{path} was edited, so it was renamed {aside.name!r}. Write your decisions in {ADJUSTMENTS_FILE}.")
        files.replace(path, content)
        files.replace(mark, sha256(content).hexdigest().encode())


def csv_table(header, rows):
    """A CSV file, with the byte order mark that Excel needs. No text in it is taken for a formula."""
    text = io.StringIO()
    written = csv.writer(text, lineterminator="\n")
    written.writerow(header)
    written.writerows([without_formulas(field) if isinstance(field, str) else field for field in row] for row in rows)
    return text.getvalue().encode("utf-8-sig")


def totals_row(report, grade):
    """One student's row in totals.csv."""
    student = report.student
    flags = ["yes" if flag else "" for flag in (report.late, grade.excused)]
    return [student.name, " ".join(student.ids), *grade.points, *flags, STUDENT_PAGE.format(student.key)]


def exercise_rows(report, grade):
    """A row for each exercise of a student. The first has the remarks on the whole submission."""
    whole = [*report.remarks, *grade.remarks]
    for entry in grade.graded:
        result = entry.result
        yield [
            report.student.name,
            " ".join(report.student.ids),
            result.id,
            result.title,
            result.status,
            entry.points,
            0 if entry.excused else result.max_points,
            result.mistake or "",
            " ".join([result.message, *result.hints]).replace("\n", " "),
            " ".join([*entry.remarks, *whole]),
        ]
        whole = []


def without_formulas(text):
    """A text that no spreadsheet takes for a formula, even if it splits fields at semicolons or tabs."""
    return SPREADSHEET_FORMULA.sub(r"\1'\2", text)


@functools.cache
def template(name):
    """A page template, which escapes whatever is filled in."""
    loader = jinja2.PackageLoader("course_tools.grading")
    made = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    made.filters["rich"] = rich
    return made.get_template(name)
