"""The only package that imports TensorFlow: when it is first needed, by `import_tensorflow.tensorflow`.

It imports its modules on first use. So other packages can import it at the top, and write
`tf.open.snapshot.snapshot(graph)`.
"""

from typing import TYPE_CHECKING

from .import_tensorflow import lazy_modules

if TYPE_CHECKING:
    from . import (
        copy,
        edit,
        examples,
        functions,
        graph_parts,
        import_tensorflow,
        messages,
        op_types,
        open,
        private,
        protos,
        run,
        save,
        values,
    )
else:
    __getattr__ = lazy_modules(__name__)
