"""The sandbox's walls, taken down one by one: what an attack can do without them shows that it is an attack.

The server of a `Weakened` sandbox first calls `take_down` here, in its own process.
"""

import sys

from course_tools.grading.sandbox.inside import server
from course_tools.grading.sandbox.protection import Protection
from course_tools.grading.sandbox.sandbox import Sandbox

ALL = ("folders", "calls", "capabilities", "limits", "secrecy")
ANOTHER_REFUSAL = 133  # a number of an error that Linux gives to no call that is tried here


class Weakened(Sandbox):
    """A sandbox whose server takes these walls down. Attacks on it must be harmless by themselves."""

    SERVER = ("tests.support.weakened_sandbox", "serve")

    def __init__(self, *walls, way=Protection.LANDLOCK):
        super().__init__(way)
        self.walls = walls

    def arguments(self):
        return super().arguments() | {"walls": self.walls}


def serve(walls, **arguments):
    """Inside: take these walls down, then be the server."""
    take_down(server, walls)
    server.serve(**arguments)


def take_down(server, walls):
    """Inside: put in the place of each wall a function that does nothing."""
    if "folders" in walls:
        server.isolate = lambda protection, folders, hidden: None
    if "calls" in walls:
        server.system_calls.install_filter = lambda: None
    if "words" in walls:  # the filter stands, and says that it is the one who refuses
        server.system_calls.REFUSE = 0x00050000 | ANOTHER_REFUSAL
    if "capabilities" in walls:
        server.isolation.drop_capabilities = lambda: None
    if "limits" in walls:
        server.isolation.limit_resources = lambda address_space, seconds: None
    if "secrecy" in walls:
        server.load_answering = knowing(server.load_answering)


def knowing(load):
    """A `load_answering` after which the whole course is there, and the expected values are in memory."""

    def load_all(course, packages):
        answer = load(course, packages)
        sys.path.append(course)
        from course_utils.exercises import EXERCISES

        assert EXERCISES["3.2"].expected
        for finder in ("CourseImports", "SilencedImports"):
            answer.__globals__[finder].find_spec = lambda *arguments: None
        return answer

    return load_all
