"""Writing files so that a reader never meets half of one, and one writer at a time. Standard library only."""

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

SECONDS_IN_USE = 1 if sys.platform == "win32" else 0  # there a file that is being read, or looked at for viruses, stays


def replace(path, content):
    """Write bytes into a temporary file next to `path`, then move it there in one step.

    Who may read the file is for the umask to say. An OSError names the file that could not be replaced, or else its
    folder, where nothing more could be written.
    """
    temporary = path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
        move_over(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path if error.filename2 else path.parent)  # moving has two names
        raise


def on_disk(name):
    """A name to open, so that the disk holds it in UTF-8 whatever the locale; `from_disk` gives it back."""
    return os.fsdecode(name.encode())


def from_disk(name):
    """The text of a name that was found on the disk, whatever the locale; what is no UTF-8 becomes �."""
    return os.fsencode(name).decode(errors="replace")


def move_over(temporary, path):
    """Move a file to where another one is, waiting SECONDS_IN_USE while somebody has that open."""
    end = time.monotonic() + SECONDS_IN_USE
    while True:
        try:
            os.replace(temporary, path)
            return
        except PermissionError:
            if time.monotonic() >= end:
                raise
            time.sleep(0.02)


@contextlib.contextmanager
def locked(path, seconds=math.inf, waiting=""):
    """Hold the lock that the file `path` stands for, which one process has at a time. Gives the open file.

    Waits up to so many seconds, then raises TimeoutError. waiting: what to print when there is something to wait for.
    """
    end = time.monotonic() + seconds
    with open(path, "ab") as lock:  # empties nothing: Windows might refuse that while it is locked
        while not try_lock(lock):
            if time.monotonic() > end:
                raise TimeoutError(f"{path} is locked by another process")
            if waiting:
                print(waiting, flush=True)
            waiting = ""
            time.sleep(0.1)
        yield lock


def try_lock(lock):
    """Whether this process now holds the lock on an open file; False while another one does."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
