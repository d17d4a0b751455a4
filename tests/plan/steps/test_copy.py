"""What a copy would make: names, edges, variables, collections, worked out from snapshots alone."""

from __future__ import annotations

import pytest

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.plan import Plan
from tests.plain import chain, net, plain, variable
from tests.plan.edits import clean, edges
from tests.refusal import reads

G = net()


def test_a_whole_copy_has_the_same_edges_under_other_names():
    plan = clean(Plan(G).copy(select(G), to="copy"))
    after = edges(plan.after())
    for name, inputs in edges(G).items():
        moved = [f"^copy/{t[1:]}" if t[0] == "^" else f"copy/{t}" for t in inputs]
        assert after[f"copy/{name}"] == moved
        assert after[name] == inputs
    assert plan.effect.new_names == [f"copy/{n}" for n in G.names]
    assert plan.mode == "append"


def test_into_an_empty_graph_without_a_scope():
    empty = Graph.from_ops([], title="empty")
    plan = clean(Plan(empty).copy(select(G), to=""))
    assert plan.after().fingerprint == G.fingerprint


def test_mapped_inputs():
    g = plain(*[(n, t, i) for n, t, i in G.nodes], ("other", "Placeholder", []),
              outputs={"other": [("float32", (None, 2))], "x": [("float32", (None, 2))]})  # fmt: skip
    inputs = {"x:0": "other:0", "net/w/read:0": "net/w/read"}
    plan = clean(Plan(g).copy(select(g, name="net/mm"), to="t", inputs=inputs))
    assert edges(plan.after(), "t/") == {"t/net/mm": ["other:0", "net/w/read:0"]}
    assert [(c.tensor, c.to, c.input, c.previous) for c in plan.effect.connections] == [
        ("other:0", "t/net/mm", 0, "x:0"),
        ("net/w/read:0", "t/net/mm", 1, "net/w/read:0"),
    ]


def test_a_mapped_input_replaces_every_use_and_only_it():
    g = plain(
        ("a", "Split", []), ("b", "Add", ["a", "a:1"]), ("c", "Add", ["a:1", "b"]),
        outputs={"a": [("float32", ())] * 2},
    )  # fmt: skip
    plan = clean(Plan(g).copy(select(g, name=["b", "c"]), to="t", inputs={"a:1": "a:0"}, unmapped="keep"))
    assert edges(plan.after(), "t/") == {"t/b": ["a:0", "a:0"], "t/c": ["a:0", "t/b:0"]}


def test_a_boundary_input_of_an_op_that_is_copied_too():
    g = plain(("c", "Const", []), ("a", "Split", ["c"]), ("b", "Add", ["a", "a:1"]),
              outputs={"a": [("float32", ())] * 2})  # fmt: skip
    s = select(g, inputs=["a:0"], outputs=["b:0"])
    plan = clean(Plan(g).copy(s, to="t", inputs={"a:0": "b:0"}))
    assert edges(plan.after(), "t/") == {"t/c": [], "t/a": ["t/c:0"], "t/b": ["b:0", "t/a:1"]}
    plan = clean(Plan(g).copy(s, to="t", unmapped="placeholder"))
    assert edges(plan.after(), "t/") == {"t/c": [], "t/a_in": [], "t/a": ["t/c:0"], "t/b": ["t/a_in:0", "t/a:1"]}


def test_refuse_is_the_default():
    plan = Plan(G).copy(select(G, name="net/mm"), to="t")
    assert len(plan.check()) == 1
    assert plan.after() is G
    assert list(plan.effect.copies) == []


def test_placeholders():
    plan = clean(Plan(G).copy(select(G, name="net/drop"), to="t", unmapped="placeholder"))
    assert [(p.name, p.original, str(p.info)) for p in plan.effect.placeholders] == [
        ("t/net/mm", "net/mm:0", "float32 (?, 3)"),
        ("t/rate", "rate:0", "float32 ()"),
    ]
    assert edges(plan.after(), "t/") == {
        "t/net/mm": [], "t/rate": [], "t/net/drop": ["t/net/mm:0", "t/rate:0"],
    }  # fmt: skip
    after = plan.after()
    assert after.types[after.index["t/rate"]] == "Placeholder"
    assert str(after.info(after.index["t/net/mm"], 0)) == "float32 (?, 3)"


def test_one_placeholder_for_all_uses_of_a_tensor_and_one_for_each_output():
    g = plain(
        ("a", "Split", []), ("b", "AddN", ["a", "a:1", "a"]), ("c", "Neg", ["a"]),
        outputs={"a": [("float32", ())] * 2},
    )  # fmt: skip
    plan = clean(Plan(g).copy(select(g, name=["b", "c"]), to="t", unmapped="placeholder"))
    assert edges(plan.after(), "t/") == {
        "t/a": [], "t/a_1": [], "t/b": ["t/a:0", "t/a_1:0", "t/a:0"], "t/c": ["t/a:0"],
    }  # fmt: skip


def test_keep_reads_the_original():
    plan = clean(Plan(G).copy(select(G, name="net/drop"), to="t", unmapped="keep"))
    assert edges(plan.after(), "t/") == {"t/net/drop": ["net/mm:0", "rate:0"]}
    assert plan.effect.placeholders == []


def test_include_brings_what_computes_it():
    plan = clean(Plan(Graph.from_ops([])).copy(select(G, name="out"), to="t", unmapped="include", control="include"))
    after = edges(plan.after())
    assert after["t/out"] == ["t/net/drop:0", "^t/side"]
    assert after["t/net/w/Assign"] == ["t/net/w:0", "t/net/w/start:0"]
    assert [v.name for v in plan.effect.variables] == ["t/net/w"]
    assert not any(name.startswith("t/parts") for name in after)


@pytest.mark.parametrize(
    ("control", "inputs"), [("keep", ["net/drop:0", "^side"]), ("drop", ["net/drop:0"]), ("include", None)]
)
def test_control_inputs_from_outside(control, inputs):
    plan = clean(Plan(G).copy(select(G, name="out"), to="t", unmapped="keep", control=control))
    after = edges(plan.after(), "t/")
    assert after["t/out"] == (inputs or ["net/drop:0", "^t/side"])
    warned = any("dropped: out after side" in w for w in plan.effect.warnings)
    assert warned == (control == "drop")


def test_variables_shared():
    plan = clean(Plan(G).copy(select(G, name=["net/mm", "net/w", "net/w/read"]), to="t",
                              inputs={"x:0": "x:0"}, variables="share"))  # fmt: skip
    assert edges(plan.after(), "t/") == {"t/net/mm": ["x:0", "net/w/read:0"]}
    assert plan.effect.variables == []


def test_a_policy_for_each_variable():
    one, first = variable("a")
    two, second = variable("b/c")
    g = plain(*one, *two, ("y", "Add", ["a/read", "b/c/read"]), variables=[first, second])
    plan = clean(Plan(g).copy(select(g), to="t", variables={"a": "share", "b/*": "initial"}, values={"x": 1}))
    assert [(v.name, v.policy) for v in plan.effect.variables] == [("t/b/c", "initial")]
    assert edges(plan.after(), "t/")["t/y"] == ["a/read:0", "t/b/c/read:0"]


def test_reuse_of_what_an_earlier_copy_made():
    first = Plan(Graph.from_ops([], title="into")).copy(select(G, name="net/w*"), to="t").after()
    done = {n: f"t/{n}" for n in ("net/w", "net/w/start", "net/w/Assign", "net/w/read")}
    plan = clean(Plan(first).copy(select(G, name="net/mm").ancestors(), to="t", reuse=done))
    assert edges(plan.after(), "t/net/mm") == {"t/net/mm": ["t/x:0", "t/net/w/read:0"]}
    assert plan.effect.new_names == ["t/x", "t/net/mm"]
    assert plan.effect.variables == []


def test_reuse_of_an_op_that_the_destination_does_not_have_is_a_fault():
    plan = Plan(plain(("t/w", "Neg", []))).copy(select(G, name="net/mm").ancestors(), to="t", reuse={"net/w": "t/v"})
    (fault,) = plan.check()
    reads(fault, "copy(to='t', reuse={'net/w': 't/v'})", "no op is called 't/v' in tiny", "Did you mean 't/w'?")


def test_nothing_new_to_copy():
    whole = Plan(Graph.from_ops([])).copy(select(G), to="t").after()
    plan = clean(Plan(whole).copy(select(G), to="t", reuse={n: f"t/{n}" for n in G.names}))
    assert plan.effect.new_names == []
    assert plan.after().fingerprint == whole.fingerprint


def test_an_output_that_is_fed_passes_through():
    s = select(G, inputs=["x:0", "rate:0"], outputs=["net/mm:0", "rate:0"])
    plan = clean(Plan(Graph.from_ops([])).copy(s, to="t", unmapped="placeholder", control="drop"))
    assert [(p.name, p.original) for p in plan.effect.placeholders] == [("t/x", "x:0"), ("t/rate", "rate:0")]
    assert "t/rate" in plan.after().index


def test_constants_in_place_of_tensors():
    s = select(G, name=["net/w", "net/w/read"])
    plan = clean(Plan(Graph.from_ops([])).copy(s, to="t", inputs={"net/w/start:0": [[1.0, 2, 3], [4, 5, 6]]}))
    after = plan.after()
    assert after.input_names(after.index["t/net/w/Assign"]) == ["t/net/w:0", "t/net/w/start:0"]
    assert after.types[after.index["t/net/w/start"]] == "Const"
    (constant,) = plan.effect.copies[0].constants
    assert (constant.original, constant.value[1]) == ("net/w/start:0", [4, 5, 6])


def test_collections():
    rows = {
        "rename": [("variables", 1), ("trainable_variables", 1), ("losses", 1), ("t/mine", 2)],
        "keep": [("variables", 1), ("trainable_variables", 1), ("losses", 1), ("mine", 2)],
        "variables": [("variables", 1), ("trainable_variables", 1), ("t/losses", 1), ("t/mine", 2)],
        "none": [],
    }
    for choice, wanted in rows.items():
        plan = clean(Plan(G).copy(select(G), to="t", collections=choice))
        assert [(c.name, c.count) for c in plan.effect.copies[0].collections] == wanted, choice
    plan = clean(Plan(G).copy(select(G, name="net/mm"), to="t", unmapped="keep"))
    assert [(c.name, c.original, c.count) for c in plan.effect.copies[0].collections] == [("t/mine", "mine", 1)]


def test_copies_of_copies_in_one_plan():
    once = Plan(G).copy(select(G, scope="net"), to="t", unmapped="keep")
    later = select(once.after(), scope="t")
    plan = clean(once.copy(select(G, name="net/mm"), to="u", inputs={"x:0": "t/net/mm"}, unmapped="keep"))
    assert len(later) == 6
    assert edges(plan.after(), "u/") == {"u/net/mm": ["t/net/mm:0", "net/w/read:0"]}


def test_warnings():
    s = select(G, inputs=["net/mm:0"], outputs=["out:0"])
    plan = clean(Plan(G).copy(s, to="t", unmapped="placeholder", control="drop"))
    assert list(plan.effect.warnings) == [
        "leak: rate:0 became a placeholder without being marked as input: name it in inputs= too, or feed it",
        "1 control input from outside dropped: side after rate",
    ]
    plan = clean(Plan(G).copy(select(G), to="t"))
    assert list(plan.effect.warnings) == [
        "1 new variable will start from initial values. "
        "To keep other values, pass values=: a session, an editor, or {name: array}"
    ]
    assert clean(Plan(G).copy(select(G), to="t", variables="initial")).effect.warnings == ()


def test_a_deep_chain():
    g = chain(200_000)
    plan = clean(Plan(g).copy(select(g), to="t"))
    assert plan.after().size == 400_002
    assert plan.after().input_names(400_001) == ["t/op199999:0"]


def test_shapes_are_carried_over():
    after = clean(Plan(G).copy(select(G), to="t")).after()
    for name in G.names:
        i, j = G.index[name], after.index[f"t/{name}"]
        assert after.outputs(j) == G.outputs(i)
        assert after.outputs(i) == G.outputs(i)


@pytest.mark.parametrize(("inputs", "unmapped", "after"), [({"x:0": "z:0"}, "refuse", "z"), ({}, "placeholder", "t/x")])
def test_what_waits_for_an_op_waits_for_its_replacement(inputs, unmapped, after):
    g = Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x", "^x"])])
    dst = Graph.from_ops([("z", "Placeholder", [])])
    plan = Plan(dst).copy(select(g, name="y"), to="t", inputs=inputs, unmapped=unmapped)
    assert plan.check() == ()
    assert plan.after().control_names(plan.after().index["t/y"]) == [after]
    assert list(plan.effect.warnings) == []
