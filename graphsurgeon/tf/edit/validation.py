"""Checks by TensorFlow whether the changes of a plan are valid, in a scratch graph, before the plan is applied.

Changed ops, and their consumers as far as shapes change, are built in the scratch graph. Placeholders replace their
other inputs. But a placeholder cannot replace a variable that is set, or sizes that determine shapes. So the ops for
these are built too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from ...errors import Kind, PlanError, few
from ...graph.concurrency import gc_paused
from ...graph.functions import functions_in_attribute
from ...graph.graph import DTYPES, Graph, TensorInfo, output_at
from ...graph.traversal import backward, forward
from ...graph.types import TFGraph, TFNodeDef, TFOp, TFTensor
from ...plan.copy_result import CopyResult, NewConstant
from ...plan.edge_checks import mapping_mismatch
from ...plan.fault import Fault
from ...plan.mutable_graph import MutableGraph
from ...plan.plan_result import InferenceResult, PlanResult
from ...plan.static_checks import mapping_proposals
from ...plan.steps.edit import SetStep
from ...plan.steps.insert import InsertStep, with_fixes
from ...plan.type_check import axis_text, base_dtype, shapes_differ
from ..copy.imports import import_nodes
from ..copy.node_defs import constant_node, convert_op
from ..graph_parts import adopt_functions
from ..import_tensorflow import tf
from ..messages import graph_pb2, node_def_pb2
from ..private.c_api import functions_of
from ..private.graphs import copy_handle_data, tensor_info
from ..protos import empty_graph, lacks_memory
from ..run.errors import error_text
from .nodes import change_node, new_node

tf1 = tf.compat.v1
Op = TypeVar("Op")
#: Ops of loops and conds of TF1. If one of them were built, the whole loop or cond would have to be built.
_LOOP_TYPES = ("Merge", "NextIteration", "Enter", "Exit", "Switch")
_INTEGERS = ("int32", "int64")


class ScratchError(Exception):
    """Raised if TensorFlow refuses nodes; in its message, names of placeholders are replaced by the original names."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Ops(Protocol[Op]):
    """The ops that are built, and the producers of their inputs."""

    def name(self, op: Op) -> str:
        """Returns the full name of an op."""

    def node(self, op: Op) -> Any:
        """Returns the NodeDef of an op without inputs; None if a placeholder must replace the op."""

    def inputs(self, op: Op) -> Iterable[tuple[Op, int]]:
        """Returns the inputs of an op, in order."""

    def info(self, op: Op, port: int) -> TensorInfo | None:
        """Returns the known dtype and shape of an output of an op."""

    def handle(self, op: Op, port: int) -> TFTensor | None:
        """Returns the live tensor of an output, which has the handle data of a resource; None if there is none."""


class Scratch(Generic[Op]):
    """Builds ops in a separate graph.

    Args:
        ops: the ops.
        versions: the `versions` of the original GraphDef.
    """

    def __init__(self, ops: Ops[Op], versions: Any) -> None:
        self._ops, self._graph = ops, empty_graph()
        self._def = graph_pb2.GraphDef(versions=versions)
        self._placeholders: dict[tuple[str, int], TFTensor] = {}

    def build(self, targets: Iterable[Op], sources: Any) -> dict[Op, TFOp]:
        """Builds ops; returns op -> the op that was built.

        Args:
            targets: the ops.
            sources: a function: ops -> the live graphs with the functions that they call.

        Raises:
            ScratchError: TensorFlow refuses the ops.
        """
        targets = list(targets)
        queue, queued = list(targets), set(targets)
        for op in queue:  # the queue grows in the loop
            node = self._def.node.add()
            node.CopyFrom(self._ops.node(op))
            for source, port in self._ops.inputs(op):
                end = (self._ops.name(source), port)
                node.input.append(f"{end[0]}:{port}")
                if source in queued:
                    continue
                if self._comes_along(source, port):
                    queue.append(source)
                    queued.add(source)
                elif end not in self._placeholders:
                    self._placeholders[end] = self._placeholder(source, port)
        if any(map(_calls, self._def.node)):
            for graph in sources(queue):
                adopt_functions(graph, self._graph)
        new_ops = self._import_nodes()
        return {op: new_ops[self._ops.name(op)] for op in targets}

    def _comes_along(self, op: Op, port: int) -> bool:
        """Whether the producer of an input is built too, because it computes sizes or axes, or is a variable."""
        info, node = self._ops.info(op, port), self._ops.node(op)
        if info is None or node is None or _calls(node):
            return info is None and node is not None
        if is_size(info) or node.op == "Const":
            return node.op not in _LOOP_TYPES
        return info.dtype.endswith("_ref") or (info.dtype == "resource" and node.op == "VarHandleOp")

    def _placeholder(self, op: Op, port: int) -> TFTensor:
        info = self._ops.info(op, port)
        with self._graph.as_default(), tf1.name_scope("stand_ins_of_the_trial"):
            dtype = base_dtype(info.dtype) if info is not None else "float32"
            new = tf1.placeholder(tf.as_dtype(dtype), None if info is None else info.shape)
        handle = self._ops.handle(op, port) if new.dtype in (tf.resource, tf.variant) else None
        if handle is not None:
            copy_handle_data(handle, new)
        return new

    def _import_nodes(self) -> dict[str, TFOp]:
        try:
            return import_nodes(self._graph, self._def, self._placeholders)
        except Exception as error:
            if lacks_memory(error):
                raise
            message = error_text(error)
            for (name, port), tensor in self._placeholders.items():
                message = message.replace(tensor.name, f"{name}:{port}" if port else name)
            raise ScratchError(message) from error


def is_size(info: TensorInfo | None) -> bool:
    """Returns whether a tensor may contain sizes or axes, which determine shapes."""
    return info is not None and info.dtype in _INTEGERS and info.shape is not None and len(info.shape) < 2


def _calls(node: TFNodeDef) -> bool:
    """Whether a node has references to functions."""
    return any(value.HasField("func") or value.list.func for value in node.attr.values())


def _refuse_other_dtype(node: TFNodeDef | None) -> None:
    """Refuses a constant with another dtype than its value, which TensorFlow accepts, but cannot run."""
    if node is not None and node.op == "Const":
        dtypes = [
            DTYPES.get(number, "unknown") for number in (node.attr["dtype"].type, node.attr["value"].tensor.dtype)
        ]
        if dtypes[0] != dtypes[1]:
            raise PlanError(
                "", f"it has dtype {dtypes[0]}, but its value has dtype {dtypes[1]}", "Choose another value"
            )


Tensor = tuple[int, int]

#: The maximum number of refused ops that are collected; each of them needs one more import.
_MAX_FAULTS = 8
#: How messages of TensorFlow name the refused op.
_NODE_PATTERNS = (re.compile(r"\{\{node ([^}\s]+)\}\}"), re.compile(r"[Ii]nput \d+ of node '?([^\s']+)'? was"),
          re.compile(r"[Nn]ode '([^']+)'"), re.compile(r"'([^']+)'"))  # fmt: skip


@gc_paused()
def verdict(effect: PlanResult) -> InferenceResult:
    """Returns the faults that TensorFlow finds in a plan without other faults, and the shapes that it infers."""
    return _ShapeChecker(effect).check()


class _ShapeChecker:
    """Checks the ops that a plan changes with TensorFlow, and collects faults and inferred shapes."""

    def __init__(self, effect: PlanResult) -> None:
        self._effect, self._after = effect, effect.after
        self._nodes: dict[int, Any] = {}
        self._faults: list[Fault] = []
        self._removed: list[int] = []
        self._added = {self._after.index[new.name]: new for new in effect.added}
        self._copies = sorted((int(c.positions[c.ops].min()) - len(c.replacement_ops), k)
                              for k, c in enumerate(effect.copies) if len(c.ops))  # fmt: skip
        self._starts = [first for first, _ in self._copies]
        self._remaining = np.delete(np.arange(effect.base.size), sorted(effect.removed))

    def check(self) -> InferenceResult:
        """Returns the faults, and the inferred shapes of ops whose known shapes have become wrong."""
        inferred: dict[int, list[TensorInfo]] = {}
        region = self._edited_ops()
        for op in sorted(region):
            self._check_node(op)
        sure = len(self._faults), len(self._removed)
        new_ops = self._try_build(self._without_lost(region))
        wide = self._with_between(region) if len(self._faults) > sure[0] else region
        if len(wide) > len(region):  # a placeholder may have had an outdated shape, so ops in between are built too
            del self._faults[sure[0] :], self._removed[sure[1] :]
            new_ops = self._try_build(self._without_lost(wide))
        # Consumers of an inserted op are already in `region`.
        changed_ops = [op for op, new in new_ops.items() if op not in self._added and self._affects_consumers(op, new)]
        if changed_ops:
            below = forward(self._after, self._after.mask(changed_ops), control=False)
            new_ops = self._try_build(self._without_lost({*region, *np.flatnonzero(below).tolist()}))
            inferred = {op: infos for op, new in new_ops.items() if (infos := self._contradicting_outputs(op, new))}
        reshaped = {
            op: self._infos_of(new)
            for op, new in new_ops.items()
            if op < self._effect.first_new and self._sizes_changed(op, new)
        }
        return InferenceResult(tuple(self._faults), inferred, reshaped)

    def _sizes_changed(self, op: int, new_op: TFOp) -> bool:
        """Whether output sizes of an existing op have changed; sizes that became unknown do not count."""
        old_infos, infos = self._outputs(op), self._infos_of(new_op)
        return old_infos is not None and len(old_infos) == len(infos) and not all(map(_weaker, infos, old_infos))

    @staticmethod
    def _infos_of(op: TFOp) -> list[TensorInfo]:
        return [tensor_info(tensor) for tensor in op.outputs]

    def _contradicting_outputs(self, op: int, new_op: Any) -> list[TensorInfo]:
        """Returns the inferred outputs of an op if they contradict a known shape; otherwise empty."""
        old_infos = self._outputs(op) or ()
        infos = self._infos_of(new_op)
        if len(old_infos) != len(infos) or not any(
            a.dtype == b.dtype and _contradicts(a, b) for a, b in zip(old_infos, infos, strict=True)
        ):
            return []
        return [b if _contradicts(a, b) else a for a, b in zip(old_infos, infos, strict=True)]

    # -- the ops that a plan touches --------------------------------------------------------------

    def _edited_ops(self) -> set[int]:
        """Returns the ops that a step has made, or whose attributes or inputs a step has changed."""
        effect, index = self._effect, self._after.index
        out = {index[name] for name in effect.blame if name in index}
        for copied in effect.copies:
            odd = {old for old, (name, port) in copied.input_map.items() if self._unlike(copied, old, name, port)}
            if odd:
                out |= self._readers(copied, odd)
        return out

    def _with_between(self, region: set[int]) -> set[int]:
        """Returns some ops, and the ops on the paths between them."""
        mask = self._after.mask(sorted(region))
        between = forward(self._after, mask, control=False) & backward(self._after, mask, control=False)
        return {*region, *np.flatnonzero(between).tolist()}

    def _unlike(self, copy_result: CopyResult, tensor: Tensor, name: str, port: int) -> bool:
        new = self._after.info(self._after.index[name], port)
        return not _weaker(new, copy_result.source.info(*tensor))

    def _readers(self, copy_result: CopyResult, tensors: set[Tensor]) -> set[int]:
        data, place = copy_result.source.data, copy_result.positions
        rows = np.unique(data.rows[data.positions_in(tensors) >= 0])
        return {int(place[row]) for row in rows.tolist() if place[row] >= 0}

    def _check_node(self, op: int) -> None:
        name = self._after.names[op]
        try:
            self._refuse_unknown_functions(op, self.node(op))
            _refuse_other_dtype(self.node(op))
        except PlanError as error:
            request, step = self._request_of(name, error.request), self._effect.blame.get(name)
            self._faults.append(Fault(request, f"{name!r}: {error.problem}", error.suggestion, step=step))
            self._removed.append(op)

    def _refuse_unknown_functions(self, op: int, node: TFNodeDef) -> None:
        change, source = self._effect.changes.get(self._after.names[op]), self._source(op)
        if node is None or change is None or source is None:
            return
        functions = functions_of(source[0].live_graph)
        names = {
            name for key in change.attributes if key in node.attr for name in functions_in_attribute(node.attr[key])
        }
        for name in sorted(names.difference(functions)):
            raise PlanError(
                "", f"{name!r} is not a function of the graph", f"It holds {few(sorted(functions)) or 'none'}"
            )

    # -- nodes ------------------------------------------------------------------------------------

    def _copy_of(self, op: int) -> tuple[CopyResult, int] | None:
        """Returns the copy that contains an op, and the index of the op in the copy; None for an op of the base."""
        at = int(np.searchsorted(self._starts, op, side="right")) - 1
        if at < 0 or op < self._effect.first_new:
            return None
        copied = self._effect.copies[self._copies[at][1]]
        inside = op - self._starts[at]
        return (copied, inside) if inside < len(copied.replacement_ops) + len(copied.ops) else None

    def _source(self, op: int) -> tuple[Graph, int] | None:
        """Returns the source graph of an op, and its number in this graph; None for a new op."""
        if op < self._effect.first_new:
            return self._effect.base, int(self._remaining[op])
        copy = self._copy_of(op)
        if copy is None or copy[1] < len(copy[0].replacement_ops):
            return None
        return copy[0].source, int(copy[0].ops[copy[1] - len(copy[0].replacement_ops)])

    def _outputs(self, op: int) -> Any:
        """Returns the known outputs of an op before the plan, or of its original."""
        source = self._source(op)
        return self._after.outputs(op) if source is None else source[0].outputs(source[1])

    def info(self, op: int, port: int) -> TensorInfo | None:
        """Returns the known dtype and shape of an output before the plan, or of its original."""
        return output_at(self._outputs(op), port)

    def node(self, op: int) -> Any:
        """Returns the NodeDef of an op after the plan, without its inputs; None if a placeholder replaces it."""
        if op not in self._nodes:
            self._nodes[op] = None
            self._nodes[op] = self._node_of(op)
        return self._nodes[op]

    def _node_of(self, op: int) -> Any:
        name, origin, mine = self._after.names[op], self._source(op), self._copy_of(op)
        change = self._effect.changes.get(name)
        if op in self._added:
            node = new_node(self._added[op], self._effect)
        elif origin is not None:
            source, number = origin
            if source.nodes[number] is None:
                return None
            node = node_def_pb2.NodeDef(name=name, op=source.nodes[number].op)
            for key, value in source.nodes[number].attr.items():
                if key not in ("_class", "_output_shapes"):
                    node.attr[key].CopyFrom(value)
            if mine is not None:
                convert_op(mine[0], number, node)
        else:
            new = mine[0].replacement_ops[mine[1]] if mine is not None else None
            if mine is None or not isinstance(new, NewConstant) or new.value is None:
                return None
            node = constant_node(mine[0], new, None)
        if change is not None:
            change_node(node, change)
        node.name, node.device = name, ""
        return node

    # -- the check by TensorFlow ------------------------------------------------------------------

    def _try_build(self, region: set[int]) -> dict[int, TFOp]:
        """Builds ops; returns number -> op, and collects the ops that TensorFlow refuses, one after another."""
        while region and len(self._faults) < _MAX_FAULTS:
            try:
                return self._build(region)
            except ScratchError as error:
                name = _refused_name(error.message, self._after)
                self._faults.append(self._fault(name, error.message))
            if not name:
                return {}
            self._removed.append(self._after.index[name])
            region = self._without_lost(region)
        return {}

    def _without_lost(self, region: set[int]) -> set[int]:
        """Returns some ops, without the refused ops and all ops downstream of these."""
        if not self._removed:
            return region
        below = forward(self._after, self._after.mask(self._removed), control=False)
        return {op for op in region if not below[op]}

    def _build(self, region: set[int]) -> dict[int, TFOp]:
        build = [op for op in sorted(region) if self.node(op) is not None]
        return Scratch(self, self._versions()).build(build, self._live_graphs)

    def _versions(self) -> Any:
        base, copies = self._effect.base, self._effect.copies
        graph = base.live_graph if base.size or not copies else copies[0].source.live_graph
        return graph.graph_def_versions

    def _live_graphs(self, ops: Iterable[int]) -> list[TFGraph]:
        """Returns the live graphs with the functions of some ops, without duplicates."""
        graphs = [source[0].live_graph for source in map(self._source, ops) if source is not None]
        return list({id(live): live for live in graphs}.values())

    def name(self, op: int) -> str:
        """Returns the name of an op after the plan."""
        return self._after.names[op]

    def inputs(self, op: int) -> list[Tensor]:
        """Returns the inputs of an op after the plan."""
        return self._after.data.ends(op)

    def handle(self, op: int, port: int) -> TFTensor | None:
        """Returns the live tensor of an output, or of its original."""
        source = self._source(op)
        if source is None or not hasattr(source[0].live_graph, "get_operations"):
            return None
        return source[0].live_graph.get_operation_by_name(source[0].names[source[1]]).outputs[port]

    def _affects_consumers(self, op: int, new_op: TFOp) -> bool:
        """Whether consumers of an op are affected, by another dtype, a more specific shape, or other output sizes."""
        old_infos = self._outputs(op)
        infos = self._infos_of(new_op)
        # The dtype and shape of a handle do not show a change of its variable or table.
        if any(is_size(info) or info.dtype in ("resource", "variant") for info in infos):
            return True
        return old_infos is None or len(old_infos) != len(infos) or not all(map(_weaker, infos, old_infos))

    # -- faults -----------------------------------------------------------------------------------

    def _fault(self, name: str, message: str) -> Fault:
        """Returns the fault of a refused op."""
        effect, after = self._effect, self._after
        copy = self._copy_of(after.index[name]) if name else None
        if copy is not None and name not in effect.blame:
            fault = self._mapping_fault(copy[0], message)
            if fault is not None:
                return fault
        step, first = self._step(name)
        title = f"op {name!r} ({after.types[after.index[name]]})" if name else "the new ops of the plan"
        way = "Choose a tensor that fits there, or leave out the step"
        if isinstance(step, SetStep):
            way = "Choose another value, or leave it as it is"
        if isinstance(step, InsertStep):
            way = "Choose another op type, or give the attributes that it needs as arguments"
        through = f", which depends on {first!r}" if first not in ("", name) else ""
        problem = f"TensorFlow refuses {title}{through}: {message}"
        names = (name,) if name else ()
        return Fault(
            self._request_of(first, ""), problem, way, step=effect.blame.get(first), kind=Kind.REFUSED_OP, names=names
        )

    def _step(self, name: str) -> tuple[Any, str]:
        """Returns the step that has changed an op, or the nearest op upstream; and the op that the step has changed."""
        effect, after = self._effect, self._after
        if name in effect.blame or not name:
            first = name or next(iter(effect.blame), "")
        else:
            above, visited = [after.index[name]], {after.index[name]}
            first = ""
            for op in above:  # the list grows in the loop; nearest ops come first
                if after.names[op] in effect.blame:
                    first = after.names[op]
                    break
                near = [source for source, _ in after.data.ends(op) if source not in visited]
                visited.update(near)
                above += near
        return (effect.steps[effect.blame[first]] if first in effect.blame else None), first

    def _request_of(self, name: str, default: str) -> str:
        step = self._effect.blame.get(name)
        if step is None:
            return default or "check()"
        return self._effect.steps[step].request

    def _mapping_fault(self, copy_result: CopyResult, message: str) -> Fault | None:
        """Returns the fault if a tensor that replaces another tensor in a copy has a different shape."""
        after, graph = self._effect.after, MutableGraph(self._effect.after)
        for tensor, (new, port) in copy_result.input_map.items():
            a, b = copy_result.source.info(*tensor), after.info(after.index[new], port)
            if a is None or b is None or not (shapes_differ(a.shape, b.shape) or not _weaker(b, a)):
                continue
            old, name = f"{copy_result.source.names[tensor[0]]}:{tensor[1]}", f"{new}:{port}"
            fault = Fault(
                f"copy(to={copy_result.step.to!r}, inputs={{{old!r}: {name!r}}})",
                f"{name!r} is {b}, but {old!r} is {a}: {axis_text(b.shape, a.shape)}. TensorFlow refuses it: {message}",
                mapping_proposals(copy_result.step, after, (old, a), (name, b)),
                step=self._effect.step_number(copy_result.step),
                kind=Kind.REFUSED_OP,
                names=(name,),
            )
            fault = mapping_mismatch(graph, fault, copy_result.step, old, name)
            return with_fixes(graph, fault, copy_result.step)
        return None


def _weaker(new: TensorInfo | None, old: TensorInfo | None) -> bool:
    """Whether the new tensor has the same dtype, and the same or a less specific shape, so all consumers accept it."""
    if new is None or old is None or base_dtype(new.dtype) != base_dtype(old.dtype):
        return False
    if new.shape is None or old.shape is None:
        return new.shape is None
    return len(new.shape) == len(old.shape) and all(a in (None, b) for a, b in zip(new.shape, old.shape, strict=True))


def _contradicts(expected: TensorInfo, inferred: TensorInfo) -> bool:
    """Whether two shapes contradict each other."""
    return not tf.TensorShape(expected.shape).is_compatible_with(tf.TensorShape(inferred.shape))


def _refused_name(text: str, after: Graph) -> str:
    """Returns the op of the graph that a message of TensorFlow names; empty if it names none.

    For an error of TensorFlow's importer, only the text contains the op.
    """
    names = (match[1] for pattern in _NODE_PATTERNS for match in pattern.finditer(text))
    return next((name for name in names if name in after.index), "")
