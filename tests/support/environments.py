"""Environments with other packages than those of the tests, on top of these: made once, kept in .environments/."""

import hashlib
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from course_tools import environment
from course_tools.repository import ROOT
from course_utils.files import locked

FOLDER = ROOT / ".environments"  # git ignores it


class NotInstalled(Exception):
    """Why an environment cannot be had here."""


def python_with(name, *requirements):
    """The Python of an environment with these requirements, and with the packages of the tests where they agree.

    Without a network the test is skipped; in CI it fails.
    """
    try:
        return made(name, requirements)
    except NotInstalled as reason:
        pytest.fail(str(reason)) if os.environ.get("CI") else pytest.skip(str(reason))


def made(name, requirements, base=None):
    """The Python of an environment with these requirements, and with the packages of the tests where they agree.

    base: another Python, whose environment has only the requirements. Raises NotInstalled.
    """
    digest = hashlib.sha256("\n".join([base or sys.version, *requirements]).encode()).hexdigest()[:8]
    folder = FOLDER / f"{name}-{digest}"
    python = python_in(folder)
    FOLDER.mkdir(exist_ok=True)
    with locked(f"{folder}.lock"):
        if not (folder / "complete").exists():
            if base:
                run(name, base, "-m", "venv", "--clear", folder)
                pip = [python, "-m", "pip"]
            else:
                on_top_of(folder, sys.prefix)
                pip = [sys.executable, "-m", "pip", "--python", python]
            install = [*pip, "--disable-pip-version-check", "install", "-q", "--no-compile"]
            torch = [pin for pin in requirements if pin.startswith("torch==")]
            if torch and sys.platform == "linux":
                environment.take_cpu_torch(*torch, install, verbose=False)
            run(name, *install, *requirements)
            (folder / "complete").touch()
    return python


def run(name, *command):
    """Run a command that is needed for an environment of this name. Raises NotInstalled."""
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise NotInstalled(f"{name} cannot be installed: {said[-1] if said else done.returncode}")


def on_top_of(folder, *others):
    """Make an environment with no packages but those of others, the first before the second. Gives its Python."""
    venv.create(folder, clear=True)
    (place,) = packages_in(folder)
    found = [str(packages) for other in others for packages in packages_in(other)]
    (place / "packages_of_others.pth").write_text("\n".join(found), encoding="locale")  # as Python reads it
    deno = [program for other in others if (program := python_in(other).with_name("deno")).exists()]
    for program in deno[:1]:  # its package looks beside this Python
        python_in(folder).with_name("deno").symlink_to(program)
    return python_in(folder)


def kernel(folder, name, python):
    """Make a kernel of an environment's Python, known to a Jupyter that looks for such in a folder."""
    place = folder / "kernels" / name
    place.mkdir(parents=True)
    argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (place / "kernel.json").write_text(
        json.dumps({"argv": argv, "display_name": name, "language": "python"}), encoding="utf-8"
    )


def python_in(folder):
    """The Python of an environment."""
    return Path(folder, "Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def packages_in(folder):
    """The folders of an environment's packages."""
    return [*Path(folder).glob("lib/python3*/site-packages"), *Path(folder).glob("Lib/site-packages")]
