"""Whole models: what stands next to a graph, the ways in and the doors out, and what becomes of each thing.

The cells are the data of the tables in docs/guides/saving.md, which tools/write_whole_models.py writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import tf_keras
from tensorflow.core.framework.variable_pb2 import VariableDef
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

import graphsurgeon as gs
from tests.hostile import word_rows

tf1 = tf.compat.v1
layers = keras.layers
X = np.array([[1.0, 2.0], [3.0, -4.0]], np.float32)
WORDS = np.array(["cat", "dog"])
KEPT, NAMED, REFUSED, NONE = "kept", "named", "refused", "–"


@dataclass
class Result:
    """What a door makes: the path of a file, a function, a layer or a model; with its notes."""

    made: Any
    notes: list[str]
    door: str = ""
    ed: Any = None

    def calls(self, feeds: Mapping[str, Any], times: int = 1) -> list[Any]:
        """Returns the results of calls, one after the other, in plain TensorFlow or Keras."""
        try:
            return [np.round(np.asarray(tf.nest.flatten(one)[0]), 4).tolist() for one in self._calls(feeds, times)]
        except tf.errors.OpError:
            return []

    def _calls(self, feeds: Mapping[str, Any], times: int) -> Any:
        ed = self.ed
        fed = {name: tf.constant(value) for name, value in feeds.items()}
        if not isinstance(self.made, Path):
            for _ in range(times):
                yield self.made(**fed) if self.door == "`function`" else self.made(*fed.values())
        elif self.made.suffix == ".tflite":
            run = tf.lite.Interpreter(model_path=str(self.made))
            (name,) = run.get_signature_list()
            for _ in range(times):
                yield run.get_signature_runner(name)(**feeds)
        elif self.made.suffix:
            with tf.Graph().as_default(), tf1.Session() as session:
                if self.made.suffix == ".meta":
                    saver = tf1.train.import_meta_graph(str(self.made))
                    if saver is not None:
                        saver.restore(session, str(self.made.with_suffix("")))
                else:
                    tf1.import_graph_def(tf1.GraphDef.FromString(self.made.read_bytes()), name="")
                session.run(tf1.tables_initializer())
                for _ in range(times):
                    by_name = {tensor: feeds[name] for name, tensor in ed.inputs.items() if name in feeds}
                    yield session.run(next(iter(ed.outputs.values())), by_name)
        else:
            call = tf.saved_model.load(str(self.made)).signatures[ed.opened_graph.signature or "serving_default"]
            for _ in range(times):
                yield call(**fed)


# -- doors ----------------------------------------------------------------------------------------------


def saved(name: str, **options: Any) -> Callable[[Any, Path], Result]:
    """Returns a door that saves a file of this name."""

    def door(ed: Any, folder: Path) -> Result:
        report = ed.save(folder / name, **({"outputs": ed.outputs} if options.get("freeze") else {}), **options)
        return Result(Path(report.path), list(report.notes))

    return door


def function(ed: Any, folder: Path) -> Result:
    made = ed.function()
    return Result(made, list(made.notes))


def layer(ed: Any, folder: Path) -> Result:
    made = ed.keras_layer()
    return Result(made, list(made.notes))


def model(ed: Any, folder: Path) -> Result:
    made = ed.keras_model()
    return Result(made, list(made.surgery.notes))


DOORS: dict[str, Callable[[Any, Path], Result]] = {
    "`saved_model`": saved("out"),
    "`saved_model_tf2`": saved("out", format="saved_model_tf2"),
    "`meta_graph`": saved("out.meta"),
    "`graph_def`, frozen": saved("out.pb", freeze=True),
    "`tflite`": saved("out.tflite"),
    "`function`": function,
    "`keras_layer`": layer,
    "`keras_model`": model,
}
FILES = list(DOORS)[:5]


def through(door: str, ed: Any, folder: Path) -> Result:
    """Returns the result of a door."""
    result = DOORS[door](ed, folder)
    result.door, result.ed = door, ed
    return result


# -- ways in --------------------------------------------------------------------------------------------


class Net(tf.Module):
    """Functions with a default, a frozen weight, a table with a file, and a variable that each call changes."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.w = tf.Variable([[2.0, 1.0], [0.5, -1.0]], name="w")
        self.frozen = tf.Variable([3.0], name="frozen", trainable=False)
        self.count = tf.Variable(0.0, name="count", trainable=False)
        self.table = tf.lookup.StaticHashTable(word_rows(vocabulary(folder)), -1)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x"), tf.TensorSpec([], name="scale")])
    def scaled(self, x, scale=tf.constant(3.0)):  # noqa: B008
        return {"y": tf.matmul(x, self.w) * scale * self.frozen}

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
    def shifted(self, x):
        return {"y": tf.matmul(x, self.w) + self.frozen}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
    def ids(self, words):
        return {"y": self.table.lookup(words)}

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
    def counted(self, x):
        return {"y": x * self.count.assign_add(1.0)}


def vocabulary(folder: Path) -> Path:
    """Writes a file of words."""
    file = folder / "words.txt"
    file.write_text("ant\nbee\ncat\n")
    return file


@keras.saving.register_keras_serializable("whole")
class Counts(layers.Layer):
    """Multiplies by the number of its calls."""

    def build(self, shape):
        self.count = self.add_weight(name="count", shape=(), initializer="zeros", trainable=False)

    def call(self, x):
        self.count.assign_add(1.0)
        return x * self.count


def saved_model(*names: str) -> Callable[[Path], Any]:
    """Returns a way in: a folder of `tf.saved_model.save` with these signatures; the first one is opened."""

    def way(folder: Path) -> Any:
        net = Net(folder)
        tf.saved_model.save(net, str(folder / "in"), signatures={name: getattr(net, name) for name in names})
        (folder / "words.txt").unlink()
        return gs.open(folder / "in", signature=names[0])

    return way


def module(name: str) -> Callable[[Path], Any]:
    """Returns a way in: a live `tf.Module`."""
    return lambda folder: gs.open(Net(folder), function=name)


def frozen_net(package: Any) -> Any:
    """Returns a model with a frozen layer."""
    body = package.layers.Dense(3, name="body", trainable=False)
    return package.Sequential([package.Input((2,), name="x"), body, package.layers.Dense(2, name="head")])


def keras_3(folder: Path) -> Any:
    frozen_net(keras).export(str(folder / "in"), verbose=False)
    return gs.open(folder / "in")


def keras_2(folder: Path) -> Any:
    frozen_net(tf_keras).save(str(folder / "in"), save_format="tf")
    return gs.open(folder / "in")


def keras_2_export(folder: Path) -> Any:
    frozen_net(tf_keras).export(str(folder / "in"))
    return gs.open(folder / "in")


def archive(folder: Path) -> Any:
    net, made = frozen_net(keras), keras.export.ExportArchive()
    made.track(net)
    spec = [keras.InputSpec(shape=(None, 2), dtype="float32", name="x")]
    made.add_endpoint("call", net.call, spec)
    made.add_endpoint("doubled", lambda x: 2.0 * net(x), spec)
    made.write_out(str(folder / "in"), verbose=False)
    return gs.open(folder / "in", signature="call")


def counting() -> Any:
    return keras.Sequential([keras.Input((2,), name="x"), Counts(name="counts")])


def live(make: Callable[[], Any]) -> Callable[[Path], Any]:
    """Returns a way in: a live Keras model."""
    return lambda folder: gs.open(make())


def keras_file(make: Callable[[], Any]) -> Callable[[Path], Any]:
    """Returns a way in: a `.keras` file."""

    def way(folder: Path) -> Any:
        make().save(folder / "in.keras")
        return gs.open(folder / "in.keras")

    return way


def meta_graph(name: str) -> Callable[[Path], Any]:
    """Returns a way in: a MetaGraph with its checkpoint, which TF1 code has written."""

    def way(folder: Path) -> Any:
        with tf.Graph().as_default(), tf1.Session() as session:
            w = tf1.get_variable("w", initializer=[[2.0, 1.0], [0.5, -1.0]])
            frozen = tf1.get_variable("frozen", initializer=[3.0], trainable=False)
            if name == "ids":
                x = tf1.placeholder(tf.string, [None], name="words")
                y = tf.lookup.StaticHashTable(word_rows(vocabulary(folder)), -1).lookup(x)
            else:
                x = tf1.placeholder(tf.float32, [None, 2], name="x")
                y = tf.matmul(x, w) * frozen
                if name == "counted":
                    count = tf1.get_variable("count", initializer=0.0, trainable=False)
                    y = x * tf1.assign_add(count, 1.0)
            tf.identity(y, name="y")
            session.run(tf1.global_variables_initializer())
            tf1.train.Saver().save(session, str(folder / "in"))
        return signed(gs.open(folder / "in.meta").trust(), x.op.name)

    return way


def graph_def(folder: Path) -> Any:
    with tf.Graph().as_default() as graph:
        words = tf1.placeholder(tf.string, [None], name="words")
        tf.identity(tf.lookup.StaticHashTable(word_rows(vocabulary(folder)), -1).lookup(words), name="y")
    (folder / "in.pb").write_bytes(graph.as_graph_def().SerializeToString())
    return signed(gs.open(folder / "in.pb").trust(), "words")


def signed(ed: Any, name: str) -> Any:
    """Returns an editor whose graph has a signature."""
    return gs.recipes.set_signature(ed, {"y": "y:0"}, {name: f"{name}:0"})


# -- things ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Thing:
    """Something that stands next to a graph.

    Args:
        ways: way in -> the function that opens a model with it.
        found: finds it in the result of a door; None if there is none.
        want: finds it in the source.
        words: one of these words names it in notes.
        doors: the doors that it concerns.
    """

    ways: Mapping[str, Callable[[Path], Any]]
    found: Callable[[Result], Any]
    want: Callable[[Any, Path], Any]
    words: Callable[[Any], list[str]]
    doors: list[str] = field(default_factory=lambda: list(DOORS))


def meta_of(path: Path) -> Any:
    """Returns the MetaGraphDef of a folder or a file."""
    if path.suffix == ".meta":
        return meta_graph_pb2.MetaGraphDef.FromString(path.read_bytes())
    (meta,) = saved_model_pb2.SavedModel.FromString((path / "saved_model.pb").read_bytes()).meta_graphs
    return meta


def described(path: Path) -> dict[str, Any]:
    """Returns the arguments, results and defaults of the signatures of a file."""
    if path.suffix == ".tflite":
        lists = tf.lite.Interpreter(model_path=str(path)).get_signature_list()
        return {name: (sorted(one["inputs"]), sorted(one["outputs"]), {}) for name, one in lists.items()}
    if path.suffix:
        return {}
    return {
        name: (
            sorted(one.inputs),
            sorted(one.outputs),
            {k: tf.make_ndarray(v).tolist() for k, v in one.defaults.items()},
        )
        for name, one in meta_of(path).signature_def.items()
        if not name.startswith("__")
    }


def own_signature(result: Result) -> Any:
    return described(result.made).get(result.ed.opened_graph.signature, ("", "", ""))[:2]


def other_signatures(result: Result) -> Any:
    others = {one.name for one in result.ed.signatures} - {result.ed.opened_graph.signature}
    return {name: one for name, one in described(result.made).items() if name in others}


def defaults(result: Result) -> Any:
    if isinstance(result.made, Path):
        return described(result.made).get(result.ed.opened_graph.signature, ("", "", {}))[2]
    try:
        return {"scale": 3.0} if np.allclose(result.made(x=X)["y"], result.made(x=X, scale=3.0)["y"]) else {}
    except (TypeError, ValueError):
        return {}


def trained(result: Result) -> Any:
    """Returns the shapes of the variables that are trained, and the number of the others."""
    made = result.made
    if not isinstance(made, Path):
        own = getattr(made, "trainable_weights", None)
        own, whole = (made.trainable_variables, made.variables) if own is None else (own, made.weights)
        return sorted(tuple(one.shape) for one in own), len(whole) - len(own)
    meta = meta_of(made)
    objects = [node.variable for node in meta.object_graph_def.nodes if node.HasField("variable")]
    if objects:
        own = [one for one in objects if one.trainable]
        return sorted(tuple(size.size for size in one.shape.dim) for one in own), len(objects) - len(own)
    shapes = {node.name: [size.size for size in node.attr["shape"].shape.dim] for node in meta.graph_def.node}
    names, own = (
        [
            VariableDef.FromString(data).variable_name.removesuffix(":0")
            for data in meta.collection_def[key].bytes_list.value
        ]
        for key in ("variables", "trainable_variables")
    )
    return sorted(tuple(shapes[name]) for name in own), len(names) - len(own)


def paths(result: Result) -> Any:
    """Returns the paths of attributes of a loaded object that lead to variables, if the source has these paths."""
    made = None if result.made.suffix else tf.saved_model.load(str(result.made))

    def at(path: str) -> Any:
        found = made
        for name in path.split("/"):
            found = found[int(name)] if isinstance(found, list) and name.isdecimal() else getattr(found, name, None)
        return found

    return sorted(path for path in result.ed.opened_graph.variable_paths.values() if isinstance(at(path), tf.Variable))


def looked_up(result: Result) -> Any:
    return result.calls({"words": WORDS})


def counts(result: Result) -> Any:
    return result.calls({"x": X}, 3)


def source(found: Callable[[Result], Any]) -> Callable[[Any, Path], Any]:
    """Returns a function that finds a thing in the folder that was opened."""
    return lambda ed, folder: found(Result(folder / "in", [], ed=ed))


_FOLDERS = {"SavedModel": saved_model("scaled", "shifted"), "Keras 3 export": keras_3, "Keras 2 folder": keras_2,
            "Keras 2 export": keras_2_export, "ExportArchive": archive}  # fmt: skip

THINGS = {
    "its name, arguments and results": Thing(
        _FOLDERS, own_signature, source(own_signature), lambda ed: [repr(ed.opened_graph.signature)], FILES
    ),
    "the other signatures": Thing(
        {name: _FOLDERS[name] for name in ("SavedModel", "Keras 3 export", "ExportArchive")},
        other_signatures,
        source(other_signatures),
        lambda ed: [repr(one.name) for one in ed.signatures if one.name != ed.opened_graph.signature][:1],
        FILES,
    ),
    "defaults of arguments": Thing(
        {"SavedModel": saved_model("scaled")}, defaults, source(defaults), lambda ed: ["'scale'", "'scaled'"]
    ),
    "other functions of the opened object": Thing(
        {**{name: _FOLDERS[name] for name in ("SavedModel", "Keras 2 folder")}, "`tf.Module`": module("scaled")},
        lambda result: None,
        lambda ed, folder: "functions",
        lambda ed: ["functions '"],
        FILES,
    ),
    "paths of variables": Thing(
        {"SavedModel": saved_model("scaled"), "`tf.Module`": module("scaled"), "Keras 2 folder": keras_2},
        paths,
        lambda ed, folder: sorted(ed.opened_graph.variable_paths.values()),
        lambda ed: ["attributes under the paths"],
        list(DOORS)[:3],
    ),
    "tables with their files": Thing(
        {"SavedModel": saved_model("ids"), "`tf.Module`": module("ids"), "`.meta` and checkpoint": meta_graph("ids"),
         "`.pb`": graph_def},
        looked_up,
        lambda ed, folder: [[2, -1]],
        lambda ed: ["run first: "],
    ),
    "weights that are not trained": Thing(
        {**_FOLDERS, "`.keras`": keras_file(lambda: frozen_net(keras)), "Keras model": live(lambda: frozen_net(keras)),
         "model of Keras 2": live(lambda: frozen_net(tf_keras)), "`tf.Module`": module("scaled"),
         "`.meta` and checkpoint": meta_graph("scaled")},
        trained,
        lambda ed, folder: ([(2, 2)], 1) if "frozen" in ed.snapshot.index else ([(2,), (3, 2)], 2),
        lambda ed: ["not trained"],
        [door for door in DOORS if door not in ("`graph_def`, frozen", "`tflite`")],
    ),
    "state that each call changes": Thing(
        {"SavedModel": saved_model("counted"), "`tf.Module`": module("counted"), "`.keras`": keras_file(counting),
         "Keras model": live(counting), "`.meta` and checkpoint": meta_graph("counted")},
        counts,
        lambda ed, folder: [(X * n).tolist() for n in (1, 2, 3)],
        lambda ed: ["count"],
    ),
}  # fmt: skip


def cells(thing: str, way: str, folder: Path) -> tuple[list[str], list[Any]]:
    """Returns what becomes of a thing at each door, and what was found and noted."""
    about, found, seen = THINGS[thing], [], []
    for number, door in enumerate(DOORS):
        if door not in about.doors:
            found.append(NONE)
            continue
        here = folder / str(number)
        here.mkdir()
        ed = about.ways[way](here)
        want = about.want(ed, here)
        try:
            result = through(door, ed, here)
        except gs.SurgeryError as error:
            found.append(REFUSED)
            seen.append((door, str(error)))
            continue
        got = about.found(result)
        named = any(word in note for word in about.words(ed) for note in result.notes)
        found.append(KEPT if got == want else NAMED if named else "lost")
        seen.append((door, got, want, result.notes))
    return found, seen


_SCALAR = "kept kept kept – – kept kept refused"  # an input of Keras needs a dimension
#: What becomes of each thing: a word for each door; and for some ways in, other words.
_CELLS: dict[str, tuple[str, dict[str, str]]] = {
    "its name, arguments and results": ("kept kept named named kept – – –", {}),
    "the other signatures": ("kept kept named named named – – –", {}),
    "defaults of arguments": ("kept kept named named named kept named refused", {}),
    "other functions of the opened object": ("named named named named named – – –", {}),
    "paths of variables": ("named kept named – – – – –", {}),
    "tables with their files": (
        "kept kept kept named refused kept kept kept", {"`.pb`": "kept kept kept named refused kept kept refused"}
    ),
    "weights that are not trained": (
        "kept kept kept – – kept kept kept", {"SavedModel": _SCALAR, "`tf.Module`": _SCALAR}
    ),
    "state that each call changes": ("kept kept kept refused refused kept kept kept", {}),
}  # fmt: skip
#: (thing, way in) -> a cell for each door.
CELLS = {
    (thing, way): _CELLS[thing][1].get(way, _CELLS[thing][0]).split()
    for thing, about in THINGS.items()
    for way in about.ways
}
