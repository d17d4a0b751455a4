"""Models as people write them today, small: of keras.applications, transformers, text, nested, compiled, by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

RANDOM = np.random.RandomState(0)
IMAGES = RANDOM.rand(2, 32, 32, 3).astype(np.float32)
ROWS = RANDOM.rand(4, 3).astype(np.float32)
TOKENS = np.array([[1, 2, 3, 0, 0], [4, 5, 6, 7, 0], [8, 1, 0, 0, 0]], np.int32)
WORDS = np.array(["a b", "c", "b c a x"])
registered = keras.saving.register_keras_serializable("models")


@dataclass(frozen=True)
class Kind:
    """One kind of model.

    Args:
        build: makes it, always with the same weights.
        feeds: argument -> array.
        middle: the layer, or the tensor, at which it is cut.
        part: of a model that does not say how its layers are connected: the model -> a function that computes the
            middle.
        near: how near its numbers come to each other; computed in float16 they are rougher.
    """

    build: Callable[[], Any]
    feeds: dict[str, Any]
    middle: str
    part: Callable[[Any], Callable[..., Any]] | None = None
    near: float = 1e-5

    def make(self) -> Any:
        """Returns a new model; its layers are called as if they were the first of the process."""
        keras.backend.clear_session()
        keras.utils.set_random_seed(1)
        return self.build()

    def given(self, feeds: dict[str, Any] | None = None) -> Any:
        """Returns what the model is called with."""
        feeds = {name: tf.constant(value) for name, value in (feeds or self.feeds).items()}
        return feeds if len(feeds) > 1 else next(iter(feeds.values()))

    def first_half(self, model: Any) -> Callable[..., Any]:
        """Returns what computes the middle, with the variables of the model; it is called as the model is."""
        if self.part is not None:
            return self.part(model)
        return keras.Model(model.input, model.get_layer(self.middle).output)


def arrays(found: Any) -> list[np.ndarray]:
    """Returns tensors in any structure as a list of arrays."""
    return [np.asarray(value) for value in tf.nest.flatten(found)]


def step(f: Callable[..., Any], variables: Any, given: Any, **about: Any) -> float:
    """Takes one step down the gradient of the mean squares of what a function gives; returns their sum before it.

    Args:
        f: the function; `given` and `about` are its arguments.
        variables: what it is trained in; those that it does not use stay as they are.
    """
    held = [one.value if isinstance(one, keras.Variable) else one for one in variables]
    with tf.GradientTape() as tape:
        loss = tf.add_n([tf.reduce_mean(tf.cast(y, tf.float32) ** 2) for y in tf.nest.flatten(f(given, **about))])
    for one, slope in zip(held, tape.gradient(loss, held), strict=True):
        if slope is not None:
            one.assign_sub(0.1 * tf.convert_to_tensor(slope))
    return float(loss)


def application() -> Any:
    """The first layers of a model of keras.applications under a new head."""
    known = keras.applications.MobileNet((32, 32, 3), alpha=0.25, include_top=False, weights=None)
    x = layers.GlobalAveragePooling2D(name="pool")(known.get_layer("conv_pw_4_relu").output)
    x = layers.Dropout(0.2, seed=1, name="drop")(x)
    return keras.Model(known.input, layers.Dense(3, name="head")(x), name="mobile")


@registered
class Embedded(layers.Layer):
    """Tokens and where they stand, as vectors; zeros are no tokens."""

    def __init__(self, tokens: int, length: int, width: int, **about: Any) -> None:
        super().__init__(**about)
        self.sizes = {"tokens": tokens, "length": length, "width": width}
        self.words = layers.Embedding(tokens, width, mask_zero=True, name="words")
        self.places = layers.Embedding(length, width, name="places")
        self.supports_masking = True

    def call(self, ids: Any) -> Any:
        return self.words(ids) + self.places(tf.range(tf.shape(ids)[1]))

    def compute_mask(self, ids: Any, mask: Any = None) -> Any:
        return self.words.compute_mask(ids)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self.sizes}


@registered
class Encoder(layers.Layer):
    """One layer of a transformer: attention and a small net, each with a way past it."""

    def __init__(self, heads: int, width: int, **about: Any) -> None:
        super().__init__(**about)
        self.sizes = {"heads": heads, "width": width}
        self.attention = layers.MultiHeadAttention(heads, width // heads, dropout=0.1, name="attention")
        self.norms = [layers.LayerNormalization(name=f"norm_{i}") for i in range(2)]
        self.net = [layers.Dense(2 * width, "gelu", name="up"), layers.Dense(width, name="down")]
        self.supports_masking = True

    def call(self, x: Any, mask: Any = None, training: bool = False) -> Any:
        seen = mask[:, None, :] if mask is not None else None
        x = self.norms[0](x + self.attention(x, x, attention_mask=seen, training=training))
        return self.norms[1](x + self.net[1](self.net[0](x)))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self.sizes}


def transformer() -> Any:
    ids = keras.Input((None,), dtype="int32", name="ids")
    x = Embedded(9, 6, 8, name="embedded")(ids)
    for i in range(2):
        x = Encoder(2, 8, name=f"encoder_{i}")(x)
    x = layers.GlobalAveragePooling1D(name="pooler")(x)
    return keras.Model(ids, layers.Dense(3, name="head")(x), name="transformer")


def recurrent() -> Any:
    ids = keras.Input((5,), dtype="int32", name="ids")
    x = layers.Embedding(9, 4, mask_zero=True, name="words")(ids)
    x = layers.LSTM(4, return_sequences=True, name="lstm")(x)
    x = layers.Bidirectional(layers.GRU(3, name="gru"), name="both_ways")(x)
    return keras.Model(ids, layers.Dense(2, name="head")(x), name="recurrent")


def preprocessing() -> Any:
    inputs = {
        "text": keras.Input((), dtype="string", name="text"),
        "kind": keras.Input((1,), dtype="string", name="kind"),
        "sizes": keras.Input((3,), name="sizes"),
    }
    vectorize = layers.TextVectorization(output_sequence_length=4, vocabulary=["a", "b", "c"], name="vectorize")
    scale = layers.Normalization(name="scale")
    scale.adapt(ROWS)
    words = layers.GlobalAveragePooling1D(name="mean")(layers.Embedding(6, 3, name="words")(vectorize(inputs["text"])))
    which = layers.StringLookup(vocabulary=["cat", "dog"], output_mode="one_hot", name="which")(inputs["kind"])
    x = layers.Concatenate(name="all")([words, which, scale(inputs["sizes"])])
    return keras.Model(inputs, layers.Dense(2, name="head")(layers.Dense(4, "relu", name="body")(x)), name="table")


@registered
class Written(keras.Model):
    """A model that is written as a class."""

    def __init__(self, **about: Any) -> None:
        super().__init__(**about)
        self.body = [layers.Dense(4, name=f"body_{i}") for i in range(2)]
        self.norm = layers.BatchNormalization(name="norm")
        self.head = layers.Dense(2, name="head")

    def middle(self, x: Any, training: bool = False) -> Any:
        for layer in self.body:
            x = keras.activations.tanh(layer(x))
        return self.norm(x, training=training)

    def call(self, x: Any, training: bool = False) -> Any:
        x = self.middle(x, training)
        return {"scores": self.head(x), "inner": x}


def written() -> Any:
    model = Written(name="written")
    model(ROWS)
    return model


def nested() -> Any:
    steps = [keras.Input((3,)), layers.Dense(4, "relu", name="deep"), layers.BatchNormalization(name="norm")]
    tower = keras.Sequential(steps, name="tower")
    image = keras.Input((3,), name="row")
    inner = keras.Model(image, [tower(image), layers.Dense(4, name="side")(image)], name="inner")
    left, right = keras.Input((3,), name="left"), keras.Input((3,), name="right")
    (one, first), (two, second) = inner(left), inner(right)
    apart = layers.Subtract(name="apart")([one, two])
    ends = [layers.Dense(2, name="head")(apart), layers.Add(name="sum")([first, second])]
    return keras.Model([left, right], ends, name="nested")


def mixed() -> Any:
    half = {"dtype": "mixed_float16"}
    image = keras.Input((32, 32, 3), name="image")
    x = layers.Conv2D(4, 3, strides=4, use_bias=False, name="conv", **half)(image)
    x = layers.ReLU(name="relu", **half)(layers.BatchNormalization(name="norm", **half)(x))
    x = layers.GlobalAveragePooling2D(name="pool", **half)(x)
    return keras.Model(image, layers.Dense(2, name="head", dtype="float32")(x), name="mixed")


@registered
class Compiled(layers.Layer):
    """A layer with a function that XLA compiles."""

    def build(self, shape: Any) -> None:
        self.w = self.add_weight(shape=(shape[-1],), initializer="ones", name="w")
        self.f = tf.function(lambda x: tf.nn.softplus(x * self.w), jit_compile=True)

    def call(self, x: Any) -> Any:
        return self.f(x)


def compiled() -> Any:
    row = keras.Input((3,), name="row")
    x = Compiled(name="compiled")(layers.Dense(4, name="body")(row))
    return keras.Model(row, layers.Dense(2, name="head")(x), name="xla")


class Rounds(tf.Module):
    """Python's own loops and conditions, which autograph makes into ops."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(np.linspace(-1.0, 1.0, 9, dtype=np.float32).reshape(3, 3), name="w")
        self.b = tf.Variable([0.1, 0.2, 0.3], name="b")

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="row")])
    def __call__(self, x: Any) -> Any:
        return tf.matmul(self.middle(x), self.w, name="product")

    def middle(self, x: Any, training: bool = False) -> Any:
        kept = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[None, 3])
        for i in tf.range(9):
            x = tf.tanh(tf.matmul(x, self.w) + self.b)
            if i % 2 == 0:
                x = x * 2.0
            kept = kept.write(i, x)
            if tf.reduce_sum(x) > 100.0 or i == 5:
                break
        while tf.reduce_max(x) > 1.0:
            x = x / 2.0
        return tf.add(x, tf.reduce_mean(kept.stack(), 0), name="middle")


KINDS = {
    "application": Kind(application, {"image": IMAGES}, "conv_pw_2_relu"),
    "transformer": Kind(transformer, {"ids": TOKENS}, "encoder_0"),
    "recurrent": Kind(recurrent, {"ids": TOKENS}, "lstm"),
    "preprocessing": Kind(
        preprocessing, {"text": WORDS, "kind": np.array([["cat"], ["eel"], ["dog"]]), "sizes": ROWS[:3]}, "body"
    ),
    "written as a class": Kind(written, {"x": ROWS}, "norm", lambda model: model.middle),
    "nested": Kind(nested, {"left": ROWS, "right": ROWS[::-1].copy()}, "apart"),
    "mixed precision": Kind(mixed, {"image": IMAGES}, "relu", near=3e-3),
    "compiled": Kind(compiled, {"row": ROWS}, "compiled"),
    "autograph": Kind(Rounds, {"row": ROWS}, "middle:0", lambda model: tf.function(model.middle)),
}
