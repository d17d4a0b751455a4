"""The script of a history, run in a new process, makes the same graph."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.fresh import process
from tests.graphs import model, put, tf1, tiny
from tests.refusal import refuses

RUN = """
import runpy, sys
ed = runpy.run_path({script!r})["redo"]()
open({out!r}, "wb").write(ed.graph_def().SerializeToString(deterministic=True))
"""


def again(script: Path) -> Any:
    """Returns the GraphDef that a script makes in a new process."""
    out = script.with_suffix(".out")
    code = RUN.format(script=str(script), out=str(out))
    done = process(code)
    assert done.returncode == 0, done.stderr[-3000:] + script.read_text()
    return tf1.GraphDef.FromString(out.read_bytes())


def files(folder: Path) -> dict[str, str]:
    """Writes a net as .pb, as .meta with its checkpoint, and as a SavedModel; returns their paths."""
    m = model("resource", optimizer=None)
    put(m.w, 3, m.session)
    with m.graph.as_default():
        tf1.train.Saver().save(m.session, str(folder / "net"))
        builder = tf1.saved_model.Builder(str(folder / "saved"))
        builder.add_meta_graph_and_variables(m.session, ["serve"])
        builder.save()
    (folder / "tiny.pb").write_bytes(tiny().as_graph_def().SerializeToString())
    return {"pb": str(folder / "tiny.pb"), "meta": str(folder / "net.meta"), "saved": str(folder / "saved")}


@pytest.mark.parametrize("kind", ["pb", "meta", "saved"])
def test_a_history_over_two_files_is_done_again(kind, tmp_path):
    paths = files(tmp_path)
    src, ed = gs.open(paths[kind]), gs.open(paths["pb"])
    src.apply(src.plan().set_attr("x", "_mark", "of the source"))
    inputs = {"x:0": "y:0"}
    end = "z:0" if kind == "pb" else "net/y:0"
    ed.apply(ed.plan().copy(ed.select(name="k"), to="undone"))
    ed.undo()
    block = src.select(inputs="x:0", outputs=end)
    ed.apply(ed.plan().copy(block, to="part", inputs=inputs, variables="freeze", values=src))
    ed.apply(ed.plan().insert("Relu", on="x:0", name="relu", T=tf.float32).set_device("relu", "/cpu:0"))
    ed.apply(ed.plan().copy(ed.select(scope="part"), to="twice", unmapped="keep"))
    ed.apply(ed.plan().remove(["k"]).add_control("z", after="relu"))
    ed.rebuild()
    script = tmp_path / "redo.py"
    text = ed.to_code(script)
    assert script.read_text() == text
    assert "undone" not in text
    assert text.startswith('"""Does 5 steps on tiny.pb again."""\n')
    assert "def redo():" in text
    compile(text, "redo.py", "exec")
    assert again(script) == ed.graph_def()


def test_a_source_as_it_was_when_it_was_copied_from(tmp_path):
    paths = files(tmp_path)
    src, ed = gs.open(paths["pb"]), gs.open(paths["pb"])
    src.apply(src.plan().copy(src.select(name="y"), to="early", unmapped="keep"))
    ed.apply(ed.plan().copy(src.select(name=["x", "early/y"]), to="a"))
    src.apply(src.plan().copy(src.select(name="early/y"), to="late", unmapped="keep"))
    ed.apply(ed.plan().copy(src.select(op="Square") | src.select(name="x"), to="b"))
    src.apply(src.plan().copy(src.select(name="y"), to="never", unmapped="keep"))
    script = tmp_path / "redo.py"
    text = ed.to_code(script)
    assert "'never'" not in text
    assert text.count("src = gs.open(") == 1
    assert again(script) == ed.graph_def()
    src.undo(), src.undo()
    assert again(script) == ed.graph_def()
    assert ed.to_code() == text


def test_an_undone_step_of_a_source_that_was_copied_from(tmp_path):
    src, ed = gs.open(files(tmp_path)["pb"]), gs.open(tf.Graph())
    src.apply(src.plan().copy(src.select(name="y"), to="early", unmapped="keep"))
    ed.apply(ed.plan().copy(src.select(name=["x", "early/y"]), to="a"))
    src.undo()
    assert "early" in ed.to_code()
    src.apply(src.plan().copy(src.select(name="y"), to="other", unmapped="keep"))
    with refuses(PlanError, "to_code(): step 1 of tiny.pb (copy 1 op of tiny.pb to early/) is the source of a copy"):
        ed.to_code()


def test_a_source_whose_editor_is_gone(tmp_path):
    """A selection is enough to write down how the graph was opened, and what was done to it."""
    path = files(tmp_path)["pb"]

    def block():
        src = gs.open(path)
        src.apply(src.plan().copy(src.select(name="y"), to="early", unmapped="keep"))
        return src.select(name=["x", "early/y"])

    ed, chosen = gs.open(path), block()
    gc.collect()
    plan = ed.plan().copy(chosen, to="a")
    assert "src: set it before this runs; the editor of 'tiny.pb' after its earlier plans" in plan.to_code()
    ed.apply(plan)
    script = tmp_path / "redo.py"
    assert "to='early'" in ed.to_code(script)
    assert again(script) == ed.graph_def()


def test_two_editors_of_one_graph_keep_their_steps_apart():
    graph = tiny()
    first, second, ed = gs.open(graph), gs.open(graph, title="second"), gs.open(tf.Graph())
    first.apply(first.plan().copy(first.select(name="y"), to="early", unmapped="keep"))
    ed.apply(ed.plan().copy(first.select(name=["x", "early/y"]), to="a"))
    ed.apply(ed.plan().copy(second.select(name=["x", "y"]), to="b"))
    text = ed.to_code()
    assert "opened as 'graph'" in text
    assert "opened as 'second'" in text
    assert text.count("to='early'") == 1
    assert "src.select(name=['x', 'early/y'])" in text
    assert "src2.select(name=['x', 'y'])" in text


def test_an_editor_keeps_no_graph_alive_and_no_source_of_its_copies():
    graph, source = tiny(), tiny()
    held = [weakref.ref(graph), weakref.ref(source)]
    ed = gs.open(graph)
    ed.apply(ed.plan().copy(gs.open(source).select(), to="a"))
    ed.apply(ed.plan().rename("a", to="b"))
    del ed, graph, source
    gc.collect()
    assert [one() for one in held] == [None, None]


def test_live_graphs_and_sessions_are_arguments():
    m = model("resource", optimizer=None)
    src, ed = gs.open(m.session), gs.open(tiny())
    ed.apply(ed.plan().copy(src.select(scope="net"), to="n", unmapped="placeholder", values=m.session))
    text = ed.to_code()
    assert "def redo(graph, session):" in text
    assert "    # graph: a live tf.Graph, opened as 'graph'\n" in text
    assert "    # session: a tf.compat.v1.Session, opened as 'graph'\n" in text
    assert "__main__" not in text
    space: dict[str, Any] = {}
    exec(text, space)
    fresh = model("resource", optimizer=None)
    made = space["redo"](tiny(), fresh.session)
    assert made.graph_def() == ed.graph_def()
    np.testing.assert_array_equal(made.session().run("n/net/w/Read/ReadVariableOp:0"), fresh.session.run(fresh.w))


@pytest.mark.parametrize("size", [3, 200])
def test_arrays_are_inline_beside_the_script_or_arguments(size, tmp_path):
    graph = tf.Graph()
    with graph.as_default():
        w = tf1.get_variable("w", [size], initializer=tf1.zeros_initializer(), use_resource=True)
        tf.negative(w + tf1.placeholder(tf.float32, [size], name="p"), name="y")
    path = tmp_path / "a.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    src, ed = gs.open(str(path)), gs.open(str(path))
    values = {"w": np.arange(size, dtype=np.float32)}
    constants = {"p:0": np.full([size], np.inf, np.float32)}
    plan = ed.plan().copy(src.select(outputs="y:0"), to="t", variables="freeze", values=values, inputs=constants)
    ed.apply(plan)
    text = ed.to_code()
    if size == 3:
        assert "values={'w': [0.0, 1.0, 2.0]}" in text
        assert "np.inf" in text
        assert "import numpy as np\n" in text
    else:
        assert "def redo(values, constants):" in text
        assert "# values: {variable: array}, the values of step 1: 'w' float32 (200,)" in text
        assert "arrays=True" in text
    with refuses(PlanError, "to_code(arrays=True): there is no place to write the arrays to"):
        ed.to_code(arrays=True)
    script = tmp_path / "redo.py"
    ed.to_code(script, arrays=True)
    assert (tmp_path / "redo.npz").exists() == (size == 200)
    assert again(script) == ed.graph_def()


def test_values_of_a_session_of_a_file_are_those_of_then(tmp_path):
    src, ed = gs.open(files(tmp_path)["meta"]), gs.open(tf.Graph())
    own = tf1.Session(graph=src.graph)
    with src.graph.as_default():
        own.run(tf1.global_variables_initializer())
    before = own.run("net/b/Read/ReadVariableOp:0")
    ed.apply(ed.plan().copy(src.select(outputs="net/y:0"), to="t", variables="freeze", values=own))
    script = tmp_path / "redo.py"
    assert f"'net/b': {before.tolist()}" in ed.to_code(script)
    assert again(script) == ed.graph_def()


@pytest.mark.parametrize("arrays", [False, True])
def test_values_trained_since_are_written(arrays, tmp_path):
    src, ed = gs.open(files(tmp_path)["meta"]), gs.open(tf.Graph())
    put(src.graph.get_collection("variables")[0], 9, src.session())
    ed.apply(ed.plan().copy(src.select(outputs="net/y:0"), to="t", variables="freeze", values=src))
    script = tmp_path / "redo.py"
    assert "'net/w': [[9.0, 9.0, 9.0], [9.0, 9.0, 9.0]]" in ed.to_code(script, arrays=arrays)
    assert again(script) == ed.graph_def()


@pytest.mark.parametrize("arrays", [False, True])
def test_a_rename_with_the_values_of_a_session_is_done_again(arrays, tmp_path):
    ed = gs.open(files(tmp_path)["meta"])
    session = ed.session()
    put(ed.graph.get_collection("variables")[0], 9, session)
    plan = ed.plan().rename("SquaredDifference", to="gap", values=session).rename("net", to="fresh", values=session)
    assert ".rename('net', to='fresh', values=session)" in plan.to_code()
    ed.apply(plan)
    script = tmp_path / "redo.py"
    text = ed.to_code(script, arrays=arrays)
    assert ".rename('net', to='fresh', values={'net/w': [[9.0," in text
    assert ".rename('SquaredDifference', to='gap')" in text  # nothing in it has a value
    assert again(script) == ed.graph_def()


def test_ops_added_by_hand_are_told(tmp_path):
    ed = gs.open(files(tmp_path)["pb"])
    ed.apply(ed.plan().copy(ed.select(name="y"), to="a", unmapped="keep"))
    with ed.graph.as_default():
        tf.negative(ed.tensor("y:0"), name="mine")
    ed.apply(ed.plan().copy(ed.select(name="mine"), to="b", unmapped="keep"))
    with ed.graph.as_default():
        tf.negative(ed.tensor("y:0"), name="last")
    text = ed.to_code()
    assert "# before step 2, 1 op was added by hand, 'mine' first: add them here\n" in text
    assert "# after that, 1 op was added by hand, 'last' first: add them here\n" in text


def test_a_step_on_the_orphans_of_an_undone_one():
    ed = gs.open(tiny())
    ed.apply(ed.plan().copy(ed.select(name="y"), to="a", unmapped="keep"))
    ed.undo()
    ed.apply(ed.plan().copy(ed.select(name="a/y"), to="b", unmapped="keep"))
    with refuses(PlanError, "to_code(): step 2 uses 'a/y', which step 1 made, and that step is undone"):
        ed.to_code()


def test_a_step_uses_the_op_that_a_later_step_made_again():
    ed = gs.open(tiny())
    ed.apply(ed.plan().insert("Abs", on="x:0", name="positive"))
    ed.apply(ed.plan().copy(ed.select(name="y"), to="c", unmapped="keep"))
    ed.undo()
    ed.undo()
    ed.apply(ed.plan().copy(ed.select(name="y"), to="c", unmapped="keep"))
    ed.apply(ed.plan().copy(ed.select(name="c/y"), to="d", unmapped="keep"))
    assert "to='d'" in ed.to_code()


def test_an_inlined_editor_begins_with_the_history_of_the_other(tmp_path):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None], name="x")
        tf.identity(tf.function(lambda v: tf.multiply(v, 2.0, name="twice"))(x), name="y")
    path = tmp_path / "calls.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    ed = gs.open(str(path))
    ed.apply(ed.plan().set_attr("x", "_mark", "first"))
    flat = ed.inlined()
    flat.apply(flat.plan().copy(flat.select(outputs="y:0"), to="t"))
    script = tmp_path / "redo.py"
    flat.to_code(script)
    assert again(script) == flat.graph_def()


def test_a_history_without_steps():
    assert "ed = gs.open(graph)\n    return ed\n" in gs.open(tiny()).to_code()


def test_scripts_go_where_they_can_be_written(tmp_path):
    ed = gs.open(tiny())
    with refuses(PlanError, "to_code(3): 3 is not a path", "Give a path, as text or pathlib.Path"):
        ed.to_code(3)
    with refuses(
        PlanError, f"to_code({str(tmp_path / 'no' / 'x.py')!r}): it cannot be written: No such file", "Choose"
    ):
        ed.to_code(tmp_path / "no" / "x.py")


def test_a_selection_by_position_says_how_to_ask():
    with refuses(gs.SelectionError, "select('y'): it is not clear whether that is a name, a scope", "select(name='y')"):
        gs.open(tiny()).select("y")
