"""The stored notebooks, as the tests read them."""

import re

import nbformat

from course_tools import repository
from course_tools.build import still_pictures

PATHS = repository.stored()
LEARNERS, SOLVED = ([path for path in PATHS if path.parent.name == folder] for folder in ("notebooks", "solutions"))


def name(path):
    """How a test's report calls a notebook: notebooks/01_topic."""
    return f"{path.parent.name}/{path.stem}"


def read(path):
    """A stored notebook."""
    return nbformat.read(path, as_version=4)


def of_chapter(number, paths=SOLVED):
    """The path of a chapter among these."""
    (path,) = [path for path in paths if int(path.name[:2]) == number]
    return path


def cell(path, id):
    """The code cell of a stored notebook with this id."""
    (found,) = [cell for cell in code_cells(read(path)) if cell.id == id]
    return found


def code_cells(notebook):
    """The notebook's code cells."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def prose(notebook):
    """The notebook's words."""
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def told(cell):
    """What a cell printed, with the alt texts of its pictures."""
    return "\n".join([printed(cell), *(alt for _, alt in pictures(cell))])


def printed(cell):
    """What a cell printed."""
    texts = []
    for output in cell.outputs:
        texts.append(output.get("text") or output.get("data", {}).get("text/plain") or output.get("evalue", ""))
    return "".join(texts)


def comparable(cell):
    """What a cell printed, as far as it is the same in every run: nothing of a cell that measures time."""
    return "" if "nbval-ignore-output" in cell.metadata.get("tags", []) else printed(cell)


def answering(notebook):
    """{id of each code cell whose outputs answer a question above it: that question}, by the cells' tags."""
    tags = [(cell.id, tag) for cell in code_cells(notebook) for tag in cell.metadata.get("tags", [])]
    return {id: tag.removeprefix(repository.ANSWERS) for id, tag in tags if tag.startswith(repository.ANSWERS)}


def changed_outputs(copy, original):
    """{id: outputs in a copy of a notebook} of every code cell that has others than in the original."""
    pairs = zip(code_cells(copy), code_cells(original), strict=True)
    return {ours.id: ours.outputs for ours, theirs in pairs if ours.outputs != theirs.outputs}


def pictures(cell):
    """(picture in base64, alt text) of every picture in a cell's outputs."""
    for output in cell.outputs:
        for kind, picture in output.get("data", {}).items():
            if kind.startswith("image/"):
                yield picture, output.metadata.get(kind, {}).get("alt", "")


def live_figures(notebook):
    """(HTML, the still in it or an empty text) of every live figure in a notebook's outputs."""
    for cell in code_cells(notebook):
        for output in cell.outputs:
            page = output.get("data", {}).get("text/html", "")
            if "course-figure" in page:
                still = still_pictures.STILL_PICTURE.search(page)
                yield page, still[0] if still else ""


def links(markdown):
    """The targets of all links and pictures in a Markdown text."""
    return re.findall(r"\]\(([^)\s]+)\)", markdown) + re.findall(r"""(?:src|href)=["']([^"']+)""", markdown)
