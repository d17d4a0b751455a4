"""Restoring checkpoints into an editor, and saving its graph as files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from .. import tf
from ..errors import PlanError
from ..graph.graph import Graph
from ..graph.names import tensor_name
from ..graph.open_graph import OpenedGraph
from ..graph.reports import Restored, Saved
from ..graph.tf_types import TFSession
from ..plan.steps import INITIAL
from .applied import Applied
from .history import Timeline
from .signatures import with_signatures
from .values import Values


def restore(
    timeline: Timeline,
    values: Values,
    checkpoint: Any,
    *,
    names: Any,
    exclude: Any,
    session: TFSession | None,
    **more: Any,
) -> Restored:
    """Gives the variables of an editor the values of a checkpoint, as `Editor.restore` does.

    Args:
        timeline: the current graph.
        values: the values of its variables.
        checkpoint, names, exclude, session: as in `Editor.restore`.
        more: its other arguments.
    """
    _refuse_odd(f"restore({checkpoint!r})", checkpoint, names)
    target = session if session is not None else values.session(quiet=True)
    if getattr(target, "graph", None) is not timeline.live:
        raise PlanError(
            f"restore({str(checkpoint)!r}, session=...)",
            f"that is not a session of {timeline.snapshot.title}",
            "Leave session= out, or give ed.session(session)",
        )
    excluded = [exclude] if isinstance(exclude, str) else list(exclude)
    return tf.values.restore.restore(target, checkpoint, names=_renames(names), exclude=excluded, **more)


def save(
    timeline: Timeline, values: Values, opened: OpenedGraph, path: Any, value_source: Any, **settings: Any
) -> Saved:
    """Writes the graph of an editor with its values, as `Editor.save` does.

    Args:
        timeline: the current graph.
        values: the values of its variables.
        opened: the description of the model, whose signatures are the default.
        path: the file or folder to write.
        value_source: the argument `values` of `Editor.save`.
        settings: the other arguments of `Editor.save`.
    """
    _refuse_odd(f"save({path!r})", path, settings["names"], settings["signatures"], settings["tags"])
    initial = isinstance(value_source, str) and value_source == INITIAL
    settings |= {
        "names": _renames(settings["names"]),
        "feeds": {tensor_name(k): v for k, v in (settings["feeds"] or {}).items()},
        "initial": initial,
    }
    options = tf.save.save.SaveRequest(path, **settings, untrained={}, model=opened)
    whole = with_signatures(timeline, values, opened, options, value_source)
    if whole.timeline is not timeline:
        timeline, values, value_source = whole.timeline, whole.values, INITIAL if initial else None
    init_ops, feeds = values.init_ops
    paths = {**opened.variable_paths, **whole.variable_paths}
    model = replace(opened, other_signatures=whole.signatures, init_ops=init_ops, asset_feeds=feeds)
    options = replace(options, model=replace(model, variable_paths=paths))
    base, own = timeline.snapshot, value_source is None or initial
    if options.constant or options.kind != "graph_def":
        variables = [info for info in base.state.variables.values() if not info.local]
        lacking = tf.values.initialization.with_initial_value(
            values if own else value_source, base.owner, variables, options.request
        )
        options = replace(options, untrained=lacking)
    source = values.reader if own else tf.values.transfer.values_of(value_source)
    if own and (options.keeps_signatures or options.constant):
        options.refuse(options.kind)
        signatures = options.all_signatures(base)
        ends = [tensor for _, outputs in signatures.values() for tensor in outputs.values()]
        values.refuse_missing(ends or base.state.variables, options.request)
    given = {str(name).removesuffix(":0") for name in source} if isinstance(source, Mapping) else set()
    uninitialized = (values.uninitialized - given) | _empty_locals(base, source, options)
    saved = tf.save.save.save(base, uninitialized, source, options)
    if options.keeps_signatures and len(opened.served_names) > 1:
        names = map(repr, opened.served_names)
        whole.notes.append(f"signature {' is also '.join(names)}, which the opened file does not have")
    reasons = {n: why for n, why in options.untrained.items() if n in saved.variables}
    return replace(saved, untrained={**saved.untrained, **reasons}, notes=[*saved.notes, *whole.notes])


def _empty_locals(base: Graph, values: Any, options: Any) -> frozenset[str]:
    """Returns names of local variables without a value to save, for example because they were not initialized."""
    local_variables = [info for info in base.state.variables.values() if info.local]
    if not local_variables or options.kind == "graph_def":
        return frozenset()
    source = values() if callable(values) else values
    names = frozenset(info.op for info in local_variables)
    if isinstance(source, Mapping):
        return names - {str(key).removesuffix(":0") for key in source}
    return (
        names - tf.values.initialization.initialized_variables(source, local_variables, options.request)
        if getattr(source, "graph", None) is base.owner
        else names
    )


def _refuse_odd(request: str, path: Any, names: Any, signatures: Any = None, tags: Any = ()) -> None:
    """Refuses arguments of a wrong type."""
    if not isinstance(path, (str, os.PathLike)):
        raise PlanError(request, f"{path!r} is not a path", "Give a path, as text or pathlib.Path")
    if names is not None and not isinstance(names, (Mapping, Applied)):
        how = "Give {'name in the checkpoint': 'variable'}, or what apply returned"
        raise PlanError(request, f"names={names!r} is not a mapping", how)
    ends = signatures.values() if isinstance(signatures, Mapping) else [signatures] if signatures is not None else []
    if any(not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in ends):
        how = "Give {'name': (inputs, outputs)}, for example {'serving_default': ('x:0', 'y:0')}"
        raise PlanError(request, f"signatures={signatures!r} is not a mapping of name to (inputs, outputs)", how)
    if isinstance(tags, bytes) or not isinstance(tags, Iterable) or not all(isinstance(tag, str) for tag in tags):
        raise PlanError(request, f"tags={tags!r} is not text", "Give one or several texts, for example tags='serve'")


def _renames(names: Any) -> dict[str, str]:
    """Returns name in the checkpoint -> variable; for an applied plan, name in the source -> current name."""
    return names.variable_names if isinstance(names, Applied) else dict(names or {})
