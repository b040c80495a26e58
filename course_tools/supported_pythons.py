"""Which Pythons and machines the course supports. An old Python must be able to read this file."""

import io
import os
import platform
import re

PROJECT = os.path.join(os.path.dirname(__file__), "..", "pyproject.toml")
REQUIRED = re.compile(r'^requires-python = ">=3\.(\d+),<3\.(\d+)"', re.MULTILINE)


def pythons():
    """The minor versions of Python 3 that the course supports, as a range, from pyproject.toml."""
    with io.open(PROJECT, encoding="utf-8") as file:
        oldest, too_new = REQUIRED.search(file.read()).groups()
    return range(int(oldest), int(too_new))


def pythons_in_words():
    """Oldest and newest Python, as in `3.11 to 3.14`."""
    return "3.%d to 3.%d" % (pythons()[0], pythons()[-1])


def machine_without_torch():
    """The kind of this machine if torch has no wheel for it, otherwise None."""
    system, processor = platform.system(), platform.machine()
    libc, version = platform.libc_ver()
    kinds = {
        "Macs with an Intel processor": system == "Darwin" and processor == "x86_64",
        "macOS before 14": system == "Darwin" and numbers(platform.mac_ver()[0]) < [14],
        "Windows on ARM": system == "Windows" and processor == "ARM64",
        "Linux without glibc (such as Alpine)": system == "Linux" and libc != "glibc",
        "Linux with glibc older than 2.28": system == "Linux" and libc == "glibc" and numbers(version) < [2, 28],
    }
    return next((kind for kind, this in kinds.items() if this), None)


def numbers(version):
    """A version's numbers: [2, 28] for `2.28`."""
    return [int(part) for part in re.findall(r"\d+", version)]
