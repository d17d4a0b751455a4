"""The delta of a step, the result of a plan in a live graph, and the record of a plan in its graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..graph.graph import Graph
from ..graph.names import join_scope
from ..graph.provenance import OpOrigin, serialize_origin
from ..graph.rewiring import Edge
from ..graph.tf_types import TFGraph, TFNodeDef, TFOp, TFVariable
from ..graph.variables import VariableInfo
from .copy_result import Connection, CopyResult, NewPlaceholder
from .fault import Fault
from .plan_result import NewNode, OpChange, PlanResult, Replacement
from .step_code import step_text


@dataclass(frozen=True, eq=False)
class GraphDelta:
    """The effect of one step, to be added to the effect of the earlier steps.

    Ops are given by number. New ops have the last numbers.

    Args:
        faults: the reasons why the step cannot be carried out.
        warnings: the warnings about the step.
        copies: ops that are copied or grafted, with everything that is also copied.
        joins: edges between these copies and other ops, by name.
        nodes: single new ops.
        edges: inputs that are set.
        waits: op -> all its new control inputs.
        quiet: the same, but not recorded as a change: for new ops, or if `changes` contains it.
        checked: whether it is known that the edges close no cycle.
        changes: op -> its change.
        removed: ops of the base that are removed after all steps.
        decided: removed ops of resolved conds; other ops of these conds may stay.
        anew: whether the plan must build a new graph.
        names: op -> its new name; all names change at once.
        values: ops that are renamed by a step with values=.
        replaced: the replacements of matches.
        effect: the total effect with all earlier steps, if the step changes how they are carried out; the other fields
            are added to it.
    """

    faults: Sequence[Fault] = ()
    warnings: Sequence[str] = ()
    copies: Sequence[CopyResult] = ()
    joins: Sequence[Connection] = ()
    nodes: Sequence[NewNode] = ()
    edges: Sequence[Edge] = ()
    waits: Mapping[int, Sequence[int]] = field(default_factory=dict)
    quiet: Mapping[int, Sequence[int]] = field(default_factory=dict)
    checked: bool = False
    changes: Mapping[int, OpChange] = field(default_factory=dict)
    removed: frozenset[int] = frozenset()
    decided: frozenset[int] = frozenset()
    anew: bool = False
    names: Mapping[int, str] = field(default_factory=dict)
    values: tuple[int, ...] = ()
    replaced: Sequence[Replacement] = ()
    effect: PlanResult | None = None


@dataclass
class AppliedOps:
    """The result of a plan in the live graph.

    Args:
        graph: the destination.
        ops: names of the new ops.
        nodes: the NodeDefs that were added; cleared once they are confirmed.
        live: name -> new op; cleared once all Python objects are made.
        variables: new variable op name -> `tf.Variable` object, if it could be built.
        carried: the same for the variables of the old graph, in a rebuilt graph.
        origins: in a rebuilt graph, variable -> the same variable of the old graph.
        infos: new variable op name -> its parts, by names of the destination.
        values: new variable op name -> its future value: an array, or a `StoredValue`, which is read on demand.
        untrained: new variable op name, or constant -> why it has an initial value although values were given.
        frozen: name of a new constant -> the value of the variable that it freezes; cleared once it is made.
        initial: new variable op names that start from their initial value.
        collections: (name, item) pairs added, in order.
        init_ops: ops that must be run once before use, such as the init op of a SavedModel, with their feeds.
        missed: control-flow contexts that are only partly copied; gradients cannot pass through them.
    """

    graph: TFGraph
    ops: list[str] = field(default_factory=list)
    nodes: Sequence[TFNodeDef] = ()
    live: Mapping[str, TFOp] = field(default_factory=dict)
    variables: dict[str, TFVariable] = field(default_factory=dict)
    carried: dict[str, TFVariable] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    infos: dict[str, VariableInfo] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    untrained: dict[str, str] = field(default_factory=dict)
    frozen: dict[str, Any] = field(default_factory=dict)
    initial: list[str] = field(default_factory=list)
    collections: list[tuple[str, Any]] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    init_ops: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


def record(effect: PlanResult, step: int, before: Callable[[Graph], Mapping[str, OpOrigin]]) -> bytes:
    """Returns the record of a plan that its graph keeps.

    Args:
        effect: the effect of the plan.
        step: its number in the history.
        before: returns the origins of the ops of a source.
    """
    copies, new_ops, covered = [], {}, set()
    origins: dict[int, Mapping[str, OpOrigin]] = {}  # several copies may have the same source
    for copied in effect.copies:
        if copied.role == "graft":
            continue  # ops that were built for the plan come from no other graph
        if id(copied.source) not in origins:
            origins[id(copied.source)] = before(copied.source)
        copies.append(_copy_record(copied, origins[id(copied.source)]))
        title = copied.source.title
        covered.update(copied.names)
        for new in copied.stand_ins:
            new_ops[new.name] = ("placeholder" if isinstance(new, NewPlaceholder) else "constant", new.was, title)
        new_ops.update({op.name: ("setter", v.was, title) for v in copied.variables for op in v.setter})
    new_ops.update(
        {name: ("inserted", "", "") for name in effect.new_names if name not in new_ops and name not in covered}
    )
    changes: dict[str, list[str]] = {}
    for op, at, tensor in effect.edits:
        changes.setdefault(op, []).append(f"input {at} reads {tensor}")
    for op, change in effect.changes.items():
        changes.setdefault(op, []).append(change.text)
    for was, now in effect.renamed.items():
        changes.setdefault(now, []).append(f"was called {was}")
    names, there = effect.base.names, effect.after.index
    about = {
        "text": "; ".join(map(step_text, effect.steps)),
        "copies": copies,
        "made": new_ops,
        "changed": {op: ", ".join(what) for op, what in changes.items() if op in there},
        "removed": [names[i] for i in sorted(effect.removed)],
        "renamed": effect.renamed,
    }
    return serialize_origin(step, about)


def _copy_record(copied: CopyResult, origins: Mapping[str, OpOrigin]) -> dict[str, Any]:
    source = copied.source
    ops = [source.names[i] for i in copied.ops.tolist()]
    out: dict[str, Any] = {"graph": source.title, "to": copied.step.to, "ops": ops}
    lead = join_scope(copied.step.to, "")
    other = {old: new for old, new in zip(ops, copied.names, strict=True) if new != lead + old}
    if other:
        out["names"] = other
    earlier = {op: str(origins[op]) for op in ops if op in origins} if origins else {}
    if earlier:
        out["before"] = earlier
    return out
