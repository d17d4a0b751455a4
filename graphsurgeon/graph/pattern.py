"""Patterns: a small graph to look for in a large one, with conditions on its ops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from ..errors import SelectionError, counted, few
from .boundary import Tensor, entering_tensors, leaving_tensors
from .diff import NAME_ATTRIBUTES, attribute_bytes, attributes
from .graph import DTYPES, Graph, Mask, TensorInfo, shape_text
from .selection import OpView, Selection
from .traversal import backward, components, producers
from .types import OpsLike, TFGraph
from .variables import PLACEHOLDER_TYPES

_FIELDS = ("s", "i", "f", "b", "type", "shape", "tensor", "func")


@dataclass(frozen=True, eq=False)
class Condition:
    """The conditions on an op; a condition that is not given is not checked.

    Args:
        attributes: attribute -> its value in Python.
        raw_attributes: attribute -> its bytes.
        dtypes: the dtypes of the outputs, in order; None for any dtype.
        shape: the shape of output 0; None in it for any size.
        test: is called with an `OpView`, and must return true.
        value: the array that a constant must contain.
        read_array: reads the array of a constant.
    """

    attributes: tuple[tuple[str, Any], ...] = ()
    raw_attributes: tuple[tuple[str, bytes], ...] = ()
    dtypes: tuple[str | None, ...] = ()
    shape: tuple[int | None, ...] | None = None
    test: Callable[[OpView], bool] | None = None
    value: Any = None
    read_array: Callable[[Any], Any] | None = None

    def incompatibility(self, op: OpView) -> str:
        """Returns the reason why an op does not fit; empty if it fits."""
        attributes: Mapping[str, Any] = getattr(op.node, "attr", None) or {}
        for key, value in self.attributes:
            if key not in attributes or not attribute_is(attributes[key], value):
                return f"its attribute {key!r} is not {value!r}"
        for key, raw in self.raw_attributes:
            if key not in attributes or attribute_bytes(attributes[key]) != raw:
                return f"its attribute {key!r} has another value"
        outputs = op.outputs if self.dtypes or self.shape is not None else ()
        return self._wrong_dtype(outputs) or self._wrong_shape(outputs) or self._wrong_value(op) or self._wrong_test(op)

    def _wrong_dtype(self, outputs: Sequence[TensorInfo]) -> str:
        for port, required in enumerate(self.dtypes):
            dtype = outputs[port].dtype.removesuffix("_ref") if port < len(outputs) else "nothing"
            if required is not None and dtype != required:
                return f"its output {port} is {dtype}, not {required}"
        return ""

    def _wrong_shape(self, outputs: Sequence[TensorInfo]) -> str:
        if self.shape is None:
            return ""
        shape = outputs[0].shape if outputs else None
        if shape is None:
            return f"its rank is unknown, and the condition requires {shape_text(self.shape)}: leave shape= out"
        if len(shape) != len(self.shape):
            return f"its shape is {shape_text(shape)}, not {shape_text(self.shape)}"
        pairs = list(zip(self.shape, shape, strict=True))
        if any(required is not None and have is not None and required != have for required, have in pairs):
            return f"its shape is {shape_text(shape)}, not {shape_text(self.shape)}"
        if any(required is not None and have is None for required, have in pairs):
            proposal = [None if have is None else required for required, have in pairs]
            unclear = f"which cannot be compared with {shape_text(self.shape)}"
            return f"its shape is {shape_text(shape)}, {unclear}: use shape={proposal}"
        return ""

    def _wrong_value(self, op: OpView) -> str:
        if self.read_array is None:
            return ""
        value = self.read_array(op.node)
        same = value is not None and value.dtype == self.value.dtype and np.array_equal(value, self.value)
        return "" if same else "it has another value"

    def _wrong_test(self, op: OpView) -> str:
        return "" if self.test is None or self.test(op) else "the given test returns false for it"


def attribute_is(attribute: Any, value: Any) -> bool:
    """Returns whether an attribute has a value, which is given in Python: text, number, list, dtype or shape.

    Example:
        >>> attribute_is([1, 2], [1, 2]), attribute_is(True, False)
        (True, False)
    """
    which = getattr(attribute, "WhichOneof", None)
    if which is None:
        return bool(attribute == value)
    kind = which("value")
    if kind == "list":
        required = list(value) if isinstance(value, (list, tuple)) else [value]
        for name in _FIELDS:
            items = list(getattr(attribute.list, name))
            if items:
                return len(items) == len(required) and all(map(_value_is, [name] * len(items), items, required))
        return not required
    return kind is not None and _value_is(kind, getattr(attribute, kind), value)


def _value_is(kind: str, actual: Any, value: Any) -> bool:
    if kind == "s":
        return bool(actual == (value.encode() if isinstance(value, str) else value))
    if kind == "f":
        return isinstance(value, (int, float)) and bool(np.float32(actual) == np.float32(value))
    if kind == "type":
        return _is_type(actual, value)
    if kind == "shape":
        if actual.unknown_rank or value is None:
            return bool(actual.unknown_rank) and value is None
        return [None if d.size < 0 else d.size for d in actual.dim] == list(value)
    if kind == "func":
        return bool(actual.name == value)
    return bool(actual == value)


def _is_type(number: int, value: Any) -> bool:
    required = getattr(value, "as_datatype_enum", value)
    if isinstance(required, int):
        return number == required
    return DTYPES.get(number) == str(required)


CONSTANTS = ("any", "equal", "input")
#: Op types with inputs that may be in any order. For texts, Add concatenates its inputs, so their order matters.
COMMUTATIVE = frozenset(
    {
        "Add", "AddV2", "AddN", "Mul", "Maximum", "Minimum", "LogicalAnd", "LogicalOr", "Equal", "NotEqual",
        "SquaredDifference", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "AccumulateNV2",
    }
)  # fmt: skip
_FEEDS = PLACEHOLDER_TYPES | {"_Arg"}


@dataclass(frozen=True, eq=False)
class Pattern:
    """Ops to look for, with their edges. Any tensor may enter them.

    Args:
        graph: the small graph.
        mask: the ops of the small graph to look for.
        inputs: name -> a tensor that matches any tensor; all its consumers must read the same tensor.
        outputs: name -> a tensor that other ops may read. All other tensors of the pattern are inner tensors.
        conditions: op number -> its conditions.
        types: op number -> the accepted op types, if not only its own.
        source: the source of the pattern, and the options, for code; None if the pattern was extended since then.
        ranked_variants: for a function with inputs of unknown rank: yields the patterns that it makes with known ranks,
            each with the code that specifies these ranks.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("a", "Exp", ["x"]), ("b", "Log", ["a"])])
        >>> print(Pattern.from_graph(g))
        pattern of 2 ops: a (Exp), b (Log); inputs x; outputs b
    """

    graph: Graph
    mask: Mask
    inputs: Mapping[str, Tensor]
    outputs: Mapping[str, Tensor]
    conditions: Mapping[int, tuple[Condition, ...]] = field(default_factory=dict)
    types: Mapping[int, frozenset[str]] = field(default_factory=dict)
    source: tuple[Any, tuple[tuple[str, Any], ...]] | None = None
    ranked_variants: Callable[[], Iterator[tuple[str, Pattern]]] | None = None

    @classmethod
    def from_graph(
        cls,
        graph: Graph,
        inputs: Iterable[Any] | Mapping[str, Any] | None = None,
        outputs: Iterable[Any] | Mapping[str, Any] | None = None,
        *,
        attributes: str | Iterable[str] = (),
        constants: str = "any",
        read_array: Callable[[Any], Any] | None = None,
    ) -> Pattern:
        """Makes a pattern of a small graph.

        Args:
            graph: the small graph.
            inputs: tensors that match any tensor, by name or object, or name -> tensor. Default: placeholders.
            outputs: tensors that other ops may read, given like `inputs`. Default: the ops without consumers in it.
            attributes: attributes that must equal those of the pattern; ``all`` for all attributes of each op. Default:
                none.
            constants: a constant of the pattern matches ``any`` constant, only an ``equal`` constant, or any tensor,
                like an ``input``.
            read_array: reads the array of a constant; without it, its bytes are compared.

        Raises:
            SelectionError: if there are no ops to look for, the ops are not connected, or a tensor does not exist.
        """
        if inputs is None:
            ins = {graph.names[i]: (i, 0) for i in np.flatnonzero(graph.type_mask(_FEEDS)).tolist()}
        else:
            ins = _tensors(graph, inputs, "inputs")
        if constants == "input":
            ins |= {graph.names[i]: (i, 0) for i in np.flatnonzero(graph.type_mask(["Const"])).tolist()}
        if outputs is None:
            read_by = graph.mask(graph.data.node) | graph.mask(graph.control.node)
            input_ops = {op for op, _ in ins.values()}
            outs = {graph.names[i]: (i, 0) for i in np.flatnonzero(~read_by).tolist() if i not in input_ops}
        else:
            outs = _tensors(graph, outputs, "outputs")
        input_tensors = set(ins.values())
        ends = producers(graph, outs.values(), input_tensors)
        mask = backward(graph, ends, frozenset(input_tensors))
        mask[[op for op, _ in input_tensors]] = False
        return cls(graph, mask, ins, outs)._with(attributes, constants, read_array)  # noqa: SLF001  of this class

    @classmethod
    def from_selection(
        cls,
        selection: Selection,
        *,
        attributes: str | Iterable[str] = (),
        constants: str = "any",
        read_array: Callable[[Any], Any] | None = None,
    ) -> Pattern:
        """Makes a pattern of a selection, for similar ops. Any tensor may enter them.

        Args:
            selection: the ops that the matches must be similar to.
            attributes: names of attributes that must be equal; ``all`` for all attributes.
            constants: ``any``, ``equal`` or ``input``, as for `of`.
            read_array: reads the array of a constant; without it, its bytes are compared.
        """
        graph, mask = selection.graph, selection.mask.copy()
        if constants == "input":
            mask &= ~graph.type_mask(["Const"])
        ins = {
            f"{graph.names[op]}:{port}": (op, port)
            for op, port in entering_tensors(graph, mask, frozenset(selection.inputs))
        }
        outs = {
            f"{graph.names[op]}:{port}": (op, port) for op, port in selection.outputs or leaving_tensors(graph, mask)
        }
        if not outs:
            read_by = graph.mask(graph.data.node)
            outs = {f"{graph.names[i]}:0": (i, 0) for i in np.flatnonzero(mask & ~read_by).tolist()}
        return cls(graph, mask, ins, outs)._with(attributes, constants, read_array)  # noqa: SLF001  of this class

    def _with(self, keys: str | Iterable[str], constants: str, read_array: Callable[[Any], Any] | None) -> Pattern:
        graph = self.graph
        if constants not in CONSTANTS:
            problem = f"constants={constants!r} is not known"
            raise SelectionError(f"pattern(constants={constants!r})", problem, f"Choose one of {', '.join(CONSTANTS)}")
        if not self.mask.any():
            raise SelectionError(
                "pattern", "it contains no op to look for", "Give outputs that are computed from the inputs"
            )
        self._refuse_apart()
        required = None if keys == "all" else frozenset([keys] if isinstance(keys, str) else keys)
        conditions: dict[int, tuple[Condition, ...]] = {}
        for i in np.flatnonzero(self.mask).tolist():
            values = attributes(graph.nodes[i]) or {}
            use = [
                k
                for k in sorted(values)
                if (k not in NAME_ATTRIBUTES and k != "value" if required is None else k in required)
            ]
            same = [(key, values[key]) for key in use]
            array = None
            if constants == "equal" and graph.types[i] == "Const":
                array = read_array(graph.nodes[i]) if read_array else None
                same += [("value", values["value"])] if array is None and "value" in values else []
            reads = read_array if array is not None else None
            if same or reads:
                conditions[i] = (Condition(raw_attributes=tuple(same), value=array, read_array=reads),)
        return replace(self, conditions=conditions)

    def _refuse_apart(self) -> None:
        """Refuses a pattern of several unconnected pieces, because these would fit anywhere.

        Two pieces with a common input are connected.
        """
        graph = self.graph
        sources = np.array([op for op, _ in self.inputs.values()], np.int64)
        part = components(graph, ~self.mask, ~(self.mask | graph.mask(sources)))
        pieces = {int(n) for n in part[self.mask]}
        if len(pieces) > 1:
            first = [graph.names[int(np.flatnonzero(self.mask & (part == n))[0])] for n in sorted(pieces)[:2]]
            raise SelectionError(
                "pattern",
                f"it has {counted(len(pieces), 'separate pieces')}: no edge connects {first[0]!r} and {first[1]!r}",
                "Look for the pieces one by one",
            )

    def where(
        self,
        op: str,
        test: Callable[[OpView], bool] | None = None,
        *,
        type: str | Iterable[str] | None = None,
        attributes: Mapping[str, Any] | None = None,
        dtype: str | Sequence[str | None] | None = None,
        shape: Sequence[int | None] | None = None,
    ) -> Pattern:
        """Returns the pattern with conditions on one of its ops.

        Args:
            op: the name of the op in the pattern.
            test: is called with an `OpView` of the op of the large graph, and must return true.
            type: the accepted op types, such as ``("Add", "AddV2")``.
            attributes: attribute -> value, such as ``{"padding": "SAME", "strides": [1, 1, 1, 1], "T": "float32"}``.
            dtype: the dtype of output 0, or the dtypes of all outputs.
            shape: the static shape of output 0; None in it for any size.

        Raises:
            SelectionError: if the pattern contains no op with this name.

        Example:
            >>> g = Graph.from_ops([("x", "Placeholder", []), ("sum", "Add", ["x", "x"])])
            >>> print(Pattern.from_graph(g).where("sum", type=("Add", "AddV2")))
            pattern of 1 op: sum (Add or AddV2); inputs x; outputs sum
        """
        number = self.graph.find(op, f"where({op!r})")
        if not self.mask[number]:
            there = few([repr(self.graph.names[i]) for i in self.numbers], 12)
            raise SelectionError(f"where({op!r})", f"{op!r} is an input of the pattern", f"Choose one of {there}")
        dtypes = (dtype,) if isinstance(dtype, str) else tuple(dtype or ())
        condition = Condition(
            tuple((attributes or {}).items()), (), dtypes, None if shape is None else tuple(shape), test
        )
        conditions = {**self.conditions, number: (*self.conditions.get(number, ()), condition)}
        types = dict(self.types)
        if type is not None:
            types[number] = frozenset([type] if isinstance(type, str) else type)
        return replace(self, conditions=conditions, types=types, source=None)

    @property
    def numbers(self) -> list[int]:
        """Numbers of the ops to look for, in the small graph."""
        return [int(i) for i in np.flatnonzero(self.mask)]

    def accepted_types(self, op: int) -> frozenset[str]:
        """Returns the accepted op types for an op.

        Args:
            op: the number of the op in the pattern.
        """
        return self.types.get(op) or frozenset([self.graph.types[op]])

    def __str__(self) -> str:
        ops = [f"{self.graph.names[i]} ({' or '.join(sorted(self.accepted_types(i)))})" for i in self.numbers]
        ends = f"inputs {', '.join(self.inputs) or 'none'}; outputs {', '.join(self.outputs) or 'none'}"
        return f"pattern of {counted(len(ops), 'ops')}: {few(ops, 8)}; {ends}"


def _tensors(graph: Graph, argument: Iterable[Any] | Mapping[str, Any], word: str) -> dict[str, Tensor]:
    if isinstance(argument, Mapping):
        pairs = [(key, _name(thing)) for key, thing in argument.items()]
    else:
        things = [argument] if isinstance(argument, str) or hasattr(argument, "name") else list(argument)
        pairs = [(_name(thing).removesuffix(":0"), _name(thing)) for thing in things]
    request = f"pattern({word}={{!r}})"
    # An op without outputs may be meant: it is named as an op.
    return {
        key: graph.tensor(name, request.format(name)) if ":" in name else (graph.find(name, request.format(name)), 0)
        for key, name in pairs
    }


def _name(obj: Any) -> str:
    return str(getattr(obj, "name", obj))


class HasSnapshot(Protocol):
    """The editor of a graph."""

    @property
    def snapshot(self) -> Graph:
        """The snapshot of the graph."""


#: A pattern, in any form that `Editor.match` takes: ops, a layer, a graph, a function of tensors, or a `Pattern`.
PatternLike = Pattern | Selection | OpsLike | Graph | TFGraph | HasSnapshot | Callable[..., object]
