"""python3 -m course_tools lab: open JupyterLab on the learner's own copy of the chapters.

`--verbose` shows all output of pip and JupyterLab. All other options go to JupyterLab unchanged:
`--no-browser`, `--port 9000`, ... `--help-all` lists them.
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
FOR_ASSISTANTS = "AGENTS.md"  # in notebooks/: instructions for an AI assistant that helps a learner
HOME_IN_CLONE = ROOT / ".home"  # git ignores it, since it has keys
SERVER_MODULE = "course_tools.commands.jupyter_server"
ANSWERED_BY_JUPYTER = {"--help-all", "--version"}  # answered by JupyterLab without starting
# only messages that a learner can act on, and no question about Jupyter's news
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
        print(
            f"The course has newer versions of {', '.join(newer)}. Yours are unchanged; "
            f"the new ones are {', '.join(newer.values())}."
        )
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
    """If the home folder is not writable, use one in the clone: Jupyter needs one to start."""
    own = os.path.expanduser("~")
    if os.name == "nt" or os.access(own, os.W_OK | os.X_OK):  # Windows keeps what Jupyter writes elsewhere
        return
    print(f"Your home folder {own} is not writable, so JupyterLab keeps its files in {HOME_IN_CLONE}.", flush=True)
    HOME_IN_CLONE.mkdir(mode=0o700, exist_ok=True)
    os.environ["HOME"] = str(HOME_IN_CLONE)


def trust_untouched_copies(python):
    """Let Jupyter trust the copies that nobody has changed, so that their live figures move before anything is run."""
    pairs = [(copy, path) for path in repository.learners() for copy in copies_of_chapter(path.name)]
    untouched = [str(copy) for copy, original in pairs if copy.read_bytes() == repository.learners_copy(original)]
    if untouched:  # if signatures cannot be stored, the learner runs the cells instead
        subprocess.run([python, "-m", "nbformat.sign", *untouched], capture_output=True)


def copy_chapters():
    """Copy every missing chapter to work/ and return all names. Existing files are never changed."""
    originals = repository.learners()
    if not originals:
        sys.exit("notebooks/ contains no chapter: restore it with `git checkout notebooks`.")
    for original in originals:
        put_missing(original.name, repository.learners_copy(original))
    return [original.name for original in originals]


def put_missing(name, content):
    """Write a file into work/, unless the name is taken."""
    if os.path.lexists(WORK / name):
        return
    try:
        WORK.mkdir(exist_ok=True)
        files.replace(WORK / name, content)
    except OSError as error:
        sys.exit(f"Your copy of {name} could not be made: {error.filename}: {error.strerror}.")


def copy_newer(names):
    """{notebook: name of the newer version beside it} for a learner's notebooks that were made from an older source.

    A notebook's metadata says what it was made from; notebooks without it are left out.
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
    """Copy a notebook to work/ under a new name, since the learner may have edited older copies. Returns the name."""
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
