"""A graph with ops that TensorFlow does not know is cut, and what is left out of it runs, saves and learns."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import OpenError, PlanError
from graphsurgeon.graph.traversal import backward
from tests.corpus import corpus_cases
from tests.refusal import reads, refuses

tf1 = tf.compat.v1
TOKENIZER = "WordpieceTokenizeWithOffsets"


def written():
    """Returns a GraphDef: text -> tok (of an unknown type) -> f = float(tok) -> y = f * w; up = upper(text)."""
    with tf.Graph().as_default() as graph:
        text = tf1.placeholder(tf.string, [None], name="text")
        tokens = tf.cast(tf.strings.length(text, name="tok"), tf.float32, name="f")
        tf.multiply(tokens, tf1.get_variable("w", initializer=3.0), name="y")
        tf.strings.upper(text, name="up")
    graph_def = graph.as_graph_def()
    unknown(graph_def, "tok")
    return graph_def


def unknown(graph_def, name, kind=TOKENIZER):
    next(node for node in graph_def.node if node.name == name).op = kind


@pytest.fixture
def ed():
    return gs.open(written(), title="bert")


def test_shapes_and_dtypes_of_the_rest_are_inferred(ed):
    graph = ed.snapshot
    assert [str(info) for info in graph.outputs(graph.find("up"))] == ["string (?,)"]
    assert [str(info) for info in graph.outputs(graph.find("tok"))] == ["int32 unknown shape"]
    assert graph.types[graph.find("tok")] == TOKENIZER
    ed.screen.infer()
    assert ed.screen.inferred
    assert ed.snapshot.types[graph.find("tok")] == TOKENIZER


def test_a_function_behind_it(ed):
    f = ed.function({"tokens": "tok:0"}, "y:0")
    assert f(tf.constant([1, 2])).numpy().tolist() == [3.0, 6.0]
    assert ed.function("text:0", "up:0")(tf.constant(["a"])).numpy().tolist() == [b"A"]


def test_a_file_behind_it(ed, tmp_path):
    path = tmp_path / "behind.pb"
    ed.save(path, inputs="tok:0", outputs="y:0", freeze=True, values="initial", feeds={"tok:0": [1, 2]})
    assert gs.open(path).session().run("y:0", {"tok:0": [2, 4]}).tolist() == [6.0, 12.0]


def test_a_copy_behind_it_learns(ed):
    there = gs.open(tf.Graph())
    behind = ed.select(inputs="tok:0", outputs="y:0")
    done = there.apply(there.plan().copy(behind, to="head", unmapped="placeholder"))
    assert not there.snapshot.unknown_ops.any()
    with there.graph.as_default():
        step = tf1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(done["y:0"]), var_list=[done["w"]])
    session = there.session()
    session.run(step, {"head/tok:0": [2, 4]})
    assert session.run("head/y:0", {"head/tok:0": [1, 1]}).tolist() == [0.0, 0.0]


def test_what_is_left_when_it_is_removed_is_whole(ed):
    plan = ed.plan().detach("tok", side="outputs").remove("tok")
    assert plan.check() == ()
    done = ed.apply(plan)
    fed = next(op.name for op in done.graph.get_operations() if op.type == "Placeholder" and op.name != "text")
    assert ed.session().run("y:0", {f"{fed}:0": [1, 2]}).tolist() == [3.0, 6.0]
    assert "TensorFlow does not know" not in str(ed)
    assert ed.find("is:unknown") == []
    ed.undo()
    assert ed.find("is:unknown") == ["tok"]
    with refuses(OpenError, f"does not know op type {TOKENIZER!r} (op 'tok')", "tensorflow_text: import it before"):
        ed.graph.as_graph_def()
    ed.redo()
    assert "tok" not in ed.snapshot.index


def test_a_plan_that_keeps_it_is_previewed_and_refused(ed):
    plan = ed.plan().set_attr("y", "_note", "here").rename("w", to="v")
    assert plan.after().types[plan.after().find("tok")] == TOKENIZER
    assert "renames" in str(plan)
    (fault,) = plan.check()
    reads(fault, f"does not know here, {TOKENIZER!r} (tensorflow_text): 'tok' of bert", "leave them out",
          "Import tensorflow_text and open the graph again")  # fmt: skip
    with refuses(PlanError, "would contain 1 op"):
        ed.apply(plan)


def test_in_a_picture_it_is_hatched_and_counted(ed):
    boxes = {box["name"]: box for box in ed.screen.traits()["scenes"]["source"]["boxes"]}
    assert {name for name, box in boxes.items() if box["family"] == "unknown"} == {"tok"}
    assert "unknown to TensorFlow here (1)" in str(ed.to_svg())


def test_values_of_its_variables_are_had(ed, tmp_path):
    assert ed.value("w") == 3.0
    ed.save(tmp_path / "model.ckpt")
    assert "1 of 1 variable restored" in str(ed.restore(tmp_path / "model.ckpt"))


def test_a_call_of_a_function_that_holds_it():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        called = tf.function(lambda t: tf.square(t))(x)
        tf.add(called, tf.negative(x, name="n"), name="y")
    proto = graph.as_graph_def()
    (function,) = proto.library.function
    next(node for node in function.node_def if node.op == "Square").op = "MyOp"
    ed = gs.open(proto)
    (call,) = ed.select(op=["PartitionedCall", "StatefulPartitionedCall"]).names
    assert ed.find("is:unknown") == [f"{call}/Square"]
    assert "unknown  MyOp  in functions" in str(ed)
    with refuses(OpenError, "does not know op type 'MyOp' (in a function)"):
        ed.session()
    with refuses(PlanError, "would contain calls of functions with ops of a type", f"'MyOp': {call!r}"):
        ed.function("x:0", "y:0")
    assert ed.function("x:0", "n:0")([1.0, 2.0]).numpy().tolist() == [-1.0, -2.0]
    assert ed.function({"x": "x:0", "c": f"{call}:0"}, "y:0")([1.0, 2.0], [1.0, 1.0]).numpy().tolist() == [0.0, -1.0]


def test_a_stand_in_ends_a_run_with_its_name(ed):
    ed.screen.infer()
    with tf1.Session(graph=ed.snapshot.live_graph) as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run("f:0", {"text:0": ["a"]})
    assert f"op 'tok' of type {TOKENIZER!r}, which TensorFlow does not know here" in str(caught.value)


def test_where_readers_ask_for_what_no_stand_in_gives_the_graph_can_be_looked_at():
    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", initializer=3.0, use_resource=False)
        tf.identity(w, name="y")
    proto = graph.as_graph_def()
    unknown(proto, "w", "MyVariable")
    ed = gs.open(proto)
    (fault,) = gs.open(tf.Graph()).plan().copy(ed.select(name="y"), unmapped="placeholder").check()
    reads(fault, "TensorFlow refuses the graph")
    assert "to look at only: TensorFlow refuses the graph" in str(ed)


def small(item):
    """Whether an item is a graph of some ops, without loops of TF1, and has numbers to compare with."""
    plain = item["kind"] == "graphdef" and not item["n_variables"] and not item["n_while_frames_v1"]
    return plain and bool(item["golden"]) and 10 <= item["n_ops"] < 1500


def computes(op):
    """Whether an op is computed from others, and read; nothing waits for it, which would take it along."""
    waited = any(op in other.control_inputs for other in op.graph.get_operations())
    return not waited and len(op.inputs) > 0 and any(t.consumers() for t in op.outputs)


@pytest.mark.parametrize("id", corpus_cases(small, quick=6))
def test_a_real_graph_is_cut_behind_it(corpus, id):
    graph_def, _ = corpus.protos(id)
    feeds, fetches = corpus.golden(id)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    runs, _ = read_for(gs.open(graph_def).snapshot, fetches, feeds)
    ends = {name.partition(":")[0] for name in (*feeds, *fetches)}
    first = next(op for op in graph.get_operations() if op.name in runs - ends and computes(op))
    between = [t.name for t in first.outputs if t.consumers()]
    with tf1.Session(graph=graph) as session:
        there = dict(zip(between, session.run(between, feeds), strict=True))
    unknown(graph_def, first.name, "OpOfAnotherLibrary")
    ed = gs.open(graph_def)
    assert ed.find("is:unknown") == [first.name]
    _, read = read_for(ed.snapshot, fetches, [*between, *feeds])
    given = {name: value for name, value in {**feeds, **there}.items() if name in read}
    other = gs.open(tf.Graph())
    cut = ed.select(inputs=list(given), outputs=list(fetches))
    done = other.apply(other.plan().copy(cut, unmapped="placeholder"))
    fed = {done[name]: value for name, value in given.items()}
    corpus.compare(id, dict(zip(fetches, other.session().run(list(fetches), fed), strict=True)))


def read_for(base, fetches, feeds):
    """Returns the ops that run for some tensors where others are fed, and the tensors that these read."""
    goals = base.mask([base.tensor(name)[0] for name in fetches])
    runs = np.flatnonzero(backward(base, goals, frozenset(map(base.tensor, feeds)))).tolist()
    return {base.names[op] for op in runs}, {base.name(tensor) for op in runs for tensor in base.data.ends(op)}


def test_an_input_that_no_op_gives_is_not_read():
    graph_def = written()
    graph_def.node.add(name="none", op="NoOp")
    next(node for node in graph_def.node if node.name == "tok").input[0] = "none:-1"
    ed = gs.open(graph_def)
    ed.screen.infer()
    assert ed.screen.inferred
    with refuses(OpenError, f"does not know op type {TOKENIZER!r} (op 'tok')", "tensorflow_text: import it before"):
        ed.graph  # noqa: B018
