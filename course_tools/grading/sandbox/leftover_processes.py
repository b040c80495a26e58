"""Ends processes that unprotected code leaves behind, including those that have left its group.

Only on Linux, where a process can become the parent of orphaned descendants.
"""

import contextlib
import ctypes
import sys

import psutil

SET_CHILD_SUBREAPER = 36  # for prctl


@contextlib.contextmanager
def killed_afterwards():
    """Kill all processes that were started in this context and are still running at its end, with their children."""
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
