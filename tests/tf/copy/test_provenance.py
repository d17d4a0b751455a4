"""Provenance: where every op came from, and that files remember it."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from graphsurgeon.graph.provenance import ATTRIBUTE, COLLECTION
from graphsurgeon.tf.copy.append import constant_of, origin, recorded_origins
from graphsurgeon.tf.open import outputs
from tests.graphs import model, run, tf1, tiny
from tests.refusal import refuses

WANTED = {
    "x": "original",
    "w/net/y": "copied from op 'net/y' of src in step 1",
    "w/x": "placeholder made in step 1 in place of 'x:0' of src",
    "mid": "inserted in step 2",
    "z": "original, changed in step 2 (input 0 reads mid:0)",
    "y": "original, changed in step 3 (_mark='here')",
    "again/w/net/y": "copied from op 'w/net/y' of graph in step 4 (there copied from op 'net/y' of src in step 1)",
}


def operated():
    """Returns an editor with four steps: a copy from another graph, an insert, an attribute, a copy of the copy."""
    m = model("resource", optimizer=None)
    src, ed = gs.open(m.session, title="src"), gs.open(tiny())
    block = src.select(inputs="x:0", outputs="net/y:0")
    ed.apply(ed.plan().copy(block, to="w", unmapped="placeholder", values=src))
    ed.apply(ed.plan().insert("Identity", on="y:0", name="mid"))
    ed.apply(ed.plan().set_attr("y", "_mark", "here"))
    ed.apply(ed.plan().copy(ed.select(scope="w"), to="again"))
    return ed


def reported(ed) -> dict[str, str]:
    return {name: str(ed.provenance(name)) for name in WANTED}


def test_every_kind_of_origin():
    ed = operated()
    assert reported(ed) == WANTED
    origin = ed.provenance(ed.tensor("w/net/y:0"))
    assert (origin.kind, origin.step, origin.original, origin.graph, origin.steps) == ("copied", 1, "net/y", "src", [1])
    assert ed.provenance("z").steps == [2]
    variable = ed.graph.get_collection("variables")[0]
    assert str(ed.provenance(variable)) == "copied from op 'net/w' of src in step 1"
    with refuses(SelectionError, "provenance('nobody'): no op is called 'nobody'"):
        ed.provenance("nobody")


def test_frozen_variables_and_setters():
    m = model("resource", optimizer=None)
    ed = gs.open(tf.Graph())
    ed.apply(ed.plan().copy(gs.open(m.session, title="src").select(outputs="net/y:0"), to="f", variables="freeze",
                            values=m.session))  # fmt: skip
    assert str(ed.provenance("f/net/w")) == "constant made in step 1 in place of 'net/w:0' of src"


def test_it_is_taken_back_and_done_again():
    ed = operated()
    for _ in range(4):
        ed.undo()
    assert COLLECTION not in ed.graph.get_all_collection_keys()
    assert ed.provenance("z").kind == "original"
    assert str(ed.provenance("w/net/y")) == "an orphan, left by step 1"
    for _ in range(4):
        ed.redo()
    assert reported(ed) == WANTED


def test_it_disturbs_nobody():
    ed = operated()
    assert COLLECTION in ed.graph.get_all_collection_keys()
    assert COLLECTION not in ed.snapshot.state.collections
    assert "graphsurgeon" not in str(ed)
    dst = gs.open(tf.Graph())
    plan = dst.plan().copy(ed.select(), to="", collections="keep")
    assert "graphsurgeon" not in str(plan.preview())
    dst.apply(plan)
    assert len(dst.graph.get_collection(COLLECTION)) == 1
    assert str(dst.provenance("mid")) == "copied from op 'mid' of graph in step 1 (there inserted in step 2)"
    plain = gs.open(tiny())
    plain.apply(plain.plan().copy(plain.select(name="y"), to="t", unmapped="keep"), record=False)
    assert plain.graph.get_all_collection_keys() == []
    assert plain.provenance("t/y").kind == "original"
    assert b"_graphsurgeon" not in ed.graph_def().SerializeToString()


def meta_graph(ed, folder):
    with ed.graph.as_default():
        tf1.train.export_meta_graph(str(folder / "a.meta"))
    return gs.open(str(folder / "a.meta"))


def packed(ed, folder):
    with ed.graph.as_default():
        meta = tf1.train.export_meta_graph()
    (folder / "a.meta.gz").write_bytes(gzip.compress(meta.SerializeToString()))
    return gs.open(str(folder / "a.meta.gz"))


def checkpoint(ed, folder):
    with ed.graph.as_default():
        tf1.train.Saver().save(ed.session(), str(folder / "ckpt"))
    return gs.open(str(folder / "ckpt.meta"))


def saved_model(ed, folder):
    builder = tf1.saved_model.Builder(str(folder / "saved"))
    with ed.graph.as_default():
        builder.add_meta_graph_and_variables(ed.session(), ["serve"], strip_default_attrs=True)
    builder.save()
    return gs.open(str(folder / "saved"))


def graph_def(ed, folder):
    path = folder / "a.pb"
    path.write_bytes(ed.graph_def(provenance=True).SerializeToString())
    return gs.open(str(path))


def through_tensorflow(ed, folder):
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(ed.graph_def(provenance=True), name="")
    return gs.open(graph)


def text(ed, folder):
    tf.io.write_graph(ed.graph_def(provenance=True), str(folder), "a.pbtxt")
    return gs.open(str(folder / "a.pbtxt"))


@pytest.mark.parametrize("way", [meta_graph, packed, checkpoint, saved_model, graph_def, through_tensorflow, text])
def test_it_is_kept_through_save_and_load(way, tmp_path):
    ed = operated()
    again = way(ed, tmp_path)
    assert reported(again) == WANTED
    feed = {"x:0": [[1.0, 2.0]]}
    assert run(again.graph, "z:0", feed).tolist() == run(ed.graph, "z:0", feed).tolist()
    done = again.apply(again.plan().copy(again.select(name="mid"), to="last", unmapped="keep"))
    assert str(again.provenance(done.ops[0])).endswith("(there inserted in step 2)")
    assert ed.provenance("mid").step == 2


def test_a_record_of_a_stranger_does_no_harm(tmp_path):
    for number, bad in enumerate([
        b"graphsurgeon provenance 1 step 1 json\n{", b"graphsurgeon provenance 1 step 1 zlib\nx", b"\xff\x00",
        b"graphsurgeon provenance 1 step 1 json\n[1]", b"graphsurgeon provenance 1 step x json\n{}",
        b'graphsurgeon provenance 1 step 1 json\n{"copies":[{"ops":3}]}', b"graphsurgeon provenance 1 step 2 json\n"
        b'{"made":{"y":["<b>","",""]}}', b"graphsurgeon provenance 1 step 1 json\n" + b"[" * 100_000,
    ]):  # fmt: skip
        graph = tiny()
        graph.add_to_collection(COLLECTION, bad)
        with graph.as_default():
            tf1.train.export_meta_graph(str(tmp_path / f"{number}.meta"))
        ed = gs.open(str(tmp_path / f"{number}.meta"))
        assert ed.provenance("x").kind == "original"
        assert ed.provenance("y").kind in ("original", "inserted")
        ed.apply(ed.plan().copy(ed.select(name="y"), to="t", unmapped="keep"))
        assert ed.provenance("t/y").kind == "copied"
    def_ = tiny().as_graph_def()
    def_.node[0].attr[ATTRIBUTE].s = b"\xff{"
    def_.node[1].attr[ATTRIBUTE].i = 3
    assert {gs.open(def_).provenance(def_.node[i].name).kind for i in (0, 1)} == {"original"}


def test_long_records_are_packed():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [], name="x")
        for i in range(2500):
            tf.negative(x, name=f"a_rather_long_scope/of_a_rather_long_name/op_{i}")
    ed = gs.open(graph)
    ed.apply(ed.plan().copy(ed.select(op="Neg"), to="t", unmapped="keep"))
    (data,) = graph.get_collection(COLLECTION)
    assert data.startswith(b"graphsurgeon provenance 1 step 1 zlib\n")
    assert len(data) < 30_000
    name = "a_rather_long_scope/of_a_rather_long_name/op_7"
    assert str(ed.provenance(f"t/{name}")) == f"copied from op {name!r} of graph in step 1"


def test_one_op_is_asked_and_no_other(tmp_path):
    """A click asks about one op: in a file of any size no other node is looked at."""
    ed = operated()
    (tmp_path / "g.pb").write_bytes(ed.graph_def(provenance=True).SerializeToString())
    graph = gs.open(tmp_path / "g.pb").snapshot
    asked = []

    class Nodes(list):
        def __getitem__(self, at):
            asked.append(at)
            return super().__getitem__(at)

    found = origin(replace(graph, nodes=Nodes(graph.nodes)), graph.owner, "z")
    assert found.changes
    assert set(asked) == {graph.index["z"]}
    assert recorded_origins(graph, graph.owner)["z"] == found


def test_a_constant_is_read_unless_a_few_bytes_stand_for_too_much(monkeypatch):
    with tf.Graph().as_default() as graph:
        tf.constant(2.0, shape=[10_000], name="c")
    assert constant_of(graph, "c", "to_code()").sum() == 20_000
    monkeypatch.setattr(outputs, "TRUSTED", 1000)
    with refuses(PlanError, "to_code(): constant 'c' is too large to be expanded", "Save the graph instead"):
        constant_of(graph, "c", "to_code()")
