"""The README's `lab` command, started in a clone of its own, for the tests that open it."""

import contextlib
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

SECONDS = 90  # for JupyterLab to come up on a busy machine


@contextlib.contextmanager
def lab(clone, *options, python=sys.executable, **more):
    """Run `lab --no-browser` in a clone. Gives (process, address with its token) and ends the process.

    more: who runs it and with which environment, for subprocess.
    """
    command = [python, "-m", "course_tools", "lab", "--no-browser", "--port", str(free_port()), *options]
    with open(clone / "lab.log", "w+", encoding="utf-8") as log:
        process = subprocess.Popen(command, cwd=clone, stdout=log, stderr=log, stdin=subprocess.DEVNULL, **more)
        try:
            yield process, wait_for(process, clone / "lab.log")
        finally:
            process.kill()
            process.wait()


def free_port():
    """The number of a port that nothing listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(process, log):
    """The address that JupyterLab prints, once it answers there."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and process.poll() is None:
        printed = re.search(r"http://localhost:\S+", log.read_text(encoding="utf-8"))
        if printed and answers(printed[0]):
            return printed[0]
        time.sleep(0.2)
    raise AssertionError(f"JupyterLab did not come up:\n{log.read_text(encoding='utf-8')}")


def answers(address):
    """Whether something listens at an address."""
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except (urllib.error.URLError, ConnectionError):
        return False
