"""All uses of private parts of TensorFlow and Keras, by subject; no other module of the package uses them.

Every use is feature-detected, or works in the same way in TensorFlow 2.16 to 2.21, and was tried with each version.
"""

from typing import TYPE_CHECKING

from ..import_tensorflow import lazy_modules, tensorflow

tensorflow()

if TYPE_CHECKING:
    from . import c_api, contexts, eager, functions, graphs
else:
    __getattr__ = lazy_modules(__name__)
