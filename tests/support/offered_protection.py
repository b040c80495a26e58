"""Which protection Linux offers on this machine, asked of Linux itself: nothing here uses the course's code.

So a protection that the course fails to put on cannot pass for one that the machine does not have.
"""

import functools
import platform
import subprocess
import sys

YES, NO = 0, 3  # exit statuses; any other is a fault in the question
ASKING = f"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]
def ask(what, answer):
    if answer < 0:
        print(what + ": " + os.strerror(ctypes.get_errno()))
        sys.exit({NO})
ask("a filter of system calls", libc.prctl(21, 0, 0, 0, 0))
"""
QUESTIONS = {
    # new namespaces of users, mounts, networks and processes, and a mount in them, which Ubuntu 24.04 refuses apart
    "NAMESPACES": """
ask("namespaces", libc.unshare(0x10000000 | 0x20000 | 0x40000000 | 0x20000000))
ask("private mounts", libc.mount(b"none", b"/", None, 0x44000, None))
ask("a mount", libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None))
ask("attributes of mounts (Linux 5.12)", libc.syscall(442, -100, b"/tmp", 0, bytes(32), 32))
""",
    "LANDLOCK": """
ask("Landlock", libc.syscall(444, None, 0, 1))
""",
}


@functools.cache
def refused(way):
    """What Linux refuses here of all that a way of protection is made of, in words; empty where it offers it all."""
    if sys.platform != "linux":
        return "this is no Linux"
    if platform.machine() not in ("x86_64", "aarch64"):
        return "neither x86-64 nor arm64"
    command = [sys.executable, "-I", "-S", "-c", ASKING + QUESTIONS[way]]
    asked = subprocess.run(command, capture_output=True)
    assert asked.returncode in (YES, NO), asked.stderr.decode(errors="replace")
    return asked.stdout.decode(errors="replace").strip()
