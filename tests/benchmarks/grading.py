"""How fast is the grader, as ratios: to nbgrader on the same submissions, of two workers to one? And its memory?

    python -m tests.benchmarks.grading NBGRADER_PYTHON [ROUNDS] [MANY]

NBGRADER_PYTHON is the Python of an environment with nbgrader==0.9.6, ipykernel, numpy and torch. Every contender is a
whole command, its start included, and they take turns, so that a busy machine slows all of them. The submissions are
chapter 3, answered right and wrong in turn, as people did. We grade OURS of them, so many that the start weighs little;
nbgrader grades NBGRADERS, since each takes it seconds; and the rates are compared. What somebody has handed in before
is not run again, so a class also takes its turn in which no two answers are the same, of UNLIKE submissions; of these,
the time until all points are there counts as well as the time until all wrong answers are explained. It is also
graded by two workers, of this machine and of a Dask cluster that knows nothing yet. Without protection the grader
refuses, so what is measured has the sandbox on. Memory is that of the largest process, for FEW submissions and MANY.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import LocalCluster

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


def grade(folder, *on):
    """Seconds of our command on a folder of submissions, with nothing from a run before: until all points, in all.

    on: options that say where to grade.
    """
    with tempfile.TemporaryDirectory() as out:
        options = [folder, "--out", out, "--chapters", "3", *on]
        command = [sys.executable, "-u", "-m", "course_tools", "grade", *options]
        begin, points = time.perf_counter(), None
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8") as process:
            for line in process.stdout:
                points = points or line.startswith(POINTS) and time.perf_counter() - begin
        if process.returncode:
            sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}")
        whole = time.perf_counter() - begin
        return points or whole, whole


def on_this_machine(folder, workers):
    """`grade` with this many workers of this machine."""
    return grade(folder, "--workers", str(workers))


def on_a_cluster(folder, workers):
    """`grade` with this many workers of a new Dask cluster, whose start does not count."""
    with LocalCluster(n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster:
        return grade(folder, "--dask", cluster.scheduler_address)


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
        on_this_machine(submit(folder / "few", FEW), 1)
        few = largest_process()
        on_this_machine(submit(folder / "many", many), 2)
        print(f"largest process: {few:.0f} MB for {FEW} submissions, {largest_process():.0f} MB for {many}", flush=True)

        ours = submit(folder / "ours", OURS)
        unlike = submit(folder / "unlike", UNLIKE, own_words=True)
        course = nbgrader_course(folder / "course", python)
        rates, scaling = {}, {}
        for number in range(1, rounds + 1):
            theirs, (_, same) = nbgrader(course, python), on_this_machine(ours, 1)
            one, two = on_this_machine(unlike, 1), on_this_machine(unlike, 2)
            seconds = {"all": same / OURS, "no two the same, until all points": one[0] / UNLIKE}
            seconds["no two the same, until all are explained"] = one[1] / UNLIKE
            print(f"round {number}, seconds a submission: nbgrader {theirs / NBGRADERS:.2f}", end="", flush=True)
            for name, own in seconds.items():
                rates.setdefault(name, []).append(theirs / NBGRADERS / own)
                print(f"; {name} {own:.3f}", end="", flush=True)
            clusters = on_a_cluster(unlike, 1), on_a_cluster(unlike, 2)
            for place, (single, double) in {"this machine": (one, two), "a Dask cluster": clusters}.items():
                for until, alone, both in zip(["until all points", "in all"], single, double, strict=True):
                    scaling.setdefault(f"{place}, {until}", []).append(alone / both)
                    print(f"; {place}, {until}: {alone:.1f} s with one worker, {both:.1f} with two", end="", flush=True)
            print()
        for name, found in rates.items():
            print(f"median: {statistics.median(found):.0f} times nbgrader's rate with one worker ({name})")
        for name, found in scaling.items():
            print(f"median: two workers {statistics.median(found):.2f} times one ({name})")


if __name__ == "__main__":
    python, *numbers = sys.argv[1:]
    main(Path(python).absolute(), *map(int, numbers))
