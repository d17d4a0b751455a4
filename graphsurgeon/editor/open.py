"""Opens a file, a graph, a session, a function or a model in an editor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .. import tf
from ..errors import OpenError
from ..graph.types import GraphSource, TensorSpecs
from .editor import Editor
from .journal import folder


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
