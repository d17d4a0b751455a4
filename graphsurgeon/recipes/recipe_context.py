"""The subject of a recipe: a plan to add to, and the graph after it, made from an editor or a plan."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..editor.editor import Editor
from ..editor.history import layers_of
from ..errors import Kind, PlanError, TrustError, few
from ..graph.boundary import Tensor as Tensor
from ..graph.control_flow import FLOW_TYPES
from ..graph.functions import nodes_in_calls
from ..graph.graph import Graph, Mask
from ..graph.names import free_name, op_name, tensor_name
from ..graph.open_graph import outputs_of
from ..graph.parts import required_ops
from ..graph.provenance import orphan_mask
from ..graph.references import ReferenceResolver
from ..graph.selection import select, selection_from
from ..graph.trace import Trace
from ..graph.traversal import backward
from ..graph.variables import INPUT_TYPES, VARIABLE_TYPES
from ..plan.editor_like import described
from ..plan.plan import Plan
from ..plan.removal import protected_ops


@dataclass(frozen=True, eq=False)
class RecipeContext:
    """The subject of a recipe.

    Args:
        plan: the steps so far.
        graph: the graph after these steps.
        protected_ops: ops whose names must stay: arguments and results of the opened function, and the given tensors.
        init_ops: ops that run once, before all others, for example those that fill the tables.
        request: the request, for messages.
        targets, fed: the outputs to keep, and the tensors to feed; empty if the recipe keeps all ops.
    """

    plan: Plan
    graph: Graph
    protected_ops: frozenset[str]
    init_ops: tuple[str, ...]
    request: str
    targets: Sequence[str] = ()
    fed: Sequence[str] = ()

    @cached_property
    def needed_ops(self) -> Mask:
        """The ops that the outputs need; all ops if there are no outputs to keep."""
        graph, fed = self.graph, self.fed
        ends = graph.mask(graph.index[op_name(name)] for name in self.targets if name not in fed)
        return required_ops(graph, ends if self.targets else ~ends, frozenset(map(graph.tensor, fed)))

    @cached_property
    def contexts(self) -> list[set[int]]:
        """The ops of each TF1 loop and cond that still exists."""
        graph = self.graph
        wholes = [{graph.index[name] for name in names if name in graph.index} for names in graph.state.contexts]
        return [whole for whole in wholes if any(graph.types[op] in FLOW_TYPES for op in whole)]

    def with_contexts(self, mask: Mask) -> Mask:
        """Returns some ops, with all ops of the TF1 loops and conds that contain them."""
        out = mask.copy()
        for whole in self.contexts:
            out[list(whole)] |= bool(mask[list(whole)].any())
        return out

    def constant_array(self, op: int) -> Any:
        """Returns the array of a constant; None for any other op."""
        return self.plan.backend.constant_array(self.graph.nodes[op]) if self.graph.types[op] == "Const" else None

    def inputs_of(self, op: int) -> list[tuple[int, int]]:
        """Returns the tensors that an op reads, in order."""
        return self.graph.data.ends(op)

    def consumers_of(self, op: int, port: int = 0) -> list[tuple[int, int]]:
        """Returns (op, input) of all consumers of one output of an op."""
        return self.graph.consumers_of((op, port))

    def read_tensor(self, variable: int) -> str:
        """Returns a tensor that reads a variable without waiting for other ops; empty if there is none."""
        graph = self.graph
        info = graph.state.variables.get(graph.names[variable])
        if info is not None and info.snapshot:
            return info.snapshot
        kinds = ("ReadVariableOp", "Identity")
        return next((f"{graph.names[r]}:0" for r, _ in self.consumers_of(variable) if graph.types[r] in kinds), "")

    def ops_of_type(self, *types: str) -> list[int]:
        """Returns the numbers of the ops of some types, in graph order, without orphans."""
        return np.flatnonzero(self.graph.type_mask(types) & ~orphan_mask(self.graph)).tolist()

    def needed_ops_of_type(self, *types: str) -> list[int]:
        """Returns the ops of `ops_of_type` that the outputs need."""
        return [op for op in self.ops_of_type(*types) if self.needed_ops[op]]

    def inner_types(self, op: int) -> set[str]:
        """Returns the op types in the functions that an op calls, at any depth."""
        return {node.op for node in nodes_in_calls([self.graph.nodes[op]], self.graph.functions)}

    @property
    def resolver(self) -> ReferenceResolver:
        """The resolver for ops and tensors that are arguments of the recipe."""
        return reference_resolver(self.graph, self.request)

    def precondition_error(self, problem: str, suggestion: str) -> PlanError:
        """Returns the error for a precondition that is not met."""
        return PlanError(self.request, problem, suggestion, kind=Kind.RECIPE)

    def changed(self, plan: Plan, problem: str, suggestion: str = "There is nothing to remove") -> Plan:
        """Returns a plan; raises the error for a precondition that is not met if the recipe has added no step."""
        if plan is self.plan:
            raise self.precondition_error(problem, suggestion)
        return plan

    def with_plan(self, plan: Plan) -> RecipeContext:
        """Returns a copy of this subject with more steps."""
        return replace(self, plan=plan, graph=plan.after()) if plan is not self.plan else self


def reference_resolver(graph: Graph, request: str) -> ReferenceResolver:
    """Returns the resolver for ops and tensors of a graph that are arguments of a recipe."""
    return ReferenceResolver(graph, layers_of(graph), request)


def trace_targets(ed: Editor, feeds: Any, targets: Any, plan: Plan | None = None) -> Trace:
    """Runs a graph for some tensors, with random numbers for the inputs without a feed.

    Args:
        ed: the editor of the graph.
        feeds: tensor -> array.
        targets: the tensors.
        plan: run the graph after this plan.

    Raises:
        PlanError: if the run stops before its end.
    """
    ran = ed.trace(feeds, targets, random=0, ops=targets, plan=plan)
    if ran.stop_reason:
        raise PlanError("trace()", ran.stop_reason, "Give inputs for the run: feeds={...}")
    return ran


@contextmanager
def verification_errors(context: RecipeContext) -> Iterator[None]:
    """Extends the error of a verification that cannot run: it suggests to skip it. Other errors do not change.

    Raises:
        PlanError: if the verification cannot run, or finds a difference.
    """
    try:
        yield
    except TrustError:
        raise
    except PlanError as error:
        if error.kind is Kind.RECIPE:
            raise
        raise context.precondition_error(
            f"the verification cannot run: {error.problem}",
            f"{error.suggestion}; or type verify=False",
        ) from error


#: Ops that assign to a variable; for reference variables, their output is the variable.
ASSIGNS = ("Assign", "AssignAdd", "AssignAddVariableOp", "AssignSub", "AssignSubVariableOp", "AssignVariableOp")


def recipe_context(obj: Any, request: str, fixed_tensors: Any = None) -> RecipeContext:
    """Returns the subject of a recipe, made from its argument.

    Args:
        obj: an editor, or a plan to add to.
        request: the request, for messages.
        fixed_tensors: tensors whose names must stay, in addition to those of the editor.

    Raises:
        PlanError: if the argument is neither an editor nor a plan.
        SelectionError: if a tensor does not exist.
    """
    if isinstance(obj, Editor):
        plan, end_tensors = obj.plan(), described(obj).end_texts()
    elif isinstance(obj, Plan):
        plan, end_tensors = obj, {}
    else:
        problem = f"{type(obj).__name__} is neither an editor nor a plan"
        raise PlanError(request, problem, "Give gs.open(...), or ed.plan()")
    graph = plan.after()
    ends = map(op_name, [*end_tensors, *tensors(graph, fixed_tensors, request)])
    return RecipeContext(plan, graph, frozenset(filter(graph.index.__contains__, ends)), run_first(obj, graph), request)


def context_with_ends(obj: Any, request: str, outputs: Any, inputs: Any = None) -> RecipeContext:
    """Returns the subject of a recipe that keeps the ops that some outputs need; the ends keep their names.

    Args:
        obj, request: see `recipe_context`.
        outputs, inputs: the outputs to keep, and the tensors to feed; see `results`.
    """
    context = recipe_context(obj, request)
    targets, fed = results(obj, outputs, context), tensors(context.graph, inputs, request)
    protected = context.protected_ops.union(map(op_name, [*targets, *fed]))
    return replace(context, protected_ops=protected, targets=targets, fed=fed)


#: Collections of ops that run once, before all others.
_FIRST = ("table_initializer", "legacy_init_op", "saved_model_main_op")


def run_first(obj: Any, graph: Graph) -> tuple[str, ...]:
    """Returns the ops that run once, before all others: those listed by the graph and by its file.

    Args:
        obj: an editor; or a plan, which has no file.
        graph: the current graph.
    """
    entry_names = [entry.name for key in _FIRST for entry in graph.state.collections.get(key, ())]
    if isinstance(obj, Editor):
        entry_names += described(obj).init_ops
    return tuple(name for name in dict.fromkeys(map(op_name, entry_names)) if name in graph.index)


def tensors(graph: Graph, objects: Any, request: str) -> list[str]:
    """Returns the names of tensors given as one, several, or the values of a dict; empty for None.

    Raises:
        SelectionError: if a tensor does not exist.
    """
    if objects is None:
        return []
    several: Iterable[Any] = [objects] if isinstance(objects, str) or hasattr(objects, "name") else objects
    names, layers = [], reference_resolver(graph, request)
    references = map(layers.tensor, several.values()) if isinstance(several, Mapping) else layers.ends(several)
    for one in references:
        name = tensor_name(one)
        op = graph.index.get(name.partition(":")[0], -1)
        if op >= 0 and ":" not in str(getattr(one, "name", one)) and graph.outputs(op) == []:
            name = graph.names[op]  # an op to run, without outputs
        else:
            graph.tensor(name, request)
        names.append(name)
    return names


def results(obj: Any, outputs: Any, context: RecipeContext) -> list[str]:
    """Returns the output tensors of a graph: the given ones, or those of the function that was opened.

    Raises:
        PlanError: if no outputs are known. The message lists the tensors without a consumer.
    """
    names = tensors(context.graph, outputs, context.request)
    if not names and isinstance(obj, Editor):
        names = list(described(obj).limited_to(context.graph.index).outputs.values())
    if not names:
        raise context.precondition_error(
            "no outputs were given",
            f"Type outputs=[...]; nothing reads {few(outputs_of(context.graph)) or 'no tensor'}",
        )
    return names


def below(graph: Graph, name: str) -> dict[str, str]:
    """Returns name -> same name, for the ops in the scope of an op, so that a rename of the op does not move them."""
    return {one: one for one in select(graph, scope=name).names} if name in graph.scopes.index else {}


def replace_op(plan: Plan, context: RecipeContext, op: int, tensor: str, consumer: str, suffix: str) -> Plan:
    """Returns the plan that replaces an op by an identity with its name.

    Args:
        plan: the steps so far.
        context: the subject of the recipe.
        op: the op, which is removed.
        tensor: the input of the identity.
        consumer: the consumer of the tensor that reads the identity.
        suffix: the suffix of the name of the op until it is removed.
    """
    name = context.graph.names[op]
    new, old = (free_name(f"{name}_{ending}", plan.after().is_name_used) for ending in ("kept", suffix))
    plan = plan.insert("Identity", on=tensor, name=new, only=consumer)
    plan = plan.reroute(f"{name}:0", to=f"{new}:0") if context.consumers_of(op) else plan
    return plan.rename({**below(context.graph, name), name: old, new: name}).remove(old)


def remove_unused(plan: Plan, start: Graph, candidates: Iterable[str], kept_ops: Container[str] = ()) -> Plan:
    """Returns the plan, extended to remove ops that have lost all their consumers.

    A NoOp no longer waits for the removed ops that only read a value.

    Args:
        plan: the steps so far.
        start: the graph before these steps.
        candidates: the ops whose consumers changed; ops that only they need are removed too.
        kept_ops: ops that stay.
    """
    graph, index = plan.after(), start.index
    used = start.consumers.degrees + start.control_consumers.degrees > 0
    able = graph.mask(
        i for i, name in enumerate(graph.names) if name in index and used[index[name]] and name not in kept_ops
    ) & ~graph.type_mask(_NEVER_REMOVED)
    ends = graph.mask(graph.index[name] for name in candidates if name in graph.index)
    above = backward(graph, ends & able, within=able)
    control, no_ops = graph.control, graph.type_mask(("NoOp",))
    mask = above & ~backward(
        graph, ~above, control_edges=~(graph.type_mask(_READS)[control.node] & no_ops[control.rows])
    )
    for waiter in np.flatnonzero(no_ops & ~mask).tolist():
        waits = [op for op in control.row(waiter).tolist() if mask[op]]
        plan = plan.remove_control(graph.names[waiter], after=[graph.names[op] for op in waits]) if waits else plan
    names = selection_from(graph, mask).names
    graph = plan.after()
    mask = graph.mask(graph.index[name] for name in names)
    mask &= ~protected_ops(graph, mask)
    return plan.remove(selection_from(graph, mask).names) if mask.any() else plan


#: Ops that only read a value. Another op that waits for them need not wait.
_READS = ("Const", "Identity", "ReadVariableOp")
#: Ops that feed a graph or hold its state. They are not removed even if they have no consumers.
_NEVER_REMOVED = INPUT_TYPES | VARIABLE_TYPES | {"_Arg"}
