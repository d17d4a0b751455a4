"""What a person does in the notebook: looks for a box, clicks it, reads what the screen says."""

from __future__ import annotations

import inspect
import json
import os
import re
from pathlib import Path
from typing import Any

from tests.until import until

#: First cell of each notebook. TensorFlow's log lines do not belong into a picture of it.
IMPORTS = (
    "import os; os.environ.update(TF_CPP_MIN_LOG_LEVEL='3', TF_ENABLE_ONEDNN_OPTS='0')\n"
    "import numpy as np, tensorflow as tf, graphsurgeon as gs"
)


def build() -> Any:
    """Returns a small net: x -> net (a weight) -> y, and a second input."""
    import tensorflow as tf  # here: this module serves tests without TensorFlow, and a notebook has this source

    graph = tf.Graph()
    with graph.as_default(), tf.compat.v1.variable_scope("", use_resource=True):
        x = tf.compat.v1.placeholder(tf.float32, [None, 2], name="x")
        other = tf.compat.v1.placeholder(tf.float32, [None, 2], name="other")
        with tf.compat.v1.variable_scope("net"):
            w = tf.compat.v1.get_variable("w", [2, 3], initializer=tf.compat.v1.glorot_uniform_initializer(seed=1))
            h = tf.nn.relu(tf.matmul(x, w, name="mm"), name="h")
        y = tf.reduce_sum(h, axis=1, name="y")
        tf.add(tf.reduce_sum(other, axis=1, name="rest"), y, name="total")
    return graph


#: The same for a notebook.
BUILD = "\nfrom typing import Any\n" + inspect.getsource(build)


def shot(page: Any, name: str) -> None:
    """Takes a screenshot for people to look at, where GRAPHSURGEON_SHOTS names a folder."""
    folder = os.environ.get("GRAPHSURGEON_SHOTS")
    if folder:
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def box(page: Any, name: str, pane: str = "source") -> Any:
    """The box or group of this name."""
    return page.locator(f".gs-pane-{pane} [data-name={json.dumps(name)}]").first


def fit(page: Any) -> None:
    """Brings the whole picture into sight."""
    page.get_by_role("button", name="Fit to window").click()


def painted(page: Any) -> None:
    """Waits until all that the page has received is on screen: sizes are observed and drawn within two frames."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def answered(page: Any) -> None:
    """Waits until the kernel has answered all that the page has asked; what it answers is shown by then."""
    page.wait_for_function("() => !document.querySelector('.gs[data-waits]')")


class Traffic:
    """What the widgets of a page ask the kernel, and how many answers came; begins before the page is opened.

    Args:
        page: the Playwright page.
    """

    def __init__(self, page: Any) -> None:
        self.page, self.asked, self._answers = page, [], 0
        page.on("websocket", self._listen)

    def _listen(self, socket: Any) -> None:
        socket.on("framesent", lambda frame: self.asked.extend(re.findall(r'"verb":\s*"(\w+)"', _text(frame))))
        socket.on("framereceived", self._count)

    def _count(self, frame: Any) -> None:
        self._answers += len(re.findall(r'"ok":\s*(?:true|false)', _text(frame)))

    def settle(self) -> None:
        """Waits until everything that was asked is answered and on screen."""
        # asking the page lets the events of its sockets in
        until(lambda: painted(self.page) or self._answers >= len(self.asked))


def _text(frame: Any) -> str:
    return frame if isinstance(frame, str) else bytes(frame).decode(errors="replace")


def said(page: Any, text: str) -> None:
    """Waits until the status line says `text`."""
    page.wait_for_function("text => document.querySelector('.gs-status-text').textContent.includes(text)", arg=text)


def at_keys(what: Any) -> None:
    """Waits until the keyboard is where the next key is meant for: where it goes by itself it may go late."""
    what.and_(what.page.locator(":focus")).first.wait_for()


def table(page: Any, tab: str) -> list[list[str]]:
    """Opens a tab of the plan and returns the cells of its table, row by row."""
    if page.get_by_role("tab", name=tab).get_attribute("aria-selected") != "true":
        page.get_by_role("tab", name=tab).click()
    answered(page)
    return page.locator(".gs-panel tbody tr").evaluate_all(
        "rows => rows.map(r => [...r.cells].map(c => c.querySelector('select, input')?.value ?? c.textContent))"
    )


def connect(page: Any, tensor_of: str, to: str, input: int = 0) -> None:
    """Presses m on one box of the destination and m on another, and answers which input."""
    box(page, tensor_of, "destination").focus()
    page.keyboard.press("m")
    box(page, to, "destination").focus()
    page.keyboard.press("m")
    page.locator(".gs-choice").nth(input).click()
    said(page, f"will feed input {input} of {to}")


def apply(page: Any) -> None:
    """Presses Ctrl+Enter, and Enter where the screen asks about warnings."""
    page.keyboard.press("Control+Enter")
    page.locator(".gs-status-text", has_text="applied:").or_(page.get_by_role("alertdialog")).first.wait_for()
    if page.get_by_role("alertdialog").count():
        page.keyboard.press("Enter")
    said(page, "applied:")
