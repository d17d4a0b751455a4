"""What a tensor looks like."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import pytest

from graphsurgeon.ui.run_results import SIDE, image


def pixels(url: str) -> np.ndarray:
    """Reads a PNG as rows of red, green and blue."""
    data = base64.b64decode(url.partition(",")[2])
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, chunks = 8, {}
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + size
    wide, high, depth, colors = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colors) == (8, 2)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(high, 1 + 3 * wide)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(high, wide, 3)


def test_a_matrix_is_grey_from_its_smallest_to_its_largest():
    shown = pixels(image(np.array([[-2.0, 0.0], [2.0, np.nan]])))
    assert shown.tolist() == [[[0, 0, 0], [128, 128, 128]], [[255, 255, 255], [181, 23, 158]]]


def test_an_image_of_a_batch_keeps_its_colors():
    batch = np.zeros([4, 5, 6, 3], np.float32)
    batch[0, 1, 2] = [1.0, 0.5, 0.0]
    shown = pixels(image(batch))
    assert shown.shape == (5, 6, 3)
    assert shown[1, 2].tolist() == [255, 128, 0]
    assert shown.sum() == 383


def test_the_channels_of_a_feature_map_are_side_by_side():
    maps = np.zeros([1, 7, 7, 32], np.float32)
    maps[0, 3, 3, 5] = 1.0
    shown = pixels(image(maps))
    assert shown.shape == (4 * 8, 4 * 8, 3)  # 16 of them, with a gap
    assert shown[8 + 3, 8 + 3].tolist() == [255, 255, 255]


def test_a_vector_is_bars_from_zero():
    shown = pixels(image(np.array([1.0, -1.0, np.inf, 0.0])))
    ink = (shown == (59, 102, 178)).all(-1)
    step = shown.shape[1] // 4
    assert {int(ink[:, 0].sum()), int(ink[:, step].sum())} <= {20, 21}  # half of the height, and the line at zero
    assert ink[:, 3 * step].sum() == 1
    assert ink[0, 0]
    assert ink[-1, step]
    assert (shown[:, 2 * step] == (181, 23, 158)).all()


@pytest.mark.parametrize("shape", [(1000, 3), (3, 1000), (2, 999, 1001, 3), (500, 400, 64), (1, 1, 400, 400)])
def test_no_picture_is_large(shape):
    shown = pixels(image(np.random.RandomState(0).rand(*shape)))
    assert max(shown.shape) <= SIDE + 8


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16])
def test_any_numbers_will_do(dtype):
    assert pixels(image(np.eye(4).astype(dtype)))[0, 0].tolist() == [255, 255, 255]


@pytest.mark.parametrize(
    "array", [np.float32(1), np.zeros(0), np.zeros([1, 1]), np.array([b"a", b"b"]), np.zeros([500]), np.zeros([2] * 6)]
)
def test_what_looks_like_nothing_has_no_picture(array):
    assert image(array) == ""


def test_what_is_nowhere_finite_is_drawn_too():
    assert (pixels(image(np.full([3, 3], np.nan))) == (181, 23, 158)).all()
    assert (pixels(image(np.full([3], np.inf))) == (181, 23, 158)).all()
