"""Op types: their effects, and their definitions from TensorFlow or, before it is imported, from a table.

An effect is what an op does in addition to computing its outputs, such as setting a variable.

`tools/write_op_definitions.py` writes the table for one version of TensorFlow. TensorFlow is imported if another
version is installed, or if the table lacks an op type.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..graph.functions import BRANCHING, CALLS, functions_in_node, op_types_finder
from ..graph.graph import Graph, Mask
from ..graph.types import TFNodeDef
from ..graph.variables import FEED_TYPES, PLACEHOLDER_TYPES, QUERY_TYPES, READ_TYPES, TABLE_TYPES, VARIABLE_TYPES
from .import_tensorflow import is_loaded, tf
from .messages import control_flow_pb2, op_def_pb2, queue_runner_pb2, saver_pb2, variable_pb2

FOLDER = "op_definitions"
_DISTRIBUTIONS = ("tensorflow", "tensorflow-cpu", "tensorflow-intel", "tensorflow-macos", "tensorflow-rocm")


def op_definition(name: str, functions: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """Returns the OpDef of an op type, or None.

    Args:
        name: the op type.
        functions: name -> FunctionDef. The name of a function is also an op type.
    """
    if name in functions:
        return functions[name].signature
    if not is_loaded() and name in (definitions := table(installed_version())):
        return definitions[name]
    from .private import graphs

    return graphs.registered_op(name)


def is_registered_op(name: str) -> bool:
    """Returns whether this op type is registered in TensorFlow."""
    return op_definition(name) is not None


def is_stateful(name: str) -> bool:
    """Returns whether TensorFlow defines an op type as stateful: its ops change or read lasting state."""
    about = op_definition(name)
    return about is not None and bool(about.is_stateful)


def documentation(op_type: str) -> str:
    """Returns the first paragraph of TensorFlow's documentation of an op type; empty if it has none."""
    if not is_loaded() and op_type in (definitions := table(installed_version())):
        return str(definitions[op_type].summary)
    is_registered = hasattr(tf.raw_ops, op_type)  # since Python 3.13, None has a docstring
    text = ((getattr(tf.raw_ops, op_type).__doc__ if is_registered else "") or "").strip()
    return text.split("\n\n")[0].replace("\n", " ")


_COLLECTIONS = {
    "queue_runners": queue_runner_pb2.QueueRunnerDef,
    "savers": saver_pb2.SaverDef,
    "while_context": control_flow_pb2.WhileContextDef,
    "cond_context": control_flow_pb2.CondContextDef,
    **dict.fromkeys(
        (
            "variables", "trainable_variables", "local_variables", "model_variables", "metric_variables",
            "moving_average_variables", "global_step",
        ),
        variable_pb2.VariableDef,
    ),
}  # fmt: skip
"""Collection -> the message type of its items in TensorFlow."""


def collection_message(name: str) -> Any:
    """Returns the message type of the items of a collection; None if the collection has none."""
    if not is_loaded():  # only a program that has imported TensorFlow can register another type
        return _COLLECTIONS.get(name)
    from .private import graphs

    return graphs.collection_reader(name)[0]


@cache
def installed_version() -> str:
    """Returns the version of the TensorFlow that is installed, such as ``2.21``; empty if its package is not known."""
    spec = find_spec("tensorflow")
    for package in spec.submodule_search_locations or () if spec is not None else ():
        # importlib.metadata takes 15 ms, because it reads the files in the folder
        for folder in Path(package).parent.glob("tensorflow*.dist-info"):
            name, _, version = folder.stem.rpartition("-")
            if name.replace("_", "-") in _DISTRIBUTIONS:
                return ".".join(version.split(".")[:2])
    return ""


@cache
def table(tensorflow_version: str) -> Mapping[str, Any]:
    """Returns the op definitions of a version of TensorFlow by name, each with its documentation as its summary.

    Args:
        tensorflow_version: the version. The table is empty if there is no file for this version.
    """
    file = files(__package__) / FOLDER / f"{tensorflow_version}.pb.gz"
    if not tensorflow_version or not file.is_file():
        return {}
    return {
        definition.name: definition
        for definition in op_def_pb2.OpList.FromString(gzip.decompress(file.read_bytes())).op
    }


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
