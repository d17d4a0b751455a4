"""Gradients of calls that only a file has: those that an eager tape gives, loops and branches included."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs

tf1 = tf.compat.v1


class Turning(tf.Module):
    """y = [x * w * w * w, the branch that x decides], behind calls that are not inlined; z calls them twice."""

    def __init__(self):
        self.w = tf.Variable([2.0, 3.0], name="w")

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([2])])
    def power(self, x):
        return tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, h * self.w), (0, x))[1]

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([2])])
    def branch(self, x):
        return tf.cond(x[0] > 0.0, lambda: self.power(x), lambda: -x)

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([2])])
    def serve(self, x):
        return {"y": self.branch(x) + 1.0, "z": self.power(self.power(x))}


@pytest.mark.deep
def test_calls_that_lead_to_loops_and_branches_have_their_gradients_in_what_a_file_gives(tmp_path):
    module = Turning()
    tf.saved_model.save(module, tmp_path / "sm", signatures=module.serve)
    ed = gs.open(tmp_path / "sm")
    feeds = [np.array([1.0, 2.0], np.float32), np.array([-1.0, 2.0], np.float32)]
    wanted = []
    for x in feeds:
        with tf.GradientTape(persistent=True) as tape:
            given = tf.constant(x)
            tape.watch(given)
            found = module.serve(given)
        wanted.append([tape.gradient(found[key], [given, module.w], unconnected_gradients="zero") for key in "yz"])

    def check(x, ys):
        with ed.graph.as_default():
            (w,) = ed.graph.get_collection("variables")
            made = [tf1.gradients(y, [x, w.handle], unconnected_gradients="zero") for y in ys]
        session = ed.session()
        for value, want in zip(feeds, wanted, strict=True):
            for got, slopes in zip(session.run(made, {x: value}), want, strict=True):
                np.testing.assert_allclose(got, [one.numpy() for one in slopes], rtol=1e-6)

    find = ed.graph.get_tensor_by_name
    x, ys = next(iter(ed.inputs.values())), [ed.outputs["y"], ed.outputs["z"]]
    calls = [name for name, kind in zip(ed.snapshot.names, ed.snapshot.types, strict=True) if "Partitioned" in kind]
    assert len(calls) == 3
    ed.apply(ed.plan().copy(ed.select(inputs=[x], outputs=ys), to="c", inputs={x: x}, variables="share"))
    check(find(x), [find(f"c/{y}") for y in ys])
    check(find(x), [find(y) for y in ys])


def test_what_draws_random_numbers_is_not_run_once_more_for_its_gradient(tmp_path):
    class Module(tf.Module):
        @tf.function(autograph=False, input_signature=[tf.TensorSpec([2])])
        def noisy(self, x):
            kept = tf.random.uniform([2], 1.0, 2.0)
            return tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, h * kept), (0, x))[1]

        @tf.function(autograph=False, input_signature=[tf.TensorSpec([2])])
        def serve(self, x):
            return {"y": self.noisy(x) * 1.0}

    module = Module()
    tf.saved_model.save(module, tmp_path / "sm", signatures=module.serve)
    ed = gs.open(tmp_path / "sm")
    with ed.graph.as_default():
        x, y = (ed.graph.get_tensor_by_name(next(iter(ends.values()))) for ends in (ed.inputs, ed.outputs))
        (slope,) = tf1.gradients(y, x)
    given = np.array([2.0, 4.0], np.float32)
    got, slopes = ed.session().run([y, slope], {x: given})
    np.testing.assert_allclose(slopes, got / given, rtol=1e-5)
    ed.save(tmp_path / "again", signatures={"s": ({"x": x.name}, {"y": y.name, "slope": slope.name})})
    again = gs.open(tmp_path / "again", signature="s")
    got, slopes = again.session().run([again.outputs["y"], again.outputs["slope"]], {again.inputs["x"]: given})
    np.testing.assert_allclose(slopes, got / given, rtol=1e-5)
