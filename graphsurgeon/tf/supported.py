"""Which TensorFlow there must be, and what is said where there is another, or none."""

from __future__ import annotations

from ..errors import OpenError
from .importing import tensorflow

OLDEST = (2, 16)  # as in pyproject.toml: the first with Keras 3
_MORE = (
    "in an environment of its own. Without it, stored pictures and pages show what they showed, and "
    "`python -m graphsurgeon doctor` lists what is installed"
)


def refuse_unsupported() -> None:
    """Refuses to go on without a TensorFlow that this package works with.

    Raises:
        OpenError: there is none, or it is too old.
    """
    needed = f"tensorflow>={'.'.join(map(str, OLDEST))}"
    try:
        version: str = tensorflow().__version__
    except ModuleNotFoundError as missing:
        if missing.name != "tensorflow":
            raise
        raise OpenError("import tensorflow", "it is not installed", f"pip install '{needed}', {_MORE}") from None
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        wrong = f"this is TensorFlow {version}, too old to be worked on"
        raise OpenError("import tensorflow", wrong, f"pip install -U '{needed}', {_MORE}")
