"""What do forty hostile and odd submissions in a class of 300 cost the other 260? Points, processor time, memory.

    python -m tests.benchmarks.hostile_class [HONEST]

The class of HONEST (260) is graded alone, then with the forty among them, each time in a new process and one submission
after another, so that the processor time of each can be told. Printed: who of the honest has other points; their
processor time, alone and among the forty; the memory of all processes together, with shared pages counted once and
without what answers take for themselves; and what each of the forty got, and took.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from course_tools.grading import batch, grading_process
from course_tools.grading.assignment import Assignment
from course_tools.grading.grades_and_pages import GradesAndPages
from course_tools.grading.reports import ReportStore
from course_tools.grading.submissions import submissions
from course_tools.repository import ROOT
from tests.support import processes

GRADING = "--grading"  # what this file is told when it runs itself
LOOKS = 4  # at the memory, in a second


class Watched:
    """This process and all below it."""

    def __init__(self):
        self.seconds, self.memory, self.over = {}, 0, threading.Event()
        threading.Thread(target=self.watch_memory, daemon=True).start()

    def processor_time(self):
        """Seconds that all of them have used so far, also those that have ended. Ask while no answer runs."""
        for number in processes.descendants(os.getpid()):
            with contextlib.suppress(OSError):
                self.seconds[number] = processes.processor_time(number)
        return sum(self.seconds.values()) + time.thread_time()  # without the thread that watches

    def watch_memory(self):
        """Note the most memory that they ever have together."""
        while not self.over.wait(1 / LOOKS):
            here = [os.getpid(), *processes.descendants(os.getpid())]
            self.memory = max(self.memory, sum(map(processes.memory, here)))


def grade(folder, out):
    """Grade a class in this process, and print {"students": {key: [points, processor time, seconds]}, "memory"}."""
    found, store, watched, students = submissions(folder), ReportStore(out), Watched(), {}
    book = GradesAndPages(store, Assignment([3]))
    last = [0, time.monotonic()]

    @contextlib.contextmanager
    def one_after_another():
        with ThreadPoolExecutor(1) as pool:
            yield pool, 1, grading_process.add_known_results
            grading_process.end_all()

    def done(submission, report):
        book.add(report)
        now = [watched.processor_time(), time.monotonic()]
        students[report.student.key] = [book.scores[-1][1], now[0] - last[0], now[1] - last[1]]
        last[:] = now

    failed = batch.grade_changed(found, store, one_after_another, grading_process.Limits(), done)
    watched.over.set()
    book.close()
    assert not failed, failed
    print(json.dumps({"students": students, "memory": watched.memory / 1e6}))


def graded(files):
    """What `grade` prints, in a process of its own, for a class {student: {file name: bytes}}."""
    from tests.support import classes  # here: the process that grades loads nothing that it does not need
    from tests.support.handed_in import lay

    with tempfile.TemporaryDirectory() as place:
        lay(Path(place, "class"), classes.laid(files))
        command = [sys.executable, "-m", "tests.benchmarks.hostile_class", GRADING, f"{place}/class", f"{place}/out"]
        return json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)


def main(number=260):
    """Grade both classes and print what they show."""
    from tests.support import classes  # here: as above

    honest, others = classes.honest(number), classes.hostile() | classes.odd()
    step = number // len(others)  # names are graded in their order
    placed = {f"student-{step * k:04} {name}": files for k, (name, files) in enumerate(others.items(), start=1)}
    alone, among = graded(honest), graded(honest | placed)
    before, after = alone["students"], among["students"]
    spent = [sum(students[name][1] for name in honest) for students in (before, after)]
    moved = [name for name in honest if before[name][0] != after[name][0]]
    print(f"points moved: {', '.join(moved) or 'nobody of'} {len(honest)}")
    print(
        f"processor time of the {len(honest)}: {spent[0]:.1f} s alone, {spent[1]:.1f} s among {len(others)} others",
        end="",
    )
    print(f" ({spent[1] / spent[0] - 1:+.1%}), {1000 * spent[0] / len(honest):.0f} ms each")
    print(f"memory: {alone['memory']:.0f} MB alone, {among['memory']:.0f} MB among them")
    print("points, processor time, and seconds by the clock of the others, longest first:")
    for key in sorted(after.keys() - before.keys(), key=lambda key: -after[key][2]):
        points, processor, clock = after[key]
        print(f"  {key.partition(' ')[2]:36} {points:3} {processor:6.2f} {clock:6.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == [GRADING]:
        grade(*map(Path, sys.argv[2:]))
    else:
        main(*map(int, sys.argv[1:]))
