"""Programs in the ways in which the tests of `tf.contrib.graph_editor` used it, from its first release to its last."""

from __future__ import annotations

import collections
import re

import numpy as np
import pytest
import tensorflow as tf

from graphsurgeon import graph_editor as ge
from graphsurgeon.graph_editor import match
from graphsurgeon.graph_editor.util import WrongType, WrongValue
from tests.graphs import run
from tests.refusal import refuses

tf1 = tf.compat.v1


class Net:
    """The graph of these programs: a -> foo/(b, c, d) -> foo/bar/(e, f, g, h), and h waits for c."""

    def __init__(self):
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.a = tf.constant([1.0, 1.0], shape=[2], name="a")
            with tf.name_scope("foo"):
                self.b = tf.constant([2.0, 2.0], shape=[2], name="b")
                self.c = tf.add(self.a, self.b, name="c")
                self.d = tf.constant([3.0, 3.0], shape=[2], name="d")
                with tf.name_scope("bar"):
                    self.e = tf.add(self.c, self.d, name="e")
                    self.f = tf.add(self.c, self.d, name="f")
                    self.g = tf.add(self.c, self.a, name="g")
                    with tf.control_dependencies([self.c.op]):
                        self.h = tf.add(self.f, self.g, name="h")


@pytest.fixture
def net():
    return Net()


# -- select ------------------------------------------------------------------------------------------------


def test_expressions_and_filters(net):
    regex = re.compile("foo")
    assert ge.select.can_be_regex("foo")
    assert ge.select.can_be_regex(regex)
    assert ge.select.make_regex(regex) is regex
    assert len(ge.select.filter_ops(net.graph, True)) == 8
    assert len(ge.select.filter_ops(net.graph, lambda op: op.node_def.op == "Const")) == 3
    assert len(ge.select.filter_ops_from_regex(net.graph, r"^.*\b[abc]$")) == 3
    assert len(ge.select.filter_ts(net.graph, True)) == 8
    assert len(ge.select.filter_ts_from_regex(net.graph, r"^.*/[fgh]:\d$")) == 3
    assert len(ge.select.get_name_scope_ops(net.graph, "foo/")) == 7
    assert len(ge.select.get_name_scope_ops(net.graph, "foo/bar")) == 4


def test_the_tensors_that_ops_read_and_compute(net):
    assert ge.select._get_input_ts(net.graph) == [net.a, net.b, net.c, net.d, net.f, net.g]
    assert ge.select._get_output_ts(net.graph) == [net.a, net.b, net.c, net.d, net.e, net.f, net.g, net.h]
    assert ge.select._get_input_ts(net.h.op) == [net.f, net.g]
    assert ge.select._get_output_ts([net.h.op, net.a.op]) == [net.h, net.a]
    with refuses(WrongType, "expected a tf.Operation, got:"):
        ge.select._get_input_ts(net.h)
    with refuses(WrongType, "expected a tf.Operation, got:"):
        ge.select._get_output_ts("h")


def test_neighbors_and_boundaries(net):
    control_outputs = ge.util.ControlOutputs(net.graph)
    assert len(ge.select.get_ops_ios(net.h.op, control_ios=control_outputs)) == 3
    assert len(ge.select.get_ops_ios(net.h.op)) == 2
    assert len(ge.select.get_ops_ios(net.c.op, control_ios=control_outputs)) == 6
    assert len(ge.select.get_ops_ios(net.c.op)) == 5
    input_ts, output_ts, inside_ts = ge.select.compute_boundary_ts(net.g.op)
    assert (list(input_ts), list(output_ts), list(inside_ts)) == ([net.c, net.a], [net.g], [])
    input_ts, output_ts, inside_ts = ge.select.compute_boundary_ts([net.g.op, net.h.op])
    assert (list(input_ts), list(output_ts), list(inside_ts)) == ([net.c, net.a, net.f], [net.h], [net.g])
    boundary = {"boundary_ops": [net.c.op, net.h.op], "inclusive": False, "control_ios": control_outputs}
    assert len(ge.select.get_within_boundary_ops(ops=net.graph, seed_ops=net.f.op, **boundary)) == 3
    boundary = {"boundary_ops": [net.f.op, net.g.op]}
    assert len(ge.select.get_within_boundary_ops(ops=net.graph, seed_ops=net.h.op, **boundary)) == 3


def test_walks_and_selections(net):
    assert len(ge.select.get_walks_intersection_ops([net.c.op], [net.g.op])) == 2
    assert len(ge.select.get_walks_union_ops([net.f.op], [net.g.op])) == 6
    for expressions, count in ((("^foo/",), 7), (("^foo/bar/",), 4), (("^foo/bar/", "a"), 5)):
        assert len(ge.select.select_ops(*expressions, graph=net.graph)) == count
    for expression, count in ((".*:0", 8), (r".*/bar/\w+:0", 4)):
        assert len(ge.select.select_ts(expression, graph=net.graph)) == count
    for expressions, some, others in ((("^foo/.*",), 7, 0), (("^foo/.*", "(?#ts)^foo/bar/.*"), 7, 4)):
        ops, ts = ge.select.select_ops_and_ts(*expressions, graph=net.graph)
        assert (len(ops), len(ts)) == (some, others)


# -- subgraph ----------------------------------------------------------------------------------------------


def test_views_and_their_remapping(net):
    sgv = ge.sgv(net.graph)
    assert (list(sgv.outputs), list(sgv.inputs), len(sgv.ops)) == ([net.e, net.h], [], 8)
    sgv = ge.sgv(net.f.op, net.g.op)
    assert (list(sgv.outputs), list(sgv.inputs)) == ([net.f, net.g], [net.c, net.d, net.a])
    assert list(ge.sgv_scope("foo/bar", graph=net.graph).ops) == [net.e.op, net.f.op, net.g.op, net.h.op]
    sgv = ge.sgv(net.c.op)
    assert (list(sgv.outputs), list(sgv.inputs)) == ([net.c], [net.a, net.b])
    sgv = sgv.remap_outputs_to_consumers()
    assert list(sgv.outputs) == [net.c, net.c, net.c]
    sgv = sgv.remap_outputs_make_unique()
    assert list(sgv.outputs) == [net.c]
    sgv = sgv.remap(new_input_indices=[], new_output_indices=[])
    assert (len(sgv.inputs), len(sgv.outputs)) == (0, 0)
    sgv = sgv.remap_default()
    assert (list(sgv.outputs), list(sgv.inputs)) == ([net.c], [net.a, net.b])
    sgv = ge.sgv(net.graph).remap_outputs(new_output_indices=[1]).remove_unused_ops()
    assert (list(sgv.outputs), len(sgv.ops)) == ([net.h], 7)


def test_what_programs_took_from_inside_of_views_and_infos(net):
    sgv = ge.sgv(net.c.op, net.e.op)
    assert (sgv._ops, list(sgv._input_ts), list(sgv._output_ts)) == ([net.c.op, net.e.op], [net.a, net.b, net.d],
                                                                     [net.c, net.e])  # fmt: skip
    assert (list(sgv._passthrough_ts), sgv._graph) == ([], net.graph)
    copied, info = ge.copy_with_input_replacements(ge.sgv([net.c.op, net.e.op]), {})
    assert list(info._transformed_ops) == [net.c.op, net.e.op]
    assert list(info._transformed_ops.values()) == list(copied.ops)
    assert info._transformed_ops[net.c.op].outputs[0] is info._transformed_ts[net.c]
    assert set(info._transformed_ts) == {net.c, net.e}


# -- util --------------------------------------------------------------------------------------------------


def test_lists_graphs_scopes(net):
    given = [0, 1, 2]
    view = ge.util.ListView(given)
    assert (len(view), view[0], view[2], view is given) == (3, 0, 2, False)
    with pytest.raises(TypeError):
        view[0] = 0
    assert ge.util.is_iterable(given)
    assert not ge.util.is_iterable(3)
    other = Net()
    assert ge.util.check_graphs(net.a, net.b) is None
    assert ge.util.get_unique_graph([net.a, net.b]) is net.graph
    for check in (lambda *ts: ge.util.check_graphs(*ts), lambda *ts: ge.util.get_unique_graph(ts)):
        with pytest.raises(ValueError, match="of another graph"):
            check(net.a, net.b, other.a, other.b)
    assert len(ge.util.make_list_of_op((net.a.op, net.b.op))) == 2
    assert len(ge.util.make_list_of_op(net.graph)) == len(ge.util.make_list_of_t(net.graph)) == 8
    assert len(ge.util.make_list_of_t((net.a, net.a.op, net.b), ignore_ops=True)) == 2
    assert ge.util.get_generating_ops([net.a, net.b]) == [net.a.op, net.b.op]
    assert ge.util.get_consuming_ops([net.a, net.b]) == [net.c.op, net.g.op]
    assert ge.util.get_consuming_ops([net.h]) == []
    waiting = ge.util.ControlOutputs(net.graph).get_all()
    assert (len(waiting), list(waiting[net.c.op])) == (1, [net.h.op])
    assert ge.util.scope_finalize("foo/bar") == "foo/bar/"
    assert ge.util.scope_dirname("foo/bar/op") == "foo/bar/"
    assert ge.util.scope_basename("foo/bar/op") == "op"


def test_placeholders():
    with tf.Graph().as_default():
        foo = tf.constant(1.0, name="foo")
        names = [ge.util.placeholder_name(foo, scope=scope) for scope in (None, "foo/", "foo")]
        assert names == ["geph__foo_0", "foo/geph__foo_0", "foo/geph__foo_0"]
        names = [ge.util.placeholder_name(None, scope=scope) for scope in (None, "foo/", "foo")]
        assert names == ["geph", "foo/geph", "foo/geph"]
        made = tf.add(
            ge.util.make_placeholder_from_tensor(foo),
            ge.util.make_placeholder_from_dtype_and_shape(dtype=tf.float32),
        )
        assert [t.op.name for t in made.op.inputs] == ["geph__foo_0", "geph"]


# -- reroute and edit --------------------------------------------------------------------------------------


def three():
    """Returns three sums a_i + b_i = c_i; the third is of another shape."""
    with tf.Graph().as_default() as graph:
        for i, shape in enumerate(([2], [2], [3])):
            a, b = (tf.constant(1.0, shape=shape, name=f"{letter}{i}") for letter in "ab")
            tf.add(a, b, name=f"c{i}")
    return graph, lambda *names: [graph.get_tensor_by_name(f"{name}:0") for name in names]


def fits(name, *inputs):
    """Returns a test for a tensor of that name whose op reads these, by expressions or other tests."""
    return lambda t: ge.OpMatcher(name).input_ops(*inputs)(t.op)


def test_tensors_change_places():
    graph, ts = three()
    (c0, c1) = ts("c0", "c1")
    ge.reroute.swap_ts(ts("a0", "b0"), ts("a1", "b1"))
    assert fits("c0", "a1", "b1")(c0)
    assert fits("c1", "a0", "b0")(c1)
    with graph.as_default():
        a3 = tf.constant(3.0, shape=[2], name="a3")
    graph, ts = three()
    (c0, c1) = ts("c0", "c1")
    with graph.as_default():
        a3 = tf.constant(3.0, shape=[2], name="a3")
    ge.swap_ios(ge.sgv(a3.op).remap_outputs([0, 0]), ge.sgv(*[t.op for t in ts("a0", "a1")]))
    assert fits("c0", "a3", "b0")(c0)
    assert fits("c1", "a3", "b1")(c1)


@pytest.mark.parametrize("names", ["last", "first"])
def test_tensors_are_rerouted(names):
    _, ts = three()
    (c0, c1) = ts("c0", "c1")
    one, other = ts("a0", "b0"), ts("a1", "b1")
    if names == "last":
        ge.reroute_ts(one, other)
    else:
        ge.reroute.reroute_a2b_ts(one, other)
    assert fits("c0", "a0", "b0")(c0)
    assert fits("c1", "a0", "b0")(c1)
    if names == "last":
        ge.reroute_ts(other, one)
    else:
        ge.reroute.reroute_b2a_ts(one, other)
    assert fits("c0", "a1", "b1")(c0)
    assert fits("c1", "a1", "b1")(c1)
    with refuses(WrongValue, "not compatible"):
        ge.reroute_ts(one, ts("a2", "b2"))


def test_outputs_change_places_where_a_tensor_is_input_and_output():
    with tf.Graph().as_default():
        a, b = (tf.constant(1.0, shape=[2], name=name) for name in "ab")
        c = tf.add(a, b, name="c")
        d = tf.add(a, c, name="d")
        e, f = (tf.constant(1.0, shape=[2], name=name) for name in "ef")
        g = tf.add(e, f, name="g")
    ge.reroute.swap_outputs(ge.sgv(a.op, b.op, c.op), ge.sgv(e.op, f.op))
    assert fits("g", "a", ge.OpMatcher("c").input_ops("a", "b"))(g)
    assert fits("d", "e", "f")(d)


def test_views_are_detached_connected_bypassed(net):
    control_outputs = ge.util.ControlOutputs(net.graph)
    ge.detach(ge.sgv(net.c.op, net.a.op), control_ios=control_outputs)
    assert fits("^foo/c$", "a", "geph__b_0")(net.c)
    net = Net()
    with net.graph.as_default():
        x, y = (tf.constant([1.0, 1.0], shape=[2], name=name) for name in "xy")
        z = tf.add(x, y, name="z")
    ge.connect(ge.sgv(x.op, y.op, z.op), ge.sgv(net.e.op).remap_inputs([0]))
    assert fits("^foo/bar/e$", "^z$", "foo/d$")(net.e)
    ge.bypass(ge.sgv(net.f.op).remap_inputs([0]))
    assert fits("^foo/bar/h$", "^foo/c$", "foo/bar/g$")(net.h)


def test_inputs_of_an_op_are_swapped_for_tensors():
    with tf.Graph().as_default() as graph:
        a = tf.constant(1.0, shape=[2, 3], name="a")
        b = tf.constant(2.0, shape=[2, 3], name="b")
        c = tf.add(tf1.placeholder(dtype=np.float32), tf1.placeholder(dtype=np.float32), name="c")
    ge.swap_inputs(c.op, [a, b])
    assert (run(graph, c) == 3.0).all()


# -- match -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("matcher", [match.OpMatcher, ge.matcher])
def test_matchers(net, matcher):
    assert matcher("^.*/f$")(net.f.op)
    assert matcher("^.*/f$").input_ops("^.*/c$", "^.*/d$")(net.f.op)
    assert matcher("^.*/f$").input_ops(True, "^.*/d$")(net.f.op)
    assert matcher("^.*/f$").input_ops(match.op_type("Add"), match.op_type("Const"))(net.f.op)
    assert not matcher("^.*/f$").input_ops(match.op_type("Const"), match.op_type("Const"))(net.f.op)
    of_h = matcher("^.*/h$").control_input_ops("^.*/c$")
    assert matcher("^.*/f$").input_ops("^.*/c$", "^.*/d$").output_ops(of_h)(net.f.op)
    of_h = matcher("^.*/h$").control_input_ops("^.*/c$").output_ops([])
    assert matcher("^.*/f$").input_ops("^.*/c$", "^.*/d$").output_ops(of_h)(net.f.op)


def test_a_type_of_old_is_met_by_what_tensorflow_makes_of_the_same_call_today(net):
    assert net.c.op.type == "AddV2"
    assert match.op_type("Add", net.c.op)
    assert match.op_type(("Mul", "AddV2"), net.c.op)
    assert not match.op_type("AddV", net.c.op)
    assert not match.op_type("Ad", net.c.op)
    assert not match.op_type("AddV3", net.c.op)
    with net.graph.as_default():
        total = tf1.add_n([net.a, net.b])
        assert not match.op_type("Add", total.op)
        assert match.op_type("AddN", total.op)
        assert match.op_type("ReadVariableOp", tf1.get_variable("v", [], use_resource=True).value().op)


# -- transform ---------------------------------------------------------------------------------------------


@pytest.fixture
def sums():
    with tf.Graph().as_default() as graph:
        c0, c1, c2 = (tf.constant(1.0, shape=[10], name="Const") for _ in range(3))
        i = tf.constant(1.0, shape=[10], name="Input")
        graph.o = tf.add(c2, tf.add(c1, tf.add(c0, i, name="Add"), name="Add"), name="Add")
    return graph


def test_a_graph_is_copied_into_another(sums):
    graph = tf.Graph()
    _, info = ge.copy(sums, graph)
    assert {op.name for op in sums.get_operations()} == {op.name for op in graph.get_operations()}
    for tops, news in ((sums.get_operations(), graph.get_operations()),
                       (ge.util.get_tensors(sums), ge.util.get_tensors(graph))):  # fmt: skip
        for top in tops:
            new = info.transformed(top)
            assert any(new is other for other in news)
            assert new.name == top.name
            assert info.original(new) is top


def test_a_transformer_with_a_handler_that_adds_noise(sums):
    transformer = ge.Transformer()

    def my_transform_op_handler(info, op, new_inputs):
        add_noise = op.name.startswith("Add")
        op_, op_outputs_ = ge.transform.copy_op_handler(info, op, new_inputs)
        if not add_noise:
            return op_, op_outputs_
        with info.graph_.as_default():
            noise = tf.constant(1.0, shape=[10], name="Noise")
            noisy = tf.add(noise, op_.outputs[0], name="AddNoise")
        return noisy.op, noisy.op.outputs

    transformer.transform_op_handler = my_transform_op_handler
    graph = tf.Graph()
    transformer(sums, graph, "", "")
    matcher = ge.OpMatcher("AddNoise").input_ops("Noise", ge.OpMatcher("Add").input_ops("Const", "Input"))
    for i in (1, 2):
        inner = ge.OpMatcher(f"Add_{i}").input_ops(f"Const_{i}", matcher)
        matcher = ge.OpMatcher(f"AddNoise_{i}").input_ops(f"Noise_{i}", inner)
    top = ge.select_ops("^AddNoise_2$", graph=graph)[0]
    assert matcher(top)
    assert (run(graph, top.outputs[0]) == 7.0).all()


def test_a_handler_changes_the_nodes_of_a_copy(sums):
    transformer = ge.Transformer()

    def nodedef_fn(node_def):
        if "Add" in node_def.name:
            node_def.attr["_foo"].s = b"foo"
        return node_def

    def my_copy_op_handler(info, op, new_inputs):
        return ge.transform.copy_op_handler(info, op, new_inputs, nodedef_fn=nodedef_fn)

    transformer.transform_op_handler = my_copy_op_handler
    graph = tf.Graph()
    transformer(sums, graph, "", "")
    marked = [op.name for op in graph.get_operations() if "_foo" in op.node_def.attr]
    assert marked == ["Add", "Add_1", "Add_2"]
    assert not any("_foo" in op.node_def.attr for op in sums.get_operations())


def test_an_input_is_replaced(sums):
    with sums.as_default():
        ten = tf.constant(10.0, shape=[10], name="Input")
        sgv, _ = ge.copy_with_input_replacements(sums.o.op, {sums.o.op.inputs[1]: ten})
    assert (run(sums, sgv.outputs[0]) == 11.0).all()


@pytest.mark.parametrize("form", ["tensor", "dict", "ordered", "named tuple"])
@pytest.mark.parametrize("kind", ["ref", "resource"])
def test_graph_replace_in_all_forms(kind, form):
    one_tensor = collections.namedtuple("OneTensor", ["t"])
    into = {
        "tensor": lambda t: t,
        "dict": lambda t: {"c": t},
        "ordered": lambda t: collections.OrderedDict({"c": t}),
        "named tuple": one_tensor,
    }[form]
    with tf.Graph().as_default(), tf1.Session() as session:
        a = tf.constant(1.0, name="a")
        b = tf1.Variable(1.0, name="b", use_resource=kind == "resource")
        eps = tf.constant(0.001, name="eps")
        c = tf.identity(a + b + eps, name="c")
        a_new = tf.constant(2.0, name="a_new")
        c_new = ge.graph_replace(into(c), {a: a_new})
        assert type(c_new) is type(into(c))
        session.run(tf1.global_variables_initializer())
        c_val, c_new_val = session.run([c, c_new])
        values = ge.util.flatten_tree(c_new_val)
        np.testing.assert_allclose([c_val, *values], [2.001, 3.001], rtol=1e-5)


def test_graph_replace_of_what_does_not_depend():
    with tf.Graph().as_default():
        a = tf.constant(1.0, name="a")
        b = tf.constant(2.0, name="b")
        c = a + 2 * b
        d = tf.constant(2.0, name="d")
        res = ge.graph_replace([b, c], {a: d})
        assert [t.name for t in res] == ["b:0", "add_1:0"]


@pytest.mark.parametrize("kind", ["ref", "resource"])
def test_graph_replace_keeps_what_gradients_were_made_for(kind):
    with tf.Graph().as_default() as graph, tf1.Session() as session:
        w = tf1.Variable(0.0, name="w", use_resource=kind == "resource")
        y = tf.multiply(tf.multiply(w, w, name="mul1"), w, name="mul2")
        g = tf1.gradients(y, w, name="grad")[0]
        value = w.value() if kind == "ref" else next(t for t in y.op.inputs if t.op.type == "ReadVariableOp")
        names = {op.name for op in graph.get_operations()}
        res = ge.graph_replace(g, {w if kind == "resource" else value: tf.constant(2.0)}, dst_scope="res")
        made = [op for op in graph.get_operations() if op.name not in names and op._original_op is not None]
        assert {op._original_op.name for op in made} >= {"res/mul1"}
        assert res.name != g.name
        session.run(tf1.global_variables_initializer())
        assert session.run([g, res]) == [0.0, 12.0]


@pytest.mark.parametrize("control_flow", ["v1", "v2"])
def test_loops_and_conds_are_copied_into_another_graph(control_flow):
    (tf1.enable_control_flow_v2 if control_flow == "v2" else tf1.disable_control_flow_v2)()
    try:
        with tf.Graph().as_default() as graph:
            max_index = tf1.placeholder(dtype=tf.int32, shape=())
            _, total = tf1.while_loop(
                cond=lambda i, _: i <= max_index, body=lambda i, s: (i + 1, s + i), loop_vars=[1, 0]
            )
            choice = tf1.placeholder(shape=(), dtype=tf.bool)
            chosen = tf1.cond(choice, lambda: tf.constant(1), lambda: tf.constant(2))
    finally:
        tf1.enable_control_flow_v2()
    copied_graph = tf.Graph()
    _, info = ge.copy(graph, dst_graph=copied_graph, dst_scope="imported")
    limit, flag, results = info.transformed(max_index), info.transformed(choice), info.transformed([total, chosen])
    assert run(copied_graph, results, {limit: 10, flag: True}) == [55, 1]
    assert run(copied_graph, results, {limit: 4, flag: False}) == [10, 2]


# -- results that TensorFlow wraps -------------------------------------------------------------------------


@pytest.fixture
def checked():
    with tf.Graph().as_default() as graph:
        a, b = tf.constant(1, name="a"), tf.constant(1, name="b")
        eq = tf.equal(a, b, name="eq")
        graph.check = tf.debugging.Assert(eq, [a, b], name="check")
        with tf.control_dependencies([graph.check]):
            graph.y = tf.add(a, b, name="y")
        graph.report = tf1.report_uninitialized_variables(name="report")
    for result in (graph.check, graph.report):
        result.mark_used()  # else TensorFlow says at the end that nobody has
    assert not issubclass(type(graph.check), tf.Operation)
    assert not issubclass(type(graph.report), tf.Tensor)
    return graph


@pytest.mark.parametrize("handler", [False, True], ids=["planned", "op by op"])
@pytest.mark.parametrize("same", [True, False], ids=["same graph", "other graph"])
def test_a_wrapped_op_is_found_in_a_copy(checked, same, handler):
    check, graph = checked.check, checked if same else tf.Graph()
    sgv = ge.make_view([check, *ge.get_backward_walk_ops(check, control_inputs=True)])
    assert all(type(op) is tf.Operation for op in sgv.ops)
    assert len(sgv.ops) == len(set(sgv.ops))
    copier = ge.Transformer()
    if handler:
        copier.transform_op_handler = lambda info, op, inputs: ge.copy_op_handler(info, op, inputs)
    _, info = copier(sgv, graph, "N", "")
    new = info.transformed(check)
    assert (type(new), new.name, new.graph) == (tf.Operation, f"N/{check.name}", graph)
    assert info.transformed({"k": [check]}) == {"k": [new]}
    assert info.original(new) is checked.get_operation_by_name(check.name)
    run(graph, new)


def test_a_handler_may_return_a_wrapped_op(checked):
    copier, graph = ge.Transformer(), tf.Graph()

    def handler(info, op, inputs):
        if op.type != "Assert":
            return ge.copy_op_handler(info, op, inputs)
        with info.graph_.as_default():
            new = tf.debugging.Assert(inputs[0], inputs[1:], name="mine")
        return new, new.outputs

    copier.transform_op_handler = handler
    _, info = copier(ge.make_view(ge.get_backward_walk_ops(checked.y, control_inputs=True)), graph, "", "")
    assert "mine" in info.transformed(checked.check).name
    assert type(info.transformed(checked.check)) is tf.Operation
    assert [op.name for op in info.transformed(checked.y).op.control_inputs] == [info.transformed(checked.check).name]


def test_wrapped_results_are_taken_wherever_an_op_or_a_tensor_is(checked):
    check, y, report = checked.check, checked.y, checked.report
    real, tensor = checked.get_operation_by_name(check.name), checked.get_tensor_by_name(report.name)
    is_real = [real]
    assert ge.util.make_list_of_op(check) == ge.util.make_list_of_op([check]) == is_real
    assert ge.util.make_list_of_op((check,), check_graph=False) == is_real
    assert ge.util.get_unique_graph([check, y]) is checked
    assert ge.util.make_list_of_t(report) == ge.util.make_list_of_t([report]) == [tensor]
    assert ge.select_ops(check) == ge.select_ops([check], check) == is_real
    assert ge.select_ts(report, [report]) == [tensor]
    assert ge.get_generating_ops([report]) == [tensor.op]
    assert ge.get_consuming_ops([report]) == []
    assert ge.get_forward_walk_ops(check, control_outputs=ge.ControlOutputs(checked)) == [real, y.op]
    assert ge.get_backward_walk_ops([check]) == ge.get_backward_walk_ops(real)
    assert ge.get_backward_walk_ops(report) == ge.get_backward_walk_ops(tensor)
    assert ge.get_within_boundary_ops(checked, check, [y.op]) == ge.get_within_boundary_ops(checked, real, [y.op])
    assert ge.get_within_boundary_ops(checked, real.inputs[0].op, [check]) == ge.get_within_boundary_ops(
        checked, real.inputs[0].op, [real]
    )
    assert ge.ControlOutputs(checked).get(check) == [y.op]
    assert ge.get_ops_ios(check) == ge.get_ops_ios(real)
    assert ge.compute_boundary_ts(check) == ge.compute_boundary_ts(real)
    assert ge.OpMatcher(check)(real)
    assert ge.OpMatcher(real)(check)
    assert ge.op_type("Assert", check)
    assert ge.make_view(check).ops == is_real
    view = ge.make_view(tensor.op)
    assert view.output_index(report) == 0
    assert list(view.remap_outputs([report]).outputs) == [tensor]
    assert ge.make_view(y, report).is_passthrough(report)
    assert ge.util.find_corresponding(check, checked) is real
    assert ge.util.concatenate_unique([real], [check]) == is_real
    assert ge.util.placeholder_name(report) == ge.util.placeholder_name(tensor)
    assert type(ge.make_placeholder_from_tensor(report)) is type(tensor)
    _, info = ge.copy_with_input_replacements(ge.make_view(y.op), {report: tensor}, dst_scope="N")
    assert [op.name for op in info.transformed(y).op.control_inputs] == [check.name]
    with checked.as_default():
        both = tf.concat([tensor, tensor], 0, name="both")
        other = tf1.placeholder(tf.string, [None], name="other")
    changed = ge.graph_replace(both, {report: other})
    assert list(run(checked, changed, {other: ["a"]})) == [b"a", b"a"]
    assert ge.graph_replace(report, {report: other}) is other
    with pytest.warns(ge.GraphEditorWarning, match="not sure any more"):
        assert ge.reroute_ts(other, report, can_modify=both.op) == 2
    assert ge.reroute_ts(report, other, cannot_modify=[check]) == 4
    ge.remove_control_inputs(y.op, check)
    assert y.op.control_inputs == []
    ge.add_control_inputs(y.op, [check])
    assert y.op.control_inputs == is_real
    ge.add_control_inputs(check, both.op)
    ge.remove_control_inputs(check, [both.op])
    assert real.control_inputs == []
