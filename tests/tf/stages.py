"""Stages: all that people do with a file from a stranger, one after the other, and how far each of them went."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import SurgeryError
from graphsurgeon.graph.names import op_name
from graphsurgeon.tf.open.protos import scan


@dataclass
class Visit:
    """One file, while it is looked at and operated on.

    Args:
        path: the file, or the folder of a SavedModel.
        rng: decides what is looked at, and what is planned.
        ed: the editor, once the file is open.
    """

    path: Path
    rng: random.Random
    ed: Any = None
    plans: list[Any] = field(default_factory=list)

    def some(self, count: int) -> list[str]:
        """Returns names of ops, a few of them."""
        names = self.ed.snapshot.names
        return [self.rng.choice(names) for _ in range(count)] if names else []

    def tensors(self, count: int) -> list[str]:
        """Returns names of tensors that ops read, a few of them."""
        snapshot = self.ed.snapshot
        read = [text for name in self.some(4 * count) for text in snapshot.nodes[snapshot.index[name]].input]
        return ([text for text in read if not text.startswith("^")] + self.some(count))[:count]


def _scan(visit: Visit) -> None:
    for found in scan(visit.path):
        assert str(found)
        json.dumps(found.table())


def _open(visit: Visit) -> None:
    visit.ed = gs.open(visit.path)


def _summary(visit: Visit) -> None:
    str(visit.ed).encode()
    repr(visit.ed).encode()
    str(visit.ed.risks()).encode()


def _picture(visit: Visit) -> None:
    screen = visit.ed.screen
    boxes = _drawn(screen)
    folds = [box["name"] for box in boxes if box["kind"] not in ("op", "variable")]
    for name in visit.rng.sample(folds, min(2, len(folds))):
        with allowed():
            screen.unfold(name)
    _drawn(screen)
    screen.svg().encode()


def _drawn(screen: Any) -> list[Any]:
    shown = screen.traits()
    json.dumps(shown, allow_nan=False).encode()
    return shown["scenes"]["source"]["boxes"] if shown["scenes"]["source"] else []


def _search(visit: Visit) -> None:
    name = (visit.some(1) or ["x"])[0]
    kind = visit.rng.choice(("a", "op:Const", "shape:?x3 -dtype:float32", "attr:T=float", "is:unknown", "device:cpu"))
    for query in (kind, name):
        with allowed():
            visit.ed.find(query)


def _inspect(visit: Visit) -> None:
    ed = visit.ed
    for name in visit.some(4):
        with allowed():
            json.dumps(ed.screen.details(name), allow_nan=False).encode()
        with allowed():
            json.dumps(ed.screen.attributes([name]), allow_nan=False).encode()
        with allowed():
            assert str(ed.provenance(name))
        with allowed():
            str(ed.value(name))
    ends = visit.some(2)
    if ends:
        with allowed():
            str(ed.explain(ends[0], ends[-1])).encode()


def _select(visit: Visit) -> None:
    ed = visit.ed
    assert len(ed.select()) == len(ed)
    str(ed.select().boundary).encode()
    for name in visit.some(2):
        with allowed():
            str(ed.select(name=name).ancestors().boundary).encode()
        with allowed():
            str(ed.select(scope=name.rpartition("/")[0] or name).descendants().boundary).encode()
        with allowed():
            str(ed.removal_blockers(name)).encode()
    ends = visit.tensors(3)
    with allowed():
        str(ed.select(inputs=ends[:1], outputs=ends[1:]).boundary).encode()
    with allowed():
        assert len(ed.match(ed.select(name=ends[:2] and [op_name(end) for end in ends[:2]]))) >= 0


def _plan(visit: Visit) -> None:
    ed, rng = visit.ed, visit.rng
    with allowed():
        visit.plans.append(ed.plan().copy(ed.select(), to="copied"))
    names, tensors = visit.some(2), visit.tensors(3)
    steps: list[Callable[[Any], Any]] = [
        lambda plan: plan.reroute(tensors[0], to=tensors[1]),
        lambda plan: plan.swap(tensors[0], tensors[1]),
        lambda plan: plan.connect(tensors[0], to=names[0], input=0),
        lambda plan: plan.insert("Identity", on=tensors[0], name="put"),
        lambda plan: plan.bypass(names[0]),
        lambda plan: plan.remove(names, stitch=rng.random() < 0.5),
        lambda plan: plan.detach(names[0]),
        lambda plan: plan.rename(names[0], to="renamed"),
        lambda plan: plan.rename(names[0].partition("/")[0], to="renamed"),
        lambda plan: plan.set_attr(names[0], *_attribute(visit, names[0])),
        lambda plan: plan.set_device(names, "/cpu:0"),
        lambda plan: plan.add_control(names[0], names[1]),
        lambda plan: plan.remove_control(names[0]),
        lambda plan: plan.reroute_control(names[0], to=names[1]),
        lambda plan: plan.reroute(tensors[0], to=tensors[1]).on_copies("made"),
        lambda plan: plan.replace("Identity", lambda x: tf.identity(x)),
        lambda plan: plan.collapse(names, name="one"),
        lambda plan: plan.inline(names[0]),
        lambda plan: plan.copy(ed.select(name=names).ancestors(), to="part", unmapped=rng.choice(("keep", "include"))),
        lambda plan: plan.copy(ed.select(outputs=tensors[:1]), to="ends", variables="freeze"),
    ]
    if names:
        plan = ed.plan()
        for step in rng.sample(steps, 3):
            with allowed():
                plan = step(plan)
        visit.plans.append(plan)
    for plan in visit.plans:
        with allowed():
            str(plan).encode()
        with allowed():
            for fault in plan.check():
                assert all((fault.request, fault.problem, fault.suggestion)), fault
        with allowed():
            str(plan.preview()).encode()
        with allowed():
            compile(plan.to_code(), "plan", "exec")


def _attribute(visit: Visit, name: str) -> tuple[str, Any]:
    snapshot = visit.ed.snapshot
    held = snapshot.nodes[snapshot.index[name]].attr
    key = visit.rng.choice(sorted(held) or ["T"])
    return key, visit.rng.choice((1, "float32", b"x", [1, 2], True, 0.5, "SAME", tf.int64, None))


def _apply(visit: Visit) -> None:
    ed = visit.ed
    before = _text(ed)
    for plan in visit.plans:
        with allowed():
            ed.apply(plan)
            _text(ed)
            with allowed():
                compile(ed.to_code(), "history", "exec")
            ed.undo()
            assert _text(ed) == before, "undone, it is not as it was"
            ed.redo()
            ed.undo()
            continue
        assert _text(ed) == before, "refused, it is not as it was"


def _copy(visit: Visit) -> None:
    ed = visit.ed
    dst = gs.open(tf.Graph())
    dst.apply(dst.plan().copy(ed.select(), to="copied"))


def _text(ed: Any) -> list[tuple[str, str, tuple[str, ...]]]:
    nodes = [node for node in ed.snapshot.nodes if node.name not in ed.orphans]
    return [(node.name, node.op, tuple(node.input)) for node in nodes]


def _inline(visit: Visit) -> None:
    str(visit.ed.inlined()).encode()


def _save(visit: Visit) -> None:
    out = visit.path.parent / "out"
    kind = visit.rng.choice(("graph.pb", "graph.pbtxt", "graph.meta", "saved"))
    out.mkdir(exist_ok=True)
    visit.ed.save(str(out / kind))
    gs.open(out / kind)


#: Stage -> what it does, and how many of a thousand files come to it.
STAGES: dict[str, tuple[Callable[[Visit], None], int]] = {
    "scan": (_scan, 1000),
    "open": (_open, 1000),
    "summary": (_summary, 1000),
    "search": (_search, 1000),
    "select": (_select, 1000),
    "inspect": (_inspect, 400),
    "picture": (_picture, 250),
    "plan": (_plan, 1000),
    "apply": (_apply, 200),
    "copy": (_copy, 200),
    "inline": (_inline, 60),
    "save": (_save, 30),
}


class allowed:
    """Lets an error pass that is one of ours, with its three parts."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, frames: Any) -> bool:
        return ours(error)


def ours(error: BaseException | None) -> bool:
    """Returns whether this is an error of ours, as it should be: with what was asked, what is wrong, what to do."""
    return isinstance(error, SurgeryError) and all(map(str.strip, (error.request, error.problem, error.suggestion)))


def visited(path: Path, seed: int, always: frozenset[str] | None = frozenset()) -> Iterator[tuple[str, str]]:
    """Goes through the stages; yields the name of each, and then how it ended.

    That is ``done``, ``refused``, or ``trial failed`` where the file ended the process that tries it first.

    Args:
        path: the file, or the folder of a SavedModel.
        seed: decides what is done in each stage, and which of the costly stages there are.
        always: stages that there are in any case; None for all of them.

    Raises:
        Exception: whatever is not an error of ours.
    """
    choice = random.Random(seed)
    visit = Visit(path, random.Random(seed + 1))
    for name, (stage, share) in STAGES.items():
        if choice.random() * 1000 >= share and always is not None and name not in always:
            continue
        yield name, ""
        try:
            stage(visit)
            yield name, "done"
        except SurgeryError as error:
            if not ours(error):
                raise
            yield name, "trial failed" if "in a separate process, TensorFlow" in error.problem else "refused"
            if name == "open":
                return
