"""The only room that imports TensorFlow; one that is missing or too old is refused at its door."""

from .supported import refuse_unsupported

refuse_unsupported()
