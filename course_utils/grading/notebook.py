"""From the bytes of a notebook to what runs of it: the cell of an exercise, and what it needs of the cells before.

Only that is run: a training loop or a picture that an answer does not use costs nothing and can break nothing.
"""

import ast
import json
import re
import symtable
from dataclasses import dataclass, field

LARGEST_STRUCTURE = 5_000_000  # bytes of a notebook outside its texts: more are lists in lists, made to fill memory
LONGEST_CELL = 200_000  # characters; a longer cell is not read
MOST_CELLS = 2000
TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)  # to its end, or to that of the file
MARK = re.compile(r"exercise-(\d+)-(\d+)")
CHAPTER = re.compile(r"(?:^|/)(\d\d)_\w+")  # in the name of a chapter's file
HEADING = re.compile(r"^# Chapter (\d+)\b", re.MULTILINE)
KEPT_MAGIC = re.compile(r"\A\s*%%(time|timeit|capture)\b.*\n")  # cell magics that run the cell as Python
NEVER_RUN = (ast.Expr, ast.Assert, ast.Delete, ast.Pass, ast.Raise)


class NoNotebook(Exception):
    """These bytes are no notebook; the text says why, to be read after the file's name."""


@dataclass(frozen=True)
class Statement:
    """A statement at the top of a cell. binds: names that it sets. needs: names that must be there when it is used."""

    first: int  # line
    last: int
    binds: frozenset
    needs: frozenset


@dataclass
class Cell:
    """A code cell. exercise: the id of the exercise whose mark it carries ("3.2"), or None.

    problem: why nothing of it can run, or None.
    """

    text: str
    exercise: str | None = None
    statements: list[Statement] = field(init=False, default_factory=list, repr=False)
    problem: str | None = field(init=False, default=None)

    def __post_init__(self):
        try:
            self.text, self.statements = parsed(self.text)
        except SyntaxError as error:
            self.problem = f"cannot be read by Python: {error.msg} (line {error.lineno} of the cell)"
        except (ValueError, RecursionError, MemoryError) as error:
            self.problem = f"cannot be read by Python ({type(error).__name__})"

    def binds(self, name):
        """Whether it defines a name."""
        return any(name in statement.binds for statement in self.statements)

    def only(self, kept):
        """Its text with all other lines left empty, so that line numbers stay."""
        lines = self.text.split("\n")
        shown = {number for statement in kept for number in range(statement.first, statement.last + 1)}
        return "\n".join(line if number in shown else "" for number, line in enumerate(lines, start=1)).rstrip()


@dataclass
class Notebook:
    """The code cells of a notebook, and the chapters that it says it belongs to (those of its marks, if it has any)."""

    name: str
    cells: list[Cell]
    chapters: set[int]

    def defining(self, exercise):
        """The numbers of the cells that define what an exercise asks for, but not those marked as another's."""
        if exercise.chapter not in self.chapters:
            return []
        return [
            number
            for number, cell in enumerate(self.cells)
            if cell.exercise in (None, exercise.id) and cell.binds(exercise.name)
        ]

    def marked(self, exercise):
        """The cells that carry an exercise's mark."""
        return [cell for cell in self.cells if cell.exercise == exercise.id]

    def needed(self, number, name):
        """(texts to run, the cell's own last; names that they use) so that cell `number` defines `name`."""
        before = self.cells[: number + 1]
        wanted, kept = {name}, [set() for _ in before]
        grown = True
        while grown:
            grown = False
            for cell, chosen in zip(before, kept):
                for statement in cell.statements:
                    if statement not in chosen and (statement.binds & wanted or "*" in statement.binds):
                        chosen.add(statement)
                        wanted |= statement.needs
                        grown = True
        return [cell.only(chosen) for cell, chosen in zip(before, kept) if chosen], wanted


# --- reading ----------------------------------------------------------------------------------------------------------


def read(name, content, names_of_chapters):
    """The Notebook in some bytes. Raises NoNotebook.

    names_of_chapters: {chapter: names that its exercises ask for}, to tell a notebook's chapter where all else is lost.
    """
    if not content.strip():
        raise NoNotebook("is empty")
    if len(content) > LARGEST_STRUCTURE and len(TEXT.sub(b"", content).translate(None, b" \r\n\t")) > LARGEST_STRUCTURE:
        raise NoNotebook("is built to fill the memory and was not read")
    try:
        notebook = json.loads(content)  # UTF-8, UTF-16 or UTF-32, with or without a mark of the byte order
        listed = notebook.get("cells") or [cell for sheet in notebook.get("worksheets", []) for cell in sheet["cells"]]
        source_path = notebook.get("metadata", {}).get("source", {}).get("path", "")
        cells = [cell for cell in map(code_cell, listed[:MOST_CELLS]) if cell]
        words = "\n".join(text_of(cell) for cell in listed[:MOST_CELLS] if cell.get("cell_type") == "markdown")
    except (ValueError, RecursionError, MemoryError, AttributeError, TypeError, KeyError):
        raise NoNotebook("is damaged or no notebook") from None
    return Notebook(name, cells, chapters(name, str(source_path), words, cells, names_of_chapters))


def code_cell(cell):
    """A Cell, or None for one that holds no code."""
    if cell.get("cell_type") != "code":
        return None
    metadata = cell.get("metadata") or {}
    grade_id = (metadata.get("nbgrader") or {}).get("grade_id")
    marks = (MARK.fullmatch(str(mark)) for mark in (cell.get("id"), grade_id, metadata.get("name")))
    mark = next(filter(None, marks), None)
    return Cell(text_of(cell), mark and f"{int(mark[1])}.{int(mark[2])}")


def text_of(cell):
    """A cell's text with plain line ends. Notebooks before version 4 call it `input`."""
    source = cell.get("source", cell.get("input", ""))
    text = source if isinstance(source, str) else "".join(source)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def chapters(name, source_path, words, cells, names_of_chapters):
    """The chapters that a notebook belongs to: by its marks, the record of its source, headings, name or code."""
    if marked := {int(cell.exercise.split(".")[0]) for cell in cells if cell.exercise}:
        return marked
    for text, pattern in [(source_path, CHAPTER), (words, HEADING), (name, CHAPTER)]:
        if found := {int(number) for number in pattern.findall(text)} & set(names_of_chapters):
            return found
    hits = {
        chapter: sum(any(cell.binds(name) for cell in cells) for name in names)
        for chapter, names in names_of_chapters.items()
    }
    most = max(hits.values(), default=0)
    return {chapter for chapter in hits if most and hits[chapter] == most}


# --- statements -------------------------------------------------------------------------------------------------------


def parsed(text):
    """(text, its statements that can define something), IPython's magics turned into Python where there are any.

    Raises what ast.parse raises, ValueError for a text that is too long.
    """
    if len(text) > LONGEST_CELL:
        raise ValueError("too long")
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        text = without_magics(text)
        try:
            tree = ast.parse(text)
        except SyntaxError:
            raise error from None
    lines = text.split("\n")
    return text, [statement(node, lines) for node in tree.body if not isinstance(node, NEVER_RUN)]


def without_magics(text):
    """A cell's text with IPython's magics turned into Python, on the same lines."""
    from IPython.core.inputtransformer2 import TransformerManager  # here: most cells need none of it

    return TransformerManager().transform_cell(KEPT_MAGIC.sub("\n", text))


def statement(node, lines):
    """What an ast node at the top of a cell sets and needs."""
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
    top = symtable.symtable("\n".join(lines[first - 1 : node.end_lineno]), "cell", "exec")
    binds = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    binds |= {
        base(target)
        for target in ast.walk(node)
        if isinstance(target, (ast.Attribute, ast.Subscript)) and isinstance(target.ctx, ast.Store)
    }
    if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
        binds.add("*")
    return Statement(first, node.end_lineno, frozenset(binds), frozenset(global_names(top)))


def base(target):
    """The name at the bottom of `name.x[i].y`; "" when it is no name."""
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def global_names(table):
    """The names that a piece of code and all functions in it look up outside themselves."""
    outside = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (symbol.is_global() or table.get_type() == "module")
    }
    return outside.union(*map(global_names, table.get_children()))
