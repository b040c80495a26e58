"""One run of the `grade` command: find the submissions, grade what changed, write what people and platforms read."""

import contextlib
import itertools
import os
import sys
from dataclasses import replace
from functools import partial

from course_tools.grading import assignment as rules
from course_tools.grading import (
    batch,
    grades_and_pages,
    gradescope_autograder,
    no_points,
    output_folder,
    own_of_students,
    quiz_pages,
    workers,
)
from course_tools.grading.grading_process import Limits
from course_tools.grading.last_run import LastRun, table_of_changes
from course_tools.grading.own_folder import OWN_CHAPTER, has_own_exercises, own_folder
from course_tools.grading.platforms import PLATFORMS
from course_tools.grading.progress import Progress
from course_tools.grading.reports import ReportStore, printable
from course_tools.grading.roster import read_roster
from course_tools.grading.sandbox import leftover_processes
from course_tools.grading.sandbox.protection import Protection, protection
from course_tools.grading.submissions import submissions
from course_utils import files

MOST_NAMED = 5  # students named in a sentence about many
STUDENTS_MISSING = (
    "{} has grades for students with no submission here: {}. Put late submissions beside the others, replace the old "
    "zip with the new one, or choose another --out. To remove the missing students, use --fewer."
)
POINTS_FIRST = "All points are in {}. Explanations of wrong answers follow."
FILES_OF_OTHERS = "{} contains files that no earlier run wrote: {}. Move them away, or choose another --out."


def grade(options):
    """Grade, write everything, and return the exit status: 1 if a submission could not be graded."""
    if options.autograder:
        assignment = rules.read_assignment(options.autograder, options.chapters, points_of_course)
        points = rules.points_of_chapters(assignment.chapters, points_of_course()) | assignment.points
        counted = rules.points_of_chapters(assignment.chapters, points)
        print(gradescope_autograder.write_autograder(options.autograder, assignment, sum(counted.values())))
        return 0
    if options.new_assignment:
        print(rules.write_new(options.submissions, options.chapters, points_of_course(options)))
        return 0
    assignment = rules.read_assignment(options.submissions, options.chapters, partial(points_of_course, options))
    if own_files(options):
        assignment = replace(assignment, chapters=[*assignment.chapters, OWN_CHAPTER])
    exports, roster = wanted_exports(options), read_roster(options.submissions)
    if not options.dask:  # each worker of a cluster tests its own protection
        print(held := protection(options.unsandboxed), flush=True)
        if options.gradescope and held is Protection.NONE:  # an answer could read the seed and reveal it
            assignment = replace(assignment, seed="", seed_is_public=True)
    found = submissions(options.submissions, roster)
    if not found:
        sys.exit(f"{options.submissions} contains no submissions.")
    store = ReportStore(options.out)
    students = [submission.student for submission in found]
    late = {key for export in exports for key in export.late(students)}
    found = [replace(submission, said_late=submission.student.key in late) for submission in found]
    names = {key: printable(name) for export in exports for key, name in export.full_names(students).items()}
    names |= {student.key: student.name for student in students if student.called}  # the roster's
    assignment = assignment.for_class(students, names)
    own_of = own_files_by_student(options, students, names)
    gone = store.keys_of_others(students)
    if gone and not options.fewer:
        sys.exit(STUDENTS_MISSING.format(options.out, first_names(gone)))
    if not options.preview:
        own = [
            *grades_and_pages.TABLES_AND_SUMMARY,
            no_points.FILE,
            *(grades_and_pages.STUDENT_PAGE.format(student.key) for student in students),
        ]
        own += [name for export in exports for name in export.file_names(students)]
        own += quiz_pages.file_names(options)
        if others := output_folder.claim_files(options.out, own):
            sys.exit(FILES_OF_OTHERS.format(options.out, first_names(others)))
    last_run = LastRun(store)
    if last_run.problem:
        print(last_run.problem)
    outputs = grades_and_pages.GradesAndPages(store, assignment, options.preview, names)
    try:
        failed = grade_into(outputs, store, found, options, own_of)
    except BaseException:  # however it ends, write whole tables of all that is graded
        outputs.close()
        raise
    planned = (export.planned_changes(outputs.scores, last_run.filled) for export in exports)
    for sentence in [
        *table_of_changes(last_run.changes(outputs.entries)),
        *excused_students(outputs.graded.values()),
        *adjustments_for_nobody(assignment, students),
        *itertools.chain.from_iterable(planned),
    ]:
        print(printable(sentence))  # it may quote a gradebook, where students choose their own names
    if not options.preview:
        for key in gone:
            store.forget(key)
            outputs.page(key).unlink(missing_ok=True)
        outputs.close()
        rows = no_points.rows_of(students, outputs.graded, failed, roster, exports)
        files.replace(options.out / no_points.FILE, grades_and_pages.csv_table(no_points.COLUMNS, rows))
        write_exports(exports, options.out, outputs.graded.values())
        reports = [outputs.graded[key][0] for key in sorted(outputs.graded)]
        for sentence in quiz_pages.write(options, reports, names):
            print(sentence)
        last_run.write(outputs.entries, {name: values for export in exports for name, values in export.values.items()})
    print(closing_sentence(outputs, len(found), last_run))
    for key, reason in failed.items():
        print(f"{key} could not be graded: {reason}.", file=sys.stderr)
    return 1 if failed else 0


def write_exports(exports, out, graded):
    """Write the files for the platforms, from (report, its Grade) of all students."""
    for export in exports:
        for sentence in export.write(out, graded):
            print(sentence)


def closing_sentence(outputs, number, last_run):
    """A sentence on the result of a run. number: of submissions."""
    graded = f"{len(outputs.graded)} of {number} submissions were graded"
    if not outputs.preview:
        return f"{graded}: {outputs.out / 'summary.html'}"
    first = "" if last_run.students else ", all of them for the first time"
    return f"{graded}{first}. This was a preview: no grades were written."


def excused_students(graded):
    """Sentences on students who are excused, wholly or from some exercises. graded: (report, its Grade) of all."""
    if names := sorted(report.student.name for report, grade in graded if grade.excused):
        yield f"{rules.ADJUSTMENTS_FILE}: these students are excused, so nothing is filled in: {first_names(names)}."
    others = ((report.student.name, grade.excused_from) for report, grade in graded if not grade.excused)
    if names := sorted(f"{name} ({', '.join(ids)})" for name, ids in others if ids):
        yield f"{rules.ADJUSTMENTS_FILE}: these students are excused from some exercises: {first_names(names)}."


def adjustments_for_nobody(assignment, students):
    """Sentences on rows of adjustments.csv that match no student here, or several."""
    known = {name for student in students for name in rules.names_of_student(student)}
    for name in sorted(assignment.adjustments.keys() - known):
        yield f"{rules.ADJUSTMENTS_FILE}: {name} has no submission here, so nothing was changed."
    for name in sorted(assignment.adjustments.keys() & assignment.shared_names.keys()):
        keys = assignment.shared_names[name]
        few = f"{len(keys)} students here, so nothing was changed. Use the names of their pages"
        yield f"{rules.ADJUSTMENTS_FILE}: {name} could be {few}: {first_names(keys)}."


def grade_into(outputs, store, found, options, own_of):
    """Grade what changed, and add every report. Returns {key of a student: why it could not be graded}.

    own_of(student): the files of the instructor's own exercises for this student.
    """
    progress = Progress(len(found))

    def done(submission, report):
        if report:
            outputs.add(report)
        progress.step()

    executor = (
        partial(workers.dask_workers, options.dask) if options.dask else partial(workers.local_workers, options.workers)
    )

    def explained(submission, report):
        outputs.add(report)

    def points_are_there():
        outputs.close()
        if not options.preview:
            print(POINTS_FIRST.format(options.out / "grades.csv"), flush=True)

    limits = Limits(options.seconds, options.unsandboxed)
    quiz = quiz_pages.asked_for(options, outputs.assignment)
    # results are written when nothing is still running that could overwrite them
    with leftover_processes.killed_afterwards() if options.unsandboxed else contextlib.nullcontext():
        return batch.grade_changed(
            found,
            store,
            executor,
            limits,
            done,
            outputs.assignment.asks_for_regrade,
            outputs.assignment.seed,
            quiz,
            own_of,
            explained,
            points_are_there,
        )


def points_of_course(options=None):
    """{id of each exercise: its points}. options: of a run, which may have the instructor's own exercises."""
    from course_utils.exercises import EXERCISES  # here: it loads torch, which the main process rarely needs

    own = own_exercises_of(options) if options else {}
    return {id: exercise.points for id, exercise in (EXERCISES | own).items()}


def own_files(options):
    """The files of the instructor's own exercises, or ()."""
    if not has_own_exercises(options.submissions):
        return ()
    from course_tools.grading import own_exercises  # here: it loads torch

    return own_exercises.files_in(own_folder(options.submissions))


def own_files_by_student(options, students, names):
    """student -> the files of the instructor's own exercises. names: {key of a student: name in a gradebook}."""
    of_class = own_files(options)
    if not of_class:
        return lambda student: ()
    of_students, sentences = own_of_students.files_by_student(
        own_folder(options.submissions), of_class, students, names
    )
    for sentence in sentences:
        print(printable(sentence))
    return lambda student: of_students.get(student.key, of_class)


def own_exercises_of(options):
    """{id: the instructor's own exercise}."""
    files = own_files(options)
    if not files:
        return {}
    from course_tools.grading import own_exercises  # here: it loads torch

    return own_exercises.exercises_of(files)


def first_names(names):
    """A few of many names, in words."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def wanted_exports(options):
    """The exports for the platforms. Ends with a sentence if a filled copy would replace another file."""
    exports, taken = [], {*grades_and_pages.TABLES_AND_SUMMARY, no_points.FILE}
    for export in filter(None, (platform.export(options) for platform in PLATFORMS)):
        exports.append(export)
        if export.path is None:
            continue
        if export.path.name.casefold() in taken:
            sys.exit(f"{export.path}: grading writes another file of this name to {options.out}, so rename yours.")
        if os.path.dirname(os.path.realpath(export.path)) == os.path.realpath(options.out):
            sys.exit(f"The filled copy of {export.path} would overwrite it, so move it out of {options.out}.")
        taken.add(export.path.name.casefold())
    for export in exports:
        export.prepare()
    return exports
