"""Marks of a boundary: values, each set only where the graph has it."""

from __future__ import annotations

from graphsurgeon.errors import SelectionError
from graphsurgeon.ui.state import Marks
from tests.plain import net
from tests.refusal import refuses


def test_marks_are_values():
    g = net()
    none = Marks()
    one = none.with_input(g, "x").with_output(g, "out:0")
    assert none == Marks()
    assert one == Marks(("x:0",), ("out:0",))
    assert one.with_input(g, "x:0") == one
    assert one.with_output(g, "x") == Marks((), ("out:0", "x:0"))
    assert one.with_input(g, "out") == Marks(("x:0", "out:0"), ())
    assert one.without("x") == Marks((), ("out:0",))
    with refuses(SelectionError, "mark_input('ex:0'): there is no tensor 'ex:0' in net"):
        none.with_input(g, "ex")
    with refuses(SelectionError, "mark_output('out:3'): op 'out' (Relu) has 1 output"):
        none.with_output(g, "out:3")


def test_marks_around_leave_out_constants_and_variables():
    g = net()
    from graphsurgeon.graph.selection import select

    assert Marks.around(select(g, name=["net/mm", "net/drop"])) == Marks(("x:0", "rate:0"), ("net/mm:0", "net/drop:0"))
