"""Which protection this machine offers against the code in submissions: tried out, not guessed."""

import enum
import functools
import importlib.util
import json
import os
import re
import site
import subprocess
import sys
import sysconfig
from pathlib import Path

from course_utils.repository import ROOT


class Unprotected(RuntimeError):
    """This machine offers no protection and nobody said to go on without."""


class Protection(enum.Enum):
    """What keeps a child from everything else; str() is the line that the grader prints and the report repeats."""

    NAMESPACES = "Protection: on. Answers run in Linux namespaces, behind a filter of system calls."
    LANDLOCK = "Protection: on. Answers run under Landlock, behind a filter of system calls."
    NONE = "Protection: none. Answers can read and change your files and reach the network."

    def __str__(self):
        return self.value


@functools.cache
def protection():
    """The best Protection that works here, found by trying; Protection.NONE if there is none."""
    if sys.platform != "linux":
        return Protection.NONE
    working = (way for way in (Protection.NAMESPACES, Protection.LANDLOCK) if works(way))
    return next(working, Protection.NONE)


def works(way):
    """Whether a process can wall itself in here in this way."""
    command = inside("server", "probe", course=str(ROOT), protection=way.name, **sights())
    return subprocess.run(command, env=environment(), capture_output=True, timeout=60).returncode == 0


def inside(module, function, **arguments):
    """The command that starts a process with a function of a module in `inside`.

    Isolated: no user settings, no current folder.
    """
    code = (
        f"import json, sys; sys.path.insert(0, sys.argv[1]); from course_utils.grading.sandbox.inside import {module}; "
        f"{module}.{function}(**json.loads(sys.argv[2]))"
    )
    return [sys.executable, "-I", "-B", "-c", code, str(ROOT), json.dumps(arguments)]


def environment():
    """All that the process gets of our environment: no tokens, no passwords."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
    return kept | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "LANG": "C.UTF-8"}


def packages():
    """The folders that Python imports from: its own library and what is installed."""
    spec = importlib.util.find_spec("torch")
    found = [sysconfig.get_path("stdlib"), *site.getsitepackages()]
    found += [str(Path(spec.origin).parents[1])] if spec else []  # for torch in a folder of the user's own
    return [folder for folder in dict.fromkeys(found) if os.path.isdir(folder)]


def sights():
    """What a child may see: {"folders": [...], "hidden": [...]}, the hidden paths lying in the folders.

    The folders are those of `packages` and the system's shared libraries. Hidden are the course, should it be installed
    in one of them, and packages that belong to the Python but not to its environment.
    """
    libraries = re.findall(r"(/\S*)/libc[-.\d]*\.so[.\d]*$", Path("/proc/self/maps").read_text(), re.MULTILINE)
    folders = without_nested([*packages(), *libraries])
    hidden = [str(path) for folder in packages() for path in Path(folder).glob("*course_utils*")]
    inside_library = map(str, Path(sysconfig.get_path("stdlib")).glob("*-packages"))
    hidden += [path for path in inside_library if path not in packages()]
    if any(ROOT.is_relative_to(os.path.realpath(folder)) for folder in folders):
        hidden.append(str(ROOT))
    return {"folders": folders, "hidden": hidden}


def without_nested(folders):
    """The folders without those that lie in another of them."""
    kept = []
    for folder in sorted(set(folders)):
        if not kept or not Path(folder).is_relative_to(kept[-1]):
            kept.append(folder)
    return kept
