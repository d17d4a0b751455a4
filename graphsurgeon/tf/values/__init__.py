"""The values of variables: in sessions, checkpoints, files and replicas."""

from typing import TYPE_CHECKING

from ..import_tensorflow import lazy_modules

if TYPE_CHECKING:
    from . import (
        assign_values,
        checkpoint_reader,
        file_variables,
        initialization,
        replica_values,
        restore,
        transfer,
        value_stores,
        variables,
    )
else:
    __getattr__ = lazy_modules(__name__)
