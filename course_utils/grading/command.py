"""One run of the `grade` command: find the submissions, grade what changed, write what people and platforms read."""

import sys
from functools import partial

from course_utils.grading import batch, pages, workers
from course_utils.grading.platforms import PLATFORMS
from course_utils.grading.process import Limits
from course_utils.grading.records import Store
from course_utils.grading.sandbox.protection import Unprotected, protection
from course_utils.grading.submissions import submissions
from course_utils.grading.terminal import Bar

NAMED = 5  # students in a sentence about many
MISSING = (
    "{} holds grades of students who have no submission here: {}. Put late submissions beside the others, or choose "
    "another --out; with --fewer, who is missing is removed."
)


def grade(options):
    """Grade, write everything, and give the exit status: 1 when a submission could not be graded."""
    exports = wanted_exports(options)
    if not options.dask:  # a cluster's workers each look for their own protection
        print(protection(), flush=True)
    found = submissions(options.submissions)
    if not found:
        sys.exit(f"{options.submissions} holds no submissions.")
    store = Store(options.out)
    gone = store.others(submission.student for submission in found)
    if gone and not options.fewer:
        sys.exit(MISSING.format(options.out, some(gone)))
    book = pages.Book(options.out, options.chapters)
    try:
        failed = grade_into(book, store, found, options)
        for key in gone:
            store.forget(key)
            book.remove(key)
    finally:  # however it ends: whole tables of all that is graded
        book.close()
    kept = [submission.student for submission in found if submission.student.key not in failed]
    for export in exports:
        reports = (
            (student.key, report, report.of(options.chapters)) for student in kept if (report := store.get(student))
        )
        for sentence in export.write(options.out, reports, book.scores):
            print(sentence)
    for key, reason in failed.items():
        print(f"{key} could not be graded: {reason}.", file=sys.stderr)
    print(f"{len(kept)} of {len(found)} submissions are graded: {options.out / 'summary.html'}")
    return 1 if failed else 0


def grade_into(book, store, found, options):
    """Grade what changed, and put every report into the book. Gives {key of a student: why it could not be graded}."""
    bar = Bar(len(found))

    def done(submission, report):
        if report:
            book.add(report)
        bar.step()

    executor = partial(workers.dask, options.dask) if options.dask else partial(workers.here, options.workers)
    try:
        return batch.grade_changed(found, store, executor, Limits(options.seconds, options.unsandboxed), done)
    except Unprotected as error:
        sys.exit(f"{error} To run them all the same: --unsandboxed.")


def some(names):
    """A few of many names, in words."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def wanted_exports(options):
    """What the platforms are to get. Ends with a sentence where a filled copy would take the place of another file."""
    exports, taken = [], set(pages.WRITTEN)
    for export in filter(None, (platform.export(options) for platform in PLATFORMS)):
        exports.append(export)
        if export.path is None:
            continue
        if export.path.name.casefold() in taken:
            sys.exit(f"{export.path}: {options.out} gets another file of this name, so rename it.")
        if export.path.resolve().parent == options.out.resolve():
            sys.exit(f"{export.path} lies where its filled copy will be written, so move it out of {options.out}.")
        taken.add(export.path.name.casefold())
    for export in exports:
        export.prepare()
    return exports
