"""The results of grading a submission, and their storage for the next run."""

import functools
import json
import os
import sys
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from course_tools import repository
from course_tools.grading.sandbox.protection import package_folders
from course_tools.names_on_disk import from_disk, on_disk
from course_utils import files
from course_utils.judging.result import Result

ALLOWED_UNPRINTABLE = "\n\u200c\u200d"  # line ends, and the joiners that names in Persian and Hindi need
REPORTS_FOLDER = ".reports"  # the folder of the reports that a second run needs


@dataclass(frozen=True)
class Student:
    """key: the unique name of the student's files. ids: from the download, besides the name.

    numbered_by: the platform whose own numbers the ids are; "" if they are the institution's. file: the beginning of
    a file's name in the download, or the name of the folder. called: the download's name for a student in the roster.
    accounts: (platform, id) in the roster, with "" as the platform of the institution's ids.
    """

    key: str
    name: str
    ids: tuple[str, ...] = ()
    numbered_by: str = ""
    file: str = ""
    called: str = ""
    accounts: tuple[tuple[str, str], ...] = ()

    @property
    def name_there(self):
        """The student's name in the download."""
        return self.called or self.name


@dataclass(frozen=True)
class Task:
    """A submission to grade.

    files: [(parts of the name below the student's folder, bytes)]. digest: identifies all of it. seconds: wall-clock
    time for all of it. late: whether the platform says so. questions: how many to ask about the answers to these
    chapters' exercises. seed: for these and for the numbers of all calls; "" for the course's own numbers. own: (name,
    text) of the files of the instructor's own exercises. explained: whether wrong answers are explained and questions
    asked, and not only points given.
    """

    student: Student
    files: list[tuple[tuple[str, ...], bytes]] = field(repr=False)
    remarks: list[str]
    digest: str
    seconds: float
    late: bool = False
    questions: int = 0
    chapters: tuple[int, ...] = ()
    seed: str = ""
    own: tuple[tuple[str, str], ...] = ()
    explained: bool = True


@dataclass(frozen=True)
class GradedExercise:
    """The result of one exercise. remarks: sentences on how it came about.

    given: points that the instructor gave instead, or None. excused: it does not count.
    """

    result: Result
    remarks: list[str] = field(default_factory=list)
    given: float | None = None
    excused: bool = False

    @property
    def points(self):
        """The points that count."""
        return self.result.points if self.given is None else self.given


@dataclass(frozen=True)
class Grade:
    """What counts in a report. remarks: the instructor's, on the whole. added: points. factor: the share left if late.

    excused: nothing is filled in for this student.
    """

    student: Student
    graded: list[GradedExercise]
    remarks: list[str]
    added: float
    factor: float
    excused: bool

    @property
    def points(self):
        """(points, highest possible points)."""
        counted = [entry for entry in self.graded if not entry.excused]
        got = sum(entry.points for entry in counted) * self.factor + self.added
        return rounded(got), rounded(sum(entry.result.max_points for entry in counted))

    @property
    def excused_from(self):
        """The ids of the exercises that do not count for this student."""
        return [entry.result.id for entry in self.graded if entry.excused]


@dataclass(frozen=True)
class Report:
    """The results of grading a submission.

    graded: one for each exercise of the course. remarks: sentences on the whole submission. protection: under
    which the answers ran. digest: of the submission and the grader. late: whether the platform says so. lines: {id: the
    lines of an answer that are the student's own}. published: the ids of the answers that are the course's published
    ones, line by line. quiz: questions about the answers' own code, as `own_code.draw` gives them. incomplete: whether
    explanations or questions are still to come.
    """

    student: Student
    graded: list[GradedExercise]
    remarks: list[str]
    protection: str
    digest: str
    late: bool = False
    lines: dict[str, list[str]] = field(default_factory=dict)
    published: list[str] = field(default_factory=list)
    quiz: list[dict] = field(default_factory=list)
    incomplete: bool = False

    def in_chapters(self, chapters):
        """The graded exercises of some chapters."""
        return [graded for graded in self.graded if int(graded.result.id.partition(".")[0]) in chapters]


def report_to_json(report):
    """A report as data for JSON. (dataclasses.asdict would copy all of it and take half of the grader's time.)"""
    graded = [vars(entry) | {"result": vars(entry.result)} for entry in report.graded]
    return vars(report) | {"student": vars(report.student), "graded": graded}


def report_from_json(data):
    """The Report from the data of `report_to_json`, with texts passed through `presentable`."""
    data = presentable(data)
    graded = [GradedExercise(**entry | {"result": result_from_json(entry["result"])}) for entry in data["graded"]]
    tuples = {"ids": tuple(data["student"]["ids"]), "accounts": tuple(map(tuple, data["student"]["accounts"]))}
    student = Student(**data["student"] | tuples)
    return Report(**data | {"student": student, "graded": graded})


def result_from_json(data):
    """The Result with these fields from JSON."""
    return Result(**data | {"hints": tuple(data["hints"])})


def presentable(data):
    """Plain data without control characters or names of this machine's folders, which error messages contain."""
    if isinstance(data, dict):
        return {name: presentable(value) for name, value in data.items()}
    if isinstance(data, list):
        return list(map(presentable, data))
    if not isinstance(data, str):
        return data
    for folder in private_folders():
        data = data.replace(folder, "…")
    return printable(data)


@functools.cache
def private_folders():
    """The folders of Python, the course and its user on this machine, as texts; the longest first."""
    folders = {*package_folders(), sys.prefix, str(repository.ROOT), os.path.expanduser("~")}
    folders |= {os.path.realpath(folder) for folder in folders}
    below = {
        folder for folder in folders if len(Path(folder).parts) > 1
    }  # without "/", the home folder in some containers
    return sorted(below | {folder.replace("\\", "\\\\") for folder in below}, key=len, reverse=True)


def printable(text):
    """A text with all invisible characters replaced, except line ends and those that scripts need."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign in ALLOWED_UNPRINTABLE else "\ufffd" for sign in text)


def rounded(value):
    """7 for 7.0, and no more than two decimals."""
    value = round(value, 2)
    return int(value) if value == int(value) else value


def save_with_checksum(path, data):
    """Keep data for the next run, as JSON below a checksum."""
    content = json.dumps(data).encode()
    files.replace(path, checksum(path, content) + b"\n" + content)


def load_with_checksum(path):
    """The data that `save_with_checksum` wrote there; None if there is none or it is damaged."""
    try:
        stored_checksum, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return json.loads(content) if stored_checksum == checksum(path, content) else None


def checksum(path, content):
    """A checksum of a file's content and path."""
    return sha256(os.fsencode(path.name) + b"\0" + content).hexdigest().encode()


class ReportStore:
    """The reports of this and earlier runs, one file per student in the output folder."""

    def __init__(self, out):
        self.out, self.folder = out, out / REPORTS_FOLDER
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, student):
        """Where a student's report is kept."""
        return self.folder / on_disk(f"{student.key}.json")

    def get(self, student):
        """A student's report; None if there is none or it is damaged, and the submission must be graded again."""
        try:
            return report_from_json(load_with_checksum(self.path(student)))
        except (ValueError, TypeError, KeyError, AttributeError):  # none, or one from another version of the course
            return None

    def put(self, made):
        """Keep a report."""
        save_with_checksum(self.path(made.student), report_to_json(made))

    def keys_of_others(self, students):
        """The keys of other students whose reports are kept."""
        stored = {from_disk(path.stem) for path in self.folder.glob("*.json")}
        return sorted(stored - {student.key for student in students})

    def forget(self, key):
        """Remove a report."""
        (self.folder / on_disk(f"{key}.json")).unlink()
