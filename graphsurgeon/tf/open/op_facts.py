"""Facts about ops from TensorFlow: op types, attributes, and floating-point operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...errors import SelectionError, counted, few
from ...graph.arrays import size_text
from ...graph.graph import Graph
from ...graph.lazy_graph import lazy_graph_of
from ...graph.names import op_name
from ...graph.selection import Selection
from ...graph.stablehlo import op_names
from ...graph.types import TFNodeDef, TFSession
from ..edit.nodes import check_attribute, check_inserted
from ..edit.patterns import array_of, as_pattern
from ..functions.expand import BodyOutputs, function_body
from ..import_tensorflow import tf
from ..op_types import documentation as documentation
from ..op_types import op_definition
from ..protos import empty_graph
from ..run.errors import errors_as
from .file_reader import TRUSTED
from .outputs import array_in, dtype_name


def flops(graph: Graph, ops: Sequence[int]) -> tuple[int, bool]:
    """Returns TensorFlow's count of floating-point operations, for ops with known shapes.

    If only the batch dimension is unknown, an op is counted for a batch of one example.

    Args:
        graph: the snapshot of a live graph, the graph after a plan, or the body of a function.
        ops: the numbers of the ops.

    Returns:
        the total count, and whether some ops are counted for one example.
    """
    find = _live_ops(graph)
    if find is None:
        return 0, False
    counts = _FLOPS.setdefault(graph, {})
    live_ops = {i: op for i in ops if i not in counts and (op := find(i)) is not None}
    if live_ops:
        counts |= _count_flops(live_ops)
    flops_of = [counts[i] for i in ops if i in counts]
    return sum(count for count, _ in flops_of), any(for_one for _, for_one in flops_of)


#: Snapshot -> number of an op -> its floating-point operations, and whether they are counted for one example.
#: An op whose shapes are not known is not listed: they may be set later.
_FLOPS: WeakKeyDictionary[Graph, dict[int, tuple[int, bool]]] = WeakKeyDictionary()


def _live_ops(graph: Graph) -> Callable[[int], Any] | None:
    """Returns a function that returns the live op of an op, or None if it has none; None without a live graph."""
    if isinstance(graph.outputs_of, BodyOutputs):
        return graph.outputs_of.live_op
    live = graph.origin  # for a graph after a plan: the live graph before the plan
    if lazy_graph_of(live) is not None or not hasattr(live, "get_operation_by_name"):
        return None
    from ..private.graphs import op_finder

    find = op_finder(live)

    def live_op(i: int) -> Any:
        try:
            return find(graph.names[i])
        except KeyError:  # an op that the plan makes does not exist yet
            return None

    return live_op


def _count_flops(live_ops: Mapping[int, Any]) -> dict[int, tuple[int, bool]]:
    from ..private.graphs import counts_flops
    from ..private.graphs import flops as flops_of

    types = {i: op.type for i, op in live_ops.items()}
    has_count = {kind: counts_flops(kind) for kind in set(types.values())}
    counts = {i: flops_of(op) if has_count[types[i]] else 0 for i, op in live_ops.items()}
    unknown = {i: live_ops[i] for i, count in counts.items() if count is None}
    for_one = _flops_for_one_example(unknown)
    known = {i: (count, False) for i, count in counts.items() if count is not None}
    return known | {i: (count, True) for i, count in for_one.items() if count}


def _flops_for_one_example(live_ops: Mapping[int, Any]) -> dict[int, int]:
    """Counts operations in a separate graph in which the unknown first dimension of inputs is 1."""
    proto, numbers = tf.compat.v1.GraphDef(), []
    for number, op in live_ops.items():
        shapes = [tensor.shape for tensor in op.inputs]
        if any(shape.rank is None or None in shape.as_list()[1:] for shape in shapes):
            continue
        node = proto.node.add(name=f"op{number}", op=op.type)
        for at, (tensor, shape) in enumerate(zip(op.inputs, shapes, strict=True)):
            sizes = [1 if size is None else size for size in shape.as_list()]
            fed = proto.node.add(name=f"op{number}_{at}", op="Placeholder")
            fed.attr["dtype"].type = tensor.dtype.base_dtype.as_datatype_enum
            fed.attr["shape"].shape.CopyFrom(tf.TensorShape(sizes).as_proto())
            node.input.append(fed.name)
        for key, value in op.node_def.attr.items():
            if not key.startswith("_"):
                node.attr[key].CopyFrom(value)
        numbers.append(number)
    if not numbers:
        return {}
    graph = empty_graph()
    with graph.as_default(), suppress(ValueError, tf.errors.OpError):
        tf.import_graph_def(proto, name="")
        from ..private.graphs import flops as flops_of

        return {number: flops_of(graph.get_operation_by_name(f"op{number}")) or 0 for number in numbers}
    if len(numbers) == 1:
        return {}
    return {i: count for number in numbers for i, count in _flops_for_one_example({number: live_ops[number]}).items()}


_KINDS = frozenset(("bool", "float", "int", "list(float)", "list(int)", "shape", "string", "type"))
"""Kinds of attributes whose values can be typed."""


def op_types(query: str = "", template: str = "", inputs: int | None = None, limit: int = 40) -> list[tuple[str, str]]:
    """Returns op types that match a text, with their documentation; best matches in the name first.

    Args:
        query: the text to find; if it is empty, names similar to `template`, or all names, match.
        template: an op type; only types with the same number of inputs and outputs, which can replace it, are returned.
        inputs: only types with this number of inputs are returned.
        limit: the maximum number of results.
    """
    old = op_definition(template)
    ends = None if old is None else (len(old.input_arg), len(old.output_arg))
    text, near = query.lower(), SequenceMatcher(b=template.lower())
    matches: list[tuple[tuple[Any, ...], str]] = []
    for op_type in dir(tf.raw_ops):
        definition = op_definition(op_type) if op_type[0].isupper() and op_type != template else None
        if definition is None or (inputs is not None and len(definition.input_arg) != inputs):
            continue
        if ends not in (None, (len(definition.input_arg), len(definition.output_arg))):
            continue
        at = op_type.lower().find(text)
        if at < 0 and text not in documentation(op_type).lower():
            continue
        near.set_seq1(op_type.lower())
        matches.append(
            ((at < 0, at, len(op_type), op_type) if text else (-near.ratio() if template else 0, op_type), op_type)
        )
    return [(op_type, documentation(op_type)) for _, op_type in sorted(matches)[:limit]]


def attributes(node: TFNodeDef) -> Iterator[tuple[str, str, list[str]]]:
    """Yields the attributes of an op that a user can type, as (name, value as text for `Plan.set_attr`, choices).

    Dtypes come last, because a change of a dtype alone is rarely wanted.

    Args:
        node: its NodeDef; None and unknown op types have no attributes.
    """
    definition = op_definition(node.op) if node is not None else None
    for about in sorted(definition.attr, key=lambda one: one.type == "type") if definition is not None else ():
        if about.type in _KINDS and about.name in node.attr:
            value = node.attr[about.name]
            yield about.name, _as_typed_text(value), _choices(about)


def _choices(attribute: Any) -> list[str]:
    """Returns all possible values of an attribute; empty if the set of values is not closed."""
    allowed = attribute.allowed_values.list
    if attribute.type == "bool":
        return ["False", "True"]
    if attribute.type == "type":
        numbers = allowed.type or [
            number for number in range(1, 24) if number not in (20, 21)
        ]  # without handles and variants
        return sorted(dtype_name(number) for number in numbers)
    return sorted(text.decode("utf-8", "replace") for text in allowed.s)


def _as_typed_text(value: Any) -> str:
    """Returns a value in the form in which users type it."""
    field = value.WhichOneof("value")
    if field == "s":
        return str(value.s.decode("utf-8", "replace"))
    if field == "type":
        return str(dtype_name(value.type))
    if field == "shape":
        sizes = None if value.shape.unknown_rank else [None if d.size < 0 else d.size for d in value.shape.dim]
        return str(sizes)
    if field == "list":
        return str(list(value.list.i) or [float(f"{number:.9g}") for number in value.list.f])
    return f"{np.float32(value.f):g}" if field == "f" else str(getattr(value, field)) if field else ""


__all__ = ["attribute_text", "attributes", "check_attribute", "check_inserted", "constant_value"]
__all__ += ["documentation", "flops", "function_body", "op_types", "pattern", "value"]


def pattern(selection: Selection) -> Any:
    """Returns the pattern that looks like a selection."""
    return as_pattern(selection)


def value(graph: Graph, name: str, uninitialized: frozenset[str], session: Callable[[], TFSession]) -> Any:
    """Returns the current value of a constant or variable as an array: from its node, otherwise from a session.

    Args:
        graph: the snapshot.
        name: a constant or variable.
        uninitialized: names of the variables without a value.
        session: a function that opens the session to read from; it is called only if needed.

    Raises:
        SelectionError: the op is neither a constant nor a variable, or the variable has no value.
    """
    name = op_name(name)
    request = f"value({name!r})"
    number = graph.find(name, request)
    info = graph.state.variables.get(name)
    if info is None:
        array = array_of(graph.nodes[number])
        if array is None:
            op_type = graph.types[number]
            raise SelectionError(request, f"an op of type {op_type} holds no value", "Ask for a constant or a variable")
        return array
    if name in uninitialized:
        raise SelectionError(request, "this variable has no value", "Open the graph with its checkpoint")
    live, how = session(), "Run its initializer in ed.session(), or open the graph with its checkpoint"
    from ..values.variables import value_of

    with errors_as(SelectionError, request, "its value cannot be read", how):
        return live.run(value_of(live.graph, info, request))


# -- as short texts ---------------------------------------------------------------------------------


def attribute_text(value: Any, limit: int = 120) -> str:
    """Returns an AttrValue as readable text; long lists, texts and constants are shortened, and their size is added."""
    field = value.WhichOneof("value")
    if field == "tensor":
        return _constant(value.tensor)
    if field == "type":
        return dtype_name(value.type)
    if field == "shape":
        return _shape(value.shape)
    if field == "s" and (names := op_names(value.s)):
        return f"a StableHLO module of {few(list(names), 20)}"
    if field == "s":
        return _truncate(repr(bytes(value.s))[1:], limit)
    if field == "func":
        return f"function {value.func.name}"
    if field == "list":
        return _truncate(_list(value.list), limit)
    if field == "f":
        return _float(value.f)
    return _truncate(str(getattr(value, field)), limit) if field else "none"


def _float(number: float) -> str:
    """Returns a float32 with as few digits as possible; the same number as a double would have more digits."""
    return str(np.float32(number))


def _list(items: Any) -> str:
    for field in ("i", "f", "b"):
        if getattr(items, field):
            return "[" + ", ".join(_float(v) if field == "f" else str(v) for v in getattr(items, field)) + "]"
    if items.s:
        return "[" + ", ".join(repr(bytes(v))[1:] for v in items.s[:8]) + "]"
    if items.type:
        return "[" + ", ".join(dtype_name(v) for v in items.type) + "]"
    if items.shape:
        return "[" + ", ".join(_shape(v) for v in items.shape) + "]"
    return "[" + ", ".join(f"function {f.name}" for f in items.func) + "]"


def _shape(shape: Any) -> str:
    if shape.unknown_rank:
        return "unknown shape"
    return "(" + ", ".join("?" if d.size < 0 else str(d.size) for d in shape.dim) + ")"


def _constant(proto: Any) -> str:
    array, head = array_in(proto, TRUSTED), f"{dtype_name(proto.dtype)} {_shape(proto.tensor_shape)}"
    if array is None:
        return f"{head}, not shown: it is damaged, or of more than {size_text(TRUSTED)}"
    flat = array.reshape(-1)
    if not flat.size:
        return head
    values = ", ".join(
        _truncate(repr(v), 40) if v.__class__ is bytes else f"{v:g}" if flat.dtype.kind in "fiu" else str(v)
        for v in flat[:8]
    )
    return f"{head}: {values}" + (f", … {flat.size:,} in all" if flat.size > 8 else "")


def _truncate(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({counted(len(text), 'characters')})"


def constant_value(node: TFNodeDef, limit: int = 8 << 20) -> Any:
    """Returns the value of a constant as an array; None if it has no value, or one of more than `limit` bytes."""
    return array_of(node, limit)
