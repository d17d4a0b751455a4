"""Rename: inputs, outputs, scopes and variables under new names, from a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..editor import Editor
from ..graph.names import starred
from ..graph.orphans import orphan_mask
from ..plan.plan import Plan
from .subject import Subject, ends_now, subject, unread


def rename(thing: Any, names: Mapping[str, str]) -> Plan:
    """Renames ops, scopes and variables, all at once. Their consumers read them under the new names.

    Like `Plan.rename`, with patterns. `rename_checkpoint` does the same for the names in a checkpoint.

    Args:
        thing: an editor; or a plan, to add to.
        names: old name -> new one, of an op, a variable, or a scope with all its ops. Or patterns with one ``*`` on
            both sides, for example ``{"block*/weights": "stage*/kernel"}``: each op of such a name, with all ops in its
            scope.

    Raises:
        PlanError: if no new name is given, a pattern matches nothing, or only one side of a pattern has a ``*``.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
        ...     y = tf.exp(tf.negative(x, name="block1/neg"), name="block2/exp")
        >>> gs.recipes.rename(gs.open(graph), {"x": "image", "block*/exp": "stage*/e"}).after().names
        ['image', 'block1/neg', 'stage2/e']
    """
    found = subject(thing, "rename()")
    known, new = found.graph.index, dict[str, str]()
    for old, to in names.items() if isinstance(names, Mapping) else ():
        if "*" not in old:
            new[old.removesuffix(":0")] = to.removesuffix(":0")
            continue
        fits = starred(old, to, known, found.request)
        if not fits:
            head, _, tail = old.partition("*")
            raise found.refused(
                f"no op matches {old!r}", f"ed.find({head.strip('/') or tail.strip('/')!r}) lists similar names"
            )
        new |= fits
    new = {old: to for old, to in new.items() if old != to}
    if not new:
        raise found.refused("names= is empty", "Type names={'old': 'new'}")
    return found.plan.rename(new)


def rows(editor: Editor) -> list[str]:
    """Returns the names that users usually change: inputs, outputs, outermost scopes and variables, in this order."""
    graph = editor.snapshot
    found = Subject(editor.plan(), graph, frozenset(), (), "rename()")
    inputs, outputs = ends_now(editor)
    parts = tuple(f"{name}/" for name in graph.state.variables)
    ends = [end for end in (*inputs.values(), *(outputs.values() or unread(graph))) if not end.startswith(parts)]
    fed = [graph.names[op] for op in found.typed("Placeholder", "PlaceholderV2")]
    scopes = [name for name in graph.scopes.index if name and "/" not in name]
    named = [*(end.partition(":")[0] for end in ends), *fed, *scopes, *graph.state.variables]
    living = ~orphan_mask(graph)
    known = {name for name in named if name in graph.index and living[graph.index[name]]}
    known |= {name for name in named if name in graph.scopes.index and (graph.scope_mask(name) & living).any()}
    return [name for name in dict.fromkeys(named) if name in known]
