"""Writes the table of op definitions of the installed TensorFlow, which is read until TensorFlow is imported.

Run it after an update of TensorFlow: python tools/write_op_definitions.py
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from graphsurgeon.tf import op_types
from graphsurgeon.tf.import_tensorflow import tensorflow
from graphsurgeon.tf.messages import op_def_pb2


def definitions() -> Any:
    """Returns the OpList of the installed TensorFlow, sorted by name, each with its documentation as its summary."""
    tensorflow()
    from tensorflow.python.client import pywrap_tf_session

    from graphsurgeon.tf.private.graphs import registered_op

    listed = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    found = op_def_pb2.OpList()
    for name in sorted(one.name for one in listed.op):
        definition = found.op.add()
        definition.CopyFrom(registered_op(name))
        definition.summary = op_types.documentation(name)
    return found


def main() -> None:
    """Writes the file."""
    folder = Path(op_types.__file__).parent / op_types.FOLDER
    folder.mkdir(exist_ok=True)
    data = definitions().SerializeToString(deterministic=True)
    path = folder / f"{op_types.installed_version()}.pb.gz"
    path.write_bytes(gzip.compress(data, 9, mtime=0))
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
