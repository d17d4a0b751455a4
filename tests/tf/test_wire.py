"""Wire: where memory runs out, that is said, with what was asked; nothing is called damaged, and nothing changes."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf
from google.protobuf.message import DecodeError, EncodeError

import graphsurgeon as gs
from graphsurgeon.errors import OpenError
from graphsurgeon.tf.private import graphs
from graphsurgeon.tf.protos import decode, encode, naming_memory
from graphsurgeon.tf.run.errors import errors_as
from tests.graphs import tf1
from tests.refusal import reads

NO_ROOM = DecodeError("Error parsing message with type 'tensorflow.GraphDef': Arena alloc failed")
NO_BYTES = RuntimeError("Could not allocate bytes object!")
SAID = r": there is not enough memory( \(to (read|write) \w+\))?\. Close unused programs, or use .*\.$"


class Full:
    """A proto, and the kind of it, for which there is no memory."""

    __name__ = "GraphDef"

    def SerializeToString(self, deterministic: bool = False) -> bytes:
        raise EncodeError("Failed to serialize proto")

    def FromString(self, data: bytes) -> Any:
        raise NO_ROOM


def _chain() -> tf.Graph:
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="in/x")
        tf.add(x, tf.constant([1.0, 2.0], name="in/c"), name="in/y")
    return graph


def test_protobufs_own_words_for_a_want_of_memory_are_read():
    with pytest.raises(MemoryError, match=r"^to write Full$"):
        encode(Full())
    with pytest.raises(MemoryError, match=r"^to read GraphDef$"):
        decode(Full(), b"")
    with pytest.raises(DecodeError), naming_memory("open('a.pb')"):
        decode(tf1.GraphDef, b"\x0a\xff")


def test_the_request_is_named_and_no_other_error_stands_for_it():
    for error in (MemoryError(), NO_ROOM, NO_BYTES, EncodeError("Failed to serialize proto")):
        refused = errors_as(OpenError, "save('a')", "the file is damaged", "Fetch it again")
        with pytest.raises(MemoryError, match=r"^save\('a'\)" + SAID) as caught, refused:
            raise error
        assert caught.value.__cause__ is error


def test_a_file_that_there_is_no_memory_for_is_not_called_damaged(tmp_path, monkeypatch):
    file = tmp_path / "a.pb"
    file.write_bytes(_chain().as_graph_def().SerializeToString())

    with monkeypatch.context() as patch:
        patch.setattr("graphsurgeon.tf.open.file_reader.decode", lambda kind, data: decode(Full(), data))
        with pytest.raises(MemoryError, match=r"^open\('.*a\.pb'\)" + SAID):
            gs.open(file)
    assert len(gs.open(file).snapshot.names) == 3


def test_a_graph_that_there_is_no_memory_to_read_is_named(monkeypatch):
    def no_room(ops: Any) -> Any:
        raise NO_BYTES

    ed = gs.open(_chain())
    with monkeypatch.context() as patch:
        patch.setattr("graphsurgeon.tf.open.snapshot.node_bytes", no_room)
        with pytest.raises(MemoryError, match="^reading the graph" + SAID):
            ed.plan()
    assert len(ed.snapshot.names) == 3


@pytest.mark.parametrize(
    "where", ["tf.private.c_api.encode", "tf.copy.append.compile_nodes", "tf.copy.append.attach_python_state"]
)
def test_a_plan_that_there_is_no_memory_for_changes_nothing(where, monkeypatch):
    ed = gs.open(_chain())
    plan = ed.plan().copy(ed.select(scope="in"), to="t", unmapped="keep")
    before = ed.snapshot.fingerprint

    with monkeypatch.context() as patch:
        patch.setattr(f"graphsurgeon.{where}", lambda *given: encode(Full()))
        # TensorFlow keeps what it has taken
        wanted = gs.PlanError if where.endswith("attach_python_state") else MemoryError
        with pytest.raises(wanted, match=r"^apply\(plan\): (there is not enough memory \(|MemoryError: )to write "):
            ed.apply(plan)
    orphans = {"t/in/x", "t/in/c", "t/in/y"} if where.endswith("attach_python_state") else set()
    assert ed.orphans == orphans
    assert (ed.snapshot.fingerprint == before) == (not orphans)
    assert ed.history == []


def test_ops_that_stay_are_named_where_there_is_no_memory_to_read_them(monkeypatch):
    ed = gs.open(_chain())
    plan = ed.plan().copy(ed.select(scope="in"), to="t", unmapped="keep")
    plan.check()

    def no_room_for_new(ops: Any) -> list[bytes]:
        some = list(ops)
        return [encode(Full()) for op in some if op.name.startswith("t/")] or graphs.node_bytes(some)

    with monkeypatch.context() as patch:
        patch.setattr("graphsurgeon.tf.open.snapshot.node_bytes", no_room_for_new)
        whole: list[Any] = []
        patch.setattr(ed.graph, "as_graph_def", lambda: whole.append(True))
        with pytest.raises(gs.PlanError) as caught:
            ed.apply(plan)
    assert whole == []  # it may have no room and then stays locked for ever
    reads(caught.value, "3 ops, 't/in/x' first, stay in graph as orphans", "Make the plan again with to='t_2'")
    assert isinstance(caught.value.__cause__, MemoryError)
    assert ed.orphans == {"t/in/x", "t/in/c", "t/in/y"}
    ed.apply(ed.plan().copy(ed.select(scope="in"), to="t_2", unmapped="keep"))
    assert len(ed.history) == 1


def test_a_save_that_there_is_no_memory_for_leaves_the_file_there_is(tmp_path, monkeypatch):
    ed, file = gs.open(_chain()), tmp_path / "a.pb"
    file.write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr("graphsurgeon.tf.save.save.encode", lambda proto: encode(Full()))
        with pytest.raises(MemoryError, match=r"^save\('.*a\.pb'\)" + SAID):
            ed.save(file, outputs=["in/y:0"], overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.pb"]
    assert file.read_bytes() == b"old"


def test_ops_that_there_is_no_memory_to_read_are_not_taken_for_damaged(monkeypatch):
    class Op:
        node_def = Full()

    monkeypatch.setattr(graphs, "_RAW_NODES", False)
    with pytest.raises(MemoryError, match=r"^to write Full$"):
        graphs.node_bytes([Op()])
