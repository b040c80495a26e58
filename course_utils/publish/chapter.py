"""One chapter's source becomes two notebooks, not yet run: the solved one and the learner's.

The source is `solutions/NN_topic.py` in jupytext's percent format. Three marks in it matter here:

* `# %% name="some-name"` names a cell. The name becomes the cell's id, so it survives edits.
* `### BEGIN SOLUTION` to `### END SOLUTION` is what the learner's notebook replaces by `...`.
* `# %% [markdown] tags=["solution"]` explains a solution; the learner's notebook leaves it out.
"""

import copy
import hashlib
import re
from pathlib import Path

import jupytext
import nbformat

from course_utils.publish import links

ROOT = links.ROOT

SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION$", re.MULTILINE | re.DOTALL)

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def sources():
    """The chapters' sources, in order."""
    return sorted((ROOT / "solutions").glob("[0-9][0-9]_*.py"))


def digest(text):
    """What identifies a source. The repository's address is left out: setting it re-executes nothing."""
    return hashlib.sha256(links.stamp_source(text, "").encode()).hexdigest()


def notebooks(source: Path, repository: str):
    """The chapter's notebooks, without outputs: {path: notebook} with the solved one first."""
    text = source.read_text(encoding="utf-8")
    solved = jupytext.reads(links.stamp_source(text, ""), fmt="py:percent")
    course = solved.metadata.pop("course")
    solved.metadata = nbformat.from_dict(
        METADATA | {"course": course, "source": {"path": f"solutions/{source.name}", "sha256": digest(text)}}
    )
    solved.nbformat_minor = 5  # the first with cell ids
    name_cells(solved)
    learners = for_learners(solved)

    made = {
        ROOT / "solutions" / f"{source.stem}.ipynb": solved,
        ROOT / "notebooks" / f"{source.stem}.ipynb": learners,
    }
    for path, notebook in made.items():
        links.stamp_notebook(notebook, f"{path.parent.name}/{path.name}", repository)
        nbformat.validate(notebook)
    return made


def name_cells(notebook):
    """Give every cell an id that is the same on every build: its name, or else a digest of its text."""
    taken = set()
    for cell in notebook.cells:
        cell.id = cell.metadata.get("name") or hashlib.sha256(cell.source.encode()).hexdigest()[:12]
        if cell.id in taken:
            raise SystemExit(f"Two cells are called or read the same: {cell.id!r}. Give one of them another name.")
        taken.add(cell.id)


def for_learners(solved):
    """A copy of the solved notebook with stubs for solutions and without their explanations."""
    notebook = copy.deepcopy(solved)
    notebook.cells = [cell for cell in notebook.cells if "solution" not in cell.metadata.get("tags", [])]
    for cell in notebook.cells:
        cell.source = SOLUTION.sub(r"\1...", cell.source)
        if re.search("(BEGIN|END) SOLUTION", cell.source):
            raise SystemExit(f"Cell {cell.id!r} has a solution mark without its partner.")
    return notebook
