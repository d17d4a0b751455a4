"""The messages of the page and their answers, and the order in which requests are handled.

A message of the page is `{"v": 1, "id": int, "verb": str, "args": {...}}`. It is always answered, with the same
id, by `{"v": 1, "id": int, "ok": true, "result": ...}` or by `{"v": 1, "id": int, "ok": false, "error": {...}}`;
the error has the three parts "request", "problem" and "suggestion", and "argument" if one argument is wrong.
"""

from __future__ import annotations

import contextvars
import json
import reprlib
import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphsurgeon.errors import SurgeryError, nearest
from graphsurgeon.ui.commands.specs import COMMAND_SPECS, REQUIRED, is_count
from graphsurgeon.ui.screen import Screen

VERSION = 1

Json = dict[str, Any]


class ProtocolError(SurgeryError):
    """A message that is not in the protocol; nothing was done.

    Args:
        request, problem, suggestion, argument: the parts of every error.
        id: the number of the message, 0 without one.
    """

    def __init__(self, request: str, problem: str, suggestion: str, id: int = 0, argument: str = "") -> None:
        super().__init__(request, problem, suggestion, argument)
        self.id = id


@dataclass(frozen=True)
class Request:
    """A message in the form of the protocol: the method of the screen to call, and its arguments, which it checks."""

    id: int
    verb: str
    args: Json


def parse(message: object) -> Request:
    """Returns the request in a message of the page. The values of its arguments are checked by the screen.

    Args:
        message: the received message, of any type.

    Raises:
        ProtocolError: the message has another version, an unknown verb, or a missing or unknown argument.

    Example:
        >>> parse({"v": 1, "id": 7, "verb": "select", "args": {"names": ["a/b"]}}).args
        {'names': ['a/b']}
    """
    if not isinstance(message, dict):
        raise ProtocolError(
            "a message of the page",
            f"it is {_a(message)}, not an object",
            'Send {"v": 1, "id": 1, "verb": "undo", "args": {}}',
        )
    raw_id = message.get("id")
    id = int(raw_id) if raw_id is not None and is_count(raw_id) else 0
    version, verb, args = message.get("v"), message.get("verb"), message.get("args", {})
    if version != VERSION or isinstance(version, bool):
        raise ProtocolError(
            "a message of the page",
            f"the page uses version {_short(version)} of the protocol, but this kernel uses version {VERSION}",
            "Restart the kernel and reload the page, so that both use the same graphsurgeon",
            id,
        )
    if id == 0:
        raise ProtocolError(
            _short(verb),
            f"its id is {_short(raw_id)}, not a whole number, 1 or more",
            "Number the messages from 1",
        )
    if not isinstance(verb, str) or verb not in COMMAND_SPECS:
        close = nearest(verb, COMMAND_SPECS) if isinstance(verb, str) else []
        hint = f"Did you mean {close[0]!r}? " if close else ""
        verbs = ", ".join(sorted(COMMAND_SPECS))
        raise ProtocolError(_short(verb), "no verb has this name", f"{hint}The verbs are {verbs}", id)
    spec = COMMAND_SPECS[verb]
    how = f"Call it as {spec.usage}"
    if not isinstance(args, dict):
        raise ProtocolError(verb, f"args is {_a(args)}, not an object", how, id)
    for name in args:
        if name not in {arg.name for arg in spec.args}:
            raise ProtocolError(verb, f"it has no argument {_short(name)}", how, id)
    for arg in spec.args:
        if arg.default is REQUIRED and arg.name not in args:
            raise ProtocolError(verb, f"argument {arg.name!r} is missing", how, id)
    return Request(id, verb, args)


def execute(screen: Screen, request: Request) -> Json:
    """Calls the method of the screen that a request names, and returns the answer."""
    with screen.exclusive():
        return answer(request.id, getattr(screen, request.verb)(**request.args))


def answer(id: int, result: Any) -> Json:
    """Returns the answer to a request that was done.

    Raises:
        TypeError, ValueError: `result` is not plain JSON (NaN and infinities are not).
    """
    json.dumps(result, allow_nan=False)
    return {"v": VERSION, "id": id, "ok": True, "result": result}


def refusal(id: int, error: BaseException, request: str = "") -> Json:
    """Returns the answer to a request that failed, with the three parts of the error.

    Args:
        id: the number of the message.
        error: the exception. Any exception other than a SurgeryError is reported as a bug of graphsurgeon.
        request: the verb, for errors without a request.
    """
    return {"v": VERSION, "id": id, "ok": False, "error": parts(error, request)}


def parts(error: BaseException, request: str = "") -> dict[str, str]:
    """Returns "request", "problem" and "suggestion" of an exception, and "argument" if an argument is invalid."""
    if isinstance(error, SurgeryError):
        argument = {"argument": error.argument} if error.argument else {}
        return {"request": error.request, "problem": error.problem, "suggestion": error.suggestion, **argument}
    return {
        "request": request,
        "problem": f"{type(error).__name__}: {error}",
        "suggestion": "This is a bug in graphsurgeon: please report it with the traceback in the widget's last_error",
    }


def _short(value: object) -> str:
    """Returns a value quoted, up to about 60 characters long."""
    shortener = reprlib.Repr()
    shortener.maxstring = shortener.maxother = 60
    return shortener.repr(value)


def _a(value: object) -> str:
    """Returns the JSON word for the type of a value."""
    words = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
    return "null" if value is None else words.get(type(value), type(value).__name__)


TIMEOUT = 0.05
"""The time that the kernel waits for work in another thread, in seconds. Most work takes less time."""


class SerialExecutor:
    """Runs functions one after another on a separate thread, which ends after the last one.

    Example:
        >>> executor, results = SerialExecutor(), []
        >>> executor.submit(lambda: results.append(1))
        >>> executor.wait()
        >>> results
        [1]
    """

    def __init__(self) -> None:
        self._queue: deque[tuple[Callable[[], object], threading.Event]] = deque()
        self._condition = threading.Condition()
        self._busy = False

    def submit(self, work: Callable[[], object], timeout: float = TIMEOUT) -> None:
        """Runs a function on the thread, after earlier ones. Returns when it is done, or after `timeout` seconds."""
        here, finished = contextvars.copy_context(), threading.Event()  # its output goes to the caller's cell
        with self._condition:
            self._queue.append((lambda: here.run(work), finished))
            if not self._busy:
                self._busy = True
                threading.Thread(target=self._run_all, name="graphsurgeon-turns", daemon=True).start()
        finished.wait(timeout)

    def wait(self) -> None:
        """Waits until all submitted functions are done."""
        with self._condition:
            self._condition.wait_for(lambda: not self._busy)

    def _run_all(self) -> None:
        while True:
            with self._condition:
                if not self._queue:
                    self._busy = False
                    self._condition.notify_all()
                    return
                work, finished = self._queue.popleft()
            try:
                work()
            except Exception:  # report it like an uncaught error of any thread, and go on
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
            finally:
                finished.set()
