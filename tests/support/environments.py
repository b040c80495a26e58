"""Environments of their own for tests that need other packages than the course: made once, kept in .environments/."""

import hashlib
import os
import subprocess
import sys
import venv

import pytest

from course_utils.files import locked
from course_utils.repository import ROOT

FOLDER = ROOT / ".environments"  # git ignores it


def python_with(name, *requirements):
    """The Python of an environment with these requirements. Without a network the test is skipped; in CI it fails."""
    digest = hashlib.sha256("\n".join([sys.version, *requirements]).encode()).hexdigest()[:8]
    folder = FOLDER / f"{name}-{digest}"
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    FOLDER.mkdir(exist_ok=True)
    with locked(f"{folder}.lock"):
        if not (folder / "complete").exists():
            venv.create(folder, with_pip=True, clear=True)
            quick = ["-q", "--disable-pip-version-check", "--no-compile"]
            installed = subprocess.run(
                [python, "-m", "pip", "install", *quick, *requirements], capture_output=True, text=True
            )
            if installed.returncode:
                reason = f"{name} cannot be installed: {installed.stderr.strip().splitlines()[-1]}"
                pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
            (folder / "complete").touch()
    return python
