"""A process that grades one submission after another, and is killed if one takes too long.

Opening, reading, parsing, running and judging happen in it, so a submission can harm only its owner. Every grading
thread has its own process, on this machine or on a cluster's.
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

from course_tools.grading.reports import report_from_json
from course_tools.grading.sandbox import fork_client
from course_tools.grading.sandbox.protection import Unprotected, minimal_environment
from course_tools.repository import ROOT

TOO_LONG = "Grading took longer than the {:g} s allowed for one submission. What was finished by then counts."
PROCESS_LOST = "This submission twice ended the process that grades it. What was finished by then counts."
TOO_LARGE = "This submission needed more memory than is allowed for one. What was finished by then counts."
START_CODE = (
    "import sys; sys.path.insert(0, sys.argv[1]); from course_tools.grading import inside_grading_process; "
    "inside_grading_process.serve(sys.argv[2])"
)
of_this_thread = threading.local()
running_processes: set["GradingProcess"] = set()
known_results: dict[
    str, dict
] = {}  # results that processes have found so far, also on other machines; each process gets them


@dataclass(frozen=True)
class Limits:
    """seconds: wall-clock time for one whole submission. unsandboxed: grade even without protection."""

    seconds: float = 60
    unsandboxed: bool = False


def add_known_results(found):
    """Tell the processes here the results that others have found, so that no answer runs twice."""
    known_results.update(found)


def grade_in_own_process(task, limits):
    """(the Report of a task, its new results), from this thread's own process.

    The process stays for the next task. Raises Unprotected if its machine has no protection.
    """
    if getattr(of_this_thread, "limits", None) != limits:
        of_this_thread.limits, of_this_thread.process = limits, GradingProcess(limits)
    return of_this_thread.process.grade(task)


def end_all():
    """End the processes of all threads, at once and for good."""
    while running_processes:
        running_processes.pop().end(for_good=True)


class GradingProcess:
    """Starts when there is something to grade, and again if it was lost."""

    def __init__(self, limits):
        self.limits, self.child, self.ended = limits, None, False
        running_processes.add(self)

    def grade(self, task):
        """(the Report of a task, its new results). An unfinished report counts as far as it goes, and says why."""
        self.new_results = {}
        for _ in range(2):
            if not self.child:
                self.start()
            text, reason = self.ask(task)
            last = json.loads(text) if text else None
            if not reason:
                return report_from_json(last), self.new_results
            self.end()
            if self.ended:
                raise CancelledError
            if last and reason != PROCESS_LOST:
                break
        if not last:
            raise RuntimeError(reason)
        return report_from_json(last | {"remarks": [*last["remarks"], reason]}), self.new_results

    def ask(self, task):
        """(the last plain report received for a task, as JSON; None, or why it is incomplete)."""
        last, timed_out = None, threading.Event()
        timer = threading.Timer(self.limits.seconds, self.out_of_time, [timed_out])
        timer.start()
        news = list(known_results.items())[self.known_sent :]
        self.known_sent += len(news)
        with contextlib.suppress(OSError):  # it is gone; its earlier output is read below
            pickle.dump((task, dict(news)), self.child.stdin)
            self.child.stdin.flush()
        try:
            for line in self.child.stdout:
                match json.loads(line):
                    case {"report": last, "whole": whole}:  # only one of many is read
                        if whole:
                            return last, None
                    case {"known": found}:
                        self.new_results |= found
                    case {"trouble": trouble}:
                        raise RuntimeError(trouble)
                    case {"memory": _}:
                        return last, TOO_LARGE
            return last, TOO_LONG.format(self.limits.seconds) if timed_out.is_set() else PROCESS_LOST
        finally:
            timer.cancel()

    def out_of_time(self, timed_out):
        """Kill the process, and note that this was the reason."""
        timed_out.set()
        self.child.kill()

    def start(self):
        """Start the process and wait until it is ready; try again if it was lost. Raises Unprotected."""
        words = "unsandboxed" if self.limits.unsandboxed else ""
        for _ in range(2):
            self.known_sent = 0  # how much of what is known
            self.child = start_as_fork(words) if sys.platform == "linux" else start_as_subprocess(words)
            ready = json.loads(self.child.stdout.readline() or "null")
            if self.ended:
                raise CancelledError
            if ready == {"ready": True}:
                return
            self.end()
            if ready:
                raise Unprotected(*ready.values())
        raise RuntimeError("the grading process did not start; its output above says why")

    def end(self, for_good=False):
        """Kill the process and whatever it started."""
        self.ended = self.ended or for_good
        if child := self.child:
            child.kill()
            if not for_good:  # otherwise its own thread still reads from it
                child.wait()
                child.stdout.close()
                with contextlib.suppress(OSError):
                    child.stdin.close()
                self.child = None


def start_with_exercises():
    """Start the process that has loaded the grading code. It runs no code from a submission."""
    connection, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with theirs:
        return connection, fork_client.fork_server_with_torch.fork(
            "course_tools.grading.inside_grading_process", "serve_forks", [theirs.fileno()]
        )


fork_server_with_exercises = fork_client.ForkServer(start_with_exercises)


def start_as_fork(words):
    """A grading process that starts with everything loaded. Answers run in forks that know no expected value."""
    (tasks, to_it), (from_it, reports) = os.pipe(), os.pipe()
    try:
        with fork_client.fork_server_with_torch.another_connection() as forks:
            given = [tasks, reports, forks.fileno()]
            child = fork_server_with_exercises.fork(
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


def start_as_subprocess(words):
    """A grading process for machines that cannot fork one with torch loaded."""
    options = {} if os.name == "nt" else {"start_new_session": True}  # only the main process handles Ctrl-C
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    command = [sys.executable, "-P", "-c", START_CODE, str(ROOT), words]
    return subprocess.Popen(command, env=os.environ | minimal_environment(), **pipes, **options)
