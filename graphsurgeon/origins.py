"""Origins: what an editor knows of where its ops came from, and the GraphDef that says it too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .graph.provenance import Origin
from .plan.plan import op_name

if TYPE_CHECKING:
    from .graph.graph import Graph


class Origins:
    """The part of an `Editor` that is about provenance."""

    graph: Any

    if TYPE_CHECKING:

        @property
        def snapshot(self) -> Graph:
            """The graph as it is now."""

        @property
        def orphans(self) -> frozenset[str]:
            """Names of ops left without a role."""

        def _left(self, graph: Any) -> dict[str, int]: ...

    def provenance(self, op: Any) -> Origin:
        """Returns where an op came from: copied, inserted, changed, and in which step; or that it is an original.

        The graph itself keeps it, in the collection ``graphsurgeon/provenance``: what
        `tf.compat.v1.train.export_meta_graph`, a `Saver` or a SavedModel builder of TF1 writes, `gs.open` knows again.
        A plain GraphDef has no collections: ask for it with ``ed.graph_def(provenance=True)``.

        Args:
            op: an op, tensor or variable, by name or object.

        Raises:
            SelectionError: there is no such op.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.square(tf.constant(3.0, name="x"), name="y")
            >>> ed = gs.open(graph, title="squares")
            >>> done = ed.apply(ed.plan().copy(ed.select(name=["x", "y"]), to="copy"))
            >>> print(ed.provenance("copy/y"))
            copied from op 'y' of squares in step 1
            >>> ed.provenance("y").kind
            'original'
        """
        from .tf.copy.provenance import known

        name = op_name(getattr(op, "op", op))
        self.snapshot.find(name, f"provenance({name!r})")
        found = known(self.snapshot, self.graph).get(name)
        left = self._left(self.graph)
        if found is None and name in left:
            return Origin(name, "orphan", left[name])
        return found or Origin(name)

    def graph_def(self, *, provenance: bool = False) -> Any:
        """Returns the GraphDef of the graph, without orphans.

        Args:
            provenance: give each op that is no original an attribute ``_graphsurgeon`` that says where it came from;
                TensorFlow takes no notice of it, and `gs.open` reads it.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.square(tf.constant(3.0, name="x"), name="y")
            >>> ed = gs.open(graph)
            >>> done = ed.apply(ed.plan().copy(ed.select(name=["x", "y"]), to="copy"))
            >>> print(gs.open(ed.graph_def(provenance=True)).provenance("copy/y"))
            copied from op 'y' of graph in step 1
            >>> event = ed.undo()
            >>> [node.name for node in ed.graph_def().node]
            ['x', 'y']
        """
        from .tf.copy.provenance import graph_def

        return graph_def(self.snapshot, self.graph, self.orphans, provenance)
