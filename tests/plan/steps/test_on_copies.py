"""Forward slices worked out from snapshots alone: what is made again, what is shared, left, taken whole."""

from __future__ import annotations

import numpy as np

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.training import downstream
from graphsurgeon.plan.function_source import Sources
from graphsurgeon.plan.plan import Plan
from tests.plain import plain, variable
from tests.refusal import reads


def names(graph, mask):
    return [graph.names[i] for i in np.flatnonzero(mask).tolist()]


def net() -> Graph:
    """a, b; y = -a; z = a + y; more = z of w; set assigns y; end waits for z."""
    ops, info = variable("w")
    return plain(
        ("a", "Placeholder", []), ("b", "Placeholder", []), ("y", "Neg", ["a"]), ("z", "Add", ["a", "y"]), *ops,
        ("more", "Mul", ["z", "w/read"]), ("only", "Neg", ["y"]), ("set", "Assign", ["w", "only"]),
        ("end", "NoOp", ["^z"]), variables=[info],
    )  # fmt: skip


def test_what_reads_the_change_is_made_again_and_variables_are_shared():
    plan = Plan(net()).reroute("a", to="b", only="y").on_copies(scope="new")
    assert plan.check() == ()
    assert plan.mode == "append"
    after = plan.after()
    assert plan.effect.new_names == ["new/y", "new/z", "new/more"]
    assert after.input_names(after.index["new/y"]) == ["b:0"]
    assert after.input_names(after.index["new/more"]) == ["new/z:0", "w/read:0"]
    assert [after.input_names(i) for i in range(net().size)] == [net().input_names(i) for i in range(net().size)]
    assert list(plan.effect.warnings) == ["1 op that sets state still uses the original: set"]
    text = str(plan.preview())
    assert "3 ops downstream of 1 op that changes, copied under new/:\n    1 Add, 1 Mul, 1 Neg" in text
    assert "no existing op changes" in text
    assert [c.text for c in plan.effect.downstream_copies] == [
        "3 ops downstream of 1 op that changes, copied under new/"
    ]


def test_the_preview_of_a_new_graph_says_what_a_slice_would_be():
    text = str(Plan(net()).reroute("a", to="b", only="y").preview())
    assert "builds a new graph, because existing ops get other inputs; the old graph stays usable" in text
    assert "on_copies(scope=...) would change no existing op, and copy 3 ops downstream instead" in text


def test_an_end_may_be_reached_by_order_alone():
    plan = Plan(net()).reroute("a", to="b", only="y").on_copies(scope="new", until="end")
    assert plan.effect.new_names == ["new/y", "new/z", "new/end"]
    after = plan.after()
    assert after.control_names(after.index["new/end"]) == ["new/z"]


def test_a_loop_that_is_touched_is_taken_whole():
    g = Graph.from_ops(
        [("x", "Placeholder", []), ("k", "Placeholder", []), ("i", "Const", []), ("ini", "Enter", ["i"]),
         ("in", "Enter", ["x"]), ("m", "Merge", ["in", "n"]), ("mi", "Merge", ["ini", "ni"]),
         ("go", "LoopCond", ["mi"]), ("s", "Switch", ["m", "go"]), ("si", "Switch", ["mi", "go"]),
         ("n", "NextIteration", ["s:1"]), ("ni", "NextIteration", ["si:1"]), ("out", "Exit", ["s"]),
         ("z", "Neg", ["out"])]
    )  # fmt: skip
    plan = Plan(g).reroute("x", to="k").on_copies(scope="new")
    assert plan.check() == (), [str(f) for f in plan.check()]
    assert set(plan.effect.new_names) == {f"new/{n}" for n in g.names if n not in ("x", "k", "i")}
    assert plan.effect.downstream_copies[0].unchanged == ("5 ops: the rest of loops, conds, TensorArrays and stacks",)


def test_the_other_branch_of_a_cond_and_all_users_of_a_tensor_array_come_along():
    g = Graph.from_ops(
        [("x", "Const", []), ("p", "Const", []), ("v", "Const", []), ("s", "Switch", ["x", "p"]),
         ("t", "Switch", ["v", "p"]), ("yes", "Neg", ["s:1"]), ("no", "Exp", ["t"]), ("m", "Merge", ["no", "yes"]),
         ("array", "TensorArrayV3", []), ("write", "TensorArrayWriteV3", ["array", "v", "v", "array:1"]),
         ("read", "TensorArrayReadV3", ["array", "m", "write"])]
    )  # fmt: skip
    found = downstream(g, g.mask([3]), g.mask([]))
    assert names(g, found.ops) == ["s", "t", "yes", "no", "m", "array", "write", "read"]
    assert found.unchanged == ["4 ops: the rest of loops, conds, TensorArrays and stacks"]


def test_faults():
    plan = Plan(net())
    reads(plan.on_copies(scope="n").check()[0], "no earlier step changes an existing op", "call it after the edits")
    edit = plan.reroute("y", to="a", only="only")
    reads(edit.on_copies(scope="n").check()[0], "only ops that set state depend on the edits: set", "'copy'")
    assert edit.on_copies(scope="n", assign="copy").effect.new_names == ["n/only", "n/set"]
    apart = edit.on_copies(scope="n", until="z").check()[0]
    reads(apart, "'z' does not depend on the changed ops (only)", "Name an op in until=")
    reads(edit.on_copies(scope="n", until="set").check()[0], "leads through ops that set state: set", "assign='copy'")
    direct = plan.connect("y:0", to="set", input=1)
    shared = direct.on_copies(scope="n").check()[0]
    reads(shared, "'set' (Assign) sets state that the original also uses", "build a new graph")


def test_several_at_once_as_code():
    g = net()
    plan = Plan(g).reroute({"a": "b", "b": "a"}).swap(["a"], ["b"]).reroute_control("z", to=["y", "a"], exclude="set")
    plan = plan.connect(["a", "b"], to="z").connect(["a", "b"], to=["y", "only"]).rename("w", to="held/w")
    plan = plan.on_copies(scope="n", until=["end"], assign="copy", collections="rename")
    code = [s.code(Sources()) for s in plan.steps]
    assert code[:3] == [
        ".reroute(['a:0', 'b:0'], to=['b:0', 'a:0'])", ".swap('a:0', 'b:0')",
        ".reroute_control('z', to=['y', 'a'], exclude='set')",
    ]  # fmt: skip
    assert code[-2:] == [
        ".rename('w', to='held/w')", ".on_copies(scope='n', until='end', assign='copy', collections='rename')",
    ]  # fmt: skip
    assert eval("Plan(g)" + "".join(code)).steps == plan.steps
