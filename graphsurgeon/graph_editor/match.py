"""Match: small patterns around an op."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..tf import elements
from . import select
from .faults import WrongValue, expected

__all__ = ["OpMatcher", "op_type"]


def op_type(op_types: Any, op: Any = None) -> Any:
    """Returns a test for the types of ops; or, with an op, whether it passes.

    Args:
        op_types: a type, or several.
        op: an op, or None.

    Example:
        >>> op_type(("Add", "AddV2")) is not None
        True
    """
    types = {op_types} if isinstance(op_types, str) else set(op_types)
    if op is None:
        return lambda candidate: candidate.node_def.op in types
    return op.node_def.op in types


class OpMatcher:
    """A test for an op and those around it: each call of a method adds to what must hold.

    Args:
        positive_filter: a regular expression for its name, an op, a test, or True for any op.

    Raises:
        ValueError: it is none of these.

    Example:
        ``OpMatcher(op_type("Mul")).input_ops(OpMatcher("^a"), True)(op)``
    """

    def __init__(self, positive_filter: Any) -> None:
        self._tests: list[Callable[[Any], bool]] = [_test(positive_filter)]

    def __call__(self, op: Any) -> bool:
        """Returns whether an op fits; for something else than an op, False."""
        return isinstance(op, elements.Operation) and all(test(op) for test in self._tests)

    def input_ops(self, *args: Any) -> OpMatcher:
        """Asks that the op has just these inputs, in order; each argument is a matcher, or what makes one."""
        return self._with(args, lambda op: [t.op for t in op.inputs])

    def control_input_ops(self, *args: Any) -> OpMatcher:
        """Asks that the op waits for just these ops, in any order."""
        matchers = [_matcher(arg) for arg in args]
        self._tests.append(lambda op: _matched(matchers, list(op.control_inputs)))
        return self

    def output_ops(self, *args: Any) -> OpMatcher:
        """Asks that each output has just these readers: one argument, or list of them, for each output."""
        wanted = [[_matcher(a) for a in (arg if isinstance(arg, list | tuple) else [arg])] for arg in args]

        def test(op: Any) -> bool:
            if len(wanted) != len(op.outputs):
                return False
            return all(_matched(some, list(t.consumers())) for some, t in zip(wanted, op.outputs, strict=True))

        self._tests.append(test)
        return self

    def _with(self, args: Iterable[Any], neighbours: Callable[[Any], list[Any]]) -> OpMatcher:
        matchers = [_matcher(arg) for arg in args]

        def test(op: Any) -> bool:
            ops = neighbours(op)
            return len(ops) == len(matchers) and all(m(o) for m, o in zip(matchers, ops, strict=True))

        self._tests.append(test)
        return self


def _matched(matchers: list[Any], ops: list[Any]) -> bool:
    """Whether each matcher can have an op of its own."""
    if len(matchers) != len(ops):
        return False
    if not matchers:
        return True
    first, rest = matchers[0], matchers[1:]
    return any(first(op) and _matched(rest, ops[:i] + ops[i + 1 :]) for i, op in enumerate(ops))


def _matcher(thing: Any) -> OpMatcher:
    return thing if isinstance(thing, OpMatcher) else OpMatcher(thing)


def _test(positive_filter: Any) -> Callable[[Any], bool]:
    if select.can_be_regex(positive_filter):
        pattern = select.make_regex(positive_filter)
        return lambda op: pattern.search(op.name) is not None
    if isinstance(positive_filter, elements.Operation):
        return lambda op: op is positive_filter
    if positive_filter is True:
        return lambda op: True
    if callable(positive_filter):
        return lambda op: bool(positive_filter(op))
    raise expected("OpMatcher(...)", "a regular expression, an op, a test or True", positive_filter, WrongValue)
