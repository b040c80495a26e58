"""Run a learner's code without side effects: no prints, seeds or settings remain."""

import contextlib
import io
import random
import sys
import warnings

import numpy as np
import torch


class DiscardOutput(io.TextIOBase):
    """Discards whatever is printed."""

    def write(self, text):
        return len(text)


def on_cpu():
    """Inside: new tensors are on the CPU, whatever default device a learner has chosen."""
    chosen = torch.get_default_device().type != "cpu"  # choosing it again would make every later call slower
    return torch.device("cpu") if chosen else contextlib.nullcontext()


@contextlib.contextmanager
def without_side_effects():
    """Inside: no output, no warnings. Afterwards: random states and torch's settings are as they were."""
    states = random.getstate(), np.random.get_state()
    dtype, device = torch.get_default_dtype(), torch.get_default_device()
    recursion, threads = sys.getrecursionlimit(), torch.get_num_threads()
    try:
        with (
            torch.random.fork_rng(devices=[]),
            torch.enable_grad(),
            warnings.catch_warnings(),
            contextlib.redirect_stdout(DiscardOutput()),
            contextlib.redirect_stderr(DiscardOutput()),
        ):
            warnings.simplefilter("ignore")
            torch.set_default_dtype(torch.float32)
            torch.set_num_threads(1)  # for a few numbers, waking more threads takes longer than the work
            yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_default_dtype(dtype)
        sys.setrecursionlimit(recursion)
        torch.set_num_threads(threads)
        if torch.get_default_device() != device:  # setting it, even to what it was, makes every later call slower
            torch.set_default_device(device)
