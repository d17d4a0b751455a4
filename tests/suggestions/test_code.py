"""A suggestion of a message solves the request: each piece of code and each argument that it names is tried."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import SurgeryError
from tests.recipes.models import numbers
from tests.tf2 import tf1

#: How many suggestions may have to be followed, one after the other.
_MOST = 4


def ended(text: str, start: int, called: str = "") -> int:
    """Where the shortest expression ends that begins at `start`, after a name that is called; `start` if none does."""
    for end in range(start + 1, len(text) + 1):
        try:
            ast.parse(called + text[start:end], mode="eval")
        except SyntaxError:
            continue
        return end
    return start


def codes(text: str) -> list[str]:
    """The calls that a suggestion says to type."""
    found, at = [], 0
    while match := re.compile(r"(?:ed|gs\.recipes|plan)(?=\.\w+\()").search(text, at):
        at = match.end()
        while step := re.compile(r"\.\w+(?=\()").match(text, at):
            at = ended(text, step.end(), "f")
        found.append(text[match.start() : at])
    return [code for code in found if "..." not in code and code.endswith(")")]


def arguments(text: str) -> list[tuple[str, Any]]:
    """The arguments that a suggestion says to type, with their values; those inside of calls are not among them."""
    for code in codes(text):
        text = text.replace(code, "")
    found: list[tuple[str, Any]] = []
    for match in re.finditer(r"\b([a-z_]+)=(?=[\['{]|True|False)", text):
        at, more = match.end(), True
        while more:
            word = re.compile(r"True|False").match(text, at)
            end = word.end() if word else ended(text, at)
            found.append((match[1], ast.literal_eval(text[at:end])))
            more = re.compile(r"(?:,| or|, or) (?=')").match(text, end)
            at = more.end() if more else end
    return [pair for pair in found if not re.search(r"Ellipsis|'name:0'", repr(pair))]


def left_out(text: str) -> list[str]:
    """The arguments that a suggestion says to leave out."""
    return re.findall(r"[Ll]eave out (\w+)=", text)


class Case:
    """A request that is refused.

    Args:
        make: makes the editor.
        ask: the request; it returns a plan, or something else.
        options: its arguments.
        using: what the code of suggestions may use beside `ed` and `gs`.
        choice: the argument that a suggestion means by "Choose one of".
    """

    def __init__(
        self, make: Callable[[], Any], ask: Callable[..., Any], using: Any = None, choice: str = "", **options: Any
    ) -> None:
        self.make, self.ask, self.options, self.using, self.choice = make, ask, options, using or {}, choice

    def refusal(self, ed: Any, options: dict[str, Any]) -> str:
        """The suggestion with which the request is refused; empty if it is carried out."""
        try:
            made = self.ask(ed, **options)
        except SurgeryError as error:
            return error.suggestion
        faults = made.check() if isinstance(made, gs.Plan) else ()
        return faults[0].suggestion if faults else ""

    def ways(self, said: str) -> list[Callable[[Any, dict[str, Any]], tuple[Any, dict[str, Any]]]]:
        """What a suggestion says to do: each makes of an editor and arguments others."""

        def typed(code: str) -> Any:
            def run(ed: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
                made = eval(code, {"ed": ed, "plan": ed.plan(), "gs": gs, **self.using})
                if isinstance(made, gs.Plan):
                    ed.apply(made)
                return (made if isinstance(made, gs.Editor) else ed), options

            return run

        def given(name: str, value: Any) -> Any:
            return lambda ed, options: (ed, {**options, name: value})

        def without(name: str) -> Any:
            return lambda ed, options: (ed, {key: value for key, value in options.items() if key != name})

        choices = re.findall(r"'(\w+)'", said)[: 2 * bool(self.choice)] if said.startswith("Choose one of") else []
        return [
            *map(typed, codes(said)),
            *(given(name, value) for name, value in arguments(said)),
            *(given(self.choice, value) for value in choices),
            *map(without, left_out(said)),
        ]


def solved(case: Case, ed: Any, options: dict[str, Any], which: int = 0, steps: int = _MOST) -> int:
    """Follows one suggestion, and the first of each refusal after it; returns how many the first refusal has.

    Asserts that the request is carried out then.
    """
    said = case.refusal(ed, options)
    if not said:
        return 0
    assert steps, f"{_MOST} suggestions do not solve it; the last one is: {said}"
    ways = case.ways(said)
    assert ways, f"nothing in it can be typed: {said}"
    solved(case, *ways[which](ed, options), steps=steps - 1)
    return len(ways)


def small(*, slopes: bool = False) -> Any:
    """A graph with a variable, a dropout, and gradients if they are asked for."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2, 4], name="x")
        w = tf1.get_variable("w", [4, 3], use_resource=True)
        h = tf.nn.relu(tf.matmul(x, w, name="product"), name="h")
        y = tf.identity(tf.nn.dropout(h, rate=0.5, name="dropped"), name="y")
        other = tf1.placeholder(tf.float32, [2, 3], name="other")
        tf.add(h, other, name="z")
        if slopes:
            tf1.gradients(y, [w])
        session = tf1.Session(graph=graph)
        session.run(tf1.global_variables_initializer())
    return gs.open(session)


def masked() -> Any:
    """A mask of random numbers whose scale does not make up for it."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [4], name="x")
        mask = tf.cast(tf.random.uniform([4]) >= 0.2, tf.float32)
        tf.nn.relu(tf.multiply(x * 3.0, mask, name="noise"), name="y")
    return gs.open(graph)


def normed(training: bool, variables: bool) -> Any:
    """A convolution and its batch normalization, which keeps averages in training."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 2, 2, 1], name="x")
        w = tf1.get_variable("w", initializer=numbers(1, 1, 1, 2)) if variables else tf.constant(numbers(1, 1, 1, 2))
        y = tf.nn.conv2d(x, w, 1, "SAME", name="conv")
        mean, variance = (tf1.get_variable(name, initializer=np.ones(2, np.float32)) for name in ("mean", "variance"))
        given = {} if training else {"mean": mean, "variance": variance}
        made, *batch = tf1.nn.fused_batch_norm(y, [1.0, 2.0], [0.0, 1.0], **given, is_training=training, name="bn")
        for kept, now in zip((mean, variance), batch, strict=True) if training else ():
            tf1.assign(kept, 0.9 * kept + 0.1 * now)
        tf.nn.relu(made, name="y")
        session = tf1.Session(graph=graph)
        session.run(tf1.global_variables_initializer())
    return gs.open(session)


def joined() -> Any:
    """Two ways from the input to the output."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        first, second = tf.nn.relu(x, name="first"), tf.nn.tanh(x, name="second")
        tf.nn.softplus(first, name="aside")
        tf.add(tf.exp(first, name="inner"), first, name="late")
        tf.add(first, second, name="y")
        parts = tf.split(x, 2, axis=1, name="parts")
        tf.add(parts[0], parts[1], name="sum")
    return gs.open(graph)


def waiting() -> Any:
    """An op that waits for another."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        with tf.control_dependencies([tf.no_op(name="ready")]):
            tf.negative(tf.identity(x, name="net/x"), name="net/y")
    return gs.open(graph)


def copied(ed: Any, to: str = "copy", **options: Any) -> Any:
    """A plan that copies a part of an editor's graph into another graph."""
    outputs = options.pop("outputs", "y:0")
    target = gs.open(tf.Graph())
    return target.plan().copy(ed.select(scope="net") if "net" in ed.snapshot.scopes.index else
                              ed.select(inputs="x:0", outputs=outputs), to=to, **options)  # fmt: skip


def in_one(ed: Any, **options: Any) -> Any:
    """The same within one graph."""
    return ed.plan().copy(ed.select(inputs="x:0", outputs="y:0"), **{"to": "copy", **options})


def saved(ed: Any, path: str = "model", **options: Any) -> Any:
    return ed.save(path, **{"verify": False, **options})


RECIPES = {
    "fold, variables": Case(lambda: normed(False, True), gs.recipes.fold_batch_norm, {"outputs": "y:0"}),
    "fold, training": Case(lambda: normed(True, False), gs.recipes.fold_batch_norm, {"outputs": "y:0"}),
    "dropout with gradients": Case(lambda: small(slopes=True), gs.recipes.strip_dropout, {"outputs": "y:0"}),
    "mask of another scale": Case(masked, gs.recipes.for_inference, outputs="y:0"),
    "signature, unread": Case(small, gs.recipes.set_signature, outputs="y:0", inputs=["x:0", "other:0"]),
    "signature, unfed": Case(small, gs.recipes.set_signature, outputs="z:0", inputs=["x:0"]),
    "split, unread": Case(joined, gs.recipes.split_at, at=["first:0", "second:0", "aside:0"], outputs="y:0"),
    "split, too few": Case(joined, gs.recipes.split_at, at=["inner:0"], outputs="late:0"),
    "half of an op fed": Case(joined, gs.recipes.strip_training, outputs="sum:0", inputs=["parts:0"]),
}


PLANS = {
    "not mapped": Case(small, copied),
    "not mapped, one graph": Case(small, in_one),
    "order": Case(waiting, copied, unmapped="placeholder"),
    "kept across graphs": Case(small, copied, unmapped="keep"),
    "shared across graphs": Case(small, copied, unmapped="placeholder", variables="share"),
    "frozen without values": Case(small, copied, unmapped="placeholder", variables="freeze"),
    "scope taken": Case(small, in_one, to="dropped", unmapped="keep"),
    "name taken": Case(small, lambda ed, name="h": ed.plan().insert("Relu", on="h:0", name=name)),
    "collapsed name taken": Case(small, lambda ed, name="y": ed.plan().collapse(["h"], name=name)),
}
SAVES = {
    "freeze of a .meta": Case(small, saved, path="net.meta", outputs="y:0", freeze=True),
    "scope of a .pb": Case(small, saved, path="net.pb", outputs="y:0", scope="a"),
    "names of a .pb": Case(small, saved, path="net.pb", outputs="y:0", names={"w": "v"}),
    "feeds without a proof": Case(small, saved, path="net.pb", outputs="y:0", verify=False, feeds={"x:0": 1}),
    "no format": Case(small, saved, path="net.bin", outputs="y:0"),
    "another format": Case(small, saved, path="net.bin", outputs="y:0", format="savedmodel", choice="format"),
    "initial values": Case(lambda: gs.open(small().graph), saved, path="net.pb", outputs="y:0", freeze=True),
}
ALL = {**RECIPES, **PLANS, **SAVES}


#: This one writes a file in each format.
SLOW = ("no format",)


@pytest.mark.parametrize("case", [pytest.param(case, marks=[pytest.mark.deep] if case in SLOW else []) for case in ALL])
def test_a_suggestion_solves_the_request(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one, which, count = ALL[case], 0, 1
    while which < count:
        other = {"path": f"{which}{one.options['path']}"} if case in SAVES else {}
        count = solved(one, one.make(), {**one.options, **other}, which)
        assert count, "the request is not refused"
        which += 1
