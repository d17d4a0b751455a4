"""The only package that imports TensorFlow: when it is first needed, by `importing.tensorflow`."""
