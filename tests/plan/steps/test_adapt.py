"""An adapter: what it refuses, and what it says; what it makes is tried in tests/tf/edit/test_adapters.py."""

from __future__ import annotations

import pytest

from graphsurgeon.errors import PlanError
from graphsurgeon.plan.plan import Plan
from graphsurgeon.plan.steps.base import scope_change, with_names
from tests.plain import plain
from tests.plan.edits import fault
from tests.refusal import refuses

BASE = plain(
    ("x", "Placeholder", []), ("y", "Placeholder", []), ("odd", "Placeholder", []), ("text", "Placeholder", []),
    ("use", "Neg", ["y"]), ("puzzle", "Neg", ["odd"]), ("end", "NoOp", ["^use"]), ("adapter/x", "Placeholder", []),
    outputs={
        "x": [("float32", (None, 7, 7, 8))], "y": [("float32", (None, 4))], "use": [("float32", (None, 4))],
        "odd": [None], "text": [("string", (None,))], "puzzle": [None], "end": [], "adapter/x": [("int8", ())],
    },
)  # fmt: skip
PLAN = Plan(BASE)


def test_what_cannot_be_asked_for():
    with refuses(PlanError, "adapt('x:0')", "kinds='warp' is not known", "'resize'"):
        PLAN.adapt("x", to="use", kinds="warp")
    with refuses(PlanError, "dense has no option 'mode'", "bias, data_format, seed"):
        PLAN.adapt("x", to="use", kinds="dense", mode="max")
    with refuses(PlanError, "input=1 needs an op", "to='op'"):
        PLAN.adapt("x", to="y:0", input=1)
    with refuses(PlanError, "input=1 needs an op"):
        PLAN.adapt("x", input=1)
    with refuses(PlanError, "only= and exclude= need a tensor, not an input", "to='x:0'"):
        PLAN.adapt("x", to="use", input=0, only="use")
    with refuses(PlanError, "tensors cannot be cast to 'text'", "'float32'"):
        PLAN.adapt("x", dtype="text")
    with refuses(PlanError, "shape=3 is not a shape", "shape=[None, 10]"):
        PLAN.adapt("x", shape=3)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (PLAN.adapt("x", to="use", input=2), ("op 'use' (Neg) has no input 2", "Choose input=0")),
        (PLAN.adapt("x", to="end", input=0), ("it has 0 inputs", "Choose another op")),
        (PLAN.adapt("nothing", to="use"), ("nothing",)),
        (PLAN.adapt("x", to="nothing"), ("nothing",)),
        (PLAN.adapt("odd", to="use"), ("the dtype of 'odd:0' is not known yet",)),
        (PLAN.adapt("x", to="puzzle"), ("dtype and shape of 'odd:0' are not known", "shape=[None, 10]")),
        (PLAN.adapt("use", to="y:0"), ("'use:0' is float32 (?, 4), which fits float32 (?, 4) as it is", "Leave")),
        (
            PLAN.adapt("x", to="use", kinds="resize"),
            (
                "'x:0' is float32 (?, 7, 7, 8), and resize cannot convert it to float32 (?, 4)",
                "Choose kinds=['pool', 'dense'] or kinds=['reshape', 'dense']",
            ),
        ),
        (PLAN.adapt("text", to="use"), ("no adapter can convert", "choose another")),
        (PLAN.adapt("x", to="use", name="use"), ("the name 'use' is taken", "name='use_2'")),
        (
            PLAN.adapt("x", to="use", name="a b"),
            ("'a b' is not a name of an op: ' ' is not allowed in it", "for example 'a_b'"),
        ),
        (PLAN.adapt("x", to="use"), ("this plan was made without TensorFlow",)),
    ],
)
def test_what_cannot_be_done_is_a_fault(plan, words):
    fault(plan, *words)


def test_it_is_written_as_it_was_asked_for():
    plan = PLAN.adapt(
        "x", to="y:0", kinds=("pool", "dense"), name="fit", dtype="float32", shape=[-1, 4], exclude="use", seed=2
    )
    (step,) = plan.steps
    text = (
        "adapt('x:0', to='y:0', kinds=['pool', 'dense'], name='fit', dtype='float32', shape=[None, 4], seed=2, exclude"
    )
    assert step.request == f"{text}='use')"
    assert step.describe() == "adapt x:0 by pool and dense for the consumers of y:0 except use"
    (one,) = PLAN.adapt("x", to="use", kinds="pad", paddings=[[0, 1]]).steps
    assert one.request == "adapt('x:0', to='use', kinds='pad', paddings=((0, 1),))"
    assert one.describe() == "adapt x:0 by pad to input 0 of use"
    (free,) = PLAN.adapt("x", name="dense", kinds="dense", shape=[None, 4]).steps
    assert free.describe() == "adapt x:0 by dense, as dense:0"
    moved = with_names(free, scope_change("dense", "new"))
    assert (moved.name, moved.spec) == ("new", free.spec)
