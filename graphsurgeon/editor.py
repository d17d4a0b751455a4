"""Editor: the object a user holds: a graph, its picture, its history."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .applied import Applied
from .before import before
from .check import check, explained
from .errors import OpenError, PlanError, SelectionError, did_you_mean
from .exports import Picture, fold_keys, page_of, svg_of
from .files import restore, save
from .functions import function_of, inlined, layer_of, model_of
from .graph.collector import gc_paused
from .graph.compatibility import TARGETS, Compatibility, Unconvertible
from .graph.explain import Path, WhyNot, explain
from .graph.graph import Graph, TensorInfo
from .graph.layers import Layer, Layers, ends, fitting, made_by
from .graph.live import TFSession
from .graph.match.match import STEPS, Matches, match
from .graph.names import op_name, renamed_end
from .graph.opened import Opened
from .graph.orphans import orphan_mask
from .graph.packages import refused
from .graph.pending import pending
from .graph.provenance import Origin
from .graph.reports import Restored, Saved
from .graph.risks import Risks, risks
from .graph.selection import OpView, Selection, select, words_of
from .graph.signatures import Signature
from .graph.trace import Trace
from .graph.trust import origins
from .history import Event, History, Log, Timeline, log_of, moment
from .journal import Journal, folder
from .kept import Kept
from .plan.blockers import Blocks, blocks
from .plan.menu import offered
from .plan.plan import Plan
from .plan.steps import RebuildStep
from .plan_backend import new_plan
from .run import feeds_needed, trace
from .summary import summary
from .values import Values
from .words import counted

if TYPE_CHECKING:
    from .screen.screen import Screen


class Editor:
    """A graph under the knife: select, plan, apply, undo. Make one with `gs.open`.

    Everything before `apply` is a value: selecting and planning change nothing.

    Args:
        opened: what was opened. Of a TF2 function, `inputs` and `outputs` are its arguments and results: name -> name
            of the tensor.
        snapshot: an earlier snapshot of the same graph: only what has been added since is read.
        follows: the log of the editor this one is made from, at which moment, and the call that makes it.

    Attributes:
        opened: what was opened.
        values: what the variables hold.
        changes: who hears of each apply, undo and redo.
        journal: what is done here, on disk; None where no journal is kept.
    """

    def __init__(
        self, opened: Opened, snapshot: Graph | None = None, follows: tuple[Log, int, str] | None = None
    ) -> None:
        self.opened = opened
        self._timeline = Timeline(opened, snapshot, follows)
        self.values, self.changes = Values(opened, self._timeline), self._timeline.changes
        self._screen: Screen | None = None
        self.journal: Journal | None = None

    # -- looking ---------------------------------------------------------------------------------

    @property
    def graph(self) -> Any:
        """The live graph as it is now."""
        return self._timeline.graph

    @property
    def title(self) -> str:
        """What the graph is called."""
        return self.opened.title

    @property
    def inputs(self) -> dict[str, str]:
        """Of an opened function, argument -> name of its tensor."""
        return dict(self.opened.inputs)

    @property
    def outputs(self) -> dict[str, str]:
        """Of an opened function, result -> name of its tensor."""
        return dict(self.opened.outputs)

    @property
    def layers(self) -> Layers:
        """The layers of the graph as it is now: what each has made, and which edits have taken out.

        A Keras model says them, and so does a function that calls one; the modules of a `tf.Module` are layers by the
        attributes that lead to them, as ``encoder/dense``. A SavedModel that Keras 2 wrote lists its layers; of any
        other, and of a function that was traced before, those are known whose variables are read in a scope of their
        name: where a file says no classes, `Layer.class_name` is empty. What a layer makes in the body of a loop, in a
        branch or a function has the names that it has there: ``while/body/dense/MatMul``.

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

    def layer(self, name: Any) -> Layer:
        """Returns a layer of the graph: its class, and the ops, inputs, outputs and variables it has here.

        Args:
            name: its name, or its path where it is inside a nested model: ``"encoder/dense"``; or the layer of Keras.

        Raises:
            SelectionError: there is none of this name, or several, or an edit has taken it out.
        """
        return self.layers.find(name)

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """What a SavedModel serves: each with its name, and dtype and shape of its arguments and results.

        `gs.open(folder, signature=name)` opens another one, `show_signature` shows it here.
        """
        return self.opened.serving.signatures

    def show_signature(self, name: str) -> None:
        """Goes to another signature of the SavedModel that was opened, or to a function of it: this editor is of that
        from then on, as if `gs.open(folder, signature=name)` had been typed; so does the list in the widget.

        Selections and plans made before are of the graph that was shown then.

        Args:
            name: one of `signatures`; or the way to a function from the object that was saved: ``"encoder.forward"``.

        Raises:
            SelectionError: nothing of this name can be shown.
            PlanError: a plan was applied here: it would be lost.
        """
        asked, serving = f"show_signature({name!r})", self.opened.serving
        if serving.other is None:
            instead = "Open the folder of a SavedModel of TF2: gs.open(folder)"
            raise SelectionError(asked, f"{self.title} was not opened as a SavedModel's folder", instead)
        if name not in serving.names:
            wrong = f"{self.title} has no signature or function {name!r}"
            raise SelectionError(asked, wrong, did_you_mean(name, serving.names))
        if self._timeline.log.now():
            how = f"signature={name!r}" if name in [one.name for one in serving.signatures] else f"function={name!r}"
            wrong = f"{counted(len(self._timeline.log.now()), 'plans')} applied here would be lost"
            raise PlanError(asked, wrong, f"Open it beside this one, gs.open(folder, {how}), or ed.undo() first")
        shown, self.opened = self.opened, serving.other(name)
        if (waiting := pending(shown.graph)) is not None:
            waiting.leave()
        self._timeline = Timeline(self.opened, changes=self.changes)
        self.values = Values(self.opened, self._timeline)
        if self.journal is not None:
            self.keep_journal(self.journal.place)
        self.changes.tell()

    @property
    def snapshot(self) -> Graph:
        """The graph as it is now, as an immutable value; read again when the live graph has grown."""
        return self._timeline.snapshot

    def __str__(self) -> str:
        live = self._timeline.log.now()
        lost = [*self.opened.serving.notes]
        lost += [text for event in live if event.applied for text in event.applied.warnings]
        if (waiting := pending(self.snapshot.owner)) is not None:
            waiting.judge()
        lost += filter(None, [refused(self.snapshot)])
        renamed = self.history.renamed
        results = tuple(renamed_end(tensor, renamed) for tensor in self.opened.outputs.values())
        added = frozenset(renamed.get(op, op) for event in live for op in event.names)
        reach = "" if self.opened.live else self.risks().words
        lost += [f"{reach}; ed.risks() tells more"] if reach else []
        lost += self.journal.words if self.journal is not None else []
        return summary(self.snapshot, self.orphans, lost, self.opened.serving, self.layers, results, added)

    def __repr__(self) -> str:
        return f"<Editor of {self.title}: {counted(self.snapshot.size, 'ops')}>"

    def __len__(self) -> int:
        return self.snapshot.size

    def find(self, text: str, limit: int = 20) -> list[str]:
        """Returns names of ops that fit a query, as in the widget: ``"conv"``, ``"net/* op:Conv2D shape:...x64"``.

        What is inside a function call is found too, as ``call/inner``: ``ed.screen.reveal`` goes there.

        Args:
            text: words: parts of names, patterns with ``*``, ``/regular expressions/``, and ``op:``, ``dtype:``,
                ``shape:``, ``device:``, ``attr:name=value``, ``layer:name``, ``layer-type:Dense``,
                ``is:unknown`` (types that TensorFlow does not know here); all must fit, those after a ``-`` must not.
            limit: at most so many.

        Raises:
            SelectionError: a regular expression does not compile, or there is no such key.
        """
        from .graph.search import search
        from .tf.open.facts import attribute_text

        return search(self.screen.whole, text, attribute_text, self.layers)[:limit]

    def op(self, name: Any) -> Any:
        """Returns the live op of a name, or that of an op or tensor; raises SelectionError with the nearest names.

        Args:
            name: the name of an op, or an op or tensor.
        """
        found = self._called(name, "op")
        if found is not name:  # that of a tensor ends in the number of an output
            found = found.partition(":")[0]
        self.snapshot.find(found, f"op({found!r})")
        return self.graph.get_operation_by_name(found)

    def tensor(self, name: Any) -> Any:
        """Returns the live tensor of a name, or of a tensor or op; raises SelectionError with the nearest names.

        Args:
            name: the name of a tensor; or a tensor, or an op, which stands for its output 0.
        """
        name = self._called(name, "tensor")
        number, port = self.snapshot.tensor(name, f"tensor({name!r})")
        return self.graph.get_operation_by_name(self.snapshot.names[number]).outputs[port]

    def _called(self, thing: Any, verb: str) -> Any:
        """The name of an object of this graph; anything else is left for the snapshot to judge."""
        graph, name = getattr(thing, "graph", None), getattr(thing, "name", None)
        if graph is None or name is None:
            return thing
        if graph is not self.graph:
            asked, wrong = f"{verb}({name!r})", f"{name!r} is an object of another graph, not of {self.snapshot.title}"
            raise SelectionError(asked, wrong, "Give the one of this graph, or its name as text")
        return name

    def value(self, name: str) -> Any:
        """Returns what a constant or variable holds now, as an array.

        Args:
            name: the name of the constant or variable.

        Raises:
            SelectionError: it is neither, or nothing gives it a value.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     w = tf.compat.v1.get_variable("w", initializer=[1.0, 2.0])
            >>> gs.open(graph).value("w").tolist()
            [1.0, 2.0]
        """
        return self.values.value(name)

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
        return self._timeline.origin(op)

    # -- selecting -------------------------------------------------------------------------------

    def select(
        self,
        *things: Any,
        scope: str | None = None,
        op: str | Iterable[str] | None = None,
        name: str | Iterable[str] | None = None,
        inputs: Iterable[Any] | Any = None,
        outputs: Iterable[Any] | Any = None,
        where: Callable[[OpView], bool] | None = None,
        layer: Any = None,
    ) -> Selection:
        """Returns the ops that fit all that is given; all ops where nothing is given. Orphans fit only by name.

        Args:
            things: ops, tensors, variables, names, selections or lists of them: only these.
            scope: a name scope, with all below it.
            op: an op type, or several.
            name: op names or patterns (``"conv*/W"``).
            inputs, outputs: boundary tensors, by name or object: the ops that compute `outputs` from `inputs`,
                with the constants and variables they need. The name of a Keras layer stands for what it gives.
            where: a test called with an `OpView` of each op.
            layer: names or paths of Keras layers, or patterns (``"block_6_*"``): what they have made, and their
                variables.

        Raises:
            SelectionError: a name is not there (the nearest are proposed), the boundary does not connect, or a layer
                that is given as one of its tensors has several calls.

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
        if things:
            wrong = "it does not say what that is: a name, a scope, an op type"
            how = f"Type select(name={things[0]!r}), select(scope=...) or select(op=...)"
            raise SelectionError(f"select({', '.join(map(repr, things))})", wrong, how)
        from .tf.copy.collections import parts_of

        graph, layers = self._around((scope, name, inputs, outputs)), self.layers

        def tensors(key: str, things: Any) -> list[Any] | None:
            return None if things is None else ends(graph, layers, parts_of(things), f"select({key}={things!r})")

        given, wanted = tensors("inputs", inputs), tensors("outputs", outputs)
        made = made_by(one for word in words_of(layer, "layer") or () for one in fitting(layers, word))
        graph = self._around((scope, name, given, wanted, made))
        about: dict[str, Any] = {"inputs": given, "outputs": wanted, "layer": layer, "layers": layers}
        found = select(graph, scope=scope, op=op, name=name, **about)
        if name is None and wanted is None and self.orphans:
            found = replace(found, mask=found.mask & ~orphan_mask(found.graph))
        return found if where is None else found.where(where)

    def _around(self, things: Iterable[Any]) -> Graph:
        """The graph as it is now, with the calls unfolded that names lead into."""
        now = self.snapshot
        given = [one for thing in things for one in (thing if isinstance(thing, (list, tuple, set)) else [thing])]
        named = [one for one in given if isinstance(one, str) and "/" in one]
        away = [one for one in named if not any(known in now.index for known in (one, op_name(one)))]
        away = [one for one in away if one.rstrip("/") not in now.scopes.index]
        return self.screen.around(away) if away and now.functions else now

    @property
    def selection(self) -> Selection:
        """What is highlighted in the widget; nothing where there is no widget yet."""
        return self.screen.selection

    def explain(self, op: Any, selection: Any) -> Path | WhyNot:
        """Returns why an op is in a selection, or why it is not.

        Args:
            op: the op, by name or object.
            selection: a selection; or targets, for all they need.

        Returns:
            of an op that is in it, the shortest path of data and control edges by which it came in; of another, the
            reason: cut at a boundary input, only control edges, below, no path at all.

        Raises:
            SelectionError: there is no such op.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.exp(-tf.constant(1.0, name="x"), name="y")
            >>> print(gs.open(graph).explain("x", "y"))
            'x' is in the selection because 'y' needs it
              Neg  input 0 reads x:0
              y  input 0 reads Neg:0
        """
        return explain(self.snapshot, op, selection)

    def removal_blockers(self, what: Any) -> Blocks:
        """Returns what prevents the removal of an op or a selection; false where nothing does.

        Args:
            what: an op by name or object, several of them, or a selection.

        Raises:
            SelectionError: there is no such op, or nothing is selected.
        """
        return blocks(self.snapshot, what, self.opened.served(self.history.renamed))

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
                snapshot or a `tf.Graph`, whose placeholders are its inputs; or a `Pattern`. A selection, and `within`,
                may be of what is inside of calls: then it looks there too.
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
        inside = [one.graph for one in (within, pattern) if isinstance(one, Selection) and one.graph.unfolded]
        graph = next((one for one in inside if one.folded.owner is self.snapshot.owner), self.snapshot)
        return match(graph, made, overlapping=overlapping, within=within, steps=steps, read=array_of)

    # -- planning, applying and undoing ----------------------------------------------------------

    def plan(self) -> Plan:
        """Returns an empty plan for this graph."""
        return new_plan(self.snapshot)

    @property
    def draft(self) -> Plan:
        """The plan being made on screen, by hand."""
        return self.screen.draft

    def apply(self, plan: Plan, *, record: bool = True) -> Applied:
        """Carries out a plan: all of it, or nothing.

        Args:
            plan: a plan made by `plan()` of this editor.
            record: keep in the graph where its new ops come from, so that it is saved with the graph: one entry in
                the collection ``graphsurgeon/provenance``, which copies and previews leave out.

        Returns:
            what was made; ``done[name or object]`` gives the copy of a source op, tensor or variable.

        Raises:
            PlanError: the plan has a fault, or TensorFlow refuses it; the graph is as it was.
            StalePlanError: the graph has changed since the plan was made.
        """
        return self._timeline.apply(plan, self.values, record)

    def undo(self) -> Event:
        """Takes the last applied plan back.

        An appended copy leaves the collections, pictures and saves (its ops stay in TensorFlow's graph as orphans);
        a materialised plan gives the graph from before back. The next `session` has the current values: a variable
        keeps the value it last had in any session of this editor, whatever it was called there.

        Raises:
            PlanError: there is nothing to undo.
        """
        return self._timeline.undo()

    def redo(self) -> Event:
        """Does the plan that was undone last again.

        The next `session` has the current values: a variable keeps the value it last had in any session of this editor,
        also one that the plan makes; it gets what the plan gives it only where no session has held it yet.

        Raises:
            PlanError: there is nothing to redo.
        """
        return self._timeline.redo()

    def risks(self) -> Risks:
        """Returns what in the graph reaches out of it as it runs: ops that read or write files, open the network, call
        Python or other code, or end the process; in the functions that it calls too. Nothing is run.

        For each it says the path or address, where the graph has it, and whether it runs as the graph is loaded: by
        an init op, an initialiser, or what restores the variables. Ops of savers, and others whose path is named by
        whoever runs them, are listed apart, as ``harmless``. The list of op types and what they do is held against
        TensorFlow's own. ``python -m graphsurgeon scan FILE`` tells the same of a file, with all its functions.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     done = tf.io.write_file("/tmp/notes", tf.constant("text"), name="note")
            >>> print(gs.open(graph).risks())
            graph: 1 op reaches out of it
              writes files  'note' (WriteFile) writes its text to a file: '/tmp/notes'
        """
        names = self.history.renamed
        load = {names.get(op, op): why for op, why in getattr(self.opened.values, "load", {}).items()}
        return risks(self.snapshot, load, self.opened.assets)

    def check(
        self,
        target: str,
        outputs: Any = None,
        inputs: Any = None,
        *,
        prove: bool = False,
        feeds: Mapping[Any, Any] | None = None,
        timeout: float = 600.0,
    ) -> Compatibility:
        """Returns what keeps the graph from a target, op by op, as the target's own converter says.

        For ``tflite`` the converter of the installed TensorFlow is given what the outputs need, with variables as
        constants, and each op that it lists is named, with the recipe that takes it out, or where to cut it off. For
        ``tfjs`` it is the list of ops of the installed ``tensorflowjs``. Where ops need a variable, as the updates of
        moving averages do, these are named first, of the kind ``variable``: nothing can be converted before. Converters
        run in a process of their own: one that dies or hangs is a line of the answer. ``ed.paint(check)`` colours the
        ops on the picture.

        Args:
            target: ``tflite`` or ``tfjs``.
            outputs: the tensors that are wanted, by name or object. Default: those of the function that was opened, or
                all that nothing reads and that only computes.
            inputs: tensors that are fed: what computes them stays out.
            prove: where nothing is in the way, write the model, and let TFLite's interpreter run it beside the graph;
                for ``tfjs``, run the converter itself.
            feeds: tensor -> array, for that run; others get random numbers where their dtype and shape allow it.
            timeout: seconds that the converter may take, and the interpreter.

        Raises:
            PlanError: there is no such target, its converter is not installed, or a part of the graph cannot be saved;
                or the model gives other numbers.
            SelectionError: a tensor is not there.
            TrustError: as for `session`: converters run parts of a graph.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     x = tf.compat.v1.placeholder(tf.float32, [4], name="x")
            ...     y = tf.negative(tf.raw_ops.Betainc(a=x, b=x, x=x, name="beta"), name="y")
            >>> for blocker in gs.open(graph).check("tflite"):
            ...     print(blocker.op, blocker.kind, "|", blocker.replacement)
            beta custom op | Cut it off: inputs='beta:0'
        """
        return check(self, target, outputs, inputs, prove, feeds, timeout)

    @property
    def trusted(self) -> bool:
        """Whether the graph may run: it is of this program, nothing of it reaches out, or somebody has trusted it."""
        from .tf.run.gate import distrusted

        return not distrusted(self.snapshot.owner)

    def trust(self) -> Editor:
        """Says that what came from a file may run, with all that `risks` names; returns this editor.

        Without it, a graph that came from a file, or from a proto, and that holds ops that reach out of it, is not run:
        neither by `session` nor by anything else that needs a session or makes a callable of it. ``gs.open(path,
        trust=True)`` says the same in advance. It holds for these bytes as long as this process lives, wherever they
        are opened again, and for all that is made from them: copies, and graphs after plans. Graphs of your own
        program, as a live `tf.Graph`, need no trust.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     done = tf.io.write_file("/tmp/notes", tf.constant("text"), name="note")
            ...     x = tf.constant(1.0, name="x")
            >>> ed = gs.open(graph.as_graph_def())
            >>> try:
            ...     ed.session()
            ... except gs.TrustError as error:
            ...     print(error.wrong.partition(": ")[2])
            it holds 1 op that writes files, 'note' (WriteFile)
            >>> print(ed.trust().session().run("x:0"))
            1.0
        """
        for origin in origins(self.snapshot.owner):
            origin.trust()
        return self

    def before(self) -> Editor:
        """Returns an editor of the graph as it was before the last applied plan: to look at, to run, or to compare.

        The plan stays applied. Variables have the current values; those that the plan took out, and what no session has
        held, begin with their initial values. Where the plan has added ops and changed none, all that was there is as
        it was, and it is this editor.

        Raises:
            PlanError: no plan is applied.

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
        """Builds a clean graph: all that has a role, without orphans, and makes it the graph of this editor.

        Every op that stays keeps its name, its variables and its place in collections; the old graph stays as it is.
        `session` hands the values over, by the rule that is written there. An orphan that something reads stays, with
        what it needs. It is one more step of the history: `undo` gives the old graph back.

        Returns:
            an `Applied`: ``done[old]`` is the new op, tensor or variable, ``done.original(new)`` the old one.

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

    def keep_journal(self, place: os.PathLike[str] | None = None) -> None:
        """Keeps a journal of what is done here from now on, as `gs.open` does for what comes from a file.

        Of a graph that is in no file nothing can be brought back: the journal says so, and stays empty.

        Args:
            place: the folder of journals. Default: by the setting ``GRAPHSURGEON_JOURNALS``.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> ed = gs.open(tf.Graph())
            >>> ed.keep_journal()
            >>> print(ed.journal)
            journal: nothing written yet
        """
        self.journal = Journal(self._timeline.log, folder(asked=True) if place is None else place)
        self.changes.watch(self.journal.changed)
        if self._screen is not None:
            self._journal_screen(self._screen)

    @property
    def history(self) -> History:
        """The applied plans, oldest first; undone ones say so. Printed, a table."""
        return History(self._timeline.events)

    @property
    def orphans(self) -> frozenset[str]:
        """Names of ops left without a role by an undo or a late failure; TensorFlow cannot delete ops."""
        return self._timeline.orphans

    def to_code(self, path: Any = None, *, arrays: bool = False, overwrite: bool = False) -> str:
        r"""Returns one Python script that does the whole history again, from the files it began with.

        The script has a function ``redo`` that opens each graph again, its own and those that were copied from, and
        applies the plans that are in force; undone ones are left out. What came from no file, as a live `tf.Graph`,
        is an argument of ``redo``, and a comment says which. An editor that gave the values of its file gives them
        again; other values, as those that were trained since, are written as arrays.

        Args:
            path: where to write the script, if anywhere.
            arrays: arrays too long to be printed are written beside the script, as ``.npz``; without it they are
                an argument of ``redo`` too.
            overwrite: replace a file that is there, as in `save`.

        Raises:
            PlanError: a plan uses what an undone one has made; `arrays` without a `path`; a file is there already.

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

    def session(self, session: TFSession | None = None, config: Any = None) -> Any:
        """Returns a session that sees all edits, with all values.

        One rule says what a variable holds, also after `undo`, `redo` and `rebuild`: it keeps the value it last had in
        any session of this editor, whatever it is called now, and also where a plan had taken it out for a while. One
        that no session has held yet gets what its plan gave it, else what the file holds that was opened, else its
        initial value. So variables that TensorFlow code has added to `graph` are initialised by the next call, and
        what holds a value is never initialised. `history` tells what came from where; a warning names the variables of
        a file that its checkpoint lacks.

        Args:
            session: a session of this graph, to bring up to date. One of an older graph (before a plan that builds the
                graph anew, or before `inlined`) stays as it is: its values are carried into a new one. Default: the one
                this editor has, else a new one.
            config: a `tf.compat.v1.ConfigProto` for a new session.

        Raises:
            PlanError: the session is of a graph that this one never was, a value cannot be read or set, a device is not
                there, or a table cannot be filled.
            OpenError: the file with the values cannot be read.

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
        self.graph  # noqa: B018  where TensorFlow refuses some of it, it says so
        return self.values.session(session, config)

    def trace(
        self,
        feeds: Any = None,
        fetches: Any = None,
        *,
        random: int | None = None,
        session: TFSession | None = None,
        timeout: float | None = None,
        rounds: int = 1000,
        watch: Callable[[int, int], bool] | None = None,
        seed: int | None = 0,
        memory: int | None = None,
        ops: Any = None,
        plan: Plan | None = None,
        isolated: bool | None = None,
    ) -> Trace:
        """Runs the graph once, in a copy of its own, and returns what each tensor held and what each op cost.

        The copy has the current values; this graph, its sessions and its variables stay as they are, also where a
        training step is run. Calls, conds and loops of TF2 are in the open in it, under the names that they have here
        when they are unfolded. The numbers are taken while it runs, and TensorFlow's optimiser rests, so that each op
        runs as it is drawn.

        Args:
            feeds: tensor, by name or object, or argument of an opened function -> array; or the path of an ``.npz``
                file of these.
            fetches: tensors and ops to run, by name or object. Default: the outputs that are known, or all that nothing
                reads and that only computes.
            random: seed of made-up feeds for the placeholders that are not given: of their dtype and shape, 1 for each
                unknown size.
            session: a session of this graph, whose values are taken. Default: the editor's own values.
            timeout: how long the run may take, in seconds; what ran by then is in the trace.
            rounds: so many rounds of a loop are noted, and of later ones what is not finite.
            watch: called a few times a second with how many tensors have been noted, and of how many. Where it returns
                False the run ends; what ran by then is in the trace.
            seed: random ops that have no seed get one that is made of this and of their names, and a loop around a
                random op runs one round at a time: two traces draw the same numbers. None: they draw others each time.
                Random ops in functions that cannot be taken apart, as those of a `tf.data` pipeline, always do.
            memory: how many bytes may be held at once for the numbers alone: of tensors that wait for theirs to be
                taken, and of what is noted, some 10 KB a tensor; as ``200 << 20`` for 200 MB. The values, the run
                itself and what is returned come on top. Where it is not enough, the graph is run several times, each
                time for some of the tensors, with the same outcome: a run that changes variables or draws random
                numbers starts each time from a new copy. A tensor larger than this has a run of its own. Default: one
                run, without a limit.
            ops: a selection, or ops by name or object: only what they give is noted, which is quicker and smaller, and
                `Trace.first_bad` knows of this alone; of a call all that is inside. What runs by default is what they
                need, and not more.
            plan: a plan of this graph that is not applied yet: what is run is the graph as it would be then, in a copy
                that holds all of it. Names are those after the plan; the plan can be applied afterwards as before.
            isolated: run it in a process of its own, which takes some seconds to start: where TensorFlow dies of the
                graph, that is an error here, and this process goes on. Default: only a graph that came from a file and
                holds ops that reach out of it (`risks`).

        Raises:
            SelectionError: there is no such tensor or op, or a seed is none.
            PlanError: a placeholder needs a feed, an array does not fit, nothing can be asked for, or a limit is none;
                the plan has a fault, is empty or is of another graph; an isolated run died.
            TrustError: the graph came from a file, holds ops that reach out of it, and was not trusted (`trust`).

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

    def feeds_needed(self, fetches: Any = None) -> dict[str, TensorInfo | None]:
        """Returns the placeholders that a run needs, each with its dtype and shape as far as these are known.

        Args:
            fetches: tensors and ops to run, as for `trace`.

        Raises:
            SelectionError: there is no such tensor.
            PlanError: nothing can be asked for.

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
        """Returns the variables that have no value but their initial one, each with the reason.

        A value of a session that was given, of a checkpoint or of a plan is one. In a session that this editor has
        made, all variables have one as soon as one of those that it has initialised was changed. Local variables are
        meant to have none.

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
        checkpoint: Any,
        *,
        scope: str = "",
        names: Mapping[str, str] | Applied | None = None,
        exclude: str | Iterable[str] = (),
        partial: bool = False,
        session: TFSession | None = None,
    ) -> Restored:
        """Gives the variables the values of a checkpoint, also of one written under other names; adds no op.

        Args:
            checkpoint: its prefix, one of its files, the folder that training writes to (its latest), or a SavedModel
                folder. Checkpoints of TF1, partitioned ones too, and object-based ones of TF2, by variable names or
                object paths.
            scope: the one under which the model is in this graph: ``enc/w`` here is ``w`` in the checkpoint.
            names: name in the checkpoint -> variable here, where they differ otherwise; ``*`` stands for the same text
                on both sides, as in ``{"old/*": "new/*"}``. Or what `apply` returned: the names of the source.
            exclude: variables (names or patterns) that are left as they are, as a head that is new.
            partial: variables that the checkpoint does not have are left as they are; without it they are a fault.
            session: the session to set; default: `session()`.

        Returns:
            what was found, what was missing, and what of the checkpoint was not used.

        Raises:
            OpenError: there is no such checkpoint, a file of it is missing, or it is damaged or half written.
            PlanError: it is of another model, lacks variables, or shapes or dtypes differ. No value has changed then.

        Example:
            >>> import os, tempfile, tensorflow as tf, graphsurgeon as gs
            >>> def net(scope):
            ...     with tf.Graph().as_default() as graph, tf.compat.v1.variable_scope(scope):
            ...         tf.compat.v1.get_variable("w", initializer=[1.0, 2.0])
            ...     return gs.open(graph)
            >>> prefix = os.path.join(tempfile.mkdtemp(), "old.ckpt")
            >>> _ = net("a").save(prefix, scope="a")
            >>> report = net("b/c").restore(prefix, scope="b/c")
            >>> report.found, report.missing
            ({'b/c/w': 'w'}, ())
        """
        return restore(
            self._timeline, self.values, checkpoint, scope=scope, names=names, exclude=exclude, partial=partial,
            session=session,
        )  # fmt: skip

    def save(
        self,
        path: Any,
        *,
        outputs: Any = None,
        inputs: Any = None,
        signatures: Mapping[str, tuple[Any, Any]] | None = None,
        format: str | None = None,
        freeze: bool = False,
        values: Any = None,
        scope: str = "",
        names: Mapping[str, str] | Applied | None = None,
        device: str | Mapping[str, str] = "keep",
        tags: str | Iterable[str] = ("serve",),
        feeds: Mapping[Any, Any] | None = None,
        verify: bool = True,
        timeout: float | None = None,
        overwrite: bool = False,
    ) -> Saved:
        """Writes the graph, or a part of it, with its values, as plain TensorFlow reads it; the graph stays as it is.

        What undone plans have left behind stays out. The file is there whole, or not at all: before it takes its
        name, plain TensorFlow opens it again and runs its outputs, and they are compared with those of this graph.
        What writes, draws from a queue or asks a file is not run; the report names it.

        Args:
            path: where to. Its suffix says the format, where `format` does not.
            outputs: tensors, by name or object: only what they need is written. One, several, or a dict of name ->
                tensor, for a signature. Default: those of the function that was opened, for a SavedModel; else all.
            inputs: tensors that are fed: what computes them stays out.
            signatures: for a SavedModel, name -> (inputs, outputs), where one signature is not enough.
            format: ``graph_def`` (``.pb``, ``.pbtxt``, also ``.gz``), ``meta_graph`` (``.meta``, with its checkpoint
                beside it), ``checkpoint`` (``.ckpt``, also ``.ckpt-7``: values only), ``saved_model`` (no suffix: a
                folder, as TF1 writes it), ``saved_model_tf2`` (a folder, of a `tf.Module`) or ``tflite``
                (``.tflite``: variables become constants, and TFLite's own interpreter is what proves it).
            freeze: variables become constants with their current values; for a GraphDef.
            values: where the values come from: a session, or a mapping of variable name to array; default `session()`.
                ``"initial"``: as by default, and variables that have no value but their initial one are frozen at it.
            scope: for a checkpoint: only the variables under this scope, by their names without it: the old names.
            names: for a checkpoint: name to write -> variable, as in `restore`.
            device: as in `Plan.copy`: ``clear`` for a file that runs anywhere.
            tags: of a SavedModel.
            feeds: tensor -> array, for the run that proves the file; tensors that are not given get random numbers
                where their dtype and shape allow it.
            verify: False writes the file without opening it again: for a graph so large that one run more counts.
            timeout: for ``tflite``: seconds that the converter may take, and the interpreter. Default: 600.
            overwrite: replace a file that is there. What this program has itself written there before is replaced
                without being asked: the same cell may run again.

        Returns:
            what was written, what was run of it, and what to know before it is used.

        Raises:
            SelectionError: a tensor is not there.
            PlanError: something is there already, the format is not known or does not go with an argument, a variable
                has no value, one that is to be frozen has nothing but its initial one (`untrained`) and `values` does
                not ask for that, what is asked cannot be written so, or TensorFlow does not run what was written. No
                file has changed then.

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
        try:
            saved = save(
                self._timeline, self.values, self.opened, path, values, outputs=outputs, inputs=inputs,
                signatures=signatures, format=format, freeze=freeze, scope=scope, names=names, device=device, tags=tags,
                feeds=feeds, verify=verify, timeout=timeout, overwrite=overwrite,
            )  # fmt: skip
        except Unconvertible as error:
            raise explained(self, error, outputs) from error
        if self.journal is not None and saved.format != "checkpoint":
            self.journal.saved(os.path.abspath(path))
        return saved

    def graph_def(self, *, provenance: bool = False) -> Any:
        """Returns the GraphDef of the graph, without orphans.

        Args:
            provenance: give each op that is not an original an attribute ``_graphsurgeon``, which says where it came
                from; TensorFlow takes no notice of it, and `gs.open` reads it.

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

        return graph_def(self.snapshot, self.graph, provenance)

    def function(
        self,
        inputs: Any = None,
        outputs: Any = None,
        *,
        values: Any = None,
        name: str = "function",
        also: Any = (),
    ) -> Any:
        """Returns a TF2 callable made from a part of this graph, with variables of its own.

        Args:
            inputs: the tensors that become arguments, by name or object: one, several, or a dict of argument name ->
                tensor. An argument has the dtype and static shape of its tensor. The name of a Keras layer stands for
                what it gives. Default: those of the function that was opened.
            outputs: the tensors it returns: one gives a tensor, several a list, a dict a dict. Default: those of the
                function that was opened, put together as that returns them.
            values: where its variables' values come from: a session, an editor, or a mapping of variable name to
                array. Default: `session()`.
            name: what to call it.
            also: ops that run along whenever it is called, though no output needs them, as the updates of moving
                averages: one or several, by name or object.

        Returns:
            a `GraphFunction`, which is a `tf.Module`: call it, train its `trainable_variables`, save it with
            `tf.saved_model.save`. The graph and its session stay as they are. Reference variables become resource
            variables; tables filled from constants are also copied. A tape has no gradient through a ``while_loop``
            of TF1: such a function runs, but not under a tape. Updates of moving averages that belong to what it
            computes and that no output needs do not run, and a warning names them. Keras does not see its variables:
            in a Keras model, use `keras_layer`.

        Raises:
            SelectionError: a tensor is not there.
            PlanError: `outputs` need a tensor that is not an input; an op that assigns to a reference variable; a
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
        return function_of(self, values, inputs, outputs, name, also)

    def keras_layer(
        self,
        inputs: Any = None,
        outputs: Any = None,
        *,
        training: Any = None,
        values: Any = None,
        name: str | None = None,
        trainable: bool = True,
    ) -> Any:
        """Returns a Keras layer made from a part of this graph, with weights of its own.

        The layer is like any other: `fit` trains its weights, ``layer.trainable = False`` freezes them, the model it
        is in is saved as ``.keras`` and exported as a SavedModel, which plain TensorFlow serves. A process that loads
        the ``.keras`` file needs the class: ``from graphsurgeon import GraphLayer``.

        Moving averages and other updates of the region run where Keras trains the layer, and else do not. Those that
        need what no input gives stay out, and a warning names them.

        Args:
            inputs, outputs: as in `function`. The layer takes one tensor, a list in this order, or a dict by the names
                of the arguments; it returns one tensor, a list or a dict, as `outputs` is.
            training: what is different in training: a tensor of this graph that is fed whether it is trained, as
                ``"is_training:0"``; or an editor of the same model opened for that, ``gs.open(model, training=True)``,
                where ops of the same names are run. Without it the layer does in training what it does else, with
                updates.
            values: as in `function`.
            name: what to call it.
            trainable: False for a layer that starts frozen; it then runs as it does in inference.

        Returns:
            a `GraphLayer`, of Keras 3 (of Keras 2 where TF_USE_LEGACY_KERAS says so). The graph and its session stay
            as they are. What is static in the graph, as a batch size, is static in the layer.

        Raises:
            SelectionError: a tensor is not there.
            PlanError: as `function`; a variable is not a number; Keras does not run on TensorFlow.

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
        inputs: Any = None,
        outputs: Any = None,
        *,
        training: Any = None,
        values: Any = None,
        name: str | None = None,
    ) -> Any:
        """Returns a Keras model that computes what this graph does now.

        Of a functional or sequential model that was opened, the layers that no plan has touched are the same objects:
        those before the change, and those behind it, which are called again. They are shared with the model that was
        opened, so training one trains the other. What is between them is one `GraphLayer`, as `keras_layer` makes it.
        The attribute ``surgery`` of the model says which layers are kept, and of each other one why it is not.

        Args:
            inputs, outputs: as in `function`. Default: those of the model that was opened, in its form.
            training: as in `keras_layer`, for what is rebuilt: a tensor of this graph that is fed whether it is
                trained; or an editor of the model opened for that, in which the same plan is applied.
            values: as in `function`. A layer of the model whose variables hold something else by now is rebuilt.
            name: what to call the model; default: as the one that was opened.

        Returns:
            a `keras.Model`, not compiled. A model that is written as a class does not say how its layers are
            connected, and other graphs know of no layers: of these, one layer computes everything.

        Raises:
            SelectionError: a tensor is not there.
            PlanError: as `keras_layer`; an input has no batch, or no output depends on an input.

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
            4 layers are those of the model: x, body, relu, head
            'rebuilt' computes the rest
        """
        return model_of(self, values, inputs, outputs, training, name)

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
            PlanError: an op is not a function call that can be inlined; the message says why.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> double = tf.function(lambda v: tf.multiply(v, 2.0, name="twice"))
            >>> with tf.Graph().as_default() as graph:
            ...     y = double(tf.compat.v1.placeholder(tf.float32, [None], name="x"))
            >>> gs.open(graph).inlined().snapshot.names
            ['x', 'PartitionedCall/twice/y', 'PartitionedCall/twice', 'PartitionedCall/Identity']
        """
        made, call = inlined(self.snapshot, replace(self.opened, layers=self.layers), self.values, calls)
        other = Editor(made, follows=(self._timeline.log, moment(), call))
        if self.journal is not None:
            other.keep_journal(self.journal.place)
        return other

    # -- showing ---------------------------------------------------------------------------------

    @property
    def screen(self) -> Screen:
        """What the widget shows, as an object: every gesture is a method of it."""
        if self._screen is None:
            self._screen = self._shown(self)
        return self._screen

    def _shown(self, source: Editor) -> Screen:
        from .screen.screen import Screen
        from .tf.open import facts

        kept = Kept((self, source), (self._timeline.log, log_of(source.snapshot)))
        screen = Screen(self, source, facts=facts, recipes=offered(), kept=kept)
        self._journal_screen(screen)
        return screen

    def _journal_screen(self, screen: Screen) -> None:
        """Lets the journal see what is done on a screen, and say there what it has."""
        journal = self.journal
        if journal is None:
            return
        screen.on_change(lambda: journal.looked(screen.state))
        if journal.words and not screen.state.status.text:
            screen.state = screen.state.saying(journal.words[0], "warn")

    def view(self, source: Editor | None = None) -> Any:
        """Returns the widget. With `source`, that graph is at the left, and its parts are copied into this one.

        Args:
            source: the editor whose parts are copied from. Default: this one.
        """
        from .widget.widget import GraphWidget

        if source is not None and source is not self:
            self._screen = self._shown(source)
        with gc_paused():  # or a full collection of the graph just opened stands before its first picture
            return GraphWidget(self.screen)

    def paint(
        self,
        values: Mapping[Any, float] | Trace | Compatibility | str,
        name: str | None = None,
        reduce: str = "auto",
        scale: str = "auto",
    ) -> Editor:
        """Colours the picture; returns this editor, so that the last line of a cell shows it.

        Args:
            values: a number for ops, by name or object; or ``family``, ``device``, ``scope``, ``dtype`` or
                ``structure``. Or a trace: what it tells of each op; or what `check` returned.
            name: what the numbers are, with their unit, as ``"ms"``. Of a trace, which: ``ms`` (the default),
                ``bytes``, ``magnitude``, ``zeros`` or ``not finite``.
            reduce: ``sum``, ``max`` (furthest from zero) or ``mean`` of the numbers in a folded scope; ``auto``: the
                sum, or ``max`` where sums of many small numbers would hide the op with the largest one.
            scale: ``linear`` or ``log``; ``auto``: ``log`` where numbers differ a thousand times or more. Zero has a
                colour of its own, and so has what is not finite; the legend says all of it.

        Example:
            ``ed.paint({"conv1/Conv2D": 3.2, "fc/MatMul": 0.4}, "ms")``
        """
        if isinstance(values, str):
            self.screen.paint(values)
            return self
        if isinstance(values, Compatibility):
            self.screen.paint(words=values.words, name=name or TARGETS[values.target])
            return self
        if isinstance(values, Trace):
            name = "ms" if name is None else name
            values = values.numbers(name)
        self.screen.paint(values=values, name="value" if name is None else name, reduce=reduce, scale=scale)
        return self

    def to_svg(self, unfolded: Iterable[str] | None = None) -> Picture:
        """Returns the picture as a static, self-contained SVG text; as the last line of a cell it is shown.

        Such an output needs no kernel: it is for notebooks that others will open. The widget itself is a picture
        everywhere but in a trusted notebook that JupyterLab opens again: there it asks for the kernel that made it.

        Args:
            unfolded: the scopes and calls to open, as ``["net/", "net/block1/"]``; default: as on screen, with what is
                selected and marked there.

        Raises:
            LayoutError: there would be more than 400 boxes, or no layout engine is there.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.exp(tf.constant(1.0, name="x"), name="y")
            >>> gs.open(graph).to_svg()[:4]
            '<svg'
        """
        return svg_of(self.screen, unfolded)

    def to_dot(self, unfolded: Iterable[str] | None = None) -> Any:
        """Returns the picture as a labelled `graphviz.Digraph`, to render as you like.

        Args:
            unfolded: the scopes and calls to open; default: as on screen.

        Raises:
            LayoutError: there would be more than 400 boxes.
        """
        from .view.dot import to_dot

        self._infer()
        keys = self.screen.unfolded if unfolded is None else fold_keys(self.screen, unfolded, "to_dot")
        return to_dot(self.screen.tree_of(keys), keys)

    def to_html(self, unfolded: Iterable[str] | None = None, theme: str = "auto") -> str:
        """Returns one HTML text that shows the graph and still folds, unfolds and searches, without kernel or network.

        It is at most some 6 MB, whatever the graph: of very large ones the deepest scopes stay folded, and the page
        says how many. What is planned on screen is not in it: apply it first.

        Args:
            unfolded: the scopes and calls that are open at first; default: as on screen. Other calls stay closed.
            theme: ``auto`` follows the reader's system, else ``light`` or ``dark``.

        Raises:
            SurgeryError: there is no such theme.
            LayoutError: there would be more than 400 boxes, or no layout engine is there.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.exp(tf.constant(1.0, name="x"), name="y")
            >>> page = gs.open(graph).to_html()
            >>> page.splitlines()[0], "http:" in page.replace("http://www.w3.org/2000/svg", "")
            ('<!doctype html>', False)
        """
        self._infer()
        keys = self.screen.unfolded if unfolded is None else fold_keys(self.screen, unfolded, "to_html")
        marks = {self.snapshot.index[name]: "orphan" for name in self.orphans}
        shown = self.screen.expanded(keys)
        return page_of(shown.graph, keys, shown.spread(marks), theme, self.screen.direction)

    def _infer(self) -> None:
        """Makes the live graph of a file, for a picture that will not change any more, with its shapes."""
        with suppress(OpenError):  # they stay as the file states them
            self.snapshot.live  # noqa: B018

    def _repr_mimebundle_(self, **options: Any) -> Any:
        with gc_paused():
            return self.view()._repr_mimebundle_(**options)

    def _ipython_display_(self) -> None:
        with gc_paused():
            self.view()._ipython_display_()
