"""Calls unfolded in place: what inlining makes of the same calls; branches, loops and functions over datasets."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.graph.calls import Calls
from graphsurgeon.tf.functions.insides import body
from tests.corpus import corpus_ids
from tests.tf2 import calling_twice_deep

tf1 = tf.compat.v1


def unfolded(snapshot):
    return Calls(snapshot, body)


def rows(graph):
    return dict(zip(graph.names, graph.written(), strict=True))


def beside(made, base):
    """What inlining puts beside the ops of the functions: what waits for effects, and what sets variables."""
    setters = {f"{v}/{end}" for v in base.state.variables for end in ("Assign", "Initializer/value")} - {*base.names}
    return setters | {n for n in made.names if n.rpartition("/")[2].startswith(("result_", "done"))}


def data(graph, skip=frozenset()):
    """Type and data inputs of each op that is not in `skip`, whose ops hand on what they read."""

    def end(name):
        op, _, _ = name.partition(":")
        return end(graph.input_names(graph.index[op])[0]) if op in skip else name

    every = zip(graph.names, graph.types, strict=True)
    return {n: (t, *map(end, graph.input_names(i))) for i, (n, t) in enumerate(every) if n not in skip}


def test_it_is_what_inlining_makes():
    ed = gs.open(calling_twice_deep())
    found = unfolded(ed.snapshot).everything().graph
    assert rows(found) == rows(ed.inlined().snapshot)
    split = next(i for i, kind in enumerate(found.types) if kind == "Split")
    assert [str(info) for info in found.outputs(split)] == ["float32 (2,)"] * 2


@pytest.mark.parametrize(
    "id",
    corpus_ids(lambda i: i["id"] in ("mlperf_tiny_kws", "k3_mobilenet_v2_035", "tf2_multi_signature_module")),
)
def test_a_real_model_is_what_inlining_makes(corpus, id):
    ed = gs.open(corpus.path(id))
    whole = unfolded(ed.snapshot)
    plain = [c for c in ed.snapshot.names if whole.find(c) is not None and whole.find(c)[1].plain]
    found, made = whole.expanded(p.path for p in whole.everything().parts[1:]).graph, ed.inlined(*plain).snapshot
    assert data(found) == data(made, beside(made, ed.snapshot))


def loops():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2], name="x")
        n = tf1.placeholder(tf.int32, [], name="n")
        _, last = tf.while_loop(
            lambda i, a: i < n, lambda i, a: (i + 1, tf.exp(a, name="body_exp")), [tf.constant(0), x], name="loop"
        )
        either = tf.cond(n > 2, lambda: tf.abs(last, name="up"), lambda: tf.negative(last, name="down"), name="either")
        tf.switch_case(n, [lambda: tf.sin(either, name="s"), lambda: tf.cos(either, name="c")], name="pick")
    return gs.open(graph).snapshot


def test_loops_and_branches_stay_and_what_they_run_hangs_below_them():
    graph = loops()
    found = unfolded(graph).everything().graph

    def op(lead):
        (name,) = [n for n in found.names if n.startswith(lead)]
        return found.index[name]

    def read(i, position=0):
        return found.index[found.input_names(i)[position].partition(":")[0]]

    exp = op("loop/body/body_exp")
    assert found.types[exp] == "Exp"
    assert (found.types[read(exp)], found.input_names(read(exp))) == ("_Arg", ["x:0"])
    own, inputs = graph.input_names(graph.index["loop"]), found.input_names(found.index["loop"])
    assert inputs[: len(own)] == own
    assert {f"{found.names[exp]}:0", "loop/cond/Less:0"} <= set(inputs[len(own) :])
    assert found.names.index(found.names[exp]) < found.names.index("loop")
    either, up = graph.index["either"], op("either/then_branch/up_0")
    assert found.types[op("either/else_branch/down_0")] == "Neg"
    assert found.input_names(read(up)) == graph.input_names(either)[1:]
    assert found.types[op("pick/indexed_case/branches_1/c_0")] == "Cos"
    assert read(found.index["either"], 3) == up


def test_what_runs_over_a_dataset_takes_its_elements_and_what_it_captures():
    graph = tf.Graph()
    with graph.as_default():
        scale = tf1.placeholder(tf.int64, [], name="scale")
        data_set = tf.data.Dataset.range(3).map(lambda v: tf.multiply(v, scale, name="scaled"))
        tf1.data.make_initializable_iterator(data_set)
    found = unfolded(gs.open(graph).snapshot).everything().graph
    (scaled,) = [i for i, n in enumerate(found.names) if n.endswith("/f/scaled")]
    element, captured = [found.index[t.partition(":")[0]] for t in found.input_names(scaled)]
    assert found.input_names(captured) == ["scale:0"]
    (source,) = found.input_names(element)
    assert found.types[found.index[source.partition(":")[0]]] == "RangeDataset"
