"""The only package that imports TensorFlow. Its import fails if TensorFlow is missing or too old."""

from .supported import refuse_unsupported

refuse_unsupported()
