"""The worked answers, read from the one place where they stand: the solution regions of the chapters' sources."""

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
# in a clone the sources lie beside the package; an installed package carries its own copy (see pyproject.toml)
PLACES = (PACKAGE.parent / "solutions", PACKAGE / "solutions")


def answer_to(id):
    """(code, explanation) of exercise "3.2"."""
    cells = re.split(r"(?m)^# %%", source_of(int(id.split(".")[0])))
    name = f'name="exercise-{id.replace(".", "-")}"'
    ((place, code),) = [(k, cell) for k, cell in enumerate(cells) if cell.split("\n", 1)[0].strip().startswith(name)]
    explanation = next(cell for cell in cells[place:] if '"solution"' in cell.split("\n", 1)[0])
    return without_marks(code.split("\n", 1)[1]), unquoted(explanation.split("\n", 1)[1])


def source_of(chapter):
    """The text of a chapter's source."""
    for place in PLACES:
        for path in place.glob(f"{chapter:02}_*.py"):
            return path.read_text(encoding="utf-8")
    raise FileNotFoundError(f"the source of chapter {chapter} is not in {' or '.join(map(str, PLACES))}")


def without_marks(code):
    """A cell's code without the marks around the solution."""
    return re.sub(r"(?m)^ *### (BEGIN|END) SOLUTION\n", "", code).strip()


def unquoted(markdown):
    """A Markdown cell without the comment signs, and without a lead like "**Solution.**"."""
    text = re.sub(r"(?m)^# ?", "", markdown).strip()
    return re.sub(r"\*\*|\s*\n\s*", lambda found: "" if found[0] == "**" else " ", text)
