"""Folders and users that people really have: names that programs stumble over, and packages that lie in them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support import environments

KURS = "Kurs Ä 🎓 (2)/attention course"
# what is odd: name of a folder. Linux takes them all
ODD = {
    "a space and more": KURS,
    "quotes": 'it\'s "mine"',
    "a line": "two\nlines",
    "what /proc writes for a space": "a\\040b",
    "a colon": "a:b;c",
    "signs of shells": "$HOME %PATH% #1 *?[a] ~",
    "a dash": "-rf",
    "no letters of UTF-8": os.fsdecode(b"caf\xe9"),
    "a long name": "/".join(["long" * 50] * 10),
}
COMPILED = {"torch", "numpy", "numpy.libs"}  # what a submission runs with
UNUSED = shutil.ignore_patterns("include", "site-packages", "test")  # headers, and of Python what is not its own
ROOT_USER = hasattr(os, "geteuid") and os.geteuid() == 0
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []} if ROOT_USER else {}  # for subprocess


def odd_place(folder, name):
    """A new folder of this name in another."""
    place = folder / name
    place.mkdir(parents=True)
    return place


def environment(folder):
    """Make an environment in .venv with the packages of the tests, some of which really lie in it. Gives its Python.

    The files are shared with the tests' own environment where the disk can: write into none of them.
    """
    made = folder / ".venv"
    python = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    if out_of_reach(python):
        linked(Path(sys.base_prefix), folder / "python")
        python = folder / "python" / python.relative_to(sys.base_prefix)
    subprocess.run([python, "-m", "venv", "--without-pip", made], check=True)
    for target, source in zip(environments.packages_in(made), environments.packages_in(sys.prefix)):
        everything = out_of_reach(source)
        for path in source.iterdir():
            if path.name in COMPILED or everything:
                linked(path, target / path.name)
        (target / "packages_of_others.pth").write_text(str(source), encoding="locale")  # as Python reads it
    for name in {"etc", "share"} & set(os.listdir(sys.prefix)):  # Jupyter's settings
        linked(Path(sys.prefix, name), made / name)
    return environments.python_in(made)


def out_of_reach(path):
    """Whether the user who is nobody cannot come to a folder or a program, as where root keeps it at home."""
    return ROOT_USER and subprocess.run(["test", "-x", path], **NOBODY).returncode != 0


def linked(source, target):
    """Copy a folder or a file, but not what is in files: these become the copy's, too."""
    if not source.is_dir():
        link(source, target)
    else:
        shutil.copytree(source, target, symlinks=True, ignore=UNUSED, dirs_exist_ok=True, copy_function=link)


def link(source, target):
    """Give a file a second name, or where the disk cannot, a copy."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target)


def give(folder):
    """Make a folder with all that lies in it the nobody's, except files that are also somebody else's."""
    for place, _, names in os.walk(folder):
        paths = [place, *(path for name in names if os.lstat(path := os.path.join(place, name)).st_nlink == 1)]
        for path in paths if ROOT_USER else []:
            os.chown(path, NOBODY["user"], NOBODY["group"], follow_symlinks=False)
