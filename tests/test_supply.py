"""What gets installed, down to the last package: locked with hashes, its licences listed, its weaknesses asked for."""

import hashlib
import json
import os
import re
import subprocess
import sys
from importlib.metadata import distributions

import pytest

from course_tools import environment, locked_packages
from course_tools.repository import ROOT
from tests.support import audit, bare_clone, lock

LOCKS = {
    path.stem: path.read_text(encoding="utf-8") for path in [*locked_packages.LOCKS.values(), locked_packages.CUDA_LOCK]
}
ENTRIES = {stem: lock.PACKAGE.findall(text.partition("\n")[2]) for stem, text in LOCKS.items()}
NAMES = {stem: {entry.partition("==")[0] for entry in entries} for stem, entries in ENTRIES.items()}


def head(stem):
    """The first line of a lock, which says how it was made."""
    return LOCKS[stem].partition("\n")[0] + "\n"


def needed(names):
    """These packages and, of those installed, all that they need on every machine, by their canonical names."""
    installed = {environment.canonical(found.name): found.requires or [] for found in distributions()}
    done, waiting = set(), {environment.canonical(name) for name in names}
    while waiting:
        done.add(name := waiting.pop())
        everywhere = [line for line in installed.get(name, []) if ";" not in line]
        waiting |= {environment.canonical(re.match(r"[\w.-]+", line)[0]) for line in everywhere} - done
    return done


# --- hashes -----------------------------------------------------------------------------------------------------------


def test_what_is_pinned_is_locked_with_all_that_it_needs():
    for file in locked_packages.LOCKS:
        assert locked_packages.is_locked(file), f"{file} changed: .venv/bin/python -m tests.support.lock"
        here = NAMES["requirements"] | NAMES[locked_packages.LOCKS[file].stem] | NAMES["cuda"]
        assert needed(name for name, _ in environment.pins([file])) <= here


def test_every_locked_package_has_one_version_and_hashes():
    for entries in ENTRIES.values():
        for entry in entries:
            assert re.fullmatch(r"[\w.-]+==[\w.]+( ; [^\n]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+\n", entry), entry
    assert {stem: head(stem) + "".join(entries) for stem, entries in ENTRIES.items()} == LOCKS


def test_what_only_cuda_needs_is_locked_apart():
    assert "torch" in NAMES["requirements"] and {"triton", "nvidia-cublas"} <= NAMES["cuda"]
    assert not [name for stem in ("requirements", "site", "tests") for name in NAMES[stem] if name in NAMES["cuda"]]
    assert all("sys_platform == 'linux'" in entry for entry in ENTRIES["cuda"])


@pytest.mark.parametrize("torch, cuda", [("2.13.0+cpu", False), ("2.13.0", True), (None, True)])
def test_pip_gets_the_hashes_and_those_of_cuda_unless_torch_can_do_without(torch, cuda):
    option, *files = locked_packages.pip_arguments(list(locked_packages.LOCKS), torch)
    assert option == "--require-hashes" and files.count("-r") == 3 + cuda
    assert (str(locked_packages.CUDA_LOCK) in files) == cuda


@pytest.fixture
def clone(tmp_path):
    """A clone that needs nothing but `tiny`, and has that locked."""
    folder = bare_clone.copy(tmp_path / "clone")
    bare_clone.tiny_wheel(tmp_path)
    (folder / "requirements.txt").write_text("tiny==1.0\n", encoding="utf-8")
    digest = hashlib.sha256((tmp_path / "tiny-1.0-py3-none-any.whl").read_bytes()).hexdigest()
    locks = folder / "course_tools/locked"
    (locks / "requirements.txt").write_text(f"tiny==1.0 \\\n    --hash=sha256:{digest}\n", encoding="utf-8")
    (locks / "cuda.txt").write_text("", encoding="utf-8")
    return folder


def install(clone):
    """Let a clone install what it needs, from the folder beside it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    offline = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(clone.parent)}
    command = "from course_tools import environment; environment.python_with()"
    return bare_clone.python(clone, "-c", command, env=kept | offline)


@pytest.mark.every_setting("an install beside the lock file")
def test_a_package_that_is_not_the_locked_one_is_not_installed(clone):
    lock_of_tiny = clone / "course_tools/locked/requirements.txt"
    true = lock_of_tiny.read_text(encoding="utf-8")
    lock_of_tiny.write_text(re.sub("[0-9a-f]{64}", "0" * 64, true), encoding="utf-8")
    answer = install(clone)
    assert answer.returncode == 1 and answer.stderr.count("\n") == 1, answer.stderr
    assert "differs from the one that the course was tested with" in answer.stderr
    assert not [*clone.glob(".venv/[Ll]ib/**/tiny.py")]

    lock_of_tiny.write_text(true, encoding="utf-8")
    answer = install(clone)
    assert answer.returncode == 0 and [*clone.glob(".venv/[Ll]ib/**/tiny.py")]
    assert "without hashes" not in answer.stdout


@pytest.mark.every_setting("an install beside the lock file")
def test_pins_that_changed_after_locking_are_installed_as_they_are_and_that_is_said(clone):
    (clone / "course_tools/locked/requirements.txt").write_text("tiny==0.9\n", encoding="utf-8")
    answer = install(clone)
    assert answer.returncode == 0 and "requirements.txt changed after locking" in answer.stdout


# --- licences ---------------------------------------------------------------------------------------------------------


def test_the_licence_of_every_installed_package_is_listed():
    command = [sys.executable, "-m", "tests.support.licences"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True).stdout.splitlines()
    listed = {line.split()[0]: " ".join(line.split()[2:]) for line in lines}
    code = "from importlib.metadata import distributions; print(*{found.name for found in distributions()})"
    installed = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True).stdout
    assert listed.keys() == set(installed.split()) and all(listed.values())
    assert "BSD" in listed["torch"] and "BSD" in listed["jupyterlab"] and "MIT" in listed["zizmor"]


# --- the audit --------------------------------------------------------------------------------------------------------

FINE = {"name": "tiny", "version": "1.0", "vulns": []}
WEAK = {"name": "old", "version": "2.0", "vulns": [{"id": "CVE-1", "fix_versions": ["2.1"]}]}
ABSENT = {"name": "odd", "skip_reason": "Dependency not found on PyPI and could not be audited: odd (1.0)"}


@pytest.mark.parametrize(
    "packages, status, words",
    [
        ([FINE], 0, "No known vulnerability in 1 packages."),
        ([FINE, WEAK], 1, "old 2.0: CVE-1, mended in 2.1"),
        ([FINE, WEAK, ABSENT], 2, "old 2.0: CVE-1, mended in 2.1\nThe audit could not run for 1 of 3 packages: Depend"),
        ([ABSENT], 2, "The audit could not run for 1 of 1 packages"),
    ],
)
def test_the_audit_says_what_it_found_and_what_it_could_not_look_up(packages, status, words):
    found, said = audit.verdict(json.dumps({"dependencies": packages}), "No known vulnerabilities found")
    assert found == status and said.startswith(words)


def test_an_audit_that_cannot_run_says_so(tmp_path):
    (tmp_path / "pip_audit.py").write_text("raise SystemExit('ConnectionError: nobody answers')", encoding="utf-8")
    command = [sys.executable, "-m", "tests.support.audit"]
    search = {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=os.environ | search, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stdout) == (2, "The audit could not run: ConnectionError: nobody answers\n")
