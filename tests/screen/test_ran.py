"""What a run tells the page."""

from __future__ import annotations

import numpy as np

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.tensor_stats import OpCost, summarize
from graphsurgeon.graph.trace import Trace
from graphsurgeon.ui.run_results import RunOverlay, output_data

GRAPH = Graph.from_ops([("x", "Placeholder", []), ("y", "Log", ["x"]), ("z", "Neg", ["y"])])


def ran(**held) -> RunOverlay:
    notes = tuple(summarize(f"{name}:0", np.asarray(value, np.float32), "float32") for name, value in held.items())
    costs = {"y": OpCost("y", 2e-3, 400, 1, "cpu"), "z": OpCost("z", 1e-3, 0, 3, "cpu")}
    return RunOverlay(Trace(GRAPH, notes, costs, feeds={"x:0": held["x"]}), GRAPH, code="ed.trace()")


def test_a_run_is_one_line_and_lists_what_costs_the_most():
    some = ran(x=[1.0, 0.0], y=[0.0, -np.inf], z=[0.0, np.inf])
    assert some.line == "3 tensors, 3.0 ms in ops; first not finite: y:0"
    shown = some.report_data
    assert shown["bad"]["op"] == "y"
    assert shown["bad"]["text"].startswith("float32 (2)")
    assert shown["tops"]["ms"] == [("y", "2 ms"), ("z", "1 ms")]
    assert shown["tops"]["bytes"] == [("y", "400 bytes")]
    assert ran(x=[1.0], y=[0.0], z=[0.0]).line == "3 tensors, 3.0 ms in ops; all values are finite"


def test_an_output_is_shown_as_bars_numbers_or_an_image():
    scores = output_data("y:0", np.array([[0.1, 0.7, 0.0, 0.2], [1, 2, 3, 4]], np.float32))
    assert scores["text"] == "float32 (2, 4) of the first of 2 examples"
    assert scores["values"] == [("0", "0.1", 0.14), ("1", "0.7", 1.0), ("2", "0", 0.0), ("3", "0.2", 0.29)]
    classes = output_data("y:0", np.arange(1000, dtype=np.float32)[None])
    assert classes["text"] == "float32 (1, 1000); the 5 largest values"
    assert [one[0] for one in classes["values"]] == ["999", "998", "997", "996", "995"]
    assert output_data("y:0", np.float32(2.5))["text"] == "float32 (): 2.5"
    assert output_data("y:0", np.array([b"cat", b"dog"]))["text"] == "string (2,): b'cat', b'dog'"
    assert output_data("y:0", np.array([np.nan, 1.0]))["values"] == []
    assert output_data("y:0", np.zeros([0, 3]))["text"] == "float64 (0, 3)"
    picture = output_data("y:0", np.zeros([1, 8, 8, 3], np.uint8))
    assert picture["picture"].startswith("data:image/png")
    assert picture["values"] == []


def test_rows_add_up():
    some = ran(x=[1.0, 0.0], y=[0.0, -np.inf], z=[0.0, np.inf])
    assert dict(some.rows(["y"])) == {"took": "2 ms", "allocated": "400 bytes"}
    assert dict(some.rows(["z"]))["ran"] == "3 times"
    whole = dict(some.rows(["x", "y", "z"]))
    assert (whole["took"], whole["ops that ran"], whole["not finite"]) == ("3 ms", "2 of 3", "2 of these")
    assert some.rows(["x"]) == []  # it was fed
    assert some.rows(["gone"]) == [["in the run", "it did not run"]]


def test_the_numbers_of_a_tensor():
    (held,) = ran(x=[1.0, 0.0], y=[0.0, -np.inf], z=[0.0, np.inf]).tensors("y")
    assert dict(held["rows"])["values"] == "0, -inf"
    assert dict(held["rows"])["range"] == "0 to 0"
    assert dict(held["rows"])["infinite"] == "1"
    (wide,) = ran(x=np.arange(5000).reshape(50, 100), y=[1.0], z=[1.0]).tensors("x")
    assert dict(wide["rows"])["range"] == "0 to 4999"
    assert wide["picture"]  # what was fed is known whole
    (some,) = ran(x=[1.0], y=np.arange(5000).reshape(50, 100), z=[1.0]).tensors("y")
    assert some["picture"] == ""  # of this there is a sample
    assert sum(some["histogram"]["counts"]) == 1000
    (none,) = ran(x=[1.0], y=[np.nan], z=[1.0]).tensors("y")
    assert [row[0] for row in none["rows"]] == ["held", "values", "NaN"]


def test_edges_say_the_shapes_of_the_run():
    edge = {"count": 2, "tensor": "x:0", "label": "×2"}
    one = {"count": 1, "tensor": "y:0", "label": "float32 (?,)"}
    quiet, waits = {"count": 1, "tensor": "y:0", "quiet": True}, {"count": 1, "tensor": "^x", "control": True}
    shown = ran(x=[1.0, 0.0], y=[0.0, 1.0], z=[0.0, 1.0]).with_run_shapes({"edges": [edge, one, quiet, waits], "w": 1})
    assert shown["w"] == 1
    assert shown["edges"] == [edge, {**one, "label": "float32 (2,)"}, quiet, waits]
    assert one["label"] == "float32 (?,)"


def test_it_fits_the_graph_that_ran():
    some = ran(x=[1.0], y=[0.0], z=[0.0])
    assert some.fits(Graph.from_ops([("x", "Placeholder", []), ("y", "Log", ["x"]), ("z", "Neg", ["y"])]))
    assert not some.fits(Graph.from_ops([("x", "Placeholder", []), ("y", "Log", ["x"]), ("z", "Neg", ["x"])]))
    assert not some.fits(Graph.from_ops([("x", "Placeholder", []), ("y", "Log", ["x"])]))
