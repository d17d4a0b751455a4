"""The effects of ops: what ops do in addition to computing their outputs, such as setting variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from ..graph.functions import BRANCHING, CALLS, functions_in_node, op_types_finder
from ..graph.graph import Graph, Mask
from ..graph.types import TFNodeDef
from ..graph.variables import FEED_TYPES, PLACEHOLDER_TYPES, QUERY_TYPES, READ_TYPES, TABLE_TYPES, VARIABLE_TYPES
from .registry import op_definition

RANDOM = "draws random numbers"
CONTENT = "has content that no file contains"
FED = "reads from outside the graph"
_CHECKS = "checks or prints values"
_WITHIN_RUN = "has state until the run ends"
#: The effects that end with a run.
HARMLESS = frozenset({_CHECKS, _WITHIN_RUN})
#: The effects of ops that a run may repeat.
REPEATABLE = HARMLESS | {RANDOM, CONTENT}
#: Ops that are stateful for TensorFlow, but only read values, or run other ops.
_READING = VARIABLE_TYPES | READ_TYPES | QUERY_TYPES | PLACEHOLDER_TYPES | BRANCHING | CALLS | {
    "HashTable", "HashTableV2", "AnonymousHashTable", "LookupTableFind", "LookupTableSize", "LookupTableExport",
    "LookupTableExportV2", "StatelessRandomGetAlg",
}  # fmt: skip
_CHECKING = ("Assert", "CheckNumerics", "CheckNumericsV2", "Print", "PrintV2")
#: Ops whose state does not outlive a run.
_WITHIN_RUN_FAMILIES = ("TensorArray", "Stack")
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
    if op_type in _READING or op_type.startswith("Ref"):  # such as RefSwitch, which passes on a reference
        return ""
    if op_type in _CHECKING:
        return _CHECKS
    if op_type.startswith(_WITHIN_RUN_FAMILIES):
        return _WITHIN_RUN
    if definition is None:
        return "has a type that TensorFlow does not know"
    if op_type in FEED_TYPES:
        return FED
    if "Queue" not in op_type and {"seed", "seed2"} <= {attribute.name for attribute in definition.attr}:
        return RANDOM
    writes = definition.is_stateful or any(argument.is_ref for argument in definition.input_arg)
    return "has effects, or state" if writes or op_type.startswith(_OUTSIDE) else ""


def effect_finder(functions: Mapping[str, Any]) -> Callable[[TFNodeDef], frozenset[str]]:
    """Returns a function: NodeDef of an op -> texts about its effects, and about those of the functions it calls.

    Args:
        functions: the functions, by name.
    """
    of_type, types_in = cache(effect_of_type), op_types_finder(functions)

    @cache
    def of_function(name: str) -> frozenset[str]:
        return frozenset(of_type(kind) for kind in types_in(name) if kind not in functions)

    def find(node: TFNodeDef) -> frozenset[str]:
        own = frozenset[str]() if node.op in functions else {of_type(node.op)}
        called = functions_in_node(node, functions) if functions else ()
        return frozenset(own).union(*map(of_function, called)) - {""}

    return find


def acting_ops(graph: Graph, allowed: frozenset[str] = HARMLESS) -> Mask:
    """Returns a mask of the ops with an effect that is not among the allowed ones."""
    find = effect_finder(graph.functions)
    return graph.mask(op for op, node in enumerate(graph.nodes) if find(node) - allowed)
