"""Mutations: real graph files, spoilt in a way that a number says, by bytes or by fields."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from tests.tf.odd import ATTRIBUTE, DEVICES, NAMES, PORTS, other_kind, spoil_shape

tf1 = tf.compat.v1
KINDS = sorted(name for name in dir(tf.raw_ops) if name[0].isupper())
PROTOS = {
    "graph.pb": tf1.GraphDef, "graph.meta": meta_graph_pb2.MetaGraphDef, "saved_model.pb": saved_model_pb2.SavedModel,
}  # fmt: skip


class Base(NamedTuple):
    """A file to start from: its name, its bytes, how such a file is called; of a find, its seed and its stages."""

    name: str
    data: bytes
    file: str = "graph.pb"
    seed: int = 0
    stages: tuple[str, ...] = ()


class Mutant(NamedTuple):
    """A spoilt file: what was done, how it is to be called, its bytes, and of which kinds the changes are."""

    story: str
    file: str
    data: bytes
    kinds: tuple[str, ...] = ()


def mutant(number: int, bases: list[Base]) -> Mutant:
    """Returns the mutant with this number; the same one every time."""
    rng = random.Random(number)
    base = rng.choice(bases)
    if base.file.endswith(".pbtxt") or rng.random() < 0.25:
        story, data = _bytes(rng, base, bases)
        kinds = ["bytes"]
    else:
        story, data, kinds = _fields(rng, base)
    return Mutant(f"{base.name}: {story}", base.file, data, tuple(kinds))


# -- bytes ----------------------------------------------------------------------------------------


def _bytes(rng: random.Random, base: Base, bases: list[Base]) -> tuple[str, bytes]:
    data, story = bytearray(base.data), []
    for _ in range(rng.choice((1, 1, 2, 5))):
        what = rng.choice(("flip", "set", "cut", "double", "delete", "splice"))
        at = rng.randrange(len(data) or 1)
        end = min(len(data), at + rng.choice((1, 4, 30, 300)))
        if what == "flip" and data:
            data[at] ^= 1 << rng.randrange(8)
        elif what == "set" and data:
            data[at] = rng.choice((0, 1, 10, 127, 128, 255))
        elif what == "cut":
            del data[at:]
        elif what == "double":
            data[at:at] = data[at:end]
        elif what == "delete":
            del data[at:end]
        else:
            other = rng.choice(bases).data
            start = rng.randrange(len(other))
            data[at:end] = other[start : start + rng.choice((4, 30, 300, 3000))]
        story.append(f"{what} at {at}")
    return ", ".join(story), bytes(data)


# -- fields ---------------------------------------------------------------------------------------


def _fields(rng: random.Random, base: Base) -> tuple[str, bytes, list[str]]:
    proto = PROTOS[base.file].FromString(base.data)
    meta = proto.meta_graphs[0] if base.file == "saved_model.pb" else proto if base.file == "graph.meta" else None
    graph = meta.graph_def if meta else proto
    story, kinds = [], []
    for _ in range(rng.choice((1, 1, 1, 1, 2, 4))):
        functions = graph.library.function
        inside = bool(functions) and rng.random() < 0.3
        nodes = rng.choice(functions).node_def if inside else graph.node
        change = rng.choice(_ANYWHERE if nodes else _ON_GRAPH)
        if rng.random() < 0.15:
            change = rng.choice(_ON_GRAPH)
        if meta and rng.random() < 0.4:
            change = rng.choice(_ON_META)
            story.append(change(rng, meta))
        elif change in _ON_GRAPH:
            story.append(change(rng, graph))
        else:
            node = rng.choice(nodes)
            story.append(f"{node.name[:40]!r} ({node.op[:40]}): {change(rng, node, nodes, graph)}")
        kinds.append(change.__name__.strip("_").replace("_", " ") + " in a function" * (change in _ANYWHERE and inside))
    return "; ".join(story), proto.SerializeToString(deterministic=True), kinds


def _op_type(rng: random.Random, node: Any, nodes: Any, graph: Any) -> str:
    called = [f.signature.name for f in graph.library.function]
    node.op = rng.choice((rng.choice(KINDS), rng.choice(nodes).op, rng.choice(called or ["Foo"]), "", "No such op"))
    return f"is now a {node.op}"


def _name(rng: random.Random, node: Any, nodes: Any, graph: Any) -> str:
    name = rng.choice(
        (rng.choice(NAMES), rng.choice(nodes).name, rng.choice(nodes).name + "/" + node.name, "n/" + node.name)
    )
    return _called(node, nodes, name, rng.random() < 0.7)


def _called(node: Any, nodes: Any, name: str, read: bool) -> str:
    """Gives an op another name, and lets its readers know, where it is to be `read`."""
    for reader in nodes if read else ():
        for i, text in enumerate(reader.input):
            mark, rest = ("^", text[1:]) if text.startswith("^") else ("", text)
            if rest.partition(":")[0] == node.name:
                reader.input[i] = mark + name + rest[len(node.name) :]
    node.name = name
    return f"is now called {name[:40]!r}"


def _input(rng: random.Random, node: Any, nodes: Any, graph: Any) -> str:
    target = rng.choice((rng.choice(nodes).name, rng.choice(nodes).name, node.name, rng.choice(NAMES)))
    text = rng.choice((target, target + rng.choice(PORTS), "^" + target, "^" + target + ":0", ""))
    at = rng.randrange(len(node.input) + 1)
    what = rng.choice(("set", "set", "set", "insert", "remove", "swap", "many"))
    inputs = list(node.input)
    if what == "set" and at < len(inputs):
        if rng.random() < 0.5:
            text = inputs[at].partition(":")[0] + rng.choice(PORTS)
        inputs[at] = text
    elif what == "remove" and at < len(inputs):
        del inputs[at]
    elif what == "swap":
        rng.shuffle(inputs)
    elif what == "many":
        inputs[at:at] = [text] * 500
    else:
        inputs.insert(at, text)
    node.input[:] = inputs
    return f"{what} input {at} {text[:40]!r}"


def _attribute(rng: random.Random, node: Any, nodes: Any, graph: Any) -> str:
    if not node.attr:
        return "has no attributes"
    key = rng.choice(sorted(node.attr))
    value = node.attr[key]
    kind = value.WhichOneof("value")
    ATTRIBUTE.get(kind or "", other_kind)(rng, value, graph)
    return f"{key} ({kind}) = {str(value)[:80]!r}".replace("\n", " ")


def _drop_attribute(rng: random.Random, node: Any, nodes: Any, graph: Any) -> str:
    if not node.attr:
        return "has no attributes"
    key = rng.choice(sorted(node.attr))
    del node.attr[key]
    return f"without {key}"


def _new_attribute(rng: random.Random, node: Any, nodes: Any, graph: Any) -> str:
    known = (
        "_class",
        "_output_shapes",
        "_gradient_op_type",
        "shared_name",
        "N",
        "T",
        "dtype",
        "shape",
        "frame_name",
        "f",
    )
    key = rng.choice(
        (*known, "container", "_kernel", "_XlaCompile", "", "é", "_lower_using_switch_merge", "then_branch")
    )
    giver = rng.choice(nodes)
    if giver.attr and rng.random() < 0.5:
        node.attr[key].CopyFrom(giver.attr[rng.choice(sorted(giver.attr))])
    elif key == "_class":
        node.attr[key].list.s[:] = [
            rng.choice((b"loc:@" + giver.name.encode(), b"loc:@", b"x", b"\xff", b"loc:@no/such"))
        ]
    else:
        other_kind(rng, node.attr[key], graph)
    return f"{key!r} = {str(node.attr[key])[:80]!r}"


def _device(rng: random.Random, node: Any, nodes: Any, graph: Any) -> str:
    node.device = rng.choice(DEVICES)
    return f"on {node.device[:40]!r}"


def _move(rng: random.Random, node: Any, nodes: Any, graph: Any) -> str:
    what = rng.choice(("again", "gone", "last"))
    copy = type(node)()
    copy.CopyFrom(node)
    if what != "again":
        del nodes[next(i for i, n in enumerate(nodes) if n is node or n == node)]
    if what != "gone":
        nodes.append(copy)
    return what


def _dtype(rng: random.Random, node: Any, nodes: Any, graph: Any) -> str:
    """Another dtype for an op, and for some that read it."""
    kinds = {value.type for value in node.attr.values() if value.WhichOneof("value") == "type"}
    if not kinds:
        return "has no dtype"
    old, new = rng.choice(sorted(kinds)), rng.choice((1, 2, 3, 7, 9, 10, 14, 20, 21, 101))
    readers = [one for one in nodes if any(text.partition(":")[0] == node.name for text in one.input)]
    for one in (node, *readers[: rng.choice((0, 1, 99))]):
        for value in one.attr.values():
            if value.WhichOneof("value") == "type" and value.type == old:
                value.type = new
    return f"dtype {old} is {new}"


def _bypassed(rng: random.Random, node: Any, nodes: Any, graph: Any) -> str:
    """An op is gone, and what has read it reads what it read."""
    name, suggestion = node.name, [text for text in node.input if not text.startswith("^")][:1]
    for one in nodes:
        for i, text in enumerate(one.input):
            if text.partition(":")[0] == name and suggestion:
                one.input[i] = suggestion[0]
    del nodes[next(i for i, n in enumerate(nodes) if n is node or n == node)]
    return f"is gone, {suggestion} is read instead"


def _traded(rng: random.Random, node: Any, nodes: Any, graph: Any) -> str:
    """Two ops read what the other has read."""
    other = rng.choice(nodes)
    mine, theirs = list(node.input), list(other.input)
    node.input[:], other.input[:] = theirs, mine
    return f"trades its inputs with {other.name[:40]!r}"


def _collides(rng: random.Random, node: Any, nodes: Any, graph: Any) -> str:
    """A name that is another's, but for its letters, or that is a scope of another."""
    other = rng.choice(nodes).name
    same = (other.upper(), other.swapcase(), other.rpartition("/")[0], other + "/", other + "_1", other + "/x")
    name = rng.choice(same)
    return _called(node, nodes, name or other, True)


# -- the graph as a whole -------------------------------------------------------------------------


def _versions(rng: random.Random, graph: Any) -> str:
    field = rng.choice(("producer", "min_consumer", "bad_consumers"))
    number = rng.choice((0, -1, 1, 20, 21, 27, 1395, 99_999, 2**31 - 1))
    if field == "bad_consumers":
        graph.versions.bad_consumers.append(number)
    else:
        setattr(graph.versions, field, number)
    return f"{field} {number}"


def _library(rng: random.Random, graph: Any) -> str:
    functions = graph.library.function
    if not functions:
        return "no library"
    at = rng.randrange(len(functions))
    function, other = functions[at], rng.choice(functions)
    what = rng.choice(
        ("remove", "rename", "circle", "ret", "argument", "result", "double", "gradient", "control", "arg attr")
    )
    if what == "remove":
        del functions[at]
    elif what == "rename":
        function.signature.name = rng.choice((*NAMES, other.signature.name, "MatMul"))
    elif what == "circle":
        node = function.node_def.add(name="again", op=rng.choice(("PartitionedCall", "StatefulPartitionedCall")))
        node.attr["f"].func.name = other.signature.name
        for key in ("Tin", "Tout"):
            node.attr[key].list.SetInParent()
    elif what == "ret" and function.ret:
        key = rng.choice(sorted(function.ret))
        was = function.ret[key]
        function.ret[key] = rng.choice((*NAMES, "x:y:0", was + ":9", was[:-1] + "4294967296"))
    elif what in ("argument", "result"):
        args = function.signature.input_arg if what == "argument" else function.signature.output_arg
        if args and rng.random() < 0.5:
            args[0].type = rng.choice((0, 1, 20, 99, 101))
        else:
            args.add(name=rng.choice(("x", "x", "", "é")), type=1)
    elif what == "double":
        functions.add().CopyFrom(function)
    elif what == "gradient":
        graph.library.gradient.add(function_name=function.signature.name, gradient_func=other.signature.name)
    elif what == "control":
        function.control_ret["k"] = rng.choice(("no_such", function.node_def[0].name if function.node_def else ""))
    else:
        function.arg_attr[rng.choice((0, 7, 2**31))].attr["_output_shapes"].list.shape.add().dim.add(size=-7)
    return f"function {function.signature.name[:40]!r}: {what}"


def _many(rng: random.Random, graph: Any) -> str:
    """Repeats an op many times, each copy reading the one before."""
    if not graph.node:
        return "no nodes"
    node = type(graph.node[0])()
    node.CopyFrom(rng.choice(graph.node))
    count, own = rng.choice((50, 1000, 3000)), node.name
    for i in range(count if node.ByteSize() < 9_000 else 0):
        copy = graph.node.add()
        copy.CopyFrom(node)
        copy.name = f"{own}_{i}"
        if copy.input:
            copy.input[rng.randrange(len(copy.input))] = own if i == 0 else f"{own}_{i - 1}"
    return f"{count} times {own!r} ({node.op})"


def _collection(rng: random.Random, meta: Any) -> str:
    name = rng.choice(sorted(meta.collection_def) or ["x"])
    collection = meta.collection_def[name]
    kind = collection.WhichOneof("kind")
    values = getattr(collection, kind).value if kind else []
    what = rng.choice(("damage", "rename", "kind", "odd"))
    if what == "damage" and values and isinstance(values[0], bytes) and values[0]:
        data = bytearray(values[0])
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        values[rng.randrange(len(values))] = bytes(data)
    elif what == "rename":
        meta.collection_def[rng.choice(("variables", "while_context", "cond_context", "x", ""))].CopyFrom(collection)
    elif what == "kind":
        collection.node_list.value[:] = [rng.choice((*NAMES, "x:0", meta.graph_def.node[0].name))]
    else:
        collection.bytes_list.value[:] = [rng.choice((b"", b"\xff\xff", b"\n\1x"))]
    return f"collection {name!r}: {what}"


def _saver(rng: random.Random, meta: Any) -> str:
    saver = meta.saver_def
    name = rng.choice(("filename_tensor_name", "save_tensor_name", "restore_op_name"))
    text = rng.choice((*NAMES, rng.choice(meta.graph_def.node).name if meta.graph_def.node else ""))
    setattr(saver, name, rng.choice((text, text + rng.choice(PORTS))))
    saver.version = rng.choice((0, 1, 2, saver.version))
    saver.sharded = rng.random() < 0.5
    return f"saver: {name} = {getattr(saver, name)[:40]!r}, version {saver.version}"


def _signature(rng: random.Random, meta: Any) -> str:
    key = rng.choice((*sorted(meta.signature_def), "serving_default", rng.choice(NAMES), "__saved_model_init_op"))
    signature = meta.signature_def[key]
    infos = rng.choice((signature.inputs, signature.outputs))
    info = infos[rng.choice((*sorted(infos), rng.choice(NAMES)))]
    what = rng.choice(("name", "name", "dtype", "shape", "sparse", "parts", "gone", "method"))
    if what == "name":
        target = rng.choice(meta.graph_def.node).name if meta.graph_def.node else ""
        info.name = rng.choice((target, target + rng.choice(PORTS), "^" + target, *NAMES[:4]))
    elif what == "dtype":
        info.dtype = rng.choice((0, 1, 7, 20, 99, 101))
    elif what == "shape":
        spoil_shape(rng, info.tensor_shape)
    elif what == "sparse":
        info.coo_sparse.values_tensor_name = rng.choice((info.name, "x:0", "", ":"))
    elif what == "parts":
        info.composite_tensor.components.add(name=rng.choice((info.name, "x:0", "", ":")))
    elif what == "gone":
        del meta.signature_def[key]
    else:
        signature.method_name = rng.choice(NAMES)
    return f"signature {key[:40]!r}: {what}"


def _tags(rng: random.Random, meta: Any) -> str:
    info, what = meta.meta_info_def, rng.choice(("tag", "no tags", "ops", "asset", "version"))
    if what == "tag":
        info.tags.append(rng.choice(("serve", "train", *NAMES[:6])))
    elif what == "no tags":
        del info.tags[:]
    elif what == "ops":
        info.stripped_op_list.op.add(name=rng.choice(("MatMul", "Foo", "")))
    elif what == "asset":
        asset = meta.asset_file_def.add(filename=rng.choice(("x", "../x", "/etc/passwd", "", "a/b")))
        target = rng.choice(meta.graph_def.node).name if meta.graph_def.node else ""
        asset.tensor_info.name = rng.choice((*PORTS, target))
    else:
        info.tensorflow_version = rng.choice(NAMES)
    return f"about the graph: {what}"


def _objects(rng: random.Random, meta: Any) -> str:
    nodes = meta.object_graph_def.nodes
    if not nodes:
        return "no objects"
    node, what = rng.choice(nodes), rng.choice(("child", "child", "kind", "kind", "gone", "double", "bytes"))
    number = rng.choice((0, -1, len(nodes) - 1, len(nodes), 2**31 - 1))
    if what == "child" and node.children:
        child = rng.choice(node.children)
        child.node_id, child.local_name = number, rng.choice((child.local_name, *NAMES))
    elif what == "child":
        node.children.add(node_id=number, local_name="x")
    elif what == "gone":
        del nodes[rng.randrange(len(nodes))]
    elif what == "double":
        nodes.add().CopyFrom(node)
    elif what == "bytes":
        node.user_object.metadata = rng.choice(("", "{", "[]", '{"config": []}', '{"config": {"layers": 3}}', "null"))
    else:
        rng.choice((node.user_object, node.asset, node.function, node.variable, node.resource)).SetInParent()
    return f"object {number}: {what}"


_ON_META: tuple[Callable[..., str], ...] = (_collection, _collection, _saver, _signature, _signature, _tags, _objects)
_ON_GRAPH: tuple[Callable[..., str], ...] = (_versions, _library, _library, _library, _many)
_ANYWHERE: tuple[Callable[..., str], ...] = (
    *(_op_type, _name, _input, _input, _input, _device, _move, _drop_attribute, _new_attribute),
    *(_attribute, _attribute, _attribute, _attribute, _attribute, _attribute),
    *(_dtype, _bypassed, _traded, _collides),
)
