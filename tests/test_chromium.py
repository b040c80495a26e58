"""The browser for pictures and tests is found where Linux, macOS, Windows and Playwright put one."""

import os
from pathlib import Path, PureWindowsPath

import pytest

from course_tools.build import chromium

USUAL = {  # as the installers of Chrome and Edge, and `playwright install chromium`, leave them
    "darwin": [
        "Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "Applications/Chromium.app/Contents/MacOS/Chromium",
        "Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
        "Library/Caches/ms-playwright/chromium-1208/chrome-mac-arm64/Google Chrome for Testing.app/Contents/MacOS/"
        "Google Chrome for Testing",
    ],
    "linux": [
        "commands/chromium",
        "commands/google-chrome-stable",
        "commands/microsoft-edge",
        ".cache/ms-playwright/chromium-1208/chrome-linux64/chrome",
    ],
    "win32": [
        "Program Files/Google/Chrome/Application/chrome.exe",
        "Program Files (x86)/Google/Chrome/Application/chrome.exe",
        "AppData/Local/Google/Chrome/Application/chrome.exe",
        "Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
        "AppData/Local/ms-playwright/chromium-1208/chrome-win64/chrome.exe",
    ],
}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A function that makes a bare machine of a system, whose disk is a folder, and gives that folder."""

    def bare(system):
        monkeypatch.setattr(chromium.sys, "platform", system)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("PATH", str(tmp_path / "commands"))
        monkeypatch.setenv("PROGRAMFILES", str(tmp_path / "Program Files"))
        monkeypatch.setenv("PROGRAMFILES(X86)", str(tmp_path / "Program Files (x86)"))
        monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "AppData/Local"))
        for name in ("XDG_CACHE_HOME", "PLAYWRIGHT_BROWSERS_PATH"):
            monkeypatch.delenv(name, raising=False)
        real = os.path.isfile
        monkeypatch.setattr(os.path, "isfile", lambda path: Path(path).is_relative_to(tmp_path) and real(path))
        return tmp_path

    return bare


def put(path):
    """Make a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o755)
    return str(path)


@pytest.mark.parametrize("system, place", [(system, place) for system, places in USUAL.items() for place in places])
@pytest.mark.skipif(os.name == "nt", reason="Windows finds commands by their endings, and its own paths only")
def test_a_browser_is_found_where_each_system_has_it(system, place, machine):
    folder = machine(system)
    assert chromium.find_browser() is None
    browser = put(folder / place)
    assert chromium.find_browser() == browser


@pytest.mark.skipif(os.name == "nt", reason="the commands of this machine have no .exe")
def test_playwrights_newest_comes_before_what_was_installed_for_something_else(machine):
    folder = machine("linux")
    put(folder / "commands/chromium")
    put(folder / ".cache/ms-playwright/chromium-999/chrome-linux/chrome")
    newest = put(folder / ".cache/ms-playwright/chromium-1208/chrome-linux64/chrome")
    assert chromium.find_browser() == newest


def test_the_places_of_all_users_are_among_those_of_macos_and_linux(machine):
    machine("darwin")
    assert Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome") in chromium.installed_browsers()
    machine("linux")
    assert Path("/opt/google/chrome/chrome") in chromium.installed_browsers()


def test_the_command_that_brings_one_is_short_where_the_environment_is_the_courses_own(monkeypatch):
    monkeypatch.setattr(chromium.sys, "executable", str(chromium.ROOT / ".venv/bin/python"))
    assert str(PureWindowsPath(chromium.install_command())).replace("\\", "/") == (
        ".venv/bin/python -m playwright install chromium"
    )
