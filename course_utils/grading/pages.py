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


class Book:
    """What is written of a class, as far as it is graded: every page at once, the tables when it is closed.

    chapters: those that count.
    """

    def __init__(self, out, chapters):
        self.out, self.chapters = out, chapters
        self.rows, self.seen, self.pages = {}, Class(), out / "feedback"
        self.pages.mkdir(parents=True, exist_ok=True)

    def add(self, report):
        """Write a student's page, and keep what the tables will say."""
        graded = report.of(self.chapters)
        self.rows[report.student.key] = list(csv_rows(report, self.chapters))
        self.seen.add(report, self.chapters)
        page = template("feedback.html").render(report=report, graded=graded, total=points(graded))
        write_changed(self.pages / f"{report.student.key}.html", page)

    def remove(self, key):
        """Remove the page of a student who is no longer among the submissions."""
        (self.pages / f"{key}.html").unlink(missing_ok=True)

    @property
    def scores(self):
        """[(student, points, highest possible points)]."""
        return [(student, got, most) for student, got, most, _ in self.seen.students]

    def close(self):
        """Write grades.csv and summary.html."""
        rows = io.StringIO()
        table = csv.writer(rows, lineterminator="\n")
        table.writerow(COLUMNS)
        for key in sorted(self.rows):
            table.writerows(self.rows[key])
        self.seen.students.sort(key=lambda entry: entry[0].key)
        files.replace(self.out / "grades.csv", rows.getvalue().encode("utf-8-sig"))  # with the mark that Excel wants
        files.replace(self.out / "summary.html", template("summary.html").render(seen=self.seen).encode())


def write_changed(path, text):
    """Write a page unless it is already there."""
    content = text.encode()
    if not path.is_file() or path.read_bytes() != content:
        files.replace(path, content)


def csv_rows(report, chapters):
    """A row for each exercise of a student."""
    for k, graded in enumerate(report.of(chapters)):
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
            harmless(" ".join([*graded.remarks, *report.remarks[: None if k == 0 else 0]])),
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
