"""A gesture, the method of the same name and the printed code do the same thing."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

import graphsurgeon as gs
from tests.browser.hands import answered, apply, at_keys, box, build, connect, fit, painted, said, shot
from tests.widget.page import WidgetPage


def state(graph: tf.Graph) -> tuple[bytes, dict[str, list[str]]]:
    """Returns the nodes and the collections of a graph."""
    held = {
        key: [getattr(one, "name", str(one)) for one in graph.get_collection(key)]
        for key in graph.get_all_collection_keys()
    }
    return graph.as_graph_def().SerializeToString(deterministic=True), held


def test_gestures_methods_and_code(page: Any) -> None:
    graphs = [build() for _ in range(3)]
    hands = gs.open(graphs[0])
    WidgetPage(page, hands.screen)
    box(page, "x").click()
    page.keyboard.press("i")
    box(page, "y").click()
    page.keyboard.press("o")
    said(page, "Boundary: 1 in, 1 out")
    page.keyboard.press("c")
    box(page, "copy/y", "destination").wait_for()
    at_keys(page.locator(".gs-entered"))
    page.locator(".gs-pane-destination .gs-item").first.focus()
    fit(page)
    connect(page, "other", "copy/net/mm")

    # undo and redo of a step, by keys
    page.keyboard.press("Control+z")
    said(page, "undone: connect")
    assert len(hands.draft) == 1
    page.keyboard.press("Control+Shift+Z")
    said(page, "redone: connect")
    assert len(hands.draft) == 2
    code = hands.draft.to_code()
    page.get_by_role("tab", name="Code").click()
    assert page.locator(".gs-code pre").text_content() == code

    # apply, then undo and redo of what was applied
    apply(page)
    assert page.locator(".gs-pane-destination").is_hidden()
    assert box(page, "copy/").evaluate("g => g.classList.contains('gs-selected')")
    answered(page)
    assert list(hands.selection.names) == [name for name in hands.selection.graph.names if name.startswith("copy/")]
    page.keyboard.press("Control+z")
    said(page, "undone:")
    assert sorted(hands.orphans)[0].startswith("copy/")
    box(page, "copy/").wait_for(state="detached")
    page.keyboard.press("Control+Shift+Z")
    said(page, "redone:")
    assert not hands.orphans

    # the strip of the history: one stands at its beginning, and at its end again
    page.get_by_role("tab", name="History").click()
    strip = page.get_by_role("group", name="History").get_by_role("button")
    strip.first.click()
    said(page, "the graph as it was opened")
    box(page, "copy/").wait_for(state="detached")
    assert strip.evaluate_all("all => all.map(one => one.ariaPressed)") == ["true", "false"]
    shot(page, "history")
    strip.last.click()
    said(page, "the graph after copy")
    box(page, "copy/").wait_for()
    assert not hands.orphans

    typed = gs.open(graphs[1]).screen
    typed.mark_input("x")
    typed.mark_output("y")
    typed.copy()
    typed.connect("other:0", to="copy/net/mm", input=0)
    typed.undo()
    typed.redo()
    typed.apply()
    typed.undo()
    typed.redo()
    exec(code, {"graph": graphs[2]})
    states = [state(graph) for graph in graphs]
    assert len(graphs[0].get_operations()) > len(build().get_operations())
    assert states[0] == states[1], "the gestures did not do what the methods do"
    assert states[0] == states[2], "the gestures did not do what the code does"


#: Whether a box lies in a ring of what leads to the box under the pointer, or comes from it.
RINGED = """(g, way) => {
  const body = g.querySelector('.gs-body').getBBox(), at = g.transform.baseVal[0].matrix;
  const middle = new DOMPoint(at.e + body.width / 2, at.f + body.height / 2);
  return g.closest('svg').querySelector(`.gs-flow.gs-${way} .gs-ring`).isPointInFill(middle);
}"""


def test_drags_methods_and_code(page: Any) -> None:
    page.set_default_timeout(20_000)
    graphs = [build() for _ in range(3)]
    hands = gs.open(graphs[0])
    WidgetPage(page, hands.screen)
    box(page, "net/").focus()
    if not box(page, "net/mm").count():
        page.keyboard.press("Enter")
    box(page, "net/mm").wait_for()
    fit(page)
    painted(page)

    # what is upstream and downstream is lit by hovering
    _over(page, box(page, "net/mm"))
    assert [box(page, name).evaluate(RINGED, "up") for name in "xy"] == [True, False]
    assert [box(page, name).evaluate(RINGED, "down") for name in "xy"] == [False, True]
    shot(page, "lit")

    # from a port to a box, which asks for the input
    _over(page, box(page, "other"))
    _over(page, page.locator(".gs-pane-source .gs-port-out").first)
    page.mouse.down()
    _over(page, box(page, "net/mm"))
    page.locator(".gs-pane-source .gs-fits[data-name='net/mm']").wait_for()
    shot(page, "drag")
    page.mouse.up()
    page.locator(".gs-choice").first.click()
    said(page, "will feed input 0 of net/mm")

    # held and pasted, and duplicated in place
    box(page, "y").click()
    answered(page)
    page.keyboard.press("Control+c")
    said(page, "1 op copied")
    page.keyboard.press("Control+v")
    said(page, "will be copied to copy/")
    box(page, "rest").click()
    answered(page)
    page.keyboard.press("Control+d")
    said(page, "will be copied to copy_2/")
    code = hands.draft.to_code()
    apply(page)
    typed = gs.open(graphs[1]).screen
    typed.connect("other:0", to="net/mm", input=0)
    typed.copy_to_clipboard(["y"])
    typed.paste()
    typed.duplicate(["rest"])
    typed.apply()
    scope: dict[str, Any] = {"graph": graphs[2]}
    exec(code, scope)
    made = [hands.graph, typed.destination.graph, scope["ed"].graph]
    nodes = [graph.as_graph_def().SerializeToString(deterministic=True) for graph in made]
    assert nodes[0] == nodes[1], "the gestures did not do what the methods do"
    assert nodes[0] == nodes[2], "the gestures did not do what the code does"


def _over(page: Any, what: Any) -> None:
    """Moves the pointer to the middle of something, in a few steps."""
    at = what.bounding_box()
    page.mouse.move(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2, steps=4)


def test_two_graphs(page: Any) -> None:
    session = tf.compat.v1.Session(graph=build())
    with session.graph.as_default():
        session.run(tf.compat.v1.global_variables_initializer())
    home = tf.Graph()
    with home.as_default():
        camera = tf.compat.v1.placeholder(tf.float32, [None, 2], name="camera")
        tf.multiply(camera, 2.0, name="scaled")
    source, app = gs.open(session, title="net"), gs.open(home, title="app")
    before = source.graph.as_graph_def().SerializeToString(deterministic=True)
    WidgetPage(page, app.view(source))
    assert page.locator(".gs-pane-title").all_text_contents() == ["net", "app"]
    box(page, "x").click()
    page.keyboard.press("i")
    box(page, "y").click()
    page.keyboard.press("o")
    said(page, "Boundary: 1 in, 1 out")
    page.keyboard.press("c")
    box(page, "copy/net/mm", "destination").wait_for()
    at_keys(page.locator(".gs-entered"))
    assert page.locator(".gs-pane-title").all_text_contents() == ["net", "app after the plan"]
    connect(page, "scaled", "copy/net/mm")
    # the new wire is drawn as one that joins what is there to what is copied
    assert page.locator(".gs-pane-destination .gs-is-joined .gs-line").count() == 1
    apply(page)
    assert page.locator(".gs-pane-destination .gs-is-new").count() == 0
    box(page, "copy/net/mm", "destination").wait_for()
    assert before == source.graph.as_graph_def().SerializeToString(deterministic=True)
    feed = np.random.RandomState(0).rand(5, 2).astype("float32")
    want = session.run("y:0", {"x:0": 2 * feed})
    got = app.session().run("copy/y:0", {"camera:0": feed})
    assert (want == got).all()
    assert (got > 0).any()
