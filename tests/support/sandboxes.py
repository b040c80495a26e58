"""Sandboxes for the tests, one for each way of protection that this machine offers."""

import functools
import os
import sys

import pytest

from course_tools.grading.sandbox.protection import Protection, works
from course_tools.grading.sandbox.sandbox import Sandbox
from course_utils.exercises import EXERCISES
from course_utils.judging.calls import FunctionCall
from course_utils.judging.judge import judge
from tests.support import offered_protection

BOTH = [Protection.NAMESPACES, Protection.LANDLOCK]
BEST, *OTHERS = sorted(BOTH, key=lambda way: bool(offered_protection.refused(way.name)))
other_way = pytest.mark.every_setting("the other protection")
WAYS = [pytest.param(way, marks=other_way if way in OTHERS else (), id=way.name.lower()) for way in (BEST, *OTHERS)]
SECONDS = 1  # of computing, for one exercise
EXERCISE = EXERCISES["3.2"]
LOOK = FunctionCall([])
IMPORTS = "import torch\nfrom torch import nn\n"
RIGHT = """
def my_causal_weights(scores):
    T = scores.shape[-1]
    return scores.masked_fill(torch.ones(T, T).triu(1).bool(), -torch.inf).softmax(-1)
"""
WRONG = """
def my_causal_weights(scores):
    return scores.softmax(-1)
"""


@pytest.fixture(scope="module", params=WAYS)
def sandbox(request):
    """A sandbox of each way. Small limits, so that a hole in it cannot hurt the machine that tests it."""
    skip_without(request.param)
    with Sandbox(request.param, seconds=SECONDS, memory=2**27) as sandbox:
        yield sandbox


@pytest.fixture(scope="module", params=WAYS)
def graders_sandbox(request):
    """A sandbox of each way with the limits that the grader sets: all that an explanation needs fits in them."""
    skip_without(request.param)
    with Sandbox(request.param) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def best():
    """A sandbox of the best way, for what does not depend on the way."""
    skip_without(BEST)
    with Sandbox(BEST) as sandbox:
        yield sandbox


def skip_without(way):
    """Skip a test that needs a way of protection that Linux refuses here; fail where it does not, and none works."""
    if reason := offered_protection.refused(way.name):
        pytest.skip(f"this machine offers no protection of this way: {way.name.lower()} ({reason})")
    assert holds(way), f"Linux offers here all that {way.name.lower()} needs, and yet the protection does not work"


@functools.cache
def holds(way):
    """Whether a way of protection works here: tried once for all tests."""
    return works(way)


def result(sandbox, code, exercise=EXERCISE, **more):
    """(Outcome, Result or None) for one exercise cell after a cell of imports."""
    outcome = sandbox.run([IMPORTS, code], exercise.name, exercise.calls, exercise.chapter, **more)
    return outcome, judge(exercise, outcome.replies) if outcome.replies is not None else None


def look(sandbox, *cells):
    """What a program inside can find out: the text that its function `seen` returns."""
    (reply,) = sandbox.run(cells, "seen", [LOOK], chapter=3).replies
    return reply["values"][0] if reply.get("values") else reply["error"]


def in_ci():
    """Whether this is a machine on which the sandbox tests have to run."""
    return bool(os.environ.get("CI")) and sys.platform == "linux"
