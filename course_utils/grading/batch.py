"""From submissions to reports: what changed is graded, in parallel; every report is kept as soon as it is there."""

import functools
import hashlib
from collections import deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, wait
from importlib.metadata import version

from course_utils import repository
from course_utils.grading.grader import Task, grade_in_this_thread
from course_utils.grading.sandbox.protection import Unprotected


def grade_changed(submissions, store, executor, unsandboxed, done):
    """Grade what the store does not have yet. Gives {key of a student: why the submission could not be graded}.

    executor: gives, each time it is called, a context of (executor of concurrent.futures, tasks to keep in it). A new
    one is asked for when a worker was lost. done: called with each submission that is dealt with.
    Raises Unprotected when a worker's machine has no protection.
    """
    waiting = deque(submissions)
    suspects = deque()  # in work when a worker was lost: each goes on alone, so that only the guilty one is lost again
    failed = {}
    while waiting or suspects:
        alone = not waiting
        source = suspects if alone else waiting
        flying = {}
        try:
            with executor() as (pool, width):
                while source or flying:
                    while source and len(flying) < (1 if alone else width):
                        submission = source.popleft()
                        task = task_of(submission)
                        kept = store.get(submission.student)
                        if kept and kept.digest == task.digest:
                            done(submission)
                            continue
                        try:
                            flying[pool.submit(grade_in_this_thread, task, unsandboxed)] = submission
                        except BrokenExecutor:
                            source.appendleft(submission)
                            raise
                    for future in wait(flying, return_when=FIRST_COMPLETED).done:
                        keep(future, flying[future], store, failed)
                        done(flying.pop(future))
        except BrokenExecutor:
            if alone:
                for submission in flying.values():
                    failed[submission.student.key] = "it ended the process that grades it, twice"
                    done(submission)
            else:
                suspects.extend(flying.values())
    return failed


def keep(future, submission, store, failed):
    """Keep the report of a finished task, or note why there is none."""
    try:
        store.put(future.result())
    except (BrokenExecutor, Unprotected):
        raise
    except Exception as error:  # one submission's trouble is not the others'
        failed[submission.student.key] = f"{type(error).__name__}: {error}"


def task_of(submission):
    """A submission, read, on its way to whoever grades it."""
    notebooks, remarks = submission.read()
    digest = hashlib.sha256(grader().encode())
    for text in [repr(submission.student), *remarks]:
        digest.update(text.encode(errors="replace") + b"\0")
    for name, content in notebooks:
        digest.update(f"{name} {len(content)}\0".encode(errors="replace") + content)
    return Task(submission.student, notebooks, remarks, digest.hexdigest())


@functools.cache
def grader():
    """What identifies everything that a report depends on, beside the submission."""
    digest = hashlib.sha256(version("torch").encode())
    for path in [*sorted((repository.ROOT / "course_utils").rglob("*.py")), *repository.sources()]:
        digest.update(path.read_bytes())
    return digest.hexdigest()
