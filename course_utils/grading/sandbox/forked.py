"""Processes that start with torch loaded: forks of one that the grader has for this. Linux only."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import threading
import weakref

from course_utils.grading.sandbox import protection
from course_utils.grading.sandbox.inside import forking

asking = threading.Lock()
connection: socket.socket | None = None  # to the process that forks
process: subprocess.Popen | None = None  # that one, unless it is another one's


class Fork:
    """A process that was forked. Its files are `stdin` and `stdout`, as those of a subprocess."""

    def __init__(self, pid, handle, stdin=None, stdout=None):
        self.pid, self.handle, self.stdin, self.stdout = pid, handle, stdin, stdout
        weakref.finalize(self, os.close, handle)

    def kill(self):
        """Kill it, if it has not ended. Another process that has got its number is safe."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)

    def wait(self):
        """Wait for its end."""
        select.select([self.handle], [], [])


def fork(module, function, descriptors, forks=False, **arguments):
    """A Fork that runs a function, which finds the open files `descriptors` numbered from forking.FIRST on.

    forks: whether it may fork, too; its connection for that is the next open file. Raises RuntimeError where the
    process that forks does not start.
    """
    request = {"module": module, "function": function, "arguments": arguments, "forks": forks}
    with asking:
        for _ in range(2):
            if not connection:
                start()
            try:
                socket.send_fds(connection, [json.dumps(request).encode()], descriptors)
                number, (handle,), *_ = socket.recv_fds(connection, forking.NUMBER.size, 1)
                return Fork(*forking.NUMBER.unpack(number), handle)
            except (OSError, ValueError):  # it is gone
                drop()
    raise RuntimeError("the process that forks others has ended, twice")


def inherit(descriptor):
    """In a fork: fork through this connection, an open file's number."""
    global connection
    connection = socket.socket(fileno=descriptor)


def start():
    """Start the process that forks. It ends with this one."""
    global connection, process
    connection, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            protection.inside("forking", "serve", control=theirs.fileno(), packages=protection.packages()),
            env=protection.environment(),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )


def drop():
    """Forget the process that forks."""
    global connection, process
    connection.close()
    if process:
        process.kill()
        process.wait()
    connection = process = None
