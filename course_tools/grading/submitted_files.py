"""The files that a class handed in, in a folder or a zip, listed without opening any of them.

Nothing is ever unpacked to the disk. Links are not followed, names never become paths, and every size limit is
measured while reading, not taken from a file's header. Students' own zips are opened by `unpacking`.
"""

import contextlib
import functools
import os
import re
import stat
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from course_tools.grading.reports import printable
from course_tools.names_on_disk import from_disk

LARGEST_SUBMISSION = (
    64_000_000  # bytes of one submission, packed or not: enough for 50 MB of stored output, but not for a zip bomb
)
DEEPEST = 12  # folders and zips inside each other
LONGEST_NAME = 120  # characters of a name in a remark
NOTEBOOK = re.compile(r"\.ipynb(\.(txt|json))?$", re.IGNORECASE)  # browsers append the second ending
ARCHIVE = re.compile(r"\.(zip|rar|7z|tar|gz|tgz|bz2|xz)$", re.IGNORECASE)
PYTHON_ENDING = ".py"
WINDOWS_DRIVE = re.compile(r"[a-z]:", re.IGNORECASE)  # the beginning of Windows paths with a drive
ZIP = re.compile(r"\.zip$", re.IGNORECASE)
# hidden folders, traces of macOS, and environments: notebooks and modules that nobody here wrote
IGNORED = re.compile(r"(^|/)(\.|(__MACOSX|__pycache__|site-packages|node_modules|lib/python3\.\d+t?)(/|$))")


class UnreadableFile(Exception):
    """A file that is not read; the text, to be read after its name, says why."""


@dataclass(frozen=True)
class SubmittedFile:
    """A file on the disk, or one in the class's zip.

    parts: its folders below the start, then its name. path: of the file, or of the zip, on the disk. member: its name
    in that zip, or None. problem: why it will not be read, or None.
    """

    parts: tuple[str, ...]
    path: Path = field(repr=False)
    member: str | None = field(default=None, repr=False)
    problem: str | None = None

    def read(self, most=LARGEST_SUBMISSION):
        """Its bytes. Raises UnreadableFile, also when there are more than `most`."""
        if self.problem:
            raise UnreadableFile(self.problem)
        with unreadable_says_why():
            if self.member is None:
                with open_regular(self.path) as content:
                    return read_at_most(content, most)
            with zip_on_disk(self.path).open(self.member) as content:
                return read_at_most(content, most)


def list_files(start: Path):
    """Every regular file below a folder or in a zip as a SubmittedFile, by name; what cannot be read has a problem."""
    if start.is_dir():
        yield from files_in_folder(start, ())
        return
    try:
        with unreadable_says_why():
            entries = zip_entries(zip_on_disk(start))
    except UnreadableFile as error:
        yield SubmittedFile((from_disk(start.name),), start, problem=str(error))
        return
    for parts, entry, problem in entries:
        yield SubmittedFile(parts, start, entry.filename, problem)


def files_in_folder(folder, parts):
    """The files in a folder on the disk."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        yield SubmittedFile(parts or (from_disk(folder.name),), folder, problem=f"cannot be listed: {error.strerror}")
        return
    names = [name for name in names if is_worth_listing([*parts, name])]
    if parts and not names:
        yield SubmittedFile(parts, folder, problem="is an empty folder")
    for name in names:
        path, here = folder / name, (*parts, printable_name(os.fsencode(name).decode(errors="backslashreplace")))
        try:
            mode = path.lstat().st_mode
        except OSError as error:
            yield SubmittedFile(here, path, problem=f"cannot be read: {error.strerror}")
            continue
        problem = "is in too many nested folders" if len(here) > DEEPEST else None
        if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
            problem = "is a link, and links are not followed" if stat.S_ISLNK(mode) else "is not a regular file"
        if stat.S_ISDIR(mode) and not problem:
            yield from files_in_folder(path, here)
        else:
            yield SubmittedFile(here, path, problem=problem)


def zip_entries(archive):
    """[(parts of the name, entry, why it will not be read or None)] of an open zip, sorted by name."""
    found = []
    for _, entry in sorted(archive.NameToInfo.items()):
        said = name_of(entry).replace("\\", "/").split("/")
        names = [name for name in said if name != "."] or [""]  # tar on Windows begins each name with "./"
        leads_out = ".." in names or names[0] == "" or WINDOWS_DRIVE.fullmatch(names[0])
        if not is_worth_listing(names[-1:] if leads_out else names):
            continue
        problem = None
        if leads_out:
            problem = (
                f"was not read: its name in the zip, {shortened(printable_name(name_of(entry)))!r}, points outside it"
            )
            names = names[-1:]
        elif stat.S_ISLNK(entry.external_attr >> 16):
            problem = "is a link, and links are not followed"
        elif entry.flag_bits & 1:
            problem = "is locked with a password"
        elif len(names) > DEEPEST:
            problem = "is in too many nested folders"
        found.append((tuple(map(printable_name, names)), entry, problem))
    return found


def is_worth_listing(names):
    """Whether files in these folders are worth listing: not hidden, no trace of a tool. A folder's name is ""."""
    return bool(names[-1]) and not IGNORED.search("/".join(names))


def worth_reading(name):
    """Whether a file may contain an answer, or code that an answer imports."""
    return bool(NOTEBOOK.search(name) or ARCHIVE.search(name) or name.endswith(PYTHON_ENDING))


def printable_name(name):
    """A file's name that is safe for files and terminals.

    Invisible characters are written as Python writes them, such as \\xa0, so that different names stay different.
    """
    if name.isprintable():
        return name
    return "".join(sign if sign != "\n" and printable(sign) == sign else ascii(sign)[1:-1] for sign in name)


def shortened(name):
    """A name in a remark: only its end, the most telling part, if it is too long."""
    return name if len(name) <= LONGEST_NAME else f"…{name[-LONGEST_NAME:]}"


def name_of(entry):
    """A zip entry's name; macOS writes unmarked UTF-8, which zipfile takes for an old DOS encoding."""
    if not entry.flag_bits & 0x800:
        with contextlib.suppress(UnicodeError):
            return entry.filename.encode("cp437").decode("utf-8")
    return entry.filename


def open_regular(path):
    """A regular file, open for reading; never a link, even if it has become one since it was found."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags), "rb")


@functools.lru_cache(maxsize=1)  # a class in one zip: its table of contents is loaded once, not for every file
def zip_on_disk(path):
    """An open zip on the disk."""
    return zipfile.ZipFile(open_regular(path))


def read_at_most(content, most):
    """All bytes of an open file. Raises UnreadableFile when there are more than `most`."""
    data = content.read(most + 1)
    if len(data) > most:
        raise UnreadableFile(f"was not read: one submission is limited to {LARGEST_SUBMISSION // 10**6} MB")
    return data


@contextlib.contextmanager
def unreadable_says_why():
    """Turn what reading a damaged or hostile file may raise into UnreadableFile with a reason."""
    try:
        yield
    except UnreadableFile:
        raise
    except (OSError, RuntimeError) as error:  # zipfile raises the second for passwords and unknown compression
        raise UnreadableFile(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except Exception as error:  # zlib, lzma and zipfile each have their own errors for damaged bytes
        raise UnreadableFile(f"is damaged and cannot be read ({type(error).__name__})") from None
