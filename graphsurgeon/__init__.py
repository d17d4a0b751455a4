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
    >>> plan = ed.plan().copy(block, to="twin", inputs={"x:0": "x:0"})
    >>> done = ed.apply(plan)
    >>> done["y:0"].name
    'twin/y:0'
"""

from .applied import Applied
from .breeding import crossover
from .candidate import Candidate, candidate
from .classic import copy_op_to_graph, copy_to_graph, copy_variable_to_graph, get_copied, get_copied_op
from .cluster import LocalCluster, local_cluster
from .compare import Comparison, compare
from .connecting import connect
from .core.boundary import Boundary, Leak
from .core.diff import Diff
from .core.graph import Graph
from .core.match import Match, Matches
from .core.patterns import Pattern
from .core.plan import Fault, Plan
from .core.preview import Preview
from .core.reports import Restored, Saved, Transferred
from .core.selection import OpView, Selection
from .diff import diff
from .duplicate import duplicate
from .editor import Editor
from .errors import LayoutError, OpenError, PlanError, SelectionError, StalePlanError, SurgeryError
from .evolve import Evolution, Generation, evolve
from .opening import open
from .transferring import transfer
from .twin import Twin
from .update import Update
from .view.engines import doctor

__version__ = "0.1.0"

__all__ = [
    # opening and operating
    "open",
    "Editor",
    "Selection",
    "Boundary",
    "Leak",
    "OpView",
    "Plan",
    "Fault",
    "Preview",
    "Applied",
    "Graph",
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
    "Twin",
    "Update",
    "local_cluster",
    "LocalCluster",
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
    "LayoutError",
]
