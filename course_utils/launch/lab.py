"""python3 -m course_utils lab: open JupyterLab on the learner's own copy of the chapters.

Everything after `lab` goes to JupyterLab as it is: `--no-browser`, `--port 9000`, ...
"""

import os
import sys

from course_utils import files
from course_utils.launch import environment
from course_utils.repository import ROOT

WORK = ROOT / "work"


def main(arguments):
    """Copy new chapters to work/, then become JupyterLab."""
    python = environment.python_with("requirements.txt")
    first, *_ = copy_chapters()
    options = [f"--ServerApp.root_dir={ROOT}", f"--LabApp.default_url=/lab/tree/work/{first}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--allow-root")
    own = os.environ.get("JUPYTER_CONFIG_PATH", "")
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, [str(ROOT / ".jupyter"), own]))
    environment.take_over([python, "-m", "jupyterlab", *options, *arguments])


def copy_chapters():
    """Put every chapter that is not yet there into work/ and return all names. What is there is never touched."""
    names = sorted(path.name for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    if not names:
        sys.exit("notebooks/ holds no chapter: get it back with `git checkout notebooks`.")
    try:
        WORK.mkdir(exist_ok=True)
        for name in names:
            if not os.path.lexists(WORK / name):
                files.replace(WORK / name, (ROOT / "notebooks" / name).read_bytes())
    except OSError as error:
        sys.exit(f"Your copy of the chapters could not be made: {error.filename}: {error.strerror}.")
    return names
