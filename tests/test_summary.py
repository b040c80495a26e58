"""How `test` ends: what was proved, what was not and why, and the command that changes it, in a few lines."""

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from course_tools.repository import ROOT
from tests.support import settings, stored

TESTS = '''"""What is tried here.

More about it.
"""
import pytest

@pytest.mark.parametrize("number", range(40))
def test_needs_a_machine(number):
    pytest.skip(f"no machine here (to get one: buy {'one' if number < 39 else 'two'})")

def test_holds(): pass
def test_breaks(): assert False
def test_cannot_start(nowhere): pass

@pytest.mark.every_setting("the other way")
def test_another_way(): pass

@pytest.mark.in_matrix("a long way")
def test_long_way(): pass
'''


def run(folder, *arguments, **changes):
    """The lines that pytest prints with the course's plugins, on a machine without CI's variables."""
    kept = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    environment = kept | {"PYTHONPATH": str(ROOT)} | changes
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8")
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "workers", [[], pytest.param(["-n", "2"], marks=pytest.mark.every_setting("a summary of several workers"))]
)
def test_a_run_ends_with_what_it_proves_and_then_pytests_own_line(workers, tmp_path):
    (tmp_path / "test_something.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n every_setting(setting): x\n in_matrix(what): x\n", encoding="utf-8"
    )
    lines = run(tmp_path, "-p", "tests.support.settings", "-p", "tests.support.summary", *workers)
    heads = [place for place, line in enumerate(lines) if line.startswith("====")]
    start, end = next(pair for pair in zip(heads, heads[1:]) if "what this run proves" in lines[pair[0]])
    assert lines[start + 1 : end] == [
        "Proved (1 passed): all that was chosen, except what follows.",
        "Disproved (2 failed): listed below.",
        "Not proved (39 skipped): no machine here (to get one: buy one)",
        "    test_something.py (39): What is tried here.",
        "Not proved (1 skipped): no machine here (to get one: buy two)",
        "    test_something.py (1): What is tried here.",
        "Left out, and proved with --all: the other way (1).",
        "Left out, and proved with --matrix: a long way (1).",
    ]
    assert re.search(r"1 failed, 1 passed, 40 skipped, .*1 error in ", lines[-1])
    assert not [line for line in lines if line.startswith("SKIPPED")]


@pytest.mark.parametrize("options, passed", [(["--long", "-k", "holds or long"], 2), (["-k", "long"], 1)])
def test_what_takes_minutes_runs_in_the_matrix_or_when_it_is_named(options, passed, tmp_path):
    (tmp_path / "test_something.py").write_text(TESTS, encoding="utf-8")
    lines = run(tmp_path, "-p", "tests.support.settings", "-p", "tests.support.summary", *options)
    assert f"Proved ({passed} passed)" in "\n".join(lines) and not [line for line in lines if "--matrix" in line]


@pytest.mark.skipif(
    sys.platform != "linux", reason="macOS and Windows have Chrome and Edge where a test cannot hide them"
)
@pytest.mark.every_setting("a machine without a browser")
def test_without_a_browser_the_end_names_the_command_that_brings_one(tmp_path):
    home = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "PLAYWRIGHT_BROWSERS_PATH", "PATH")}
    lines = run(ROOT, "-q", "tests/test_all_heads.py", **home)
    (skipped,) = [line for line in lines if line.startswith("Not proved")]
    assert re.search(r"no Chromium, Chrome or Edge on this machine .* -m playwright install chromium\)", skipped)
    assert re.search(r"\d+ passed, \d+ skipped", lines[-1])


def test_the_readme_promises_the_notebooks_that_are_run():
    left_out = set()
    for path in stored.PATHS:
        settings.pytest_itemcollected(SimpleNamespace(path=path, add_marker=lambda mark, path=path: left_out.add(path)))
    (long,) = settings.LONG
    assert left_out == {*stored.LEARNERS, *(path for path in stored.PATHS if path.stem == long)}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"tests, including every solved notebook except chapter {int(long[:2])}'s" in readme
