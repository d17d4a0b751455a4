"""Op types that end the process when an attribute is odd: sound ones are taken, odd ones refused."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

import graphsurgeon as gs
from graphsurgeon.tf.open import fragile
from tests.refusal import refuses
from tests.tf.nodes import add, constant, empty, feed

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
    with refuses(gs.OpenError, f"op 'op' ({kind}) would end TensorFlow: {words}", "The file is damaged"):
        opened(kind, *shapes, **attributes)


def test_they_are_op_types_of_this_tensorflow():
    kinds = {*fragile._SCALAR, *fragile._RULES}
    assert all(map(fragile.fragile, kinds))
    assert not fragile.fragile("MatMul")
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
    refused("its sizes are no vector", "SplitV", [4], [2, 2], [], dtypes=[FLOAT, INT, INT], Tlen=INT, **about)
    refused("its sizes are int8", "SplitV", [4], [2], [], dtypes=[FLOAT, tf.int8, INT], Tlen=tf.int8, **about)


def test_dequeue():
    def graph(count: Any) -> Any:
        graph_def = empty()
        add(graph_def, "queue", "FIFOQueueV2", component_types=[FLOAT])
        constant(graph_def, "count", count)
        add(graph_def, "op", "QueueDequeueManyV2", "queue", "count", component_types=[FLOAT])
        return graph_def

    assert gs.open(graph(3))
    with refuses(gs.OpenError, "op 'op' (QueueDequeueManyV2) would end", "its number of elements is no scalar"):
        gs.open(graph([3, 4]))


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
    with refuses(gs.OpenError, "op 'op' (InfeedDequeueTuple) would end", "it has 3 shapes for 2 dtypes"):
        gs.open(graph(3))


def test_partitioned_input():
    assert opened("TPUPartitionedInput", [2], [2], T=FLOAT, N=2, partition_dim=0)
    refused("its partition_dim is 7", "TPUPartitionedInput", [2], [2], T=FLOAT, N=2, partition_dim=7)
    refused("its partition_dim is -2", "TPUPartitionedInput", [2], [2], T=FLOAT, N=2, partition_dim=-2)


@pytest.mark.parametrize("kind", sorted(fragile._SCALAR))
def test_scalars_where_none_may_be(kind):
    about = op_def_registry.get(kind)
    if about is None:
        assert kind.startswith("Xla")  # older TensorFlows have none of these
        return
    position = fragile._SCALAR[kind][0]
    graph_def = empty()
    node = add(graph_def, "op", kind)
    feed(graph_def, "scalar", shape=[])
    node.input[:] = [f"i{i}" for i in range(position)] + ["scalar"]
    with refuses(gs.OpenError, f"op 'op' ({kind}) would end TensorFlow: its input {position} is a scalar"):
        gs.open(graph_def)
