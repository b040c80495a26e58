"""Points on their way to Gradescope, Canvas or Moodle.

Of a file that was downloaded there, one column is filled and every other byte stays what it is. A row without a
submission is left alone; a submission without a row is named.
"""

import json
import re
from dataclasses import dataclass

from course_utils import files
from course_utils.grading.report import points

ASSIGNMENT = re.compile(r".+ \(\d+\)")  # how Canvas heads the column of an assignment
CANVAS_POINTS = "points possible"  # what the row with the highest points says in Canvas's first column


class Unusable(Exception):
    """A file that cannot be filled; the text says why."""


@dataclass(frozen=True)
class Platform:
    """How a learning platform's file is read.

    ids: columns that tell students apart, best first. names: the column of full names.
    """

    name: str
    ids: tuple[str, ...]
    names: str


CANVAS = Platform("Canvas", ("ID", "SIS User ID", "SIS Login ID", "Integration ID"), "Student")
MOODLE = Platform("Moodle", ("Identifier", "Email address", "ID number", "Username"), "Full name")


# --- Gradescope -------------------------------------------------------------------------------------------------------


def gradescope(report, chapters):
    """What Gradescope reads as results.json."""
    graded = report.of(chapters)
    return {
        "score": points(graded)[0],
        "output": "\n\n".join([report.protection, *report.remarks]),
        "visibility": "visible",
        "tests": [
            {
                "name": f"{entry.result.id} {entry.result.title}",
                "score": entry.result.points,
                "max_score": entry.result.max_points,
                "output": "\n\n".join([entry.result.message, *entry.remarks]),
                "visibility": "visible",
            }
            for entry in graded
        ],
    }


def write_gradescope(path, report, chapters):
    """Write a results.json."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.replace(path, json.dumps(gradescope(report, chapters), ensure_ascii=False, indent=1).encode())


# --- Canvas and Moodle ------------------------------------------------------------------------------------------------


class Sheet:
    """A CSV file as text, in which single fields can be set while all other characters stay."""

    def __init__(self, content):
        try:
            self.text, self.encoding = content.decode("utf-8"), "utf-8"
        except UnicodeDecodeError:
            self.text, self.encoding = content.decode("latin-1"), "latin-1"  # gives every byte back as it was
        first = self.text.split("\n", 1)[0]
        self.delimiter = max(",;\t", key=first.count)
        self.rows = list(self.spans())
        self.header = [self.value(0, column) for column in range(len(self.rows[0]))] if self.rows else []
        self.changes = {}

    def spans(self):
        """For each row the (start, end) of its fields."""
        mark = re.escape(self.delimiter)
        part = re.compile(rf'("(?:[^"]|"")*+"|(?!")[^{mark}\r\n]*)({mark}|\r\n|\r|\n|\Z)')
        place, row = (1 if self.text.startswith("\ufeff") else 0), []
        while place < len(self.text) or row:  # a row that has begun ends with one more field
            found = part.match(self.text, place)
            if not found:
                raise Unusable(f"its line {self.text.count(chr(10), 0, place) + 1} is no CSV")
            row.append(found.span(1))
            place = found.end()
            if found[2] != self.delimiter:
                yield row
                row = []

    def value(self, row, column):
        """What a field says; "" where a row is too short."""
        if column >= len(self.rows[row]):
            return ""
        raw = self.text[slice(*self.rows[row][column])]
        return raw[1:-1].replace('""', '"').strip() if raw.startswith('"') else raw.strip()

    def set(self, row, column, value):
        """Set a field, in quotes where it was in quotes."""
        span = self.rows[row][column]
        self.changes[span] = f'"{value}"' if self.text[slice(*span)].startswith('"') else value

    def content(self):
        """The file with its changes."""
        parts, place = [], 0
        for (start, end), value in sorted(self.changes.items()):
            parts += [self.text[place:start], value]
            place = end
        return "".join([*parts, self.text[place:]]).encode(self.encoding)


def fill(content, platform, scores, column=None):
    """(the file with the points filled in, sentences on what was left out).

    content: the bytes of the file. scores: [(student, points, highest possible points)]. column: the name of the column
    for Canvas where there are several. Where the platform's highest points differ, points are scaled. Raises Unusable.
    """
    sheet = Sheet(content)
    place = column_of(sheet, platform, column)
    found, remarks = matched(sheet, platform, scores)
    for row, (student, got, most) in found.items():
        if place >= len(sheet.rows[row]):
            remarks.append(f"{student.name}: the row in {platform.name}'s file is too short and was left as it was.")
            continue
        highest = highest_points(sheet, platform, row, place)
        sheet.set(row, place, number(got * highest / most if highest and most else got))
    return sheet.content(), remarks


def column_of(sheet, platform, wanted):
    """The number of the column to fill."""
    needed = [platform.names, *(["Grade"] if platform is MOODLE else [])]
    if absent := [name for name in needed if name not in sheet.header]:
        raise Unusable(f"it has no column {absent[0]!r}, so it is no file that {platform.name} exports for grading")
    if platform is MOODLE:
        return sheet.header.index("Grade")
    columns = [name for name in sheet.header if ASSIGNMENT.fullmatch(name)]
    chosen = [name for name in columns if wanted is None or wanted in (name, name.rpartition(" (")[0])]
    if len(chosen) != 1:
        names = ", ".join(map(repr, columns)) or "none"
        raise Unusable(f"name one of its assignments with --column; it has {names}")
    return sheet.header.index(chosen[0])


def highest_points(sheet, platform, row, place):
    """The highest points that the platform has for the column, or None."""
    if platform is MOODLE:
        where = [(row, sheet.header.index("Maximum Grade"))] if "Maximum Grade" in sheet.header else []
    else:
        where = [(k, place) for k in range(1, len(sheet.rows)) if is_no_student(sheet, platform, k)]
    for line, column in where:
        try:
            return float(sheet.value(line, column).replace(",", "."))
        except ValueError:
            continue
    return None


def is_no_student(sheet, platform, row):
    """Whether a row is Canvas's own, with the highest points."""
    return platform is CANVAS and sheet.value(row, sheet.header.index("Student")).casefold() == CANVAS_POINTS


def matched(sheet, platform, scores):
    """({row: score}, sentences on students without a row of their own)."""
    found, remarks = {}, []
    for score in scores:
        rows = rows_of(sheet, platform, score[0])
        if len(rows) != 1:
            why = "no row" if not rows else f"{len(rows)} rows"
            remarks.append(f"{score[0].name}: {why} in {platform.name}'s file, so nothing was filled in.")
        elif rows[0] in found:
            remarks.append(
                f"{score[0].name}: the same row in {platform.name}'s file as {found[rows[0]][0].name}, so left out."
            )
        else:
            found[rows[0]] = score
    return found, remarks


def rows_of(sheet, platform, student):
    """The rows that belong to a student, by the first column that knows the student.

    A number alone is one that the platform put into a file's name: it stands in the platform's own column, the first,
    and in another one it would be another student's.
    """
    keys = {key.casefold() for key in (*student.ids, student.name)}
    keys |= {f"participant {id}" for id in student.ids}  # how Moodle's column of identifiers calls them
    candidates = [row for row in range(1, len(sheet.rows)) if not is_no_student(sheet, platform, row)]
    for name in platform.ids:
        if name in sheet.header:
            place = sheet.header.index(name)
            if rows := [row for row in candidates if sheet.value(row, place).casefold() in keys]:
                return rows
        if len(student.ids) == 1 and student.ids[0].isdigit():
            keys.discard(student.ids[0])
    place = sheet.header.index(platform.names)
    return [row for row in candidates if name_key(sheet.value(row, place)) == name_key(student.name)]


def name_key(name):
    """What two ways to write a name have in common: "Doe, Jane" and "Jane Doe"."""
    return frozenset(re.findall(r"\w+", name.casefold()))


def number(value):
    """Points as a file shows them: 7, not 7.0."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
