"""Rewriting: what a copied node has other than the original, beyond its names: op type, device, seeds, gradient."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

from ...graph.devices import moved
from ...plan.copied import Copied

Rewrite = Callable[[int, Any], None]


def rewriter(copied: Copied, gradients: Mapping[int, str]) -> Rewrite | None:
    """Returns a call that changes the NodeDef of a copy, given the number of the source op; None for nothing to do.

    Args:
        copied: the copy.
        gradients: source op number -> the gradient its copy is registered with.
    """
    step = copied.step
    changes: list[Rewrite] = []
    if copied.turned:
        changes.append(lambda number, node: turn(copied, number, node))
    if step.device != "keep":
        changes.append(lambda number, node: _place(node, step.device))
    if step.seeds == "new":
        changes.append(lambda number, node: _reseed(node))
    if gradients:
        changes.append(lambda number, node: _gradient(node, gradients.get(number)))
    if not changes:
        return None

    def rewrite(number: int, node: Any) -> None:
        for change in changes:
            change(number, node)

    return rewrite


def turn(copied: Copied, number: int, node: Any) -> None:
    """Makes an op that reads a resource variable one that reads a tensor."""
    kind = copied.turned.get(number)
    if kind is None:
        return
    attributes = {name: type(value).FromString(value.SerializeToString()) for name, value in node.attr.items()}
    node.op = kind
    node.attr.clear()

    def keep(old: str, new: str) -> None:
        if old in attributes:
            node.attr[new].CopyFrom(attributes[old])

    if kind == "Identity":
        keep("dtype", "T")
    elif kind == "Shape":
        keep("out_type", "out_type")
        variable = copied.source.nodes[int(copied.source.data.row(number)[0])]
        node.attr["T"].type = variable.attr["dtype"].type
    else:
        keep("dtype", "Tparams")
        keep("Tindices", "Tindices")
        if kind == "Gather":
            keep("validate_indices", "validate_indices")
    for name in attributes:
        if name.startswith("_"):
            keep(name, name)


def _place(node: Any, device: str | tuple[tuple[str, str], ...]) -> None:
    node.device = "" if device == "clear" else moved(node.device, device)  # type: ignore[arg-type]


def _reseed(node: Any) -> None:
    """Gives a random op that has a seed another one, which its name decides."""
    attributes = node.attr
    if "seed" in attributes and "seed2" in attributes and (attributes["seed"].i or attributes["seed2"].i):
        attributes["seed2"].i = (zlib.crc32(node.name.encode()) & 0x7FFFFFFF) | 1


def _gradient(node: Any, name: str | None) -> None:
    if name is not None:
        node.attr["_gradient_op_type"].s = name.encode()
