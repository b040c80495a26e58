"""Writing files atomically, so that readers never see half of one, and with locks. Standard library only."""

import contextlib
import math
import os
import secrets
import sys
import time

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

SECONDS_IN_USE = 1 if sys.platform == "win32" else 0  # there, a file in use or being scanned cannot be replaced


def replace(path, content):
    """Write bytes into a temporary file next to `path`, then move it there in one step.

    The umask decides who may read the file. An OSError names the file that could not be replaced, or else its folder,
    if nothing more could be written there.
    """
    temporary = path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
        move_over(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path if error.filename2 else path.parent)  # an error in moving has two names
        raise


def move_over(temporary, path):
    """Move a file over another one, waiting up to SECONDS_IN_USE while somebody has that open."""
    end = time.monotonic() + SECONDS_IN_USE
    while True:
        try:
            return os.replace(temporary, path)
        except PermissionError:
            if time.monotonic() >= end:
                raise
            time.sleep(0.02)


@contextlib.contextmanager
def locked(path, seconds=math.inf, waiting=""):
    """Hold the lock of the file `path`, which one process has at a time. Yields the open file.

    Waits up to `seconds`, then raises TimeoutError. waiting: what to print if it has to wait.
    """
    end = time.monotonic() + seconds
    with open(path, "ab") as lock:  # "ab" does not empty the file, which Windows might refuse while it is locked
        while not try_lock(lock):
            if time.monotonic() > end:
                raise TimeoutError(f"{path} is locked by another process")
            if waiting:
                print(waiting, flush=True)
            waiting = ""
            time.sleep(0.1)
        yield lock


def try_lock(lock):
    """Try to lock an open file. Returns False while another process holds the lock."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
