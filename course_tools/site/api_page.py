"""The page on what other projects may import: each package's `__all__`, with the docstrings of its names."""

import ast
import importlib
import inspect
import pkgutil
import pprint
import re
import textwrap

import course_utils
from course_tools import repository
from course_tools.site.chapter_page import cell_anchor


def page(cells):
    """The page in MyST's Markdown. cells: {(number of a chapter, id): code} of the cells that the site shows."""
    rooms = [
        importlib.import_module(f"course_utils.{found.name}") for found in pkgutil.iter_modules(course_utils.__path__)
    ]
    public = [room for room in rooms if hasattr(room, "__all__")]
    return "\n\n".join([INTRODUCTION, *(part for room in public for part in entries(room, cells))])


INTRODUCTION = """\
# What you can import

The notebooks import the package `course_utils`. Other projects may import the names on this page; all other names
may change. In shapes, B is the number of sequences, T and S are numbers of tokens, and n is the number of new tokens.
"""


def entries(room, cells):
    """A package's parts of the page: its purpose, and each of its names, with the first cell that uses it."""
    words, _, _ = inspect.getdoc(room).partition("What belongs here: ")  # the rest is for those who change it
    yield f"## {room.__name__}\n\n{words}"
    for name in room.__all__:
        yield f"### {name}\n\n{description(name, getattr(room, name))}\n\n{example(room.__name__, name, cells)}"


def example(room, name, cells):
    """A link to the cell that builds a name, or to the first that uses it in a chapter that imports it; or ""."""
    last = room.rpartition(".")[2]
    imports = re.compile(
        rf"^from ({room} import (\([^)]*|.*)\b{name}\b|course_utils import .*\b{last}\b)", re.MULTILINE
    )
    importing = {number for (number, _), text in cells.items() if imports.search(text)}
    builds = re.compile(rf"^(class|def) {name}\b", re.MULTILINE)
    uses = re.compile(rf"(?<![\w.])({last}\.)?{name}\b(?=[(\[.])")
    built = [place for place, text in cells.items() if builds.search(text)]
    used = [place for place, text in cells.items() if place[0] in importing and uses.search(text)]
    if not built + used:
        return ""
    number, id = [*built, *used][0]
    chapter = "the notes" if number == repository.NOTES else f"chapter {number}"
    return f"{'Built' if built else 'Used'} in [{chapter}](#{cell_anchor(number, id)})."


def description(name, value):
    """A class or function with its docstring, or the value of a constant."""
    if not callable(value):
        return code([f"{name} = {pprint.pformat(value, sort_dicts=False)}"])
    source = textwrap.dedent(inspect.getsource(value))
    return described(ast.parse(source).body[0], source.splitlines())


def described(node, lines):
    """A definition's first lines and docstring, and those of a class's methods."""
    methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
    parts = [code(lines[node.lineno - 1 : node.body[0].lineno - 1]), docstring(node)]
    return "\n\n".join([*parts, *(described(method, lines) for method in methods)])


def code(lines):
    """Lines of Python as a block, without comments for type checkers."""
    text = re.sub(r"  # type: .*", "", "\n".join(lines))
    return f"```python\n{textwrap.dedent(text)}\n```"


def docstring(node):
    """A docstring with described arguments in bold, where `x: ...` describes x."""
    arguments = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    return re.sub(
        r"(?:\w+, )*\w+(?=:\s)",
        lambda found: f"**{found[0]}**" if arguments.issuperset(found[0].split(", ")) else found[0],
        ast.get_docstring(node) or "",
    )
