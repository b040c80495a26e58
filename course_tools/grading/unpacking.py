"""Inside the process that can be killed: the notebooks in what one student handed in, with zips taken as folders.

Where there is none, the Python files are read in its place.
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
WEB_PAGE_ALONE = " A link or a saved page does not hold it: in Colab, choose File, Download, Download .ipynb."


@dataclass
class UnpackedSubmission:
    """What a submission holds. modules: {name: text} of the Python files, by every name that a notebook in their own
    folder or in one above may import them by. scripts: their names and bytes.

    remarks: sentences on what is not read. room: bytes that may still be unpacked.
    """

    notebooks: list[tuple[str, bytes]] = field(default_factory=list)
    modules: dict[str, str] = field(default_factory=dict)
    scripts: list[tuple[str, bytes]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    room: int = field(default_factory=lambda: submitted_files.LARGEST_SUBMISSION)

    def take(self, parts, data):
        """Sort in one file, or all that is in it."""
        name = parts[-1]
        if NOTEBOOK.search(name):
            self.notebooks.append((name_for_student(parts), data))
        elif ZIP.search(name):
            self.unpack(parts, data)
        elif ARCHIVE.search(name):
            self.refuse(parts, "is an archive that is not read here: only zip is")
        elif name.endswith(PYTHON_ENDING):
            self.take_module([*parts[:-1], name.removesuffix(PYTHON_ENDING)], text_in(data))
            self.scripts.append((name_for_student(parts), data))
        else:
            self.others.append(name_for_student(parts))

    def take_module(self, path, text):
        """Note the text of a Python file under each of its names. Its whole path is a name that no other file has."""
        if path[-1] == "__init__":
            path.pop()
        for k in range(len(path)):
            dotted = ".".join(path[k:])
            if path[k] not in HOUSES and (not k or dotted not in self.modules):
                self.modules[dotted] = text

    def unpack(self, parts, data):
        """Sort in what a zip holds."""
        try:
            if len(parts) > submitted_files.DEEPEST:
                raise UnreadableFile("lies too deep in folders")
            with submitted_files.unreadable_says_why():
                zipped = zipfile.ZipFile(io.BytesIO(data))
        except UnreadableFile as error:
            self.refuse(parts, error)
            return
        for names, entry, problem in submitted_files.zip_entries(zipped):
            if worth_reading(names[-1]):
                self.unpack_one((*parts, *names), zipped, entry, problem)
            elif problem or not self.others:  # one is enough to tell what was handed in
                self.others.append(name_for_student((*parts, *names)))

    def unpack_one(self, parts, zipped, entry, problem):
        """Sort in one file of an open zip."""
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
        beside = f" What was handed in is {handed.others[0]}." if handed.others else ""
        colab = WEB_PAGE_ALONE if handed.others and WEB_PAGE.search(handed.others[0]) else ""
        handed.remarks.append(
            f"No notebook was found in this submission.{beside} Hand in the file that ends in .ipynb.{colab}"
        )
    if len(handed.notebooks) > MOST_NOTEBOOKS:
        handed.remarks.append(f"Only the first {MOST_NOTEBOOKS} of {len(handed.notebooks)} notebooks were read.")
        del handed.notebooks[MOST_NOTEBOOKS:]
    return handed


def name_for_student(parts):
    """How a student knows a file: its place in their own folder."""
    return submitted_files.shortened("/".join(parts))
