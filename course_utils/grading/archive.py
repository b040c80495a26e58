"""The files in a folder or a zip, with zips inside taken as folders. Nothing is ever unpacked to the disk.

What was handed in may be hostile: links are not followed, names never become paths, and every size has a limit that is
measured while reading, not taken from what a zip says about itself.
"""

import contextlib
import functools
import io
import os
import re
import stat
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

LARGEST_FILE = 64_000_000  # bytes; a notebook with 50 MB of stored output is read, a zip bomb is not
LARGEST_LIST = 5_000_000  # bytes of a zip's table of contents, about 50,000 names
DEEPEST = 12  # folders and zips inside each other
MOST_FILES = 2000  # in one zip that was handed in
PASSED_OVER = {"__MACOSX"}  # beside everything hidden: traces of macOS, git and JupyterLab
ZIP = re.compile(r"\.zip$", re.IGNORECASE)


class Unreadable(Exception):
    """A file that is not read; the text says why, to be read after its name."""


@dataclass(frozen=True)
class File:
    """A file on the disk, or one in a zip.

    parts: the folders and zips that it lies in below the start, then its name. path: where it, or the outermost zip,
    lies on the disk. members: its name in that zip, then in the zip inside, and so on. problem: why it will not be
    read, or None.
    """

    parts: tuple[str, ...]
    path: Path = field(repr=False)
    members: tuple[str, ...] = field(default=(), repr=False)
    problem: str | None = None

    def read(self):
        """Its bytes. Raises Unreadable."""
        if self.problem:
            raise Unreadable(self.problem)
        with unreadable_says_why():
            if not self.members:
                with open_regular(self.path) as content:
                    return at_most(content)
            first, *inner = self.members
            data = member(zip_on_disk(self.path), first)
            for name in inner:
                with zipfile.ZipFile(io.BytesIO(data)) as archive:
                    data = member(archive, name)
            return data


def files(start: Path):
    """Every regular file below a folder or in a zip, sorted by name, as `File`s; what cannot be read has a problem."""
    if not start.is_dir():
        yield from in_zip(File((), start), start.open("rb"), most=None)
        return
    yield from in_folder(start, ())


def in_folder(folder, parts):
    """The files in a folder on the disk."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        yield File((*parts, "."), folder, problem=f"cannot be listed: {error.strerror}")
        return
    names = list(filter(shown, names))
    if parts and not names:
        yield File(parts, folder, problem="is an empty folder")
    for name in names:
        path, here = folder / name, (*parts, readable(name))
        try:
            mode = path.lstat().st_mode
        except OSError as error:
            yield File(here, path, problem=f"cannot be read: {error.strerror}")
            continue
        if stat.S_ISLNK(mode):
            yield File(here, path, problem="is a link, and links are not followed")
        elif not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
            yield File(here, path, problem="is no regular file")
        elif len(here) > DEEPEST:
            yield File(here, path, problem="lies too deep in folders")
        elif stat.S_ISDIR(mode):
            yield from in_folder(path, here)
        else:
            yield from expanded(File(here, path))


def expanded(file):
    """A file itself, or the files in it when it is a zip."""
    if not ZIP.search(file.parts[-1]) or file.problem:
        yield file
        return
    try:
        content = io.BytesIO(file.read()) if file.members else open_regular(file.path)
    except (Unreadable, OSError) as error:
        yield File(file.parts, file.path, file.members, str(error))
        return
    yield from in_zip(file, content, most=MOST_FILES)


def in_zip(file, content, most):
    """The files in an open zip that was found as `file`. most: how many names it may hold, or None for any number."""
    try:
        with unreadable_says_why(), content:
            if most:
                check_list(content)
            with zipfile.ZipFile(content) as archive:
                entries = [entry for _, entry in sorted(archive.NameToInfo.items())]
        if most and len(entries) > most:
            raise Unreadable(f"holds {len(entries)} files, more than the {most} that are looked at")
    except Unreadable as error:
        yield File(file.parts or (file.path.name,), file.path, file.members, str(error))
        return
    for entry in entries:
        names = name_of(entry).replace("\\", "/").split("/")
        members = (*file.members, entry.filename)
        here = (*file.parts, *names)
        leads_out = ".." in names or names[0] == "" or ":" in names[0]
        if entry.is_dir() or not all(map(shown, names[-1:] if leads_out else names)):
            continue
        problem = None
        if leads_out:
            here = (*file.parts, names[-1])
            problem = f"was not read: its name in the zip, {name_of(entry)!r}, leads out of it"
        elif stat.S_ISLNK(entry.external_attr >> 16):
            problem = "is a link, and links are not followed"
        elif entry.flag_bits & 1:
            problem = "is locked with a password"
        elif len(here) > DEEPEST:
            problem = "lies too deep in folders"
        yield from expanded(File(here, file.path, members, problem))


def shown(name):
    """Whether a name is worth a look: not hidden and no trace of a tool."""
    return bool(name) and not name.startswith(".") and name not in PASSED_OVER


def readable(name):
    """A file's name as every file and terminal takes it; bytes that are no UTF-8, as old zips leave them, become �."""
    return os.fsencode(name).decode(errors="replace")


def name_of(entry):
    """A zip entry's name; macOS writes UTF-8 without saying so, which zipfile takes for the encoding of old DOS."""
    if not entry.flag_bits & 0x800:
        with contextlib.suppress(UnicodeError):
            return entry.filename.encode("cp437").decode("utf-8")
    return entry.filename


def open_regular(path):
    """A regular file, open for reading; not a link, even if it has become one since it was found."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags), "rb")


@functools.lru_cache(maxsize=1)  # a class in one zip: its table of contents is loaded once, not for every file
def zip_on_disk(path):
    """An open zip on the disk."""
    return zipfile.ZipFile(open_regular(path))


def member(archive, name):
    """The bytes of one file in an open zip."""
    with archive.open(name) as content:
        return at_most(content)


def check_list(content):
    """Raise Unreadable for a zip whose table of contents is too large to be loaded: zipfile would load all of it."""
    size = content.seek(0, os.SEEK_END)
    content.seek(max(size - 66_000, 0))
    end = content.read()
    place = end.rfind(b"PK\x05\x06")
    if b"PK\x06\x07" in end or place >= 0 and int.from_bytes(end[place + 12 : place + 16], "little") > LARGEST_LIST:
        raise Unreadable("lists too many files")


def at_most(content):
    """All bytes of an open file. Raises Unreadable when there are more than LARGEST_FILE."""
    data = content.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise Unreadable(f"is larger than {LARGEST_FILE // 10**6} MB and was not read")
    return data


@contextlib.contextmanager
def unreadable_says_why():
    """Turn what reading a damaged or hostile file may raise into Unreadable with a reason."""
    try:
        yield
    except Unreadable:
        raise
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from None
    except RuntimeError as error:  # how zipfile speaks of passwords
        raise Unreadable(f"cannot be read: {error}") from None
    except Exception as error:  # zlib, lzma and zipfile each have their own errors for damaged bytes
        raise Unreadable(f"is damaged and cannot be read ({type(error).__name__})") from None
