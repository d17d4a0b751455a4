"""Explaining: what an editor says of its graph: why an op is selected, what holds it, and what looks alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .graph.explain import Path, WhyNot, why, why_not
from .graph.graph import Graph
from .graph.match.match import STEPS, Matches, match
from .graph.selection import Selection
from .plan.blocking import Blocks, blocks


class Explaining:
    """The part of an `Editor` that explains and looks for patterns."""

    if TYPE_CHECKING:

        @property
        def snapshot(self) -> Graph:
            """The graph as it is now."""

    def why(self, op: Any, selection: Any) -> Path:
        """Returns the shortest path, of data and control edges, by which an op came into a selection.

        Args:
            op: the op, by name or object.
            selection: a selection of ancestors, descendants or by boundary; or targets, for all they need.

        Raises:
            SelectionError: there is no such op, or it is not in the selection.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.exp(-tf.constant(1.0, name="x"), name="y")
            >>> print(gs.open(graph).why("x", "y"))
            'x' is in the selection because 'y' needs it
              Neg  input 0 reads x:0
              y  input 0 reads Neg:0
        """
        return why(self.snapshot, op, selection)

    def why_not(self, op: Any, selection: Any) -> WhyNot:
        """Returns why an op is not in a selection: cut at a boundary input, only control edges, below, no path at all.

        Args:
            op: the op, by name or object.
            selection: a selection, or targets, for all they need.

        Raises:
            SelectionError: there is no such op, or it is in the selection.
        """
        return why_not(self.snapshot, op, selection)

    def blocks(self, what: Any) -> Blocks:
        """Returns what prevents the removal of an op or a selection; false where nothing does.

        Args:
            what: an op by name or object, several of them, or a selection.

        Raises:
            SelectionError: there is no such op, or nothing is selected.
        """
        return blocks(self.snapshot, what)

    def match(
        self,
        pattern: Any,
        *,
        inputs: Mapping[str, Any] | None = None,
        where: Mapping[str, Any] | None = None,
        attributes: str | Iterable[str] = (),
        constants: str = "any",
        overlapping: bool = False,
        within: Selection | None = None,
        steps: int = STEPS,
    ) -> Matches:
        """Returns the places of the graph that look like a pattern: same types, same edges, all conditions true.

        Args:
            pattern: a plain Python function of tensors; a selection, for all like it; a small graph, as an editor, a
                snapshot or a `tf.Graph`, whose placeholders are its inputs; or a `Pattern`.
            inputs: for a function, argument -> dtype or `tf.TensorSpec`: they decide which ops the function makes.
            where: op of the pattern -> a test called with an `OpView`, or the arguments of `Pattern.where` as a dict:
                ``{"conv": {"attributes": {"padding": "SAME"}}}``.
            attributes: attributes that must be as in the pattern; ``all`` for all of each op.
            constants: a constant of the pattern stands for ``any`` constant, for one that is ``equal``, or for any
                tensor, as an ``input``.
            overlapping: one op may be part of several matches. Constants always may.
            within: look among these ops only.
            steps: the search from one op is given up after so many steps; the result counts these.

        Returns:
            the matches, in graph order: `ops`, `inputs`, `outputs` of each, and what stands in the way of replacing
            it: `external` readers of inner tensors, control edges. Where there is none, `best` says why.

        Raises:
            SelectionError: the pattern is none, or a condition names an op it does not have.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
            ...     y = tf.multiply(tf.sigmoid(x, name="gate"), x, name="swish")
            >>> print(gs.open(graph).match(lambda x: x * tf.sigmoid(x)))
            1 match in graph of the pattern of 2 ops: Sigmoid (Sigmoid), mul (Mul); inputs x; outputs mul
              Sigmoid = gate, mul = swish
                x is x:0
        """
        from .tf.edit.patterns import array_of, as_pattern

        made = as_pattern(pattern, inputs=inputs, where=where, attributes=attributes, constants=constants)
        return match(self.snapshot, made, overlapping=overlapping, within=within, steps=steps, read=array_of)
