"""Selections of several snapshots of a graph, the graphs after plans among them: no op is lost or exchanged."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graphsurgeon.errors import PlanError, SelectionError
from graphsurgeon.graph.explain import explain
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.pattern import Pattern
from graphsurgeon.graph.pattern_match import match
from graphsurgeon.graph.provenance import mark_orphans, orphan_mask
from graphsurgeon.graph.selection import Query, select, selection_from
from graphsurgeon.plan.function_source import query_code
from graphsurgeon.plan.plan import Plan
from graphsurgeon.plan.removal import find_removal_blockers
from tests.plain import net, plain
from tests.refusal import refuses

NUMBER = st.integers(0, 999)
#: For each op the numbers of the ops that it reads, by their remainders.
OPS = st.lists(st.lists(NUMBER, max_size=2), min_size=2, max_size=9)
STEPS = st.lists(
    st.tuples(st.sampled_from(["remove", "rename", "swap names", "copy", "insert"]), NUMBER, NUMBER), max_size=4
)
PICKS = st.lists(st.booleans(), min_size=16, max_size=16)


def graph_of(ops):
    """A graph in which each op reads ops before it; the first reads nothing."""
    return Graph.from_ops([
        (f"n{at}", "Neg" if reads and at else "Const", [f"n{read % at}" for read in reads] if at else [])
        for at, reads in enumerate(ops)
    ])  # fmt: skip


def planned(graph, steps):
    """The plan of those steps that have no fault, with the steps that come before them."""
    plan = Plan(graph)
    for at, (kind, a, b) in enumerate(steps):
        names = plan.after().names
        if not names:
            break
        one, two = names[a % len(names)], names[b % len(names)]
        if kind == "remove":
            longer = plan.remove(list({one, two}))
        elif kind == "rename":
            longer = plan.rename(one, to=f"new{at}")
        elif kind == "swap names" and one != two:
            longer = plan.rename({one: two, two: one})
        elif kind == "insert":
            longer = plan.insert("Identity", on=one, name=f"put{at}")
        else:
            longer = plan.copy(selection_from(graph, [a % graph.size]), to=f"copy{at}", unmapped="keep")
        plan = plan if longer.check() else longer
    return plan


def selected_by(graph, picks):
    """A selection of the ops at the numbers where `picks` is true."""
    return selection_from(graph, [at for at in range(graph.size) if picks[at % len(picks)]])


@given(OPS, STEPS, STEPS, PICKS, PICKS, st.tuples(*[st.integers(0, 3)] * 2))
def test_set_algebra_is_that_of_the_names(ops, steps, others, first, second, which):
    graph = graph_of(ops)
    grown = graph.with_nodes(Graph.from_ops([("later", "Const", [])]).nodes)
    graphs = [graph, grown, planned(graph, steps).after(), planned(grown, others).after()]
    a, b = selected_by(graphs[which[0]], first), selected_by(graphs[which[1]], second)
    one, two = set(a.names), set(b.names)
    assert set((a & b).names) == one & two
    assert set((a - b).names) == one - two
    assert set((~a).names) == set(a.graph.names) - one
    there = [g for g in (a.graph, b.graph) if one | two <= set(g.names)]
    if there:
        assert set((a | b).names) == one | two
        assert (a | b).graph in there
    else:
        with pytest.raises(SelectionError) as refused:
            a | b
        assert all(part for part in (refused.value.request, refused.value.problem, refused.value.suggestion))
        assert set((a.on(b.graph) | b).names) == one & set(b.graph.names) | two  # as the suggestion says
    assert set(a.on(b.graph).names) == one & set(b.graph.names)
    assert bool(a.on(b.graph).notes) == (not one <= set(b.graph.names))


@given(OPS, STEPS, PICKS)
def test_a_selection_of_the_graph_stands_for_its_ops_whatever_a_step_before_has_called_them(ops, steps, picks):
    graph = graph_of(ops)
    plan = planned(graph, steps)
    chosen = selected_by(graph, picks)
    gone = {graph.names[i] for i in plan.effect.removed}
    assume(len(chosen) and not gone & set(chosen.names))
    device = plan.set_device(chosen, "/cpu:0")
    assert device.check() == ()
    renamed = plan.effect.renamed
    assert set(device.effect.changes) == {renamed.get(name, name) for name in chosen.names}
    later = select(plan.after(), name=device.steps[-1].ops)
    assert plan.set_device(later, "/cpu:0").steps == device.steps


def after_removal():
    g = plain(("a", "Const", []), ("dead", "Exp", ["a"]), ("b", "Neg", ["a"]), ("c", "Neg", ["b"]))
    return g, Plan(g).remove("dead").after()


def test_no_op_is_lost_or_exchanged_if_a_plan_removes_ops():
    g, after = after_removal()
    assert (select(g, name="a") | select(after, name="b")).names == ["a", "b"]
    assert (select(after, name="b") | select(g, name=["a", "dead"])).graph is g
    assert select(g, name=["b", "dead"]).on(after).names == ["b"]
    assert repr(select(g, name=["b", "dead"]).on(after)).endswith("1 Neg; tiny after a plan does not have 'dead'>")
    moved = select(g, inputs="b:0", outputs="c:0").on(after)
    assert (moved.names, moved.boundary.inputs, moved.boundary.outputs) == (["c"], ("b:0",), ("c:0",))
    lost = select(g, inputs="a:0", outputs="dead:0").on(after)
    assert (lost.names, lost.inputs, lost.outputs) == ([], ((0, 0),), ())
    assert select(g, name="b") != select(after, name="b")
    assert select(after, name="b").on(g) == select(g, name="b")


def test_a_selection_is_carried_by_name_into_a_graph_that_was_built_anew():
    g, after = after_removal()
    anew = Graph.from_ops([(name, "NoOp", []) for name in after.names])
    with refuses(SelectionError, "selection.on(graph): they belong to two graphs", "type selection.by_names_in(graph)"):
        select(g, name="b").on(anew)
    assert select(g, name="b").by_names_in(anew).names == ["b"]


def test_a_union_that_no_snapshot_can_hold_is_refused():
    g, _ = after_removal()
    less, more = (
        Plan(g).remove(["b", "c"]),
        Plan(g).copy(select(g, name="b"), to="copy", unmapped="keep").remove("dead"),
    )
    problem = (
        "selection | selection: tiny after a plan does not have 'copy/b', and tiny after a plan does not have 'dead'"
    )
    with refuses(
        SelectionError,
        problem,
        "Leave out the ops that the second graph does not have: first.on(second.graph) | second",
    ):
        select(less.after(), name="dead") | select(more.after(), name="copy/b")


def test_code_of_ops_after_a_plan_is_their_names():
    g, after = after_removal()
    both = select(g, op="Const") | select(after, op="Neg")
    assert query_code(both.query, "ed") == "ed.select(name=['a', 'b', 'c'])"
    assert select(g, op="Neg").on(after).query == Query("names", ("b", "c"))


def test_the_graph_after_a_plan_has_an_identity_of_its_own():
    g, after = after_removal()
    assert after.owner is not g.owner
    assert after.origin is g.origin is g.owner
    assert (after.derived, g.derived) == (True, False)
    assert Plan(g).after() is g
    assert Plan(after).remove("c").after().origin is g.owner
    with refuses(PlanError, "tiny.live: the graph after a plan is not a live graph", "Apply the plan first"):
        after.live_graph  # noqa: B018


def test_orphans_of_the_graph_are_orphans_after_a_plan():
    class Live:
        """Stands for a live graph."""

    g = Graph.from_ops([("a", "Const", []), ("left", "Neg", ["a"]), ("b", "Neg", ["a"])], owner=Live())
    mark_orphans(g.owner, ["left"], 1)
    after = Plan(g).insert("Identity", on="b", name="c").after()
    assert [name for name, orphan in zip(after.names, orphan_mask(after), strict=True) if orphan] == ["left"]


def test_a_copy_of_ops_that_no_graph_has_yet_is_refused():
    g, after = after_removal()
    problem = "copy(to='t'): the selection is of tiny after a plan: no graph has its ops yet"
    with refuses(PlanError, problem, "Apply that plan first, or select from the graph as it is"):
        Plan(g).copy(select(after, name="b"), to="t", unmapped="keep")
    assert Plan(after).copy(select(after, name="b"), to="t", unmapped="keep").check() == ()


VERBS = {
    "remove": lambda plan, chosen: plan.remove(chosen),
    "bypass": lambda plan, chosen: plan.bypass(chosen),
    "detach": lambda plan, chosen: plan.detach(chosen),
    "collapse": lambda plan, chosen: plan.collapse(chosen, name="f"),
    "set_device": lambda plan, chosen: plan.set_device(chosen, "/cpu:0"),
    "reroute": lambda plan, chosen: plan.reroute("a:0", to="b:0", only=chosen),
    "on_copies": lambda plan, chosen: plan.reroute("a:0", to="b:0").on_copies("t", until=chosen),
    "replace": lambda plan, chosen: plan.replace(Pattern.from_graph(chosen.graph), "Neg", within=chosen),
}  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_a_selection_of_another_graph_is_refused_by_each_verb(verb):
    g, _ = after_removal()
    with refuses(PlanError, "of another graph, net", "Select from tiny"):
        VERBS[verb](Plan(g), select(net(), name="out"))


def test_what_looks_in_a_selection_takes_the_same_ops_or_refuses_it():
    g, after = after_removal()
    pattern = Pattern.from_graph(Graph.from_ops([("v", "Placeholder", []), ("n", "Neg", ["v"])]))
    chosen = select(g, name="c")
    assert [one.names for one in match(after, pattern, within=chosen)] == [["c"]]
    assert str(find_removal_blockers(after, chosen)) == str(find_removal_blockers(after, "c"))
    assert str(explain(after, "c", chosen)) == str(explain(after, "c", select(after, name="c")))
    for looks, request in (
        (lambda some: match(after, pattern, within=some), "match(within=...)"),
        (lambda some: find_removal_blockers(after, some), "blocks(selection)"),
        (lambda some: explain(after, "b", some), "explain("),
    ):
        with refuses(SelectionError, request, "tiny after a plan does not have 'dead'", "selection.on(graph)"):
            looks(select(g, name="dead"))
        with refuses(SelectionError, request, "the selection is of another graph, net", "Select from tiny"):
            looks(select(net(), name="out"))


def test_matches_in_the_graph_after_a_plan_are_not_matches_in_the_graph():
    g, after = after_removal()
    pattern = Pattern.from_graph(Graph.from_ops([("v", "Placeholder", []), ("n", "Neg", ["v"])]))
    with refuses(PlanError, "the matches are of tiny after a plan", "Look for them in tiny"):
        Plan(g).replace(match(after, pattern), "Exp")
    with refuses(PlanError, "within= is of tiny after a plan", "Select from tiny"):
        Plan(g).replace(pattern, "Exp", within=select(after, name="c"))
