"""Revising: the edits of what a graph has already, made on screen, by hand; each adds a step to the plan."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .core.edits import few, free_name
from .core.plan import Plan, op_name, tensor_name
from .errors import SelectionError, did_you_mean
from .view.items import ops_named

if TYPE_CHECKING:
    from .core.graph import Graph


class Revising:
    """The part of a `Screen` that edits. Names are those of the destination, as the plan leaves it."""

    if TYPE_CHECKING:

        @property
        def draft(self) -> Plan:
            """The plan being made."""

        def _graph(self, pane: str) -> Graph: ...

        def _set(self, plan: Plan) -> None: ...

        def _say_plan(self, text: str, warn: bool = True) -> None: ...

    def reroute(self, old: Any, to: Any) -> None:
        """What reads tensor `old` shall read tensor `to`."""
        self._edit(lambda plan: plan.reroute(old, to=to), f"what reads {tensor_name(old)} will read {tensor_name(to)}")

    def swap(self, a: Any, b: Any) -> None:
        """The consumers of two tensors change places."""
        self._edit(lambda plan: plan.swap(a, b), f"{tensor_name(a)} and {tensor_name(b)} change places")

    def bypass(self, op: Any) -> None:
        """What reads an op shall read what its first input reads."""
        self._edit(lambda plan: plan.bypass(op), f"{op_name(op)} will be bypassed")

    def detach(self, names: Sequence[str], side: str = "both") -> None:
        """Cuts boxes off: placeholders feed them (``inputs``), or feed what reads them (``outputs``), or ``both``."""
        ops = self._ops(names, "detach")
        self._edit(lambda plan: plan.detach(ops, side=side), f"{few(ops)} will be cut off")

    def insert(self, op: str, on: Any, name: str | None = None) -> None:
        """Puts a new op of one input between a tensor and all that reads it.

        Args:
            op: its type, as ``"Identity"``.
            on: the tensor.
            name: what to call it; None: a free name beside the op of the tensor.
        """
        free = name or free_name(self._graph("destination"), f"{op_name(on)}_{op.lower()}")
        self._edit(lambda plan: plan.insert(op, on=on, name=free), f"{free} will stand behind {tensor_name(on)}")

    def remove(self, names: Sequence[str], stitch: bool = False) -> None:
        """Takes boxes out of the graph; with `stitch`, what read them reads what they read first."""
        ops = self._ops(names, "remove")
        self._edit(lambda plan: plan.remove(ops, stitch=stitch), f"{few(ops)} will go")

    def set_attr(self, names: Sequence[str], name: str, value: Any) -> None:
        """Sets an attribute of all ops of boxes; a text is read as Python where it is some: ``[1, 2]``, ``None``."""
        ops, value = self._ops(names, "set_attr"), _read(value)
        self._edit(lambda plan: plan.set_attr(ops, name, value), f"{name} of {few(ops)} will be {value!r}")

    def set_device(self, names: Sequence[str], device: str) -> None:
        """Places all ops of boxes on a device; an empty text lets TensorFlow choose."""
        ops = self._ops(names, "set_device")
        self._edit(lambda plan: plan.set_device(ops, device), f"{few(ops)} will run on {device or 'any device'}")

    def add_control(self, op: Any, after: Any) -> None:
        """An op shall run after another."""
        self._edit(lambda plan: plan.add_control(op, after), f"{op_name(op)} will run after {op_name(after)}")

    def remove_control(self, op: Any, after: Any = None) -> None:
        """An op shall no longer wait for another; for none at all where `after` is None."""
        whom = "anything" if after is None else op_name(after)
        self._edit(lambda plan: plan.remove_control(op, after), f"{op_name(op)} will no longer wait for {whom}")

    def _edit(self, change: Callable[[Plan], Plan], text: str) -> None:
        self._set(change(self.draft))
        where = ", in a new graph" if self.draft.mode == "materialise" else ""
        self._say_plan(text + where)

    def _ops(self, names: Sequence[str], verb: str) -> list[str]:
        """The ops of all boxes of these names, in graph order."""
        graph = self._graph("destination")
        found: set[int] = set()
        for name in names:
            mask = ops_named(graph, name)
            if mask is None:
                raise SelectionError(
                    f"{verb}({name!r})",
                    f"there is nothing of that name in {graph.title}",
                    did_you_mean(name, graph.index),
                )
            found.update(mask.nonzero()[0].tolist())
        return [graph.names[i] for i in sorted(found)]


def _read(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value
