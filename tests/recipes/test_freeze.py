"""A graph with its variables as constants, in an editor of its own."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

import graphsurgeon as gs
from tests.recipes.models import looked_up, numbers, ran, refusal


def test_a_trained_keras_model_is_frozen_with_its_values():
    import keras

    x = keras.Input((4,), name="x")
    model = keras.Model(x, keras.layers.Dense(2, name="head")(keras.layers.Dropout(0.5)(x)))
    ed = gs.open(model)
    small = gs.recipes.frozen(ed)
    assert not small.snapshot.state.variables
    assert set(ed.snapshot.state.variables)  # the editor that was given stays as it is
    (taken,), (given,) = ed.inputs.values(), ed.outputs.values()
    got = small.session().run(given, {taken: numbers(3, 4)})
    np.testing.assert_allclose(got, model(numbers(3, 4)), rtol=1e-6)


def test_variables_that_nobody_trained_are_refused():
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
        tf.multiply(x, tf.compat.v1.get_variable("w", initializer=3.0), name="y")
    assert 'values="initial"' in refusal(gs.PlanError, lambda: gs.recipes.frozen(gs.open(graph), "y:0")).replace(
        "'", '"'
    )
    small = gs.recipes.frozen(gs.open(graph), "y:0", values="initial")
    assert ran(small, x=[1.0, 2.0]).tolist() == [3.0, 6.0]


def main_op(folder):
    """Writes a SavedModel whose main op alone fills its table."""
    with looked_up().as_default() as graph, tf.compat.v1.Session() as session:
        builder = tf.compat.v1.saved_model.Builder(str(folder))
        ends = ({key: graph.get_tensor_by_name(f"{key}:0")} for key in ("words", "y"))
        call = {"serving_default": tf.compat.v1.saved_model.predict_signature_def(*ends)}
        start = graph.get_operation_by_name("start")
        builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map=call, main_op=start)
        builder.save()
    return str(folder)


def test_what_fills_its_tables_is_run_first_in_inference_form_and_in_the_file_too(tmp_path):
    ed = gs.open(main_op(tmp_path / "model"))
    assert ran(gs.recipes.frozen(ed, "y:0"), words=["b", "x"]).tolist() == [9, -1]
    for one in (ed, gs.recipes.frozen(ed, "y:0")):
        one.apply(gs.recipes.for_inference(one, "y:0"))
        assert "y" in one.snapshot.index
        assert ran(one, words=["b", "x"]).tolist() == [9, -1]
        folder = tmp_path / ("frozen" if one is not ed else "saved")
        one.save(folder, outputs="y:0", inputs="words:0")
        assert ran(gs.open(folder), words=["a", "x"]).tolist() == [7, -1]
        said = str(one.save(folder.with_suffix(".pb"), outputs="y:0"))
        assert "run first: " in said
        whole = gs.open(folder.with_suffix(".pb"), trust=True)
        session = whole.session()
        session.run([name for names in whole.snapshot.state.init_ops.values() for name in names])
        assert session.run("y:0", {"words:0": ["b", "x"]}).tolist() == [9, -1]


def test_what_fills_a_table_that_no_output_needs_goes(tmp_path):
    graph = looked_up()
    with graph.as_default():
        tf.negative(tf.compat.v1.placeholder(tf.float32, [None], name="x"), name="other")
        graph.add_to_collection("saved_model_main_op", graph.get_operation_by_name("start"))
    assert gs.recipes.for_inference(gs.open(graph), "other:0").after().names == ["x", "other"]
