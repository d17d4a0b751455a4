"""The program of the process that tries imports of graphs, in a child process for each.

It imports the core of TensorFlow, which imports graphs like all of TensorFlow, and takes a fifth of the time to import.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from graphsurgeon.tf.import_tensorflow import import_core
from graphsurgeon.tf.messages import graph_pb2
from graphsurgeon.tf.protos import lacks_memory

#: The stack for an import in bytes, half of the usual one, so that the import in the other process has enough of it.
_STACK = 4 << 20
#: TensorFlow cannot import a larger GraphDef, in bytes.
_LIMIT = 2**31 - 1


_core = False
"""Whether only the core of TensorFlow is imported."""


def prepare() -> None:
    """Imports the core of TensorFlow, once, before the first request."""
    global _core
    _core = import_core()


def work(graph: str, count: int, seconds: float, shapes: bool) -> dict[str, Any]:
    """Imports the first ops of a graph.

    Args:
        graph: the file with the GraphDef.
        count: the number of ops.
        seconds: the time limit.
        shapes: whether to return inferred shapes.

    Returns:
        ``accepted``: whether TensorFlow accepts the ops; ``shapes``: op name -> the shapes of its outputs, only if one
        of them is known. If memory has run out: ``how`` and ``started``, as `Worker.send` returns them.
    """
    data = Path(graph).read_bytes()
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)  # also interrupts TensorFlow
    graph_def = graph_pb2.GraphDef.FromString(data)
    del graph_def.node[count:]
    answers: list[dict[str, Any]] = []
    threading.stack_size(_STACK)
    thread = threading.Thread(target=lambda: answers.append(_answer(graph_def, shapes)))
    thread.start()
    thread.join()
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    return answers[0]


def _answer(graph_def: Any, shapes: bool) -> dict[str, Any]:
    try:
        ops = (_import if _core else _public_import)(graph_def)
    except Exception as error:  # the process that has sent the graph gets and reports the same error
        lacking = {"how": "ran out of memory", "started": True}
        return lacking if lacks_memory(error) else {"accepted": False, "shapes": {}}
    outputs = {op.name: [_shape(tensor) for tensor in op.outputs] for op in (ops if shapes else ())}
    known = {name: sizes for name, sizes in outputs.items() if any(shape is not None for shape in sizes)}
    return {"accepted": True, "shapes": known}


def _import(graph_def: Any) -> Iterable[Any]:
    from graphsurgeon.tf.private.c_api import raw_import_alone

    return raw_import_alone(graph_def, _LIMIT)


def _public_import(graph_def: Any) -> Iterable[Any]:
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    return graph.get_operations()


def _shape(tensor: Any) -> list[int | None] | None:
    """Returns the static shape of a tensor; None if its rank is unknown, or a size is negative."""
    try:
        shape = tensor.shape
    except ValueError:  # TensorFlow infers negative sizes from unusual attributes
        return None
    return None if shape.rank is None else shape.as_list()
