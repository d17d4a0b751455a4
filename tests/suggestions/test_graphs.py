"""The suggestions of what is asked of a graph: each is followed, and the request is carried out."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.graph.selection import select
from graphsurgeon.graph.trace import Trace
from tests.suggestions.graphs import array_read, branched, holder, looped, net
from tests.suggestions.ways import Way, follow, tf1

FED = np.ones([2], np.float32)


@cache
def _stacked() -> Any:
    """A model of three layers, of which one is called twice, and two have the same name in two models."""
    keras = tf.keras
    x = keras.Input([4], name="x")
    dense = keras.layers.Dense(4, name="dense")
    one, two = (keras.Sequential([keras.Input([4]), keras.layers.Dense(4, name="twin")], name=n) for n in ("a", "b"))
    return keras.Model(x, keras.layers.Activation("relu", name="last")(two(one(dense(dense(x))))))


def stacked() -> Any:
    return gs.open(_stacked())


def traced() -> Any:
    ed = branched()
    ed.last = ed.trace({"x:0": FED, "p:0": True, "other:0": FED})
    return ed


def changed(ed: Any) -> Any:
    """An op that a plan makes, after the plan, which removes another one."""
    return select(ed.plan().remove("end").insert("Exp", on="net/y:0", name="new").after(), name="new")


def product(x: Any) -> Any:
    return tf.negative(tf.nn.relu(x))


def within(name: str) -> Any:
    """An editor of a graph whose op of this name is in a function that is called."""

    @tf.function
    def more(x):
        return tf.exp(tf.add(x, 1.0, name=name))

    with tf.Graph().as_default() as graph:
        tf.identity(more(holder("x", 2)), name="y")
    return gs.open(graph)


def call_of(ed: Any) -> str:
    return next(n for n, t in zip(ed.snapshot.names, ed.snapshot.types, strict=True) if "PartitionedCall" in t)


def array() -> Any:
    """A TensorArray that is written, and read."""
    with tf.Graph().as_default() as graph:
        tf.negative(array_read(holder("x", 2)), name="y")
    return gs.open(graph)


GRAPHS = [
    ("graph/boundary.py:_refuse_unconnected", "Leave it out",
     lambda ed: ed.select(inputs=["x:0", "wide:0"], outputs="net/y:0"),
     lambda ed, _: ed.select(inputs="x:0", outputs="net/y:0")),
    ("graph/graph.py:Graph.find", "Give its name", lambda ed: ed.snapshot.find(3), lambda ed, _: ed.snapshot.find("z")),
    ("graph/graph.py:Graph.find#3", "Did you mean", lambda ed: ed.snapshot.find("net/hh"),
     lambda ed, said: ed.snapshot.find(said.name)),
    ("graph/graph.py:Graph.tensor", "Give its name", lambda ed: ed.snapshot.tensor(3),
     lambda ed, _: ed.snapshot.tensor("z:0")),
    ("graph/graph.py:Graph.tensor#2", "Type it as op:output", lambda ed: ed.snapshot.tensor("z:a"),
     lambda ed, said: ed.snapshot.tensor(said.name)),
    ("graph/graph.py:Graph.tensor#4", "Did you mean", lambda ed: ed.snapshot.tensor("net/hh:0"),
     lambda ed, said: ed.snapshot.tensor(said.name)),
    ("graph/graph.py:Graph.tensor#5", "It has", lambda ed: ed.snapshot.tensor("z:3"),
     lambda ed, said: ed.snapshot.tensor(said.name)),
    ("graph/graph.py:Graph.live_graph", "Apply the plan first", lambda ed: ed.plan().remove("end").after().live_graph,
     lambda ed, _: ed.apply(ed.plan().remove("end")) and ed.snapshot.live_graph),
    ("graph/names.py:expand_wildcard", "Type {'old/*': 'new/*'}", lambda ed: gs.recipes.rename(ed, {"net/*": "a"}),
     lambda ed, _: gs.recipes.rename(ed, {"net/*": "new/*"})),
    ("graph/diff.py:pair", "Choose one of", lambda ed: gs.diff(ed, net(), by="size"),
     lambda ed, said: gs.diff(ed, net(), by=said.split("of ")[1].split(",")[0])),
    ("graph/diff.py:_pair_by_mapping", "Give each op a separate partner",
     lambda ed: gs.diff(ed, net(), mapping={"x": "other", "other": "other"}),
     lambda ed, _: gs.diff(ed, net(), mapping={"x": "other", "other": "x"})),
    ("graph/search.py:search_hits", "Give words", lambda ed: ed.find(3), lambda ed, said: ed.find(said.name)),
    ("graph/search.py:_word_mask", "Escape special characters", lambda ed: ed.find("/net(/"),
     lambda ed, _: ed.find("/net\\(/")),
    ("graph/search.py:_word_mask#2", "is:unknown", lambda ed: ed.find("is:odd"), lambda ed, _: ed.find("is:unknown")),
    ("graph/search.py:_word_mask#3", "The keys are", lambda ed: ed.find("kind:Relu"),
     lambda ed, said: ed.find("op:Relu")),
    ("graph/selection.py:Selection.where", "lambda op: op.type", lambda ed: ed.select().where("Relu"),
     lambda ed, said: ed.select().where(eval(said[said.index("lambda"):]))),
    ("graph/selection.py:Selection.expect", "type expect(", lambda ed: ed.select(scope="net").expect(3),
     lambda ed, said: eval(f"ed.select(scope='net').{said[said.index('expect('):].rstrip('.')}", {"ed": ed})),
    ("graph/selection.py:Selection.expect", "widen it", lambda ed: ed.select(scope="net").expect(3),
     lambda ed, _: (ed.select(scope="net") | ed.select(name="z")).expect(3)),
    ("graph/selection.py:Selection._with", "Make one", lambda ed: ed.select(scope="net") | "z",
     lambda ed, _: ed.select(scope="net") | ed.select(name="z")),
    ("graph/selection.py:Selection._with#2", "first.on(second.graph) | second",
     lambda ed: ed.select(name=["end", "z"]) | changed(ed),
     lambda ed, said: eval(said[said.index("first"):].rstrip("."), {
         "first": ed.select(name=["end", "z"]), "second": changed(ed)})),
    ("graph/selection.py:Selection.on_strict", "Select from",
     lambda ed: ed.select(name="z").on_strict(net().snapshot, ""),
     lambda ed, _: (other := net()).select(name="z").on_strict(other.snapshot, "")),
    ("graph/selection.py:Selection.on_strict#2", "selection.on(graph)",
     lambda ed: ed.select(name=["end", "z"]).on_strict(ed.plan().remove("end").after(), ""),
     lambda ed,
     said: (graph := ed.plan().remove("end").after()) and eval(said[said.index("selection.on"):].rstrip("."), {
         "selection": ed.select(name=["end", "z"]), "graph": graph}).on_strict(graph, "")),
    ("graph/selection.py:select", "scope=", lambda ed: ed.select(scope=3), lambda ed, _: ed.select(scope="net")),
    ("graph/selection.py:select#2", "Add outputs=", lambda ed: ed.select(inputs="x:0"),
     lambda ed, _: ed.select(inputs="x:0", outputs=["z:0"])),
    ("graph/selection.py:select#2", ".descendants()", lambda ed: ed.select(inputs="x:0"),
     lambda ed, _: ed.select(name="x").descendants()),
    ("graph/selection.py:select#3", "computed from it", lambda ed: ed.select(inputs="net/h:0", outputs="net/h:0"),
     lambda ed, _: ed.select(inputs="net/h:0", outputs="net/y:0")),
    ("graph/selection.py:name_patterns", "Give one item or a list", lambda ed: ed.select(op=3),
     lambda ed, _: ed.select(op=["Relu"])),
    ("graph/selection.py:_scope", "Did you mean", lambda ed: ed.select(scope="nett"),
     lambda ed, said: ed.select(scope=said.name)),
    ("graph/selection.py:_types", "Did you mean", lambda ed: ed.select(op="Rely"),
     lambda ed, said: ed.select(op=said.name)),
    ("graph/pattern_match.py:Match.op", "Choose from", lambda ed: ed.match(product)[0].op("q"),
     lambda ed, said: ed.match(product)[0].op(said.name)),
    ("graph/pattern_match.py:Match.value", "Use it as a tensor", lambda ed: ed.match(product)[0].value("x"),
     lambda ed, _: ed.plan().replace(ed.match(product), lambda x: tf.nn.tanh(x))),
    ("graph/pattern.py:Pattern._with", "Choose one of", lambda ed: ed.match(product, constants="some"),
     lambda ed, said: ed.match(product, constants=said.split("of ")[1].split(",")[0])),
    ("graph/pattern.py:Pattern._with#2", "computed from the inputs", lambda ed: ed.match(lambda x: x),
     lambda ed, _: ed.match(lambda x: tf.exp(x))),
    ("graph/pattern.py:Pattern._refuse_apart", "one by one",
     lambda ed: ed.match(lambda x, y: (tf.nn.relu(x), tf.exp(y))),
     lambda ed, _: [*ed.match(lambda x: tf.nn.relu(x)), *ed.match(lambda y: tf.exp(y))]),
    ("graph/pattern.py:Pattern.where", "Choose one of",
     lambda ed: gs.Pattern.from_graph(ed.snapshot, inputs=["x:0"], outputs=["net/y:0"]).where("x", lambda op: True),
     lambda ed, said: gs.Pattern.from_graph(ed.snapshot, inputs=["x:0"], outputs=["net/y:0"]).where(said.name,
     lambda op: True)),
]  # fmt: skip


TRACES = [
    ("Trace.rounds", "have numbers", lambda ed: ed.last["cond/no:0"], lambda ed, said: ed.last[said.name]),
    ("Trace.cost", "have numbers", lambda ed: ed.last.cost("cond/no"), lambda ed, said: ed.last.cost(said.name)),
    ("Trace.table", "", lambda ed: ed.last.table(by="size of it"), lambda ed, said: ed.last.table(by=said.name)),
    ("Trace.numbers", "Choose one of", lambda ed: ed.last.numbers("size of it"),
     lambda ed, said: ed.last.numbers(said.name)),
    ("refuse_no_tolerance", "0 or more", lambda ed: ed.last.first_difference(ed.last, tolerance=-1),
     lambda ed, said: ed.last.first_difference(ed.last, tolerance=float(said.split("tolerance=")[1].rstrip(".")))),
    ("_refuse_no_trace", "ed.trace(feeds)", lambda ed: ed.last.first_difference(3),
     lambda ed, _: ed.last.first_difference(ed.trace({"x:0": FED, "p:0": True, "other:0": FED}))),
    ("_refuse_no_trace", "gs.compare(a, b)", lambda ed: ed.last.first_difference(3),
     lambda ed, _: gs.compare(ed, branched(), outputs="y:0", feeds={"x:0": FED, "p:0": True})),
]  # fmt: skip


LAYERS = [
    ("Layers.find", "Give it as text", lambda ed: ed.layer(3), lambda ed, _: ed.layer("last")),
    ("Layers.find#3", "Type its path", lambda ed: ed.layer("twin"), lambda ed, said: ed.layer(said.names[-1])),
    ("Layers._missing", "Did you mean", lambda ed: ed.layer("lest"), lambda ed, said: ed.layer(said.name)),
    ("Layers._missing#2", "print(ed.layers)", lambda ed: ed.layer("qqq"), lambda ed, said: print(ed.layers)),
]  # fmt: skip


PARTS = [
    Way("graph/control_flow.py:_loop_fault", "Select the whole loop",
        lambda ed: ed.plan().copy(ed.select(name="loop/*").where(lambda op: op.type not in ("Enter", "LoopCond")),
                                  to="copy", unmapped="keep"),
        lambda ed, said: ed.plan().copy(ed.select(inputs=["x:0", "n:0"],
        outputs=said.split("outputs are ")[1].rstrip(".")),
                                        to="copy", unmapped="keep"), looped),
    Way("graph/control_flow.py:_branch_fault", "Select the whole cond",
        lambda ed: ed.plan().copy(ed.select(name=["cond/Merge", "y"]), to="copy", unmapped="placeholder"),
        lambda ed, _: ed.plan().copy(ed.select(inputs=["x:0", "p:0"], outputs="y:0"),
        to="copy", unmapped="placeholder"),
        branched),
    Way("graph/control_flow.py:_branch_fault", "or cut after it",
        lambda ed: ed.plan().copy(ed.select(name=["cond/Merge", "y"]), to="copy", unmapped="placeholder"),
        lambda ed, said: ed.plan().copy(ed.select(inputs=said.name, outputs="y:0"), to="copy", unmapped="placeholder"),
        branched),
    Way("graph/parts.py:array_fault", "Select the writes too",
        lambda ed: ed.plan().copy(ed.select(name=["read", "y", "array"]), to="copy", unmapped="placeholder"),
        lambda ed, said: ed.plan().copy(
            ed.select(name=["read", "y", "read/*", "array", *said.rstrip(".").split(": ")[1].split(", ")]), to="copy",
            unmapped="placeholder"), array),
    Way("graph/parts.py:array_fault", "Cut before the writes",
        lambda ed: ed.function(inputs="write:0", outputs="y:0"), lambda ed, _: ed.function(inputs="x:0", outputs="y:0"),
        array),
    Way("graph/parts.py:split_fault", "Select it too",
        lambda ed: ed.plan().collapse(ed.select(name=["array", "write", "write/*", "array/*"]), name="call"),
        lambda ed, _: ed.plan().collapse(
            ed.select(name=["array", "array/*", "write", "write/*", "read", "read/*", "y"]), name="call"), array),
    Way("graph/parts.py:split_fault", "leave out",
        lambda ed: ed.plan().collapse(ed.select(name=["array", "write", "write/*", "array/*", "y"]), name="call"),
        lambda ed, said: ed.plan().collapse(
            ed.select(name=["array", "write", "write/*", "array/*", "y"])
            - ed.select(name=said.rstrip(".").split("leave out ")[1].split(", ")), name="call"), array),
    Way("graph/parts.py:refuse_inner", "Name a result of it",
        lambda ed: ed.save("part.pb", outputs=f"{body(ed)}:0", verify=False),
        lambda ed, said: ed.save("part.pb", outputs=said.name, verify=False), looped),
    Way("graph/graph.py:Graph.find#2", "plan.inline(", lambda ed: ed.snapshot.find(f"{call_of(ed)}/inside"),
        lambda ed, said: ed.plan().inline(said.name), lambda: within("inside")),
    Way("graph/layers.py:Layers.no_layers_error", "by names and scopes", lambda ed: ed.layer("net"),
        lambda ed, _: ed.select(scope="net"), net),
    Way("graph/layers.py:Layers.no_layers_error", "Open the keras.Model", lambda ed: ed.layer("last"),
        lambda ed, _: stacked().layer("last"), net),
]  # fmt: skip


def body(ed: Any) -> str:
    return next(n for n in ed.snapshot.names if n.startswith("loop/mul"))


def damaged(name: str) -> Any:
    """A file that is not what its name says."""
    with open(name, "wb") as file:
        file.write(b"odd")
    return net()


def kept(ed: Any, name: str = "z.trace") -> Any:
    ed.trace({"x:0": np.ones([2, 4], np.float32)}, "z:0").save(name)
    return Trace.load(name)


def lost() -> Any:
    """Y reads steps after it is added to, which happens before seen."""
    with tf.Graph().as_default() as graph:
        x = holder("x", 2)
        steps = tf1.get_variable("steps", initializer=1.0, use_resource=True)
        with tf.control_dependencies([steps.assign_add(1.0)]):
            seen = tf.identity(x, name="seen")
        with tf.control_dependencies([seen]):
            tf.multiply(seen, steps.read_value(), name="y")
    return gs.open(graph)


def twins() -> Any:
    """A graph whose layer is gone."""
    ed = stacked()
    made = ed.layer("last").outputs[0]
    ed.apply(ed.plan().remove(ed.select(layer="last"), stitch=True))
    assert made
    return ed


LAST = [
    Way("graph/arrays.py:load_arrays", "np.savez(path, **{", lambda ed: damaged("a.npz").trace("a.npz", "z:0"),
        lambda ed, said: (np.savez("b.npz", **{said.name: np.ones([2, 4], np.float32)}), ed.trace("b.npz", "z:0")),
        net),
    Way("graph/graph.py:Graph._grow", "Give the whole graph", lambda ed: gs.Graph.from_ops([("y", "Neg", ["x"])]),
        lambda ed, _: gs.Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"])]), net),
    Way("graph/graph.py:Graph.tensor#3", "plan.inline(", lambda ed: ed.snapshot.tensor(f"{call_of(ed)}/inside:0"),
        lambda ed, said: ed.plan().inline(said.name), lambda: within("inside")),
    Way("graph/graph.py:Graph._inside", "plan.inline(", lambda ed: ed.snapshot.find(f"{call_of(ed)}/inside"),
        lambda ed, said: ed.plan().inline(said.name), lambda: within("inside")),
    Way("graph/layers.py:Layers.find#4", "ed.undo()", lambda ed: ed.layer("last"),
        lambda ed, _: ed.undo() and ed.layer("last"), twins),
    Way("graph/layers.py:expand_layers", "result of one of the calls", lambda ed: ed.function("x", "dense"),
        lambda ed, said: ed.function("x", said.name), stacked),
    Way("graph/references.py:ReferenceResolver.consumer", "Its inputs are",
        lambda ed: ed.plan().connect("x", to="last", input=2),
        lambda ed, said: ed.plan().connect("x", to="last", input=0), stacked),
    Way("editor/editor.py:Editor.value", "Name one of its variables", lambda ed: ed.value("dense"),
        lambda ed, said: ed.value(said.name), stacked),
    Way("graph/parts.py:refuse_part", "Type at=", lambda ed: gs.recipes.split_at(ed, "seen:0", "y:0"),
        lambda ed, said: gs.recipes.split_at(ed, said.value("at"), "y:0"), lost),
    Way("graph/selection.py:Selection._refuse_foreign", "", lambda ed: ed.select(name="z") | net().select(name="end"),
        lambda ed, _: ed.select(name="z") | ed.select(name="end"), net),
    Way("graph/selection.py:_names", "", lambda ed: ed.select(name="q*"), lambda ed, said: ed.select(name="n*"), net),
    Way("graph/trace.py:Trace.load", "that trace.save(path) was given", lambda ed: Trace.load("z.trace"),
        lambda ed, _: kept(ed), net),
    Way("graph/trace.py:Trace.load#2", "a file that trace.save(path) wrote",
        lambda ed: damaged("z.trace") and Trace.load("z.trace"),
        lambda ed, _: kept(ed, "y.trace"), net),
    Way("graph/atomic_files.py:ensure_writable", "the path of a file", lambda ed: ed.to_code("."),
        lambda ed, _: ed.to_code("redo.py"), net),
]  # fmt: skip


WAYS: list[Way] = [
    *LAST,
    *(Way(*rest, net) for rest in GRAPHS),
    *(Way(f"graph/trace.py:{site}", *rest, traced) for site, *rest in TRACES),
    *(Way(f"graph/layers.py:{site}", *rest, stacked) for site, *rest in LAYERS),
    *PARTS,
]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_suggestion_solves_the_request(way, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    follow(way)
