"""The connection between a page and widgets of this process: messages travel as they do between a page and a kernel."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler, StaticFileHandler
from tornado.websocket import WebSocketHandler

from graphsurgeon.ui.widget import GraphWidget
from tests.needs import ROOT

STATIC = ROOT / "graphsurgeon" / "ui" / "static"
_HTML = "<!doctype html><html lang=en><link rel=icon href='data:,'><title>graphsurgeon</title><body style='margin:8px'>"


class Channel:
    """Connects a widget to a page by a WebSocket.

    The widget's own comm sends and receives, so that the page gets what a notebook's page gets. Requests of the page
    are handled one after another on one thread, as a kernel's main thread does; the test's own thread is free.

    Args:
        widget: the widget.
        answered: False leaves each request unanswered, as a busy kernel does.

    Attributes:
        address: of the WebSocket.
        kernel: handles the requests.
        published: the number of messages that the widget has sent.
    """

    def __init__(self, widget: GraphWidget, answered: bool = True) -> None:
        self._widget, self._answered, self.published = widget, answered, 0
        self._loop, port = _served()
        self._socket: Any = None
        self._unsent: list[str] = []
        self.kernel = ThreadPoolExecutor(1, "kernel")
        self.address = f"ws://127.0.0.1:{port}/comm/{widget.model_id}"
        _CHANNELS[widget.model_id] = self
        widget.comm.publish_msg = self._publish

    def close(self) -> None:
        """Closes the widget, as its cell does when it runs again."""
        _CHANNELS.pop(self._widget.model_id, None)
        self.kernel.shutdown()
        self._widget.close()

    def opened(self, socket: Any) -> None:
        """Sends what the widget has sent before the page was there."""
        self._socket = socket
        for text in self._unsent:
            socket.write_message(text)
        self._unsent.clear()

    def received(self, text: str) -> None:
        """Hands a message of the page to the widget."""
        if self._answered:
            message = {"content": {"data": {"method": "custom", "content": json.loads(text)}}, "buffers": []}
            self.kernel.submit(self._widget.comm.handle_msg, message)

    def _publish(self, kind: str, data: Any = None, *_: Any, **__: Any) -> None:
        if kind == "comm_msg":
            self.published += 1
            self._loop.call_soon_threadsafe(self._send, json.dumps(data, allow_nan=False))

    def _send(self, text: str) -> None:
        if self._socket is None:
            self._unsent.append(text)
        elif self._socket.ws_connection is not None:  # else the page has left
            self._socket.write_message(text)


_CHANNELS: dict[str, Channel] = {}


class _Comm(WebSocketHandler):
    def open(self, name: str) -> None:
        self._channel = _CHANNELS[name]
        self._channel.opened(self)

    def on_message(self, message: str | bytes) -> None:
        self._channel.received(str(message))


class _Page(RequestHandler):
    def get(self) -> None:
        self.write(_HTML)


@cache
def _served() -> tuple[asyncio.AbstractEventLoop, int]:
    """Serves an empty page, the bundle and the channels, from a thread of its own until this process ends."""
    started: Future[tuple[asyncio.AbstractEventLoop, int]] = Future()

    async def serve() -> None:
        routes: Any = [
            ("/", _Page),
            ("/comm/(.*)", _Comm),
            ("/static/(.*)", StaticFileHandler, {"path": str(STATIC)}),
        ]
        sockets = bind_sockets(0, "127.0.0.1")
        HTTPServer(Application(routes)).add_sockets(sockets)
        started.set_result((asyncio.get_running_loop(), sockets[0].getsockname()[1]))
        await asyncio.Event().wait()

    threading.Thread(target=asyncio.run, args=(serve(),), name="channels", daemon=True).start()
    return started.result()


def home() -> str:
    """Returns the address of an empty page."""
    return f"http://127.0.0.1:{_served()[1]}/"
