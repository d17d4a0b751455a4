"""Devices: the names by which ops ask for a place, taken apart and mapped: a copy's nodes by `tf.copy.node_defs`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .live import TFNodeDef

_PART = re.compile(
    r"(job):([A-Za-z0-9_]+)|(replica|task):(\d+|\*)|device:([A-Za-z_]+)(?::(\d+|\*))?|([A-Za-z_]+):(\d+|\*)"
)
_ORDER = ("job", "replica", "task", "device")


def parts(name: str) -> dict[str, str] | None:
    """Returns a device name by its parts, or None where it is not a device name.

    Example:
        >>> parts("/job:ps/task:1/gpu:0")
        {'job': 'ps', 'task': '1', 'device': 'GPU:0'}
        >>> parts("gpu zero") is None
        True
    """
    out: dict[str, str] = {}
    if name and not name.startswith("/"):
        return None
    for piece in filter(None, name.split("/")):
        found = _PART.fullmatch(piece)
        if not found:
            return None
        job, job_name, unit, number, kind, place, old_kind, old_place = found.groups()
        if job:
            out["job"] = job_name
        elif unit:
            out[unit] = number
        elif kind:
            out["device"] = kind.upper() + (f":{place}" if place else "")
        elif old_kind.lower() in ("cpu", "gpu", "tpu"):  # the short form, as in /gpu:0
            out["device"] = f"{old_kind.upper()}:{old_place}"
        else:
            return None
    return out


def text_of(found: Mapping[str, str]) -> str:
    """Returns the full name of a device given by its parts.

    Example:
        >>> text_of({"device": "GPU:0", "job": "ps"})
        '/job:ps/device:GPU:0'
    """
    return "".join(f"/{key}:{found[key]}" for key in _ORDER if key in found)


def moved(name: str, rules: Sequence[tuple[str, str]]) -> str:
    """Returns the device an op of device `name` gets: the first rule that fits gives way to its new parts.

    Args:
        name: the device of the op; empty where it asks for none.
        rules: (old, new): fits where the op names every part of `old`; ``"*"`` fits every op.

    Example:
        >>> moved("/job:ps/task:1/device:GPU:0", [("/gpu:0", "/cpu:0")])
        '/job:ps/task:1/device:CPU:0'
        >>> moved("/gpu:1", [("/gpu:0", "/cpu:0")]), moved("/gpu:1", [("*", "")])
        ('/gpu:1', '')
    """
    here = parts(name)
    for old, new in rules:
        target = parts(new)
        if target is None:
            continue
        if old == "*":
            return text_of(target)
        wanted = parts(old)
        if here is not None and wanted and all(_fits(here.get(key), value) for key, value in wanted.items()):
            rest = {key: value for key, value in here.items() if key not in wanted}
            return text_of({**rest, **target})
    return name


def colocate(node: TFNodeDef, names: Mapping[str, str]) -> None:
    """Lets a NodeDef ask for the place of ops by their new names; those that have none are asked for no more.

    Args:
        node: the NodeDef, which is changed.
        names: name of an op by which places are asked for -> its new one.
    """
    if "_class" not in node.attr:
        return
    places = node.attr["_class"].list.s
    ops = [place.removeprefix(b"loc:@").decode(errors="replace") for place in places]
    places[:] = [f"loc:@{names[op]}".encode() for op in ops if op in names]
    if not places:
        del node.attr["_class"]


def _fits(have: str | None, want: str) -> bool:
    return have is not None and (have == want or have.partition(":")[0] == want)
