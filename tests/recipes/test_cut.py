"""Pre-processing, post-processing and non-maximum suppression, cut off at their edges."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.recipes.models import numbers, refusal

tf1 = tf.compat.v1


def detector(control: str = "of TF1"):
    """A small detector of two classes: bytes of pictures, a loop that resizes, a convolution, boxes, suppression."""
    modern = control == "of TF2"
    was = tf1.control_flow_v2_enabled()
    (tf1.enable_control_flow_v2 if modern else tf1.disable_control_flow_v2)()
    try:
        with tf.Graph().as_default() as graph:
            images = tf1.placeholder(tf.uint8, [2, None, None, 3], name="image_tensor")
            pixels = tf.cast(images, tf.float32, name="ToFloat")
            resize = lambda image: tf.squeeze(tf1.image.resize_bilinear(image[None], [8, 8]), 0)  # noqa: E731
            small = tf1.map_fn(resize, pixels, name="Preprocessor")
            small = tf.subtract(small * (2.0 / 255.0), 1.0, name="scaled")
            h = tf.nn.relu(
                tf.nn.conv2d(tf.reshape(small, [2, 8, 8, 3]), numbers(3, 3, 3, 8), 2, "SAME"), name="features"
            )
            flat = tf.reshape(tf.nn.relu(h), [2, 16, 8])
            boxes = tf.sigmoid(flat[..., :4], name="boxes")
            scores = tf.nn.softmax(flat[..., 4:6], name="scores")
            size = tf.cast(tf.shape(pixels, name="size")[1:3], tf.float32)

            def best(both):
                at = tf.image.non_max_suppression(both[0], both[1][:, 1], 5, 0.5)
                at = tf.pad(at, [[0, 5 - tf.shape(at)[0]]])
                return tf.gather(both[0], at)

            kept = tf1.map_fn(best, (boxes, scores), tf.float32, name="Postprocessor")
            tf.multiply(kept, tf.concat([size, size], 0), name="detections")
    finally:
        (tf1.enable_control_flow_v2 if was else tf1.disable_control_flow_v2)()
    return graph


@pytest.mark.parametrize("control", ["of TF1", "of TF2"])
def test_a_detector_loses_both_ends_and_gives_what_it_gave(control):
    ed = gs.open(detector(control))
    pixels = np.random.RandomState(0).randint(0, 255, (2, 12, 10, 3)).astype(np.uint8)
    wanted = ["scaled:0", "boxes:0", "scores:0", "detections:0"]
    scaled, boxes, scores, detections = ed.session().run(wanted, {"image_tensor:0": pixels})

    ed.apply(gs.recipes.cut_preprocessing(ed))
    kinds = dict(zip(ed.snapshot.names, ed.snapshot.types, strict=True))
    assert kinds["scaled"] == "Placeholder"
    assert not [name for name in kinds if name.startswith(("Preprocessor/while", "Preprocessor/TensorArrayUnstack"))]
    assert "size" in kinds  # of the picture as it came
    feeds = {"scaled:0": scaled, "image_tensor:0": pixels}
    np.testing.assert_array_equal(ed.session().run("detections:0", feeds), detections)

    ed.apply(gs.recipes.cut_nms(ed))
    left = set(ed.snapshot.names)
    assert {"boxes", "scores", "features"} <= left
    assert not [name for name in left if name.startswith(("Postprocessor/while", "detections", "size"))]
    assert {ed.snapshot.types[ed.snapshot.index[name]] for name in left} & {"TensorArrayScatterV3", "Gather"} == set()
    got = ed.session().run(["boxes:0", "scores:0"], {"scaled:0": scaled})
    np.testing.assert_array_equal(got[0], boxes)
    np.testing.assert_array_equal(got[1], scores)
    ed.undo()
    ed.undo()
    np.testing.assert_array_equal(ed.session().run("detections:0", {"image_tensor:0": pixels}), detections)


def test_bytes_of_sound_become_a_spectrogram_outside(corpus):
    ed = gs.open(corpus.path("kws_ds_cnn_s"))
    feeds, fetches = corpus.golden("kws_ds_cnn_s")
    (features,) = ed.session().run(["Mfcc:0"], feeds)
    ed.apply(gs.recipes.cut_preprocessing(ed))
    assert ed.snapshot.types[ed.snapshot.index["Mfcc"]] == "Placeholder"
    assert "wav_data" not in ed.snapshot.names
    corpus.compare(
        "kws_ds_cnn_s", dict(zip(fetches, ed.session().run(list(fetches), {"Mfcc:0": features}), strict=True))
    )
    ed.apply(gs.recipes.cut_postprocessing(ed))
    assert ed.snapshot.names[-1] == "MobileNet/fc1/BiasAdd"


def test_suppression_of_a_published_graph(corpus):
    ed = gs.open(corpus.path("dl4j_nms_v5"))
    _, fetches = corpus.golden("dl4j_nms_v5")
    ed.apply(gs.recipes.cut_nms(ed))
    assert ed.snapshot.names == ["in_0", "in_0/read", "in_1", "in_1/read"]
    ed.undo()
    corpus.compare("dl4j_nms_v5", dict(zip(fetches, ed.session().run(list(fetches)), strict=True)))


def test_only_some_patterns():
    with tf.Graph().as_default() as graph:
        data = tf1.placeholder(tf.string, [], name="jpeg")
        image = tf.image.resize(tf.cast(tf.image.decode_jpeg(data, 3, name="decoded"), tf.float32)[None], [4, 4])
        h = tf.nn.conv2d(tf.multiply(image, 0.1, name="scaled"), numbers(1, 1, 3, 4), 1, "SAME", name="conv")
        scores = tf.nn.softmax(tf.reduce_mean(h, [1, 2], name="logits"), name="scores")
        tf.argmax(scores, 1, name="best")
    ed = gs.open(graph)
    cut = {what: gs.recipes.cut_preprocessing(ed, what).after() for what in ("decode", "resize", "scale")}
    fed = {what: after.names[after.types.index("Placeholder")] for what, after in cut.items()}
    assert fed == {"decode": "decoded", "resize": "resize/ResizeBilinear", "scale": "scaled"}
    assert "best" not in gs.recipes.cut_postprocessing(ed, "best").after().names
    assert gs.recipes.cut_postprocessing(ed, "best").after().names[-1] == "scores"
    assert gs.recipes.cut_postprocessing(ed).after().names[-1] == "logits"
    said = refusal(gs.PlanError, gs.recipes.cut_postprocessing, ed, "probabilities")
    assert said.startswith("cut_postprocessing(): 'scores' (Softmax) leads to 'best' (ArgMax), which is not"), said


def test_a_size_that_something_else_reads_stays():
    with tf.Graph().as_default() as graph:
        image = tf1.placeholder(tf.uint8, [1, None, None, 3], name="image")
        small = tf.multiply(tf1.image.resize_bilinear(image, [4, 4]), 0.1, name="scaled")
        h = tf.reduce_sum(tf.nn.relu(small), name="sum")
        tf.multiply(h, tf.cast(tf.size(image, name="size"), tf.float32), name="y")
    ed = gs.open(graph)
    after = gs.recipes.cut_preprocessing(ed).after()
    assert [name for name, kind in zip(after.names, after.types, strict=True) if kind == "Placeholder"] == [
        "image", "scaled",
    ]  # fmt: skip


def plain(*, weights: bool):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4] if weights else [None, 4, 3], name="x")
        y = tf.matmul(x, numbers(4, 4)) if weights else x * 2.0
        y = tf.identity(y, name="y")
        if weights:
            tf.matmul(tf.nn.softmax(y, name="attention"), numbers(4, 4), name="mixed")
    return graph


@pytest.mark.parametrize(
    ("recipe", "weights", "why"),
    [
        (gs.recipes.cut_preprocessing, True, "nothing that a placeholder feeds matches 'decode'"),
        (gs.recipes.cut_preprocessing, False, "'mul' (Mul) is preprocessing, and its output has no other consumer"),
        (gs.recipes.cut_nms, False, "nothing at its end matches 'nms'"),
        (gs.recipes.cut_postprocessing, True, "'attention' (Softmax) leads to 'mixed' (MatMul), which is not"),
    ],
    ids=["no pattern", "no model", "no suppression", "in the middle"],
)  # fmt: skip
def test_what_does_not_fit_says_why(recipe, weights, why):
    ed = gs.open(plain(weights=weights))
    said = refusal(gs.PlanError, recipe, ed)
    assert said.startswith(f"{recipe.__name__}(): {why}"), said


def test_a_factor_of_a_flag_is_not_a_picture():
    with tf.Graph().as_default() as graph:
        rate, x = tf1.placeholder(tf.float32, [], name="rate"), tf1.placeholder(tf.float32, [None, 4], name="x")
        tf.nn.relu((x * 2.0) / (1.0 - rate), name="y")
    said = refusal(gs.PlanError, gs.recipes.cut_preprocessing, gs.open(graph))
    assert said.startswith("cut_preprocessing(): nothing that a placeholder feeds matches"), said


def test_a_pattern_that_is_none_is_named():
    ed = gs.open(plain(weights=True))
    said = refusal(gs.PlanError, gs.recipes.cut_preprocessing, ed, "resise")
    assert said.startswith("cut_preprocessing(): 'resise' is not a pattern.\n"), said
    assert "'resize'" in said
    said = refusal(gs.PlanError, gs.recipes.cut_postprocessing, ed, [])
    assert said.startswith("cut_postprocessing(): no pattern is given.\n"), said


def test_an_output_within_is_not_lost():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        small = tf.multiply(x, 0.1, name="small")
        tf.nn.relu(small, name="y")
    ed = gs.recipes.set_signature(gs.open(graph), {"small": "small:0", "y": "y:0"})
    said = refusal(gs.PlanError, gs.recipes.cut_preprocessing, ed)
    problem = "cut_preprocessing(): 'small', a part of the preprocessing, is an output"
    assert said.startswith(f"{problem}.\nLeave that out"), said


@pytest.mark.parametrize("kind", ["If", "Case"])
def test_a_branch_that_prepares_pictures_is_cut_off_too(kind):
    with tf.Graph().as_default() as graph:
        images = tf1.placeholder(tf.uint8, [2, None, None, 3], name="image_tensor")
        pixels = tf.cast(images, tf.float32, name="ToFloat")
        large = tf.shape(pixels)[1] > 8
        ways = [
            lambda: tf1.image.resize_bilinear(pixels, [8, 8]),
            lambda: tf1.image.resize_nearest_neighbor(pixels, [8, 8]),
        ]
        small = tf.cond(large, *ways) if kind == "If" else tf.switch_case(tf.cast(large, tf.int32), ways)
        small = tf.subtract(tf.reshape(small, [2, 8, 8, 3]) * (2.0 / 255.0), 1.0, name="scaled")
        tf.nn.relu(tf.nn.conv2d(small, numbers(3, 3, 3, 8), 2, "SAME"), name="features")
    assert kind in {op.type.removeprefix("Stateless") for op in graph.get_operations()}
    ed = gs.open(graph)
    pixels = np.random.RandomState(0).randint(0, 255, (2, 12, 10, 3)).astype(np.uint8)
    scaled, features = ed.session().run(["scaled:0", "features:0"], {"image_tensor:0": pixels})
    ed.apply(gs.recipes.cut_preprocessing(ed))
    assert "image_tensor" not in ed.snapshot.names
    np.testing.assert_array_equal(ed.session().run("features:0", {"scaled:0": scaled}), features)
