"""A chapter's page: its stored notebook, with replacements for the cells that need a kernel.

Cells are recognised by the names from a build, such as `setup`, `check-1-2`, `progress`, and by `answer("Q1.2", ...)`.
"""

import re

import nbformat

from course_tools import links, repository
from course_tools.site import dropdowns
from course_utils import play

TYPED_CALL = re.compile(r'^answer\("([MS][\d.]+)"')
QUESTION_CALL = re.compile(r'^answer\("(Q[\w.]+)"', re.MULTILINE)
CHECK = re.compile(r"check-(\d+)-(\d+)")
TO_KERNEL = re.compile(
    r"^Run the cells from top to bottom.*(?:\n.+)*\n?", re.MULTILINE
)  # text that only a notebook needs
TO_CONTENTS = re.compile(r"\]\(\.\./README\.md(#\S*?)?\)")


def page(topic, address):
    """The chapter `topic` ("01_some_topic") as a notebook for MyST-NB. address: OWNER/REPO, or empty."""
    notebook = nbformat.read(notebook_path(topic), as_version=4)
    cells = without_kernel_cells(notebook.cells)
    worked = {cell.id: cell for cell in nbformat.read(solved_path(topic), as_version=4).cells}
    notebook.cells = []
    for cell, after in zip(cells, [*cells[1:], None]):
        if cell.cell_type == "markdown":
            notebook.cells.append(markdown_cell(cell, after))
        elif not question_asked(cell):
            notebook.cells += code_cells(cell, int(topic[:2]), worked.get(cell.id), address)
    first = notebook.cells[0]
    first.source = with_download_links(links.without_badge(first.source), topic, address)
    return notebook


def notebook_path(topic):
    """The path of a learner's stored notebook."""
    return repository.ROOT / "notebooks" / f"{topic}.ipynb"


def solved_path(topic):
    """The path of the chapter's notebook with worked answers."""
    return repository.ROOT / "solutions" / f"{topic}.ipynb"


def without_kernel_cells(cells):
    """The cells without the setup, `review`, puzzles, `progress` and the text that leads to it."""
    names = [cell.id for cell in cells]
    played = [name for name in names if name.startswith("play-")]  # each is shown in place of its check
    useless = {
        "setup",
        "review",
        "progress",
        *played,
        *(before for before, name in zip(names, names[1:]) if name == "progress"),
    }
    return [cell for cell in cells if cell.id not in useless]


# --- a cell of the notebook, as cells of the page ---------------------------------------------------------------------


def markdown_cell(cell, after):
    """A Markdown cell; the choices of a question get their replies."""
    if after and (id := question_asked(after)):
        cell.source = dropdowns.question_with_replies(id, cell.source)
    cell.source = TO_CONTENTS.sub("](index.md)", cell.source)
    return cell


def question_asked(cell):
    """The id of the question with choices that a code cell answers, or None."""
    found = QUESTION_CALL.search(cell.source) if cell.cell_type == "code" else None
    return found and found[1]


def code_cells(cell, number, worked, address):
    """A code cell of chapter `number` below a place to link to; a check becomes the puzzle or a link to a way to do it.

    worked: the same cell in the solved notebook, whose outputs replace those of a learner's code.
    """
    if found := CHECK.fullmatch(cell.id):
        id = f"{found[1]}.{found[2]}"
        return [new_markdown_cell(f"{played(id, number, address)}\n\n{dropdowns.hints_and_answer(id)}", cell.id)]
    if found := TYPED_CALL.match(cell.source):
        return [new_markdown_cell(dropdowns.typed_answer(found[1]), cell.id)]
    above = []
    if cell.id.startswith("try-"):
        cell.outputs = worked.outputs
        above = [new_markdown_cell("*Output with the worked answer:*", f"with-{cell.id}")]
    cell.metadata.mystnb = {"image": {"alt": cell.metadata.get("shows", "")}}
    return [new_markdown_cell(f"({cell_anchor(number, cell.id)})=", f"at-{cell.id}"), *above, cell]


def played(id, number, address):
    """How to do exercise `id`: as a figure on this page, or where its code runs."""
    if id in play.BOARDS:
        return f"````{{raw}} html\n{play.puzzle_figure(id).html()}\n````"
    (topic,) = (path.stem for path in repository.learners() if int(path.stem[:2]) == number)
    colab = f" [in Colab]({links.address('colab', f'notebooks/{topic}.ipynb', address)}) or" if address else ""
    return f"*Write and check your answer{colab} [in the notebook](ways.md).*"


def cell_anchor(number, id):
    """The name by which other pages link to a cell of chapter `number`."""
    return f"chapter-{number}-{id}"


def new_markdown_cell(text, id):
    """A Markdown cell."""
    return nbformat.v4.new_markdown_cell(text, id=id[:64])


def with_download_links(text, topic, address):
    """The first cell's text with ways to run the chapter below its title."""
    title, _, rest = text.partition("\n")
    colab = f"[Open in Colab]({links.address('colab', f'notebooks/{topic}.ipynb', address)}) · " if address else ""
    rest = TO_KERNEL.sub("", rest)
    copy = f'<a href="reading/{topic}.html" download>one file to read or print</a>'
    return (
        f"{title}\n\n{colab}{{download}}`Download <downloads/{topic}.ipynb>` · {copy} · [other ways](ways.md)\n{rest}"
    )
