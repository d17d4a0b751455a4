from __future__ import annotations

import pytest

from graphsurgeon.view import boxes


def test_width_is_that_of_the_table():
    assert boxes.width("il.") == pytest.approx((222 + 222 + 278) * 12 / 1000, abs=0.01)
    assert boxes.width("MM", 24) == pytest.approx(2 * 833 * 24 / 1000, abs=0.01)


def test_unknown_characters_count_one_em():
    assert boxes.width("漢字", 10) == 20
    assert boxes.is_measured("abc × …")
    assert not boxes.is_measured("漢")


def test_bold_is_wider():
    assert boxes.width("abc", bold=True) > boxes.width("abc")


def test_elide_keeps_both_ends():
    name = "a_scope_with_a_name_that_goes_on_and_on_for_very_long"
    assert boxes.elide(name) == name
    short = boxes.elide(name, 40)
    assert len(short) == 40
    assert short.startswith("a_scope")
    assert short.endswith("very_long")
    assert boxes.elide("x" * 80) == "x" * 80
    assert len(boxes.elide("x" * 100_000)) == 80


@pytest.mark.parametrize("bad", ["\0", "\x1b", "\x85", "\ud800", "\ufffe", "\u202e", "\u2066", "\u200f", "\u061c"])
def test_clean_replaces_what_xml_cannot_hold_and_what_turns_text(bad):
    assert boxes.clean(f"a{bad}b") == "a\ufffdb"


def test_clean_keeps_the_rest():
    assert boxes.clean("a/b:0 <é> 漢 😀\n") == "a/b:0 <é> 漢 😀\n"


@pytest.mark.parametrize(
    ("label", "lines"),
    [
        ("mixed4a", ["mixed4a"]),
        ("InceptionV3/Predictions/Reshape_1", ["InceptionV3/", "Predictions/Reshape_1"]),
        ("block_8_expand_1 … block_8_add_1_more", ["block_8_expand_1 …", "block_8_add_1_more"]),
        ("sparse_softmax_cross_entropy_loss", ["sparse_softmax_", "cross_entropy_loss"]),
        ("x" * 61, ["x" * 30, "x" * 31]),
        ("x" * 63, ["x" * 32, "x" * 31]),
    ],
)
def test_long_labels_stand_on_two_lines(label, lines):
    assert boxes.broken(label) == lines
