"""What a graph says of the size of an input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsurgeon.recipes.input import merge_shapes, regroup_shape, unchanged_axes


@pytest.mark.parametrize(
    ("old", "new", "shape", "made"),
    [
        ((1, 8, 8, 4), (5, 8, 8, 4), (1, 256), (5, 256)),
        ((4, 7, 7, 512), (6, 7, 7, 512), (196, 512), (294, 512)),
        ((1, 1, 1, 1001), (5, 1, 1, 1001), (1, 1001), (5, 1001)),
        ((2, 4, 4, 3), (2, 6, 6, 3), (2, 16, 3), (2, 36, 3)),
        ((32, 10), (64, 10), (32, 10, 1), (64, 10, 1)),
        ((1, 256), (3, 256), (1, 8, 8, 4), (3, 8, 8, 4)),
        ((8, 4), (12, 4), (2, 4, 4), None),  # an axis that is parted
        ((1, 8), (3, 8), (1, 1, 8), None),  # either of two axes
        ((1, 20, 10), (4, 20, 10), (20, 1, 10), None),  # time first, as long as the batch is 1
        ((8, 4), (12, 4), (8, 5), None),
        ((8, 4), (12,), (32,), None),
    ],
)
def test_axes_that_are_joined_or_stay_follow(old, new, shape, made):
    assert regroup_shape(old, new, shape) == made


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(2, 5), st.data())
def test_a_larger_batch_is_reshaped_row_by_row(axes, times, data):
    """What a reshape gives of a batch is what it gives of each of its parts."""
    cuts = sorted(data.draw(st.sets(st.integers(1, len(axes)), max_size=len(axes))))
    groups = [axes[a:b] for a, b in zip([0, *cuts], [*cuts, len(axes)], strict=True)]
    shape = tuple(int(np.prod(group)) for group in groups if group)
    old, new = tuple(axes), (axes[0] * times, *axes[1:])
    made = regroup_shape(old, new, shape)
    if made is None or cuts[:1] != [1]:
        return
    parts = [np.arange(np.prod(old)).reshape(old) + 1000 * i for i in range(times)]
    whole = np.concatenate(parts).reshape(made)
    np.testing.assert_array_equal(whole, np.concatenate([part.reshape(shape) for part in parts]))


def test_a_broadcast_keeps_the_axes_that_it_leaves():
    assert unchanged_axes((1, 8), (3, 8), (5, 1, 8)) == (5, 3, 8)
    assert unchanged_axes((1, 8), (3, 8), (5, 8)) is None
    assert unchanged_axes((1, 8), (3, 8), (8,)) is None


def test_two_sizes_say_what_is_not_fixed():
    assert merge_shapes({1: (5, 2), 2: (5, 5), 3: (2,)}, {1: (7, 2), 2: (7, 7), 3: (2,)}) == {
        1: (-1, 2),
        2: None,
        3: (2,),
    }
