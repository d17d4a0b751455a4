"""Peers: other viewers, from a separate virtual environment, each timed until its first picture can be clicked."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

LIMIT = 120.0
"""A picture that is not there by then is not waited for, seconds."""

PAINTED = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""A promise that is kept once the browser has painted what the page has made."""


@dataclass(frozen=True)
class Peer:
    """A viewer with its own server.

    Args:
        name: what it is called.
        program: its program in the environment's ``bin``.
        arguments: (file, port) -> arguments that start its server.
        address: (file, port) -> path and query that open the file.
        painted: a Playwright selector of what is there once the picture is.
        folder: whether it reads a folder of event files in place of a GraphDef.
        greeting: a selector of a button that has to be pressed before it opens the file; it is, at once.
        state: "attached" if the element that appears with the picture has no size.
    """

    name: str
    program: str
    arguments: Callable[[Path, int], list[str]]
    address: Callable[[Path, int], str]
    painted: str
    folder: bool = False
    greeting: str = ""
    state: str = "visible"


def _model(file: Path) -> str:
    return quote(json.dumps({"models": [{"url": str(file), "adapterId": "builtin_graphdef"}]}))


PEERS = (
    Peer(
        "Model Explorer",
        "model-explorer",
        lambda _, port: ["--host", "127.0.0.1", "--port", str(port), "--no_open_in_browser", "--skip_health_check"],
        lambda file, _: f"?data={_model(file)}",
        "canvas >> nth=0",
    ),
    Peer(
        "Netron",
        "netron",
        lambda file, port: ["-p", str(port), "--host", "127.0.0.1", str(file)],
        lambda *_: "",
        "body.default #target g.node >> nth=0",
        greeting="button:has-text('Accept')",
        state="attached",
    ),
    Peer(
        "TensorBoard",
        "tensorboard",
        lambda file, port: ["--logdir", str(file), "--port", str(port), "--host", "127.0.0.1"],
        lambda *_: "?darkMode=false#graphs",
        "g.node >> nth=0",
        folder=True,
    ),
)


def version(environment: Path, peer: Peer) -> str:
    """Returns why a peer cannot be used, or an empty text."""
    return "" if (environment / "bin" / peer.program).exists() else f"no {peer.program} in the environment"


@contextlib.contextmanager
def served(environment: Path, peer: Peer, file: Path) -> Iterator[str]:
    """Starts a peer's server for a file and gives the address of its picture."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    command = [str(environment / "bin" / peer.program), *peer.arguments(file, port)]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet, env={**kept, "NO_PROXY": "127.0.0.1"})
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.2)
        time.sleep(2)  # its own imports go on after the port answers
        yield f"http://127.0.0.1:{port}/{peer.address(file, port)}"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def picture(browser: Any, environment: Path, peer: Peer, file: Path) -> float | None:
    """Returns the seconds from opening a peer's page until its picture is painted and has answered a click.

    None if there is no such picture within the limit.
    """
    with served(environment, peer, file) as address:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        try:
            page = context.new_page()
            start = time.perf_counter()
            page.goto(address, wait_until="commit", timeout=LIMIT * 1000)
            if peer.greeting:
                page.locator(peer.greeting).first.click(timeout=15_000)
            see(page.locator(peer.painted), peer.state)
            _wait_for_paint(page)
            page.mouse.click(640, 440)
            _wait_for_paint(page)
            return time.perf_counter() - start
        except Exception as error:
            if "Timeout" not in type(error).__name__:
                raise
            return None
        finally:
            context.close()


def see(thing: Any, state: str = "visible") -> None:
    """Waits until a thing is on a page; by looking often, as Playwright's own wait looks every half second at last."""
    end = time.perf_counter() + LIMIT
    while not (thing.is_visible() if state == "visible" else thing.count()):
        if time.perf_counter() > end:
            raise TimeoutError(f"{thing} is not {state} after {LIMIT:.0f} s")
        time.sleep(0.005)


def _wait_for_paint(page: Any) -> None:
    """Waits for the paint: a canvas may stay white for long. By the browser itself, as a page may forbid `eval`."""
    asked = {"expression": f"{PAINTED}.then(() => null)", "awaitPromise": True}
    page.context.new_cdp_session(page).send("Runtime.evaluate", asked)
