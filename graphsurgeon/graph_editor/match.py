"""Matches small patterns around an op."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ..tf.graph_parts import Operation, unwrap
from .select import can_be_regex, make_regex
from .util import WrongValue, check_type, type_error

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
        op = unwrap(op)
        check_type("an OpMatcher called", op, Operation)
        operands, waits, outputs = self.input_op_matches, self.control_input_op_matches, self.output_op_matches
        return (
            all(test(op) for test in self.positive_filters)
            and (operands is None or _in_order(operands, [t.op for t in op.inputs]))
            and (waits is None or _match_each(waits, op.control_inputs))
            and (outputs is None or _in_order(outputs, [t.consumers() for t in op.outputs]))
        )

    def input_ops(self, *args: Any) -> OpMatcher:
        """Requires that the producers of the inputs match, in order.

        Args:
            args: for each input a matcher, or an argument of `OpMatcher`, or None for any op.

        Raises:
            ValueError: this condition was set before.
        """
        return self._set("input_op", map(_matcher, args))

    def control_input_ops(self, *args: Any) -> OpMatcher:
        """Requires that the control inputs match, in any order; see `input_ops`.

        Args:
            args: for each control input a matcher, or an argument of `OpMatcher`, or None for any op.
        """
        return self._set("control_input_op", map(_matcher, args))

    def output_ops(self, *args: Any) -> OpMatcher:
        """Requires that the consumers of each output match, in any order.

        Args:
            args: for each output a matcher, a list of matchers, or None for any consumers.

        Raises:
            ValueError: this condition was set before.
        """
        several = (arg if isinstance(arg, list | tuple) else [arg] for arg in args)
        tests = (partial(_match_each, list(map(_matcher, arg))) for arg in several)
        return self._set("output_op", (None if arg is None else test for arg, test in zip(args, tests, strict=True)))

    def _set(self, what: str, matches: Iterable[Any]) -> OpMatcher:
        if getattr(self, f"{what}_matches") is not None:
            raise WrongValue(f"{what}s(...)", "it is already set for this matcher", "Make another OpMatcher")
        setattr(self, f"{what}_matches", list(matches))
        return self


def _in_order(matchers: list[Any], objects: list[Any]) -> bool:
    return len(matchers) == len(objects) and all(
        match is None or match(one) for match, one in zip(matchers, objects, strict=True)
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
    if can_be_regex(positive_filter):
        pattern = make_regex(positive_filter)
        return lambda op: pattern.search(op.name) is not None
    if isinstance(positive_filter, Operation):
        target = unwrap(positive_filter)
        return lambda op: op is target
    if positive_filter is True:
        return lambda op: True
    if callable(positive_filter):
        return lambda op: bool(positive_filter(op))
    raise type_error("OpMatcher(...)", "a regular expression, an op, a test or True", positive_filter, WrongValue)
