"""Bypasses of one op, of chains, of scopes and selections: what is read instead, and what cannot be."""

from __future__ import annotations

import pytest

from graphsurgeon.errors import PlanError
from graphsurgeon.graph.graph import Graph, TensorInfo
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.function_source import Sources
from graphsurgeon.plan.plan import Plan
from tests.plan import edits
from tests.refusal import reads, refuses

ROW, SUM = TensorInfo("float32", (None, 4)), TensorInfo("float32", (None,))


def net() -> Graph:
    """Net: x -> s/a -> s/b -> y; y and z -> t/c -> t/d -> w; t/d -> sum -> v."""
    return Graph.from_ops(
        [
            ("x", "Placeholder", []), ("z", "Placeholder", []), ("s/a", "Neg", ["x"]), ("s/one", "Const", []),
            ("s/b", "AddV2", ["s/a", "s/one"]), ("y", "Identity", ["s/b"]), ("t/c", "AddV2", ["y", "z"]),
            ("t/d", "Square", ["t/c"]), ("w", "Identity", ["t/d"]), ("sum", "Sum", ["t/d"]), ("v", "Neg", ["sum"]),
        ],
        outputs_of=lambda i: [SUM if i >= 9 else TensorInfo("float32", ()) if i == 3 else ROW],
    )  # fmt: skip


def now(plan):
    """What each op whose input was set reads now."""
    assert plan.check() == (), [str(f) for f in plan.check()]
    return {(c.to, c.input): c.tensor for c in plan.effect.connections}


def test_one_op_is_bypassed_and_reads_on():
    done = edits.after(Plan(edits.net()).bypass("y"))
    assert (done["z"], done["y"]) == (["a:0", "a:0"], ["a:0"])


def test_a_chain_a_scope_and_a_selection_are_bypassed_whole():
    g = net()
    whole = {("y", 0): "x:0"}
    assert now(Plan(g).bypass("s")) == whole
    assert now(Plan(g).bypass("s/")) == whole
    assert now(Plan(g).bypass(select(g, scope="s"))) == whole
    assert now(Plan(g).bypass(["s/b", "s/a"])) == whole
    assert now(Plan(g).bypass(["s/a", "s/b", "y", "t/c", "t/d"], input="x:0")) == {("w", 0): "x:0", ("sum", 0): "x:0"}
    after = Plan(g).bypass("s").after()
    assert after.input_names(after.index["s/b"]) == ["s/a:0", "s/one:0"]
    assert "no longer used: s/b:0" in Plan(g).bypass("s").effect.warnings


def test_parts_that_are_not_connected_are_bypassed_one_by_one():
    g = net()
    assert now(Plan(g).bypass(["s/a", "y"])) == {("s/b", 0): "x:0", ("t/c", 0): "s/b:0"}
    assert now(Plan(g).bypass(["s/a", "t/d", "s/one"])) == {
        ("s/b", 0): "x:0", ("w", 0): "t/c:0", ("sum", 0): "t/c:0"
    }  # fmt: skip


def test_which_input_and_output_are_meant_can_be_said():
    g = net()
    z = {("w", 0): "z:0", ("sum", 0): "z:0"}
    assert now(Plan(g).bypass("t", input="z")) == z
    assert now(Plan(g).bypass("t", input=1, output=0)) == z
    assert now(Plan(g).bypass(["t/d", "sum"], output="t/d")) == {("w", 0): "t/c:0"}
    assert now(Plan(g).bypass("t/c")) == {("t/d", 0): "y:0"}
    assert now(Plan(g).bypass("t/c", input="z:0", output="t/c:0")) == {("t/d", 0): "z:0"}


def test_as_code():
    g = net()
    plan = Plan(g).bypass("s").bypass(["t/c", "t/d"], input="z").bypass("t/c", input=1)
    assert [s.code(Sources()) for s in plan.steps] == [
        ".bypass('s')", ".bypass(['t/c', 't/d'], input='z:0')", ".bypass('t/c', input=1)"
    ]  # fmt: skip
    assert [s.describe() for s in plan.steps] == ["bypass s/a, s/one, s/b", "bypass t/c, t/d", "bypass t/c"]
    assert Plan(g).bypass(select(g, scope="s")).steps[0].code(Sources()) == ".bypass(ed.select(scope='s'))"


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda p: p.bypass("t"), ("2 entering tensors could be read instead: y:0, z:0", "Choose one: input='y:0'")),
        (lambda p: p.bypass(["t/d", "sum"]),
         ("no entering tensor can replace all leaving tensors: t/c:0 float32 (?, 4) against",
          "input='t/c:0', output='t/d:0'")),
        (lambda p: p.bypass(["y", "t/c", "t/d", "sum"]), ("s/b:0 float32 (?, 4), z:0 float32 (?, 4) against t/d:0",)),
        (lambda p: p.bypass("t", input=7),
         ("input=7 is not possible: the tensors that enter the ops are 'y:0', 'z:0'", "such as input='y:0'")),
        (lambda p: p.bypass("t", input="x"), ("input='x:0' is not possible",)),
        (lambda p: p.bypass("t", output="t/c"), ("output='t/c:0' is not possible: the tensors that leave", "'t/d:0'")),
        (lambda p: p.bypass("t", input="none"), ("there is no tensor 'none:0'",)),
        (lambda p: p.bypass(["s/a", "t/d"], input=0), ("2 unconnected parts", "Bypass each part in its own step")),
        (lambda p: p.bypass(["w", "v"]), ("no op outside reads a tensor that they compute", "ed.select(inputs=")),
        (lambda p: p.bypass(["x", "z"]), ("no op outside reads a tensor that they compute from an entering tensor",)),
        (lambda p: p.bypass(["t/c", "no"]), ("no op is called 'no'",)),
        (lambda p: p.bypass("sum"), ("'t/d:0' is float32 (?, 4), but 'sum:0' is float32 (?,)",)),
        (lambda p: p.bypass("t/c", output="y"), ("'y:0' is not an output of 't/c'", "as output='t/c:0'")),
        (lambda p: p.bypass("t/c", input="x"), ("has no input x:0; it has 2 inputs: y:0, z:0", "another input=")),
        (lambda p: p.bypass("x"), ("op 'x' has no input 0; it has 0 inputs", "Choose another input=")),
    ],
)  # fmt: skip
def test_faults(edit, words):
    reads(edit(Plan(net())).check()[0], *words)


def test_nothing_cannot_be_bypassed():
    with refuses(PlanError, "bypass([])", "there are no ops in it", "Give at least one op"):
        Plan(net()).bypass([])
