"""Surgery on TensorFlow graphs, by eye and by hand, in a notebook.

Open a graph, select a part, plan, look at the plan, apply it, undo it:

    >>> import tensorflow as tf
    >>> import graphsurgeon as gs
    >>> graph = tf.Graph()
    >>> with graph.as_default():
    ...     x = tf.compat.v1.placeholder(tf.float32, [None, 2], name="x")
    ...     y = tf.square(x, name="y")
    >>> ed = gs.open(graph)
    >>> block = ed.select(inputs=["x:0"], outputs=["y:0"])
    >>> plan = ed.plan().copy(block, to="copy", inputs={"x:0": "x:0"})
    >>> done = ed.apply(plan)
    >>> done["y:0"].name
    'copy/y:0'
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .plan.recipe_registry import register_recipe

if TYPE_CHECKING:
    from . import recipes as recipes
    from .editor import examples as examples
    from .editor.applied import Applied
    from .editor.compare import Comparison, compare, diff
    from .editor.connect import connect
    from .editor.editor import Editor
    from .editor.open import open, recover
    from .editor.transfer import transfer
    from .errors import LayoutError, OpenError, PlanError, SelectionError, StalePlanError, SurgeryError, TrustError
    from .evolve.candidate import Candidate, candidate, crossover
    from .evolve.evolution import Evolution, Generation, evolve
    from .graph.boundary import Boundary, Leak
    from .graph.diff import Diff
    from .graph.graph import Graph
    from .graph.layers import Layer, Layers
    from .graph.pattern import Pattern
    from .graph.pattern_match import Match, Matches
    from .graph.reports import Restored, Saved, Transferred
    from .graph.selection import OpView, Selection
    from .graph.trace import Trace
    from .plan.fault import Fault
    from .plan.plan import Plan
    from .plan.preview import Preview
    from .plan.recipe_registry import Recipe
    from .recursive_copy import copy_op_to_graph, copy_to_graph, copy_variable_to_graph, get_copied, get_copied_op
    from .replica.cluster import LocalCluster, local_cluster
    from .replica.duplicate import duplicate
    from .replica.replica import Replica, Update
    from .tf.functions.keras_layer import GraphLayer as GraphLayer
    from .view.graphviz import doctor

__version__ = "0.1.0"

__all__ = [
    # opening and operating
    "open",
    "recover",
    "Editor",
    "Selection",
    "Boundary",
    "Leak",
    "OpView",
    "Layer",
    "Layers",
    "Plan",
    "Fault",
    "Preview",
    "Applied",
    "Graph",
    "Trace",
    "compare",
    "Comparison",
    "diff",
    "Diff",
    "Pattern",
    "Matches",
    "Match",
    # values, and several graphs
    "connect",
    "transfer",
    "Restored",
    "Saved",
    "Transferred",
    "doctor",
    # duplicates that follow
    "duplicate",
    "Replica",
    "Update",
    "local_cluster",
    "LocalCluster",
    # what people come for
    "recipes",
    "examples",
    # genetic programming
    "evolve",
    "Evolution",
    "Generation",
    "Candidate",
    "candidate",
    "crossover",
    # the 2016 functions
    "copy_variable_to_graph",
    "copy_to_graph",
    "get_copied",
    "copy_op_to_graph",
    "get_copied_op",
    # errors
    "SurgeryError",
    "OpenError",
    "SelectionError",
    "PlanError",
    "StalePlanError",
    "TrustError",
    "LayoutError",
]


_NAMES = {
    ".editor.applied": "Applied",
    ".editor.compare": "Comparison compare diff",
    ".editor.connect": "connect",
    ".editor.editor": "Editor",
    ".errors": "LayoutError OpenError PlanError SelectionError StalePlanError SurgeryError TrustError",
    ".evolve.candidate": "Candidate candidate crossover",
    ".evolve.evolution": "Evolution Generation evolve",
    ".graph.boundary": "Boundary Leak",
    ".graph.diff": "Diff",
    ".graph.graph": "Graph",
    ".graph.layers": "Layer Layers",
    ".graph.pattern_match": "Match Matches",
    ".graph.pattern": "Pattern",
    ".graph.reports": "Restored Saved Transferred",
    ".graph.selection": "OpView Selection",
    ".graph.trace": "Trace",
    ".editor.open": "open recover",
    ".plan.fault": "Fault",
    ".plan.plan": "Plan",
    ".plan.preview": "Preview",
    ".recursive_copy": "copy_op_to_graph copy_to_graph copy_variable_to_graph get_copied get_copied_op",
    ".replica.cluster": "LocalCluster local_cluster",
    ".replica.duplicate": "duplicate",
    ".replica.replica": "Replica Update",
    ".editor.transfer": "transfer",
    ".view.graphviz": "doctor",
    ".tf.functions.keras_layer": "GraphLayer",
}
"""Module -> its public names. A module is imported when one of its names is first needed."""
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}


class _Package(ModuleType):
    """A package in which a function keeps its name, although a module has the same name: `evolve`."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in _MODULE_OF):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name in ("examples", "recipes"):
        return import_module(".editor.examples" if name == "examples" else ".recipes", __name__)
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULE_OF[name], __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _recipes() -> tuple[Recipe, ...]:
    from .recipes.menu import TABLE

    return TABLE


register_recipe(_recipes)
