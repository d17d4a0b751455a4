"""Makers: functions that make one op of a type, out of tensors in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ...errors import PlanError
from ...plan.grafts import Site
from ...words import counted
from ..private.graphs import op_definition
from ..run.errors import words_of

_FUNCTION = "or give a Python function: plan.replace(..., lambda x: ...)"


def maker(kind: str, site: Site, asked: str) -> Callable[..., Any]:
    """Returns a function of tensors that makes one op of a type.

    Args:
        kind: the op type, as ``"Softplus"``. Attributes that its inputs do not say have their default values.
        site: what it is given, and what it is to give.
        asked: the request, for messages.

    Raises:
        PlanError: there is no such type, it takes or gives another number of tensors, or needs an attribute.
    """
    about, make = op_definition(kind), getattr(tf.raw_ops, kind, None)
    if about is None or make is None:
        raise PlanError(asked, f"TensorFlow has no op type {kind!r}", "Type one as 'Relu' or 'Softplus'")
    arguments, names = list(about.input_arg), list(site.inputs)
    lists = [arg.name for arg in arguments if arg.number_attr or arg.type_list_attr]
    extra = len(names) - len(arguments) + len(lists)
    if extra < len(lists) or (extra if not lists else len(lists) > 1):
        takes = ", ".join(arg.name for arg in arguments) or "nothing"
        wrong = f"{kind!r} takes {takes}, and what is replaced has {counted(len(names), 'inputs')}: {', '.join(names)}"
        raise PlanError(asked, wrong, f"Choose an op type of as many inputs, {_FUNCTION}")
    if len(about.output_arg) != len(site.outputs):
        gives, wanted = counted(len(about.output_arg), "outputs"), counted(len(site.outputs), "outputs")
        wrong = f"{kind!r} has {gives}, and what is replaced has {wanted}: {', '.join(site.outputs)}"
        raise PlanError(asked, wrong, f"Choose an op type of as many outputs, {_FUNCTION}")
    said = {name for arg in arguments for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)}
    unsaid = [attr.name for attr in about.attr if attr.name not in said and not attr.HasField("default_value")]
    if unsaid:
        wrong = f"{kind!r} needs a value for its attribute {unsaid[0]!r}"
        raise PlanError(asked, wrong, f"Choose another op type, {_FUNCTION}")

    def make_op(*given: Any) -> Any:
        rest, named = list(given), {}
        for arg in arguments:
            named[arg.name] = [rest.pop(0) for _ in range(extra)] if arg.name in lists else rest.pop(0)
        try:
            return make(**named)
        except (TypeError, ValueError) as error:
            wrong = f"TensorFlow makes no {kind!r} of {', '.join(names)}: {words_of(error)}"
            raise PlanError(asked, wrong, f"Choose an op type for these dtypes and shapes, {_FUNCTION}") from error

    return make_op
