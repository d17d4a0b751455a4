"""Random graphs: recipes that hypothesis draws, and the TensorFlow graphs they describe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf
from hypothesis import strategies as st

from tests.graphs import tf1

FLOATS = (tf.float32, tf.float64)
DTYPES = (tf.float32, tf.float64, tf.int32, tf.int64, tf.bool, tf.string, tf.complex64)
SCOPES = ("", "a/", "a/b/", "a/b/c/d/", "c/")
NUMBERS = {
    "Neg": tf.negative, "Square": tf.square, "Id": tf.identity, "Double": lambda t: t + t,
    "Float": lambda t: tf.cast(t, tf.float32), "Long": lambda t: tf.cast(t, tf.int64),
    "Wide": lambda t: tf.cast(t, tf.float64),
}  # fmt: skip
REALS = {
    "Abs": tf.abs, "Sign": tf.sign, "Big": lambda t: tf.greater(t, tf.cast(2, t.dtype)), "Text": tf.strings.as_string,
    "Int": lambda t: tf.cast(tf.clip_by_value(t, tf.cast(-9, t.dtype), tf.cast(9, t.dtype)), tf.int32),
}  # fmt: skip
#: What can be done to one tensor, by its dtype.
UNARY: dict[Any, list[Callable[[Any], Any]]] = {
    **{dtype: [*NUMBERS.values(), *REALS.values()] for dtype in (*FLOATS, tf.int32, tf.int64)},
    tf.bool: [tf.logical_not, tf.identity, lambda t: tf.cast(t, tf.float32), lambda t: tf.where(t, [1, 2, 3], 0)],
    tf.string: [tf.identity, tf.strings.upper, lambda t: tf.strings.to_hash_bucket_fast(t, 7)],
    tf.complex64: [tf.negative, tf.math.conj, tf.math.real, tf.identity],
}
#: What can be done to two tensors of one dtype.
BINARY: dict[Any, list[Callable[[Any, Any], Any]]] = {
    **{
        dtype: [tf.add, tf.subtract, tf.maximum, tf.minimum, lambda a, b: tf.where(tf.less(a, b), a, b)]
        for dtype in (*FLOATS, tf.int32, tf.int64)
    },
    tf.bool: [tf.logical_and, tf.logical_or, tf.not_equal],
    tf.string: [lambda a, b: tf.strings.join([a, b]), tf.equal],
    tf.complex64: [tf.add, tf.multiply],
}
PLAIN = ("unary", "unary", "unary", "binary", "binary", "binary", "const", "complex", "split", "wait", "fan")
STATE = ("reference", "resource", "same name", "table", "random")
FLOW = ("while v1", "cond v1", "nest v1", "while v2", "cond v2", "call")
KINDS = PLAIN + STATE + FLOW

#: Ops that others may wait for, beside those that make a tensor; the helpers of a cond run only in one branch.
_WAITED = ("NoOp", "Const", "Assign", "AssignVariableOp", "InitializeTableV2", "Placeholder")

NUMBER = st.integers(0, 999)  # picks from what there is by then, by its remainder
STEP = st.tuples(st.sampled_from(KINDS), st.sampled_from(SCOPES), NUMBER, NUMBER, NUMBER, st.lists(NUMBER, max_size=2))
FEEDS = st.lists(st.sampled_from(range(len(DTYPES))), min_size=1, max_size=3)
RECIPE = st.tuples(FEEDS, st.lists(STEP, min_size=4, max_size=24))
ENDS = st.tuples(st.lists(NUMBER, max_size=2), st.lists(NUMBER, min_size=1, max_size=2))


@dataclass
class Built:
    """A random graph.

    Args:
        graph: the graph.
        pools: dtype -> the tensors its steps have made, outside of loops and conds.
        holders: its resource variables.
    """

    graph: Any
    pools: dict[Any, list[Any]] = field(default_factory=lambda: {dtype: [] for dtype in DTYPES})
    holders: list[Any] = field(default_factory=list)

    @property
    def tensors(self) -> list[Any]:
        """What the steps have made, outside of loops and conds."""
        return [t for pool in self.pools.values() for t in pool]

    def feeds(self) -> dict[Any, Any]:
        """Returns seeded data for the placeholders."""
        rng = np.random.RandomState(0)
        ops = [op for op in self.graph.get_operations() if op.type == "Placeholder" and op.name.startswith("feed")]
        return {op.outputs[0]: data(op.outputs[0].dtype, rng) for op in ops}


def data(dtype: Any, rng: Any) -> Any:
    """Returns three random items of a dtype."""
    if dtype == tf.string:
        return np.array([f"{n:.1f}".encode() for n in rng.rand(3)], object)  # as TensorFlow gives them back
    if dtype == tf.bool:
        return rng.rand(3) > 0.5
    return (rng.rand(3) * 8).astype(dtype.as_numpy_dtype)


def built(recipe: Any) -> Built:
    """Builds the graph of a recipe."""
    made, (feeds, steps) = Built(tf.Graph()), recipe
    with made.graph.as_default():
        for number, at in enumerate(feeds):
            made.pools[DTYPES[at]].append(tf1.placeholder(DTYPES[at], [3], name=f"feed{number}"))
        for number, (kind, scope, a, b, c, waits) in enumerate(steps):
            ops = [
                op for op in made.graph.get_operations() if op.type in _WAITED and not op._get_control_flow_context()
            ]
            ops += [tensor.op for tensor in made.tensors]
            first = [ops[w % len(ops)] for w in sorted({w % len(ops) for w in waits})]
            alone = kind in STATE or kind.endswith("v1")
            with tf.name_scope(scope), tf.control_dependencies(None if alone else first):
                for tensor in _step(made, kind, number, a, b, c):
                    tensor.set_shape([3])
                    made.pools[tensor.dtype.base_dtype].append(tensor)
                    if c % 4 == 0:
                        made.graph.add_to_collection("losses", tensor)
    return made


def _step(made: Built, kind: str, number: int, a: int, b: int, c: int) -> Any:
    """Makes the tensors of one step."""
    have = [dtype for dtype in DTYPES if made.pools[dtype]]
    dtype = have[a % len(have)]
    pool = made.pools[dtype]
    one, two = pool[b % len(pool)], pool[c % len(pool)]
    if kind == "unary":
        return [UNARY[dtype][a % len(UNARY[dtype])](one)]
    if kind == "binary":
        return [BINARY[dtype][a % len(BINARY[dtype])](one, two)]
    if kind == "const":
        return [tf.constant(data(DTYPES[a % len(DTYPES)], np.random.RandomState(number)))]
    if kind == "wait":
        made.graph.add_to_collection("mine", tf.no_op())
        return []
    if kind == "split":
        return [tf.concat(tf.split(one, 3)[::-1], 0)]
    if kind == "fan":
        return [tf.concat([tf.identity(one)[:1] for _ in range(3 + a % 20)], 0)[:3]]
    return _stateful(made, kind, number, a, b, one) if kind in STATE else _flow(made, kind, a, b, c)


def _stateful(made: Built, kind: str, number: int, a: int, b: int, one: Any) -> Any:
    graph = made.graph
    if kind == "random":
        return [tf1.random_uniform([3], maxval=9, dtype=tf.int32, seed=a)]
    if kind == "table":
        keys, values = tf.range(5, dtype=tf.int64), tf.constant([b, 1, 2, 3, 4], tf.float32)
        table = tf1.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1.0)
        key = one if one.dtype.is_integer else tf.ones([3], tf.int32)
        return [table.lookup(tf.cast(key, tf.int64))]
    if kind == "same name" and made.holders:
        held = made.holders[a % len(made.holders)]  # another op for the very same variable
        again = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[3], shared_name=held.op.get_attr("shared_name"))
        with tf.control_dependencies([held.read_value()]):
            return [tf.raw_ops.ReadVariableOp(resource=again, dtype=tf.float32)]
    variable = tf1.Variable(
        tf.constant([1, number, 3], tf.float32),
        use_resource=kind != "reference",
        trainable=bool(a % 3),
        collections=[["variables"], ["local_variables"], ["variables", "mine"]][b % 3],
        name=f"v{number}",
    )
    if kind != "reference":
        made.holders.append(variable)
    graph.add_to_collection("mine", variable)
    return [variable.read_value() if b % 2 else tf.identity(variable)]


def _flow(made: Built, kind: str, a: int, b: int, c: int) -> Any:
    """Loops, conds and calls over a float tensor and another one that they take from outside."""
    floats = made.pools[tf.float32] or [tf.constant([1.0, -2.0, 3.0])]
    x, w = floats[b % len(floats)], floats[c % len(floats)]
    if kind == "complex":
        return [tf.complex(x, w)]
    if kind == "call":
        return [(_doubled if a % 2 else tf.function(lambda t: tf.where(t > 0.0, t, w)))(x)]

    def branch(t: Any) -> Any:
        return tf1.cond(tf.reduce_sum(t) > a % 7, lambda: t + w, lambda: tf.maximum(t, 1.0))

    def loop(t: Any, body: Callable[[Any], Any]) -> Any:
        return tf1.while_loop(lambda i, _: i < a % 4, lambda i, s: (i + 1, body(s)), [0, t])[1]

    with flow_version(kind[-2:]):
        if kind.startswith("while"):
            return [loop(x, lambda s: s * 0.5 + w)]
        if kind.startswith("cond"):
            return [branch(x)]
        return [loop(x, lambda s: branch(loop(s, lambda r: r - w)))]


@tf.function
def _doubled(t: Any) -> Any:
    return t + t


@contextmanager
def flow_version(version: str) -> Iterator[None]:
    """Builds loops and conds of ``v1`` or ``v2`` in the block."""
    before = tf1.control_flow_v2_enabled()
    (tf1.enable_control_flow_v2 if version == "v2" else tf1.disable_control_flow_v2)()
    try:
        yield
    finally:
        (tf1.enable_control_flow_v2 if before else tf1.disable_control_flow_v2)()


def tangle(size: int, seed: int) -> tuple[Any, list[Any], Any]:
    """A graph of random edges, ops with several outputs and readers among them."""
    random, graph = np.random.default_rng(seed), tf.Graph()
    with graph.as_default():
        pool = [tf1.placeholder(tf.float32, [4], name=f"x{i}") for i in range(3)]
        for _ in range(size):
            a, b = (pool[i] for i in random.integers(0, len(pool), 2))
            if random.integers(0, 4) == 0:
                low, high = tf.split(a, 2)
                pool += [tf.concat([low, high], 0), tf.concat([high, high], 0)]
            else:
                pool.append(tf.add(a, b) if random.integers(0, 2) else tf.negative(a))
    return graph, pool, random
