"""Copies ops into live graphs, with their variables, control flow and collections."""

from typing import TYPE_CHECKING

from ..import_tensorflow import lazy_modules

if TYPE_CHECKING:
    from . import append, contexts, imports, node_defs, python_state, tables_and_queues
else:
    __getattr__ = lazy_modules(__name__)
