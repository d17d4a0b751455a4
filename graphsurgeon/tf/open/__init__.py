"""Opens files and objects as graphs, and reads live graphs into snapshots."""

from typing import TYPE_CHECKING

from ..import_tensorflow import lazy_modules

if TYPE_CHECKING:
    from ..copy import imports
    from . import file_reader, layers, op_facts, outputs, protos, signature, snapshot, source, trial_import
else:
    __getattr__ = lazy_modules(__name__)
