"""Where submissions are graded: in processes of this machine, or of the workers of a Dask cluster."""

import contextlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from course_tools.grading import grading_process


@contextlib.contextmanager
def local_workers(count):
    """(executor, how many tasks to keep in it, what lets all of it know results) over threads of this process.

    Each has a process to grade.
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

    Dask moves the tasks of a worker that was lost to another one.
    """
    from distributed import Client  # here: only who has a cluster has it

    with Client(address, timeout="10s") as client:
        width = 2 * sum(client.ncores().values())
        if not width:
            raise OSError(f"the cluster at {address} has no workers")
        with client.get_executor(pure=False) as executor:
            yield executor, width, partial(client.run, grading_process.add_known_results, on_error="ignore")
