"""The largest real graph: a picture within seconds; looking around never asks the kernel."""

from __future__ import annotations

import time
from typing import Any

from tests.browser.hands import IMPORTS, shot
from tests.lab import _RUN_ALL, open_notebook

LIMIT = 5.0
"""Seconds from running the cell to a picture that can be clicked, on a machine with nothing else to do."""

#: What a busy machine is measured by: TensorFlow alone reads the same file, which takes over 5 s in the best case.
BARE = """
import gzip, time
started = time.perf_counter()
meta = tf.compat.v1.MetaGraphDef.FromString(gzip.open({path!r}).read())
with tf.Graph().as_default():
    tf.import_graph_def(meta.graph_def, name="")
bare = time.perf_counter() - started
"""


def test_first_picture_and_silent_looking(page: Any, lab: Any, corpus: Any) -> None:
    sent: list[Any] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    path = str(corpus.path("slim_resnet152_16tower_train"))
    notebook = open_notebook(page, lab, [f"ed = gs.open({path!r})\ned"], run=False)
    notebook.run(IMPORTS)

    # the machine may be shared: the better of two tries counts
    seconds = first_picture(page)
    if seconds >= LIMIT:
        page.evaluate("() => window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
        page.locator(".gs-box").first.wait_for(state="detached")
        seconds = min(seconds, first_picture(page))
    limit = LIMIT
    if seconds >= LIMIT:
        notebook.run(BARE.format(path=path))
        limit = notebook.ask("bare")
    print(f"first picture: {seconds:.1f} s of {limit:.1f} s")
    assert seconds < limit
    assert 8 <= page.locator(".gs-box").count() <= 60
    assert notebook.ask("ed.snapshot.size > 40_000")
    shot(page, "large")

    # wait until the click is answered, then look around: not one message
    page.locator(".gs-inspect-list").first.wait_for()
    page.wait_for_timeout(500)
    at = page.locator(".gs-pane-source .gs-root")
    sent.clear()
    seen = {at.get_attribute("transform")}
    area = page.locator(".gs-pane-source .gs-canvas").bounding_box()
    x, y = area["x"] + 12, area["y"] + area["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 21):
        page.mouse.move(x + 6 * step, y + 3 * step)
    page.mouse.up()
    seen.add(at.get_attribute("transform"))
    page.keyboard.down("Control")
    for _ in range(10):
        page.mouse.wheel(0, -60)
    page.keyboard.up("Control")
    seen.add(at.get_attribute("transform"))
    page.locator(".gs-pane-source .gs-item[tabindex='0']").focus()
    for key in ["+", "-", "0", "f", "ArrowDown", "ArrowUp"]:
        page.keyboard.press(key)
    seen.add(at.get_attribute("transform"))
    page.wait_for_timeout(500)
    assert len(seen) == 4, "the picture did not move"
    assert sent == [], f"looking around sent {len(sent)} messages to the kernel"
    notebook.close()


def first_picture(page: Any) -> float:
    """Runs the cell; returns the seconds until a picture is painted and a click on it shows."""
    start = time.perf_counter()
    page.evaluate(_RUN_ALL)
    page.locator(".gs-box").first.wait_for(timeout=60_000)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.locator(".gs-box").first.click()
    page.locator(".gs-box.gs-picked").wait_for()
    return time.perf_counter() - start
