"""A digest of everything behind a notebook's outputs: while it is unchanged, nothing runs. Standard library only."""

import hashlib
import json
import platform

from course_tools import links, repository
from course_tools.build import needed_files


def code_digest(cells, chapter):
    """The digest of a notebook's code, of the course's files behind it, and of Python's and the packages' versions.

    cells: the notebook's, as nbformat or json reads them. chapter: its number; of the exercises, its own count.
    """
    code = [
        (cell["id"], links.without_address("".join(cell["source"])), cell["metadata"].get("tags", []))
        for cell in cells
        if cell["cell_type"] == "code"
    ]
    texts = [file.read_text(encoding="utf-8") for file in files_behind(cells, chapter)]
    whole = [code, texts, platform.python_version_tuple()[:2], repository.requirements("requirements.txt")]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()


def files_behind(cells, chapter):
    """The course's files behind a notebook's code."""
    own = f"course_utils.exercises.chapter_{chapter}"  # found by its name, so no text imports it
    return needed_files.files_needed_by(
        "\n".join([own, *("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")])
    )
