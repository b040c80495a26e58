"""The grader's side of the sandbox: code and inputs go in, plain data or one sentence comes out."""

import contextlib
import math
import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field

from course_tools.grading.sandbox import allowed_imports, fork_client, leftover_processes, protection
from course_tools.grading.sandbox.inside import fork_server, server
from course_tools.grading.sandbox.protection import Protection, Unprotected
from course_tools.repository import ROOT
from course_utils.judging import calls as asking
from course_utils.judging import errors, serialize

LARGEST_REPLY = 64_000_000  # bytes of an answer
WAITING_FACTOR = 3  # wall-clock time, as a multiple of computing time
SHORTEST_PATIENCE = 0.1  # wall-clock seconds that every answer gets
SECONDS_TO_EXIT = 5  # seconds for a child that has closed its socket to end
TOO_LONG = "took longer than"
NO_ANSWER = "sent back data that is not an answer"
PATIENCE = 60  # seconds for the server to be ready, or to say how a child ended
UNPROTECTED = (
    "This machine offers no protection against the code in submissions (it needs Linux, 5.12 or newer with user "
    "namespaces or 5.13 with Landlock, on x86-64 or arm64). Grade on a machine that does, or without protection: use "
    "--unsandboxed."
)
CRASHES = {"SIGSEGV": "a segmentation fault", "SIGABRT": "an abort in compiled code"}


class ServerLost(Exception):
    """The server ended or does not answer."""


@dataclass(frozen=True)
class Outcome:
    """What came out of the sandbox for one exercise: replies, or trouble instead.

    replies: list of plain data, one per call, from a process that the student controlled: judge it, do not trust it.
    trouble: what the student's code did, to be read after "Your code": "took longer than 10 s and was stopped". It may
    quote the student. message: the replies' bytes.
    """

    replies: list | None = None
    trouble: str | None = None
    message: bytes = field(default=b"", repr=False)

    @property
    def out_of_time(self):
        """Whether time ran out, which may be the machine's fault."""
        return bool(self.trouble) and self.trouble.startswith(TOO_LONG)


class Sandbox:
    """One server process with torch loaded; every `run` is a fresh child of it. Use it in a `with` statement.

    chosen: the protection to run under; by default the best that works here. If there is none, raises Unprotected with
    a sentence that says what to do; Protection.NONE must be requested.
    seconds: of computing for one exercise, so that a busy machine costs nobody a point; code that only waits is stopped
    after WAITING_FACTOR times as long. memory: bytes for one exercise, besides torch itself.
    """

    SERVER = ("course_tools.grading.sandbox.inside.server", "serve")

    def __init__(self, chosen=None, seconds=10, memory=2**30):
        self.protection = chosen or protection.protection()
        if not chosen and self.protection is Protection.NONE:
            raise Unprotected(UNPROTECTED)
        self.seconds, self.memory = seconds, memory
        self.process = self.control = None

    def __enter__(self):
        if self.protection is not Protection.NONE:
            self.start()
        return self

    def __exit__(self, *error):
        self.stop()

    def run(self, cells, name, calls, chapter, **more):
        """Run the cells, then call `name`. Returns an Outcome; never raises for what the code does.

        cells: Python texts, run in order, statement by statement; a failing statement is skipped.
        calls: FunctionCalls or LayerCalls (see course_utils.judging.calls). chapter, more: as in `run_together`.
        """
        (outcome,) = self.run_together([(cells, name, calls)], chapter, **more)
        return outcome

    def run_together(self, answers, chapter, watch=False, fixes=(), patience=math.inf, modules=None, seed=0):
        """Run several answers of one person in turn, in one process. Returns an Outcome for each.

        If one of them ends the process, or takes too long, all of them get that trouble.

        answers: (cells, name, calls) of each, as in `run`.
        chapter: the exercises' chapter; from `course_utils.attention` they may import what earlier chapters build.
        watch: instead of replies, the steps of the first call (see course_utils.explaining.program.watched).
        fixes: instead of replies of the unchanged answer, a list of replies for each of these Fixes.
        patience: wall-clock seconds, if less than the usual limit for code that only waits.
        modules: {name: text} of importable Python files, such as the student's own.
        seed: for all random numbers, anew for each answer.
        """
        importable = allowed_imports.modules_for_chapter(chapter)
        if any(hand_over_a_model(calls) for _, _, calls in answers):
            importable = importable | allowed_imports.modules_of_the_model()  # a new dict: the old one is cached
        request = serialize.pack(
            {
                "answers": [
                    {"cells": list(cells), "name": name, "calls": [asking.call_to_plain(call) for call in calls]}
                    for cells, name, calls in answers
                ],
                "watch": watch,
                "fixes": [[fix.number, fix.new] for fix in fixes],
                "seed": seed,
                "course": {**(modules or {}), **importable},
                "silent": allowed_imports.silenced_packages(),
            }
        )
        received, trouble = self.ask(request, min(WAITING_FACTOR * self.seconds, max(patience, SHORTEST_PATIENCE)))
        if trouble:
            return [Outcome(trouble=trouble)] * len(answers)
        found = [outcome_of(message) for message in messages_in(received)]
        return found if len(found) == len(answers) else [Outcome(trouble=NO_ANSWER)] * len(answers)

    def ask(self, request, patience):
        """(the bytes that came back for a request, None), or (None, the trouble)."""
        if self.protection is Protection.NONE:
            return self.ask_alone(request, patience)
        for _ in range(2):
            try:
                return self.ask_child(request, patience)
            except ServerLost:
                self.stop()
                self.start()
        return None, "twice ended the process that runs it"

    def ask_child(self, request, patience):
        """`ask` for a child of the server."""
        ours, theirs = socket.socketpair()
        with ours:
            try:
                with theirs:
                    socket.send_fds(self.control, [server.NEXT], [theirs.fileno()])
                message, trouble = self.exchange(ours, request, patience)
                status = self.end_of_child(0 if trouble else min(SECONDS_TO_EXIT, patience))
            except OSError as error:
                raise ServerLost from error
        if len(status) < server.EXIT_STATUS.size:
            raise ServerLost
        if not message and not trouble:
            trouble = self.how_it_ended(os.waitstatus_to_exitcode(*server.EXIT_STATUS.unpack(status)))
        return message, trouble

    def end_of_child(self, patience):
        """How the child ended, as the server reports it. After `patience` seconds it is stopped."""
        if patience:
            self.control.settimeout(patience)
            try:
                return self.control.recv(server.EXIT_STATUS.size)
            except TimeoutError:
                pass
            finally:
                self.control.settimeout(PATIENCE)
        self.control.sendall(server.STOP)
        return self.control.recv(server.EXIT_STATUS.size)

    def exchange(self, connection, request, patience):
        """Send a request and read until the child closes. (bytes, None), or (None, why it has to be stopped)."""
        message, end = bytearray(), time.monotonic() + patience
        connection.settimeout(PATIENCE)
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        while len(message) <= LARGEST_REPLY:
            connection.settimeout(max(end - time.monotonic(), 0.001))
            try:
                part = connection.recv(1 << 20)
            except TimeoutError:
                return None, self.too_slow(patience)
            if not part:
                return bytes(message), None
            message += part
        return None, f"sent more than {LARGEST_REPLY // 10**6} MB back and was stopped"

    def ask_alone(self, request, patience):
        """`ask` for a process without isolation."""
        command = protection.command_inside(
            "server", "serve_unprotected", course=str(ROOT), packages=protection.package_folders(), seconds=self.seconds
        )
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with (
            leftover_processes.killed_afterwards(),
            subprocess.Popen(command, env=protection.minimal_environment(), start_new_session=True, **pipes) as process,
        ):
            try:
                message, _ = process.communicate(request, timeout=min(self.seconds, patience) + PATIENCE)
            except subprocess.TimeoutExpired:
                return None, self.too_slow()
            finally:
                kill_group(process)
        if process.returncode == server.TOO_SLOW:
            return None, self.too_slow()
        return (message, None) if message else (None, self.how_it_ended(process.returncode))

    def too_slow(self, patience=math.inf):
        """The trouble with code that does not end. (Linux itself ends code that computes too long.)"""
        return f"{TOO_LONG} {max(round(min(self.seconds, patience)), 1)} s and was stopped"

    def how_it_ended(self, code):
        """The trouble with code that ended its process: the exit code, or minus the number of a signal."""
        if code >= 0:
            return "ended Python before it had answered, as os._exit does"
        name = signal.Signals(-code).name
        return self.too_slow() if name in ("SIGXCPU", "SIGKILL") else f"crashed Python with {CRASHES.get(name, name)}"

    def start(self):
        """Start the server and wait until it is ready."""
        self.control, theirs = socket.socketpair()
        with theirs:
            self.process = fork_client.fork_server_with_torch.fork(*self.SERVER, [theirs.fileno()], **self.arguments())
        self.control.settimeout(PATIENCE)
        try:
            ready = self.control.recv(1)
        except TimeoutError:
            ready = b""
        if ready != server.READY:
            self.stop()
            raise RuntimeError(f"The sandbox did not start ({self.protection.name}). Its output above says why.")

    def arguments(self):
        """The server's arguments."""
        return {
            "control": fork_server.FIRST_FILE,
            "course": str(ROOT),
            "packages": protection.package_folders(),
            "protection": self.protection.name,
            "memory": self.memory,
            "seconds": self.seconds,
            **protection.visible_and_hidden_paths(),
        }

    def stop(self):
        """End the server, and with it every child."""
        if self.process:
            self.control.close()
            self.process.kill()
            self.process.wait()
            self.process = None


def messages_in(received):
    """The messages in the bytes from a child, each after its length; [] if the bytes are anything else."""
    found, rest = [], memoryview(received)
    while len(rest) >= server.LENGTH.size:
        begin, (size,) = server.LENGTH.size, server.LENGTH.unpack(rest[: server.LENGTH.size])
        if size > len(rest) - begin:
            return []
        found.append(bytes(rest[begin : begin + size]))
        rest = rest[begin + size :]
    return [] if rest else found


def outcome_of(message):
    """The Outcome in the bytes of a message from a child."""
    try:
        match serialize.unpack(message, serialize.LARGEST_REPLY_HEADER):
            case {"replies": list(replies)}:
                return Outcome(replies=replies, message=message)
            case {"trouble": str(trouble)}:
                return Outcome(trouble=errors.presentable(trouble))
    except ValueError:
        pass
    return Outcome(trouble=NO_ANSWER)


def hand_over_a_model(calls):
    """Whether an argument of these calls is chapter 11's model."""
    arguments = [argument for call in calls for argument in call.arguments]
    return any(isinstance(argument, dict) and "language_model" in argument for argument in arguments)


def kill_group(process):
    """Kill a process, and on POSIX its whole group."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
