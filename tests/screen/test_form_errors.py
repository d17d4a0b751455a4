"""Errors of what a form asks name the argument that is wrong: the form goes to its field."""

from __future__ import annotations

import pytest

import graphsurgeon as gs
from graphsurgeon.errors import SurgeryError
from tests.tf2 import tf1


@pytest.fixture(scope="module")
def ed():
    with tf1.Graph().as_default() as graph:
        x = tf1.placeholder("float32", [None, 4], name="x")
        tf1.nn.relu(x, name="y")
    return gs.open(graph, title="small")


@pytest.mark.parametrize(
    ("verb", "args", "argument"),
    [
        ("run_recipe", {"name": "set_input", "values": {"tensor": "x:0", "shape": "abc"}}, "shape"),
        ("run_recipe", {"name": "set_input", "values": {"tensor": "x:0", "shape": "[2]"}}, "shape"),
        ("run_recipe", {"name": "set_input", "values": {"tensor": "x:0", "dtype": "abc"}}, "dtype"),
        ("run_recipe", {"name": "set_input", "values": {"tensor": "nothing:0", "shape": "[2, 4]"}}, "tensor"),
        ("run_recipe", {"name": "set_input", "values": {"tensor": "y:0", "shape": "[2, 4]"}}, "tensor"),
        ("run", {"feeds": {"x:0": "no_such_name"}}, "x:0"),
        ("run", {"feeds": {"x:0": "missing.npy"}}, "x:0"),
        ("run", {"feeds": {"x:0": "[1, 2, 3]"}}, "x:0"),
        ("insert", {"op": "NoSuchType", "on": "x:0"}, "op"),
        ("save", {"path": "saved", "outputs": "nothing"}, "outputs"),
        ("save", {"path": "saved", "inputs": "nothing", "outputs": "y"}, "inputs"),
        ("save", {"path": "missing/folder/picture", "format": "picture"}, "path"),
        ("check", {"target": "tflite", "outputs": "nothing"}, "outputs"),
        ("rename", {"old": "y", "to": "b c"}, "to"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_the_argument_is_named(ed, verb, args, argument, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SurgeryError) as caught:
        getattr(ed.screen, verb)(**args)
    assert caught.value.argument == argument
    assert list(tmp_path.iterdir()) == []
