"""The gestures that tasks at the screen take, by mouse alone and by keyboard alone, and how soon gestures are answered.

They are done in JupyterLab by what the browser tests do them with; each gesture is printed. Hover and drag are
measured on 400 boxes, from the event to the end of the work that it starts; a step of a plan from the key to the
painted answer, on a graph of 42,500 ops. Each is measured by the clock and as CPU time: on a busy machine the first
is longer than the second.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.rows import Row, skipped
from tests.corpus import Corpus
from tests.needs import _FIND, corpus_folder

FRAME = 1 / 60
STEP = 0.3
ROUNDS = 3
"""The number of repetitions of a move. The shortest time counts, which excludes other work of the machine."""
MANY = """
v1 = tf.compat.v1
KINDS = [tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum]
def word(n):
    return "".join("bdfgklmnprstvz"[n // 14**k % 14] + "aeiou"[n // 5**k % 5] for k in range(3))
def many(levels=20, wide=20):
    graph = tf.Graph()
    with graph.as_default():
        row = [v1.placeholder(tf.float32, [2], name=f"{word(97)}/{word(i)}") for i in range(wide)]
        for level in range(1, levels):
            row = [
                KINDS[(level * 7 + i * 3) % 5](
                    row[i], row[(i + 1) % wide], name=f"{word(97 * level + 97)}/{word(level * wide + i)}"
                )
                for i in range(wide)
            ]
    return graph
ed = gs.open(many()); ed.screen.set_budget(400); ed.screen.set_depth(9)
ed
"""
"""400 boxes that nothing folds, in 20 rows, each a frame, with 760 edges."""
WIDE = 20
LARGE = "slim_resnet101_8tower_train"
_PLACES = "all => all.map(one => one.getBoundingClientRect().toJSON())"
_CPU = "__import__('time').process_time()"
_DUPLICATE = """async () => {
  const gs = document.querySelector('.gs'), from = performance.now();
  const steps = () => document.querySelector('[data-tab=steps] .gs-n')?.textContent;
  const was = steps();
  document.activeElement.dispatchEvent(
    new KeyboardEvent('keydown', {key: 'd', ctrlKey: true, bubbles: true, cancelable: true}));
  while (steps() === was || gs.hasAttribute('data-waits')) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return (performance.now() - from) / 1000;
}"""
"""Presses the key that duplicates what is selected, and says how many seconds the painted answer takes."""
_WATCH = """() => {
  window.took = [];
  const after = then => { const c = new MessageChannel(); c.port1.onmessage = then; c.port2.postMessage(0); };
  window.addEventListener('pointermove', () => {
    const from = performance.now();
    after(() => {
      const handled = performance.now() - from;
      requestAnimationFrame(() => {
        const frame = performance.now();
        after(() => window.took.push(handled + performance.now() - frame));
      });
    });
  }, {capture: true});
}"""
"""What the page does for each movement of the pointer: its handlers, and the frame that paints what they did."""


def rows() -> Iterator[Row]:
    """Yields a row for each task and way, then what gestures take."""
    chromium = _FIND["chromium"][0]()
    if not chromium or importlib.util.find_spec("jupyterlab") is None:
        skipped("all of it", "no Chromium or no JupyterLab")
        return
    from playwright.sync_api import sync_playwright

    lab: Any = importlib.import_module("tests.lab")  # the harness of the browser tests
    tasks: Any = importlib.import_module("tests.jupyter.tasks")
    flags = importlib.import_module("tests.conftest")._CHROMIUM
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        server = lab.Server(Path(folder))
        try:
            page = browser.new_page(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
            notebook = lab.open_notebook(page, server, tasks.CELLS)
            for task, way, person in tasks.each(page, notebook):
                print(f"  {task.name}, by {way}: {'; '.join(person.gestures)}", file=sys.stderr, flush=True)
                yield Row(f"{task.name}, by {way}", len(person.gestures), None, task.limit, unit="gestures")
            notebook.close()
            yield from _pointer(page, server, lab)
            if (root := corpus_folder()) is None:
                skipped("a step of a plan", "there is no corpus")
            else:
                yield from _step(page, server, lab, str(Corpus(root).path(LARGE)))
        finally:
            server.stop()
            browser.close()


def _pointer(page: Any, server: Any, lab: Any) -> Iterator[Row]:
    """Hover and drags over the diagonal of 400 boxes, and that none of them asks the kernel anything."""
    hands: Any = importlib.import_module("tests.browser.hands")
    traffic = hands.Traffic(page)
    notebook = lab.open_notebook(page, server, [hands.IMPORTS, MANY])
    shown = page.locator(".gs-pane-source .gs-box")
    shown.first.wait_for()
    page.get_by_role("button", name="Full screen (Shift+F)").click()  # so that all boxes are in sight
    hands.painted(page)
    hands.fit(page)
    hands.answered(page)
    traffic.settle()
    traffic.asked.clear()
    boxes = sorted(shown.evaluate_all(_PLACES), key=lambda box: box["y"])
    rows = (sorted(boxes[i : i + WIDE], key=lambda box: box["x"]) for i in range(0, len(boxes), WIDE))
    spots = [(row[i]["x"] + row[i]["width"] / 2, row[i]["y"] + row[i]["height"] / 2) for i, row in enumerate(rows)]
    x, y = spots[0][0] - 60, spots[0][1]
    page.evaluate(_WATCH)
    what = f"{shown.count()} boxes"
    ways = (("hover", "", ""), ("pan", "middle", ""), ("frame", "left", ""), ("stroke", "left", "Alt"))
    busy = _Busy(page)
    for name, button, key in ways:
        waited, worked = [float("inf")] * len(spots), [float("inf")] * len(spots)
        for _ in range(ROUNDS):
            hands.fit(page)
            page.mouse.move(x, y)
            if key:
                page.keyboard.down(key)
            if button:
                page.mouse.down(button=button)
            hands.painted(page)
            for i, spot in enumerate(spots):
                page.evaluate("() => { window.took = []; }")
                before = busy.seconds()
                page.mouse.move(*spot)
                page.wait_for_function("window.took.length > 0")
                worked[i] = min(worked[i], busy.seconds() - before)
                waited[i] = min(waited[i], max(page.evaluate("window.took")) / 1000)
            if key:
                page.keyboard.up(key)
            if button:
                page.keyboard.press("Escape")  # nothing is dropped
                page.mouse.up(button=button)
        most = len(spots) * 9 // 10
        yield Row(f"{name} on {what}, nine of ten moves", sorted(waited)[most], None, FRAME)
        yield Row(f"{name} on {what}, nine of ten moves, CPU of the page", sorted(worked)[most], None, FRAME)
    hands.answered(page)
    asked = [verb for verb in traffic.asked if verb != "cancel"]
    yield Row(f"questions to the kernel by hover and drags on {what}", len(asked), None, 0, unit="")
    notebook.close()


def _step(page: Any, server: Any, lab: Any, path: str) -> Iterator[Row]:
    """A step of a plan on a large graph, from the key to the painted answer, and what is computed for it."""
    hands: Any = importlib.import_module("tests.browser.hands")
    notebook = lab.open_notebook(page, server, [f"{hands.IMPORTS}\ned = gs.open({path!r})\ned"])
    page.locator(".gs-pane-source .gs-box").first.click()
    hands.answered(page)
    busy, waited, worked = _Busy(page), [], []
    for _ in range(6):  # what the first one needs, the others find
        kernel, drawn = notebook.ask(_CPU), busy.seconds()
        waited.append(page.evaluate(_DUPLICATE))
        worked.append((notebook.ask(_CPU) - kernel, busy.seconds() - drawn))
        print(
            f"  step of a plan: {waited[-1]:.3f} s, of which the kernel computes {worked[-1][0]:.3f} s, "
            f"the page {worked[-1][1]:.3f} s",
            file=sys.stderr, flush=True,
        )  # fmt: skip
        page.keyboard.press("Control+z")
        hands.answered(page)
        hands.painted(page)
    what = f"a step of a plan on {notebook.ask('ed.snapshot.size'):,} ops"
    notebook.close()
    yield Row(f"{what}, from the key to the painted answer", min(waited[1:]), None, STEP)
    yield Row(f"{what}, CPU of kernel and page", min(sum(one) for one in worked[1:]), None, STEP)


class _Busy:
    """The CPU time of a page's main thread: the same on a busy machine, unlike a clock."""

    def __init__(self, page: Any) -> None:
        self._ask = page.context.new_cdp_session(page).send
        self._ask("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds(self) -> float:
        found = {one["name"]: one["value"] for one in self._ask("Performance.getMetrics")["metrics"]}
        return float(found["TaskDuration"])
