"""Changes live graphs in place, builds the ops of a plan, and validates its changes."""

from typing import TYPE_CHECKING

from ..import_tensorflow import lazy_modules

if TYPE_CHECKING:
    from . import builders, edit_in_place, nodes, patterns, subgraphs, validation
else:
    __getattr__ = lazy_modules(__name__)
