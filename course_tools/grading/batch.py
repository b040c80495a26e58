"""From submissions to reports: changed submissions are graded in parallel, and every report is stored at once."""

import functools
import hashlib
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import replace
from importlib.metadata import version

from course_tools import repository
from course_tools.grading.grading_process import grade_in_own_process
from course_tools.grading.reports import Task
from course_tools.grading.sandbox.protection import Unprotected


def grade_changed(
    submissions,
    store,
    executor,
    limits,
    done,
    asks_for_regrade=lambda student: False,
    seed="",
    quiz=None,
    own=lambda student: (),
):
    """Grade what the store does not have yet. Returns {key of a student: why the submission could not be graded}.

    executor(): a context manager for (concurrent.futures executor, tasks to keep in it, a function that shares new
    results with all workers). limits: a grading_process.Limits. done: called with each finished submission and
    its report, or None. asks_for_regrade: whether a student's submission is graded although nothing changed. seed:
    a private one, or "". quiz: the fields of a Task on questions; None for none.
    own(student): the files of the instructor's own exercises for this student.
    Raises Unprotected when a worker's machine has no protection, OSError when a report cannot be kept.
    """
    waiting, in_progress, failed = iter(submissions), {}, {}
    with executor() as (pool, width, share_results):
        while True:
            while len(in_progress) < width and (submission := next(waiting, None)):
                task = task_for(submission, limits, seed, quiz, own(submission.student))
                kept = store.get(submission.student)
                if kept and kept.digest.startswith(task.digest) and not asks_for_regrade(task.student):
                    done(submission, replace(kept, student=submission.student, late=submission.late))
                else:
                    in_progress[pool.submit(grade_in_own_process, task, limits)] = submission
            if not in_progress:
                return failed
            for future in wait(in_progress, return_when=FIRST_COMPLETED).done:
                submission = in_progress.pop(future)
                report, found = result_of(future, submission, failed)
                if found:
                    share_results(found)
                if report:
                    store.put(report)
                done(submission, report)


def result_of(future, submission, failed):
    """(the report of a finished task, its new results); (None, {}), with the reason noted, if there is none."""
    try:
        return future.result()
    except Unprotected:
        raise
    except Exception as error:  # one failed submission does not affect the others
        failed[submission.student.key] = f"{type(error).__name__}: {error}"
        return None, {}


def task_for(submission, limits, seed="", quiz=None, own=()):
    """The Task of a submission. Its digest without a quiz is the beginning of its digest with one."""
    files, remarks = submission.read()
    digest = hashlib.sha256()
    for text in [submission.student.key, *remarks]:  # a student's name changes no answer
        digest.update(text.encode(errors="replace") + b"\0")
    for parts, content in files:
        digest.update(f"{'/'.join(parts)} {len(content)}\0".encode(errors="replace") + content)
    private = hashlib.sha256(repr((seed, own)).encode()).hexdigest() if seed or own else "-"
    known = f"{digest.hexdigest()} {course_digest()} {limits.seconds},{limits.unsandboxed} {private} "
    known += hashlib.sha256(repr(quiz).encode()).hexdigest() if quiz else ""
    return Task(
        submission.student, files, remarks, known, limits.seconds, submission.late, **(quiz or {}), seed=seed, own=own
    )


@functools.cache
def course_digest():
    """What identifies everything that a report depends on, besides the submission."""
    digest = hashlib.sha256(version("torch").encode())
    own = (path for house in repository.HOUSES for path in sorted((repository.ROOT / house).rglob("*")))
    for path in [*own, *repository.sources()]:
        if path.suffix in (".py", ".toml"):
            digest.update(path.read_bytes())
    return digest.hexdigest()
