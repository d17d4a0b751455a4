"""The suggestions of what opens, runs, saves, joins and fills graphs: each is followed, and the request carried out."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.suggestions.graphs import held, net, opened, referenced
from tests.suggestions.ways import Way, follow, tf1

X = np.ones([2, 4], np.float32)


def relu(x: Any) -> Any:
    return tf.nn.relu(x)


def untold() -> Any:
    """A graph of which no variable has a value."""
    return gs.open(held().graph)


def closed(ed: Any) -> Any:
    session = tf1.Session(graph=ed.graph)
    session.close()
    return session


def written(ed: Any) -> Any:
    """The checkpoint of a graph, next to the current folder's files."""
    ed.save("model.ckpt", verify=False)
    return ed


def _after_written(second: str) -> Any:
    """A graph with the variable w and a second one of three numbers, next to the checkpoint of `held`."""
    written(held())
    with tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=True):
        tf1.get_variable("w", initializer=np.ones([4, 3], np.float32))
        tf1.get_variable(second, initializer=np.ones([3], np.float32))
    return opened(graph)


def less() -> Any:
    """A graph with a variable b, next to a checkpoint that has no b."""
    return _after_written("b")


def unlike() -> Any:
    """A graph with a variable v, next to a checkpoint whose v has another shape."""
    return _after_written("v")


def shapeless() -> Any:
    """A graph whose result has an unknown number of dimensions."""
    with tf.Graph().as_default() as graph:
        sizes = tf1.placeholder(tf.int32, [None], name="sizes")
        tf.reshape(tf1.placeholder(tf.float32, [None], name="x"), sizes, name="y")
    return opened(graph)


def sly() -> Any:
    """A file of Keras with Python code in it."""
    net = keras.Sequential([keras.Input((4,)), keras.layers.Lambda(lambda x: x * 2.0, output_shape=(4,))])
    net.save("sly.keras")
    return gs.open("sly.keras")


def queued() -> Any:
    with tf.Graph().as_default() as graph:
        size = tf1.FIFOQueue(3, tf.float32, name="queue").size(name="count")
        tf.add(size, 1, name="y")
    return gs.open(graph)


def assigned() -> Any:
    """Y waits for the assignment of a reference variable; more is its result."""
    ed = referenced()
    with ed.graph.as_default(), tf.control_dependencies([ed.graph.get_operation_by_name("set")]):
        tf.identity(ed.graph.get_tensor_by_name("x:0"), name="late")
    return opened(ed.graph)


def setting() -> Any:
    """A graph that only sets a variable."""
    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", initializer=np.ones([2], np.float32), use_resource=True)
        w.assign_add(np.ones([2], np.float32), name="set")
    return opened(graph)


class Two(tf.Module):
    """Two functions."""

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
    def first(self, x):
        return tf.exp(x)

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
    def second(self, x):
        return tf.sin(x)


@tf.function
def free(x):
    return tf.exp(x)


def joined(ed: Any, connections: Any = None, **options: Any) -> Any:
    return gs.connect({"a": ed, "b": net()}, connections or {"a/net/y:0": "b/x:0"}, **options)


#: File, the place in it, a piece of the suggestion, the request, what to do, and the editor: `net` if it is left out.
TABLE: list[tuple[Any, ...]] = [
    (
        "tf/functions/keras_model.py:keras_model.rebuilt#2", "use ed.keras_layer",
        lambda ed: ed.keras_model(["x:0", "sizes:0"], "y:0"),
        lambda ed, said: ed.keras_layer(["x:0", "sizes:0"], "y:0"), shapeless,
    ),
    (
        "tf/open/layers.py:_refuse_code", "keras.saving.load_model('sly.keras', compile=False, safe_mode=False)",
        lambda ed: gs.open("sly.keras").function(),
        lambda ed, said: gs.open(eval(said.partition("model = ")[2].partition(", then")[0])).function(), sly,
    ),
    # -- open
    ("tf/open/source.py:_refuse_options", "Leave out signature=", lambda ed: gs.open(ed.graph, signature="x"),
     lambda ed, _: gs.open(ed.graph)),
    ("tf/open/source.py:open_source#2", "gs.open(session.graph)", lambda ed: gs.open(closed(ed)),
     lambda ed, said: eval(said[said.index("gs.open"):].rstrip("."), {"gs": gs, "session": closed(ed)})),
    ("tf/open/file_reader.py:read_bytes", "Check the path", lambda ed: gs.open("model.pb"),
     lambda ed, _: ed.save("model.pb", outputs="z:0", verify=False) and gs.open("model.pb")),
    ("tf/functions/trace.py:_trace_module#2", "Choose function=", lambda ed: gs.open(Two()),
     lambda ed, said: gs.open(Two(), function=said.value("function"))),
    ("tf/functions/trace.py:_trace_module#3", "Did you mean", lambda ed: gs.open(Two(), function="frist"),
     lambda ed, said: gs.open(Two(), function=said.name)),
    ("tf/functions/trace.py:_trace_function", "get_concrete_function", lambda ed: gs.open(free),
     lambda ed, _: gs.open(free.get_concrete_function(tf.TensorSpec([2], tf.float32)))),
    ("tf/functions/trace.py:_trace_function", "signature=[", lambda ed: gs.open(tf.function(tf.exp)),
     lambda ed, _: gs.open(tf.function(tf.exp), signature=[tf.TensorSpec([2], tf.float32)])),
    # -- functions
    ("tf/functions/graph_function.py:_refuse_live", "Type inputs=", lambda ed: ed.function([], "z:0"),
     lambda ed, said: ed.function(said.value("inputs"), "z:0")),
    ("tf/functions/graph_function.py:_refuse_live#2", "inputs instead", lambda ed: ed.function([], "y:0"),
     lambda ed, _: ed.function("count:0", "y:0"), queued),
    ("editor/functions.py:_selected_tensors", "at its boundary", lambda ed: ed.function(ed.select(scope="net")),
     lambda ed, said: ed.function(said.value("inputs"), said.value("outputs"))),
    ("editor/functions.py:_ends", "outputs=", lambda ed: ed.function("x:0"),
     lambda ed, _: ed.function("x:0", outputs="z:0")),
    ("editor/functions.py:_refuse_unusable#2", "computed from it", lambda ed: ed.function("x:0", "x:0"),
     lambda ed, _: ed.function("x:0", "z:0")),
    # -- edits that TensorFlow builds
    ("tf/edit/nodes.py:check_inserted", "Did you mean", lambda ed: ed.plan().insert("Reluu", on="net/y:0", name="r"),
     lambda ed, said: ed.plan().insert(said.name, on="net/y:0", name="r")),
    ("tf/edit/nodes.py:check_inserted#2", "'Identity'", lambda ed: ed.plan().insert("Add", on="net/y:0", name="r"),
     lambda ed, said: ed.plan().insert(said.name, on="net/y:0", name="r")),
    ("tf/edit/validation.py:_ShapeChecker._fault", "another op type",
     lambda ed: ed.plan().insert("AddN", on="net/y:0", name="r"),
     lambda ed, _: ed.plan().insert("Exp", on="net/y:0", name="r")),
    ("tf/edit/validation.py:_ShapeChecker._fault", "as arguments",
     lambda ed: ed.plan().insert("AddN", on="net/y:0", name="r"),
     lambda ed, _: ed.plan().insert("AddN", on="net/y:0", name="r", N=1)),
    ("tf/edit/nodes.py:_set_attribute", "It has",
     lambda ed: ed.plan().insert("Relu", on="net/y:0", name="r", U="float32"),
     lambda ed, said: ed.plan().insert("Relu", on="net/y:0", name="r", **{said.split()[-1].rstrip("."): "float32"})),
    ("tf/edit/patterns.py:_make_pattern", "Give a function", lambda ed: ed.match(3), lambda ed, _: ed.match(relu)),
    ("tf/edit/patterns.py:_specs", "lambda x, y:", lambda ed: ed.match(lambda *x: tf.nn.relu(x[0])),
     lambda ed, _: ed.match(lambda x: tf.nn.relu(x))),
    ("tf/edit/patterns.py:_specs#2", "only 'x'", lambda ed: ed.match(relu, inputs={"y": tf.float32}),
     lambda ed, said: ed.match(relu, inputs={said.name: tf.TensorSpec([2, 4], tf.float32)})),
    ("tf/edit/patterns.py:_outputs", "tensors made of its arguments", lambda ed: ed.match(lambda x: 3),
     lambda ed, _: ed.match(relu)),
    ("tf/edit/patterns.py:_trace", "inputs={'x': tf.TensorSpec(",
     lambda ed: ed.match(lambda x: tf.add(x, int(x.shape[0]))),
     lambda ed, _: ed.match(lambda x: tf.add(x, float(x.shape[0])), inputs={"x": tf.TensorSpec([2, 4], tf.float32)})),
    ("tf/edit/subgraphs.py:_SiteTracer._arguments", "one argument per input",
     lambda ed: ed.plan().replace(relu, lambda a, b: tf.add(a, b)), lambda ed, _: ed.plan().replace(relu,
     lambda a: a + 1.0)),
    ("tf/edit/subgraphs.py:_SiteTracer._results#2", "in this order",
     lambda ed: ed.plan().replace(relu, lambda x: [x, x]),
     lambda ed, _: ed.plan().replace(relu, lambda x: [tf.exp(x)])),
    ("tf/edit/subgraphs.py:_SiteTracer._tensor", "tensors made of its arguments", lambda ed: ed.plan().replace(relu,
     lambda x: object()),
     lambda ed, _: ed.plan().replace(relu, lambda x: tf.exp(x))),
    ("tf/edit/subgraphs.py:op_maker", "Did you mean", lambda ed: ed.plan().replace(relu, "Softpluss"),
     lambda ed, said: ed.plan().replace(relu, said.name)),
    ("tf/edit/subgraphs.py:op_maker#2", "as many inputs", lambda ed: ed.plan().replace(relu, "Add"),
     lambda ed, _: ed.plan().replace(relu, "Exp")),
    ("tf/edit/subgraphs.py:op_maker#2", "a Python function", lambda ed: ed.plan().replace(relu, "Add"),
     lambda ed, _: ed.plan().replace(relu, lambda x: tf.add(x, x))),
    # -- save
    ("tf/save/save.py:_write", "Name the outputs too", lambda ed: ed.save("a.pb", inputs="x:0"),
     lambda ed, _: ed.save("a.pb", inputs="x:0", outputs="z:0")),
    ("tf/save/save.py:_write#2", "inputs=..., outputs=...",
     lambda ed: ed.save("a", format="saved_model", signatures={}),
     lambda ed, _: ed.save("a", format="saved_model", inputs="x:0", outputs="z:0")),
    ("tf/save/save.py:_checkpoint", "Save the graph itself", lambda ed: ed.save("a.ckpt"),
     lambda ed, _: ed.save("a.pb", outputs="z:0")),
    ("tf/save/save.py:_frozen_untrained", "values='initial'", lambda ed: ed.save("a.pb", outputs="y:0", freeze=True),
     lambda ed, _: ed.save("a.pb", outputs="y:0", freeze=True, values="initial"), untold),
    ("tf/save/save.py:_frozen_untrained", "values=session", lambda ed: ed.save("a.pb", outputs="y:0", freeze=True),
     lambda ed, _: ed.save("a.pb", outputs="y:0", freeze=True, values=ready(ed)), untold),
    ("tf/save/save.py:_keras", "path='a.keras'",
     lambda ed: ed.save("a", format="keras", inputs="x:0", outputs="z:0"),
     lambda ed, _: ed.save("a.keras", inputs="x:0", outputs="z:0")),
    ("tf/save/save.py:_keras#3", "Leave it out of feeds=",
     lambda ed: ed.save("b.keras", inputs="x:0", outputs="z:0", feeds={"net/y:0": [[0.0] * 4] * 2}),
     lambda ed, _: ed.save("b.keras", inputs="x:0", outputs="z:0")),
    ("tf/save/save.py:SaveRequest.check#2", "leave out outputs=", lambda ed: ed.save("a.pb", outputs=[]),
     lambda ed, _: ed.save("a.pb")),
    ("tf/save/save.py:SaveRequest.check#3", "signatures={", lambda ed: ed.save("a", signatures={"serve": ("x:0", [])}),
     lambda ed, _: ed.save("a", signatures={"serve": ("x:0", "z:0")})),
    # -- values
    ("tf/values/restore.py:restore#3", "partial=True", lambda ed: ed.restore("model.ckpt"),
     lambda ed, _: ed.restore("model.ckpt", partial=True), less),
    ("tf/values/restore.py:restore#2", "Exclude fewer", lambda ed: ed.restore("model.ckpt", exclude=["*"]),
     lambda ed, _: ed.restore("model.ckpt", exclude=["b"]), less),
    ("tf/values/variables.py:fitting_stored", "exclude=", lambda ed: ed.restore("model.ckpt"),
     lambda ed, said: ed.restore("model.ckpt", exclude=said.value("exclude")), unlike),
    ("tf/values/variables.py:_require_source_of", "Give a session", lambda ed: frozen(ed, 3),
     lambda ed, _: frozen(ed, ed.session()), held),
    ("tf/values/variables.py:_require_source_of", "{name: array}", lambda ed: frozen(ed, 3),
     lambda ed, _: frozen(ed, {"w": np.ones([4, 3], np.float32)}), held),
    ("tf/values/variables.py:_require_source_of#2", "ed.session(session)", lambda ed: frozen(ed, held().session()),
     lambda ed, _: frozen(ed, ed.session(ed.session())), held),
    ("tf/values/variables.py:errors_if_empty", "session.run(variable.initializer)",
     lambda ed: frozen(ed, tf1.Session(graph=ed.graph)), lambda ed, _: frozen(ed, ready(ed)), untold),
    ("tf/values/variables.py:errors_if_closed", "Give an open session", lambda ed: frozen(ed, closed(ed)),
     lambda ed, _: frozen(ed, ed.session()), held),
    ("tf/values/variables.py:_value_in", "Add an array for 'w'", lambda ed: frozen(ed, {"v": 1}),
     lambda ed, _: frozen(ed, {"w": np.ones([4, 3], np.float32)}), held),
    ("tf/values/variables.py:_value_in", "variables={'w': 'initial'}", lambda ed: frozen(ed, {"v": 1}),
     lambda ed, said: frozen(ed, {"v": 1}, said.value("variables")), held),
    ("tf/values/variables.py:_checked_value#2", "of shape (4, 3)",
     lambda ed: frozen(ed, {"w": np.ones([3], np.float32)}),
     lambda ed, _: frozen(ed, {"w": np.ones([4, 3], np.float32)}), held),
    # -- run
    ("running/feeds.py:resolve_feeds#2", "array", lambda ed: ed.trace(3, "z:0"),
     lambda ed, _: ed.trace({"x:0": X}, "z:0")),
    ("running/feeds.py:missing_feeds", "Give feeds=", lambda ed: ed.trace({}, "z:0"),
     lambda ed, said: ed.trace({said.name: X}, "z:0")),
    ("running/feeds.py:missing_feeds", "random=0",
     lambda ed: ed.trace({}, "z:0"), lambda ed, _: ed.trace({}, "z:0", random=0)),
    ("running/feeds.py:_feed_value", "of the same length", lambda ed: ed.trace({"x:0": [[1], [1, 2]]}, "z:0"),
     lambda ed, _: ed.trace({"x:0": [[1] * 4] * 2}, "z:0")),
    ("running/feeds.py:_feed_value#2", "Give an array of that shape", lambda ed: ed.trace({"x:0": [1.0]}, "z:0"),
     lambda ed, _: ed.trace({"x:0": X}, "z:0")),
    ("running/feeds.py:_feed_value#2", "random=0", lambda ed: ed.trace({"x:0": [1.0]}, "z:0"),
     lambda ed, _: ed.trace({}, "z:0", random=0)),
    ("running/feeds.py:_cast#3", "Give numbers of int32", lambda ed: ed.trace({"whole:0": X / 2}, "whole:0"),
     lambda ed, _: ed.trace({"whole:0": X}, "whole:0")),
    ("running/trace.py:_refuse_no_limit", "timeout=60", lambda ed: ed.trace({"x:0": X}, "z:0", timeout=-1),
     lambda ed, _: ed.trace({"x:0": X}, "z:0", timeout=60)),
    ("running/trace.py:_refuse_no_limit#2", "rounds=1000", lambda ed: ed.trace({"x:0": X}, "z:0", rounds=0),
     lambda ed, said: ed.trace({"x:0": X}, "z:0", rounds=said.value("rounds"))),
    ("running/trace.py:_applied_editor", "ed.plan()", lambda ed: ed.trace({"x:0": X}, "z:0", plan=3),
     lambda ed, _: ed.trace({"x:0": X}, "z:0", plan=ed.plan().reroute("net/h:0", to="x:0"))),
    ("running/trace.py:_recorded_names", "leave out ops=",
     lambda ed: ed.trace({"x:0": X}, "z:0", ops=ed.select(name="z") - ed.select(name="z")),
     lambda ed, _: ed.trace({"x:0": X}, "z:0")),
    ("running/trace.py:_recorded_names#2", "ops=ed.select(...)",
     lambda ed: ed.trace({"x:0": X}, "z:0", ops=held().select(name="y")),
     lambda ed, _: ed.trace({"x:0": X}, "z:0", ops=ed.select(name="z"))),
    ("running/feeds.py:resolve_fetches", "leave out fetches=", lambda ed: ed.trace({"x:0": X}, []),
     lambda ed, _: ed.trace(random=0)),
    # -- history
    ("editor/history.py:Timeline._apply_plan", "Give it a step", lambda ed: ed.apply(ed.plan()),
     lambda ed, _: ed.apply(ed.plan().remove("end"))),
    ("editor/history.py:Timeline.undo", "Apply a plan first", lambda ed: ed.undo(),
     lambda ed, _: ed.apply(ed.plan().remove("end")) and ed.undo()),
    ("editor/history.py:Timeline.redo", "Undo a plan first", lambda ed: ed.redo(),
     lambda ed, _: ed.apply(ed.plan().remove("end")) and ed.undo() and ed.redo()),
    ("editor/history.py:Timeline._refuse_foreign", "ed.plan()", lambda ed: ed.apply(3),
     lambda ed, _: ed.apply(ed.plan().remove("end"))),
    ("editor/history.py:Timeline._refuse_foreign#3", "its own editor", lambda ed: ed.apply(net().plan().remove("end")),
     lambda ed, _: (other := net()).apply(other.plan().remove("end"))),
    ("editor/history.py:Timeline._refuse_foreign#2", "Make the plan again", lambda ed: twice(ed, False),
     lambda ed, _: twice(ed, True)),
    # -- compare, transfer, connect
    ("editor/compare.py:compare", "Apply it first", lambda ed: gs.compare(ed, copied(ed), feeds={"x:0": X}),
     lambda ed, _: gs.compare(ed, ed.apply(copied(ed)), feeds={"x:0": X})),
    ("editor/compare.py:compare", "first_difference(", lambda ed: gs.compare(ed, copied(ed), feeds={"x:0": X}),
     lambda ed, said: eval(said[said.index("ed.trace"):].rstrip("."), {"ed": ed, "plan": copied(ed), "feeds": {
         "x:0": X, "loose:0": X, "other:0": X, "whole:0": X, "wide:0": X[:, :3], "narrow:0": X[:, :3]}})),
    ("editor/compare.py:compare#2", "leave session= out",
     lambda ed: gs.compare(ed, net(), outputs="z:0", feeds={"x:0": X}, session=held().session()),
     lambda ed, _: gs.compare(ed, net(), outputs="z:0", feeds={"x:0": X})),
    ("editor/compare.py:compare#2", "Give a session of that graph",
     lambda ed: gs.compare(ed, net(), outputs="z:0", feeds={"x:0": X}, session=held().session()),
     lambda ed, _: gs.compare(ed, net(), outputs="z:0", feeds={"x:0": X}, session=ed.session())),
    ("editor/transfer.py:transfer", "{'source': 'target'}", lambda ed: gs.transfer(ed, held(), names="w"),
     lambda ed, _: gs.transfer(ed, held(), names={"w": "u"}), held),
    ("editor/transfer.py:transfer#3", "Give an editor", lambda ed: gs.transfer(ed, {"w": np.ones([4, 3], np.float32)}),
     lambda ed, _: gs.transfer(ed, held()), held),
    ("editor/transfer.py:transfer#4", "Leave one of them out",
     lambda ed: gs.transfer(ed, held(), names={"w": "u"}, first=1),
     lambda ed, _: gs.transfer(ed, held(), names={"w": "u"}), held),
    ("editor/transfer.py:_pairs", "partial=True", lambda ed: gs.transfer({"w": np.ones([4, 3], np.float32)}, ed),
     lambda ed, _: gs.transfer({"w": np.ones([4, 3], np.float32)}, ed, partial=True), held),
    ("editor/transfer.py:_by_names", "Choose from", lambda ed: gs.transfer(ed, held(), names={"name": "w"}),
     lambda ed, said: gs.transfer(ed, held(), names={said.name: "w"}), held),
    ("editor/transfer.py:_by_names#2", "Choose from", lambda ed: gs.transfer(ed, held(), names={"w": "name"}),
     lambda ed, said: gs.transfer(ed, held(), names={"w": said.name}), held),
    ("editor/connect.py:connect", "output -> input",
     lambda ed: gs.connect({"a": ed, "b": net()}, ["a/net/y:0", "b/x:0"]),
     lambda ed, _: joined(ed)),
    ("editor/connect.py:_models", "Give them as", lambda ed: gs.connect([ed], {}), lambda ed, _: joined(ed)),
    ("editor/connect.py:_models#2", "{'g1': graph}", lambda ed: gs.connect({1: ed, "b": net()}, {}),
     lambda ed, said: gs.connect({said.name: ed, "b": net()}, {f"{said.name}/net/y:0": "b/x:0"})),
    ("editor/connect.py:_models#3", "use letters", lambda ed: gs.connect({"a b": ed, "b": net()}, {}),
     lambda ed, _: joined(ed)),
    ("editor/connect.py:_models#4", "another name", lambda ed: gs.connect({"b": ed, "B": net()}, {}),
     lambda ed, _: joined(ed)),
    ("editor/connect.py:_models#5", "Choose 'a'", lambda ed: joined(ed, values={"c": "initial"}),
     lambda ed, said: joined(ed, values={said.name: "initial"})),
    ("editor/connect.py:_models#6", "'initial'", lambda ed: joined(ed, values={"a": "now"}),
     lambda ed, said: joined(ed, values={"a": said.names[-1]})),
    ("editor/connect.py:_untrained_reasons", "values={", lambda ed: joined(ed, {"a/y:0": "b/narrow:0"}),
     lambda ed, said: joined(ed, {"a/y:0": "b/narrow:0"}, values={said.name: "initial"}), untold),
    ("editor/connect.py:_untrained_reasons", "session", lambda ed: joined(ed, {"a/y:0": "b/narrow:0"}),
     lambda ed, said: joined(ed, {"a/y:0": "b/narrow:0"}, values={said.name: ready(ed)}), untold),
    ("editor/connect.py:_end", "'graph/name:0'",
     lambda ed: joined(ed, {held().graph.get_tensor_by_name("y:0"): "b/x:0"}),
     lambda ed, _: joined(ed)),
    ("editor/connect.py:_end#3", "Type the graph first", lambda ed: joined(ed, {"apart:0": "b/x:0"}),
     lambda ed, said: joined(ed, {said.name: "b/x:0"})),
    ("editor/connect.py:_refuse_unread", "Name a tensor that is read",
     lambda ed: joined(ed, {"a/net/y:0": "b/other:0"}),
     lambda ed, said: joined(ed, {"a/net/y:0": said.name})),
    ("editor/connect.py:_replace", "Choose one of them", lambda ed: joined(ed, {"a/net/y:0": "b/x:0", "a/z:0": "b/x"}),
     lambda ed, _: joined(ed)),
    ("editor/connect.py:_order", "Leave one connection out",
     lambda ed: joined(ed, {"a/net/y:0": "b/x:0", "b/z:0": "a/loose:0"}),
     lambda ed, _: joined(ed)),
    ("editor/connect.py:_order", "sup.plan().reroute(",
     lambda ed: joined(ed, {"a/net/y:0": "b/x:0", "b/z:0": "a/loose:0"}),
     lambda ed, _: (sup := joined(ed)).apply(sup.plan().reroute("a/loose:0", to="b/z:0"))),
    ("editor/connect.py:_with_placeholders", "inputs={",
     lambda ed: joined(ed, {"a/net/y:0": "b/x:0"}, inputs={"b/loose:0": "a"}),
     lambda ed, said: joined(ed, {"a/net/y:0": "b/x:0"}, inputs=said.value("inputs"))),
]  # fmt: skip


def frozen(ed: Any, values: Any, variables: Any = "freeze") -> Any:
    """A plan that copies a part with constants for its variables."""
    there = gs.open(tf.Graph())
    plan = there.plan().copy(ed.select(inputs="x:0", outputs="y:0"), to="copy", unmapped="placeholder",
                             variables=variables, values=values)  # fmt: skip
    return there.apply(plan)


def ready(ed: Any) -> Any:
    """A session in which the variables have their initial values."""
    session = tf1.Session(graph=ed.graph)
    with ed.graph.as_default():
        session.run([variable.initializer for variable in tf1.global_variables()])
    return session


def copied(ed: Any) -> Any:
    return ed.plan().copy(ed.select(scope="net"), to="copy", unmapped="keep")


def twice(ed: Any, again: bool) -> Any:
    """Applies a plan after another has built the graph anew."""
    plan = ed.plan().rename("sum", to="total")
    ed.apply(ed.plan().remove("end" if "end" in ed.snapshot.index else "apart"))
    return ed.apply(ed.plan().rename("sum", to="total") if again else plan)


WAYS = [Way(*row) if len(row) == 5 else Way(*row, net) for row in TABLE]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_suggestion_solves_the_request(way, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    follow(way)
