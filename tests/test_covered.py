"""The coverage figure: lines that another process runs count, in the clone and in a copy of it."""

import re
import subprocess
import sys

import pytest

from course_tools.repository import ROOT


def covered_lines(*options):
    """{file: share in percent} of what `test --coverage` prints for these tests."""
    command = [sys.executable, "-m", "tests.support.covered", "-q", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: int(share) for name, share in re.findall(r"^(\S+) +\d+ +\d+ +(\d+)%$", done.stdout, re.MULTILINE)}


@pytest.mark.in_matrix("the coverage figure")
@pytest.mark.skipif(sys.platform != "linux", reason="the coverage figure is measured on Linux")
def test_lines_count_that_a_worker_a_kernel_or_a_command_in_a_copy_of_the_clone_runs():
    about_help = "tests/test_environment.py::test_help_says_what_a_command_does_and_does_nothing"
    figures = covered_lines("-n", "2", about_help, "solutions/01_dot_product_attention.ipynb")
    assert figures["course_tools/__main__.py"] > 50  # a command, in a copy
    assert figures["course_utils/layer_drawing.py"] > 90  # a kernel
    assert figures["course_tools/grading/grader.py"] == 0 and 0 < figures["TOTAL"] < 50
