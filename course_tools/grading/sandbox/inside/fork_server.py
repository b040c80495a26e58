"""A process whose forks start at once and share what it has loaded.

It runs nothing from a submission: callers say what to run in the fork. `serve` loads only torch.
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

from course_tools.grading.sandbox.inside import server

if sys.platform == "linux":  # elsewhere nothing forks
    import fcntl

    from course_tools.grading.sandbox.inside import isolation

LONGEST_REQUEST = 1 << 20  # bytes of a request
CONNECT = "connect"  # the request for a further connection
MOST_FILES, FIRST_FILE = 3, 3  # open files handed to a fork, and the number that the first of them has there
PROCESS_NUMBER = struct.Struct("=i")  # of the fork's process, as sent back


def serve(control, packages):
    """Load torch, then `fork_on_request`. packages: folders to import from."""
    server.load_torch(packages)
    isolation.use_large_pages()
    fork_on_request(control)


def fork_on_request(control):
    """Fork on request through `control`, and through connections requested there, until `control` closes.

    control: number of an open socket that preserves message boundaries.
    """
    connections = [socket.socket(fileno=control)]
    owner = connections[0]
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks; holders of their handles see them end
    while owner in connections:
        for connection in select.select(connections, [], [])[0]:
            request, descriptors, *_ = socket.recv_fds(connection, LONGEST_REQUEST, MOST_FILES)
            if not request:
                connections.remove(connection)
                connection.close()
            elif (wanted := json.loads(request)) == CONNECT:
                connections.append(connect(connection))
            else:
                fork(wanted, descriptors, connection, connections)


def connect(asker):
    """Send one end of a new connection to the asker. Returns the other."""
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with theirs:
        socket.send_fds(asker, [PROCESS_NUMBER.pack(0)], [theirs.fileno()])
    return ours


def fork(request, descriptors, asker, connections):
    """Fork, and send the asker the number and a handle of the process.

    request: {"module", "function", "arguments"}: what to call, and with what.
    """
    child = os.fork()
    if not child:
        try:
            keep_only(descriptors, connections)
            run_in_fork(request)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(1)
    for descriptor in descriptors:
        os.close(descriptor)
    handle = os.pidfd_open(child)
    socket.send_fds(asker, [PROCESS_NUMBER.pack(child)], [handle])
    os.close(handle)


def keep_only(descriptors, sockets):
    """In a fork: close all files but the standard ones and these, which are numbered from FIRST_FILE on."""
    for each in sockets:
        each.detach()  # closed below, by number, so Python must not close it
    apart = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 2 * FIRST_FILE + MOST_FILES) for descriptor in descriptors]
    for place, descriptor in enumerate(apart, start=FIRST_FILE):
        os.dup2(descriptor, place, inheritable=False)
    os.closerange(FIRST_FILE + len(apart), os.sysconf("SC_OPEN_MAX"))


def run_in_fork(request):
    """In a fork: run the requested function, as an independent process."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    getattr(importlib.import_module(request["module"]), request["function"])(**request["arguments"])
