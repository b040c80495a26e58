"""What is known of a submission after grading, and where it is kept for the next run."""

import json
from dataclasses import asdict, dataclass, field

from course_utils import files
from course_utils.judging.result import Result

KEPT = ".reports"  # the folder of the reports that a second run needs


@dataclass(frozen=True)
class Student:
    """key: the name of the student's files, unlike every other. ids: what the download calls them, beside the name."""

    key: str
    name: str
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """A submission on its way to whoever grades it.

    files: [(parts of the name below the student's folder, bytes)]. digest: what identifies all of it. seconds: by the
    clock, for all of it.
    """

    student: Student
    files: list[tuple[tuple[str, ...], bytes]] = field(repr=False)
    remarks: list[str]
    digest: str
    seconds: float


@dataclass(frozen=True)
class Graded:
    """The result of one exercise. remarks: sentences on how it came about."""

    result: Result
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    """All that is known of a submission.

    graded: one for each exercise of the course. chapters: the numbers of those that were handed in. remarks: sentences
    on the whole submission. protection: what the answers ran under. digest: of the submission and of the grader.
    """

    student: Student
    graded: list[Graded]
    chapters: list[int]
    remarks: list[str]
    protection: str
    digest: str

    def of(self, chapters):
        """The graded exercises of some chapters."""
        return [graded for graded in self.graded if chapter_of(graded) in chapters]


def chapter_of(graded):
    """The number of the chapter of a graded exercise."""
    return int(graded.result.id.split(".")[0])


def plain(report):
    """A report as JSON can hold it."""
    return asdict(report)


def from_plain(data):
    """The Report that `plain` took apart."""
    student = Student(**data["student"] | {"ids": tuple(data["student"]["ids"])})
    graded = [Graded(Result(**entry["result"]), entry["remarks"]) for entry in data["graded"]]
    return Report(**data | {"student": student, "graded": graded})


def points(graded):
    """(points, highest possible points) of some graded exercises."""
    return sum(entry.result.points for entry in graded), sum(entry.result.max_points for entry in graded)


class Store:
    """The reports of this run and of runs before, a file a student in the output folder."""

    def __init__(self, out):
        self.folder = out / KEPT
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, student):
        """Where a student's report is kept."""
        return self.folder / f"{student.key}.json"

    def get(self, student):
        """A student's report, or None."""
        try:
            return from_plain(json.loads(self.path(student).read_bytes()))
        except (OSError, ValueError, TypeError, KeyError):  # none, or one of another version of the course
            return None

    def put(self, made):
        """Keep a report."""
        files.replace(self.path(made.student), json.dumps(plain(made)).encode())

    def others(self, students):
        """The keys of those whose reports are kept, beside these students."""
        return sorted({path.stem for path in self.folder.glob("*.json")} - {student.key for student in students})

    def forget(self, key):
        """Keep a report no longer."""
        (self.folder / f"{key}.json").unlink()
