"""What a plan changes, as text, table, counts and marks."""

from __future__ import annotations

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.plan import Plan
from tests.plain import chain, net

G = net()


def test_text():
    s = select(G, inputs=["net/mm:0"], outputs=["out:0"])
    plan = Plan(G).copy(s, to="t", inputs={"net/mm:0": "net/mm:0"}, unmapped="placeholder", control="drop")
    assert str(plan) == str(plan.preview()) == repr(plan.preview())
    assert str(plan).splitlines() == [
        "plan for net",
        "  1. copy 3 ops of net to t/",
        "makes",
        "  3 ops: 1 Mul, 1 NoOp, 1 Relu",
        "  1 placeholder:",
        "    t/rate  float32 ()  for rate:0",
        "  entries in collections:",
        "    losses  1",
        "    t/mine  1",
        "connects",
        "  net/mm:0 -> t/net/drop input 0 (was net/mm:0)",
        "no existing op changes",
        "warnings",
        "  leak: rate:0 became a placeholder without being marked as input: name it in inputs= too, or feed it",
        "  1 control input from outside dropped: side after rate",
    ]


def test_text_of_variables_and_what_came_along():
    plan = Plan(Graph.from_ops([], title="empty")).copy(select(G, outputs=["parts:0"]), to="t", values={"net/w": 1})
    lines = str(plan).splitlines()
    assert "  1 separate variable:" in lines
    assert "    t/net/w  float32 (2, 3)  current value" in lines
    assert "  also copied: 2 ops: initial values and readers of 1 variable" in lines
    initial = Plan(Graph.from_ops([])).copy(select(G), to="t", variables="initial", values={"net/w": 1})
    assert "    t/net/w  float32 (2, 3)  initial value" in str(initial)


def test_shared_variables_are_said():
    plan = Plan(G).copy(select(G, scope="net"), to="t", unmapped="keep", variables="share")
    lines = str(plan).splitlines()
    assert lines[lines.index("  1 variable shared with the original:") + 1] == "    net/w  float32 (2, 3)"
    assert not any("also copied" in line for line in lines)
    assert {"kind": "shared", "name": "net/w", "was": "net/w", "what": "float32 (2, 3), the original's"} in (
        plan.preview().table()
    )


def test_several_copies_say_which_is_which():
    part = select(G, name="net/mm")
    lines = str(Plan(G).copy(part, to="a", unmapped="keep").copy(part, to="b", unmapped="keep")).splitlines()
    assert "  a/  1 op: 1 MatMul" in lines
    assert "  b/  1 op: 1 MatMul" in lines


def test_text_of_a_plan_that_needs_a_new_graph():
    text = str(Plan(G).connect("net/mm:0", to="out"))
    assert "builds a new graph, because existing ops get other inputs; the old graph stays usable" in text
    assert "  net/mm:0 -> out input 0 (was net/drop:0)" in text
    assert "no existing op changes" not in text


def test_text_of_faults():
    lines = str(Plan(G).copy(select(G), to="net")).splitlines()
    at = lines.index("cannot be applied")
    assert lines[at + 1] == "  copy(to='net'): the name 'net' is taken in net."
    assert lines[at + 2] == "    Type to='net_2', which is free."
    assert "no existing op changes" not in lines


def test_long_lists_are_cut_with_their_number():
    wide = Graph.from_ops(
        [*((f"p{i}", "Placeholder", []) for i in range(9)), ("s", "AddN", [f"p{i}" for i in range(9)])]
    )
    text = str(Plan(wide).copy(select(wide, name="s"), to="t", unmapped="placeholder"))
    assert "  9 placeholders:" in text
    assert "    … and 3 more" in text
    kinds = Graph.from_ops([(f"n{i}", f"Type{i}", []) for i in range(8)])
    assert "8 ops: 1 Type0, 1 Type1, 1 Type2, 1 Type3, 1 Type4 and 3 more types" in str(
        Plan(kinds).copy(select(kinds), to="t")
    )


def test_counts():
    plan = Plan(G).copy(select(G, scope="net"), to="t", unmapped="placeholder").connect("x", to="t/net/mm")
    assert plan.preview().counts == {
        "ops": 8, "variables": 1, "placeholders": 2, "connections": 1, "changed": 0, "removed": 0, "renamed": 0
    }  # fmt: skip


def test_edits_are_said_counted_listed_and_marked():
    g = Graph.from_ops(
        [("a", "Const", []), ("b", "Neg", ["a"]), ("c", "Neg", ["b"]), ("d", "Neg", ["c"])], title="tiny"
    )
    plan = Plan(g).remove("b", stitch=True).set_device("d", "/cpu:0").insert("Relu", on="c:0", name="r")
    lines = str(plan).splitlines()
    assert lines[lines.index("removes") + 1] == "  b"
    assert lines[lines.index("inserts") + 1] == "  r  Relu"
    assert lines[lines.index("changes") + 1] == "  d: on /cpu:0"
    why = "because existing ops get other inputs and change and are removed"
    assert f"builds a new graph, {why}; the old graph stays usable" in lines
    preview = plan.preview()
    assert preview.counts["ops"] == preview.counts["changed"] == preview.counts["removed"] == 1
    rows = {(row["kind"], row["name"], row["was"], row["what"]) for row in preview.table()}
    assert {("op", "r", "", "Relu"), ("change", "d", "d", "on /cpu:0"), ("removed", "", "b", "Neg")} <= rows
    after = plan.after()
    assert {after.names[i]: word for i, word in preview.marks.items()} == {"c": "changed", "d": "changed", "r": "new"}


def test_marks():
    plan = Plan(G).copy(select(G, name="net/mm"), to="t", unmapped="keep").connect("t/net/mm:0", to="net/drop")
    assert plan.preview().marks == {G.index["net/drop"]: "changed", G.size: "new"}
    assert Plan(G).preview().marks == {}


def test_ops_that_a_plan_leaves_without_use_are_marked_with_what_only_they_need():
    g = Graph.from_ops([
        ("x", "Placeholder", []), ("old/a", "Neg", ["x"]), ("old/w", "Const", []), ("old/b", "Add", ["old/a", "old/w"]),
        ("old/log", "Neg", ["old/a"]), ("y", "Relu", ["old/b"]), ("z", "Neg", ["y"]),
    ])  # fmt: skip

    def marked(plan):
        return {plan.after().names[i]: state for i, state in plan.preview().marks.items()}

    assert marked(Plan(g).connect("x", to="y")) == {"y": "changed", "old/b": "orphan", "old/w": "orphan"}
    assert marked(Plan(g).reroute("old/b", to="x"))["old/b"] == "orphan"
    # what only a removed op has read is of no use, if others read on past it
    assert marked(Plan(g).remove(["old/b"], stitch=True)) == {"y": "changed", "old/w": "orphan"}
    both = Plan(g).remove(["old/a", "old/b"], stitch=True)
    assert {name for name, state in marked(both).items() if state == "orphan"} == {"old/w"}
    # an op whose consumers are removed is the new end of the graph
    assert "orphan" not in marked(Plan(g).remove(["z", "y"])).values()


def test_table():
    s = select(G, name=["net/mm", "net/w", "net/w/read", "out"])
    plan = Plan(G).copy(s, to="t", inputs={"x:0": "x:0"}, unmapped="placeholder", values={"net/w": 0})
    rows = plan.preview().table()
    assert {tuple(sorted(r)) for r in rows} == {("kind", "name", "was", "what")}
    assert [(r["kind"], r["name"], r["was"], r["what"]) for r in rows] == [
        ("placeholder", "t/net/drop", "net/drop:0", "float32 (?, 3)"),
        ("op", "t/net/w/start", "net/w/start", "Const"),
        ("op", "t/net/w/Assign", "net/w/Assign", "Assign"),
        ("op", "t/net/w/read", "net/w/read", "Identity"),
        ("op", "t/net/mm", "net/mm", "MatMul"),
        ("op", "t/out", "out", "Relu"),
        ("variable", "t/net/w", "net/w", "float32 (2, 3), current value"),
        ("collection", "variables", "variables", "1 entry"),
        ("collection", "trainable_variables", "trainable_variables", "1 entry"),
        ("collection", "losses", "losses", "1 entry"),
        ("collection", "t/mine", "mine", "2 entries"),
        ("connection", "t/net/mm input 0", "x:0", "reads x:0"),
    ]


def test_a_preview_touches_no_graph():
    before = G.fingerprint
    plan = Plan(G).copy(select(G), to="t")
    _ = str(plan), plan.preview().table(), plan.preview().marks, plan.to_code()
    assert G.fingerprint == before


def test_a_large_preview_is_quick_to_read():
    g = chain(10_000)
    assert len(str(Plan(g).copy(select(g), to="t")).splitlines()) < 12
