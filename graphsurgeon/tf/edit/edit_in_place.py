"""Changes edges of a live graph in place, after checks, and adapts static shapes.

For the checks, the ops downstream are built again in a scratch graph, and TensorFlow refuses invalid inputs there.
Without them, TensorFlow accepts wrong dtypes, cycles and ops of other graphs, and fails only in a run.

A session that has run an op continues with the old inputs, without an error. So edges are changed in place only if the
caller requests it explicitly.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...errors import PlanError
from ...graph.control_flow import EXITS
from ...graph.graph import Graph as Snapshot
from ...graph.graph import TensorInfo
from ...graph.rewiring import MERGING, TURNING
from ...graph.traversal import reachable_from
from ...graph.types import TFGraph, TFOp, TFSession, TFTensor
from ...plan.type_check import difference
from ..import_tensorflow import tf
from ..messages import node_def_pb2
from ..open.outputs import expand_arguments
from ..private.contexts import context_of, loop_around
from ..private.graphs import (
    is_closed,
    number_of,
    rewiring_works,
    same_shape,
    set_control_inputs,
    set_input,
    tensor_info,
)
from ..protos import lacks_memory
from ..run.errors import error_text
from .validation import Scratch, ScratchError

#: (id of an op, number of an input) -> the new tensor
NewInputs = Mapping[tuple[int, int], Any]


def downstream(ops: list[TFOp]) -> list[TFOp]:
    """Returns the given ops and all ops that depend on them, in order of creation."""
    return sorted(reachable_from(ops, lambda op: (c for t in op.outputs for c in t.consumers())), key=number_of)


def infer_outputs(ops: list[TFOp], new_inputs: NewInputs, request: str) -> list[tuple[Any, Any]]:
    """Returns (tensor, inferred shape) for each output of ops, after some inputs are replaced.

    Args:
        ops: the result of `downstream`.
        new_inputs: (id of an op, number of an input) -> the new tensor.
        request: the request, for messages.

    Raises:
        PlanError: TensorFlow refuses the ops with these inputs.
    """
    live = ops[0].graph
    scratch = Scratch(_RewiredOps(new_inputs), live.graph_def_versions)
    try:
        new_ops = scratch.build(ops, lambda _: [live])
    except ScratchError as error:
        problem = f"ops that depend on the new tensor do not fit it. TensorFlow refuses them: {error}"
        raise PlanError(request, problem, "Nothing was changed; choose a tensor of a shape that fits") from error
    return [(t, new.shape) for op in ops for t, new in zip(op.outputs, new_ops[op].outputs, strict=True)]


class _RewiredOps:
    """Ops of a live graph, with other tensors for some of their inputs."""

    def __init__(self, new_inputs: NewInputs) -> None:
        self._new_inputs = new_inputs

    def name(self, op: TFOp) -> str:
        return op.name

    def node(self, op: TFOp) -> Any:
        node = node_def_pb2.NodeDef()
        node.CopyFrom(op.node_def)
        for key in ("_class", "_output_shapes"):
            node.attr.pop(key, None)
        del node.input[:]
        return node

    def inputs(self, op: TFOp) -> list[tuple[TFOp, int]]:
        tensors = (self._new_inputs.get((id(op), at), original) for at, original in enumerate(op.inputs))
        return [(tensor.op, tensor.value_index) for tensor in tensors]

    def info(self, op: TFOp, port: int) -> TensorInfo:
        return tensor_info(op.outputs[port])

    def handle(self, op: TFOp, port: int) -> TFTensor:
        return op.outputs[port]


def reshape(new_shapes: list[tuple[Any, Any]], old_shapes: list[tuple[Any, Any]]) -> list[str]:
    """Sets static shapes to the inferred shapes after an edit, if these are more specific.

    Args:
        new_shapes, old_shapes: the results of `infer_outputs` with the new inputs and with the old inputs.

    Returns:
        the names of tensors whose static shapes are now too specific, because TensorFlow cannot widen a shape.
    """
    unsure = []
    for (tensor, new), (_, old) in zip(new_shapes, old_shapes, strict=True):
        if new.is_compatible_with(tensor.shape):
            tensor.set_shape(new)
        if specificity(new) < specificity(old):
            unsure.append(tensor.name)
    return unsure


def specificity(shape: Any) -> int:
    """Returns how specific a static shape is: the number of known sizes, or -1 for an unknown rank."""
    return -1 if shape.rank is None else sum(size is not None for size in shape.as_list())


tf1 = tf.compat.v1

#: The maximum size of the nodes of a graph, in bytes, up to which its snapshot is kept.
_MAX_CACHED = 32 << 20


class InputChange(NamedTuple):
    """A change of an input of an op: its old and new tensor."""

    op: TFOp
    input: int
    old: TFTensor
    new: TFTensor


@dataclass
class EditLog:
    """The state of the edits that were made to one graph in this process.

    Args:
        count: the number of edits so far; cached data of the graph is valid only if it has not changed.
        backward: whether an edge leads from a later op to an earlier op, so cycles are possible everywhere.
        unsure: tensors whose static shapes are too specific since the last edit.
        warned_sessions: sessions that a warning has named.
        last_snapshot: the count at the time of the last snapshot of the graph, and this snapshot.
        wiring: cached data for walks through the graph: its state, the number of large walks, the edges.
    """

    count: int = 0
    backward: bool = False
    unsure: list[str] = field(default_factory=list)
    warned_sessions: weakref.WeakSet[TFSession] = field(default_factory=weakref.WeakSet)
    last_snapshot: tuple[int, Snapshot] | None = None
    wiring: tuple[Any, int, Any] | None = None

    def current_snapshot(self) -> Snapshot | None:
        """Returns the last snapshot, unless an edge was changed in place since then."""
        count, snapshot = self.last_snapshot or (-1, None)
        return snapshot if count == self.count else None

    def store_snapshot(self, snapshot: Snapshot | None) -> None:
        """Keeps a snapshot, so that unchanged ops are not read again, unless it needs too much memory."""
        if snapshot is None:
            self.last_snapshot = None
        elif self.last_snapshot is None or self.last_snapshot[1] is not snapshot:
            small = sum(node.ByteSize() for node in snapshot.nodes) < _MAX_CACHED
            self.last_snapshot = (self.count, snapshot) if small else None


def journal(graph: Any) -> EditLog:
    """Returns the edit log of a graph, which exists as long as the graph."""
    if not hasattr(graph, "graphsurgeon_journal"):
        graph.graphsurgeon_journal = EditLog()
    result: EditLog = graph.graphsurgeon_journal
    return result


def connect(changes: Sequence[tuple[TFOp, int, TFTensor]], request: str) -> int:
    """Makes inputs of ops read other tensors; all of them or none.

    Args:
        changes: (op, number of the input, its new tensor).
        request: the request, for messages.

    Returns:
        the number of changed inputs.

    Raises:
        PlanError: a tensor is of another graph, does not fit, is in another loop than the op, or would make a cycle.
            The graph is then unchanged.
    """
    edges = [InputChange(op, at, op.inputs[at], tensor) for op, at, tensor in changes if op.inputs[at] is not tensor]
    if not edges:
        return 0
    graph = edges[0].op.graph
    _refuse_closed(graph, request)
    for edge in edges:
        _check_edge(edge, graph, request)
    backward = _refuse_cycles(graph, [(edge.op, edge.input, edge.new.op) for edge in edges], request)
    shapes = _reinfer_shapes(edges, request)
    applied: list[InputChange] = []
    try:
        for edge in edges:
            set_input(edge.op, edge.input, edge.new)
            applied.append(edge)
    except Exception as error:
        for edge in reversed(applied):
            set_input(edge.op, edge.input, edge.old)
        if lacks_memory(error):
            raise
        problem = (
            f"TensorFlow refuses {edges[len(applied)].new.name!r} as an input of {edges[len(applied)].op.name!r}: "
        )
        raise PlanError(request, problem + error_text(error), "Nothing was changed; choose another tensor") from error
    _note(graph, backward)
    journal(graph).unsure = reshape(*shapes)
    return len(applied)


def _reinfer_shapes(
    edges: list[InputChange], request: str
) -> tuple[list[tuple[TFTensor, Any]], list[tuple[TFTensor, Any]]]:
    """Returns the shapes downstream, for the new edges and for the old edges; empty if no edge has another shape."""
    reshaped = [edge for edge in edges if not same_shape(edge.old, edge.new)]
    if not reshaped:
        return [], []
    ops = downstream([edge.op for edge in reshaped])
    new_shapes = infer_outputs(ops, {(id(edge.op), edge.input): edge.new for edge in edges}, request)
    # A placeholder of unknown shape from the caller counts as a tensor of the same shape as before.
    known = [e for e in reshaped if e.new.op.type != "Placeholder" or e.new.shape.rank is not None]
    wider = any(specificity(edge.new.shape) < specificity(edge.old.shape) for edge in known)
    return new_shapes, infer_outputs(ops, {}, request) if wider else new_shapes


def order(op: TFOp, control_inputs: Iterable[TFOp], request: str) -> None:
    """Sets the control inputs of an op.

    Args:
        op: the op.
        control_inputs: all ops that the op must wait for.
        request: the request, for messages.

    Raises:
        PlanError: a control input is of another graph, or waits for the op itself. The graph is then unchanged.
    """
    new_inputs, old_inputs = tuple(control_inputs), tuple(op.control_inputs)
    fresh = [source for source in new_inputs if not any(source is old for old in old_inputs)]
    if not fresh and len(new_inputs) == len(old_inputs):
        return
    graph = op.graph
    _refuse_closed(graph, request)
    for source in fresh:
        if source.graph is not graph:
            raise PlanError(request, f"{source.name!r} is an op of another graph", "Give an op of the same graph")
    backward = _refuse_cycles(graph, [(op, None, source) for source in fresh], request)
    set_control_inputs(op, old_inputs, new_inputs)
    _note(graph, backward)


def _note(graph: TFGraph, backward: bool) -> None:
    log = journal(graph)
    log.count += 1
    log.backward |= backward


def _refuse_closed(graph: TFGraph, request: str) -> None:
    if not rewiring_works():
        raise PlanError(request, "this TensorFlow cannot change edges in place", "Edit a copy: gs.open(graph)")
    if graph.finalized:
        raise PlanError(request, "the graph is finalized", "Edit it before it is finalized, or edit a copy of it")


def _check_edge(edge: InputChange, graph: TFGraph, request: str) -> None:
    op: Any = edge.op
    old, new = edge.old, edge.new
    if op.graph is not graph or new.graph is not graph:
        raise PlanError(request, f"{new.name!r} and {op.name!r} are of two graphs", "Copy one into the other first")
    mismatch = unlike(new, old)
    if mismatch:
        raise PlanError(request, f"{new.name!r} cannot take the place of {old.name!r} at {op.name!r}: {mismatch}",
                        "Choose a tensor of the same dtype and shape, or convert it first")  # fmt: skip
    # Only a variable is a valid input if the op takes a reference.
    takes = [arg.is_ref for arg, _, _ in expand_arguments(op.op_def.input_arg, op.node_def, op.op_def)]
    if takes[edge.input] and new.dtype == new.dtype.base_dtype:
        problem = f"{op.name!r} changes the variable {old.name!r} in place, and {new.name!r} is not a variable"
        raise PlanError(request, problem, f"Leave {op.name!r} as it is, or give it another variable")
    if _frame(new.op) is not _frame(old.op):
        raise PlanError(
            request,
            f"{new.name!r} is computed {_where(new.op)}, but {op.name!r} reads a tensor that is {_where(old.op)}",
            "Choose a tensor of the same loop",
        )


def unlike(new: TFTensor, old: TFTensor) -> str:
    """Returns why a tensor cannot replace another: its dtype or static shape; empty if it can."""
    a, b = tensor_info(new), tensor_info(old)
    why = difference(a, b)
    return why and f"{new.name!r} {a} against {old.name!r} {b}: {why}"


def _frame(op: TFOp) -> Any:
    """Returns the loop of the outputs of an op; the outputs of an Exit are outside of its loop."""
    context = context_of(op)
    if context is not None and op.type in EXITS:
        context = context.outer_context
    return loop_around(context) if context is not None else None


def _where(op: TFOp) -> str:
    frame = _frame(op)
    return "outside of any loop" if frame is None else f"in the loop {frame.name!r}"


def _refuse_cycles(graph: TFGraph, edges: list[tuple[TFOp, int | None, TFOp]], request: str) -> bool:
    """Refuses new edges (op, number of its input, op that it reads) that close a cycle; None: it waits for the op.

    Returns:
        whether an edge leads from a later op to an earlier op.
    """
    late = [op for op, _, source in edges if number_of(source) >= number_of(op)]
    starts = [op for op, _, _ in edges] if journal(graph).backward else late
    new = {(id(op), at): source for op, at, source in edges if at is not None}
    waits = [(op, source) for op, at, source in edges if at is None]

    def sources(op: TFOp) -> Iterator[TFOp]:
        for at, tensor in enumerate(op.inputs):
            source = new.get((id(op), at), tensor.op)
            if op.type not in MERGING or source.type not in TURNING:  # the back edge of a TF1 loop
                yield source
        yield from op.control_inputs
        yield from (source for waiting, source in waits if waiting is op)

    # Usually all other edges lead from earlier to later ops. The op that closes a cycle is then its earliest op.
    oldest = -1 if journal(graph).backward else min(map(number_of, starts), default=0)
    state: dict[int, bool] = {}  # True: on the current path, False: done
    for start in starts:
        way = [] if id(start) in state else [(start, sources(start))]
        state.setdefault(id(start), True)
        while way:
            op, rest = way[-1]
            above = next(rest, None)
            if above is None:
                state[id(op)] = False
                way.pop()
            elif id(above) not in state:
                if number_of(above) >= oldest:
                    state[id(above)] = True
                    way.append((above, sources(above)))
            elif state[id(above)]:
                ring = [o.name for o, _ in way]
                ring = ring[ring.index(above.name) :]
                path = " <- ".join([*ring[:4], "..."] if len(ring) > 5 else ring)
                raise PlanError(
                    request,
                    f"that makes a cycle: {path} <- {above.name}",
                    "Leave the ops that compute the new tensor as they are: cannot_modify=[...]",
                )
    return bool(late)


# -- sessions -------------------------------------------------------------------------------------


def stale_sessions(graph: TFGraph) -> list[TFSession]:
    """Returns open sessions of a graph that was just edited: ops that they have already run keep the old inputs.

    The default session is checked after each edit. The search for other sessions among all Python objects is slow, so
    it happens only after edits number 1, 2, 4, 8, and so on. Each session is returned only once.
    """
    log = journal(graph)
    sessions = [tf1.get_default_session()]
    if log.count & (log.count - 1) == 0:
        holders = gc.get_referrers(graph)
        contexts = [one for one in holders if isinstance(one, dict) and one.get("_graph") is graph]
        holders += [holder for one in contexts for holder in gc.get_referrers(one)]
        sessions += [holder for holder in holders if isinstance(holder, tf1.Session | tf1.InteractiveSession)]
    fresh = []
    for session in sessions:
        if session is None or session.graph is not graph or session in log.warned_sessions or is_closed(session):
            continue
        log.warned_sessions.add(session)
        fresh.append(session)
    return fresh
