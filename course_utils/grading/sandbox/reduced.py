"""The course's package as an answer may import it: what earlier chapters have built, and nothing that answers anything."""

import ast
import functools
import re

from course_utils.grading.sandbox.machine import COURSE

TAUGHT = ("attention", "influence", "randomness")  # modules whose classes and functions the chapters build
WHOLE = ("guards", "progress_bar")  # modules that answer nothing
# Packages that draw, show, fetch or talk to the learner: whatever is taken from them does nothing. None of that is graded,
# and importing them would take longer than all the rest.
SILENT = (
    "course_utils.checking", "course_utils.live", "course_utils.pictures", "course_utils.pretrained", "course_utils.stills",
    "IPython", "ipywidgets", "matplotlib",
)  # fmt: skip


@functools.cache
def modules(chapter):
    """{name: text} of the course's modules that an answer to an exercise of this chapter may import."""
    texts = {"course_utils": ""}
    for name in (*TAUGHT, *WHOLE):
        text = (COURSE / f"course_utils/{name}.py").read_text(encoding="utf-8")
        texts[f"course_utils.{name}"] = text if name in WHOLE else built_before(chapter, text)
    return texts


def built_before(chapter, text):
    """A module without the definitions that this chapter or a later one builds, or none."""
    tree = ast.parse(text)
    tree.body = [
        node for node in tree.body
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)) or built_in().get(node.name, chapter) < chapter
    ]  # fmt: skip
    return ast.unparse(tree)


@functools.cache
def built_in():
    """{name: number of the first chapter that shows how to build it} for classes and functions of all chapters."""
    built = {}
    for source in sorted((COURSE / "solutions").glob("[0-9][0-9]_*.py"), reverse=True):
        for name in re.findall(r"^(?:class|def) (\w+)", source.read_text(encoding="utf-8"), re.MULTILINE):
            built[name] = int(source.name[:2])
    return built
