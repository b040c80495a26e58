"""python3 -m course_tools test: run the course's tests in parallel.

By default, each runs in one setting. `--all` also runs the others; `--changed` runs what your edits since the last
commit can affect; `--matrix` tests other versions of torch and Python, and odd folders; `--coverage` ends with the
share of the code's lines that the tests execute. All other options go to pytest unchanged: `-k ledger`, `-x`,
`tests/test_links.py`, ...
"""

import os

from course_tools import environment
from course_tools.repository import ROOT

MODULES = {"--matrix": "tests.support.matrix", "--coverage": "tests.support.covered"}  # instead of pytest


def main(arguments):
    """Choose tests, install what they need, then become pytest."""
    workers = (os.cpu_count() or 1) + 1  # one more than cores: many tests wait for a limit, a server or a page
    if "--changed" in arguments:
        from tests.support import choose_tests  # here: only this option needs it

        arguments.remove("--changed")
        chosen, few = choose_tests.announce()
        arguments = [*chosen, *arguments]
        workers = 1 if few else workers
    python = environment.python_with("course_tools/requirements.txt", "tests/requirements.txt")
    parallel = ["-n", str(workers)] if workers > 1 else []
    if parallel:  # workers that share the cores would wait for one another's threads
        os.environ["OMP_NUM_THREADS"] = "1"
    os.chdir(ROOT)
    module = next((module for option, module in MODULES.items() if option in arguments), "pytest")
    options = [argument for argument in arguments if argument not in MODULES]
    environment.replace_process([python, "-m", module, *parallel, *options])
