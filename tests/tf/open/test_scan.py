"""A scan names what a file does, before anybody loads it: the published proofs of concept among it."""

from __future__ import annotations

import json
import zipfile

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

import graphsurgeon as gs
from graphsurgeon.__main__ import main
from graphsurgeon.errors import OpenError
from graphsurgeon.tf.open.protos import scan
from tests.hostile import READING, WRITING, hostile, with_asset

tf1 = tf.compat.v1


@pytest.mark.parametrize("text", [False, True], ids=["pb", "pbtxt"])
@pytest.mark.parametrize("kind", WRITING)
def test_what_writes_at_load_is_found_and_not_run(kind, text, tmp_path):
    target = tmp_path / "target"
    folder = hostile(tmp_path / "model", kind, target, text)
    for written in tmp_path.glob("target*"):
        written.unlink()  # what building it wrote
    (found,) = scan(folder)
    (evil,) = found
    assert (evil.kind, evil.type) == (f"{'reads' if kind == READING else 'writes'} files", WRITING[kind][1])
    assert kind == READING or str(target) in evil.path  # that one gets its path from a queue
    assert evil.load == "init op 'main'"
    ed = gs.open(folder)
    assert str(ed).endswith("ed.risks() lists them")
    assert ed.risks().items == found.items
    assert not list(tmp_path.glob("target*"))


def test_what_a_saver_of_tensorflow_writes_is_clean(tmp_path):
    with tf.Graph().as_default() as graph, tf1.Session(graph=graph) as session:
        tf1.get_variable("v", initializer=1.0)
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver().save(session, str(tmp_path / "one"))
        tf1.train.Saver(sharded=True).save(session, str(tmp_path / "two"))
    for name in ("one.meta", "two.meta"):
        (found,) = scan(tmp_path / name)
        assert not found, found
        assert found.harmless


def test_tf2_models_are_clean(tmp_path):
    module = tf.Module()
    module.v = tf.Variable(2.0)
    module.f = tf.function(lambda x: x * module.v, input_signature=[tf.TensorSpec([None], tf.float32)])
    tf.saved_model.save(module, str(tmp_path / "m"), signatures={"serving_default": module.f})
    (found,) = scan(tmp_path / "m")
    assert not found, found
    assert not gs.open(tmp_path / "m").risks()


def test_several_graphs_are_told_apart(tmp_path):
    folder = hostile(tmp_path / "m", "WriteFile", tmp_path / "t")
    saved = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    other = saved.meta_graphs.add()
    other.CopyFrom(saved.meta_graphs[0])
    other.meta_info_def.tags[:] = ["train"]
    (folder / "saved_model.pb").write_bytes(saved.SerializeToString())
    assert [one.title for one in scan(folder)] == ["m (serve)", "m (train)"]


def test_assets_that_lead_elsewhere_are_found(tmp_path):
    (found,) = scan(with_asset(tmp_path / "good", ""))
    assert not found, found
    assert [one.harmless for one in found.harmless] == ["a file of the model"]
    (found,) = scan(with_asset(tmp_path / "bad", "../../secret"))
    assert found.items[0].type == "asset"
    assert "'../../secret' is outside of its folder 'assets'" in found.items[0].reason


def test_python_in_a_keras_file_is_found(tmp_path):
    layer = {"class_name": "Lambda", "config": {"name": "sly", "function": {"class_name": "__lambda__", "config": {}}}}
    with zipfile.ZipFile(tmp_path / "m.keras", "w") as archive:
        archive.writestr("config.json", json.dumps({"class_name": "Sequential", "config": {"layers": [layer]}}))
        archive.writestr("model.weights.h5", b"")
    (found,) = scan(tmp_path / "m.keras")
    assert [(one.op, one.kind) for one in found] == [("sly", "calls Python")]


def test_what_cannot_be_read_is_said(tmp_path):
    (tmp_path / "m.pb").write_bytes(b"\xff\x00 no graph")
    with pytest.raises(OpenError, match=r"scan\('.*m.pb'\): this is not a TensorFlow graph"):
        scan(tmp_path / "m.pb")


def test_the_command_line(tmp_path, capsys):
    target = tmp_path / "target"
    folder = hostile(tmp_path / "bad", "WriteFile", target)
    assert main(["scan", str(folder)]) == 1
    assert capsys.readouterr().out.splitlines()[:2] == [
        "bad: 1 op reaches out of it",
        f"  writes files  'evil' (WriteFile) writes its text to a file: {str(target)!r}; "
        "runs at load, by init op 'main'",
    ]
    assert main(["scan", str(folder), "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["title"], found["risks"][0]["op"], found["risks"][0]["harmless"]) == ("bad", "evil", "")
    graph_def = tf1.GraphDef()
    graph_def.node.add(name="x", op="NoOp")
    (tmp_path / "good.pb").write_bytes(graph_def.SerializeToString())
    assert main(["scan", str(tmp_path / "good.pb")]) == 0
    assert capsys.readouterr().out == "good.pb: clean\n"
    assert main(["scan", str(tmp_path / "none.pb")]) == 2
    assert "there is no such file" in capsys.readouterr().err
