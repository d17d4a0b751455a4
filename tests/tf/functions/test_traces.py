"""Which function a TF2 object stands for, and what is said where that is not clear."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ops.resource_variable_ops import UninitializedVariable

import graphsurgeon as gs
from graphsurgeon.errors import OpenError
from graphsurgeon.tf.functions import trace
from tests.graphs import tiny
from tests.refusal import refuses
from tests.tf2 import ROWS, Loop, Net, X, keras_model


def scale(x):
    return x * 2.0


def test_a_function_with_one_trace_or_a_signature():
    f = tf.function(scale)
    with refuses(OpenError, "open(function): tf.function 'scale' has no input_signature and 0 traces",
                 "gs.open(scale.get_concrete_function(...))", "signature=[tf.TensorSpec(...)]"):  # fmt: skip
        gs.open(f)
    f(ROWS)
    ed = gs.open(f)
    assert (ed.title, len(ed.inputs)) == ("scale", 1)
    f(np.float32(1.0))
    with refuses(OpenError, "has no input_signature and 2 traces"):
        gs.open(f)
    for signature in (X, [X], {"x": X}):
        assert gs.open(f, signature=signature).inputs == {"x": "x:0"}
    assert gs.open(tf.function(lambda x: x, input_signature=[X])).title == "function"


def test_a_signature_that_does_not_fit():
    with refuses(OpenError, "open(function): tracing fails with TypeError", "Give arguments that the function takes"):
        gs.open(tf.function(scale), signature=[X, X])

    def broken(x):
        raise ValueError("first\nthe reason")

    with refuses(OpenError, "tracing fails with ValueError: ", "the reason"):
        gs.open(tf.function(broken, autograph=False), signature=[X])


def test_modules():
    with refuses(OpenError, "open(Net): it has 4 functions",
                 "Choose function='count' or 'counted' or 'forward' or 'inner'"):  # fmt: skip
        gs.open(Net())
    ed = gs.open(Net(), function="forward")
    assert ed.title == "Net"
    assert "gs.open(module, function='forward')" in ed.plan().to_code()
    with refuses(OpenError, "open(Net, function='forwrd'): it has no tf.function 'forwrd'", "Did you mean 'forward'?"):
        gs.open(Net(), function="forwrd")
    with refuses(OpenError, "it has no tf.function 'zzz'", "Choose function='count' or"):
        gs.open(Net(), function="zzz")
    with refuses(OpenError, "open(Net, function='inner'): tf.function 'inner' has no input_signature and 0 traces"):
        gs.open(Net(), function="inner")
    assert gs.open(Net(), function="inner", signature=X).inputs == {"x": "x:0"}
    with refuses(OpenError, "open(Module): it has no tf.function", "Decorate one of its methods with @tf.function"):
        gs.open(tf.Module())
    only = tf.Module()
    only.f = tf.function(scale, input_signature=[X])
    assert list(gs.open(only).outputs) == ["output"]


def test_what_was_loaded(tmp_path):
    net = Net()
    tf.saved_model.save(net, str(tmp_path), signatures={"go": net.forward})
    loaded = tf.saved_model.load(str(tmp_path))
    with refuses(OpenError, "or 'forward' or 'go' or"):
        gs.open(loaded)
    for name in ("forward", "go"):
        ed = gs.open(loaded, function=name)
        got = ed.session().run(ed.outputs, {"x:0": ROWS})
        np.testing.assert_array_equal(got["y"], net.forward(ROWS)["y"])


def test_options_that_mean_nothing():
    for options in ({"signature": "serving_default"}, {"training": True}):
        name = next(iter(options))
        with refuses(OpenError, f"{name}= is not possible for an object of type Graph",
                     f"Leave out {name}="):  # fmt: skip
            gs.open(tiny(), **options)


def test_keras_models_without_inputs():
    import keras

    class Raw(keras.Model):
        def call(self, x):
            return x + 1.0

    raw = Raw(name="raw")
    with refuses(OpenError, "open(Raw 'raw'): its inputs are not known",
                 "signature=tf.TensorSpec([None, 8], tf.float32)"):  # fmt: skip
        gs.open(raw)
    assert gs.open(raw, signature=X).inputs == {"x": "x:0"}
    both = keras.layers.Add(name="both")
    ed = gs.open(both, signature=[X, tf.TensorSpec([None, 2], tf.float32, name="z")])
    assert set(ed.inputs) == {"x", "z"}


def test_keras_on_another_backend(monkeypatch):
    monkeypatch.setattr(trace.sys.modules["keras"].backend, "backend", lambda: "jax")
    with refuses(OpenError, "open(Sequential 'dense'): Keras runs on 'jax' here",
                 "Start Python with KERAS_BACKEND=tensorflow"):  # fmt: skip
        gs.open(keras_model("dense"))


def test_a_variable_without_a_value():
    v = UninitializedVariable(shape=[], dtype=tf.float32, name="v")

    @tf.function(input_signature=[])
    def f():
        return v + 1.0

    concrete = f.get_concrete_function()
    with refuses(OpenError, "open(f): variable 'v' has no value yet", "Assign a value first"):
        gs.open(concrete)


@pytest.mark.parametrize("inline", [False, True])
def test_a_module_with_a_loop_opens_by_itself(inline):
    loop = Loop()
    with refuses(OpenError, "Choose function='__call__' or 'step'"):
        gs.open(loop)
    ed = gs.open(loop, function="__call__", inline=inline)
    assert ed.session().run(ed.outputs["output"], {"x:0": 0.3}) == loop(0.3).numpy()
