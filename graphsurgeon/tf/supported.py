"""Supported: the versions of TensorFlow that this package works with, and the errors for any other."""

from __future__ import annotations

from ..errors import OpenError

OLDEST = (2, 16)  # as in pyproject.toml: the first with Keras 3
_NEEDED = f"tensorflow>={'.'.join(map(str, OLDEST))}"
_MORE = (
    "in a separate environment. Stored pictures and pages work without it; "
    "`python -m graphsurgeon doctor` lists what is installed"
)


def not_installed() -> OpenError:
    """Returns the error if TensorFlow is not installed."""
    return OpenError("import tensorflow", "it is not installed", f"pip install '{_NEEDED}', {_MORE}")


def refuse_old(version: str) -> None:
    """Refuses a TensorFlow that this package does not work with.

    Args:
        version: its version.

    Raises:
        OpenError: it is too old.
    """
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        problem = f"this is TensorFlow {version}, which is too old"
        raise OpenError("import tensorflow", problem, f"pip install -U '{_NEEDED}', {_MORE}")
