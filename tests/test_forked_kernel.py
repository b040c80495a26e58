"""The kernels that the notebooks' tests run in leave nothing behind."""

import os
import sys
import time

import pytest

from tests.support import forked_kernel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks kernels; elsewhere they start anew")


def alive(process):
    """Whether a process is there."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def forking(monkeypatch):
    """A process that forks kernels."""
    monkeypatch.setenv("JUPYTER_PATH", os.environ.get("JUPYTER_PATH", ""))  # as it is now, once this is over
    process = forked_kernel.start()
    yield
    process.stdin.close()
    process.wait()


@pytest.mark.every_setting("a killed kernel")
def test_a_killed_kernel_is_gone(forking):
    manager = forked_kernel.manager(kernel_name=forked_kernel.NAME)
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    reply = client.execute("import os", user_expressions={"me": "os.getpid()"}, reply=True, timeout=60)
    kernel = int(reply["content"]["user_expressions"]["me"]["data"]["text/plain"])
    assert alive(kernel)
    manager.shutdown_kernel(now=True)
    end = time.monotonic() + 10
    while alive(kernel) and time.monotonic() < end:
        time.sleep(0.05)
    assert not alive(kernel)
