"""Apply is all or nothing: every call that the engine makes fails once, before or after it has done its work."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.tf.copy import imports as importing
from tests.faults import Point, failing, points
from tests.graphs import look, put, tf1
from tests.refusal import reads, refuses
from tests.scenes import SCENES, X, everything, inside_one, into_another
from tests.tiers import product, share

#: What TensorFlow has made by half complains when it is thrown away.
pytestmark = [pytest.mark.scaled, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]
ENGINE = ("tf/", "applied.py", "history.py")


@cache
def all_points(scene: str, times: str) -> list[Point]:
    wanted(scene)  # what is imported late is there by now
    made = SCENES[scene]()
    plan = made.make("t")
    assert plan.check() == ()
    return points(lambda: made.ed.apply(plan), ENGINE, times)


def sound(graph: Any) -> None:
    """Asserts that nothing hangs over from the failure."""
    assert gc.isenabled()
    assert tf.executing_eagerly()  # no graph is the default one any more
    assert not graph.new_operations()
    assert graph._get_control_flow_context() is None
    assert graph._group_lock._group_member_counts == [0, 0]


def guards(graph: Any) -> list[Any]:
    return [
        {id(op) for op in graph._unfetchable_ops},
        {id(t) for t in graph._unfeedable_tensors},
        dict(graph._functions),
    ]


def fails_once(scene: str, point: Point, error: BaseException, tried: set[Any]) -> None:
    """Lets one call fail, and looks at what is left of the graph."""
    made = SCENES[scene]()
    ed, graph, plan = made.ed, made.ed.graph, made.make("t")
    plan.check()
    old, kept, source, raised = look(graph), guards(graph), look(everything()), None
    with failing(point, error) as hit:
        try:
            ed.apply(plan)
        except BaseException as caught:
            raised = caught
    assert hit, f"{point} was not reached"
    sound(graph)
    assert look(everything()) == source
    if raised is None:  # there was another way
        assert isinstance(error, Exception)
        assert len(ed.history) == 1
        return
    assert ed.graph is graph
    assert ed.history == []
    new, late = look(graph), graph.get_operations()[len(old["ops"]) :]
    assert {op.name for op in late} == set(ed.orphans)
    scope = "t"
    if not late:
        assert new == old
        assert guards(graph) == kept
    else:
        nodes = tf1.GraphDef.FromString(new["nodes"]).node
        assert nodes[: len(old["ops"])] == tf1.GraphDef.FromString(old["nodes"]).node
        assert all(op.name.startswith("t/") for op in late)
        assert new["collections"] == old["collections"]
        assert new["names"] == old["names"] | {op.name.lower(): 1 for op in late} | {"t": 1}
        assert guards(graph)[:2] == kept[:2]
        text = f"{len(late)} ops, {late[0].name!r} first, stay in graph as orphans"
        if isinstance(error, Exception):
            assert isinstance(raised, PlanError)
            reads(raised, text, "Make the plan again with to='t_2'")
        else:
            assert text in "".join(raised.__notes__)
        fault = made.make("t").check()[0]
        reads(fault, "the name 't' is taken", "'t_2'")
        scope, plan = "t_2", made.make("t_2")
    if not isinstance(error, Exception):
        assert raised is error
    state = (bool(late), len(new["functions"]))
    if state not in tried or (not late and scene == "into another graph"):  # where nothing has changed, the same plan
        ed.apply(plan)
        assert len(ed.history) == 1
    if state not in tried:
        tried.add(state)
        np.testing.assert_array_equal(made.runs(scope), wanted(scene))


def each(found: list[Point], look_at: Callable[[Point, BaseException], None]) -> None:
    """Tries the points of the tier, each with one of the two kinds of failure; notes which one went wrong."""
    assert found
    for number, point in share(list(enumerate(found)), offset=len(found)):
        error: BaseException = (MemoryError, KeyboardInterrupt)[number % 2]("injected")
        try:
            look_at(point, error)
        except BaseException as wrong:
            wrong.add_note(f"after {error!r} {point}")
            raise
        finally:
            gc.enable()
    _bury()


def _bury() -> None:
    """Collects what an `__init__` that failed has left: its `__del__` would complain later, in another test."""
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    gc.collect()
    sys.unraisablehook = hook


@cache
def wanted(scene: str) -> np.ndarray:
    made = SCENES[scene]()
    made.ed.apply(made.make("t"))
    return made.runs("t")


#: What the engine does, by the files that do it.
STAGES = {
    "nodes": ("tf/copy/node_defs.py", "tf/copy/append.py", "tf/copy/append.py"),
    "functions": ("tf/functions/definitions.py", "tf/private/functions.py"),
    "import": ("tf/copy/imports.py", "tf/private/c_api.py"),
    "contexts": ("tf/copy/contexts.py", "tf/private/contexts.py"),
    "variables": ("tf/values/variables.py",),
    "tables, queues": ("tf/copy/tables_and_queues.py",),
    "shapes, guards, gradients, collections": ("tf/copy/python_state.py", "tf/private/graphs.py"),
}
REST = "reading back and the rest"


@pytest.mark.parametrize(("stage", "scene"), product([*STAGES, REST], list(SCENES)[:3], meets=1))
def test_a_failure_leaves_the_graph_as_it_was_or_says_what_stays(scene, stage):
    stage_of = {file: name for name, files in STAGES.items() for file in files}
    tried: set[Any] = set()
    times = "ends" if scene == "into another graph" else "last"
    found = [p for p in all_points(scene, times) if stage_of.get(p.file, REST) == stage]
    each(found, lambda point, error: fails_once(scene, point, error, tried))


def test_the_public_import_too(monkeypatch):
    monkeypatch.setattr(importing, "raw_import_works", lambda: False)
    made, tried = SCENES["into another graph"](), set()
    plan, those = made.make("t"), ("_public_import", "without_far_places", "quiet_stacks", "adopt")
    plan.check()
    found = [p for p in points(lambda: made.ed.apply(plan), ("tf/",)) if p.function in those]
    assert {p.function for p in found} >= {"_public_import", "adopt"}
    each(found, lambda point, error: fails_once("into another graph", point, error, tried))


def test_a_graph_that_comes_in_pieces_too(monkeypatch):
    monkeypatch.setattr(importing, "LIMIT", 20_000)
    found = [
        p for p in all_points("in pieces", "ends") if p.function in ("import_nodes", "raw_import", "constants_apart")
    ]
    assert (
        max(p.time for p in found if p.callee == "TF_GraphImportGraphDefWithResults") == 5
    )  # four pieces and the rest
    tried: set[Any] = set()
    each(found, lambda point, error: fails_once("in pieces", point, error, tried))


def test_a_trial_that_fails_changes_nothing():
    dst, src = gs.open(tf.Graph()), gs.open(everything())
    with dst.graph.as_default():
        tf1.placeholder(tf.float32, [5, 2], name="p")  # another shape, so that TensorFlow is asked
    block = src.select(outputs="y:0")
    before, source = look(dst.graph), look(everything())

    def make() -> Any:
        return dst.plan().copy(block, to="t", inputs={"x:0": "p:0"})

    def fails(point: Point, error: BaseException) -> None:
        plan, raised = make(), None
        with failing(point, error) as hit:
            try:
                found = plan.check()
            except BaseException as caught:
                raised = caught
        assert hit
        if isinstance(error, Exception):  # memory that runs out is named by who asked for it
            assert "injected" in str(raised or found[0].problem)
            assert raised is None or isinstance(raised, MemoryError)
        else:
            assert raised is error
        sound(dst.graph)
        assert (look(dst.graph), look(everything())) == (before, source)
        if raised is not None:
            assert plan.check() == ()

    make().check()  # reads both graphs
    plan = make()
    each(points(plan.check, ENGINE), fails)


# -- after the apply: values, undo, redo -------------------------------------------------------------------


def settle(way: str) -> tuple[Any, Any, str]:
    """Returns an editor with a plan applied, the session to bring up to date, and the name of a variable of its own."""
    if way == "an open session":
        made = into_another()
        session = tf1.Session(graph=made.ed.graph)
    else:
        made = inside_one()
        session = tf1.Session(graph=made.ed.graph) if way == "a session of the graph before" else None
    if way == "a session of the graph before":
        made.ed.apply(made.ed.plan().connect("first:0", to="y", input=0))
    own = "own" if way == "an open session" else "net/b"
    if session is not None:
        with session.graph.as_default():
            session.run([tf1.global_variables_initializer(), tf1.tables_initializer()])
            put(next(v for v in tf1.global_variables() if v.op.name == own), 5.0, session)
    made.ed.apply(made.make("t"))
    return made, session, own


SETTLED = {
    "an open session": "into another graph",
    "a new session": "inside one graph",
    "a session of the graph before": "",
}


@pytest.mark.parametrize("way", SETTLED)
def test_a_failure_while_values_are_set_is_made_good_by_the_next_call(way):
    def fails(point: Point, error: BaseException) -> None:
        made, session, own = settle(way)
        ed = made.ed
        with failing(point, error) as hit, pytest.raises(type(error), match="injected"):
            ed.session(session)
        assert hit
        sound(ed.graph)
        now = ed.session(session)
        held = {v.op.name: v for v in ed.graph.get_collection("variables")}
        assert now.run(held["t/net/w"]).tolist() == [2.0, 3.0]
        assert now.run(held["t/net/b"]).tolist() == [0.5, 0.25]
        assert now.run(held[own]).tolist() == ([5.0, 5.0] if session is not None else [0.5, 0.25])
        got = now.run(made.fetched.format("t"), {made.fed.format("t"): X})
        if way != "a session of the graph before":
            np.testing.assert_array_equal(got, wanted(SETTLED[way]))
        put(held["t/net/w"], 9.0, now)
        assert ed.session(now) is now
        assert now.run(held["t/net/w"]).tolist() == [9.0, 9.0]
        now.close()

    made, session, _ = settle(way)
    made.ed.session(session)  # what is imported late is there by now
    made, session, _ = settle(way)
    found = points(lambda: made.ed.session(session), ("tf/values/", "editor.py"))
    whole = ("tf/values/assign_values.py", "editor.py")
    steps = [p for p in found if p.file in whole or p.function in ("assign", "initialize", "_run", "fetch")]
    assert {p.callee for p in steps} >= {"run"}
    each(steps, fails)


@pytest.mark.parametrize("way", ["undo", "redo"])
def test_undo_and_redo_are_all_or_nothing_too(way):
    def ready() -> Any:
        made = into_another()
        made.ed.apply(made.make("t"))
        if way == "redo":
            made.ed.undo()
        return made.ed

    def fails(point: Point, error: BaseException) -> None:
        ed = ready()
        before = look(ed.graph)
        with failing(point, error) as hit, pytest.raises(type(error), match="injected"):
            getattr(ed, way)()
        assert hit
        sound(ed.graph)
        assert look(ed.graph) == before
        assert [e.undone for e in ed.history] == [way == "redo"]
        getattr(ed, way)()
        assert {k for k in ed.graph.get_all_collection_keys() if k.startswith("t/")} == (
            {"t/mine"} if way == "redo" else set()
        )

    ed = ready()
    each(points(getattr(ed, way), ENGINE), fails)


def test_a_result_that_is_not_the_preview_is_taken_back(monkeypatch):
    made = into_another()
    graph, before = made.ed.graph, look(made.ed.graph)
    monkeypatch.setattr("graphsurgeon.tf.open.snapshot.confirm_snapshot", lambda *args: None)
    monkeypatch.setattr("graphsurgeon.tf.copy.append.differences", lambda *args: ["'t/y' differs"])
    with refuses(
        PlanError,
        "apply(plan): the result differs from the preview: 't/y' differs; TensorFlow cannot "
        "delete the ops that it had added",
        "Report this, with plan.to_code(). Make the plan again with to='t_2'",
    ):
        made.ed.apply(made.make("t"))  # fmt: skip
    assert look(graph)["collections"] == before["collections"]
    assert made.ed.orphans == {op.name for op in graph.get_operations()[len(before["ops"]) :]}
    monkeypatch.undo()
    made.ed.apply(made.make("t_2"))
    np.testing.assert_array_equal(made.runs("t_2"), wanted("into another graph"))
