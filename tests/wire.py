"""A wire: all that goes to a server goes through it, and at the n-th byte it is cut.

``python wire.py PORT`` is one, in a process of its own: TensorFlow lets no other thread of its process run while it
asks a server for its devices.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator


class Wire:
    """A wire to a server.

    Args:
        process: what it runs in.

    Attributes:
        target: what to give in place of the server.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.target = f"grpc://127.0.0.1:{self._said()}"

    def cut_at(self, number: int, kill: str | os.PathLike[str] = "") -> int:
        """Cuts all that is connected when the n-th byte from now comes; who connects again gets through.

        Args:
            number: n; 0: it is not cut.
            kill: a file with the number of the process that is killed at that moment; none is without one.

        Returns:
            how many bytes there were since the last time.
        """
        assert self._process.stdin is not None
        print(number, os.fspath(kill), file=self._process.stdin, flush=True)
        return self._said()

    def _said(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())


@contextlib.contextmanager
def wire(target: str) -> Iterator[Wire]:
    """Gives a wire to a server, ``grpc://host:port``."""
    command = [sys.executable, "-S", __file__, target.rpartition(":")[2]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Wire(process)
        process.communicate()


class _Ends:
    """What is connected; in the process of the wire."""

    def __init__(self, port: int) -> None:
        self._port, self._left, self._kill, self._passed = port, 0, "", 0
        self._selector = selectors.DefaultSelector()
        self._other: dict[socket.socket, socket.socket] = {}
        self._clients: set[socket.socket] = set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        print(self._listening.getsockname()[1], flush=True)

    def work(self) -> None:
        """Hands on what comes, until nobody holds the other end of the standard input."""
        self._selector.register(self._listening, selectors.EVENT_READ)
        self._selector.register(sys.stdin, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is sys.stdin:
                    line = sys.stdin.readline()
                    if not line:
                        return
                    print(self._passed, flush=True)
                    number, _, self._kill = line.strip().partition(" ")
                    self._left, self._passed = int(number), 0
                elif key.fileobj is self._listening:
                    self._connect(self._listening.accept()[0])
                elif key.fileobj in self._other:
                    self._pass(key.fileobj)  # type: ignore[arg-type]

    def _connect(self, client: socket.socket) -> None:
        server = socket.create_connection(("127.0.0.1", self._port))
        self._other |= {client: server, server: client}
        self._clients.add(client)
        for one in (client, server):
            self._selector.register(one, selectors.EVENT_READ)

    def _pass(self, end: socket.socket) -> None:
        try:
            data = end.recv(1 << 16)
            if data and end in self._clients:
                self._passed += len(data)
                if 0 < self._left <= self._passed:
                    self._cut()
                    return
            self._other[end].sendall(data)
        except OSError:
            data = b""
        if not data:
            self._drop(end)

    def _cut(self) -> None:
        self._left = 0
        if self._kill:
            with open(self._kill) as file:
                os.kill(int(file.read()), signal.SIGKILL)
        while self._other:
            self._drop(next(iter(self._other)))

    def _drop(self, end: socket.socket) -> None:
        for one in (end, self._other.pop(end)):
            self._other.pop(one, None)
            self._clients.discard(one)
            self._selector.unregister(one)
            one.close()


if __name__ == "__main__":
    _Ends(int(sys.argv[1])).work()
