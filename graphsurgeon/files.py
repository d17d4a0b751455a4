"""Files: what an editor does with files: it restores checkpoints and saves what it holds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from .applied import Applied
from .errors import PlanError
from .graph.graph import Graph
from .graph.live import TFSession
from .graph.names import tensor_name
from .graph.opened import Opened
from .graph.reports import Restored, Saved
from .history import Timeline
from .plan.steps import INITIAL
from .values import Values


class Files:
    """Restores checkpoints into the variables of an editor, and saves its graph with their values.

    Args:
        timeline: the graph of now.
        values: what its variables hold.
    """

    def __init__(self, timeline: Timeline, values: Values) -> None:
        self._timeline, self._values = timeline, values

    def restore(
        self,
        checkpoint: Any,
        *,
        under: str,
        names: Mapping[str, str] | Applied | None,
        but: str | Iterable[str],
        partial: bool,
        session: TFSession | None,
    ) -> Restored:
        """Gives the variables the values of a checkpoint, as `Editor.restore` does."""
        from .tf.values.restore import restore

        _refuse_odd(f"restore({checkpoint!r})", path=checkpoint, names=names)
        given = session if session is not None else self._values.session()
        if getattr(given, "graph", None) is not self._timeline.graph:
            raise PlanError(
                f"restore({str(checkpoint)!r}, session=...)",
                f"that is no session of {self._timeline.snapshot.title}",
                "Leave session= out, or give ed.session(session)",
            )
        rules = [but] if isinstance(but, str) else list(but)
        about: dict[str, Any] = {"under": under, "names": _renames(names), "but": rules, "partial": partial}
        return restore(given, checkpoint, **about, orphans=self._timeline.orphans)

    def save(
        self,
        path: Any,
        opened: Opened,
        *,
        outputs: Any,
        inputs: Any,
        signatures: Mapping[str, tuple[Any, Any]] | None,
        format: str | None,
        freeze: bool,
        values: Any,
        under: str,
        names: Mapping[str, str] | Applied | None,
        device: str | Mapping[str, str],
        tags: str | Iterable[str],
        feeds: Mapping[Any, Any] | None,
        verify: bool,
    ) -> Saved:
        """Writes the graph with its values, as `Editor.save` does; `opened` has the inputs and outputs by default."""
        from .tf.save.save import Request, save
        from .tf.values.givers import values_of
        from .tf.values.untrained import unproved

        initial = isinstance(values, str) and values == INITIAL
        _refuse_odd(f"save({path!r})", path=path, names=names, signatures=signatures, tags=tags)
        request = Request(
            path, format, outputs, inputs, signatures, freeze, under, _renames(names), device, tags,
            dict(opened.inputs), dict(opened.outputs), self._values.starters,
            {tensor_name(k): v for k, v in (feeds or {}).items()}, verify, {}, initial,
        )  # fmt: skip
        base, own = self._timeline.snapshot, values is None or initial
        if freeze or request.kind != "graph_def":
            known = list(base.state.variables.values())
            untrained = unproved(self._values if own else values, base.owner, known, request.asked)
            request = replace(request, untrained=untrained)
        given = self._values.reader if own else values_of(values)
        void = self._values.void | _empty_locals(base, given, request)
        saved = save(base, self._timeline.orphans, void, given, request)
        held = {n: why for n, why in request.untrained.items() if n in saved.variables}
        return replace(saved, untrained={**saved.untrained, **held})


def _empty_locals(base: Graph, values: Any, request: Any) -> frozenset[str]:
    """Names of local variables that hold no value to save, as where nobody has run their initialisers."""
    from .tf.values.untrained import LOCAL, holding

    found = [info for info in base.state.variables.values() if LOCAL in info.collections]
    if not found or request.kind == "graph_def":
        return frozenset()
    given = values() if callable(values) else values
    names = frozenset(info.op for info in found)
    if isinstance(given, Mapping):
        return names - {str(key).removesuffix(":0") for key in given}
    return names - holding(given, found, request.asked) if getattr(given, "graph", None) is base.owner else names


def _refuse_odd(asked: str, *, path: Any, names: Any, signatures: Any = None, tags: Any = ()) -> None:
    """Refuses arguments of another kind than they can be."""
    if not isinstance(path, (str, os.PathLike)):
        raise PlanError(asked, f"{path!r} is no path", "Give a path, as text or pathlib.Path")
    if names is not None and not isinstance(names, (Mapping, Applied)):
        how = "Give {'name in the checkpoint': 'variable'}, or what apply returned"
        raise PlanError(asked, f"names={names!r} is no mapping", how)
    ends = signatures.values() if isinstance(signatures, Mapping) else [signatures] if signatures is not None else []
    if any(not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in ends):
        how = "Give {'name': (inputs, outputs)}, as {'serving_default': ('x:0', 'y:0')}"
        raise PlanError(asked, f"signatures={signatures!r} is no mapping of name to (inputs, outputs)", how)
    if isinstance(tags, bytes) or not isinstance(tags, Iterable) or not all(isinstance(tag, str) for tag in tags):
        raise PlanError(asked, f"tags={tags!r} is no text", "Give one or several, as tags='serve'")


def _renames(names: Any) -> dict[str, str]:
    """Name in the checkpoint -> variable; of an applied plan, name in the source -> variable of the copy."""
    if isinstance(names, Applied):
        return {v.was: v.name for copied in names.copies for v in copied.variables}
    return dict(names or {})
