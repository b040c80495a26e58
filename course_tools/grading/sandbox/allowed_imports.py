"""The course's package as an answer may import it: only what earlier chapters have built."""

import ast
import functools
import math
import re

from course_tools import repository

# Packages that draw or show: everything imported from them does nothing. None of it is graded, and importing them would
# take longer than all the rest.
DRAWING_PACKAGES = ("IPython", "ipywidgets", "matplotlib")
TAUGHT_ROOMS = ("attention",)  # rooms of several files that chapters build
DRAWS = re.compile(r"matplotlib|from course_utils\.(live|exercises)")  # or knows answers
IMPORT = re.compile(r"^from course_utils(?:\.(\w+))?[\w.]* import (\([^)]*\)|.*)$", re.MULTILINE)


@functools.cache
def imports_of_chapters():
    """What chapters import from the course: (files they take names from, packages that draw, fetch or check)."""
    files, rooms = set(), set()
    for source in repository.sources():
        for room, names in imports_of(source):
            file = repository.ROOT / f"course_utils/{room}.py"
            if room in TAUGHT_ROOMS or file.is_file() and not DRAWS.search(file.read_text(encoding="utf-8")):
                files.add(room)
            else:
                rooms.update([room] if room else names)
    return files, rooms


@functools.cache
def imports_of(source):
    """[(package or file, or "", names)] of the imports in a chapter."""
    found = IMPORT.findall(source.read_text(encoding="utf-8"))
    return [(room, re.findall(r"\w+", names)) for room, names in found]


def silenced_packages():
    """The names of all packages and modules whose contents do nothing in an answer."""
    return [*DRAWING_PACKAGES, *sorted(f"course_utils.{room}" for room in imports_of_chapters()[1])]


@functools.cache
def modules_for_chapter(chapter):
    """{name: text} of the course's modules that an answer to an exercise of this chapter may import."""
    texts = {"course_utils": ""}
    for name in sorted(imports_of_chapters()[0]):
        for path in sorted(
            (repository.ROOT / "course_utils").glob(f"{name}/*.py" if name in TAUGHT_ROOMS else f"{name}.py")
        ):
            dotted = ".".join(path.relative_to(repository.ROOT).with_suffix("").parts).removesuffix(".__init__")
            texts[dotted] = without_later_definitions(chapter, path.read_text(encoding="utf-8"))
    return texts


def modules_of_the_model():
    """{name: text} of the modules of chapter 11's model, for an answer that receives such a model."""
    return {
        "course_utils.language_model": (repository.ROOT / "course_utils/language_model.py").read_text(encoding="utf-8")
    }


def without_later_definitions(chapter, text):
    """A module without the definitions that this chapter or a later one builds, and without `__all__`."""
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):  # nor can they be re-exported
            node.names = [alias for alias in node.names if chapter_that_builds().get(alias.name, 0) < chapter]
    tree.body = [
        node
        for node in tree.body
        if chapter_that_builds().get(getattr(node, "name", None), 0) < chapter
        and not (isinstance(node, ast.Assign) and ast.unparse(node.targets) == "__all__")
        and not (isinstance(node, ast.ImportFrom) and not node.names)
    ]
    return ast.unparse(tree)


@functools.cache
def chapter_that_builds():
    """{name: number of the first chapter that shows how to build it} for classes and functions of all chapters.

    In TAUGHT_ROOMS, a name that no chapter shows is never allowed. But if a chapter imports from a file something that
    none shows, such as a fast kernel, that file is allowed from this chapter on.
    """
    built, shown = {}, {name for source in repository.sources() for name in names_defined(source)}
    for path in repository.ROOT.glob("course_utils/*/*.py"):
        if path.parent.name in TAUGHT_ROOMS:
            names = set(names_defined(path))
            tools = names - shown
            used = [
                int(one.name[:2]) for one in repository.sources() if any(tools & {*own} for _, own in imports_of(one))
            ]
            built |= dict.fromkeys(names, min(used) - 1 if used else math.inf)
    for source in reversed(repository.sources()):
        built |= dict.fromkeys(names_defined(source), int(source.name[:2]))
    return built


def names_defined(path):
    """The names of all classes and functions at the top of a file."""
    return re.findall(r"^(?:class|def) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
