"""Kernels that start with torch loaded: on Linux, one process loads it and forks a kernel for each notebook.

Loading torch takes longer than running most chapters. `start` makes the process that forks, for one test run. Jupyter
starts `python forked_kernel.py ADDRESS CONNECTION_FILE`, which asks that process for a kernel and then stands for it:
it lives as long as the kernel, passes signals on, and when it is killed its kernel ends too.
"""

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import uuid
from pathlib import Path

NAME = "forked"


def start():
    """Start the process that forks, and make a kernel of the name NAME known to Jupyter. Returns the process.

    It ends when its standard input closes, so not later than the process that started it.
    """
    folder = Path(tempfile.mkdtemp(prefix="forked-kernel-"))
    address = folder / "socket"
    kernel = folder / "kernels" / NAME
    kernel.mkdir(parents=True)
    argv = [sys.executable, __file__, str(address), "{connection_file}"]
    (kernel / "kernel.json").write_text(
        json.dumps({"argv": argv, "display_name": NAME, "language": "python"}), encoding="utf-8"
    )
    os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, [str(folder), os.environ.get("JUPYTER_PATH")]))

    with socket.socket(socket.AF_UNIX) as listener:  # requests wait in it until torch is loaded
        listener.bind(str(address))
        listener.listen(64)
        command = [sys.executable, __file__, "serve", str(listener.fileno()), str(folder)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[listener.fileno()])


def manager(**options):
    """Jupyter's manager of one kernel, whose sockets are files.

    By default they are ports, chosen before the kernel starts and bound by it later. With several notebooks at once,
    another connection can take one in between, and then the kernel ends at its start.
    """
    from jupyter_client.manager import KernelManager

    sockets = Path(tempfile.gettempdir(), f"kernel-{uuid.uuid4().hex}")
    return KernelManager(transport="ipc", ip=str(sockets), **options)


def serve(listener, folder):
    """Load what every chapter loads, then fork a kernel per request until standard input closes."""
    os.environ["MPLBACKEND"] = "agg"
    import ipykernel.kernelapp  # noqa: F401
    import matplotlib.figure  # noqa: F401
    import torch  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the kernels
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            shutil.rmtree(folder)
            return
        client, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            become_kernel(client)
        client.close()


def become_kernel(client):
    """In the fork: take over the place and the variables of whoever asks, and run a kernel until it is shut down."""
    from ipykernel.kernelapp import launch_new_instance

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    wanted = json.loads(client.makefile().readline())
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)  # a kernel speaks through its sockets; what it logs would land between the tests' lines
    os.dup2(silence, 2)
    client.sendall(f"{os.getpid()}\n".encode())
    threading.Thread(target=end_with, args=[client], daemon=True).start()
    sys.argv = [wanted["connection_file"]]
    watched = f"--IPKernelApp.parent_handle={os.getppid()}"  # ends with the process that forked it
    launch_new_instance(["-f", wanted["connection_file"], watched])
    os._exit(0)


def end_with(client):
    """End this kernel as soon as the process that stands for it is gone."""
    client.recv(1)
    os._exit(0)


def stand_for_kernel(address, connection_file):
    """Ask for a kernel and live as long as it does."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        wanted = {"folder": os.getcwd(), "environment": dict(os.environ), "connection_file": connection_file}
        server.sendall(json.dumps(wanted).encode() + b"\n")
        kernel = int(server.makefile().readline())
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(kernel, number))
        server.recv(1)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(socket.socket(fileno=int(sys.argv[2])), sys.argv[3])
    else:
        stand_for_kernel(*sys.argv[1:])
