"""gs.diff: editors, graphs, files and snapshots; edits, copies and real attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.editor.compare import diff
from graphsurgeon.errors import LayoutError, OpenError, SelectionError
from tests.cost import growth, lines
from tests.graphs import model, tiny
from tests.refusal import refuses

tf1 = tf.compat.v1


def test_of_anything_that_can_be_opened(tmp_path):
    graph = tiny()
    tf.io.write_graph(graph, str(tmp_path), "tiny.pb", as_text=False)
    ed = gs.open(graph)
    for other in (graph, ed, ed.snapshot, str(tmp_path / "tiny.pb"), tf1.Session(graph=graph)):
        assert not diff(ed, other), str(diff(ed, other))
    with refuses(OpenError, "nothing.pb"):
        diff(ed, str(tmp_path / "nothing.pb"))
    with refuses(SelectionError, "diff(by='size')", "is not a way to pair ops"):
        diff(ed, ed, by="size")


def test_before_and_after_an_edit():
    ed = gs.open(tiny())
    before = ed.snapshot
    block = ed.select(inputs="x:0", outputs="y:0")
    ed.apply(ed.plan().copy(block, to="copy", inputs={"x:0": "x:0"}).connect("copy/y:0", to="z"))
    found = diff(before, ed)
    assert found.added == ("copy/y",)
    assert found.removed == ()
    assert [str(change) for change in found.changes] == ["z input 0: y:0 -> copy/y:0"]
    names = found.picture.names
    assert {names[i]: mark for i, mark in found.marks.items()} == {"z": "changed", "copy/y": "new"}


def test_a_copy_and_its_original_by_the_map_of_names():
    source = gs.open(model("resource", None).graph)
    target = gs.open(tf.Graph())
    target.apply(target.plan().copy(source.select(), to="copy", collections="rename"))
    mapping = {name: f"copy/{name}" for name in source.snapshot.names}
    found = diff(source, target, by="mapping", mapping=mapping)
    assert found.changes == (), str(found)
    assert (found.added, found.removed) == ((), ())
    same = diff(source, target, by="structure")
    assert (same.added, same.removed) == ((), ())
    assert {change.kind for change in same.changes} <= {"attribute"}, str(same)


def test_objects_in_the_mapping():
    a, b = tiny(), tiny()
    found = diff(a, b, by="mapping", mapping={a.get_tensor_by_name("y:0"): b.get_operation_by_name("y")})
    assert found.removed == ("x", "k", "z/y", "z")


def test_attributes_are_told_as_people_write_them():
    def graph(strides: int, device: str) -> tf.Graph:
        with tf.Graph().as_default() as made, tf.device(device):
            x = tf1.placeholder(tf.float32, [1, 8, 8, 3], name="x")
            tf.nn.conv2d(x, tf.zeros([3, 3, 3, 4], name="w"), strides, "SAME", name="conv")
        return made

    found = diff(graph(1, "/cpu:0"), graph(2, ""))
    assert [str(c) for c in found.changes if c.op == "conv"] == [
        "conv strides: [1, 1, 1, 1] -> [1, 2, 2, 1]",
        "conv: /device:CPU:0 -> nothing",
        "conv:0: float32 (1, 8, 8, 4) -> float32 (1, 4, 4, 4)",
    ]


def test_a_shape_set_by_hand_is_seen():
    a, b = tiny(), tiny()
    b.get_tensor_by_name("y:0").set_shape([3, 2])
    assert [str(c) for c in diff(a, b).changes] == ["y:0: float32 (?, 2) -> float32 (3, 2)"]


def test_large_constants_are_compared_by_value_and_told_by_size():
    def graph(last: float) -> tf.Graph:
        value = np.zeros(50_000, np.float32)
        value[-1] = last
        with tf.Graph().as_default() as made:
            tf.constant(value, name="c")
        return made

    assert not diff(graph(1), graph(1))
    assert "float32 (50000)" in str(diff(graph(1), graph(2)))


@pytest.mark.deep
def test_ten_times_the_real_ops_cost_ten_times_as_much():
    def graph(size: int, lead: str) -> tf.Graph:
        def_ = tf1.GraphDef()
        def_.node.add(name=f"{lead}n0", op="Placeholder").attr["dtype"].type = tf.float32.as_datatype_enum
        for i in range(1, size):
            node = def_.node.add(name=f"{lead}n{i}", op=("Neg", "Exp", "Abs")[i % 3], input=[f"{lead}n{i - 1}"])
            node.attr["T"].type = tf.float32.as_datatype_enum
        with tf.Graph().as_default() as made:
            tf.import_graph_def(def_, name="")
        return made

    def compared(size: int, lead: str, by: str):
        a, b = (gs.open(graph(size, lead)).snapshot for lead in ("", lead))

        def compare():
            assert diff(a, b, by=by).counts.get("renamed", 0) == (size if lead else 0)

        return compare

    lines(compared(100, "m", "structure"))  # what is made at the first
    assert growth(lambda size: compared(size, "", "name"), 1000, 10_000) < 12
    assert growth(lambda size: compared(size, "m", "structure"), 1000, 10_000) < 12


def test_a_difference_is_drawn_in_a_cell():
    def graph(kind: str, *more: str) -> tf.Graph:
        with tf.Graph().as_default() as made:
            x = tf1.placeholder(tf.float32, [None, 2], name="x")
            getattr(tf, kind)(x, name="y")
            for name in more:
                tf.negative(x, name=name)
        return made

    found = diff(gs.open(graph("exp", "gone"), title="old<i>"), gs.open(graph("square", "won"), title="new"))
    shown = found._repr_mimebundle_()
    assert shown["text/plain"] == str(found)
    svg = shown["image/svg+xml"]
    for words in ("only in new: 1", "only in old&lt;i&gt;: 1", "in both, changed: 1", "Square · was Exp"):
        assert words in svg
    assert "<i>" not in svg
    assert shown["text/html"].startswith("<img alt=")
    same = diff(graph("exp"), graph("exp"))
    assert "no difference" in same._repr_mimebundle_()["text/plain"]


def test_a_difference_too_large_to_draw_is_told(monkeypatch):
    def refuse(_found):
        raise LayoutError("draw", "too many boxes", "Fold")

    monkeypatch.setattr("graphsurgeon.view.comparison.contrast", refuse)
    assert set(diff(tf.Graph(), tf.Graph())._repr_mimebundle_()) == {"text/plain"}


def _loop(by):
    """A v2 While whose body calls a function, and y beside it."""
    with tf.Graph().as_default() as graph:
        grow = tf.function(lambda v: v * by)
        from tensorflow.python.ops.while_v2 import while_loop

        x = tf1.placeholder(tf.float32, [], name="x")
        while_loop(lambda v: v < 9.0, lambda v: [grow(v)], [x], name="turn")
        tf.negative(x, name="y")
    return graph


def test_functions_that_a_new_graph_calls_by_other_names_are_no_change():
    ed = gs.open(_loop(2.0))
    before = ed.snapshot
    ed.apply(ed.plan().set_attr("y", "_mark", 1))
    names = [{ed.op("turn").get_attr(key).name for key in ("cond", "body")}]
    names.append({before.owner.get_operation_by_name("turn").get_attr(key).name for key in ("cond", "body")})
    assert not names[0] & names[1]
    found = diff(before, ed)
    assert [(c.kind, c.op, c.detail) for c in found.changes] == [("attribute", "y", "_mark")]


def test_functions_that_compute_something_else_are_a_change():
    found = diff(_loop(2.0), _loop(3.0))
    assert ("attribute", "turn", "body") in [(c.kind, c.op, c.detail) for c in found.changes]
    assert ("attribute", "turn", "cond") not in [(c.kind, c.op, c.detail) for c in found.changes]


def test_a_mapping_that_is_none_is_told():
    with refuses(SelectionError, "diff(mapping=['x']): that is not a mapping", "Give {'op of a': 'op of b'}"):
        gs.diff(tf.Graph(), tf.Graph(), mapping=["x"])


def branches(times: float = 2.0) -> Any:
    """A graph with a v2 loop in a branch of a v2 cond."""
    tf1.enable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")

        def loop() -> Any:
            return tf1.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * times), (0, x))[1]

        tf.identity(tf1.cond(x > 0.0, lambda: x + 1.0, loop, name="cond"), name="y")
    return graph


def copy_of(graph: Any, to: str) -> Any:
    into = gs.open(tf.Graph())
    into.apply(into.plan().copy(gs.open(graph).select(), to=to))
    return into


@pytest.mark.parametrize("by", ["structure", "name"])
def test_functions_are_compared_by_what_they_compute(by):
    graph = branches()
    one, two = copy_of(graph, "one"), copy_of(graph, "one" if by == "name" else "two")
    assert set(one.graph._functions).isdisjoint(two.graph._functions)
    found = gs.diff(one, two, by=by)
    assert not found.added
    assert not found.removed
    assert not found.changes
    assert gs.diff(one, copy_of(branches(3.0), "one" if by == "name" else "two"), by=by)


def test_what_was_undone_is_in_no_diff_and_in_no_file(tmp_path):
    graph = branches()
    ed = gs.open(graph)
    before, functions = ed.snapshot, set(graph._functions)
    ed.apply(ed.plan().copy(ed.select(), to="again"))
    assert len(gs.diff(before, ed).added) == before.size
    ed.undo()
    assert not gs.diff(before, ed)
    ed.save(tmp_path / "g.pb")
    ed.save(tmp_path / "g.meta")
    saved = tf1.MetaGraphDef.FromString((tmp_path / "g.meta").read_bytes()).graph_def
    for written in (tf1.GraphDef.FromString((tmp_path / "g.pb").read_bytes()), saved):
        assert len(written.library.function) == len(functions)
        assert len(written.node) == before.size
    ed.redo()
    assert len(gs.diff(before, ed).added) == before.size


def test_what_was_undone_is_in_the_diff_where_something_reads_it():
    ed = gs.open(branches())
    before = ed.snapshot
    done = ed.apply(ed.plan().copy(ed.select(), to="again"))
    with ed.graph.as_default():
        tf.identity(done["x:0"], name="reads")
    ed.undo()
    assert gs.diff(before, ed).added == ("again/x", "reads")
