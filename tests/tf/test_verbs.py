"""Rules that hold for every verb of a plan, and for everything else that a part of a graph goes through."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.plan.plan import Plan
from tests.graphs import tf1
from tests.refusal import reads

X = np.float32([[1, -1], [2, 0.5]])
#: Names that TensorFlow gives and takes, and that no plan may be refused for: those of add-on packages hold ``>``.
ODD = {"x": "Addons>x", "net": "Addons>Net", "mm": "n//mm", "relu": "block/Addons>Relu", "call": "n//call",
       "p": "Addons>p", "if": "Addons>If", "loop": "n//loop", "k": "K>k", "h": "Addons>h", "e": "E>e/e"}  # fmt: skip
PLAIN = {name: name for name in ODD}


@cache
def function(of: Callable[[Any], Any], *, turns: bool = False) -> Any:
    """Returns a concrete function of a batch; with `turns` of a number too, as the body of a loop."""
    batch = tf.TensorSpec([None, 2], tf.float32)
    specs = [tf.TensorSpec([], tf.int32), batch] if turns else [batch]
    return tf.function(of, autograph=False).get_concrete_function(*specs)


def twice(a):
    return a * 2.0


def early(i, a):
    return i < 2


def turn(i, a):
    return i + 1, a + 1.0


def net(names: dict[str, str]) -> Any:
    """Returns a session of a graph with a variable, a call, an If and a While, its ops under these names."""
    double, negative = function(twice), function(tf.negative)
    less, body = function(early, turns=True), function(turn, turns=True)
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 2], name=names["x"])
        with tf1.variable_scope(names["net"]):
            w = tf1.get_variable("w", initializer=np.float32([[1, 2], [3, 4]]), use_resource=True)
        relu = tf.nn.relu(tf.matmul(x, w, name=names["mm"]), name=names["relu"])
        (call,) = tf.raw_ops.PartitionedCall(args=[relu], Tout=[tf.float32], f=double, name=names["call"])
        p = tf1.placeholder_with_default(True, [], name=names["p"])
        (either,) = tf.raw_ops.StatelessIf(
            cond=p, input=[call], Tout=[tf.float32], then_branch=double, else_branch=negative,
            output_shapes=[[None, 2]], name=names["if"],
        )  # fmt: skip
        _, turned = tf.raw_ops.StatelessWhile(
            input=[0, either], cond=less, body=body, output_shapes=[[], [None, 2]], name=names["loop"],
        )  # fmt: skip
        h = tf.negative(tf.identity(turned, name=names["k"]), name=names["h"])
        with tf.control_dependencies([relu]):
            e = tf.exp(h, name=names["e"])
        tf.add(tf.add(h, e, name="y"), tf1.placeholder_with_default(tf.ones_like(x), [None, 2], name="z"), name="out")
        tf.abs(h, name="aside")
        session = tf1.Session(graph=graph)
        session.run([v.initializer for v in graph.get_collection("variables")])
    return session


#: A request for every verb: what it does to the plan of an editor, with the names of its ops.
VERBS: dict[str, Callable[[Plan, Any, dict[str, str]], Plan]] = {
    "copy": lambda p, ed, n: p.copy(ed.select(), to="new", values=ed),
    "connect": lambda p, ed, n: p.connect(n["h"], to=n["e"]),
    "reroute": lambda p, ed, n: p.reroute(n["mm"], to=n["x"]),
    "swap": lambda p, ed, n: p.swap(n["h"], "z"),
    "bypass": lambda p, ed, n: p.bypass(n["relu"]),
    "detach": lambda p, ed, n: p.detach(n["h"], side="outputs"),
    "insert": lambda p, ed, n: p.insert("Neg", on=n["mm"], name="new"),
    "adapt": lambda p, ed, n: p.adapt(n["mm"], to=n["relu"], kinds="dense", shape=[None, 2], name="new", seed=1),
    "remove": lambda p, ed, n: p.remove(n["relu"], stitch=True),
    "set_attr": lambda p, ed, n: p.set_attr(n["mm"], "transpose_b", True),
    "set_device": lambda p, ed, n: p.set_device(n["mm"], "/cpu:0"),
    "add_control": lambda p, ed, n: p.add_control("y", after=n["mm"]),
    "remove_control": lambda p, ed, n: p.remove_control(n["e"]),
    "reroute_control": lambda p, ed, n: p.reroute_control(n["relu"], to=n["mm"]),
    "rename": lambda p, ed, n: p.rename({n["h"]: "new", n["net"]: "new_net"}),
    "on_copies": lambda p, ed, n: p.reroute(n["mm"], to=n["x"]).on_copies("new"),
    "replace": lambda p, ed, n: p.replace(tf.nn.relu, "Softplus"),
    "collapse": lambda p, ed, n: p.collapse([n["mm"], n["relu"]], name="new"),
    "inline": lambda p, ed, n: p.inline([n["call"], n["if"], n["loop"]]),
    "unroll": lambda p, ed, n: p.unroll(n["loop"], 2),
    "resolve_condition": lambda p, ed, n: p.resolve_condition(n["p"], True),
}  # fmt: skip


def test_the_table_has_every_verb():
    methods = inspect.getmembers(Plan, inspect.isfunction)
    verbs = {name for name, one in methods if inspect.signature(one).return_annotation == "Plan"}
    others = {name for name in verbs if name.startswith(("_", "with_"))} | {"cured"}
    assert verbs - others == set(VERBS)


def numbers(verb: str, names: dict[str, str]) -> list[Any]:
    """Returns what the results are after a verb has been applied."""
    ed = gs.open(net(names))
    plan = VERBS[verb](ed.plan(), ed, names)
    assert plan.check() == ()
    ed.apply(plan)
    graph = ed.snapshot
    feeds = [name for name, kind in zip(graph.names, graph.types, strict=True) if kind == "Placeholder"]
    ends = [name for name in graph.names if name.rpartition("/")[2] == "out"]
    return ed.session().run([f"{name}:0" for name in ends], {f"{name}:0": X for name in feeds})


@pytest.mark.parametrize("verb", VERBS)
def test_names_that_are_there_are_never_checked(verb):
    for mine, theirs in zip(numbers(verb, PLAIN), numbers(verb, ODD), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)


def ran(ed: Any, names: dict[str, str]) -> Any:
    return ed.session().run("out:0", {f"{names['x']}:0": X})


def applied(ed: Any, plan: Plan, names: dict[str, str]) -> Any:
    ed.apply(plan)
    return ran(ed, names)


def saved(ed: Any, path: Any, **how: Any) -> Any:
    ed.save(path, **how)
    return gs.open(path)


#: Everything else that a model goes through, with the names of its ops: each returns the output of the model.
DOORS: dict[str, Callable[[Any, Any, dict[str, str]], Any]] = {
    "function": lambda ed, path, n: ed.function(n["x"], "out")(X),
    "keras_layer": lambda ed, path, n: ed.keras_layer(n["x"], "out")(X),
    "trace": lambda ed, path, n: ed.trace({n["x"]: X}, "out").results["out:0"],
    "inlined": lambda ed, path, n: ran(ed.inlined(n["call"]), n),
    "save": lambda ed, path, n: ran(saved(ed, path / "a.pb", freeze=True, outputs="out"), n),
    "save as a meta graph": lambda ed, path, n: ran(saved(ed, path / "a.meta"), n),
    "save as a folder": lambda ed, path, n: ran(saved(ed, path / "a", inputs=n["x"], outputs="out"), n),
    "for_inference": lambda ed, path, n: applied(ed, gs.recipes.for_inference(ed, "out"), n),
    "strip_training": lambda ed, path, n: applied(ed, gs.recipes.strip_training(ed, "out"), n),
    "strip_identities": lambda ed, path, n: applied(ed, gs.recipes.strip_identities(ed, "out"), n),
    "set_signature": lambda ed, path, n: ran(gs.recipes.set_signature(ed, "out"), n),
    "rename": lambda ed, path, n: applied(ed, gs.recipes.rename(ed, {f"{n['net']}/*": "other/*"}), n),
    "set_input": lambda ed, path, n: applied(ed, gs.recipes.set_input(ed, n["x"], shape=[2, 2], outputs="out"), n),
    "frozen": lambda ed, path, n: ran(gs.recipes.frozen(ed, "out"), n),
    "split_at": lambda ed, path, n: gs.recipes.split_at(ed, n["k"], "out")[1].session().run(
        "out:0", {f"{n['k']}:0": ed.session().run(f"{n['k']}:0", {f"{n['x']}:0": X}), "z:0": np.ones([2, 2])}),
    "duplicate": lambda ed, path, n: gs.duplicate(ed.graph, values=ed.session()).run("out:0", {f"{n['x']}:0": X}),
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_names_that_are_there_are_never_checked_elsewhere(door, tmp_path):
    session = net(ODD)
    want = session.run("out:0", {f"{ODD['x']}:0": X})
    np.testing.assert_allclose(DOORS[door](gs.open(session), tmp_path, ODD), want, rtol=1e-5)


#: Every verb that gives names, with a name that TensorFlow refuses, and the argument to change.
NAMING: dict[str, Callable[[Plan, Any, str], Plan]] = {
    "copy": lambda p, ed, name: p.copy(ed.select(name="h"), to=name, unmapped="keep"),
    "copy with reuse": lambda p, ed, name: p.copy(ed.select(name="h"), to=name, unmapped="keep", reuse={}),
    "copy with names": lambda p, ed, name: p.copy(ed.select(name="h"), unmapped="keep", names={"h": name}),
    "insert": lambda p, ed, name: p.insert("Neg", on="mm", name=name),
    "insert a function": lambda p, ed, name: p.insert(tf.negative, on="mm", name=name),
    "adapt": lambda p, ed, name: p.adapt("mm", to="relu", kinds="dense", name=name),
    "rename": lambda p, ed, name: p.rename("h", to=name),
    "rename a scope": lambda p, ed, name: p.rename("net", to=name),
    "on_copies": lambda p, ed, name: p.reroute("mm", to="x").on_copies(name),
    "replace": lambda p, ed, name: p.replace(tf.nn.relu, "Softplus", to=name),
    "replace by a function": lambda p, ed, name: p.replace(tf.nn.relu, tf.nn.softplus, to=name),
    "collapse": lambda p, ed, name: p.collapse(["mm", "relu"], name=name),
}


@pytest.fixture(scope="module")
def plain() -> Any:
    return gs.open(net(PLAIN))


@pytest.mark.parametrize("verb", NAMING)
def test_names_that_a_plan_makes_are_checked(plain, verb):
    for bad, why in (
        ("a b", "' ' is not allowed in it"),
        ("_a", "it begins with '_'"),
        ("a\\b", "is not allowed in it"),
    ):
        (fault,) = NAMING[verb](plain.plan(), plain, bad).check()
        how = "Use letters, digits, '_', '.', '-' and '/' between parts, for example "
        reads(fault, f"{bad!r} is not a name", why, how)
        free = fault.suggestion.removeprefix(how).strip("'")
        assert NAMING[verb](plain.plan(), plain, free).check() == ()
