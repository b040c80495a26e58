"""What people read after grading: a table of all exercises, a page a student, a page on the class."""

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
SPREADSHEET_FORMULA = re.compile(r"(^|[;\t\r\n])(\s*[\"']*\s*[=+\-@＝＋－＠])")  # also in the width of Japanese letters


class GradesAndPages:
    """What is written of a class, as far as it is graded: pages at once, the tables when it is closed.

    A page with other points than in the last run, which `last_run` knows, waits until then: first they are announced.
    preview: write nothing. entries: {key: (name, points, highest possible points, digest)} of all who are graded, with
    None as points of who is excused. names: {key: what a platform's gradebook calls a student}, to head the page with.
    """

    def __init__(self, out, assignment, last_run, preview=False, names=None):
        self.out, self.assignment, self.last_run, self.preview = out, assignment, last_run, preview
        self.names = names or {}
        self.waiting = {}  # {path of a page: its text}
        self.rows, self.totals, self.entries, self.summary, self.pages = {}, {}, {}, ClassSummary(), out / "feedback"
        if not preview:
            self.pages.mkdir(exist_ok=True)

    def add(self, report):
        """Write a student's page, and keep what goes into the tables."""
        grade = self.assignment.grade_of(report)
        key = report.student.key
        path = self.page(key)
        if not self.preview:  # first, so that whoever is in the tables has a page, wherever a run ends
            name = self.names.get(key, report.student.name)
            self.waiting[path] = template("student_page.html").render(name=name, report=report, grade=grade)
        self.rows[key] = list(exercise_rows(grade, report))
        self.totals[key] = totals_row(grade, report)
        got, most = grade.points
        self.entries[key] = (report.student.name, None if grade.excused else got, most, report.digest)
        self.summary.add(grade, report)
        if not self.preview and not self.last_run.change(key, self.entries[key]):
            write_if_changed(path, self.waiting[path])
            del self.waiting[path]

    def page(self, key):
        """Where a student's page lies."""
        return self.out / files.on_disk(STUDENT_PAGE.format(key))

    def remove(self, key):
        """Remove the page of a student who is no longer among the submissions."""
        self.page(key).unlink(missing_ok=True)

    @property
    def scores(self):
        """[(student, points, highest possible points)] of all who are not excused."""
        return [(student, got, most) for student, got, most, _ in self.summary.students]

    def close(self):
        """Write the pages that wait, grades.csv, totals.csv and summary.html."""
        if self.preview:
            return
        for path, page in self.waiting.items():
            write_if_changed(path, page)
        for listed in (self.summary.students, self.summary.excused):
            listed.sort(key=lambda entry: entry[0].key)
        self.write_table(csv_table(GRADES_COLUMNS, (row for key in sorted(self.rows) for row in self.rows[key])))
        files.replace(
            self.out / "totals.csv", csv_table(TOTALS_COLUMNS, (self.totals[key] for key in sorted(self.totals)))
        )
        files.replace(self.out / "summary.html", template("class_summary.html").render(summary=self.summary).encode())

    def write_table(self, content):
        """Write grades.csv. One that somebody has changed by hand since is put aside first."""
        path, mark = self.out / "grades.csv", self.out / REPORTS_FOLDER / "grades.sha256"
        ours = mark.read_bytes() if mark.exists() else b""
        if path.exists() and ours != sha256(path.read_bytes()).hexdigest().encode():
            aside = next(name for k in count(1) if not (name := self.out / f"grades changed by hand {k}.csv").exists())
            path.rename(aside)
            print(
                f"{path} was changed by hand, so that file is {aside.name} now. Decisions go into {ADJUSTMENTS_FILE}."
            )
        files.replace(path, content)
        files.replace(mark, sha256(content).hexdigest().encode())


def write_if_changed(path, text):
    """Write a page unless it is already there."""
    content = text.encode()
    if not path.is_file() or path.read_bytes() != content:
        files.replace(path, content)


def csv_table(header, rows):
    """A CSV file, with the mark that Excel wants. No text in it is taken for a formula."""
    text = io.StringIO()
    written = csv.writer(text, lineterminator="\n")
    written.writerow(header)
    written.writerows([without_formulas(field) if isinstance(field, str) else field for field in row] for row in rows)
    return text.getvalue().encode("utf-8-sig")


def totals_row(grade, report):
    """One student's row in totals.csv."""
    student = report.student
    flags = ["yes" if flag else "" for flag in (report.late, grade.excused)]
    return [student.name, " ".join(student.ids), *grade.points, *flags, STUDENT_PAGE.format(student.key)]


def exercise_rows(grade, report):
    """A row for each exercise of a student. What is said of the whole submission stands in the first."""
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
    """A text that no spreadsheet takes for a formula, also where it splits fields at semicolons or tabs."""
    return SPREADSHEET_FORMULA.sub(r"\1'\2", text)


def template(name):
    """A page with places to fill in; what is filled in is escaped."""
    return template_environment().get_template(name)


@functools.cache
def template_environment():
    """Where the pages' templates lie."""
    loader = jinja2.PackageLoader("course_tools.grading")
    made = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    made.filters["rich"] = rich
    return made
