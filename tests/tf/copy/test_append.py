"""Copies, run: the same numbers, the right names, nothing else touched; by the fast import and by the public one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, StalePlanError
from graphsurgeon.graph.graph import Graph
from graphsurgeon.tf.copy import imports as importing
from graphsurgeon.tf.copy.append import differences
from tests.graphs import look, run, tiny
from tests.refusal import refuses

tf1 = tf.compat.v1
X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


@pytest.fixture(params=["raw", "public"], autouse=True)
def way(request, monkeypatch):
    """Every test of this file runs with the fast import and with `tf.import_graph_def`."""
    if request.param == "public":
        monkeypatch.setattr(importing, "raw_import_works", lambda: False)
    return request.param


def rich():
    """Returns a graph with several outputs, control edges, colocation, devices, set shapes, and a seeded op."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, None, name="x")
        shaped = tf.identity(x, name="shaped")
        shaped.set_shape([None, 2])
        a, b = tf.split(shaped, 2, axis=1, name="split")
        with tf.name_scope("part"):
            with tf1.device("/cpu:0"):
                mean = tf.reduce_mean(a, name="mean")
            with tf.control_dependencies([mean]):
                wait = tf.no_op(name="wait")
            with tf.control_dependencies([wait]), tf1.colocate_with(b.op):
                total = tf.add(a, b, name="total")
        tf.strings.join(["a", "b"], name="words")
        tf.identity(total, name="y")
        graph.add_to_collection("mine", total)
        graph.add_to_collection("mine", wait)
        graph.add_to_collection("mine", "text")
    return graph


def test_the_whole_graph_into_an_empty_one():
    graph = rich()
    before = look(graph)
    src, dst = gs.open(graph), gs.open(tf.Graph())
    plan = dst.plan().copy(src.select(), to="copy")
    done = dst.apply(plan)
    assert look(graph) == before
    assert [op.name for op in dst.graph.get_operations()] == [f"copy/{op.name}" for op in graph.get_operations()]
    assert dst.snapshot.fingerprint == plan.after().fingerprint
    np.testing.assert_array_equal(run(dst.graph, done["y:0"], {done["x:0"]: X}), run(graph, "y:0", {"x:0": X}))
    for op in graph.get_operations():
        new = done[op]
        assert (new.type, new.device) == (op.type, op.device)
        assert [t.dtype for t in new.outputs] == [t.dtype for t in op.outputs]
        assert [t.shape.as_proto() for t in new.outputs] == [t.shape.as_proto() for t in op.outputs], op.name
        assert [c.name for c in new.control_inputs] == [f"copy/{c.name}" for c in op.control_inputs]
    assert done["part/total"].colocation_groups() == [b"loc:@copy/split"]
    mine = dst.graph.get_collection("copy/mine")
    assert mine[0] is done["part/total:0"]
    assert mine[1:] == [done["part/wait"], "text"]


def test_without_a_scope():
    src, dst = gs.open(rich()), gs.open(tf.Graph())
    dst.apply(dst.plan().copy(src.select(), to=""))
    assert dst.graph.as_graph_def() == src.graph.as_graph_def()
    assert dst.graph.graph_def_versions.producer == src.graph.graph_def_versions.producer


def test_inside_one_graph():
    graph = rich()
    old = {op.name: op for op in graph.get_operations()}
    ed = gs.open(graph)
    s = ed.select(scope="part")
    done = ed.apply(ed.plan().copy(s, to="copy", unmapped="keep"))
    assert done["part/total:0"].op.inputs[0] is old["split"].outputs[0]
    assert all(graph.get_operation_by_name(name) is op for name, op in old.items())
    got = run(graph, [done["part/total:0"], "part/total:0"], {"x:0": X})
    np.testing.assert_array_equal(got[0], got[1])
    assert done["part/total"].colocation_groups() == [b"loc:@split"]


def test_devices_cleared():
    graph = rich()
    ed = gs.open(graph)
    done = ed.apply(ed.plan().copy(ed.select(scope="part"), to="copy", unmapped="keep", device="clear"))
    assert done["part/mean"].device == ""
    assert "CPU" in graph.get_operation_by_name("part/mean").device


def test_each_choice_for_unmapped_inputs():
    graph = rich()
    src = gs.open(graph)
    s = src.select(name="part/total")
    want = run(graph, "part/total:0", {"x:0": X})
    dst = gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(s, to="p", unmapped="placeholder", control="drop"))
    ins = {done["split:0"]: X[:, :1], done["split:1"]: X[:, 1:]}
    assert [t.op.type for t in ins] == ["Placeholder", "Placeholder"]
    assert [t.name for t in ins] == ["p/split:0", "p/split_1:0"]
    assert [t.shape.as_list() for t in ins] == [[None, 1], [None, 1]]
    np.testing.assert_array_equal(run(dst.graph, done["part/total:0"], ins), want)
    assert done["part/total"].control_inputs == []
    done = dst.apply(dst.plan().copy(s, to="i", unmapped="include", control="include"))
    np.testing.assert_array_equal(run(dst.graph, done["part/total:0"], {done["x:0"]: X}), want)
    assert [op.name for op in done["part/total"].control_inputs] == ["i/part/wait"]
    with dst.graph.as_default():
        a = tf.constant(X[:, :1], name="a")
        b = tf.constant(X[:, 1:], name="b")
    done = dst.apply(dst.plan().copy(s, to="m", inputs={"split:0": a, "split:1": b}, control="drop"))
    np.testing.assert_array_equal(run(dst.graph, done["part/total:0"]), want)
    assert done["split:1"] is b
    before = look(dst.graph)
    with refuses(PlanError, "the copy needs 2 tensors that are not mapped", "(and 1 more: see plan.check())"):
        dst.apply(dst.plan().copy(s, to="r"))
    assert look(dst.graph) == before


def test_what_is_done_answers_names_and_objects():
    graph = rich()
    src, dst = gs.open(graph), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(src.select(), to="c"))
    there = dst.graph.get_operation_by_name("c/part/total")
    assert done["part/total"] is there
    assert done["part/total:0"] is there.outputs[0]
    assert done[graph.get_operation_by_name("part/total")] is there
    assert done[graph.get_tensor_by_name("split:1")] is dst.graph.get_tensor_by_name("c/split:1")
    assert "part/total" in done
    assert "nothing" not in done
    assert dst.graph.get_operation_by_name("c/x") not in done
    assert len(done.ops) == len(graph.get_operations())
    assert done.variables == []
    assert repr(done) == f"<Applied: copy {len(done.ops)} ops of graph to c/: {len(done.ops)} new ops>"


def test_plans_made_of_several_copies():
    graph = tiny()
    src, dst = gs.open(graph), gs.open(tf.Graph())
    plan = (
        dst.plan()
        .copy(src.select(name=["x", "y"]), to="a")
        .copy(src.select(name=["y", "z"]), to="b", inputs={"x:0": "a/y:0"}, unmapped="include")
        .connect("a/x:0", to="b/y")
    )
    done = dst.apply(plan)
    assert [t.name for t in dst.op("b/y").inputs] == ["a/x:0"]
    assert done["y"].name == "b/y"
    assert run(dst.graph, "b/z:0", {"a/x:0": X}).tolist() == (X**2 + 1).tolist()


def test_the_callers_context_does_not_get_in():
    src, dst = gs.open(tiny()), gs.open(tf.Graph())
    with dst.graph.as_default(), tf.name_scope("mine"), tf1.device("/cpu:0"):
        first = tf.no_op()
        with tf.control_dependencies([first]):
            done = dst.apply(dst.plan().copy(src.select(), to="t"))
    assert done["y"].name == "t/y"
    assert done["y"].control_inputs == []
    assert done["y"].device == ""


def test_names_are_reserved():
    src, dst = gs.open(tiny()), gs.open(tf.Graph())
    dst.apply(dst.plan().copy(src.select(), to="t"))
    with dst.graph.as_default():
        assert tf.constant(1, name="t/y").name == "t/y_1:0"
        with tf.name_scope("t") as scope:
            assert scope == "t_1/"
        assert tf.constant(1, name="T").name != "T:0"


def test_later_ops_of_the_user_work_on_copies():
    src, dst = gs.open(tiny()), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(src.select(), to="t"))
    with dst.graph.as_default():
        (slope,) = tf.gradients(done["z:0"], done["x:0"])
    assert run(dst.graph, slope, {done["x:0"]: X}).tolist() == (2 * X).tolist()


def test_an_open_session_sees_the_copy():
    graph = tiny()
    with tf1.Session(graph=graph) as session:
        session.run("y:0", {"x:0": X})
        ed = gs.open(graph)
        done = ed.apply(ed.plan().copy(ed.select(name=["y", "z"]), to="t", unmapped="keep"))
        np.testing.assert_array_equal(session.run(done["y:0"], {"x:0": X}), X**2)


def test_shapes_follow_a_mapped_input_of_another_shape():
    graph = tiny()
    ed = gs.open(graph)
    with graph.as_default():
        other = tf1.placeholder(tf.float32, [7, 2], name="other")
    done = ed.apply(ed.plan().copy(ed.select(name="y"), to="t", inputs={"x:0": other}))
    assert done["y:0"].shape.as_list() == [7, 2]


def test_a_shape_only_tensorflow_can_judge():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        tf.matmul(x, tf.ones([2, 3]), name="mm")
        tf1.placeholder(tf.float32, [None, 5], name="wide")
        tf1.placeholder(tf.float32, [4, 2], name="good")
    ed = gs.open(graph)
    s = ed.select(inputs="x:0", outputs="mm:0")
    before = look(graph)
    plan = ed.plan().copy(s, to="t", inputs={"x:0": "wide:0"})
    with refuses(PlanError, "copy(to='t', inputs={'x:0': 'wide:0'})", "'wide:0' is float32 (?, 5)",
                 "'x:0' is float32 (?, 2)", "axis 1 is 5 against 2. TensorFlow refuses it: ",
                 "These would fit: 'x:0', 'good:0'"):  # fmt: skip
        ed.apply(plan)
    assert look(graph) == before
    assert [f.request for f in plan.check()] == ["copy(to='t', inputs={'x:0': 'wide:0'})"]
    done = ed.apply(ed.plan().copy(s, to="t", inputs={"x:0": "good:0"}))
    assert done["mm:0"].shape.as_list() == [4, 3]


def test_another_shape_is_no_fault_where_the_ops_take_it():
    graph = tf.Graph()
    with graph.as_default():
        tf.square(tf1.placeholder(tf.float32, [3], name="x"), name="y")
        tf1.placeholder(tf.float32, [2, 2], name="other")
    ed = gs.open(graph)
    done = ed.apply(ed.plan().copy(ed.select(name="y"), to="t", inputs={"x:0": "other:0"}))
    assert done["y:0"].shape.as_list() == [2, 2]


def test_functions_go_along():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        tf.identity(tf.function(lambda t: t * 3.0)(x), name="y")
    src, dst = gs.open(graph), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(src.select(), to="t"))
    np.testing.assert_array_equal(run(dst.graph, done["y:0"], {done["x:0"]: X}), X * 3)
    with dst.graph.as_default():
        (slope,) = tf.gradients(done["y:0"], done["x:0"])
    np.testing.assert_array_equal(run(dst.graph, slope, {done["x:0"]: X}), np.full_like(X, 3))


def test_guards_are_kept():
    graph = tiny()
    graph.prevent_fetching(graph.get_operation_by_name("y"))
    graph.prevent_feeding(graph.get_tensor_by_name("y:0"))
    src, dst = gs.open(graph), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(src.select(), to="t"))
    assert not dst.graph.is_fetchable(done["y"])
    assert not dst.graph.is_feedable(done["y:0"])
    assert dst.graph.is_feedable(done["z:0"])


def test_strings_and_odd_dtypes():
    graph = tf.Graph()
    with graph.as_default():
        for dtype in (tf.float16, tf.bfloat16, tf.float64, tf.int8, tf.uint16, tf.int64, tf.bool, tf.complex64):
            tf.identity(tf1.placeholder(dtype, [None], name=f"x_{dtype.name}"), name=f"y_{dtype.name}")
        tf.identity(tf.constant(["ä", "b"]), name="s")
    src, dst = gs.open(graph), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(src.select(name="y_*"), to="t", unmapped="placeholder"))
    for name in src.select(name="y_*").names:
        assert done[f"{name}:0"].dtype == graph.get_tensor_by_name(f"{name}:0").dtype
        assert done[f"{name}:0"].op.inputs[0].dtype == done[f"{name}:0"].dtype
    done = dst.apply(dst.plan().copy(src.select(outputs="s:0"), to="u"))
    assert run(dst.graph, done["s:0"]).tolist() == ["ä".encode(), b"b"]


# -- refusals -----------------------------------------------------------------------------------------


def test_a_finalized_graph():
    graph = tiny()
    ed = gs.open(graph)
    graph.finalize()
    before = look(graph)
    with refuses(PlanError, "the graph is finalized", "Unfinalize it, or copy into another graph"):
        ed.apply(ed.plan().copy(ed.select(name="y"), to="t", unmapped="keep"))
    assert look(graph) == before


def test_a_source_that_changed_behind_the_plan():
    graph = tiny()
    src, dst = gs.open(graph), gs.open(tf.Graph())
    plan = dst.plan().copy(src.select(), to="t")
    with graph.as_default():
        tf.negative(graph.get_tensor_by_name("x:0"), name="n")
    graph.get_operation_by_name("z")._update_input(0, graph.get_tensor_by_name("n:0"))
    before = look(dst.graph)
    with refuses(StalePlanError, "apply: copy 5 ops of graph to t/: 1 op changed since the plan was made, 'z' first",
                 "Open the graph again"):  # fmt: skip
        dst.apply(plan)
    assert look(dst.graph) == before


def test_what_tensorflow_refuses(monkeypatch):
    """A fault that no check has foreseen: TensorFlow's own word, and nothing changed."""
    from graphsurgeon.tf.copy import append as copying

    graph = tiny()
    ed = gs.open(graph)
    plan = ed.plan().copy(ed.select(name="y"), to="t", unmapped="keep")
    real = copying.compile_nodes

    def broken(*args):
        graph_def, tensors, controls = real(*args)
        graph_def.node[0].attr["T"].type = tf.int32.as_datatype_enum
        return graph_def, tensors, controls

    monkeypatch.setattr(copying, "compile_nodes", broken)
    before = look(graph)
    with refuses(PlanError, "apply: copy 1 op of graph to t/: TensorFlow refuses the nodes: ",
                 "Nothing was changed. plan.preview() shows the ops of the plan"):  # fmt: skip
        ed.apply(plan)
    assert look(graph) == before
    assert ed.history == []
    monkeypatch.undo()
    assert ed.apply(plan)["y"].name == "t/y"


def test_a_failure_after_the_import_takes_the_collections_back(monkeypatch):
    from graphsurgeon.tf.copy import append as copying
    from tests.graphs import collections, model

    m = model("resource", optimizer=None)
    ed = gs.open(m.graph)
    before, real = collections(m.graph), copying.attach_python_state

    def broken(*everything):
        real(*everything)
        raise MemoryError("no more")

    monkeypatch.setattr(copying, "attach_python_state", broken)
    with refuses(PlanError, "apply(plan): MemoryError: no more; TensorFlow cannot delete the ops that it had added",
                 "21 ops, 't/net/w/Initializer/random_uniform/shape' first, stay in graph as orphans",
                 "Make the plan again with to='t_2'"):  # fmt: skip
        ed.apply(ed.plan().copy(ed.select(scope="net"), to="t", unmapped="keep"))
    assert collections(m.graph) == before
    assert ed.history == []
    assert {n.partition("/")[0] for n in ed.orphans} == {"t"}
    assert "orphans left by undo" in str(ed)


def test_a_wait_for_a_replaced_tensor_is_a_wait_for_the_new_one():
    graph, target = tf.Graph(), tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [], name="x")
        with tf.control_dependencies([x]):
            k = tf.constant(2.0, name="k")
        y = tf.multiply(x, k, name="y")
    with target.as_default():
        z = tf.constant(4.0, name="z")
    dst = gs.open(target)
    done = dst.apply(dst.plan().copy(gs.open(graph).select(inputs=x, outputs=y), to="t", inputs={x: z}))
    assert done["k"].control_inputs == [z.op]
    assert run(target, done[y]) == 8.0


def test_a_wait_for_an_op_without_outputs_inside_one_graph():
    graph = tf.Graph()
    with graph.as_default():
        first = tf.no_op(name="first")
        with tf.control_dependencies([first]):
            tf.constant(2.0, name="k")
    ed = gs.open(graph)
    done = ed.apply(ed.plan().copy(ed.select(name="k"), to="t"))
    assert done["k"].control_inputs == [first]


WANTED = [("a", "Const", []), ("b", "Const", []), ("c", "Sub", ["a", "b:0", "^a", "^b"])]


@pytest.mark.parametrize(
    ("found", "reported"),
    [
        ([WANTED[1], WANTED[0], ("c", "Sub", ["a:0", "b", "^b", "^a"])], []),
        ([WANTED[0], WANTED[1], ("c", "Sub", ["b", "a", "^a", "^b"])], ["'c' differs"]),
        ([WANTED[0], WANTED[1], ("c", "Sub", ["a", "b:1", "^a", "^b"])], ["'c' differs"]),
        ([WANTED[0], WANTED[1], ("c", "Sub", ["a", "b", "^a"])], ["'c' differs"]),
        ([WANTED[0], ("b", "Neg", []), WANTED[2]], ["'b' differs"]),
        ([WANTED[0], WANTED[1]], ["2 ops instead of 3"]),
        ([WANTED[0], WANTED[1], ("d", "Sub", ["a", "b", "^a", "^b"])], ["'c' is missing"]),
    ],
    ids=["another order", "inputs swapped", "another output", "waits for less", "another type", "fewer", "renamed"],
)
def test_what_was_read_back_is_compared_with_what_was_predicted(found, reported):
    assert differences(SimpleNamespace(after=Graph.from_ops(WANTED)), Graph.from_ops(found)) == reported
