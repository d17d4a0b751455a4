"""Steps as the calls that give a plan the same again."""

from __future__ import annotations

from graphsurgeon.plan.function_source import Sources
from graphsurgeon.plan.plan import Plan
from tests.plan.edits import net


def test_steps_as_code():
    g = net()
    plan = (
        Plan(g).reroute("a", to="b", only=["y"], exclude="z").swap("a", "b").bypass("y").detach("z", side="inputs")
        .insert("Relu", on="b", name="r", T="float32").remove(["y"], stitch=True).set_attr("z", "_m", None)
        .set_device("z", "/cpu:0").add_control("end", "b").remove_control("end")
    )  # fmt: skip
    assert [s.code(Sources()) for s in plan.steps] == [
        ".reroute('a:0', to='b:0', only='y', exclude='z')", ".swap('a:0', 'b:0')", ".bypass('y')",
        ".detach('z', side='inputs')", ".insert('Relu', on='b:0', name='r', T='float32')",
        ".remove('y', stitch=True)", ".set_attr('z', '_m', None)", ".set_device('z', '/cpu:0')",
        ".add_control('end', 'b')", ".remove_control('end')",
    ]  # fmt: skip
    again = eval("Plan(g)" + "".join(s.code(Sources()) for s in plan.steps))
    assert again.steps == plan.steps
