"""A trace with all summaries, compared with a plain run of the same outputs, and with fetching all tensors.

The graph is the largest of the corpus that only infers. A trace is everything: the copy with its values, the probes,
the run, the value. TensorFlow's own `enable_check_numerics` is measured on a Keras model, for it works on no graph that
is imported; it only reports NaN and infinity. A model must be traced by `tf.function` for it: that is in its time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

import graphsurgeon as gs
from benchmarks.peak import can_measure, peak
from benchmarks.rows import Row, in_turns, seconds, skipped
from tests.corpus import open_corpus
from tests.needs import corpus_folder

INFERENCE = "slim_inception_v3_infer"
PLAIN = "3 plain runs and 1 s"


def rows() -> Iterator[Row]:
    """Yields the time of a trace, its memory, what fetching all costs, and the check of TensorFlow."""
    if not corpus_folder():
        skipped("a trace of a real graph", "no corpus next to the checkout")
        return
    ed, session, feeds, wanted = _opened()
    plain, traced = partial(session.run, wanted, feeds), partial(ed.trace, feeds, wanted)
    plain()
    ours, theirs = in_turns(traced, plain, 5)
    what = f"trace of {INFERENCE}, {len(traced()):,} tensors"
    yield Row(what, ours, 3 * theirs + 1.0, 1.0, PLAIN)
    block = ed.select(scope="InceptionV3/InceptionV3/Mixed_7c")
    yield Row(
        f"the same of {len(block)} ops", seconds(partial(ed.trace, feeds, wanted, ops=block), 3), ours, 1, "of all"
    )
    passes = seconds(partial(ed.trace, feeds, wanted, memory=200 << 20), 3)
    yield Row("the same within 200 MB", passes, ours, 4, "without a limit")
    everything = _fetchable(ed, wanted)
    all_of_them = seconds(partial(session.run, everything, feeds), 3)
    yield Row(f"{what}, against fetching {len(everything):,}", ours, all_of_them, 10, "session.run of all")
    if can_measure():
        held = peak(__name__, "tracing", "trace")
        fetched = peak(__name__, "tracing", "fetch")
        yield Row("memory that a trace adds", held, fetched, 1, "session.run of all", "MB")
        yield Row("memory that a trace adds, absolute", held, None, 200.0, unit="MB")
    yield from _keras()


def tracing(what: str) -> Callable[[], Any]:
    """Returns a trace, or a run that fetches all tensors, as the work whose memory is measured."""
    ed, session, feeds, wanted = _opened()
    session.run(wanted, feeds)
    ed.trace(feeds, wanted) if what == "trace" else None
    everything = _fetchable(ed, wanted)
    return partial(ed.trace, feeds, wanted) if what == "trace" else partial(session.run, everything, feeds)


def _opened() -> tuple[Any, Any, Any, list[str]]:
    corpus = open_corpus()
    _, session, _ = corpus.load(INFERENCE)
    feeds, golden = corpus.golden(INFERENCE)
    ed = gs.open(session)
    ed.select()
    return ed, session, feeds, list(golden)


def _fetchable(ed: Any, wanted: list[str]) -> list[str]:
    needed = ed.select(outputs=wanted)
    tensors = [tensor for name in needed.names for tensor in ed.op(name).outputs]
    return [tensor.name for tensor in tensors if tensor.dtype not in (tf.resource, tf.variant)]


def _keras() -> Iterator[Row]:
    model = tf.keras.applications.MobileNetV2(weights=None, input_shape=(96, 96, 3))
    images = np.random.RandomState(0).rand(1, 96, 96, 3).astype(np.float32)
    run = tf.function(model)
    run(images)
    plain = seconds(lambda: run(images), 5)
    ed = gs.open(model)
    (name,) = ed.inputs
    ours = seconds(lambda: ed.trace({name: images}), 3)
    tf.debugging.enable_check_numerics()
    try:
        theirs = seconds(lambda: tf.function(lambda x: model(x))(images), 3)
    finally:
        tf.debugging.disable_check_numerics()
    yield Row("trace of MobileNetV2", ours, 3 * plain + 1.0, 1.0, PLAIN)
    yield Row("trace of MobileNetV2, against TensorFlow's check", ours, theirs, 1, "enable_check_numerics")
