"""What the edits since the last commit can touch: notebooks to run again, test files and tests. In doubt, more.

`test --changed` asks before anything is installed, so this takes the standard library only.
"""

import json
import re
import sys
from collections import Counter

from course_tools import repository
from course_tools.build import needed_files
from course_tools.build.code_digest import code_digest
from course_tools.repository import ROOT
from tests.support.readers import readers

EVERYTHING = "everything"
FEW_FILES = 2  # files that are tested before workers would have started
ANYTHING = re.compile(
    r"((tests|course_tools)/)?requirements\.txt|pyproject\.toml|course_tools/locked/.*|.*conftest\.py"
)  # behind all tests
OF_CHAPTER = re.compile(r"(?:notebooks|solutions)/(\d\d)_.*")
OF_EXERCISES = re.compile(
    r"(?:course_utils/exercises(?:/right_answers)?|tests/wrong_answers)/chapter_(\d+)\.(?:py|toml)"
)
WORDS_TEST, EXERCISES_TEST = "tests/test_notebooks.py", "tests/test_exercises.py"
ABOUT_EXERCISES = re.compile(r"^### Exercise .*\n.*|^\*\*Question \S+|^\* \*\*\w\*\*", re.MULTILINE)


def choose():
    """({notebook, test file or test, or EVERYTHING: why it is tested}, options for pytest).

    Ends the program when nothing changed, or when git cannot tell.
    """
    names = git("diff", "--name-only", "HEAD") + git("ls-files", "--others", "--exclude-standard")
    if not names:
        sys.exit("Nothing changed since the last commit, so there is nothing to test.")
    texts = {file: file.read_text(encoding="utf-8") for file in sorted((ROOT / "tests").glob("test_*.py"))}
    plugins = needed_files.files_needed_by(repository.project()["tool"]["pytest"]["ini_options"]["addopts"])
    reasons = because_of_chapters(names, texts)
    for name in names:
        if OF_CHAPTER.match(name):
            continue
        touched = [repository.relative(file) for file, text in texts.items() if depends(file, text, name)]
        if (
            ANYTHING.fullmatch(name)
            or (name.startswith("tests/") and ROOT / name in plugins)
            or not (ROOT / name).exists()
            or not touched
        ):
            return {EVERYTHING: f"{name} changed, and any test may depend on it"}, []
        reasons = dict.fromkeys(touched, f"depends on {name}") | reasons
    parts = [what for what in reasons if file_of(what) != what and file_of(what) in reasons]
    reasons = {what: why for what, why in reasons.items() if what not in parts}  # a whole file holds its tests
    of_chapters = [OF_CHAPTER.match(name) or OF_EXERCISES.fullmatch(name) for name in names]
    only = [f"--chapters={','.join(sorted({found[1] for found in of_chapters}))}"] if all(of_chapters) else []
    return reasons, only


def announce():
    """Say what is tested and why. Gives (what pytest is asked to run, whether workers are not worth their start)."""
    reasons, options = choose()
    files = Counter((file_of(what), why) for what, why in reasons.items())
    for (file, why), count in files.items():
        some = "" if file in reasons else f", {count} of its tests"
        print(f"{file}{some}: {why}", flush=True)
    return ([], False) if EVERYTHING in reasons else ([*options, *reasons], len(files) <= FEW_FILES)


def git(*arguments):
    """The lines that git prints in the repository."""
    return repository.git("-c", "core.quotepath=off", *arguments).decode().splitlines()


# --- chapters ---------------------------------------------------------------------------------------------------------


def because_of_chapters(names, texts):
    """{notebook, test file or test: why it is chosen}, from the notebooks and sources of chapters.

    A notebook runs where its code, or something behind it, is not what its outputs at the last commit came from.
    """
    now = {repository.relative(path): json.loads(path.read_text(encoding="utf-8")) for path in repository.stored()}
    before = {name: committed(name) if name in names else notebook for name, notebook in now.items()}
    edited = {found[1] for name in names if (found := OF_CHAPTER.match(name))}
    chapters = f"chapter {', '.join(sorted(edited))}"
    stored = {name: notebook["metadata"].get("source", {}).get("code") for name, notebook in before.items()}
    again = [name for name in now if code_digest(now[name]["cells"], int(number(name))) != stored[name]]
    reasons = dict.fromkeys(again, "its code changed, or something that it imports")
    if edited:
        reasons[WORDS_TEST] = f"words of {chapters} changed"
    if any(about_exercises(now[name]) != about_exercises(before[name]) for name in now):
        reasons[EXERCISES_TEST] = f"words about exercises of {chapters} changed"
    if any(number(name) in edited for name in again):
        reasons |= dict.fromkeys(reading(texts), f"reads {chapters}, where code changed")
    return reasons


def reading(texts):
    """The tests that read the chapters, as pytest takes them: FILE, or FILE::TEST where not all of a file's do."""
    for file, text in texts.items():
        found, all_of_them = readers(text)
        name = repository.relative(file)
        yield from [name] if all_of_them and found else [f"{name}::{test}" for test in found]


def file_of(what):
    """The file of what is chosen: a notebook, a file of tests, or one of its tests."""
    return what.partition("::")[0]


def number(name):
    """The number of a notebook's chapter, with two digits."""
    return OF_CHAPTER.match(name)[1]


def committed(name):
    """A notebook at the last commit; one without cells where it was not there."""
    found = git("ls-tree", "--name-only", "HEAD", name)
    return json.loads("\n".join(git("show", f"HEAD:{name}"))) if found else {"metadata": {}, "cells": []}


def about_exercises(notebook):
    """A notebook's words that have to agree with what stands in course_utils/exercises."""
    texts = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    return [words for text in texts for words in ABOUT_EXERCISES.findall(text)]


# --- test files -------------------------------------------------------------------------------------------------------


def depends(file, text, name):
    """Whether a test file imports or names a changed file, or something from its room, by any number of steps."""
    behind = needed_files.files_needed_by(text)
    rooms = {room(part) for part in [file, *behind]}
    support = [part.read_text(encoding="utf-8") for part in behind if part.parent == ROOT / "tests/support"]
    copies = ROOT / "tests/support/bare_clone.py" in behind  # and runs the course's commands there
    changed = ROOT / name
    a_chapter = changed.suffix == ".toml" and OF_EXERCISES.fullmatch(name)  # read by a pattern
    words = f"{changed.parent.name}/" if a_chapter else changed.name
    named = any(words in text for text in [text, *support])
    return named or room(ROOT / name) in rooms or (copies and name.startswith(("course_utils/", "course_tools/")))


def room(file):
    """The room of a house, which counts as a whole, since its files start one another by name; else the file."""
    parts = file.relative_to(ROOT).parts
    return parts[:2] if len(parts) > 2 and parts[0] in repository.HOUSES else parts
