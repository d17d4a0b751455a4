"""Checks before anything changes: each clash is named, and says what would fit, both ways."""

from __future__ import annotations

import pytest

from graphsurgeon.graph.graph import Graph, TensorInfo
from graphsurgeon.graph.selection import select
from graphsurgeon.graph.variables import CollectionEntry, GraphState, VariableInfo
from graphsurgeon.plan.plan import Plan
from graphsurgeon.plan.type_check import accepting_text, fitting_text
from tests.plain import plain
from tests.refusal import reads

F2, F3, I2, R2 = ("float32", (2,)), ("float32", (3,)), ("int32", (2,)), ("float32_ref", (2,))


def net() -> Graph:
    """a, b; wide (3) read by deep; whole (int) read by next; y = -a; z = a + y; end waits for z."""
    kinds = {"a": [F2], "b": [F2], "wide": [F3], "deep": [F3], "whole": [I2], "next": [I2], "y": [F2], "z": [F2],
             "end": []}  # fmt: skip
    return plain(
        ("a", "Placeholder", []), ("b", "Placeholder", []), ("wide", "Placeholder", []), ("deep", "Neg", ["wide"]),
        ("whole", "Placeholder", []), ("next", "Neg", ["whole"]), ("y", "Neg", ["a"]), ("z", "Add", ["a", "y"]),
        ("end", "NoOp", ["^z"]), outputs=kinds,
    )  # fmt: skip


SHAPES = "'deep:0' is float32 (3,), but"
STEPS = {
    "connect": (lambda p: p.connect("deep:0", to="z", input=1), ["input 1 of 'z' reads 'y:0', float32 (2,)"]),
    "reroute": (lambda p: p.reroute("y:0", to="deep:0"), ["'y:0' is float32 (2,)"]),
    "swap": (lambda p: p.swap("y:0", "deep:0"), ["'y:0' is float32 (2,)"]),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_shape_clash_names_tensors_shapes_axis_and_what_fits_both_ways(step):
    make, words = STEPS[step]
    (fault,) = make(Plan(net())).check()
    reads(fault, SHAPES, *words, "axis 0 is 3 against 2", "These would fit: 'a:0', 'b:0'")
    assert "'z:0'" not in fault.suggestion  # it would close a circle


@pytest.mark.parametrize("step", STEPS)
def test_a_tensor_that_does_not_fit_is_told_where_it_would(step):
    make = {
        "connect": lambda p: p.connect("next:0", to="deep", input=0),
        "reroute": lambda p: p.reroute("wide:0", to="a:0"),
        "swap": lambda p: p.swap("wide:0", "b:0"),
    }[step]
    (fault,) = make(Plan(net())).check()
    wanted = {
        "connect": "No other tensor of tiny that is computed from an input is float32 (3,); convert one first",
        "reroute": "is float32 (3,); convert one first. 'a:0' would fit input 1 of 'z'",
        "swap": "'b:0' would fit input 0 of 'y', input 0 of 'z' and input 1 of 'z'",
    }[step]
    reads(fault, wanted)


def test_a_copy_says_which_of_its_inputs_a_tensor_would_fit():
    g = net()
    block = select(g, name=["z", "next"])
    plan = Plan(g).copy(block, to="t", inputs={"a:0": "whole:0"}, unmapped="keep")
    reads(plan.check()[0], "'whole:0' is int32 (2,), but 'a:0' is float32 (2,)", "the dtypes int32 and float32 differ",
          "These would fit: 'a:0', 'b:0'", "'whole:0' would fit 'whole:0'")  # fmt: skip


def test_where_nothing_fits():
    g = net()
    wanted = TensorInfo("string", (1,))
    assert fitting_text(g, wanted) == f"No tensor of {g.title} is string (1,); convert one first"
    assert accepting_text(g, g.tensor("y:0"), wanted) == ""


def loop() -> Graph:
    return Graph.from_ops(
        [
            ("start", "Const", []), ("outer", "Const", []), ("enter", "Enter", ["start"]),
            ("merge", "Merge", ["enter", "next"]), ("switch", "Switch", ["merge", "merge"]),
            ("body", "Neg", ["switch:1"]), ("next", "NextIteration", ["body"]), ("exit", "Exit", ["switch"]),
            ("use", "Neg", ["exit"]),
        ]
    )  # fmt: skip


@pytest.mark.parametrize("step", [lambda p: p.connect("outer:0", to="body", input=0),
                                  lambda p: p.reroute("switch:1", to="outer:0", only="body")])  # fmt: skip
def test_no_edge_goes_into_a_loop_or_out_of_it(step):
    reads(step(Plan(loop())).check()[0], "'body' is inside a loop, and the other end of the edge is not",
          "Rewire the input of an Enter of the loop, or the consumers of an Exit")  # fmt: skip


def test_nothing_stands_between_two_turns_of_a_loop():
    for plan in (Plan(loop()).insert("Identity", on="next", name="in"), Plan(loop()).bypass("next")):
        reads(plan.check()[0], "'merge' takes the result of 'next' into the next round", "is not a NextIteration",
              "Rewire the input of 'next': 'body:0'")  # fmt: skip
    assert Plan(loop()).insert("Identity", on="body", name="in").check() == ()


def test_a_turn_of_a_damaged_loop_that_reads_nothing_is_named():
    damaged = Graph.from_ops(
        [("in", "Enter", ["a"]), ("a", "Const", []), ("n", "NextIteration", []), ("m", "Merge", ["in", "n"])]
    )
    reads(Plan(damaged).insert("Identity", on="n", name="i").check()[0], "'m' takes the result of 'n' into the next",
          "Rewire the input of 'n'")  # fmt: skip


@pytest.mark.parametrize(("step", "inside"), [
    (lambda p: p.add_control("body", after="outer"), "'body' is inside a loop, and 'outer' is not"),
    (lambda p: p.add_control("exit", after="outer"), "'exit' is inside a loop, and 'outer' is not"),
    (lambda p: p.add_control("use", after="body"), "'body' is inside a loop, and 'use' is not"),
    (lambda p: p.add_control("outer", after="use").reroute_control("use", to="body"), "'body' is inside a loop"),
])  # fmt: skip
def test_nothing_waits_across_the_border_of_a_loop(step, inside):
    reads(step(Plan(loop())).check()[0], inside, "Make an Enter of the loop wait", "wait for an Exit")


def test_what_a_loop_takes_and_gives_may_wait_and_be_waited_for():
    plan = Plan(loop()).add_control("enter", after="outer").add_control("use", after="exit")
    assert plan.add_control("body", after="enter").check() == ()


def test_the_copy_of_a_loop_is_another_loop():
    g = loop()
    plan = Plan(g).copy(select(g), to="copy").reroute("next:0", to="copy/next:0")
    reads(plan.check()[0], "'merge' is inside a loop, and the other end of the edge is inside another loop")


def test_an_edge_within_a_loop_is_no_cycle():
    plan = Plan(loop()).connect("merge:0", to="body", input=0)
    assert plan.check() == (), [str(f) for f in plan.check()]


@pytest.mark.parametrize("step", [lambda p: p.add_control("start", after="next"),
                                  lambda p: p.reroute_control("hold", to="next")])  # fmt: skip
def test_what_a_loop_starts_from_cannot_wait_for_its_next_turn(step):
    g = Graph.from_ops(
        [
            ("hold", "NoOp", []), ("start", "Const", ["^hold"]), ("enter", "Enter", ["start"]),
            ("merge", "Merge", ["enter", "next"]), ("less", "Less", ["merge", "merge"]), ("go", "LoopCond", ["less"]),
            ("switch", "Switch", ["merge", "go"]), ("body", "Neg", ["switch:1"]), ("next", "NextIteration", ["body"]),
        ]
    )  # fmt: skip
    reads(step(Plan(g)).check()[0], "'next' is inside a loop, and 'start' is not")


@pytest.mark.parametrize("step", [lambda p: p.connect("x:0", to="Assign", input=0),
                                  lambda p: p.reroute("v:0", to="x:0", only="Assign")])  # fmt: skip
def test_what_changes_a_variable_must_have_one(step):
    g = plain(("v", "VariableV2", []), ("x", "Placeholder", []), ("Assign", "Assign", ["v", "x"]),
              ("read", "Identity", ["v"]), outputs={"v": [R2], "x": [F2], "Assign": [R2], "read": [F2]})  # fmt: skip
    reads(step(Plan(g)).check()[0], "'Assign' changes 'v', and x:0 is not a variable", "Set another input of 'Assign'")
    assert Plan(g).connect("x:0", to="read", input=0).check() == ()
    reads(Plan(g).insert("Identity", on="v:0", name="in").check()[0],
          "'Assign' changes 'v', and in:0 is not a variable",
          "only the inputs of the other consumers of the variable: exclude=['Assign']")  # fmt: skip
    assert Plan(g).insert("Identity", on="v:0", name="in", exclude=["Assign"]).check() == ()
    assert Plan(g).insert("RefIdentity", on="v:0", name="in").check() == ()


def test_what_loses_its_last_reader_is_listed():
    g = net()
    assert "no longer used: y:0" in Plan(g).bypass("y").effect.warnings
    assert Plan(g).reroute("a:0", to="b:0", only="y").effect.warnings == ()
    assert "no longer used: a:0" in str(Plan(g).reroute("a:0", to="b:0"))
    assert not any("reader" in w for w in Plan(g).insert("Relu", on="y:0", name="mid").effect.warnings)


def test_who_still_reads_what_is_removed_is_listed():
    g = Graph.from_ops([("x", "Const", []), *((f"r{i}", "Neg", ["x"]) for i in range(10))])
    reads(Plan(g).remove("x").check()[0], "'x:0' is still read by r0, r1, r2, r3, r4, r5, r6, r7 and 2 more",
          "ed.removal_blockers(...) lists all")  # fmt: skip


def test_entries_of_collections_that_go_with_removed_ops_are_told():
    lists = {
        "losses": (CollectionEntry("tensor", "z:0"), CollectionEntry("tensor", "y:0")),
        "notes": (CollectionEntry("value", "z"),),
    }
    g = Graph.from_ops(
        [("x", "Const", []), ("y", "Neg", ["x"]), ("z", "Neg", ["y"])], state_of=lambda: GraphState({}, lists)
    )
    assert "collection entries of removed ops, also removed: losses 1" in Plan(g).remove("z").effect.warnings


def test_a_plan_that_builds_anew_says_what_becomes_of_open_sessions():
    text = str(Plan(net()).reroute("a:0", to="b:0"))
    assert "an open session keeps the old graph; ed.session(session) returns one of the new graph" in text
    assert "session" not in str(Plan(net()).copy(select(net(), name="y"), to="t"))


@pytest.mark.parametrize("step", [lambda p: p.connect("n:0", to="wide", input=0), lambda p: p.reroute("w:0", to="n:0"),
                                  lambda p: p.swap("n:0", "w:0")])  # fmt: skip
def test_handles_of_variables_of_other_dtypes_and_shapes(step):
    ops, held = [], []
    for name, dtype, shape in (("w", "float32", "(2, 3)"), ("n", "int64", "()"), ("v", "float32", "(2, 3)"),
                               ("b", "float32", "(3,)")):  # fmt: skip
        ops.append((name, "VarHandleOp", []))
        held.append(VariableInfo(name, dtype=dtype, shape=shape, resource=True))
    ops += [("wide", "ReadVariableOp", ["w"]), ("other", "ReadVariableOp", ["v"]), ("count", "ReadVariableOp", ["n"])]
    handles = {name: [("resource", ())] for name in ("w", "n", "v", "b")}
    g = plain(*ops, outputs=handles, variables=held)
    reads(step(Plan(g)).check()[0], "is a variable of ", "int64 ()", "float32 (2, 3)", ": the dtypes differ.")
    reads(Plan(g).reroute("w:0", to="b:0").check()[0], "'b:0' is a variable of float32 (3,), but ",
          "'w:0' of float32 (2, 3): rank 1 against rank 2", "These would fit: 'v:0'")  # fmt: skip
    reads(Plan(g).reroute("n:0", to="b:0").check()[0], "No other variable of tiny is int64 ()")
    assert Plan(g).reroute("w:0", to="v:0").check() == ()


def test_what_only_initializes_or_restores_a_variable_is_proposed_last():
    w = VariableInfo("w", initializer="w/Assign", initial_value="w/start:0")
    g = plain(
        ("w/start", "RandomUniform", []), ("w", "VariableV2", []), ("w/Assign", "Assign", ["w", "w/start"]),
        ("w/read", "Identity", ["w"]), ("save/back", "RestoreV2", []), ("save/one", "Identity", ["save/back"]),
        ("save/Assign", "Assign", ["w", "save/one"]), ("init", "NoOp", ["^w/Assign"]), ("x", "Placeholder", []),
        ("y", "Mul", ["x", "w/read"]), ("step", "AssignAdd", ["w", "y"]), ("train", "NoOp", ["^step"]),
        ("restore", "NoOp", ["^save/Assign"]), variables=[w],
    )  # fmt: skip
    assert fitting_text(g, TensorInfo("float32", ())) == "These would fit: 'w:0', 'w/read:0', 'x:0', 'y:0'"
    assert fitting_text(g, TensorInfo("float32", ()), exclude=g.tensor("w/read:0")).endswith(
        "'w:0', 'x:0', 'y:0', 'step:0'"
    )


def test_a_weight_or_constant_is_not_proposed_in_place_of_data():
    kinds = {name: [("float32", (None, 4))] for name in ("x", "h", "other", "out")}
    kinds |= {"w": [("float32", (4, 4))], "k": [("float32", (1, 4))]}
    g = plain(
        ("w", "VariableV2", []), ("k", "Fill", []), ("x", "Placeholder", []), ("h", "MatMul", ["x", "w"]),
        ("other", "Mul", ["x", "k"]), ("out", "Neg", ["h"]), outputs=kinds,
    )  # fmt: skip
    info = TensorInfo("float32", (None, 4))
    assert fitting_text(g, info, [g.index["out"]], g.tensor("h:0")) == "These would fit: 'x:0', 'other:0'"
    assert fitting_text(g, info, [g.index["h"]], g.tensor("w:0")) == "These would fit: 'k:0', 'x:0', 'other:0'"


def test_where_only_helpers_fit_they_are_proposed():
    v = VariableInfo("v", initializer="v/Assign", initial_value="v/start:0")
    f, i = [("float32", ())], [("int32", ())]
    g = plain(
        ("v/start", "RandomUniformInt", []), ("v", "VariableV2", []), ("v/Assign", "Assign", ["v", "v/start"]),
        ("x", "Placeholder", []), variables=[v], outputs={"v/start": i, "v": f, "v/Assign": f, "x": f},
    )  # fmt: skip
    assert fitting_text(g, TensorInfo("int32", ())) == "These would fit: 'v/start:0'"


def test_nothing_of_a_gradient_or_a_saver_is_proposed_for_data():
    f = TensorInfo("float32", (3,))
    names = ["x", "gradients/x_grad/Neg", "save/RestoreV2", "h", "deep/gradients_1/g", "mine/restored"]
    types = ["Placeholder", "Neg", "RestoreV2", "Neg", "Neg", "RestoreV2"]
    g = Graph.from_ops([(n, t, []) for n, t in zip(names, types, strict=True)], outputs_of=lambda i: [f])
    assert fitting_text(g, f) == "These would fit: 'x:0', 'h:0'"
    asked_for_a_gradient = fitting_text(g, f, readers=[1])
    assert "'save/RestoreV2:0'" in asked_for_a_gradient, "where one is asked for, those are proposed, too"
    ops = [("x", "Placeholder", []), ("y", "Placeholder", []), ("gradients/g", "Neg", ["y"]), ("h", "Neg", ["y"])]
    reads = Graph.from_ops(ops, outputs_of=lambda i: [f])
    assert accepting_text(reads, (0, 0), f) == "'x:0' would fit input 0 of 'h'"
