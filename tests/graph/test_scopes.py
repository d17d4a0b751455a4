"""The tree of name scopes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphsurgeon.graph.names import Scopes

NAMES = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join), unique=True, max_size=20)


@given(NAMES, st.integers(0, 20))
def test_what_is_extended_is_what_is_read_at_once(names, size):
    at_once = Scopes.from_names(names)
    grown = Scopes.from_names(names[:size]).with_ops(names[size:], {name: i for i, name in enumerate(names)})
    assert (list(grown.names), grown.scope_of.tolist()) == (list(at_once.names), at_once.scope_of.tolist())
    assert (grown.parents.tolist(), grown.index) == (at_once.parents.tolist(), at_once.index)


def test_parents_come_before_children():
    s = Scopes.from_names(["a/b/c/x", "a/y", "z", "q/r"])
    assert s.names == ["", "a", "a/b", "a/b/c", "q"]
    assert s.parents.tolist() == [-1, 0, 1, 2, 0]
    assert s.scope_of.tolist() == [3, 1, 0, 4]
    assert s.counts.tolist() == [4, 2, 1, 1, 1]
    assert [s.children(i) for i in range(5)] == [[1, 4], [2], [3], [], []]
    assert [s.ops(i) for i in range(5)] == [[2], [1], [], [0], [3]]


def test_an_op_called_like_a_scope_lives_in_it():
    s = Scopes.from_names(["w", "w/read", "wide"])
    assert s.scope_of.tolist() == [1, 1, 0]
    assert s.mask("w").tolist() == [True, True, False]


def test_masks_take_whole_scopes_only():
    s = Scopes.from_names(["a/x", "ab/x", "a/c/d/y", "a"])
    assert s.mask("a").tolist() == [True, False, True, True]
    assert s.mask("a/").tolist() == s.mask("a").tolist()
    assert s.mask("a/c").tolist() == [False, False, True, False]
    assert s.mask("nothing").tolist() == [False] * 4
    assert s.mask("").tolist() == [True] * 4


def test_no_ops():
    s = Scopes.from_names([])
    assert (s.names, s.counts.tolist(), s.ops(0), s.children(0)) == ([""], [0], [], [])


def test_very_deep_names():
    deep = "/".join(f"s{i}" for i in range(5000))
    s = Scopes.from_names([deep + "/x"])
    assert len(s.names) == 5001
    assert int(s.counts[0]) == 1
    assert s.mask("s0").tolist() == [True]


@given(st.lists(st.text("aBb/\n", min_size=1, max_size=8), unique=True, max_size=20), st.text("abB/\n", max_size=4))
def test_scopes_are_found_by_what_they_are_called_whatever_signs_a_file_has_in_its_names(names, called):
    s = Scopes.from_names(names)
    ends = [n for n in s.names[1:] if n.lower() == called.lower() or n.lower().endswith(f"/{called.lower()}")]
    assert s.named(called) == ends
