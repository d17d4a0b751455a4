"""Tasks at the screen: what a person does for each with a mouse alone and with a keyboard alone, and the limit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.browser.hands import IMPORTS, answered, box, painted, said
from tests.browser.person import Person
from tests.fresh import process

#: Two nets as files, and a place of the notebook where one view after another is shown.
BUILD = """
import ipywidgets
v1 = tf.compat.v1

def conv(x, name, size, padding="SAME"):
    with v1.variable_scope(name):
        return tf.nn.conv2d(x, v1.get_variable("w", [3, 3, int(x.shape[-1]), size]), 1, padding, name="conv")

def net():
    x = v1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
    h = v1.nn.dropout(x, rate=0.5, seed=1, name="dropout")
    h = tf.nn.relu(conv(h, "stem", 4, "VALID"), name="act")
    other = v1.placeholder(tf.float32, [None, None, None, 4], name="other")
    with v1.variable_scope("block"):
        h = tf.nn.relu(conv(h, "a", 4), name="relu_a")
        h = tf.nn.relu(conv(h, "b", 4), name="relu_b")
    h = tf.reduce_mean(h + other, [1, 2], name="pool")
    with v1.variable_scope("head"):
        h = tf.matmul(h, v1.get_variable("w", [4, 2]), name="mm")
    tf.nn.softmax(h, name="y")

def relus():
    h = v1.placeholder(tf.float32, [None, 4], name="x")
    for i in range(3):
        h = tf.nn.relu(tf.nn.relu(h, name=f"act_{i}") - 0.5, name=f"more_{i}")
    tf.nn.softmax(h, name="y")

def donor():
    images = v1.placeholder(tf.float32, [None, 8, 8, 3], name="images")
    with v1.variable_scope("features"):
        h = tf.nn.relu(conv(images, "a", 5), name="relu_a")
        h = tf.nn.relu(conv(h, "b", 5), name="relu_b")
    tf.reduce_mean(h, [1, 2, 3], name="score")

for build in (net, relus, donor):
    with tf.Graph().as_default(), v1.variable_scope("", initializer=v1.glorot_uniform_initializer(seed=1)):
        build()
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            v1.train.Saver(allow_empty=True).save(session, build.__name__)
"""
CELLS = [IMPORTS, BUILD, "place = ipywidgets.VBox([])\nplace"]
NET = "ed = gs.open('net.meta'); view = ed.view()"
RELUS = "ed = gs.open('relus.meta'); view = ed.view()"
SAVED = "gs.open('saved').graph"
GRAFT = "ed = gs.open('net.meta'); view = ed.view(gs.open('donor.meta'))"


@dataclass(frozen=True)
class Task:
    """Something that a person wants, and how.

    Args:
        name: what it is.
        limit: so many gestures at most.
        start: code that opens the view.
        mouse, keyboard: how it is done.
        done: what the status line says then.
        made: the graph that it makes, as code.
    """

    name: str
    limit: int
    start: str
    mouse: Callable[[Person], None]
    keyboard: Callable[[Person], None]
    done: str = "applied:"
    made: str = "ed.graph"


def _copy_by_mouse(person: Person) -> None:
    person.click("block/")
    person.click(person.button("Copy to scope\u2026"))
    person.click(person.button("Choose in graph"))
    person.click("other")
    person.click(person.button("Apply"))


def _copy_by_keys(person: Person) -> None:
    person.press("/")
    person.enter("block")
    person.press("c")
    person.enter("other:0")
    person.press("Control+Enter")


def _types_by_mouse(person: Person) -> None:
    person.click("act_0", "right")
    person.click(person.item("Replace all similar ops"))
    person.click(person.page.get_by_role("option", name="Relu6"))
    person.click(person.button("Apply"))


def _types_by_keys(person: Person) -> None:
    person.press("ArrowDown")
    person.press("y")
    person.press("Enter")
    person.press("Control+Enter")


def _dropout_by_mouse(person: Person) -> None:
    person.click("dropout/", "right")
    person.click(person.item("Remove and reconnect"))
    person.click(person.button("Apply"))


def _dropout_by_keys(person: Person) -> None:
    person.press("ArrowDown")
    person.press("Delete")
    person.press("Control+Enter")


def _attribute_by_mouse(person: Person) -> None:
    person.click(person.page.get_by_role("combobox", name="Search ops"))
    person.type("attr:padding=VALID")
    person.click(person.page.locator(".gs-hit").first)
    person.click(person.page.locator('.gs-set[aria-label^="padding:"]'))
    person.click(person.page.get_by_role("menuitemcheckbox", name="SAME"))
    person.click(person.button("Apply"))


def _attribute_by_keys(person: Person) -> None:
    person.press("/")
    person.enter("attr:padding=VALID")
    person.press("a")
    person.enter("same")
    person.press("Control+Enter")


def _save_by_mouse(person: Person) -> None:
    person.click(person.button("Save"))
    person.type("saved")
    person.click(person.page.locator(".gs-dialog").get_by_role("button", name="Save", exact=True))


def _save_by_keys(person: Person) -> None:
    person.press("Shift+S")
    person.enter("saved")


def _graft_by_mouse(person: Person) -> None:
    person.click("features/")
    person.click(person.button("Copy to scope\u2026"))
    person.click(person.button("Choose in graph"))
    person.click(box(person.page, "x", "destination"))
    person.click(person.button("Fit to window (f)"))
    person.wire("copy/features/relu_b", "head/mm", "destination")
    person.click(person.item("Mean of each channel, then dense").first)
    person.click(person.button("Apply"))
    person.click(person.page.get_by_role("alertdialog").get_by_role("button", name="Apply"))


def _graft_by_keys(person: Person) -> None:
    person.press("/")
    person.enter("features")
    person.press("c")
    person.enter("x:0")
    person.press("Escape")
    person.press("m")
    person.press("/")
    person.enter("head/mm")
    person.press("m")
    person.press("Enter")
    person.press("Control+Enter")
    person.press("Enter")


TASKS = (
    Task("copy a block and feed it from another tensor", 8, NET, _copy_by_mouse, _copy_by_keys),
    Task("graft A's features under B's head with an adapter", 12, GRAFT, _graft_by_mouse, _graft_by_keys),
    Task("replace all ReLU by ReLU6", 4, RELUS, _types_by_mouse, _types_by_keys),
    Task("take dropout out", 3, NET, _dropout_by_mouse, _dropout_by_keys),
    Task("find and fix a wrong attribute", 6, NET, _attribute_by_mouse, _attribute_by_keys),
    Task("save with a signature", 5, NET, _save_by_mouse, _save_by_keys, "saved:", SAVED),
)


def do(page: Any, notebook: Any, task: Task, way: str) -> Person:
    """Does a task in a fresh view of the notebook, and returns who did it.

    The keyboard is in the picture at the start, on its first box, as it is after a click into it.
    """
    notebook.run("place.children = []")
    page.locator(".gs-status").wait_for(state="detached")
    notebook.run(f"{task.start}\nplace.children = [view]")
    page.locator(".gs-pane-source .gs-box").first.wait_for()
    painted(page)
    page.locator(".gs").evaluate("widget => widget.scrollIntoView()")  # all of it: a recording shows what is in sight
    box(page, "images" if task.start == GRAFT else "x").focus()
    person = Person(page, f"{task.name.replace(' ', '-')}-by-{way}")
    (task.mouse if way == "mouse" else task.keyboard)(person)
    said(page, task.done)
    answered(page)
    person.recorded()
    return person


def each(page: Any, notebook: Any) -> Iterator[tuple[Task, str, Person]]:
    """Does every task by mouse and by keyboard, and yields which, how, and who did it."""
    for task in TASKS:
        for way in ("mouse", "keyboard"):
            yield task, way, do(page, notebook, task, way)


#: Runs scripts, each the history of a view and what was saved of it, and says what graphs they make.
_AGAIN = """
import hashlib, json, shutil, sys
import tensorflow as tf, graphsurgeon as gs
made = []
for text, saved, graph in json.load(open(sys.argv[1])):
    names = {"__name__": "again", "gs": gs}
    exec(text, names)
    names["ed"] = names["redo"]()
    shutil.rmtree("saved", ignore_errors=True)  # another process does not write over what is there
    exec(saved, names)
    made.append(eval(graph, names))
print(json.dumps(made))
"""


def digest(graph: str) -> str:
    """Returns code that says in short what a graph is."""
    return f"__import__('hashlib').sha256({graph}.as_graph_def().SerializeToString(deterministic=True)).hexdigest()"


def again(scripts: list[tuple[str, str, str]], folder: Path) -> list[str]:
    """Returns what graphs are that scripts make in a fresh process: each the history, what was saved, the graph."""
    given = folder / "again.json"
    given.write_text(json.dumps(scripts))
    ran = process(_AGAIN, given, cwd=folder)
    assert ran.returncode == 0, ran.stderr[-3000:]
    made: list[str] = json.loads(ran.stdout.splitlines()[-1])
    return made
