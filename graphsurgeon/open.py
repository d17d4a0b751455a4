"""Open: from what people have to an editor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .editor import Editor
from .errors import OpenError
from .journal import folder


def open(
    thing: Any,
    *,
    tags: Any = None,
    signature: Any = None,
    function: str | None = None,
    training: bool | None = None,
    raw: bool = False,
    inline: bool = False,
    title: str | None = None,
    trust: bool | None = None,
    timeout: float = 60.0,
    journal: bool | None = None,
) -> Editor:
    """Opens a TensorFlow graph for looking and operating.

    Args:
        thing: a `tf.Graph` or `tf.compat.v1.Session`; a GraphDef or MetaGraphDef; the path of a ``.pb``,
            ``.pbtxt`` or ``.meta`` file (also ``.gz``), of a ``.keras`` file (of one that holds code, as that of a
            Lambda layer, the layers are shown, and nothing is run) or of a SavedModel folder of TF1 or TF2; or a TF2
            object: a ConcreteFunction, a `tf.function`, a Keras model, a `tf.Module`, or what `tf.saved_model.load`
            gave.
            A SavedModel of TF2 is opened as what its signature ``serving_default`` computes, or the first that it has:
            the ops of its function, the arguments as placeholders, the variables under their own names. Nothing of it
            is run.
        tags: which graph of a SavedModel, where it holds several.
        signature: for a SavedModel, the name of another signature; `Editor.signatures` lists them. For a TF2 object,
            the arguments as `tf.TensorSpec` (shape and dtype): one, a list of them, or a dict for keywords; for a Keras
            model the structure it is called with, a tuple for several arguments.
        function: which function of a `tf.Module`, by its attribute name; of a SavedModel, by the way to it from the
            object that was saved, as ``"encoder.forward"``; of any graph that holds functions, by its name there.
        training: whether a Keras model is called for training; default no.
        raw: a SavedModel of TF2 as it lies: one graph with all that is saved, in which each signature is a call, beside
            what saves and restores. Not for a ``.keras`` file or a TF2 object.
        inline: replace function calls by what they compute, as `Editor.inlined` does.
        title: what to call it in messages and pictures.
        trust: whether TensorFlow may import a file, or a proto, here. It does so at the first need only, as for a plan
            or a session. While somebody only looks at it, TensorFlow imports it in a process of its own, which takes
            some seconds and tells the shapes; where that dies or hangs, the editor says on which op, and the graph can
            only be looked at, as where something in the file is known to end or to hang TensorFlow. By default, whoever
            needs the graph does not wait for that process. False, for a stranger's file: the process comes first in
            any case. True: nothing is tried, and what is known to be dangerous is imported all the same; and the graph
            may run, whatever of it reaches out of the graph, as `Editor.trust` says.
        timeout: how many seconds that process may take for the import, with one more for each thousand ops.
        journal: keep on disk what is done to the graph, as it is done, so that `gs.recover(path)` brings it back where
            the kernel dies. Default: of what comes from a file, in the user's folder for such things
            (``~/.local/state/graphsurgeon/journals``), or where the environment variable ``GRAPHSURGEON_JOURNALS``
            says; ``off`` there turns it off. A journal is made when the first plan is applied, never by looking.

    Returns:
        an `Editor`. The last line of a cell shows it as a widget. A TF2 object is opened as a graph of its own: its
        arguments are placeholders, its variables resource variables with the current values; the object itself never
        changes. `Editor.inputs` and `Editor.outputs` name its arguments and results.

    Raises:
        OpenError: it cannot be read, and the message says what is wrong with it; or a journal is asked for of what is
            in no file.

    What reads or writes files, opens the network or calls Python in a graph that came from a file is not run before
    somebody trusts it: `Editor.risks` names it, `Editor.trust` lets it run.

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
    from .tf.open.source import opened

    found = opened(thing, tags, signature, function, training, raw, trust, timeout)
    editor = Editor(replace(found, title=title) if title else found)
    if found.file is None and journal:
        wrong = f"a journal is kept of files alone, and {editor.title} came from none"
        raise OpenError("open(journal=True)", wrong, "Save it and open the file, or leave journal= out")
    if found.file is not None and journal is not False and (place := folder(asked=bool(journal))) is not None:
        editor.keep_journal(place)
    return editor.inlined() if inline else editor
