"""The program of a worker process: ``python request_loop.py FILE [keep]`` executes requests with functions of FILE.

After ``prepare``, if FILE has it, a child process executes ``work`` for each request, and may crash. With ``keep``,
the process executes all requests itself, which is faster. This program imports nothing of this package.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: A function that returns the answer to a request.
Work = Callable[..., dict[str, Any]]
#: The time in seconds between two looks at the memory of a child.
_INTERVAL = 0.005


def main() -> None:
    """Executes the requests, one after the other, until the input ends. Each request is a line of JSON."""
    sys.path[:] = [place for place in sys.path if place]  # the current folder may contain any modules
    program = runpy.run_path(sys.argv[1])
    work: Work = program["work"]
    program.get("prepare", lambda: None)()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # ops print to standard error
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the program that waits for the answer
    print("ready", file=answers, flush=True)
    with open(0, "rb", buffering=0) as requests:  # a buffer would take later lines
        while line := requests.readline():
            print(_execute(work, json.loads(line)), file=answers, flush=True)


def _execute(work: Work, request: dict[str, Any]) -> int:
    """Executes a request in a child process; returns the exit code of the child.

    A process with several threads must not fork. Such a process executes the request itself. A request may have a
    limit in bytes for the ``memory`` that its child needs; then the child is killed, because otherwise the system may
    end another process.
    """
    memory = request.pop("memory", None)
    tasks = Path("/proc/self/task")
    if "keep" in sys.argv or not tasks.is_dir() or len(os.listdir(tasks)) > 1:
        _answer(work, **request)
        return 0
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(_wait(child, memory))
    threading.Thread(target=_end_with_the_other, daemon=True).start()
    code = 1
    try:
        _answer(work, **request)
        code = 0
    finally:
        os._exit(code)


def _wait(child: int, memory: int | None) -> int:
    """Waits for the end of a child, and returns its status; kills it when it needs more memory.

    A lower limit of the system would not do: TensorFlow ignores some failures to get memory, and goes on.
    """
    if memory is None:
        return os.waitpid(child, 0)[1]
    used = Path(f"/proc/{child}/statm")
    limit = memory + _resident(used)
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        if _resident(used) > limit:
            os.kill(child, signal.SIGKILL)
        time.sleep(_INTERVAL)


def _resident(used: Path) -> int:
    """Returns how much memory a process uses, in bytes."""
    return int(used.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _end_with_the_other() -> None:
    """Ends this process when the process that waits for the answer ends."""
    os.read(0, 1)  # no request comes before the answer, so this returns at the end of the input
    os.kill(os.getpid(), signal.SIGTERM)


def _answer(work: Work, answer: str, **request: Any) -> None:
    """Executes a request, and writes the answer into a file."""
    Path(answer).write_text(json.dumps(work(**request)), encoding="utf-8")


if __name__ == "__main__":
    main()
