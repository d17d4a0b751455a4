"""Recipes on real graphs that nobody here wrote; `make corpus` runs them on all."""

from __future__ import annotations

import pytest

from tests.recipes.real import RECIPES

#: A few small graphs for each recipe, with something in them that others do not have.
FEW = {
    "inference": [
        "kws_ds_cnn_s", "dotnet_cifar_meta_ckpt", "tfx_trainer_export_1646034756", "slim_inception_v1_quantize_train",
    ],
    "parts": [
        "kws_ds_cnn_s", "dl4j_ragged_mean_a1", "onnx_lstm", "dotnet_cifar_meta_ckpt", "sci_word_cnn",
        "serving_half_plus_two_tf2",
    ],
    "averages read": ["slim_resnet_towers_ckpt"],
    "split": ["kws_ds_cnn_s", "dotnet_cifar_meta_ckpt"],
    "quantization": ["kws_ds_cnn_s", "dotnet_cifar_frozen", "slim_inception_v1_quantize_train"],
    "batch": ["tf_lite_multi_add", "dotnet_cifar_frozen"],
    "recompute": ["dotnet_cifar_meta_ckpt", "contrib_revnet_custom_gradient_ckpt"],
    "cut off": ["dl4j_nms_v5", "kws_ds_cnn_s", "serving_session_bundle"],
    "renamed": ["kws_dnn_s", "onnx_regression_meta_ckpt", "est_dnn_export", "serving_half_plus_two_tf2"],
    "merged": ["kws_dnn_s", "onnx_regression_meta_ckpt"],
    "checkpoint": ["onnx_regression_meta_ckpt"],
    "averages": ["dotnet_cifar_meta_ckpt"],
    "TFLite": ["dotnet_cifar_frozen", "kws_dnn_s"],
    "signature": ["kws_ds_cnn_s", "dotnet_cifar_saved_model"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("recipe", "id"),
    [
        pytest.param(recipe, id, marks=pytest.mark.deep if i > 1 else ())
        for recipe, ids in FEW.items()
        for i, id in enumerate(ids)
    ],
)
def test_it_does_what_it_says(corpus, recipe, id):
    assert RECIPES[recipe](corpus, id)
