"""What the repository holds and where: root, sources, stored notebooks, its address. Standard library only.

Every other room may ask here; nothing of the course is imported here.
"""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTES = 99  # what stands in a chapter's place for the notes, which come last


def sources():
    """The chapters' sources, in order."""
    return sorted((ROOT / "solutions").glob("[0-9][0-9]_*.py"))


def stored():
    """Every stored notebook, learners' first."""
    return [path for folder in ["notebooks", "solutions"] for path in sorted((ROOT / folder).glob("*.ipynb"))]


def relative(path):
    """A file's path in the repository, with forward slashes on every system."""
    return path.relative_to(ROOT).as_posix()


def project():
    """What pyproject.toml says."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def address():
    """OWNER/REPO as pyproject.toml has it; empty until one is set."""
    return project()["tool"]["course"]["repository"]


def branch():
    """The branch that links lead to."""
    return project()["tool"]["course"]["branch"]
