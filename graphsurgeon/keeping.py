"""Keeping: what an editor does with values and files: it restores checkpoints and saves what it holds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .applied import Applied
from .errors import PlanError
from .graph.graph import Graph
from .graph.reports import Restored, Saved
from .plan.plan import tensor_name
from .plan.steps import INITIAL

if TYPE_CHECKING:
    from .history import Event


class Keeping:
    """The part of an `Editor` that restores and saves."""

    graph: Any
    title: str
    inputs: dict[str, str]
    outputs: dict[str, str]
    _session: Any
    _values: Any

    if TYPE_CHECKING:

        @property
        def snapshot(self) -> Graph:
            """The graph as it is now."""

        @property
        def orphans(self) -> frozenset[str]:
            """Names of ops without a role."""

        @property
        def starters(self) -> tuple[list[str], dict[str, Any]]:
            """Ops that the file wants run once, and what they are fed."""

        @property
        def history(self) -> list[Event]:
            """The applied plans."""

        @property
        def void(self) -> frozenset[str]:
            """Names of variables that nothing gives a value."""

        def session(self, session: Any = None, config: Any = None) -> Any:
            """Returns a session with all values."""

        def values_session(self) -> Any:
            """Returns the session that has the values."""

    @property
    def has_values(self) -> bool:
        """Whether the variables have values of their own, from a session, a file or a plan: not only initial ones."""
        return self._session is not None or self._values is not None or bool(self.history)

    def stored(self) -> Mapping[str, Any] | None:
        """Returns the values of variables as they lie in the file that was opened, unread, by op name.

        None where they are elsewhere: in a session, or where a plan has changed the graph since.
        """
        if self._session is not None or self.history or not hasattr(self._values, "stored"):
            return None
        found: Mapping[str, Any] | None = self._values.stored()
        return found

    def restore(
        self,
        checkpoint: Any,
        *,
        under: str = "",
        names: Mapping[str, str] | Applied | None = None,
        but: str | Iterable[str] = (),
        partial: bool = False,
        session: Any = None,
    ) -> Restored:
        """Gives the variables the values of a checkpoint, also of one written under other names; adds no op.

        Args:
            checkpoint: its prefix, one of its files, the folder that training writes to (its latest), or a SavedModel
                folder. Checkpoints of TF1, partitioned ones too, and object-based ones of TF2, by variable names or
                object paths.
            under: the scope under which the model is in this graph: ``enc/w`` here is ``w`` in the checkpoint.
            names: name in the checkpoint -> variable here, where they differ otherwise; ``*`` stands for the same text
                on both sides, as in ``{"old/*": "new/*"}``. Or what `apply` returned: the names of the source.
            but: variables (names or patterns) that are left as they are, as a head that is new.
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
            >>> _ = net("a").save(prefix, under="a")
            >>> report = net("b/c").restore(prefix, under="b/c")
            >>> report.found, report.missing
            ({'b/c/w': 'w'}, ())
        """
        from .tf.values.restore import restore

        _refuse_odd(f"restore({checkpoint!r})", path=checkpoint, names=names)
        given = session if session is not None else self.session()
        if getattr(given, "graph", None) is not self.graph:
            raise PlanError(
                f"restore({str(checkpoint)!r}, session=...)",
                f"that is no session of {self.title}",
                "Leave session= out, or give ed.session(session)",
            )
        rules = [but] if isinstance(but, str) else list(but)
        about: dict[str, Any] = {"under": under, "names": _renames(names), "but": rules, "partial": partial}
        return restore(given, checkpoint, **about, orphans=self.orphans)

    def _empty_locals(self, values: Any, request: Any) -> frozenset[str]:
        """Names of local variables that hold no value to save, as where nobody has run their initialisers."""
        from .tf.values.untrained import LOCAL, holding

        found = [info for info in self.snapshot.state.variables.values() if LOCAL in info.collections]
        if not found or request.kind == "graph_def":
            return frozenset()
        given = values() if callable(values) else values
        names = frozenset(info.op for info in found)
        if isinstance(given, Mapping):
            return names - {str(key).removesuffix(":0") for key in given}
        return names - holding(given, found, request.asked) if getattr(given, "graph", None) is self.graph else names

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
        under: str = "",
        names: Mapping[str, str] | Applied | None = None,
        device: str | Mapping[str, str] = "keep",
        tags: str | Iterable[str] = ("serve",),
        feeds: Mapping[Any, Any] | None = None,
        verify: bool = True,
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
                folder, as TF1 writes it) or ``saved_model_tf2`` (a folder, of a `tf.Module`).
            freeze: variables become constants with their values of now; for a GraphDef.
            values: where the values come from: a session, or a mapping of variable name to array; default `session()`.
                ``"initial"``: as by default, and variables that have no value but their initial one are frozen at it.
            under: for a checkpoint: only the variables under this scope, by their names without it: the old names.
            names: for a checkpoint: name to write -> variable, as in `restore`.
            device: as in `Plan.copy`: ``clear`` for a file that runs anywhere.
            tags: of a SavedModel.
            feeds: tensor -> array, for the run that proves the file; tensors that are not given get random numbers
                where their dtype and shape allow it.
            verify: False writes the file without opening it again: for a graph so large that one run more counts.

        Returns:
            what was written, what was run of it, and what to know before it is used.

        Raises:
            SelectionError: a tensor is not there.
            PlanError: the format is not known or does not go with an argument, a variable has no value, one that is
                to be frozen has nothing but its initial one (`untrained`) and `values` does not ask for that, what is
                asked cannot be written so, or TensorFlow does not run what was written. No file has changed then.

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
        from .tf.save.save import Request, save
        from .tf.values.untrained import unproved

        initial = isinstance(values, str) and values == INITIAL
        _refuse_odd(f"save({path!r})", path=path, names=names, signatures=signatures, tags=tags)
        request = Request(
            path, format, outputs, inputs, signatures, freeze, under, _renames(names), device, tags,
            self.inputs, self.outputs, self.starters, {tensor_name(k): v for k, v in (feeds or {}).items()}, verify,
            {}, initial,
        )  # fmt: skip
        if freeze or request.kind != "graph_def":
            known = list(self.snapshot.state.variables.values())
            source = self if values is None or initial else values
            request = replace(request, untrained=unproved(source, self.graph, known, request.asked))
        given = self.values_session if values is None or initial else values_of(values)
        saved = save(self.snapshot, self.orphans, self.void | self._empty_locals(given, request), given, request)
        inside = request.untrained if freeze else {n: w for n, w in request.untrained.items() if n in saved.variables}
        return replace(saved, untrained=inside)


def _refuse_odd(asked: str, *, path: Any, names: Any, signatures: Any = None, tags: Any = ()) -> None:
    """Refuses arguments of another kind than they can be."""
    if not isinstance(path, (str, os.PathLike)):
        raise PlanError(asked, f"{path!r} is no path", "Give a path, as text or pathlib.Path")
    if names is not None and not isinstance(names, (Mapping, Applied)):
        how = "Give {'name in the checkpoint': 'variable'}, or what apply returned"
        raise PlanError(asked, f"names={names!r} is no mapping", how)
    ends = signatures.values() if isinstance(signatures, Mapping) else [signatures] if signatures is not None else []
    if any(not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in ends):
        how = "Give {'name': (inputs, outputs)}, as {'serving_default': ('x:0', 'y:0')}"
        raise PlanError(asked, f"signatures={signatures!r} is no mapping of name to (inputs, outputs)", how)
    if isinstance(tags, bytes) or not isinstance(tags, Iterable) or not all(isinstance(tag, str) for tag in tags):
        raise PlanError(asked, f"tags={tags!r} is no text", "Give one or several, as tags='serve'")


def _renames(names: Any) -> dict[str, str]:
    """Name in the checkpoint -> variable; of an applied plan, name in the source -> variable of the copy."""
    if isinstance(names, Applied):
        return {v.was: v.name for copied in names.copies for v in copied.variables}
    return dict(names or {})


def values_of(values: Any) -> Any:
    """Returns what a request's `values` gives: an editor stands for its session."""
    return values.values_session() if isinstance(values, Keeping) else values


def source_of(values: Any) -> Any:
    """Returns where a copy gets its values from: as `values_of`, but files that nobody has opened a session on yet
    stay unread until their values are wanted, one by one.
    """
    if not isinstance(values, Keeping):
        return values
    stored = values.stored()
    return values.values_session() if stored is None else (stored, values.values_session)
