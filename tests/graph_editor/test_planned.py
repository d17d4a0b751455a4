"""Copies by plan: what is known of the source is used again; few plain ops are copied just as the engine would."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tensorflow as tf

from graphsurgeon import graph_editor as ge
from graphsurgeon.graph_editor import transform
from graphsurgeon.graph_editor.util import WrongValue
from graphsurgeon.tf.edit import edit_in_place as rewiring
from tests.graph_editor import calls
from tests.graph_editor.test_bugs import loop, net
from tests.graph_editor.test_record import RECORD
from tests.graphs import look, run, tf1
from tests.refusal import refuses


@pytest.fixture
def always(monkeypatch):
    """Every graph counts as large."""
    monkeypatch.setattr(transform, "SHARE", 0)
    real, counted = transform.copy_plain_view, []

    def pairs(*args):
        counted.append(real(*args))
        return counted[-1]

    monkeypatch.setattr(transform, "copy_plain_view", pairs)
    return counted


@pytest.mark.filterwarnings("ignore:copied z/")
@pytest.mark.parametrize("seed", range(6))
def test_names_and_edges_are_those_of_the_original(seed, always):
    assert json.loads(json.dumps(calls.case_copy(ge, seed))) == RECORD["cases"][f"copy {seed}"]
    assert any(made is not None for made in always)


def test_scopes_are_taken_and_shapes_kept(always):
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, None, name="x")
        y = tf.square(x, name="y")
        y.set_shape([3])
        graph.add_to_collection("mine", y)
        wide = tf1.placeholder(tf.float32, [5], name="wide")
    news = [ge.copy_with_input_replacements(y.op, {}, dst_scope="c")[1].transformed(y) for _ in range(2)]
    news.append(ge.copy_with_input_replacements(y.op, {x: wide}, dst_scope="c", reuse_dst_scope=True)[1].transformed(y))
    assert all(made is not None for made in always)
    assert [(t.name, t.shape.as_list()) for t in news] == [("c/y:0", [3]), ("c_1/y:0", [3]), ("c/y_1:0", [5])]
    assert [graph.get_collection(name) for name in ("c/mine", "c_1/mine")] == [[news[0], news[2]], [news[1]]]
    assert run(graph, news[2], {wide: np.full(5, 2.0)}).tolist() == [4.0] * 5


def test_what_waits_for_a_replaced_tensor_waits_for_the_new_one(always):
    graph = tf.Graph()
    with graph.as_default():
        x, other, far = (tf1.placeholder(tf.float32, [], name=n) for n in ("x", "other", "far"))
        minus = tf.negative(x)
        with tf1.control_dependencies([x.op, far.op]):
            late = tf.square(minus)
    _, info = ge.copy_with_input_replacements([minus.op, late.op], {x: other}, dst_scope="c")
    assert always[0] is not None
    assert {op.name for op in late.op.control_inputs} == {"x", "far"}
    assert {op.name for op in info.transformed(late.op).control_inputs} == {"other", "far"}


def test_what_needs_more_than_its_inputs_is_left_to_the_engine(always):
    graph, x, _y, w = net()
    inner = tf.Graph()
    loop(inner)
    with inner.as_default():
        called = tf.function(lambda t: t + 1.0)(tf.constant(1.0))
    looping = [op for op in inner.get_operations() if op.name.startswith("while")]
    for ops in ([w.op], looping, [called.op]):
        ge.copy_with_input_replacements(ops, {}, dst_scope="c")
    ge.copy([op for op in x.consumers() if op.graph is graph], dst_scope="c")  # its inputs are placeholders
    assert always == [None] * 4


def test_a_misfit_is_the_engines_to_tell(always):
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        y = tf.matmul(x, tf.ones([2, 2]), name="y")
        wide = tf1.placeholder(tf.float32, [None, 9], name="wide")
    before = look(graph)
    with refuses(WrongValue, "'wide:0'", "'x:0'"):
        ge.copy_with_input_replacements(y.op, {x: wide}, dst_scope="c")
    assert always == [None]
    assert look(graph) == before


# -- again ------------------------------------------------------------------------------------------


@pytest.fixture
def graph():
    made = tf.Graph()
    with made.as_default():
        a, b = (tf1.placeholder(tf.float32, [2], name=n) for n in "ab")
        tf1.get_variable("w", initializer=[1.0, 2.0], use_resource=True)
        tf.negative(tf.identity(tf.add(a, 1.0, name="more"), name="mid"), name="y")
        tf.identity(b, name="z")
    ge.copy(made, tf.Graph(), dst_scope="first")
    return made


def result(graph, name, feed):
    with tf1.Session(graph=graph) as session:
        return session.run(name, feed).tolist()


def again(graph):
    target = tf.Graph()
    view, info = ge.copy(graph, target, dst_scope="copy")
    assert len(view.ops) == len(graph.get_operations()) == len(target.get_operations())
    return target, info


def test_the_snapshot_is_used_again(graph):
    known = rewiring.journal(graph).current_snapshot()
    again(graph)
    assert known is not None
    assert rewiring.journal(graph).current_snapshot() is known


def test_an_edge_that_this_package_changes_is_seen(graph):
    ge.reroute_ts(graph.get_tensor_by_name("b:0"), graph.get_tensor_by_name("mid:0"))
    assert rewiring.journal(graph).current_snapshot() is None
    target, _ = again(graph)
    assert result(target, "copy/y:0", {"copy/b:0": [1.0, 2.0]}) == [-1.0, -2.0]


def test_an_edge_that_somebody_else_changes_is_seen(graph):
    graph.get_operation_by_name("y")._update_input(0, graph.get_tensor_by_name("b:0"))
    for _ in range(2):
        target, _ = again(graph)
        assert result(target, "copy/y:0", {"copy/b:0": [1.0, 2.0]}) == [-1.0, -2.0]


def test_an_attribute_that_somebody_changes_is_seen(graph):
    graph.get_operation_by_name("y")._set_attr("_mark", tf1.AttrValue(s=b"new"))
    target, _ = again(graph)
    assert target.get_operation_by_name("copy/y").get_attr("_mark") == b"new"


def test_what_is_added_is_copied_too(graph):
    with graph.as_default():
        late = tf1.get_variable("late", initializer=[3.0], use_resource=True)
        graph.add_to_collection("mine", graph.get_tensor_by_name("y:0"))
    target, info = again(graph)
    assert info.transformed(late).name == "copy/late:0"
    assert [v.op.name for v in target.get_collection("variables")] == ["copy/w", "copy/late"]
    assert [t.name for t in target.get_collection("copy/mine")] == ["copy/y:0"]
    graph.add_to_collection("mine", graph.get_tensor_by_name("z:0"))
    assert [t.name for t in again(graph)[0].get_collection("copy/mine")] == ["copy/y:0", "copy/z:0"]


def test_copies_within_the_graph(graph):
    for count in (1, 2, 3):
        size = len(graph.get_operations())
        view, _ = ge.copy(ge.sgv("more|mid|y", graph=graph) if count == 3 else graph, dst_scope="in")
        assert len(graph.get_operations()) >= size + len(view.ops)
    with tf1.Session(graph=graph) as session:
        assert session.run("in/y:0", {"in/a:0": [1.0, 2.0]}).tolist() == [-2.0, -3.0]


def test_of_a_large_graph_none_is_kept(graph, monkeypatch):
    monkeypatch.setattr(rewiring, "_MAX_CACHED", 10)
    with graph.as_default():
        tf.constant(1.0)
    again(graph)
    assert rewiring.journal(graph).current_snapshot() is None
