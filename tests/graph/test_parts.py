"""What must run for an output, and the reads that a part of a graph has after writes that it leaves out."""

from __future__ import annotations

import numpy as np
import pytest

from graphsurgeon.errors import PlanError
from graphsurgeon.graph.parts import array_fault, lost_writes, refuse_part, required_ops, split_fault
from tests.plain import plain
from tests.refusal import refuses

F, REF, HANDLE = [("float32", (2,))], [("float32_ref", (2,))], [("resource", ())]


def graph_of(*ops):
    """A graph of x -> mid, a feed z and the variables v (resource) and r (reference), and more ops."""
    kinds = {"v": HANDLE, "r": REF, "table": HANDLE, "assign_ref": REF, "same": HANDLE}
    first = [("x", "Placeholder", []), ("z", "Placeholder", []), ("v", "VarHandleOp", []), ("r", "VariableV2", []),
             ("mid", "Neg", ["x"])]  # fmt: skip
    quiet = {"AssignVariableOp": [], "NoOp": [], "LookupTableInsertV2": []}
    outputs = {name: kinds.get(name, quiet.get(kind, F)) for name, kind, _ in (*first, *ops)}
    return plain(*first, *ops, outputs=outputs)


def names(graph, mask):
    return [graph.names[i] for i in np.flatnonzero(mask).tolist()]


ORDERS = {
    "through no-ops": [("set", "AssignVariableOp", ["v", "z"]), ("a", "NoOp", ["^set"]), ("b", "NoOp", ["^a"]),
                       ("read", "ReadVariableOp", ["v", "^b"]), ("y", "Add", ["mid", "read"])],
    "of a reference variable": [("assign_ref", "AssignAdd", ["r", "z"]), ("read", "Identity", ["r", "^assign_ref"]),
                                ("y", "Add", ["mid", "read"])],
    "in a call": [("set", "StatefulPartitionedCall", ["v", "z"]), ("read", "ReadVariableOp", ["v", "^set"]),
                  ("y", "Add", ["mid", "read"])],
    "by another name": [("set", "AssignVariableOp", ["v", "z"]), ("same", "Identity", ["v", "^set"]),
                        ("read", "ReadVariableOp", ["same"]), ("y", "Add", ["mid", "read"])],
    "of a table": [("table", "HashTableV2", []), ("set", "LookupTableInsertV2", ["table", "z", "z"]),
                   ("read", "LookupTableFindV2", ["table", "mid", "mid", "^set"]), ("y", "Add", ["mid", "read"])],
}  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
def test_a_write_that_is_read_afterwards_must_run(order):
    graph = graph_of(*ORDERS[order])
    cuts, goal = frozenset({graph.tensor("mid:0")}), graph.mask([graph.index["y"]])
    assert "z" in names(graph, required_ops(graph, goal, cuts))
    part = required_ops(graph, goal, cuts) & ~graph.mask(
        graph.index[name] for name in ("z", "set", "assign_ref", "a", "b") if name in graph.index
    )
    (lost,) = lost_writes(graph, part)
    assert (lost.read, lost.feeds) == ("read:0", ("z:0",))
    with refuses(PlanError, "part()", f"'read:0' reads {lost.holder!r} after", "inputs=['mid:0', 'z:0']"):
        refuse_part(graph, part, cuts, "part()")


APART = {
    "a read before it": [
        ("read", "ReadVariableOp", ["v"]),
        ("set", "AssignVariableOp", ["v", "z"]),
        ("k", "Const", ["^set"]),
        ("y", "AddN", ["mid", "read", "k"]),
    ],
    "a read of another": [
        ("set", "AssignVariableOp", ["v", "z"]),
        ("read", "Identity", ["r", "^set"]),
        ("y", "Add", ["mid", "read"]),
    ],
}


@pytest.mark.parametrize("order", APART)
def test_a_write_that_is_not_read_afterwards_is_not_lost(order):
    graph = graph_of(*APART[order])
    assert lost_writes(graph, ~graph.mask([graph.index["z"], graph.index["set"]])) == []


def test_what_no_number_depends_on_does_not_run():
    graph = graph_of(("log", "Exp", ["z"]), ("read", "ReadVariableOp", ["v", "^log"]), ("y", "Add", ["mid", "read"]))
    cuts, goal = frozenset({graph.tensor("mid:0")}), graph.mask([graph.index["y"]])
    assert names(graph, required_ops(graph, goal, cuts)) == ["v", "read", "y"]
    assert names(graph, required_ops(graph, goal, cuts | {graph.tensor("z:0")})) == ["v", "log", "read", "y"]
    assert names(graph, required_ops(graph, goal, frozenset())) == ["x", "z", "v", "mid", "log", "read", "y"]


def test_what_is_computed_from_an_input_runs_with_it():
    """A check of an input against a label stays, and asks for the label."""
    graph = graph_of(("both", "Add", ["mid", "z"]), ("y", "Neg", ["mid", "^both"]))
    found = required_ops(graph, graph.mask([graph.index["y"]]), frozenset({graph.tensor("mid:0")}))
    assert names(graph, found) == ["z", "both", "y"]


def array(*ops):
    """A graph of a TensorArray with two writes, and of more ops."""
    kinds = {"a": [*HANDLE, *F]}
    first = [
        ("x", "Placeholder", []),
        ("a", "TensorArrayV3", ["x"]),
        ("w", "TensorArrayWriteV3", ["a", "x", "x", "a:1"]),
        ("w2", "TensorArrayWriteV3", ["a", "x", "x", "w"]),
    ]
    return plain(*first, *ops, outputs={name: kinds.get(name, F) for name, _, _ in (*first, *ops)})


READS = {
    "a read": [("r", "TensorArrayReadV3", ["a", "x", "w2"])],
    "through an identity": [("i", "Identity", ["w2"]), ("r", "TensorArrayGatherV3", ["a", "x", "i"])],
    "in a loop": [("flow", "Enter", ["w2"]), ("held", "Enter", ["a"]), ("at", "Enter", ["x"]),
                  ("r", "TensorArrayReadV3", ["held", "at", "flow"])],
}  # fmt: skip


@pytest.mark.parametrize("read", READS)
def test_a_read_of_an_array_needs_all_writes(read):
    graph = array(*READS[read])
    whole = ~graph.mask([])
    assert array_fault(graph, whole, frozenset()) is None
    lost = whole & ~graph.mask([graph.index["w2"]])
    assert array_fault(graph, lost, frozenset())[1] == "Select the writes too: w2"
    assert array_fault(graph, whole, frozenset({graph.tensor("w2:0")}))[1] == "Cut before the writes"
    assert array_fault(graph, whole, frozenset({graph.tensor("w:0")}))[1] == "Cut before the writes"
    assert array_fault(graph, whole & ~graph.mask([graph.index["r"]]), frozenset()) is None


@pytest.mark.parametrize("read", READS)
def test_an_array_is_used_on_one_side_of_a_call(read):
    graph = array(*READS[read])
    users = [graph.index[name] for name in ("a", "w", "w2", "held", "r") if name in graph.index]
    assert split_fault(graph, ~graph.mask([])) is None
    assert split_fault(graph, ~graph.mask(users)) is None
    for user in users:
        for mask in (graph.mask([user]), ~graph.mask([user])):
            assert "also uses 'a'" in split_fault(graph, mask)[0]
