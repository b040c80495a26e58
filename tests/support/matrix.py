"""The second tier, `python3 -m course_tools test --matrix`: other versions of torch, other Pythons, odd folders.

This Python runs each version of torch, each other Python the pinned one, in an environment of its own; options go to
pytest. Chapters that take minutes run here alone. It ends with a table. The status is 1 where something failed, and in
CI also where something is not available.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from course_tools import environment, repository, supported_pythons
from course_tools.repository import ROOT
from tests.support import environments

COLABS, NEWEST = "2.11.0", "2.15.0"  # versions of torch, beside the one in requirements.txt
FILES = ["requirements.txt", "course_tools/requirements.txt", "tests/requirements.txt"]
FRESH = ["--all", "tests/test_families.py", "-kdrawn_anew"]
PASSED, FAILED, NOT_AVAILABLE = "passed", "failed", "not available"
NO_TESTS = 5  # pytest's status where it found none, or options such as -k chose none


def main(options):
    """Run everything, print the table, and exit."""
    rows = [(name, *outcome(python, tests, options)) for name, python, tests in combinations()]
    print("\n" + table(rows))
    sys.exit(status(rows))


def combinations():
    """(name, what gives its Python or raises NotInstalled, what pytest is asked to run) of each combination."""
    pins = [f"{name}=={version}" for name, version in environment.pins(FILES)]
    (pinned,) = [pin.partition("==")[2] for pin in pins if pin.startswith("torch==")]
    this = platform.python_version()
    for torch in [COLABS, NEWEST]:
        yield f"Python {this}, torch {torch}", lambda torch=torch: with_torch(torch), about_torch()
    yield f"Python {this}, torch {pinned}", lambda: sys.executable, about_torch()
    for minor in supported_pythons.pythons():
        if minor != sys.version_info.minor:
            yield f"Python 3.{minor}, torch {pinned}", lambda minor=minor: of_python(minor, pins), about_torch()
    yield "families drawn anew", lambda: sys.executable, FRESH
    yield "odd folders, Colab, Jupyters, nbgrader, puzzles", lambda: sys.executable, taking_minutes()


def about_torch():
    """All notebooks, and the files of tests that need torch or judge answers."""
    chosen = files_with("^import torch")
    return ["--long", "notebooks", "solutions", *sorted({*chosen, "tests/test_exercises.py"})]


def taking_minutes():
    """All files with a test that runs only in the matrix, or in more settings there."""
    return ["--all", "--long", *files_with(r"mark\.in_matrix\(")]


def files_with(pattern):
    """The files of tests whose text has a line with this pattern."""
    files = sorted((ROOT / "tests").glob("test_*.py"))
    return [repository.relative(file) for file in files if re.search(pattern, file.read_text(encoding="utf-8"), re.M)]


def with_torch(torch):
    """This Python with another torch."""
    return environments.made(f"torch-{torch}", [f"torch=={torch}"])


def of_python(minor, pins):
    """A Python 3.minor of this machine, with the pins."""
    if not (found := python_here(minor)):
        raise environments.NotInstalled(f"there is no python3.{minor} on this machine, on PATH or of pyenv")
    return environments.made(f"python3.{minor}", pins, base=found)


def python_here(minor):
    """A Python 3.minor that is on PATH or was installed by pyenv, or None."""
    of_pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions").glob(f"3.{minor}.*/bin/python")
    for found in [shutil.which(f"python3.{minor}"), *map(str, of_pyenv)]:
        if found and subprocess.run([found, "-c", ""], capture_output=True).returncode == 0:  # pyenv's shims may fail
            return found
    return None


def outcome(python, tests, options):
    """(PASSED, FAILED or NOT_AVAILABLE; figures or the reason) of one combination."""
    try:
        command = [python(), "-m", "pytest", *options, *tests]
    except environments.NotInstalled as reason:
        return NOT_AVAILABLE, str(reason)
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        code = subprocess.run([*command, f"--junitxml={report}"], cwd=ROOT, env=own).returncode
        if code == NO_TESTS:
            return NOT_AVAILABLE, "pytest found none of its tests"
        return PASSED if code == 0 else FAILED, figures(report) if report.exists() else f"pytest ended with {code}"


def figures(report):
    """How many tests a report of pytest's counts, and their time."""
    (suite,) = ElementTree.parse(report).getroot()
    count = {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")}
    failed = count["failures"] + count["errors"]
    passed = count["tests"] - failed - count["skipped"]
    return f"{passed} passed, {failed} failed, {count['skipped']} skipped in {float(suite.get('time')):.0f} s"


def table(rows):
    """The rows (name, outcome, figures or reason), in columns."""
    width = max(len(name) for name, _, _ in rows)
    return "\n".join(f"{name:{width}}  {found:{len(NOT_AVAILABLE)}}  {words}" for name, found, words in rows)


def status(rows):
    """The exit status that says whether all is well."""
    bad = {FAILED, NOT_AVAILABLE} if os.environ.get("CI") else {FAILED}
    return int(any(found in bad for _, found, _ in rows))


if __name__ == "__main__":
    main(sys.argv[1:])
