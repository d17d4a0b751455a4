"""Calls unfolded in place: what inlining makes of the same calls; branches, loops and functions over datasets."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.graph.calls import CallTree
from graphsurgeon.tf.functions.expand import function_body
from tests.corpus import corpus_ids
from tests.refusal import refuses
from tests.tf2 import calling_twice_deep, sine

tf1 = tf.compat.v1


def unfolded(snapshot):
    return CallTree(snapshot, function_body)


def rows(graph):
    return dict(zip(graph.names, graph.node_def_inputs(), strict=True))


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
    found = unfolded(ed.snapshot).expand_all().graph
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
    plain = [c for c in ed.snapshot.names if whole.find(c) is not None and whole.find(c)[1].is_plain]
    found, made = whole.expanded(p.path for p in whole.expand_all().instances[1:]).graph, ed.inlined(*plain).snapshot
    assert data(found) == data(made, beside(made, ed.snapshot))


def test_a_function_that_many_ops_call_is_read_once_for_each_shape_it_is_given():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def inner(a):
        return tf.sin(a)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def outer(a):
        return inner(inner(a))

    with tf.Graph().as_default() as graph:
        for size in (2, 2, 2, 3):
            outer(tf.zeros([size]))
    _, *parts = unfolded(gs.open(graph).snapshot).expand_all().instances
    counts = Counter(id(part.graph) for part in parts)
    assert sorted(counts.values()) == [1, 2, 3, 6]
    assert len({part.path for part in parts}) == 12


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
    found = unfolded(graph).expand_all().graph

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
    found = unfolded(gs.open(graph).snapshot).expand_all().graph
    (scaled,) = [i for i, n in enumerate(found.names) if n.endswith("/f/scaled")]
    element, captured = [found.index[t.partition(":")[0]] for t in found.input_names(scaled)]
    assert found.input_names(captured) == ["scale:0"]
    (source,) = found.input_names(element)
    assert found.types[found.index[source.partition(":")[0]]] == "RangeDataset"


# -- gradients -----------------------------------------------------------------------------------------


class Clipped(tf.Module):
    """A module with a gradient of its own, behind a loop and in a function that it calls."""

    @tf.custom_gradient
    def clipped(self, x):
        y = tf.exp(x, name="inner")
        return y, lambda dy: tf.clip_by_value(dy * y, -0.1, 0.1)

    @tf.function
    def f(self, x):
        return self.clipped(x) + 1.0

    @tf.function(input_signature=[tf.TensorSpec([None], name="x")])
    def __call__(self, x):
        return self.f(tf.sin(self.clipped(x) * 2.0))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path, module = str(tmp_path_factory.mktemp("gradients") / "clipped"), Clipped()
    tf.saved_model.save(module, path, signatures=module.__call__)
    return path


def test_a_custom_gradient_of_a_file_unfolds_below_its_op_joined_to_what_it_reads(saved):
    for ed in (gs.open(saved), live(saved)):
        found = rows(unfolded(ed.snapshot).expand_all().graph)
        clips = sorted(name for name in found if name.endswith("/gradient/clip_by_value"))
        assert len(clips) == 2
        for name in clips:
            lead = name.removesuffix("IdentityN/gradient/clip_by_value")
            (product,) = found[f"{lead}IdentityN/gradient/clip_by_value/Minimum"][:1]
            slope, kept = found[product]
            assert found[slope] == []  # the gradient that comes in
            assert found[kept] == [f"{lead}inner"]  # what it reads of the function
        assert any(
            name.startswith("StatefulPartitionedCall/") or "/" in name.partition("IdentityN")[0] for name in clips
        )


def live(path):
    ed = gs.open(path)
    assert ed.graph is not None
    return ed


def test_a_custom_gradient_is_looked_at_searched_and_not_changed(saved):
    ed = gs.open(saved)
    hits = [hit["name"] for hit in ed.screen.find("op:Maximum")["hits"]]
    assert [name.endswith("/gradient/clip_by_value") for name in hits] == [True, True]
    ed.screen.reveal(hits[0])
    op, function = hits[0].removesuffix("/gradient/clip_by_value"), "__inference_internal_grad_fn"
    rows_ = dict(ed.screen.details(hits[0])["rows"])
    assert rows_["function"].startswith(function)
    assert rows_["function"].endswith(f", the gradient of {op}")
    boxes = {box["name"]: box for box in ed.screen.traits()["scenes"]["source"]["boxes"]}
    assert hits[0] in boxes
    ed.screen.fold(f"{op}/")
    boxes = {box["name"]: box for box in ed.screen.traits()["scenes"]["source"]["boxes"]}
    assert boxes[op]["subtitle"].startswith("IdentityN · gradient")
    counted = dict(ed.screen.details(op)["rows"])
    assert counted["gradient"].startswith(f"6 ops; function='{function}")
    assert "FLOPs" not in counted  # nobody runs it here
    assert ed.select(name=hits[0]).names == [hits[0]]
    plan = ed.plan().insert("Tanh", on=f"{hits[0]}:0", name="end")
    with refuses(
        PlanError, f"it is inside function '{function}", "the gradient of 'IdentityN'", "Work in the function alone"
    ):
        ed.apply(plan)


def test_a_copy_of_a_custom_gradient_computes_it(saved):
    ed, into = gs.open(saved), gs.open(tf.Graph())
    hit = next(hit["name"] for hit in ed.screen.find("op:Maximum")["hits"])
    lead = hit.removesuffix("clip_by_value")
    ed.screen.reveal(hit)
    ed.screen.select([hit])
    said = f"in the gradient of {lead.removesuffix('/gradient/')}: a copy does not change it"
    assert said in ed.screen.state.status.text
    part = ed.select(scope=lead)
    (kept,) = part.boundary.inputs
    into.apply(into.plan().copy(part, to="slope", unmapped="placeholder"))
    given = {f"slope/{kept}": [3.0, 0.01], f"slope/{lead}result_grads_0:0": [1.0, -1.0]}
    np.testing.assert_allclose(into.session().run(f"slope/{lead}Identity:0", given), [0.1, -0.01], rtol=1e-6)


def test_the_gradient_of_a_function_of_tf1_unfolds_beside_the_function():
    with tf.Graph().as_default() as graph:
        tf.abs(sine()(tf1.placeholder(tf.float32, [], name="x"), name="call"), name="y")
    for ed in (gs.open(graph), gs.open(graph.as_graph_def())):
        found = rows(unfolded(ed.snapshot).expand_all().graph)
        (cosine,) = [name for name in found if name.endswith("/gradient/Cos")]
        lead = cosine.removesuffix("gradient/Cos")
        assert found[found[cosine][0]] == ["x"]
        assert found["y"] == [f"{lead}Sin"]
        assert "Cos" not in ed.inlined().snapshot.types  # the gradient does not come in its place
