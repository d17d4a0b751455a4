"""The built bundle on a page of Chromium without Jupyter, connected to a real GraphWidget in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphsurgeon.ui.screen import Screen
from graphsurgeon.ui.widget import GraphWidget
from tests.needs import ROOT
from tests.widget.channel import Channel, home

AXE = ROOT / "graphsurgeon" / "ui" / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
#: A point of the first edge, in the window, of the line that draws it.
ON_EDGE = """line => {
  const {x, y} = line.getPointAtLength(10).matrixTransform(line.getScreenCTM());
  return [x, y];
}"""
#: Shows a widget at the end of the page: the model is what Jupyter's widget manager gives the bundle.
_MODEL = """async ([address, state]) => {
  if (!document.querySelector("link[rel=stylesheet]")) {
    const style = Object.assign(document.createElement("link"), {rel: "stylesheet", href: "/static/widget.css"});
    await new Promise(done => { style.onload = done; document.head.append(style); });
  }
  const view = (await import("/static/widget.js")).default;
  const heard = {}, sent = [], socket = new WebSocket(address);
  await new Promise(done => { socket.onopen = done; });
  const model = {
    get: name => state[name],
    on: (event, call) => (heard[event] ||= []).push(call),
    off: (event, call) => { heard[event] = (heard[event] || []).filter(c => c !== call); },
    send: message => { sent.push(message); socket.send(JSON.stringify(message)); },
    emit: (event, data) => (heard[event] || []).slice().forEach(call => call(data)),
    put: changed => { Object.assign(state, changed); for (const name in changed) model.emit("change:" + name); },
  };
  const el = document.createElement("main"); document.body.append(el);
  const close = view.render({model, el});
  Object.assign(window, {model, sent, heard, close, host: el, again: place => view.render({model, el: place})});
  Object.assign(window, {answered: 0, received: 0});
  socket.onmessage = ({data}) => {
    const {method, state, content} = JSON.parse(data);
    if (method === "update") model.put(state);
    else model.emit("msg:custom", content);
    if (window.model !== model) return;
    window.received += 1;
    if (method === "custom") window.answered += 1;
  };
}"""
_LAB_DARK = {
    "--jp-layout-color0": "#111111", "--jp-layout-color1": "#212121", "--jp-content-font-color1": "rgba(255,255,255,1)",
    "--jp-brand-color1": "#2196f3",
}  # fmt: skip

#: The page is the same in both themes, but for its colors.
_RUN_AXE = """dark => axe.run("main", {
  resultTypes: ["violations"],
  ...(dark ? {runOnly: {type: "rule", values: ["color-contrast", "link-in-text-block"]}}
    : {rules: {"label-content-name-mismatch": {enabled: true}}}),
}).then(r => r.violations.map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 300), v.nodes[0].failureSummary]))"""


def _leave(page: Any) -> None:
    """Closes the widgets that a page has shown."""
    for channel in getattr(page, "channels", ()):
        channel.close()
    page.channels = []


class WidgetPage:
    """A browser page that shows a GraphWidget, which answers as it does in a notebook.

    Args:
        page: a Playwright page.
        shown: a screen, or a widget.
        answered: False leaves every message unanswered, as a busy kernel does.
        dark: gives the page JupyterLab's dark colors.
        more: shows the widget below those that are on the page.

    Attributes:
        widget: the widget.
    """

    def __init__(
        self, page: Any, shown: Screen | GraphWidget, answered: bool = True, dark: bool = False, more: bool = False
    ) -> None:
        self.page, self._dark = page, dark
        self.widget = shown if isinstance(shown, GraphWidget) else GraphWidget(shown)
        if not more:
            if not hasattr(page, "channels"):
                page.on("close", _leave)
            _leave(page)
            page.goto(home())
            page.evaluate("localStorage.clear()")
        self._channel = Channel(self.widget, answered)
        page.channels.append(self._channel)
        if dark:
            page.evaluate(
                "vars => { for (const k in vars) document.body.style.setProperty(k, vars[k]);"
                " document.body.dataset.jpThemeLight = 'false'; document.body.style.background = '#111' }",
                _LAB_DARK,
            )
        state = {name: value for name, value in self.widget.get_state().items() if not name.startswith("_")}
        page.evaluate(_MODEL, [self._channel.address, state])
        page.wait_for_selector("main:last-of-type .gs-item")

    def settle(self, verb: str = "") -> None:
        """Waits until every message that was sent is answered; with a verb, one of it among them."""
        self.page.wait_for_function(
            "verb => (!verb || sent.some(m => m.verb === verb)) && answered === sent.length", arg=verb
        )

    def cell(self, code: Callable[[], Any]) -> Any:
        """Runs code where a notebook's cell runs, after the requests that came before; returns its value."""
        return self._channel.kernel.submit(code).result()

    @property
    def sent(self) -> list[tuple[str, dict[str, Any]]]:
        """What the page has sent: (verb, args)."""
        return [(m["verb"], m["args"]) for m in self.page.evaluate("sent")]

    def item(self, name: str) -> Any:
        """Returns the locator of a box or group by its full label."""
        return self.page.locator(f'.gs-item[aria-label*="{name}"]').first

    def push(self) -> None:
        """Waits until the page has received all that the widget has sent."""
        self.page.wait_for_function("count => received >= count", arg=self._channel.published)

    def axe(self, path: Path = AXE) -> list[Any]:
        """Returns what axe-core finds wrong."""
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(path.read_text())
        return self.page.evaluate(_RUN_AXE, self._dark)
