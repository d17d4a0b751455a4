"""Selecting: by every argument, and as set algebra."""

from __future__ import annotations

import pytest

from graphsurgeon.errors import SelectionError
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.search import search
from graphsurgeon.graph.selection import Selection, select
from tests.plain import chain, net
from tests.refusal import refuses

G = net()
ALL = set(G.names)


class Named:
    """Stands for an op or tensor object: it has a name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:  # the same in each worker: it stands in the test's id
        return self.name


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"scope": "net"}, "net/w/start net/w net/w/Assign net/w/read net/mm net/drop"),
        ({"scope": "net/"}, "net/w/start net/w net/w/Assign net/w/read net/mm net/drop"),
        ({"scope": "net/w"}, "net/w/start net/w net/w/Assign net/w/read"),
        ({"scope": "out"}, "out"),
        ({"op": "Placeholder"}, "x rate"),
        ({"op": ["Relu", "MatMul"]}, "net/mm out"),
        ({"name": "out"}, "out"),
        ({"name": ["out", "x"]}, "x out"),
        ({"name": "net/*"}, "net/w/start net/w net/w/Assign net/w/read net/mm net/drop"),
        ({"name": "net/[md]*"}, "net/mm net/drop"),
        ({"name": ["?", "side"]}, "x side"),
        ({"name": Named("out")}, "out"),
        ({"name": [Named("out"), "x"]}, "x out"),
        ({"scope": "net", "op": "MatMul"}, "net/mm"),
        ({"scope": "net", "name": "*r*", "op": ["Identity", "Relu"]}, "net/w/read"),
        ({"scope": "net/w", "op": "Relu"}, ""),
        ({"outputs": "net/mm:0"}, "x net/w net/w/read net/mm"),
        ({"outputs": "net/mm"}, "x net/w net/w/read net/mm"),
        ({"inputs": "x:0", "outputs": "net/mm:0"}, "net/w net/w/read net/mm"),
        ({"inputs": ["x:0", "rate:0"], "outputs": ["out:0"]}, "net/w net/w/read net/mm net/drop side out"),
        ({"inputs": [Named("net/mm:0")], "outputs": Named("parts:1")}, "parts"),
        ({"inputs": [], "outputs": ["parts:0"]}, "x net/w net/w/read net/mm parts"),
        ({"outputs": "out:0", "scope": "net/w"}, "net/w net/w/read"),
    ],
)
def test_select(query, names):
    found = select(G, **query)
    assert set(found.names) == set(names.split())
    assert [G.index[n] for n in found.names] == sorted(G.index[n] for n in found.names)
    assert len(found) == len(names.split())


def test_nothing_given_is_everything():
    assert set(select(G).names) == ALL


def test_a_name_with_brackets_of_its_own_is_a_name_first():
    g = Graph.from_ops([("a[0]", "NoOp", []), ("a0", "NoOp", [])])
    assert select(g, name="a[0]").names == ["a[0]"]


def test_algebra():
    a, b = select(G, scope="net"), select(G, op=["MatMul", "Relu"])
    assert set((a | b).names) == set(a.names) | set(b.names)
    assert set((a & b).names) == {"net/mm"}
    assert set((a - b).names) == set(a.names) - {"net/mm"}
    assert set((~a).names) == ALL - set(a.names)
    assert ~~a == a
    assert a - a == select(G, scope="net/w", op="Relu")
    assert (a | b) - b == a - b
    assert set((a & ~b).names) == set((a - b).names)


def test_operands_stay_as_they_are():
    a, b = select(G, scope="net"), select(G, op="Relu")
    before = a.mask.copy(), b.mask.copy()
    _ = a | b, a & b, a - b, ~a, a.ancestors(), a.descendants(), a.where(lambda op: False)
    assert (a.mask == before[0]).all()
    assert (b.mask == before[1]).all()


def test_walks():
    out = select(G, name="out")
    assert set(out.ancestors().names) == {"x", "rate", "net/w", "net/w/read", "net/mm", "net/drop", "side", "out"}
    assert set(out.ancestors(control=False).names) == set(out.ancestors().names) - {"side"}
    x = select(G, name="x")
    assert set(x.descendants().names) == {"x", "net/mm", "net/drop", "out", "parts"}
    rate = select(G, name="rate")
    assert "side" in rate.descendants().names
    assert "side" not in rate.descendants(control=False).names
    assert len(select(chain(200_000), name="op200000").ancestors()) == 200_001


def test_where_shows_each_op():
    seen = {}

    def keep(op):
        seen[op.name] = (op.type, op.inputs, [str(o) for o in op.outputs], op.device, op.node.op)
        return op.type == "Relu"

    assert select(G, name=["out", "side"]).where(keep).names == ["out"]
    assert seen == {
        "out": ("Relu", ["net/drop:0"], ["float32 (?, 3)"], "", "Relu"),
        "side": ("NoOp", [], [], "", "NoOp"),
    }


def test_looking_at_one():
    s = select(G, scope="net/w")
    assert s.types == {"Assign": 1, "Const": 1, "Identity": 1, "VariableV2": 1}
    assert list(s) == s.names
    assert "net/w" in s
    assert Named("net/w") in s
    assert "x" not in s
    assert "nonsense" not in s
    assert repr(s) == "<Selection of 4 ops in net: 1 Assign, 1 Const, 1 Identity, 1 VariableV2>"
    assert repr(select(G)).endswith(" and 6 more>")
    assert repr(s - s) == "<Selection of 0 ops in net: nothing>"


def test_equality_is_of_graph_and_ops():
    assert select(G, scope="net/w") == select(G, name="net/w*")
    assert hash(select(G, scope="net/w")) == hash(select(G, name="net/w*"))
    assert select(G, name="x") != select(G, name="out")
    assert select(G, name="x") != select(net(), name="x")
    assert select(G, name="x") != ["x"]


def test_expect():
    s = select(G, scope="net/w")
    assert s.expect(4) is s
    with refuses(SelectionError, "expect(3): the selection has 4 ops (1 Assign, 1 Const", "or type expect(4)"):
        s.expect(3)
    with refuses(SelectionError, "has 0 ops (nothing)"):
        (s - s).expect(1)


def test_on_a_newer_snapshot():
    more = G.with_nodes(Graph.from_ops([("later", "Const", [])]).nodes)
    s = select(G, inputs=["net/mm:0"], outputs=["parts:0"])
    moved = s.on(more)
    assert moved.graph is more
    assert moved.names == s.names
    assert (moved.inputs, moved.outputs, moved.query) == (s.inputs, s.outputs, s.query)
    assert s.on(G) is s
    assert len(select(more, name="later") | s) == 2
    assert (s | select(more, name="parts")).names == ["parts"]


def test_selections_of_two_graphs_do_not_mix():
    other = select(net(), name="x")
    for sign, mix in (("|", Selection.__or__), ("&", Selection.__and__), ("-", Selection.__sub__)):
        with refuses(SelectionError, f"selection {sign} selection: they belong to two graphs", "the same editor"):
            mix(select(G, name="x"), other)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"scope": "nett"}, ["select(scope='nett')", "net has no name scope 'nett'", "Did you mean 'net' or 'net/w'?"]),
        ({"scope": "zzzzzz/"}, ["net has no name scope 'zzzzzz'", "Its outermost scopes are 'net'"]),
        ({"op": "Rulu"}, ["net has no op of type 'Rulu'", "Did you mean 'Relu'"]),
        ({"op": "Zzzzzz"}, ["has no op of type", "It has Assign, Const, Identity, MatMul"]),
        ({"name": "net/mn"}, ["no op is called 'net/mn'", "Did you mean 'net/mm'"]),
        ({"name": ["out", "net/z*"]}, ["no op name of net fits 'net/z*'", "outermost scopes"]),
        ({"inputs": "x:0"}, ["a boundary needs outputs", "Add outputs=['name:0'], or use .descendants()"]),
        ({"inputs": "x:0", "outputs": []}, ["a boundary needs outputs"]),
        ({"outputs": "ouf:0"}, ["select(outputs=['ouf:0'])", "there is no tensor 'ouf:0'", "'out'"]),
        ({"inputs": "out:7", "outputs": "out:0"}, ["op 'out' (Relu) has 1 output", "It has 'out:0'"]),
    ],
)
def test_refused(query, words):
    with refuses(SelectionError, *words):
        select(G, **query)


def test_no_scopes_at_all():
    with refuses(SelectionError, "It has no name scopes at all; select by name instead"):
        select(Graph.from_ops([("a", "NoOp", [])]), scope="s")


def test_of_several_types_those_that_are_there_are_taken_and_the_others_are_said():
    g = Graph.from_ops([("a/x", "Const", []), ("a/y", "Mul", ["a/x", "a/x"]), ("b/z", "Conv3D", ["a/y"])])
    both = select(g, op=["Mul", "Conv2D"])
    assert both.names == ["a/y"]
    assert repr(both).endswith("1 Mul; no op of type 'Conv2D' (did you mean 'Conv3D'?)>")
    assert select(g, op=["Conv2D", "Mul"]).names == ["a/y"]
    with refuses(SelectionError, "select(op=['Relu', 'Exp'])", "has no op of type 'Relu' or 'Exp'", "It has Const"):
        select(g, op=["Relu", "Exp"])


@pytest.mark.parametrize(
    ("call", "problem", "suggestion"),
    [
        ({"name": 3}, "3 is of type int, neither a text nor an object with a name", "as name='conv1/*'"),
        ({"name": b"x"}, "b'x' is of type bytes, neither a text nor", "as name='conv1/*'"),
        ({"op": [None]}, "None is of type NoneType, neither a text nor", "as op='Conv2D'"),
        ({"outputs": 2.5}, "2.5 is of type float, neither a text nor", "as outputs='y:0'"),
        ({"scope": 3}, "3 is of type int, not the name of a scope", "scope='conv1'"),
    ],
    ids=["number", "bytes", "nothing", "float", "scope"],
)
def test_what_is_no_name_is_told(call, problem, suggestion):
    key, given = next(iter(call.items()))
    with refuses(SelectionError, f"select({key}={given!r})", problem, suggestion):
        select(G, **call)


def test_what_is_no_selection_and_no_test_is_told():
    with refuses(SelectionError, "selection & 3: 3 is of type int, not a selection", "Make one: ed.select(...)"):
        select(G) & 3
    with refuses(SelectionError, "where(3): 3 is of type int, not a function", "lambda op: op.type == 'Conv2D'"):
        select(G).where(3)
    with refuses(SelectionError, "tensor(None): None is not text", "Give its name, such as 'conv1/y:0'"):
        G.tensor(None)
    with refuses(SelectionError, "find(3): 3 is not text", "Give its name, such as 'conv1/y'"):
        G.find(3)
    with refuses(SelectionError, "find(3): 3 is not text", "Give words, such as 'conv op:Conv2D'"):
        search(G, 3)
