"""Gradescope: numbered folders with a list of students beside them; results.json from an autograder."""

import json
import re
import sys
from datetime import datetime

from course_tools.grading.platforms.platform import Owner, Platform
from course_tools.names_on_disk import on_disk
from course_utils import files

FOLDER = re.compile(r"submission_\d+")
METADATA = "submission_metadata.json"  # which Gradescope gives its autograder, beside the submission
LONGEST_REASON = 200  # characters of an error in the list


class Gradescope(Platform):
    name = "Gradescope"
    list_file = "submission_metadata.yml"

    def owner(self, name):
        return Owner(name) if FOLDER.fullmatch(name) else None

    def owners(self, content):
        import yaml  # here: the command's options are read before anything is installed

        try:
            return {folder: owners_in_group(entry[":submitters"]) for folder, entry in yaml.safe_load(content).items()}
        except (yaml.YAMLError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(
                " ".join(str(error).split())[:LONGEST_REASON]
            ) from None  # YAML's own message takes several lines

    def add_options(self, parser):
        parser.add_argument("--gradescope", action="store_true", help="also write a results.json for each submission")

    def export(self, options):
        return GradescopeResults(options.submissions.absolute().with_name(METADATA)) if options.gradescope else None


def owners_in_group(submitters):
    """The Owners who handed in one submission: each gets its points."""
    kinds = (":sid", ":email")
    owners = (
        Owner(str(person[":name"]), tuple(str(person[kind]) for kind in kinds if person.get(kind)))
        for person in submitters
    )
    return list(dict.fromkeys(owners))


class GradescopeResults:
    """The files that an autograder writes for Gradescope. metadata: Gradescope's file with the submission time."""

    path = None
    values: dict = {}
    without_points: list = []

    def __init__(self, metadata):
        self.metadata = metadata

    def prepare(self):
        """There is nothing to read."""

    def full_names(self, students):
        """There is no file with names."""
        return {}

    def late(self, students):
        """The keys of all students if the submission is late."""
        return {student.key for student in students} if self.metadata.exists() and is_late(self.metadata) else set()

    def planned_changes(self, scores, last):
        """There is nothing to compare with."""
        return []

    def file_names(self, students):
        """The names of the files that `write` makes."""
        if len(students) == 1:  # as on Gradescope itself, which expects results.json in its own folder
            self.file_of = {students[0].key: "results.json"}
        else:
            self.file_of = {student.key: f"gradescope/{student.key}/results.json" for student in students}
        return list(self.file_of.values())

    def write(self, out, graded):
        """Write a results.json for each submission. Returns the sentences to print."""
        for report, grade in graded:
            path = out / on_disk(self.file_of[report.student.key])
            path.parent.mkdir(parents=True, exist_ok=True)
            results = json.dumps(results_of(report, grade), ensure_ascii=False, indent=1)
            files.replace(path, results.encode())
        return []


def is_late(metadata):
    """Whether Gradescope's file says that a submission came after the due date; False without the file."""
    try:
        said = json.loads(metadata.read_text(encoding="utf-8"))
        due = said["assignment"]["due_date"]
        return bool(due) and datetime.fromisoformat(said["created_at"]) > datetime.fromisoformat(due)
    except (ValueError, KeyError, TypeError) as error:
        sys.exit(f"{metadata} is not in Gradescope's format ({type(error).__name__}: {error}).")


def results_of(report, grade):
    """The contents of results.json."""
    return {
        "score": grade.points[0],
        "output": "\n\n".join([report.protection, *report.remarks, *grade.remarks]),
        "visibility": "visible",
        "tests": [
            {
                "name": f"{entry.result.id} {entry.result.title}",
                "score": entry.points,
                "max_score": entry.result.max_points,
                "output": "\n\n".join([entry.result.message, *entry.result.hints, *entry.remarks]),
                "visibility": "visible",
            }
            for entry in grade.graded
            if not entry.excused
        ],
    }
