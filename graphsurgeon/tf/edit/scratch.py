"""Scratch: ops built again in a separate graph, so that TensorFlow checks them; placeholders replace their inputs.

A placeholder cannot replace a variable that is changed in place, nor sizes that determine shapes. The ops for these
are built too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeVar

from ...graph.graph import TensorInfo
from ...graph.live import TFNodeDef, TFOp, TFTensor
from ...plan.mismatch import bare
from ..copy.imports import import_nodes
from ..elements import adopt_functions
from ..fresh import fresh
from ..importing import tf
from ..messages import graph_pb2
from ..open.dangers import refuse_deadly
from ..private.graphs import copy_handle_data
from ..run.errors import words_of
from ..wire import lacks_memory

tf1 = tf.compat.v1
Op = TypeVar("Op")
#: Ops that repeat in a loop or branch in a cond: with them, the whole loop or cond would have to be built.
_TURNING = ("Merge", "NextIteration", "Enter", "Exit", "Switch")
_INTEGERS = ("int32", "int64")


class Refused(Exception):
    """TensorFlow's message about nodes that it refuses, with the original names of the inputs that were replaced."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


class Ops(Protocol[Op]):
    """The ops that are built, and the ops that they read."""

    def name(self, op: Op) -> str:
        """Returns its full name."""

    def node(self, op: Op) -> Any:
        """Returns its NodeDef without inputs; None if a placeholder must replace it."""

    def reads(self, op: Op) -> Iterable[tuple[Op, int]]:
        """Returns the tensors that it reads, in order."""

    def info(self, op: Op, port: int) -> TensorInfo | None:
        """Returns the known dtype and shape of one of its outputs."""

    def handle(self, op: Op, port: int) -> TFTensor | None:
        """Returns the live tensor of that output, which has the contents of a resource; None if there is none."""


class Scratch(Generic[Op]):
    """Builds ops in a graph separate from their own.

    Args:
        ops: the ops.
        versions: the `versions` of the GraphDef they are from.
    """

    def __init__(self, ops: Ops[Op], versions: Any) -> None:
        self._ops, self._graph = ops, fresh()
        self._def = graph_pb2.GraphDef(versions=versions)
        self._stand_ins: dict[tuple[str, int], TFTensor] = {}

    def built(self, wanted: Iterable[Op], sources: Any, request: str) -> dict[Op, TFOp]:
        """Builds the ops that are wanted, and returns op -> the op that was built.

        Args:
            wanted: the ops.
            sources: ops -> the live graphs that hold the functions that they call.
            request: the request, for messages.

        Raises:
            Refused: TensorFlow refuses them.
            OpenError: they would end the process in which TensorFlow runs.
        """
        wanted = list(wanted)
        queue, there = list(wanted), set(wanted)
        for op in queue:  # the queue grows in the loop
            node = self._def.node.add()
            node.CopyFrom(self._ops.node(op))
            for source, port in self._ops.reads(op):
                end = (self._ops.name(source), port)
                node.input.append(f"{end[0]}:{port}")
                if source in there:
                    continue
                if self._comes_along(source, port):
                    queue.append(source)
                    there.add(source)
                elif end not in self._stand_ins:
                    self._stand_ins[end] = self._stand_in(source, port)
        if any(map(_calls, self._def.node)):
            for graph in sources(queue):
                adopt_functions(graph, self._graph)
        refuse_deadly(self._closed(), request)
        made = self._imported()
        return {op: made[self._ops.name(op)] for op in wanted}

    def _comes_along(self, op: Op, port: int) -> bool:
        """Whether the op of an input is built too: it gives sizes or axes, or it is a variable."""
        info, node = self._ops.info(op, port), self._ops.node(op)
        if info is None or node is None or _calls(node):
            return info is None and node is not None
        if is_size(info) or node.op == "Const":
            return node.op not in _TURNING
        return info.dtype.endswith("_ref") or (info.dtype == "resource" and node.op == "VarHandleOp")

    def _stand_in(self, op: Op, port: int) -> TFTensor:
        info = self._ops.info(op, port)
        with self._graph.as_default(), tf1.name_scope("stand_ins_of_the_trial"):
            dtype = bare(info.dtype) if info is not None else "float32"
            new = tf1.placeholder(tf.as_dtype(dtype), None if info is None else info.shape)
        handle = self._ops.handle(op, port) if new.dtype in (tf.resource, tf.variant) else None
        if handle is not None:
            copy_handle_data(handle, new)
        return new

    def _closed(self) -> Any:
        """The same nodes with placeholders for the inputs from outside, for a check."""
        out = graph_pb2.GraphDef()
        out.CopyFrom(self._def)
        for name in {name for name, _ in self._stand_ins}:
            out.node.add(name=name, op="Placeholder")
        return out

    def _imported(self) -> dict[str, TFOp]:
        try:
            return import_nodes(self._graph, self._def, self._stand_ins)
        except Exception as error:
            if lacks_memory(error):
                raise
            said = words_of(error)
            for (name, port), tensor in self._stand_ins.items():
                said = said.replace(tensor.name, f"{name}:{port}" if port else name)
            raise Refused(said) from error


def is_size(info: TensorInfo | None) -> bool:
    """Returns whether a tensor may hold sizes or axes, which determine shapes."""
    return info is not None and info.dtype in _INTEGERS and info.shape is not None and len(info.shape) < 2


def _calls(node: TFNodeDef) -> bool:
    """Whether a node names functions."""
    return any(value.HasField("func") or value.list.func for value in node.attr.values())
