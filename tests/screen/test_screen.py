"""The screen: every gesture is a method, and does what the editor's own call does."""

from __future__ import annotations

import json

import numpy as np
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from graphsurgeon.tf.open import op_facts
from graphsurgeon.ui.screen import Screen
from tests.graphs import look, model, run, tiny
from tests.refusal import refuses
from tests.screen.screens import X, opened, row_of_ops, tf1, traits

# -- marks ----------------------------------------------------------------------------------------


# -- selecting and folding ------------------------------------------------------------------------------


def test_pick():
    _, ed, screen = opened()
    screen.select(["net/"])
    assert ed.selection == ed.select(scope="net")
    screen.select(["loss"], mode="add")
    assert ed.selection == ed.select(scope="net") | ed.select(name="loss")
    screen.select(["net/", "x"], mode="toggle")
    assert set(ed.selection.names) == {"loss", "x"}
    assert traits(screen)["selected"] == ["loss", "x"]
    assert traits(screen)["status"]["text"] == "2 ops selected"
    screen.select([])
    assert not ed.selection
    assert traits(screen)["status"]["text"] == "nothing selected"
    with refuses(SelectionError, "select('losss'): nothing in graph has this name", "Did you mean 'loss'"):
        screen.select(["losss"])


# -- the boundary ---------------------------------------------------------------------------------------


# -- the plan -------------------------------------------------------------------------------------------


def test_copy_of_what_is_selected_under_a_free_scope():
    ed = gs.open(tiny())
    screen = ed.screen
    with refuses(PlanError, "copy(): there is nothing to copy", "Mark boundary tensors, or select boxes first"):
        screen.copy()
    screen.select(["y"])
    screen.copy()
    screen.copy(unmapped="keep")
    assert [s.to for s in ed.draft.steps] == ["copy", "copy_2"]
    screen.connect("copy/y:0", "copy_2/y", 0)
    (joined,) = traits(screen)["plan"]["connections"]
    assert joined == {"from": "copy/y:0", "to": "copy_2/y", "input": 0, "previous": "x:0"}
    screen.apply()
    assert run(ed.graph, "copy_2/y:0", {"copy/x:0": X}).tolist() == (X**4).tolist()


def test_faults_are_shown_and_nothing_is_applied():
    ed = gs.open(tiny())
    screen = ed.screen
    with refuses(PlanError, "apply(): the plan is empty", "Copy a region or connect a tensor first"):
        screen.apply()
    screen.select(["y"])
    screen.copy("z")
    shown = traits(screen)
    assert shown["status"] == {"text": "copy(to='z'): the name 'z' is taken in graph", "level": "error"}
    assert shown["plan"]["faults"][0]["suggestion"] == "Type to='z_2', which is free"
    assert not shown["plan"]["ready"]
    before = look(ed.graph)
    with refuses(PlanError, "the name 'z' is taken"):
        screen.apply()
    assert look(ed.graph) == before
    assert len(ed.draft) == 1
    with refuses(PlanError, "copy(unmapped='nonsense'): 'nonsense' is not one of 'include'", "Call it as copy("):
        screen.copy("q", unmapped="nonsense")


def test_a_plan_outlives_growth_of_the_graph():
    ed = gs.open(tiny())
    ed.screen.select(["y"])
    ed.screen.copy("t")
    with ed.graph.as_default():
        tf.no_op()
    assert ed.draft.base is ed.snapshot
    ed.screen.apply()
    assert "t/y" in ed.snapshot.index


def test_a_connection_that_needs_a_new_graph():
    ed = gs.open(tiny())
    old, screen = ed.graph, ed.screen
    screen.connect("x:0", "z", 0)
    assert ed.draft.mode == "materialize"
    assert "changed" in {b["state"] for b in traits(screen)["scenes"]["destination"]["boxes"]}
    screen.apply()
    assert ed.graph is not old
    assert run(ed.graph, "z:0", {"x:0": X}).tolist() == (X + 1).tolist()
    screen.undo()
    assert ed.graph is old
    assert traits(screen)["scenes"]["destination"] is None


def test_two_editors():
    m = model("resource")
    m.train_steps()
    src, dst = gs.open(m.session, title="left"), gs.open(tf.Graph(), title="right")
    dst.view(src)
    screen = dst.screen
    assert (screen.source, screen.destination, screen.is_single_graph) == (src, dst, False)
    assert traits(screen)["titles"] == {"source": "left", "destination": "right", "model": screen._context.model_text}
    assert traits(screen)["scenes"]["destination"]["boxes"] == []
    screen.mark_input("x:0")
    screen.mark_output("net/y:0")
    screen.copy("grafted")
    screen.apply()
    feed = m.feed()[m.x]
    np.testing.assert_array_equal(
        dst.session().run("grafted/net/y:0", {"grafted/x:0": feed}), m.session.run(m.y, {m.x: feed})
    )
    assert src.history == []
    assert [b["name"] for b in traits(screen)["scenes"]["destination"]["boxes"]]
    screen.undo()
    assert dst.history[0].undone


def test_copying_there_drops_control_edges_and_says_so():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [], name="x")
        with tf.control_dependencies([tf.no_op(name="first")]):
            tf.square(x, name="y")
    src, dst = gs.open(graph), gs.open(tf.Graph())
    dst.view(src)
    dst.screen.select(["y"])
    dst.screen.copy("t")
    shown = traits(dst.screen)
    assert shown["plan"]["faults"] == []
    assert any("control input" in w and "y after first" in w for w in shown["plan"]["warnings"])
    assert shown["status"]["level"] == "warn"


# -- telling the page -------------------------------------------------------------------------------------


def test_every_change_is_told():
    _, ed, screen = opened()
    reported = []
    screen.on_change(lambda: reported.append(len(reported)))
    for verb, args in [
        ("select", (["net/"],)), ("mark_boundary", ()), ("mark_input", ("x",)), ("mark_output", ("loss",)),
        ("unmark", ("x",)), ("clear_boundary", ()), ("copy", ("t",)), ("undo", ()), ("redo", ()), ("apply", ()),
        ("fold_all", ()), ("outline_open", ("net/",)), ("set_direction", ("TB",)), ("cancel", ()),
    ]:  # fmt: skip
        before = len(reported)
        getattr(screen, verb)(*args)
        assert len(reported) > before, verb
    before = len(reported)
    ed.undo()
    assert len(reported) > before


def test_traits_are_json_whatever_the_names():
    g = tf1.GraphDef()
    g.node.add(name="a/b", op="NoOp")
    g.node.add(name="A.b-c_d/>x", op="NoOp")
    ed = gs.open(g)
    assert json.dumps(ed.screen.traits())
    assert set(traits(ed.screen)) == {
        "scenes", "titles", "selected", "boundary", "plan", "status", "outline", "views", "look", "run",
        "inferred", "theme",
    }  # fmt: skip


# -- edits ----------------------------------------------------------------------------------------


def test_a_copy_says_how_much_comes_along():
    screen = gs.open(model("resource").graph).screen
    screen.mark_input("x:0")
    screen.mark_output("net/y:0")
    chosen = len(screen.region)
    screen.copy("one")
    made = screen.draft.preview().counts["ops"]
    assert made > chosen > 1
    needed = made - chosen - 1
    said = f"{chosen} ops will be copied to one/, plus {needed} ops that they need and 1 placeholder: {made} new ops"
    assert screen.traits()["status"]["text"].startswith(said)


# -- what code does meanwhile -----------------------------------------------------------------------------


def test_ops_that_code_adds_are_in_the_next_picture_beside_the_region():
    screen = row_of_ops()
    screen.mark_input("a")
    screen.mark_output("d")
    with screen.source.graph.as_default():
        tf.negative(screen.source.graph.get_tensor_by_name("d:0"), name="more")
    screen.select(["e"])
    shown = traits(screen)
    assert "more" in [b["name"] for b in shown["scenes"]["source"]["boxes"]]
    assert shown["boundary"]["boxes"] == {"in/b": 1, "in/c": 1, "d": 1}
    assert screen.region.names == ["in/b", "in/c", "d"]


def test_a_plan_stays_good_when_code_applies_another():
    screen = row_of_ops()
    ed = screen.destination
    screen.mark_input("a")
    screen.mark_output("d")
    screen.copy("copy")
    ed.apply(ed.plan().bypass("in/b"))
    assert screen.draft.check() == ()
    assert traits(screen)["boundary"]["ops"] == 2
    screen.apply()
    assert run(ed.graph, "copy/d:0", {"copy/a:0": X[0]}).tolist() == X[0].tolist()


def test_a_plan_stays_good_when_code_changes_the_graph_it_copies_from():
    m = model("resource")
    source, home = gs.open(m.session), gs.open(tf.Graph())
    screen = Screen(home, source, facts=op_facts)
    screen.mark_input("x:0")
    screen.mark_output("net/y:0")
    screen.copy("copy")
    source.apply(source.plan().set_device("net/y", "/cpu:0"))
    assert screen.draft.check() == ()
    assert "set_device" not in traits(screen)["plan"]["code"]
    screen.apply()
    feed = m.feed()[m.x]
    want = m.session.run("net/y:0", {"x:0": feed})
    np.testing.assert_array_equal(home.session().run("copy/net/y:0", {"copy/x:0": feed}), want)


def test_a_plan_whose_ops_are_gone_says_so():
    screen = row_of_ops()
    screen.select(["d"])
    screen.copy("copy")
    screen.destination.apply(screen.destination.plan().remove("d"))
    assert [fault.request for fault in screen.draft.check()] == ["copy(to='copy')"]


def test_every_view_hears_of_every_change_in_its_graphs():
    ed, other = gs.open(tiny()), gs.open(tiny())
    own, both = ed.screen, Screen(ed, other, facts=op_facts)
    heard = []
    own.on_change(lambda: heard.append("own"))
    both.on_change(lambda: heard.append("both"))
    other.apply(other.plan().copy(other.select(), to="copy"))
    assert heard == ["both"]
    ed.apply(ed.plan().copy(ed.select(), to="copy"))
    ed.undo()
    assert sorted(heard) == ["both", "both", "both", "own", "own"]


def test_what_was_done_is_said_beside_a_fault_of_another_step():
    screen = row_of_ops()
    screen.bypass("in/b")
    screen.bypass("in/b")
    fault = "bypass('in/b'): no op reads it, so nothing would change"
    assert traits(screen)["status"]["text"] == fault
    screen.set_device(["e"], "/cpu:0")
    assert traits(screen)["status"]["text"] == f"e will run on /cpu:0, in a new graph · {fault}"
    screen.undo()
    assert traits(screen)["status"]["text"].startswith("undone: ")
    assert traits(screen)["status"]["text"].endswith(fault)


def test_what_tensorflow_does_not_know_is_refused_before_it_is_a_step():
    screen = row_of_ops()
    with refuses(PlanError, "set_attr('d'): 'Neg' has no attribute 'beta'", "It has T"):
        screen.set_attr(["d"], "beta", "1")
    with refuses(PlanError, "T='nothing' is not a type", "as 'float32'"):
        screen.set_attr(["in/"], "T", "nothing")
    with refuses(PlanError, "'MatMul' has 2 inputs", "Give an op type with one input"):
        screen.insert("MatMul", on="d:0")
    assert len(screen.draft) == 0


def test_the_code_of_a_plan_names_the_editor_that_gives_values_whatever_its_graph():
    m = model("resource")
    source, home = gs.open(m.session, title="net"), gs.open(tf.Graph())
    screen = Screen(home, source, facts=op_facts)
    screen.select(["net/y"])
    screen.copy("copy")
    source.apply(source.plan().rename("net/y", to="net/other"))
    assert "values=src2" in traits(screen)["plan"]["code"]
