"""python3 -m course_tools lab: open JupyterLab on the learner's own copy of the chapters.

`--verbose` shows all that pip and JupyterLab say. Everything else after `lab` goes to JupyterLab as it is:
`--no-browser`, `--port 9000`, ... `--help-all` lists what it takes.
"""

import itertools
import json
import os
import subprocess
import sys

from course_tools import environment, repository
from course_tools.repository import ROOT
from course_utils import files

WORK = ROOT / "work"
FOR_ASSISTANTS = "AGENTS.md"  # in notebooks/: what an AI assistant that helps a learner is told
HOME_IN_CLONE = ROOT / ".home"  # git ignores it: there are keys in it
SERVER_MODULE = "course_tools.commands.jupyter_server"
ANSWERED_BY_JUPYTER = {"--help-all", "--version"}  # answered by JupyterLab without starting
# only what a learner can act on, and no question about Jupyter's news
QUIET_OPTIONS = ["--Application.log_level=ERROR", "--LabApp.news_url=None"]


def main(arguments):
    """Copy new chapters and newer versions to work/, then become JupyterLab."""
    verbose = "--verbose" in arguments
    others = [argument for argument in arguments if argument != "--verbose"]
    python = environment.python_with(verbose=verbose)
    os.chdir(ROOT)
    if ANSWERED_BY_JUPYTER & set(others):
        environment.replace_process([python, "-m", SERVER_MODULE, *others])
    first, *_ = names = copy_chapters()
    put_missing(FOR_ASSISTANTS, (ROOT / "notebooks" / FOR_ASSISTANTS).read_bytes())
    if newer := copy_newer(names):
        print(f"Newer in the course: {', '.join(newer)}. Beside yours, which stay: {', '.join(newer.values())}.")
    print("Starting JupyterLab ...", flush=True)
    options = [f"--ServerApp.root_dir={ROOT}", f"--LabApp.default_url=/lab/tree/work/{first}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--allow-root")
    choose_home()
    trust_untouched_copies(python)
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # a debugger's advice, at the start of each kernel
    quiet = [] if verbose else QUIET_OPTIONS
    environment.replace_process([python, "-m", SERVER_MODULE, *options, *quiet, *others])


def choose_home():
    """Where the home folder cannot be written, take one in the clone: Jupyter does not start without."""
    own = os.path.expanduser("~")
    if os.name == "nt" or os.access(own, os.W_OK | os.X_OK):  # Windows keeps what Jupyter writes elsewhere
        return
    print(f"Your home folder {own} cannot be written: JupyterLab keeps its files in {HOME_IN_CLONE}.", flush=True)
    HOME_IN_CLONE.mkdir(mode=0o700, exist_ok=True)
    os.environ["HOME"] = str(HOME_IN_CLONE)


def trust_untouched_copies(python):
    """Let Jupyter trust the copies that nobody has changed, so that their live figures move before anything is run."""
    pairs = [(copy, path) for path in repository.learners() for copy in copies_of_chapter(path.name)]
    untouched = [str(copy) for copy, original in pairs if copy.read_bytes() == repository.learners_copy(original)]
    if untouched:  # whoever's signatures cannot be kept runs the cells instead
        subprocess.run([python, "-m", "nbformat.sign", *untouched], capture_output=True)


def copy_chapters():
    """Put every chapter that is not yet there into work/ and return all names. What is there is never touched."""
    originals = repository.learners()
    if not originals:
        sys.exit("notebooks/ holds no chapter: get it back with `git checkout notebooks`.")
    for original in originals:
        put_missing(original.name, repository.learners_copy(original))
    return [original.name for original in originals]


def put_missing(name, content):
    """Write a file into work/, unless something of this name is there."""
    if os.path.lexists(WORK / name):
        return
    try:
        WORK.mkdir(exist_ok=True)
        files.replace(WORK / name, content)
    except OSError as error:
        sys.exit(f"Your copy of {name} could not be made: {error.filename}: {error.strerror}.")


def copy_newer(names):
    """{notebook: name of the newer version beside it} for a learner's notebooks that were made from an older source.

    What a notebook was made from stands in its metadata; where that is lost, nothing can be said of it.
    """
    newer = {}
    for name in names:
        original = ROOT / "notebooks" / name
        copies, current = copies_of_chapter(name), source_digest(original)
        if not copies or source_digest(copies[0]) in (None, current):
            continue
        same = [copy for copy in copies if source_digest(copy) == current]
        newer[name] = same[0].name if same else put_beside(original)
    return newer


def put_beside(original):
    """Copy a notebook to work/ under a name of its own, since a learner may have written into older ones. Its name."""
    names = (f"{original.stem}.v{number}.ipynb" for number in itertools.count(2))
    name = next(name for name in names if not os.path.lexists(WORK / name))
    put_missing(name, repository.learners_copy(original))
    return name


def copies_of_chapter(name):
    """A learner's files of a chapter: the first copy, then newer versions."""
    stem = name.removesuffix(".ipynb")
    return [path for path in [WORK / name, *sorted(WORK.glob(f"{stem}.v*.ipynb"))] if path.is_file()]


def source_digest(path):
    """What identifies the source that a notebook was made from, or None."""
    try:
        return json.loads(path.read_bytes())["metadata"]["source"]["sha256"]
    except (ValueError, KeyError, TypeError):
        return None
