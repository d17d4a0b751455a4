"""Fresh graphs: what they are made from stays known; nothing else in the package makes live graphs."""

from __future__ import annotations

import ast

import tensorflow as tf

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.security import GraphOrigin, add_origins, origins
from graphsurgeon.tf.protos import empty_graph
from tests.needs import ROOT


def test_a_new_graph_has_the_origins_of_what_it_is_made_from():
    one = GraphOrigin(Graph.from_ops([("w", "WriteFile", [])]))
    first = tf.Graph()
    add_origins(first, [one])
    assert origins(empty_graph(tf.Graph(), first)) == (one,)
    assert origins(empty_graph()) == ()
    assert empty_graph().get_operations() == []


def calls(path):
    """Returns (line, what is called) of each call in a file."""
    tree = ast.parse(path.read_text())
    return [(node.lineno, ast.unparse(node.func)) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def test_live_graphs_are_made_in_one_place():
    made = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / "graphsurgeon").rglob("*.py"))
        for line, name in calls(path)
        if name in ("tf.Graph", "ops.Graph", "tf1.Graph", "tf.compat.v1.Graph")
    ]
    files = [where.partition(":")[0].removeprefix("graphsurgeon/tf/") for where in made]
    programs = ["open/trial_main.py", "private/c_api.py", *["save/worker_main.py"] * 3]  # of other processes
    assert sorted(files) == sorted([*programs, "protos.py"]), made
