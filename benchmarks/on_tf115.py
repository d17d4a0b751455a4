"""The program that TensorFlow 1.15 runs: opens a MetaGraph and times `ge.copy` of all of it. Python 3.7.

PYTHON on_tf115.py FILE REPEAT
"""

import json
import sys
import time


def main(file: str, repeat: int) -> None:
    """Prints {"seconds": the shortest run, "ops": how many ops there are}."""
    import tensorflow as tf
    from tensorflow.contrib import graph_editor as ge
    from tensorflow.python.framework import op_def_registry

    meta = tf.compat.v1.MetaGraphDef()
    with open(file, "rb") as stream:
        meta.ParseFromString(stream.read())
    known = op_def_registry.get_registered_ops()
    for node in meta.graph_def.node:  # attributes that TensorFlow has got since
        there = {attr.name for attr in known[node.op].attr}
        for key in [key for key in node.attr if key not in there and not key.startswith("_")]:
            del node.attr[key]
    graph = tf.Graph()
    with graph.as_default():
        tf.compat.v1.train.import_meta_graph(meta)
    best = float("inf")
    for _ in range(repeat):
        destination = tf.Graph()
        start = time.perf_counter()
        ge.copy(graph, destination, dst_scope="copy")
        best = min(best, time.perf_counter() - start)
    print(json.dumps({"seconds": best, "ops": len(graph.get_operations())}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
