"""Kernels for notebooks: children of one process that has imported TensorFlow and us, which takes seconds.

``python kernels.py NUMBER`` makes a child of itself for each that asks at the socket of this number, in which ipykernel
runs as it does in a process of its own; ``python kernels.py SOCKET FILE`` is what Jupyter starts: it asks, and lives as
long.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from functools import cache
from typing import Any

#: Long enough for what one kernel is given: its environment above all.
_MOST = 1 << 20


@cache
def started() -> str:
    """Starts the process whose children are kernels: one for all that this process opens, with which it ends.

    Returns:
        A folder for JUPYTER_PATH, in which Jupyter finds such kernels under the name of its own.
    """
    folder = tempfile.TemporaryDirectory(prefix="gs")  # the path of a socket must be short
    path, kernel = os.path.join(folder.name, "asked"), os.path.join(folder.name, "kernels", "python3")
    os.makedirs(kernel)
    spec = {
        "argv": [sys.executable, "-S", __file__, path, "{connection_file}"],
        "display_name": "Python 3",
        "language": "python",
        "interrupt_mode": "message",
    }
    with open(os.path.join(kernel, "kernel.json"), "w") as file:
        json.dump(spec, file)
    environment = {
        **os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
        "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3",
    }  # fmt: skip
    with socket.socket(socket.AF_UNIX) as asked:
        asked.bind(path)
        asked.listen()
        number = asked.fileno()
        about: dict[str, Any] = {"env": environment, "cwd": folder.name, "stdin": subprocess.PIPE}
        process = subprocess.Popen([sys.executable, __file__, str(number)], pass_fds=[number], **about)

    def end() -> None:
        process.communicate()
        folder.cleanup()

    atexit.register(end)
    return folder.name


def ask(path: str, file: str) -> None:
    """Has a kernel started, and stays until it has ended."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(path)
        given = {"file": file, "folder": os.getcwd(), "environment": dict(os.environ)}
        socket.send_fds(asking, [json.dumps(given).encode() + b"\n"], [1, 2])
        asking.recv(1)


def serve(number: int) -> None:
    """Makes a child for each that asks, until standard input ends; a child becomes the kernel."""
    import ipykernel.kernelapp
    import tensorflow  # noqa: F401

    import graphsurgeon.ui.screen  # noqa: F401  # but no widgets: to a kernel that runs they announce themselves

    gc.freeze()  # no kernel looks for garbage in what all of them share
    assert len(os.listdir("/proc/self/task")) == 1, "a child has but one of the threads"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=number) as listening:
        while True:
            if sys.stdin in select.select([listening, sys.stdin], [], [])[0]:
                return
            asking, _ = listening.accept()
            if not os.fork():
                break
            asking.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _settle(asking)
    ipykernel.kernelapp.launch_new_instance()


def _settle(asking: socket.socket) -> None:
    """Makes this process what the one that asks would be."""
    os.setsid()
    text, files, _, _ = socket.recv_fds(asking, _MOST, 2)
    while not text.endswith(b"\n"):
        text += asking.recv(_MOST)
    given = json.loads(text)
    for number, file in enumerate([os.open(os.devnull, os.O_RDONLY), *files]):
        os.dup2(file, number)
        os.close(file)
    os.chdir(given["folder"])
    os.environ.clear()
    os.environ.update({key: value for key, value in given["environment"].items() if key != "JPY_PARENT_PID"})
    sys.argv, sys.path[0] = ["ipykernel_launcher", "-f", given["file"]], ""
    # Jupyter may end the one that asks: the kernel goes with it.
    threading.Thread(target=lambda: asking.recv(1) or os.kill(os.getpid(), signal.SIGKILL), daemon=True).start()


if __name__ == "__main__":
    ask(*sys.argv[1:]) if len(sys.argv) == 3 else serve(int(sys.argv[1]))
