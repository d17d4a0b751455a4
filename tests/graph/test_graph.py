"""The snapshot: reading, extending, asking, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from graphsurgeon.errors import SelectionError
from graphsurgeon.graph.graph import Graph, TensorInfo, shape_text
from tests.plain import net, plain
from tests.refusal import refuses


def test_reads_edges_in_order_with_ports():
    ops = [("a", "Split", []), ("b", "NoOp", []), ("c", "Add", ["a:1", "a", "^b"]), ("d", "Add", ["c:0", "a:2"])]
    g = Graph.from_ops(ops)
    assert g.size == 4
    assert g.input_names(2) == ["a:1", "a:0"]
    assert g.control_names(2) == ["b"]
    assert g.input_names(3) == ["c:0", "a:2"]
    assert g.control_names(3) == []
    assert g.input_names(0) == []


def test_inputs_may_come_later():
    g = Graph.from_ops(
        [("merge", "Merge", ["enter", "next"]), ("enter", "Enter", []), ("next", "NextIteration", ["merge"])]
    )
    assert g.input_names(0) == ["enter:0", "next:0"]


def test_consumers_say_which_output_is_read():
    g = Graph.from_ops([("a", "Split", []), ("b", "Neg", ["a:1"]), ("c", "Add", ["a:1", "a"]), ("d", "NoOp", ["^a"])])
    row = slice(g.consumers.ptr[0], g.consumers.ptr[1])
    readers = sorted(zip(g.consumers.node[row].tolist(), g.consumers.port[row].tolist(), strict=True))
    assert readers == [(1, 1), (2, 0), (2, 1)]
    assert g.control_consumers.row(0).tolist() == [3]
    assert g.consumers.row(3).tolist() == []


def test_extending_leaves_the_old_one():
    g = net()
    before = (g.size, g.fingerprint, list(g.names))
    more = g.with_nodes(Graph.from_ops([("later", "Const", [])]).nodes)
    assert (g.size, g.fingerprint, list(g.names)) == before
    assert more.size == g.size + 1
    assert more.names[-1] == "later"
    assert more.owner is g.owner
    assert more.title == g.title
    assert more.state == g.state
    assert more.input_names(more.index["out"]) == ["net/drop:0"]


def test_extending_may_read_old_ops():
    g = Graph.from_ops([("a", "Const", [])])
    more = g.with_nodes([type(g.nodes[0])("b", "Neg", ["a:0", "^a"])])
    assert more.input_names(1) == ["a:0"]
    assert more.control_names(1) == ["a"]
    whole = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a:0", "^a"])])
    assert more.fingerprint == whole.fingerprint


def test_fingerprint_is_of_structure():
    ops = [("a", "Const", []), ("b", "Neg", ["a"])]
    assert Graph.from_ops(ops).fingerprint == Graph.from_ops(ops).fingerprint
    for other in (
        [("a", "Const", []), ("c", "Neg", ["a"])],
        [("a", "Const", []), ("b", "Abs", ["a"])],
        [("a", "Const", []), ("b", "Neg", ["a:1"])],
        [("a", "Const", []), ("b", "Neg", ["^a"])],
        [*ops, ("c", "NoOp", [])],
    ):
        assert Graph.from_ops(other).fingerprint != Graph.from_ops(ops).fingerprint


def test_fingerprint_knows_no_order_of_control_inputs():
    ops = [("a", "Const", []), ("b", "Const", [])]
    one, two = (Graph.from_ops([*ops, ("c", "NoOp", waits)]) for waits in (["^a", "^b"], ["^b", "^a"]))
    assert one.fingerprint == two.fingerprint
    assert Graph.from_ops([*ops, ("c", "NoOp", ["^a"])]).fingerprint != one.fingerprint
    data = [Graph.from_ops([*ops, ("c", "AddV2", reads)]).fingerprint for reads in (["a", "b"], ["b", "a"])]
    assert data[0] != data[1]


def test_the_empty_graph():
    g = Graph.from_ops([])
    assert (g.size, g.scopes.names, list(g.lowercase_names)) == (0, [""], [""])
    assert g.consumers.ptr.tolist() == [0]
    assert g.type_array.tolist() == []
    assert g.fingerprint == Graph.from_ops([]).fingerprint


def test_two_snapshots_made_by_hand_have_two_owners():
    assert Graph.from_ops([]).owner is not Graph.from_ops([]).owner


def test_tensor_by_name():
    g = net()
    op = g.index["parts"]
    assert g.tensor("parts") == (op, 0)
    assert g.tensor("parts:1") == (op, 1)
    assert str(g.info(op, 1)) == "float32 (3,)"
    assert g.info(op, 2) is None
    assert Graph.from_ops([("a", "Const", [])]).info(0, 0) is None


@pytest.mark.parametrize(
    ("shape", "text"),
    [((), "()"), ((3,), "(3,)"), ((None, 3), "(?, 3)"), (None, "unknown shape"), ((0, 224), "(0, 224)")],
)
def test_shapes_as_people_write_them(shape, text):
    assert shape_text(shape) == text
    assert str(TensorInfo("int32", shape)) == f"int32 {text}"


def test_masks():
    g = net()
    assert g.mask([]).sum() == 0
    assert np.flatnonzero(g.mask([2, 0])).tolist() == [0, 2]
    names = [g.names[i] for i in np.flatnonzero(g.scope_mask("net/w"))]
    assert names == ["net/w/start", "net/w", "net/w/Assign", "net/w/read"]


def test_an_input_that_names_no_op():
    with refuses(SelectionError, "reading op 'b'", "its input 'gone:1' names no op", "Give the whole graph"):
        Graph.from_ops([("a", "Const", []), ("b", "Neg", ["gone:1"])])
    with refuses(SelectionError, "its input '^gone' names no op"):
        Graph.from_ops([("b", "Neg", ["^gone"])])
    with refuses(SelectionError, "its input 'a:x' names no op"):
        Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a:x"])])


def test_find_proposes_the_nearest():
    g = net()
    assert g.find("net/mm") == g.index["net/mm"]
    with refuses(SelectionError, "find('net/mn')", "no op is called 'net/mn' in net", "Did you mean 'net/mm'"):
        g.find("net/mn")
    with refuses(SelectionError, "No name is similar; ed.find("):
        g.find("zzzzzzzzzzzzzz")
    with refuses(SelectionError, "my question: no op is called"):
        g.find("net/mn", "my question")


def test_tensor_names_refused():
    g = net()
    with refuses(SelectionError, "there is no tensor 'net/mn:0' in net: no op has that name", "'net/mm'"):
        g.tensor("net/mn:0")
    with refuses(SelectionError, "'net/mm:x' is not a tensor name", "'net/mm:0'"):
        g.tensor("net/mm:x")
    with refuses(SelectionError, "'net/mm:-1' is not a tensor name"):
        g.tensor("net/mm:-1")
    with refuses(SelectionError, "op 'parts' (Unpack) has 2 outputs", "It has 'parts:0', 'parts:1'"):
        g.tensor("parts:2")
    with refuses(SelectionError, "op 'out' (Relu) has 1 output\n".strip(), "It has 'out:0'"):
        g.tensor("out:4294967296")
    with refuses(SelectionError, "op 'side' (NoOp) has 0 outputs", "no outputs at all"):
        g.tensor("side")


def test_plain_helper_knows_its_outputs():
    g = plain(("a", "Const", []), ("n", "NoOp", []))
    assert [len(g.outputs(i)) for i in range(2)] == [1, 0]


@pytest.mark.parametrize("port", [2**31, 2**32])
def test_the_number_of_an_output_that_does_not_fit_is_no_other_number(port):
    with refuses(
        SelectionError, "reading op 'b'", f"'a:{port}' has a number that no output has", "Write the graph out"
    ):
        Graph.from_ops([("a", "Split", []), ("b", "Neg", [f"a:{port}"])])
