"""Costs: time and memory as TensorFlow's own metadata have them."""

from __future__ import annotations

from tensorflow.core.protobuf import config_pb2

from graphsurgeon.tf.run.run_graph import costs_of


def test_rounds_are_added_up_and_copies_of_a_device_are_not():
    about = config_pb2.RunMetadata()
    for device in ("/job:localhost/replica:0/task:0/device:GPU:0", "/device:GPU:0/stream:all"):
        stats = about.step_stats.dev_stats.add(device=device)
        for nanos, size in ((100, 8), (300, 16)):
            node = stats.node_stats.add(node_name="y", op_start_rel_nanos=50, op_end_rel_nanos=50 + nanos)
            node.memory.add(total_bytes=size)
        stats.node_stats.add(node_name="_SOURCE")
        stats.node_stats.add(node_name="probe")
    found = costs_of(about, {"probe"})
    assert list(found) == ["y"]
    cost = found["y"]
    assert (round(cost.seconds * 1e9), cost.bytes, cost.runs, cost.device) == (400, 24, 2, "GPU:0")
