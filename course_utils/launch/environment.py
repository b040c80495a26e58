"""Find an environment that has what the course needs, or make one in .venv.

What counts are the pins in the requirements files. If the Python that runs this already satisfies them (conda,
Binder, an activated environment), it is used as it is. Otherwise .venv is made, or taken up where an interrupted
install left it.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import Distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"

NO_SPACE = "No space left on device"
NO_NETWORK = re.compile(
    "NewConnectionError|ConnectionError|connection broken|Max retries|name resolution|"
    "Network is unreachable|Could not find a version|timed out",
    re.IGNORECASE,
)


def python_with(*files):
    """Path of a Python that has every pin in the requirements files, installing them if need be.

    Ends the program with one sentence when that is impossible.
    """
    if not (ROOT / "requirements.txt").exists():
        sys.exit("This command needs the whole course: clone its repository and run it there.")
    if not missing(files, sys.path):
        return sys.executable
    if missing(files, venv_packages(), complete=True) or not usable(venv_python()):
        install(files)
    return str(venv_python())


def missing(files, path, complete=False):
    """The pins `name==version` that the packages on `path` do not meet.

    complete: count a package whose RECORD is missing as absent. pip writes it last, so it tells an interrupted
    install; packages from conda need not have one.
    """
    found = {}
    for distribution in Distribution.discover(path=[str(folder) for folder in path]):
        if not complete or distribution.read_text("RECORD"):
            found.setdefault(canonical(distribution.name), distribution.version.partition("+")[0])
    return [f"{name}=={version}" for name, version in pins(files) if found.get(canonical(name)) != version]


def canonical(name):
    """A package's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name or "").lower()


def pins(files):
    """(name, version) of every line `name==version` in the requirements files."""
    for file in files:
        for line in (ROOT / file).read_text(encoding="utf-8").splitlines():
            requirement = line.partition("#")[0].strip()
            if requirement:
                name, _, version = requirement.partition("==")
                yield name.strip(), version.strip()


def venv_python():
    """Where .venv keeps its Python; it need not exist."""
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def venv_packages():
    """The site-packages folders in .venv, none before it is made."""
    return [*VENV.glob("lib/python3*/site-packages"), *VENV.glob("Lib/site-packages")]


def usable(python):
    """Whether this Python starts and has pip (not so after an interruption, or once its parent was removed)."""
    try:
        return subprocess.run([python, "-c", "import pip"], capture_output=True).returncode == 0
    except OSError:
        return False


def install(files):
    """Make .venv if there is none that works, and install what is missing."""
    for module in ["venv", "ensurepip"]:
        if importlib.util.find_spec(module) is None:
            version = f"{sys.version_info.major}.{sys.version_info.minor}"
            sys.exit(
                f"This Python has no {module}, so it cannot make an environment: install it "
                f"(on Debian or Ubuntu: sudo apt install python{version}-venv) and run this again."
            )
    if not usable(venv_python()):
        print("Making an environment for the course in .venv ...", flush=True)
        step([sys.executable, "-m", "venv", "--clear", str(VENV)])
    for folder in venv_packages():
        for info in folder.glob("*.dist-info"):
            if not (info / "RECORD").exists():  # pip would take the package for installed
                shutil.rmtree(info)
    print("Installing what the course needs. This happens once and takes some minutes.", flush=True)
    requirements = [argument for file in files for argument in ("-r", str(ROOT / file))]
    step([str(venv_python()), "-m", "pip", "--disable-pip-version-check", "install", *requirements])
    left = missing(files, venv_packages(), complete=True)
    if left:
        sys.exit(f"pip finished, but these are still missing: {', '.join(left)}. Delete .venv and try again.")


def step(command):
    """Run a command, its progress in sight. When it fails, end with one sentence that says why."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace")
    try:
        complaints = process.communicate()[1]
    except KeyboardInterrupt:
        process.wait()
        sys.exit("\nStopped. Run the same command again to go on from here.")
    if process.returncode == 0:
        return
    if NO_SPACE in complaints or shutil.disk_usage(ROOT).free < 20e6:
        sys.exit("The disk is full: make room (the course needs about 2 GB) and run the same command again.")
    if NO_NETWORK.search(complaints):
        sys.exit(
            "The packages could not be downloaded: check the network (or the package index that pip is set to) "
            "and run the same command again."
        )
    sys.exit(f"{complaints}\nThe step above failed: {' '.join(map(str, command))}")


def become(python, command, arguments):
    """Go on as `python -m course_utils COMMAND`, unless this is already that Python."""
    if python != sys.executable:
        os.chdir(ROOT)
        take_over([python, "-m", "course_utils", command, *arguments])


def take_over(command):
    """Replace this process by `command`, so that Ctrl-C and kill reach it.

    Windows cannot replace a process: there this one waits and passes the status on.
    """
    sys.stdout.flush()
    if os.name == "nt":
        sys.exit(subprocess.run(command).returncode)
    os.execv(command[0], command)
