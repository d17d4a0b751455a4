"""What TensorFlow would refuse at apply is a fault before: attributes, dtypes, shapes, however far below a change."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.plan.plan import Plan
from graphsurgeon.tf.edit.validation import _ShapeChecker
from tests.graphs import tf1
from tests.plain import unjudged
from tests.random_graphs import flow_version
from tests.refusal import reads


def net() -> Any:
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        k = tf.constant(0.5, tf.float32, [3, 3, 3, 4], name="k")
        y = tf.nn.conv2d(x, k, 1, "SAME", name="y")
        skip = tf.nn.conv2d(x, tf.ones([1, 1, 3, 4]), 1, "SAME", name="skip")
        both = tf.add(y, skip, name="both")
        pair = tf.concat([both, x], tf.constant(3, name="axis"), name="pair")
        flat = tf.reshape(pair, tf.constant([-1, 8 * 8 * 7], name="sizes"), name="flat")
        out = tf.matmul(flat, tf.ones([448, 2], name="ones"), name="out")
        tf.identity(out * tf.constant(2.0, name="two"), name="end")
        tf.constant([1, -1], name="other")
        tf.constant(1, name="one")
        tf1.placeholder(tf.float32, [None, 4, 4, 3], name="small")
        tf1.placeholder(tf.float32, None, name="any")
    return graph


FAULTS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "no such attribute": (
        lambda p: p.set_attr("end", "shape", [1]),
        ("set_attr('end', 'shape', [1])", "'Identity' has no attribute 'shape'", "It has T"),
    ),
    "a value that is not one": (
        lambda p: p.set_attr("y", "padding", "MAYBE"),
        ("set_attr('y', 'padding', 'MAYBE')", "'padding' cannot be 'MAYBE'", "Choose one of EXPLICIT, SAME, VALID"),
    ),
    "a dtype that readers do not take": (
        lambda p: p.set_attr("x", "dtype", "int32"),
        ("set_attr('x', 'dtype', 'int32')", "TensorFlow refuses op", "which depends on 'x'", "another value"),
    ),
    "a padding after which sizes clash": (
        lambda p: p.set_attr("y", "padding", "VALID"),
        ("set_attr('y', 'padding', 'VALID')", "TensorFlow refuses op 'both' (AddV2)", "6 and 8", "another value"),
    ),
    "strides": (
        lambda p: p.set_attr("y", "strides", [1, 2, 2, 1]),
        ("set_attr('y', 'strides', [1, 2, 2, 1])", "TensorFlow refuses op 'both'"),
    ),
    "an axis that is a constant": (
        lambda p: p.set_attr("axis", "value", 1),
        ("set_attr('axis', 'value', 1)", "TensorFlow refuses op 'pair' (ConcatV2), which depends on 'axis'"),
    ),
    "sizes that are a constant": (
        lambda p: p.set_attr("sizes", "value", [-1, 64]),
        ("set_attr('sizes', 'value', [-1, 64])", "TensorFlow refuses op 'out' (MatMul)", "64 and 448"),
    ),
    "sizes from elsewhere": (
        lambda p: p.reroute("axis", to="one"),
        ("reroute('axis:0', to='one:0')", "TensorFlow refuses op 'pair' (ConcatV2)"),
    ),
    "an inserted op that does not exist": (
        lambda p: p.insert("Nothing", on="y", name="n"),
        ("insert('Nothing', on='y:0', name='n')", "TensorFlow has no op type 'Nothing'"),
    ),
    "an inserted op that takes other dtypes": (
        lambda p: p.insert("LogicalNot", on="y", name="n"),
        ("insert('LogicalNot', on='y:0', name='n')", "TensorFlow refuses op 'n' (LogicalNot)", "choose", "attributes"),
    ),
    "an inserted op that gives another dtype": (
        lambda p: p.insert("Cast", on="y", name="n", DstT="int32"),
        ("insert('Cast', on='y:0', name='n', DstT='int32')", "TensorFlow refuses op", "int32"),
    ),
    "an inserted function of another shape": (
        lambda p: p.insert("Shape", on="flat", name="n"),
        ("insert('Shape', on='flat:0', name='n')", "TensorFlow refuses op 'out'"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_names_the_step_and_the_op_and_tensorflow_refuses_it_indeed(kind):
    edit, words = FAULTS[kind]
    ed = gs.open(net())
    plan = edit(ed.plan())
    faults = plan.check()
    assert faults, "nothing was found"
    text = str(faults[0])
    for word in words:
        assert word.lower() in text.lower(), text
    assert unchecked(plan), "TensorFlow takes it"
    with pytest.raises(PlanError):
        ed.apply(plan)


def unchecked(plan: Plan) -> str:
    """Applies a plan that was not judged; returns why TensorFlow refuses it, or nothing."""
    from dataclasses import replace

    plan = unjudged(plan)
    assert plan.check() == ()
    ed = gs.open(plan.base.owner)
    try:
        ed.apply(unjudged(replace(ed.plan(), steps=plan.steps)))
    except PlanError as error:
        return str(error)
    return ""


GOOD: dict[str, Any] = {
    "a padding that makes no difference": lambda p: p.set_attr("skip", "padding", b"VALID"),
    "another axis of the same size": lambda p: p.set_attr("axis", "value", -1),
    "sizes as they were": lambda p: p.set_attr("sizes", "value", [-1, 448]),
    "a tensor of which nothing is known": lambda p: p.reroute("x", to="any", only="y"),
    "an inserted op that keeps the shape": lambda p: p.insert("Relu", on=["y", "both"], name="n"),
    "another dtype all along": lambda p: p.set_attr("one", "value", 3),
    "marks": lambda p: p.set_attr("end", "_mark", 3).set_device("end", "/cpu:0"),
}  # fmt: skip


@pytest.mark.parametrize("kind", GOOD)
def test_what_is_passed_is_carried_out(kind):
    ed = gs.open(net())
    plan = GOOD[kind](ed.plan())
    assert plan.check() == (), [str(f) for f in plan.check()]
    ed.apply(plan)


def test_each_refusal_is_found_and_what_reads_it_is_not_blamed_again():
    plan = gs.open(net()).plan()
    plan = plan.set_attr("y", "padding", "MAYBE").set_attr("end", "Q", 1).insert("LogicalNot", on="small", name="n")
    asked = [fault.request for fault in plan.check()]
    words = ["set_attr('y', 'padding', 'MAYBE')", "set_attr('end', 'Q', 1)"]
    assert sorted(asked) == sorted([*words, "insert('LogicalNot', on='small:0', name='n')"])


def test_what_lies_between_two_changes_has_its_new_shape():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2, 6], name="x")
        tf.reshape(tf.nn.relu(x, name="between"), tf.constant([2, 6, 1]), name="y")
        tf.constant([4, 6, 1], name="sizes")
    plan = gs.open(graph).plan().set_attr("x", "shape", [4, 6]).connect("sizes:0", to="y", input=1)
    assert plan.check() == ()
    (fault,) = plan.set_attr("x", "shape", [5, 6]).check()
    assert "'y' (Reshape)" in fault.problem


def test_a_copy_that_reads_other_shapes_is_judged_also_where_its_own_did_not_say():
    with tf.Graph().as_default() as graph:
        a = tf1.placeholder(tf.float32, None, name="a")
        tf.add(a, tf.ones([4], name="c"), name="sum")
        tf1.placeholder(tf.float32, [3], name="b")
    ed = gs.open(graph)
    plan = ed.plan().copy(ed.select(name=["sum", "c"]), to="k", inputs={"a:0": "b:0"})
    reads(
        plan.check()[0],
        "copy(to='k', inputs={'a:0': 'b:0'})",
        "'b:0' is float32 (3,)",
        "TensorFlow refuses it: ",
        "3 and 4",
    )
    assert unchecked(plan)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_loops_conds_and_functions_are_judged_with_what_is_inside(version):
    with tf.Graph().as_default() as graph, flow_version(version):
        x = tf1.placeholder(tf.float32, [2, 3], name="x")
        w = tf.constant(1.0, shape=[3, 3], name="w")
        tf1.while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, tf.matmul(s, w)), [0, x])
        tf1.cond(tf.constant(True, name="way"), lambda: tf.matmul(x, w), lambda: x)
    ed = gs.open(graph)
    plan = ed.plan().set_attr("w", "value", [[1.0] * 3] * 2)
    problem = unchecked(plan)
    assert bool(plan.check()) == bool(problem), (version, problem)
    good = ed.plan().set_attr("w", "value", [[2.0] * 3] * 3).insert("Relu", on="x", name="r")
    assert good.check() == (), [str(f) for f in good.check()]
    ed.apply(good)


def test_only_what_changes_and_what_it_reaches_is_built(monkeypatch):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [3], name="x")
        for n in range(400):
            x = tf.negative(x, name=f"n{n}")
    sizes = []
    built = _ShapeChecker._build

    def counted(self, region):
        sizes.append(len(region))
        return built(self, region)

    monkeypatch.setattr(_ShapeChecker, "_build", counted)
    ed = gs.open(graph)
    assert ed.plan().copy(ed.select(), to="c").check() == ()
    assert sizes == []
    assert ed.plan().insert("Relu", on="n3", name="r").check() == ()
    assert sizes == [2]
    sizes.clear()
    plan = ed.plan().set_attr("x", "shape", [5])
    assert plan.check() == plan.check() == ()
    assert sizes == [1, 401]


def test_another_dtype_or_shape_of_what_a_handle_stands_for_is_judged_at_what_reads_it():
    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", [2], use_resource=True)
        tf.add(w, [1.0, 2.0], name="sum")
        table = tf.raw_ops.MutableHashTableV2(key_dtype=tf.string, value_dtype=tf.int64, name="table")
        tf.raw_ops.LookupTableExportV2(table_handle=table, Tkeys=tf.string, Tvalues=tf.int64, name="export")
    ed = gs.open(graph)
    for op, name, value, words in (
        ("w", "dtype", "int32", "which depends on 'w': Trying to read variable with wrong dtype"),
        ("w", "shape", [3], "which depends on 'w': "),
        ("table", "value_dtype", "string", "refuses op 'export' (LookupTableExportV2), which depends on 'table'"),
    ):
        plan = ed.plan().set_attr(op, name, value)
        assert plan.check(), (op, name)
        reads(plan.check()[0], f"set_attr({op!r}, {name!r}, {value!r})", "TensorFlow refuses", words)
        assert unchecked(plan)
    good = ed.plan().set_attr("w", "shared_name", "v").set_attr("table", "shared_name", "t")
    assert good.check() == (), [str(f) for f in good.check()]
    ed.apply(good)


def test_a_constant_whose_value_has_another_dtype_is_not_valid_though_tensorflow_takes_its_node():
    with tf.Graph().as_default() as graph:
        tf.constant([1.0, 2.0], name="c")
    ed = gs.open(graph)
    plan = ed.plan().set_attr("c", "dtype", "int32")
    (fault,) = plan.check()
    problem = "'c': it has dtype int32, but its value has dtype float32"
    reads(fault, "set_attr('c', 'dtype', 'int32')", problem, "Choose another value")
    assert plan.set_attr("c", "value", [1, 2]).check() == ()
    ed.apply(unjudged(plan))
    with tf1.Session(graph=ed.graph) as session, pytest.raises(tf.errors.InvalidArgumentError, match="mismatch"):
        session.run("c:0")


def test_a_function_that_the_graph_does_not_hold_is_refused_and_one_that_it_holds_is_called():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        for name, function in (("double", lambda a: a + a), ("square", lambda a: a * a)):
            traced = tf.function(function).get_concrete_function(tf.TensorSpec([], tf.float32))
            tf.identity(traced(x), name=name)
    ed = gs.open(graph)
    calls = {n: op.inputs[0].op for n in ("double", "square") for op in [graph.get_operation_by_name(n)]}
    double, square = calls["double"].name, calls["square"].get_attr("f").name
    plan = ed.plan().set_attr(double, "f", "nosuch")
    held = ", ".join(sorted(graph._functions))
    reads(plan.check()[0], f"set_attr({double!r}, 'f', 'nosuch')", "'nosuch' is not a function of the graph",
          f"It holds {held}")  # fmt: skip
    ed.apply(ed.plan().set_attr(double, "f", square))
    assert ed.session().run("double:0", {"x:0": 3.0}) == 9.0


def test_what_a_plan_foresees_of_an_op_with_other_attributes_and_of_what_reads_it_is_not_what_was_told_before():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2, 3], name="x")
        tf.negative(x, name="y")
        first, _ = tf.split(tf1.placeholder(tf.float32, [6], name="s"), 2, name="parts")
        tf.identity(first, name="z")
    ed = gs.open(graph)
    plan = ed.plan().set_attr("x", "shape", [5]).set_attr("parts", "num_split", 3)
    after = plan.after()
    assert [after.outputs(after.index[name]) for name in ("x", "parts")] == [None, None]
    assert [str(after.info(after.index[name], 0)) for name in ("y", "z")] == ["float32 unknown shape"] * 2
    ed.apply(plan)
    assert [ed.tensor(f"{name}:0").shape for name in ("x", "y", "z")] == [[5], [5], [2]]
    marked = ed.plan().set_attr("x", "_mark", 1).after()
    assert str(marked.info(marked.index["y"], 0)) == "float32 (5,)"
