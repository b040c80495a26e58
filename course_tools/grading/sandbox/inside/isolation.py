"""The measures that confine a child, and their purposes. Linux only; called inside, by `server`.

once, by the server, before it forks any child:
* `new_namespaces` and `hide_all_but`: a separate root folder with only Python, its packages and the shared libraries,
  read-only; no network; no other process visible; all children end when the server ends;
* or `restrict_with_landlock`, where namespaces are forbidden: files elsewhere cannot be read. (Their names and sizes
  can.)

and by each child, before the student's code runs:
* `limit_resources`: memory, CPU time, open files, no core dump; the child ends with its server;
* `drop_capabilities`: the server needed them for the above;
* `system_calls.install_filter`: no network, processes, threads, signals or writing, with either of the two.
"""

import ctypes
import errno
import os
import resource
import signal
import struct
from pathlib import Path

from course_tools.grading.sandbox.inside import system_calls

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]
LIBC.syscall.restype = ctypes.c_long

# numbers of system calls that the C library does not offer; the same on every machine unless a function asks
CAPSET = {"x86_64": 126, "aarch64": 91}
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
MOUNT_SETATTR, LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 442, 444, 445, 446

NEW_NAMESPACES = 0x7E020000  # of users, mounts, network, messages, host names, processes and control groups
BIND, RECURSIVE, PRIVATE, DETACH = 0x1000, 0x4000, 0x40000, 2
READ_ONLY, NO_SETUID, NO_DEVICES, AT_RECURSIVE, AT_FDCWD = 1, 2, 4, 0x8000, -100
PR_SET_PDEATHSIG = 1
LARGE_PAGE, MADV_COLLAPSE = 1 << 21, 25
EVERY_FILE_RIGHT = (1 << 13) - 1  # those of Landlock's first version
REFUSALS = {  # the errors by which Linux says that a measure is forbidden or unknown
    errno.EPERM,
    errno.EACCES,
    errno.EROFS,  # a container's /proc
    errno.ENOSYS,
    errno.EINVAL,
    errno.EOPNOTSUPP,
    errno.ENODEV,
    errno.ENOSPC,  # no more namespaces
    errno.EUSERS,
}
READ_FILE, READ_FOLDER = 1 << 2, 1 << 3


def check_call(result, what):
    """Raise OSError, naming what Linux refused, if a C function returned -1."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def processor():
    """The processor's name in the tables of numbers."""
    return os.uname().machine


# --- once, by the server --------------------------------------------------------------------------------------------


def new_namespaces():
    """Continue in new namespaces as process 1: when it ends, all end. The old process waits for it outside."""
    user, group = os.getuid(), os.getgid()
    check_call(LIBC.unshare(NEW_NAMESPACES), "new namespaces")
    Path("/proc/self/setgroups").write_bytes(b"deny")
    Path("/proc/self/uid_map").write_bytes(b"0 %d 1" % user)
    Path("/proc/self/gid_map").write_bytes(b"0 %d 1" % group)
    if child := os.fork():
        os.closerange(0, 1024)  # above all the grader's socket, whose end the server must see
        _, status = os.waitpid(child, 0)
        os._exit(os.WEXITSTATUS(status) or bool(status))  # a signal has no exit status
    end_with_parent()


def hide_all_but(folders, hidden):
    """Make a root folder with only these folders in it, at their usual places and read-only.

    hidden: paths in them to hide as well. Needs `new_namespaces`.
    """
    root = "/tmp"  # covered by an empty file system that only we see; folders in it stay open until they are mounted
    opened = {folder: os.open(folder, os.O_PATH) for folder in folders}
    check_call(LIBC.mount(b"none", b"/", None, RECURSIVE | PRIVATE, None), "private mounts")
    check_call(
        LIBC.mount(b"tmpfs", root.encode(), b"tmpfs", NO_SETUID | NO_DEVICES, b"size=1m"), "an empty file system"
    )
    for folder, place in opened.items():
        os.makedirs(f"{root}{folder}", exist_ok=True)
        source, shown = f"/proc/self/fd/{place}", os.fsencode(f"{root}{folder}")
        check_call(LIBC.mount(source.encode(), shown, None, BIND | RECURSIVE, None), f"show {folder}")
        os.close(place)
    for path in hidden:
        hide(f"{root}{path}")
    check_call(LIBC.syscall(PIVOT_ROOT[processor()], root.encode(), root.encode()), "change the root folder")
    check_call(LIBC.umount2(b"/", DETACH), "leave the old root folder")  # it is now on top of the new one
    os.chdir("/")
    attributes = struct.pack("=4Q", READ_ONLY | NO_SETUID | NO_DEVICES, 0, 0, 0)
    check_call(
        LIBC.syscall(MOUNT_SETATTR, AT_FDCWD, b"/", AT_RECURSIVE, attributes, len(attributes)), "make all read-only"
    )


def hide(path):
    """Mount something empty over a folder or a file."""
    if os.path.isdir(path):
        check_call(LIBC.mount(b"tmpfs", os.fsencode(path), b"tmpfs", 0, b"size=4k"), f"hide {path}")
    else:
        check_call(LIBC.mount(b"/dev/null", os.fsencode(path), None, BIND, None), f"hide {path}")


def restrict_with_landlock(folders, hidden):
    """From now on this process and its children may read only in these folders, and not the hidden paths."""
    rights = struct.pack("=Q", EVERY_FILE_RIGHT)
    ruleset = check_call(LIBC.syscall(LANDLOCK_CREATE_RULESET, rights, len(rights), 0), "Landlock")

    def allow(path, rights):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", rights, place)
        check_call(LIBC.syscall(LANDLOCK_ADD_RULE, ruleset, 1, rule, 0), f"Landlock for {path}")
        os.close(place)

    def allow_around(path):
        if path in hidden:
            return
        if not os.path.isdir(path):
            allow(path, READ_FILE)
        elif not any(other.is_relative_to(path) for other in hidden):
            allow(path, READ_FILE | READ_FOLDER)
        else:
            allow(path, READ_FOLDER)  # names only; this also applies to everything below
            for entry in path.iterdir():
                allow_around(entry)

    for folder in folders:
        allow_around(Path(folder))
    check_call(LIBC.prctl(system_calls.NO_NEW_PRIVILEGES, 1, 0, 0, 0), "give up new privileges")
    check_call(LIBC.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0), "Landlock")
    os.close(ruleset)
    os.chdir("/")


def use_large_pages():
    """Ask Linux to keep our memory in large pages, 2 MB each: forking a child then takes a third of the time.

    Not a security measure; without effect on Linux before 6.1. Call it while /proc is visible.
    """
    for line in Path("/proc/self/maps").read_bytes().split(b"\n")[:-1]:  # names in it have no fixed encoding
        place, rights, _, _, file, *_ = line.split()
        begin, end = (int(part, 16) for part in place.split(b"-"))
        begin, end = -(-begin // LARGE_PAGE) * LARGE_PAGE, end // LARGE_PAGE * LARGE_PAGE  # whole pages only
        if rights.startswith(b"rw") and file == b"0" and begin < end:
            LIBC.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), MADV_COLLAPSE)


# --- by each child --------------------------------------------------------------------------------------------------


def end_with_parent():
    """Have this process killed when its parent is gone."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def address_space():
    """Bytes of address space that this process has now. Call it while /proc is still visible."""
    return int(Path("/proc/self/statm").read_bytes().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def limit_resources(address_space, seconds):
    """At most this much address space in bytes and CPU time; few open files; no core dump, no growing file."""
    limits = {
        resource.RLIMIT_AS: (address_space, address_space),
        resource.RLIMIT_CPU: (seconds, seconds + 1),  # first a signal, then the end for those who ignore it
        resource.RLIMIT_NOFILE: (64, 64),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_FSIZE: (0, 0),
    }
    for kind, both in limits.items():
        resource.setrlimit(kind, both)


def drop_capabilities():
    """Give up all of root's rights, also inside our namespaces."""
    header, nothing = struct.pack("=II", 0x20080522, 0), bytes(24)
    check_call(LIBC.syscall(CAPSET[processor()], header, nothing), "give up capabilities")
