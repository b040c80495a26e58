"""What summary.html says of a class: its points, its hardest exercises, its mistakes, and who writes alike."""

import statistics
from collections import Counter

from course_tools.grading import similar_answers
from course_utils.judging.result import NOT_ATTEMPTED, NOT_YET, RIGHT

ENOUGH_STUDENTS = 20  # students for a correlation to mean something
LOW_CORRELATION = 0.15  # correlation below which an exercise does not tell who can do the rest
BARS = 10  # of the distribution, each a tenth of the points


class ClassSummary:
    """What the summary says of a class, counted report by report."""

    def __init__(self):
        self.students = []  # (student, points, highest possible points, remarks) of all who are not excused
        self.excused = []  # (student, remarks) of the others, who are not counted
        self.excused_from = []  # (student, ids) of who is counted, but not in these exercises
        self.protections = Counter()
        self.statuses = {}  # {id: Counter of statuses}
        self.titles = {}
        self.shares_of = {}  # {id: each student's share of its points, in the order of the students}
        self.points_in_rest_of = {}  # {id: each student's points in all else}
        self.mistakes = Counter()  # of (id, name)
        self.lines_of = {}  # {student: {id: own lines}}
        self.published = []  # (student, ids of answers)

    def add(self, grade, report):
        """Count one more report."""
        exercises = (f"{entry.result.id}: {remark}" for entry in grade.graded for remark in entry.remarks)
        remarks = [*report.remarks, *grade.remarks, *exercises]
        self.protections[report.protection] += 1
        self.lines_of[report.student] = {
            entry.result.id: report.lines.get(entry.result.id, []) for entry in grade.graded
        }
        if ids := [entry.result.id for entry in grade.graded if entry.result.id in report.published]:
            self.published.append((report.student, ids))
        if grade.excused:
            self.excused.append((report.student, remarks))
            return
        self.students.append((report.student, *grade.points, remarks))
        if ids := [entry.result.id for entry in grade.graded if entry.excused]:
            self.excused_from.append((report.student, ids))
        for entry in grade.graded:
            if entry.excused:
                continue
            result = entry.result
            self.titles[result.id] = result.title
            self.shares_of.setdefault(result.id, []).append(entry.points / (result.max_points or 1))
            self.points_in_rest_of.setdefault(result.id, []).append(
                sum(each.points for each in grade.graded) - entry.points
            )
            self.statuses.setdefault(result.id, Counter())[result.status] += 1
            if result.mistake:
                self.mistakes[result.id, result.mistake] += 1

    @property
    def similar_pairs(self):
        """What `similar_answers.similar_pairs` finds in the class."""
        return similar_answers.similar_pairs(self.lines_of)

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
    def distribution(self):
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
        return [(*row, row[5] is not None and row[5] < LOW_CORRELATION) for row in sorted(rows, key=lambda row: row[2])]

    def discrimination(self, id):
        """Whether who gets an exercise gets the rest, too: the correlation of the two; None where it cannot be told."""
        own, rest = self.shares_of[id], self.points_in_rest_of[id]
        if len(own) < ENOUGH_STUDENTS:
            return None
        try:
            return statistics.correlation(own, rest)
        except statistics.StatisticsError:  # of all the same
            return None
