"""A process that grades one submission after another and that can be killed: the one budget for all of a submission.

Opening, reading, parsing, running and judging happen in it, so whatever a submission does there costs its owner only.
Every thread that grades has one of its own, on this machine or on a cluster's.
"""

import contextlib
import json
import os
import pickle
import socket
import subprocess
import sys
import threading
from concurrent.futures import CancelledError
from dataclasses import dataclass

from course_tools.grading.reports import from_plain
from course_tools.grading.sandbox import fork_client
from course_tools.grading.sandbox.protection import Unprotected, Untried, environment
from course_tools.repository import ROOT

TOO_LONG = "Grading took longer than the {:g} s that one submission has. What was finished until then counts."
LOST = "Grading this submission ended the process that grades it, twice. What was finished until then counts."
TOO_LARGE = "Grading this submission took more memory than one submission has. What was finished until then counts."
COMMAND = (
    "import sys; sys.path.insert(0, sys.argv[1]); from course_tools.grading import inside_grading_process; "
    "inside_grading_process.serve(sys.argv[2])"
)
threads = threading.local()
running: set["Process"] = set()
known: dict[str, dict] = {}  # the results that processes have found so far, also on other machines: each hears them


@dataclass(frozen=True)
class Limits:
    """seconds: by the clock, for all of one submission. unsandboxed: go on where a machine has no protection."""

    seconds: float = 60
    unsandboxed: bool = False


def learn(found):
    """Let the processes here know results that others have found: no answer is run twice."""
    known.update(found)


def grade_in_own_process(task, limits):
    """(the Report of a task, the results that nobody knew before), from this thread's own process.

    It stays for the next task. Raises Unprotected where that machine has no protection.
    """
    if getattr(threads, "limits", None) != limits:
        threads.limits, threads.process = limits, Process(limits)
    return threads.process.grade(task)


def end_all():
    """End the processes of all threads, at once and for good."""
    while running:
        running.pop().end(for_good=True)


class Process:
    """Starts when there is something to grade, and again when it was lost."""

    def __init__(self, limits):
        self.limits, self.child, self.ended = limits, None, False
        running.add(self)

    def grade(self, task):
        """(the Report of a task, its new results). What cannot be finished counts as far as it is, and says why."""
        self.found = {}
        for _ in range(2):
            if not self.child:
                self.start()
            text, why = self.ask(task)
            last = json.loads(text) if text else None
            if not why:
                return from_plain(last), self.found
            self.end()
            if self.ended:
                raise CancelledError
            if last and why != LOST:
                break
        if not last:
            raise RuntimeError(why)
        return from_plain(last | {"remarks": [*last["remarks"], why]}), self.found

    def ask(self, task):
        """(the last plain report that came for a task, as JSON; None or why it is not the whole one)."""
        last, late = None, threading.Event()
        timer = threading.Timer(self.limits.seconds, self.out_of_time, [late])
        timer.start()
        news = list(known.items())[self.told :]
        self.told += len(news)
        with contextlib.suppress(OSError):  # it is gone: what it said before is read below
            pickle.dump((task, dict(news)), self.child.stdin)
            self.child.stdin.flush()
        try:
            for line in self.child.stdout:
                match json.loads(line):
                    case {"report": last, "whole": whole}:  # only one of many is read
                        if whole:
                            return last, None
                    case {"known": found}:
                        self.found |= found
                    case {"trouble": trouble}:
                        raise RuntimeError(trouble)
                    case {"memory": _}:
                        return last, TOO_LARGE
            return last, TOO_LONG.format(self.limits.seconds) if late.is_set() else LOST
        finally:
            timer.cancel()

    def out_of_time(self, late):
        """Kill the process, and note that this was the reason."""
        late.set()
        self.child.kill()

    def start(self):
        """Start the process and wait until it is ready; once more where it was lost on the way. Raises Unprotected."""
        words = "unsandboxed" if self.limits.unsandboxed else ""
        for _ in range(2):
            self.told = 0  # how much of what is known
            self.child = as_fork(words) if sys.platform == "linux" else as_subprocess(words)
            ready = json.loads(self.child.stdout.readline() or "null")
            if self.ended:
                raise CancelledError
            if ready == {"ready": True}:
                return
            self.end()
            if ready:
                raise (Untried if "untried" in ready else Unprotected)(*ready.values())
        raise RuntimeError("the process that grades did not start; what it printed above says why")

    def end(self, for_good=False):
        """Kill the process. What it started ends with it."""
        self.ended = self.ended or for_good
        if child := self.child:
            child.kill()
            if not for_good:  # else its own thread still reads from it
                child.wait()
                child.stdout.close()
                with contextlib.suppress(OSError):
                    child.stdin.close()
                self.child = None


def with_exercises():
    """Start the process that has loaded what grades. It runs nothing of a submission either."""
    connection, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with theirs:
        return connection, fork_client.torch_loaded.fork(
            "course_tools.grading.inside_grading_process", "serve_forks", [theirs.fileno()]
        )


exercises_loaded = fork_client.Forker(with_exercises)


def as_fork(words):
    """A process that grades and has all loaded from the start. Answers are for forks that know no expected value."""
    (tasks, to_it), (from_it, reports) = os.pipe(), os.pipe()
    try:
        with fork_client.torch_loaded.another_connection() as forks:
            given = [tasks, reports, forks.fileno()]
            child = exercises_loaded.fork(
                "course_tools.grading.inside_grading_process", "serve_as_fork", given, words=words
            )
    except RuntimeError:
        os.close(to_it)
        os.close(from_it)
        raise
    finally:
        os.close(tasks)
        os.close(reports)
    child.stdin, child.stdout = os.fdopen(to_it, "wb"), os.fdopen(from_it, "rb")
    return child


def as_subprocess(words):
    """A process that grades, where there is no such thing as a fork with torch loaded."""
    options = {} if os.name == "nt" else {"start_new_session": True}  # Ctrl-C is for the main process to hear
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    command = [sys.executable, "-P", "-c", COMMAND, str(ROOT), words]
    return subprocess.Popen(command, env=os.environ | environment(), **pipes, **options)
