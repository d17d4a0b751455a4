"""Removes ops that simulate quantization in training, or inserts ops after each op of a type."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..editor.editor import Editor
from ..errors import did_you_mean, few
from ..graph.functions import inline_suggestion
from ..graph.names import free_name
from ..graph.pattern_match import Match, Matches
from ..graph.selection import Selection
from ..graph.types import AttributeValue, OpsLike
from ..graph.variables import VARIABLE_TYPES
from ..plan.plan import Plan
from .recipe_context import ASSIGNS, RecipeContext, recipe_context, remove_unused, replace_op

_QUANTIZED = (
    "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel",
    "QuantizeAndDequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4",
)  # fmt: skip


def strip_quantization(obj: Editor | Plan) -> Plan:
    """Removes ``FakeQuant`` and ``QuantizeAndDequantize`` ops. Their consumers read their inputs instead.

    Constants and reads that only these ops used as ranges are removed too; variables stay. Names of outputs, dtypes and
    shapes do not change. Numbers are no longer rounded.

    Args:
        obj: an editor; or a plan, to add to.

    Raises:
        PlanError: if the graph has no such op.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        ...     y = tf.nn.relu(tf.quantization.fake_quant_with_min_max_args(x, name="round"), name="y")
        >>> gs.recipes.strip_quantization(gs.open(graph)).after().names
        ['x', 'y']
    """
    context = recipe_context(obj, "strip_quantization()")
    graph, plan = context.graph, context.plan
    rounds = context.ops_of_type(*_QUANTIZED)
    if not rounds:
        problem = "the graph has no FakeQuant and no QuantizeAndDequantize"
        raise context.precondition_error(
            problem,
            "There is nothing to remove; ed.select(op='Quantize*') lists ops of real quantization",
        )
    ends = [op for op in rounds if graph.names[op] in context.protected_ops or not context.consumers_of(op)]
    for op in ends:  # an identity gets its name
        plan = replace_op(plan, context, op, graph.name(context.inputs_of(op)[0]), graph.names[op], "rounded")
    inside = [graph.names[op] for op in rounds if op not in ends]
    plan = plan.remove(inside, stitch=True) if inside else plan
    ranges = {op for one in rounds for op, _ in context.inputs_of(one)[1:]}
    return remove_unused(plan, graph, [graph.names[op] for op in sorted(ranges)], context.protected_ops)


def settle_ranges(context: RecipeContext) -> Plan:
    """Makes needed FakeQuant ops read stored ranges instead of ranges that training updates."""
    graph, plan = context.graph, context.plan
    for op in context.needed_ops_of_type(*_QUANTIZED):
        for at, (source, _) in enumerate(context.inputs_of(op)[1:], 1):
            ahead = [source, *graph.control.row(source).tolist()] if context.inputs_of(source) else []
            if not any(graph.types[one] in ASSIGNS for one in ahead):
                continue
            variable = context.inputs_of(source)[0][0]
            value = context.read_tensor(variable) if graph.types[variable] in VARIABLE_TYPES else ""
            if value:
                plan = plan.connect(value, to=graph.names[op], input=at)
    return plan


def insert_after(
    obj: Editor | Plan,
    pattern: OpsLike | Matches | Iterable[Match],
    op: str | Callable[..., Any],
    *,
    name: str = "",
    **attributes: AttributeValue,
) -> Plan:
    """Inserts an op, or a subgraph, after each op of a type. The consumers of each result read the new op instead.

    Args:
        obj: an editor; or a plan, to add to.
        pattern: an op type, for example ``"Conv2D"``, or the name of a layer, or several of these; a selection; or
            matches, the result of ``ed.match``.
        op: the op to insert: an op type, or a function of one tensor, as for `Plan.insert`.
        name: the suffix of the new name, after the name of each op; default: the op type, or the name of the function.
        attributes: as for `Plan.insert`.

    Raises:
        PlanError: if nothing matches the pattern, or a result has no consumer. The message names the op.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        ...     y = tf.nn.relu(tf.square(x, name="a"), name="y")
        >>> plan = gs.recipes.insert_after(gs.open(graph), "Square", "FakeQuantWithMinMaxArgs", name="round", max=4.0)
        >>> plan.after().input_names(plan.after().index["y"])
        ['a_round:0']
    """
    word = op if isinstance(op, str) else getattr(op, "__name__", "function")
    where = repr(pattern) if isinstance(pattern, str | list | tuple) else "..."
    context = recipe_context(obj, f"insert_after({where}, {word!r})")
    graph = context.graph
    tensors = _results(context, pattern)
    unread = [tensor for tensor in tensors if not graph.consumers_of(graph.tensor(tensor))]
    if unread:
        problem = f"nothing reads {few(map(repr, unread))}"
        raise context.precondition_error(
            problem, "Select without it, or give it a consumer first, for example an Identity"
        )
    ending = name or ("".join(letter for letter in word if letter.isalnum() or letter == "_") or "inserted")
    used_names: list[str] = []
    for tensor in tensors:
        wish = f"{tensor.removesuffix(':0').replace(':', '_')}_{ending}"
        used_names.append(free_name(wish, lambda one: graph.is_name_used(one) or one in used_names))
    arguments: dict[str, Any] = dict(attributes)
    return context.plan.insert(op, on=tensors, name=used_names, **arguments)


def _results(context: RecipeContext, pattern: Any) -> list[str]:
    """Returns the outputs of the matching ops, by name."""
    graph, types = context.graph, list[str]()
    if isinstance(pattern, (Match, Matches)):
        matches = [pattern] if isinstance(pattern, Match) else list(pattern)
        tensors = [end for match in matches for end in match.outputs.values()]
    elif isinstance(pattern, Selection):
        tensors = [f"{name}:0" for name in pattern.names]
    else:
        types = [pattern] if isinstance(pattern, str) else list(pattern)
        layers = [end for one in types if context.resolver.layer(one) for end in context.resolver.ends([one])]
        tensors = [f"{graph.names[op]}:0" for op in context.ops_of_type(*types)] + layers
    if not tensors:
        there = sorted(set(graph.types))
        problem = (
            f"{graph.title} has no op of type {' or '.join(map(repr, types))}"
            if types
            else "nothing matches the pattern"
        )
        inside = inline_suggestion(graph.names, graph.nodes, graph.functions, types[0]) if types else ""
        raise context.precondition_error(
            problem, inside or did_you_mean(types[0] if types else "", there, f"It has {few(there, 12)}")
        )
    for tensor in tensors:
        graph.tensor(tensor, context.request)
    return list(dict.fromkeys(tensors))
