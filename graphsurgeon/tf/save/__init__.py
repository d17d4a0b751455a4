"""Saves graphs as files, and checks the files."""

from typing import TYPE_CHECKING

from ..import_tensorflow import lazy_modules

if TYPE_CHECKING:
    from . import converters, export, freeze_functions, proof, save, saved_model, write
else:
    __getattr__ = lazy_modules(__name__)
