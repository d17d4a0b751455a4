"""Supported: checks that a supported TensorFlow is installed, and raises an error otherwise."""

from __future__ import annotations

from ..errors import OpenError
from .importing import tensorflow

OLDEST = (2, 16)  # as in pyproject.toml: the first with Keras 3
_MORE = (
    "in a separate environment. Stored pictures and pages work without it; "
    "`python -m graphsurgeon doctor` lists what is installed"
)


def refuse_unsupported() -> None:
    """Raises an error without a TensorFlow that this package works with.

    Raises:
        OpenError: TensorFlow is not installed, or too old.
    """
    needed = f"tensorflow>={'.'.join(map(str, OLDEST))}"
    try:
        version: str = tensorflow().__version__
    except ModuleNotFoundError as missing:
        if missing.name != "tensorflow":
            raise
        raise OpenError("import tensorflow", "it is not installed", f"pip install '{needed}', {_MORE}") from None
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        problem = f"this is TensorFlow {version}, which is too old"
        raise OpenError("import tensorflow", problem, f"pip install -U '{needed}', {_MORE}")
