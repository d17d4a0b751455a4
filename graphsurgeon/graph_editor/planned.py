"""Planned: a view copied as one plan of the engine: whole, checked, all or nothing.

The engine reads the whole graph to know what a copy needs besides its ops: names, loops, places, variables, a dozen
tables of it. Plain ops need nothing else, and a few of them in a large graph, as old programs copy them over and over,
are imported without a plan. Measured with TensorFlow 2.21 (`python -m benchmarks graph_editor` compares the two in each
run): 10 ops of 30,000 in 32 ms, nearly all of it TensorFlow's own import, instead of 160 ms; 1,000 in 95 ms instead of
245 ms. `tf.contrib.graph_editor` read all ops of the graph for each copy, in Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import lt
from typing import Any

from ..editor import Editor
from ..errors import StalePlanError
from ..graph.opened import Opened
from ..graph.selection import listed
from ..tf import elements
from ..tf.edit import rewire as rewiring
from ..words import counted, few
from . import select
from .faults import as_values, expected, tell
from .handlers import (
    assign_renamed_collections_handler,
    keep_t_if_possible_handler,
    note_originals,
    place,
    replace_t_with_placeholder_handler,
)
from .info import Names, OutputMap, TensorMap

#: a plan copies a part that has more than one of this number of ops of the graph
SHARE = 8


def run(info: Any, transformer: Any, replaced: Mapping[Any, Any], variables: Mapping[str, Any]) -> list[Any]:
    """Copies the view of an info, and notes the new place of each op and tensor in it.

    Args:
        info: the `TmpInfo`.
        transformer: for its handlers of tensors from outside, of collections and of original ops.
        replaced: tensors of the source -> tensors of the destination; those inside the view count too.
        variables: name of a variable's op -> tensor that replaces the variable.

    Returns:
        the ops of the copy in order.

    Raises:
        ValueError: the engine refuses; the destination is as it was.
    """
    inputs, stand_ins = _from_outside(info, transformer, replaced, variables)
    few = None if variables else copied_plainly(info, inputs)
    if few is not None:
        _keep(info, inputs, few)
        note_originals(info, transformer, few)
        place(info, transformer, few)
        return [new for _, new in few]
    # If all names are the old ones under a new scope, the engine needs no table of them.
    plain = info.fresh and not info.scope and all(t in inputs or t.op.name in variables for t in info.sgv.edge[0])
    names = None if plain else Names(info)
    quiet = transformer.assign_collections_handler is not assign_renamed_collections_handler
    try:
        done, copied = _apply(info, inputs, variables, names, quiet)
    except StalePlanError:  # an edge has changed since it was read: read again
        rewiring.journal(info.graph).keep(None)
        done, copied = _apply(info, inputs, variables, names, quiet)
    old, made = info.graph.get_operations(), done.made.ops
    # TensorFlow may have made them in another order than they were asked for, so by name.
    live = dict(zip(made, info.graph_.get_operations()[-len(made) :], strict=True))
    pairs = [(old[i], live[name]) for i, name in zip(copied.ops.tolist(), copied.names, strict=True)]
    _keep(info, inputs, pairs)
    for placeholder in copied.placeholders:
        info.given[info.graph.as_graph_element(placeholder.was)] = info.graph_.get_tensor_by_name(
            f"{placeholder.name}:0"
        )
    note_originals(info, transformer, pairs)
    if quiet:
        _custom_collections(info, transformer, pairs, done)
    _say(info, copied, done, stand_ins)
    return [new for _, new in pairs]


def copied_plainly(info: Any, inputs: Mapping[Any, Any]) -> list[tuple[Any, Any]] | None:
    """Copies a view of a few plain ops within a large graph in one import, without reading the graph: all or nothing.

    Args:
        info: the `TmpInfo`.
        inputs: tensor from outside -> tensor that is read in its place.

    Returns:
        (op, its copy) in order; None if the engine must do it, because TensorFlow refuses: the engine reports why.
    """
    if info.graph is not info.graph_ or len(info.sgv.ops) * SHARE > len(info.graph.get_operations()):
        return None
    ops = sorted(info.sgv.ops, key=elements.number_of)
    inside = set(ops)
    if any(t.op in inside for t in inputs) or not all(map(elements.is_plain, ops)):
        return None
    if any(t not in inputs and t.op not in inside for op in ops for t in op.inputs):
        return None
    if any(new is not t and (elements.is_held(t) or new.dtype != t.dtype) for t, new in inputs.items()):
        return None
    names = dict(Names(info))
    # What waits for a replaced tensor waits for the new one.
    waits = {t.op: new.op for t, new in inputs.items()}
    made = elements.copied_plainly(info.graph, ops, names, inputs, waits, info.scope_.rstrip("/"))
    return None if made is None else [(op, made[names[op.name]]) for op in ops]


def _keep(info: Any, inputs: TensorMap, pairs: list[tuple[Any, Any]]) -> None:
    info.transformed_ops = dict(pairs)
    info.transformed_ts = OutputMap(info.transformed_ops)
    info.given = TensorMap(inputs.items())


def _from_outside(
    info: Any, transformer: Any, replaced: Mapping[Any, Any], variables: Mapping[str, Any]
) -> tuple[TensorMap, set[int]]:
    """Asks the handlers about each tensor that enters, once; what is to become a placeholder is left to the engine."""
    listed, same = {id(t) for t in info.sgv.inputs}, info.graph is info.graph_
    inputs, hidden = TensorMap(), set()
    inside = {id(op) for op in info.sgv.ops} if replaced else set()
    for t in replaced:
        if any(id(op) in inside for op in t.consumers()):
            inputs[t] = replaced[t]
    for t in _entering(info.sgv):
        if t in inputs or t.op.name in variables:
            continue
        handler = transformer.external_handler(id(t) in listed)
        if handler is replace_t_with_placeholder_handler or (handler is keep_t_if_possible_handler and not same):
            # A requested placeholder needs no warning; any other does.
            if handler is not replace_t_with_placeholder_handler:
                hidden.add(id(t))
            continue
        new = t if handler is keep_t_if_possible_handler else handler(info, t)
        if not isinstance(new, elements.Tensor):
            raise expected(f"a handler for {t.name!r}", "a tf.Tensor", new)
        inputs[t] = new
    return inputs, hidden


def _entering(sgv: Any) -> list[Any]:
    """The tensors that enter a view, in the order in which its ops were made."""
    if not sgv.edge[0]:
        return []
    numbers = [elements.number_of(op) for op in sgv.ops]
    if all(map(lt, numbers, numbers[1:])):
        return list(sgv.edge[0])
    return select.compute_boundary_ts(sorted(sgv.ops, key=elements.number_of))[0]


def _apply(
    info: Any, inputs: TensorMap, variables: Mapping[str, Any], names: Names | None, quiet: bool
) -> tuple[Any, Any]:
    same = info.graph is info.graph_
    with as_values():
        held = rewiring.journal(info.graph)
        source = Editor(Opened(info.graph, "the source graph"), held.known())
        destination = source if same else Editor(Opened(info.graph_, "the destination graph"))
        snapshot = source.snapshot
        held.keep(snapshot)
        selection = listed(snapshot, (snapshot.index[op.name] for op in info.sgv.ops))
        plan = destination.plan().copy(
            selection,
            to=info.scope_,
            inputs=inputs,
            unmapped="placeholder",
            control="keep" if same else "drop",
            variables={"*": "copy", **variables},
            collections="none" if quiet else "rename",
            names=names,
        )
        applied = destination.apply(plan, record=False)
    return applied, applied.effect.copies[0]


def _custom_collections(info: Any, transformer: Any, pairs: list[tuple[Any, Any]], done: Any) -> None:
    """Calls the handler to place ops and tensors, and places variables, which it does not handle."""
    place(info, transformer, pairs)
    by_name = {new.op.name: new for new in done.variables}
    made = {old.name: by_name[new.name] for old, new in pairs if new.name in by_name}
    elements.join_collections(info.graph, info.graph_, made, info.new_collection)


def _say(info: Any, copied: Any, done: Any, hidden: set[int]) -> None:
    """Says, in one warning, what was not copied as it was."""
    said = []
    anew = [p.was for p in copied.placeholders if id(info.graph.as_graph_element(p.was)) in hidden]
    if anew:
        outside = f"{counted(len(anew), 'tensors')} from outside"
        said.append(f"placeholders in the place of {outside}: {few(map(repr, anew))}")
    if copied.dropped:
        edges = [f"{a} after {b}" for a, b in copied.dropped]
        said.append(f"{counted(len(edges), 'control inputs')} from outside left out: {few(map(repr, edges))}")
    if done.made.missed:
        said.append(f"no gradient goes through parts of loops or conds: {few(map(repr, done.made.missed))}")
    if said:
        tell(f"copied {info.scope_ or 'the view'}: " + "; ".join(said))
