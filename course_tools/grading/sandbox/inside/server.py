"""Inside: the process that isolates itself, with torch loaded, and forks a child for each request.

It never sees a submission: the grader passes it the end of a socket, and only the child reads from that. So no child
has another student's code in its memory. It exchanges single bytes and exit statuses with the grader.
"""

import faulthandler
import gc
import os
import select
import signal
import socket
import struct
import sys
from pathlib import Path

if sys.platform == "linux":  # elsewhere there is only `serve_unprotected`
    from course_tools.grading.sandbox.inside import isolation, system_calls

READY, NEXT, STOP = b"r", b"n", b"s"  # the server: ready; the grader: new child, stop this child
LENGTH = struct.Struct(">Q")  # bytes of the message that follows: a child sends one for each answer
EXIT_STATUS = struct.Struct("=i")  # how a child ended, as os.waitpid gives it
TOO_SLOW = 1  # exit status of `serve_unprotected`
PROTECTION_HOLDS, PROTECTION_REFUSED = 0, 3  # exit statuses of `probe`; any other means a fault in it


def serve(control, course, packages, protection, folders, hidden, memory, seconds):
    """Fork a child for each socket received through `control`, until that closes.

    control: number of an open socket. course: the folder that holds the course. packages: folders to import from.
    protection: "NAMESPACES" or "LANDLOCK". folders, hidden: as in `isolation.hide_all_but`. memory: bytes,
    beside what torch takes; seconds: of CPU time, for each child.
    """
    grader = socket.socket(fileno=control)
    enter_namespaces(protection)
    answer = load_answering(course, packages)
    most = isolation.address_space() + memory
    nowhere = os.open(os.devnull, os.O_RDWR)  # while there is one
    isolate(protection, folders, hidden)
    redirect_standard_streams(nowhere)
    gc.freeze()  # loaded objects stay in place, and children share them
    grader.sendall(READY)
    server = os.getpid()
    while True:
        message, sockets, _, _ = socket.recv_fds(grader, 1, 1)
        if not message:
            return
        if message != NEXT:
            continue  # STOP, for a child that has just ended by itself
        if not (child := os.fork()):
            isolation.end_with_parent()
            if os.getppid() == server:  # it did not end earlier
                grader.close()
                isolation.limit_resources(most, seconds)
                answer_one(sockets[0], answer, [isolation.drop_capabilities, system_calls.install_filter])
            os._exit(1)
        os.close(sockets[0])
        if not (status := wait_for_child(child, grader)):
            return
        grader.sendall(status)


def enter_namespaces(protection):
    """The first part of a protection, which needs /proc."""
    if protection == "NAMESPACES":
        isolation.new_namespaces()


def isolate(protection, folders, hidden):
    """The rest of a protection, after which only these folders can be read."""
    wall = isolation.hide_all_but if protection == "NAMESPACES" else isolation.restrict_with_landlock
    wall([Path(folder) for folder in folders], {Path(path) for path in hidden})


def probe(course, protection, folders, hidden):
    """Isolate this process like a child, and end it: with PROTECTION_HOLDS, or with PROTECTION_REFUSED.

    It is refused if Linux refuses a measure, or if a measure does not work. If Python no longer works, it ends with an
    error.
    """
    try:
        enter_namespaces(protection)
        isolate(protection, folders, hidden)
        isolation.drop_capabilities()
        system_calls.install_filter()
    except OSError as error:
        if error.errno not in isolation.REFUSALS:
            raise
        os._exit(PROTECTION_REFUSED)
    Path(os.__file__).read_bytes()
    for attempt in (os.fork, socket.socket, Path(course, "course_utils", "__init__.py").read_bytes):
        try:
            attempt()
            os._exit(PROTECTION_REFUSED)
        except OSError:
            pass
    os._exit(PROTECTION_HOLDS)


def redirect_standard_streams(nowhere):
    """Discard all output, and give readers an end of file. nowhere: the null device, open."""
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)


def wait_for_child(child, grader):
    """Wait for a child's end, or end it when the grader says so. Returns its status; None if the grader is gone."""
    handle = os.pidfd_open(child)
    ready, _, _ = select.select([handle, grader], [], [])
    message = STOP
    if grader in ready:
        message = grader.recv(1)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(handle)
    return EXIT_STATUS.pack(status) if message else None


def answer_one(connection, answer, restrictions):
    """In a child: read the whole request, apply the last restrictions, answer, and end the process."""
    request = b"".join(iter(lambda: os.read(connection, 1 << 20), b""))
    for restrict in restrictions:
        restrict()
    answer_and_exit(connection, answer, request)


def answer_and_exit(connection, answer, request):
    """Answer a request and end the process at once, so that nothing left by the student's code runs."""
    try:
        reply = b"".join(LENGTH.pack(len(message)) + message for message in answer(request))
        while reply:
            reply = reply[os.write(connection, reply) :]
    finally:
        os._exit(0)


def serve_unprotected(course, packages, seconds):
    """Answer the one request on standard input, in a process that ends with it. For machines without protection."""
    replies = os.dup(1)
    answer = load_answering(course, packages)
    request = sys.stdin.buffer.read()
    nowhere = os.open(os.devnull, os.O_RDWR)
    redirect_standard_streams(nowhere)
    faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)  # exits with TOO_SLOW
    answer_and_exit(replies, answer, request)


def load_torch(packages):
    """Load torch and what runs an exercise, unless the process that this one was forked from has."""
    if "torch" in sys.modules:
        return
    if hasattr(os, "uname"):
        forget_name_of_machine()
    sys.path += [folder for folder in packages if folder not in sys.path]
    import torch  # here: before, it could not be found

    torch.set_num_threads(1)  # before its first use: a child must not find a thread pool, and may not make one
    torch.set_num_interop_threads(1)
    from course_tools.grading.sandbox.inside import answering  # here: it needs torch as it is set now

    answering.warm_up()


def forget_name_of_machine():
    """Hide this machine's name from all code loaded from now on, so that no answer finds it."""
    system, _, *rest = os.uname()
    nameless = os.uname_result((system, "localhost", *rest))
    os.uname = lambda: nameless


def load_answering(course, packages):
    """Load torch and what runs an exercise, and forget where the course is. Returns `answering.answer`."""
    load_torch(packages)
    from course_tools.grading.sandbox.inside import answering  # here: it needs torch as it is set now

    sys.path.remove(course)
    for name in [name for name in sys.modules if name.startswith(("course_utils", "course_tools"))]:
        del sys.modules[name]
    return answering.answer
