"""Device names: their fields, the mapping of devices, and colocation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .types import TFNodeDef

_PART = re.compile(
    r"(job):([A-Za-z0-9_]+)|(replica|task):(\d+|\*)|device:([A-Za-z_]+)(?::(\d+|\*))?|([A-Za-z_]+):(\d+|\*)"
)
_ORDER = ("job", "replica", "task", "device")


def device_parts(name: str) -> dict[str, str] | None:
    """Returns a device name by its parts, or None if it is not a device name.

    Example:
        >>> device_parts("/job:ps/task:1/gpu:0")
        {'job': 'ps', 'task': '1', 'device': 'GPU:0'}
        >>> device_parts("gpu zero") is None
        True
    """
    out: dict[str, str] = {}
    if name and not name.startswith("/"):
        return None
    for piece in filter(None, name.split("/")):
        match = _PART.fullmatch(piece)
        if not match:
            return None
        job, job_name, unit, number, kind, place, old_kind, old_place = match.groups()
        if job:
            out["job"] = job_name
        elif unit:
            out[unit] = number
        elif kind:
            out["device"] = kind.upper() + (f":{place}" if place else "")
        elif old_kind.lower() in ("cpu", "gpu", "tpu"):  # the short form, for example /gpu:0
            out["device"] = f"{old_kind.upper()}:{old_place}"
        else:
            return None
    return out


def device_text(fields: Mapping[str, str]) -> str:
    """Returns the full name of a device given by its parts.

    Example:
        >>> device_text({"device": "GPU:0", "job": "ps"})
        '/job:ps/device:GPU:0'
    """
    return "".join(f"/{key}:{fields[key]}" for key in _ORDER if key in fields)


def substitute_device(name: str, rules: Sequence[tuple[str, str]]) -> str:
    """Returns the new device of an op on device `name`. The first fitting rule replaces the parts of `old`.

    Args:
        name: the device of the op; empty if it has none.
        rules: (old, new). A rule fits if the device of the op has every part of `old`; ``"*"`` fits every op.

    Example:
        >>> substitute_device("/job:ps/task:1/device:GPU:0", [("/gpu:0", "/cpu:0")])
        '/job:ps/task:1/device:CPU:0'
        >>> substitute_device("/gpu:1", [("/gpu:0", "/cpu:0")]), substitute_device("/gpu:1", [("*", "")])
        ('/gpu:1', '')
    """
    here = device_parts(name)
    for old, new in rules:
        target = device_parts(new)
        if target is None:
            continue
        if old == "*":
            return device_text(target)
        required = device_parts(old)
        if here is not None and required and all(_fits(here.get(key), value) for key, value in required.items()):
            rest = {key: value for key, value in here.items() if key not in required}
            return device_text({**rest, **target})
    return name


def colocate(node: TFNodeDef, names: Mapping[str, str]) -> None:
    """Renames the ops that a NodeDef is colocated with; colocations with ops without a new name are dropped.

    Args:
        node: the NodeDef, which is changed.
        names: name of an op that others are colocated with -> its new name.
    """
    if "_class" not in node.attr:
        return
    places = node.attr["_class"].list.s
    ops = [place.removeprefix(b"loc:@").decode(errors="replace") for place in places]
    places[:] = [f"loc:@{names[op]}".encode() for op in ops if op in names]
    if not places:
        del node.attr["_class"]


def _fits(device: str | None, required: str) -> bool:
    return device is not None and (device == required or device.partition(":")[0] == required)
