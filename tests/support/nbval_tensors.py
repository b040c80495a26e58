"""A pytest plugin: nbval's comparison of outputs, with tensors compared as tensors and pictures as pictures.

nbval compares text as exact strings, leaves pictures out, and keeps output that a cell has cleared. Loaded with -p from
pyproject.toml, since a conftest.py here would not reach the notebooks.
"""

import copy
import difflib
import os
import pprint
import re
import sys
from importlib.metadata import version

import nbval.kernel
import pytest
from nbval.plugin import IPyNbCell, coalesce_streams

from course_tools import environment
from course_tools.build.still_pictures import WIDGET_VIEW
from tests.support import forked_kernel
from tests.support.comparing import readable, same_page, same_picture, same_picture_in_the_large, same_text

# another version of matplotlib than the one that drew the stored pictures puts its letters a pixel elsewhere
DRAWN_WITH = dict(environment.pins(["requirements.txt"]))["matplotlib"]
SAME = same_picture if version("matplotlib") == DRAWN_WITH else same_picture_in_the_large
FORKING = pytest.StashKey()
COLOUR = re.compile(r"\x1b\[[\d;]*m")


def pytest_configure(config):
    """Let notebooks run in kernels that have torch loaded: started once, by the process that starts the workers."""
    notebooks = not all(argument.partition("::")[0].endswith(".py") for argument in config.args)
    os.environ["COURSE_PROGRESS"] = ""  # notebooks run as in a build: no progress is kept or read
    if sys.platform == "linux" and not config.option.nbval_kernel_name:
        config.option.nbval_kernel_name = forked_kernel.NAME
        nbval.kernel.KernelManager = forked_kernel.manager
        if notebooks and not hasattr(config, "workerinput"):
            config.stash[FORKING] = forked_kernel.start()


def pytest_unconfigure(config):
    """End the process that forks kernels."""
    if forking := config.stash.get(FORKING, None):
        forking.stdin.close()
        forking.wait()


def pytest_itemcollected(item):
    """Make every notebook cell compare as below."""
    if isinstance(item, IPyNbCell):
        item.__class__ = Cell


class Cell(IPyNbCell):
    """A notebook cell whose fresh outputs are compared by the rules in tests/support/comparing.py."""

    def runtest(self):
        """Run the cell; when it clears its output, as a progress bar does, forget what came before. nbval keeps it."""
        receive = self.parent.get_kernel_message

        def message(*arguments, **more):
            received = receive(*arguments, **more)
            if received["msg_type"] == "clear_output":
                self.test_outputs.clear()
            return received

        self.parent.get_kernel_message = message
        try:
            super().runtest()
        finally:
            del self.parent.get_kernel_message  # the instance's; the class's own is there again

    def compare_outputs(self, test, ref, skip_compare=None):
        """Whether the fresh outputs `test` are those stored, `ref`; the report says what differs."""
        fresh = agree(test, ref)
        if not super().compare_outputs(fresh, ref, skip_compare):
            return False
        if different := different_pictures(test, ref):
            self.comparison_traceback = [
                f"picture {number} looks different from the stored one" for number in different
            ]
            return False
        return True

    def format_output_compare(self, key, left, right):
        """Report line by line what is stored, `left`, and what is new, `right`. nbval marks these with + and -."""
        stored, now = (readable(text if isinstance(text, str) else pprint.pformat(text)) for text in (left, right))
        names = f"{key}, as stored", f"{key}, as it is now"
        lines = difflib.unified_diff(stored.split("\n"), now.split("\n"), *names, lineterm="")
        self.comparison_traceback.extend(lines)

    def repr_failure(self, excinfo):
        """The report of a cell that failed, without colours: workers cannot tell whether a terminal shows it."""
        return COLOUR.sub("", super().repr_failure(excinfo))


def agree(fresh, stored):
    """The fresh outputs without widgets, which are not stored, and with the stored text wherever both say the same."""
    fresh = [
        output for output in coalesce_streams(copy.deepcopy(fresh)) if set(output.get("data", {})) != {WIDGET_VIEW}
    ]
    for new, old in zip(fresh, stored):
        if new.output_type != old.output_type:
            continue
        if new.output_type == "stream" and new.name == old.name and same_text(new.text, old.text):
            new.text = old.text
        for kind in set(new.get("data", {})) & set(old.get("data", {})):
            same = same_page if kind == "text/html" else same_text
            if kind.startswith("text/") and same(new.data[kind], old.data[kind]):
                new.data[kind] = old.data[kind]
    return fresh


def different_pictures(fresh, stored):
    """The numbers, from 1, of the pictures that do not look like the stored ones, or are there only once."""
    new, old = (
        [out.data["image/png"] for out in outputs if "image/png" in out.get("data", {})] for outputs in (fresh, stored)
    )
    pairs = range(max(len(new), len(old)))
    return [i + 1 for i in pairs if i >= min(len(new), len(old)) or not SAME(new[i], old[i])]
