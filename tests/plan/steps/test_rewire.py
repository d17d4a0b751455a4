"""What edits refuse: names that are not there, dtypes and shapes that differ, cycles, names that are taken."""

from __future__ import annotations

import pytest

from graphsurgeon.graph.selection import select
from graphsurgeon.plan.plan import Plan
from tests.plan.edits import net
from tests.refusal import reads


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda p: p.reroute("a", to="wide"), ("'wide:0' is float32 (3,), but 'a:0' is float32 (2,)", "would fit")),
        (lambda p: p.reroute("a", to="whole"), ("'whole:0' is int32 (2,)", "the dtypes differ")),
        (lambda p: p.reroute("a", to="z"), ("that makes a cycle: 'z:0' is computed from 'y'", "Choose a tensor above")),
        (lambda p: p.reroute("b", to="a"), ("no op reads it", "Name another tensor")),
        (lambda p: p.reroute("no", to="a"), ("there is no tensor 'no:0'",)),
        (lambda p: p.swap("a", "no"), ("swap('a:0', 'no:0')", "there is no tensor 'no:0'")),
        (lambda p: p.bypass("y", input=1), ("op 'y' has no input 1; it has 1 input", "Choose another input=")),
        (lambda p: p.bypass("no"), ("no op is called 'no'",)),
        (lambda p: p.detach("no"), ("no op is called 'no'",)),
        (lambda p: p.insert("Neg", on="a", name="y"), ("the name 'y' is taken", "Type name='y_2'")),
        (lambda p: p.remove("y"), ("'y:0' is still read by z", "Remove these too, reroute", "stitch=True")),
        (lambda p: p.remove("a", stitch=True), ("'a:0' is still read by y, z",)),
        (lambda p: p.set_device("y", "cpu zero"), ("'cpu zero' is not a device", "Type one, such as '/cpu:0'")),
        (lambda p: p.set_attr("y", "T", None), ("'T' is an attribute that the op type needs", "begin with '_'")),
        (lambda p: p.add_control("y", "z"), ("that makes a cycle: 'z' is computed from 'y'",)),
        (lambda p: p.remove_control("end", "a"), ("'end' does not wait for 'a'", "It waits for 'z'")),
        (lambda p: p.copy(select(p.base, name="y"), to="t", unmapped="keep").remove("t/y"),
         ("'t/y' is made by this plan", "Delete the step that makes it instead")),
    ],
)  # fmt: skip
def test_faults(edit, words):
    plan = edit(Plan(net()))
    reads(plan.check()[0], *words)
