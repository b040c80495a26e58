"""The course's package as an answer may import it: what earlier chapters have built, and nothing that answers anything."""

import ast
import functools
import re

from course_utils.grading.sandbox.protection import COURSE

TAUGHT = ("attention", "influence", "randomness")  # modules of classes and functions that chapters build
WHOLE = ("guards",)


@functools.cache
def modules(chapter):
    """{name: text} of the course's modules for an exercise of this chapter."""
    texts = {name: (COURSE / f"course_utils/{name}.py").read_text(encoding="utf-8") for name in (*TAUGHT, *WHOLE)}
    built = built_in()
    for name in TAUGHT:
        tree = ast.parse(texts[name])
        definitions = (ast.ClassDef, ast.FunctionDef)
        tree.body = [
            node for node in tree.body if not isinstance(node, definitions) or built.get(node.name, chapter) < chapter
        ]
        texts[name] = ast.unparse(tree)
    return texts


@functools.cache
def built_in():
    """{name: number of the first chapter that shows how to build it} for classes and functions of all chapters."""
    built = {}
    for source in sorted((COURSE / "solutions").glob("[0-9][0-9]_*.py"), reverse=True):
        for name in re.findall(r"^(?:class|def) (\w+)", source.read_text(encoding="utf-8"), re.MULTILINE):
            built[name] = int(source.name[:2])
    return built
