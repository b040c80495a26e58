"""The protection that this machine offers against the code in submissions, found by testing."""

import ctypes
import enum
import functools
import importlib.util
import json
import os
import platform
import site
import subprocess
import sys
import sysconfig
from pathlib import Path

from course_tools import repository
from course_tools.grading.sandbox.inside import server, system_calls
from course_tools.repository import ROOT

COULD_NOT_BE_TESTED = (
    "This machine's protection could not be tested ({}). The fault is the course's, not the machine's, and nothing was "
    "run. Please report it with this message."
)


class Unprotected(RuntimeError):
    """There is no protection and grading without it was not allowed, or the trials were unclear."""


class Protection(enum.Enum):
    """How a child is isolated; str() is the line that the grader prints and the report repeats."""

    NAMESPACES = "Protection: on. Answers run in Linux namespaces, behind a filter of system calls."
    LANDLOCK = "Protection: on. Answers run under Landlock, behind a filter of system calls."
    NONE = "Protection: none. Answers can read and change your files and reach the network."

    def __str__(self):
        return self.value


@functools.cache
def protection(unsandboxed=False):
    """The best Protection that works here, found by testing; Protection.NONE if there is none.

    Raises Unprotected if no trial succeeds and one of them does not show why, unless `unsandboxed`.
    """
    if sys.platform != "linux":
        return Protection.NONE
    failure = None
    for way in (Protection.NAMESPACES, Protection.LANDLOCK):
        try:
            if works(way):
                return way
        except Unprotected as error:
            failure = error
    if failure and not unsandboxed:
        raise failure
    return Protection.NONE


def works(way):
    """Whether a process can isolate itself here in this way. Raises Unprotected if that is unclear."""
    if platform.machine() not in system_calls.MACHINES:
        return False
    command = command_inside("server", "probe", course=str(ROOT), protection=way.name, **visible_and_hidden_paths())
    done = subprocess.run(command, env=minimal_environment(), capture_output=True, timeout=60)
    if done.returncode not in (server.PROTECTION_HOLDS, server.PROTECTION_REFUSED):
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise Unprotected(COULD_NOT_BE_TESTED.format(*last or [f"{way.name}, status {done.returncode}"]))
    return done.returncode == server.PROTECTION_HOLDS


def command_inside(module, function, **arguments):
    """The command that starts a process with a function of a module in `command_inside`.

    Isolated: no user settings, no current folder.
    """
    code = (
        f"import json, sys; sys.path.insert(0, sys.argv[1]); from course_tools.grading.sandbox.inside import {module}; "
        f"{module}.{function}(**json.loads(sys.argv[2]))"
    )
    return [sys.executable, "-I", "-B", "-c", code, str(ROOT), json.dumps(arguments)]


def minimal_environment():
    """The part of our environment that the process gets: no tokens, no passwords."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
    return kept | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "LANG": "C.UTF-8"}


def package_folders():
    """The folders that Python imports from: its own library and what is installed."""
    spec = importlib.util.find_spec("torch")
    found = [sysconfig.get_path("stdlib"), *site.getsitepackages()]
    found += [str(Path(spec.origin).parents[1])] if spec else []  # for torch in a folder of the user's own
    return [folder for folder in dict.fromkeys(found) if os.path.isdir(folder)]


def visible_and_hidden_paths():
    """What a child may see: {"folders": [...], "hidden": [...]}, with the hidden paths inside the folders.

    The folders are those of `package_folders` and the system's shared libraries. Hidden: the course, if installed
    in one of them, and packages that belong to the Python but not to its environment.
    """
    folders = without_nested([*package_folders(), os.path.dirname(c_library())])
    installed = [(folder, house) for folder in package_folders() for house in repository.HOUSES]
    hidden = [str(path) for folder, house in installed for path in Path(folder).glob(f"*{house}*")]
    inside_library = map(str, Path(sysconfig.get_path("stdlib")).glob("*-packages"))
    hidden += [path for path in inside_library if path not in package_folders()]
    if any(ROOT.is_relative_to(os.path.realpath(folder)) for folder in folders):
        hidden.append(str(ROOT))
    return {"folders": folders, "hidden": without_nested(hidden)}


class LoadedSymbol(ctypes.Structure):
    """The system loader's information on an address: Dl_info in C."""

    _fields_ = [
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    ]


def c_library():
    """The file of the C library that this process uses; the system's other libraries are beside it.

    It asks the loader itself, since neither file names nor the list of mapped files are reliable.
    """
    loaded, symbol = ctypes.CDLL(None), LoadedSymbol()
    if not loaded.dladdr(loaded.unshare, ctypes.byref(symbol)):
        raise OSError("the C library cannot be found")
    return os.path.realpath(os.fsdecode(symbol.file))


def without_nested(folders):
    """The folders, minus those inside another."""
    kept = []
    for folder in sorted(map(Path, set(folders))):
        if not kept or not folder.is_relative_to(kept[-1]):
            kept.append(folder)
    return list(map(str, kept))
