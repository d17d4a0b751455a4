"""Plans and selections as Python: the code, run, makes them again."""

from __future__ import annotations

import numpy as np
import pytest

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.backend import Backend
from graphsurgeon.plan.function_source import query_code, source_of
from graphsurgeon.plan.plan import Plan
from tests.plain import net

G = net()


class Bench:
    """Does what an editor does with the calls that the code makes, without TensorFlow."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.applied = None

    def select(self, **query):
        return select(self.graph, **query)

    def plan(self) -> Plan:
        return Plan(self.graph)

    def apply(self, plan: Plan) -> Plan:
        self.applied = plan
        return plan


def selections():
    a, b = select(G, scope="net"), select(G, op=["MatMul", "Relu"])
    return [
        select(G),
        a,
        select(G, name=["out", "ra*"]),
        select(G, inputs=["net/mm:0", "rate:0"], outputs=["out:0"]),
        select(G, scope="net/w", op="Identity", name="*read"),
        a | b,
        a & b,
        a - b,
        ~a,
        ~(a | b) & select(G, name="x"),
        (a - b).ancestors(),
        b.descendants(control=False),
        (~b).ancestors(control=False).descendants(),
        a.where(lambda op: "w" in op.name),
        a - a,
    ]


@pytest.mark.parametrize("number", range(len(selections())))
def test_selections(number):
    s = selections()[number]
    code = query_code(s.query, "ed")
    again = eval(code, {"ed": Bench(G)})
    assert again == s, code
    assert (again.inputs, again.outputs) == (s.inputs, s.outputs)


def test_code_as_text():
    assert query_code(select(G).query, "ed") == "ed.select()"
    assert query_code((~select(G, op="Relu")).query, "dst") == "~dst.select(op='Relu')"
    assert query_code(select(G, name="out").ancestors(control=False).query, "ed") == (
        "ed.select(name='out').ancestors(control=False)"
    )


def run(plan: Plan, *graphs: Graph) -> Plan:
    """Runs a plan's code in a fresh namespace; `gs.open` gives these graphs, the destination first."""
    benches = [Bench(g) for g in graphs]
    given = iter(benches)
    code = plan.to_code()

    class Gs:
        open = staticmethod(lambda thing: next(given))

    lines = [line for line in code.splitlines() if not line.startswith("import ")]
    space = {"gs": Gs, "graph": None, "source_graph": None, "source_graph1": None, "source_graph2": None,
             "session": None, "values": {"net/w": 1}}  # fmt: skip
    exec("\n".join(lines), space)
    assert "import graphsurgeon as gs" in code
    return benches[0].applied


@pytest.mark.parametrize(
    "options",
    [
        {"unmapped": "keep"},
        {"unmapped": "placeholder", "control": "drop"},
        {"unmapped": "include", "control": "include", "collections": "none"},
        {"unmapped": "keep", "variables": "share", "device": "clear"},
        {"unmapped": "keep", "variables": {"net/w": "initial"}, "collections": "keep"},
        {"inputs": {"x:0": "x:0", "rate:0": "x"}, "values": {"net/w": 1}, "collections": "variables"},
    ],
)
def test_copies(options):
    plan = Plan(G).copy(select(G, scope="net"), to="t/u", **options)
    again = run(plan, G)
    assert again.after().fingerprint == plan.after().fingerprint
    (one,), (two,) = plan.steps, again.steps
    for part in ("to", "inputs", "unmapped", "control", "values", "collections", "device"):
        assert getattr(one, part) == getattr(two, part), part
    assert dict(one.variables) == dict(two.variables)
    assert run(again, G).to_code() == plan.to_code()


def test_several_steps_and_graphs():
    other, into = net(), Graph.from_ops([("x", "Placeholder", [])], title="into")
    plan = (
        Plan(into)
        .copy(select(G, scope="net"), to="a", unmapped="placeholder")
        .copy(select(other, name="out"), to="b", unmapped="placeholder", control="drop")
        .connect("a/net/drop:0", to="b/out", input=0)
    )
    assert plan.check() == ()
    assert run(plan, into, G, other).after().fingerprint == plan.after().fingerprint
    code = plan.to_code()
    assert "dst = gs.open(graph)" in code
    assert "src1 = gs.open(source_graph1)" in code
    assert "block2 = src2.select(name='out')" in code


def test_one_step_has_one_block_and_no_plan_has_none():
    code = Plan(G).copy(select(G), to="t").to_code()
    assert "block = ed.select()" in code
    assert Plan(G).to_code().splitlines()[-2:] == ["plan = ed.plan()", "done = ed.apply(plan)"]


def test_how_a_graph_was_opened():
    class File:
        code = "gs.open('net.pb')"
        reproduces = staticmethod(lambda graph: graph is g)

    class Opened(Backend):
        def opener(self, graph):
            return File()

    g = net()
    assert "ed = gs.open('net.pb')" in Plan(g, backend=Opened()).to_code()
    grown = Plan(net(), backend=Opened()).to_code()
    assert "# ed: set it before this runs; the editor of 'net' after its earlier plans" in grown
    assert "values={'net/w': 0}" in Plan(g).copy(select(g), to="t", values={"net/w": 0}).to_code()
    long = Plan(g).copy(select(g), to="t", values={"net/w": np.zeros([101], np.float32)}).to_code()
    assert "# values: set it before this runs; {variable: array}: 'net/w' float32 (101,)\n" in long
    assert "values=values" in long

    class Session:
        def run(self): ...

    assert "values=session" in Plan(g).copy(select(g), to="t", values=Session()).to_code()


def test_reuse_and_constants_are_in_the_code():
    plan = Plan(Graph.from_ops([])).copy(
        select(G, name=["net/w", "net/w/read"]), to="t", reuse={}, inputs={"net/w/start:0": 1.5}
    )
    assert "reuse={}" in plan.to_code()
    assert "inputs={'net/w/start:0': 1.5}" in plan.to_code()


def test_names_are_quoted():
    g = Graph.from_ops([("it's", "NoOp", [])])
    code = Plan(g).copy(select(g, name="it's"), to="t").to_code()
    assert """name="it's\"""" in code


def pair(first: object, second: object) -> tuple[object, object]:
    """Returns both."""
    return first, second


FUNCTIONS = (
    *pair(lambda x: x if x else 0, lambda x: -x if x else 1),
    *pair(lambda q: q * 2.0 if q > 1
          else q, lambda q: (lambda r: r + 1 if r else r)(q) if q else q),
    *(lambda x, k=k: x * k for k in (2, 3)),
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_a_lambda_is_found_among_others_on_its_line(number):
    function = FUNCTIONS[number]
    text, modules = source_of(function, "made")
    space: dict[str, object] = {}
    exec(text, space)
    assert modules == {}
    assert [space["made"](x) for x in (-2.0, 0.0, 5.0)] == [function(x) for x in (-2.0, 0.0, 5.0)]
