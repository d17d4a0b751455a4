"""The result of an applied plan: the new ops, and the copy of each source op."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from .. import tf
from ..errors import SelectionError, counted, one_of
from ..graph.reports import only_initial_text
from ..graph.types import TensorLike, TFGraph
from ..graph.variables import VARIABLE_TYPES
from ..plan.copy_result import CopyResult
from ..plan.plan import Plan
from ..plan.plan_result import AppliedOps, PlanResult, Replacement
from ..plan.steps.base import steps_text
from ..plan.steps.copy import CopyStep
from ..plan.steps.wiring import ConnectStep


@dataclass(eq=False)
class Applied:
    """The result of `Editor.apply`. Index it with a source name or object to get the copy.

    Args:
        plan: the plan that was carried out.
        graph: the live graph after the plan; for a materialized plan, the new graph.
        applied_ops: the new ops and variables.
        session: returns a session with the values of all variables.
        scope: the scope of one copy, to which this result is limited; None for all copies.
        notes: more warnings, in addition to those of the plan.

    Example:
        ``done["mixed4a:0"]`` is a tensor, ``done["conv1"]`` an op, ``done["w"]`` or ``done[w]`` a `tf.Variable`.
        If a plan copies an op twice, the result is the last copy; ``done.under("first")["w"]`` is in another copy.
    """

    plan: Plan
    graph: TFGraph
    applied_ops: AppliedOps
    session: Callable[[], Any] = lambda: None
    scope: str | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def effect(self) -> PlanResult:
        """The predicted result of the plan."""
        return self.plan.effect

    @property
    def parts(self) -> list[Applied]:
        """An `Applied` for each copy, in order."""
        return [replace(self, scope=copied.step.to) for copied in self.copies]

    def in_scope(self, scope: str) -> Applied:
        """Returns this result limited to the copy under `scope`.

        Args:
            scope: the scope of the copy, equal to `to` of the step.

        Raises:
            SelectionError: no copy was made there.
        """
        scopes = [copied.step.to for copied in self.copies]
        if scope.strip("/") not in scopes:
            raise SelectionError(
                f"under({scope!r})",
                "no copy was made there",
                "Choose " + " or ".join(map(repr, scopes)) if scopes else "This plan makes no copy at all",
            )
        return replace(self, scope=scope.strip("/"))

    @property
    def matches(self) -> list[Replacement]:
        """The replaced matches, in order. Each has its `match`, and the names in `outputs`, `ops` and `kept`."""
        return list(self.effect.replacements)

    @property
    def copies(self) -> list[CopyResult]:
        """The results of all copy steps and of all `on_copies`."""
        own = (c for c in self.effect.copies if c.role != "graft")
        return [c for c in own if self.scope is None or c.step.to == self.scope]

    def __getitem__(self, key: Any) -> Any:
        """Returns the copy of a source op, tensor or variable, given by name or object.

        For a structure of tensors, such as a `tf.RaggedTensor`, it returns the same structure of copies.

        Raises:
            SelectionError: the op was not copied.
        """
        if not isinstance(key, str) and (not hasattr(key, "name") or hasattr(key, "as_tensor")):
            return tf.copy.python_state.copy_item(key, self.graph, self.__getitem__, lambda name: None)
        name = str(getattr(key, "name", key))
        owner = getattr(key, "graph", None) if not isinstance(key, str) else None
        as_variable = not isinstance(key, str) and hasattr(key, "initializer")
        if as_variable:
            name = key.op.name
        new = self._replacement(name) if owner is None or owner is self.effect.base.owner else ""
        if new:
            return self._element(*new.split(":")) if ":" in name else self._element(new.partition(":")[0], "")
        for copied in reversed(self.copies):
            if owner is not None and copied.source.owner is not owner:
                continue
            element = self._in(copied, name)
            if element is not None:
                return element
        op_name = name.partition(":")[0]
        edits = any(not isinstance(step, CopyStep | ConnectStep) for step in self.effect.steps)
        stays = edits or self.effect.mode == "materialize"
        replaced_ops = {inner for r in self.effect.replacements for inner in r.match.names} - {
            name for r in self.effect.replacements for name in r.kept
        }
        if op_name in replaced_ops and self.effect.mode == "materialize":
            raise SelectionError(
                f"done[{name!r}]", f"{op_name!r} was inside a match, and has no replacement", "See done.matches"
            )
        now = self.effect.renamed.get(op_name, op_name)
        if stays and self.scope is None and now in self.effect.after.index:
            # The op of the destination was not copied. It is the same op, or its counterpart in the new graph.
            return self._element(now, name.partition(":")[2])
        copied_ops = [c.source.names[i] for c in self.copies for i in c.ops.tolist()]
        title = next((c.source.title for c in self.copies if op_name in c.source.index), None)
        how = (
            one_of(op_name, copied_ops)
            if title is None
            else f"It is in {title}, but it was not selected: select it too"
        )
        raise SelectionError(f"done[{name!r}]", f"no copy was made of {op_name!r}", how)

    def _replacement(self, name: str) -> str:
        """Returns the replacement of a tensor of a match, or of the first output of an op; empty if it has none."""
        outputs = [new for r in self.effect.replacements for old, new in r.outputs.items()
                 if name == old or name == old.partition(":")[0]]  # fmt: skip
        return outputs[0] if outputs and self.scope is None else ""

    @cached_property
    def _old_names(self) -> dict[str, str]:
        """Name of an op in the graph built anew -> its name in the old graph."""
        names = self.effect.base.names
        new = self.effect.renamed
        return {new.get(name, name): name for i, name in enumerate(names) if i not in self.effect.removed}

    def original(self, obj: TensorLike) -> Any:
        """Returns the original of an op, tensor or variable: the source of a copy, or the old op of a graph built anew.

        Args:
            obj: an op, tensor or variable of the resulting graph, by name or object.

        Returns:
            the original op, tensor or variable, in its own graph.

        Raises:
            SelectionError: the op is not a copy, and not an op of a graph built anew.
        """
        name = str(getattr(obj, "name", obj))
        variable: Any = obj if not isinstance(obj, str) and hasattr(obj, "initializer") else None
        op_name, _, port = (name if variable is None else variable.op.name).partition(":")
        for copied in self.copies:
            old = copied.original(op_name)
            if old is not None:
                return _element(copied.source.owner, old, port)
        if self.effect.mode == "materialize" and op_name in self._old_names:
            return _element(self.effect.base.owner, self._old_names[op_name], port)
        copied_ops = [name for c in self.copies for name in c.names]
        problem = f"{op_name!r} has no original op"
        raise SelectionError(f"original({name!r})", problem, one_of(op_name, copied_ops))

    def _in(self, copy_result: CopyResult, name: str) -> Any:
        op, colon, port = name.partition(":")
        number = copy_result.source.index.get(op)
        if number is None:
            return None
        if colon:
            copy_result.source.tensor(name, f"done[{name!r}]")
        if copy_result.role == "slice" and copy_result.positions[number] < 0:
            return None  # the copies read a replacement, which is not a copy
        if colon and (number, int(port)) in copy_result.input_map:
            new, new_port = copy_result.input_map[number, int(port)]
            return self.graph.get_operation_by_name(new).outputs[new_port]
        if copy_result.positions[number] >= 0:
            new = copy_result.renamed(op)
            if colon:
                return self.graph.get_operation_by_name(new).outputs[int(port)]
            variable = self.applied_ops.variables.get(new)
            return self.graph.get_operation_by_name(new) if variable is None else variable
        if not colon and (number, 0) in copy_result.input_map:
            outside = copy_result.input_map[number, 0][0]
            if copy_result.source.types[number] in VARIABLE_TYPES:
                return _element(self.graph, outside)
            return self.graph.get_operation_by_name(outside)
        return None

    def _element(self, op: str, port: str) -> Any:
        carried = None if port else self.applied_ops.kept_variables.get(op)
        return _element(self.graph, op, port) if carried is None else carried

    def __contains__(self, key: Any) -> bool:
        try:
            self[key]
        except SelectionError:
            return False
        return True

    @property
    def ops(self) -> list[str]:
        """Names of the new ops."""
        return [name for name in self.applied_ops.ops if self._holds(name)]

    @property
    def variables(self) -> list[Any]:
        """The new `tf.Variable` objects."""
        return [variable for name, variable in self.applied_ops.variables.items() if self._holds(name)]

    @property
    def variable_names(self) -> dict[str, str]:
        """Source variable -> its current name: that of its copy, or without a copy, its name in this graph."""
        copied = {v.original: v.name for one in self.copies for v in one.variables}
        base, new = self.effect.base, self.effect.renamed
        numbers = {name: base.index.get(name) for name in base.state.variables}  # a live graph has newer variables too
        own = [name for name, at in numbers.items() if at is not None and at not in self.effect.removed]
        stay = {name: new.get(name, name) for name in own if name in new or not self.copies}
        return copied if self.scope is not None else stay | copied

    @property
    def untrained(self) -> dict[str, str]:
        """Variables and frozen constants that have initial values although values were given, each with the reason."""
        return {name: why for name, why in self.applied_ops.untrained.items() if self._holds(name)}

    @property
    def warnings(self) -> list[str]:
        """The warnings of the plan and its recipe, and the properties that copies lack.

        Partly copied loops and conds have no gradient. Tables and queues that a running session fills start empty.
        """
        partial_contexts = [
            f"gradients cannot go through {name!r}, of which the copy has only a part"
            for name in self.applied_ops.partial_contexts
        ]
        initial = only_initial_text(self.untrained)
        empty = [sentence for copied in self.copies for sentence in copied.missing_state]
        return [*self.notes, *self.plan.notes, *initial, *partial_contexts, *empty]

    def _holds(self, name: str) -> bool:
        return not self.scope or name.startswith(f"{self.scope}/")

    def __repr__(self) -> str:
        count = sum(map(self._holds, self.applied_ops.variable_infos))
        variables_text = f", {counted(count, 'variables')}" if count else ""
        steps = self.copies if self.scope is not None else ()
        text = steps_text([c.step for c in steps]) or steps_text(self.effect.steps)
        lost_too = f"; warning: {'; '.join(self.warnings)}" if self.warnings else ""
        return f"<Applied: {text}: {counted(len(self.ops), 'new ops')}{variables_text}{lost_too}>"


def _element(graph: TFGraph, op: str, port: str = "") -> Any:
    """Returns an output of an op; without a port, the variable object of the op if it has one, else the op."""
    op_object = graph.get_operation_by_name(op)
    if port:
        return op_object.outputs[int(port)]
    if op_object.type not in VARIABLE_TYPES:
        return op_object
    return tf.values.variables.variable_objects(graph).get(op, op_object)
