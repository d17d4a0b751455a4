"""Example graphs as files: `gs.open(gs.examples.classifier())`.

Each function builds one model in seconds, without a network. It writes the model into a folder, by default a new
temporary folder, and returns the path of the model. `gs.open` opens each of these paths.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from .. import tf

__all__ = ["classifier", "detector", "frozen", "large", "nan_loss", "pictures", "training", "transformer"]


def classifier(folder: str | Path | None = None) -> str:
    """Writes a trained image classifier as a SavedModel folder in the form of Keras 2.

    Keras 3 refuses such a folder with "File format not supported". The classifier has two convolutions. It was trained
    on the images of `pictures`, and is right for at least 95 of 100 new images.

    Args:
        folder: the folder to write into; default: a new temporary folder.

    Returns:
        the path of the SavedModel folder, ``classifier``.

    Example:
        >>> import graphsurgeon as gs
        >>> ed = gs.open(gs.examples.classifier())
        >>> ed.inputs, ed.outputs
        ({'image': 'image:0'}, {'scores': 'Identity:0'})
        >>> [layer.name for layer in ed.layers]
        ['image', 'conv1', 'pool', 'conv2', 'features', 'scores']
    """
    return tf.examples.classifier(_folder(folder) / "classifier")


def frozen(folder: str | Path | None = None) -> str:
    """Writes the trained image classifier as a frozen graph, for one image at a time.

    Its weights are constants, equal to those of `classifier`. Its input has a fixed batch size of 1.

    Args:
        folder: the folder to write into; default: a new temporary folder.

    Returns:
        the path of the file, ``frozen.pb``.

    Example:
        >>> import graphsurgeon as gs
        >>> ed = gs.open(gs.examples.frozen())
        >>> ed.graph.get_tensor_by_name("image:0").shape.as_list()
        [1, 16, 16, 1]
    """
    return tf.examples.frozen(_folder(folder) / "frozen.pb")


def training(folder: str | Path | None = None) -> str:
    """Writes a TF1 training graph as a ``.meta`` file with its checkpoint.

    The graph has dropout, batch normalization, summaries, gradients, the Adam optimizer and moving averages of the
    weights. It was trained on the images of `pictures`.

    Args:
        folder: the folder to write into; default: a new temporary folder.

    Returns:
        the path of the file, ``training.meta``. The checkpoint is in the same folder.

    Example:
        >>> import graphsurgeon as gs
        >>> ed = gs.open(gs.examples.training())
        >>> ed.untrained()
        {}
        >>> served = gs.recipes.frozen(ed, "scores:0")
        >>> len(served) < len(ed) / 10
        True
    """
    return tf.examples.training(_folder(folder) / "training.meta")


def detector(folder: str | Path | None = None) -> str:
    """Writes an object detector as a frozen graph, with its preprocessing and postprocessing.

    The graph resizes and scales an image, computes boxes and scores, and removes overlapping boxes by non-maximum
    suppression. Its weights are random.

    Args:
        folder: the folder to write into; default: a new temporary folder.

    Returns:
        the path of the file, ``detector.pb``.

    Example:
        >>> import graphsurgeon as gs
        >>> ed = gs.open(gs.examples.detector())
        >>> ed.find("type:NonMaxSuppressionV3")
        ['nms/kept/NonMaxSuppressionV3']
    """
    return tf.examples.detector(_folder(folder) / "detector.pb")


def transformer(folder: str | Path | None = None) -> str:
    """Writes a transformer block as a ``.keras`` file.

    The model has an embedding, attention with two heads, a feed-forward part and a head of 4 classes. Its weights are
    random.

    Args:
        folder: the folder to write into; default: a new temporary folder.

    Returns:
        the path of the file, ``transformer.keras``.

    Example:
        >>> import graphsurgeon as gs
        >>> ed = gs.open(gs.examples.transformer())
        >>> ed.layer("attention").class_name
        'MultiHeadAttention'
    """
    return tf.examples.transformer(_folder(folder) / "transformer.keras")


def nan_loss(folder: str | Path | None = None) -> str:
    """Writes a TF1 training graph whose loss is NaN, as a ``.meta`` file with its checkpoint.

    The loss is a binary cross-entropy without a lower bound of the probability. A probability of 1 makes a logarithm
    infinite, and its product with 0 is NaN.

    Args:
        folder: the folder to write into; default: a new temporary folder.

    Returns:
        the path of the file, ``nan_loss.meta``. The checkpoint is in the same folder.

    Example:
        >>> import graphsurgeon as gs
        >>> ed = gs.open(gs.examples.nan_loss())
        >>> rows = {"image:0": [[1.0] * 8], "label:0": [[1.0]]}
        >>> trace = ed.trace(rows, "loss:0")
        >>> str(trace.results["loss:0"]), trace.first_bad().op
        ('nan', 'entropy/log_no')
    """
    return tf.examples.nan_loss(_folder(folder) / "nan_loss.meta")


def large(folder: str | Path | None = None) -> str:
    """Writes a frozen graph of about 40,000 ops.

    The graph has 8 equal towers of residual blocks, except for one block: ``tower_5/group_2/block_3`` computes in
    half precision.

    Args:
        folder: the folder to write into; default: a new temporary folder.

    Returns:
        the path of the file, ``large.pb``.

    Example:
        >>> import graphsurgeon as gs
        >>> ed = gs.open(gs.examples.large())
        >>> 38_000 < len(ed) < 42_000
        True
        >>> len(ed.find("type:Cast"))
        2
    """
    return tf.examples.large(_folder(folder) / "large.pb")


def pictures(count: int = 512, seed: int = 0) -> tuple[Any, Any]:
    """Returns images and labels, on which `classifier`, `frozen` and `training` were trained.

    An image shows a row (label 0), a column (1), a diagonal (2) or a cross (3), with noise.

    Args:
        count: the number of images.
        seed: the seed of the random numbers. The models were trained with seed 0.

    Returns:
        the images, float32 of shape ``[count, 16, 16, 1]``, and the labels, int32 of shape ``[count]``.

    Example:
        >>> import graphsurgeon as gs
        >>> images, labels = gs.examples.pictures(5)
        >>> images.shape, labels.tolist()
        ((5, 16, 16, 1), [0, 3, 1, 0, 3])
    """
    return tf.examples.pictures(count, seed)


def _folder(folder: str | Path | None) -> Path:
    """Returns the folder to write into, and makes it if needed."""
    path = Path(tempfile.mkdtemp(prefix="graphsurgeon_") if folder is None else folder)
    path.mkdir(parents=True, exist_ok=True)
    return path
