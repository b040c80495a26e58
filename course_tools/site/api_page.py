"""The page on what other projects may import: each room's `__all__`, read from the files without importing them."""

import ast
import re
import textwrap

from course_tools import repository
from course_tools.repository import ROOT
from course_tools.site.chapter_page import cell_anchor


def page(cells):
    """The page in MyST's Markdown. cells: {(number of a chapter, id): code} of the cells that the site shows."""
    rooms = public_rooms().items()
    return "\n\n".join([INTRODUCTION, *(part for room, file in rooms for part in entries(room, file, cells))])


INTRODUCTION = """\
# What you can import

`course_utils` is the package that the notebooks import. Other projects may import the names on this page; the rest may
change. In shapes, B is the number of sequences, T and S are numbers of tokens, and n is the number of new tokens.
"""


def public_rooms():
    """{module: file} of the rooms of `course_utils` that list names in `__all__`."""
    files = [*ROOT.glob("course_utils/*.py"), *ROOT.glob("course_utils/*/__init__.py")]
    rooms = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in files}
    return {room: file for room, file in sorted(rooms.items()) if public_names(parsed(file))}


def parsed(file):
    """A file as a syntax tree."""
    return ast.parse(file.read_text(encoding="utf-8"))


def public_names(tree):
    """What stands in a module's `__all__`."""
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    return [name for node in assigned if target(node) == "__all__" for name in ast.literal_eval(node.value)]


def target(node):
    """What an assignment gives a value."""
    return ast.unparse(node.targets[0])


def definition(file, name):
    """The class, function or assignment behind a public name, and the file in which it stands."""
    for node in parsed(file).body:
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
            return definition(ROOT.joinpath(*node.module.split(".")).with_suffix(".py"), name)
        if getattr(node, "name", None) == name or isinstance(node, ast.Assign) and target(node) == name:
            return node, file
    raise LookupError(f"{file}: {name} stands in __all__ and is not defined")


# --- what is written --------------------------------------------------------------------------------------------------


def entries(room, file, cells):
    """The parts of the page on a room: what it is for, and each of its names, with the first cell that uses it."""
    tree = parsed(file)
    words, _, _ = ast.get_docstring(tree).partition("What may come in: ")  # the rest is for those who change it
    yield f"## {room}\n\n{words}"
    for name in public_names(tree):
        node, where = definition(file, name)
        lines = where.read_text(encoding="utf-8").splitlines()
        yield f"### {name}\n\n{described(node, lines)}\n\n{example(room, name, cells)}"


def example(room, name, cells):
    """A link to the cell that builds something, or to the first that uses it in a chapter that imports it; or ""."""
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


def described(node, lines):
    """A definition's first lines and its docstring; of a class, those of its methods, too."""
    if isinstance(node, ast.Assign):
        return code(lines[node.lineno - 1 : node.end_lineno])
    methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
    parts = [code(lines[node.lineno - 1 : node.body[0].lineno - 1]), docstring(node)]
    return "\n\n".join([*parts, *(described(method, lines) for method in methods)])


def code(lines):
    """Lines of Python as a block, without what only a type checker reads."""
    text = re.sub(r"  # type: .*", "", "\n".join(lines))
    return f"```python\n{textwrap.dedent(text)}\n```"


def docstring(node):
    """A docstring in which the arguments that it describes stand out, where `x: ...` describes x."""
    arguments = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    return re.sub(
        r"(?:\w+, )*\w+(?=:\s)",
        lambda found: f"**{found[0]}**" if arguments.issuperset(found[0].split(", ")) else found[0],
        ast.get_docstring(node) or "",
    )
