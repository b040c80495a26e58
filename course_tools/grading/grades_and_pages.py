"""What people read after grading: a table of all exercises, a page a student, a page on the class."""

import csv
import functools
import io
import re
import statistics
from collections import Counter
from hashlib import sha256
from itertools import count

import jinja2

from course_tools.grading import similar_answers
from course_tools.grading.assignment import DECISIONS
from course_tools.grading.reports import KEPT
from course_utils import files
from course_utils.judging.result import NOT_ATTEMPTED, NOT_YET, RIGHT

TOTALS = ["student", "ids", "points", "max_points", "late", "excused", "page"]
COLUMNS = ["student", "ids", "exercise", "title", "status", "points", "max_points", "mistake", "message", "remarks"]
WRITTEN = ("grades.csv", "totals.csv", "summary.html")
PAGE = "feedback/{}.html"  # of the student with this key
ENOUGH = 20  # students for a correlation to mean something
SEPARATES = 0.15  # correlation below which an exercise does not tell who can do the rest
FORMULA = re.compile(r"(^|[;\t\r\n])(\s*[\"']*\s*[=+\-@＝＋－＠])")  # also in the width of Japanese letters
BARS = 10  # of the distribution, each a tenth of the points


class Book:
    """What is written of a class, as far as it is graded: pages at once, the tables when it is closed.

    A page with other points than in the last run, which `history` knows, waits until then: first they are announced.
    preview: write nothing. entries: {key: (name, points, highest possible points, digest)} of all who are graded, with
    None as points of who is excused. names: {key: what a platform's gradebook calls a student}, to head the page with.
    """

    def __init__(self, out, assignment, history, preview=False, names=None):
        self.out, self.assignment, self.history, self.preview = out, assignment, history, preview
        self.names = names or {}
        self.waiting = {}  # {path of a page: its text}
        self.rows, self.totals, self.entries, self.seen, self.pages = {}, {}, {}, Class(), out / "feedback"
        if not preview:
            self.pages.mkdir(exist_ok=True)

    def add(self, report):
        """Write a student's page, and keep what the tables will say."""
        marked = self.assignment.marked(report)
        key = report.student.key
        path = self.page(key)
        if not self.preview:  # first, so that whoever is in the tables has a page, wherever a run ends
            name = self.names.get(key, report.student.name)
            self.waiting[path] = template("student_page.html").render(name=name, report=report, marked=marked)
        self.rows[key] = list(csv_rows(marked, report))
        self.totals[key] = totals_row(marked, report)
        got, most = marked.points
        self.entries[key] = (report.student.name, None if marked.excused else got, most, report.digest)
        self.seen.add(marked, report)
        if not self.preview and not self.history.change(key, self.entries[key]):
            write_changed(path, self.waiting[path])
            del self.waiting[path]

    def page(self, key):
        """Where a student's page lies."""
        return self.out / files.on_disk(PAGE.format(key))

    def remove(self, key):
        """Remove the page of a student who is no longer among the submissions."""
        self.page(key).unlink(missing_ok=True)

    @property
    def scores(self):
        """[(student, points, highest possible points)] of all who are not excused."""
        return [(student, got, most) for student, got, most, _ in self.seen.students]

    def close(self):
        """Write the pages that wait, grades.csv, totals.csv and summary.html."""
        if self.preview:
            return
        for path, page in self.waiting.items():
            write_changed(path, page)
        for listed in (self.seen.students, self.seen.excused):
            listed.sort(key=lambda entry: entry[0].key)
        self.write_table(table(COLUMNS, (row for key in sorted(self.rows) for row in self.rows[key])))
        files.replace(self.out / "totals.csv", table(TOTALS, (self.totals[key] for key in sorted(self.totals))))
        files.replace(self.out / "summary.html", template("class_summary.html").render(seen=self.seen).encode())

    def write_table(self, content):
        """Write grades.csv. One that somebody has changed by hand since is put aside first."""
        path, mark = self.out / "grades.csv", self.out / KEPT / "grades.sha256"
        ours = mark.read_bytes() if mark.exists() else b""
        if path.exists() and ours != sha256(path.read_bytes()).hexdigest().encode():
            aside = next(name for k in count(1) if not (name := self.out / f"grades changed by hand {k}.csv").exists())
            path.rename(aside)
            print(f"{path} was changed by hand, so that file is {aside.name} now. Decisions go into {DECISIONS}.")
        files.replace(path, content)
        files.replace(mark, sha256(content).hexdigest().encode())


def write_changed(path, text):
    """Write a page unless it is already there."""
    content = text.encode()
    if not path.is_file() or path.read_bytes() != content:
        files.replace(path, content)


def table(header, rows):
    """A CSV file, with the mark that Excel wants. No text in it is taken for a formula."""
    text = io.StringIO()
    written = csv.writer(text, lineterminator="\n")
    written.writerow(header)
    written.writerows([harmless(field) if isinstance(field, str) else field for field in row] for row in rows)
    return text.getvalue().encode("utf-8-sig")


def totals_row(marked, report):
    """One student's row in totals.csv."""
    student = report.student
    flags = ["yes" * report.late, "yes" * marked.excused]
    return [student.name, " ".join(student.ids), *marked.points, *flags, PAGE.format(student.key)]


def csv_rows(marked, report):
    """A row for each exercise of a student. What is said of the whole submission stands in the first."""
    whole = [*report.remarks, *marked.remarks]
    for entry in marked.graded:
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
            result.message,
            " ".join([*entry.remarks, *whole]),
        ]
        whole = []


def harmless(text):
    """A text that no spreadsheet takes for a formula, also where it splits fields at semicolons or tabs."""
    return FORMULA.sub(r"\1'\2", text)


def template(name):
    """A page with places to fill in; what is filled in is escaped."""
    return environment().get_template(name)


@functools.cache
def environment():
    """Where the pages' templates lie."""
    loader = jinja2.PackageLoader("course_tools.grading")
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)


class Class:
    """What the summary says of a class, counted report by report."""

    def __init__(self):
        self.students = []  # (student, points, highest possible points, remarks) of all who are not excused
        self.excused = []  # (student, remarks) of the others, who are not counted
        self.excused_from = []  # (student, ids) of who is counted, but not in these exercises
        self.protections = Counter()
        self.statuses = {}  # {id: Counter of statuses}
        self.titles = {}
        self.shares_of = {}  # {id: each student's share of its points, in the order of the students}
        self.rest_of = {}  # {id: each student's points in all else}
        self.mistakes = Counter()  # of (id, name)
        self.lines_of = {}  # {student: {id: own lines}}
        self.published = []  # (student, ids of answers)

    def add(self, marked, report):
        """Count one more report."""
        exercises = (f"{entry.result.id}: {remark}" for entry in marked.graded for remark in entry.remarks)
        remarks = [*report.remarks, *marked.remarks, *exercises]
        self.protections[report.protection] += 1
        self.lines_of[report.student] = {
            entry.result.id: report.lines.get(entry.result.id, []) for entry in marked.graded
        }
        if ids := [entry.result.id for entry in marked.graded if entry.result.id in report.published]:
            self.published.append((report.student, ids))
        if marked.excused:
            self.excused.append((report.student, remarks))
            return
        self.students.append((report.student, *marked.points, remarks))
        if ids := [entry.result.id for entry in marked.graded if entry.excused]:
            self.excused_from.append((report.student, ids))
        for entry in marked.graded:
            if entry.excused:
                continue
            result = entry.result
            self.titles[result.id] = result.title
            self.shares_of.setdefault(result.id, []).append(entry.points / (result.max_points or 1))
            self.rest_of.setdefault(result.id, []).append(sum(each.points for each in marked.graded) - entry.points)
            self.statuses.setdefault(result.id, Counter())[result.status] += 1
            if result.mistake:
                self.mistakes[result.id, result.mistake] += 1

    @property
    def alike(self):
        """What `similar_answers.pairs` finds in the class."""
        return similar_answers.pairs(self.lines_of)

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
        """[(id, title, right, not yet, not attempted, discrimination, whether to look at it first)], hardest first."""
        rows = [
            (id, self.titles[id], counted[RIGHT], counted[NOT_YET], counted[NOT_ATTEMPTED], self.discrimination(id))
            for id, counted in self.statuses.items()
        ]
        return [(*row, row[5] is not None and row[5] < SEPARATES) for row in sorted(rows, key=lambda row: row[2])]

    def discrimination(self, id):
        """Whether who gets an exercise gets the rest, too: the correlation of the two; None where it cannot be told."""
        own, rest = self.shares_of[id], self.rest_of[id]
        if len(own) < ENOUGH:
            return None
        try:
            return statistics.correlation(own, rest)
        except statistics.StatisticsError:  # of all the same
            return None
