"""Keras 2: its layers, which TensorFlow contains for its own tests, and its writer of SavedModel folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tensorflow.python import keras
from tensorflow.python.keras import layers as layers
from tensorflow.python.keras import models

from ..importing import without_log_warnings
from .eager import eager

VERSION = "2.6.0"
"""The version of Keras 2 that TensorFlow contains."""


def sequential(steps: Any, shape: tuple[int, ...], name: str) -> Any:
    """Returns a sequential model of layers of Keras 2; call it eagerly.

    Args:
        steps: the layers.
        shape: the shape of the input, ``image``, without the batch.
        name: the name of the model.
    """
    x = y = layers.Input(shape, name="image")
    for step in steps:
        y = step(y)
    return models.Model(x, y, name=name)


def write(model: Any, folder: Path) -> None:
    """Writes a model of Keras 2 as a SavedModel folder.

    Args:
        model: the model.
        folder: the folder, which is replaced.
    """
    missing = not hasattr(keras, "__version__")
    if missing:  # the writer stores the version of Keras in its file
        keras.__version__ = VERSION
    try:
        with without_log_warnings(), eager():  # the writer logs a warning if the model is not compiled
            model.save(folder, save_format="tf", include_optimizer=False)
    finally:
        if missing:
            del keras.__version__
