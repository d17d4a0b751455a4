"""Code: a plan as the Python that makes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .edits import EditStep
from .graph import Graph
from .rebuilding import RebuildStep
from .renaming import RenameStep
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
    if any(isinstance(step, RebuildStep) for step in plan.steps):
        return "\n".join(["import graphsurgeon as gs", "", *names.openings, "", "done = ed.rebuild()", ""])
    sources = Sources()
    made, calls = plan_lines(plan, names, sources)
    needs = [line for line in _needs("\n".join([*made, *calls])) if line not in sources.imports]
    head = [*sources.imports, "import graphsurgeon as gs", *needs, "", *names.openings, ""]
    head += [part for text in sources.lines for part in (text, "")]
    return "\n".join([*head, *made, *calls, f"done = {names.of(plan.base)}.apply(plan)", ""])


def plan_lines(plan: Plan, names: Names, sources: Sources) -> tuple[list[str], list[str]]:
    """Returns the lines that make the selections of a plan, and those that make the plan.

    Args:
        plan: the plan.
        names: says what graphs, values and arrays are called.
        sources: gets the functions that the plan uses.
    """
    lines: list[str] = []
    body = [f"{names.of(plan.base)}.plan()"]
    for number, step in enumerate(plan.steps):
        if isinstance(step, CopyStep):
            word = "block" if sum(isinstance(s, CopyStep) for s in plan.steps) == 1 else f"block{number + 1}"
            owner = names.of(step.selection.graph)
            lines.append(f"{word} = {query_code(names.query(step), owner)}")
            body.append(_copy_code(step, word, names, step.selection.graph.owner is plan.base.owner))
        elif isinstance(step, RenameStep) and step.values is not None:
            copied = step.copied_in(plan.effect)
            held = copied is not None and bool(copied.variables)  # without variables there is nothing to give
            body.append(step.code_with(names.values(copied.step) if copied is not None and held else ""))
        elif isinstance(step, EditStep):
            body.append(step.code_for(names.of(plan.base), sources))
        else:
            body.append(_connect_code(step))
    if len(body) == 1:
        return lines, [f"plan = {body[0]}"]
    one = body[0] + body[1]
    if len(body) == 2 and len(one) < 100 and names.short:
        return lines, [f"plan = {one}"]
    return lines, ["plan = (", f"    {body[0]}", *(f"    {part}" for part in body[1:]), ")"]


def _needs(text: str) -> list[str]:
    """The imports that literals in a text need."""
    return [line for mark, line in IMPORTS if mark in text]


#: What stands in a script, and the import it needs.
IMPORTS = (("np.", "import numpy as np"), ("tf.", "import tensorflow as tf"))


class Names(Protocol):
    """Says what the graphs, values and arrays of a plan are called in code."""

    short: bool

    def of(self, graph: Graph) -> str:
        """Returns the variable that holds the editor of a graph."""

    def query(self, step: CopyStep) -> Query:
        """Returns how the ops of a copy are selected."""

    def values(self, step: CopyStep) -> str:
        """Returns where the values of a copy come from, as code."""

    def constants(self, step: CopyStep) -> str:
        """Returns the arrays that a copy takes for tensors, as code."""


class _Names:
    """Variable names for the graphs of a plan, and the lines that open them."""

    short = False

    def __init__(self, plan: Plan) -> None:
        self._by_owner: dict[int, str] = {}
        copies = [s for s in plan.steps if isinstance(s, CopyStep)]
        giving = [getattr(s.values, "snapshot", None) for s in copies]  # editors may give values, whatever their graph
        graphs = [s.selection.graph for s in copies] + [g for g in giving if isinstance(g, Graph)]
        sources = {id(g.owner): g for g in reversed(graphs)}
        others = [g for key, g in reversed(sources.items()) if key != id(plan.base.owner)]
        self._by_owner[id(plan.base.owner)] = "ed" if not others else "dst"
        self.openings = [_opening(self.of(plan.base), plan.base, "graph")]
        for number, graph in enumerate(others):
            suffix = "" if len(others) == 1 else str(number + 1)
            self._by_owner[id(graph.owner)] = f"src{suffix}"
            self.openings.append(_opening(f"src{suffix}", graph, f"source_graph{suffix}"))

    def of(self, graph: Graph) -> str:
        return self._by_owner[id(graph.owner)]

    def query(self, step: CopyStep) -> Query:
        return step.selection.query

    def values(self, step: CopyStep) -> str:
        return _values_code(step.values, self)

    def constants(self, step: CopyStep) -> str:
        return arrays_code(dict(step.constants)) or "constants"


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


def _copy_code(step: CopyStep, word: str, names: Names, same: bool) -> str:
    args = [word, f"to={step.to!r}"]
    if step.inputs:
        args.append("inputs={" + ", ".join(f"{a!r}: {b!r}" for a, b in step.inputs) + "}")
    if step.unmapped != "refuse":
        args.append(f"unmapped={step.unmapped!r}")
    if step.control != ("keep" if same else "refuse"):
        args.append(f"control={step.control!r}")
    policy = dict(step.variables)
    if policy != {"*": "copy"}:
        args.append(f"variables={policy['*']!r}" if len(policy) == 1 else f"variables={policy!r}")
    if step.values is not None:
        args.append(f"values={names.values(step)}")
    if step.collections != "rename":
        args.append(f"collections={step.collections!r}")
    if step.device != "keep":
        args.append(f"device={_device_code(step.device)!r}")
    if step.seeds != "keep":
        args.append(f"seeds={step.seeds!r}")
    if step.reuse is not None:
        args.append(f"reuse={dict(step.reuse)!r}")
    if step.constants:
        args.append(f"constants={names.constants(step)}")
    if step.names is not None:
        args.append(f"names={dict(step.names)!r}")
    return f".copy({', '.join(args)})"


def _device_code(device: str | tuple[tuple[str, str], ...]) -> str | dict[str, str]:
    rules = {} if isinstance(device, str) else dict(device)
    return rules["*"] if list(rules) == ["*"] else rules or str(device)


def _values_code(values: Any, names: Names) -> str:
    snapshot = getattr(values, "snapshot", None)
    if isinstance(snapshot, Graph):
        return names.of(snapshot)
    return "session" if hasattr(values, "run") else "values"


def arrays_code(arrays: Mapping[str, Any], most: int = 100) -> str:
    """Returns a mapping of name to array as code; empty where it is too long to be printed.

    Args:
        arrays: name -> array, or what can be one.
        most: so many numbers at most.

    Example:
        >>> arrays_code({"w": np.array([1.0, 2.0]), "b": [1]}), arrays_code({"w": np.zeros(101)})
        ("{'w': [1.0, 2.0], 'b': [1]}", '')
    """
    found = {name: np.asarray(value) for name, value in arrays.items()}
    if sum(a.size for a in found.values()) > most:
        return ""
    return "{" + ", ".join(f"{name!r}: {literal(a)}" for name, a in found.items()) + "}"


def literal(value: Any) -> str:
    """Returns a value as Python that makes it again: numbers, text, arrays, dtypes and shapes.

    Example:
        >>> literal([1, "a"]), literal(np.array([1.5])), literal(np.array([np.inf], np.float32))
        ("[1, 'a']", '[1.5]', "np.array([np.inf], 'float32')")
    """
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        plain = repr(array.tolist())
        if array.dtype.kind not in "fc" or bool(np.isfinite(array).all()):
            return plain
        words = {"nan": "np.nan", "inf": "np.inf"}
        return f"np.array({re.sub('nan|inf', lambda found: words[found[0]], plain)}, {array.dtype.name!r})"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(literal, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    if hasattr(value, "as_datatype_enum"):  # a dtype of TensorFlow, which is not imported here
        return f"tf.{value.name}"
    if hasattr(value, "as_list") and hasattr(value, "rank"):
        return f"tf.TensorShape({value.as_list() if value.rank is not None else None})"
    if isinstance(value, float) and not np.isfinite(value):
        return f"float({str(value)!r})"
    return repr(value)


def _connect_code(step: ConnectStep) -> str:
    return f".connect({step.tensor!r}, to={step.to!r}, input={step.input})"
