"""From submissions to reports: changed submissions are graded in parallel, and every report is stored at once.

Explaining a wrong answer takes longer than grading it, so all points come first, then all explanations.
"""

import functools
import hashlib
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import replace
from importlib.metadata import version

from course_tools import repository
from course_tools.grading.grading_process import grade_in_own_process
from course_tools.grading.reports import Task
from course_tools.grading.sandbox.protection import Unprotected
from course_utils.judging.result import NOT_YET


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
    explained=lambda submission, report: None,
    points_are_there=lambda: None,
):
    """Grade what the store does not have yet. Returns {key of a student: why the submission could not be graded}.

    executor(): a context manager for (concurrent.futures executor, tasks to keep in it, a function that shares new
    results with all workers). limits: a grading_process.Limits. done: called with each finished submission and
    its report, or None. asks_for_regrade: whether a student's submission is graded although nothing changed. seed:
    a private one, or "". quiz: the fields of a Task on questions; None for none.
    own(student): the files of the instructor's own exercises for this student. points_are_there: called when all
    points are there, but not all explanations; then explained: called as `done` is, for each submission with more.
    Raises Unprotected when a worker's machine has no protection, OSError when a report cannot be kept.
    """
    failed, unexplained = {}, []

    def task_of(submission):
        return task_for(submission, limits, seed, quiz, own(submission.student))

    def changed():
        for submission in submissions:
            task, kept = task_of(submission), store.get(submission.student)
            if not kept or not kept.digest.startswith(task.digest) or asks_for_regrade(task.student):
                yield submission, replace(task, explained=False)
                continue
            kept = replace(kept, student=submission.student, late=submission.late)
            done(submission, kept)
            if kept.incomplete:
                unexplained.append((submission, kept))

    with executor() as executing:
        for submission, report in graded(changed(), limits, executing, failed):
            if report:
                store.put(report)
            done(submission, report)
            if report and report.incomplete:
                unexplained.append((submission, report))
        if not unexplained:
            return failed
        points_are_there()
        given = {submission.student.key: report for submission, report in unexplained}
        tasks = ((submission, task_of(submission)) for submission, _ in unexplained)
        for submission, more in graded(tasks, limits, executing, {}):
            report = with_explanations(given[submission.student.key], more)
            store.put(report)
            explained(submission, report)
    return failed


def graded(tasks, limits, executing, failed):
    """(submission, its report or None) of each (submission, Task), as soon as it is there.

    executing: what an executor() of `grade_changed` gives. failed: gets why a submission could not be graded.
    """
    (pool, width, share_results), waiting, in_progress = executing, iter(tasks), {}
    while True:
        while len(in_progress) < width and (following := next(waiting, None)):
            submission, task = following
            in_progress[pool.submit(grade_in_own_process, task, limits)] = submission
        if not in_progress:
            return
        for future in wait(in_progress, return_when=FIRST_COMPLETED).done:
            submission = in_progress.pop(future)
            report, found = result_of(future, submission, failed)
            if found:
                share_results(found)
            yield submission, report


def with_explanations(report, more):
    """A report with what a later one of the same submission adds, which changes no points; None adds nothing."""
    if not more:
        return replace(report, incomplete=False)
    later = {entry.result.id: entry.result for entry in more.graded}
    entries = [
        replace(entry, result=later[entry.result.id])
        if entry.result.status == NOT_YET == later[entry.result.id].status
        else entry
        for entry in report.graded
    ]
    return replace(report, graded=entries, quiz=more.quiz, incomplete=False)


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
