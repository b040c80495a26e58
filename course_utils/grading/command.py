"""python3 -m course_utils grade SUBMISSIONS --out GRADES: grade what a class handed in.

SUBMISSIONS is a folder or a zip, as it was downloaded. GRADES gets grades.csv, summary.html and
feedback/, a page a student.
"""

import argparse
import os
import sys
from functools import partial
from pathlib import Path

from course_utils import files
from course_utils.launch import environment


def main(arguments):
    """Read the arguments, and grade."""
    options = parser().parse_args(arguments)
    environment.become(environment.python_with("requirements.txt"), "grade", arguments)
    try:
        sys.exit(grade(options))
    except KeyboardInterrupt:
        sys.exit("\nStopped. Run the same command again to go on from here.")
    except OSError as error:
        sys.exit(f"{error.filename or 'A file'}: {error.strerror or error}. What was written so far is complete.")


def parser():
    """What the command understands."""
    parser = argparse.ArgumentParser(prog="python3 -m course_utils grade", description=__doc__.partition("\n\n")[2])
    parser.add_argument("submissions", type=Path, help="a folder or a zip: a folder a student, or flat files")
    parser.add_argument("--out", type=Path, required=True, help="the folder for what is written")
    parser.add_argument(
        "--chapters",
        type=int,
        nargs="+",
        metavar="N",
        help="the chapters that count (otherwise all that anyone handed in)",
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count(), metavar="N", help="processes at once")
    parser.add_argument("--dask", metavar="ADDRESS", help="grade on the workers of this Dask cluster")
    parser.add_argument("--gradescope", action="store_true", help="also write results.json, one for each submission")
    parser.add_argument("--canvas", type=Path, metavar="CSV", help="also fill a copy of the gradebook from Canvas")
    parser.add_argument("--column", metavar="NAME", help="the assignment in Canvas's file, where there are several")
    parser.add_argument("--moodle", type=Path, metavar="CSV", help="also fill a copy of the worksheet from Moodle")
    parser.add_argument(
        "--unsandboxed", action="store_true", help="go on where this machine has no protection from hostile code"
    )
    return parser


def grade(options):
    """Grade, write everything, and give the exit status: 1 when a submission could not be graded."""
    from course_utils.grading import executors, report, run, sandbox
    from course_utils.grading.progress import Bar
    from course_utils.grading.submissions import submissions

    check(options)
    if not options.dask:  # a cluster's workers each look for their own protection
        print(sandbox.protection(), flush=True)
    found = submissions(options.submissions)
    if not found:
        sys.exit(f"{options.submissions} holds no submissions.")
    files_to_fill = sheets(options)  # read before hours of grading, not after
    options.out.mkdir(parents=True, exist_ok=True)
    store = run.Store(options.out)
    bar = Bar(len(found))
    executor = partial(executors.dask, options.dask) if options.dask else partial(executors.processes, options.workers)
    try:
        failed = run.run(found, store, executor, options.unsandboxed, lambda submission: bar.step())
    except sandbox.Unprotected as error:
        sys.exit(f"{error} To run them all the same: --unsandboxed.")
    kept = [submission.student for submission in found if submission.student.key not in failed]
    chapters = options.chapters or sorted({chapter for student in kept for chapter in store.get(student).chapters})
    scores = report.write_all(options.out, map(store.get, kept), chapters)
    write_platforms(options, store, scores, chapters, files_to_fill)
    for key, reason in failed.items():
        print(f"{key} could not be graded: {reason}.", file=sys.stderr)
    print(f"{len(scores)} of {len(found)} submissions are graded: {options.out / 'summary.html'}")
    return 1 if failed else 0


def check(options):
    """End with a sentence where the options make no sense."""
    if not options.submissions.exists():
        sys.exit(f"{options.submissions} does not exist.")
    if not options.submissions.is_dir() and options.submissions.suffix.lower() != ".zip":
        sys.exit(f"{options.submissions} is neither a folder nor a zip.")
    if options.chapters:
        from course_utils.exercises import CHAPTERS  # here, since it loads torch: other slips are named at once

        if not set(options.chapters) <= set(range(1, len(CHAPTERS) + 1)):
            sys.exit(f"--chapters: there are the chapters 1 to {len(CHAPTERS)}.")
    if options.workers < 1:
        sys.exit("--workers needs a number from 1 on.")
    if options.out.resolve().is_relative_to(options.submissions.resolve()):
        sys.exit("--out lies inside the submissions: choose a folder beside them.")
    check_copies(options)
    if options.dask:
        try:
            import distributed  # noqa: F401
        except ImportError:
            sys.exit("--dask needs a package that the course does not: pip install distributed.")


def check_copies(options):
    """End with a sentence where a filled copy would take the place of another file."""
    from course_utils.grading.report import WRITTEN

    taken = set(WRITTEN)
    for path in filter(None, (options.canvas, options.moodle)):
        if path.name.casefold() in taken:
            sys.exit(f"{path}: {options.out} gets another file of this name, so rename it.")
        if path.resolve().parent == options.out.resolve():
            sys.exit(f"{path} lies where its filled copy will be written, so move it out of {options.out}.")
        taken.add(path.name.casefold())


# --- files of learning platforms --------------------------------------------------------------------------------------


def sheets(options):
    """[(platform, path, bytes)] of the files to fill in. Ends with a sentence when one cannot be."""
    from course_utils.grading import lms

    given = [(lms.CANVAS, options.canvas), (lms.MOODLE, options.moodle)]
    found = [(platform, path, path.read_bytes()) for platform, path in given if path]
    for platform, path, content in found:
        fill(platform, path, content, [], options.column)
    return found


def fill(platform, path, content, scores, column):
    """`lms.fill`, or the end with a sentence that names the file."""
    from course_utils.grading import lms

    try:
        return lms.fill(content, platform, scores, column)
    except lms.Unusable as error:
        sys.exit(f"{path} cannot be filled: {error}.")


def write_platforms(options, store, scores, chapters, files_to_fill):
    """Write what Gradescope, Canvas and Moodle read."""
    from course_utils.grading import lms

    if options.gradescope:
        alone = len(scores) == 1  # as on Gradescope itself, which looks for results.json in the folder that it gave
        for student, _, _ in scores:
            folder = options.out if alone else options.out / "gradescope" / student.key
            lms.write_gradescope(folder / "results.json", store.get(student), chapters)
    for platform, path, content in files_to_fill:
        filled, remarks = fill(platform, path, content, scores, options.column)
        files.replace(options.out / path.name, filled)
        print(f"{options.out / path.name} is {path.name} with the points in it: import it into {platform.name}.")
        for remark in remarks:
            print(f"  {remark}")
