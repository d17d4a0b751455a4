"""Files that are no graph: every one is refused with a message that says what it is, or where it is broken."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zipfile

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

import graphsurgeon as gs
from graphsurgeon.errors import OpenError
from graphsurgeon.tf.open import file_reader
from tests.graphs import tiny
from tests.refusal import refuses


def binary() -> bytes:
    return tiny().as_graph_def().SerializeToString()


def answer(path):
    """Returns (editor, None) or (None, the error)."""
    try:
        return gs.open(path), None
    except OpenError as error:
        return None, error


def text() -> str:
    return text_format.MessageToString(tiny().as_graph_def())


def put(folder, name: str, data: bytes | str) -> str:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return str(path)


@pytest.mark.parametrize("suffix", ["", ".keras", ".h5"])
def test_a_path_that_is_too_long(suffix):
    with refuses(OpenError, "open('xxx", "this path cannot be read (File name too long)", "Check the path"):
        gs.open("x" * 3000 + suffix)


def test_a_missing_file(tmp_path):
    put(tmp_path, "model.pb", binary())
    path = str(tmp_path / "modle.pb")
    with refuses(OpenError, f"open({path!r}): there is no such file", f"Did you mean {str(tmp_path / 'model.pb')!r}?"):
        gs.open(path)
    with refuses(OpenError, "there is no such file", f"{str(tmp_path)!r} holds model.pb"):
        gs.open(tmp_path / "zzzzzzzzz")
    put(tmp_path, "m.meta", binary())
    put(tmp_path, ".hidden", "")
    with refuses(OpenError, "there is no such file", f"its graph is {str(tmp_path / 'm.meta')!r}"):
        gs.open(tmp_path / "m")
    with refuses(OpenError, "there is no such file", "holds m.meta, model.pb."):
        gs.open(tmp_path / "zzzzzzzzz")
    for part in ("m.index", "m.data-00000-of-00001"):
        put(tmp_path, part, b"\x00\x01")
        with refuses(OpenError, "this is a part of a checkpoint", f"Open its graph, {str(tmp_path / 'm.meta')!r}"):
            gs.open(tmp_path / part)
    gone = str(tmp_path / "gone")
    with refuses(OpenError, f"There is no folder {gone!r} either; check the path"):
        gs.open(gone + "/model.pb")
    (tmp_path / "bare").mkdir()
    with refuses(OpenError, "holds nothing"):
        gs.open(tmp_path / "bare" / "model.pb")


def test_a_file_that_may_not_be_read(tmp_path):
    path = put(tmp_path, "model.pb", binary())
    if os.geteuid():
        os.chmod(path, 0)
        words = ("the file cannot be read (Permission denied)", "Check its permissions")
        with refuses(OpenError, *words):
            gs.open(path)
        os.chmod(path, stat.S_IRUSR | stat.S_IWUSR)
    (tmp_path / "folder.pb").mkdir()
    with refuses(OpenError, "this folder is not a SavedModel"):
        gs.open(tmp_path / "folder.pb")


def test_a_file_that_cannot_be_read(tmp_path, monkeypatch):
    path = put(tmp_path, "model.pb", binary())

    def no(self):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("pathlib.Path.read_bytes", no)
    with refuses(OpenError, "the file cannot be read (Input/output error)", "Check its permissions"):
        gs.open(path)


def _zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("config.json"), "{}")
    return out.getvalue()


def _npy() -> bytes:
    out = io.BytesIO()
    np.save(out, np.zeros(3))
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", ["the file is empty", "Give a GraphDef (.pb, .pbtxt), a MetaGraph (.meta) or a SavedModel folder"]),
        (b"\x89HDF\r\n\x1a\n" + bytes(64), ["this is an HDF5 file (old Keras weights), not a TensorFlow graph"]),
        (_zip(), ["this is a zip file (an archive, or a Keras model, whose name ends in .keras)"]),
        (_npy(), ["this is a NumPy file"]),
        (b"\x1c\x00\x00\x00TFL3" + bytes(64), ["this is a TensorFlow Lite model", "Give the graph it was converted"]),
        (b"\x89PNG\r\n\x1a\n" + bytes(64), ["this is a PNG picture"]),
        (b"GGUF" + bytes(64), ["this is a GGUF model"]),
        (b"\x7fELF" + bytes(64), ["this is a program"]),
        (b"%PDF-1.7\n", ["this is a PDF"]),
        (gzip.compress(gzip.compress(binary(), mtime=0), mtime=0), ["this is a gzip file inside a gzip file"]),
        (b"Dear reader,\nthis is a letter.\n", ["this is text, but not of a TensorFlow graph (1:"]),
        (b'{"a": 1}', ["this is"]),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\n", ["this is a pointer", "git lfs pull"]),
        (bytes(range(256)) * 8, ["this is not a TensorFlow graph"]),
        (b"\xff" * 300, ["this is not a TensorFlow graph"]),
        (b"\x00" * 300, ["this is not a TensorFlow graph"]),
        (b"\x08\x96\x01", ["this is not a TensorFlow graph"]),
    ],
    ids=[
        *("empty", "HDF5", "zip", "NumPy", "TensorFlow Lite", "PNG", "GGUF", "program", "PDF", "gzip in gzip"),
        *("letter", "JSON", "Git LFS", "every byte", "ones", "zeros", "a number"),
    ],
)
@pytest.mark.parametrize("name", ["model.pb", "model.meta", "model.pbtxt"])
def test_another_format(tmp_path, data, words, name):
    path = put(tmp_path, name, data)
    with refuses(OpenError, f"open({path!r}): ", *words):
        gs.open(path)


def test_a_file_cut_short_says_where(tmp_path):
    data = binary()
    names = [n.name for n in tiny().as_graph_def().node]
    for size in range(8, len(data), 37):
        path = put(tmp_path, "model.pb", data[:size])
        opened, error = answer(path)
        if error is None:  # cut between two ops: what is left is a graph
            assert opened.snapshot.names == names[: opened.snapshot.size]
        else:
            assert any(word in error.problem for word in ("cut short", "damaged", "not a TensorFlow graph"))
    cut = tf.compat.v1.GraphDef()
    cut.node.extend(tiny().as_graph_def().node[:3])
    path = put(tmp_path, "model.pb", cut.SerializeToString()[:-10])
    with refuses(OpenError, "the file is cut short: part 3, which", "needs 10 bytes more than the", "Fetch or write"):
        gs.open(path)
    half = cut.SerializeToString()
    path = put(tmp_path, "model.pb", half + data[len(half) : len(half) + 9])
    with refuses(OpenError, f"part 4, which starts at byte {len(half)}, after op {names[2]!r}"):
        gs.open(path)


def test_a_damaged_op_says_which(tmp_path):
    nodes = tiny().as_graph_def().node
    head = tf.compat.v1.GraphDef()
    head.node.extend(nodes[:2])
    start = head.SerializeToString()
    bad = b"\x0a\x06\x0a\x7f\x0a\x0a\x0a\x0a"
    path = put(tmp_path, "model.pb", start + bad)
    with refuses(OpenError, f"op number 3, at byte {len(start)}, is damaged (the one before is 'k')"):
        gs.open(path)
    path = put(tmp_path, "model.pb", start + b"\xff\xff\xff\xff")
    with refuses(OpenError, "is damaged, after op 'k'"):
        gs.open(path)


def test_every_byte_may_be_damaged(tmp_path):
    """Whatever a flipped byte does, the answer is a graph or an OpenError."""
    data = bytearray(binary())
    rng = np.random.RandomState(0)
    for at in rng.choice(len(data), 60, replace=False):
        broken = bytearray(data)
        broken[at] ^= 1 << int(rng.randint(8))
        path = put(tmp_path, "model.pb", bytes(broken))
        _, error = answer(path)
        assert error is None or error.suggestion, at


def test_a_broken_gzip(tmp_path):
    packed = gzip.compress(binary())
    path = put(tmp_path, "model.pb.gz", packed[:-12])
    with refuses(OpenError, "the gzip file is broken (", "Fetch or pack it again"):
        gs.open(path)
    path = put(tmp_path, "model.pb.gz", packed[:30] + b"\x00\x00\x00\x00" + packed[34:])
    with refuses(OpenError, "the gzip file is broken ("):
        gs.open(path)
    path = put(tmp_path, "model.pb.gz", b"\x1f\x8bnonsense")
    with refuses(OpenError, "the gzip file is broken ("):
        gs.open(path)


def test_broken_text_says_the_line(tmp_path):
    lines = text().splitlines()
    lines[2] = lines[2] + " oops"
    path = put(tmp_path, "model.pbtxt", "\n".join(lines))
    with refuses(OpenError, "the text is broken at line and column 3:", "Fix it there"):
        gs.open(path)
    path = put(tmp_path, "model.pbtxt", "\n".join(text().splitlines()[:-2]))
    with refuses(OpenError, "the text is broken at line and column "):
        gs.open(path)
    path = put(tmp_path, "model.pbtxt", text().replace('op: "Square"', 'opp: "Square"'))
    with refuses(OpenError, 'has no field named "opp"'):
        gs.open(path)


def test_text_that_is_nested_without_end_is_refused(tmp_path):
    path = tmp_path / "deep.pbtxt"
    level = 'value { func { name: "f" attr { key: "g" '
    path.write_text('node { name: "a" op: "NoOp" attr { key: "f" ' + level * 5_000 + "} } } " * 5_000 + "} }")
    with refuses(OpenError, "deep.pbtxt", "nested too deeply", "Write the graph out again"):
        gs.open(path)


def test_text_that_is_no_utf_8_says_the_byte(tmp_path):
    data = (text() * 20).encode()
    path = put(tmp_path, "a.pbtxt", b"")
    with open(path, "wb") as file:
        file.write(data[:5000] + b"\xff" + data[5000:])
    with refuses(OpenError, "the text is broken at byte 5000, which is not UTF-8", "Fix it there"):
        gs.open(path)


def test_text_without_ops(tmp_path):
    path = put(tmp_path, "model.pbtxt", "versions { producer: 22 }")
    with refuses(OpenError, "this is text, but not of a TensorFlow graph"):
        gs.open(path)


@pytest.mark.parametrize("name", ["saved_model.cpb", "model.bin"])
def test_a_saved_model_in_parts_says_what_writes_it_whole(tmp_path, name):
    path = put(tmp_path, name, b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f" + bytes(8) + b"@" + bytes(200))
    for thing in (path, tmp_path) if name == "saved_model.cpb" else (path,):
        with refuses(OpenError, "this is a SavedModel split into parts (saved_model.cpb)", "tf.saved_model.save(model"):
            gs.open(thing)


def test_a_saved_model_whose_pb_is_text(tmp_path):
    class Double(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
        def __call__(self, x):
            return {"y": x * self.scale}

    module = Double()
    module.scale = tf.Variable([2.0, 3.0])
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=module.__call__)
    path = tmp_path / "model" / "saved_model.pb"
    proto = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    path.write_text(text_format.MessageToString(proto))
    for thing in (path.parent, path):
        ed = gs.open(thing)
        assert ed.inputs == {"x": "x:0"}
        np.testing.assert_array_equal(ed.function()(np.float32([1, 1]))["y"], [2.0, 3.0])


def test_a_folder_that_is_no_saved_model(tmp_path):
    with refuses(OpenError, "this folder is not a SavedModel: it has no saved_model.pb", "Give a GraphDef"):
        gs.open(tmp_path)
    put(tmp_path, "frozen.pb", binary())
    put(tmp_path, "readme.txt", "hello")
    with refuses(OpenError, f"Open {str(tmp_path / 'frozen.pb')!r} in it"):
        gs.open(tmp_path)


def test_a_keras_model_in_hdf5_is_named_with_what_loads_it(tmp_path):
    path = put(tmp_path, "model.h5", b"\x89HDF\r\n")
    with refuses(OpenError, "Keras model in HDF5 format", f"gs.open(keras.models.load_model({str(path)!r}))"):
        gs.open(path)


def test_a_folder_of_checkpoints_is_opened_as_the_latest_of_them(tmp_path):
    tf1 = tf.compat.v1
    with tf.Graph().as_default() as graph, tf1.Session(graph=graph) as session:
        w = tf1.get_variable("w", initializer=1.0, use_resource=True)
        tf.identity(w, name="y")
        saver = tf1.train.Saver()
        for step in (1, 2):
            session.run(w.initializer, {w.initializer.inputs[1]: float(step)})
            saver.save(session, str(tmp_path / "model"), global_step=step)
    assert gs.open(tmp_path).session().run("y:0") == 2.0
    assert gs.connect({"enc": tmp_path}).session().run("enc/y:0") == 2.0


def test_a_file_too_large_for_protobuf_is_refused_before_it_is_read(tmp_path, monkeypatch):
    file = tmp_path / "m.pb"
    with file.open("wb") as out:
        out.truncate(3 << 30)  # nothing of it is on the disk

    def read(path):
        raise AssertionError("it was read")

    monkeypatch.setattr(type(file), "read_bytes", read)
    with refuses(OpenError, f"open({str(file)!r}): it has 3.22 GB", "limited to 2.15 GB", "its weights as variables"):
        gs.open(file)


def test_a_gzip_file_made_to_fill_memory_is_refused_on_the_way(tmp_path, monkeypatch):
    file = tmp_path / "m.pb.gz"
    monkeypatch.setattr(file_reader, "TRUSTED", 1 << 20)
    monkeypatch.setattr(file_reader, "_PIECE", 1 << 18)
    file.write_bytes(gzip.compress(bytes(16 << 20)))
    with refuses(OpenError, "unpack to 3.41 MB or more, as in a file made to fill memory", "unpack it with gunzip"):
        gs.open(file)
    monkeypatch.setattr(file_reader, "MOST", 1 << 20)
    with refuses(OpenError, "it has 1.31 MB or more, unpacked", "limited to 1.05 MB"):
        gs.open(file)
