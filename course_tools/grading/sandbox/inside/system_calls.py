"""The filter of system calls: a list of what a child may still ask of Linux; everything else is refused.

It allows reading, memory, clocks and exiting. It allows no network, no new process, thread or program, no signal to
others, no writing, renaming or changing of files, and no system call of a future kernel. A refused call raises an
ordinary OSError ("Operation not permitted").
"""

import ctypes
import os
import platform
import struct
import tomllib
from pathlib import Path

# {name of a call: its number on x86-64, and on arm64 if that has it}
ALLOWED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column above, and Linux's name for it

OPEN_TO_CHANGE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
HARMLESS_FCNTL = (0, 1, 2, 3, 1030)  # copy a descriptor, read and set its close-on-exec flag, read its mode

# a classic BPF program: instructions of (code, jump if true, jump if false, operand)
LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | 1, 0x80000000  # 1 is EPERM
NUMBER, ARCHITECTURE = 0, 4  # where in `struct seccomp_data`
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2  # for prctl


def argument(k):
    """The place of the lower half of a call's argument k; all arguments we examine are 32 bits wide."""
    return 16 + 8 * k


def filter_program(pid):
    """The filter for the process of this number, as bytes."""
    column, architecture = MACHINES[platform.machine()]
    steps = [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, architecture), (RETURN, 0, 0, KILL), (LOAD, 0, 0, NUMBER)]

    def allow(number, *conditions):
        """Allow this call if the conditions do; they may jump to the last one, which refuses."""
        if number is not None:
            body = [*conditions, (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
            steps.extend([(EQUAL, 0, len(body), number), *body])

    for numbers in ALLOWED.values():
        if column < len(numbers):
            allow(numbers[column])
    for numbers, k in [((2, None), 1), ((257, 56), 2)]:  # open and openat, with their flags
        allow(numbers[column], (LOAD, 0, 0, argument(k)), (ANY_BIT, 1, 0, OPEN_TO_CHANGE))
    matches = [(EQUAL, len(HARMLESS_FCNTL) - k, 0, command) for k, command in enumerate(HARMLESS_FCNTL)]
    allow((72, 25)[column], (LOAD, 0, 0, argument(1)), *matches, (RETURN, 0, 0, REFUSE))
    allow((302, 261)[column], (LOAD, 0, 0, argument(0)), (EQUAL, 0, 1, 0))  # prlimit64, of this process only
    allow((234, 131)[column], (LOAD, 0, 0, argument(0)), (EQUAL, 0, 1, pid))  # tgkill: abort() ends itself with it
    steps.append((RETURN, 0, 0, REFUSE))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def install_filter():
    """Apply the filter to this process permanently. OSError if Linux does not accept it."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = filter_program(os.getpid())
    buffer = ctypes.create_string_buffer(code, len(code))
    pointer = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer)))
    for arguments in [(NO_NEW_PRIVILEGES, 1, 0), (SECCOMP, FILTER, pointer)]:
        if libc.prctl(*arguments, 0, 0):
            number = ctypes.get_errno()
            raise OSError(number, f"a filter of system calls: {os.strerror(number)}")
