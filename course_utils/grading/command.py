"""One run of the `grade` command: find the submissions, grade what changed, write what people and platforms read."""

import sys
from functools import partial

from course_utils.grading import batch, pages, workers
from course_utils.grading.platforms import PLATFORMS
from course_utils.grading.records import Store
from course_utils.grading.sandbox.protection import Unprotected, protection
from course_utils.grading.submissions import submissions
from course_utils.grading.terminal import Bar


def grade(options):
    """Grade, write everything, and give the exit status: 1 when a submission could not be graded."""
    exports = wanted_exports(options)
    if not options.dask:  # a cluster's workers each look for their own protection
        print(protection(), flush=True)
    found = submissions(options.submissions)
    if not found:
        sys.exit(f"{options.submissions} holds no submissions.")
    options.out.mkdir(parents=True, exist_ok=True)
    store = Store(options.out)
    bar = Bar(len(found))
    executor = partial(workers.dask, options.dask) if options.dask else partial(workers.processes, options.workers)
    try:
        failed = batch.grade_changed(found, store, executor, options.unsandboxed, lambda submission: bar.step())
    except Unprotected as error:
        sys.exit(f"{error} To run them all the same: --unsandboxed.")
    kept = [submission.student for submission in found if submission.student.key not in failed]
    chapters = options.chapters or sorted({chapter for student in kept for chapter in store.get(student).chapters})
    scores = pages.write_all(options.out, map(store.get, kept), chapters)
    for export in exports:
        reports = ((student.key, report, report.of(chapters)) for student in kept if (report := store.get(student)))
        for sentence in export.write(options.out, reports, scores):
            print(sentence)
    for key, reason in failed.items():
        print(f"{key} could not be graded: {reason}.", file=sys.stderr)
    print(f"{len(scores)} of {len(found)} submissions are graded: {options.out / 'summary.html'}")
    return 1 if failed else 0


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
