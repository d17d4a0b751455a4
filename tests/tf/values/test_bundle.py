"""The table of contents of a checkpoint is what TensorFlow lists, and damage is left to TensorFlow to name."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from graphsurgeon.errors import OpenError
from graphsurgeon.tf.values.checkpoint_reader import OBJECTS, Bundle, Checkpoint, UnreadableError
from tests.graphs import tf1


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """A checkpoint of TF2 with enough variables for several blocks of the index."""
    folder = tmp_path_factory.mktemp("bundle")
    held = {f"variable_number_{i:04d}": tf.Variable(np.full([i % 5, 3], i, np.float32)) for i in range(400)}
    held["flag"], held["text"] = tf.Variable(True), tf.Variable([b"a", b""])
    return tf.train.Checkpoint(**held).write(str(folder / "values"))


def listed(prefix):
    reader = tf.train.load_checkpoint(prefix)
    dtypes = reader.get_variable_to_dtype_map()
    return {
        key: (shape, dtypes[key].as_datatype_enum) for key, shape in reader.get_variable_to_shape_map().items()
    }, reader.get_tensor(OBJECTS) if reader.has_tensor(OBJECTS) else None


def test_entries_and_texts_are_those_that_tensorflow_reads(prefix):
    checkpoints, (entries, objects) = Bundle(prefix), listed(prefix)
    found = {key: ([one.size for one in entry.shape.dim], entry.dtype) for key, entry in checkpoints.entries.items()}
    assert found == entries
    assert len(found) > 400
    assert checkpoints.text(OBJECTS) == objects


@pytest.mark.corpus
def test_the_checkpoints_of_the_corpus(corpus):
    read = 0
    for index in sorted(corpus.root.glob("items/**/*.index")):
        prefix = str(index).removesuffix(".index")
        try:
            checkpoints = Bundle(prefix)
        except UnreadableError:
            continue
        entries, objects = listed(prefix)
        found = {
            key: ([one.size for one in entry.shape.dim], entry.dtype) for key, entry in checkpoints.entries.items()
        }
        assert found == entries, prefix
        assert objects is None or checkpoints.text(OBJECTS) == objects, prefix
        read += 1
    assert read > 20


def damaged(prefix, folder, suffix, change):
    for part in (".index", ".data-00000-of-00001"):
        shutil.copy(prefix + part, folder / f"values{part}")
    path = folder / f"values{suffix}"
    path.write_bytes(change(path.read_bytes()))
    return str(folder / "values")


def flipped(at):
    def change(data):
        out = bytearray(data)
        out[at] ^= 4
        return bytes(out)

    return change


CHANGES = [flipped(5), flipped(-1), flipped(-44), flipped(-120), lambda data: data[:-20], lambda data: data[:10]]


@pytest.mark.parametrize("change", CHANGES, ids=["block", "magic", "handle", "list of blocks", "cut", "begun"])
def test_a_damaged_index_is_refused_in_the_words_of_tensorflow(change, prefix, tmp_path):
    broken = damaged(prefix, tmp_path, ".index", change)
    with pytest.raises(UnreadableError):
        Bundle(broken)
    with pytest.raises(OpenError, match="is damaged or half written"):
        Checkpoint(broken, "open")


def test_a_damaged_text_is_refused(prefix, tmp_path):
    entry = Bundle(prefix).entries[OBJECTS]
    for at in (0, 3, entry.size // 2):
        broken = damaged(prefix, tmp_path, ".data-00000-of-00001", flipped(entry.offset + at))
        with pytest.raises(UnreadableError):
            Bundle(broken).text(OBJECTS)
        with pytest.raises(OpenError, match="is damaged or half written"):
            Checkpoint(broken, "open").objects  # noqa: B018


def test_slices_of_variables_are_read_by_tensorflow(tmp_path):
    with tf.Graph().as_default():
        tf1.get_variable("w", [4, 2], initializer=tf1.zeros_initializer(), partitioner=tf1.fixed_size_partitioner(2))
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            prefix = tf1.train.Saver().save(session, str(tmp_path / "sliced"))
    with pytest.raises(UnreadableError):
        Bundle(prefix)
    assert Checkpoint(prefix, "open").shapes == {"w": (4, 2)}


def test_an_index_of_blocks_that_repeat_is_refused(tmp_path, prefix):
    """It may be small, and would be read for hours."""
    from graphsurgeon.tf.values import checkpoint_reader

    data = Path(f"{prefix}.index").read_bytes()
    (start, size), _ = checkpoint_reader._handle(data, checkpoint_reader._handle(data, len(data) - 48)[1])
    rows = list(checkpoint_reader._rows(data[start : start + size]))
    body = b"".join(bytes([0, len(key), len(value)]) + key + value for key, value in rows * 50) + bytes(4) + b"\1\0\0\0"
    crc = checkpoint_reader._checksum(body + b"\0")
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    whole = data[:start] + body + b"\0" + masked.to_bytes(4, "little")

    def varint(number):
        out = b""
        while number > 127:
            out, number = out + bytes([number & 127 | 128]), number >> 7
        return out + bytes([number])

    footer = (varint(0) + varint(0) + varint(start) + varint(len(body))).ljust(40, b"\0") + data[-8:]
    (tmp_path / "many.index").write_bytes(whole + footer)
    with pytest.raises(UnreadableError):
        Bundle(str(tmp_path / "many"))
