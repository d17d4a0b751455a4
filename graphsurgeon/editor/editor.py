"""The editor: a graph with its values, its history and its picture."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import tf
from ..errors import PlanError, SelectionError, counted, did_you_mean, few
from ..graph.concurrency import gc_paused
from ..graph.conversion_verdict import TARGETS, Compatibility, Unconvertible
from ..graph.explain import Path, WhyNot, explain
from ..graph.graph import Graph, TensorInfo
from ..graph.layers import Layer, Layers, match_layers, ops_of_layers
from ..graph.names import op_name
from ..graph.op_packages import refusal_text
from ..graph.open_graph import OpenedGraph, Signature
from ..graph.pattern import PatternLike
from ..graph.pattern_match import STEPS, Matches, match
from ..graph.provenance import OpOrigin, orphan_mask
from ..graph.references import ReferenceResolver
from ..graph.reports import Restored, Saved
from ..graph.security import Risks, origins, risks
from ..graph.selection import OpView, Selection, name_patterns, select
from ..graph.trace import Trace
from ..graph.types import (
    FeedDict,
    Named,
    OpLike,
    OpsLike,
    PathLike,
    TensorLike,
    TensorsLike,
    TFConfig,
    TFSession,
    ValueSource,
)
from ..plan.editor_like import described
from ..plan.plan import Plan
from ..plan.recipe_registry import registered_recipes
from ..plan.removal import RemovalBlockers, find_removal_blockers
from ..plan.steps.edit import RebuildStep
from ..running.convertibility import check, explain_unfreezable
from ..running.feeds import feeds_needed
from ..running.trace import trace
from .applied import Applied
from .backend import new_plan
from .export import Picture, fold_keys, infer, summary, svg_of
from .functions import function_of, inlined, layer_of, model_of
from .history import Event, History, Log, Timeline, before, moment
from .journal import Journal, folder
from .save import restore, save
from .session_values import Values

if TYPE_CHECKING:
    from ..ui.screen import Screen


class Editor:
    """A graph with its picture and its history. `gs.open` returns an editor.

    You select ops, make plans, apply the plans and undo them. Selections and plans are values. The graph changes only
    in `apply`, `undo`, `redo` and `rebuild`.

    Methods that accept an op or a tensor also accept the name of a Keras layer, unless an op has the same name. The
    name means the output of the layer. For a method that accepts several ops, it means all ops and variables of the
    layer.

    Args:
        opened_graph: the opened graph. For a TF2 function, `inputs` and `outputs` map its arguments and results to
            names of tensors.
        snapshot: an earlier snapshot of the same graph. Only ops added since then are read.
        parent_log: the log of the editor from which this editor is made, the moment, and the call that makes it.

    Attributes:
        opened_graph: the opened graph.
        values: the values of the variables.
        changes: its watchers are called after each apply, undo and redo.
        journal: the journal on disk; None if no journal is kept.
    """

    def __init__(
        self, opened_graph: OpenedGraph, snapshot: Graph | None = None, parent_log: tuple[Log, int, str] | None = None
    ) -> None:
        self.opened_graph = opened_graph
        self._timeline = Timeline(opened_graph, snapshot, parent_log)
        self.values, self.changes = Values(opened_graph, self._timeline), self._timeline.changes
        self._screen: Screen | None = None
        self.journal: Journal | None = None

    # -- looking ---------------------------------------------------------------------------------

    @property
    def graph(self) -> Any:
        """The current live graph."""
        return self._timeline.graph

    @property
    def title(self) -> str:
        """The title of the graph."""
        return self.opened_graph.title

    @property
    def inputs(self) -> dict[str, str]:
        """The inputs of an opened function: argument -> current name of its tensor."""
        return dict(described(self).inputs)

    @property
    def outputs(self) -> dict[str, str]:
        """The outputs of an opened function: result -> current name of its tensor."""
        return dict(described(self).outputs)

    @property
    def layers(self) -> Layers:
        """The layers of the current graph: the ops of each, and the layers that edits have removed.

        The layers come from the Keras model, or from the Keras model that a function calls. The modules of a
        `tf.Module` are layers too, named by their attributes, for example ``encoder/dense``. A SavedModel written by
        Keras 2 lists its layers. In other SavedModels, and in functions traced earlier, a layer is found if its
        variables are read in a scope of its name. If the file does not list classes, `Layer.class_name` is empty. An op
        that a layer makes inside a loop, a branch or a function has its name there, for example
        ``while/body/dense/MatMul``.

        Example:
            >>> import graphsurgeon as gs, keras
            >>> x = keras.Input((8,), name="x")
            >>> model = keras.Model(x, keras.layers.Dense(2, "relu", name="head")(x), name="net")
            >>> ed = gs.open(model)
            >>> [(layer.path, layer.class_name) for layer in ed.layers]
            [('x', 'InputLayer'), ('head', 'Dense')]
            >>> ed.layer("head").inputs, ed.layer("head").variables
            (('x:0',), ('head/kernel', 'head/bias'))
        """
        return self._timeline.layers

    def layer(self, name: OpLike) -> Layer:
        """Returns a layer of the graph: its class, ops, inputs, outputs and variables.

        Args:
            name: the name of the layer; or its path if it is inside a nested model, for example ``"encoder/dense"``; or
                the Keras layer object.

        Raises:
            SelectionError: if no layer, or more than one, has this name, or an edit removed the layer.
        """
        return self.layers.find(name)

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The signatures of a SavedModel, each with its name and the dtypes and shapes of its arguments and results.

        `gs.open(folder, signature=name)` opens another signature in a new editor. `show_signature` shows it in this
        editor.
        """
        return self.opened_graph.serving.signatures

    def show_signature(self, name: str) -> None:
        """Shows another signature or function of the opened SavedModel in this editor and in its widget.

        The result is the same as ``gs.open(folder, signature=name)``. Existing selections and plans belong to the graph
        that was shown before.

        Args:
            name: one of `signatures`, or the path of a function from the saved object: ``"encoder.forward"``.

        Raises:
            SelectionError: if there is no signature or function of this name.
            PlanError: if a plan was applied in this editor, because the plan would be lost.
        """
        request, serving = f"show_signature({name!r})", self.opened_graph.serving
        if serving.open_other is None:
            suggestion = "Open the folder of a SavedModel of TF2: gs.open(folder)"
            raise SelectionError(request, f"{self.title} was not opened as a SavedModel's folder", suggestion)
        if name not in serving.names:
            problem = f"{self.title} has no signature or function {name!r}"
            raise SelectionError(request, problem, did_you_mean(name, serving.names))
        if self._timeline.log.current_events():
            how = f"signature={name!r}" if name in [one.name for one in serving.signatures] else f"function={name!r}"
            problem = f"{counted(len(self._timeline.log.current_events()), 'plans')} applied here would be lost"
            raise PlanError(request, problem, f"Open it in another editor, gs.open(folder, {how}), or ed.undo() first")
        self.opened_graph = serving.open_other(name)
        self._timeline = Timeline(self.opened_graph, changes=self.changes)
        self.values = Values(self.opened_graph, self._timeline)
        if self.journal is not None:
            self.start_journal(self.journal.place)
        self.changes.notify()

    @property
    def snapshot(self) -> Graph:
        """The current graph as an immutable value. It is read again if ops were added to the live graph."""
        return self._timeline.snapshot

    def __str__(self) -> str:
        live = self._timeline.log.current_events()
        warnings = [*self.opened_graph.serving.notes]
        warnings += [text for event in live if event.result for text in event.result.warnings]
        warnings += filter(None, [self.values.missing_text, refusal_text(self.snapshot)])
        renamed = self.history.renamed
        new_ops = frozenset(renamed.get(op, op) for event in live for op in event.names)
        reach = "" if self.opened_graph.from_live_graph else self.risks().summary
        warnings += [f"{reach}; ed.risks() lists them"] if reach else []
        warnings += self.journal.messages if self.journal is not None else []
        return summary(self.snapshot, self.orphans, warnings, described(self), self.layers, new_ops)

    def __repr__(self) -> str:
        return f"<Editor of {self.title}: {counted(self.snapshot.size, 'ops')}>"

    def __len__(self) -> int:
        return self.snapshot.size

    def find(self, text: str, limit: int = 20) -> list[str]:
        """Returns the names of ops that match a query. The search field of the widget uses the same queries.

        The bodies of function calls are searched too, under names such as ``call/inner``; ``ed.screen.reveal`` shows
        them.

        Args:
            text: words that must all match: parts of names, patterns with ``*``, ``/regular expressions/``, and
                ``op:``, ``dtype:``, ``shape:``, ``device:``, ``attr:name=value``, ``layer:name``, ``layer-type:Dense``,
                ``is:unknown`` (op types that the installed TensorFlow does not have). Words after a ``-`` must not
                match.
            limit: the maximum number of names.

        Raises:
            SelectionError: if a regular expression does not compile, or a key does not exist.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.exp(-tf.constant(1.0, name="x"), name="y")
            >>> gs.open(graph).find("op:Exp")
            ['y']
        """
        from ..graph.search import search

        return search(self.screen.whole, text, tf.open.op_facts.attribute_text, self.layers)[:limit]

    def op(self, name: OpLike) -> Any:
        """Returns a live op.

        Args:
            name: the name of an op, or an op or tensor.

        Raises:
            SelectionError: if there is no such op; the message lists similar names.
        """
        name = self._resolver(f"op({name!r})").op(name)
        op_name = self._current_name(name, "op")
        if op_name is not name:  # the name of a tensor ends in an output number
            op_name = op_name.partition(":")[0]
        self.snapshot.find(op_name, f"op({op_name!r})", lambda: self.layers.names)
        return self.graph.get_operation_by_name(op_name)

    def tensor(self, name: TensorLike) -> Any:
        """Returns a live tensor.

        Args:
            name: the name of a tensor, a tensor, or an op, which means its output 0.

        Raises:
            SelectionError: if there is no such tensor; the message lists similar names.
        """
        current = self._current_name(self._resolver(f"tensor({name!r})").tensor(name), "tensor")
        number, port = self.snapshot.tensor(current, f"tensor({current!r})")
        return self.graph.get_operation_by_name(self.snapshot.names[number]).outputs[port]

    def _resolver(self, request: str) -> ReferenceResolver:
        """Returns the resolver for the ops and tensors that are arguments of a call."""
        return ReferenceResolver(self.snapshot, self.layers, request, self._signature)

    @property
    def _signature(self) -> dict[str, str]:
        """Key of the inputs and outputs -> tensor; keys with two different tensors are left out."""
        pairs = {*self.inputs.items(), *self.outputs.items()}
        counts = Counter(key for key, _ in pairs)
        return {key: tensor for key, tensor in pairs if counts[key] == 1}

    def _current_name(self, obj: Any, verb: str) -> Any:
        """Returns the name of an op or tensor of this graph. Other objects are returned unchanged for a later check."""
        graph, name = getattr(obj, "graph", None), getattr(obj, "name", None)
        if graph is None or name is None:
            return obj
        if graph is not self.graph:
            request, problem = (
                f"{verb}({name!r})",
                f"{name!r} is an object of another graph, not of {self.snapshot.title}",
            )
            raise SelectionError(request, problem, "Give the object of this graph, or its name as text")
        return name

    def value(self, name: str) -> Any:
        """Returns the current value of a constant or variable, as an array.

        Args:
            name: the name of the constant or variable.

        Raises:
            SelectionError: if the op is neither a constant nor a variable, or has no value.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     w = tf.compat.v1.get_variable("w", initializer=[1.0, 2.0])
            >>> gs.open(graph).value("w").tolist()
            [1.0, 2.0]
        """
        layer = self._resolver(f"value({name!r})").layer(name)
        if layer is not None:
            problem = (
                f"{name!r} is a layer with {counted(len(layer.variables), 'variables')}, not a constant or variable"
            )
            how = f"Name one of its variables: {few(map(repr, layer.variables))}" if layer.variables else "Name an op"
            raise SelectionError(f"value({name!r})", problem, how)
        return self.values.value(name)

    def provenance(self, op: OpLike) -> OpOrigin:
        """Returns the origin of an op: an original op, or a copied, inserted or changed op with its step.

        The origins are stored in the graph, in the collection ``graphsurgeon/provenance``. `gs.open` reads them from
        files that `tf.compat.v1.train.export_meta_graph`, a `Saver` or a SavedModel builder of TF1 wrote. A plain
        GraphDef has no collections; to store the origins in it, use ``ed.graph_def(provenance=True)``.

        Args:
            op: an op, tensor or variable, by name or object.

        Raises:
            SelectionError: if there is no such op.

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
        return self._timeline.origin(self._resolver(f"provenance({op!r})").op(op))

    # -- selecting -------------------------------------------------------------------------------

    def select(
        self,
        *objects: object,
        scope: str | None = None,
        op: str | Iterable[str] | None = None,
        name: str | Iterable[str] | None = None,
        inputs: TensorLike | Iterable[TensorLike] | None = None,
        outputs: TensorLike | Iterable[TensorLike] | None = None,
        where: Callable[[OpView], bool] | None = None,
        layer: OpsLike | None = None,
    ) -> Selection:
        """Returns the ops that match all given criteria; without criteria, all ops. Orphans match only by name.

        Args:
            objects: not supported; the error message suggests the keyword to use.
            scope: a name scope, with all scopes below it.
            op: an op type, or several.
            name: op names or patterns (``"conv*/W"``); the name of a Keras layer means its ops, as `layer` does.
            inputs, outputs: boundary tensors, by name or object. The selection has the ops that compute `outputs` from
                `inputs`, with the constants and variables that these ops need. The name of a Keras layer means its
                outputs.
            where: a test called with an `OpView` of each op.
            layer: names or paths of Keras layers, or patterns (``"block_6_*"``). The selection has their ops and
                variables.

        Raises:
            SelectionError: if a name does not exist (the message lists similar names), if `outputs` do not depend on
                `inputs`, or if a layer that is given instead of a boundary tensor has several calls.

        Example:
            >>> import graphsurgeon as gs, keras
            >>> x = keras.Input((8,), name="x")
            >>> y = keras.layers.Dense(2, name="head")(keras.layers.Dense(4, "relu", name="body")(x))
            >>> ed = gs.open(keras.Model(x, y, name="net"))
            >>> ed.select(inputs="x", outputs="body").boundary.outputs == ed.layer("body").outputs
            True
            >>> ed.select(layer="body").types
            {'ReadVariableOp': 2, 'VarHandleOp': 2, 'BiasAdd': 1, 'MatMul': 1, 'Relu': 1}
        """
        if objects:
            problem = "it is not clear whether that is a name, a scope or an op type"
            how = f"Type select(name={objects[0]!r}), select(scope=...) or select(op=...)"
            raise SelectionError(f"select({', '.join(map(repr, objects))})", problem, how)

        graph, layers = self._around((scope, name, inputs, outputs)), self.layers

        def tensors(key: str, objects: Any) -> list[Any] | None:
            resolver = ReferenceResolver(graph, layers, f"select({key}={objects!r})", self._signature)
            return None if objects is None else resolver.ends(tf.copy.python_state.parts_of(objects))

        input_tensors, output_tensors = tensors("inputs", inputs), tensors("outputs", outputs)
        if name is not None:
            name = ReferenceResolver(graph, layers, f"select(name={name!r})").ops(name_patterns(name, "name"))
        layer_calls = ops_of_layers(
            one for word in name_patterns(layer, "layer") or () for one in match_layers(layers, word)
        )
        graph = self._around((scope, name, input_tensors, output_tensors, layer_calls))
        about: dict[str, Any] = {"inputs": input_tensors, "outputs": output_tensors, "layer": layer, "layers": layers}
        selection = select(graph, scope=scope, op=op, name=name, **about)
        if name is None and output_tensors is None and self.orphans:
            selection = replace(selection, mask=selection.mask & ~orphan_mask(selection.graph))
        return selection if where is None else selection.where(where)

    def _around(self, objects: Iterable[Any]) -> Graph:
        """Returns the current graph. Calls are unfolded if a name is inside them."""
        now = self.snapshot
        references = [one for thing in objects for one in (thing if isinstance(thing, (list, tuple, set)) else [thing])]
        paths = [one for one in references if isinstance(one, str) and "/" in one]
        away = [one for one in paths if not any(candidate in now.index for candidate in (one, op_name(one)))]
        away = [one for one in away if one.rstrip("/") not in now.scopes.index]
        return self.screen.around(away) if away and now.functions else now

    @property
    def selection(self) -> Selection:
        """The selection on screen; empty if there is no widget yet."""
        return self.screen.selection

    def explain(self, op: OpLike, selection: OpsLike) -> Path | WhyNot:
        """Returns why an op is in a selection, or why it is not.

        Args:
            op: the op, by name or object.
            selection: a selection; or ops or tensors, which mean the selection of all their ancestors.

        Returns:
            For an op in the selection, the shortest path of data and control edges to it. For any other op, the reason:
            cut at a boundary input, connected by control edges only, a descendant, or not connected.

        Raises:
            SelectionError: if there is no such op.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.exp(-tf.constant(1.0, name="x"), name="y")
            >>> print(gs.open(graph).explain("x", "y"))
            'x' is in the selection because 'y' needs it
              Neg  input 0 reads x:0
              y  input 0 reads Neg:0
        """
        resolver = self._resolver(f"explain({op!r})")
        selected = selection if isinstance(selection, Selection) else resolver.ops(selection)
        return explain(self.snapshot, resolver.op(op), selected)

    def removal_blockers(self, ops: OpsLike) -> RemovalBlockers:
        """Returns the reasons why ops cannot be removed. The result is false (``bool(result)``) if they can be removed.

        Args:
            ops: an op by name or object, several ops, or a selection.

        Raises:
            SelectionError: if there is no such op, or the selection is empty.
        """
        selection = ops if isinstance(ops, Selection) else self._resolver(f"removal_blockers({ops!r})").ops(ops)
        return find_removal_blockers(self.snapshot, selection, described(self).end_texts())

    def match(
        self,
        pattern: PatternLike,
        *,
        inputs: Mapping[str, Any] | None = None,
        where: Mapping[str, Any] | None = None,
        attributes: str | Iterable[str] = (),
        constants: str = "any",
        overlapping: bool = False,
        within: OpsLike | None = None,
        steps: int = STEPS,
    ) -> Matches:
        """Returns the places in the graph that match a pattern: the same op types and edges, with all conditions true.

        Args:
            pattern: a Python function of tensors; a selection; a small graph, given as an editor, a snapshot or a
                `tf.Graph`, whose placeholders are its inputs; or a `Pattern`. If the selection, or `within`, is inside
                function calls, the calls are searched.
            inputs: for a function, argument -> dtype or `tf.TensorSpec`. The dtypes and shapes determine the ops that
                the function makes.
            where: conditions: op of the pattern -> a test called with an `OpView`, or the arguments of `Pattern.where`
                as a dict: ``{"conv": {"attributes": {"padding": "SAME"}}}``.
            attributes: attributes that must be equal to those of the pattern; ``all`` for all attributes.
            constants: which tensors a constant of the pattern matches: ``any`` constant, an ``equal`` constant, or any
                tensor (``input``).
            overlapping: whether an op may belong to several matches. A constant always may.
            within: search only these ops: a selection, or ops by name or object.
            steps: the maximum number of steps of the search from one op. The result counts the searches that reached
                it.

        Returns:
            The matches in graph order. Each has its `ops`, `inputs` and `outputs`. It also has the obstacles to a
            replacement: `external` consumers of inner tensors, and control edges. If there is no match, `best` of the
            result explains why.

        Raises:
            SelectionError: if the pattern is not valid, or a condition names an op that the pattern does not have.

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
        resolver = self._resolver("match()")
        if isinstance(pattern, str | Layer) and resolver.layer(pattern) is not None:
            pattern = self.select(name=resolver.ops(pattern))
        compiled = tf.edit.patterns.as_pattern(
            pattern, inputs=inputs, where=where, attributes=attributes, constants=constants
        )
        if within is not None and not isinstance(within, Selection):
            within = self.select(name=resolver.ops(within))
        inside = [one.graph for one in (within, pattern) if isinstance(one, Selection) and one.graph.unfolded]
        graph = next((one for one in inside if one.folded.owner is self.snapshot.owner), self.snapshot)
        return match(
            graph, compiled, overlapping=overlapping, within=within, steps=steps, read_array=tf.edit.patterns.array_of
        )

    # -- planning, applying and undoing ----------------------------------------------------------

    def plan(self) -> Plan:
        """Returns an empty plan for this graph."""
        return new_plan(self.snapshot)

    @property
    def draft(self) -> Plan:
        """The plan that is being made on screen."""
        return self.screen.draft

    def apply(self, plan: Plan, *, record: bool = True) -> Applied:
        """Carries out a plan completely, or leaves the graph as it was.

        Args:
            plan: a plan made by `plan()` of this editor.
            record: store the origins of the new ops in the graph, so that they are saved with it. They are one entry of
                the collection ``graphsurgeon/provenance``, which copies and previews leave out.

        Returns:
            The new ops: ``done[name or object]`` is the copy of a source op, tensor or variable.

        Raises:
            PlanError: if the plan has a fault, or TensorFlow refuses it.
            StalePlanError: if the graph has changed since the plan was made.
        """
        return self._timeline.apply(plan, self.values, record)

    def undo(self) -> Event:
        """Undoes the plan that was applied last.

        If the plan appended copies, they are removed from collections, pictures and saved files. Their ops stay in
        TensorFlow's graph as orphans. If the plan built a new graph, the previous graph is restored. The next `session`
        has the current values: a variable keeps the last value that it had in any session of this editor, under any
        name.

        Raises:
            PlanError: if there is nothing to undo.
        """
        return self._timeline.undo()

    def redo(self) -> Event:
        """Applies the last undone plan again.

        The next `session` has the current values: a variable keeps the last value that it had in any session of this
        editor. A variable that no session has held gets its value from the plan.

        Raises:
            PlanError: if there is nothing to redo.
        """
        return self._timeline.redo()

    def risks(self) -> Risks:
        """Returns the ops that reach out of the graph when they run. Nothing is run.

        These ops read or write files, open network connections, call Python or other code, or end the process.
        Functions that the graph calls are included. Each entry has the path or address if the graph contains it. It
        also shows whether the op runs when the graph is loaded. Ops of savers, and ops whose path is an input of the
        graph, are listed separately as ``harmless``. The command ``graphsurgeon scan FILE`` prints the same list for a
        file, with all its functions.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     done = tf.io.write_file("/tmp/notes", tf.constant("text"), name="note")
            >>> print(gs.open(graph).risks())
            graph: 1 op reaches out of it
              writes files  'note' (WriteFile) writes its text to a file: '/tmp/notes'
        """
        names = self.history.renamed
        load = {names.get(op, op): why for op, why in getattr(self.opened_graph.values, "load", {}).items()}
        return risks(self.snapshot, load, self.opened_graph.assets)

    def check(
        self,
        target: str,
        outputs: TensorsLike | None = None,
        inputs: TensorsLike | None = None,
        *,
        verify: bool = False,
        feeds: FeedDict | None = None,
        timeout: float = 600.0,
    ) -> Compatibility:
        """Returns the ops that a target format does not support, as reported by the converter of the target.

        For ``tflite``, the converter of the installed TensorFlow gets the ops that the outputs need, with variables as
        constants. For ``tfjs``, the op list of the installed ``tensorflowjs`` is used. Each blocker has the recipe that
        removes it, or a place to cut the graph. Ops that need a variable come first, with the kind ``variable``.
        Converters run in a separate process; if a converter crashes or hangs, the result has a line about it.
        ``ed.paint(check)`` shows the ops on the picture.

        Args:
            target: ``tflite`` or ``tfjs``.
            outputs: the tensors that are needed, by name or object. Default: those of the opened function, or all
                tensors without consumers whose ops only compute.
            inputs: tensors that are fed. Their ancestors are left out.
            verify: if there is no blocker, write the model and compare it with the graph: in TFLite's interpreter, or,
                for ``tfjs``, by running the converter.
            feeds: tensor -> array, for that run. Other tensors get random numbers if their dtype and shape allow it.
            timeout: time limit of the converter and of the interpreter, in seconds.

        Raises:
            PlanError: if there is no such target, its converter is not installed, a part of the graph cannot be saved,
                or the model computes other numbers.
            SelectionError: if a tensor does not exist.
            TrustError: as for `session`, because converters run parts of a graph.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     x = tf.compat.v1.placeholder(tf.float32, [4], name="x")
            ...     y = tf.negative(tf.raw_ops.Betainc(a=x, b=x, x=x, name="beta"), name="y")
            >>> for blocker in gs.open(graph).check("tflite"):
            ...     print(blocker.op, blocker.kind, "|", blocker.replacement)
            beta custom op | Cut it off: inputs='beta:0'
        """
        return check(self, target, outputs, inputs, verify, feeds, timeout)

    @property
    def trusted(self) -> bool:
        """Whether the graph may run: your program made it, `risks` lists no ops, or you have trusted it."""
        return not tf.run.sessions.untrusted_reason(self.snapshot.owner)

    def trust(self) -> Editor:
        """Allows a graph from a file to run, including the ops that `risks` lists; returns this editor.

        If `risks` lists ops, a graph from a file or a proto does not run before this call, in `session` or anywhere
        else. ``gs.open(path, trust=True)`` gives the same permission. The permission is for the current content of the
        file, and for copies and edited graphs made from it. It lasts until the process ends. Graphs of your own
        program, such as a live `tf.Graph`, need no trust.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     done = tf.io.write_file("/tmp/notes", tf.constant("text"), name="note")
            ...     x = tf.constant(1.0, name="x")
            >>> ed = gs.open(graph.as_graph_def())
            >>> try:
            ...     ed.session()
            ... except gs.TrustError as error:
            ...     print(error.problem.partition(": ")[2])
            it holds 1 op that writes files, 'note' (WriteFile)
            >>> print(ed.trust().session().run("x:0"))
            1.0
        """
        for origin in origins(self.snapshot.owner):
            origin.trust()
        return self

    def before(self) -> Editor:
        """Returns an editor of the graph before the plan that was applied last, to view, run or compare it.

        The plan stays applied. Variables have their current values. Variables that the plan removed, and that no
        session has held, have their initial values. If the plan only added ops, the result is this editor.

        Raises:
            PlanError: if no plan is applied.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
            ...     y = tf.negative(tf.nn.relu(x, name="act"), name="y")
            >>> ed = gs.open(graph)
            >>> _ = ed.apply(ed.plan().bypass("act"))
            >>> gs.compare(ed.before(), ed, {"x:0": [-1.0, 2.0]}, where=False)
            output  max |difference|  relative
            y:0     1                 0.5
        """
        older: Editor = before(self)
        return older

    def rebuild(self) -> Applied:
        """Builds a new graph without orphans, and makes this graph the graph of the editor.

        Every remaining op keeps its name, its variables and its place in collections. The old graph stays as it is.
        `session` carries the values over. An orphan that has consumers stays, with the ops that it needs. The rebuild
        is a step of the history, and `undo` restores the old graph.

        Returns:
            An `Applied`: ``done[old]`` is the new op, tensor or variable, ``done.original(new)`` the old one.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.square(tf.constant(3.0, name="x"), name="y")
            >>> ed = gs.open(graph)
            >>> done = ed.apply(ed.plan().copy(ed.select(name=["x", "y"]), to="copy"))
            >>> event, done = ed.undo(), ed.rebuild()
            >>> len(graph.get_operations()), len(ed.graph.get_operations()), done[y].graph is ed.graph
            (4, 2, True)
            >>> done.original(done[y]) is y
            True
        """
        return self.apply(replace(self.plan(), steps=(RebuildStep(tuple(sorted(self.orphans))),)))

    def start_journal(self, place: os.PathLike[str] | None = None) -> None:
        """Starts a journal of this editor, as `gs.open` does for files.

        A graph that does not come from a file cannot be restored. Its journal contains only a note about this.

        Args:
            place: the folder of the journals. Default: the environment variable ``GRAPHSURGEON_JOURNALS``.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> ed = gs.open(tf.Graph())
            >>> ed.start_journal()
            >>> print(ed.journal)
            journal: nothing written yet
        """
        self.journal = Journal(self._timeline.log, folder(requested=True) if place is None else place)
        self.changes.watch(self.journal.record_changes)
        if self._screen is not None:
            self._journal_screen(self._screen)

    @property
    def history(self) -> History:
        """The applied plans, oldest first, with undone plans marked. It prints as a table."""
        return History(self._timeline.events)

    @property
    def orphans(self) -> frozenset[str]:
        """Names of unused ops that an undo or a failed apply left in the graph. TensorFlow cannot delete ops."""
        return self._timeline.orphans

    def to_code(self, path: PathLike | None = None, *, arrays: bool = False, overwrite: bool = False) -> str:
        r"""Returns a Python script that repeats the whole history, starting from the original files.

        The function ``redo`` of the script opens each graph, including the graphs that were copied from, and applies
        the plans that are in force. Undone plans are left out. A graph that does not come from a file, such as a live
        `tf.Graph`, is an argument of ``redo``. The script reads values that came from a file from this file again.
        Other values, such as trained values, are written as arrays.

        Args:
            path: the file to write the script to. Default: none.
            arrays: write long arrays to an ``.npz`` file next to the script. Otherwise they are arguments of ``redo``.
            overwrite: replace an existing file, as in `save`.

        Raises:
            PlanError: if a plan uses a result of an undone plan, `arrays` is given without `path`, or the file exists.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.square(tf.constant(3.0, name="x"), name="y")
            >>> ed = gs.open(graph)
            >>> done = ed.apply(ed.plan().copy(ed.select(name=["x", "y"]), to="copy"))
            >>> print(ed.to_code().partition("\n\n\n")[2])
            def redo(graph):
                # graph: a live tf.Graph, opened as 'graph'
                ed = gs.open(graph)
                # step 1
                block = ed.select(name=['x', 'y'])
                plan = ed.plan().copy(block, to='copy')
                ed.apply(plan)
                return ed
            <BLANKLINE>
        """
        from .script import write

        return write(self._timeline.log, self.snapshot, path, arrays, overwrite)

    # -- running, restoring and saving -----------------------------------------------------------

    def session(self, session: TFSession | None = None, config: TFConfig | None = None) -> Any:
        """Returns a session with all edits and all values.

        A variable keeps the last value that it had in any session of this editor. This also applies if it was renamed,
        or was removed and restored. A variable that was in no session gets the value from its plan. Without one, it
        gets the value from the opened file, and otherwise its initial value. Variables that TensorFlow code adds to
        `graph` are initialized by the next call. A variable with a value is never initialized again. `history` lists
        the source of each value. A warning lists the variables that the checkpoint of a file lacks.

        Args:
            session: a session of this graph to update. If it is a session of an older graph (from before a plan that
                built a new graph, or before `inlined`), it does not change. A new session then gets its values.
                Default: the session of this editor, or a new one.
            config: a `tf.compat.v1.ConfigProto` for a new session.

        Raises:
            PlanError: if the session belongs to another graph, a value cannot be read or set, a device does not exist,
                or a table cannot be filled.
            OpenError: if the file with the values cannot be read.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     w = tf.compat.v1.get_variable("w", initializer=10.0)
            ...     learn, y = w.assign_add(32.0), tf.identity(w, name="y")
            >>> ed = gs.open(graph)
            >>> _ = ed.session().run(learn)
            >>> done = ed.apply(ed.plan().rename("w", to="v"))
            >>> print(ed.session().run("y:0"))
            42.0
            >>> print(ed.history[0].values)
            1 variable keeps its value ('w' as 'v')
        """
        self.graph  # noqa: B018  raises OpenError if TensorFlow refuses a part of it
        return self.values.session(session, config)

    def trace(
        self,
        feeds: FeedDict | PathLike | None = None,
        fetches: TensorsLike | None = None,
        *,
        random: int | None = None,
        session: TFSession | None = None,
        timeout: float | None = None,
        rounds: int = 1000,
        watch: Callable[[int, int], bool] | None = None,
        seed: int | None = 0,
        memory: int | None = None,
        ops: OpsLike | None = None,
        plan: Plan | None = None,
        isolated: bool | None = None,
    ) -> Trace:
        """Runs the graph once, in a separate copy, and returns a summary of each tensor and the cost of each op.

        The copy has the current values. This graph, its sessions and its variables do not change, even if a training
        step runs. In the copy, calls, conditionals and loops of TF2 are unfolded. TensorFlow's graph optimizer is off,
        so that each op runs as it is drawn.

        Args:
            feeds: tensor -> array. A tensor is given by name, by object, or by an argument of the opened function. Or
                the path of an ``.npz`` file.
            fetches: tensors and ops to run, by name or object. Default: the known outputs, or all tensors without
                consumers whose ops only compute.
            random: seed of random feeds for placeholders without a feed. A random feed has the dtype and shape of the
                placeholder, with 1 for each unknown size.
            session: a session of this graph whose values are used. Default: the values of the editor.
            timeout: time limit of the run, in seconds. The trace then has the ops that ran before the limit.
            rounds: the number of loop iterations to record. Of later iterations, only values that are not finite are
                recorded.
            watch: a function, called a few times a second with the number of recorded tensors and the total. If it
                returns False, the run ends; the trace then has the ops that ran before.
            seed: seed of random ops without a seed, combined with their names. Two traces then draw the same random
                numbers. Loops with a random op run one iteration at a time. None: different numbers in each trace.
                Random ops in functions that cannot be unfolded, such as those of a `tf.data` pipeline, always draw
                different numbers.
            memory: maximum number of bytes held at once for recording, such as ``200 << 20`` for 200 MB. The variables,
                the run and the result need additional memory. If the limit is too small for one run, the graph runs
                several times and records some of the tensors each time. The result is the same. Default: one run,
                without a limit.
            ops: a selection, or ops by name or object: record only their outputs, which is faster and needs less
                memory. `Trace.first_bad` then only covers these ops. For a call, everything inside it is recorded.
                Without `fetches`, only the ops that these ops need are run.
            plan: a plan of this graph that is not applied yet. The run uses the graph as it would be after the plan,
                with the names after the plan. The plan can still be applied afterwards.
            isolated: run in a separate process, which takes some seconds to start. If TensorFlow crashes there, the
                result is an error, and this process continues. Default: only for graphs from files with ops in `risks`.

        Raises:
            SelectionError: if there is no such tensor or op, or a seed is not valid.
            PlanError: if a placeholder needs a feed, an array does not fit, there is nothing to fetch, or a limit is
                not valid. Also if the plan has a fault, is empty or belongs to another graph, or if an isolated run
                crashed.
            TrustError: if the graph came from a file, has ops that reach out of it, and was not trusted (`trust`).

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
            ...     y = tf.nn.relu(x, name="y")
            >>> trace = gs.open(graph).trace({"x:0": [-1.0, 2.0]})
            >>> trace.results["y:0"].tolist(), trace["y:0"].zeros, trace["y:0"].shape
            ([0.0, 2.0], 1, (2,))
            >>> ed = gs.open(graph)
            >>> plan = ed.plan().copy(ed.select(), to="again", inputs={"x:0": "y:0"})
            >>> ed.trace({"x:0": [-1.0, 2.0]}, "again/y", plan=plan).results["again/y:0"].tolist()
            [0.0, 2.0]
        """
        about: dict[str, Any] = {"random": random, "timeout": timeout, "rounds": rounds, "watch": watch}
        about |= {"seed": seed, "memory": memory, "ops": ops, "plan": plan, "isolated": isolated}
        return trace(self, feeds, fetches, session=session, **about)

    def feeds_needed(self, fetches: TensorsLike | None = None) -> dict[str, TensorInfo | None]:
        """Returns the placeholders that a run needs, each with its dtype and shape if they are known.

        Args:
            fetches: tensors and ops to run, as for `trace`.

        Raises:
            SelectionError: if there is no such tensor.
            PlanError: if there is nothing to fetch.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     x = tf.compat.v1.placeholder(tf.float32, [None, 8], name="x")
            ...     y = tf.nn.relu(x, name="y")
            >>> print(gs.open(graph).feeds_needed()["x:0"])
            float32 (?, 8)
        """
        return feeds_needed(self, fetches)

    def untrained(self) -> dict[str, str]:
        """Returns the variables that have only their initial value, or no value, each with the reason.

        A value from a given session, a checkpoint or a plan counts as trained. In a session made by this editor, all
        variables count as trained as soon as one of the variables that it initialized has changed. Local variables are
        not listed.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     learn = tf.compat.v1.get_variable("w", initializer=10.0).assign_add(1.0)
            >>> ed = gs.open(graph)
            >>> ed.untrained()
            {'w': 'no session or checkpoint was given'}
            >>> _ = ed.session().run(learn)
            >>> ed.untrained()
            {}
        """
        return self.values.untrained()

    def restore(
        self,
        checkpoint: PathLike,
        *,
        scope: str = "",
        names: Mapping[str, str] | Applied | None = None,
        exclude: str | Iterable[str] = (),
        partial: bool = False,
        session: TFSession | None = None,
    ) -> Restored:
        """Sets the variables to the values of a checkpoint, even if the names in the checkpoint differ. No op is added.

        Args:
            checkpoint: the prefix of the checkpoint, one of its files, the folder of a training run (its latest
                checkpoint is used), or a SavedModel folder. It can be a TF1 checkpoint, also with partitioned
                variables, or an object-based TF2 checkpoint.
            scope: the scope of the model in this graph: with ``enc``, the variable ``enc/w`` is ``w`` in the
                checkpoint.
            names: name in the checkpoint -> variable of this graph. ``*`` matches the same text on both sides, for
                example ``{"old/*": "new/*"}``. Or the result of `apply`: the checkpoint then has the names of the
                source graph.
            exclude: variables (names or patterns) that keep their values, such as a new head.
            partial: keep the values of variables that the checkpoint lacks. By default, a missing variable is an error.
            session: the session to set. Default: `session()`.

        Returns:
            The variables that were found and missing, and the unused entries of the checkpoint.

        Raises:
            OpenError: if there is no such checkpoint, or it is incomplete or damaged.
            PlanError: if the checkpoint belongs to another model, lacks variables, or shapes or dtypes differ. No value
                has changed then.

        Example:
            >>> import os, tempfile, tensorflow as tf, graphsurgeon as gs
            >>> def net(scope):
            ...     with tf.Graph().as_default() as graph, tf.compat.v1.variable_scope(scope):
            ...         tf.compat.v1.get_variable("w", initializer=[1.0, 2.0])
            ...     return gs.open(graph)
            >>> prefix = os.path.join(tempfile.mkdtemp(), "old.ckpt")
            >>> _ = net("a").save(prefix, scope="a")
            >>> report = net("b/c").restore(prefix, scope="b/c")
            >>> report.restored, report.missing
            ({'b/c/w': 'w'}, ())
        """
        return restore(
            self._timeline, self.values, checkpoint, scope=scope, names=names, exclude=exclude, partial=partial,
            session=session,
        )  # fmt: skip

    def save(
        self,
        path: PathLike,
        *,
        outputs: TensorsLike | None = None,
        inputs: TensorsLike | None = None,
        signatures: Mapping[str, tuple[TensorsLike | None, TensorsLike]] | None = None,
        format: str | None = None,
        freeze: bool = False,
        values: ValueSource | None = None,
        scope: str = "",
        names: Mapping[str, str] | Applied | None = None,
        device: str | Mapping[str, str] = "keep",
        tags: str | Iterable[str] = ("serve",),
        feeds: FeedDict | None = None,
        verify: bool = True,
        timeout: float | None = None,
        overwrite: bool = False,
    ) -> Saved:
        """Writes the graph, or a part of it, with its values, to a file that TensorFlow reads without graphsurgeon.

        The file is first written under a temporary name. Another process, with plain TensorFlow and without
        graphsurgeon, opens it and calls its signatures, and the results are compared with this graph. This process does
        so for a ``.keras`` file. Then the file gets its name. Ops that write, read queues or read files are not run;
        the report lists them. Ops left by undone plans are not written. The graph stays as it is. See also the page
        "Saving: which format for what" of the documentation.

        Args:
            path: the file or folder to write. Its suffix selects the format if `format` is not given.
            outputs: tensors, by name, by object or by a key of `Editor.outputs`: one, several, or a dict of name ->
                tensor for a signature. Only the ops that they need are written. Default: for a SavedModel, the outputs
                of the opened function; otherwise the whole graph is written.
            inputs: tensors that are fed. Their ancestors are left out. Default: for a SavedModel, the inputs of the
                opened function that the outputs need.
            signatures: for a SavedModel with several signatures: name -> (inputs, outputs). Default: the opened
                signature. The other signatures of its file are saved too, with their names and defaults, unless
                `inputs` and `outputs` name a part.
            format: ``keras`` (``.keras``, the model of `keras_model`, not compiled), ``graph_def`` (``.pb``,
                ``.pbtxt``, also ``.gz``), ``meta_graph`` (``.meta``, with its checkpoint), ``checkpoint`` (``.ckpt``,
                also ``.ckpt-7``: values only), ``saved_model`` (a folder in the form of TF1), ``saved_model_tf2`` (a
                folder, of a `tf.Module`) or ``tflite`` (``.tflite``).
            freeze: write variables as constants with their current values; for a GraphDef.
            values: the source of the values: a session, or a mapping of variable name to array. Default: `session()`.
                ``"initial"``: like the default, but variables that have only their initial value are frozen with it.
            scope: for a checkpoint: write only the variables under this scope, with names relative to it.
            names: for a checkpoint: name to write -> variable, as in `restore`.
            device: as in `Plan.copy`; with ``clear``, the file does not depend on the devices of a machine.
            tags: the tags of a SavedModel.
            feeds: tensor -> array, for the run that checks the file. Other tensors get random numbers if their dtype
                and shape allow it.
            verify: False writes the file without this check, for very large graphs.
            timeout: for ``tflite``: time limit of the converter and of the interpreter, in seconds. Default: 600.
            overwrite: replace an existing file. A file that this process wrote is always replaced, so that you can run
                a cell again.

        Returns:
            A report of what was written and checked, with notes.

        Raises:
            SelectionError: if a tensor does not exist.
            PlanError: if the file exists, the format is unknown or does not fit an argument, or a variable has no
                value. Also if a variable to freeze has only its initial value (see `untrained`), unless
                ``values="initial"`` is given. Also if the graph cannot be written in this format, or TensorFlow cannot
                run the file. No file has changed then.

        Example:
            >>> import os, tempfile, tensorflow as tf, graphsurgeon as gs
            >>> with tf.Graph().as_default() as graph:
            ...     x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
            ...     y = tf.multiply(x, tf.compat.v1.get_variable("w", initializer=3.0), name="y")
            >>> path = os.path.join(tempfile.mkdtemp(), "frozen.pb")
            >>> gs.open(graph).save(path, outputs="y:0", freeze=True, values="initial").ops
            4
            >>> gs.open(path).session().run("y:0", {"x:0": [1.0, 2.0]}).tolist()
            [3.0, 6.0]
        """
        resolver = self._resolver(f"save({path!r})")
        outputs, inputs = resolver.named_tensors(outputs), resolver.named_tensors(inputs)
        try:
            saved = save(
                self._timeline, self.values, described(self), path, values, outputs=outputs, inputs=inputs,
                signatures=resolver.signatures(signatures), format=format, freeze=freeze, scope=scope, names=names,
                device=device, tags=tags, feeds=resolver.tensor_mapping(feeds), verify=verify, timeout=timeout,
                overwrite=overwrite,
                keras_model=lambda: self.keras_model(inputs, outputs, values=None if values == "initial" else values),
            )  # fmt: skip
        except Unconvertible as error:
            raise explain_unfreezable(self, error, outputs) from error
        if self.journal is not None and saved.format != "checkpoint":
            self.journal.record_save(os.path.abspath(path))
        return saved

    def graph_def(self, *, provenance: bool = False) -> Any:
        """Returns the GraphDef of the graph, without orphans.

        Args:
            provenance: give each op that is not an original an attribute ``_graphsurgeon`` with its origin. TensorFlow
                ignores this attribute, and `gs.open` reads it.

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
        return tf.copy.append.graph_def(self.snapshot, self.graph, provenance)

    def function(
        self,
        inputs: TensorsLike | None = None,
        outputs: TensorsLike | None = None,
        *,
        values: ValueSource | None = None,
        name: str = "function",
        also: OpsLike = (),
    ) -> Any:
        """Returns a TF2 callable made from a part of this graph, with its own variables.

        Each call makes new variables, so two functions of one graph are trained separately; the `notes` of the second
        one list the doubled variables. For shared variables, make one function with all outputs, or save both
        functions: ``ed.save(folder, signatures={name: (inputs, outputs), ...})``.

        Args:
            inputs: the tensors that become arguments, by name or object: one, several, or a dict of argument name ->
                tensor. An argument has the dtype and static shape of its tensor. The name of a Keras layer means its
                outputs. Default: those of the opened function.
            outputs: the tensors to return. For one, the function returns a tensor; for several, a list; for a dict, a
                dict. Default: those of the opened function, in its structure.
            values: the source of the variables' values: a session, an editor, or a mapping of variable name to array.
                Default: `session()`.
            name: the name of the function.
            also: ops that run with each call even though no output needs them, such as updates of moving averages: one
                or several, by name or object.

        Returns:
            A `GraphFunction`, which is a `tf.Module`: call it, train its `trainable_variables`, save it with
            `tf.saved_model.save`. The graph and its session stay as they are. Reference variables become resource
            variables. Tables filled from constants are copied. A `tf.GradientTape` has no gradient through a TF1
            ``while_loop``. Updates of moving averages that no output needs do not run; a warning lists these updates.
            In a Keras model, use `keras_layer`, because Keras does not track the variables of a function.

        Raises:
            SelectionError: if a tensor does not exist.
            PlanError: if `outputs` need a tensor that is not an input, an op assigns to a reference variable, the part
                contains a queue, an iterator or a mutable table, or a variable has no value.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
            ...     y = tf.multiply(x, tf.compat.v1.get_variable("w", initializer=3.0), name="y")
            >>> f = gs.open(graph).function("x:0", "y:0")
            >>> print(f([1.0, 2.0]).numpy(), f.trainable_variables[0].name)
            [3. 6.] w:0
        """
        return function_of(self, values, inputs, outputs, name, also)

    def keras_layer(
        self,
        inputs: TensorsLike | None = None,
        outputs: TensorsLike | None = None,
        *,
        training: TensorLike | Editor | None = None,
        values: ValueSource | None = None,
        name: str | None = None,
        trainable: bool = True,
    ) -> Any:
        """Returns a Keras layer made from a part of this graph, with its own weights.

        Each call makes new weights, so two layers of one graph are trained separately. For shared weights, make one
        layer with all outputs.

        `fit` trains the weights, and ``layer.trainable = False`` freezes them. You can save a model with the layer as
        ``.keras``, and export it as a SavedModel, which TensorFlow serves without graphsurgeon. A process that loads
        the ``.keras`` file must import the class: ``from graphsurgeon import GraphLayer``. Updates of the part, such as
        moving averages, run while Keras trains the layer. Updates that need tensors other than the inputs are left out;
        a warning lists them.

        For a part of a Keras model, the flags of its layers apply: the weights of a frozen layer are not trained.
        Regularizers, constraints and added losses are kept. ``layer.notes`` lists what the layer does not keep.

        Args:
            inputs, outputs: as in `function`. The layer accepts one tensor, a list in this order, or a dict by the
                names of the arguments. Like `outputs`, its result is one tensor, a list or a dict.
            training: the source of the behavior in training: a tensor of this graph that is fed the training flag, such
                as ``"is_training:0"``; or an editor of the same model opened with ``gs.open(model, training=True)``,
                whose ops of the same names then run in training. Default: apart from updates, the layer computes the
                same in training.
            values: as in `function`.
            name: the name of the layer.
            trainable: False makes a frozen layer, which runs in inference mode.

        Returns:
            A `GraphLayer` of Keras 3, or of Keras 2 if TF_USE_LEGACY_KERAS is set. The graph and its session stay as
            they are. Static sizes of the graph, such as a batch size, are static in the layer.

        Raises:
            SelectionError: if a tensor does not exist.
            PlanError: as for `function`; or if a variable is not numeric, or Keras does not run on TensorFlow.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     x = tf.compat.v1.placeholder(tf.float32, [None, 1], name="x")
            ...     y = tf.multiply(x, tf.compat.v1.get_variable("w", initializer=3.0), name="y")
            >>> layer = gs.open(graph).keras_layer("x:0", "y:0", name="triple")
            >>> model = tf.keras.Sequential([tf.keras.Input((1,)), layer, tf.keras.layers.Dense(1)])
            >>> model(tf.constant([[2.0]])).shape.as_list(), [w.name for w in layer.trainable_weights]
            ([1, 1], ['w'])
        """
        return layer_of(self, values, inputs, outputs, training, name, trainable)

    def keras_model(
        self,
        inputs: TensorsLike | None = None,
        outputs: TensorsLike | None = None,
        *,
        training: TensorLike | Editor | None = None,
        values: ValueSource | None = None,
        name: str | None = None,
    ) -> Any:
        """Returns a Keras model that computes the current graph.

        If you opened a functional or sequential model, the result reuses the layers that no plan changed. These layers
        are the same objects in both models, so training one model also trains the other. Layers after a change are
        called again. Each changed part is one `GraphLayer`, as made by `keras_layer`. The attribute ``surgery`` of the
        model lists the kept layers, and the reason for each layer that is not kept. It also has notes on other things
        that the model does not keep.

        Args:
            inputs, outputs: as in `function`. Default: those of the opened model. The result has the structure of the
                opened model by default, and if you name exactly its tensors.
            training: as in `keras_layer`, for the rebuilt part: a tensor of this graph that is fed the training flag;
                or an editor of the model opened for training, with the same plan applied.
            values: as in `function`. A layer of the model is rebuilt if the values of its variables have changed.
            name: the name of the model. Default: the name of the opened model.

        Returns:
            A `keras.Model`, not compiled. A subclassed model does not describe how its layers are connected, and other
            graphs have no layers. In both cases, one layer computes everything.

        Raises:
            SelectionError: if a tensor does not exist.
            PlanError: as for `keras_layer`; or if an input has no batch dimension, or no output depends on an input.

        Example:
            >>> import graphsurgeon as gs, keras
            >>> x = keras.Input((4,), name="x")
            >>> y = keras.layers.Dense(3, name="body")(x)
            >>> model = keras.Model(x, keras.layers.Dense(2, name="head")(keras.layers.ReLU(name="relu")(y)))
            >>> ed = gs.open(model)
            >>> done = ed.apply(ed.plan().insert("Softplus", on=ed.layer("relu").outputs[0], name="smooth"))
            >>> new = ed.keras_model()
            >>> [type(layer).__name__ for layer in new.layers]
            ['InputLayer', 'Dense', 'ReLU', 'GraphLayer', 'Dense']
            >>> print(new.surgery)
            4 layers are kept from the model: x, body, relu, head
            'rebuilt' computes the rest
        """
        return model_of(self, values, inputs, outputs, training, name)

    def inlined(self, *calls: OpLike) -> Editor:
        """Returns an editor of a new graph in which function calls are replaced by their bodies.

        Args:
            calls: `PartitionedCall` ops, by name or object; default: all. Calls inside them are inlined too. The name
                of a call is the scope of its ops.

        Returns:
            An `Editor` with the same variables and values. This editor stays as it is. Results may differ in the last
            bit if TensorFlow's optimizer fuses ops that a call kept apart. A v2 ``If``, ``While`` or ``Case`` stays an
            op, and so does a call whose function has a custom gradient.

        Raises:
            SelectionError: if there is no op of this name.
            PlanError: if an op is not a function call that can be inlined; the message has the reason.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> double = tf.function(lambda v: tf.multiply(v, 2.0, name="twice"))
            >>> with tf.Graph().as_default() as graph:
            ...     y = double(tf.compat.v1.placeholder(tf.float32, [None], name="x"))
            >>> gs.open(graph).inlined().snapshot.names
            ['x', 'PartitionedCall/twice/y', 'PartitionedCall/twice', 'PartitionedCall/Identity']
        """
        resolver = self._resolver("inlined()")
        calls = tuple(resolver.op(one) for one in calls)
        now = replace(described(self), layers=self.layers)
        opened, call = inlined(self.snapshot, now, self.values, calls)
        other = Editor(opened, parent_log=(self._timeline.log, moment(), call))
        if self.journal is not None:
            other.start_journal(self.journal.place)
        return other

    # -- showing ---------------------------------------------------------------------------------

    @property
    def screen(self) -> Screen:
        """The state of the widget as an object. Every gesture is one of its methods."""
        if self._screen is None:
            self._screen = self._new_screen(self)
        return self._screen

    def _new_screen(self, source: Editor) -> Screen:
        from ..ui.screen import Screen

        screen = Screen(self, source, facts=tf.open.op_facts, recipes=registered_recipes)
        self._journal_screen(screen)
        return screen

    def _journal_screen(self, screen: Screen) -> None:
        """Records the actions of a screen in the journal, and shows the notes of the journal on the screen."""
        journal = self.journal
        if journal is None:
            return
        screen.on_change(lambda: journal.record_screen(screen.state))
        if journal.messages and not screen.state.status.text:
            screen.state = screen.state.with_status(journal.messages[0], "warn")

    def view(self, source: Editor | None = None) -> Any:
        """Returns the widget. It shows `source` on the left, and you can copy parts of `source` into this graph.

        Args:
            source: the editor to copy from. Default: this editor.
        """
        from ..ui.widget import GraphWidget

        if source is not None and source is not self:
            self._screen = self._new_screen(source)
        with gc_paused():  # otherwise a garbage collection of the new graph may delay the first picture
            return GraphWidget(self.screen)

    def paint(
        self,
        values: Mapping[str, float] | Mapping[Named, float] | Trace | Compatibility | str | os.PathLike[str],
        name: str | None = None,
        reduce: str = "auto",
        scale: str = "auto",
    ) -> Editor:
        """Colors the picture; returns this editor, so that the last line of a cell shows it.

        Args:
            values: op or layer, by name or object -> number; the path of a ``.csv`` file with a name and a number in
                each row; ``family``, ``device``, ``scope``, ``dtype`` or ``structure``; a trace; or the result of
                `check`.
            name: the quantity with its unit, such as ``"ms"``. For a file, the default is the heading of its second
                column. For a trace: ``ms`` (the default), ``bytes``,
                ``magnitude``, ``zeros`` or ``not finite``.
            reduce: the method to combine the numbers in a folded scope: ``sum``, ``max`` (furthest from zero) or
                ``mean``. ``auto`` uses the sum, or ``max`` if a sum of many small numbers would hide the largest one.
            scale: ``linear`` or ``log``. ``auto`` uses ``log`` if numbers differ by a factor of a thousand or more.
                Zero and values that are not finite have separate colors, which the legend lists.

        Example:
            ``ed.paint({"conv1/Conv2D": 3.2, "fc/MatMul": 0.4}, "ms")``
        """
        if isinstance(values, str | os.PathLike):
            if not os.fspath(values).endswith(".csv"):
                self.screen.paint(os.fspath(values))
                return self
            from ..view.paint import read_numbers

            values, heading = read_numbers(values)
            name = heading if name is None else name
        if isinstance(values, Compatibility):
            self.screen.paint(words=values.kinds, name=name or TARGETS[values.target])
            return self
        if isinstance(values, Trace):
            name = "ms" if name is None else name
            values = values.numbers(name)
        if isinstance(values, Mapping):
            resolver = self._resolver("paint()")
            values = {op: number for key, number in values.items() for op in resolver.ops(key)}
        self.screen.paint(values=values, name="value" if name is None else name, reduce=reduce, scale=scale)
        return self

    def to_svg(self, open_folds: Iterable[str] | None = None) -> Picture:
        """Returns the picture as a self-contained SVG text, which a notebook cell shows.

        The picture is also shown without a kernel, for example on GitHub. The widget needs the kernel that made it. A
        picture of a file is drawn without TensorFlow. It does not wait until TensorFlow is imported or has inferred
        shapes.

        Args:
            open_folds: the scopes and calls to open, such as ``["net/", "net/block1/"]``. Default: as on screen, with
                the selection and the marks.

        Raises:
            LayoutError: if there would be more than 400 boxes, or no layout engine is available.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.exp(tf.constant(1.0, name="x"), name="y")
            >>> gs.open(graph).to_svg()[:4]
            '<svg'
        """
        return svg_of(self.screen, open_folds)

    def to_dot(self, open_folds: Iterable[str] | None = None) -> Any:
        """Returns the picture as a labeled `graphviz.Digraph`, with the same shapes as in `to_html`.

        Args:
            open_folds: the scopes and calls to open. Default: as on screen.

        Raises:
            LayoutError: if there would be more than 400 boxes.
        """
        from ..view.scene import to_dot

        infer(self.snapshot)
        keys = self.screen.unfolded if open_folds is None else fold_keys(self.screen, open_folds, "to_dot")
        return to_dot(self.screen.tree_of(keys), keys)

    def to_html(self, open_folds: Iterable[str] | None = None, theme: str = "auto") -> str:
        """Returns an HTML page to view, fold, unfold and search the graph, without kernel or network.

        The page contains the layout of each scope, in the direction of the picture on screen. It is at most about 5 MB.
        In very large graphs the deepest scopes stay folded, and the page shows how many. The plan on screen is not part
        of the page; to include its changes, apply the plan first. The page has the shapes in the file. It also has
        inferred shapes if TensorFlow is already imported and infers them within a second.

        Args:
            open_folds: the scopes and calls that are open at first. Default: as on screen. Other calls stay closed.
            theme: ``auto`` follows the system of the viewer; or ``light`` or ``dark``.

        Raises:
            SurgeryError: if there is no such theme.
            LayoutError: if there would be more than 400 boxes, or no layout engine is available.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.exp(tf.constant(1.0, name="x"), name="y")
            >>> page = gs.open(graph).to_html()
            >>> page.splitlines()[0], "http:" in page.replace("http://www.w3.org/2000/svg", "")
            ('<!doctype html>', False)
        """
        from ..ui.page import html_page

        infer(self.snapshot)
        keys = self.screen.unfolded if open_folds is None else fold_keys(self.screen, open_folds, "to_html")
        marks = {self.snapshot.index[name]: "orphan" for name in self.orphans}
        picture = self.screen.expanded(keys)
        return html_page(
            picture.graph, tf.open.op_facts, keys, picture.spread_marks(marks), theme, self.screen.direction
        )

    def _repr_mimebundle_(self, **options: Any) -> Any:
        with gc_paused():
            return self.view()._repr_mimebundle_(**options)

    def _ipython_display_(self) -> None:
        with gc_paused():
            self.view()._ipython_display_()
