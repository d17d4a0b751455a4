"""Other names for ops and scopes."""

from __future__ import annotations

from graphsurgeon.plan.plan import Plan
from tests.plan.steps.test_on_copies import net
from tests.refusal import reads


def test_a_scope_gets_another_name():
    plan = Plan(net()).rename("w", to="held/w")
    after = plan.after()
    assert plan.check() == (), [str(f) for f in plan.check()]
    assert "w" not in after.index
    assert after.input_names(after.index["more"]) == ["z:0", "held/w/read:0"]
    reads(Plan(net()).rename("no", to="x").check()[0], "no op and no scope is called 'no'", "No name is similar")
    reads(Plan(net()).rename("y", to="z").check()[0], "rename('y', to='z')", "the name 'z' is taken", "'z_2'")
    forward = Plan(net()).bypass("y").rename("z", to="q").on_copies(scope="n")
    reads(forward.check()[0], "'q' is renamed and also changed", "without on_copies")
