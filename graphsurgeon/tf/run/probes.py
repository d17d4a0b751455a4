"""Probes: ops that record the values of tensors in a run, also in loops and branches; and reproducible random seeds.

Each probe is an op that calls Python with one tensor, without a copy. A probe makes one note per run: none in a branch
that is not taken, and one per round in a loop. If a run fails, earlier notes are kept.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...graph.control_flow import ENTERS, Frames
from ...graph.graph import Graph
from ...graph.names import free_name
from ...graph.tensor_stats import TensorStats, summarize
from ...graph.training import random_ops, unseeded_ops
from ...graph.types import TFGraph
from ..copy.imports import import_nodes
from ..functions.expand import constant
from ..import_tensorflow import tf
from ..messages import graph_pb2
from ..open.outputs import array_in
from ..private.graphs import set_attribute, token_of

tf1 = tf.compat.v1


def set_seeds(graph: TFGraph, base: Graph, seed: int, new_names: Mapping[str, str] | None = None) -> bool:
    """Sets seeds in random ops without seeds, in place; loops around random ops then run one round at a time.

    Args:
        graph: a graph that is not used elsewhere, and that no session has run.
        base: its snapshot.
        seed: the common seed; the seed of an op is derived from it and from the name of the op.
        new_names: op -> the name to use instead, for example the name of its original.

    Returns:
        whether the graph has changed.

    Example:
        >>> from graphsurgeon.tf.open.snapshot import snapshot
        >>> def draw(seed):
        ...     with tf.Graph().as_default() as graph, tf1.Session() as session:
        ...         x = tf.random.uniform([], 0, 1000, tf.int32, name="x")
        ...         _ = set_seeds(graph, snapshot(graph), seed)
        ...         return int(session.run(x))
        >>> draw(1) == draw(1), draw(1) == draw(2)
        (True, False)
    """
    bare, random = unseeded_ops(base), random_ops(base)
    for op in bare:
        name = base.names[op]
        number = zlib.crc32((new_names or {}).get(name, name).encode()) | 1
        for attribute, value in (("seed", seed), ("seed2", number)):
            set_attribute(graph.get_operation_by_name(name), attribute, tf1.AttrValue(i=value))
    frames = Frames(base)
    around = set[int]()
    for frame in map(frames.innermost, random):
        while frame >= 0 and frame not in around:
            around.add(frame)
            frame = frames.parent(frame)
    for op in range(base.size) if around else ():
        if base.types[op] in ENTERS and frames.innermost(op) in around:
            one = tf1.AttrValue(i=1)
            set_attribute(graph.get_operation_by_name(base.names[op]), "parallel_iterations", one)
    return bool(bare or around)


#: Numeric dtypes; for tensors of other dtypes only the shape is recorded.
_NUMBERS = frozenset({
    "bfloat16", "float16", "float32", "float64", "complex64", "complex128", "bool",
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
})  # fmt: skip
_HANDLE_DTYPES = ("resource", "variant")
_CPU = "/device:CPU:0"


@dataclass
class Probes:
    """The probes of a graph, and the notes (recorded values) of its runs.

    Args:
        rounds: the number of rounds of a loop that are recorded; in later rounds only values that are not finite.
        targets: the ops that make notes.
        tensors: number of a probe -> its tensor, its dtype, and the number of loops around it.
        ops: the names of all ops of the probes.
        stats: the notes since the last `read`.
        nodes: the ops as a GraphDef.
        keep_alive: objects that must not be freed as long as the ops run.
    """

    rounds: int
    targets: list[str] = field(default_factory=list)
    tensors: list[tuple[str, str, int]] = field(default_factory=list)
    ops: set[str] = field(default_factory=set)
    stats: list[TensorStats] = field(default_factory=list)
    nodes: Any = field(default_factory=graph_pb2.GraphDef)
    keep_alive: list[Any] = field(default_factory=list)

    def add_to(self, graph: TFGraph) -> None:
        """Adds the probes to the graph of the snapshot, or to a copy of it; this object collects their notes."""
        tensors, controls = dict[tuple[str, int], Any](), dict[str, Any]()
        for node in self.nodes.node:
            for text in node.input:
                name, _, port = text.lstrip("^").partition(":")
                if name in self.ops:
                    continue
                op = graph.get_operation_by_name(name)
                if text[0] == "^":
                    controls[name] = op
                else:
                    tensors[name, int(port or 0)] = op.outputs[int(port or 0)]
        self.nodes.versions.CopyFrom(graph.graph_def_versions)
        import_nodes(graph, self.nodes, tensors, controls)

    def probe_of(self, op: str) -> int | None:
        """Returns the number of the probe that an op belongs to; None for shared ops of probes, and for other ops."""
        match = re.fullmatch(r"p(\d+)/\w+", op.partition("/")[2]) if op in self.ops else None
        return int(match[1]) if match else None

    def record(self, number: int, value: Any, rounds: Sequence[int] = ()) -> None:
        """Records the value of a tensor. The run calls this method, possibly in several threads at a time.

        Args:
            number: the number of the probe.
            value: the value; for a non-numeric tensor, its shape.
            rounds: the current round of each loop around the tensor.
        """
        name, dtype, depth = self.tensors[number]
        at = tuple(map(int, rounds))
        if dtype == "string":
            one = TensorStats(name, at, value.astype(np.float64), np.zeros(0, np.float32), dtype)
        else:
            one = summarize(name, value, dtype, at, sampling=not depth)
        if one.bad or all(turn < max(int(self.rounds ** (1 / k)), 1) for k, turn in enumerate(at, 1)):
            self.stats.append(one)

    def read(self) -> list[TensorStats]:
        """Returns the notes since the last call, in order."""
        notes, self.stats = self.stats, []
        return notes


def probe(base: Graph, tensors: Iterable[tuple[int, int]], rounds: int) -> Probes:
    """Returns probes of tensors; `Probes.add_to` adds them to a graph.

    Args:
        base: the snapshot of the graph.
        tensors: (op, output) of the tensors; resources and variants are left out.
        rounds: the number of rounds of a loop that are recorded; in later rounds only values that are not finite.

    Example:
        >>> from graphsurgeon.tf.open.snapshot import snapshot
        >>> with tf.Graph().as_default() as graph:
        ...     y = tf.math.log(tf.compat.v1.placeholder(tf.float32, [3], name="x"), name="y")
        >>> probed = probe(snapshot(graph), [(1, 0)], 100)
        >>> probed.add_to(graph)
        >>> with tf.compat.v1.Session(graph=graph) as session:
        ...     _ = session.run([y, *map(graph.get_operation_by_name, probed.targets)], {"x:0": [1.0, 1.0, 0.0]})
        >>> (noted,) = probed.read()
        >>> noted.tensor, noted.shape, noted.zeros, noted.infinite, noted.sample.tolist()
        ('y:0', (3,), 2, 1, [0.0, 0.0, -inf])
    """
    writer = _ProbeWriter(base, rounds)
    for op, port in tensors:
        writer.add(op, port)
    return writer.probed


def constants(base: Graph, tensors: Iterable[tuple[int, int]]) -> list[TensorStats]:
    """Returns the notes of outputs of constants, without a run."""
    notes = []
    for op, port in tensors:
        info, array = base.info(op, port), array_in(base.nodes[op].attr["value"].tensor)
        if info is not None and array is not None:
            notes.append(summarize(base.name((op, port)), array, info.dtype))
    return notes


class _ProbeWriter:
    """Writes probes; each object can be used only once."""

    def __init__(self, base: Graph, rounds: int) -> None:
        self.base, self.frames, self.probed = base, Frames(base), Probes(rounds)
        self.scope = free_name("probes", base.is_name_used)
        self.turns: dict[int, str] = {}

    # -- nodes ----------------------------------------------------------------------------------

    def node(self, leaf: str, op: str, inputs: Sequence[str] = (), **attrs: Any) -> str:
        """Adds a node; returns its name."""
        name = f"{self.scope}/{leaf}"
        new = self.probed.nodes.node.add(name=name, op=op, input=inputs, device=_CPU)
        for key, value in attrs.items():
            attr = new.attr[key]
            if isinstance(value, tf.DType):
                attr.type = value.as_datatype_enum
            elif isinstance(value, bool):
                attr.b = value
            elif isinstance(value, int):
                attr.i = value
            elif isinstance(value, str):
                attr.s = value.encode()
            else:
                attr.list.type.extend(kind.as_datatype_enum for kind in value)
        self.probed.ops.add(name)
        return name

    def const(self, leaf: str, value: Any, after: str) -> str:
        """Adds a constant that waits for an op, and so is in the same loop."""
        name = f"{self.scope}/{leaf}"
        new = self.probed.nodes.node.add()
        new.CopyFrom(constant(name, tf.make_tensor_proto(value)))
        new.input.append(f"^{after}")
        new.device = _CPU
        self.probed.ops.add(name)
        return name

    def iteration(self, frame: int) -> str:
        """Returns a tensor with the current rounds of a loop and of all loops around it."""
        if frame in self.turns:
            return self.turns[frame]
        frame_info, lead = self.frames.frame(frame), f"loop_{frame}"
        inward: dict[str, Any] = {
            "T": tf.int64,
            "frame_name": frame_info.name,
            "parallel_iterations": frame_info.parallel,
        }
        zero = self.const(f"{lead}/first", np.int64(0), self.base.names[frame_info.external_op])
        counts = self.node(f"{lead}/enter", "Enter", [zero], is_constant=False, **inward)
        merge = self.node(f"{lead}/merge", "Merge", [counts, f"{self.scope}/{lead}/turn"], T=tf.int64, N=2)
        switch = self.node(f"{lead}/switch", "Switch", [merge, self.base.names[frame_info.loop_cond]], T=tf.int64)
        step = self.const(f"{lead}/one", np.int64(1), self.base.names[frame_info.loop_cond])
        self.node(f"{lead}/add", "AddV2", [f"{switch}:1", step], T=tf.int64)
        self.node(f"{lead}/turn", "NextIteration", [f"{self.scope}/{lead}/add"], T=tf.int64)
        rounds = self.node(f"{lead}/own", "Pack", [merge], T=tf.int64, N=1, axis=0)
        if frame_info.outer >= 0:
            around = self.node(
                f"{lead}/around", "Enter", [self.iteration(frame_info.outer)], is_constant=True, **inward
            )
            axis = self.const(f"{lead}/axis", np.int32(0), merge)
            rounds = self.node(f"{lead}/rounds", "ConcatV2", [around, rounds, axis], T=tf.int64, Tidx=tf.int32, N=2)
        self.turns[frame] = rounds
        return rounds

    # -- probes ---------------------------------------------------------------------------------

    def add(self, op: int, port: int) -> None:
        """Adds a probe of a tensor, unless its dtype is unknown or it is a handle."""
        info, frame = self.base.info(op, port), self.frames.innermost(op)
        if info is None or info.dtype in _HANDLE_DTYPES or info.dtype == "unknown" or frame < -1:
            return
        probed, number, name = self.probed, len(self.probed.tensors), self.base.names[op]
        value, dtype, numeric = f"{name}:{port}" if port else name, tf.as_dtype(info.dtype), info.dtype in _NUMBERS
        if not numeric:
            value = self.node(f"p{number}/shape", "Shape", [value], T=dtype, out_type=tf.int32)
            dtype = tf.int32
        inputs, kinds = ([value, self.iteration(frame)], [dtype, tf.int64]) if frame >= 0 else ([value], [dtype])
        token, owner = token_of(partial(probed.record, number))
        probed.keep_alive.append(owner)
        probed.targets.append(self.node(f"p{number}/note", "PyFunc", inputs, token=token, Tin=kinds, Tout=[]))
        depth = self.frames.frame(frame).depth if frame >= 0 else 0
        probed.tensors.append((f"{name}:{port}", info.dtype if numeric else "string", depth))
