"""Code: a plan as the Python that makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .edits import EditStep
from .graph import Graph
from .selection import Query
from .sources import Sources
from .steps import ConnectStep, CopyStep

if TYPE_CHECKING:
    from .plan import Plan

_SIGNS = {"or": "|", "and": "&", "minus": "-"}


def plan_code(plan: Plan) -> str:
    """Returns Python source that opens the graphs, makes the plan and applies it.

    A graph that was opened from a file is opened from it again; a live one is called ``graph``, ``source_graph``.
    One opened with its session is called ``session``, ``source_session``, and so is a session given for values;
    arrays too long to print are called ``values``, ``constants``. Functions are written out where their source is
    known and needs nothing but modules; others are called by their names, or ``pattern``, ``replacement``.
    """
    names = _Names(plan)
    sources = Sources()
    lines: list[str] = []
    body = [f"{names.of(plan.base)}.plan()"]
    for number, step in enumerate(plan.steps):
        if isinstance(step, CopyStep):
            word = "block" if sum(isinstance(s, CopyStep) for s in plan.steps) == 1 else f"block{number + 1}"
            owner = names.of(step.selection.graph)
            lines.append(f"{word} = {query_code(step.selection.query, owner)}")
            body.append(_copy_code(step, word, names))
        elif isinstance(step, EditStep):
            body.append(step.code_for(names.of(plan.base), sources))
        else:
            body.append(_connect_code(step))
    head = [*sources.imports, "import graphsurgeon as gs", "", *names.openings, ""]
    lines = head + [part for text in sources.lines for part in (text, "")] + lines
    if len(body) == 1:
        lines.append(f"plan = {body[0]}")
    else:
        lines += ["plan = (", f"    {body[0]}", *(f"    {part}" for part in body[1:]), ")"]
    return "\n".join([*lines, f"done = {names.of(plan.base)}.apply(plan)", ""])


class _Names:
    """Variable names for the graphs of a plan, and the lines that open them."""

    def __init__(self, plan: Plan) -> None:
        self._by_owner: dict[int, str] = {}
        sources = {id(s.selection.graph.owner): s.selection.graph for s in plan.steps if isinstance(s, CopyStep)}
        others = [g for key, g in sources.items() if key != id(plan.base.owner)]
        self._by_owner[id(plan.base.owner)] = "ed" if not others else "dst"
        self.openings = [_opening(self.of(plan.base), plan.base, "graph")]
        for number, graph in enumerate(others):
            suffix = "" if len(others) == 1 else str(number + 1)
            self._by_owner[id(graph.owner)] = f"src{suffix}"
            self.openings.append(_opening(f"src{suffix}", graph, f"source_graph{suffix}"))

    def of(self, graph: Graph) -> str:
        return self._by_owner[id(graph.owner)]


def _opening(word: str, graph: Graph, live: str) -> str:
    how = graph.opened_by
    if how == "gs.open(session)":
        return f"{word} = gs.open({live.replace('graph', 'session')})"
    if how is None or how == "gs.open(graph)":
        return f"{word} = gs.open({live})"
    return f"{word} = {how}"


def query_code(query: Query, owner: str) -> str:
    """Returns the Python that makes a selection.

    Example:
        >>> query_code(Query("or", (), (Query("select", (("op", "Neg"),)), Query("select", (("scope", "a"),)))), "ed")
        "(ed.select(op='Neg') | ed.select(scope='a'))"
    """
    parts = [query_code(q, owner) for q in query.over]
    if query.verb == "select":
        return f"{owner}.select({', '.join(f'{key}={value!r}' for key, value in query.args)})"
    if query.verb == "names":
        return f"{owner}.select(name={list(query.args)!r})"
    if query.verb in _SIGNS:
        return f"({parts[0]} {_SIGNS[query.verb]} {parts[1]})"
    if query.verb == "not":
        return f"~{parts[0]}"
    control = "" if query.args[0] else "control=False"
    over = f"({parts[0]})" if query.over[0].verb == "not" else parts[0]
    return f"{over}.{query.verb}({control})"


def _copy_code(step: CopyStep, word: str, names: _Names) -> str:
    args = [word, f"to={step.to!r}"]
    if step.inputs:
        args.append("inputs={" + ", ".join(f"{a!r}: {b!r}" for a, b in step.inputs) + "}")
    if step.unmapped != "refuse":
        args.append(f"unmapped={step.unmapped!r}")
    same = len(names.openings) == 1
    if step.control != ("keep" if same else "refuse"):
        args.append(f"control={step.control!r}")
    policy = dict(step.variables)
    if policy != {"*": "copy"}:
        args.append(f"variables={policy['*']!r}" if len(policy) == 1 else f"variables={policy!r}")
    if step.values is not None:
        args.append(f"values={_values_code(step.values, names)}")
    if step.collections != "rename":
        args.append(f"collections={step.collections!r}")
    if step.device != "keep":
        args.append(f"device={_device_code(step.device)!r}")
    if step.seeds != "keep":
        args.append(f"seeds={step.seeds!r}")
    if step.reuse is not None:
        args.append(f"reuse={dict(step.reuse)!r}")
    if step.constants:
        args.append(f"constants={_constants_code(dict(step.constants))}")
    if step.names is not None:
        args.append(f"names={dict(step.names)!r}")
    return f".copy({', '.join(args)})"


def _device_code(device: str | tuple[tuple[str, str], ...]) -> str | dict[str, str]:
    rules = {} if isinstance(device, str) else dict(device)
    return rules["*"] if list(rules) == ["*"] else rules or str(device)


def _values_code(values: Any, names: _Names) -> str:
    snapshot = getattr(values, "snapshot", None)
    if isinstance(snapshot, Graph):
        return names.of(snapshot)
    return "session" if hasattr(values, "run") else "values"


def _constants_code(constants: dict[str, Any]) -> str:
    arrays = {name: np.asarray(value) for name, value in constants.items()}
    if sum(a.size for a in arrays.values()) > 100:
        return "constants"
    return repr({name: a.tolist() for name, a in arrays.items()})


def _connect_code(step: ConnectStep) -> str:
    return f".connect({step.tensor!r}, to={step.to!r}, input={step.input})"
