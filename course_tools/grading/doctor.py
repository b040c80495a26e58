"""A quick test of this machine: its protection, whether its grades are right, and its speed."""

import itertools
import re
import sys
import time

from course_tools.grading.grading_process import Limits, end_all, grade_in_own_process
from course_tools.grading.reports import Student, Task
from course_tools.grading.sandbox.protection import Protection, protection
from course_tools.repository import ROOT

CHAPTER = 3
RESULTS_CAN_BE_FORGED = "An answer can therefore also change its own result."
ROUNDS = 5  # submissions that are timed
DEFINITION = re.compile(rb'("(?:def|class) [^"\\]*:)\\n')  # the first line of one, in a notebook's JSON
copy_numbers = itertools.count()


def examine(options):
    """Print the findings, and return the exit status: 1 if this machine cannot grade."""
    limits = Limits(options.seconds, options.unsandboxed)
    try:
        found = protection(options.unsandboxed)
        print(found if found is not Protection.NONE else f"{found} {RESULTS_CAN_BE_FORGED}", flush=True)
        untouched, solved = (graded_copy(folder, limits) for folder in ("notebooks", "solutions"))
        begin = time.monotonic()
        for _ in range(ROUNDS):
            graded_copy("solutions", limits)
        each = (time.monotonic() - begin) / ROUNDS
    except Exception as error:
        print(f"Grading does not work here: {error}", file=sys.stderr)
        return 1
    finally:
        end_all()
    right = total_points(untouched) == 0 and total_points(solved) == sum(entry.result.max_points for entry in solved)
    words = "as expected" if right else "which is wrong: do not grade on this machine"
    print(
        f"A solved chapter gets {total_points(solved)} points and an untouched one {total_points(untouched)}, {words}."
    )
    print(f"One solved chapter takes about {each:.2f} s; wrong answers take longer. --workers is {options.workers}.")
    return 0 if right else 1


def graded_copy(folder, limits):
    """The graded exercises of a chapter's notebook from one of the course's folders.

    Each copy has a different comment in every answer, since an answer that was seen before is not run again.
    """
    (path,) = (ROOT / folder).glob(f"{CHAPTER:02}_*.ipynb")
    content = DEFINITION.sub(rb"\1  # copy %d\\n" % next(copy_numbers), path.read_bytes())
    task = Task(Student("doctor", "Doctor"), [((path.name,), content)], [], "", limits.seconds)
    report, _ = grade_in_own_process(task, limits)
    return report.in_chapters([CHAPTER])


def total_points(graded):
    """The points of graded exercises."""
    return sum(entry.points for entry in graded)
