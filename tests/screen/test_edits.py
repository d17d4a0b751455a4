"""Edits by hand of names, functions, order and whole regions: each a step of the plan, applied and taken back."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from tests.graphs import model
from tests.refusal import refuses
from tests.screen.screens import row_of_ops, tf1, traits

X = np.array([1.0, 2.0], np.float32)


def called():
    """Returns the screen of x -> in/b -> in/c -> a call -> d, with a, and an op that waits for one without outputs."""
    graph = tf.Graph()

    @tf.function
    def doubled(t):
        return t * 2.0

    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2], name="x")
        with tf1.name_scope("in"):
            b = tf.square(x, name="b")
            c = tf.negative(b, name="c")
        tf.identity(doubled(c), name="d")
        first, _ = tf.no_op(name="first"), tf.no_op(name="second")
        with tf.control_dependencies([first]):
            tf.exp(x, name="e")
    return gs.open(graph).screen


def value(screen, fetch="d:0"):
    return screen.destination.session().run(fetch, {"x:0": X}).tolist()


@pytest.mark.parametrize(
    ("verb", "args", "code", "status"),
    [
        ("rename", ["in/c", "in/minus"], ".rename('in/c', to='in/minus')", "in/c will be renamed to in/minus"),
        ("rename", ["in/", "out/"], ".rename('in', to='out')", "in will be renamed to out"),
        ("collapse", [["in/"]], ".collapse('in', name='in_call')", "in/b, in/c will become one call, in_call"),
        ("collapse", [["in/c", "in/b"], "both"], ".collapse(['in/b', 'in/c'], name='both')",
         "in/b, in/c will become one call, both"),
        ("inline", [["PartitionedCall"]], ".inline('PartitionedCall')",
         "PartitionedCall will be replaced by the ops inside"),
        ("reroute_control", ["first", "second"], ".reroute_control('first', to='second')",
         "the waiting ops of first will wait for second"),
    ],
)  # fmt: skip
def test_each_is_a_step_and_the_numbers_are_the_same(verb, args, code, status):
    screen = called()
    before = value(screen), value(screen, "e:0")
    names = [op.name for op in screen.destination.graph.get_operations()]
    getattr(screen, verb)(*args)
    assert screen.draft.check() == ()
    assert code in screen.draft.to_code()
    assert screen.traits()["status"]["text"] == status + ", in a new graph"
    screen.apply()
    assert (value(screen), value(screen, "e:0")) == before
    screen.undo()
    assert [op.name for op in screen.destination.graph.get_operations()] == names


def test_what_waited_waits_for_the_other():
    screen = called()
    screen.reroute_control("first", "second")
    screen.apply()
    graph = screen.destination.graph
    assert [op.name for op in graph.get_operation_by_name("e").control_inputs] == ["second"]


def test_a_scope_that_is_renamed_keeps_its_values():
    m = model("resource")
    screen = gs.open(m.session).screen
    weights = m.session.run(m.w)
    screen.rename("net/", "body")
    assert "values=" not in screen.draft.to_code()
    screen.apply()
    with screen.destination.graph.as_default():
        moved = {v.name: v for v in tf1.global_variables()}
    assert "net/w:0" not in moved
    np.testing.assert_array_equal(screen.destination.session().run(moved["body/w:0"]), weights)


def test_a_copy_of_boxes_goes_between_a_tensor_and_its_readers():
    screen = called()
    screen.insert_copy(["in/"], "in/c")
    assert screen.traits()["status"]["text"] == "a copy of in/b, in/c will follow in/c:0, in a new graph"
    code = screen.draft.to_code()
    assert ".copy(block, to='copy', inputs={'x:0': 'in/c:0'}, unmapped='keep')" in code
    assert ".reroute('in/c:0', to='copy/in/c:0', exclude='copy/in/b')" in code
    screen.apply()
    assert value(screen) == [-2.0, -32.0]  # -(-x²)² twice over
    # the code makes the same graph
    screen.undo()
    made = {"graph": screen.destination.graph}
    exec(code, made)
    screen.redo()
    assert made["done"].graph.as_graph_def() == screen.destination.graph.as_graph_def()


def test_a_copy_of_boxes_that_cannot_be_inserted():
    screen = called()
    with refuses(PlanError, "insert_copy(x, in/b): 0 tensors enter the copied ops", "Select ops that one tensor"):
        screen.insert_copy(["x", "in/b"], "d")
    with refuses(PlanError, "insert_copy(in/b, e): 2 tensors leave the copied ops: ", "in/b:0, e:0", "leaves"):
        screen.insert_copy(["in/b", "e"], "d")
    with refuses(SelectionError, "insert_copy('inn/'): nothing in graph has this name"):
        screen.insert_copy(["inn/"], "d")
    screen.insert("Relu", on="in/c", name="r")
    with refuses(PlanError, "insert_copy(r): 'r' is made by this plan", "Apply the plan first"):
        screen.insert_copy(["r"], "d")


def test_the_edits_so_far_on_copies():
    screen = called()
    graph = screen.destination.graph
    screen.bypass("in/c")
    screen.on_copies()
    assert screen.traits()["status"]["text"] == "the edits so far will be made on copies under edited/"
    assert screen.draft.mode == "append"
    assert ".on_copies(scope='edited')" in screen.draft.to_code()
    screen.apply()
    assert screen.destination.graph is graph
    assert (value(screen), value(screen, "edited/d:0")) == ([-2.0, -8.0], [2.0, 8.0])
    # not even the name is taken twice
    screen.bypass("in/c")
    screen.on_copies(until=["PartitionedCall"], assign="copy")
    assert ".on_copies(scope='edited_2', until='PartitionedCall', assign='copy')" in screen.draft.to_code()


def test_copies_of_no_edits_are_a_fault_that_says_so():
    screen = called()
    screen.on_copies("new")
    status = screen.traits()["status"]
    assert status["level"] == "error"
    assert status["text"] == "on_copies(scope='new'): no earlier step changes an existing op"
    with refuses(PlanError, "on_copies(assign='all'): 'all' is not one of 'copy', 'leave'", "Call it as"):
        screen.on_copies("new", assign="all")


def test_what_cannot_be_stays_a_fault_on_screen():
    screen = called()
    screen.inline(["d"])
    assert screen.traits()["status"]["text"] == "inline('d'): 'd' is of type Identity, not a function call"
    screen.undo()
    screen.rename("in/b", "e")
    assert screen.traits()["plan"]["faults"][0]["request"] == "rename('in/b', to='e')"
    screen.undo()
    screen.collapse(["x"], "f")
    assert "contains only variables, placeholders" in screen.traits()["status"]["text"]


@pytest.mark.parametrize(
    ("verb", "args", "code", "status"),
    [
        ("reroute", {"old": "in/c", "to": "e"}, ".reroute('in/c:0', to='e:0')",
         "the consumers of in/c:0 will read e:0"),
        ("swap", {"a": "in/c:0", "b": "e:0"}, ".swap('in/c:0', 'e:0')", "in/c:0 and e:0 change places"),
        ("bypass", {"op": "in/c"}, ".bypass('in/c')", "in/c will be bypassed"),
        ("detach", {"names": ["in/c"], "side": "inputs"}, ".detach('in/c', side='inputs')", "in/c will be cut off"),
        ("insert", {"op": "Relu", "on": "in/c:0"}, ".insert('Relu', on='in/c:0', name='in/c_relu')",
         "in/c_relu will read in/c:0"),
        ("remove", {"names": ["in/"], "stitch": True}, ".remove(['in/b', 'in/c'], stitch=True)",
         "in/b, in/c will be removed"),
        ("set_attr", {"names": ["d"], "name": "_mark", "value": "[1, 2]"}, ".set_attr('d', '_mark', [1, 2])",
         "_mark of d will be [1, 2]"),
        ("set_attr", {"names": ["d"], "name": "_mark", "value": "a word"}, ".set_attr('d', '_mark', 'a word')",
         "_mark of d will be 'a word'"),
        ("set_device", {"names": ["in/"], "device": "/cpu:0"}, ".set_device(['in/b', 'in/c'], '/cpu:0')",
         "in/b, in/c will run on /cpu:0"),
        ("add_control", {"op": "d", "after": "e"}, ".add_control('d', 'e')", "d will run after e"),
    ],
)  # fmt: skip
def test_each_edit_is_a_step_of_the_plan(verb, args, code, status):
    screen = row_of_ops()
    getattr(screen, verb)(**args)
    assert screen.draft.check() == ()
    assert code in screen.draft.to_code()
    assert screen.traits()["status"]["text"].startswith(status + ", in a new graph")
    screen.apply()
    screen.undo()
    assert len(screen.destination.graph.get_operations()) == 5


def test_what_waits_is_released():
    screen = row_of_ops()
    screen.add_control("d", "e")
    screen.apply()
    screen.remove_control("d")
    assert screen.traits()["status"]["text"].startswith("d will no longer wait for anything")
    screen.apply()
    assert not screen.destination.graph.get_operation_by_name("d").control_inputs


def test_what_will_go_is_crossed_out_where_it_is():
    screen = row_of_ops()
    screen.unfold("in/")
    screen.remove(["in/b"], stitch=True)
    shown = traits(screen)
    states = {b["name"]: b["state"] for b in shown["scenes"]["source"]["boxes"]}
    assert states["in/b"] == "removed"
    assert states["in/c"] == ""
    after = {b["name"]: b["state"] for b in shown["scenes"]["destination"]["boxes"]}
    assert "in/b" not in after
    assert shown["plan"]["counts"]["removed"] == 1
    assert shown["plan"]["same"] is True
    screen.apply()
    assert screen.traits()["status"]["text"] == "applied: 1 connection, 1 op removed, in a new graph"


def test_a_box_that_is_not_there_is_said():
    with refuses(SelectionError, "remove('inn/'): nothing in graph has this name"):
        row_of_ops().remove(["inn/"])


def test_an_input_that_already_reads_the_tensor_is_not_planned():
    screen = row_of_ops()
    said = lambda: screen.traits()["status"]  # noqa: E731
    screen.reroute("a:0", "a", only=["e"])
    assert (screen.draft.steps, said()) == ((), {"text": "a:0 already feeds e", "level": "warn"})
    screen.reroute("a", "a:0")
    assert (screen.draft.steps, said()["text"]) == ((), "a:0 already feeds the consumers of a:0")
    screen.connect("a", to="e")
    assert (screen.draft.steps, said()["text"]) == ((), "a:0 already feeds input 0 of e")
    screen.connect("d", to="e")
    assert len(screen.draft.steps) == 1
    screen.connect("d:0", to="e")
    assert (len(screen.draft.steps), said()["text"]) == (1, "d:0 already feeds input 0 of e")


def test_an_edit_of_an_edge_is_about_the_consumers_in_its_box():
    screen = row_of_ops()
    after = lambda: screen.draft.after()  # noqa: E731
    screen.insert("Relu", "a:0", only=["in/"])
    reads = [after().input_names(after().index[op]) for op in ("in/b", "e")]
    assert reads == [["a_relu:0"], ["a:0"]]
    assert screen.draft.to_code().count("only='in/b'") == 1
    screen.undo()
    screen.reroute("a:0", "d:0", only=["e"])
    assert [after().input_names(after().index[op]) for op in ("in/b", "e")] == [["a:0"], ["d:0"]]
    assert screen.traits()["status"]["text"] == "e will read d:0, in a new graph"
    with refuses(PlanError, "insert('a:0'): d does not read 'a:0'", "Choose a box with an edge from this tensor"):
        screen.insert("Relu", "a:0", only=["d"])


def test_an_inserted_op_is_in_the_picture_also_if_its_scope_becomes_a_fold():
    with tf.Graph().as_default() as graph:
        y = tf1.placeholder(tf.float32, [2], name="x")
        for i in range(24):
            with tf1.name_scope(f"layer{'abcdefghijklmnopqrstuvwxyz'[i]}"):
                y = (tf.negative, tf.exp, tf.square, tf.sin)[i % 4](y, name="y")
    screen = gs.open(graph).screen
    before = [box["name"] for box in traits(screen)["scenes"]["source"]["boxes"]]
    screen.insert("Abs", on="layerd/y:0", name="layerd/Abs")
    names = [box["name"] for box in traits(screen)["scenes"]["destination"]["boxes"]]
    assert set(names) - set(before) == {"layerd/Abs"}
    screen.apply()
    assert {box["name"] for box in traits(screen)["scenes"]["source"]["boxes"]} == set(names)
