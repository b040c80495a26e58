"""A platform's gradebook: one column of a downloaded CSV file is filled, and all other bytes stay the same.

Rows without a submission do not change; submissions without a row are listed.
"""

import io
import re
import sys
import unicodedata
import zipfile
from dataclasses import dataclass
from pathlib import Path

from course_tools.grading.platforms.platform import Platform
from course_tools.names_on_disk import from_disk, on_disk
from course_utils import files

EMPTY_FIELDS = ("", "-")  # the text of a field without points
MOST_POINTS = 10**6  # more can only be a slip
MOST_NAMED = 3  # students named in a sentence about unchanged rows


class UnusableGradebook(Exception):
    """A file that cannot be filled; the text says why."""


class CsvSheet:
    """A CSV file as text; setting a field changes no other character."""

    def __init__(self, content):
        self.text, self.encoding = decode(content)
        self.delimiter = max(",;\t", key=self.text.partition("\n")[0].count)
        self.rows = list(self.field_spans()) or [[]]
        self.header = [self.value(0, column) for column in range(len(self.rows[0]))]
        self.columns = {}  # {name, case-folded: number of its first column}
        for column, name in enumerate(self.header):
            self.columns.setdefault(normalized(name), column)
        self.changes, self.indexes = {}, {}  # filled by `set` and `Gradebook.index`

    def column(self, name):
        """The number of the column of this name, or None."""
        return self.columns.get(normalized(name))

    def field(self, row, name):
        """A row's text in the column of this name; "" without that column."""
        return "" if self.column(name) is None else self.value(row, self.column(name))

    def field_spans(self):
        """For each row the (start, end) of its fields."""
        mark = re.escape(self.delimiter)
        part = re.compile(rf'("(?:[^"]|"")*+"|(?!")[^{mark}\r\n]*)({mark}|\r\n|\r|\n|\Z)')
        place, row = (1 if self.text.startswith("\ufeff") else 0), []
        while place < len(self.text) or row:  # a row that has begun needs one more field
            found = part.match(self.text, place)
            if not found:
                raise UnusableGradebook(f"its line {self.text.count(chr(10), 0, place) + 1} is not valid CSV")
            row.append(found.span(1))
            place = found.end()
            if found[2] != self.delimiter:
                yield row
                row = []

    def value(self, row, column):
        """A field's text; "" if the row is too short."""
        if column >= len(self.rows[row]):
            return ""
        raw = self.text[slice(*self.rows[row][column])]
        return raw[1:-1].replace('""', '"').strip() if raw.startswith('"') else raw.strip()

    def set(self, row, column, value):
        """Set a field, in quotes if it was in quotes."""
        span = self.rows[row][column]
        self.changes[span] = f'"{value}"' if self.text[slice(*span)].startswith('"') else value

    def content(self):
        """The file with its changes."""
        text = self.text
        for (start, end), value in sorted(
            self.changes.items(), reverse=True
        ):  # from the end, so that positions stay valid
            text = text[:start] + value + text[end:]
        return text.encode(self.encoding)


class Gradebook(Platform):
    """A platform that takes points in a CSV file of its own. A subclass describes this file.

    option: the command's option that names the file. id_columns: those that identify students: the platform's own
    numbers, then the institution's. name_column: that of full names. required_columns: without these, it is another
    file. upload_pages_at: where the instructor uploads pages.
    """

    option: str
    help: str
    id_columns: tuple[str, ...]
    name_column: str
    required_columns: tuple[str, ...]
    upload_pages_at: str

    def column(self, sheet, wanted):
        """The number of the column to fill. wanted: its name, as the instructor gave it, or None.

        Raises UnusableGradebook.
        """
        raise NotImplementedError

    def most_points(self, sheet, row, column):
        """The platform's highest number of points for this row, as a text, or ""."""
        raise NotImplementedError

    def full_name(self, sheet, row):
        """The full name in a row, or ""."""
        return sheet.field(row, self.name_column)

    def says_late(self, sheet, row):
        """Whether a row says that the student handed in late."""
        return False

    def is_student(self, sheet, row):
        """Whether a row is a student's."""
        return True

    def feedback_name(self, student):
        """The path of a student's page in the zip for the platform; None if it cannot be assigned.

        Asked only of students whom this platform numbers.
        """
        raise NotImplementedError

    # --- the command --------------------------------------------------------------------------------------------------

    def add_options(self, parser):
        parser.add_argument(f"--{self.option}", type=Path, metavar="CSV", help=self.help)

    def export(self, options):
        path = getattr(options, self.option)
        return GradebookExport(self, options) if path else None

    def sheet(self, content):
        """The CsvSheet in the bytes of a file. Raises UnusableGradebook if the platform does not write such files."""
        sheet = CsvSheet(content)
        sheet.columns |= self.columns_by_form(sheet)
        if absent := [name for name in self.required_columns if sheet.column(name) is None]:
            raise UnusableGradebook(f"it has no column {absent[0]!r}, so {self.name} did not export it for grading")
        return sheet

    def columns_by_form(self, sheet):
        """{name, case-folded: number} of columns with headings in another language."""
        return {}

    # --- filling ------------------------------------------------------------------------------------------------------

    def fill(self, content, scores, wanted=None, last=None, overwrite=False):
        """A FilledGradebook: the file with the points filled in.

        content: the bytes of the file. scores: [(student, points, highest possible points)]. wanted: the name of the
        column if there are several. last: {key of a student: what was filled in the last time}. Other content was
        entered by somebody: numbers stay unless overwrite is set, and anything else always stays. If the platform's
        highest points differ, points are scaled. Raises UnusableGradebook.
        """
        sheet = self.sheet(content)
        column = self.column(sheet, wanted)
        found, remarks = self.match_rows(sheet, scores)
        filled = FilledGradebook(b"", [], remarks, {}, self.without_points(sheet, found))
        for row, (student, got, most) in found.items():
            if column >= len(sheet.rows[row]):
                remarks.append(f"{student.name}: the row in {self.name}'s file is too short, so it was not changed.")
                continue
            there, points = sheet.value(row, column), self.scaled(sheet, row, column, got, most)
            held, ours = parsed_number(there), (last or {}).get(student.key, "")
            if there not in EMPTY_FIELDS and (
                held is None or held not in (parsed_number(points), parsed_number(ours)) and not overwrite
            ):
                remarks.append(self.sentence_on_field(student, there, points))
                continue
            if held is not None and held != parsed_number(points):
                filled.changes.append((student.name, there, points))
            if held != parsed_number(points):
                sheet.set(row, column, points)
            filled.values[student.key] = points
        filled.content = sheet.content()
        return filled

    def without_points(self, sheet, found):
        """The names, or else the ids, in the rows of students other than those found."""
        rows = [row for row in self.students(sheet) if row not in found]
        return list(filter(None, (self.full_name(sheet, row) or sheet.value(row, 0) for row in rows)))

    def sentence_on_field(self, student, there, points):
        """A sentence on a field that somebody has filled in."""
        way = "" if parsed_number(there) is None else " To replace it, use --overwrite."
        return f"{student.name}: {self.name} has {there} where grading gives {points}, so it was not changed.{way}"

    def scaled(self, sheet, row, column, got, most):
        """Points as a text, on the platform's scale."""
        says = self.most_points(sheet, row, column)
        highest = parsed_number(says)
        if says and (highest is None or highest < 0):
            raise UnusableGradebook(f"its maximum points, {says!r:.60}, are not a number")
        return points_as_text(got * highest / most if highest and most else got)

    def match_rows(self, sheet, scores):
        """({row: score}, sentences on students without their own row)."""
        claims, remarks = {}, []
        for score in scores:
            rows = self.rows_of(sheet, score[0])
            if len(rows) == 1:
                claims.setdefault(rows[0], []).append(score)
            else:
                why = f"{len(rows)} rows" if rows else "no row"
                remarks.append(f"{name_with_ids(score[0])}: {why} in {self.name}'s file, so nothing was filled in.")
        for rivals in claims.values():
            if len(rivals) > 1:
                names = " and ".join(name_with_ids(student) for student, *_ in rivals)
                remarks.append(f"{names} share a row in {self.name}'s file, so nothing was filled in.")
        return {row: rivals[0] for row, rivals in claims.items() if len(rivals) == 1}, remarks

    def rows_of(self, sheet, student):
        """The rows that may belong to a student.

        A platform's own number is looked up only in its own column, since elsewhere it would be another student's. The
        institution's ids (a student number, an e-mail address, a folder's name, which may be an id or a login) are
        looked up in the institution's columns, never in the platform's own. If none of these matches, the full name
        decides. The roster takes precedence over the download.
        """
        own, *institutions = self.id_columns
        numbers = [id for platform, id in student.accounts if platform == self.name]
        if numbers or student.numbered_by == self.name:
            return self.rows_with(sheet, own, numbers or student.ids, self.own_id_key)
        ids = () if student.numbered_by else student.ids or (student.name_there,)
        ids = [*ids, *(id for platform, id in student.accounts if not platform)]
        rows = {row for name in institutions for row in self.rows_with(sheet, name, ids, normalized)}
        return sorted(rows) or self.rows_with(sheet, self.name_column, (student.name,), normalized_name)

    def rows_with(self, sheet, name, wanted, key):
        """The rows with one of these values in the column of this name, compared by their keys."""
        index = self.index(sheet, name, key)
        return sorted({row for each in wanted if key(each) for row in index.get(key(each), ())})

    def index(self, sheet, name, key):
        """{key of a field in the column of this name: students' rows}."""
        if name not in sheet.indexes:
            found = sheet.indexes[name] = {}
            for row in self.students(sheet):
                said = self.full_name(sheet, row) if name == self.name_column else sheet.field(row, name)
                found.setdefault(key(said), []).append(row)
        return sheet.indexes[name]

    def students(self, sheet):
        """The rows of students."""
        return [row for row in range(1, len(sheet.rows)) if self.is_student(sheet, row)]

    def own_id_key(self, value):
        """The key for comparing a student's own id in a field or a file's name."""
        return normalized(value)


@dataclass
class FilledGradebook:
    """A filled file. changes: [(student, before, after)] of fields that had points. values: {key: content now}.

    remarks: sentences on unchanged fields. without_points: other students with a row.
    """

    content: bytes
    changes: list[tuple[str, str, str]]
    remarks: list[str]
    values: dict[str, str]
    without_points: list[str]


class GradebookExport:
    """A gradebook to be filled for this run. Ends the program with a sentence if that is impossible."""

    def __init__(self, platform, options):
        self.platform, self.wanted, self.overwrite = platform, options.column, options.overwrite
        self.path, self.pages = getattr(options, platform.option), f"{platform.option}-feedback.zip"

    def file_names(self, students):
        """The names of the files that `write` makes."""
        return [from_disk(self.path.name), self.pages]

    def prepare(self):
        """Read the file before grading, which can take hours, rather than after."""
        self.content = self.path.read_bytes()
        self.filled = self.fill([], {})

    def full_names(self, students):
        """{key of a student: the full name in the file} of those whose row has one."""
        sheet, rows = self.rows(students)
        return {key: name for key, row in rows.items() if (name := self.platform.full_name(sheet, row))}

    def late(self, students):
        """The keys of students whose row says that they handed in late."""
        sheet, rows = self.rows(students)
        return {key for key, row in rows.items() if self.platform.says_late(sheet, row)}

    @property
    def without_points(self):
        """Students with a row in the file but no known submission here."""
        return self.filled.without_points

    def rows(self, students):
        """(the CsvSheet, {key of a student: the row that is this student's})."""
        sheet = self.platform.sheet(self.content)
        rows, _ = self.platform.match_rows(sheet, [(student,) for student in students])
        return sheet, {student.key: row for row, (student,) in rows.items()}

    def page_names(self, students):
        """{path of a page in the zip for the platform: key of the student} of those with a number there.

        If a file's name contains several numbers, the first gets the page only if the gradebook has it.
        """
        sheet, rows = self.rows(students)
        return {
            name: student.key
            for student in students
            if student.numbered_by == self.platform.name
            and (
                len(student.ids) < 2
                or student.key in rows
                and sheet.field(rows[student.key], self.platform.id_columns[0]) == student.ids[0]
            )
            and (name := self.platform.feedback_name(student))
        }

    def fill(self, scores, last):
        """The FilledGradebook."""
        try:
            return self.platform.fill(self.content, scores, self.wanted, last, self.overwrite)
        except UnusableGradebook as error:
            sys.exit(f"{self.path} cannot be filled: {error}.")

    def planned_changes(self, scores, last):
        """Fill the file, and return sentences on all differences. last: by platform, see `fill`."""
        self.filled = self.fill(scores, last.get(self.platform.name, {}))
        for student, before, after in self.filled.changes:
            yield f"  {student}: {before} in {self.platform.name} becomes {after}."
        for remark in self.filled.remarks:
            yield f"  {remark}"
        if rest := self.filled.without_points:
            names = "; ".join(rest[:MOST_NAMED])
            if len(rest) > MOST_NAMED:
                names += f"; {len(rest) - MOST_NAMED} more"
            yield f"  Rows in {self.platform.name}'s file without points here, so unchanged ({len(rest)}): {names}."

    def write(self, out, graded):
        """Write the filled copy into `out`. Returns the sentences to print."""
        files.replace(out / self.path.name, self.filled.content)
        if pages := self.page_names([report.student for report, _ in graded]):
            place = out / self.pages
            paths = {name: out / "feedback" / on_disk(f"{key}.html") for name, key in pages.items()}
            files.replace(place, zip_of_files(paths))
            yield f"{place} contains the pages: upload it in {self.platform.name} ({self.platform.upload_pages_at})."
        if self.filled.values:
            said = f"{self.path.name} with the points: import it into {self.platform.name}."
        else:
            said = f"{self.path.name} unchanged, since nobody who submitted has a row there."
        yield f"{out / self.path.name} is {said}"

    @property
    def values(self):
        """{platform: {key of a student: content now}}."""
        return {self.platform.name: self.filled.values}


def name_with_ids(student):
    """A student's name with ids, which distinguish students of the same name."""
    return f"{student.name} ({' '.join(student.ids)})" if student.ids else student.name


def zip_of_files(pages):
    """A zip of files, {name in it: path}, as bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in pages.items():
            archive.write(path, name)
    return made.getvalue()


def decode(content):
    """(text, encoding that restores every byte) of a file saved by a spreadsheet."""
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    try:
        text = content.decode(encoding)
        if text.encode(encoding) == content:
            return text, encoding
    except UnicodeDecodeError:
        pass
    return content.decode("latin-1"), "latin-1"


def parsed_number(text):
    """A number as a platform writes it, also 1,000.00 and 8,5; None for anything else."""
    if "," in text and "." in text:
        text = text.replace("," if text.rindex(".") > text.rindex(",") else ".", "")
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value + 0.0 if abs(value) <= MOST_POINTS else None  # nan fails this, too; -0 becomes 0


def normalized_name(name):
    """A name's words in spoken order: "Doe, Jane" is Jane Doe, and Kim Lee is not Lee Kim."""
    last, comma, first = normalized(name).partition(",")
    return tuple(re.findall(r"\w+", f"{first} {last}" if comma else last))


def normalized(text):
    """A text in one Unicode form and without case."""
    return unicodedata.normalize("NFC", text).casefold()


def points_as_text(value):
    """Points as a file shows them: 7, not 7.0."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
