"""Who handed in what: from a folder or zip of downloads to one submission per student.

It accepts one folder (or zip) per student, flat files with a student's name, and the names that Canvas, Moodle and
Gradescope give. It reads only names, and Gradescope's list of students.
"""

import functools
import re
import sys
import unicodedata
from collections import Counter
from dataclasses import dataclass, replace
from hashlib import sha256

from course_tools import repository
from course_tools.grading import submitted_files
from course_tools.grading.platforms import PLATFORMS
from course_tools.grading.platforms.platform import Owner
from course_tools.grading.reports import Student
from course_tools.grading.submitted_files import ARCHIVE, NOTEBOOK, ZIP
from course_tools.names_on_disk import from_disk

COPY = r"([-_ ]*(\(\d+\)|copy\d*)|-\d{1,2})?"  # added by browsers, JupyterLab and Canvas if a name is taken
TAKEN_FOR_CLASS = (
    "{} was read as the folder of a class with {} students. If it belongs to one student, unpack it and put it beside "
    "a file such as note.txt."
)
NOT_IN_ROSTER = "The roster does not identify these students, so they are listed under the names of their files: {}."
READ_AS_ONE = (
    "{} were read as one student's, since their names differ only in ending or Unicode form. "
    "If they belong to two students, rename one."
)
MOST_FILES = 2000  # of one student, on the disk
LISTS_OF_STUDENTS = {platform.list_file for platform in PLATFORMS}
LONGEST_NAME = 80  # characters of a file's name made from a student's, and of one that is kept


@dataclass(frozen=True)
class Submission:
    """One student's files; nothing is opened here."""

    student: Student
    files: list[submitted_files.SubmittedFile]
    said_late: bool = False  # in the platform's table

    @property
    def late(self):
        """Whether the platform says that any of it was handed in late."""
        return self.said_late or any(
            platform.is_late(without_ending(file.parts[0])) for file in self.files for platform in PLATFORMS
        )

    def read(self):
        """([(parts of the name below the student's folder, bytes)], remarks on what could not be read)."""
        found, remarks, room = [], [], submitted_files.LARGEST_SUBMISSION
        if alike := names_read_as_one(self.files):
            remarks.append(READ_AS_ONE.format(" and ".join(map(display_name, alike))))
        wanted = [file for file in self.files if is_wanted(file)]
        wanted.sort(
            key=lambda file: file.parts[-1].endswith(submitted_files.PYTHON_ENDING)
        )  # there are often many modules
        for file in wanted[:MOST_FILES]:
            try:
                content = file.read(room)
            except submitted_files.UnreadableFile as error:
                remarks.append(f"{name_for_student(file)} {error}.")
                continue
            room -= len(content)
            found.append((path_below_student(file), content))
        if len(wanted) > MOST_FILES:
            remarks.append(f"Only the first {MOST_FILES} of {len(wanted)} files were read.")
        others = [file for file in self.files if not is_wanted(file) and not file.problem]
        found += [(path_below_student(file), b"") for file in others[:1]]  # shows what was handed in
        return found, remarks


def is_wanted(file):
    """Whether a file may contain an answer, or is a folder that cannot be listed."""
    return submitted_files.worth_reading(file.parts[-1]) or file.problem and "." not in file.parts[-1]


def submissions(start, roster=None):
    """The submissions in a folder or zip, sorted by student. roster: a Roster, which may join several into one.

    Prints to standard error which files were skipped, which folder was read as a class, and whom the roster lacks.
    """
    start_name = NOTEBOOK.sub("", from_disk(start.resolve().name))
    own_name, files = class_folder(*files_of_class(start_name, start))
    owners, grouped = owners_in_lists(files), {}
    others = [file.parts[0] for file in files if is_nobodys(file) and file.parts[0] not in LISTS_OF_STUDENTS]
    if others:
        print(f"These were skipped, as they belong to no student: {', '.join(others)}.", file=sys.stderr)
    for file in files:
        if not is_nobodys(file):
            for owner in owners_of(file, own_name, owners):
                grouped.setdefault(owner, []).append(file)
    if own_name != start_name and len(grouped) > 1 and not any(owner_in(file.parts[0]) for file in files):
        print(TAKEN_FOR_CLASS.format(own_name, len(grouped)), file=sys.stderr)
    keys, people, found = keys_of(grouped), roster.people_of(grouped) if roster else {}, {}
    if roster and roster.people and (unknown := sorted(keys[owner] for owner in grouped.keys() - people.keys())):
        print(NOT_IN_ROSTER.format(", ".join(unknown)), file=sys.stderr)
    for owner, own_files in sorted(grouped.items()):
        person = people.get(owner)
        if person in found:  # for example, handed in on two platforms
            found[person].files.extend(own_files)
            continue
        name, ids = display_name(owner.name).strip() or keys[owner], tuple(map(display_name, owner.ids))
        student = Student(keys[owner], name, ids, owner.numbered_by, own_files[0].parts[0][:LONGEST_NAME])
        if person:
            student = replace(student, name=person.name, called=name, accounts=person.accounts)
        found[person or owner] = Submission(student, list(own_files))
    return list(found.values())


def files_of_class(name, start):
    """(name, files below the start), or those of the only zip besides tables and notes, if it contains the class."""
    files = list(submitted_files.list_files(start))
    handed_in = [file for file in files if not is_nobodys(file)]
    if start.is_dir() and len(handed_in) == 1:
        (file,) = handed_in
        if ZIP.search(file.parts[-1]) and not file.problem and not owner_in(file.parts[0]):
            inside = list(submitted_files.list_files(file.path))
            wrapped = [submitted_files.SubmittedFile(("", *each.parts), each.path) for each in inside]
            if class_folder("", wrapped)[1] is not wrapped:
                return without_ending(file.parts[0]), inside
    return name, files


def is_nobodys(file):
    """Whether a file among the students' is not theirs: a table of grades, a note, a grading script."""
    name = file.parts[0]
    of_somebody = NOTEBOOK.search(name) or ARCHIVE.search(name) or "." not in name or owner_in(name)
    return len(file.parts) == 1 and not file.problem and not of_somebody


def display_name(name):
    """A name that is safe for tables and terminals."""
    return submitted_files.shortened(submitted_files.printable_name(name))


def path_below_student(file):
    """A file's path in its student's own folder."""
    return file.parts[1:] or file.parts


def name_for_student(file):
    """The name by which a student knows a file."""
    return submitted_files.shortened("/".join(path_below_student(file)))


# --- whose is a file? -------------------------------------------------------------------------------------------------


def class_folder(name, files):
    """(name of the folder, files below it) of the folder that holds the class.

    Downloads are often wrapped in a zip with one folder of all submissions. One student's folder is not a wrapper.
    """
    depth = 0
    while len({file.parts[: depth + 1] for file in files}) == 1 and len(files[0].parts) > depth + 1:
        if owner_in(files[0].parts[depth]):
            return name, files
        depth += 1
    below = [file.parts[depth:] for file in files]
    flat = [parts[0] for parts in below if len(parts) == 1 and NOTEBOOK.search(parts[0])]
    folders = {parts[0] for parts in below if len(parts) > 1 or ZIP.search(parts[0])}
    one_student = len(folders) < 2 and (len(flat) < 2 or not any(map(without_chapter, flat)))
    if not depth or one_student and not any(map(owner_in, [*flat, *folders])):
        return name, files
    stripped = [
        submitted_files.SubmittedFile(file.parts[depth:], file.path, file.member, file.problem) for file in files
    ]
    return without_ending(files[0].parts[depth - 1]), stripped


def owners_of(file, own_name, listed):
    """The Owners of a file: for a group's submission, all members.

    own_name: of the folder itself, for files that have only a chapter's name. listed: as from `owners_in_lists`.
    """
    first = file.parts[0]
    owners = listed.get(without_ending(first)) or [owner_in(first) or Owner(without_chapter(first) or own_name)]
    return [owner._replace(name=composed(owner.name)) for owner in owners]


def names_read_as_one(files):
    """Names of one student's files and folders that may be two students': they differ only in ending or Unicode form.

    A chapter's own name identifies no student, so such names are omitted.
    """
    called = {name: without_chapter(name) for name in sorted({file.parts[0] for file in files})}
    called = {name: student for name, student in called.items() if student}
    stems = Counter(composed(without_ending(name)) for name in called)
    spellings = Counter(composed(student) for student in set(called.values()))
    return [
        name
        for name, student in called.items()
        if stems[composed(without_ending(name))] > 1 or spellings[composed(student)] > 1
    ]


def composed(name):
    """A name in the one Unicode form that stores an accented letter as a single character."""
    return unicodedata.normalize("NFC", name)


def owner_in(name):
    """The Owner in a file or folder name written by a learning platform; None for any other name."""
    return next(filter(None, (platform.owner(without_ending(name)) for platform in PLATFORMS)), None)


def without_ending(name):
    """A file's name without a known ending."""
    return NOTEBOOK.sub("", ARCHIVE.sub("", name))


def without_chapter(name):
    """A file's or folder's name without a chapter's name and without a second download's suffix: a student's name."""
    rest, found = chapters().subn("", without_ending(name))
    return rest.strip("-_ ") if found else rest


@functools.cache
def chapters():
    """A pattern for the names of chapters' notebooks."""
    stems = "|".join(re.escape(source.stem) for source in repository.sources())
    return re.compile(f"({stems}){COPY}", re.IGNORECASE)


def owners_in_lists(files):
    """{name of a file or folder: its Owners} from the lists of students that platforms put into a download."""
    owners = {}
    for platform in PLATFORMS:
        for file in files:
            if file.parts == (platform.list_file,):
                try:
                    owners |= platform.owners(file.read())
                except (submitted_files.UnreadableFile, ValueError) as error:
                    name = platform.name
                    sys.exit(f"{platform.list_file} is not in {name}'s format ({error}). Export it again.")
    return owners


def keys_of(owners):
    """{owner: a name for the student's files} that works on every file system and is unique.

    It is made from the owner alone, so that it stays the same in every run, whoever else hands in. If two names would
    be the same, both get a distinguishing suffix.
    """
    plain = {owner: plain_key("-".join([owner.name, *owner.ids[:1]])) for owner in owners}
    times = Counter(key.casefold() for key in plain.values())
    return {
        owner: key if times[key.casefold()] == 1 else f"{key}~{sha256(repr(owner).encode()).hexdigest()[:16]}"
        for owner, key in plain.items()
    }


def plain_key(name):
    """A name that works on every file system; never with a ~."""
    plain = re.sub(r"[^\w .@+-]", "_", name).encode()[:LONGEST_NAME].decode(errors="ignore").strip(" .") or "student"
    if re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", plain, re.IGNORECASE):
        plain = f"{plain}_"  # names that Windows reserves for devices
    return plain
