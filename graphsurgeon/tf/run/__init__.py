"""Sessions, runs and their errors."""

from typing import TYPE_CHECKING

from ..import_tensorflow import lazy_modules

if TYPE_CHECKING:
    from . import errors, probes, progress, run_graph, sessions, trials
else:
    __getattr__ = lazy_modules(__name__)
