"""A process that has loaded torch and forks others from itself: they start at once and share what it has loaded.

It runs nothing of a submission, and knows no expected value: whoever asks says what to run in the fork.
"""

import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import sys

from course_utils.grading.sandbox.inside import server

if sys.platform == "linux":  # elsewhere nothing forks
    import fcntl

    from course_utils.grading.sandbox.inside import isolation

LONGEST = 1 << 20  # bytes of a request
MOST, FIRST = 3, 3  # open files handed to a fork, and the number that the first of them has there
NUMBER = struct.Struct("=i")  # of the fork's process, as it is sent back


def serve(control, packages):
    """Fork for whoever asks through `control`, and through what forks got, until `control` closes.

    control: number of an open socket that keeps messages apart. packages: folders to import from.
    """
    connections = [socket.socket(fileno=control)]
    owner = connections[0]
    server.ready(packages)
    isolation.gather_memory()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks; who has their handles sees them end
    while owner in connections:
        for connection in select.select(connections, [], [])[0]:
            request, descriptors, *_ = socket.recv_fds(connection, LONGEST, MOST)
            if request:
                connections += fork(json.loads(request), descriptors, connection, connections)
            else:
                connections.remove(connection)
                connection.close()


def fork(request, descriptors, asker, connections):
    """Fork, and send the asker the number and a handle of the process. [its connection to here], if it is to have one.

    request: {"module", "function", "arguments", "forks"}: what to call, with what, and whether it may ask here, too.
    """
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET) if request["forks"] else (None, None)
    child = os.fork()
    if not child:
        try:
            keep([*descriptors, *([theirs.fileno()] if theirs else [])], [*connections, ours, theirs])
            become(request)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(1)
    for descriptor in descriptors:
        os.close(descriptor)
    handle = os.pidfd_open(child)
    socket.send_fds(asker, [NUMBER.pack(child)], [handle])
    os.close(handle)
    if not ours:
        return []
    theirs.close()
    return [ours]


def keep(descriptors, sockets):
    """In a fork: close all files but the standard ones and these, which are numbered from FIRST on."""
    for each in filter(None, sockets):
        each.detach()  # closed below, by number; Python is to forget it
    apart = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 2 * FIRST + MOST) for descriptor in descriptors]
    for place, descriptor in enumerate(apart, start=FIRST):
        os.dup2(descriptor, place, inheritable=False)
    os.closerange(FIRST + len(apart), os.sysconf("SC_OPEN_MAX"))


def become(request):
    """In a fork: run what was asked for, as a process of its own."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    getattr(importlib.import_module(request["module"]), request["function"])(**request["arguments"])
