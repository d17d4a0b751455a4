"""What would end or hang the process inside TensorFlow is refused before."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

import graphsurgeon as gs
from graphsurgeon.tf.open import crash_guards
from tests.graphs import tf1
from tests.refusal import refuses
from tests.tf.nodes import add, call, constant, empty, feed, function

FLOAT = tf.float32


# -- functions ------------------------------------------------------------------------------------


def calling(*pairs: tuple[str, str]) -> tf1.GraphDef:
    """Returns a GraphDef with functions that call each other, and one op that calls the first."""
    graph_def = empty()
    feed(graph_def)
    for name, callee in pairs:
        function(graph_def, name, callee)
    call(graph_def, "start", pairs[0][0])
    return graph_def


def test_a_function_that_calls_itself():
    with refuses(gs.OpenError, "function 'f' calls itself: f -> f", "write it as a loop"):
        gs.open(calling(("f", "f"))).graph  # noqa: B018


def test_two_functions_that_call_each_other():
    with refuses(gs.OpenError, "calls itself: f -> g -> f"):
        gs.open(calling(("f", "g"), ("g", "f"))).graph  # noqa: B018


def test_a_long_circle_of_functions_is_told_in_short():
    names = [f"f{i}" for i in range(30)]
    with refuses(gs.OpenError, "f0 -> f1 -> f2 -> f3 -> f4 -> f5 -> ..."):
        gs.open(calling(*zip(names, [*names[1:], "f0"], strict=True))).graph  # noqa: B018


def deep(count: int) -> tf1.GraphDef:
    """Returns a call of a function that calls another, and so on."""
    graph_def = empty()
    feed(graph_def)
    function(graph_def, "f1")
    for i in range(2, count + 1):
        function(graph_def, f"f{i}", f"f{i - 1}")
    call(graph_def, "y", f"f{count}")
    return graph_def


def test_functions_may_call_each_other_five_hundred_deep():
    assert len(gs.open(deep(500))) == 2
    with refuses(gs.OpenError, "function 'f501' calls a function that calls another", "501 deep", "up to 500 levels"):
        gs.open(deep(501)).graph  # noqa: B018


def test_many_functions_are_looked_at_once_each():
    with refuses(gs.OpenError, "501 deep"):
        gs.open(deep(20_000)).graph  # noqa: B018


def test_functions_that_double_at_each_level():
    graph_def = empty()
    feed(graph_def)
    function(graph_def, "f0")
    for i in range(1, 60):
        function(graph_def, f"f{i}", f"f{i - 1}", f"f{i - 1}")
    call(graph_def, "y", "f59")
    with refuses(gs.OpenError, "function 'f21' and its calls, each expanded", "have 6,291,454 ops", "up to 5,000,000"):
        gs.open(graph_def).graph  # noqa: B018


def test_a_function_with_two_ops_of_one_name():
    graph_def = empty()
    feed(graph_def)
    add(function(graph_def, "f"), "neg", "Neg", "v", T=FLOAT)
    with refuses(gs.OpenError, "two ops of function 'f' are called 'neg'", "The file is damaged"):
        gs.open(graph_def).graph  # noqa: B018


def test_a_function_with_the_name_of_an_op_type():
    graph_def = empty()
    function(graph_def, "Add")
    with refuses(gs.OpenError, "function 'Add' has the name of an op type", "Rename the function"):
        gs.open(graph_def).graph  # noqa: B018


def test_functions_that_python_refuses():
    graph_def = empty()
    function(graph_def, "f")
    function(graph_def, "g")
    for a, b in (("f", "g"), ("g", "f")):
        graph_def.library.gradient.add(function_name=a, gradient_func=b)
    with refuses(gs.OpenError, "TensorFlow refuses the graph: FunctionDefLibrary contains cyclic gradient functions"):
        gs.open(graph_def).graph.get_operations().graph  # noqa: B018


def test_a_call_of_a_function_that_is_not_there_can_be_looked_at_and_is_told_in_the_plan():
    graph_def = empty()
    feed(graph_def)
    call(graph_def, "y", "gone")
    ed = gs.open(graph_def)
    dst = gs.open(tf.Graph())
    plan = dst.plan().copy(ed.select(), to="copy")
    assert "without 1 function that the source does not hold: gone; their calls cannot run" in str(plan)
    dst.apply(plan)
    with pytest.raises(gs.PlanError, match=r'TensorFlow cannot run .* Failed to find function "gone"'):
        dst.session().run("copy/y:0", {"copy/x:0": 1.0})


# -- counts, inputs and names ---------------------------------------------------------------------


def test_more_inputs_than_there_are():
    graph_def = empty()
    feed(graph_def)
    add(graph_def, "sum", "AddN", "x", T=FLOAT, N=10**9)
    with refuses(gs.OpenError, "'sum' (AddN) claims 1,000,000,000 inputs but has 1"):
        gs.open(graph_def).graph  # noqa: B018


def test_more_inputs_than_there_are_in_a_function():
    graph_def = empty()
    add(function(graph_def, "f"), "sum", "AddN", "v", T=FLOAT, N=10**9)
    with refuses(gs.OpenError, "op 'sum' of function 'f' (AddN) claims 1,000,000,000 inputs but has 1"):
        gs.open(graph_def).graph  # noqa: B018


def test_more_outputs_than_memory_holds():
    graph_def = empty()
    feed(graph_def)
    add(graph_def, "parts", "Unpack", "x", T=FLOAT, num=2**30)
    with refuses(gs.OpenError, "'parts' (Unpack) claims 1,073,741,824 outputs"):
        gs.open(graph_def).graph  # noqa: B018


def test_more_inputs_than_are_imported_in_a_minute():
    graph_def = empty()
    feed(graph_def)
    add(graph_def, "sum", "AddN", *["x"] * 500_001, T=FLOAT, N=500_001)
    with refuses(gs.OpenError, "'sum' (AddN) has 500,001 inputs", "minutes", "Up to 500,000 are possible"):
        gs.open(graph_def).graph  # noqa: B018


def test_an_op_may_wait_for_any_number_of_ops():
    graph_def = empty()
    add(graph_def, "first", "NoOp")
    add(graph_def, "last", "NoOp", *["^first"] * 500_001)
    assert len(gs.open(graph_def)) == 2


@pytest.mark.parametrize("port", [2**31, 2**32, 2**32 + 1, 2**64])
def test_an_output_number_that_tensorflow_takes_for_a_smaller_one(port):
    graph_def = empty()
    feed(graph_def)
    add(graph_def, "y", "Neg", f"x:{port}", T=FLOAT)
    with refuses(gs.OpenError, f"op 'y' reads 'x:{port}': no op has that many outputs", "The file is damaged"):
        gs.open(graph_def).graph  # noqa: B018


def test_such_an_output_number_in_a_function():
    graph_def = empty()
    f = function(graph_def, "f")
    f.ret["r"] = "neg:y:4294967296"
    with refuses(gs.OpenError, "the result of function 'f' reads 'neg:y:4294967296'"):
        gs.open(graph_def).graph  # noqa: B018
    f.ret["r"] = "neg:y:0"
    f.node_def[0].input[0] = "v:4294967296"
    with refuses(gs.OpenError, "op 'neg' of function 'f' reads 'v:4294967296'"):
        gs.open(graph_def).graph  # noqa: B018


@pytest.mark.parametrize(("name", "reported"), [("n" * 2_001, "2,001 letters"), ("a/" * 101 + "a", "101 slashes")])
def test_a_name_that_would_fill_the_memory(name, reported):
    graph_def = empty()
    feed(graph_def, name)
    with refuses(gs.OpenError, "the name of an op", reported, "Up to 2,000 letters and 100 slashes are possible"):
        gs.open(graph_def).graph  # noqa: B018


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("x//y", "x//z"),
        ("x/", "x/b"),
        (".x", ".x/y"),
        ("x/", "x"),
        ("a/../b", "a/./b"),
        ("n" * 2_000, "a/" * 100 + "a"),
    ],
)
def test_odd_names_that_do_no_harm_are_taken(first, second):
    graph_def = empty()
    feed(graph_def, first, shape=[])
    add(graph_def, second, "Neg", first, T=FLOAT)
    ed = gs.open(graph_def)
    assert str(ed)
    assert ed.to_svg()
    dst = gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(ed.select(), to="copy"))
    assert done[second].name == f"copy/{second}"
    assert dst.session().run(f"copy/{second}:0", {f"copy/{first}:0": 2.0}) == -2.0


# -- constants and loops --------------------------------------------------------------------------


def test_a_constant_that_holds_another_dtype_than_it_says():
    graph_def = empty()
    feed(graph_def)
    axis = constant(graph_def, "axis", 0)
    axis.attr["value"].tensor.dtype = tf.variant.as_datatype_enum
    add(graph_def, "y", "ConcatV2", "x", "x", "axis", N=2, T=FLOAT, Tidx=tf.int32)
    with refuses(gs.OpenError, "constant 'axis' has dtype int32, but its value has dtype variant"):
        gs.open(graph_def).graph  # noqa: B018


def test_a_constant_nested_too_deep():
    graph_def = empty()
    variant = add(graph_def, "c", "Const", dtype=tf.variant).attr["value"].tensor
    variant.dtype = tf.variant.as_datatype_enum
    variant.tensor_shape.SetInParent()
    for _ in range(60):
        variant = variant.variant_val.add(type_name="tensorflow::Tensor").tensors.add()
    with refuses(gs.OpenError, "TensorFlow refuses the graph: Invalid GraphDef"):
        gs.open(graph_def).graph.get_operations().graph  # noqa: B018


def test_a_loop_that_is_entered_twice():
    graph_def = empty()
    feed(graph_def)
    add(graph_def, "start", "Enter", "x", T=FLOAT, frame_name=b"f")
    add(graph_def, "merge", "Merge", "start", "start", "next", T=FLOAT, N=3)
    add(graph_def, "next", "NextIteration", "merge", T=FLOAT)
    with refuses(gs.OpenError, "the loop at 'merge' is entered 2 times"):
        gs.open(graph_def).graph  # noqa: B018


def test_an_odd_attribute_of_a_fragile_op():
    graph_def = empty()
    feed(graph_def)
    feed(graph_def, "i", tf.int32)
    constant(graph_def, "axis", 0)
    kinds = {"Tparams": FLOAT, "Tindices": tf.int32, "Taxis": tf.int32}
    add(graph_def, "y", "GatherV2", "x", "i", "axis", batch_dims=300, **kinds)
    with refuses(
        gs.OpenError, "op 'y' (GatherV2) would crash TensorFlow: its batch_dims is 300", "The file is damaged"
    ):
        gs.open(graph_def).graph  # noqa: B018


def test_sizes_that_shape_inference_cannot_follow():
    graph_def = empty()
    feed(graph_def, shape=[None, None])
    add(graph_def, "size0", "Shape", "x", T=FLOAT, out_type=tf.int32)
    for i in range(1, 2_000):
        add(graph_def, f"size{i}", "Cast", f"size{i - 1}", SrcT=tf.int32, DstT=tf.int32)
    constant(graph_def, "one", 1.0, FLOAT)
    add(graph_def, "y", "Fill", "size1999", "one", T=FLOAT, index_type=tf.int32)
    with refuses(gs.OpenError, "the size 'size1999' is computed by Cast", "2,000 deep", "Simplify that computation"):
        gs.open(graph_def).graph  # noqa: B018


def test_sizes_below_zero_that_tensorflow_infers_are_shown_as_unknown():
    graph_def = empty()
    feed(graph_def, "list", tf.variant, [])
    constant(graph_def, "shape", [2])
    kinds = {"element_dtype": FLOAT, "num_elements": -7}
    add(graph_def, "y", "TensorListStack", "list", "shape", **kinds)
    ed = gs.open(graph_def)
    assert "y  float32 unknown shape" in str(ed)


# -- what a plan can build ------------------------------------------------------------------------


def test_copies_of_functions_that_call_each_other_open_again():
    """A copy gives functions new names, one each: it cannot make a circle, nor a deeper or wider tree of calls."""
    ed, dst = gs.open(calling(("f", "g"), ("g", "h"), ("h", "k"))), gs.open(tf.Graph())
    for scope in ("a", "b"):
        dst.apply(dst.plan().copy(ed.select(), to=scope))
    assert len(gs.open(dst.graph.as_graph_def())) == len(dst) == 4


INT, FLOAT = tf.int32, tf.float32


def opened(kind: str, *shapes: Any, dtypes: Any = None, **attributes: Any) -> gs.Editor:
    """Opens a graph of one op, fed by placeholders of these shapes."""
    graph_def = empty()
    for i, shape in enumerate(shapes):
        feed(graph_def, f"i{i}", dtypes[i] if dtypes else FLOAT, shape)
    add(graph_def, "op", kind, *(f"i{i}" for i in range(len(shapes))), **attributes)
    return gs.open(graph_def)


def refused(words: str, kind: str, *shapes: Any, **attributes: Any) -> None:
    """Expects such a graph to be refused with these words."""
    with refuses(gs.OpenError, f"op 'op' ({kind}) would crash TensorFlow: {words}", "The file is damaged"):
        opened(kind, *shapes, **attributes).graph  # noqa: B018


def test_they_are_op_types_of_this_tensorflow():
    kinds = {*crash_guards._SCALAR, *crash_guards._RULES}
    assert all(map(crash_guards.fragile, kinds))
    assert not crash_guards.fragile("MatMul")
    known = {kind for kind in kinds if op_def_registry.get(kind)}
    assert {"GatherV2", "SplitV", "FakeQuantWithMinMaxVarsPerChannelGradient"} <= known


def test_gather():
    about = {"dtypes": [FLOAT, INT, INT], "Tparams": FLOAT, "Tindices": INT, "Taxis": INT}
    assert opened("GatherV2", [2, 3], [2, 3], [], batch_dims=1, **about)
    assert opened("GatherV2", None, None, None, batch_dims=3, **about)
    refused("its batch_dims is 4, more than", "GatherV2", [2, 3], [2, 3], [], batch_dims=4, **about)
    refused("its batch_dims is 2147483647", "GatherV2", None, None, None, batch_dims=2**31 - 1, **about)
    refused("its batch_dims is -2147483648", "GatherV2", None, None, None, batch_dims=-(2**31), **about)


def test_split():
    about = {"num_split": 2, "T": FLOAT}
    assert opened("SplitV", [4], [2], [], dtypes=[FLOAT, INT, INT], Tlen=INT, **about)
    refused("its sizes are not a vector", "SplitV", [4], [2, 2], [], dtypes=[FLOAT, INT, INT], Tlen=INT, **about)
    refused("its sizes are int8", "SplitV", [4], [2], [], dtypes=[FLOAT, tf.int8, INT], Tlen=tf.int8, **about)


def test_dequeue():
    def graph(count: Any) -> Any:
        graph_def = empty()
        add(graph_def, "queue", "FIFOQueueV2", component_types=[FLOAT])
        constant(graph_def, "count", count)
        add(graph_def, "op", "QueueDequeueManyV2", "queue", "count", component_types=[FLOAT])
        return graph_def

    assert gs.open(graph(3))
    with refuses(gs.OpenError, "op 'op' (QueueDequeueManyV2) would crash", "its number of elements is not a scalar"):
        gs.open(graph([3, 4])).graph  # noqa: B018


def test_ragged_gather():
    about = {"dtypes": [tf.int64, tf.int64, FLOAT, INT], "Tvalues": FLOAT, "Tindices": INT, "Tsplits": tf.int64}
    assert opened("RaggedGather", [3], [3], [4], [2], PARAMS_RAGGED_RANK=2, OUTPUT_RAGGED_RANK=2, **about)
    words = "its OUTPUT_RAGGED_RANK is 0, below PARAMS_RAGGED_RANK - 1"
    refused(words, "RaggedGather", [3], [3], [4], [2], PARAMS_RAGGED_RANK=2, OUTPUT_RAGGED_RANK=0, **about)


def test_collective_gather():
    about = {"T": FLOAT, "group_key": 1, "instance_key": 1, "shape": tf.TensorShape([4]).as_proto()}
    assert opened("CollectiveGather", [2], group_size=2, **about)
    refused("its group_size is 2147483648", "CollectiveGather", [2], group_size=2**31, **about)


def test_infeed():
    def graph(shapes: int) -> Any:
        graph_def = empty()
        node = add(graph_def, "op", "InfeedDequeueTuple", dtypes=[FLOAT, FLOAT])
        node.attr["shapes"].list.shape.extend([tf.TensorShape([2]).as_proto()] * shapes)
        return graph_def

    assert gs.open(graph(2))
    with refuses(gs.OpenError, "op 'op' (InfeedDequeueTuple) would crash", "it has 3 shapes for 2 dtypes"):
        gs.open(graph(3)).graph  # noqa: B018


def test_partitioned_input():
    assert opened("TPUPartitionedInput", [2], [2], T=FLOAT, N=2, partition_dim=0)
    refused("its partition_dim is 7", "TPUPartitionedInput", [2], [2], T=FLOAT, N=2, partition_dim=7)
    refused("its partition_dim is -2", "TPUPartitionedInput", [2], [2], T=FLOAT, N=2, partition_dim=-2)


def test_texts_as_long_as_memory():
    assert opened("AsString", [2], T=FLOAT, width=10_000, precision=10)
    refused("its width is 2147483647: each text", "AsString", [2], T=FLOAT, width=2**31 - 1)
    refused("its precision is 10001: each text", "AsString", [2], T=FLOAT, precision=10_001)


@pytest.mark.parametrize("kind", sorted(crash_guards._SCALAR))
def test_scalars_where_none_may_be(kind):
    about = op_def_registry.get(kind)
    if about is None:
        assert kind.startswith("Xla")  # older TensorFlows have none of these
        return
    position = crash_guards._SCALAR[kind][0]
    graph_def = empty()
    node = add(graph_def, "op", kind)
    feed(graph_def, "scalar", shape=[])
    for i in range(position):
        feed(graph_def, f"i{i}")
    node.input[:] = [f"i{i}" for i in range(position)] + ["scalar"]
    with refuses(gs.OpenError, f"op 'op' ({kind}) would crash TensorFlow: its input {position} is a scalar"):
        gs.open(graph_def).graph  # noqa: B018
