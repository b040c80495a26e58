"""How fast is the grader, as ratios: to nbgrader on the same submissions, of two workers to one? And its memory?

    python -m tests.benchmarks.grading NBGRADER_PYTHON [ROUNDS] [MANY]

NBGRADER_PYTHON is the Python of an environment with nbgrader==0.9.6, ipykernel, numpy and torch. Every contender is a
whole command, its start included, and they take turns, so that a busy machine slows all of them. The submissions are
chapter 3, answered right and wrong in turn, as people did. We grade OURS of them, so many that the start weighs little;
nbgrader grades NBGRADERS, since each takes it seconds; and the rates are compared. What somebody has handed in before
is not run again, so a class also takes its turn in which no two answers are the same, of UNLIKE submissions; of these,
the time until all points are there counts as well as the time until all wrong answers are explained. Without
protection the grader refuses, so what is measured has the sandbox on. Memory is that of the largest process, for FEW
submissions and for MANY.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from course_tools.grading.grading_run import POINTS_FIRST
from course_tools.repository import ROOT
from tests.support import classes
from tests.support.handed_in import lay

CHAPTER = "03_hiding_the_future"
POINTS = POINTS_FIRST.partition("{}")[0]
OURS, UNLIKE, NBGRADERS, FEW = 600, 200, 5, 20  # submissions


def submit(folder, number, own_words=False):
    """Write this many submissions, {folder}/student-0001/{CHAPTER}.ipynb and so on; return the folder."""
    return lay(folder, classes.laid(classes.honest(number, own_words)))


def timed(command, cwd, **variables):
    """Wall-clock seconds of a command that must succeed."""
    begin = time.perf_counter()
    answer = subprocess.run(command, cwd=cwd, env=os.environ | variables, capture_output=True, encoding="utf-8")
    if answer.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{answer.stdout[-2000:]}{answer.stderr[-2000:]}")
    return time.perf_counter() - begin


def grade(folder, workers):
    """Seconds of our command on a folder of submissions, with nothing from a run before: until all points, in all."""
    with tempfile.TemporaryDirectory() as out:
        options = [folder, "--out", out, "--chapters", "3", "--workers", str(workers)]
        command = [sys.executable, "-u", "-m", "course_tools", "grade", *options]
        begin, points = time.perf_counter(), None
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8") as process:
            for line in process.stdout:
                points = points or line.startswith(POINTS) and time.perf_counter() - begin
        if process.returncode:
            sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}")
        whole = time.perf_counter() - begin
        return points or whole, whole


def nbgrader_command(arguments, folder, python):
    """`timed` for nbgrader, whose notebooks import the course and which looks for its tools on the path."""
    path = os.pathsep.join([str(python.parent), os.environ["PATH"]])
    return timed([python, "-m", "nbgrader", *arguments], folder, PATH=path, PYTHONPATH=str(ROOT))


def nbgrader_course(folder, python):
    """A course for nbgrader, made from the solved chapter, with NBGRADERS submissions."""
    source = folder / "source" / "ch3"
    source.mkdir(parents=True)
    (source / f"{CHAPTER}.ipynb").write_bytes((ROOT / "solutions" / f"{CHAPTER}.ipynb").read_bytes())
    nbgrader_command(["generate_assignment", "ch3", "--create"], folder, python)
    for place in submit(folder / "students", NBGRADERS).iterdir():
        (folder / "submitted" / place.name).mkdir(parents=True)
        place.rename(folder / "submitted" / place.name / "ch3")
    return folder


def nbgrader(folder, python):
    """Seconds of nbgrader on its course."""
    return nbgrader_command(["autograde", "ch3", "--create", "--force"], folder, python)


def largest_process():
    """Megabytes of memory that the largest process started here so far has used."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def main(python, rounds=3, many=2000):
    """Run the contenders turn about and print the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        grade(submit(folder / "few", FEW), 1)
        few = largest_process()
        grade(submit(folder / "many", many), 2)
        print(f"largest process: {few:.0f} MB for {FEW} submissions, {largest_process():.0f} MB for {many}", flush=True)

        ours = submit(folder / "ours", OURS)
        unlike = submit(folder / "unlike", UNLIKE, own_words=True)
        course = nbgrader_course(folder / "course", python)
        against, against_points, against_unlike, scaling = [], [], [], []
        for number in range(1, rounds + 1):
            theirs, one, two = nbgrader(course, python) / NBGRADERS, grade(ours, 1)[1] / OURS, grade(ours, 2)[1] / OURS
            points, own = (seconds / UNLIKE for seconds in grade(unlike, 1))
            against.append(theirs / one)
            against_points.append(theirs / points)
            against_unlike.append(theirs / own)
            scaling.append(one / two)
            times = f"nbgrader {theirs:.2f}, one worker {one:.3f}, two {two:.3f}, no two answers the same {own:.3f}"
            times += f", their points {points:.3f}"
            print(f"round {number}: {times} s a submission", flush=True)
        print(f"median: {statistics.median(against):.0f} times nbgrader's rate with one worker")
        print(
            f"median: {statistics.median(against_points):.0f} times where no two answers are the same, until all points"
        )
        print(f"median: {statistics.median(against_unlike):.0f} times until all of these are explained")
        print(f"median: two workers {statistics.median(scaling):.2f} times one")


if __name__ == "__main__":
    python, *numbers = sys.argv[1:]
    main(Path(python).absolute(), *map(int, numbers))
