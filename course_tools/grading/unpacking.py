"""Inside the process that can be killed: the notebooks in one student's submission, with zips treated as folders.

Without a notebook, the Python files are read instead.
"""

import io
import re
import zipfile
from dataclasses import dataclass, field

from course_tools.grading import submitted_files
from course_tools.grading.notebook_reading import text_in
from course_tools.grading.submitted_files import ARCHIVE, NOTEBOOK, PYTHON_ENDING, ZIP, UnreadableFile, worth_reading
from course_tools.repository import HOUSES

MOST_NOTEBOOKS = 40  # in one submission
WEB_PAGE = re.compile(r"\.(html?|url|webloc)$", re.IGNORECASE)
WEB_PAGE_ALONE = " A link or a saved page does not contain it: in Colab, choose File, Download, Download .ipynb."


@dataclass
class UnpackedSubmission:
    """The contents of a submission. modules: {name: text} of Python files, by every name that a notebook in their own
    folder or one above may import. scripts: their names and bytes.

    remarks: sentences on files that are not read. room: bytes that may still be unpacked.
    """

    notebooks: list[tuple[str, bytes]] = field(default_factory=list)
    modules: dict[str, str] = field(default_factory=dict)
    scripts: list[tuple[str, bytes]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    room: int = field(default_factory=lambda: submitted_files.LARGEST_SUBMISSION)

    def take(self, parts, data):
        """Add one file, or all files in it."""
        name = parts[-1]
        if NOTEBOOK.search(name):
            self.notebooks.append((name_for_student(parts), data))
        elif ZIP.search(name):
            self.unpack(parts, data)
        elif ARCHIVE.search(name):
            self.refuse(parts, "is not a zip, the only kind of archive that is read here")
        elif name.endswith(PYTHON_ENDING):
            self.take_module([*parts[:-1], name.removesuffix(PYTHON_ENDING)], text_in(data))
            self.scripts.append((name_for_student(parts), data))
        else:
            self.others.append(name_for_student(parts))

    def take_module(self, path, text):
        """Store the text of a Python file under each of its names. Its full path is unique."""
        if path[-1] == "__init__":
            path.pop()
        for k in range(len(path)):
            dotted = ".".join(path[k:])
            if path[k] not in HOUSES and (not k or dotted not in self.modules):
                self.modules[dotted] = text

    def unpack(self, parts, data):
        """Add the files in a zip."""
        try:
            if len(parts) > submitted_files.DEEPEST:
                raise UnreadableFile("is in too many nested folders")
            with submitted_files.unreadable_says_why():
                zipped = zipfile.ZipFile(io.BytesIO(data))
        except UnreadableFile as error:
            self.refuse(parts, error)
            return
        for names, entry, problem in submitted_files.zip_entries(zipped):
            if worth_reading(names[-1]):
                self.unpack_one((*parts, *names), zipped, entry, problem)
            elif problem or not self.others:  # one is enough to show what was handed in
                self.others.append(name_for_student((*parts, *names)))

    def unpack_one(self, parts, zipped, entry, problem):
        """Add one file of an open zip."""
        try:
            if problem:
                raise UnreadableFile(problem)
            with submitted_files.unreadable_says_why(), zipped.open(entry) as content:
                data = submitted_files.read_at_most(content, self.room)
        except UnreadableFile as error:
            self.refuse(parts, error)
            return
        self.room -= len(data)
        self.take(parts, data)

    def refuse(self, parts, why):
        """Remark that a file is not read."""
        self.remarks.append(f"{name_for_student(parts)} {why}.")


def unpack_submission(files):
    """The UnpackedSubmission of a submission's files, [(parts of the name below the student's own folder, bytes)]."""
    handed = UnpackedSubmission()
    for parts, data in files:
        handed.take(parts, data)
    if not handed.notebooks and handed.scripts:
        handed.notebooks = handed.scripts
        handed.remarks.append("No notebook was found in this submission, so its Python files were graded.")
    elif not handed.notebooks:
        beside = f" It contains {handed.others[0]}." if handed.others else ""
        colab = WEB_PAGE_ALONE if handed.others and WEB_PAGE.search(handed.others[0]) else ""
        handed.remarks.append(
            f"No notebook was found in this submission.{beside} Hand in the file that ends in .ipynb.{colab}"
        )
    if len(handed.notebooks) > MOST_NOTEBOOKS:
        handed.remarks.append(f"Only the first {MOST_NOTEBOOKS} of {len(handed.notebooks)} notebooks were read.")
        del handed.notebooks[MOST_NOTEBOOKS:]
    return handed


def name_for_student(parts):
    """The name by which a student knows a file: its path in their own folder."""
    return submitted_files.shortened("/".join(parts))
