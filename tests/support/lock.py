"""Write course_tools/locked/: every package that gets installed, with version and hashes, for all systems.

.venv/bin/python -m tests.support.lock, after any requirements.txt changed, and to take newer versions of what those
bring. It asks the package index, and needs uv: pip-compile and `pip lock` know only the machine that they run on.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from course_tools import repository
from course_tools.locked_packages import CUDA_LOCK, LOCKS
from course_tools.repository import ROOT

UV = "0.13.9"
OLDEST = re.search(r"\d+\.\d+", repository.project()["project"]["requires-python"])[0]
# a package's line, and the lines of hashes below it
PACKAGE = re.compile(r"^\S.*?(?:\\\n .*?)*\n", re.MULTILINE)
# what PyPI's torch needs on Linux, and PyTorch's build without CUDA does not
OF_CUDA = re.compile(r"nvidia-|cuda-|triton=")
HEAD = "# Made by .venv/bin/python -m tests.support.lock from {source}\n"


def main():
    """Resolve all files together, so that they agree, and write a locked file for each."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # pip puts it beside this Python
    uv = shutil.which("uv", path=beside) or sys.exit(f"This needs uv: pip install uv=={UV}")
    course, *others = LOCKS
    everything = compiled(uv, *LOCKS)
    of_course = compiled(uv, course, agreed=everything)
    learners = [package for package in of_course if not OF_CUDA.match(package)]
    write(LOCKS[course], course, learners)
    write(CUDA_LOCK, "what PyPI's torch needs on Linux, beside requirements.txt", [*filter(OF_CUDA.match, of_course)])
    for file in others:
        write(LOCKS[file], file, [pin for pin in compiled(uv, course, file, agreed=everything) if pin not in of_course])


def compiled(uv, *files, agreed=()):
    """The entries, one a package, of the lock for some requirements files. agreed: entries whose versions hold."""
    options = ["--universal", "--python-version", OLDEST, "--generate-hashes", "--no-annotate", "--no-header", "-q"]
    constraints = "".join(re.sub(r" \\\n.*", "\n", entry, flags=re.DOTALL) for entry in agreed)
    command = [uv, "pip", "compile", *options, "--constraints", "-", *files]
    done = subprocess.run(command, cwd=ROOT, input=constraints, stdout=subprocess.PIPE, encoding="utf-8")
    if done.returncode:
        sys.exit("Nothing was locked: uv says why.")
    return PACKAGE.findall(done.stdout)


def write(target, source, entries):
    """Write the entries of a lock."""
    target.parent.mkdir(exist_ok=True)
    target.write_text(HEAD.format(source=source) + "".join(entries), encoding="utf-8")


if __name__ == "__main__":
    main()
