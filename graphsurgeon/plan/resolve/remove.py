"""What a remove step does: it removes ops, and refuses ops that must stay."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from ...errors import PlanError
from ...graph.boundary import Tensor
from ...graph.graph import Graph, Mask
from ...graph.rewired import Edge, cut_out
from ...graph.traversal import backward
from ...words import counted, few
from ..blockers import colocated, contexts, init_ops, listed, readers, variables, waiting
from ..closure import variable_parts
from ..copied import now_read
from ..delta import Delta
from ..effect import Effect
from ..fault import Fault
from ..step_code import request_of
from ..steps import RemoveStep
from ..tally import Tally
from ..workbench import Workbench
from .bypass import fits_for, way_through
from .graft import built, taken_out
from .rewire import Refused, ops_of, rewire


def remove(step: RemoveStep, so_far: Tally) -> Iterator[Delta]:
    """Notes the ops to remove; they are removed after all steps."""
    request = request_of(step)
    (numbers,) = ops_of(so_far, request, step.ops)
    late = [i for i in numbers if i >= so_far.base.size]
    others = [i for i in late if not built(so_far, i)]
    if others:
        name = so_far.bench.names[others[0]]
        raise PlanError(request, f"{name!r} is made by this plan", "Take the step that makes it out instead")
    pairs: dict[Tensor, Tensor] = {}
    if step.stitch:
        yield _stitched(so_far, request, set(numbers), pairs)
    yield Delta(removed=frozenset(i for i in numbers if i < so_far.base.size), anew=True)
    if not late or so_far.faults:
        return
    graph = so_far.after
    gone = graph.mask(late)
    fault = readers_fault(graph, gone | graph.mask(so_far.removed), request)
    if fault is not None:
        raise Refused([fault])
    new_tensors = {graph.name(old): graph.name(new) for old, new in pairs.items()}
    yield Delta(effect=taken_out(so_far.effect(), late, new_tensors, {}))


def _stitched(so_far: Tally, request: str, gone: set[int], pairs: dict[Tensor, Tensor]) -> Delta:
    """Connects the consumers of output 0 of removed ops to the first remaining tensor along first inputs: `pairs`.

    If several ops are removed and that tensor does not fit, the only tensor that enters them, leads to the output and
    fits is used. An example is a dropout whose first input is a mask.
    """
    graph = so_far.bench
    edges: list[Edge] = []
    for gap in sorted(gone):
        readers = [(op, at) for op, at in graph.readers((gap, 0)) if op not in gone]
        new = _above(graph, (gap, 0), gone) if readers else None
        if readers and len(gone) > 1 and (new is None or not fits_for(graph, new, (gap, 0))):
            new = way_through(graph.frozen(), graph.frozen().mask(gone), (gap, 0)) or new
        if new is not None:  # else it is said as a consumer left dangling
            pairs[gap, 0] = new
            edges += [(op, at, new) for op, at in readers]
    return rewire(so_far, request, edges, list(pairs.items()), removes=True)


def _above(graph: Workbench, tensor: Tensor, gone: set[int]) -> Tensor | None:
    seen = 0
    while tensor[0] in gone:
        reads = graph.row(tensor[0])
        seen += 1
        if not reads or seen > len(gone) or tensor[1]:
            return None
        tensor = reads[0]
    return tensor


def without_removed(effect: Effect) -> Effect:
    """Takes the ops out that steps have marked, or notes who still needs them."""
    if not effect.removed or effect.faults:
        return effect
    graph, order = effect.after, sorted(effect.removed)
    gone, names = graph.mask(order), [graph.names[i] for i in order]
    request = f"remove({few(names)!r})"
    fault = readers_fault(graph, gone, request, effect.removed) or _whole_fault(graph, gone, request, effect)
    if fault is not None:
        return replace(effect, faults=(*effect.faults, fault))
    warnings = list(effect.warnings)
    about = {
        "control inputs": [f"{later} after {op}" for op, later in waiting(graph, gone)],
        "colocations": [f"{op} with {name}" for name, op in colocated(effect.base, gone[: effect.base.size])],
    }
    for (what, pairs), word in zip(about.items(), ("on", "with"), strict=True):
        if pairs:
            warnings.append(f"{counted(len(pairs), what)} {word} removed ops left out: {few(pairs)}")
    held = Counter(key for key, _ in listed(graph, gone))
    if held:
        counts = [f"{key} {count}" for key, count in held.items()]
        warnings.append(f"entries of collections that go with removed ops: {few(counts, 6)}")
    lost = set(names)
    return replace(
        effect,
        after=cut_out(graph, order),
        first=effect.first - len(order),
        copies=tuple(replace(c, external=now_read(graph, c)) for c in effect.copies),
        connections=tuple(c for c in effect.connections if c.to not in lost),
        edits=tuple(edit for edit in effect.edits if edit[0] not in lost),
        warnings=tuple(warnings),
    )


def protected(graph: Graph, ops: Mask) -> Mask:
    """Returns which of some ops must stay: others need them, or they are parts of variables, tables, loops, conds.

    Example:
        >>> g = Graph.of([("a", "Const", []), ("b", "Neg", ["a"]), ("c", "Neg", ["a"])])
        >>> protected(g, g.mask([0, 1])).tolist()
        [True, False, False]
    """
    stay = backward(graph, ~ops) & ops
    for variable in graph.state.variables.values():
        if variable.op in graph.index:
            stay |= variable_parts(graph, variable) & ops
    wholes = [[graph.index[name] for name in names if name in graph.index] for names in graph.state.contexts]
    for whole in wholes:
        if not ops[whole].all():  # a loop or cond can go, but not a part of it
            stay[whole] = True
    held = {name for names in graph.state.init_ops.values() for name in names}
    stay[[graph.index[name] for name in held if name in graph.index]] = True
    return backward(graph, stay) & ops if (stay & ops).any() else stay & ops


def readers_fault(graph: Graph, gone: Mask, request: str, by: Mapping[int, int] = MappingProxyType({})) -> Fault | None:
    """Returns the fault of ops that stay and read removed ops.

    Args:
        graph: the graph, with all of them.
        gone: mask of the removed ops.
        request: the request.
        by: removed op -> the step that removes it.
    """
    left = list(readers(graph, gone))
    if not left:
        return None
    ops = list(dict.fromkeys(reader for _, reader, _ in left))
    # Of an op without inputs, no tensor is left for its consumers.
    bare = any(not len(graph.data.row(graph.tensor(tensor)[0])) for tensor, _, _ in left)
    ways = "or reroute their inputs first" if bare else "reroute their inputs first, or choose stitch=True"
    more = f"Remove these too, {ways}; ed.removal_blockers(...) lists all"
    first, _ = graph.tensor(left[0][0])
    return Fault(request, f"{left[0][0]!r} is still read by {few(ops, 8)}", more, step=by.get(first))


def _whole_fault(graph: Graph, gone: Mask, request: str, effect: Effect) -> Fault | None:
    """The fault of what stays and must stay whole: variables, loops and conds, tables with what fills them."""
    broken = itertools.chain(
        ((name, f"is a part of variable {variable!r}", "Remove the variable too, or leave its parts")
         for name, variable in variables(graph, gone)),
        ((name, f"fills {holder!r}", "Remove that too, or keep the ops that fill it")
         for name, holder in init_ops(graph, gone)),
        ((name, "is a part of a loop or cond", "Remove the loop or cond whole")
         for name, _ in contexts(graph, gone) if graph.index[name] not in effect.decided),
    )  # fmt: skip
    for name, problem, suggestion in broken:
        return Fault(
            request, f"{name!r} {problem}, which stays", suggestion, step=effect.removed.get(graph.index[name])
        )
    return None
