"""The effects of ops: what ops do in addition to computing their outputs, such as setting variables."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import cache

from ..graph.functions import BRANCHING, CALLS, functions_in_node, reachable_functions
from ..graph.graph import Graph, Mask
from ..graph.variables import FEED_TYPES, PLACEHOLDER_TYPES, QUERY_TYPES, READ_TYPES, TABLE_TYPES, VARIABLE_TYPES
from .registry import op_definition

RANDOM = "draws random numbers"
CONTENT = "has content that no file contains"
#: The effects of ops that a run may repeat.
REPEATABLE = ("", RANDOM, CONTENT)
#: Ops that are stateful for TensorFlow, but only read, check or print values, or run other ops.
_HARMLESS = VARIABLE_TYPES | READ_TYPES | QUERY_TYPES | PLACEHOLDER_TYPES | BRANCHING | CALLS | {
    "HashTable", "HashTableV2", "AnonymousHashTable", "LookupTableFind", "LookupTableSize", "LookupTableExport",
    "LookupTableExportV2", "Assert", "CheckNumerics", "CheckNumericsV2", "Print", "PrintV2",
}  # fmt: skip
#: Ops whose state does not outlive a run, and ops that pass on references.
_HARMLESS_FAMILIES = ("TensorArray", "Stack", "Ref")
_OUTSIDE = ("Queue", "Reader", "Barrier", "Stage", "Unstage", "Write", "Save", "Restore", "MergeV2Checkpoints",
            "PyFunc", "EagerPyFunc")  # fmt: skip


def effect_of_type(op_type: str) -> str:
    """Returns text about the effect of ops of a type; empty if they only compute. Calls are judged by their functions.

    Example:
        >>> effect_of_type("MatMul"), effect_of_type("AssignVariableOp"), effect_of_type("RandomUniform")
        ('', 'has effects, or state', 'draws random numbers')
    """
    definition = op_definition(op_type)
    if op_type in TABLE_TYPES:
        return CONTENT
    if op_type in _HARMLESS or op_type.startswith(_HARMLESS_FAMILIES):
        return ""
    if definition is None:
        return "has a type that TensorFlow does not know"
    if op_type in FEED_TYPES:
        return "reads from outside the graph"
    if "Queue" not in op_type and {"seed", "seed2"} <= {attribute.name for attribute in definition.attr}:
        return RANDOM
    writes = definition.is_stateful or any(argument.is_ref for argument in definition.input_arg)
    return "has effects, or state" if writes or op_type.startswith(_OUTSIDE) else ""


def effect_finder(graph: Graph) -> Callable[[int], str]:
    """Returns a function: op -> text about its effect, or that of the functions it calls; empty if it only computes.

    Random numbers are an effect only if there is no other effect.
    """
    functions, of_type = graph.functions, cache(effect_of_type)

    @cache
    def of_function(name: str) -> set[str]:
        nodes = (node for callee in reachable_functions([name], functions) for node in functions[callee].node_def)
        return {of_type(node.op) for node in nodes if node.op not in functions}

    def find(op: int) -> str:
        called = functions_in_node(graph.nodes[op], functions) if functions else ()
        effects = {of_type(graph.types[op])} if graph.types[op] not in functions else set[str]()
        effects = effects.union(*map(of_function, called))
        return min(effects - {"", RANDOM}, default=RANDOM if RANDOM in effects else "")

    return find


def acting_ops(graph: Graph, allowed: Container[str] = ("",)) -> Mask:
    """Returns a mask of the ops with an effect that is not among the allowed ones."""
    find = effect_finder(graph)
    return graph.mask(op for op in range(graph.size) if find(op) not in allowed)
