"""What set_attr and set_device steps do."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import PlanError
from ...graph.devices import parts
from ..delta import Delta
from ..effect import Change
from ..step_code import request_of
from ..steps import SetStep
from ..tally import Tally
from .rewire import ops_of


def set_about(step: SetStep, so_far: Tally) -> Iterator[Delta]:
    """Notes the attributes or the device."""
    request = request_of(step)
    (ops,) = ops_of(so_far, request, step.ops)
    if step.device is not None and parts(step.device) is None:
        raise PlanError(request, f"{step.device!r} is not a device", "Type one, such as '/cpu:0' or '/job:ps/task:1'")
    for name, value in step.attributes:
        if value is None and not name.startswith("_"):
            problem = f"{name!r} is an attribute that the op type needs"
            raise PlanError(request, problem, "Only attributes that begin with '_' can be cleared")
    yield Delta(changes=dict.fromkeys(ops, Change(dict(step.attributes), step.device)))
