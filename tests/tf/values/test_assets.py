"""Assets of a SavedModel stay inside of its folder, through whichever door they are read."""

from __future__ import annotations

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

import graphsurgeon as gs
from graphsurgeon.errors import OpenError
from graphsurgeon.tf.values.file_variables import asset_files, asset_path
from tests.hostile import with_asset
from tests.refusal import refuses

tf1 = tf.compat.v1
NAMES = ["../secret", "../../etc/passwd", "/etc/passwd", "a/../../secret", "..\\secret", "x\0y"]
TRUSTED = "It was not read. Get the model from a source that you trust"


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_leads_out_is_refused(name, tmp_path):
    with refuses(OpenError, f"open('m'): its asset {name!r} is outside of its folder 'assets'", TRUSTED):
        asset_path(tmp_path, name, "open('m')")


def test_a_link_that_leads_out_is_refused(tmp_path):
    (tmp_path / "secret").write_text("s")
    (tmp_path / "m" / "assets").mkdir(parents=True)
    (tmp_path / "m" / "assets" / "vocab.txt").symlink_to(tmp_path / "secret")
    with refuses(OpenError, "open('m'): its asset 'vocab.txt' is a link that leads out of its folder", TRUSTED):
        asset_path(tmp_path / "m", "vocab.txt", "open('m')")
    (tmp_path / "n").mkdir()
    (tmp_path / "n" / "assets").symlink_to(tmp_path)
    with refuses(OpenError, "open('n'): its asset 'secret' is a link that leads out of its folder", TRUSTED):
        asset_path(tmp_path / "n", "secret", "open('n')")


def test_what_is_inside_may_be_anywhere_inside(tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "a").write_text("s")
    (tmp_path / "assets" / "link").symlink_to("a")
    for name in ("a", "link", "not/there", "..dots"):
        assert asset_path(tmp_path, name, "open('m')") == str(tmp_path / "assets" / name)


@pytest.mark.parametrize("raw", [False, True], ids=["signature", "raw"])
def test_no_door_takes_an_asset_from_elsewhere(raw, tmp_path):
    (tmp_path / "secret").write_text("s\n")
    folder = with_asset(tmp_path / "m", "../../secret")
    with refuses(OpenError, "its asset '../../secret' is outside of its folder 'assets'", TRUSTED):
        gs.open(folder, raw=raw)
    with refuses(OpenError, "its asset '../../secret' is outside of its folder 'assets'", TRUSTED):
        gs.connect({"a": str(folder), "b": str(folder)}, {"a/y:0": "b/x:0"})


def test_an_asset_that_is_there_goes_with_the_model(tmp_path):
    ed = gs.open(with_asset(tmp_path / "m", ""))
    assert ed.session().run("y:0", {"x:0": ["c", "z"]}).tolist() == [2, -1]
    ed.save(tmp_path / "n")
    assert (tmp_path / "n" / "assets" / "m.txt").read_text() == "a\nb\nc\n"


def test_an_asset_of_a_tensor_that_is_not_there_is_refused_in_words(tmp_path):
    file = with_asset(tmp_path / "m", "") / "saved_model.pb"
    model = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    (asset,) = asset_files(model.meta_graphs[0])
    asset.tensor_info.name = ":-1"
    model.meta_graphs[0].asset_file_def.append(asset)
    file.write_bytes(model.SerializeToString())
    ed = gs.open(tmp_path / "m", raw=True, trust=True)
    with refuses(OpenError, "its init op", "does not run", "':-1'", "Look at that op"):
        ed.session()


@pytest.mark.parametrize("reads", [False, True], ids=["nothing", "table"])
def test_a_file_of_somebody_does_not_get_into_a_model_because_a_strangers_graph_names_it(reads, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("s")
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.string, [None], name="x")
        path = tf.constant(str(secret), name="path")
        end = tf.strings.join([x, path])
        if reads:
            lines = tf.lookup.TextFileIndex
            rows = tf.lookup.TextFileInitializer(str(secret), tf.string, lines.WHOLE_LINE, tf.int64, lines.LINE_NUMBER)
            end = tf.strings.join([end, tf.strings.as_string(tf.lookup.StaticHashTable(rows, -1).lookup(x))])
        tf.identity(end, name="y")
        graph.add_to_collection("asset_filepaths", path)
        tf1.train.export_meta_graph(str(tmp_path / "m.meta"))
    saved = gs.open(tmp_path / "m.meta").save(
        tmp_path / "n", format="saved_model", inputs="x:0", outputs="y:0", verify=False
    )
    assert "the file that path:0 names is not included: no trusted op reads files" in str(saved)
    assert not (tmp_path / "n" / "assets").exists()
