"""Where submissions are graded: in processes on this machine, or on the workers of a Dask cluster."""

import contextlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from course_tools.grading import grading_process


@contextlib.contextmanager
def local_workers(count):
    """(executor, number of tasks to keep in it, function that shares results) over threads of this process.

    Each thread has a grading process.
    """
    executor = ThreadPoolExecutor(count)
    try:
        yield executor, count + 1, grading_process.add_known_results
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        grading_process.end_all()
        executor.shutdown()


@contextlib.contextmanager
def dask_workers(address):
    """The same over an existing Dask cluster, whose workers have the course.

    Dask moves the tasks of a lost worker to another one.
    """
    from distributed import Client  # here: only those with a cluster have it

    with Client(address, timeout="10s") as client:
        width = 2 * sum(client.ncores().values())
        if not width:
            raise OSError(f"the cluster at {address} has no workers")
        with client.get_executor(pure=False) as executor:
            yield executor, width, partial(client.run, grading_process.add_known_results, on_error="ignore")
