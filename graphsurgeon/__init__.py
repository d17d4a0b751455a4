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

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import examples
from .applied import Applied
from .compare import Comparison, compare
from .connect import connect
from .diff import diff
from .editor import Editor
from .errors import LayoutError, OpenError, PlanError, SelectionError, StalePlanError, SurgeryError, TrustError
from .evolve import Candidate, Evolution, Generation, candidate, crossover, evolve
from .graph.boundary import Boundary, Leak
from .graph.diff import Diff
from .graph.graph import Graph
from .graph.layers import Layer, Layers
from .graph.match.match import Match, Matches
from .graph.match.pattern import Pattern
from .graph.reports import Restored, Saved, Transferred
from .graph.selection import OpView, Selection
from .graph.trace import Trace
from .open import open
from .plan.fault import Fault
from .plan.menu import Recipe, offer
from .plan.plan import Plan
from .plan.preview import Preview
from .recover import recover
from .recursive_copy import copy_op_to_graph, copy_to_graph, copy_variable_to_graph, get_copied, get_copied_op
from .replica import LocalCluster, Replica, Update, duplicate, local_cluster
from .transfer import transfer
from .view.engines import doctor

if TYPE_CHECKING:
    from . import recipes as recipes
    from .tf.functions.keras_layer import GraphLayer as GraphLayer

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


def _recipes() -> tuple[Recipe, ...]:
    from .recipes.table import TABLE

    return TABLE


offer(_recipes)


def __getattr__(name: str) -> Any:
    if name == "recipes":  # about twenty modules, loaded when they are first needed
        return import_module(".recipes", __name__)
    if name == "GraphLayer":  # Keras is loaded when it is first needed
        from .tf.functions.keras_layer import GraphLayer

        return GraphLayer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
