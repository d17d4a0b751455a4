"""History: undo and redo over every kind of step, the table, rebuilding, and sessions that follow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import event, given
from hypothesis import strategies as st

import graphsurgeon as gs
from graphsurgeon.editor.history import History
from graphsurgeon.errors import PlanError, SelectionError, SurgeryError
from tests.graphs import collections, model, put, tf1, tiny
from tests.random_graphs import NUMBER, RECIPE, built
from tests.refusal import refuses
from tests.tiers import examples

FEW = examples(80)
EDITS = (
    "copy", "connect", "reroute", "swap", "bypass", "detach", "insert", "remove", "set_attr", "set_device",
    "add_control", "remove_control", "rebuild",
)  # fmt: skip
KIND = st.sampled_from([*EDITS, "copy", "copy", "insert", "set_attr", *["undo"] * 5, *["redo"] * 5])
ACTION = st.tuples(KIND, NUMBER, NUMBER)


def plan_of(ed: Any, kind: str, a: int, b: int, number: int) -> Any:
    """Returns a plan of one step of a kind, over ops chosen by number; None where there is nothing to choose."""
    left = ed.orphans
    ops = [op for op in ed.graph.get_operations() if op.name not in left]
    tensors = [t for op in ops for t in op.outputs]
    readers = [op for op in ops if op.inputs]
    if not readers:
        return None
    tensor, other = tensors[a % len(tensors)], tensors[b % len(tensors)]
    op, reader, plan = ops[a % len(ops)], readers[b % len(readers)], ed.plan()
    if kind == "copy":
        return plan.copy(ed.select(outputs=tensor), to=f"s{number}", unmapped="keep")
    return {
        "connect": lambda: plan.connect(tensor, to=reader, input=0),
        "reroute": lambda: plan.reroute(tensor, to=other),
        "swap": lambda: plan.swap(tensor, other),
        "bypass": lambda: plan.bypass(reader),
        "detach": lambda: plan.detach(reader, side="inputs"),
        "insert": lambda: plan.insert("Identity", on=tensor, name=f"mid{number}"),
        "remove": lambda: plan.remove(op, stitch=bool(b % 2)),
        "set_attr": lambda: plan.set_attr(op, "_mark", f"m{number}"),
        "set_device": lambda: plan.set_device(op, f"/cpu:{b % 2}"),
        "add_control": lambda: plan.add_control(reader, after=op),
        "remove_control": lambda: plan.remove_control(op),
    }[kind]()


def content(graph: Any, but: Any = ()) -> Any:
    """Returns what a graph is: nodes but for orphans, collections, names of variables, records."""
    nodes = {n.name: n.SerializeToString(deterministic=True) for n in graph.as_graph_def().node if n.name not in but}
    lists = {name: items for name, items in collections(graph).items() if items}
    with graph.as_default():
        variables = [v.name for v in tf1.global_variables()], [v.name for v in tf1.trainable_variables()]
    return nodes, lists, variables, graph.get_collection("graphsurgeon/provenance")


def bare(graph_def: Any) -> Any:
    """Returns a GraphDef without functions, by name: built anew, they have other names, and loops another order."""
    out = type(graph_def)(versions=graph_def.versions)
    out.node.extend(sorted(graph_def.node, key=lambda node: node.name))
    for node in out.node:
        for key in [k for k, v in node.attr.items() if v.HasField("func") or v.list.func]:
            del node.attr[key]
        node.input[:] = [i for i in node.input if i[0] != "^"] + sorted(i for i in node.input if i[0] == "^")
    return out


@FEW
@given(RECIPE, st.lists(ACTION, min_size=4, max_size=14))
def test_undo_and_redo_over_every_kind_of_step(recipe, actions):
    ed = gs.open(built(recipe).graph)
    past: list[Any] = []
    future: list[Any] = []
    for number, (kind, a, b) in enumerate(actions):
        before = content(ed.graph, ed.orphans)
        if kind in ("undo", "redo"):
            stack, other = (past, future) if kind == "undo" else (future, past)
            if not stack:
                with refuses(PlanError, f"there is nothing to {kind}"):
                    getattr(ed, kind)()
                continue
            getattr(ed, kind)()
            other.append(before)
            assert content(ed.graph, ed.orphans) == stack.pop()
            event(f"{kind} done")
        else:
            left, clean = ed.orphans, ed.graph_def()
            plan = None if kind == "rebuild" else plan_of(ed, kind, a, b, number)
            if plan is None and kind != "rebuild":
                continue
            try:
                done = ed.rebuild() if plan is None else ed.apply(plan)
            except SurgeryError:
                event(f"{kind} refused")
                assert content(ed.graph, ed.orphans) == before
                assert ed.orphans == left
                continue
            event(f"{kind} {done.effect.mode}")
            past.append(before)
            future.clear()
            if plan is None:
                assert ed.orphans == frozenset()
                assert bare(ed.graph_def()) == bare(clean)
        assert [e.number for e in ed.history if not e.undone] == sorted(e.number for e in ed.history if not e.undone)
        assert sum(not e.undone for e in ed.history) == len(past)
        assert sum(e.undone and not e.discarded for e in ed.history) >= len(future)
        names = {op.name for op in ed.graph.get_operations()}
        assert ed.orphans <= names
        items = [item for key in ("variables", "losses", "mine") for item in ed.graph.get_collection(key)]
        held = {getattr(item, "op", item).name for item in items}
        assert not held & ed.orphans
    while past:
        ed.undo()
        assert content(ed.graph, ed.orphans) == past.pop()


@pytest.mark.parametrize("kind", EDITS)
def test_each_kind_of_step_is_undone_and_done_again(kind):
    graph = tiny()
    with graph.as_default():
        with tf.control_dependencies([graph.get_operation_by_name("y")]):
            tf.negative(graph.get_tensor_by_name("z:0"), name="n")
        tf1.placeholder(tf.float32, [None, 2], name="x2")
    steps = {
        "copy": lambda p, ed: p.copy(ed.select(name="y"), to="t", unmapped="keep"),
        "connect": lambda p, ed: p.connect("x:0", to="z", input=0),
        "reroute": lambda p, ed: p.reroute("y:0", to="x2:0"),
        "swap": lambda p, ed: p.swap("x:0", "x2:0"),
        "bypass": lambda p, ed: p.bypass("y"),
        "detach": lambda p, ed: p.detach("z"),
        "insert": lambda p, ed: p.insert("Relu", on="y:0", name="relu"),
        "remove": lambda p, ed: p.remove("n"),
        "set_attr": lambda p, ed: p.set_attr("y", "_mark", "here"),
        "set_device": lambda p, ed: p.set_device("y", "/cpu:0"),
        "add_control": lambda p, ed: p.add_control("z", after="k"),
        "remove_control": lambda p, ed: p.remove_control("n", "y"),
    }
    ed = gs.open(graph)
    before = content(ed.graph)
    if kind == "rebuild":
        ed.rebuild()
    else:
        ed.apply(steps[kind](ed.plan(), ed))
    after = content(ed.graph)
    assert kind == "rebuild" or after[0] != before[0]
    for _ in range(2):
        ed.undo()
        assert content(ed.graph, ed.orphans) == before
        ed.redo()
        assert content(ed.graph, ed.orphans) == after


def test_orphans_stay_orphans_in_a_graph_built_anew():
    m = model("ref", optimizer=None)
    ed = gs.open(m.session)
    ed.apply(ed.plan().copy(ed.select(scope="net"), to="t", unmapped="keep"))
    left = frozenset(ed.history[0].result.ops)
    ed.undo()
    ed.apply(ed.plan().connect("target:0", to="SquaredDifference", input=0))
    assert ed.graph is not m.graph
    assert ed.orphans == left
    assert not any(node.name.startswith("t/") for node in ed.graph_def().node)
    assert ed.provenance("t/net/w").kind == "orphan"
    ed.undo()
    assert ed.orphans == left
    ed.redo()
    assert ed.orphans == left
    assert not left & set(ed.select().names)
    assert ed.select(name="t/net/w").names == ["t/net/w"]


def test_a_saver_saves_what_is_in_force(tmp_path):
    m = model("resource", optimizer=None)
    ed = gs.open(m.session)
    ed.apply(ed.plan().copy(ed.select(scope="net"), to="t", unmapped="keep", values=m.session))

    def saved(name: str) -> list[str]:
        with ed.graph.as_default():
            prefix = tf1.train.Saver().save(ed.session(), str(tmp_path / name))
        return sorted(name for name, _ in tf.train.list_variables(prefix))

    assert saved("a") == ["net/b", "net/w", "t/net/b", "t/net/w"]
    ed.undo()
    assert saved("b") == ["net/b", "net/w"]
    ed.redo()
    assert saved("c") == ["net/b", "net/w", "t/net/b", "t/net/w"]


# -- the table ------------------------------------------------------------------------------------


def test_the_table_of_the_history():
    m = model("ref", optimizer=None)
    ed = gs.open(m.session)
    assert str(ed.history) == "no plan was applied yet"
    assert "no plan was applied yet" in ed.history._repr_html_()
    ed.apply(ed.plan().copy(ed.select(scope="net"), to="t", unmapped="keep"))
    ed.undo()
    ed.apply(ed.plan().remove(ed.select(name=["loss", "Const", "SquaredDifference", "target"])))
    block = gs.open(tiny(), title="<b>").select(name="y")
    ed.apply(ed.plan().copy(block, to="late", inputs={"x:0": "x:0"}))
    ed.undo()
    history = ed.history
    assert isinstance(history, History)
    rows = [(r["step"], r["+ops"], r["-ops"], r["variables"], r["state"]) for r in history.table()]
    assert rows[0][3:] == (2, "dropped")
    assert rows[1:] == [(2, 0, 4, 0, ""), (3, 1, 0, 0, "undone")]
    lines = str(history).splitlines()
    assert lines[0].split() == ["step", "when", "what", "+ops", "-ops", "variables", "seconds", "state"]
    assert len(lines) == 4
    assert "remove loss" in lines[2] or "remove " in lines[2]
    assert "seconds" not in history.text(times=False)
    assert repr(history[1]).endswith(": 0 ops, 4 removed")
    text = history._repr_html_()
    assert text.startswith("<table>")
    assert "<b>" not in text
    assert "&lt;b&gt;" in text


def test_numbers_go_on_where_the_file_has_stopped(tmp_path):
    ed = gs.open(tiny())
    for to in ("a", "b"):
        ed.apply(ed.plan().copy(ed.select(name="y"), to=to, unmapped="keep"))
    with ed.graph.as_default():
        tf1.train.export_meta_graph(str(tmp_path / "two.meta"))
    again = gs.open(str(tmp_path / "two.meta"))
    again.apply(again.plan().copy(again.select(name="a/y"), to="c", unmapped="keep"))
    assert [e.number for e in again.history] == [3]
    assert str(again.provenance("c/a/y")) == (
        "copied from op 'a/y' of two.meta in step 3 (there copied from op 'y' of graph in step 1)"
    )


# -- rebuilding ---------------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", [None, "adam"])
@pytest.mark.parametrize("kind", ["ref", "resource"])
def test_rebuild_gives_a_clean_graph_with_all_values(kind, optimizer):
    m = model(kind, optimizer=optimizer)
    m.train_steps() if optimizer else put(m.w, 3, m.session)
    ed = gs.open(m.session)
    ed.apply(ed.plan().copy(ed.select(scope="net"), to="gone", unmapped="keep", values=m.session))
    ed.undo()
    kept = ed.apply(ed.plan().copy(ed.select(scope="net"), to="kept", unmapped="keep", values=m.session))
    ed.session()
    put(kept[m.w], 7, m.session)
    old, before = ed.graph, ed.graph_def()
    done = ed.rebuild()
    assert ed.graph is not old
    assert ed.orphans == frozenset()
    assert ed.graph.as_graph_def() == before
    assert not any(op.name.startswith("gone") for op in ed.graph.get_operations())
    assert ed.history[-1].text.startswith("rebuild the graph without ")
    assert ed.history[-1].counts["removed"] == len(ed.history[0].names)
    session = ed.session()
    new = done[kept[m.w]]
    assert new.graph is ed.graph
    np.testing.assert_array_equal(session.run(new), np.full([2, 3], 7))
    np.testing.assert_array_equal(session.run(done[m.w]), m.session.run(m.w))
    assert done.original(new) is kept[m.w]
    assert done.original(done[m.y]) is m.y
    if optimizer:
        feed = {t.name: v for t, v in m.feed().items()}
        session.run(done[m.train], feed)
    ed.undo()
    assert ed.graph is old
    assert ed.orphans
    ed.redo()
    assert ed.graph is new.graph
    with refuses(SelectionError, "'gone/net/w'"):
        done["gone/net/w"]


def test_rebuild_keeps_orphans_that_something_reads():
    ed = gs.open(tiny())
    ed.apply(ed.plan().copy(ed.select(name=["y", "z", "z/y"]), to="t", unmapped="keep"))
    with ed.graph.as_default():
        tf.negative(ed.tensor("t/y:0"), name="mine")
    ed.undo()
    done = ed.rebuild()
    assert [n for n in ed.snapshot.names if n.startswith(("t/", "mine"))] == ["t/y", "mine"]
    assert any("1 orphan kept, because other ops need it" in w for w in done.effect.warnings)
    assert ed.orphans == {"t/y"}


def test_the_code_of_a_rebuild():
    ed = gs.open(tiny())
    code = ed.rebuild().plan.to_code()
    assert code.endswith("\ned = gs.open(graph)\n\ndone = ed.rebuild()\n")
    space: dict[str, Any] = {"graph": tiny()}
    exec(code, space)
    assert space["ed"].graph is not space["graph"]


def test_a_file_is_built_anew_before_anybody_has_asked_for_its_graph(tmp_path):
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None, 2], name="x")
        tf.shape(x, name="size")  # an import notes the type that it infers of it
    tf.io.write_graph(graph, str(tmp_path), "net.pb", as_text=False)
    ed = gs.open(tmp_path / "net.pb")
    assert [op.name for op in ed.rebuild().graph.get_operations()] == ["x", "size"]


def test_what_has_no_original():
    ed = gs.open(tiny())
    done = ed.apply(ed.plan().copy(ed.select(name="y"), to="t", unmapped="keep"))
    assert done.original("t/y:0") is ed.tensor("y:0")
    with refuses(SelectionError, "original('z'): 'z' has no original op"):
        done.original("z")


# -- sessions ---------------------------------------------------------------------------------------


def test_values_of_a_copy_go_along_when_the_graph_is_built_anew():
    m = model("resource", optimizer=None)
    ed = gs.open(m.session)
    done = ed.apply(ed.plan().copy(ed.select(scope="net"), to="t", unmapped="keep", values=m.session))
    ed.session()
    put(done[m.w], 5, m.session)
    second = ed.apply(ed.plan().connect("target:0", to="SquaredDifference", input=0))
    np.testing.assert_array_equal(ed.session().run(second[done[m.w]]), np.full([2, 3], 5))
    ed.undo()
    np.testing.assert_array_equal(ed.session().run(done[m.w]), np.full([2, 3], 5))
    ed.redo()
    np.testing.assert_array_equal(ed.session().run(second[done[m.w]]), np.full([2, 3], 5))


def test_a_copy_that_no_session_has_seen_gets_its_values_in_the_new_graph():
    m = model("ref", optimizer=None)
    put(m.w, 2, m.session)
    ed = gs.open(m.session)
    done = ed.apply(ed.plan().copy(ed.select(scope="net"), to="t", unmapped="keep", values=m.session))
    second = ed.apply(ed.plan().connect("target:0", to="SquaredDifference", input=0))
    np.testing.assert_array_equal(ed.session().run(second[done[m.w]]), np.full([2, 3], 2))


def test_an_undone_copy_needs_no_values():
    m = model("ref", optimizer=None)
    ed = gs.open(m.session)
    ed.apply(ed.plan().copy(ed.select(scope="net"), to="t", unmapped="keep"))
    ed.undo()
    ed.apply(ed.plan().connect("target:0", to="SquaredDifference", input=0))
    np.testing.assert_array_equal(ed.session().run("net/w:0"), m.session.run(m.w))
    assert gs.open(ed.graph).session().run("net/b:0").shape == (3,)


def test_an_empty_plan_is_refused_and_makes_no_step():
    ed = gs.open(tiny())
    with refuses(PlanError, "apply(plan)", "the plan is empty", "Give it a step"):
        ed.apply(ed.plan())
    assert not ed.history
