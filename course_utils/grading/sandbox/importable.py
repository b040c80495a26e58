"""The course's package as an answer may import it: what earlier chapters have built, and nothing that answers."""

import ast
import functools
import re

from course_utils import repository

TAUGHT = ("attention", "influence", "randomness")  # modules whose classes and functions the chapters build
WHOLE = ("validation", "training_bar")  # modules that answer nothing
# Packages that draw, show, fetch or talk to the learner: whatever is taken from them does nothing. None of that is
# graded, and importing them would take longer than all the rest.
SILENT = (
    "course_utils.checking",
    "course_utils.live",
    "course_utils.pictures",
    "course_utils.pretrained",
    "course_utils.stills",
    "IPython",
    "ipywidgets",
    "matplotlib",
)


@functools.cache
def modules(chapter):
    """{name: text} of the course's modules that an answer to an exercise of this chapter may import."""
    texts = {"course_utils": ""}
    for name in (*TAUGHT, *WHOLE):
        text = (repository.ROOT / f"course_utils/{name}.py").read_text(encoding="utf-8")
        texts[f"course_utils.{name}"] = text if name in WHOLE else built_before(chapter, text)
    return texts


def built_before(chapter, text):
    """A module without the definitions that this chapter or a later one builds, or none."""
    tree = ast.parse(text)
    tree.body = [
        node
        for node in tree.body
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)) or built_in().get(node.name, chapter) < chapter
    ]
    return ast.unparse(tree)


@functools.cache
def built_in():
    """{name: number of the first chapter that shows how to build it} for classes and functions of all chapters."""
    built = {}
    for source in reversed(repository.sources()):
        for name in re.findall(r"^(?:class|def) (\w+)", source.read_text(encoding="utf-8"), re.MULTILINE):
            built[name] = int(source.name[:2])
    return built
