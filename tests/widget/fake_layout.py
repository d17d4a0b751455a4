"""A simple layout for the fake screen: each container's children in rows, by longest path."""

from __future__ import annotations

from typing import Any

FAMILY = {
    "Conv2D": "conv", "MatMul": "conv", "FusedBatchNormV3": "norm", "Relu": "activation", "Softmax": "activation",
    "Mul": "math", "AddV2": "math", "BiasAdd": "math", "ConcatV2": "shape", "Split": "shape", "VariableV2": "state",
    "NoOp": "control",
}  # fmt: skip
SERIES = "~block_[0..3]/"


def op_of(tensor: str) -> str:
    """Returns the op of a tensor."""
    return tensor.lstrip("^") if ":" not in tensor else tensor.rpartition(":")[0].lstrip("^")


def outputs_of(kind: str) -> int:
    """Returns how many outputs an op type has here."""
    return {"NoOp": 0, "Split": 2}.get(kind, 1)


def holds(key: str, name: str) -> bool:
    """Returns whether a fold key has an op inside."""
    if key == SERIES:
        return name.startswith("block_")
    return key.endswith("/") and name.startswith(key)


def draw(graph: dict[str, Any], unfolded: set[str], direction: str, new: set[str] = frozenset()) -> dict[str, Any]:
    """Returns a positioned scene: each container's children in rows, by longest path."""
    boxes: dict[str, dict[str, Any]] = {}
    groups: list[dict[str, Any]] = []
    shown: dict[str, str] = {}

    def contents(prefix: str, names: list[str], depth: int) -> tuple[list[Any], float, float]:
        children: dict[str, list[str]] = {}
        for name in names:
            head, slash, _rest = name[len(prefix) :].partition("/")
            key = prefix + head + slash
            if name.startswith("block_") and depth == 0:
                key = SERIES
            children.setdefault(key, []).append(name)
        inside = {name: key for key, members in children.items() for name in members}
        rank: dict[str, int] = dict.fromkeys(children, 0)
        for _ in children:
            for key, members in children.items():
                for name in members:
                    for tensor in graph[name][1]:
                        above = inside.get(op_of(tensor))
                        if above and above != key:
                            rank[key] = max(rank[key], rank[above] + 1)
        rows: dict[int, list[Any]] = {}
        for key, members in children.items():
            if key in unfolded:
                rows.setdefault(rank[key], []).append((key, *framed(key, members, depth + 1)))
            else:
                rows.setdefault(rank[key], []).append((key, *leaf(key, members)))
        return arrange(rows)

    def leaf(key: str, members: list[str]) -> tuple[list[Any], float, float]:
        folded = key.endswith("/")
        kind = graph[members[0]][0]
        text = key.strip("~/").rpartition("/")[2]
        label = text if len(text) <= 40 else text[:19] + "\u2026" + text[-20:]
        sub = "4 \u00d7 2 ops" if key == SERIES else f"{len(members)} ops" if folded else kind
        box = {
            "id": f"b{len(boxes)}", "name": key, "label": label, "sub": sub,
            "count": len(members), "hidden": {}, "detail": "",
            "kind": "series" if key == SERIES else "scope" if folded else "variable" if kind == "VariableV2" else "op",
            "family": "scope" if folded else FAMILY.get(kind, "other"), "state": "new" if members[0] in new else "",
            "outputs": 0 if folded else outputs_of(kind), "x": 0.0, "y": 0.0,
            "w": max(len(label) * 6.8, len(sub) * 6.2) + 26, "h": 42.0,
        }  # fmt: skip
        boxes[key] = box
        for name in members:
            shown[name] = box["id"]
        return [box], box["w"], box["h"]

    def arrange(rows: dict[int, list[Any]]) -> tuple[list[Any], float, float]:
        upright = direction == "TB"
        widths = [sum(w if upright else h for _, _, w, h in row) + 32 * (len(row) - 1) for row in rows.values()]
        total, at, everything = max(widths, default=0), 0.0, []
        for rank in sorted(rows):
            row = rows[rank]
            across = (total - sum(w if upright else h for _, _, w, h in row) - 32 * (len(row) - 1)) / 2
            deep = max(h if upright else w for _, _, w, h in row)
            for _, items, w, h in row:
                x, y = (across, at + (deep - h) / 2) if upright else (at, across)
                shift(items, x, y)
                everything += items
                across += (w if upright else h) + 32
            at += deep + 48
        return everything, *((total, at - 48) if upright else (at - 48, total))

    def framed(key: str, names: list[str], depth: int) -> tuple[list[Any], float, float]:
        items, w, h = contents("" if key == SERIES else key, names, depth)
        shift(items, 16, 42)
        group = {
            "id": f"g{len(groups)}", "name": key, "label": key.strip("~/").rpartition("/")[2], "count": len(names),
            "x": 0.0, "y": 0.0, "w": max(w + 32, 120.0), "h": h + 62, "depth": depth - 1,
            "state": "new" if names[0] in new else "",
        }  # fmt: skip
        groups.append(group)
        return [group, *items], group["w"], group["h"]

    _, w, h = contents("", list(graph), 0)
    edges: dict[tuple[str, str, bool], dict[str, Any]] = {}
    by_id = {b["id"]: b for b in boxes.values()}
    for name, (_, inputs) in graph.items():
        for tensor in inputs:
            a, b, control = shown.get(op_of(tensor)), shown[name], tensor.startswith("^")
            if a is None or a == b:
                continue
            edge = edges.setdefault((a, b, control), {"tensors": []})
            edge["tensors"].append(tensor)
            p, q = by_id[a], by_id[b]
            if direction == "TB":
                x, y, u, v = p["x"] + p["w"] / 2, p["y"] + p["h"], q["x"] + q["w"] / 2, q["y"]
                path = f"M{x:.1f},{y:.1f}C{x:.1f},{(y + v) / 2:.1f} {u:.1f},{(y + v) / 2:.1f} {u:.1f},{v - 1:.1f}"
            else:
                x, y, u, v = p["x"] + p["w"], p["y"] + p["h"] / 2, q["x"], q["y"] + q["h"] / 2
                path = f"M{x:.1f},{y:.1f}C{(x + u) / 2:.1f},{y:.1f} {(x + u) / 2:.1f},{v:.1f} {u - 1:.1f},{v:.1f}"
            n = len(edge["tensors"])
            state = "new" if name in new and op_of(tensor) not in new else ""
            edge.update(d=path, n=n, control=control, lx=(x + u) / 2, ly=(y + v) / 2, state=state)
            edge.update(id=f"e{a}{b}{control}", label=f"\u00d7{n}" if n > 1 else "")
            edge["from"], edge["to"] = a, b
    return {
        "rev": f"{direction}:{sorted(unfolded)}:{len(graph)}", "w": w, "h": h, "direction": direction,
        "boxes": list(boxes.values()), "groups": groups, "edges": list(edges.values()),
        "stats": {
            "ops": len(graph), "boxes": len(boxes), "edges": len(edges), "hidden": {"constants": 3}, "degraded": "",
        },
        "roots": [],
    }  # fmt: skip


def shift(items: list[Any], dx: float, dy: float) -> None:
    """Moves boxes and groups."""
    for item in items:
        item["x"] += dx
        item["y"] += dy
