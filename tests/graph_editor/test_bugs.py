"""The 25 bugs of the original, in the order in which they were found; none is here any more."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
import tensorflow as tf

from graphsurgeon import graph_editor as ge
from graphsurgeon.graph_editor.util import NotFound, WrongValue
from tests.cost import growth, lines
from tests.graphs import KINDS, look, tf1, tiny
from tests.refusal import refuses


def net(kind="resource", seed=1):
    """Returns x (?, 2) -> dense -> y, with its variables under net/."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        with tf1.variable_scope("net", use_resource=kind == "resource"):
            w = tf1.get_variable("w", initializer=np.arange(6, dtype=np.float32).reshape(2, 3) / seed)
            b = tf1.get_variable("b", initializer=np.ones(3, np.float32))
            y = tf.add(tf.matmul(x, w), b, name="y")
    return graph, x, y, w


def whole(graph, x, y):
    """A view of what computes y from x, variables included."""
    return ge.make_view(ge.get_within_boundary_ops(graph, y.op, x.op, inclusive=False))


@pytest.mark.parametrize("kind", KINDS)
def test_bug_01_copied_variables_are_variables(kind):
    graph, x, y, w = net(kind)
    _, info = ge.copy_with_input_replacements(whole(graph, x, y), {x: x}, dst_scope="copy")
    new = info.transformed(w)
    assert isinstance(new, tf.Variable)
    assert (new.name, new.shape, new.trainable) == ("copy/net/w:0", (2, 3), True)
    with graph.as_default():
        assert [v.name for v in tf1.global_variables()] == ["net/w:0", "net/b:0", "copy/net/w:0", "copy/net/b:0"]
        assert [v.name for v in tf1.trainable_variables("copy")] == ["copy/net/w:0", "copy/net/b:0"]
        start = tf1.global_variables_initializer()
    with tf1.Session(graph=graph) as session:
        session.run(start)
        ours, theirs = session.run([info.transformed(y), y], {x: [[1.0, 2.0]]})
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_bug_02_values_come_along_when_asked_for(kind):
    graph, x, y, w = net(kind)
    with graph.as_default():
        start, grown = tf1.global_variables_initializer(), w.assign(tf.fill([2, 3], 7.0)).op
    other = tf.Graph()
    _, away = ge.copy(whole(graph, x, y), other)
    _, here = ge.copy(whole(graph, x, y), dst_scope="copy")
    with tf1.Session(graph=graph) as session, tf1.Session(graph=other) as target:
        session.run(start)
        session.run(grown)
        assert away.load_values(target, session) == here.load_values(session) == 2
        assert (target.run(away.transformed(w)) == 7.0).all()
        assert (session.run(here.transformed(w)) == 7.0).all()
        with refuses(WrongValue, "not of the graph of the copy"):
            away.load_values(session, session)
    with tf1.Session(graph=graph) as session, refuses(WrongValue, "no value"):
        here.load_values(session)


def test_bug_03_resource_copies_share_no_storage():
    graph, x, y, w = net("resource")
    copies = [ge.copy(whole(graph, x, y), dst_scope="copy")[1].transformed(w) for _ in range(2)]
    with graph.as_default():
        start, nines = tf1.global_variables_initializer(), copies[0].assign(tf.fill([2, 3], 9.0))
    with tf1.Session(graph=graph) as session:
        session.run(start)
        session.run(nines.op)
        one, two, original = session.run([*copies, w])
    assert (one == 9.0).all()
    np.testing.assert_array_equal(two, original)
    assert not (two == 9.0).any()


def test_bug_04_collections_hold_the_copies_and_keys_of_others_are_under_the_scope():
    graph, x, y, w = net()
    for name in ("losses", "mine"):
        graph.add_to_collection(name, y)
    graph.add_to_collection("mine", w)
    _, info = ge.copy(whole(graph, x, y), dst_scope="copy")
    assert [t.name for t in graph.get_collection("losses")] == ["net/y:0", "copy/net/y:0"]
    assert [t.name for t in graph.get_collection("mine")] == ["net/y:0", "net/w:0"]
    found = graph.get_collection("copy/mine")
    assert found[0] is info.transformed(y)
    assert found[1] is info.transformed(w)


@pytest.mark.deep
def test_bug_04_a_large_collection_costs_no_square():
    def copy(size):
        graph = tf.Graph()
        with graph.as_default():
            t = tf.constant(1.0)
            for _ in range(size):
                t = tf.negative(t)
                graph.add_to_collection("kept", t)
        return lambda: ge.copy(graph, tf.Graph(), "copy")

    lines(copy(200))  # what is made at the first
    assert growth(copy, 1_000, 8_000) < 10  # the square would be 64


def test_bug_05_what_is_placed_with_an_op_is_placed_with_its_copy():
    graph = tf.Graph()
    with graph.as_default():
        a = tf.constant(1.0, name="a")
        with tf1.colocate_with(a.op):
            b = tf.square(a, name="b")
        with tf1.colocate_with(b.op):
            c = tf.square(b, name="c")
    _, info = ge.copy([a.op, b.op], dst_scope="copy")
    assert info.transformed(b.op).colocation_groups() == [b"loc:@copy/a"]
    other = tf.Graph()
    _, info = ge.copy(c.op, other)
    assert info.transformed(c.op).colocation_groups() == [b"loc:@c"]
    with tf.Graph().as_default():
        tf.import_graph_def(other.as_graph_def(), name="again")


def loop(graph, nested=False):
    """Makes x -> while (with a cond inside where nested) -> y."""
    with graph.as_default():
        tf1.disable_control_flow_v2()
        try:
            x = tf1.placeholder(tf.float32, [], name="x")

            def body(i, t):
                grown = tf1.cond(i > 1, lambda: t * x, lambda: t + x) if nested else t * x
                return i + 1, grown

            y = tf.identity(tf1.while_loop(lambda i, t: i < 3, body, [0, x])[1], name="y")
        finally:
            tf1.enable_control_flow_v2()
    return x, y


@pytest.mark.parametrize("nested", [False, True])
def test_bug_06_a_loop_is_copied_twice_and_both_have_gradients(nested):
    graph = tf.Graph()
    x, y = loop(graph, nested)
    assert any(op.type == "Enter" for op in graph.get_operations())
    view = ge.make_view([op for op in graph.get_operations() if op is not x.op])
    with graph.as_default():
        two = tf.constant(2.0, name="two")
    ys = [ge.copy_with_input_replacements(view, {x: two}, dst_scope="copy")[1].transformed(y) for _ in range(2)]
    with graph.as_default():
        slopes = [tf1.gradients(t, two)[0] for t in ys] + [tf1.gradients(y, x)[0]]
    with tf1.Session(graph=graph) as session:
        made = session.run([*ys, y, *slopes], {x: 2.0})
    assert made[0] == made[1] == made[2]
    assert made[3] == made[4] == made[5] > 0


def test_bug_06_a_part_of_a_loop_brings_the_whole_of_it():
    graph = tf.Graph()
    x, y = loop(graph)
    with graph.as_default():
        three = tf.constant(3.0)
    new = ge.graph_replace(y, {x: three}, dst_scope="other")
    with tf1.Session(graph=graph) as session:
        assert session.run(new) == 81.0


def test_bug_07_functions_and_control_flow_of_tf2_come_along():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [], name="x")
        called = tf.function(lambda t: t * t)(x)
        y = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * x), [0, called])[1]
        y = tf.cond(y > 10.0, lambda: y + 1.0, lambda: y - 1.0)
    view = ge.make_view([op for op in graph.get_operations() if op is not x.op])
    other = tf.Graph()
    with other.as_default():
        three = tf.constant(3.0)
    ys = [ge.copy_with_input_replacements(view, {x: three}, other, "copy")[1].transformed(y) for _ in range(2)]
    with other.as_default():
        slopes = [tf1.gradients(t, three)[0] for t in ys]
    with tf1.Session(graph=other) as session:
        assert session.run(ys) == [244.0, 244.0]
        assert session.run(slopes) == [405.0, 405.0]


def test_bug_08_open_sessions_are_named_when_an_edge_moves():
    graph = tiny()
    with graph.as_default():
        other = tf1.placeholder_with_default(tf.zeros([1, 2]), [None, 2])
    with tf1.Session(graph=graph) as session:
        session.run("y:0", {"x:0": [[3.0, 3.0]]})
        with pytest.warns(ge.GraphEditorWarning, match="1 open session of the edited graph.*a new .*Session"):
            ge.reroute_ts(other, graph.get_tensor_by_name("x:0"))
    with tf1.Session(graph=graph) as session:
        assert (session.run("y:0") == 0.0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nobody has a session open any more
        ge.reroute_ts(graph.get_tensor_by_name("x:0"), other)


def test_bug_09_shapes_set_by_hand_are_kept_where_they_still_hold():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, None, name="x")
        y = tf.square(x, name="y")
        y.set_shape([3])
        wide = tf1.placeholder(tf.float32, [5])
    _, info = ge.copy(y.op, dst_scope="copy")
    assert info.transformed(y).shape == [3]
    _, info = ge.copy_with_input_replacements(y.op, {x: wide}, dst_scope="copy")
    assert info.transformed(y).shape == [5]


def test_bug_10_shapes_downstream_follow_an_edit():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        y = tf.transpose(tf.square(x), name="y")
        narrow = tf1.placeholder(tf.float32, [7, 2], name="narrow")
    ge.reroute_ts(narrow, x)
    assert y.shape == [2, 7]
    with pytest.warns(ge.GraphEditorWarning, match="not sure any more: .*'y:0'"):
        ge.reroute_ts(x, narrow)


def test_bug_10_what_would_not_fit_further_on_is_refused():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, None], name="x")
        tf.matmul(tf.square(x), tf.ones([2, 4]), name="y")
        wide = tf1.placeholder(tf.float32, [None, 5], name="wide")
    before = look(graph)
    with refuses(WrongValue, "'wide:0'", "'x:0'", "5 and 2", "Nothing was changed"):
        ge.reroute_ts(wide, x)
    assert look(graph) == before


def test_bug_10_a_cycle_is_refused():
    graph = tiny()
    x, z = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("z:0")
    before = look(graph)
    with refuses(WrongValue, "cycle", "y <- z <- y", "cannot_modify"):
        ge.reroute_ts(z, x)
    assert look(graph) == before


def test_bug_11_one_placeholder_for_each_input_however_often_it_is_read():
    graph = tf.Graph()
    with graph.as_default():
        a = tf1.placeholder(tf.float32, [2], name="a")
        y = tf.add(tf.multiply(a, a), a, name="y")
    new, info = ge.copy([y.op, y.op.inputs[0].op], dst_scope="copy")
    assert [t.name for t in new.inputs] == ["copy/geph__a_0:0"]
    assert info.transformed(a) is new.inputs[0]
    assert [op.name for op in graph.get_operations() if op.type == "Placeholder"] == ["a", "copy/geph__a_0"]


@pytest.mark.parametrize("kind", KINDS)
def test_bug_12_what_becomes_a_placeholder_is_said(kind):
    graph, x, _y, _w = net(kind)
    other = tf.Graph()
    sgv = ge.make_view([op for op in graph.get_operations() if op.type in ("MatMul", "AddV2")])
    with pytest.warns(ge.GraphEditorWarning, match="in the place of 2 tensors from outside: .*ead"):
        ge.copy(sgv.remap_inputs([x]), other, dst_scope="copy")


def test_bug_13_control_inputs_left_out_are_said():
    graph = tiny()
    with graph.as_default(), tf1.control_dependencies([graph.get_operation_by_name("z")]):
        late = tf.negative(graph.get_tensor_by_name("y:0"), name="late")
    with pytest.warns(ge.GraphEditorWarning, match="1 control input from outside left out: 'late after z'"):
        ge.copy(late.op, tf.Graph())
    _, info = ge.copy(late.op, dst_scope="copy")
    assert [op.name for op in info.transformed(late.op).control_inputs] == ["z"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["variable", "ref", "value", "handle", "op"])
def test_bug_14_a_variable_is_replaced_in_every_way(kind, how):
    graph, x, y, w = net(kind)
    with graph.as_default():
        ones = tf.ones([2, 3])
        ways = {"value": w.value(), "handle": w.op.outputs[0], "op": y.op.inputs[0].op.inputs[1]}
        # Outside of a graph, TF2 takes only the reference to a variable as a key.
        old = {**ways, "variable": w, "ref": w.ref()}[how]
        new = ge.graph_replace(y, {old: ones}, dst_scope="new")
    with graph.as_default():
        start = tf1.global_variables_initializer()
    with tf1.Session(graph=graph) as session:
        session.run(start)
        np.testing.assert_array_equal(session.run(new, {x: [[1.0, 2.0]]}), [[4.0, 4.0, 4.0]])


def test_bug_15_what_is_not_connected_is_named():
    graph = tiny()
    y, k, x = (graph.get_tensor_by_name(n) for n in ("y:0", "k:0", "x:0"))
    with graph.as_default():
        other = tf.zeros_like(k)
    with refuses(WrongValue, "graph_replace(['y:0'], {'k:0': ...})", "not connected", "get_backward_walk_ops"):
        ge.graph_replace(y, {k: other})
    assert ge.graph_replace([x, y], {y: y})[1] is y


def test_bug_16_a_misfit_names_the_tensors():
    graph = tiny()
    with graph.as_default():
        wide = tf.zeros([4, 3], name="wide")
    x, k = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("k:0")
    with refuses(WrongValue, "'wide:0'", "(4, 3)", "'x:0'", "(?, 2)", "axis"):
        ge.reroute_ts(wide, x)
    with refuses(WrongValue, "'k:0' int32", "'x:0' float32", "dtypes differ"):
        ge.swap_ts(k, x)


def test_bug_17_corresponding_ops_are_found_by_scope_and_missing_ones_are_said():
    graph, x, y, _w = net()
    other = tf.Graph()
    ge.copy(whole(graph, x, y), other, "copy")
    assert ge.find_corresponding([y, y.op], other, "copy/net", "net")[0].name == "copy/net/y:0"
    with refuses(WrongValue, "'x:0' does not start with 'net/'"):
        ge.find_corresponding(x, other, "copy", "net")
    with refuses(NotFound, "no 'lost/net/y:0'"):
        ge.find_corresponding(y, other, "lost")
    with refuses(WrongValue, "can't find 'x:0' there", "Listed are: net/w/"):
        whole(graph, x, y).output_index(x)


def test_bug_18_names_are_one_thing_for_transformed():
    graph, x, y, _w = net()
    _, info = ge.copy(whole(graph, x, y), dst_scope="copy")
    assert info.transformed("net/y:0") is info.transformed(y)
    assert info.transformed(["net/y", {"k": "net/w"}])[1]["k"].name == "copy/net/w"
    assert info.original("copy/net/y:0") is y
    assert info.transformed("nothing") is None
    assert info.transformed("nothing", lambda name: name.upper()) == "NOTHING"


def test_bug_19_a_scope_is_taken_literally():
    graph = tf.Graph()
    with graph.as_default():
        for name in ("a.b/one", "axb/two", "a.b"):
            tf.constant(1.0, name=name)
    assert [op.name for op in ge.sgv_scope("a.b", graph).ops] == ["a.b/one", "a.b"]


def test_bug_20_walks_from_a_tensor_are_told_apart_in_the_documentation():
    graph = tiny()
    y = graph.get_tensor_by_name("y:0")
    assert [op.name for op in ge.get_forward_walk_ops(y)] == ["z"]
    assert [op.name for op in ge.get_forward_walk_ops(y.op)] == ["y", "z"]
    assert [op.name for op in ge.get_backward_walk_ops(y)] == [op.name for op in ge.get_backward_walk_ops(y.op)]
    for walk in (ge.get_forward_walk_ops, ge.get_backward_walk_ops):
        assert "or tensors, to start from" in walk.__doc__
    assert "A forward walk from a tensor starts from its consumers" in ge.select.__doc__


def test_bug_21_original_ops_may_come_in_any_order():
    graph, _x, y, w = net()
    with graph.as_default():
        tf1.gradients(y, w)
    ops = graph.get_operations()
    assert any(op._original_op is not None for op in ops)
    _new, info = ge.copy(ge.make_view(ops[::-1]), dst_scope="copy")
    held = [(op, op._original_op) for op in ops if op._original_op is not None]
    assert all(info.transformed(op)._original_op is info.transformed(original) for op, original in held)


def test_bug_22_one_copy_warns_once_at_most():
    graph = tiny()
    with graph.as_default():
        held = []
        for _ in range(30):
            with tf1.control_dependencies([graph.get_operation_by_name("z")]):
                held.append(tf.square(graph.get_tensor_by_name("y:0")).op)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ge.copy(held, dst_scope="here")
        assert not said
        ge.copy(ge.make_view(held).remap_inputs([]), tf.Graph())
    assert len(said) == 1
    assert said[0].filename == __file__


def test_bug_23_views_follow_edits():
    graph = tiny()
    with graph.as_default():
        other = tf.zeros([1, 2], name="other")
    y = ge.make_view(graph.get_operation_by_name("y"))
    assert [t.name for t in y.inputs] == ["x:0"]
    ge.reroute_ts(other, y.inputs[0])
    assert [t.name for t in y.inputs] == ["other:0"]
    ge.reroute_ts(other, graph.get_tensor_by_name("y:0"))
    assert [t.name for t in y.outputs] == ["y:0"]


def test_bug_24_a_copy_that_fails_leaves_nothing():
    graph, x, y, _w = net()
    before = look(graph)
    with refuses(WrongValue, "'x:0'"), graph.as_default():
        bad = tf1.placeholder(tf.float32, [None, 9], name="bad")
        before = look(graph)
        ge.copy_with_input_replacements(whole(graph, x, y), {x: bad}, dst_scope="copy")
    assert look(graph) == before

    def fails(info, t):
        raise RuntimeError("mine")

    transformer = ge.Transformer()
    transformer.transform_external_input_handler = fails
    with pytest.raises(RuntimeError, match="mine"):
        transformer(whole(graph, x, y), graph, "copy")
    assert look(graph) == before


def test_bug_25_a_flood_stays_within_the_ops_it_is_given():
    graph = tf.Graph()
    with graph.as_default():
        a = tf.constant(1.0, name="a")
        b = tf.square(a, name="b")
        c = tf.square(b, name="c")
        d = tf.square(c, name="d")
    found = ge.get_within_boundary_ops([a.op, b.op, d.op], a.op)
    assert [op.name for op in found] == ["a", "b"]


@pytest.mark.deep
def test_importing_is_quiet():
    # What TensorFlow's own imports warn of is not ours to mend: some versions do on newer Pythons.
    code = "import tensorflow, warnings; warnings.simplefilter('error'); import graphsurgeon.graph_editor as ge"
    command = [sys.executable, "-c", f"{code}; print(len(ge.__all__) > 60)"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "True", done.stderr
