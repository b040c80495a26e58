"""Tests that start with torch loaded: one process loads it, then forks another for each run that is asked for."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

ENDED, TOO_LONG = "ended", "takes too long"


class WarmPytest:
    """A process that runs pytest in a folder, as often as asked, each time in a fork that has imported nothing yet."""

    def __init__(self):
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}  # an old one would count for a changed file
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", env=environment
        )

    def run(self, folder, arguments, before="", patience=300):
        """(how it ended, what was printed) of pytest with these arguments, after some code; ended after `patience`."""
        self.process.stdin.write(json.dumps([str(folder), arguments, before, patience]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def serve():
    """Load what most tests load, then fork for each line of standard input."""
    os.environ["MPLBACKEND"] = "agg"
    import IPython  # noqa: F401
    import matplotlib.pyplot  # noqa: F401
    import nbformat  # noqa: F401
    import pytest  # noqa: F401
    import torch  # noqa: F401

    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for line in sys.stdin:
        folder, arguments, before, patience = json.loads(line)
        with tempfile.TemporaryFile() as printed:
            child = os.fork()
            if child == 0:
                become_pytest(folder, arguments, before, printed)
            ended = end_of(child, patience)
            printed.seek(0)
            answer = [ended, printed.read().decode("utf-8", "replace")]
        print(json.dumps(answer), file=answers, flush=True)


def become_pytest(folder, arguments, before, printed):
    """In the fork: run some code, then pytest, in a group of processes of its own, and end as it does."""
    os.setpgrp()
    os.chdir(folder)
    for stream in (1, 2):
        os.dup2(printed.fileno(), stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.path.insert(0, folder)
    code = 70  # unless pytest gives one
    try:
        import pytest

        exec(before, {"__name__": "before"})
        code = int(pytest.main(arguments))
    finally:
        sys.stdout.flush()
        os._exit(code)


def end_of(child, patience):
    """How a child ends: its code, or TOO_LONG; what it started is ended with it."""
    latest, ended = time.monotonic() + patience, TOO_LONG
    while time.monotonic() < latest:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            ended = os.waitstatus_to_exitcode(status)
            break
        time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if ended == TOO_LONG:
        os.waitpid(child, 0)
    return ended


if __name__ == "__main__":
    sys.path.pop(0)  # this file's folder
    serve()
