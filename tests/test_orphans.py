"""Orphans belong to the graph: what one editor has left there is no part of the model for any other."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.graph.open_graph import outputs_of
from graphsurgeon.recipes.signature import rows
from tests.graphs import tf1

X = np.float32([1.0, 2.0])


def session_of(kind: str) -> Any:
    """Returns a session of x -> y -> z with a variable; of a kind, with what an undone copy has left in it."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None], name="x")
        tf.identity(tf.multiply(tf1.get_variable("v", initializer=2.0), x, name="y"), name="z")
        session = tf1.Session(graph=graph)
        session.run(graph.get_collection("variables")[0].initializer)
    if kind != "never edited":
        one = gs.open(session)
        one.apply(one.plan().copy(one.select(), to="left", values=session))
        one.undo()
        if kind == "edited by another":
            session.other = one
        del one
        gc.collect()
    return session


def saved(ed: Any, path: Any, **how: Any) -> list[str]:
    ed.save(path, **how)
    return sorted(gs.open(path).snapshot.names)


def restored(ed: Any, session: Any, prefix: str) -> dict[str, str]:
    with session.graph.as_default():
        tf1.train.Saver().save(session, prefix)
    return ed.restore(prefix).restored


def copied(ed: Any, session: Any) -> list[str]:
    dst = gs.open(tf.Graph())
    return dst.apply(dst.plan().copy(ed.select(), to="c", values=session)).ops


def living(ed: Any, plan: Any) -> list[str]:
    """Returns the ops after a plan, without orphans."""
    ed.apply(plan)
    return [name for name in ed.snapshot.names if name not in ed.orphans]


def two(session: Any) -> tuple[Any, Any]:
    return gs.open(session), gs.open(session_of("never edited"))


#: What looks at all of a graph: an editor, a session and a folder -> what it finds.
DOORS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "select": lambda ed, s, path: ed.select().names,
    "match": lambda ed, s, path: [one.names for one in ed.match(tf.identity)],
    "untrained": lambda ed, s, path: dict(ed.untrained()),
    "feeds_needed": lambda ed, s, path: ed.feeds_needed(),
    "trace": lambda ed, s, path: list(ed.trace({"x": X}).results),
    "session": lambda ed, s, path: ed.session().run("y:0", {"x:0": X}).tolist(),
    "graph_def": lambda ed, s, path: [node.name for node in ed.graph_def().node],
    "save": lambda ed, s, path: saved(ed, path / "a.pb"),
    "save frozen": lambda ed, s, path: saved(ed, path / "a.pb", freeze=True),
    "save as a meta graph": lambda ed, s, path: saved(ed, path / "a.meta"),
    "save values": lambda ed, s, path: (ed.save(path / "a.ckpt"), tf.train.list_variables(str(path / "a.ckpt")))[1],
    "restore": lambda ed, s, path: restored(ed, s, str(path / "a")),
    "copy": lambda ed, s, path: copied(ed, s),
    "duplicate": lambda ed, s, path: [op.name for op in gs.duplicate(s.graph, values=s).graph.get_operations()],
    "connect": lambda ed, s, path: sorted(
        gs.connect(dict(zip("ab", two(s), strict=True)), {"a/y:0": "b/x:0"}).snapshot.names),
    "merge": lambda ed, s, path: sorted(gs.recipes.merge(*two(s), how="beside").snapshot.names),
    "transfer": lambda ed, s, path: str(gs.transfer(*two(s))),
    "diff": lambda ed, s, path: str(gs.diff(*two(s))),
    "frozen": lambda ed, s, path: sorted(gs.recipes.frozen(ed).snapshot.names),
    "check": lambda ed, s, path: ed.check("tflite").ops,
    "strip_training": lambda ed, s, path: living(ed, gs.recipes.strip_training(ed, "y")),
    "insert_after": lambda ed, s, path: living(ed, gs.recipes.insert_after(ed, "Mul", "Neg")),
    "replace": lambda ed, s, path: living(ed, ed.plan().replace(tf.identity, "Neg")),
    "rename": lambda ed, s, path: (living(ed, ed.plan().rename("y", to="w")), saved(ed, path / "a.meta")),
    "names to rename": lambda ed, s, path: rows(ed),
    "outputs to name": lambda ed, s, path: outputs_of(ed.snapshot),
    "set_input": lambda ed, s, path: living(ed, gs.recipes.set_input(ed, "x", shape=[3])),
    "picture": lambda ed, s, path: "left" in str(ed.to_svg()),
    "line about the model": lambda ed, s, path: ed.screen.traits()["titles"]["model"],
    "search": lambda ed, s, path: [ed.screen.find(query)["total"] for query in ("y", "left", "op:Mul", "placeholder")],
    "form to compare": lambda ed, s, path: (
        living(ed, ed.plan().rename("y", to="w")), ed.screen.run_form(target="applied")["feeds"]),
    "form to save": lambda ed, s, path: (
        ed.screen.mark_input("x:0"), ed.screen.mark_output("y:0"), ed.screen.save_form()["note"]),
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_no_door_takes_an_orphan_for_a_part_of_the_model(door, tmp_path):
    found = []
    for kind in ("never edited", "edited by another", "edited by one that is gone"):
        session, path = session_of(kind), tmp_path / kind
        path.mkdir()
        found.append(DOORS[door](gs.open(session), session, path))
    assert found[0] == found[1] == found[2]


def test_all_editors_of_a_graph_see_what_one_of_them_undoes():
    session = session_of("never edited")
    one, two = gs.open(session), gs.open(session)
    done = one.apply(one.plan().copy(one.select(), to="left", values=session))
    for _ in range(2):
        assert one.orphans == two.orphans == frozenset()
        one.undo()
        assert one.orphans == two.orphans == frozenset(done.ops)
        assert two.provenance("left/y").kind == "orphan"
        one.redo()
    one.undo()
    two.apply(two.plan().rename("y", to="w").rename("left/y", to="elsewhere"))
    assert two.graph is not one.graph
    assert two.orphans == one.orphans - {"left/y", "left/y/ReadVariableOp"} | {"elsewhere", "elsewhere/ReadVariableOp"}
    two.rebuild()
    assert two.orphans == frozenset()
    two.undo()
    two.undo()
    assert two.orphans == one.orphans == frozenset(done.ops)


def test_the_ops_in_a_call_that_is_undone_are_found_only_if_orphans_are_shown():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        tf.identity(tf.function(lambda a: tf.negative(tf.exp(a)))(x), name="y")
    ed = gs.open(graph)
    found = ed.screen.find("op:Exp")["total"]
    assert found == 1
    ed.apply(ed.plan().copy(ed.select(), to="left", unmapped="placeholder"))
    assert ed.screen.find("op:Exp")["total"] == 2
    ed.undo()
    assert ed.screen.find("op:Exp")["total"] == 1
    ed.screen.show_helpers("orphans")
    assert ed.screen.find("op:Exp")["total"] == 2
