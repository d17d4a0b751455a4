"""Functions: what an editor does with TF2 functions: it makes them, and takes apart those its graph calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .history import Log, moment
from .plan.plan import op_name

if TYPE_CHECKING:
    from .editor import Editor
    from .graph.graph import Graph


class Functions:
    """The part of an `Editor` that is about functions."""

    inputs: dict[str, str]
    outputs: dict[str, str]
    title: str
    packed: Any
    _results: tuple[str, ...]
    _code: str
    _log: Log
    _session: Any
    _values: Any

    if TYPE_CHECKING:

        @property
        def snapshot(self) -> Graph:
            """The graph as it is now."""

        def session(self) -> Any:
            """Returns a session with all values."""

        def values_session(self) -> Any:
            """Returns the session that has the values."""

        def untrained(self) -> dict[str, str]:
            """Returns the variables that have no value but their initial one."""

        @property
        def void(self) -> frozenset[str]:
            """Names of variables that nothing gives a value."""

    def function(self, inputs: Any = None, outputs: Any = None, *, values: Any = None, name: str = "function") -> Any:
        """Returns a TF2 callable made from a part of this graph, with variables of its own.

        Args:
            inputs: the tensors that become arguments, by name or object: one, several, or a dict of argument name ->
                tensor. An argument has the dtype and static shape of its tensor. Default: those of the function that
                was opened.
            outputs: the tensors it returns: one gives a tensor, several a list, a dict a dict. Default: those of the
                function that was opened, put together as that returns them.
            values: where its variables' values come from: a session, an editor, or a mapping of variable name to
                array. Default: `session()`.
            name: what to call it.

        Returns:
            a `GraphFunction`, which is a `tf.Module`: call it, train its `trainable_variables`, save it with
            `tf.saved_model.save`. The graph and its session stay as they are. Reference variables become resource
            variables, and tables filled from constants come along. A tape has no gradient through a ``while_loop`` of
            TF1: such a function runs, but not under a tape.

        Raises:
            SelectionError: a tensor is not there.
            PlanError: `outputs` need a tensor that is no input; an op that assigns to a reference variable; a
                queue, an iterator or a table that changes; a variable has no value.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
            ...     y = tf.multiply(x, tf.compat.v1.get_variable("w", initializer=3.0), name="y")
            >>> f = gs.open(graph).function("x:0", "y:0")
            >>> print(f([1.0, 2.0]).numpy(), f.trainable_variables[0].name)
            [3. 6.] w:0
        """
        from .keeping import values_of
        from .tf.functions.graph_function import graph_function

        given = values_of(values) if values is not None else self.values_session
        takes, gives = self.inputs if inputs is None else inputs, self.outputs if outputs is None else outputs
        same = outputs is None and tuple(gives) == self._results
        return graph_function(self.snapshot, takes, gives, given, name, packed=self.packed if same else None)

    def inlined(self, *calls: Any) -> Editor:
        """Returns an editor of a new graph in which function calls are replaced by what they compute.

        Args:
            calls: the `PartitionedCall` ops meant, by name or object; none: all of them. Calls inside these are
                inlined too. The ops of a call get its name as their scope.

        Returns:
            an `Editor` with the same variables and values. This one stays as it is. The numbers are the same but
            for the last bit, where TensorFlow's optimiser now fuses ops that a call kept apart. A v2 ``If``, ``While``
            or ``Case`` stays an op, and so does a call whose function has a gradient of its own.

        Raises:
            SelectionError: there is no op of this name.
            PlanError: an op is no function call that can be inlined; the message says why.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> double = tf.function(lambda v: tf.multiply(v, 2.0, name="twice"))
            >>> with tf.Graph().as_default() as graph:
            ...     y = double(tf.compat.v1.placeholder(tf.float32, [None], name="x"))
            >>> gs.open(graph).inlined().snapshot.names
            ['x', 'PartitionedCall/twice/y', 'PartitionedCall/twice', 'PartitionedCall/Identity']
        """
        from .editor import Editor
        from .tf.functions.inline import inlined
        from .tf.values.sessions import SessionValues

        made = inlined(self.snapshot, calls)
        moved = {key: made.tensors.get(name, name) for key, name in self.outputs.items()}
        shown = ", ".join(repr(op_name(call)) for call in calls)
        values = SessionValues(self.values_session, self._values, self.untrained, made.graph, self.void)
        editor = Editor(made.graph, self.title, f"{self._code}.inlined({shown})", None, values, self.inputs, moved)
        editor.packed = self.packed
        editor._log.follows = (self._log, moment(), f".inlined({shown})")
        return editor
