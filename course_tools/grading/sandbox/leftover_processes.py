"""Processes that code without protection leaves behind: they end with it, also those that have left its group.

Only on Linux, where whoever asks for it becomes the parent of what was orphaned below.
"""

import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path

SET_CHILD_SUBREAPER = 36  # for prctl


@contextlib.contextmanager
def killed_afterwards():
    """What is started within, and is still there at the end, is killed, with all that it has started itself."""
    if sys.platform != "linux":
        yield
        return
    before, libc = set(children()), ctypes.CDLL(None)
    libc.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        while left := set(children()) - before:  # killing one makes its children ours
            for process in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(process, 0)
        libc.prctl(SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def children():
    """The numbers of this process's children."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has just ended
            if (
                int((place / "stat").read_text(errors="replace", encoding="utf-8").rpartition(")")[2].split()[1])
                == os.getpid()
            ):
                yield int(place.name)
