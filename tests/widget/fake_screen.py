"""A small screen for tests: a hand-made graph, a simple layout, and verbs that really change what is shown."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from graphsurgeon.errors import PlanError, SelectionError
from tests.widget.fake_layout import SERIES, draw, holds, op_of, outputs_of

Ops = list[tuple[str, str, list[str]]]

NET: Ops = [
    ("images", "Placeholder", []),
    ("conv0/weights", "VariableV2", []),
    ("conv0/Conv2D", "Conv2D", ["images:0", "conv0/weights:0"]),
    ("conv0/FusedBatchNorm", "FusedBatchNormV3", ["conv0/Conv2D:0"]),
    ("conv0/Relu", "Relu", ["conv0/FusedBatchNorm:0"]),
    ("keep_prob", "Placeholder", []),
    ("split", "Split", ["conv0/Relu:0"]),
    ("mixed/a/Conv2D", "Conv2D", ["split:0"]),
    ("mixed/a/Relu", "Relu", ["mixed/a/Conv2D:0"]),
    ("mixed/b/Conv2D", "Conv2D", ["split:1"]),
    ("mixed/b/Dropout", "Mul", ["mixed/b/Conv2D:0", "keep_prob:0"]),
    ("mixed/concat", "ConcatV2", ["mixed/a/Relu:0", "mixed/b/Dropout:0"]),
    *[
        (f"block_{i}/{leaf}", kind, [source])
        for i in range(4)
        for leaf, kind, source in [
            ("MatMul", "MatMul", f"block_{i - 1}/Add:0" if i else "mixed/concat:0"),
            ("Add", "AddV2", f"block_{i}/MatMul:0"),
        ]
    ],
    ("head/weights", "VariableV2", []),
    ("head/MatMul", "MatMul", ["block_3/Add:0", "head/weights:0"]),
    ("head/BiasAdd", "BiasAdd", ["head/MatMul:0"]),
    ("softmax2", "Softmax", ["head/BiasAdd:0"]),
    ("init", "NoOp", ["^softmax2"]),
]
HOSTILE = [
    "<img src=x onerror=window.hacked=1>", "</text><script>window.hacked=1</script>", "a\" onload=\"window.hacked=1",
    "javascript:window.hacked=1", "&lt;b&gt;&amp;", "\u202egnp.exe\u202c", "x" * 100_000, "nul\x00line\nbreak",
]  # fmt: skip
DTYPE = "float32 (?, 56, 56, 64)"
TYPED = {"dtype": "float32", "shape": "(?, 56, 56, 64)", "text": DTYPE}


class FakeScreen:
    """What GraphWidget needs of a screen.

    Args:
        ops: (name, type, inputs) of the source graph.
        destination: (name, type, inputs) of the destination graph.
    """

    def __init__(self, ops: Ops = NET, destination: Ops | None = None) -> None:
        self.ops = {name: (kind, inputs) for name, kind, inputs in ops}
        self.lock = threading.RLock()
        self.target = {
            n: (k, i) for n, k, i in destination or [("photos", "Placeholder", []), ("scale", "Mul", ["photos:0"])]
        }
        self.unfolded: dict[str, set[str]] = {"source": set(), "destination": {"grafted/"}}
        self.opened: set[str] = set()
        self.past: list[set[str]] = []
        self.views: dict[str, Any] = {}
        self.selected: list[str] = []
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.policies = {"*": "copy"}
        self.steps: list[dict[str, Any]] = []
        self.redone: list[dict[str, Any]] = []
        self.faults: list[dict[str, str]] = []
        self.warnings: list[str] = []
        self.applied = ""
        self.direction = "TB"
        self.theme = "auto"
        self.status = {"text": f"{len(self.ops)} ops, laid out in 0.02 s", "level": "info"}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._callbacks: list[Callable[[], None]] = []

    # what the widget asks

    def guard(self, verb: str) -> None:
        """All verbs are welcome."""

    def only_looks(self, verb: str) -> bool:
        """As of a real one, in short."""
        return verb in ("select", "unfold", "fold", "details", "find")

    def turn(self) -> AbstractContextManager[object]:
        """One verb at a time."""
        return self.lock

    def on_change(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)

    def svg(self) -> str:
        return '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"></svg>'

    def describe(self) -> str:
        return f"a graph of {len(self.ops)} ops"

    def traits(self) -> dict[str, Any]:
        copies = self._copies()
        plan_graph = {**self.target, **copies}
        for step in self.steps:
            if step["verb"] == "connect":
                kind, inputs = plan_graph[step["to"]]
                plan_graph[step["to"]] = (
                    kind,
                    [step["tensor"] if i == step["input"] else t for i, t in enumerate(inputs)],
                )
        scene = draw(plan_graph, self.unfolded["destination"], self.direction, set(copies)) if self.steps else None
        return {
            "scenes": {"source": draw(self.ops, self.unfolded["source"], self.direction), "destination": scene},
            "titles": {"source": "inception.pb", "destination": "destination after the plan"},
            "selected": list(self.selected),
            "boundary": self._boundary(),
            "plan": self._plan(copies),
            "status": dict(self.status),
            "outline": {"rows": self._rows()},
            "views": {"back": len(self.past), "forward": 0, "saved": list(self.views)},
            "look": {
                "shown": [],
                "hidden": [],
                "training": "scopes",
                "by": "family",
                "name": "",
                "faded": [],
                "budget": 200,
                "inside": [],
            },
            "theme": self.theme,
        }

    # verbs

    def select(self, names: list[str], mode: str) -> None:
        old = [] if mode == "set" else self.selected
        if mode == "toggle":
            self.selected = [n for n in old if n not in names] + [n for n in names if n not in old]
        else:
            self.selected = list(dict.fromkeys([*old, *names]))
        self._changed("select", names=names, mode=mode)

    def unfold(self, pane: str, name: str) -> None:
        self.unfolded[pane].add(name)
        self._changed("unfold", pane=pane, name=name)

    def fold(self, pane: str, name: str) -> None:
        self.unfolded[pane].discard(name)
        self._changed("fold", pane=pane, name=name)

    def fold_all(self, pane: str) -> None:
        self.unfolded[pane].clear()
        self._changed("fold_all", pane=pane)

    def details(self, pane: str, name: str) -> dict[str, Any]:
        graph = self.ops if pane == "source" else {**self.target, **self._copies()}
        if name not in graph:
            inside = [n for n in graph if holds(name, n)]
            empty = {"inputs": [], "outputs": [], "control_inputs": [], "consumers": [], "doc": ""}
            return {"title": f"scope of {len(inside)} ops", "rows": [["ops", str(len(inside))]], **empty}
        kind, inputs = graph[name]
        return {
            "title": kind,
            "rows": [["device", "/cpu:0"], ["T", "float32"], ["data_format", "NHWC"], ["strides", "[1, 2, 2, 1]"]],
            "inputs": [{"tensor": t, "text": DTYPE} for t in inputs if not t.startswith("^")],
            "outputs": [{"tensor": f"{name}:{i}", "text": DTYPE} for i in range(outputs_of(kind))],
            "control_inputs": [t[1:] for t in inputs if t.startswith("^")],
            "consumers": [n for n, (_, i) in graph.items() if any(t.rpartition(":")[0] == name for t in i)],
            "doc": "",
        }

    def mark_input(self, tensor: str) -> None:
        self.inputs.append(self._tensor("mark_input", tensor))
        self._changed("mark_input", tensor=tensor)

    def mark_output(self, tensor: str) -> None:
        self.outputs.append(self._tensor("mark_output", tensor))
        self._changed("mark_output", tensor=tensor)

    def unmark(self, tensor: str) -> None:
        self.inputs = [t for t in self.inputs if t != tensor]
        self.outputs = [t for t in self.outputs if t != tensor]
        self._changed("unmark", tensor=tensor)

    def set_policy(self, step: int, variable: str, policy: str) -> None:
        self.policies[variable] = policy
        self._changed("set_policy", step=step, variable=variable, policy=policy)

    def clear_boundary(self) -> None:
        self.inputs, self.outputs = [], []
        self._changed("clear_boundary")

    def boundary_of_selection(self) -> None:
        inside = {n for n in self.ops if any(n == p or holds(p, n) for p in self.selected)}
        self.inputs = sorted({t for n in inside for t in self.ops[n][1] if op_of(t) not in inside})
        self.outputs = sorted({t for n, (_, i) in self.ops.items() if n not in inside for t in i if op_of(t) in inside})
        self._changed("boundary_of_selection")

    def add_leak(self, tensor: str) -> None:
        self.inputs.append(tensor)
        self._changed("add_leak", tensor=tensor)

    def copy(self, to: str | None, unmapped: str) -> None:
        to = to or "grafted"
        if to in self.target:
            raise PlanError(f"copy(to={to!r})", "the destination has an op of that name", "Try to='grafted_1'")
        self.steps.append({"verb": "copy", "to": to, "text": f"copy {len(self._region())} ops to '{to}/'"})
        self.unfolded["destination"].add(to + "/")
        self.redone.clear()
        self._changed("copy", to=to, unmapped=unmapped)

    def connect(self, tensor: str, to: str, input: int) -> None:
        self.steps.append(
            {
                "verb": "connect",
                "tensor": tensor,
                "to": to,
                "input": input,
                "text": f"connect {tensor} to {to}, input {input}",
            }
        )
        self._changed("connect", tensor=tensor, to=to, input=input)

    def undo(self) -> None:
        if not self.steps:
            raise PlanError("undo()", "there is nothing to take back", "Make a plan first")
        self.redone.append(self.steps.pop())
        self._changed("undo")

    def redo(self) -> None:
        self.steps.append(self.redone.pop())
        self._changed("redo")

    def apply(self) -> dict[str, str]:
        self.target = {**self.target, **self._copies()}
        self.applied = f"{len(self.steps)} steps applied"
        self.steps = []
        self._changed("apply")
        return {"applied": self.applied}

    def find(self, query: str) -> dict[str, Any]:
        self.calls.append(("find", {"query": query}))
        hits = [
            {"name": n, "label": n.rpartition("/")[2], "op": k, "inside": ""}
            for n, (k, _) in self.ops.items()
            if query in n
        ]
        return {"hits": hits[:20], "total": len(hits), "boxes": {h["name"]: 1 for h in hits}}

    def find_like(self, names: list[str]) -> dict[str, Any]:
        kind = self.ops[names[0]][0]
        self.selected = [n for n, (k, _) in self.ops.items() if k == kind]
        self._changed("find_like", names=names)
        boxes = dict.fromkeys(self.selected, 1)
        return {"count": len(boxes), "ops": len(boxes), "boxes": boxes, "near": ""}

    def reveal(self, pane: str, name: str) -> None:
        head = name.rstrip("/")
        while "/" in head:
            head = head.rpartition("/")[0]
            self.unfolded[pane].add(head + "/")
        if holds(SERIES, name):
            self.unfolded[pane].add(SERIES)
        self.selected = [name]
        self._changed("reveal", pane=pane, name=name)

    def outline_open(self, name: str) -> None:
        self.opened.add(name)
        self._changed("outline_open", name=name)

    def outline_close(self, name: str) -> None:
        self.opened.discard(name)
        self._changed("outline_close", name=name)

    def set_depth(self, depth: int, pane: str) -> None:
        self._changed("set_depth", depth=depth, pane=pane)

    def set_budget(self, boxes: int) -> None:
        self._changed("set_budget", boxes=boxes)

    def show_helpers(self, kind: str, on: bool) -> None:
        self._changed("show_helpers", kind=kind, on=on)

    def hide_ops(self, types: list[str]) -> None:
        self._changed("hide_ops", types=types)

    def set_training(self, how: str) -> None:
        self._changed("set_training", how=how)

    def paint(self, by: str) -> None:
        self._changed("paint", by=by)

    def fade(self, keys: list[str]) -> None:
        self._changed("fade", keys=keys)

    def look_inside(self, name: str, function: str | None) -> None:
        self._changed("look_inside", name=name, function=function)

    def leave(self) -> None:
        self._changed("leave")

    def value(self, name: str) -> dict[str, Any]:
        self.calls.append(("value", {"name": name}))
        return {"rows": [["value", "float32 (2,), 8 B"]], "histogram": None}

    def cancel(self) -> None:
        self._changed("cancel")

    def back(self) -> None:
        self.unfolded["source"] = self.past.pop()
        self._changed("back")

    def forward(self) -> None:
        self._changed("forward")

    def save_view(self, name: str | None, at: list[float]) -> str:
        name = name or f"view {len(self.views) + 1}"
        self.views[name] = [set(self.unfolded["source"]), at]
        self._changed("save_view", name=name, at=at)
        return name

    def show_view(self, name: str) -> list[float]:
        self.unfolded["source"] = set(self.views[name][0])
        self._changed("show_view", name=name)
        return self.views[name][1]

    def forget_view(self, name: str) -> None:
        del self.views[name]
        self._changed("forget_view", name=name)

    def set_direction(self, direction: str) -> None:
        self.direction = direction
        self._changed("set_direction", direction=direction)

    # how it works

    def _changed(self, verb: str, **args: Any) -> None:
        self.calls.append((verb, args))
        for callback in self._callbacks:
            callback()

    def _tensor(self, verb: str, tensor: str) -> str:
        if op_of(tensor) not in self.ops:
            raise SelectionError(f"{verb}({tensor!r})", "there is no such tensor", "Did you mean 'conv0/Relu:0'?")
        return tensor

    def _region(self) -> set[str]:
        region, todo = set(), [op_of(t) for t in self.outputs]
        while todo:
            name = todo.pop()
            if name not in region:
                region.add(name)
                todo += [op_of(t) for t in self.ops[name][1] if t not in self.inputs]
        return region

    def _boundary(self) -> dict[str, Any]:
        region = self._region()
        leaks = sorted(f"{n}:0" for n in region if self.ops[n][0] == "Placeholder")
        shown = [b["name"] for b in draw(self.ops, self.unfolded["source"], "TB")["boxes"]]
        inside = {name: sum(n == name or holds(name, n) for n in region) for name in shown}
        return {
            "inputs": [{"tensor": t, **TYPED} for t in self.inputs],
            "outputs": [{"tensor": t, **TYPED} for t in self.outputs],
            "ops": len(region), "boxes": {name: n for name, n in inside.items() if n},
            "leaks": [{"tensor": t, "text": "float32 ()"} for t in leaks], "control_leaks": [],
            "variables": sum(self.ops[n][0] == "VariableV2" for n in region), "problem": "",
        }  # fmt: skip

    def _copies(self) -> dict[str, tuple[str, list[str]]]:
        region, made = self._region(), {}
        for step in self.steps:
            if step["verb"] == "copy":
                for name in self.ops:
                    if name in region:
                        kind, inputs = self.ops[name]
                        made[f"{step['to']}/{name}"] = (
                            kind,
                            [f"{step['to']}/{t}" for t in inputs if op_of(t) in region],
                        )
        return made

    def _plan(self, copies: dict[str, Any]) -> dict[str, Any]:
        joins = [s for s in self.steps if s["verb"] == "connect"]
        variables = [n for n, (kind, _) in copies.items() if kind == "VariableV2"]
        return {
            "steps": [{"text": s["text"]} for s in self.steps], "redo": len(self.redone),
            "faults": self.faults if self.steps else [], "warnings": self.warnings if self.steps else [],
            "counts": {"ops": len(copies), "variables": len(variables), "placeholders": 0, "connections": len(joins)},
            "new": [{"name": n, "was": n.partition("/")[2], "op": kind} for n, (kind, _) in copies.items()],
            "variables": [{"step": 0, "name": n, "was": n.partition("/")[2], "dtype": "float32",
                           "shape": "(7, 7, 3, 64)",
                           "policy": self.policies.get(n.partition("/")[2], self.policies["*"]), "values": "initial"}
                          for n in variables],
            "connections": [{"from": s["tensor"], "to": f"{s['to']} input {s['input']}", "text": DTYPE} for s in joins],
            "code": "plan = (dst.plan()\n        .copy(block, to=\"grafted\"))\ndst.apply(plan)" if self.steps else "",
            "ready": bool(self.steps) and not self.faults, "applied": self.applied,
        }  # fmt: skip

    def _rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []

        def walk(prefix: str, depth: int) -> None:
            seen = set()
            for name, (kind, _) in self.ops.items():
                if not name.startswith(prefix):
                    continue
                head, slash, _rest = name[len(prefix) :].partition("/")
                full = prefix + head + slash
                if full in seen:
                    continue
                seen.add(full)
                n = sum(o.startswith(full) for o in self.ops) if slash else 1
                kind_of_row = "scope" if slash else "variable" if kind == "VariableV2" else "op"
                rows.append(
                    {
                        "name": full,
                        "label": head,
                        "kind": kind_of_row,
                        "count": n,
                        "depth": depth,
                        "open": full in self.opened,
                    }
                )
                if full in self.opened:
                    walk(full, depth + 1)

        walk("", 0)
        return rows


def _edit(verb: str) -> Callable[..., None]:
    def add(self: FakeScreen, **args: Any) -> None:
        self.steps.append({"verb": verb, "text": f"{verb} {', '.join(map(str, args.values()))}"})
        self._changed(verb, **args)

    return add


for _verb in (
    *("reroute", "swap", "bypass", "detach", "insert", "remove"),
    *("set_attr", "set_device", "add_control", "remove_control", "reroute_control"),
    *("rename", "collapse", "inline", "insert_copy", "forward_edits", "replace"),
):
    setattr(FakeScreen, _verb, _edit(_verb))
