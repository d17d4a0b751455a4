"""Views of some ops of a graph, as functions from input tensors to output tensors."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import few
from ..graph.types import TFGraph, TFTensor
from ..tf.edit.edit_in_place import journal
from ..tf.graph_parts import Graph, unwrap
from .select import boundary_of, get_name_scope_ops, get_walks_union_ops, select_ops_and_ts
from .util import (
    ListView,
    Ops,
    Tensors,
    WrongValue,
    check_type,
    concatenate_unique,
    get_unique_graph,
    make_list_of_op,
    make_list_of_t,
)

__all__ = ["SubGraphView", "make_view", "make_view_from_scope"]


class SubGraphView:
    """Some ops, the tensors that enter them, and the tensors that leave them. A view changes no graph.

    An input or output is *connected* if an op inside reads or computes it, and *passthrough* if it is both an input and
    an output without an op between. Inputs and outputs can be remapped: left out (then *hidden*) or reordered; outputs
    can also be repeated. The methods return new views. Only editing functions such as `swap_inputs` change a view that
    is their argument, so that it fits the edited graph.

    A view is updated after an edit of its graph by this package. Inputs without consumers in the view are removed, and
    new inputs and outputs are added at the end.

    Args:
        inside_ops: ops, or a graph.
        passthrough_ts: passthrough tensors; tensors of an op inside are left out.
    """

    def __init__(self, inside_ops: Any = (), passthrough_ts: Any = ()) -> None:
        ops, passing = make_list_of_op(inside_ops), make_list_of_t(passthrough_ts)
        whole = inside_ops if isinstance(inside_ops, Graph) and ops and not passing else None
        graph = get_unique_graph(whole or [*ops, *passing], none_if_empty=True)
        inputs, outputs, inside = boundary_of(ops)
        at_ops = {id(t) for t in (*inputs, *outputs, *inside)}
        passing = [t for t in passing if id(t) not in at_ops]
        self.reset(graph, ops, inputs + passing, outputs + passing, passing, (inputs, outputs))

    def reset(
        self,
        graph: TFGraph,
        ops: list[Any],
        inputs: Iterable[Any],
        outputs: Iterable[Any],
        passthroughs: Iterable[Any] = (),
        edge: Any = None,
    ) -> SubGraphView:
        """Sets the contents of this view without checks, and returns the view.

        Args:
            graph, ops, inputs, outputs, passthroughs: the new contents.
            edge: all tensors that enter and leave the ops, if they are known.
        """
        self._graph: Any = graph
        self._ops, self._passthrough_ts = ops, list(passthroughs)
        self._input_ts, self._output_ts = list(inputs), list(outputs)
        # `_refresh` compares with this after an edit.
        self._edge = boundary_of(ops)[:2] if edge is None else edge
        self._edit_count = -1 if graph is None else journal(graph).count
        return self

    def _refresh(self) -> None:
        if self._graph is None:
            return
        count = journal(self._graph).count
        if self._edit_count != count:
            now, before = boundary_of(self._ops)[:2], self._edge
            used_ids = {id(t) for t in (*now[0], *self._passthrough_ts)}
            self._input_ts = [t for t in self._input_ts if id(t) in used_ids] + _new(now[0], before[0])
            self._output_ts = self._output_ts + _new(now[1], before[1] + self._output_ts)
            self._edit_count, self._edge = count, now

    def __copy__(self) -> SubGraphView:
        return self.with_ends(self.inputs, self._passthrough_ts)

    def assign_from(self, other: SubGraphView) -> None:
        """Copies the contents of another view to this view.

        Args:
            other: the other view.

        Raises:
            TypeError: `other` is not a view.
        """
        check_type("assign_from(...)", other, SubGraphView)
        self.reset(other.graph, list(other.ops), other.inputs, other.outputs, other.passthroughs)

    def with_ends(
        self, inputs: Iterable[Any], passthroughs: Iterable[Any], outputs: Iterable[Any] | None = None
    ) -> SubGraphView:
        """Returns a view of the same ops with other inputs and outputs, without checks.

        Args:
            inputs: the input tensors.
            passthroughs: tensors that are inputs and outputs.
            outputs: the output tensors.
        """
        own = self.outputs  # updates the view if the graph was edited
        outputs = own if outputs is None else outputs
        return type(self)().reset(self._graph, list(self._ops), inputs, outputs, passthroughs, self._edge)

    def copy(self) -> SubGraphView:
        """Returns a copy of the view; no op is copied."""
        return copy.copy(self)

    def remap_default(self, remove_input_map: bool = True, remove_output_map: bool = True) -> SubGraphView:
        """Returns a view with all inputs and outputs, without remapping.

        Args:
            remove_input_map, remove_output_map: whether to do so for the inputs, and for the outputs.
        """
        inputs, outputs, _ = boundary_of(self._ops)
        passing = self._passthrough_ts
        return self.with_ends(
            inputs + passing if remove_input_map else self.inputs,
            passing,
            outputs + passing if remove_output_map else None,
        )

    def remap_inputs(self, new_input_indices: Iterable[int | TFTensor]) -> SubGraphView:
        """Returns a view with some of the inputs, in this order.

        Args:
            new_input_indices: numbers of inputs, or the tensors themselves, without duplicates.

        Raises:
            ValueError: an input does not exist, or is given twice.
        """
        return self.remap(new_input_indices, None)

    def remap_outputs(self, new_output_indices: Iterable[int | TFTensor]) -> SubGraphView:
        """Returns a view with some of the outputs, in this order; outputs may be repeated.

        Args:
            new_output_indices: numbers of outputs, or the tensors themselves.

        Raises:
            ValueError: an output does not exist.
        """
        return self.remap(None, new_output_indices)

    def remap(
        self,
        new_input_indices: Iterable[int | TFTensor] | None = None,
        new_output_indices: Iterable[int | TFTensor] | None = None,
    ) -> SubGraphView:
        """Returns a view with other inputs and outputs; see `remap_inputs` and `remap_outputs`.

        Args:
            new_input_indices: for each new input, the number of an old input. Default: unchanged inputs.
            new_output_indices: for each new output, the number of an old output. Default: unchanged outputs.
        """
        inputs, outputs = list(self.inputs), list(self.outputs)
        if new_input_indices is not None:
            inputs = self._remap(new_input_indices, inputs, "remap_inputs", once=True)
        if new_output_indices is not None:
            outputs = self._remap(new_output_indices, outputs, "remap_outputs", once=False)
        return self.with_ends(inputs, self._passthrough_ts, outputs)

    def _remap(self, targets: Any, ends: list[Any], verb: str, once: bool) -> list[Any]:
        targets = list(targets)
        request = f"{verb}([{few([str(getattr(w, 'name', w)) for w in targets], 6)}])"
        numbers = [w if isinstance(w, int) else self._place(w, ends, request) for w in targets]
        for number in numbers:
            if not 0 <= number < len(ends):
                raise WrongValue(request, f"there is no number {number}: they go from 0 to {len(ends) - 1}",
                                 "Give numbers or tensors of the list")  # fmt: skip
        if once and len(set(numbers)) != len(numbers):
            raise WrongValue(request, "found repetition: an input is there twice", "Give each input once")
        return [ends[number] for number in numbers]

    def _place(self, t: Any, ends: Sequence[Any], request: str) -> int:
        for at, own in enumerate(ends):
            if own is unwrap(t):
                return at
        names = few([own.name for own in ends], 6) or "nothing"
        raise WrongValue(request, f"can't find {getattr(t, 'name', t)!r} there", f"Listed are: {names}")

    def remap_outputs_make_unique(self) -> SubGraphView:
        """Returns a view without repeated outputs."""
        return self.with_ends(self.inputs, self._passthrough_ts, concatenate_unique([], self.outputs))

    def remap_outputs_to_consumers(self) -> SubGraphView:
        """Returns a view in which each output is repeated for each of its consumers."""
        once = concatenate_unique([], self.outputs)
        return self.with_ends(self.inputs, self._passthrough_ts, [t for t in once for _ in t.consumers()])

    def remove_unused_ops(self, control_inputs: bool = True) -> SubGraphView:
        """Returns a view without unused ops, which depend on no input and on which no output depends.

        Args:
            control_inputs: whether control inputs count as dependencies.
        """
        used_ops = set(
            get_walks_union_ops(
                self.connected_inputs, self.connected_outputs, within_ops=self._ops, control_inputs=control_inputs
            )
        )
        ops = [op for op in self._ops if op in used_ops]
        return type(self)().reset(self._graph, ops, self.inputs, self.outputs, self._passthrough_ts)

    def find_op_by_name(self, op_name: str) -> Any:
        """Returns the op of this name.

        Args:
            op_name: the name of the op.

        Raises:
            ValueError: the view has no op of this name.
        """
        for op in self._ops:
            if op.name == op_name:
                return op
        raise WrongValue(f"find_op_by_name({op_name!r})", "it is not in the subgraph", "print(sgv) lists its ops")

    def __str__(self) -> str:
        if not self:
            return "SubGraphView: empty"
        passing = {id(t) for t in self._passthrough_ts}
        lines = [f"SubGraphView (graphid={id(self._graph)}):"]
        for word, names in (
            ("ops", [op.name for op in self._ops]),
            ("inputs", [t.name + " *" * (id(t) in passing) for t in self.inputs]),
            ("outputs", [t.name + " *" * (id(t) in passing) for t in self.outputs]),
        ):
            lines += [f"** {word}[{len(names)}]:", *(f"  {name}" for name in names)] if names else [f"** {word}: empty"]
        return "\n".join(lines) + "\n"

    @property
    def graph(self) -> Any:
        """The graph; None for an empty view."""
        return self._graph

    @property
    def ops(self) -> list[Any]:
        """The ops inside."""
        return self._ops

    @property
    def inputs(self) -> ListView:
        """The input tensors."""
        self._refresh()
        return ListView(self._input_ts)

    @property
    def outputs(self) -> ListView:
        """The output tensors."""
        self._refresh()
        return ListView(self._output_ts)

    @property
    def edge(self) -> tuple[list[Any], list[Any]]:
        """All tensors that enter and leave the ops, including hidden inputs and outputs."""
        self._refresh()
        inputs, outputs = self._edge
        return inputs, outputs

    @property
    def connected_inputs(self) -> list[Any]:
        """The inputs that an op inside reads."""
        return [t for t in self.inputs if not self.is_passthrough(t)]

    @property
    def connected_outputs(self) -> list[Any]:
        """The outputs that an op inside computes."""
        return [t for t in self.outputs if not self.is_passthrough(t)]

    @property
    def passthroughs(self) -> ListView:
        """The passthrough tensors."""
        return ListView(self._passthrough_ts)

    def __bool__(self) -> bool:
        return self._graph is not None

    def op(self, op_id: int) -> Any:
        """Returns the op with this number.

        Args:
            op_id: the number of the op in the view.
        """
        return self._ops[op_id]

    def is_passthrough(self, t: TFTensor) -> bool:
        """Returns whether a tensor is a passthrough tensor.

        Args:
            t: the tensor.
        """
        return any(unwrap(t) is own for own in self._passthrough_ts)

    def __enter__(self) -> SubGraphView:
        return self

    def __exit__(self, *_error: Any) -> None:
        pass

    def input_index(self, t: TFTensor) -> int:
        """Returns the number of an input.

        Args:
            t: the tensor.

        Raises:
            ValueError: the tensor is not an input.
        """
        return self._place(t, list(self.inputs), f"input_index({getattr(t, 'name', t)!r})")

    def output_index(self, t: TFTensor) -> int:
        """Returns the number of an output.

        Args:
            t: the tensor.

        Raises:
            ValueError: the tensor is not an output.
        """
        return self._place(t, list(self.outputs), f"output_index({getattr(t, 'name', t)!r})")

    def consumers(self) -> list[Any]:
        """Returns the ops outside that read an output, without duplicates."""
        inside = set(self._ops)
        return list(dict.fromkeys(op for t in self.outputs for op in t.consumers() if op not in inside))


#: A view, or the arguments that `make_view` makes a view of.
ViewLike = SubGraphView | Ops | Tensors


def _new(current: list[Any], previous: list[Any]) -> list[Any]:
    old_ids = {id(t) for t in previous}
    return [t for t in current if id(t) not in old_ids]


def make_view(*args: Any, **kwargs: Any) -> SubGraphView:
    """Returns a view of selected ops. Selected tensors become passthrough tensors, unless they belong to these ops.

    Args:
        args: regular expressions, ops, tensors, or lists of them (see `select_ops_and_ts`); or a view, which is
            returned.
        kwargs: `graph`, the graph to search, to which all arguments must belong.

    Raises:
        TypeError: an argument has another type.
        ValueError: a keyword is unknown, or an argument is of another graph.
    """
    graph = kwargs.get("graph")
    view = args[0] if len(args) == 1 and isinstance(args[0], SubGraphView) else None
    if view is None and len(args) == 1 and isinstance(args[0], Graph) and not kwargs.keys() - {"graph"}:
        view = SubGraphView(args[0])  # it has no passthrough tensor
    view = SubGraphView(*select_ops_and_ts(*args, **kwargs)) if view is None else view
    if graph is not None:
        check_type("make_view(..., graph=...)", graph, Graph)
    if graph is not None and view.graph not in (None, graph):
        raise WrongValue("make_view(..., graph=...)", "graph mismatch: the ops are of another", "Give their own graph")
    return view


def make_view_from_scope(scope: str, graph: TFGraph) -> SubGraphView:
    """Returns a view of a name scope of a graph.

    Args:
        scope: the name scope.
        graph: the graph.
    """
    return SubGraphView(get_name_scope_ops(graph, scope))
