"""Transfers values of variables from one model to another by name, mapping or layer; no op is added."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

from .. import tf
from ..errors import PlanError, counted, few, one_of
from ..graph.names import expand_wildcard
from ..graph.reports import Transferred
from ..graph.types import ValueSource

if TYPE_CHECKING:
    from ..tf.values.value_stores import ValueStore, VariableEntry


def transfer(
    source: ValueSource,
    to: ValueSource,
    *,
    names: Mapping[str, str] | None = None,
    first: int | None = None,
    partial: bool = False,
) -> Transferred:
    """Copies the values of variables from one model to another. Nothing else changes.

    Args:
        source: an editor (its session), a session, a Keras model or layer, a `tf.Module`, the path of a checkpoint, or
            a mapping of name to array.
        to: an editor, a session, a Keras model or layer, or a `tf.Module`.
        names: variable of the source -> variable of the target. Other variables are not copied. ``*`` matches the same
            text on both sides, for example ``{"teacher/*": "student/*"}``.
        first: the number of layers to copy, in the order of the models. The names of the layers may differ. A layer is
            a Keras layer with weights, or in a graph a scope with a trainable variable.
        partial: whether variables of the target may be missing in the source. This argument applies only if neither
            `names` nor `first` is given. Variables of the same name are then copied. If no name matches, the models
            must be equal layer by layer.

    Returns:
        the pairs. ``report.again()`` copies their values again, for example after each training cycle.

    Raises:
        OpenError: a checkpoint cannot be read.
        PlanError: a name does not exist, the models do not match, or shapes or dtypes differ. Then nothing is copied.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> def net(start):
        ...     with tf.Graph().as_default() as graph:
        ...         for i in range(3):
        ...             tf.compat.v1.get_variable(f"layer{i}/w", initializer=start + i)
        ...     return gs.open(graph)
        >>> a, b = net(10.0), net(0.0)
        >>> report = gs.transfer(a, b, first=2)
        >>> report
        2 variables transferred (8 bytes)
          layer0/w -> layer0/w
          layer1/w -> layer1/w
          target variables without a source: layer2/w
          source variables not used: layer2/w
        >>> [float(value) for value in b.session().run(b.graph.get_collection("variables"))]
        [10.0, 11.0, 2.0]
    """
    request = "transfer(source, to" + (f", first={first!r})" if first is not None else ")")
    if names is not None and not isinstance(names, Mapping):
        raise PlanError(request, f"names={names!r} is not a mapping", "Give {'source': 'target'}")
    count: Any = first
    if count is not None and (isinstance(count, bool) or not isinstance(count, Integral)):
        raise PlanError(
            request, f"first={first!r} is not a number of layers", "Give a whole number, for example first=2"
        )
    give = tf.values.value_stores.source_store(source, request)
    take = tf.values.value_stores.value_store(tf.values.transfer.values_of(to), request)
    give.title, take.title = f"the source ({give.title})", f"the target ({take.title})"
    if not take.writable:
        raise PlanError(request, f"nothing can be written to {take.title}", "Give an editor, a session or a model")
    if names is not None and first is not None:
        raise PlanError(request, "names= and first= exclude each other", "Leave one of them out")
    pairs = _by_names(give, take, names, request) if names is not None else _pairs(give, take, first, partial, request)
    _refuse_unlike(pairs, request)
    take.refuse_unsettable([b.name for _, b in pairs], request)

    def repeat() -> None:
        targets: dict[str, list[str]] = {}
        for a, b in pairs:
            targets.setdefault(a.name, []).append(b.name)
        with tf.run.progress.Progress("transferring", sum(a.nbytes for a, _ in pairs)) as bar:
            for got in give.read(list(targets)):
                size = sum(value.nbytes for value in got.values())
                take.write({name: value for key, value in got.items() for name in targets[key]})
                bar.step(size)

    repeat()
    target: Any = to
    if hasattr(target, "opened_graph"):
        target.values.note_assigned()
    used_names, fed = {a.name for a, _ in pairs}, {b.name for _, b in pairs}
    return Transferred(
        tuple((a.name, b.name) for a, b in pairs),
        sum(a.nbytes for a, _ in pairs),
        tuple(v.name for v in give.variables if v.name not in used_names),
        tuple(v.name for v in take.variables if v.name not in fed),
        repeat,
    )


def _pairs(
    target_store: ValueStore, source_store: ValueStore, first: int | None, partial: bool, request: str
) -> list[tuple[VariableEntry, VariableEntry]]:
    if first is not None:
        return _by_layers(target_store, source_store, first, request)
    by_name = {v.name: v for v in target_store.variables}
    pairs = [(by_name[v.name], v) for v in source_store.variables if v.name in by_name]
    if not pairs:
        return _by_layers(target_store, source_store, None, request)
    missing = [v.name for v in source_store.variables if v.name not in by_name]
    if missing and not partial:
        raise PlanError(
            request,
            f"{target_store.title} has no value for {len(missing)} "
            f"of {counted(len(source_store.variables), 'variables')}: {few(missing)}",
            "Type partial=True to copy the others, first=n for the first layers, or names={...}",
        )
    return pairs


def _by_names(
    target_store: ValueStore, source_store: ValueStore, names: Mapping[str, str], request: str
) -> list[tuple[VariableEntry, VariableEntry]]:
    sources, targets = {v.name: v for v in target_store.variables}, {v.name: v for v in source_store.variables}
    pairs: dict[str, tuple[VariableEntry, VariableEntry]] = {}
    for old, new in names.items():
        old, new = str(old).removesuffix(":0"), str(new).removesuffix(":0")
        hits = expand_wildcard(old, new, sources, request) if "*" in old else {old: new} if old in sources else {}
        if not hits:
            raise PlanError(request, f"{target_store.title} has no variable {old!r}", one_of(old, sources))
        for name, target in hits.items():
            if target not in targets:
                raise PlanError(request, f"{source_store.title} has no variable {target!r}", one_of(target, targets))
            pairs[target] = (sources[name], targets[target])
    return list(pairs.values())


def _by_layers(
    target_store: ValueStore, source_store: ValueStore, first: int | None, request: str
) -> list[tuple[VariableEntry, VariableEntry]]:
    olds, news = _layers(target_store), _layers(source_store)
    count = max(len(olds), len(news)) if first is None else first
    for side, layers in ((target_store, olds), (source_store, news)):
        if not 0 < count <= len(layers):
            have = f"{side.title} has {counted(len(layers), 'layers')} with weights" + ": " * bool(layers) + few(layers)
            raise PlanError(request, have, "Give the pairs: names={'source': 'target'}, or first=n up to that")
    pairs = []
    for (old, a), (new, b) in list(zip(olds.items(), news.items(), strict=False))[:count]:
        if len(a) != len(b):
            raise PlanError(
                request,
                f"layer {old!r} of the source has {counted(len(a), 'variables')}, "
                f"and layer {new!r} of the target has {len(b)}",
                "Give the pairs: names={'source': 'target'}",
            )
        leaves = {v.name.rpartition("/")[2]: v for v in a}
        alike = len(leaves) == len(a) and all(v.name.rpartition("/")[2] in leaves for v in b)
        pairs += [(leaves[v.name.rpartition("/")[2]], v) for v in b] if alike else list(zip(a, b, strict=True))
    return pairs


def _layers(side: ValueStore) -> dict[str, list[VariableEntry]]:
    layers: dict[str, list[VariableEntry]] = {}
    for variable in side.variables:
        if variable.layer:
            layers.setdefault(variable.layer, []).append(variable)
    return layers


def _refuse_unlike(pairs: list[tuple[VariableEntry, VariableEntry]], request: str) -> None:
    from ..plan.type_check import shapes_differ

    for a, b in pairs:
        if a.dtype != b.dtype or shapes_differ(a.shape, b.shape):
            how = "Leave it out: first=n, or names={...} with the pairs that fit"
            if not shapes_differ(a.shape, b.shape):
                how = f"If it is an array, convert it: value.astype({b.dtype!r}); or leave it out: names={{...}}"
            raise PlanError(
                request, f"{a.name!r} of the source is {a.text}, but {b.name!r} of the target is {b.text}", how
            )
