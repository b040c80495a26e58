"""python3 -m course_utils test: run every test, in parallel where there is more than one core.

Everything after `test` goes to pytest as it is: `-k ledger`, `-x`, `tests/test_links.py`, ...
"""

import os

from course_utils.launch import environment
from course_utils.repository import ROOT


def main(arguments):
    """Install what tests need, then become pytest."""
    python = environment.python_with("requirements.txt", "tests/requirements.txt")
    cores = os.cpu_count() or 1
    parallel = ["-n", str(cores), "--dist", "loadfile"] if cores > 1 else []
    os.chdir(ROOT)
    environment.take_over([python, "-m", "pytest", *parallel, *arguments])
