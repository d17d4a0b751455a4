"""Matches small patterns around an op."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..tf import graph_parts
from . import select
from .util import WrongValue, type_error

__all__ = ["OpMatcher", "op_type"]


def op_type(op_types: Any, op: Any = None) -> Any:
    """Returns a test for the type of an op; or, with an op, the result of the test.

    A type includes its later versions, because code that made an ``Add`` in TF 1 makes an ``AddV2`` today.

    Args:
        op_types: a type, or several types.
        op: an op, or None.

    Example:
        >>> import tensorflow as tf
        >>> with tf.Graph().as_default():
        ...     total = tf.add(1.0, 2.0)
        >>> total.op.type, op_type("Add", total.op), op_type(("Mul", "Sub"))(total.op)
        ('AddV2', True, False)
    """
    types = (op_types,) if isinstance(op_types, str) else tuple(op_types)

    def test(candidate: Any) -> bool:
        kind = candidate.node_def.op
        return any(
            kind == op_type_name or re.fullmatch(r"V\d+", kind.removeprefix(op_type_name)) for op_type_name in types
        )

    return test if op is None else test(op)


class OpMatcher:
    """A test for an op and the ops around it. Calls of its methods add conditions.

    Args:
        positive_filter: a regular expression for its name, an op, a test, or True for any op.

    Raises:
        ValueError: `positive_filter` has another type.

    Example:
        ``OpMatcher(op_type("Mul")).input_ops(OpMatcher("^a"), True)(op)``
    """

    def __init__(self, positive_filter: Any) -> None:
        self.positive_filters: list[Callable[[Any], bool]] = [_test(positive_filter)]
        self.input_op_matches: list[Any] | None = None
        self.control_input_op_matches: list[Any] | None = None
        self.output_op_matches: list[Any] | None = None

    def __call__(self, op: Any) -> bool:
        """Returns whether an op matches.

        Raises:
            TypeError: `op` is not an op.
        """
        op = graph_parts.unwrap(op)
        if not isinstance(op, graph_parts.Operation):
            raise type_error("an OpMatcher called", "a tf.Operation", op)
        if not all(test(op) for test in self.positive_filters):
            return False
        if self.input_op_matches is not None and not _in_order(self.input_op_matches, [t.op for t in op.inputs]):
            return False
        if self.control_input_op_matches is not None and not _match_each(
            self.control_input_op_matches, op.control_inputs
        ):
            return False
        readers = self.output_op_matches
        if readers is None:
            return True
        return len(readers) == len(op.outputs) and all(
            pattern is None or _match_each(pattern, t.consumers())
            for pattern, t in zip(readers, op.outputs, strict=True)
        )

    def input_ops(self, *args: Any) -> OpMatcher:
        """Requires that the producers of the inputs match, in order.

        Args:
            args: for each input a matcher, or an argument of `OpMatcher`, or None for any op.

        Raises:
            ValueError: this condition was set before.
        """
        self._once("input_ops", self.input_op_matches)
        self.input_op_matches = [_matcher(arg) for arg in args]
        return self

    def control_input_ops(self, *args: Any) -> OpMatcher:
        """Requires that the control inputs match, in any order; see `input_ops`.

        Args:
            args: for each control input a matcher, or an argument of `OpMatcher`, or None for any op.
        """
        self._once("control_input_ops", self.control_input_op_matches)
        self.control_input_op_matches = [_matcher(arg) for arg in args]
        return self

    def output_ops(self, *args: Any) -> OpMatcher:
        """Requires that the consumers of each output match, in any order.

        Args:
            args: for each output a matcher, a list of matchers, or None for any consumers.

        Raises:
            ValueError: this condition was set before.
        """
        self._once("output_ops", self.output_op_matches)
        self.output_op_matches = [
            None if arg is None else [_matcher(one) for one in (arg if isinstance(arg, list | tuple) else [arg])]
            for arg in args
        ]
        return self

    def _once(self, verb: str, previous: list[Any] | None) -> None:
        if previous is not None:
            raise WrongValue(f"{verb}(...)", "it is already set for this matcher", "Make another OpMatcher")


def _in_order(matchers: list[Any], ops: list[Any]) -> bool:
    return len(matchers) == len(ops) and all(
        match is None or match(op) for match, op in zip(matchers, ops, strict=True)
    )


def _match_each(matchers: list[Any], ops: Any) -> bool:
    """Returns whether all matchers can be paired with different ops."""
    ops = list(ops)
    if len(matchers) != len(ops):
        return False
    if not matchers:
        return True
    first, rest = matchers[0], matchers[1:]
    return any((first is None or first(op)) and _match_each(rest, ops[:i] + ops[i + 1 :]) for i, op in enumerate(ops))


def _matcher(obj: Any) -> Any:
    return obj if obj is None or isinstance(obj, OpMatcher) else OpMatcher(obj)


def _test(positive_filter: Any) -> Callable[[Any], bool]:
    if select.can_be_regex(positive_filter):
        pattern = select.make_regex(positive_filter)
        return lambda op: pattern.search(op.name) is not None
    if isinstance(positive_filter, graph_parts.Operation):
        target = graph_parts.unwrap(positive_filter)
        return lambda op: op is target
    if positive_filter is True:
        return lambda op: True
    if callable(positive_filter):
        return lambda op: bool(positive_filter(op))
    raise type_error("OpMatcher(...)", "a regular expression, an op, a test or True", positive_filter, WrongValue)
