"""Where Chromium is, or a browser made of it: Playwright's own, or one that is installed as usual."""

import os
import re
import shutil
import sys
from pathlib import Path

from course_tools.repository import ROOT

COMMANDS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge"]
APPLICATIONS = ["Google Chrome", "Chromium", "Microsoft Edge"]  # on macOS
PROGRAMS = ["Google/Chrome/Application/chrome", "Chromium/Application/chrome", "Microsoft/Edge/Application/msedge"]
PLAYWRIGHT_BROWSERS = {  # what `playwright install chromium` makes, by system; it keeps older ones
    "darwin": "chromium-[0-9]*/chrome-mac*/*.app/Contents/MacOS/*",
    "linux": "chromium-[0-9]*/chrome-linux*/chrome",
    "win32": "chromium-[0-9]*/chrome-win*/chrome.exe",
}


def install_command():
    """The command that brings one, for a terminal in the repository's root."""
    python = Path(sys.executable)
    return f"{python.relative_to(ROOT) if python.is_relative_to(ROOT) else python} -m playwright install chromium"


def find_browser():
    """The path of a browser that Playwright can drive, or None. Its own comes first: somebody installed it for that."""
    commands = [Path(found) for name in COMMANDS if (found := shutil.which(name))]
    return next(
        (str(path) for path in [*playwright_browsers(), *commands, *installed_browsers()] if os.path.isfile(path)), None
    )


def playwright_browsers():
    """Playwright's own browsers, the newest first."""
    home = Path(os.path.expanduser("~"))
    caches = {
        "darwin": home / "Library/Caches",
        "linux": Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache"),
        "win32": Path(os.environ.get("LOCALAPPDATA") or home / "AppData/Local"),
    }
    if sys.platform not in caches:
        return []
    folder = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or caches[sys.platform] / "ms-playwright")
    return sorted(folder.glob(PLAYWRIGHT_BROWSERS[sys.platform]), key=lambda path: revision(path, folder), reverse=True)


def revision(path, folder):
    """The number of a browser that Playwright put below this folder."""
    return int(re.search(r"\d+", path.relative_to(folder).parts[0])[0])


def installed_browsers():
    """Where an installer of Chrome, Chromium or Edge puts a program that no command starts."""
    if sys.platform == "darwin":
        folders = [Path("/Applications"), Path(os.path.expanduser("~/Applications"))]
        return [folder / f"{name}.app/Contents/MacOS/{name}" for name in APPLICATIONS for folder in folders]
    if sys.platform == "win32":
        folders = [os.environ.get(name) for name in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")]
        return [Path(folder, f"{program}.exe") for program in PROGRAMS for folder in folders if folder]
    return [Path("/opt/google/chrome/chrome"), Path("/opt/microsoft/msedge/msedge")]
