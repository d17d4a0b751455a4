"""Pictures as numbers: how far boxes move from one picture to the next, and how well a picture can be read."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from graphsurgeon.errors import LayoutError, SurgeryError
from graphsurgeon.view.edge_paths import sample_lines, sampled

Scene = Mapping[str, Any]
SAME = 8.0
"""Crossings that are nearer to each other are seen as one, px."""


def anchor_of(thing: Mapping[str, Any], direction: str) -> tuple[float, float]:
    """Returns the point of a box or frame that keeps its place on the page; `holdOf` in pane.ts."""
    if direction == "TB":
        return thing["x"] + thing["w"] / 2, thing["y"]
    return thing["x"], thing["y"] + thing["h"] / 2


def moved(before: Scene, after: Scene, clicked: str | None) -> Iterator[tuple[bool, bool]]:
    """Yields for each box of both scenes whether it keeps its place: in the window, and next to its neighbor.

    Args:
        before, after: the scenes.
        clicked: the box or frame under the pointer; None: the box in the middle is the anchor.
    """
    was, now = ({b["name"]: b for b in scene["boxes"]} for scene in (before, after))
    both = [name for name in was if name in now and name != clicked]
    if not both:
        return
    old = np.array([(was[n]["x"] + was[n]["w"] / 2, was[n]["y"] + was[n]["h"] / 2) for n in both])
    new = np.array([(now[n]["x"] + now[n]["w"] / 2, now[n]["y"] + now[n]["h"] / 2) for n in both])
    wide = np.array([was[n]["w"] for n in both])
    shift = new - old
    things = [{t["name"]: t for t in (*scene["groups"], *scene["boxes"])} for scene in (before, after)]
    if clicked in things[0] and clicked in things[1]:
        a, b = (
            anchor_of(known[clicked], scene["direction"]) for known, scene in zip(things, (before, after), strict=True)
        )
        anchor = np.subtract(b, a)
    else:
        middle = np.array([before["w"] / 2, before["h"] / 2])
        anchor = shift[np.hypot(*(old - middle).T).argmin()]
    far = np.hypot(*(old[:, None] - old).transpose(2, 0, 1))
    np.fill_diagonal(far, np.inf)
    near = far.argmin(axis=1) if len(both) > 1 else np.zeros(1, int)
    yield from zip(
        (np.hypot(*(shift - anchor).T) < wide).tolist(),
        (np.hypot(*(shift - shift[near]).T) < wide).tolist(),
        strict=True,
    )


def grow(screen: Any, boxes: int) -> None:
    """Unfolds the largest scopes of a picture until it has a number of boxes, as far as possible."""
    screen.set_budget(400)
    refused: set[str] = set()
    while len(shown := screen.traits()["scenes"]["source"]["boxes"]) < boxes:
        scopes = [box for box in shown if box["kind"] == "scope" and box["name"] not in refused]
        if not scopes:
            return
        name = max(scopes, key=lambda box: box["count"])["name"]
        try:
            screen.unfold(name)
        except LayoutError:
            refused.add(name)


def walk(editor: Any, steps: int, seed: int, most: int = 200) -> Iterator[tuple[str, str | None, Scene, Scene]]:
    """Does random steps on the screen of an editor; yields the kind of each, the clicked box, and both scenes."""
    chance, screen = random.Random(seed), editor.screen
    screen.set_budget(most)
    kinds = ["unfold", "unfold", "fold", "search", "apply", "undo", "rename"]
    applied = done = 0

    def scene() -> Scene:
        found: Scene = screen.traits()["scenes"]["source"]
        return found

    for _ in range(20 * steps):
        if done == steps:
            return
        kind, before, clicked = chance.choice(kinds), scene(), None
        boxes = [b["name"] for b in before["boxes"]]
        try:
            if kind == "unfold":
                clicked = chance.choice(
                    [b["name"] for b in before["boxes"] if b["kind"] in ("scope", "series")] or boxes
                )
                screen.unfold(clicked)
            elif kind == "fold":
                clicked = chance.choice([g["name"] for g in before["groups"]] or boxes)
                screen.fold(clicked)
            elif kind == "search":
                screen.reveal(chance.choice(editor.snapshot.names))
            elif kind == "undo":
                if not applied:
                    continue
                screen.undo()
                applied -= 1
            else:
                ops = [b["name"] for b in before["boxes"] if b["kind"] == "op"]
                if not ops:
                    continue
                name = chance.choice(ops)
                plan = editor.plan()
                plan = plan.rename(name, f"{name}_renamed") if kind == "rename" else plan.copy(
                    editor.select(name=[name]), to=f"copy_{done}", unmapped="keep"
                )  # fmt: skip
                editor.apply(plan)
                applied += 1
        except SurgeryError:
            continue
        after = scene()
        if after["rev"] == before["rev"]:
            continue
        done += 1
        yield kind, clicked, before, after


def legibility(scene: Scene) -> dict[str, float]:
    """Returns what makes a picture hard to read.

    Returns:
        ``crossings`` of edges that share no end, the ``places`` of these, ``length`` of all edges in px,
        ``through``: how many boxes edges run through, ``over``: how many boxes lie over others, and ``area`` in
        millions of square px.
    """
    boxes = scene["boxes"]
    rects = np.array([(b["x"], b["y"], b["x"] + b["w"], b["y"] + b["h"]) for b in boxes]).reshape(-1, 4)
    place = {b["id"]: i for i, b in enumerate(boxes)}
    samples = sample_lines([_points(text) for text in scene["lines"]], 10)
    lines = [sampled(e["path"], samples) for e in scene["edges"]]
    length = sum(float(np.hypot(*np.diff(line, axis=0).T).sum()) for line in lines)
    through = 0
    for edge, line in zip(scene["edges"], lines, strict=True):
        fine = np.concatenate([line, (line[1:] + line[:-1]) / 2])
        x, y = fine[:, :1], fine[:, 1:]
        left, top, right, bottom = (rects + np.array([1, 1, -1, -1])).T
        met = ((x > left) & (x < right) & (y > top) & (y < bottom)).any(axis=0)
        met[[place[edge["from"]], place[edge["to"]]]] = False
        through += int(met.sum())
    a, b = rects[:, None], rects[None]
    over = (a[..., 0] < b[..., 2]) & (b[..., 0] < a[..., 2]) & (a[..., 1] < b[..., 3]) & (b[..., 1] < a[..., 3])
    crossings, places = _crossings(scene["edges"], lines)
    return {
        "crossings": crossings,
        "places": places,
        "length": length,
        "through": through,
        "over": (int(over.sum()) - len(boxes)) // 2,
        "area": scene["w"] * scene["h"] / 1e6,
    }


def _points(text: str) -> Any:
    """Returns the points of a line of a scene."""
    return np.array(text.replace(",", " ").replace("C", " ").split(), float).reshape(-1, 2)


def _crossings(edges: Any, lines: list[Any]) -> tuple[int, int]:
    """Returns how many pairs of edges without a common end cross, and at how many places."""
    count, places = 0, set[tuple[int, int]]()
    bounds = np.array([(*line.min(axis=0), *line.max(axis=0)) for line in lines]).reshape(-1, 4)
    for i, (edge, line) in enumerate(zip(edges, lines, strict=True)):
        low, high = bounds[i, :2], bounds[i, 2:]
        near = np.flatnonzero((bounds[:i, :2] <= high).all(axis=1) & (bounds[:i, 2:] >= low).all(axis=1)).tolist()
        for j in near:
            if {edge["from"], edge["to"]} & {edges[j]["from"], edges[j]["to"]}:
                continue
            p, q, r, s = line[:-1, None], line[1:, None], lines[j][None, :-1], lines[j][None, 1:]
            a, b = _side(r, s, p), _side(r, s, q)
            met = (_side(p, q, r) * _side(p, q, s) < 0) & (a * b < 0)
            if met.any():
                count += 1
                share = (a / np.where(met, a - b, 1.0))[..., None]
                points = (p + (q - p) * share)[met]
                places |= set(map(tuple, np.round(points / SAME).astype(int).tolist()))
    return count, len(places)


def _side(p: Any, q: Any, r: Any) -> Any:
    return (q - p)[..., 0] * (r - p)[..., 1] - (q - p)[..., 1] * (r - p)[..., 0]
