"""Environments with other packages than those of the tests, on top of these: made once, kept in .environments/."""

import hashlib
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from course_utils.files import locked
from course_utils.repository import ROOT

FOLDER = ROOT / ".environments"  # git ignores it


def python_with(name, *requirements):
    """The Python of an environment with these requirements, and with the packages of the tests where they agree.

    Without a network the test is skipped; in CI it fails.
    """
    digest = hashlib.sha256("\n".join([sys.version, *requirements]).encode()).hexdigest()[:8]
    folder = FOLDER / f"{name}-{digest}"
    python = python_in(folder)
    FOLDER.mkdir(exist_ok=True)
    with locked(f"{folder}.lock"):
        if not (folder / "complete").exists():
            on_top_of(folder, sys.prefix)
            pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
            installed = subprocess.run(
                [*pip, "install", "-q", "--no-compile", *requirements], capture_output=True, encoding="utf-8"
            )
            if installed.returncode:
                reason = f"{name} cannot be installed: {installed.stderr.strip().splitlines()[-1]}"
                pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
            (folder / "complete").touch()
    return python


def on_top_of(folder, *others):
    """Make an environment with no packages but those of others, the first before the second. Gives its Python."""
    venv.create(folder, clear=True)
    (place,) = packages_in(folder)
    found = [str(packages) for other in others for packages in packages_in(other)]
    (place / "packages_of_others.pth").write_text("\n".join(found), encoding="locale")  # as Python reads it
    return python_in(folder)


def kernel(folder, name, python):
    """Make a kernel of an environment's Python, known to a Jupyter that looks for such in a folder."""
    place = folder / "kernels" / name
    place.mkdir(parents=True)
    argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (place / "kernel.json").write_text(
        json.dumps({"argv": argv, "display_name": name, "language": "python"}), encoding="utf-8"
    )


def python_in(environment):
    """The Python of an environment."""
    return Path(environment, "Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def packages_in(environment):
    """The folders of an environment's packages."""
    return [*Path(environment).glob("lib/python3*/site-packages"), *Path(environment).glob("Lib/site-packages")]
