"""Two scenes laid out as one: what is in both stands at one place, whatever each calls it."""

from __future__ import annotations

import numpy as np

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.comparison import align_scenes
from graphsurgeon.view.layout import place
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree

BASE = [("x", "Placeholder", []), ("a/p", "Neg", ["x"]), ("a/q", "Exp", ["a/p"]), ("z", "Neg", ["a/q"])]


def both(before, after, keys=({"a/"}, {"a/"}), renamed=()):
    """Returns the two scenes, aligned and placed, and by name where their boxes and frames stand."""
    graphs = Graph.from_ops(before), Graph.from_ops(after)
    scenes = [build(Tree(graph), open_) for graph, open_ in zip(graphs, keys, strict=True)]
    pairs = [
        (i, graphs[1].index[dict(renamed).get(name, name)])
        for i, name in enumerate(graphs[0].names)
        if dict(renamed).get(name, name) in graphs[1].index
    ]
    old, new = np.array(pairs, np.int32).T
    found = align_scenes(*scenes, (old, new))
    parts = found.split(place(found.whole))
    return found, parts, [{thing.name: thing for thing in (*part.boxes, *part.groups)} for part in parts]


def spot(thing):
    return thing.x, thing.y, thing.w, thing.h


def test_what_is_in_both_has_one_place_and_one_size():
    after = [*BASE[:2], ("new", "Neg", ["a/p"]), ("a/q", "Exp", ["new"]), BASE[3]]
    found, (before, later), (was, now) = both(BASE, after)
    assert [box.name for box in found.whole.boxes] == ["x", "a/p", "a/q", "new", "z"]
    assert {name: spot(thing) for name, thing in was.items()} == {name: spot(now[name]) for name in was}
    assert (before.w, before.h, before.direction) == (later.w, later.h, later.direction)
    assert {(e.source, e.target) for e in before.edges} == {("b0", "b1"), ("b1", "b2"), ("b2", "b3")}
    names = {box.id: box.name for box in later.boxes}
    assert ("a/p", "new") in {(names[e.source], names[e.target]) for e in later.edges}
    assert all(edge.path for part in (before, later) for edge in part.edges)


def test_nothing_stands_where_something_else_stood():
    after = [BASE[0], ("other", "Exp", ["x"]), ("a/q", "Exp", ["other"]), BASE[3]]
    _, _, (was, now) = both(BASE, after)
    gone, new = was["a/p"], now["other"]
    apart = gone.x + gone.w <= new.x or new.x + new.w <= gone.x or gone.y + gone.h <= new.y or new.y + new.h <= gone.y
    assert apart


def test_what_has_another_name_stays_in_its_place():
    after = [BASE[0], ("b/p", "Neg", ["x"]), ("b/q", "Exp", ["b/p"]), ("last", "Neg", ["b/q"])]
    renamed = [("a/p", "b/p"), ("a/q", "b/q"), ("z", "last")]
    for keys in (({"a/"}, {"b/"}), (set(), set())):
        found, _, (was, now) = both(BASE, after, keys, renamed)
        names = {"a/": "b/", **dict(renamed)}
        assert {names.get(name, name): spot(thing) for name, thing in was.items()} == {
            name: spot(thing) for name, thing in now.items()
        }
        assert len(found.whole.boxes) == len(found.scenes[0].boxes)


def test_a_box_is_as_large_as_the_longer_of_its_texts():
    after = [*BASE, *((f"a/more{i}", "Neg", ["a/q"]) for i in range(12_000))]
    _, _, (was, now) = both(BASE, after, (set(), set()))
    assert spot(was["a/"]) == spot(now["a/"])


def test_what_has_gone_to_another_scope_is_at_two_places():
    base = [*BASE, ("a/r", "Neg", ["z"])]
    after = [BASE[0], ("c/p", "Neg", ["x"]), ("c/r", "Neg", ["c/p"]), ("a/q", "Exp", ["c/p"]), BASE[3], base[-1]]
    _, (_, later), (was, now) = both(base, after, ({"a/"}, {"a/", "c/"}), [("a/p", "c/p")])
    assert spot(was["a/p"])[:2] != spot(now["c/p"])[:2]
    frame = now["c/"]
    assert frame.x <= now["c/p"].x
    assert now["c/p"].x + now["c/p"].w <= frame.x + frame.w
    assert {group.name for group in later.groups} == {"a/", "c/"}


def test_a_scope_open_in_one_and_folded_in_the_other_has_both():
    _, (before, later), _ = both(BASE, BASE, ({"a/"}, set()))
    assert {group.name for group in before.groups} == {"a/"}
    assert {box.name for box in later.boxes} == {"x", "a/", "z"}


def test_pictures_of_nothing():
    nothing = build(Tree(Graph.from_ops([])))
    none = np.empty(0, np.int32)
    found = align_scenes(nothing, build(Tree(Graph.from_ops(BASE))), (none, none))
    before, after = found.split(place(found.whole))
    assert (len(before.boxes), len(after.boxes)) == (0, 3)
