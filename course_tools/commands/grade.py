"""python3 -m course_tools grade SUBMISSIONS --out GRADES: grade what a class handed in.

SUBMISSIONS is a folder or a zip, as downloaded. GRADES gets grades.csv, summary.html and feedback/ with
a page for each student.
"""

import argparse
import os
import signal
import sys
from pathlib import Path

from course_tools import environment, repository
from course_tools.grading.own_folder import OWN_CHAPTER, OWN_FOLDER, has_own_exercises
from course_tools.grading.platforms import PLATFORMS

MOST_QUESTIONS = 20  # as many as fit on a page
CONTAINER_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # a container's CPU time per period, in microseconds


def main(arguments):
    """Read the arguments, refuse bad ones before anything is installed or loaded, and grade."""
    options = parser().parse_args(arguments)
    if not options.doctor and (problem := problem_in_options(options)):
        sys.exit(problem)
    environment.run_with_environment("grade", arguments)
    from course_tools.grading import doctor, grading_run  # only now are all packages there
    from course_tools.grading.sandbox.protection import Unprotected  # as above

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # however it is stopped, it completes its files
    try:
        sys.exit(doctor.examine(options) if options.doctor else grading_run.grade(options))
    except KeyboardInterrupt:
        sys.exit("\nStopped. Run the same command again to continue.")
    except Unprotected as error:
        sys.exit(str(error))
    except OSError as error:
        trouble = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or error
        sys.exit(f"{trouble}. Fix this and run the same command again.")


def parser():
    """The command's options."""
    parser = argparse.ArgumentParser(prog="python3 -m course_tools grade", description=__doc__.partition("\n\n")[2])
    parser.add_argument(
        "submissions", type=Path, nargs="?", help="a folder or zip with one folder per student, or flat files"
    )
    parser.add_argument("--out", type=Path, help="the folder to write results to")
    parser.add_argument(
        "--chapters",
        type=int,
        nargs="+",
        metavar="N",
        help="the chapters that count (default: those in assignment.toml beside the submissions)",
    )
    parser.add_argument(
        "--new-assignment", action="store_true", help="write an assignment.toml for these --chapters; grade nothing"
    )
    parser.add_argument(
        "--seconds", type=float, default=60, metavar="N", help="wall-clock limit per submission (default: 60)"
    )
    parser.add_argument(
        "--workers", type=int, default=usable_processors(), metavar="N", help="number of submissions graded at once"
    )
    parser.add_argument(
        "--fewer", action="store_true", help="remove students in the last run who have no submission now"
    )
    parser.add_argument("--doctor", action="store_true", help="report this machine's protection and speed")
    parser.add_argument(
        "--autograder",
        type=Path,
        metavar="ZIP",
        help="write an autograder for Gradescope, using the assignment.toml beside it",
    )
    parser.add_argument(
        "--quiz", type=int, default=0, metavar="N", help="also write N questions about each student's own code"
    )
    parser.add_argument(
        "--oral", action="store_true", help="also write three such questions for a two-minute interview"
    )
    parser.add_argument("--preview", action="store_true", help="grade, show what would change, and write no grades")
    parser.add_argument(
        "--overwrite", action="store_true", help="also overwrite gradebook fields that contain different points"
    )
    parser.add_argument("--dask", metavar="ADDRESS", help="grade on the workers of this Dask cluster")
    for platform in PLATFORMS:
        platform.add_options(parser)
    parser.add_argument("--unsandboxed", action="store_true", help="grade even without protection from hostile code")
    return parser


def usable_processors():
    """How many processors this process may use, by the machine or the container's quota."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = CONTAINER_QUOTA.read_bytes().split()
        return max(min(own, round(int(quota) / int(period))), 1)
    except (OSError, ValueError):  # no container, or one without a quota
        return own


def problem_in_options(options):
    """A sentence on options that make no sense, or None."""
    if options.new_assignment and not options.chapters:
        return "Name the chapters that count: --chapters 3."
    holding = (source for source in repository.sources() if "exercise-" in source.read_text(encoding="utf-8"))
    there = [int(source.name[:2]) for source in holding]  # without the notes, which hold nothing to grade
    if options.submissions and not options.autograder and has_own_exercises(options.submissions):
        there.append(OWN_CHAPTER)
    if options.chapters and not set(options.chapters) <= set(there):
        own = f"; {OWN_CHAPTER} stands for your own exercises, in a folder {OWN_FOLDER} beside the submissions"
        return f"--chapters: there are exercises in chapters {', '.join(map(str, there))}{own}."
    if options.autograder:
        return None
    if not options.submissions:
        return "Name the submissions: grade downloads/ --out grades/ --chapters 3."
    if not options.submissions.exists():
        return f"{options.submissions} does not exist."
    if not options.submissions.is_dir() and options.submissions.suffix.lower() != ".zip":
        return f"{options.submissions} is neither a folder nor a zip."
    if not 0 < options.seconds <= 86400:
        return "--seconds must be above 0 and at most 86400 (a day)."
    if options.quiz and not 1 <= options.quiz <= MOST_QUESTIONS:
        return f"--quiz must be a number of questions from 1 to {MOST_QUESTIONS}."
    if options.workers < 1:
        return "--workers must be at least 1."
    if options.new_assignment:
        return None
    if not options.out:
        return "Name a folder for the grades: --out grades/."
    if options.out.resolve().is_relative_to(options.submissions.resolve()):
        return "--out is inside the submissions: choose a folder beside them."
    return None
