"""What is known of a submission after grading, and where it is kept for the next run."""

import functools
import json
import os
import sys
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from course_tools import repository
from course_tools.grading.sandbox.protection import package_folders
from course_utils import files
from course_utils.judging.result import Result

ALLOWED_UNPRINTABLE = "\n\u200c\u200d"  # line ends, and the joiners that names in Persian and Hindi need
REPORTS_FOLDER = ".reports"  # the folder of the reports that a second run needs


@dataclass(frozen=True)
class Student:
    """key: the name of the student's files, unlike every other. ids: what the download calls them, beside the name.

    numbered_by: the platform whose own numbers the ids are; "" where they are the institution's. file: the beginning of
    what the download calls one of the files, or the folder of all. called: what the download calls a student whom the
    roster knows. accounts: (platform, id) in the roster, with "" as the platform of the institution's ids.
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
        """What the download calls the student."""
        return self.called or self.name


@dataclass(frozen=True)
class Task:
    """A submission on its way to whoever grades it.

    files: [(parts of the name below the student's folder, bytes)]. digest: what identifies all of it. seconds: by the
    clock, for all of it. late: whether the platform says so. questions: how many to ask about the answers to the
    exercises of these chapters. seed: what these and the numbers of all calls are drawn from; "" for the course's own.
    own: (name, text) of the files of the instructor's own exercises.
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
    """What counts of a report. remarks: the instructor's, on the whole. added: points. factor: that is left when late.

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
    """All that is known of a submission.

    graded: one for each exercise of the course. remarks: sentences on the whole submission. protection: what the
    answers ran under. digest: of the submission and of the grader. late: whether the platform says so. lines: {id: the
    lines of an answer that are the student's own}. published: the ids of the answers that are the course's published
    ones, line by line. quiz: questions about the answers' own code, as `own_code.draw` gives them.
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

    def in_chapters(self, chapters):
        """The graded exercises of some chapters."""
        return [graded for graded in self.graded if int(graded.result.id.partition(".")[0]) in chapters]


def report_to_json(report):
    """A report as JSON can hold it. (dataclasses.asdict would copy all of it, which takes half of a grader's time.)"""
    graded = [vars(entry) | {"result": vars(entry.result)} for entry in report.graded]
    return vars(report) | {"student": vars(report.student), "graded": graded}


def report_from_json(data):
    """The Report that `report_to_json` took apart, with texts as `presentable` has them."""
    data = presentable(data)
    graded = [GradedExercise(**entry | {"result": result_from_json(entry["result"])}) for entry in data["graded"]]
    tuples = {"ids": tuple(data["student"]["ids"]), "accounts": tuple(map(tuple, data["student"]["accounts"]))}
    student = Student(**data["student"] | tuples)
    return Report(**data | {"student": student, "graded": graded})


def result_from_json(data):
    """The Result with these fields, as JSON holds them."""
    return Result(**data | {"hints": tuple(data["hints"])})


def presentable(data):
    """Plain data whose texts steer no terminal and name no folder of this machine, as the messages of errors do."""
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
    """What tells where Python, the course and its user's files lie on this machine, as texts; the longest first."""
    folders = {*package_folders(), sys.prefix, str(repository.ROOT), os.path.expanduser("~")}
    folders |= {os.path.realpath(folder) for folder in folders}
    below = {folder for folder in folders if len(Path(folder).parts) > 1}  # without "/", the home of many a container
    return sorted(below | {folder.replace("\\", "\\\\") for folder in below}, key=len, reverse=True)


def printable(text):
    """A text with every sign replaced that cannot be seen, beside line ends and what scripts need."""
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
    """What `save_with_checksum` wrote there. None where nothing is, or where it is damaged."""
    try:
        stored_checksum, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return json.loads(content) if stored_checksum == checksum(path, content) else None


def checksum(path, content):
    """What tells the content of a file from any other, and from that of another file."""
    return sha256(os.fsencode(path.name) + b"\0" + content).hexdigest().encode()


class ReportStore:
    """The reports of this run and of runs before, a file a student in the output folder."""

    def __init__(self, out):
        self.out, self.folder = out, out / REPORTS_FOLDER
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, student):
        """Where a student's report is kept."""
        return self.folder / files.on_disk(f"{student.key}.json")

    def get(self, student):
        """A student's report, or None, also where it is damaged: then the submission is graded anew."""
        try:
            return report_from_json(load_with_checksum(self.path(student)))
        except (ValueError, TypeError, KeyError, AttributeError):  # none, or one of another version of the course
            return None

    def put(self, made):
        """Keep a report."""
        save_with_checksum(self.path(made.student), report_to_json(made))

    def keys_of_others(self, students):
        """The keys of those whose reports are kept, beside these students."""
        stored = {files.from_disk(path.stem) for path in self.folder.glob("*.json")}
        return sorted(stored - {student.key for student in students})

    def forget(self, key):
        """Keep a report no longer."""
        (self.folder / files.on_disk(f"{key}.json")).unlink()
