"""Calls unfolded in place: names, edges, depth, recursion and limits, without TensorFlow."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsurgeon.errors import SelectionError
from graphsurgeon.graph.calls import CallTree
from graphsurgeon.graph.functions import callees_of
from graphsurgeon.graph.graph import Graph, PlainNode
from tests.refusal import refuses
from tests.tiers import examples


class Definition(NamedTuple):
    """A function as far as unfolding needs it: arguments, ops, results, and the ops that run in any case."""

    args: list[str]
    node_def: list[PlainNode]
    ret: list[str]
    control_ret: dict[str, str] = {}  # noqa: RUF012


def function(args: str, ops: list[tuple[str, str, list[str]]], ret: list[str], **control: str) -> Definition:
    return Definition(args.split(), [PlainNode(*op) for op in ops], ret, control)


def body(graph: Graph, name: str, call: int, made: dict[Any, Graph]) -> Graph:
    own = graph.functions[name]
    nodes = [PlainNode(a, "_Arg", []) for a in own.args] + own.node_def
    nodes += [PlainNode(f"ret_{i}", "_Retval", [end]) for i, end in enumerate(own.ret)]
    return Graph.from_nodes(nodes, functions_of=lambda: graph.functions, title=name)


def calls(ops: list[tuple[str, str, list[str]]], most: int = 1000, **functions: Definition) -> CallTree:
    return CallTree(Graph.from_ops(ops, functions_of=lambda: functions), body, most)


def rows(graph: Graph) -> dict[str, list[str]]:
    return dict(zip(graph.names, graph.node_def_inputs(), strict=True))


TWICE = function("a", [("half", "Neg", ["a"]), ("inner", "once", ["half"])], ["inner"])
ONCE = function("b", [("op", "Exp", ["b"])], ["op", "b"])
OPS = [("x", "Placeholder", []), ("call", "twice", ["x"]), ("y", "Abs", ["call"]), ("other", "once", ["x"])]


def test_ops_of_a_function_stand_under_the_call_joined_to_what_it_reads_and_to_what_reads_it():
    found = calls(OPS, twice=TWICE, once=ONCE)
    assert found.expanded([]).graph is found.base
    assert found.expanded(["nothing", "x"]).graph is found.base
    one = found.expanded(["call"])
    assert rows(one.graph) == {
        "x": [], "call/half": ["x"], "call/inner": ["call/half"], "y": ["call/inner"], "other": ["x"],
    }  # fmt: skip
    two = found.expanded(["call", "call/inner"])
    assert rows(two.graph) == {
        "x": [], "call/half": ["x"], "call/inner/op": ["call/half"], "y": ["call/inner/op"], "other": ["x"],
    }  # fmt: skip
    assert found.expanded(["call/inner", "call"]) is two
    assert found.expanded(["call/inner"]).graph is found.base  # what is around it is closed
    assert rows(found.base)["y"] == ["call"]


def test_an_argument_that_is_a_result_is_what_the_call_reads():
    ops = [("x", "Placeholder", []), ("call", "once", ["x"]), ("y", "Abs", ["call:1"])]
    assert rows(calls(ops, once=ONCE).expanded(["call"]).graph)["y"] == ["x"]


def test_what_waits_for_a_call_waits_for_what_it_does_last_and_what_it_waits_for_comes_first():
    acts = function("a", [("c", "Const", []), ("p", "Neg", ["a"]), ("q", "Abs", ["p"])], ["p"], done="q")
    ops = [("x", "Placeholder", []), ("w", "NoOp", []), ("call", "acts", ["x", "^w"]), ("z", "NoOp", ["^call"])]
    found = rows(calls(ops, acts=acts).expanded(["call"]).graph)
    assert found["call/p"] == ["x", "^w"]
    assert (found["call/c"], found["call/q"]) == ([], ["call/p"])
    assert found["z"] == ["^call/q", "^call/p"]


def test_each_op_says_where_it_comes_from():
    found = calls(OPS, twice=TWICE, once=ONCE).expanded(["call", "call/inner"])
    graph, at = found.graph, found.graph.index
    inner = found.instance_of(at["call/inner/op"])
    assert inner is not None
    assert (inner.function, inner.path, inner.functions) == ("once", "call/inner", ("twice", "once"))
    assert found.instance_of(at["x"]) is None
    assert [OPS[i][0] for i in found.origin.tolist()] == ["x", "call", "call", "y", "other"]
    assert [graph.names[i] for i in found.folded] == ["other"]
    assert found.folded[at["other"]].scope == "other"
    assert found.places[0].tolist() == [0, -1, 3, 4]


def test_what_is_listed_has_the_calls_too():
    found = calls(OPS, twice=TWICE, once=ONCE)
    assert found.searchable.graph.names == [
        "x", "call/half", "call/inner/op", "call/inner", "call", "y", "other/op", "other",
    ]  # fmt: skip
    folded, half = found.expanded([]), found.expanded(["call"])
    at = [folded.graph.names[i] for i in found.searchable.positions_in(folded).tolist()]
    assert at == ["x", "call", "call", "call", "call", "y", "other", "other"]
    spots = found.searchable.positions_in(half).tolist()
    assert [half.graph.names[i] if i >= 0 else "" for i in spots] == [
        "x", "call/half", "call/inner", "call/inner", "", "y", "other", "other",
    ]  # fmt: skip
    assert calls([("x", "Placeholder", [])]).searchable.graph.names == ["x"]


def test_callers_are_found_at_any_depth():
    found = calls(OPS, twice=TWICE, once=ONCE)
    assert found.callers("once") == ["other", "call/inner"]
    assert found.callers("once", limit=1) == []
    assert found.callers("nothing") == []


def test_a_function_that_calls_itself_is_not_unfolded_twice():
    itself = function("a", [("again", "itself", ["a"])], ["again"])
    found = calls([("x", "Placeholder", []), ("call", "itself", ["x"])], itself=itself)
    assert rows(found.expand_all().graph) == {"x": [], "call/again": ["x"]}
    assert found.find("call/again")[1].recursive == ("itself",)
    problem = (
        "reveal('call/again/x'): 'call/again' calls function 'itself', which contains it, so unfolding would not end"
    )
    with refuses(SelectionError, problem, "one level up"):
        found.scopes_to("call/again/x")
    with refuses(SelectionError, "unfold('call/again'): 'call/again' calls function 'itself'", "one level up"):
        found.check_unfoldable("call/again", "unfold('call/again')")
    found.check_unfoldable("call", "unfold('call')")
    found.check_unfoldable("nothing", "unfold('nothing')")


def test_a_function_without_ops_stays_a_call():
    same = function("a", [], ["a"])
    found = calls([("x", "Placeholder", []), ("call", "same", ["x"])], same=same)
    assert found.expanded(["call"]).graph is found.base
    problem = "unfold('call'): the function that 'call' calls has no ops: it returns its arguments"
    with refuses(SelectionError, problem, "Select the consumers of the call"):
        found.check_unfoldable("call", "unfold('call')")


def test_a_function_that_is_not_there_says_so():
    class Value:
        func = type("func", (), {"name": "gone"})

        def WhichOneof(self, _: str) -> str:
            return "func"

    class Node(NamedTuple):
        name: str
        op: str
        input: list[str]
        attr: dict[str, Any]

    graph = Graph.from_nodes([Node("call", "PartitionedCall", [], {"f": Value()})])
    assert [one.function for one in callees_of(graph.nodes[0])] == ["gone"]
    found = CallTree(graph, body)
    assert found.expanded(["call"]).graph is graph
    with refuses(SelectionError, "unfold('call'): function 'gone', which 'call' calls, is not in the graph", "Open"):
        found.check_unfoldable("call", "unfold('call')")


def test_the_way_to_a_name():
    found = calls(OPS, twice=TWICE, once=ONCE)
    assert found.scopes_to("call/inner/op:0") == ["call", "call/inner"]
    assert found.scopes_to("call/inner") == ["call"]
    assert found.scopes_to("call") == found.scopes_to("y") == found.scopes_to("nothing/at/all") == []
    assert found.scopes_to("call/nothing") == ["call"]


def test_a_name_that_is_taken_gives_the_call_another_scope():
    ops = [*OPS, ("call/inner", "Neg", ["y"])]
    found = calls(ops, twice=TWICE, once=ONCE)
    assert found.expanded(["call"]).graph is found.base
    assert "call_1/half" in found.expanded(["call_1"]).graph.index
    assert "other/op" in calls([*OPS, ("other/free", "Neg", ["y"])], once=ONCE).expanded(["other"]).graph.index


def test_functions_that_call_functions_twice_are_unfolded_as_far_as_there_is_room():
    levels = {f"f{i}": function("a", [("l", f"f{i + 1}", ["a"]), ("r", f"f{i + 1}", ["l"])], ["r"]) for i in range(60)}
    found = calls([("x", "Placeholder", []), ("call", "f0", ["x"])], 500, **levels, f60=ONCE)
    whole = found.expand_all()
    assert 100 < whole.graph.size <= 500
    deep = "/".join(["call", *["l"] * 59])
    scopes = found.scopes_to(deep)
    assert len(scopes) == 59
    assert deep in found.expanded(scopes).graph.index


def test_a_call_that_reads_itself_ends():
    odd = function("a", [("op", "NoOp", [])], ["a"])
    found = calls([("call", "odd", ["call"]), ("y", "Neg", ["call"])], odd=odd).expanded(["call"])
    assert rows(found.graph) == {"call/op": [], "y": []}


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[tuple[str, str, list[str]]], dict[str, Definition]]:
    """Functions of one or two arguments, each calling those after it, and a graph that calls them."""

    def ops(args: list[str], callees: list[str], count: int) -> list[tuple[str, str, list[str]]]:
        ends, made = list(args), []
        for i in range(count):
            kind = draw(st.sampled_from(["Neg", "Add", *callees]))
            reads = [draw(st.sampled_from(ends)) for _ in range(2)]
            made.append((f"op{i}", kind, reads if kind not in ("Neg",) else reads[:1]))
            ends += [f"op{i}", f"op{i}:1"] if kind in callees else [f"op{i}"]
        return made

    functions: dict[str, Definition] = {}
    for name in ("f2", "f1", "f0"):
        made = ops(["a", "b"], list(functions), draw(st.integers(1, 3)))
        ends = ["a", "b", *(op[0] for op in made)]
        functions[name] = Definition(
            ["a", "b"], [PlainNode(*op) for op in made], [draw(st.sampled_from(ends)) for _ in range(2)]
        )
    start = [("x", "Placeholder", []), ("z", "Placeholder", [])]
    return start + ops(["x", "z"], list(functions), draw(st.integers(1, 4))), functions


def meaning(graph: Graph, functions: dict[str, Definition], ends: list[str], given: list[str]) -> list[str]:
    """What tensors of a graph compute, as terms; calls are computed, not unfolded."""
    found: dict[str, str] = {}
    for i, (name, kind) in enumerate(zip(graph.names, graph.types, strict=True)):
        reads = [found[t] for t in graph.input_names(i)]
        if kind in ("Placeholder", "_Arg"):
            found[f"{name}:0"] = given.pop(0)
        elif kind in functions:
            inner = functions[kind]
            own = Graph.from_nodes([*(PlainNode(a, "_Arg", []) for a in inner.args), *inner.node_def])
            gives = meaning(own, functions, inner.ret, list(reads))
            found |= {f"{name}:{k}": end for k, end in enumerate(gives)}
        else:
            found[f"{name}:0"] = f"{kind}({', '.join(reads)})"
    return [found[end if ":" in end else f"{end}:0"] for end in ends]


@examples(150)
@given(programs(), st.data())
def test_whatever_is_unfolded_the_graph_computes_the_same(program: Any, data: st.DataObject) -> None:
    ops, functions = program
    ends = [name for name, _, _ in ops]
    readers = [(f"end{i}", "Abs", [name]) for i, name in enumerate(ends)]
    found = CallTree(Graph.from_ops([*ops, *readers], functions_of=lambda: functions), body)
    whole = found.expand_all()
    assert not set(whole.graph.types) & {*functions, "_Arg", "_Retval"}
    scopes = sorted({p.path for p in whole.instances[1:]})
    opened = found.expanded([s for s in scopes if data.draw(st.booleans())])
    said = [f"end{i}" for i in range(len(ends))]
    expected = meaning(found.base, functions, said, ["x", "z"])
    for graph in (whole.graph, opened.graph):
        assert meaning(graph, functions, said, ["x", "z"]) == expected
        assert len(graph.index) == graph.size
    origin = [found.base.names[i] for i in whole.origin.tolist()]
    assert all(name == own or name.startswith(f"{own}/") for name, own in zip(whole.graph.names, origin, strict=True))
    with pytest.raises(SelectionError):
        opened.graph.find("nothing")


def test_a_name_inside_a_call_is_no_name_of_the_graph_and_the_message_says_so():
    graph = calls(OPS, twice=TWICE, once=ONCE).base
    problem = "it is inside function 'twice', which 'call' calls"
    with refuses(
        SelectionError, f"find('call/inner/op'): no op is called 'call/inner/op' in graph: {problem}", "inline"
    ):
        graph.find("call/inner/op")
    with refuses(
        SelectionError, f"tensor('call/half:0'): there is no tensor 'call/half:0' in graph: {problem}", "inlin"
    ):
        graph.tensor("call/half:0")
    with refuses(SelectionError, "no op is called 'x/y' in graph", "ed.find"):
        graph.find("x/y")


def test_a_function_without_a_name_is_called_by_no_op():
    graph = calls(OPS, **{"": TWICE}, once=ONCE).base
    assert set(graph.functions) == {"once"}
    with refuses(SelectionError, "no op is called 'lost/x' in graph", "ed.find"):
        graph.find("lost/x")


# -- gradients -----------------------------------------------------------------------------------------

SLOPE = function("b dy", [("sign", "Neg", ["b"]), ("mul", "Mul", ["sign", "dy"])], ["mul"])


def sloped(gradients: dict[str, str], **functions: Definition) -> CallTree:
    about: dict[str, Any] = {"functions_of": lambda: functions, "gradients_of": lambda: gradients}
    return CallTree(
        Graph.from_ops([("x", "Placeholder", []), ("call", "once", ["x"]), ("y", "Abs", ["call"])], **about), body
    )


def test_the_gradient_of_a_function_hangs_in_the_scope_of_its_call():
    found = sloped({"once": "slope"}, once=ONCE, slope=SLOPE)
    (call,) = found.expanded([]).folded.values()
    assert (call.function_names, call.count(found.base)) == ("call of once, gradient", 3)
    one = found.expanded(["call"])
    assert rows(one.graph) == {
        "x": [], "call/op": ["x"], "y": ["call/op"], "call/gradient/b": ["x"], "call/gradient/dy": [],
        "call/gradient/sign": ["call/gradient/b"], "call/gradient/mul": ["call/gradient/sign", "call/gradient/dy"],
    }  # fmt: skip
    assert one.descriptions == {"call": "call of once", "call/gradient": "slope"}
    assert [one.graph.names[i] for i in one.gradient_ops] == [name for name in one.graph.names if "/gradient/" in name]
    assert found.scopes_to("call/gradient/mul") == ["call"]
    assert found.callers("slope") == []  # nothing calls it
    assert found.callers("once") == ["call"]


def test_a_gradient_leaves_names_to_the_function_and_may_lead_back_or_be_missing():
    named = function("b", [("gradient/op", "Exp", ["b"])], ["gradient/op"])
    two = sloped({"once": "slope"}, once=named, slope=SLOPE)
    assert set(two.expanded(["call"]).descriptions) == {"call", "call/gradient_2"}
    again = function("b dy", [("again", "once", ["b"]), ("mul", "Mul", ["again", "dy"])], ["mul"])
    found = sloped({"once": "slope"}, once=ONCE, slope=again)
    deep = found.expand_all()
    assert "call/gradient/again/op" in deep.graph.index
    assert not [name for name in deep.graph.names if name.startswith("call/gradient/again/gradient")]  # without end
    assert set(sloped({"once": "gone"}, once=ONCE).expanded(["call"]).descriptions) == {"call"}
    with refuses(
        SelectionError,
        "no op is called 'call/gradient/mul' in graph: it is inside function 'slope', the gradient of 'call'",
        "gs.open(..., function='slope')",
    ):
        found.base.find("call/gradient/mul")
