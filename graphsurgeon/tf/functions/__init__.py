"""Functions of graphs: calls, inlining, TF2 functions, Keras layers and models."""

from typing import TYPE_CHECKING

from ..import_tensorflow import lazy_modules

if TYPE_CHECKING:
    from . import (
        definitions,
        expand,
        graph_function,
        keras_layer,
        keras_model,
        layers,
        lower,
        trace,
    )
else:
    __getattr__ = lazy_modules(__name__)
