"""Select: ops and tensors by name and by a test; with the walks of `walks`, which are here too."""

from __future__ import annotations

import re
from typing import Any

from ..tf import elements
from . import util
from .faults import WrongValue, expected
from .walks import (
    check_cios,
    compute_boundary_ts,
    get_backward_walk_ops,
    get_forward_walk_ops,
    get_ops_ios,
    get_walks_intersection_ops,
    get_walks_union_ops,
    get_within_boundary_ops,
    inputs_of,
)

__all__ = [
    "can_be_regex", "make_regex", "filter_ts", "filter_ts_from_regex", "filter_ops", "filter_ops_from_regex",
    "get_name_scope_ops", "check_cios", "get_ops_ios", "compute_boundary_ts", "get_within_boundary_ops",
    "get_forward_walk_ops", "get_backward_walk_ops", "get_walks_intersection_ops", "get_walks_union_ops", "select_ops",
    "select_ts", "select_ops_and_ts",
]  # fmt: skip


def can_be_regex(obj: Any) -> bool:
    """Returns whether this is text or a compiled regular expression."""
    return isinstance(obj, str | re.Pattern)


def make_regex(obj: Any) -> re.Pattern[str]:
    """Returns a compiled regular expression.

    Raises:
        ValueError: it is neither text nor one.
    """
    if not can_be_regex(obj):
        raise expected("make_regex(...)", "text or a regular expression", obj, WrongValue)
    return re.compile(obj)


def _get_input_ts(ops: Any) -> list[Any]:
    """Returns the tensors that ops read, each once. Programs call this, whatever its name says."""
    return inputs_of(util.make_list_of_op(ops))


def _get_output_ts(ops: Any) -> list[Any]:
    """Returns the tensors that ops compute. Programs call this, whatever its name says."""
    return [t for op in util.make_list_of_op(ops) for t in op.outputs]


def filter_ts(ops: Any, positive_filter: Any) -> list[Any]:
    """Returns the tensors that ops read or compute and that pass a test.

    Args:
        ops: what can be made a list of ops.
        positive_filter: called with each tensor; True takes all.
    """
    ops = util.make_list_of_op(ops)
    ts = util.concatenate_unique(_get_input_ts(ops), _get_output_ts(ops))
    return ts if positive_filter is True else [t for t in ts if positive_filter(t)]


def filter_ts_from_regex(ops: Any, regex: Any) -> list[Any]:
    r"""Returns the tensors around ops whose names a regular expression finds, as ``r"^foo(/.*)?:\d+$"``."""
    pattern = make_regex(regex)
    return filter_ts(ops, lambda t: pattern.search(t.name))


def filter_ops(ops: Any, positive_filter: Any) -> list[Any]:
    """Returns the ops that pass a test; True takes all."""
    ops = util.make_list_of_op(ops)
    return ops if positive_filter is True else [op for op in ops if positive_filter(op)]


def filter_ops_from_regex(ops: Any, regex: Any) -> list[Any]:
    """Returns the ops whose names a regular expression finds, as ``"^foo(/.*)?$"``."""
    pattern = make_regex(regex)
    return filter_ops(ops, lambda op: pattern.search(op.name))


def get_name_scope_ops(ops: Any, scope: str) -> list[Any]:
    """Returns the ops in a name scope, taken literally: ``a.b`` does not mean ``axb`` too."""
    return filter_ops_from_regex(ops, f"^{re.escape(scope.removesuffix('/'))}(/.*)?$")


def select_ops(*args: Any, **kwargs: Any) -> list[Any]:
    """Returns ops by regular expression, or from lists; tensors among the arguments are left out.

    Args:
        args: regular expressions (one that begins with ``(?#ts)`` is meant for tensors), ops, lists of ops.
        kwargs: `graph`, needed for regular expressions; `positive_filter`, a test; `restrict_ops_regex`: only
            expressions that begin with ``(?#ops)`` are meant for ops.

    Raises:
        TypeError: an argument is something else.
        ValueError: an unknown keyword, or an expression without a graph.
    """
    return _select("ops", args, kwargs, filter_ops_from_regex, lambda arg: util.make_list_of_op(arg, ignore_ts=True))


def select_ts(*args: Any, **kwargs: Any) -> list[Any]:
    """Returns tensors by regular expression, or from lists; ops among the arguments are left out.

    Args:
        args: regular expressions (one that begins with ``(?#ops)`` is meant for ops), tensors, lists of tensors.
        kwargs: `graph`, needed for regular expressions; `positive_filter`, a test; `restrict_ts_regex`: only
            expressions that begin with ``(?#ts)`` are meant for tensors.

    Raises:
        TypeError: an argument is something else.
        ValueError: an unknown keyword, or an expression without a graph.
    """
    return _select("ts", args, kwargs, filter_ts_from_regex, lambda arg: util.make_list_of_t(arg, ignore_ops=True))


_KEYWORDS = ("graph", "positive_filter", "restrict_ops_regex", "restrict_ts_regex")


def _select(kind: str, args: Any, kwargs: dict[str, Any], by_regex: Any, from_list: Any) -> list[Any]:
    other = "ts" if kind == "ops" else "ops"
    for key in kwargs:
        if key not in _KEYWORDS:
            raise WrongValue(f"select_{kind}(..., {key}=...)", f"wrong keyword argument: {key}",
                             f"Choose one of {', '.join(_KEYWORDS)}")  # fmt: skip
    graph, test = kwargs.get("graph"), kwargs.get("positive_filter")
    if graph is not None and not isinstance(graph, elements.Graph):
        raise expected(f"select_{kind}(..., graph=...)", "a tf.Graph", graph)
    found: list[Any] = []
    for arg in args:
        if can_be_regex(arg):
            if graph is None:
                raise WrongValue(f"select_{kind}({arg!r})", "a regular expression needs a graph to look in",
                                 "Use the keyword argument 'graph'")  # fmt: skip
            regex = make_regex(arg)
            meant = not kwargs.get(f"restrict_{kind}_regex") or regex.pattern.startswith(f"(?#{kind})")
            if not meant or regex.pattern.startswith(f"(?#{other})"):
                continue
            found += by_regex(graph, regex)
        else:
            found += from_list(arg)
    found = util.concatenate_unique([], found)
    return found if test is None else [top for top in found if test(top)]


def select_ops_and_ts(*args: Any, **kwargs: Any) -> tuple[list[Any], list[Any]]:
    """Returns ops and tensors; an expression for tensors begins with ``(?#ts)``. See `select_ops`."""
    ops = select_ops(*args, restrict_ops_regex=False, **kwargs)
    return ops, select_ts(*args, restrict_ts_regex=True, **kwargs)
