"""What pip installs: the locked packages with their hashes, or the pins alone if they have changed since."""

import re

from course_tools import repository
from course_tools.repository import ROOT

LOCK_FOLDER = ROOT / "course_tools/locked"
LOCKS = {  # requirements file: all its packages, with hashes. One file would do if nobody installed only a part
    "requirements.txt": LOCK_FOLDER / "requirements.txt",
    "course_tools/requirements.txt": LOCK_FOLDER / "site.txt",
    "tests/requirements.txt": LOCK_FOLDER / "tests.txt",
}
CUDA_LOCK = LOCK_FOLDER / "cuda.txt"  # gigabytes that PyPI's torch for Linux needs and PyTorch's CPU build does not


def pip_arguments(files, torch):
    """The arguments of `pip install` for these requirements files. torch: the version already installed, or None.

    With hashes, pip installs nothing that is not listed, so either all packages are locked or none is.
    """
    if stale := [file for file in files if not is_locked(file)]:
        print(f"{' and '.join(stale)} changed after locking: installing without hashes.", flush=True)
        return [argument for file in files for argument in ("-r", str(ROOT / file))]
    locks = [LOCKS[file] for file in files] + ([] if torch and torch.endswith("+cpu") else [CUDA_LOCK])
    return ["--require-hashes", *[argument for lock in locks for argument in ("-r", str(lock))]]


def is_locked(file):
    """Whether all that a requirements file pins is locked, for it or for every learner."""
    locks = [lock for lock in (LOCKS["requirements.txt"], LOCKS.get(file)) if lock and lock.is_file()]
    text = "".join(lock.read_text(encoding="utf-8") for lock in locks)
    versions = set(re.findall(r"^[\w.-]+==[\w.]+", text, re.MULTILINE))
    return {re.sub("[-_.]+(?=.*==)", "-", pin).lower() for pin in repository.requirements(file)} <= versions
