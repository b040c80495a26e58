"""The repository's files that a piece of Python needs, judging by its text. Standard library only.

A name counts wherever it occurs, even in a string that another process runs: an extra file is better than none.
"""

import functools
import re

from course_tools.repository import ROOT

FROM = re.compile(r"\bfrom ((?:course_utils|course_tools|tests)[\w.]*) import (\([^)]*\)|[^\n;]*)")
NAME = re.compile(r"\b(?:course_utils|course_tools|tests)(?:\.\w+)*")


def files_needed_by(text):
    """The files that a text needs and that these need in turn, sorted."""
    found, waiting = set(), files_named_in_text(text)
    while waiting:
        file = waiting.pop()
        found.add(file)
        waiting |= files_named_in_file(file) - found
    return sorted(found)


def files_named_in_text(text):
    """The files of the modules that a text names, with the packages around them."""
    names = set(NAME.findall(text))
    for module, parts in FROM.findall(text):
        names |= {f"{module}.{part}" for part in re.findall(r"\w+", parts)}
    return {file for name in names for file in files_of_module(name)}


@functools.cache
def files_named_in_file(file):
    """The same for the text of a file."""
    return files_named_in_text(file.read_text(encoding="utf-8"))


@functools.cache
def files_of_module(name):
    """The files of a module `a.b.c`, a script and a table of its name beside it included, and those of `a.b` and `a`.

    Names that are no modules, such as functions, have none.
    """
    parts = name.split(".")
    places = [ROOT.joinpath(*parts[: length + 1]) for length in range(len(parts))]
    endings = (".py", ".js", ".toml", "/__init__.py")
    candidates = [place.parent / f"{place.name}{ending}" for place in places for ending in endings]
    return frozenset(file for file in candidates if file.is_file())
