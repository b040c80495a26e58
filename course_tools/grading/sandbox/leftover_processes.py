"""Processes that code without protection leaves behind: they end with it, also those that have left its group.

Only on Linux, where whoever asks for it becomes the parent of what was orphaned below.
"""

import contextlib
import ctypes
import sys

import psutil

SET_CHILD_SUBREAPER = 36  # for prctl


@contextlib.contextmanager
def killed_afterwards():
    """What is started within, and is still there at the end, is killed, with all that it has started itself."""
    if sys.platform != "linux":
        yield
        return
    libc, children = ctypes.CDLL(None), psutil.Process().children
    before = set(children())
    libc.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        while left := set(children()) - before:  # killing one makes its children ours
            for process in left:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
                    process.wait()
        libc.prctl(SET_CHILD_SUBREAPER, 0, 0, 0, 0)
