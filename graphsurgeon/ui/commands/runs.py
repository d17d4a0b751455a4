"""Commands that run the graph with inputs, or try a plan before it is applied."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ...errors import PlanError, SelectionError, SurgeryError, about, counted, few
from ...graph.arrays import can_be_random, load_arrays, random_array, random_code
from ...graph.graph import Graph, TensorInfo, shape_text
from ...graph.names import outer_name, rename_input
from ...graph.open_graph import placeholders_in
from ...graph.provenance import orphan_mask
from ...graph.trace import FirstDifference, Trace
from ...plan.editor_like import EditorLike
from ...plan.plan import Plan, without_muted
from ...plan.plan_result import PlanResult
from ...view import page_types
from ...view.paint import Paint
from ..render_context import RenderContext
from ..run_results import RunOverlay
from ..state import State
from .navigation import reveal
from .specs import COMMAND_SPECS, TEXT, Count, FeedTexts, RunTarget, Text, choice_of, look


@dataclass(frozen=True, eq=False)
class DryRun:
    """The run of a plan.

    Args:
        trace: the trace of the graph after the plan.
        distances: op after the plan -> the difference between its outputs and those of the same op before the plan, or
            for a copy, of its original; None without a comparison.
        first: the first op whose outputs differ; its `other` is the same op after the plan.
    """

    trace: Trace
    distances: Mapping[str, float] | None
    first: FirstDifference | None


def open_ends(graph: Graph) -> dict[str, TensorInfo | None]:
    """Returns the placeholders of a graph that have consumers, without orphans.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"]), ("z", "Placeholder", [])])
        >>> list(open_ends(g))
        ['x:0']
    """
    consumers, consumed = graph.consumers, np.zeros(graph.size, np.bool_)
    consumed[consumers.rows[~orphan_mask(graph)[consumers.node]]] = True
    names = placeholders_in(graph, consumed)
    return {name: graph.declared_info(*graph.tensor(name)) for name in names}


def dry_run(subject: EditorLike, plan: Plan, feeds: Mapping[str, Any], options: Mapping[str, Any]) -> DryRun:
    """Runs the graphs before and after a plan on the same feeds.

    Args:
        subject: the editor of the graph.
        plan: its plan.
        feeds: tensor, by its name after the plan -> array.
        options: `random`, `timeout` and `watch` of a trace.

    Raises:
        PlanError: there is no plan, or it cannot be applied.
    """
    plan = without_muted(plan)
    if not plan.steps:
        raise PlanError("run(target='plan')", "there is no plan", "Copy or change something first, or run the graph")
    return _compare_traces(subject, subject, plan.effect, plan.after(), feeds, options, {"plan": plan})


def compare_with_previous(subject: EditorLike, feeds: Mapping[str, Any], options: Mapping[str, Any]) -> DryRun:
    """Runs the graphs before and after the last applied plan on the same feeds.

    Args:
        subject: the editor of the graph.
        feeds: tensor, by its current name -> array.
        options: `random`, `timeout` and `watch` of a trace.

    Raises:
        PlanError: no plan is applied.
    """
    before = subject.before()
    event = next(event for event in reversed(list(subject.history)) if not event.undone)
    return _compare_traces(before, subject, event.result.effect, subject.snapshot, feeds, options, {})


def _compare_traces(
    old: EditorLike,
    new: EditorLike,
    effect: PlanResult,
    after: Graph,
    feeds: Mapping[str, Any],
    options: Mapping[str, Any],
    arguments: Mapping[str, Any],
) -> DryRun:
    """Runs the graphs before and after a plan. Placeholders of a copy in the same graph get the inputs of the original.

    Args:
        old, new: the editors of the graphs.
        effect: the effect of the plan.
        after: the graph after the plan.
        feeds: tensor, by its name after the plan -> array.
        options, arguments: the arguments of both traces, and of the second trace alone.
    """
    renamed, was = effect.renamed, {now: was for was, now in effect.renamed.items()}
    old_feeds = {rename_input(name, was): value for name, value in feeds.items()}
    old_feeds = {name: value for name, value in old_feeds.items() if name.partition(":")[0] in effect.base.index}
    copies = [copied for copied in effect.copies if copied.source.owner is effect.base.owner]
    stands = {f"{p.name}:0": p.original for copied in copies for p in copied.placeholders}
    beside = old is new and not arguments  # copies and originals are in one graph: one run is enough
    try:
        reads = sorted({source for name, source in stands.items() if name not in feeds})
        results = old.trace(old_feeds or None, reads, **options).results if reads else {}
        result_feeds = {name: results[source] for name, source in stands.items() if source in results}
        before = old.trace(({**result_feeds, **feeds} if beside else old_feeds) or None, **options)
    except SurgeryError:
        return DryRun(new.trace(dict(feeds) or None, **options, **arguments), None, None)
    result_feeds |= {rename_input(name, renamed): value for name, value in before.feeds.items()}
    result_feeds = {
        name: value for name, value in result_feeds.items() if name.partition(":")[0] in after.index
    }  # some may be removed
    twins = [dict(zip((c.source.names[i] for i in c.ops.tolist()), c.names, strict=True)) for c in copies]
    ends = [rename_input(name, renamed) for name in before.results]
    for copied, twin in zip(copies, twins, strict=True):
        ends += [rename_input(end, twin) for end in copied.step.selection.boundary.outputs]
    ends = [end for end in dict.fromkeys(ends) if end.partition(":")[0] in after.index]
    trace = before if beside else new.trace({**result_feeds, **feeds} or None, ends or None, **options, **arguments)
    apart, first = dict[str, float](), None
    same_names = {name: name for name in before.graph.names} | dict(renamed)
    for names in (same_names, *twins):
        called = {t: rename_input(t, names) if t.partition(":")[0] in names else "" for t in before}
        apart |= {names[op]: far for op, far in before.differences(trace, called).items()}
        first = first or before.first_difference(trace, names=called)
    return DryRun(trace, apart, first)


_NAMES = 8
"""The maximum number of variables of the notebook that are offered for a feed."""


_PART = choice_of(("graph", "the graph"), ("selection", "the selection and its inputs"))


@look("list the inputs that a run needs", gesture="button")
def run_form(context: RenderContext, state: State, target: RunTarget = "graph") -> tuple[State, page_types.RunForm]:
    """Returns the form of a run: the placeholders that it needs, and a description of random values for them.

    If the graph came from a file that you have not trusted yet, ``risk`` describes its risks.

    Args:
        target: ``graph`` for the graph of the source pane; ``destination`` for the other graph; ``selection`` for the
            selection and its inputs; ``plan`` for the graph after the plan; or ``applied`` for the graph before and
            after the last applied plan.
    """
    needed = _feeds_needed(context, state, target, _call_arguments(context, state, target, "run_form"))
    feeds = list[page_types.Field]()
    for name, info in needed.items():
        has_random = info is not None and can_be_random(info)
        sizes = [1 if size is None else size for size in info.shape or ()] if has_random and info is not None else []
        hint = f"random {shape_text(tuple(sizes))}" if has_random else "random (1, 3), a name, a file or numbers"
        feeds.append({**TEXT.field(name, f"{name}  {info or ''}", hint=hint), "names": _fitting_names(info)})
    # without a placeholder, there are no random values
    fields = [field for field in COMMAND_SPECS["run"].form() if feeds or field["name"] != "seed"]
    if target == "graph" and state.view.selected and len(context.selection(state)):
        fields.insert(0, _PART.field("target", "Part to run", "graph"))
    strange = [f"{one.title} came from a file. It holds {one.risks().summary}." for one in _strangers(context, target)]
    risk = " ".join([*strange, *["You have not trusted it yet."] * bool(strange)])
    return state, {"feeds": feeds, "fields": fields, "target": target, "risk": risk}


@look("trust a file, so that it can run", gesture="button")
def trust(context: RenderContext, state: State, target: RunTarget = "graph") -> State:
    """Trusts the graphs of a run that came from a file: their ops in `Editor.risks` may run.

    Args:
        target: as in `run_form`: the graph, or for a plan the graphs of both panes.
    """
    names = [one.title for one in _strangers(context, target)]
    for one in _strangers(context, target):
        one.trust()
    return state.with_status(f"{few(names)} may run" if names else "nothing needs your trust")


def _strangers(context: RenderContext, target: str) -> list[EditorLike]:
    """Returns the editors of a run that are not trusted yet."""
    of_target = {"plan": [context.destination, context.source]}
    ran = of_target.get(target, [_subject(context, target)])
    return [one for one in dict.fromkeys(ran) if not one.trusted]


@look("run the graph and show the results", gesture="button")
def run(
    context: RenderContext,
    state: State,
    feeds: FeedTexts | None = None,
    target: RunTarget = "graph",
    seed: Annotated[Count, "Random seed"] = 0,
    limit: Annotated[Count, "Time limit, in seconds", "none"] = 0,
    memory: Annotated[Count, "Memory limit, in MB", "none"] = 0,
) -> tuple[State, page_types.Line]:
    """Runs the graph in a separate copy, and shows the run: shapes on edges, colors, values of tensors.

    If a value is not finite, the screen shows the op that produced it.

    Args:
        feeds: placeholder -> a number or a list, a variable of the notebook, the path of an ``.npy`` or ``.npz`` file,
            or ``random (1, 784)`` for random values of a shape. Placeholders without a feed get random values.
        target: ``graph`` for the graph of the source pane; ``destination`` for the other graph; ``selection`` for the
            selection and its inputs; ``plan`` for a copy of the graph after the plan, compared with the current graph;
            or ``applied`` for the current graph, compared with the graph before the last applied plan.
        seed: the seed of the random values.
        limit: the time limit, in seconds; 0 for no limit.
        memory: the limit for recorded values in memory, in MB; 0 for no limit. With a limit, the graph may run several
            times.
    """
    ends = _call_arguments(context, state, target, "run")
    needed = _feeds_needed(context, state, target, ends) if any((feeds or {}).values()) else {}
    infos = {name: info for name, info in needed.items() if info is not None}
    feed_values: dict[str, Any] = {}
    for name, text in (feeds or {}).items():
        with about(name):
            feed_values |= {name: feed_of(name, text, infos.get(name), seed)} if text.strip() else {}

    def watch(count: int, total: int) -> bool:
        turns = count > total  # tensors in a loop are recorded in each round
        context.progress(f"running: {counted(count, 'tensors')}" + (", loop iterations" if turns else f" of {total:,}"))
        return not context.stop.is_set()

    context.progress("running: making a copy …")
    how: dict[str, Any] = {"random": seed, "timeout": limit or None, "memory": 10**6 * memory or None, "watch": watch}
    owner = "ed" if context.is_single_graph or target in ("plan", "applied", "destination") else "src"
    code = _code(owner, feeds or {}, infos, ends, how, target)
    if target == "plan":
        comparison = dry_run(context.destination, context.draft(state), feed_values, how)
        overlay = RunOverlay(
            comparison.trace,
            context.graph(state, "destination"),
            "destination",
            code,
            comparison.distances,
            comparison.first,
            context.draft(state),
        )
    elif target == "applied":
        comparison = compare_with_previous(context.destination, feed_values, how)
        pane: page_types.PaneName = "source" if context.is_single_graph else "destination"
        overlay = RunOverlay(
            comparison.trace, context.graph(state, pane), pane, code, comparison.distances, comparison.first
        )
    else:
        trace = _subject(context, target).trace(feed_values or None, **ends, **how)
        here: page_types.PaneName = "destination" if target == "destination" else "source"
        overlay = RunOverlay(trace, _subject(context, target).snapshot, here, code)
    state = _show_run(context, state, overlay)
    return state, {"line": state.status.text}


def _show_run(context: RenderContext, state: State, overlay: RunOverlay) -> State:
    """Returns the state with a run on the screen, at the first op whose output is not finite or differs."""
    what, first_bad = overlay.measure, overlay.report_data["bad"]
    state = state.replace(run=overlay, paint=Paint("values", overlay.numbers(what), what), faded=())
    goals = [first_bad["op"], *first_bad["path"][1:]] if first_bad else [overlay.first_op] if overlay.first_op else []
    for name in goals:
        with suppress(SurgeryError):
            state = reveal(context, state, name, overlay.pane)
            break
    missing = context.editor(overlay.pane).values.missing_text
    text = f"{overlay.line} · initial values: {missing}" if missing else overlay.line
    return state.with_status(text, "warn" if first_bad or overlay.trace.stop_reason or missing else "info")


@look("fetch a whole tensor of the run as a picture", gesture="button")
def fetch(context: RenderContext, state: State, tensor: Text) -> tuple[State, page_types.TensorValues]:
    """Returns all values of a tensor of the run, with its picture. Its ancestors run again on the same feeds.

    Args:
        tensor: the name of the tensor.

    Raises:
        SelectionError: if no run is shown, or it does not have the tensor.
    """
    overlay, request = state.run, f"fetch({tensor!r})"
    if overlay is None or tensor not in overlay.trace:
        problem = "no run is shown" if overlay is None else "the run has no values of this tensor"
        raise SelectionError(request, problem, "Run the graph first, with the button Run or ed.screen.run()")
    feeds = {
        name: value for name, value in overlay.trace.feeds.items() if name.partition(":")[0] in overlay.graph.index
    }
    here = context.source if overlay.pane == "source" else context.destination
    context.progress(f"fetching {tensor}")
    again = here.trace(feeds or None, [tensor], ops=[tensor.partition(":")[0]], random=0, plan=overlay.plan)
    return state, overlay.tensor(tensor, again.results[tensor])[0]


@look("clear the run", gesture="button")
def clear_run(context: RenderContext, state: State) -> State:
    """Clears the run."""
    return state.without_run().with_status("the run is cleared")


def _feeds_needed(
    context: RenderContext, state: State, target: str, arguments: Mapping[str, Any]
) -> Mapping[str, TensorInfo | None]:
    """Returns the placeholders that a run needs; `arguments` are those of `trace`."""
    if target in ("plan", "applied"):
        return open_ends(context.draft(state).after())
    return _subject(context, target).feeds_needed(arguments.get("fetches"))


def _subject(context: RenderContext, target: str) -> EditorLike:
    """Returns the editor of the graph that runs."""
    return context.destination if target in ("destination", "applied") else context.source


def _call_arguments(context: RenderContext, state: State, target: str, verb: str) -> dict[str, Any]:
    """Returns the arguments of `trace` for the part to run: empty for the whole graph, else the selected ops.

    Raises:
        SelectionError: if nothing is selected.
    """
    if target != "selection":
        return {}
    graph, selected = context.source.snapshot, context.selection(state)
    if not len(selected):
        raise SelectionError(
            f"{verb}(target='selection')", "nothing is selected", "Select a box, or run the whole graph"
        )
    own = [name for name in selected.names if name in graph.index]
    inner = [name for name in selected.names if name not in graph.index]
    if not inner:
        return {"fetches": list(context.source.select(name=own).boundary.outputs) or own}
    calls = [outer for name in inner if (outer := outer_name(name, graph.index)) is not None]
    return {"fetches": list(dict.fromkeys([*own, *calls])), "ops": [*own, *inner]}


def feed_of(tensor: str, text: str, info: TensorInfo | None = None, seed: int = 0) -> Any:
    """Returns the value of a typed feed: a file, a variable of the notebook, numbers, or random numbers of a shape.

    Args:
        tensor: the placeholder.
        text: the typed text.
        info: the dtype of the placeholder; None if it is not known.
        seed: the seed of random numbers.

    Raises:
        PlanError: if the text is not a file, a variable or numbers, or no random numbers have its dtype or size.

    Example:
        >>> feed_of("x:0", "[[1, 2.5]]"), feed_of("x:0", "random (1, 784)").shape
        ([[1, 2.5]], (1, 784))
    """
    text, request = text.strip(), f"run(feeds={{{tensor!r}: {text!r}}})"
    if text.endswith((".npy", ".npz")):
        return _from_file(tensor, Path(text), request)
    if (shape := _random_shape(text)) is not None:
        drawn, count, how = _typed_info(info, shape), prod(shape), "Type the name of a variable of the notebook"
        if count > _MOST_RANDOM:
            raise PlanError(request, f"there are no random values: {counted(count, 'values')} are too many", how)
        if not can_be_random(drawn):
            raise PlanError(request, f"there are no random values: the dtype is {drawn.dtype}", how)
        return random_array(tensor, drawn, seed)
    namespace: Any = vars(sys.modules["__main__"])
    first, *rest = text.split(".")
    if first in namespace and all(part.isidentifier() for part in (first, *rest)):
        value = namespace[first]
        for part in rest:
            if not hasattr(value, part):
                raise PlanError(request, f"{first!r} has no {part!r}", "Type the name of an array")
            value = getattr(value, part)
        return value.numpy() if hasattr(value, "numpy") else value
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        problem = "this is not a number, a list, an .npy or .npz file, or a variable of the notebook"
        suggestion = "Type a shape for random values, for example random (1, 3), or " + (
            f"assign the array in a cell: {text} = ..."
            if text.isidentifier()
            else "the name of a variable, for example batch"
        )
        raise PlanError(request, problem, suggestion) from None


_MOST_RANDOM = 10**9
"""The maximum number of random values of a feed."""


def _typed_info(info: TensorInfo | None, shape: tuple[int, ...]) -> TensorInfo:
    return TensorInfo("float32" if info is None else info.dtype, shape)


def _random_shape(text: str) -> tuple[int, ...] | None:
    """Returns the shape in a text such as ``random (1, 784)``; None for any other text."""
    found = re.fullmatch(r"random ?\(([\d, ]*)\)", text)
    return tuple(int(size) for size in re.findall(r"\d+", found[1])) if found else None


def _feed_code(tensor: str, text: str, info: TensorInfo | None, seed: int) -> str:
    """Returns the Python code of a typed feed."""
    if (shape := _random_shape(text)) is not None:
        return random_code(tensor, _typed_info(info, shape), seed)
    if text.endswith((".npy", ".npz")):
        return f"np.load({text!r})" + (f"[{tensor!r}]" if text.endswith(".npz") else "")
    return text


def _from_file(tensor: str, path: Path, request: str) -> Any:
    content = load_arrays(path, request, "np.save(path, array)")
    if not isinstance(content, dict):
        return content
    for name in (tensor, tensor.partition(":")[0], *(content if len(content) == 1 else ())):
        if name in content:
            return content[name]
    problem = f"the file has no array of this name; it has {few(map(repr, content))}"
    raise PlanError(request, problem, f"np.savez(path, **{{{tensor!r}: array}})")


def _fitting_names(info: TensorInfo | None) -> list[str]:
    """Returns variables of the notebook whose arrays fit a placeholder."""
    names = []
    for name, value in list(vars(sys.modules["__main__"]).items()):
        shape = getattr(value, "shape", None)
        is_array = isinstance(value, np.ndarray) or hasattr(value, "numpy")  # no symbolic tensor
        if name.startswith("_") or isinstance(value, type) or not is_array or shape is None:
            continue
        with suppress(TypeError, ValueError):
            if info is None or info.fits(tuple(shape)):
                names.append(name)
    return names[:_NAMES]


def _code(
    owner: str,
    feeds: Mapping[str, str],
    infos: Mapping[str, TensorInfo],
    ends: Mapping[str, Any],
    options: Mapping[str, Any],
    target: str,
) -> str:
    """Returns the Python code of the same run."""
    entries = [
        f"{tensor!r}: {_feed_code(tensor, typed.strip(), infos.get(tensor), options['random'])}"
        for tensor, typed in feeds.items()
        if typed.strip()
    ]
    parts = [f"{{{', '.join(entries)}}}"] if entries else []
    if target == "applied":
        return f"gs.compare({', '.join(['ed.before()', 'ed', *parts])}, seed={options['random']})"
    parts += [f"{key}={value!r}" for key, value in ends.items()]
    parts += [f"{key}={options[key]!r}" for key in ("random", "timeout", "memory") if options[key] is not None]
    return f"trace = {owner}.trace({', '.join([*parts, *['plan=ed.screen.draft'] * (target == 'plan')])})"
