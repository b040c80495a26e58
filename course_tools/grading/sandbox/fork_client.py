"""Processes that start with everything loaded, as forks of one that has loaded it. Linux only."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import threading
import weakref

from course_tools.grading.sandbox import protection
from course_tools.grading.sandbox.inside import fork_server


class ForkedProcess:
    """A forked process. Callers that pass files set `stdin` and `stdout`, as in a subprocess."""

    def __init__(self, pid, handle):
        self.pid, self.handle = pid, handle
        weakref.finalize(self, os.close, handle)

    def kill(self):
        """Kill it if it has not ended. Another process that has inherited its number is safe."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)

    def wait(self):
        """Wait for its end."""
        select.select([self.handle], [], [])


class ForkServer:
    """Forks in a separate process, which starts at the first fork and ends with this one.

    begin: returns (a connection to that process, a function that kills it), or raises RuntimeError.
    """

    def __init__(self, begin):
        self.begin, self.asking = begin, threading.Lock()
        self.connection = self.process = None

    def fork(self, module, function, descriptors, **arguments):
        """A ForkedProcess that runs a function. It finds the open files `descriptors` from number FIRST_FILE on.

        Raises RuntimeError if the forking process does not start.
        """
        number, handle = self.ask({"module": module, "function": function, "arguments": arguments}, descriptors)
        return ForkedProcess(number, handle)

    def another_connection(self):
        """A socket through which another process can also fork: see `inherit`."""
        return socket.socket(fileno=self.ask(fork_server.CONNECT, [])[1])

    def inherit(self, descriptor):
        """Fork through the connection with this file number."""
        self.connection = socket.socket(fileno=descriptor)

    def ask(self, request, descriptors):
        """The (number, open file) sent back."""
        with self.asking:
            for _ in range(2):
                if not self.connection:
                    self.connection, self.process = self.begin()
                try:
                    socket.send_fds(self.connection, [json.dumps(request).encode()], descriptors)
                    number, (descriptor,), *_ = socket.recv_fds(self.connection, fork_server.PROCESS_NUMBER.size, 1)
                    return fork_server.PROCESS_NUMBER.unpack(number)[0], descriptor
                except (OSError, ValueError):  # the process is gone
                    self.drop()
        raise RuntimeError("the process that forks others ended twice")

    def drop(self):
        """Forget the process."""
        self.connection.close()
        if self.process:
            self.process.kill()
            self.process.wait()
        self.connection = self.process = None


def start_with_torch():
    """Start the process that has loaded torch, and nothing that knows an expected value."""
    connection, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with theirs:
        command = protection.command_inside(
            "fork_server", "serve", control=theirs.fileno(), packages=protection.package_folders()
        )
        return connection, subprocess.Popen(
            command,
            env=protection.minimal_environment(),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )


fork_server_with_torch = ForkServer(start_with_torch)
