"""The state of the graph after a plan: variables, collections, contexts and initializers."""

from __future__ import annotations

from dataclasses import replace

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.selection import select
from graphsurgeon.graph.variables import CollectionEntry, GraphState, VariableInfo
from graphsurgeon.plan.plan import Plan
from tests.plain import net, plain
from tests.plan.edits import clean

G = net()


def names(state: GraphState) -> dict[str, list[str]]:
    return {key: [entry.name for entry in entries] for key, entries in state.collections.items()}


def test_a_copy_adds_its_variables_and_entries():
    state = clean(Plan(G).copy(select(G), to="t")).after().state
    assert list(state.variables) == ["net/w", "t/net/w"]
    assert state.variables["net/w"] == replace(
        G.state.variables["net/w"], collections=("trainable_variables", "variables")
    )
    assert state.variables["t/net/w"] == VariableInfo(
        "t/net/w", "t/net/w/Assign", "t/net/w/start:0", "t/net/w/read:0", "float32", "(2, 3)", False, True,
        ("trainable_variables", "variables"),
    )  # fmt: skip
    assert names(state) == {
        "losses": ["out:0", "t/out:0"], "mine": ["out", "net/mm:0", "3"], "t/mine": ["t/out", "t/net/mm:0"],
        "trainable_variables": ["net/w", "t/net/w"], "variables": ["net/w", "t/net/w"],
    }  # fmt: skip


def test_a_copy_that_is_not_trainable_and_one_that_shares_its_variables():
    fixed = clean(Plan(G).copy(select(G), to="t", trainable=False)).after().state
    assert (fixed.variables["t/net/w"].trainable, fixed.variables["t/net/w"].collections) == (False, ("variables",))
    shared = clean(Plan(G).copy(select(G), to="t", variables="share")).after().state
    assert list(shared.variables) == ["net/w"]


def test_removed_ops_are_in_no_collection_and_renamed_ops_have_their_new_names():
    state = clean(Plan(G).remove(["out", "parts"]).rename("net", to="n")).after().state
    assert list(state.variables) == ["n/w"]
    assert state.variables["n/w"].initializer == "n/w/Assign"
    assert names(state) == {"mine": ["n/mm:0"], "trainable_variables": ["n/w"], "variables": ["n/w"]}


def test_a_removed_variable_is_gone():
    weights = [name for name in G.names if name not in ("x", "rate", "side")]
    state = clean(Plan(G).remove(weights)).after().state
    assert (dict(state.variables), dict(state.collections)) == ({}, {})


def test_an_initializer_that_assigns_another_tensor():
    state = clean(Plan(G).insert("Neg", on="net/w/start:0", name="other")).after().state
    assert state.variables["net/w"].initial_value == "other:0"


def test_contexts_and_what_fills_tables_follow_their_ops():
    held = GraphState(
        contexts=(frozenset({"a", "b"}), frozenset({"c"})),
        init_ops={"table": ("fill", "other")},
        collections={
            "odd": (
                CollectionEntry("structure", "pair", ("a", "c")),
                CollectionEntry("value", "7"),
                CollectionEntry("other", "object"),
            )
        },
    )
    g = Graph.from_ops(
        [(name, "NoOp", []) for name in ("a", "b", "c", "table", "fill", "other")], state_of=lambda: held
    )
    state = clean(Plan(g).copy(select(g, name=["a", "b", "table", "fill"]), to="t")).after().state
    assert state.contexts == (*held.contexts, frozenset({"t/a", "t/b"}))
    assert state.init_ops == {**held.init_ops, "t/table": ("t/fill", "t/other")}
    assert names(state) == {"odd": ["pair", "7", "object"]}
    less = clean(Plan(g).remove(["c"])).after().state
    assert (less.contexts, less.init_ops) == ((frozenset({"a", "b"}),), held.init_ops)
    assert names(less) == {"odd": ["7"]}


def test_a_plan_that_changes_nothing_has_the_state_of_the_graph():
    assert Plan(G).after().state is G.state
    broken = Plan(G).remove("net/mm")
    assert broken.check()
    assert list(broken.after().state.variables) == ["net/w"]
    assert plain(("a", "NoOp", [])).state.variables == {}
