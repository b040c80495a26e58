"""What the repository holds and where: root, sources, stored notebooks, its address. Standard library only.

Every other module may use this one, which imports nothing of the course.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOUSES = ("course_utils", "course_tools")  # for notebooks; for instructors and maintainers
ANSWERS = "answers-"  # a tag's beginning, for a cell whose output answers a question above it: answers-Q1.2
NOTES = 99  # the notes' number in place of a chapter's; they come last


def sources():
    """The chapters' sources, in order."""
    return sorted((ROOT / "solutions").glob("[0-9][0-9]_*.py"))


def learners():
    """Every learner's stored notebook, in order."""
    return sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))


def stored():
    """Every stored notebook, learners' first."""
    return learners() + sorted((ROOT / "solutions").glob("[0-9][0-9]_*.ipynb"))


def cells(path):
    """The cells of a stored notebook, as JSON has them."""
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def learners_copy(path):
    """The bytes of a stored notebook without the outputs that answer a question, which the learner's own run shows."""
    notebook = json.loads(path.read_bytes())
    for cell in notebook["cells"]:
        if any(tag.startswith(ANSWERS) for tag in cell["metadata"].get("tags", [])):
            cell["outputs"], cell["execution_count"] = [], None
    return json.dumps(notebook, ensure_ascii=False, indent=1).encode() + b"\n"


def relative(path):
    """A file's path in the repository, with forward slashes on every system."""
    return path.relative_to(ROOT).as_posix()


def requirements(file):
    """The lines of a requirements file, without comments."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return [pin for line in lines if (pin := line.partition("#")[0].strip())]


def git(*arguments):
    """The output of git about the repository, as bytes; ends the program if git fails."""
    if not (ROOT / ".git").exists():  # git would look for a repository in the folders above
        sys.exit("This command needs a clone made with git: a folder from a zip has no commits.")
    try:
        answer = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True)
    except FileNotFoundError:
        sys.exit("This command needs git.")
    if answer.returncode:
        sys.exit(f"This command needs a clone with a commit; git says: {answer.stderr.decode().strip()}")
    return answer.stdout


def table(file):
    """The contents of a TOML file of the repository."""
    return tomllib.loads((ROOT / file).read_text(encoding="utf-8"))


def project():
    """The contents of pyproject.toml."""
    return table("pyproject.toml")


def address():
    """OWNER/REPO as pyproject.toml has it; empty until one is set."""
    return project()["tool"]["course"]["repository"]


def branch():
    """The branch that links lead to."""
    return project()["tool"]["course"]["branch"]
