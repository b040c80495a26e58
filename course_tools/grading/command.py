"""One run of the `grade` command: find the submissions, grade what changed, write what people and platforms read."""

import contextlib
import os
import sys
from functools import partial

from course_tools.grading import assignment as rules
from course_tools.grading import autograder, batch, claims, pages, workers
from course_tools.grading.history import History, table
from course_tools.grading.platforms import PLATFORMS
from course_tools.grading.process import Limits
from course_tools.grading.records import Store, printable
from course_tools.grading.sandbox import strays
from course_tools.grading.sandbox.protection import Unprotected, Untried, protection
from course_tools.grading.submissions import submissions
from course_tools.grading.terminal import Bar

NAMED = 5  # students in a sentence about many
MISSING = (
    "{} holds grades of students who have no submission here: {}. Put late submissions beside the others, a new "
    "download in the place of the old zip, or choose another --out; with --fewer, who is missing is removed."
)
TAKEN = "{} holds files that no earlier run has written: {}. Move them away, or choose another --out."


def grade(options):
    """Grade, write everything, and give the exit status: 1 when a submission could not be graded."""
    if options.autograder:
        most = sum(rules.of_chapters(options.chapters, points_of_course()).values())
        print(autograder.write(options.autograder, options.chapters, most))
        return 0
    if options.new_assignment:
        print(rules.write_new(options.submissions, options.chapters, points_of_course()))
        return 0
    assignment = rules.read(options.submissions, options.chapters, points_of_course)
    exports = wanted_exports(options)
    if not options.dask:  # a cluster's workers each look for their own protection
        try:
            print(protection(options.unsandboxed), flush=True)
        except Untried as error:
            sys.exit(str(error))
    found = submissions(options.submissions)
    if not found:
        sys.exit(f"{options.submissions} holds no submissions.")
    store = Store(options.out)
    students = [submission.student for submission in found]
    assignment = assignment.among(students)
    gone = store.others(students)
    if gone and not options.fewer:
        sys.exit(MISSING.format(options.out, some(gone)))
    if not options.preview:
        own = [*pages.WRITTEN, *(pages.PAGE.format(student.key) for student in students)]
        own += [name for export in exports for name in export.written(students)]
        if others := claims.claim(options.out, own):
            sys.exit(TAKEN.format(options.out, some(others)))
    history = History(store)
    if history.trouble:
        print(history.trouble)
    names = {key: name for export in exports for key, name in export.names(students).items()}
    book = pages.Book(options.out, assignment, history, options.preview, names)
    try:
        failed = grade_into(book, store, found, options)
    except BaseException:  # however it ends: whole tables of all that is graded
        book.close()
        raise
    for sentence in [*table(history.changes(book.entries)), *excused(book), *strangers(assignment, students)]:
        print(sentence)
    for export in exports:
        for sentence in export.plan(book.scores, history.filled):
            print(printable(sentence))  # it quotes the gradebook, where students choose what they are called
    if not options.preview:
        for key in gone:
            store.forget(key)
            book.remove(key)
        book.close()
        write_exports(exports, options.out, found, store, assignment)
        history.write(book.entries, {name: values for export in exports for name, values in export.values.items()})
    print(ending(book, len(found)))
    for key, reason in failed.items():
        print(f"{key} could not be graded: {reason}.", file=sys.stderr)
    return 1 if failed else 0


def write_exports(exports, out, found, store, assignment):
    """Write what the platforms get."""
    for export in exports:
        kept = filter(None, (store.get(submission.student) for submission in found))
        reports = ((report.student.key, report, assignment.marked(report)) for report in kept)
        for sentence in export.write(out, reports):
            print(sentence)


def ending(book, number):
    """The sentence on what a run did. number: of submissions."""
    graded = f"{len(book.entries)} of {number} submissions are graded"
    if not book.preview:
        return f"{graded}: {book.out / 'summary.html'}"
    return f"{graded}{'' if book.history.students else ', all for the first time'}. A preview: no grades were written."


def excused(book):
    """Sentences on who is excused, and on who is from some exercises."""
    if names := sorted(student.name for student, _ in book.seen.excused):
        yield f"{rules.DECISIONS}: excused, so that nothing is filled in: {some(names)}."
    if names := sorted(f"{student.name} ({', '.join(ids)})" for student, ids in book.seen.excused_from):
        yield f"{rules.DECISIONS}: excused from what does not count then: {some(names)}."


def strangers(assignment, students):
    """Sentences on rows of adjustments.csv that are about nobody here, or about nobody knows whom."""
    known = {name for student in students for name in rules.names_of(student)}
    for name in sorted(assignment.decisions.keys() - known):
        yield f"{rules.DECISIONS}: {name} has no submission here, so nothing was changed."
    for name in sorted(assignment.decisions.keys() & assignment.shared.keys()):
        keys = assignment.shared[name]
        few = f"{len(keys)} students here, so nothing was changed. Their pages tell them apart"
        yield f"{rules.DECISIONS}: {name} could be {few}: {some(keys)}."


def grade_into(book, store, found, options):
    """Grade what changed, and put every report into the book. Gives {key of a student: why it could not be graded}."""
    bar = Bar(len(found))

    def done(submission, report):
        if report:
            book.add(report)
        bar.step()

    executor = partial(workers.dask, options.dask) if options.dask else partial(workers.here, options.workers)
    limits = Limits(options.seconds, options.unsandboxed)
    try:  # results are written when nothing runs any more that could write them again
        with strays.ended() if options.unsandboxed else contextlib.nullcontext():
            return batch.grade_changed(found, store, executor, limits, done, book.assignment.wants_again)
    except Untried as error:
        sys.exit(str(error))
    except Unprotected as error:
        sys.exit(f"{error} To run them all the same: --unsandboxed.")


def points_of_course():
    """{id of each exercise: its points}."""
    from course_utils.exercises import EXERCISES  # here: it loads torch, which the main process mostly does without

    return {id: exercise.points for id, exercise in EXERCISES.items()}


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
        if os.path.dirname(os.path.realpath(export.path)) == os.path.realpath(options.out):
            sys.exit(f"{export.path} lies where its filled copy will be written, so move it out of {options.out}.")
        taken.add(export.path.name.casefold())
    for export in exports:
        export.prepare()
    return exports
