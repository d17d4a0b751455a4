"""Firefox without a driver: a client of WebDriver BiDi, which Firefox itself serves."""

from __future__ import annotations

import itertools
import json
import subprocess
from base64 import b64decode
from pathlib import Path
from typing import Any

import websocket

from graphsurgeon.replica.cluster import free_ports
from tests.lab import end
from tests.needs import need
from tests.until import until

_SETTINGS = """user_pref("remote.active-protocols", 1);
user_pref("network.proxy.type", 0);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.aboutwelcome.enabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.reportingpolicy.firstRun", false);
user_pref("app.update.disabledForTesting", true);
user_pref("extensions.update.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("services.settings.server", "http://127.0.0.1:9/");
"""
_MIDDLE = """async selector => {
    const found = document.querySelector(selector);
    found.scrollIntoView({block: 'center', behavior: 'instant'});
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    const r = found.getBoundingClientRect();
    return [Math.round(r.left + r.width / 2), Math.round(r.top + r.height / 2)];
}"""


class Firefox:
    """One tab of a headless Firefox with an empty profile.

    Args:
        folder: an empty folder for the profile.
    """

    def __init__(self, folder: Path) -> None:
        (folder / "user.js").write_text(_SETTINGS)
        port = free_ports(1)[0]
        command = [need("firefox"), "--headless", "--no-remote", f"--remote-debugging-port={port}"]
        command += ["--profile", str(folder), "--width=1400", "--height=900", "about:blank"]
        self._log = (folder / "firefox.log").open("wb")
        self._process = subprocess.Popen(command, stdout=self._log, stderr=subprocess.STDOUT)
        self._numbers = itertools.count(1)
        address = f"ws://127.0.0.1:{port}/session"
        try:
            self._socket = until(lambda: self._connected(address), timeout=120)
            self._send("session.new", capabilities={})
            self._window = self._send("browsingContext.create", type="tab")["context"]
            self._send("browsingContext.activate", context=self._window)  # only then the page has the focus
        except BaseException:
            self.close()
            print((folder / "firefox.log").read_text())
            raise

    def _connected(self, address: str) -> Any:
        if self._process.poll() is not None:
            raise RuntimeError("Firefox ended")
        try:
            return websocket.create_connection(address, timeout=300, suppress_origin=True)
        except OSError:
            return None

    def _send(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while (answer := json.loads(self._socket.recv())).get("id") != number:
            pass
        if answer["type"] == "error":
            raise RuntimeError(f"{method}: {answer['error']}: {answer['message']}")
        return answer["result"]

    def goto(self, url: str) -> None:
        """Opens a page and waits until it is loaded."""
        self._send("browsingContext.navigate", context=self._window, url=url, wait="complete")

    def evaluate(self, function: str, argument: Any = None) -> Any:
        """Returns the result of a JavaScript function, which must be JSON."""
        code = f"Promise.resolve(({function})({json.dumps(argument)})).then(found => JSON.stringify(found) ?? 'null')"
        answer = self._send("script.evaluate", expression=code, target={"context": self._window}, awaitPromise=True)
        if answer["type"] == "exception":
            raise RuntimeError(f"{function}: {answer['exceptionDetails']['text']}")
        return json.loads(answer["result"]["value"])

    def wait(self, function: str, argument: Any = None, timeout: float = 240) -> Any:
        """Waits until a JavaScript function returns a true value, and returns this value."""
        return until(lambda: self.evaluate(function, argument), timeout=timeout)

    def click(self, selector: str, count: int = 1) -> None:
        """Clicks the middle of the first element of a selector with the mouse."""
        self.wait("selector => !!document.querySelector(selector)", selector)
        x, y = self.evaluate(_MIDDLE, selector)
        actions: list[dict[str, Any]] = [{"type": "pointerMove", "x": x, "y": y}]
        actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}] * count
        self._act({"type": "pointer", "id": "mouse", "actions": actions})

    def press(self, keys: str) -> None:
        """Presses keys of one character one after another."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._act({"type": "key", "id": "keyboard", "actions": actions})

    def _act(self, *sources: dict[str, Any]) -> None:
        self._send("input.performActions", context=self._window, actions=list(sources))

    def screenshot(self, path: str) -> None:
        """Writes a PNG of the tab, like the method of a page of Playwright."""
        data = self._send("browsingContext.captureScreenshot", context=self._window)["data"]
        Path(path).write_bytes(b64decode(data))

    def close(self) -> None:
        """Ends Firefox."""
        if hasattr(self, "_socket"):
            self._socket.close()
        end(self._process)
        self._log.close()
