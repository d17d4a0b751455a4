"""Types for the arguments of public functions, without an import of TensorFlow."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Protocol

from numpy.typing import ArrayLike


class Named(Protocol):
    """An object with a name: an op, tensor or variable of TensorFlow, an `OpView`, or a layer."""

    @property
    def name(self) -> str:
        """Returns its name."""


#: An op, by name or object. For a tensor, its op; for a layer, the op that computes its output.
OpLike = str | Named
#: One or more ops: names, objects, name scopes, layers, or a selection.
OpsLike = OpLike | Iterable[OpLike]
#: A tensor, by name or object. For an op, its output 0; for a layer, its output.
TensorLike = str | Named
#: One or more tensors; the keys of a dict name them.
TensorsLike = TensorLike | Iterable[TensorLike] | Mapping[str, TensorLike]
#: Tensor, by name or object -> the tensor that replaces it, or that it connects to.
TensorMap = Mapping[str, TensorsLike] | Mapping[Named, TensorsLike]
#: Tensor, by name or object -> array.
FeedDict = Mapping[str, ArrayLike] | Mapping[Named, ArrayLike]
#: The path of a file or folder.
PathLike = str | os.PathLike[str]
#: A dtype: a `tf.DType`, a NumPy dtype, a type such as `float`, or its name.
DTypeLike = str | type | Named
#: A shape: its dimensions, with None for an unknown one, or a `tf.TensorShape`.
ShapeLike = Iterable[int | None]
#: A graph, in any form that `gs.open` takes; TensorFlow and Keras define most of these classes.
GraphSource = object
#: Values of variables: a session, an editor, a Keras model, the path of a checkpoint, or a mapping of name -> array.
ValueSource = object
