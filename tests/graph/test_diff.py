"""Diff: what differs between two graphs, by name, by a mapping and by structure."""

from __future__ import annotations

import random
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from graphsurgeon.errors import SelectionError
from graphsurgeon.graph.diff import OpDifference, diff, pair
from graphsurgeon.graph.graph import Graph
from tests.cost import growth
from tests.plain import net, plain
from tests.refusal import refuses


def nodes(*ops: Any, **about: Any) -> Graph:
    """Returns a graph of (name, type, inputs, attributes, device) with plain objects as attributes."""
    made = []
    for name, kind, inputs, *rest in ops:
        attr, device = (*rest, *({}, "")[len(rest) :])
        made.append(SimpleNamespace(name=name, op=kind, input=inputs, attr=attr, device=device))
    return Graph.from_nodes(made, **about)


def text(*values: str) -> Any:
    """Returns what an AttrValue of one text, or a list of them, looks like."""
    one = values[0].encode() if len(values) == 1 else b""
    held = SimpleNamespace(s=[] if len(values) == 1 else [v.encode() for v in values])
    return SimpleNamespace(list=held, s=one)


def renamed(graph: Graph, lead: str, order: random.Random | None = None) -> Graph:
    """Returns the same graph with other names and, where asked, its ops in another order."""
    numbers = list(range(graph.size))
    new = [f"{lead}{i}" for i in numbers]
    if order:
        order.shuffle(new)
        order.shuffle(numbers)
    at = dict(zip(graph.names, new, strict=True))
    ops = []
    for i in numbers:
        reads = [f"{at[t.rpartition(':')[0]]}:{t.rpartition(':')[2]}" for t in graph.input_names(i)]
        ops.append((at[graph.names[i]], graph.types[i], [*reads, *(f"^{at[c]}" for c in graph.control_names(i))]))
    return Graph.from_ops(ops)


def test_a_graph_does_not_differ_from_itself():
    found = diff(net(), net())
    assert not found
    assert str(found) == "net -> net: no difference"
    assert repr(found) == "<Diff net -> net: no difference>"
    assert (found.table(), found.marks) == ([], {})


def test_added_removed_and_rewired():
    a = plain(("x", "Const", []), ("y", "Neg", ["x"]), ("z", "Add", ["y", "x"]), title="old")
    b = plain(("w", "Const", []), ("x", "Const", []), ("z", "Add", ["w", "x"]), ("v", "Exp", ["z:1"]), title="new")
    found = diff(a, b)
    assert (found.added, found.removed, found.renamed) == (("w", "v"), ("y",), ())
    assert found.rewired == (OpDifference("input", "z", "z", "0", "y:0", "w:0"),)
    assert found.counts == {
        "added": 2, "removed": 1, "renamed": 0, "type": 0, "input": 1, "control": 0, "attribute": 0, "device": 0,
        "output": 0,
    }  # fmt: skip
    assert str(found).splitlines() == [
        "old -> new: 2 added, 1 removed, 1 rewired",
        "added", "  + w  Const", "  + v  Exp", "removed", "  - y  Neg", "rewired", "  z input 0: y:0 -> w:0",
    ]  # fmt: skip
    assert found.table()[-1] == {"kind": "input", "op": "z", "what": "0", "was": "y:0", "now": "w:0"}
    assert [row["kind"] for row in found.table()] == ["added", "added", "removed", "input"]


def test_another_output_of_the_same_op_is_another_input():
    a = plain(("x", "Split", []), ("y", "Neg", ["x"]))
    b = plain(("x", "Split", []), ("y", "Neg", ["x:1"]))
    assert [(c.old, c.new) for c in diff(a, b).rewired] == [("x:0", "x:1")]


def test_more_and_fewer_inputs():
    a = plain(("x", "Const", []), ("y", "AddN", ["x", "x"]))
    b = plain(("x", "Const", []), ("y", "AddN", ["x", "x", "x"]))
    assert [(c.detail, c.old, c.new) for c in diff(a, b).rewired] == [("2", "", "x:0")]
    assert str(diff(b, a).rewired[0]) == "y input 2: x:0 -> nothing"


def test_the_order_of_control_inputs_means_nothing():
    ops = ("x", "Const", []), ("y", "Const", [])
    a, b = plain(*ops, ("z", "NoOp", ["^x", "^y"])), plain(*ops, ("z", "NoOp", ["^y", "^x"]))
    assert not diff(a, b)


def test_control_inputs_that_change():
    ops = ("x", "Const", []), ("y", "Const", [])
    a, b = plain(*ops, ("z", "NoOp", ["^x"])), plain(*ops, ("z", "NoOp", ["^y"]))
    assert [(c.old, c.new) for c in diff(a, b).of_kind("control")] == [("x", "y")]
    assert str(diff(a, plain(*ops, ("z", "NoOp", []))).of_kind("control")[0]) == "z: x -> nothing"
    assert str(diff(plain(*ops, ("z", "NoOp", [])), a).of_kind("control")[0]) == "z: nothing -> x"
    gone = plain(("y", "Const", []), ("z", "NoOp", []))
    assert [(c.op, c.old) for c in diff(a, gone).of_kind("control")] == [("z", "x")]


def test_a_control_input_that_is_gone_is_not_taken_for_that_of_the_op_before():
    a = plain(("p", "NoOp", ["^z"]), ("gone", "Const", []), ("q", "NoOp", ["^gone"]), ("z", "Const", []))
    b = plain(("p", "NoOp", ["^z"]), ("q", "NoOp", []), ("z", "Const", []))
    assert [str(c) for c in diff(a, b).of_kind("control")] == ["q: gone -> nothing"]


def test_types_attributes_devices_and_outputs():
    a = nodes(("x", "Const", [], {"value": 1, "_gs_origin": "a"}), ("y", "Neg", ["x"], {"T": 1}, "/cpu:0"))
    b = nodes(("x", "Const", [], {"value": 2, "_output_shapes": 3}), ("y", "Abs", ["x"], {"U": 1}, ""))
    found = diff(a, b, describe=lambda value: f"<{value}>")
    assert [str(c) for c in found.changes] == [
        "y: Neg -> Abs", "x value: <1> -> <2>", "y T: <1> -> nothing", "y U: nothing -> <1>",
        "y: /cpu:0 -> nothing",
    ]  # fmt: skip
    assert "attributes\n  x value: 1 -> 2" in str(diff(a, b))
    a = plain(("x", "Const", []), outputs={"x": [("float32", (2, None))]})
    b = plain(("x", "Const", []), outputs={"x": [("float64", (2, 3)), ("int32", ())]})
    assert [str(c) for c in diff(a, b).of_kind("output")] == [
        "x:0: float32 (2, ?) -> float64 (2, 3)",
        "x:1: nothing -> int32 ()",
    ]


def test_a_large_attribute_is_told_by_its_size():
    a, b = (nodes(("x", "Const", [], {"value": letter * 5000})) for letter in "ab")
    assert str(diff(a, b).changes[0]) == "x value: 5,002 bytes -> 5,002 bytes"
    a, b = (nodes(("x", "Const", [], {"value": letter * 500})) for letter in "ab")
    assert len(diff(a, b).changes[0].old) == 81


def test_a_mapping_goes_before_names():
    a = plain(("x", "Const", []), ("y", "Neg", ["x"]), ("z", "Exp", ["y"]))
    b = plain(("x", "Const", []), ("n/x", "Const", []), ("n/y", "Neg", ["n/x"]), ("z", "Exp", ["n/y"]))
    found = diff(a, b, mapping={"x": "n/x", "y": "n/y"})
    assert found.renamed == (("x", "n/x"), ("y", "n/y"))
    assert found.changes == ()
    assert found.added == ("x",)
    alone = diff(a, b, by="mapping", mapping={"x": "n/x", "y": "n/y"})
    assert (alone.removed, alone.added) == (("z",), ("x", "z"))
    assert diff(a, b, mapping={"x": None}).removed == ("x", "y")


def test_names_in_attributes_follow_their_ops():
    inside = {"frame_name": text("loop"), "_class": text("loc:@w", "loc:@in")}
    a = nodes(("w", "VarHandleOp", [], {"shared_name": text("w")}), ("in", "Enter", ["w"], inside))
    inside = {"frame_name": text("n/loop"), "_class": text("loc:@n/in", "loc:@n/w")}
    b = nodes(("n/w", "VarHandleOp", [], {"shared_name": text("n/w")}), ("n/in", "Enter", ["n/w"], inside))
    assert diff(a, b, mapping={"w": "n/w", "in": "n/in"}).changes == ()
    shared = nodes(("n/w", "VarHandleOp", [], {"shared_name": text("v")}), ("n/in", "Enter", ["n/w"], {}))
    found = diff(a, shared, mapping={"w": "n/w", "in": "n/in"}).changes
    assert [(c.op, c.detail) for c in found] == [("n/w", "shared_name"), ("n/in", "_class"), ("n/in", "frame_name")]


def test_marks_are_for_a_picture_of_both():
    a = plain(("x", "Const", []), ("y", "Neg", ["x", "^x"]), ("z", "Exp", ["y"]), ("u", "Abs", ["y"]))
    b = plain(("new", "Const", []), ("x", "Const", []), ("z", "Exp", ["new"]), ("u", "Abs", ["x"]))
    found = diff(a, b, mapping={"u": None})
    both = found.picture
    assert both.names == ["new", "x", "z", "u", "y", "u_removed"]
    assert {both.names[i]: mark for i, mark in found.marks.items()} == {
        "z": "changed", "new": "new", "u": "new", "y": "removed", "u_removed": "removed",
    }  # fmt: skip
    assert both.input_names(4) == ["x:0"]
    assert both.control_names(4) == ["x"]
    assert both.input_names(5) == ["y:0"]
    assert both.input_names(2) == ["new:0"]
    assert both.outputs(5) == [("float32", ())]


def test_long_lists_are_cut_short_and_counted():
    b = plain(*((f"x{i}", "Const", []) for i in range(20)))
    assert str(diff(plain(), b)).splitlines()[-1] == "  … and 8 more"


@pytest.mark.parametrize("seed", range(6))
def test_structure_finds_what_has_only_other_names(seed):
    rng = random.Random(seed)
    kinds = ["Neg", "Exp", "Abs", "Add", "Mul", "Sub"]
    ops: list[Any] = [("n0", "Const", []), ("n1", "Placeholder", [])]
    for i in range(2, 200):
        kind = rng.choice(kinds)
        reads = [f"n{rng.randrange(max(0, i - 9), i)}" for _ in range(2 if kind in kinds[3:] else 1)]
        ops.append((f"n{i}", kind, [*reads, *([f"^n{rng.randrange(i)}"] if rng.random() < 0.1 else [])]))
    a = Graph.from_ops(ops)
    found = diff(a, renamed(a, "m", rng), by="structure")
    assert (found.added, found.removed) == ((), ())
    assert len(found.changes) <= 4, found  # ops that only their readers tell apart may be crossed
    assert len(found.renamed) == 200


def test_structure_sees_the_edit_in_a_graph_with_other_names():
    a = Graph.from_ops([("x", "Placeholder", []), *((f"n{i}", "Neg" if i % 3 else "Exp", [f"n{i - 1}" if i else "x"])
                  for i in range(60))])  # fmt: skip
    ops = [(f"m/{a.names[i]}", a.types[i], [f"m/{s}" for s in a.input_names(i)]) for i in range(a.size)]
    ops[30] = (ops[30][0], "Abs", ops[30][2])
    found = diff(a, Graph.from_ops(ops), by="structure")
    assert (found.added, found.removed) == (("m/n29",), ("n29",))
    assert [(c.op, c.old, c.new) for c in found.changes] == [("m/n30", "n29:0", "m/n29:0")]


def test_structure_sees_that_another_output_is_read():
    a = plain(("x", "Split", []), ("y", "Neg", ["x"]), ("z", "Exp", ["y"]), ("u", "Log", ["z"]))
    b = plain(("m", "Split", []), ("n", "Neg", ["m:1"]), ("o", "Exp", ["n"]), ("p", "Log", ["o"]))
    found = diff(a, b, by="structure")
    assert (found.added, found.removed) == ((), ())
    assert [str(c) for c in found.changes] == ["n input 0: x:0 -> m:1"]


def test_structure_pairs_blocks_that_are_all_alike_as_blocks():
    block = [("{0}/c", "Const", []), ("{0}/a", "Neg", ["{0}/c"]), ("{0}/b", "Exp", ["{0}/a", "^{0}/c"])]

    def blocks(*names: str) -> Graph:
        return Graph.from_ops([(n.format(k), t, [i.format(k) for i in ins]) for k in names for n, t, ins in block])

    found = diff(blocks("p", "q", "r"), blocks("u", "v"), by="structure")
    assert (found.added, found.removed, found.changes) == ((), ("r/c", "r/a", "r/b"), ())


def test_of_the_same_name_but_another_type_structure_looks_elsewhere_first():
    a = plain(("x", "Const", []), ("f", "Neg", ["x"]), ("g", "Exp", ["f"]))
    b = plain(("x", "Const", []), ("g", "Neg", ["x"]), ("f", "Exp", ["g"]))
    assert diff(a, b, by="structure").renamed == (("f", "g"), ("g", "f"))
    assert {c.kind for c in diff(a, b).changes} == {"type", "input"}
    lone = plain(("x", "Const", []), ("f", "Abs", ["x"]))
    assert [str(c) for c in diff(a, lone, by="structure").of_kind("type")] == ["f: Neg -> Abs"]


def test_what_cannot_be_paired_is_refused():
    g = net()
    with refuses(SelectionError, "diff(by='hash')", "'hash' is not a way to pair ops", "mapping, name, structure"):
        diff(g, g, by="hash")
    with refuses(SelectionError, "diff(mapping={'y': 'x'})", "no op is called 'y'"):
        diff(g, g, mapping={"y": "x"})
    with refuses(SelectionError, "diff(mapping={'x': 'y'})", "no op is called 'y'"):
        diff(g, g, mapping={"x": "y"})
    with refuses(SelectionError, "'out' is already the partner of 'x'", "Give each op a separate partner"):
        diff(g, g, mapping={"x": "out", "rate": "out"})


def big(size: int, lead: str = "") -> Graph:
    """Returns a graph of repeated blocks, as deep nets are."""
    ops: list[Any] = [(f"{lead}x", "Placeholder", [])]
    last = f"{lead}x"
    for i in range(size // 5):
        b = f"{lead}block_{i}"
        ops += [(f"{b}/w", "VariableV2", []), (f"{b}/read", "Identity", [f"{b}/w"]),
                (f"{b}/mm", "MatMul", [last, f"{b}/read"]), (f"{b}/go", "NoOp", [f"^{b}/mm"]),
                (f"{b}/relu", "Relu", [f"{b}/mm", f"^{b}/go"])]  # fmt: skip
        last = f"{b}/relu"
    return Graph.from_ops(ops)


@pytest.mark.deep
def test_a_hundred_thousand_ops():
    a, b, c = big(100_000), big(100_000), big(100_000, "copy/")
    assert not diff(a, b)
    found = diff(a, c, by="structure")
    assert (found.changes, found.added, found.removed) == ((), (), ())
    assert found.partners.tolist() == list(range(a.size))


def test_ten_times_the_ops_cost_ten_times_as_much():
    assert growth(lambda size: partial(diff, big(size), big(size)), 1000, 10_000) < 12
    assert growth(lambda size: partial(diff, big(size), big(size, "copy/"), by="structure"), 1000, 10_000) < 12


def test_a_chain_of_one_type_is_paired_from_its_ends():
    a = Graph.from_ops([("x0", "Const", []), *((f"x{i}", "Neg", [f"x{i - 1}"]) for i in range(1, 20_000))])
    place = pair(a, renamed(a, "y"), "structure")
    assert place.tolist() == list(range(a.size))
