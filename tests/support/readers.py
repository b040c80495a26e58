"""Which tests of a file read the chapters, as far as its text says. Standard library only.

Reading them through `stored`, `repository`, `solutions` or `answers.right` makes what they hold a test's subject. What
`handed_in`, `bare_clone` or the mark any_chapter takes is sample data, which any chapter would give: no edit matters.
"""

import ast
import re

READS = re.compile(r"\bstored\.|\brepository\.(sources|stored|learners)\b|\bsolutions\.\w|\banswers\.right\b")
SAMPLE = "mark.any_chapter"


def readers(text):
    """(the names of the tests in a file that read the chapters, whether these are all of its tests).

    A test reads what the fixtures, helpers and constants read that it names, by any number of steps in its file.
    """
    statements = [node for node in ast.parse(text).body if not isinstance(node, ast.Import | ast.ImportFrom)]
    codes = {node: code(node, text) for node in statements}
    made = {node: defined(node) for node in statements}
    if any("pytestmark" in made[node] and SAMPLE in codes[node] for node in statements):
        return [], False
    reading = {node for node in statements if READS.search(codes[node])}
    while more := {node for node in set(statements) - reading if words(codes[node]) & names(reading, made)}:
        reading |= more
    tests = [node.name for node in statements if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    subjects = {name for node in reading if SAMPLE not in codes[node] for name in made[node]}
    found = [name for name in tests if name in subjects]
    return found, found == tests


def code(node, text):
    """The lines of a statement, with what decorates it."""
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno])


def defined(node):
    """The names that a statement makes; a variable inside a comprehension is none of them."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    parts = [part for target in getattr(node, "targets", [node]) for part in ast.walk(target)]
    return {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def names(nodes, made):
    """All names that some statements make."""
    return {name for node in nodes for name in made[node]}


def words(code):
    """Every word in a code, names of fixtures among them."""
    return set(re.findall(r"\w+", code))
