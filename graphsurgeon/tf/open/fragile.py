"""Fragile: op types whose shape inference ends the process when an attribute or an input is not as it should be.

Found by giving every op type of TensorFlow 2.21 odd attributes and inputs. Ranks are known here only where a constant
or a placeholder says them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: What makes an input, as a NodeDef; None where it is not known.
Giver = Callable[[int], Any]

_SCALAR = {
    "BoostedTreesAggregateStats": (0,),
    "FakeQuantWithMinMaxVarsPerChannelGradient": (1,),
    "TPUPartitionedInput": (0,),
    **{f"BoostedTrees{kind}": (1, 2, 3) for kind in ("ExampleDebugOutputs", "Predict")},
    "BoostedTreesTrainingPredict": (3, 4, 5),
    "XlaSparseDenseMatmulCustomCombinerOnTcGradWithCsrInput": (9, 10),
    **{
        f"XlaSparseDenseMatmulCustomCombinerOnTcGradWith{kind}AndCsrInput": (9, 12)
        for kind in ("Adagrad", "AdagradMomentum", "Adam", "Ftrl", "Sgd")
    },
}
_MOST_RANK = 8  # of a tensor whose rank is not known


def fragile(kind: str) -> bool:
    """Returns whether an op type is one of these."""
    return kind in _SCALAR or kind in _RULES


def fault(node: Any, giver: Giver) -> str:
    """Returns what is wrong with an op of a fragile type, so that it would end the process; "" where nothing is.

    Args:
        node: its NodeDef.
        giver: position of a data input -> the NodeDef that makes it, or None.
    """
    for position in _SCALAR.get(node.op, ()):
        if shape(giver(position)) == []:
            return f"its input {position} is a scalar, which it must not be"
    return _RULES[node.op](node, giver) if node.op in _RULES else ""


def shape(node: Any) -> list[int] | None:
    """Returns the static shape that a constant or a placeholder says of itself; None where it is not known."""
    if node is None:
        return None
    if node.op in ("Const", "HostConst"):
        return [d.size for d in node.attr["value"].tensor.tensor_shape.dim]
    if node.op == "Placeholder" and "shape" in node.attr and not node.attr["shape"].shape.unknown_rank:
        return [d.size for d in node.attr["shape"].shape.dim]
    return None


def _rank(node: Any) -> int:
    known = shape(node)
    return _MOST_RANK if known is None else len(known)


def _gather(node: Any, giver: Giver) -> str:
    batch = node.attr["batch_dims"].i if "batch_dims" in node.attr else 0
    most = _rank(giver(0)) + _rank(giver(1)) - 1
    return "" if -_MOST_RANK <= batch <= most else f"its batch_dims is {batch}, more than its inputs have dimensions"


def _split(node: Any, giver: Giver) -> str:
    sizes = shape(giver(1))
    if node.attr["Tlen"].type == 6:
        return "its sizes are int8, which its shape inference takes for int64"
    return "its sizes are no vector" if sizes is not None and len(sizes) != 1 else ""


def _dequeue(node: Any, giver: Giver) -> str:
    count = shape(giver(1))
    return "its number of elements is no scalar" if count and count != [1] * len(count) else ""


def _ragged(node: Any, giver: Giver) -> str:
    before, after = node.attr["PARAMS_RAGGED_RANK"].i, node.attr["OUTPUT_RAGGED_RANK"].i
    return "" if after >= before - 1 else f"its OUTPUT_RAGGED_RANK is {after}, below PARAMS_RAGGED_RANK - 1"


def _collective(node: Any, giver: Giver) -> str:
    size = node.attr["group_size"].i
    return "" if -(2**31) <= size < 2**31 else f"its group_size is {size}"


def _infeed(node: Any, giver: Giver) -> str:
    shapes, dtypes = len(node.attr["shapes"].list.shape), len(node.attr["dtypes"].list.type)
    return "" if shapes <= dtypes else f"it has {shapes} shapes for {dtypes} dtypes"


def _partitioned(node: Any, giver: Giver) -> str:
    at = node.attr["partition_dim"].i if "partition_dim" in node.attr else 0
    return "" if -1 <= at < _rank(giver(0)) else f"its partition_dim is {at}"


_RULES: dict[str, Callable[[Any, Giver], str]] = {
    "GatherV2": _gather,
    "SplitV": _split,
    "QueueDequeueManyV2": _dequeue,
    "RaggedGather": _ragged,
    "CollectiveGather": _collective,
    "InfeedDequeueTuple": _infeed,
    "TPUPartitionedInput": _partitioned,
}
