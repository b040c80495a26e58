"""A copy of what a clone holds, in a folder of its own, so that tests can install, open and change things there."""

import shutil
import subprocess
import zipfile
from pathlib import Path

from tests import stored


def copy(target: Path):
    """Copy the tracked files (with uncommitted changes, and new files that git does not ignore) to `target`."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=stored.ROOT, capture_output=True, text=True, check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (stored.ROOT / name).exists():  # not deleted since
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(stored.ROOT / name, target / name)
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
