"""Item: a series is taken apart, whatever is folded in it."""

from __future__ import annotations

from graphsurgeon.view.boxes import Item


def test_series_in_series_are_taken_apart_in_order():
    ops = [Item("op", name, name, i) for i, name in enumerate("abcd")]
    inner = Item("series", "~s", "s", members=tuple(ops[1:3]))
    outer = Item("series", "~t", "t", members=(ops[0], inner, ops[3]))
    assert outer.flat() == ops
    assert ops[0].flat() == [ops[0]]
