"""The instructor's own files: what counts, and what was decided by hand. Grading only reads them.

Both are beside the downloads. `assignment.toml` says what counts; `adjustments.csv` has a row for each adjustment.
"""

import csv
import io
import secrets
import sys
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path

from course_tools.grading.own_folder import OWN_CHAPTER
from course_tools.grading.platforms.gradebook import MOST_POINTS, normalized_name, parsed_number
from course_tools.grading.reports import Grade, GradedExercise, printable

ASSIGNMENT_FILE, ADJUSTMENTS_FILE = "assignment.toml", "adjustments.csv"
SETTINGS = ("chapters", "points", "late_percent", "feedback", "quiz_percent", "quiz_questions", "seed")
FULL, PLACE = "full", "place"  # what feedback may be
ADJUSTMENTS_COLUMNS = ("student", "exercise", "points", "comment", "excused", "regrade", "quiz")
YES_WORDS, NO_WORDS = {"yes", "y", "x", "true", "1"}, {"", "no", "n", "false", "0"}
POINTS_GIVEN = "Your instructor gave {:g} points for this exercise."
POINTS_ADDED = "Your instructor added {:g} points."
EXCUSED = "Your instructor excused you from this exercise: it does not count."
EXCUSED_FROM_ALL = "Your instructor excused you from this assignment: it does not count."
QUIZ_RESULT = "Right answers about your own code: {:g} of {}. {:g}% of the points are scaled by that share."
NO_PRIVATE_SEED = "No private seed is set: answers are tested with the course's own numbers, which anybody can look up."
LATE_PENALTY = "This was handed in late: {:g}% of the points are deducted."
NEW_ASSIGNMENT = """\
# What counts in this assignment. `grade` reads this file if it is beside the downloads.
chapters = [{chapters}]
late_percent = 0 # percent of the points to deduct where the platform marks a submission as late
seed = "{seed}" # answers are tested with numbers drawn from this; keep it secret
feedback = "full" # where an answer goes wrong, and the change that fixes it; "place": only where

[points] # {total} in all; an exercise without a line here has the course's points
{points}
"""


@dataclass(frozen=True)
class Adjustment:
    """A row of adjustments.csv. exercise: an id, or "" for the whole submission. points: None if not given.

    quiz: how many questions about the student's own code were answered correctly; None if not given.
    """

    exercise: str
    points: float | None
    comment: str
    excused: bool
    regrade: bool
    quiz: float | None = None


@dataclass(frozen=True)
class Assignment:
    """What counts.

    points: {id: points} where they differ from the course's. feedback: "full", or "place", which omits the hints on
    wrong answers. adjustments: {student: [Adjustment]}. shared_names: {a name that several students share: [their
    keys]}; an adjustment with such a name applies to nobody. quiz_percent: the share of the points that counts only in
    proportion to the right answers to quiz_questions questions about the student's own code. seed: of all random
    numbers. seed_is_public: whether no private seed is possible, since an answer could read it.
    """

    chapters: list[int]
    points: dict[str, float] = field(default_factory=dict)
    late_percent: float = 0
    feedback: str = FULL
    quiz_percent: float = 0
    quiz_questions: int = 5
    seed: str = ""
    seed_is_public: bool = False
    adjustments: dict[str, list[Adjustment]] = field(default_factory=dict)
    shared_names: dict[str, list[str]] = field(default_factory=dict)

    def for_class(self, students, names=None):
        """The same for this class. names: {key of a student: name in a platform's gradebook}.

        A name may be written as people or gradebooks write it, such as "Doe, Jane"; its rows are then moved to the
        student's key.
        """
        called, said = {}, {}
        for student in students:
            for name in names_of_student(student):
                called.setdefault(name, []).append(student.key)
            full_names = filter(None, (student.name, (names or {}).get(student.key)))
            for name in set(map(normalized_name, full_names)):
                said.setdefault(name, []).append(student.key)
        shared = {name: sorted(keys) for name, keys in called.items() if len(keys) > 1}
        adjustments = {}
        for who, rows in self.adjustments.items():
            keys = {*called.get(who, ()), *said.get(normalized_name(who), ())}
            if len(keys) > 1:
                shared[who] = sorted(keys)
            elif who not in called:
                who = min(keys, default=who)
            adjustments.setdefault(who, []).extend(rows)
        return replace(self, adjustments=adjustments, shared_names=shared)

    def adjustments_of(self, student):
        """The adjustments of a student, given by name, by the name of their files, or by an id."""
        names = names_of_student(student) - self.shared_names.keys()
        return [each for who, rows in self.adjustments.items() if who in names for each in rows]

    def asks_for_regrade(self, student):
        """Whether to grade a student's submission again although nothing changed."""
        return any(adjustment.regrade for adjustment in self.adjustments_of(student))

    def grade_of(self, report):
        """The Grade of a report: its exercises that count, with what was decided by hand."""
        adjustments = self.adjustments_of(report.student)
        graded = [self.with_adjustments(entry, adjustments) for entry in report.in_chapters(self.chapters)]
        whole = [adjustment for adjustment in adjustments if not adjustment.exercise]
        late = self.late_percent if report.late else 0
        remarks = [LATE_PENALTY.format(late)] if late else []
        remarks += [NO_PRIVATE_SEED] if self.seed_is_public else []
        for adjustment in whole:
            remarks += adjustment_in_words(EXCUSED_FROM_ALL if adjustment.excused else POINTS_ADDED, adjustment)
        right = [adjustment.quiz for adjustment in whole if adjustment.quiz is not None]
        if right and self.quiz_percent:
            remarks.append(QUIZ_RESULT.format(right[-1], self.quiz_questions, self.quiz_percent))
        return Grade(
            report.student,
            graded,
            remarks,
            added=sum(adjustment.points or 0 for adjustment in whole),
            factor=(1 - late / 100) * (self.share_left_by_quiz(right[-1]) if right else 1),
            excused=any(adjustment.excused for adjustment in whole),
        )

    def share_left_by_quiz(self, right):
        """The share of the points that counts after this many right answers about the student's own code."""
        return 1 - self.quiz_percent / 100 * (1 - min(right / self.quiz_questions, 1))

    def with_adjustments(self, entry, adjustments):
        """One exercise as it counts."""
        id = entry.result.id
        if self.feedback == PLACE:
            entry = replace(entry, result=replace(entry.result, hints=()))
        if id in self.points:
            entry = replace(entry, result=replace(entry.result, max_points=self.points[id]))
        for adjustment in adjustments:
            if adjustment.exercise == id:
                entry = adjusted(entry, adjustment)
        return entry


def names_of_student(student):
    """The names that an instructor may use for a student: the name, that of the student's files, or an id."""
    return {student.name, student.key, *student.ids, *(id for _, id in student.accounts)}


def adjusted(entry, adjustment):
    """A GradedExercise with one adjustment on it."""
    words = adjustment_in_words(EXCUSED if adjustment.excused else POINTS_GIVEN, adjustment)
    given = entry.given if adjustment.points is None else adjustment.points
    return GradedExercise(entry.result, [*entry.remarks, *words], given, entry.excused or adjustment.excused)


def adjustment_in_words(opening, adjustment):
    """[the sentence about an adjustment that the student reads], or [] if it has none."""
    if adjustment.points is not None or adjustment.excused:
        return [f"{opening.format(adjustment.points)} {adjustment.comment}".strip()]
    return [f"Your instructor: {adjustment.comment}"] if adjustment.comment else []


# --- reading and writing ----------------------------------------------------------------------------------------------


def read_assignment(downloads: Path, chapters, course):
    """The Assignment beside the downloads. Ends the program with a sentence if something in it makes no sense.

    chapters: those named in the command, or None. course: returns {id of each exercise of the course: its points};
    called only if there is something to compare with it.
    """
    path = downloads.absolute().parent / ASSIGNMENT_FILE
    points_of = course() if path.exists() or path.with_name(ADJUSTMENTS_FILE).exists() else {}
    try:
        rules = tomllib.loads(text_of_file(path)) if path.exists() else {}
    except (ValueError, RecursionError) as error:
        sys.exit(
            f"{path} cannot be read: {error}. Correct it, or move it away and write a new one with --new-assignment."
        )
    if problem := problem_in_rules(rules, points_of):
        sys.exit(f"{path}: {problem}.")
    found = Assignment(**rules | {"chapters": rules.get("chapters") or chapters})
    if not found.chapters:
        has_own = points_of_chapters([OWN_CHAPTER], course())
        own = f"; {OWN_CHAPTER} stands for your own exercises" if has_own else ""
        sys.exit(
            f"Name the chapters that count: --chapters 3, or `chapters = [3]` in {path} "
            f"(--new-assignment writes it){own}."
        )
    if chapters and set(chapters) != set(found.chapters):
        sys.exit(f"{path} and --chapters name different chapters: change one, or omit --chapters.")
    return replace(found, adjustments=read_adjustments(path.with_name(ADJUSTMENTS_FILE), points_of))


def text_of_file(path):
    """The text of an instructor's file. Ends the program with a sentence if it has another encoding."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        sys.exit(f"{path}: save this file as UTF-8.")


def problem_in_rules(rules, points_of):
    """The first error in the rules of an assignment.toml, whatever their types; or None."""
    known = sorted({int(id.partition(".")[0]) for id in points_of})
    chapters, points = rules.get("chapters", []), rules.get("points", {})
    if unknown := [name for name in rules if name not in SETTINGS]:
        return f"there is no setting {unknown[0]!r:.60}; the settings are {', '.join(SETTINGS)}"
    if not isinstance(chapters, list) or not all(type(chapter) is int and chapter in known for chapter in chapters):
        return f"chapters: write a list such as [3, 4]; there are exercises in chapters {', '.join(map(str, known))}"
    if not isinstance(points, dict):
        return 'points: write a line [points], and below it one line per exercise, such as "3.1" = 2'
    for id, value in points.items():
        if id not in points_of or not is_number(value, MOST_POINTS):
            return f'points: {id!r:.60} must be an exercise such as "3.1" (in quotes), with a number of at least 0'
    if not is_number(rules.get("late_percent", 0), 100):
        return "late_percent: write a number from 0 to 100"
    if not is_number(rules.get("quiz_percent", 0), 100):
        return "quiz_percent: write a number from 0 to 100"
    if type(asked := rules.get("quiz_questions", 5)) is not int or not 1 <= asked <= 20:
        return "quiz_questions: write a whole number from 1 to 20"
    if not isinstance(rules.get("seed", ""), str):
        return "seed: write something nobody can guess, in quotes"
    if rules.get("feedback", FULL) not in (FULL, PLACE):
        return f'feedback: write "{FULL}" or "{PLACE}"'
    return None


def is_number(value, most):
    """Whether a value of a TOML file is a number from 0 to `most`; true and nan are not."""
    return type(value) in (int, float) and 0 <= value <= most


def read_adjustments(path, points_of):
    """{student: [Adjustment]} of adjustments.csv; empty without that file."""
    found = {}
    for line, fields in table_rows(path, ADJUSTMENTS_COLUMNS):
        if problem := problem_in_row(fields, points_of):
            sys.exit(f"{path}, row {line}: {problem}.")
        found.setdefault(fields["student"], []).append(adjustment(fields))
    return found


def table_rows(path, columns):
    """(number of the line, {column: text}) of each row in an instructor's CSV file; none without the file.

    Ends the program with a sentence if the file has other columns or cannot be read.
    """
    text = text_of_file(path) if path.exists() else ""
    delimiter = ";" if ";" in text.partition("\n")[0] else ","
    rows = csv.DictReader(io.StringIO(text), delimiter=delimiter, restval="", strict=True)
    try:
        rows.fieldnames = header = [name.strip().casefold() for name in rows.fieldnames or ()]
        if unknown := [name for name in header if name not in columns or header.count(name) > 1]:
            known = ", ".join(columns)
            sys.exit(f"{path}: column {unknown[0]!r:.60} is unknown or occurs twice; the columns are {known}.")
        for row in rows:
            if any(row.pop(None, ())):
                sys.exit(
                    f"{path}, row {rows.line_num}: too many fields; put text that contains {delimiter!r} in quotes."
                )
            fields = dict.fromkeys(columns, "") | {name: printable(said.strip()) for name, said in row.items()}
            if any(fields.values()):
                yield rows.line_num, fields
    except csv.Error as error:
        sys.exit(f"{path} cannot be read as CSV ({error}): look for an unmatched quote.")


def problem_in_row(fields, points_of):
    """The first error in a row of adjustments.csv, {column: text}; or None."""
    if not fields["student"] or fields["exercise"] and fields["exercise"] not in points_of:
        return "name a student; the exercise must be known or empty"
    if fields["points"] and parsed_number(fields["points"]) is None:
        return f"{fields['points']!r:.60} is not a number of points"
    for name in ("excused", "regrade"):
        if fields[name].casefold() not in YES_WORDS | NO_WORDS:
            return f"{fields[name]!r:.60} under {name}: write yes or no, or leave it empty"
    right = parsed_number(fields["quiz"])
    if fields["quiz"] and (right is None or right < 0 or fields["exercise"]):
        return "in a row without an exercise, write under quiz how many answers were right"
    return None


def adjustment(fields):
    """The Adjustment in a row."""
    flags = (fields[name].casefold() in YES_WORDS for name in ("excused", "regrade"))
    points, quiz = parsed_number(fields["points"]), parsed_number(fields["quiz"])
    return Adjustment(fields["exercise"], points, fields["comment"], *flags, quiz)


def points_of_chapters(chapters, points_of):
    """{id: points} of the exercises of these chapters."""
    return {id: points for id, points in points_of.items() if int(id.partition(".")[0]) in chapters}


def write_new(downloads: Path, chapters, points_of):
    """Write an assignment.toml beside the downloads, unless there is one. Returns the sentence to print."""
    path = downloads.absolute().parent / ASSIGNMENT_FILE
    counted = points_of_chapters(chapters, points_of)
    lines = "\n".join(f'"{id}" = {points}' for id, points in counted.items())
    text = NEW_ASSIGNMENT.format(
        chapters=", ".join(map(str, chapters)), total=sum(counted.values()), points=lines, seed=secrets.token_hex(8)
    )
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        sys.exit(f"{path} already exists: change it by hand.")
    return f"{path} says what counts: {sum(counted.values())} points in {len(counted)} exercises. You can edit it."
