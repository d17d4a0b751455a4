"""Opens a file, a graph, a session, a function or a model in an editor, and repeats the edits of a journal."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import tf
from ..errors import OpenError, SurgeryError, counted
from ..graph.types import GraphSource, PathLike, TensorSpecs
from .editor import Editor
from .journal import SETTING, Records, digest_of, folder, journals
from .serialization import NotDeserializable, StepDecoder


def open(
    obj: GraphSource,
    *,
    tags: str | Iterable[str] | None = None,
    signature: str | TensorSpecs | None = None,
    function: str | None = None,
    training: bool | None = None,
    raw: bool = False,
    inline: bool = False,
    title: str | None = None,
    trust: bool = False,
    timeout: float = 60.0,
    journal: bool | None = None,
) -> Editor:
    """Opens a TensorFlow graph.

    Files are only parsed. TensorFlow imports a graph when a plan or a session first needs it. A SavedModel of TF2 opens
    as its signature ``serving_default``, or as its first signature. The graph then has the ops of the function of this
    signature, placeholders for its arguments, and the variables under their own names. A TF2 object opens as a separate
    graph with the current values; the object never changes. See also the pages "Saving" and "Files you do not trust" of
    the documentation.

    Args:
        obj: a `tf.Graph` or `tf.compat.v1.Session`; a GraphDef or MetaGraphDef; the path of a ``.pb``, ``.pbtxt``,
            ``.meta`` (also ``.gz``) or ``.keras`` file, or of a SavedModel folder; or a TF2 object: a ConcreteFunction,
            a `tf.function`, a Keras model, a `tf.Module`, or the result of `tf.saved_model.load`.
        tags: the tags of a graph, for a SavedModel with several graphs.
        signature: for a SavedModel, the name of a signature; `Editor.signatures` lists the signatures. For a TF2
            object, the `tf.TensorSpec` of its arguments: one, a list, or a dict for keywords. For a Keras model, the
            specs in the structure of its inputs, and a tuple if it has several arguments.
        function: the function to open. For a `tf.Module`, the name of an attribute; for a SavedModel, the path of a
            function from the saved object, such as ``"encoder.forward"``; for any graph with functions, the name of a
            function.
        training: whether a Keras model is called with ``training=True``. Default: no.
        raw: open the whole graph of a TF2 SavedModel. In this graph each signature is a call of a function. The graph
            also has the ops that save and restore. Not for a ``.keras`` file or a TF2 object.
        inline: replace function calls by their bodies, as `Editor.inlined` does.
        title: the title in messages and pictures.
        trust: whether the file may run (see `Editor.trust`), and whether TensorFlow may import it here at once. By
            default, a separate process imports it first, when the graph is needed. If that process crashes or hangs,
            the graph can only be viewed, and the error names the op if it is found in time.
        timeout: time limit of the import in the separate process, in seconds, plus one second per thousand ops.
        journal: keep a journal on disk, from which `gs.recover(path)` restores the edits after a crash of the kernel.
            Default: only for files. The journals are in ``~/.local/state/graphsurgeon/journals``, or in the folder
            named by the environment variable ``GRAPHSURGEON_JOURNALS``; the value ``off`` turns journals off. The
            journal is created when the first plan is applied.

    Returns:
        An `Editor`. As the last line of a notebook cell, it is shown as the widget. `Editor.inputs` and
        `Editor.outputs` map the arguments and results of a TF2 object to names of tensors.

    Raises:
        OpenError: if `obj` cannot be read as a graph, or a journal is requested for a graph that is not in a file.

    Example:
        >>> import tensorflow as tf
        >>> graph = tf.Graph()
        >>> with graph.as_default():
        ...     y = tf.square(tf.compat.v1.placeholder(tf.float32, [None], name="x"), name="y")
        >>> print(open(graph))
        graph: 2 ops, 1 edge
          inputs   x  float32 (?,)
          outputs  y  float32 (?,)
        >>> w = tf.Variable(3.0, name="w")
        >>> ed = open(tf.function(lambda x: x * w), signature=tf.TensorSpec([None], tf.float32, name="x"))
        >>> ed.session().run(ed.outputs, {ed.inputs["x"]: [1.0, 2.0]})
        {'output': array([3., 6.], dtype=float32)}
    """
    source = tf.open.source.open_source(obj, tags, signature, function, training, raw, trust, timeout)
    editor = Editor(replace(source, title=title) if title else source)
    if source.file is None and journal:
        problem = f"a journal needs a file, and {editor.title} did not come from one"
        raise OpenError("open(journal=True)", problem, "Save it and open the file, or leave journal= out")
    if source.file is not None and journal is not False and (place := folder(requested=bool(journal))) is not None:
        editor.start_journal(place)
    return editor.inlined() if inline else editor


def recover(
    path: PathLike, *, journal: PathLike | None = None, allow_changed: bool = False, trust: bool = False
) -> Editor:
    """Opens a file, and applies the edits again that were made before the kernel stopped.

    Plans are applied, undone and redone in the same order. An unapplied plan, the marks and the saved views are
    restored on screen. Python functions in steps, ops copied from graphs without a file, and values trained in a
    session cannot be restored; ``print(ed)`` and ``ed.journal.notes`` list them. If a step cannot be repeated, later
    steps are left out.

    A journal contains only data, so reading it never runs code. It does not make a file trusted.

    Args:
        path: the file, the same as for `gs.open`.
        journal: the path of a journal; default: the newest journal of the file that has edits.
        allow_changed: restore even if the file has changed since.
        trust: as in `gs.open`.

    Returns:
        an editor with a new journal.

    Raises:
        OpenError: the file has no journal, its journal is damaged from the start, or the file has changed or is
            missing.

    Example:
        >>> import os, tempfile, graphsurgeon as gs, tensorflow as tf
        >>> folder = tempfile.mkdtemp()
        >>> with tf.Graph().as_default() as graph:
        ...     y = tf.square(tf.constant(3.0, name="x"), name="y")
        >>> path = os.path.join(folder, "squares.pb")
        >>> _ = gs.open(graph).save(path)
        >>> before = os.environ.get("GRAPHSURGEON_JOURNALS", "off")
        >>> os.environ["GRAPHSURGEON_JOURNALS"] = os.path.join(folder, "journals")
        >>> ed = gs.open(path)
        >>> done = ed.apply(ed.plan().rename("y", to="z"))
        >>> del ed, done  # as when the kernel dies
        >>> gs.recover(path).snapshot.names
        ['x', 'z']
        >>> os.environ["GRAPHSURGEON_JOURNALS"] = before
    """
    request = f"recover({os.fspath(path)!r})"
    records, which = _journal_of(path, journal, request)
    reader = _JournalReader(request, trust)
    try:
        editor: Editor = reader.open_graph(records.records[0]["of"], allow_changed, True)
    except (NotDeserializable, KeyError, TypeError, ValueError) as error:
        raise OpenError(
            request, f"{which.name} does not contain what was opened: {error}", "Open the file itself"
        ) from error
    reader.replay(editor, records)
    if editor.journal is not None:
        editor.journal.offer = ""
        editor.journal.notes += reader.notes
    return editor


def _journal_of(path: Any, journal: Any, request: str) -> tuple[Records, Path]:
    """Returns the given journal, or the newest journal of the file that has edits, with its path."""
    damage = ""
    for one in journals(path) if journal is None else [Path(journal)]:
        records = Records.read(one)
        if records.records and records.records[0]["kind"] == "journal" and len(records.records) > 1:
            return records, one
        damage = damage or records.damage
    if damage:
        raise OpenError(
            request, f"its journal is damaged from the start: {damage}", "Open the file itself: gs.open(path)"
        )
    where = f"in {str(folder())!r}" if folder() is not None else f"for {SETTING} is off"
    raise OpenError(request, f"no journal of it is kept, {where}", "Open the file itself: gs.open(path)")


class _JournalReader:
    """Repeats the records of a journal.

    Args:
        request: the request, for messages.
        trust: as in `gs.open`.

    Attributes:
        steps: the decoder of the steps of plans.
        notes: sentences about edits that could not be restored.
    """

    def __init__(self, request: str, trust: bool) -> None:
        self._request, self._trust = request, trust
        self.notes: list[str] = []
        self._sources: list[Any] = []
        self.steps = StepDecoder(request, self._place)

    def open_graph(self, of: Any, allow_changed: bool, journal: bool) -> Any:
        """Opens the graph of a record, and repeats the plans that the record lists."""
        if "from" in of:
            editor = self.open_graph(of["from"], allow_changed, journal)
            editor = editor.inlined(*_inlined_calls(of["call"]))
        else:
            path, options = of["path"], dict(of["options"])
            option_names = {"tags", "signature", "function", "training", "raw", "title"}
            if not isinstance(path, str) or not options.keys() <= option_names:
                raise NotDeserializable("the arguments are not those of gs.open")
            digest = digest_of(_main(path)) if _main(path).exists() else None
            if digest is not None and digest != of["digest"] and not allow_changed:
                problem = f"{path!r} has changed since: the steps in the journal were made for another version"
                how = "Put back the file as it was; or try the steps on it as it is: allow_changed=True"
                raise OpenError(self._request, problem, how)
            editor = open(path, **options, trust=self._trust, journal=journal)
        inner = _JournalReader(self._request, self._trust).steps
        for one in of["done"]:
            inner.before[one["number"]] = editor.snapshot
            editor.apply(inner.decode_plan(editor, one["steps"]))
        return editor

    def replay(self, editor: Any, records: Records) -> None:
        """Repeats the records until one fails; `notes` gets the reason."""
        numbers: dict[int, int] = {}
        turns: set[tuple[int, int]] = set()
        draft: list[Any] = []
        looks: dict[str, Any] = {}
        stopped = ""
        rest = records.records[1:]
        for at, record in enumerate(rest):
            kind = record["kind"]
            try:
                if "turn" in record:
                    turn = (record["number"], record["turn"])
                    if turn in turns:  # an interrupt caused it to be written twice
                        continue
                    turns.add(turn)
                if kind == "source":
                    self._sources.append(record["of"])
                elif kind == "plan":
                    numbers[record["number"]] = self._apply(editor, record)
                    draft = []
                elif kind in ("undo", "redo"):
                    event = editor.undo() if kind == "undo" else editor.redo()
                    if event.number != numbers.get(record["number"]):
                        raise NotDeserializable(f"it would {kind} another step")
                elif kind == "draft":
                    draft = [*draft[: record["keep"]], *record["steps"]]
                    self.notes += record.get("lost", [])
                elif kind == "look":
                    looks = record
                elif kind != "saved":
                    raise NotDeserializable(f"there is no record of kind {kind!r}")
            except (
                SurgeryError,
                NotDeserializable,
                KeyError,
                TypeError,
                ValueError,
                AttributeError,
                IndexError,
            ) as error:
                remaining = sum(one["kind"] in ("plan", "undo", "redo") for one in rest[at + 1 :])
                what = f"step {record.get('number')} ({record.get('text', kind)})"
                more = f", nor the {counted(remaining, 'steps')} after it" if remaining else ""
                stopped = f"{what} could not be restored{more}: {error}"
                break
        if records.damage:
            self.notes.append(f"the journal is incomplete: {records.damage}")
        if stopped:
            self.notes.append(stopped)
        self._restore_screen(editor, [] if stopped else draft, looks)

    def _apply(self, editor: Any, record: Mapping[str, Any]) -> int:
        self.steps.before[record["number"]] = editor.snapshot
        size = editor.snapshot.size
        if size != record["ops"]:
            problem = f"the graph had {counted(record['ops'], 'ops')} then, and has {size:,} now"
            raise NotDeserializable(f"{problem}: ops that a program has added are not in the journal")
        plan = self.steps.decode_plan(editor, record["steps"])
        editor.apply(plan, record=bool(record["record"]))
        self.notes += [f"step {record['number']}: {text}" for text in record.get("lost", [])]
        return int(editor.history[-1].number)

    def _restore_screen(self, editor: Any, draft: Sequence[Any], screen: Mapping[str, Any]) -> None:
        """Restores the plan, the marks and the saved views of the screen."""
        if not draft and not screen:
            return
        from ..ui.state import Marks, NavEntry

        state = editor.screen.state
        try:
            if draft:
                state = state.replace(draft=self.steps.decode_plan(editor, draft))
            if screen:
                marks = Marks(*(_texts(one) for one in screen["marks"]))
                views = {str(k): NavEntry(frozenset(_texts(u)), _texts(s), tuple(map(float, a)))
                         for k, u, s, a in screen["views"]}  # fmt: skip
                state = state.replace(marks=marks, views=views)
        except (SurgeryError, NotDeserializable, KeyError, TypeError, ValueError, AttributeError) as error:
            self.notes.append(f"the plan on screen could not be restored: {error}")
        editor.screen.restore(state)

    def _place(self, number: int) -> Any:
        """Returns the editor of another file, which is opened once."""
        one = self._sources[number]
        if isinstance(one, dict):
            one = self._sources[number] = self.open_graph(one, False, False)
        return one


def _main(path: str) -> Path:
    folder = Path(path)
    inside = [one for one in (folder / "saved_model.pb", folder / "saved_model.pbtxt") if one.exists()]
    return inside[0] if inside else folder


def _inlined_calls(call: Any) -> list[str]:
    """Returns the calls that were inlined, from the text of the record, which is parsed as literals."""
    text = str(call)
    if not (text.startswith(".inlined(") and text.endswith(")")):
        raise NotDeserializable(f"{text!r} is not a call that makes an editor of another")
    names = ast.literal_eval(f"[{text[len('.inlined(') : -1]}]")
    return [str(one) for one in names]


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise NotDeserializable(f"{value!r} is not a list of names")
    return tuple(value)
