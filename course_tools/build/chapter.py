"""One chapter's source becomes two notebooks, not yet run: the solved one and the learner's.

The source is `solutions/NN_topic.py` in jupytext's percent format. Five marks in it matter here:

* `# %% name="some-name"` names a cell. The name becomes the cell's id, so it survives edits.
* `# %% name="some-picture" shows="..."` describes a cell's picture, for those who cannot see it.
* `### BEGIN SOLUTION` to `### END SOLUTION` is replaced by `...` in the learner's notebook.
* `# %% [markdown] tags=["solution"]` explains a solution; the learner's notebook omits it.
* `# %% name="some-name" tags=["answers-Q1.2"]` marks a cell whose output answers question Q1.2 above it. Learners'
  copies omit that output (`repository.learners_copy`); the notebooks stored here keep it.

The learner's notebook also omits nbgrader's hidden tests and the answers to questions.
"""

import copy
import hashlib
import re
from pathlib import Path

import jupytext
import nbformat

from course_tools import links
from course_tools.build.code_digest import code_digest
from course_tools.build.minutes import minutes
from course_tools.repository import ROOT

HIDDEN_TESTS = re.compile(r"^### BEGIN HIDDEN TESTS\n.*?^### END HIDDEN TESTS\n", re.MULTILINE | re.DOTALL)
ANSWER_CALL = re.compile(r'(answer\("[QMS][\d.]+", )"[^"\n]*"\)')
SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION$", re.MULTILINE | re.DOTALL)

CELL_NAME = re.compile(r"[a-z0-9-]{1,64}")
HEADING = re.compile(r"^### Exercise (\S+) · .*\n(\d+) points? ·", re.MULTILINE)
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def notebooks(source: Path, address: str):
    """The chapter's notebooks, without outputs: {path: notebook} with the solved one first.

    Ends the program with one sentence if the source has a mistake in its marks.
    """
    text = links.stamp_source(source.read_text(encoding="utf-8"), source.stem, "")  # without an address
    solved = jupytext.reads(text, fmt="py:percent")
    course = solved.metadata.pop("course", None) or {}
    if set(course) != {"summary"}:
        raise SystemExit(f"{source.name} must begin with a header that sets summary under `course`.")
    digest = hashlib.sha256(text.encode()).hexdigest()
    solved.metadata = nbformat.from_dict(
        METADATA | {"course": course, "source": {"path": f"solutions/{source.name}", "sha256": digest}}
    )
    solved.nbformat_minor = 5  # the first with cell ids
    name_cells(solved)
    mark_for_nbgrader(solved)
    learners = learners_notebook(solved)
    for notebook in (solved, learners):
        notebook.metadata.source["minutes"] = minutes(learners.cells)

    made = {
        ROOT / "solutions" / f"{source.stem}.ipynb": solved,
        ROOT / "notebooks" / f"{source.stem}.ipynb": learners,
    }
    for path, notebook in made.items():
        notebook.metadata.source["code"] = code_digest(notebook.cells, int(source.name[:2]))
        links.stamp_notebook(notebook, f"{path.parent.name}/{path.name}", address)
    return made


def name_cells(notebook):
    """Give every cell an id that is the same on every build: its name, or else a digest of its text."""
    taken = set()
    for cell in notebook.cells:
        cell.id = cell.metadata.get("name") or hashlib.sha256(cell.source.encode()).hexdigest()[:12]
        if not CELL_NAME.fullmatch(cell.id):
            raise SystemExit(f"The cell's name {cell.id!r} may contain only lowercase letters, digits and dashes.")
        if cell.id in taken:
            first_words = cell.source.strip()[:60]
            raise SystemExit(f"Two cells share the name or the text of {cell.id!r}: change one, {first_words!r}.")
        taken.add(cell.id)


def mark_for_nbgrader(notebook):
    """Give the cells of exercises and of their checks the metadata that nbgrader needs.

    Points are taken from the text; a test compares them with the exercise's, whose import needs torch.
    """
    points = dict(HEADING.findall("\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")))
    for cell in notebook.cells:
        found = re.fullmatch(r"(exercise|check)-(\d+)-(\d+)", cell.id)
        if not found:
            continue
        graded, number = found[1] == "check", f"{found[2]}.{found[3]}"
        marks = {"schema_version": 3, "grade_id": cell.id, "task": False}
        marks |= {"grade": graded, "solution": not graded, "locked": graded}
        if graded and number not in points:
            raise SystemExit(
                f"Cell {cell.id!r} needs text that begins with `### Exercise {number} · ...`, then `2 points · ...`."
            )
        if graded:
            marks["points"] = int(points[number])
        cell.metadata.nbgrader = nbformat.from_dict(marks)


def learners_notebook(solved):
    """A copy of the solved notebook with stubs for solutions and without their explanations."""
    notebook = copy.deepcopy(solved)
    notebook.cells = [cell for cell in notebook.cells if "solution" not in cell.metadata.get("tags", [])]
    for cell in notebook.cells:
        cell.source = ANSWER_CALL.sub(r'\1"?")', HIDDEN_TESTS.sub("", SOLUTION.sub(r"\1...", cell.source)))
        if re.search("(BEGIN|END) (SOLUTION|HIDDEN)", cell.source):
            raise SystemExit(f"Cell {cell.id!r} has a solution mark without its partner.")
    return notebook
