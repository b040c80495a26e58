"""The contents of summary.html: a class's points, hardest exercises, mistakes, and similar answers."""

import statistics
from collections import Counter

from course_tools.grading.similar_answers import similar_pairs
from course_utils.judging.result import NOT_ATTEMPTED, NOT_YET, RIGHT

ENOUGH_STUDENTS = 20  # students for a correlation to mean something
LOW_CORRELATION = 0.15  # below this correlation, an exercise does not show who can do the rest
BARS = 10  # of the distribution, each a tenth of the points


class ClassSummary:
    """The contents of the summary. graded: [(report, its Grade)] of all students. Excused students are not counted.

    students: [(student, points, highest possible points, remarks)]; excused: [(student, remarks)]. published:
    [(student, ids of answers)]. distribution: [(from %, to %, number of students)]. mistakes: how often a class made
    each (exercise, name).
    """

    def __init__(self, graded):
        self.protections = Counter(report.protection for report, _ in graded)
        counted = [(report, grade) for report, grade in graded if not grade.excused]
        self.students = [(report.student, *grade.points, all_remarks(report, grade)) for report, grade in counted]
        self.excused = [(report.student, all_remarks(report, grade)) for report, grade in graded if grade.excused]

        shares = [got / most if most else 0 for _, got, most, _ in self.students] or [0]
        self.mean, self.median = statistics.fmean(shares), statistics.median(shares)
        bars = Counter(min(int(share * BARS), BARS - 1) for share in shares[: len(counted)])
        step = 100 // BARS
        self.distribution = [(bar * step, (bar + 1) * step, bars[bar]) for bar in range(BARS)]

        self.tried = {}  # {id: [(GradedExercise, the same student's points in all others)]}
        for _, grade in counted:
            points = sum(entry.points for entry in grade.graded)
            for entry in grade.graded:
                if not entry.excused:
                    self.tried.setdefault(entry.result.id, []).append((entry, points - entry.points))
        results = [entry.result for entries in self.tried.values() for entry, _ in entries]
        self.mistakes = Counter((f"{one.id} {one.title}", one.mistake) for one in results if one.mistake)

        ids = {entry.result.id for _, grade in graded for entry in grade.graded}
        pairs = similar_pairs(
            {report.student: {id: lines for id, lines in report.lines.items() if id in ids} for report, _ in graded}
        )
        self.similar_pairs = [pair for pair in pairs if not handed_in_together(*pair[:2])]
        published = ((report.student, [id for id in report.published if id in ids]) for report, _ in graded)
        self.published = [(student, own) for student, own in published if own]

    @property
    def hardest(self):
        """[(id, title, right, not yet, not attempted, discrimination, whether to look at it first)], hardest first."""
        rows = []
        for id, entries in self.tried.items():
            statuses, told = Counter(entry.result.status for entry, _ in entries), discrimination(entries)
            numbers = [statuses[status] for status in (RIGHT, NOT_YET, NOT_ATTEMPTED)]
            rows.append((id, entries[0][0].result.title, *numbers, told, told is not None and told < LOW_CORRELATION))
        return sorted(rows, key=lambda row: row[2])


def handed_in_together(one, other):
    """Whether two students handed in one submission, as a group."""
    return bool(one.file) and one.file == other.file


def discrimination(entries):
    """The correlation of the points for an exercise with those for the rest; None if it is undefined."""
    if len(entries) < ENOUGH_STUDENTS:
        return None
    try:
        return statistics.correlation([entry.points for entry, _ in entries], [rest for _, rest in entries])
    except statistics.StatisticsError:  # all values are the same
        return None


def all_remarks(report, grade):
    """All remarks on a submission, with the ids of the exercises that they are about."""
    exercises = (f"{entry.result.id}: {remark}" for entry in grade.graded for remark in entry.remarks)
    return [*report.remarks, *grade.remarks, *exercises]
