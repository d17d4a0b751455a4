"""Probes: ops that note what tensors hold while a graph runs, in loops and branches too.

Each probe takes the numbers of one tensor inside of TensorFlow (``DebugNumericSummary``) and puts them, with a sample
of its elements, into a queue: what a branch that is not taken would have made never comes, what is in a loop comes once
in each round, and what came before a run failed is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2

from ...graph.frames import Frames
from ...graph.graph import Graph
from ...graph.live import TFGraph, TFSession
from ...graph.names import free_name
from ...graph.noted import SAMPLE, Noted, noted, sampled, step_of
from ..copy.imports import import_nodes
from ..functions.body import constant

tf1 = tf.compat.v1

#: What the numbers are taken of as it is; of other dtypes, of what they are cast to.
_NUMBERS = frozenset({"float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool"})
_CAST = {"float16": "float32", "bfloat16": "float32", "uint32": "float64", "uint64": "float64"}
_COMPLEX = {"complex64": "float32", "complex128": "float64"}
_HELD = ("resource", "variant")
_WHOLE = "/device:CPU:0"
#: Where the numbers of DebugNumericSummary begin that count what is not finite, and how many there are before min.
_COUNTS = 8


@dataclass(frozen=True)
class Probed:
    """What is noted in a run.

    Args:
        queues: the names of the queues, the one of what is in no loop first.
        targets: the ops that put something in.
        tensors: number of a probe -> its tensor, the dtype of that, and how many loops are around it.
        ops: the names of all ops of the probes.
        at_once: so many notes are read at a time.
    """

    queues: tuple[str, ...]
    targets: tuple[str, ...]
    tensors: tuple[tuple[str, str, int], ...]
    ops: frozenset[str]
    at_once: int = 4096

    def watched(self, op: str) -> int | None:
        """Returns the number of the probe that an op is a part of; None for an op that probes share, or any other."""
        found = re.fullmatch(r"p(\d+)/\w+", op.partition("/")[2]) if op in self.ops else None
        return int(found[1]) if found else None

    def read(self, session: TFSession) -> list[Noted]:
        """Returns what has been noted since it was read last, in the order in which it was."""
        graph, found = session.graph, list[Noted]()
        for name in self.queues:
            size = int(session.run(f"{name}/size:0"))
            while size:
                many = min(size, self.at_once)
                parts = [graph.get_tensor_by_name(f"{name}/take:{k}") for k in range(_PARTS)]
                numbers, rounds, summary, sample = session.run(parts, {f"{name}/many:0": many})
                for at, number in enumerate(numbers.tolist()):
                    found.append(self._noted(number, rounds[at], summary[at], sample[at]))
                size -= many
        return found

    def waiting(self, session: TFSession) -> int:
        """Returns how much has been noted since it was read last."""
        return sum(map(int, session.run([f"{name}/size:0" for name in self.queues])))

    def _noted(self, number: int, rounds: Any, numbers: Any, sample: Any) -> Noted:
        """What came from a queue, without what fills it up there."""
        name, dtype, depth = self.tensors[number]
        if dtype == "string":
            numbers, sample = numbers[numbers > 0] - 1, sample[:0]
        else:
            numbers = numbers[: _RANKED + int(numbers[_RANKED - 1])]
        note = Noted(name, tuple(rounds[:depth].tolist()), numbers.copy(), sample, dtype)
        return replace(note, sample=sample[: sampled(note.size)].copy())


#: Behind so many numbers of DebugNumericSummary come the sizes.
_RANKED = 14
_PARTS = 4


def probe(graph: TFGraph, base: Graph, tensors: Iterable[tuple[int, int]], rounds: int) -> Probed:
    """Adds probes of tensors to a graph.

    Args:
        graph: the graph; it is nobody's but ours.
        base: its snapshot.
        tensors: (op, output) of what is to be noted; resources and variants are left out.
        rounds: so many rounds of a loop are noted, and of later ones what is not finite.

    Example:
        >>> from graphsurgeon.tf.open.snapshot import snapshot
        >>> with tf.Graph().as_default() as graph:
        ...     y = tf.math.log(tf.compat.v1.placeholder(tf.float32, [3], name="x"), name="y")
        >>> probed = probe(graph, snapshot(graph), [(1, 0)], 100)
        >>> with tf.compat.v1.Session(graph=graph) as session:
        ...     _ = session.run([y, *map(graph.get_operation_by_name, probed.targets)], {"x:0": [1.0, 1.0, 0.0]})
        ...     (noted,) = probed.read(session)
        >>> noted.tensor, noted.shape, noted.zeros, noted.infinite, noted.sample.tolist()
        ('y:0', (3,), 2, 1, [0.0, 0.0, -inf])
    """
    writer = _Writer(graph, base, rounds)
    for op, port in tensors:
        writer.add(op, port)
    return writer.done()


def constants(base: Graph, tensors: Iterable[tuple[int, int]]) -> list[Noted]:
    """Returns what is noted of tensors whose ops are constants: no run is needed for that."""
    found = []
    for op, port in tensors:
        info = base.info(op, port)
        array = tf.make_ndarray(base.nodes[op].attr["value"].tensor)
        if info is not None:
            array = array if info.dtype == "string" or array.dtype.kind in "biufc" else array.astype(np.float32)
            found.append(noted(base.name((op, port)), array, info.dtype))
    return found


@dataclass
class _Inside:
    """What the probes in one loop share, by name: the queue, constants, and in which round it is."""

    queue: str = ""
    rounds: str = ""
    few: str = ""
    shared: dict[str, str] = field(default_factory=dict)


class _Writer:
    """Writes the nodes of probes; used once."""

    def __init__(self, graph: TFGraph, base: Graph, rounds: int) -> None:
        self.graph, self.base, self.most = graph, base, rounds
        self.scope = free_name("probes", base.taken)
        self.graph_def = graph_pb2.GraphDef()
        self.graph_def.versions.CopyFrom(graph.graph_def_versions)
        self.frames = Frames(base)
        self.inside: dict[int, _Inside] = {}
        self.names: set[str] = set()
        self.targets: list[str] = []
        self.tensors: list[tuple[str, str, int]] = []
        self.queues: list[str] = []

    # -- nodes ----------------------------------------------------------------------------------

    def node(self, leaf: str, op: str, inputs: Sequence[str] = (), **attrs: Any) -> str:
        """Adds a node; returns its name."""
        name = f"{self.scope}/{leaf}"
        new = self.graph_def.node.add(name=name, op=op, input=list(inputs), device=_WHOLE)
        for key, value in attrs.items():
            if isinstance(value, tf.DType):
                new.attr[key].type = value.as_datatype_enum
            elif isinstance(value, bool):
                new.attr[key].b = value
            elif isinstance(value, int):
                new.attr[key].i = value
            elif isinstance(value, str):
                new.attr[key].s = value.encode()
            elif isinstance(value, list) and value and isinstance(value[0], tf.DType):
                new.attr[key].list.type.extend(t.as_datatype_enum for t in value)
            elif isinstance(value, list):
                new.attr[key].list.shape.extend(tf.TensorShape(s).as_proto() for s in value)
            else:
                new.attr[key].CopyFrom(value)
        self.names.add(name)
        return name

    def const(self, leaf: str, value: Any, *after: str) -> str:
        """Adds a constant, in the loop and the branch of what it waits for."""
        name = f"{self.scope}/{leaf}"
        new = self.graph_def.node.add()
        new.CopyFrom(constant(name, tf.make_tensor_proto(value)))
        new.input.extend(f"^{op}" for op in after)
        new.device = _WHOLE
        self.names.add(name)
        return name

    def number(self, lead: str, number: int, after: Sequence[str]) -> str:
        """Adds the constant that says which probe it is."""
        name = f"{self.scope}/{lead}/number"
        new = self.graph_def.node.add(name=name, op="Const", input=[f"^{op}" for op in after], device=_WHOLE)
        new.attr["dtype"].type = tf.int32.as_datatype_enum
        proto = new.attr["value"].tensor
        proto.dtype = tf.int32.as_datatype_enum
        proto.tensor_shape.SetInParent()
        proto.int_val.append(number)
        self.names.add(name)
        return name

    def within(self, frame: int) -> _Inside:
        """Returns what the probes of a loop share; of what is in none, frame -1."""
        if frame in self.inside:
            return self.inside[frame]
        made = self.inside[frame] = _Inside()
        if frame < 0:
            made.queue = self.queue("queue")
            made.rounds = self.const("no_rounds", np.zeros(0, np.int64))
            return made
        about = self.frames.about(frame)
        outer = self.within(about.outer)
        lead, after = f"loop_{frame}", self.base.names[about.before]
        root = self.within(-1).shared
        if "queue" not in root:
            root["queue"] = self.queue("loops")
        zero = self.const(f"{lead}/first", np.int64(0), after)
        inward = {"frame_name": about.name, "parallel_iterations": about.parallel}

        def enter(leaf: str, what: str, dtype: tf.DType, same: bool = True) -> str:
            return self.node(f"{lead}/{leaf}", "Enter", [what], T=dtype, is_constant=same, **inward)

        handle = outer.queue if about.outer >= 0 else root["queue"]
        made.queue = enter("queue", handle, tf.resource)
        counts = enter("enter", zero, tf.int64, same=False)
        merge = self.node(f"{lead}/merge", "Merge", [counts, f"{self.scope}/{lead}/turn"], T=tf.int64, N=2)
        on = self.node(f"{lead}/switch", "Switch", [merge, self.base.names[about.asks]], T=tf.int64)
        step = self.const(f"{lead}/one", np.int64(1), self.base.names[about.asks])
        self.node(f"{lead}/add", "AddV2", [f"{on}:1", step], T=tf.int64)
        self.node(f"{lead}/turn", "NextIteration", [f"{self.scope}/{lead}/add"], T=tf.int64)
        own = self.node(f"{lead}/own", "Pack", [merge], T=tf.int64, N=1, axis=0)
        if about.outer >= 0:
            around = enter("around", outer.rounds, tf.int64)
            axis = self.const(f"{lead}/axis", np.int32(0), merge)
            made.rounds = self.node(f"{lead}/rounds", "ConcatV2", [around, own, axis], T=tf.int64, Tidx=tf.int32, N=2)
        else:
            made.rounds = own
        depth = about.depth
        most = self.const(f"{lead}/most", np.int64(max(int(self.most ** (1 / depth)), 1)), merge)
        made.few = self.node(f"{lead}/few", "Less", [merge, most], T=tf.int64)
        if outer.few:
            few = enter("few_around", outer.few, tf.bool)
            made.few = self.node(f"{lead}/both", "LogicalAnd", [made.few, few])
        for leaf, value in (("from", [0]), ("size", [_COUNTS]), ("counts", [0, 0, 1, 1, 0, 0, 0, 1]), ("all", [0])):
            dtype = np.float64 if leaf == "counts" else np.int32
            made.shared[leaf] = self.const(f"{lead}/{leaf}", np.asarray(value, dtype), merge)
        made.shared["zero"] = self.const(f"{lead}/zero", np.float64(0), merge)
        made.shared["none"] = self.const(f"{lead}/none", np.zeros(0, np.float32), merge)
        return made

    def queue(self, leaf: str) -> str:
        """Adds a queue, and what tells its size and takes from it."""
        kinds = [tf.int32, tf.int64, tf.float64, tf.float32]
        shapes: list[Any] = [[], [None], [None], [None]]
        about: dict[str, Any] = {"component_types": kinds, "shapes": shapes, "capacity": -1}
        made = self.node(leaf, "PaddingFIFOQueueV2", shared_name=f"{self.scope}/{leaf}", **about)
        self.node(f"{leaf}/size", "QueueSizeV2", [made])
        many = self.node(f"{leaf}/many", "Placeholder", dtype=tf.int32)
        self.graph_def.node[-1].attr["shape"].shape.SetInParent()
        self.node(f"{leaf}/take", "QueueDequeueManyV2", [made, many], component_types=kinds)
        self.queues.append(made)
        return made

    # -- probes ---------------------------------------------------------------------------------

    def add(self, op: int, port: int) -> None:
        """Adds the probe of one tensor; none where its dtype is not known, or where it holds no numbers or text."""
        info = self.base.info(op, port)
        frame = self.frames.of(op)
        if info is None or info.dtype in _HELD or info.dtype == "unknown" or frame < -1:
            return
        number, name = len(self.tensors), self.base.names[op]
        inside, lead = self.within(frame), f"p{number}"
        tensor = f"{name}:{port}" if port else name
        summary, value, kind = self.summary(lead, tensor, info)
        own = self.number(lead, number, [name] if frame >= 0 else [])
        if frame < 0:
            sample = self.sample(lead, value, kind, info)
            rounds = inside.rounds
        else:
            shared = inside.shared
            sample, rounds = shared["none"], inside.rounds
            if kind is not None:
                first = self.node(f"{lead}/slice", "Slice", [summary, shared["from"], shared["size"]],
                                  T=tf.float64, Index=tf.int32)  # fmt: skip
                bad = self.node(f"{lead}/counts", "Mul", [first, shared["counts"]], T=tf.float64)
                total = self.node(f"{lead}/sum", "Sum", [bad, shared["all"]], T=tf.float64, Tidx=tf.int32,
                                  keep_dims=False)  # fmt: skip
                worth = self.node(f"{lead}/bad", "Greater", [total, shared["zero"]], T=tf.float64)
                worth = self.node(f"{lead}/worth", "LogicalOr", [worth, inside.few])
            else:
                worth = inside.few
            kept = self.node(f"{lead}/kept", "Switch", [summary, worth], T=tf.float64)
            summary = f"{kept}:1"
        put = self.node(f"{lead}/put", "QueueEnqueueV2", [inside.queue, own, rounds, summary, sample],
                        Tcomponents=[tf.int32, tf.int64, tf.float64, tf.float32])  # fmt: skip
        self.targets.append(put)
        depth = self.frames.about(frame).depth if frame >= 0 else 0
        dtype = "string" if kind is None else info.dtype
        self.tensors.append((f"{name}:{port}", dtype, depth))

    def summary(self, lead: str, tensor: str, info: Any) -> tuple[str, str, tf.DType | None]:
        """Adds what takes the numbers of a tensor; of text, its shape alone."""
        dtype = tf.as_dtype(info.dtype)
        if info.dtype in _CAST:
            to = tf.as_dtype(_CAST[info.dtype])
            tensor, dtype = self.node(f"{lead}/cast", "Cast", [tensor], SrcT=dtype, DstT=to), to
        elif info.dtype in _COMPLEX:
            to = tf.as_dtype(_COMPLEX[info.dtype])
            tensor, dtype = self.node(f"{lead}/abs", "ComplexAbs", [tensor], T=dtype, Tout=to), to
        elif info.dtype not in _NUMBERS:
            shape = self.node(f"{lead}/shape", "Shape", [tensor], T=dtype, out_type=tf.int32)
            one = self.const(f"{lead}/one", np.int32(1), shape)
            more = self.node(f"{lead}/more", "AddV2", [shape, one], T=tf.int32)  # 0 fills a row of the queue up
            return self.node(f"{lead}/sizes", "Cast", [more], SrcT=tf.int32, DstT=tf.float64), tensor, None
        made = self.node(f"{lead}/numbers", "DebugNumericSummary", [tensor], T=dtype, tensor_name="x:0")
        return made, tensor, dtype

    def sample(self, lead: str, tensor: str, dtype: tf.DType | None, info: Any) -> str:
        """Adds what takes elements at equal distances, so many that they tell how the others lie."""
        if dtype is None:
            return self.shared("no_sample", np.zeros(0, np.float32))
        row = self.node(f"{lead}/row", "Reshape", [tensor, self.shared("flat", np.array([-1], np.int32))],
                        T=dtype, Tshape=tf.int32)  # fmt: skip
        shape = info.shape
        size = int(np.prod(shape)) if shape is not None and None not in shape else None
        if size is None or size > SAMPLE:
            zero = self.shared("zero", np.array([0], np.int32))
            if size is None:
                count = self.node(f"{lead}/count", "Size", [tensor], T=dtype, out_type=tf.int32)
                by = self.node(f"{lead}/by", "FloorDiv", [count, self.shared("by", np.int32(SAMPLE))], T=tf.int32)
                odd = self.node(f"{lead}/odd", "BitwiseOr", [by, self.shared("one", np.int32(1))], T=tf.int32)
                step = self.node(f"{lead}/step", "Pack", [odd], T=tf.int32, N=1, axis=0)
            else:
                step = self.const(f"{lead}/step", np.array([step_of(size)], np.int32))
            row = self.node(f"{lead}/some", "StridedSlice", [row, zero, zero, step], T=dtype, Index=tf.int32,
                            begin_mask=1, end_mask=1, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0)  # fmt: skip
        if dtype == tf.float32:
            return row
        return self.node(f"{lead}/sample", "Cast", [row], SrcT=dtype, DstT=tf.float32)

    def shared(self, leaf: str, value: Any) -> str:
        """Returns a constant that the probes outside of loops share."""
        known = self.within(-1).shared
        if f"of {leaf}" not in known:
            known[f"of {leaf}"] = self.const(f"shared/{leaf}", value)
        return known[f"of {leaf}"]

    def done(self) -> Probed:
        """Makes the nodes."""
        tensors, controls = dict[tuple[str, int], Any](), dict[str, Any]()
        for node in self.graph_def.node:
            for text in node.input:
                name, _, port = text.lstrip("^").partition(":")
                if name in self.names:
                    continue
                op = self.graph.get_operation_by_name(name)
                if text[0] == "^":
                    controls[name] = op
                else:
                    tensors[name, int(port or 0)] = op.outputs[int(port or 0)]
        import_nodes(self.graph, self.graph_def, tensors, controls)
        return Probed(tuple(self.queues), tuple(self.targets), tuple(self.tensors), frozenset(self.names))
