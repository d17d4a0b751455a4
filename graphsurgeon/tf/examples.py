"""Examples: small models that are built and trained in seconds, and written as files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .import_tensorflow import tf, without_log_warnings
from .private.eager import eager, keras_2_layers, keras_2_sequential, write_keras_2
from .protos import empty_graph
from .run.sessions import session_of

tf1 = tf.compat.v1
STEPS, BATCH = 120, 64


def classifier(path: Path) -> str:
    """Writes the trained classifier as a SavedModel folder of Keras 2."""
    with eager():
        model = _network()
        model.set_weights(_trained_weights())
    write_keras_2(model, path)
    return str(path)


def _network() -> Any:
    """Returns the classifier, not trained; to be called eagerly."""
    layers = keras_2_layers()
    steps = [
        layers.Conv2D(8, 3, activation="relu", name="conv1"),
        layers.MaxPooling2D(2, name="pool"),
        layers.Conv2D(16, 3, activation="relu", name="conv2"),
        layers.GlobalMaxPooling2D(name="features"),
        layers.Dense(4, activation="softmax", name="scores"),
    ]
    return keras_2_sequential(steps, (16, 16, 1), "classifier")


@cache
def _trained_weights() -> list[Any]:
    """Returns the weights of the classifier, trained by gradient descent with momentum."""
    images, labels = pictures()
    random = np.random.RandomState(0)
    with eager():
        model = _network()
        weights = model.trainable_variables
        for w in weights:
            scale = np.sqrt(2.0 / max(1, np.prod(w.shape[:-1]))) if len(w.shape) > 1 else 0.0
            w.assign(random.normal(0.0, 1.0, w.shape) * scale)
        moments = [tf.Variable(tf.zeros_like(w)) for w in weights]

        def step(x: Any, y: Any) -> None:
            with tf.GradientTape() as tape:
                right = tf.gather(model(x), y, axis=1, batch_dims=1)
                loss = -tf.reduce_mean(tf.math.log(right + 1e-7))
            for w, moment, gradient in zip(weights, moments, tape.gradient(loss, weights), strict=True):
                moment.assign(0.9 * moment + gradient)
                w.assign_sub(0.03 * moment)

        fast = tf.function(step)
        for batch in _batches(images, labels):
            fast(*batch)
        return [w.numpy() for w in weights]


def _batches(images: Any, labels: Any) -> Iterator[tuple[Any, Any]]:
    """Yields the images and labels of each training step."""
    for start in range(0, STEPS * BATCH, BATCH):
        part = slice(start % len(images), start % len(images) + BATCH)
        yield images[part], labels[part]


def frozen(path: Path) -> str:
    """Writes the trained classifier as a frozen graph for a batch of one."""
    weights = iter(_trained_weights())
    with empty_graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [1, 16, 16, 1], name="image")
        for name in ("conv1", "conv2"):
            with tf.name_scope(name):
                x = tf.nn.conv2d(x, tf.constant(next(weights), name="kernel"), 1, "VALID", name="conv")
                x = tf.nn.relu(tf.nn.bias_add(x, tf.constant(next(weights), name="bias")), name="relu")
            if name == "conv1":
                x = tf.nn.max_pool2d(x, 2, 2, "VALID", name="pool")
        x = tf.reshape(tf.reduce_max(x, [1, 2], name="max"), [1, 16], name="features")
        x = tf.matmul(x, tf.constant(next(weights), name="head/kernel"), name="head/product")
        x = tf.nn.bias_add(x, tf.constant(next(weights), name="head/bias"), name="logits")
        tf.nn.softmax(x, name="scores")
    return _write(graph.as_graph_def(), path)


def training(path: Path) -> str:
    """Writes a trained TF1 training graph with its checkpoint."""
    images, labels = pictures()
    with empty_graph().as_default() as graph:
        tf1.set_random_seed(0)
        image = tf1.placeholder(tf.float32, [None, 16, 16, 1], name="image")
        label = tf1.placeholder(tf.int32, [None], name="label")
        x = image
        for name, count in (("block1", 8), ("block2", 16)):
            with tf1.variable_scope(name):
                kernel = _variable("kernel", [3, 3, x.shape[-1], count])
                x = tf.nn.conv2d(x, kernel, 2, "SAME", name="conv")
                ones, zeros = (tf1.get_variable(n, initializer=tf.fill([count], v))
                               for n, v in (("scale", 1.0), ("offset", 0.0)))  # fmt: skip
                x, _, _ = tf1.nn.fused_batch_norm(
                    x, ones, zeros, [0.1] * count, [1.0] * count, is_training=False, name="norm"
                )
                x = tf.nn.relu(x, name="relu")
        x = tf.reduce_max(x, [1, 2], name="features")
        x = tf.nn.dropout(x, rate=0.1, name="dropout")
        with tf1.variable_scope("head"):
            logits = tf.matmul(x, _variable("kernel", [16, 4]), name="logits")
        tf.nn.softmax(logits, name="scores")
        entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits, name="entropy")
        loss = tf.reduce_mean(entropy, name="loss")
        tf1.summary.scalar("summary", loss)
        train = tf1.train.AdamOptimizer(0.02).minimize(loss, name="train")
        with tf.control_dependencies([train]):
            averages = tf1.train.ExponentialMovingAverage(0.9).apply(tf1.trainable_variables())
        with session_of(graph) as session:
            session.run(tf1.global_variables_initializer())
            for batch in _batches(images, labels):
                session.run(averages, dict(zip((image, label), batch, strict=True)))
            return _save_graph(session, path)


def _variable(name: str, shape: list[Any]) -> Any:
    """Returns a variable of TF1 whose initial value does not depend on the op before it."""
    start = np.random.RandomState(len(shape)).normal(0.0, 0.3, shape).astype(np.float32)
    return tf1.get_variable(name, initializer=start)


def detector(path: Path) -> str:
    """Writes a frozen detector with random weights."""
    random = np.random.RandomState(0)

    def weights(*shape: int) -> Any:
        return tf.constant(random.normal(0.0, 0.4, shape).astype(np.float32), name="kernel")

    with empty_graph().as_default() as graph:
        image = tf1.placeholder(tf.uint8, [1, None, None, 3], name="image")
        with tf.name_scope("preprocess"):
            x = tf.raw_ops.ResizeBilinear(images=image, size=[32, 32], name="resize")
        x = tf.multiply(x, 1 / 255, name="scaled")
        for name, shape in (("conv1", (3, 3, 3, 8)), ("conv2", (3, 3, 8, 16))):
            with tf.name_scope(name):
                x = tf.nn.relu(tf.nn.conv2d(x, weights(*shape), 2, "SAME", name="conv"), name="relu")
        with tf.name_scope("heads"):
            locations = tf.reshape(tf.nn.conv2d(x, weights(1, 1, 16, 4), 1, "SAME", name="place"), [64, 4])
            classes = tf.reshape(tf.nn.conv2d(x, weights(1, 1, 16, 1), 1, "SAME", name="class"), [64])
        grid = np.stack(np.meshgrid(np.arange(8), np.arange(8), indexing="ij"), -1).reshape(64, 2) / 8
        anchors = np.concatenate([grid, grid + 0.25], 1).astype(np.float32)
        boxes = tf.add(tf.tanh(locations) * 0.1, tf.constant(anchors, name="anchors"), name="boxes")
        scores = tf.sigmoid(classes, name="scores")
        with tf.name_scope("nms"):
            indices = tf.image.non_max_suppression(boxes, scores, 5, name="kept")
        tf.gather(boxes, indices, name="detections")
        tf.gather(scores, indices, name="detection_scores")
    return _write(graph.as_graph_def(), path)


def transformer(path: Path) -> str:
    """Writes a transformer block as a Keras file."""
    keras: Any = import_module("keras")
    layers = keras.layers
    with eager():
        tokens = keras.Input([12], dtype="int32", name="tokens")
        x = layers.Embedding(50, 16, name="embedding")(tokens)
        attention = layers.MultiHeadAttention(2, 8, name="attention")(x, x)
        x = layers.LayerNormalization(name="norm1")(layers.Add(name="sum1")([x, attention]))
        wide = layers.Dense(32, "relu", name="wide")(x)
        x = layers.Add(name="sum2")([x, layers.Dense(16, name="narrow")(wide)])
        x = layers.GlobalAveragePooling1D(name="pool")(layers.LayerNormalization(name="norm2")(x))
        model = keras.Model(tokens, layers.Dense(4, name="logits")(x), name="transformer")
        random = np.random.RandomState(0)
        for w in model.weights:
            if len(w.shape) > 1:  # the others start at 0 or 1
                w.assign(random.normal(0.0, 0.2, w.shape))
        model.save(path)
    return str(path)


def nan_loss(path: Path) -> str:
    """Writes a TF1 training graph whose loss is NaN, with its checkpoint."""
    with empty_graph().as_default() as graph:
        image = tf1.placeholder(tf.float32, [None, 8], name="image")
        label = tf1.placeholder(tf.float32, [None, 1], name="label")
        w = tf1.get_variable("kernel", initializer=np.full([8, 1], 50.0, np.float32))
        probability = tf.sigmoid(tf.matmul(image, w, name="logits"), name="probability")
        with tf.name_scope("entropy"):
            yes = tf.multiply(label, tf.math.log(probability, name="log_yes"), name="yes")
            no = tf.multiply(1.0 - label, tf.math.log(1.0 - probability, name="log_no"), name="no")
        loss = tf.negative(tf.reduce_mean(yes + no, name="mean"), name="loss")
        tf1.train.MomentumOptimizer(0.1, 0.9).minimize(loss, name="train")
        with session_of(graph) as session:
            session.run(tf1.global_variables_initializer())
            return _save_graph(session, path)


TOWERS, GROUPS, BLOCKS, WIDTH = 8, 5, 30, 8


def large(path: Path) -> str:
    """Writes a graph of about 40,000 ops: one block is built, and its nodes are written under other names."""
    half = (5, 2, 3)
    block, odd = _block(False), _block(True)
    with empty_graph().as_default() as graph:
        features = tf1.placeholder(tf.float32, [None, WIDTH], name="features")
        tf.divide(tf.add_n([features] * TOWERS, name="sum"), TOWERS, name="scores")
    out = graph.as_graph_def()
    outputs = []
    for tower in range(TOWERS):
        output = "features"
        for group in range(GROUPS):
            for number in range(BLOCKS):
                scope = f"tower_{tower}/group_{group}/block_{number}/"
                for node in (odd if (tower, group, number) == half else block).node:
                    if node.name != "x":
                        new = out.node.add()
                        new.CopyFrom(node)
                        new.name = scope + node.name
                        new.input[:] = [output if name == "x" else scope + name for name in node.input]
                output = f"{scope}sum"
        outputs.append(output)
    next(node for node in out.node if node.name == "sum").input[:] = outputs
    return _write(out, path)


def _block(half: bool) -> Any:
    """Returns the nodes of a residual block on an input ``x``."""
    random = np.random.RandomState(0)
    with empty_graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, WIDTH], name="x")
        hidden = x
        for name in ("first", "second"):
            with tf.name_scope(name):
                mean, variance = tf.nn.moments(hidden, [1], keepdims=True, name="moments")
                hidden = tf.nn.batch_normalization(hidden, mean, variance, None, None, 1e-3, name="norm")
                hidden = tf.nn.relu(hidden, name="relu")
                kernel = random.normal(0.0, 0.1, [WIDTH, WIDTH]).astype(np.float32)
                hidden = tf.matmul(hidden, tf.constant(kernel, name="kernel"), name="product")
        if half:
            hidden = tf.cast(tf.cast(hidden, tf.float16, name="half"), tf.float32, name="single")
        tf.add(x, hidden, name="sum")
    return graph.as_graph_def()


def _write(graph_def: Any, path: Path) -> str:
    path.write_bytes(graph_def.SerializeToString(deterministic=True))
    return str(path)


def _save_graph(session: Any, path: Path) -> str:
    """Writes the graph of a session, with its checkpoint, and returns the path of the ``.meta`` file."""
    with without_log_warnings():
        tf1.train.Saver().save(session, str(path.with_suffix("")), write_state=False)
    return str(path)


def pictures(count: int = 512, seed: int = 0) -> tuple[Any, Any]:
    """Returns noisy images of rows, columns, diagonals and crosses, and their labels."""
    random = np.random.RandomState(seed)
    labels, at = random.randint(0, 4, count), random.randint(2, 14, [count, 1, 1])
    i = np.arange(16)
    row, column = np.broadcast_arrays(abs(i[:, None] - at) < 2, abs(i - at) < 2)
    diagonal = abs(i[:, None] - i - at // 2 + 4) < 2
    shapes = np.stack([row, column, diagonal, row | column]).astype(np.float32)
    images = shapes[labels, np.arange(count)] + random.normal(0.0, 0.3, [count, 16, 16])
    return images[..., None].astype(np.float32), labels.astype(np.int32)
