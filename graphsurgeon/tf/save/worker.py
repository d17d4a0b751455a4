"""The worker process: it executes requests with plain TensorFlow, and is kept for later requests.

TensorFlow takes seconds to import. So the process is started before it is needed, and ends when it gets no request for
some time, or when this process ends. Native code may crash it; then the next request starts a new process.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...errors import exit_text

TIMEOUT = 600.0
"""The time limit of a request, in seconds."""
#: The process ends after this time without a request, in seconds, because it needs 400 MB of memory.
_IDLE = 600.0
PROGRAM = ("-P", str(Path(__file__).with_name("request_loop.py")), str(Path(__file__).with_name("worker_main.py")))


class Worker:
    """A worker process.

    Args:
        program: the arguments of Python that start the program. Default: the one that reads written files.
    """

    def __init__(self, program: Sequence[str] = ()) -> None:
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._guard, self._owner, self._ready = threading.RLock(), 0, False
        self._idle = threading.Timer(0, self.stop)

    def start(self) -> None:
        """Starts the process if it is not running; does not wait for it."""
        if self._runs():  # without the lock, which is held during a request
            return
        with self._guard:
            if self._runs():
                return
            self.stop()
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            command = [sys.executable, *(self._program or PROGRAM)]
            with suppress(OSError, ValueError):  # `send` reports it
                self._process = subprocess.Popen(command, env=environment(), bufsize=0, **pipes)
            self._owner, self._ready = os.getpid(), False
            self._wait()

    def _runs(self) -> bool:
        process = self._process
        return process is not None and self._owner == os.getpid() and process.poll() is None

    def send(self, folder: Path, request: dict[str, Any], timeout: float | None) -> dict[str, Any]:
        """Returns the answer to a request; if there is none, ``code`` and ``how`` tell how the process ended.

        Args:
            folder: a folder for the answer.
            request: the request, as JSON.
            timeout: the time limit in seconds; None for no limit.
        """
        answer, late = folder / "answer.json", threading.Event()

        def end() -> None:
            late.set()
            if self._process is not None:
                self._process.kill()

        with self._guard:
            self.start()
            self._idle.cancel()
            clock = threading.Timer(timeout or 0, end)
            if timeout is not None:
                clock.start()
            try:
                code = self._exchange(json.dumps({**request, "answer": str(answer)}))
            except BaseException:  # an interrupt, for example by Ctrl+C
                self.stop()
                raise
            finally:
                clock.cancel()
                self._wait()
            if code == 0 and answer.exists():
                result: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
                return result
        how = late_text(timeout or 0) if late.is_set() else exit_text(code)
        killed = code == -getattr(signal, "SIGKILL", 0) and not late.is_set()  # by the system, for its memory
        return {"how": how, "code": code, "started": self._ready, "memory": killed}

    def _wait(self) -> None:
        """Ends the process if there is no request for some time."""
        self._idle.cancel()
        self._idle = threading.Timer(_IDLE, self.stop)
        self._idle.daemon = True
        self._idle.start()

    def stop(self) -> None:
        """Ends the process."""
        with self._guard:
            self._idle.cancel()
            process, self._process = self._process, None
            if process is not None and self._owner == os.getpid():
                with process:
                    process.kill()

    def _exchange(self, request: str) -> int:
        """Sends a request, and waits for the answer; returns the exit code of the process that has executed it."""
        process = self._process
        if process is None:
            return 1
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError):  # the process may have ended
            self._ready = self._ready or bool(process.stdout.readline())
            process.stdin.write(f"{request}\n".encode())
        line = process.stdout.readline()
        return int(line) if line else process.wait()


def late_text(timeout: float) -> str:
    """Returns text about a process that was ended after a time limit."""
    return f"did not end within timeout={timeout:g} s"


def environment() -> dict[str, str]:
    """Returns the environment of a process that runs Python code with the modules of this process, without a GPU."""
    return {
        **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
    }  # fmt: skip


WORKER = Worker()
atexit.register(WORKER.stop)
