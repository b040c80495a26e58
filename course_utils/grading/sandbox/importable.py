"""The course's package as an answer may import it: what earlier chapters have built, and nothing that answers."""

import ast
import functools
import re

from course_utils import repository

# Packages that draw or show: whatever is taken from them does nothing. None of that is graded, and importing them would
# take longer than all the rest.
SHOWING = ("IPython", "ipywidgets", "matplotlib")
IMPORT = re.compile(r"^from course_utils(?:\.(\w+))? import (.*)$", re.MULTILINE)


@functools.cache
def imported():
    """What chapters import from the course: (files that they take names from, rooms that draw, fetch or check)."""
    files, rooms = set(), set()
    for source in repository.sources():
        for room, names in IMPORT.findall(source.read_text(encoding="utf-8")):
            if room and (repository.ROOT / f"course_utils/{room}.py").is_file():
                files.add(room)
            else:
                rooms |= {room} if room else set(names.split(", "))
    return files, rooms


def silent():
    """The names of all packages and modules of which whatever is taken does nothing in an answer."""
    return [*SHOWING, *sorted(f"course_utils.{room}" for room in imported()[1])]


@functools.cache
def modules(chapter):
    """{name: text} of the course's modules that an answer to an exercise of this chapter may import."""
    texts = {"course_utils": ""}
    for name in sorted(imported()[0]):
        text = (repository.ROOT / f"course_utils/{name}.py").read_text(encoding="utf-8")
        texts[f"course_utils.{name}"] = built_before(chapter, text)
    return texts


def built_before(chapter, text):
    """A module without the definitions that this chapter or a later one builds, and so without a list of all."""
    tree = ast.parse(text)
    tree.body = [
        node
        for node in tree.body
        if built_in().get(getattr(node, "name", None), 0) < chapter and "__all__" not in ast.unparse(node)
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
