"""The second tier: which combinations it runs, and that none is passed over in silence."""

import platform
import re
import sys

import pytest

from course_tools import environment, supported_pythons
from course_tools.commands import test
from course_tools.repository import ROOT
from tests.support import environments, matrix

PINNED = dict(environment.pins(["requirements.txt"]))["torch"]
HERE = sys.version_info.minor


def test_each_torch_and_each_python_is_in_it_once():
    names = [name for name, _, _ in matrix.combinations()]
    this = [name for name in names if name.startswith(f"Python {platform.python_version()},")]
    assert sorted(name.partition("torch ")[2] for name in this) == sorted({matrix.COLABS, PINNED, matrix.NEWEST})
    others = [f"Python 3.{minor}, torch {PINNED}" for minor in supported_pythons.pythons() if minor != HERE]
    assert len(others) == 3 and sorted(names) == sorted(
        [*this, *others, "families drawn anew", "odd folders, Colab, Jupyters, nbgrader, puzzles"]
    )


def test_it_runs_notebooks_layers_exercises_and_the_ledger():
    tests = matrix.about_torch()
    files = {
        "tests/test_attention.py",
        "tests/test_exercises.py",
        "tests/test_ledger.py",
        "tests/test_torch_versions.py",
    }
    assert files | {"notebooks", "solutions"} <= set(tests) and len(tests) == len(set(tests))


def test_all_that_it_runs_is_there():
    asked = {test for _, _, tests in matrix.combinations() for test in tests if not test.startswith("-")}
    assert [test for test in sorted(asked) if not (ROOT / test).exists()] == []


def test_colabs_torch_stands_beside_its_other_versions():
    assert f"torch=={matrix.COLABS}" in (ROOT / "tests/colab_versions.txt").read_text(encoding="utf-8")


def test_the_command_hands_on_what_is_meant_for_pytest(monkeypatch):
    started = []
    monkeypatch.setattr(environment, "python_with", lambda *files: "python")
    monkeypatch.setattr(environment, "replace_process", started.append)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    test.main(["--matrix", "-k", "ledger"])
    test.main(["-k", "matrix"])
    assert [command[2:] for command in started] == [
        ["tests.support.matrix", "-n", "2", "-k", "ledger"],
        ["pytest", "-n", "2", "-k", "matrix"],
    ]


def nowhere():
    """A Python that is not on this machine."""
    raise environments.NotInstalled("there is no python3.99 on this machine")


@pytest.mark.every_setting("the table of the matrix")
@pytest.mark.parametrize(
    "ci, left",
    [
        pytest.param("", 0, id="here", marks=pytest.mark.in_matrix("its table, outside CI")),
        pytest.param("true", 1, id="in CI"),
    ],
)
def test_what_passes_fails_or_is_not_there_stands_in_the_table(ci, left, monkeypatch, tmp_path):
    for name, claim in {"right": True, "wrong": False}.items():
        (tmp_path / f"test_{name}.py").write_text(
            f"def test_one(): assert {claim}\ndef test_two(): pass\n", encoding="utf-8"
        )
    options = ["-n", "0", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    python = lambda: sys.executable
    rows = [
        ("all well", *matrix.outcome(python, [str(tmp_path / "test_right.py")], options)),
        ("elsewhere", *matrix.outcome(nowhere, ["tests"], options)),
        ("none", *matrix.outcome(python, [str(tmp_path / "test_right.py")], [*options, "-k", "ledger"])),
    ]
    monkeypatch.setenv("CI", ci)
    assert matrix.status(rows) == left
    rows.append(("one slip", *matrix.outcome(python, [str(tmp_path / "test_wrong.py")], options)))
    assert matrix.status(rows) == 1
    assert re.sub(r" in \d+ s", "", matrix.table(rows)).splitlines() == [
        "all well   passed         2 passed, 0 failed, 0 skipped",
        "elsewhere  not available  there is no python3.99 on this machine",
        "none       not available  pytest found none of its tests",
        "one slip   failed         1 passed, 1 failed, 0 skipped",
    ]


def test_an_environment_that_cannot_be_made_says_why(monkeypatch, tmp_path):
    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    with pytest.raises(environments.NotInstalled, match="odd cannot be installed: .*nowhere-to-be-had"):
        environments.made("odd", ["nowhere-to-be-had==1.0"])
