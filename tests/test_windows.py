"""What Linux does not show by itself: files that stay while they are open, long paths, terminals of one language.

The errors are those that Windows raises, raised here.
"""

import errno
import os
import sys
from types import SimpleNamespace

import pytest

from course_tools import __main__, environment
from course_tools.site import build
from course_utils import files

IN_USE = "[WinError 5] Zugriff verweigert: 'C:\\\\course\\\\.venv\\\\Lib\\\\site-packages\\\\torch\\\\lib\\\\c10.dll'"
PIPS_HINT = (
    "ERROR: Could not install packages due to an OSError: [Errno 2] No such file or directory: 'C:\\\\a\\\\b'\n"
    "HINT: This error might have occurred since this system does not have Windows Long Path support enabled."
)


@pytest.fixture
def held(monkeypatch):
    """Makes os.replace refuse so many times, as for a file that somebody else has open."""
    replace = os.replace

    def hold(times):
        left = iter(range(times))

        def refusing(source, target):
            if next(left, None) is not None:
                raise PermissionError(errno.EACCES, "Access is denied", str(source), 5, str(target))
            replace(source, target)

        monkeypatch.setattr(files.os, "replace", refusing)

    return hold


def test_a_file_that_is_open_for_a_moment_is_replaced_after_it(held, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "SECONDS_IN_USE", 60)
    held(times=3)
    files.replace(tmp_path / "progress.json", b"new")
    assert (tmp_path / "progress.json").read_bytes() == b"new"


@pytest.mark.parametrize("seconds", [0, 0.1])
def test_a_file_that_stays_open_stays_as_it_is_and_nothing_lies_beside_it(seconds, held, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "SECONDS_IN_USE", seconds)
    held(times=10**6)
    (tmp_path / "grades.csv").write_bytes(b"old")
    with pytest.raises(PermissionError):
        files.replace(tmp_path / "grades.csv", b"new")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_only_windows_is_waited_for():
    assert (files.SECONDS_IN_USE > 0) == (sys.platform == "win32")


def test_a_lock_empties_no_file(tmp_path):
    (tmp_path / "lock").write_bytes(b"x")
    with files.locked(tmp_path / "lock"):
        pass
    assert (tmp_path / "lock").read_bytes() == b"x"


@pytest.mark.parametrize("system, more", [("nt", "If another program has it open, close it there. "), ("posix", "")])
def test_a_file_that_cannot_be_written_is_one_sentence(system, more, monkeypatch):
    def refuse(arguments):
        raise PermissionError(errno.EACCES, "Access is denied", "README.md")

    monkeypatch.setattr(__main__, "main", refuse)
    monkeypatch.setattr(__main__, "os", SimpleNamespace(name=system))
    with pytest.raises(SystemExit) as end:
        __main__.run([])
    assert str(end.value) == f"README.md: Access is denied. {more}Fix this and run the same command again."


def test_another_error_of_the_system_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(__main__, "main", os.listdir)
    with pytest.raises(FileNotFoundError):
        __main__.run("not there")


def test_a_site_that_is_open_stays_whole(tmp_path, monkeypatch):
    site = tmp_path / "site"
    site.mkdir()
    for name in (build.SITE_MARK, "index.html"):
        (site / name).write_bytes(b"old")
    monkeypatch.setattr(build, "write_sources", lambda folder: None)
    monkeypatch.setattr(build, "build_main", lambda options: os.mkdir(options[-1]))
    monkeypatch.setattr(build.reading_copy, "write_all", lambda site, topics: None)

    def refuse(path, target):
        raise PermissionError(errno.EACCES, "Access is denied", str(path), 5, str(target))

    with monkeypatch.context() as windows, pytest.raises(PermissionError):
        windows.setattr(build.Path, "rename", refuse)
        build.build(site)
    assert {path.name for path in tmp_path.rglob("*")} == {"site", build.SITE_MARK, "index.html"}
    build.build(site)
    assert list(tmp_path.rglob("*")) == [site], "the new one, which is empty, took its place"


@pytest.mark.parametrize(
    "complaints, words",
    [
        (IN_USE, "in use: close JupyterLab, and run the same command again.$"),
        (IN_USE.replace("5]", "32]"), "in use: close JupyterLab"),
        (PIPS_HINT, "The paths in .* are too long for Windows.* run the same command again.$"),
    ],
)
def test_what_pip_complains_of_on_windows_is_one_sentence(complaints, words, monkeypatch):
    monkeypatch.setattr(environment, "run_with_progress", lambda command, verbose: (1, complaints))
    with pytest.raises(SystemExit, match=words) as end:
        environment.run_step(["pip"])
    assert "\n" not in str(end.value)
