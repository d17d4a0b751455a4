"""Two graphs in one picture: every difference has a mark, or is counted where it is folded."""

from __future__ import annotations

import re

import numpy as np
import pytest

from graphsurgeon.graph.diff import diff
from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.comparison import contrast, unite_graphs
from graphsurgeon.view.layout import place
from graphsurgeon.view.plan_marks import SIGNS, STATES
from graphsurgeon.view.svg import to_svg


def chain(*ops: str, title: str = "graph") -> Graph:
    """Returns ops each of which reads the one before; ``name:Type`` gives a type, Neg else."""
    triples, last = [], ""
    for op in ops:
        name, _, kind = op.partition(":")
        triples.append((name, kind or ("Neg" if last else "Placeholder"), [last] if last else []))
        last = name
    return Graph.from_ops(triples, title=title)


def boxes(scene):
    return {box.name: (box.state, box.subtitle) for box in scene.boxes}


def edges(scene):
    by_id = {box.id: box.name for box in scene.boxes}
    return {(by_id[e.source], by_id[e.target]): (e.state, e.label) for e in scene.edges}


def test_each_box_and_edge_says_what_it_is():
    scene = contrast(diff(chain("x", "y", "z", "w:Exp"), chain("x", "z", "w:Log", "v")))
    assert boxes(scene) == {
        "x": ("", "Placeholder"), "y": ("removed", "Neg"), "z": ("changed", "Neg · rewired"),
        "w": ("changed", "Log · was Exp"), "v": ("new", "Neg"),
    }  # fmt: skip
    assert edges(scene) == {
        ("x", "y"): ("removed", ""), ("y", "z"): ("removed", ""), ("x", "z"): ("new", ""), ("z", "w"): ("", ""),
        ("w", "v"): ("new", ""),
    }  # fmt: skip


def test_folded_scopes_count_their_differences():
    old = [f"s{k}/op{i}" for k in range(6) for i in range(30)]
    new = [name for name in old if name != "s2/op7"]
    new[new.index("s2/op9")] = "s2/op9:Exp"
    new.insert(new.index("s2/op20"), "s2/extra")
    scene = contrast(diff(chain(*old), chain(*new)))
    reported = boxes(scene)
    assert len(scene.boxes) <= 60
    states = {name: state for name, (state, _) in reported.items() if state}
    assert set(states.values()) <= {"changed", "new", "removed"}
    assert all(name.startswith(("s2", "~s2")) for name in states), states
    subs = " ".join(sub for _, sub in reported.values())
    counted = {
        sign: sum(map(int, re.findall(rf"{re.escape(sign)}(\d+)", subs))) for sign in ("+", "\u2212", SIGNS["changed"])
    }
    single = {state: sum(s == state for s in states.values()) for state in ("new", "removed", "changed")}
    assert counted["+"] + single["new"] >= 1
    assert counted["\u2212"] + single["removed"] >= 1


def test_a_scope_that_is_wholly_new_stays_folded_or_has_a_marked_frame():
    big = [f"copy/op{i}" for i in range(50)]
    scene = contrast(diff(chain("x", "y"), chain("x", "y", *big)))
    mine = {name: reported for name, reported in boxes(scene).items() if "copy" in name}
    assert mine
    assert {state for state, _ in mine.values()} == {"new"}
    assert {group.state for group in scene.groups if "copy" in group.name} <= {"new"}
    small = contrast(diff(chain("x", "y"), chain("x", "y", "t/a", "t/b", "t/c")))
    frames = {group.name: group.state for group in small.groups}
    assert frames.get("t/", boxes(small).get("t/", ("",))[0]) == "new"


def test_what_is_hidden_is_counted_where_it_helps():
    def net(constant: str) -> Graph:
        extra = [(f"o{i}", "Neg", [f"o{i - 1}" if i else "y"]) for i in range(45)]
        return Graph.from_ops(
            [("x", "Placeholder", []), (constant, "Const", []), ("y", "Add", ["x", constant]), *extra]
        )

    scene = contrast(diff(net("k"), net("k2")))
    assert boxes(scene)["y"] == ("changed", "Add · rewired")


def test_equal_graphs_have_no_mark():
    scene = contrast(diff(chain("x", "y"), chain("x", "y")))
    assert {box.state for box in scene.boxes} == {""}
    assert {edge.state for edge in scene.edges} == {""}


def test_the_union_has_the_edges_of_both():
    found = diff(chain("x", "y", "z"), chain("x", "z", "v"))
    both, (kinds, _) = unite_graphs(found)
    names = {
        (both.names[n], both.names[r], int(k))
        for r, n, k in zip(both.data.rows.tolist(), both.data.node.tolist(), kinds.tolist(), strict=True)
    }
    assert names == {("x", "y", 2), ("y", "z", 2), ("x", "z", 1), ("z", "v", 1)}
    assert int(np.diff(both.data.ptr).sum()) == len(kinds)


def test_the_legend_says_the_signs():
    scene = place(contrast(diff(chain("x", "y", "z"), chain("x", "z", "v")))).to_dict()
    svg = to_svg(scene, legend=[("new", "only in <b>: 1"), ("removed", "only in a: 1")])
    assert "only in &lt;b&gt;: 1" in svg
    assert svg.count(f'fill="{STATES["removed"][0]}"') >= 2
    assert SIGNS["removed"] in svg
    assert svg == to_svg(scene, legend=[("new", "only in <b>: 1"), ("removed", "only in a: 1")])


@pytest.mark.parametrize("size", [20_000])
def test_a_large_graph_is_legible(size):
    old = [f"tower_{k}/block{j}/op{i}" for k in range(4) for j in range(size // 400) for i in range(100)]
    new = [*old[: size // 2], "tower_2/tap", *old[size // 2 :]]
    scene = contrast(diff(chain(*old), chain(*new)))
    assert len(scene.boxes) <= 60
    assert any(state in ("new", "changed") for state, _ in boxes(scene).values())
