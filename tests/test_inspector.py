"""The inspector: what there is to know of an op or a scope."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import SelectionError
from graphsurgeon.inspector import details
from tests.core.plain import net
from tests.graphs import model, tiny
from tests.refusal import refuses

tf1 = tf.compat.v1


def test_an_op():
    got = details(gs.open(tiny()).snapshot, "y")
    assert got["title"] == "y"
    assert ["type", "Square"] in got["rows"]
    assert ["T", "float32"] in got["rows"]
    assert got["inputs"] == [{"tensor": "x:0", "text": "float32 (?, 2)"}]
    assert got["outputs"] == [{"tensor": "y:0", "text": "float32 (?, 2)"}]
    assert got["consumers"] == ["z"]
    assert "square" in got["doc"].lower()


def test_devices_and_control_edges():
    graph = tf.Graph()
    with graph.as_default(), tf1.device("/cpu:0"):
        a = tf.no_op(name="a")
        with tf.control_dependencies([a]):
            tf.no_op(name="b")
    g = gs.open(graph).snapshot
    assert ["device", "/device:CPU:0"] in details(g, "a")["rows"]
    assert details(g, "b")["control_inputs"] == ["a"]
    assert ["waited for by", "1 ops"] in details(g, "a")["rows"]


def test_a_scope():
    got = details(gs.open(model("resource").graph).snapshot, "net/")
    assert got["title"] == "net"
    assert got["rows"][0][0] == "ops"
    assert any(row[0] == "variables" for row in got["rows"])
    assert {"tensor": "x:0", "text": "float32 (?, 2)"} in got["inputs"]


def test_without_tensorflow_nodes():
    got = details(net(), "net/mm")
    assert got["rows"] == [["type", "MatMul"]]
    assert [t["tensor"] for t in got["inputs"]] == ["x:0", "net/w/read:0"]


def test_a_name_that_is_not_there():
    with refuses(SelectionError, "details('nett/'): there is nothing of that name in net"):
        details(net(), "nett/")


def test_an_op_of_the_screen_says_where_it_is_from_why_it_is_there_and_what_holds_it():
    ed = gs.open(tiny())
    ed.apply(ed.plan().copy(ed.select(name="y"), to="t", unmapped="keep"))
    screen = ed.screen
    rows = dict(screen.details("t/y")["rows"])
    assert rows["comes from"] == "copied from op 'y' of graph in step 1"
    assert rows["held by"] == "nothing: it can be removed"
    assert "in the region" not in rows
    assert dict(screen.details("y")["rows"])["held by"] == "1 reader"
    assert "comes from" not in dict(screen.details("y")["rows"])
    screen.mark_input("x:0")
    screen.mark_output("z:0")
    assert dict(screen.details("y")["rows"])["in the region"] == "'z' needs it: y → z"
    assert "'t/y'" not in dict(screen.details("t/y")["rows"])["not in the region"]
    assert "no path" in dict(screen.details("k")["rows"])["not in the region"]
