"""Calls: the ops of a graph that call functions, the effects of these, and obstacles to inlining them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from ...errors import PlanError
from ...graph.contexts import FLOW_TYPES
from ...graph.functions import BRANCHING, CALLS, named_in, own_gradient, reachable, referred
from ...graph.graph import Graph
from ...graph.live import TFNodeDef
from ...graph.traversal import met_from
from ...graph.variables import FEED_TYPES, READING_TYPES
from ...words import few
from ..registry import op_definition

#: Stateful ops that change nothing that lasts: a result need not wait for them.
HARMLESS = READING_TYPES | {"VarHandleOp", "LookupTableExportV2", "HashTableV2", "MutableHashTableV2"}


class Calls:
    """The function calls of a graph.

    Args:
        base: snapshot of the graph.
    """

    def __init__(self, base: Graph) -> None:
        self.base = base
        self.definitions = base.functions
        self._acting: dict[str, bool] = {}  # function -> see `acts`
        self._insides: dict[str, tuple[bool, set[str]]] = {}  # function -> see `_inside`

    @cached_property
    def known(self) -> dict[str, Any]:
        """The functions as Python objects, by name; makes the live graph."""
        from ..private.functions import functions_of

        return functions_of(self.base.live)

    def called(self, node: TFNodeDef) -> str:
        """Returns the function a node calls, or "" if it is not a call."""
        if node.op in CALLS:
            return str(node.attr["f"].func.name)
        return node.op if node.op in self.definitions else ""

    def obstacle(self, node: TFNodeDef, flow: bool = False) -> tuple[str, str] | None:
        """Returns why a node cannot be inlined, and what to do instead; None if it can.

        Args:
            node: its NodeDef.
            flow: whether conds, cases and loops can be inlined.
        """
        if node.op in BRANCHING and not flow:
            kind = node.op.removeprefix("Stateless")
            problem = f"{node.name!r} is a v2 {kind}, which is not inlined together with a whole graph"
            return problem, f"Replace it by a TF1 {kind}: ed.plan().inline({node.name!r})"
        names = self._functions(node)
        if not names:
            calls = [n for n, t in zip(self.base.names, self.base.types, strict=True)
                     if t in CALLS or t in self.definitions or (flow and t in BRANCHING)]  # fmt: skip
            return (
                f"{node.name!r} is of type {node.op}, not a function call",
                f"The calls are {few(map(repr, calls), 6)}" if calls else "This graph calls no functions",
            )
        absent = next((name for name in names if name not in self.definitions), None)
        if absent is not None:
            return f"its function {absent!r} is not in the graph", "Open the file that holds the function too"
        problem = next(filter(None, map(self._fixed, names)), "")
        if not problem and node.op in BRANCHING:
            problem = self._old_flow(names)
        if not problem and node.name in self.base.index and self._in_old_flow(node.name):
            problem = f"{node.name!r} is inside a while_loop or cond of TF1"
        return (problem, "Leave this call as it is") if problem else None

    def _in_old_flow(self, name: str) -> bool:
        """Whether an op is inside a while_loop or cond of TF1; makes the live graph."""
        from ..private.contexts import context_of
        from ..private.graphs import op_finder

        return context_of(op_finder(self.base.live)(name)) is not None

    def refuse(self, node: TFNodeDef, request: str, flow: bool = False) -> None:
        """Refuses a node that cannot be inlined, see `obstacle`; raises PlanError."""
        found = self.obstacle(node, flow)
        if found is not None:
            raise PlanError(request, *found)

    def _functions(self, node: TFNodeDef) -> list[str]:
        """The functions that a call, cond, case or loop may run."""
        if node.op in BRANCHING:
            return sorted(name for value in node.attr.values() for name in named_in(value))
        return [name for name in [self.called(node)] if name]

    def _fixed(self, name: str) -> str:
        """Why a function cannot be replaced by its ops; empty if it can."""
        inner, own = self.definitions[name], self.known[name]
        if self.takes_dtypes(name):
            return f"its function {name!r} takes dtypes as parameters"
        if getattr(own, "grad_func_name", None) or getattr(own, "python_grad_func", None):
            return f"its function {name!r} has a custom gradient, which would be lost"
        if any(own_gradient(node).startswith("CustomGradient") for node in inner.node_def):
            return f"its function {name!r} holds a tf.custom_gradient, which would be lost"
        return ""

    def takes_dtypes(self, name: str) -> bool:
        """Returns whether dtypes of a function are parameters that each call fills in."""
        return any(value.placeholder for node in self.definitions[name].node_def for value in node.attr.values())

    def _old_flow(self, names: list[str]) -> str:
        """Why branches and bodies cannot become parts of a TF1 cond or loop: they hold one, without its context."""
        for name in reachable(names, self.definitions):
            if any(n.op in FLOW_TYPES for n in self.definitions[name].node_def):
                return f"its function {name!r} holds a while_loop or cond of TF1"
        return ""

    def acts(self, node: TFNodeDef) -> bool:
        """Returns whether a node, or a function it calls, changes something that lasts."""
        inner = self._run_by(node)
        return any(map(self._function_acts, inner)) if inner else self._acts_itself(node.op)

    def _run_by(self, node: TFNodeDef) -> set[str]:
        """The functions that a call, cond, case or loop runs."""
        runs = node.op in CALLS or node.op in BRANCHING or node.op in self.definitions
        return referred(node, self.definitions) if runs else set()

    def _acts_itself(self, kind: str) -> bool:
        """Whether ops of a type that run no functions change something that lasts."""
        quiet = kind in HARMLESS or kind in FEED_TYPES or "Random" in kind or kind == "Multinomial"
        return is_stateful(kind) and not quiet

    def _function_acts(self, name: str) -> bool:
        if name not in self._acting:
            run = met_from([name], lambda one: self._inside(one)[1])
            self._acting[name] = any(self._inside(one)[0] for one in run)
        return self._acting[name]

    def _inside(self, name: str) -> tuple[bool, set[str]]:
        """Whether an op of a function changes something that lasts; and the functions that its other ops run."""
        if name not in self._insides:
            acts, runs = False, set[str]()
            for node in self.definitions[name].node_def:
                inner = self._run_by(node)
                runs |= inner
                acts = acts or (not inner and self._acts_itself(node.op))
            self._insides[name] = acts, runs
        return self._insides[name]


def is_stateful(kind: str) -> bool:
    """Returns whether ops of a type change, or read, something that lasts."""
    about = op_definition(kind)
    return about is not None and bool(about.is_stateful)


def flat_end(text: str, outputs: Mapping[str, Mapping[str, int]]) -> str:
    """Returns an input of an op of a function in the notation of a graph: ``op:2`` for ``op:out:0``.

    Args:
        text: the input; arguments, control inputs and other texts stay unchanged.
        outputs: op of the function -> `flat_outputs` of it.
    """
    op, _, rest = text.partition(":")
    out, _, index = rest.partition(":")
    if op not in outputs or not rest or not (index or "0").isdecimal() or len(index) > 9:
        return text
    return f"{op}:{outputs[op].get(out, 0) + int(index or 0)}"


def all_flat_outputs(nodes: Iterable[TFNodeDef], functions: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Returns `flat_outputs` of each op, by name; computed once per op type if all its ops have equally many tensors.

    Args:
        nodes: their NodeDefs.
        functions: name -> FunctionDef.
    """
    found, alike = {}, dict[str, dict[str, int]]()
    for node in nodes:
        kind = node.op
        outputs = alike.get(kind)
        if outputs is None:
            outputs = flat_outputs(node, functions)
            if len(outputs) < 2:  # the first is number 0 for all
                alike[kind] = outputs
        found[node.name] = outputs
    return found


def flat_outputs(node: TFNodeDef, functions: Mapping[str, Any]) -> dict[str, int]:
    """Returns for each output argument of an op the number of its first output; nothing for an unknown op type.

    Args:
        node: its NodeDef.
        functions: name -> FunctionDef.
    """
    about = functions[node.op].signature if node.op in functions else op_definition(node.op)
    found, at = {}, 0
    for out in about.output_arg if about is not None else ():
        found[out.name] = at
        if out.number_attr:
            at += node.attr[out.number_attr].i
        elif out.type_list_attr:
            at += len(node.attr[out.type_list_attr].list.type)
        else:
            at += 1
    return found
