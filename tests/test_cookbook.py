"""The cookbook: each entry answers a question, with a few lines that run on small files."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.needs import ROOT

tf1 = tf.compat.v1
TEXT = (ROOT / "docs" / "cookbook.md").read_text()
ENTRIES = re.findall(r"^## (.+?)$(.+?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE)


def weights(*shape: int) -> Any:
    """Initial weights, the same each time."""
    return tf1.random_normal_initializer(seed=len(shape))(shape)


def training() -> None:
    """A training graph with its checkpoint."""
    with tf.Graph().as_default():
        x = tf1.placeholder(tf.float32, [None, 8, 8, 3], name="image")
        w = tf1.get_variable("w", initializer=weights(3, 3, 3, 4), use_resource=False)
        v = tf1.get_variable("v", initializer=weights(4, 2), use_resource=False)
        h = tf.nn.conv2d(x, w, 2, "SAME")
        h, _, _ = tf1.nn.fused_batch_norm(h, [1.0] * 4, [0.1] * 4, [0.2] * 4, [2.0] * 4, is_training=False)
        h = tf.nn.dropout(tf.reduce_mean(tf.nn.relu(h), [1, 2]), rate=0.2)
        y = tf.identity(tf.matmul(h, v), name="y")
        loss = tf.reduce_sum(tf.square(y), name="loss")
        tf1.summary.scalar("loss", loss)
        tf1.train.AdamOptimizer().minimize(loss, name="train")
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            tf1.train.Saver().save(session, "training", write_state=False)


def model() -> None:
    """A frozen model for a batch of one."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [1, 8, 8, 3], name="image")
        rng = np.random.RandomState(0)
        w, v = (tf.constant(rng.standard_normal(shape).astype(np.float32)) for shape in ([3, 3, 3, 4], [64, 2]))
        h = tf.nn.relu(tf.nn.conv2d(x, w, 2, "SAME", name="conv"), name="features")
        y = tf.matmul(tf.reshape(h, [1, 64]), v, name="logits")
        tf.nn.softmax(y, name="y")
    gs.open(graph).save("model.pb")


def served() -> None:
    """A SavedModel of TF1 with variables."""
    with tf.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf.float32, [None, 4], name="image")
        h = tf.nn.relu(tf.matmul(x, tf1.get_variable("w", initializer=weights(4, 3))), name="features")
        y = tf.nn.softmax(h, name="y")
        session.run(tf1.global_variables_initializer())
        tf1.saved_model.simple_save(session, "served", {"image": x}, {"y": y})


def averaged() -> None:
    """A training graph that keeps averages of its weights, with its checkpoint."""
    with tf.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        w = tf1.get_variable("w", initializer=weights(4, 2))
        tf.matmul(x, w, name="y")
        keep = tf.train.ExponentialMovingAverage(0.9).apply([w])
        session.run(tf1.global_variables_initializer())
        session.run(keep)
        tf1.train.Saver().save(session, "averaged", write_state=False)


def detector() -> None:
    """A frozen detector: pictures are resized and scaled, and the best of its boxes kept."""
    with tf.Graph().as_default() as graph:
        image = tf1.placeholder(tf.uint8, [1, None, None, 3], name="image")
        x = tf.multiply(tf1.image.resize_bilinear(image, [8, 8]), 1 / 255, name="scaled")
        w = tf.constant(np.random.RandomState(0).standard_normal([3, 3, 3, 5]).astype(np.float32))
        found = tf.reshape(tf.nn.relu(tf.nn.conv2d(x, w, 2, "SAME", name="conv")), [16, 5])
        boxes, scores = tf.identity(found[:, :4], name="boxes"), tf.sigmoid(found[:, 4], name="scores")
        tf.gather(boxes, tf.image.non_max_suppression(boxes, scores, 3), name="detections")
    gs.open(graph).save("detector.pb")


FILES = {
    "training.meta": training, "detector.pb": detector, "model.pb": model, "served": served, "averaged.meta": averaged,
}  # fmt: skip


PICTURES = ROOT / "docs" / "cookbook"
#: The TensorFlow that the stored pictures were drawn with; others may build a graph of other ops.
DRAWN_WITH = "2.21"


def code_of(text: str) -> str:
    """The five lines of an entry."""
    (code,) = re.findall(r"```python\n(.+?)```", text, re.DOTALL)
    return str(code)


def done(code: str) -> tuple[Any, Any]:
    """Runs the lines of an entry on its files, in the current folder.

    Returns:
        the editor as it was opened, and the last one that there is then.
    """
    for name, make in FILES.items():
        if f'"{name}"' in code:
            make()
    (opening,) = re.findall(r"^ed = gs\.open\(.+\)$", code, re.M)
    before, after = {"gs": gs}, {"gs": gs}
    exec(opening, before)
    exec(code, after)
    return before["ed"], [one for one in after.values() if isinstance(one, gs.Editor)][-1]


def drawn(question: str, before: Any, after: Any) -> dict[str, str]:
    """Name of a file -> the picture of a graph, before an entry and after it."""
    one, other = (str(ed.to_svg()) for ed in (before, after))
    stem = re.sub(r"\W+", "_", question.lower()).strip("_")
    return {f"{before.title.partition('.')[0]}.svg": one, f"{stem}.svg": other}


def shown(picture: str) -> list[str]:
    """The words in a picture; places and fonts are another matter."""
    return sorted(re.findall(r">([^<>\s][^<>]*)<", picture))


@pytest.mark.parametrize(("question", "text"), ENTRIES, ids=[question for question, _ in ENTRIES])
def test_an_entry_answers_its_question(question, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gs, "open", partial(gs.open, trust=True))  # no process of its own imports these for a picture
    assert question.endswith("?")
    assert "**Check**" in text
    code = code_of(text)
    assert len([line for line in code.splitlines() if line]) == 5
    pictures = drawn(question, *done(code))
    for name, picture in pictures.items():
        assert f"](cookbook/{name})" in text, f"the entry does not show {name}"
        assert len(picture) < 30_000
        if tf.__version__.startswith(DRAWN_WITH):
            stored = (PICTURES / name).read_text()
            assert shown(stored) == shown(picture), f"{name} is of another day: python tools/write_cookbook.py"


def test_each_picture_is_of_an_entry():
    assert {path.name for path in PICTURES.iterdir()} == set(re.findall(r"\]\(cookbook/(\w+\.svg)\)", TEXT))


def test_a_picture_that_is_of_another_day_is_seen():
    ed = gs.open(tf.Graph())
    with ed.graph.as_default():
        tf.constant(1.0, name="one")
    before = str(gs.open(ed.graph).to_svg())
    with ed.graph.as_default():
        tf.constant(2.0, name="two")
    assert shown(before) != shown(str(gs.open(ed.graph).to_svg()))
