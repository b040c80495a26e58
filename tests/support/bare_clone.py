"""A copy of what a clone holds, in a folder of its own, so that tests can install, open and change things there."""

import shutil
import zipfile
from pathlib import Path

from course_utils.repository import ROOT


def copy(target: Path):
    """Copy all that git would track, changed or new files included, to `target`."""
    ignored = [line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines()]
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(".git", *ignored), dirs_exist_ok=True)
    return target


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
