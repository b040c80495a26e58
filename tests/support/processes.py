"""Processes below one, as Linux tells of them: which there are, what time they have used, and how much memory."""

import contextlib
import glob
import os
from pathlib import Path


def descendants(process):
    """Numbers of all processes below this one, whichever of its threads has started them."""
    found = []
    for thread in glob.glob(f"/proc/{process}/task/*/children"):
        with contextlib.suppress(OSError), open(thread, encoding="utf-8") as file:
            found += [int(number) for number in file.read().split()]
    return found + [further for child in found for further in descendants(child)]


def alive(process):
    """Whether a process runs (one that has ended and waits to be collected does not)."""
    with contextlib.suppress(OSError):
        return stat(process)[0] != "Z"
    return False


def stat(process):
    """What Linux tells of a process, from its state on."""
    return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()


def processor_time(process):
    """Seconds of processor time that a process has used, and those whose end it has seen. OSError if it is gone."""
    return sum(map(int, stat(process)[11:15])) / os.sysconf("SC_CLK_TCK")


def memory(process):
    """Bytes of a process, a page that n processes share counting as 1/n; of an answer only what it shares."""
    with contextlib.suppress(OSError):
        lines = (line.split() for line in Path(f"/proc/{process}/smaps_rollup").read_text("utf-8").splitlines()[1:])
        sizes = {name: 1024 * int(size) for name, size, _ in lines}
        own = sizes["Private_Clean:"] + sizes["Private_Dirty:"]
        return sizes["Pss:"] - (own if is_answer(process) else 0)
    return 0


def is_answer(process):
    """Whether a process is a sandbox's child with an answer in it: nothing else may write no file at all."""
    lines = Path(f"/proc/{process}/limits").read_text("utf-8").splitlines()
    (limit,) = (line for line in lines if "Max file size" in line)
    return limit.split()[3] == "0"
