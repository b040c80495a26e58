"""Inside the process that can be killed: take tasks, grade them, and send every report so far."""

import contextlib
import json
import os
import pickle
import queue
import sys
import threading

from course_tools.grading import grader
from course_tools.grading.reports import report_to_json
from course_tools.grading.sandbox import allowed_imports, fork_client
from course_tools.grading.sandbox.inside import answering, fork_server
from course_tools.grading.sandbox.protection import Unprotected, protection
from course_tools.grading.sandbox.sandbox import Sandbox

MEMORY = 2**30  # bytes of address space for one submission, beside what is loaded


def serve(words):
    """Grade tasks from standard input until it closes. words: "unsandboxed", or nothing."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever prints, prints there
    try:
        sandbox = Sandbox(protection(unsandboxed=True) if words == "unsandboxed" else None)
        sandbox.__enter__()
    except Unprotected as error:
        send(out, unprotected=str(error))
        return
    limit_memory()
    send(out, ready=True)
    incoming = queue.SimpleQueue()  # during a task, a thread notices the grader's end and ends this process
    threading.Thread(target=receive_tasks, args=[incoming], daemon=True).start()
    while True:
        task, known = incoming.get()
        grader.remembered_results |= known
        grade_and_send(task, sandbox, out)


def serve_as_fork(words):
    """The same in a fork, with three open files: for tasks, for reports, and for forking."""
    os.dup2(fork_server.FIRST_FILE, 0)
    os.dup2(fork_server.FIRST_FILE + 1, 1)
    fork_client.fork_server_with_torch.inherit(fork_server.FIRST_FILE + 2)
    serve(words)


def serve_forks():
    """In a fork: load whatever every grading process needs, and fork those."""
    sys.dont_write_bytecode = False  # it loads more of the course than its parent
    # right answers draw nothing; magics are read by IPython
    sys.meta_path.insert(
        0, answering.SilencedImports([name for name in allowed_imports.silenced_packages() if name != "IPython"])
    )
    grader.provided_lines()  # every submission is compared with them
    with contextlib.suppress(Unprotected):  # a later request gets the message
        protection()
    fork_server.fork_on_request(fork_server.FIRST_FILE)


def grade_and_send(task, sandbox, out):
    """Send the reports of a task, each more complete than the one before, and each result that is new."""
    sent = len(grader.remembered_results)

    def tell(report, whole=False):
        nonlocal sent
        if found := dict(list(grader.remembered_results.items())[sent:]):
            send(out, known=found)
            sent += len(found)
        send(out, report=json.dumps(report_to_json(report)), whole=whole)

    try:
        tell(grader.grade_submission(task, sandbox, tell), whole=True)
    except MemoryError:
        send(out, memory=True)
    except Exception as error:
        send(out, trouble=f"{type(error).__name__}: {error}")
        raise


def send(out, **message):
    """Write a line that `grading_process` reads."""
    print(json.dumps(message), file=out, flush=True)


def receive_tasks(incoming):
    """Receive tasks, each with results from other processes, until there are no more."""
    while True:
        try:
            incoming.put(pickle.load(sys.stdin.buffer))
        except MemoryError:
            os._exit(1)
        except (EOFError, pickle.UnpicklingError):  # the grader has ended, perhaps in the middle
            os._exit(0)


def limit_memory():
    """Limit memory to MEMORY from now on; the sandbox's server, already running, sets its own limit."""
    if sys.platform == "linux":
        import resource  # here: other systems have no such limit, or none that works

        from course_tools.grading.sandbox.inside import isolation  # here: Linux only

        _, highest = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (isolation.address_space() + MEMORY, highest))
