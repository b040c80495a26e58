"""Finds Chromium or a browser based on it: Playwright's own, or an installed one."""

import os
import re
import shutil
import sys
from pathlib import Path

from course_tools.repository import ROOT

COMMANDS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge"]
PLAYWRIGHT_BROWSERS = {  # where `playwright install chromium` puts browsers, by system; it keeps older ones
    "darwin": ("~/Library/Caches", "chrome-mac*/*.app/Contents/MacOS/*"),
    "linux": ("~/.cache", "chrome-linux*/chrome"),
    "win32": ("$LOCALAPPDATA", "chrome-win*/chrome.exe"),
}
INSTALLED_BROWSERS = {  # where installers of Chrome, Chromium or Edge put a program without a command
    "darwin": [
        f"{folder}/{name}.app/Contents/MacOS/{name}"
        for name in ("Google Chrome", "Chromium", "Microsoft Edge")
        for folder in ("/Applications", "~/Applications")
    ],
    "linux": ["/opt/google/chrome/chrome", "/opt/microsoft/msedge/msedge"],
    "win32": [
        f"{folder}/{program}.exe"
        for program in (
            "Google/Chrome/Application/chrome",
            "Chromium/Application/chrome",
            "Microsoft/Edge/Application/msedge",
        )
        for folder in ("$PROGRAMFILES", "${PROGRAMFILES(X86)}", "$LOCALAPPDATA")
    ],
}


def install_command():
    """The command that installs a browser, for a terminal in the repository's root."""
    python = Path(sys.executable)
    return f"{python.relative_to(ROOT) if python.is_relative_to(ROOT) else python} -m playwright install chromium"


def find_browser():
    """The path of a browser that Playwright can drive, or None. Its own comes first, as it was installed for this."""
    commands = filter(None, map(shutil.which, COMMANDS))
    found = [*playwright_browsers(), *commands, *installed_browsers()]
    return next((str(path) for path in found if os.path.isfile(path)), None)


def playwright_browsers():
    """Playwright's own browsers, the newest first."""
    caches, program = PLAYWRIGHT_BROWSERS.get(sys.platform, ("~/.cache", ""))
    if sys.platform == "linux":
        caches = os.environ.get("XDG_CACHE_HOME") or caches
    folder = os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or expanded(caches) / "ms-playwright"
    found = Path(folder).glob(f"chromium-[0-9]*/{program}")
    return sorted(found, key=lambda path: int(re.findall(r"chromium-(\d+)", str(path))[-1]), reverse=True)


def installed_browsers():
    """The paths where this system's installers would have put a browser."""
    return list(map(expanded, INSTALLED_BROWSERS.get(sys.platform, [])))


def expanded(place):
    """A path with ~ and environment variables expanded."""
    return Path(os.path.expandvars(os.path.expanduser(place)))
