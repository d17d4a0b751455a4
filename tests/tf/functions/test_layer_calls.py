"""Which ops each layer of a Keras model makes: recorded while the model is traced, never guessed from names."""

from __future__ import annotations

import random
import threading

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import graphsurgeon as gs
from graphsurgeon.errors import SelectionError, SurgeryError
from graphsurgeon.graph.layers import scopes_of
from graphsurgeon.tf.functions.trace import observe_calls
from graphsurgeon.ui.inspector import layer_rows
from tests import modules
from tests.refusal import refuses

KERAS = pytest.mark.parametrize("k", [keras, tf_keras], ids=["keras 3", "keras 2"])


def nested(k):
    """Returns a model with a nested one, a layer that is called twice, and one that does nothing here."""
    inner = [k.Input((8,)), k.layers.Dense(4, name="dense"), k.layers.Activation("linear", name="linear")]
    encoder, shared = k.Sequential(inner, name="encoder"), k.layers.Dense(4, name="shared")
    x = k.Input((8,), name="x")
    y = k.layers.Dense(2, name="head")(shared(shared(encoder(x))))
    return k.Model(x, y, name="net")


def run(ed, model, x):
    """Returns what the layer of a name gives in the graph, as a function of the name."""
    session = ed.session()
    feeds = dict(zip(ed.inputs.values(), tf.nest.flatten(x), strict=True))
    return lambda tensor: session.run(tensor, feeds)


@KERAS
def test_layers_of_a_nested_model_have_paths(k):
    model = nested(k)
    ed = gs.open(model)
    assert [(one.path, one.class_name) for one in ed.layers] == [
        ("x", "InputLayer"), ("encoder", "Sequential"), ("encoder/dense", "Dense"), ("encoder/linear", "Activation"),
        ("shared", "Dense"), ("head", "Dense"),
    ]  # fmt: skip
    dense, encoder = ed.layer("encoder/dense"), ed.layer("encoder")
    assert ed.layer("dense") == dense
    assert ed.layer(model.get_layer("head")) == ed.layer("head")
    assert dense.variables == encoder.variables
    assert [name.rpartition("/")[2] for name in dense.variables] == ["kernel", "bias"]
    assert set(dense.ops) <= set(encoder.ops)
    assert dense.inputs == encoder.inputs == ("x:0",)
    assert set(dense.variables) < set(ed.snapshot.names)
    assert ed.layer("linear").inputs == dense.outputs
    assert ed.layer("shared").inputs[:1] == ed.layer("linear").outputs == encoder.outputs
    x = np.random.RandomState(0).rand(3, 8).astype("float32")
    np.testing.assert_allclose(run(ed, model, x)(dense.outputs[0]), model.get_layer("encoder")(x), rtol=1e-5)


@KERAS
def test_a_shared_layer_has_a_call_for_each_use(k):
    shared = gs.open(nested(k)).layer("shared")
    first, second = shared.calls
    assert first.outputs == second.inputs
    assert not set(first.ops) & set(second.ops)
    assert shared.ops == first.ops + second.ops
    assert len(shared.variables) == 2


@KERAS
def test_every_op_between_input_and_result_is_of_one_layer(k):
    """No op of a functional model without operators is left over, and only a nested one is in two layers."""
    ed = gs.open(nested(k))
    outer = [op for one in ed.layers if "/" not in one.path for op in one.ops]
    assert len(outer) == len(set(outer))
    ends = {name.partition(":")[0] for name in ed.outputs.values()}
    rest = set(ed.select(outputs=list(ed.outputs.values())).names) - set(outer) - ends
    assert {ed.op(name).type for name in rest} <= {"NoOp", "VarHandleOp"}


@KERAS
def test_several_inputs_and_outputs(k):
    a, b = k.Input((2,), name="a"), k.Input((3,), name="b")
    both = k.layers.Concatenate(name="both")([a, b])
    ed = gs.open(k.Model({"a": a, "b": b}, [k.layers.Dense(2, name="left")(both), k.layers.ReLU(name="right")(both)]))
    assert ed.layer("a").outputs == (ed.inputs["a"],)
    assert ed.layer("both").inputs == (ed.inputs["a"], ed.inputs["b"])
    assert [ed.layer(name).inputs for name in ("left", "right")] == [ed.layer("both").outputs] * 2


@KERAS
def test_recurrent_layers(k):
    steps = [k.Input((5, 3)), k.layers.Bidirectional(k.layers.LSTM(4, name="lstm"), name="both"), k.layers.Dense(1)]
    model = k.Sequential(steps)
    ed = gs.open(model)
    paths = [one.path for one in ed.layers]
    assert {"both", "both/forward_lstm", "both/backward_lstm"} <= set(paths)
    assert [len(ed.layer(path).variables) for path in ("both", "forward_lstm", "backward_lstm")] == [6, 3, 3]
    x = np.random.RandomState(0).rand(2, 5, 3).astype("float32")
    want = model.layers[0](x)
    np.testing.assert_allclose(run(ed, model, x)(ed.layer("both").outputs[0]), want, rtol=1e-5, atol=1e-6)


class Block(keras.layers.Layer):
    """A layer of a user, with layers of its own."""

    def __init__(self):
        super().__init__(name="block")
        self.first, self.second = keras.layers.Dense(4, name="first"), keras.layers.Dense(4, name="second")

    def call(self, x):
        return self.second(self.first(x)) + x


class Written(keras.Model):
    """A model that is written as a class; two of its layers have one name."""

    def __init__(self):
        super().__init__(name="written")
        self.block, self.head = Block(), keras.layers.Dense(2, name="head")
        self.other = keras.layers.Dense(2, name="head")

    def call(self, x):
        y = self.block(x)
        return {"out": self.head(y), "other": self.other(y)}


def test_a_model_that_is_written_as_a_class():
    model = Written()
    model(np.ones((1, 4), np.float32))
    ed = gs.open(model)
    assert [one.path for one in ed.layers] == ["block", "block/first", "block/second", "head", "head"]
    assert ed.layer("second").inputs == ed.layer("block/first").outputs
    assert ed.tensor(ed.layer("block").outputs[0]).op.type == "AddV2"
    with refuses(SelectionError, "layer('head'): 2 layers are called 'head'", "ed.layers[0]"):
        ed.layer("head")


def test_mixed_precision_casts_are_of_the_layer():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, keras.layers.Dense(2, dtype="mixed_float16", name="half")(x))
    ed = gs.open(model)
    half = ed.layer("half")
    assert half.inputs == ("x:0",)
    assert "Cast" in {ed.op(name).type for name in half.ops}
    assert ed.tensor(half.outputs[0]).dtype == tf.float16


def test_preprocessing_layers():
    words = keras.layers.TextVectorization(vocabulary=["a", "b"], output_sequence_length=3, name="words")
    x = keras.Input((1,), dtype="string", name="x")
    y = keras.layers.Embedding(4, 2, name="vectors")(words(x))
    ed = gs.open(keras.Model(x, y))
    assert [one.path for one in ed.layers if "/" not in one.path] == ["x", "words", "vectors"]
    assert ed.layer("vectors").inputs == ed.layer("words").outputs
    image = keras.Input((4, 4, 3), name="image")
    scaled = keras.layers.Rescaling(1 / 255, name="scaled")(image)
    ed = gs.open(keras.Model(image, keras.layers.Normalization(mean=0.5, variance=0.1, name="centred")(scaled)))
    assert ed.layer("scaled").outputs == ed.layer("centred").inputs


def test_a_layer_alone_is_a_layer():
    ed = gs.open(keras.layers.Dense(3, name="alone"), signature=tf.TensorSpec([None, 2]))
    assert [one.path for one in ed.layers] == ["alone"]
    assert ed.layer("alone").variables == ("alone/kernel", "alone/bias")


def test_for_training_the_updates_are_of_the_layer():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, keras.layers.BatchNormalization(name="norm")(x))
    train, plain = (gs.open(model, training=mode).layer("norm") for mode in (True, False))
    assert len(train.ops) > len(plain.ops)


@KERAS
def test_the_class_of_layers_is_as_it_was(k):
    base = k.layers.Layer
    before = base.__call__

    def fails():
        with observe_calls([base]):
            assert base.__call__ is not before
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fails()
    assert base.__call__ is before


def test_calls_outside_a_graph_and_in_other_threads_are_not_noted():
    layer, x = keras.layers.Dense(2), np.ones((1, 2), np.float32)

    def elsewhere():
        tf.function(layer).get_concrete_function(tf.TensorSpec([1, 2]))

    layer(x)
    with observe_calls([keras.layers.Layer]) as seen:
        layer(x)
        other = threading.Thread(target=elsewhere)
        other.start()
        other.join()
        assert seen == []


def test_what_has_no_layers_says_why():
    with tf.Graph().as_default() as graph:
        tf.constant(1.0)
    assert str(gs.open(graph).layers) == (
        "no layers: it was not opened from a Keras model or a tf.Module, and only these list their layers"
    )
    ed = gs.open(tf.function(lambda x: x * 2.0), signature=tf.TensorSpec([2]))
    assert len(ed.layers) == 0
    problem = "no Keras layer or module is called in it, or none with a scope or function of its name"
    with refuses(
        SelectionError, f"layer('dense'): the graph has no layers: {problem}", "Open the keras.Model or tf.Mod"
    ):
        ed.layer("dense")


# -- modules, and functions that call layers -------------------------------------------------------------


def reported(layers):
    """Returns path and class of each layer."""
    return [(one.path, one.class_name) for one in layers]


WHOLE = [("enc", "Encoder"), ("enc/first", "Dense"), ("enc/more/0", "Dense"), ("enc/more/1", "Dense"),
         ("head", "Head")]  # fmt: skip


def test_the_modules_of_a_module_are_its_layers():
    net = modules.Net()
    ed = gs.open(net, function="forward")
    assert reported(ed.layers) == WHOLE
    first, second = ed.layer("first").calls
    assert first.inputs == ed.layer("enc").inputs == ("x:0",)
    assert second.inputs == first.outputs
    assert ed.layer("enc/more/0").inputs == second.outputs
    assert ed.layer("enc/more/1").inputs == ed.layer("enc/more/0").outputs
    assert ed.layer("enc/more/1").variables == ("encoder/two/w_1",)
    assert set(ed.layer("enc").variables) > set(ed.layer("first").variables) == {"encoder/dense/w"}
    assert ed.layer("head").inputs == ed.layer("enc").outputs
    x = np.random.RandomState(0).rand(2, 3).astype("float32")
    got = ed.session().run([first.outputs[0], *ed.outputs.values()], {"x:0": x})
    np.testing.assert_allclose(got[0], net.enc.first(x), rtol=1e-5)
    np.testing.assert_allclose(got[1], net.forward(x), rtol=1e-5)
    assert set(ed.select(layer="enc/first").names) == {*ed.layer("first").ops, "encoder/dense/w"}
    assert "encoder/two/w_1" in ed.find("layer:enc/more/*")
    assert ed.find("layer-type:head") == ["w", *ed.layer("head").ops]
    assert ed.select(inputs="enc", outputs="head").names == ["w", *ed.layer("head").ops]
    assert layer_rows(ed.snapshot, ed.layers, "encoder/dense/") == (
        [["layer", "enc/first"], ["class", "Dense"], ["variable", "encoder/dense/w"]], "ed.layer('enc/first')",
    )  # fmt: skip


def test_a_module_is_called_as_it_is_while_it_is_watched():
    net, kinds = modules.Net(), (modules.Dense, modules.Encoder, modules.Head, modules.Net)
    before = [dict(vars(kind)) for kind in kinds]
    ed = gs.open(net, function="forward")
    assert [dict(vars(kind)) for kind in kinds] == before
    assert "StatelessIf" in {ed.op(name).type for name in ed.layer("first").ops}  # its `if` is graph code
    with observe_calls([], [modules.Dense]) as seen:
        net.enc.first(tf.ones([1, 3]))  # outside of a graph
        assert seen == []


def test_a_module_that_was_traced_before_is_told_by_its_variables():
    net = modules.Net()
    net.forward.get_concrete_function()
    by_module, by_method = gs.open(net, function="forward"), gs.open(net.forward)
    assert (
        reported(by_module.layers) == reported(by_method.layers) == [WHOLE[0], WHOLE[1], WHOLE[4]]
    )  # two share a scope
    fresh = gs.open(modules.Net(), function="forward")
    for path in ("enc", "head"):
        assert by_module.layer(path) == fresh.layer(path)
    assert by_module.layer("first").ops == fresh.layer("first").ops
    alone = gs.open(net.forward.get_concrete_function())  # which knows names only
    assert reported(alone.layers) == [("encoder", ""), ("encoder/dense", "")]
    assert alone.layer("encoder").calls == fresh.layer("enc").calls
    assert alone.layers.text == "2 (class unknown 2)"


def test_a_function_that_calls_layers_and_modules_has_them():
    model, net = nested(keras), modules.Net()
    spec = tf.TensorSpec([None, 8], name="x")
    both = tf.function(lambda x: net.enc(model(x)[:, :1] + tf.ones([1, 3])))
    ed = gs.open(both, signature=spec)
    assert reported(ed.layers) == [
        ("net", "Functional"), ("net/encoder", "Sequential"), ("net/encoder/dense", "Dense"),
        ("net/encoder/linear", "Activation"), ("net/shared", "Dense"), ("net/head", "Dense"),
        ("net/enc", "Encoder"), ("net/enc/first", "Dense"), ("net/enc/more/0", "Dense"), ("net/enc/more/1", "Dense"),
    ]  # fmt: skip
    assert len(ed.layer("net/shared").calls) == 2
    assert ed.layer("net/head").outputs == ed.layer("net").outputs
    whole = tf.function(model)
    whole.get_concrete_function(spec)
    again = gs.open(whole)  # traced before: those with variables
    assert reported(again.layers) == [
        ("net", "Functional"), ("net/encoder", "Sequential"), ("net/encoder/dense", "Dense"), ("net/shared", "Dense"),
        ("net/head", "Dense"),
    ]  # fmt: skip
    fresh = gs.open(nested(keras))
    for name in ("dense", "shared", "head"):
        for call, other in zip(again.layer(name).calls, fresh.layer(name).calls, strict=True):
            assert [op.partition("/")[2] for op in call.ops] == [op.partition("/")[2] for op in other.ops]


def test_an_object_that_is_no_module_can_hold_layers():
    class Trainer:
        def __init__(self):
            self.parts = {"net": modules.Dense("net")}

        @tf.function(input_signature=[modules.X])
        def step(self, x):
            return self.parts["net"](x)

    trainer = Trainer()
    assert reported(gs.open(trainer.step).layers) == [("parts/net", "Dense")]


def test_a_module_may_forget_to_be_made_as_one():
    class Bare(tf.Module):
        def __init__(self):
            self.inner = modules.Head()

        def twice(self, x):
            return self.inner(x) * 2.0

    bare = Bare()
    ed = gs.open(tf.function(lambda x: bare.twice(x)), signature=modules.X)
    assert reported(ed.layers) == [("Bare", "Bare"), ("Bare/inner", "Head")]


@pytest.mark.parametrize("call", ["function", "keras_layer"])
def test_what_goes_in_leads_to_what_comes_out(call):
    ed = gs.open(nested(keras))
    make, first = getattr(ed, call), ed.layer("encoder/dense").inputs[0]
    request = f"{call}(outputs='dense')"
    problem = f"{request}: {ed.layer('dense').outputs[0]!r} is both an input and an output, so nothing is computed"
    with refuses(SelectionError, problem, f"For the layer itself type inputs={first!r}"):
        make("dense", "dense")
    with refuses(SelectionError, "is both an input and an output", "Name an output that is computed from it"):
        make("x:0", "x:0")
    last = ed.layer("head").outputs[0]
    with refuses(SelectionError, f"the boundary does not connect: {last!r} does not lead to", "Leave it out"):
        make(["x:0", last], ed.layer("dense").outputs[0])
    assert make("x:0", "dense")(np.ones((1, 8), "float32")).shape == (1, 4)


def test_edits_move_the_layers_along():
    ed = gs.open(nested(keras))
    head, encoder = ed.layer("head"), ed.layer("encoder")
    ed.apply(ed.plan().rename(head.outputs[0].partition(":")[0], to="answer"))
    assert ed.layer("head").outputs == ("answer:0",)
    assert set(ed.layer("head").ops) <= set(ed.snapshot.names)
    assert ed.layer("encoder") == encoder
    ed.undo()
    assert ed.layer("head") == head
    ed.redo()
    assert ed.layer("head").outputs == ("answer:0",)


def test_layers_are_selected_searched_and_used_as_ends():
    ed = gs.open(nested(keras))
    dense = ed.layer("encoder/dense")
    assert ed.select(layer="dense").names == [n for n in ed.snapshot.names if n in (*dense.ops, *dense.variables)]
    products = ed.select(layer=["enc*", "head"], op="MatMul").expect(2)
    assert set(products.names) < set(ed.find("layer-type:dense op:MatMul"))
    assert ed.select(layer="dense") == ed.select(layer=dense)
    assert "layer='head'" in ed.plan().copy(ed.select(layer="head"), to="copy", unmapped="placeholder").to_code()
    region = ed.select(inputs="encoder", outputs="head")
    assert region == ed.select(inputs=dense.outputs[0], outputs=ed.layer("head").outputs[0])
    assert region.boundary.inputs == ed.layer("encoder").outputs
    with refuses(SelectionError, "select(inputs='shared'): the layer 'shared' is called 2 times"):
        ed.select(inputs="shared", outputs="head")
    with refuses(SelectionError, "select(outputs='heat'): there is no layer 'heat'", "Did you mean 'head'?"):
        ed.select(outputs="heat")
    with refuses(SelectionError, "no layer fits 'z*'", "It has 'x', 'encoder', 'encoder/dense' and 3 more"):
        ed.select(layer="z*")


def test_layers_are_marked_on_screen():
    ed = gs.open(nested(keras))
    ed.screen.mark_input("encoder")
    ed.screen.mark_output("head")
    marks = ed.screen.state.marks
    assert (marks.inputs, marks.outputs) == (ed.layer("encoder").outputs, ed.layer("head").outputs)
    assert ed.screen.find("layer:head")["total"] == len(ed.select(layer="head"))


def test_the_box_of_a_layer_says_so_and_can_be_marked():
    ed = gs.open(nested(keras))
    scope = next(name for name, (one, _) in scopes_of(ed.snapshot, ed.layers).items() if one.path == "head")
    ed.screen.set_depth(1)
    boxes = {box["name"]: box["subtitle"] for box in ed.screen.traits()["scenes"]["source"]["boxes"]}
    assert boxes[scope].startswith("Dense · ")
    ed.screen.mark_output(scope)
    assert ed.screen.state.marks.outputs == ed.layer("head").outputs
    details = ed.screen.details(scope)
    assert details["rows"][:2] == [["layer", "head"], ["class", "Dense"]]
    assert details["python"] == "ed.layer('head')"
    whole = scope.partition("/")[0] + "/"
    ed.screen.clear_boundary()
    ed.screen.mark_output(whole)  # no layer, but a box that one tensor leaves
    assert ed.screen.state.marks.outputs == ed.layer("head").outputs


def whole(ed):
    """Asserts that all that is said of layers is in the graph, and that a layer that is listed has ops there."""
    graph = ed.snapshot
    for layer in ed.layers:
        assert {*layer.ops, *layer.variables} <= {*graph.names}, layer
        for tensor in (*layer.inputs, *layer.outputs):
            graph.tensor(tensor)
        for call in layer.calls:
            made = set(call.ops)
            assert call.outputs
            assert {t.partition(":")[0] for t in call.outputs} <= {*made, *(t.partition(":")[0] for t in call.inputs)}
            fed = {t for op in made for t in graph.input_names(graph.index[op]) if t.partition(":")[0] not in made}
            assert not made or set(call.inputs) <= fed, layer
    assert not {layer.path for layer in ed.layers} & ed.layers.removed.keys()


def even():
    """Returns a model in which every layer gives what every other could take."""
    layers = keras.layers
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(4, name="dense"), layers.ReLU(name="relu")], name="inner")
    shared, x = layers.Dense(4, name="shared"), keras.Input((4,), name="x")
    y = layers.Dropout(0.5, name="drop")(shared(inner(shared(x))))
    return keras.Model(x, layers.Dense(4, name="head")(y), name="even")


def any_plan(ed, step, chance):
    """Returns a plan that copies, removes, adds, renames or rewires something of a layer."""
    graph, layers = ed.snapshot, ed.layers
    one, two = (chance.choice(layers[1:] or layers) for _ in range(2))
    op = chance.choice([name for name in graph.names if name not in ed.outputs.values()])
    kind, plan = chance.randrange(9), ed.plan()
    if kind == 0:
        return plan.copy(ed.select(layer=one.path), to=f"again{step}", unmapped="placeholder")
    if kind == 1:
        part = ed.select(inputs=one.inputs, outputs=two.outputs)
        return plan.copy(part, to=f"part{step}", unmapped="placeholder")
    if kind == 2:
        return plan.reroute(one.outputs[0], to=one.inputs[0]).remove(one.ops)
    if kind == 3:
        return plan.remove(op, stitch=True)
    if kind == 4:
        return plan.bypass(ed.select(layer=one.path))
    if kind == 5:
        return plan.insert("Identity", on=chance.choice([*one.inputs, *one.outputs]), name=f"new{step}")
    if kind == 6:
        return plan.rename(op, f"renamed{step}")
    if kind == 7:
        return plan.rename(chance.choice(graph.scopes.names[1:]), f"scope{step}")
    return plan.reroute(one.outputs[0], to=two.outputs[0]).on_copies(f"slice{step}")


@pytest.mark.parametrize("seed", range(8))
def test_layers_stay_right_whatever_plans_do(seed):
    chance = random.Random(seed)
    ed = gs.open(even())
    said = [str(ed.layers)]
    for step in range(4):
        try:
            ed.apply(any_plan(ed, step, chance))
        except SurgeryError:
            continue
        whole(ed)
        said.append(str(ed.layers))
    assert len(said) > 1
    for before in reversed(said[:-1]):
        ed.undo()
        assert str(ed.layers) == before


def test_a_copy_has_the_layers_of_what_was_copied():
    ed, other = gs.open(even()), gs.open(tf.Graph(), title="other")
    part = ed.select(inputs="x", outputs="inner")
    done = other.apply(other.plan().copy(part, to="graft", unmapped="placeholder", values=ed))
    assert [(one.path, one.class_name) for one in other.layers] == [
        ("graft/shared", "Dense"), ("graft/inner", "Sequential"), ("graft/inner/dense", "Dense"),
        ("graft/inner/relu", "ReLU"),
    ]  # fmt: skip
    dense = other.layer("graft/inner/dense")
    assert dense == other.layer("dense")
    assert dense.outputs == (done[ed.layer("dense").outputs[0]].name,)
    assert len(other.layer("shared").calls) == 1  # the other call stayed where it was
    assert other.select(layer="dense").names
    other.apply(other.plan().rename("graft", "here"))
    assert other.layer("dense").ops[0].startswith("here/")
    other.undo()
    other.undo()
    assert not other.layers


class Calls(keras.layers.Layer):
    """A layer that calls a function."""

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1],), initializer="ones", name="w")
        self.f = tf.function(lambda x: tf.nn.relu(x) * self.w)

    def call(self, x):
        return self.f(x) + 1.0


def test_a_call_that_is_inlined_is_of_the_layer_that_made_it():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, keras.layers.Dense(2, name="head")(Calls(name="calls")(x)), name="net")
    ed = gs.open(model)
    apart = ed.inlined()
    whole(apart)
    assert {"Relu", "Mul", "AddV2"} <= {apart.op(name).type for name in apart.layer("calls").ops}
    assert apart.layer("head") == ed.layer("head")
    rows = np.random.RandomState(0).rand(3, 4).astype(np.float32)
    assert apart.keras_model().surgery.rebuilt_layers == {"calls": f"{ed.layer('calls').ops[0]!r} is gone"}
    ed.apply(ed.plan().insert("Tanh", on=ed.layer("head").outputs[0], name="end"))
    for one in (ed, ed.inlined()):
        np.testing.assert_allclose(one.keras_model()(rows), np.tanh(model(rows)), rtol=1e-6)


# -- inside of loops and conditions --------------------------------------------------------------------


@keras.saving.register_keras_serializable("tests")
class Rounds(keras.layers.Layer):
    """A layer that calls another one in a loop and in a branch."""

    def __init__(self, **options):
        super().__init__(**options)
        self.cell = keras.layers.Dense(4, "relu", name="cell")

    def build(self, shape):
        self.cell.build(shape)

    def call(self, x):
        _, x = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, self.cell(x)), [tf.constant(0), x])
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: self.cell(x), lambda: x * 2.0)


class Net(keras.Model):
    """A model, written as a class, with a loop that AutoGraph makes."""

    def __init__(self):
        super().__init__(name="net")
        self.cell, self.head = keras.layers.Dense(4, "relu", name="cell"), keras.layers.Dense(2, name="head")

    @tf.function(autograph=True)
    def loop(self, x):
        for _ in tf.range(3):
            x = self.cell(x)
        return x

    def call(self, x):
        return self.head(self.loop(x))


def rounds():
    x = keras.Input((4,), name="x")
    return keras.Model(x, keras.layers.Dense(2, name="head")(Rounds(name="rounds")(x)), name="net")


def inside(ed):
    """Asserts of layers inside of calls too that all that is said of them is in the graph, unfolded to there."""
    for layer in ed.layers:
        for call in layer.calls:
            graph = ed.screen.around([*call.ops, *call.inputs, *call.outputs])
            made = set(call.ops)
            assert {*call.ops, *layer.variables} <= {*graph.names}, layer
            assert {t.partition(":")[0] for t in call.outputs} <= made or call.outputs == call.inputs, layer
            fed = {t for op in made for t in graph.input_names(graph.index[op]) if t.partition(":")[0] not in made}
            assert not made or set(call.inputs) <= fed, layer


def test_a_layer_in_a_loop_or_a_branch_has_its_ops_there(tmp_path):
    model = rounds()
    path = str(tmp_path / "net.keras")
    model.save(path)
    for ed in (gs.open(model), gs.open(path)):
        inside(ed)
        assert [(one.path, one.class_name) for one in ed.layers] == [
            ("x", "InputLayer"), ("rounds", "Rounds"), ("rounds/cell", "Dense"), ("head", "Dense"),
        ]  # fmt: skip
        loop, branch = ed.layer("cell").calls
        lead = ed.layer("rounds").ops[0].rpartition("/")[0]
        assert all(op.startswith(f"{lead}/while/body/{lead}/while/cell_1/") for op in loop.ops)
        assert all(op.startswith(f"{lead}/cond/then_branch/{lead}/cond/cell_1/") for op in branch.ops)
        assert len(loop.inputs) == len(branch.inputs) == 1  # an argument of the loop, and what the branch captures
        assert ed.layer("cell").variables == ed.layer("rounds").variables
        assert [name.rpartition("/")[2] for name in ed.layer("cell").variables] == ["kernel", "bias"]


def test_a_layer_in_a_function_that_a_model_calls():
    model = Net()
    model(tf.zeros([2, 4]))
    ed = gs.open(model, signature=tf.TensorSpec([None, 4], name="x"))
    inside(ed)
    assert [one.path for one in ed.layers] == ["cell", "head"]
    (call,) = ed.layer("cell").calls
    assert "/body/" in call.ops[0]
    assert {ed.screen.whole.types[ed.screen.whole.index[op]] for op in call.ops} >= {"MatMul", "Relu"}


def test_a_function_with_a_loop_has_the_layers_in_it():
    cell, twice = keras.layers.Dense(4, name="cell"), keras.layers.Dense(4, name="twice")
    cell.build((None, 4))
    twice.build((None, 4))
    again = tf.function(lambda x: twice(x))

    @tf.function(input_signature=[tf.TensorSpec([None, 4], name="x")])
    def f(x):
        for _ in tf.range(3):
            x = cell(x)
        return again(again(x))

    ed = gs.open(f)
    inside(ed)
    assert [(one.path, len(one.calls)) for one in ed.layers] == [("cell", 1), ("twice", 2)]
    first, second = ed.layer("twice").calls  # one trace, called twice
    assert (first.inputs, second.inputs) == (("while:3",), ("StatefulPartitionedCall:0",))


def test_a_layer_in_a_loop_is_searched_selected_and_cut_at():
    ed = gs.open(rounds())
    cell = ed.layer("cell")
    assert set(ed.find("layer:cell op:MatMul", 99)) == {op for op in cell.ops if op.endswith("MatMul")}
    assert ed.screen.find("layer:cell")["total"] == len(ed.select(layer="cell")) == len(cell.ops) + 2
    both = ed.select(layer=["rounds", "cell"])  # what is in the loop is of the layer that made the loop
    assert {*cell.ops, *ed.layer("rounds").ops} < {*both.names}
    assert [name for name in both.names if name in ed.snapshot.index] == ed.select(layer="rounds").names
    loop = cell.calls[0]
    part = ed.select(inputs=loop.inputs, outputs=loop.outputs)
    assert set(loop.ops) <= set(part.names)
    scope = loop.ops[0].partition("/cell_1/")[0] + "/cell_1/"
    ed.screen.reveal(loop.outputs[0])
    assert ed.screen.details(scope)["rows"][0] == ["layer", "rounds/cell"]
    assert ed.screen.details(loop.ops[-1])["rows"][0] == ["of layer", "rounds/cell (Dense)"]
    boxes = {box["name"]: box["subtitle"] for box in ed.screen.traits()["scenes"]["source"]["boxes"]}
    assert boxes.get(scope, "Dense · ").startswith("Dense · ")
    ed.screen.mark_output(scope)
    assert ed.screen.state.marks.outputs == loop.outputs
    other = gs.open(tf.Graph())
    done = other.apply(other.plan().copy(part, to="cut", unmapped="placeholder", values=ed))
    (copy,) = [one for one in other.layers if one.name == "cell"]
    assert set(copy.ops) <= set(other.snapshot.names)
    assert copy.outputs == (done[loop.outputs[0]].name,)
    whole(other)


def test_layers_in_loops_follow_edits_copies_and_inlining():
    ed = gs.open(rounds())
    before = str(ed.layers)
    lead = ed.layer("rounds").ops[0].rpartition("/")[0]
    ed.apply(ed.plan().rename(lead, "new"))
    assert ed.layer("cell").calls[0].ops[0].startswith(f"new/while/body/{lead}/while/cell_1/")
    inside(ed)
    ed.apply(ed.plan().copy(ed.select(layer="rounds"), to="again", unmapped="placeholder"))
    assert ed.layer("again/rounds/cell").calls[0].ops[0].startswith(f"again/new/while/body/{lead}/while/cell_1/")
    inside(ed)
    ed.apply(ed.plan().remove(ed.layer("head").ops[-1], stitch=True))
    inside(ed)
    for _ in range(3):
        ed.undo()
    assert str(ed.layers) == before
    apart = ed.inlined()
    inside(apart)
    assert apart.layer("cell").calls
    cell = ed.layer("cell").calls[0]
    ed.apply(ed.plan().insert("Tanh", on=cell.outputs[0], name="in_the_loop"))
    inside(ed)
    assert len(ed.layer("cell").calls) == 2
    ed.undo()
    ed.apply(ed.plan().reroute(ed.layer("rounds").outputs[0], to="x:0").remove(ed.layer("rounds").ops))
    inside(ed)
    assert {"rounds", "rounds/cell"} <= ed.layers.removed.keys()


def test_a_cell_in_a_loop_is_in_the_saved_model_too(tmp_path):
    model = rounds()
    model.export(str(tmp_path / "keras"), verbose=False)
    ed = gs.open(str(tmp_path / "keras"))
    inside(ed)
    loop, branch = ed.layer("cell").calls
    assert {"MatMul", "BiasAdd", "Relu"} <= {ed.screen.whole.types[ed.screen.whole.index[op]] for op in loop.ops}
    assert "/body/" in loop.ops[0]
    assert "/then_branch/" in branch.ops[0]
    assert set(ed.find("layer:cell", 99)) == {*loop.ops, *branch.ops, *ed.layer("cell").variables}
