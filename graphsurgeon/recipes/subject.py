"""Subject: what a recipe is given, an editor or a plan, as a plan to go on with and the graph as it is after that."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..editor import Editor
from ..errors import PlanError, TrustError
from ..graph.functions import types_inside
from ..graph.graph import Graph
from ..graph.names import free_name, renamed_end, tensor_name
from ..graph.orphans import orphan_mask
from ..graph.selection import select
from ..graph.trace import Trace
from ..plan.plan import Plan
from ..plan.resolve.remove import protected
from ..words import few

#: An output of an op: their numbers.
Tensor = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Subject:
    """What a recipe works on.

    Args:
        plan: the steps so far.
        graph: the graph as it is after them.
        ends: ops whose names somebody knows: arguments and results of what was opened, and what was asked for.
        first: ops that are run once, before all others, as what fills the tables.
        asked: the request, for messages.
    """

    plan: Plan
    graph: Graph
    ends: frozenset[str]
    first: tuple[str, ...]
    asked: str

    def array(self, op: int) -> Any:
        """Returns the array that a constant holds; None for any other op."""
        return self.plan.backend.array(self.graph.nodes[op]) if self.graph.types[op] == "Const" else None

    def reads(self, op: int) -> list[tuple[int, int]]:
        """Returns the tensors that an op reads, in order."""
        return self.graph.data.ends(op)

    def readers(self, op: int, port: int = 0) -> list[tuple[int, int]]:
        """Returns (op, input) of all that reads one output of an op."""
        return self.graph.readers((op, port))

    def read(self, variable: int) -> str:
        """Returns the tensor that reads a variable, whatever else runs; empty where there is none."""
        graph = self.graph
        info = graph.state.variables.get(graph.names[variable])
        if info is not None and info.snapshot:
            return info.snapshot
        kinds = ("ReadVariableOp", "Identity")
        return next((f"{graph.names[r]}:0" for r, _ in self.readers(variable) if graph.types[r] in kinds), "")

    def typed(self, *types: str) -> list[int]:
        """Returns the numbers of the ops of some types, in graph order, without orphans."""
        return np.flatnonzero(self.graph.typed(types) & ~orphan_mask(self.graph)).tolist()

    def inside(self, op: int) -> set[str]:
        """Returns the op types in the functions that an op calls, at any depth."""
        return types_inside(self.graph.nodes[op], self.graph.functions)

    def refused(self, wrong: str, instead: str) -> PlanError:
        """Returns the error that a precondition does not hold."""
        return PlanError(self.asked, wrong, instead)

    def after(self, plan: Plan) -> Subject:
        """Returns the same with more steps."""
        return replace(self, plan=plan, graph=plan.after()) if plan is not self.plan else self


def answers(ed: Editor, feeds: Any, wanted: Any, plan: Plan | None = None) -> Trace:
    """Runs a graph for some tensors, on random numbers where it is fed nothing.

    Args:
        ed: the editor of the graph.
        feeds: tensor -> array.
        wanted: the tensors.
        plan: run the graph as this plan makes it.

    Raises:
        PlanError: it cannot be run to its end.
    """
    ran = ed.trace(feeds, wanted, random=0, ops=wanted, plan=plan)
    if ran.stopped:
        raise PlanError("trace()", ran.stopped, "Give what it can be run with: feeds={...}")
    return ran


@contextmanager
def proving(found: Subject) -> Iterator[None]:
    """Says of a proof that cannot run how to leave it out; what the proof itself has found wrong is said as it is.

    Raises:
        PlanError: it cannot run, or has found something.
    """
    try:
        yield
    except TrustError:
        raise
    except PlanError as error:
        if error.asked == found.asked:
            raise
        raise found.refused(f"the proof cannot run: {error.wrong}", f"{error.instead}; or verify=False") from error


#: Ops that give a variable another value; those of reference variables give the variable.
ASSIGNS = ("Assign", "AssignAdd", "AssignAddVariableOp", "AssignSub", "AssignSubVariableOp", "AssignVariableOp")


def subject(thing: Any, asked: str, ends: Any = None) -> Subject:
    """Returns what a recipe is given as a plan, and the graph after it.

    Args:
        thing: an editor, or a plan to go on with.
        asked: the request, for messages.
        ends: tensors whose names must stay, beside those that the editor knows.

    Raises:
        PlanError: it is neither.
        SelectionError: one of the tensors is not there.
    """
    if isinstance(thing, Editor):
        plan, known = thing.plan(), [tensor for ends in ends_now(thing) for tensor in ends.values()]
    elif isinstance(thing, Plan):
        plan, known = thing, []
    else:
        wrong = f"{type(thing).__name__} is neither an editor nor a plan"
        raise PlanError(asked, wrong, "Give gs.open(...), or ed.plan()")
    graph = plan.after()
    named = [name.partition(":")[0] for name in [*known, *tensors(graph, ends, asked)]]
    ends_there = frozenset(name for name in named if name in graph.index)
    return Subject(plan, graph, ends_there, run_first(thing, graph), asked)


#: Collections of ops that are run once, before all others.
_FIRST = ("table_initializer", "legacy_init_op", "saved_model_main_op")


def run_first(thing: Any, graph: Graph) -> tuple[str, ...]:
    """Returns the ops that are run once, before all others: those that the graph lists, and the file it is from.

    Args:
        thing: an editor; or a plan, which knows of no file.
        graph: the graph as it is now.
    """
    listed = [entry.name for key in _FIRST for entry in graph.state.collections.get(key, ())]
    if isinstance(thing, Editor):
        listed += [renamed_end(name, thing.history.renamed) for name in thing.values.init_ops[0]]
    names = dict.fromkeys(name.partition(":")[0] for name in listed)
    return tuple(name for name in names if name in graph.index)


def ends_now(ed: Editor) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the arguments and results of the function that was opened: name -> tensor, as it is called by now."""
    renamed = ed.history.renamed
    inputs, outputs = (
        {key: renamed_end(tensor, renamed) for key, tensor in ends.items()} for ends in (ed.inputs, ed.outputs)
    )
    return inputs, outputs


def tensors(graph: Graph, things: Any, asked: str) -> list[str]:
    """Returns the names of tensors given as one, several, or a dict with them as values; none for None.

    Raises:
        SelectionError: one of them is not there.
    """
    if things is None:
        return []
    several: Iterable[Any] = [things] if isinstance(things, str) or hasattr(things, "name") else things
    names = []
    for one in several.values() if isinstance(several, Mapping) else several:
        name = tensor_name(one)
        op = graph.index.get(name.partition(":")[0], -1)
        if op >= 0 and ":" not in str(getattr(one, "name", one)) and graph.outputs(op) == []:
            name = graph.names[op]  # it is there to run, and gives nothing
        else:
            graph.tensor(name, asked)
        names.append(name)
    return names


def results(thing: Any, outputs: Any, found: Subject) -> list[str]:
    """Returns the tensors that a graph is for: those asked for, or those of the function that was opened.

    Raises:
        PlanError: nobody says which they are; the message lists those that nothing reads.
    """
    named = tensors(found.graph, outputs, found.asked)
    if not named and isinstance(thing, Editor):
        named = [name for name in ends_now(thing)[1].values() if name.partition(":")[0] in found.graph.index]
    if not named:
        raise found.refused(
            "nobody says which outputs are wanted",
            f"Type outputs=[...]; nothing reads {few(unread(found.graph)) or 'no tensor'}",
        )
    return named


def unread(graph: Graph) -> list[str]:
    """Returns the tensors that nothing reads, and that somebody may want."""
    last = np.flatnonzero((graph.consumers.degrees == 0) & ~graph.typed(_NO_RESULTS) & ~orphan_mask(graph)).tolist()
    return [f"{graph.names[i]}:0" for i in last if graph.outputs(i)]


#: Nobody wants these for what they give, though nothing reads them.
_NO_RESULTS = ("Assert", "Const", "NoOp", "Placeholder", "RestoreV2", "SaveV2", "VarIsInitializedOp")


def below(graph: Graph, name: str) -> dict[str, str]:
    """Returns the ops in the scope that an op gives its name to, each with its own name: they do not move with it."""
    return {one: one for one in select(graph, scope=name).names} if name in graph.scopes.index else {}


def replaced(plan: Plan, found: Subject, op: int, tensor: str, only: str, word: str) -> Plan:
    """Returns the plan that puts an identity in the place of an op, under its name.

    Args:
        plan: the steps so far.
        found: what the recipe works on.
        op: the op, which goes.
        tensor: what the identity reads.
        only: the op that reads the identity, of those that read the tensor.
        word: what the op is called behind its name until it goes.
    """
    name = found.graph.names[op]
    new, old = (free_name(f"{name}_{ending}", plan.after().taken) for ending in ("kept", word))
    plan = plan.insert("Identity", on=tensor, name=new, only=only)
    plan = plan.reroute(f"{name}:0", to=f"{new}:0") if found.readers(op) else plan
    return plan.rename({**below(found.graph, name), name: old, new: name}).remove(old)


def loosened(plan: Plan, start: Graph, candidates: Iterable[str], ends: Container[str] = ()) -> Plan:
    """Returns the plan that also takes out ops that had readers at the start, and now lead to nothing.

    Args:
        plan: what was done.
        start: the graph before that.
        candidates: the ops that it changed the readers of; what only served them goes too.
        ends: ops that stay.
    """
    graph = plan.after()
    gone: set[int] = set()
    todo = [graph.index[name] for name in candidates if name in graph.index]
    while todo:
        op = todo.pop()
        old = start.index.get(graph.names[op])
        read = [r for edges in (graph.consumers, graph.control_consumers) for r in edges.row(op).tolist()]
        if op in gone or old is None or graph.types[op] in _STAYS or graph.names[op] in ends:
            continue
        if any(reader not in gone for reader in read):
            continue
        if not len(start.consumers.row(old)) and not len(start.control_consumers.row(old)):
            continue
        gone.add(op)
        todo += graph.needed.row(op).tolist()
    mask = graph.mask(sorted(gone))
    mask &= ~protected(graph, mask)
    return plan.remove([graph.names[i] for i in np.flatnonzero(mask).tolist()]) if mask.any() else plan


#: What feeds a graph or holds its state is not taken out because nothing reads it for the moment.
_STAYS = frozenset({"Placeholder", "PlaceholderWithDefault", "Variable", "VariableV2", "VarHandleOp", "_Arg"})
