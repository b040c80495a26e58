"""Inside the process that can be killed: the notebooks in what one student handed in, with zips taken as folders.

Where there is none, the Python files are read in its place.
"""

import io
import zipfile
from dataclasses import dataclass, field

from course_tools.grading import archive
from course_tools.grading.archive import ARCHIVE, MODULE, NOTEBOOK, ZIP, Unreadable, worth_reading
from course_tools.grading.notebook import text_in

MOST_NOTEBOOKS = 40  # in one submission


@dataclass
class Handed:
    """What a submission holds. modules: {name: text} of the Python files. scripts: their names and bytes.

    remarks: sentences on what is not read. room: bytes that may still be unpacked. lists: bytes of zips' tables of
    contents that may still be loaded.
    """

    notebooks: list[tuple[str, bytes]] = field(default_factory=list)
    modules: dict[str, str] = field(default_factory=dict)
    scripts: list[tuple[str, bytes]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    room: int = field(default_factory=lambda: archive.LARGEST)
    lists: int = field(default_factory=lambda: archive.LARGEST_LIST)

    def take(self, parts, data):
        """Sort in one file, or all that is in it."""
        name = parts[-1]
        if NOTEBOOK.search(name):
            self.notebooks.append((shown(parts), data))
        elif ZIP.search(name):
            self.unpack(parts, data)
        elif ARCHIVE.search(name):
            self.refuse(parts, "is packed in a way that is not read here: only zip is")
        elif name.endswith(MODULE):
            self.modules[name.removesuffix(MODULE)] = text_in(data)
            self.scripts.append((shown(parts), data))
        else:
            self.others.append(shown(parts))

    def unpack(self, parts, data):
        """Sort in what a zip holds."""
        try:
            if len(parts) > archive.DEEPEST:
                raise Unreadable("lies too deep in folders")
            with archive.unreadable_says_why():
                self.lists -= size_of_list(data)
                if self.lists < 0:
                    raise Unreadable("lists too many files")
                zipped = zipfile.ZipFile(io.BytesIO(data))
        except Unreadable as error:
            self.refuse(parts, error)
            return
        for names, entry, problem in archive.listed(zipped):
            if worth_reading(names[-1]):
                self.unpack_one((*parts, *names), zipped, entry, problem)
            elif problem or not self.others:  # one is enough to tell what was handed in
                self.others.append(shown((*parts, *names)))

    def unpack_one(self, parts, zipped, entry, problem):
        """Sort in one file of an open zip."""
        try:
            if problem:
                raise Unreadable(problem)
            with archive.unreadable_says_why(), zipped.open(entry) as content:
                data = archive.at_most(content, self.room)
        except Unreadable as error:
            self.refuse(parts, error)
            return
        self.room -= len(data)
        self.take(parts, data)

    def refuse(self, parts, why):
        """Remark that a file is not read."""
        self.remarks.append(f"{shown(parts)} {why}.")


def unpacked(files):
    """The Handed of a submission's files, [(parts of the name below the student's own folder, bytes)]."""
    handed = Handed()
    for parts, data in files:
        handed.take(parts, data)
    if not handed.notebooks and handed.scripts:
        handed.notebooks = handed.scripts
        handed.remarks.append("No notebook was found in this submission, so its Python files were graded.")
    elif not handed.notebooks:
        beside = f" What was handed in is {handed.others[0]}." if handed.others else ""
        handed.remarks.append(
            f"No notebook was found in this submission.{beside} Hand in the file that ends in .ipynb."
        )
    if len(handed.notebooks) > MOST_NOTEBOOKS:
        handed.remarks.append(f"Of {len(handed.notebooks)} notebooks only the first {MOST_NOTEBOOKS} were looked at.")
        del handed.notebooks[MOST_NOTEBOOKS:]
    return handed


def shown(parts):
    """How a student knows a file: its place in their own folder."""
    return archive.shortened("/".join(parts))


def size_of_list(data):
    """Bytes of a zip's table of contents, which zipfile would load whole. Raises Unreadable where it tells none."""
    place = data.rfind(b"PK\x05\x06", max(len(data) - 66_000, 0))
    if b"PK\x06\x07" in data[-66_000:]:
        raise Unreadable("lists too many files")
    return int.from_bytes(data[place + 12 : place + 16], "little") if place >= 0 else 0
