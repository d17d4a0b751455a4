"""The name of a layer is accepted everywhere that ops, tensors and selections are, and means the same."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError, SurgeryError
from graphsurgeon.graph.conversion_verdict import ConversionResult
from graphsurgeon.graph.layers import Layer, LayerCall, Layers
from graphsurgeon.graph.names import op_name
from graphsurgeon.graph.open_graph import OpenedGraph
from graphsurgeon.tf.save import save
from tests.refusal import refuses

#: Multiples of 1/256; with the weights of `ed`, sums are exact in any order, and two runs are equal to the last bit.
IMAGE = (np.arange(256, dtype="float32") / 256).reshape(1, 16, 16, 1)
FEED = {"image:0": IMAGE}
FEATURES = np.ones((1, 16), "float32")
RECIPES = gs.recipes


@pytest.fixture(scope="module")
def ed() -> gs.Editor:
    opened = gs.open(gs.examples.classifier(), trust=True)
    weights = {name: np.round(opened.value(name) * 4) / 4 for name in opened.snapshot.state.variables}
    gs.transfer(weights, opened)
    return opened


def scope_of(ed: gs.Editor, name: str) -> str:
    """The scope that has the ops of a layer."""
    return op_name(ed.layer(name).outputs[0]).rpartition("/")[0]


#: What the name of a layer means: a kind of place -> the ops or tensors to type instead.
MEANS: dict[str, Callable[[gs.Editor, str], Any]] = {
    "tensor": lambda ed, name: ed.layer(name).outputs[0],
    "op": lambda ed, name: op_name(ed.layer(name).outputs[0]),
    "ops": lambda ed, name: [*ed.layer(name).ops, *ed.layer(name).variables],
    "selection": lambda ed, name: ed.select(layer=name),
    "scope": scope_of,
    "consumer": lambda ed, name: f"{scope_of(ed, name)}/Conv2D",
    "reached": lambda ed, name: ed.select(name=MEANS["op"](ed, name)),
}

CASES: dict[str, tuple[str, Callable[[gs.Editor, Any], Any]]] = {
    "Editor.op.name": ("op", lambda ed, x: ed.op(x).name),
    "Editor.tensor.name": ("tensor", lambda ed, x: ed.tensor(x).name),
    "Editor.provenance.op": ("op", lambda ed, x: ed.provenance(x).op),
    "Editor.select.name": ("ops", lambda ed, x: ed.select(name=x)),
    "Editor.select.inputs": ("tensor", lambda ed, x: ed.select(inputs=x, outputs="scores")),
    "Editor.select.outputs": ("tensor", lambda ed, x: ed.select(inputs="image", outputs=[x])),
    "Editor.explain.op": ("op", lambda ed, x: str(ed.explain(x, "Identity"))),
    "Editor.explain.selection": ("ops", lambda ed, x: str(ed.explain("image", x))),
    "Editor.removal_blockers.ops": ("ops", lambda ed, x: str(ed.removal_blockers(x))),
    "Editor.match.pattern": ("selection", lambda ed, x: [one.ops for one in ed.match(x)]),
    "Editor.match.within": ("ops", lambda ed, x: len(ed.match(ed.select(op="Max"), within=x))),
    "Editor.check.outputs": ("tensor", lambda ed, x: ed.check("tflite", x, "image").outputs),
    "Editor.check.inputs": ("tensor", lambda ed, x: ed.check("tflite", "scores", x).inputs),
    "Editor.trace.feeds": ("tensor", lambda ed, x: traced(ed.trace({x: FEATURES}, "Identity"))),
    "Editor.trace.fetches": ("tensor", lambda ed, x: traced(ed.trace(FEED, [x]))),
    "Editor.trace.ops": ("ops", lambda ed, x: traced(ed.trace(FEED, ops=x))),
    "Editor.feeds_needed.fetches": ("tensor", lambda ed, x: str(ed.feeds_needed(x))),
    "Editor.save.outputs": ("tensor", lambda ed, x: ed.save("a.pb", outputs=x, inputs="image").ops),
    "Editor.save.inputs": ("tensor", lambda ed, x: ed.save("a.pb", outputs="scores", inputs=[x]).ops),
    "Editor.save.signatures": ("tensor", lambda ed, x: ed.save("a", signatures={"a": ("image", {"y": x})}).ops),
    "Editor.save.feeds": ("tensor", lambda ed, x: ed.save(
        "a.pb", outputs="scores", inputs="features", feeds={x: FEATURES}).proof),
    "Editor.function.inputs": ("tensor", lambda ed, x: numbers(ed.function(x, "scores")(FEATURES))),
    "Editor.function.outputs": ("tensor", lambda ed, x: numbers(ed.function("image", x)(IMAGE))),
    "Editor.function.also": ("op", lambda ed, x: numbers(ed.function("image", "conv1", also=x)(IMAGE))),
    "Editor.keras_layer.inputs": ("tensor", lambda ed, x: numbers(ed.keras_layer(x, "scores")(FEATURES))),
    "Editor.keras_layer.outputs": ("tensor", lambda ed, x: numbers(ed.keras_layer("image", x)(IMAGE))),
    "Editor.keras_layer.training": ("tensor", lambda ed, x: ed.keras_layer("image", "scores", training=x)),
    "Editor.keras_model.inputs": ("tensor", lambda ed, x: numbers(ed.keras_model(x, "scores")(FEATURES))),
    "Editor.keras_model.outputs": ("tensor", lambda ed, x: numbers(ed.keras_model("image", x)(IMAGE))),
    "Editor.keras_model.training": ("tensor", lambda ed, x: ed.keras_model("image", "scores", training=x)),
    "Editor.inlined.calls": ("op", lambda ed, x: ed.inlined(x)),
    "Editor.paint.values": ("ops", lambda ed, x: ed.paint(
        {x: 1.0} if isinstance(x, str) else dict.fromkeys(x, 1.0)).screen.state.paint.values),
    "Plan.copy.selection": ("selection", lambda ed, x: ed.plan().copy(x, to="c")),
    "Plan.copy.inputs": ("tensor", lambda ed, x: ed.plan().copy("scores", to="c", inputs={x: "conv1"})),
    "Plan.connect.tensor": ("tensor", lambda ed, x: ed.plan().connect(x, to="Identity")),
    "Plan.connect.to": ("consumer", lambda ed, x: ed.plan().connect("image", to=x)),
    "Plan.with_input.tensor": ("tensor", lambda ed, x: copied(ed).with_input(0, x, "conv1")),
    "Plan.with_input.replacement": ("tensor", lambda ed, x: copied(ed).with_input(0, "features", x)),
    "Plan.reroute.old": ("tensor", lambda ed, x: ed.plan().reroute(x, to="conv2")),
    "Plan.reroute.to": ("tensor", lambda ed, x: ed.plan().reroute("image", to=x)),
    "Plan.reroute.only": ("ops", lambda ed, x: ed.plan().reroute("image", to="conv1", only=x)),
    "Plan.reroute.exclude": ("ops", lambda ed, x: ed.plan().reroute("image", to="conv1", exclude=x)),
    "Plan.swap.a": ("tensor", lambda ed, x: ed.plan().swap(x, "conv2")),
    "Plan.swap.b": ("tensor", lambda ed, x: ed.plan().swap("conv2", x)),
    "Plan.bypass.ops": ("ops", lambda ed, x: ed.plan().bypass(x)),
    "Plan.detach.ops": ("ops", lambda ed, x: ed.plan().detach(x)),
    "Plan.detach.only": ("ops", lambda ed, x: ed.plan().detach("conv1", side="outputs", only=x)),
    "Plan.detach.exclude": ("ops", lambda ed, x: ed.plan().detach("conv1", side="outputs", exclude=x)),
    "Plan.insert.on": ("tensor", lambda ed, x: ed.plan().insert("Relu", on=x, name="new")),
    "Plan.insert.only": ("ops", lambda ed, x: ed.plan().insert("Relu", on="image", name="new", only=x)),
    "Plan.insert.exclude": ("ops", lambda ed, x: ed.plan().insert("Relu", on="image", name="new", exclude=x)),
    "Plan.adapt.tensor": ("tensor", lambda ed, x: ed.plan().adapt(x, dtype="float16")),
    "Plan.adapt.to": ("consumer", lambda ed, x: ed.plan().adapt("image", to=x)),
    "Plan.adapt.only": ("ops", lambda ed, x: ed.plan().adapt("image", to="conv1:0", only=x)),
    "Plan.adapt.exclude": ("ops", lambda ed, x: ed.plan().adapt("image", to="conv1:0", exclude=x)),
    "Plan.remove.ops": ("ops", lambda ed, x: ed.plan().remove(x)),
    "Plan.set_attr.ops": ("ops", lambda ed, x: ed.plan().set_attr(x, "_note", b"a")),
    "Plan.set_device.ops": ("ops", lambda ed, x: ed.plan().set_device(x, "/cpu:0")),
    "Plan.add_control.op": ("op", lambda ed, x: ed.plan().add_control(x, "image")),
    "Plan.add_control.after": ("ops", lambda ed, x: ed.plan().add_control("Identity", x)),
    "Plan.remove_control.op": ("op", lambda ed, x: ed.plan().remove_control(x)),
    "Plan.remove_control.after": ("ops", lambda ed, x: ed.plan().remove_control("Identity", x)),
    "Plan.reroute_control.old": ("op", lambda ed, x: ed.plan().reroute_control(x, to="image")),
    "Plan.reroute_control.to": ("ops", lambda ed, x: ed.plan().reroute_control("image", to=x)),
    "Plan.reroute_control.only": ("ops", lambda ed, x: ed.plan().reroute_control("image", to="conv1", only=x)),
    "Plan.reroute_control.exclude": ("ops", lambda ed, x: ed.plan().reroute_control("image", to="conv1", exclude=x)),
    "Plan.rename.old": ("scope", lambda ed, x: ed.plan().rename(x, to="new")),
    "Plan.on_copies.until": ("tensor", lambda ed, x: ed.plan().reroute("image", to="conv1").on_copies("c", until=x)),
    "Plan.replace.pattern": ("selection", lambda ed, x: ed.plan().replace(x, "Softplus")),
    "Plan.replace.within": ("ops", lambda ed, x: ed.plan().replace(ed.select(op="Max"), "Min", within=x)),
    "Plan.collapse.selection": ("ops", lambda ed, x: ed.plan().collapse(x, name="new")),
    "Plan.inline.calls": ("ops", lambda ed, x: ed.plan().inline(x)),
    "Plan.unroll.loop": ("scope", lambda ed, x: ed.plan().unroll(x, 2)),
    "Plan.resolve_condition.predicate": ("tensor", lambda ed, x: ed.plan().resolve_condition(x, True)),
    "recipes.add_output.tensor": ("tensor", lambda ed, x: RECIPES.add_output(ed, x, "new")),
    "recipes.fold_batch_norm.outputs": ("tensor", lambda ed, x: RECIPES.fold_batch_norm(ed, x)),
    "recipes.for_inference.outputs": ("tensor", lambda ed, x: RECIPES.for_inference(ed, x)),
    "recipes.for_inference.inputs": ("tensor", lambda ed, x: RECIPES.for_inference(ed, "scores", x)),
    "recipes.for_inference.training": ("tensor", lambda ed, x: RECIPES.for_inference(ed, "scores", training=x)),
    "recipes.frozen.outputs": ("tensor", lambda ed, x: names(RECIPES.frozen(ed, x))),
    "recipes.frozen.inputs": ("tensor", lambda ed, x: names(RECIPES.frozen(ed, "scores", x))),
    "recipes.insert_after.pattern": ("reached", lambda ed, x: RECIPES.insert_after(ed, x, "Identity")),
    "recipes.merge.connections": ("tensor", lambda ed, x: names(RECIPES.merge(ed, head(), connections={x: "a"}))),
    "recipes.replace_head.output": ("tensor", lambda ed, x: RECIPES.replace_head(ed, 3, output=x)),
    "recipes.recompute.loss": ("tensor", lambda ed, x: RECIPES.recompute(ed, x)),
    "recipes.set_input.tensor": ("tensor", lambda ed, x: RECIPES.set_input(ed, x, [1, 4])),
    "recipes.set_input.outputs": ("tensor", lambda ed, x: RECIPES.set_input(ed, "image", dtype="uint8", outputs=x)),
    "recipes.set_input.feeds": ("tensor", lambda ed, x: RECIPES.set_input(
        ed, "image", dtype="uint8", outputs="scores", feeds={x: FEATURES})),
    "recipes.set_signature.outputs": ("tensor", lambda ed, x: names(RECIPES.set_signature(ed, x))),
    "recipes.set_signature.inputs": ("tensor", lambda ed, x: names(RECIPES.set_signature(ed, "scores", x))),
    "recipes.split_at.at": ("tensor", lambda ed, x: [names(half) for half in RECIPES.split_at(ed, x, feeds=FEED)]),
    "recipes.split_at.outputs": ("tensor", lambda ed, x: [
        names(half) for half in RECIPES.split_at(ed, "conv1", x, feeds=FEED)]),
    "recipes.split_at.inputs": ("tensor", lambda ed, x: [
        names(half) for half in RECIPES.split_at(ed, "classifier/scores/MatMul", inputs=x)]),
    "recipes.split_at.feeds": ("tensor", lambda ed, x: [
        names(half) for half in RECIPES.split_at(ed, "classifier/scores/MatMul", inputs=x, feeds={x: FEATURES})]),
    "recipes.strip_identities.outputs": ("tensor", lambda ed, x: RECIPES.strip_identities(ed, x)),
    "recipes.strip_training.outputs": ("tensor", lambda ed, x: RECIPES.strip_training(ed, x)),
    "recipes.strip_training.inputs": ("tensor", lambda ed, x: RECIPES.strip_training(ed, "scores", x)),
    "recipes.use_averages.outputs": ("tensor", lambda ed, x: RECIPES.use_averages(ed, x)),
    "gs.connect.connections": ("tensor", lambda ed, x: names(gs.connect({"n": ed, "h": head()}, {f"n/{x}": "h/a"}))),
    "gs.connect.inputs": ("tensor", lambda ed, x: names(gs.connect({"n": ed}, inputs={f"n/{x}": "new"}))),
    "gs.compare.feeds": ("tensor", lambda ed, x: gs.compare(ed, ed, {x: FEATURES}, ["Identity"]).rows),
    "gs.compare.outputs": ("tensor", lambda ed, x: gs.compare(ed, ed, FEED, [x]).rows),
    "gs.diff.mapping": ("op", lambda ed, x: str(gs.diff(ed, ed, by="mapping", mapping={x: x}))),
}  # fmt: skip

#: Requests that this model cannot meet: the error is the same with the name of the layer.
REFUSED = {
    "Editor.keras_layer.training", "Editor.keras_model.training", "Editor.inlined.calls",
    "recipes.fold_batch_norm.outputs", "recipes.recompute.loss",
    "recipes.replace_head.output", "recipes.set_input.tensor", "recipes.use_averages.outputs",
}  # fmt: skip

#: The types of parameters that take ops, tensors or selections.
TAKES_NAMES = re.compile(r"\b(OpLike|OpsLike|TensorLike|TensorsLike|TensorMap|FeedDict|PatternLike|Selection|Any)\b")
#: Parameters of such a type that take no op, tensor or selection of the graph.
OTHERS = {
    "layers themselves": ("Editor.layer.name", "Editor.select.layer"),
    "arguments and ops of a pattern": ("Editor.match.inputs", "Editor.match.where", "Plan.replace.inputs",
                                       "Plan.replace.where"),
    "functions and op types": ("Plan.insert.op", "recipes.insert_after.op"),
    "policies of variables": ("Plan.copy.variables", "Plan.with_policy.policy", "gs.connect.variables"),
    "given to Editor.save as they are": ("Editor.check.feeds",),
    "tested below": ("recipes.recompute.blocks", "recipes.strip_dropout.exclude"),
}  # fmt: skip


def parameters() -> set[str]:
    """The parameters of public methods and functions that may take an op, a tensor or a selection."""
    found = set[str]()
    owners = {
        "Editor": vars(gs.Editor),
        "Plan": vars(gs.Plan),
        "recipes": {name: getattr(RECIPES, name) for name in RECIPES.__all__},
        "gs": {name: getattr(gs, name) for name in ("connect", "compare", "diff")},
    }
    for owner, members in owners.items():
        for name, function in members.items():
            if name.startswith("_") or not inspect.isfunction(function):
                continue
            for key, one in inspect.signature(function).parameters.items():
                text = str(one.annotation)
                if key != "thing" and one.annotation is not one.empty and TAKES_NAMES.search(text):
                    found.add(f"{owner}.{name}.{key}")
    return found


def test_each_parameter_is_tried_or_takes_something_else():
    known = {name for some in OTHERS.values() for name in some}
    assert parameters() - known - CASES.keys() == set()
    assert known - parameters() == set()
    assert CASES.keys() - parameters() == {"Editor.select.name", "Editor.paint.values"} - parameters()


def result(call: Callable[[], Any]) -> Any:
    """What a call returns, in a form that can be compared; an error as its class and problem."""
    try:
        found = call()
    except SurgeryError as error:
        return type(error), error.problem
    return [told(step) for step in found.steps] if isinstance(found, gs.Plan) else found


def told(step: Any) -> Any:
    """The fields of a step; a selection as its ops."""
    values = {one.name: getattr(step, one.name) for one in fields(step)}
    return {key: one.names if isinstance(one, gs.Selection) else repr(one) for key, one in values.items()}


def traced(trace: gs.Trace) -> Any:
    return {name: numbers(one) for name, one in trace.results.items()}, sorted(note.tensor for note in trace.stats)


def numbers(thing: Any) -> list[float]:
    return np.asarray(thing).round(4).ravel().tolist()


def names(ed: gs.Editor) -> Any:
    return sorted(ed.snapshot.names), sorted(ed.outputs.values())


def copied(ed: gs.Editor) -> gs.Plan:
    return ed.plan().copy("scores", to="c", unmapped="keep")


def head() -> gs.Editor:
    with tf.Graph().as_default() as graph:
        tf.negative(tf.compat.v1.placeholder(tf.float32, [None, 16], name="a"), name="b")
    return gs.open(graph)


@pytest.mark.parametrize("name", CASES)
def test_a_layer_by_its_name(ed, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(save, "convert_to_tflite", lambda *a: ConversionResult(b"model"))  # the converter takes seconds
    kind, call = CASES[name]
    layer = "conv1" if kind == "consumer" else "features"
    means = MEANS[kind](ed, layer)
    assert layer not in ed.snapshot.index
    wanted, found = result(lambda: call(ed, means)), result(lambda: call(ed, layer))
    assert found == wanted
    assert isinstance(wanted, tuple) and isinstance(wanted[0], type) if name in REFUSED else wanted


def with_layer(graph: tf.Graph, name: str, *ops: str) -> gs.Editor:
    """An editor of a graph in which some ops are a layer, from the first to the last."""
    layer = Layer(name, "", name, (LayerCall(ops, tuple(one.name for one in graph.get_operation_by_name(ops[0]).inputs),
                                        (f"{ops[-1]}:0",)),))  # fmt: skip
    return gs.Editor(OpenedGraph(graph, "layered", "gs.open(graph)", layers=Layers((layer,))))


def test_a_block_to_recompute():
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        w = tf.compat.v1.get_variable("w", [4, 4])
        with tf.name_scope("block"):
            h = tf.tanh(tf.matmul(tf.tanh(x, name="a"), w, name="b"), name="c")
        loss = tf.reduce_sum(tf.tanh(tf.matmul(h, w)), name="loss")
        tf.compat.v1.gradients(loss, w)
    ed = with_layer(graph, "inner", "block/a", "block/b", "block/c")
    by_name, by_scope = (RECIPES.recompute(ed, "loss", [block]).after().names for block in ("inner", "block"))
    assert by_name == by_scope
    assert any(name.startswith("recomputed/") for name in by_name)


def test_a_dropout_to_keep():
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        tf.nn.relu(tf.nn.dropout(x, rate=0.5, name="drop"), name="y")
    ed = with_layer(graph, "thin", *(op.name for op in graph.get_operations() if op.name.startswith("drop/")))
    assert list(RECIPES.strip_dropout(ed).after().names) == ["x", "y"]
    with refuses(PlanError, "strip_dropout(): no op masks a tensor with random numbers"):
        RECIPES.strip_dropout(ed, exclude="thin")


def test_an_op_goes_before_a_layer_also_one_that_a_step_makes(ed):
    assert ed.op("image").type == "Placeholder"
    plan = ed.plan().insert("Identity", on="features", name="features")
    assert plan.steps[0].on == ed.layer("features").outputs
    assert plan.reroute("features", to="conv2").steps[1].old == ("features:0",)
    assert ed.trace(FEED, "scores").results.keys() == {"Identity:0"}  # a result of the signature


def test_a_renamed_op_of_a_layer(ed):
    plan = ed.plan().rename(scope_of(ed, "features"), to="new").reroute("features", to="conv2")
    assert plan.steps[1].old == ("new/Max:0",)
    assert plan.remove("features").steps[2].ops[0].startswith("new/")


def test_a_scope_that_holds_ops_of_the_layer_is_the_scope():
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
        with tf.name_scope("part"):
            tf.exp(tf.negative(x, name="a"), name="b")
    ed = with_layer(graph, "part", "part/a")
    assert ed.plan().collapse("part", name="c").steps[0].ops == ("part/a", "part/b")
    assert ed.plan().reroute("part", to="x").steps[0].old == ("part/a:0",)


def test_what_cannot_be_a_layer_is_refused_with_a_way_out(ed):
    with refuses(SelectionError, "value('conv1'): 'conv1' is a layer with 2 variables", "Name one of its variables"):
        ed.value("conv1")
    block = ed.select(inputs="image", outputs="features")
    with refuses(SelectionError, "keras_layer(selection): a selection of", "tensors are needed",
                 "inputs='image:0', outputs='classifier/features/Max:0'") as caught:  # fmt: skip
        ed.keras_layer(block)
    ends = eval(f"dict({caught.value.suggestion.partition(': ')[2]})")
    assert numbers(ed.keras_layer(**ends)(IMAGE)) == numbers(ed.keras_layer("image", "features")(IMAGE))
    with refuses(SelectionError, "trace(fetches='featurs'): there is no layer 'featurs'", "Did you mean 'features'"):
        ed.trace(FEED, "featurs")
    with refuses(SelectionError, "layers['featurs']: there is no layer", "Did you mean 'features'"):
        ed.layers["featurs"]


@pytest.fixture(scope="module")
def called() -> gs.Editor:
    """A graph whose scopes have other names than the layers, as those of a SavedModel have."""
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [1], "x")
        tf.negative(tf.compat.v1.placeholder(tf.float32, [1], "other"), "apart")
        with tf.name_scope("net_1/conv2_1/"):
            x = tf.negative(tf.exp(x, "Exp"), "Neg")
        with tf.name_scope("net_1/pool_1/"):
            x = tf.identity(x, "MaxPool2d")
        tf.identity(x, "y")
    return with_layer(graph, "conv2", "net_1/conv2_1/Exp", "net_1/conv2_1/Neg")


def checked(plan: gs.Plan) -> None:
    for fault in plan.check():
        raise fault.to_error()


@pytest.mark.parametrize(
    "ask",
    [
        lambda ed, x: ed.op(x),
        lambda ed, x: ed.tensor(x),
        lambda ed, x: ed.select(name=x),
        lambda ed, x: ed.select(outputs=x),
        lambda ed, x: checked(ed.plan().bypass(x)),
        lambda ed, x: checked(ed.plan().set_device(x, "/cpu:0")),
        lambda ed, x: checked(ed.plan().reroute("other", to=x)),
        lambda ed, x: checked(ed.plan().add_control("apart", x)),
    ],
    ids=["op", "tensor", "select", "outputs", "bypass", "set_device", "reroute", "add_control"],
)
@pytest.mark.parametrize(
    ("name", "proposed"),
    [("conv_2", "conv2"), ("pool", "net_1/pool_1/MaxPool2d"), ("net/pool_1", "net_1/pool_1/MaxPool2d")],
)
def test_a_name_like_that_of_a_layer_or_scope(called, ask, name, proposed):
    with pytest.raises(SurgeryError) as caught:
        ask(called, name)
    assert caught.value.suggestion.startswith(f"Did you mean {proposed!r}")
    assert caught.value.names[0] == proposed
    ask(called, proposed)


@pytest.fixture(scope="module", params=["live", "saved", "trained"])
def chain(request, tmp_path_factory) -> tuple[gs.Editor, keras.Model]:
    """A model with a layer that returns the shape it takes."""
    layers = keras.layers
    model = keras.Sequential(
        [keras.Input((4,)), layers.Dense(3, name="d1"), layers.Dense(3, name="d2"), layers.Dense(2, name="d3")]
    )
    if request.param == "trained":
        model.compile("adam", "mse")
        model.fit(np.ones((2, 4)), np.ones((2, 2)), verbose=0)
    if request.param == "live":
        return gs.open(model), model
    folder = tmp_path_factory.mktemp(request.param)
    tf.saved_model.save(model, folder)
    return gs.open(folder, trust=True), model


def test_a_layer_is_removed_with_all_that_serves_only_its_variables(chain):
    ed, model = chain
    layer = ed.layer("d2")
    plan = ed.plan().remove("d2")
    with refuses(PlanError, f"{layer.outputs[0]!r} is still read by", "choose stitch=True"):
        checked(plan)
    assert len(plan.check()) == 1
    plan = ed.plan().remove("d2", stitch=True)
    checked(plan)
    left = plan.after().names
    assert not [name for name in left if name.startswith(("d2/", *(f"{one}/" for one in layer.variables)))]
    assert set(left) >= {*ed.layer("d1").ops, *ed.layer("d3").ops, *ed.layer("d1").variables}
    assert len(ed.plan().remove(["d1", "d2"]).steps[0].ops) > len(ed.plan().remove("d2").steps[0].ops)
    x = np.random.RandomState(0).rand(2, 4).astype("float32")
    ed.apply(plan)
    (feed,), (fetch,) = ed.inputs.values(), ed.outputs.values()
    first, _, last = model.layers
    np.testing.assert_allclose(ed.session().run(fetch, {feed: x}), last(first(x)), rtol=1e-5)
    ed.undo()


def test_a_removed_layer_leaves_the_variables_and_values_that_others_read():
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], "x")
        shared, start = v1.get_variable("shared", [2]), tf.ones([2], name="start")
        base = v1.get_variable("base", initializer=start)
        own = v1.get_variable("own", initializer=tf.negative(base.read_value(), name="scaled") + start)
        with tf.name_scope("layer/"):
            y = tf.multiply(tf.multiply(x, shared, name="a"), own, name="b")
        tf.add(y, tf.multiply(shared, base), name="z")
    ops = [op.name for op in graph.get_operations() if op.name.startswith("layer/")]
    call = LayerCall(tuple(ops), ("x:0",), ("layer/b:0",))
    layer = Layer("layer", "", "block", (call,), (shared.op.name, own.op.name))
    ed = gs.Editor(OpenedGraph(graph, "layered", "gs.open(graph)", layers=Layers((layer,))))
    plan = ed.plan().remove("block", stitch=True)
    checked(plan)
    gone = set(ed.snapshot.names) - set(plan.after().names)
    assert {*ops, own.op.name, own.initializer.name, "scaled"} <= gone
    assert gone.isdisjoint({"x", "z", "start", shared.op.name, base.op.name, shared.initializer.name})
    assert not [name for name in gone if name.startswith(("shared/", "base/"))]


@pytest.fixture(scope="module")
def signed(tmp_path_factory) -> gs.Editor:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="d1")])
    folder = tmp_path_factory.mktemp("signed")
    tf.saved_model.save(model, folder)
    return gs.open(folder, trust=True)


def test_a_key_of_the_graph_is_its_tensor(signed, tmp_path):
    (key,), (end,) = signed.outputs, signed.outputs.values()
    (first,), (start,) = signed.inputs, signed.inputs.values()
    assert key not in signed.snapshot.index
    assert signed.tensor(key).name == end
    assert signed.tensor(first).name == start
    assert signed.select(inputs=first, outputs=key).names == signed.select(inputs=start, outputs=end).names
    feeds = {first: np.ones((1, 4), "float32")}
    signed.save(tmp_path / "new", outputs=key, inputs=[first], feeds=feeds)
    saved = gs.open(tmp_path / "new")
    assert list(saved.outputs) == [key]
    assert list(saved.inputs) == [first]
    with refuses(SelectionError, "there is no tensor 'output_9:0'"):
        signed.save(tmp_path / "other", outputs="output_9")


def test_an_op_or_layer_comes_before_a_key():
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [1], "x")
        tf.exp(tf.negative(x, "op"), "end")
    layer = Layer("layer", "", "layer", (LayerCall(("op",), ("x:0",), ("op:0",)),))
    keys = {"op": "end:0", "layer": "end:0", "key": "end:0", "both": "end:0"}
    opened = OpenedGraph(graph, "keys", "", inputs={"both": "x:0"}, outputs=keys, layers=Layers((layer,)))
    ed = gs.Editor(opened)
    assert [ed.tensor(name).name for name in ("op", "layer", "key")] == ["op:0", "op:0", "end:0"]
    with refuses(SelectionError, "there is no tensor 'both'"):
        ed.tensor("both")
