"""Loops and conds of TF1: which ops run in a loop, and where a selection cuts through a loop or a branch."""

from __future__ import annotations

import pytest

from graphsurgeon.graph.control_flow import context_fault, loops_in, loops_of
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.fault import Fault
from tests.plain import chain
from tests.refusal import reads

#: A counter and a sum in one loop, with a value from outside that each round reads, and what reads the sum.
LOOP = [
    ("x", "Placeholder", []), ("zero", "Const", []), ("rows", "Placeholder", []), ("nothing", "Placeholder", []),
    ("count", "Enter", ["zero"]), ("m0", "Merge", ["count", "n0"]), ("less", "Less", ["m0", "ten"]),
    ("ten", "Const", ["^m0"]), ("go", "LoopCond", ["less"]), ("s0", "Switch", ["m0", "go"]),
    ("i", "Identity", ["s0:1"]), ("plus", "AddV2", ["i", "one"]), ("one", "Const", ["^i"]),
    ("n0", "NextIteration", ["plus"]), ("left", "Exit", ["s0"]),
    ("sum", "Enter", ["x"]), ("m1", "Merge", ["sum", "n1"]), ("s1", "Switch", ["m1", "go"]),
    ("held", "Enter", ["rows"]), ("row", "Gather", ["held", "i"]), ("more", "AddV2", ["s1:1", "row"]),
    ("n1", "NextIteration", ["more"]), ("total", "Exit", ["s1"]), ("y", "Neg", ["total"]),
]  # fmt: skip
#: y = x * 2 where the condition holds, else -x.
COND = [
    ("x", "Placeholder", []), ("p", "Placeholder", []), ("pivot", "Switch", ["p", "p"]),
    ("yes", "Identity", ["pivot:1"]), ("no", "Identity", ["pivot"]),
    ("in1", "Switch", ["x", "p"]), ("square", "Square", ["in1:1"]), ("two", "Const", ["^yes"]),
    ("double", "Mul", ["square", "two"]), ("half", "Sqrt", ["double"]), ("in2", "Switch", ["x", "p"]),
    ("minus", "Neg", ["in2"]), ("joint", "Merge", ["minus", "half"]), ("y", "Identity", ["joint"]),
]  # fmt: skip


def faults(graph, inputs, outputs):
    """Returns the faults of the region between two boundaries."""
    region = select(graph, inputs=inputs, outputs=outputs)
    found = context_fault(graph, region.mask, region.inputs)
    return [Fault("copy()", *found)] if found else []


def test_the_ops_of_a_loop():
    graph = Graph.from_ops(LOOP)
    loop = loops_of(graph)
    outside = [graph.names[i] for i in range(graph.size) if loop[i] < 0]
    assert outside == ["x", "zero", "rows", "nothing", "y"]
    assert set(loop.tolist()) == {-1, 0}
    assert loops_of(chain(3)).tolist() == [-1] * 4


def test_an_inner_loop_belongs_to_the_outer_one():
    graph = Graph.from_ops(
        [
            ("x", "Const", []), ("in", "Enter", ["x"]), ("m", "Merge", ["in", "n"]), ("s", "Switch", ["m", "m"]),
            ("in2", "Enter", ["s:1"]), ("m2", "Merge", ["in2", "n2"]), ("s2", "Switch", ["m2", "m2"]),
            ("n2", "NextIteration", ["s2:1"]), ("out2", "Exit", ["s2"]), ("n", "NextIteration", ["out2"]),
            ("out", "Exit", ["s"]), ("y", "Neg", ["out"]), ("other", "Enter", ["y"]), ("end", "Exit", ["other"]),
        ]
    )  # fmt: skip
    named = [graph.nodes[i] for i in range(graph.size)]
    frames = {"in": "a", "in2": "a/b", "other": "c"}
    graph = Graph.from_nodes([Framed(*node, frames.get(node.name)) for node in named])
    assert loops_of(graph).tolist() == [-1] + [0] * 10 + [-1] + [2] * 2
    (fault,) = faults(graph, ["in2:0"], ["y:0"])
    reads(fault, "its inputs are x:0; its outputs are out:0")


class Framed:
    """A node with the name of its frame."""

    def __init__(self, name, op, inputs, frame):
        self.name, self.op, self.input = name, op, inputs
        self.attr = {"frame_name": Value(frame)} if frame else {}


class Value:
    """An attribute that holds text."""

    def __init__(self, text):
        self.s = text.encode()


def test_a_tensor_of_each_round_is_no_boundary():
    graph = Graph.from_ops(LOOP)
    (fault,) = faults(graph, ["x:0", "row:0"], ["y:0"])
    reads(fault, "cuts through a loop: 16 of its 19 ops are selected", "'row:0' is computed in each round",
          "Select the whole loop: its inputs are x:0, rows:0; its outputs are total:0")  # fmt: skip
    assert len(faults(graph, ["more:0"], ["y:0"])) == 1


def test_what_is_proposed_is_accepted():
    graph = Graph.from_ops(LOOP)
    assert faults(graph, ["x:0", "rows:0"], ["total:0"]) == []
    assert faults(graph, ["x:0", "rows:0"], ["y:0"]) == []
    assert faults(graph, ["total:0"], ["y:0"]) == []


def test_a_loop_without_feeds_names_what_enters_it():
    graph = Graph.from_ops(
        [(name, "Const" if kind == "Placeholder" else kind, reads) for name, kind, reads in LOOP[:-1]]
    )
    region = select(graph, name=["m1", "s1"])
    found = context_fault(graph, region.mask, ())
    assert found is not None
    reads(Fault("copy()", *found), "its inputs are zero:0, x:0, rows:0; its outputs are left:0, total:0")


def test_a_branch_is_not_given_from_outside():
    graph = Graph.from_ops(COND)
    for cut in ("double:0", "half:0"):
        (fault,) = faults(graph, ["x:0", "p:0", cut], ["y:0"])
        reads(fault, "cuts through a branch of a cond: 'joint' would always take 'half:0'",
              "Select the whole cond, or cut after it: 'joint:0'")  # fmt: skip


def test_a_cond_whole_or_cut_where_its_branches_still_depend_on_the_condition():
    graph = Graph.from_ops(COND)
    assert faults(graph, ["x:0", "p:0"], ["y:0"]) == []
    assert faults(graph, ["joint:0"], ["y:0"]) == []
    assert faults(graph, ["square:0", "x:0", "p:0"], ["y:0"]) == []  # the constant beside it waits for the branch
    assert faults(graph, ["x:0", "p:0"], ["half:0"]) == []


@pytest.mark.parametrize("bare", ["in", "n", "c"])
def test_a_loop_with_a_part_that_reads_nothing_is_not_whole(bare):
    ops = [("a", "Const", []), ("in", "Enter", ["a"]), ("m", "Merge", ["in", "n"]), ("c", "Enter", ["a"]),
           ("asks", "LoopCond", ["m"]), ("s", "Switch", ["m", "asks"]), ("n", "NextIteration", ["s:1"])]  # fmt: skip
    assert len(loops_in(Graph.from_ops(ops))) == 1
    assert loops_in(Graph.from_ops([(name, kind, [] if name == bare else reads) for name, kind, reads in ops])) == []
