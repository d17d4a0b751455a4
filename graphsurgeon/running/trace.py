"""Runs a copy of a graph that records the value of every tensor, in this process or in a worker process.

The worker process gets the graph as a file with its values, and the request. It returns the trace as data. Nothing that
it writes is executed here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import tf
from ..errors import Kind, PlanError, SelectionError, SurgeryError, exit_text, few
from ..graph.arrays import pack_arrays
from ..graph.calls import CallTree
from ..graph.concurrency import gc_paused
from ..graph.control_flow import outside_control_flow
from ..graph.functions import BRANCHING, CALLS
from ..graph.graph import Graph
from ..graph.names import op_name, outer_name, placeholder_name
from ..graph.open_graph import OpenedGraph, placeholders_in
from ..graph.parts import refuse_inner
from ..graph.references import ReferenceResolver
from ..graph.selection import Selection, select
from ..graph.tensor_stats import Watch
from ..graph.trace import Trace
from ..graph.traversal import backward, forward
from ..graph.variables import VARIABLE_TYPES
from ..plan.editor_like import EditorLike, described
from ..plan.plan import Plan, without_muted
from .feeds import missing_feeds, ops_to_run, random_feeds, refuse_no_seed, resolve_feeds, resolve_fetches

GRAPH, REQUEST, FEEDS, ANSWER, FAULT = "graph.meta", "request.json", "feeds.npz", "trace.npz", "fault.json"
STOP = b"stop\n"
_BEGIN = "from graphsurgeon.editor.worker_main import main; main()"
_PROGRESS = re.compile(rb"seen (\d{1,12}) (\d{1,12})")
_ERROR_TYPES = {kind.__name__: kind for kind in (PlanError, SelectionError)}


def isolated_trace(
    editor: EditorLike,
    fetches: Sequence[str],
    feeds: Mapping[str, Any],
    *,
    session: Any = None,
    watch: Watch | None = None,
    **options: Any,
) -> Trace:
    """Returns a trace of a run in another process.

    Args:
        editor: the editor of the graph, which is written with its values.
        fetches: the fetched tensors and ops, by name.
        feeds: tensor -> array.
        session: the session with the values; None for the values of the editor.
        watch: a function that is called with the number of recorded tensors and their total number. If it returns
            False, the run ends.
        options: the other arguments of `graphsurgeon.running.trace.trace`, as JSON.

    Raises:
        PlanError: the process ended before the run did, or it refused the request.
    """
    with tempfile.TemporaryDirectory(prefix="graphsurgeon") as name:
        folder = Path(name)
        editor.save(folder / GRAPH, values=session, verify=False)
        np.savez(folder / FEEDS, **pack_arrays(feeds, "feed"))  # type: ignore[arg-type]
        request = {"title": editor.title, "fetches": list(fetches), "how": options}
        (folder / REQUEST).write_text(json.dumps(request), encoding="utf-8")
        code = _run_worker(folder, watch)
        if (folder / FAULT).exists():
            raise _refusal(json.loads((folder / FAULT).read_text(encoding="utf-8")))
        if code or not (folder / ANSWER).exists():
            problem = f"the separate process in which {editor.title} was run {exit_text(code)}"
            raise PlanError("trace()", problem, "This process continues. Run only a part of the graph: fetches=[...]")
        return replace(Trace.load(folder / ANSWER), feeds=dict(feeds))


def _run_worker(folder: Path, watch: Watch | None) -> int:
    """Runs the worker process to its end, reports its progress, and returns its exit code."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-c", _BEGIN, str(folder)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process: subprocess.Popen[bytes] = subprocess.Popen(command, env=environment, **pipes)
    with process:
        try:
            assert process.stdout is not None
            assert process.stdin is not None
            for line in process.stdout:
                progress = _PROGRESS.fullmatch(line.strip())  # ops that print write to the same stream
                if progress and watch is not None and not watch(int(progress[1]), int(progress[2])):
                    with suppress(OSError):  # the process may have ended
                        process.stdin.write(STOP)
                        process.stdin.flush()
            return process.wait()
        finally:  # the worker never outlives this call
            if process.poll() is None:
                process.kill()


def _refusal(fault: Mapping[str, str]) -> SurgeryError:
    kind = _ERROR_TYPES.get(fault["kind"], PlanError)
    return kind(fault["request"], fault["problem"], fault["suggestion"])


_TABLE = "HashTable"
#: Ops that return their input. Without control inputs, the values of input and output are the same.
_IDENTITY_TYPES = frozenset({"Identity", "StopGradient", "PreventGradient", "Snapshot"})
_BATCH_MOMENTS = 3  # the first output of FusedBatchNorm that is only for its gradient
_HANDLES = {"resource": "it is a handle of a resource, not numbers", "variant": "it is a handle, not numbers"}


@dataclass(frozen=True)
class _RunOptions:
    """The options of a run, from the arguments of `trace`."""

    session: Any
    timeout: float | None
    rounds: int
    watch: Watch | None
    seed: int | None
    names: Mapping[str, str]
    memory: int | None
    ops: frozenset[str] | None


def trace(
    editor: EditorLike,
    feeds: Any = None,
    fetches: Any = None,
    *,
    session: Any = None,
    random: int | None = None,
    timeout: float | None = None,
    rounds: int = 1000,
    watch: Watch | None = None,
    seed: int | None = 0,
    memory: int | None = None,
    ops: Any = None,
    plan: Any = None,
    isolated: bool | None = None,
    new_names: Mapping[str, str] | None = None,
) -> Trace:
    """Returns a trace of a run; see `Editor.trace`.

    `new_names` maps a random op to a name. Its seed then depends on that name instead of the name of the op.
    """
    request = "trace"
    refuse_no_seed(random, request)
    refuse_no_seed(seed, request, "seed")
    _refuse_no_limit(timeout=timeout, rounds=rounds, watch=watch, memory=memory)
    editor.graph  # noqa: B018  # raises an error if the graph can only be viewed
    if plan is not None:
        editor, session = _applied_editor(editor, plan, session), None
    op_names = None if ops is None else _recorded_names(editor, ops)
    if op_names is not None and fetches is None:
        fetches = _ends_of(editor, op_names) or None
    targets, fed_tensors = resolve_fetches(editor, fetches), resolve_feeds(editor, feeds, request, random=True)
    graph = editor.snapshot
    refuse_inner(graph, [(graph.index[op_name(name)], 0) for name in targets], "trace()")
    needed_ops = ops_to_run(editor, targets, fed_tensors)
    open_ends = [name for name in placeholders_in(needed_ops.graph, needed_ops.mask) if name not in fed_tensors]
    if open_ends:
        if random is None:
            raise missing_feeds(editor, open_ends, request)
        fed_tensors |= random_feeds(editor, open_ends, random, request)

    if tf.run.sessions.has_external_effects(editor.graph) if isolated is None else isolated:
        tf.run.sessions.require_trusted(editor.graph, request)
        how: dict[str, Any] = {
            "timeout": timeout,
            "rounds": rounds,
            "seed": seed,
            "memory": memory,
            "new_names": new_names,
        }
        how["ops"] = None if op_names is None else sorted(op_names)
        return isolated_trace(editor, targets, fed_tensors, session=session, watch=watch, **how)
    with gc_paused():
        return _run(
            editor,
            needed_ops,
            targets,
            fed_tensors,
            _RunOptions(session, timeout, rounds, watch, seed, new_names or {}, memory, op_names),
        )


def _refuse_no_limit(*, timeout: Any, rounds: Any, watch: Any, memory: Any) -> None:
    """Refuses limits of a run that are not valid.

    Raises:
        PlanError: a limit is not valid.
    """

    def at_least(value: Any, minimum: float, kinds: Any) -> bool:
        return isinstance(value, kinds) and not isinstance(value, bool) and value >= minimum

    integers = (int, np.integer)
    if timeout is not None and not (at_least(timeout, 0, (*integers, float, np.floating)) and timeout):
        how = "Give seconds, for example timeout=60"
        raise PlanError(f"trace(timeout={timeout!r})", "the value is not a time", how)
    if not at_least(rounds, 1, integers):
        how = "Give 1 or more, for example rounds=1000"
        raise PlanError(f"trace(rounds={rounds!r})", "the value is not a number of rounds", how)
    if watch is not None and not callable(watch):
        suggestion = "Give a function, for example watch=lambda done, total: done < 500"
        raise PlanError(f"trace(watch={watch!r})", "the value cannot be called", suggestion)
    if memory is not None and not at_least(memory, 1, integers):
        how = "Give bytes, for example memory=200 << 20 for 200 MB"
        raise PlanError(f"trace(memory={memory!r})", "the value is not a number of bytes", how)


def materialized(plan: Plan) -> Plan:
    """Returns the same plan in the mode ``materialize``: the new graph also contains all ops of the old graph."""
    copy = replace(plan)
    copy.__dict__["effect"] = replace(plan.effect, mode="materialize")
    return copy


def _applied_editor(editor: EditorLike, plan: Any, session: Any) -> EditorLike:
    """Returns an editor of the graph after a plan, with all values, in a separate graph."""
    if not isinstance(plan, Plan):
        raise PlanError(f"trace(plan={plan!r})", "this is not a plan", "Make one with ed.plan().copy(...)")
    plan = without_muted(plan)
    make: Any = type(editor)
    source = None if editor.values.is_graph_changed else editor.opened_graph.values
    model = replace(
        described(editor).for_graph(editor.graph, editor.title),
        values=source,
        missing_values_reason=editor.opened_graph.missing_values_reason,
    )
    result: EditorLike = make(model)
    try:
        result.apply(materialized(plan) if plan.steps else plan)
    except PlanError as error:
        if error.kind not in (Kind.PLAN, Kind.FOREIGN_PLAN):
            raise
        suggestion = "Trace it with its own editor" if error.kind is Kind.FOREIGN_PLAN else error.suggestion
        raise type(error)("trace(plan=...)", error.problem, suggestion) from None
    result.session(session if session is not None else editor.values.read_session())
    return result


def _recorded_names(editor: EditorLike, ops: Any) -> frozenset[str]:
    """Returns the names of the ops whose tensors are recorded."""
    if not isinstance(ops, Selection):
        resolver = ReferenceResolver(editor.snapshot, editor.layers, "trace(ops=...)")
        return frozenset(editor.select(name=list(map(op_name, resolver.ops(ops)))).names)
    if not len(ops):
        raise SelectionError("trace(ops=...)", "the selection is empty", "Select ops to record, or leave out ops=")
    lost = [name for name in ops.names if outer_name(name, editor.snapshot.index) is None]
    if lost:
        problem = f"{few(map(repr, lost))} of the selection {'is' if len(lost) == 1 else 'are'} not in {editor.title}"
        raise SelectionError("trace(ops=...)", problem, "Select in this graph: ops=ed.select(...)")
    return frozenset(ops.names)


def _ends_of(editor: EditorLike, op_names: Iterable[str]) -> list[str]:
    """Returns the last ops of some ops, as fetches that make all of them run; nothing in a loop or branch."""
    graph = editor.snapshot
    inside = graph.mask(
        {graph.index[outer] for name in op_names if (outer := outer_name(name, graph.index)) is not None}
    )
    consumed = np.zeros(graph.size, np.bool_)
    consumed[graph.data.node[inside[graph.data.rows]]] = True
    ends = np.flatnonzero(inside & ~consumed)
    plain = outside_control_flow(graph)
    return [graph.names[op] for op in ends.tolist()] if plain[ends].all() else []


def _run(
    editor: EditorLike,
    needed_ops: Selection,
    fetches: Sequence[str],
    feed_values: Mapping[str, Any],
    options: _RunOptions,
) -> Trace:
    within, requested_ops = needed_ops.graph, needed_ops
    needed_ops, fetches, missing_kernels = _with_kernels(needed_ops, fetches)
    aside = [name for name in feed_values if not needed_ops.mask[within.tensor(name)[0]]]
    stand_ins = {name: _placeholder_for(name, within.index) for name in aside}
    scratch, base, full_graph = _runnable_copy(editor, needed_ops, fetches, stand_ins, options)
    names = {name: scratch.outputs.get(name, name) for name in fetches}
    feeds = {name: value for name, value in feed_values.items() if op_name(stand_ins.get(name, name)) in base.index}
    feed_values = {stand_ins.get(name, name): value for name, value in feeds.items()}
    same, unrecorded = _aliases(base)
    if options.ops is not None:
        _drop_unrecorded(options.ops, within, base, same, unrecorded)
    for op in (requested_ops - needed_ops).numbers:
        why = f"the run stopped before it: {missing_kernels}"
        unrecorded |= {f"{within.names[op]}:{port}": why for port in range(len(within.outputs(op) or ()))}
    runs = backward(base, base.mask(base.index[name.partition(":")[0]] for name in names.values()))
    tensors = [
        (op, port)
        for op in np.flatnonzero(runs).tolist()
        for port in range(len(base.outputs(op) or ()))
        if base.name((op, port)) not in same and base.name((op, port)) not in unrecorded
    ]
    constant_tensors = [
        tensor for tensor in tensors if base.types[tensor[0]] == "Const" and base.name(tensor) not in feed_values
    ]
    tensors = sorted(set(tensors).difference(constant_tensors))
    probed = tf.run.probes.probe(base, tensors, options.rounds)

    def started(copy: EditorLike) -> Any:
        live = copy.session(config=tf.run.run_graph.unoptimized())
        tf.run.run_graph.fill(live, *editor.values.init_ops)
        probed.add_to(copy.graph)
        return live

    def again() -> Any:
        """Returns a session with the initial state; a new copy is made if a run changes the state."""
        if tf.run.run_graph.changes_state(base, runs):
            lives.pop().close()
            lives.append(started(_runnable_copy(editor, needed_ops, fetches, stand_ins, options)[0]))
        return lives[-1]

    lives = [started(scratch)]
    about: Any = (lives[0], base, list(names.values()), feed_values, probed)
    limits: dict[str, Any] = {"timeout": options.timeout, "watch": options.watch, "repeat": again}
    outcome = (
        tf.run.run_graph.run_with_probes(*about, **limits)
        if options.memory is None
        else tf.run.run_graph.run_in_passes(*about, **limits, memory=options.memory)
    )
    lives.pop().close()
    results = {name: outcome.results[now] for name, now in names.items() if now in outcome.results}
    stopped, notes = (
        missing_kernels or outcome.stop_reason,
        (*tf.run.probes.constants(base, constant_tensors), *outcome.stats),
    )
    unrecorded |= outcome.unrecorded
    same |= {name: stand_ins[name] for name in feeds if stand_ins.get(name, name) != name}
    full_graph = replace(full_graph, title=editor.snapshot.title)
    return Trace(full_graph, notes, outcome.costs, results, feeds, same, stopped, unrecorded, _added_ops(within, base))


def _drop_unrecorded(
    op_names: frozenset[str], graph: Graph, run_graph: Graph, aliases: dict[str, str], missing_reasons: dict[str, str]
) -> None:
    """Removes ops that were not chosen from the recording; the bodies of calls are removed with the calls."""
    recorded = {
        name
        for name in run_graph.names
        if name in op_names or (name not in graph.index and outer_name(name, op_names) is not None)
    }
    for op, name in enumerate(run_graph.names):
        for port in range(len(run_graph.outputs(op) or ()) if name not in recorded else 0):
            missing_reasons.setdefault(f"{name}:{port}", "it is not among the ops to record")
            aliases.pop(f"{name}:{port}", None)
    for name, source in list(aliases.items()):
        if source.partition(":")[0] not in recorded:
            del aliases[name]


def _runnable_copy(
    editor: EditorLike,
    needed_ops: Selection,
    fetches: Sequence[str],
    placeholders: Mapping[str, str],
    options: _RunOptions,
) -> tuple[EditorLike, Graph, Graph]:
    """Returns a copy that can be run, its snapshot, and the snapshot before seeds were set in random ops."""
    scratch = _scratch_copy(editor, needed_ops, fetches, placeholders, options.session)
    guarded = tf.private.graphs.guarded_ops(scratch.graph) or set()
    guarded.clear()  # tensors in a branch can be recorded if the branch is taken
    full_graph = scratch.snapshot
    if options.seed is not None and tf.run.probes.set_seeds(scratch.graph, full_graph, options.seed, options.names):
        return scratch, tf.open.snapshot.snapshot(scratch.graph, title=full_graph.title), full_graph
    return scratch, full_graph, full_graph


def _added_ops(graph: Graph, run_graph: Graph) -> frozenset[str]:
    """Returns the ops of a run that are neither in the graph nor in the functions that it calls."""
    more = run_graph.index.keys() - graph.index.keys()
    if not more:
        return frozenset()

    return frozenset(more - CallTree(graph, tf.functions.expand.function_body).searchable.graph.index.keys())


def _with_kernels(needed_ops: Selection, fetches: Sequence[str]) -> tuple[Selection, list[str], str]:
    """Removes the ops without a kernel on this machine, and their descendants.

    Returns:
        the remaining ops, the remaining fetches, and the reason; the reason is empty if nothing was removed.
    """
    graph = needed_ops.graph
    kinds = {graph.types[i]: None for i in needed_ops.numbers}
    missing_kernels = tf.run.sessions.without_kernel(kinds, graph.functions)
    if not missing_kernels:
        return needed_ops, list(fetches), ""
    ops = [i for i in needed_ops.numbers if graph.types[i] in missing_kernels]
    dead = forward(graph, graph.mask(ops))
    remaining = [name for name in fetches if not dead[graph.index[name.partition(":")[0]]]]
    where = " or ".join(missing_kernels[graph.types[ops[0]]])
    why = f"TensorFlow runs it on {where} alone" if where else "this TensorFlow has no kernel for it"
    reason = f"{graph.names[ops[0]]!r} ({graph.types[ops[0]]}) cannot run here: {why}"
    lost_ops = select(graph, name=[graph.names[i] for i in np.flatnonzero(dead).tolist()])
    return needed_ops - lost_ops, remaining, reason


def _placeholder_for(tensor: str, names: Container[str]) -> str:
    """Returns the placeholder for a fed tensor that is not the output of a placeholder."""
    op, _, port = tensor.partition(":")
    return f"{op}:0" if port == "0" else f"{placeholder_name(op, int(port), names)}:0"


def _scratch_copy(
    editor: EditorLike, needed_ops: Selection, fetches: Sequence[str], placeholders: Mapping[str, str], session: Any
) -> EditorLike:
    """Returns the editor of a copy of the needed ops, with values, in which calls, conds and loops are inlined.

    Args:
        editor: the editor of the graph.
        needed_ops: the ops to copy.
        fetches: the fetches. The outputs of the returned editor map each fetched tensor to its replacement.
        placeholders: fed tensor that is not the output of a placeholder -> the placeholder that replaces it.
        session: the session with the values; None for the values of the editor.
    """
    outputs = {name: name for name in fetches if ":" in name}
    make: Any = type(editor)
    scratch: EditorLike = make(OpenedGraph(tf.protos.empty_graph(), f"a run of {editor.title}", outputs=outputs))
    names = {name: there.partition(":")[0] for name, there in placeholders.items()}
    values = session if session is not None else editor
    kinds = {needed_ops.graph.types[i] for i in needed_ops.numbers}
    has_variables = not VARIABLE_TYPES.isdisjoint(kinds)
    may_look_up = any(_TABLE in kind for kind in kinds) or not kinds.isdisjoint(
        CALLS | needed_ops.graph.functions.keys()
    )
    if may_look_up and (fill := editor.values.init_ops[0]):
        needed_ops |= editor.select(name=fill).ancestors()  # these ops fill tables from files; `fill` runs them
        has_variables = True
    about: dict[str, Any] = {"unmapped": "placeholder", "control": "drop", "collections": "keep", "names": names}
    plan = scratch.plan().copy(needed_ops, values=values if has_variables else None, **about)
    try:
        scratch.apply(plan)
    except PlanError as error:  # the message is about a copy that the user did not request
        suggestion = error.suggestion
        if error.kind is Kind.NO_VALUE:
            suggestion = f"{tf.values.variables.INITIALIZE}; or feed its consumers: feeds={{...}}"
        raise type(error)("trace()", error.problem, suggestion) from None
    closed: set[str] = set()
    while True:
        plain, flow = _calls(scratch.snapshot, closed, [scratch.outputs.get(name, name) for name in fetches])
        if plain:
            scratch = scratch.inlined(*plain)
        elif flow:
            whole = scratch.plan().inline(flow)
            plan = whole if not whole.check() else scratch.plan().inline(flow[0])
            if plan.check():
                closed.add(flow[0])
            else:
                scratch.apply(plan)
        else:
            return scratch


def _calls(graph: Graph, excluded: set[str], fetches: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the calls that run and can be inlined; and the same for conds, cases and loops."""
    kinds = set(graph.type_index[0])
    if not kinds & (BRANCHING | CALLS | graph.functions.keys()):
        return [], []
    work, plain, flow = tf.functions.expand.FunctionCalls(graph), list[str](), list[str]()
    runs = backward(graph, graph.mask(graph.index[name.partition(":")[0]] for name in fetches))
    for op in np.flatnonzero(runs).tolist():
        node = graph.nodes[op]
        if graph.names[op] in excluded or not (work.called_function(node) or node.op in BRANCHING):
            continue
        if work.obstacle(node, flow=True) is None:
            (flow if node.op in BRANCHING else plain).append(graph.names[op])
    return plain, flow


def _uses_given_moments(graph: Graph, op: int) -> bool:
    """Whether an op is a batch normalization in inference mode, which uses given moments, not those of the batch."""
    if not graph.types[op].startswith("FusedBatchNorm") or graph.types[op].startswith("FusedBatchNormGrad"):
        return False
    attributes = graph.nodes[op].attr
    return "is_training" in attributes and not attributes["is_training"].b


def _aliases(graph: Graph) -> tuple[dict[str, str], dict[str, str]]:
    """Returns tensor -> the tensor that it is equal to, and tensor without values to record -> the reason."""
    same, unrecorded = {}, {}
    control_counts = graph.control.degrees
    for op in range(graph.size):
        infos = graph.outputs(op) or ()
        for port, info in enumerate(infos):
            name = f"{graph.names[op]}:{port}"
            if info.dtype in _HANDLES:
                unrecorded[name] = _HANDLES[info.dtype]
            elif info.dtype.endswith("_ref"):
                unrecorded[name] = "it is a variable itself: its consumers have the numbers"
            elif port >= _BATCH_MOMENTS and _uses_given_moments(graph, op):
                unrecorded[name] = "TensorFlow does not set it with is_training=False: its value is undefined"
        if graph.types[op] in _IDENTITY_TYPES and not control_counts[op] and infos:
            source = graph.data.ends(op)[0]
            given = graph.info(*source)
            if given is not None and not given.dtype.endswith("_ref") and given.dtype not in _HANDLES:
                same[f"{graph.names[op]}:0"] = graph.name(source)
    return same, unrecorded
