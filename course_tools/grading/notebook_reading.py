"""From the bytes of a notebook to the code to run: an exercise's cell, and what it needs from earlier cells.

Only this code runs: a training loop or a picture that an answer does not use costs nothing and can break nothing. If it
is not enough, since a cell has an effect that no name shows, all of the student's own cells run up to the check.
"""

import ast
import functools
import json
import re
import symtable
import sys
from dataclasses import dataclass

LONGEST_CELL = 400_000  # characters; a longer cell is not read: Python would take 250 MB to parse it
SHORT_CELL, MOST_CELLS_REMEMBERED = 10_000, 1000  # characters; cells: most cells of a notebook are unchanged
EXERCISE_MARK = re.compile(r"exercise-(\d+)-(\d+)")
CELL_IN_SCRIPT = re.compile(r"^# ?(?:%%|In ?\[).*$", re.MULTILINE)  # as JupyterLab, jupytext, VS Code and Spyder write
HARMLESS_CELL_MAGIC = re.compile(r"\A\s*%%(time|timeit|capture)\b.*\n")  # cell magics that run the cell as Python
# these have no effect on a later cell, unless it uses a name
WITHOUT_EFFECT = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.Pass)
CALLS_WITHOUT_EFFECT = {
    "check",
    "hint",
    "solution",
    "answer",
    "progress",
    "print",
    "display",
}  # nor do calls of these


class NotANotebook(Exception):
    """Not a notebook; the text, to be read after the file's name, says why."""


@dataclass(frozen=True)
class Statement:
    """A statement at the top of a cell. binds: names that it sets. needs: names that must be there when it is used."""

    first: int  # line
    text: str
    binds: frozenset
    needs: frozenset


@dataclass(eq=False)
class Cell:
    """A code cell. exercise: the id of the exercise whose mark it carries ("3.2"), or None.

    source: the text as it was handed in. The rest is as `parsed_cell` gives it.
    """

    source: str
    exercise: str | None = None

    def __post_init__(self):
        read = parsed_cell_cached if len(self.source) < SHORT_CELL else parsed_cell
        self.text, self.statements, self.binds, self.needs, self.effects, self.problem = read(self.source)
        self.source = self.source.strip()


def text_of_statements(statements):
    """The text of some statements of a cell, each on its own lines, to keep line numbers."""
    lines = []
    for each in statements:
        lines += [""] * (each.first - 1 - len(lines)) + each.text.split("\n")
    return "\n".join(lines)


@dataclass
class Notebook:
    """The code cells of a notebook."""

    name: str
    cells: list[Cell]

    def cells_defining(self, exercise):
        """The numbers of the cells that define an exercise's name; cells marked for another only as a last resort."""
        all = [number for number, cell in enumerate(self.cells) if exercise.name in cell.binds]
        return [number for number in all if self.cells[number].exercise in (None, exercise.id)] or all

    def cells_marked(self, exercise):
        """The cells that carry an exercise's mark."""
        return [cell for cell in self.cells if cell.exercise == exercise.id]

    def texts_needed(self, number, name, handed_out=()):
        """(texts to run, the cell's own last; names that they use) so that cell `number` defines `name`.

        handed_out: the original chapter's cells, for names that no cell so far defines, such as deleted imports.
        """
        return needed_texts([*with_rank(handed_out, 1), *with_rank(self.cells[: number + 1], 0)], {name})

    def names_from_chapter(self, number, names, handed_out):
        """Those of these names, sorted, that no cell up to cell `number` sets and that the chapter defines."""
        own = frozenset().union(*(cell.binds for cell in self.cells[: number + 1]))
        return [] if "*" in own else sorted(names & frozenset().union(*(cell.binds for cell in handed_out)) - own)

    def texts_up_to_check(self, exercise, provided_texts, handed_out=()):
        """Texts to run so that an exercise's name is defined as it was when the student checked it.

        These are all the student's own cells up to the check, or to the end without one, and what they use of the
        original cells, whose texts are `provided_texts`. A name that no cell up to there sets comes from a cell below,
        which may have run earlier, or else from the chapter: see `texts_needed`.
        """
        places = self.cells_defining(exercise)
        checks = re.compile(rf"""check\(\s*["']{re.escape(exercise.id)}["']""")
        last = max((k for k, cell in enumerate(self.cells) if checks.search(cell.text)), default=len(self.cells) - 1)
        end = (last if last >= places[0] else places[-1]) + 1
        place = max(place for place in places if place < end)
        above, answered, below = self.cells[:place], self.cells[place:end], self.cells[end:]
        own = {cell for cell in above + answered if cell.effects and cell.source not in provided_texts}
        wanted = {exercise.name}.union(*(cell.needs for cell in own))
        cells = [*with_rank(handed_out, 2), *with_rank(above, 0), *with_rank(below, 1), *with_rank(answered, 0)]
        return needed_texts(cells, wanted, own)[0]


def with_rank(cells, rank):
    """[(rank, cell)]: a name is taken from the cells of the lowest rank that set it."""
    return [(rank, cell) for cell in cells]


def needed_texts(cells, wanted, whole=()):
    """(texts that set these names and what they need; all names in them).

    cells: ranked, in the order in which they run. whole: cells that run entirely.
    """
    setting, ranks = {}, {}  # {name: the statements that set it}, {name: the rank of their cells}
    for place, (rank, cell) in sorted(enumerate(cells), key=lambda entry: entry[1][0]):
        for k, statement in enumerate(cell.statements):
            for bound in statement.binds:
                if ranks.setdefault(bound, rank) == rank:
                    setting.setdefault(bound, []).append((place, k))
    wanted, chosen = {*wanted, "*"}, set()
    waiting = list(wanted)
    while waiting:
        for place, k in set(setting.get(waiting.pop(), ())) - chosen:
            chosen.add((place, k))
            needs = cells[place][1].statements[k].needs
            waiting += needs - wanted
            wanted |= needs
    texts = [
        cell.text
        if cell in whole
        else text_of_statements([s for k, s in enumerate(cell.statements) if (place, k) in chosen])
        for place, (_, cell) in enumerate(cells)
    ]
    return list(filter(None, texts)), wanted


# --- reading ----------------------------------------------------------------------------------------------------------


def read_notebook(name, content):
    """The Notebook in the bytes of a file of this name, a notebook or a Python script. Raises NotANotebook."""
    if not content.strip():
        raise NotANotebook("is empty")
    if name.endswith(".py"):
        return Notebook(name, list(map(Cell, CELL_IN_SCRIPT.split(plain_lines(text_in(content))))))
    try:
        notebook = json.loads(content)  # UTF-8, UTF-16 or UTF-32, with or without a byte order mark
        listed = notebook.get("cells") or [cell for sheet in notebook.get("worksheets", []) for cell in sheet["cells"]]
        cells = [cell for cell in map(code_cell, listed) if cell]
    except (ValueError, RecursionError, MemoryError, AttributeError, TypeError, KeyError):
        raise NotANotebook("is damaged or not a notebook") from None
    return Notebook(name, cells)


def code_cell(cell):
    """A Cell, or None for one that holds no code."""
    if cell.get("cell_type") != "code":
        return None
    metadata = cell.get("metadata") or {}
    grade_id = (metadata.get("nbgrader") or {}).get("grade_id")
    marks = (EXERCISE_MARK.fullmatch(str(mark)) for mark in (cell.get("id"), grade_id, metadata.get("name")))
    mark = next(filter(None, marks), None)
    return Cell(text_of(cell), mark and f"{int(mark[1])}.{int(mark[2])}")


def text_of(cell):
    """A cell's text. Notebooks before version 4 call it `input`."""
    source = cell.get("source", cell.get("input", ""))
    return plain_lines(source if isinstance(source, str) else "".join(source))


def text_in(content):
    """The text of a Python file, with or without the byte order mark that editors on Windows write."""
    return content.decode("utf-8-sig", errors="replace")


def plain_lines(text):
    """A text with plain line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


# --- statements -------------------------------------------------------------------------------------------------------


def parsed_cell(text):
    """(text with magics turned into Python, Statements that set something, binds, needs, effects, problem) of a text.

    binds: names that the cell defines. needs: names that must be there when all of it runs. effects: whether it does
    more than set names. problem: why not all of it can run, or None. If a stranger's text breaks Python's parser, only
    this cell is affected.
    """
    try:
        text, tree = read_as_python(text)
    except Exception as error:
        return text, (), frozenset(), frozenset(), False, why_unreadable(error)
    statements, needs, problem = [], set(), None
    for nodes, first, own in nodes_with_text(tree.body, text):
        try:
            found = statement(nodes, first, own)
        except Exception as error:  # IPython runs the lines above it, the sandbox also those below
            problem = problem or why_unreadable(error, first - 1)
        else:
            needs |= found.needs
            if found.binds and not isinstance(nodes[0], ast.Delete):
                statements.append(found)
    binds = frozenset().union(*(found.binds for found in statements))
    return text, tuple(statements), binds, frozenset(needs), not all(map(has_no_effect, tree.body)), problem


parsed_cell_cached = functools.lru_cache(MOST_CELLS_REMEMBERED)(parsed_cell)


def read_as_python(text):
    """(text, its tree), magics turned into Python.

    Raises what ast.parse raises, and ValueError for a text that is too long.
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
    return text, tree


def why_unreadable(error, before=0):
    """Why Python cannot read a cell, to be read after its name. before: number of lines already read above."""
    if isinstance(error, SyntaxError):
        line = f" (line {before + error.lineno} of the cell)" if error.lineno else ""
        version = "{}.{}".format(*sys.version_info)
        return f"cannot be read by Python {version}, the grader's version: {error.msg}{line}"
    return f"cannot be read by Python ({str(error) or type(error).__name__})"


def has_no_effect(node):
    """Whether a statement has no effect on later cells, unless they use a name that it sets."""
    if isinstance(node, ast.Expr):
        called = node.value.func if isinstance(node.value, ast.Call) else None
        return (
            isinstance(node.value, ast.Constant) or isinstance(called, ast.Name) and called.id in CALLS_WITHOUT_EFFECT
        )
    return isinstance(node, WITHOUT_EFFECT) and not getattr(
        node, "decorator_list", None
    )  # decorators may store what they get


def without_magics(text):
    """A cell's text with IPython's magics turned into Python, on the same lines."""
    from IPython.core.inputtransformer2 import TransformerManager  # here: most cells need none of it

    return TransformerManager().transform_cell(HARMLESS_CELL_MAGIC.sub("\n", text))


def statement(nodes, first, text):
    """The Statement of ast nodes that share lines at the top of a cell.

    Raises SyntaxError for what Python parses and then refuses.
    """
    top = symtable.symtable(text, "cell", "exec")
    binds = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    binds |= {
        base_name(target)
        for node in nodes
        for target in ast.walk(node)
        if isinstance(target, (ast.Attribute, ast.Subscript)) and isinstance(target.ctx, ast.Store)
    }
    if any(isinstance(each, ast.ImportFrom) and needed_below(each) for each in nodes):
        binds.add("*")
    return Statement(first, text, frozenset(binds), frozenset(global_names(top)))


def needed_below(node):
    """Whether anything after an import may need it."""
    return node.names[0].name == "*" or node.module == "__future__"


def nodes_with_text(nodes, text):
    """(ast nodes that share lines, the number of the first line, the text of their lines) at the top of a cell."""
    lines, groups, end = text.split("\n"), [], 0
    for node in nodes:
        if groups and (node.lineno <= groups[-1][-1].end_lineno or lines[node.lineno - 2].endswith("\\")):
            groups[-1].append(node)
        else:
            groups.append([node])
    for group in groups:
        first, end = end + 1, group[-1].end_lineno  # with the lines above it, such as a decorator
        yield group, first, "\n".join(lines[first - 1 : end])


def base_name(target):
    """The name at the start of `name.x[i].y`; "" if that is no name."""
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def global_names(table):
    """The names that a piece of code and all functions in it look up outside themselves."""
    names, waiting = set(), [table]
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        top = table.get_type() == "module"
        names |= {each.get_name() for each in table.get_symbols() if is_looked_up(each, top)}
    return names


def is_looked_up(symbol, top):
    """Whether a name is looked up outside a function, or, at the top, anywhere.

    `global x; x += 1` also looks x up, although Python's symbol table lists only an assignment.
    """
    return symbol.is_declared_global() or symbol.is_referenced() and (top or symbol.is_global())
