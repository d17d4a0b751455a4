"""Edits of several ops by hand: all alike, names, functions, order, copies; by hand, by method and by code the same."""

from __future__ import annotations

import re
from typing import Any

import tensorflow as tf

import graphsurgeon as gs
from tests.browser.hands import apply, box, fit, said, shot
from tests.widget.page import WidgetPage


def build() -> Any:
    graph = tf.Graph()

    @tf.function
    def scaled(a: Any) -> Any:
        return tf.nn.relu(a) * 2.0

    with graph.as_default():
        x = h = tf.compat.v1.placeholder(tf.float32, [8, 4], name="x")
        for letter in "abc":
            with tf.compat.v1.name_scope("block" + letter):
                h = tf.nn.relu(tf.negative(h, name="neg"), name="act")
        tf.reduce_sum(h, name="y")
        with tf.compat.v1.name_scope("tail"):
            tail = tf.exp(tf.tanh(x, name="tanh"), name="exp")
        tf.add(tail, scaled(x), name="sum")
        with tf.compat.v1.name_scope("side"):
            side = tf.sin(tf.cos(x, name="cos"), name="sin")
        first = tf.square(x, name="first")
        read = tf.identity(first, name="read")
        tf.sign(x, name="other")
        with tf.control_dependencies([tf.abs(x, name="before")]):
            tf.add(read, side, name="done")
        tf.sigmoid(x, name="alone")
    return graph


def choose(page: Any, of: str, item: str, shown: str = "") -> None:
    """Opens the menu of edits on a box and takes an item."""
    box(page, of).focus()
    page.keyboard.press("e")
    if shown:
        shot(page, shown)
    page.get_by_role("menuitem", name=item).click()


def answer(page: Any, **fields: str) -> None:
    """Fills fields in, by their labels with _ for a space, and presses Enter."""
    for label, value in fields.items():
        page.get_by_role("textbox", name=label.replace("_", " ")).fill(value)
    page.keyboard.press("Enter")


def test_edits_of_several_ops_by_hand_by_method_and_by_code(page: Any) -> None:
    graphs = [build() for _ in range(3)]
    hands = gs.open(graphs[0])
    WidgetPage(page, hands.screen)
    box(page, "blocka/").wait_for()
    fit(page)

    # all like it: found, selected, then replaced
    box(page, "blocka/").click(button="right")
    shot(page, "wide-menu")
    page.get_by_role("menuitem", name="Find all similar").click()
    said(page, "3 places like this, 6 ops")
    page.wait_for_function("document.querySelectorAll('.gs-pane-source .gs-selected').length === 3")
    shot(page, "wide-found")
    choose(page, "blocka/", "Replace all similar ops", "wide-edits-of-a-scope")
    page.get_by_role("combobox", name="Op type").fill("Softplus")
    shot(page, "wide-replace")
    page.keyboard.press("Enter")
    said(page, "3 places like blocka/neg, blocka/act will be replaced by Softplus, in a new graph")
    shot(page, "wide-replaced")

    choose(page, "alone", "Rename", "wide-edits-of-an-op")
    answer(page, Name="gate")
    said(page, "alone will be renamed to gate")
    choose(page, "tail/", "Collapse it into a function")
    answer(page, Name="tail_call")
    said(page, "tail/tanh, tail/exp will become one call, tail_call")
    choose(page, "PartitionedCall", "Inline the call")
    said(page, "PartitionedCall will be replaced by the ops inside")

    # an op is waited for: another takes its place
    choose(page, "before", "Reroute its waiting ops to")
    said(page, "before: go to the op that they should wait for")
    box(page, "other").focus()
    page.keyboard.press("Enter")
    said(page, "the waiting ops of before will wait for other")

    fit(page)  # with two panes, the box is out of view
    box(page, "side/").click()
    choose(page, "first", "Insert a copy of the selection")
    answer(page, Scope_of_the_copy="again")
    said(page, "a copy of side/cos, side/sin will follow first:0")
    shot(page, "wide-plan")
    code = hands.draft.to_code()
    apply(page)
    shot(page, "wide-applied")

    # on copies: no existing op changes
    before = hands.graph
    choose(page, "read", "Bypass")
    said(page, "read will be bypassed, in a new graph")
    choose(page, "read", "Make these edits on copies")
    shot(page, "wide-copies")
    answer(page, Scope_of_the_copies="late")
    said(page, "the edits so far will be made on copies under late/")
    later = hands.draft.to_code()
    apply(page)
    assert hands.graph is before

    typed = gs.open(graphs[1]).screen
    assert typed.find_similar(["blocka/"])["count"] == 3
    typed.replace(["blocka/"], "Softplus")
    typed.rename("alone", "gate")
    typed.collapse(["tail/"], "tail_call")
    typed.inline(["PartitionedCall"])
    typed.reroute_control("before", "other")
    typed.insert_copy(["side/"], "first:0", "again")
    typed.apply()
    typed.bypass("read")
    typed.on_copies("late")
    typed.apply()
    edited: dict[str, Any] = {"graph": graphs[2]}
    exec(code, edited)
    edited["graph"] = edited["done"].graph
    exec(later, edited)
    # functions have numbers in their names that count on; all else must be the same
    made = [hands.graph, typed.destination.graph, edited["done"].graph]
    texts = {re.sub(r"(__inference_[a-z_]+_)\d+", r"\1", str(g.as_graph_def())) for g in made}
    assert len(texts) == 1
    types = [op.type for op in hands.graph.get_operations()]
    assert types.count("Softplus") == 3
    assert "Neg" not in types
    op = hands.graph.get_operation_by_name
    assert [one.name for one in op("done").control_inputs] == ["other"]
    assert op("read").inputs[0].name == "again/side/sin:0"
    assert op("late/done").inputs[0].name == "again/side/sin:0"
