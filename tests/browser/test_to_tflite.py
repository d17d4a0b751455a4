"""A published keyword detector goes from what it was trained as to a TFLite file, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.browser.hands import answered, apply, painted, said, shot
from tests.widget.page import WidgetPage

pytestmark = pytest.mark.deep


def interpreted(features: Any, path: str) -> Any:
    """Returns the output of a TFLite model, run by TFLite's own interpreter."""
    interpreter = tf.lite.Interpreter(model_path=path)
    interpreter.allocate_tensors()
    (taken,), (given,) = interpreter.get_input_details(), interpreter.get_output_details()
    interpreter.set_tensor(taken["index"], features)
    interpreter.invoke()
    return interpreter.get_tensor(given["index"])


def test_a_detector_becomes_a_file_that_tflite_runs(page: Any, notebook: Any, corpus: Any) -> None:
    feeds, fetches = corpus.golden("kws_ds_cnn_s")
    assert list(feeds) == ["wav_data:0"]
    source = corpus.path("kws_ds_cnn_s")
    ed = gs.open(source).trust()
    WidgetPage(page, ed.screen)
    page.locator(".gs-pane-source [data-name]").first.wait_for()
    menu, dialog = page.get_by_role("menu", name="Recipes"), page.locator(".gs-dialog")

    def recipe(what: str, do: str, **fields: str) -> None:
        page.get_by_role("button", name="Recipes (Shift+R)").click()
        menu.get_by_role("menuitem", name=what).click()
        for label, text in fields.items():
            dialog.get_by_label(label, exact=True).fill(text)
        shot(page, f"tflite-{do.lower().replace(' ', '-')}")
        dialog.get_by_role("button", name=do).click()

    recipe("Cut off preprocessing", "Add to plan")
    said(page, "cut_preprocessing: ")
    answered(page)
    painted(page)
    shot(page, "tflite-cut")
    apply(page)
    recipe("Prepare for inference", "Add to plan", Outputs="labels_softmax:0")
    said(page, "for_inference: ")
    apply(page)
    painted(page)
    shot(page, "tflite-inference")
    recipe("Check for TFLite", "Check", Outputs="labels_softmax:0")
    said(page, "nothing")
    shot(page, "tflite-checked")

    page.get_by_role("button", name="Save", exact=True).click()
    dialog.get_by_label("File or folder").fill("keywords")
    dialog.get_by_label("Format").select_option("tflite")
    dialog.get_by_label("Outputs").fill("labels_softmax:0")
    dialog.get_by_role("button", name="Save", exact=True).click()
    page.locator(".gs-panel", has_text="run by TFLite's interpreter").wait_for()
    painted(page)
    shot(page, "tflite-saved")

    features, scores = gs.open(source).trust().session().run(["Mfcc:0", "labels_softmax:0"], feeds)
    got = interpreted(features, "keywords.tflite")
    np.testing.assert_allclose(got, scores, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(got, fetches["labels_softmax:0"], rtol=1e-4, atol=1e-6)
    assert not {"DecodeWav", "Mfcc", "FusedBatchNorm", "Identity"} & set(ed.snapshot.types)
