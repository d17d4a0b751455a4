"""Copies, computations made anew, and transformers with handlers of one's own."""

from __future__ import annotations

import collections

import numpy as np
import pytest
import tensorflow as tf

from graphsurgeon import graph_editor as ge
from graphsurgeon.graph_editor.util import WrongType, WrongValue
from tests.graph_editor.test_bugs import loop, net, whole
from tests.graphs import KINDS, look, run, tf1, tiny
from tests.refusal import refuses

One = collections.namedtuple("One", "t")


def sums():
    """Const, Const_1, Const_2, Input -> Add, Add_1, Add_2."""
    graph = tf.Graph()
    with graph.as_default():
        c = [tf.constant(1.0, shape=[10], name="Const") for _ in range(3)]
        out = tf.constant(1.0, shape=[10], name="Input")
        for const in c:
            out = tf.add(const, out, name="Add")
    return graph, out


# -- copies ---------------------------------------------------------------------------------------


def test_a_whole_graph_is_copied_name_by_name():
    graph, _out = sums()
    other = tf.Graph()
    new, info = ge.copy(graph, other)
    assert [op.name for op in other.get_operations()] == [op.name for op in graph.get_operations()]
    for op in graph.get_operations():
        assert info.transformed(op) is other.get_operation_by_name(op.name)
        assert info.original(info.transformed(op)) is op
        assert [info.original(t) for t in info.transformed(list(op.outputs))] == list(op.outputs)
    assert [t.name for t in new.outputs] == ["Add_2:0"]
    assert run(other, new.outputs[0]).tolist() == [4.0] * 10


def test_names_are_made_unique_or_the_scope_is():
    graph, out = sums()
    top = out.op
    assert ge.copy(top)[0].ops[0].name == "Add_2_1"
    assert ge.copy(top)[0].ops[0].name == "Add_2_2"
    assert ge.copy(top, dst_scope="s")[0].ops[0].name == "s/Add_2"
    assert ge.copy(top, dst_scope="s")[0].ops[0].name == "s_1/Add_2"
    assert ge.copy(top, dst_scope="s/", reuse_dst_scope=True)[0].ops[0].name == "s/Add_2_1"
    assert ge.copy(top, dst_scope="new", reuse_dst_scope=True)[0].ops[0].name == "new/Add_2"
    with graph.as_default():
        assert tf.constant(1.0, name="s/Add_2").op.name == "s/Add_2_2"


def test_a_source_scope_is_taken_off():
    graph, x, y, w = net()
    _, info = ge.copy(whole(graph, x, y), dst_scope="copy", src_scope="net")
    assert info.transformed(y).name == "copy/y:0"
    assert info.transformed(w).name == "copy/w:0"
    before = look(graph)
    with refuses(WrongValue, "src_scope='deep/'", "does not belong to source scope"):
        ge.copy(whole(graph, x, y), dst_scope="b", src_scope="deep")
    assert look(graph) == before


def test_wrong_destinations_and_replacements_are_refused():
    _graph, out = sums()
    with refuses(WrongType, "dst_graph", "a tf.Graph"):
        ge.copy(out.op, "there")
    with refuses(WrongType, "dst_graph", "a tf.Graph"):
        ge.copy_with_input_replacements(out.op, {}, "there")
    with refuses(WrongType, "a dict of tensor to tensor"):
        ge.copy_with_input_replacements(out.op, [out])
    with refuses(WrongType, "tensors or variables as keys"):
        ge.copy_with_input_replacements(out.op, {"Add": out})
    with refuses(WrongType, "dst_graph", "a tf.Graph"):
        ge.Transformer()(out.op, None, "x")


def test_nothing_copies_to_nothing():
    new, info = ge.copy(ge.SubGraphView(), tf.Graph(), "x")
    assert not new
    assert info.transformed([]) == []


def test_replaced_inputs_are_read_others_stay():
    graph, out = sums()
    with graph.as_default():
        ten = tf.constant(10.0, shape=[10])
    new, _ = ge.copy_with_input_replacements(out.op, {out.op.inputs[1]: ten})
    assert run(graph, new.outputs[0]).tolist() == [11.0] * 10
    assert [t.name for t in new.inputs] == ["Const_2:0", ten.name]


def test_arrays_and_variables_may_stand_for_tensors():
    graph, out = sums()
    with graph.as_default():
        v = tf1.get_variable("v", initializer=np.full(10, 5.0, np.float32), use_resource=True)
        start = v.initializer
    old = out.op.inputs[1]
    by_array = ge.copy_with_input_replacements(out.op, {old: np.full(10, 2.0)}, dst_scope="a")[0].outputs[0]
    by_variable = ge.copy_with_input_replacements(out.op, {old.ref(): v}, dst_scope="v")[0].outputs[0]
    with tf1.Session(graph=graph) as session:
        session.run(start)
        assert session.run([by_array, by_variable])[0][0] == 3.0
        assert session.run([by_array, by_variable])[1][0] == 6.0


def test_tensors_inside_the_view_can_be_replaced_too():
    graph, out = sums()
    with graph.as_default():
        ten = tf.constant(10.0, shape=[10])
    middle = out.op.inputs[1]
    _, info = ge.copy_with_input_replacements(ge.sgv(graph), {middle: ten}, dst_scope="c")
    assert run(graph, info.transformed(out)).tolist() == [11.0] * 10
    assert info.transformed(middle) is ten


@pytest.mark.parametrize("kind", KINDS)
def test_a_variable_is_replaced_in_a_copy(kind):
    graph, x, y, w = net(kind)
    with graph.as_default():
        zeros = tf.zeros([2, 3])
        start = tf1.global_variables_initializer()
    _, info = ge.copy_with_input_replacements(whole(graph, x, y), {w.ref(): zeros, x: x}, dst_scope="c")
    with graph.as_default():
        assert [v.name for v in tf1.global_variables("c/")] == ["c/net/b:0"]
        start = tf1.global_variables_initializer()
    with tf1.Session(graph=graph) as session:
        session.run(start)
        assert session.run(info.transformed(y), {x: [[5.0, 5.0]]}).tolist() == [[1.0, 1.0, 1.0]]


def test_a_training_is_copied_with_its_slots():
    graph, x, y, w = net()
    with graph.as_default():
        loss = tf.reduce_mean(tf.square(y))
        train = tf1.train.AdamOptimizer(0.1).minimize(loss)
    ops = [op for op in graph.get_operations() if op is not x.op]
    _, info = ge.copy_with_input_replacements(ge.sgv(ops), {x: x}, dst_scope="copy")
    with graph.as_default():
        start = tf1.global_variables_initializer()
    with tf1.Session(graph=graph) as session:
        session.run(start)
        for _ in range(3):
            session.run(info.transformed(train), {x: [[1.0, 1.0]]})
        moved, still = session.run([info.transformed(w), w])
        np.testing.assert_array_equal(still, np.arange(6).reshape(2, 3))
        assert (moved < still).all()
        for _ in range(3):
            session.run(train, {x: [[1.0, 1.0]]})
        np.testing.assert_allclose(session.run(w), moved, rtol=1e-6)


# -- made anew ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tree",
    [lambda c: c, lambda c: {"c": c}, lambda c: collections.OrderedDict(c=c), lambda c: One(c), lambda c: [c, (c,)]],
)
def test_targets_keep_their_form(tree):
    graph = tf.Graph()
    with graph.as_default():
        a = tf.constant(1.0, name="a")
        b = tf1.get_variable("b", initializer=1.0)
        c = tf.identity(a + b + 0.001, name="c")
        two = tf.constant(2.0)
        start = b.initializer
    new = ge.graph_replace(tree(c), {a: two})
    assert type(new) is type(tree(c))
    with tf1.Session(graph=graph) as session:
        session.run(start)
        for one in ge.flatten_tree(new):
            assert session.run(one) == pytest.approx(3.001)
        assert session.run(c) == pytest.approx(2.001)
    with graph.as_default():
        assert [v.name for v in tf1.global_variables()] == ["b:0"]


def test_targets_that_do_not_depend_stay():
    graph = tf.Graph()
    with graph.as_default():
        a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
        c = tf.add(a, 2 * b, name="c")
        d = tf.constant(2.0, name="d")
    same, new, given = ge.graph_replace([b, c, a], {a: d})
    assert (same, new.name, given) == (b, "c_1:0", d)
    assert run(graph, new) == 6.0
    with pytest.raises(TypeError):
        ge.graph_replace([c.op], {a: d})


def test_what_is_fixed_by_one_replacement_is_not_computed_from_another():
    graph = tf.Graph()
    with graph.as_default():
        a = tf.constant(1.0, name="a")
        b = tf.square(a, name="b")
        c = tf.add(a, b, name="c")
        ten = tf.constant(10.0)
    new = ge.graph_replace(c, {a: ten, b: ten}, dst_scope="new")
    assert run(graph, new) == 20.0
    assert [op.name for op in graph.get_operations() if op.name.startswith("new/")] == ["new/c"]


def test_a_value_that_does_not_fit_changes_nothing():
    graph, x, y, _w = net()
    with graph.as_default():
        wide = tf.zeros([2, 9], name="wide")
    before = look(graph)
    with refuses(WrongValue, "'wide:0'", "(2, 9)"):
        ge.graph_replace(y, {x: wide})
    assert look(graph) == before


# -- handlers -------------------------------------------------------------------------------------


def noisy(info, op, new_inputs):
    """Adds one to the output of each sum."""
    new, outputs = ge.copy_op_handler(info, op, new_inputs)
    if op.name.startswith("Add"):
        with info.graph_.as_default():
            t = tf.add(tf.constant(1.0, shape=[10], name="Noise"), outputs[0], name="AddNoise")
        return t.op, t.op.outputs
    return new, outputs


def test_a_handler_of_ones_own_makes_the_ops():
    graph, out = sums()
    transformer, other = ge.Transformer(), tf.Graph()
    transformer.transform_op_handler = noisy
    _new, info = transformer(graph, other, "", "")
    assert run(other, info.transformed(out)).tolist() == [7.0] * 10
    assert info.transformed(out).name == "AddNoise_2:0"
    inner = ge.OpMatcher("^AddNoise$").input_ops("Noise", ge.OpMatcher("Add").input_ops("Const", "Input"))
    assert ge.OpMatcher("^AddNoise_1$").input_ops("Noise_1", ge.OpMatcher("Add_1").input_ops("Const_1", inner))(
        info.transformed(out.op.inputs[1].op)
    )


def test_a_node_can_be_changed_on_its_way():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [], name="x")
        y = tf1.placeholder_with_default(tf.square(x), [], name="y")

    def moved(node):
        node.device = "/cpu:0"
        return node

    def handler(info, op, new_inputs):
        return ge.copy_op_handler(info, op, new_inputs, nodedef_fn=moved)

    transformer = ge.Transformer()
    transformer.transform_op_handler = handler
    new, info = transformer(ge.sgv(graph), graph, "copy")
    assert all("cpu:0" in op.device.lower() for op in new.ops)
    assert run(graph, info.transformed(y), {info.transformed(x): 3.0}) == 9.0


def test_an_op_by_op_copy_has_variables_and_control_inputs_too():
    graph, x, y, w = net()
    with graph.as_default(), tf1.control_dependencies([w.initializer]):
        late = tf.negative(y, name="late")
    transformer = ge.Transformer()
    transformer.transform_op_handler = lambda info, op, new_inputs: ge.copy_op_handler(info, op, new_inputs)
    ops = [op for op in graph.get_operations() if op is not x.op]
    _new, info = transformer(ge.sgv(ops), graph, "copy")
    assert info.transformed(late.op).control_inputs == [info.transformed(w.initializer)]
    assert info.transformed(w).name == "copy/net/w:0"
    with graph.as_default():
        assert [v.name for v in tf1.trainable_variables("copy")] == ["copy/net/w:0", "copy/net/b:0"]
        change = info.transformed(w).assign(tf.zeros([2, 3])).op
        start = tf1.global_variables_initializer()
    with tf1.Session(graph=graph) as session:
        session.run(start)
        session.run(change)
        assert session.run(w).sum() == 15.0
        assert session.run(info.transformed(y), {info.transformed(x): [[1.0, 1.0]]}).tolist() == [[1.0, 1.0, 1.0]]


def test_an_op_by_op_copy_closes_loops_and_says_what_it_cannot():
    graph = tf.Graph()
    x, y = loop(graph)
    transformer = ge.Transformer()
    transformer.transform_op_handler = lambda info, op, new_inputs: ge.copy_op_handler(info, op, new_inputs)
    with pytest.warns(ge.GraphEditorWarning, match="no gradients: use copy"):
        _, info = transformer(ge.sgv(graph), graph, "copy")
    assert run(graph, [info.transformed(y), y], {info.transformed(x): 2.0, x: 3.0}) == [16.0, 81.0]


def test_an_op_handler_must_make_a_new_op():
    graph, out = sums()
    transformer = ge.Transformer()
    transformer.transform_op_handler = lambda info, op, new_inputs: (op, op.outputs)
    with refuses(WrongValue, "transform_op_handler(info, 'Add_2')", "in-place transformation is not allowed"):
        transformer(out.op, graph, "copy")
    with refuses(WrongType, "new_inputs must be an iterable", "copy_shape by its name"):
        ge.copy_op_handler(None, out.op, True)


def test_handlers_for_what_comes_from_outside_are_asked_once_for_each_tensor():
    graph, _out = sums()
    asked = []

    def handler(info, t):
        asked.append(t.name)
        return ge.keep_t_if_possible_handler(info, t)

    transformer = ge.Transformer()
    transformer.transform_external_input_handler = handler
    transformer.transform_external_hidden_input_handler = ge.replace_t_with_placeholder_handler
    view = ge.sgv("^Add", graph=graph).remap_inputs([1, 0])
    new, _info = transformer(view, graph, "copy")
    assert sorted(asked) == ["Const:0", "Input:0"]
    made = [op.name for op in graph.get_operations() if op.type == "Placeholder"]
    assert made == ["copy/geph__Const_1_0", "copy/geph__Const_2_0"]
    assert [t.name for t in new.inputs] == ["Input:0", "Const:0"]


def test_a_handler_that_gives_no_tensor_is_told_so():
    graph, out = sums()
    transformer = ge.Transformer()
    transformer.transform_external_input_handler = lambda info, t: None
    before = look(graph)
    with refuses(WrongType, "a handler for 'Const_2:0'", "a tf.Tensor"):
        transformer(out.op, graph, "copy")
    assert look(graph) == before


def test_collections_can_be_placed_by_a_handler():
    graph, x, y, _w = net()
    graph.add_to_collection("mine", y)
    transformer, seen = ge.Transformer(), []

    def handler(info, elem, elem_):
        seen.append((elem, elem_))
        if elem is y:
            info.graph_.add_to_collection("placed", elem_)

    transformer.assign_collections_handler = handler
    view = whole(graph, x, y)
    _, info = transformer(view, graph, "copy")
    assert graph.get_collection("placed") == [info.transformed(y)]
    assert graph.get_collection("copy/mine") == []
    assert len(seen) == len(view.ops) + sum(len(op.outputs) for op in view.ops)
    with graph.as_default():
        assert [v.name for v in tf1.global_variables("copy")] == ["copy/net/w:0", "copy/net/b:0"]


def test_the_ready_handler_for_collections_does_the_same_when_called():
    graph, x, y, _w = net()
    graph.add_to_collection("mine", y)
    transformer = ge.Transformer()
    transformer.assign_collections_handler = lambda info, a, b: ge.assign_renamed_collections_handler(info, a, b)
    _, info = transformer(whole(graph, x, y), graph, "copy")
    assert graph.get_collection("copy/mine") == [info.transformed(y)]


def test_control_inputs_can_be_left_out_by_a_handler():
    graph = tiny()
    y, z, k = (graph.get_operation_by_name(n) for n in "yzk")
    ge.add_control_inputs(z, [k, y])
    transformer = ge.Transformer()
    transformer.transform_control_input_handler = lambda info, op: ge.transform_op_if_inside_handler(info, op, False)
    _, info = transformer(ge.sgv(y, z), graph, "copy")
    assert info.transformed(z).control_inputs == [info.transformed(y)]


def test_original_ops_can_be_left_out_by_a_handler():
    graph, _x, y, w = net()
    with graph.as_default():
        tf1.gradients(y, w)
    transformer = ge.Transformer()
    transformer.transform_original_op_handler = lambda info, op: None
    new, _info = transformer(graph, tf.Graph(), "copy")
    assert all(op._original_op is None for op in new.ops)


def test_info_says_where_things_went():
    graph, x, y, w = net()
    other = tf.Graph()
    _, info = ge.copy(whole(graph, x, y), other, "copy", "net")
    text = str(info)
    assert text.startswith("Transform result info:\n  graph[")
    assert "  Relative to source scope: net/\n  Scope destination: copy/\nOperations mapping:\n" in text
    assert "  net/y => copy/y\n" in text
    assert "IN-PLACE" in str(ge.copy(y.op)[1])
    assert info.original(info.transformed({"k": [w, (y.op, x)]})) == {"k": [w, (y.op, x)]}
    assert info.transformed(w.ref().deref()).graph is other
    assert info.transformed([x.op], lambda op: op.name) == ["x"]
    with refuses(WrongType, "transformed(...)", "a tf.Tensor, a tf.Operation, a tf.Variable or a name", "int"):
        info.transformed(3)
