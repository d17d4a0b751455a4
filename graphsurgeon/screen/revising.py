"""Revising: the edits of what a graph has already, made on screen, by hand; each adds a step to the plan."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..core.edits import consumers_of, few, free_name
from ..core.naming import free_scope
from ..core.plan import Plan, op_name, tensor_name
from ..core.selection import Query, Selection
from ..errors import PlanError, SelectionError, did_you_mean
from ..view.items import ops_named
from .marks import Marks

if TYPE_CHECKING:
    from ..core.graph import Graph
    from ..editor import Editor
    from ..view.tree import Tree


class Revising:
    """The part of a `Screen` that edits. Names are those of the destination, as the plan leaves it."""

    if TYPE_CHECKING:
        destination: Editor

        @property
        def draft(self) -> Plan:
            """The plan being made."""

        def _graph(self, pane: str) -> Graph: ...

        def _tree(self, pane: str) -> Tree: ...

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
        from ..tf.editing import check_inserted

        free = name or free_name(self._graph("destination"), f"{op_name(on)}_{op.lower()}")
        check_inserted(op, free)
        self._edit(lambda plan: plan.insert(op, on=on, name=free), f"{free} will stand behind {tensor_name(on)}")

    def remove(self, names: Sequence[str], stitch: bool = False) -> None:
        """Takes boxes out of the graph; with `stitch`, what read them reads what they read first."""
        ops = self._ops(names, "remove")
        self._edit(lambda plan: plan.remove(ops, stitch=stitch), f"{few(ops)} will go")

    def set_attr(self, names: Sequence[str], name: str, value: Any) -> None:
        """Sets an attribute of all ops of boxes; a text is read as Python where it is some: ``[1, 2]``, ``None``."""
        from ..tf.editing import check_attribute

        ops, value, graph = self._ops(names, "set_attr"), _read(value), self._graph("destination")
        for kind, op in {graph.types[graph.index[op]]: op for op in reversed(ops)}.items():
            check_attribute(kind, op, name, value)
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

    def reroute_control(self, old: Any, to: Any) -> None:
        """What waits for an op shall wait for another instead."""
        text = f"what waits for {op_name(old)} will wait for {op_name(to)}"
        self._edit(lambda plan: plan.reroute_control(old, to=to), text)

    def rename(self, old: str, to: str) -> None:
        """Gives an op, or a name scope with all in it, another name; its variables keep their values.

        Args:
            old: its name.
            to: the new name, which must be free.
        """
        text = f"{str(old).strip('/')} will be called {str(to).strip('/')}"
        self._edit(lambda plan: plan.rename(old, to=to), text)

    def collapse(self, names: Sequence[str], name: str | None = None) -> None:
        """Makes one function call of all ops of boxes.

        Args:
            names: the boxes.
            name: what to call it; None: a free name after the first of them.
        """
        ops, graph = self._ops(names, "collapse"), self._graph("destination")
        scope = names[0].strip("/") if len(names) == 1 and names[0].strip("/") in graph.scopes.index else ""
        free = name or free_name(graph, f"{scope or ops[0]}_call")
        self._edit(lambda plan: plan.collapse(scope or ops, name=free), f"{few(ops)} will be one call, {free}")

    def inline(self, names: Sequence[str]) -> None:
        """Puts what function calls compute in the place of the calls."""
        ops = self._ops(names, "inline")
        self._edit(lambda plan: plan.inline(ops), f"{few(ops)} will give way to what is inside")

    def insert_copy(self, names: Sequence[str], on: Any, to: str | None = None) -> None:
        """Puts a copy of boxes between a tensor and all that reads it: two steps, a copy and a reroute.

        Args:
            names: the boxes: one tensor enters them, constants and variables apart, and one leaves them.
            on: the tensor.
            to: the scope of the copy; None: a free one.

        Raises:
            PlanError: more than one tensor enters or leaves them, or none does.
            SelectionError: there is no such box.
        """
        ops, plan = self._ops(names, "insert_copy"), self.draft
        asked = f"insert_copy({few(ops)})"
        late = [op for op in ops if op not in plan.base.index]
        if late:
            raise PlanError(asked, f"{late[0]!r} is made by this plan", "Apply the plan first")
        mask = plan.base.mask(plan.base.index[op] for op in ops)
        chosen = Selection(plan.base, mask, Query("names", tuple(ops)))
        marks = Marks.around(chosen)
        for verb, ends in (("enter", marks.inputs), ("leave", marks.outputs)):
            if len(ends) != 1:
                wrong = f"{len(ends)} tensors {verb} what is copied" + (f": {few(ends)}" if ends else "")
                raise PlanError(asked, wrong, f"Pick ops that one tensor {verb}s")
        tensor = tensor_name(on)
        scope = to or free_scope(plan.after(), "copy")
        copied = plan.copy(chosen, to=scope, inputs={marks.inputs[0]: tensor}, unmapped="keep")
        graph = copied.after()
        readers = sorted({graph.names[i] for i, _ in consumers_of(graph, graph.tensor(tensor))})
        own = [op for op in readers if op.startswith(f"{scope}/")]
        end = f"{scope}/{marks.outputs[0]}"
        self._edit(
            lambda _: copied.reroute(tensor, to=end, but=own), f"a copy of {few(ops)} will stand behind {tensor}"
        )

    def forward_edits(self, to: str | None = None, until: Sequence[str] = (), assign: str = "leave") -> None:
        """Carries the edits so far out on copies of what they change, as `Plan.forward` does; what exists stays.

        Args:
            to: the scope of the copies; None: a free one.
            until: ops to stop at; none: everything downstream.
            assign: ``leave`` ops that set state as they are, or ``copy`` them.
        """
        scope = to or free_scope(self._graph("destination"), "edited")
        ends = list(until) or None
        text = f"the edits so far will be made on copies under {scope}/"
        self._edit(lambda plan: plan.forward(scope, until=ends, assign=assign), text)

    def _edit(self, change: Callable[[Plan], Plan], told: str | Callable[[Plan], str]) -> None:
        self._set(change(self.draft))
        text = told if isinstance(told, str) else told(self.draft)
        where = ", in a new graph" if self.draft.mode == "materialise" else ""
        self._say_plan(text + where)

    def _ops(self, names: Sequence[str], verb: str) -> list[str]:
        """The ops of all boxes of these names, in graph order."""
        tree = self._tree("destination")
        graph, found = tree.graph, set[int]()
        for name in names:
            mask = ops_named(tree, name)
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
