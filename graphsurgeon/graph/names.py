"""Naming: which names a copy may take, and which collections keep theirs."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import TYPE_CHECKING, Any

from .graph import Graph

if TYPE_CHECKING:
    from ..plan.workbench import Workbench

_SCOPE = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\\-]*(/[A-Za-z0-9_.\\\->]+)*")

#: Variable and training collections: a trainer, a Saver or an initialiser must find what is in them.
COLLECTIONS_KEPT = frozenset(
    {
        "variables", "local_variables", "trainable_variables", "model_variables", "metric_variables",
        "moving_average_variables", "concatenated_variables", "trainable_resource_variables", "eval_step",
        "global_step", "train_op", "losses", "regularization_losses", "update_ops", "summaries", "table_initializer",
        "queue_runners", "init_op", "local_init_op", "ready_op", "ready_for_local_init_op", "cond_context",
        "while_context", "asset_filepaths", "saveable_objects", "resources", "local_resources",
    }
)  # fmt: skip


#: Those that optimizers look in for what they are to train.
TRAINABLE_LISTS = frozenset({"trainable_variables", "trainable_resource_variables"})

#: Of these a graph may hold one entry: a trainer that finds two gives up.
SINGLES = frozenset({"global_step", "init_op", "local_init_op", "ready_op", "ready_for_local_init_op"})

#: What "variables" keeps: the two lists that the copier of 2016 did not put under the namespace.
VARIABLE_LISTS = frozenset({"variables", "trainable_variables"})


def under(scope: str, name: str) -> str:
    """Returns the name that `name` has under a scope; an empty scope leaves it as it is.

    Example:
        >>> under("copy", "a/b"), under("", "a/b")
        ('copy/a/b', 'a/b')
    """
    return f"{scope}/{name}" if scope else name


def valid_scope(scope: str) -> bool:
    """Returns whether TensorFlow takes this as a name scope.

    Example:
        >>> valid_scope("copy/a"), valid_scope("a b"), valid_scope("a//b")
        (True, False, False)
    """
    return bool(_SCOPE.fullmatch(scope))


def taken(graph: Graph | Workbench, scope: str) -> bool:
    """Returns whether an op or a scope of this name is there already (case does not make a difference)."""
    return graph.taken(scope)


def free_scope(graph: Graph | Workbench, wish: str) -> str:
    """Returns `wish`, or the first of ``wish_2``, ``wish_3`` … that is free.

    Example:
        >>> free_scope(Graph.of([("copy/a", "Const", [])]), "copy")
        'copy_2'
    """
    if not taken(graph, wish):
        return wish
    stem, n = wish, 2
    found = re.fullmatch(r"(.*)_(\d+)", wish)
    if found:
        stem, n = found[1], int(found[2]) + 1
    while taken(graph, f"{stem}_{n}"):
        n += 1
    return f"{stem}_{n}"


def placeholder_name(op: str, port: int, used: Container[str]) -> str:
    """Returns a name for what stands in for output `port` of `op`: the op's own name where it is free."""
    name = op if port == 0 else f"{op}_{port}"
    base, n = name, 1
    while name in used:
        name, n = f"{base}_in{n if n > 1 else ''}", n + 1
    return name


def tensor_name(thing: Any) -> str:
    """Returns the name of a tensor given by name or object; an op stands for its output 0."""
    name = str(getattr(thing, "name", thing))
    return name if ":" in name else f"{name}:0"


def op_name(thing: Any) -> str:
    """Returns the name of an op given by name, op or one of its tensors."""
    return str(getattr(thing, "name", thing)).partition(":")[0]
