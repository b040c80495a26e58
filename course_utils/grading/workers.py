"""Where submissions are graded: in processes of this machine, or on the workers of a Dask cluster."""

import contextlib
import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor


@contextlib.contextmanager
def processes(count):
    """(executor, how many tasks to keep in it) over processes of this machine."""
    context = multiprocessing.get_context("spawn")  # the same on every system, and nothing of ours is inherited
    executor = ProcessPoolExecutor(count, mp_context=context, initializer=begin_worker)
    try:
        yield executor, 2 * count
    finally:
        executor.shutdown(cancel_futures=True)


def begin_worker():
    """Let the main process decide what Ctrl-C means, and end when it is gone, even when it was killed.

    Workers share the cores by being several, so each computes on one thread. Torch is not loaded yet.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with, args=[multiprocessing.parent_process()], daemon=True).start()


def end_with(parent):
    """End this process as soon as its parent has ended."""
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def dask(address):
    """(executor, how many tasks to keep in it) over an existing Dask cluster, whose workers have the course.

    Dask moves the tasks of a worker that was lost to another one.
    """
    from distributed import Client  # here: only who has a cluster has it

    with Client(address, timeout="10s") as client:
        width = 2 * sum(client.ncores().values())
        if not width:
            raise OSError(f"the cluster at {address} has no workers")
        with client.get_executor(pure=False) as executor:
            yield executor, width
