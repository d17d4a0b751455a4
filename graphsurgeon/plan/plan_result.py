"""PlanResult: the full effect of applying a plan, as a value: the sum of the effects of its steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import RLock
from typing import Any, Protocol

import numpy as np

from ..errors import counted, few
from ..graph.boundary import Tensor
from ..graph.concurrency import once
from ..graph.graph import Graph, TensorInfo
from ..graph.names import join_scope
from ..graph.provenance import OpOrigin, serialize_origin
from ..graph.types import TFGraph, TFNodeDef, TFOp, TFVariable
from ..graph.variables import VariableInfo
from .copy_result import Connection, CopyResult, NewPlaceholder, NewVariable
from .fault import Fault
from .steps.base import Step


@dataclass(frozen=True)
class OpChange:
    """The changes of one op: attributes (None clears one), a device, control inputs that are added and removed."""

    attributes: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None
    added_controls: tuple[str, ...] = ()
    removed_controls: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The changes as text."""
        parts = [f"{name} cleared" if value is None else f"{name}={value!r}" for name, value in self.attributes.items()]
        parts += [] if self.device is None else [f"on {self.device or 'any device'}"]
        parts += [f"after {few(self.added_controls)}"] if self.added_controls else []
        parts += [f"no longer after {few(self.removed_controls)}"] if self.removed_controls else []
        return ", ".join(parts)

    def combined_with(self, other: OpChange) -> OpChange:
        """Returns this change and another after it."""
        return OpChange(
            {**self.attributes, **other.attributes},
            self.device if other.device is None else other.device,
            (*self.added_controls, *other.added_controls),
            (*self.removed_controls, *other.removed_controls),
        )


@dataclass(frozen=True)
class NewNode:
    """A new op.

    Args:
        name, op: its name and type.
        inputs: numbers of the tensors it reads.
        attributes: as Python values.
        info: dtype and static shape of its output, as far as known.
        input_info: dtype and static shape of its input; if they are unknown because that op is new, of the input of
            that op.
    """

    name: str
    op: str
    inputs: tuple[Tensor, ...]
    attributes: Mapping[str, Any]
    info: TensorInfo | None
    input_info: TensorInfo | None = None


@dataclass(frozen=True, eq=False)
class Region:
    """Ops that are replaced together, like the ops of a match.

    Args:
        graph: the snapshot that contains the ops.
        numbers: the ops.
        inputs: argument -> tensor, by name.
        outputs: result -> tensor, by name.
    """

    graph: Graph
    numbers: Sequence[int]
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]

    @property
    def names(self) -> list[str]:
        """Names of the ops, in graph order."""
        return [self.graph.names[i] for i in self.numbers]


@dataclass(frozen=True, eq=False)
class Replacement:
    """The replacement of one match.

    Args:
        match: the match; for `collapse` and `inline` the `Region`.
        scope: the name scope of the new ops.
        outputs: tensor of the match -> tensor that replaced it, by name.
        ops: names of the new ops.
        kept: names of ops of the match that stay: others read them, or a variable needs them.
    """

    match: Any
    scope: str
    outputs: Mapping[str, str]
    ops: tuple[str, ...]
    kept: tuple[str, ...] = ()

    def __str__(self) -> str:
        ends = ", ".join(f"{old} -> {new}" for old, new in self.outputs.items())
        return f"{self.scope}: {ends}" + (f"; {few(self.kept)} stay{'s' * (len(self.kept) == 1)}" if self.kept else "")


@dataclass(frozen=True, eq=False)
class DownstreamCopy:
    """The ops that an `on_copies` step copies.

    Args:
        copy_result: the ops, as a copy inside the graph.
        changed: names of the ops that the earlier edits change.
        stop_tensors: the tensors at which the copy stops.
        unchanged: ops that are copied although they do not change.
    """

    copy_result: CopyResult
    changed: tuple[str, ...]
    stop_tensors: tuple[str, ...]
    unchanged: tuple[str, ...]

    @property
    def text(self) -> str:
        """The slice as text."""
        again = counted(len(self.copy_result.ops), "ops")
        edits = f"{counted(len(self.changed), 'ops')} that change{'s' * (len(self.changed) == 1)}"
        end = f", up to {few(self.stop_tensors)}" if self.stop_tensors else ""
        return f"{again} downstream of {edits}{end}, copied under {self.copy_result.step.to}/"


@dataclass(frozen=True)
class InferenceResult:
    """The result of shape inference for an effect.

    Args:
        faults: the faults that it finds.
        inferred: op after the plan -> its outputs, if the known shapes of its original no longer hold.
        resized: number after the plan of an op of the base -> its outputs, if their sizes have changed.
    """

    faults: tuple[Fault, ...] = ()
    inferred: Mapping[int, Sequence[TensorInfo]] = field(default_factory=dict)
    resized: Mapping[int, Sequence[TensorInfo]] = field(default_factory=dict)


class ShapeChecker(Protocol):
    """Runs shape inference."""

    def infer_shapes(self, effect: PlanResult) -> InferenceResult:
        """Returns the result for an effect that has no other faults."""


@dataclass(frozen=True, eq=False)
class PlanResult:
    """The complete effect of steps.

    Args:
        base: the destination before the steps.
        steps: the steps.
        after: the destination after the steps.
        copies: the copies, grafts and slices, with all ops that are also copied.
        connections: edges between existing and new ops, and inputs that are set.
        faults: why the steps cannot be carried out.
        warnings: the warnings.
        added: single new ops.
        changes: op -> its change.
        removed: number of a removed op of the base -> the step that removes it.
        pruned: removed ops of resolved conds; other ops of these conds may stay.
        downstream_copies: the ops that `on_copies` steps copy.
        replacements: the replacements of matches.
        first_new: number of the first new op.
        mode: ``append`` or ``materialize``.
        renamed: old name -> new name of each renamed op of the base.
        revalued: step with values= -> the ops that it renames.
        blame: op with new inputs or attributes -> the last step that has set them.
        shape_checker: the shape inference; None if there is none.
        lock: held while the verdict or a predicted shape is computed; shared with `after` and with later forms of
            this effect.
    """

    base: Graph
    steps: tuple[Step, ...]
    after: Graph
    copies: tuple[CopyResult, ...] = ()
    connections: tuple[Connection, ...] = ()
    faults: tuple[Fault, ...] = ()
    warnings: tuple[str, ...] = ()
    added: tuple[NewNode, ...] = ()
    changes: Mapping[str, OpChange] = field(default_factory=dict)
    removed: Mapping[int, int] = field(default_factory=dict)
    downstream_copies: tuple[DownstreamCopy, ...] = ()
    replacements: tuple[Replacement, ...] = ()
    first_new: int = 0
    mode: str = "append"
    renamed: Mapping[str, str] = field(default_factory=dict)
    revalued: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    blame: Mapping[str, int] = field(default_factory=dict)
    pruned: frozenset[int] = frozenset()
    shape_checker: ShapeChecker | None = field(default=None, repr=False)
    lock: RLock = field(default_factory=RLock, repr=False)

    @once(recursive_value=lambda effect: InferenceResult())
    def inference(self) -> InferenceResult:
        """The structural faults or, if there are none, the faults of shape inference."""
        return (
            InferenceResult(self.faults)
            if self.faults or self.shape_checker is None
            else self.shape_checker.infer_shapes(self)
        )

    def step_number(self, step: Step) -> int | None:
        """Returns the number of one of its steps; None if the step is not one of them."""
        return next((number for number, one in enumerate(self.steps) if one is step), None)

    @property
    def edits(self) -> list[Connection]:
        """The inputs that are set on ops of the base."""
        return [join for join in self.connections if self.after.index[join.to] < self.first_new]

    @property
    def new_names(self) -> list[str]:
        """Names of all new ops, in the order they are made."""
        return list(self.after.names[self.first_new :])

    @property
    def variables(self) -> list[NewVariable]:
        """All new variables."""
        return [v for c in self.copies for v in c.variables]

    @property
    def placeholders(self) -> list[NewPlaceholder]:
        """All new placeholders."""
        return [p for c in self.copies for p in c.placeholders]

    @cached_property
    def implied_control_changes(self) -> dict[str, OpChange]:
        """Changed control inputs of existing ops that no step names, because other ops were removed or moved."""
        base, after = self.base, self.after
        if not (len(base.control.node) or len(after.control.node)):
            return {}
        stay = np.ones(base.size, np.bool_)
        if self.first_new < base.size:  # a removal with a fault has removed nothing
            stay[list(self.removed)] = False
        place = np.where(stay, np.cumsum(stay) - 1, -1)
        wide = max(after.size, 1)
        old = place[base.control.rows].astype(np.int64) * wide + place[base.control.node]
        old = old[stay[base.control.rows] & stay[base.control.node]]
        removed_edges = np.flatnonzero(stay[base.control.rows] & ~stay[base.control.node])
        mine = after.control.rows < self.first_new
        new = after.control.rows.astype(np.int64) * wide + after.control.node
        added_controls, frees = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
        for key in new[mine & ~np.isin(new, old)].tolist():
            added_controls[after.names[key // wide]].append(after.names[key % wide])
        for key in old[~np.isin(old, new)].tolist():
            frees[after.names[key // wide]].append(after.names[key % wide])
        for at in removed_edges.tolist():
            name = base.names[int(base.control.rows[at])]
            frees[self.renamed.get(name, name)].append(base.names[int(base.control.node[at])])
        return {
            name: OpChange(added_controls=tuple(added_controls[name]), removed_controls=tuple(frees[name]))
            for name in dict.fromkeys([*added_controls, *frees])
            if name not in self.changes
        }


@dataclass
class AppliedOps:
    """The result of a plan in the live graph.

    Args:
        graph: the destination.
        ops: names of the new ops.
        nodes: the NodeDefs that were added; cleared once they are confirmed.
        live_ops: name -> new op; cleared once all Python objects are made.
        variables: new variable op name -> `tf.Variable` object, if it could be built.
        kept_variables: the same for the variables of the old graph, in a rebuilt graph.
        origins: in a rebuilt graph, variable -> the same variable of the old graph.
        variable_infos: new variable op name -> its parts, by names of the destination.
        values: new variable op name -> its future value: an array, or a `StoredValue`, which is read on demand.
        untrained: new variable op name, or constant -> why it has an initial value although values were given.
        frozen_values: name of a new constant -> the value of the variable that it freezes; cleared once it is made.
        initial: new variable op names that start from their initial value.
        collections: (name, item) pairs added, in order.
        init_ops: ops that must be run once before use, such as the init op of a SavedModel, with their feeds.
        partial_contexts: control-flow contexts that are only partly copied; gradients cannot pass through them.
    """

    graph: TFGraph
    ops: list[str] = field(default_factory=list)
    nodes: Sequence[TFNodeDef] = ()
    live_ops: Mapping[str, TFOp] = field(default_factory=dict)
    variables: dict[str, TFVariable] = field(default_factory=dict)
    kept_variables: dict[str, TFVariable] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    variable_infos: dict[str, VariableInfo] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    untrained: dict[str, str] = field(default_factory=dict)
    frozen_values: dict[str, Any] = field(default_factory=dict)
    initial: list[str] = field(default_factory=list)
    collections: list[tuple[str, Any]] = field(default_factory=list)
    partial_contexts: list[str] = field(default_factory=list)
    init_ops: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


def record(effect: PlanResult, step: int, origins_of: Callable[[Graph], Mapping[str, OpOrigin]]) -> bytes:
    """Returns the record of a plan that its graph keeps.

    Args:
        effect: the effect of the plan.
        step: its number in the history.
        origins_of: returns the origins of the ops of a source.
    """
    copies, new_ops, covered = [], {}, set()
    origins: dict[int, Mapping[str, OpOrigin]] = {}  # several copies may have the same source
    for copied in effect.copies:
        if copied.role == "graft":
            continue  # ops that were built for the plan come from no other graph
        if id(copied.source) not in origins:
            origins[id(copied.source)] = origins_of(copied.source)
        copies.append(_copy_record(copied, origins[id(copied.source)]))
        title = copied.source.title
        covered.update(copied.names)
        for new in copied.replacement_ops:
            new_ops[new.name] = ("placeholder" if isinstance(new, NewPlaceholder) else "constant", new.original, title)
        new_ops.update({op.name: ("setter", v.original, title) for v in copied.variables for op in v.setter})
    new_ops.update(
        {name: ("inserted", "", "") for name in effect.new_names if name not in new_ops and name not in covered}
    )
    changes: dict[str, list[str]] = {}
    for join in effect.edits:
        changes.setdefault(join.to, []).append(f"input {join.input} reads {join.tensor}")
    for op, change in effect.changes.items():
        changes.setdefault(op, []).append(change.text)
    for was, now in effect.renamed.items():
        changes.setdefault(now, []).append(f"was called {was}")
    names, there = effect.base.names, effect.after.index
    about = {
        "text": "; ".join(step.describe() for step in effect.steps),
        "copies": copies,
        "made": new_ops,
        "changed": {op: ", ".join(what) for op, what in changes.items() if op in there},
        "removed": [names[i] for i in sorted(effect.removed)],
        "renamed": effect.renamed,
    }
    return serialize_origin(step, about)


def _copy_record(copy_result: CopyResult, origins: Mapping[str, OpOrigin]) -> dict[str, Any]:
    source = copy_result.source
    ops = [source.names[i] for i in copy_result.ops.tolist()]
    out: dict[str, Any] = {"graph": source.title, "to": copy_result.step.to, "ops": ops}
    lead = join_scope(copy_result.step.to, "")
    other = {old: new for old, new in zip(ops, copy_result.names, strict=True) if new != lead + old}
    if other:
        out["names"] = other
    earlier = {op: str(origins[op]) for op in ops if op in origins} if origins else {}
    if earlier:
        out["before"] = earlier
    return out
