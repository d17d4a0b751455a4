"""Writers that are stopped: children of one process, in which something happens at the n-th thing done to the disk.

``python -m tests.writers MODULE ...`` imports modules, and TensorFlow where they do. For each line that it reads it
makes a child of itself, which calls a function of the first, and says how the child ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import platform
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.needs import ROOT

#: What Python says before it asks the system to change a disk: the ends of names of audit events. The library that is
#: loaded is asked to let two files change places.
_EVENTS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate", "os.utime", "ctypes.dlopen"}
#: What it says nothing of.
_SILENT = ("write", "fsync", "ftruncate")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_NEW_USER, _NEW_MOUNTS, _PRIVATE = 0x10000000, 0x00020000, 0x44000


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _interrupt() -> None:
    raise KeyboardInterrupt


def _full() -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


#: What may happen at the n-th write.
HAPPENS: dict[str, Callable[[], None]] = {"kill": _die, "interrupt": _interrupt, "full": _full}


@dataclass(frozen=True)
class End:
    """How a child ended.

    Args:
        signal: what killed it; 0 where it was not.
        error: the type of what was raised, and its text; empty where nothing was.
        hit: it was killed, or stopped otherwise, where that was asked.
        said: what it has said on the way.
    """

    signal: int
    error: str
    hit: bool
    said: list[str]


class Writers:
    """A process whose children write.

    Args:
        process: it.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, function: str, *given: Any, at: int = 0, size: int = -1, send: int = 0) -> End:
        """Calls a function in a child.

        Args:
            function: its name.
            given: what it is given; paths as text.
            at: at which of the things that are done to the disk it is killed; 0: at none.
            size: no file gets more bytes than these: the system kills whoever writes them; -1: no such limit.
            send: at which of the things that it sends, in any of its threads, it is killed, from where it calls
                `sending`; 0: at none.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"function": function, "given": given, "at": at, "size": size, "send": send}
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        return End(**json.loads(self._process.stdout.readline()))


@contextlib.contextmanager
def writers(module: str, *also: str) -> Iterator[Writers]:
    """Gives a process that has imported modules.

    Args:
        module: where the functions are that children call.
        also: what they would import, each for itself.
    """
    if sys.platform != "linux":
        pytest.skip("a process that has imported as much has no children elsewhere")
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.writers", module, *also], cwd=ROOT, env=environment, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield Writers(process)
    finally:
        process.communicate()
    assert process.returncode == 0


# -- in that process ------------------------------------------------------------------------------

_reported: list[int] = []
_write = os.write


def say(text: str) -> None:
    """Says something, in a child: it is in `End.said` even where the child is killed at once."""
    _tell("said", text)


def _tell(kind: str, text: str) -> None:
    if _reported:
        _write(_reported[0], f"{json.dumps([kind, text])}\n".encode())


def serve(modules: list[str]) -> None:
    """Makes a child for each line."""
    imported, *_ = map(import_module, modules)
    assert len(os.listdir("/proc/self/task")) == 1, "a child has but one of the threads"
    out = os.dup(1)
    os.dup2(2, 1)  # what a child prints is no answer
    for text in sys.stdin:
        asked = json.loads(text)
        heard, reported = os.pipe()
        here, there = socket.socketpair()
        child = os.fork()
        if not child:
            _reported.append(reported)
            _asking.append(there)
            here.close()
            _work(getattr(imported, asked["function"]), asked)
        os.close(reported)
        there.close()
        with here:
            hit = asked["send"] > 0 and _watch_sends(here, child, asked["send"])
        with open(heard) as answers:  # until the child has ended
            lines = [json.loads(line) for line in answers] + [["hit", ""]] * hit
        _, status = os.waitpid(child, 0)
        kinds: dict[str, list[str]] = {"said": [], "error": [], "hit": []}
        for kind, what in lines:
            kinds[kind].append(what)
        killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        end = {"signal": killed, "error": "".join(kinds["error"]), "hit": bool(kinds["hit"]), "said": kinds["said"]}
        os.write(out, json.dumps(end).encode() + b"\n")


def _work(function: Callable[..., Any], request: dict[str, Any]) -> None:
    """Calls the function, in a child; never returns."""
    if request["size"] >= 0:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["size"],) * 2)
    try:
        with stopping(request["at"], "kill"):
            function(*request["given"])
    except BaseException as error:
        _tell("error", f"{type(error).__name__}: {error}")
    os._exit(0)


class Stop:
    """What happens at the n-th thing that is done to the disk.

    Args:
        at: n; 0: nothing happens.
        happens: what, a key of `HAPPENS`.

    Attributes:
        hit: it has happened.
    """

    def __init__(self, at: int, happens: str) -> None:
        self._left, self._happens, self.hit = at, happens, False

    def count(self) -> None:
        """Counts one."""
        self._left -= 1
        if self._left == 0:
            self.hit = True
            _tell("hit", "")
            HAPPENS[self._happens]()


_now: list[Stop] = []


@contextlib.contextmanager
def stopping(at: int, happens: str) -> Iterator[Stop]:
    """Lets something happen, in a child: what listens there stays as long as the process does."""
    _listen()
    _now.append(Stop(at, happens))
    try:
        yield _now[-1]
    finally:
        _now.pop()


@cache
def _listen() -> None:
    def count() -> None:
        if _now:
            _now[-1].count()

    def heard(event: str, given: tuple[Any, ...]) -> None:
        if event in _EVENTS or (event == "open" and isinstance(given[2], int) and given[2] & _WRITING):
            count()

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            count()
            return real(*given)

        return call

    for name in _SILENT:
        setattr(os, name, counted(getattr(os, name)))
    sys.addaudithook(heard)


# -- what a process sends -------------------------------------------------------------------------

#: Calls of the system that send: sendto, sendmsg, sendmmsg; and seccomp, which holds them up. By kind of processor.
_SENDS, _SECCOMP = {"x86_64": ((44, 46, 307), 317), "aarch64": ((206, 211, 269), 277)}.get(platform.machine(), ((), 0))
_NO_NEW_PRIVILEGES, _FILTER, _ALL_THREADS_AND_A_LISTENER = 38, 1, 1 | 8 | 16
_LOAD, _IS, _END, _ALLOW, _ASK = 0x20, 0x15, 0x06, 0x7FFF0000, 0x7FC00000
_RECEIVE, _ANSWER, _CONTINUE = 0xC0502100, 0xC0182101, 1
_asking: list[socket.socket] = []


def sending() -> bool:
    """From here on, what this process sends is counted; returns False where the system cannot tell.

    Whatever thread sends waits until the process that has made this one lets it go on, or kills it.
    """
    # Lines of a filter: what to do, how many lines to pass over if so and if not, a number. First, which call it is.
    code = [(_LOAD, 0, 0, 0)]
    code += [(_IS, len(_SENDS) - i, 0, number) for i, number in enumerate(_SENDS)]
    code += [(_END, 0, 0, _ALLOW), (_LOAD, 0, 0, 16), (_IS, 0, 1, _asking[0].fileno())]  # then, where it sends to
    code += [(_END, 0, 0, _ALLOW), (_END, 0, 0, _ASK)]
    held = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(held)))
    system = ctypes.CDLL(None, use_errno=True)
    if not _SENDS or system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return False
    listener = system.syscall(_SECCOMP, _FILTER, _ALL_THREADS_AND_A_LISTENER, program)
    if listener < 0:
        return False
    socket.send_fds(_asking[0], [b"x"], [listener])
    os.close(listener)
    return True


def _watch_sends(here: socket.socket, child: int, at: int) -> bool:
    """Lets what a child sends go on, until it ends; kills it at the n-th, and returns whether it did."""
    _, files, _, _ = socket.recv_fds(here, 1, 1)  # nothing, where it has ended without a word
    if not files:
        return False
    (listener,) = files
    reported = select.poll()
    reported.register(listener, select.POLLIN)
    while reported.poll()[0][1] & select.POLLIN:
        asked = bytearray(80)
        try:
            fcntl.ioctl(listener, _RECEIVE, asked)
            at -= 1
            if not at:
                os.kill(child, signal.SIGKILL)
                break
            fcntl.ioctl(listener, _ANSWER, struct.pack("QqiI", *struct.unpack_from("Q", asked), 0, 0, _CONTINUE))
        except FileNotFoundError:  # the thread has gone meanwhile
            pass
    os.close(listener)
    return not at


def small_disk(folder: str, size: int) -> bool:
    """Puts a small disk where a folder is, for this process alone; returns False where the system does not let it.

    Args:
        folder: the folder.
        size: how many bytes the disk has.
    """
    system = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if system.unshare(_NEW_MOUNTS):
        if system.unshare(_NEW_USER | _NEW_MOUNTS):
            return False
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            Path("/proc/self", name).write_text(text)
    if system.mount(None, b"/", None, _PRIVATE, None):
        return False
    return not system.mount(b"none", os.fsencode(folder), b"tmpfs", 0, b"size=%d" % size)


if __name__ == "__main__":
    # As the module that tests import, so that what children say is said in one place.
    import_module("tests.writers").serve(sys.argv[1:])
