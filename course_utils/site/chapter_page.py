"""A chapter's page: its stored notebook, with what a reader needs in the place of what needs a kernel.

Cells are known by what a build gives them: `setup`, `exercise-1-2`, `check-1-2`, `progress`, the tag `solution`; and by
`answer("Q1.2", ...)` in their code.
"""

import re

import nbformat

from course_utils import repository
from course_utils.authoring import links
from course_utils.exercises import QUESTIONS, solutions
from course_utils.site import folded

ASKED = re.compile(r'^answer\("(Q[\w.]+)"', re.MULTILINE)
OF_EXERCISE = re.compile(r"(exercise|check)-(\d+)-(\d+)")
TO_KERNEL = re.compile(r"^Run the cells from top to bottom.*\n?", re.MULTILINE)  # a line that only a notebook needs
TO_CONTENTS = re.compile(r"\]\(\.\./README\.md(#\S*?)?\)")


def page(topic, address):
    """The chapter `topic` ("01_some_topic") as a notebook for MyST-NB. address: OWNER/REPO, or empty."""
    solved, learners = (nbformat.read(place(folder, topic), as_version=4) for folder in ("solutions", "notebooks"))
    answers = worked_answers(solved.cells)
    cells = without_the_end_for_kernels(learners.cells)
    before, made = None, []
    for cell, after in zip(cells, [*cells[1:], None]):
        if cell.cell_type == "markdown":
            made += words(cell, after)
        elif not (asked(cell) and before.cell_type == "markdown"):
            made += code(cell, topic, answers)
        before = cell
    made[0].source = with_ways_on(links.without_badge(made[0].source), topic, address)
    learners.cells = made
    return learners


def place(folder, topic):
    """Where a stored notebook lies."""
    return repository.ROOT / folder / f"{topic}.ipynb"


def worked_answers(cells):
    """{"1.2": (code, explanation in Markdown)} of a solved notebook."""
    answers, id = {}, None
    for cell in cells:
        if (found := OF_EXERCISE.fullmatch(cell.id)) and found[1] == "exercise":
            id = f"{found[2]}.{found[3]}"
            answers[id] = solutions.without_marks(cell.source), ""
        elif "solution" in cell.metadata.get("tags", []):
            answers[id] = answers[id][0], f"{answers[id][1]}\n\n{cell.source}".strip()
    return answers


def without_the_end_for_kernels(cells):
    """The cells without the setup and without `progress` and the words that lead to it."""
    names = [cell.id for cell in cells]
    useless = {"setup", "progress", *(before for before, name in zip(names, names[1:]) if name == "progress")}
    return [cell for cell in cells if cell.id not in useless]


# --- a cell of the notebook, as cells of the page ---------------------------------------------------------------------


def words(cell, after):
    """A Markdown cell; the choices of a question get their replies."""
    if after and (id := asked(after)):
        cell.source = folded.question(id, cell.source)
    cell.source = TO_CONTENTS.sub("](index.md)", cell.source)
    return [cell]


def asked(cell):
    """The id of the question with choices that a code cell answers, or None."""
    found = ASKED.search(cell.source) if cell.cell_type == "code" else None
    return found[1] if found and getattr(QUESTIONS.get(found[1]), "said", None) else None


def code(cell, topic, answers):
    """A code cell below a place to link to; help instead of a check."""
    found = OF_EXERCISE.fullmatch(cell.id)
    if found and found[1] == "check":
        id = f"{found[2]}.{found[3]}"
        return [markdown(folded.help_with(id, *answers[id]), cell.id)]
    cell.metadata.mystnb = {"image": {"alt": cell.metadata.get("shows", "")}}
    return [markdown(f"({anchor(int(topic[:2]), cell.id)})=", f"at-{cell.id}"), cell]


def anchor(number, id):
    """The name by which other pages link to a cell of chapter `number`."""
    return f"chapter-{number}-{id}"


def markdown(text, id):
    """A Markdown cell."""
    return nbformat.v4.new_markdown_cell(text, id=id[:64])


def with_ways_on(text, topic, address):
    """The first cell's text with ways to run the chapter below its title."""
    title, _, rest = text.partition("\n")
    colab = f"[Open in Colab]({links.colab(f'notebooks/{topic}.ipynb', address)}) · " if address else ""
    rest = TO_KERNEL.sub("", rest)
    return f"{title}\n\n{colab}{{download}}`Download <downloads/{topic}.ipynb>` · [other ways](ways.md)\n{rest}"
