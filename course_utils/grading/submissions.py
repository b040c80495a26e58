"""Who handed in what: from a folder or zip of downloads to one submission per student.

Understood are one folder (or zip) per student, and flat files with a student's name, as well as the names that Canvas,
Moodle and Gradescope give. Nothing is read here but names and Gradescope's list of students.
"""

import re
import sys
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

from course_utils import repository
from course_utils.grading import archive
from course_utils.grading.platforms import PLATFORMS
from course_utils.grading.records import Student

NOTEBOOK = re.compile(r"\.ipynb(\.(txt|json))?$", re.IGNORECASE)  # browsers append the second ending
ARCHIVE = re.compile(r"\.(zip|rar|7z|tar|gz|tgz|bz2|xz)$", re.IGNORECASE)
COPY = r"([-_ ]*(\(\d+\)|copy\d*)|-\d{1,2})?"  # what browsers, JupyterLab and Canvas add to a name that is taken
MOST_NOTEBOOKS = 40  # in one submission
MOST_BYTES = 200_000_000  # in all notebooks of one submission
LISTS = {platform.list_file for platform in PLATFORMS}
LONGEST_NAME = 80  # characters of a file's name made from a student's


@dataclass(frozen=True)
class Submission:
    """What one student handed in. remarks: sentences on files that are not read."""

    student: Student
    notebooks: list[archive.File]
    remarks: list[str] = field(default_factory=list)

    def read(self):
        """([(name, bytes) of each notebook], remarks, with those on notebooks that could not be read)."""
        found, remarks, size = [], list(self.remarks), 0
        for file in self.notebooks[:MOST_NOTEBOOKS]:
            if size > MOST_BYTES:
                remarks.append(f"{inside(file)} was not read: the submission is larger than {MOST_BYTES // 10**6} MB.")
                continue
            try:
                content = file.read()
            except archive.Unreadable as error:
                remarks.append(f"{inside(file)} {error}.")
                continue
            size += len(content)
            found.append((inside(file), content))
        if len(self.notebooks) > MOST_NOTEBOOKS:
            remarks.append(f"Of {len(self.notebooks)} notebooks only the first {MOST_NOTEBOOKS} were looked at.")
        return found, remarks


def submissions(start: Path):
    """The submissions in a folder or zip, sorted by student. Says on standard error which files are none."""
    own_name = archive.readable(NOTEBOOK.sub("", start.resolve().name))
    own_name, files = class_folder(own_name, list(archive.files(start)))
    listed = listed_owners(files)
    grouped: dict[tuple, list[archive.File]] = {}
    others = []
    for file in files:
        if is_nobodys(file):
            others.append(file.parts[0])
        else:
            name, ids = student_of(file, own_name, listed)
            grouped.setdefault((unicodedata.normalize("NFC", name), ids), []).append(file)
    if others := [name for name in others if name not in LISTS]:
        print(f"Passed over, since they are nobody's submission: {', '.join(others)}.", file=sys.stderr)
    taken: set[str] = set()
    return [submission(unique_key(name, taken), name, ids, grouped[name, ids]) for name, ids in sorted(grouped)]


def submission(key, name, ids, files):
    """The submission that a student's files make up."""
    notebooks = [file for file in files if not file.problem and NOTEBOOK.search(file.parts[-1])]
    remarks = [f"{inside(file)} {file.problem}." for file in files if file.problem and worth_a_remark(file.parts[-1])]
    other = [file for file in files if not file.problem and ARCHIVE.search(file.parts[-1])]
    remarks += [f"{inside(file)} is packed in a way that is not read here: only zip is." for file in other]
    if not notebooks:
        remarks.append("No notebook was found in this submission.")
    return Submission(Student(key, name, ids), notebooks, remarks)


def worth_a_remark(name):
    """Whether a file that is not read could have held an answer; a link may have any name."""
    return bool(NOTEBOOK.search(name) or ARCHIVE.search(name) or "." not in name)


def is_nobodys(file):
    """Whether a file beside the students' is none of theirs: a table of grades, a note, a script to be graded with."""
    alone = len(file.parts) == 1
    return alone and not file.problem and not owner_in(file.parts[0]) and not worth_a_remark(file.parts[0])


def inside(file):
    """How a student knows a file: its place in their own folder."""
    return "/".join(file.parts[1:] or file.parts)


# --- whose is a file? -------------------------------------------------------------------------------------------------


def class_folder(name, files):
    """(name of the folder, files below it) of the folder that holds the class.

    Downloads are often wrapped: a zip of one folder of all submissions. One student's folder is no wrapping.
    """
    depth = 0
    while len({file.parts[: depth + 1] for file in files}) == 1 and len(files[0].parts) > depth + 1:
        if owner_in(files[0].parts[depth]):
            return name, files
        depth += 1
    below = [file.parts[depth:] for file in files]
    flat = [parts[0] for parts in below if len(parts) == 1 and NOTEBOOK.search(parts[0])]
    folders = {parts[0] for parts in below if len(parts) > 1}
    one_student = len(folders) < 2 and (len(flat) < 2 or not any(map(without_chapter, flat)))
    if not depth or one_student and not any(map(owner_in, [*flat, *folders])):
        return name, files
    stripped = [archive.File(file.parts[depth:], file.path, file.members, file.problem) for file in files]
    return bare(files[0].parts[depth - 1]), stripped


def student_of(file, own_name, listed):
    """(name, ids) of the student whose file this is.

    own_name: of the folder itself, for files that are called just like a chapter. listed: as from `listed_owners`.
    """
    first = file.parts[0]
    if owner := listed.get(bare(first)) or owner_in(first):
        return owner
    if len(file.parts) > 1:
        return bare(first), ()
    return without_chapter(first) or own_name, ()


def owner_in(name):
    """(name, ids) of the student in the name of a file or folder, as a learning platform writes it; None otherwise."""
    return next(filter(None, (platform.owner(bare(name)) for platform in PLATFORMS)), None)


def bare(name):
    """A file's name without the endings that matter here."""
    return NOTEBOOK.sub("", ARCHIVE.sub("", name))


def without_chapter(name):
    """A notebook's file name without a chapter's, and without what a second download adds: it names a student."""
    rest = bare(name)
    for source in repository.sources():
        rest = re.sub(re.escape(source.stem) + COPY, "", rest, flags=re.IGNORECASE)
    return rest.strip("-_ ")


def listed_owners(files):
    """{name of a file or folder: (name, ids)} from the lists of students that platforms put into a download."""
    owners = {}
    for platform in PLATFORMS:
        for file in files:
            if file.parts == (platform.list_file,):
                try:
                    owners |= platform.owners(file.read())
                except (archive.Unreadable, ValueError) as error:
                    name = platform.name
                    sys.exit(f"{platform.list_file} is not as {name} writes it ({error}). Export again.")
    return owners


def unique_key(name, taken):
    """A name for a student's files that every file system takes and that no other student has."""
    plain = re.sub(r"[^\w .@+-]", "_", unicodedata.normalize("NFC", name)).strip(" .")
    plain = plain.encode()[:LONGEST_NAME].decode(errors="ignore") or "student"
    if re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", plain, re.IGNORECASE):
        plain = f"{plain}_"  # names that Windows keeps for devices
    key, number = plain, 2
    while key.casefold() in taken:
        key, number = f"{plain}-{number}", number + 1
    taken.add(key.casefold())
    return key
