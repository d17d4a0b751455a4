"""Resolves the steps that insert ops on edges: insert, adapt, and subgraphs that Python functions build."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import PlanError, one_or_all
from ...graph.boundary import Tensor
from ...graph.control_flow import ENTERS, ROOT, Frames
from ...graph.graph import Graph, Ints, TensorInfo, shape_text
from ...graph.names import free_name, name_problem, op_name, outer_name
from ...graph.rewiring import Edge, graph_without_ops
from ...graph.selection import selection_from
from ...graph.variables import VARIABLE_TYPES
from ..adapters import Adapter, data_format_of, proposals, requested_adapter
from ..backend import BuiltSubgraph, InsertionSite
from ..copy_result import Connection, CopyResult, current_externals
from ..edit_state import EditState, GraphDelta
from ..mutable_graph import MutableGraph
from ..plan_result import NewNode, PlanResult
from ..steps.copy import CopyStep, resolve_copy
from ..steps.edge_checks import consumers_of, input_of, rewire, tensors_of
from ..steps.insert import AdaptStep, InsertStep
from ..type_check import base_dtype, fits


@dataclass(frozen=True)
class Graft:
    """A subgraph after its insertion into the graph.

    Args:
        delta: the delta that adds the subgraph.
        outputs: for each site, output -> tensor of the graph after the plan.
        names: for each site, the names of its ops.
    """

    delta: GraphDelta
    outputs: tuple[Mapping[str, Tensor], ...]
    names: tuple[tuple[str, ...], ...]


def insert_subgraph(
    state: EditState, piece: BuiltSubgraph, sites: Sequence[InsertionSite], only_op: bool = False
) -> Graft:
    """Inserts a subgraph and connects it to its inputs; if that is not possible, the delta has a fault.

    Args:
        state: the state after the earlier steps.
        piece: the new ops.
        sites: the places to insert the ops at.
        only_op: whether there is one op for each site, with the name of the scope as its own name.
    """
    small = piece.graph
    arguments = {small.index[name]: tensor for name, tensor in piece.inputs.items()}
    mask = ~small.mask(arguments)
    if not mask.any():
        ends = tuple(
            {key: arguments[small.tensor(name)[0]] for key, name in results.items()} for results in piece.outputs
        )
        return Graft(GraphDelta(), ends, ((),) * len(sites))
    reads = small.mask(small.data.node)
    pairs = [(f"{small.names[i]}:0", state.bench.name(tensor)) for i, tensor in arguments.items() if reads[i]]
    block = selection_from(small, mask)
    step = CopyStep(
        block, "", tuple(pairs), control="refuse",
        variables=(("*", "initial"),), collections="keep",
        names={name: name.rpartition("/")[0] for name in block.names} if only_op else None,
    )  # fmt: skip
    delta = resolve_copy(step, state)
    if not delta.copies:  # this step or an earlier step has a fault
        return Graft(delta, ({},) * len(sites), ((),) * len(sites))
    copied = replace(delta.copies[0], role="graft")
    joins = [
        Connection(c.tensor, c.to, c.input) for c in delta.connections
    ]  # ops that a plan builds had no inputs before
    outputs = []
    for results in piece.outputs:
        where = {key: small.tensor(name) for key, name in results.items()}
        outputs.append({key: arguments.get(op, (int(copied.positions[op]), port)) for key, (op, port) in where.items()})
    by_scope: dict[str, list[str]] = {site.scope: [] for site in sites}
    for name in copied.new_names:
        scope = outer_name(name, by_scope)
        if scope is not None:
            by_scope[scope].append(name)
    names = tuple(tuple(by_scope[site.scope]) for site in sites)
    return Graft(replace(delta, copies=[copied], connections=joins), tuple(outputs), names)


def site_scope(
    graph: Graph, preferred: str, used_names: set[str], op: bool = False, subscopes: Sequence[str] = ()
) -> str:
    """Returns an empty name scope: `preferred`, or `preferred` with a number. The scope is added to `used_names`.

    With `op`, the scope is the name of a single new op, so no other op may have this name. With `subscopes`, all new
    ops are in subscopes with these names; only the subscopes must be empty.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b/c", "Const", [])])
        >>> used = set()
        >>> site_scope(g, "a", used), site_scope(g, "a", used), site_scope(g, "b", used)
        ('a', 'a_1', 'b_1')
    """

    def is_taken(name: str) -> bool:
        an_op = name.lower() in graph.lowercase_names and (op or name != preferred)
        full = (
            any(graph.is_name_used(f"{name}/{part}") for part in subscopes) if subscopes else name in graph.scopes.index
        )
        return name.lower() in used_names or full or an_op

    name = free_name(preferred, is_taken, as_tensorflow=True)
    used_names.add(name.lower())
    return name


def is_built_op(state: EditState, op: int) -> bool:
    """Returns whether an op was built for the plan, such as an op of an inlined call, and is not part of a variable."""
    return any(c.role == "graft" and not c.variables and op in c.positions[c.ops] for c in state.copies)


def without_new_ops(
    effect: PlanResult, ops: Sequence[int], new_tensors: Mapping[str, str], old_inputs: Mapping[tuple[str, int], str]
) -> PlanResult:
    """Removes ops of grafts from a plan if no op reads them any more, so that they are never made.

    Args:
        effect: the effect of the plan.
        ops: the numbers of the ops after the plan so far.
        new_tensors: output of a removed op -> the tensor that is read instead.
        old_inputs: the tensors that inputs read before: (op, input) -> tensor.
    """
    graph, after = effect.after, graph_without_ops(effect.after, sorted(ops))
    after = replace(after, owner=graph.owner)  # the ops of the base keep their numbers
    removed, names = graph.mask(ops), {graph.names[i] for i in ops}
    place = np.arange(graph.size, dtype=np.int32) - np.cumsum(removed, dtype=np.int32)
    place[removed] = -1
    copies = [_renumbered_copy(c, place) for c in effect.copies]
    replaced = []
    for one in effect.replacements:
        outputs = {old: new_tensors.get(new, new) for old, new in one.outputs.items()}
        stays = {old: new for old, new in outputs.items() if op_name(new) not in names}
        new_ops, kept_ops = (tuple(n for n in some if n not in names) for some in (one.ops, one.kept))
        replaced.append(replace(one, outputs=stays, ops=new_ops, kept=kept_ops))
    return replace(
        effect,
        after=after,
        copies=tuple(
            replace(c, input_map=current_externals(after, c)) for c in copies if len(c.ops) or c.role != "graft"
        ),
        blame={name: step for name, step in effect.blame.items() if name not in names},
        changes={name: change for name, change in effect.changes.items() if name not in names},
        edits=tuple(edit for edit in effect.edits if op_name(edit[2]) not in names),
        connections=tuple(
            replace(c, previous=old_inputs.get((c.to, c.input), c.previous))
            for c in effect.connections
            if c.to not in names
        ),
        replacements=tuple(replaced),
    )


def _renumbered_copy(copy_result: CopyResult, place: Ints) -> CopyResult:
    """Returns a copy with new op numbers: `place` maps old numbers to new numbers, or to -1 for removed ops."""
    now = np.where(copy_result.positions < 0, -1, place[copy_result.positions]).astype(np.int32)
    stays = now[copy_result.ops] >= 0
    names = [name for name, there in zip(copy_result.names, stays.tolist(), strict=True) if there]
    return replace(copy_result, ops=copy_result.ops[stays], names=names, positions=now)


def insert(step: InsertStep, state: EditState) -> Iterator[GraphDelta]:
    """Adds the ops and connects the consumers to them."""
    request, graph = step.request, state.bench
    (tensors,) = tensors_of(state, request, step.on)
    names = _names(step, state)
    edges = [consumers_of(graph, tensor, step.only, step.exclude) for tensor in tensors]
    if isinstance(step.op, str):
        for name, tensor, readers in zip(names, tensors, edges, strict=True):
            new = graph.size, 0
            yield GraphDelta(nodes=[NewNode(name, step.op, (tensor,), dict(step.attributes), None, state.info(tensor))])
            yield rewire(state, request, [(op, at, new) for op, at in readers], excludes=True)
        return
    sites = [InsertionSite(name, {"x": tensor}, ("output",)) for name, tensor in zip(names, tensors, strict=True)]
    graft = insert_subgraph(state, state.backend.build_subgraphs(step.op, sites, state.after, request), sites)
    yield graft.delta
    if not state.faults:
        yield GraphDelta(unrecorded_control_inputs=waits_in_loop(state.after, request, sites, graft))
    for tensor, readers, ends in zip(tensors, edges, graft.outputs, strict=True) if not state.faults else ():
        new = ends["output"]
        edges_to_new = [(op, at, new) for op, at in readers]
        yield rewire(state, request, edges_to_new, [(tensor, new)], excludes=True)


def waits_in_loop(graph: Graph, request: str, sites: Sequence[InsertionSite], graft: Graft) -> dict[int, list[int]]:
    """Returns control inputs for new ops without inputs, if their site is in a TF1 loop.

    Without a control input, these ops would not run in the loop.

    Args:
        graph: the graph with the new ops.
        request: the request, for messages.
        sites, graft: the sites, and the new ops at the sites.

    Raises:
        PlanError: if a variable would be made in the loop.
    """
    if not graph.type_mask(ENTERS).any():
        return {}
    frames, out = Frames(graph), dict[int, list[int]]()
    for site, names in zip(sites, graft.names, strict=True):
        (tensor,) = site.inputs.values()
        for op in [graph.index[name] for name in names] if frames.innermost(tensor[0]) != ROOT else ():
            if graph.types[op] in VARIABLE_TYPES:
                problem = f"{graph.names[op]!r} would be a variable inside a loop"
                raise PlanError(request, problem, "Make it outside, or insert on a tensor outside of the loop")
            if not len(graph.data.row(op)) and not len(graph.control.row(op)):
                out[op] = [tensor[0]]
    return out


def _names(step: InsertStep, state: EditState) -> list[str]:
    """Returns a name for each new op; refuses names that are taken or not valid."""
    graph = state.bench
    names = [step.name] if isinstance(step.name, str) else list(step.name)
    n = 0
    while isinstance(step.name, str) and len(names) < len(step.on):
        n += 1
        if not graph.is_name_used(f"{step.name}_{n}"):
            names.append(f"{step.name}_{n}")
    used_names: set[str] = set()
    for name in names:
        problem = name_problem(name, lambda one: graph.is_name_used(one) or one.lower() in used_names, graph.title)
        if problem is not None:
            raise PlanError(step.request, *problem)
        used_names.add(name.lower())
    return names


def adapt(step: AdaptStep, state: EditState) -> Iterator[GraphDelta]:
    """Builds the adapter, and connects its consumers to the result."""
    request, graph = step.request, state.bench
    source, place = graph.tensor(step.tensor, request), _adapter_site(step, graph, request)
    input_info = graph.info(*source)
    if input_info is None:
        raise PlanError(request, f"the dtype of {step.tensor!r} is not known yet", "Apply the steps before it first")
    site = InsertionSite(_name(step, graph, request), {"x": source}, ("output",))
    build = state.backend.adapter_builder(_adapter(step, graph, request, input_info, place))
    graft = insert_subgraph(state, state.backend.build_subgraphs(build, [site], state.after, request), [site])
    yield graft.delta
    if state.faults:
        return
    yield GraphDelta(unrecorded_control_inputs=waits_in_loop(state.after, request, [site], graft))
    new = graft.outputs[0]["output"]
    if place.old is not None and not state.faults:
        yield rewire(state, request, [(op, at, new) for op, at, _ in place.edges], [(place.old, new)])


@dataclass(frozen=True)
class _AdapterSite:
    """The inputs that will read the adapter, and the tensor that they read now; None if no op reads it yet."""

    old: Tensor | None = None
    edges: tuple[Edge, ...] = ()


def _adapter_site(step: AdaptStep, graph: MutableGraph, request: str) -> _AdapterSite:
    if step.to is None:
        return _AdapterSite()
    op = -1 if ":" in step.to else graph.find(step.to, request)
    if op >= 0 and (step.input is not None or graph.inputs(op)):
        old = input_of(graph, op, step.input or 0, request)
        return _AdapterSite(old, ((op, step.input or 0, old),))
    old = graph.tensor(step.to, request)
    readers = consumers_of(graph, old, step.only, step.exclude)
    return _AdapterSite(old, tuple((op, at, old) for op, at in readers))


def _adapter(step: AdaptStep, graph: MutableGraph, request: str, source: TensorInfo, place: _AdapterSite) -> Adapter:
    """Returns the adapter; refuses an adapter that is not needed or cannot make the tensor fit."""
    consumed = None if place.old is None else graph.info(*place.old)
    if consumed is None and (step.spec.dtype is None or step.spec.shape is None) and place.old is not None:
        problem = f"dtype and shape of {graph.name(place.old)!r} are not known"
        raise PlanError(request, problem, "Give the dtype and shape of the result: dtype='float32', shape=[None, 10]")
    target = step.spec.target_info(source if consumed is None else consumed)
    layout = data_format_of(graph.snapshot(), [op for op, _, _ in place.edges])
    adapter = requested_adapter(source, target, step.spec, layout)
    if adapter is not None:
        return adapter
    where = f"{target.dtype} {shape_text(target.shape)}"
    if not step.spec.kinds and fits(source, target):
        suggestion = "Leave the adapter out, or choose one: kinds='dense'"
        raise PlanError(request, f"{step.tensor!r} is {source}, which fits {where} as it is", suggestion)
    what = f"{' and '.join(step.spec.kinds)} cannot" if step.spec.kinds else "no adapter can"
    problem = (
        f"{step.tensor!r} is {base_dtype(source.dtype)} {shape_text(source.shape)}, and {what} convert it to {where}"
    )
    others = [one_or_all(one.kinds) for one in proposals(source, target, layout)]
    suggestion = "Give the shape of the result with shape=[...], or choose another tensor"
    raise PlanError(
        request, problem, f"Choose kinds={' or kinds='.join(map(repr, others[:3]))}" if others else suggestion
    )


def _name(step: AdaptStep, graph: MutableGraph, request: str) -> str:
    if not step.name:
        return free_name("adapter", graph.is_name_used)
    problem = name_problem(step.name, graph.is_name_used, graph.title)
    if problem is not None:
        raise PlanError(request, *problem)
    return step.name
