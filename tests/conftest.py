"""The browser that tests share. And where packages that tests need are missing, tests/ is passed over and says so."""

import os
import signal
from importlib.metadata import PackageNotFoundError, version

import pytest

from course_tools import environment


def absent(package):
    """Whether a package is not installed, in any version."""
    try:
        version(package)
    except PackageNotFoundError:
        return True
    return False


NEEDED = ["course_tools/requirements.txt", "tests/requirements.txt"]
ABSENT = [name for name, _ in environment.pins(NEEDED) if absent(name)]


# A shell that starts a command in the background lets it, and all that it starts, ignore Ctrl-C, which tests press.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# What a test starts writes UTF-8, as tests read it, whatever the machine's own encoding. A test of another says so.
os.environ["PYTHONIOENCODING"] = "utf-8"


class PassedOver(pytest.Module):
    """A file of tests that cannot run here."""

    def collect(self):
        files = " ".join(f"-r {file}" for file in NEEDED)
        pytest.skip(f"pip install {files}: {', '.join(ABSENT)} is missing here")


def pytest_pycollect_makemodule(module_path, parent):
    """Pass over files of tests, with a sentence, where something is missing. In CI that fails."""
    if ABSENT and "CI" not in os.environ:
        return PassedOver.from_parent(parent, path=module_path)


@pytest.fixture(scope="module")
def chromium():
    """One browser for all tests of a file. Playwright runs once at a time, so the next file starts its own."""
    from tests.support import page  # it needs packages that may be absent

    with page.chromium() as running:
        yield running
