"""Find an environment that has what the course needs, or make one in .venv.

The pins in the requirements files decide. If the Python that runs this already satisfies them (conda, Binder, an
activated environment), it is used as it is. Otherwise .venv is made, or an interrupted install is continued. A .venv of
another Python is replaced, since packages for one Python do not fit another.
"""

import errno
import importlib.util
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from importlib.metadata import Distribution

from course_tools import locked_packages, repository, supported_pythons
from course_tools.repository import ROOT
from course_utils.files import locked

VENV = ROOT / ".venv"

PIN = re.compile(r"(?P<name>[\w.-]+)\s*==\s*(?P<version>[\w.]+)")
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
# pip's last file shows that the environment is whole; nothing may be installed outside an environment
VENV_TEST = f"""
import sys
from importlib.metadata import distribution
assert sys.version_info[:2] == {sys.version_info[:2]}
assert sys.prefix != sys.base_prefix and distribution("pip").read_text("RECORD")
"""
# user settings of pip that would install outside .venv
PIP_SETTINGS_TO_DROP = {
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_USER",
    "PIP_DRY_RUN",
    "PIP_REQUIRE_HASHES",
    "PIP_PYTHON",
}
CANNOT_WRITE = f"You cannot write to {ROOT}: clone the course into a folder of your own and run it there."
DISK_FULL = (
    "The disk is full: make room (the course needs about 2 GB, or 5 GB on Linux with an NVIDIA card or without access "
    "to PyTorch's index) and run the same command again."
)
IN_USE = f"Windows cannot change a file in {VENV} that is in use: close JupyterLab, and run the same command again."
TOO_LONG = (
    f"The paths in {ROOT} are too long for Windows: move the course to a folder with a short name, such as "
    r"C:\course, and run the same command again."
)
CPU_INDEX = "https://download.pytorch.org/whl/cpu"  # torch without the gigabytes of CUDA
NO_PERMISSION = re.compile("Permission denied|Read-only file system")
NO_SPACE = "No space left on device"
NO_NETWORK = (
    "(?i)NewConnectionError|ConnectionError|connection broken|Max retries|name resolution|Network is unreachable"
    "|timed out"
)
REASONS = {  # a pattern of a failed step's output: the sentence to show
    r"WinError (5|32)\b": IN_USE,  # the rest of the message is in the language of that Windows
    "Long Path": TOO_LONG,
    NO_NETWORK: (
        "The packages could not be downloaded: check the network (or the package index that pip uses) "
        "and run the same command again."
    ),
    "DO NOT MATCH THE HASHES": (
        "A downloaded package differs from the one that the course was tested with, so it was not installed: check the "
        "package index that pip uses. (course_tools/locked/ has the hashes.)"
    ),
}
NOT_FOUND = re.compile(r"No matching distribution found for (\S+)")


def python_with(*more, verbose=False):
    """Path of a Python that has every pin in requirements.txt and more such files, installing them if need be.

    verbose: show all output of pip. Ends the program with one sentence if the install is impossible.
    """
    files = ["requirements.txt", *more]
    for file in files:
        if not (ROOT / file).is_file():
            sys.exit(f"There is no {file} here. Clone the course's repository and run this command there.")
    if not missing(files, sys.path):
        return sys.executable
    if not venv_is_ready(files):
        waiting = "Another command is installing into .venv; waiting for it ..."
        try:
            with locked(ROOT / ".venv.lock", waiting=waiting) as lock:
                os.set_inheritable(lock.fileno(), True)  # an install that outlives a killed parent keeps the lock
                if not venv_is_ready(files):  # another command may have installed it meanwhile
                    install(files, verbose)
        except OSError as error:
            sys.exit(DISK_FULL if error.errno == errno.ENOSPC else CANNOT_WRITE)
    return str(venv_python())


def venv_is_ready(files):
    """Whether .venv has all that the requirements files pin."""
    return venv_is_usable() and not missing(files, venv_packages(), whole=True)


def missing(files, path, whole=False):
    """The pins `name==version` that the packages on `path` do not meet.

    whole: count a package whose installation is incomplete as absent. Packages from conda need not show that.
    """
    found = {}
    for distribution in Distribution.discover(path=[str(folder) for folder in path]):
        if not whole or installed_whole(distribution):
            found.setdefault(canonical(distribution.name), version(distribution).partition("+")[0])
    return [f"{name}=={wanted}" for name, wanted in pins(files) if found.get(canonical(name)) != wanted]


def installed_whole(distribution):
    """Whether pip completed the installation of this package: it writes RECORD last."""
    return bool(version(distribution) and distribution.read_text("RECORD"))


def version(distribution):
    """A package's version; empty for one that was half removed or damaged."""
    try:
        return distribution.version or ""
    except (AttributeError, KeyError, TypeError, ValueError):
        return ""


def canonical(name):
    """A package's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name or "").lower()


def pins(files):
    """(name, version) of every line `name==version` in the requirements files."""
    for file in files:
        for requirement in repository.requirements(file):
            pin = PIN.fullmatch(requirement)
            if not pin:
                sys.exit(f"{file}: the line {requirement!r} is not of the form name==version.")
            yield pin["name"], pin["version"]


def venv_python():
    """The path of the Python in .venv, which need not exist."""
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def venv_packages():
    """The site-packages folders in .venv, none before it is made."""
    return [*VENV.glob("lib/python3*/site-packages"), *VENV.glob("Lib/site-packages")]


def venv_is_usable():
    """Whether .venv has this Python, in any release of its version, and a whole pip.

    It is not usable after an interruption, if its Python is gone, or if another Python made it.
    """
    try:
        return subprocess.run([venv_python(), "-c", VENV_TEST], capture_output=True).returncode == 0
    except OSError:
        return False


def install(files, verbose=False):
    """Make .venv unless it works, and install what is missing."""
    for module in ["venv", "ensurepip"]:
        if importlib.util.find_spec(module) is None:
            sys.exit(
                f"This Python has no {module}, so it cannot make an environment: install it "
                f"(on Debian or Ubuntu: sudo apt install python{PYTHON}-venv) and run the same command again."
            )
    empty = VENV.is_dir() and not any(VENV.iterdir())
    if os.path.lexists(VENV) and not (VENV / "pyvenv.cfg").is_file() and not empty:
        sys.exit(f"{VENV} exists but is not a Python environment: move it elsewhere and run the same command again.")
    if not venv_is_usable():
        print(f"Making an environment for Python {PYTHON} in .venv ...", flush=True)
        run_step([sys.executable, "-m", "venv", "--clear", str(VENV)])
    for folder in venv_packages():
        for info in folder.glob("*.dist-info"):
            if not installed_whole(Distribution.at(info)):
                shutil.rmtree(info)  # otherwise pip would take the package for installed
    # compiled on first import, as most of it is never imported
    pip = [str(venv_python()), "-m", "pip", "--disable-pip-version-check", "install", "--no-compile"]
    if torch := cpu_torch(files):
        take_cpu_torch(torch, pip, verbose)
    print("Installing the course's packages. This is done once and takes a few minutes ...", flush=True)
    run_step([*pip, *locked_packages.pip_arguments(files, torch_version())], verbose)
    left = missing(files, venv_packages(), whole=True)
    if left:
        sys.exit(f"pip finished, but these are still missing: {', '.join(left)}. Delete .venv and try again.")


def torch_version():
    """The version of torch in .venv, with the name of its build, or None."""
    found = [*Distribution.discover(name="torch", path=list(map(str, venv_packages())))]
    return version(found[0]) if found else None


def cpu_torch(files):
    """The pin of torch if it is missing and the ordinary index would bring CUDA that nobody could use; or None."""
    if sys.platform != "linux" or supported_pythons.machine_without_torch():
        return None
    card = shutil.which("nvidia-smi") or os.path.exists("/proc/driver/nvidia")
    wanted = [pin for pin in missing(files, venv_packages(), whole=True) if pin.startswith("torch==")]
    return wanted[0] if wanted and not card else None


def take_cpu_torch(torch, pip, verbose):
    """Install that build in a separate step, which gives up within seconds, since the next step can manage without it.

    A full or read-only disk ends the program with a sentence.
    """
    print("Installing torch, in the build for machines without an NVIDIA card (200 MB) ...", flush=True)
    quickly = ["--index-url", CPU_INDEX, "--no-deps", "--retries", "1", "--timeout", "10"]
    status, complaints = run_with_progress([*pip, *quickly, torch], verbose)
    if status and (sentence := disk_problem(complaints)):
        sys.exit(sentence)
    if status:
        print("This build is not available here, so the next step installs the default one (5 GB, not 2).", flush=True)


def run_with_progress(command, verbose):
    """(status, complaints) of a command that can be stopped; a terminal shows its progress, or all its output."""
    own = {name: value for name, value in os.environ.items() if name not in PIP_SETTINGS_TO_DROP}
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command,
            stdout=None if verbose else said,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env=own,
            close_fds=os.name == "nt",
        )
        before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        try:
            complaints = wait_for(process)
        except (KeyboardInterrupt, SystemExit):
            process.terminate()
            process.communicate()
            sys.exit("\nStopped. Run the same command again to continue.")
        finally:
            signal.signal(signal.SIGTERM, before)
    return process.returncode, complaints


def wait_for(process):
    """The complaints of a process once it ends; until then, a terminal shows how many packages .venv has."""
    while True:
        try:
            return process.communicate(timeout=1)[1]
        except subprocess.TimeoutExpired:
            if sys.stdout.isatty():
                there = sum(len([*folder.glob("*.dist-info/RECORD")]) for folder in venv_packages())
                print(f"\r  {there} packages installed ", end="\r", flush=True)


def run_step(command, verbose=False):
    """Run a command. When it fails, end with one sentence that says why."""
    status, complaints = run_with_progress(command, verbose)
    if status == 0:
        return
    if sentence := disk_problem(complaints):
        sys.exit(sentence)
    for pattern, sentence in REASONS.items():
        if re.search(pattern, complaints):
            sys.exit(sentence)
    absent = NOT_FOUND.search(complaints)
    if absent and absent[1].startswith("torch==") and (kind := supported_pythons.machine_without_torch()):
        sys.exit(
            f"No version of Python has a {absent[1]} for {kind}. "
            "colab_links.md says how to open the chapters without installing anything."
        )
    if absent:
        sys.exit(
            f"pip found no {absent[1]} for Python {PYTHON} on "
            f"{platform.system()} {platform.machine()}: check the package index that pip uses, or try another "
            f"Python, {supported_pythons.pythons_in_words()}."
        )
    sys.exit(f"{complaints}\nThe step above failed: {' '.join(map(str, command))}")


def disk_problem(complaints):
    """The sentence for a command that could not write, or None if it failed for another reason."""
    if NO_SPACE in complaints or shutil.disk_usage(ROOT).free < 20e6:
        return DISK_FULL
    return CANNOT_WRITE if NO_PERMISSION.search(complaints) else None


def run_with_environment(command, arguments, *more):
    """Continue this command with a `python_with(*more)`, in the same folder, unless this is already that Python."""
    if (python := python_with(*more)) != sys.executable:
        replace_process([python, str(ROOT / "course_tools"), command, *arguments])


def replace_process(command):
    """Replace this process by `command`, so that Ctrl-C and kill reach it; from now on, compiled modules are kept.

    pip was told not to compile (see install). If a container also forbids Python to store what it compiles on import,
    every process would compile torch again.

    Windows cannot replace a process: this one waits and passes the status on. Ctrl-C reaches both, but a kill does
    not.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if sys.stdout:
        sys.stdout.flush()
    if os.name == "nt":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.exit(subprocess.run(command).returncode)
    os.execv(command[0], command)
