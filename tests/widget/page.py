"""The built bundle on a plain page, with a model that is a real GraphWidget's handler in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from graphsurgeon.widget.widget import GraphWidget
from tests.needs import ROOT

STATIC = ROOT / "graphsurgeon" / "widget" / "static"
AXE = ROOT / "graphsurgeon" / "widget" / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
_MODEL = """async ([esm, css, state]) => {
  document.documentElement.lang = "en"; document.title = "graphsurgeon";
  const style = document.createElement("style"); style.textContent = css; document.head.append(style);
  const view = (await import(URL.createObjectURL(new Blob([esm], {type: "text/javascript"})))).default;
  const heard = {}, sent = [];
  window.answered = 0;
  const model = {
    get: name => state[name],
    on: (event, call) => (heard[event] ||= []).push(call),
    off: (event, call) => { heard[event] = (heard[event] || []).filter(c => c !== call); },
    send: message => { sent.push(message); if (window.kernel) void window.kernel(message).then(answer); },
    emit: (event, data) => (heard[event] || []).slice().forEach(call => call(data)),
    put: changed => { Object.assign(state, changed); for (const name in changed) model.emit("change:" + name); },
  };
  const answer = told => {
    if (!told) return;
    const shown = JSON.parse(told[0]), changed = {};
    const same = name => JSON.stringify(shown[name]) === JSON.stringify(model.get(name));
    for (const name in shown) if (!same(name)) changed[name] = shown[name];
    model.put(changed);
    model.emit("msg:custom", told[1]);
    window.answered += 1;
  };
  const el = document.createElement("main"); document.body.append(el);
  const close = view.render({model, el});
  Object.assign(window, {model, sent, heard, close, host: el, again: place => view.render({model, el: place})});
}"""
_LAB_DARK = {
    "--jp-layout-color0": "#111111", "--jp-layout-color1": "#212121", "--jp-content-font-color1": "rgba(255,255,255,1)",
    "--jp-brand-color1": "#2196f3",
}  # fmt: skip

_RUN_AXE = """() => axe.run("main", {
  resultTypes: ["violations"], rules: {"label-content-name-mismatch": {enabled: true}},
}).then(r => r.violations.map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 300), v.nodes[0].failureSummary]))"""


class WidgetPage:
    """A browser page that shows a GraphWidget; what it sends is answered by the widget's own handler.

    Args:
        page: a Playwright page.
        screen: what the widget shows.
        answered: False leaves every message unanswered, as a busy kernel does.
        dark: gives the page JupyterLab's dark colours.
    """

    def __init__(self, page: Any, screen: Any, answered: bool = True, dark: bool = False) -> None:
        self.page, self.widget, self.answered = page, GraphWidget(screen), answered
        page.set_content("<!doctype html><body style='margin:8px'></body>")
        if dark:
            page.evaluate(
                "vars => { for (const k in vars) document.body.style.setProperty(k, vars[k]);"
                " document.body.dataset.jpThemeLight = 'false'; document.body.style.background = '#111' }",
                _LAB_DARK,
            )
        page.expose_function("kernel", self._message)
        state = {"protocol": 1, **screen.traits()}
        page.evaluate(_MODEL, [(STATIC / "widget.js").read_text(), (STATIC / "widget.css").read_text(), state])
        page.wait_for_selector(".gs-item")

    def _message(self, message: Any) -> Any:
        """What the page shows once it has sent a message, and the answer; the page asks, nobody calls it meanwhile."""
        if not self.answered:
            return None
        reply = self.widget._on_message(self.widget, message, [], tell=False)
        return [json.dumps({name: getattr(self.widget, name) for name in _SHOWN}), reply]

    def settle(self, verb: str = "") -> None:
        """Waits until every message that was sent is answered; with a verb, one of it among them."""
        self.page.wait_for_function(
            "verb => (!verb || sent.some(m => m.verb === verb)) && answered === sent.length", arg=verb
        )

    @property
    def sent(self) -> list[tuple[str, dict[str, Any]]]:
        """What the page has sent: (verb, args)."""
        return [(m["verb"], m["args"]) for m in self.page.evaluate("sent")]

    def item(self, name: str) -> Any:
        """Returns the locator of a box or group by its full label."""
        return self.page.locator(f'.gs-item[aria-label*="{name}"]').first

    def push(self) -> None:
        """Shows what the screen says now."""
        self.page.evaluate("changed => model.put(changed)", self.widget._screen.traits())

    def axe(self, path: Path = AXE) -> list[Any]:
        """Returns what axe-core finds wrong."""
        self.page.evaluate(path.read_text())
        return self.page.evaluate(_RUN_AXE)


_SHOWN = ("scenes", "titles", "look", "selected", "boundary", "plan", "status", "outline", "views", "theme")
