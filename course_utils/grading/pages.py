"""What people read after grading: a table of all exercises, a page a student, a page on the class."""

import csv
import functools
import io
import statistics
from collections import Counter

import jinja2

from course_utils import files
from course_utils.grading.records import points
from course_utils.judging.result import NOT_ATTEMPTED, NOT_YET, RIGHT

COLUMNS = ["student", "ids", "exercise", "title", "status", "points", "max_points", "mistake", "message", "remarks"]
WRITTEN = ("grades.csv", "summary.html")
BARS = 10  # of the distribution, each a tenth of the points


def write_all(out, reports, chapters):
    """Write grades.csv, feedback/*.html and summary.html. Gives [(student, points, highest possible points)].

    reports: an iterable that is gone through once, so that a large class never lies in memory. chapters: those that
    count.
    """
    rows = io.StringIO()
    table = csv.writer(rows, lineterminator="\n")
    table.writerow(COLUMNS)
    seen = Class()
    pages = out / "feedback"
    pages.mkdir(exist_ok=True)
    stale = set(pages.glob("*.html"))  # of students who are no longer among the submissions
    for report in reports:
        table.writerows(csv_rows(report, chapters))
        seen.add(report, chapters)
        page = template("feedback.html").render(
            report=report, graded=report.of(chapters), total=points(report.of(chapters))
        )
        write_changed(pages / f"{report.student.key}.html", page)
        stale.discard(pages / f"{report.student.key}.html")
    for path in stale:
        path.unlink()
    files.replace(out / "grades.csv", rows.getvalue().encode("utf-8-sig"))  # with the mark that Excel wants
    files.replace(out / "summary.html", template("summary.html").render(seen=seen).encode())
    return [(student, got, most) for student, got, most, _ in seen.students]


def write_changed(path, text):
    """Write a page unless it is already there."""
    content = text.encode()
    if not path.is_file() or path.read_bytes() != content:
        files.replace(path, content)


def csv_rows(report, chapters):
    """A row for each exercise of a student."""
    for graded in report.of(chapters):
        result = graded.result
        yield [
            harmless(report.student.name),
            harmless(" ".join(report.student.ids)),
            result.id,
            result.title,
            result.status,
            result.points,
            result.max_points,
            result.mistake or "",
            harmless(result.message),
            harmless(" ".join([*graded.remarks, *report.remarks])),
        ]


def harmless(text):
    """A text that no spreadsheet takes for a formula."""
    text = text.replace("\0", "")
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def template(name):
    """A page with places to fill in; what is filled in is escaped."""
    return environment().get_template(name)


@functools.cache
def environment():
    """Where the pages' templates lie."""
    loader = jinja2.PackageLoader("course_utils.grading")
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)


class Class:
    """What the summary says of a class, counted report by report."""

    def __init__(self):
        self.students = []  # (student, points, highest possible points, remarks)
        self.protections = Counter()
        self.statuses = {}  # {id: Counter of statuses}
        self.titles = {}
        self.mistakes = Counter()  # of (id, name)

    def add(self, report, chapters):
        """Count one more report."""
        graded = report.of(chapters)
        remarks = [*report.remarks, *(f"{entry.result.id}: {remark}" for entry in graded for remark in entry.remarks)]
        self.students.append((report.student, *points(graded), remarks))
        self.protections[report.protection] += 1
        for entry in graded:
            result = entry.result
            self.titles[result.id] = result.title
            self.statuses.setdefault(result.id, Counter())[result.status] += 1
            if result.mistake:
                self.mistakes[result.id, result.mistake] += 1

    @property
    def shares(self):
        """Each student's share of the points, from 0 to 1."""
        return [got / most if most else 0 for _, got, most, _ in self.students]

    @property
    def mean(self):
        """The mean share of the points."""
        return statistics.fmean(self.shares) if self.students else 0

    @property
    def median(self):
        """The median share of the points."""
        return statistics.median(self.shares) if self.students else 0

    @property
    def bars(self):
        """[(from %, to %, number of students)] of the distribution."""
        counted = Counter(min(int(share * BARS), BARS - 1) for share in self.shares)
        step = 100 // BARS
        return [(bar * step, (bar + 1) * step, counted[bar]) for bar in range(BARS)]

    @property
    def hardest(self):
        """[(id, title, right, not yet, not attempted)], fewest right first."""
        rows = [
            (id, self.titles[id], counted[RIGHT], counted[NOT_YET], counted[NOT_ATTEMPTED])
            for id, counted in self.statuses.items()
        ]
        return sorted(rows, key=lambda row: row[2])
