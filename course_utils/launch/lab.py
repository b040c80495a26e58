"""python3 -m course_utils lab: open JupyterLab on the learner's own copy of the chapters.

`--verbose` shows all that pip and JupyterLab say. Everything else after `lab` goes to JupyterLab as it is:
`--no-browser`, `--port 9000`, ...
"""

import os
import subprocess
import sys

from course_utils import files
from course_utils.launch import environment
from course_utils.repository import ROOT

WORK = ROOT / "work"
# only what a learner can act on, and no question about Jupyter's news
QUIET = ["--Application.log_level=ERROR", "--LabApp.news_url=None"]


def main(arguments):
    """Copy new chapters to work/, then become JupyterLab."""
    verbose = "--verbose" in arguments
    others = [argument for argument in arguments if argument != "--verbose"]
    python = environment.python_with("requirements.txt", verbose=verbose)
    first, *_ = copy_chapters()
    print("Starting JupyterLab ...", flush=True)
    options = [f"--ServerApp.root_dir={ROOT}", f"--LabApp.default_url=/lab/tree/work/{first}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--allow-root")
    sign(python)
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # a debugger's advice, at the start of each kernel
    quiet = [] if verbose else QUIET
    os.chdir(ROOT)
    environment.take_over([python, "-m", "course_utils.launch.server", *options, *quiet, *others])


def sign(python):
    """Let Jupyter trust the copies that nobody has changed, so that their live figures move before anything is run."""
    originals = (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")
    pairs = [(WORK / path.name, path) for path in originals if (WORK / path.name).is_file()]
    untouched = [str(copy) for copy, original in pairs if copy.read_bytes() == original.read_bytes()]
    if untouched:  # whoever's signatures cannot be kept runs the cells instead
        subprocess.run([python, "-m", "nbformat.sign", *untouched], capture_output=True)


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
