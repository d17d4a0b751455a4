"""Resolves the steps that remove or bypass ops, and finds the reasons why ops cannot be removed."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ...errors import PlanError, SelectionError, SurgeryError, counted, few
from ...graph.boundary import Tensor, entering_tensors, leaving_tensors
from ...graph.graph import Graph, Mask
from ...graph.names import op_name
from ...graph.rewiring import Edge, graph_without_ops
from ...graph.selection import Selection
from ...graph.traversal import backward, components, forward
from ..copy_result import current_externals
from ..dependencies import variable_parts
from ..edit_state import EditState, GraphDelta
from ..fault import Fault
from ..mutable_graph import MutableGraph
from ..plan_result import PlanResult
from ..step_code import request_of
from ..steps import BypassStep, RemoveStep
from ..type_check import fits
from .insert import is_built_op, without_new_ops
from .reroute import RefusedStep, consumers_of, ops_of, rewire, tensors_of

NO_ENDS: Mapping[str, str] = MappingProxyType({})

#: Kind of blocker -> function that returns the description of a row. Its parameters are the columns of the row.
_BLOCKER_TEXTS: dict[str, Callable[..., str]] = {
    "data": lambda tensor, reader, at: f"{tensor} is read by {reader}, input {at}",
    "control": lambda op, later: f"{later} waits for {op}",
    "collections": lambda op, key: f"{op} is in the collection {key!r}",
    "variables": lambda op, variable: f"{op} is a part of the variable {variable}, which stays",
    "contexts": lambda op, ends: f"{op} is a part of the same loop or cond as {ends}, which stays",
    "init_ops": lambda op, holder: f"{op} fills {holder}, which stays",
    "colocated": lambda op, other: f"{other} is colocated with {op}",
    "signatures": lambda tensor, end: f"{tensor} is {end} of a signature",
}


@dataclass(frozen=True)
class RemovalBlockers:
    """The reasons why ops cannot be removed; false if there are none.

    Args:
        ops: the ops to remove.
        data: (tensor, consumer, input) for each consumer that stays.
        control: (op, op that waits for it).
        collections: (op, collection that contains the op or an object made of it).
        variables: (op, remaining variable that the op is a part of).
        contexts: (op, remaining op of the same TF1 loop or cond).
        init_ops: (op, remaining table or iterator that the op fills).
        colocated: (op, op that is colocated with it).
        signatures: (tensor, the input or output of the opened graph that it is).
    """

    ops: tuple[str, ...]
    data: tuple[tuple[str, str, int], ...] = ()
    control: tuple[tuple[str, str], ...] = ()
    collections: tuple[tuple[str, str], ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    contexts: tuple[tuple[str, str], ...] = ()
    init_ops: tuple[tuple[str, str], ...] = ()
    colocated: tuple[tuple[str, str], ...] = ()
    signatures: tuple[tuple[str, str], ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many reasons there are of each kind."""
        return {f.name: len(getattr(self, f.name)) for f in fields(self)[1:]}

    def __bool__(self) -> bool:
        return any(self.counts.values())

    def table(self) -> list[dict[str, Any]]:
        """Returns one row for each reason: its kind, the op (or tensor), the blocker, and a description."""
        kinds = [f.name for f in fields(self)[1:]]
        return [
            {"kind": kind, "op": row[0], "by": row[1], "what": _BLOCKER_TEXTS[kind](*row)}
            for kind in kinds
            for row in getattr(self, kind)
        ]

    def __str__(self) -> str:
        whom = repr(self.ops[0]) if len(self.ops) == 1 else counted(len(self.ops), "ops")
        if not self:
            return f"nothing prevents the removal of {whom}"
        lines = [f"the removal of {whom} is prevented by"]
        for kind, count in self.counts.items():
            rows = getattr(self, kind)
            lines += [f"  {_BLOCKER_TEXTS[kind](*row)}" for row in rows[:6]]
            lines += [f"  … and {count - 6} more of that kind"] if count > 6 else []
        return "\n".join(lines)


def find_removal_blockers(graph: Graph, ops: Any, served: Mapping[str, str] = NO_ENDS) -> RemovalBlockers:
    """Returns the reasons why an op or a selection cannot be removed: its consumers, waiting ops and holders.

    Args:
        graph: the snapshot.
        ops: an op by name or object, several of them, or a selection. These ops do not block one another.
        served: tensor -> the input or output of a signature that it is, such as ``"the output 'scores'"``.

    Raises:
        SelectionError: if no op has this name, or nothing is selected.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"]), ("c", "NoOp", ["^a"])])
        >>> print(find_removal_blockers(g, "a"))
        the removal of 'a' is prevented by
          a:0 is read by b, input 0
          c waits for a
        >>> print(find_removal_blockers(g, ["a", "b", "c"]))
        nothing prevents the removal of 3 ops
    """
    removed = _removed_mask(graph, ops)
    kinds: list[Any] = [readers, waiting_pairs, _collection_members, variables, contexts, init_ops, colocated_pairs]
    served_ends = tuple(
        (t, end) for t, end in served.items() if (n := graph.index.get(op_name(t))) is not None and removed[n]
    )
    names = tuple(graph.names[i] for i in np.flatnonzero(removed).tolist())
    return RemovalBlockers(names, *[*(tuple(of(graph, removed)) for of in kinds), served_ends])


def _removed_mask(graph: Graph, ops: Any) -> Mask:
    if isinstance(ops, Selection):
        mask = ops.on_strict(graph, "blocks(selection)").mask
    else:
        things = [ops] if isinstance(ops, str) or hasattr(ops, "name") else list(ops)
        mask = graph.mask([graph.find(op_name(t), f"blocks({op_name(t)!r})") for t in things])
    if not mask.any():
        raise SelectionError("blocks(selection)", "the selection is empty", "Select at least one op")
    return mask


def readers(graph: Graph, removed: Mask) -> Iterator[tuple[str, str, int]]:
    """Yields (removed tensor, remaining consumer, input)."""
    rows, names = graph.data.rows, graph.names
    for at in np.flatnonzero(removed[graph.data.node] & ~removed[rows]).tolist():
        reader = int(rows[at])
        tensor = f"{names[graph.data.node[at]]}:{graph.data.port[at]}"
        yield tensor, names[reader], at - int(graph.data.ptr[reader])


def waiting_pairs(graph: Graph, removed: Mask) -> Iterator[tuple[str, str]]:
    """Yields (removed op, remaining op that waits for it)."""
    rows = graph.control.rows
    for at in np.flatnonzero(removed[graph.control.node] & ~removed[rows]).tolist():
        yield graph.names[graph.control.node[at]], graph.names[rows[at]]


def collection_entries(graph: Graph, removed: Mask) -> Iterator[tuple[str, list[str]]]:
    """Yields (collection, removed ops of the entry) for each collection entry that contains removed ops."""
    for key, entries in graph.state.collections.items():
        for entry in entries:
            if entry.kind not in ("value", "other"):
                names = dict.fromkeys([op_name(entry.name), *entry.parts])
                lost = [name for name in names if name in graph.index and removed[graph.index[name]]]
                if lost:
                    yield key, lost


def _collection_members(graph: Graph, removed: Mask) -> Iterator[tuple[str, str]]:
    yield from ((name, key) for key, names in collection_entries(graph, removed) for name in names)


def variables(graph: Graph, removed: Mask) -> Iterator[tuple[str, str]]:
    """Yields (removed op, remaining variable that it is a part of)."""
    for variable in graph.state.variables.values():
        number = graph.index.get(variable.op)
        if number is None or removed[number]:
            continue
        ops = [variable.initializer, *map(op_name, (variable.snapshot, variable.initial_value))]
        near = [graph.index[n] for n in ops if n in graph.index] + graph.consumers.row(number).tolist()
        if removed[near].any():  # computes a mask over the graph only if it is needed
            for part in np.flatnonzero(variable_parts(graph, variable) & removed).tolist():
                yield graph.names[part], variable.op


def contexts(graph: Graph, removed: Mask) -> Iterator[tuple[str, str]]:
    """Yields (removed op, remaining op of the same TF1 loop or cond)."""
    for names in graph.state.contexts:
        inside = sorted(graph.index[n] for n in names if n in graph.index)
        stays = next((i for i in inside if not removed[i]), None)
        if stays is not None:
            yield from ((graph.names[i], graph.names[stays]) for i in inside if removed[i])


def init_ops(graph: Graph, removed: Mask) -> Iterator[tuple[str, str]]:
    """Yields (removed op, remaining table or iterator that it fills)."""
    for holder, fills in graph.state.init_ops.items():
        number = graph.index.get(holder)
        if number is not None and not removed[number]:
            yield from ((s, holder) for s in fills if s in graph.index and removed[graph.index[s]])


def colocated_pairs(graph: Graph, removed: Mask) -> Iterator[tuple[str, str]]:
    """Yields (removed op, remaining op that is colocated with it)."""
    ops, others, names = graph.colocations
    for k in np.flatnonzero((others >= 0) & removed[others] & ~removed[ops]).tolist() if names else ():
        yield names[k], graph.names[ops[k]]


def bypass(step: BypassStep, state: EditState) -> Iterator[GraphDelta]:
    """Makes the consumers of the ops read a tensor that enters the ops, for each connected part separately."""
    request = request_of(step)
    (numbers,) = ops_of(state, request, step.ops)
    if len(set(numbers)) == 1:
        yield _one(step, state, numbers[0])
        return
    parts = list(_parts(state.after, numbers))
    if len(parts) > 1 and not (step.input is None and step.output is None):
        problem = f"the ops form {len(parts)} unconnected parts, and input= or output= can belong to only one part"
        raise PlanError(request, problem, "Bypass each part in its own step, or leave input= and output= out")
    resolved = bool(state.faults)
    for part in parts:
        try:
            delta = _around(step, state, state.after.mask(part))
        except SurgeryError as error:
            delta = GraphDelta(faults=[Fault.from_error(error)])
        if delta is not None:
            resolved = True
            yield delta
    if not resolved:
        problem = "no op outside reads a tensor that they compute from an entering tensor"
        raise PlanError(request, problem, "Choose the ops between two tensors: ed.select(inputs=..., outputs=...)")


def _one(step: BypassStep, state: EditState, op: int) -> GraphDelta:
    """Bypasses one op: by default, its input 0 replaces its output 0."""
    request, graph, name = request_of(step), state.bench, state.bench.names[op]
    port = 0 if step.output is None else step.output
    ((old,),) = tensors_of(state, request, [port if isinstance(port, str) else f"{name}:{port}"])
    if old[0] != op:
        raise PlanError(
            request, f"{step.output!r} is not an output of {name!r}", f"Choose one, such as output='{name}:0'"
        )
    reads = graph.input_names(op)
    at = 0 if step.input is None else step.input
    if isinstance(at, str):
        whole = at if ":" in at else f"{at}:0"
        at = reads.index(whole) if whole in reads else -1
    if not 0 <= at < len(reads):
        have = f"it has {counted(len(reads), 'inputs')}" + f": {few(reads)}" * bool(reads)
        problem = f"op {name!r} has no input {0 if step.input is None else step.input}; {have}"
        raise PlanError(request, problem, "Choose another input=")
    new = graph.source(op, at)
    edges = [(i, at, new) for i, at in consumers_of(graph, old) if i != op]
    return rewire(state, request, edges, [(old, new)], removes=True)


def _around(step: BypassStep, state: EditState, mask: Mask) -> GraphDelta | None:
    """Bypasses one connected part: an entering tensor replaces the leaving tensors; None if there are none."""
    graph = state.after
    enters = entering_tensors(graph, mask)
    rows = graph.data.rows
    first = graph.mask(rows[mask[rows] & ~mask[graph.data.node]].tolist())
    below = forward(graph, first, control=False, within=mask)
    readers = {t: [(i, at) for i, at in consumers_of(graph, t) if not mask[i]] for t in leaving_tensors(graph, mask)
               if below[t[0]]}  # fmt: skip
    leaves = [t for t, those in readers.items() if those]
    output = _named_end(step, state, "output", step.output, leaves)
    leaves = leaves if output is None else [output]
    new = _named_end(step, state, "input", step.input, enters)
    if state.faults or not enters or not leaves:
        return None
    if new is None:
        new = _bypass_input(step, graph, mask, enters, leaves)
    edges = [(i, at, new) for t in leaves for i, at in readers[t]]
    return rewire(state, request_of(step), edges, [(t, new) for t in leaves], removes=True)


def _named_end(
    step: BypassStep, state: EditState, word: str, end: int | str | None, tensors: list[Tensor]
) -> Tensor | None:
    """Returns the tensor that `input` or `output` gives by name or by its position in `tensors`; None by default."""
    if end is None:
        return None
    if isinstance(end, int):
        tensor = tensors[end] if 0 <= end < len(tensors) else None
    else:
        ((candidate,),) = tensors_of(state, request_of(step), [end])
        tensor = candidate if candidate in tensors else None
    if tensor is None:
        does = "enter the ops" if word == "input" else "leave the ops on a path from an entering tensor"
        names = [repr(state.bench.name(t)) for t in tensors]
        problem = f"{word}={end!r} is not possible: the tensors that {does} are {few(names, 6) or '(none)'}"
        suggestion = f"Choose one, such as {word}={names[0]}" if names else "Select ops that read and are read"
        raise PlanError(request_of(step), problem, suggestion)
    return tensor


def _bypass_input(step: BypassStep, graph: Graph, mask: Mask, entering: list[Tensor], leaving: list[Tensor]) -> Tensor:
    """Returns the only entering tensor that leads to all leaving tensors and fits them; refuses any other number."""
    if len(entering) == len(leaving) == 1:
        return entering[0]  # a tensor that does not fit gets a fault later
    candidates = [
        t for t in entering if all(fits_for(graph, t, out) for out in leaving) and _reaches(graph, mask, t, leaving)
    ]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        names = few([graph.name(t) for t in candidates], 6)
        problem = f"{counted(len(candidates), 'entering tensors')} could be read instead: {names}"
        raise PlanError(request_of(step), problem, f"Choose one: input={graph.name(candidates[0])!r}")
    sides = [few([_tensor_text(graph, t) for t in side], 4) for side in (entering, leaving)]
    problem = f"no entering tensor can replace all leaving tensors: {sides[0]} against {sides[1]}"
    pairs = [
        (t, out) for t in entering for out in leaving if fits_for(graph, t, out) and _reaches(graph, mask, t, [out])
    ]
    way = f"input={graph.name(pairs[0][0])!r}, output={graph.name(pairs[0][1])!r}" if pairs else ""
    raise PlanError(
        request_of(step), problem, f"Choose the tensors: {way}" if way else "Select ops that keep the shape"
    )


def way_through(graph: Graph, mask: Mask, leaving: Tensor) -> Tensor | None:
    """Returns the only tensor that enters some ops, leads to a leaving tensor, and fits it; None if not exactly one."""
    candidates = [
        t for t in entering_tensors(graph, mask) if fits_for(graph, t, leaving) and _reaches(graph, mask, t, [leaving])
    ]
    return candidates[0] if len(candidates) == 1 else None


def _parts(graph: Graph, numbers: list[int]) -> Iterator[list[int]]:
    """Yields the parts of the ops that data edges connect, each in graph order."""
    outside = ~graph.mask(numbers)
    label = components(graph, outside, outside, control=False)
    parts: dict[int, list[int]] = {}
    for op in sorted(set(numbers)):
        parts.setdefault(int(label[op]), []).append(op)
    yield from parts.values()


def fits_for(graph: Graph | MutableGraph, new: Tensor, old: Tensor) -> bool:
    """Returns whether a tensor can take the place of another, as far as dtypes and shapes are known."""
    a, b = graph.info(*new), graph.info(*old)
    return a is None or b is None or fits(a, b)


def _reaches(graph: Graph, mask: Mask, start: Tensor, ends: list[Tensor]) -> bool:
    readers = graph.mask(op for op, _ in consumers_of(graph, start) if mask[op])
    below = forward(graph, readers, control=False, within=mask)
    return all(below[op] for op, _ in ends)


def _tensor_text(graph: Graph, tensor: Tensor) -> str:
    info = graph.info(*tensor)
    return graph.name(tensor) + (f" {info}" if info is not None else "")


def remove(step: RemoveStep, state: EditState) -> Iterator[GraphDelta]:
    """Marks the ops to remove; they are removed after all steps."""
    request = request_of(step)
    (numbers,) = ops_of(state, request, step.ops)
    late = [i for i in numbers if i >= state.base.size]
    others = [i for i in late if not is_built_op(state, i)]
    if others:
        name = state.bench.names[others[0]]
        raise PlanError(request, f"{name!r} is made by this plan", "Delete the step that makes it instead")
    pairs: dict[Tensor, Tensor] = {}
    if step.stitch:
        yield _stitch(state, request, set(numbers), pairs)
    yield GraphDelta(removed=frozenset(i for i in numbers if i < state.base.size), needs_new_graph=True)
    if not late or state.faults:
        return
    graph = state.after
    removed = graph.mask(late)
    fault = readers_fault(graph, removed | graph.mask(state.removed), request)
    if fault is not None:
        raise RefusedStep([fault])
    new_tensors = {graph.name(old): graph.name(new) for old, new in pairs.items()}
    yield GraphDelta(effect=without_new_ops(state.effect(), late, new_tensors, {}))


def _stitch(state: EditState, request: str, removed: set[int], pairs: dict[Tensor, Tensor]) -> GraphDelta:
    """Connects the consumers of output 0 of each removed op to the next remaining tensor above it.

    The path above an op follows first inputs. If that tensor does not fit and several ops are removed, another tensor
    is used: the only tensor that enters the ops, leads to the output and fits. An example is a dropout with a mask as
    its first input. The pairs (old tensor, new tensor) are added to `pairs`.
    """
    graph = state.bench
    edges: list[Edge] = []
    for gap in sorted(removed):
        readers = [(op, at) for op, at in graph.consumers_of((gap, 0)) if op not in removed]
        new = _above(graph, (gap, 0), removed) if readers else None
        if readers and len(removed) > 1 and (new is None or not fits_for(graph, new, (gap, 0))):
            new = way_through(graph.snapshot(), graph.snapshot().mask(removed), (gap, 0)) or new
        if new is not None:  # otherwise `readers_fault` reports the consumer
            pairs[gap, 0] = new
            edges += [(op, at, new) for op, at in readers]
    return rewire(state, request, edges, list(pairs.items()), removes=True)


def _above(graph: MutableGraph, tensor: Tensor, removed: set[int]) -> Tensor | None:
    steps = 0
    while tensor[0] in removed:
        reads = graph.inputs(tensor[0])
        steps += 1
        if not reads or steps > len(removed) or tensor[1]:
            return None
        tensor = reads[0]
    return tensor


def remove_ops(effect: PlanResult) -> PlanResult:
    """Removes the ops that steps have marked, or adds a fault if remaining ops need them."""
    if not effect.removed or effect.faults:
        return effect
    graph, order = effect.after, sorted(effect.removed)
    removed, names = graph.mask(order), [graph.names[i] for i in order]
    request = f"remove({few(names)!r})"
    fault = readers_fault(graph, removed, request, effect.removed) or _incomplete_part_fault(
        graph, removed, request, effect
    )
    if fault is not None:
        return replace(effect, faults=(*effect.faults, fault))
    warnings = list(effect.warnings)
    about = {
        "control inputs": [f"{later} after {op}" for op, later in waiting_pairs(graph, removed)],
        "colocations": [f"{op} with {name}" for name, op in colocated_pairs(effect.base, removed[: effect.base.size])],
    }
    for (what, pairs), word in zip(about.items(), ("on", "with"), strict=True):
        if pairs:
            warnings.append(f"{counted(len(pairs), what)} {word} removed ops left out: {few(pairs)}")
    entry_counts = Counter(key for key, _ in collection_entries(graph, removed))
    if entry_counts:
        counts = [f"{key} {count}" for key, count in entry_counts.items()]
        warnings.append(f"collection entries of removed ops, also removed: {few(counts, 6)}")
    removed_names = set(names)
    return replace(
        effect,
        after=graph_without_ops(graph, order),
        first_new=effect.first_new - len(order),
        copies=tuple(replace(c, input_map=current_externals(graph, c)) for c in effect.copies),
        connections=tuple(c for c in effect.connections if c.to not in removed_names),
        edits=tuple(edit for edit in effect.edits if edit[0] not in removed_names),
        warnings=tuple(warnings),
    )


def protected_ops(graph: Graph, ops: Mask) -> Mask:
    """Returns a mask of the ops that must stay.

    An op must stay if another op needs it, or if it is a part of a variable, table, loop or cond.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"]), ("c", "Neg", ["a"])])
        >>> protected_ops(g, g.mask([0, 1])).tolist()
        [True, False, False]
    """
    stay = backward(graph, ~ops) & ops
    for variable in graph.state.variables.values():
        if variable.op in graph.index:
            stay |= variable_parts(graph, variable) & ops
    wholes = [[graph.index[name] for name in names if name in graph.index] for names in graph.state.contexts]
    for whole in wholes:
        if not ops[whole].all():  # a loop or cond can be removed only as a whole
            stay[whole] = True
    init_ops = {name for names in graph.state.init_ops.values() for name in names}
    stay[[graph.index[name] for name in init_ops if name in graph.index]] = True
    return backward(graph, stay) & ops if (stay & ops).any() else stay & ops


def readers_fault(
    graph: Graph, removed: Mask, request: str, by: Mapping[int, int] = MappingProxyType({})
) -> Fault | None:
    """Returns a fault if remaining ops read removed ops.

    Args:
        graph: the graph before the ops are removed.
        removed: mask of the removed ops.
        request: the request.
        by: removed op -> the step that removes it.
    """
    edges = list(readers(graph, removed))
    if not edges:
        return None
    ops = list(dict.fromkeys(reader for _, reader, _ in edges))
    # If an op has no inputs, stitching has no tensor for its consumers.
    bare = any(not len(graph.data.row(graph.tensor(tensor)[0])) for tensor, _, _ in edges)
    ways = "or reroute their inputs first" if bare else "reroute their inputs first, or choose stitch=True"
    more = f"Remove these too, {ways}; ed.removal_blockers(...) lists all"
    first, _ = graph.tensor(edges[0][0])
    return Fault(request, f"{edges[0][0]!r} is still read by {few(ops, 8)}", more, step=by.get(first))


def _incomplete_part_fault(graph: Graph, removed: Mask, request: str, effect: PlanResult) -> Fault | None:
    """Returns a fault if only a part of a variable, a loop, a cond, or a table with its fillers is removed."""
    broken = itertools.chain(
        ((name, f"is a part of variable {variable!r}", "Remove the variable too, or keep its parts")
         for name, variable in variables(graph, removed)),
        ((name, f"fills {holder!r}", "Remove that too, or keep the ops that fill it")
         for name, holder in init_ops(graph, removed)),
        ((name, "is a part of a loop or cond", "Remove the whole loop or cond")
         for name, _ in contexts(graph, removed) if graph.index[name] not in effect.pruned),
    )  # fmt: skip
    for name, problem, suggestion in broken:
        return Fault(
            request, f"{name!r} {problem}, which stays", suggestion, step=effect.removed.get(graph.index[name])
        )
    return None
