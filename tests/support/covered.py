"""`python3 -m course_tools test --coverage`: the share of both houses' lines that the tests run, processes included.

Workers of pytest, kernels, commands and the copies of the clone that tests make count. Not counted is what runs where
coverage cannot write: an answer behind the grader's walls. Options go to pytest.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

COVERAGE = [sys.executable, "-m", "coverage"]


def main(options):
    """Run the tests, print the share of each file not covered whole and of all, and exit as the tests do."""
    with tempfile.TemporaryDirectory() as folder:
        own = os.environ | {"COVERAGE_FILE": str(Path(folder, "data"))}
        status = subprocess.run([*COVERAGE, "run", "-m", "pytest", *options], env=own).returncode
        subprocess.run([*COVERAGE, "combine", "--quiet"], env=own, check=True)
        subprocess.run([*COVERAGE, "report"], env=own, check=True)
    sys.exit(status)


if __name__ == "__main__":
    main(sys.argv[1:])
