"""State that TensorFlow finds by a name: a copy in the same session has all of it to itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import graph_pb2, op_def_pb2
from tensorflow.python.client import pywrap_tf_session as c_api

import graphsurgeon as gs
from tests.graphs import tf1

raw = tf.raw_ops
#: Ops of old files, which this TensorFlow only refuses.
GONE = {"TFRecordReader", "IdentityReader", "TextLineReader", "FixedLengthRecordReader"}


def registered() -> list[Any]:
    """Returns all ops that TensorFlow knows and that have a shared name."""
    known = op_def_pb2.OpList.FromString(c_api.TF_GetBuffer(c_api.TF_GetAllOpList()))
    named = [op for op in known.op if any(a.name == "shared_name" for a in op.attr)]
    return sorted(named, key=lambda op: op.name)


def one_of(op: Any, shared: bytes) -> Any:
    """Returns a graph with an op of this kind, called "s", with the simplest attributes and inputs that it takes."""
    graph_def = graph_pb2.GraphDef()
    graph_def.versions.producer = tf.version.GRAPH_DEF_VERSION
    node = graph_def.node.add(name="s", op=op.name)
    for about in op.attr:
        value = node.attr[about.name]
        allowed = about.allowed_values.list if about.HasField("allowed_values") else None
        if about.HasField("default_value"):
            value.CopyFrom(about.default_value)
        elif about.type == "type":
            value.type = allowed.type[0] if allowed else tf.float32.as_datatype_enum
        elif about.type == "list(type)":
            value.list.type.extend([tf.float32.as_datatype_enum] * max(1, about.minimum))
        elif about.type == "list(string)":
            value.list.s.append(b"/cpu:0")
        elif about.type == "list(shape)":
            value.list.shape.add().dim.add(size=2)
        elif about.type == "shape":
            value.shape.dim.add(size=2)
        elif about.type == "int":
            value.i = max(1, about.minimum)
        elif about.type == "string":
            value.s = allowed.s[0] if allowed else b"x"
        elif about.type == "func":
            value.func.name = "none"
    node.attr["shared_name"].s = shared
    for about in op.input_arg:
        count = node.attr[about.number_attr].i if about.number_attr else 1
        kinds = [about.type or node.attr[about.type_attr].type] * count
        for kind in list(node.attr[about.type_list_attr].list.type) if about.type_list_attr else kinds:
            name = f"in{len(node.input)}"
            fed = graph_def.node.add(name=name, op="VariableV2" if about.is_ref else "Placeholder")
            fed.attr["dtype"].type = kind
            rank = 2 if about.name == "sparse_indices" else 1
            for _ in range(rank):
                fed.attr["shape"].shape.dim.add(size=2)
            node.input.append(name)
    graph = tf.Graph()
    with graph.as_default():
        tf.graph_util.import_graph_def(graph_def, name="")
    return graph


@pytest.mark.parametrize("op", registered())
def test_every_op_with_a_shared_name_gets_one_of_its_own(op):
    if op.name in GONE:
        with pytest.raises(tf.errors.UnimplementedError, match="not available in GraphDef version"):
            one_of(op, b"mine")
        return
    for shared in (b"mine", b""):
        ed = gs.open(one_of(op, shared))
        done = ed.apply(ed.plan().copy(ed.select(), to="t"))
        want = b"t/mine" if shared else b"t/s" if op.name == "VarHandleOp" else b""
        new = ed.graph.get_operation_by_name("t/s")
        assert new.get_attr("shared_name") == want
        assert new.name in done.ops
        assert ed.graph.get_operation_by_name("s").get_attr("shared_name") == shared


# -- by running ---------------------------------------------------------------------------------------------


def queue(kind: str, name: str) -> None:
    made = {
        "FIFOQueue": lambda: tf1.FIFOQueue(9, [tf.float32], [[]], shared_name=name),
        "PaddingFIFOQueue": lambda: tf1.PaddingFIFOQueue(9, [tf.float32], [[None]], shared_name=name),
        "RandomShuffleQueue": lambda: tf1.RandomShuffleQueue(9, 0, [tf.float32], [[]], shared_name=name),
        "PriorityQueue": lambda: tf1.PriorityQueue(9, [tf.float32], [[]], shared_name=name),
    }[kind]()
    items = {"PaddingFIFOQueue": ([1.0],), "PriorityQueue": (tf.constant(1, tf.int64), 1.0)}.get(kind, (1.0,))
    tf.group(made.enqueue(items), name="put")
    tf.identity(made.size(), name="held")


def barrier(name: str) -> None:
    handle = raw.Barrier(component_types=[tf.float32], shapes=[[]], shared_name=name)
    key = tf.strings.as_string(tf.random.uniform([1], maxval=1 << 30, dtype=tf.int32))
    tf.group(raw.BarrierInsertMany(handle=handle, keys=key, values=[1.0], component_index=0), name="put")
    tf.identity(raw.BarrierReadySize(handle=handle), name="held")


def accumulator(name: str) -> None:
    made = tf1.ConditionalAccumulator(tf.float32, [], shared_name=name)
    tf.group(made.apply_grad(1.0), name="put")
    tf.identity(made.num_accumulated(), name="held")


def sparse_accumulator(name: str) -> None:
    made = tf1.SparseConditionalAccumulator(tf.float32, [3], shared_name=name)
    tf.group(made.apply_grad([tf.constant(1, tf.int64)], [1.0]), name="put")
    tf.identity(made.num_accumulated(), name="held")


def table(name: str, dense: bool) -> None:
    if dense:
        empty = {"empty_key": tf.constant(-1, tf.int64), "deleted_key": tf.constant(-2, tf.int64)}
        made = raw.MutableDenseHashTableV2(value_dtype=tf.float32, shared_name=name, **empty)
    else:
        made = raw.MutableHashTableV2(key_dtype=tf.int64, value_dtype=tf.float32, shared_name=name)
    key = tf.random.uniform([1], maxval=1 << 40, dtype=tf.int64)
    tf.group(raw.LookupTableInsertV2(table_handle=made, keys=key, values=[1.0]), name="put")
    tf.identity(raw.LookupTableSizeV2(table_handle=made), name="held")


def stage(name: str) -> None:
    tf.group(raw.Stage(values=[1.0], shared_name=name, name="stg"), name="put")
    tf.identity(raw.StageSize(dtypes=[tf.float32], shared_name=name or "stg"), name="held")


def map_stage(name: str, ordered: bool) -> None:
    put, size = (raw.OrderedMapStage, raw.OrderedMapSize) if ordered else (raw.MapStage, raw.MapSize)
    key = tf.random.uniform([], maxval=1 << 40, dtype=tf.int64)
    tf.group(put(key=key, indices=[0], values=[1.0], dtypes=[tf.float32], shared_name=name, name="stg"), name="put")
    tf.identity(size(dtypes=[tf.float32], shared_name=name or "stg"), name="held")


def resource(name: str) -> None:
    handle = raw.VarHandleOp(dtype=tf.int32, shape=[], shared_name=name, name="v")
    start = raw.AssignVariableOp(resource=handle, value=0, name="start")
    tf.group(raw.AssignAddVariableOp(resource=handle, value=1), name="put")
    tf.identity(raw.ReadVariableOp(resource=handle, dtype=tf.int32), name="held")
    tf1.add_to_collection("start", start)


def reference(name: str) -> None:
    v = raw.VariableV2(shape=[], dtype=tf.int32, shared_name=name, name="v")
    tf1.add_to_collection("start", raw.Assign(ref=v, value=0, name="start").op)
    tf.group(raw.AssignAdd(ref=v, value=1), name="put")
    tf.identity(v, name="held")


def iterator(name: str) -> None:
    data = tf.data.Dataset.range(1, 9)
    made = tf1.data.make_initializable_iterator(data, shared_name=name or None)
    tf1.add_to_collection("start", made.initializer)
    step = made.get_next()
    tf.group(step, name="put")
    tf.subtract(step, 1, name="held")  # reads and moves on: see `count`


KEPT = {
    "FIFOQueue": lambda name: queue("FIFOQueue", name),
    "PaddingFIFOQueue": lambda name: queue("PaddingFIFOQueue", name),
    "RandomShuffleQueue": lambda name: queue("RandomShuffleQueue", name),
    "PriorityQueue": lambda name: queue("PriorityQueue", name),
    "Barrier": barrier,
    "ConditionalAccumulator": accumulator,
    "SparseConditionalAccumulator": sparse_accumulator,
    "MutableHashTable": lambda name: table(name, False),
    "MutableDenseHashTable": lambda name: table(name, True),
    "Stage": stage,
    "MapStage": lambda name: map_stage(name, False),
    "OrderedMapStage": lambda name: map_stage(name, True),
    "VarHandleOp": resource,
    "VariableV2": reference,
    "Iterator": iterator,
}


@pytest.mark.parametrize("name", ["shared", ""], ids=["named", "not named"])
@pytest.mark.parametrize("kind", KEPT)
def test_what_the_original_keeps_is_not_in_the_copies(kind, name):
    graph = tf.Graph()
    with graph.as_default():
        KEPT[kind](name)
    ed = gs.open(graph)
    block = ed.select()
    for to in ("a", "b"):
        ed.apply(ed.plan().copy(block.on(ed.snapshot), to=to))
    moves_on = kind == "Iterator"  # looking at it is a step of its own
    with tf1.Session(graph=graph) as session:
        starts = [f"{op.name}" for op in graph.get_collection("start")]
        session.run([f"{lead}{start}" for lead in ("", "a/", "b/") for start in starts])
        for lead, times in (("", 3), ("b/", 1)):
            for _ in range(times):
                session.run(f"{lead}put")
        held = [int(session.run(f"{lead}held:0")) for lead in ("", "a/", "b/")]
        assert held == [3, 0, 1]
        session.run("a/put")
        now = [int(session.run(f"{lead}held:0")) for lead in ("", "a/", "b/")]
        assert now == ([4, 2, 2] if moves_on else [3, 1, 1])


def test_two_ops_that_share_a_name_share_it_in_each_copy():
    graph = tf.Graph()
    with graph.as_default():
        one, two = (tf1.FIFOQueue(9, [tf.float32], [[]], shared_name="both", name=n) for n in ("one", "two"))
        tf.group(one.enqueue(5.0), name="put")
        tf.identity(two.dequeue(), name="taken")
        handles = [raw.VarHandleOp(dtype=tf.float32, shape=[], shared_name="v", name=n) for n in ("v1", "v2")]
        tf.group(raw.AssignVariableOp(resource=handles[0], value=7.0), name="set")
        tf.identity(raw.ReadVariableOp(resource=handles[1], dtype=tf.float32), name="got")
    ed = gs.open(graph)
    ed.apply(ed.plan().copy(ed.select(), to="a"))
    with tf1.Session(graph=graph) as session:
        session.run(["a/put", "a/set"])
        assert session.run(["a/taken:0", "a/got:0"]) == [5.0, 7.0]
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run("got:0")


def test_stage_and_unstage_stay_a_pair():
    graph = tf.Graph()
    with graph.as_default():
        tf.group(raw.Stage(values=[tf1.placeholder(tf.float32, [], name="x")], shared_name="pair"), name="put")
        tf.identity(raw.Unstage(dtypes=[tf.float32], shared_name="pair")[0], name="out")
    ed = gs.open(graph)
    ed.apply(ed.plan().copy(ed.select(), to="a"))
    with tf1.Session(graph=graph) as session:
        session.run("put", {"x:0": 1.0})
        session.run("a/put", {"a/x:0": 2.0})
        assert session.run(["out:0", "a/out:0"]) == [1.0, 2.0]


def test_arrays_and_stacks_of_a_step_are_not_shared():
    graph = tf.Graph()
    with graph.as_default():
        handle, flow = raw.TensorArrayV3(size=1, dtype=tf.float32, tensor_array_name="same")
        flow = raw.TensorArrayWriteV3(handle=handle, index=0, value=tf1.placeholder(tf.float32, [], "x"), flow_in=flow)
        read = raw.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=tf.float32)
        stack = raw.StackV2(max_size=2, elem_type=tf.float32, stack_name="same")
        with tf.control_dependencies([raw.StackPushV2(handle=stack, elem=read)]):
            tf.identity(raw.StackPopV2(handle=stack, elem_type=tf.float32), name="y")
    ed = gs.open(graph)
    ed.apply(ed.plan().copy(ed.select(), to="a"))
    with tf1.Session(graph=graph) as session:
        assert session.run(["y:0", "a/y:0"], {"x:0": 1.0, "a/x:0": 2.0}) == [1.0, 2.0]


@pytest.mark.parametrize("name", ["mine", ""])
def test_a_variable_of_one_step_is_not_shared(name):
    graph = tf.Graph()
    with graph.as_default():
        ref = raw.TemporaryVariable(shape=[], dtype=tf.float32, var_name=name, name="tmp")
        value = raw.Assign(ref=ref, value=tf1.placeholder(tf.float32, [], "x"))
        raw.DestroyTemporaryVariable(ref=value, var_name=name or "tmp", name="y")
    ed = gs.open(graph)
    ed.apply(ed.plan().copy(ed.select(), to="a"))
    with tf1.Session(graph=graph) as session:
        assert session.run("a/y:0", {"a/x:0": 3.0}) == 3.0
        assert session.run(["y:0", "a/y:0"], {"x:0": 1.0, "a/x:0": 2.0}) == [1.0, 2.0]


def test_containers_are_kept():
    graph = tf.Graph()
    with graph.as_default(), graph.container("box"):
        tf1.get_variable("v", initializer=1.0, use_resource=True)
        tf1.get_variable("r", initializer=1.0, use_resource=False)
        tf1.FIFOQueue(1, [tf.float32], name="q")
    ed = gs.open(graph)
    ed.apply(ed.plan().copy(ed.select(), to="a"))
    for name in ("v", "r", "q"):
        assert ed.op(f"a/{name}").get_attr("container") == b"box"


def test_an_array_that_was_given_can_be_changed_afterwards():
    """TensorFlow may go on using aligned memory it is fed: an array of the caller must not be that memory."""
    graph = tf.Graph()
    with graph.as_default():
        v = tf1.get_variable("v", [1 << 16], use_resource=True)
    held = np.zeros((1 << 16) + 64, np.float32)
    start = (-held.ctypes.data // 4) % 16
    mine = held[start : start + (1 << 16)]
    assert mine.ctypes.data % 64 == 0
    dst = gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(gs.open(graph).select(), to="t", values={"v": mine}))
    mine[:] = 5
    session = dst.session()
    mine[:] = 7
    assert not session.run(done[v]).any()
