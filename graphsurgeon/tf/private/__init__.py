"""All uses of private parts of TensorFlow and Keras, by subject; no other module of the package uses them.

Every use is feature-detected, or the same in TensorFlow 2.16 to 2.21, with each of which it was tried.
"""

from ..importing import tensorflow

tensorflow()
