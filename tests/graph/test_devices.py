"""Names of devices: taken apart, written again, and mapped by the first rule that fits."""

from __future__ import annotations

import pytest

from graphsurgeon.graph.names import device_parts, device_text, substitute_device

FULL = "/job:worker/replica:0/task:1/device:GPU:0"


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("", ""),
        ("/cpu:0", "/device:CPU:0"),
        ("/device:gpu:1", "/device:GPU:1"),
        ("/device:CPU", "/device:CPU"),
        ("/task:3/job:ps", "/job:ps/task:3"),
        (FULL, FULL),
        ("/job:ps/task:*", "/job:ps/task:*"),
    ],
)
def test_a_name_in_parts_is_written_in_one_order(name, full):
    assert device_text(device_parts(name)) == full
    assert device_parts(full) == device_parts(name)


@pytest.mark.parametrize("name", ["cpu:0", "/cpu", "/disk:0", "/job:", "/cpu:0/and", "/task:one"])
def test_what_is_not_a_device(name):
    assert device_parts(name) is None


@pytest.mark.parametrize(
    ("name", "rules", "new"),
    [
        ("/gpu:0", [("/gpu:0", "/cpu:0")], "/device:CPU:0"),
        ("/gpu:1", [("/gpu:0", "/cpu:0")], "/gpu:1"),
        (FULL, [("/gpu:0", "/cpu:0")], "/job:worker/replica:0/task:1/device:CPU:0"),
        (FULL, [("/job:worker", "/job:ps")], "/job:ps/replica:0/task:1/device:GPU:0"),
        (FULL, [("/job:ps", "/cpu:0"), ("/task:1", "/task:0"), ("*", "/cpu:0")], FULL.replace("task:1", "task:0")),
        ("", [("/gpu:0", "/cpu:0")], ""),
        ("", [("/gpu:0", "/cpu:0"), ("*", "/gpu:0")], "/device:GPU:0"),
        (FULL, [("*", "not a device")], FULL),
        ("strange", [("/gpu:0", "/cpu:0")], "strange"),
    ],
)
def test_the_first_rule_that_fits_gives_its_parts(name, rules, new):
    assert substitute_device(name, rules) == new
