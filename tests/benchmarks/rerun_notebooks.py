"""How long does it take to re-execute and check every notebook, as a ratio to nbmake, which checks nothing?

    python -m tests.benchmarks.rerun_notebooks [ROUNDS]

Both run the same notebooks with the same number of workers, turn about, so that a busy machine slows both. On Linux
ours runs them in kernels that are forked with torch loaded (tests/support/forked_kernel.py); nbmake starts a fresh
one each. Prints each round and the median ratio; below 1, this course's check is the faster one.
"""

import os
import statistics
import subprocess
import sys
import time

from course_tools.repository import ROOT
from tests.support import stored

WORKERS = ["-n", str(os.cpu_count() or 1)]
CONTENDERS = {
    "checked": [],
    "nbmake": ["-o", "addopts=", "--nbmake"],
}


def seconds(options):
    """The wall-clock time of one whole pytest run over all notebooks, which must pass."""
    command = [sys.executable, "-m", "pytest", "-q", *options, *WORKERS, *map(str, stored.PATHS)]
    begin = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main(rounds):
    """Run the contenders turn about and print the ratios."""
    ratios = []
    for number in range(1, rounds + 1):
        times = {name: seconds(options) for name, options in CONTENDERS.items()}
        ratios.append(times["checked"] / times["nbmake"])
        print(f"round {number}: " + ", ".join(f"{name} {spent:.1f} s" for name, spent in times.items()), flush=True)
    print(f"{len(stored.PATHS)} notebooks, median ratio checked / nbmake: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
