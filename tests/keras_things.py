"""What Keras keeps next to a graph, the doors out of a Keras model, and what becomes of each thing.

The cells are the data of the table in docs/guides/saving.md, which tools/write_whole_models.py writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import graphsurgeon as gs
from tests import whole_models
from tests.whole_models import KEPT, NAMED, NONE, REFUSED, Counts

layers = keras.layers
ROWS = np.random.RandomState(0).rand(4, 6).astype(np.float32)
IDS = np.array([[1, 2, 3, 0, 0, 0], [4, 5, 0, 0, 0, 0]], np.int32)


@keras.saving.register_keras_serializable("kept")
class Scaled(layers.Layer):
    """Scales its input, and adds a loss."""

    def __init__(self, by=2.0, **options):
        super().__init__(**options)
        self.by = by

    def build(self, shape):
        self.scale = self.add_weight(name="scale", shape=(shape[-1],), initializer="ones")

    def call(self, x):
        self.add_loss(keras.ops.sum(x) * 0.1)
        return x * self.scale * self.by

    def get_config(self):
        return {**super().get_config(), "by": self.by}


def chain(*steps, change=None):
    """Returns a model of these layers and a last one, after a change."""
    model = keras.Sequential([keras.Input((6,), name="x"), *steps, layers.Dense(2, name="head")])
    if change is not None:
        change(model.layers[0])
    return model


def dense(**options):
    return layers.Dense(8, name="body", **options)


def words(*steps):
    """Returns a model of words with a mask."""
    embedding = layers.Embedding(10, 4, mask_zero=True, name="emb")
    return keras.Sequential([keras.Input((6,), dtype="int32", name="ids"), embedding, *steps])


def freeze(layer):
    layer.trainable = False


def trained(model, x):
    """Returns the shapes of the weights that are trained, and the dtypes of all."""
    return sorted(tuple(w.shape) for w in model.trainable_weights), sorted(
        str(tf.as_dtype(w.dtype)) for w in model.weights
    )


def losses(model, x):
    model(x)
    return [round(float(loss), 5) for loss in model.losses]


def constraints(model, x):
    return [type(w.constraint).__name__ for w in model.weights if w.constraint is not None]


def calls(model, x):
    return [np.round(np.asarray(model(x)), 4).tolist() for _ in range(3)]


def mask(model, x):
    found = getattr(model(x), "_keras_mask", None)
    return None if found is None else np.asarray(found).tolist()


def in_training(model, x):
    """Returns whether training computes something else than inference."""
    return bool(np.abs(np.asarray(model(x, training=True)) - np.asarray(model(x))).max() > 1e-3)


@dataclass(frozen=True)
class Thing:
    """Something that Keras keeps next to the graph.

    Args:
        make: makes a model with it.
        probe: finds it in a model or layer.
        word: the word that names it in notes.
        x: the input of the model.
    """

    make: Any
    probe: Any
    word: str = ""
    x: Any = None


def built(thing):
    """Returns a model; its weights are always the same."""
    keras.utils.set_random_seed(0)
    return thing.make()


THINGS = {
    "frozen layers (`trainable = False`)": Thing(lambda: chain(dense(), change=freeze), trained),
    "the frozen kernel of a LoRA layer": Thing(lambda: chain(dense(), change=lambda one: one.enable_lora(2)), trained),
    "weights quantized to int8": Thing(lambda: chain(dense(), change=lambda one: one.quantize("int8")), trained),
    "states of seed generators, not trained": Thing(lambda: chain(dense(), layers.GaussianNoise(1.0, seed=1)), trained),
    "mixed precision": Thing(lambda: chain(dense(dtype="mixed_float16")), trained),
    "activity regularizers": Thing(lambda: chain(dense(activity_regularizer="l2")), losses),
    "losses of `add_loss`": Thing(lambda: chain(Scaled(name="body")), losses),
    "regularizers of weights": Thing(lambda: chain(dense(kernel_regularizer="l2")), losses),
    "constraints of weights": Thing(lambda: chain(dense(kernel_constraint="non_neg")), constraints),
    "constraints that no file can hold": Thing(
        lambda: chain(dense(kernel_constraint=lambda w: w)), constraints, "loses its constraint"
    ),
    "variables that each call changes": Thing(lambda: chain(Counts(name="body")), calls),
    "the results of custom layers": Thing(lambda: chain(Scaled(by=3.0, name="body")), calls),
    "masks inside": Thing(lambda: words(layers.LSTM(3, name="body")), calls, x=IDS),
    "the mask of the result": Thing(lambda: words(dense()), mask, "the mask of", IDS),
    "dropout and noise in training": Thing(
        lambda: chain(layers.Dropout(0.9, seed=1, name="body")), in_training, "'body'"
    ),
    "batch statistics in training": Thing(lambda: chain(layers.BatchNormalization(name="body")), in_training, "'body'"),
}  # fmt: skip


class Written(keras.Model):
    """A model that is written as a class: a new model has one layer for all of it."""

    def __init__(self, inner):
        super().__init__(name="written")
        self.inner = inner

    def call(self, x, training=False):
        return self.inner(x, training=training)


def layer(model, x, folder):
    """`keras_layer`."""
    made = gs.open(model).keras_layer()
    return made, made.notes


def rebuilt(model, x, folder):
    """`keras_model`, rebuilt layer."""
    whole = Written(model)
    whole.build((None, 6))
    spec = tf.TensorSpec([None, 6], tf.as_dtype(x.dtype), name="x")
    made = gs.open(whole, signature=spec).keras_model()
    assert [one.name for one in made.layers if one.weights] == ["rebuilt"]
    return made, made.surgery.notes


def kept(model, x, folder):
    """`keras_model`, kept layer."""
    made = gs.open(model).keras_model()
    return made, made.surgery.notes


def from_file(model, x, folder):
    """`keras_layer` of a `.keras` file."""
    model.save(folder / "model.keras")
    made = gs.open(folder / "model.keras").keras_layer()
    return made, made.notes


def loaded(model, x, folder):
    """`keras_layer`, saved and loaded."""
    made = gs.open(model).keras_layer()
    keras.Sequential([keras.Input(x.shape[1:], dtype=str(x.dtype)), made]).save(folder / "model.keras")
    again = keras.saving.load_model(folder / "model.keras").layers[-1]
    return again, again.notes


def out(name):
    """Returns a door of tests/whole_models.py."""

    def door(model, x, folder):
        result = whole_models.through(name, gs.open(model), folder)
        return result, result.notes

    door.__doc__, door.__name__ = f"{name}.", name.strip("`").partition("`")[0]
    return door


QUICK = (layer, rebuilt, out("`function`"))
DEEP = (kept, from_file, loaded, *map(out, whole_models.FILES))
DOORS = QUICK + DEEP


def title(door):
    return door.__doc__.removesuffix(".")


FILES = DOORS[-len(whole_models.FILES) :]
#: The words that name in the notes of a file or function what it does not have.
_WORDS = {
    losses: ("the losses of", "the regularizers of"),
    constraints: ("the constraints of",),
    mask: ("the masks of",),
}


def cell(name, door, folder):
    """Returns what becomes of a thing at a door, and what was found and noted."""
    thing = THINGS[name]
    x = ROWS if thing.x is None else thing.x
    want, words = thing.probe(built(thing), x), (thing.word,)
    try:
        made, notes = door(built(thing), x, folder)
    except gs.SurgeryError as error:
        return REFUSED, str(error)
    if isinstance(made, whole_models.Result):
        if thing.probe is in_training or (thing.probe is trained and made.door in ("`graph_def`, frozen", "`tflite`")):
            return NONE, notes  # it computes what the opened graph computes; it has no variables
        want, words = want[0] if thing.probe is trained else want, _WORDS.get(thing.probe, ())
        got = whole_models.trained(made)[0] if thing.probe is trained else None
        got = made.calls({next(iter(made.ed.inputs)): x}, 3) if thing.probe is calls else got
    else:
        got = thing.probe(made, x)
    named = any(word in note for note in notes for word in words if word)
    return NAMED if named and got != want else KEPT if got == want and not named else "lost", (got, want, notes)


#: What becomes of each thing: a word for each door.
_CELLS = {
    "frozen layers (`trainable = False`)": "kept kept kept kept kept kept kept kept kept – –",
    "the frozen kernel of a LoRA layer": "kept kept kept kept kept kept kept kept kept – –",
    "weights quantized to int8": "kept kept kept kept kept kept kept kept kept – refused",
    "states of seed generators, not trained": "kept kept kept kept kept kept kept kept kept – –",
    "mixed precision": "kept kept kept kept kept kept kept kept kept – refused",
    "activity regularizers": "kept kept named kept kept kept named named named named named",
    "losses of `add_loss`": "kept kept named kept kept kept named named named named named",
    "regularizers of weights": "kept kept named kept kept kept named named named named named",
    "constraints of weights": "kept kept named kept kept kept named named named named named",
    "constraints that no file can hold": "named named named kept refused named named named named named named",
    "variables that each call changes": "kept kept kept kept kept kept kept kept kept refused refused",
    "the results of custom layers": "kept kept kept kept kept kept kept kept kept kept kept",
    "masks inside": "kept kept kept kept kept kept kept kept kept kept refused",
    "the mask of the result": "named named named kept named named named named named named named",
    "dropout and noise in training": "named named – kept named named – – – – –",
    "batch statistics in training": "named named – kept named named – – – – –",
}
#: Thing -> a cell for each door.
CELLS = {thing: _CELLS[thing].split() for thing in THINGS}
