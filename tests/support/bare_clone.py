"""A copy of what a clone holds, in a folder of its own, so that tests can install, open and change things there."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from course_utils.repository import ROOT


def copy(target: Path):
    """Copy all that git would track, changed or new files included, to `target`."""
    ignored = [line.strip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()]
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(".git", *ignored), dirs_exist_ok=True)
    return target


def python(clone, *arguments, env=None):
    """Run Python with these arguments in a clone, to its end."""
    return subprocess.run([sys.executable, *arguments], cwd=clone, env=env, capture_output=True, encoding="utf-8")


def command(clone, *arguments, env=None):
    """Run one of the course's commands in a clone, to its end."""
    return python(clone, "-m", "course_utils", *arguments, env=env)


def git(clone, *arguments):
    """Run git in a clone, as somebody."""
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", "-C", clone, *who, *arguments], check=True)


def commit(clone):
    """Give a clone a history: one commit with all that it holds."""
    git(clone, "init", "-q", "-b", "main")
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "first")


def tiny_wheel(folder: Path):
    """Write a wheel `tiny` 1.0 into `folder`: something to install that takes no network and no time."""
    info = "tiny-1.0.dist-info"
    files = {
        "tiny.py": "",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / "tiny-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in (files | {f"{info}/RECORD": record}).items():
            wheel.writestr(name, text)
