"""Loops, conds and function calls of both versions: copied twice, run, and differentiated in any order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ops import control_flow_ops

import graphsurgeon as gs
from graphsurgeon import graph_editor as ge
from tests.graphs import tf1
from tests.refusal import reads

X = np.array([0.1, 0.2, 0.3], np.float32)
W = np.array([1.0, 2.0, 3.0], np.float32)


@pytest.fixture(autouse=True)
def _same_version_afterwards() -> Iterator[None]:
    before = tf1.control_flow_v2_enabled()
    yield
    (tf1.enable_control_flow_v2 if before else tf1.disable_control_flow_v2)()


def build(kind: str) -> Any:
    """Returns x, w -> y through a loop, a cond in a loop, a cond, or a function; `kind` starts with v1 or v2."""
    (tf1.enable_control_flow_v2 if kind.startswith("v2") else tf1.disable_control_flow_v2)()
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [3], name="x")
        w = tf1.get_variable("w", initializer=tf.constant(W), use_resource=not kind.startswith("v1")).value()
        if "while" in kind:

            def body(i: Any, a: Any) -> Any:
                big = tf1.cond(tf.reduce_sum(a) > 100.0, lambda: a * w, lambda: tf.sin(a) * w + a)
                return i + 1, big

            y = tf1.while_loop(lambda i, _: i < 3, body, [0, x])[1]
        elif "cond" in kind:
            y = tf1.cond(tf.reduce_sum(x) > 0, lambda: tf.sin(x) * w, lambda: x * x * w)
        else:
            y = tf.function(lambda a: tf.sin(a) * a)(x) * w
        tf.identity(y, name="y")
    return graph


@pytest.mark.parametrize(
    "order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)], ids=["original first", "last first", "first copy first"]
)
@pytest.mark.parametrize("same", [True, False], ids=["one graph", "two graphs"])
@pytest.mark.parametrize("kind", ["v1 while", "v1 cond", "v2 while", "v2 cond", "v2 function"])
def test_two_copies_and_the_original_in_any_order(kind, same, order):
    graph = build(kind)
    src = gs.open(graph)
    dst = src if same else gs.open(tf.Graph())
    block = src.select(outputs=["y:0"])
    copies = [dst.apply(dst.plan().copy(block.on(src.snapshot), to=name, values={"w": W})) for name in ("one", "two")]
    ends = [
        (graph, graph.get_tensor_by_name("y:0"), graph.get_tensor_by_name("x:0"), graph.get_collection("variables")[0])
    ]
    ends += [(dst.graph, done["y:0"], done["x:0"], done.variables[0]) for done in copies]
    gradients: dict[int, Any] = {}
    for number in order:
        owner, y, x, w = ends[number]
        with owner.as_default():
            gradients[number] = tf1.gradients(y, [w, x])
    first = tf1.Session(graph=graph)
    with graph.as_default():
        first.run(tf1.global_variables_initializer())
    second = dst.session(first if same else None)
    got = [
        (first if number == 0 else second).run([ends[number][1], *gradients[number]], {ends[number][2]: X})
        for number in range(3)
    ]
    for other in got[1:]:
        for a, b in zip(got[0], other, strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    assert all(not done.applied_ops.partial_contexts for done in copies)


@pytest.mark.parametrize("kind", ["v1 while", "v1 cond"])
@pytest.mark.parametrize("unmapped", ["placeholder", "keep"])
def test_a_copy_by_boundary_has_its_context_and_a_gradient(kind, unmapped):
    graph = build(kind)
    ed = gs.open(graph)
    (w,) = graph.get_collection("variables")
    done = ed.apply(ed.plan().copy(ed.select(inputs="x:0", outputs="y:0"), to="c", unmapped=unmapped))
    assert done.applied_ops.partial_contexts == []
    with graph.as_default():
        gradients = [tf1.gradients(y, v)[0] for y, v in ((done["y:0"], done[w]), (ed.tensor("y:0"), w))]
        start = tf1.global_variables_initializer()
    with tf1.Session(graph=graph) as session:
        session.run(start)
        of_copy, of_original = session.run(gradients, {"x:0": X, done["x:0"]: X})
    np.testing.assert_array_equal(of_copy, of_original)


def test_a_boundary_through_a_loop_is_refused_with_the_loop_proposed():
    ed = gs.open(build("v1 while"))
    inner = ed.select(op="Sin")
    faults = ed.plan().copy(inner.ancestors() - ed.select(op="NextIteration"), to="c", unmapped="placeholder").check()
    assert faults
    reads(faults[0], "cuts through a loop", "Select the whole loop", "its outputs are")


def test_a_boundary_at_a_tensor_of_each_round_is_refused_and_the_proposed_one_runs():
    tf1.disable_control_flow_v2()
    graph = tf.Graph()
    with graph.as_default():
        rows = tf1.placeholder(tf.float32, [3], name="rows")
        x = tf1.placeholder(tf.float32, [], name="x")
        y = tf1.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * 2.0 + rows[i]), [0, x], name="loop")[1]
        tf.identity(y, name="y")
    ed, dst = gs.open(graph), gs.open(tf.Graph())
    inside = next(op.name for op in graph.get_operations() if op.type == "StridedSlice")
    plan = dst.plan().copy(ed.select(inputs=["x:0", inside], outputs="y:0"), to="c", unmapped="placeholder")
    fault = plan.check()[0]
    reads(fault, f"'{inside}:0' is computed in each round")
    named = [part.split(", ") for part in re.findall(r" are (.*?)(?:;|$)", fault.suggestion)]
    assert named == [["x:0", "rows:0"], ["loop/Exit_1:0"]]
    block = ed.select(inputs=named[0], outputs=named[1])
    done = dst.apply(dst.plan().copy(block, to="c", unmapped="placeholder"))
    assert gs.compare(ed, done, {"x:0": 1.0, "rows:0": [1.0, 2.0, 3.0]})


def test_a_boundary_that_would_leave_one_branch_out_is_refused():
    tf1.disable_control_flow_v2()
    graph = tf.Graph()
    with graph.as_default():
        x, p = tf1.placeholder(tf.float32, [], name="x"), tf1.placeholder(tf.bool, [], name="p")
        tf.identity(tf.cond(p, lambda: tf.square(x, name="square"), lambda: -x, name="c"), name="y")
    ed, dst = gs.open(graph), gs.open(tf.Graph())
    cut = ed.select(inputs=["x:0", "p:0", "c/square:0"], outputs="y:0")
    plan = dst.plan().copy(cut, to="a", unmapped="placeholder")
    reads(plan.check()[0], "'c/Merge' would always take 'c/square:0', whatever the condition is")
    whole = ed.select(inputs=["x:0", "p:0"], outputs="y:0")
    done = dst.apply(dst.plan().copy(whole, to="b", unmapped="placeholder"))
    for condition in (True, False):
        assert gs.compare(ed, done, {"x:0": 3.0, "p:0": condition})


def test_frames_and_functions_have_names_of_their_own():
    ed = gs.open(build("v1 while"))
    ed.apply(ed.plan().copy(ed.select(outputs=["y:0"]), to="c"))
    frames = {op.get_attr("frame_name") for op in ed.graph.get_operations() if op.type == "Enter"}
    assert {f.startswith(b"c/") for f in frames} == {True, False}
    ed = gs.open(build("v2 cond"))
    ed.apply(ed.plan().copy(ed.select(outputs=["y:0"]), to="c"))
    branches = [op.get_attr("then_branch").name for op in ed.graph.get_operations() if "If" in op.type]
    assert len(set(branches)) == 2


def test_a_python_function_outlives_its_graph():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2], name="x")
        tf.identity(tf1.py_func(lambda a: a * 3, [x], tf.float32), name="y")
    dst = gs.open(tf.Graph())
    dst.apply(dst.plan().copy(gs.open(graph).select(outputs=["y:0"]), to="c"))
    del graph, x
    import gc

    gc.collect()
    with tf1.Session(graph=dst.graph) as session:
        np.testing.assert_array_equal(session.run("c/y:0", {"c/x:0": [1.0, 2.0]}), [3.0, 6.0])


def test_a_cut_between_writes_and_reads_of_an_array_is_refused():
    tf1.disable_control_flow_v2()  # with it, an array is a list in one tensor, which any boundary may cut
    graph = tf.Graph()
    with graph.as_default():
        array = tf1.TensorArray(tf.float32, size=1, name="array").write(0, tf1.placeholder(tf.float32, [2], name="x"))
        tf.identity(array.read(0), name="y")
    ed = gs.open(graph)
    write = next(op.name for op in graph.get_operations() if op.type.startswith("TensorArrayWrite"))
    plan = ed.plan().copy(ed.select(inputs=[f"{write}:0"], outputs=["y:0"]), to="c", unmapped="placeholder")
    reads(plan.check()[0], "orders the writes and reads of a TensorArray", "Cut before the writes")


def compiled_graph(where: str) -> Any:
    """Two calls, from x to y, of one function that XLA compiles, alone or in a loop or cond of TF1."""
    tf1.disable_control_flow_v2()

    @tf.function(jit_compile=True)
    def double(a: Any) -> Any:
        return tf.nn.relu(a) * 2.0

    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [3], name="x")
        if where == "alone":
            made = double(double(x))
        elif where == "beside a loop":  # in one, TensorFlow makes of it what does not run
            made = double(tf1.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * 2.0), (0, double(x)))[1])
        else:
            made = tf1.cond(tf.reduce_sum(x) > 0.0, lambda: double(double(x)), lambda: x)
        tf.identity(made, name="y")
    return graph


def in_context(graph: Any, lead: str = "") -> dict[str, list[str]]:
    """Returns for each op in a context the kinds of it and of those around it."""
    found = {}
    for op in graph.get_operations():
        context, kinds = op._get_control_flow_context(), []
        while context is not None:
            kinds.append(type(context).__name__)
            context = context.outer_context
        if kinds and op.name.startswith(lead):
            found[op.name.removeprefix(lead)] = kinds
    return found


def result(graph: Any, lead: str = "") -> Any:
    with tf1.Session(graph=graph) as session:
        return session.run(f"{lead}y:0", {f"{lead}x:0": X})


COMPILED = {
    "copy": lambda ed, folder: (copied_to_new(ed, "c"), "c/"),
    "copy beside": lambda ed, folder: (ed.apply(ed.plan().copy(ed.select(), to="c")).graph, "c/"),
    "insert": lambda ed, folder: (ed.apply(ed.plan().insert("Identity", on="x:0", name="t")).graph, ""),
    "rebuild": lambda ed, folder: (ed.rebuild().graph, ""),
    "save pb": lambda ed, folder: (reopened(ed, folder / "g.pb"), ""),
    "save meta": lambda ed, folder: (reopened(ed, folder / "g.meta"), ""),
    "drop-in": lambda ed, folder: (
        ge.copy(ge.make_view(ed.graph.get_operations()), tf.Graph(), "c")[0].graph, "c/"
    ),
}  # fmt: skip


def copied_to_new(ed: Any, to: str) -> Any:
    into = gs.open(tf.Graph())
    return into.apply(into.plan().copy(ed.select(), to=to)).graph


def reopened(ed: Any, path: Any) -> Any:
    ed.save(path)
    return gs.open(path).graph


@pytest.mark.parametrize("how", COMPILED)
@pytest.mark.parametrize("where", ["alone", "beside a loop", "cond"])
def test_functions_that_xla_compiles_go_along_with_their_context(where, how, tmp_path):
    graph = compiled_graph(where)
    wanted, around = result(graph), in_context(graph)
    assert any("XLAControlFlowContext" in kinds for kinds in around.values())
    new, lead = COMPILED[how](gs.open(graph), tmp_path)
    np.testing.assert_array_equal(result(new, lead), wanted)
    assert in_context(graph).items() >= around.items()  # the original has all of its own
    if "save" not in how:  # no file holds them
        found = {name: kinds for name, kinds in in_context(new, lead).items() if name in around}
        assert found == around


def test_a_call_that_xla_compiles_is_copied_without_the_others_of_that_function():
    ed = gs.open(compiled_graph("alone"))
    calls = [op.name for op in ed.graph.get_operations() if op.type == "PartitionedCall"]
    into = gs.open(tf.Graph())
    block = ed.select(inputs="x:0", outputs=f"{calls[0]}:0")
    done = into.apply(into.plan().copy(block, to="c", unmapped="placeholder"))
    assert done.applied_ops.ops == ["c/x", f"c/{calls[0]}"]
    assert in_context(into.graph) == {f"c/{calls[0]}": ["XLAControlFlowContext"]}


def test_a_call_that_xla_compiles_is_inlined():
    ed = gs.open(compiled_graph("alone"))
    wanted, calls = result(ed.graph), [op.name for op in ed.graph.get_operations() if op.type == "PartitionedCall"]
    ed.apply(ed.plan().inline(calls[0]))
    np.testing.assert_array_equal(result(ed.graph), wanted)
    assert "Relu" in ed.snapshot.types


@pytest.mark.parametrize("where", ["alone", "cond"])
def test_gradients_go_through_copies_of_calls_that_xla_compiles(where):
    graph = compiled_graph(where)
    new = copied_to_new(gs.open(graph), "c")
    slopes = []
    for one, lead in ((graph, ""), (new, "c/")):
        with one.as_default(), tf1.Session(graph=one) as session:
            slope = tf1.gradients(one.get_tensor_by_name(f"{lead}y:0"), one.get_tensor_by_name(f"{lead}x:0"))
            slopes.append(session.run(slope, {f"{lead}x:0": X}))
    np.testing.assert_array_equal(slopes[0], slopes[1])


def test_a_context_of_a_kind_that_nobody_knows_holds_what_the_copy_has():
    class Around(control_flow_ops.XLAControlFlowContext):
        def __init__(self, pivot: Any) -> None:
            super().__init__()
            self._pivot = pivot

        def AddOp(self, op: Any) -> None:
            self._values.update(t.name for t in op.outputs)

    tf1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [3], name="x")
        around = Around(tf.no_op(name="pivot"))
        around.Enter()
        inside = tf.identity(tf1.cond(tf.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: x), name="inside")
        around.Exit()
        tf.identity(inside, name="y")
    new = copied_to_new(gs.open(graph), "c")
    context = new.get_operation_by_name("c/inside")._get_control_flow_context()
    assert type(context) is Around
    assert context is not around
    assert context._pivot is new.get_operation_by_name("c/pivot")
    assert "c/inside:0" in context._values
    assert in_context(new, "c/") == in_context(graph)
    part = gs.open(tf.Graph())
    done = part.apply(part.plan().copy(gs.open(graph).select(name=["inside"]), to="c", unmapped="placeholder"))
    assert done.applied_ops.partial_contexts in ([], [around.name])


def test_a_gradient_copied_without_its_forward_array_gathers_in_an_array_of_its_own():
    tf1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [3], name="x")
        array = tf.TensorArray(tf.float32, 3, element_shape=[], name="array", clear_after_read=False).unstack(x)

        def body(i: Any, a: Any) -> Any:
            read = array.read(i)
            return i + 1, a + read * read

        y = tf1.while_loop(lambda i, a: i < 3, body, (0, 0.0), name="loop")[1]
        tf.identity(tf1.gradients(y, x)[0], name="slope")
    ed = gs.open(graph)
    block = ed.select(scope="gradients") | ed.select(scope="loop") | ed.select(name="slope")
    assert "array" not in block.names
    ed.apply(ed.plan().copy(block, to="c", unmapped="keep", control="keep"))
    sources: dict[str, set[bytes]] = {"c/": set(), "": set()}
    for op in graph.get_operations():
        if op.type.startswith("TensorArrayGrad"):
            sources["c/" if op.name.startswith("c/") else ""].add(op.get_attr("source"))
    assert sources == {"": {b"gradients"}, "c/": {b"c/gradients"}}
    with tf1.Session(graph=graph) as session:
        for _ in range(20):
            for slope in session.run(["slope:0", "c/slope:0"], {"x:0": X}):
                np.testing.assert_allclose(slope, 2 * X, rtol=1e-6)


@pytest.mark.parametrize("again", [False, True], ids=["a copy", "a copy of a copy"])
def test_a_gradient_of_a_gradient_through_a_loop_is_refused_as_in_the_original(again):
    tf1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        y = tf1.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), (0, x), name="loop")[1]
        tf.identity(tf1.gradients(y, x)[0], name="slope")
    new, lead = copied_to_new(gs.open(graph), "c"), "c/"
    if again:
        new, lead = copied_to_new(gs.open(new), "d"), "d/c/"
    for one, scope in ((graph, ""), (new, lead)):
        slope, x = (one.get_tensor_by_name(f"{scope}{name}:0") for name in ("slope", "x"))
        with one.as_default(), pytest.raises(TypeError, match="Second-order gradient for while loops not supported"):
            tf1.gradients(slope, x)
        with one.as_default(), tf1.Session(graph=one) as session:  # the first one is as it was
            assert session.run(slope, {x: 2.0}) == 32.0


def test_copies_know_the_line_of_code_that_made_them():
    ed = gs.open(compiled_graph("beside a loop"))
    new = copied_to_new(ed, "c")
    for op in new.get_operations():
        last = op.traceback[-1]
        assert (last.filename, last.name) == (__file__, "copied_to_new")


def test_an_input_from_a_loop_that_tensorflow_refuses_is_refused_in_its_words():
    tf1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        tf1.while_loop(lambda a: a < 3.0, lambda a: tf.multiply(a, 2.0, name="inside"), [tf.constant(1.0)], name="loop")
    new = copied_to_new(gs.open(graph), "c")
    inside = new.get_tensor_by_name("c/loop/inside:0")
    with new.as_default(), pytest.raises(ValueError, match="Cannot use 'c/loop/inside' as input to"):
        tf1.while_loop(lambda b: b < 3.0, lambda b: b + inside, [tf.constant(1.0)])
