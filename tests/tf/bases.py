"""Sound graphs for the fuzz test to spoil: small ones of our own, that hold all kinds of things between them."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

from tests.corpus import Corpus
from tests.graphs import model, tf1
from tests.hostile import WRITING, hostile, with_asset
from tests.needs import ROOT, corpus_folder
from tests.random_graphs import DTYPES, KINDS, SCOPES, built
from tests.tf.mutate import Base
from tests.tf.zoo import cages

MOST_BYTES = 40_000
FINDS = ROOT / "tests" / "fuzz_corpus"


def own() -> list[Base]:
    """Returns the graphs of our own."""
    found = []
    for build in (shapes, loops, functions, branches, state, images, dtypes):
        graph = tf.Graph()
        with graph.as_default():
            tf1.set_random_seed(1)
            build()
        found.append(Base(build.__name__, _bytes(graph.as_graph_def())))
    for kind in ("ref", "resource"):
        net = model(kind, "momentum")
        found.append(Base(f"net_{kind}", _bytes(net.graph.as_graph_def())))
        with net.graph.as_default():
            tf1.train.Saver()
            meta = tf1.train.export_meta_graph()
        found.append(Base(f"meta_{kind}", _bytes(meta), "graph.meta"))
    meta.meta_info_def.tags.append("serve")
    found.append(Base("saved", _bytes(saved_model_pb2.SavedModel(meta_graphs=[meta])), "saved_model.pb"))
    text = text_format.MessageToString(tf1.GraphDef.FromString(found[1].data))
    found.append(Base("text", text.encode(), "graph.pbtxt"))
    return found


def zoo() -> list[Base]:
    """Returns graphs that hold an op of every type."""
    return [Base(f"zoo{i}", _bytes(cage)) for i, cage in enumerate(cages())]


def _bytes(proto: Any) -> bytes:
    return proto.SerializeToString(deterministic=True)


def real() -> list[Base]:
    """Returns the small graphs of the corpus; none where it is not there."""
    root, found = corpus_folder(), []
    corpus = Corpus(root) if root else None
    for id in corpus.ids(lambda item: item["kind"] in ("graphdef", "metagraph")) if corpus else ():
        path, item = corpus.path(id), corpus.item(id)
        if path.suffix == ".gz" or path.stat().st_size > MOST_BYTES:
            continue
        if item["encoding"] == "binary":
            found.append(Base(id, path.read_bytes(), "graph.meta" if item["kind"] == "metagraph" else "graph.pb"))
        elif item["encoding"] == "text":
            found.append(Base(id, _bytes(text_format.Parse(path.read_text(), tf1.GraphDef()))))
    return found


def saved() -> list[Base]:
    """Returns SavedModels, with signatures and objects, without their variables: ours, and small ones of the corpus."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in WRITING:
            found.append((f"hostile_{name}", hostile(Path(folder) / name, name, Path(folder) / "never")))
        found.append(("asset", with_asset(Path(folder) / "asset", "")))
        served = tf.Module()
        served.w = tf.Variable([[1.0], [2.0]], name="w")
        served.step = tf.function(lambda x: x @ served.w, input_signature=[tf.TensorSpec([None, 2], name="x")])
        tf.saved_model.save(served, str(Path(folder) / "module"), {"step": served.step})
        found.append(("module", Path(folder) / "module"))
        root = corpus_folder()
        corpus = Corpus(root) if root else None
        small = corpus.ids(lambda item: item["kind"] == "savedmodel") if corpus else ()
        found += [(id, Path(corpus.path(id))) for id in small]
        files = [(name, path / "saved_model.pb" if path.is_dir() else path) for name, path in found]
        return [
            Base(name, path.read_bytes(), "saved_model.pb")
            for name, path in files
            if path.suffix == ".pb" and path.exists() and path.stat().st_size <= MOST_BYTES
        ]


def generated() -> list[Base]:
    """Returns random graphs, the same ones each time."""
    found = []
    for seed in range(60):
        rng = random.Random(seed)
        feeds = [rng.randrange(len(DTYPES)) for _ in range(rng.randint(1, 3))]
        steps = [
            (rng.choice(KINDS), rng.choice(SCOPES), *(rng.randrange(1000) for _ in range(3)), [])
            for _ in range(rng.randint(4, 16))
        ]
        try:
            graph = built((feeds, steps)).graph
        except (ValueError, TypeError):  # the steps do not go together: a graph less
            continue
        with graph.as_default():
            meta = tf1.train.export_meta_graph()
        if seed % 3:
            found.append(Base(f"generated{seed}", _bytes(meta.graph_def)))
        else:
            found.append(Base(f"generated{seed}", _bytes(meta), "graph.meta"))
    return found


GROUPS = {"own": own, "real": real, "zoo": zoo, "saved": saved, "generated": generated}


def shapes() -> None:
    """Computes sizes from sizes: TensorFlow does that sum while it imports."""
    x = tf1.placeholder(tf.float32, [None, 6], name="x")
    size = tf.shape(x, name="size")
    rows = tf.strided_slice(size, [0], [1], shrink_axis_mask=1, name="rows")
    tf.reshape(x, tf.stack([rows, 2, 3]), name="stacked")
    tf.fill(tf.concat([size, [3]], 0), 1.0, name="filled")
    tf.fill(tf.cast(tf.cast(size, tf.int64), tf.int32), 1.0, name="cast")
    numbers = tf.range(2, 10, 3, name="numbers")
    tf.fill(tf.reduce_max(numbers, keepdims=True), 1.0, name="folded")
    tf.fill(tf.raw_ops.Tile(input=tf.constant([2]), multiples=tf.constant([3])), 1.0, name="tiled")
    tf.one_hot(numbers, 5, name="hot")
    tf.transpose(x, [1, 0], name="turned")
    tf.split(x, 3, axis=1, name="parts")
    tf.pad(x, [[1, 1], [0, 2]], name="padded")
    tf.linspace(0.0, 1.0, 5, name="line")
    tf.broadcast_to(tf.constant(1.0), [3, 4], name="broad")
    tf.gather(x, numbers, axis=1, name="some")
    tf.reverse(x, [1], name="back")
    tf.squeeze(tf.expand_dims(x, 1), [1], name="same")
    tf.add_n([x, x, x], name="sum")
    tf.reduce_sum(tf.linalg.diag(x), axis=[0, -1], name="all")
    tf.tensor_scatter_nd_update(tf.zeros([4, 2]), [[1]], [[1.0, 2.0]], name="scattered")
    tf.random.uniform(tf.stack([rows, 2]), name="noise")


def loops() -> None:
    """Loops and conditions as TF1 writes them, with their gradient."""
    with _control_flow(version=1):
        x = tf1.placeholder(tf.float32, [3], name="x")
        array = tf1.TensorArray(tf.float32, 4, element_shape=[3], clear_after_read=False)

        def body(i: Any, v: Any, a: Any) -> Any:
            v = tf1.cond(i > 1, lambda: v * 2.0, lambda: tf.tanh(v))
            return i + 1, v, a.write(i, v)

        _, y, array = tf1.while_loop(lambda i, *_: i < 4, body, [0, x, array], name="loop")
        z = tf.reduce_sum(array.stack() + y, name="z")
        tf1.gradients(z, x)


def functions() -> None:
    """Calls of functions that call functions."""
    f32 = tf.float32

    @tf.function(input_signature=[tf.TensorSpec([None], f32)])
    def inner(v: Any) -> Any:
        return tf.square(v, name="square") + 1.0

    @tf.function(input_signature=[tf.TensorSpec([None], f32)])
    def outer(v: Any) -> Any:
        return inner(inner(v)) * 2.0

    x = tf1.placeholder(f32, [None], name="x")
    y = tf.identity(outer(x), name="y")
    tf.map_fn(lambda v: v + 1.0, y, name="each")
    data = tf.data.Dataset.range(4).map(lambda v: v * 2)
    tf1.data.make_one_shot_iterator(data).get_next(name="next")


def branches() -> None:
    """Loops and conditions as TF2 writes them."""
    with _control_flow(version=2):
        x = tf1.placeholder(tf.float32, [], name="x")
        y = tf.cond(x > 0.0, lambda: x * 2.0, lambda: tf.while_loop(lambda v: v < 9.0, lambda v: (v + 1.0,), [x])[0])
        z = tf.switch_case(tf.cast(y, tf.int32), [lambda: y, lambda: y + 1.0], name="case")
        tf1.gradients(z, x)


@contextmanager
def _control_flow(version: int) -> Iterator[None]:
    before = tf1.control_flow_v2_enabled()
    (tf1.enable_control_flow_v2 if version == 2 else tf1.disable_control_flow_v2)()
    try:
        yield
    finally:
        (tf1.enable_control_flow_v2 if before else tf1.disable_control_flow_v2)()


def state() -> None:
    """Queues, tables, iterators, variables, files."""
    keys, values = tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64)
    table = tf1.lookup.StaticHashTable(tf1.lookup.KeyValueTensorInitializer(keys, values), -1, name="table")
    table.lookup(tf1.placeholder(tf.string, [None], name="words"))
    queue = tf1.FIFOQueue(4, [tf.float32], [[2]], name="queue")
    queue.enqueue([[1.0, 2.0]], name="put")
    queue.dequeue(name="get")
    v = tf1.get_variable("v", [2, 2], initializer=tf1.glorot_uniform_initializer(seed=1), use_resource=True)
    w = tf1.get_variable("w", [4], partitioner=tf1.fixed_size_partitioner(2), use_resource=False)
    with tf1.control_dependencies([v.assign_add([[1.0, 1.0], [1.0, 1.0]])]), tf1.device("/cpu:0"):
        tf.reduce_sum(v.read_value(), name="after")
    tf.nn.embedding_lookup(v, [0, 1], name="rows")
    tf.identity(w, name="joined")
    tf.io.decode_csv(tf1.placeholder(tf.string, [None]), [[0], [0.0]], name="csv")
    tf.io.parse_single_example(tf1.placeholder(tf.string, []), {"a": tf.io.FixedLenFeature([2], tf.float32)})


def images() -> None:
    """Ops with many attributes and shape rules of their own."""
    x = tf1.placeholder(tf.float32, [2, 8, 8, 3], name="x")
    w = tf.constant(np.linspace(0, 1, 3 * 3 * 3 * 4, dtype=np.float32).reshape(3, 3, 3, 4))
    y = tf.nn.conv2d(x, w, [1, 2, 2, 1], "SAME", name="conv")
    y = tf.nn.relu(tf.nn.bias_add(y, tf.zeros([4])), name="relu")
    y, _, _ = tf1.nn.fused_batch_norm(y, tf.ones([4]), tf.zeros([4]), name="norm")
    y = tf.nn.max_pool2d(y, 2, 2, "VALID", name="pool")
    tf.nn.conv2d_transpose(y, tf.zeros([2, 2, 5, 4]), [2, 4, 4, 5], 2, name="up")
    tf.nn.depthwise_conv2d(x, tf.zeros([2, 2, 3, 2]), [1, 1, 1, 1], "VALID", name="depth")
    tf.image.resize(x, [4, 4], name="small")
    tf.nn.space_to_depth(x, 2, name="space")
    tf.nn.space_to_batch(x, [2, 2], [[0, 0], [0, 0]], name="batch")
    tf.image.extract_patches(x, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID", name="patches")
    tf.einsum("nhwc,cd->nhwd", x, tf.zeros([3, 2]), name="product")
    tf.nn.top_k(tf.reshape(y, [2, -1]), 3, name="best")
    tf.quantization.fake_quant_with_min_max_args(x, name="quantised")
    logits = tf.reduce_mean(y, [1, 2], name="mean")
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=[0, 1])
    tf1.gradients(loss, x)


def dtypes() -> None:
    """Constants of every dtype, and strings, sparse and ragged tensors."""
    for dtype in (tf.float16, tf.bfloat16, tf.float64, tf.int8, tf.uint16, tf.int64, tf.bool, tf.complex64, tf.uint64):
        tf.constant(np.ones((2, 3)), dtype, name=f"c_{dtype.name}")
        tf.cast(tf.constant([1, 0]), dtype, name=f"cast_{dtype.name}")
    text = tf.constant([["a", "bc"], ["", "é"]], name="text")
    tf.strings.join([text, text], name="joined")
    tf.strings.split(tf.constant(["a b", "c"]), name="split").to_tensor(name="dense")
    tf.strings.substr(text, 0, 1, name="first")
    tf.sparse.to_dense(tf.sparse.SparseTensor([[0, 1]], [1.0], [2, 3]), name="dense")
    tf.ragged.constant([[1, 2], [3]]).to_tensor(name="padded")
    tf.bitcast(tf.constant([1.0]), tf.int32, name="bits")
    tf.unique(tf.constant([1, 1, 2]), name="unique")
    tf.where(tf.constant([True, False]), name="where")
    tf.raw_ops.Assert(condition=tf1.placeholder(tf.bool, [], name="sure"), data=[text], name="check")
    tf.print("a", tf.constant(1.0))


def finds() -> list[Base]:
    """Returns the files that have once done harm, as the fuzzer has kept them."""
    known = json.loads((FINDS / "finds.json").read_text())
    return [
        Base(name, (FINDS / name).read_bytes(), one["file"], one["seed"], tuple(one["stages"]))
        for name, one in sorted(known.items())
    ]
