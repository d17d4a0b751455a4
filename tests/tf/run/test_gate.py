"""The gate: a stranger's graph with ops that reach out of it is not run, through whichever door, before it is trusted.

Each public callable is in one of the tables below, so that a new one must say what it does.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.__main__ import main
from graphsurgeon.errors import TrustError
from graphsurgeon.tf.run.sessions import require_trusted, session_of
from tests.hostile import READING, WRITING, hostile
from tests.needs import ROOT
from tests.refusal import refuses
from tests.tf.test_fresh import calls
from tests.tiers import product

tf1 = tf.compat.v1
FEEDS = {"x:0": np.ones([2, 2], np.float32)}
VALUES = {"v": np.ones([2, 1], np.float32)}
NAMED = ("that you have not trusted yet: it holds 1 op that writes files", "ed.trust()", "gs.open(..., trust=True)")


@pytest.fixture(scope="module")
def kind(request):
    """How a SavedModel writes or reads a file: a key of `WRITING`; ``text``: by the first, as a text proto."""
    return getattr(request, "param", "WriteFile")


@pytest.fixture(scope="module")
def model(tmp_path_factory, kind):
    """A SavedModel that writes a file when it is loaded or run, in a module's own folder, which is empty otherwise."""
    folder = tmp_path_factory.mktemp("stranger")
    text = kind == "text"
    made = hostile(folder / "model", "WriteFile" if text else kind, folder / "target", text)
    for path in folder.glob("target*"):  # what building it wrote
        path.unlink()
    return made


@pytest.fixture
def target(model):
    """The file that would be written; at the end it must not be there."""
    path = model.parent / "target"
    assert not list(path.parent.glob("target*"))
    yield path
    there = list(path.parent.glob("target*"))
    for file in there:
        file.unlink()
    assert not there, "it was run"


def own():
    """An editor of this program's own: the same variable, and outputs."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        tf.negative(tf1.placeholder(tf.float32, [None, 1], name="a"), name="b")
        tf.matmul(x, tf1.get_variable("v", initializer=[[0.0], [0.0]]), name="y")
    return gs.open(graph)


def copied(ed, how):
    """An editor of one's own that a part of the stranger's was copied into, the writing op with it."""
    mine = own()
    plan = mine.plan().copy(ed.select(outputs="y:0"), to="new", inputs={"x:0": "x:0"}, variables="initial", **how)
    mine.apply(plan)
    return mine


def applied(ed, plan):
    ed.apply(plan)
    return ed


#: Door -> what is done there; each runs the graph, and so is refused.
DOORS = {
    "session": lambda ed, tmp: ed.session(),
    "session of the caller's": lambda ed, tmp: ed.session(tf1.Session(graph=ed.graph)),
    "restore": lambda ed, tmp: ed.restore(tmp / "model" / "variables" / "variables"),
    "trace": lambda ed, tmp: ed.trace(FEEDS, "y:0"),
    "trace of a plan": lambda ed, tmp: ed.trace(FEEDS, "y:0", plan=ed.plan().insert("Neg", on="y:0", name="n")),
    "function": lambda ed, tmp: ed.function("x:0", "y:0"),
    "function with values": lambda ed, tmp: ed.function("x:0", "y:0", values={"v": [[1.0], [2.0]]}),
    "keras_layer": lambda ed, tmp: ed.keras_layer("x:0", "y:0"),
    "keras_model": lambda ed, tmp: ed.keras_model("x:0", "y:0"),
    "transfer to": lambda ed, tmp: gs.transfer({"v": np.zeros([2, 1], np.float32)}, ed),
    "compare": lambda ed, tmp: gs.compare(ed, own(), FEEDS),
    "compare with": lambda ed, tmp: gs.compare(own(), ed, FEEDS),
    "duplicate": lambda ed, tmp: gs.duplicate(ed),
    "duplicate of a part": lambda ed, tmp: gs.duplicate(ed.select(outputs="y:0")),
    "duplicate of a path": lambda ed, tmp: gs.duplicate(str(tmp / "model")),
    "connect": lambda ed, tmp: gs.connect({"a": ed, "b": own()}, {"a/y:0": "b/a:0"}, values={"b": "initial"}).session(),
    "inlined": lambda ed, tmp: ed.inlined().session(),
    "rebuild": lambda ed, tmp: applied(ed, ed.plan().rename("y", to="z")).session(),
    "copied": lambda ed, tmp: copied(ed, {}).session(),
    "before": lambda ed, tmp: applied(ed, ed.plan().rename("y", to="z")).before().session(),
    "open of its graph": lambda ed, tmp: gs.open(ed.graph).session(),
    "open of its GraphDef": lambda ed, tmp: gs.open(ed.graph_def()).session(),
    "open(signature=)": lambda ed, tmp: gs.open(tmp / "model", signature="serving_default").session(),
    "open(raw=)": lambda ed, tmp: gs.open(tmp / "model", raw=True).session(),
    "open(trust=False)": lambda ed, tmp: gs.open(tmp / "model", trust=False).session(),
    "frozen": lambda ed, tmp: gs.recipes.frozen(ed, "y:0", values=VALUES).session(),
    "check for tflite": lambda ed, tmp: ed.check("tflite", "y:0"),
    "check for tfjs": lambda ed, tmp: ed.check("tfjs", "y:0"),
    "save for tflite": lambda ed, tmp: ed.save(tmp / "m.tflite", outputs="y:0", values=VALUES, verify=False),
    "save for Keras": lambda ed, tmp: ed.save(tmp / "m.keras", outputs="y:0", values=VALUES, verify=False),
    "split_at": lambda ed, tmp: gs.recipes.split_at(ed, "y/ReadVariableOp:0", "y:0", feeds=FEEDS),
}


@pytest.mark.parametrize(("kind", "door"), product([*WRITING, "text"], DOORS), indirect=["kind"], scope="module")
def test_no_door_runs_it(door, kind, model, target):
    with refuses(TrustError, *(text.replace("writes", "reads") if kind == READING else text for text in NAMED)):
        DOORS[door](gs.open(model), model.parent)


#: What can be done with it all the same, as none of it is run.
LOOKS = {
    "print": lambda ed, tmp: str(ed),
    "signature": lambda ed, tmp: str(gs.open(tmp / "model", signature="serving_default")),
    "picture": lambda ed, tmp: ed.to_svg(),
    "value": lambda ed, tmp: ed.value("v").tolist() == [[3.0], [4.0]] or pytest.fail("not that of the file"),
    "untrained": lambda ed, tmp: ed.untrained(),
    "apply and undo": lambda ed, tmp: applied(ed, ed.plan().rename("y", to="z")).undo(),
    "save": lambda ed, tmp: ed.save(tmp / "again.pb"),
    "code": lambda ed, tmp: ed.to_code(),
    "diff": lambda ed, tmp: gs.diff(ed, own()),
    "view": lambda ed, tmp: main(["view", str(tmp / "model"), "-o", str(tmp / "a.html"), "--no-open"]),
    "view --signature": lambda ed, tmp: main(
        ["view", str(tmp / "model"), "--signature", "serving_default", "-o", str(tmp / "b.html"), "--no-open"]
    ),
}


@pytest.mark.parametrize(("kind", "look"), product([*WRITING, "text"], LOOKS), indirect=["kind"], scope="module")
def test_looking_and_planning_need_no_trust(look, model, target):
    LOOKS[look](gs.open(model), model.parent)


def test_what_only_looks_or_plans_makes_no_session():
    """Each public callable is a door that is tried above, or is known not to run anything."""
    tried = {door.partition(" ")[0].partition("(")[0] for door in (*DOORS, *LOOKS)}
    quiet = {
        *("apply", "before", "draft", "explain", "feeds_needed", "find", "graph", "graph_def", "history", "inputs"),
        "start_journal",
        *("layer", "layers", "match", "op", "orphans", "outputs", "paint", "plan", "provenance", "redo", "screen"),
        *("removal_blockers", "risks", "select", "selection", "show_signature", "signatures", "snapshot", "tensor"),
        *("title", "to_code", "to_dot", "to_html", "to_svg", "trust", "trusted", "undo", "view"),
    }
    public = {name for name in dir(gs.Editor) if not name.startswith("_")}
    assert public - quiet - tried == set()
    assert quiet - public == set()
    functions = {name for name in gs.__all__ if inspect.isfunction(getattr(gs, name))}
    others = {"doctor", "evolve", "candidate", "crossover", "local_cluster"}
    others |= {"recover"}  # tests/test_recover.py: it trusts nothing
    old = {"copy_variable_to_graph", "copy_to_graph", "get_copied", "copy_op_to_graph", "get_copied_op"}
    assert functions - tried - others - old == set()


def test_sessions_are_made_and_files_are_loaded_in_one_place():
    """What makes a session, a callable, or loads with TensorFlow, in the package: all of it is behind the gate."""
    runs = ("Session", "InteractiveSession", "MonitoredSession", "MonitoredTrainingSession", "wrap_function")
    made = {
        (str(path.relative_to(ROOT / "graphsurgeon")), name)
        for path in sorted((ROOT / "graphsurgeon").rglob("*.py"))
        for _, name in calls(path)
        if name.rpartition(".")[2] in runs or name.endswith(("saved_model.load", "loader.load", "tf.function"))
    }
    assert made == {
        ("tf/run/sessions.py", "tf1.Session"),
        ("tf/examples.py", "tf.function"),  # a training step of this package
        ("tf/functions/trace.py", "tf.function"),  # of what somebody has written in Python
        (
            "tf/functions/graph_function.py",
            "tf.function",
        ),  # `trace_sites` asks the gate before; a plan that collapses runs nothing
        # another process, which `check` and `prove` start after they have asked the gate
        ("tf/save/worker_main.py", "tf.saved_model.load"),
        ("tf/save/worker_main.py", "tf1.Session"),
        ("tf/save/worker_main.py", "tf1.saved_model.loader.load"),
        ("tf/save/worker_main.py", "tf1.wrap_function"),
    }


# -- trust ----------------------------------------------------------------------------------------


def stranger(tmp_path, kind="WriteFile"):
    """A model of its own bytes: nobody has trusted these yet."""
    made = hostile(tmp_path / "model", kind, tmp_path / "target")
    for path in tmp_path.glob("target*"):
        path.unlink()
    return made


def written(tmp_path):
    return sorted(path.name for path in tmp_path.glob("target*"))


@pytest.mark.parametrize("kind", sorted(set(WRITING) - {READING, "DebugIdentity"}))  # TensorFlow runs that one no more
def test_with_trust_it_runs(kind, tmp_path):
    folder = stranger(tmp_path, kind)
    with refuses(TrustError, "session(): model came from a file", WRITING[kind][1]):
        gs.open(folder).session()
    assert written(tmp_path) == []
    got = gs.open(folder, trust=True).session().run("y:0", FEEDS)
    assert got.tolist() == [[7.0], [7.0]]
    assert written(tmp_path) != []


def test_trust_is_remembered_by_the_bytes(tmp_path):
    folder = stranger(tmp_path)
    moved = tmp_path / "elsewhere"
    gs.open(folder).trust()
    folder.rename(moved)
    gs.open(moved).session()
    gs.open(moved, signature="serving_default").session()
    file = moved / "saved_model.pb"
    file.write_bytes(file.read_bytes() + b"\x08\x01")  # the same SavedModel, in other bytes
    with refuses(TrustError, "that you have not trusted yet"):
        gs.open(moved).session()


def test_trust_goes_with_what_is_made_from_it(tmp_path):
    ed = gs.open(stranger(tmp_path))
    mine = copied(ed, {})
    with refuses(TrustError, "new/evil"):
        mine.session()
    ed.trust()
    mine.session()
    ed.inlined().session()
    gs.open(ed.graph).session()
    gs.connect({"a": ed, "b": own()}, {"a/y:0": "b/a:0"}, values={"b": "initial"}).session()


def test_what_cannot_reach_out_any_more_is_run(tmp_path):
    ed = gs.open(stranger(tmp_path))
    ed.apply(ed.plan().remove("evil").remove("main"))
    assert not ed.risks()
    assert ed.session().run("y:0", FEEDS).tolist() == [[7.0], [7.0]]
    assert written(tmp_path) == []
    ed.undo()
    with refuses(TrustError, "'evil' (WriteFile)"):
        ed.session()


def test_a_part_without_such_ops_can_be_taken(tmp_path):
    ed, mine = gs.open(stranger(tmp_path)), own()
    mine.apply(mine.plan().copy(ed.select(name="v*"), to="new", values=ed))
    assert mine.session().run("new/v/Read/ReadVariableOp:0").tolist() == [[3.0], [4.0]]
    assert written(tmp_path) == []


def test_a_program_of_ones_own_needs_no_trust(tmp_path):
    with tf.Graph().as_default() as graph:
        tf.raw_ops.WriteFile(filename=str(tmp_path / "mine"), contents="x", name="w")
    ed = gs.open(graph)
    assert ed.risks()
    ed.session().run("w")
    assert (tmp_path / "mine").read_text() == "x"
    function = tf.function(lambda x: tf.py_function(lambda v: v, [x], tf.float32), [tf.TensorSpec([], tf.float32)])
    opened = gs.open(function)
    opened.session().run(opened.outputs, {opened.inputs["x"]: 2.0})


def test_what_this_program_has_made_and_a_stranger_s_part_are_told_apart(tmp_path):
    ed = gs.open(stranger(tmp_path))
    with tf.Graph().as_default() as graph:
        tf1.py_func(lambda: np.float32(1), [], tf.float32, name="mine")
    mine = gs.open(graph)
    mine.apply(mine.plan().copy(ed.select(name=["x"]), to="new"))
    mine.session().run("mine:0")
    mine.apply(mine.plan().copy(ed.select(name=["evil*"]), to="two"))
    with refuses(TrustError, "it holds 1 op that writes files, 'two/evil' (WriteFile)"):
        mine.session()


def test_a_save_without_trust_is_not_opened_again(model, target):
    saved = gs.open(model).save(model.parent / "copy.pb")
    assert "not opened again: model came from a file" in str(saved)


def test_what_a_file_holds_is_read_without_a_session(model, target):
    mine = own()
    report = gs.transfer(gs.open(model), mine)
    assert report.pairs == (("v", "v"),)
    assert mine.value("v").tolist() == [[3.0], [4.0]]


def test_the_gate_itself(tmp_path):
    graph = gs.open(stranger(tmp_path)).graph
    with refuses(TrustError, "train(): model came from a file", *NAMED):
        require_trusted(graph, "train()")
    with refuses(TrustError, *NAMED):
        session_of(graph)
    require_trusted(SimpleNamespace(), "train()")
    assert Path(tmp_path, "model").exists()
