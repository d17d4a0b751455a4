"""Small graphs that the tests of the view share."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view import graphviz, levels
from graphsurgeon.view.boxes import Edge
from graphsurgeon.view.edge_paths import sample_lines, sampled
from graphsurgeon.view.layout import PlacedScene, place

Op = tuple[str, str, list[str]]


def chain(count: int, scope: str = "", op_type: str = "Neg") -> Graph:
    """Returns ops that read each other, one after the other."""
    names = [f"{scope}op_{chr(97 + i % 26)}{i}x" for i in range(count)]
    return Graph.from_ops([(n, op_type, [names[i - 1]] if i else []) for i, n in enumerate(names)])


def layer(scope: str, source: str) -> list[Op]:
    """Returns a dense layer with a reference variable, its initializer and its read."""
    w = f"{scope}/w"
    return [
        (f"{w}/Initializer/zeros", "Const", []),
        (w, "VariableV2", []),
        (f"{w}/Assign", "Assign", [w, f"{w}/Initializer/zeros"]),
        (f"{w}/read", "Identity", [w]),
        (f"{scope}/MatMul", "MatMul", [source, f"{w}/read"]),
        (f"{scope}/shape", "Const", []),
        (f"{scope}/Reshape", "Reshape", [f"{scope}/MatMul", f"{scope}/shape"]),
    ]


def network(layers: int = 3) -> Graph:
    """Returns x, some dense layers one after the other, a gradient scope, an init and a saver."""
    ops: list[Op] = [("x", "Placeholder", [])]
    source = "x"
    for i in range(layers):
        name = f"dense{chr(97 + i)}"
        ops += layer(name, source)
        source = f"{name}/Reshape"
    ops += [("gradients/grad_y", "Fill", [source]), ("gradients/mul", "Mul", ["gradients/grad_y", source])]
    ops += [("save/Const", "Const", []), ("save/SaveV2", "SaveV2", ["save/Const", "densea/w"])]
    ops += [("save/control", "Identity", ["save/Const", "^save/SaveV2"])]
    ops += [("init", "NoOp", [f"^dense{chr(97 + i)}/w/Assign" for i in range(layers)])]
    return Graph.from_ops(ops)


def towers(count: int = 16, ops: int = 9) -> Graph:
    """Returns similar towers beside each other, all fed by one split and joined by one AddN."""
    made: list[Op] = [("x", "Placeholder", []), ("split", "Split", ["x"])]
    for t in range(count):
        for k in range(ops):
            made.append((f"tower_{t}/op{k}", "Neg", [f"tower_{t}/op{k - 1}" if k else "split"]))
    made.append(("join", "AddN", [f"tower_{t}/op{ops - 1}" for t in range(count)]))
    return Graph.from_ops(made)


def node(name: str, op: str, inputs: list[str], **attr: Any) -> SimpleNamespace:
    """Returns something that reads like a NodeDef with `dtype`, `T` and `shape` attributes."""
    found: dict[str, Any] = {key: SimpleNamespace(type=attr[key]) for key in ("dtype", "T") if key in attr}
    if "shape" in attr:
        dims = [SimpleNamespace(size=d) for d in attr["shape"]]
        found["shape"] = SimpleNamespace(shape=SimpleNamespace(unknown_rank=False, dim=dims))
    return SimpleNamespace(name=name, op=op, input=inputs, attr=found, device="")


def boxes(scene: Any, what: str = "name") -> list[Any]:
    """Returns one fact of each box."""
    return [getattr(b, what) for b in scene.boxes]


def edges(scene: Any) -> dict[tuple[str, str], Any]:
    """Returns the edges by the names of their ends."""
    names = {b.id: b.name for b in scene.boxes}
    return {(names[e.source], names[e.target]): e for e in scene.edges}


class Limited:
    """An engine that does not finish as long as the DOT holds one of these words; it forgets all levels at first."""

    name = "limited"

    def __init__(self, *slow: str) -> None:
        levels._memory.clear()
        self.slow, self.seen, self.given = slow, list[str](), list[float]()

    def missing(self) -> str:
        return ""

    def describe(self) -> str:
        return "limited"

    def run(self, dot: str, timeout: float, cancelled: Any, form: str = "json0") -> bytes:
        self.seen.append(dot)
        self.given.append(timeout)
        if any(word in dot for word in self.slow):
            raise graphviz.timeout_error(timeout)
        return graphviz.WASM.run(dot, timeout, cancelled, form)


def drawn(scene: Any) -> list[str]:
    """Returns the DOT texts that a picture needs."""
    engine = Limited()
    place(scene, engine=engine)
    return engine.seen


def samples(placed: PlacedScene, edge: Edge, per_curve: int = 12) -> list[tuple[float, float]]:
    """Points along an edge."""
    return [(x, y) for x, y in sampled(edge.path, sample_lines(placed.lines, per_curve)).tolist()]
