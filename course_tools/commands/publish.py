"""python3 -m course_tools publish FOLDER: make all that a push publishes, from what is committed.

FOLDER gets `course/`, a copy that knows the repository's address and installs one exact version; the wheel of that
version; and `site/`. In the copy, learners' notebooks lack the outputs that answer a question. The address is
GITHUB_REPOSITORY, or else the one that is set, or the git remote's. Nothing on GitHub is changed: the workflow
`publish` does that.
"""

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from course_tools import environment, repository
from course_tools.commands import links
from course_tools.links import PUBLISHED
from course_tools.repository import ROOT

# what a wheel is made of
WHEEL_CONTENT = ["course_utils", "solutions/*.py", "course_tools/build/wheel.py", "pyproject.toml", "LICENSE*"]


def main(arguments):
    """Make everything in one folder, which must be new or empty."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit("usage: python3 -m course_tools publish FOLDER")
    target = Path(arguments[0]).absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        sys.exit(f"{target} already exists: name an empty or new folder.")
    name = os.environ.get("GITHUB_REPOSITORY") or repository.address() or links.remote_address()
    python = environment.python_with("course_tools/requirements.txt")
    course, exact = target / "course", version()
    with tarfile.open(fileobj=io.BytesIO(repository.git("archive", "HEAD"))) as archive:
        archive.extractall(course, filter="data")
    set_values(course / "pyproject.toml", version=exact, branch=PUBLISHED)
    run_command(python, "-m", "course_tools", "links", name, cwd=course)
    run_command(python, "-m", "pip", "--disable-pip-version-check", "wheel", "-q", "--no-deps", "-w", target, course)
    run_command(python, "-m", "course_tools", "site", target / "site", cwd=course)
    for notebook in sorted((course / "notebooks").glob("*.ipynb")):  # now that the site has its pages
        notebook.write_bytes(repository.learners_copy(notebook))
    for compiled in [*course.rglob("__pycache__")]:  # made by these commands, not committed
        shutil.rmtree(compiled)


def version():
    """The version of the latest commit: the project's, and the number of commits that changed the wheel."""
    if repository.git("rev-parse", "--is-shallow-repository").strip() == b"true":
        sys.exit("This clone has only the newest commits, so the version is unknown. Run: git fetch --unshallow")
    count = repository.git("rev-list", "--count", "HEAD", "--", *WHEEL_CONTENT).decode().strip()
    return f"{repository.project()['project']['version']}.post{count}"


def set_values(file, **values):
    """Change `name = "..."` in a file, once for each name."""
    text = file.read_text(encoding="utf-8")
    for name, value in values.items():
        text = re.sub(rf'^{name} = ".*?"', f'{name} = "{value}"', text, count=1, flags=re.MULTILINE)
    file.write_text(text, encoding="utf-8")


def run_command(*command, cwd=ROOT):
    """Run a command; ends the program if it fails, after its own output."""
    if subprocess.run(list(map(str, command)), cwd=cwd).returncode:
        sys.exit(f"Nothing can be published: {' '.join(map(str, command[1:]))} failed.")
